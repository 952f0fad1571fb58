--- Draws values for random inputs. Some inputs have small whole numbers, so that sums are exact in any order. Other inputs have
--- values of the full range, including the special values of each dtype.
local types = require "types"

local data = {}

local SPECIAL = {0.0, -0.0, 1 / 0, -1 / 0, 0 / 0, 1, -1, 0.5, 5.9604644775390625e-08, 65504, -65504, 65519, 3.0517578125e-05}
local OF_WIDE = {1e-45, -1.1754943508222875e-38, 3.4028234663852886e+38, -3.4028234663852886e+38, 16777217, 2147483648, 9.3e18}

local function whole(r, dtype) return r:int(types.is_float(dtype) and -3 or types.info(dtype).signed and -3 or 0, 3) end

local function full_integer(r, dtype)
  local lo, hi = types.range(dtype)
  if r:chance(0.25) then return r:pick {lo, hi, lo + 1, hi - 1, 0, 1, hi // 2, lo // 2} end
  if dtype == "u64" and r:chance(0.4) then return r:int(0, 12) end
  if dtype ~= "u64" and r:chance(0.4) then return math.max(lo, math.min(hi, r:int(-12, 12))) end
  if types.info(dtype).bits == 64 then return r:next() ~ (r:next() << 1) end
  return r:int(lo, hi)
end

local function full_float(r, dtype)
  if r:chance(0.15) then return r:pick(SPECIAL) end
  if not types.is_half(dtype) and r:chance(0.08) then return r:pick(OF_WIDE) end
  local exponent = r:chance(0.8) and r:int(-4, 4) or r:int(types.is_half(dtype) and -14 or -100, types.is_half(dtype) and 14 or 100)
  return (r:int(0, 1) * 2 - 1) * (1 + r:int(0, (1 << 30) - 1) / (1 << 30)) * 2.0 ^ exponent
end

--- Fills an array with small whole numbers. With `full`, the values are from the full range instead. With `special`, one
--- value of a float array may be an infinity, NaN or -0.0.
function data.fill(r, array, full, special)
  local dtype = array.dtype
  for n = 1, array:count() do
    local v
    if dtype == "bool" then v = r:int(0, 1)
    elseif not full then v = whole(r, dtype)
    elseif types.is_float(dtype) then v = full_float(r, dtype)
    else v = full_integer(r, dtype) end
    array:setflat(n, v)
  end
  if not full and special and array:count() > 0 and types.is_float(dtype) and r:chance(0.15) then
    array:setflat(r:int(1, array:count()), r:pick {1 / 0, -1 / 0, 0 / 0, -0.0})
  end
end

return data
