--- Checks the options of s:partition_auto and nw.microkernels before any strategy is tried. So a mistake in the options raises an
--- error, and does not become a refused row of the table.
local caches = require "nestwright.cost.caches"
local core = require "nestwright.core"
local distribution = later "nestwright.partition.distribution"
local errors = require "nestwright.language.errors"
local learn = require "nestwright.learn.learn"
local machine = require "nestwright.cost.machine"
local strategies = later "nestwright.partition.strategies"
local target = require "nestwright.language.target"

local choice = {}

local AUTO = "partition_auto"
local OPTIONS = {"loop", "kernels", "around", "strategies", "cost", "model", "objective", "code_limit", "sizes", "measure",
  "machine", "threads", "across"}

-- ---- values

local function flag(what, name, value)
  if value ~= nil then errors.expect(("%s: %s"):format(what, name), value, "boolean") end
  return value
end

local function around(what, f)
  if f == nil or type(f) == "function" then return f end
  errors.fail("invalid", "around = function(s) s:split(\"j\", 32) s:reorder(\"j_o\", \"i\", \"j_i\") end",
    "%s: around: expected a function of the schedule, got %s", what, core.type_name(f))
end

local function code_limit(value)
  if value == nil then return math.huge end
  if type(value) == "number" and value > 0 then return value end
  errors.fail("range", nil, "%s: code_limit: expected a number of bytes above 0, got %s", AUTO,
    type(value) == "number" and tostring(value) or core.type_name(value))
end

-- Returns a list of names of strategies: the given name, the names in the given list, or all names.
local function names_of(given)
  local names = {}
  if given == nil then
    for n, row in ipairs(strategies.rows) do names[n] = row[1] end
    return names
  end
  if type(given) == "string" then given = {given} end
  for n, name in ipairs(errors.expect(AUTO .. ": strategies", given, "table")) do names[n] = strategies.row(AUTO, name)[1] end
  if #names == 0 then errors.fail("invalid", "{\"cut\", \"shift\"}, or omit it for all", "%s: strategies is empty", AUTO) end
  return names
end

-- Returns the given model, which may be any object with the method predict.
local function model_of(cost, model)
  if cost ~= "learned" then return model end
  if model == nil then
    errors.fail("invalid", "{cost = \"learned\", model = nw.cost.load \"model.json\"}", "%s: model: expected a learned model", AUTO)
  end
  if type(model) == "table" and type(model.predict) == "function" then return model end
  return learn.check(AUTO .. ": model", model)
end

-- What an option must be for a GPU, and why.
local FOR_GPU = {
  {"cost", "model", "the times of a GPU are predicted; f:time measures a kernel"},
  {"objective", "cycles", "the energy and the code of a GPU are not modelled"},
  {"code_limit", nil, "the code of a GPU is not counted"},
  {"measure", nil, "f:time measures a kernel on a GPU"},
  {"threads", 1, "a GPU runs the whole grid"},
}

local function check_gpu(o)
  for _, row in ipairs(FOR_GPU) do
    local value = o[row[1]]
    if value ~= nil and value ~= false and value ~= row[2] then
      errors.fail("invalid", "leave it out", "%s: %s = %s: %s", AUTO, row[1], tostring(value), row[3])
    end
  end
end

local function check_threads(c, o)
  if c.gpu then
    c.across = o.across
    return
  end
  if c.threads == 1 and o.across then
    errors.fail("invalid", "{threads = 2, across = \"fused\"}", "%s: across needs more than one thread", AUTO)
  end
  if c.threads > 1 then c.across = o.across or "fused" end
  if c.threads > 1 and c.cost == "kernels" then
    errors.fail("invalid", "{cost = \"model\"}", "%s: cost = 'kernels' has times for one thread only", AUTO)
  end
end

-- ---- all options

--- Returns the checked options of s:partition_auto, with gpu (the record, if the machine is a GPU), the schedule, the names of the
--- strategies, sizes (the shapes) and varied (the names of the sizes that vary).
function choice.of(s, options)
  local o = errors.options(AUTO, errors.expect(AUTO, options, "table"), OPTIONS)
  caches.check_schedule(AUTO, s)
  local m = o.machine == nil and target.machine(core.schedule_target(s)) or machine.of(o.machine)
  local c = {schedule = s, around = around(AUTO, o.around), machine = o.machine, gpu = m.kind == "gpu" and m or nil}
  if c.gpu then check_gpu(o) end
  c.loop = strategies.loop(AUTO, s, o.loop)
  c.threads = caches.whole(AUTO, o.threads or 1, "threads")
  if c.threads < 1 then errors.fail("range", nil, "%s: threads: %d is less than one", AUTO, c.threads) end
  c.kernels = strategies.kernels(AUTO, o.kernels)
  c.cost = o.cost or ((c.gpu or c.threads > 1) and "model" or "kernels")
  c.objective = o.objective or "cycles"
  c.code_limit = code_limit(o.code_limit)
  c.measure = flag(AUTO, "measure", o.measure) or c.cost == "measured"
  c.sizes, c.varied = distribution.of(AUTO, s, o.sizes)
  check_threads(c, o)
  c.model, c.names = model_of(c.cost, o.model), names_of(o.strategies)
  return c
end

--- Returns the checked options of nw.microkernels, with the schedule, the loop and the kernels.
function choice.of_microkernels(options)
  local what = "microkernels"
  local o = errors.options(what, errors.expect(what, options, "table"),
    {"schedule", "loop", "kernels", "around", "sizes", "again"})
  local s = caches.check_schedule(what, o.schedule)
  around(what, o.around)
  flag(what, "again", o.again)
  distribution.check_names(what, core.program_sizes(s), errors.expect(what .. ": sizes", o.sizes or {}, "table"))
  return o, s, strategies.loop(what, s, o.loop), strategies.kernels(what, o.kernels)
end

return choice
