--- Draws measured times as bars, as points, or as speed-ups over the first time, with one row per time. Rows are not sorted by
--- time.
local axis = require "nestwright.plots.axis"
local errors = require "nestwright.language.errors"
local figure = require "nestwright.plots.figure"
local fit = require "nestwright.plots.fit"
local gnuplot = require "nestwright.plots.gnuplot"
local plot = require "nestwright.plots.plot"
local times = require "nestwright.measure.times"
local written = require "nestwright.show.written"

local pictures = {}

local MOST = 60 -- the largest number of rows
local FAR = 20 -- if times differ by more than this factor, the shortest bars on a linear axis would be too short to see
local ROW, HEAD = 30, 26 -- pixels: the heights of a row, and of the headings of the columns
local SMALL, NAME, COLUMN, VERDICT, BRACKET = 10, 36, 90, 160, 12 -- pixels; NAME is a number of characters

local colour, seconds = figure.colour, written.seconds

-- ---- distinguishable rows

-- Returns, for the start of each middle half (the range between the quartiles), the set of rows whose middle halves contain this
-- time. Every maximal set of rows whose middle halves have a time in common is one of these sets.
local function sets_of(list)
  local out = {}
  for _, start in ipairs(list) do
    local set = {}
    for n, r in ipairs(list) do
      if start.lo and r.lo and r.lo <= start.lo and start.lo <= r.hi then set[#set + 1] = n end
    end
    if #set > 1 then out[#out + 1] = set end
  end
  return out
end

local function within(a, b)
  local has = {}
  for _, n in ipairs(b) do has[n] = true end
  for _, n in ipairs(a) do if not has[n] then return false end end
  return true
end

--- Returns the maximal sets of rows that are not distinguishable from each other, as lists of row numbers. Each set has at least
--- two rows.
function pictures.alike(list)
  local sets, out = sets_of(list), {}
  for k, set in ipairs(sets) do
    local inside = false
    for j, other in ipairs(sets) do
      inside = inside or j ~= k and within(set, other) and (#other > #set or j < k)
    end
    if not inside then out[#out + 1] = set end
  end
  return out
end

-- ---- drawn values

local function row_of(t, base)
  local r = {label = t.label, time = t, refused = t.refused}
  if t.refused then return r end
  r.min, r.median = t.min, t.median
  r.lo, r.hi = times.half(t)
  r.ratio, r.first = base.median / t.median, t == base.time
  if r.lo and base.lo then r.ratio_lo, r.ratio_hi = base.lo / r.hi, base.hi / r.lo end
  local apart = times.distinguishable(t, base.time)
  r.same, r.unknown = not r.first and apart == false, not r.first and apart == nil
  return r
end

local function rows_of(c)
  local base = {time = c.base, median = c.base and c.base.median}
  if c.base then base.lo, base.hi = times.half(c.base) end
  local out = {}
  for n, t in ipairs(c) do out[n] = row_of(t, base) end
  return out
end

-- Returns the range of the drawn values. The field `at` of a row is always known; `low` and `high` may be unknown.
local function extent(list, low, at, high)
  local lo, hi = math.huge, 0
  for _, r in ipairs(list) do
    if not r.refused then lo, hi = math.min(lo, r[low] or r[at]), math.max(hi, r[high] or r[at]) end
  end
  return lo, hi
end

local function time_tick(v) return v == 0 and "0" or seconds(v) end
local function ratio_tick(v) return ("%gx"):format(v) end

local STYLES = {
  bars = {from = "min", lo = "lo", at = "median", hi = "hi", write = time_tick,
    axis = "time (bar: median; line: middle half; tick: fastest)"},
  points = {from = "min", lo = "lo", at = "median", hi = "hi", write = time_tick,
    axis = "time (point: median; line: middle half; tick: fastest)"},
  speedup = {from = "ratio_lo", lo = "ratio_lo", at = "ratio", hi = "ratio_hi", write = ratio_tick,
    axis = "speed-up over the first (of medians; line: from the middle halves of both)"},
}

local function style_of(list, name)
  local lo, hi = extent(list, "median", "median", "median")
  return name or (hi > FAR * lo and "points" or "bars")
end

-- Returns the range of the axis, whether it is logarithmic, and the start of the bars.
local function axis_of(list, name)
  local style = STYLES[name]
  local lo, hi = extent(list, style.from, style.at, style.hi)
  if name == "bars" then return 0, hi * 1.05, false, 0 end
  if name == "speedup" then
    local log = hi > FAR or lo < 1 / FAR
    if log then return math.min(lo, 1) / 1.3, math.max(hi, 1) * 1.3, true, 1 end
    return 0, math.max(hi, 1) * 1.05, false, 0
  end
  if hi > 4 * lo then return lo / 1.3, hi * 1.3, true end
  local pad = math.max((hi - lo) * 0.15, hi * 0.02)
  return lo - pad, hi + pad, false
end

-- Returns the kind of a row. The bar of the first row is plain. Any other bar is filled if its time is distinguishable from the
-- first time, hatched if it is not, and empty if this is unknown. A time that other work disturbed is hatched in another colour.
local function kind_of(r)
  if r.time.disturbed then return "disturbed" end
  return r.first and "first" or r.same and "same" or r.unknown and "unknown" or "told"
end

local KINDS = {
  {name = "first", fill = "solid 0.45", colour = colour.grey, point = 7},
  {name = "told", fill = "solid 0.8", colour = colour.blue, point = 7},
  {name = "same", fill = "pattern 4", colour = colour.blue, point = 6},
  {name = "unknown", fill = "empty", colour = colour.blue, point = 4},
  {name = "disturbed", fill = "pattern 1", colour = colour.red, point = 2},
}

local function bar_parts(f, list, style, from, parts)
  for _, kind in ipairs(KINDS) do
    local boxes = {}
    for n, r in ipairs(list) do
      if not r.refused and kind.name == kind_of(r) then
        local y, at = #list - n, r[style.at]
        boxes[#boxes + 1] = {from, y, math.min(from, at), math.max(from, at), y - 0.32, y + 0.32}
      end
    end
    if #boxes > 0 then
      local how = "%s using 1:2:3:4:5:6 with boxxyerror fillstyle %s border lc rgb '%s' fillcolor rgb '%s' notitle"
      parts[#parts + 1] = how:format(f:data(boxes, "bars"), kind.fill, kind.colour, kind.colour)
    end
  end
end

local function point_parts(f, list, style, parts)
  for _, kind in ipairs(KINDS) do
    local points = {}
    for n, r in ipairs(list) do
      if not r.refused and kind.name == kind_of(r) then points[#points + 1] = {r[style.at], #list - n} end
    end
    if #points > 0 then
      parts[#parts + 1] = ("%s using 1:2 with points pt %d ps 0.8 lc rgb '%s' notitle"):format(f:data(points, "points"), kind.point,
        kind.colour)
    end
  end
end

-- Adds the middle halves and the fastest times.
local function spread_parts(f, list, style, name, parts)
  local halves, fastest = {}, {}
  for n, r in ipairs(list) do
    local y = #list - n
    if r[style.lo] then halves[#halves + 1] = {r[style.at], y, r[style.lo], r[style.hi]} end
    if r.min then fastest[#fastest + 1] = {r.min, y - 0.2, 0, 0.4} end
  end
  if #halves > 0 then
    parts[#parts + 1] = f:data(halves, "halves") .. " " .. figure.ALONG .. " lw 1.5 lc rgb '#000000' notitle"
  end
  if name ~= "speedup" and #fastest > 0 then
    parts[#parts + 1] = f:data(fastest, "fastest") .. " using 1:2:3:4 with vectors nohead lw 2 lc rgb '#000000' notitle"
  end
end

-- ---- text beside the rows

local function label(text, x, y, how)
  return ("set label %s at %s, %s noenhanced %s"):format(gnuplot.quote(text), x, y, how)
end

local GREY = " textcolor rgb '#666666'"
local TIME, AGAINST = 78, 92 -- pixels from the end of the axis to the end of the time, and to the start of the verdict

-- Returns a position that is this many pixels after the right end of a panel of this width.
local function behind(pixels, wide) return ("graph %.4f"):format(1 + pixels / wide) end

local function name_of(r) return written.shortened(r.label, NAME) .. times.marks(r.time) end

local function row_labels(list, wide, out)
  for n, r in ipairs(list) do
    local y = ("first %d"):format(#list - n)
    out[#out + 1] = label(name_of(r), ("graph %.4f"):format(-8 / wide), y, "right")
    if r.refused then
      out[#out + 1] = label(fit.shortened(r.refused, wide * 0.98, figure.TICK), "graph 0.01", y, "left" .. GREY)
      out[#out + 1] = label("refused", behind(TIME, wide), y, "right" .. GREY)
    else
      local said = r.time.disturbed and "disturbed" or r.first and "" or r.unknown and "no verdict"
        or r.same and "not distinguishable" or written.times(r.ratio)
      out[#out + 1] = label(seconds(r.median), behind(TIME, wide), y, "right")
      out[#out + 1] = label(said, behind(AGAINST, wide), y, "left")
    end
  end
end

local function head_labels(list, base, sets, wide, out)
  local function head(text, pixels, side)
    out[#out + 1] = label(text, behind(pixels, wide), "graph 1 offset 0,0.8", ("%s font ',%d'"):format(side, SMALL) .. GREY)
  end
  head("median", TIME, "right")
  if #list > 1 then head(fit.shortened("against " .. base.label, COLUMN + VERDICT - AGAINST, SMALL), AGAINST, "left") end
  if #sets > 0 then head("alike", COLUMN + VERDICT + BRACKET * #sets, "right") end
end

local function line(x1, y1, x2, y2)
  return ("set arrow from graph %.4f, first %.3f to graph %.4f, first %.3f nohead lw 1.5 lc rgb '%s'"):format(x1, y1, x2, y2,
    colour.grey)
end

-- Draws a line along the rows of each set, with a tick at each row.
local function bracket_lines(list, sets, wide, out)
  for k, set in ipairs(sets) do
    local x, tooth = 1 + (COLUMN + VERDICT + BRACKET * k) / wide, 6 / wide
    out[#out + 1] = line(x, #list - set[1] + 0.25, x, #list - set[#set] - 0.25)
    for _, n in ipairs(set) do out[#out + 1] = line(x - tooth, #list - n, x, #list - n) end
  end
end

local function left_of(list)
  local names = {}
  for n, r in ipairs(list) do names[n] = name_of(r) end
  return 24 + math.ceil(fit.widest(names, figure.TICK))
end

local function times_panel(f, list, name, c, sets)
  local style, left = STYLES[name], left_of(list)
  local right = f.width - COLUMN - VERDICT - BRACKET * (#sets + 1)
  local lo, hi, log, from = axis_of(list, name)
  local out, parts = {axis.commands("x", lo, hi, log, style.write), ("set yrange [-0.6:%d - 0.4]"):format(#list),
    "unset ytics; set border 1; set xtics nomirror; set grid xtics lc rgb '#E4E4E4'",
    ("set xlabel %s noenhanced"):format(gnuplot.quote(style.axis))}, {}
  row_labels(list, right - left, out)
  head_labels(list, c.base, sets, right - left, out)
  bracket_lines(list, sets, right - left, out)
  if name == "speedup" then out[#out + 1] = "set arrow from 1, graph 0 to 1, graph 1 nohead dt 2 lc rgb '#000000' back" end
  if from then bar_parts(f, list, style, from, parts) else point_parts(f, list, style, parts) end
  spread_parts(f, list, style, name, parts)
  f:panel({left = left, right = right, top = f.bottom + HEAD, height = ROW * #list}, out, parts)
end

-- ---- captions

local function about_row(r, base)
  local name = r.label .. times.marks(r.time)
  if r.refused then return ("%s: refused: %s"):format(name, r.refused) end
  local said = ("%s: %s %s"):format(name, r.time.fastest_alone and "fastest" or "median", seconds(r.median))
  said = said .. (r.lo and (", middle half %s to %s"):format(seconds(r.lo), seconds(r.hi)) or ", spread unknown")
  if r.min and not r.time.fastest_alone then said = said .. ", fastest " .. seconds(r.min) end
  if r.time.disturbed then return said .. "; other work disturbed the measurement, so there is no verdict" end
  if r.first then return said end
  if r.unknown then return ("%s; no verdict against %s: the middle halves of both are needed"):format(said, base.label) end
  if r.same then return ("%s; not distinguishable from %s"):format(said, base.label) end
  return ("%s; %s times as fast as %s"):format(said, written.times(r.ratio):gsub("x$", ""), base.label)
end

local function about_sets(list, sets, out)
  for _, set in ipairs(sets) do
    local names = {}
    for n, at in ipairs(set) do names[n] = list[at].label end
    out[#out + 1] = "Not distinguishable from each other: " .. table.concat(names, ", ") .. "."
  end
end

local function spread_words(list)
  local most, unknown = nil, false
  for _, r in ipairs(list) do
    if r.time.spread then most = math.max(most or 0, r.time.spread) end
    unknown = unknown or not r.refused and not r.time.spread
  end
  if not most then return "Spread unknown." end
  return ("Spread (middle half over median) at most %.1f %%%s."):format(100 * most, unknown and ", for some unknown" or "")
end

-- Returns the different values of a field, in the order of the rows. Each value after the first follows the label of its row.
local function values_of(list, field)
  local out, seen = {}, {}
  for _, r in ipairs(list) do
    local v = r.time[field]
    if v and not seen[v] then
      seen[v] = true
      out[#out + 1] = #out == 0 and tostring(v) or ("%s: %s"):format(written.shortened(r.label, NAME), v)
    end
  end
  return out
end

-- Returns a sentence with the entries that were not measured in turn with the others, or "".
local function elsewhere(list, c)
  local names = {}
  for _, r in ipairs(list) do if r.time and r.time.elsewhere then names[#names + 1] = written.shortened(r.label, NAME) end end
  return c.rounds and #names > 0 and (" Measured elsewhere: %s."):format(table.concat(names, ", ")) or ""
end

--- Returns the small print: the machine, the threads, the repetitions and the spread of the drawn times. list: {label, time,
--- refused}; c: the comparison, with `rounds` if the times were measured in turn.
function pictures.small_print(list, c)
  local machines, threads = values_of(list, "machine"), values_of(list, "threads")
  local told = values_of(list, "conditions")
  return ("%s. %s%s%s. %s"):format(
    #machines > 0 and table.concat(machines, "; ") or "Unknown machine",
    c.rounds and ("Measured in turn, %d rounds"):format(c.rounds) or "Measured separately",
    #threads > 0 and ", threads: " .. table.concat(threads, ", ") or "", #told > 0 and "; " .. table.concat(told, "; ") or "",
    spread_words(list)) .. elsewhere(list, c)
end

local ALIKE = " Rows that are marked as alike are not distinguishable, because the middle halves of their times overlap."

local COLUMNS = {"label", "min", "median", "q1", "q3", "speedup", "verdict", "threads", "machine", "refused", "conditions"}

local function data_of(list)
  local out = {}
  for n, r in ipairs(list) do
    local t = r.time
    out[n] = {r.label, r.min, r.median, r.lo, r.hi, r.ratio, t.verdict, t.threads, t.machine, r.refused, t.conditions}
  end
  return out
end

local function check(c)
  if #c > MOST then
    errors.fail("limit", "plot fewer of them: nw.timings{a = t[1], b = t[2]}", "plot: %d times are too many: at most %d are drawn",
      #c, MOST)
  elseif not c.base then
    errors.fail("invalid", nil, "plot: nothing was measured: %s", c[1] and c[1].refused or "there are no times")
  end
end

local TITLES = {bars = "times", points = "times", speedup = "speed-up", steps = "time after each step"}

-- Returns a figure, the pixels below its panel, and the small print about indistinguishable times.
local function draw(list, name, c, sets, title)
  if name == "steps" then
    local f, under = require "nestwright.plots.steps".figure(list, title)
    local base = written.shortened(c.base.label, NAME)
    return f, under, (" The number at each point is the speed-up of the medians over %s; ≈ 1x means not distinguishable from "
      .. "it."):format(base)
  end
  local f = figure.new {title = title}
  times_panel(f, list, name, c, sets)
  return f, figure.AXIS, #sets > 0 and ALIKE or ""
end

--- Makes the picture. c: a comparison; o: style, title.
function pictures.make(c, o)
  check(c)
  local list, about = rows_of(c), {}
  local name, sets = style_of(list, o.style or c.style), pictures.alike(list)
  local f, under, alike = draw(list, name, c, sets, errors.expect("plot: title", o.title or TITLES[name], "string"))
  local small = pictures.small_print(list, c) .. alike
  for n, r in ipairs(list) do about[n] = about_row(r, c.base) end
  about_sets(list, sets, about)
  about[#about + 1] = small
  local script, size = f:finish(under, small)
  return plot.new {caption = table.concat(about, "\n"), columns = COLUMNS, rows = data_of(list), script = script, size = size}
end

return pictures
