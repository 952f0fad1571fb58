--- Intrinsics: what may be registered, what a nest must look like, and that what runs is right.
package.path = "tests/tools/?.lua;" .. package.path
local kernels = require "microkernels"
local nw = require "nestwright"

local function gemm(m, n, k, o)
  o = o or {}
  local t = kernels.gemm_tensors(m, n, k, o.dtype or "i32", o.bt)
  return nw.schedule(t[3]), t[3], t[1], t[2]
end

local function fails(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  assert.is_true(type(err) == "table", tostring(err))
  return tostring(err), err
end

local function fails_saying(pattern, f, ...)
  local text, err = fails(f, ...)
  assert.is_truthy(text:find(pattern, 1, true), text)
  return err
end

local mm -- C[4, 8] += A[4, 2]*B[2, 8] of i32
setup(function() mm = kernels.gemm {name = "mm", m = 4, n = 8, k = 2} end)

-- ---- registering

describe("an intrinsic", function()
  local SOURCE = kernels.gemm_source {name = "bad", m = 4, n = 8, k = 2}
  local function register(source, more)
    local spec = {name = "bad", args = kernels.gemm_tensors(4, 8, 2, "i32"), accumulate = true, source = source, timeout = 1,
      strides = {A = {"any", "any"}, B = {"any", "any"}, C = {"any", "any"}}}
    for key, value in pairs(more or {}) do spec[key] = value end
    return nw.intrinsic(spec)
  end
  local function changed(from, to)
    local text, n = SOURCE:gsub(from, to, 1)
    assert(n == 1)
    return text
  end

  it("has a time limit that is a time", function()
    for _, seconds in ipairs {-1, 0, 1e9, 0 / 0} do
      fails_saying("not a number of seconds above 0", register, SOURCE, {timeout = seconds})
    end
  end)

  it("is what it says it is", function()
    local good = register(SOURCE)
    assert.are.equal("bad", good.name)
    assert.is_true(good.jump_safe)
    assert.is_truthy(tostring(good):find("C[i, j] = sum(A[i, k]*B[k, j], k)", 1, true))
    assert.are.equal(good.id, register(SOURCE).id)
    assert.are_not.equal(good.id, register(SOURCE .. "\n").id)
  end)
  it("that computes something else is refused with the first element that differs", function()
    fails_saying("intrinsic bad failed its trial: C[3, 0] is", register, changed("i < 4", "i < 3"))
    fails_saying("failed its trial: C[0, 0] is", register, changed("sum %+=", "sum -="))
  end)
  it("that reads or writes beside its tiles is refused", function()
    fails_saying("behind the end of", register, changed("i < 4", "i < 5"))
    fails_saying("writes outside of the tile of C", register,
      changed("= sum;", "= sum; if (j == 7 && i < 3 && ci > 8*cj) C[i*ci + 8*cj] = 0;"))
    fails_saying("writes A, which it may only read", register, changed("int32_t sum", "((int32_t *)A)[0] = 1; int32_t sum"))
  end)
  it("that ignores a stride is refused", function()
    fails_saying("the tiles had strides", register, changed("i%*ai", "i*2"))
    fails_saying("the tiles had strides", register, changed("j%*cj%] = sum", "j] = sum"))
  end)
  it("that crashes, exits or hangs is an error of its registration", function()
    fails_saying("crashed: Segmentation fault", register, changed("int32_t sum", "*(volatile int *)8 = 1; int32_t sum"))
    fails_saying("crashed: Illegal instruction", register, changed("int32_t sum", "__builtin_trap(); int32_t sum"))
    fails_saying("ended its process, with status 3", register,
      "#include <stdlib.h>\n" .. changed("int32_t sum", "exit(3); int32_t sum"))
    fails_saying("did not end within 1 seconds", register, changed("int32_t sum", "for (volatile int x = 1; x;) {} int32_t sum"))
    assert.is_truthy(register(SOURCE))
  end)
  it("that reads the output it should only write is refused", function()
    fails_saying("failed its trial", register, SOURCE, {accumulate = false})
  end)
  it("that does not compile says what the compiler says", function()
    fails_saying("failed: ", register, "void bad(")
    fails_saying("has no function bad", register, "void other(void) {}")
  end)
  it("that calls a library is not jump-safe", function()
    local f = register("#include <stdlib.h>\n" .. changed("int32_t sum", "free(malloc(1)); int32_t sum") .. "/**/")
    assert.is_boolean(f.jump_safe)
    local g = register("#include <stdio.h>\n" .. changed("int32_t sum", "fflush(stdout); int32_t sum"))
    assert.is_false(g.jump_safe)
  end)
  it("needs sensible arguments", function()
    fails_saying("named by letters", register, SOURCE, {name = "a b"})
    fails_saying("unknown option 'sauce'", register, SOURCE, {sauce = 1})
    fails_saying("one of them", register, nil)
    fails_saying("one of them", register, SOURCE, {library = "x.so"})
    fails_saying("args holds tensors", register, SOURCE, {args = {1, 2}})
    fails_saying("is not among its arguments", function()
      local t = kernels.gemm_tensors(4, 8, 2, "i32")
      return nw.intrinsic {name = "bad", args = {t[1], t[3]}, source = SOURCE}
    end)
    fails_saying("2 dimensions, and 1 strides", register, SOURCE, {strides = {A = {1}}})
    fails_saying("unknown option 'D'", register, SOURCE, {strides = {D = {1}}})
    fails_saying("cannot load", register, nil, {library = "/no/such.so"})
  end)
  it("has a description of one stage, constant sizes, and indices alone", function()
    local function describe_it(make)
      local args = {make()}
      return nw.intrinsic {name = "bad", args = args, source = "void bad(void) {}"}
    end
    fails_saying("symbolic size", describe_it, function()
      local A = nw.placeholder({nw.size "M"}, "i32", "A")
      return A, nw.compute({A:shape()[1]}, function(i) return A(i) end, "B")
    end)
    fails_saying("outside of an index", describe_it, function()
      local A = nw.placeholder({8}, "i32", "A")
      return A, nw.compute({8}, function(i) return A(i) + nw.cast(i, "i32") end, "B")
    end)
    fails_saying("never touches A[8]", describe_it, function()
      local A = nw.placeholder({9}, "i32", "A")
      return A, nw.compute({8}, function(i) return A(i) end, "B")
    end)
    fails_saying("more than one stage", describe_it, function()
      local A = nw.placeholder({8}, "i32", "A")
      local B = nw.compute({8}, function(i) return A(i) + 1 end, "B")
      return A, nw.compute({8}, function(i) return B(i) + 1 end, "D")
    end)
    fails_saying("along one dimension of A alone", describe_it, function()
      local A = nw.placeholder({8, 8}, "i32", "A")
      return A, nw.compute({8}, function(i) return A(i, i) end, "B")
    end)
  end)
end)

-- ---- what matches

-- Splits the loops of a product for mm: the nest of the tile is outermost at i_i.
local function tiled(s, i, j, k)
  s:tile("i", "j", i or 4, j or 8)
  s:split("k", k or 2)
  s:reorder("i_o", "j_o", "k_o", "i_i", "j_i", "k_i")
end

local function agrees(s)
  assert.is_true(s:reparses())
  assert.is_truthy(s:check():find "agree")
end

describe("tensorize", function()
  it("puts the nest into a call, and all ways to run it agree", function()
    local s, C = gemm(12, 16, 6)
    tiled(s)
    s:decompose_reduction(C, "k_o")
    s:tensorize("i_i", mm)
    assert.is_truthy(tostring(s):find("call mm:", 1, true))
    assert.is_truthy(tostring(s:show "lowered"):find("call mm (A[", 1, true))
    assert.is_truthy(tostring(s:show "llvm"):find("nwi.mm", 1, true))
    agrees(s)
  end)
  it("takes the loops of a tile in any order", function()
    for _, order in ipairs {{"i_i", "j_i", "k_i"}, {"k_i", "j_i", "i_i"}, {"j_i", "k_i", "i_i"}} do
      local s, C = gemm(8, 16, 4)
      tiled(s)
      s:reorder(table.unpack(order))
      s:decompose_reduction(C, "k_o")
      s:tensorize(order[1], mm)
      agrees(s)
    end
  end)
  it("takes operands the other way round, and a transposed matrix by its strides", function()
    local A, B = nw.placeholder({8, 6}, "i32", "P"), nw.placeholder({16, 6}, "i32", "Q")
    local k = nw.reduce_axis(6, "k")
    local C = nw.compute({8, 16}, function(i, j) return nw.sum(B(j, k) * A(i, k), k) end, "R")
    local s = nw.schedule(C)
    tiled(s)
    s:decompose_reduction(C, "k_o")
    s:tensorize("i_i", mm)
    agrees(s)
  end)
  it("takes rows and columns exchanged", function()
    local A, B = nw.placeholder({6, 8}, "i32", "P"), nw.placeholder({16, 6}, "i32", "Q")
    local k = nw.reduce_axis(6, "k")
    local C = nw.compute({16, 8}, function(i, j) return nw.sum(A(k, j) * B(i, k), k) end, "R")
    local s = nw.schedule(C)
    tiled(s, 8, 4)
    s:decompose_reduction(C, "k_o")
    s:tensorize("i_i", mm)
    agrees(s)
  end)
  it("takes windows of packed copies, in layouts and in slices", function()
    local s, C, A, B = gemm(12, 16, 6)
    tiled(s)
    s:cache_read(B, "global", {C}, {layout = function(k, j) return j // 8, k, j % 8 end})
    s:cache_read(A, "local", {C}, {at = "k_o"})
    s:decompose_reduction(C, "k_o")
    s:tensorize("i_i", mm)
    agrees(s)
  end)
  it("takes every other row", function()
    local P = nw.placeholder({24, 6}, "i32", "P")
    local B = nw.placeholder({6, 8}, "i32", "B")
    local k = nw.reduce_axis(6, "k")
    local C = nw.compute({12, 8}, function(i, j) return nw.sum(P(2 * i + 1, k) * B(k, j), k) end, "C")
    local s = nw.schedule(C)
    tiled(s)
    s:decompose_reduction(C, "k_o")
    s:tensorize("i_i", mm)
    agrees(s)
  end)
  it("takes a tile of what overlaps itself: a convolution as a product", function()
    local P, W = nw.placeholder({17}, "i32", "P"), nw.placeholder({2, 8}, "i32", "W")
    local k = nw.reduce_axis(2, "k")
    local C = nw.compute({16, 8}, function(x, c) return nw.sum(P(x + k) * W(k, c), k) end, "C")
    local s = nw.schedule(C)
    s:split("x", 4)
    s:decompose_reduction(C, "x_i")
    s:tensorize("x_i", mm)
    assert.is_truthy(tostring(s:show "lowered"):find("P[4*x_o; 1, 1]", 1, true))
    agrees(s)
  end)
  it("with an init owns the whole reduction", function()
    local whole = kernels.gemm {name = "whole", m = 4, n = 8, k = 6, accumulate = false}
    local s = gemm(12, 16, 6)
    s:tile("i", "j", 4, 8)
    s:tensorize("i_i", whole)
    agrees(s)
    local part = gemm(12, 16, 12)
    tiled(part, 4, 8, 6)
    fails_saying("found a part of one", part.tensorize, part, "i_i", whole)
  end)
  it("leaves cut tails as loops", function()
    local s, C = gemm(13, 16, 6)
    s:split("j", 8)
    s:split("k", 2)
    s:reorder("j_o", "k_o", "i", "j_i", "k_i")
    s:decompose_reduction(C, "k_o")
    s:split("i", {factor = 4, tail = "cut"})
    s:tensorize("i_i", mm)
    assert.is_truthy(tostring(s):find "i.tail")
    agrees(s)
  end)
  it("goes under a condition that is about the loops outside", function()
    local s, C = gemm(12, 16, 6)
    tiled(s)
    s:split("j_o", 4)
    s:decompose_reduction(C, "k_o")
    s:tensorize("i_i", mm)
    assert.is_truthy(tostring(s):find("if 4*j_o_o + j_o_i < 2", 1, true), tostring(s))
    agrees(s)
  end)
  it("is the nest itself where C stands alone", function()
    local s, C = gemm(8, 16, 4)
    tiled(s)
    s:decompose_reduction(C, "k_o")
    s:tensorize("i_i", mm)
    assert.is_truthy(tostring(s:show "c"):find("the nest that mm does", 1, true))
  end)
  it("calls from parallel loops", function()
    local s, C = gemm(32, 16, 6)
    tiled(s)
    s:decompose_reduction(C, "k_o")
    s:parallel "i_o"
    s:tensorize("i_i", mm)
    agrees(s)
  end)
  it("works on symbolic sizes: strides are passed at the call", function()
    local M, N, K = nw.size("M", {multiple = 4}), nw.size("N", {multiple = 8}), nw.size("K", {multiple = 2})
    local s, C = gemm(M, N, K)
    tiled(s)
    s:decompose_reduction(C, "k_o")
    s:tensorize("i_i", mm)
    agrees(s)
  end)
  it("replays, from Lua and from JSON, as long as the same intrinsic is there", function()
    local s, C = gemm(8, 16, 4)
    tiled(s)
    s:decompose_reduction(C, "k_o")
    s:tensorize("i_i", mm)
    local again = nw.schedule(C)
    again:replay(s:trace "json")
    assert.are.equal(s:text(), again:text())
    local third = nw.schedule(C)
    assert(load(s:trace(), "trace", "t", {s = third}))()
    assert.are.equal(s:text(), third:text())
    local other = nw.schedule(C)
    fails_saying("is registered, but is not", other.replay, other, (s:trace "json":gsub("mm:%x+", "mm:00000000")))
  end)
  it("is among the moves where an intrinsic fits", function()
    local s, C = gemm(8, 16, 4)
    tiled(s)
    s:decompose_reduction(C, "k_o")
    local fits = kernels.gemm {name = "mm_latest", m = 4, n = 8, k = 2}
    assert.is_truthy(tostring(s:moves "i_i"):find(fits.id, 1, true), tostring(s:moves "i_i"))
  end)
  it("ends what can be done to the loops inside, and leaves those outside", function()
    local s, C = gemm(16, 16, 4)
    tiled(s)
    s:decompose_reduction(C, "k_o")
    s:tensorize("i_i", mm)
    local before = s:text()
    fails_saying("loop j_i is part of the call of mm", s.split, s, "j_i", 2)
    fails_saying("loop i_i is part of the call of mm", s.tensorize, s, "i_i", mm)
    fails_saying("part of the call of mm", s.reorder, s, "k_o", "i_i")
    fails_saying("j_o is a vectorize loop, and the call would be inside", s.vectorize, s, "j_o")
    assert.are.equal(before, s:text())
    s:split("i_o", 2)
    s:unroll "i_o_i"
    s:parallel "i_o_o"
    agrees(s)
    for _ = 1, 4 do s:undo() end
    assert.is_nil(tostring(s):find("call mm", 1, true))
    s:vectorize "j_i"
    agrees(s)
  end)
  it("refuses steps after which the nest would be another", function()
    local A, B = nw.placeholder({8, 4}, "i32", "A"), nw.placeholder({4, 8}, "i32", "B")
    local X = nw.compute({8, 4}, function(i, k) return A(i, k) + 1 end, "X")
    local r = nw.reduce_axis(4, "k")
    local C = nw.compute({8, 8}, function(i, j) return nw.sum(X(i, r) * B(r, j), r) end, "C")
    local s = nw.schedule(C)
    local i, j, k = table.unpack(s:loops(C))
    local _, i_i = s:split(i, 4)
    local k_o = s:split(k, 2)
    s:reorder(k_o, i_i, j)
    s:decompose_reduction(C, k_o)
    s:tensorize(i_i, mm)
    agrees(s)
    local before = s:text()
    fails_saying("would no longer be what mm does", s.compute_inline, s, X)
    assert.are.equal(before, s:text())
    s:cache_read(X, "global", {C})
    agrees(s)
  end)
end)

-- ---- what does not match, and how it is said

local function two(make)
  local A, B = nw.placeholder({4, 2}, "i32", "A"), nw.placeholder({2, 8}, "i32", "B")
  local r = nw.reduce_axis(2, "k")
  local C = nw.compute({4, 8}, function(i, j) return make(A, B, i, j, r) end, "C")
  local s = nw.schedule(C)
  return s, C, r
end

describe("tensorize says what differs:", function()
  local whole
  setup(function() whole = kernels.gemm {name = "mm_whole", m = 4, n = 8, k = 2, accumulate = false} end)
  local function refuses(expected, found, s, loop, what)
    local before = s:text()
    local _, err = fails(s.tensorize, s, loop, what or whole)
    assert.are.equal("refused", err.code)
    assert.are.equal("structure", err.refusal.kind:lower())
    assert.is_truthy(err.refusal.why:find("expected " .. expected, 1, true), err.refusal.why)
    assert.is_truthy(err.refusal.why:find("found " .. found, 1, true), err.refusal.why)
    assert.is_truthy(err.refusal.picture:find("<- expected", 1, true), err.refusal.picture)
    assert.are.equal(before, s:text())
  end

  it("the extents", function()
    refuses("i in 0..4, j in 0..8, reduce k in 0..2", "i in 0..4, j in 0..4, reduce k in 0..2", (gemm(4, 4, 2)), "i")
  end)
  it("the number of loops", function()
    refuses("i in 0..4, j in 0..8, reduce k in 0..2", "j in 0..8, reduce k in 0..2", (gemm(4, 8, 2)), "j")
  end)
  it("a loop that reduces where none should", function()
    refuses("i in 0..4", "i in 0..2", (gemm(2, 8, 4)), "i")
  end)
  it("the body", function()
    refuses("A[i, k]*B[k, j]", "A[i, k] + B[k, j]",
      two(function(A, B, i, j, k) return nw.sum(A(i, k) + B(k, j), k) end), "i")
  end)
  it("a part of the body", function()
    refuses("B[k, j]", "abs(B[k, j])", two(function(A, B, i, j, k) return nw.sum(A(i, k) * nw.abs(B(k, j)), k) end), "i")
  end)
  it("the reduction", function()
    refuses("sum", "max", two(function(A, B, i, j, k) return nw.max(A(i, k) * B(k, j), k) end), "i")
  end)
  it("the type", function()
    local s = gemm(4, 8, 2, {dtype = "i64"})
    refuses("C of i32", "C of i64", s, "i")
  end)
  it("an index", function()
    local A, B = nw.placeholder({4, 2}, "i32", "A"), nw.placeholder({2, 8}, "i32", "B")
    local r = nw.reduce_axis(2, "k")
    local C = nw.compute({4, 8}, function(i, j) return nw.sum(A(i, r) * B(r, (j + i) % 8), r) end, "C")
    refuses("B[k, j]", "B[k, (i + j) % 8], which is not affine in the loops of the tile", nw.schedule(C), "i")
  end)
  it("an index that moves with two loops", function()
    local A, B = nw.placeholder({4, 2}, "i32", "A"), nw.placeholder({2, 11}, "i32", "B")
    local r = nw.reduce_axis(2, "k")
    local C = nw.compute({4, 8}, function(i, j) return nw.sum(A(i, r) * B(r, i + j), r) end, "C")
    refuses("B[k, j]", "B[k, i + j]", nw.schedule(C), "i")
  end)
  it("a stride", function()
    local rows = nw.intrinsic {name = "mm_rows", args = kernels.gemm_tensors(4, 8, 2, "i32"), source = [[
      void mm_rows(const int *A, const int *B, int *C, long a, long b, long c) {
        for (int i = 0; i < 4; i++) for (int j = 0; j < 8; j++) {
          int sum = 0;
          for (int k = 0; k < 2; k++) sum += A[i*a + k]*B[k*b + j];
          C[i*c + j] = sum;
        }
      }]]}
    local s = gemm(4, 8, 2, {bt = true})
    refuses("B[k, j], stride 1 along dimension 2", "B[j, k], another stride", s, "i", rows)
  end)
  it("a guard inside the tile", function()
    local s = gemm(7, 8, 2)
    s:split("i", 4)
    refuses("every iteration of the tile", "only those where 4*i_o + i_i < 7", s, "i_i")
  end)
  it("a mark", function()
    local s = gemm(4, 8, 2)
    s:unroll "k"
    refuses("plain loops", "unroll k", s, "i")
  end)
  it("what else is in the nest", function()
    local s, C = gemm(4, 8, 2)
    s:decompose_reduction(C, "k")
    refuses("loops with nothing between them", "several statements", s, "i", mm)
  end)
  it("an init that is owned, with a way on that works", function()
    local s = gemm(8, 16, 4)
    tiled(s)
    local _, err = fails(s.tensorize, s, "i_i", mm)
    assert.is_truthy(err.refusal.why:find("one that owns its init", 1, true))
    assert.are.equal('s:decompose_reduction("C", "k_o")', err.refusal.alternatives[1])
  end)
  it("that there is no such intrinsic", function()
    local s = gemm(4, 8, 2)
    local err = fails_saying("there is no intrinsic nothing", s.tensorize, s, "i", "nothing")
    assert.is_truthy(err.hint:find("mm_whole", 1, true))
    fails(s.tensorize, s, "i", 7)
    fails(s.tensorize, s, "i")
    fails(s.tensorize, s, 3, mm)
  end)
end)

-- ---- any window

-- A product whose operands lie anyhow: dimensions exchanged, moved, stepped over, read backwards, one more in front.
local function anyhow(r)
  local function operand(name, rows, columns)
    local o = {step = r:pick {1, 1, 2, 3}, first = r:int(0, 2), turned = r:chance(0.4), front = r:chance(0.3),
      back = r:chance(0.15), cross = r:chance(0.08)}
    local a, b = rows + o.first, columns * o.step
    local shape = o.turned and {b, a} or {a, b}
    if o.cross then shape[1], shape[2] = shape[1] + columns + rows, shape[2] + rows + columns end
    if o.front then table.insert(shape, 1, 2) end
    local t = nw.placeholder(shape, "i32", name)
    return t, function(y, x)
      local p, q = y + o.first, o.step * x
      if o.back then q = columns * o.step - 1 - q end
      if o.cross then q = q + y end
      local at = o.turned and {q, p} or {p, q}
      if o.front then table.insert(at, 1, 1) end
      return t(table.unpack(at))
    end
  end
  local m, n, k = 4 * r:int(1, 2), 8 * r:int(1, 2), 2 * r:int(1, 3)
  local A, a = operand("A", m, k)
  local B, b = operand("B", k, n)
  local z = nw.reduce_axis(k, "z")
  local exchanged, flipped = r:chance(0.3), r:chance(0.5)
  local function term(i, j) return flipped and b(z, j) * a(i, z) or a(i, z) * b(z, j) end
  local C = exchanged and nw.compute({n, m}, function(y, x) return nw.sum(term(x, y), z) end, "C")
    or nw.compute({m, n}, function(y, x) return nw.sum(term(y, x), z) end, "C")
  return C, A, B, exchanged
end

describe("any window of any operands", function()
  it("is accepted, and gives what it should", function()
    package.path = "tests/prop/?.lua;" .. package.path
    local r = require "rng".new(20)
    for _ = 1, 40 do
      local C, A, B, exchanged = anyhow(r)
      local s = nw.schedule(C)
      s:tile("y", "x", exchanged and 8 or 4, exchanged and 4 or 8)
      s:split("z", 2)
      s:reorder("y_o", "x_o", "z_o", table.unpack(r:shuffle {"y_i", "x_i", "z_i"}))
      if r:chance(0.3) then s:cache_read(A, "global", {C}) end
      if r:chance(0.3) then s:cache_read(B, "local", {C}, {at = "z_o"}) end
      s:decompose_reduction(C, "z_o")
      local loops = s:loops(C)
      s:tensorize(loops[#loops - 2], mm)
      agrees(s)
    end
  end)
end)

-- ---- what runs

-- A kernel whose intrinsic misbehaves when the input's first element is 99, which no trial uses.
describe("a loop of one iteration inside a nest", function()
  it("leaves no trace in where the tiles lie", function()
    local s, C = gemm(4, 8, 2)
    s:decompose_reduction(C, "i")
    s:add_unit_loop "i"
    s:skew("i", "u", 1)
    s:tensorize("u", mm)
    assert(s:check())
  end)
end)

local function misbehaving(name, how, head)
  local A = nw.placeholder({8}, "i32", "A")
  local B = nw.compute({8}, function(i) return A(i) + 1 end, "B")
  local f = nw.intrinsic {name = name, args = {A, B}, strides = {A = {1}, B = {1}}, source = (head or "") .. ([[
    void %s(const int *A, int *B) {
      if (A[0] == 99) { %s; }
      for (int i = 0; i < 8; i++) B[i] = A[i] + 1;
    }]]):format(name, how)}
  local s = nw.schedule(B)
  s:tensorize("i", f)
  local bad, good = nw.zeros({8}, "i32"), nw.zeros({8}, "i32")
  bad:setflat(1, 99)
  good:setflat(8, 8)
  return s:build(), bad, good, f
end

describe("a call that crashes after all", function()
  it("ends the call, not the session", function()
    local kernel, bad, good, f = misbehaving("crashes", "*(volatile int *)8 = 1")
    assert.is_true(f.jump_safe)
    fails_saying("crashed", kernel, bad)
    assert.are.equal(9, kernel(good):getflat(8))
  end)
  it("also where it is not jump-safe", function()
    local kernel, bad, good, f = misbehaving("crashes_too", "fflush(stdout); *(volatile int *)8 = 1", "#include <stdio.h>\n")
    assert.is_false(f.jump_safe)
    fails_saying("crashed", kernel, bad)
    assert.are.equal(9, kernel(good):getflat(8))
  end)
end)
