--- Draws a sweep over one parameter as curves, each with a band between its quartiles, or as groups of bars.
local axis = require "nestwright.plots.axis"
local errors = require "nestwright.language.errors"
local figure = require "nestwright.plots.figure"
local fit = require "nestwright.plots.fit"
local gnuplot = require "nestwright.plots.gnuplot"
local sweep = require "nestwright.plots.sweep"
local written = require "nestwright.show.written"

local curves = {}

local LEFT, HEIGHT, STRIP = 100, 340, 16 -- pixels; STRIP is the height of a row of refused points
local MOST, NAME = 12, 28 -- the largest number of series, and of characters of a name
local SMALL, LINE = 10, 15 -- pixels: the size of a font, and the height of a line
local FAR = 8 -- the axis is logarithmic if the largest value exceeds the smallest by this factor
local MARKS = {7, 5, 9, 13, 11, 6, 4, 8, 12, 10, 2, 3} -- gnuplot's shapes, filled ones first
local FILLS = {"solid 0.75", "pattern 4", "pattern 1", "solid 0.25", "pattern 5", "pattern 2", "pattern 6", "pattern 7"}

local function colour_of(n) return figure.series[(n - 1) % #figure.series + 1] end

-- ---- axes

local function is_power_of_two(v)
  local n = math.tointeger(v)
  return n ~= nil and n > 0 and n & (n - 1) == 0
end

local function all(list, test)
  for _, v in ipairs(list) do if not test(v) then return false end end
  return true
end

local function is_positive(v) return v > 0 end

local function check_positive(which, list)
  if all(list, is_positive) then return end
  errors.fail("invalid", "log = ''", "plot: log: %s has values that are not above 0", which)
end

-- Returns the command for ticks at the given values. A value gets no tick if its label has no room. place(v): the x position in
-- pixels.
local function x_tics(values, place)
  local tics, last = {}, -math.huge
  for _, v in ipairs(values) do
    local text = sweep.text(v)
    local at, room = place(v), fit.width(text, figure.TICK) + 12
    if at - last >= room then
      tics[#tics + 1] = ("'%s' %.9g"):format(text, v)
      last = at
    end
  end
  return ("set xtics (%s)"):format(table.concat(tics, ", "))
end

-- Returns the least distance between neighbouring values, as a fraction of the length of the axis.
local function least_gap(sorted, value)
  local least, whole = 1, value(sorted[#sorted]) - value(sorted[1])
  for n = 2, #sorted do least = math.min(least, (value(sorted[n]) - value(sorted[n - 1])) / whole) end
  return least
end

local function itself(v) return v end

-- True if a logarithmic axis is better. It is better for powers of two, and for values of very different size.
local function is_for_powers(sorted)
  local lo, hi = sorted[1], sorted[#sorted]
  if lo <= 0 or hi < 4 * lo then return false end
  if all(sorted, is_power_of_two) then return true end
  return hi >= FAR * lo and least_gap(sorted, math.log) > 2 * least_gap(sorted, itself)
end

local function number_axis(d, wide)
  local sorted = table.move(d.values, 1, #d.values, 1, {})
  table.sort(sorted)
  local lo, hi = sorted[1], sorted[#sorted]
  local log = d.log and d.log:find "x" or not d.log and is_for_powers(sorted)
  if log then
    check_positive("x", sorted)
    local pad = (hi / lo) ^ 0.04 * (hi == lo and 2 or 1)
    lo, hi = lo / pad, hi * pad
    local place = function(v) return wide * math.log(v / lo) / math.log(hi / lo) end
    return ("set logscale x 2; set xrange [%.9g:%.9g]; "):format(lo, hi) .. x_tics(sorted, place)
  end
  local pad = hi > lo and (hi - lo) * 0.04 or math.max(math.abs(hi), 1) * 0.5
  lo, hi = lo - pad, hi + pad
  return ("set xrange [%.9g:%.9g]; "):format(lo, hi) .. x_tics(sorted, function(v) return wide * (v - lo) / (hi - lo) end)
end

-- Returns the commands for an axis on which the values are evenly spaced, with their names below it. Also returns the pixels that
-- the names need below the axis, or 0 if they are horizontal.
local function group_axis(d, wide)
  local out, step = {("set xrange [0.4:%d.6]; unset xtics"):format(#d.values)}, wide / #d.values
  local names = {}
  for n, v in ipairs(d.values) do names[n] = written.shortened(sweep.text(v), NAME) end
  local long = fit.widest(names, SMALL)
  local turned = long + 8 > step
  for n, name in ipairs(names) do
    out[#out + 1] = ("set label %s at first %d, graph -0.04 %s noenhanced font ',%d'"):format(gnuplot.quote(name), n,
      turned and "right rotate by 35" or "center", SMALL)
  end
  return table.concat(out, "\n"), turned and long * 0.6 or 0
end

local function y_range(d)
  local lo, hi = math.huge, -math.huge
  for _, s in ipairs(d.series) do
    for _, p in ipairs(s.points) do
      if p.value then lo, hi = math.min(lo, p.lo), math.max(hi, p.hi) end
    end
  end
  if lo > hi then errors.fail("invalid", nil, "plot: nothing was measured: %s", curves.why(d)) end
  local log = d.log and d.log:find "y" or not d.log and d.style == "lines" and lo > 0 and hi > FAR * lo
  if log then
    check_positive("y", {lo})
    return lo / 1.3, hi * 1.4, true
  end
  if d.style == "bars" or lo >= 0 and hi > 1.6 * lo then
    return math.min(0, lo * 1.08), math.max(0, hi * 1.08) + (lo == hi and hi == 0 and 1 or 0)
  end
  local pad = math.max((hi - lo) * 0.12, math.abs(hi) * 0.03, 1e-12)
  return lo - pad, hi + pad
end

-- Returns the reason why the first refused point was refused, or a general reason if there is none.
function curves.why(d)
  for _, s in ipairs(d.series) do
    for _, p in ipairs(s.points) do if p.refused then return p.refused end end
  end
  return "there are no numbers"
end

-- ---- curves

-- Returns the points of a series in the order of x, with a gap where nothing was measured.
local function in_order(d, s)
  local at, out = {}, {}
  for _, p in ipairs(s.points) do at[p.row[d.x]] = p end
  local sorted = table.move(d.values, 1, #d.values, 1, {})
  table.sort(sorted)
  for n, v in ipairs(sorted) do out[n] = at[v] or {row = {[d.x] = v}} end
  return out
end

local function line_parts(f, d, n, s, parts)
  local line, band, bars = {}, {}, {}
  for k, p in ipairs(in_order(d, s)) do
    local x = p.row[d.x]
    line[k], band[k] = p.value and {x, p.value} or "", p.value and {x, p.lo, p.hi} or ""
    if p.value and p.spread then bars[#bars + 1] = {x, p.value, p.lo, p.hi} end
  end
  local colour = colour_of(n)
  if #bars > 0 then
    local how = "%s using 1:2:3 with filledcurves fillstyle transparent solid 0.2 noborder fillcolor rgb '%s' notitle"
    parts[#parts + 1] = how:format(f:data(band, "band"), colour)
    parts[#parts + 1] = ("%s %s lw 1 lc rgb '%s' notitle"):format(f:data(bars, "halves"), figure.UPRIGHT, colour)
  end
  parts[#parts + 1] = ("%s using 1:2 with linespoints lw 1.8 dt %d pt %d ps 0.7 lc rgb '%s' notitle"):format(f:data(line, "curve"),
    (n - 1) % 5 + 1, MARKS[n], colour)
end

-- ---- bars

local function bar_parts(f, d, n, s, parts)
  local at, boxes, halves = {}, {}, {}
  for k, v in ipairs(d.values) do at[v] = k end
  local wide = 0.8 / #d.series
  for _, p in ipairs(s.points) do
    if p.value then
      local x = at[p.row[d.x]] - 0.4 + wide * (n - 0.5)
      boxes[#boxes + 1] = {x, p.value / 2, x - wide * 0.45, x + wide * 0.45, math.min(0, p.value), math.max(0, p.value)}
      if p.spread then halves[#halves + 1] = {x, p.value, p.lo, p.hi} end
    end
  end
  if #boxes > 0 then
    parts[#parts + 1] = ("%s using 1:2:3:4:5:6 with boxxyerror fillstyle %s border lc rgb '%s' fillcolor rgb '%s' notitle"):format(
      f:data(boxes, "bars"), FILLS[(n - 1) % #FILLS + 1], colour_of(n), colour_of(n))
  end
  if #halves > 0 then
    parts[#parts + 1] = f:data(halves, "halves") .. " " .. figure.UPRIGHT .. " lw 1.2 lc rgb '#000000' notitle"
  end
end

-- Returns the x position of a point of a series.
local function place(d, n, p)
  if d.style == "lines" then return p.row[d.x] end
  for k, v in ipairs(d.values) do
    if v == p.row[d.x] then return k - 0.4 + 0.8 / #d.series * (n - 0.5) end
  end
end

-- ---- marks

-- Draws a ring around the best point of each series, and squares around the points that are not distinguishable from it.
local function ring_part(f, d, parts)
  local rings = {}
  for n, s in ipairs(d.series) do
    for _, p in ipairs(s.points) do
      if p.best or p.alike then rings[#rings + 1] = {place(d, n, p), p.value, p.best and 1 or 2} end
    end
  end
  if #rings == 0 then return end
  local name = f:data(rings, "best")
  for kind, how in ipairs {"lw 2 dt 1", "lw 1 dt 1"} do
    parts[#parts + 1] = ("%s using 1:($3 == %d ? $2 : NaN) with points pt %d ps %g %s lc rgb '#000000' notitle"):format(name, kind,
      kind == 1 and 6 or 4, kind == 1 and 1.6 or 1.5, how)
  end
end

-- Draws a strip above the picture, with one row for each series that has refused points. Returns false if there are none.
local function refused_strip(f, d, set, right)
  local list = {}
  for n, s in ipairs(d.series) do
    local at = {}
    for _, p in ipairs(s.points) do if p.refused then at[#at + 1] = {place(d, n, p)} end end
    if #at > 0 then list[#list + 1] = {n = n, at = at} end
  end
  if #list == 0 then return false end
  local parts, out = {}, {set, "unset xtics; unset ytics; unset border", ("set yrange [-0.5:%d - 0.5]"):format(#list)}
  for k, s in ipairs(list) do
    for _, at in ipairs(s.at) do at[2] = #list - k end
    parts[k] = ("%s using 1:2 with points pt 2 ps 1 lw 2 lc rgb '%s' notitle"):format(f:data(s.at, "refused"), colour_of(s.n))
  end
  out[#out + 1] = "set label 'refused' at graph -0.012, graph 0.5 right font ',10'"
  f:panel({left = LEFT, right = right, top = f.bottom, height = STRIP * #list}, out, parts)
  return true
end

-- ---- names at the ends of the curves

-- Separates labels that are too close to each other. The centre of a group of such labels is the mean of their preferred positions.
local function spread_out(list)
  local groups = {}
  for _, e in ipairs(list) do
    local g = {at = e.at, n = 1, from = e.at - LINE / 2, e}
    while groups[#groups] and g.from < groups[#groups].from + LINE * groups[#groups].n do
      local before = table.remove(groups)
      table.move(g, 1, g.n, before.n + 1, before)
      before.at, before.n = (before.at * before.n + g.at * g.n) / (before.n + g.n), before.n + g.n
      before.from, g = before.at - LINE * before.n / 2, before
    end
    groups[#groups + 1] = g
  end
  for _, g in ipairs(groups) do
    local from = math.max(0, math.min(g.from, HEIGHT - LINE * g.n))
    for k = 1, g.n do g[k].y = from + LINE * (k - 0.5) end
  end
  return list
end

-- Returns, for each series, the pixels from the top of the panel to its last point and to its name.
local function ends_of(d, lo, hi, log)
  local out = {}
  for n, s in ipairs(d.series) do
    local last
    for _, p in ipairs(in_order(d, s)) do if p.value then last = p end end
    if last then
      local share = log and math.log(last.value / lo) / math.log(hi / lo) or (last.value - lo) / (hi - lo)
      out[#out + 1] = {n = n, name = written.shortened(s.name, NAME), at = HEIGHT * (1 - share)}
    end
  end
  table.sort(out, function(a, b) return a.at < b.at end)
  return spread_out(out)
end

local function end_labels(f, d, top, right, lo, hi, log)
  for _, e in ipairs(ends_of(d, lo, hi, log)) do
    f:line(right - 8, top + e.at, right + 10, top + e.y, ("nohead lw 0.7 lc rgb '%s'"):format(colour_of(e.n)))
    f:text(right + 14, top + e.y, e.name, {size = SMALL, colour = colour_of(e.n)})
  end
end

local function bar_key(d)
  local out = {}
  for n, s in ipairs(d.series) do
    out[n] = {text = written.shortened(s.name, NAME), fill = FILLS[(n - 1) % #FILLS + 1], colour = colour_of(n)}
  end
  return out
end

-- ---- making

local function margin(d)
  if d.style == "bars" or #d.series == 1 then return 30 end
  local names = {}
  for n, s in ipairs(d.series) do names[n] = written.shortened(s.name, NAME) end
  return 30 + fit.widest(names, SMALL)
end

local MARK = {best = "best", alike = "not distinguishable from the best"}

local function rows_of(d)
  local out = {}
  for _, s in ipairs(d.series) do
    for _, p in ipairs(s.points) do
      out[#out + 1] = {p.row[d.x], s.name, p.value, p.spread and p.lo or nil, p.spread and p.hi or nil,
        p.refused and "refused: " .. p.refused or p.odd and "not drawn: " .. p.odd or p.best and MARK.best
          or p.alike and MARK.alike or nil}
    end
  end
  return out
end

local function label_commands(d, under)
  local bars = d.style == "bars"
  return ("set border 3; %sset ytics nomirror; set grid ytics lc rgb '#E4E4E4'\nset ylabel %s noenhanced offset -1; "
    .. "set xlabel %s noenhanced offset 0,%d"):format(bars and "" or "set xtics nomirror; ",
    gnuplot.quote(written.shortened(d.column, 50)), gnuplot.quote(written.shortened(d.x, 60)), bars and -1 - under // 16 or 0)
end

-- Draws the panel. Returns the pixels that its labels need below it, in addition to figure.AXIS.
local function draw(f, d, write)
  local right, parts, lines = f.width - math.ceil(margin(d)), {}, d.style == "lines"
  local lo, hi, log = y_range(d)
  local set, under = (lines and number_axis or group_axis)(d, right - LEFT)
  if lines then under = 0 end
  local strip = refused_strip(f, d, lines and set or ("set xrange [0.4:%d.6]"):format(#d.values), right)
  local out = {set, axis.commands("y", lo, hi, log, write), label_commands(d, under)}
  for n, s in ipairs(d.series) do (lines and line_parts or bar_parts)(f, d, n, s, parts) end
  ring_part(f, d, parts)
  local top = f.bottom + (strip and 4 or figure.GAP)
  if lines and #d.series > 1 then end_labels(f, d, top, right, lo, hi, log) end
  f:panel({left = LEFT, right = right, top = top, height = HEIGHT}, out, parts)
  return math.ceil(under) + (lines and 0 or 20)
end

-- Returns the entries of the key for the fillings of bars, and for the rings, squares and crosses that occur.
local function entries_of(d)
  local out, has = d.style == "bars" and #d.series > 1 and bar_key(d) or {}, {}
  for _, s in ipairs(d.series) do
    for _, p in ipairs(s.points) do
      has.best, has.alike, has.refused = has.best or p.best, has.alike or p.alike, has.refused or p.refused
    end
  end
  if has.best then out[#out + 1] = {text = "best", pt = 6, colour = figure.colour.black} end
  if has.alike then out[#out + 1] = {text = MARK.alike, pt = 4, colour = figure.colour.black} end
  if has.refused then out[#out + 1] = {text = "refused", pt = 2, colour = figure.colour.black} end
  return out
end

local function has_spread(d)
  for _, s in ipairs(d.series) do
    for _, p in ipairs(s.points) do if p.spread then return true end end
  end
  return false
end

-- Marks the best point of each series. If the series are columns of the sweep, marks the best column at each x instead. Returns
-- lines of text about the series and the best points.
local function mark(d, write)
  local about = {}
  for n, s in ipairs(d.series) do
    local best = not d.across and sweep.mark_best(s.points, d.better) or nil
    about[n] = sweep.about(s.name, s.points, best, d.x, write)
  end
  for _, v in ipairs(d.across and d.values or {}) do
    local points = {}
    for _, s in ipairs(d.series) do
      for _, p in ipairs(s.points) do
        p.series = s.name
        if p.row[d.x] == v then points[#points + 1] = p end
      end
    end
    local best = sweep.mark_best(points, d.better)
    if best then about[#about + 1] = sweep.about_best(d.x, v, points, best, write) end
  end
  return about
end

--- Makes the picture. d: style, x, values, series, column, across (true if the series are columns), unit, log, better, title,
--- small.
function curves.make(d)
  if #d.series > MOST then
    errors.fail("limit", "choose some of them by where = {...}", "plot: %d curves are too many: at most %d are drawn", #d.series,
      MOST)
  end
  local write = sweep.writer(d.series[1].kind, d.unit)
  local about = mark(d, write)
  local f = figure.new {title = d.title}
  local under = draw(f, d, write)
  f:key(entries_of(d))
  local small = d.small .. (has_spread(d) and " Bands and bars show the middle half of the times." or "")
  about[#about + 1] = small
  local script, size = f:finish(figure.AXIS + under, small)
  return {caption = table.concat(about, "\n"), columns = {d.x, "series", d.column, "q1", "q3", "note"}, rows = rows_of(d),
    script = script, size = size}
end

return curves
