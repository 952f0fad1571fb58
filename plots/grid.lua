--- Draws a grid of instances (executions of a block) in a figure. The first axis goes down and the second to the right, as in a
--- matrix. Cells are filled, tiles are outlined, and the order of the executions is a path through the cells. Coordinates are the
--- column and the row of a cell.
local cells = require "nestwright.plots.cells"
local path = require "nestwright.plots.path"

local grid = {}

-- These ranges of colours go from light to dark, so that they are also readable without colour. If paths have colours, GREYS is
-- used, because it hides no path.
local BLUES, GREYS = {{240, 246, 252}, {74, 144, 196}}, {{252, 252, 252}, {200, 200, 200}}
grid.NUMBERS = 26 -- pixels of a cell with room for a number
local TEXT, NAME = 9, 12 -- pixels: the width of a character of a tick's label; half of the height of an axis' name
local LINED = 5 -- cells with fewer pixels have no lines between them, because lines would hide their colours
local SMALL = 14 -- lines are thin if a cell has fewer pixels
local SHADES = 63 -- the number of steps between the light and the dark colour

--- Returns an axis of the grid: its values in ascending order, with a gap between values that are not neighbours. lo, hi: the
--- domain of the axis.
function grid.axis(name, values, lo, hi)
  local at, ticks, n = {}, {}, 0
  for k, value in ipairs(values) do
    if k > 1 and value ~= values[k - 1] + 1 then n = n + 1 end
    at[value], ticks[k], n = n, {n, value}, n + 1
  end
  return {name = name, values = values, at = at, ticks = ticks, n = n, lo = lo, hi = hi}
end

--- If a grid has only one row or one column, this is its second axis.
grid.NONE = {values = {0}, at = {[0] = 0}, ticks = {}, n = 1}

local LEAST, LARGEST = 7, 46 -- pixels: the least and the largest size of a cell

--- Returns the largest size of a cell, in pixels, with which the axes fit into width x height. least: the least size; the default
--- leaves room for a path.
function grid.cell(rows, columns, width, height, least)
  return math.max(least or LEAST, math.min(LARGEST, width // columns.n, height // rows.n))
end

--- Returns a colour between light and dark, as a number. part: from 0 (light) to 1 (dark).
function grid.shade(part, grey)
  local v, first, last = 0, table.unpack(grey and GREYS or BLUES)
  part = math.floor(part * SHADES + 0.5) / SHADES
  for k = 1, 3 do v = v * 256 + math.floor(first[k] + part * (last[k] - first[k]) + 0.5) end
  return v
end

-- Returns the ticks that have a label: {position, value}.
local function numbered(axis, upright, cell)
  local step, list, widest = 1, {}, 1
  for _, tick in ipairs(axis.ticks) do widest = math.max(widest, #tostring(tick[2])) end
  while step * cell < (upright and 14 or TEXT * widest) do step = step * 2 end
  for k, tick in ipairs(axis.ticks) do
    local edge = k == 1 or axis.ticks[k - 1][1] + 1 ~= tick[1]
    if edge or tick[2] % step == 0 then list[#list + 1] = tick end
  end
  return list
end

--- Returns the heights, in pixels from the top, at which a line from the left crosses neither the numbers of the rows nor the name
--- of their axis.
function grid.free_rows(rect, rows, cell)
  local list, out = numbered(rows, true, cell), {}
  for k = 1, #list do
    local last = list[k + 1] or {2 * list[k][1] - (list[k - 1] or {list[k][1] - 2})[1]}
    local y = ((list[k][1] + last[1]) / 2 + 0.5) * cell
    if math.abs(y - rect.height / 2) > NAME and y <= rect.height then out[#out + 1] = rect.top + y end
  end
  return out
end

local function tics(axis, letter, cell)
  local list = {}
  for k, tick in ipairs(numbered(axis, letter == "y", cell)) do list[k] = ("'%d' %d"):format(tick[2], tick[1]) end
  return ("set %stics (%s) scale 0 offset 0,%s font ',10'"):format(letter, table.concat(list, ", "),
    letter == "x2" and "-0.4" or letter == "x" and "0.4" or "0")
end

-- Returns commands that mark where values are omitted.
local function gaps(axis, across)
  local out = {}
  for k = 2, #axis.ticks do
    local at = axis.ticks[k][1] - 1
    if at > axis.ticks[k - 1][1] then
      out[#out + 1] = across and ("set label '…' at %d, graph 1.0 center offset 0,0.6"):format(at)
        or ("set label '⋮' at graph 0, first %d right offset -0.8,0"):format(at)
    end
  end
  return out
end

local function frame(o)
  local rows, columns, alone = o.rows, o.columns, o.rows == grid.NONE
  local out = {
    "unset border; unset xtics; unset ytics; set style fill solid 1 noborder",
    ("set xrange [-0.5:%d - 0.5]; set x2range [-0.5:%d - 0.5]"):format(columns.n, columns.n),
    ("set yrange [%d - 0.5:-0.5 - %g]"):format(rows.n, path.room(o)),
  }
  if columns ~= grid.NONE then out[#out + 1] = tics(columns, alone and "x" or "x2", o.cell) end
  if not alone then out[#out + 1] = tics(rows, "y", o.cell) end
  table.move(gaps(rows, false), 1, #rows.ticks, #out + 1, out)
  table.move(gaps(columns, true), 1, #columns.ticks, #out + 1, out)
  return out
end

-- ---- parts

local function is_inside(axis, value) return not axis.lo or value >= axis.lo and value <= axis.hi end

local function ticks_of(axis) return axis == grid.NONE and {{0, 0}} or axis.ticks end

-- Returns the cells {column, row} that are outside of the domain.
local function outside(o)
  local out = {}
  for _, row in ipairs(ticks_of(o.rows)) do
    for _, column in ipairs(ticks_of(o.columns)) do
      if not (is_inside(o.rows, row[2]) and is_inside(o.columns, column[2])) then out[#out + 1] = {column[1], row[1]} end
    end
  end
  return out
end

local BOX = "using 1:2:4:5:6:7" -- the columns of data with the middle and the edges of a box
local LINE = "%s using 1:2:3:4 with vectors nohead lw %g lc rgb '%s' notitle"

local function hatched(f, kind, list, pattern, colour)
  return ("%s %s with boxxyerror fs transparent pattern %d noborder fc rgb '%s' notitle"):format(
    f:data(cells.boxes(list), kind), BOX, pattern, colour)
end

-- Returns the parts of an axis between gaps: {first position, last position}.
local function runs(axis)
  local out = {}
  for _, tick in ipairs(axis.ticks) do
    local last = out[#out]
    if last and last[2] + 1 == tick[1] then last[2] = tick[1] else out[#out + 1] = {tick[1], tick[1]} end
  end
  return #out > 0 and out or {{0, 0}}
end

-- Returns the lines between cells.
local function lines(o)
  local out = {}
  for _, r in ipairs(runs(o.rows)) do
    for _, c in ipairs(runs(o.columns)) do
      local wide, high = c[2] - c[1] + 1, r[2] - r[1] + 1
      for x = c[1], c[2] + 1 do out[#out + 1] = {x - 0.5, r[1] - 0.5, 0, high} end
      for y = r[1], r[2] + 1 do out[#out + 1] = {c[1] - 0.5, y - 0.5, wide, 0} end
    end
  end
  return out
end

-- Draws the fills of cells. Cells outside of the domain are hatched in grey, even if they are visited.
local function background(f, o, parts)
  if o.fills and #o.fills > 0 then
    parts[1] = ("%s %s:3 with boxxyerror fs solid 1 noborder lc rgb variable notitle"):format(f:data(cells.boxes(o.fills), "cells"),
      BOX)
  end
  if o.cell >= LINED then parts[#parts + 1] = LINE:format(f:data(lines(o), "domain"), 0.7, "#CCCCCC") end
  local list = outside(o)
  if #list > 0 then parts[#parts + 1] = hatched(f, "outside", list, 2, "#888888") end
end

local function outline(f, tiles, kind, width)
  return LINE:format(f:data(cells.edges(tiles), kind), width, "#000000")
end

-- Draws the outlines of tiles; larger tiles have thicker edges.
local function outlines(f, o, parts)
  local levels, thick = o.tiles or {}, o.cell < SMALL and 1.2 or 2.4
  for n = #levels, 1, -1 do parts[#parts + 1] = outline(f, levels[n], "tiles", thick * (n == 1 and 1 or 0.5)) end
  if o.borders then parts[#parts + 1] = outline(f, o.borders, "borders", thick) end
end

local function numbers(f, o, parts)
  if o.cell < grid.NUMBERS or not o.numbers then return end
  parts[#parts + 1] = ("%s using ($1-0.44):($2-0.28):3 with labels left font ',%d' tc rgb '#333333' notitle"):format(
    f:data(o.numbers, "times"), o.cell < 34 and 7 or 8)
end

-- Draws marks, which are shapes with a white outline, over everything else.
local function marked(f, o, parts)
  for _, mark in ipairs(o.marks or {}) do
    local at = f:data({{mark.column, mark.row}}, "mark")
    parts[#parts + 1] = ("%s using 1:2 with points pt %d ps 2.3 lc rgb '#FFFFFF' notitle"):format(at, mark.point)
    parts[#parts + 1] = ("%s using 1:2 with points pt %d ps 1.6 lc rgb '%s' notitle"):format(at, mark.point, mark.colour)
  end
end

-- ---- the panel

local function labels(f, o)
  local rect, alone = o.rect, o.rows == grid.NONE
  local y = alone and rect.top + rect.height + 32 or rect.top - 30
  if o.columns ~= grid.NONE then f:text(rect.left + rect.width / 2, y, o.columns.name .. " →", {align = "center"}) end
  if not alone then f:text(rect.left - 34, rect.top + rect.height / 2, o.rows.name .. " ↓", {align = "right"}) end
end

--- Places a grid and returns its position. The fields of o:
---   left, top, cell: the position of the grid, and the size of a cell, in pixels
---   rows, columns: the axes, from grid.axis or grid.NONE
---   fills: a list of {column, row, colour as a number}
---   hatches: a list of {pattern, colour, cells}
---   lanes: a list of {strokes, colour, point}; a stroke is {from, to, middle, bar}, where the first three are {column, row}, and
---     bar is true for a vector
---   numbers: a list of lines "column row text"
---   tiles: for each level, a list of tiles; a tile is a list of cells
---   borders: a list of tiles of one level
---   marks: a list of {column, row, point, colour}
---   dashed: true if paths are dashed
function grid.place(f, o)
  o.rect = {left = o.left, top = o.top, width = o.cell * o.columns.n, height = math.ceil(o.cell * (o.rows.n + path.room(o)))}
  local parts = {}
  background(f, o, parts)
  for _, h in ipairs(o.hatches or {}) do
    parts[#parts + 1] = hatched(f, "hatched", h.cells, h.pattern, h.colour)
  end
  outlines(f, o, parts)
  path.draw(f, o, parts)
  numbers(f, o, parts)
  marked(f, o, parts)
  labels(f, o)
  f:panel({left = o.rect.left, right = o.rect.left + o.rect.width, top = o.rect.top, height = o.rect.height}, frame(o), parts)
  return o.rect
end

return grid
