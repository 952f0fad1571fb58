--- Measures the busy and idle time of a kernel's threads, and draws timelines.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local inside = require "nestwright.inside"
local report = require "nestwright.show.report"
local rows = require "nestwright.language.rows"
local times = require "nestwright.measure.times"
local written = require "nestwright.show.written"

local RUNS = 11
local seconds, percent = written.seconds, written.percent

-- ---- one run

-- Returns a record of one thread: busy (seconds in parts of loops), idle (seconds of waiting in parallel loops), cpu (seconds of
-- CPU time), rounds (number of iterations) and parts (number of parts of loops). within: the seconds in parallel loops.
local function thread_of(log, t, within)
  local r = {thread = t, busy = 0, cpu = 0, rounds = 0, parts = 0}
  for _, s in ipairs(log.spans) do
    if s.thread == t then
      r.busy, r.cpu, r.rounds = r.busy + s.to - s.from, r.cpu + s.cpu, r.rounds + s.last - s.first + 1
      r.parts = r.parts + 1
    end
  end
  r.idle = math.max(within - r.busy, 0)
  return r
end

-- Returns the names of the loops. Loops of the same name are distinguished by numbers.
local function loop_names(log)
  local out, seen = {}, {}
  for n, name in ipairs(log.loops) do
    seen[name] = (seen[name] or 0) + 1
    out[n] = seen[name] > 1 and ("%s (%d)"):format(name, seen[name]) or name
  end
  return out
end

-- Returns, for each loop, the seconds from the start of its first thread to the end of its last thread, and the idle fraction over
-- all threads.
local function loops_of(log)
  local out = {}
  for n, name in ipairs(loop_names(log)) do out[n] = {loop = name, within = 0, busy = 0} end
  for _, region in ipairs(log.regions) do out[region.loop].within = out[region.loop].within + region.to - region.from end
  for _, s in ipairs(log.spans) do out[s.loop].busy = out[s.loop].busy + s.to - s.from end
  for _, l in ipairs(out) do l.idle = l.within > 0 and math.max(0, 1 - l.busy / (l.within * log.threads)) or 0 end
  return out
end

local function look(log)
  local run = {seconds = log.seconds, within = 0, busy = 0, threads = {}, log = log}
  for _, region in ipairs(log.regions) do run.within = run.within + region.to - region.from end
  for t = 0, log.threads - 1 do
    run.threads[t + 1] = thread_of(log, t, run.within)
    run.busy = run.busy + run.threads[t + 1].busy
  end
  run.loops = loops_of(log)
  run.idle = run.within > 0 and math.max(0, 1 - run.busy / (run.within * log.threads)) or 0
  return run
end

-- ---- several runs, and the one that is shown

local function by_seconds(a, b) return a.seconds < b.seconds end

local function quartile(list, at)
  table.sort(list)
  return list[math.max(1, (at * #list + 3) // 4)]
end

-- Returns the run that is shown, and what holds for all runs. Runs that other work disturbed were made again, if possible. So there
-- may be fewer or more runs than o.reps.
local function measured(what, kernel, arrays, o)
  local logs, runs, idle = core.kernel_logs(kernel, arrays, o.reps), {}, {}
  if #logs[1].loops == 0 then
    errors.fail("invalid", "s:parallel(loop), then s:build()", "%s: no loop of this kernel runs in parallel", what)
  end
  for n, log in ipairs(logs) do
    if log.lost > 0 then
      errors.fail("limit", "make larger chunks: s:pragma(loop, \"chunk\", n)",
        "%s: the loops have too many parts; %d were not recorded", what, log.lost)
    end
    runs[n] = look(log)
    idle[n] = runs[n].idle
  end
  table.sort(runs, by_seconds)
  local shown = runs[o.fastest and 1 or (#runs + 1) // 2]
  return shown, {min = runs[1].seconds, median = runs[(#runs + 1) // 2].seconds, low = quartile(idle, 1), high = quartile(idle, 3),
    reps = #runs, retaken = logs.retaken, disturbed = logs.disturbed or nil}
end

-- ---- reports

local function rounds_text(s) return s.first == s.last and ("%d"):format(s.first) or ("%d-%d"):format(s.first, s.last) end

-- Adds records for the times outside of parallel loops, in which only the calling thread runs. Times under 0.2 % of the run are
-- left out.
local function serial_records(log, out)
  local at = 0
  for n = 1, #log.regions + 1 do
    local region = log.regions[n] or {from = log.seconds, to = log.seconds}
    if region.from - at > 0.002 * log.seconds then
      out[#out + 1] = {lane = "thread 0", from = at, to = region.from, kind = "outside of parallel loops"}
    end
    at = region.to
  end
end

local function records_of(log)
  local out, names = {}, loop_names(log)
  for t = 0, log.threads - 1 do
    for _, s in ipairs(log.spans) do
      if s.thread == t then
        local name = names[s.loop]
        out[#out + 1] = {lane = ("thread %d"):format(t), from = s.from, to = s.to, label = rounds_text(s), kind = name,
          first = s.first, last = s.last}
      end
    end
  end
  serial_records(log, out)
  return out
end

-- Returns the largest fraction of a thread's busy time in which other processes used the thread's core. The fraction is formed from
-- two clocks: the CPU time of the thread, and wall-clock time.
local function taken(threads)
  local most = 0
  for _, t in ipairs(threads) do
    if t.busy > 0 then most = math.max(most, 1 - t.cpu / t.busy) end
  end
  return most
end

local IDLE = "threads are idle %s of the time in parallel loops"

-- Returns a sentence about the run. idle: the words about idle time in parallel loops.
local function summary(r, idle)
  local this, other = r.fastest and "fastest" or "median", r.fastest and "median" or "fastest"
  local out = ("%s run of %d: %s (%s %s); %s (middle half of the runs: %s to %s)"):format(this, r.reps, seconds(r.seconds), other,
    seconds(r[other == "median" and "median" or "min"]), idle, percent(r.idle_low), percent(r.idle_high))
  if r.taken > 0.1 then
    out = out .. ("; other processes used the core of a thread for up to %.0f %% of its busy time (wall-clock time less CPU time)")
      :format(100 * r.taken)
  end
  return out .. times.remarks(r)
end

local function text_of(r)
  local out = {("%-10s %10s %10s %8s %10s %6s"):format("", "busy", "idle", "", "iterations", "parts")}
  for _, t in ipairs(r.threads) do
    out[#out + 1] = ("%-10s %10s %10s %8s %10d %6d"):format("thread " .. t.thread, seconds(t.busy), seconds(t.idle),
      r.within > 0 and percent(t.idle / r.within) or "", t.rounds, t.parts)
  end
  for _, l in ipairs(r.loops) do
    out[#out + 1] = ("loop %s takes %s; threads are idle %s of it"):format(l.loop, seconds(l.within), percent(l.idle))
  end
  out[#out + 1] = summary(r, IDLE:format(percent(r.idle)))
  return table.concat(out, "\n")
end

local function cells_of(r)
  local out = {}
  for n, t in ipairs(r.threads) do
    out[n] = {"thread " .. t.thread, seconds(t.busy), seconds(t.idle), r.within > 0 and percent(t.idle / r.within) or "",
      tostring(t.rounds), tostring(t.parts)}
  end
  return {head = {"", "busy", "idle", "idle", "iterations", "parts"}, rows = out, left = {true, heads = true},
    foot = summary(r, IDLE:format(percent(r.idle)))}
end

local function busy(what, kernel, ...)
  local given, options = inside.split_options(...)
  local o = errors.options(what, options, {"reps", "fastest"})
  local reps = o.reps == nil and RUNS or o.reps
  if math.type(reps) ~= "integer" or reps < 1 or reps > 10000 then
    errors.fail("range", nil, "%s: reps: expected a number from 1 to 10000, got %s", what, tostring(reps))
  end
  local arrays = inside.kernel_arrays(what, kernel, given)
  local shown, over = measured(what, kernel, arrays, {reps = reps, fastest = o.fastest})
  local r = {seconds = shown.seconds, min = over.min, median = over.median, within = shown.within, idle = shown.idle,
    idle_low = over.low, idle_high = over.high, threads = shown.threads, loops = shown.loops,
    records = records_of(shown.log), reps = over.reps, retaken = over.retaken, disturbed = over.disturbed, fastest = o.fastest,
    taken = taken(shown.threads), machine = times.machine()}
  return report.new(r, text_of(r), cells_of(r))
end

-- Returns the timeline. A thread without work has a lane too. The idle time is computed as in f:busy, which does not count time
-- outside of parallel loops.
local function drawn(r, title)
  local small = summary(r, "idle share of the time in parallel loops") .. ". " .. r.machine
    .. "; wall clock, read before and after each part of a loop."
  local lanes, idle = {}, {}
  for n, t in ipairs(r.threads) do
    lanes[n] = ("thread %d"):format(t.thread)
    idle[lanes[n]] = r.within > 0 and t.idle / r.within or 0
  end
  return require "nestwright.plots.timeline".make(r.records, {title = title or "busy and idle threads", from = 0, to = r.seconds,
    lanes = lanes, idle = {whole = r.idle, lanes = idle, within = "in parallel loops threads are"}, small = small,
    disturbed = r.disturbed})
end

-- Removes the title from the options in the last argument. Returns the title and the other arguments.
local function split(...)
  local given, options = inside.split_options(...)
  options = options or {}
  local title = options.title
  local rest = {}
  for key, value in pairs(options) do if key ~= "title" then rest[key] = value end end
  given[given.n + 1] = rest
  return title, given
end

return function(nw)
  local kernel_method = rows.definer(rows.methods "kernel", "kernel", "timing")
  local schedule_method = rows.definer(rows.methods "schedule", "schedule", "timing")

  rows.define(nw, "nw", "timing", "timeline",
    "(records: {lane: nw.label, from: number, to: number, label?: nw.label, kind?: nw.label, "
    .. "[string]: any}[], options?: {arrows?: {from: integer|table, to: integer|table}[], title?: nw.label, unit?: nw.label, "
    .. "lanes?: nw.label[], from?: number, to?: number, small?: nw.label}): nw.plot",
    "Draws a timeline. It has one lane per thread or stage, and one bar per record, from the record's start to its end in seconds. "
    .. "A bar has a label if there is room for it, and each kind has its own fill. Lanes appear in the order of `lanes` (lanes "
    .. "without records included), then in the order of the records. Idle time is the time without a bar; its percentage is at the "
    .. "right. Where bars are too narrow to be distinguished, their height shows how much of the time they fill. arrows: each goes "
    .. "from the end of a record to the start of a record that depends on it; its ends are records or their numbers. unit: the "
    .. "unit of the numbers if it is not 's', for example 'cycles'. from and to: the time span for the idle percentage, if it is "
    .. "longer than the records. small: text at the foot, for example the origin of the records.",
    function(records, options)
      local o = errors.options("timeline", options, {"arrows", "title", "unit", "lanes", "from", "to", "small"})
      for _, name in ipairs {"title", "unit", "small"} do
        if o[name] ~= nil then errors.expect("timeline: " .. name, o[name], "string") end
      end
      for _, name in ipairs {"from", "to"} do
        local value = errors.expect("timeline: " .. name, o[name] or 0, "number")
        if value ~= value or math.abs(value) == math.huge then
          errors.fail("invalid", nil, "timeline: %s is %s", name, value)
        end
      end
      return require "nestwright.plots.timeline".make(records, o)
    end)

  kernel_method("busy", "(self: nw.kernel, ...: nw.array|{reps?: integer, fastest?: boolean}): nw.report",
    "Runs the kernel and measures what each thread does in its parallel loops: when it starts and ends each part of a loop. The "
    .. "kernel runs `reps` times (11), each time directly after other calls, so that its threads are awake and its data are in the "
    .. "caches. A run in which a thread had to wait for its core is made again, as by f:time (retaken: how many); disturbed: true "
    .. "if most runs stayed disturbed. All times are wall-clock time, except cpu. The answer prints a table and describes the "
    .. "median "
    .. "run, or the fastest run if fastest = true: seconds, within (seconds in parallel loops), idle (the idle share of that time, "
    .. "over all threads); threads: records of thread, busy, idle, cpu (CPU time of the thread), rounds (iterations), parts; "
    .. "loops: "
    .. "within and idle of each loop, in the order in which the loops start; and records for nw.timeline, with the first and last "
    .. "iteration of each part. Fields over all runs: min, median, idle_low and idle_high (the ends of the middle half), and taken "
    .. "(the largest share of a thread's busy time that is not CPU time).",
    function(kernel, ...) return busy("busy", kernel, ...) end)

  kernel_method("timeline", "(self: nw.kernel, ...: nw.array|{reps?: integer, fastest?: boolean, title?: nw.label}): nw.plot",
    "Draws what kernel:busy measures: which iterations of the parallel loops each thread ran at which time, and how long threads "
    .. "were idle.",
    function(kernel, ...)
      local title, given = split(...)
      return drawn(busy("timeline", kernel, table.unpack(given, 1, given.n + 1)), title)
    end)

  schedule_method("timeline", "(self: nw.schedule, ...: nw.array|table): nw.plot",
    "Builds the schedule and draws the timeline of its threads. If no inputs are given, they are random. The last argument may be "
    .. "a table of options of build and of kernel:timeline.",
    function(s, ...)
      local given, options = inside.split_options(...)
      local o = errors.options("timeline", options, {"threads", "opt", "cache", "reps", "fastest", "title"})
      local kernel = s:build {threads = o.threads, opt = o.opt, cache = o.cache}
      given[given.n + 1] = {reps = o.reps, fastest = o.fastest, title = o.title}
      return kernel:timeline(table.unpack(given, 1, given.n + 1))
    end)
end
