--- Peak rates of a core by a machine record: numbers and bytes per cycle.
local core = require "nestwright.core"
local merge = require "nestwright.cost.machine_merge"

local rates = {}

--- The fields as plain tables, because a record creates new ones for every read.
function rates.fields(m) return merge.nested(core.machine_list(m)) end

local WIDTHS = {16, 32, 64} -- bytes of vectors; single numbers come first

--- Numbers of `bits` processed per cycle in the best vector width; bits 0: one at a time. r: from rates.fields.
function rates.numbers(r, class, bits)
  local per_cycle = r.ops[class].per_cycle
  local best = per_cycle[1]
  for n, bytes in ipairs(WIDTHS) do
    if bits > 0 and bytes <= r.vector_bytes then best = math.max(best, per_cycle[n + 1] * (8 * bytes / bits)) end
  end
  return best
end

--- Bytes per cycle from a level to the one before it, or from memory after the last level; then those in the other direction.
function rates.bytes(r, n)
  local level = r.caches[n]
  if level then return level.bytes_per_cycle, level.back_per_cycle end
  local memory = r.memory.bandwidth / r.clock
  return memory, memory
end

return rates
