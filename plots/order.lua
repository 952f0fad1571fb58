--- Draws the order in which the instances of a stage are executed (visited). The picture is a grid of the stage's axes, with a path
--- from visit to visit. Cells that are visited later are darker.
local figure = require "nestwright.plots.figure"
local grid = require "nestwright.plots.grid"
local plot = require "nestwright.plots.plot"

local order = {}

local LEFT, TOP, WIDTH, HEIGHT = 90, 96, 780, 600 -- pixels: the start of the grid, and its largest size
-- The shapes and colours of threads. If there are enough pairs of a shape and a colour, each thread has its own pair. Visits
-- outside of parallel loops are black.
local POINTS, COLOURS = {7, 5, 9, 13, 11, 15, 3}, table.move(figure.series, 1, 6, 1, {})
local TOLD_APART = #POINTS * #COLOURS
local NAMED = 14 -- the largest number of threads that are listed in the key

-- ---- from the list of executions to drawn items

local function position(axis, visit) return axis == grid.NONE and 0 or axis.at[visit.at[axis.name]] end

--- Returns the position of an execution: {column, row}.
function order.cell(view, visit) return {position(view.columns, visit), position(view.rows, visit)} end

-- Returns the strokes of a list of executions. The executions of one vector, which are consecutive in the list, become one stroke.
local function strokes_of(view, list)
  local out, last = {}, nil
  for _, visit in ipairs(list) do
    local cell = order.cell(view, visit)
    if not last or last.key ~= visit.stroke then
      last = {key = visit.stroke, from = cell, time = visit.time, thread = visit.thread, vector = visit.vector}
      out[#out + 1] = last
    end
    last.to = cell
    last.middle = {(last.from[1] + cell[1]) / 2, (last.from[2] + cell[2]) / 2}
  end
  for _, stroke in ipairs(out) do -- a vector along an axis that is not shown is one cell, and gets no bar
    stroke.bar = stroke.vector and (stroke.from[1] ~= stroke.to[1] or stroke.from[2] ~= stroke.to[2])
  end
  return out
end

--- True if paths have their own colours.
function order.coloured(lanes) return #lanes > 1 and #lanes <= TOLD_APART end

--- Returns a path for each thread, and a path with an empty name for visits outside of parallel loops: {name, strokes, colour,
--- point}.
function order.lanes(view, list)
  local lanes, at = {}, {}
  for _, stroke in ipairs(strokes_of(view, list)) do
    local lane = at[stroke.thread]
    if not lane then
      lane = {name = stroke.thread, strokes = {}, colour = figure.colour.black, point = POINTS[1]}
      lanes[#lanes + 1], at[stroke.thread] = lane, lane
    end
    table.insert(lane.strokes, stroke)
  end
  if order.coloured(lanes) then
    local n = 0
    for _, lane in ipairs(lanes) do
      if lane.name ~= "" then
        lane.colour, lane.point = COLOURS[n % #COLOURS + 1], POINTS[n % #POINTS + 1]
        n = n + 1
      end
    end
  end
  return lanes
end

--- Returns the visited cells with the times of their visits, in the order of their first visits: {column, row, times, inside (true
--- for the cells of a vector after its first cell)}.
function order.visited(view, list)
  local out, at, last = {}, {}, nil
  for _, visit in ipairs(list) do
    local cell = order.cell(view, visit)
    local key = cell[1] .. " " .. cell[2]
    if not at[key] then
      at[key] = {cell[1], cell[2], {}, inside = last == visit.stroke}
      out[#out + 1] = at[key]
    end
    table.insert(at[key][3], visit.time)
    last = visit.stroke
  end
  return out
end

--- Returns the tiles by level, largest first. A tile is a list of cells. Levels with only one tile are left out.
function order.tiles(view, list)
  local levels, at = {}, {}
  for _, visit in ipairs(list) do
    for level, key in ipairs(visit.tiles) do
      levels[level] = levels[level] or {}
      if not at[key] then
        at[key] = {}
        table.insert(levels[level], at[key])
      end
      table.insert(at[key], order.cell(view, visit))
    end
  end
  for n = #levels, 1, -1 do if #levels[n] < 2 then table.remove(levels, n) end end
  return levels
end

--- Returns the cells of each piece, as one level of tiles. Returns nil if there is only one piece.
function order.borders(view, list)
  local out, at = {}, {}
  for _, visit in ipairs(list) do
    if not at[visit.piece] then
      at[visit.piece] = {}
      out[#out + 1] = at[visit.piece]
    end
    table.insert(at[visit.piece], order.cell(view, visit))
  end
  return #out > 1 and out or nil
end

function order.last(list)
  local last = 0
  for _, visit in ipairs(list) do last = math.max(last, visit.time) end
  return last
end

--- Returns fills that are darker for later visits. They are grey if `grey` is true, which is necessary if paths have colours.
function order.fills(visited, last, grey)
  local out = {}
  for n, cell in ipairs(visited) do
    out[n] = {cell[1], cell[2], grid.shade(last > 1 and (cell[3][1] - 1) / (last - 1) or 0, grey)}
  end
  return out
end

local DIGIT, APART = 5, 10 -- pixels: the width of a digit in a cell; the space between the numbers of two cells

--- Returns the times of visits as text in the cells. The times of a vector are in its first cell. If some cell has no room for all
--- its times, every text has only the first time and the number of visits, and the second result is true. cell: the size of a cell
--- in pixels.
function order.numbers(visited, cell)
  local out, short = {}, false
  for _, v in ipairs(visited) do
    short = short or not v.inside and #v[3] > 1 and DIGIT * #table.concat(v[3], " ") > cell - APART
  end
  for _, v in ipairs(visited) do
    local text = short and #v[3] > 1 and ("%d ×%d"):format(v[3][1], #v[3]) or table.concat(v[3], " ")
    if not v.inside then out[#out + 1] = ('%d %d "%s"'):format(v[1], v[2], text) end
  end
  return out, short and cell >= grid.NUMBERS
end

-- Returns the cells that are visited more than once.
local function repeated(visited)
  local out = {}
  for _, cell in ipairs(visited) do if #cell[3] > 1 then out[#out + 1] = {cell[1], cell[2]} end end
  return out
end

-- ---- words

local function count(n, what) return ("%d %s%s"):format(n, what, n == 1 and "" or "s") end
order.count = count

--- Returns the text of the fixed axes: " at k = 0", or "" if there are none.
function order.fixed_text(view)
  local words = {}
  for n, fixed in ipairs(view.fixed) do words[n] = ("%s = %d"):format(fixed.name, fixed.value) end
  return #words > 0 and " at " .. table.concat(words, ", ") or ""
end

-- Returns the shown values of an axis as ranges, such as "0..17" or "0..64 and 936..1000". The end of a range is not included.
local function ranges_text(values)
  local out, first = {}, values[1]
  for n, v in ipairs(values) do
    if values[n + 1] ~= v + 1 then out[#out + 1], first = ("%d..%d"):format(first, v + 1), values[n + 1] end
  end
  return table.concat(out, " and ")
end

local function is_whole(axis) return #axis.values == axis.hi - axis.lo + 1 end

--- Returns the text of the shown part of an axis, such as "i in 0..17" or "i in 0..8 of 0..17".
local function axis_text(axis)
  local text = ("%s in %s"):format(axis.name, ranges_text(axis.values))
  return is_whole(axis) and text or ("%s of %d..%d"):format(text, axis.lo, axis.hi + 1)
end

--- Returns a sentence about the number of instances that are shown, or nil if all are shown.
function order.part_text(view)
  local shown, all = 1, 1
  for _, axis in ipairs(view.shown) do shown, all = shown * #axis.values, all * (axis.hi - axis.lo + 1) end
  return shown < all and ("%d of %d instances are shown."):format(shown, all) or nil
end

function order.shown_text(view)
  local words = {}
  for _, axis in ipairs(view.shown) do words[#words + 1] = axis_text(axis) end
  return ("%s, %s%s"):format(view.stage, table.concat(words, ", "), order.fixed_text(view))
end

-- Adds a sentence that begins with a count, unless the count is 0.
local function say(out, n, what, one, many)
  if n > 0 then out[#out + 1] = ("%s %s."):format(count(n, what), n == 1 and one or many) end
end

-- Returns the number of vectors that are drawn as bars, and the number of vectors that are drawn as one cell.
local function vectors_in(lanes)
  local bars, single = 0, 0
  for _, lane in ipairs(lanes) do
    for _, stroke in ipairs(lane.strokes) do
      if stroke.bar then bars = bars + 1 elseif stroke.vector then single = single + 1 end
    end
  end
  return bars, single
end

local function rounds_of(lanes)
  local n = 0
  for _, lane in ipairs(lanes) do if lane.name ~= "" then n = n + 1 end end
  return n
end

local function words_of(view, lanes, visited, tiles)
  local again, there = #repeated(visited), #view.columns.values * #view.rows.values
  local once = again == 0 and #visited == there
  local out = {("%s: %s %s."):format(order.shown_text(view), count(there, "instance"),
    once and "visited once each" or "and " .. count(#view.list, "visit"))}
  say(out, again, "instance", "is visited more than once", "are visited more than once")
  say(out, there - #visited, "instance", "is never visited", "are never visited")
  if #tiles > 0 then say(out, #tiles[#tiles], "tile", "", "are outlined") end
  local bars, single = vectors_in(lanes)
  say(out, bars, "vector", "is drawn as a bar: its lanes run at once", "are drawn as bars: the lanes of one vector run at once")
  say(out, single, "vector", "is drawn by one element", "are drawn by one element each")
  local rounds = rounds_of(lanes)
  if rounds > 1 then
    out[#out + 1] = ("%d iterations of parallel loops: each has its own path%s and times."):format(rounds,
      #lanes <= TOLD_APART and ", a colour" or "")
  end
  return table.concat(out, " ")
end

-- ---- making

-- Adds the threads to the entries of the key, with their shapes and colours, if each thread has its own.
local function add_threads(lanes, entries)
  if not order.coloured(lanes) then return end
  for n = 1, math.min(#lanes, NAMED) do
    local lane = lanes[n]
    entries[#entries + 1] = {text = lane.name ~= "" and lane.name or "sequential", pt = lane.point, colour = lane.colour}
  end
  if #lanes > NAMED then entries[#entries + 1] = {text = "and so on", pt = 0, colour = "#FFFFFF"} end
end

-- Returns the entries of the key. again: the text about cells that are visited more than once, if there are any.
local function key_of(lanes, again, last)
  local rgb, entries = function(part) return ("#%06X"):format(grid.shade(part, order.coloured(lanes))) end, {}
  if last > 1 then
    entries = {{text = "early", pt = 5, colour = rgb(0.15), shade = true}, {text = "late", pt = 5, colour = rgb(1), shade = true}}
  end
  add_threads(lanes, entries)
  if again then entries[#entries + 1] = {text = again, fill = "pattern 4", colour = figure.colour.red} end
  return entries
end

order.columns = {"order", "time", "thread", "piece", "loops"}

--- Returns the plotted data as rows: for each execution its position in program order, its time, its thread, its piece, the values
--- of its loops, and the values of the stage's axes.
function order.rows(view)
  local columns, rows = table.move(order.columns, 1, #order.columns, 1, {}), {}
  for _, axis in ipairs(view.axes) do columns[#columns + 1] = axis.name end
  for n, visit in ipairs(view.list) do
    rows[n] = {n, visit.time, visit.thread, visit.piece, visit.loops}
    for k, axis in ipairs(view.axes) do rows[n][#order.columns + k] = visit.at[axis.name] end
  end
  return columns, rows
end

--- Returns the width of a figure that has room for a title and a grid.
function order.width(title, columns, cell)
  return math.min(1000, math.max(LEFT + columns.n * cell + 40, figure.title_width(title), 460)) // 1
end

--- Makes the picture. The fields of view:
---   stage, axes: the stage and its axes
---   rows, columns: the shown axes, from grid.axis, with their domain lo and hi
---   shown: the list of the one or two shown axes
---   fixed: the other axes, a list of {name, value}
---   list: a result of instances.list
---   title: the title of the picture
function order.make(view)
  local cell = grid.cell(view.rows, view.columns, WIDTH, HEIGHT)
  local lanes, visited = order.lanes(view, view.list), order.visited(view, view.list)
  local tiles, last, again = order.tiles(view, view.list), order.last(view.list), repeated(visited)
  local numbers, short = order.numbers(visited, cell)
  local f = figure.new {title = view.title, width = order.width(view.title, view.columns, cell)}
  f:text(f.width / 2, figure.TITLE, order.shown_text(view), {align = "center", size = 10, colour = "#444444"})
  grid.place(f, {left = (f.width - view.columns.n * cell) // 2, top = TOP, cell = cell, rows = view.rows, columns = view.columns,
    fills = order.fills(visited, last, order.coloured(lanes)), lanes = lanes, numbers = numbers, tiles = tiles,
    borders = order.borders(view, view.list),
    hatches = #again > 0 and {{pattern = 4, colour = figure.colour.red, cells = again}} or nil})
  local hatched = short and "visited more than once: time of the first visit × number of visits" or "visited more than once"
  f:key(key_of(lanes, #again > 0 and hatched, last))
  local caption = words_of(view, lanes, visited, tiles)
  local script, size = f:finish(view.rows == grid.NONE and 46 or 14, caption)
  local columns, rows = order.rows(view)
  return plot.new {caption = caption, script = script, size = size, columns = columns, rows = rows}
end

return order
