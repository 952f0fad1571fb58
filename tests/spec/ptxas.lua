--- Finds ptxas, NVIDIA's assembler, which accepts or refuses the PTX of a kernel.
local support = require "support"

local ptxas = {}

local path

--- Returns the path of ptxas, in PATH or where the toolkit is usually installed; nil if it is not there.
function ptxas.path()
  if path == nil then
    local out = support.run "command -v ptxas || ls /usr/local/cuda*/bin/ptxas"
    path = out:match "^(/[^\n]*ptxas)\n" or false
  end
  return path or nil
end

--- Returns what ptxas says about a text for a GPU such as "sm_80", and its exit status. The text says how many registers each
--- kernel has.
function ptxas.run(text, gpu)
  local file = support.temporary ".ptx"
  support.write(file, text)
  local said, status = support.run(("%s -v -arch=%s -o /dev/null %s"):format(ptxas.path(), gpu, file))
  os.remove(file)
  return said, status
end

local batch = {}
batch.__index = batch

--- Returns a list of texts that are assembled together, because each start of ptxas takes a tenth of a second.
function ptxas.batch() return setmetatable({texts = {}}, batch) end

--- Adds a text for these GPUs.
function batch:add(text, gpus)
  local n = #self.texts + 1
  -- The names of kernels must be unique in all texts.
  for name in text:gmatch "%.entry ([%w_$]+)" do text = text:gsub("%f[%w_$]" .. name .. "%f[^%w_$]", name .. "_of_" .. n) end
  self.texts[n] = {text = text, gpus = gpus}
end

--- Checks that ptxas accepts all texts. The GPUs have a process each.
function batch:check()
  local dir, files, commands = support.temporary(), {}, {}
  support.run("mkdir " .. dir)
  for n, t in ipairs(self.texts) do
    local file = ("%s/%d.ptx"):format(dir, n)
    support.write(file, t.text)
    for _, gpu in ipairs(t.gpus) do files[gpu] = (files[gpu] or "") .. " " .. file end
  end
  for gpu, names in pairs(files) do
    commands[#commands + 1] = ("(%s -arch=%s -o /dev/null%s; echo \"[$?]\") >%s/%s 2>&1"):format(ptxas.path(), gpu, names, dir, gpu)
  end
  support.run(table.concat(commands, " & ") .. " & wait")
  for gpu in pairs(files) do
    local said = support.read(dir .. "/" .. gpu)
    local number = tonumber(said:match "(%d+)%.ptx")
    assert(said:find "%[0%]\n$", ("ptxas -arch=%s: %s\n%s"):format(gpu, said, number and self.texts[number].text or ""))
  end
  support.run("rm -r " .. dir)
end

--- Checks that ptxas accepts a text for these GPUs.
function ptxas.accepts(text, gpus)
  local one = ptxas.batch()
  one:add(text, gpus)
  one:check()
end

return ptxas
