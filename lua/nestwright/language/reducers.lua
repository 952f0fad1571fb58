--- Makes reducers, which are reductions that a user defines by an init and a function that combines two states.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"

local AXIS, EXPR = core.classes.axis, core.classes.expr

local reducers = {}

local function class_of(value)
  if type(value) == "userdata" then return debug.getmetatable(value) end
end

local function is_value(value) return type(value) == "number" or type(value) == "boolean" or class_of(value) == EXPR end

-- Returns the values of a list, or the value itself in a list.
local function as_list(what, value, n)
  local list = type(value) == "table" and value or {value}
  if #list ~= n then
    errors.fail("invalid", nil, "%s: expected %d value%s, one for each term, got %d", what, n, n == 1 and "" or "s", #list)
  end
  for i = 1, n do
    if not is_value(list[i]) then
      errors.fail("type", nil, "%s: value %d: expected an expression or a number, got %s", what, i, core.type_name(list[i]))
    end
  end
  return list
end

-- Splits the arguments of an application into terms and axes. A reducer of several components gets a list of terms.
local function split(what, terms, ...)
  local first = ...
  local axes = type(first) == "table" and first or {...}
  if type(terms) ~= "table" then terms = {terms} end
  for n, axis in ipairs(axes) do
    if class_of(axis) ~= AXIS then
      errors.fail("invalid", ("%s({term, term}, k): the terms are a list, and the reduce axes follow"):format(what),
        "%s: argument %d: expected a reduce axis, got %s", what, n + 1, core.type_name(axis))
    end
  end
  return terms, axes
end

local function default_names(n)
  local names = {}
  for i = 1, n do names[i] = "v" .. i - 1 end
  return names
end

-- Calls the user's init, which may be a function of the dtypes of the terms.
local function init_of(what, init, dtypes)
  if type(init) ~= "function" then return as_list(what, init, #dtypes) end
  local values = table.pack(init(table.unpack(dtypes)))
  return as_list(what, values.n == 1 and values[1] or values, #dtypes)
end

-- Calls the user's function. With one term, a state is one expression, otherwise a list.
local function combined(what, combine, a, b)
  local single = #a == 1
  local values = table.pack(combine(single and a[1] or a, single and b[1] or b))
  return as_list(what, values.n == 1 and values[1] or values, #a)
end

--- Returns the function that applies a reducer to terms and axes.
---@param name string
---@param names? string[]   the names of the outputs
function reducers.make(name, init, combine, names)
  return function(...)
    local given, axes = split(name, ...)
    local terms, a, b, dtypes = core.reducer_states(given)
    if #terms == 0 then errors.fail("invalid", nil, "reducer %s: it needs at least one term", name) end
    return core.own_reduction(name, names or default_names(#terms), init_of(name .. ": init", init, dtypes),
      combined(name .. ": combine", combine, a, b), terms, axes)
  end
end

return reducers
