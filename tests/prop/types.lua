--- The dtypes of the language and their rules. The functions implement docs/language.md without the core, because the oracle must
--- be independent of the core.
local types = {}

-- A row for each dtype: {name, class, number of bits, true if signed, type of C, format for string.pack}. Accepted steps are
-- counted by class. The oracle computes halves in float, and rounds them when they are stored or cast.
local ROWS = {
  {"bool", "bool", 1, false, "uint8_t", "I1"},
  {"i8", "signed", 8, true, "int8_t", "i1"}, {"i16", "signed", 16, true, "int16_t", "i2"},
  {"i32", "signed", 32, true, "int32_t", "i4"}, {"i64", "signed", 64, true, "int64_t", "i8"},
  {"u8", "unsigned", 8, false, "uint8_t", "I1"}, {"u16", "unsigned", 16, false, "uint16_t", "I2"},
  {"u32", "unsigned", 32, false, "uint32_t", "I4"}, {"u64", "unsigned", 64, false, "uint64_t", "i8"},
  {"f16", "half", 16, true, "float", "f"}, {"bf16", "half", 16, true, "float", "f"},
  {"f32", "float", 32, true, "float", "f"}, {"f64", "float", 64, true, "double", "d"},
}

types.names, types.of_class = {}, {}
local info = {}
for n, row in ipairs(ROWS) do
  types.names[n] = row[1]
  info[row[1]] = {class = row[2], bits = row[3], signed = row[4], c = row[5], pack = row[6]}
  types.of_class[row[2]] = types.of_class[row[2]] or {}
  table.insert(types.of_class[row[2]], row[1])
end

--- The classes by which accepted steps are counted.
types.classes = {"signed", "unsigned", "half", "float"}

function types.info(t) return info[t] end
function types.class(t) return info[t].class end
function types.is_float(t) return info[t].class == "half" or info[t].class == "float" end
function types.is_int(t) return info[t].class == "signed" or info[t].class == "unsigned" end
function types.is_half(t) return info[t].class == "half" end

--- Returns the least and the greatest value of an integer dtype. Those of u64 are 0 and -1, the signed numbers with the same bits.
function types.range(t)
  local bits = info[t].bits
  if t == "u64" then return 0, -1 end
  if bits == 64 then return math.mininteger, math.maxinteger end
  if info[t].signed then return -(1 << (bits - 1)), (1 << (bits - 1)) - 1 end
  return 0, (1 << bits) - 1
end

--- True if a tensor of dtype t can be stored as dtype k: as another float, or as a dtype that has all integers of t.
function types.storable(t, k)
  if t == k or t == "bool" then return t ~= k end
  if types.is_float(t) then return types.is_float(k) end
  if t == "u64" then return false end
  local lo, hi = types.range(t)
  if k == "u64" then return lo >= 0 end
  if types.is_float(k) then return hi <= 1 << (k == "bf16" and 8 or k == "f16" and 11 or k == "f32" and 24 or 53) end
  local least, most = types.range(k)
  return least <= lo and hi <= most
end

--- Returns the dtype of an operation on two operands (see "Two operands" in docs/language.md).
function types.promote(a, b)
  if a == b then return a end
  local x, y = info[a], info[b]
  if x.class == "bool" then return b end
  if y.class == "bool" then return a end
  local float_a, float_b = types.is_float(a), types.is_float(b)
  if float_a and float_b then
    if x.bits == y.bits then return "f32" end -- f16 with bf16
    return x.bits > y.bits and a or b
  end
  if float_a then return a end
  if float_b then return b end
  if x.signed == y.signed then return x.bits > y.bits and a or b end
  local signed, unsigned = x.signed and x or y, x.signed and y or x
  if unsigned.bits == 64 then return "u64" end
  return "i" .. (signed.bits > unsigned.bits and signed.bits or 2 * unsigned.bits)
end

--- Returns the dtype of a literal next to an operand of dtype t. If t is nil, there is no other operand.
function types.of_number(v, t)
  local whole = math.type(v) == "integer"
  if not t then return whole and (v >= -(1 << 31) and v < 1 << 31 and "i32" or "i64") or "f32" end
  if types.is_float(t) then return t end
  if not whole then return "f32" end
  return t == "bool" and "i32" or t
end

return types
