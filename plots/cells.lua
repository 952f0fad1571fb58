--- Merges cells of a grid into few boxes, and their edges into few lines, so that files with pictures of thousands of cells stay
--- small.
local cells = {}

local MANY = 600 -- up to this number of cells, each cell is drawn as a separate box

local function key(x, y) return x .. " " .. y end

-- ---- boxes

local function box(c, wide, high)
  local x, y = c[1] - 0.5, c[2] - 0.5
  return {c[1], c[2], c[3] or 0, x, x + wide, y, y + high}
end

-- Returns the boxes of runs of adjacent cells with one colour. along: 1 for horizontal runs, 2 for vertical runs.
local function runs(list, along)
  local sorted, out, last = table.move(list, 1, #list, 1, {}), {}, nil
  local other = 3 - along
  table.sort(sorted, function(a, b)
    if a[other] ~= b[other] then return a[other] < b[other] end
    return a[along] < b[along]
  end)
  for _, c in ipairs(sorted) do
    if last and last.c[other] == c[other] and last.c[along] + last.n == c[along] and last.c[3] == c[3] then
      last.n = last.n + 1
    else
      last = {c = c, n = 1}
      out[#out + 1] = last
    end
  end
  for n, run in ipairs(out) do out[n] = box(run.c, along == 1 and run.n or 1, along == 2 and run.n or 1) end
  return out
end

-- Returns, for each place, the last cell of the list at this place.
local function single(list)
  local at, out = {}, {}
  for _, c in ipairs(list) do
    local k = key(c[1], c[2])
    if not at[k] then
      out[#out + 1] = c
      at[k] = #out
    else
      out[at[k]] = c
    end
  end
  return out
end

--- Returns boxes {column, row, colour, left, right, upper and lower edge} for cells {column, row, colour}. If there are many cells,
--- adjacent cells of one colour become one box.
function cells.boxes(list)
  local out = {}
  if #list <= MANY then
    for n, c in ipairs(list) do out[n] = box(c, 1, 1) end
    return out
  end
  list = single(list)
  local across, down = runs(list, 1), runs(list, 2)
  return #down < #across and down or across
end

-- ---- edges

-- Adds the edges of a tile to `out`, which has true at [vertical][line][position along the line]. An edge is as long as a cell.
local function add_edges(tile, out)
  local has = {}
  local function side(upright, at, from)
    local line = out[upright]
    line[at] = line[at] or {}
    line[at][from] = true
  end
  for _, c in ipairs(tile) do has[key(c[1], c[2])] = true end
  for _, c in ipairs(tile) do
    local x, y = c[1], c[2]
    if not has[key(x - 1, y)] then side(true, x, y) end
    if not has[key(x + 1, y)] then side(true, x + 1, y) end
    if not has[key(x, y - 1)] then side(false, y, x) end
    if not has[key(x, y + 1)] then side(false, y + 1, x) end
  end
end

local function sorted_keys(set)
  local list = {}
  for k in pairs(set) do list[#list + 1] = k end
  table.sort(list)
  return list
end

-- Merges consecutive unit edges into lines {column, row, length in columns, length in rows}.
local function add_lines(upright, lines, out)
  for _, at in ipairs(sorted_keys(lines)) do
    local from, to
    local function close()
      if from then
        out[#out + 1] = upright and {at - 0.5, from - 0.5, 0, to - from} or {from - 0.5, at - 0.5, to - from, 0}
      end
    end
    for _, k in ipairs(sorted_keys(lines[at])) do
      if k ~= to then
        close()
        from = k
      end
      to = k + 1
    end
    close()
  end
end

--- Returns the edges of tiles as lines {column, row, length in columns, length in rows}. A tile is a list of cells {column, row}.
function cells.edges(tiles)
  local sides, out = {[true] = {}, [false] = {}}, {}
  for _, tile in ipairs(tiles) do add_edges(tile, sides) end
  add_lines(true, sides[true], out)
  add_lines(false, sides[false], out)
  return out
end

return cells
