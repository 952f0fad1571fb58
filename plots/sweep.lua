--- Prepares the results of a sweep for drawing. Selects the columns and the parameters that are drawn, and finds the best points
--- and the refused points.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local plot = require "nestwright.plots.plot"
local written = require "nestwright.show.written"

local sweep = {}

-- The errors begin with the name of the method that was called.
local function fail(hint, message, ...) errors.fail("invalid", hint, message, ...) end

-- ---- parameters

local function is_param(s, name)
  for _, p in ipairs(s.params) do if p == name then return true end end
  return false
end

local function check_param(s, what, name)
  if is_param(s, name) then return name end
  local near = type(name) == "string" and core.nearest(name, s.params)
  fail(near and ("did you mean '%s'?"):format(near) or "its parameters are " .. table.concat(s.params, ", "),
    "%s: the sweep has no parameter '%s'", what, tostring(name))
end

-- Returns the rows whose parameters have the given values.
local function chosen(s, where)
  for name in pairs(errors.expect("plot: where", where or {}, "table")) do check_param(s, "where", name) end
  local out = {}
  for _, row in ipairs(s) do
    local all = true
    for name, value in pairs(where or {}) do all = all and row[name] == value end
    if all then out[#out + 1] = row end
  end
  if #out == 0 then fail(nil, next(where or {}) and "where: no point has these values" or "the sweep has no points") end
  return out
end

-- Returns the values of a parameter in these rows, in the order of the sweep.
local function values_of(list, name)
  local out, seen = {}, {}
  for _, row in ipairs(list) do
    local v = row[name]
    if v ~= nil and not seen[v] then
      seen[v] = true
      out[#out + 1] = v
    end
  end
  return out
end

-- Returns the parameters that still have several values in these rows, except for the parameters that the picture uses.
local function varying(s, list, taken)
  local out = {}
  for _, name in ipairs(s.params) do
    if not taken[name] and #values_of(list, name) > 1 then out[#out + 1] = name end
  end
  return out
end

local function check_all_told(s, list, taken)
  local rest = varying(s, list, taken)
  if #rest == 0 then return end
  local value = values_of(list, rest[1])[1]
  fail(("where = {%s = %s}"):format(rest[1], type(value) == "string" and ("%q"):format(value) or tostring(value)),
    "the sweep also has several values of %s", table.concat(rest, ", "))
end

-- ---- columns

local BESIDE = {q1 = true, q3 = true, spread = true, threads = true, unsafe = true, disturbed = true, conditions = true,
  machine = true, error = true}

local function columns(s, list)
  local out, seen = {}, {}
  for _, row in ipairs(list) do
    for name, value in pairs(row) do
      if not seen[name] and not is_param(s, name) and type(value) == "number" then
        seen[name] = true
        out[#out + 1] = name
      end
    end
  end
  table.sort(out)
  return out, seen
end

local function check_measured(list)
  for _, row in ipairs(list) do if not row.error then return end end
  fail(nil, "nothing was measured: %s", tostring(list[1].error))
end

-- Returns the column that is drawn by default. It is the median, or else the only other column of numbers. If there are several
-- such columns or none, raises an error.
local function usual_column(s, list)
  check_measured(list)
  local names, seen = columns(s, list)
  if seen.median then return "median" end
  local out = {}
  for _, name in ipairs(names) do
    local time = name:match "^(.*)_q[13]$"
    if not BESIDE[name] and not (time and seen[time .. "_median"]) then out[#out + 1] = name:match "^(.*)_median$" or name end
  end
  if #out == 1 then return out[1] end
  fail(#out > 0 and "its columns are " .. table.concat(out, ", ") or nil, #out > 0 and "y: name a column, for example y = '%s'" or
    "the sweep has no column of numbers", out[1])
end

-- Returns the name if it is the name of a column of numbers, or of a time, which stands for its median. Otherwise, raises an error.
local function check_column(s, list, name)
  local names, seen = columns(s, list)
  if seen[name] or seen[tostring(name) .. "_median"] then return name end
  for _, row in ipairs(list) do
    if row[name] ~= nil then fail(nil, "the values of column %s are not numbers", tostring(name)) end
  end
  local near = type(name) == "string" and core.nearest(name, names)
  fail(near and ("did you mean '%s'?"):format(near) or #names > 0 and "its columns are " .. table.concat(names, ", ") or nil,
    "the sweep has no column '%s'", tostring(name))
end

-- Returns the kind of a column. Its fields say whether the values are in seconds (`time`), whether they were measured, and which
-- columns have the values and the quartiles. The name of a time stands for its median.
local function kind_of(list, name, unit)
  local of = name == "median" and "" or name:match "^(.*_)median$" or name .. "_"
  local median = of .. "median"
  for _, row in ipairs(list) do
    if row[median] and row.machine then
      return {time = true, measured = true, value = median, q1 = of .. "q1", q3 = of .. "q3"}
    end
  end
  return {time = unit == "s", value = name}
end

local function finite(v) return type(v) == "number" and v == v and v ~= math.huge and v ~= -math.huge and v or nil end

-- ---- points

-- Returns a text for a number that cannot be drawn, or nil for other values.
local function odd(v)
  if type(v) ~= "number" or finite(v) then return nil end
  return v ~= v and "not a number" or v > 0 and "infinite" or "minus infinite"
end

-- Returns a row as a point, which has a value and its quartiles, or the reason why it has no value.
local function point_of(row, kind)
  local v = finite(row[kind.value])
  local lo, hi = finite(row[kind.q1 or ""]), finite(row[kind.q3 or ""])
  return {row = row, disturbed = kind.time and row.disturbed == true, measured = kind.measured,
    value = v, lo = v and (lo or v), hi = v and (hi or v), spread = lo ~= nil and hi ~= nil,
    odd = not row.error and odd(row[kind.value]) or nil, refused = row.error and tostring(row.error) or nil}
end

-- Returns the points that can be compared with each other. These are the points with a value. If some of these points are measured
-- times, the others are left out, because they may be predictions.
local function comparable(points)
  local measured, out = false, {}
  for _, p in ipairs(points) do measured = measured or p.measured and p.value ~= nil end
  for _, p in ipairs(points) do
    if p.value and not p.refused and (p.measured or not measured) then out[#out + 1] = p end
  end
  return out
end

--- Marks the best of at least two points of the same kind, and the points that are not distinguishable from it. better: "min",
--- "max", or nil if no point is the best. If other work disturbed the measurement of a point, no point is marked. Returns the best
--- point, or nil.
function sweep.mark_best(points, better)
  for _, p in ipairs(points) do
    p.best, p.alike = false, false
    if p.disturbed then better = nil end
  end
  local list, best = comparable(points), nil
  if not better or #list < 2 then return nil end
  for _, p in ipairs(list) do
    if not best or better == "min" and p.value < best.value or better == "max" and p.value > best.value then best = p end
  end
  best.best = true
  for _, p in ipairs(list) do p.alike = p ~= best and p.spread and best.spread and p.lo <= best.hi and best.lo <= p.hi end
  return best
end

--- Returns the text of a parameter's value.
function sweep.text(v)
  if math.type(v) == "float" then return ("%g"):format(v) end
  return tostring(v)
end

-- Returns the title of a column. The title of a measured time names the statistic.
local function title_of(name, kind)
  if not kind.measured then return name end
  return name == "median" and "time, median" or ("%s (median)"):format((name:gsub("_median$", "")))
end

--- Returns a function(v) that returns the text of a value of the column, with its unit.
function sweep.writer(kind, unit)
  if kind.time then return function(v) return v == 0 and "0" or written.seconds(v) end end
  return function(v)
    if unit and math.abs(v) >= 1e5 then return written.count(v) .. " " .. unit end
    local text = math.abs(v) >= 1e6 and v == v and ("%.3g"):format(v) or ("%.6g"):format(v)
    return unit and text .. " " .. unit or text
  end
end

-- ---- in words

local function best_words(points, best, x, write)
  local alike = {}
  for _, p in ipairs(points) do if p.alike then alike[#alike + 1] = sweep.text(p.row[x]) end end
  return ("best at %s = %s: %s%s"):format(x, sweep.text(best.row[x]), write(best.value),
    #alike > 0 and ("; not distinguishable from it: %s"):format(table.concat(alike, ", ")) or "")
end

--- Returns a line of the caption about the best of several columns at one x.
function sweep.about_best(x, value, points, best, write)
  local alike, name = {}, nil
  for _, p in ipairs(points) do
    if p.alike then alike[#alike + 1] = p.series end
    if p == best then name = p.series end
  end
  return ("at %s = %s: best %s, %s%s"):format(x, sweep.text(value), name, write(best.value),
    #alike > 0 and ("; not distinguishable from it: %s"):format(table.concat(alike, ", ")) or "")
end

--- Returns a line of the caption about points along x: their number, their range, the best point, and the refused points.
function sweep.about(name, points, best, x, write)
  local lo, hi, n, refused, undrawn = math.huge, -math.huge, 0, {}, {}
  for _, p in ipairs(points) do
    if p.refused then
      refused[#refused + 1] = ("%s = %s (%s)"):format(x, sweep.text(p.row[x]), p.refused)
    elseif p.odd then
      undrawn[#undrawn + 1] = ("%s = %s (%s)"):format(x, sweep.text(p.row[x]), p.odd)
    elseif p.value then
      lo, hi, n = math.min(lo, p.value), math.max(hi, p.value), n + 1
    end
  end
  local parts = {("%s: %d point%s"):format(name, n, n == 1 and "" or "s")}
  if n > 0 then parts[1] = ("%s from %s to %s"):format(parts[1], write(lo), write(hi)) end
  if best then parts[#parts + 1] = best_words(points, best, x, write) end
  if #undrawn > 0 then parts[#parts + 1] = "not drawn: " .. table.concat(undrawn, ", ") end
  if #refused > 0 then parts[#parts + 1] = "refused: " .. table.concat(refused, ", ") end
  return table.concat(parts, "; ")
end

-- Returns the different conditions of all times in the rows, both of times without names and of times with names.
local function conditions_of(list)
  local out, seen = {}, {}
  for _, row in ipairs(list) do
    for name, text in pairs(row) do
      if (name == "conditions" or name:find "_conditions$") and type(text) == "string" and not seen[text] then
        out[#out + 1], seen[text] = text, true
      end
    end
  end
  table.sort(out)
  return out
end

--- Returns the small print: the machine, the statistic and the spread of the drawn rows. measured: true if measured times are
--- drawn.
function sweep.small_print(list, measured)
  local machines, most = values_of(list, "machine"), nil
  for _, row in ipairs(list) do
    local spread = finite(row.spread)
    if spread then most = math.max(most or 0, spread) end
  end
  local threads = values_of(list, "threads")
  local function any(name)
    for _, row in ipairs(list) do if row[name] ~= nil and row[name] ~= false then return true end end
  end
  if not measured and not most and #machines == 0 and #threads == 0 then
    return "Numbers that the function of the sweep returned, not times that were measured."
  end
  local machine, told = #machines > 0 and table.concat(machines, "; ") or "Unknown machine", conditions_of(list)
  return ("%s%s%s. Points measured one after the other.%s%s%s"):format(machine,
    #threads > 0 and ", threads: " .. table.concat(threads, ", ") or "", #told > 0 and "; " .. table.concat(told, "; ") or "",
    measured and " Times are medians." or "",
    most and (" Spread (middle half over median) at most %.1f %%."):format(100 * most) or "",
    (any "unsafe" and " Some schedules have steps that were not judged (unsafe)." or "")
      .. (any "disturbed" and " Other work disturbed some measurements, so no point is marked as the best." or ""))
end

-- ---- making

local STYLES = {lines = "curves", bars = "curves", heat = "heat"}

local function taken_by(o, ...)
  local taken = {}
  for name in pairs(o.where or {}) do taken[name] = true end
  for _, name in ipairs {...} do taken[name] = true end
  return taken
end

local function all_numbers(values)
  for _, v in ipairs(values) do if not finite(v) then return false end end
  return true
end

-- Raises an error if an option is given that the style does not use.
local function check_fits(o, style)
  local log = o.log
  if style == "heat" and o.by ~= nil then fail("style = 'lines'", "a heat map has no curves: by = '%s'", tostring(o.by)) end
  if style ~= "heat" and o.value ~= nil then fail("style = 'heat'", "value applies to heat maps only; write y = '%s'",
    tostring(o.value)) end
  if style == "heat" and log and log ~= "" then fail("log = '' for plain colours", "a heat map has no logarithmic axes") end
  if style == "bars" and log and log ~= "" then fail("style = 'lines'",
    "bars start at zero, which a logarithmic axis cannot show") end
end

local function check_best(best, measured)
  if best == nil then return measured and "min" or nil end
  if best == "min" or best == "max" then return best end
  if best ~= false then fail(nil, "best must be 'min', 'max' or false, not '%s'", tostring(best)) end
end

-- Returns the curves of a sweep. There is one series per column, or one series per value of another parameter.
local function series_of(list, names, by, o)
  local out = {}
  if by and #names > 1 then fail(nil, "several columns cannot be combined with by = '%s'", by) end
  for _, name in ipairs(names) do
    local kind = kind_of(list, name, o.unit)
    for _, v in ipairs(by and values_of(list, by) or {true}) do
      local s = {name = by and ("%s = %s"):format(by, sweep.text(v)) or title_of(name, kind), kind = kind, points = {}}
      for _, row in ipairs(list) do
        if not by or row[by] == v then s.points[#s.points + 1] = point_of(row, kind) end
      end
      out[#out + 1] = s
    end
  end
  return out
end

local function curves(s, o, list, style)
  local x = o.x and check_param(s, "x", o.x)
  local by = o.by and check_param(s, "by", o.by)
  local free = varying(s, list, taken_by(o, x, by))
  x = x or table.remove(free, 1) or s.params[1]
  if not by and #free == 1 and type(o.y) ~= "table" then by = free[1] end
  check_all_told(s, list, taken_by(o, x, by))
  local names = type(o.y) == "table" and o.y or {o.y or usual_column(s, list)}
  if #names == 0 then fail(nil, "y: expected at least one column") end
  for _, name in ipairs(names) do check_column(s, list, name) end
  local values = values_of(list, x)
  style = style or all_numbers(values) and "lines" or "bars"
  if style == "lines" and not all_numbers(values) then fail("style = 'bars'", "x: the values of %s are not numbers", x) end
  local series, titles, measured = series_of(list, names, by, o), {}, false
  for n, name in ipairs(names) do titles[n] = title_of(name, kind_of(list, name, o.unit)) end
  for _, one in ipairs(series) do measured = measured or one.kind.measured end
  return {style = style, x = x, values = values, series = series, column = table.concat(titles, ", "), across = #names > 1,
    measured = measured}
end

local function heat(s, o, list)
  local x = o.x and check_param(s, "x", o.x)
  local y = o.y and check_param(s, "y", o.y)
  local free = varying(s, list, taken_by(o, x, y))
  x = x or table.remove(free, 1)
  y = y or table.remove(free, 1)
  if not x or not y or x == y then fail("style = 'lines'", "a heat map needs two parameters with several values") end
  check_all_told(s, list, taken_by(o, x, y))
  local column = check_column(s, list, o.value or usual_column(s, list))
  local kind = kind_of(list, column, o.unit)
  return {style = "heat", x = x, y = y, values = values_of(list, x), rows = values_of(list, y), column = title_of(column, kind),
    kind = kind, measured = kind.measured, list = list}
end

--- What front.lua uses to read a sweep, too.
sweep.parts = {chosen = chosen, values_of = values_of, varying = varying, check_param = check_param, check_column = check_column,
  kind_of = kind_of, finite = finite}

--- Makes the picture. s: a sweep; o: the parsed options of sweep:plot. s.small: the small print, if the sweep was not measured;
--- s.titles: titles of columns in the picture.
function sweep.make(s, o)
  local list = chosen(s, o.where)
  local is_heat = o.style == "heat" or o.style == nil and o.value ~= nil
  local d = is_heat and heat(s, o, list) or curves(s, o, list, o.style)
  check_fits(o, d.style)
  d.column = s.titles and s.titles[d.column] or d.column
  d.log, d.unit = o.log, o.unit and errors.expect("plot: unit", o.unit, "string")
  d.small = s.small or sweep.small_print(list, d.measured)
  d.better = check_best(o.best, d.measured)
  local title = o.title or (is_heat and d.column or ("%s over %s"):format(d.column, d.x))
  d.title = errors.expect("plot: title", title, "string")
  if is_heat then
    d.points = {}
    for n, row in ipairs(list) do d.points[n] = point_of(row, d.kind) end
  end
  return plot.new(require("nestwright.plots." .. STYLES[d.style]).make(d))
end

return sweep
