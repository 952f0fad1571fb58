--- The rows of sweeps in files, CSV and JSON. What is in a file is kept: rows of other sweeps stay, and a file that is something
--- else is refused.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local json = require "nestwright.show.json"
local points = require "nestwright.measure.points"
local written = require "nestwright.show.written"

local results = {}

local raw = setmetatable({}, {__mode = "k"}) -- of rows from CSV: each field as it stands in the file

--- The keys of a table as texts, in the order of the alphabet.
function results.sorted_keys(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = tostring(key) end
  table.sort(keys)
  return keys
end

-- ---- CSV

local NOT_FINITE = {inf = math.huge, ["-inf"] = -math.huge, nan = 0 / 0}

local function typed(text)
  if text == "" then return nil end
  if text == "true" then return true end
  if text == "false" then return false end
  return NOT_FINITE[text] or tonumber(text) or text
end

-- A result as a field. A whole float keeps its point: it is a float when it is read.
local function text_of(value)
  if math.type(value) ~= "float" then return tostring(value) end
  local text = written.number(value)
  return text:find "^-?%d+$" and text .. ".0" or text
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
      if #record > 1 or field ~= "" or text:sub(at, at) == '"' then records[#records + 1] = record end
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
local function field_of(row, name, is_parameter)
  local value = row[name]
  if value == nil then return "" end
  local as_read, text = raw[row] and raw[row][name], is_parameter and points.form_of(value) or text_of(value)
  return written.csv(as_read and typed(as_read) == value and as_read or text)
end

-- A line of one empty field would be a blank one.
local function line_of(cells)
  local line = table.concat(cells, ",")
  return line == "" and '""' or line
end

-- A name that begins with a mark of the order of bytes has another one before it, which is not part of it.
local function to_csv(rows, names, columns_there)
  local columns, lines, head = results.columns_of(rows, names, columns_there), {}, {}
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

local KINDS = {csv = {read = read_csv, write = to_csv}, json = {read = read_json, write = to_json}}

-- ---- the files of one sweep

local files = {}
files.__index = files

local function foreign(self, path, why)
  errors.fail("parse", "name another file, or move this one away",
    "sweep: %s is not the result of a sweep over %s: %s", path, table.concat(self.names, ", "), why)
end

local function equal(a, b)
  return a == b or a ~= a and b ~= b or type(a) == "table" and type(b) == "table" and points.key_of(a) == points.key_of(b)
end

local function same(a, b)
  for name, value in pairs(a) do if not equal(b[name], value) then return false end end
  for name, value in pairs(b) do if not equal(a[name], value) then return false end end
  return true
end

-- The column in which a row of CSV says something else than the same one of JSON, whose values are not texts only. Numbers once
-- had 14 digits in CSV.
local function difference(self, fields, row)
  for name, field in pairs(fields) do
    local value = row[name]
    if value ~= nil and field ~= "" and not self.is_parameter[name] and field ~= text_of(value) and field ~= tostring(value)
      and typed(field) ~= value then
      return name
    end
  end
end

-- What a file says of a row that is known from another one.
local function add_to(self, path, known, row)
  local fields = raw[row]
  local column = fields and not self.open and difference(self, fields, known)
  if column then
    foreign(self, path, ("its '%s' for %s is not that of %s"):format(column, points.shown(known, self.names), self.path.json))
  end
  raw[known] = raw[known] or fields
  for name, value in pairs(row) do if known[name] == nil then known[name] = value end end
end

-- A field of CSV has no type: it stands for the point of this sweep that is written so, else for one that JSON has, else for
-- what it looks like.
local function give_values(self, row)
  local fields, own = raw[row], true
  for name, values in pairs(self.values) do own = own and values[fields[name]] ~= nil end
  local known = self.by_form[points.form_of_fields(fields, self.names)]
  for name, values in pairs(self.values) do
    local value = values[fields[name]]
    if known and not own then value = known[name] end
    if value == nil then value = points.value_of(fields[name]) end
    row[name] = value
  end
end

local function fail_alike(path, a, b, names)
  errors.fail("invalid", "name another file for json, or leave csv out",
    "sweep: %s has the point %s, and a CSV file cannot tell it from %s", path, points.shown(a, names), points.shown(b, names))
end

-- Points that are different in JSON, and would be the same in the CSV file beside it, are refused.
local function check_alike(self, path, row, form)
  local own, other = {}, self.by_form[form]
  for name, values in pairs(self.values) do own[name] = values[points.form_of(row[name])] end
  for _, name in ipairs(self.names) do if own[name] == nil then own = nil break end end
  local key = points.key(row, self.names)
  for _, point in ipairs {own or other, other} do
    if points.key(point, self.names) ~= key then fail_alike(path, row, point, self.names) end
  end
end

-- The row of JSON whose point a row of CSV is with 14 digits, as they once were written.
local function of_old_form(self, row)
  local known = not self.open and self.by_old_form[points.form_of_fields(raw[row], self.names)]
  if not known or difference(self, raw[row], known) then return nil end
  for _, name in ipairs(self.names) do raw[row][name] = points.form_of(known[name]) end
  return known
end

local function note_forms(self, path, row)
  if not self.path.csv then return end
  local form, old = points.form(row, self.names), points.old_form(row, self.names)
  if not raw[row] and self.keep then check_alike(self, path, row, form) end
  self.by_form[form] = self.by_form[form] or row
  if old ~= form and not raw[row] then self.by_old_form[old] = self.by_old_form[old] == nil and row or false end
end

-- Each row once. Rows that differ in more than the parameters are of a sweep over more of them; but 8 and 8.0 were two points of
-- CSV once, so that both may be in an old file.
local function take(self, path, rows, cut)
  local own = {}
  for _, row in ipairs(rows) do
    if raw[row] then give_values(self, row) end
    local key = points.key(row, self.names)
    local before = own[key]
    if before and not same(before, row) then
      local spelled = raw[row] and points.form_of_fields(raw[row], self.names)
      if not spelled or spelled == points.form_of_fields(raw[before], self.names) then
        foreign(self, path, "it has two different entries for " .. points.shown(row, self.names))
      end
      key = key .. spelled
      self.twin[row] = true
    end
    own[key] = own[key] or row
    local known = self.by_key[key] or raw[row] and of_old_form(self, row)
    if not known then
      self.rows[#self.rows + 1] = row
      self.by_key[key] = row
      self.cut[row] = row == cut or nil
      note_forms(self, path, row)
    elseif not self.new[known] and not self.cut[known] then
      add_to(self, path, known, row)
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

--- The files of a sweep over the parameters of these names, each with its list of values, with what is in them. o: csv, json,
--- keep.
function results.open(o, names, lists)
  local self = setmetatable({names = names, path = {csv = o.csv, json = o.json}, keep = o.keep ~= false, rows = {}, by_key = {},
    by_form = {}, by_old_form = {}, values = {}, is_parameter = {}, has = {}, new = {}, cut = {}, twin = {}, stamp = {}, text = {}},
    files)
  for k, name in ipairs(names) do
    self.values[name], self.is_parameter[name], self.has[name] = points.by_form(name, lists[k], o.csv), true, {}
    for _, value in ipairs(lists[k]) do self.has[name][points.key_of(value)] = true end
  end
  look_at_all(self)
  self.open = true
  return self
end

--- The row of a point, where there is one.
function files:done(point)
  local row = self.by_key[points.key(point, self.names)]
  if not row or self.cut[row] then return nil end
  for name, value in pairs(point) do row[name] = value end
  return row
end

--- Keeps the row of a point.
function files:add(row)
  local key = points.key(row, self.names)
  local before = self.by_key[key]
  self.by_key[key], self.new[row] = row, true
  if not before then self.rows[#self.rows + 1] = row return end
  for n, other in ipairs(self.rows) do if other == before then self.rows[n] = row end end
end

local function is_wanted(self, row)
  for name, has in pairs(self.has) do if not has[points.key_of(row[name])] then return false end end
  return true
end

-- Without those that this sweep does not have, where they are not to be kept.
local function to_write(self, kind)
  local rows = {}
  for _, row in ipairs(self.rows) do
    if (self.keep or is_wanted(self, row)) and not (kind == "json" and self.twin[row]) then rows[#rows + 1] = row end
  end
  return rows
end

--- Writes the files that are not as they should be; what others have added to them meanwhile stays. last: until it is on the
--- disk.
function files:write(last)
  look_at_all(self)
  for _, kind in ipairs {"csv", "json"} do
    local path = self.path[kind]
    local text = path and KINDS[kind].write(to_write(self, kind), self.names, self.head)
    if path and (text ~= self.text[path] or last and self.written) then
      core.write_file("sweep", path, text, {quick = not last})
      self.written = true
      self.stamp[path], self.text[path] = core.file_stamp(path), text
    end
  end
end

return results
