--- Measures the versions of a schedule in turn, which shows the effect of each step.
local conditions = require "nestwright.measure.conditions"
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local inside = require "nestwright.inside"
local returning = require "nestwright.language.returning"
local rows = require "nestwright.language.rows"
local sizes = require "nestwright.language.sizes"
local times = require "nestwright.measure.times"
local written = require "nestwright.show.written"

local versions = {}

local LIMIT = 2 -- the default limit of a run, in seconds
local TOTAL = 10 -- the limit of the time of all rounds, in seconds; LEAST rounds are run in any case
local LEAST, USUAL = 5, 20 -- the least and the usual number of rounds
local MOST = 60 -- the largest number of programs that are measured in turn

--- Calls f(version) with the schedule at each of these versions, then restores the original version.
function versions.each(s, list, f)
  returning.always(s, function()
    for _, version in ipairs(list) do
      s:checkout(version)
      f(version)
    end
  end)
end

-- ---- measuring

-- Returns the reason why a program is not measured. Interrupts, and errors that do not come from the library, are raised again.
local function reason(problem)
  if not errors.is_error(problem) or problem.code == "interrupt" then error(problem, 0) end
  return problem.message
end

-- Returns the seconds of one run, or nil and the reason why there are none.
local function once(p, limit)
  local ok, got = pcall(core.kernel_once, p.kernel, p.arguments, limit)
  if ok then return got end
  if not errors.is_error(got) or got.code ~= "limit" then return nil, reason(got) end
  return nil, ("one run takes more than %s"):format(written.seconds(limit))
end

local function rounds_of(seconds)
  return math.max(LEAST, math.min(USUAL, math.floor(TOTAL / seconds)))
end

--- Measures programs in turn. `list` has {label, kernel, arguments} or, for a program that was refused, {label, refused (the
--- reason)}. `o` has limit, rounds and the conditions. Returns the records in the same order, and the number of rounds. The records
--- of refused programs have the reason.
function versions.measure(what, list, o)
  if #list > MOST then
    errors.fail("limit", "s:time_steps{versions = {0, 5, 9}}", "%s: %d programs are too many: at most %d are measured", what,
      #list, MOST)
  end
  local limit, runs, at, out, total, since = o.limit or LIMIT, {}, {}, {}, 0, core.now()
  local how, copies = conditions.of(what, o), {}
  for n, p in ipairs(list) do
    local seconds, why
    core.tell_progress("running each once", (n - 1) / #list, since)
    if p.kernel then seconds, why = once(p, limit) end
    out[n] = {label = p.label, refused = p.refused or why}
    if seconds then
      copies[p.arguments] = copies[p.arguments] or conditions.placed(how, p.arguments)
      runs[#runs + 1], at[#at + 1], total = {p.kernel, copies[p.arguments]}, n, total + seconds
    end
  end
  core.tell_progress()
  if #runs == 0 then
    errors.fail("limit", nil, "%s: no program could be measured: %s", what, out[1] and out[1].refused or "there are none")
  end
  local rounds = o.rounds or rounds_of(total)
  for k, t in ipairs(core.kernel_compare(runs, rounds, how)) do
    out[at[k]] = times.record(t, runs[k][1], how, runs[k][2])
    t.label = list[at[k]].label
  end
  return out, rounds
end

--- Returns a kernel of the current version, or nil and the reason why it cannot be built.
function versions.build(s, o)
  local ok, kernel = pcall(s.build, s, {threads = o.threads, opt = o.opt})
  if ok then return kernel end
  return nil, reason(kernel)
end

-- ---- the steps

local OPTIONS = {"threads", "opt", "limit", "rounds", "versions", "sizes"}

function versions.check(what, options, more)
  local o = errors.options(what, options, table.move(more or {}, 1, #(more or {}), #OPTIONS + 1, {table.unpack(OPTIONS)}))
  if o.limit and not (type(o.limit) == "number" and o.limit > 0 and o.limit <= 1e6) then
    errors.fail("range", nil, "%s: limit: expected seconds per run, got %s", what, tostring(o.limit))
  end
  times.plain(what .. ": sizes", o.sizes or {})
  return o
end

--- Returns the rows of the log to measure: those of the versions in o.versions or, by default, all rows.
function versions.line(what, s, o)
  local line, at = s:log(), {}
  if not o.versions then return table.move(line, 1, #line, 1, {}) end
  for _, entry in ipairs(line) do at[entry.version] = entry end
  local out = {}
  for n, version in ipairs(errors.expect(what .. ": versions", o.versions, "table")) do
    out[n] = at[version] or errors.fail("range", "s:log() numbers them", "%s: version %s is not on the way to the current one",
      what, tostring(version))
  end
  return out
end

--- Returns the label of a row of the log.
function versions.label(entry) return entry.step or "the naive program" end

-- Returns the given arrays in the shapes that a kernel of the current version takes.
local function packed(s, given)
  local found, signature = {}, inside.signature(s)
  local all = table.move(signature.outputs, 1, #signature.outputs, #signature.inputs + 1, signature.inputs)
  for n, array in ipairs(given) do
    found[n] = all[n] and debug.getmetatable(array) == core.classes.array and s:pack(all[n].name, array) or array
  end
  return found
end

--- Returns the arguments of a kernel of the current version: the given arrays, which have the shapes of the computation, or random
--- arrays whose shapes have these sizes.
function versions.arguments(what, s, kernel, given, o)
  if #given == 0 then
    given = inside.sized_arrays(s, sizes.named(what, s, o.sizes or {}))
  else
    given = packed(s, given)
  end
  return inside.kernel_arrays(what, kernel, given)
end

-- Returns the arrays as a text that is the same for arrays of the same types and shapes.
local function shapes_of(arrays)
  local all = {}
  for n, array in ipairs(arrays) do all[n] = array.dtype .. table.concat(array:shape(), ",") end
  return table.concat(all, " ")
end

--- Measures the versions of rows of the log, and returns a comparison. given: a list of arrays, which may be empty.
function versions.times(what, s, line, given, o)
  local list, numbers, known = {}, {}, {} -- known: the arguments of the versions so far, by their shapes
  for n, entry in ipairs(line) do numbers[n] = entry.version end
  versions.each(s, numbers, function()
    local p = {label = versions.label(line[#list + 1])}
    p.kernel, p.refused = versions.build(s, o)
    if p.kernel then
      local arguments = versions.arguments(what, s, p.kernel, given, o)
      local shapes = shapes_of(arguments)
      known[shapes] = known[shapes] or arguments
      p.arguments = known[shapes]
    end
    list[#list + 1] = p
  end)
  local out, rounds = versions.measure(what, list, o)
  for n, t in ipairs(out) do t.version = line[n].version end
  return times.comparison(out, {rounds = rounds, style = "steps"})
end

function versions.install()
  rows.define(rows.methods "schedule", "schedule", "timing", "time_steps",
    "(self: nw.schedule, ...: nw.array|table): nw.comparison",
    "Measures every version from the naive program to the current one, in turn as nw.compare does, to show the effect of each "
    .. "step. If no inputs are given, they are random. The last argument may be a table of options: threads, opt; limit: seconds "
    .. "that one run may take (2); slower versions are stopped and listed as refused, like versions that cannot be built; rounds: "
    .. "20 by default, fewer if they would take more than ten seconds; versions: the numbers of the versions to measure, as in "
    .. "s:log(); sizes: values of symbolic sizes, {N = 64}, for random inputs. " .. conditions.SEE
    .. " Its plot is a curve.",
    function(s, ...)
      local given, options = inside.split_options(...)
      local o = versions.check("time_steps", options, conditions.OPTIONS)
      return versions.times("time_steps", s, versions.line("time_steps", s, o), given, o)
    end)
end

return versions
