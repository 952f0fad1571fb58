--- Draws misses by tensor or by loop. There is one panel per cache level, with one bar per tensor or loop, split into cold,
--- capacity and conflict misses.
local errors = require "nestwright.language.errors"
local caches = require "nestwright.cost.caches"
local figure = require "nestwright.plots.figure"
local gnuplot = require "nestwright.plots.gnuplot"
local plot = require "nestwright.plots.plot"
local written = require "nestwright.show.written"

local misses = {}

local LEFT, RIGHT, ROW, UNDER = 130, 940, 26, 50 -- pixels
local colour = figure.colour

local KINDS = {
  {name = "cold", colour = colour.green, fill = "solid 0.55"},
  {name = "capacity", colour = colour.orange, fill = "solid 1"},
  {name = "conflict", colour = colour.red, fill = "pattern 2", key = "conflict (hatched)"},
}

local function missed(row) return row.cold + row.capacity + row.conflict end

-- Returns the label of a bar: "261888 of 262144 lines (99.9 %)".
local function label_of(row)
  local text = ("%d of %d lines (%.3g %%)"):format(missed(row), row.asked, row.asked > 0 and 100 * missed(row) / row.asked or 0)
  return row.written_back > 0 and ("%s, %d written back"):format(text, row.written_back) or text
end

local function parts_of(f, rows)
  local parts, before = {}, {}
  for _, kind in ipairs(KINDS) do
    local data = {}
    for n, row in ipairs(rows) do
      local from, y = before[n] or 0, #rows - n
      before[n] = from + row[kind.name]
      if row[kind.name] > 0 then data[#data + 1] = {from, y, from, before[n], y - 0.36, y + 0.36} end
    end
    if #data > 0 then
      parts[#parts + 1] = ("%s using 1:2:3:4:5:6 with boxxyerror fs %s border rgb '#333333' lc rgb '%s' notitle"):format(
        f:data(data, kind.name), kind.fill, kind.colour)
    end
  end
  return #parts > 0 and parts or {"NaN notitle"}
end

local function place(f, m, level, rows, by, most, last)
  local commands = {("set xrange [0:%.9g]; set yrange [-0.6:%g]"):format(most * 1.02, #rows - 0.4), "unset ytics",
    figure.count_tics("x", 0, most, 8), "set xtics nomirror; set grid xtics lc rgb '#EEEEEE'",
    last and "set xlabel 'lines missed'" or "",
    ("set label %s at graph 0, graph 1 offset 0,0.6 left noenhanced font ',11'"):format(gnuplot.quote(caches.level_text(m, level)))}
  for n, row in ipairs(rows) do
    local y, right = #rows - n, missed(row) < 0.55 * most
    commands[#commands + 1] = ("set label %s at graph -0.01, first %d right noenhanced"):format(
      gnuplot.quote(written.shortened(row[by] or "outside of loops", 17)), y)
    commands[#commands + 1] = ("set label %s at first %.9g, first %d %s noenhanced front font ',10'"):format(
      gnuplot.quote(label_of(row)), right and missed(row) or most * 0.01, y, right and "left offset 0.7,0" or "left")
  end
  local top = f.bottom + (level == 1 and 28 or 50)
  f:panel({left = LEFT, right = RIGHT, top = top, height = ROW * #rows + 8}, commands, parts_of(f, rows))
end

local function caption(m, by)
  local out = {}
  for level = 1, #m.levels do
    local worst, all
    for _, row in ipairs(m["by_" .. by]) do
      if row.level == level and (not worst or missed(row) > missed(worst)) then worst = row end
    end
    all = missed(m.total[level])
    out[#out + 1] = ("%s: %s%s"):format(caches.level_text(m, level), written.plural(all, "miss", "misses"), worst and all > 0 and
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
    local own, most = {}, 1
    for _, row in ipairs(m["by_" .. by]) do
      if row.level == level then own[#own + 1], most = row, math.max(most, missed(row)) end
    end
    place(f, m, level, own, by, most, level == #m.levels)
    for _, row in ipairs(own) do
      rows[#rows + 1] = {level, row[by], row.asked, row.hits, row.cold, row.capacity, row.conflict, row.written_back}
    end
  end
  local key = {}
  for n, kind in ipairs(KINDS) do key[n] = {text = kind.key or kind.name, pt = 5, colour = kind.colour} end
  f:key(key)
  local said = caption(m, by)
  local small = caches.small_print({levels = m.levels, line = m.line, misses = m.feed == "misses"}, 1, #m.levels)
  local script, size = f:finish(UNDER, small)
  said[#said + 1] = small
  return plot.new {caption = table.concat(said, "\n"), script = script, size = size, rows = rows,
    columns = {"level", by, "asked", "hits", "cold", "capacity", "conflict", "written_back"}}
end

return misses
