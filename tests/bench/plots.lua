--- How quick walking and simulating is. Figures of pictures come with the pictures.
package.path = arg[0]:match "^(.*)/[^/]*$" .. "/?.lua;" .. package.path
local nw = require "nestwright"
local bench = require "_bench"

local N, ROUNDS = 256, 7

local function gemm(n)
  local A, B = nw.placeholder({n, n}, "f32", "A"), nw.placeholder({n, n}, "f32", "B")
  local k = nw.reduce_axis(n, "k")
  return nw.schedule(nw.compute({n, n}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C"))
end

-- Millions of accesses a second, walked and simulated together: one core, one level, every access alone.
local function rate(s, accesses)
  local best = math.huge
  for _ = 1, ROUNDS do
    local start = os.clock()
    local m = nw.misses(s, {levels = {{bytes = 32768, ways = 8}}, conflicts = false})
    best = math.min(best, os.clock() - start)
    assert(m.total[1].asked == accesses)
  end
  return accesses / best / 1e6
end

local out = bench.open(arg[1] or "build/bench/plots.json")
out:bar("trace.million_per_s", rate(gemm(N), N * N * (1 + 4 * N)), ">=", 100)
out:close()
