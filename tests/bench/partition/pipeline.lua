--- Measures prefetches at the distance (in iterations) that nw.partition.pipelined chooses. Compares them with other distances, and
--- with no prefetches. The figures have no bars.
local nw = require "nestwright"
local bench = require "_bench"

local ROWS, LANES = 4, 16
local AHEAD = {1, 2, 4, 8, 16, 32, 64, 128}
-- {memory level that holds B, number of columns of B, number of rows of B}
local SHAPES = {{"L2", 768, 256}, {"L3", 4096, 1024}, {"memory", 4096, 4096}}

-- Computes a tile of a few rows. Each iteration of k reads four lines of one row of B. Consecutive rows are several pages apart.
local function product(N, K)
  local A, B = nw.placeholder({ROWS, K}, "f32", "A"), nw.placeholder({K, N}, "f32", "B")
  local k = nw.reduce_axis(K, "k")
  local s = nw.schedule(nw.compute({ROWS, N}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C"))
  s:split("j", 4 * LANES)
  s:reorder("j_o", "k", "i", "j_i")
  local _, lanes = s:split("j_i", LANES)
  s:vectorize(lanes)
  s:unroll "j_i_o"
  s:unroll "i"
  return s
end

local function compare(out, where, N, K)
  local chosen = product(N, K)
  local report = nw.partition.pipelined(chosen, "k", {tensor = "B"})
  print(report)
  local list = {product(N, K), chosen}
  for n, ahead in ipairs(AHEAD) do
    list[n + 2] = product(N, K)
    list[n + 2]:prefetch("B", "k", ahead)
  end
  local a, b, c = nw.random({ROWS, K}, "f32", {seed = 1}), nw.random({K, N}, "f32", {seed = 2}), nw.zeros({ROWS, N}, "f32")
  local racers = {}
  for n, s in ipairs(list) do racers[n] = bench.timed(s:build {threads = 1}, a, b, c) end
  local t, words, best = bench.race(racers, 15), {}, math.huge
  for n, ahead in ipairs(AHEAD) do words[n], best = ("%d: %.1f"):format(ahead, 1e6 * t[n + 2]), math.min(best, t[n + 2]) end
  print(("B in %s: %.1f us without prefetch; %.1f us with the chosen distance of %d iterations; other distances: %s"):format(where,
    1e6 * t[1], 1e6 * t[2], report.ahead, table.concat(words, ", ")))
  out:bar(("partition.pipelined_%s_gain"):format(where), t[1] / t[2])
  out:bar(("partition.pipelined_%s_vs_best"):format(where), math.min(best, t[1]) / t[2])
end

return function(out)
  return function() for _, shape in ipairs(SHAPES) do compare(out, table.unpack(shape)) end end
end
