--- Draws misses by tensor or by loop. There is one panel per cache level, with one bar per tensor or loop, split into cold,
--- capacity and conflict misses.
local errors = require "nestwright.language.errors"
local caches = require "nestwright.cost.caches"
local figure = require "nestwright.plots.figure"
local fit = require "nestwright.plots.fit"
local gnuplot = require "nestwright.plots.gnuplot"
local outcomes = require "nestwright.plots.outcomes"
local plot = require "nestwright.plots.plot"
local words = require "nestwright.plots.words"
local written = require "nestwright.show.written"

local misses = {}

local ROW, SIZE, SIDE = 26, 10, 20 -- pixels: the height of a bar, the font of its numbers, and the space at the sides
local NAME = 17 -- the largest number of characters of a name

-- The fills of the kinds of misses differ also in their hatches, so that they are distinguishable without colour.
local FILLS = {cold = "pattern 4", capacity = "solid 1", conflict = "pattern 2"}

local function missed(row) return row.cold + row.capacity + row.conflict end

-- Returns the label of a bar: "261888 of 262144 lines (99.9 %)".
local function label_of(row)
  local text = ("%d of %d lines (%.3g %%)"):format(missed(row), row.asked, row.asked > 0 and 100 * missed(row) / row.asked or 0)
  return row.written_back > 0 and ("%s, %d written back"):format(text, row.written_back) or text
end

local function parts_of(f, rows)
  local parts, before = {}, {}
  for _, name in ipairs(outcomes.MISSES) do
    local data = {}
    for n, row in ipairs(rows) do
      local from, y = before[n] or 0, #rows - n
      before[n] = from + row[name]
      if row[name] > 0 then data[#data + 1] = {from, y, from, before[n], y - 0.36, y + 0.36} end
    end
    if #data > 0 then
      parts[#parts + 1] = ("%s using 1:2:3:4:5:6 with boxxyerror fs %s border rgb '#333333' lc rgb '%s' notitle"):format(
        f:data(data, name), FILLS[name], outcomes.colour[name])
    end
  end
  return #parts > 0 and parts or {"NaN notitle"}
end

local function name_of(row, by) return written.shortened(row[by] or "outside of loops", NAME) end

-- Returns the left and the right end of the panels, with room for the longest name and the longest numbers beside them.
local function ends_of(m, by, width)
  local names, numbers = {}, {}
  for n, row in ipairs(m["by_" .. by]) do names[n], numbers[n] = name_of(row, by), label_of(row) end
  return math.ceil(2 * SIDE + fit.widest(names, figure.TICK)), math.floor(width - 2 * SIDE - fit.widest(numbers, SIZE))
end

-- Returns the largest number of misses of a bar. All panels have this scale, because the misses of the levels are compared.
local function most_of(m, by)
  local most = 1
  for _, row in ipairs(m["by_" .. by]) do most = math.max(most, missed(row)) end
  return most
end

local function place(f, m, level, rows, by, most)
  local last, left, right = level == #m.levels, ends_of(m, by, f.width)
  local commands = {("set xrange [0:%.9g]; set yrange [-0.6:%g]"):format(most * 1.02, #rows - 0.4), "unset ytics",
    figure.count_tics("x", 0, most, (right - left) // 90, not last), "set xtics nomirror; set grid xtics lc rgb '#EEEEEE'",
    last and "set xlabel 'lines missed'" or "",
    ("set label %s at graph 0, graph 1 offset 0,1 left noenhanced font ',11'"):format(gnuplot.quote(caches.level_text(m, level)))}
  for n, row in ipairs(rows) do
    commands[#commands + 1] = ("set label %s at graph -0.01, first %d right noenhanced"):format(
      gnuplot.quote(name_of(row, by)), #rows - n)
    commands[#commands + 1] = ("set label %s at graph 1, first %d left offset 1,0 noenhanced font ',%d'"):format(
      gnuplot.quote(label_of(row)), #rows - n, SIZE)
  end
  f:panel({left = left, right = right, top = f.bottom + 28, height = ROW * #rows + 8}, commands, parts_of(f, rows))
end

local function caption(m, by)
  local out = {}
  for level = 1, #m.levels do
    local worst, all
    for _, row in ipairs(m["by_" .. by]) do
      if row.level == level and (not worst or missed(row) > missed(worst)) then worst = row end
    end
    all = missed(m.total[level])
    out[#out + 1] = ("%s: %s%s"):format(caches.level_text(m, level), words.misses(m.total[level]), worst and all > 0 and
      (", %.3g %% of them %s %s"):format(100 * missed(worst) / all, by == "loop" and "in" or "of", worst[by] or "outside of loops")
      or "")
  end
  return out
end

--- Makes the picture. m: a result of nw.misses; by: "tensor" or "loop".
function misses.make(m, by, title)
  if #m.by_access == 0 then errors.fail("invalid", nil, "plot: the schedule touches no memory at these sizes") end
  local f, rows = figure.new {title = title}, {}
  for level in ipairs(m.levels) do
    local own = {}
    for _, row in ipairs(m["by_" .. by]) do if row.level == level then own[#own + 1] = row end end
    place(f, m, level, own, by, most_of(m, by))
    for _, row in ipairs(own) do
      rows[#rows + 1] = {level, row[by], row.asked, row.hits, row.cold, row.capacity, row.conflict, row.written_back}
    end
  end
  local key = {}
  for n, name in ipairs(outcomes.MISSES) do key[n] = {text = name, pt = 5, fill = FILLS[name], colour = outcomes.colour[name]} end
  f:key(key)
  local said = caption(m, by)
  local small = caches.small_print({levels = m.levels, line = m.line, misses = m.feed == "misses"}, 1, #m.levels)
  local script, size = f:finish(figure.AXIS, small)
  said[#said + 1] = small
  return plot.new {caption = table.concat(said, "\n"), script = script, size = size, rows = rows,
    columns = {"level", by, "asked", "hits", "cold", "capacity", "conflict", "written_back"}}
end

return misses
