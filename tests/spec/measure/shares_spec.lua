--- Tests shares of the peak: a share above 1 is never shown without a remark, and the peak is measured again first.
local nw = require "nestwright"
local core = require "nestwright.core"
local times = require "nestwright.measure.times"
local support = require "support"
local fails = support.fails

-- Returns a time of this machine.
local function time(fields)
  fields.machine = fields.machine or times.machine()
  return nw.timings {t = fields}[1]
end

-- Calls f while the peak that is measured is, in turn, each of the numbers in the list, and then always the last one. Returns the
-- number of measurements.
local function with_peaks(list, f)
  local original, n = core.peak_flops, 0
  core.peak_flops = function()
    n = n + 1
    local peak = list[math.min(n, #list)]
    return peak, {peak, peak, peak, disturbed = list.disturbed}
  end
  local ok, problem = pcall(f)
  core.peak_flops = original
  if not ok then error(problem, 0) end
  return n
end

describe("the share of the peak", function()
  it("is the rate of the median over the peak of as many threads, and both are in the answer", function()
    with_peaks({4e9}, function()
      local r = time {median = 1e-3, threads = 501}:share(1e6)
      assert.same({0.25, 1, 4e9, 501, "f32"}, {r.share, r.gflops, r.peak, r.threads, r.dtype})
      assert.is_nil(r.remark)
      assert.equal("1.0 GFLOP/s (median), 25.0 % of the peak of 501 threads", tostring(r))
      assert.truthy(tostring(time {min = 1e-3, threads = 501}:share(1e6)):find("(fastest run)", 1, true))
      assert.truthy(tostring(time {median = 1e-3, threads = 502}:share(1e6, {dtype = "f64"})):find("of the f64 peak", 1, true))
    end)
  end)

  it("is computed again with a new peak if it is above 1, because the peak was measured too low", function()
    local n = with_peaks({5e8, 2e9}, function()
      local r = time {median = 1e-3, threads = 503}:share(1e6)
      assert.equal(0.5, r.share)
      assert.is_nil(r.remark)
      assert.equal(0.5, time {median = 1e-3, threads = 503}:share(1e6).share)
    end)
    assert.equal(2, n)
  end)

  it("has a remark if it stays above 1", function()
    local n = with_peaks({5e8}, function()
      local r = time {median = 1e-3, threads = 504}:share(1e6)
      assert.equal(2, r.share)
      assert.truthy(r.remark:find("more than the peak", 1, true))
      assert.truthy(tostring(r):find("200.0 % of the peak of 504 threads (more than the peak: other work ran when", 1, true))
    end)
    assert.equal(3, n)
  end)

  it("has a remark if other work disturbed the peak or the time, or if the time was measured elsewhere", function()
    with_peaks({2e9, disturbed = true}, function()
      local r = time {median = 1e-3, threads = 505, disturbed = true, machine = "another"}:share(1e6)
      assert.equal("other work disturbed the measurement of the peak, which may be too low; the time was measured elsewhere, and "
        .. "the peak on this machine; the time is disturbed by other work", r.remark)
    end)
  end)

  it("checks its arguments", function()
    fails("share: flop: expected a number above 0, got 0", "range", function() time({median = 1}):share(0) end)
    fails("unknown option 'dtyp'", "invalid", function() time({median = 1}):share(1, {dtyp = "f64"}) end)
  end)

  it("of a kernel that is measured here is at most 1, or has a remark", function()
    local t = support.gemm(48):time {threads = 1, reps = 3}
    local r = t:share(2 * 48 ^ 3)
    assert.is_true(r.share > 0 and (r.share <= 1 or r.remark ~= nil))
  end)
end)
