--- What a machine record makes of a core at best: numbers and bytes a cycle.
local core = require "nestwright.core"
local merge = require "nestwright.cost.machine_merge"

local rates = {}

--- Its fields as plain tables: a record makes them anew whenever one is read.
function rates.fields(m) return merge.nested(core.machine_list(m)) end

local WIDTHS = {16, 32, 64} -- bytes of vectors, after single numbers

--- Numbers of so many bits that are done in a cycle in the vectors that suit best; bits 0: one by one. r: of rates.fields.
function rates.numbers(r, class, bits)
  local per_cycle = r.ops[class].per_cycle
  local best = per_cycle[1]
  for n, bytes in ipairs(WIDTHS) do
    if bits > 0 and bytes <= r.vector_bytes then best = math.max(best, per_cycle[n + 1] * (8 * bytes / bits)) end
  end
  return best
end

--- Bytes that come from a level in a cycle, or, of the one behind the last, from memory; then those that go back.
function rates.bytes(r, n)
  local level = r.caches[n]
  if level then return level.bytes_per_cycle, level.back_per_cycle end
  local memory = r.memory.bandwidth / r.clock
  return memory, memory
end

return rates
