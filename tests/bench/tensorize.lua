--- Measures a GEMM that calls libxsmm's microkernels (by tensorize) and our own kernel for the same product, in turn.
package.path = "tests/bench/?.lua;" .. package.path
local bench = require "_bench"
local nw = require "nestwright"
local schedules = require "_schedules"

local out = bench.open(arg[1] or "build/bench/tensorize.json")

local function tensorized(n, o)
  local C, A, B = schedules.matmul(n, n, n)
  local s = nw.schedule(C)
  s:cache_read(B, "global", {C}, {layout = function(k, j) return j // o.n, k, j % o.n end})
  s:tile("i", "j", o.m, o.n)
  s:split("k", o.k)
  s:reorder("i_o", "j_o", "k_o", "i_i", "j_i", "k_i")
  if o.pack then s:cache_read(A, "local", {C}, {at = "i_o"}) end
  s:decompose_reduction(C, "k_o")
  s:tensorize("i_i", nw.xsmm.gemm {m = o.m, n = o.n, k = o.k})
  return s
end

local function compare(n, o)
  local a, b = nw.random({n, n}, "f32", {seed = 1}), nw.random({n, n}, "f32", {seed = 2})
  local c, d = nw.zeros({n, n}, "f32"), nw.zeros({n, n}, "f32")
  local ours, theirs = schedules.gemm(n, 1):build {threads = 1}, tensorized(n, o):build {threads = 1}
  ours(a, b, c)
  theirs(a, b, d)
  assert(nw.allclose(c, d, {rtol = 1e-3, atol = 1e-3}), "the results of our GEMM and of the tensorized GEMM differ")
  local t_ours, t_theirs = math.huge, math.huge
  for _ = 1, 15 do
    t_ours = math.min(t_ours, ours:time(a, b, c, {reps = 1, warmup = 0}).min)
    t_theirs = math.min(t_theirs, theirs:time(a, b, d, {reps = 1, warmup = 0}).min)
  end
  print(("n=%d: ours %.3f ms, tensorized %dx%dx%d %.3f ms"):format(n, 1e3 * t_ours, o.m, o.n, o.k, 1e3 * t_theirs))
  out:bar(("tensorize.%d.xsmm_vs_ours"):format(n), t_ours / t_theirs)
end

if nw.xsmm.available() then
  compare(256, {m = 64, n = 32, k = 64})
  compare(512, {m = 64, n = 32, k = 128})
  compare(1024, {m = 64, n = 32, k = 256})
else
  print "libxsmm: skipped, this build does not include libxsmm"
end
out:close()
