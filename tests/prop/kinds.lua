--- Draws stages of several kinds. kinds.map(r, have, case) draws a stage, as plain data, that reads tensors from the list `have`.
--- It returns nil if these tensors are not suitable. The other functions work in the same way.
local bodies = require "bodies"
local sizes = require "sizes"
local tree = require "tree"
local types = require "types"

local make = tree.make
local number, axis, over, extent, axes = make.number, make.axis, make.over, make.extent, make.axes
local add, sub, mul, min, max = make.add, make.sub, make.mul, make.min, make.max
local lt, le, ge, gt, ne, all = make.lt, make.le, make.ge, make.gt, make.ne, make.all
local select, cast, read = make.select, make.cast, make.read

local kinds = {}

local function plus(x, by) return by == 0 and x or add(x, number(by)) end

local function alike(have, a)
  local list = {}
  for _, t in ipairs(have) do
    local equal = #t.dims == #a.dims
    for d, one in ipairs(a.dims) do equal = equal and sizes.same(t.dims[d], one) end
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

function kinds.map(r, have, case)
  local a = r:pick(have)
  local b = r:pick(alike(have, a))
  local n = #a.dims
  local stage = {from = {a, b}, dims = a.dims}
  local at = axes(n)
  if n > 0 and r:chance(0.15) then
    at[n] = sub(sub(extent(a.dims[n]), number(1)), axis(n))
    stage.reverse = true
  end
  if n > 0 and not stage.reverse and r:chance(case.divides and 0.9 or 0.12) then
    local last, by = a.dims[n], r:pick {2, 3, 8}
    if type(last) == "number" and last <= by then by = 2 end -- a quotient that is always 0 is not computed
    at[n] = {op = "//", axis(n), number(by)}
    stage.divided = true
    stage.quotients = type(last) ~= "number" or last > by
  end
  if r:chance(0.45) and a.dtype == b.dtype and a.dtype ~= "bool" then
    stage.op = a == b and r:pick {"mul", "affine"} or r:pick(SIMPLE)
    if case.near and types.is_float(a.dtype) then stage.op = r:pick {"exp", "tanh"} end
    local x, y = read(a, at), read(b, axes(n))
    stage.bodies = {stage.op == "exp" and {op = "exp", mul(x, number(0.125))} or stage.op == "tanh" and {op = "tanh", x}
      or simple(r, stage.op, x, y)}
    if stage.reverse then stage.op = "reversed" end
    if stage.divided then stage.op = "divided" end
    return stage
  end
  local ctx = bodies.context(r, case, have, {function() return read(a, at) end, function() return read(b, axes(n)) end}, n)
  stage.op = "tree"
  stage.bodies = {bodies.settled(r, ctx, add(bodies.draw(r, ctx, r:int(1, 3)), read(a, at)))}
  if r:chance(0.4) and #alike(have, a) > 1 then stage.bodies = {bodies.settled(r, ctx, bodies.draw(r, ctx, r:int(2, 3)))} end
  return stage
end

-- Draws a stage with two or three outputs.
function kinds.pair(r, have, case)
  local a = r:pick(have)
  local b = r:pick(alike(have, a))
  local n = #a.dims
  local ctx = bodies.context(r, case, have, {function() return read(a, axes(n)) end, function() return read(b, axes(n)) end}, n)
  local list = {}
  for k = 1, r:pick {2, 2, 3} do
    list[k] = r:chance(0.4) and simple(r, "affine", read(a, axes(n))) or bodies.settled(r, ctx, bodies.draw(r, ctx, r:int(1, 2)))
  end
  return {from = {a, b}, dims = a.dims, bodies = list}
end

local function quotient(x, by) return {op = "//", x, number(by)} end
local function remainder(x, by) return {op = "%", x, number(by)} end

-- Draws a copy in another shape: the elements keep their order, but the rows have another length.
function kinds.reshape(r, have)
  local a = r:pick(have)
  local volume = 1
  for _, dim in ipairs(a.dims) do
    if type(dim) ~= "number" then return nil end
    volume = volume * dim
  end
  if #a.dims == 0 or #a.dims > 2 or volume < 1 or volume > 256 then return nil end
  local lengths = {}
  for n = 1, volume do if volume % n == 0 then lengths[#lengths + 1] = n end end
  local length = r:pick(lengths)
  local dims, at = {volume}, axis(1)
  if #a.dims == 1 or r:chance(0.6) then
    dims = {volume // length, length}
    at = add(mul(axis(1), number(length)), axis(2))
  end
  local index = #a.dims == 1 and {at} or {quotient(at, a.dims[2]), remainder(at, a.dims[2])}
  local same = dims[2] == a.dims[2] -- the shape does not change, so the indices are not divided
  return {from = {a}, dims = dims, bodies = {read(a, index)},
    quotients = #a.dims == 2 and a.dims[1] > 1 and a.dims[2] > 1 and not same or nil}
end

function kinds.transpose(r, have)
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
end

function kinds.matmul(r, have, case)
  local a = r:pick(have)
  if #a.dims ~= 2 then return nil end
  local with = {}
  for _, b in ipairs(have) do
    if #b.dims == 2 and sizes.same(b.dims[1], a.dims[2]) then with[#with + 1] = b end
  end
  if #with == 0 then return nil end
  local b = r:pick(with)
  local body = mul(read(a, {axis(1), over(1)}), read(b, {over(1), axis(2)}))
  if r:chance(0.25) then body = cast(r:chance(0.6) and case.dtype or r:pick(types.names), body) end
  return {from = {a, b}, dims = {a.dims[1], b.dims[2]}, over = {a.dims[2]}, combiner = "sum", bodies = {body}}
end

-- Returns a reduction over the last one or two dimensions of a tensor. Returns nil if no tensor has enough dimensions.
local function over_last(r, have, least_rank)
  local a = r:pick(have)
  if #a.dims < (least_rank or 1) then return nil end
  local count = #a.dims > 1 and r:chance(0.15) and 2 or 1
  local kept = #a.dims - count
  local at = axes(kept)
  for k = 1, count do at[#at + 1] = over(k) end
  return {from = {a}, dims = {table.unpack(a.dims, 1, kept)}, over = {table.unpack(a.dims, kept + 1)}}, a, at
end

-- Returns a factor that is 1 or -1, so that products are exact.
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
  local ctx = bodies.context(r, case, have, {function() return read(a, at) end}, #stage.dims, #stage.over)
  local body = bodies.settled(r, ctx, bodies.draw(r, ctx, r:int(1, 2)))
  local t = tree.dtype(body, ctx.dtype_of)
  if t == "bool" then body, t = cast("i32", body), "i32" end
  if combiner == "prod" and types.is_float(t) then return x end
  local uses = false -- if the term reads no element, nw.min(x, k) is not a reduction, but the minimum of two values
  tree.visit(body, function(e) uses = uses or e.op == "read" end)
  return uses and body or x
end

function kinds.fold(r, have, case)
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
end

-- Draws a stage with several reductions.
function kinds.folds(r, have, case)
  local stage, a, at = over_last(r, have)
  if not stage then return nil end
  stage.combiner = r:pick {"sum", "sum", "max", "min"}
  stage.bodies = {}
  for n = 1, r:pick {2, 2, 3} do stage.bodies[n] = term(r, case, have, stage, a, at, stage.combiner) end
  return stage
end

function kinds.arg(r, have, case)
  local stage, a, at = over_last(r, have)
  if not stage then return nil end
  stage.combiner = r:pick {"argmax", "argmin"}
  stage.bodies = {term(r, case, have, stage, a, at)}
  return stage
end

-- Draws a reduction by a reducer that the language does not have.
function kinds.own(r, have, case)
  local stage, a, at = over_last(r, have)
  if not stage then return nil end
  stage.combiner = r:pick {"tied", "span"}
  stage.bodies = {term(r, case, have, stage, a, at)}
  return stage
end

-- Gives the last axis of a reduction a range that depends on an axis of the output, or on the elements of a tensor of integers.
function kinds.range(r, have, stage)
  local d = #stage.dims > 0 and r:int(1, #stage.dims)
  local with = {}
  for _, t in ipairs(have) do
    if d and types.is_int(t.dtype) and #t.dims == 1 and sizes.same(t.dims[1], stage.dims[d]) then with[#with + 1] = t end
  end
  local function bound(least, most)
    if not d or r:chance(0.2) then return number(r:int(least, most)) end
    if #with == 0 or r:chance(0.5) then return plus(axis(d), r:int(least, most)) end
    local t = r:pick(with)
    stage.from[#stage.from + 1] = t
    return read(t, {axis(d)})
  end
  stage.range = {bound(-2, 2), bound(0, 9)}
end

-- Draws a sum over a part of the last dimension. The part lies between two constants, or it ends at the diagonal.
function kinds.band(r, have, case)
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
end

function kinds.stencil(r, have)
  local a = r:pick(have)
  local d = #a.dims > 0 and r:int(1, #a.dims)
  if not d or sizes.least(a.dims[d]) < 3 then return nil end
  local out = {table.unpack(a.dims)}
  out[d] = out[d] - 2
  local function at(shift)
    local index = axes(#a.dims)
    index[d] = plus(index[d], shift)
    return read(a, index)
  end
  return {from = {a}, dims = out, axis = d, bodies = {add(add(at(0), mul(at(1), number(2))), at(2))}}
end

-- Draws a reduction over a sliding window. The window moves by one or more elements, and stays inside the tensor or crosses its
-- edge.
function kinds.window(r, have)
  local a = r:pick(have)
  if #a.dims ~= 2 or sizes.least(a.dims[1]) < 2 or sizes.least(a.dims[2]) < 3 then return nil end
  local combiner = r:pick {"sum", "max", "min"}
  local stage = {from = {a}, over = {2, 3}, combiner = combiner}
  local function element(at) return a.dtype == "bool" and cast("i32", read(a, at)) or read(a, at) end
  local stride = r:pick {1, 1, 2, 3}
  if r:chance(0.4) then -- the edges of the window may be outside of the tensor
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
end

-- Draws a tensor with a border along its last dimension, or along its last two dimensions. The value of the border is a constant.
function kinds.pad(r, have)
  local a = r:pick(have)
  if #a.dims < 1 then return nil end
  local n, inside = #a.dims, nil
  local out, at = {table.unpack(a.dims)}, axes(n)
  for d = n, math.max(n - r:pick {0, 0, 1}, 1), -1 do
    local before, after = r:int(1, 2), r:int(0, 2)
    out[d] = out[d] + (before + after)
    at[d] = sub(axis(d), number(before))
    local within = all(ge(axis(d), number(before)), lt(axis(d), add(extent(a.dims[d]), number(before))))
    inside = inside and all(within, inside) or within
  end
  local border = a.dtype == "bool" and ne(axis(n), axis(n)) or number(r:pick {0, 0, 1})
  return {from = {a}, dims = out, bodies = {select(inside, read(a, at), border)}}
end

-- The step functions of recurrences, by name. A step computes one element of a row. S(-1, x) is the element at position x of the
-- previous row, a() is the element of the input, and `last` is the last position. The values grow slowly, so that sums are exact.
local RECURRENCES = {
  column = function(S, a) return add(S(-1, axis(2)), a()) end,
  heat = function(S, a, last)
    return sub(max(S(-1, max(sub(axis(2), number(1)), number(0))), S(-1, min(add(axis(2), number(1)), last))), a())
  end,
  two_back = function(S, a) return add(S(-2, axis(2)), a()) end,
  diagonal = function(S, a) return add(S(-1, max(sub(axis(2), number(1)), number(0))), a()) end,
  against = function(S, a, last) return add(S(-1, min(add(axis(2), number(1)), last)), a()) end,
  sweep = function(S, a) -- in place: reads the left neighbour, which was just written
    local left = select(gt(axis(2), number(0)), S(0, max(sub(axis(2), number(1)), number(0))), a())
    return add(max(left, S(-1, axis(2))), a())
  end,
}

-- Draws a scan with one or two states. With one dimension, it is a running sum. With two, it is a recurrence over rows.
function kinds.scan(r, have)
  local a = r:pick(have)
  local n = #a.dims
  if n < 1 or n > 2 or sizes.least(a.dims[1]) < 2 or a.dtype == "bool" then return nil end
  local step = r:pick {"column", "column", "heat", "heat", "two_back", "diagonal", "against", "sweep"}
  if step == "two_back" and sizes.least(a.dims[1]) < 3 then step = "column" end
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
  local next, inner = {update(1)}, nil
  if step and step ~= "sweep" and r:chance(0.3) then -- a stage inside the scan: the update reads two elements of its row
    local t = {name = "@inner"}
    inner = next[1]
    next[1] = max(read(t, axes(2)), read(t, {axis(1), max(sub(axis(2), number(1)), number(0))}))
  end
  if r:chance(0.3) and step ~= "two_back" then -- the second state reads the first, at this or the previous time step
    next[2] = sub(update(2), state(1)(r:pick {0, -1}, n == 2 and axis(2) or nil))
    if r:chance(0.5) then next[1] = max(next[1], state(2)(-1, n == 2 and axis(2) or nil)) end
  end
  local first, dtypes = {}, {}
  for k = 1, #next do first[k], dtypes[k] = element(), a.dtype end
  return {from = {a}, dims = a.dims, op = step, bodies = next, dtypes = dtypes,
    scan = {first = first, rows = step == "two_back" and 2 or 1, inner = inner}}
end

-- ---- updates: definitions that change elements of a stage in order

local function cell(...) return {op = "read", of = "@1", at = {...}} end
local function before(n) return sub(axis(n), number(1)) end

-- Returns a definition: `at` is the index of the written element, and `value` its new value. `ranges` lists the ranges lo..dim-less
-- of the axes. `when` is the condition of the definition, or nil.
local function definition(ranges, at, value, when) return {ranges = ranges, at = at, value = value, when = when} end
local function range(dim, lo, less) return {dim = dim, lo = lo or 0, less = less or 0} end

local LINES = {
  prefix = function(a) return definition({range(a.dims[1], 1)}, {axis(1)}, add(cell(axis(1)), cell(before(1)))) end,
  shift = function(a)
    return definition({range(a.dims[1], 0, 1)}, {axis(1)}, max(cell(add(axis(1), number(1))), read(a, axes(1))))
  end,
  total = function(a) return definition({range(a.dims[1], 1)}, {number(0)}, add(cell(number(0)), read(a, axes(1)))) end,
  mirror = function(a)
    local other = sub(sub(extent(a.dims[1]), number(1)), axis(1))
    return definition({range(a.dims[1])}, {other}, min(cell(axis(1)), cell(other)))
  end,
}

local TABLES = {
  sweep = function(a)
    local left, above = cell(axis(1), before(2)), cell(before(1), axis(2))
    return definition({range(a.dims[1], 1), range(a.dims[2], 1)}, axes(2), max(add(left, read(a, axes(2))), above))
  end,
  triangle = function(a)
    return definition({range(a.dims[1]), range(a.dims[2])}, axes(2), sub(cell(table.unpack(axes(2))), read(a, axes(2))),
      lt(axis(2), axis(1)))
  end,
  rows = function(a)
    return definition({range(a.dims[1], 1), range(a.dims[2])}, {number(0), axis(2)},
      add(cell(number(0), axis(2)), read(a, axes(2))))
  end,
  columns = function(a) -- the ordered axis is the inner one
    return definition({range(a.dims[1]), range(a.dims[2], 1)}, {axis(1), number(0)},
      max(cell(axis(1), number(0)), cell(axis(1), axis(2))))
  end,
}

local SQUARES = {
  paths = function(a)
    local n = range(a.dims[1])
    return definition({n, n, n}, {axis(2), axis(3)},
      min(cell(axis(2), axis(3)), max(cell(axis(2), axis(1)), cell(axis(1), axis(3)))))
  end,
  eliminate = function(a)
    local n = range(a.dims[1])
    return definition({n, n, n}, {axis(2), axis(3)},
      sub(cell(axis(2), axis(3)), max(cell(axis(2), axis(1)), cell(axis(1), axis(3)))),
      all(gt(axis(2), axis(1)), gt(axis(3), axis(1))))
  end,
}

-- Updates with definitions inside them: a part of a column or a row, and then elements that use this part.
local NESTED = {
  columns = function(a)
    local n = range(a.dims[1])
    return {ranges = {n}, inside = {
      definition({n}, {axis(2), axis(1)}, max(cell(axis(2), axis(1)), cell(axis(1), axis(1))), gt(axis(2), axis(1))),
      definition({n, n}, {axis(2), axis(3)}, sub(cell(axis(2), axis(3)), min(cell(axis(2), axis(1)), cell(axis(1), axis(3)))),
        all(gt(axis(2), axis(1)), gt(axis(3), axis(1)))),
    }}
  end,
  diagonal = function(a) -- the triangle below the diagonal, from a column that starts with the element on the diagonal
    local n = range(a.dims[1])
    return {ranges = {n}, inside = {
      definition({}, {axis(1), axis(1)}, max(cell(axis(1), axis(1)), number(0))),
      definition({n}, {axis(2), axis(1)}, min(cell(axis(2), axis(1)), cell(axis(1), axis(1))), gt(axis(2), axis(1))),
      definition({n, n}, {axis(2), axis(3)}, max(cell(axis(2), axis(3)), add(cell(axis(2), axis(1)), cell(axis(3), axis(1)))),
        all(all(gt(axis(2), axis(1)), gt(axis(3), axis(1))), le(axis(3), axis(2)))),
    }}
  end,
  pivots = function(a) -- the elements of row and column k that other definitions read are written by the first one
    local n = range(a.dims[1])
    return {ranges = {n}, inside = {
      definition({n}, {axis(1), axis(2)}, add(cell(axis(1), axis(2)), read(a, {axis(2), axis(1)}))),
      definition({n}, {axis(2), number(0)}, min(cell(axis(2), number(0)), cell(axis(1), axis(2)))),
    }}
  end,
}

-- Draws a definition that writes at indices that are data.
local function scatter(r, have, a)
  local with = {}
  for _, t in ipairs(have) do
    if types.is_int(t.dtype) and #t.dims == 1 then with[#with + 1] = t end
  end
  if #with == 0 then return nil end
  local index = r:pick(with)
  local at = max(min(read(index, {axis(1)}), sub(extent(a.dims[1]), number(1))), number(0))
  local value = r:pick {add(cell(at), number(1)), max(cell(at), axis(1)), axis(1)}
  return definition({range(index.dims[1])}, {at}, value), index
end

local function any_of(r, list, a)
  local names = {}
  for name in pairs(list) do names[#names + 1] = name end
  table.sort(names)
  local name = r:pick(names)
  return list[name](a), name
end

-- Draws a stage with one or two updates.
function kinds.update(r, have)
  local a = r:pick(have)
  local n = #a.dims
  if n < 1 or n > 2 or a.dtype == "bool" then return nil end
  for _, dim in ipairs(a.dims) do if sizes.least(dim) < 2 then return nil end end
  local square = n == 2 and sizes.same(a.dims[1], a.dims[2]) and sizes.most(a.dims[1]) <= 24
  local stage = {from = {a}, dims = a.dims, bodies = {read(a, axes(n))}, dtypes = {a.dtype}, updates = {}}
  for k = 1, r:chance(0.35) and 2 or 1 do
    local index
    if n == 1 and r:chance(0.4) then stage.updates[k], index = scatter(r, have, a) end
    if index then stage.from[#stage.from + 1] = index end
    if not stage.updates[k] then
      stage.updates[k], stage.op = any_of(r, n == 1 and LINES or square and r:chance(0.7) and r:pick {SQUARES, NESTED} or TABLES, a)
    end
  end
  return stage
end

function kinds.gather(r, have)
  local a, with = r:pick(have), {}
  for _, t in ipairs(have) do
    if types.is_int(t.dtype) and #t.dims == 1 then with[#with + 1] = t end
  end
  if #a.dims ~= 1 or sizes.most(a.dims[1]) < 2 or sizes.least(a.dims[1]) < 1 or #with == 0 then
    return nil -- the index into one element is a constant, and every index into an empty tensor is outside
  end
  local index = r:pick(with)
  local at = max(min(read(index, {axis(1)}), sub(extent(a.dims[1]), number(1))), number(0))
  return {from = {a, index}, dims = index.dims, bodies = {read(a, {at})}}
end

return kinds
