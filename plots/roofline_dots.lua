--- Draws the dots of a roofline: their marks, their labels, and the arrows from step to step.
local figure = require "nestwright.plots.figure"
local fit = require "nestwright.plots.fit"
local times = require "nestwright.measure.times"
local roofs = require "nestwright.plots.roofs"
local written = require "nestwright.show.written"

local dots = {NAME = 30} -- NAME: the largest number of characters of a name

local WIDTH, LEFT, RIGHT, HEIGHT = roofs.WIDTH, roofs.LEFT, roofs.RIGHT, roofs.HEIGHT -- pixels
local SIZE, LINE = 10, 15 -- pixels: the size of the font of labels, and the height of a line

local colour = figure.colour

local function name_of(d)
  local name = written.shortened(d.label:gsub("^s:", ""), dots.NAME)
  return (d.time.version and ("%d  %s"):format(d.time.version, name) or name) .. times.marks(d.time)
end

--- Returns the share of a dot: "34 % of L2".
function dots.share(d)
  return ((d.share < 0.0995 and "%.1f" or "%.0f") .. " %% of %s"):format(100 * d.share, d.roof)
end

-- The shapes of dots. A measured dot is filled if its bytes were simulated. A predicted dot is a diamond.
local KINDS = {
  {pt = 7, colour = colour.blue, of = function(d) return not d.predicted and d.how ~= "compulsory" end},
  {pt = 6, colour = colour.blue, of = function(d) return not d.predicted and d.how == "compulsory" end},
  {pt = 12, colour = colour.red, of = function(d) return d.predicted end},
}

-- Returns the lines from each measured dot to the predicted dot of the same version.
local function pair_lines(f, list)
  local lines = {}
  for _, d in ipairs(list) do
    if d.twin then
      table.move({("%.9g %.9g"):format(d.twin.intensity, d.twin.rate), ("%.9g %.9g"):format(d.intensity, d.rate), ""}, 1, 3,
        #lines + 1, lines)
    end
  end
  if #lines == 0 then return nil end
  return ("%s using 1:2 with lines dt 3 lw 1.2 lc rgb '%s' notitle"):format(f:data(lines, "pairs"), colour.red)
end

--- Returns the plotted items: the marks of dots, and the spread of their times.
function dots.parts(f, list)
  local parts, spread = {pair_lines(f, list)}, {}
  for _, d in ipairs(list) do
    if d.low < d.high then spread[#spread + 1] = {d.intensity, d.rate, d.low, d.high} end
  end
  if #spread > 0 then
    parts[#parts + 1] = f:data(spread, "spread") .. " " .. figure.UPRIGHT .. " lw 1.2 lc rgb '#000000' notitle"
  end
  for _, kind in ipairs(KINDS) do
    local points = {}
    for _, d in ipairs(list) do if kind.of(d) then points[#points + 1] = {d.intensity, d.rate} end end
    if #points > 0 then
      parts[#parts + 1] = ("%s using 1:2 with points pt %d ps 1.4 lw 2 lc rgb '%s' notitle"):format(f:data(points, "dots"), kind.pt,
        kind.colour)
    end
  end
  return parts
end

--- Returns the meaning of the marks, for the key. Returns nil if the dots are all measured or all predicted.
function dots.key(list)
  local measured, predicted
  for _, d in ipairs(list) do
    if d.predicted then predicted = true else measured = d.how == "of a run" and "simulated" or "measured" end
  end
  if not predicted or not measured then return nil end
  return {{text = measured, pt = 7, colour = colour.blue}, {text = "predicted by the cost model", pt = 12, colour = colour.red}}
end

local function is_flat(a, b, frame)
  if not a or not b then return false end
  local x, y = frame.per_x * math.log(a.intensity / b.intensity), frame.per_y * math.log(a.rate / b.rate)
  return math.abs(x) > 2 * math.abs(y)
end

-- Returns the label of a measured dot, with the ratio of the measured to the predicted time.
local function foretold(d)
  local name = d.twin.time.version or written.shortened(d.label, dots.NAME)
  return ("%s, predicted: %s the time"):format(name, written.times(d.time.median / d.twin.time.median))
end

-- Returns the label of a dot. It is placed beside the dot, on a side with room. If an arrow is in the way, it is one line lower.
local function label_of(list, n, frame, arrows)
  local d = list[n]
  local l = {x = roofs.across(frame, d.intensity), at = roofs.down(frame, d.rate)}
  l.text = d.twin and foretold(d) or ("%s: %s"):format(name_of(d), dots.share(d))
  l.wide = fit.width(l.text, SIZE)
  l.right = l.x + 14 + l.wide < WIDTH - RIGHT or l.x - 14 - l.wide < LEFT
  l.from = l.right and l.x + 14 or l.x - 14 - l.wide
  l.y = l.at + (arrows and (is_flat(list[n - 1], d, frame) or is_flat(d, list[n + 1], frame)) and LINE or 0)
  return l
end

local function hides(a, b)
  return math.abs(a.y - b.y) < LINE and a.from < b.from + b.wide and b.from < a.from + a.wide
end

local function dot_box(d, frame) return {y = roofs.down(frame, d.rate), from = roofs.across(frame, d.intensity) - 7, wide = 14} end

local function free(l, bars, boxes)
  for _, y in ipairs(bars) do if math.abs(l.y - y) < 9 then return false end end
  for _, box in ipairs(boxes) do if hides(l, box) then return false end end
  return true
end

-- Places the labels from top to bottom, each as near to its preferred position as lines, dots and earlier labels allow.
local function place(labels, bars, boxes)
  table.sort(labels, function(a, b) return a.at < b.at end)
  for _, l in ipairs(labels) do
    local want = l.y
    for k = 1, 2 * HEIGHT do
      if free(l, bars, boxes) then break end
      l.y = want + (k % 2 == 1 and 1 or -1) * (k + 1) // 2 * 4
    end
    boxes[#boxes + 1] = l
  end
end

--- Draws the labels of the dots. bars: horizontal lines that labels avoid; boxes: areas that are already occupied.
function dots.labels(f, list, frame, bars, boxes, arrows)
  local labels = {}
  for n, d in ipairs(list) do labels[n], boxes[#boxes + 1] = label_of(list, n, frame, arrows), dot_box(d, frame) end
  place(labels, bars, boxes)
  for _, l in ipairs(labels) do
    local edge = l.right and l.from - 3 or l.from + l.wide + 3
    if math.abs(l.y - l.at) > 5 then f:line(l.x, l.at, edge, l.y, "nohead lw 0.7 lc rgb '#999999'") end
    f:text(l.right and l.from or l.from + l.wide, l.y, l.text, {align = l.right and "left" or "right", size = SIZE, boxed = true})
  end
end

--- Draws arrows from dot to dot if there is room. The labels are drawn over the arrows.
function dots.arrows(list, frame, out)
  for n = 2, #list do
    local a, b = list[n - 1], list[n]
    if b.twin then break end
    local x, y = frame.per_x * math.log(b.intensity / a.intensity), frame.per_y * math.log(b.rate / a.rate)
    local long = math.sqrt(x * x + y * y)
    if long > 24 then
      local dx, dy = math.exp(9 * x / long / frame.per_x), math.exp(9 * y / long / frame.per_y)
      out[#out + 1] = ("set arrow from %.9g, %.9g to %.9g, %.9g back head filled size screen 0.009,22 lw 1.5 lc rgb '%s'"):format(
        a.intensity * dx, a.rate * dy, b.intensity / dx, b.rate / dy, colour.orange)
    end
  end
end

return dots
