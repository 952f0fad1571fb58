--- Draws the step log as a curve, which shows the time of each version of a schedule, in order.
local axis = require "nestwright.plots.axis"
local figure = require "nestwright.plots.figure"
local fit = require "nestwright.plots.fit"
local gnuplot = require "nestwright.plots.gnuplot"
local times = require "nestwright.measure.times"
local written = require "nestwright.show.written"

local steps = {}

local LEFT, RIGHT, HEIGHT, WIDE = 110, 40, 300, 56 -- pixels: the margins, the height of the panel, the least width of a step
local NAME, ANGLE = 34, 35 -- the largest number of characters of a step's text, and its angle in degrees
local SIZE = 10 -- pixels: the size of the font of labels
local FAR = 8 -- the axis is logarithmic if one version takes more than this many times as long as another

local colour, seconds = figure.colour, written.seconds

-- The mark of a version is filled if its time is distinguishable from the time of the version before, and open if it is not. A
-- version that was not measured has a cross.
local KINDS = {
  {name = "told", text = "distinguishable from the version before", pt = 7, colour = colour.blue},
  {name = "same", text = "not distinguishable from the version before", pt = 6, colour = colour.red},
  {name = "unknown", text = "no verdict: disturbed, or spread unknown", pt = 4, colour = colour.blue},
  {name = "refused", text = "not measured", pt = 2, colour = colour.black},
}

-- Returns the name of the kind of each version. The kind depends on the last measured version before it.
local function kinds_of(list)
  local out, last = {}, nil
  for n, r in ipairs(list) do
    local apart = last and not r.refused and times.distinguishable(r.time, last.time)
    out[n] = r.refused and "refused" or last and apart == nil and "unknown" or last and not apart and "same" or "told"
    if not r.refused then last = r end
  end
  return out
end

-- ---- the names below

local function name_of(n, r)
  local name = written.shortened(r.label:gsub("^s:", ""), NAME)
  return ("%d  %s%s"):format(r.time.version or n - 1, name, times.marks(r.time))
end

-- Returns the pixels that the longest name needs to the left of its point, and below the axis.
local function room_of(list, step)
  local left, under, angle = 0, 0, math.rad(ANGLE)
  for n, r in ipairs(list) do
    local long = fit.width(name_of(n, r), SIZE)
    left, under = math.max(left, long * math.cos(angle) - (n - 0.5) * step), math.max(under, long * math.sin(angle))
  end
  return left + 12, under + 30
end

local function name_labels(list, out)
  for n, r in ipairs(list) do
    out[#out + 1] = ("set label %s at first %d, graph -0.045 right rotate by %d noenhanced font ',10'"):format(
      gnuplot.quote(name_of(n, r)), n - 1, ANGLE)
  end
end

-- ---- the curve

local function series(f, list, kinds, name, top)
  local out = {}
  for n, r in ipairs(list) do
    if kinds[n] == name then out[#out + 1] = {n - 1, r.refused and top or r.median} end
  end
  return #out > 0 and f:data(out, name)
end

-- Returns the parts of the curve. The line connects measured versions, and has a gap at each version that was not measured.
local function curve_parts(f, list, kinds, top)
  local line, halves, fastest, parts = {}, {}, {}, {}
  for n, r in ipairs(list) do
    line[n] = r.refused and "" or {n - 1, r.median}
    if r.lo then halves[#halves + 1] = {n - 1, r.median, r.lo, r.hi} end
    if r.min then fastest[#fastest + 1] = {n - 1 - 0.09, r.min, 0.18, 0} end
  end
  parts[1] = f:data(line, "curve") .. (" using 1:2 with lines lw 1.5 lc rgb '%s' notitle"):format(colour.grey)
  if #halves > 0 then
    parts[#parts + 1] = f:data(halves, "halves") .. " " .. figure.UPRIGHT .. " lw 1.5 lc rgb '#000000' notitle"
  end
  if #fastest > 0 then
    parts[#parts + 1] = f:data(fastest, "fastest") .. " using 1:2:3:4 with vectors nohead lw 2 lc rgb '#000000' notitle"
  end
  for _, kind in ipairs(KINDS) do
    local data = series(f, list, kinds, kind.name, top)
    if data then
      parts[#parts + 1] = ("%s using 1:2 with points pt %d ps 0.8 lw 1.5 lc rgb '%s' notitle"):format(data, kind.pt, kind.colour)
    end
  end
  return parts
end

-- Returns a place for a label that avoids the curve. At a local minimum, the label is below the point. Otherwise, it is above the
-- point, on the side where the curve is lower.
local function place_of(list, n)
  local r, before, after = list[n], list[n - 1], list[n + 1]
  local falls = before and not before.refused and before.median > r.median
  local rises = after and not after.refused and after.median > r.median
  if falls and rises then return r.min or r.median, "center offset 0,-1.1" end
  if rises and not before then return r.min or r.median, "center offset 0,-1.1" end -- the axis is to the left
  local top = r.hi or r.median
  if falls then return top, "left offset 0.4,0.9" end
  if rises then return top, "right offset -0.4,0.9" end
  return top, "center offset 0,1.1"
end

local function ratio_labels(list, out)
  for n, r in ipairs(list) do
    if r.refused then
      out[#out + 1] = ("set label 'refused' at first %d, graph 1 center offset 0,0.7 font ',9'"):format(n - 1)
    else
      local y, how = place_of(list, n)
      out[#out + 1] = ("set label '%s' at first %d, first %.9g %s font ',10'"):format(
        r.unknown and "?" or r.same and "≈ 1x" or written.times(r.ratio), n - 1, y, how)
    end
  end
end

local function entries_of(kinds)
  local out = {}
  for _, kind in ipairs(KINDS) do
    for _, name in ipairs(kinds) do
      if name == kind.name then out[#out + 1] = kind break end
    end
  end
  return out
end

local function range_of(list)
  local lo, hi = math.huge, 0
  for _, r in ipairs(list) do
    if not r.refused then lo, hi = math.min(lo, r.min or r.median), math.max(hi, r.hi or r.median) end
  end
  if hi > FAR * lo then return lo / 1.8, hi * 2, true end
  return 0, hi * 1.2, false
end

local function tick(v) return v == 0 and "0" or seconds(v) end

--- Returns a figure of rows from plots/times, and the pixels that it needs below its panel.
function steps.figure(list, title)
  local step = math.max(WIDE, (1000 - LEFT - RIGHT) / #list)
  local room, under = room_of(list, step)
  local left = math.max(LEFT, math.ceil(room))
  local f = figure.new {title = title, width = math.max(1000, math.ceil(left + RIGHT + step * #list))}
  local lo, hi, log = range_of(list)
  local kinds = kinds_of(list)
  local out = {axis.commands("y", lo, hi, log, tick), ("set xrange [-0.5:%d - 0.5]"):format(#list),
    "unset xtics; set border 3; set ytics nomirror; set grid ytics lc rgb '#E4E4E4'",
    "set ylabel 'time (point: median; line: middle half; tick: fastest)' font ',10' offset -1"}
  name_labels(list, out)
  ratio_labels(list, out)
  f:panel({left = left, right = f.width - RIGHT, top = f.bottom + figure.GAP, height = HEIGHT}, out,
    curve_parts(f, list, kinds, hi))
  f:key(entries_of(kinds))
  return f, math.ceil(under)
end

return steps
