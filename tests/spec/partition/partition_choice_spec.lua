--- Tests the choice among strategies: by a cost, for an objective, with a limit on code size, and over several sizes.
local nw = require "nestwright"
local decision = require "nestwright.partition.decision"
local distribution = require "nestwright.partition.distribution"
local features = require "nestwright.learn.features"
local rng = require "nestwright.measure.rng"
local sampler = require "nestwright.learn.sampler"
local support = require "support"
local workloads = require "nestwright.measure.workloads"

local K = 5

local function product(M, N) return support.product(M, N, K) end

local function kernel(rows)
  return {rows = rows, schedule = function(s, p)
    s:reorder(p.outer, p:loop "k", p.inner, p:loop "j")
    s:vectorize(p:loop "j")
    s:unroll(p.inner)
  end}
end

-- Returns a tile with this number of rows. The computation may have any number of columns.
local function tall(rows)
  return {rows = rows, schedule = function(s, p) s:unroll(p.inner) end}
end

-- A machine on which integer operations, and therefore address computations, need little time but much energy.
local HUNGRY = {name = "hungry", extends = "zen5", energy = {static_watts = 0, instruction = 0, int = {1e6, 1e6, 1e6, 1e6}}} -- pJ

local function auto(o)
  local s = product(nw.size("M", {min = 0}), 8)
  local all = {loop = "i", kernels = {kernel(4), kernel(2), kernel(1)}, sizes = {M = {1, 7, 8}}, cost = "model", machine = HUNGRY}
  for key, value in pairs(o or {}) do all[key] = value end
  return s:partition_auto(all), s
end

local function first(objective, ...) return auto({objective = objective, strategies = {...}})[1].strategy end

describe("an objective", function()
  it("of cycles ranks by time", function()
    assert.equal("cut", first("cycles", "guard", "cut"))
    assert.equal("residues", first("cycles", "pad", "residues"))
    assert.equal("sizes", first("cycles", "cut", "sizes"))
  end)

  it("of energy ranks by joules, which may be another order", function()
    assert.equal("guard", first("energy", "guard", "cut"))
    assert.equal("pad", first("energy", "pad", "residues"))
  end)

  it("of energy times time may differ from both other orders", function()
    assert.equal("guard", first("edp", "guard", "cut")) -- cut is first by cycles
    assert.equal("residues", first("edp", "pad", "residues")) -- pad is first by energy
  end)

  it("of size ranks by code size", function() assert.equal("cut", first("size", "cut", "sizes")) end)
end)

describe("a limit on code size", function()
  it("ranks faster strategies with more code last", function()
    local free = auto {strategies = {"cut", "sizes"}}
    assert.equal("sizes", free[1].strategy)
    assert.is_true(free[1].fits and free[2].fits and free[1].code_bytes > free[2].code_bytes)
    local limited = auto {strategies = {"cut", "sizes"}, code_limit = free[2].code_bytes}
    assert.equal("cut", limited[1].strategy)
    assert.is_true(limited[1].fits and not limited[2].fits)
    assert.truthy(tostring(limited):find("more code than code_limit", 1, true))
  end)
end)

-- Trains a model on audits with made-up times. Each doubling of the number of lanes doubles the time.
local function trained(objective)
  local lanes
  for n, name in ipairs(features.names()) do if name == "lanes a store" then lanes = n end end
  local function audit(name, sizes, seed)
    local from, points = sampler.new({workloads.make("test", name, table.unpack(sizes))}, seed), {}
    for n = 1, 24 do
      local s = from:next()
      local c = s:cost()
      points[n] = {schedule = s, cost = c, predicted = c.seconds, trace = s:trace(), features = features.of(s, c)}
      points[n].measured = c.seconds * 2.0 ^ points[n].features[lanes]
    end
    return {kernel = name, points = points, measured_on = "here"}
  end
  return nw.cost.train {audit("gemm", {12, 16, 20}, 1), audit("blur", {12, 16}, 2), rounds = 20, held_out = false,
    objective = objective}
end

describe("a learned cost", function()
  it("is the score of a trained model", function()
    local ok, model = pcall(trained, "times")
    if not ok then
      assert.truthy(model.message:find "XGBoost")
      pending "needs XGBoost"
      return
    end
    local list, s = auto {cost = "learned", model = model, machine = "zen5", strategies = {"guard", "cut", "halves"}}
    for n, row in ipairs(list) do
      assert.is_true(row.scored and row.figure == row.expected)
      if n > 1 then assert.is_true(list[n - 1].figure <= row.figure) end
      list:take(row.strategy)
      for i, m in ipairs {1, 7, 8} do
        local score = model:predict(s, {sizes = {M = m}, machine = "zen5"})
        assert.near(math.exp(-score), row.predicted[i], 1e-9 * row.predicted[i])
      end
    end
    local plain = auto {machine = "zen5", strategies = {"guard", "cut", "halves"}}
    assert.are_not.equal(plain[1].expected, list[1].expected)
  end)
end)

describe("sizes", function()
  local M, N = nw.size("M", {min = 0}), nw.size("N", {min = 0})
  local s = product(M, N)

  it("that vary are tried in all combinations", function()
    local list, varied = distribution.of("test", s, {M = {1, 7}, N = {8, 9, 10}, weights = {M = {1, 3}}})
    assert.equal(6, #list)
    assert.same({"M", "N"}, varied)
    local sum = 0
    for _, shape in ipairs(list) do
      assert.equal(shape.values.M == 7 and 3 or 1, shape.weight)
      sum = sum + shape.values.M * shape.values.N
    end
    assert.equal(8 * 27, sum)
  end)

  it("may be a list of shapes, with weights", function()
    local list, varied = distribution.of("test", s, {{M = 1, N = 8}, {M = 7, N = 8}, weights = {3, 1}})
    assert.same({"M"}, varied)
    assert.equal(3, list[1].weight)
    assert.near((3 * 10 + 20) / 4, distribution.mean(list, {10, 20}), 1e-12)
  end)

  it("that are not valid are refused", function()
    local function fails(pattern, given) support.fails(pattern, nil, function() distribution.of("test", s, given) end) end
    fails("the size N has no values", {M = 1})
    fails("the size M has no values", {{N = 3}})
    fails("expected a whole number", {M = {1.5}, N = 1})
    fails("0 shapes", {M = {}, N = {}})
    fails("65 shapes", {M = {1, 2, 3, 4, 5}, N = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}})
    fails("weights%[1%] is not a number", {M = {1, 2}, N = 1, weights = {-1}})
    fails("none is above 0", {M = {1, 2}, N = 1, weights = {0, 0}})
    fails("sizes%[1%]", {3})
  end)
end)

describe("a decision tree", function()
  -- Returns the cost of the best tree, by trying all trees.
  local function brute(shapes, ways)
    local best = math.huge
    for _, way in ipairs(ways) do
      local sum = way.price
      for _, shape in ipairs(shapes) do sum = sum + shape.weight * way.figures[shape.n] end
      best = math.min(best, sum)
    end
    for _, name in ipairs {"M", "N"} do
      for _, at in ipairs(shapes) do
        local below, others = {}, {}
        for _, shape in ipairs(shapes) do
          local list = shape.values[name] < at.values[name] and below or others
          list[#list + 1] = shape
        end
        if #below > 0 then best = math.min(best, brute(below, ways) + brute(others, ways)) end
      end
    end
    return best
  end

  it("has the least cost of all trees", function()
    local r = rng.new(5)
    for _ = 1, 40 do
      local shapes, ways = {}, {}
      for n = 1, 5 do shapes[n] = {n = n, values = {M = r:int(1, 4), N = r:int(1, 4)}, weight = r:int(0, 3)} end
      for w = 1, 3 do
        ways[w] = {price = r:int(0, 3), figures = {}}
        for n = 1, 5 do ways[w].figures[n] = r:int(1, 20) end
      end
      local tree = decision.tree({"M", "N"}, shapes, ways)
      assert.equal(brute(shapes, ways), tree.cost)
      local sum = 0
      for _, leaf in ipairs(decision.leaves(tree)) do sum = sum + ways[leaf.way].price end
      for n, shape in ipairs(shapes) do sum = sum + shape.weight * ways[decision.way(tree, shape.values)].figures[n] end
      assert.equal(tree.cost, sum)
    end
  end)

  it("has a comparison only if it saves more than it costs", function()
    local shapes = {{values = {M = 1}, weight = 1}, {values = {M = 9}, weight = 1}}
    local function tree(price)
      return decision.tree({"M"}, shapes, {{price = price, figures = {1, 5}}, {price = price, figures = {4, 2}}})
    end
    assert.equal(2, #decision.leaves(tree(2.5)))
    assert.equal(1, #decision.leaves(tree(3.5)))
  end)
end)

-- A made-up model whose scores depend on the shape. If there are few rows and they are long, versions with a tail loop have the
-- better score. For all other shapes, versions without a tail loop have the better score.
local by_shape = {predict = function(_, s, o)
  local wants = o.sizes.M < 8 and o.sizes.N >= 16
  local has_rest = false
  for _, loop in ipairs(s:loops()) do has_rest = has_rest or loop.name:find("%.tail") ~= nil end
  return has_rest == wants and 5 or 0
end}

describe("dispatch over two sizes", function()
  local reference = product(nw.size("M", {min = 0}), nw.size("N", {min = 0})):build {threads = 1}

  local function ranked(o)
    local s = product(nw.size("M", {min = 0}), nw.size("N", {min = 0}))
    local all = {loop = "i", kernels = {tall(4), tall(2), tall(1)}, sizes = {M = {1, 7, 8, 20}, N = {3, 16, 40}}, cost = "learned",
      model = by_shape, strategies = {"guard", "halves"}}
    for key, value in pairs(o or {}) do all[key] = value end
    return s:partition_auto(all), s
  end

  local function agrees(f)
    for m = 0, 13 do
      for _, n in ipairs {0, 1, 15, 16, 17, 41} do
        local a, b = nw.random({m, K}, "f32", {seed = m + 1}), nw.random({K, n}, "f32", {seed = n + 2})
        assert.is_true(nw.allclose(f(a, b), reference(a, b), {rtol = 1e-5, atol = 1e-6}), ("M = %d, N = %d"):format(m, n))
      end
    end
  end

  it("makes a tree over both sizes, and gives right results for every shape", function()
    local list, s = ranked()
    local d = list:dispatch()
    assert.equal("M < 8:\n  N < 16:\n    guard\n  otherwise:\n    halves\notherwise:\n  guard", (tostring(d):gsub("%s+$", "")))
    local f = s:build {threads = 1, versions = d.versions}
    agrees(f)
    local text = tostring(f:show "versions")
    assert.truthy(text:find("M < 8", 1, true) and text:find("N < 16", 1, true), text)
    assert.equal(0, s:version())
  end)

  it("keeps its code within the limit", function()
    local list, s = ranked()
    local both = s:build({threads = 1, versions = list:dispatch().versions}).code_bytes
    local least = math.min(list[1].code_bytes, list[2].code_bytes)
    local limited, t = ranked {code_limit = math.max(list[1].code_bytes, list[2].code_bytes)}
    assert.is_true(both > limited[1].code_bytes and both > limited[2].code_bytes)
    local d = limited:dispatch()
    assert.equal(1, #d.ranges)
    assert.is_true(t:build({threads = 1, versions = d.versions}).code_bytes <= math.max(list[1].code_bytes, list[2].code_bytes))
    support.fails("no strategy has at most", "limit", function() (ranked {code_limit = least - 1}):dispatch() end)
  end)

  it("uses the objective", function()
    local size = ranked {objective = "size"}
    local d = size:dispatch()
    assert.equal(1, #d.ranges)
    assert.equal(size[1].strategy, d.ranges[1].row.strategy)
    for _, objective in ipairs {"energy", "edp"} do
      local list = ranked {objective = objective, cost = "model", machine = HUNGRY}
      local tree = list:dispatch().tree
      local best, weights = math.huge, 12
      for _, row in ipairs(list) do
        local sum = 0
        for n = 1, weights do sum = sum + row.energies[n] * (objective == "edp" and row.predicted[n] or 1) end
        best = math.min(best, 1.005 * sum)
      end
      assert.is_true(tree.cost <= best * (1 + 1e-9) and tree.cost > 0.2 * best)
    end
  end)

  it("has ranges of one size if the other size does not vary", function()
    local list, s = ranked {sizes = {M = {1, 7, 8, 20}, N = 16}}
    local d = list:dispatch()
    assert.equal(2, #d.ranges)
    assert.equal(8, d.ranges[1].below)
    assert.is_nil(d.ranges[2].below)
    agrees(s:build {threads = 1, versions = d.versions})
  end)

  it("requires a size that varies", function()
    support.fails("only one size", "invalid", function() (ranked {sizes = {M = 3, N = 16}}):dispatch() end)
  end)
end)
