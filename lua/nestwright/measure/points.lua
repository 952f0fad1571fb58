--- Checks and compares the values of a sweep's parameters, and generates the points of the sweep, which are all combinations of
--- values. The points are generated one after the other, not as a list.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local json = require "nestwright.show.json"
local written = require "nestwright.show.written"

local points = {}

local DEEPEST = 16 -- the deepest nesting of lists
local ROW_BYTES, PARAMETER_BYTES = 240, 40 -- least memory in bytes: of a row with a few results, and of each parameter in the row

-- ---- one value

-- Returns the value with integers instead of whole floats, because 8 == 8.0 in Lua.
local function plain(value)
  if type(value) == "number" then return math.tointeger(value) or value end
  if type(value) ~= "table" then return value end
  local copy = {}
  for key, item in pairs(value) do copy[key] = plain(item) end
  return copy
end

--- Returns a key of a value; equal values have the same key. 8 and 8.0 are equal; 1 and "1" are not.
function points.key_of(value)
  if value == math.huge or value == -math.huge then return written.number(value) end
  return json.encode(plain(value))
end

--- Returns the text of a value in a CSV file. The text "1" and the number 1 have the same text.
function points.form_of(value) return type(value) == "string" and value or points.key_of(value) end

-- Returns the text of a value in older CSV files, whose numbers have 14 digits.
local function old_form_of(value)
  return type(value) == "number" and tostring(value) or points.form_of(value)
end

--- Returns the value of a CSV field. It is a number only if the field is the text that this or an earlier version of the library
--- writes for this number.
function points.value_of(field)
  if field == "true" then return true end
  if field == "false" then return false end
  local number = tonumber(field)
  if number and (points.form_of(number) == field or old_form_of(number) == field) then return number end
  return field
end

-- ---- one point

local function joined(point, names, text_of)
  local parts = {}
  for n, name in ipairs(names) do parts[n] = ("%q"):format(text_of(point[name])) end
  return table.concat(parts, ",")
end

--- Returns a key of a point; equal points have the same key.
function points.key(point, names) return joined(point, names, points.key_of) end

--- Returns the CSV key of a point: a key made from the texts of its values in a CSV file.
function points.form(point, names) return joined(point, names, points.form_of) end

--- Returns the CSV key of a point in older files, whose numbers have 14 digits.
function points.old_form(point, names) return joined(point, names, old_form_of) end

--- Returns the CSV key of a point whose fields were read from a file.
function points.form_of_fields(fields, names) return joined(fields, names, tostring) end

--- Returns the text of a point for errors.
function points.shown(point, names)
  local parts = {}
  for n, name in ipairs(names) do parts[n] = name .. "=" .. written.shortened(points.key_of(point[name]), 60) end
  return table.concat(parts, ", ")
end

-- ---- checks of parameters

local LOOK_UP = "give names, and look up their values in run: params = {how = {\"plain\", \"tiled\"}}"

local function check_number(what, value, in_file)
  if value ~= value then errors.fail("invalid", "remove it", "%s is NaN, which cannot be the value of a point", what) end
  if in_file and (value == math.huge or value == -math.huge) then
    errors.fail("invalid", "give a large number, or a text such as \"inf\"; or omit csv and json",
      "%s is infinite: JSON has no such number, so a file could not hold the point", what)
  end
end

local function check_value(what, value, in_file, depth)
  local kind = type(value)
  if kind == "number" then return check_number(what, value, in_file) end
  if kind == "string" or kind == "boolean" then return end
  if kind ~= "table" or getmetatable(value) then
    errors.fail("invalid", LOOK_UP, "%s is %s; expected a number, a text, a boolean or a list of these", what,
      core.type_name(value))
  end
  if depth == DEEPEST then errors.fail("invalid", nil, "%s is nested deeper than %d lists", what, DEEPEST) end
  for key, item in pairs(value) do
    local of_list = math.type(key) == "integer" and key >= 1 and key <= #value
    if not of_list and (type(key) ~= "string" or #value > 0) then
      errors.fail("invalid", "give a list without gaps, or a table whose keys are all texts",
        "%s is neither a list nor a table with string keys", what)
    end
    check_value(what, item, in_file, depth + 1)
  end
end

local function check_name(name)
  if type(name) ~= "string" then
    errors.fail("invalid", "params = {n = {1, 2}}", "sweep: params: the name of a parameter must be a text, got %s",
      core.type_name(name))
  end
  errors.label("sweep: params: name", name)
  if name == "" then errors.fail("invalid", "params = {n = {1, 2}}", "sweep: params: the name of a parameter is empty") end
  if name == "error" then
    errors.fail("invalid", "give the parameter another name",
      "sweep: params.error: the name is reserved for the column of errors")
  end
end

local function check_list(name, list, in_file)
  local what = "sweep: params." .. name
  errors.expect(what, list, "table")
  for key in pairs(list) do
    if math.type(key) ~= "integer" or key < 1 or key > #list then
      errors.fail("invalid", "give a list without gaps: {1, 2}", "%s is not a list: it has the key %s", what,
        type(key) == "string" and points.key_of(key) or tostring(key))
    end
  end
  for n = 1, #list do
    if list[n] == nil then errors.fail("invalid", "give a list without gaps: {1, 2}", "%s has no value %d", what, n) end
    check_value(("%s: value %d"):format(what, n), list[n], in_file, 0)
  end
end

--- Returns the values of a parameter by their CSV text. If `in_csv` is true, raises an error if different values have the same
--- text.
function points.by_form(name, list, in_csv)
  local values = {}
  for _, value in ipairs(list) do
    local form = points.form_of(value)
    local other = values[form]
    if other == nil then values[form] = value end
    if in_csv and other ~= nil and points.key_of(other) ~= points.key_of(value) then
      errors.fail("invalid", "omit one of them, or keep the points in json only",
        "sweep: params.%s: %s and %s are two points, but look the same in a CSV file", name, points.key_of(other),
        points.key_of(value))
    end
  end
  return values
end

-- ---- all points

-- Returns the number of points, or false if it does not fit in 64 bits.
local function count(lists)
  local n = 1
  for _, list in ipairs(lists) do if #list == 0 then return 0 end end
  for _, list in ipairs(lists) do
    if n > math.maxinteger // #list then return false end
    n = n * #list
  end
  return n
end

-- Raises an error if there is not enough memory for all rows, because all rows stay in memory.
local function check_room(names, lists, n)
  local parts = {}
  for k, name in ipairs(names) do parts[k] = ("%s (%s)"):format(name, written.plural(#lists[k], "value")) end
  local what = ("sweep: params %s"):format(table.concat(parts, ", "))
  local hint = "give fewer values, or run several sweeps with one file"
  if not n then errors.fail("limit", hint, "%s make more than %d points", what, math.maxinteger) end
  local bytes, left = n * (ROW_BYTES + PARAMETER_BYTES * #names + 0.0), core.memory_left()
  if bytes <= left then return end
  errors.fail("memory", hint, "%s make %d points: their rows take %s of memory, but only %s is available", what, n,
    written.bytes(bytes), written.bytes(left))
end

--- Returns the names of the parameters in alphabetical order, their lists in this order, and the number of points. in_file: true if
--- the points are kept in a file, which cannot hold infinite values.
function points.of(params, in_file)
  errors.expect("sweep: params", params, "table")
  local names, lists = {}, {}
  for name in pairs(params) do
    check_name(name)
    names[#names + 1] = name
  end
  if #names == 0 then errors.fail("invalid", "params = {n = {1, 2}}", "sweep: params is empty") end
  table.sort(names)
  for k, name in ipairs(names) do
    check_list(name, params[name], in_file)
    lists[k] = table.move(params[name], 1, #params[name], 1, {})
  end
  local n = count(lists)
  check_room(names, lists, n)
  return names, lists, n
end

--- Returns an iterator over all combinations. It returns the number of a combination and its point. The last parameter varies
--- fastest.
function points.each(names, lists, count_of_all)
  local at, number = {}, 0
  for k = 1, #names do at[k] = 1 end
  return function()
    if number == count_of_all then return nil end
    local point = {}
    for k, name in ipairs(names) do point[name] = lists[k][at[k]] end
    local k = #names
    while k > 0 and at[k] == #lists[k] do
      at[k] = 1
      k = k - 1
    end
    if k > 0 then at[k] = at[k] + 1 end
    number = number + 1
    return number, point
  end
end

return points
