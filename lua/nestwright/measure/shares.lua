--- Compares a measured time with the peak of this machine. A share that needs a remark has one.
local errors = require "nestwright.language.errors"
local report = require "nestwright.show.report"
local roofs = require "nestwright.measure.roofs"
local rows = require "nestwright.language.rows"
local times = require "nestwright.measure.times"

local AGAIN = 2 -- how often the peak is measured again if the share is above 1

-- Returns the summary of the peak. If the rate is above it, the peak was measured too low, so it is measured again.
local function peak_for(rate, threads, dtype)
  local peak = roofs.peak(threads, dtype)
  for _ = 1, AGAIN do
    if rate <= peak.best then break end
    peak = roofs.peak(threads, dtype, true)
  end
  return peak
end

-- Returns what a reader must know about the share, or nil.
local function remark_of(t, share, peak)
  local out = {}
  if share > 1 then
    out[1] = "more than the peak: other work ran when the peak was measured, or the operations or threads were counted differently"
  end
  if peak.disturbed then out[#out + 1] = "other work disturbed the measurement of the peak, which may be too low" end
  if t.machine ~= times.machine() then out[#out + 1] = "the time was measured elsewhere, and the peak on this machine" end
  local own = times.remarks(t):gsub("^, ", "the time is ")
  if own ~= "" then out[#out + 1] = own end
  return #out > 0 and table.concat(out, "; ") or nil
end

local function share(t, flop, options)
  local o = errors.options("share", options, {"dtype"})
  if not (errors.expect("share: flop", flop, "number") > 0 and flop < math.huge) then
    errors.fail("range", nil, "share: flop: expected a number above 0, got %s", tostring(flop))
  end
  local threads, dtype, rate = t.threads or 1, o.dtype or "f32", flop / t.median
  local peak = peak_for(rate, threads, dtype)
  local r = {share = rate / peak.best, gflops = rate / 1e9, peak = peak.best, threads = threads, dtype = dtype}
  r.remark = remark_of(t, r.share, peak)
  return report.new(r, ("%.1f GFLOP/s (%s), %.1f %% of the%s peak of %d thread%s%s"):format(r.gflops,
    t.fastest_alone and "fastest run" or "median", 100 * r.share, dtype == "f64" and " f64" or "", threads,
    threads == 1 and "" or "s", r.remark and " (" .. r.remark .. ")" or ""))
end

return {
  install = function()
    rows.define(times.methods, "time", "timing", "share",
      "(self: nw.time, flop: number, options?: {dtype?: 'f32'|'f64'}): nw.report",
      "The rate of the median run, and its share of the peak of as many threads: print(t:share(2*M*N*K)) for a matrix product. "
      .. "flop: "
      .. "the operations of one run; a multiply-add counts as two. The answer has share, gflops, peak (flop/s), threads, dtype and "
      .. "remark: why the share is doubtful, nil if it is not. Time and peak are both wall-clock time. The peak is the best of "
      .. "many samples, as in nw.roofs. It is measured once per process, and again if the share is above 1. If it stays above 1, "
      .. "the remark says so.", share)
  end,
}
