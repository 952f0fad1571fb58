--- Tests libxsmm's small products, which tensorize puts into a program.
local nw = require "nestwright"
local support = require "support"

local there = nw.xsmm.available()

-- Declares a test that needs libxsmm. In a build without libxsmm, the test is listed as pending.
local function with_xsmm(what, f)
  if there then it(what, f) else pending(what .. ": this build is without libxsmm") end
end

local function close(want, got)
  return nw.allclose(type(want) == "table" and want[1] or want, type(got) == "table" and got[1] or got,
    {rtol = 1e-4, atol = 1e-4})
end

-- Returns an n x n product. B is packed, and a libxsmm product computes each tile of tile.m x tile.n x tile.k.
local function packed(n, tile, dtype)
  local A, B = nw.placeholder({n, n}, dtype, "A"), nw.placeholder({n, n}, dtype, "B")
  local r = nw.reduce_axis(n, "k")
  local C = nw.compute({n, n}, function(i, j) return nw.sum(A(i, r) * B(r, j), r) end, "C")
  local s = nw.schedule(C)
  s:cache_read(B, "global", {C}, {layout = function(k, j) return j // tile.n, k, j % tile.n end})
  s:split("j", tile.n)
  s:split("k", tile.k)
  s:reorder("j_o", "k_o", "i", "j_i", "k_i")
  s:decompose_reduction(C, "k_o")
  s:split("i", {factor = tile.m, tail = "cut"})
  s:tensorize("i_i", nw.xsmm.gemm {m = tile.m, n = tile.n, k = tile.k, dtype = dtype})
  return s, C
end

describe("libxsmm", function()
  with_xsmm("computes a packed product of 256 x 256, in the interpreter and as machine code", function()
    local s, C = packed(256, {m = 32, n = 32, k = 64}, "f32")
    local a, b = nw.random({256, 256}, "f32", {seed = 1}), nw.random({256, 256}, "f32", {seed = 2})
    local got, naive = s:build()(a, b), nw.schedule(C):build()(a, b)
    assert.is_true(close(naive, got))
    assert.is_true(close(naive, nw.interpret(s, {a, b}, {lowered = true})))
  end)
  with_xsmm("computes the full tiles, and loops compute the tail", function()
    local s = packed(40, {m = 16, n = 8, k = 10}, "f32")
    assert.is_truthy(tostring(s):find "i.tail")
    assert.is_truthy(s:check():find "agree")
  end)
  with_xsmm("computes f64, and products that start from 0", function()
    local s = packed(32, {m = 8, n = 16, k = 8}, "f64")
    assert.is_truthy(s:check():find "agree")
    local whole = support.gemm(16, 16, 12)
    whole:tile("i", "j", 8, 16)
    whole:tensorize("i_i", nw.xsmm.gemm {m = 8, n = 16, k = 12, accumulate = false})
    assert.is_truthy(whole:check():find "agree")
  end)
  with_xsmm("computes products of symbolic sizes, whose leading dimensions are known at the call", function()
    local s, C = support.gemm(nw.size("M", {multiple = 4}), nw.size("N", {multiple = 8}), nw.size("K", {multiple = 4}))
    s:tile("i", "j", 4, 8)
    s:split("k", 4)
    s:reorder("i_o", "j_o", "k_o", "i_i", "j_i", "k_i")
    s:decompose_reduction(C, "k_o")
    s:tensorize("i_i", nw.xsmm.gemm {m = 4, n = 8, k = 4})
    assert.is_truthy(s:check():find "agree")
  end)
  with_xsmm("refuses a matrix whose rows are not contiguous", function()
    local A, B = nw.placeholder({8, 8}, "f32", "A"), nw.placeholder({8, 8}, "f32", "B")
    local r = nw.reduce_axis(8, "k")
    local s = nw.schedule(nw.compute({8, 8}, function(i, j) return nw.sum(A(i, r) * B(j, r), r) end, "C"))
    local ok, err = pcall(s.tensorize, s, "i", nw.xsmm.gemm {m = 8, n = 8, k = 8, accumulate = false})
    assert.is_false(ok)
    assert.is_truthy(tostring(err):find("stride 1 along dimension 2", 1, true), tostring(err))
  end)
  with_xsmm("accepts only valid sizes and types", function()
    for pattern, spec in pairs {
      ["m: expected a whole number from 1 to 4096, got 0"] = {m = 0, n = 8, k = 8},
      ["spec.m: expected a whole number, got 8.5"] = {m = 8.5, n = 8, k = 8},
      ["spec.k: expected a whole number, got nil"] = {m = 8, n = 8},
      ["f32 or f64, got i32"] = {m = 8, n = 8, k = 8, dtype = "i32"},
    } do
      support.fails(pattern, "invalid", nw.xsmm.gemm, spec)
    end
    support.fails("gemm: spec: expected a table with m, n, k, got nil", "invalid", nw.xsmm.gemm)
  end)
  it("causes an error that says that the build does not include it", function()
    if there then return end
    local ok, err = pcall(nw.xsmm.gemm, {m = 8, n = 8, k = 8})
    assert.is_false(ok)
    assert.is_truthy(tostring(err):find("without libxsmm", 1, true))
  end)
end)
