--- Registers that the compiler stored and loads again, read off the code it emitted: LLVM remarks on each.
local assembly = require "nestwright.assembly"
local core = require "nestwright.core"

local spilled = {}

-- Of numbers and vectors; others hold addresses and counters.
local function is_vector(line) return line:find "%%[xyz]mm%d" ~= nil or line:find "%f[%w][qvz]%d+%f[%W]" ~= nil end

local function is_spill(line) return line:find("Spill", 1, true) ~= nil or line:find("Reload", 1, true) ~= nil end

--- Of assembly with loops: how often vectors and others are stored and loaded again in a run, with the loops of a cost record; what
--- stands in a loop is taken to run in each of its rounds.
function spilled.count(text, loops)
  local times, now = {}, 1
  for _, loop in ipairs(loops) do
    if loop.name then times[loop.name] = math.max(times[loop.name] or 0, loop.times) end
  end
  local vectors, others = 0, 0
  for line in text:gmatch "[^\n]+" do
    local inside = line:match "^%.LBB.*# in (.+)$" or line:match "^# %%bb.*# in (.+)$"
    if line:find "^%.LBB" or line:find "^# %%bb" then now = inside and times[inside:match "[^ >]+$"] or 1 end
    if is_spill(line) and is_vector(line) then vectors = vectors + now
    elseif is_spill(line) then others = others + now end
  end
  return vectors, others
end

--- The same of a kernel.
function spilled.of(kernel, loops) return spilled.count(assembly.with_loops(core.kernel_text(kernel, "asm")), loops) end

return spilled
