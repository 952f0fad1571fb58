--- Tests pieces that run in threads: fused into one loop, each in a loop of its own, or inside common loops. The results are
--- compared with the definition for every size.
local nw = require "nestwright"
local strategies = require "nestwright.partition.strategies"
local support = require "support"

local K, N = 5, 8

local function product(M) return support.product(M, N, K) end

local function finish(s, p, j)
  s:reorder(p.outer, p:loop "k", p.inner, p:loop(j))
  s:vectorize(p:loop(j))
  s:unroll(p.inner)
end

local function kernels(...)
  local list = {}
  for n, rows in ipairs {...} do
    list[n] = {rows = rows, schedule = function(s, p) finish(s, p, "j") end, inside = function(s, p) finish(s, p, "j_i") end}
  end
  return strategies.kernels("test", list)
end

local around = support.columns_outside

local reference = product(nw.size("M", {min = 0})):build {threads = 1}

local function agrees(f, m)
  local a, b = nw.random({m, K}, "f32", {seed = m + 1}), nw.random({K, N}, "f32", {seed = 2})
  assert.is_true(nw.allclose(f(a, b), reference(a, b), {rtol = 1e-5, atol = 1e-6}), ("M = %d"):format(m))
end

local function halved(how, shared)
  local s = product(nw.size("M", {min = 0}))
  return s, strategies.apply("test", s, s:loop "i", "halves", kernels(4, 2, 1), shared and around or nil, how)
end

local function parallel_loops(s) return select(2, tostring(s):gsub("parallel ", "")) end

describe("pieces in threads", function()
  for _, how in ipairs {"fused", "apart"} do
    for _, name in ipairs {"guard", "cut", "halves", "residues", "sizes"} do
      for _, shared in ipairs {false, true} do
        it(("%s, %s%s: right results for every number of rows"):format(name, how, shared and ", in common loops" or ""), function()
          local s = product(nw.size("M", {min = 0}))
          local cases = strategies.apply("test", s, s:loop "i", name, kernels(4, 3, 2, 1), shared and around or nil, how)
          local f = s:build {threads = 2, versions = strategies.versions(cases)}
          for m = 0, 13 do agrees(f, m) end
        end)
      end
    end
  end

  it("are one loop with dynamic scheduling, or separate loops", function()
    local fused = halved "fused"
    assert.equal(1, parallel_loops(fused))
    assert.truthy(tostring(fused):find("schedule = \"dynamic\"", 1, true), tostring(fused))
    assert.equal(3, parallel_loops((halved "apart")))
  end)

  it("that share their inputs are inside a common parallel loop", function()
    for _, how in ipairs {"fused", "apart"} do
      local s = halved(how, true)
      assert.equal(1, parallel_loops(s))
      assert.truthy(tostring(s):find("parallel for j_o in 0..2", 1, true), tostring(s))
    end
  end)

  it("need one condition each in a fused loop, and none in separate loops", function()
    local apart, fused = halved "apart", halved "fused"
    assert.equal(0, nw.partition.conditions(apart))
    assert.equal(3, nw.partition.conditions(fused)) -- one for each piece
  end)

  it("are made by steps that can be undone", function()
    local s = product(nw.size("M", {min = 0}))
    local i_o, _, tail = s:split("i", 4, {tail = "cut"})
    local was, text = s:version(), tostring(s)
    nw.partition.parallel(s, {i_o, tail})
    assert.equal(1, parallel_loops(s))
    s:undo(3)
    assert.equal(was, s:version())
    assert.equal(text, tostring(s))
    local one, other = nw.partition.parallel(s, {i_o, "i.tail"}, {how = "apart"})
    assert.equal("i_o", one.name)
    assert.equal("i.tail", other.name)
  end)

  it("that depend on each other are refused, and the schedule is unchanged", function()
    local X = nw.compute({8}, function(x) return x * 2 end, "X")
    local s = nw.schedule(nw.compute({8}, function(y) return X(7 - y) end, "Y"))
    local loops, was = {s:loops(X)[1], s:loops("Y")[1]}, s:version()
    local err = support.fails("cannot fuse x and y horizontally", "refused", nw.partition.parallel, s, loops)
    assert.truthy(tostring(err):find("not independent", 1, true))
    assert.equal(was, s:version())
    loops = {s:loops(X)[1], "y"}
    s:vectorize "y"
    was = s:version()
    support.fails("cannot run y in parallel", "refused", nw.partition.parallel, s, loops, {how = "apart"})
    assert.equal(was, s:version()) -- the step on x, which came before the refused step on y, was undone
  end)

  it("that overlap are refused: two threads would write one element", function()
    local s = product(nw.size("M", {min = 0}))
    local err = support.fails("cannot run i_o in parallel", "refused", strategies.apply, "test", s, s:loop "i", "shift",
      kernels(4, 1), nil, "fused")
    assert.truthy(tostring(err):find("by another thread", 1, true))
    assert.equal(0, s:version())
  end)

  it("require existing loops and a valid way", function()
    local s = product(8)
    support.fails("loops is empty", "invalid", nw.partition.parallel, s, {})
    support.fails("got 'both'", "invalid", nw.partition.parallel, s, {"i"}, {how = "both"})
    support.fails("unknown option", "invalid", nw.partition.parallel, s, {"i"}, {threads = 2})
  end)
end)

describe("partition_auto with threads", function()
  local function auto(o)
    local s = product(nw.size("M", {min = 0}))
    local all = {loop = "i", kernels = kernels(4, 2, 1), sizes = {M = {1, 7, 8}}, machine = "zen5", strategies = {"cut", "halves"},
      threads = 2}
    for key, value in pairs(o or {}) do all[key] = value end
    return s:partition_auto(all), s
  end

  it("distributes the pieces of each version among threads, and gives right results", function()
    for _, how in ipairs {"fused", "apart"} do
      local list, s = auto {across = how}
      local f, g = list:build(1), s:build {threads = 2, versions = list:dispatch().versions}
      for m = 0, 13 do
        agrees(f, m)
        agrees(g, m)
      end
      list:take "halves"
      assert.equal(how == "fused" and 1 or 3, parallel_loops(s))
    end
  end)

  it("says which values threads and across may have", function()
    support.fails("is less than one", "range", auto, {threads = 0})
    support.fails("needs more than one thread", "invalid", auto, {threads = 1, across = "fused"})
    support.fails("got 'x'", "invalid", auto, {across = "x"})
    support.fails("for one thread", "invalid", auto, {cost = "kernels"})
  end)
end)

describe("pieces in common loops", function()
  local ROWS, DEPTH = 12, 320

  -- B has 80 kB in four adjacent panels. The first level of cache, of 48 kB, holds two of these panels.
  local function panels()
    local A, B = nw.placeholder({ROWS, DEPTH}, "f32", "A"), nw.placeholder({4, DEPTH, 16}, "f32", "B")
    local k = nw.reduce_axis(DEPTH, "k")
    return nw.schedule(nw.compute({ROWS, 4, 16}, function(i, j, v) return nw.sum(A(i, k) * B(j, k, v), k) end, "C"))
  end

  local function tile(s, p)
    s:reorder(p.outer, p:loop "k", p.inner, p:loop "v")
    s:vectorize(p:loop "v")
    s:unroll(p.inner)
  end

  local function alone(s, p)
    s:reorder(p:loop "j", p.outer, p.inner)
    tile(s, p)
  end

  local function misses(shared)
    local s, list = panels(), {}
    for n, rows in ipairs {8, 4} do list[n] = {rows = rows, schedule = alone, inside = tile} end
    strategies.apply("test", s, s:loop "i", "halves", strategies.kernels("test", list),
      shared and function(t) t:reorder("j", "i") end or nil)
    for _, row in ipairs(s:cost {machine = "zen5"}.by_tensor) do
      if row.level == 1 and row.tensor == "B" then return row.misses end
    end
  end

  it("have fewer misses in the first cache than separate nests, according to the cost model", function()
    local apart, shared = misses(false), misses(true)
    assert.equal(2 * 4 * DEPTH, apart) -- the tail reads all of B a second time
    assert.equal(4 * DEPTH, shared)
  end)
end)
