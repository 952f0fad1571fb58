--- Reads and writes rows of results as CSV and JSON.
local json = require "nestwright.show.json"
local points = later "nestwright.measure.points"
local written = require "nestwright.show.written"

local result_text = {}

local raw = setmetatable({}, {__mode = "k"})

--- raw[row] has the fields of a row from CSV, as they are written in the file.
result_text.raw = raw

-- Returns the keys of a table as texts, in alphabetical order.
local function sorted_keys(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = tostring(key) end
  table.sort(keys)
  return keys
end

-- ---- CSV

local NOT_FINITE = {inf = math.huge, ["-inf"] = -math.huge, nan = 0 / 0}

--- Returns the value that a CSV field looks like: a number, a boolean or a text. Returns nil for an empty field.
function result_text.typed(text)
  if text == "" then return nil end
  if text == "true" then return true end
  if text == "false" then return false end
  return NOT_FINITE[text] or tonumber(text) or text
end

--- Returns the text of a result as a field. A whole float keeps its decimal point, so that it is read as a float.
function result_text.text_of(value)
  if math.type(value) ~= "float" then return tostring(value) end
  local text = written.number(value)
  return text:find "^-?%d+$" and text .. ".0" or text
end

-- Returns a quoted field and the position after it, or nothing if the quote is not closed.
local function quoted_field(text, at)
  local from = at + 1
  while true do
    local quote = text:find('"', from, true)
    if not quote then return nil end
    if text:sub(quote + 1, quote + 1) ~= '"' then
      return text:sub(at + 1, quote - 1):gsub('""', '"'), quote + 1
    end
    from = quote + 2
  end
end

-- Returns the fields of all records, without blank lines, and true if the last line is complete. If a record is invalid, returns
-- nil and the number of the record.
local function parse_csv(text)
  local records, record = {}, {}
  local at = text:find "^\239\187\191" and 4 or 1
  while at <= #text do
    local field, stop
    if text:sub(at, at) == '"' then
      field, stop = quoted_field(text, at)
    else
      field, stop = text:match("^([^,\r\n]*)()", at)
    end
    if not field then return nil, #records + 1 end
    record[#record + 1] = field
    local separator = text:match("^(,)", stop) or text:match("^(\r?\n)", stop)
    if not separator and stop <= #text then return nil, #records + 1 end
    if separator ~= "," then
      if #record > 1 or field ~= "" or text:sub(at, at) == '"' then records[#records + 1] = record end
      record = {}
    end
    if not separator then return records, false end
    at = stop + #separator
  end
  if #record > 0 then -- the file ends with a comma
    record[#record + 1] = ""
    records[#records + 1] = record
    return records, false
  end
  return records, true
end

local function check_head(head, names)
  local place, last = {}, 0
  for c, name in ipairs(head) do
    if place[name] then return ("it has two columns '%s'"):format(name) end
    place[name] = c
  end
  for _, name in ipairs(names) do
    if not place[name] then return ("it has no column '%s'"):format(name) end
    last = math.max(last, place[name])
  end
  return nil, last
end

local function row_of(head, record)
  local row, fields = {}, {}
  for c, name in ipairs(head) do
    fields[name] = record[c]
    row[name] = result_text.typed(record[c] or "")
  end
  raw[row] = fields
  return row
end

-- Returns the rows of a text, the last row if it is incomplete (otherwise nil), and the columns. If the text is invalid, returns
-- nil and the reason. An incomplete last line is omitted if the values of its parameters may be incomplete.
local function read_csv(text, names)
  local records, whole = parse_csv(text)
  if not records then return nil, ("record %d is not CSV"):format(whole) end
  local head = table.remove(records, 1)
  if not head then return {} end
  local wrong, parameters = check_head(head, names)
  if wrong then return nil, wrong end
  if not whole and #records > 0 and #records[#records] <= parameters then
    records[#records], whole = nil, true
  end
  local rows = {}
  for n, record in ipairs(records) do
    local last = n == #records and not whole
    if #record > #head or #record < #head and not last then
      return nil, ("record %d has %d fields, but the header has %d"):format(n + 1, #record, #head)
    end
    rows[n] = row_of(head, record)
  end
  return rows, not whole and rows[#rows] or nil, head
end

--- Returns the columns of rows: the parameters, the columns of a file, and any other columns of the rows.
function result_text.columns_of(rows, names, head)
  local columns, seen = {}, {}
  local function add(list)
    for _, name in ipairs(list) do
      if not seen[name] then columns[#columns + 1], seen[name] = name, true end
    end
  end
  add(names)
  add(head or {})
  for _, row in ipairs(rows) do add(sorted_keys(row)) end
  return columns
end

-- Returns the text of a field. Fields that were read from a file are written unchanged.
local function field_of(row, name, is_parameter)
  local value = row[name]
  if value == nil then return "" end
  local as_read, text = raw[row] and raw[row][name], is_parameter and points.form_of(value) or result_text.text_of(value)
  return written.csv(as_read and result_text.typed(as_read) == value and as_read or text)
end

-- Returns a line of fields. A single empty field is quoted, because the line would look blank.
local function line_of(cells)
  local line = table.concat(cells, ",")
  return line == "" and '""' or line
end

-- Returns rows as CSV. If the first name itself begins with a byte order mark, a second mark is written before the name,
-- because a reader removes the first mark of a file.
local function to_csv(rows, names, columns_there)
  local columns, lines, head = result_text.columns_of(rows, names, columns_there), {}, {}
  for n, name in ipairs(columns) do head[n] = written.csv(name) end
  lines[1] = (head[1]:find "^\239\187\191" and "\239\187\191" or "") .. line_of(head)
  for _, row in ipairs(rows) do
    local cells = {}
    for n, name in ipairs(columns) do cells[n] = field_of(row, name, n <= #names) end
    lines[#lines + 1] = line_of(cells)
  end
  return table.concat(lines, "\n") .. "\n"
end

-- ---- JSON

local function check_row(row, names)
  if type(row) ~= "table" then return "an entry is not an object" end
  for _, name in ipairs(names) do
    if row[name] == nil then return ("an entry has no '%s'"):format(name) end
  end
  local parameters = {}
  for _, name in ipairs(names) do parameters[name] = true end
  for name, value in pairs(row) do
    if type(name) ~= "string" then return "an entry is not an object" end
    if type(value) == "table" and not parameters[name] then
      return ("'%s' is neither a number nor a text nor a boolean"):format(name)
    end
  end
end

local function read_json(text, names)
  if text == "" then return {} end
  local ok, list = pcall(json.decode, text)
  if not ok then return nil, list end
  if type(list) ~= "table" then return nil, "it is not a list" end
  local n = 0
  for _, row in pairs(list) do
    n = n + 1
    local wrong = check_row(row, names)
    if wrong then return nil, wrong end
  end
  if n ~= #list then return nil, "it is not a list" end
  return list
end

local function to_json(rows)
  local lines = {}
  for n, row in ipairs(rows) do lines[n] = "  " .. json.encode(row) end
  return "[\n" .. table.concat(lines, ",\n") .. "\n]\n"
end

--- Each file format has a function that reads rows from a text, and a function that returns the text of rows.
result_text.kinds = {csv = {read = read_csv, write = to_csv}, json = {read = read_json, write = to_json}}

return result_text
