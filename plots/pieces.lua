--- Draws the pieces and tiles of a stage. A piece consists of the instances in one of the parts into which loops were cut. Each
--- piece has a colour, a hatch and a name. Tiles are outlined.
local figure = require "nestwright.plots.figure"
local fit = require "nestwright.plots.fit"
local grid = require "nestwright.plots.grid"
local order = require "nestwright.plots.order"
local plot = require "nestwright.plots.plot"

local pieces = {}

local TOP, WIDTH, HEIGHT = 96, 620, 600 -- pixels: the start of the grid, and its largest size
local SIZE, LINE, ROOM = 11, 18, 16 -- pixels: the size of the font of names, the height of a line, and the least height of a name
local LEFT, TICKS = 90, 56 -- pixels: the space left of a grid, and the space for the labels of its rows

-- The fills are light. Each fill after the first has a hatch, so that they are distinguishable without colour.
local FILLS = {0xE6ECF2, 0xCFE3F2, 0xF9D9C6, 0xCDEBDF, 0xF3DDE9, 0xFBE9C2, 0xDDF0FA, 0xE4E4E4, 0xF7F3B0, 0xE6DDF2}
local HATCHES = {
  false, {4, "#0072B2"}, {5, "#D55E00"}, {1, "#009E73"}, {6, "#CC79A7"}, {7, "#E69F00"}, {2, "#56B4E9"}, {4, "#555555"},
  {5, "#999900"}, {1, "#7B52A8"},
}

-- ---- the cells of each piece

-- True if the piece is a main piece. The name of a main piece has a part of at least one cut loop, and all these parts are main
-- parts, such as i.main or i.main_o. The primitive `partition` gives the name i.main to the iterations without conditions, and
-- i.main_o is a loop over tiles of i.main.
local function is_main(p)
  local found = false
  for part in p.name:gmatch "[^/]+" do
    if part:find "%.main$" or part:find "%.main_%w*$" then
      found = true
    elseif part:find(".", 1, true) then
      return false
    end
  end
  return found
end

-- Returns the rank of a piece: 1 for a main piece, 2 for a piece whose name has no parts of cut loops, and 3 for all others.
local function rank_of(p) return is_main(p) and 1 or not p.name:find(".", 1, true) and 2 or 3 end

-- Returns the pieces {name, cells}, ordered by rank, then by size, then by first visit. An instance that is in two pieces is a cell
-- of both.
local function pieces_of(view)
  local list, at = {}, {}
  for _, visit in ipairs(view.list) do
    local p = at[visit.piece]
    if not p then
      p = {name = visit.piece, cells = {}, has = {}, visited = #list}
      list[#list + 1], at[visit.piece] = p, p
    end
    local cell = order.cell(view, visit)
    local key = cell[1] .. " " .. cell[2]
    if not p.has[key] then
      p.has[key] = true
      table.insert(p.cells, cell)
    end
  end
  table.sort(list, function(a, b)
    local one, other = rank_of(a), rank_of(b)
    if one ~= other then return one < other end
    if #a.cells ~= #b.cells then return #a.cells > #b.cells end
    return a.visited < b.visited
  end)
  return list
end

-- Returns the cells of instances that run more than once.
local function repeated(view)
  local times, out = {}, {}
  for _, visit in ipairs(view.list) do
    local cell = order.cell(view, visit)
    local key = cell[1] .. " " .. cell[2]
    times[key] = (times[key] or 0) + 1
    if times[key] == 2 then out[#out + 1] = cell end
  end
  return out
end

-- ---- colours

-- The number of the style for each name, so that pieces of the same name have the same colour in all pictures.
local STYLES = {pre = 2, post = 3, tail = 4, head = 5, rest = 6}

local function next_free(taken)
  for n = #FILLS, 2, -1 do if not taken[n] then return n end end
  return nil
end

-- Sets the style of each piece. The first style has no hatch. The first piece in the list gets this style if its rank is 1 or 2.
local function set_styles(list)
  local taken, sorted = {}, table.move(list, 1, #list, 1, {})
  table.sort(sorted, function(a, b)
    if #a.name ~= #b.name then return #a.name < #b.name end
    return a.name < b.name
  end)
  for n, p in ipairs(sorted) do
    local wanted = STYLES[p.name:match "%.(%a+)$"]
    if p == list[1] and rank_of(p) < 3 then wanted = 1 end
    p.style = wanted and not taken[wanted] and wanted or next_free(taken) or (n - 1) % (#FILLS - 1) + 2
    taken[p.style] = true
  end
end

local AGAIN = 0xAEBCC9 -- the colour of instances that run more than once

local function fills_of(list, again)
  local out = {}
  for _, p in ipairs(list) do
    for _, cell in ipairs(p.cells) do out[#out + 1] = {cell[1], cell[2], FILLS[p.style]} end
  end
  for _, cell in ipairs(again) do out[#out + 1] = {cell[1], cell[2], AGAIN} end
  return out
end

local function hatches_of(list)
  local out = {}
  for _, p in ipairs(list) do
    local hatch = HATCHES[p.style]
    if hatch then out[#out + 1] = {pattern = hatch[1], colour = hatch[2], cells = p.cells} end
  end
  return out
end

-- ---- names

local function centre(p)
  local x, y = 0, 0
  for _, c in ipairs(p.cells) do x, y = x + c[1] / #p.cells, y + c[2] / #p.cells end
  return x, y
end

local function has_block(p, c, wide, high)
  for x = c[1], c[1] + wide - 1 do
    for y = c[2], c[2] + high - 1 do if not p.has[x .. " " .. y] then return false end end
  end
  return true
end

-- Finds a block of wide x high cells inside the piece, as near to the piece's middle as possible. Returns the middle of this block,
-- or nil.
local function block_inside(p, wide, high)
  local best, least, x, y = nil, math.huge, centre(p)
  for _, c in ipairs(p.cells) do
    local at = {c[1] + (wide - 1) / 2, c[2] + (high - 1) / 2}
    local far = math.abs(at[1] - x) + math.abs(at[2] - y)
    if far < least and has_block(p, c, wide, high) then best, least = at, far end
  end
  return best
end

-- Returns a place for the name inside of the piece, for horizontal text or, if there is no room, for vertical text. Returns nil if
-- there is no room for either.
local function room_inside(p, cell)
  local long, thick = math.ceil((fit.width(p.name, SIZE) + 8) / cell), math.ceil(ROOM / cell)
  local at = block_inside(p, long, thick)
  if at then return at end
  at = block_inside(p, thick, long)
  if at then at.upright = true end
  return at
end

-- True if a line at this row crosses the name of a piece. cell: the size of a cell in pixels.
local function meets_name(list, row, cell)
  for _, p in ipairs(list) do
    local high = p.inside and (p.inside.upright and fit.width(p.name, SIZE) or ROOM) + 4
    if high and math.abs(p.inside[2] - row) * cell < high / 2 then return true end
  end
  return false
end

-- Returns the cell of a piece that is farthest to the right (side 1) or to the left (side -1). If there are several such cells,
-- returns the cell nearest to their middle whose line crosses no name.
local function anchor(p, side, list, cell)
  local most, edge = -math.huge, {}
  for _, c in ipairs(p.cells) do most = math.max(most, side * c[1]) end
  for _, c in ipairs(p.cells) do if side * c[1] == most then edge[#edge + 1] = c end end
  table.sort(edge, function(a, b) return a[2] < b[2] end)
  local middle = #edge // 2 + 1
  for far = 0, #edge - 1 do
    for _, n in ipairs {middle - far, middle + far} do
      if edge[n] and not meets_name(list, edge[n][2], cell) then return edge[n] end
    end
  end
  return edge[middle]
end

-- Sorts the names beside the grid by the rows of their cells, from top to bottom. In the same row, the cell nearest to the names
-- comes first.
local function sort_beside(list, side)
  table.sort(list, function(a, b)
    if a.anchor[2] ~= b.anchor[2] then return a.anchor[2] < b.anchor[2] end
    return side * a.anchor[1] > side * b.anchor[1]
  end)
end

-- Returns the pieces whose names have no room inside. Their names are placed at the right of the grid (list 1) or at its left (list
-- -1).
local function place_names(list, cell, columns)
  local beside = {[1] = {}, [-1] = {}}
  for _, p in ipairs(list) do p.inside = room_inside(p, cell) end
  for _, p in ipairs(list) do
    if not p.inside then
      local side = centre(p) < (columns - 1) / 3 and -1 or 1
      p.anchor = anchor(p, side, list, cell)
      table.insert(beside[side], p)
    end
  end
  for side, names in pairs(beside) do sort_beside(names, side) end
  return beside
end

local function middle(rect, cell, at) return rect.left + (at[1] + 0.5) * cell, rect.top + (at[2] + 0.5) * cell end

local function draw_inside(f, rect, list, cell)
  for _, p in ipairs(list) do
    if p.inside then
      local x, y = middle(rect, cell, p.inside)
      f:text(x, y, p.name, {align = "center", boxed = true, upright = p.inside.upright})
    end
  end
end

-- Sets the heights of the lines from the names on the left, so that they pass between the numbers of the rows. Each line ends at
-- the nearest edge cell of its piece.
local function between_rows(rect, view, list, cell)
  local free, last = grid.free_rows(rect, view.rows, cell), 0
  for _, p in ipairs(list) do
    local _, at = middle(rect, cell, p.anchor)
    local best, least = nil, math.huge
    for n = last + 1, #free do if math.abs(free[n] - at) < least then best, least = n, math.abs(free[n] - at) end end
    if best then
      p.line, last = free[best], best
      for _, c in ipairs(p.cells) do
        local _, y = middle(rect, cell, c)
        if c[1] == p.anchor[1] and math.abs(y - p.line) < math.abs(at - p.line) then p.anchor, at = c, y end
      end
    end
  end
end

-- Draws names beside the grid, as near to their cells as the neighbouring names allow.
local function draw_beside(f, rect, list, side, cell)
  local x, lowest = side > 0 and rect.left + rect.width + 36 or rect.left - TICKS, rect.top - LINE
  for _, p in ipairs(list) do
    local from, at = middle(rect, cell, p.anchor)
    local y = p.line or math.max(lowest + LINE, at)
    if p.line then at = math.max(at - cell / 2, math.min(p.line, at + cell / 2)) end
    f:line(x - side * 4, y, from, at, "head filled size screen 0.008,20 lw 0.8 lc rgb '#333333'")
    f:text(x, y, p.name, {align = side > 0 and "left" or "right"})
    lowest = y
  end
  f.bottom = math.max(f.bottom, math.ceil(lowest + LINE))
end

-- ---- making

local function share_cells(tiles)
  local seen = {}
  for _, tile in ipairs(tiles) do
    for _, c in ipairs(tile) do
      local key = c[1] .. " " .. c[2]
      if seen[key] and seen[key] ~= tile then return true end
      seen[key] = tile
    end
  end
  return false
end

local function tiles_text(tiles)
  local overlap = share_cells(tiles) and ", and some overlap" or ""
  return ("%s outlined%s."):format(order.count(#tiles, "tile"), overlap)
end

local function caption_of(view, list, tiles, again)
  local out = {order.shown_text(view) .. ":", order.part_text(view)}
  local words = {}
  for n, p in ipairs(list) do words[n] = ("%s %s"):format(p.name, order.count(#p.cells, "instance")) end
  out[#out + 1] = table.concat(words, ", ") .. "."
  if #tiles > 0 then out[#out + 1] = tiles_text(tiles[#tiles]) end
  if #again > 0 then out[#out + 1] = ("Darker: %s more than once."):format(#again == 1 and "1 runs" or #again .. " run") end
  return table.concat(out, " ")
end

-- Returns the pixels that names beside the grid need.
local function room_beside(list)
  local most = 0
  for _, p in ipairs(list) do most = math.max(most, 60 + math.ceil(fit.width(p.name, SIZE))) end
  return most
end

-- Returns the least size of a cell: a few pixels, but fewer if there are so many cells that the picture would be too large.
local function least_cell(view)
  return math.max(2, math.min(7, HEIGHT // math.max(view.rows.n, view.columns.n)))
end

--- Makes the picture. view: as for order.make; its field `width` is the largest width and height of the grid in pixels.
function pieces.make(view)
  local cell = grid.cell(view.rows, view.columns, view.width or WIDTH, view.width or HEIGHT, least_cell(view))
  local list, tiles = pieces_of(view), order.tiles(view, view.list)
  local again = repeated(view)
  set_styles(list)
  local beside = place_names(list, cell, view.columns.n)
  local left, right = LEFT + room_beside(beside[-1]), math.max(40, room_beside(beside[1]))
  local wide = left + view.columns.n * cell + right
  local f = figure.new {title = view.title, width = math.max(wide, order.width(view.title, view.columns, cell))}
  f:text(f.width / 2, figure.TITLE, order.shown_text(view), {align = "center", size = 10, colour = "#444444"})
  local rect = grid.place(f, {left = left + (f.width - wide) // 2, top = TOP, cell = cell, rows = view.rows,
    columns = view.columns, fills = fills_of(list, again), hatches = hatches_of(list), tiles = tiles,
    borders = order.borders(view, view.list)})
  if view.rows ~= grid.NONE then between_rows(rect, view, beside[-1], cell) end
  draw_inside(f, rect, list, cell)
  for side, names in pairs(beside) do draw_beside(f, rect, names, side, cell) end
  local caption = caption_of(view, list, tiles, again)
  local script, size = f:finish(view.rows == grid.NONE and 46 or 14, caption)
  local columns, rows = order.rows(view)
  return plot.new {caption = caption, script = script, size = size, columns = columns, rows = rows}
end

return pieces
