--- Compares GEMM with this machine's measured peak of multiply-adds and with OpenBLAS, and conv1d with plain C. All programs run in
--- turn, several times, and a figure is computed from their minimum times. A ratio is the time of the other program divided by the
--- time of our kernel.
package.cpath = "build/bench/?.so;" .. package.cpath
package.path = "tests/bench/?.lua;tutorials/?.lua;" .. package.path
local nw = require "nestwright"
local peers = require "peers"
local bench = require "_bench"
local schedules = require "_schedules"

local out = bench.open(arg[1] or "build/bench/gemm.json")

-- Measures one shape with one number of threads. The peak, OpenBLAS and our kernel run in turn.
local function gemm(n, threads, rounds)
  local a, b = nw.random({n, n}, "f32", {seed = 1}), nw.random({n, n}, "f32", {seed = 2})
  local c, d = nw.zeros({n, n}, "f32"), nw.zeros({n, n}, "f32")
  local f = schedules.gemm(n, threads, schedules.host_tile()):build {threads = threads}
  f(a, b, c)
  peers.sgemm({n, n, n}, a:pointer(), b:pointer(), d:pointer(), threads)
  assert(nw.allclose(c, d, {rtol = 1e-3, atol = 1e-3}), "the results of our GEMM and of OpenBLAS differ")
  local ours, theirs, peak = math.huge, math.huge, 0
  local med_ours, med_theirs, med_peak = {}, {}, {}
  for round = 1, rounds do
    local p = nw.peak_flops(threads)
    local t = f:time(a, b, c, {reps = threads, warmup = 0}).min
    if threads > 1 then peers.rest(40) end -- idle threads of OpenBLAS and of our kernel spin for a while
    local o = peers.sgemm({n, n, n}, a:pointer(), b:pointer(), d:pointer(), threads)
    if threads > 1 then
      o = math.min(o, peers.sgemm({n, n, n}, a:pointer(), b:pointer(), d:pointer(), threads))
      peers.rest(40)
    end
    ours, theirs, peak = math.min(ours, t), math.min(theirs, o), math.max(peak, p)
    med_ours[round], med_theirs[round], med_peak[round] = t, o, p
  end
  local flop = 2 * n ^ 3
  print(("n=%d threads=%d: ours %.3f ms (median %.3f), OpenBLAS %s %.3f ms (median %.3f), peak %.0f GFLOP/s (median %.0f)")
    :format(n, threads, 1e3 * ours, 1e3 * bench.median(med_ours), peers.corename(), 1e3 * theirs,
      1e3 * bench.median(med_theirs), peak / 1e9, bench.median(med_peak) / 1e9))
  return flop / ours / peak, theirs / ours
end

for _, n in ipairs {512, 1024, 2048} do
  local vs_peak, vs_openblas = gemm(n, 1, n == 2048 and 9 or 25)
  out:bar(("gemm.%d.1t.vs_peak"):format(n), vs_peak, ">=", n == 2048 and 0.90 or 0.94)
  out:bar(("gemm.%d.1t.vs_openblas"):format(n), vs_openblas, n == 1024 and ">=" or nil, 1.03)
end
for _, n in ipairs {512, 1024, 2048} do
  local vs_peak, vs_openblas = gemm(n, 2, n == 2048 and 9 or 25)
  out:bar(n == 1024 and "gemm.1024.2t.vs_peak2" or ("gemm.%d.2t.vs_peak2"):format(n), vs_peak, n == 1024 and ">=" or nil, 0.92)
  out:bar(("gemm.%d.2t.vs_openblas"):format(n), vs_openblas)
end

out:bar("gemm.peak_vs_ports", nw.peak_vs_ports(), ">=", 0.95)

local function conv1d()
  local n, taps = 16384, 32
  local a, w = nw.random({n}, "f32", {seed = 3}), nw.random({taps}, "f32", {seed = 4})
  local c, d = nw.zeros({n + taps - 1}, "f32"), nw.zeros({n + taps - 1}, "f32")
  local f = schedules.conv1d(n, taps, {lanes = schedules.host_tile().lanes}):build {threads = 1}
  f(a, w, c)
  peers.conv1d(n, taps, a:pointer(), w:pointer(), d:pointer(), 1)
  assert(nw.allclose(c, d, {rtol = 1e-4, atol = 1e-4}), "the results of our conv1d and of the C loop differ")
  local ours, theirs = math.huge, math.huge
  for _ = 1, 41 do
    ours = math.min(ours, f:time(a, w, c, {reps = 1, warmup = 0, min_seconds = 0.001}).min)
    theirs = math.min(theirs, peers.conv1d(n, taps, a:pointer(), w:pointer(), d:pointer(), 10))
  end
  print(("conv1d: ours %.2f us, C scatter loop %.2f us"):format(1e6 * ours, 1e6 * theirs))
  out:bar("gemm.conv1d.vs_naive_c", theirs / ours, ">=", 13)
end
conv1d()
out:close()
