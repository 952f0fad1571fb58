--- Makes time records, and comparisons of several records. A comparison states the speed-up of each record, or that the record is
--- not distinguishable from the base.
local conditions = require "nestwright.measure.conditions"
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local rows = require "nestwright.language.rows"
local written = require "nestwright.show.written"

local times = {}

local seconds = written.seconds

local function count(n, word) return ("%d %s%s"):format(n, word, n == 1 and "" or "s") end

--- Returns the mark of a schedule with a rewrite that was tested on n values, but not proved, in this format; "" if n is nil.
function times.tested(form, n) return n and form:format(("tested on %d values, not proved"):format(n)) or "" end

-- ---- one record

local time_methods = {}
times.methods = time_methods -- other modules add methods
local time_meta = {__name = "nestwright.time", __index = time_methods}

-- Records of numbers that were measured elsewhere may lack some fields.
local function min_text(t) return t.min and seconds(t.min) or "unknown" end
local function median_text(t) return t.fastest_alone and "unknown" or seconds(t.median) end
local function spread_text(t) return t.spread and ("spread %.1f %%"):format(100 * t.spread) or "spread unknown" end

--- Returns what a reader must know before using the numbers of a time, or of another measurement with the same fields.
function times.remarks(t)
  return (t.unsafe and ", unsafe" or "") .. times.tested(", %s", t.tested) .. (t.disturbed and ", disturbed by other work" or "")
end

--- Returns the marks of a time in a picture. "(unsafe)" means that steps of the schedule were not judged, "(not proved)" that a
--- rewrite was only tested, and "(disturbed)" that other work disturbed the measurement.
function times.marks(t)
  return (t.unsafe and " (unsafe)" or "") .. (t.tested and " (not proved)" or "") .. (t.disturbed and " (disturbed)" or "")
end

function time_meta.__tostring(t)
  return ("min %s, median %s, %s, %s, %s"):format(min_text(t), median_text(t), spread_text(t), count(t.reps or 1, "rep"),
    count(t.threads or 1, "thread")) .. (t.conditions and ", " .. t.conditions or "") .. times.remarks(t)
end

function time_meta.__cells(t)
  return {head = {"min", "median", "spread", "reps", "threads"},
    rows = {{min_text(t), median_text(t), (spread_text(t):gsub("^spread ", "")), tostring(t.reps or 1),
      tostring(t.threads or 1)}}, foot = ("%s%s%s%s"):format(t.what and t.what .. "; " or "", t.machine or "unknown machine",
      t.conditions and "; " .. t.conditions or "", (times.remarks(t):gsub(", ", "; ")))}
end

local cpu
--- Returns the name of this machine, on which measurements are made.
function times.machine()
  cpu = cpu or core.machine_text():match "[^\n]+" or "unknown"
  return cpu
end

--- Returns the number of logical cores that this process may use.
function times.cores() return math.tointeger(core.machine_text():match "(%d+) cores?,") or 1 end

times.made = 0 -- the number of records that have been made so far

--- Makes a record of a time t that the core measured. kernel: the measured kernel, or nil; arrays: its arguments; how: the
--- conditions, from conditions.of.
function times.record(t, kernel, how, arrays)
  times.made = times.made + 1
  t.machine, t.what = times.machine(), kernel and tostring(kernel)
  if not times.half(t) then t.spread = nil end
  t.unsafe, t.tested = kernel and kernel.unsafe or nil, kernel and kernel.tested or nil
  conditions.note(t, how, arrays)
  return setmetatable(t, time_meta)
end

function times.is_record(t) return getmetatable(t) == time_meta end

local function sorted_copy(samples)
  local sorted = table.move(samples, 1, #samples, 1, {})
  table.sort(sorted)
  return sorted
end

--- Returns the ends of the middle half of numbers, which may be in any order.
function times.quartiles(samples)
  local sorted = sorted_copy(samples)
  local n = #sorted
  return sorted[math.max(1, (n + 3) // 4)], sorted[math.max(1, (3 * n + 3) // 4)]
end

--- Returns the ends of the middle half of a record's times, or nil if they are unknown. A single time has no middle half.
function times.half(t)
  if t.samples and #t.samples > 1 then return times.quartiles(t.samples) end
end

local CHANCE, EFFECT = 0.001, 1.03 -- the limits of probability and speed-up for a verdict on times that were measured in turn
local ROUNDS = 10 -- the least number of rounds for this verdict; with fewer, times are compared as if they were measured separately

-- Returns the probability that one of two equal kernels is faster in at least k of n rounds. This is twice the tail of a binomial
-- distribution (the sign test).
local function chance(k, n)
  local tail, ways = 0, 1 -- ways: the number of ways to choose i of n rounds
  for i = 0, n - k do
    tail = tail + ways
    ways = ways * (n - i) / (i + 1)
  end
  return 2 * tail / 2.0 ^ n
end

-- Returns the median of the ratios of the times of rounds from..to, and the number of these rounds in which a was faster.
local function ratio_of(a, b, from, to)
  local ratios, below = {}, 0
  for k = from, to do
    local ratio = a.samples[k] / b.samples[k]
    ratios[#ratios + 1] = ratio
    if ratio < 1 then below = below + 1 end
  end
  table.sort(ratios)
  return ratios[(#ratios + 1) // 2], below
end

-- True if two kernels that were measured in turn differ. The median of the ratios of their times must exceed EFFECT (or be less
-- than 1 / EFFECT), in the same direction in all rounds together, in the first half of them and in the second half. One kernel
-- must be faster in more rounds than is likely by chance (CHANCE). Ratios are used because a change of the machine's speed changes
-- both times of a round, but not their ratio. The halves are tested because other work can disturb one kernel more than the other
-- for some time, so rounds that follow each other are not independent.
local function differs_in_turn(a, b)
  local n = math.min(#a.samples, 1000)
  local middle, below = ratio_of(a, b, 1, n)
  local first, second = ratio_of(a, b, 1, n // 2), ratio_of(a, b, n // 2 + 1, n)
  local faster = math.max(middle, first, second) < 1 / EFFECT
  local slower = math.min(middle, first, second) > EFFECT
  return (faster or slower) and chance(faster and below or n - below, n) <= CHANCE
end

--- True if two records are distinguishable. If they were measured in turn for at least ten rounds, this means that the median of
--- the ratios differs from 1 by more than 3 %, also in each half of the rounds, and that chance alone gives such a result for equal
--- kernels in at most one of 1,000 comparisons (sign test). Otherwise, it means that the middle halves of their times do not
--- overlap. Returns nil if one of the middle halves is unknown, or if other work disturbed one of the measurements.
function times.distinguishable(a, b)
  if a.disturbed or b.disturbed then return nil end
  if a.turns and a.turns == b.turns and #a.samples == #b.samples and #a.samples >= ROUNDS then return differs_in_turn(a, b) end
  local alo, ahi = times.half(a)
  local blo, bhi = times.half(b)
  if not alo or not blo then return nil end
  return ahi < blo or bhi < alo
end

--- Returns the value if it is a table without a metatable. Otherwise, raises an error.
function times.plain(what, value)
  if type(value) == "table" and getmetatable(value) == nil then return value end
  errors.fail("invalid", nil, "%s: expected a table, got %s", what,
    type(value) == "table" and "one with a metatable" or core.type_name(value))
end

-- ---- records from elsewhere

local FIELDS = {"min", "median", "samples", "spread", "reps", "threads", "machine", "conditions", "label",
  "disturbed"}

local function positive(what, v)
  if type(v) == "number" and v > 0 and v < math.huge then return v end
  errors.fail("invalid", nil, "%s: %s is not a time: expected seconds, above 0", what, tostring(v))
end

local function number_or_none(what, v, least)
  if v == nil or type(v) == "number" and v >= least and v < math.huge then return v end
  errors.fail("invalid", nil, "%s: expected a number of at least %d, got %s", what, least, core.type_name(v))
end

-- Checks the fields of a given record.
local function check_fields(what, t)
  for _, name in ipairs {"min", "median"} do if t[name] ~= nil then positive(what .. ": " .. name, t[name]) end end
  for _, name in ipairs {"spread", "reps"} do number_or_none(what .. ": " .. name, t[name], 0) end
  number_or_none(what .. ": threads", t.threads, 1)
  for _, name in ipairs {"machine", "conditions", "label"} do
    if t[name] ~= nil then errors.label(what .. ": " .. name, t[name]) end
  end
  for n, v in ipairs(times.plain(what .. ": samples", t.samples or {})) do positive(what .. ": samples: " .. n, v) end
end

local function summarise(t)
  local sorted, lo, hi = sorted_copy(t.samples), times.half(t)
  local n = #sorted
  t.min, t.median = t.min or sorted[1], t.median or sorted[(n + 1) // 2] / 2 + sorted[n // 2 + 1] / 2
  t.reps, t.spread = t.reps or #t.samples, t.spread or lo and (hi - lo) / t.median
end

--- Returns a time record of given numbers in seconds. At least one of the fields min, median and samples is required.
function times.given(what, value)
  if times.is_record(value) then return value end
  local o, t = errors.options(what, times.plain(what, value), FIELDS), {elsewhere = true}
  for _, name in ipairs(FIELDS) do t[name] = o[name] end
  check_fields(what, t)
  if t.samples and #t.samples > 0 then summarise(t) end
  if not t.min and not t.median then
    errors.fail("invalid", "for example {median = 0.0012, samples = {0.0012, 0.0013}}", "%s: min, median or samples is required",
      what)
  end
  t.median, t.fastest_alone = t.median or t.min, not t.median or nil
  return setmetatable(t, time_meta)
end

-- ---- comparisons

local comparison_methods = {}
local comparison_meta = {__name = "nestwright.comparison", __index = comparison_methods}

-- True if an entry of a list is a pair such as {"naive", f}.
local function is_named(value)
  return type(value) == "table" and getmetatable(value) == nil and type(value[1]) == "string" and value[2] ~= nil
end

--- Returns the entries of a table such as {f, {"name", g}, name = h} with their labels. The entries of the list come first, in its
--- order. The entries with a key come after them, in alphabetical order, because Lua does not keep the order in which keys are
--- written. options: the keys that are not entries; what: the name of the argument, for errors.
function times.entries(what, list, options)
  local found, names = {}, {}
  for n, value in ipairs(list) do
    found[n] = is_named(value) and {label = errors.label(what .. ": a name", value[1]), value = value[2]}
      or {label = "#" .. n, value = value}
  end
  for key in pairs(list) do
    if type(key) == "string" and not options[key] then names[#names + 1] = key end
  end
  table.sort(names)
  for _, name in ipairs(names) do
    found[#found + 1] = {label = errors.label(what .. ": a name", name), value = list[name]}
  end
  return found
end

--- The verdict is UNKNOWN if the spread of one of the times is unknown. It is DISTURBED if other work disturbed one of the times.
times.UNKNOWN, times.DISTURBED = "no verdict: spread unknown", "no verdict: disturbed by other work"

local function verdict(t, base)
  if t.refused then return "refused: " .. t.refused end
  if t == base then return t.disturbed and times.DISTURBED or "1.00x" end
  if t.disturbed or base.disturbed then return times.DISTURBED end
  local apart = times.distinguishable(t, base)
  if apart == nil then return times.UNKNOWN end
  if not apart then return ("not distinguishable from %s"):format(base.label) end
  local ratio = base.median / t.median
  return (ratio < 1e6 and "%.2fx" or "%.3gx"):format(ratio)
end

local function name_of(list, base)
  for n, t in ipairs(list) do
    if t.label == base then return n end
  end
  errors.fail("invalid", nil, "base: there is no '%s'", tostring(base))
end

-- Sets the verdicts of all entries. The base is the first entry that was measured.
local function judge(list)
  for _, t in ipairs(list) do
    if not t.refused then list.base = t break end
  end
  for _, t in ipairs(list) do t.verdict = verdict(t, list.base) end
end

--- Makes a comparison of labelled records. fields: rounds (the number of rounds, or nil if the records were measured separately),
--- base (the label of the base), style (of the plot).
function times.comparison(list, fields)
  if fields.base then table.insert(list, 1, table.remove(list, name_of(list, fields.base))) end
  judge(list)
  list.rounds, list.style, list.machine = fields.rounds, fields.style, list.base and list.base.machine or times.machine()
  return setmetatable(list, comparison_meta)
end

local LABEL = 60 -- the largest number of characters of a label in a table

-- Returns what a reader must know about one time in a list. own: true if the times of the list have different conditions.
local function tail_of(t, own)
  return (t.unsafe and ", unsafe" or "") .. times.tested(", %s", t.tested) .. (own and t.conditions and ", " .. t.conditions or "")
end

local function line_of(t, width, own)
  local label = written.shortened(t.label, LABEL)
  label = label .. (" "):rep(width - utf8.len(label))
  if t.refused then return ("%s  %s"):format(label, t.verdict) end
  return ("%s  min %9s  median %9s  %-14s  %s%s"):format(label, min_text(t), median_text(t),
    t.spread and ("spread %5.1f %%"):format(100 * t.spread) or "spread unknown", t.verdict,
    tail_of(t, own) .. (t.elsewhere and ", measured elsewhere" or ""))
end

local function how_text(c)
  local how, shared = c.rounds and "interleaved, " .. count(c.rounds, "round") or "measured separately", conditions.shared(c)
  return ("%s, medians compared, %s%s"):format(how, c.machine or "unknown machine", shared and ", " .. shared or "")
end

function comparison_meta.__cells(c)
  local out, own = {}, not conditions.shared(c)
  for n, t in ipairs(c) do
    local label = written.shortened(t.label, LABEL)
    out[n] = t.refused and {label, "", "", "", t.verdict} or {label, min_text(t), median_text(t),
      (spread_text(t):gsub("^spread ", "")), t.verdict .. tail_of(t, own)}
  end
  return {head = {"", "min", "median", "spread", "medians compared"}, rows = out, left = {true, heads = true, [5] = true},
    foot = how_text(c)}
end

function comparison_meta.__tostring(c)
  local out, width = {}, 1
  for _, t in ipairs(c) do width = math.max(width, utf8.len(written.shortened(t.label, LABEL))) end
  for n, t in ipairs(c) do out[n] = line_of(t, width, not conditions.shared(c)) end
  out[#out + 1] = how_text(c)
  return table.concat(out, "\n")
end

rows.define(time_methods, "time", "timing", "gflops", "(self: nw.time, flop: number): number",
  "Billions of operations per second in the median run. flop: the operations of one run, 2*M*N*K for a matrix product.",
  function(t, flop) return errors.expect("gflops: flop", flop, "number") / t.median / 1e9 end)

rows.define(comparison_methods, "comparison", "timing", "plot",
  "(self: nw.comparison, options?: {style?: 'bars'|'points'|'speedup'|'steps', title?: nw.label}): nw.plot",
  "Draws the times, one row each, in the given order. Each row shows the median, the middle half and the fastest time. style: "
  .. "'bars', from zero; 'points', on a logarithmic axis if the times differ much; 'speedup', the speed-up over the first time; "
  .. "'steps', a curve as for s:time_steps. The default is 'bars', or 'points' if one time is more than 20 times another. "
  .. "Times that are not distinguishable from the first are hatched; brackets join times that are not "
  .. "distinguishable from each other.",
  function(c, options)
    return require "nestwright.plots.times".make(c, errors.options("plot", options, {"style", "title"}))
  end)

--- Returns a record with the label and the times of an entry. The record is a copy, because a comparison changes its records.
function times.labelled(what, entry)
  local given, t = times.given(("%s: %s"):format(what, entry.label), entry.value), {}
  for key, value in pairs(given) do t[key] = value end
  t.label = entry.label:find "^#" and given.label or entry.label
  return setmetatable(t, time_meta)
end

rows.define(time_methods, "time", "timing", "plot",
  "(self: nw.time, options?: {style?: 'bars'|'points'|'speedup'|'steps', title?: nw.label}): nw.plot",
  "Draws the time as a comparison with one entry; nw.timings draws several times.",
  function(t, options)
    local name = t.label or t.what or "time"
    return times.comparison({times.labelled("plot", {label = name, value = t})}, {}):plot(options)
  end)

local function timings(list)
  times.plain("timings: times", list)
  local named, out = type(list.base) == "string", {}
  for n, entry in ipairs(times.entries("timings: times", list, {base = named})) do out[n] = times.labelled("timings", entry) end
  if #out == 0 then
    errors.fail("invalid", "for example nw.timings{naive = f:time(), tiled = g:time()}", "timings: there are no times")
  end
  return times.comparison(out, {base = named and list.base or nil})
end

function times.install(nw)
  rows.define(nw, "nw", "timing", "timings", "(times: table): nw.comparison",
    "Collects separately measured times in one list to print and plot: nw.timings{naive = t1, tiled = t2, base = \"naive\"}, or "
    .. "nw.timings{{\"naive\", t1}, {\"tiled\", t2}} to keep the order in which they are written. An "
    .. "entry is an answer of s:time, or numbers measured elsewhere, in seconds: {median = 0.0012, min = 0.0011, samples = "
    .. "{...}, machine = \"...\"}. base: the entry that the others are compared with, by default the first. Prefer nw.compare, "
    .. "which measures in turn.", timings)
end

return times
