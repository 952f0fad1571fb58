--- Layouts of inputs and outputs: the kernel takes and returns tensors of other shapes, and its results stay the same.
local nw = require "nestwright"
local filled = require("values").filled
package.path = "tests/tools/?.lua;" .. package.path
local kernels = require "microkernels"

return function(case, t)
  -- Makes C = A * B for integers, so that the order of the sum does not matter.
  local function product(M, N, K, dtype)
    local A, B = nw.placeholder({M, K}, dtype, "A"), nw.placeholder({K, N}, dtype, "B")
    local k = nw.reduce_axis(K, "k")
    local C = nw.compute({M, N}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
    return nw.schedule(C), {C}, {filled(dtype, {M, K}), filled(dtype, {K, N})}
  end

  -- Layouts of a matrix. Those that may leave positions without an element are used with a pad value.
  local LAYOUTS = {
    {"transposed", function(i, j) return j, i end},
    {"panels of columns", function(i, j) return j // 8, i, j % 8 end, true},
    {"panels of rows", function(i, j) return i // 16, j, i % 16 end, true},
    {"tiles", function(i, j) return i // 4, j // 8, i % 4, j % 8 end, true},
    {"tiles, transposed inside", function(i, j) return i // 4, j // 8, j % 8, i % 4 end, true},
    {"two levels of tiles", function(i, j) return i // 8, j // 4, i // 2 % 4, j % 4, i % 2 end, true},
    {"three levels of columns", function(i, j) return j // 12, i, j // 3 % 4, j % 3 end, true},
    {"a dimension of one element", function(i, j) return 0, i, j end},
  }
  local SHAPES = {{16, 16, 16}, {37, 10, 5}, {8, 24, 7}, {1, 1, 1}, {5, 48, 3}}

  for _, layout in ipairs(LAYOUTS) do
    local name, at, pads = table.unpack(layout)
    for _, shape in ipairs(SHAPES) do
      local text = table.concat(shape, "x")
      case(("all arguments of a product, %s, %s"):format(name, text), function()
        local s, out, arguments = product(shape[1], shape[2], shape[3], "i32")
        for _, tensor in ipairs {"A", "B", "C"} do
          t.accepted(s.transform_layout, s, tensor, at, pads and {pad_value = 7} or nil)
        end
        t.agree(s, out, arguments)
        t.accepted(s.check, s)
      end)
    end
    for _, later in ipairs {true, false} do
      case(("the output of a tiled product, %s, laid out %s"):format(name, later and "last" or "first"), function()
        local s, out, arguments = product(37, 20, 9, "i32")
        local function lay_out() t.accepted(s.transform_layout, s, "C", at, pads and {pad_value = -1} or nil) end
        if not later then lay_out() end
        t.accepted(s.tile, s, "i", "j", 8, 4)
        t.accepted(s.vectorize, s, "j_i")
        t.accepted(s.parallel, s, "i_o")
        if later then lay_out() end
        t.agree(s, out, arguments)
      end)
      case(("the inputs of a product with copies, %s, laid out %s"):format(name, later and "last" or "first"), function()
        local s, out, arguments = product(12, 20, 9, "i32")
        local function lay_out()
          t.accepted(s.transform_layout, s, "A", at)
          t.accepted(s.transform_layout, s, "B", at)
        end
        if not later then lay_out() end
        t.accepted(s.cache_read, s, "B", "global", {"C"}, {layout = function(k, j) return j // 4, k, j % 4 end})
        t.accepted(s.split, s, "j", 4)
        t.accepted(s.cache_write, s, "C", "local", {at = "j_o"})
        if later then lay_out() end
        t.agree(s, out, arguments)
      end)
    end
  end

  -- Inputs may have any layout in which their elements have different positions.
  for _, layout in ipairs {
    {"skewed", function(i, j) return i + j, j end}, {"backwards", function(i, j) return 36 - i, 19 - j end},
    {"with gaps", function(i, j) return i, 3 * j + 1 end}, {"in one row", function(i, j) return i * 20 + j end},
    {"rotated", function(i, j) return i, (j + i) % 20 end}, {"two overlapping digits", function(i, j) return i // 4, i % 8, j end},
    {"swizzled", function(i, j) return i, j ~ i % 8 end}, {"swizzled groups", function(i, j) return i, j ~ i // 2 % 4 * 4 end},
    {"the code of Gray", function(i, j) return i ~ i // 2, j ~ j // 2 end},
  } do
    case("an input of any layout, " .. layout[1], function()
      local A = nw.placeholder({37, 20}, "i32", "A")
      local C = nw.compute({20, 37}, function(j, i) return A(i, j) * 2 + j end, "C")
      local s = nw.schedule(C)
      t.accepted(s.transform_layout, s, A, layout[2])
      t.agree(s, {C}, {filled("i32", {37, 20})})
    end)
  end

  -- Outputs may have any layout that fills its box.
  for _, layout in ipairs {
    {"backwards", function(i, j) return 36 - i, 19 - j end}, {"in one row", function(i, j) return i * 20 + j end},
    {"rotated", function(i, j) return i, (j + i) % 20 end},
  } do
    case("an output of any full layout, " .. layout[1], function()
      local A = nw.placeholder({37, 20}, "i32", "A")
      local C = nw.compute({37, 20}, function(i, j) return A(i, j) * 2 + j end, "C")
      local s = nw.schedule(C)
      t.accepted(s.transform_layout, s, C, layout[2])
      t.agree(s, {C}, {filled("i32", {37, 20})})
    end)
  end

  -- Layouts that combine bits (docs/swizzle.md). Each output fills its box, since all extents are powers of two.
  local SWIZZLED = {
    {"columns by rows", function(i, j) return i, j ~ i % 16 end}, {"groups of four", function(i, j) return i, j ~ i % 4 * 4 end},
    {"rows by columns", function(i, j) return i ~ j // 2, j end}, {"in one row", function(i, j) return i * 16 + (j ~ i % 16) end},
    {"inside tiles", function(i, j) return i // 4, j // 4, i % 4, j % 4 ~ i % 4 end},
    {"both", function(i, j) return i ~ i // 2, j ~ i // 2 end},
  }
  for _, layout in ipairs(SWIZZLED) do
    local name, at = table.unpack(layout)
    case("all arguments of a product, swizzled, " .. name, function()
      local s, out, arguments = product(32, 16, 16, "i32")
      for _, tensor in ipairs {"A", "C"} do t.accepted(s.transform_layout, s, tensor, at) end
      t.agree(s, out, arguments)
      t.accepted(s.check, s)
    end)
    case("copies of tiles, swizzled, " .. name, function()
      local s, out, arguments = product(32, 16, 32, "i32")
      t.accepted(s.tile, s, "i", "j", 8, 16)
      t.accepted(s.cache_write, s, "C", "global", {at = "j_o"})
      t.accepted(s.split, s, "k", 16)
      t.accepted(s.cache_read, s, "A", "global", {"C_global"}, {at = "k_o"})
      t.accepted(s.transform_layout, s, "C_global", at)
      t.accepted(s.transform_layout, s, "A_global", function(i, k) return at(i, k % 16) end)
      t.agree(s, out, arguments)
    end)
  end
  for _, layout in ipairs {
    {"a row onto itself", function(i, j) return i, j ~ j // 2 * 2 end}, {"two halves", function(i, j) return i // 2, j ~ i % 2 end},
    {"bits that carry", function(i, j) return i, j + (i % 8 ~ j % 8) end},
    {"bits that overlap", function(i, j) return i, j | i % 8 end},
  } do
    case("refused: swizzled, " .. layout[1], function()
      local s = product(32, 16, 16, "i32")
      for _, tensor in ipairs {"A", "C"} do t.refused("layout", s.transform_layout, s, tensor, layout[2]) end
      t.accepted(s.cache_read, s, "A", "global", {"C"})
      t.refused("layout", s.transform_layout, s, "A_global", layout[2])
    end)
  end

  for _, dtype in ipairs {"i8", "u8", "i16", "i64", "f16", "bf16", "f32", "f64"} do
    case("panels of every dtype, " .. dtype, function()
      local A = nw.placeholder({13, 11}, dtype, "A")
      local C = nw.compute({13, 11}, function(i, j) return A(i, j) + A(i, j) end, "C")
      local s = nw.schedule(C)
      t.accepted(s.transform_layout, s, A, function(i, j) return j // 4, i, j % 4 end)
      t.accepted(s.transform_layout, s, C, function(i, j) return i // 8, j, i % 8 end, {pad_value = 3})
      t.agree(s, {C}, {filled(dtype, {13, 11})})
      t.accepted(s.check, s)
    end)
  end

  -- The second input determines the sizes, because the first one no longer does.
  for _, M in ipairs {1, 7, 8, 9, 33} do
    case("an output of symbolic size, M = " .. M, function()
      local size = nw.size "M"
      local A, B = nw.placeholder({size, 6}, "i32", "A"), nw.placeholder({size, 6}, "i32", "B")
      local C = nw.compute({size, 6}, function(i, j) return A(i, j) * B(i, j) end, "C")
      local s = nw.schedule(C)
      t.accepted(s.transform_layout, s, A, function(i, j) return i // 8, j, i % 8 end)
      t.accepted(s.transform_layout, s, C, function(i, j) return i // 8, j, i % 8 end, {pad_value = 9})
      t.accepted(s.check, s)
      t.agree(s, {C}, {filled("i32", {M, 6}), filled("i32", {M, 6})}, {sizes = {M = M}})
    end)
  end

  case("two outputs, one of which is also read", function()
    local A = nw.placeholder({18, 10}, "i32", "A")
    local X = nw.compute({18, 10}, function(i, j) return A(i, j) + 1 end, "X")
    local Y = nw.compute({18, 9}, function(i, j) return X(i, j) * X(i, j + 1) end, "Y")
    local s = nw.schedule(X, Y)
    t.accepted(s.transform_layout, s, X, function(i, j) return j // 4, i, j % 4 end, {pad_value = 5})
    t.accepted(s.transform_layout, s, Y, function(i, j) return i // 4, j, i % 4 end, {pad_value = -5})
    t.agree(s, {X, Y}, {filled("i32", {18, 10})})
  end)

  case("a tensorized product on packed arguments", function()
    local s, out, arguments = product(32, 32, 16, "f32")
    for _, tensor in ipairs {"A", "C"} do
      t.accepted(s.transform_layout, s, tensor, function(i, j) return i // 4, j // 8, i % 4, j % 8 end)
    end
    t.accepted(s.transform_layout, s, "B", function(k, j) return j // 8, k, j % 8 end)
    s:tile("i", "j", 4, 8)
    s:split("k", 2)
    s:reorder("i_o", "j_o", "k_o", "i_i", "j_i", "k_i")
    s:decompose_reduction("C", "k_o")
    t.accepted(s.tensorize, s, "i_i", kernels.gemm {name = "mm_f32_laid", m = 4, n = 8, k = 2, dtype = "f32"})
    t.agree(s, out, arguments)
  end)

  case("a scan with a laid-out output", function()
    local A = nw.placeholder({9, 10}, "i32", "A")
    local state = nw.scan_state({9, 10}, "i32", "state")
    local first = nw.compute({1, 10}, function(i, x) return A(i, x) end, "first")
    local update = nw.compute({9, 10}, function(i, x) return state(i - 1, x) + A(i, x) end, "update")
    local S = nw.scan(first, update, state, "S")
    local s = nw.schedule(S)
    t.accepted(s.transform_layout, s, "S", function(i, x) return x // 4, i, x % 4 end, {pad_value = 1})
    t.agree(s, {S}, {filled("i32", {9, 10})})
  end)

  -- ---- padded reductions

  for _, shape in ipairs {{37, 10, 5}, {16, 16, 16}, {5, 7, 3}, {1, 1, 1}, {8, 12, 4}, {13, 11, 17}} do
    for _, multiples in ipairs {{4, 8, 2}, {16, 16, 8}, {1, 8, 1}, {1, 1, 4}, {3, 5, 7}} do
      local text = ("%s to multiples of %s"):format(table.concat(shape, "x"), table.concat(multiples, ", "))
      case("pad_einsum, " .. text, function()
        local s, out, arguments = product(shape[1], shape[2], shape[3], "i32")
        t.accepted(s.pad_einsum, s, "C", multiples)
        t.agree(s, out, arguments)
        t.accepted(s.check, s)
      end)
      case("pad_einsum, tiles without guards, " .. text, function()
        local s, out, arguments = product(shape[1], shape[2], shape[3], "f32")
        t.accepted(s.pad_einsum, s, "C", multiples)
        t.accepted(s.tile, s, "i", "j", multiples[1], multiples[2])
        t.accepted(s.split, s, "k", multiples[3])
        t.same(tostring(s):find("if ", 1, true), nil, "a guard")
        t.agree(s, out, arguments)
      end)
    end
  end

  for _, case_ in ipairs {
    {"a sum of rows", function(A, _, i, k) return nw.sum(A(i, k), k) end},
    {"a maximum", function(A, _, i, k) return nw.max(A(i, k), k) end},
    {"a minimum", function(A, _, i, k) return nw.min(A(i, k), k) end},
    {"a product of elements", function(A, _, i, k) return nw.prod(A(i, k), k) end},
    {"a sum of squares", function(A, _, i, k) return nw.sum(A(i, k) * A(i, k), k) end},
    {"a sum of products with a vector", function(A, x, i, k) return nw.sum(A(i, k) * x(k), k) end},
    {"a sum of differences", function(A, x, i, k) return nw.sum(A(i, k) - x(k), k) end},
  } do
    for _, dtype in ipairs {"i32", "f32", "f64"} do
      case(("pad_einsum of %s, %s"):format(case_[1], dtype), function()
        local A, x = nw.placeholder({9, 13}, dtype, "A"), nw.placeholder({13}, dtype, "x")
        local k = nw.reduce_axis(13, "k")
        local C = nw.compute({9}, function(i) return case_[2](A, x, i, k) end, "C")
        local s = nw.schedule(C)
        t.accepted(s.pad_einsum, s, C, {4, 4})
        local arguments = {filled(dtype, {9, 13}), #s:inputs() > 1 and filled(dtype, {13}) or nil}
        t.agree(s, {C}, arguments)
      end)
    end
  end

  for _, dtype in ipairs {"f16", "bf16", "i8"} do
    case("pad_einsum of a product that accumulates in a wider dtype, " .. dtype, function()
      local wide = dtype == "i8" and "i32" or "f32"
      local A, B = nw.placeholder({5, 7}, dtype, "A"), nw.placeholder({7, 6}, dtype, "B")
      local k = nw.reduce_axis(7, "k")
      local C = nw.compute({5, 6}, function(i, j) return nw.sum(nw[wide](A(i, k)) * nw[wide](B(k, j)), k) end, "C")
      local s = nw.schedule(C)
      t.accepted(s.pad_einsum, s, C, {4, 4, 4})
      t.agree(s, {C}, {filled(dtype, {5, 7}), filled(dtype, {7, 6})})
    end)
  end

  case("pad_einsum of two products in a row", function()
    local A, B, D = nw.placeholder({5, 7}, "i32", "A"), nw.placeholder({7, 6}, "i32", "B"), nw.placeholder({6, 3}, "i32", "D")
    local k, l = nw.reduce_axis(7, "k"), nw.reduce_axis(6, "l")
    local P = nw.compute({5, 6}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "P")
    local Q = nw.compute({5, 3}, function(i, j) return nw.sum(P(i, l) * D(l, j), l) end, "Q")
    local s = nw.schedule(Q)
    t.accepted(s.pad_einsum, s, "P", {4, 4, 4})
    t.accepted(s.pad_einsum, s, "Q", {4, 4, 4})
    t.agree(s, {Q}, {filled("i32", {5, 7}), filled("i32", {7, 6}), filled("i32", {6, 3})})
    t.accepted(s.compute_inline, s, "P") -- the copy of the first result
    t.agree(s, {Q}, {filled("i32", {5, 7}), filled("i32", {7, 6}), filled("i32", {6, 3})})
  end)

  case("a batch of products, padded and packed", function()
    local A, B = nw.placeholder({3, 5, 7}, "i32", "A"), nw.placeholder({3, 7, 6}, "i32", "B")
    local k = nw.reduce_axis(7, "k")
    local C = nw.compute({3, 5, 6}, function(b, i, j) return nw.sum(A(b, i, k) * B(b, k, j), k) end, "C")
    local s = nw.schedule(C)
    t.accepted(s.pad_einsum, s, C, {1, 4, 4, 4})
    t.accepted(s.transform_layout, s, "B_pad", function(b, k_, j) return b, j // 4, k_, j % 4 end)
    t.accepted(s.transform_layout, s, C, function(b, i, j) return b, i // 2, j, i % 2 end, {pad_value = 0})
    t.agree(s, {C}, {filled("i32", {3, 5, 7}), filled("i32", {3, 7, 6})})
  end)
end
