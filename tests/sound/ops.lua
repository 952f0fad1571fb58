--- Class A10: for special values, every operation gives the same result as in the interpreter, with every dtype and vector width.
local nw = require "nestwright"

local SPECIAL = {
  float = {0.0, -0.0, 1, -1, 0.5, -1.5, 3, 1 / 0, -1 / 0, 0 / 0, 1e-45, -6e-8, 65504, -65504, 1e38, 3.4e38, 2.5, 1e-300},
  i8 = {0, 1, -1, 127, -128, 126, -127, 2, -2, 3, 64, -64},
  i16 = {0, 1, -1, 32767, -32768, 32766, -32767, 2, -2, 3, 16384, -181},
  i32 = {0, 1, -1, 2147483647, -2147483648, 2147483646, 2, -2, 3, 65536, -46341},
  i64 = {0, 1, -1, math.maxinteger, math.mininteger, math.maxinteger - 1, 2, -2, 3, 1 << 32, -3037000500},
  u8 = {0, 1, 255, 254, 2, 3, 128, 127},
  u16 = {0, 1, 65535, 65534, 2, 3, 32768, 32767},
  u32 = {0, 1, 4294967295, 4294967294, 2, 3, 2147483648, 2147483647},
  u64 = {0, 1, -1, -2, 2, 3, math.mininteger, math.maxinteger, 1 << 32, -1 << 11, 3037000500}, -- the bits, as i64
  bool = {0, 1},
}
-- The special values of f64 include a number between two neighbouring f16 values, and one between two neighbouring bf16 values.
-- Each number is nearer to its upper neighbour. Rounded to f32, it is exactly in the middle.
SPECIAL.f64 = table.move(SPECIAL.float, 1, #SPECIAL.float, 1, {})
for _, x in ipairs {1 + 0x1p-11 + 0x1p-30, 1 + 0x1p-8 + 0x1p-40} do table.insert(SPECIAL.f64, x) end
local FLOATS, INTEGERS = require("values").FLOATS, require("values").INTEGERS

local both = {
  ["+"] = function(x, y) return x + y end,
  ["-"] = function(x, y) return x - y end,
  ["*"] = function(x, y) return x * y end,
  min = nw.min,
  max = nw.max,
  neg = function(x) return -x end,
  abs = function(x) return nw.abs(x) end,
  clamp = function(x, y) return nw.clamp(x, y, nw.max(y, x)) end,
  lt = nw.lt, le = nw.le, eq = nw.eq, ne = nw.ne,
  select = function(x, y) return nw.select(nw.lt(x, y), y, x) end,
}
local of_floats = {
  ["/"] = function(x, y) return x / y end,
  floor = function(x) return nw.floor(x) end,
  ceil = function(x) return nw.ceil(x) end,
  round = function(x) return nw.round(x) end,
  sqrt = function(x) return nw.sqrt(x) end,
  rsqrt = function(x) return nw.rsqrt(x) end,
}
-- An integer dtype for each width in bits.
local BITS_OF = {["16"] = "u16", ["32"] = "u32", ["64"] = "i64"}
local function bits_of(x) return nw.reinterpret(x, BITS_OF[x.dtype:match "%d+"]) end
for name, f in pairs {
  mantissa = function(x) return nw.mantissa(x) end,
  exponent = function(x) return nw.exponent(x) end,
  ["ldexp of its parts"] = function(x) return nw.ldexp(nw.frexp(x)) end,
  ["ldexp by 3"] = function(x) return nw.ldexp(x, 3) end,
  ["ldexp by -130"] = function(x) return nw.ldexp(x, -130) end,
  ["ldexp by -1060"] = function(x) return nw.ldexp(x, -1060) end,
  ["ldexp by a float"] = function(x, y) return nw.ldexp(x, nw.cast(y, "i32")) end,
  ["ldexp by an exponent"] = function(x, y) return nw.ldexp(x, nw.exponent(y) * 5) end,
  ["its bits"] = bits_of,
  ["the bits of a product"] = function(x, y) return bits_of(x * y) end,
  ["its bits, changed"] = function(x) return nw.reinterpret(bits_of(x) ~ 5, x.dtype) end,
  ["its bits, and back"] = function(x, y) return nw.reinterpret(bits_of(x - y), x.dtype) end,
} do of_floats[name] = f end
local of_integers = {
  popcount = function(x) return nw.popcount(x) end,
  ["popcount of a difference"] = function(x, y) return nw.popcount(x ~ y) end,
  ["x*y + x"] = function(x, y) return x * y + x end,
  ["//"] = function(x, y) return nw.select(nw.ne(y, 0), x // y, 7) end,
  ["%"] = function(x, y) return nw.select(nw.ne(y, 0), x % y, 7) end,
  ["// 8"] = function(x) return x // 8 end,
  ["% 8"] = function(x) return x % 8 end,
  ["// 7"] = function(x) return x // 7 end,
  ["% 7"] = function(x) return x % 7 end,
  ["&"] = function(x, y) return x & y end,
  ["|"] = function(x, y) return x | y end,
  ["~"] = function(x, y) return x ~ y end,
  ["not"] = function(x) return ~x end,
  ["<<"] = function(x, y) return x << y end,
  [">>"] = function(x, y) return x >> y end,
  ["<< by less than 8"] = function(x, y) return x << (y & 7) end,
  [">> by less than 8"] = function(x, y) return x >> (y & 7) end,
  ["<< 3"] = function(x) return x << 3 end,
  [">> 3"] = function(x) return x >> 3 end,
  ["<< 40"] = function(x) return x << 40 end,
  [">> 40"] = function(x) return x >> 40 end,
  ["a rotation"] = function(x, y) return (x << 3 | x >> 5) ~ (y & ~x) end,
}
local of_bools = {
  all = nw.all, any = nw.any, eq = nw.eq, ne = nw.ne,
  not_ = function(x) return nw.not_(x) end,
  ["+"] = function(x, y) return x + y end,
  ["*"] = function(x, y) return x * y end,
  select = function(x, y) return nw.select(x, nw.not_(y), y) end,
}
local of_math = {
  exp = function(x) return nw.exp(x) end,
  log = function(x) return nw.log(x) end,
  tanh = function(x) return nw.tanh(x) end,
  erf = function(x) return nw.erf(x) end,
  sigmoid = function(x) return nw.sigmoid(x) end,
  pow = function(x, y) return nw.pow(x, y) end,
  ["exp of a difference"] = function(x, y) return nw.exp(x - y) end,
}
--- Expressions that choose one of two values.
local choices = {
  ["an absolute difference"] = function(x, y) return nw.select(nw.lt(x, y), y - x, x - y) end,
  ["a maximum of minima"] = function(x, y) return nw.max(nw.min(x, y), nw.min(y, x + y)) end,
  ["a choice of choices"] = function(x, y)
    return nw.select(nw.any(nw.eq(x, y), nw.lt(x, 0)), nw.select(nw.all(nw.le(x, y), nw.ne(y, 1)), x, y), nw.abs(x))
  end,
  ["not both less and unequal"] = function(x, y) return nw.select(nw.not_(nw.all(nw.lt(x, y), nw.ne(x, y))), x, y) end,
}
-- The numbers of lanes. An emulated processor tries only three numbers, because it needs minutes for all of them.
local WIDTHS = os.getenv "NW_FEW_WIDTHS" and {3, 8, 32} or {1, 2, 3, 4, 8, 16, 32, 64}

--- Returns all pairs of special values as two arrays, whose length is a multiple of 192.
local function pairs_of(dtype, other)
  local x, y = SPECIAL[dtype] or SPECIAL.float, SPECIAL[other] or SPECIAL.float
  local n = (#x * #y + 191) // 192 * 192
  local a, b = nw.zeros({n}, dtype), nw.zeros({n}, other)
  for i = 0, n - 1 do
    a:setflat(i + 1, x[i % #x + 1])
    b:setflat(i + 1, y[i // #x % #y + 1])
  end
  return a, b, n
end

local function compare(t, dtype, name, f, other, agree)
  local a, b, n = pairs_of(dtype, other or dtype)
  for _, width in ipairs(WIDTHS) do
    local A, B = nw.placeholder({n}, dtype, "A"), nw.placeholder({n}, other or dtype, "B")
    local C = nw.compute({n}, function(i) return f(A(i), B(i)) end, "C")
    local s, used = nw.schedule(C), {}
    if width > 1 then s:vectorize(select(2, s:split("i", width))) end
    for _, input in ipairs(s:inputs()) do used[#used + 1] = input.name == "A" and a or b end
    local ok, err = pcall(agree or t.agree, s, {C}, used)
    if not ok then error(("%s of %s in %d lanes: %s"):format(name, dtype, width, tostring(err)), 0) end
  end
end

--- Compares reductions over k of arrays [k, lanes], with the loop over lanes inside.
local REDUCTIONS = {"sum", "prod", "min", "max", "argmin", "argmax"}
local function reduce(t, dtype, which)
  local values = SPECIAL[dtype] or SPECIAL.float
  for _, lanes in ipairs(WIDTHS) do
    for _, length in ipairs {1, 2, 7} do
      local A, k = nw.placeholder({length, lanes}, dtype, "A"), nw.reduce_axis(length, "k")
      local out = table.pack(nw.compute({lanes}, function(i) return nw[which](A(k, i), k) end, "C"))
      local s, a = nw.schedule(table.unpack(out)), nw.zeros({length, lanes}, dtype)
      for i = 1, a:count() do a:setflat(i, values[(i * 7 + i // 5 + lanes) % #values + 1]) end
      s:reorder("k", "i")
      if lanes > 1 then s:vectorize "i" end
      local ok, err = pcall(t.agree, s, out, {a})
      if not ok then error(("%s of %d %s in %d lanes: %s"):format(which, length, dtype, lanes, tostring(err)), 0) end
    end
  end
end

return function(case, t)
  --- Compares the compiled program with the lowered program in the interpreter. The user's program is not compared, because its
  --- scalar math functions may round differently from the vector forms.
  local function like_lowered(s, _, arguments)
    local got, want = s:build {threads = 1}(table.unpack(arguments)), nw.interpret(s, arguments, {lowered = true})[1]
    t.same(t.list(got), t.list(want))
  end
  local function all(dtype, ops, agree)
    local names = {}
    for name in pairs(ops) do names[#names + 1] = name end
    table.sort(names)
    for _, name in ipairs(names) do compare(t, dtype, name, ops[name], nil, agree) end
  end
  for _, dtype in ipairs(FLOATS) do
    case("A10", "every operation of " .. dtype, function()
      all(dtype, both)
      all(dtype, of_floats)
      all(dtype, choices)
    end)
    case("A10", "every math function of " .. dtype, function() all(dtype, of_math, like_lowered) end)
  end
  for _, dtype in ipairs(INTEGERS) do
    case("A10", "every operation of " .. dtype, function()
      all(dtype, both)
      all(dtype, of_integers)
      all(dtype, choices)
    end)
  end
  for from, to in pairs {u16 = "f16", i16 = "bf16", u32 = "f32", i64 = "f64", u64 = "f64"} do
    case("A10", "the value of the bits of " .. from, function()
      compare(t, from, "reinterpret as " .. to, function(x) return nw.reinterpret(x, to) end)
      compare(t, from, "a sum of reinterpreted numbers", function(x, y) return nw.reinterpret(x, to) + nw.reinterpret(y, to) end)
    end)
  end
  case("A10", "every operation of bool", function() all("bool", of_bools) end)
  for _, list in ipairs {FLOATS, INTEGERS} do
    for _, dtype in ipairs(list) do
      case("A10", "every reduction of " .. dtype, function()
        for _, which in ipairs(REDUCTIONS) do reduce(t, dtype, which) end
      end)
    end
  end
  for _, from in ipairs {"f16", "bf16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool"} do
    case("A10", "every cast of " .. from, function()
      for _, to in ipairs {"f16", "bf16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool"} do
        compare(t, from, "cast to " .. to, function(x) return nw.cast(x, to) end)
        if from ~= "bool" then compare(t, from, "cast of a sum to " .. to, function(x, y) return nw.cast(x + y, to) end) end
      end
    end)
  end
end
