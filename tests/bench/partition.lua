--- Loops whose rounds no tile divides: one kernel for every number of rows against kernels made for each, against OpenBLAS, and
--- against the pass of TVM rebuilt on this IR. Ratios are theirs / ours, of minima of rounds in which all run in turn; one thread.
package.cpath = "build/bench/?.so;" .. package.cpath
package.path = "tests/bench/?.lua;" .. package.path
local nw = require "nestwright"
local peers = require "peers"
local bench = require "_bench"
local partition = require "_partition"

local out = bench.open(arg[1] or "build/bench/partition.json")
local only = arg[2]
local ROWS = {1, 7, 16, 33, 64, 100, 127, 128, 200, 257, 511, 512}
local N, K = partition.N, partition.K

local function geometric_mean(list)
  local sum = 0
  for _, v in ipairs(list) do sum = sum + math.log(v) end
  return math.exp(sum / #list)
end

local function least(list) return math.min(table.unpack(list)) end

-- Minima over rounds in which each of these, functions that return seconds, runs in turn.
local function race(list, rounds)
  local best = {}
  for _ = 1, rounds do
    for n, f in ipairs(list) do best[n] = math.min(best[n] or math.huge, f()) end
  end
  return best
end

local function timed(f, ...)
  local args = {...}
  args[#args + 1] = {reps = 2, warmup = 1, min_seconds = 0}
  return function() return f:time(table.unpack(args)).min end
end

local b = nw.random({K, N}, "f32", {seed = 2})
local packed = partition.packed(b)

local function arrays(m)
  return nw.random({m, K}, "f32", {seed = 1}), nw.zeros({m, N // 16, 16}, "f32"), nw.zeros({m, N // 16, 16}, "f32")
end

local function openblas(m, a, d)
  return function() return peers.sgemm({m, N, K}, a:pointer(), b:pointer(), d:pointer(), 1) end
end

local auto = {loop = "i", kernels = nw.microkernels {schedule = partition.gemm(nw.size("M", {min = 0})), loop = "i",
  kernels = partition.gemm_kernels(), around = partition.gemm_around}, around = partition.gemm_around}
print(auto.kernels)

local function strategies_of(m, names)
  local s = partition.gemm(m)
  local o = {strategies = names, sizes = {M = ROWS}}
  for key, value in pairs(auto) do o[key] = value end
  return s:partition_auto(o), s
end

local parts = {}

-- One kernel for all M against the best of all strategies for each M alone, and against OpenBLAS.
function parts.dynamic()
  local list = strategies_of(nw.size("M", {min = 0}), {"sizes"})
  local f = list:build(1, {threads = 1})
  print(list)
  local vs_static, vs_openblas = {}, {}
  for n, m in ipairs(ROWS) do
    local a, c, d = arrays(m)
    local racers, names = {timed(f, a, packed, c), openblas(m, a, d)}, {}
    for _, row in ipairs(strategies_of(m)) do
      if not row.refused then
        local fixed = strategies_of(m, {row.strategy}):build(1, {threads = 1})
        racers[#racers + 1], names[#names + 1] = timed(fixed, a, packed, c), row.strategy
      end
    end
    local t = race(racers, 15)
    f(a, packed, c)
    openblas(m, a, d)()
    assert(nw.allclose(c, d, {rtol = 1e-3, atol = 1e-3}), "our GEMM and OpenBLAS disagree")
    local best = 3
    for i = 4, #t do if t[i] < t[best] then best = i end end
    vs_static[n], vs_openblas[n] = t[best] / t[1], t[2] / t[1]
    print(("M=%d: %.1f us, best of a fixed M %.1f us (%s), OpenBLAS %.1f us"):format(m, 1e6 * t[1], 1e6 * t[best],
      names[best - 2], 1e6 * t[2]))
  end
  out:bar("partition.dynamic_vs_static", geometric_mean(vs_static), ">=", 0.95)
  out:bar("partition.dynamic_vs_static_worst", least(vs_static), ">=", 0.85)
  print("OpenBLAS core: " .. peers.corename())
  out:bar("partition.dynamic_vs_openblas", geometric_mean(vs_openblas), ">=", 1.3)
end

for _, name in ipairs {"dynamic", "picker", "tvm", "awkward", "guards", "dispatch", "conv1d"} do
  if parts[name] and (not only or only == name) then parts[name]() end
end
out:close()
