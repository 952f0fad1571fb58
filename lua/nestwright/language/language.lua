--- Defines the language: placeholders, axes, computes, reductions, scans, updates and sizes. A function that also exists in TVM's
--- tensor expressions has the same name and meaning as in TVM.
local calls = require "nestwright.language.calls"
local comparisons = later "nestwright.language.comparisons"
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local reducers = require "nestwright.language.reducers"
local rows = require "nestwright.language.rows"
local slips = later "nestwright.slips.arguments"

local AXIS, EXPR, TENSOR = core.classes.axis, core.classes.expr, core.classes.tensor

local function class_of(value)
  if type(value) == "userdata" then return debug.getmetatable(value) end
end

-- Returns a shape as a table. The shape may be given as a table or as a single extent.
local function as_shape(shape, what)
  if type(shape) == "table" then return shape end
  if type(shape) == "number" or class_of(shape) == EXPR then return {shape} end
  errors.fail("invalid", nil, "%s: expected a shape like {M, N}, got %s", what, core.type_name(shape))
end

-- Returns the options in the last argument of a function. The argument is a name, or a table of a name and other options.
local function named(what, name, allowed)
  if name == nil or type(name) == "string" then return {name = name} end
  return errors.options(what, name, allowed)
end

-- Gives strides to the operation that made the tensors, and returns the tensors.
local function strided(strides, ...)
  if strides then core.set_strides((...), strides) end
  return ...
end

local USUAL = {"i", "j", "k", "l"}

-- Returns the names of n axes, which are the parameter names of a function after the first `skip` parameters.
local function axis_names(what, f, n, skip)
  skip = skip or 0
  local info = debug.getinfo(f, "u")
  if not info.isvararg and info.nparams ~= n + skip then
    local takes = ("%s: the function takes %d parameter%s"):format(what, info.nparams, info.nparams == 1 and "" or "s")
    if skip > 0 then errors.fail("invalid", nil, "%s; it needs %d: the stage, and one for each axis", takes, n + skip) end
    errors.fail("invalid", nil, "%s, but the shape has %d dimension%s", takes, n, n == 1 and "" or "s")
  end
  comparisons.check(what, f)
  local names = {}
  for d = 1, n do
    local name = d + skip <= info.nparams and debug.getlocal(f, d + skip)
    names[d] = name and name ~= "_" and name or USUAL[d] or "i" .. d
  end
  return names
end

-- Returns the names of n axes if the function takes fewer: the other axes are those of a tile, if it returns a call.
local function names_around(f, n)
  local names, given = {}, {}
  for d = 1, debug.getinfo(f, "u").nparams do
    local name = debug.getlocal(f, d)
    names[d] = name ~= "_" and name or USUAL[d] or "i" .. d
    given[names[d]] = true
  end
  for _, name in ipairs(USUAL) do
    if #names < n and not given[name] then names[#names + 1] = name end
  end
  for d = #names + 1, n do names[d] = "i" .. d end
  return names
end

-- Raises an error if one of the values that a user's function returns is not an expression. position: the number of this value.
-- count: the number of all values.
local function check_body(what, f, value, position, count)
  local class = class_of(value)
  if class == EXPR or class == AXIS or type(value) == "number" then return end
  local hint
  if class == TENSOR then hint = ("read an element of it: %s(i, ...)"):format(value.name) end
  if value == nil then
    local slip = slips.no_return(f)
    if slip then errors.fail("type", nil, "%s: %s", what, slip) end
    hint = "end the function with `return`"
  end
  if type(value) == "boolean" then hint = "Lua's == and ~= give true or false at once: write nw.eq(a, b) or nw.ne(a, b)" end
  local which = count > 1 and (" as value %d"):format(position) or ""
  errors.fail("type", hint, "%s: the function returned %s%s; it must return an expression", what,
    value == nil and "nothing" or core.type_name(value), which)
end

-- Returns a value that discards an unfinished compute when the value goes out of scope, also after an error.
local function drop_on_close(build)
  return setmetatable({}, {__close = function() core.compute_drop(build) end})
end

-- Makes a stage that calls of an intrinsic compute: the user's function takes only the axes around the calls.
local function compute_of_calls(what, shape, f, name, taken)
  local build, axes = core.compute_begin(name, names_around(f, #shape), shape)
  local _ <close> = drop_on_close(build)
  local is_call, call = calls.try(f, table.unpack(axes, 1, taken))
  if not is_call then axis_names(what, f, #shape) end -- raises an error: the function takes too few parameters
  return core.compute_end(build, calls.bodies(build, call, taken))
end

-- Calls the user's function with new axes, and makes one output of each value that it returns. `convert` may change these values.
local function compute(what, shape, f, name, convert)
  local info = debug.getinfo(f, "u")
  if not info.isvararg and info.nparams < #shape then return compute_of_calls(what, shape, f, name, info.nparams) end
  local build, axes = core.compute_begin(name, axis_names(what, f, #shape), shape)
  local _ <close> = drop_on_close(build)
  local bodies = table.pack(f(table.unpack(axes)))
  if calls.is(bodies[1]) then return core.compute_end(build, calls.bodies(build, bodies[1], #shape)) end
  for n = 1, math.max(bodies.n, 1) do check_body(what, f, bodies[n], n, bodies.n) end
  if convert then convert(bodies) end
  return core.compute_end(build, bodies)
end

-- Returns the arguments of a reduction as a list of axes, or nil if they are not axes.
local function trailing_axes(...)
  local first = ...
  if class_of(first) == AXIS then return {...} end
  if type(first) == "table" and class_of(first[1]) == AXIS then return first end
end

-- True if the first argument of nw.min or nw.max depends on one of the axes after it. Then these functions are reductions over the
-- axes; otherwise, they compare their arguments.
local function over_axes(term, ...)
  for _, axis in ipairs(trailing_axes(...) or {}) do
    if core.uses(term, axis) then return true end
  end
  return false
end

local function check_axis(what, n, value)
  if class_of(value) == AXIS then return end
  errors.fail("invalid", "make one with nw.reduce_axis(extent, name)", "%s: argument %d: expected a reduce axis, got %s", what, n,
    core.type_name(value))
end

local function reduction(kind, what, term, ...)
  local axes = trailing_axes(...)
  if not axes then check_axis(what, 2, (...)) end
  for n, axis in ipairs(axes) do check_axis(what, n + 1, axis) end
  return core.reduction(kind, term, axes)
end

local function as_list(value)
  if type(value) == "table" then return value end
  return {value}
end

-- ---- scans that are written with functions

-- Returns a number as a constant of the dtype of a state, and any other value unchanged.
local function of_dtype(what, value, dtype)
  if type(value) ~= "number" or not dtype then return value end
  local whole = math.tointeger(value)
  if not dtype:find "f" and not whole then
    errors.fail("type", "give the scan a dtype for fractions, such as \"f32\"", "%s: the function returned %s, but the state is %s",
      what, value, dtype)
  end
  return core.cast(dtype:find "f" and value or whole, dtype)
end

-- Makes the init of state k. dtype is nil if it is not known yet. Also returns whether the function returned a number.
local function init_of(o, k, name, dtype)
  local number
  local shape = {o.rows or 1, table.unpack(o.shape, 2)}
  local init = compute("scan: init", shape, o.init[k], name .. "_init", function(bodies)
    if bodies.n > 1 then
      errors.fail("invalid", "give a list of functions, one for each state: init = {f, g}",
        "scan: init: the function returned %d values; it must return one", bodies.n)
    end
    number = type(bodies[1]) == "number"
    bodies[1] = of_dtype("scan: init", bodies[1], dtype)
  end)
  return init, number
end

-- Makes the states with these dtypes, and their updates.
local function updates_of(o, names, dtypes)
  local states, count = {}, #o.init
  for k, dtype in ipairs(dtypes) do states[k] = core.scan_state(o.shape, dtype, names[k] .. "_state") end
  local build, axes = core.compute_begin((o.name or "S") .. "_update", axis_names("scan: step", o.step, #o.shape, count), o.shape)
  local _ <close> = drop_on_close(build)
  local values = table.move(axes, 1, #axes, count + 1, {table.unpack(states)})
  local bodies = table.pack(o.step(table.unpack(values)))
  if bodies.n > 0 and bodies.n ~= count then
    errors.fail("invalid", "return the next value of each state", "scan: step: the function returned %d value%s for %d state%s",
      bodies.n, bodies.n == 1 and "" or "s", count, count == 1 and "" or "s")
  end
  for k = 1, count do
    check_body("scan: step", o.step, bodies[k], k, count)
    bodies[k] = of_dtype("scan: step", bodies[k], dtypes[k])
  end
  return states, {core.compute_end(build, bodies)}
end

-- Returns the dtypes of the states that the user gave, by number.
local function given_dtypes(o)
  local dtypes, several = {}, type(o.dtype) == "table"
  if several and #o.dtype ~= #o.init then
    errors.fail("invalid", nil, "scan: dtype: expected one dtype for each of the %d states, got %d", #o.init, #o.dtype)
  end
  for k = 1, #o.init do
    dtypes[k] = several and o.dtype[k] or o.dtype
    if dtypes[k] ~= nil then errors.expect("scan: dtype", dtypes[k], "string") end
  end
  return dtypes
end

-- Returns the options of a scan that is written with functions, with `init` as a list.
local function checked_functions(given)
  local o = {shape = as_shape(given.shape, "scan"), init = as_list(given.init), step = given.step, rows = given.rows,
    dtype = given.dtype, name = given.name}
  if #o.init == 0 then errors.expect("scan: init", nil, "function") end
  for _, f in ipairs(o.init) do errors.expect("scan: init", f, "function") end
  errors.expect("scan: step", o.step, "function")
  return o
end

-- Makes the states and the computes of a scan. A state has the dtype that the user gave, or else that of its init. If the init is
-- a number, the step decides: it is called with a state of f32, and again if it returns another dtype.
local function functional_scan(given)
  local o = checked_functions(given)
  local name, init, names, open, again = o.name or "S", {}, {}, {}, false
  local dtypes = given_dtypes(o)
  for k = 1, #o.init do
    local number
    names[k] = #o.init == 1 and name or name .. k
    init[k], number = init_of(o, k, names[k], dtypes[k])
    open[k] = number and not dtypes[k]
    dtypes[k] = dtypes[k] or open[k] and "f32" or init[k].dtype
  end
  local state, update = updates_of(o, names, dtypes)
  for k = 1, #o.init do
    if open[k] and update[k].dtype ~= dtypes[k] then dtypes[k], again = update[k].dtype, true end
  end
  if again then state, update = updates_of(o, names, dtypes) end
  for k = 1, #o.init do
    if open[k] then init[k] = init_of(o, k, names[k], dtypes[k]) end
  end
  return core.scan(name, init, {table.unpack(update, 1, #init)}, state)
end

-- Returns the begins and the extents of axes. Each is given as an extent, or as {begin, end}.
local function ranges_of(what, axes)
  local begins, extents = {}, {}
  for d, range in ipairs(as_list(axes)) do
    local pair = type(range) == "table"
    if pair and #range ~= 2 then
      errors.fail("invalid", nil, "%s: axis %d: expected {begin, end}, got %d entries", what, d, #range)
    end
    begins[d], extents[d] = pair and range[1] or 0, pair and range[2] - range[1] or range
  end
  return begins, extents
end

-- Raises an error if the function of an update did not return the index of an element as a list.
local function check_index(what, index)
  if type(index) == "table" then return end
  errors.fail("type", "return the index as a list, and then the value: return {i}, S(i) + 1",
    "%s: the function returned %s as the index of the element", what, index == nil and "nothing" or core.type_name(index))
end

-- Raises an error if the condition of an update is not an expression.
local function check_condition(what, condition)
  if condition == nil or class_of(condition) == EXPR then return end
  errors.fail("type", "compare with nw.lt, nw.le, nw.gt, nw.ge, nw.eq and nw.ne",
    "%s: the function returned %s as the condition; it must return a comparison", what, core.type_name(condition))
end

-- Calls the user's function with the stage and new axes, and makes the tensor after the update.
local function updated(of, axes, f, name)
  local what = "update: body"
  local begins, extents = ranges_of("update", axes)
  name = name or (of.is_input and "U" or of.name)
  local build, at, stage = core.update_begin(name, of, axis_names(what, f, #extents, 1), begins, extents)
  local _ <close> = drop_on_close(build)
  local index, value, condition = f(stage, table.unpack(at))
  if index == nil and value == nil then return core.update_end(build) end -- the updates inside it are its definitions
  check_index(what, index)
  check_body(what, f, value, 2, 2)
  check_condition(what, condition)
  return core.update_end(build, index, value, condition)
end

local EXPRESSION = "nw.expr|nw.axis|number"
local SHAPE = "integer|nw.expr|(integer|nw.expr)[]"
local RANGES = "integer|nw.expr|(integer|nw.expr|(integer|nw.expr)[])[]"
local NAMED = "dtype?: string|{dtype?: string, name?: string}, name?: string"
local STRIDED = "{name?: string, strides?: (integer|nw.expr)[]}"
local NAME = "name?: string|" .. STRIDED
local AXES = "...: nw.axis|nw.axis[]"

-- ---- slips

-- Returns a metamethod that names the slip if expressions are compared by one of the marks. Otherwise it works like the original.
local function comparing(original, marks)
  return function(a, b)
    local compared, result = pcall(original, a, b)
    if compared then return result end
    local slip = slips.comparison(marks)
    if slip then errors.fail("type", nil, "%s", slip) end
    error(result, 0)
  end
end

-- Lets brackets after a tensor, and members that tensors and expressions have in TVM, raise an error that shows the right form.
local function name_slips()
  for _, class in ipairs {EXPR, AXIS} do
    class.__lt, class.__le = comparing(class.__lt, {"<", ">"}), comparing(class.__le, {"<=", ">="})
    class.__eq = comparing(class.__eq, {"==", "~="})
  end
  local function lookup(self, key)
    local slip
    if type(key) == "string" then slip = slips.member(key) elseif class_of(self) == TENSOR then slip = slips.index(self.name) end
    if slip then errors.fail("invalid", nil, "%s", slip) end
  end
  TENSOR.__lookup, EXPR.__lookup = lookup, lookup
  calls.install(TENSOR)
end

return function(nw)
  name_slips()
  local define = rows.definer(nw, "nw", "definitions")

  define("size", "(name: string, options?: integer|{min?: integer, multiple?: integer}): nw.expr",
    "A symbolic size. It is at least `min` (1 by default) and a multiple of `multiple`. Kernels check these facts when they are "
    .. "called.",
    function(name, options)
      local o = type(options) == "number" and {min = options} or errors.options("size", options, {"min", "multiple"})
      local size = core.size(errors.expect("size: name", name, "string"), o.min or 1)
      if o.multiple and errors.expect("size: multiple", o.multiple, "number") < 1 then
        errors.fail("range", nil, "size: multiple: expected at least 1, got %s", o.multiple)
      end
      if o.multiple then core.fact(size, core.eq(size % o.multiple, 0)) end
      return size
    end)
  nw.var = nw.size

  define("fact", "(size: nw.expr, condition: nw.expr|string): nw.expr",
    "States a fact about a size: nw.fact(M, nw.eq(M % 16, 0)) or, as text, nw.fact(M, \"M % 16 == 0\"). Kernels check the fact "
    .. "when they are called. A fact that contradicts the known facts is refused.",
    function(size, condition) return core.fact(size, condition) end)

  define("placeholder",
    ("(shape: %s, dtype?: string|{dtype?: string, name?: string, strides?: (integer|nw.expr)[]}, %s): nw.tensor"):format(SHAPE,
      NAME),
    "An input of the computation. The dtype is f32 by default. A(i, k) reads an element. The last arguments may be given as "
    .. "{dtype = ..., name = ..., strides = ...}. strides: the distances between neighbours along each dimension of the array that "
    .. "a call gives, in elements, as numbers or sizes; by default the array is row-major. nw.placeholder({M, N}, {name = \"A\", "
    .. "strides = {lda, 1}}) takes views.",
    function(shape, dtype, name)
      local o = type(dtype) == "table" and errors.options("placeholder", dtype, {"dtype", "name", "strides"})
      if not o then
        local last = named("placeholder", name, {"name", "strides"})
        o = {dtype = dtype, name = last.name, strides = last.strides}
      end
      return strided(o.strides, core.placeholder(as_shape(shape, "placeholder"), o.dtype or "f32", o.name or "A"))
    end)

  define("scan_state", ("(shape: %s, %s): nw.tensor"):format(SHAPE, NAMED),
    "The state of a scan. The update reads it at earlier times.",
    function(shape, dtype, name)
      local o = type(dtype) == "table" and errors.options("scan_state", dtype, {"dtype", "name"})
          or {dtype = dtype, name = name}
      return core.scan_state(as_shape(shape, "scan_state"), o.dtype or "f32", o.name or "state")
    end)

  define("reduce_axis",
    "(extent: integer|nw.expr|nw.axis|(integer|nw.expr|nw.axis)[], "
    .. "name?: string|{name?: string, within?: integer|nw.expr}): nw.axis",
    "An axis to reduce over. Its values are 0..extent, or begin..end if the extent is given as {begin, end}. The range may depend "
    .. "on other axes and on data, if the axis is made in the function of the compute: nw.reduce_axis(i + 1), or "
    .. "nw.reduce_axis({P(i), P(i + 1)}, {within = N}). Then only the values in 0..within count.",
    function(extent, name)
      local o = named("reduce_axis", name, {"name", "within"})
      local first, last = 0, extent
      if type(extent) == "table" then
        if #extent ~= 2 then errors.fail("invalid", nil, "reduce_axis: extent: expected {begin, end}, got %d entries", #extent) end
        first, last = extent[1], extent[2]
      end
      if o.within == nil and core.extent_is_fixed(first) and core.extent_is_fixed(last) then
        return core.reduce_axis(first, type(extent) == "table" and last - first or last, o.name or "k")
      end
      return core.reduce_axis_between(first, last, o.within, o.name or "k")
    end)

  define("compute", ("(shape: %s, body: fun(...: nw.expr): nw.expr ..., %s): nw.tensor ..."):format(SHAPE, NAME),
    "A tensor whose element at (i, j, ...) is body(i, j, ...); the axes are named after the parameters of the function. A body "
    .. "that returns several expressions makes several tensors. If the body is a plain number, the tensor is i32 for a whole "
    .. "number and f32 for any other number. strides: for an output, the strides of the array that a call gives; see "
    .. "nw.placeholder.",
    function(shape, body, name)
      local o = named("compute", name, {"name", "strides"})
      if type(body) ~= "function" then
        errors.fail("invalid", nil, "compute: expected a function of the axes, got %s", core.type_name(body))
      end
      return strided(o.strides, compute("compute: body", as_shape(shape, "compute"), body, o.name or "T"))
    end)

  define("sum", ("(term: %s, %s): nw.expr"):format(EXPRESSION, AXES),
    "Sum of the term over reduce axes. The sum must be the whole body of a compute.",
    function(term, ...) return reduction("sum", "sum", term, ...) end)
  define("prod", ("(term: %s, %s): nw.expr"):format(EXPRESSION, AXES), "Product of the term over reduce axes.",
    function(term, ...) return reduction("prod", "prod", term, ...) end)
  define("argmin", ("(term: %s, %s): nw.expr"):format(EXPRESSION, AXES),
    "Least value of the term and its position: the compute makes two tensors, value and index (i64). If the least value occurs "
    .. "several times, the lowest index is chosen.",
    function(term, ...) return reduction("argmin", "argmin", term, ...) end)
  define("argmax", ("(term: %s, %s): nw.expr"):format(EXPRESSION, AXES),
    "Greatest value of the term and its position: the compute makes two tensors, value and index (i64). If the greatest value "
    .. "occurs several times, the lowest index is chosen.",
    function(term, ...) return reduction("argmax", "argmax", term, ...) end)
  define("min", ("(a: %s, ...: %s|nw.axis[]): nw.expr"):format(EXPRESSION, EXPRESSION),
    "The least of the arguments. If the first argument depends on reduce axes that follow it, the result is the least value of "
    .. "this argument over these axes: nw.min(A(i, k), k).",
    function(a, ...)
      if over_axes(a, ...) then return reduction("min", "min", a, ...) end
      return core.minimum(a, ...)
    end)
  define("max", ("(a: %s, ...: %s|nw.axis[]): nw.expr"):format(EXPRESSION, EXPRESSION),
    "The greatest of the arguments. If the first argument depends on reduce axes that follow it, the result is the greatest value "
    .. "of this argument over these axes: nw.max(A(i, k), k).",
    function(a, ...)
      if over_axes(a, ...) then return reduction("max", "max", a, ...) end
      return core.maximum(a, ...)
    end)

  define("reducer",
    "(options: {combine: function, init: any, name?: string, names?: string[]}): function",
    "A reduction of your own. The result is a function: R(term, k), or R({term, term}, k) for several terms; a compute of it makes "
    .. "an output for each term. combine(a, b) returns the state of two states together; with several terms, a and b are lists. "
    .. "init has the first state: a number, a list of numbers, or a function of the dtypes of the terms. `names` are the names of "
    .. "the outputs. The order of a reduction is not fixed. So combine must be associative and commutative, and init must change "
    .. "nothing; this is proved or else tested on values, and shown as tested.",
    function(options)
      local o = errors.options("reducer", options, {"init", "combine", "name", "names"})
      errors.expect("reducer: combine", o.combine, "function")
      if o.init == nil then
        errors.fail("invalid", "give the state that changes nothing, such as 0 for a sum", "reducer: init is missing")
      end
      return reducers.make(o.name or "reducer", o.init, o.combine, o.names)
    end)
  define("comm_reducer", "(combine: function, init: any, name?: string): function",
    "TVM's name and arguments of nw.reducer.",
    function(combine, init, name) return reducers.make(name or "reducer", init, combine) end)

  define("scan",
    "(init: nw.tensor|nw.tensor[]|table, update?: nw.tensor|nw.tensor[], state?: nw.tensor|nw.tensor[], "
    .. NAME .. "): nw.tensor ...",
    "A recurrence over the first dimension, in order. There are two forms: nw.scan(init, update, state, name), where `state` is "
    .. "nw.scan_state(shape), which `update` reads at earlier times; and nw.scan{shape = {T, n}, init = function(t, x) ... end, "
    .. "step = function(S, t, x) return S(t - 1, x) ... end}. Other computes that read the state are stages inside the scan, which "
    .. "each step of time computes. In the second form, `rows` is the number of first rows, `dtype` the dtype of the state (by "
    .. "default that of init), and init = {f, g} makes several states.",
    function(init, update, state, name)
      local options = update == nil and type(init) == "table"
      if not options then
        local o = named("scan", name, {"name", "strides"})
        return strided(o.strides, core.scan(o.name or "S", as_list(init), as_list(update), as_list(state)))
      end
      local o = errors.options("scan", init, {"shape", "init", "step", "update", "state", "rows", "dtype", "name", "strides"})
      if o.step then return strided(o.strides, functional_scan(o)) end
      return strided(o.strides, core.scan(o.name or "S", as_list(o.init), as_list(o.update), as_list(o.state)))
    end)

  define("update",
    ("(of: nw.tensor, axes: %s, body: fun(stage: nw.tensor, ...: nw.expr): any ..., %s): nw.tensor?"):format(
      RANGES, NAME),
    "The tensor after an update of its elements: body(S, i, ...) returns the index of an element as a list, its new value, and "
    .. "perhaps a condition under which it is stored. S is the stage while it is updated. Each axis is an extent or {begin, end}; "
    .. "the points are visited in order, the last axis fastest. Updates of updates are one stage with a list of definitions. If "
    .. "body updates S itself instead of returning a value, these updates share its axes: they run in turn at each point. "
    .. "nw.update(H, {n}, function(H, i) return {X(i)}, H(X(i)) + 1 end) counts.",
    function(of, axes, body, name)
      local o = named("update", name, {"name", "strides"})
      return strided(o.strides, updated(of, axes, body, o.name))
    end)

  local convert = rows.definer(nw, "nw", "expressions")
  for _, dtype in ipairs(core.dtypes()) do
    convert(dtype, ("(x: %s): nw.expr"):format(EXPRESSION), ("x as %s; short for nw.cast(x, %q)."):format(dtype, dtype),
      function(x) return core.cast(x, dtype) end)
  end
end
