--- s:partition_auto: which strategy suits a loop whose rounds no tile divides, by cost, for one size or many.
local caches = require "nestwright.caches"
local core = require "nestwright.core"
local cost = require "nestwright.cost"
local dispatching = require "nestwright.dispatching"
local distribution = require "nestwright.distribution"
local errors = require "nestwright.errors"
local inside = require "nestwright.inside"
local learn = require "nestwright.learn"
local microkernels = require "nestwright.microkernels"
local report = require "nestwright.report"
local returning = require "nestwright.returning"
local strategies = require "nestwright.strategies"
local written = require "nestwright.written"


-- ---- the choice of a user

local OPTIONS = {"loop", "kernels", "around", "strategies", "cost", "model", "objective", "code_limit", "sizes", "measure",
  "machine", "threads", "across"}
local COSTS = {kernels = true, model = true, measured = true, learned = true}
local OBJECTIVES = {cycles = true, energy = true, edp = true, size = true}

local function one_of(what, value, known)
  if known[value] then return value end
  local names = {}
  for name in pairs(known) do names[#names + 1] = name end
  table.sort(names)
  errors.fail("invalid", nil, "partition_auto: %s: '%s' is none of %s", what, tostring(value), table.concat(names, ", "))
end

local function check_threads(c, o)
  if c.threads == 1 and o.across then
    errors.fail("invalid", "{threads = 2, across = \"fused\"}", "partition_auto: across: one thread shares nothing out")
  end
  if c.threads > 1 then c.across = strategies.how("partition_auto: across", o.across or "fused") end
  if c.threads > 1 and c.cost == "kernels" then
    errors.fail("invalid", "{cost = \"model\"}", "partition_auto: the times of the kernels are those of one thread")
  end
end

local function choice(s, options)
  local o = errors.options("partition_auto", errors.expect("partition_auto", options, "table"), OPTIONS)
  caches.check_schedule("partition_auto", s)
  local c = {schedule = s, around = o.around, machine = o.machine, model = o.model}
  c.loop = strategies.loop("partition_auto", s, o.loop)
  c.threads = caches.whole("partition_auto", o.threads or 1, "threads")
  if c.threads < 1 then errors.fail("range", nil, "partition_auto: threads: %d is less than one", c.threads) end
  c.kernels = strategies.kernels("partition_auto", o.kernels)
  c.cost = one_of("cost", o.cost or (c.threads > 1 and "model" or "kernels"), COSTS)
  c.objective = one_of("objective", o.objective or "cycles", OBJECTIVES)
  c.code_limit = o.code_limit and errors.expect("partition_auto: code_limit", o.code_limit, "number") or math.huge
  c.measure = o.measure or c.cost == "measured"
  c.sizes, c.varied = distribution.of("partition_auto", s, o.sizes)
  check_threads(c, o)
  if c.cost == "learned" and not o.model then
    errors.fail("invalid", "{cost = \"learned\", model = nw.cost.load \"model.json\"}", "partition_auto: there is no learned model")
  end
  c.names = o.strategies
  if not c.names then
    c.names = {}
    for n, row in ipairs(strategies.rows) do c.names[n] = row[1] end
  end
  return c
end

local function are_measured(kernels)
  for _, k in ipairs(kernels) do if not k.seconds then return false end end
  return true
end

-- ---- costs of one strategy

-- Calls f(version, sizes) for each size with the schedule at the version that runs for it, and collects what it returns.
local function for_sizes(c, cases, f)
  local out = {}
  for n, entry in ipairs(c.sizes) do
    local case = strategies.case_for(cases, entry.values)
    c.schedule:checkout(case.version)
    out[n] = f(entry.values)
  end
  return out
end

local function by_model(c, cases)
  return for_sizes(c, cases, function(values)
    return cost.of("partition_auto", c.schedule, {sizes = values, machine = c.machine, threads = c.threads,
      conflicts = false})
  end)
end

local function by_learned(c, cases)
  return for_sizes(c, cases, function(values)
    return learn.relative(c.model, c.model:predict(c.schedule, {sizes = values, machine = c.machine}))
  end)
end

local function measured(c, kernel)
  local out = {}
  for n, entry in ipairs(c.sizes) do
    local arrays = inside.sized_arrays(c.schedule, entry.values)
    out[n] = core.kernel_time(kernel, core.kernel_args(kernel, arrays), 5, 0.002).min
  end
  return out
end

local function expected(c, list) return distribution.mean(c.sizes, list) end

local function field_of(list, name)
  local out = {}
  for n, record in ipairs(list) do out[n] = record[name] end
  return out
end

local function predict(c, row)
  local models = (c.cost == "model" or c.objective == "energy" or c.objective == "edp") and by_model(c, row.cases)
  if models then
    row.energies = field_of(models, "joules")
    row.joules = expected(c, row.energies)
  end
  if c.cost == "model" then
    row.predicted = field_of(models, "seconds")
  elseif c.cost == "learned" then
    row.predicted, row.scored = by_learned(c, row.cases), true -- no time: what it ranks by has no unit
  elseif c.cost == "kernels" then
    row.predicted = {}
    for n, entry in ipairs(c.sizes) do row.predicted[n] = strategies.seconds(row.cases, entry.values) end
  end
  row.expected = row.predicted and expected(c, row.predicted)
end

local function figure(c, row)
  local seconds = c.cost == "measured" and row.seconds or row.expected
  if c.objective == "size" then return row.code_bytes end
  if c.objective == "energy" then return row.joules end
  return c.objective == "edp" and row.joules * seconds or seconds
end

local function try(c, row)
  row.cases = strategies.apply("partition_auto", c.schedule, c.schedule:loop(c.name), row.strategy, c.kernels, c.around,
    c.across)
  row.versions = strategies.versions(row.cases)
  local kernel = c.schedule:build {threads = c.threads, versions = row.versions}
  row.code_bytes, row.compile_ms = kernel.code_bytes, kernel.compile_ms
  predict(c, row)
  if c.measure then
    row.measured = measured(c, kernel)
    row.seconds = expected(c, row.measured)
  end
  row.figure = figure(c, row)
  row.fits = row.code_bytes <= c.code_limit
end

-- A strategy that is refused stays in the table with the reason. An interrupt is none.
local function attempt(c, name)
  local row = {strategy = name}
  local ok, problem = pcall(try, c, row)
  c.schedule:checkout(c.base)
  if ok then return row end
  if not errors.is_error(problem) or problem.code == "interrupt" then error(problem, 0) end
  return {strategy = name, refused = problem.message}
end

-- ---- the table

local function before(a, b)
  if a.refused or b.refused then return not a.refused and b.refused ~= nil end
  if a.fits ~= b.fits then return a.fits end
  return a.figure < b.figure
end

local function line_of(n, row)
  if row.refused then return ("%2s  %-10s refused: %s"):format("", row.strategy, row.refused) end
  local cells = {("%2d  %-10s %8s %9s"):format(n, row.strategy, #row.versions, row.code_bytes)}
  cells[#cells + 1] = ("%12s"):format(row.expected and (row.scored and "%.3g" or "%s"):format(
    row.scored and row.expected or written.seconds(row.expected)) or "")
  cells[#cells + 1] = ("%12s"):format(row.seconds and written.seconds(row.seconds) or "")
  cells[#cells + 1] = ("%12s"):format(row.joules and ("%.3g J"):format(row.joules) or "")
  return (table.concat(cells, " ") .. (row.fits and "" or "  more code than code_limit")):gsub("%s+$", "")
end

local function text_of(list)
  local lines = {("%2s  %-10s %8s %9s %12s %12s %12s"):format("", "strategy", "versions", "bytes", "predicted", "measured",
    "energy")}
  for n, row in ipairs(list) do lines[#lines + 1] = line_of(n, row) end
  return table.concat(lines, "\n")
end

local function row_of(list, which)
  for n, row in ipairs(list) do if which == n or which == row.strategy then return row end end
  errors.fail("invalid", nil, "partition_auto: there is no row %s", tostring(which))
end

local function usable(row)
  if row.refused then errors.fail("invalid", nil, "partition_auto: %s was refused: %s", row.strategy, row.refused) end
  return row
end

local function methods_of(c)
  return {
    take = function(list, which)
      local row = usable(row_of(list, which or 1))
      c.schedule:checkout(row.versions[#row.versions])
      return row.versions
    end,
    build = function(list, which, options)
      local o = errors.options("build", options, {"threads", "opt", "cache"})
      o.threads = o.threads or c.threads
      o.versions = usable(row_of(list, which or 1)).versions
      return c.schedule:build(o)
    end,
    dispatch = function(list) return returning.quietly(c.schedule, dispatching, c, list) end,
  }
end

local function ranked(c, s)
  c.base, c.name = s:version(), c.loop.name
  if not are_measured(c.kernels) and c.cost == "kernels" then
    c.kernels = microkernels.over("partition_auto", s, c.loop, c.kernels, c.around, c.sizes)
  end
  local list, since = {}, core.now()
  for n, name in ipairs(c.names) do
    core.tell_progress("trying " .. strategies.row("partition_auto", name)[1], (n - 1) / #c.names, since)
    list[n] = attempt(c, name)
  end
  core.tell_progress()
  table.sort(list, before)
  return report.new(list, text_of(list), methods_of(c))
end

--- The ranked table; docs are in the row of s:partition_auto.
return function(s, options)
  local c = choice(s, options)
  return returning.quietly(s, ranked, c, s)
end
