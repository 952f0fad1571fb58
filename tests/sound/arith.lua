--- Classes A4 to A10: an expression keeps its meaning when it is simplified, inlined or unrolled.
local nw = require "nestwright"
local ends, INTEGERS = require("values").ends, require("values").INTEGERS

local NAN, INF = 0 / 0, 1 / 0

local function array(dtype, list) return nw.tensor(list, dtype) end

local function integers(dtype)
  local most, least = ends(dtype)
  local out = {most, least, most - 1, least + 1, 0, 1, 2, 3, 7, most // 2, most // 2 + 1, least // 2}
  if least < 0 then for _, x in ipairs {-1, -2, -3, -7} do out[#out + 1] = x end end
  return out
end

--- Checks that inlining T does not change the result, for C = outer(T) and T = inner(A), all of one dtype.
local function inlined(t, dtype, inner, outer, values)
  values = values or integers(dtype)
  local n = #values
  local A = nw.placeholder({n}, dtype, "A")
  local T = nw.compute({n}, function(i) return inner(A(i)) end, "T")
  local C = nw.compute({n}, function(i) return outer(T(i)) end, "C")
  local s, a = nw.schedule(C), array(dtype, values)
  local before = t.agree(s, {C}, {a})
  t.accepted(s.compute_inline, s, "T")
  t.same(t.agree(s, {C}, {a}), before)
end

return function(case, t)
  -- Index arithmetic must be exact everywhere. For example, max(i * -(2^63 - 1), 0) is 0 for i >= 0. Machine code with an overflow
  -- once computed 2.
  case("A6", "index arithmetic that does not fit into 64 bits", function()
    local A = nw.placeholder({12}, "u8", "A")
    for _, f in ipairs {
      function(i) return A(nw.min(nw.max(i * -math.maxinteger, 0), 11)) end,
      function(i) return A(nw.max(i * -math.maxinteger, 0)) end,
      function(i) return nw.cast(i * (1 << 62), "u8") end,
      function(i) return nw.cast(i + math.maxinteger, "u8") end,
      function(i) return nw.select(nw.lt(nw.abs(i + math.mininteger), 3), A(i), 1) end,
      function(i) return nw.cast((i + math.mininteger) // -1, "u8") end,
    } do
      t.refused("does not fit into 64 bits", nw.compute, {12}, f, "C")
    end
  end)
  case("A6", "products of symbolic sizes are accepted", function()
    local M, N, K = nw.size "M", nw.size "N", nw.size "K"
    t.accepted(nw.compute, {M, N, K}, function(i, j, k) return (i * N + j) * K * 4 + k + M * N * K end, "C")
    t.refused("does not fit into 64 bits", nw.compute, {M}, function(i) return i * (1 << 40) end, "C")
  end)
  case("A4", "a clamp on the right of any", function()
    local A = nw.placeholder({8}, "f32", "A")
    local C = nw.compute({8}, function(i)
      return nw.select(nw.any(nw.lt(i, 1), nw.gt(A(nw.max(i - 1, 0)), 0)), 1.0, 2.0)
    end, "C")
    t.agree(nw.schedule(C), {C}, {nw.zeros {8}})
  end)
  case("A4", "a clamp on the right of all", function()
    local A = nw.placeholder({8}, "f32", "A")
    local C = nw.compute({8}, function(i)
      return nw.select(nw.all(nw.ge(i, 1), nw.gt(A(nw.max(i - 1, 0)), 0)), 1.0, 2.0)
    end, "C")
    t.agree(nw.schedule(C), {C}, {nw.full({8}, 1)})
  end)
  case("A4", "a clamp at the upper end, in lanes", function()
    local A = nw.placeholder({8}, "i32", "A")
    local C = nw.compute({8}, function(i)
      return nw.select(nw.any(nw.gt(i, 6), nw.eq(A(nw.min(i + 1, 7)), 0)), 1, 2)
    end, "C")
    local s = nw.schedule(C)
    s:vectorize "i"
    t.agree(s, {C}, {nw.full({8}, 1, "i32")})
  end)
  case("A4", "a divisor on the right of all", function()
    local D = nw.placeholder({8}, "i32", "D")
    t.refused("divi", nw.compute, {8}, function(i)
      return nw.select(nw.all(nw.ne(D(i), 0), nw.gt(100 // D(i), 3)), 1, 2)
    end, "C")
  end)
  case("A4", "a read on the right of any that the left does not guard", function()
    local A = nw.placeholder({8}, "f32", "A")
    local C = nw.compute({8}, function(i)
      return nw.select(nw.any(nw.lt(i, 1), nw.gt(A(i - 1), 0)), 1.0, 2.0)
    end, "C")
    t.refused("reads index %-1", nw.schedule, C)
  end)
  case("A4", "a read on the right of all under a cut", function()
    local A = nw.placeholder({9}, "f32", "A")
    local C = nw.compute({9}, function(i)
      return nw.select(nw.all(nw.ge(i, 2), nw.lt(A(nw.max(i - 2, 0)), 5)), A(i), 0)
    end, "C")
    local s = nw.schedule(C)
    s:cut("i", 2)
    t.agree(s, {C}, {nw.full({9}, 3)})
  end)

  case("A4", "a clamped divisor on the right of all", function()
    local D = nw.placeholder({8}, "i32", "D")
    local C = nw.compute({8}, function(i)
      return nw.select(nw.all(nw.ge(i, 1), nw.gt(100 // nw.max(i, 1), nw.cast(D(i), "i64"))), 1, 2)
    end, "C")
    local s = nw.schedule(C)
    t.agree(s, {C}, {nw.full({8}, 3, "i32")})
    t.same(t.list(nw.evaluate({C}, {nw.full({8}, 30, "i32")})[1]), {2, 1, 1, 1, 2, 2, 2, 2})
  end)
  case("A4", "all inside any", function()
    local C = nw.compute({8}, function(i)
      return nw.select(nw.any(nw.all(nw.gt(i, 2), nw.lt(i, 5)), nw.eq(i, 7)), 1, 2)
    end, "C")
    t.same(t.agree(nw.schedule(C), {C}, {})[1], {2, 2, 2, 1, 1, 2, 2, 1})
  end)

  for _, dtype in ipairs(INTEGERS) do
    case(dtype == "i64" and "A6" or "A7", "twice a number and half of it" .. (dtype == "i64" and "" or ", " .. dtype), function()
      inlined(t, dtype, function(x) return x * 2 end, function(x) return x // 2 end)
      inlined(t, dtype, function(x) return x * 6 + 4 end, function(x) return x % 3 end)
      inlined(t, dtype, function(x) return x + 1 end, function(x) return nw.select(nw.lt(x, 1), x, 0) end)
    end)
    case("A7", "abs of a negated " .. dtype, function()
      inlined(t, dtype, function(x) return -x end, nw.abs)
      inlined(t, dtype, function(x) return nw.abs(x) end, nw.abs)
    end)
    case("A6", "a number and its successor, " .. dtype, function()
      inlined(t, dtype, function(x) return x + 1 end, function(x) return nw.max(x, x - 1) end)
      inlined(t, dtype, function(x) return x - 1 end, function(x) return nw.min(x, x + 1) end)
      inlined(t, dtype, function(x) return nw.abs(x) end, function(x) return nw.select(nw.ge(x, 0), 1, 2) end)
    end)
    case("A6", "quotients of quotients, " .. dtype, function()
      inlined(t, dtype, function(x) return x // 3 end, function(x) return x // 5 end)
      inlined(t, dtype, function(x) return x % 12 end, function(x) return x % 4 end)
      inlined(t, dtype, function(x) return x % 12 end, function(x) return x // 4 end)
      inlined(t, dtype, function(x) return x // 7 * 7 end, function(x) return x // 7 end)
    end)
  end
  case("A6", "the sum of two numbers as the bound of an index", function()
    local I, J = nw.placeholder({2}, "i64", "I"), nw.placeholder({2}, "i64", "J")
    local B = nw.placeholder({16}, "f32", "B")
    t.refused("depends on data", nw.compute, {2}, function(i)
      return nw.select(nw.all(nw.ge(I(i), 0), nw.ge(J(i), 0), nw.lt(I(i) + J(i), 8)), B(nw.max(I(i), J(i))), 0)
    end, "C")
  end)
  case("A6", "abs of the least number as an index", function()
    local J, B = nw.placeholder({1}, "i64", "J"), nw.placeholder({16}, "f32", "B")
    t.refused("depends on data", nw.compute, {1}, function(i) return B(nw.min(nw.abs(J(i)), 15)) end, "C")
  end)
  case("A6", "an index clamped at both ends", function()
    local J, B = nw.placeholder({16}, "i64", "J"), nw.placeholder({16}, "f32", "B")
    local C = nw.compute({16}, function(i) return B(nw.min(nw.max(nw.abs(J(i)) * 3, 0), 15)) end, "C")
    local s = nw.schedule(C)
    s:vectorize(select(2, s:split("i", 8)))
    t.agree(s, {C}, {array("i64", integers "i64"), nw.zeros {16}})
  end)
  case("A6", "the same sum in the condition and in the index", function()
    local J, B = nw.placeholder({16}, "i64", "J"), nw.placeholder({16}, "f32", "B")
    local C = nw.compute({16}, function(i)
      return nw.select(nw.all(nw.ge(J(i) + J(i), 0), nw.lt(J(i) + J(i), 16)), B(J(i) + J(i)), -1)
    end, "C")
    t.agree(nw.schedule(C), {C}, {array("i64", integers "i64"), nw.zeros {16}})
  end)
  case("A6", "an index of a narrower dtype, whose range is known", function()
    local J, B = nw.placeholder({16}, "u8", "J"), nw.placeholder({520}, "f32", "B")
    t.accepted(nw.compute, {16}, function(i)
      return B(nw.cast(J(i), "i64") * 2 + nw.cast(J(nw.max(i - 1, 0)), "i64") // 32)
    end, "C")
  end)

  --- Compares operations on i64 data with the same operations on Lua's integers. Lua's integers also wrap, and their division also
  --- rounds down.
  local function as_lua(name, f, by)
    case("A6", name, function()
      local values = integers "i64"
      local n = #values
      local J = nw.placeholder({n}, "i64", "J")
      local C = nw.compute({n}, function(i) return f(J(i), i) end, "C")
      local want = {}
      for i = 1, n do want[i] = by(values[i], i - 1) end
      t.same(t.agree(nw.schedule(C), {C}, {array("i64", values)})[1], want)
    end)
  end
  local function beside(x, i) return (i + x % 7) % 7 end
  as_lua("a remainder of data beside an index", beside, beside)
  local function multiple(x) return (x % 10 * 3 + x % 10) % 5 end
  as_lua("a remainder of data beside its multiple", multiple, multiple)
  as_lua("a quotient of a value with a lower clamp", function(x) return (nw.max(x, 12) - 15) // 12 end,
    function(x) return (math.max(x, 12) - 15) // 12 end)
  as_lua("a remainder of a value with an upper clamp", function(x) return (nw.min(x, 3) + 7) % 16 end,
    function(x) return (math.min(x, 3) + 7) % 16 end)
  local function wrapping(x) return (x * 3 % 12) // 4 end
  as_lua("a quotient of a remainder that wraps", wrapping, wrapping)
  as_lua("a comparison whose constant changes sides", function(x)
    return nw.select(nw.lt(nw.max(x, 4) - 1, nw.cast(nw.cast(x, "i8"), "i64") - 9), nw.cast(1, "i64"), nw.cast(2, "i64"))
  end, function(x) return math.max(x, 4) - 1 < (x + 128) % 256 - 128 - 9 and 1 or 2 end)
  as_lua("a large multiple of an index beside data", function(x, i)
    return (4 * (nw.cast(nw.cast(x, "i8"), "i64") - 134453531069168496 * i) + i) // 12
  end, function(x, i) return (4 * ((x + 128) % 256 - 128 - 134453531069168496 * i) + i) // 12 end)
  as_lua("data whose value is known and large", function(x, i)
    return nw.select(nw.all(nw.ne(i, 0), nw.eq(x, math.maxinteger - 1)), (i + x) // i, nw.cast(0, "i64"))
  end, function(x, i) return i ~= 0 and x == math.maxinteger - 1 and (i + x) // i or 0 end)
  as_lua("a comparison of clamped values", function(x)
    return nw.select(nw.lt(nw.max(x, 4) - 9, nw.min(x, 4) + 5), nw.cast(1, "i64"), nw.cast(2, "i64"))
  end, function(x) return math.max(x, 4) - 9 < math.min(x, 4) + 5 and 1 or 2 end)
  case("A6", "numbers next to the least i64", function()
    local C = nw.compute({4}, function(i)
      return nw.select(nw.lt(i + 1, math.mininteger), 1, nw.select(nw.lt(nw.max(i + 1, i + math.mininteger), 0), 3, 2))
    end, "C")
    t.same(t.agree(nw.schedule(C), {C}, {})[1], {2, 2, 2, 2})
  end)
  case("A6", "an index of u8 beyond the ends of i8", function()
    local J, B = nw.placeholder({4}, "u8", "J"), nw.placeholder({130}, "f32", "B")
    t.refused("depends on data", nw.compute, {4}, function(i) return B(J(i)) end, "C")
  end)
  case("A6", "a masked index minus a number", function()
    local J, B = nw.placeholder({4}, "u8", "J"), nw.placeholder({16}, "f32", "B")
    t.refused("depends on data", nw.compute, {4}, function(i) return B((J(i) & 15) - 8) end, "C")
    t.refused("depends on data", nw.compute, {4}, function(i) return B(nw.cast(J(i), "i32") << 1 & -2) end, "C")
    t.refused("depends on data", nw.compute, {4}, function(i) return B(~J(i) >> 3) end, "C")
  end)
  case("A6", "a clamp of u64 as an index", function()
    local J, B = nw.placeholder({8}, "u64", "J"), nw.placeholder({16}, "f32", "B")
    local C = nw.compute({8}, function(i) return B(nw.min(J(i), 15)) end, "C")
    local s = nw.schedule(C)
    s:vectorize "i"
    t.agree(s, {C}, {nw.tensor({0, 1, 15, 16, -1, math.mininteger, math.maxinteger, 3}, "u64"), nw.zeros {16}})
    t.refused("depends on data", nw.compute, {8}, function(i) return B(J(i)) end, "C")
    t.refused("depends on data", nw.compute, {8}, function(i) return B(nw.min(nw.cast(J(i), "i64"), 15)) end, "C")
  end)
  case("A6", "the range of a shift by data", function()
    local J, B = nw.placeholder({16}, "i8", "J"), nw.placeholder({16}, "f32", "B")
    t.refused("depends on data", nw.compute, {16}, function(i) return B((J(i) & 15) << J(i)) end, "C")
    t.refused("depends on data", nw.compute, {16}, function(i) return B(J(i) >> 4) end, "C")
    local C = nw.compute({16}, function(i) return B((J(i) & 15) >> J(i)) end, "C")
    local s = nw.schedule(C)
    s:vectorize(select(2, s:split("i", 4)))
    t.agree(s, {C}, {array("i8", integers "i8"), nw.zeros {16}})
  end)
  case("A5", "the greatest of negative numbers, i32", function()
    local A, k = nw.placeholder({6}, "i32", "A"), nw.reduce_axis(6, "k")
    local C = nw.compute({}, function() return nw.max(A(k), k) end, "C")
    t.same(t.agree(nw.schedule(C), {C}, {array("i32", {-5, -3, -9, -7, -4, -6})})[1], {-3})
  end)

  for _, half in ipairs {"f16", "bf16"} do
    local step = half == "f16" and 1024 or 128
    local function to_half(x) return nw.full({1}, x, half):get(0) end
    local function single(x) return nw.full({1}, x, "f32"):get(0) end
    case("A8", "a cast to " .. half .. " of a quotient of " .. half, function()
      local A = nw.placeholder({64}, half, "A")
      local C = nw.compute({64}, function(i) return nw.cast(nw.cast(A(i) / 3, half), "f32") end, "C")
      local a, want = nw.zeros({64}, half), {}
      for i = 1, 64 do
        a:setflat(i, 1 + i / step)
        want[i] = to_half(single((1 + i / step) / 3))
      end
      t.same(t.agree(nw.schedule(C), {C}, {a})[1], want)
    end)
    case("A8", "a cast through " .. half, function()
      local A = nw.placeholder({64}, "f32", "A")
      local C = nw.compute({64}, function(i) return nw.cast(nw.cast(A(i), half), "f32") end, "C")
      local a, want = nw.zeros({64}, "f32"), {}
      for i = 1, 64 do
        a:setflat(i, 1 + i / 100)
        want[i] = to_half(single(1 + i / 100))
      end
      t.same(t.agree(nw.schedule(C), {C}, {a})[1], want)
    end)
    case("A8", "a sum of three " .. half, function()
      local A = nw.placeholder({64}, half, "A")
      local C = nw.compute({64}, function(i) return (A(i) + A(63 - i) / step) - A(63 - i) end, "C")
      local a, want = nw.zeros({64}, half), {}
      for i = 1, 64 do a:setflat(i, 1 + i / step) end
      for i = 1, 64 do want[i] = to_half(single(single(a:getflat(i) + single(a:getflat(65 - i) / step)) - a:getflat(65 - i))) end
      t.same(t.agree(nw.schedule(C), {C}, {a})[1], want)
    end)
    local function product(f, name)
      local A = nw.placeholder({13}, half, "A")
      local C = nw.compute({13}, function(i) return f(A(i), i) end, name or "C")
      return nw.schedule(C), C, nw.full({13}, 3, half)
    end
    case("A8", "a folded quotient of " .. half .. ", unrolled", function()
      local s, C, a = product(function(x, i) return x * (nw.cast(i, half) / 7) end)
      s:unroll "i"
      t.agree(s, {C}, {a})
    end)
    case("A8", "a folded quotient of " .. half .. ", cut", function()
      local s, C, a = product(function(x, i) return x * (nw.cast(i, half) / 7) end)
      s:split("i", 3, {tail = "cut"})
      t.agree(s, {C}, {a})
    end)
    case("A8", "folded sums and roots of " .. half .. ", unrolled", function()
      local s, C, a = product(function(x, i)
        return x + nw.sqrt(nw.cast(i, half)) * (nw.cast(i, half) + 0.001) - nw.floor(nw.cast(i, half) / 3) * 0.1
      end)
      s:unroll "i"
      t.agree(s, {C}, {a})
    end)
    case("A8", "a cast to " .. half .. " of a product of " .. half, function()
      local A = nw.placeholder({64}, half, "A")
      local function made(cast)
        local C = nw.compute({64}, function(i)
          local x = A(i) * A(63 - i)
          return nw.cast(cast and nw.cast(x, half) or x, "f32") * 3
        end, "C")
        local a = nw.zeros({64}, half)
        for i = 1, 64 do a:setflat(i, 1 + i / 77) end
        local s = nw.schedule(C)
        s:vectorize(select(2, s:split("i", 8)))
        return t.agree(s, {C}, {a})
      end
      local rounded, differ = made(true), 0
      local plain = made(false)
      for i = 1, 64 do differ = differ + (rounded[1][i] ~= plain[1][i] and 1 or 0) end
      assert(differ > 0, "no result depends on the cast")
    end)
    case("A9", "the greatest product of " .. half .. " after rfactor", function()
      local round = function(x) return nw.full({1}, x, half):get(0) end
      local steps, found = half == "f16" and 1024 or 128, 0
      for _, which in ipairs {"argmax", "argmin"} do
        local A, B, k = nw.placeholder({2}, half, "A"), nw.placeholder({2}, half, "B"), nw.reduce_axis(2, "k")
        local C, D = nw.compute({}, function() return nw[which](A(k) * B(k), k) end, "E")
        for x = 1, 40 do
          for z = 1, 40, 3 do
            local a, b, c, d = 1 + x / steps, 1 + (x + 9) / steps, 1 + z / steps, 1 + 20 / steps
            if a * b ~= c * d and round(a * b) == round(c * d) and found < 4 then
              found = found + 1
              local s = nw.schedule(C, D)
              local data = {array(half, {a, c}), array(half, {b, d})}
              local before = t.agree(s, {C, D}, data)
              t.same(before[2], {0}, "a tie goes to the lowest index")
              s:rfactor("E.value", "k")
              t.same(t.agree(s, {C, D}, data), before)
            end
          end
        end
      end
      assert(found > 0, "no inputs with a tie were found")
    end)
    case("A9", "the greatest quotient of " .. half .. " in lanes", function()
      local A, k = nw.placeholder({16, 8}, half, "A"), nw.reduce_axis(16, "k")
      local C, D = nw.compute({8}, function(i) return nw.argmax(A(k, i) / 3, k) end, "E")
      local s, a = nw.schedule(C, D), nw.zeros({16, 8}, half)
      for i = 1, 128 do a:setflat(i, i % 11 == 0 and NAN or 2 + (i * 37 % 50) / 512) end
      s:reorder("k", "i")
      s:vectorize "i"
      t.agree(s, {C, D}, {a})
    end)
  end

  case("A10", "the greatest f16 of a column, with NaN", function()
    for _, dtype in ipairs {"f16", "bf16", "f32", "f64"} do
      for _, which in ipairs {"max", "min"} do
        for _, lanes in ipairs {2, 4, 8, 16, 3} do
          local A, k = nw.placeholder({3, lanes}, dtype, "A"), nw.reduce_axis(3, "k")
          local C = nw.compute({lanes}, function(i) return nw[which](A(k, i), k) end, "C")
          local s, a = nw.schedule(C), nw.zeros({3, lanes}, dtype)
          local special = {1, NAN, -0.0, 0.0, INF, -INF, 2}
          for i = 1, a:count() do a:setflat(i, special[(i * 5) % 7 + 1]) end
          s:reorder("k", "i")
          s:vectorize "i"
          t.agree(s, {C}, {a})
        end
      end
    end
  end)
end
