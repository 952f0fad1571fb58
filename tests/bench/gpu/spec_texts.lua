--- Runs a spec, or a notebook, and writes the PTX of all schedules that it has made and whose loops are bound to a grid, for each
--- target.
--- usage: nestwright tests/bench/gpu/spec_texts.lua DIRECTORY TARGETS spec|notebook FILE     writes DIRECTORY/TARGET-NUMBER.ptx.
--- TARGETS are joined by commas.
local directory, targets, kind, file = table.unpack(arg, 1, 4)
package.path = "tests/spec/?.lua;" .. package.path
package.loaded["nestwright.script"] = nil
local nw = require "nestwright"
local json = require "nestwright.show.json"
local support = require "support"

local made, schedule = {}, nw.schedule

rawset(nw, "schedule", function(...)
  local s = schedule(...)
  made[#made + 1] = s
  return s
end)

-- Returns the PTX of a schedule for a target, or nil if the schedule has no grid or the machine lacks something.
local function ptx_of(s, target)
  local ok, text = pcall(function() return tostring(s:retarget(target):show "ptx") end)
  return ok and text or nil
end

local function write_all()
  local known, n = {}, 0
  for _, s in ipairs(made) do
    local ok, full = pcall(function() return tostring(s:show "full") end)
    local new = ok and full:find "%f[%a]threadIdx%." and not known[full]
    if new then known[full], n = true, n + 1 end
    for target in targets:gmatch(new and "[^,]+" or "$^") do
      local text = ptx_of(s, target)
      if text then support.write(("%s/%s-%d.ptx"):format(directory, target, n), text) end
    end
  end
end

-- Runs the cells of a notebook. The last line of a cell may be an expression, whose value the notebook shows; it is left out.
local function run_notebook()
  rawset(_G, "nw", nw)
  local text = assert(io.open(file))
  local cells = json.decode(text:read "a").cells
  text:close()
  for _, cell in ipairs(cells) do
    local source = type(cell.source) == "table" and table.concat(cell.source) or cell.source
    local run = cell.cell_type == "code" and (load(source) or load((source:gsub("[^\n]+\n?$", ""))))
    if run then run() end
  end
end

local exit = os.exit
rawset(os, "exit", function() write_all() exit(true) end) -- busted ends the process

if kind == "spec" then
  rawset(_G, "arg", {[0] = "tests/spec/run.lua", "-o", "TAP", file})
  dofile "tests/spec/run.lua"
else
  run_notebook()
end
os.exit()
