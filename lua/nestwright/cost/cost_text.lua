--- Prints the cost records of schedules (s:cost) and of loop nests (n:cost), the energy of counted events, and cost curves.
local written = require "nestwright.show.written"

local text = {}

local function whole(n) return written.count(math.floor(n + 0.5)) end

local function joules_text(j)
  for _, unit in ipairs {{1, "J"}, {1e-3, "mJ"}, {1e-6, "uJ"}, {1e-9, "nJ"}} do
    if j >= unit[1] or unit[1] == 1e-9 then return ("%.3g %s"):format(j / unit[1], unit[2]) end
  end
end

-- Returns the words about a table that describes only the first thread, or "" if there is only one thread. Records of nests have no
-- threads.
local function of_first(c, words) return (c.threads or 1) > 1 and words:format(c.threads) or "" end

-- Returns the terms with at least 0.5 % of the cycles, largest first.
local function shown_terms(c)
  local shown = {}
  for _, term in ipairs(c.terms) do if term.cycles >= 0.005 * c.cycles then shown[#shown + 1] = term end end
  table.sort(shown, function(a, b) return a.cycles > b.cycles end)
  return shown
end

local function add_terms(c, out)
  out[#out + 1] = ("time of each resource if it were the only limit%s:"):format(of_first(c, ", for the first of %d threads"))
  for _, term in ipairs(shown_terms(c)) do
    out[#out + 1] = ("  %-24s %10s cycles  %4.0f %%"):format(term.name, whole(term.cycles), 100 * term.cycles / c.cycles)
  end
end

local HEADER = "%-18s %15s %13s %13s %13s %13s"

-- Returns a row of the table of misses. told: true if conflict misses are distinguished from capacity misses.
local function misses_line(name, row, told)
  return ("%-18s %15d %13d %13d %13s %13d"):format(name, row.asked, row.cold, row.capacity, told and row.conflict or "-",
    row.written_back)
end

local function add_misses(c, out)
  out[#out + 1] = HEADER:format(of_first(c, "first of %d threads"), "lines requested", "cold", "capacity", "conflict",
    "written back")
  for _, row in ipairs(c.by_tensor) do
    out[#out + 1] = misses_line(("  L%d %s"):format(row.level, row.tensor), row, c.conflicts)
  end
end

-- Adds remarks about what the model assumes of code that it does not know, and of choices that depend on data.
local function add_assumed(c, out)
  if c.calls then
    out[#out + 1] = "calls of intrinsics: their code is not known; it is assumed to do its nest in full vectors, without waiting"
  end
  if c.counts_both then
    out[#out + 1] = "the condition of a select depends on data: the accesses and operations of both sides are counted"
  end
end

local function exact_text(c)
  local parts = {}
  for _, level in ipairs(c.levels) do
    parts[#parts + 1] = ("L%d %s"):format(level.level,
      level.exact and "exact" or ("estimated, up to %.1f %% off"):format(100 * level.error))
  end
  return "misses of LRU caches: " .. table.concat(parts, ", ")
end

local function add_traffic(c, out)
  local parts = {}
  for n, t in ipairs(c.traffic) do
    parts[n] = t.bytes > 0 and ("%s %.3g"):format(t.name, t.intensity) or t.name .. " none"
  end
  out[#out + 1] = ("%s operations; operations per byte moved: %s"):format(whole(c.flops), table.concat(parts, ", "))
end

local function add_memory(c, out)
  local parts = {}
  for where, bytes in pairs(c.memory) do parts[#parts + 1] = ("%s %s"):format(where, written.bytes(bytes)) end
  table.sort(parts)
  out[#out + 1] = "memory: " .. table.concat(parts, ", ")
end

-- Returns a remark if more threads were requested than have work, or if a parallel loop was computed for one thread. Otherwise
-- returns nil.
local function unused_threads(c)
  if c.idle > 0 then
    return ("%d threads were requested, but no loop is parallel: one thread does all the work"):format(c.threads + c.idle)
  end
  if c.threads == 1 and c.parallel and c.machine.cores > 1 then
    return ("computed for one thread, although loop %s is parallel; for %d threads: threads = %d"):format(c.parallel,
      c.machine.cores, c.machine.cores)
  end
end

local function add_threads(c, out)
  out[#out + 1] = unused_threads(c)
  if c.threads == 1 then return end
  out[#out + 1] = ("%d threads: balance %.0f %%; %s to start and join threads; %s cycles outside of parallel loops; the limits of "
    .. "resources and the misses are those of the first thread, the operations, bytes and energy those of all"):format(
    c.threads, 100 * c.balance, written.seconds(c.team_seconds), whole(c.outside))
end

-- Adds a line about latency if latency is the bottleneck. The line names only one loop, because dependence chains overlap, so the
-- sum of their latencies has no meaning. The loop is chosen among those that carry a chain. A loop replaces the loop chosen before
-- if it takes at least 90 % of the cycles of that loop. If no loop carries a chain, a loop with a chain in an iteration is chosen.
local function add_latency(c, out)
  if c.bottleneck ~= "latency" then return end
  local at = {}
  for _, loop in ipairs(c.loops) do
    local known = at[loop.bottleneck]
    if loop.name and (not known or loop.cycles >= 0.9 * known.cycles) then at[loop.bottleneck] = loop end
  end
  local carrier, inside = at["latency"], at["latency in an iteration"]
  if carrier then
    out[#out + 1] = ("latency: in 'for %s' each result needs the previous one; the loop takes %s cycles"):format(carrier.name,
      whole(carrier.cycles))
  elseif inside then
    out[#out + 1] = ("latency: in each iteration of 'for %s', results need previous ones; the loop takes %s cycles"):format(
      inside.name, whole(inside.cycles))
  end
end

local function add_measured(c, out)
  if not c.measured then return end
  out[#out + 1] = ("predicted %s, measured %s (median), ratio %.2f%s"):format(written.seconds(c.seconds),
    written.seconds(c.measured.median), c.ratio, c.measured.disturbed and ", disturbed by other work" or "")
end

-- The pieces that hold the edges of a loop: what a split left over, and what a partition found before and after its main piece.
local EDGES = {tail = true, pre = true, post = true}

-- Returns the piece at an edge of a loop that takes the most time, and its share of the time. Returns nil if there is none.
local function slowest_edge(c)
  local worst
  for _, loop in ipairs(c.loops) do
    local edge = loop.name and EDGES[loop.name:match "[^/]*$":match "%.(%a+)$" or ""]
    if edge and (not worst or loop.cycles > worst.cycles) then worst = loop end
  end
  if worst and c.cycles > 0 then return worst, worst.cycles / c.cycles end
end

--- Returns the bottleneck of a prediction. It names the piece at an edge of a loop, such as i.tail, that takes a large part of the
--- time.
function text.bottleneck(c)
  local edge, share = slowest_edge(c)
  if not edge or share < 0.2 then return c.bottleneck end
  if share > 0.5 then
    return ("%s in %s, which takes %.0f %% of the time"):format(edge.bottleneck, edge.name, 100 * share)
  end
  return ("%s; %s takes %.0f %% of the time"):format(c.bottleneck, edge.name, 100 * share)
end

--- Returns the time, the machine, the number of threads and the bottleneck of a prediction.
function text.head(c)
  return ("%s on %s, %s (%s cycles), a prediction; bottleneck: %s"):format(written.seconds(c.seconds), c.machine.name,
    written.plural(c.threads, "thread"), whole(c.cycles), text.bottleneck(c))
end

-- ---- the cost of a nest

-- Adds the misses by loop. Adds nothing if there is a single loop, since its misses are the totals.
local function add_by_loop(c, out)
  if #c.by_loop == #c.levels then return end
  for _, row in ipairs(c.by_loop) do
    out[#out + 1] = misses_line(("  L%d for %s"):format(row.level, row.loop or "-"), row, c.conflicts)
  end
end

local function add_counted(c, out)
  local parts = {}
  for n, exact in ipairs(c.exact) do
    parts[n] = exact and ("L%d exact"):format(n) or ("L%d estimated, up to %.2g %% off"):format(n, 100 * c.error[n])
  end
  out[#out + 1] = ("misses of LRU caches that are empty at first; %s%s: %s"):format(
    c.feed == "full" and "every level sees every access" or "each level sees only the misses of the level before it",
    c.conflicts and "" or "; conflict misses are counted as capacity misses", table.concat(parts, ", "))
end

local function add_operations(c, out)
  if c.flops == 0 then
    out[#out + 1] = "operations: none in the text, so only the memory traffic is counted"
    return
  end
  local parts = {}
  for n, op in ipairs(c.operations) do
    parts[n] = ("%s %s"):format(op.name, whole(op.count)) .. (op.bits > 0 and (" of %d bits"):format(op.bits) or "")
  end
  if c.calls > 0 then parts[#parts + 1] = ("%s calls of other functions, which have no cost"):format(whole(c.calls)) end
  out[#out + 1] = ("operations in the text%s: %s"):format(c.counted and "" or ", estimated", table.concat(parts, ", "))
  add_traffic(c, out)
end

local function add_energy(c, out)
  if c.joules == 0 then
    out[#out + 1] = "energy: the machine's record has no energy table"
    return
  end
  out[#out + 1] = ("energy: %s to move data, %s for the operations; estimated from the machine's energy table"):format(
    joules_text(c.memory_joules), joules_text(c.joules - c.memory_joules))
end

local function is_estimated(c)
  for _, exact in ipairs(c.exact) do if not exact then return true end end
  return not c.counted
end

local function nest_head(c)
  return ("at least %s%s on %s (%s cycles): a bound, not a prediction; bottleneck: %s"):format(is_estimated(c) and "about " or "",
    written.seconds(c.seconds), c.machine.name, whole(c.cycles), c.bottleneck)
end

--- Returns the record of n:cost as text.
function text.nest(c)
  local out = {nest_head(c)}
  add_terms(c, out)
  add_misses(c, out)
  add_by_loop(c, out)
  add_counted(c, out)
  add_operations(c, out)
  add_energy(c, out)
  out[#out + 1] = "not modelled: instructions, latencies, reuse in registers, prefetchers, TLBs (these depend on the compiled code)"
  return table.concat(out, "\n")
end

-- ---- the cost of a schedule

local function add_joules(c, out)
  local predicted = c.joules > 0 and joules_text(c.joules) .. ", estimated from the machine's energy table" or
    "no estimate: the machine's record has no energy table"
  if not c.measured then
    if c.joules > 0 then out[#out + 1] = "energy: " .. predicted end
  elseif c.measured_joules then
    local ratio = c.joules_ratio and c.joules > 0 and (", ratio %.2g"):format(c.joules_ratio) or ""
    out[#out + 1] = ("energy: predicted %s; measured %s for the whole CPU package, other processes included%s"):format(predicted,
      joules_text(c.measured_joules), ratio)
  else
    out[#out + 1] = ("energy: predicted %s; not measured: %s"):format(predicted, c.why_no_joules)
  end
end

local function add_spills(c, out)
  if c.spills == 0 and (c.spills_emitted or 0) == 0 then return nil end
  local emitted = c.spills_emitted and ("; %s in the compiled code"):format(whole(c.spills_emitted)) or ""
  out[#out + 1] = ("register spills: %s (estimated)%s"):format(whole(c.spills), emitted)
end

--- Returns a remark about threads that the prediction does not use, or nil.
text.unused_threads = unused_threads

--- Returns the record of s:cost as text.
function text.of(c)
  local out = {text.head(c)}
  add_measured(c, out)
  add_terms(c, out)
  add_latency(c, out)
  add_misses(c, out)
  out[#out + 1] = exact_text(c)
  add_assumed(c, out)
  add_traffic(c, out)
  add_memory(c, out)
  add_threads(c, out)
  add_spills(c, out)
  add_joules(c, out)
  if c.mca then out[#out + 1] = c.mca.text end
  return table.concat(out, "\n")
end

-- ---- tables for html.lua

local function cells_of(c, title, foot)
  local lines = {}
  for _, term in ipairs(shown_terms(c)) do
    lines[#lines + 1] = {term.name, whole(term.cycles) .. " cycles", ("%.0f %%"):format(100 * term.cycles / c.cycles)}
  end
  for _, row in ipairs(c.by_tensor) do
    lines[#lines + 1] = {("L%d %s"):format(row.level, row.tensor), ("%d lines requested"):format(row.asked),
      ("%d misses"):format(row.cold + row.capacity + row.conflict)
        .. (c.conflicts and (", %d of them conflicts"):format(row.conflict) or "")}
  end
  return {head = {title, "", ""}, rows = lines, left = {true, heads = true}, foot = table.concat(foot, "; ")}
end

--- Returns the record of s:cost as a table for notebooks.
function text.cells(c)
  local foot = {exact_text(c)}
  add_assumed(c, foot)
  add_latency(c, foot)
  add_traffic(c, foot)
  add_memory(c, foot)
  add_threads(c, foot)
  add_measured(c, foot)
  add_joules(c, foot)
  return cells_of(c, text.head(c), foot)
end

--- Returns the record of n:cost as a table for notebooks.
function text.nest_cells(c)
  local foot = {}
  add_counted(c, foot)
  add_operations(c, foot)
  add_energy(c, foot)
  return cells_of(c, nest_head(c), foot)
end

function text.price(p)
  local out = {}
  for n, row in ipairs(p.rows) do
    out[n] = ("%-16s %14s x %10.4g pJ = %s"):format(row.name, whole(row.count), row.pj, joules_text(row.joules))
  end
  out[#out + 1] = ("%s in total, estimated from the energy table of %s"):format(joules_text(p.joules), p.machine.name)
  if p.cycles then out[#out + 1] = ("%.0f cycles"):format(p.cycles) end
  return table.concat(out, "\n")
end

-- A GPU has no column of cycles.
function text.curve(list, size)
  local cycles = list[1].cycles and "%12s " or "%.0s"
  local line = "%10s %12s " .. cycles .. " %s"
  local out = {line:format(size, "predicted", "cycles", "bottleneck")}
  for _, row in ipairs(list) do
    out[#out + 1] = line:format(row.size, written.seconds(row.seconds), row.cycles and whole(row.cycles) or "", row.bottleneck)
  end
  return table.concat(out, "\n")
end

return text
