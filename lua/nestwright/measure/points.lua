--- The points of a sweep: which values a parameter may have, when two of them are the same, and all combinations, one after the
--- other. They are never listed.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local json = require "nestwright.show.json"
local written = require "nestwright.show.written"

local points = {}

local DEEPEST = 16 -- lists in lists
local ROW_BYTES, PARAMETER_BYTES = 240, 40 -- of memory, at least: a row with a few results, and what each parameter adds

-- ---- one value

-- The value with integers for whole floats, as 8 == 8.0 in Lua.
local function plain(value)
  if type(value) == "number" then return math.tointeger(value) or value end
  if type(value) ~= "table" then return value end
  local copy = {}
  for key, item in pairs(value) do copy[key] = plain(item) end
  return copy
end

--- A text that two values share if they are the same: 8 and 8.0 are, 1 and "1" are not.
function points.key_of(value)
  if value == math.huge or value == -math.huge then return written.number(value) end
  return json.encode(plain(value))
end

--- A value as a CSV file has it, which does not tell the text "1" from the number.
function points.form_of(value) return type(value) == "string" and value or points.key_of(value) end

-- The same as it was written when numbers had 14 digits.
local function old_form_of(value)
  return type(value) == "number" and tostring(value) or points.form_of(value)
end

--- The value of a field of a CSV file: a number only where numbers are written so, now or earlier.
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

--- A text that is the same for two points if they are the same.
function points.key(point, names) return joined(point, names, points.key_of) end

--- A text that is the same for two points if their fields in a CSV file are.
function points.form(point, names) return joined(point, names, points.form_of) end

--- The same of files whose numbers have 14 digits.
function points.old_form(point, names) return joined(point, names, old_form_of) end

--- The same of the fields themselves.
function points.form_of_fields(fields, names) return joined(fields, names, tostring) end

--- A point as an error names it.
function points.shown(point, names)
  local parts = {}
  for n, name in ipairs(names) do parts[n] = name .. "=" .. written.shortened(points.key_of(point[name]), 60) end
  return table.concat(parts, ", ")
end

-- ---- what may be a parameter

local LOOK_UP = "give names, and look up in run what they stand for: params = {how = {\"plain\", \"tiled\"}}"

local function check_number(what, value, in_file)
  if value ~= value then errors.fail("invalid", "leave it out", "%s is not a number (NaN), and no point has such a value", what) end
  if in_file and (value == math.huge or value == -math.huge) then
    errors.fail("invalid", "give a large number, or a text such as \"inf\"; or leave csv and json out",
      "%s is infinite, which JSON has no number for: the point would not be found again in a file", what)
  end
end

local function check_value(what, value, in_file, depth)
  local kind = type(value)
  if kind == "number" then return check_number(what, value, in_file) end
  if kind == "string" or kind == "boolean" then return end
  if kind ~= "table" or getmetatable(value) then
    errors.fail("invalid", LOOK_UP, "%s is %s: a value is a number, a text, a boolean, or a list of these", what,
      core.type_name(value))
  end
  if depth == DEEPEST then errors.fail("invalid", nil, "%s is nested deeper than %d lists", what, DEEPEST) end
  for key, item in pairs(value) do
    local of_list = math.type(key) == "integer" and key >= 1 and key <= #value
    if not of_list and (type(key) ~= "string" or #value > 0) then
      errors.fail("invalid", "give a list without gaps, or a table whose keys are all texts",
        "%s is neither a list nor a table by name", what)
    end
    check_value(what, item, in_file, depth + 1)
  end
end

local function check_name(name)
  if type(name) ~= "string" then
    errors.fail("invalid", "params = {n = {1, 2}}", "sweep: params: the name of a parameter is a text, got %s",
      core.type_name(name))
  end
  errors.label("sweep: params: name", name)
  if name == "" then errors.fail("invalid", "params = {n = {1, 2}}", "sweep: params: the name of a parameter is empty") end
  if name == "error" then
    errors.fail("invalid", "give the parameter another name",
      "sweep: params.error: the column 'error' says why a point was refused")
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

--- The values of a parameter by what is written for them in CSV, where two of them may not look alike.
function points.by_form(name, list, in_csv)
  local values = {}
  for _, value in ipairs(list) do
    local form = points.form_of(value)
    local other = values[form]
    if other == nil then values[form] = value end
    if in_csv and other ~= nil and points.key_of(other) ~= points.key_of(value) then
      errors.fail("invalid", "leave one of them out, or keep the points in json alone",
        "sweep: params.%s: %s and %s are two points, and the same in a CSV file", name, points.key_of(other), points.key_of(value))
    end
  end
  return values
end

-- ---- all of them

-- How many: false where 64 bits do not hold the number.
local function count(lists)
  local n = 1
  for _, list in ipairs(lists) do if #list == 0 then return 0 end end
  for _, list in ipairs(lists) do
    if n > math.maxinteger // #list then return false end
    n = n * #list
  end
  return n
end

-- Each row is kept in memory, so there may be no more of them than it has room for.
local function check_room(names, lists, n)
  local parts = {}
  for k, name in ipairs(names) do parts[k] = ("%s (%s)"):format(name, written.plural(#lists[k], "value")) end
  local what = ("sweep: params %s"):format(table.concat(parts, ", "))
  local hint = "give fewer values, or run several sweeps, one after the other, with one file"
  if not n then errors.fail("limit", hint, "%s make more than %d points", what, math.maxinteger) end
  local bytes, left = n * (ROW_BYTES + PARAMETER_BYTES * #names + 0.0), core.memory_left()
  if bytes <= left then return end
  errors.fail("memory", hint, "%s make %d points: a row of each takes %s of memory, and there is %s", what, n,
    written.bytes(bytes), written.bytes(left))
end

--- The names of the parameters in the order of the alphabet, their lists in that order, and how many points there are. in_file:
--- the points are to be found again in a file.
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

--- Every combination with its number, the last parameter fastest.
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
