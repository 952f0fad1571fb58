--- s:partition_auto ranks strategies for a loop whose extent is not a multiple of the size of a tile. The strategies are ranked by
--- their cost for one or several sizes.
local choice = require "nestwright.partition.partition_choice"
local core = require "nestwright.core"
local cost = require "nestwright.cost.cost"
local distribution = later "nestwright.partition.distribution"
local errors = require "nestwright.language.errors"
local gpu_cost = require "nestwright.cost.gpu_cost"
local inside = require "nestwright.inside"
local learn = require "nestwright.learn.learn"
local marks = require "nestwright.partition.marks"
local microkernels = later "nestwright.partition.microkernels"
local ranking = require "nestwright.partition.ranking"
local returning = require "nestwright.language.returning"
local strategies = later "nestwright.partition.strategies"
local undisturbed = require "nestwright.measure.undisturbed"
local RUNS = 5 -- the least number of samples of a time

local function are_measured(kernels)
  for _, k in ipairs(kernels) do if not k.seconds or k.disturbed then return false end end
  return true
end

-- ---- costs of one strategy

local function tell(c, what) core.tell_progress(("trying %s, %s"):format(c.trying, what), c.part, c.since) end

-- Calls f(values) for each shape, after selecting the version of the schedule that runs for this shape. Returns the results.
local function for_sizes(c, cases, f)
  local out = {}
  for n, entry in ipairs(c.sizes) do
    tell(c, ("size %d of %d"):format(n, #c.sizes))
    local case = strategies.case_for(cases, entry.values)
    c.schedule:checkout(case.version)
    out[n] = f(entry.values)
  end
  return out
end

local function by_model(c, cases)
  return for_sizes(c, cases, function(values)
    if c.gpu then return gpu_cost.of("partition_auto", c.schedule, {sizes = values}, c.gpu) end
    return cost.of("partition_auto", c.schedule, {sizes = values, machine = c.machine, threads = c.threads,
      conflicts = false})
  end)
end

local function by_learned(c, cases)
  return for_sizes(c, cases, function(values)
    return learn.relative(c.model, c.model:predict(c.schedule, {sizes = values, machine = c.machine}))
  end)
end

-- Returns the median time for each shape, and true if other work disturbed one of these times.
local function measured(c, kernel)
  local out, disturbed = {}, nil
  for n, entry in ipairs(c.sizes) do
    local arrays = inside.sized_arrays(c.schedule, entry.values)
    local t = undisturbed.time(c.budget, kernel, core.kernel_args(kernel, arrays), RUNS, 0.002)
    out[n], disturbed = t.median, disturbed or t.disturbed
  end
  return out, disturbed
end

local function expected(c, list) return distribution.mean(c.sizes, list) end

local function field_of(list, name)
  local out = {}
  for n, record in ipairs(list) do out[n] = record[name] end
  return out
end

local function predict(c, row)
  local models = (c.cost == "model" or c.objective == "energy" or c.objective == "edp") and by_model(c, row.cases)
  if models and not c.gpu then
    row.energies = field_of(models, "joules")
    row.joules = expected(c, row.energies)
  end
  if c.cost == "model" then
    row.predicted = field_of(models, "seconds")
  elseif c.cost == "learned" then
    row.predicted, row.scored = by_learned(c, row.cases), true -- scores are not times, and have no unit
  elseif c.cost == "kernels" then
    row.predicted = {}
    for n, entry in ipairs(c.sizes) do row.predicted[n] = strategies.seconds(row.cases, entry.values) end
  end
  row.expected = row.predicted and expected(c, row.predicted)
  row.modelled = c.cost == "model" or c.cost == "learned"
end

local function figure(c, row)
  local seconds = c.cost == "measured" and row.seconds or row.expected
  if c.objective == "size" then return row.code_bytes end
  if c.objective == "energy" then return row.joules end
  return c.objective == "edp" and row.joules * seconds or seconds
end

local function add_marks(c, row)
  for _, version in ipairs(row.versions) do
    c.schedule:checkout(version)
    marks.add(row, c.schedule)
  end
end

local function try(c, row)
  row.cases = strategies.apply("partition_auto", c.schedule, c.schedule:loop(c.name), row.strategy, row.kernels, c.around,
    c.across, function(n) tell(c, "version " .. n) end)
  row.versions = strategies.versions(row.cases)
  add_marks(c, row)
  local kernel
  if not c.gpu then -- a GPU that is not here cannot compile
    tell(c, "compiling")
    kernel = c.schedule:build {threads = c.threads, versions = row.versions}
    row.code_bytes, row.compile_ms = kernel.code_bytes, kernel.compile_ms
  end
  predict(c, row)
  if c.measure then
    row.measured, row.disturbed = measured(c, kernel)
    row.seconds = expected(c, row.measured)
  end
  row.figure = figure(c, row)
  row.fits = not row.code_bytes or row.code_bytes <= c.code_limit
end

-- Returns the rows to try: {strategy, kernels}. The tiles of a CPU have measured times, so a strategy can choose among them. On a
-- GPU, tiles run at the same time, and their times cannot be added. So each kernel is tried as the largest tile.
local function rows_of(c)
  local out = {}
  for _, name in ipairs(c.names) do
    for n, kernel in ipairs(c.gpu and c.kernels or {c.kernels[1]}) do
      local kernels, label = c.kernels, nil
      if c.gpu then
        kernels, label = {kernel}, ("%d%s"):format(kernel.rows, kernel.name and " " .. kernel.name or "")
        for k = n + 1, #c.kernels do
          if c.kernels[k].rows < kernel.rows then kernels[#kernels + 1] = c.kernels[k] end
        end
      end
      out[#out + 1] = {strategy = name, kernels = kernels, tile = label}
    end
  end
  return out
end

-- Tries a row. If its strategy is refused, the returned row has the reason. An interrupt is raised again.
local function attempt(c, row)
  local ok, problem = pcall(try, c, row)
  c.schedule:checkout(c.base)
  if ok then return row end
  if not errors.is_error(problem) or problem.code == "interrupt" then error(problem, 0) end
  c.out_of_range[#c.out_of_range + 1] = problem.code == "range" and problem or nil
  return {strategy = row.strategy, tile = row.tile, refused = problem.message,
    hint = problem.hint or problem.refusal and problem.refusal.why,
    remedy = problem.hint ~= nil or nil}
end

-- Raises an error if all strategies are refused because of the same range error, such as a size below its minimum. Then the
-- arguments of the call are wrong.
local function check_range(c)
  local first = c.out_of_range[1]
  if #c.out_of_range < c.tries then return end
  for _, problem in ipairs(c.out_of_range) do if problem.message ~= first.message then return end end
  errors.fail("range", first.hint, "partition_auto: %s", first.message)
end

-- ---- the table

local function before(a, b)
  if (a.refused == nil) ~= (b.refused == nil) then return a.refused == nil end
  if not a.refused and a.fits ~= b.fits then return a.fits end
  if not a.refused and a.figure ~= b.figure then return a.figure < b.figure end
  return a.number < b.number
end

-- Returns the texts of the programs of all versions of a row.
local function programs_of(c, row)
  local out = {}
  for n, version in ipairs(row.versions) do
    c.schedule:checkout(version)
    out[n] = core.schedule_print(c.schedule)
  end
  c.schedule:checkout(c.base)
  return table.concat(out, "\n")
end

-- Returns the sorted rows without those whose programs an earlier row has; that row gets their names. On a GPU, several strategies
-- often make the same program, for example if a tile is one iteration.
local function without_equal(c, list)
  local out, known = {}, {}
  for _, row in ipairs(list) do
    local key = not row.refused and programs_of(c, row)
    local first = key and known[key]
    if first then
      first.same = first.same or {}
      table.insert(first.same, row.strategy .. " " .. row.tile)
    else
      out[#out + 1] = row
      if key then known[key] = row end
    end
  end
  return out
end

-- Ranks by the cost model, because other work disturbed the measurements.
local function fall_back(c) c.cost, c.disturbed = "model", true end

-- Returns copies of the kernels without their times.
local function unmeasured(kernels)
  local out = {}
  for n, k in ipairs(kernels) do
    out[n] = setmetatable({seconds = false, seconds_inside = false, disturbed = false}, {__index = k})
  end
  return strategies.sort(out)
end

-- Measures the kernels if needed. Times that other work disturbed are used neither to rank the strategies nor to divide the loop
-- into tiles.
local function measure_kernels(c, s)
  local kernels, disturbed = c.kernels, false
  if c.cost == "kernels" and not are_measured(kernels) then
    kernels = microkernels.over("partition_auto", s, c.loop, kernels, c.around, c.sizes)
    if not are_measured(kernels) then fall_back(c) end
  end
  for _, k in ipairs(kernels) do disturbed = disturbed or k.disturbed end
  c.kernels = disturbed and unmeasured(kernels) or kernels
end

-- If other work disturbed the times by which the rows are to be ranked, predicts the rows instead.
local function predict_disturbed(c, list)
  local any = false
  for _, row in ipairs(list) do any = any or row.disturbed end
  if c.cost ~= "measured" or not any then return end
  fall_back(c)
  for _, row in ipairs(list) do
    if not row.refused then
      local ok, problem = pcall(predict, c, row)
      c.schedule:checkout(c.base)
      if not ok then
        if not errors.is_error(problem) or problem.code == "interrupt" then error(problem, 0) end
        errors.fail("limit", "call it again when the machine is idle",
          "partition_auto: other work disturbed the measurements, and there is no prediction: %s", problem.message)
      end
      row.figure = figure(c, row)
    end
  end
end

local function ranked(c, s)
  c.base, c.name, c.budget = s:version(), c.loop.name, undisturbed.budget()
  measure_kernels(c, s)
  local list = rows_of(c)
  c.since, c.out_of_range, c.tries = core.now(), {}, #list
  for n, row in ipairs(list) do
    c.trying, c.part = row.strategy, (n - 1) / #list
    list[n] = attempt(c, row)
    list[n].number = n
  end
  core.tell_progress()
  check_range(c)
  predict_disturbed(c, list)
  table.sort(list, before)
  if c.gpu then list = without_equal(c, list) end
  for _, row in ipairs(list) do row.number = nil end
  list.disturbed = c.disturbed
  return ranking(list, c)
end

--- Returns the ranked table, as documented in the row of s:partition_auto.
return function(s, options)
  local c = choice.of(s, options)
  return returning.quietly(s, ranked, c, s)
end
