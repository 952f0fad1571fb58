--- Fixed strides of intrinsics, assumed equalities, copies of stages that are already scheduled, pieces that move alone, and sizes
--- that follow from sums and products.
local nw = require "nestwright"
local filled = require("values").filled

return function(case, t)
  -- ---- intrinsics with fixed strides, and packed tiles

  -- Registers c[i] += sum of a[k]*b[i, k] for `lanes` results of `depth` products. The tile of b is dense.
  local function dot(lanes, depth)
    local a, b = nw.placeholder({depth}, "i32", "a"), nw.placeholder({lanes, depth}, "i32", "b")
    local k = nw.reduce_axis(depth, "k")
    local c = nw.compute({lanes}, function(i) return nw.sum(a(k) * b(i, k), k) end, "c")
    local name = ("dot_%d_%d"):format(lanes, depth)
    return nw.intrinsic {name = name, args = {a, b, c}, accumulate = true, strides = {a = {1}, b = {depth, 1}, c = {1}},
      source = ([[
#include <stdint.h>
void %s(const int32_t *a, const int32_t *b, int32_t *c) {
  for (int i = 0; i < %d; i++)
    for (int k = 0; k < %d; k++) c[i] += a[k]*b[%d*i + k];
}]]):format(name, lanes, depth, depth)}
  end

  local function tiles(C, lanes, depth)
    local s = nw.schedule(C)
    local _, ji = s:split("j", lanes)
    local all = s:loops "C"
    local lo, li = s:split(all[#all], depth)
    s:reorder("i", "j_o", lo, ji, li)
    return s, ji
  end

  for _, size in ipairs {{16, 4}, {4, 4}, {32, 4}, {8, 2}} do
    local lanes, depth = table.unpack(size)
    local n, d = 2 * lanes, 4 * depth
    case(("a dot product of %d x %d on a packed input"):format(lanes, depth), function()
      local X = nw.placeholder({3, d}, "i32", "X")
      local W = nw.placeholder({n // lanes, d // depth, lanes, depth}, "i32", "W")
      local l = nw.reduce_axis(d, "l")
      local C = nw.compute({3, n}, function(i, j)
        return nw.sum(X(i, l) * W(j // lanes, l // depth, j % lanes, l % depth), l)
      end, "C")
      local s, ji = tiles(C, lanes, depth)
      s:decompose_reduction("C", s:loops("C")[3])
      t.accepted(s.tensorize, s, ji, dot(lanes, depth))
      t.agree(s, {C}, {filled("i32", {3, d}), filled("i32", {n // lanes, d // depth, lanes, depth})})
    end)
    case(("a dot product of %d x %d on a packed copy"):format(lanes, depth), function()
      local X, W, l = nw.placeholder({3, d}, "i32", "X"), nw.placeholder({n, d}, "i32", "W"), nw.reduce_axis(d, "l")
      local C = nw.compute({3, n}, function(i, j) return nw.sum(X(i, l) * W(j, l), l) end, "C")
      local s, ji = tiles(C, lanes, depth)
      s:cache_read(W, "global", {C}, {layout = function(j, k) return j // lanes, k // depth, j % lanes, k % depth end})
      s:decompose_reduction("C", s:loops("C")[3])
      t.accepted(s.tensorize, s, ji, dot(lanes, depth))
      t.agree(s, {C}, {filled("i32", {3, d}), filled("i32", {n, d})})
    end)
  end

  -- ---- assumed equalities

  local n, m = nw.size "n", nw.size "m"
  local EQUAL = {
    {"in vectors", "n == 16", function(s) s:vectorize "i" end},
    {"unrolled", "n == 16", function(s) s:unroll "i" end},
    {"of a product, in vectors", "n == 2*8", function(s) s:vectorize "i" end},
    {"split and in vectors", "n == 24", function(s) s:vectorize((select(2, s:split("i", 8)))) end},
    {"with a copy on the stack", "n == 16", function(s) s:cache_read("A", "local") end},
  }
  for _, row in ipairs(EQUAL) do
    case("a loop of an assumed extent, " .. row[1], function()
      local A = nw.placeholder({n}, "i32", "A")
      local C = nw.compute({n}, function(i) return A(i) * 3 end, "C")
      local s = nw.schedule(C)
      s:assume(row[2])
      t.accepted(row[3], s)
      t.agree(s, {C}, {filled("i32", {row[1] == "split and in vectors" and 24 or 16})})
    end)
  end

  -- ---- copies of stages

  local function chain(readers)
    local A = nw.placeholder({12, 8}, "i32", "A")
    local B = nw.compute({12, 8}, function(i, j) return A(i, j) * 3 + 1 end, "B")
    local last = B
    for r = 1, readers do
      local before = last
      last = nw.compute({12, 8}, function(i, j) return B(i, j) + before(i, 7 - j) * r end, "R" .. r)
    end
    return nw.schedule(last), {last}
  end
  for readers = 1, 3 do
    case(("a copy of a stage for all its %d readers"):format(readers), function()
      local s, out = chain(readers)
      t.accepted(s.cache_read, s, "B", "global")
      t.agree(s, out, {filled("i32", {12, 8})})
    end)
  end

  local function product(k_of)
    local A, B = nw.placeholder({8, 12}, "i32", "A"), nw.placeholder({12, 16}, "i32", "B")
    local k = nw.reduce_axis(12, "k")
    local P = k_of and nw.compute({8, 12}, function(i, l) return A(i, l) * 2 + 1 end, "P") or A
    local C = nw.compute({8, 16}, function(i, j) return nw.sum(P(i, k) * B(k, j), k) end, "C")
    return nw.schedule(C), {C}, {filled("i32", {8, 12}), filled("i32", {12, 16})}
  end
  local LATE = {
    {"whose sum was moved out", false, function(s) s:reorder("k", "i", "j") end},
    {"in tiles, with its sum outside", false, function(s)
      s:tile("i", "j", 4, 8)
      s:reorder("k", "i_i", "j_i")
    end},
    {"whose sum was split and moved", false, function(s)
      s:split("k", 4)
      s:reorder("k_o", "i", "j", "k_i")
    end},
    {"with marks inside its sum", false, function(s)
      s:tile("i", "j", 4, 8)
      s:reorder("k", "i_i", "j_i")
      s:vectorize "j_i"
      s:unroll "i_i"
    end},
    {"in tiles that do not divide it, with a copy in its sum", false, function(s)
      s:cache_read("A", "global", {"C"}, {at = "k"})
      s:tile("i", "j", 3, 5)
      s:split("k", 5)
    end},
    {"with another stage in its sum", true, function(s) s:compute_at("P", s["C"]:loops()[3]) end},
    {"with another stage in its split sum", true, function(s)
      local outer = s:split(s["C"]:loops()[3], 4)
      s:compute_at("P", outer)
    end},
  }
  for _, row in ipairs(LATE) do
    case("cache_write of a product " .. row[1], function()
      local s, out, arguments = product(row[2])
      row[3](s)
      t.accepted(s.cache_write, s, "C", "global")
      t.agree(s, out, arguments)
    end)
  end

  -- ---- pieces that move alone

  local function pair()
    local A = nw.placeholder({24}, "i32", "A")
    local B = nw.compute({24}, function(i) return A(i) * 3 end, "B")
    local C = nw.compute({24}, function(i) return B(i) + 1 end, "C")
    local s = nw.schedule(C)
    return s, {C}, s["B"]:loops()[1], s["C"]:loops()[1]
  end
  for _, at in ipairs {6, 8, 17} do
    case(("the first piece of a stage moves to the first piece of its reader, cut at %d"):format(at), function()
      local s, out, b, c = pair()
      s:cut(b, at)
      local head = s:cut(c, at)
      t.accepted(s.compute_at, s, "B.head", head)
      t.agree(s, out, {filled("i32", {24})})
    end)
    case(("both pieces of a stage move to the pieces of its reader, cut at %d"):format(at), function()
      local s, out, b, c = pair()
      s:cut(b, at)
      local head, rest = s:cut(c, at)
      t.accepted(s.compute_at, s, "B.head", head)
      t.accepted(s.compute_at, s, "B.rest", rest)
      t.agree(s, out, {filled("i32", {24})})
    end)
  end
  case("a piece of a stage moves to the whole loop of its reader", function()
    local s, out, b, c = pair()
    s:cut(b, 8)
    t.accepted(s.compute_at, s, "B.head", c)
    t.agree(s, out, {filled("i32", {24})})
  end)

  -- ---- sizes that follow from sums and products

  local SHAPES = {
    {"a multiple", function() return {n * 32} end, function() return {64} end, function(A) return A(3) end},
    {"a sum", function() return {n + 1} end, function() return {9} end, function(A) return A(n) end},
    {"a multiple and a sum", function() return {2 * n + 3} end, function() return {11} end, function(A) return A(2 * n + 2) end},
    {"a product with another size", function() return {n, n * m} end, function() return {3, 12} end,
      function(A) return A(0, m * n - 1) end},
    {"a sum of two sizes", function() return {n, n + m} end, function() return {3, 8} end, function(A) return A(0, n) end},
  }
  for _, row in ipairs(SHAPES) do
    case("a size from " .. row[1], function()
      local A = nw.placeholder(row[2](), "i32", "A")
      local C = nw.compute({n}, function(i) return row[4](A) + i end, "C")
      t.agree(nw.schedule(C), {C}, {filled("i32", row[3]())})
    end)
  end
end
