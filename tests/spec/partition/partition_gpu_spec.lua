--- Tests the partition of loops on GPUs: ranked by the model, run on the simulated GPU, and what is refused.
local nw = require "nestwright"
local strategies = require "nestwright.partition.strategies"
local support = require "support"
local tiles = require "gpu_tiles"
local fails = support.fails

local N, K = 16, 8

local function product(M, target) return tiles.product(M, target or "gpu", N, K) end

local function kernels() return {tiles.kernel(8, 16, {2, 1}, 4), tiles.kernel(8, 16, {2, 1}), tiles.kernel(1, 16, {1, 1})} end

local function options(o)
  local out = {loop = "i", kernels = kernels(), strategies = {"guard", "cut"}, across = "fused", sizes = {M = {3, 8, 19}}}
  for key, value in pairs(o or {}) do out[key] = value end
  return out
end

-- Compares a kernel with the definition, for several numbers of rows.
local function check(f)
  for _, m in ipairs {1, 3, 7, 8, 9, 16, 19} do
    local a, b = nw.random({m, K}, "f32", {seed = m}), nw.random({K, N}, "f32", {seed = 1})
    local want = nw.interpret(product(m), {a, b})
    assert.is_true(nw.allclose(f(a, b), want[1] or want, {rtol = 1e-5}), m)
  end
end

describe("the partition of a loop on a GPU", function()
  it("is ranked by the model, with each kernel as the largest tile", function()
    local list = product(nw.size("M", {min = 1})):partition_auto(options())
    local seen, names = {}, 0
    for n, row in ipairs(list) do
      seen[row.strategy .. " " .. row.tile], names = true, names + 1
      for _, name in ipairs(row.same or {}) do seen[name], names = true, names + 1 end
      assert.is_nil(row.code_bytes)
      assert.is_true(row.expected > 0 and (n == 1 or row.figure >= list[n - 1].figure))
    end
    assert.equal(6, names)
    assert.is_true(seen["guard 8 shared"] and seen["cut 8 direct"] and seen["cut 1 direct"])
    assert.truthy(tostring(list):find "cut 8 shared +1 +%d")
  end)

  it("has each program once, in the same order in each run, and without empty columns", function()
    local function listed()
      local one = {tiles.kernel(1, 16, {1, 1})}
      return product(19):partition_auto {loop = "i", kernels = one, strategies = {"guard", "cut", "halves"}, across = "fused"}
    end
    local list = listed()
    assert.equal(1, #list)
    assert.same(listed()[1].same, list[1].same)
    assert.equal(2, #list[1].same)
    assert.matches("^ +strategy +versions +predicted\n 1 +guard 1", tostring(list))
    assert.matches("the same program: cut 1[^,]*, halves 1", tostring(list))
  end)

  it("takes a row by its name as printed, and says which row a strategy means", function()
    local s = product(19)
    local list = s:partition_auto(options {sizes = {}, strategies = {"cut"}})
    local name = list[2].strategy .. " " .. list[2].tile
    assert.same(list[2].versions, list:take(name))
    assert.same(list[1].versions, list:take "cut")
    local one = {tiles.kernel(1, 16, {1, 1})}
    local equal = product(19):partition_auto(options {sizes = {}, strategies = {"guard", "cut"}, kernels = one})
    assert.equal("guard", equal[1].strategy)
    assert.same(equal[1].versions, equal:take "cut")
    support.fails("which: there is no row 'cut 9'", "invalid", list.take, list, "cut 9")
  end)

  it("leaves the binding of the loop over tiles to across = 'fused'", function()
    local kernel = {rows = 8, schedule = function(s, piece)
      s:bind(piece.outer, "blockIdx.x")
      s:bind(piece.inner, "threadIdx.y")
    end}
    local list = product(19):partition_auto(options {sizes = {}, strategies = {"guard"}, kernels = {kernel}})
    assert.matches("i_o is already bound to blockIdx.x", list[1].refused, 1, true)
    assert.matches("leave the outermost loop of a kernel unbound", list[1].hint, 1, true)
  end)

  it("gives the results of the definition, in one grid or in several", function()
    for _, across in ipairs {"fused", "apart"} do
      local list = product(nw.size("M", {min = 1})):partition_auto(options {across = across, strategies = {"cut"}})
      check(list:build "cut")
    end
  end)

  it("chooses by the size of a call", function()
    local s = product(nw.size("M", {min = 1}))
    local chosen = s:partition_auto(options()):dispatch()
    check(s:build {versions = chosen.versions})
    assert.equal(#chosen.versions, #chosen.cases)
    assert.same({}, chosen.cases[#chosen.cases].facts)
  end)

  it("has main pieces without conditions, in which all threads of a warp work", function()
    local s = product(nw.size("M", {min = 1}))
    local wide = {tiles.kernel(8, 16, {2, 1}, 8), tiles.kernel(1, 16, {1, 1})}
    strategies.apply("test", s, s:loop "i", "cut", strategies.kernels("test", wide), nil, "apart")
    assert.equal(0, nw.partition.conditions(s, s:loops()[1]))
    local main = s:gpu_counts({sizes = {M = 19}, ptxas = false}).kernels[1]
    assert.equal(2, main.blocks)
    assert.equal(32 * main.statements, main.active)
  end)

  it("makes one launch of fused pieces", function()
    for across, launches in pairs {fused = 1, apart = 2} do
      local s = product(19)
      strategies.apply("test", s, s:loop "i", "cut", strategies.kernels("test", kernels()), nil, across)
      assert.equal(launches, #s:gpu_counts({ptxas = false}).kernels)
    end
  end)

  it("refuses what is for CPUs", function()
    local function refused(pattern, o)
      local s = product(19)
      fails(pattern, "invalid", s.partition_auto, s, options(o))
    end
    refused("cost = kernels: the times of a GPU are predicted", {cost = "kernels", sizes = {}})
    refused("objective = energy", {objective = "energy", sizes = {}})
    refused("code_limit = 100: the code of a GPU is not counted", {code_limit = 100, sizes = {}})
    refused("threads = 2: a GPU runs the whole grid", {threads = 2, sizes = {}})
    local list = product(19):partition_auto(options {strategies = {"pad", "cut"}, sizes = {}})
    assert.truthy(list[#list].refused:find "pad needs copies in global memory")
  end)
end)
