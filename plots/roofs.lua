--- Draws the roofs of a roofline: their lines and labels. Also defines the coordinates of the panel.
local figure = require "nestwright.plots.figure"
local fit = require "nestwright.plots.fit"
local gnuplot = require "nestwright.plots.gnuplot"
local written = require "nestwright.show.written"

local roofs = {WIDTH = 1000, LEFT = 100, RIGHT = 30, HEIGHT = 440} -- pixels

local SIZE = 10 -- pixels: the size of the font of labels
local CLOSE = 17 -- two roofs that are less than this many pixels apart have no room for words between them

local WIDTH, LEFT, RIGHT, HEIGHT = roofs.WIDTH, roofs.LEFT, roofs.RIGHT, roofs.HEIGHT
local colour = figure.colour

-- ---- pixels

local GAP = 16 -- pixels from the ridge of a roof to the end of its label

-- Returns the text of the label of a roof.
local function label_of(r, l) return ("%s %s%s"):format(l.name, written.quantity(l.best, "B/s"), r.whose) end

-- Returns an x value such that an axis from there to x1 has room for the labels of all roofs, each before its ridge.
local function least_begin(sets, x0, x1)
  local begin = x0 / 3
  for _, r in ipairs(sets) do
    for _, l in ipairs(r.shown) do
      local share = math.min((fit.width(label_of(r, l), SIZE) + 2 * GAP) / (WIDTH - LEFT - RIGHT), 0.5)
      local ridge = r.top / l.best
      begin = math.min(begin, (ridge / x1 ^ share) ^ (1 / (1 - share)))
    end
  end
  return begin
end

--- Returns the ranges of the axes and the position of the panel.
function roofs.frame(dots, sets, top)
  local x0, x1, y0, y1 = math.huge, 0, math.huge, 0
  for _, d in ipairs(dots) do
    x0, x1, y0, y1 = math.min(x0, d.intensity), math.max(x1, d.intensity), math.min(y0, d.low), math.max(y1, d.high)
  end
  local dots_end = x1
  for _, r in ipairs(sets) do
    y1 = math.max(y1, r.top)
    for _, l in ipairs(r.levels) do
      local ridge = r.top / l.best
      x0, x1 = math.min(x0, ridge), math.max(x1, ridge)
    end
  end
  local room = x0 / 3 * (dots_end / (x0 / 3)) ^ (1 / 0.7) -- makes room for the label of the last dot
  x1 = math.max(x1 * 3, room)
  local f = {x0 = least_begin(sets, x0, x1), x1 = x1, y0 = y0 / 4, y1 = y1 * 2, top = top}
  f.per_x, f.per_y = (WIDTH - LEFT - RIGHT) / math.log(f.x1 / f.x0), HEIGHT / math.log(f.y1 / f.y0)
  return f
end

--- `across` returns the pixels from the left edge for an x value. `down` returns the pixels from the top for a y value.
function roofs.across(f, x) return LEFT + f.per_x * math.log(x / f.x0) end
function roofs.down(f, y) return f.top + f.per_y * math.log(f.y1 / y) end

-- ---- roofs

--- Returns the lines of a set of roofs. The peak and the roof of the level whose bytes the axis counts are bold. r: {top (the upper
--- end of the roofs), peak (or nil), shown (the levels that are drawn)}.
function roofs.parts(f, r, frame, level, dash)
  local parts, left = {}, frame.x1
  for _, l in ipairs(r.levels) do left = math.min(left, r.top / l.best) end
  if r.shown[1] then left = r.top / r.shown[1].best end
  for _, l in ipairs(r.shown) do
    local ridge = r.top / l.best
    left = math.min(left, ridge)
    parts[#parts + 1] = ("%s using 1:2 with lines lw %g dt %d lc rgb '%s' notitle"):format(
      f:data({{frame.x0, frame.x0 * l.best}, {ridge, r.top}}, "roof"), l.name == level and 2.5 or 1.2, dash,
      l.name == level and colour.black or colour.grey)
  end
  if r.peak then
    parts[#parts + 1] = ("%s using 1:2 with lines lw 2.5 dt %d lc rgb '#000000' notitle"):format(
      f:data({{left, r.top}, {frame.x1, r.top}}, "peak"), dash)
  end
  return parts
end

-- Returns the distance between two roofs in pixels. All roofs have the same slope.
local function apart(frame, a, b)
  local angle = math.atan(frame.per_y, frame.per_x)
  return frame.per_x * math.abs(math.log(a / b)) * math.sin(angle)
end

local BESIDE = 8 -- pixels from a roof to the middle of its label

-- Returns positions along a label that ends at a given point of a roof. They are eight pixels apart. side: -1 above the roof, 1
-- below it.
local function along(x, y, long, frame, side)
  local angle, out = math.atan(frame.per_y, frame.per_x), {}
  for at = 0, long, 8 do out[#out + 1] = {x - at * math.cos(angle), y + at * math.sin(angle) + side * BESIDE} end
  return out
end

local function hides(places, boxes)
  for _, place in ipairs(places) do
    for _, box in ipairs(boxes) do
      local x, y = place[1], place[2]
      if x > box.from - 8 and x < box.from + box.wide + 8 and math.abs(y - box.y) < 16 then return true end
    end
  end
  return false
end

-- Returns the x value at which a label on a roof ends. The label is near the ridge (the point at which the roof meets the peak) or,
-- if it would hide something there, further down. Adds the area of the label to the boxes.
local function place(e, frame, boxes)
  local long, best = fit.width(e.text, SIZE), nil
  for pixels = GAP, 600, 12 do
    local x = e.ridge * math.exp(-pixels / frame.per_x)
    local places = along(roofs.across(frame, x), roofs.down(frame, x * e.best), long, frame, e.side)
    local first = places[#places]
    if first[1] < LEFT or first[2] > frame.top + HEIGHT then break end
    best = best or {x, places}
    if not hides(places, boxes) then best = {x, places} break end
  end
  best = best or {e.ridge * math.exp(-GAP / frame.per_x), {}}
  for _, at in ipairs(best[2]) do boxes[#boxes + 1] = {from = at[1] - 6, wide = 12, y = at[2]} end
  return best[1]
end

-- Returns all roofs of all sets with their labels, fastest first.
local function entries_of(sets)
  local out = {}
  for _, r in ipairs(sets) do
    for _, l in ipairs(r.shown) do
      out[#out + 1] = {text = label_of(r, l), best = l.best, ridge = r.top / l.best}
    end
  end
  table.sort(out, function(a, b) return a.best > b.best end)
  return out
end

-- Sets the side of each label: above its roof if there is room, otherwise below it. If there is no room on either side, appends the
-- label to the label of the roof above.
local function sided(entries, frame)
  local out = {}
  for n, e in ipairs(entries) do
    local before, after = entries[n - 1], entries[n + 1]
    local above = not before or apart(frame, before.best, e.best) >= CLOSE
    local below = not after or apart(frame, e.best, after.best) >= CLOSE
    e.side = above and -1 or 1
    if above or below then out[#out + 1] = e else out[#out].text = out[#out].text .. ", " .. e.text end
  end
  return out
end

--- Draws the labels along all roofs, so that they avoid the boxes and each other.
function roofs.labels(sets, frame, boxes, out)
  local angle = math.deg(math.atan(frame.per_y, frame.per_x))
  for _, e in ipairs(sided(entries_of(sets), frame)) do
    local x = place(e, frame, boxes)
    out[#out + 1] = ("set label %s at %.9g, %.9g right rotate by %.1f noenhanced font ',10' offset 0,%g"):format(
      gnuplot.quote(e.text), x, x * e.best, angle, e.side < 0 and 0.7 or -0.8)
  end
end

--- Draws the points at which the roofs meet the peak.
function roofs.ridges(f, r)
  local points = {}
  for n, l in ipairs(r.shown) do points[n] = {r.top / l.best, r.top} end
  return f:data(points, "ridge") .. " using 1:2 with points pt 7 ps 0.6 lc rgb '#000000' notitle"
end

local function overlaps(a, boxes)
  for _, b in ipairs(boxes) do
    if math.abs(a.y - b.y) < 14 and a.from < b.from + b.wide + 8 and b.from < a.from + a.wide + 8 then return true end
  end
  return false
end

-- Draws the number of operations per byte of each ridge, if there is room. The numbers are above or below the peak.
local function ridge_numbers(f, r, frame, y, right, boxes)
  local points = table.move(r.shown, 1, #r.shown, 1, {})
  table.sort(points, function(a, b) return a.best > b.best end)
  for _, l in ipairs(points) do
    local x = roofs.across(frame, r.top / l.best)
    local box = {y = y, from = x - 14, wide = 28}
    if x < right and not overlaps(box, boxes) then
      local ridge = r.top / l.best
      f:text(x, y, (ridge < 100 and "%.2g" or "%.0f"):format(ridge), {align = "center", size = 9})
      boxes[#boxes + 1] = box
    end
  end
end

--- Draws the label of each peak, and the numbers of its ridges. They are above the highest peak, and below the other peaks. Adds
--- the areas of the labels to the boxes.
function roofs.peaks(f, sets, frame, boxes)
  local sorted = {}
  for _, r in ipairs(sets) do if r.peak then sorted[#sorted + 1] = r end end
  table.sort(sorted, function(a, b) return a.top > b.top end)
  for n, r in ipairs(sorted) do
    local text = "peak " .. written.quantity(r.peak.best, r.on_chip and "op/s" or "flop/s") .. r.of
    local wide = fit.width(text, SIZE)
    local box = {y = roofs.down(frame, r.top) + (n > 1 and 10 or -10), from = WIDTH - RIGHT - 4 - wide, wide = wide}
    while overlaps(box, boxes) and box.from > WIDTH / 2 do box.from = box.from - 20 end
    f:text(box.from + wide, box.y, text, {align = "right", size = SIZE})
    boxes[#boxes + 1] = box
    ridge_numbers(f, r, frame, box.y, box.from - 24, boxes)
  end
end

return roofs
