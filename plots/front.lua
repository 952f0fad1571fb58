--- Draws two columns of a sweep against each other, both of which should be small, and the Pareto front: the points for which no
--- other point is better in one column and not worse in the other.
local axis = require "nestwright.plots.axis"
local errors = require "nestwright.language.errors"
local figure = require "nestwright.plots.figure"
local fit = require "nestwright.plots.fit"
local plot = require "nestwright.plots.plot"
local sweep = require "nestwright.plots.sweep"
local written = require "nestwright.show.written"

local front = {}

local colour = figure.colour
local WIDTH, LEFT, RIGHT, HEIGHT, SIDE, LINE, SMALL = 1000, 110, 590, 380, 612, 18, 10 -- pixels; SIDE: where the list begins
local FAR = 8 -- an axis is logarithmic if the largest value exceeds the smallest by this factor
local LISTED = 16 -- the most points of the front that are listed
local MARKS = {7, 5, 9, 13, 11, 6, 4, 8, 12, 10, 2, 3} -- gnuplot's shapes, filled ones first

-- ---- points

local SAME = 1e-9 -- numbers that differ less than this, relatively, differ by rounding only

-- Returns the points of the front, sorted by x. Of points that are equal in both columns, the first one counts.
local function front_of(points)
  local sorted, out = {table.unpack(points)}, {}
  table.sort(sorted, function(a, b)
    if a.x ~= b.x then return a.x < b.x end
    if a.y ~= b.y then return a.y < b.y end
    return a.n < b.n
  end)
  for _, p in ipairs(sorted) do
    local last = out[#out]
    if not last or p.y < last.y - SAME * math.abs(last.y) then
      out[#out + 1] = p
      p.front = #out
    end
  end
  return out
end

-- Returns the parameters that distinguish the points, as text.
local function name_of(p, params)
  local parts = {}
  for n, name in ipairs(params) do parts[n] = ("%s %s"):format(name, sweep.text(p.row[name])) end
  return #parts > 0 and table.concat(parts, ", ") or "the only point"
end

local function read_points(list, x, y, by)
  local out, missing = {}, 0
  for n, row in ipairs(list) do
    local a, b = sweep.parts.finite(row[x.value]), sweep.parts.finite(row[y.value])
    if a and b and not row.error then
      out[#out + 1] = {n = n, x = a, y = b, row = row, series = by and row[by]}
    else
      missing = missing + 1
    end
  end
  return out, missing
end

-- ---- drawing

local function range(points, key)
  local lo, hi = math.huge, -math.huge
  for _, p in ipairs(points) do lo, hi = math.min(lo, p[key]), math.max(hi, p[key]) end
  local log = lo > 0 and hi > FAR * lo
  if log then return {lo = lo / 1.25, hi = hi * 1.25, log = true} end
  local edge = hi > lo and 0.08 * (hi - lo) or math.max(math.abs(hi), 1) * 0.1
  return {lo = lo >= 0 and math.max(0, lo - edge) or lo - edge, hi = hi + edge}
end

local function style_of(n) return MARKS[(n - 1) % #MARKS + 1], figure.series[(n - 1) % #figure.series + 1] end

local function panel(f, d)
  local parts, steps, rings = {}, {}, {}
  for n, p in ipairs(d.front) do steps[n], rings[n] = {p.x, p.y}, {p.x, p.y} end
  parts[1] = ("%s using 1:2 with steps lw 1.5 lc rgb '%s' notitle"):format(f:data(steps, "front"), colour.black)
  for n, value in ipairs(d.series) do
    local data = {}
    for _, p in ipairs(d.points) do if p.series == value or value == true then data[#data + 1] = {p.x, p.y} end end
    local pt, of = style_of(n)
    if #data > 0 then
      parts[#parts + 1] = ("%s using 1:2 with points pt %d ps 0.9 lc rgb '%s' notitle"):format(f:data(data, "points"), pt, of)
    end
  end
  parts[#parts + 1] = ("%s using 1:2 with points pt 6 ps 1.9 lw 1.5 lc rgb '%s' notitle"):format(f:data(rings, "rings"),
    colour.black)
  local a, b = range(d.points, "x"), range(d.points, "y")
  local out = {axis.commands("x", a.lo, a.hi, a.log, d.write_x), axis.commands("y", b.lo, b.hi, b.log, d.write_y),
    "set grid lc rgb '#EEEEEE'", ("set xlabel %s noenhanced; set ylabel %s noenhanced"):format(d.quote(d.x), d.quote(d.y))}
  for n, p in ipairs(d.front) do
    if n > LISTED then break end
    out[#out + 1] = ("set label '%d' at %.9g,%.9g offset character 1.2,0.9 front font ',%d' textcolor rgb '%s'"):format(n, p.x, p.y,
      SMALL, colour.black)
  end
  f:panel({left = LEFT, right = RIGHT, top = f.bottom + 8, height = HEIGHT}, out, parts)
end

-- Lists the points of the front at the right of the panel.
local function list_front(f, d)
  local top = f.bottom - HEIGHT + 4
  f:text(SIDE, top, ("on the Pareto front: %s, %s"):format(d.x, d.y), {size = 11})
  for n, p in ipairs(d.front) do
    if n > LISTED then
      f:text(SIDE, top + LINE * n, ("and %d more"):format(#d.front - LISTED), {size = SMALL})
      break
    end
    local words = ("%d: %s: %s, %s"):format(n, name_of(p, d.params), d.write_x(p.x), d.write_y(p.y))
    f:text(SIDE, top + LINE * n, fit.shortened(words, WIDTH - SIDE - 8, SMALL), {size = SMALL})
  end
end

local function key_of(d)
  local out = {}
  for n, value in ipairs(d.by and d.series or {}) do
    local pt, of = style_of(n)
    out[n] = {text = ("%s = %s"):format(d.by, sweep.text(value)), pt = pt, colour = of}
  end
  out[#out + 1] = {text = "on the Pareto front", pt = 6, colour = colour.black}
  return out
end

local function caption_of(d)
  local out = {("%s over %s: %s, %d on the Pareto front%s"):format(d.y, d.x, written.plural(#d.points, "point"), #d.front,
    d.missing > 0 and (", %s without both numbers"):format(written.plural(d.missing, "more point")) or "")}
  for n, p in ipairs(d.front) do
    out[#out + 1] = ("%d: %s: %s %s, %s %s"):format(n, name_of(p, d.params), d.x, d.write_x(p.x), d.y, d.write_y(p.y))
  end
  return table.concat(out, "\n")
end

local function rows_of(d, s)
  local columns, out = {table.unpack(s.params)}, {}
  table.move({d.x, d.y, "front"}, 1, 3, #columns + 1, columns)
  for n, p in ipairs(d.points) do
    out[n] = {}
    for k, name in ipairs(s.params) do out[n][k] = p.row[name] end
    table.move({p.x, p.y}, 1, 2, #s.params + 1, out[n])
    out[n][#s.params + 3] = p.front
  end
  return columns, out
end

local function column_of(s, list, which, name)
  if type(name) ~= "string" then
    errors.fail("invalid", 'sweep:front {x = "cycles", y = "joules"}', "front: %s: name a column of the sweep", which)
  end
  return sweep.parts.kind_of(list, sweep.parts.check_column(s, list, name))
end

--- Makes the picture. s: a sweep; o: the parsed options of sweep:front.
function front.make(s, o)
  local list = sweep.parts.chosen(s, o.where)
  local x, y = column_of(s, list, "x", o.x), column_of(s, list, "y", o.y)
  local by = o.by and sweep.parts.check_param(s, "by", o.by)
  local points, missing = read_points(list, x, y, by)
  if by and #sweep.parts.values_of(list, by) > #MARKS then
    errors.fail("limit", "leave out by, or fix values with where",
      "front: by: %d values of %s are too many: at most %d can be drawn", #sweep.parts.values_of(list, by), by, #MARKS)
  end
  if #points == 0 then errors.fail("invalid", nil, "front: no point has finite numbers in both columns") end
  local d = {x = o.x, y = o.y, by = by, points = points, missing = missing, front = front_of(points),
    series = by and sweep.parts.values_of(list, by) or {true}, params = sweep.parts.varying(s, list, {}),
    write_x = sweep.writer(x), write_y = sweep.writer(y), quote = require "nestwright.plots.gnuplot".quote}
  local f = figure.new {title = errors.expect("front: title", o.title or ("%s over %s"):format(o.y, o.x), "string"), width = WIDTH}
  panel(f, d)
  list_front(f, d)
  f:key(key_of(d))
  local small = "No point is better than one on the front in one of the two, and not worse in the other. "
    .. sweep.small_print(list, x.measured or y.measured)
  local columns, rows = rows_of(d, s)
  local script, size = f:finish(figure.AXIS, small)
  return plot.new {caption = caption_of(d) .. "\n" .. small, script = script, size = size, columns = columns, rows = rows}
end

return front
