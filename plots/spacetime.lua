--- Draws the space-time diagram. It shows when each element of each tensor is accessed, and how the caches behave. If there are two
--- schedules, the second is below the first. Each schedule has one group of lanes per thread, with one lane per tensor. A lane is a
--- strip of the picture. Loops are brackets above the lanes. Below the lanes, a curve compares the bytes touched so far with the
--- cache sizes. All time axes have the same scale. All lanes of a tensor have the same scale, too. A run is the execution of one
--- schedule by one thread.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local brackets = require "nestwright.plots.brackets"
local caches = require "nestwright.cost.caches"
local figure = require "nestwright.plots.figure"
local gnuplot = require "nestwright.plots.gnuplot"
local plot = require "nestwright.plots.plot"
local words = require "nestwright.plots.words"
local written = require "nestwright.show.written"

local spacetime = {}

local colour = figure.colour

spacetime.MOST = 3000 -- up to this number, accesses are drawn as single marks; more accesses are drawn as a raster
local QUICK = 20000000 -- the largest number of accesses for which reuse distances are computed
local BRACKETS = 300 -- the largest number of brackets of one loop; more are not distinguishable
local LEFT, WIDTH, LOOP, CURVE, HEADING, BETWEEN = 110, 860, 22, 110, 34, 46 -- pixels

local UNITS = {index = "element", address = "address", line = "cache line", set = "cache set"}
spacetime.units = UNITS

-- ---- layout

local function each_lane(columns, f)
  for _, column in ipairs(columns) do
    for _, run in ipairs(column.runs) do
      for _, lane in ipairs(run.lanes) do f(lane) end
    end
  end
end

-- Returns the range of each tensor, {from, to}, over all schedules and threads, and the number of lanes.
local function ranges_of(columns)
  local ranges, n = {}, 0
  each_lane(columns, function(lane)
    local range = ranges[lane.name] or {from = lane.from, to = lane.to}
    ranges[lane.name], n = {from = math.min(range.from, lane.from), to = math.max(range.to, lane.to)}, n + 1
  end)
  return ranges, n
end

local function lane_height(n) return n <= 4 and 134 or n <= 8 and 100 or n <= 24 and 70 or 40 end

-- Returns the number of pixels along the time axis. If there are many lanes, pixels are wider, so that the file stays small.
local function pixels_across(lanes, height) return math.max(150, math.min(WIDTH, 700000 // (lanes * height))) end

local function lane_commands(name, range, x, o)
  local short = written.shortened(name, x.height // 8 - 4)
  return {("set xrange [-0.5:%d - 0.5]; set yrange [%.9g:%.9g]"):format(x.time, range.from, range.to),
    figure.count_tics("x", 0, x.time, 8, true), "set grid xtics lc rgb '#EEEEEE'",
    figure.count_tics("y", range.from, range.to, x.height // 22),
    ("set ylabel %s noenhanced"):format(gnuplot.quote(x.height < 60 and short or short .. ", " .. UNITS[o.y]))}
end

local function rect_at(top, height) return {left = LEFT, right = LEFT + WIDTH, top = top, height = height} end

-- Places the loops and the lanes of a run.
local function place_run(f, x, run, o)
  local top, rows = f.bottom + (run.label and HEADING or 4), math.max(#run.loops, 1)
  local label = run.label and ("set label %s at graph 0, graph 1 offset 0,0.8 left noenhanced"):format(gnuplot.quote(run.label))
  brackets.panel(f, rect_at(top, #run.loops > 0 and LOOP * rows or 1), run.loops, x.time, rows, label or nil)
  for _, lane in ipairs(run.lanes) do
    local range = x.ranges[lane.name]
    local commands = lane_commands(lane.name, range, x, o)
    local parts, setup, letters = lane.parts(f, {width = x.pixels, height = x.height, time = x.time, range = range})
    commands[#commands + 1] = setup
    f:panel(rect_at(f.bottom + figure.GAP, x.height), commands, parts, letters)
  end
end

local DASHES = {1, 2, 3, 4, 5}

local function curve_commands(x, column, o, last)
  local out = {("set xrange [-0.5:%d - 0.5]; set yrange [0:%g]"):format(x.time, x.most * (#column.runs > 1 and 1.25 or 1.15)),
    figure.count_tics("x", 0, x.time, 8), last and "set xlabel 'time, accesses'" or "", figure.byte_tics("y", x.most),
    "set ylabel 'touched'"}
  local parts = {}
  for n, run in ipairs(column.runs) do
    local shade = n == 1 and colour.black or figure.series[(n - 2) % #figure.series + 1]
    parts[n] = ("%s using 1:2 with steps lw 2 dt %d lc rgb '%s' notitle"):format("%s", DASHES[(n - 1) % #DASHES + 1],
      shade)
    if #column.runs > 1 and n <= 8 then
      out[#out + 1] = ("set label %s at %.9g,%d right offset 0,0.45 noenhanced font ',10' textcolor rgb '%s'"):format(
        gnuplot.quote(run.label), run.time * 0.12 * n, run.curve.most, shade)
    end
  end
  for n, level in ipairs(o.cache.levels) do
    if level.bytes <= x.most * 1.1 then
      parts[#parts + 1] = ("%d with lines dt 2 lc rgb '%s' notitle"):format(level.bytes, colour.grey)
      out[#out + 1] = ("set label 'L%d holds %s' at graph 0.995, first %d right offset 0,0.5 font ',10'"):format(n,
        written.bytes(level.bytes), level.bytes)
    end
  end
  return out, parts
end

local function place_curve(f, x, column, o)
  local commands, parts = curve_commands(x, column, o, column == x.columns[#x.columns])
  for k, run in ipairs(column.runs) do parts[k] = parts[k]:format(f:data(run.curve, "curve")) end
  f:panel(rect_at(f.bottom + figure.GAP, CURVE - figure.GAP), commands, parts)
end

local function extents(columns)
  local time, most = 1, 1
  for _, column in ipairs(columns) do
    for _, run in ipairs(column.runs) do time, most = math.max(time, run.time), math.max(most, run.curve.most) end
  end
  return time, most
end

-- Places the name of a schedule above its lanes.
local function place_heading(f, column)
  f:panel(rect_at(f.bottom, 20), {"unset border; unset xtics; unset ytics; set xrange [0:1]; set yrange [0:1]",
    ("set label %s at 0.5,0.5 center noenhanced font ',12'"):format(gnuplot.quote(column.label))}, {"NaN notitle"})
end

-- ---- captions

-- Returns the loops around accesses for which no brackets are drawn, because they have too many or too short iterations.
local function undrawn(run, s)
  local shown, names = {}, {}
  for _, row in ipairs(run.loops) do shown[row.name] = not row.words or nil end
  for _, site in ipairs(core.sweeps(s, run.walk)) do
    for _, loop in ipairs(site) do
      if not shown[loop.loop] and loop.extent ~= 1 then
        shown[loop.loop] = true
        names[#names + 1] = loop.loop
      end
    end
  end
  return names
end

local function run_caption(run, s, o, out, prefix)
  local sweeps = words.sweeps(s, run.walk)
  local reuses = run.time <= QUICK and words.reuses(s, run.walk, o.cache, o.level) or {}
  for _, lane in ipairs(run.lanes) do
    local parts = {("%s%s: %s%s"):format(prefix, lane.name, written.plural(lane.accesses, "access", "accesses"),
      lane.distinct or "")}
    parts[#parts + 1] = sweeps[lane.name]
    parts[#parts + 1] = reuses[lane.name]
    parts[#parts + 1] = lane.said
    out[#out + 1] = table.concat(parts, "; ")
  end
  local left_out = undrawn(run, s)
  if #left_out > 0 then
    out[#out + 1] = ("%sLoops whose iterations are too many or too short to distinguish have no brackets: %s."):format(prefix,
      table.concat(left_out, ", "))
  end
end

-- Returns the prediction of the cost model for each column in words, if a machine was given.
local function model_words(columns, o)
  local out = {}
  for n, column in ipairs(o.machine ~= nil and columns or {}) do
    local sentence = require "nestwright.cost.costs_shown".sentence(column.schedule, column.walks[1].version, o)
    out[n] = (#columns > 1 and column.label .. ": " or "") .. sentence
  end
  return out
end

local function caption_of(columns, o, raster)
  local out = {}
  for _, column in ipairs(columns) do
    for _, run in ipairs(column.runs) do
      local prefix = (#columns > 1 and column.label .. ", " or "") .. (run.label and run.label .. ", " or "")
      run_caption(run, column.schedule, o, out, prefix)
    end
  end
  if raster then
    out[#out + 1] = "Each pixel stands for many accesses and shows the worst of them; a miss is two pixels "
      .. "wide, so every miss is visible."
  end
  return out
end

-- ---- making

local function data_rows(columns)
  if #columns == 1 and #columns[1].runs == 1 then return columns[1].runs[1].rows end
  local out = {}
  for _, column in ipairs(columns) do
    for _, run in ipairs(column.runs) do
      for _, row in ipairs(run.rows) do
        row[#row + 1] = column.label
        row[#row + 1] = run.label or ""
        out[#out + 1] = row
      end
    end
  end
  return out
end

-- Returns the largest number of brackets of one loop, which depends on the number of runs in the picture.
local function most_rounds(columns)
  local runs = 0
  for _, column in ipairs(columns) do runs = runs + #column.walks end
  return math.max(8, 2 * BRACKETS // (1 + runs))
end

local function place_loops(columns, time)
  local most = most_rounds(columns)
  for _, column in ipairs(columns) do
    for _, run in ipairs(column.runs) do run.loops = brackets.of(column.schedule, run, most, time, #column.runs == 1) end
  end
end

local function draw(columns, kind, o)
  local time, most = extents(columns)
  place_loops(columns, time)
  local ranges, lanes = ranges_of(columns)
  local x = {columns = columns, time = time, most = most, height = lane_height(lanes), ranges = ranges}
  x.pixels = pixels_across(math.max(lanes, 1), x.height)
  local f = figure.new {title = o.title, width = LEFT + WIDTH + 30}
  for n, column in ipairs(columns) do
    if n > 1 then f.bottom = f.bottom + BETWEEN end
    if #columns > 1 then place_heading(f, column) end
    for _, run in ipairs(column.runs) do place_run(f, x, run, o) end
    place_curve(f, x, column, o)
  end
  f:key(kind.key(o))
  local small = caches.small_print(o.cache, o.all and 1 or o.level, o.all and #o.cache.levels or o.level, o.threads)
  local model, caption = model_words(columns, o), caption_of(columns, o, kind.raster)
  model[#model + 1] = small
  table.move(model, 1, #model, #caption + 1, caption)
  local script, size = f:finish(figure.AXIS, table.concat(model, " "))
  local names = {table.unpack(kind.columns)}
  if #columns > 1 or #columns[1].runs > 1 then table.move({"schedule", "thread"}, 1, 2, #names + 1, names) end
  return plot.new {caption = table.concat(caption, "\n"), script = script, size = size, columns = names, rows = data_rows(columns)}
end

-- Sets the runs of all columns. Returns false if one run has too many accesses for this kind of picture.
local function gather(columns, o, kind)
  for _, column in ipairs(columns) do
    column.runs = {}
    for n, walk in ipairs(column.walks) do
      local run = kind.run(column.schedule, walk, o)
      if not run then return false end
      run.walk = walk
      run.label = walk.threads and ("thread %d"):format(walk.thread) or nil
      column.runs[n] = run
    end
  end
  return true
end

--- Makes the picture. columns: {schedule, label, walks (from caches.walks)} for each of one or two schedules. The fields of o:
---   y, title, threads, sizes: the options of nw.spacetime
---   cache, level, sets: the caches, the shown level, and its number of sets
---   all: true if the picture distinguishes all levels
---   machine: the machine for the numbers in the caption, or nil
function spacetime.make(columns, o)
  local kind = require "nestwright.plots.marks"
  if not gather(columns, o, kind) then
    kind = require "nestwright.plots.raster"
    gather(columns, o, kind)
  end
  local touched = 0
  for _, column in ipairs(columns) do
    for _, run in ipairs(column.runs) do touched = touched + run.time end
  end
  if touched == 0 then errors.fail("invalid", nil, "spacetime: the schedule touches no memory at these sizes") end
  return draw(columns, kind, o)
end


return spacetime
