--- Measures single calls of a small kernel on two threads.
local bench = require "_bench"
local core = require "nestwright.core"
local nw = require "nestwright"

local CALLS = 1000

return function(out)
  if require "nestwright.measure.times".cores() < 2 then
    print "truth.small_2t_p95_ratio: skipped: this machine has one core"
    return out:record("truth.small_2t_p95_ratio", 0)
  end
  local A, B = nw.placeholder({64, 64}, "f32", "A"), nw.placeholder({64, 64}, "f32", "B")
  local k = nw.reduce_axis(64, "k")
  local s = nw.schedule(nw.compute({64, 64}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C"))
  s:reorder("i", "k", "j")
  s:vectorize "j"
  s:parallel "i"
  local f = s:build {threads = 2}
  local arguments, seconds = {nw.random({64, 64}), nw.random({64, 64}), nw.zeros({64, 64})}, {}
  for _ = 1, 20 do core.kernel_once(f, arguments) end
  for n = 1, CALLS do seconds[n] = core.kernel_once(f, arguments) end
  local median, late = bench.median(seconds), bench.quantile(seconds, 0.95)
  print(("  %d calls: median %.2f us, 95 %% within %.2f us, slowest %.2f us"):format(CALLS, 1e6 * median, 1e6 * late,
    1e6 * bench.quantile(seconds, 1)))
  out:bar("truth.small_2t_p95_ratio", late / median, "<=", 3)
end
