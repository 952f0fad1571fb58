--- Compares the median of f:busy with the median of f:time, for a product of 256 by 256 matrices on two threads. Both are measured
--- on a quiet machine and under load.
local bench = require "_bench"
local load = require "_load"
local nw = require "nestwright"
local schedules = require "_schedules"

local TRIES = 8
local WRONG = 1.3 -- a greater ratio of the two medians needs the mark that other work disturbed one of them

-- Returns the two times. They are measured again if other work disturbed one of them.
local function pair(f, a, b)
  local t, r
  for _ = 1, 3 do
    t, r = f:time(a, b), f:busy(a, b)
    if not t.disturbed and not r.disturbed then break end
  end
  return t, r
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
    local stop, marked, worst = load.start(kind, cores), 0, 1
    for _ = 1, TRIES do
      local t, r = pair(f, a, b)
      local ratio = r.median / t.median
      if n == 1 then off[#off + 1] = math.abs(ratio - 1) end
      if t.disturbed or r.disturbed then
        marked = marked + 1
      else
        worst = math.max(worst, ratio, 1 / ratio)
        if math.max(ratio, 1 / ratio) > WRONG then bare = bare + 1 end
      end
    end
    stop()
    print(("  %s: the greatest ratio of busy and time is %.2f; %d of %d pairs are marked as disturbed"):format(kind.name, worst,
      marked, TRIES))
  end
  out:bar("truth.busy_of", #off, ">=", TRIES)
  out:bar("truth.busy_off", bench.median(off), "<=", 0.1)
  out:bar("truth.busy_unmarked", bare, "<=", 0)
end
