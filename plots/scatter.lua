--- Draws predicted times over measured times on logarithmic axes, with one dot per schedule. On the solid line, both times are
--- equal.
local axis = require "nestwright.plots.axis"
local figure = require "nestwright.plots.figure"
local plot = require "nestwright.plots.plot"
local statistics = require "nestwright.measure.statistics"
local written = require "nestwright.show.written"

local scatter = {}

local LEFT, RIGHT, HEIGHT = 110, 640, 480 -- pixels
local BAND = 1.25 -- on the dashed lines, the prediction is too long or too short by this factor
local colour = figure.colour

local function ends(points, names)
  local lo, hi = math.huge, 0
  for _, p in ipairs(points) do
    for _, name in ipairs(names) do lo, hi = math.min(lo, p[name]), math.max(hi, p[name]) end
  end
  return lo / 1.15, hi * 1.15
end

-- Returns the fastest quarter of the points, and the other points. The dots of the fastest quarter are filled.
local function parted(points)
  local measured, best, rest = {}, {}, {}
  for n, p in ipairs(points) do measured[n] = p.measured end
  local _, lowest = statistics.lowest(measured, measured, 0.25)
  local most = math.max(table.unpack(lowest))
  for _, p in ipairs(points) do table.insert(p.measured <= most and best or rest, p) end
  return best, rest
end

local function lines_of(f, lo, hi)
  local function line(times, style)
    return ("%s using 1:2 with lines %s notitle"):format(f:data({{lo, lo * times}, {hi, hi * times}}, "line"), style)
  end
  return {line(1, "lw 1.5 lc rgb '#000000'"), line(BAND, "lw 1 dt 2 lc rgb '#777777'"),
    line(1 / BAND, "lw 1 dt 2 lc rgb '#777777'")}
end

local function dots(f, points, name, pt, parts)
  local data = {}
  for n, p in ipairs(points) do data[n] = {p.measured, p[name]} end
  if #data == 0 then return nil end
  parts[#parts + 1] = ("%s using 1:2 with points pt %d ps 0.9 lc rgb '%s' notitle"):format(f:data(data, "dots"), pt,
    pt == 7 and colour.red or colour.blue)
end

local function panel(f, a)
  local lo, hi = ends(a.points, {"measured", "predicted"})
  local parts, best, rest = lines_of(f, lo, hi), parted(a.points)
  dots(f, rest, "predicted", 6, parts)
  dots(f, best, "predicted", 7, parts)
  f:panel({left = LEFT, right = RIGHT, top = f.bottom + figure.GAP, height = HEIGHT}, {
    axis.commands("x", lo, hi, true, written.seconds), axis.commands("y", lo, hi, true, written.seconds),
    "set xlabel 'measured'", "set ylabel 'predicted'", "set grid lc rgb '#EEEEEE'"}, parts)
end

local function key_of()
  return {{text = "the fastest quarter", pt = 7, colour = colour.red}, {text = "the others", pt = 6, colour = colour.blue}}
end

local function caption(a)
  return ("%s: predicted and measured times of %d random legal schedules. Kendall's tau %.3f, within the best quarter %.3f; "
    .. "median error %.1f %%."):format(a.kernel, #a.points, a.analytic.tau, a.analytic.tau_best_quarter or 0 / 0,
    100 * a.analytic.median_error)
end

--- Makes the picture. a: a result of nw.cost.audit.
function scatter.make(a, title)
  local f, rows = figure.new {title = title or ("%s: predicted and measured times"):format(a.kernel), width = RIGHT + 40}, {}
  panel(f, a)
  f:key(key_of())
  local small = ("%s On the solid line, both times are equal; on the dashed lines, the prediction is 25 %% too high or 20 %% too "
    .. "low. Measured on %s, all schedules in turn, several times; each dot shows the fastest run of its schedule."):format(
      caption(a), a.measured_on)
  local script, size = f:finish(figure.AXIS, small)
  for n, p in ipairs(a.points) do rows[n] = {p.measured, p.predicted, p.learned, p.trace} end
  return plot.new {caption = small, script = script, size = size, rows = rows,
    columns = {"measured", "predicted", "learned", "trace"}}
end

return scatter
