--- Partitions a product of matrices with any number of rows for a GPU, by the model. Compares one kernel for all numbers of rows
--- with the best one for each, and counts the warps of main pieces in which some threads are idle.
local bench = require "_bench"
local nw = require "nestwright"
local strategies = require "nestwright.partition.strategies"
local tiles = require "gpu_tiles"

local ROWS = {1, 7, 16, 33, 64, 100, 127, 128, 200, 257, 511, 512} -- as on the CPU
local STRATEGIES = {"guard", "cut", "halves"}
local TARGET = "a100"

local function kernels()
  return {tiles.kernel(64, 64, {8, 4}, 16), tiles.kernel(16, 64, {2, 4}, 16), tiles.kernel(1, 64, {1, 1})}
end

local function choices(s, rows)
  return s:partition_auto {loop = "i", kernels = kernels(), strategies = STRATEGIES, across = "fused", sizes = rows and {M = rows}}
end

-- Returns the predicted seconds of the version that a call with m rows runs.
local function dispatched(s, chosen, m)
  s:checkout(strategies.case_for(chosen.cases, {M = m}).version)
  return s:cost {sizes = {M = m}}.seconds
end

local function dynamic_against_static(out)
  local s, ratios = tiles.product(nw.size("M", {min = 1}), TARGET), {}
  local chosen = choices(s, ROWS):dispatch()
  print(chosen)
  for n, m in ipairs(ROWS) do
    local best, seconds = choices(tiles.product(m, TARGET))[1], dispatched(s, chosen, m)
    ratios[n] = best.expected / seconds
    print(("M=%d: one kernel for all M %.1f us, best kernel for this M only %.1f us (%s %s)"):format(m, 1e6 * seconds,
      1e6 * best.expected, best.strategy, best.tile))
  end
  out:bar("gpu.partition_dynamic_vs_static", bench.geometric_mean(ratios), ">=", 0.95)
end

-- Returns the number of statements of warps in which some threads of the main piece are idle, and the number of its conditions.
local function idle_in_main(name, m)
  local s = tiles.product(nw.size("M", {min = 1}), TARGET)
  local cases = strategies.apply("bench", s, s:loop "i", name, strategies.kernels("bench", kernels()), nil, "apart")
  s:checkout(cases[1].version)
  local main = s:gpu_counts({sizes = {M = m}, ptxas = false}).kernels[1]
  return 32 * main.statements - main.active, nw.partition.conditions(s, s:loops()[1])
end

return function(out)
  dynamic_against_static(out)
  local idle, conditions = 0, 0
  for _, name in ipairs {"cut", "halves"} do
    for _, m in ipairs {64, 100, 257} do
      local n, conditional = idle_in_main(name, m)
      idle, conditions = idle + n, conditions + conditional
    end
  end
  out:bar("gpu.partition_main_divergent_warps", idle, "<=", 0)
  out:bar("gpu.partition_main_guards", conditions, "<=", 0)
end
