--- Reads and writes the files of sweeps. Existing contents are preserved: rows of other sweeps are kept, and a file with other
--- contents is refused.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local points = later "nestwright.measure.points"
local result_text = require "nestwright.measure.result_text"

local kinds, raw, text_of, typed = result_text.kinds, result_text.raw, result_text.text_of, result_text.typed

local results = {}
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

-- Returns a column in which a row of CSV contradicts the same row of JSON, or nil. Only the values of JSON have types. In older CSV
-- files, numbers have 14 digits.
local function difference(self, fields, row)
  for name, field in pairs(fields) do
    local value = row[name]
    if value ~= nil and field ~= "" and not self.is_parameter[name] and field ~= text_of(value) and field ~= tostring(value)
      and typed(field) ~= value then
      return name
    end
  end
end

-- Merges a row of the file at `path` into `known`, which is the row of the same point from another file.
local function add_to(self, path, known, row)
  local fields = raw[row]
  local column = fields and not self.open and difference(self, fields, known)
  if column then
    foreign(self, path, ("its '%s' for %s differs from that in %s"):format(column, points.shown(known, self.names), self.path.json))
  end
  raw[known] = raw[known] or fields
  for name, value in pairs(row) do if known[name] == nil then known[name] = value end end
end

-- Sets the parameters of a row from CSV, whose fields have no types. If a point of this sweep has the same texts, the row gets the
-- values of this point. Otherwise, it gets the values of a point of the JSON file with the same texts. If there is no such point
-- either, each value is what its text looks like.
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
  errors.fail("invalid", "name another file for json, or omit csv",
    "sweep: %s has the point %s, which a CSV file cannot distinguish from %s", path, points.shown(a, names), points.shown(b, names))
end

-- Raises an error if points differ in JSON but would be the same in the CSV file.
local function check_alike(self, path, row, form)
  local own, other = {}, self.by_form[form]
  for name, values in pairs(self.values) do own[name] = values[points.form_of(row[name])] end
  for _, name in ipairs(self.names) do if own[name] == nil then own = nil break end end
  local key = points.key(row, self.names)
  for _, point in ipairs {own or other, other} do
    if points.key(point, self.names) ~= key then fail_alike(path, row, point, self.names) end
  end
end

-- Returns the row of JSON that has the same point as a CSV row in the older format with 14 digits, or nil.
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

-- Keeps each row once. Two different rows with the same parameters come from a sweep over more parameters, so the file is refused.
-- In older CSV files, 8 and 8.0 were two points, so an older file may have a row for each of them.
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

-- Reads a file if it has changed since this sweep last read or wrote it.
local function look(self, kind)
  local path = self.path[kind]
  local stamp = core.file_stamp(path)
  if stamp == self.stamp[path] then return end
  local text = stamp and core.read_file("sweep", path) or ""
  local rows, cut, head = kinds[kind].read(text, self.names)
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

--- Opens the files of a sweep over parameters with these names and lists of values, and reads their contents. o: csv, json, keep.
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

--- Returns the complete row of a point, or nil if there is none.
function files:done(point)
  local row = self.by_key[points.key(point, self.names)]
  if not row or self.cut[row] then return nil end
  for name, value in pairs(point) do row[name] = value end
  return row
end

--- Stores the row of a point.
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

-- Returns the rows to write: all rows or, with keep = false, only the rows of this sweep.
local function to_write(self, kind)
  local rows = {}
  for _, row in ipairs(self.rows) do
    if (self.keep or is_wanted(self, row)) and not (kind == "json" and self.twin[row]) then rows[#rows + 1] = row end
  end
  return rows
end

--- Writes the files that are out of date. Rows that other programs have added in the meantime are kept. If `last` is true, waits
--- until the files are on the disk.
function files:write(last)
  look_at_all(self)
  for _, kind in ipairs {"csv", "json"} do
    local path = self.path[kind]
    local text = path and kinds[kind].write(to_write(self, kind), self.names, self.head)
    if path and (text ~= self.text[path] or last and self.written) then
      core.write_file("sweep", path, text, {quick = not last})
      self.written = true
      self.stamp[path], self.text[path] = core.file_stamp(path), text
    end
  end
end

return results
