--- Tests loops in pieces: cut, join, partition. After an accepted step, the program must compute what the definition says, in every
--- way of running it.
local nw = require "nestwright"
local support = require "support"
local agrees, doubled, fails, gemm, names = support.agrees, support.doubled, support.fails, support.gemm, support.names
local replays, staged, untouched = support.replays, support.staged, support.untouched

local function rows(m)
  local A = nw.placeholder({m, 20}, "f32", "A")
  local k = nw.reduce_axis(20, "k")
  return nw.schedule(nw.compute({m}, function(i) return nw.sum(A(i, k), k) end, "R"))
end

describe("cut", function()
  it("names pieces by their path", function()
    local s = gemm(64)
    local head, rest = s:cut("i", 48)
    assert.same({"i.head", "i.rest"}, {head.name, rest.name})
    assert.same({"i.head", "i.head/j", "i.head/k"}, names(s:loops "C"))
    assert.same({"i.rest", "i.rest/j", "i.rest/k"}, names(s:loops "C.rest"))
    assert.same({"i.head.1", "i.head.2", "i.head.3"}, names {s:cut(head, 8, 16)})
    s:vectorize(s:split("i.head.2/j", 8) and "i.head.2/j_i")
    agrees(s)
  end)

  it("says which pieces a loop became", function()
    local s = gemm(64)
    local j = s:loop "j"
    s:cut("i", 48)
    fails("j was cut into i.head/j, i.rest/j by step 1", "stale", function() return j.name end)
    s:cut("i.rest/j", 8)
    fails("j was cut into i.head/j, i.rest/j by step 1; i.rest/j was cut into i.rest/j.head, i.rest/j.rest by step 2",
      "stale", function() return j.name end)
    s:undo(2)
    assert.equal("j", j.name)
  end)

  it("accepts sizes, outer loops and symbolic extents", function()
    local M = nw.size("M", {min = 0})
    local function make() return rows(M) end
    local s = make()
    s:cut("i", M // 2, "M - 1")
    s:cut("i.2/k", "min(i.2, 20)")
    agrees(s)
    replays(s, make)
  end)

  it("cuts a reduction, whichever piece is empty", function()
    for _, at in ipairs {0, 1, 7, 20, 21} do
      local s = rows(6)
      s:cut("k", at)
      agrees(s)
    end
  end)

  it("keeps the names of pieces that are proven empty", function()
    local s = rows(6)
    local head, rest = s:cut("i", 9)
    assert.equal("i.rest is empty", s:notes())
    assert.same({"i.head", "i.rest"}, {head.name, rest.name})
    local o = s:split("i.rest/k", 4)
    assert.equal("i.rest/k_o", o.name)
    assert.truthy(s:notes():find "the step has no effect")
    s:vectorize(head)
    agrees(s)
    s = rows(0)
    s:cut("i", 3)
    agrees(s)
  end)

  it("accepts steps on pieces that are proven empty, which do nothing", function()
    local s = rows(6)
    s:cut("i", 9)
    local head, rest = s:cut("i.rest", 20)
    assert.same({"i.rest.head", "i.rest.rest"}, {head.name, rest.name})
    s:split("i.rest.head/k", 4)
    local _, main = s:partition "i.rest.rest"
    assert.equal("i.rest.rest.main", main.name)
    local yes, no = s:specialize("i.rest.rest < 3", "i.rest.rest.main/k")
    assert.same({"then/i.rest.rest.main/k", "else/i.rest.rest.main/k"}, {yes.name, no.name})
    assert.equal("i.rest.rest", s:join("i.rest.rest.pre", "i.rest.rest.main").name)
    agrees(s)
  end)

  it("cuts parallel, unrolled and vectorized loops", function()
    local s = gemm(24)
    s:parallel "i"
    s:cut("i", 5)
    s:vectorize "i.head/j"
    s:cut("i.head/j", 8)
    s:unroll "i.rest/j"
    s:cut("i.rest/j", 3)
    agrees(s)
  end)

  it("refuses invalid arguments", function()
    local M = nw.size "M"
    local s = rows(M)
    for _, bad in ipairs {
      {"q + 1", "none named q"}, {"M +", "cannot be parsed"}, {"k", "k is neither"}, {nw.lt(M, 3), "whole number"},
      {true, "expected an expression"}, {2.5, "whole number"}, {{20, 10}, "not in order"}, {{}, "needs at"},
      {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}, "17 points"}, {{8, "x"}, "none named x"},
    } do
      untouched(s, function() fails(bad[2], nil, function() s:cut("i", bad[1]) end) end)
    end
    untouched(s, function() fails("no loop", nil, function() s:cut("z", 3) end) end)
    untouched(s, function() fails("belongs to another", nil, function() s:cut(rows(M):loop "i", 3) end) end)
  end)

  it("refuses to make a program too large to be shown", function()
    local A = nw.placeholder({64, 64, 64}, "f32", "A")
    local s = nw.schedule(nw.compute({64, 64, 64}, function(i, j, k) return A(i, j, k) + 1 end, "C"))
    fails("statements", "limit", function()
      for _, loop in ipairs {"k", "j", "i"} do s:cut(loop, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15) end
    end)
  end)
end)

describe("join", function()
  it("undoes a cut", function()
    for _, at in ipairs {1, 20, 63} do
      local s = gemm(64)
      local before = tostring(s)
      s:cut("i", at)
      s:join("i.head", "i.rest")
      assert.equal(before, tostring(s))
      agrees(s)
    end
  end)

  it("joins pieces that were scheduled alike", function()
    local M = nw.size "M"
    local function make() return rows(M) end
    local s = make()
    s:cut("i", "M // 2")
    s:split("i.head/k", 8)
    s:split("i.rest/k", 8)
    local i = s:join("i.head", "i.rest")
    assert.same({"i", "k_o", "k_i"}, {i.name, s:loops()[2].name:match "[^/]*$", s:loops()[3].name:match "[^/]*$"})
    agrees(s)
    replays(s, make)
  end)

  it("keeps the guard that one of the pieces still has", function()
    local s = rows(37)
    s:split("i", 8)
    s:cut("i_o", 4)
    s:join("i_o.head", "i_o.rest")
    assert.truthy(tostring(s):find "if 8%*i_o %+ i_i < 37")
    agrees(s)
  end)

  it("refuses pieces that are not adjacent or differ", function()
    local s = gemm(64)
    s:cut("i", 8, 16)
    untouched(s, function()
      fails("they are not adjacent", "refused", function() s:join("i.1", "i.3") end)
      fails("they are not adjacent", "refused", function() s:join("i.2", "i.1") end)
      fails("they are not adjacent", "refused", function() s:join("i.2", "i.2") end)
    end)
    s:unroll "i.2/j"
    fails("i.1/j and i.2/j differ", "refused", function() s:join("i.1", "i.2") end)
    s = gemm(64)
    s:cut("i", 8)
    s:reorder("i.rest/k", "i.rest/j")
    fails("differ", "refused", function() s:join("i.head", "i.rest") end)
  end)
end)

-- Returns the text of the loop with this name in the lowered program.
local function lowered_loop(s, name)
  local out, indent = {}, nil
  for line in (tostring(s:show "lowered") .. "\n"):gmatch "(.-)\n" do
    local spaces = #line:match "^ *"
    if indent and spaces <= indent then indent = nil end
    if line:find("for " .. name .. " in", 1, true) then indent = spaces end
    if indent then out[#out + 1] = line end
  end
  return table.concat(out, "\n")
end

-- Checks that no condition is left in the loop.
local function free_of_conditions(s, name)
  local text = lowered_loop(s, name)
  assert.truthy(text:find "=")
  for _, word in ipairs {"if ", "select", "min%(", "max%(", "mask"} do assert.is_nil(text:find(word), text) end
end

local function padded(h, w)
  local A, F = nw.placeholder({h, w}, "f32", "A"), nw.placeholder({3, 3}, "f32", "F")
  local r, q = nw.reduce_axis(3, "r"), nw.reduce_axis(3, "q")
  return nw.schedule(nw.compute({h, w}, function(y, x)
    local v, u = y + r - 1, x + q - 1
    local inside = nw.all(nw.ge(v, 0), nw.lt(v, h), nw.ge(u, 0), nw.lt(u, w))
    return nw.sum(nw.select(inside, A(v, u), 0) * F(r, q), r, q)
  end, "Y"))
end

local function concatenated(n, m)
  local A, B = nw.placeholder({n}, "f32", "A"), nw.placeholder({m}, "f32", "B")
  return nw.schedule(nw.compute({n + m}, function(i) return nw.select(nw.lt(i, n), A(i), B(i - n)) end, "Y"))
end

describe("partition", function()
  it("writes a bound with two cases as a minimum", function()
    for _, n in ipairs {100, nw.size "N"} do
      local s = doubled(n)
      s:split("i", 8)
      s:partition "i_i"
      assert.truthy(tostring(s):find "for i_i.main in 0%.%.min%(", tostring(s))
      agrees(s)
    end
  end)

  it("makes a main piece that needs no guard from a loop of a guarded split", function()
    for _, n in ipairs {0, 5, 31, 32, 33, 100, nw.size("N", {min = 0})} do
      local s = doubled(n)
      s:split("i", 32)
      local pre, main, post = s:partition "i_o"
      assert.same({"i_o.pre", "i_o.main", "i_o.post"}, {pre.name, main.name, post.name})
      assert.truthy(s:notes():find "i_o.pre is empty")
      if n == 5 or n == 31 then
        assert.truthy(s:notes():find "i_o.main is empty")
      elseif n == 100 or type(n) ~= "number" then
        free_of_conditions(s, "i_o.main")
      end
      agrees(s)
    end
  end)

  it("makes a main piece without conditions from a padded convolution, first in y and then in x", function()
    for _, size in ipairs {{28, 30}, {nw.size("H", {min = 0}), nw.size("W", {min = 0})}} do
      local function make() return padded(size[1], size[2]) end
      local s = make()
      s:partition "y"
      s:partition "y.main/x"
      free_of_conditions(s, "y.main/x.main")
      s:split("y.main/x.main", 8)
      s:partition "y.main/x.main_o"
      s:vectorize "y.main/x.main_o.main/x.main_i"
      s:parallel "y.main"
      agrees(s)
      replays(s, make)
    end
  end)

  it("divides a concatenation into two loops that have no condition", function()
    for _, size in ipairs {{20, 13}, {nw.size "N", nw.size "M"}} do
      local s = concatenated(size[1], size[2])
      local _, main, post = s:partition "i"
      free_of_conditions(s, main.name)
      free_of_conditions(s, post.name)
      agrees(s)
    end
  end)

  it("derives the pieces also from clamps, and from guards of fused or placed stages", function()
    local A = nw.placeholder({50}, "f32", "A")
    local s = nw.schedule(nw.compute({50}, function(i)
      return A(nw.max(i - 2, 0)) + A(nw.min(i + 3, 49))
    end, "Y"))
    s:partition "i"
    assert.truthy(tostring(s):find "for i.main in 2..47:")
    free_of_conditions(s, "i.main")
    agrees(s)
    local P = nw.compute({50}, function(i) return A(i) + 1 end, "P")
    local Z = nw.compute({48}, function(i) return P(i) + P(i + 2) end, "Z")
    s = nw.schedule(Z)
    s:split("i_1", 20)
    s:compute_at(P, "i_1_o")
    s:partition "i_1_o"
    free_of_conditions(s, "i_1_o.main")
    agrees(s)
  end)

  it("accepts given points", function()
    local s = gemm(64)
    s:partition("i", {at = {8, 56}})
    assert.truthy(tostring(s):find "for i.main in 8..56:")
    s:partition("i.pre/j", {at = {0, 100}})
    assert.truthy(s:notes():find "pre is empty" and s:notes():find "post is empty")
    agrees(s)
  end)

  it("makes the whole loop the main piece if there is no condition", function()
    local s = gemm(64)
    local _, main = s:partition "j"
    assert.equal("for j.main in 0..64", tostring(main))
    assert.truthy(s:notes():find "no condition inside depends on j")
  end)

  it("refuses a loop in which every iteration selects a branch", function()
    local A, B = nw.placeholder({64}, "f32", "A"), nw.placeholder({40}, "f32", "B")
    local Y = nw.compute({64}, function(i) return A(i) + 1 end, "Y")
    local Z = nw.compute({40}, function(i) return B(i) + 1 end, "Z")
    local s = nw.schedule {Y, Z}
    local fused = s:create_fused_loop(s:loops(Y)[1], s:loops(Z)[1])
    untouched(s, function()
      local err = fails("select between branches", "refused", function() s:partition(fused) end)
      assert.same({}, err.refusal.alternatives)
    end)
    s = gemm(20)
    s:split("i", 32)
    s:decompose_reduction("C", "i_o")
    s:partition "i_o" -- every iteration needs the guard, so nothing is cut
    agrees(s)
  end)

  it("refuses points that leave no main piece", function()
    local s = gemm(64)
    untouched(s, function()
      fails("begin and the end %(exclusive%) of the main part", "invalid", function() s:partition("i", {at = {8}}) end)
      fails("not in order", "invalid", function() s:partition("i", {at = {8, 4}}) end)
      fails("expected a loop", "invalid", function() s:partition(3) end)
    end)
    s:split("i", 24)
    s:fuse("i_o", "i_i")
    fails("is a fused loop", "refused", function() s:partition "i_o_i_i" end)
    local A = nw.placeholder({64}, "f32", "A")
    local function stripes(i) return nw.select(nw.eq(i % 4, 1), A(i), 0) end
    fails("not consecutive", "refused", function()
      nw.schedule(nw.compute({64}, stripes, "Y")):partition "i"
    end)
  end)
end)

describe("a stage in pieces", function()
  it("is moved as a whole: new loops replace the pieces", function()
    for _, n in ipairs {40, nw.size("N", {min = 0})} do
      local s, X = staged(n)
      s:split("i", {factor = 7, tail = "cut"})
      s:cut("i.tail", 36)
      local tail = s:loop "i.tail.rest"
      s:split("i_1", 8)
      s:compute_at(X, "i_1_o")
      fails("replaced with new loops of X", "stale", function() return tail.name end)
      agrees(s)
      s:compute_root(X)
      agrees(s)
    end
  end)

  it("cannot be moved if its init is separate", function()
    local A = nw.placeholder({9, 5}, "f32", "A")
    local k = nw.reduce_axis(5, "k")
    local R = nw.compute({9}, function(i) return nw.sum(A(i, k), k) end, "R")
    local s = nw.schedule(nw.compute({9}, function(i) return R(i) + 1 end, "Y"))
    s:decompose_reduction(R, "k")
    local err = support.refuses(s, "cannot compute R", "refused", s.compute_at, s, R, "i_1")
    assert.truthy(err.refusal.why:find "the stage must be a single block")
  end)

  it("is also made by a split into a number of parts", function()
    for _, n in ipairs {0, 1, 3, 4, 5, 13, nw.size("N", {min = 0})} do
      for _, parts in ipairs {1, 2, 4, 7} do
        local s = doubled(n)
        s:split("i", {parts = parts, tail = "cut"})
        agrees(s)
      end
    end
  end)
end)

describe("trim", function()
  local function convolved(n)
    local I, F = nw.placeholder({n}, "f32", "I"), nw.placeholder({5}, "f32", "F")
    local r = nw.reduce_axis(n + 4, "r")
    return nw.schedule(nw.compute({n + 4}, function(x)
      local inside = nw.all(nw.ge(x - r, 0), nw.lt(x - r, 5), nw.lt(r, n))
      return nw.sum(nw.select(inside, I(r)*F(x - r), 0), r)
    end, "Y"))
  end

  it("keeps only the iterations of a sum that add something, without conditions", function()
    for _, n in ipairs {1, 3, 5, 20, nw.size "N"} do
      local s = convolved(n)
      s:decompose_reduction("Y", "r")
      assert.equal("r", s:trim("r").name)
      assert.equal(0, nw.partition.conditions(s), tostring(s))
      agrees(s)
      s:parallel "x"
      agrees(s)
      replays(s, function() return convolved(n) end)
    end
  end)

  it("trims two loops one after the other", function()
    local I, F = nw.placeholder({9, 11}, "f32", "I"), nw.placeholder({3, 3}, "f32", "F")
    local r, q = nw.reduce_axis(3, "r"), nw.reduce_axis(3, "q")
    local s = nw.schedule(nw.compute({9, 11}, function(y, x)
      local inside = nw.all(nw.ge(y + r, 1), nw.lt(y + r, 10), nw.ge(x + q, 1), nw.lt(x + q, 12))
      return nw.sum(nw.select(inside, I(y + r - 1, x + q - 1) * F(r, q), 0), {r, q})
    end, "Y"))
    s:decompose_reduction("Y", "y")
    s:trim "r"
    s:trim "q"
    assert.equal(0, nw.partition.conditions(s))
    agrees(s)
    s:tile("y", "x", 4, 4)
    agrees(s)
  end)

  it("finds a condition inside the term, if nothing is left of the term without it", function()
    for _, dtype in ipairs {"i32", "f32"} do
      local A = nw.placeholder({8, 8}, dtype, "A")
      local k = nw.reduce_axis(8, "k")
      local s = nw.schedule(nw.compute({8}, function(i)
        local term = nw.select(nw.lt(k, i), A(i, k), 0)
        return nw.sum(dtype == "i32" and term * A(i, i) or nw.min(term, nw.max(term, -term)), k)
      end, "R"))
      s:decompose_reduction("R", "i")
      s:trim "k"
      assert.truthy(tostring(s):find "for k in 0..i", tostring(s))
      agrees(s)
    end
  end)

  it("is refused if an iteration that is left out may add something, or executes the init", function()
    fails("gets its init in the first iteration of r", "refused", function() convolved(8):trim "r" end)
    local A = nw.placeholder({8, 8}, "f32", "A")
    local k = nw.reduce_axis(8, "k")
    local s = nw.schedule(nw.compute({8}, function(i) return nw.sum(nw.select(nw.lt(k, i), A(i, k), 0) * A(i, i), k) end, "R"))
    s:decompose_reduction("R", "k")
    fails("every iteration of k may add something", "refused", function() s:trim "k" end)
    fails("every iteration of i may add something", "refused", function()
      local t = nw.schedule(nw.compute({8}, function(i) return A(i, 0) end, "R"))
      t:trim "i"
    end)
    local t = convolved(8)
    t:decompose_reduction("Y", "x")
    t:fuse("x", "r")
    fails("is a fused loop", "refused", function() t:trim "x_r" end)
  end)
end)
