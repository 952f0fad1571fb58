--- How a cost reads: the record of s:cost as a table, and its smaller kin.
local written = require "nestwright.written"

local text = {}

local function whole(n) return written.count(math.floor(n + 0.5)) end

local function joules_text(j)
  for _, unit in ipairs {{1, "J"}, {1e-3, "mJ"}, {1e-6, "uJ"}, {1e-9, "nJ"}} do
    if j >= unit[1] or unit[1] == 1e-9 then return ("%.3g %s"):format(j / unit[1], unit[2]) end
  end
end

-- Terms of at least half a per cent, the largest first.
local function shown_terms(c)
  local shown = {}
  for _, term in ipairs(c.terms) do if term.cycles >= 0.005 * c.cycles then shown[#shown + 1] = term end end
  table.sort(shown, function(a, b) return a.cycles > b.cycles end)
  return shown
end

local function add_terms(c, out)
  out[#out + 1] = "what each would take if all else were free:"
  for _, term in ipairs(shown_terms(c)) do
    out[#out + 1] = ("  %-12s %10s cycles  %4.0f %%"):format(term.name, whole(term.cycles), 100 * term.cycles / c.cycles)
  end
end

local HEADER = ("%-18s %13s %13s %13s %13s %13s"):format("", "lines asked", "cold", "capacity", "conflict", "written back")

local function add_misses(c, out)
  out[#out + 1] = HEADER
  for _, row in ipairs(c.by_tensor) do
    out[#out + 1] = ("%-18s %13d %13d %13d %13d %13d"):format(("  L%d %s"):format(row.level, row.tensor), row.asked, row.cold,
      row.capacity, row.conflict, row.written_back)
  end
end

local function exact_text(c)
  local parts = {}
  for _, level in ipairs(c.levels) do
    parts[#parts + 1] = ("L%d %s"):format(level.level,
      level.exact and "exact" or ("estimated, %.1f %% off where it was checked"):format(100 * level.error))
  end
  return "misses, of caches that replace what was used least recently: " .. table.concat(parts, ", ")
end

local function add_traffic(c, out)
  local parts = {}
  for n, t in ipairs(c.traffic) do
    parts[n] = t.bytes > 0 and ("%s %.3g"):format(t.name, t.intensity) or t.name .. " none"
  end
  out[#out + 1] = ("%s operations; per byte moved: %s"):format(whole(c.flops), table.concat(parts, ", "))
end

local function add_memory(c, out)
  local parts = {}
  for where, bytes in pairs(c.memory) do parts[#parts + 1] = ("%s %s"):format(where, written.bytes(bytes)) end
  table.sort(parts)
  out[#out + 1] = "memory: " .. table.concat(parts, ", ")
end

local function add_threads(c, out)
  if c.threads == 1 then return end
  out[#out + 1] = ("%d threads: balance %.0f %%; %s to start and wait; outside of parallel loops %s cycles"):format(c.threads,
    100 * c.balance, written.seconds(c.team_seconds), whole(c.outside))
end

local function add_measured(c, out)
  if not c.measured then return end
  out[#out + 1] = ("predicted %s, measured %s, ratio %.2f"):format(written.seconds(c.seconds), written.seconds(c.measured.min),
    c.ratio)
end

local function head(c)
  return ("%s on %s (%s cycles), a prediction; bottleneck: %s"):format(written.seconds(c.seconds), c.machine.name, whole(c.cycles),
    c.bottleneck)
end

--- The record as lines.
function text.of(c)
  local out = {head(c)}
  add_measured(c, out)
  add_terms(c, out)
  add_misses(c, out)
  out[#out + 1] = exact_text(c)
  add_traffic(c, out)
  add_memory(c, out)
  add_threads(c, out)
  if c.spills > 0 then out[#out + 1] = ("registers stored and loaded again for want of more: %s times"):format(whole(c.spills)) end
  if c.joules > 0 then out[#out + 1] = ("energy: %s, an estimate by the machine's table"):format(joules_text(c.joules)) end
  if c.measured_joules then
    out[#out + 1] = ("energy measured: %s of the package, with all that ran on it"):format(joules_text(c.measured_joules))
  end
  if c.mca then out[#out + 1] = c.mca.text end
  return table.concat(out, "\n")
end

--- The same for html.lua.
function text.cells(c)
  local lines = {}
  for _, term in ipairs(shown_terms(c)) do
    lines[#lines + 1] = {term.name, whole(term.cycles) .. " cycles", ("%.0f %%"):format(100 * term.cycles / c.cycles)}
  end
  for _, row in ipairs(c.by_tensor) do
    lines[#lines + 1] = {("L%d %s"):format(row.level, row.tensor), ("%d lines asked"):format(row.asked),
      ("%d misses, %d of them conflicts"):format(row.misses, row.conflict)}
  end
  local foot = {exact_text(c)}
  add_traffic(c, foot)
  add_measured(c, foot)
  return {head = {head(c), "", ""}, rows = lines, left = {true, heads = true}, foot = table.concat(foot, "; ")}
end

function text.price(p)
  local out = {}
  for n, row in ipairs(p.rows) do
    out[n] = ("%-16s %14s x %10.4g pJ = %s"):format(row.name, whole(row.count), row.pj, joules_text(row.joules))
  end
  out[#out + 1] = ("%s in all, an estimate by the table of %s"):format(joules_text(p.joules), p.machine.name)
  if p.cycles then out[#out + 1] = ("%.0f cycles"):format(p.cycles) end
  return table.concat(out, "\n")
end

function text.curve(list, size)
  local out = {("%10s %12s %12s  %s"):format(size, "predicted", "cycles", "bottleneck")}
  for _, row in ipairs(list) do
    out[#out + 1] = ("%10d %12s %12s  %s"):format(row.size, written.seconds(row.seconds), whole(row.cycles), row.bottleneck)
  end
  return table.concat(out, "\n")
end

return text
