--- Tests the operations on the bits of integers: what they mean, what they refuse, and programs that are written with them.
local nw = require "nestwright"
local support = require "support"
local fails = support.fails

-- Returns f(x, y). The definition, the interpreted schedule, the interpreted lowered program and the machine code must agree.
local function value(dtype, x, y, f)
  local A = nw.placeholder({2}, dtype, "A")
  local T = nw.compute({1}, function(_) return f(A(0), A(1)) end, "T")
  local s, data = nw.schedule(T), {nw.tensor({x, y}, dtype)}
  local want = nw.evaluate(T, data)[1]:getflat(1)
  assert.equal(want, nw.interpret(s, data)[1]:getflat(1))
  assert.equal(want, nw.interpret(s, data, {lowered = true})[1]:getflat(1))
  assert.equal(want, s:build()(table.unpack(data)):getflat(1))
  return want
end

-- Returns f(x) for one number.
local function of(dtype, x, f) return value(dtype, x, x, function(v) return f(v) end) end

local function left(x, n) return x << n end
local function right(x, n) return x >> n end

-- Returns an array of n numbers that look random, made by f(i) for i = 1, 2, ...
local function filled(n, dtype, f)
  local a = nw.zeros({n}, dtype)
  for i = 1, n do a:setflat(i, f(i)) end
  return a
end

-- Checks that every way of running the schedule gives these numbers.
local function gives(want, s, ...)
  for _, got in ipairs {nw.interpret(s, {...})[1], nw.interpret(s, {...}, {lowered = true})[1], (s:build()(...))} do
    assert.same(want, got:totable())
  end
  assert.is_true(s:reparses())
end

describe("operations on bits", function()
  it("are Lua's operators and functions", function()
    assert.equal(8, value("i32", 12, 10, function(x, y) return x & y end))
    assert.equal(14, value("u8", 12, 10, function(x, y) return x | y end))
    assert.equal(6, value("i64", 12, 10, function(x, y) return x ~ y end))
    assert.equal(-13, value("i16", 12, 10, function(x) return ~x end))
    assert.equal(243, value("u8", 12, 10, function(x) return ~x end))
    assert.equal(8, value("i32", 12, 10, nw.bitwise_and))
    assert.equal(14, value("i32", 12, 10, nw.bitwise_or))
    assert.equal(6, value("i32", 12, 10, nw.bitwise_xor))
    assert.equal(-13, value("i32", 12, 10, function(x) return nw.bitwise_not(x) end))
    assert.equal(48, value("i32", 12, 2, nw.shift_left))
    assert.equal(3, value("i32", 12, 2, nw.shift_right))
    assert.equal(-8, value("i32", -4, 1, left))
    assert.equal(-2, value("i32", -7, 2, right))
    assert.equal(0x80, value("u8", 0xFF, 7, left))
    assert.equal(1, value("u8", 0xFF, 7, right))
  end)

  it("take numbers on both sides, as other operators do", function()
    assert.equal(40, value("u16", 5, 3, function(x) return x << 3 end))
    assert.equal(32, value("u16", 5, 3, function(x) return 1 << x end))
    assert.equal("u16", (1 << nw.placeholder({1}, "u16", "A")(0)).dtype)
    assert.equal("i64", (nw.placeholder({1}, "u32", "A")(0) & nw.placeholder({1}, "i32", "B")(0)).dtype)
  end)

  it("shift out all bits if the count is out of range", function()
    for _, dtype in ipairs {"i8", "i16", "i32", "i64"} do
      local width = tonumber(dtype:match "%d+")
      for _, count in ipairs {width, width + 1, 100, 127, -1, -128} do
        assert.equal(0, value(dtype, 5, count, left))
        assert.equal(0, value(dtype, 5, count, right))
        assert.equal(-1, value(dtype, -5, count, right))
      end
      assert.equal(-1, value(dtype, -5, width - 1, right))
    end
    for _, dtype in ipairs {"u8", "u16", "u32"} do
      local width = tonumber(dtype:match "%d+")
      for _, count in ipairs {width, width + 1, 255} do
        assert.equal(0, value(dtype, 200, count, left))
        assert.equal(0, value(dtype, 200, count, right))
      end
    end
    assert.equal(0, value("i32", 5, 0, function(x) return x << 32 end))
    assert.equal(-1, value("i32", -5, 0, function(x) return x >> 99 end))
    assert.equal(0, value("i32", 5, 0, function(x) return x << -1 end))
  end)

  it("refuse floats and conditions, and name the function to use", function()
    local F, I = nw.placeholder({1}, "f32", "F"), nw.placeholder({1}, "i32", "I")
    fails("each operand must be an integer, and one is f32", "type", function() return F(0) & 1 end)
    fails("cast it to an integer", "type", function() return I(0) << 1.5 end)
    local c = nw.lt(I(0), 3)
    fails("nw%.all", "type", function() return c & c end)
    fails("nw%.any", "type", function() return c | c end)
    fails("nw%.ne", "type", function() return c ~ c end)
    fails("nw%.not_", "type", function() return ~c end)
    fails("does not fit into u8", "range", function() return nw.placeholder({1}, "u8", "U")(0) & 256 end)
  end)

  it("are written with parentheses where people could misread them", function()
    local A, B = nw.placeholder({8}, "u32", "A"), nw.placeholder({8}, "u32", "B")
    local function text(f) return tostring(f(A(0), B(0))) end
    assert.equal("(A[0] & B[0]) + u32(1)", text(function(a, b) return (a & b) + 1 end))
    assert.equal("A[0] & (B[0] + u32(1))", text(function(a, b) return a & b + 1 end))
    assert.equal("A[0] | B[0] | u32(1)", text(function(a, b) return a | b | 1 end))
    assert.equal("(A[0] << u32(3)) | (A[0] >> u32(29))", text(function(a) return a << 3 | a >> 29 end))
    assert.equal("~(A[0] ~ B[0])", text(function(a, b) return ~(a ~ b) end))
    assert.equal("(A[0] & B[0]) == u32(0)", text(function(a, b) return nw.eq(a & b, 0) end))
  end)

  it("of an index with a constant are arithmetic, so that reads can be proved to be inside", function()
    local A = nw.placeholder({64}, "f32", "A")
    local function body(f) return (tostring(nw.compute({64}, function(i) return A(f(i)) end, "C")):gsub("^.- = ", "")) end
    assert.equal("A[i % 8]", body(function(i) return i & 7 end))
    assert.equal("A[i // 4]", body(function(i) return i >> 2 end))
    assert.equal("A[i - 8*((i // 4) % 2) + 4]", body(function(i) return i ~ 4 end))
    for _, f in ipairs {function(i) return i ~ 63 end, function(i) return i | 9 end, function(i) return i & ~6 end,
      function(i) return ((i & 1) << 5) + (i >> 1) end, function(i) return ~i + 64 end} do
      local C = nw.compute({64}, function(i) return A(f(i)) end, "C")
      local s = nw.schedule(C)
      s:parallel((s:split("i", 8)))
      local want = {}
      for i = 0, 63 do want[i + 1] = f(i) + 0.0 end
      gives(want, s, filled(64, "f32", function(i) return i - 1 end))
    end
    fails("reads index 64", "range", nw.compute, {64}, function(i) return A(i ~ 64) end, "C")
    fails("does not fit into 64 bits", "range", nw.compute, {64}, function(i) return A(nw.min(1 << i, 63)) end, "C")
  end)

  it("bound an index that depends on data", function()
    local K, B = nw.placeholder({32}, "u32", "K"), nw.placeholder({256}, "i32", "B")
    local I = nw.placeholder({32}, "i64", "I")
    local keys = filled(32, "u32", function(i) return i * 2654435761 & 0xFFFFFFFF end)
    local table_of = filled(256, "i32", function(i) return 3 * i end)
    local C = nw.compute({32}, function(i) return B(K(i) >> 24) + B(K(i) & 255) + B(K(i) >> 8 & 255) end, "C")
    local s = nw.schedule(C)
    local outer, inner = s:split("i", 8)
    s:vectorize(inner)
    s:parallel(outer)
    local want = {}
    for i = 1, 32 do
      local k = keys:getflat(i)
      want[i] = 3 * ((k >> 24) + 1) + 3 * ((k & 255) + 1) + 3 * ((k >> 8 & 255) + 1)
    end
    gives(want, s, table.unpack(s:inputs()[1].name == "K" and {keys, table_of} or {table_of, keys}))
    nw.schedule(nw.compute({32}, function(i) return B(I(i) & 255) end, "D"))
    fails("depends on data", "range", nw.compute, {32}, function(i) return B(K(i) >> 23) end, "E")
    fails("depends on data", "range", nw.compute, {32}, function(i) return B((K(i) & 255) - 1) end, "E")
    fails("depends on data", "range", nw.compute, {32}, function(i) return B(I(i) & -256) end, "E")
  end)
end)

describe("popcount", function()
  it("counts the ones in the width of the dtype", function()
    assert.equal(3, of("i32", 0x10101, nw.popcount))
    for dtype, bits in pairs {i8 = 8, i16 = 16, i32 = 32, i64 = 64} do
      assert.equal(bits, of(dtype, -1, nw.popcount))
      assert.equal(1, value(dtype, 0, 0, function(x) return nw.popcount(x + 1) end))
      assert.equal(1, value(dtype, -1, 0, function(x) return nw.popcount(x << bits - 1) end))
    end
    assert.equal(8, of("u8", 255, nw.popcount))
    assert.equal(32, of("u32", 0xFFFFFFFF, nw.popcount))
  end)

  it("is at most the width, as an index", function()
    local K, B = nw.placeholder({8}, "u32", "K"), nw.placeholder({33}, "i32", "B")
    nw.schedule(nw.compute({8}, function(i) return B(nw.popcount(K(i))) end, "C"))
    fails("depends on data", "range", nw.compute, {8}, function(i) return B(nw.popcount(K(i)) + 1) end, "C")
  end)
end)

local function bits(dtype) return function(x) return nw.reinterpret(x, dtype) end end

describe("reinterpret", function()
  it("gives the bits of a float, and the float of the bits", function()
    assert.equal(0x3F800000, of("f32", 1.0, bits "u32"))
    assert.equal(-0x80000000, of("f32", -0.0, bits "i32"))
    assert.equal(0x3C00, of("f16", 1.0, bits "u16"))
    assert.equal(0x4049, of("bf16", 3.140625, bits "i16"))
    assert.equal(0x400921FB54442D18, of("f64", 0x1.921fb54442d18p+1, bits "i64"))
    assert.equal(1.5, of("u32", 0x3FC00000, bits "f32"))
    assert.equal(1.5, of("i64", 0x3FF8000000000000, bits "f64"))
    assert.equal(-2.0, of("u16", 0xC000, bits "f16"))
    assert.equal(1 / 0, of("u16", 0x7F80, bits "bf16"))
    assert.equal(0x1p-149, of("u32", 1, bits "f32"))
    assert.equal(-1, of("u32", 0xFFFFFFFF, bits "i32"))
    assert.equal(1.5, of("f32", 1.5, bits "f32"))
  end)

  it("rounds a half first", function()
    assert.equal(0x3C00, of("f16", 1.0, function(x) return nw.reinterpret(x + x * 0x1p-10 * 0.25, "u16") end))
    assert.equal(0x3F80, of("bf16", 1.0, function(x) return nw.reinterpret(x + x * 0x1p-9, "u16") end))
  end)

  it("gives every NaN the same bits", function()
    for dtype, row in pairs {f16 = {"u16", 0x7E00}, bf16 = {"u16", 0x7FC0}, f32 = {"u32", 0x7FC00000},
      f64 = {"i64", 0x7FF8000000000000}} do
      assert.equal(row[2], of(dtype, 0 / 0, bits(row[1])))
      assert.equal(row[2], of(dtype, 1 / 0, function(x) return nw.reinterpret(x - x, row[1]) end))
      assert.equal(row[2], of(dtype, 0.0, function(x) return nw.reinterpret(-(x / x), row[1]) end))
    end
  end)

  it("refuses other widths, and conditions", function()
    local F, H = nw.placeholder({1}, "f32", "F"), nw.placeholder({1}, "f16", "H")
    fails("f32 has 32 bits and i16 has 16", "type", function() return nw.reinterpret(F(0), "i16") end)
    fails("f16 has 16 bits and f32 has 32", "type", function() return nw.reinterpret(H(0), "f32") end)
    fails("not bool", "type", function() return nw.reinterpret(nw.lt(F(0), 1), "u8") end)
    fails("did you mean 'u32'", "invalid", function() return nw.reinterpret(F(0), "u23") end)
  end)

  it("is read back from the text of a program", function()
    local A = nw.placeholder({8}, "f32", "A")
    local C = nw.compute({8}, function(i) return nw.reinterpret(nw.reinterpret(A(i), "u32") & 0x7FFFFFFF, "f32") end, "C")
    local s = nw.schedule(C)
    assert.truthy(s:text():find("reinterpret(reinterpret(A[i], u32) & u32(2147483647), f32)", 1, true))
    s:vectorize "i"
    assert.is_true(s:reparses())
  end)
end)

describe("ldexp and frexp", function()
  it("scale by a power of two, and take a float apart", function()
    assert.equal(12.0, of("f32", 1.5, function(x) return nw.ldexp(x, 3) end))
    assert.equal(-0.375, of("f64", -3.0, function(x) return nw.ldexp(x, -3) end))
    assert.equal(0.75, of("f32", 3.0, nw.mantissa))
    assert.equal(2, of("f32", 3.0, nw.exponent))
    assert.equal(-0.5, of("f64", -0x1p-1074, nw.mantissa))
    assert.equal(-1073, of("f64", -0x1p-1074, nw.exponent))
    assert.equal(-148, of("f32", 0x1p-149, nw.exponent))
    assert.equal(128, of("bf16", 0x1p127, nw.exponent))
    assert.equal("i32", nw.exponent(nw.placeholder({1}, "f64", "A")(0)).dtype)
    assert.equal("f16", nw.mantissa(nw.placeholder({1}, "f16", "A")(0)).dtype)
    for _, x in ipairs {1.0, -0.1, 0x1.fffffep127, 0x1p-149, 0.0, -0.0, 1 / 0, -1 / 0} do
      local got = of("f32", x, function(v) return nw.ldexp(nw.frexp(v)) end)
      assert.equal(of("f32", x, function(v) return v end), got)
      assert.equal(1 / x < 0, 1 / got < 0)
    end
  end)

  it("leave 0, infinities and NaN as they are", function()
    for _, dtype in ipairs {"f16", "bf16", "f32", "f64"} do
      for _, x in ipairs {0.0, 1 / 0, -1 / 0} do
        assert.equal(x, of(dtype, x, nw.mantissa))
        assert.equal(0, of(dtype, x, nw.exponent))
        assert.equal(x, of(dtype, x, function(v) return nw.ldexp(v, 100) end))
      end
      assert.equal(1, of(dtype, 0 / 0, function(v) return nw.select(nw.ne(nw.mantissa(v), nw.mantissa(v)), 1, 0) end))
      assert.equal(0, of(dtype, 0 / 0, nw.exponent))
    end
  end)

  it("give infinity or 0 if the result is too large or too small", function()
    local function by(n) return function(x) return nw.ldexp(x, n) end end
    for _, n in ipairs {180, 300, 1000, 2147483647, math.maxinteger} do
      assert.equal(1 / 0, of("f32", 1.0, by(n)))
      assert.equal(-1 / 0, of("f32", -1.0, by(n)))
      assert.equal(0.0, of("f32", 1.0, by(-n)))
    end
    assert.equal(0x1p127, of("f32", 0x1p-149, by(276)))
    assert.equal(0x1p-149, of("f32", 0x1p127, by(-276)))
    assert.equal(0x1p1023, of("f64", 0x1p-1074, by(2097)))
    assert.equal(0x1p-1074, of("f64", 0x1p1023, by(-2097)))
    assert.equal(1 / 0, of("f64", 0x1p-1074, by(2098)))
  end)

  it("take a count of every integer dtype", function()
    for _, dtype in ipairs {"i8", "u8", "i16", "u16", "i32", "u32", "i64"} do
      assert.equal(40.0, value(dtype, 5, 3, function(x, n) return nw.ldexp(nw.cast(x, "f32"), n) end))
    end
    assert.equal(0.0, value("i64", 5, math.mininteger, function(x, n) return nw.ldexp(nw.f32(x), n) end))
    assert.equal(1 / 0, value("u32", 5, 0xFFFFFFFF, function(x, n) return nw.ldexp(nw.f32(x), n) end))
    assert.equal("f32", nw.ldexp(nw.placeholder({1}, "i32", "A")(0), 3).dtype)
    fails("must be an integer, not f32", "type", function()
      local F = nw.placeholder({1}, "f32", "F")
      return nw.ldexp(F(0), F(0))
    end)
  end)

  -- The result is just below the middle of two numbers. If the number is first rounded to a step that is too coarse, it becomes
  -- the middle, and the second rounding goes up.
  it("round once", function()
    local function by(n) return function(x) return nw.ldexp(x, n) end end
    assert.equal(2049 * 0x1p-149, of("f32", 8394751 * 0x1p-25, by(-136)))
    local A = nw.placeholder({16}, "f32", "A")
    local C = nw.compute({16}, function(i) return nw.ldexp(A(i), -136) end, "C")
    local s, want = nw.schedule(C), {}
    s:vectorize "i"
    for i = 1, 16 do want[i] = 2049 * 0x1p-149 end
    gives(want, s, filled(16, "f32", function() return 8394751 * 0x1p-25 end))
  end)
end)

describe("a program on bits", function()
  local function xorshift(x)
    x = x ~ x << 13
    x = x ~ x >> 17
    return x ~ x << 5
  end

  it("hashes numbers of 64 bits", function()
    local n = 300
    local X = nw.placeholder({n}, "u64", "X")
    local H = nw.compute({n}, function(i) -- splitmix64
      local z = X(i) + 0x9E3779B97F4A7C15
      z = (z ~ z >> 30) * 0xBF58476D1CE4E5B9
      z = (z ~ z >> 27) * 0x94D049BB133111EB
      return z ~ z >> 31
    end, "H")
    local s = nw.schedule(H)
    local outer, inner = s:split("i", 8)
    s:vectorize(inner)
    s:parallel(outer)
    local want = {}
    for i = 1, n do
      local z = i * i + 0x9E3779B97F4A7C15
      z = (z ~ z >> 30) * 0xBF58476D1CE4E5B9
      z = (z ~ z >> 27) * 0x94D049BB133111EB
      want[i] = z ~ z >> 31
    end
    gives(want, s, filled(n, "u64", function(i) return i * i end))
  end)

  it("hashes numbers", function()
    local n = 1000
    local X = nw.placeholder({n}, "u32", "X")
    local H = nw.compute({n}, function(i) return xorshift(X(i)) end, "H")
    local s = nw.schedule(H)
    local outer, inner = s:split("i", 16)
    s:vectorize(inner)
    s:parallel(outer)
    local data, want = filled(n, "u32", function(i) return i * 40503 end), {}
    for i = 1, n do
      local x = i * 40503
      x = (x ~ x << 13) & 0xFFFFFFFF
      x = x ~ x >> 17
      want[i] = (x ~ x << 5) & 0xFFFFFFFF
    end
    gives(want, s, data)
  end)

  -- exp(x) is 2^k*exp(r), where k is the whole number nearest to x/log(2). The polynomial is the series of exp.
  local function own_exp(x, scaled)
    x = nw.min(nw.max(x, -104), 89)
    local k = nw.round(x * 0x1.715476p0)
    local r = x - k * 0x1.62e4p-1 - k * 0x1.7f7d1cp-20
    local p = nw.f32(1 / 5040)
    for _, c in ipairs {1 / 720, 1 / 120, 1 / 24, 1 / 6, 1 / 2, 1, 1} do p = p * r + c end
    return scaled(p, nw.cast(k, "i32"))
  end

  local function check_exp(scaled, lo, hi)
    local n = 4096
    local X = nw.placeholder({n}, "f32", "X")
    local E = nw.compute({n}, function(i) return own_exp(X(i), scaled) end, "E")
    local s = nw.schedule(E)
    local outer, inner = s:split("i", 16)
    s:vectorize(inner)
    s:parallel(outer)
    local x = filled(n, "f32", function(i) return lo + (hi - lo) * i / n end)
    local plain = nw.schedule(E)
    for _, one in ipairs {s, plain} do
      local want, got = nw.interpret(one, {x}, {lowered = true})[1], one:build()(x)
      assert.same(want:totable(), got:totable())
      for i = 1, n do
        local y = math.exp(x:getflat(i))
        local error = math.abs(got:getflat(i) - y)
        assert(error <= 4e-7 * y + 0x1p-149, ("exp(%g): %g, not %g"):format(x:getflat(i), got:getflat(i), y))
      end
    end
    assert.same(nw.evaluate(E, {x})[1]:totable(), nw.interpret(plain, {x})[1]:totable())
    return E
  end

  it("computes exp with ldexp", function()
    check_exp(nw.ldexp, -103, 88)
    local one = nw.schedule(nw.compute({2}, function(i)
      return own_exp(nw.select(nw.eq(i, 0), nw.f32(-1000), nw.f32(1000)), nw.ldexp)
    end, "E"))
    assert.same({0.0, 1 / 0}, one:build()():totable())
  end)

  it("computes exp by writing the exponent into the bits", function()
    check_exp(function(p, k) return p * nw.reinterpret(k + 127 << 23, "f32") end, -87, 88)
  end)

  it("computes Hamming distances", function()
    local n, words = 64, 8
    local A, B = nw.placeholder({n, words}, "u32", "A"), nw.placeholder({words}, "u32", "B")
    local k = nw.reduce_axis(words, "k")
    local D = nw.compute({n}, function(i) return nw.sum(nw.popcount(A(i, k) ~ B(k)), k) end, "D")
    local s = nw.schedule(D)
    local outer, inner = s:split("i", 16)
    s:reorder(outer, "k", inner)
    s:vectorize(inner)
    s:parallel(outer)
    local a, b, want = nw.zeros({n, words}, "u32"), nw.zeros({words}, "u32"), {}
    for i = 1, n * words do a:setflat(i, i * 2654435761 & 0xFFFFFFFF) end
    for i = 1, words do b:setflat(i, i * 40503 * 65537 & 0xFFFFFFFF) end
    for i = 1, n do
      want[i] = 0
      for w = 1, words do
        local x = a:getflat((i - 1) * words + w) ~ b:getflat(w)
        while x ~= 0 do x, want[i] = x & x - 1, want[i] + 1 end
      end
    end
    gives(want, s, a, b)
  end)

  it("counts the digits of keys, for a radix sort", function()
    local n, shift = 500, 8
    local K, i = nw.placeholder({n}, "u32", "K"), nw.reduce_axis(n, "i")
    local C = nw.compute({16}, function(d)
      return nw.sum(nw.cast(nw.eq(K(i) >> shift & 15, nw.cast(d, "u32")), "i32"), i)
    end, "C")
    local data, want = filled(n, "u32", function(at) return at * 2654435761 & 0xFFFFFFFF end), {}
    for d = 1, 16 do want[d] = 0 end
    for at = 1, n do
      local d = (data:getflat(at) >> shift & 15) + 1
      want[d] = want[d] + 1
    end
    local s = nw.schedule(C)
    local io = s:split("i", 125)
    local R = s:rfactor("C", io)
    s:parallel(s[R]:loops()[1])
    gives(want, s, data)
    s = nw.schedule(C)
    s:reorder("i", "d")
    s:vectorize "d"
    gives(want, s, data)
  end)

  it("exchanges pairs, as a step of a bitonic sort does", function()
    local n, distance, block = 64, 4, 16
    local A = nw.placeholder({n}, "i32", "A")
    local C = nw.compute({n}, function(i)
      local partner = i ~ distance
      local low, up = nw.eq(i & distance, 0), nw.eq(i & block, 0)
      local least = nw.any(nw.all(low, up), nw.all(nw.not_(low), nw.not_(up)))
      return nw.select(least, nw.min(A(i), A(partner)), nw.max(A(i), A(partner)))
    end, "C")
    local s = nw.schedule(C)
    local outer, inner = s:split("i", 8)
    s:vectorize(inner)
    s:parallel(outer)
    local data, want = filled(n, "i32", function(i) return i * 37 % 101 end), {}
    for i = 0, n - 1 do
      local x, y = data:getflat(i + 1), data:getflat((i ~ distance) + 1)
      local least = (i & distance == 0) == (i & block == 0)
      want[i + 1] = least and math.min(x, y) or math.max(x, y)
    end
    gives(want, s, data)
  end)
end)

describe("u64", function()
  local MOST, HALF = -1, math.mininteger -- 2^64 - 1 and 2^63, as Lua's integers with the same bits

  it("is computed without a sign", function()
    assert.equal(HALF, value("u64", math.maxinteger, 1, function(x, y) return x + y end))
    assert.equal(MOST, value("u64", 0, 1, function(x, y) return x - y end))
    assert.equal(1, value("u64", MOST, 5, function(x, y) return nw.select(nw.lt(y, x), 1, 0) end))
    assert.equal(MOST, value("u64", MOST, 5, nw.max))
    assert.equal(5, value("u64", MOST, 5, nw.min))
    assert.equal(math.maxinteger, value("u64", MOST, 2, function(x) return x // 2 end))
    assert.equal(3689348814741910323, value("u64", MOST, 5, function(x, y) return nw.select(nw.ne(y, 0), x // y, 0) end))
    assert.equal(1, value("u64", MOST, 7, function(x) return x % 7 end))
    assert.equal(1, value("u64", HALF, 63, function(x, n) return x >> n end))
    assert.equal(HALF, value("u64", 1, 63, function(x, n) return x << n end))
    assert.equal(MOST, of("u64", MOST, nw.abs))
    assert.equal(64, of("u64", MOST, nw.popcount))
  end)

  it("promotes as documented, and takes every integer of Lua as 64 bits", function()
    for _, dtype in ipairs {"i8", "u8", "i16", "u16", "i32", "u32", "i64", "bool"} do
      assert.equal("u64", nw.promote("u64", dtype))
      assert.equal("u64", nw.promote(dtype, "u64"))
    end
    assert.equal("f16", nw.promote("u64", "f16"))
    assert.equal(-2, value("u64", MOST, 1, function(x) return x + -1 end))
    assert.equal(HALF, value("u64", 0, 1, function(x) return x | 0x8000000000000000 end))
    assert.equal(MOST, value("u64", 0, 1, function(x) return nw.cast(-1, "u64") + x end))
    assert.equal("nw.u64", "nw." .. (nw.u64(3)).dtype)
  end)

  it("is converted without a sign, and saturates", function()
    local function cast(to) return function(x) return nw.cast(x, to) end end
    assert.equal(0x1p64, of("u64", MOST, cast "f32"))
    assert.equal(0x1p63, of("u64", HALF, cast "f64"))
    assert.equal(1 / 0, of("u64", MOST, cast "f16"))
    assert.equal(-1, of("u64", MOST, cast "i64"))
    assert.equal(255, of("u64", MOST, cast "u8"))
    assert.equal(MOST, of("i8", -1, cast "u64"))
    assert.equal(MOST, of("f64", 1e30, cast "u64"))
    assert.equal(0, of("f64", -1.5, cast "u64"))
    assert.equal(0, of("f32", 0 / 0, cast "u64"))
    assert.equal(HALF, of("f32", 0x1p63, cast "u64"))
    assert.equal(HALF, of("u64", HALF, bits "i64"))
    assert.equal(-0.0, of("u64", HALF, bits "f64"))
    assert.equal(MOST, nw.evaluate(nw.compute({1}, function(_) return nw.cast(nw.f64(1e30), "u64") end, "T"), {})[1]:getflat(1))
  end)

  it("is reduced without a sign", function()
    local A, k = nw.placeholder({4}, "u64", "A"), nw.reduce_axis(4, "k")
    local data = nw.tensor({3, HALF, MOST, 7}, "u64")
    for which, want in pairs {max = MOST, min = 3, sum = 3 + HALF + MOST + 7, prod = 3 * HALF * MOST * 7} do
      gives({want}, nw.schedule(nw.compute({1}, function(_) return nw[which](A(k), k) end, "C")), data)
    end
    local value_of, index = nw.compute({}, function() return nw.argmax(A(k), k) end, "C")
    local out = nw.interpret(nw.schedule(value_of, index), {data})
    assert.equal(MOST, out[1]:getflat(1))
    assert.equal(2, out[2]:getflat(1))
  end)

  it("is written and read as a number without a sign", function()
    local A = nw.placeholder({4}, "u64", "A")
    local s = nw.schedule(nw.compute({4}, function(i) return A(i) ~ 0x9E3779B97F4A7C15 end, "C"))
    assert.truthy(s:text():find("A[i] ~ u64(11400714819323198485)", 1, true))
    assert.is_true(s:reparses())
    assert.truthy(s:show "c":find("UINT64_C(11400714819323198485)", 1, true))
    local t = nw.tensor({1, MOST, HALF}, "u64")
    assert.truthy(tostring(t):find("18446744073709551615", 1, true))
    assert.truthy(tostring(t):find("9223372036854775808", 1, true))
    assert.equal(MOST, t:get(1))
    local path = support.temporary ".npy"
    nw.save(t, path)
    local again = nw.load(path)
    os.remove(path)
    assert.equal("u64", again.dtype)
    assert.same(t:totable(), again:totable())
    assert.equal(0, nw.random({4}, "u64", {lo = 0, hi = 0}):get(3))
    fails("not from 0", "range", nw.random, {4}, "u64", {lo = -1, hi = 3})
  end)

  -- Numbers from 2^63 on were once negative in the definition of single elements, which is evaluated for large outputs.
  it("is checked at full size", function()
    local A = nw.placeholder({3000, 3000}, "u64", "A")
    local s = nw.schedule(nw.compute({3000, 3000}, function(i, j) return A(i, j) | 0x8000000000000000 end, "C"))
    s:vectorize(select(2, s:split("j", 8)))
    local report = s:check()
    assert.truthy(report:find "agree")
    assert.falsy(report:find "differ")
  end)

  -- Both numbers are near 2^64, where they are the same f64.
  it("is shown with all digits in a lesson", function()
    local A = nw.placeholder({8}, "u64", "A")
    local S = nw.scan_state({8}, "u64", "S_state")
    local first = nw.compute({1}, function(t) return A(t) end, "first")
    local next_one = nw.compute({8}, function(t) return S(t - 1) - A(t) end, "next")
    local s = nw.schedule(nw.scan(first, next_one, S, "S"))
    local ok = pcall(s.reverse, s, s:loops()[2])
    assert.is_false(ok)
    local text = tostring(s:explain())
    local should, is = text:match "should be (%d+), is (%d+)"
    assert.truthy(not should or should ~= is, text)
  end)

  it("can be stored as another dtype only if every value fits", function()
    local A = nw.placeholder({8}, "u64", "A")
    local P = nw.compute({8}, function(i) return A(i) & 1000 end, "P")
    local s = nw.schedule(nw.compute({8}, function(i) return P(i) * 2 end, "C"))
    s:set_dtype(P, "i16")
    local Q = nw.compute({8}, function(i) return A(i) >> 1 end, "P")
    s = nw.schedule(nw.compute({8}, function(i) return Q(i) * 2 end, "C"))
    s:set_dtype(Q, "i64")
    Q = nw.compute({8}, function(i) return A(i) + 1 end, "P")
    s = nw.schedule(nw.compute({8}, function(i) return Q(i) * 2 end, "C"))
    support.refuses(s, "cannot store P as i64", "refused", s.set_dtype, s, Q, "i64")
  end)
end)
