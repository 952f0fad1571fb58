--- Learned models: trees that rank the schedules of a computation, from what audits measured. They begin with what the cost
--- model says and learn where it is wrong.
local caches = require "nestwright.caches"
local core = require "nestwright.core"
local errors = require "nestwright.errors"
local features = require "nestwright.features"
local json = require "nestwright.json"
local rng = require "nestwright.rng"
local rows = require "nestwright.rows"
local statistics = require "nestwright.statistics"

local learn = {}

local SAME = 64 -- schedules of the computation itself, in the second of the held-out figures
local TRUST = 5 -- what a score begins with: so many times the logarithm of the predicted speed
local LEARNER = core.classes.learner

local about = setmetatable({}, {__mode = "k"}) -- of a model: what it was trained on

-- ---- from audits to rows

local function check_finite(values, p)
  for n, v in ipairs(values) do
    if v ~= v or v == math.huge or v == -math.huge then
      errors.fail("internal", p.trace, "train: the feature '%s' is no finite number", features.rows[n].name)
    end
  end
  return values
end

local function numbers_of(p)
  p.features = p.features or check_finite(features.of(p.schedule, p.cost), p)
  return p.features
end

local function margin_of(seconds) return -TRUST * math.log(seconds) end

-- Rows of groups: {features, labels, groups, margins}. A group is a list of points of one computation.
local function rows_of(groups)
  local out = {features = {}, labels = {}, groups = {}, margins = {}}
  for g, points in ipairs(groups) do
    local best = math.huge
    for _, p in ipairs(points) do best = math.min(best, p.measured) end
    for _, p in ipairs(points) do
      local n = #out.features + 1
      out.features[n], out.labels[n], out.margins[n] = numbers_of(p), best / p.measured, margin_of(p.predicted)
    end
    out.groups[g] = #points
  end
  return out
end

local function fit(groups, o)
  local r = rows_of(groups)
  return core.learn(r.features, r.labels, r.groups, o, r.margins)
end

local function scores(model, points)
  local list, margins = {}, {}
  for n, p in ipairs(points) do list[n], margins[n] = numbers_of(p), margin_of(p.predicted) end
  return core.learner_scores(model, list, margins)
end

--- Scores of points of an audit: higher is faster.
function learn.scores(model, points) return scores(model, points) end

-- ---- held out

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

-- So many of the points, by a seed, and the others.
local function parted(points, n, seed)
  local order = rng.new(seed):shuffle(table.move(points, 1, #points, 1, {}))
  return {table.unpack(order, 1, n)}, {table.unpack(order, n + 1)}
end

-- What it would be worth for a computation that it has not seen, or of which it has seen a few schedules.
local function held_out(groups, names, at, o)
  local others = {}
  for g, points in ipairs(groups) do if g ~= at then others[#others + 1] = points end end
  local points = groups[at]
  local row = {kernel = names[at], schedules = #points, analytic = predicted_tau(points)}
  if #others > 0 then row.transfer = tau(fit(others, o), points) end
  if #points >= SAME + 2 then
    local some, rest = parted(points, SAME, o.seed)
    others[#others + 1] = some
    row.with_64 = tau(fit(others, o), rest)
    row.analytic_64 = predicted_tau(rest)
  end
  return row
end

-- ---- training

local OPTIONS = {"rounds", "depth", "rate", "columns", "sample", "seed", "held_out"}
local USUAL = {rounds = 60, depth = 3, rate = 0.08, columns = 0.5, sample = 0.8, seed = 1}

local function options_of(given)
  local named, o = {}, {}
  for key, value in pairs(given) do if type(key) ~= "number" then named[key] = value end end
  errors.options("train", named, OPTIONS)
  for _, key in ipairs(OPTIONS) do o[key] = named[key] ~= nil and named[key] or USUAL[key] end
  for _, key in ipairs {"columns", "sample", "rate"} do
    if type(o[key]) ~= "number" or not (o[key] > 0 and o[key] <= 1) then
      errors.fail("range", nil, "train: %s is a share above 0, up to 1, not %s", key, tostring(o[key]))
    end
  end
  o.held_out = named.held_out ~= false
  return o
end

local function check_audit(n, a)
  if type(a) == "table" and type(a.points) == "table" and type(a.points[1]) == "table" and a.points[1].schedule then return a end
  errors.fail("invalid", "nw.cost.train{nw.cost.audit{kernel = \"gemm\"}, nw.cost.audit{kernel = \"blur\"}}",
    "train: number %d is no audit", n)
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
  local model = fit(groups, o)
  about[model] = {features = features.names(), kernels = names, held_out = held, machine = given[1].measured_on}
  return model
end

-- ---- files

-- FNV-1a, 64 bits: what was changed by hand is not given to the library that reads it.
local function sum_of(text)
  local h = -3750763034362895579
  for at = 1, #text do h = (h ~ text:byte(at)) * 1099511628211 end
  return ("%016x"):format(h)
end

local function save(model, path)
  local a, text = about[model], core.learner_text(model)
  local file, why = io.open(errors.expect("save: path", path, "string"), "w")
  if not file then errors.fail("io", nil, "save: %s", why) end
  local ok, problem = file:write(json.encode {nestwright = core.version(), features = a.features, kernels = a.kernels,
    held_out = a.held_out, machine = a.machine, trees = text, sum = sum_of(text)}, "\n")
  file:close()
  if not ok then errors.fail("io", nil, "save: %s: %s", path, problem) end
  return model
end

local function is_saved(m)
  if type(m) ~= "table" or type(m.trees) ~= "string" or type(m.features) ~= "table" or type(m.kernels) ~= "table" then
    return false
  end
  return type(m.held_out) == "table" and m.sum == sum_of(m.trees)
end

-- Rows of this library's features must be those that the model was trained on.
local function check_features(m, path)
  local own = features.names()
  for n = 1, math.max(#own, #m.features) do
    if own[n] ~= m.features[n] then
      errors.fail("invalid", "train it anew", "load: %s was trained on other features: number %d is '%s', not '%s'", path, n,
        tostring(m.features[n]), tostring(own[n]))
    end
  end
end

local function load_model(path)
  local file, why = io.open(errors.expect("load: path", path, "string"), "r")
  if not file then errors.fail("io", nil, "load: %s", why) end
  local text = file:read "a" or ""
  file:close()
  local ok, m = pcall(json.decode, text)
  if not ok or not is_saved(m) then
    errors.fail("parse", "model:save writes them", "load: %s is not a saved model, or was changed", path)
  end
  check_features(m, path)
  local model = core.learner_read(m.trees)
  about[model] = {features = m.features, kernels = m.kernels, held_out = m.held_out, machine = m.machine}
  return model
end

-- ---- what is said of it

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
  lines[2] = "Kendall's tau of what was held out:"
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

--- Raises unless it is a model.
function learn.check(what, value)
  if is_model(value) then return value end
  errors.fail("invalid", "nw.cost.train{...} and nw.cost.load(path) make them", "%s: expected a model, got %s", what,
    core.type_name(value))
end

local function predict(model, s, options)
  learn.check("predict", model)
  local o = errors.options("predict", options, {"machine", "sizes", "threads"})
  local c = caches.check_schedule("predict", s):cost(o)
  return core.learner_scores(model, {features.of(s, c)}, {margin_of(c.seconds)})[1]
end

local function describe()
  local out = {}
  for n, r in ipairs(features.rows) do out[n] = {name = r.name, unit = r.unit, doc = r.doc} end
  return out
end

function learn.install(nw)
  local define, method = rows.definer(nw.cost, "cost"), rows.definer(rows.methods "learner", "learner")

  define("train", "(audits: table): nw.learner",
    "Learns from audits to rank schedules: nw.cost.train{a, b, c, rounds = 60}. Gradient-boosted trees (XGBoost, rank:pairwise, "
    .. "one thread) over the rows of nw.cost.features(); the label is the speed relative to the best of its audit, and only "
    .. "schedules of one audit are compared. A score begins with what s:cost says, so the trees learn where that is wrong. The "
    .. "model prints Kendall's tau of what was held out, by audit: of the cost model alone, of a model that learned from the "
    .. "other audits only, and of one that saw 64 of its schedules, on the rest. rounds (60), depth (3), rate (0.08), "
    .. "columns (0.5) and sample (0.8): shares of features and rows that a tree sees; seed; held_out = false leaves those "
    .. "figures out.", train)

  define("load", "(path: string): nw.learner", "A model that model:save wrote; of the same features, or it is refused.", load_model)

  define("features", "(s?: nw.schedule, options?: {machine?: nw.machine|string|table, sizes?: table, threads?: integer}): table",
    "What a learned model is told of a schedule: a list of {name, unit, doc}, with value where a schedule is given.",
    function(s, options)
      local list = describe()
      if s == nil then return list end
      local values = features.of(s, caches.check_schedule("features", s):cost(options))
      for n, row in ipairs(list) do row.value = values[n] end
      return list
    end)

  method("save", "(self: nw.learner, path: string): nw.learner", "Writes the model to a file, as JSON.", save)

  method("predict", "(self: nw.learner, s: nw.schedule, options?: {machine?: nw.machine|string|table, sizes?: table, "
    .. "threads?: integer}): number",
    "A score: of two schedules of one computation the one with the higher score should be faster. Its unit is no time.", predict)

  method("held_out", "(self: nw.learner): table[]",
    "Kendall's tau by audit: kernel, schedules, analytic (the cost model), transfer (learned from the others), with_64 and "
    .. "analytic_64 (64 of its schedules seen, on the rest).", function(model)
      return about[learn.check("held_out", model)].held_out
    end)
end

return learn
