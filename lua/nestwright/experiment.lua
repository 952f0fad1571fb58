--- Experiments: one measurement for each combination of parameters, kept in a file so that a stopped sweep goes on.
local errors = require "nestwright.errors"
local rows = require "nestwright.rows"
local written = require "nestwright.written"

local function sorted_keys(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = tostring(key) end
  table.sort(keys)
  return keys
end

-- Every combination, the last parameter fastest.
local function combinations(params, names)
  local points = {{}}
  for _, name in ipairs(names) do
    local more = {}
    for _, point in ipairs(points) do
      for _, value in ipairs(params[name]) do
        local copy = {}
        for k, v in pairs(point) do copy[k] = v end
        copy[name] = value
        more[#more + 1] = copy
      end
    end
    points = more
  end
  return points
end

local function key_of(point, names)
  local parts = {}
  for n, name in ipairs(names) do parts[n] = name .. "=" .. tostring(point[name]) end
  return table.concat(parts, ";")
end

-- ---- CSV

local function typed(text)
  if text == "" then return nil end
  if text == "true" then return true end
  if text == "false" then return false end
  return tonumber(text) or text
end

-- The fields of all records; quoted ones may hold commas and newlines.
local function parse_csv(text)
  local records, record, at = {}, {}, 1
  while at <= #text do
    local field, stop
    if text:sub(at, at) == '"' then
      field, stop = text:match('^"(.-)"()[,\r\n]', at)
      while field and select(2, field:gsub('"', "")) % 2 == 1 do
        local more, next_stop = text:match('^(.-)"()[,\r\n]', stop)
        if not more then break end
        field, stop = field .. '"' .. more, next_stop
      end
      if not field then return records end
      field = field:gsub('""', '"')
    else
      field, stop = text:match("^([^,\r\n]*)()", at)
    end
    record[#record + 1] = field
    local separator = text:match("^(,)", stop) or text:match("^(\r?\n)", stop)
    if not separator then return records end -- the last line was cut short
    if separator ~= "," then
      records[#records + 1] = record
      record = {}
    end
    at = stop + #separator
  end
  return records
end

local function read_file(path)
  local file = io.open(path, "r")
  if not file then return nil end
  local text = file:read "a"
  file:close()
  return text
end

local function read_csv(path)
  local text = read_file(path)
  if not text then return {} end
  local records = parse_csv(text)
  local out = {}
  for n = 2, #records do
    local row = {}
    for c, name in ipairs(records[1]) do row[name] = typed(records[n][c] or "") end
    out[#out + 1] = row
  end
  return out
end

local function read_json(path)
  local text = read_file(path)
  if not text then return {} end
  local ok, list = pcall(require "nestwright.json".decode, text)
  if not ok or type(list) ~= "table" then
    errors.fail("parse", "delete it, or name another file", "sweep: %s is not the result of a sweep", path)
  end
  return list
end

-- Written beside and renamed, so that a sweep stopped at any moment leaves a whole file.
local function write_file(path, text)
  local temporary = path .. ".part"
  local file, why = io.open(temporary, "w")
  if not file then errors.fail("io", nil, "sweep: %s", why) end
  file:write(text)
  file:close()
  local ok, problem = os.rename(temporary, path)
  if not ok then errors.fail("io", nil, "sweep: %s", problem) end
end

local function columns_of(results, names)
  local columns, seen = {table.unpack(names)}, {}
  for _, name in ipairs(names) do seen[name] = true end
  for _, row in ipairs(results) do
    for _, key in ipairs(sorted_keys(row)) do
      if not seen[key] then
        seen[key] = true
        columns[#columns + 1] = key
      end
    end
  end
  return columns
end

local function to_csv(results, columns)
  local lines = {}
  local head = {}
  for n, name in ipairs(columns) do head[n] = written.csv(name) end
  lines[1] = table.concat(head, ",")
  for _, row in ipairs(results) do
    local cells = {}
    for n, name in ipairs(columns) do cells[n] = written.csv(row[name]) end
    lines[#lines + 1] = table.concat(cells, ",")
  end
  return table.concat(lines, "\n") .. "\n"
end

local function write(o, results, names)
  if o.csv then write_file(o.csv, to_csv(results, columns_of(results, names))) end
  if not o.json then return end
  local json, lines = require "nestwright.json", {}
  for n, row in ipairs(results) do lines[n] = "  " .. json.encode(row) end
  write_file(o.json, "[\n" .. table.concat(lines, ",\n") .. "\n]\n")
end

-- ---- one point

-- What a run returned, as plain columns. A time record gives its minimum, median and spread.
local function flatten(value)
  local row = {}
  if type(value) ~= "table" then return {result = value} end
  local is_time = (getmetatable(value) or {}).__name == "nestwright.time"
  if is_time then
    return {min = value.min, median = value.median, spread = value.spread, threads = value.threads, unsafe = value.unsafe}
  end
  for key, item in pairs(value) do
    if type(item) ~= "table" and type(item) ~= "function" then row[tostring(key)] = item end
    if (getmetatable(item) or {}).__name == "nestwright.time" then
      row[tostring(key)] = item.min
      row.unsafe = row.unsafe or item.unsafe
    end
  end
  return row
end

-- A refused point is a result; an interrupt and a broken script are not.
local function run_point(o, point)
  local copy = {}
  for k, v in pairs(point) do copy[k] = v end
  local ok, value = pcall(o.run, copy)
  if ok then return flatten(value) end
  if not errors.is_error(value) or value.code == "interrupt" then error(value, 0) end
  return {error = value.message}
end

local function cell(value)
  if math.type(value) == "float" then return ("%.5g"):format(value) end
  return value == nil and "" or tostring(value)
end

local function to_string(results)
  local columns = columns_of(results, results.params)
  local lines, width = {columns}, {}
  for _, row in ipairs(results) do
    local cells = {}
    for c, name in ipairs(columns) do cells[c] = cell(row[name]) end
    lines[#lines + 1] = cells
  end
  for _, cells in ipairs(lines) do
    for c, text in ipairs(cells) do width[c] = math.max(width[c] or 0, #text) end
  end
  local out = {}
  for n, cells in ipairs(lines) do
    local padded = {}
    for c, text in ipairs(cells) do padded[c] = text .. (" "):rep(width[c] - #text) end
    out[n] = (table.concat(padded, "  "):gsub(" +$", ""))
  end
  return table.concat(out, "\n")
end

local function check_params(params)
  errors.expect("sweep: params", params, "table")
  local names = sorted_keys(params)
  if #names == 0 then errors.fail("invalid", nil, "sweep: params is empty") end
  for _, name in ipairs(names) do errors.expect("sweep: params." .. name, params[name], "table") end
  return names
end

local function sweep(options)
  errors.expect("sweep", options, "table")
  local o = errors.options("sweep", options, {"params", "run", "csv", "json", "quiet"})
  errors.expect("sweep: run", o.run, "function")
  local names = check_params(o.params)
  local results, done = {}, {}
  for _, row in ipairs(o.csv and read_csv(o.csv) or o.json and read_json(o.json) or {}) do
    done[key_of(row, names)] = row
  end
  for _, point in ipairs(combinations(o.params, names)) do
    local row = done[key_of(point, names)]
    if not row then
      row = run_point(o, point)
      for name, value in pairs(point) do row[name] = value end
    end
    results[#results + 1] = row
    if not done[key_of(point, names)] then write(o, results, names) end
  end
  write(o, results, names)
  return setmetatable(results, {__name = "nestwright.sweep", __index = {params = names}, __tostring = to_string})
end

return function(nw)
  rows.define(nw, "nw", "sweep",
    "(options: {params: table, run: fun(point: table): any, csv?: string, json?: string}): table",
    "Calls run(point) for every combination of the lists in params, and collects what it returns, one row a point. With csv "
    .. "or json the rows are kept in a file after every point, and points already there are not run again. A point that is "
    .. "refused gets an error column.", sweep)
end
