--- Tests reindex, which makes copies with one dimension for each variable of a stage in a read.
package.path = "tests/tools/?.lua;" .. package.path
local kernels = require "microkernels"
local nw = require "nestwright"
local support = require "support"
local fails, refuses = support.fails, support.refuses

-- Returns the schedule of a convolution of an image with one border row and column on each side.
local function convolution(dtype)
  local A, W = nw.placeholder({8, 10, 4}, dtype or "f32", "A"), nw.placeholder({3, 3, 4, 5}, dtype or "f32", "W")
  local r, q, c = nw.reduce_axis(3, "r"), nw.reduce_axis(3, "q"), nw.reduce_axis(4, "c")
  local C = nw.compute({6, 8, 5}, function(y, x, o)
    return nw.sum(A(y + r, x + q, c) * W(r, q, c, o), {r, q, c})
  end, "C")
  return nw.schedule(C), C, A, W
end

-- The border of this convolution is made of zeros that are not stored.
local function padded(dtype, value)
  local A, W = nw.placeholder({6, 8, 4}, dtype, "A"), nw.placeholder({3, 3, 4, 16}, dtype, "W")
  local P = nw.compute({8, 10, 4}, function(y, x, c)
    return nw.select(nw.all(nw.ge(y, 1), nw.le(y, 6), nw.ge(x, 1), nw.le(x, 8)), A(y - 1, x - 1, c), value or 0)
  end, "P")
  local r, q, c = nw.reduce_axis(3, "r"), nw.reduce_axis(3, "q"), nw.reduce_axis(4, "c")
  local C = nw.compute({6, 8, 16}, function(y, x, o)
    return nw.sum(P(y + r, x + q, c) * W(r, q, c, o), {r, q, c})
  end, "C")
  local s = nw.schedule(C)
  s:compute_inline(P)
  return s, C, A, W
end

-- Compares all ways of running the schedule on random data, bit by bit with the definition.
local function same_bits(s, C, arguments)
  local want = nw.evaluate(C, arguments)[1]
  for _, got in ipairs {nw.interpret(s, arguments)[1], nw.interpret(s, arguments, {lowered = true})[1],
    (s:build {threads = 2}(table.unpack(arguments)))} do
    assert.is_true(nw.allclose(want, got, {rtol = 0, atol = 0}))
  end
end

local function has(s, ...)
  for _, line in ipairs {...} do assert.truthy(s:text():find(line, 1, true), line) end
end

describe("reindex", function()
  it("makes a dimension of each variable in the read", function()
    local s, C, A, W = convolution "i32"
    local copy = s:reindex(C, A)
    assert.equal("A_reindex", copy.name)
    has(s, "temp A_reindex: i32[6, 8, 3, 3, 4]", "A_reindex[y, x, r, q, c] = A[r + y, q + x, c]",
      "C[y, x, o] += A_reindex[y, x, r, q, c]*W[r, q, c, o]")
    s:reindex(C, W) -- the order of the stage's axes, so this copy is transposed
    has(s, "temp W_reindex: i32[5, 3, 3, 4]", "W_reindex[o, r, q, c] = W[r, q, c, o]")
    assert.equal('s:reindex("C", "A")\ns:reindex("C", "W")\n', s:trace())
    assert.is_false(s:rounds())
    assert.is_true(s:reparses())
    support.replays(s, function() return nw.schedule(C) end)
    same_bits(s, C, {nw.random({8, 10, 4}, "i32", {seed = 1}), nw.random({3, 3, 4, 5}, "i32", {seed = 2})})
    s:undo(2)
    assert.is_nil(s:text():find("_reindex", 1, true))
  end)

  it("gives the copy a scope, a layout, a name and a loop", function()
    local s, C, A = convolution "i32"
    s:reindex(C, A, {scope = "local", name = "columns", at = "y", layout = function(y, x, r, q, c) return x, y, r, q, c end})
    has(s, "temp columns: i32[6, 8, 3, 3, 4] local layout [_1, _0, _2, _3, _4]", "alloc columns[y..y + 1, 0..8, 0..3, 0..3, 0..4]")
    same_bits(s, C, {nw.random({8, 10, 4}, "i32", {seed = 1}), nw.random({3, 3, 4, 5}, "i32", {seed = 2})})
  end)

  it("makes a stage that can be moved, inlined, split and vectorized", function()
    local s, C, A = convolution()
    local naive = tostring(s)
    local copy = s:reindex(C, A)
    s:compute_at(copy, "x")
    local loops = s:loops(copy)
    s:vectorize(loops[#loops])
    assert.truthy(s:check())
    s:undo(2)
    s:transform_layout(copy, function(y, x, r, q, c) return y, x // 4, r, q, c, x % 4 end)
    assert.truthy(s:check())
    s:compute_inline(copy)
    assert.equal(naive, tostring(s))
  end)

  it("copies the constant that is used where a condition does not hold", function()
    for _, value in ipairs {0, 7} do
      local s, C, A = padded("i32", value)
      s:reindex(C, A)
      has(s, ("A[r + y - 1, q + x - 1, c], i32(%d))"):format(value), "C[y, x, o] += A_reindex[y, x, r, q, c]*W[r, q, c, o]")
      same_bits(s, C, {nw.random({6, 8, 4}, "i32", {seed = 1}), nw.random({3, 3, 4, 16}, "i32", {seed = 2})})
    end
  end)

  it("keeps the condition of a sum that is trimmed, because the judge must see that the missing terms are 0", function()
    local M = nw.size "M"
    local A = nw.placeholder({M}, "i32", "A")
    local X = nw.compute({M}, function(i) return A(i) * 2 end, "X")
    local k = nw.reduce_axis(nw.min(M, 4), "k")
    local s = nw.schedule(nw.compute({}, function() return nw.sum(nw.select(nw.ge(k, 1), X(k), 0), k) end, "Y"))
    s:decompose_reduction("Y", "k")
    s:trim "k"
    s:reindex("Y", "X")
    has(s, "X_reindex[k] = select(1 <= k, X[k], i32(0))", "for k in 1..min(M - 1, 3) + 1:",
      "Y[] += select(1 <= k, X_reindex[k], i32(0))")
    assert(s:check())
  end)

  it("lets a padded convolution be tensorized as matrix products", function()
    local function steps(s, C, mm)
      local _, x, o, r, q, c = table.unpack(s:loops(C))
      s:reorder(r, q, x, o, c)
      s:decompose_reduction(C, r)
      s:tensorize(x, mm)
    end
    local mm = kernels.gemm {name = "im2col_f32", m = 8, n = 16, k = 4, dtype = "f32"}
    local s, C = padded "f32"
    fails("does not match im2col_f32", "refused", steps, s, C, mm)
    s, C = padded "f32"
    s:reindex(C, "A")
    steps(s, C, mm)
    local a, w = nw.random({6, 8, 4}, "f32", {seed = 1}), nw.random({3, 3, 4, 16}, "f32", {seed = 2})
    assert.is_true(nw.allclose(nw.evaluate(C, {a, w})[1], s:build()(a, w), {rtol = 0, atol = 1e-4}))
    assert.truthy(s:check())
  end)

  it("reads the copy with the first value of a variable subtracted", function()
    local A, H = nw.placeholder({32, 20}, "f32", "A"), nw.scan_state({32, 20}, "f32", "H")
    local first = nw.compute({1, 20}, function(t, x) return A(t, x) end, "first")
    local update = nw.compute({32, 20}, function(t, x) return H(t - 1, x) + A(t, 19 - x) end, "update")
    local S = nw.scan(first, update, H, "S")
    local s = nw.schedule(S)
    s:reindex(S, A)
    has(s, "temp A_reindex: f32[31, 20]", "A_reindex[t, x] = A[t + 1, 19 - x]", "A_reindex[t - 1, x]")
    assert.truthy(s:check())
  end)

  it("copies a read whose index is data, and a read in an index", function()
    local A, I = nw.placeholder({12, 3}, "i32", "A"), nw.placeholder({8}, "i32", "I")
    local Y = nw.compute({8, 3}, function(i, j) return A(nw.clamp(I(i), 0, 11), j) * 2 end, "Y")
    for _, tensor in ipairs {A, I} do
      local s = nw.schedule(Y)
      s:reindex(Y, tensor)
      assert.truthy(s:check())
      assert.is_true(s:reparses())
    end
  end)

  it("chooses one of several reads by its number", function()
    local A = nw.placeholder({12}, "f32", "A")
    local Y = nw.compute({10}, function(i) return A(i) * A(i + 2) - A(i) end, "Y")
    local s = nw.schedule(Y)
    local err = refuses(s, "Y reads 1: A%[i%], 2: A%[i %+ 2%]", "refused", s.reindex, s, Y, A)
    assert.truthy(tostring(err):find("choose it with the option access", 1, true))
    assert.truthy(tostring(err):find('s:reindex("Y", "A", {access = 1})', 1, true))
    for _, bad in ipairs {0, 3, -1, 1 << 40} do
      fails("Y has no access " .. tostring(bad):gsub("%-", "%%-") .. " of A", "invalid", s.reindex, s, Y, A, {access = bad})
    end
    s:reindex(Y, A, {access = 2})
    has(s, "Y[i] = A[i]*A_reindex[i] - A[i]", "A_reindex[i] = A[i + 2]")
    s:reindex(Y, A, {access = 1, name = "first"})
    has(s, "Y[i] = first[i]*A_reindex[i] - first[i]")
    assert.truthy(s:check())
  end)

  it("is proven for every size", function()
    local M = nw.size "M"
    local A, r = nw.placeholder({M + 2}, "f32", "A"), nw.reduce_axis(3, "r")
    local Y = nw.compute({M}, function(i) return nw.sum(A(i + r), r) end, "Y")
    local s = nw.schedule(Y)
    s:reindex(Y, A)
    has(s, "temp A_reindex: f32[M, 3]")
    assert.truthy(s:check())
  end)

  it("reads the copy only in the named piece of a stage", function()
    local A = nw.placeholder({12}, "f32", "A")
    local Y = nw.compute({10}, function(i) return A(i + 2) * 3 end, "Y")
    local s = nw.schedule(Y)
    s:cut("i", 4)
    s:reindex(s:stages()[1], A)
    assert.equal(1, select(2, s:text():gsub("A_reindex%[i%]%*3.0", "")))
    assert.truthy(s:check())
  end)

  it("lets a stage write its result through a temporary with a dimension for each axis", function()
    local A, k = nw.placeholder({5, 7, 3}, "i32", "A"), nw.reduce_axis(3, "k")
    local P = nw.compute({5, 7}, function(i, j) return nw.sum(A(i, j, k), k) end, "P")
    local D = nw.compute({35}, function(p) return P(p // 7, p % 7) end, "D")
    local s = nw.schedule(D)
    s:reverse_compute_inline(D)
    has(s, "D[7*i + j] += A[i, j, k]")
    local rows = s:reindex(D, D)
    assert.equal("D_reindex", rows.name)
    has(s, "temp D_reindex: i32[5, 7]", "D_reindex[i, j] += A[i, j, k]", "D[7*i + j] = D_reindex[i, j]")
    assert.equal('s:reverse_compute_inline "D"\ns:reindex("D", "D")\n', s:trace())
    assert.is_true(s:reparses())
    support.replays(s, function() return nw.schedule(D) end)
    local loops = s:loops(rows)
    s:vectorize(loops[2])
    assert.truthy(s:check())
    same_bits(s, D, {nw.random({5, 7, 3}, "i32", {seed = 1})})
    s:undo(2)
    s:split("i", 2)
    s:reindex(D, D, {at = "i_o", scope = "local", name = "tile", layout = function(i, j) return j, i end})
    has(s, "temp tile: i32[5, 7] local layout [_1, _0]", "alloc tile[")
    same_bits(s, D, {nw.random({5, 7, 3}, "i32", {seed = 1})})
  end)

  it("refuses a result that has no axis", function()
    local A, k = nw.placeholder({8}, "f32", "A"), nw.reduce_axis(8, "k")
    local S = nw.compute({}, function() return nw.sum(A(k), k) end, "S")
    local s = nw.schedule(S)
    refuses(s, "S writes only one element", "refused", s.reindex, s, S, S)
  end)

  it("names the stages and tensors that can be used", function()
    local s, C = convolution()
    local before = s:text()
    fails("no tensor \"Q\"; tensors are A, W, C", "invalid", s.reindex, s, C, "Q")
    fails("stages are C", nil, s.reindex, s, "A", "C")
    refuses(s, "it is the result of C", "refused", s.reindex, s, C, C, {access = 1})
    local A = nw.placeholder({4}, "f32", "A")
    local X = nw.compute({4}, function(i) return A(i) * 2 end, "X")
    local Y = nw.compute({3}, function(i) return X(i) + X(1) end, "Y")
    local t = nw.schedule(Y)
    refuses(t, "Y does not read A", "refused", t.reindex, t, Y, A)
    refuses(t, "Y reads only one element of it", "refused", t.reindex, t, Y, X, {access = 2})
    assert.equal(before, s:text())
  end)
end)
