--- Draws the histogram of reuse distances, with one panel per tensor. The cache sizes are marked.
local errors = require "nestwright.language.errors"
local figure = require "nestwright.plots.figure"
local gnuplot = require "nestwright.plots.gnuplot"
local plot = require "nestwright.plots.plot"
local words = require "nestwright.plots.words"
local written = require "nestwright.show.written"

local reuse = {}

local LEFT, RIGHT, PANEL = 110, 970, 130 -- pixels
local colour = figure.colour

-- Returns the start and the end of the bin that contains a distance, in lines. The bins of core.reuse are too narrow to be visible,
-- so they are joined to four bins from each power of two to the next. Below four lines, there is one bin for each distance.
local function bin_of(lines)
  if lines < 4 then return lines, lines + 1 end
  local octave = 1 << math.floor(math.log(lines, 2))
  local width = octave // 4
  local from = octave + (lines - octave) // width * width
  return from, from + width
end

local function gathered(bins)
  local out, at = {}, {}
  for _, bin in ipairs(bins) do
    local from, to = bin_of(bin.from)
    if not at[from] then
      at[from] = {from = from, to = to, count = 0}
      out[#out + 1] = at[from]
    end
    at[from].count = at[from].count + bin.count
  end
  return out
end

-- Returns the position of a distance on a logarithmic axis. The distance zero is at the left of all others.
local function x_of(lines) return lines == 0 and -2 or math.log(lines, 2) end

local function farthest(tensors)
  local most = 4
  for _, t in ipairs(tensors) do
    for _, bin in ipairs(t.gathered) do most = math.max(most, bin.to) end
  end
  return math.ceil(math.log(most, 2))
end

local function tics(octaves, line, labelled)
  local step, out = octaves > 14 and 2 or 1, {"'none' -1.5"}
  for k = 0, octaves, step do out[#out + 1] = ("'%s' %d"):format(figure.bytes(line << k), k) end
  out[#out + 1] = ("'first access' %g"):format(octaves + 1.5)
  if not labelled then
    for n, tic in ipairs(out) do out[n] = tic:gsub("'.-'", "''", 1) end
  end
  return "set xtics (" .. table.concat(out, ", ") .. ")" .. (octaves > 9 and " rotate by 30 right" or "")
end

local function boxes(t, octaves)
  local out = {}
  for n, bin in ipairs(t.gathered) do
    local from, to = x_of(bin.from), bin.from == 0 and -1 or x_of(bin.to)
    out[n] = {(from + to) / 2, bin.count, from, to, 0.5, bin.count}
  end
  if t.first > 0 then out[#out + 1] = {octaves + 1.5, t.first, octaves + 1, octaves + 2, 0.5, t.first} end
  return out
end

local function capacities(cache, octaves, most)
  local out = {}
  for n, level in ipairs(cache.levels) do
    local x = math.log(level.bytes / cache.line, 2)
    if x < octaves + 0.5 then
      out[#out + 1] = ("set arrow from first %.6f, graph 0 to first %.6f, graph 1 nohead front lw 2 dt 2 lc rgb '%s'"):format(x, x,
        colour.red)
      local label = "set label 'L%d %s' at first %.6f, graph 0.9 offset 0.4,0 left front font ',10' textcolor rgb '%s'"
      out[#out + 1] = label:format(n, written.bytes(level.bytes), x, colour.red)
    end
  end
  out[#out + 1] = ("set yrange [0.5:%d]"):format(most * 30)
  return out
end

-- Returns the largest count of all tensors. All panels have this scale, because the tensors are compared.
local function most_of(tensors)
  local most = 10
  for _, t in ipairs(tensors) do
    most = math.max(most, t.first)
    for _, bin in ipairs(t.gathered) do most = math.max(most, bin.count) end
  end
  return most
end

local function place(f, t, cache, octaves, most, last)
  local commands = capacities(cache, octaves, most)
  table.move({
    ("set xrange [-2.2:%g]"):format(octaves + 2.2), "set logscale y; set format y '%.0s%c'", "set ytics 100 nomirror; set mytics 1",
    tics(octaves, cache.line, last),
    ("set ylabel %s noenhanced"):format(gnuplot.quote(written.shortened(t.tensor, 10) .. ", lines")),
    last and "set xlabel 'other lines accessed in between, bytes'" or "",
    "set style fill solid 0.7 border rgb '#333333'", "set grid ytics lc rgb '#EEEEEE'",
  }, 1, 8, #commands + 1, commands)
  f:panel({left = LEFT, right = RIGHT, top = f.bottom + figure.GAP, height = PANEL - figure.GAP}, commands,
    {f:data(boxes(t, octaves), "reuse") .. (" using 1:2:3:4:5:6 with boxxyerror lc rgb '%s' notitle"):format(colour.sky)})
end

local function caption(tensors, cache)
  local out = {}
  for n, t in ipairs(tensors) do
    local parts = {("%s: %s accessed for the first time"):format(t.tensor, written.plural(t.first, "line"))}
    for level = 1, #cache.levels do parts[#parts + 1] = words.reuse(t.bins, cache, level) end
    out[n] = table.concat(parts, "; ")
  end
  out[#out + 1] = ("The distances are exact, for lines of %d bytes. Accesses to the right of a cache's mark miss if the cache is "
    .. "fully associative with LRU replacement; sets, prefetchers and TLBs are not modelled."):format(cache.line)
  return out
end

local function rows_of(tensors, line)
  local rows = {}
  for _, t in ipairs(tensors) do
    rows[#rows + 1] = {t.tensor, nil, nil, t.first}
    for _, bin in ipairs(t.bins) do rows[#rows + 1] = {t.tensor, bin.from * line, bin.to * line, bin.count} end
  end
  return rows
end

--- Makes the picture. tensors: a result of core.reuse.
function reuse.make(tensors, cache, title)
  if #tensors == 0 then errors.fail("invalid", nil, "reuse: the schedule touches no memory at these sizes") end
  for _, t in ipairs(tensors) do t.gathered = gathered(t.bins) end
  local f, octaves = figure.new {title = title}, farthest(tensors)
  for n, t in ipairs(tensors) do place(f, t, cache, octaves, most_of(tensors), n == #tensors) end
  local said = caption(tensors, cache)
  local script, size = f:finish(figure.AXIS + (octaves > 9 and 26 or 0), said[#said])
  return plot.new {caption = table.concat(said, "\n"), script = script, size = size, columns = {"tensor", "from", "to", "count"},
    rows = rows_of(tensors, cache.line)}
end

return reuse
