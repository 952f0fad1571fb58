--- Compares memory-bound kernels and stencils, scheduled only by primitives, with plain C on this machine. A ratio is the time of
--- the C program divided by the time of our kernel. The programs run in turn. Times of one thread are CPU times of the process. A
--- figure is computed from the minimum times, and the ratio of the medians is printed beside it. A schedule is timed only after its
--- result was checked.
package.cpath = "build/bench/?.so;" .. package.cpath
package.path = "tests/bench/?.lua;" .. package.path
local nw = require "nestwright"
local peers = require "peers"
local bench = require "_bench"
local schedules = require "_schedules"

local out = bench.open(arg[1] or "build/bench/kernels.json")
local only = arg[2]
local ROUNDS = 41
local LANES = schedules.host_tile().lanes

-- theirs(n) makes n calls in a row and returns the seconds of one call. ours(threads) returns a kernel that can be timed with
-- these arrays.
local function race(name, theirs, ours, arrays, comparison, bar)
  local one, two = ours(1), ours(2)
  local t, o, w = {}, {}, {}
  local call = {table.unpack(arrays)}
  call[#call + 1] = {reps = 1, warmup = 0}
  local calls = bench.calls(theirs)
  for round = 1, ROUNDS do
    theirs(1) -- a first call that is not counted, as in the timing of our kernel
    t[round] = theirs(calls)
    o[round] = one:time(table.unpack(call)).min
  end
  for round = 1, ROUNDS // 4 do w[round] = two:time(table.unpack(call)).min end
  local least, ours_least, two_least = math.min(table.unpack(t)), math.min(table.unpack(o)), math.min(table.unpack(w))
  print(("%s: ours %.1f us (median %.1f), C %.1f us (median %.1f), ratio of medians %.2f; two threads %.1f us (median %.1f)")
    :format(name, 1e6 * ours_least, 1e6 * bench.median(o), 1e6 * least, 1e6 * bench.median(t),
      bench.median(t) / bench.median(o), 1e6 * two_least, 1e6 * bench.median(w)))
  out:bar(name, least / ours_least, comparison, bar)
  out:bar(name:gsub("%.", ".2t."), least / two_least)
end

-- Compares the result of every build with `want`. This is the result of the C program, or of a simple schedule of the same
-- computation.
local function checked(make, arrays, result, want, tolerance, absolute)
  return function(threads)
    local f = make(threads):build {threads = threads}
    f(table.unpack(arrays))
    assert(nw.allclose(result, want, {rtol = tolerance, atol = absolute or tolerance}),
      "the results of our kernel and of the C program differ")
    return f
  end
end

local kernels = {}

function kernels.depthwise()
  local c, h, w = 256, 56, 56
  local A, K = nw.random({c, h, w}, "f32", {seed = 1}), nw.random({c, 3, 3}, "f32", {seed = 2})
  local ours, theirs = nw.zeros({c, h, w}, "f32"), nw.zeros({c, h, w}, "f32")
  local function peer(times) return peers.depthwise(c, h, w, A:pointer(), K:pointer(), theirs:pointer(), times) end
  peer(1)
  local make = function(threads) return schedules.depthwise(c, h, w, threads, {lanes = LANES}) end
  race("depthwise.vs_naive_c", peer, checked(make, {A, K, ours}, ours, theirs, 1e-5), {A, K, ours}, ">=", 10.5)
end

local function blur(dtype, bar)
  local h, w = 2048, 2048
  local A = nw.random({h + 2, w + 2}, dtype, {seed = 1, lo = 0, hi = dtype == "f32" and 1 or 1000})
  local ours, theirs, tmp = nw.zeros({h, w}, dtype), nw.zeros({h, w}, dtype), nw.zeros({h + 2, w}, dtype)
  local function peer(times) return peers["blur_" .. dtype](h, w, A:pointer(), tmp:pointer(), theirs:pointer(), times) end
  peer(1)
  local make = function(threads) return schedules.blur(h, w, dtype, threads) end
  race(("blur_%s.vs_gcc"):format(dtype), peer, checked(make, {A, ours}, ours, theirs, dtype == "f32" and 1e-5 or 0),
    {A, ours}, ">=", bar)
end

function kernels.blur_u16() blur("u16", 2.0) end
function kernels.blur_f32() blur("f32", 1.95) end

function kernels.elementwise()
  local n = 8000000
  local A, B = nw.random({n}, "f32", {seed = 1}), nw.random({n}, "f32", {seed = 2})
  local ours, want = nw.zeros({n}, "f32"), nw.zeros({n}, "f32")
  schedules.elementwise(n, 1, {plain = true}):build {threads = 1}(A, B, want)
  local function peer(times) return peers.triad(n, A:pointer(), B:pointer(), want:pointer(), times) end
  local right = checked(function(threads) return schedules.elementwise(n, threads) end, {A, B, ours}, ours, want, 0)
  race("elementwise.vs_triad", peer, right, {A, B, ours}, ">=", 1.33)
end

function kernels.conv1d()
  local n, taps = 16384, 32
  local A, W = nw.random({n}, "f32", {seed = 3}), nw.random({taps}, "f32", {seed = 4})
  local ours, theirs = nw.zeros({n + taps - 1}, "f32"), nw.zeros({n + taps - 1}, "f32")
  local function peer(times) return peers.conv1d(n, taps, A:pointer(), W:pointer(), theirs:pointer(), 10*times) end
  peer(1)
  local make = function(threads) return schedules.conv1d(n, taps, {threads = threads, lanes = LANES}) end
  race("conv1d.vs_naive_c", peer, checked(make, {A, W, ours}, ours, theirs, 1e-4), {A, W, ours}, ">=", 13.5)
end

function kernels.transpose()
  local n = 4096
  local A = nw.random({n, n}, "f32", {seed = 1})
  local ours, want, copy = nw.zeros({n, n}, "f32"), nw.zeros({n, n}, "f32"), nw.zeros({n, n}, "f32")
  schedules.transpose(n, 1):build {threads = 1}(A, want)
  local function peer(times) return peers.copy(4 * n * n, A:pointer(), copy:pointer(), times) end
  local right = checked(function(threads) return schedules.turned(n, threads) end, {A, ours}, ours, want, 0)
  race("transpose.vs_memcpy", peer, right, {A, ours}, ">=", 0.60)
end

-- Times two of our kernels in turn, with one thread. The figure is the time of `other` divided by the time of `ours`. The arrays
-- are those of both kernels; the last of them are the results.
local function compare(name, ours, other, arrays, others, comparison, bar)
  local f, g = ours:build {threads = 1}, other:build {threads = 1}
  local function timed(kernel, list)
    local call = {table.unpack(list)}
    call[#call + 1] = {reps = 1, warmup = 1}
    return function() return kernel:time(table.unpack(call)).min end
  end
  f(table.unpack(arrays))
  g(table.unpack(others))
  local best = bench.race({timed(f, arrays), timed(g, others)}, 4 * ROUNDS)
  print(("%s: %.1f us, the other %.1f us"):format(name, 1e6 * best[1], 1e6 * best[2]))
  out:bar(name, best[2] / best[1], comparison, bar)
end

local function equal(a, b) assert(nw.allclose(a, b, {rtol = 0, atol = 0}), "the results of our kernels differ") end

function kernels.unrolled()
  local n, taps = 40960, 31
  local X, F = nw.random({n + taps - 1}, "f32", {seed = 1}), nw.random({taps}, "f32", {seed = 2})
  local y, z = nw.zeros({n}, "f32"), nw.zeros({n}, "f32")
  compare("unrolled.vs_loop", schedules.taps(n, taps, {unroll = true}), schedules.taps(n, taps), {X, F, y}, {X, F, z}, ">=", 1.0)
  equal(y, z)
end

function kernels.predicate()
  local m, n, k, rows = 37, 1000, 513, nw.machine().vector_bytes >= 64 and 13 or 5
  local A, B = nw.random({m, k}, "f32", {seed = 1}), nw.random({k, n}, "f32", {seed = 2})
  local c, d = nw.zeros({m, n}, "f32"), nw.zeros({m, n}, "f32")
  local function tile(tail) return schedules.tile(m, n, k, rows, nw.machine().vector_bytes // 2, tail) end
  compare("predicate.vs_cut", tile "predicate", tile "cut", {A, B, c}, {A, B, d}, ">=", 0.97)
  equal(c, d)
end

function kernels.maxrow()
  local m, n = 1000, 784
  local S, most, sum = nw.random({m, n}, "f32", {seed = 1}), nw.zeros({m}, "f32"), nw.zeros({m}, "f32")
  compare("maxrow.vs_sumrow", schedules.rows("max", m, n), schedules.rows("sum", m, n), {S, most}, {S, sum}, ">=", 0.8)
  local want = nw.zeros({m}, "f32")
  local k = nw.reduce_axis(n, "k")
  local P = nw.placeholder({m, n}, "f32", "P")
  nw.schedule(nw.compute({m}, function(i) return nw.max(P(i, k), k) end, "R")):build()(S, want)
  equal(most, want)
end

-- Returns the softmax of each row of X, computed with doubles.
local function exact_softmax(X, m, n)
  local exact = nw.zeros({m, n}, "f64")
  for i = 0, m - 1 do
    local row, sum = {}, 0
    for j = 0, n - 1 do row[j] = math.exp(X:get(i, j)) end -- no overflow, because the elements are less than 1
    for j = 0, n - 1 do sum = sum + row[j] end
    for j = 0, n - 1 do exact:set(i, j, row[j] / sum) end
  end
  return exact
end

-- Returns the largest error of the elements of `got`, in ulp of the exact value.
local function worst_ulp(got, exact, m, n)
  local worst = 0
  for i = 0, m - 1 do
    for j = 0, n - 1 do
      local want = exact:get(i, j)
      worst = math.max(worst, math.abs(got:get(i, j) - want) / 2.0 ^ (math.floor(math.log(want, 2)) - 23))
    end
  end
  return worst
end

-- The two programs are compared with exact values, and not with each other: the exp of libmvec for 16 lanes, for 8 lanes and that
-- of libm differ by up to 4 ulp, and gcc and our kernel use them for different elements at the end of a row.
function kernels.softmax()
  local m, n = 1000, 777
  local X, ours, theirs = nw.random({m, n}, "f32", {seed = 1}), nw.zeros({m, n}, "f32"), nw.zeros({m, n}, "f32")
  local function peer(times) return peers.softmax(m, n, X:pointer(), theirs:pointer(), times) end
  peer(1)
  local make = function(threads) return schedules.softmax(m, n, {threads = threads}) end
  race("softmax.vs_gcc", peer, checked(make, {X, ours}, ours, theirs, 2 ^ -21, 0), {X, ours}, ">=", 1.0)
  local exact = exact_softmax(X, m, n)
  local mine, gcc = worst_ulp(ours, exact, m, n), worst_ulp(theirs, exact, m, n)
  print(("softmax: the largest error is %.2f ulp, that of gcc %.2f ulp"):format(mine, gcc))
  out:bar("softmax.ulp_beyond_gcc", math.max(mine - gcc, 0), "<=", 0.5)
end

function kernels.export_c() require "_export_c"(out) end

for _, name in ipairs {"depthwise", "blur_u16", "blur_f32", "elementwise", "conv1d", "transpose", "export_c", "unrolled",
  "predicate", "maxrow", "softmax"} do
  if not only or name == only then kernels[name]() end
end
out:close()
