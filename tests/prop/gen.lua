--- Random computations. A case is plain data, so that it can be printed, shrunk and built again:
---   {dtype=, grid = will loops be bound to one?, sizes = {{name=, min=, multiple=}}, inputs = {{name=, dims={..}}},
---    stages = {{kind=, name=, from={..}, dims={..}, shown=, ...}}}   shown: an output although somebody reads it
--- Dimensions are small and awkward: 1, primes, and one more or less than a tile; in a third of the cases some are symbolic.
local gen = {}

local nw = require "nestwright"

local EXTENTS = {1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 16, 17}
local DTYPES = {"f32", "f32", "f32", "f32", "i32", "i32", "f64", "i64", "i8", "u8", "i16", "u16", "u32", "f16", "bf16"}

-- A dimension is a number, or a size with something added.
local symbolic = {}
symbolic.__index = symbolic
symbolic.__add = function(a, by) return setmetatable({size = a.size, add = a.add + by}, symbolic) end
symbolic.__sub = function(a, by) return a + -by end
symbolic.__eq = function(a, b) return a.size == b.size and a.add == b.add end
symbolic.__tostring = function(a) return a.add == 0 and a.size.name or ("%s%+d"):format(a.size.name, a.add) end

-- The smallest and the largest extent it is tried with.
local function least(dim) return type(dim) == "number" and dim or dim.size.min + dim.add end
local function most(dim) return type(dim) == "number" and dim or dim.size.max + dim.add end

local function dims(r, rank, sizes)
  local out = {}
  for d = 1, rank do
    if #sizes > 0 and r:chance(0.6) then
      out[d] = setmetatable({size = r:pick(sizes), add = 0}, symbolic)
    else
      out[d] = r:pick(EXTENTS)
    end
  end
  return out
end

local function draw_sizes(r)
  local sizes = {}
  if not r:chance(0.3) then return sizes end
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

-- What stands for a dimension in the language.
local built_sizes = {}
local function extent(dim)
  if type(dim) == "number" then return dim end
  return built_sizes[dim.size.name] + dim.add
end
local function extents(shape)
  local out = {}
  for d, dim in ipairs(shape) do out[d] = extent(dim) end
  return out
end

-- Each kind of stage: `plan` draws a description from the tensors so far (or nil), `build` makes it.
local kinds = {}

kinds.map = {
  plan = function(r, have, dtype)
    local a = r:pick(have)
    local same = {}
    for _, t in ipairs(have) do
      if #t.dims == #a.dims then
        local equal = true
        for d, one in ipairs(a.dims) do equal = equal and t.dims[d] == one end
        if equal then same[#same + 1] = t.name end
      end
    end
    local ops = {"add", "sub", "mul", "max", "min", "select", "affine"}
    if dtype == "f32" or dtype == "f64" then ops[#ops + 1] = r:pick {"exp", "tanh", "sigmoid", "floor", "abs"} end
    local b, op = r:pick(same), r:pick(ops)
    if op == "sub" and a.name == b then op = "add" end -- nothing would be read, and no size known
    return {from = {a.name, b}, dims = a.dims, op = op, reverse = r:chance(0.15)}
  end,
  build = function(stage, t)
    local a, b = t[stage.from[1]], t[stage.from[2]]
    local n = #stage.dims
    return nw.compute(extents(stage.dims), gen.axes(n, function(...)
      local at = {...}
      if stage.reverse and n > 0 then at[n] = extent(stage.dims[n]) - 1 - at[n] end
      local x, y = a(table.unpack(at)), b(...)
      local op = stage.op
      if op == "add" then return x + y end
      if op == "sub" then return x - y end
      if op == "mul" then return x * y end
      if op == "max" then return nw.max(x, y) end
      if op == "min" then return nw.min(x, y) end
      if op == "select" then return nw.select(nw.lt(x, y), x, y + 1) end
      if op == "affine" then return x * 2 + 3 end
      if op == "exp" then return nw.exp(x * 0.125) end
      return nw[op](x)
    end), stage.name)
  end,
}

kinds.transpose = {
  plan = function(r, have)
    local a = r:pick(have)
    if #a.dims < 2 then return nil end
    local order = {}
    for d = 1, #a.dims do order[d] = d end
    r:shuffle(order)
    local out = {}
    for d, from in ipairs(order) do out[d] = a.dims[from] end
    return {from = {a.name}, dims = out, order = order}
  end,
  build = function(stage, t)
    local a = t[stage.from[1]]
    return nw.compute(extents(stage.dims), gen.axes(#stage.dims, function(...)
      local at, index = {...}, {}
      for d, from in ipairs(stage.order) do index[from] = at[d] end
      return a(table.unpack(index))
    end), stage.name)
  end,
}

kinds.matmul = {
  plan = function(r, have)
    local a = r:pick(have)
    if #a.dims ~= 2 then return nil end
    local with = {}
    for _, b in ipairs(have) do
      if #b.dims == 2 and b.dims[1] == a.dims[2] then with[#with + 1] = b end
    end
    if #with == 0 then return nil end
    local b = r:pick(with)
    return {from = {a.name, b.name}, dims = {a.dims[1], b.dims[2]}, over = a.dims[2]}
  end,
  build = function(stage, t)
    local a, b = t[stage.from[1]], t[stage.from[2]]
    local k = nw.reduce_axis(extent(stage.over), "k")
    return nw.compute(extents(stage.dims), function(i, j) return nw.sum(a(i, k) * b(k, j), k) end, stage.name)
  end,
}

-- A reduction over the last dimension of something; nil where it has none.
local function over_last(r, have)
  local a = r:pick(have)
  if #a.dims < 1 then return nil end
  return {from = {a.name}, dims = {table.unpack(a.dims, 1, #a.dims - 1)}, over = a.dims[#a.dims]}
end

-- A reduction of the last dimension by one of `ops`.
local function last_reduced(ops)
  return {
    plan = function(r, have)
      local plan = over_last(r, have)
      if plan then plan.op = r:pick(ops) end
      return plan
    end,
    build = function(stage, t)
      local a = t[stage.from[1]]
      local k = nw.reduce_axis(extent(stage.over), "k")
      return nw.compute(extents(stage.dims), gen.axes(#stage.dims, function(...)
        local at = {...}
        at[#at + 1] = k
        local x = a(table.unpack(at))
        if stage.op == "prod" then x = nw.cast(nw.select(nw.gt(x, 0), 1, -1), a.dtype) end -- stays exact
        return nw[stage.op](x, k)
      end), stage.name)
    end,
  }
end

-- A sum over a part of the last dimension: between two constants, or up to the diagonal.
kinds.band = {
  plan = function(r, have)
    local plan = over_last(r, have)
    if plan then plan.lo, plan.hi, plan.diagonal = r:int(0, 3), r:int(1, 20), r:chance(0.5) end
    return plan
  end,
  build = function(stage, t)
    local a = t[stage.from[1]]
    local k = nw.reduce_axis(extent(stage.over), "k")
    return nw.compute(extents(stage.dims), gen.axes(#stage.dims, function(...)
      local at = {...}
      local last = stage.diagonal and at[#at] or stage.hi
      at[#at + 1] = k
      return nw.sum(nw.select(nw.all(nw.ge(k, stage.lo), nw.le(k, last)), a(table.unpack(at)), 0), k)
    end), stage.name)
  end,
}

kinds.fold = last_reduced {"sum", "sum", "max", "min", "prod"}
kinds.arg = last_reduced {"argmax", "argmin"}

kinds.stencil = {
  plan = function(r, have)
    local a = r:pick(have)
    local axis = #a.dims > 0 and r:int(1, #a.dims)
    if not axis or least(a.dims[axis]) < 3 then return nil end
    local out = {table.unpack(a.dims)}
    out[axis] = out[axis] - 2
    return {from = {a.name}, dims = out, axis = axis}
  end,
  build = function(stage, t)
    local a = t[stage.from[1]]
    return nw.compute(extents(stage.dims), gen.axes(#stage.dims, function(...)
      local function at(shift, ...)
        local index = {...}
        index[stage.axis] = index[stage.axis] + shift
        return a(table.unpack(index))
      end
      return at(0, ...) + at(1, ...) * 2 + at(2, ...)
    end), stage.name)
  end,
}

kinds.window = { -- a reduction over two axes: what lies under a window that moves
  plan = function(r, have)
    local a = r:pick(have)
    if #a.dims ~= 2 or least(a.dims[1]) < 2 or least(a.dims[2]) < 3 then return nil end
    return {from = {a.name}, dims = {a.dims[1] - 1, a.dims[2] - 2}, op = r:pick {"sum", "max", "min"}}
  end,
  build = function(stage, t)
    local a = t[stage.from[1]]
    local p, q = nw.reduce_axis(2, "p"), nw.reduce_axis(3, "q")
    return nw.compute(extents(stage.dims), function(i, j) return nw[stage.op](a(i + p, j + q), p, q) end, stage.name)
  end,
}

kinds.pad = {
  plan = function(r, have)
    local a = r:pick(have)
    if #a.dims < 1 then return nil end
    local out = {table.unpack(a.dims)}
    local by = r:int(1, 2)
    out[#out] = out[#out] + 2 * by
    return {from = {a.name}, dims = out, by = by}
  end,
  build = function(stage, t)
    local a = t[stage.from[1]]
    local n, inner = #stage.dims, extent(stage.dims[#stage.dims] - 2 * stage.by)
    return nw.compute(extents(stage.dims), gen.axes(n, function(...)
      local index = {...}
      local x = index[n]
      index[n] = x - stage.by
      return nw.select(nw.all(nw.ge(x, stage.by), nw.lt(x, inner + stage.by)), a(table.unpack(index)), 0)
    end), stage.name)
  end,
}

-- What a step of a recurrence over rows of x reads, by name; `last` is the last x. None grows fast: sums stay exact.
local RECURRENCES = {
  column = function(S, a, time, x) return S(time - 1, x) + a(time, x) end,
  heat = function(S, a, time, x, last)
    return nw.max(S(time - 1, nw.max(x - 1, 0)), S(time - 1, nw.min(x + 1, last))) - a(time, x)
  end,
  two_back = function(S, a, time, x) return S(time - 2, x) + a(time, x) end,
  diagonal = function(S, a, time, x) return S(time - 1, nw.max(x - 1, 0)) + a(time, x) end,
  against = function(S, a, time, x, last) return S(time - 1, nw.min(x + 1, last)) + a(time, x) end,
  sweep = function(S, a, time, x) -- in place: what was written just before, on the left
    return nw.max(nw.select(nw.gt(x, 0), S(time, nw.max(x - 1, 0)), a(time, x)), S(time - 1, x)) + a(time, x)
  end,
}

kinds.scan = { -- a running sum over the first dimension, or a recurrence over rows
  plan = function(r, have)
    local a = r:pick(have)
    if #a.dims < 1 or #a.dims > 2 or least(a.dims[1]) < 2 then return nil end
    local step = r:pick {"column", "column", "heat", "heat", "two_back", "diagonal", "against", "sweep"}
    if step == "two_back" and least(a.dims[1]) < 3 then step = "column" end
    return {from = {a.name}, dims = a.dims, op = #a.dims == 2 and step or nil, rows = step == "two_back" and 2 or 1}
  end,
  build = function(stage, t)
    local a = t[stage.from[1]]
    local n = #stage.dims
    local shape = extents(stage.dims)
    local first = {table.unpack(shape)}
    first[1] = stage.op and stage.rows or 1
    local state = nw.scan_state(shape, a.dtype, stage.name .. "_state")
    local init = nw.compute(first, gen.axes(n, function(...) return a(...) end), stage.name .. "_first")
    local update = nw.compute(shape, gen.axes(n, function(time, x)
      if n == 1 then return state(time - 1) + a(time) end
      return RECURRENCES[stage.op](state, a, time, x, extent(stage.dims[2]) - 1)
    end), stage.name .. "_next")
    return nw.scan(init, update, state, stage.name)
  end,
}

kinds.gather = {
  plan = function(r, have, dtype)
    if dtype ~= "i32" and dtype ~= "i64" then return nil end
    local a, index = r:pick(have), r:pick(have)
    if #a.dims ~= 1 or #index.dims ~= 1 or most(a.dims[1]) < 2 or least(a.dims[1]) < 1 then
      return nil -- of one element no index is read, and none is inside of nothing
    end
    return {from = {a.name, index.name}, dims = index.dims, last = a.dims[1] - 1}
  end,
  build = function(stage, t)
    local a, index = t[stage.from[1]], t[stage.from[2]]
    return nw.compute(extents(stage.dims), function(i) return a(nw.max(nw.min(index(i), extent(stage.last)), 0)) end, stage.name)
  end,
}

kinds.pair = { -- one operation with two outputs
  plan = function(r, have)
    local a = r:pick(have)
    return {from = {a.name}, dims = a.dims}
  end,
  build = function(stage, t)
    local a = t[stage.from[1]]
    return nw.compute(extents(stage.dims), gen.axes(#stage.dims, function(...) return a(...) + 1, a(...) * 2 end), stage.name)
  end,
}

local ORDER = {"map", "map", "map", "matmul", "matmul", "fold", "fold", "arg", "stencil", "stencil", "window", "pad", "scan",
  "scan", "transpose", "gather", "pair"}

--- A function of exactly n parameters that calls f: axis names come from parameter names.
function gen.axes(n, f)
  if n == 0 then return function() return f() end end
  if n == 1 then return function(i) return f(i) end end
  if n == 2 then return function(i, j) return f(i, j) end end
  if n == 3 then return function(i, j, k) return f(i, j, k) end end
  return function(i, j, k, l) return f(i, j, k, l) end
end

-- The kind of a stage that reads the one before alone, where that is wanted.
local FOLLOWS = {epilogue = "map", window = "stencil"}

local function draw_stage(r, have, dtype, before, want)
  local kind = r:pick(ORDER)
  local follows = before and FOLLOWS[want]
  if want == "band" and r:chance(0.7) then kind = "band" end
  if follows and r:chance(0.7) then kind, have = follows, {before} end
  local stage = kinds[kind].plan(r, have, dtype)
  if not stage or volume(stage.dims) > 4096 then return nil end
  stage.kind = kind
  return stage
end

local function draw_case(r, want)
  local dtype = r:pick(DTYPES)
  local case = {dtype = dtype, grid = r:chance(0.2), sizes = draw_sizes(r), inputs = {}, stages = {}}
  local have = {}
  local base = dims(r, r:int(1, r:chance(0.2) and 3 or 2), case.sizes)
  for n = 1, r:int(1, 3) do
    local shape = base
    if n > 1 and r:chance(0.5) then
      shape = #base == 2 and {base[2], r:pick(EXTENTS)} or dims(r, r:int(1, 2), case.sizes)
    end
    local input = {name = ("ABD"):sub(n, n), dims = shape}
    case.inputs[n] = input
    have[#have + 1] = input
  end
  local before
  for n = 1, r:int(1, 3) do
    for _ = 1, 8 do
      local stage = draw_stage(r, have, dtype, before, want)
      if stage then
        stage.name = ("XYZ"):sub(n, n)
        stage.shown = r:chance(0.15)
        case.stages[#case.stages + 1] = stage
        if stage.kind ~= "arg" then -- its index output has another dtype
          before = {name = stage.name, dims = stage.dims}
          have[#have + 1] = before
        end
        break
      end
    end
  end
  if #case.stages == 0 then -- everything drawn was too large
    local stage = kinds.map.plan(r, have, dtype)
    stage.kind, stage.name = "map", "X"
    case.stages[1] = stage
  end
  return case
end

local WANTS = {}

-- A stage that another reads, and the caller does not.
function WANTS.pair(case)
  local made = {}
  for _, stage in ipairs(case.stages) do
    for _, from in ipairs(stage.from) do
      if made[from] then return true end
    end
    made[stage.name] = not stage.shown
  end
end

-- Something done to each element of a stage, and to nothing else.
function WANTS.epilogue(case)
  local made = {}
  for _, stage in ipairs(case.stages) do
    if stage.kind == "map" and stage.from[1] == stage.from[2] and made[stage.from[1]] then return true end
    made[stage.name] = not stage.shown
  end
end

-- A stage under a stencil.
function WANTS.window(case)
  local made = {}
  for _, stage in ipairs(case.stages) do
    if stage.kind == "stencil" and made[stage.from[1]] then return true end
    made[stage.name] = not stage.shown and stage.kind ~= "scan"
  end
end

-- Two stages with one extent outermost; `apart`: the second reads nothing of the first.
function WANTS.alike(case, apart)
  for n = 2, #case.stages do
    local a, b = case.stages[n - 1], case.stages[n]
    local reads = b.from[1] == a.name or b.from[2] == a.name
    local one, other = a.dims[1], b.dims[1]
    if one and other and type(one) == type(other) and one == other and not (apart and reads) then return true end
  end
end

function WANTS.apart(case) return WANTS.alike(case, true) end

function WANTS.sizes(case) return #case.sizes > 0 end

function WANTS.band(case)
  for _, stage in ipairs(case.stages) do if stage.kind == "band" then return true end end
end

function WANTS.reduction(case)
  for _, stage in ipairs(case.stages) do
    if stage.over or stage.kind == "window" then return true end
  end
end

--- Draws a case that has what is wanted (steps.wants), if one of many does.
function gen.case(r, want)
  local case
  for _ = 1, want and 24 or 1 do
    case = draw_case(r, want)
    if not want or WANTS[want](case) then break end
  end
  return case
end

--- The values of the sizes to try, each as {M=, N=}: the least first. One empty table when there are none.
function gen.sizes(case)
  if #case.sizes == 0 then return {{}} end
  local list = {{}, {}, {}}
  for _, size in ipairs(case.sizes) do
    local room = (size.max - size.min) // size.multiple
    for n, part in ipairs {0, 1, room} do list[n][size.name] = size.min + part * size.multiple end
  end
  return list
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
  return list
end

--- The shape of an input when the sizes have these values.
function gen.shape_with(t, values)
  local shape = {}
  for d, size in ipairs(t:shape()) do shape[d] = values[size] or size end
  return shape
end

-- May the schedule be run with these sizes?
local function allowed(s, values)
  local data = {}
  for n, t in ipairs(s:inputs()) do data[n] = nw.zeros(gen.shape_with(t, values), t.dtype) end
  local fine, err = pcall(nw.interpret, s, data)
  return fine or not err.message:find "does not hold"
end

local BEYOND = 24

--- The sizes to try a schedule with: where it assumes something of them, all that it allows, and where it allows none of
--- those that the case was drawn for, the first one beyond, if there is one.
function gen.sizes_for(case, s)
  if not s:text():find "\nassume " then return gen.sizes(case) end
  local list = {}
  for _, values in ipairs(all_sizes(case, 0)) do if allowed(s, values) then list[#list + 1] = values end end
  if #list > 0 then return list end
  for _, values in ipairs(all_sizes(case, BEYOND)) do if allowed(s, values) then return {values} end end
  return {}
end

--- Builds a case: the list of output tensors (every stage nobody reads, and those shown), the inputs, all tensors by name.
function gen.build(case)
  local t, read, outputs, inputs = {}, {}, {}, {}
  for _, size in ipairs(case.sizes) do
    built_sizes[size.name] = nw.size(size.name, {min = size.min, multiple = size.multiple})
  end
  for n, input in ipairs(case.inputs) do
    t[input.name] = nw.placeholder(extents(input.dims), case.dtype, input.name)
    inputs[n] = t[input.name]
  end
  local extra = {}
  for _, stage in ipairs(case.stages) do
    local first, second = kinds[stage.kind].build(stage, t)
    t[stage.name] = first
    extra[stage.name] = second
    for _, from in ipairs(stage.from) do read[from] = true end
  end
  for _, stage in ipairs(case.stages) do
    if not read[stage.name] or stage.shown then
      outputs[#outputs + 1] = t[stage.name]
      if extra[stage.name] then outputs[#outputs + 1] = extra[stage.name] end
    end
  end
  return outputs, inputs, t
end

--- True when every operation of the case is exact on small integers, so that results must be equal to the bit.
function gen.exact(case)
  if case.dtype == "f16" or case.dtype == "bf16" then return false end
  for _, stage in ipairs(case.stages) do
    if stage.op == "exp" or stage.op == "tanh" or stage.op == "sigmoid" then return false end
  end
  return true
end

return gen
