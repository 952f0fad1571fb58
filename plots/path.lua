--- Draws the order of visits as a path between cells of a grid. A step to a neighbouring cell is a line, a jump to another cell is
--- a dotted line, and a vector is a bar.
local path = {}

local SMALL = 14 -- lines are thin if a cell has fewer pixels
local HEADS = 1000 -- with more strokes, arrow heads and dots are left out, because they would hide the path
local ROOM = 2.2 -- the height, in cells, of the space for arcs above a single row

local function is_line(o) return o.rows.n == 1 and #o.rows.ticks == 0 end

--- Returns the path from stroke to stroke as two lists of segments. The first list has the steps to neighbours, the second has the
--- jumps. A segment is {column, row, change of the column, change of the row}.
function path.segments(strokes)
  local steps, jumps = {}, {}
  for k = 2, #strokes do
    local a, b = strokes[k - 1], strokes[k]
    local near = math.max(math.abs(a.to[1] - b.from[1]), math.abs(a.to[2] - b.from[2])) <= 1
    local list = near and steps or jumps
    list[#list + 1] = {a.middle[1], a.middle[2], b.middle[1] - a.middle[1], b.middle[2] - a.middle[2]}
  end
  return steps, jumps
end

--- Returns the height, in cells, of the space that arcs need above a single row.
function path.room(o)
  for _, lane in ipairs(is_line(o) and o.lanes or {}) do
    local _, jumps = path.segments(lane.strokes)
    if #jumps > 0 then return ROOM end
  end
  return 0
end

-- ---- what is plotted

-- Returns the points of an arc for a jump in a single row, because the row would hide a straight line.
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

-- Returns the points of lines that consist of the segments. A segment that starts at the end of the segment before it continues its
-- line.
local function chained(segments)
  local points, x, y = {}, nil, nil
  for _, s in ipairs(segments) do
    if s[1] ~= x or s[2] ~= y then
      if x then points[#points + 1] = "" end
      points[#points + 1] = {s[1], s[2]}
    end
    x, y = s[1] + s[3], s[2] + s[4]
    points[#points + 1] = {x, y}
  end
  return points
end

local function arrows(f, segments, kind, o, style)
  if not o.heads then return ("%s using 1:2 with lines %s notitle"):format(f:data(chained(segments), kind), style) end
  local head = ("filled head size %.3f,20 fixed"):format(math.min(0.22, 4 / o.cell + 0.08))
  return ("%s using 1:2:3:4 with vectors %s %s notitle"):format(f:data(segments, kind), head, style)
end

local function lines(f, o, lane, parts)
  local width = o.cell < SMALL and 0.7 or 1.2
  if #lane.steps > 0 then
    parts[#parts + 1] = arrows(f, lane.steps, "steps", o, ("lw %.1f dt %d lc rgb '%s'"):format(width, o.dashed and 2 or 1,
      lane.colour))
  end
  if #lane.jumps == 0 then return end
  local style = ("lw %.1f dt %d lc rgb '%s'"):format(width * 0.7, o.dashed and 2 or 3, lane.colour)
  if is_line(o) then
    arcs(f, lane.jumps, "filled head size 0.2,20 fixed", style, parts)
  else
    parts[#parts + 1] = arrows(f, lane.jumps, "jumps", o, style)
  end
end

-- Draws vectors as bars through their cells.
local function bars(f, o, lane, parts)
  if #lane.vectors == 0 then return end
  parts[#parts + 1] = ("%s using 1:2:3:4 with vectors nohead lw %.1f lc rgb '%s' notitle"):format(f:data(lane.vectors, "vectors"),
    math.max(2, o.cell * 0.16), lane.colour)
end

local function points(f, list, kind, lane, size)
  return ("%s using 1:2 with points pt %d ps %.1f lc rgb '%s' notitle"):format(f:data(list, kind), lane.point, size, lane.colour)
end

-- Returns the size of the dot at the start of a path. It is larger than other dots, unless there are several starts, or marks that
-- look similar.
local function begin_size(o, lane)
  if #lane.begins > 1 or o.marks then return 0.5 end
  return o.cell < SMALL and 0.8 or 1.4
end

local function dots(f, o, lane, parts)
  if o.heads then parts[#parts + 1] = points(f, lane.visits, "visits", lane, o.cell < SMALL and 0.3 or 0.6) end
  parts[#parts + 1] = points(f, lane.begins, "begin", lane, begin_size(o, lane))
end

-- ---- merging of lanes that look the same

local function add(list, of) table.move(of, 1, #of, #list + 1, list) end

local function add_lane(to, lane)
  local steps, jumps = path.segments(lane.strokes)
  add(to.steps, steps)
  add(to.jumps, jumps)
  table.insert(to.begins, lane.strokes[1].from)
  for _, stroke in ipairs(lane.strokes) do
    table.insert(to.visits, stroke.middle)
    if stroke.bar then
      table.insert(to.vectors, {stroke.from[1], stroke.from[2], stroke.to[1] - stroke.from[1], stroke.to[2] - stroke.from[2]})
    end
  end
end

local function merged(lanes)
  local out, at = {}, {}
  for _, lane in ipairs(lanes) do
    local key = lane.colour .. " " .. lane.point
    if not at[key] then
      at[key] = {colour = lane.colour, point = lane.point, steps = {}, jumps = {}, vectors = {}, visits = {}, begins = {}}
      out[#out + 1] = at[key]
    end
    add_lane(at[key], lane)
  end
  return out
end

--- Adds the paths of o.lanes to the parts of a panel. o: as in grid.place.
function path.draw(f, o, parts)
  local strokes = 0
  for _, lane in ipairs(o.lanes or {}) do strokes = strokes + #lane.strokes end
  o.heads = strokes <= HEADS and o.cell >= SMALL
  for _, lane in ipairs(merged(o.lanes or {})) do
    bars(f, o, lane, parts)
    lines(f, o, lane, parts)
    dots(f, o, lane, parts)
  end
end

return path
