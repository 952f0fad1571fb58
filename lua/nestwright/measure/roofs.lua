--- Measures the limits of this machine: multiply-adds per second, and bytes per second from each cache and from memory.
local calibration = require "nestwright.measure.calibration"
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local report = require "nestwright.show.report"
local rows = require "nestwright.language.rows"
local times = require "nestwright.measure.times"
local written = require "nestwright.show.written"

local roofs = {}

local LOOPS = {"read", "copy", "triad"}
local TRIES = 3 -- the largest number of measurements of a roof that other work disturbs
local PATIENCE = 20 -- seconds after which no roof is measured again
local SHARED = 1.2 -- several threads are reported as not faster if they reach less than this times the peak of one
local MOST = 1 << 30 -- the largest number of bytes that memory is measured with, unless twice the last cache is larger

-- ---- measuring

-- Returns a summary of samples: the best, the median, the spread, the number of samples, and whether other work disturbed most of
-- them. The spread is the interquartile range divided by the median.
local function summary(samples)
  table.sort(samples)
  local n = #samples
  local lo, hi = times.quartiles(samples)
  local median = (samples[(n + 1) // 2] + samples[n // 2 + 1]) / 2
  return {best = samples[n], median = median, spread = (hi - lo) / median, samples = n, disturbed = samples.disturbed or nil}
end

-- Returns the better of two summaries; `a` may be nil. If only one summary is undisturbed, it is better. Otherwise, the summary
-- with the higher rate is better.
local function better(a, b)
  if not a or a.disturbed and not b.disturbed then return b end
  if b.disturbed and not a.disturbed then return a end
  return b.best > a.best and b or a
end

local began = 0 -- the time in seconds at which the current measurement of roofs began

-- Repeats a measurement, at most TRIES times, while other work disturbs it. Returns the best summary.
local function undisturbed(measure_once)
  local best
  for _ = 1, TRIES do
    best = better(best, measure_once())
    if not best.disturbed or core.now() - began > PATIENCE then break end
  end
  return best
end

local function peak(threads, dtype, step)
  step()
  return undisturbed(function() return summary((select(2, core.peak_flops(threads, dtype)))) end)
end

-- Returns the bandwidth of the fastest of STREAM's loops over this many bytes.
local function bandwidth(name, bytes, threads, step)
  local best
  for _, loop in ipairs(LOOPS) do
    step()
    local r = undisturbed(function() return summary(core.bandwidth(loop, bytes, threads)) end)
    r.name, r.loop, r.over = name, loop, bytes
    best = better(best, r)
  end
  return best
end

-- Returns a bandwidth. As long as there is not enough memory, the number of bytes is halved.
local function bandwidth_that_fits(size, threads, step)
  local over = size.over
  while true do
    local ok, got = pcall(bandwidth, size.name, over, threads, step)
    if ok then return got end
    if not errors.is_error(got) or got.code ~= "limit" or over < 1 << 20 then error(got, 0) end
    over = over // 2
  end
end

-- Returns the number of bytes that each level is measured with. For a cache level, it is size/2, where `size` is the total size of
-- the caches of this level that the threads use. For memory, it is max(min(4*last, MOST), 2*last, 64 MiB), where `last` is the size
-- for the last cache level.
local function sizes(threads)
  local out, last = {}, 0
  for n, cache in ipairs(core.machine_caches()) do
    local caches = (threads + cache.cpus - 1) // cache.cpus
    last = caches * cache.bytes
    out[n] = {name = "L" .. n, over = last // 2, bytes = cache.bytes}
  end
  out[#out + 1] = {name = "memory", over = math.max(math.min(4 * last, MOST), 2 * last, 1 << 26)}
  return out
end

local function measured(threads, list, step)
  local out = {threads = threads, machine = times.machine(), peak = peak(threads, "f32", step), levels = {}}
  out.peak_f64 = peak(threads, "f64", step)
  for n, size in ipairs(list) do
    out.levels[n] = bandwidth_that_fits(size, threads, step)
    out.levels[n].bytes = size.bytes
  end
  return out
end

-- Measures the roofs. This takes some seconds; progress is reported.
local function measure(threads)
  local list, done, since = sizes(threads), 0, core.now()
  began = since
  local what, all = ("measuring the roofs of %d thread%s"):format(threads, threads == 1 and "" or "s"), 2 + #LOOPS * #list
  local function step()
    core.tell_progress(what, math.min(done / all, 1), since)
    done = done + 1
  end
  local ok, got = pcall(measured, threads, list, step)
  core.tell_progress()
  if not ok then error(got, 0) end
  return got
end

-- ---- reports

local function line_of(name, s, unit, about)
  return ("%-8s %14s  spread %5.1f %%  %s%s"):format(name, written.quantity(s.best, unit), 100 * s.spread, about,
    s.disturbed and ", disturbed by other work" or "")
end

local function text_of(r)
  local out = {("%d thread%s, %s"):format(r.threads, r.threads == 1 and "" or "s", r.machine)}
  out[2] = line_of("peak", r.peak, "flop/s", "f32 multiply-adds, two operations each")
  out[3] = line_of("peak f64", r.peak_f64, "flop/s", "f64 multiply-adds")
  for _, l in ipairs(r.levels) do
    out[#out + 1] = line_of(l.name, l, "B/s", ("%s over %s"):format(l.loop, written.bytes(l.over)))
  end
  if r.remark then out[#out + 1] = r.remark end
  return table.concat(out, "\n")
end

local known = {} -- the roofs by number of threads, for the life of the process

-- Returns the roofs that are kept with the calibration of this machine, or nil if none can be read.
local function kept(threads)
  local r = calibration.roofs(threads)
  local ok, text = pcall(text_of, r or {})
  return ok and report.new(r, text) or nil
end

local function is_disturbed(r)
  local any = r.peak.disturbed or r.peak_f64.disturbed
  for _, l in ipairs(r.levels) do any = any or l.disturbed end
  return any
end

-- Returns a sentence if the threads together are not faster than one thread, otherwise nil. For this, the peak of one thread is
-- measured.
local function remark_of(r)
  if r.threads == 1 then return nil end
  local one = undisturbed(function() return summary((select(2, core.peak_flops(1, "f32")))) end)
  if r.peak.best >= SHARED * one.best then return nil end
  local why = (r.peak.disturbed or one.disturbed) and "other work disturbed the measurement"
    or r.threads == 2 and "these two share a core" or "they share a core, or other limits apply"
  return ("%d threads together reach %.2f times the peak of one thread: %s"):format(r.threads, r.peak.best / one.best, why)
end

local function measured_now(threads)
  local r = measure(threads)
  r.remark = remark_of(r)
  if not is_disturbed(r) then calibration.keep_roofs(threads, r) end
  return report.new(r, text_of(r))
end

--- Returns the roofs for this number of threads. They are measured once per process. If nw.calibrate has written a file, they are
--- kept in it and not measured again. If `fresh` is true, they are measured in any case.
function roofs.of(threads, fresh)
  if fresh or not known[threads] then known[threads] = not fresh and kept(threads) or measured_now(threads) end
  return known[threads]
end

local peaks = {} -- the peaks of roofs.peak, by dtype and number of threads

--- Returns a summary of the peak for this number of threads. It is measured once per process, or read from the calibration. If
--- `again` is true, it is measured again, and the better summary is kept.
function roofs.peak(threads, dtype, again)
  local key, r = dtype .. threads, known[threads] or kept(threads)
  if r then peaks[key] = better(peaks[key], dtype == "f64" and r.peak_f64 or r.peak) end
  began = core.now()
  if again or not peaks[key] then peaks[key] = better(peaks[key], peak(threads, dtype, function() end)) end
  return peaks[key]
end

local function threads_of(what, value)
  if value == nil then return times.cores() end
  if math.type(value) == "integer" and value >= 1 and value <= 1024 then return value end
  errors.fail("range", nil, "%s: threads must be a number from 1 to 1024, not %s", what, tostring(value))
end

function roofs.install(nw)
  local define = rows.definer(nw, "nw", "costs")

  define("bandwidth", "(bytes: integer, options?: {loop?: 'read'|'copy'|'triad'|'write', threads?: integer}): number, number[]",
    "The bytes per second that a loop over this many bytes of memory reads and writes on this machine. Returns the best of a "
    .. "dozen samples, and all samples, per second of wall-clock time. loop: 'read' (a), 'copy' (a = b) or 'triad' (a = b + "
    .. "x*c), as in STREAM; only the bytes "
    .. "of the arrays in the loop are counted. threads: 1 by default; each thread has its own part of the memory.",
    function(bytes, options)
      local o = errors.options("bandwidth", options, {"loop", "threads"})
      if math.type(bytes) ~= "integer" or bytes < 1 then
        errors.fail("range", nil, "bandwidth: bytes must be a whole number above 0, not %s", tostring(bytes))
      end
      local samples = core.bandwidth(o.loop or "read", bytes, threads_of("bandwidth", o.threads or 1))
      return math.max(table.unpack(samples)), samples
    end)

  define("roofs", "(options?: {threads?: integer, fresh?: boolean}): nw.report",
    "Measures the limits of this machine: the peak of f32 and f64 multiply-adds in flop/s, and, for each cache and for memory, "
    .. "the bytes per second of the fastest STREAM loop, all per second of wall-clock time. For a cache, the loop covers half of "
    .. "it; for memory, four times the "
    .. "last cache, but usually at most one gigabyte. threads: all cores by default. The answer has threads, machine, peak, "
    .. "peak_f64 and levels: records with best, median, spread, and disturbed if other work disturbed most samples although they "
    .. "were taken again; levels also have name, loop and over (bytes). remark: that more threads are not faster. The measurement "
    .. "takes some seconds. It is done once per process, or its result is kept with the results of nw.calibrate; fresh = true "
    .. "measures again.",
    function(options)
      local o = errors.options("roofs", options, {"threads", "fresh"})
      return roofs.of(threads_of("roofs", o.threads), o.fresh)
    end)
end

return roofs
