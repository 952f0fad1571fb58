--- Tests decompose_padding, which splits a stage with a constant border into a fill and a copy.
local nw = require "nestwright"
local support = require "support"
local refuses = support.refuses

-- Returns the schedule of an image P with one border row and column on each side, and of a sum C over its windows.
local function convolution(dtype, value)
  local A, W = nw.placeholder({6, 8}, dtype or "i32", "A"), nw.placeholder({3, 3}, dtype or "i32", "W")
  local P = nw.compute({8, 10}, function(y, x)
    return nw.select(nw.all(nw.ge(y, 1), nw.le(y, 6), nw.ge(x, 1), nw.le(x, 8)), A(y - 1, x - 1), value or 0)
  end, "P")
  local r, q = nw.reduce_axis(3, "r"), nw.reduce_axis(3, "q")
  local C = nw.compute({6, 8}, function(y, x) return nw.sum(P(y + r, x + q) * W(r, q), {r, q}) end, "C")
  return nw.schedule(C), P, C
end

local function arguments(dtype)
  return {nw.random({6, 8}, dtype or "i32", {seed = 1}), nw.random({3, 3}, dtype or "i32", {seed = 2})}
end

-- Compares all ways of running the schedule, bit by bit with the definition.
local function same_bits(s, C, args)
  local want = nw.evaluate(C, args)[1]
  for _, got in ipairs {nw.interpret(s, args)[1], nw.interpret(s, args, {lowered = true})[1],
    (s:build {threads = 2}(table.unpack(args)))} do
    assert.is_true(nw.allclose(want, got, {rtol = 0, atol = 0}))
  end
end

local function lowered(s) return tostring(s:show "lowered") end

local function has(s, ...)
  for _, line in ipairs {...} do assert.truthy(tostring(s):find(line, 1, true), line .. "\n" .. tostring(s)) end
end

describe("decompose_padding", function()
  it("makes a loop of constant stores, and a copy without a condition", function()
    local s, P, C = convolution()
    local fill = s:decompose_padding(P, "y")
    assert.equal("P_fill", fill.name)
    has(s, "for y_fill in 0..8:\n  for x_fill in 0..10:\n    P[y_fill, x_fill] = i32(0)  # P_fill",
      "for y in 1..7:\n  for x in 1..9:\n    P[y, x] = A[y - 1, x - 1]")
    has(lowered(s), "P[10*y_fill + x_fill] = i32(0)\n", "P[10*y + x] = A[8*y + x - 9]")
    assert.is_nil(lowered(s):find("select", 1, true))
    assert.equal('s:decompose_padding("P", "y")\n', s:trace())
    assert.is_false(s:rounds())
    assert.is_true(s:reparses())
    support.replays(s, function() return nw.schedule(C) end)
    same_bits(s, C, arguments())
    s:undo(1)
    assert.is_nil(tostring(s):find("fill", 1, true))
  end)

  it("places the fill before an inner loop", function()
    local s, P = convolution("f32", 2.5)
    s:decompose_padding(P, "x")
    has(s, "for y in 0..8:\n  for x_fill in 0..10:\n    P[y, x_fill] = 2.5",
      "if 1 <= y and y <= 6:\n      P[y, x] = A[y - 1, x - 1]")
    assert.is_nil(lowered(s):find("select", 1, true))
    assert.is_nil(lowered(s):find("if ", 1, true))
    assert.truthy(s:check())
  end)

  it("keeps the extents of lanes, and trims the loops of a split", function()
    local s, P, C = convolution()
    local o, i = s:split("x", 5)
    s:vectorize(i)
    s:decompose_padding(P, "y")
    has(s, "for y in 1..7:", "vectorize for x_i in 0..5")
    assert.truthy(s:log():find("keeps all its iterations", 1, true))
    same_bits(s, C, arguments())
    s:undo(2)
    s:decompose_padding(P, o)
    has(s, "for x_i in max(1 - 5*x_o, 0)..min(8 - 5*x_o, 4) + 1:", "P[y, 5*x_o + x_i] = A[y - 1, 5*x_o + x_i - 1]")
    same_bits(s, C, arguments())
  end)

  it("is legal in the loops of the reader", function()
    local s, P, C = convolution()
    s:split("y_1", 2)
    s:compute_at(P, "y_1_o")
    s:decompose_padding(P, s:loops(P)[2])
    has(s, "alloc P[4, 10]")
    assert.is_nil(lowered(s):find("select", 1, true))
    same_bits(s, C, arguments())
  end)

  it("lets fill and copy be scheduled separately", function()
    local s, P, C = convolution()
    local fill = s:decompose_padding(P, "y")
    local _, lane = s:split(s:fuse(table.unpack(s:loops(fill))), 8)
    s:vectorize(lane)
    local y, x = table.unpack(s:loops(P))
    s:parallel(y)
    s:split(x, 4)
    s:reorder_storage(P, {1, 0})
    assert.truthy(s:check())
    same_bits(s, C, arguments())
    s:compute_inline(P)
    assert.is_nil(tostring(s):find("P[", 1, true))
    same_bits(s, C, arguments())
  end)

  it("works on an output, on every size and on a copy", function()
    local N, M = nw.size("N", {min = 0}), nw.size("M", {min = 0})
    local A = nw.placeholder({N, M}, "f32", "A")
    local P = nw.compute({N + 2, M + 3}, function(y, x)
      return nw.select(nw.all(nw.ge(y, 1), nw.le(y, N), nw.ge(x, 1), nw.le(x, M)), A(y - 1, x - 1), -1)
    end, "P")
    local s = nw.schedule(P)
    s:decompose_padding(P, "y")
    has(s, "for y in 1..N + 1:\n  for x in 1..M + 1:\n    P[y, x] = A[y - 1, x - 1]")
    assert.is_nil(lowered(s):find("select", 1, true))
    assert.is_nil(lowered(s):find("if ", 1, true))
    assert.truthy(s:check())

    local B, r = nw.placeholder({20}, "i32", "B"), nw.reduce_axis(3, "r")
    local Y = nw.compute({20}, function(i)
      local at = i + r - 1
      return nw.sum(nw.select(nw.all(nw.ge(at, 0), nw.lt(at, 20)), B(at), 0), r)
    end, "Y")
    local t = nw.schedule(Y)
    local copy = t:reindex(Y, B)
    t:decompose_padding(copy, t:loops(copy)[1])
    assert.is_nil(lowered(t):find("select", 1, true))
    assert.truthy(t:check())
    same_bits(t, Y, {nw.random({20}, "i32", {seed = 3})})
  end)

  it("lets the copy read a copy of its tensor", function()
    local s, P, C = convolution()
    s:decompose_padding(P, "y")
    s:reindex(P, "A", {scope = "local"})
    has(s, "P[y, x] = A_reindex[y, x]")
    same_bits(s, C, arguments())
    s:cache_read("A", "local")
    same_bits(s, C, arguments())
  end)

  it("keeps a guard if the condition is not a range of the loops", function()
    local A = nw.placeholder({12}, "i32", "A")
    local P = nw.compute({12}, function(i)
      return nw.select(nw.any(nw.lt(i, 3), nw.gt(i, 7)), A(i) * 2, 5)
    end, "P")
    local s = nw.schedule(P)
    s:decompose_padding(P, "i")
    has(lowered(s), "if i < 3 or 7 < i:\n    P[i] = i32(2)*A[i]")
    assert.truthy(s:check())
    same_bits(s, P, {nw.random({12}, "i32", {seed = 4})})
  end)

  it("refuses stages without a constant border, and orders in which the fill comes too late", function()
    local s, P, C = convolution()
    refuses(s, "it is a reduction", "refused", s.decompose_padding, s, C, "y_1")
    refuses(s, "it is not inside that loop", "refused", s.decompose_padding, s, P, "y_1")
    local A = nw.placeholder({8, 6}, "f32", "A")
    local X = nw.compute({8, 6}, function(i, j) return A(i, j) * 2 end, "X")
    local V = nw.compute({8, 6}, function(i, j) return nw.select(nw.gt(X(i, j), 0), X(i, j), 0) end, "V")
    local t = nw.schedule(V)
    refuses(t, "X has no constant border", "refused", t.decompose_padding, t, X, "i")
    refuses(t, "its condition reads a tensor", "refused", t.decompose_padding, t, V, "i_1")
    s:decompose_padding(P, "y")
    refuses(s, "it runs only where its condition holds", "refused", s.decompose_padding, s, P, "y")
    refuses(s, "it is already a fill", "refused", s.decompose_padding, s, "P_fill", "y_fill")
    support.fails_saying("P[1, 1] is filled with a constant at (y_fill=1, x_fill=1), but its value is stored before that",
      s.reorder_stmts, s, "y_fill", "y")
    refuses(s, "2 blocks write it", "refused", s.compute_at, s, P, "y_1")
    refuses(s, "P_fill stores its border", "refused", s.set_dtype, s, P, "i64")
    s:undo(1)
    s:cut("y", 1)
    refuses(s, "its condition never holds", "refused", s.decompose_padding, s, "P.head", "y.head")
    s:undo(1)
    s:decompose_padding(P, "y")
    refuses(s, "P_fill stores its border", "refused", s.rewrite, s, P, "x", "(x + 1)*(x + 1) - x*x - x - 1")
    support.fails_saying("use reindex before the step that made that block", s.reindex, s, P, P)
  end)
end)
