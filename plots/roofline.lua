--- Draws the roofline of a machine: the limits of operations per second (roofs) over operations per byte. Each version is a dot
--- below these limits.
local axis = require "nestwright.plots.axis"
local errors = require "nestwright.language.errors"
local figure = require "nestwright.plots.figure"
local gnuplot = require "nestwright.plots.gnuplot"
local marks = require "nestwright.plots.roofline_dots"
local pictures = require "nestwright.plots.times"
local plot = require "nestwright.plots.plot"
local roofs = require "nestwright.plots.roofs"
local times = require "nestwright.measure.times"
local written = require "nestwright.show.written"

local roofline = {}

local WIDTH, LEFT, RIGHT, HEIGHT = roofs.WIDTH, roofs.LEFT, roofs.RIGHT, roofs.HEIGHT -- pixels
local MOST = 60 -- the largest number of dots

-- Returns the unit of a dot's operations, because operations on integers are not flops.
local function unit_of(d) return d.arithmetic == "integer" and "op" or "flop" end

-- ---- the limit of a dot

-- Returns the operations per second that the roof of a level allows this dot. Returns nil if the bytes that the dot moves from this
-- level are unknown.
local function allowed(d, level)
  local bytes = d.bytes[level.name]
  return bytes and bytes > 0 and d.flops / bytes * level.best or nil
end

-- Returns the name and the limit of the lowest roof above a dot.
local function bound(d, r)
  local name, most = r.peak and r.peak.name, r.peak and r.peak.best or math.huge
  for _, level in ipairs(r.levels) do
    local v = allowed(d, level)
    if v and v < most then name, most = level.name, v end
  end
  return name, most
end

local function measured(d, r, level)
  local bytes = d.bytes[level]
  if not bytes or bytes <= 0 then
    errors.fail("invalid", "simulate = 1e9 allows more operations to be simulated",
      "roofline: %s: its traffic to %s is not known: %s", d.label,
      level, d.how == "simulated" and "there is no such traffic" or "it was not simulated")
  end
  local lo, hi = times.half(d.time)
  d.intensity, d.rate = d.flops / bytes, d.flops / d.time.median
  d.low, d.high = hi and d.flops / hi or d.rate, lo and d.flops / lo or d.rate
  d.roof, d.allowed = bound(d, r)
  d.share = d.rate / d.allowed
  return d
end

-- ---- words

local CACHED = "; the dot is above that roof, which was measured with simple loops: repeated runs may find their data in nearer "
  .. "caches"
local FORETOLD = "; the dot is above that roof: repeated calls find data in nearer caches, and the first call fetched it from "
  .. "farther away"
local FASTER = "; the dot is above that peak, which caches cannot explain: check how operations were counted, the number of "
  .. "threads, the machine and its clock, and whether other processes ran when the peak was measured"

local function why_above(d, r)
  if d.share <= 1 then return "" end
  if d.predicted then return FORETOLD end
  return r.peak and d.roof == r.peak.name and FASTER or CACHED
end

-- The words of the small print about dots above a roof, which the picture itself shows.
local ABOVE = {[CACHED] = "A dot above a bandwidth roof finds its data in nearer caches.",
  [FASTER] = "A dot above a peak: operations or threads were counted differently, or other processes ran when the peak was "
    .. "measured."}
ABOVE[FORETOLD] = ABOVE[CACHED]

local function above_words(dots)
  local out, seen = {}, {}
  for _, d in ipairs(dots) do
    local words = ABOVE[why_above(d, d.under)]
    if words and not seen[words] then out[#out + 1], seen[words] = words, true end
  end
  return #out > 0 and table.concat(out, " ") or nil
end

local function about(d)
  if d.refused then return ("%s: refused: %s"):format(d.label, d.refused) end
  local name, unit = d.label .. times.marks(d.time) .. (d.predicted and ", predicted" or ""), unit_of(d)
  return ("%s: %s at %.3g %s/byte of %s: %s, which allows %s%s"):format(name, written.quantity(d.rate, unit .. "/s"), d.intensity,
    unit, d.traffic, marks.share(d), written.quantity(d.allowed, unit .. "/s"), why_above(d, d.under))
end

local function ridge_words(r)
  local out = {}
  for n, l in ipairs(r.levels) do out[n] = ("%s %.3g"):format(l.name, r.peak.best / l.best) end
  local of = (r.on_gpu or r.on_chip) and r.machine or written.plural(r.threads or 1, "thread")
  local with = r.arithmetic == "f64" and " and f64" or r.arithmetic == "tensor" and " and tensor cores" or ""
  return ("Ridges of %s%s, in %s/byte: %s."):format(of, with, r.on_chip and "op" or "flop",
    table.concat(out, ", "))
end

local PEAKS = {"f32", "f64", "16-bit tensor-core", "tf32 tensor-core"} -- dtypes of peaks, in the order in which they are named

-- Returns the words about the dtypes of the peaks' multiply-adds, and a note if there is no peak.
local function peaks_words(sets)
  local has, out = {}, {}
  for _, r in ipairs(sets) do has[r.peak and r.peak.dtype or "none"] = true end
  for _, dtype in ipairs(PEAKS) do if has[dtype] then out[#out + 1] = dtype end end
  return #out > 0 and ("the peak in %s multiply-adds, "):format(table.concat(out, " and in ")) or "",
    has.none and " No peak is drawn for integers: the peak of floats does not apply to them." or ""
end

-- True if a set of roofs has a lower peak than a set with fewer threads. The sets are sorted by their number of threads, largest
-- first.
local function are_busy(sets)
  for n = 2, #sets do
    local more, r = sets[n - 1].peak, sets[n].peak
    if more and r and more.dtype == r.dtype and more.best < r.best then return true end
  end
  return false
end

-- Returns what the records of the roofs say about their own doubt.
local function doubts_words(sets)
  local out, said = "", {}
  for _, r in ipairs(sets) do
    local doubtful = r.peak and r.peak.disturbed
    for _, l in ipairs(r.levels) do doubtful = doubtful or l.disturbed end
    local words = {}
    if doubtful then words[1] = "Other work disturbed the measurement of some roofs, which may be too low." end
    if r.remark then words[#words + 1] = r.remark:gsub("^%l", string.upper):gsub("%.$", "") .. "." end
    for _, w in ipairs(words) do
      if not said[w] then out, said[w] = out .. " " .. w, true end
    end
  end
  return out
end

local function roofs_words(sets)
  local most, machine = 0, sets[1].machine or "unknown machine"
  for _, r in ipairs(sets) do
    most = math.max(most, r.peak and r.peak.spread or 0)
    for _, l in ipairs(r.levels) do most = math.max(most, l.spread or 0) end
  end
  local peaks, none = peaks_words(sets)
  if sets[1].recorded then
    return ("Roofs: from the machine record %s: %s%s.%s"):format(machine, peaks, sets[1].rates, none)
  end
  return ("Roofs: measured on %s: %sbandwidths of the fastest of STREAM's read, copy and triad over half of each cache, and over "
    .. "memory; the best of many runs, spread at most %.0f %%.%s%s%s"):format(machine, peaks, 100 * most, none, doubts_words(sets),
      are_busy(sets) and " Other processes interfered: more threads reached a lower peak." or "")
end

local HOW = {
  simulated = "Filled dots: simulated bytes of the first run on one thread.",
  compulsory = "Open dots: bytes of inputs and outputs, each counted once.",
  given = "The bytes are as given.",
  ["of a run"] = "Dots: bytes and times of simulated runs.",
  predicted = "Diamonds: bytes and times that the cost model predicts, not measured.",
}

local function bytes_words(dots)
  local out, seen = {}, {}
  for _, d in ipairs(dots) do
    if not seen[d.how] then
      seen[d.how] = true
      out[#out + 1] = HOW[d.how]
    end
  end
  return table.concat(out, " ")
end

local function small_print(dots, refused, sets, o)
  local timed, out = {}, {roofs_words(sets)}
  for _, d in ipairs(dots) do if not d.predicted and d.how ~= "of a run" then timed[#timed + 1] = d end end
  if #timed > 0 then out[2] = "Dots: " .. pictures.small_print(timed, o) end
  out[#out + 1] = bytes_words(dots)
  out[#out + 1] = (sets[1].on_chip and "Operations are the multiply-adds of the instructions, which count as two. "
    or "Operations are those of the definition. ") .. "A share is relative to the lowest roof above the dot. Each roof "
    .. "is taken at the dot's traffic to the level of the roof."
  out[#out + 1] = above_words(dots)
  for _, d in ipairs(refused) do
    out[#out + 1] = ("Not drawn: %s: %s."):format(written.shortened(d.label, marks.NAME), d.refused)
  end
  return table.concat(out, " ")
end

-- ---- making

local COLUMNS = {"label", "flops", "bytes", "bytes_are", "flop_per_byte", "median", "q1", "q3", "flop_per_s", "roof", "allowed",
  "share", "threads", "refused"}

local function row_of(d)
  if d.refused then return {d.label, [14] = d.refused} end
  local lo, hi = times.half(d.time)
  return {d.label, d.flops, d.flops / d.intensity, d.how, d.intensity, d.time.median, lo, hi, d.rate, d.roof, d.allowed, d.share,
    d.threads}
end

local function check(dots, drawn)
  if #dots > MOST then errors.fail("limit", nil, "roofline: %d dots are too many: at most %d are drawn", #dots, MOST) end
  if #drawn == 0 then errors.fail("invalid", nil, "roofline: there are no dots to draw: %s", dots[1].refused) end
end

-- ---- roofs

-- Returns the peak that applies to a dot. It is nil for integers. For f64, it is the peak of f64 if that is known. Otherwise, it is
-- the peak of f32. For products on tensor cores, it is the peak of those.
local function peak_of(r, d)
  local arithmetic = d.arithmetic
  if d.tensor then
    return {best = r.peak_tensor[d.tensor].best, spread = 0, dtype = d.tensor .. " tensor-core", name = "the peak"}
  end
  if r.on_chip then return {best = r.peak.best, spread = 0, dtype = "chip", name = "the peak"} end
  if arithmetic == "integer" then return nil end
  local own = arithmetic == "f64" and r.peak_f64
  local name = arithmetic == "f64" and not own and "the f32 peak" or "the peak"
  return {best = (own or r.peak).best, spread = (own or r.peak).spread, dtype = own and "f64" or "f32", name = name}
end

local ORDER = {f32 = 1, f64 = 2, integer = 3, tensor = 4}

-- Sets the field `under` of each dot to its roofs. Returns the different sets of roofs. Sets with more threads come first.
local function sets_of(dots, by_threads)
  local sets, known = {}, {}
  for _, d in ipairs(dots) do
    local r = by_threads[d.threads]
    known[r] = known[r] or {}
    local kind = d.tensor or d.arithmetic
    local set = known[r][kind]
    if not set then
      set = {threads = r.threads or 1, machine = r.machine, levels = r.levels, arithmetic = d.arithmetic, recorded = r.recorded,
        remark = r.remark, rates = r.rates, on_gpu = r.on_gpu, on_chip = r.on_chip,
        peak = peak_of(r, d)}
      known[r][kind], sets[#sets + 1] = set, set
    end
    d.under = set
  end
  table.sort(sets, function(a, b)
    if a.threads ~= b.threads then return a.threads > b.threads end
    return ORDER[a.arithmetic] < ORDER[b.arithmetic]
  end)
  return sets
end

-- Chooses the levels of each set that are drawn. In the first set, these are all levels. In the other sets, it is only the level
-- whose bytes the axis counts. If several sets have the same levels, only the first of these sets draws them.
local function levels_shown(sets, level)
  local drawn = {}
  for n, r in ipairs(sets) do
    r.shown = {}
    for _, l in ipairs(drawn[r.levels] and {} or r.levels) do
      if n == 1 or l.name == level then r.shown[#r.shown + 1] = l end
    end
    drawn[r.levels] = true
  end
end

-- Sets the upper end of the roofs. It is the peak or, if there is none, a value above all dots and their limits.
local function tops(sets, dots)
  for _, r in ipairs(sets) do
    r.top = r.peak and r.peak.best or 0
    for _, d in ipairs(dots) do
      if d.under == r and not r.peak then r.top = math.max(r.top, 4 * d.high, 4 * d.allowed) end
    end
  end
end

local function differ(sets, field)
  for _, r in ipairs(sets) do if r[field] ~= sets[1][field] then return true end end
  return false
end

-- Sets the additions to the labels of roofs (`whose`) and of peaks (`of`), if there are several sets.
local function names_of(sets)
  local threads, arithmetic = differ(sets, "threads"), differ(sets, "arithmetic")
  for _, r in ipairs(sets) do
    local many = ("%d thread%s"):format(r.threads, r.threads == 1 and "" or "s")
    local dtype = r.peak and (arithmetic or r.peak.dtype ~= "f32") and not r.on_chip and r.peak.dtype
    r.whose = threads and " (" .. many .. ")" or ""
    local parts = {}
    if dtype then parts[1] = dtype end
    if threads then parts[#parts + 1] = many end
    r.of = #parts > 0 and " (" .. table.concat(parts, ", ") .. ")" or ""
  end
end

local function check_level(level, sets)
  for _, l in ipairs(sets[1].levels) do
    if l.name == level and level ~= "L1" then return end
  end
  errors.fail("invalid", nil, "roofline: level must be 'memory' or a cache after the first, such as 'L2', not '%s'",
    tostring(level))
end

local function axis_number(v) return ("%g"):format(v) end

local function axes(frame, level, unit)
  local function rate(v) return written.quantity(v, unit .. "/s") end
  return {axis.commands("x", frame.x0, frame.x1, true, axis_number), axis.commands("y", frame.y0, frame.y1, true, rate),
    "set border 3; set xtics nomirror; set ytics nomirror; set grid xtics ytics lc rgb '#EEEEEE'",
    ("set xlabel %s noenhanced"):format(gnuplot.quote(("operations per byte of traffic to %s (%s/byte)"):format(level, unit)))}
end

-- Draws all roofs of the first set. For each other set, draws only the peak and the roof of the level whose bytes the axis counts,
-- as dashed lines.
local function draw(drawn, sets, o)
  local f = figure.new {title = o.title, width = WIDTH}
  local top, parts, bars, boxes = f.bottom + figure.GAP, {}, {}, {}
  local frame = roofs.frame(drawn, sets, top)
  local out = axes(frame, o.level, sets[#sets].arithmetic == "integer" and "op" or "flop")
  for n, r in ipairs(sets) do
    for _, part in ipairs(roofs.parts(f, r, frame, o.level, n == 1 and 1 or 2)) do parts[#parts + 1] = part end
    if r.peak and #r.shown > 0 then parts[#parts + 1] = roofs.ridges(f, r) end
    if r.peak then bars[#bars + 1] = roofs.down(frame, r.top) end
  end
  roofs.peaks(f, sets, frame, boxes)
  for _, part in ipairs(marks.parts(f, drawn)) do parts[#parts + 1] = part end
  if o.arrows then marks.arrows(drawn, frame, out) end
  marks.labels(f, drawn, frame, bars, boxes, o.arrows)
  roofs.labels(sets, frame, boxes, out)
  f:panel({left = LEFT, right = WIDTH - RIGHT, top = top, height = HEIGHT}, out, parts)
  local key = marks.key(drawn)
  if key then f:key(key) end
  return f
end

--- Makes the picture. dots: {label, flops, bytes (by level), how, time, threads, arithmetic ("f32", "f64" or "integer")}, or
--- {label, refused (the reason)}; by_threads: results of nw.roofs, by the number of threads; o: arrows, rounds, level, title.
function roofline.make(dots, by_threads, o)
  o.level = o.level or "memory"
  local drawn, refused, lines, rows = {}, {}, {}, {}
  for _, d in ipairs(dots) do table.insert(d.refused and refused or drawn, d) end
  check(dots, drawn)
  local sets = sets_of(drawn, by_threads)
  check_level(o.level, sets)
  for _, d in ipairs(drawn) do measured(d, d.under, o.level).traffic = "traffic to " .. o.level end
  levels_shown(sets, o.level)
  tops(sets, drawn)
  names_of(sets)
  for n, d in ipairs(dots) do lines[n], rows[n] = about(d), row_of(d) end
  for _, r in ipairs(sets) do if r.peak then lines[#lines + 1] = ridge_words(r) end end
  local small = small_print(drawn, refused, sets, o)
  lines[#lines + 1] = small
  local script, size = draw(drawn, sets, o):finish(figure.AXIS, small)
  return plot.new {caption = table.concat(lines, "\n"), columns = COLUMNS, rows = rows, script = script, size = size}
end

return roofline
