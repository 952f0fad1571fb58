--- Classes A5 and A11, and reductions with several outputs. Each component of a reduction has its own identity. A call of an
--- intrinsic may compute its elements in another order than the interpreter.
local nw = require "nestwright"
local filled = require("values").filled

--- Makes a compute with `outs` outputs, each a reduction over k < n. Returns its schedule, its outputs and its arguments.
local function several(dtype, n, combiner, outs)
  local A, k = nw.placeholder({n}, dtype, "A"), nw.reduce_axis(n, "k")
  local out = table.pack(nw.compute({}, function()
    local terms = {}
    for i = 1, outs do terms[i] = nw[combiner](A(k) + (i - 1), k) end
    return table.unpack(terms)
  end, "C"))
  return nw.schedule(out), out, {filled(dtype, {n})}
end

local double_source = "#include <stdint.h>\n"
  .. "void %s(const %s *X, %s *Z, int64_t x, int64_t x1, int64_t z, int64_t z1) {\n"
  .. "  for (int i = 3; i >= 0; i--) for (int j = 0; j < 4; j++) Z[i*z+j*z1] = X[i*x+j*x1]*2; }"

--- Makes T = 2*A, 4 x 4, and an intrinsic that computes T from the last row to the first. C reads the first column of T, and D its
--- last row.
local function doubled(name, ctype, dtype)
  local X = nw.placeholder({4, 4}, dtype, "X")
  local Z = nw.compute({4, 4}, function(i, j) return X(i, j) * 2 end, "Z")
  local double = nw.intrinsic {name = name, args = {X, Z}, strides = {X = {"any", "any"}, Z = {"any", "any"}},
    source = double_source:format(name, ctype, ctype)}
  local A = nw.placeholder({4, 4}, dtype, "A")
  local T = nw.compute({4, 4}, function(i, j) return A(i, j) * 2 end, "T")
  local C, D = nw.compute({4}, function(i) return T(i, 0), T(3, i) end, "C")
  local s = nw.schedule(C, D)
  return s, double, {C, D}, {filled(dtype, {4, 4}, function(i) return i end)}
end

-- Makes a schedule of the sum, the maximum or the minimum of a row, in partial results of `lanes` lanes.
local function partial(dtype, n, combiner, lanes, product)
  local A, k = nw.placeholder({3, n}, dtype, "A"), nw.reduce_axis(n, "k")
  local C = nw.compute({3}, function(i) return nw[combiner](product and A(i, k) * A(2 - i, k) or A(i, k), k) end, "C")
  local s = nw.schedule(C)
  s:split("k", lanes)
  s:compute_at(s:rfactor("C", "k_i"), "i_1")
  s:vectorize "k_i"
  s:set_scope("C_rf", "local")
  return s, {C}
end

-- Returns n values, some of which are zeros of both signs. With `nan`, one of them is NaN.
local function extremes(dtype, n, nan)
  return filled(dtype, {3, n}, function(i)
    if nan and i == 2 * n then return 0 / 0 end
    return i % 3 == 0 and -0.0 or i % 3 == 1 and 0.0 or i <= n and -i or 0.0
  end)
end

return function(case, t)
  for _, dtype in ipairs {"f32", "f64", "f16"} do
    for _, combiner in ipairs {"max", "min"} do
      case("A10", ("the %s of many terms, with NaN and zeros, %s"):format(combiner, dtype), function()
        for _, n in ipairs {1, 7, 8, 9, 23, 64, 103} do
          for _, mark in ipairs {"none", "unroll", "lanes"} do
            local A, k = nw.placeholder({3, n}, dtype, "A"), nw.reduce_axis(n, "k")
            local C = nw.compute({3}, function(i) return nw[combiner](A(i, k), k) end, "C")
            local s = nw.schedule(C)
            if mark == "unroll" then s:unroll "k" end
            if mark == "lanes" then s:vectorize((select(2, s:split("k", 4))), {reduce = "tree"}) end
            for _, nan in ipairs {true, false} do t.agree(s, {C}, {extremes(dtype, n, nan)}) end
          end
        end
      end)
    end
    for _, combiner in ipairs {"sum", "max", "min"} do
      case("A6", ("the last vector of a partial %s, %s"):format(combiner, dtype), function()
        for _, n in ipairs {5, 16, 41} do
          for _, product in ipairs {true, false} do
            local s, C = partial(dtype, n, combiner, 8, product)
            t.agree(s, C, {filled(dtype, {3, n})})
          end
        end
      end)
    end
  end
  for _, dtype in ipairs {"i64", "i32", "u8", "f64"} do
    for _, combiner in ipairs {"sum", "min", "max"} do
      for outs = 2, 3 do
        local name = ("%s %ss, rfactor, %s"):format(outs == 2 and "two" or "three", combiner, dtype)
        case("A5", name, function()
          local s, out, a = several(dtype, 8, combiner, outs)
          s:split("k", 4)
          t.accepted(s.rfactor, s, "C", "k_i")
          t.agree(s, out, a)
        end)
      end
    end
  end
  case("A5", "two sums, split with a remainder, rfactor", function()
    local s, out, a = several("i64", 10, "sum", 2)
    s:split("k", 4)
    t.accepted(s.rfactor, s, "C", "k_i")
    t.agree(s, out, a)
  end)
  case("A5", "trim of two sums, one of which adds -1 outside the condition", function()
    local A, k = nw.placeholder({8}, "i64", "A"), nw.reduce_axis(8, "k")
    local C, D = nw.compute({8}, function(i)
      return nw.sum(nw.select(nw.le(k, i), A(k), 0), k), nw.sum(nw.select(nw.le(k, i), A(k), -1), k)
    end, "C")
    local s = nw.schedule(C, D)
    s:decompose_reduction("C", "i")
    t.refused("every iteration of k may add something", s.trim, s, "k")
    t.agree(s, {C, D}, {nw.full({8}, 1, "i64")})
  end)
  case("A5", "trim of two sums that add 0 outside the condition", function()
    local A, k = nw.placeholder({8}, "i64", "A"), nw.reduce_axis(8, "k")
    local C, D = nw.compute({8}, function(i)
      return nw.sum(nw.select(nw.le(k, i), A(k), 0), k), nw.sum(nw.select(nw.le(k, i), 2 * A(k), 0), k)
    end, "C")
    local s = nw.schedule(C, D)
    s:decompose_reduction("C", "i")
    t.accepted(s.trim, s, "k")
    t.agree(s, {C, D}, {filled("i64", {8})})
  end)

  case("A11", "an anti-diagonal layout after a call", function()
    local s, double, out, a = doubled("d44", "float", "f32")
    s:tensorize("i", double)
    t.refused("may use another order", s.transform_layout, s, "T", function(i, j) return i + j end)
    t.agree(s, out, a)
  end)
  case("A11", "an anti-diagonal layout before a call", function()
    local s, double, out, a = doubled("d44", "float", "f32")
    t.accepted(s.transform_layout, s, "T", function(i, j) return i + j end)
    t.refused("may use another order", s.tensorize, s, "i", double)
    t.agree(s, out, a)
  end)
  for _, l in ipairs {
    {"all rows at one place", function(i, j) return i * 0 + j end},
    {"rows that overlap", function(i, j) return 2 * i + j end},
    {"columns that overlap", function(i, j) return i + 2 * j end},
  } do
    case("A11", l[1] .. ", and a call", function()
      local s, double, out, a = doubled("d44", "float", "f32")
      if pcall(s.transform_layout, s, "T", l[2]) then t.refused("may use another order", s.tensorize, s, "i", double) end
      t.agree(s, out, a)
    end)
  end
  for _, l in ipairs {
    {"columns first", function(i, j) return j, i end},
    {"rows padded", function(i, j) return 7 * i + j end},
  } do
    case("A11", l[1] .. ", and a call", function()
      local s, double, out, a = doubled("d44", "float", "f32")
      s:tensorize("i", double)
      t.accepted(s.transform_layout, s, "T", l[2])
      t.agree(s, out, a)
    end)
  end
  for _, combiner in ipairs {"argmax", "argmin", "max"} do
    case("A5", "an empty piece whose vector would begin at the first element, " .. combiner, function()
      local N = nw.size("N", {min = 2})
      local B, k = nw.placeholder({N}, "f64", "B"), nw.reduce_axis(N, "k")
      local X = nw.compute({}, function() return nw[combiner](B(k), k) end, "X")
      local s = nw.schedule(X)
      s:partition("k", {at = {2, 10}})
      s:split("k.post", {factor = 8, tail = "shift"})
      local best = combiner == "argmin" and -9 or 9
      for n = 6, 12 do t.agree(s, {X}, {filled("f64", {n}, function(i) return i == 1 and best or i end)}) end
    end)
  end
end
