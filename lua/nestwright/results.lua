--- The rows of sweeps in files, CSV and JSON. What is in a file is kept: rows of other sweeps stay, and a file that is something
--- else is refused.
local core = require "nestwright.core"
local errors = require "nestwright.errors"
local json = require "nestwright.json"
local written = require "nestwright.written"

local results = {}

local raw = setmetatable({}, {__mode = "k"}) -- of rows from CSV: each field as it stands in the file

--- The keys of a table as texts, in the order of the alphabet.
function results.sorted_keys(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = tostring(key) end
  table.sort(keys)
  return keys
end

-- A value as it stands in a file: lists such as {8, 8} as JSON, objects by their own text.
local function text_of(value)
  return type(value) == "table" and not getmetatable(value) and json.encode(value) or tostring(value)
end

--- The values of the parameters, as one text.
function results.key(point, names)
  local parts = {}
  for n, name in ipairs(names) do parts[n] = name .. "=" .. text_of(point[name]) end
  return table.concat(parts, ";")
end

-- The same of a row from CSV by what stands in the file: "007" may be a text.
local function key_as_read(row, names)
  local parts = {}
  for n, name in ipairs(names) do parts[n] = name .. "=" .. (raw[row] and raw[row][name] or text_of(row[name])) end
  return table.concat(parts, ";")
end

-- ---- CSV

local function typed(text)
  if text == "" then return nil end
  if text == "true" then return true end
  if text == "false" then return false end
  return tonumber(text) or text
end

-- A field that begins with a quote, and the place after it; nothing where the quote is not closed.
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

-- The fields of all records, blank lines left out, and whether the last line is whole. nil and the record that is none.
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
      if #record > 1 or record[1] ~= "" then records[#records + 1] = record end
      record = {}
    end
    if not separator then return records, false end
    at = stop + #separator
  end
  if #record > 0 then -- a comma is the last thing in the file
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
    row[name] = typed(record[c] or "")
  end
  raw[row] = fields
  return row
end

-- The rows of a text, the one of them that was cut short, and its columns; nil and why it has none. Of a line that was cut
-- within the parameters nothing is known.
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
      return nil, ("record %d has %d fields, and its head has %d"):format(n + 1, #record, #head)
    end
    rows[n] = row_of(head, record)
  end
  return rows, not whole and rows[#rows] or nil, head
end

--- The columns of rows: the parameters, those of a file, and what else the rows have.
function results.columns_of(rows, names, head)
  local columns, seen = {}, {}
  local function add(list)
    for _, name in ipairs(list) do
      if not seen[name] then columns[#columns + 1], seen[name] = name, true end
    end
  end
  add(names)
  add(head or {})
  for _, row in ipairs(rows) do add(results.sorted_keys(row)) end
  return columns
end

-- What was read is written as it was.
local function field_of(row, name)
  local as_read = raw[row] and raw[row][name]
  if as_read and typed(as_read) == row[name] then return written.csv(as_read) end
  return written.csv(row[name] ~= nil and text_of(row[name]) or nil)
end

local function to_csv(rows, names, columns_there)
  local columns, lines, head = results.columns_of(rows, names, columns_there), {}, {}
  for n, name in ipairs(columns) do head[n] = written.csv(name) end
  lines[1] = table.concat(head, ",")
  for _, row in ipairs(rows) do
    local cells = {}
    for n, name in ipairs(columns) do cells[n] = field_of(row, name) end
    lines[#lines + 1] = table.concat(cells, ",")
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
  for n, row in ipairs(rows) do
    local plain = {}
    for name, value in pairs(row) do
      local kind = type(value)
      local own = kind == "number" or kind == "boolean" or kind == "table" and not getmetatable(value)
      plain[name] = own and value or text_of(value)
    end
    lines[n] = "  " .. json.encode(plain)
  end
  return "[\n" .. table.concat(lines, ",\n") .. "\n]\n"
end

local KINDS = {csv = {read = read_csv, write = to_csv}, json = {read = read_json, write = to_json}}

-- ---- the files of one sweep

local files = {}
files.__index = files

local function foreign(self, path, why)
  errors.fail("parse", "name another file, or move this one away",
    "sweep: %s is not the result of a sweep over %s: %s", path, table.concat(self.names, ", "), why)
end

local function same(a, b)
  for name, value in pairs(a) do if b[name] ~= value then return false end end
  for name, value in pairs(b) do if a[name] ~= value then return false end end
  return true
end

-- The column in which a row of CSV says something else than the same one of JSON, whose values are not texts only.
local function difference(fields, row)
  for name, field in pairs(fields) do
    local value = row[name]
    if value ~= nil and field ~= "" and field ~= text_of(value) and typed(field) ~= value then return name end
  end
end

-- What a file says of a row that is known from another one.
local function add_to(self, path, known, row, key)
  local fields = raw[row]
  local column = fields and not self.open and difference(fields, known)
  if column then foreign(self, path, ("its '%s' for %s is not that of %s"):format(column, key, self.path.json)) end
  raw[known] = raw[known] or fields
  for name, value in pairs(row) do if known[name] == nil then known[name] = value end end
end

-- Each row once. Rows that differ in more than the parameters are of a sweep over more of them.
local function take(self, path, rows, cut)
  local own = {}
  for _, row in ipairs(rows) do
    local key, read_as = key_as_read(row, self.names), results.key(row, self.names)
    if own[key] and not same(own[key], row) then foreign(self, path, "it has two different entries for " .. key) end
    own[key] = own[key] or row
    local known = self.by_key[key]
    if not known then
      self.rows[#self.rows + 1] = row
      self.by_key[key] = row
      self.by_key[read_as] = self.by_key[read_as] or row
      self.cut[row] = row == cut or nil
    elseif not self.new[known] and not self.cut[known] then
      add_to(self, path, known, row, key)
    end
  end
end

-- Reads what is in a file, if it is not what this sweep has left there.
local function look(self, kind)
  local path = self.path[kind]
  local stamp = core.file_stamp(path)
  if stamp == self.stamp[path] then return end
  local text = stamp and core.read_file("sweep", path) or ""
  local rows, cut, head = KINDS[kind].read(text, self.names)
  if not rows then foreign(self, path, cut) end
  self.head = head or self.head
  take(self, path, rows, cut)
  self.stamp[path], self.text[path] = stamp, text
end

local function look_at_all(self)
  for _, kind in ipairs {"json", "csv"} do
    if self.path[kind] then look(self, kind) end
  end
end

--- The files of a sweep over the parameters of these names, with what is in them. o: csv, json, keep.
function results.open(o, names)
  local self = setmetatable({names = names, path = {csv = o.csv, json = o.json}, keep = o.keep ~= false, rows = {},
    by_key = {}, new = {}, cut = {}, stamp = {}, text = {}}, files)
  look_at_all(self)
  self.open = true
  return self
end

--- The row of a point, where there is one.
function files:done(point)
  local row = self.by_key[results.key(point, self.names)]
  if not row or self.cut[row] then return nil end
  for name, value in pairs(point) do row[name] = value end
  return row
end

--- Keeps the row of a point.
function files:add(row)
  local key = results.key(row, self.names)
  local before = self.by_key[key]
  self.by_key[key], self.new[row] = row, true
  if not before then self.rows[#self.rows + 1] = row return end
  for n, other in ipairs(self.rows) do if other == before then self.rows[n] = row end end
end

-- Without those that this sweep does not have, where they are not to be kept; `points` are those it has.
local function to_write(self, points)
  if self.keep then return self.rows end
  local wanted, rows = {}, {}
  for _, point in ipairs(points) do wanted[results.key(point, self.names)] = true end
  for _, row in ipairs(self.rows) do
    if wanted[key_as_read(row, self.names)] or wanted[results.key(row, self.names)] then rows[#rows + 1] = row end
  end
  return rows
end

--- Writes the files that are not as they should be; what others have added to them meanwhile stays. last: until it is on the
--- disk.
function files:write(points, last)
  look_at_all(self)
  for _, kind in ipairs {"csv", "json"} do
    local path = self.path[kind]
    local text = path and KINDS[kind].write(to_write(self, points), self.names, self.head)
    if path and (text ~= self.text[path] or last and self.written) then
      core.write_file("sweep", path, text, {quick = not last})
      self.written = true
      self.stamp[path], self.text[path] = core.file_stamp(path), text
    end
  end
end

return results
