--- Draws two maps over time, with a row for each set of a cache. The first map shows how full the set is. The second map shows how
--- many different lines of the set are accessed.
local errors = require "nestwright.language.errors"
local caches = require "nestwright.cost.caches"
local figure = require "nestwright.plots.figure"
local plot = require "nestwright.plots.plot"
local written = require "nestwright.show.written"

local sets = {}

sets.COLUMNS = 300 -- the number of parts into which the time is divided
local ROWS = 256 -- the largest number of rows; if there are more sets, each row shows the fullest of its sets
local LEFT, RIGHT, PANEL, HEAD = 110, 880, 220, 40 -- pixels; HEAD is the space for the title of a map

-- The entries of the key compare a number of lines with the number of ways.
local PARTLY = {text = "fewer lines than ways", pt = 5, colour = "#B5D6EA", letter = 1}
local FULL = {text = "as many lines as ways", pt = 5, colour = "#6BAED6", letter = 2}
local CROWDED = {text = "more lines than ways", pt = 5, colour = "#F08A24", letter = 3}

-- ---- the maps

-- Returns the number of sets per row of the map.
local function sets_a_row(n) return math.max(1, math.ceil(n / ROWS)) end

local function map_lines(columns, nsets)
  local each, lines = sets_a_row(nsets), {}
  for first = 1, nsets, each do
    local cells = {}
    for c, column in ipairs(columns) do
      local most = 0
      for set = first, math.min(nsets, first + each - 1) do most = math.max(most, column[set]) end
      cells[c] = most
    end
    lines[#lines + 1] = table.concat(cells, " ")
  end
  if #lines == 1 then lines[2], each = lines[1], each / 2 end -- an image needs at least two rows
  return lines, each
end

-- Returns the columns. A single column is doubled, because an image needs at least two.
local function doubled(columns) return #columns > 1 and columns or {columns[1], columns[1]} end

-- Returns the command for the ticks of the sets. A tick is at the middle of its set.
local function set_tics(n)
  local step, out = math.max(1, 2 ^ math.ceil(math.log(n / 8, 2))) // 1 | 0, {}
  for set = 0, n - 1, step do out[#out + 1] = ("'%d' %g"):format(set, set + 0.5) end
  return "set ytics (" .. table.concat(out, ", ") .. ")"
end


-- Returns the palette of both maps. Numbers of lines up to the number of ways are blue. Larger numbers, which exceed the capacity
-- of the set, are orange to red. Over the whole range, a larger number has a darker colour, also in a print without colour.
local function palette(ways, most)
  if most <= ways then
    return ("set palette defined (0 '#FFFFFF', %g '%s'); set cbrange [0:%g]"):format(ways, FULL.colour, ways)
  end
  return ("set palette defined (0 '#FFFFFF', %g '%s', %g '%s', %g '#5A0F00'); set cbrange [0:%g]"):format(ways, FULL.colour,
    ways * 1.001, CROWDED.colour, most, most)
end

local function place(f, x, columns, most, what, last)
  columns = doubled(columns)
  local lines, each = map_lines(columns, x.sets)
  local width, rows, data = x.time / #columns, math.max(x.sets, 1), f:data(lines, "sets")
  local across, up = ("($1 + 0.5)*%.9g"):format(width), ("($2 + 0.5)*%g"):format(each)
  f:panel({left = LEFT, right = RIGHT, top = f.bottom + HEAD, height = PANEL}, {
    ("set xrange [0:%.9g]; set yrange [0:%d]"):format(x.time, rows), palette(x.ways, most),
    ("set label '%s' at graph 0, graph 1 offset 0,1 left"):format(what), figure.count_tics("cb", 0, math.max(most, x.ways), 9),
    figure.count_tics("x", 0, x.time, 8, not last), last and "set xlabel 'time, accesses'" or "",
    ("set ylabel 'set of L%d'; set xtics out nomirror; set ytics out nomirror; %s"):format(
      x.level, set_tics(rows)),
  }, {("%s matrix using (%s):(%s):3 with image notitle"):format(data, across, up)}, figure.letters(data, across, up, {
    {test = "$3 > 0 && $3 < " .. x.ways, letter = PARTLY.letter}, {test = "$3 == " .. x.ways, letter = FULL.letter},
    {test = "$3 > " .. x.ways, letter = CROWDED.letter}}))
end

-- ---- the caption

local function most_of(columns)
  local most = 0
  for _, column in ipairs(columns) do
    for _, n in ipairs(column) do most = math.max(most, n) end
  end
  return most
end

-- Returns two fractions of the sets. The first is the fraction of the sets that, in at least one column of the map, have more
-- accessed lines than ways. The second is the fraction of the sets that are never accessed.
local function shares(asked, nsets, ways)
  local crowded, unused = 0, 0
  for set = 1, nsets do
    local most = 0
    for _, column in ipairs(asked) do most = math.max(most, column[set]) end
    if most > ways then crowded = crowded + 1 end
    if most == 0 then unused = unused + 1 end
  end
  return crowded / nsets, unused / nsets
end

local function caption(x, filling, cache)
  local crowded, unused = shares(filling.asked, x.sets, x.ways)
  local text = "L%d has %s of %s. The time is divided into %s; in one part, up to %d different lines of one set are accessed. "
    .. "%.3g %% of the sets get more lines in at least one part than they can hold, and %.3g %% are never accessed."
  local out = {text:format(x.level, written.plural(x.sets, "set"), written.plural(x.ways, "way"),
    written.plural(#filling.asked, "part"), most_of(filling.asked), 100 * crowded, 100 * unused)}
  if sets_a_row(x.sets) > 1 then
    out[#out + 1] = ("Each row stands for %d sets and shows the fullest one."):format(sets_a_row(x.sets))
  end
  out[#out + 1] = caches.small_print(cache, 1, x.level)
  return out
end

local function rows_of(filling)
  local rows = {}
  for c, held in ipairs(filling.held) do
    for set, n in ipairs(held) do
      if n > 0 or filling.asked[c][set] > 0 then rows[#rows + 1] = {c - 1, set - 1, n, filling.asked[c][set]} end
    end
  end
  return rows
end

--- Makes the picture. filling: a result of core.filling.
function sets.make(filling, cache, level, title)
  if filling.time == 0 then errors.fail("invalid", nil, "cache_sets: the schedule touches no memory at these sizes") end
  local at = cache.levels[level]
  local x = {time = filling.time, level = level, sets = caches.sets(cache, level),
    ways = at.ways == 0 and at.bytes // cache.line or at.ways}
  local f, most = figure.new {title = title}, most_of(filling.asked)
  place(f, x, filling.held, most, "lines held", false)
  place(f, x, filling.asked, most, "different lines accessed", true)
  f:key {PARTLY, FULL, CROWDED}
  local said = caption(x, filling, cache)
  local script, size = f:finish(figure.AXIS, said[#said])
  return plot.new {caption = table.concat(said, "\n"), script = script, size = size, columns = {"column", "set", "held", "asked"},
    rows = rows_of(filling)}
end

return sets
