--- The space-time diagram: which element of which tensor is touched when, and what a cache makes of it. One lane a tensor on a
--- shared time axis; loops as brackets above; below, how much was touched so far against what the caches hold.
local errors = require "nestwright.errors"
local gnuplot = require "nestwright.plots.gnuplot"
local plot = require "nestwright.plots.plot"
local written = require "nestwright.written"

local spacetime = {}

spacetime.MOST = 3000 -- accesses with a mark of their own; of more a raster is made
spacetime.WIDTH, spacetime.HEIGHT = 860, 134 -- pixels of a lane
local BRACKETS = 300 -- of one loop: more are too narrow to be told apart

-- Colours that the colour-blind tell apart (Okabe and Ito), and shapes that need no colour: open is read, filled is written.
local OUTCOMES = {
  {name = "hit", colour = "#56B4E9", read = 6, write = 7, size = 0.55},
  {name = "cold", colour = "#009E73", read = 8, write = 9, size = 0.9},
  {name = "capacity", colour = "#E69F00", read = 4, write = 5, size = 0.8},
  {name = "conflict", colour = "#D55E00", read = 12, write = 13, size = 1.0},
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

local function caption_of(out, o)
  local level = o.cache.levels[o.level]
  out[#out + 1] = ("L%d: %s, %s, lines of %d bytes, least recently used goes. Simulated: no prefetcher, no TLB."):format(o.level,
    written.bytes(level.bytes), level.ways == 0 and "fully associative" or level.ways .. " ways", o.cache.line)
  return table.concat(out, "\n")
end

-- ---- the script

local LEFT, RIGHT, TOP_PX, LANE_PX, LOOP_PX, CURVE_PX, BOTTOM_PX, GAP_PX = 0.11, 0.97, 44, 150, 22, 110, 96, 16

local function margins(top, height, size)
  return ("set tmargin at screen %.5f\nset bmargin at screen %.5f"):format(1 - top / size[2], 1 - (top + height) / size[2])
end

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

local function bracket_panel(rows, time, top, size)
  local out = {margins(top, LOOP_PX * #rows, size), "unset key; unset border; unset xtics; unset ytics; unset ylabel; unset xlabel",
    ("set xrange [-0.5:%d - 0.5]; set yrange [0:%d]"):format(time, #rows)}
  for n, row in ipairs(rows) do
    local y = #rows - n
    out[#out + 1] = ("set label %s at graph -0.01, first %g right noenhanced"):format(gnuplot.quote(row.name), y + 0.45)
    for k, r in ipairs(row.rounds) do
      out[#out + 1] = ("set object rectangle from %g,%g to %g,%g fillcolor rgb '%s' fillstyle solid 1 border rgb '#777777'"):format(
        r.from - 0.5, y + 0.1, r.to - 0.5, y + 0.85, k % 2 == 1 and "#F0F0F0" or "#DDDDDD")
      if (r.to - r.from) / time > 0.03 then
        out[#out + 1] = ("set label '%d' at %g,%g center font ',10'"):format(r.index, (r.from + r.to) / 2 - 0.5, y + 0.45)
      end
    end
  end
  out[#out + 1] = "plot NaN notitle"
  out[#out + 1] = "unset label; unset object; set border; set ytics"
  return table.concat(out, "\n")
end

local function marks_name(lane, kind, write) return ("m%d_%d%s"):format(lane, kind, write and "w" or "r") end

local function lane_data(lane, t, data)
  for kind, outcome in ipairs(OUTCOMES) do
    for _, write in ipairs {false, true} do
      local lines = {}
      for _, m in ipairs(t.marks) do
        if m[4] == outcome.name and m[3] == write then lines[#lines + 1] = ("%d %d"):format(m[1], m[2]) end
      end
      if #lines > 0 then data[#data + 1] = gnuplot.data(marks_name(lane, kind, write), lines) end
    end
  end
end

local function lane_head(t, o, top, time, lo, hi, size)
  return table.concat({
    margins(top, LANE_PX - GAP_PX, size),
    ("set xrange [-0.5:%d - 0.5]; set yrange [%.9g:%.9g]"):format(time, lo, hi),
    "set ytics " .. (hi - lo < 6 and "1" or "autofreq"),
    "set format x ''; set xtics; set grid xtics lc rgb '#EEEEEE'",
    ("set ylabel %s noenhanced"):format(gnuplot.quote(t.name .. ", " .. UNITS[o.y]:gsub(",.*", ""))),
  }, "\n")
end

local function lane_panel(lane, t, o, top, time, size)
  local lo, hi, parts = math.huge, -math.huge, {}
  local present = {}
  for _, m in ipairs(t.marks) do
    lo, hi = math.min(lo, m[2]), math.max(hi, m[2])
    present[m[4] .. tostring(m[3])] = true
  end
  for kind, outcome in ipairs(OUTCOMES) do
    for _, write in ipairs {false, true} do
      if present[outcome.name .. tostring(write)] then
        parts[#parts + 1] = ("$%s using 1:2 with points pt %d ps %g lc rgb '%s' notitle"):format(marks_name(lane, kind, write),
          write and outcome.write or outcome.read, outcome.size, outcome.colour)
      end
    end
  end
  local pad = math.max((hi - lo) * 0.06, 0.6)
  return lane_head(t, o, top, time, lo - pad, hi + pad, size) .. "\nplot " .. table.concat(parts, ", \\\n  ")
end

-- What the shapes mean, as a key of empty plots.
local function key_entries()
  local out = {}
  for _, outcome in ipairs(OUTCOMES) do
    out[#out + 1] = ("NaN with points pt %d ps 1 lc rgb '%s' title '%s, read'"):format(outcome.read, outcome.colour, outcome.name)
    out[#out + 1] = ("NaN with points pt %d ps 1 lc rgb '%s' title 'written'"):format(outcome.write, outcome.colour)
  end
  return out
end

local function curve_panel(most, entries, o, top, time, size)
  local out = {margins(top, CURVE_PX, size), ("set xrange [-0.5:%d - 0.5]; set yrange [0:%g]"):format(time, most * 1.15),
    ("set format x '%s'; set xlabel 'time, accesses'; set ylabel 'touched, bytes'"):format(time < 1e6 and "%.0f" or "%.1s%c"),
    "set ytics autofreq; set key below horizontal maxrows 2 samplen 1 width 1 font ',11'"}
  local parts = {"$curve using 1:2 with steps lw 2 lc rgb '#000000' notitle"}
  for n, level in ipairs(o.cache.levels) do
    if level.bytes <= most * 1.1 then
      parts[#parts + 1] = ("%d with lines dt 2 lc rgb '#777777' notitle"):format(level.bytes)
      out[#out + 1] = ("set label 'L%d holds %s' at graph 0.995, first %d right offset 0,0.5 font ',10'"):format(n,
        written.bytes(level.bytes), level.bytes)
    end
  end
  for _, entry in ipairs(entries) do parts[#parts + 1] = entry end
  out[#out + 1] = "plot " .. table.concat(parts, ", \\\n  ")
  return table.concat(out, "\n")
end

-- x: {time, lanes, iterations, curve (data lines), most (bytes), entries (of the key)}; draw(lane, t, top, size) gives a panel.
local function script_of(x, data, draw, o)
  local loops, panels = loops_of(x.iterations), {}
  local size = {1000, TOP_PX + LOOP_PX * #loops + GAP_PX + LANE_PX * #x.lanes + CURVE_PX + BOTTOM_PX}
  local top = TOP_PX
  if #loops > 0 then panels[1] = bracket_panel(loops, x.time, top, size) end
  top = top + LOOP_PX * #loops + GAP_PX
  for lane, t in ipairs(x.lanes) do
    panels[#panels + 1] = draw(lane, t, top, size)
    top = top + LANE_PX
  end
  panels[#panels + 1] = curve_panel(x.most, x.entries, o, top, x.time, size)
  data[#data + 1] = gnuplot.data("curve", x.curve)
  local head = {("set multiplot title %s noenhanced font ',14'"):format(gnuplot.quote(o.title)),
    ("set lmargin at screen %g; set rmargin at screen %g"):format(LEFT, RIGHT), "unset key"}
  return table.concat({table.concat(data, "\n"), table.concat(head, "\n"), table.concat(panels, "\n"), "unset multiplot"}, "\n"),
    size
end

-- ---- making

--- accesses: of nw.accesses, with caches; widths: bytes of an element by tensor; o: {y, level, cache, title}, and of the cache
--- levels, line and sets (of that level).
function spacetime.make(accesses, widths, o)
  if #accesses == 0 then
    errors.fail("invalid", nil, "spacetime: the schedule touches no memory at these sizes")
  end
  local list, tensors, of = collect(accesses, widths, o)
  local curve, data = footprint(list, of, o.cache.line), {}
  local lines = {}
  for n, point in ipairs(curve) do lines[n] = ("%d %d"):format(point[1] - 1, point[2]) end
  for lane, t in ipairs(tensors) do lane_data(lane, t, data) end
  local script, size = script_of({time = #list, lanes = tensors, iterations = accesses:iterations(), curve = lines,
    most = curve[#curve][2], entries = key_entries()}, data, function(lane, t, top, whole)
    return lane_panel(lane, t, o, top, #list, whole)
  end, o)
  local rows = {}
  for n, at in ipairs(list) do
    rows[n] = {n - 1, at.tensor, at.index, at.lanes, at.write and "write" or "read", at.address, at.outcome[o.level]}
  end
  local about = {}
  for n, t in ipairs(tensors) do about[n] = about_tensor(t, o) end
  return plot.new {caption = caption_of(about, o), script = script, size = size, rows = rows,
    columns = {"time", "tensor", "index", "lanes", "access", "address", "outcome"}}
end

-- ---- a raster: more accesses than marks can show

local PIXELS = {"#CFE8F7", "#56B4E9", "#009E73", "#E69F00", "#D55E00"} -- read, written, cold, capacity, conflict
local PALETTE = ("set palette maxcolors 6 defined (0 '#FFFFFF', 1 '%s', 2 '%s', 3 '%s', 4 '%s', 5 '%s')\n"):format(
  table.unpack(PIXELS)) .. "set cbrange [-0.5:5.5]; unset colorbox"

local function raster_entries()
  local out = {}
  for n, name in ipairs {"read, there", "written, there", "cold miss", "capacity miss", "conflict miss"} do
    out[n] = ("NaN with boxes fs solid 1 lc rgb '%s' title '%s'"):format(PIXELS[n], name)
  end
  return out
end

local function raster_data(lane, t, data)
  local lines = {}
  for n, row in ipairs(t.rows) do
    lines[n] = row:gsub(".", function(c) return tostring(c:byte()) .. " " end)
  end
  data[#data + 1] = gnuplot.data("lane" .. lane, lines)
end

local function raster_panel(lane, t, o, top, time, size)
  local dx, dy = time / spacetime.WIDTH, (t.to - t.from) / spacetime.HEIGHT
  return lane_head(t, o, top, time, t.from, t.to, size) .. ("\nplot $lane%d matrix using (($1 + 0.5)*%.9g - 0.5):(%d + ($2 + "
    .. "0.5)*%.9g):3 with image notitle"):format(lane, dx, t.from, dy)
end

--- raster: of core.raster, with WIDTH columns and HEIGHT rows; o as for make.
function spacetime.make_raster(raster, o)
  local data, about, rows, lines = {PALETTE}, {}, {}, {}
  for lane, t in ipairs(raster.lanes) do
    t.name = t.tensor
    raster_data(lane, t, data)
    about[lane] = ("%s: %d accesses; %s"):format(t.tensor, t.accesses, misses_text(t))
    for y, row in ipairs(t.rows) do
      for x = 1, #row do
        if row:byte(x) > 0 then rows[#rows + 1] = {x - 1, y - 1, t.tensor, row:byte(x)} end
      end
    end
  end
  for n, bytes in ipairs(raster.touched) do lines[n] = ("%.9g %d"):format(n * raster.time / spacetime.WIDTH, bytes) end
  local script, size = script_of({time = raster.time, lanes = raster.lanes, iterations = raster.iterations, curve = lines,
    most = raster.touched[#raster.touched], entries = raster_entries()}, data, function(lane, t, top, whole)
    return raster_panel(lane, t, o, top, raster.time, whole)
  end, o)
  about[#about + 1] = "Each pixel stands for many accesses and shows the worst of them: no miss is lost."
  return plot.new {caption = caption_of(about, o), script = script, size = size, rows = rows,
    columns = {"column", "row", "tensor", "pixel"}}
end

spacetime.units = UNITS

return spacetime
