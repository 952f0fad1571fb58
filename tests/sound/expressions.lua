--- Draws random computations with one output. The expressions have every dtype, casts between dtypes, conditions, quotients,
--- indices that depend on data, and large numbers next to indices. ctext.lua compares the C program with the interpreter.
---
---   local cases = expressions.draw(seed, n)     n cases for ctext.check; `outputs` in a case lists its tensors
local nw = require "nestwright"
local values = require "values"
local expressions = {}

local DTYPES = table.move(values.FLOATS, 1, #values.FLOATS, #values.INTEGERS + 1, {table.unpack(values.INTEGERS)})
local N = 12 -- the number of elements of every tensor

-- A random number generator that gives the same sequence for a seed on every machine.
local function new_random(seed)
  local state = seed * 2 + 1
  local function int(n)
    state = state * 6364136223846793005 + 1442695040888963407
    return (state >> 33) % n + 1
  end
  return int, function(list) return list[int(#list)] end
end

local function is_int(dtype) return dtype:find "^[iu]" ~= nil end

local FLOATS = {0.0, -0.0, 1.0, -1.0, 1 / 0, -1 / 0, 0 / 0, 0.1, -2.5, 1e-5, 65504.0, 3.0e38, 1e-40, -7.75, 300.0,
  2147483648.0, -9.3e18, 5.9e-8}

local function special(dtype, pick)
  if not is_int(dtype) then return pick(FLOATS) end
  local bits, sign = tonumber(dtype:match "%d+"), dtype:find "^i" ~= nil
  local most = sign and (1 << bits - 1) - 1 or (1 << bits) - 1
  local least = sign and -most - 1 or 0
  return pick {least, most, 0, 1, least + 1, most - 1, 2, 3, 7, 91, sign and -1 or 5, sign and -7 or 9}
end

local COMPARISONS = {"lt", "le", "eq", "ne", "gt", "ge"}

-- The argument `d` of the functions below holds everything from which an expression is drawn: the random functions `int` and
-- `pick`, the dtypes, the axis `i`, and the function read(dtype, index).
local value

local function condition(d, depth)
  local what = d.int(9)
  if what == 1 then return nw.not_(condition(d, depth - 1)) end
  if what == 2 then return nw.any(condition(d, depth - 1), condition(d, depth - 1)) end
  if what == 3 then return nw.all(condition(d, depth - 1), condition(d, depth - 1)) end
  if what == 4 and depth > 0 then return nw.select(condition(d, depth - 1), condition(d, depth - 1), condition(d, depth - 1)) end
  local compare = nw[d.pick(COMPARISONS)]
  if what == 5 then return compare(d.i * d.int(4), d.int(N)) end
  return compare(value(d, depth - 1, d.pick(d.dtypes)), value(d, depth - 1, d.pick(d.dtypes)))
end

local function leaf(d, dtype)
  local what = d.int(7)
  if what <= 3 then return d.read(dtype, d.i) end
  if what == 4 then return d.read(dtype, N - 1 - d.i) end
  if what == 5 and is_int(dtype) then return nw.cast(d.i * d.pick {1, -1, 3} + (d.int(11) - 6), dtype) end
  if what == 6 and is_int(dtype) then
    return nw.cast(d.i * d.pick {1 << 62, 3000000000, -math.maxinteger} + d.pick {0, math.mininteger}, dtype)
  end
  return nw.cast(special(dtype, d.pick), dtype)
end

local function quotient(d, a, b, dtype)
  if not is_int(dtype) then return d.pick {a / b, nw.floor(a / b)} end
  local divide = d.int(2) == 1
  local function of(x, y) return divide and x // y or x % y end
  if d.int(2) == 1 then return of(a, d.pick {1, 2, 3, 7, 16, 100}) end
  if dtype:find "^i" and d.int(2) == 1 then return of(a, d.pick {-1, -2, -3, -16, -100}) end
  return nw.select(nw.ne(b, 0), of(a, b), a)
end

-- An operation on bits. Some counts of shifts are out of range.
local function bits(d, a, b, dtype)
  local what = d.int(7)
  if what == 1 then return d.pick {~a, nw.popcount(a)} end
  local n = d.int(2) == 1 and b or nw.cast(d.int(tonumber(dtype:match "%d+") + 2) - 1, dtype)
  if what == 2 then return a << n end
  if what == 3 then return a >> n end
  return d.pick {a & b, a | b, a ~ b}
end

-- Returns an operation on the parts or on the bits of a float.
local ALIKE = {f16 = "u16", bf16 = "i16", f32 = "u32", f64 = "i64"}
local function parts(d, a, dtype, depth)
  local what = d.int(4)
  if what == 1 then return nw.mantissa(a) end
  if what == 2 then return nw.ldexp(a, d.int(2) == 1 and d.int(600) - 300 or nw.exponent(a)) end
  if what == 3 then return nw.ldexp(a, value(d, depth - 1, "i32")) end
  return nw.reinterpret(value(d, depth - 1, ALIKE[dtype]), dtype)
end

value = function(d, depth, dtype)
  local what = d.int(22)
  if depth <= 0 or what <= 2 then return leaf(d, dtype) end
  local a = value(d, depth - 1, dtype)
  if what <= 6 then return a + value(d, depth - 1, dtype) end
  if what <= 7 then return a - value(d, depth - 1, dtype) end
  if what <= 9 then return a * value(d, depth - 1, dtype) end
  if what == 10 then return -a end
  if what == 11 then return nw.abs(a) end
  if what == 12 then return nw[d.pick {"min", "max"}](a, value(d, depth - 1, dtype)) end
  if what <= 14 then return nw.select(condition(d, depth - 1), a, value(d, depth - 1, dtype)) end
  if what <= 16 then return nw.cast(value(d, depth - 1, d.pick(d.dtypes)), dtype) end
  if what == 17 then return quotient(d, a, value(d, depth - 1, dtype), dtype) end
  if what == 18 then
    return d.read(dtype, nw.min(nw.max(value(d, depth - 2, d.pick(values.INTEGERS)), 0), N - 1))
  end
  if what == 22 and not is_int(dtype) then return parts(d, a, dtype, depth) end
  if what == 22 and dtype == "i32" then return nw.exponent(value(d, depth - 1, d.pick(values.FLOATS))) end
  for float, of in pairs(ALIKE) do
    if what == 22 and dtype == of then return nw.reinterpret(value(d, depth - 1, float), dtype) end
  end
  if what >= 20 and is_int(dtype) then return bits(d, a, value(d, depth - 1, dtype), dtype) end
  if what >= 19 and not is_int(dtype) then return nw[d.pick {"floor", "ceil", "sqrt"}](a) end
  return nw.cast(condition(d, depth - 1), dtype)
end

local STEPS = {
  function(s) s:split("i", 8, {tail = "predicate"}) end,
  function(s) s:split("i", 5) end,
  function(s) s:unroll "i" end,
  function(s) s:parallel "i" end,
  function(s) s:vectorize "i" end,
  function() end,
}

-- Draws a case. Returns nil if it is not a valid program, for example because it divides by a number that can be 0.
local function one(int, pick)
  local d = {int = int, pick = pick, dtypes = {}}
  for n = 1, int(3) do d.dtypes[n] = pick(DTYPES) end
  local inputs, dtype, step = {}, pick(d.dtypes), pick(STEPS)
  local C
  local made, s = pcall(function()
    C = nw.compute({N}, function(i)
      d.i, d.read = i, function(of, at)
        inputs[of] = inputs[of] or nw.placeholder({N}, of, "in_" .. of)
        return inputs[of](at)
      end
      return nw.cast(value(d, 4, dtype), dtype)
    end, "C")
    local s = nw.schedule(C)
    s:annotate("C", "fma", "never") -- otherwise, the schedule decides which products become part of an fma
    step(s)
    return s
  end)
  if not made then return nil end
  local arguments = {}
  for n, p in ipairs(s:build({threads = 1}):params()) do
    local of = p.name:match "^in_(.*)"
    if not of then break end
    arguments[n] = nw.zeros({N}, of)
    for i = 1, N do arguments[n]:setflat(i, special(of, pick)) end
  end
  return {schedule = s, arguments = arguments, outputs = {C}}
end

function expressions.draw(seed, n)
  local int, pick = new_random(seed)
  local cases = {}
  while #cases < n do
    local case = one(int, pick)
    cases[#cases + 1] = case
    if case then case.name = ("seed %d, number %d"):format(seed, #cases) end
  end
  return cases
end

return expressions
