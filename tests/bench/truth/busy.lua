--- Compares the median of f:busy with the median of f:time, for a product of 256 by 256 matrices on two threads. Both are measured
--- on a quiet machine and under load.
local bench = require "_bench"
local load = require "_load"
local nw = require "nestwright"
local schedules = require "_schedules"

local PAIRS, QUIET = 4, 8 -- numbers of pairs of times under load, and on the quiet machine
local WRONG = 1.3 -- a greater ratio of the two medians needs the mark that other work disturbed one of them

-- Returns the two times, and true if other work disturbed none of them.
local function pair(f, a, b)
  local t, r = f:time(a, b), f:busy(a, b)
  return t, r, not t.disturbed and not r.disturbed
end

return function(out)
  local cores = require "nestwright.measure.times".cores()
  if cores < 2 then
    print "truth.busy_off: skipped: this machine has one core"
    return out:record("truth.busy_of", 0)
  end
  local f = schedules.gemm(256, 2):build {threads = 2}
  local a, b, off, bare = nw.random({256, 256}, "f32", {seed = 1}), nw.random({256, 256}, "f32", {seed = 2}), {}, 0
  for n, kind in ipairs(load.kinds) do
    local stop, clean, worst = load.start(kind, cores), 0, 1
    local pairs_of = n == 1 and QUIET or PAIRS
    for _ = 1, pairs_of do
      local t, r, undisturbed = pair(f, a, b)
      local ratio = r.median / t.median
      if undisturbed then
        if n == 1 then off[#off + 1] = math.abs(ratio - 1) end
        clean, worst = clean + 1, math.max(worst, ratio, 1 / ratio)
        if math.max(ratio, 1 / ratio) > WRONG then bare = bare + 1 end
      end
    end
    stop()
    print(("  %s: the greatest ratio of busy and time is %.2f; %d of %d pairs are not disturbed"):format(kind.name, worst, clean,
      pairs_of))
  end
  out:bar("truth.busy_of", #off, ">=", QUIET / 2)
  out:bar("truth.busy_off", #off > 0 and bench.median(off) or 1, "<=", 0.1)
  out:bar("truth.busy_unmarked", bare, "<=", 0)
end
