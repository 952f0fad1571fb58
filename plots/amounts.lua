--- Draws amounts over time as steps, one panel above the other with the same time axis: tokens in queues, or bytes in memories. The
--- series of a panel are stacked.
local axis = require "nestwright.plots.axis"
local figure = require "nestwright.plots.figure"
local flags = require "nestwright.plots.flags"
local fit = require "nestwright.plots.fit"
local gnuplot = require "nestwright.plots.gnuplot"
local plot = require "nestwright.plots.plot"

local amounts = {}

local colour = figure.colour
local WIDTH, RIGHT, HEAD, HEIGHT = 1000, 960, 30, 110 -- pixels
local NUMBER, MOST_NUMBERS = 10, 300 -- pixels: the size of the numbers of threads; the most of them in a panel
local MOST_STEPS = 900 -- of a panel; more are drawn as the greatest value in each of so many parts of the time

-- ---- steps

-- Returns all times at which a series of the panel changes, between the ends of the shown time.
local function times_of(panel, from, to)
  local known, out = {[from] = true, [to] = true}, {from, to}
  for _, s in ipairs(panel.series) do
    for _, step in ipairs(s.steps) do
      if step[1] > from and step[1] < to and not known[step[1]] then known[step[1]], out[#out + 1] = true, step[1] end
    end
  end
  table.sort(out)
  return out
end

-- Returns the value of each series from each of the times on.
local function values_of(panel, times)
  local out = {}
  for n, s in ipairs(panel.series) do
    local k, value = 0, 0
    out[n] = {}
    for t, at in ipairs(times) do
      while s.steps[k + 1] and s.steps[k + 1][1] <= at do k, value = k + 1, s.steps[k + 1][2] end
      out[n][t] = value
    end
  end
  return out
end

-- Combines neighbouring steps if there are too many. Keeps the greatest value of each series.
local function fewer(times, values)
  local each = math.ceil(#times / MOST_STEPS)
  if each <= 1 then return times, values, false end
  local kept, out = {}, {}
  for t = 1, #times, each do kept[#kept + 1] = times[t] end
  if kept[#kept] < times[#times] then kept[#kept + 1] = times[#times] end
  for n, list in ipairs(values) do
    out[n] = {}
    for k = 1, #kept do
      local most = 0
      for t = (k - 1) * each + 1, math.min(k * each, #list) do most = math.max(most, list[t]) end
      out[n][k] = most
    end
  end
  return kept, out, true
end

-- ---- a panel

-- Returns the plotted items of a panel, the greatest sum, and the areas of virtual threads, which get numbers.
local function stacked_parts(f, panel, times, values)
  local parts, low, areas = {}, {}, {}
  for t = 1, #times do low[t] = 0 end
  for n, s in ipairs(panel.series) do
    local data = {}
    for t = 1, #times - 1 do
      local high = low[t] + values[n][t]
      local last = data[#data]
      if last and last[4] == times[t] and last[5] == low[t] and last[6] == high then
        last[1], last[4] = (last[3] + times[t + 1]) / 2, times[t + 1]
      elseif values[n][t] > 0 then
        data[#data + 1] = {(times[t] + times[t + 1]) / 2, (low[t] + high) / 2, times[t], times[t + 1], low[t], high}
      end
      low[t] = high
    end
    local look = flags.look(s.thread)
    for _, area in ipairs(data) do
      areas[#areas + 1] = {from = area[3], to = area[4], low = area[5], high = area[6], thread = s.thread}
    end
    if #data > 0 then
      parts[#parts + 1] = ("%s using 1:2:3:4:5:6 with boxxyerror fillstyle %s noborder fc rgb '%s' notitle"):format(
        f:data(data, "amount"), look.fill, look.colour)
    end
  end
  local outline, most = {}, 0
  for t = 1, #times do
    outline[t], most = {times[t], low[t]}, math.max(most, low[t])
  end
  outline[#times][2] = outline[#times - 1][2]
  parts[#parts + 1] = ("%s using 1:2 with steps lw 1.2 lc rgb '%s' notitle"):format(f:data(outline, "total"), colour.black)
  return parts, most, areas
end

-- Adds the number of the virtual thread to each area that is large enough: colours are not enough in print, for some eyes, and on
-- some terminals. step: the value of a pixel.
local function add_numbers(out, x, areas, step)
  local n, pixel = 0, (x.to - x.from) / (RIGHT - x.left)
  for _, a in ipairs(areas) do
    local words = ("%d"):format(a.thread or 0)
    local fits = a.to - a.from >= (fit.width(words, NUMBER) + 4) * pixel and a.high - a.low >= (NUMBER + 2) * step
    if a.thread and fits and n < MOST_NUMBERS then
      n = n + 1
      out[#out + 1] = ("set label %s at %.9g,%.9g center noenhanced front font ',%d' textcolor rgb '%s'"):format(
        gnuplot.quote(words), (a.from + a.to) / 2, (a.low + a.high) / 2, NUMBER, colour.black)
    end
  end
  x.numbered = x.numbered or n > 0
end

local function value_tics(most, unit)
  if unit == "bytes" then return figure.byte_tics("y", most) end
  return figure.count_tics("y", 0, most, 4)
end

local function add_panel(f, x, panel, last)
  local times = times_of(panel, x.from, x.to)
  local values, thin
  times, values, thin = fewer(times, values_of(panel, times))
  local parts, most, areas = stacked_parts(f, panel, times, values)
  local top = math.max(most, 1)
  panel.shows_capacity = panel.capacity and panel.capacity <= 2 * most
  if panel.shows_capacity then top = panel.capacity end
  local out = {"set border 3", ("set yrange [0:%.9g]"):format(top * 1.12), value_tics(top, x.unit),
    axis.commands("x", x.from, x.to, false, function(v) return last and ("%.6g"):format(v) or "" end),
    "set xtics nomirror out", "set ytics nomirror", "set grid ytics lc rgb '#EEEEEE'"}
  if last then out[#out + 1] = "set xlabel 'time, cycles'" end
  if panel.shows_capacity then
    out[#out + 1] = ("set arrow from graph 0, first %.9g to graph 1, first %.9g nohead dt 2 lw 1.5 lc rgb '%s'"):format(top, top,
      colour.red)
  end
  if x.unit == "bytes" then add_numbers(out, x, areas, top * 1.12 / HEIGHT) end
  local at = f.bottom + HEAD
  f:text(x.left, at - 11, panel.heading, {size = 12})
  f:panel({left = x.left, right = RIGHT, top = at, height = HEIGHT}, out, parts)
  return thin
end

-- ---- words

-- Returns the entries of the key: one for each name of a series.
local function key_of(panels)
  local known, out = {}, {}
  for _, p in ipairs(panels) do
    for _, s in ipairs(p.series) do
      local look = flags.look(s.thread)
      if not known[s.name] then
        known[s.name], out[#out + 1] = true, {text = s.name, fill = look.fill, colour = look.colour, thread = s.thread or -1}
      end
    end
  end
  table.sort(out, function(a, b) return a.thread < b.thread end)
  return out
end

local function rows_of(panels)
  local out = {}
  for _, p in ipairs(panels) do
    for _, s in ipairs(p.series) do
      for _, step in ipairs(s.steps) do out[#out + 1] = {p.name, s.name, step[1], step[2]} end
    end
  end
  return out
end

local function caption_of(panels)
  local out = {}
  for n, p in ipairs(panels) do out[n] = p.heading end
  return table.concat(out, "\n")
end

--- Makes the picture. panels: a list of {name, heading, series (a list of {name, thread, steps}), capacity}; a step is {time,
--- value}, the value from this time on. o: title, from, to, unit ("tokens" or "bytes"), small (text at the foot).
function amounts.make(panels, o)
  local f = figure.new {title = o.title, width = WIDTH, outlined = true}
  local x, thin = {from = o.from, to = o.to, unit = o.unit, left = 36 + math.ceil(fit.width("000 KiB", figure.TICK))}, false
  for n, p in ipairs(panels) do thin = add_panel(f, x, p, n == #panels) or thin end
  f:key(key_of(panels))
  local small = o.small .. (x.numbered and " The number in an area is that of its virtual thread." or "")
    .. (thin and " Where steps are too close to distinguish, the greatest value is drawn." or "")
  for _, p in ipairs(panels) do
    if p.shows_capacity then small = small .. " The dashed line is the capacity." break end
  end
  local script, size = f:finish(figure.AXIS, small)
  return plot.new {caption = caption_of(panels) .. "\n" .. small, script = script, size = size,
    columns = {"panel", "series", "time", "value"}, rows = rows_of(panels)}
end

return amounts
