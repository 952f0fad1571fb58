--- The space-time diagram: which element of which tensor is touched when, and what a cache makes of it. One lane a tensor on a
--- shared time axis; loops as brackets above; below, how much was touched so far against what the caches hold.
local errors = require "nestwright.errors"
local figure = require "nestwright.plots.figure"
local gnuplot = require "nestwright.plots.gnuplot"
local plot = require "nestwright.plots.plot"
local written = require "nestwright.written"

local spacetime = {}

spacetime.MOST = 3000 -- accesses with a mark of their own; of more a raster is made
spacetime.WIDTH, spacetime.HEIGHT = 860, 134 -- pixels of a lane
local BRACKETS = 300 -- of one loop: more are too narrow to be told apart

local colour = figure.colour

-- Shapes need no colour: open is read, filled is written.
local OUTCOMES = {
  {name = "hit", colour = colour.sky, read = 6, write = 7, size = 0.55},
  {name = "cold", colour = colour.green, read = 8, write = 9, size = 0.9},
  {name = "capacity", colour = colour.orange, read = 4, write = 5, size = 0.8},
  {name = "conflict", colour = colour.red, read = 12, write = 13, size = 1.0},
}

-- ---- what is plotted

-- Lines of the cache that an access covers.
local function lines_of(at, width, line)
  return at.address // line, (at.address + at.lanes * width - 1) // line
end

-- Where the marks of one access stand.
local PLACES = {
  index = function(at) return at.index, at.index + at.lanes - 1, 1 end,
  address = function(at, width) return at.address, at.address + (at.lanes - 1) * width, width end,
  line = function(at, width, cache)
    local first, last = lines_of(at, width, cache.line)
    return first, last, 1
  end,
  set = function(at, width, cache)
    local sets = cache.sets
    local first, last = lines_of(at, width, cache.line)
    return first % sets, first % sets + (last - first), 1
  end,
}

local UNITS = {index = "element", address = "address, bytes", line = "cache line", set = "cache set"}

-- All accesses as rows, in order of time, and the tensors in order of their addresses.
local function collect(accesses, widths, o)
  local list, tensors, seen = {}, {}, {}
  for n = 1, #accesses do
    local at = accesses:at(n)
    if not seen[at.tensor] then
      seen[at.tensor] = {name = at.tensor, address = at.address, width = widths[at.tensor] or 4, marks = {}, accesses = 0}
      tensors[#tensors + 1] = seen[at.tensor]
    end
    local t = seen[at.tensor]
    t.address, t.accesses = math.min(t.address, at.address), t.accesses + 1
    local from, to, step = PLACES[o.y](at, t.width, o.cache)
    for y = from, to, step do t.marks[#t.marks + 1] = {n - 1, y, at.write, at.outcome[o.level]} end
    list[n] = at
  end
  table.sort(tensors, function(a, b) return a.address < b.address end)
  return list, tensors, seen
end

-- Bytes of distinct lines touched up to each access; and for each tensor the distance, in bytes of distinct lines, at which a
-- line is used again.
local function footprint(list, of, line)
  local curve, recent, total = {}, {}, 0
  for n, at in ipairs(list) do
    local t = of[at.tensor]
    local first, last = lines_of(at, t.width, line)
    for l = first, last do
      local depth
      for k = #recent, 1, -1 do
        if recent[k] == l then
          depth = #recent - k
          table.remove(recent, k)
          break
        end
      end
      recent[#recent + 1] = l
      if depth then
        t.distances = t.distances or {}
        t.distances[#t.distances + 1] = (depth + 1) * line
      else
        total = total + line
        t.lines = (t.lines or 0) + 1
      end
    end
    curve[n] = {n, total}
  end
  curve.most = total
  return curve
end

-- ---- the caption

local function median(list)
  table.sort(list)
  return list[(#list + 1) // 2]
end

local function misses_text(counts)
  local missed, all = {}, 0
  for k = 2, #OUTCOMES do
    local n = counts[OUTCOMES[k].name]
    if n and n > 0 then missed[#missed + 1], all = ("%d %s"):format(n, OUTCOMES[k].name), all + n end
  end
  if all == 0 then return "no misses" end
  return table.concat(missed, ", ") .. (all == 1 and " miss" or " misses")
end

local function about_tensor(t, o)
  local counts, elements, distinct = {}, {}, 0
  for _, m in ipairs(t.marks) do
    counts[m[4]] = (counts[m[4]] or 0) + 1
    if not elements[m[2]] then elements[m[2]], distinct = true, distinct + 1 end
  end
  local parts = {("%s: %d accesses to %d %s%s"):format(t.name, t.accesses, distinct, ({index = "element", address = "address",
    line = "line", set = "set"})[o.y], distinct == 1 and "" or (o.y == "address" and "es" or "s"))}
  if t.distances then
    local far = median(t.distances)
    local capacity = o.cache.levels[o.level].bytes
    parts[#parts + 1] = ("a line is used again after %s of lines (median), %s L%d holds: %s"):format(written.bytes(far),
      far > capacity and "more than" or "no more than", o.level, written.bytes(capacity))
  end
  parts[#parts + 1] = misses_text(counts)
  return table.concat(parts, "; ")
end

-- ---- the panels

local LEFT, RIGHT, LANE, LOOP, CURVE, UNDER = 110, 970, 150, 22, 110, 54 -- pixels

-- Loops that are worth a row, outermost first: {name, depth, rounds}.
local function loops_of(iterations)
  local rows, at = {}, {}
  for _, r in ipairs(iterations) do
    if not at[r.loop] then
      at[r.loop] = {name = r.loop, depth = r.depth, rounds = {}}
      rows[#rows + 1] = at[r.loop]
    end
    local rounds = at[r.loop].rounds
    if r.to > r.from then rounds[#rounds + 1] = r end
  end
  local out = {}
  for _, row in ipairs(rows) do if #row.rounds > 0 and #row.rounds <= BRACKETS then out[#out + 1] = row end end
  table.sort(out, function(a, b)
    if a.depth ~= b.depth then return a.depth < b.depth end
    return a.rounds[1].from < b.rounds[1].from
  end)
  return out
end

local function bracket_panel(f, rows, time)
  if #rows == 0 then return end
  local out = {"unset border; unset xtics; unset ytics", ("set xrange [-0.5:%d - 0.5]; set yrange [0:%d]"):format(time, #rows)}
  for n, row in ipairs(rows) do
    local y = #rows - n
    out[#out + 1] = ("set label %s at graph -0.01, first %g right noenhanced"):format(gnuplot.quote(row.name), y + 0.45)
    for k, r in ipairs(row.rounds) do
      out[#out + 1] = ("set object rectangle from %g,%g to %g,%g fillcolor rgb '%s' fillstyle solid 1 border rgb '%s'"):format(
        r.from - 0.5, y + 0.1, r.to - 0.5, y + 0.85, k % 2 == 1 and colour.faint or colour.pale, colour.grey)
      if (r.to - r.from) / time > 0.03 then
        out[#out + 1] = ("set label '%d' at %g,%g center font ',10'"):format(r.index, (r.from + r.to) / 2 - 0.5, y + 0.45)
      end
    end
  end
  f:panel({left = LEFT, right = RIGHT, top = f.bottom, height = LOOP * #rows}, out, {"NaN notitle"})
end

local function lane_panel(f, t, o, time, lo, hi, parts, more)
  f:panel({left = LEFT, right = RIGHT, top = f.bottom + figure.GAP, height = LANE - figure.GAP}, {
    ("set xrange [-0.5:%d - 0.5]; set yrange [%.9g:%.9g]"):format(time, lo, hi),
    "set ytics " .. (hi - lo < 6 and "1" or "autofreq"),
    "set format x ''; set xtics; set grid xtics lc rgb '#EEEEEE'",
    ("set ylabel %s noenhanced"):format(gnuplot.quote(t.name .. ", " .. UNITS[o.y]:gsub(",.*", ""))),
    more,
  }, parts)
end

-- Of the marks, a series an outcome and kind of access.
local function mark_parts(f, t)
  local parts = {}
  for _, outcome in ipairs(OUTCOMES) do
    for _, write in ipairs {false, true} do
      local lines = {}
      for _, m in ipairs(t.marks) do
        if m[4] == outcome.name and m[3] == write then lines[#lines + 1] = ("%d %d"):format(m[1], m[2]) end
      end
      if #lines > 0 then
        parts[#parts + 1] = ("%s using 1:2 with points pt %d ps %g lc rgb '%s' notitle"):format(f:data(lines, "marks"),
          write and outcome.write or outcome.read, outcome.size, outcome.colour)
      end
    end
  end
  return parts
end

local function mark_panel(f, t, o, time)
  local lo, hi = math.huge, -math.huge
  for _, m in ipairs(t.marks) do lo, hi = math.min(lo, m[2]), math.max(hi, m[2]) end
  local pad = math.max((hi - lo) * 0.06, 0.6)
  lane_panel(f, t, o, time, lo - pad, hi + pad, mark_parts(f, t))
end

-- What the shapes mean.
local function key_entries()
  local out = {}
  for _, outcome in ipairs(OUTCOMES) do
    out[#out + 1] = {text = outcome.name .. ", read", pt = outcome.read, colour = outcome.colour}
    out[#out + 1] = {text = outcome.name .. ", written", pt = outcome.write, colour = outcome.colour}
  end
  return out
end

local function curve_panel(f, curve, most, o, time)
  local out = {("set xrange [-0.5:%d - 0.5]; set yrange [0:%g]"):format(time, most * 1.15),
    ("set format x '%s'; set xlabel 'time, accesses'; set ylabel 'touched'"):format(time < 1e6 and "%.0f" or "%.1s%c"),
    figure.byte_tics("y", most)}
  local parts = {f:data(curve, "curve") .. " using 1:2 with steps lw 2 lc rgb '#000000' notitle"}
  for n, level in ipairs(o.cache.levels) do
    if level.bytes <= most * 1.1 then
      parts[#parts + 1] = ("%d with lines dt 2 lc rgb '%s' notitle"):format(level.bytes, colour.grey)
      out[#out + 1] = ("set label 'L%d holds %s' at graph 0.995, first %d right offset 0,0.5 font ',10'"):format(n,
        written.bytes(level.bytes), level.bytes)
    end
  end
  f:panel({left = LEFT, right = RIGHT, top = f.bottom + figure.GAP, height = CURVE - figure.GAP}, out, parts)
end

local function small_print(o)
  local level = o.cache.levels[o.level]
  return ("L%d: %s, %s, lines of %d bytes, least recently used goes. Simulated: no prefetcher, no TLB."):format(o.level,
    written.bytes(level.bytes), level.ways == 0 and "fully associative" or level.ways .. " ways", o.cache.line)
end

-- x: {time, lanes, iterations, curve (data), most (bytes), entries (of the key), about (lines of the caption)};
-- draw(f, t, o, time) places a lane.
local function finish(x, draw, o, columns, rows)
  local f, small = figure.new {title = o.title}, small_print(o)
  bracket_panel(f, loops_of(x.iterations), x.time)
  for _, t in ipairs(x.lanes) do draw(f, t, o, x.time) end
  curve_panel(f, x.curve, x.most, o, x.time)
  f:key(x.entries)
  x.about[#x.about + 1] = small
  local script, size = f:finish(UNDER, small)
  return plot.new {caption = table.concat(x.about, "\n"), script = script, size = size, columns = columns, rows = rows}
end

-- ---- making

--- accesses: of nw.accesses, with caches; widths: bytes of an element by tensor; o: {y, level, cache, title}, and of the cache
--- levels, line and sets (of that level).
function spacetime.make(accesses, widths, o)
  if #accesses == 0 then
    errors.fail("invalid", nil, "spacetime: the schedule touches no memory at these sizes")
  end
  local list, tensors, of = collect(accesses, widths, o)
  local curve, rows, about = footprint(list, of, o.cache.line), {}, {}
  for n, point in ipairs(curve) do curve[n] = ("%d %d"):format(point[1] - 1, point[2]) end
  for n, at in ipairs(list) do
    rows[n] = {n - 1, at.tensor, at.index, at.lanes, at.write and "write" or "read", at.address, at.outcome[o.level]}
  end
  for n, t in ipairs(tensors) do about[n] = about_tensor(t, o) end
  return finish({time = #list, lanes = tensors, iterations = accesses:iterations(), curve = curve, most = curve.most,
    entries = key_entries(), about = about}, mark_panel, o,
    {"time", "tensor", "index", "lanes", "access", "address", "outcome"}, rows)
end

-- ---- a raster: more accesses than marks can show

local PIXELS = {"#CFE8F7", "#56B4E9", "#009E73", "#E69F00", "#D55E00"} -- read, written, cold, capacity, conflict
local PALETTE = ("set palette maxcolors 6 defined (0 '#FFFFFF', 1 '%s', 2 '%s', 3 '%s', 4 '%s', 5 '%s')\n"):format(
  table.unpack(PIXELS)) .. "set cbrange [-0.5:5.5]; unset colorbox"

local function raster_entries()
  local out = {}
  for n, name in ipairs {"read, there", "written, there", "cold miss", "capacity miss", "conflict miss"} do
    out[n] = {text = name, pt = 5, colour = PIXELS[n]}
  end
  return out
end

local function raster_panel(f, t, o, time)
  local lines = {}
  for n, row in ipairs(t.rows) do
    lines[n] = row:gsub(".", function(c) return tostring(c:byte()) .. " " end)
  end
  local dx, dy = time / spacetime.WIDTH, (t.to - t.from) / spacetime.HEIGHT
  local image = "%s matrix using (($1 + 0.5)*%.9g - 0.5):(%d + ($2 + 0.5)*%.9g):3 with image notitle"
  lane_panel(f, t, o, time, t.from, t.to, {image:format(f:data(lines, "pixels"), dx, t.from, dy)}, PALETTE)
end

--- raster: of core.raster, with WIDTH columns and HEIGHT rows; o as for make.
function spacetime.make_raster(raster, o)
  local about, rows, lines = {}, {}, {}
  for lane, t in ipairs(raster.lanes) do
    t.name = t.tensor
    about[lane] = ("%s: %d accesses; %s"):format(t.tensor, t.accesses, misses_text(t))
    for y, row in ipairs(t.rows) do
      for x = 1, #row do
        if row:byte(x) > 0 then rows[#rows + 1] = {x - 1, y - 1, t.tensor, row:byte(x)} end
      end
    end
  end
  for n, bytes in ipairs(raster.touched) do lines[n] = ("%.9g %d"):format(n * raster.time / spacetime.WIDTH, bytes) end
  about[#about + 1] = "Each pixel stands for many accesses and shows the worst of them: no miss is lost."
  return finish({time = raster.time, lanes = raster.lanes, iterations = raster.iterations, curve = lines,
    most = raster.touched[#raster.touched], entries = raster_entries(), about = about}, raster_panel, o,
    {"column", "row", "tensor", "pixel"}, rows)
end

spacetime.units = UNITS

return spacetime
