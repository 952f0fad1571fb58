--- n:cost() computes a lower bound of a loop nest's time on a machine. The bound follows from the lines that the caches move and
--- from the nest's operations. The instructions are unknown, so other limits of the core are not modelled.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local machine = require "nestwright.cost.machine"
local rates = require "nestwright.cost.rates"
local report = require "nestwright.show.report"
local rows = require "nestwright.language.rows"
local text = later "nestwright.cost.cost_text"

local nest_cost = {}

local BITS = {[8] = 1, [16] = 2, [32] = 3, [64] = 4}

-- ---- bytes

-- Returns the bytes that are read from and written to each level and memory. For the first level, these are the bytes of the
-- references; for the other levels, the bytes of whole lines.
local function traffic_of(work, missed, m, flops)
  local out = {{name = "L1", read = work.read, written = work.written}}
  for n, total in ipairs(missed.total) do
    out[n + 1] = {name = m.caches[n + 1] and "L" .. n + 1 or "memory", read = (total.asked - total.hits) * missed.line,
      written = total.written_back * missed.line}
  end
  for _, t in ipairs(out) do
    t.bytes = t.read + t.written
    t.intensity = t.bytes > 0 and flops / t.bytes or math.huge
  end
  return out
end

-- ---- cycles

local function between(n, m) return m.caches[n] and ("L%d to L%d"):format(n, n - 1) or "memory" end

-- Returns the cycles of the transfers from and to level n: the lines read from it, and the lines written back to it. A number after
-- the last level stands for memory.
local function transfer(t, n, m)
  local read, back = rates.bytes(m, n)
  return {name = between(n, m), cycles = t.read / read + t.written / back, overlaps = (m.caches[n] or m.memory).overlaps}
end

local PAIRED = {add = true, mul = true} -- operations that are combined into multiply-adds

-- Returns the cycles of the class of operations that takes longest. All operations are assumed to use the best vector width.
local function arithmetic(work, m)
  local cycles, most = {}, 0
  for _, op in ipairs(work.operations) do
    local unit = PAIRED[op.name] and "fma" or op.name
    local rate = rates.numbers(m, unit, op.bits) * (PAIRED[op.name] and 2 or 1)
    cycles[unit] = (cycles[unit] or 0) + op.count / rate
    most = math.max(most, cycles[unit])
  end
  return {name = "arithmetic", cycles = most, overlaps = true}
end

local function terms_of(traffic, work, m)
  local out = {}
  for n = 2, #traffic do out[n - 1] = transfer(traffic[n], n, m) end
  if #work.operations > 0 then table.insert(out, 1, arithmetic(work, m)) end
  return out
end

-- Returns the cycles and the name of the longest term. If the machine adds up transfers (combine = "ecm"), the cycles are at least
-- the sum of the terms that do not overlap.
local function combined(terms, m)
  local most, sum, name = 0, 0, "nothing"
  for _, term in ipairs(terms) do
    if term.cycles > most then most, name = term.cycles, term.name end
    if not term.overlaps then sum = sum + term.cycles end
  end
  return m.combine == "ecm" and math.max(most, sum) or most, name
end

-- ---- energy

local function energy_of(work, traffic, m)
  local list = {}
  local function add(name, unit, count, pj, memory)
    if count > 0 and pj > 0 then
      list[#list + 1] = {name = name, unit = unit, count = count, pj = pj, joules = count * pj * 1e-12, memory = memory}
    end
  end
  for _, op in ipairs(work.operations) do
    local pj = m.energy[op.name]
    add(("%s, %d bits"):format(op.name, op.bits), "number", op.count, pj and pj[BITS[op.bits]] or 0, false)
  end
  for n, t in ipairs(traffic) do
    local level = m.caches[n] or m.memory
    add(t.name .. " read", "byte", t.read, level.read_pj, true)
    add(t.name .. " written", "byte", t.written, level.write_pj, true)
  end
  return list
end

local function joules_of(list, memory)
  local sum = 0
  for _, row in ipairs(list) do if memory == nil or row.memory == memory then sum = sum + row.joules end end
  return sum
end

-- ---- the record

local function flops_of(work)
  local sum = work.calls
  for _, op in ipairs(work.operations) do sum = sum + op.count end
  return sum
end

local class = report.class "bound"
local missed_of = setmetatable({}, {__mode = "k"}) -- for each record: the result of n:misses from which it was computed

rows.define(class.methods, "bound", "nests", "plot",
  "(self: nw.bound, options?: {by?: 'tensor'|'loop', title?: nw.label}): nw.plot",
  "Draws the misses of each level, as the method plot of nw.misses does. by: 'tensor' (the default) or 'loop'.",
  function(c, options) return missed_of[c]:plot(options) end)

--- Returns the cost record of a nest. missed: the result of n:misses for the caches of the machine; conflicts: true if conflict
--- misses are distinguished.
function nest_cost.of(nest, missed, record, conflicts)
  local work, m, c = core.nest_work(nest), rates.fields(record), {machine = record}
  c.flops, c.operations, c.calls, c.statements = flops_of(work), work.operations, work.calls, work.statements
  c.counted = work.exact
  c.traffic = traffic_of(work, missed, m, c.flops)
  c.terms = terms_of(c.traffic, work, m)
  c.cycles, c.bottleneck = combined(c.terms, m)
  c.seconds = c.cycles / (m.clock * 1e9)
  c.energy = energy_of(work, c.traffic, m)
  c.joules, c.memory_joules = joules_of(c.energy), joules_of(c.energy, true)
  for _, field in ipairs {"by_access", "by_tensor", "by_loop", "accesses", "exact", "error", "line", "feed"} do
    c[field] = missed[field]
  end
  c.levels, c.caches, c.conflicts = missed.total, missed.levels, conflicts or false
  missed_of[c] = missed
  return class.new(c, text.nest(c), text.nest_cells(c))
end

local OPTIONS = {"machine", "feed", "conflicts", "simulate", "exact", "budget"}

--- Returns the method `cost` of nests. misses: the method `misses` of nests.
function nest_cost.method(misses)
  return function(nest, options)
    local o = errors.options("cost", options, OPTIONS)
    local m = machine.of(o.machine)
    local asked = setmetatable({}, {__index = o})
    for _, name in ipairs(OPTIONS) do asked[name] = o[name] end
    asked.machine = m
    return nest_cost.of(nest, misses(nest, asked), m, o.conflicts)
  end
end

return nest_cost
