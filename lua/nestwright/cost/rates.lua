--- Computes peak rates of a core from a machine record: values per cycle, and bytes per cycle.
local core = require "nestwright.core"
local merge = require "nestwright.cost.machine_merge"

local rates = {}

--- Returns the fields of a record as plain tables. (Reading a field of a record makes new tables each time.)
function rates.fields(m) return merge.nested(core.machine_list(m)) end

local WIDTHS = {16, 32, 64} -- widths of vectors in bytes; a list of rates begins with an entry for single values

--- Returns the number of values that operations of this class process per cycle. If `bits` is 0, the values are processed one at a
--- time. Otherwise, they have `bits` bits and are in vectors of the best width. `r` is a result of rates.fields.
function rates.numbers(r, class, bits)
  local per_cycle = r.ops[class].per_cycle
  local best = per_cycle[1]
  for n, bytes in ipairs(WIDTHS) do
    if bits > 0 and bytes <= r.vector_bytes then best = math.max(best, per_cycle[n + 1] * (8 * bytes / bits)) end
  end
  return best
end

--- Returns the bytes per cycle from level n to the level before it, and the bytes per cycle in the other direction. A number after
--- the last level stands for memory.
function rates.bytes(r, n)
  local level = r.caches[n]
  if level then return level.bytes_per_cycle, level.back_per_cycle end
  local memory = r.memory.bandwidth / r.clock
  return memory, memory
end

return rates
