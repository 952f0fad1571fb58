--- Tests pad_einsum, which extends the loops of a reduction to multiples.
package.path = "tests/tools/?.lua;" .. package.path
local kernels = require "microkernels"
local nw = require "nestwright"
local support = require "support"
local fails, refuses = support.fails, support.refuses

local function product(M, N, K, dtype)
  local A, B = nw.placeholder({M, K}, dtype or "f32", "A"), nw.placeholder({K, N}, dtype or "f32", "B")
  local k = nw.reduce_axis(K, "k")
  local C = nw.compute({M, N}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
  return nw.schedule(C), C, A, B
end

-- Compares all ways of running the schedule on random data, bit by bit with the definition.
local function agrees(s, C, a, b)
  local want = nw.evaluate(C, {a, b})[1]
  for _, got in ipairs {nw.interpret(s, {a, b})[1], nw.interpret(s, {a, b}, {lowered = true})[1], (s:build {threads = 2}(a, b))} do
    assert.is_true(nw.allclose(want, got, {rtol = 0, atol = 1e-4}))
  end
end

describe("pad_einsum", function()
  it("extends the loops, copies the inputs with zeros, and copies the result back", function()
    local s, C = product(37, 100, 51)
    local padded = s:pad_einsum(C, {16, 16, 8})
    assert.equal("C_pad", padded.name)
    local text = s:text()
    for _, line in ipairs {"temp A_pad: f32[48, 56]", "temp B_pad: f32[56, 112]", "temp C_pad: f32[48, 112]",
      "A_pad[i, k] = select(i < 37 and k < 51, A[i, k], 0.0)", "B_pad[k, j] = select(k < 51 and j < 100, B[k, j], 0.0)",
      "C_pad[i, j] += A_pad[i, k]*B_pad[k, j]", "C[i, j] = C_pad[i, j]"} do
      assert.truthy(text:find(line, 1, true), line)
    end
    local names = {}
    for n, loop in ipairs(s:loops(padded)) do names[n] = loop.name end
    assert.same({"i", "j", "k"}, names)
    assert.is_true(s:reparses())
    support.replays(s, function() return nw.schedule(C) end)
    assert.truthy(s:check():find "3700 outputs agree")
    s:undo()
    assert.is_nil(s:text():find("_pad", 1, true))
  end)

  it("lets a product of any shape be tensorized", function()
    local s, C = product(37, 100, 51)
    local padded = s:pad_einsum(C, {4, 8, 2})
    s:tile("i", "j", 4, 8)
    s:split("k", 2)
    s:reorder("i_o", "j_o", "k_o", "i_i", "j_i", "k_i")
    s:decompose_reduction(padded, "k_o")
    s:tensorize("i_i", kernels.gemm {name = "mm_f32", m = 4, n = 8, k = 2, dtype = "f32"})
    agrees(s, C, nw.random({37, 51}, "f32", {seed = 1}), nw.random({51, 100}, "f32", {seed = 2}))
  end)

  it("gives the same bits, also for numbers that are not finite", function()
    local s, C = product(5, 6, 7)
    s:pad_einsum(C, {4, 4, 4})
    local a, b = nw.random({5, 7}, "f32", {seed = 1, lo = -1, hi = 1}), nw.random({7, 6}, "f32", {seed = 2, lo = -1, hi = 1})
    a[{1, 2}], b[{3, 4}], a[{4, 0}], a[{2, 6}] = 1 / 0, -1 / 0, 0 / 0, -0.0
    for j = 0, 5 do b[{6, j}] = -0.0 end
    local want, got = nw.interpret(nw.schedule(C), {a, b}, {lowered = true})[1], s:build()(a, b)
    for i = 0, 4 do for j = 0, 5 do
      local x, y = want[{i, j}], got[{i, j}]
      assert.is_true(x == y and 1 / x == 1 / y or x ~= x and y ~= y)
    end end
  end)

  it("pads only the axes that are asked for, and those that need it", function()
    local s, C = product(37, 96, 51)
    s:pad_einsum(C, {1, 16, 8}) -- the result does not grow
    local text = s:text()
    assert.truthy(text:find("temp A_pad: f32[37, 56]", 1, true))
    assert.truthy(text:find("temp B_pad: f32[56, 96]", 1, true))
    assert.is_nil(text:find("C_pad", 1, true))
    s, C = product(37, 96, 51)
    s:pad_einsum(C, {8, 1, 1}) -- B does not grow
    text = s:text()
    assert.truthy(text:find("A_pad[i, k] = select(i < 37, A[i, k], 0.0)", 1, true))
    assert.is_nil(text:find("B_pad", 1, true))
    s, C = product(32, 96, 48)
    s:pad_einsum(C, {16, 16, 8})
    assert.truthy(s:notes():find "already multiples")
    assert.is_nil(s:text():find("_pad", 1, true))
  end)

  it("pads the channels of a convolution, whose other indices are sums of axes", function()
    local A, W = nw.placeholder({9, 9, 3}, "f32", "A"), nw.placeholder({3, 3, 5, 3}, "f32", "W")
    local c, dy, dx = nw.reduce_axis(3, "c"), nw.reduce_axis(3, "dy"), nw.reduce_axis(3, "dx")
    local C = nw.compute({7, 7, 5}, function(y, x, f)
      return nw.sum(A(y + dy, x + dx, c) * W(dy, dx, f, c), {dy, dx, c})
    end, "C")
    local s = nw.schedule(C)
    s:pad_einsum(C, {1, 1, 4, 1, 1, 4})
    local text = s:text()
    assert.truthy(text:find("A_pad[d0, d1, c] = select(c < 3, A[d0, d1, c], 0.0)", 1, true), text)
    assert.truthy(text:find("temp C_pad: f32[7, 7, 8]", 1, true), text)
    assert.is_true(s:reparses())
    agrees(s, C, nw.random({9, 9, 3}, "f32", {seed = 1}), nw.random({3, 3, 5, 3}, "f32", {seed = 2}))
  end)

  it("accepts symbolic sizes", function()
    local M, K = nw.size "M", nw.size("K", {multiple = 8})
    local s, C = product(M, 20, K)
    s:pad_einsum(C, {4, 8, 8})
    assert.is_true(s:reparses())
    assert.truthy(s:text():find("C_pad: f32[4*((M + 3) // 4), 24]", 1, true), s:text())
    assert.is_nil(s:text():find("k < K", 1, true)) -- K is a multiple of 8
    assert.truthy(s:check():find "agree")
    s:split("i", 4)
    assert.is_nil(tostring(s):find("if ", 1, true))
  end)

  it("pads other reductions with a number that changes nothing", function()
    local A, k = nw.placeholder({5, 13}, "f32", "A"), nw.reduce_axis(13, "k")
    for _, case in ipairs {
      {function(i) return nw.max(A(i, k), k) end, "f32(-inf)"},
      {function(i) return nw.min(A(i, k), k) end, "f32(inf)"},
      {function(i) return nw.sum(A(i, k), k) end, "0.0"},
      {function(i) return nw.prod(A(i, k), k) end, "1.0"},
      {function(i) return nw.sum(A(i, k) * A(i, k), k) end, "0.0"},
    } do
      local C = nw.compute({5}, case[1], "C")
      local s = nw.schedule(C)
      s:pad_einsum(C, {4, 4})
      assert.truthy(s:text():find("select(i < 5 and k < 13, A[i, k], " .. case[2] .. ")", 1, true), s:text())
      assert.truthy(s:check():find "agree")
    end
  end)

  it("is refused if added terms could change the result", function()
    local A, B, k = nw.placeholder({5, 13}, "f32", "A"), nw.placeholder({5}, "f32", "B"), nw.reduce_axis(13, "k")
    for _, body in ipairs {
      function(i) return nw.sum(A(i, k) + 1, k) end,
      function(i) return nw.sum(A(i, k) * B(i), k) end, -- 0 times an infinite number is NaN
      function(i) return nw.sum(nw.exp(A(i, k)), k) end,
      function(i) return nw.sum(A(i, k) * k, k) end,
    } do
      local C = nw.compute({5}, body, "C")
      local s = nw.schedule(C)
      local err = refuses(s, "cannot pad the loops of C", "refused", s.pad_einsum, s, C, {4, 4})
      assert.truthy(tostring(err):find("makes added terms neutral", 1, true), tostring(err))
      assert.same({'s:pad_einsum("C", {4, 1})'}, {err.refusal.alternatives[1]})
      s:pad_einsum(C, {4, 1})
      assert.truthy(s:check():find "agree")
    end
  end)

  it("is refused for other stages and nests", function()
    local function refused(words, make)
      local s, stage, multiples = make()
      local err = refuses(s, "cannot pad the loops of", "refused", s.pad_einsum, s, stage, multiples or {4, 4, 4})
      assert.truthy(tostring(err):find(words, 1, true), tostring(err))
    end
    refused("each bound to one whole loop", function()
      local s, C = product(5, 6, 7)
      s:split("k", 2)
      return s, C
    end)
    refused("its init was split off", function()
      local s, C = product(5, 6, 7)
      s:decompose_reduction(C, "k")
      return s, C
    end)
    refused("it is inside a loop", function()
      local A, k = nw.placeholder({5, 7}, "f32", "A"), nw.reduce_axis(7, "k")
      local S = nw.compute({5}, function(i) return nw.sum(A(i, k), k) end, "S")
      local Y = nw.compute({5}, function(i) return S(i) * 2 end, "Y")
      local s = nw.schedule(Y)
      s:compute_at(S, s:loops(Y)[1])
      return s, S, {4, 4}
    end)
    refused("it is not a reduction", function()
      local A = nw.placeholder({5}, "f32", "A")
      local Y = nw.compute({5}, function(i) return A(i) * 2 end, "Y")
      return nw.schedule(Y), Y, {4}
    end)
    refused("at an index that depends on i, but is not an axis", function()
      local A, r = nw.placeholder({9}, "f32", "A"), nw.reduce_axis(3, "r")
      local Y = nw.compute({7}, function(i) return nw.sum(A(i + r), r) end, "Y")
      return nw.schedule(Y), Y, {4, 4}
    end)
    local s, C = product(5, 6, 7)
    fails("2 multiples for the 3 axes of C", "invalid", s.pad_einsum, s, C, {4, 4})
    fails("multiple 0 is out of range", "range", s.pad_einsum, s, C, {4, 0, 4})
  end)
end)
