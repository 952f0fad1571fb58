--- Finds comparisons that are mistakes. If i is an index (an axis), Lua evaluates `i == 3` to false, without calling a metamethod.
--- So the comparison does not become part of the expression. This module reads a function's bytecode (Lua 5.4) and finds each place
--- where an index, or arithmetic on an index, is compared with a number by == or ~=.
local errors = require "nestwright.language.errors"

local comparisons = {}

-- ---- the instructions of a function

local VERSION = "\27Lua\x54\0" -- the start of Lua 5.4 bytecode in format 0; functions with other bytecode are not checked
local SIZES, HEADER = 4, 31 -- the sizes of an instruction and of the header, in bytes

-- Reads a number that is stored with seven bits per byte; the high bit marks the last byte. Returns the number and the
-- next position.
local function whole(text, at)
  local n = 0
  repeat
    local byte = text:byte(at)
    n, at = n << 7 | byte & 0x7F, at + 1
  until byte & 0x80 ~= 0
  return n, at
end

local function skip_string(text, at)
  local n, after = whole(text, at)
  return after + math.max(n - 1, 0), text:sub(after, after + n - 2)
end

local FLOAT, INTEGER, SHORT, LONG = 0x13, 0x03, 0x04, 0x14 -- tags of constants

local function constants_of(text, at)
  local out, n, from = {}, whole(text, at)
  at = from
  for k = 0, n - 1 do
    local tag = text:byte(at)
    at = at + 1
    if tag == FLOAT or tag == INTEGER then
      out[k], at = string.unpack(tag == FLOAT and "<n" or "<j", text, at)
    elseif tag == SHORT or tag == LONG then
      at, out[k] = skip_string(text, at)
    end
  end
  return out
end

local EQ, EQK, EQI = 57, 60, 61

-- True if the function contains a comparison; few functions do.
local function compares(text, at, n)
  for byte = at, at + (n - 1) * SIZES, SIZES do
    local op = text:byte(byte) & 0x7F
    if op == EQ or op == EQK or op == EQI then return true end
  end
  return false
end

-- Returns {params, constants, [pc] = {op, a, b, c, to (the target of a jump)}}, or nil if the function contains no comparison.
local function instructions(f)
  if debug.getinfo(f, "S").what == "C" then return nil end
  local text = string.dump(f, true)
  if text:sub(1, #VERSION) ~= VERSION or text:byte(13) ~= SIZES then return nil end
  local _, params = whole(text, select(2, whole(text, skip_string(text, HEADER + 2)))) -- after the source and two line numbers
  local n, at = whole(text, params + 3)
  if not compares(text, at, n) then return nil end
  local out = {params = text:byte(params), constants = constants_of(text, at + n * SIZES)}
  for pc = 1, n do
    local word = string.unpack("<I4", text, at + (pc - 1) * SIZES)
    out[pc] = {op = word & 0x7F, a = word >> 7 & 0xFF, b = word >> 16 & 0xFF, c = word >> 24, to = pc + 1 + (word >> 7) - 0xFFFFFF}
  end
  return out
end

-- ---- what a register holds

local SKIP, LOADNIL, GETUPVAL, GETTABUP, SELF, JUMP, CALL = 6, 8, 9, 11, 20, 56, 68
local ARITHMETIC_K, ARITHMETIC = {first = 21, last = 33}, {first = 34, last = 45} -- operations with a constant, and with a register
local SHIFTED_BY, SHIFTS = 32, 33 -- the constant is the right operand, or the left one
local LOOPS, VARARG = {first = 73, last = 77}, 80
local SIGNS, PREFIXES = {"+", "-", "*", "%", "^", "/", "//", "&", "|", "~", "<<", ">>"}, {[49] = "-", [50] = "~"}

local function is(range, op) return op >= range.first and op <= range.last end

local KEEPS = {} -- instructions that do not change R[A]
for op in ("10 15 16 17 18 46 47 48 54 55 56 57 58 59 60 61 62 63 64 65 66 70 71 72 78 82"):gmatch "%d+" do
  KEEPS[tonumber(op)] = true
end

local function writes(it, register)
  if it.op == CALL or it.op == VARARG then return register >= it.a end
  if it.op == LOADNIL then return register >= it.a and register <= it.a + it.b end
  if it.op == SELF then return register == it.a or register == it.a + 1 end
  return it.a == register and not KEEPS[it.op]
end

local function is_written(code, register)
  for _, it in ipairs(code) do if writes(it, register) then return true end end
  return false
end

-- True if a jump leads to pc.
local function is_reached(code, pc)
  for _, it in ipairs(code) do if it.op == JUMP and it.to == pc then return true end end
  return false
end

-- Returns the last instruction before pc that set this register, and its position. Returns nil if there is a branch between this
-- instruction and pc.
local function maker(code, pc, register)
  for at = pc - 1, 1, -1 do
    local it = code[at]
    if is_reached(code, at + 1) or it.op == JUMP or it.op == SKIP or is(LOOPS, it.op) then return nil end
    if writes(it, register) then return it, at end
  end
end

-- Returns the sign and the operands of an arithmetic instruction; nothing for other instructions. An operand is the number of a
-- register, or {constant}.
local function arithmetic(code, it)
  if is(ARITHMETIC, it.op) then return SIGNS[it.op - ARITHMETIC.first + 1], it.b, it.c end
  if not is(ARITHMETIC_K, it.op) then return nil end
  local number = it.c - 127
  if it.op == SHIFTED_BY then return number < 0 and "<<" or ">>", it.b, {math.abs(number)} end
  if it.op == SHIFTS then return "<<", {number}, it.b end
  if it.op > ARITHMETIC_K.first then return SIGNS[it.op - ARITHMETIC_K.first], it.b, {code.constants[it.c]} end
  return number < 0 and "-" or "+", it.b, {math.abs(number)}
end

-- Returns the text of the value that a register has at pc, or nil. The text comes from `leaf`, or is built from the texts of the
-- operands from which the value is computed. both: true if both operands must have a text; false if it is sufficient that one has.
local function text_in(code, pc, register, leaf, both, inner)
  if type(register) == "table" then return both and register[1] or nil end
  if register < code.params then return leaf(register) end
  local it, at = maker(code, pc, register)
  if not it then return nil end
  local known = leaf(register, it)
  if known then return known end
  if PREFIXES[it.op] then
    local inside = text_in(code, at, it.b, leaf, both, true)
    return inside and PREFIXES[it.op] .. inside
  end
  local sign, b, c = arithmetic(code, it)
  if not sign then return nil end
  local left, right = text_in(code, at, b, leaf, both, true), text_in(code, at, c, leaf, both, true)
  if not (left and right) and (both or not left and not right) then return nil end
  local function shown(text, operand) return text or type(operand) == "table" and operand[1] or "..." end
  local text = ("%s %s %s"):format(shown(left, b), sign, shown(right, c))
  return inner and "(" .. text .. ")" or text
end

-- Returns a function that returns the name of the parameter in a register, if the parameter is never assigned.
local function index_leaf(code, names)
  return function(register) return register < code.params and not is_written(code, register) and names[register + 1] or nil end
end

-- Returns a function that returns the name of the upvalue or global that an instruction loads, if its value is a number.
local function number_leaf(code, f)
  return function(_, it)
    if not it or it.op ~= GETUPVAL and it.op ~= GETTABUP then return nil end
    local name, value = debug.getupvalue(f, it.b + 1)
    if it.op == GETTABUP then name, value = code.constants[it.c], type(value) == "table" and rawget(value, code.constants[it.c]) end
    return type(value) == "number" and name or nil
  end
end

-- ---- comparisons

-- Returns the texts of an index and of a number that the instruction at pc compares, or nil.
local function compared(code, pc, index, number)
  local it = code[pc]
  if it.op == EQI or it.op == EQK then
    local constant = it.op == EQI and it.b - 127 or code.constants[it.b]
    local left = type(constant) == "number" and text_in(code, pc, it.a, index, false)
    return left, constant
  elseif it.op == EQ then
    for _, pair in ipairs {{it.a, it.b}, {it.b, it.a}} do
      local left, right = text_in(code, pc, pair[1], index, false), text_in(code, pc, pair[2], number, true)
      if left and right then return left, right end
    end
  end
end

local function parameters(f, n)
  local names = {}
  for k = 1, n do names[k] = debug.getlocal(f, k) end
  return names
end

-- True if the function uses the name `type`. Such a function probably tests whether it gets plain numbers, so its comparisons are
-- valid.
local function asks_for_types(code)
  for _, constant in pairs(code.constants) do if constant == "type" then return true end end
  return false
end

--- Raises an error if a function of indices compares an index with a number by == or ~=.
function comparisons.check(what, f)
  local code = instructions(f)
  if not code or asks_for_types(code) then return end
  local index, number = index_leaf(code, parameters(f, code.params)), number_leaf(code, f)
  for pc = 1, #code do
    local left, right = compared(code, pc, index, number)
    if left then
      local pair = ("(%s, %s)"):format(left, right)
      errors.fail("type", nil, "%s: `%s == %s` is always false in Lua, and ~= always true: write `nw.eq%s` or `nw.ne%s`", what,
        left, right, pair, pair)
    end
  end
end

return comparisons
