--- nw.cost.audit compares predictions with measurements, over random legal schedules of a computation.
local blanks = require "nestwright.show.blanks"
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local report = require "nestwright.show.report"
local rows = require "nestwright.language.rows"
local sample = later "nestwright.learn.sample"
local statistics = require "nestwright.measure.statistics"
local written = require "nestwright.show.written"

local audit = {}

local QUARTER = 0.25
local MOST = 2000 -- the largest number of schedules

-- ---- options

local OPTIONS = {"kernel", "schedules", "seed", "threads", "file", "machine", "model"}

local function whole(name, value, least, most, what)
  if math.type(value) == "integer" and value >= least and value <= most then return value end
  errors.fail("range", nil, "%s: %s: expected a whole number in %d..%d, got %s", what or "audit", name, least, most,
    tostring(value))
end

local TENSOR = core.classes.tensor

-- Returns the outputs of a kernel, and a name for it.
local function kernel_of(kernel)
  if type(kernel) == "string" then
    return {require "nestwright.measure.workloads".make("audit", kernel)}, kernel
  end
  local list = debug.getmetatable(kernel) == TENSOR and {kernel} or kernel
  if type(list) ~= "table" or #list == 0 then
    errors.fail("invalid", "nw.cost.audit{kernel = C} or {kernel = \"gemm\"}",
      "audit: kernel: expected a tensor, a list of them or a name, got %s", core.type_name(kernel))
  end
  for _, t in ipairs(list) do
    if debug.getmetatable(t) ~= TENSOR then
      errors.fail("invalid", nil, "audit: kernel: expected tensors, got %s", core.type_name(t))
    end
  end
  if #core.program_sizes(core.schedule(list)) > 0 then
    errors.fail("invalid", "give the tensors constant sizes", "audit: kernel: its sizes are symbolic, but a run needs numbers")
  end
  return list, list[1].name
end

local function settings(options)
  local given = errors.options("audit", errors.expect("audit", options, "table"), OPTIONS)
  local o = {machine = given.machine}
  o.model = given.model ~= nil and require "nestwright.learn.learn".check("audit: model", given.model) or nil
  o.outputs, o.name = kernel_of(given.kernel)
  o.schedules = whole("schedules", given.schedules or 200, 2, MOST)
  o.seed = whole("seed", given.seed or 1, 0, 1 << 31)
  o.threads = whole("threads", given.threads or 1, 1, 1024)
  o.file = given.file and errors.expect("audit: file", given.file, "string")
  return o
end

-- ---- predictions

-- Returns the cost record of a schedule, or nil and the reason if the model cannot predict its time.
local function price(s, o)
  local ok, c = pcall(s.cost, s, {machine = o.machine, threads = o.threads > 1 and o.threads or nil, conflicts = false,
    feed = "full"})
  if ok then return c end
  if not errors.is_error(c) or c.code == "interrupt" then error(c, 0) end
  return nil, c.message
end

-- Returns the point {trace, predicted, cost, schedule} of an entry of the sample (sample.lua). points_of adds the measured times.
-- The point is made at the first use. If the model cannot predict the entry's time, the point has the field `why`, which is the
-- reason, instead of `cost` and `predicted`.
local function point_of(o, entry)
  local known = o.points[entry]
  if known then return known end
  local s = sample.schedule(entry, o.outputs)
  local c, why = price(s, o)
  o.points[entry] = {trace = s:trace(), schedule = s, cost = c, predicted = c and c.seconds, why = why}
  return o.points[entry]
end

-- True if the model can predict the time of an entry. Reports progress: the entry is number n of `most`.
local function has_prediction(o, entry, n, most)
  if not o.points[entry] then
    core.tell_progress(("predicting: %d of %d"):format(n, most), (n - 1) / most, o.since)
  end
  return point_of(o, entry).cost ~= nil
end

-- Returns the points of the kept entries of a sample (sample.kept), in the order in which the schedules were drawn. Also returns
-- the points without a prediction, and the number of entries that are left out because other work disturbed their measurement.
local function points_of(m, o)
  local out, unpriced, disturbed = {}, {}, 0
  for _, entry in ipairs((sample.kept(m))) do
    if sample.is_disturbed(entry) then
      disturbed = disturbed + 1
    else
      local p = point_of(o, entry)
      p.measured, p.halves = entry.seconds, sample.halves(entry)
      table.insert(p.cost and out or unpriced, p)
    end
  end
  core.tell_progress()
  return out, unpriced, disturbed
end

--- Returns the quality of guesses as one row of the table. If the guesses are times, in_seconds is true. If they are scores, only
--- their order matters.
function audit.figures(guess, truth, in_seconds)
  local g, t = statistics.lowest(guess, truth, QUARTER)
  return {tau = statistics.tau(guess, truth), spearman = statistics.spearman(guess, truth),
    pairwise = statistics.pairwise(guess, truth), tau_best_quarter = statistics.tau(g, t),
    median_error = in_seconds and statistics.median_error(guess, truth) or nil,
    regret_1 = statistics.regret(guess, truth, 1), regret_5 = statistics.regret(guess, truth, 5)}
end

local function column(points, name)
  local out = {}
  for n, p in ipairs(points) do out[n] = p[name] end
  return out
end

-- Returns the quality of a learned model. Negates its scores, so that lower values mean faster, as for times.
local function learned(points, model)
  local out = {}
  for n, score in ipairs(require "nestwright.learn.learn".scores(model, points)) do points[n].learned, out[n] = score, -score end
  return out
end

-- ---- the text

local COLUMNS = {{"tau", "tau"}, {"best quarter", "tau_best_quarter"}, {"Spearman", "spearman"}, {"pairs right", "pairwise", 100},
  {"median error", "median_error", 100}, {"loss, best of 1", "regret_1", 100}, {"of 5", "regret_5", 100}}

local function cell(value, percent)
  if not value then return "-" end
  return percent and ("%.1f %%"):format(percent * value) or ("%.3f"):format(value)
end

local function cells_of(a)
  local head, lines = {""}, {}
  for n, c in ipairs(COLUMNS) do head[n + 1] = c[1] end
  for _, name in ipairs {"analytic", "learned", "measured"} do
    if a[name] then
      local line = {name}
      for n, c in ipairs(COLUMNS) do line[n + 1] = cell(a[name][c[2]], c[3]) end
      lines[#lines + 1] = line
    end
  end
  return {head = head, rows = lines, left = {true}}
end

local function table_text(t, out)
  for _, line in ipairs {t.head, table.unpack(t.rows)} do
    local parts = {}
    for n, text in ipairs(line) do parts[n] = (n == 1 and "%-9s" or "%15s"):format(text) end
    out[#out + 1] = blanks.right(table.concat(parts, " "))
  end
end

local function text_of(a)
  local out = {("%s: %d schedules, seed %d, from %s to %s"):format(a.kernel, #a.points, a.seed, written.seconds(a.best),
    written.seconds(a.worst))}
  table_text(cells_of(a), out)
  out[#out + 1] = ("%d drawn, %d rejected: they took more than %d times the best time, or were not built"):format(a.drawn,
    a.rejected, sample.SLOWEST)
  if a.unpriced > 0 then
    out[#out + 1] = ("%s without a prediction, excluded: %s"):format(written.plural(a.unpriced, "schedule"), a.why)
  end
  if a.disturbed > 0 then
    out[#out + 1] = ("%s excluded: other work disturbed the measurement"):format(written.plural(a.disturbed, "schedule"))
  end
  out[#out + 1] = ("measured on %s, medians of seven rounds; predicted for %s"):format(a.measured_on, a.machine.name)
  return table.concat(out, "\n")
end

-- ---- the record

local class = report.class "audit"
local define = rows.definer(class.methods, "audit", "learning")

local function few(a, n)
  if n == nil then return 5 end
  return whole("n", n, 1, #a.points, "outliers")
end

-- Returns the absolute value of log(predicted / measured).
local function miss(p) return math.abs(math.log(p.predicted / p.measured)) end

define("outliers", "(self: nw.audit, n?: integer): nw.report",
  "The n schedules (5 by default) whose predictions differ most from their measurements, each with its steps.", function(a, n)
  local order = table.move(a.points, 1, #a.points, 1, {})
  table.sort(order, function(p, q) return miss(p) > miss(q) end)
  local out, lines = table.move(order, 1, few(a, n), 1, {}), {}
  for k, p in ipairs(out) do
    lines[k] = ("-- measured %s, predicted %s: %s\n%s"):format(written.seconds(p.measured), written.seconds(p.predicted),
      written.times(p.predicted / p.measured), p.trace)
  end
  return report.new(out, table.concat(lines, "\n"))
end)

define("plot", "(self: nw.audit, options?: {title?: nw.label}): nw.plot",
  "Draws the predicted times over the measured times.",
  function(a, options)
    local o = errors.options("plot", options, {"title"})
    return require "nestwright.plots.scatter".make(a, o.title)
  end)

-- Returns how well one half of the measurements predicts the other half. No prediction can be better than this result.
local function repeated(points)
  local a, b = {}, {}
  for n, p in ipairs(points) do
    a[n], b[n] = p.halves[1], p.halves[2]
  end
  return audit.figures(a, b, true)
end

local function of_sample(m, o)
  local points, unpriced, disturbed = points_of(m, o)
  if #points < 2 then
    errors.fail("limit", disturbed > 0 and "call it again when the machine is idle" or unpriced[1] and unpriced[1].why,
      "audit: %d schedules of %s have a prediction and an undisturbed time; at least two are needed", #points, o.name)
  end
  local kept, rejected = sample.kept(m)
  local measured = column(points, "measured")
  local a = {kernel = o.name, seed = m.seed, threads = m.threads, points = points, drawn = #m.entries, rejected = rejected,
    schedules = #kept, unpriced = #unpriced, why = unpriced[1] and unpriced[1].why, disturbed = disturbed,
    best = math.min(table.unpack(measured)),
    worst = math.max(table.unpack(measured)), measured_on = m.machine, machine = points[1].cost.machine,
    analytic = audit.figures(column(points, "predicted"), measured, true)}
  a.measured = repeated(points)
  if o.model then a.learned = audit.figures(learned(points, o.model), measured, false) end
  return class.new(a, text_of(a), cells_of(a))
end

function audit.install(nw)
  nw.cost = nw.cost or {}
  rows.define(nw.cost, "cost", "learning", "audit",
    "(options: {kernel: nw.tensor|nw.tensor[]|string, schedules?: integer, seed?: integer, threads?: integer, file?: string, "
    .. "machine?: nw.machine|string|table, model?: nw.learner}): nw.audit",
    "Compares predictions with measurements. It draws random legal schedules of a computation (seed: 1 by default), measures "
    .. "them in turn (the median of seven rounds), checks their results against those of the naive program, and predicts their "
    .. "times with s:cost. Schedules that are more than 20 times slower than the best, or that have no prediction, are rejected; "
    .. "drawing continues until `schedules` (200) are accepted. kernel: the tensors computed, or one of "
    .. require "nestwright.measure.workloads".names .. ". file: keeps the measurements as JSON, also after an interrupt; the "
    .. "next call continues from there, and a complete sample is not measured again. The answer prints a table: Kendall's tau-b, "
    .. "tau-b within the fastest quarter, Spearman's rho, the share of pairs in the right order, the median of |predicted - "
    .. "measured| / measured, and the loss t/best - 1, where t is the shortest measured time among the 1 or 5 schedules that "
    .. "are predicted fastest, and best is the shortest of all. Measured times are wall-clock time; predicted times are cycles "
    .. "over "
    .. "the clock of the record, which nw.calibrate measures in CPU time. Fields: points (trace, measured and predicted in "
    .. "seconds, "
    .. "schedule, cost), analytic (the figures of s:cost), measured (the figures of "
    .. "one half of the measuring rounds against the other half, the best that a prediction can reach), drawn, rejected, "
    .. "unpriced, disturbed (how many are excluded because other work disturbed their measurement; a file is completed by the next "
    .. "call); with a learned model also learned (its figures; each point then has its score as learned). a:outliers(n) gives "
    .. "the n worst predictions; a:plot() draws predicted over measured times on logarithmic axes.",
    function(options)
      local o = settings(options)
      o.points, o.since = {}, core.now()
      o.counts = function(entry, n, most) return has_prediction(o, entry, n, most) end
      return of_sample(core.quietly(sample.measure, nw, o), o)
    end)
end

return audit
