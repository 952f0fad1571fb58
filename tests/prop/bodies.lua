--- Draws expressions for the bodies of stages, as trees (tree.lua).
local tree = require "tree"
local types = require "types"

local make = tree.make
local number, axis, over, sub = make.number, make.axis, make.over, make.sub
local min, max, ne, select, cast = make.min, make.max, make.ne, make.select, make.cast

local bodies = {}

-- Returns a number that can be an operand of an operation on this dtype. Whole numbers are small, so that their sums are exact in
-- every float dtype.
local function draw_number(r, case, dtype)
  if types.is_float(dtype) then return number(r:pick(case.full and {0.5, 2, -1.5, 3, 0.1, 1e4} or {1, 2, -1, 3})) end
  if dtype == "bool" then return number(r:int(0, 2)) end
  local lo = types.range(dtype)
  return number(r:int(math.max(lo, -3), 5))
end

-- Returns a number with an explicit dtype. The dtypes i64 and f64 are not drawn, because the language treats such numbers as
-- literals.
local function draw_const(r, case)
  local dtype = r:pick {"i8", "u8", "i16", "u16", "i32", "u32", "u64", "f16", "bf16", "f32"}
  local v
  if types.is_float(dtype) then
    v = r:pick(case.full and {0.5, -2, 3, 0.1, 100} or {1, 2, -1})
  elseif case.full and r:chance(0.5) then
    v = r:pick {types.range(dtype)}
  else
    v = r:int(math.max(types.range(dtype), -2), 3)
  end
  return {op = "const", dtype, v}
end

local WEIGHTS = {{"sum", 45}, {"extremum", 12}, {"select", 13}, {"cast", 11}, {"one", 6}, {"quotient", 6}, {"division", 7},
  {"of_floats", 5}, {"bits", 9}, {"parts", 5}}
local TOTAL = 0
for _, row in ipairs(WEIGHTS) do TOTAL = TOTAL + row[2] end

local function draw_kind(r)
  local at = r:int(1, TOTAL)
  for _, row in ipairs(WEIGHTS) do
    at = at - row[2]
    if at <= 0 then return row[1] end
  end
end

local function draw_condition(r, ctx, depth)
  local x = bodies.draw(r, ctx, depth)
  local y
  local t = tree.dtype(x, ctx.dtype_of)
  if t == "bool" then x, t = cast("i32", x), "i32" end
  if r:chance(0.5) then
    y = draw_number(r, ctx.case, t)
  else
    y = bodies.draw(r, ctx, depth)
    if tree.dtype(y, ctx.dtype_of) == "bool" then y = cast("i32", y) end
  end
  local c = {op = r:pick {"lt", "le", "gt", "ge", "eq", "ne"}, x, y}
  if r:chance(0.15) then return {op = "not_", c} end
  if depth > 0 and r:chance(0.3) then return {op = r:pick {"all", "any"}, c, draw_condition(r, ctx, 0)} end
  return c
end

-- Returns an operation on the bits of x and y. Operands that are not integers are converted first. In a case with the full range
-- of values, some counts of shifts are out of range; in another case, the results are small.
local function draw_bits(r, ctx, x, y)
  local full = ctx.case.full
  local function dtype(e) return tree.dtype(e, ctx.dtype_of) end
  if not types.is_int(dtype(x)) then x = cast(r:pick {"u8", "i16", "i32", "u32", "i64"}, x) end
  if y.op ~= "number" and not types.is_int(dtype(y)) then y = cast(dtype(x), y) end
  local op = r:pick {"&", "|", "xor", "<<", ">>", "invert"}
  if op == "invert" and r:chance(0.3) then return {op = "popcount", x} end
  if op == "invert" and (full or types.info(dtype(x)).signed) then return {op = op, x} end
  -- These operations on two equal trees give a constant, which counts as a literal.
  if op == "invert" or tree.show(x) == tree.show(y) then op, y = ">>", number(1) end
  if op == "<<" or y.op == "number" then y = full and y.op ~= "number" and y or number(r:int(1, full and 40 or 2)) end
  return {op = op, x, y}
end

-- The integer dtypes that have the width of a float dtype.
local ALIKE = {f16 = {"i16", "u16"}, bf16 = {"i16", "u16"}, f32 = {"i32", "u32"}, f64 = {"i64", "u64"}}

-- Returns an operation on the parts or on the bits of x.
local function draw_parts(r, ctx, x)
  local function dtype(e) return tree.dtype(e, ctx.dtype_of) end
  if not ctx.case.full then return x end -- the results are not small whole numbers
  if not types.is_float(dtype(x)) then x = cast(r:pick {"f16", "bf16", "f32", "f64"}, x) end
  local what = r:pick {"mantissa", "exponent", "ldexp", "bits", "of_bits"}
  if what == "ldexp" then
    local n = r:chance(0.5) and number(r:int(-160, 160)) or cast("i32", ctx.leaf())
    return {op = what, x, n}
  end
  if what == "mantissa" or what == "exponent" then return {op = what, x} end
  local bits = {op = "reinterpret", r:pick(ALIKE[dtype(x)]), x}
  if what == "bits" then return bits end
  return {op = "reinterpret", dtype(x), {op = "xor", bits, number(r:pick {1, 2, 7, 64})}}
end

--- Draws a tree whose leaves come from ctx.leaf(). The tree is never a single number, because a number has no dtype of its own.
function bodies.draw(r, ctx, depth)
  if depth <= 0 or r:chance(0.15) then return ctx.leaf() end
  local kind = draw_kind(r)
  local function dtype(x) return tree.dtype(x, ctx.dtype_of) end
  local function numeric(x) return dtype(x) == "bool" and cast("i32", x) or x end
  local x = bodies.draw(r, ctx, depth - 1)
  if kind == "cast" then return cast(r:chance(0.06) and "bool" or r:pick(types.names), x) end
  if kind == "one" then return {op = r:pick {"neg", "abs"}, numeric(x)} end
  if kind == "select" then
    local y = r:chance(0.3) and draw_number(r, ctx.case, dtype(x)) or bodies.draw(r, ctx, depth - 1)
    if y.op == "number" and dtype(x) == "bool" then x = cast("i32", x) end
    local a, b = x, y
    if r:chance(0.3) then a, b = b, a end
    return select(draw_condition(r, ctx, depth - 1), a, b)
  end
  if kind == "of_floats" or kind == "quotient" then
    if not ctx.case.full and not ctx.case.near then return x end
    if kind == "quotient" then return {op = "/", x, bodies.draw(r, ctx, depth - 1)} end
    local op = r:pick(ctx.case.near and {"exp", "tanh", "floor"} or {"floor", "ceil", "sqrt"})
    if tree.near[op] then return {op = op, max(min(cast("f32", x), number(3)), number(-3))} end
    return {op = op, numeric(x)}
  end
  local y
  if r:chance(0.3) then y = draw_number(r, ctx.case, dtype(x))
  elseif r:chance(0.15) then y = draw_const(r, ctx.case)
  else y = bodies.draw(r, ctx, depth - 1) end
  if kind == "parts" then return draw_parts(r, ctx, x) end
  if kind == "bits" then return draw_bits(r, ctx, x, y) end
  if kind == "division" then
    x = numeric(x)
    if y.op == "number" then y = number(r:pick {1, 2, 3, 7, 8}) else y = y.op == "const" and ctx.leaf() or numeric(y) end
    if y.op ~= "number" and dtype(y) == "bool" then y = cast("i32", y) end
    if types.is_float(tree.common(x, y, ctx.dtype_of)) then return sub(x, y) end
    -- The quotient or remainder of two equal trees is a constant, which counts as a literal.
    if tree.show(x) == tree.show(y) then return x end
    local q = {op = r:pick {"//", "%"}, x, y}
    if y.op == "number" and y[1] == 1 then q.op = "//" end
    if y.op == "number" then return q end
    return select(ne(y, number(0)), q, numeric(ctx.leaf()))
  end
  if kind == "extremum" then
    if y.op ~= "number" then y = numeric(y) end
    x = numeric(x)
    if tree.show(x) == tree.show(y) then return x end
    return {op = r:pick {"min", "max"}, x, y}
  end
  -- The difference of two equal trees is 0, which counts as a literal.
  local op = tree.show(x) == tree.show(y) and "+" or r:pick {"+", "-", "*", "*"}
  if y.op ~= "number" and r:chance(0.3) then x, y = y, x end
  if op == "*" and y.op == "number" and y[1] == 0 then op = "+" end
  return {op = op, x, y}
end

--- Returns the context of bodies.draw for a stage. The context makes the leaves of the trees. A leaf is an axis of the stage, or an
--- element that one of the functions in `reads` returns.
function bodies.context(r, case, have, reads, rank, reduced)
  local by_name = {}
  for _, t in ipairs(have) do by_name[t.name] = t.dtype end
  local ctx = {case = case, dtype_of = function(name) return by_name[name] end}
  function ctx.leaf()
    if rank > 0 and r:chance(0.12) then
      if reduced and r:chance(0.5) then -- the cast is needed, because nw.max(x, k) is a reduction over k
        return cast(r:pick {"i8", "u8", "i32", "u16", "f16", "bf16", "f32"}, over(r:int(1, reduced)))
      end
      local a = axis(r:int(1, rank))
      return r:chance(0.7) and cast(r:pick(types.names), a) or a
    end
    return r:pick(reads)()
  end
  return ctx
end

--- Returns the body. If its dtype differs from the dtype of the case, usually casts the body to the dtype of the case.
function bodies.settled(r, ctx, body)
  local t = tree.dtype(body, ctx.dtype_of)
  if t ~= ctx.case.dtype and r:chance(types.class(t) == types.class(ctx.case.dtype) and 0.4 or 0.85) then
    return cast(ctx.case.dtype, body)
  end
  return body
end

return bodies
