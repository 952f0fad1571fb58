--- Tests stages that calls of an intrinsic compute.
local nw = require "nestwright"
local support = require "support"
local fails = support.fails

local function numbers(shape, dtype, seed)
  local a = nw.zeros(shape, dtype or "f32")
  for n = 1, a:count() do a:setflat(n, (5 * n + (seed or 0)) % 7 - 2) end
  return a
end

local function vadd(n)
  local x, y = nw.placeholder({n}, "f32", "x"), nw.placeholder({n}, "f32", "y")
  local z = nw.compute({n}, function(i) return x(i) + y(i) end, "z")
  return nw.intrinsic {name = "vadd" .. n, args = {x, y, z}, source = ([[
    void vadd%d(const float *x, const float *y, float *z) { for (int i = 0; i < %d; i++) z[i] = x[i] + y[i]; }]]):format(n, n)}
end

local function mm(m, n, l, accumulate)
  local A, B, k = nw.placeholder({m, l}, "f32", "A"), nw.placeholder({l, n}, "f32", "B"), nw.reduce_axis(l, "k")
  local C = nw.compute({m, n}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
  local name = ("mm%d%d%d%s"):format(m, n, l, accumulate and "a" or "")
  return nw.intrinsic {name = name, args = {A, B, C}, accumulate = accumulate, source = ([[
    void %s(const float *A, const float *B, float *C, long lda, long ldb, long ldc) {
      for (int i = 0; i < %d; i++) for (int j = 0; j < %d; j++) {
        float sum = %s;
        for (int k = 0; k < %d; k++) sum += A[i*lda + k]*B[k*ldb + j];
        C[i*ldc + j] = sum;
      }
    }]]):format(name, m, n, accumulate and "C[i*ldc + j]" or "0", l)}
end

local add, product, more = vadd(16), mm(4, 8, 4, false), mm(4, 8, 4, true)

describe("a stage of calls", function()
  it("calls an intrinsic for each of its tiles", function()
    local A, B = nw.placeholder({6, 16}, "f32", "A"), nw.placeholder({6, 16}, "f32", "B")
    local C = nw.compute({6, 16}, function(i) return add(A(i, {0, 16}), B(5 - i, {0, 16})) end, "C")
    local s = nw.schedule(C)
    assert.truthy(tostring(s:show()):find("call vadd16", 1, true))
    assert.truthy(s:show "llvm":find("vadd16", 1, true))
    support.agree(s, {C}, {numbers {6, 16}, numbers({6, 16}, "f32", 3)})
    assert.is_true(s:reparses())
    s:parallel "i"
    support.agree(s, {C}, {numbers {6, 16}, numbers({6, 16}, "f32", 3)})
    support.replays(s, function() return nw.schedule(C) end)
  end)

  it("takes a whole tensor without ranges, and is read by other stages", function()
    local A, B = nw.placeholder({16}, "f32", "A"), nw.placeholder({16}, "f32", "B")
    local C = nw.compute({16}, function() return add(A, B) end, "C")
    local D = nw.compute({16}, function(i) return C(15 - i) * 2 end, "D")
    local s = nw.schedule(D)
    support.agree(s, {D}, {numbers {16}, numbers({16}, "f32", 3)})
  end)

  it("computes a product in tiles, each with a whole reduction", function()
    local A, B = nw.placeholder({12, 4}, "f32", "A"), nw.placeholder({4, 24}, "f32", "B")
    local C = nw.compute({3, 3, 4, 8}, function(i, j)
      return product(A({4 * i, 4 * i + 4}, {0, 4}), B({0, 4}, {8 * j, 8 * j + 8}))
    end, "C")
    local s = nw.schedule(C)
    support.agree(s, {C}, {numbers {12, 4}, numbers {4, 24}})
    s:reorder(s:loops(C)[2], s:loops(C)[1])
    support.agree(s, {C}, {numbers {12, 4}, numbers {4, 24}})
  end)

  it("shares a reduction between its calls", function()
    local A, B, k = nw.placeholder({8, 20}, "f32", "A"), nw.placeholder({20, 16}, "f32", "B"), nw.reduce_axis(5, "k")
    local C = nw.compute({2, 2, 4, 8}, function(i, j)
      return more(A({4 * i, 4 * i + 4}, {4 * k, 4 * k + 4}), B({4 * k, 4 * k + 4}, {8 * j, 8 * j + 8}), {reduce_axis = k})
    end, "C")
    local s = nw.schedule(C)
    support.agree(s, {C}, {numbers {8, 20}, numbers {20, 16}})
    assert.truthy(s:text():find("init block C_init of C", 1, true))
    s:parallel "i"
    support.agree(s, {C}, {numbers {8, 20}, numbers {20, 16}})
    support.replays(s, function() return nw.schedule(C) end)
    support.refuses(s, "k", "refused", function() s:parallel "k" end)
  end)

  it("is marked if a step changes the order in which its calls add floats", function()
    local function schedule(n)
      local A, B, k = nw.placeholder({4, 4 * n}, "f32", "A"), nw.placeholder({4 * n, 8}, "f32", "B"), nw.reduce_axis(n, "k")
      return nw.schedule(nw.compute({4, 8}, function()
        return more(A({0, 4}, {4 * k, 4 * k + 4}), B({4 * k, 4 * k + 4}, {0, 8}), {reduce_axis = k})
      end, "C"))
    end
    local function marked(s) return s:notes():find("floats are summed in another order", 1, true) ~= nil end
    for _, n in ipairs {8, nw.size "N"} do
      local s = schedule(n)
      local outer, inner = s:split("k", 4)
      assert.is_false(marked(s))
      s:reorder(inner, outer)
      assert.is_true(marked(s))
      s = schedule(n)
      s:reverse "k"
      assert.is_true(marked(s))
      s = schedule(n)
      local head, rest = s:cut("k", 1)
      assert.is_false(marked(s))
      s:reorder_stmts(head, rest)
      assert.is_true(marked(s))
    end
  end)

  it("may have a single tile", function()
    local A, B, k = nw.placeholder({4, 12}, "f32", "A"), nw.placeholder({12, 8}, "f32", "B"), nw.reduce_axis(3, "k")
    local C = nw.compute({4, 8}, function()
      return more(A({0, 4}, {4 * k, 4 * k + 4}), B({4 * k, 4 * k + 4}, {0, 8}), {reduce_axis = k})
    end, "C")
    local s = nw.schedule(C)
    support.agree(s, {C}, {numbers {4, 12}, numbers {12, 8}})
    local D = nw.compute({4, 8}, function() return more(A({0, 4}, {8, 12}), B({0, 4}, {0, 8})) end, "D")
    support.agree(nw.schedule(D), {D}, {numbers {4, 12}, numbers {12, 8}})
  end)

  it("has symbolic numbers of tiles", function()
    local N = nw.size "N"
    local A, B = nw.placeholder({N, 16}, "f32", "A"), nw.placeholder({N, 16}, "f32", "B")
    local C = nw.compute({N, 16}, function(i) return add(A(i, {0, 16}), B(i, {0, 16})) end, "C")
    local s = nw.schedule(C)
    for _, n in ipairs {1, 3, 8} do support.agree(s, {C}, {numbers {n, 16}, numbers({n, 16}, "f32", 3)}) end
  end)

  it("is written as C", function()
    local A, B = nw.placeholder({6, 16}, "f32", "A"), nw.placeholder({6, 16}, "f32", "B")
    local C = nw.compute({6, 16}, function(i) return add(A(i, {0, 16}), B(i, {0, 16})) end, "C")
    local ok, text = pcall(function() return tostring(nw.schedule(C):show "c") end)
    assert.truthy(ok and text:find "vadd16" or tostring(text):find "intrinsic")
  end)

  it("keeps its calls: a step that would change the nest of a call is refused", function()
    local A, B = nw.placeholder({6, 16}, "f32", "A"), nw.placeholder({6, 16}, "f32", "B")
    local C = nw.compute({6, 16}, function(i) return add(A(i, {0, 16}), B(i, {0, 16})) end, "C")
    local s = nw.schedule(C)
    support.refuses(s, "replaced by the call", "invalid", function() s:split(s:loops(C)[2], 4) end)
  end)
end)

describe("a stage of calls refuses", function()
  local A, B = nw.placeholder({6, 16}, "f32", "A"), nw.placeholder({6, 16}, "f32", "B")
  local I = nw.placeholder({6, 16}, "i32", "I")
  local function stage(f, shape) return function() return nw.compute(shape or {6, 16}, f, "C") end end

  it("a part of another size", function()
    fails("dimension 0 of tile x has 16 elements, but its part of A has 8", "type",
      stage(function(i) return add(A(i, {0, 8}), B(i, {0, 16})) end))
    fails("tile x has 1 dimension, but its part of A has 2 ranges", "type",
      stage(function(_) return add(A({0, 6}, {0, 16}), B({0, 6}, {0, 16})) end))
  end)

  it("another number of parts", function()
    fails("vadd16 reads 2 tiles, but got 1", "invalid", stage(function(i) return add(A(i, {0, 16})) end))
  end)

  it("a tensor of another dtype", function()
    fails("vadd16: I is i32, but x is f32", "type", stage(function(i) return add(I(i, {0, 16}), B(i, {0, 16})) end))
  end)

  it("a stage that is not made of tiles", function()
    fails("a call makes 16 elements of dimension 1 of C, which has 8", "type",
      stage(function(i) return add(A(i, {0, 16}), B(i, {0, 16})) end, {6, 8}))
    fails("the function of C must take 1 parameter, not 2", "invalid",
      stage(function(i, _) return add(A(i, {0, 16}), B(i, {0, 16})) end))
  end)

  it("parts outside of a tensor", function()
    fails("reads index 16 of dimension 1", "range", stage(function(i) return add(A(i, {1, 17}), B(i, {0, 16})) end))
  end)

  it("a shared reduction of an intrinsic that does not add", function()
    local k = nw.reduce_axis(2, "k")
    fails("accumulate = true", "invalid", function()
      nw.compute({4, 8}, function()
        return product(A({0, 4}, {4 * k, 4 * k + 4}), B({0, 4}, {0, 8}), {reduce_axis = k})
      end, "C")
    end)
  end)

  it("a state of a scan", function()
    local sum4, S = vadd(4), nw.scan_state({5, 4}, "f32", "S")
    local X = nw.placeholder({5, 4}, "f32", "A")
    local init = nw.compute({1, 4}, function(_, j) return X(0, j) end, "init")
    local G = nw.compute({5, 4}, function(t) return sum4(S(t - 1, {0, 4}), X(t, {0, 4})) end, "G")
    local update = nw.compute({5, 4}, function(t, j) return G(t, j) + 1 end, "update")
    fails("G is computed by calls of an intrinsic, and depends on a state of the scan", "invalid",
      function() nw.scan(init, update, S, "R") end)
  end)
  it("arithmetic on parts, and arguments that are not parts", function()
    fails("a part of A is not a number", "type", stage(function(i) return A(i, {0, 16}) + 1 end))
    fails("argument 1: expected a part of a tensor", "type", stage(function(i) return add(A(i, 0), B(i, {0, 16})) end))
    fails("expected an index or a range", "invalid", stage(function(i) return add(A(i, {0, 16, 1}), B(i, {0, 16})) end))
  end)

  it("a function with too few parameters that returns no call", function()
    fails("the function takes 1 parameter, but the shape has 2 dimensions", "invalid", stage(function(i) return A(i, 0) end))
  end)
end)
