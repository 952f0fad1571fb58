--- The roofs of a roofline: where things stand under them, the lines, and the words along them.
local figure = require "nestwright.plots.figure"
local gnuplot = require "nestwright.plots.gnuplot"
local written = require "nestwright.written"

local roofs = {WIDTH = 1000, LEFT = 100, RIGHT = 30, HEIGHT = 440} -- pixels

local CHARACTER = 6.6 -- pixels
local CLOSE = 1.25 -- roofs nearer than that have one label

local WIDTH, LEFT, RIGHT, HEIGHT = roofs.WIDTH, roofs.LEFT, roofs.RIGHT, roofs.HEIGHT
local colour = figure.colour

-- ---- pixels

--- Where the axes begin and end, and pixels from the top of the figure.
function roofs.frame(dots, sets, top)
  local x0, x1, y0, y1 = math.huge, 0, math.huge, 0
  for _, d in ipairs(dots) do
    x0, x1, y0, y1 = math.min(x0, d.intensity), math.max(x1, d.intensity), math.min(y0, d.low), math.max(y1, d.high)
  end
  local dots_end = x1
  for _, r in ipairs(sets) do
    y1 = math.max(y1, r.peak.best)
    for _, l in ipairs(r.levels) do
      local ridge = r.peak.best / l.best
      x0, x1 = math.min(x0, ridge), math.max(x1, ridge)
    end
  end
  local room = x0 / 3 * (dots_end / (x0 / 3)) ^ (1 / 0.7) -- for what is written beside the last dot
  local f = {x0 = x0 / 3, x1 = math.max(x1 * 3, room), y0 = y0 / 4, y1 = y1 * 2, top = top}
  f.per_x, f.per_y = (WIDTH - LEFT - RIGHT) / math.log(f.x1 / f.x0), HEIGHT / math.log(f.y1 / f.y0)
  return f
end

--- Pixels from the left edge, and from the top.
function roofs.across(f, x) return LEFT + f.per_x * math.log(x / f.x0) end
function roofs.down(f, y) return f.top + f.per_y * math.log(f.y1 / y) end

-- ---- roofs

--- Whose roofs these are, where there are others as well.
function roofs.whose(r, many)
  local threads = r.threads or 1
  return many and (" (%d thread%s)"):format(threads, threads == 1 and "" or "s") or ""
end

--- The lines: those that the axis counts, and the peak, are bold.
function roofs.parts(f, r, frame, level, dash)
  local parts = {}
  local left = frame.x1
  for _, l in ipairs(r.shown) do
    local ridge = r.peak.best / l.best
    left = math.min(left, ridge)
    parts[#parts + 1] = ("%s using 1:2 with lines lw %g dt %d lc rgb '%s' notitle"):format(
      f:data({{frame.x0, frame.x0 * l.best}, {ridge, r.peak.best}}, "roof"), l.name == level and 2.5 or 1.2, dash,
      l.name == level and colour.black or colour.grey)
  end
  parts[#parts + 1] = ("%s using 1:2 with lines lw 2.5 dt %d lc rgb '#000000' notitle"):format(
    f:data({{left, r.peak.best}, {frame.x1, r.peak.best}}, "peak"), dash)
  return parts
end

-- Levels from the fastest on, those close to each other together.
local function groups_of(r)
  local sorted, out = table.move(r.shown, 1, #r.shown, 1, {}), {}
  table.sort(sorted, function(a, b) return a.best > b.best end)
  for _, l in ipairs(sorted) do
    local last = out[#out]
    if last and last[1].best / l.best < CLOSE then last[#last + 1] = l else out[#out + 1] = {l} end
  end
  return out
end

-- Whether words that end at a place on a roof hide one of the boxes: looked at every few pixels of them.
local function hides(x, y, long, frame, boxes)
  local angle = math.atan(frame.per_y, frame.per_x)
  for along = 0, long, 8 do
    local px, py = x - along * math.cos(angle), y + along * math.sin(angle) - 8
    for _, box in ipairs(boxes) do
      if px > box.from - 8 and px < box.from + box.wide + 8 and math.abs(py - box.y) < 16 then return true end
    end
  end
  return false
end

-- Where on a roof the words end: near the ridge, else further down, as soon as they hide nothing.
local function place(ridge, peak, long, frame, boxes)
  local best
  for pixels = 16, 400, 12 do
    local x = ridge * math.exp(-pixels / frame.per_x)
    local y = x * peak / ridge
    if roofs.across(frame, x) - long * 0.8 < LEFT or roofs.down(frame, y) + long * 0.6 > frame.top + HEIGHT then break end
    best = best or x
    if not hides(roofs.across(frame, x), roofs.down(frame, y), long, frame, boxes) then return x end
  end
  return best or ridge * math.exp(-16 / frame.per_x)
end

--- Words along the roofs, out of the way of the boxes; of those whose words tell more, below them.
function roofs.labels(r, frame, more, boxes, out)
  local angle = math.deg(math.atan(frame.per_y, frame.per_x))
  for _, group in ipairs(groups_of(r)) do
    local names = {}
    for n, l in ipairs(group) do names[n] = ("%s %s"):format(l.name, written.quantity(l.best, "B/s")) end
    local text = table.concat(names, ", ") .. more
    local x = place(r.peak.best / group[1].best, r.peak.best, CHARACTER * #text, frame, boxes)
    out[#out + 1] = ("set label %s at %.9g, %.9g right rotate by %.1f noenhanced font ',10' offset 0,%g"):format(
      gnuplot.quote(text), x, x * group[1].best, angle, more == "" and 0.7 or -0.8)
  end
end

--- Where each roof meets the peak.
function roofs.ridges(f, r)
  local points = {}
  for n, l in ipairs(r.shown) do points[n] = {r.peak.best / l.best, r.peak.best} end
  return f:data(points, "ridge") .. " using 1:2 with points pt 7 ps 0.6 lc rgb '#000000' notitle"
end

--- Over the peak, or below it: what it is, and where each roof meets it. Answers where the words stand.
function roofs.peak(f, r, frame, many, below)
  local y = roofs.down(frame, r.peak.best) + (below and 10 or -10)
  local text = "peak " .. written.quantity(r.peak.best, "flop/s") .. roofs.whose(r, many)
  local last, right = -math.huge, WIDTH - RIGHT - 4
  f:text(right, y, text, {align = "right", size = 10})
  for _, group in ipairs(groups_of(r)) do
    local x = roofs.across(frame, r.peak.best / group[1].best)
    if x - last > 44 and x < right - CHARACTER * #text - 24 then
      f:text(x, y, ("%.2g"):format(r.peak.best / group[1].best), {align = "center", size = 9})
      last = x
    end
  end
  return {y = y, from = right - CHARACTER * #text, wide = CHARACTER * #text}
end

return roofs
