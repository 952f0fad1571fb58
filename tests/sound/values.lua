--- Values for the cases: dtypes, numbers and arrays.
local nw = require "nestwright"
local values = {}

values.INTEGERS = {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"}
values.FLOATS = {"f16", "bf16", "f32", "f64"}

--- Returns the greatest and the least number of an integer dtype.
function values.ends(dtype)
  local bits = tonumber(dtype:match "%d+")
  if dtype:sub(1, 1) == "u" then return (1 << bits) - 1, 0 end
  local most = math.maxinteger >> (64 - bits)
  return most, -most - 1
end

--- Returns an array with the elements f(1), f(2), and so on. Without f, the elements are small numbers.
function values.filled(dtype, shape, f)
  local a = nw.zeros(shape, dtype)
  for i = 1, a:count() do a:setflat(i, f and f(i) or (5 * i) % 7 + 1) end
  return a
end

return values
