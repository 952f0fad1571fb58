--- Compares three ways to run pieces in two threads: each piece in a parallel loop of its own, all pieces in one parallel loop,
--- and all pieces inside common parallel loops. The figures have no bars.
local nw = require "nestwright"
local bench = require "_bench"
local partition = require "_partition"
local strategies = require "nestwright.partition.strategies"

local ROWS, THREADS = {9, 15, 33, 63, 100, 127, 257}, 2
local WIDTH = {[8] = 2, [4] = 4, [2] = 8, [1] = 16} -- maps the rows of a tile to the number of vectors in a row

-- {name, way in which threads run the pieces, whether the pieces share their outer loops, number of threads}
local WAYS = {
  {"one thread", nil, false, 1},
  {"one thread, shared", nil, true, 1},
  {"apart", "apart", false, THREADS},
  {"fused", "fused", false, THREADS},
  {"shared", "fused", true, THREADS},
}

-- Returns a kernel whose loop over the rows is outermost. A short piece then has few iterations to distribute among threads.
local function rows_outside(rows)
  local tile = partition.gemm_kernel(rows, WIDTH[rows])
  return {rows = rows, inside = tile.inside, schedule = function(s, p)
    local j_o, j_i = s:split(p:loop "j", WIDTH[rows])
    s:reorder(p.outer, j_o, p.inner, j_i)
    tile.inside(s, p)
  end}
end

local function columns_outside(rows) return partition.gemm_kernel(rows, WIDTH[rows]) end

local function built(way, kernel_of, N, K)
  local s, kernels = partition.gemm(nw.size("M", {min = 0}), N, K), {}
  for rows in pairs(WIDTH) do kernels[#kernels + 1] = kernel_of(rows) end
  local cases = strategies.apply("bench", s, s:loop "i", "halves", strategies.kernels("bench", kernels),
    way[3] and partition.gemm_around or nil, way[2])
  return s:build {threads = way[4], versions = strategies.versions(cases)}
end

local function times_of(kernels, m, N, K, packed)
  local a, racers, first = nw.random({m, K}, "f32", {seed = 1}), {}, nil
  for n, f in ipairs(kernels) do
    local c = nw.zeros({m, N // 16, 16}, "f32")
    racers[n] = bench.timed(f, a, packed, c)
    f(a, packed, c)
    first = first or c
    assert(nw.allclose(c, first, {rtol = 1e-4, atol = 1e-4}), "two ways to share pieces among threads give different results")
  end
  return bench.race(racers, 25)
end

-- Returns the speedup of the second way over the first, as the geometric mean over all numbers of rows.
local function ratio(times, first, second)
  local list = {}
  for n, t in ipairs(times) do list[n] = t[first] / t[second] end
  return bench.geometric_mean(list)
end

local function compare(out, name, kernel_of, N, K, packed)
  local kernels, times = {}, {}
  for n, way in ipairs(WAYS) do kernels[n] = built(way, kernel_of, N, K) end
  for k, m in ipairs(ROWS) do
    local words = {}
    times[k] = times_of(kernels, m, N, K, packed)
    for n, way in ipairs(WAYS) do words[n] = ("%s %.1f us"):format(way[1], 1e6 * times[k][n]) end
    print(("%s, %d by %d by %d: %s"):format(name, m, N, K, table.concat(words, ", ")))
  end
  local prefix = "partition.threads_" .. name
  out:bar(prefix .. "_fused_vs_apart", ratio(times, 3, 4))
  out:bar(prefix .. "_shared_vs_apart", ratio(times, 3, 5))
  out:bar(prefix .. "_fused_vs_one", ratio(times, 1, 4))
  out:bar(prefix .. "_shared_vs_one", ratio(times, 2, 5))
  out:bar("partition.shared_vs_apart_one_" .. name, ratio(times, 1, 2))
end

return function(out, packed)
  return function()
    compare(out, "rows", rows_outside, 256, 256, nw.random({16, 256, 16}, "f32", {seed = 2}))
    compare(out, "columns", columns_outside, partition.N, partition.K, packed)
  end
end
