--- Measures the time to list accesses, to simulate them, and to draw plots.
package.path = arg[0]:match "^(.*)/[^/]*$" .. "/?.lua;" .. package.path
local nw = require "nestwright"
local bench = require "_bench"
local cachegrind = require "_cachegrind"

local N, ROUNDS = 256, 7

local function gemm(n)
  local A, B = nw.placeholder({n, n}, "f32", "A"), nw.placeholder({n, n}, "f32", "B")
  local k = nw.reduce_axis(n, "k")
  return nw.schedule(nw.compute({n, n}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C"))
end

-- Returns how many million accesses per second are listed and simulated, on one core, with one level of cache. Each access is
-- simulated separately.
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

local function now()
  local pipe = io.popen "date +%s%N"
  local ns = pipe:read "n"
  pipe:close()
  return ns / 1e9
end

-- Draws a schedule into a file. Returns the seconds that this takes, including gnuplot, and the size of the file in kilobytes.
local function picture(n, path)
  local s, best = gemm(n), math.huge
  for _ = 1, 3 do
    local start = now()
    nw.spacetime(s, {levels = {{bytes = 32768, ways = 8}}}):save(path)
    best = math.min(best, now() - start)
  end
  local file = assert(io.open(path, "rb"))
  local size = file:seek "end"
  file:close()
  os.remove(path)
  return best, size / 1000
end

local out = bench.open(arg[1] or "build/bench/plots.json")
local path = os.tmpname()
local seconds, kb = picture(29, path .. ".svg") -- 98,397 accesses
out:bar("spacetime.svg_1e5_s", seconds, "<=", 1.5)
out:bar("spacetime.svg_1e5_kb", kb, "<=", 500)
out:bar("spacetime.raster_1e8_s", (picture(292, path .. ".svg")), "<=", 3) -- 99,673,616 accesses
os.remove(path)
if cachegrind.installed() then
  local worst = 0
  for _, kernel in ipairs(cachegrind.kernels) do
    local difference, counts = cachegrind.compare(kernel[2]())
    print(("%s: misses of the simulator and of cachegrind: L1 %d, %d; L2 %d, %d"):format(kernel[1], counts[1][1], counts[1][2],
      counts[2][1], counts[2][2]))
    worst = math.max(worst, difference)
  end
  out:bar("simulator.vs_cachegrind", worst, "<=", 0.001)
else
  print "simulator.vs_cachegrind: skipped, valgrind or gcc is not installed"
end
out:bar("trace.million_per_s", rate(gemm(N), N * N * (1 + 4 * N)), ">=", 100)
out:close()
