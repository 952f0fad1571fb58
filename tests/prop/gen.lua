--- Random computations. A case is plain data, so that it can be printed, shrunk, built again, and written in C (oracle.lua):
---   {dtype = of most tensors, full = integers and floats of the full range?, near = are there functions of libm?,
---    grid = will loops be bound to one?, sizes = {{name=, min=, multiple=}}, ordered = M <= N?,
---    inputs = {{name=, dims=, dtype=}},
---    stages = {{kind=, name=, from={..}, dims=, bodies={..}, dtypes={..}, over=, combiner=, scan=, shown=}}}
--- bodies are trees (tree.lua), one for each output; over: extents of the reduction; shown: an output although somebody
--- reads it. Dimensions are small and awkward: 0, 1, primes, and one more or less than a tile; in a third of the cases some
--- are symbolic.
local gen = {}

local nw = require "nestwright"
local tree = require "tree"
local types = require "types"

local EXTENTS = {1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 16, 17}

-- ---------------------------------------------------------------- dimensions: a number, or a size with something added

local symbolic = {}
symbolic.__index = symbolic
symbolic.__add = function(a, by) return setmetatable({size = a.size, add = a.add + by}, symbolic) end
symbolic.__sub = function(a, by) return a + -by end
symbolic.__eq = function(a, b) return a.size == b.size and a.add == b.add end
symbolic.__tostring = function(a) return a.add == 0 and a.size.name or ("%s%+d"):format(a.size.name, a.add) end

local function same(a, b) return type(a) == type(b) and a == b end

-- The smallest and the largest extent it is tried with.
local function least(dim) return type(dim) == "number" and dim or dim.size.min + dim.add end
local function most(dim) return type(dim) == "number" and dim or dim.size.max + dim.add end

local function draw_dim(r, sizes)
  if #sizes > 0 and r:chance(0.6) then return setmetatable({size = r:pick(sizes), add = 0}, symbolic) end
  if r:chance(0.02) then return 0 end
  return r:pick(EXTENTS)
end

local function dims(r, rank, sizes)
  local out = {}
  for d = 1, rank do out[d] = draw_dim(r, sizes) end
  return out
end

local function draw_sizes(r, wanted)
  local sizes = {}
  if not wanted and not r:chance(0.3) then return sizes end
  for n = 1, r:int(1, 2) do
    local multiple = r:pick {1, 1, 1, 4, 8}
    local min = multiple * -(-r:pick {0, 1, 1, 2, 3, 5, 8} // multiple)
    sizes[n] = {name = ("MN"):sub(n, n), min = min, multiple = multiple, max = min + multiple * r:int(1, multiple > 1 and 2 or 9)}
  end
  return sizes
end

local function volume(shape)
  local n = 1
  for _, extent in ipairs(shape) do n = n * most(extent) end
  return n
end

-- ---------------------------------------------------------------- trees

local function number(v) return {op = "number", v} end
local function axis(n) return {op = "axis", n} end
local function over(n) return {op = "over", n} end
local function extent(dim) return type(dim) == "number" and number(dim) or {op = "extent", dim} end
local function binary(op) return function(x, y) return {op = op, x, y} end end
local add, sub, mul, min, max = binary "+", binary "-", binary "*", binary "min", binary "max"
local lt, le, ge, gt, ne, all = binary "lt", binary "le", binary "ge", binary "gt", binary "ne", binary "all"
local function select(c, x, y) return {op = "select", c, x, y} end
local function cast(dtype, x) return {op = "cast", dtype, x} end
local function read(t, at) return {op = "read", of = t.name, at = at} end

local function axes(n)
  local out = {}
  for d = 1, n do out[d] = axis(d) end
  return out
end

local function plus(x, by) return by == 0 and x or add(x, number(by)) end

-- A number that operations with a dtype take. Whole numbers stay small enough that sums are exact in every float.
local function draw_number(r, case, dtype)
  if types.is_float(dtype) then return number(r:pick(case.full and {0.5, 2, -1.5, 3, 0.1, 1e4} or {1, 2, -1, 3})) end
  if dtype == "bool" then return number(r:int(0, 2)) end
  local lo = types.range(dtype)
  return number(r:int(math.max(lo, -3), 5))
end

-- A number that has a dtype of its own; of i64 and f64 it would count as a number of the text.
local function draw_const(r, case)
  local dtype = r:pick {"i8", "u8", "i16", "u16", "i32", "u32", "f16", "bf16", "f32"}
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
  {"of_floats", 5}}
local TOTAL = 0
for _, row in ipairs(WEIGHTS) do TOTAL = TOTAL + row[2] end

local function draw_kind(r)
  local at = r:int(1, TOTAL)
  for _, row in ipairs(WEIGHTS) do
    at = at - row[2]
    if at <= 0 then return row[1] end
  end
end

local draw_tree

local function draw_condition(r, ctx, depth)
  local x = draw_tree(r, ctx, depth)
  local y
  local t = tree.dtype(x, ctx.dtype_of)
  if t == "bool" then x, t = cast("i32", x), "i32" end
  if r:chance(0.5) then
    y = draw_number(r, ctx.case, t)
  else
    y = draw_tree(r, ctx, depth)
    if tree.dtype(y, ctx.dtype_of) == "bool" then y = cast("i32", y) end
  end
  local c = {op = r:pick {"lt", "le", "gt", "ge", "eq", "ne"}, x, y}
  if r:chance(0.15) then return {op = "not_", c} end
  if depth > 0 and r:chance(0.3) then return {op = r:pick {"all", "any"}, c, draw_condition(r, ctx, 0)} end
  return c
end

-- A tree over ctx.leaf(): never a number alone, so that its dtype is known.
function draw_tree(r, ctx, depth)
  if depth <= 0 or r:chance(0.15) then return ctx.leaf() end
  local kind = draw_kind(r)
  local function dtype(x) return tree.dtype(x, ctx.dtype_of) end
  local function numeric(x) return dtype(x) == "bool" and cast("i32", x) or x end
  local x = draw_tree(r, ctx, depth - 1)
  if kind == "cast" then return cast(r:chance(0.06) and "bool" or r:pick(types.names), x) end
  if kind == "one" then return {op = r:pick {"neg", "abs"}, numeric(x)} end
  if kind == "select" then
    local y = r:chance(0.3) and draw_number(r, ctx.case, dtype(x)) or draw_tree(r, ctx, depth - 1)
    if y.op == "number" and dtype(x) == "bool" then x = cast("i32", x) end
    local a, b = x, y
    if r:chance(0.3) then a, b = b, a end
    return select(draw_condition(r, ctx, depth - 1), a, b)
  end
  if kind == "of_floats" or kind == "quotient" then
    if not ctx.case.full and not ctx.case.near then return x end
    if kind == "quotient" then return {op = "/", x, draw_tree(r, ctx, depth - 1)} end
    local op = r:pick(ctx.case.near and {"exp", "tanh", "floor"} or {"floor", "ceil", "sqrt"})
    if tree.near[op] then return {op = op, max(min(cast("f32", x), number(3)), number(-3))} end
    return {op = op, numeric(x)}
  end
  local y
  if r:chance(0.3) then y = draw_number(r, ctx.case, dtype(x))
  elseif r:chance(0.15) then y = draw_const(r, ctx.case)
  else y = draw_tree(r, ctx, depth - 1) end
  if kind == "division" then
    x = numeric(x)
    if y.op == "number" then y = number(r:pick {1, 2, 3, 7, 8}) else y = y.op == "const" and ctx.leaf() or numeric(y) end
    if y.op ~= "number" and dtype(y) == "bool" then y = cast("i32", y) end
    if types.is_float(tree.common(x, y, ctx.dtype_of)) then return sub(x, y) end
    local q = {op = r:pick {"//", "%"}, x, y}
    if y.op == "number" then return q end
    return select(ne(y, number(0)), q, numeric(ctx.leaf()))
  end
  if kind == "extremum" then
    if y.op ~= "number" then y = numeric(y) end
    x = numeric(x)
    if tree.show(x) == tree.show(y) then return x end
    return {op = r:pick {"min", "max"}, x, y}
  end
  -- A difference of equals is 0, which would count as a number of the text.
  local op = tree.show(x) == tree.show(y) and "+" or r:pick {"+", "-", "*", "*"}
  if y.op ~= "number" and r:chance(0.3) then x, y = y, x end
  if op == "*" and y.op == "number" and y[1] == 0 then op = "+" end
  return {op = op, x, y}
end

-- What trees of a stage are made of: elements that `reads` gives, and its axes.
local function context(r, case, have, reads, rank, reduced)
  local by_name = {}
  for _, t in ipairs(have) do by_name[t.name] = t.dtype end
  local ctx = {case = case, dtype_of = function(name) return by_name[name] end}
  function ctx.leaf()
    if rank > 0 and r:chance(0.12) then
      if reduced and r:chance(0.5) then -- nw.max(x, k) would be the greatest over k
        return cast(r:pick {"i8", "u8", "i32", "u16", "f16", "bf16", "f32"}, over(r:int(1, reduced)))
      end
      local a = axis(r:int(1, rank))
      return r:chance(0.7) and cast(r:pick(types.names), a) or a
    end
    return r:pick(reads)()
  end
  return ctx
end

-- Mostly brought to the dtype of the case.
local function settled(r, ctx, body)
  local t = tree.dtype(body, ctx.dtype_of)
  if t ~= ctx.case.dtype and r:chance(types.class(t) == types.class(ctx.case.dtype) and 0.4 or 0.85) then
    return cast(ctx.case.dtype, body)
  end
  return body
end

-- ---------------------------------------------------------------- kinds of stages
-- plan(r, have, case) draws a stage from the tensors so far, or nil.

local kinds = {}

local function alike(have, a)
  local list = {}
  for _, t in ipairs(have) do
    local equal = #t.dims == #a.dims
    for d, one in ipairs(a.dims) do equal = equal and same(t.dims[d], one) end
    if equal then list[#list + 1] = t end
  end
  return list
end

local SIMPLE = {"add", "sub", "mul", "max", "min", "select", "affine"}

local function simple(r, op, x, y)
  if op == "add" then return add(x, y) end
  if op == "sub" then return sub(x, y) end
  if op == "mul" then return mul(x, y) end
  if op == "max" then return max(x, y) end
  if op == "min" then return min(x, y) end
  if op == "select" then return select(lt(x, y), x, add(y, number(1))) end
  return add(mul(x, number(r:int(2, 3))), number(3))
end

kinds.map = {
  plan = function(r, have, case)
    local a = r:pick(have)
    local b = r:pick(alike(have, a))
    local n = #a.dims
    local stage = {from = {a, b}, dims = a.dims}
    local at = axes(n)
    if n > 0 and r:chance(0.15) then
      at[n] = sub(sub(extent(a.dims[n]), number(1)), axis(n))
      stage.reverse = true
    end
    if r:chance(0.45) and a.dtype == b.dtype and a.dtype ~= "bool" then
      stage.op = a == b and r:pick {"mul", "affine"} or r:pick(SIMPLE)
      if case.near and types.is_float(a.dtype) then stage.op = r:pick {"exp", "tanh"} end
      local x, y = read(a, at), read(b, axes(n))
      stage.bodies = {stage.op == "exp" and {op = "exp", mul(x, number(0.125))} or stage.op == "tanh" and {op = "tanh", x}
        or simple(r, stage.op, x, y)}
      if stage.reverse then stage.op = "reversed" end
      return stage
    end
    local ctx = context(r, case, have, {function() return read(a, at) end, function() return read(b, axes(n)) end}, n)
    stage.op = "tree"
    stage.bodies = {settled(r, ctx, add(draw_tree(r, ctx, r:int(1, 3)), read(a, at)))}
    if r:chance(0.4) and #alike(have, a) > 1 then stage.bodies = {settled(r, ctx, draw_tree(r, ctx, r:int(2, 3)))} end
    return stage
  end,
}

kinds.pair = { -- one operation with two or three outputs
  plan = function(r, have, case)
    local a = r:pick(have)
    local b = r:pick(alike(have, a))
    local n = #a.dims
    local ctx = context(r, case, have, {function() return read(a, axes(n)) end, function() return read(b, axes(n)) end}, n)
    local bodies = {}
    for k = 1, r:pick {2, 2, 3} do
      bodies[k] = r:chance(0.4) and simple(r, "affine", read(a, axes(n))) or settled(r, ctx, draw_tree(r, ctx, r:int(1, 2)))
    end
    return {from = {a, b}, dims = a.dims, bodies = bodies}
  end,
}

kinds.transpose = {
  plan = function(r, have)
    local a = r:pick(have)
    if #a.dims < 2 then return nil end
    local order = {}
    for d = 1, #a.dims do order[d] = d end
    r:shuffle(order)
    local out, index = {}, {}
    for d, from in ipairs(order) do
      out[d] = a.dims[from]
      index[from] = axis(d)
    end
    return {from = {a}, dims = out, bodies = {read(a, index)}}
  end,
}

kinds.matmul = {
  plan = function(r, have, case)
    local a = r:pick(have)
    if #a.dims ~= 2 then return nil end
    local with = {}
    for _, b in ipairs(have) do
      if #b.dims == 2 and same(b.dims[1], a.dims[2]) then with[#with + 1] = b end
    end
    if #with == 0 then return nil end
    local b = r:pick(with)
    local body = mul(read(a, {axis(1), over(1)}), read(b, {over(1), axis(2)}))
    if r:chance(0.25) then body = cast(r:chance(0.6) and case.dtype or r:pick(types.names), body) end
    return {from = {a, b}, dims = {a.dims[1], b.dims[2]}, over = {a.dims[2]}, combiner = "sum", bodies = {body}}
  end,
}

-- A reduction over the last dimension of something, or the last two; nil where it has none.
local function over_last(r, have, least_rank)
  local a = r:pick(have)
  if #a.dims < (least_rank or 1) then return nil end
  local count = #a.dims > 1 and r:chance(0.15) and 2 or 1
  local kept = #a.dims - count
  local at = axes(kept)
  for k = 1, count do at[#at + 1] = over(k) end
  return {from = {a}, dims = {table.unpack(a.dims, 1, kept)}, over = {table.unpack(a.dims, kept + 1)}}, a, at
end

-- Products stay exact: of 1 and -1.
local function signs(e) return cast("f64", select(gt(e, number(0)), number(1), number(-1))) end

local function term(r, case, have, stage, a, at, combiner)
  local x = read(a, at)
  if a.dtype == "bool" then x = cast("i32", x) end
  if combiner == "prod" and types.is_float(a.dtype) then
    local e = signs(x)
    e[1] = a.dtype
    return e
  end
  if r:chance(0.55) then return x end
  local ctx = context(r, case, have, {function() return read(a, at) end}, #stage.dims, #stage.over)
  local body = settled(r, ctx, draw_tree(r, ctx, r:int(1, 2)))
  local t = tree.dtype(body, ctx.dtype_of)
  if t == "bool" then body, t = cast("i32", body), "i32" end
  if combiner == "prod" and types.is_float(t) then return x end
  local uses = false -- of a term without the axis, nw.min is the least of two values
  tree.visit(body, function(e) uses = uses or e.op == "read" end)
  return uses and body or x
end

kinds.fold = {
  plan = function(r, have, case)
    local stage, a, at = over_last(r, have)
    if not stage then return nil end
    stage.combiner = r:pick {"sum", "sum", "max", "min", "prod"}
    stage.op = stage.combiner
    stage.bodies = {term(r, case, have, stage, a, at, stage.combiner)}
    if stage.combiner == "prod" and not case.full then
      local e = signs(stage.bodies[1])
      e[1] = types.is_int(a.dtype) and a.dtype or types.is_float(a.dtype) and a.dtype or "i32"
      stage.bodies = {e}
    end
    if stage.bodies[1].op ~= "read" then stage.op = "term" end
    return stage
  end,
}

kinds.folds = { -- several reductions at once
  plan = function(r, have, case)
    local stage, a, at = over_last(r, have)
    if not stage then return nil end
    stage.combiner = r:pick {"sum", "sum", "max", "min"}
    stage.bodies = {}
    for n = 1, r:pick {2, 2, 3} do stage.bodies[n] = term(r, case, have, stage, a, at, stage.combiner) end
    return stage
  end,
}

kinds.arg = {
  plan = function(r, have, case)
    local stage, a, at = over_last(r, have)
    if not stage then return nil end
    stage.combiner = r:pick {"argmax", "argmin"}
    stage.bodies = {term(r, case, have, stage, a, at)}
    return stage
  end,
}

-- Sums over a part of the last dimension: between two constants, or up to the diagonal.
kinds.band = {
  plan = function(r, have, case)
    local stage, a, at = over_last(r, have)
    if not stage or #stage.over > 1 then return nil end
    stage.combiner = "sum"
    stage.bodies = {}
    local last = r:chance(0.5) and #stage.dims > 0 and axis(#stage.dims) or number(r:int(1, 20))
    for n = 1, r:pick {1, 1, 1, 2} do
      local x = n == 1 and read(a, at) or term(r, case, have, stage, a, at, "sum")
      if x.op == "read" and a.dtype == "bool" then x = cast("i32", x) end
      stage.bodies[n] = select(all(ge(over(1), number(r:int(0, 3))), le(over(1), last)), x, number(0))
    end
    return stage
  end,
}

kinds.stencil = {
  plan = function(r, have)
    local a = r:pick(have)
    local d = #a.dims > 0 and r:int(1, #a.dims)
    if not d or least(a.dims[d]) < 3 then return nil end
    local out = {table.unpack(a.dims)}
    out[d] = out[d] - 2
    local function at(shift)
      local index = axes(#a.dims)
      index[d] = plus(index[d], shift)
      return read(a, index)
    end
    return {from = {a}, dims = out, axis = d, bodies = {add(add(at(0), mul(at(1), number(2))), at(2))}}
  end,
}

kinds.window = { -- a reduction over what lies under a window that moves, by one or by more, inside or across the edge
  plan = function(r, have)
    local a = r:pick(have)
    if #a.dims ~= 2 or least(a.dims[1]) < 2 or least(a.dims[2]) < 3 then return nil end
    local combiner = r:pick {"sum", "max", "min"}
    local stage = {from = {a}, over = {2, 3}, combiner = combiner}
    local function element(at) return a.dtype == "bool" and cast("i32", read(a, at)) or read(a, at) end
    local stride = r:pick {1, 1, 2, 3}
    if r:chance(0.4) then -- the middle of the window lies inside
      stage.dims = a.dims
      local i, j = sub(add(axis(1), over(1)), number(1)), sub(add(axis(2), over(2)), number(1))
      stage.bodies = {select(all(all(ge(i, number(0)), lt(i, extent(a.dims[1]))), all(ge(j, number(0)), lt(j, extent(a.dims[2])))),
        element {i, j}, number(0))}
    elseif stride > 1 and type(a.dims[1]) == "number" and type(a.dims[2]) == "number" then
      stage.dims = {(a.dims[1] - 2) // stride + 1, (a.dims[2] - 3) // stride + 1}
      stage.bodies = {element {add(mul(axis(1), number(stride)), over(1)), add(mul(axis(2), number(stride)), over(2))}}
    else
      stage.dims = {a.dims[1] - 1, a.dims[2] - 2}
      stage.bodies = {element {add(axis(1), over(1)), add(axis(2), over(2))}}
    end
    return stage
  end,
}

kinds.pad = {
  plan = function(r, have)
    local a = r:pick(have)
    if #a.dims < 1 then return nil end
    local n, by = #a.dims, r:int(1, 2)
    local out = {table.unpack(a.dims)}
    out[n] = out[n] + 2 * by
    local at = axes(n)
    at[n] = sub(axis(n), number(by))
    local inside = all(ge(axis(n), number(by)), lt(axis(n), add(extent(a.dims[n]), number(by))))
    return {from = {a}, dims = out, bodies = {select(inside, read(a, at), a.dtype == "bool" and ne(axis(n), axis(n)) or number(0))}}
  end,
}

-- What a step of a recurrence over rows of x reads, by name; `last` is the last x. None grows fast: sums stay exact.
local RECURRENCES = {
  column = function(S, a) return add(S(-1, axis(2)), a()) end,
  heat = function(S, a, last)
    return sub(max(S(-1, max(sub(axis(2), number(1)), number(0))), S(-1, min(add(axis(2), number(1)), last))), a())
  end,
  two_back = function(S, a) return add(S(-2, axis(2)), a()) end,
  diagonal = function(S, a) return add(S(-1, max(sub(axis(2), number(1)), number(0))), a()) end,
  against = function(S, a, last) return add(S(-1, min(add(axis(2), number(1)), last)), a()) end,
  sweep = function(S, a) -- in place: what was written just before, on the left
    local left = select(gt(axis(2), number(0)), S(0, max(sub(axis(2), number(1)), number(0))), a())
    return add(max(left, S(-1, axis(2))), a())
  end,
}

kinds.scan = { -- a running sum over the first dimension, or a recurrence over rows; of one state or two
  plan = function(r, have)
    local a = r:pick(have)
    local n = #a.dims
    if n < 1 or n > 2 or least(a.dims[1]) < 2 or a.dtype == "bool" then return nil end
    local step = r:pick {"column", "column", "heat", "heat", "two_back", "diagonal", "against", "sweep"}
    if step == "two_back" and least(a.dims[1]) < 3 then step = "column" end
    if n == 1 then step = nil end
    local function state(k)
      return function(back, x)
        local time = back == 0 and axis(1) or sub(axis(1), number(-back))
        return {op = "read", of = "@" .. k, at = n == 2 and {time, x} or {time}}
      end
    end
    local function element() return read(a, axes(n)) end
    local function update(k)
      local e = step and RECURRENCES[step](state(k), element, sub(extent(a.dims[2]), number(1))) or add(state(k)(-1), element())
      return e
    end
    local next = {update(1)}
    if r:chance(0.3) and step ~= "two_back" then -- the second reads the first, of this time or the one before
      next[2] = sub(update(2), state(1)(r:pick {0, -1}, n == 2 and axis(2) or nil))
      if r:chance(0.5) then next[1] = max(next[1], state(2)(-1, n == 2 and axis(2) or nil)) end
    end
    local first, dtypes = {}, {}
    for k = 1, #next do first[k], dtypes[k] = element(), a.dtype end
    return {from = {a}, dims = a.dims, op = step, bodies = next, dtypes = dtypes,
      scan = {first = first, rows = step == "two_back" and 2 or 1}}
  end,
}

kinds.gather = {
  plan = function(r, have)
    local a, with = r:pick(have), {}
    for _, t in ipairs(have) do
      if types.is_int(t.dtype) and #t.dims == 1 then with[#with + 1] = t end
    end
    if #a.dims ~= 1 or most(a.dims[1]) < 2 or least(a.dims[1]) < 1 or #with == 0 then
      return nil -- of one element no index is read, and none is inside of nothing
    end
    local index = r:pick(with)
    local at = max(min(read(index, {axis(1)}), sub(extent(a.dims[1]), number(1))), number(0))
    return {from = {a, index}, dims = index.dims, bodies = {read(a, {at})}}
  end,
}

local ORDER = {"map", "map", "map", "map", "matmul", "matmul", "fold", "fold", "folds", "arg", "stencil", "stencil", "window",
  "pad", "scan", "scan", "transpose", "gather", "gather", "pair", "band"}

-- ---------------------------------------------------------------- cases

-- The kind of a stage that reads the one before alone, where that is wanted.
local FOLLOWS = {epilogue = "map", window = "stencil", deep_window = "stencil"}

local function draw_stage(r, have, case, before, want)
  local kind = r:pick(ORDER)
  local follows = before and FOLLOWS[want]
  if want == "band" and r:chance(0.7) then kind = "band" end
  if want == "scan" and r:chance(0.5) then kind = "scan" end
  if want == "plain" and r:chance(0.5) then kind = "map" end
  local from = have
  if follows and r:chance(0.7) then kind, from = follows, {before} end
  local stage = kinds[kind].plan(r, from, case)
  if not stage or volume(stage.dims) > 4096 then return nil end
  if stage.over and volume(stage.over) * volume(stage.dims) > 65536 then return nil end
  stage.kind = kind
  return stage
end

--- The tensors that a stage makes: {name =, dims =, dtype =, stage = its name}.
function gen.made(stage)
  local out, arg = {}, stage.combiner == "argmin" or stage.combiner == "argmax"
  for k, dtype in ipairs(stage.dtypes) do
    local name = arg and stage.name .. (k == 1 and ".value" or ".index")
      or #stage.dtypes > 1 and ("%s.v%d"):format(stage.name, k - 1) or stage.name
    out[k] = {name = name, dims = stage.dims, dtype = dtype, stage = stage.name}
  end
  return out
end

-- Finds the dtypes of what a stage makes from those of what it reads.
local function find_dtypes(stage, have)
  local by_name = {}
  for _, t in ipairs(have) do by_name[t.name] = t.dtype end
  for k, t in ipairs(stage.dtypes or {}) do by_name["@" .. k] = t end
  stage.dtypes = {}
  for k, body in ipairs(stage.bodies) do stage.dtypes[k] = tree.dtype(body, function(name) return by_name[name] end) end
  if stage.combiner == "argmin" or stage.combiner == "argmax" then stage.dtypes[2] = "i64" end
end

-- A state has the dtype of what it is made of: the update is brought to it.
local function settle_states(stage, have)
  if not stage.scan then return end
  local by_name = {}
  for _, t in ipairs(have) do by_name[t.name] = t.dtype end
  for k, t in ipairs(stage.dtypes) do by_name["@" .. k] = t end
  for k, body in ipairs(stage.bodies) do
    if tree.dtype(body, function(name) return by_name[name] end) ~= stage.dtypes[k] then
      stage.bodies[k] = cast(stage.dtypes[k], body)
    end
  end
end

local function draw_dtype(r, case)
  if r:chance(case.mixed and 0.5 or 0.05) then return r:pick(types.names) end
  return case.dtype
end

-- Two sizes that inputs have, and whose values may be in order.
local function ordered(sizes, inputs)
  local used = {}
  for _, input in ipairs(inputs) do
    for _, dim in ipairs(input.dims) do if type(dim) == "table" then used[dim.size.name] = true end end
  end
  return used.M and used.N and sizes[1].min <= sizes[2].max
end

local function draw_case(r, want, class)
  local case = {dtype = r:pick(types.of_class[class]), full = r:chance(0.5), near = false, mixed = r:chance(0.5),
    grid = want == "grid" or r:chance(0.12), sizes = draw_sizes(r, want == "sizes"), inputs = {}, stages = {}}
  if not case.full then case.near = r:chance(0.15) end
  local have = {}
  local base = dims(r, r:int(1, r:chance(0.2) and 3 or 2), case.sizes)
  if want == "lanes" then base[#base] = r:pick {8, 16, 16, 17, 32, 33, 64} end
  for n = 1, r:int(1, 3) do
    local shape = base
    if n > 1 and r:chance(0.5) then
      shape = #base == 2 and {base[2], r:pick(EXTENTS)} or dims(r, r:int(1, 2), case.sizes)
    end
    local input = {name = ("ABD"):sub(n, n), dims = shape, dtype = draw_dtype(r, case)}
    case.inputs[n] = input
    have[#have + 1] = input
  end
  case.ordered = ordered(case.sizes, case.inputs) and r:chance(0.3)
  local function add_stage(stage, n)
    stage.name = ("XYZ"):sub(n, n)
    stage.shown = r:chance(0.15)
    settle_states(stage, have)
    local from = {}
    for k, t in ipairs(stage.from) do from[k] = t.stage or t.name end
    stage.from = from
    case.stages[#case.stages + 1] = stage
    find_dtypes(stage, have)
    local out = gen.made(stage)
    for _, t in ipairs(out) do have[#have + 1] = t end
    return out[1]
  end
  local before
  for n = 1, r:int(1, 3) do
    for _ = 1, 8 do
      local stage = draw_stage(r, have, case, before, want)
      if stage then
        before = add_stage(stage, n)
        break
      end
    end
  end
  if #case.stages == 0 then -- everything drawn was too large
    local stage = kinds.map.plan(r, have, case)
    stage.kind = "map"
    add_stage(stage, 1)
  end
  return case
end

local WANTS = {}

-- A stage that another reads, and the caller does not.
function WANTS.pair(case)
  local hidden = {}
  for _, stage in ipairs(case.stages) do
    for _, from in ipairs(stage.from) do
      if hidden[from] then return true end
    end
    hidden[stage.name] = not stage.shown and #stage.dtypes == 1
  end
end

-- Something done to each element of a stage, and to nothing else.
function WANTS.epilogue(case)
  local hidden = {}
  for _, stage in ipairs(case.stages) do
    if stage.kind == "map" and not stage.reverse and stage.from[1] == stage.from[2] and hidden[stage.from[1]] then return true end
    hidden[stage.name] = not stage.shown and not stage.over and not stage.scan and #stage.dtypes == 1
      and not types.is_half(stage.dtypes[1])
  end
end

--- Whether the expression of a stage can stand where the stage is read: one output, and no rounding that would be lost.
function gen.inlinable(stage)
  local body = stage.bodies[1]
  return not stage.over and not stage.scan and #stage.dtypes == 1
    and (not types.is_half(stage.dtypes[1]) or body.op == "read" or body.op == "cast")
end

-- A stage whose expression can stand where it is read.
function WANTS.inline(case)
  local hidden = {}
  for _, stage in ipairs(case.stages) do
    for _, from in ipairs(stage.from) do
      if hidden[from] then return true end
    end
    hidden[stage.name] = not stage.shown and gen.inlinable(stage)
  end
end

-- A stage under a stencil.
function WANTS.window(case)
  local hidden = {}
  for _, stage in ipairs(case.stages) do
    if stage.kind == "stencil" and hidden[stage.from[1]] then return true end
    hidden[stage.name] = not stage.shown and stage.kind ~= "scan" and #stage.dtypes == 1
  end
end

-- A stage under a stencil that moves along an inner dimension.
function WANTS.deep_window(case)
  local hidden = {}
  for _, stage in ipairs(case.stages) do
    if stage.kind == "stencil" and stage.axis > 1 and hidden[stage.from[1]] then return true end
    hidden[stage.name] = not stage.shown and stage.kind ~= "scan" and #stage.dtypes == 1
  end
end

-- A stage of two dimensions or more that another reads, and the caller does not.
function WANTS.deep_pair(case)
  local hidden = {}
  for _, stage in ipairs(case.stages) do
    for _, from in ipairs(stage.from) do
      if hidden[from] then return true end
    end
    hidden[stage.name] = not stage.shown and #stage.dtypes == 1 and #stage.dims > 1
  end
end

-- Two stages with one extent outermost; `apart`: the second reads nothing of the first.
function WANTS.alike(case, apart)
  for n = 2, #case.stages do
    local a, b = case.stages[n - 1], case.stages[n]
    local reads = b.from[1] == a.name or b.from[2] == a.name
    local one, other = a.dims[1], b.dims[1]
    if one and other and same(one, other) and not (apart and reads) then return true end
  end
end

function WANTS.apart(case) return WANTS.alike(case, true) end

function WANTS.sizes(case) return #case.sizes > 0 end

function WANTS.grid(case) return case.grid and #case.stages[1].dims > 0 end

local function has(case, f)
  for _, stage in ipairs(case.stages) do if f(stage) then return true end end
  return false
end

function WANTS.band(case) return has(case, function(stage) return stage.kind == "band" end) end

function WANTS.scan(case) return has(case, function(stage) return stage.kind == "scan" and #stage.dims == 2 end) end

-- A reduction of one value.
function WANTS.single(case)
  return has(case, function(stage) return stage.over and #stage.over > 0 and #stage.dtypes == 1 end)
end

function WANTS.reduction(case) return has(case, function(stage) return stage.over and #stage.over > 0 end) end

-- Something an intrinsic does, or a vector: a stage of one output whose innermost extent is known.
function WANTS.plain(case)
  return has(case, function(stage)
    local last = stage.dims[#stage.dims]
    if types.class(stage.dtypes[1]) ~= types.class(case.dtype) then return false end
    local done = stage.op == "add" or stage.op == "sub" or stage.op == "mul"
    return stage.kind == "map" and not types.is_half(case.dtype) and done and type(last) == "number"
      and last > 1 or stage.kind == "transpose" and type(last) == "number" and last > 1
  end)
end

-- Rows that vectors of 16 bytes or more divide, for stores past the caches.
function WANTS.lanes(case)
  return has(case, function(stage)
    local last = stage.dims[#stage.dims]
    if stage.over or stage.scan or #stage.dtypes > 1 or type(last) ~= "number" or stage.dtypes[1] == "bool" then return false end
    local lanes = 128 // types.info(stage.dtypes[1]).bits
    return last >= lanes and (#stage.dims == 1 or last % lanes == 0) and types.class(stage.dtypes[1]) == types.class(case.dtype)
  end)
end

--- Whether the case has what is wanted (steps.wants).
function gen.has(case, want) return not want or WANTS[want](case) end

--- Draws a case of a class of dtypes that has what is wanted, if one of many does.
function gen.case(r, want, class)
  local case
  for _ = 1, want and 40 or 1 do
    case = draw_case(r, want, class)
    if gen.has(case, want) then break end
  end
  return case
end

--- Whether data decide, in a select, what is read.
function gen.decides(case)
  local decides = false
  local function see(e)
    if e.op ~= "select" then return end
    tree.visit(e[1], function(x) decides = decides or x.op == "read" end)
  end
  for _, stage in ipairs(case.stages) do for _, body in ipairs(stage.bodies) do tree.visit(body, see) end end
  return decides
end

-- ---------------------------------------------------------------- values of sizes

-- Whether what is known of the sizes holds.
local function known_holds(case, values) return not case.ordered or values.M <= values.N end

--- The values of the sizes to try, each as {M=, N=}: the least first. One empty table when there are none.
function gen.sizes(case)
  if #case.sizes == 0 then return {{}} end
  local list, out = {{}, {}, {}}, {}
  for _, size in ipairs(case.sizes) do
    local room = (size.max - size.min) // size.multiple
    for n, part in ipairs {0, 1, room} do list[n][size.name] = size.min + part * size.multiple end
  end
  for _, values in ipairs(list) do if known_holds(case, values) then out[#out + 1] = values end end
  if #out == 0 then out[1] = {M = case.sizes[1].min, N = case.sizes[2].max} end
  return out
end

-- Every value of the sizes, from the least to `beyond` steps above the greatest.
local function all_sizes(case, beyond)
  local list = {{}}
  for _, size in ipairs(case.sizes) do
    local more = {}
    for _, values in ipairs(list) do
      for value = size.min, size.max + beyond * size.multiple, size.multiple do
        local with = {[size.name] = value}
        for name, v in pairs(values) do with[name] = v end
        more[#more + 1] = with
      end
    end
    list = more
  end
  local out = {}
  for _, values in ipairs(list) do if known_holds(case, values) then out[#out + 1] = values end end
  return out
end

--- The extents of a list of dimensions when the sizes have these values.
function gen.shape_with(shape, values)
  local out = {}
  for d, dim in ipairs(shape) do out[d] = type(dim) == "number" and dim or values[dim.size.name] + dim.add end
  return out
end

-- May the schedule be run with these sizes?
local function allowed(case, s, values)
  local by_name, data = {}, {}
  for _, input in ipairs(case.inputs) do by_name[input.name] = nw.zeros(gen.shape_with(input.dims, values), input.dtype) end
  for n, t in ipairs(s:inputs()) do data[n] = by_name[t.name] end
  local fine, err = pcall(nw.interpret, s, data)
  return fine or not err.message:find "does not hold"
end

local BEYOND = 24

--- The sizes to try a schedule with: where it assumes something of them, some of all that it allows, and where it allows none
--- of those that the case was drawn for, the first one beyond, if there is one.
function gen.sizes_for(case, s)
  if not s:text():find "\nassume " then return gen.sizes(case) end
  local list = {}
  for _, values in ipairs(all_sizes(case, 0)) do if allowed(case, s, values) then list[#list + 1] = values end end
  while #list > 12 do table.remove(list, #list // 2) end
  if #list > 0 then return list end
  for _, values in ipairs(all_sizes(case, BEYOND)) do if allowed(case, s, values) then return {values} end end
  return {}
end

-- ---------------------------------------------------------------- the language

-- A function of exactly n parameters that calls f: axis names come from parameter names.
local function with_axes(n, f)
  if n == 0 then return function() return f {} end end
  if n == 1 then return function(i) return f {i} end end
  if n == 2 then return function(i, j) return f {i, j} end end
  if n == 3 then return function(i, j, k) return f {i, j, k} end end
  return function(i, j, k, l) return f {i, j, k, l} end
end

local function build_stage(stage, tensors, extent_of)
  local env = {tensors = setmetatable({}, {__index = tensors}), extent = extent_of, over = {}}
  local shape = {}
  for d, dim in ipairs(stage.dims) do shape[d] = extent_of(dim) end
  for k, dim in ipairs(stage.over or {}) do env.over[k] = nw.reduce_axis(extent_of(dim), ("kpq"):sub(k, k)) end
  local function values(bodies)
    return function(at)
      env.axes = at
      local out = {}
      for k, body in ipairs(bodies) do
        out[k] = tree.build(body, env)
        if stage.combiner then out[k] = nw[stage.combiner](out[k], #env.over == 1 and env.over[1] or env.over) end
      end
      return table.unpack(out)
    end
  end
  local n = #shape
  if not stage.scan then return table.pack(nw.compute(shape, with_axes(n, values(stage.bodies)), stage.name)) end
  local init, update, state = {}, {}, {}
  local first = {table.unpack(shape)}
  first[1] = stage.scan.rows
  for k in ipairs(stage.bodies) do
    local suffix = k == 1 and "" or tostring(k)
    state[k] = nw.scan_state(shape, stage.dtypes[k], stage.name .. "_state" .. suffix)
    env.tensors["@" .. k] = state[k]
  end
  for k, body in ipairs(stage.bodies) do
    local suffix = k == 1 and "" or tostring(k)
    init[k] = nw.compute(first, with_axes(n, values {stage.scan.first[k]}), stage.name .. "_first" .. suffix)
    update[k] = nw.compute(shape, with_axes(n, values {body}), stage.name .. "_next" .. suffix)
  end
  return table.pack(nw.scan(init, update, state, stage.name))
end

--- Builds a case: the list of output tensors (every stage nobody reads, and those shown) and all tensors by name.
function gen.build(case)
  local tensors, read_of, outputs, sizes = {}, {}, {}, {}
  for _, size in ipairs(case.sizes) do sizes[size.name] = nw.size(size.name, {min = size.min, multiple = size.multiple}) end
  if case.ordered then nw.fact(sizes.M, nw.le(sizes.M, sizes.N)) end
  local function extent_of(dim)
    if type(dim) == "number" then return dim end
    return sizes[dim.size.name] + dim.add
  end
  for _, input in ipairs(case.inputs) do
    local shape = {}
    for d, dim in ipairs(input.dims) do shape[d] = extent_of(dim) end
    tensors[input.name] = nw.placeholder(shape, input.dtype, input.name)
  end
  for _, stage in ipairs(case.stages) do
    local out = build_stage(stage, tensors, extent_of)
    for k = 1, out.n do tensors[out[k].name] = out[k] end
    tensors[stage.name] = out[1]
    stage.made = out
    for _, from in ipairs(stage.from) do read_of[from] = true end
  end
  for _, stage in ipairs(case.stages) do
    if not read_of[stage.name] or stage.shown then
      for k = 1, stage.made.n do outputs[#outputs + 1] = stage.made[k] end
    end
    stage.made = nil
  end
  return outputs, tensors
end

--- The stages whose outputs the caller gets, in order.
function gen.outputs(case)
  local read_of, list = {}, {}
  for _, stage in ipairs(case.stages) do for _, from in ipairs(stage.from) do read_of[from] = true end end
  for _, stage in ipairs(case.stages) do if not read_of[stage.name] or stage.shown then list[#list + 1] = stage end end
  return list
end

return gen
