--- A grid of instances on a figure: the first axis down, the second to the right, as a matrix is written. Cells are filled, tiles
--- outlined, the order of visits is a path through the cells. What is plotted is in cells: column, row.

local grid = {}

grid.FIRST, grid.LAST = {240, 246, 252}, {74, 144, 196} -- from light to dark, so that it works in grey
grid.UNVISITED = "#FFFFFF"
local NUMBERS = 26 -- pixels of a cell that has room for a number
local TEXT = 9 -- pixels of a character of a tick
local SMALL = 14 -- pixels of a cell that is too small for heads of arrows
local ROOM = 2.2 -- cells above a row that is alone, for arcs

--- An axis to be shown: its values in ascending order, where they are not neighbours with a gap between. lo, hi: its domain.
function grid.axis(name, values, lo, hi)
  local at, ticks, n = {}, {}, 0
  for k, value in ipairs(values) do
    if k > 1 and value ~= values[k - 1] + 1 then n = n + 1 end
    at[value], ticks[k], n = n, {n, value}, n + 1
  end
  return {name = name, values = values, at = at, ticks = ticks, n = n, lo = lo, hi = hi}
end

--- The axis of what has none: one row.
grid.NONE = {values = {0}, at = {[0] = 0}, ticks = {}, n = 1}

--- Pixels of a cell with which the axes fit into width x height.
function grid.cell(rows, columns, width, height)
  return math.max(7, math.min(46, width // columns.n, height // rows.n))
end

--- A colour of the ramp from light to dark, as a number. part: 0 to 1.
function grid.shade(part)
  local v = 0
  for k = 1, 3 do v = v * 256 + math.floor(grid.FIRST[k] + part * (grid.LAST[k] - grid.FIRST[k]) + 0.5) end
  return v
end

--- The path from stroke to stroke as segments {from column, row, column and row further}: neighbours, and jumps.
function grid.segments(strokes)
  local steps, jumps = {}, {}
  for k = 2, #strokes do
    local a, b = strokes[k - 1], strokes[k]
    local near = math.max(math.abs(a.to[1] - b.from[1]), math.abs(a.to[2] - b.from[2])) <= 1
    local list = near and steps or jumps
    list[#list + 1] = {a.middle[1], a.middle[2], b.middle[1] - a.middle[1], b.middle[2] - a.middle[2]}
  end
  return steps, jumps
end

-- Room for arcs, where there are some.
local function above(o)
  for _, lane in ipairs(o.rows == grid.NONE and o.lanes or {}) do
    local _, jumps = grid.segments(lane.strokes)
    if #jumps > 0 then return ROOM end
  end
  return 0
end

local function tics(axis, letter, cell)
  local step, list = 1, {}
  local widest = 1
  for _, tick in ipairs(axis.ticks) do widest = math.max(widest, #tostring(tick[2])) end
  while step * cell < (letter == "y" and 14 or TEXT * widest) do step = step * 2 end
  for k, tick in ipairs(axis.ticks) do
    local edge = k == 1 or axis.ticks[k - 1][1] + 1 ~= tick[1]
    if edge or tick[2] % step == 0 then list[#list + 1] = ("'%d' %d"):format(tick[2], tick[1]) end
  end
  return ("set %stics (%s) scale 0 offset 0,%s font ',10'"):format(letter, table.concat(list, ", "),
    letter == "x2" and "-0.4" or letter == "x" and "0.4" or "0")
end

-- Where values are left out.
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
    ("set yrange [%d - 0.5:-0.5 - %g]"):format(rows.n, above(o)),
    tics(columns, alone and "x" or "x2", o.cell),
  }
  if not alone then out[#out + 1] = tics(rows, "y", o.cell) end
  table.move(gaps(rows, false), 1, #rows.ticks, #out + 1, out)
  table.move(gaps(columns, true), 1, #columns.ticks, #out + 1, out)
  return out
end

-- ---- parts

local function is_inside(axis, value) return not axis.lo or value >= axis.lo and value <= axis.hi end

-- Cells of the domain, whether they are visited or not, and those outside: {column, row}.
local function cells(o)
  local inside, outside = {}, {}
  for _, row in ipairs(o.rows == grid.NONE and {{0, 0}} or o.rows.ticks) do
    for _, column in ipairs(o.columns.ticks) do
      local list = is_inside(o.rows, row[2]) and is_inside(o.columns, column[2]) and inside or outside
      list[#list + 1] = {column[1], row[1]}
    end
  end
  return inside, outside
end

local WHOLE = "using 1:2:($1-0.5):($1+0.5):($2-0.5):($2+0.5)" -- cells, edge to edge

local function hatched(f, kind, list, pattern, colour)
  return ("%s %s with boxxyerror fs transparent pattern %d noborder fc rgb '%s' notitle"):format(f:data(list, kind), WHOLE, pattern,
    colour)
end

local function filled(f, fills)
  return ("%s %s:3 with boxxyerror fs solid 1 border lc rgb '#DDDDDD' lc rgb variable notitle"):format(f:data(fills, "cells"),
    WHOLE)
end

-- What is outside of the domain is hatched in grey, visited or not.
local function background(f, o, parts)
  local inside, outside = cells(o)
  if #inside > 0 then
    parts[#parts + 1] = ("%s %s with boxxyerror fs solid 0 border lc rgb '#BBBBBB' notitle"):format(f:data(inside, "domain"), WHOLE)
  end
  if o.fills and #o.fills > 0 then parts[#parts + 1] = filled(f, o.fills) end
  if #outside > 0 then parts[#parts + 1] = hatched(f, "outside", outside, 2, "#888888") end
end

-- Points of an arc above a row that is alone: a jump would hide behind the row.
local function arc(j)
  local points, high = {}, math.min(ROOM - 0.4, 0.4 + 0.12 * math.abs(j[3]))
  for k = 0, 12 do
    local t = k / 12
    points[#points + 1] = {j[1] + t * j[3], -0.2 - 4 * t * (1 - t) * high}
  end
  points[#points + 1] = ""
  return points
end

local function arcs(f, jumps, head, style, parts)
  local points, heads = {}, {}
  for n, j in ipairs(jumps) do
    local of = arc(j)
    local a, b = of[#of - 2], of[#of - 1]
    heads[n] = {a[1], a[2], b[1] - a[1], b[2] - a[2]}
    table.move(of, 1, #of, #points + 1, points)
  end
  parts[#parts + 1] = ("%s using 1:2 with lines %s notitle"):format(f:data(points, "arcs"), style)
  parts[#parts + 1] = ("%s using 1:2:3:4 with vectors %s %s notitle"):format(f:data(heads, "heads"), head, style)
end

local function path(f, o, lane, parts)
  local steps, jumps = grid.segments(lane.strokes)
  local small = o.cell < SMALL
  local head = small and "nohead" or ("filled head size %.3f,20 fixed"):format(math.min(0.22, 4 / o.cell + 0.08))
  local width, dash = small and 0.7 or 1.2, o.dashed and 2 or 1
  if #steps > 0 then
    parts[#parts + 1] = ("%s using 1:2:3:4 with vectors %s lw %.1f dt %d lc rgb '%s' notitle"):format(f:data(steps, "steps"), head,
      width, dash, lane.colour)
  end
  if #jumps == 0 then return end
  local style = ("lw %.1f dt %d lc rgb '%s'"):format(width * 0.7, o.dashed and 2 or 3, lane.colour)
  if o.rows == grid.NONE then return arcs(f, jumps, head, style, parts) end
  parts[#parts + 1] = ("%s using 1:2:3:4 with vectors %s %s notitle"):format(f:data(jumps, "jumps"), head, style)
end

-- Edges of a set of cells: {column, row, further}.
local function edges(tile)
  local out, has = {}, {}
  for _, c in ipairs(tile) do has[c[1] .. " " .. c[2]] = true end
  local function side(c, dx, dy, x, y, wide, high)
    if not has[(c[1] + dx) .. " " .. (c[2] + dy)] then out[#out + 1] = {c[1] + x, c[2] + y, wide, high} end
  end
  for _, c in ipairs(tile) do
    side(c, -1, 0, -0.5, -0.5, 0, 1)
    side(c, 1, 0, 0.5, -0.5, 0, 1)
    side(c, 0, -1, -0.5, -0.5, 1, 0)
    side(c, 0, 1, -0.5, 0.5, 1, 0)
  end
  return out
end

local function outline(f, tiles, kind, width)
  local list = {}
  for _, tile in ipairs(tiles) do
    local sides = edges(tile)
    table.move(sides, 1, #sides, #list + 1, list)
  end
  return ("%s using 1:2:3:4 with vectors nohead lw %.1f lc rgb '#000000' notitle"):format(f:data(list, kind), width)
end

-- Larger tiles have thicker edges.
local function outlines(f, o, parts)
  local levels, thick = o.tiles or {}, o.cell < SMALL and 1.2 or 2.4
  for n = #levels, 1, -1 do parts[#parts + 1] = outline(f, levels[n], "tiles", thick * (n == 1 and 1 or 0.5)) end
  if o.borders then parts[#parts + 1] = outline(f, o.borders, "borders", thick) end
end

-- Vectors as bars through their cells.
local function bars(f, o, lane, parts)
  local list = {}
  for _, stroke in ipairs(lane.strokes) do
    if stroke.vector then
      list[#list + 1] = {stroke.from[1], stroke.from[2], stroke.to[1] - stroke.from[1], stroke.to[2] - stroke.from[2]}
    end
  end
  if #list > 0 then
    parts[#parts + 1] = ("%s using 1:2:3:4 with vectors nohead lw %.1f lc rgb '%s' notitle"):format(f:data(list, "vectors"),
      math.max(2, o.cell * 0.16), lane.colour)
  end
end

local function points(f, list, kind, lane, size)
  return ("%s using 1:2 with points pt %d ps %.1f lc rgb '%s' notitle"):format(f:data(list, kind), lane.point, size, lane.colour)
end

-- A dot a visit, and a larger one where a path begins.
local function dots(f, o, lane, parts)
  local list = {}
  for n, stroke in ipairs(lane.strokes) do list[n] = stroke.middle end
  parts[#parts + 1] = points(f, list, "visits", lane, o.cell < SMALL and 0.2 or 0.6)
  local first = lane.strokes[1]
  parts[#parts + 1] = points(f, {first.from}, "begin", lane, (o.cell < SMALL and 0.8 or 1.4) * (first.vector and 1.4 or 1))
end

local function numbers(f, o, parts)
  if o.cell < NUMBERS or not o.numbers then return end
  parts[#parts + 1] = ("%s using ($1-0.44):($2-0.28):3 with labels left font ',%d' tc rgb '#333333' notitle"):format(
    f:data(o.numbers, "times"), o.cell < 34 and 7 or 8)
end

-- Shapes on a white rim, above all else.
local function marked(f, o, parts)
  for _, mark in ipairs(o.marks or {}) do
    local at = f:data({{mark.column, mark.row}}, "mark")
    parts[#parts + 1] = ("%s using 1:2 with points pt %d ps 2.9 lc rgb '#FFFFFF' notitle"):format(at, mark.point)
    parts[#parts + 1] = ("%s using 1:2 with points pt %d ps 2.1 lc rgb '%s' notitle"):format(at, mark.point, mark.colour)
  end
end

-- ---- the panel

local function labels(f, o)
  local rect, alone = o.rect, o.rows == grid.NONE
  f:text(rect.left + rect.width / 2, alone and rect.top + rect.height + 32 or rect.top - 30, o.columns.name .. " →",
    {align = "center"})
  if not alone then f:text(rect.left - 34, rect.top + rect.height / 2, o.rows.name .. " ↓", {align = "right"}) end
end

--- Places a grid and answers where it lies. o: {left, top, cell (pixels), rows, columns (grid.axis; rows may be grid.NONE), fills
--- ({column, row, colour as a number}), hatches ({pattern, colour, cells}), lanes ({strokes, colour, point}), numbers ({column,
--- row, text}), tiles (by level, lists of cells), borders (such a list), marks ({column, row, point, colour}), dashed}. A
--- stroke: {from, to, middle ({column, row}), vector}.
function grid.place(f, o)
  o.rect = {left = o.left, top = o.top, width = o.cell * o.columns.n, height = math.ceil(o.cell * (o.rows.n + above(o)))}
  local parts = {}
  background(f, o, parts)
  for _, h in ipairs(o.hatches or {}) do
    parts[#parts + 1] = hatched(f, "hatched", h.cells, h.pattern, h.colour)
  end
  outlines(f, o, parts)
  for _, lane in ipairs(o.lanes or {}) do
    bars(f, o, lane, parts)
    path(f, o, lane, parts)
    dots(f, o, lane, parts)
  end
  numbers(f, o, parts)
  marked(f, o, parts)
  labels(f, o)
  f:panel({left = o.rect.left, right = o.rect.left + o.rect.width, top = o.rect.top, height = o.rect.height}, frame(o), parts)
  return o.rect
end

return grid
