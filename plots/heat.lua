--- Draws a sweep over two parameters. There is one cell per pair of values. A larger result has a darker cell. Cells contain their
--- numbers if there is room.
local axis = require "nestwright.plots.axis"
local errors = require "nestwright.language.errors"
local figure = require "nestwright.plots.figure"
local fit = require "nestwright.plots.fit"
local gnuplot = require "nestwright.plots.gnuplot"
local sweep = require "nestwright.plots.sweep"
local written = require "nestwright.show.written"

local heat = {}

local RIGHT, SMALL = 150, 10 -- pixels: the space at the right, and the size of a font
local NAME = 18 -- the largest number of characters of a value's name
local MOST = 10000 -- the largest number of cells
local TALL, LOW, HIGHEST = 44, 14, 520 -- pixels: preferred and least height of a row of cells; largest height of all rows
local FAR = 8 -- colours are logarithmic if the largest value exceeds the smallest by this factor

-- The colours go from pale to dark, so that larger values are also darker if the picture is printed in grey.
local PALETTE = "set palette defined (0 '#F7FBFF', 0.25 '#C6DBEF', 0.5 '#6BAED6', 0.75 '#2171B5', 1 '#08306B')"

-- ---- cells

-- Returns numbers in ascending order, and other values in the order of the sweep.
local function ordered(values)
  local out = table.move(values, 1, #values, 1, {})
  for _, v in ipairs(out) do if type(v) ~= "number" then return out end end
  table.sort(out)
  return out
end

local function places(values)
  local at = {}
  for n, v in ipairs(values) do at[v] = n end
  return at
end

-- Sets the column and the row of each point. If two points have the same place, the later one is drawn over the earlier one.
local function put(d)
  local xs, ys = places(d.values), places(d.rows)
  for _, p in ipairs(d.points) do p.column, p.line = xs[p.row[d.x]], ys[p.row[d.y]] end
end

local function range_of(d)
  local lo, hi = math.huge, -math.huge
  for _, p in ipairs(d.points) do
    if p.value and not p.refused then lo, hi = math.min(lo, p.value), math.max(hi, p.value) end
  end
  if lo > hi then
    errors.fail("invalid", nil, "plot: nothing was measured: %s", d.points[1] and d.points[1].refused or "there are no numbers")
  end
  local log = d.log == nil and lo > 0 and hi > FAR * lo
  if hi == lo then hi = lo + math.max(math.abs(lo), 1e-9) * 0.01 end
  return lo, hi, log
end

-- ---- numbers in cells

local UNITS = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}}

-- Returns the size and the name of the unit in which all numbers are written. lo: the smallest number, which determines the unit of
-- times.
local function unit_of(d, lo)
  if not d.kind.time then return 1, d.unit end
  for _, unit in ipairs(UNITS) do if lo >= unit[1] then return unit[1], unit[2] end end
  return 1e-9, "ns"
end

local function digits(v) return (math.abs(v) < 999.5 and "%.3g" or math.abs(v) < 1e5 and "%.0f" or "%.2g"):format(v) end

local function texts_of(d, unit)
  local long = 0
  for _, p in ipairs(d.points) do
    if p.value and not p.refused then
      p.text = digits(p.value / unit)
      long = math.max(long, #p.text)
    end
  end
  return long
end

local function cell_label(text, p, colour, size)
  return ("set label '%s' at %d, %d center noenhanced front font ',%d' textcolor rgb '%s'"):format(text, p.column, p.line, size,
    colour)
end

-- Adds the numbers in the cells. The text is white on dark cells.
local function number_labels(d, lo, hi, log, size, out)
  for _, p in ipairs(d.points) do
    if p.text then
      local share = log and math.log(p.value / lo) / math.log(hi / lo) or (p.value - lo) / (hi - lo)
      out[#out + 1] = cell_label(p.text, p, share > 0.58 and "#FFFFFF" or "#000000", size)
    end
  end
end

-- ---- frames, crosses

local function frame(p, lw)
  return ("set object rectangle from %g,%g to %g,%g front fillstyle empty border lc rgb '%s' lw %g"):format(p.column - 0.46,
    p.line - 0.44, p.column + 0.46, p.line + 0.44, figure.colour.red, lw)
end

local HATCHED = "set object rectangle from %g,%g to %g,%g back fillcolor rgb '#AAAAAA' fillstyle pattern 4 border lc rgb '%s'"

local function marks(d, out)
  for _, p in ipairs(d.points) do
    if p.refused then
      out[#out + 1] = HATCHED:format(p.column - 0.5, p.line - 0.5, p.column + 0.5, p.line + 0.5, figure.colour.grey)
    elseif p.best then
      out[#out + 1] = frame(p, 4)
    elseif p.alike then
      out[#out + 1] = frame(p, 1.2)
    end
  end
end

-- Returns the meaning of frames and of hatching, if there are any.
local function legend(d)
  local has, out = {}, {}
  for _, p in ipairs(d.points) do
    has.best, has.alike, has.refused = has.best or p.best, has.alike or p.alike, has.refused or p.refused ~= nil
  end
  local seen, n = {}, 0
  for _, p in ipairs(d.points) do
    local key = p.column .. " " .. p.line
    if not seen[key] and (p.value or p.refused) then seen[key], n = true, n + 1 end
  end
  if has.best then out[#out + 1] = "thick frame: the best" end
  if has.alike then out[#out + 1] = "thin frame: not distinguishable from it" end
  if has.refused then out[#out + 1] = "hatched: refused" end
  if n < #d.values * #d.rows then out[#out + 1] = "blank: not measured" end
  return table.concat(out, "   ")
end

-- ---- axes

local function x_labels(d, wide, out)
  local step, last = wide / #d.values, -math.huge
  for n, v in ipairs(d.values) do
    local text = written.shortened(sweep.text(v), NAME)
    local room = fit.width(text, SMALL) + 8
    if (n - 0.5) * step - last >= room then
      out[#out + 1] = ("set label %s at first %d, graph 0 center offset 0,-0.9 noenhanced font ',10'"):format(
        gnuplot.quote(text), n)
      last = (n - 0.5) * step
    end
  end
end

local function y_labels(d, tall, out)
  local every = math.ceil(14 / (tall / #d.rows))
  for n = 1, #d.rows, every do
    local text = written.shortened(sweep.text(d.rows[n]), NAME)
    out[#out + 1] = ("set label %s at graph 0, first %d right offset -0.8,0 noenhanced font ',10'"):format(gnuplot.quote(text), n)
  end
end

local function left_of(d)
  local names = {}
  for n, v in ipairs(d.rows) do names[n] = written.shortened(sweep.text(v), NAME) end
  return math.ceil(50 + fit.widest(names, SMALL))
end

-- ---- making

local function cells(f, d)
  local out = {}
  for _, p in ipairs(d.points) do
    if p.value and not p.refused then
      out[#out + 1] = {p.column, p.line, p.column - 0.5, p.column + 0.5, p.line - 0.5, p.line + 0.5, p.value}
    end
  end
  return f:data(out, "cells") .. " using 1:2:3:4:5:6:7 with boxxyerror fillstyle solid 1 noborder lc palette notitle"
end

local function column_text(d, unit)
  local name = written.shortened(d.column, 40)
  return unit and ("%s, %s"):format(name, unit) or name
end

local function draw(f, d)
  local left = left_of(d)
  local wide, tall = f.width - RIGHT - left, math.max(LOW * 3, math.min(TALL * #d.rows, HIGHEST))
  local lo, hi, log = range_of(d)
  local unit, unit_name = unit_of(d, lo)
  local long = texts_of(d, unit)
  local size = math.min(wide / #d.values / math.max(long, 1) * 1.35, tall / #d.rows * 0.6, 11) // 1
  local write = function(v) return digits(v / unit) end
  local out = {PALETTE, axis.commands("cb", lo, hi, log, write),
    ("set xrange [0.5:%d.5]; set yrange [0.5:%d.5]"):format(#d.values, #d.rows), "unset xtics; unset ytics; set colorbox",
    ("set xlabel %s noenhanced offset 0,-1"):format(gnuplot.quote(written.shortened(d.x, 60))),
    ("set ylabel %s noenhanced offset %g"):format(gnuplot.quote(written.shortened(d.y, 40)), -(left - 40) / 8),
    ("set cblabel %s noenhanced offset 1.5"):format(gnuplot.quote(column_text(d, unit_name)))}
  x_labels(d, wide, out)
  y_labels(d, tall, out)
  if size >= 7 then number_labels(d, lo, hi, log, size, out) end
  marks(d, out)
  f:text(f.width / 2, f.bottom + 4, legend(d), {align = "center", size = 10, colour = "#444444"})
  f:panel({left = left, right = f.width - RIGHT, top = f.bottom + figure.GAP + 4, height = tall}, out, {cells(f, d)})
end

local function rows_of(d)
  local out = {}
  for n, p in ipairs(d.points) do
    out[n] = {p.row[d.x], p.row[d.y], not p.refused and p.value or nil, p.spread and p.lo or nil, p.spread and p.hi or nil,
      p.refused and "refused: " .. p.refused or p.odd and "not drawn: " .. p.odd or p.best and "best"
        or p.alike and "not distinguishable from the best" or nil}
  end
  return out
end

local function about(d, best, write)
  local refused, alike, odd, out = 0, {}, {}, {}
  for _, p in ipairs(d.points) do
    if p.refused then refused = refused + 1 end
    if p.odd then odd[#odd + 1] = ("(%s, %s) is %s"):format(sweep.text(p.row[d.x]), sweep.text(p.row[d.y]), p.odd) end
    if p.alike then alike[#alike + 1] = ("(%s, %s)"):format(sweep.text(p.row[d.x]), sweep.text(p.row[d.y])) end
  end
  local lo, hi = range_of(d)
  out[1] = ("%s over %s and %s: from %s to %s"):format(d.column, d.x, d.y, write(lo), write(hi))
  if best then
    local x, y = sweep.text(best.row[d.x]), sweep.text(best.row[d.y])
    out[2] = ("best at %s = %s, %s = %s: %s"):format(d.x, x, d.y, y, write(best.value))
    if #alike > 0 then out[3] = "not distinguishable from it: " .. table.concat(alike, ", ") end
  end
  if refused > 0 then out[#out + 1] = ("%d refused"):format(refused) end
  if #odd > 0 then out[#out + 1] = "not drawn: " .. table.concat(odd, ", ") end
  return table.concat(out, "; ")
end

--- Makes the picture. d: x, y, values, rows, column, kind, points, unit, log, better, title, small.
function heat.make(d)
  if #d.values * #d.rows > MOST then
    errors.fail("limit", "choose some of them by where = {...}", "plot: %d cells are too many: at most %d are drawn",
      #d.values * #d.rows, MOST)
  end
  d.values, d.rows = ordered(d.values), ordered(d.rows)
  put(d)
  local best, f = sweep.mark_best(d.points, d.better), figure.new {title = d.title}
  draw(f, d)
  local script, size = f:finish(figure.AXIS, d.small)
  local caption = about(d, best, sweep.writer(d.kind, d.unit)) .. "\n" .. d.small
  return {caption = caption, script = script, size = size, rows = rows_of(d),
    columns = {d.x, d.y, d.column, "q1", "q3", "note"}}
end

return heat
