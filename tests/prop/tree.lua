--- Expressions as plain data. The same trees can be printed, shrunk, built in the language and written in C:
---   {op = "axis", n}                        the n-th axis of the stage
---   {op = "over", n}                        the n-th axis of its reduction
---   {op = "extent", dim}                    the extent of a dimension of the case
---   {op = "number", v}                      a literal
---   {op = "const", dtype, v}                a number with an explicit dtype
---   {op = "read", of, at = {...}}           an element of a tensor
---   {op = "cast", dtype, x}                 a cast
---   {op = "+", x, y}                        an operation; the operations are listed below; "xor" is Lua's ~ with two operands
---   {op = "reinterpret", dtype, x}          the bits of x as another dtype
---   {op = "ldexp", x, n}                    x times 2^n
---   {op = "select", c, x, y}                x if the condition c holds, otherwise y
local nw = require "nestwright"
local types = require "types"

local tree = {}

local NUMBERS = {["+"] = true, ["-"] = true, ["*"] = true}

--- The operations, in groups: with two operands, with one operand, on floats only, comparisons, logical operations.
local BOTH = {["+"] = function(x, y) return x + y end, ["-"] = function(x, y) return x - y end,
  ["*"] = function(x, y) return x * y end, ["/"] = function(x, y) return x / y end, ["//"] = function(x, y) return x // y end,
  ["%"] = function(x, y) return x % y end, min = nw.min, max = nw.max}
--- Operations on the bits of integers, with two operands and with one operand.
local BITS = {["&"] = function(x, y) return x & y end, ["|"] = function(x, y) return x | y end,
  xor = function(x, y) return x ~ y end, ["<<"] = function(x, y) return x << y end, [">>"] = function(x, y) return x >> y end}
local ONE_OF_BITS = {invert = function(x) return ~x end, popcount = nw.popcount}
local ONE = {neg = function(x) return -x end, abs = nw.abs}
local OF_FLOATS = {exponent = nw.exponent, mantissa = nw.mantissa, floor = nw.floor, ceil = nw.ceil, sqrt = nw.sqrt, exp = nw.exp,
  tanh = nw.tanh}
local COMPARISONS = {lt = nw.lt, le = nw.le, gt = nw.gt, ge = nw.ge, eq = nw.eq, ne = nw.ne}
local LOGIC = {all = nw.all, any = nw.any, not_ = nw.not_}

--- Functions of libm. Their last bits may differ between the interpreter, the compiled program and the oracle.
tree.near = {exp = true, tanh = true}

--- Constructors of nodes, for example make.number(v) and make.add(x, y). If `dim` is a number, make.extent(dim) returns a number
--- node.
local make = {}
tree.make = make

function make.number(v) return {op = "number", v} end
function make.axis(n) return {op = "axis", n} end
function make.over(n) return {op = "over", n} end
function make.extent(dim) return type(dim) == "number" and make.number(dim) or {op = "extent", dim} end
function make.select(c, x, y) return {op = "select", c, x, y} end
function make.cast(dtype, x) return {op = "cast", dtype, x} end
function make.read(t, at) return {op = "read", of = t.name, at = at} end

for name, op in pairs {add = "+", sub = "-", mul = "*", min = "min", max = "max", lt = "lt", le = "le", ge = "ge", gt = "gt",
  ne = "ne", all = "all"} do
  make[name] = function(x, y) return {op = op, x, y} end
end

--- Returns the first n axes.
function make.axes(n)
  local out = {}
  for d = 1, n do out[d] = make.axis(d) end
  return out
end

local function group(op)
  return (BOTH[op] or BITS[op]) and "both" or (ONE[op] or ONE_OF_BITS[op]) and "one" or OF_FLOATS[op] and "of_floats"
    or COMPARISONS[op] and "comparison" or LOGIC[op] and "logic"
end
tree.group = group

--- Returns the common dtype of two operands.
local function common(x, y, dtype_of)
  local a = x.op ~= "number" and tree.dtype(x, dtype_of)
  local b = y.op ~= "number" and tree.dtype(y, dtype_of)
  if a and b then return types.promote(a, b) end
  if a then return types.promote(a, types.of_number(y[1], a)) end
  if b then return types.promote(types.of_number(x[1], b), b) end
  return types.promote(types.of_number(x[1]), types.of_number(y[1]))
end
tree.common = common

--- Returns the dtype of an expression. dtype_of(name) returns the dtype of a tensor.
function tree.dtype(e, dtype_of)
  local op = e.op
  if op == "axis" or op == "over" or op == "extent" then return "i64" end
  if op == "number" then return types.of_number(e[1]) end
  if op == "const" or op == "cast" or op == "reinterpret" then return e[1] end
  if op == "exponent" then return "i32" end
  if op == "read" then return dtype_of(e.of) end
  if op == "select" then return common(e[2], e[3], dtype_of) end
  local kind = group(op)
  if kind == "comparison" or kind == "logic" then return "bool" end
  if kind == "both" then
    local t = common(e[1], e[2], dtype_of)
    if op == "/" and not types.is_float(t) then return "f32" end
    return t == "bool" and NUMBERS[op] and "i32" or t
  end
  local t = tree.dtype(e[1], dtype_of)
  if (kind == "of_floats" or op == "ldexp") and not types.is_float(t) then return "f32" end
  return t
end

--- Calls f(node) for every node, including the nodes of indices.
function tree.visit(e, f)
  f(e)
  for _, x in ipairs(e) do if type(x) == "table" and x.op then tree.visit(x, f) end end
  for _, x in ipairs(e.at or {}) do tree.visit(x, f) end
end

--- Returns the tree as text, for printing and comparing.
function tree.show(e)
  local parts = {}
  for n, x in ipairs(e) do parts[n] = type(x) == "table" and x.op and tree.show(x) or tostring(x) end
  if e.op == "number" or e.op == "extent" then return parts[1] end
  if e.op == "axis" then return "i" .. parts[1] end
  if e.op == "over" then return "k" .. parts[1] end
  if e.op == "read" then
    local at = {}
    for n, x in ipairs(e.at) do at[n] = tree.show(x) end
    return ("%s[%s]"):format(e.of, table.concat(at, ", "))
  end
  if e.op == "const" or e.op == "cast" then return ("%s(%s)"):format(parts[1], parts[2]) end
  if group(e.op) == "both" and not e.op:match "%a" then return ("(%s %s %s)"):format(parts[1], e.op, parts[2]) end
  return ("%s(%s)"):format(e.op, table.concat(parts, ", "))
end

--- Builds the expression in the language. env.axes and env.over are lists of axes, env.tensors maps names to tensors, and
--- env.extent(dim) returns the extent of a dimension.
function tree.build(e, env)
  local function sub(x) return tree.build(x, env) end
  local op = e.op
  if op == "axis" then return env.axes[e[1]] end
  if op == "over" then return env.over[e[1]] end
  if op == "extent" then return env.extent(e[1]) end
  if op == "number" then return e[1] end
  if op == "const" then return nw.cast(e[2], e[1]) end
  if op == "cast" then return nw.cast(sub(e[2]), e[1]) end
  if op == "reinterpret" then return nw.reinterpret(sub(e[2]), e[1]) end
  if op == "ldexp" then return nw.ldexp(sub(e[1]), sub(e[2])) end
  if op == "read" then
    local at = {}
    for n, x in ipairs(e.at) do at[n] = sub(x) end
    return env.tensors[e.of](table.unpack(at))
  end
  if op == "select" then return nw.select(sub(e[1]), sub(e[2]), sub(e[3])) end
  local f = BOTH[op] or BITS[op] or ONE_OF_BITS[op] or ONE[op] or OF_FLOATS[op] or COMPARISONS[op] or LOGIC[op]
  if e[2] then return f(sub(e[1]), sub(e[2])) end
  return f(sub(e[1]))
end

return tree
