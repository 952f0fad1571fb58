--- The oracle writes every case as plain C, compiles the C with the system's compiler, and runs it in a separate process. The C
--- text is made from the trees of the case, by the rules of docs/language.md. The oracle shares no code with the core, neither the
--- C writer nor constant folding. Fifty cases are compiled as one file, because the compiler is slow to start.
local cases = require "cases"
local own = require "own"
local sizes = require "sizes"
local tree = require "tree"
local types = require "types"

local oracle = {}
oracle.__index = oracle

-- Without optimisation, because compiling takes more time than running.
local FLAGS = "-O0 -w -std=gnu11 -fwrapv -ffp-contract=off -fno-builtin-fma"

-- C functions that round halves, cast with saturation, divide and round down, and compute minima and maxima that respect NaN and
-- the sign of zero.
local PRELUDE = [[
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static float h_f(float x) { return (float)(_Float16)x; }
static float h_d(double x) { return (float)(_Float16)x; }
static float h_i(int64_t x) { return (float)(_Float16)(double)x; } /* above 2^53, the result is infinite anyway */
static float b_f(float x) {
  if (x != x) return x;
  uint32_t u;
  memcpy(&u, &x, 4);
  u += 0x7fff + (u >> 16 & 1);
  u &= 0xffff0000u;
  memcpy(&x, &u, 4);
  return x;
}
/* Converts to float. Sets the last bit if the result is inexact. A second rounding then gives the result of a single one. */
static float odd(double x) {
  float f = (float)x;
  if (x != x || (double)f == x) return f;
  uint32_t u;
  memcpy(&u, &f, 4);
  if (fabs((double)f) > fabs(x)) u--;
  u |= 1;
  memcpy(&f, &u, 4);
  return f;
}
static float b_d(double x) { return b_f(odd(x)); }
static float b_i(int64_t x) {
  uint64_t m = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
  if (m >> 32) m = (m & ~0xffffULL) | ((m & 0xffffULL) != 0) << 16; /* at least 17 bits are left */
  float f = odd((double)m);
  return b_f(x < 0 ? -f : f);
}
static float h_u(uint64_t x) { return (float)(_Float16)(double)x; }
static float b_u(uint64_t m) {
  if (m >> 32) m = (m & ~0xffffULL) | ((m & 0xffffULL) != 0) << 16; /* at least 17 bits are left */
  return b_f(odd((double)m));
}
static uint64_t to_u64(double x) { return !(x > 0) ? 0 : x >= 0x1p64 ? UINT64_MAX : (uint64_t)x; }
static int64_t to_int(double x, int64_t lo, int64_t hi) {
  if (x != x) return 0;
  if (x <= (double)lo) return lo;
  if (x >= (double)hi) return hi;
  return (int64_t)x;
}
static int64_t fdiv(int64_t a, int64_t b) {
  if (b == -1) return (int64_t)(0 - (uint64_t)a);
  int64_t q = a / b;
  return q - (a % b != 0 && (a % b < 0) != (b < 0));
}
static int64_t fmod_(int64_t a, int64_t b) {
  if (b == -1) return 0;
  int64_t m = a % b;
  return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}
/* A shift by one place at a time; `bits` is the width. A negative count, or one above the width, shifts out all bits. */
static uint64_t left(uint64_t x, int64_t n, int bits) {
  for (int64_t k = n < 0 || n > bits ? bits : n; k > 0; k--) x += x;
  return x;
}
static int64_t right(int64_t x, int64_t n, int bits) {
  for (int64_t k = n < 0 || n > bits ? bits : n; k > 0; k--) x = fdiv(x, 2);
  return x;
}
static int ones(uint64_t x, int bits) {
  int n = 0;
  for (int k = 0; k < bits; k++) n += x >> k & 1;
  return n;
}
/* The exponent e of x = m*2^e with 0.5 <= |m| < 1, found by doubling and halving. */
static int exponent_of(double x) {
  int e = 0;
  if (x == 0 || x != x || x - x != 0) return 0;
  x = fabs(x);
  for (; x >= 1; e++) x /= 2;
  for (; x < 0.5; e--) x *= 2;
  return e;
}
static double part(double x) { return ldexp(x, -exponent_of(x)); }
static int by(int64_t n) { return n < -4000 ? -4000 : n > 4000 ? 4000 : (int)n; }
static uint64_t bits_h(float x) { _Float16 h = (_Float16)x; uint16_t u; memcpy(&u, &h, 2); return x != x ? 0x7e00 : u; }
static uint64_t bits_s(float x) { uint32_t u; memcpy(&u, &x, 4); return x != x ? 0x7fc00000 : u; }
static uint64_t bits_b(float x) { return x != x ? 0x7fc0 : bits_s(b_f(x)) >> 16; }
static uint64_t bits_d(double x) { uint64_t u; memcpy(&u, &x, 8); return x != x ? 0x7ff8000000000000 : u; }
static float of_h(uint16_t u) { _Float16 h; memcpy(&h, &u, 2); return (float)h; }
static float of_s(uint32_t u) { float x; memcpy(&x, &u, 4); return x; }
static float of_b(uint16_t u) { return of_s((uint32_t)u << 16); }
static double of_d(uint64_t u) { double x; memcpy(&x, &u, 8); return x; }
static uint64_t right_u(uint64_t x, int64_t n, int bits) {
  for (int64_t k = n < 0 || n > bits ? bits : n; k > 0; k--) x /= 2;
  return x;
}
static uint64_t min_u(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t max_u(uint64_t a, uint64_t b) { return a > b ? a : b; }
static int64_t min_i(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t max_i(int64_t a, int64_t b) { return a > b ? a : b; }
static double min_f(double a, double b) { return a != a ? a : b != b ? b : a < b ? a : b < a ? b : signbit(a) ? a : b; }
static double max_f(double a, double b) { return a != a ? a : b != b ? b : a > b ? a : b > a ? b : signbit(a) ? b : a; }
static void *room(int64_t n, size_t bytes) { return calloc((size_t)(n > 0 ? n : 1), bytes); }
static void get(void *to, int64_t n, size_t bytes, FILE *f) { if (n > 0 && fread(to, bytes, (size_t)n, f) != (size_t)n) exit(3); }
static void put(const void *from, int64_t n, size_t bytes, FILE *f) { if (n > 0) fwrite(from, bytes, (size_t)n, f); }
]]

-- ---------------------------------------------------------------- values

local function integer(v) return v == math.mininteger and "INT64_MIN" or ("INT64_C(%d)"):format(v) end

local function real(v)
  if v ~= v then return "NAN" end
  if v == 1 / 0 then return "INFINITY" elseif v == -1 / 0 then return "(-INFINITY)" end
  return ("(%a)"):format(v)
end

-- Returns the C text of an expression of dtype `from`, converted to dtype `to`. A half is rounded to its dtype only by an
-- explicit cast.
local function converted(x, from, to, explicit)
  if from == to and not (explicit and types.is_half(to)) then return x end
  local float = types.is_float(from)
  if to == "bool" then return ("(uint8_t)(%s != 0)"):format(x) end
  if types.is_int(to) then
    local lo, hi = types.range(to)
    if float and to == "u64" then return ("to_u64(%s)"):format(x) end
    if float then return ("(%s)to_int(%s, %s, %s)"):format(types.info(to).c, x, integer(lo), integer(hi)) end
    return ("(%s)%s"):format(types.info(to).c, x)
  end
  if types.is_half(to) then
    local how = not float and (from == "u64" and "u" or "i") or from == "f64" and "d" or "f"
    return ("%s_%s(%s)"):format(to == "f16" and "h" or "b", how, x)
  end
  return ("(%s)%s"):format(types.info(to).c, x)
end

local function literal(v, to)
  if types.is_float(to) then
    local x = ("(double)%s"):format(real(v + 0.0))
    return "(" .. converted(x, "f64", to, true) .. ")"
  end
  return ("(%s)%s"):format(types.info(to).c, integer(v))
end

local function index_of(dim)
  if type(dim) == "number" then return tostring(dim) end
  return ("(S[%d]%+d)"):format(dim.size.name == "M" and 0 or 1, dim.add)
end

local function count(dims)
  local parts = {"(int64_t)1"}
  for _, dim in ipairs(dims) do parts[#parts + 1] = index_of(dim) end
  return table.concat(parts, "*")
end

local function identifier(name) return "t_" .. name:gsub("%W", "_") end

local C_COMPARISONS = {lt = "<", le = "<=", gt = ">", ge = ">=", eq = "==", ne = "!="}

local emit

-- Returns the C text of an operand, converted to dtype t.
local function operand(e, t, env)
  if e.op == "number" then return literal(e[1], t) end
  local x, from = emit(e, env)
  return converted(x, from, t)
end

local function element(e, env)
  local t = env.tensor(e.of)
  local at = "0"
  for d, dim in ipairs(t.dims) do
    local x = operand(e.at[d], "i64", env)
    at = d == 1 and x or ("(%s)*%s + %s"):format(at, index_of(dim), x)
  end
  return ("%s[%s]"):format(identifier(t.name), at), t.dtype
end

-- Returns the C text of a float operation, rounded to float or double.
local function of_float(t, text) return ("(%s)(%s)"):format(t == "f64" and "double" or "float", text) end

-- Returns the C text of an expression, and its dtype.
function emit(e, env)
  local op = e.op
  local t = tree.dtype(e, function(name) return env.tensor(name).dtype end)
  if op == "axis" then return "i" .. e[1], "i64" end
  if op == "over" then return "k" .. e[1], "i64" end
  if op == "extent" then return ("(int64_t)%s"):format(index_of(e[1])), "i64" end
  if op == "number" then return literal(e[1], t), t end
  if op == "const" then return literal(e[2], t), t end
  if op == "read" then return element(e, env) end
  if op == "cast" then
    if e[2].op == "number" then return literal(e[2][1], t), t end
    local x, from = emit(e[2], env)
    return "(" .. converted(x, from, t, true) .. ")", t
  end
  if op == "reinterpret" then
    local x, from = emit(e[2], env)
    local letter = {f16 = "h", bf16 = "b", f32 = "s", f64 = "d"}
    if letter[t] then return ("of_%s((uint%d_t)%s)"):format(letter[t], types.info(t).bits, x), t end
    return ("(%s)bits_%s(%s)"):format(types.info(t).c, letter[from], x), t
  end
  if op == "ldexp" then
    local x, n = operand(e[1], t, env), operand(e[2], "i32", env)
    return of_float(t, ("%s(%s, by(%s))"):format(t == "f64" and "ldexp" or "ldexpf", x, n)), t
  end
  if op == "exponent" then
    local x, from = emit(e[1], env)
    return ("(int32_t)exponent_of(%s)"):format(converted(x, from, types.is_float(from) and from or "f32")), t
  end
  if op == "select" then
    local c = emit(e[1], env)
    return ("(%s ? %s : %s)"):format(c, operand(e[2], t, env), operand(e[3], t, env)), t
  end
  if C_COMPARISONS[op] then
    local both = tree.common(e[1], e[2], function(name) return env.tensor(name).dtype end)
    return ("(uint8_t)(%s %s %s)"):format(operand(e[1], both, env), C_COMPARISONS[op], operand(e[2], both, env)), "bool"
  end
  if op == "not_" then return ("(uint8_t)!%s"):format((emit(e[1], env))), "bool" end
  if op == "all" or op == "any" then
    return ("(uint8_t)(%s %s %s)"):format((emit(e[1], env)), op == "all" and "&" or "|", (emit(e[2], env))), "bool"
  end
  local x = operand(e[1], t, env)
  local y = e[2] and operand(e[2], t, env)
  if types.is_float(t) then
    local wide = t == "f64"
    if op == "min" or op == "max" then return of_float(t, ("%s_f(%s, %s)"):format(op, x, y)), t end
    if op == "neg" then return of_float(t, "-" .. x), t end
    if op == "abs" then return of_float(t, ("%s(%s)"):format(wide and "fabs" or "fabsf", x)), t end
    if op == "mantissa" then return of_float(t, ("part(%s)"):format(x)), t end
    if y then return of_float(t, ("%s %s %s"):format(x, op, y)), t end
    return of_float(t, ("%s%s(%s)"):format(op, wide and "" or "f", x)), t
  end
  local c = types.info(t).c
  local wide = t == "u64"
  if op == "min" or op == "max" then return ("(%s)%s_%s(%s, %s)"):format(c, op, wide and "u" or "i", x, y), t end
  if wide and (op == "//" or op == "%") then return ("(%s %s %s)"):format(x, op == "%" and "%" or "/", y), t end
  if wide and op == "abs" then return x, t end
  if wide and op == ">>" then return ("right_u(%s, (int64_t)%s, 64)"):format(x, y), t end
  if op == "neg" then return ("(%s)(0 - (uint64_t)%s)"):format(c, x), t end
  if op == "abs" then return ("(%s)(%s < 0 ? 0 - (uint64_t)%s : (uint64_t)%s)"):format(c, x, x, x), t end
  if op == "popcount" then return ("(%s)ones((uint64_t)%s, %d)"):format(c, x, types.info(t).bits), t end
  if op == "invert" then return ("(%s)(-1 - (int64_t)%s)"):format(c, x), t end
  if op == "&" or op == "|" then return ("(%s)(%s %s %s)"):format(c, x, op, y), t end
  if op == "xor" then return ("(%s)((%s | %s) - (%s & %s))"):format(c, x, y, x, y), t end
  if op == "<<" then return ("(%s)left((uint64_t)%s, %s, %d)"):format(c, x, y, types.info(t).bits), t end
  if op == ">>" then return ("(%s)right(%s, %s, %d)"):format(c, x, y, types.info(t).bits), t end
  if op == "//" then return ("(%s)fdiv(%s, %s)"):format(c, x, y), t end
  if op == "%" then return ("(%s)fmod_(%s, %s)"):format(c, x, y), t end
  return ("(%s)((uint64_t)%s %s (uint64_t)%s)"):format(c, x, op, y), t
end

-- ---------------------------------------------------------------- stages

local function identity(combiner, t)
  if combiner == "sum" then return literal(0, t) end
  if combiner == "prod" then return literal(1, t) end
  local least = combiner == "max" or combiner == "argmax"
  if types.is_float(t) then return least and "-INFINITY" or "INFINITY" end
  local lo, hi = types.range(t)
  return integer(least and lo or hi)
end

local function updated(combiner, t, old, new)
  if combiner == "min" or combiner == "max" then
    local x = ("%s_%s(%s, %s)"):format(combiner, types.is_float(t) and "f" or t == "u64" and "u" or "i", old, new)
    return types.is_half(t) and converted("(float)" .. x, "f32", t, true) or ("(%s)%s"):format(types.info(t).c, x)
  end
  local op = combiner == "sum" and "+" or "*"
  if types.is_half(t) then return converted(("(%s %s %s)"):format(old, op, new), "f32", t, true) end
  if types.is_float(t) then return ("%s %s %s"):format(old, op, new) end
  return ("(%s)((uint64_t)%s %s (uint64_t)%s)"):format(types.info(t).c, old, op, new)
end

local function loops(out, letter, dims, from)
  for d, dim in ipairs(dims) do
    out[#out + 1] = ("for (int64_t %s%d = %s; %s%d < %s; %s%d++)"):format(letter, d, d == 1 and from or "0", letter, d,
      index_of(dim), letter, d)
  end
end

local function here(dims)
  local at = "0"
  for d, dim in ipairs(dims) do at = d == 1 and "i1" or ("(%s)*%s + i%d"):format(at, index_of(dim), d) end
  return at
end

-- Returns the C text of an expression, converted to dtype t. If it is then stored in other dtypes, one after the other, it is
-- converted to each of them and back.
local function stored(e, t, env, kept)
  local x, from = emit(e, env)
  x = converted(x, from, t, true)
  local chain = {t, table.unpack(kept or {})}
  for n = 2, #chain do x = converted("(" .. x .. ")", chain[n - 1], chain[n], true) end
  for n = #chain, 2, -1 do x = converted("(" .. x .. ")", chain[n], chain[n - 1], true) end
  return x
end

-- Returns the C text that skips values of the last axis that are outside of its range.
local function skip(stage, env)
  if not stage.range then return "" end
  local k = "k" .. #stage.over
  return ("if (!(%s <= %s && %s < %s)) continue;"):format(operand(stage.range[1], "i64", env), k, k,
    operand(stage.range[2], "i64", env))
end

local function write_own(out, stage, mine, env)
  local at, t = here(stage.dims), stage.dtypes
  local function extremum(op) return function(x, y) return updated(op, t[1], x, y) end end
  local start, update = own.in_c(stage.combiner, t[1],
    {type = types.info(t[1]).c, literal = literal, min = extremum "min", max = extremum "max"})
  out[#out + 1] = start
  loops(out, "k", stage.over, "0")
  out[#out + 1] = ("{ %s %s v = %s; %s }"):format(skip(stage, env), types.info(t[1]).c, stored(stage.bodies[1], t[1], env), update)
  for k, one in ipairs(mine) do out[#out + 1] = ("%s[%s] = s%d;"):format(identifier(one.name), at, k) end
  out[#out + 1] = "}"
end

local function write_reduction(out, stage, mine, env)
  local at, t = here(stage.dims), stage.dtypes
  loops(out, "i", stage.dims, "0")
  out[#out + 1] = "{"
  if own.is(stage.combiner) then return write_own(out, stage, mine, env) end
  if stage.combiner:find "^arg" then
    out[#out + 1] = ("%s best = %s; int64_t place = -1;"):format(types.info(t[1]).c, identity(stage.combiner, t[1]))
    loops(out, "k", stage.over, "0")
    local position = "0"
    for d, dim in ipairs(stage.over) do position = d == 1 and "k1" or ("(%s)*%s + k%d"):format(position, index_of(dim), d) end
    out[#out + 1] = ("{ %s %s v = %s; if (place < 0 || v %s best || (v != v && best == best)) { best = v; place = %s; } }"):format(
      skip(stage, env), types.info(t[1]).c, stored(stage.bodies[1], t[1], env), stage.combiner == "argmax" and ">" or "<", position)
    out[#out + 1] = ("%s[%s] = best; %s[%s] = place; }"):format(identifier(mine[1].name), at, identifier(mine[2].name), at)
    return
  end
  for k, dtype in ipairs(t) do
    out[#out + 1] = ("%s acc%d = %s;"):format(types.info(dtype).c, k, identity(stage.combiner, dtype))
  end
  loops(out, "k", stage.over, "0")
  out[#out + 1] = "{" .. skip(stage, env)
  for k, dtype in ipairs(t) do
    out[#out + 1] = ("acc%d = %s;"):format(k, updated(stage.combiner, dtype, "acc" .. k, operand(stage.bodies[k], dtype, env)))
  end
  out[#out + 1] = "}"
  for k, one in ipairs(mine) do out[#out + 1] = ("%s[%s] = acc%d;"):format(identifier(one.name), at, k) end
  out[#out + 1] = "}"
end

-- Writes the loops over all axes of the stage except the first, and the store of one element.
local function write_row(out, stage, one, body, env)
  local inner = {}
  loops(inner, "i", stage.dims, "0")
  table.remove(inner, 1)
  out[#out + 1] = table.concat(inner, " ")
  out[#out + 1] = ("%s[%s] = %s;"):format(identifier(one.name), here(stage.dims), stored(body, one.dtype, env, one.kept))
end

local function write_scan(out, stage, mine, env)
  local first = {table.unpack(stage.dims)}
  first[1] = stage.scan.rows
  local at = here(stage.dims)
  for k, one in ipairs(mine) do
    loops(out, "i", first, "0")
    out[#out + 1] = ("%s[%s] = %s;"):format(identifier(one.name), at, stored(stage.scan.first[k], one.dtype, env, one.kept))
  end
  out[#out + 1] = ("for (int64_t i1 = %d; i1 < %s; i1++) {"):format(stage.scan.rows, index_of(stage.dims[1]))
  if stage.scan.inner then write_row(out, stage, env.tensor "@inner", stage.scan.inner, env) end
  for k, one in ipairs(mine) do write_row(out, stage, one, stage.bodies[k], env) end
  out[#out + 1] = "}"
end

-- Writes the loops of an update. Their axes have the numbers after `first`.
local function write_ranges(out, update, first)
  for d, range in ipairs(update.ranges) do
    local i = "i" .. first + d
    out[#out + 1] = ("for (int64_t %s = %d; %s < %s - %d; %s++)"):format(i, range.lo, i, index_of(range.dim), range.less, i)
  end
end

local function write_definition(out, one, made, env)
  local target = element({of = made.name, at = one.at}, env)
  out[#out + 1] = ("if (%s) %s = %s;"):format(one.when and emit(one.when, env) or "1", target,
    stored(one.value, made.dtype, env, made.kept))
end

local function write_updates(out, stage, made, env)
  for _, update in ipairs(stage.updates) do
    write_ranges(out, update, 0)
    out[#out + 1] = "{"
    for _, one in ipairs(update.inside or {}) do
      write_ranges(out, one, #update.ranges)
      write_definition(out, one, made, env)
    end
    if not update.inside then write_definition(out, update, made, env) end
    out[#out + 1] = "}"
  end
end

local function write_stage(out, stage, tensors, kept_as)
  local mine = cases.made(stage)
  local arrays = {table.unpack(mine)}
  for k, one in ipairs(mine) do tensors[one.name], tensors["@" .. k] = one, one end
  if stage.scan and stage.scan.inner then
    local one = {name = stage.name .. "_inner", dims = stage.dims, dtype = mine[1].dtype}
    tensors["@inner"], arrays[#arrays + 1] = one, one
  end
  for _, one in ipairs(arrays) do
    one.kept = kept_as[one.name]
    out[#out + 1] = ("%s *%s = room(%s, sizeof *%s);"):format(types.info(one.dtype).c, identifier(one.name), count(one.dims),
      identifier(one.name))
  end
  local env = {tensor = function(name) return tensors[name] or error("no tensor " .. name) end}
  if stage.combiner then return write_reduction(out, stage, mine, env) end
  if stage.scan then return write_scan(out, stage, mine, env) end
  loops(out, "i", stage.dims, "0")
  out[#out + 1] = "{"
  for k, one in ipairs(mine) do
    local value = stored(stage.bodies[k], one.dtype, env, one.kept)
    out[#out + 1] = ("%s[%s] = %s;"):format(identifier(one.name), here(stage.dims), value)
  end
  out[#out + 1] = "}"
  if stage.updates then write_updates(out, stage, mine[1], env) end
end

-- Writes a C function that reads the inputs of a case, computes, and writes the outputs of the stages in `outputs`.
local function write_case(out, number, entry)
  local case, outputs = entry.case, entry.outputs
  out[#out + 1] = ("static void case_%d(const int64_t *S, FILE *in, FILE *to) {"):format(number)
  local tensors = {}
  for _, t in ipairs(case.inputs) do
    tensors[t.name] = t
    out[#out + 1] = ("%s *%s = room(%s, sizeof *%s); get(%s, %s, sizeof *%s, in);"):format(types.info(t.dtype).c,
      identifier(t.name), count(t.dims), identifier(t.name), identifier(t.name), count(t.dims), identifier(t.name))
  end
  for _, stage in ipairs(case.stages) do write_stage(out, stage, tensors, entry.kept_as) end
  for _, stage in ipairs(outputs) do
    for _, one in ipairs(cases.made(stage)) do
      out[#out + 1] = ("put(%s, %s, sizeof *%s, to);"):format(identifier(one.name), count(one.dims), identifier(one.name))
    end
  end
  out[#out + 1] = "}"
end

-- ---------------------------------------------------------------- batches

--- Returns an empty batch of cases.
function oracle.new() return setmetatable({cases = {}, jobs = {}}, oracle) end

--- Adds a case. Its results are the results of the stages in `outputs`. `kept_as` maps the name of a stage to the dtypes in which
--- its values are stored, one after the other. Returns the number of the case.
function oracle:add(case, outputs, kept_as)
  self.cases[#self.cases + 1] = {case = case, outputs = outputs, kept_as = kept_as}
  return #self.cases
end

--- Requests the results of a case with these sizes and data, and returns the number of the job. `data` maps names of inputs
--- to arrays.
function oracle:ask(number, values, data)
  local parts = {string.pack("<i8i8i8", number, values.M or 0, values.N or 0)}
  for _, input in ipairs(self.cases[number].case.inputs) do
    local format, array = "<" .. types.info(input.dtype).pack, data[input.name]
    for i = 1, array:count() do
      local v = array:getflat(i)
      if type(v) == "boolean" then v = v and 1 or 0 end
      parts[#parts + 1] = string.pack(format, v)
    end
  end
  self.jobs[#self.jobs + 1] = {number = number, values = values, text = table.concat(parts)}
  return #self.jobs
end

--- Compiles and runs the batch. For each job, returns a list of outputs. Each output is a list of numbers.
function oracle:run()
  local base = os.tmpname()
  local out = {PRELUDE}
  for number, one in ipairs(self.cases) do write_case(out, number, one) end
  out[#out + 1] = "int main(int n, char **arg) { FILE *in = fopen(arg[1], \"rb\"), *to = fopen(arg[2], \"wb\"); int64_t head[3];"
  out[#out + 1] = "while (fread(head, 8, 3, in) == 3) switch (head[0]) {"
  for number in ipairs(self.cases) do out[#out + 1] = ("case %d: case_%d(head + 1, in, to); break;"):format(number, number) end
  out[#out + 1] = "} return fclose(to) != 0; }\n"
  local function write(path, text)
    local file = assert(io.open(path, "wb"))
    file:write(text)
    file:close()
  end
  write(base .. ".c", table.concat(out, "\n"))
  local jobs = {}
  for n, job in ipairs(self.jobs) do jobs[n] = job.text end
  write(base .. ".in", table.concat(jobs))
  local command = ("cc %s -o %s.exe %s.c -lm && %s.exe %s.in %s.out"):format(FLAGS, base, base, base, base, base)
  if not os.execute(command) then error("the oracle does not compile or run: " .. command) end
  local file = assert(io.open(base .. ".out", "rb"))
  local bytes = file:read "a"
  file:close()
  for _, ending in ipairs {"", ".c", ".in", ".out", ".exe"} do os.remove(base .. ending) end
  local results, at = {}, 1
  for n, job in ipairs(self.jobs) do
    local list = {}
    for _, stage in ipairs(self.cases[job.number].outputs) do
      local volume = 1
      for _, extent in ipairs(sizes.shape_with(stage.dims, job.values)) do volume = volume * extent end
      for _, dtype in ipairs(stage.dtypes) do
        local values, format = {}, "<" .. types.info(dtype).pack
        for i = 1, volume do values[i], at = string.unpack(format, bytes, at) end
        list[#list + 1] = values
      end
    end
    results[n] = list
  end
  assert(at == #bytes + 1, "the output of the oracle is longer or shorter than expected")
  return results
end

return oracle
