--- Reads the shapes with which a kernel will be called. A shape consists of a value for each size of the kernel, and a weight. A
--- size varies if its value is not the same in all shapes.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local sizes = require "nestwright.language.sizes"

local distribution = {}

local MOST = 64 -- the largest number of shapes

--- Raises an error for names that are not sizes.
function distribution.check_names(what, names, given)
  local known = {weights = true}
  for _, name in ipairs(names) do known[name] = true end
  for name in pairs(given) do
    if type(name) == "string" and not known[name] then
      errors.fail("invalid", "known sizes: " .. table.concat(names, ", "), "%s: sizes: there is no size %s", what, name)
    end
  end
end

local function check_count(what, n)
  if n < 1 or n > MOST then errors.fail("range", nil, "%s: sizes: got %d shapes, expected 1 to %d", what, n, MOST) end
end

-- Returns the weights, which are 1 by default.
local function weights_for(what, weights, n)
  local out = {}
  for i = 1, n do out[i] = 1 end
  if weights == nil then return out end
  for i, w in ipairs(errors.expect(what .. ": weights", weights, "table")) do
    if type(w) ~= "number" or not (w >= 0 and w < math.huge) then
      errors.fail("range", nil, "%s: weights[%d] is not a number of at least 0", what, i)
    end
    out[i] = w
  end
  if #weights == n then return out end
  errors.fail("range", nil, "%s: weights: got %d for %d values", what, #weights, n)
end

local function value_of(what, value, name)
  local v = value ~= nil and sizes.whole(what, value, name)
  if v and v < 0 then errors.fail("range", nil, "%s: sizes: %s = %d is less than 0", what, name, v) end
  if v then return v end
  errors.fail("invalid", ("{sizes = {%s = {1, 7, 64}}}"):format(name), "%s: the size %s has no values", what, name)
end

-- ---- lists of shapes, such as {{M = 1, N = 8}, {M = 7, N = 64}, weights = {1, 2}}

local function listed(what, names, given)
  local list, weights = {}, weights_for(what, given.weights, #given)
  check_count(what, #given)
  for n, shape in ipairs(given) do
    local values = {}
    distribution.check_names(what, names, errors.expect(("%s: sizes[%d]"):format(what, n), shape, "table"))
    for _, name in ipairs(names) do values[name] = value_of(what, shape[name], name) end
    list[n] = {values = values, weight = weights[n]}
  end
  return list
end

-- ---- combinations of values, such as {M = {1, 7}, N = {8, 64}}

-- Returns the weights of the values of one size. The weights are given by the name of the size. If only one size varies, they may
-- be a list.
local function weights_of(what, given, name, varied)
  local w = given.weights
  if w == nil then return nil end
  errors.expect(what .. ": weights", w, "table")
  if #w == 0 then return w[name] end
  if #varied == 1 then return varied[1] == name and w or nil end
  errors.fail("invalid", "weights = {M = {1, 2}, N = {3, 1}}",
    "%s: weights: a list of weights needs exactly one size that varies, but there are %d",
    what, #varied)
end

local function with_value(entry, name, value, weight)
  local values = {[name] = value}
  for key, v in pairs(entry.values) do values[key] = v end
  return {values = values, weight = entry.weight * weight}
end

local function times(what, list, name, given, varied)
  local out, value = {}, given[name]
  local values = type(value) == "table" and value or {value_of(what, value, name)}
  check_count(what, #values * #list)
  local weights = weights_for(what, weights_of(what, given, name, varied), #values)
  for _, entry in ipairs(list) do
    for n, v in ipairs(values) do out[#out + 1] = with_value(entry, name, value_of(what, v, name), weights[n]) end
  end
  return out
end

-- Returns the names of the sizes with several values. If no size has several values, returns the names of the sizes that are given
-- as lists.
local function several_of(names, given)
  for least = 2, 1, -1 do
    local out = {}
    for _, name in ipairs(names) do
      if type(given[name]) == "table" and #given[name] >= least then out[#out + 1] = name end
    end
    if #out > 0 then return out end
  end
  return {}
end

local function combined(what, names, given)
  local list, varied = {{values = {}, weight = 1}}, several_of(names, given)
  distribution.check_names(what, names, given)
  if type(given.weights) == "table" and #given.weights == 0 then distribution.check_names(what, names, given.weights) end
  for _, name in ipairs(names) do list = times(what, list, name, given, varied) end
  return list
end

-- ---- both forms

local function varied_in(names, list)
  local out = {}
  for _, name in ipairs(names) do
    local varies = false
    for _, shape in ipairs(list) do varies = varies or shape.values[name] ~= list[1].values[name] end
    if varies then out[#out + 1] = name end
  end
  return out
end

--- Returns a list of {values, weight} for the sizes of a schedule, and the names of the sizes that vary. `given` is a list of
--- shapes, or a table with a value or a list of values for each name. In the second case, the shapes are all combinations of the
--- values.
function distribution.of(what, s, given)
  local names = core.program_sizes(s)
  given = errors.expect(what .. ": sizes", given or {}, "table")
  if #names == 0 then return {{values = {}, weight = 1}}, {} end
  local list = #given > 0 and listed(what, names, given) or combined(what, names, given)
  check_count(what, #list)
  local sum = 0
  for _, shape in ipairs(list) do sum = sum + shape.weight end
  if sum <= 0 then errors.fail("range", nil, "%s: weights: none is above 0", what) end
  return list, varied_in(names, list)
end

--- Returns the weighted mean of `figures`, which has one number per shape.
function distribution.mean(list, figures)
  local sum, weights = 0, 0
  for n, shape in ipairs(list) do
    sum, weights = sum + shape.weight * figures[n], weights + shape.weight
  end
  return sum / weights
end

return distribution
