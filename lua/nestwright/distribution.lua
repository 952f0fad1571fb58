--- The shapes that a kernel is called with, and how often each: values of its sizes, of which one or several vary.
local core = require "nestwright.core"
local errors = require "nestwright.errors"
local sizes = require "nestwright.sizes"

local distribution = {}

local MOST = 64 -- shapes

local function check_count(what, n)
  if n < 1 or n > MOST then errors.fail("range", nil, "%s: sizes: %d shapes; 1 to %d can be asked for", what, n, MOST) end
end

local function weight_of(what, weights, n)
  local w = errors.expect(what .. ": weights", weights or {}, "table")[n]
  if w == nil then return 1 end
  if type(w) == "number" and w >= 0 and w < math.huge then return w end
  errors.fail("range", nil, "%s: weights[%d] is no number of at least 0", what, n)
end

local function value_of(what, value, name)
  if value ~= nil then return sizes.whole(what, value, name) end
  errors.fail("invalid", ("{sizes = {%s = {1, 7, 64}}}"):format(name), "%s: the size %s has no values", what, name)
end

-- ---- {{M = 1, N = 8}, {M = 7, N = 64}, weights = {1, 2}}

local function listed(what, names, given)
  local list = {}
  check_count(what, #given)
  for n, shape in ipairs(given) do
    local values = {}
    errors.expect(("%s: sizes[%d]"):format(what, n), shape, "table")
    for _, name in ipairs(names) do values[name] = value_of(what, shape[name], name) end
    list[n] = {values = values, weight = weight_of(what, given.weights, n)}
  end
  return list
end

-- ---- {M = {1, 7}, N = {8, 64}}: each with each

-- The weights of one size's values: by name where several vary, a list will do where one does.
local function weights_of(given, name, varied)
  local w = given.weights
  if type(w) == "table" and type(w[name]) == "table" then return w[name] end
  return varied == 1 and w or nil
end

local function with_value(entry, name, value, weight)
  local values = {[name] = value}
  for key, v in pairs(entry.values) do values[key] = v end
  return {values = values, weight = entry.weight * weight}
end

local function times(what, list, name, given, varied)
  local out, value = {}, given[name]
  local several = type(value) == "table"
  local weights = several and weights_of(given, name, varied)
  if several then check_count(what, #value * #list) end
  for _, entry in ipairs(list) do
    for n, v in ipairs(several and value or {value_of(what, value, name)}) do
      out[#out + 1] = with_value(entry, name, value_of(what, v, name), several and weight_of(what, weights, n) or 1)
    end
  end
  return out
end

local function combined(what, names, given)
  local list, varied = {{values = {}, weight = 1}}, 0
  for _, name in ipairs(names) do if type(given[name]) == "table" then varied = varied + 1 end end
  for _, name in ipairs(names) do list = times(what, list, name, given, varied) end
  return list
end

-- ---- both

local function varied_in(names, list)
  local out = {}
  for _, name in ipairs(names) do
    local varies = false
    for _, shape in ipairs(list) do varies = varies or shape.values[name] ~= list[1].values[name] end
    if varies then out[#out + 1] = name end
  end
  return out
end

--- A list of {values, weight} for the sizes of a schedule, and the names of those that vary. given: values by name, single ones or
--- lists, each with each; or a list of shapes.
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

--- The mean of figures, one for each shape, by weight.
function distribution.mean(list, figures)
  local sum, weights = 0, 0
  for n, shape in ipairs(list) do
    sum, weights = sum + shape.weight * figures[n], weights + shape.weight
  end
  return sum / weights
end

return distribution
