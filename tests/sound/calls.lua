--- Class A11: calls of intrinsics. An intrinsic may compute the elements of its output in any order. A call is therefore legal only
--- if the layout of the output stores all these elements at different places. The cases make the call before or after they set the
--- layout.
local nw = require "nestwright"
local filled = require("values").filled

local C_TYPE = {f32 = "float", f64 = "double", i32 = "int32_t", u8 = "uint8_t"}

--- Returns an intrinsic that computes Z = 2*X, from the last row to the first.
local function doubling(dtype, rows, columns)
  local X = nw.placeholder({rows, columns}, dtype, "X")
  local Z = nw.compute({rows, columns}, function(i, j) return X(i, j) * 2 end, "Z")
  local name = ("double_%s_%d_%d"):format(dtype, rows, columns)
  return nw.intrinsic {name = name, args = {X, Z}, strides = {X = {"any", "any"}, Z = {"any", "any"}}, source = ([[
#include <stdint.h>
void %s(const %s *X, %s *Z, int64_t x, int64_t x1, int64_t z, int64_t z1) {
  for (int i = %d; i >= 0; i--) for (int j = 0; j < %d; j++) Z[i*z+j*z1] = X[i*x+j*x1]*2; }]]):format(name, C_TYPE[dtype],
    C_TYPE[dtype], rows - 1, columns)}
end

--- Returns an intrinsic that computes Z += X*Y, with extents 4, 4 and 2. Each sum is computed from its last term to its first.
local function adding(dtype)
  local X, Y = nw.placeholder({4, 2}, dtype, "X"), nw.placeholder({2, 4}, dtype, "Y")
  local k = nw.reduce_axis(2, "k")
  local Z = nw.compute({4, 4}, function(i, j) return nw.sum(X(i, k) * Y(k, j), k) end, "Z")
  local name = "add_" .. dtype
  local any = {"any", "any"}
  return nw.intrinsic {name = name, args = {X, Y, Z}, accumulate = true, strides = {X = any, Y = any, Z = any},
    source = ([[
#include <stdint.h>
void %s(const %s *X, const %s *Y, %s *Z, int64_t x, int64_t x1, int64_t y, int64_t y1, int64_t z, int64_t z1) {
  for (int i = 3; i >= 0; i--) for (int j = 3; j >= 0; j--) for (int k = 1; k >= 0; k--)
    Z[i*z+j*z1] += X[i*x+k*x1]*Y[k*y+j*y1]; }]]):format(name, C_TYPE[dtype], C_TYPE[dtype], C_TYPE[dtype])}
end

--- Makes T = 2*A with n rows of four elements, and C. Each row of C reads two rows of T.
local function window(dtype, n)
  local A = nw.placeholder({n, 4}, dtype, "A")
  local T = nw.compute({n, 4}, function(i, j) return A(i, j) * 2 end, "T")
  local C = nw.compute({n - 3, 4}, function(i, j) return T(i, j) + T(i + 3, j) end, "C")
  return nw.schedule(C), {C}, {filled(dtype, {n, 4}, function(i) return i % 50 end)}
end

local ORDER = "may use another order"

--- Layouts of a 4 by 4 tensor: a description, the function, and whether some elements are stored at the same place.
local LAYOUTS = {
  {"rows", function(i, j) return i, j end, false},
  {"columns", function(i, j) return j, i end, false},
  {"padded rows", function(i, j) return 5 * i + j end, false},
  {"rows in reverse order", function(i, j) return 3 - i, j end, false},
  {"diagonals", function(i, j) return i + j end, true},
  {"rows that alternate between two places", function(i, j) return i % 2, j end, true},
  {"pairs of columns at one place", function(i, j) return i, j // 2 end, true},
  {"one row", function(i, j) return 0 * i, j end, true},
}

return function(case, t)
  --- Makes T = 2*A, 4 by 4. C reads the first column of T, and D the last row. If two elements of T are stored at the same place,
  --- an element is lost.
  local function scheduled(dtype)
    local A = nw.placeholder({4, 4}, dtype, "A")
    local T = nw.compute({4, 4}, function(i, j) return A(i, j) * 2 end, "T")
    local C, D = nw.compute({4}, function(i) return T(i, 0), T(3, i) end, "C")
    return nw.schedule(C, D), {C, D}, {filled(dtype, {4, 4})}
  end
  for at, l in ipairs(LAYOUTS) do
    local dtype = ({"f32", "i32", "f64", "u8"})[at % 4 + 1]
    case("A11", l[1] .. ", then a call", function()
      local double = doubling(dtype, 4, 4)
      local s, out, a = scheduled(dtype)
      local laid = pcall(s.transform_layout, s, "T", l[2])
      if not l[3] then assert(laid, "the layout was refused") end
      if laid and l[3] then t.refused(ORDER, s.tensorize, s, "i", double) else t.accepted(s.tensorize, s, "i", double) end
      t.agree(s, out, a)
    end)
    case("A11", "a call, then " .. l[1], function()
      local double = doubling(dtype, 4, 4)
      local s, out, a = scheduled(dtype)
      t.accepted(s.tensorize, s, "i", double)
      local ok, err = pcall(s.transform_layout, s, "T", l[2])
      t.same(ok, not l[3], tostring(err))
      assert(ok or err.code == "refused", tostring(err))
      t.agree(s, out, a)
    end)
  end

  -- Each call computes `rows` rows of four elements. A layout folds the rows: row i is stored at row i % f. A call is legal only if
  -- its rows are then stored at different places.
  for _, rows in ipairs {2, 4} do
    case("A11", ("a fold of rows, and calls of %d rows"):format(rows), function()
      local double = doubling("f32", rows, 4)
      local A = nw.placeholder({8, 4}, "f32", "A")
      local T = nw.compute({8, 4}, function(i, j) return A(i, j) * 2 end, "T")
      local C = nw.compute({8, 4}, function(i, j) return T(i, j) + 1 end, "C")
      local s = nw.schedule(C)
      local o = s:split("i_1", rows)
      s:compute_at("T", o)
      t.accepted(s.tensorize, s, "i", double)
      t.accepted(s.transform_layout, s, "T", function(i, j) return i % rows, j end)
      if rows > 1 then
        local ok, err = pcall(s.transform_layout, s, "T", function(i, j) return i % (rows // 2), j end)
        assert(not ok and err.code == "refused", tostring(err))
      end
      t.agree(s, {C}, {filled("f32", {8, 4})})
    end)
  end

  for _, l in ipairs {{"a fold in a loop", function(i, j) return i + j end, true},
    {"columns in a loop", function(i, j) return j, i end, false}} do
    case("A11", l[1] .. ", then a call", function()
      local double = doubling("i32", 4, 4)
      local A = nw.placeholder({8, 4}, "i32", "A")
      local T = nw.compute({8, 4}, function(i, j) return A(i, j) * 2 end, "T")
      local C, D = nw.compute({2, 4}, function(o, i) return T(4 * o + i, 0), T(4 * o + 3, i) end, "C")
      local s = nw.schedule(C, D)
      s:compute_at("T", "o")
      t.accepted(s.transform_layout, s, "T", l[2])
      if l[3] then t.refused(ORDER, s.tensorize, s, "i", double) else t.accepted(s.tensorize, s, "i", double) end
      t.agree(s, {C, D}, {filled("i32", {8, 4})})
    end)
  end
  case("A11", "a fold of rows that calls fill in turn", function()
    local double = doubling("f32", 4, 4)
    local A = nw.placeholder({12, 4}, "f32", "A")
    local T = nw.compute({12, 4}, function(i, j) return A(i, j) * 2 end, "T")
    local C = nw.compute({12, 4}, function(i, j) return T(i, 3 - j) + 1 end, "C")
    local s = nw.schedule(C)
    s:compute_at("T", (s:split("i_1", 4)))
    s:store_at("T")
    t.accepted(s.transform_layout, s, "T", function(i, j) return i % 4, j end)
    t.accepted(s.tensorize, s, "i", double)
    t.agree(s, {C}, {filled("f32", {12, 4})})
  end)
  case("A11", "a rolling buffer filled by a call", function()
    local s, out, a = window("f32", 9)
    local double = doubling("f32", 1, 4)
    s:compute_at("T", "i_1")
    s:store_at("T")
    t.accepted(s.rolling_buffer, s, "T")
    pcall(s.tensorize, s, "i", double)
    t.agree(s, out, a)
  end)
  case("A11", "a window folded to fewer rows than a call fills", function()
    local s, out, a = window("i32", 8)
    local double = doubling("i32", 4, 4)
    local o = s:split("i_1", 1)
    s:split("i", 4)
    t.accepted(s.tensorize, s, "i_i", double)
    for fold = 2, 3 do
      local ok, err = pcall(s.transform_layout, s, "T", function(i, j) return i % fold, j end)
      assert(not ok and err.code == "refused", ("fold %d: %s"):format(fold, tostring(err)))
    end
    t.accepted(s.transform_layout, s, "T", function(i, j) return i % 8, j end)
    t.agree(s, out, a)
    assert(o)
  end)

  -- One piece of a cut is computed by a call, and the other piece by loops.
  for _, l in ipairs {{"a layout without shared places", function(i, j) return j, i end, true},
    {"a layout with shared places", function(i, j) return i + j end}} do
    case("A11", "pieces of a cut, one of them a call, and " .. l[1], function()
      local double = doubling("f64", 4, 4)
      local A = nw.placeholder({7, 4}, "f64", "A")
      local T = nw.compute({7, 4}, function(i, j) return A(i, j) * 2 end, "T")
      local C = nw.compute({7, 4}, function(i, j) return T(i, 3 - j) end, "C")
      local s = nw.schedule(C)
      s:cut("i", 4)
      t.accepted(s.tensorize, s, "i.head", double)
      local ok, err = pcall(s.transform_layout, s, "T", l[2])
      t.same(ok, l[3] or false, tostring(err))
      t.agree(s, {C}, {filled("f64", {7, 4})})
    end)
  end

  -- The calls add to elements of T. In some layouts, several elements of T are stored at the same place.
  for _, l in ipairs {{"columns", function(i, j) return j, i end, true}, {"diagonals", function(i, j) return i + j end},
    {"pairs of rows at one place", function(i, j) return i // 2, j end}} do
    for _, first in ipairs {"call", "layout"} do
      case("A11", ("a call that adds to %s, %s first"):format(l[1], first), function()
        local add = adding "i32"
        local A, B, k = nw.placeholder({4, 6}, "i32", "A"), nw.placeholder({6, 4}, "i32", "B"), nw.reduce_axis(6, "k")
        local T = nw.compute({4, 4}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "T")
        local C, D = nw.compute({4}, function(i) return T(i, 0), T(3, i) end, "C")
        local s = nw.schedule(C, D)
        s:split("k", 2)
        s:reorder("k_o", "i", "j", "k_i")
        s:decompose_reduction("T", "k_o")
        local function call() return pcall(s.tensorize, s, "i", add) end
        local function layout() return pcall(s.transform_layout, s, "T", l[2]) end
        local one = first == "call" and call() or first == "layout" and layout()
        local two
        if first == "call" then two = layout() else two = call() end
        if l[3] then
          assert(one and two, "a legal step was refused")
        else
          assert(not (one and two), "elements share places in a call")
        end
        t.agree(s, {C, D}, {filled("i32", {4, 6}), filled("i32", {6, 4})})
      end)
    end
  end

  case("A11", "one tensor that a call both reads and writes", function()
    local double = doubling("f32", 4, 4)
    local A = nw.placeholder({5, 4}, "f32", "A")
    local state = nw.scan_state({5, 4}, "f32", "state")
    local first = nw.compute({1, 4}, function(_, x) return A(0, x) end, "first")
    local update = nw.compute({5, 4}, function(i, x) return state(i - 1, x) * 2 end, "update")
    local S = nw.scan(first, update, state, "S")
    local s = nw.schedule(S)
    t.refused("in a different buffer than X", s.tensorize, s, s:loops "S"[1].name, double)
    t.agree(s, {S}, {filled("f32", {5, 4})})
  end)
  case("A11", "two buffers of a call, both with diagonal layouts", function()
    local double = doubling("f32", 4, 4)
    local A = nw.placeholder({4, 4}, "f32", "A")
    local T = nw.compute({4, 4}, function(i, j) return A(i, j) * 2 end, "T")
    local U = nw.compute({4, 4}, function(i, j) return T(i, j) * 2 end, "U")
    local C = nw.compute({4}, function(i) return U(3, i) + U(i, 0) end, "C")
    local s = nw.schedule(C)
    t.accepted(s.transform_layout, s, "U", function(i, j) return i + j end)
    t.accepted(s.tensorize, s, "i", double)
    t.refused(ORDER, s.tensorize, s, "i_1", double)
    local ok, err = pcall(s.transform_layout, s, "T", function(i, j) return i + j end)
    assert(not ok and err.code == "refused", tostring(err))
    t.agree(s, {C}, {filled("f32", {4, 4})})
  end)
end
