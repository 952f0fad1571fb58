--- Runs experiments: one measurement per combination of parameters. The results are kept in a file, so that an interrupted sweep
--- can continue.
local blanks = require "nestwright.show.blanks"
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local points = later "nestwright.measure.points"
local result_text = require "nestwright.measure.result_text"
local results = later "nestwright.measure.results"
local rows = require "nestwright.language.rows"
local times = require "nestwright.measure.times"
local written = require "nestwright.show.written"

local sweep_methods = {}

-- ---- one point

-- Sets a column of a row. Raises an error if the column already has another value.
local function put(row, name, value)
  if row[name] ~= nil and row[name] ~= value then
    errors.fail("invalid", "rename one of them", "sweep: the result of run has two values for the column '%s'", name)
  end
  row[name] = value
end

-- Returns the columns of a time record: its median, and the ends q1 and q3 of the middle half of its times.
local function time_columns(t)
  local q1, q3 = times.half(t)
  return {median = t.median, q1 = q1, q3 = q3, spread = t.spread, threads = t.threads, machine = t.machine,
    conditions = t.conditions, unsafe = t.unsafe, tested = t.tested, disturbed = t.disturbed}
end

-- Sets the columns of a named time record. The name of a column ends with its statistic, as in "tiled_median".
local function put_time(row, name, t)
  local q1, q3 = times.half(t)
  put(row, name .. "_median", t.median)
  put(row, name .. "_q1", q1)
  put(row, name .. "_q3", q3)
  put(row, name .. "_conditions", t.conditions)
  row.machine = row.machine or t.machine
  row.unsafe = row.unsafe or t.unsafe
  row.tested = row.tested or t.tested
  row.disturbed = row.disturbed or t.disturbed
end

local function check_result(name, value)
  local kind = type(value)
  if kind == "number" or kind == "string" or kind == "boolean" then return value end
  errors.fail("invalid", "return one of its values: {seconds = t.median}",
    "sweep: the column '%s' that run returns is %s; expected a number, a text, a boolean or a time", name,
    core.type_name(value))
end

local function column_name(key)
  if type(key) ~= "number" then errors.label("sweep: the name of a column that run returns", key) end
  return tostring(key)
end

-- Converts the result of `run` to plain columns. A time record becomes its median, quartiles and spread. The result may be the
-- point itself with more fields: run = function(p) p.seconds = 2 return p end.
local function flatten(value, point)
  local row = {}
  if value == nil then return row end
  if times.is_record(value) then return time_columns(value) end
  if type(value) ~= "table" then return {result = check_result("result", value)} end
  for key, item in pairs(value) do
    local name = column_name(key)
    if times.is_record(item) then
      put_time(row, name, item)
      if value.machine then put(row, "machine", value.machine) end
    elseif item ~= point[name] then
      put(row, name, check_result(name, item))
    end
  end
  return row
end

-- Runs a point. An error of the library, such as a refusal, is a result of the point. An interrupt or an error in the script is
-- raised again.
local function run_point(o, point)
  local copy = {}
  for k, v in pairs(point) do copy[k] = v end
  local ok, value = pcall(o.run, copy)
  if ok then return flatten(value, point), times.is_record(value) end
  if not errors.is_error(value) or value.code == "interrupt" then error(value, 0) end
  return {error = value.message}
end

-- Returns the row of a point: its parameters and results. A result must not have the name of a parameter. The only
-- exception is the field `threads` of a time record, which is then omitted.
local function row_of(o, point)
  local row, is_time = run_point(o, point)
  for name, value in pairs(point) do
    local own = row[name]
    if own ~= nil and not (is_time and name == "threads") then
      errors.fail("invalid", "give the column or the parameter another name",
        "sweep: run returns %s in the column '%s', which is also the parameter '%s'",
        written.shortened(points.key_of(own), 60), name, name)
    end
    row[name] = value
  end
  return row
end

-- Returns, for each column that was made from time records, the function that formats its values (seconds or fractions).
local function kinds_of(all)
  local kinds = {}
  for name in pairs(all) do
    if name:find "_median$" and all.machine then kinds[name] = written.seconds end
  end
  if all.median and all.machine then
    kinds.median, kinds.spread = written.seconds, function(v) return ("%.1f %%"):format(100 * v) end
  end
  return kinds
end

local function cell(value, kind)
  if kind and type(value) == "number" then return kind(value) end
  if type(value) == "string" then return core.shown_text(value) end
  if math.type(value) == "float" then return ("%.5g"):format(value) end
  return value == nil and "" or points.form_of(value)
end

-- True if the column has the conditions of times.
local function tells_conditions(name, all)
  local time = name:match "^(.*)_conditions$"
  return name == "conditions" and all.median or time and all[time .. "_median"]
end

-- False if the column is written to the files but not printed. These columns have the machine, the quartiles of times, and
-- conditions that all times share.
local function is_shown(name, all, shared)
  local time = name:match "^(.*)_q[13]$"
  return name ~= "machine" and name ~= "q1" and name ~= "q3" and not (time and all[time .. "_median"])
    and not (shared and tells_conditions(name, all))
end

-- Returns the conditions of all times as one text, or nil if they differ.
local function shared_conditions(list, columns, all)
  local shared
  for _, name in ipairs(columns) do
    for _, row in ipairs(tells_conditions(name, all) and list or {}) do
      if shared and row[name] and row[name] ~= shared then return nil end
      shared = shared or row[name]
    end
  end
  return shared
end

-- Returns the columns to print, the kinds of their values, and the conditions that all times share.
local function shown_columns(list)
  local columns, all, out = result_text.columns_of(list, list.params), {}, {}
  for _, name in ipairs(columns) do all[name] = true end
  local shared = shared_conditions(list, columns, all)
  for _, name in ipairs(columns) do if is_shown(name, all, shared) then out[#out + 1] = name end end
  return out, kinds_of(all), shared
end

local function cells_of(list)
  local columns, kinds, shared = shown_columns(list)
  local lines = {}
  for n, row in ipairs(list) do
    lines[n] = {}
    for c, name in ipairs(columns) do lines[n][c] = cell(row[name], kinds[name]) end
  end
  local head = {}
  for c, name in ipairs(columns) do head[c] = core.shown_text(name) end
  return {head = head, rows = lines, foot = shared and core.shown_text(shared)}
end

local function to_string(list)
  local t, width = cells_of(list), {}
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
  out[#out + 1] = t.foot
  return table.concat(out, "\n")
end

-- Checks the options about files. csv and json must not be the same file.
local function check_files(o)
  for _, kind in ipairs {"csv", "json"} do
    if o[kind] ~= nil then errors.expect("sweep: " .. kind, o[kind], "string") end
  end
  if o.keep ~= nil then errors.expect("sweep: keep", o.keep, "boolean") end
  if o.csv and o.csv == o.json then
    errors.fail("invalid", "name two files, or omit one", "sweep: csv and json are both %s", o.csv)
  end
end

-- Runs all points. Sets progress.kept to the number of finished points.
local function measure(o, plan, progress)
  local rows_of, files = {}, results.open(o, plan.names, plan.lists)
  for n, point in points.each(plan.names, plan.lists, plan.count) do
    local row = files:done(point)
    if not row then
      row = row_of(o, point)
      files:add(row)
      files:write()
    end
    rows_of[n], progress.kept = row, n
  end
  files:write(true)
  return rows_of
end

-- After memory has run out, raises an error that reports the finished points.
local function fail_for_memory(o, plan, progress, why)
  collectgarbage()
  local path = o.csv and o.json and o.csv .. " and " .. o.json or o.csv or o.json
  if not path then
    errors.fail("memory", "give csv or json to keep finished points, or give fewer values",
      "%s; %d of %d points were finished, and are lost because there was no file", why, progress.kept, plan.count)
  end
  errors.fail("memory", "call it again with more memory or fewer values; points in the file are not run again",
    "%s; the first %d of %d points are finished, and are in %s", why, progress.kept, plan.count, path)
end

local function sweep(options)
  errors.expect("sweep", options, "table")
  local o = errors.options("sweep", options, {"params", "run", "csv", "json", "keep"})
  errors.expect("sweep: run", o.run, "function")
  check_files(o)
  local plan, progress = {}, {kept = 0}
  plan.names, plan.lists, plan.count = points.of(o.params, o.csv or o.json)
  local ok, found = pcall(measure, o, plan, progress)
  if not ok then
    local problem = errors.of_lua(found)
    if errors.is_error(problem) and problem.code == "memory" then fail_for_memory(o, plan, progress, problem.message) end
    error(found, 0)
  end
  local index = setmetatable({params = plan.names, values = o.params}, {__index = sweep_methods})
  return setmetatable(found, {__name = "nestwright.sweep", __index = index, __tostring = to_string, __cells = cells_of})
end

rows.define(sweep_methods, "sweep", "timing", "plot", "(self: nw.sweep, options?: {x?: string, y?: string|string[], by?: string, "
  .. "value?: string, style?: 'lines'|'bars'|'heat', where?: table, log?: 'x'|'y'|'xy'|'', unit?: nw.label, "
  .. "best?: 'min'|'max'|boolean, title?: nw.label}): nw.plot",
  "Draws the results over a parameter. style: 'lines' (x must be numbers), 'bars' or 'heat'. x: the parameter on the x axis, by "
  .. "default the first. y: the column to draw, or several; by default the median of times. The name of a time stands for its "
  .. "median. by: one curve for each value of another parameter. In a heat map x and y are parameters, and value is the column. "
  .. "where: values of the remaining "
  .. "parameters, {threads = 1}. The spread is drawn if the sweep has it. The best value, and all values that are not "
  .. "distinguishable from it, are marked for each curve or, with several columns, at each x. Columns of numbers, which may be "
  .. "predictions, are not compared with measured times. best: 'min' (the default for measured times), 'max' or false. Refused "
  .. "points are marked as refused; missing points are gaps. log: 'x', 'y', 'xy' or '' sets logarithmic "
  .. "axes; by default they are used for powers of two and for values of very different size. unit: the unit of the column; 's' "
  .. "for seconds.",
  function(list, options)
    return require "nestwright.plots.sweep".make(list, errors.options("plot", options,
      {"x", "y", "by", "value", "style", "where", "log", "unit", "best", "title"}))
  end)

rows.define(sweep_methods, "sweep", "timing", "front",
  "(self: nw.sweep, options: {x: string, y: string, by?: string, where?: table, title?: nw.label}): nw.plot",
  "Draws two columns of numbers against each other, and the Pareto front: the points for which no other point is better in one of "
  .. "them and not worse in the other. Both columns should be small, such as cycles and joules. The name of a time stands for its "
  .. "median. The points of the front are numbered and listed with their parameters. by: a parameter whose values have marks of "
  .. "their own. where: values of parameters, {layer = \"C2\"}. Rows: the parameters, both columns, and front: the number of the "
  .. "point on the front.",
  function(list, options)
    return require "nestwright.plots.front".make(list, errors.options("front", options, {"x", "y", "by", "where", "title"}))
  end)

return function(nw)
  rows.define(nw, "nw", "timing", "sweep",
    "(options: {params: table, run: fun(point: table): any, csv?: string, json?: string, keep?: boolean}): nw.sweep",
    "Calls run(point) for every combination of the lists in params, and collects the results, one row per point. With csv or "
    .. "json, rows are written to a file after every point, and points already in the file are not run again. Other points "
    .. "in the file are kept, unless keep = false. A file that is not the result of a sweep over these "
    .. "parameters is refused. A parameter value is a number, a text, a boolean or a list of these; a result is a number, a "
    .. "text, a boolean or a time, which is kept as its median and its quartiles: {tiled = f:time()} gives the columns "
    .. "tiled_median, tiled_q1 and tiled_q3. A refused point gets an error column.", sweep)
end
