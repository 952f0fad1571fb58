--- Tests the steps that decide how long the results of a stage are stored: sliding windows, rolling buffers and double buffers.
local nw = require "nestwright"
local support = require "support"
local computes, refuses = support.computes, support.refuses

-- Makes a blur of rows. Each row of Y needs three rows of X.
local function blur(h, w, dtype)
  local A = nw.placeholder({h + 2, w}, dtype or "i32", "A")
  local X = nw.compute({h + 2, w}, function(y, x) return A(y, x) * 3 end, "X")
  local Y = nw.compute({h, w}, function(y, x) return X(y, x) + X(y + 1, x) * 2 + X(y + 2, x) end, "Y")
  return nw.schedule(Y), X, Y, A
end

-- Returns the number of computed elements of the stage: the number of iterations of its blocks.
local function computed(s, stage)
  local runs = 0
  for _, one in ipairs(s:stages()) do
    if one.name == stage or one.name == stage .. ".pre" then
      local n = 1
      for _, loop in ipairs(s:loops(one.name)) do n = n * tonumber(tostring(loop):match "%.%.(%d+)") end
      runs = runs + n
    end
  end
  return runs
end

describe("store_at", function()
  it("computes every row once if the loops in between are serial", function()
    local s, X, Y = blur(12, 5)
    s:compute_at(X, s:loops(Y)[1])
    assert.equal(12 * 3 * 5, computed(s, "X"))
    s:store_at(X)
    assert.equal(14 * 5, computed(s, "X"))
    assert.truthy(s:notes():find "X slides along y_1")
    assert.equal("s:store_at \"X\"", s:trace():match "[^\n]*store_at[^\n]*")
    computes(s, {Y})
  end)

  it("computes the first rows of each strip again", function()
    local s, X, Y = blur(12, 5)
    local y_o, y_i = s:split(s:loops(Y)[1], 4)
    s:compute_at(X, y_i)
    s:store_at(X, y_o)
    assert.equal(3 * (2 + 4) * 5, computed(s, "X"))
    computes(s, {Y})
    s:parallel(y_o)
    computes(s, {Y})
  end)

  it("continues from strip to strip if all strips have the same storage", function()
    local s, X, Y = blur(12, 5)
    local _, y_i = s:split(s:loops(Y)[1], 4)
    s:compute_at(X, y_i)
    s:store_at(X)
    assert.equal(14 * 5, computed(s, "X"))
    computes(s, {Y})
  end)

  it("keeps earlier steps on other loops of the stage", function()
    local s, X, Y = blur(8, 16)
    s:compute_at(X, s:loops(Y)[1])
    local loops = s:loops(X)
    s:split(loops[#loops], 8)
    s:vectorize(s:loops(X)[4])
    s:store_at(X)
    assert.truthy(tostring(s):find("vectorize for y.pre/x_i in 0..8", 1, true))
    computes(s, {Y})
  end)

  it("works for any length of the last strip, any step and any size", function()
    for _, strip in ipairs {1, 2, 4, 5, 10, 11, 12} do
      local s, X, Y = blur(11, 3)
      local y_o, y_i = s:split(s:loops(Y)[1], strip)
      s:compute_at(X, y_i)
      s:store_at(X, y_o)
      computes(s, {Y})
    end
    local t, Z, W = blur(11, 3)
    local _, y_i = t:split(t:loops(W)[1], {factor = 4, tail = "cut"})
    t:compute_at(Z, y_i)
    assert.truthy(t:notes():find("X is also computed in", 1, true)) -- the tail reads it too
    computes(t, {W})
    local A = nw.placeholder({30}, "i32", "A")
    local X = nw.compute({30}, function(i) return A(i) + 1 end, "X")
    local Y = nw.compute({14}, function(i) return X(2 * i) + X(2 * i + 2) end, "Y")
    local s = nw.schedule(Y)
    s:compute_at(X, s:loops(Y)[1])
    s:store_at(X)
    assert.equal(2 * 14 + 1, computed(s, "X"))
    computes(s, {Y})
  end)

  it("works for symbolic sizes", function()
    local M, N = nw.size "M", nw.size "N"
    local A = nw.placeholder({M, N}, "f32", "A")
    local X = nw.compute({M + 2, N}, function(i, j) return A(nw.min(i, M - 1), j) + i end, "X")
    local Y = nw.compute({M, N}, function(i, j) return X(i, j) + X(i + 2, j) end, "Y")
    local s = nw.schedule(Y)
    s:compute_at(X, s:loops(Y)[1])
    s:store_at(X)
    s:rolling_buffer(X)
    local f = s:build()
    for _, m in ipairs {1, 2, 7} do
      local data = nw.zeros({m, 3}, "f32")
      for i = 1, data:count() do data:setflat(i, i * i % 13) end
      local want, got = nw.evaluate({Y}, {data})[1], f(data)
      for i = 1, want:count() do assert.equal(want:getflat(i), got:getflat(i)) end
    end
  end)

  it("moves a reduction with its window", function()
    local A = nw.placeholder({18, 6}, "i32", "A")
    local k = nw.reduce_axis(6, "k")
    local R = nw.compute({18}, function(i) return nw.sum(A(i, k), k) end, "R")
    local Y = nw.compute({16}, function(i) return R(i) + R(i + 1) + R(i + 2) end, "Y")
    local s = nw.schedule(Y)
    s:compute_at(R, s:loops(Y)[1])
    s:store_at(R)
    s:rolling_buffer(R)
    assert.equal(18 * 6, computed(s, "R"))
    computes(s, {Y})
  end)

  it("does not say that iterations share no rows if they are only not known to move in one direction", function()
    local A = nw.placeholder({64, 8}, "i32", "A")
    local D = nw.compute({64, 8}, function(y, x) return A(y, x) * 2 end, "D")
    local Q = nw.compute({30, 8}, function(y, x) return D(nw.max(y - 1, 0) - nw.min(y, 3) + 3, x) + D(2 * y + 1, x) end, "Q")
    local s = nw.schedule(Q)
    s:compute_at(D, s:loops(Q)[1])
    s:store_at(D)
    assert.is_nil(s:notes():find("share no elements", 1, true))
    assert.truthy(s:notes():find("its elements are not proven to move in one direction along y_1", 1, true))
    computes(s, {Q})
  end)

  it("is refused over a parallel loop: threads would need each other's rows", function()
    local s, X, Y = blur(12, 5)
    s:compute_at(X, s:loops(Y)[1])
    s:parallel(s:loops(Y)[1])
    local err = refuses(s, "cannot store X further out", "refused", s.store_at, s, X)
    assert.equal("raw", err.refusal.kind)
    assert.truthy(err.refusal.why:find "X%[2, 0%] is written at .* and read at .* by another thread")
  end)

  it("is refused if there is no moving window, or if no element can be kept", function()
    local s, X, Y = blur(12, 5)
    refuses(s, "it is not computed inside that loop", "refused", s.store_at, s, X, s:loops(Y)[1])
    refuses(s, "it is an output", "refused", s.store_at, s, Y)
    s:compute_at(X, s:loops(Y)[1])
    refuses(s, "already stored there", "refused", s.store_at, s, X, s:loops(Y)[1])
    s:store_at(X)
    refuses(s, "2 blocks write it: X.pre, X", "refused", s.store_at, s, X)
  end)

  it("names bad arguments", function()
    local s, X, Y = blur(12, 5)
    refuses(s, "store_at needs stage", "invalid", s.store_at, s)
    refuses(s, "no stage \"Q\"", nil, s.store_at, s, "Q")
    refuses(s, "no loop \"q\"", nil, s.store_at, s, X, "q")
    refuses(s, "expected a loop, got a number", "invalid", s.store_at, s, X, 3)
    refuses(s, "another schedule", "invalid", s.store_at, s, X, (blur(4, 4)):loops()[1])
    local y = s:loops(Y)[1]
    s:split(y, 4)
    refuses(s, "y_1_o", "stale", s.store_at, s, X, y)
  end)
end)

describe("rolling_buffer", function()
  local function rolled(options)
    local s, X, Y = blur(12, 5)
    s:compute_at(X, s:loops(Y)[1])
    s:store_at(X)
    if options then s:rolling_buffer(X, options) end
    return s, X, Y
  end

  it("stores as few rows as possible, rounded up to a power of two", function()
    local s, X, Y = rolled()
    s:rolling_buffer(X)
    assert.truthy(tostring(s):find("layout [_0 % 4, _1] in [4, 5]", 1, true))
    assert.truthy(s:notes():find "3 rows of X are used at once; 4 are stored")
    computes(s, {Y})
    s:set_scope(X, "local")
    computes(s, {Y})
  end)

  it("stores more rows than an iteration uses if the first rows need them", function()
    local A = nw.placeholder({40}, "i32", "A")
    local P = nw.compute({40}, function(y) return A(y) * 2 end, "P")
    local Q = nw.compute({39}, function(y) return P(y) + P(y + 1) end, "Q")
    local R = nw.compute({37}, function(y) return Q(y) - Q(y + 1) + Q(y + 2) end, "R")
    local s = nw.schedule(R)
    local y = s:loops(R)[1]
    s:compute_at(Q, y)
    s:compute_at(P, y)
    s:store_at(P)
    s:store_at(Q)
    local err = refuses(s, "cannot roll the buffer of P", "refused", s.rolling_buffer, s, P, {size = 2})
    assert.equal("war", err.refusal.kind)
    s:rolling_buffer(P)
    assert.truthy(tostring(s):find("layout [_0 % 4] in [4]", 1, true))
    assert.truthy(s:notes():find "4 rows of P are stored: an iteration uses 2, but a smaller power of two is too few")
    computes(s, {R})
  end)

  it("stores the given number of rows if it is enough", function()
    for _, size in ipairs {3, 4, 5, 14, 100} do
      local s, _, Y = rolled {size = size}
      computes(s, {Y})
    end
    local s, X = rolled()
    for _, size in ipairs {1, 2} do
      local err = refuses(s, "cannot roll the buffer of X", "refused", s.rolling_buffer, s, X, {size = size})
      assert.equal("war", err.refusal.kind)
      assert.equal("X[0, 0]", err.refusal.element)
      assert.truthy(err.refusal.why:find "overwrites it")
      local lesson = s:explain()
      assert.equal("place", lesson.how)
      assert.truthy(tostring(lesson):find "writes X%[%d.-%] %(at the same address%)", tostring(lesson))
    end
  end)

  it("rolls along the given dimension", function()
    local s, X, Y = rolled()
    s:rolling_buffer(X, 1)
    computes(s, {Y})
    s:undo()
    refuses(s, "the elements of X in use are the same in all iterations of y_1", "refused", s.rolling_buffer, s, X, 2)
    local err = refuses(s, "cannot roll", "refused", s.rolling_buffer, s, X, 2, {size = 2})
    assert.equal("war", err.refusal.kind)
  end)

  it("prevents the loops around it from running in parallel", function()
    local s = rolled {size = 3}
    local err = refuses(s, "cannot run y_1 in parallel", "refused", s.parallel, s, "y_1")
    assert.truthy(err.refusal.why:find "to the same location")
    local t, Z, Y = blur(12, 5)
    local y_o, y_i = t:split(t:loops(Y)[1], 4)
    t:compute_at(Z, y_i)
    t:store_at(Z, y_o)
    t:rolling_buffer(Z)
    t:parallel(y_o)
    computes(t, {Y})
  end)

  it("needs stack space only for the stored rows", function()
    local s, X = blur(2000, 512)
    s:compute_at(X, s:loops "Y"[1])
    s:store_at(X)
    local err = refuses(s, "cannot move X to local", "refused", s.set_scope, s, X, "local")
    assert.equal("capacity", err.refusal.kind)
    s:rolling_buffer(X)
    s:set_scope(X, "local")
  end)

  it("is refused if there is no window", function()
    local s, X, Y, A = blur(12, 5)
    refuses(s, "X is computed as a whole", "refused", s.rolling_buffer, s, X)
    refuses(s, "Y is an output", "refused", s.rolling_buffer, s, Y)
    refuses(s, "no stage \"A\"", nil, s.rolling_buffer, s, A)
    s:compute_at(X, s:loops(Y)[1])
    refuses(s, "X is allocated anew in every iteration of y_1", "refused", s.rolling_buffer, s, X)
    s:store_at(X)
    s:rolling_buffer(X)
    refuses(s, "X already has a layout", "refused", s.rolling_buffer, s, X)
  end)

  it("names bad arguments", function()
    local s, X = rolled()
    for _, dim in ipairs {0, -1, 3, 1 << 40} do
      refuses(s, "dim must be 1 to 2, not", "range", s.rolling_buffer, s, X, dim)
    end
    for _, size in ipairs {0, -4, 1 << 62, math.mininteger} do
      refuses(s, "size must be 1 to", "range", s.rolling_buffer, s, X, {size = size})
    end
    refuses(s, "size: expected a whole number", "invalid", s.rolling_buffer, s, X, {size = "3"})
    refuses(s, "unknown option", "invalid", s.rolling_buffer, s, X, {rows = 3})
  end)
end)

describe("a trace of placements", function()
  it("replays to the identical program, as Lua and as JSON", function()
    local s, X, Y = blur(12, 8)
    local y_o, y_i = s:split(s:loops(Y)[1], 4)
    s:compute_at(X, y_i, {index = 1})
    s:store_at(X, y_o)
    s:rolling_buffer(X, {size = 3})
    local copy = nw.schedule(Y)
    assert(load("local s = ... " .. s:trace()))(copy)
    assert.equal(s:text(), copy:text())
    local other = nw.schedule(Y)
    other:replay(s:trace "json")
    assert.equal(s:text(), other:text())
  end)
end)

describe("double_buffer", function()
  local function tiles()
    local A = nw.placeholder({16, 6}, "i32", "A")
    local P = nw.compute({16, 6}, function(i, j) return A(i, j) * 5 end, "P")
    local R = nw.compute({14, 6}, function(i, j) return P(i, j) + P(i + 2, j) end, "R")
    return nw.schedule(R), P, R
  end

  it("computes one iteration ahead, into storage for two", function()
    local s, P, R = tiles()
    local i_o = s:split(s:loops(R)[1], 4)
    s:compute_at(P, i_o)
    s:double_buffer(P)
    assert.truthy(tostring(s):find("layout [_0 % 10, _1] in [10, 6]", 1, true), tostring(s))
    assert.truthy(s:notes():find "P is computed one iteration of i_1_o ahead; P.pre")
    computes(s, {R})
    s:set_scope(P, "local")
    computes(s, {R})
  end)

  it("leaves no condition in the lowered program", function()
    local s, C, _, B = support.gemm(16)
    s:split("k", 4)
    s:reorder("k_o", "i", "j", "k_i")
    s:double_buffer(s:cache_read(B, "global", {C}, {at = "k_o"}))
    assert.is_nil(tostring(s:show "lowered"):find "if ")
    computes(s, {C})
  end)

  it("works inside parallel strips", function()
    local s, P, R = tiles()
    local i_o, i_i = s:split(s:loops(R)[1], 7)
    s:compute_at(P, i_i)
    s:double_buffer(P)
    s:parallel(i_o)
    computes(s, {R})
  end)

  it("says why it is refused", function()
    local s, P, R = tiles()
    refuses(s, "P is computed as a whole", "refused", s.double_buffer, s, P)
    refuses(s, "it is an output", "refused", s.double_buffer, s, R)
    refuses(s, "no stage \"A\"", nil, s.double_buffer, s, "A")
    refuses(s, "needs stage", "invalid", s.double_buffer, s)
    s:compute_at(P, s:loops(R)[1])
    s:parallel(s:loops(R)[1])
    local err = refuses(s, "cannot double the buffer of P", "refused", s.double_buffer, s, P)
    assert.equal("waw", err.refusal.kind)
    assert.truthy(err.refusal.why:find "another thread")
    local t, C, A = support.gemm(8)
    local copy = t:cache_read(A, "global", {C}, {at = "i"})
    t:compute_at(copy, "j")
    refuses(t, "every iteration of j computes the same part of A_global", "refused", t.double_buffer, t, copy)
  end)
end)

describe("cyclic storage", function()
  local function copied(layout)
    local s, C, A = support.gemm(24, 16, 20)
    local ko, ki = s:split("k", 4)
    s:reorder(ko, "i", "j", ki)
    s:cache_read(A, "global", {C}, {at = ko, layout = layout})
    return s
  end

  it("keeps a layout that reorders the dimensions", function()
    local s = copied(function(i, k) return k, i end)
    s:double_buffer "A_packed"
    assert.truthy(s:text():find("layout [_1 % 8, _0] in [8, 24]", 1, true), s:text())
    support.agrees(s)
  end)

  it("is refused for a layout that computes with the indices", function()
    local s = copied(function(i, k) return i // 8, k, i % 8 end)
    support.fails_saying("only a layout that reorders the dimensions can become cyclic", function() s:double_buffer "A_packed" end)
  end)
end)
