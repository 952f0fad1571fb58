--- Counts the register spills of compiled code, which LLVM marks with comments.
local assembly = require "nestwright.measure.assembly"
local core = require "nestwright.core"
local emitted = later "nestwright.measure.emitted"

local spilled = {}

-- True if the line uses a vector register; other registers hold addresses and counters.
local function is_vector(line) return line:find "%%[xyz]mm%d" ~= nil or line:find "%f[%w][qvz]%d+%f[%W]" ~= nil end

local function is_spill(line) return line:find("Spill", 1, true) ~= nil or line:find("Reload", 1, true) ~= nil end

--- Returns the numbers of executed spills of vector registers and of other registers in a result of assembly.with_loops. loops: the
--- loops of a cost record.
function spilled.count(text, loops)
  local vectors, others = 0, 0
  for _, block in ipairs(emitted.blocks(text, loops)) do
    for _, line in ipairs(block.lines) do
      if is_spill(line) and is_vector(line) then vectors = vectors + block.times
      elseif is_spill(line) then others = others + block.times end
    end
  end
  return vectors, others
end

--- Returns the numbers of executed spills of vector registers and of other registers in a kernel.
function spilled.of(kernel, loops) return spilled.count(assembly.with_loops(core.kernel_text(kernel, "asm")), loops) end

return spilled
