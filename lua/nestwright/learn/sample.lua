--- Makes samples. A sample is a set of random legal schedules of a computation, with their measured times. It can be stored in a
--- file, and be used for any number of models. If the user interrupts the measurements, they can be continued from the file.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local json = require "nestwright.show.json"
local sampler = later "nestwright.learn.sampler"
local statistics = require "nestwright.measure.statistics"
local times = require "nestwright.measure.times"

local sample = {}

sample.SLOWEST = 20 -- schedules that take more than this factor times the best time are not used
local ROUNDS = 7 -- the number of times that each schedule is measured; a round measures all schedules in turn
local MOST_ROUNDS = 14 -- the most rounds, if other work disturbs some of them
local LEAST = 4 -- the least number of undisturbed times of a schedule that is compared with its prediction
local SAVED = 5 -- seconds between two writes of the file
local MOST_DRAWN = 40 -- the largest number of schedules that are drawn for each requested schedule
local LEAST_LIMIT, MOST_LIMIT = 0.05, 2 -- the smallest and the largest time limit of a first run, in seconds
local CLOSE = {rtol = 1e-4, atol = 1e-4}

-- ---- files

local function text_of(m)
  local head, lines = {}, {}
  for key, value in pairs(m) do head[key] = key ~= "entries" and value or nil end
  for n, entry in ipairs(m.entries) do lines[n] = "  " .. json.encode(entry) end
  return ('%s, "entries": [\n%s]}\n'):format(json.encode(head):sub(1, -2), table.concat(lines, ",\n"))
end

--- Writes a sample. The file is never incomplete. quick: true to return before the file is on the disk.
function sample.save(m, path, quick) core.write_file("audit", path, text_of(m), {quick = quick}) end

local function is_time(t) return type(t) == "number" and t > 0 and t < math.huge end

-- In the files of older versions, entries have no list of times; such entries are measured again.
local function is_entry(e)
  if type(e) ~= "table" or type(e.trace) ~= "string" then return false end
  if e.seconds ~= nil and not is_time(e.seconds) then return false end
  if type(e.times or {}) ~= "table" then return false end
  for _, t in ipairs(e.times or {}) do if not is_time(t) then return false end end
  return true
end

local function is_sample(m)
  if type(m) ~= "table" or type(m.entries) ~= "table" or type(m.computation) ~= "string" or math.type(m.seed) ~= "integer" then
    return false
  end
  for field, kind in pairs {kernel = "string", machine = "string", threads = "number"} do
    if m[field] ~= nil and type(m[field]) ~= kind then return false end
  end
  for _, entry in ipairs(m.entries) do if not is_entry(entry) then return false end end
  return true
end

--- Reads a sample from a file.
function sample.load(path)
  local ok, m = pcall(json.decode, core.read_file("audit", path))
  if not ok or not is_sample(m) then
    errors.fail("parse", "nw.cost.audit writes samples: {kernel = \"gemm\", file = \"gemm.json\"}", "audit: %s is not a sample%s",
      path, ok and "" or (" (%s)"):format(m))
  end
  return m
end

-- ---- contents

local function naive(outputs) return core.schedule(outputs) end

--- Returns the sample. Raises an error if the sample is of another computation.
function sample.check(m, outputs)
  if m.computation == core.schedule_print(naive(outputs), 0) then return m end
  errors.fail("invalid", "name another file", "audit: the sample in the file is of another computation: %s",
    m.computation:match "program (%S+)" or "unknown")
end

function sample.best(m)
  local best = math.huge
  for _, entry in ipairs(m.entries) do best = math.min(best, entry.seconds or best) end
  return best
end

--- Returns the entries that take at most SLOWEST times the best time, and the number of other entries.
function sample.kept(m)
  local most, kept = sample.SLOWEST * sample.best(m), {}
  for _, entry in ipairs(m.entries) do
    if entry.seconds and entry.seconds <= most then kept[#kept + 1] = entry end
  end
  return kept, #m.entries - #kept
end

local function rounds_of(entry) return #(entry.times or {}) end

--- True if an entry has too few undisturbed times to be compared with its prediction.
function sample.is_disturbed(entry) return rounds_of(entry) < LEAST end

--- Returns the medians of the even and of the odd rounds of an entry. Their difference shows the noise of the measurements.
function sample.halves(entry)
  local halves = {{}, {}}
  for n, t in ipairs(entry.times) do table.insert(halves[n % 2 + 1], t) end
  return {statistics.median(halves[1]), statistics.median(halves[2])}
end

-- True if all kept entries are fully measured. tries: how many times this call of sample.measure has timed each entry.
local function are_measured(m, tries)
  for _, entry in ipairs((sample.kept(m))) do
    if rounds_of(entry) < ROUNDS and (tries[entry] or 0) < MOST_ROUNDS then return false end
  end
  return true
end

-- True if there are enough entries. If o.counts is given, an entry counts only if o.counts(entry) is true. o.counts is called only
-- if there are at least o.schedules kept entries.
local function enough(m, o)
  local kept, n = sample.kept(m), 0
  if #kept < o.schedules or not o.counts then return #kept >= o.schedules end
  for at, entry in ipairs(kept) do n = n + (o.counts(entry, at, #kept) and 1 or 0) end
  return n >= o.schedules
end

local function is_complete(m, o, tries) return are_measured(m, tries) and enough(m, o) end

--- Returns the schedule of an entry. The legality of every step is checked again.
function sample.schedule(entry, outputs) return naive(outputs):replay(entry.trace) end

-- ---- measuring

local function new(o)
  return {nestwright = core.version(), kernel = o.name, computation = core.schedule_print(naive(o.outputs), 0), seed = o.seed,
    threads = o.threads, machine = times.machine(), rounds = ROUNDS, entries = {}}
end

-- Makes the arguments of runs, and computes the results of the naive program for them.
local function prepare(run)
  local s = naive(run.o.outputs)
  run.arguments = require "nestwright.inside".sized_arrays(s, {})
  run.results = #s:outputs()
  run.want = require "nestwright.inside".sized_arrays(s, {})
  s:build {threads = 1}(table.unpack(run.want))
end

-- Raises an error if the results are wrong. The error ends the run, because wrong code is the worst possible bug.
local function check_results(run, entry)
  local first = #run.arguments - run.results + 1
  for n = first, #run.arguments do
    if not run.nw.allclose(run.arguments[n], run.want[n], CLOSE) then
      errors.fail("invalid", entry.trace,
        "audit: a schedule computes other results than the naive program: this is a bug in the library")
    end
  end
end

local function clear_results(run)
  for n = #run.arguments - run.results + 1, #run.arguments do run.arguments[n]:fill(-1) end
end

-- Returns the result of f. If f fails with an error of the library other than an interrupt, stores the reason in the entry
-- and returns nothing.
local function attempt(entry, f, ...)
  local ok, value = pcall(f, ...)
  if ok then return value end
  if not errors.is_error(value) or value.code == "interrupt" then error(value, 0) end
  entry.refused = value.message
end

local function build(run, entry, s)
  return attempt(entry, s.build, s, {threads = run.o.threads, cache = false})
end

-- Runs a schedule for the first time. Checks its results, and keeps its kernel if it is fast enough.
local function try(run, entry, s)
  local kernel = build(run, entry, s)
  if not kernel then return nil end
  clear_results(run)
  local limit = math.min(MOST_LIMIT, math.max(LEAST_LIMIT, 4 * sample.SLOWEST * run.best))
  local seconds = attempt(entry, core.kernel_once, kernel, run.arguments, limit)
  if not seconds then return nil end
  check_results(run, entry)
  entry.seconds, entry.times = seconds, nil
  run.best = math.min(run.best, seconds)
  if seconds <= 1.5 * sample.SLOWEST * run.best then run.kernel[entry] = kernel end
end

local function save_now_and_then(run)
  if run.o.file and core.now() - run.saved > SAVED then
    sample.save(run.m, run.o.file, true)
    run.saved = core.now()
  end
end

-- Draws further schedules, until there are enough entries or MOST_DRAWN is reached. If the sample comes from a file, take_up has
-- already drawn the schedules in the file.
local function gather(run)
  local from = run.sampler
  while not enough(run.m, run.o) and run.at < MOST_DRAWN * run.o.schedules do
    core.tell_progress(("drawing schedules: %d of %d"):format(#sample.kept(run.m), run.o.schedules),
      #sample.kept(run.m) / run.o.schedules, run.since)
    local s = from:next()
    if not s then return nil end
    run.at = run.at + 1
    local entry = {trace = s:trace "json"}
    run.m.entries[run.at] = entry
    try(run, entry, s)
    save_now_and_then(run)
  end
end

-- Draws the schedules in the file again, and builds those that are not fully measured.
local function take_up(run)
  for _, entry in ipairs(run.m.entries) do
    local s = run.sampler:next()
    if not s or s:trace "json" ~= entry.trace then
      errors.fail("invalid", "name another file",
        "audit: the file was made by another version of the sampler, or with another seed")
    end
    run.at = run.at + 1
    if entry.seconds and rounds_of(entry) < ROUNDS then try(run, entry, s) end
  end
end

-- Measures an entry once. Adds the time to the entry if no other work disturbed the measurement. The time of an entry is the median
-- of its rounds.
local function measure_once(run, entry)
  local t = core.kernel_time(run.kernel[entry], run.arguments, 1)
  run.tries[entry] = (run.tries[entry] or 0) + 1
  if t.disturbed then return end
  entry.times = entry.times or {}
  table.insert(entry.times, t.median)
  entry.seconds = statistics.median(entry.times)
end

-- True if an entry has a kernel. Builds the kernel if there is none yet. (If the best time turns out to be longer than at first, an
-- entry that seemed too slow is measured after all.)
local function has_kernel(run, entry)
  run.kernel[entry] = run.kernel[entry] or build(run, entry, sample.schedule(entry, run.o.outputs))
  if not run.kernel[entry] then entry.seconds = nil end -- the schedule is now refused
  return run.kernel[entry] ~= nil
end

-- Measures all entries in turn, round by round. Skips entries that have become too slow, and entries that have enough times.
local function measure(run)
  for round = 1, MOST_ROUNDS do
    if are_measured(run.m, run.tries) then break end
    local kept = sample.kept(run.m)
    for n, entry in ipairs(kept) do
      if n % 10 == 1 then
        local part = math.min(1, (round - 1 + n / #kept) / ROUNDS)
        core.tell_progress(("measuring in turn: round %d of %d"):format(round, math.max(round, ROUNDS)), part, run.since)
      end
      if rounds_of(entry) < math.min(round, ROUNDS) and has_kernel(run, entry) then measure_once(run, entry) end
    end
    save_now_and_then(run)
  end
end

local function run_all(run)
  take_up(run)
  repeat -- the best time may have become shorter, so that other entries are now too slow
    local before = run.at
    gather(run)
    measure(run)
  until is_complete(run.m, run.o, run.tries) or run.at == before and are_measured(run.m, run.tries)
end

-- Writes the measurements to the file, also after an error.
local function finish(run, problem)
  core.tell_progress()
  local stopped = errors.is_error(problem) and problem.code == "interrupt"
  local path = run.o.file or stopped and #run.m.entries > 0 and core.temp_dir() .. "/sample.json"
  if path then sample.save(run.m, path) end
  if stopped and path then
    errors.fail("interrupt", ("file = %q continues from there"):format(path), "audit: stopped; %d schedules are in %s",
      #run.m.entries, path)
  end
  if problem then error(problem, 0) end
end

--- Returns a sample. It has at least o.schedules entries that take at most SLOWEST times the best time, if the computation has so
--- many schedules. If o.counts is given, only entries for which o.counts(entry) is true are counted. The options are outputs, name,
--- schedules, seed, threads, file and counts.
function sample.measure(nw, o)
  local m = o.file and core.file_stamp(o.file) and sample.check(sample.load(o.file), o.outputs) or new(o)
  if is_complete(m, o, {}) then return m end
  local run = {nw = nw, o = o, m = m, sampler = sampler.new(o.outputs, m.seed), at = 0, best = sample.best(m), kernel = {},
    tries = {}, since = core.now(), saved = core.now()}
  prepare(run)
  local ok, problem = pcall(run_all, run)
  finish(run, not ok and problem or nil)
  return m
end

return sample
