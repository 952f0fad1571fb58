--- Loops in parts: pieces, versions, tails. What is accepted computes what the definition says, in every way of running.
local nw = require "nestwright"
local support = require "support"
local fails, gemm = support.fails, support.gemm

local function names(list)
  local out = {}
  for n, item in ipairs(list) do out[n] = item.name end
  return out
end

-- Runs the schedule in all ways on small shapes.
local function agrees(s)
  local report = tostring(s:check())
  assert.truthy(report:find "agree")
  assert.is_nil(report:find "differ")
  assert.truthy(s:reparses())
end

-- A refused call leaves the schedule as it was.
local function untouched(s, f)
  local before = s:text()
  f()
  assert.equal(before, s:text())
end

-- The trace, pasted and as JSON, gives the identical program.
local function replays(s, make)
  local t = make()
  assert(load(s:trace(), "trace", "t", {s = t}))()
  assert.equal(s:text(), t:text())
  t = make():replay(s:trace "json")
  assert.equal(s:text(), t:text())
end

local function rows(m)
  local A = nw.placeholder({m, 20}, "f32", "A")
  local k = nw.reduce_axis(20, "k")
  return nw.schedule(nw.compute({m}, function(i) return nw.sum(A(i, k), k) end, "R"))
end

describe("cut", function()
  it("makes pieces named by path", function()
    local s = gemm(64)
    local head, rest = s:cut("i", 48)
    assert.same({"i.head", "i.rest"}, {head.name, rest.name})
    assert.same({"i.head", "i.head/j", "i.head/k"}, names(s:loops "C"))
    assert.same({"i.rest", "i.rest/j", "i.rest/k"}, names(s:loops "C.rest"))
    assert.same({"i.head.1", "i.head.2", "i.head.3"}, names {s:cut(head, 8, 16)})
    s:vectorize(s:split("i.head.2/j", 8) and "i.head.2/j_i")
    agrees(s)
  end)

  it("says where a loop is now", function()
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

  it("takes sizes, loops around and symbolic extents", function()
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

  it("keeps names of pieces proven empty", function()
    local s = rows(6)
    local head, rest = s:cut("i", 9)
    assert.equal("i.rest is empty", s:notes())
    assert.same({"i.head", "i.rest"}, {head.name, rest.name})
    local o = s:split("i.rest/k", 4)
    assert.equal("i.rest/k_o", o.name)
    assert.truthy(s:notes():find "nothing to do")
    s:vectorize(head)
    agrees(s)
    s = rows(0)
    s:cut("i", 3)
    agrees(s)
  end)

  it("takes steps on pieces proven empty, which do nothing", function()
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

  it("cuts loops that run in parallel, unrolled, as vectors", function()
    local s = gemm(24)
    s:parallel "i"
    s:cut("i", 5)
    s:vectorize "i.head/j"
    s:cut("i.head/j", 8)
    s:unroll "i.rest/j"
    s:cut("i.rest/j", 3)
    agrees(s)
  end)

  it("refuses what makes no sense", function()
    local M = nw.size "M"
    local s = rows(M)
    for _, bad in ipairs {
      {"q + 1", "none called q"}, {"M +", "cannot be read"}, {"k", "k is neither"}, {nw.lt(M, 3), "whole number"},
      {true, "expected an expression"}, {2.5, "whole number"}, {{20, 10}, "not in order"}, {{}, "needs at"},
      {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}, "17 points"}, {{8, "x"}, "none called x"},
    } do
      untouched(s, function() fails(bad[2], nil, function() s:cut("i", bad[1]) end) end)
    end
    untouched(s, function() fails("no loop", nil, function() s:cut("z", 3) end) end)
    untouched(s, function() fails("belongs to another", nil, function() s:cut(rows(M):loop "i", 3) end) end)
  end)

  it("stops before a program is too large to look at", function()
    local s = gemm(4096)
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

  it("joins what was scheduled alike", function()
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

  it("refuses pieces that are apart or differ", function()
    local s = gemm(64)
    s:cut("i", 8, 16)
    untouched(s, function()
      fails("they are not neighbours", "refused", function() s:join("i.1", "i.3") end)
      fails("they are not neighbours", "refused", function() s:join("i.2", "i.1") end)
      fails("they are not neighbours", "refused", function() s:join("i.2", "i.2") end)
    end)
    s:unroll "i.2/j"
    fails("i.1/j and i.2/j differ", "refused", function() s:join("i.1", "i.2") end)
    s = gemm(64)
    s:cut("i", 8)
    s:reorder("i.rest/k", "i.rest/j")
    fails("differ", "refused", function() s:join("i.head", "i.rest") end)
  end)
end)

-- The part of the lowered program that is the loop with that name.
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

-- Nothing is left to decide in the loop.
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

local function doubled(n)
  local A = nw.placeholder({n}, "f32", "A")
  return nw.schedule(nw.compute({n}, function(i) return A(i) * 2 end, "Y"))
end

describe("a split whose cut leaves no whole round", function()
  it("is all tail, and its other loops are names", function()
    local s = support.gemm(10)
    local j = s:loop "j"
    local o, i, tail = s:split("i", 100, {tail = "cut"})
    assert.same({"i_o", "i_i", "i.tail"}, {o.name, i.name, tail.name})
    assert.same({"i.tail", "i.tail/j", "i.tail/k"}, names(s:loops()))
    assert.equal("i has no round of 100: all of it is the tail", s:notes())
    s:vectorize "i_i"
    assert.equal("i_i is empty: nothing to do", s:notes())
    s:parallel(j)
    assert.equal("j is empty: nothing to do", s:notes())
    fails("i was split into i.tail by step 1", "stale", function() s:split("i", 2) end)
    agrees(s)
    replays(s, function() return support.gemm(10) end)
  end)

  it("in a tile, in one of several factors, or to unroll", function()
    for _, step in ipairs {'s:tile("i", "j", 8, 100, {tail = "cut"})', 's:tile("i", "j", 100, 8, {tail = "cut"})',
      's:split("j", {factors = {4, 4}, tail = "cut"})', 's:unroll("k", 16, {tail = "cut"})'} do
      local s = support.gemm(10)
      load("local s = ... " .. step)(s)
      assert.is_nil(tostring(s):find "in 0..0:", step)
      agrees(s)
      replays(s, function() return support.gemm(10) end)
    end
  end)

  it("replays a trace that speaks of both parts", function()
    local s = support.gemm(40)
    s:tile("i", "j", 16, 16, {tail = "cut"})
    s:vectorize "j_i"
    s:parallel "i.tail"
    s:split("k", 4)
    s:unroll "k_i"
    local t = support.gemm(10):replay(s:trace "json")
    agrees(t)
    assert.truthy(tostring(t):find "parallel for i.tail in 0..10:")
  end)
end)

describe("partition", function()
  it("writes a bound that has two sides as a min, not as cases", function()
    for _, n in ipairs {100, nw.size "N"} do
      local s = doubled(n)
      s:split("i", 8)
      s:partition "i_i"
      assert.truthy(tostring(s):find "for i_i.main in 0%.%.min%(", tostring(s))
      agrees(s)
    end
  end)

  it("frees a guarded split of its guard", function()
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

  it("frees the middle of a padded convolution, in y and then in x", function()
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

  it("takes a concatenation apart into two loops without a condition", function()
    for _, size in ipairs {{20, 13}, {nw.size "N", nw.size "M"}} do
      local s = concatenated(size[1], size[2])
      local _, main, post = s:partition "i"
      free_of_conditions(s, main.name)
      free_of_conditions(s, post.name)
      agrees(s)
    end
  end)

  it("sees clamps, and guards of what was fused or placed", function()
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

  it("takes explicit points", function()
    local s = gemm(64)
    s:partition("i", {at = {8, 56}})
    assert.truthy(tostring(s):find "for i.main in 8..56:")
    s:partition("i.pre/j", {at = {0, 100}})
    assert.truthy(s:notes():find "pre is empty" and s:notes():find "post is empty")
    agrees(s)
  end)

  it("takes the whole loop where nothing is asked", function()
    local s = gemm(64)
    local _, main = s:partition "j"
    assert.equal("for j.main in 0..64", tostring(main))
    assert.truthy(s:notes():find "no condition inside speaks of j")
  end)

  it("refuses branches, of which every round needs one", function()
    local A, B = nw.placeholder({64}, "f32", "A"), nw.placeholder({40}, "f32", "B")
    local Y = nw.compute({64}, function(i) return A(i) + 1 end, "Y")
    local Z = nw.compute({40}, function(i) return B(i) + 1 end, "Z")
    local s = nw.schedule {Y, Z}
    local fused = s:create_fused_loop(s:loops(Y)[1], s:loops(Z)[1])
    untouched(s, function()
      local err = fails("those of branches", "refused", function() s:partition(fused) end)
      assert.same({}, err.refusal.alternatives)
    end)
    s = gemm(20)
    s:split("i", 32)
    s:decompose_reduction("C", "i_o")
    s:partition "i_o" -- a guard that no round is free of is no branch
    agrees(s)
  end)

  it("refuses what cannot be one main part", function()
    local s = gemm(64)
    untouched(s, function()
      fails("first round of the main part", "invalid", function() s:partition("i", {at = {8}}) end)
      fails("not in order", "invalid", function() s:partition("i", {at = {8, 4}}) end)
      fails("expected a loop", "invalid", function() s:partition(3) end)
    end)
    s:split("i", 24)
    s:fuse("i_o", "i_i")
    fails("is a fused loop", "refused", function() s:partition "i_o_i_i" end)
    local A = nw.placeholder({64}, "f32", "A")
    local function stripes(i) return nw.select(nw.eq(i % 4, 1), A(i), 0) end
    fails("not next to one another", "refused", function()
      nw.schedule(nw.compute({64}, stripes, "Y")):partition "i"
    end)
  end)
end)

local function row_sums()
  local M, N = nw.size("M", {min = 0}), nw.size("N", {min = 0})
  local A = nw.placeholder({M, N}, "f32", "A")
  local k = nw.reduce_axis(N, "k")
  local X = nw.compute({M, N}, function(i, j) return A(i, j) * 2 end, "X")
  local R = nw.compute({M}, function(i) return nw.sum(X(i, k), k) end, "R")
  return nw.schedule(R), M, N, X, R
end

describe("specialize", function()
  it("makes two versions of a loop, and the condition is known in the first", function()
    local s, _, N = row_sums()
    local yes, no = s:specialize(nw.eq(N % 16, 0), "k")
    assert.same({"then/k", "else/k"}, {yes.name, no.name})
    s:split(yes, 16)
    assert.truthy(s:notes():find "divides evenly")
    s:split(no, 16)
    assert.is_nil(s:notes():find "divides evenly")
    agrees(s)
    replays(s, function() return (row_sums()) end)
  end)

  it("makes two versions of a stage, and of the whole with its temporaries", function()
    local s, _, _, X = row_sums()
    s:specialize("M >= 8", {stage = X})
    s:split("then/i", 8)
    s:parallel "else/i"
    agrees(s)
    local t, M = row_sums()
    local j = t:loop "j"
    t:specialize(nw.lt(M, 9))
    fails("j was specialized into then/j, else/j by step 1", "stale", function() return j.name end)
    t:split("then/i", 4)
    t:vectorize(select(2, t:split("else/j", 8)))
    t:specialize("N > 20", "else/i_1")
    agrees(t)
  end)

  it("asks about loops around", function()
    local s = gemm(24)
    s:specialize("i >= 10 and i < 20", "k")
    s:unroll "then/k"
    agrees(s)
  end)

  it("makes one version where the condition is known, and the other can still be named", function()
    local s = row_sums()
    s:assume "N % 16 == 0"
    local yes, no = s:specialize("N % 4 == 0", "k")
    assert.equal("the condition always holds: there is one version", s:notes())
    assert.same({"then/k", "else/k"}, {yes.name, no.name})
    s:split(no, 4)
    agrees(s)
    s = gemm(24)
    yes, no = s:specialize("16 > 17", "k")
    assert.same({"then/k", "else/k"}, {yes.name, no.name})
    s:unroll(yes)
    s:vectorize(s:loops "C"[2])
    agrees(s)
    replays(s, function() return gemm(24) end)
  end)

  it("refuses conditions that are none, or speak of what is inside", function()
    local s, M, _, X = row_sums()
    untouched(s, function()
      fails("k is neither", "invalid", function() s:specialize("k < 4", "k") end)
      fails("i is neither", "invalid", function() s:specialize("i < 4") end)
      fails("must be a condition", "invalid", function() s:specialize("M + 1", "k") end)
      fails("must be a condition", "invalid", function() s:specialize(M, "k") end)
      fails("true or false at once", nil, function() s:specialize(M == 3, "k") end)
      fails("a loop or a stage", "invalid", function() s:specialize("M < 4", "k", {stage = X}) end)
      fails("no loop", nil, function() s:specialize("M < 4", "q") end)
      fails("reads no tensor", "invalid", function() s:specialize(nw.lt(nw.cast(X(0, 0), "i64"), 4), "k") end)
    end)
  end)
end)

describe("assume", function()
  it("is known in every later proof, and shown", function()
    local s = row_sums()
    s:assume "M % 16 == 0"
    s:split("i", 16)
    assert.truthy(s:notes():find "divides evenly")
    assert.truthy(tostring(s):find "^assume M %% 16 == 0\n")
    assert.truthy(s:trace():find('s:assume("M % 16 == 0")', 1, true))
    s:assume "N >= 4 and N < 100"
    agrees(s)
    replays(s, function() return (row_sums()) end)
    s:undo(3)
    s:split("i", 16)
    assert.is_nil(s:notes():find "divides evenly")
  end)

  it("is checked at the call, in every way of running", function()
    local s, M = row_sums()
    s:assume(nw.eq(M % 16, 0))
    local right, wrong = nw.random({32, 5}, "f32"), nw.random({33, 5}, "f32")
    local kernel = s:build()
    kernel(right)
    nw.interpret(s, {right})
    fails("M %% 16 == 0 does not hold with M = 33", nil, kernel, wrong)
    fails("M %% 16 == 0 does not hold with M = 33", nil, nw.interpret, s, {wrong})
    fails("M %% 16 == 0 does not hold with M = 33", nil, nw.interpret, s, {wrong}, {lowered = true})
  end)

  it("refuses what no size satisfies", function()
    local s = row_sums()
    s:assume "M % 4 == 1"
    untouched(s, function()
      fails("it is never true", "refused", function() s:assume "M < 0" end)
      fails("it is never true", "refused", function() s:assume "16 % 3 == 0" end)
      local err = fails("cannot assume", "refused", function() s:assume "M % 6 == 2" end)
      assert.truthy(err.refusal.why:find "no sizes satisfy")
      fails("none called q", nil, function() s:assume "q < 4" end)
      fails("i is none", "invalid", function() s:assume "i < 4" end)
      fails("must be a condition", "invalid", function() s:assume "M" end)
      fails("true or false at once", nil, function() s:assume(true) end)
    end)
    s:assume "5 < 6"
    assert.equal("that is known already", s:notes())
  end)
end)

-- Two stages: Y reads all of X.
local function staged(n)
  local A = nw.placeholder({n}, "f32", "A")
  local X = nw.compute({n}, function(i) return nw.exp(nw.cast(i, "f32") / 64) end, "X")
  local Y = nw.compute({n}, function(i) return X(i) * A(i) end, "Y")
  return nw.schedule(Y), X, Y
end

local SIZES = {1, 7, 8, 9, 13, 16, 31}

describe("a split with tail = shift", function()
  it("begins the last round earlier, without a guard", function()
    for _, n in ipairs(SIZES) do
      if n >= 8 then
        local s = doubled(n)
        local _, lanes = s:split("i", 8, {tail = "shift"})
        s:vectorize(lanes)
        assert.is_nil(tostring(s):find "if ")
        agrees(s)
      end
    end
    local s = doubled(13)
    s:split("i", 8, {tail = "shift"})
    assert.equal("8 does not divide 13: 3 of 16 iterations are done twice", s:notes())
  end)

  it("starts the reductions of the last tile anew", function()
    local s = gemm(10, 13, 7)
    s:tile("i", "j", 4, 8, {tail = "shift"})
    s:reorder("k", "i_i", "j_i")
    s:vectorize "j_i"
    agrees(s)
    replays(s, function() return (gemm(10, 13, 7)) end)
    s = gemm(10, 13, 7)
    s:decompose_reduction("C", "j")
    s:split("i", 4, {tail = "shift"})
    agrees(s)
  end)

  it("is refused where a contribution would come twice", function()
    local s = gemm(10, 13, 7)
    s:reorder("k", "i", "j")
    untouched(s, function()
      local err = fails("cannot split i", "refused", function() s:split("i", 4, {tail = "shift"}) end)
      assert.equal("reduction", err.refusal.kind)
    end)
    fails("cannot split k", "refused", function() s:split("k", 4, {tail = "shift"}) end)
    s = gemm(10, 13, 7)
    s:decompose_reduction("C", "i")
    fails("cannot split i", "refused", function() s:split(s:loops "C"[1], 4, {tail = "shift"}) end)
  end)

  it("needs a whole round: as a constant, a fact, or the condition of a version", function()
    fails("outside of its own domain", "refused", function()
      local s = doubled(5)
      local ok, err = pcall(s.split, s, "i", 8, {tail = "shift"})
      assert(not ok)
      error({message = err.refusal.why, code = err.code}, 0)
    end)
    local s = doubled(nw.size("N", {min = 0}))
    local err = fails("cannot split i", "refused", function() s:split("i", 8, {tail = "shift"}) end)
    assert.equal('s:assume("8 <= N")', err.refusal.alternatives[1])
    assert.equal('s:specialize("8 <= N", "i")', err.refusal.alternatives[2])
    s:specialize("8 <= N", "i")
    s:split("then/i", 8, {tail = "shift"})
    s:vectorize "then/i_i"
    agrees(s)
    s = doubled(nw.size("N", {min = 0}))
    s:assume "N >= 8"
    s:split("i", 8, {tail = "shift"})
    agrees(s)
  end)

  it("runs in parallel once the last round is peeled", function()
    local s = doubled(nw.size("N", {min = 8}))
    s:split("i", 8, {tail = "shift"})
    local err = fails("cannot run i_o in parallel", "refused", function() s:parallel "i_o" end)
    assert.equal("waw", err.refusal.kind)
    s:cut("i_o", "N // 8")
    s:parallel "i_o.head"
    agrees(s)
  end)
end)

describe("a split with tail = pad", function()
  it("computes a temporary beyond its end", function()
    for _, n in ipairs {1, 7, 8, 9, 13, nw.size("N", {min = 0})} do
      local function make() return (staged(n)) end
      local s = make()
      local _, lanes = s:split("i", 8, {tail = "pad"})
      s:vectorize(lanes)
      assert.is_nil(tostring(s:show "lowered"):find "if ")
      agrees(s)
    end
  end)

  it("makes room in the storage of a tile", function()
    local A = nw.placeholder({102}, "f32", "A")
    local X = nw.compute({102}, function(i) return nw.cast(i, "f32") * 2 end, "X")
    local Y = nw.compute({100}, function(i) return X(i) + X(i + 2) + A(i) end, "Y")
    local s = nw.schedule(Y)
    s:split("i_1", 32)
    s:compute_at(X, "i_1_o")
    local _, lanes = s:split("i", 8, {tail = "pad"})
    s:set_scope(X, "local")
    s:vectorize(lanes)
    assert.truthy(tostring(s):find "alloc X%[40%]")
    agrees(s)
  end)

  it("is refused for outputs, reductions and reads that are not there", function()
    local s = gemm(10, 13, 7)
    untouched(s, function()
      fails("C is an output", "refused", function() s:split("i", 4, {tail = "pad"}) end)
      fails("no loop along what C stores", "refused", function() s:split("k", 4, {tail = "pad"}) end)
    end)
    s:split("i", 5, {tail = "pad"})
    assert.truthy(s:notes():find "divides evenly")
    local A = nw.placeholder({13}, "f32", "A")
    local X = nw.compute({13}, function(i) return A(i) * 2 end, "X")
    s = nw.schedule(nw.compute({13}, function(i) return X(i) + 1 end, "Y"))
    local err = fails("cannot split i", "refused", function() s:split("i", 8, {tail = "pad"}) end)
    assert.equal("bounds", err.refusal.kind)
  end)
end)

describe("a split with tail = predicate", function()
  it("makes the inner loop a vector with a mask", function()
    for _, n in ipairs(SIZES) do
      local s = doubled(n)
      s:split("i", 8, {tail = "predicate"})
      assert.truthy(tostring(s):find "vectorize for i_i in 0..8")
      local text = tostring(s:show "lowered")
      assert.truthy(text:find "ramp")
      assert.is_nil(text:find "for i_i")
      if n % 8 ~= 0 then assert.truthy(text:find "; ") end
      agrees(s)
    end
  end)

  it("is refused where there are no vectors", function()
    local s = gemm(16, 16, 13)
    untouched(s, function()
      fails("cannot split k", "refused", function() s:split("k", 8, {tail = "predicate"}) end)
      fails("it runs 512 times", "refused", function() s:split("i", 512, {tail = "predicate"}) end)
    end)
    s:vectorize "j"
    fails("it holds j, which is marked vectorize", "refused", function() s:split("i", 8, {tail = "predicate"}) end)
    fails("tail cannot be 'mask'", "invalid", function() s:split("i", 8, {tail = "mask"}) end)
  end)

  it("masks the innermost dimension of a tile", function()
    local s = gemm(13, 11, 5)
    s:tile("i", "j", 4, 8, {tail = "predicate"})
    s:reorder("k", "j_i")
    agrees(s)
  end)
end)

-- A mark that cannot be honoured is refused, never dropped: whatever the tail, what is vectorized runs as vectors.
describe("a vector loop with a tail", function()
  local function vector_code(s)
    local lowered, llvm = tostring(s:show "lowered"), tostring(s:show "llvm")
    assert.truthy(lowered:find "ramp", lowered)
    assert.truthy(llvm:find "<8 x float>", llvm)
    return lowered
  end

  it("is vectors for every tail", function()
    for _, tail in ipairs {"guard", "cut", "shift", "pad", "predicate"} do
      local s = staged(45)
      s:split("i", 8, {tail = tail})
      if tail ~= "predicate" then s:vectorize "i_i" end
      if tail == "cut" then s:vectorize "i.tail" end
      local text = vector_code(s)
      assert.is_nil(text:find "for i_i")
      agrees(s)
    end
  end)

  it("is vectors where the guard falls inside, is outside, or comes from two splits", function()
    local s = doubled(45)
    s:split("i", 8)
    s:reorder("i_i", "i_o") -- lanes far apart: the guard depends on the outer loop
    s:vectorize "i_i"
    vector_code(s)
    agrees(s)
    s = gemm(13, 13, 5)
    s:tile("i", "j", 8, 8)
    s:vectorize "i_i" -- around another guarded loop
    vector_code(s)
    agrees(s)
    s = doubled(45)
    local _, i_i = s:split("i", 16)
    local _, lanes = s:split(i_i, 6)
    s:vectorize(lanes)
    local text = tostring(s:show "lowered")
    assert.truthy(text:find "ramp")
    agrees(s)
  end)

  it("is refused where its extent is not constant", function()
    local s = doubled(nw.size "N")
    s:cut("i", 8)
    fails("its extent is not constant", "refused", function() s:vectorize "i.rest" end)
    fails("its extent is not constant", "refused", function() s:vectorize "i.head" end)
    s:undo()
    s:assume "N >= 8"
    s:cut("i", 8)
    s:vectorize "i.head"
    vector_code(s)
    agrees(s)
  end)
end)

describe("a stage in pieces", function()
  it("is moved whole: the pieces go, and fresh loops take their place", function()
    for _, n in ipairs {40, nw.size("N", {min = 0})} do
      local s, X = staged(n)
      s:split("i", {factor = 7, tail = "cut"})
      s:cut("i.tail", 36)
      local tail = s:loop "i.tail.rest"
      s:split("i_1", 8)
      s:compute_at(X, "i_1_o")
      fails("dropped for fresh loops of X", "stale", function() return tail.name end)
      agrees(s)
      s:compute_root(X)
      agrees(s)
    end
  end)

  it("is refused where there are versions of it, or its init is apart", function()
    local s = row_sums()
    s:specialize "M > 4"
    fails("it lives in 2 places", "refused", function() s:compute_at("then/X", "then/i_1") end)
    local A = nw.placeholder({9, 5}, "f32", "A")
    local k = nw.reduce_axis(5, "k")
    local R = nw.compute({9}, function(i) return nw.sum(A(i, k), k) end, "R")
    s = nw.schedule(nw.compute({9}, function(i) return R(i) + 1 end, "Y"))
    s:decompose_reduction(R, "k")
    fails("it must still be one block", "refused", function()
      local ok, err = pcall(s.compute_at, s, R, "i_1")
      assert(not ok)
      error({message = err.refusal.why, code = err.code}, 0)
    end)
  end)

  it("takes a number of parts and what is left over", function()
    for _, n in ipairs {0, 1, 3, 4, 5, 13, nw.size("N", {min = 0})} do
      for _, parts in ipairs {1, 2, 4, 7} do
        local s = doubled(n)
        s:split("i", {parts = parts, tail = "cut"})
        agrees(s)
      end
    end
  end)
end)
