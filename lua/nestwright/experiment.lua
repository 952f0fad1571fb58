--- Experiments: one measurement for each combination of parameters, kept in a file so that a stopped sweep goes on.
local blanks = require "nestwright.blanks"
local errors = require "nestwright.errors"
local rows = require "nestwright.rows"
local times = require "nestwright.times"
local written = require "nestwright.written"

local sweep_methods = {}

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

-- The columns of a time record; q1 and q3 are the ends of the middle half of its times.
local function time_columns(t)
  local q1, q3 = times.half(t)
  return {min = t.min, median = t.median, q1 = q1, q3 = q3, spread = t.spread, threads = t.threads, machine = t.machine,
    unsafe = t.unsafe}
end

-- Of a time record under a name: its minimum, and what a plot needs beside it.
local function named_time(row, name, t)
  local q1, q3 = times.half(t)
  row[name], row[name .. "_median"], row[name .. "_q1"], row[name .. "_q3"] = t.min, t.median, q1, q3
  row.machine, row.unsafe = t.machine, row.unsafe or t.unsafe
end

-- What a run returned, as plain columns. A time record gives its minimum, median, quartiles and spread.
local function flatten(value)
  local row = {}
  if type(value) ~= "table" then return {result = value} end
  if times.is_record(value) then return time_columns(value) end
  for key, item in pairs(value) do
    if type(item) ~= "table" and type(item) ~= "function" then row[tostring(key)] = item end
    if times.is_record(item) then named_time(row, tostring(key), item) end
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

-- The columns that hold seconds, and those that hold a share of them: what time records became.
local function kinds_of(all)
  local kinds = {}
  for name in pairs(all) do
    local of = name:match "^(.*)_median$"
    if of and all[of] and all.machine then kinds[of], kinds[name] = written.seconds, written.seconds end
  end
  if all.min and all.median and all.machine then
    kinds.min, kinds.median, kinds.spread = written.seconds, written.seconds, function(v) return ("%.1f %%"):format(100 * v) end
  end
  return kinds
end

local function cell(value, kind)
  if kind and type(value) == "number" then return kind(value) end
  if math.type(value) == "float" then return ("%.5g"):format(value) end
  return value == nil and "" or tostring(value)
end

-- What the table leaves to the files: where the times come from, and the rest of what a plot needs.
local function is_shown(name, all)
  local time = name:match "^(.*)_median$" or name:match "^(.*)_q[13]$"
  return name ~= "machine" and name ~= "q1" and name ~= "q3" and not (time and all[time .. "_q1"])
end

local function shown_columns(results)
  local columns, all, out = columns_of(results, results.params), {}, {}
  for _, name in ipairs(columns) do all[name] = true end
  for _, name in ipairs(columns) do if is_shown(name, all) then out[#out + 1] = name end end
  return out, kinds_of(all)
end

local function cells_of(results)
  local lines, columns, kinds = {}, shown_columns(results)
  for n, row in ipairs(results) do
    lines[n] = {}
    for c, name in ipairs(columns) do lines[n][c] = cell(row[name], kinds[name]) end
  end
  return {head = columns, rows = lines}
end

local function to_string(results)
  local t, width = cells_of(results), {}
  local lines = {t.head, table.unpack(t.rows)}
  for _, cells in ipairs(lines) do
    for c, text in ipairs(cells) do width[c] = math.max(width[c] or 0, #text) end
  end
  local out = {}
  for n, cells in ipairs(lines) do
    local padded = {}
    for c, text in ipairs(cells) do padded[c] = text .. (" "):rep(width[c] - #text) end
    out[n] = blanks.right(table.concat(padded, "  "))
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
  local o = errors.options("sweep", options, {"params", "run", "csv", "json"})
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
  local index = setmetatable({params = names, values = o.params}, {__index = sweep_methods})
  return setmetatable(results, {__name = "nestwright.sweep", __index = index, __tostring = to_string, __cells = cells_of})
end

rows.define(sweep_methods, "sweep", "plot", "(self: nw.sweep, options?: {x?: string, y?: string|string[], by?: string, "
  .. "value?: string, style?: string, where?: table, log?: string, unit?: string, best?: string, title?: string}): nw.plot",
  "Draws what was measured over a parameter. style 'lines' (where x is numbers), 'bars' or 'heat'. x: the parameter along the "
  .. "axis, the first unless said; y: the column drawn, or several, the median of times unless said; by: a curve for each "
  .. "value of another parameter. heat: x and y are parameters, value is the column. where: values of the parameters that are "
  .. "left, {threads = 1}. Spread is drawn where the sweep has it; the best is marked with all that is not distinguishable from "
  .. "it (best: 'min', the default for times, 'max' or false; of each curve, of several columns at each x). What was refused is "
  .. "shown as refused, what is missing is a gap. log: 'x', 'y', 'xy' or '' for axes of powers, which are otherwise taken for "
  .. "powers of two and for values far apart. unit: of the column; 's' for seconds.",
  function(results, options)
    return require "nestwright.plots.sweep".make(results, errors.options("plot", options,
      {"x", "y", "by", "value", "style", "where", "log", "unit", "best", "title"}))
  end)

return function(nw)
  rows.define(nw, "nw", "sweep",
    "(options: {params: table, run: fun(point: table): any, csv?: string, json?: string}): nw.sweep",
    "Calls run(point) for every combination of the lists in params, and collects what it returns, one row a point. With csv "
    .. "or json the rows are kept in a file after every point, and points already there are not run again. A point that is "
    .. "refused gets an error column.", sweep)
end
