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

--- Checks that ptxas accepts a text for these GPUs.
function ptxas.accepts(text, gpus)
  for _, gpu in ipairs(gpus) do
    local said, status = ptxas.run(text, gpu)
    assert(status == 0, ("ptxas -arch=%s: %s\n%s"):format(gpu, said, text))
  end
end

return ptxas
