--- Trains and applies learned models. A learned model consists of decision trees that rank the schedules of a computation. It is
--- trained on audits (nw.cost.audit). Its scores start from the cost model's predictions, and the trees learn the errors of these
--- predictions.
local caches = require "nestwright.cost.caches"
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local features = later "nestwright.learn.features"
local json = require "nestwright.show.json"
local rng = require "nestwright.measure.rng"
local rows = require "nestwright.language.rows"
local statistics = require "nestwright.measure.statistics"
local trees = later "nestwright.learn.trees"

local learn = {}

local SAME = 64 -- for the figure `with_64`: the number of schedules of the held-out computation in the training data
local OWN = 10 -- the weight of the audit `own` (of the computation for which the model is made); other audits have weight 1
local FAR = 1.5 -- the largest difference that is learned between an error and the mean error of the audit, both as logarithms

local LEARNER = core.classes.learner

local about = setmetatable({}, {__mode = "k"}) -- for each model: its objective, features, kernels, held-out figures and machine

-- ---- from audits to rows

local function check_finite(values, p)
  for n, v in ipairs(values) do
    if v ~= v or v == math.huge or v == -math.huge then
      errors.fail("internal", p.trace, "train: the feature '%s' is not a finite number", features.rows[n].name)
    end
  end
  return values
end

local function numbers_of(p)
  p.features = p.features or check_finite(features.of(p.schedule, p.cost), p)
  return p.features
end

-- Returns the expected time of a point in seconds, from which the score of the point starts.
local function expected(p)
  p.expected = p.expected or features.expected(numbers_of(p), p.predicted)
  return p.expected
end

-- The objectives, which determine what the trees learn. The fields of an objective:
--   squares: true if each point has a weight, false if each group has one
--   xgboost: XGBoost's name for the objective
--   trust: the factor of -log(expected time) in the start value of a score
--   label: the value that the trees learn for a point, computed from the best time and the mean error of its audit
local OBJECTIVES = {
  times = {squares = true, xgboost = "reg:squarederror", trust = 1, label = function(p, group)
    local off = math.log(p.measured / expected(p)) - group.off
    return -math.log(expected(p)) - math.max(-FAR, math.min(FAR, off))
  end},
  pairs = {squares = false, xgboost = "rank:pairwise", trust = 5, label = function(p, group) return group.best / p.measured end},
}
local function margin_of(seconds, objective) return -OBJECTIVES[objective].trust * math.log(seconds) end

local function about_group(points)
  local best, off = math.huge, 0
  for _, p in ipairs(points) do
    best, off = math.min(best, p.measured), off + math.log(p.measured / expected(p)) / #points
  end
  return {best = best, off = off}
end

-- Returns the training data of groups: {features, labels, groups, margins, weights}. A group is a list of points of one
-- computation. All groups have the same total weight, whatever their size; only groups.own has a larger weight.
local function rows_of(groups, o)
  local out, objective = {features = {}, labels = {}, groups = {}, margins = {}, weights = {}}, OBJECTIVES[o.objective]
  for g, points in ipairs(groups) do
    local known, weight = about_group(points), groups.own == points and OWN or 1
    for _, p in ipairs(points) do
      local n = #out.features + 1
      out.features[n], out.labels[n], out.margins[n] = numbers_of(p), objective.label(p, known), margin_of(expected(p), o.objective)
      if objective.squares then out.weights[n] = weight * 100 / #points end
    end
    out.groups[g] = #points
    if not objective.squares then out.weights[g] = weight end
  end
  return out
end

-- Trains a model. groups.own: the group of the computation for which the model is made, or nil.
local function fit(groups, o)
  local r = rows_of(groups, o)
  local model = core.learn(r.features, r.labels, r.groups,
    setmetatable({squares = OBJECTIVES[o.objective].squares}, {__index = o}), r.margins, r.weights)
  about[model] = {objective = o.objective}
  return model
end

local function scores(model, points)
  local list, margins = {}, {}
  for n, p in ipairs(points) do list[n], margins[n] = numbers_of(p), margin_of(expected(p), about[model].objective) end
  return core.learner_scores(model, list, margins)
end

--- Returns the scores of the points of an audit; a higher score means faster.
function learn.scores(model, points) return scores(model, points) end

-- ---- held-out figures

local function negative(list)
  local out = {}
  for n, v in ipairs(list) do out[n] = -v end
  return out
end

local function measured(points)
  local out = {}
  for n, p in ipairs(points) do out[n] = p.measured end
  return out
end

local function tau(model, points) return statistics.tau(negative(scores(model, points)), measured(points)) end

local function predicted_tau(points)
  local guess = {}
  for n, p in ipairs(points) do guess[n] = p.predicted end
  return statistics.tau(guess, measured(points))
end

-- Chooses n points at random. Returns these points and the others.
local function parted(points, n, seed)
  local order = rng.new(seed):shuffle(table.move(points, 1, #points, 1, {}))
  return {table.unpack(order, 1, n)}, {table.unpack(order, n + 1)}
end

-- Returns how well three models rank the schedules of one computation: the cost model, a learned model that was not trained on
-- these schedules, and a learned model that was trained on some of them. Audits with the same name are treated as the same
-- computation, even if their sizes differ.
local function held_out(groups, names, at, o)
  local others = {}
  for g, points in ipairs(groups) do if names[g] ~= names[at] then others[#others + 1] = points end end
  local points = groups[at]
  local row = {kernel = names[at], schedules = #points, analytic = predicted_tau(points)}
  if #others > 0 then row.transfer = tau(fit(others, o), points) end
  if #points >= SAME + 2 then
    local some, rest = parted(points, SAME, o.seed)
    others[#others + 1], others.own = some, some
    row.with_64 = tau(fit(others, o), rest)
    row.analytic_64 = predicted_tau(rest)
  end
  return row
end

-- ---- training

local OPTIONS = {"objective", "own", "rounds", "depth", "rate", "forest", "least", "columns", "sample", "seed", "held_out"}
local USUAL = {
  times = {rounds = 120, depth = 4, rate = 0.08, forest = 4, least = 5, columns = 0.3, sample = 0.8, seed = 1},
  pairs = {rounds = 60, depth = 3, rate = 0.08, forest = 1, least = 1, columns = 0.5, sample = 0.8, seed = 1},
}

local function options_of(given)
  local named, o = {}, {}
  for key, value in pairs(given) do if type(key) ~= "number" then named[key] = value end end
  errors.options("train", named, OPTIONS)
  o.objective = named.objective == nil and "times" or named.objective
  if not OBJECTIVES[o.objective] then
    errors.fail("invalid", nil, "train: objective must be 'times' or 'pairs', not %s", tostring(o.objective))
  end
  for key, usual in pairs(USUAL[o.objective]) do o[key] = named[key] ~= nil and named[key] or usual end
  for _, key in ipairs {"columns", "sample", "rate"} do
    if type(o[key]) ~= "number" or not (o[key] > 0 and o[key] <= 1) then
      errors.fail("range", nil, "train: %s: expected a number above 0 and at most 1, got %s", key, tostring(o[key]))
    end
  end
  o.held_out, o.own = named.held_out ~= false, named.own
  return o
end

local function check_audit(n, a)
  if type(a) == "table" and type(a.points) == "table" and type(a.points[1]) == "table" and a.points[1].schedule then return a end
  errors.fail("invalid", "nw.cost.train{nw.cost.audit{kernel = \"gemm\"}, nw.cost.audit{kernel = \"blur\"}}",
    "train: argument %d is not an audit", n)
end

-- Returns the points of the audit `own`, which must be one of the given audits.
local function own_of(given, own)
  if own == nil then return nil end
  for _, a in ipairs(given) do if a == own then return a.points end end
  errors.fail("invalid", "nw.cost.train{a, b, own = b}", "train: own is not one of the audits")
end

local function train(given)
  errors.expect("train", given, "table")
  local o, groups, names, held = options_of(given), {}, {}, {}
  for n, a in ipairs(given) do groups[n], names[n] = check_audit(n, a).points, a.kernel end
  if #groups == 0 then
    errors.fail("invalid", "nw.cost.train{nw.cost.audit{kernel = \"gemm\"}}", "train: there are no audits to learn from")
  end
  if o.held_out then
    for n in ipairs(groups) do held[n] = held_out(groups, names, n, o) end
  end
  groups.own = own_of(given, o.own)
  local model = fit(groups, o)
  about[model] = {objective = o.objective, features = features.names(), kernels = names, held_out = held,
    machine = given[1].measured_on}
  return model
end

-- ---- files

-- Returns the FNV-1a hash (64 bits) of a text, to detect damaged files. A file may be forged, so the trees are checked, too.
local function sum_of(text)
  local h = -3750763034362895579
  for at = 1, #text do h = (h ~ text:byte(at)) * 1099511628211 end
  return ("%016x"):format(h)
end

local function save(model, path)
  local a, text = about[model], core.learner_text(model)
  local saved = {nestwright = core.version(), objective = a.objective, features = a.features, kernels = a.kernels,
    held_out = a.held_out, machine = a.machine, trees = text, sum = sum_of(text)}
  core.write_file("save", errors.expect("save: path", path, "string"), json.encode(saved) .. "\n")
  return model
end

local function are_all(list, kind)
  for _, v in ipairs(list) do if type(v) ~= kind then return false end end
  return true
end

-- True if the value is a row of held-out figures as held_out makes it: {kernel, schedules, analytic, ...}.
local function is_row(row)
  if type(row) ~= "table" or type(row.kernel) ~= "string" or math.type(row.schedules) ~= "integer" then return false end
  for key, v in pairs(row) do if key ~= "kernel" and type(v) ~= "number" then return false end end
  return true
end

local function is_saved(m)
  if type(m) ~= "table" or type(m.trees) ~= "string" or type(m.features) ~= "table" or type(m.kernels) ~= "table" then
    return false
  end
  if OBJECTIVES[m.objective] == nil or type(m.held_out) ~= "table" or not are_all(m.kernels, "string") then return false end
  for _, row in ipairs(m.held_out) do if not is_row(row) then return false end end
  return m.sum == sum_of(m.trees)
end

-- Raises an error if the features of this library are not those that the model was trained on.
local function check_features(m, path)
  local own = features.names()
  for n = 1, math.max(#own, #m.features) do
    if own[n] ~= m.features[n] then
      errors.fail("invalid", "train it again", "load: %s was trained on other features: number %d is '%s', not '%s'", path, n,
        tostring(m.features[n]), tostring(own[n]))
    end
  end
end

local function load_model(path)
  local ok, m = pcall(json.decode, core.read_file("load: path", errors.expect("load: path", path, "string")))
  if not ok or not is_saved(m) then
    errors.fail("parse", "model:save writes such files", "load: %s is not a saved model, or was edited", path)
  end
  check_features(m, path)
  local problem = trees.problem(m.trees, #m.features, OBJECTIVES[m.objective].xgboost)
  if problem then errors.fail("parse", "train it again", "load: the trees in %s cannot be used: %s", path, problem) end
  local model = core.learner_read(m.trees)
  about[model] = {objective = m.objective, features = m.features, kernels = m.kernels, held_out = m.held_out, machine = m.machine}
  return model
end

-- ---- text

local function cell(v) return v and ("%.3f"):format(v) or "-" end

local HEAD = {"held out", "schedules", "cost model", "learned from the others", "and 64 of its own", "cost model on the rest"}

local function cells_of(model)
  local out = {}
  for n, row in ipairs(about[model].held_out) do
    out[n] = {row.kernel, tostring(row.schedules), cell(row.analytic), cell(row.transfer), cell(row.with_64), cell(row.analytic_64)}
  end
  return {head = HEAD, rows = out, left = {true}}
end

local function text_of(model)
  local a, lines = about[model], {}
  lines[1] = ("a model of %d features, trained on %s"):format(#a.features, table.concat(a.kernels, ", "))
  if #a.held_out == 0 then return lines[1] end
  lines[2] = "Kendall's tau of each held-out audit:"
  for _, row in ipairs {HEAD, table.unpack(cells_of(model).rows)} do
    local parts = {}
    for n, text in ipairs(row) do parts[n] = (n == 1 and "%-10s" or "%" .. #HEAD[n] .. "s"):format(text) end
    lines[#lines + 1] = "  " .. table.concat(parts, "  ")
  end
  return table.concat(lines, "\n")
end

LEARNER.__tostring = text_of
LEARNER.__cells = cells_of

local function is_model(value) return debug.getmetatable(value) == LEARNER end

--- Returns the value if it is a model; otherwise raises an error.
function learn.check(what, value)
  if is_model(value) then return value end
  errors.fail("invalid", "nw.cost.train{...} and nw.cost.load(path) make models", "%s: expected a model, got %s", what,
    core.type_name(value))
end

-- Returns the cost of a schedule as in audits. Conflict misses are not distinguished, because no feature needs them and this is
-- faster.
local function quick_cost(what, s, o)
  return caches.check_schedule(what, s):cost {machine = o.machine, sizes = o.sizes, threads = o.threads, conflicts = false,
    feed = "full"}
end

local function predict(model, s, options)
  learn.check("predict", model)
  local o = errors.options("predict", options, {"machine", "sizes", "threads"})
  local c = quick_cost("predict", s, o)
  local values = features.of(s, c, o.sizes)
  return core.learner_scores(model, {values}, {margin_of(features.expected(values, c.seconds), about[model].objective)})[1]
end

--- Converts a score to a relative time. A schedule that is predicted to take twice as long as another has twice its relative time.
function learn.relative(model, score)
  local known = about[model]
  return math.exp(-score / OBJECTIVES[known and known.objective or "pairs"].trust)
end

local function describe()
  local out = {}
  for n, r in ipairs(features.rows) do out[n] = {name = r.name, unit = r.unit, doc = r.doc} end
  return out
end

function learn.install(nw)
  local define, method = rows.definer(nw.cost, "cost", "learning"), rows.definer(rows.methods "learner", "learner", "learning")

  define("train", "(audits: table): nw.learner",
    "Learns from audits to rank schedules: nw.cost.train{a, b, c, rounds = 120}. The model is gradient-boosted trees (XGBoost, "
    .. "one thread) over the rows of nw.cost.features(). Only schedules of the same audit are compared. A score starts from the "
    .. "predictions of s:cost and of a simulation of the compiled code, so the trees learn the errors of these predictions. The "
    .. "model prints Kendall's tau for each held-out audit: of the cost model alone; of a model that learned from the other audits "
    .. "only; and of a model that also learned from 64 schedules of the held-out audit, evaluated on its remaining schedules. "
    .. "objective = 'times' (reg:squarederror): the trees learn the logarithm of measured / predicted, minus its mean over the "
    .. "audit. objective = 'pairs' (rank:pairwise): the "
    .. "trees learn the order of the schedules of each audit by speed. docs/cost.md compares the two objectives. own: the audit of "
    .. "the computation that the model is for; it has ten times the weight of another audit. Parameters of the training: "
    .. "rounds; depth; rate; forest, the trees per round, which are averaged; least, the minimum weight of a leaf; columns and "
    .. "sample, the shares of the features and of the rows that each tree sees; and seed. Their defaults are 120, 4, 0.08, 4, 5, "
    .. "0.3, 0.8 and 1 for times, and 60, 3, 0.08, 1, 1, 0.5, 0.8 and 1 for pairs. "
    .. "held_out = false skips the figures of held-out audits.", train)

  define("load", "(path: string): nw.learner", "Reads a model that model:save wrote. A model with other features than this "
    .. "version's is refused.", load_model)

  define("features", "(s?: nw.schedule, options?: {machine?: nw.machine|string|table, sizes?: table, threads?: integer}): table",
    "The features of a schedule that a learned model sees: a list of {name, unit, doc}, with value if a schedule is given. The "
    .. "schedule is compiled for this, since some features describe the code that this host's compiler made.",
    function(s, options)
      local list = describe()
      if s == nil then return list end
      local o = errors.options("features", options, {"machine", "sizes", "threads"})
      local values = features.of(s, quick_cost("features", s, o), o.sizes)
      for n, row in ipairs(list) do row.value = values[n] end
      return list
    end)

  method("save", "(self: nw.learner, path: string): nw.learner", "Writes the model to a file, as JSON.", save)

  method("predict", "(self: nw.learner, s: nw.schedule, options?: {machine?: nw.machine|string|table, sizes?: table, "
    .. "threads?: integer}): number",
    "A score. If two schedules of one computation have different scores, the schedule with the higher score is predicted to be "
    .. "faster. The score is not a time. The schedule's cost is computed and its code is compiled, but not run.", predict)

  method("held_out", "(self: nw.learner): table[]",
    "Kendall's tau of each held-out audit: kernel, schedules, analytic (of the cost model), transfer (of a model that learned from "
    .. "the other audits), with_64 (of a model that also learned from 64 schedules of this audit, on its remaining schedules) and "
    .. "analytic_64 (of the cost model, on these remaining schedules).", function(model)
      return about[learn.check("held_out", model)].held_out
    end)
end

return learn
