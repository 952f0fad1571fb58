--- s:cost(): what a schedule should take on a machine, and why. A model, not a measurement.
local caches = require "nestwright.caches"
local core = require "nestwright.core"
local errors = require "nestwright.errors"
local machine = require "nestwright.machine"
local report = require "nestwright.report"
local rows = require "nestwright.rows"
local written = require "nestwright.written"

local cost = {}

local KINDS = {"asked", "hits", "cold", "capacity", "conflict", "written_back"}

-- Rows with equal keys added up, in the order in which they come.
local function added(list, key_of)
  local out, at = {}, {}
  for _, row in ipairs(list) do
    local key = key_of(row)
    local sum = at[key]
    if not sum then
      sum = {level = row.level, tensor = row.tensor, loop = row.loop, exact = row.exact, error = row.error}
      for _, kind in ipairs(KINDS) do sum[kind] = 0 end
      at[key], out[#out + 1] = sum, sum
    end
    for _, kind in ipairs(KINDS) do sum[kind] = sum[kind] + row[kind] end
  end
  for _, sum in ipairs(out) do sum.misses = sum.cold + sum.capacity + sum.conflict end
  return out
end

-- ---- the text

local function terms_text(c, out)
  local shown = {}
  for _, term in ipairs(c.terms) do if term.cycles >= 0.005 * c.cycles then shown[#shown + 1] = term end end
  table.sort(shown, function(a, b) return a.cycles > b.cycles end)
  for _, term in ipairs(shown) do
    out[#out + 1] = ("  %-12s %12s cycles  %3.0f %%"):format(term.name, written.count(math.floor(term.cycles)),
      100 * term.cycles / c.cycles)
  end
end

local HEADER = ("%-16s %14s %14s %14s %14s"):format("", "lines asked", "misses", "conflicts", "written back")

local function misses_text(c, out)
  out[#out + 1] = HEADER
  for _, row in ipairs(c.by_tensor) do
    out[#out + 1] = ("%-16s %14d %14d %14d %14d"):format(("  L%d %s"):format(row.level, row.tensor), row.asked, row.misses,
      row.conflict, row.written_back)
  end
end

local function exact_text(c)
  local parts = {}
  for _, level in ipairs(c.levels) do
    parts[#parts + 1] = ("L%d %s"):format(level.level,
      level.exact and "exact" or ("estimated, %.1f %% off where it was checked"):format(100 * level.error))
  end
  return "misses of least-recently-used caches: " .. table.concat(parts, ", ")
end

local function text_of(c)
  local out = {("%s on %s: %s cycles; bottleneck: %s"):format(written.seconds(c.seconds), c.machine.name,
    written.count(math.floor(c.cycles)), c.bottleneck)}
  terms_text(c, out)
  misses_text(c, out)
  out[#out + 1] = exact_text(c)
  return table.concat(out, "\n")
end

-- ---- the record

local OPTIONS = {"machine", "sizes", "threads"}

--- The record of a schedule, or of its version o.version.
function cost.of(what, s, o)
  caches.check_schedule(what, s)
  local walk = caches.walk(what, s, {sizes = o.sizes, version = o.version})
  local m = machine.of(o.machine)
  local c = core.cost(s, walk, m)
  c.machine = m
  c.by_tensor = added(c.by_access, function(row) return row.level .. row.tensor end)
  c.by_loop = added(c.by_access, function(row) return row.level .. tostring(row.loop) end)
  c.levels = added(c.by_access, function(row) return row.level end)
  return report.new(c, text_of(c))
end

function cost.install()
  local method = rows.definer(rows.methods "schedule", "schedule")

  method("cost", "(self: nw.schedule, options?: {machine?: nw.machine|string|table, sizes?: table, threads?: integer}): nw.report",
    "What the schedule should take, by a model: cycles, seconds, the bottleneck, and terms: cycles of each resource were all "
    .. "others free. machine: as nw.machine takes it; this host unless said. sizes: values of symbolic sizes. The answer prints a "
    .. "table and has the fields cycles, seconds, bottleneck, terms (name, cycles), loops (name, depth, times, cycles, "
    .. "bottleneck), by_access, by_tensor, by_loop and levels (lines asked, hits, misses by kind, written_back; exact, error).",
    function(s, options) return cost.of("cost", s, errors.options("cost", options, OPTIONS)) end)
end

return cost
