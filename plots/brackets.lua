--- Draws brackets of loops above a picture of accesses: one row per loop, one box per iteration. A run is the execution of the
--- program by one thread; a picture may show several runs.
local core = require "nestwright.core"
local figure = require "nestwright.plots.figure"
local gnuplot = require "nestwright.plots.gnuplot"
local written = require "nestwright.show.written"

local brackets = {}

local colour = figure.colour

local WIDTH, NARROW = 860, 1.5 -- pixels: the width of the picture; the least width of brackets that are distinguishable

-- Returns a row for each loop: {name, depth, rounds (its iterations), width (the number of accesses in all its iterations)}.
local function rounds_by_loop(iterations)
  local rows, at = {}, {}
  for _, r in ipairs(iterations) do
    if not at[r.loop] then
      at[r.loop] = {name = r.loop, depth = r.depth, rounds = {}, width = 0}
      rows[#rows + 1] = at[r.loop]
    end
    local row = at[r.loop]
    if r.to > r.from then row.rounds[#row.rounds + 1], row.width = r, row.width + r.to - r.from end
  end
  return rows
end

-- True if a loop has at most `most` iterations, and they are wide enough to distinguish. time: the width of the picture in
-- accesses.
local function told_apart(row, most, time)
  return #row.rounds > 0 and #row.rounds <= most and row.width / #row.rounds / time * WIDTH >= NARROW
end

-- Returns the main nest: the loops around the load or store with the largest number of executions, outermost first.
local function main_nest(s, walk)
  local best, most = {}, -1
  for _, site in ipairs(core.sweeps(s, walk)) do
    local n = 1
    for _, loop in ipairs(site) do n = n * (loop.extent or 1) end
    if n > most or n == most and #site > #best then best, most = site, n end
  end
  return best
end

-- Returns rows with words for the loops of the main nest that have no brackets. The row of a loop is below the rows of the loops
-- around it.
local function wordy_rows(s, run, rows)
  local drawn, out, depth = {}, {}, -1
  for _, row in ipairs(rows) do drawn[row.name] = row end
  for _, loop in ipairs(main_nest(s, run.walk)) do
    depth = drawn[loop.loop] and drawn[loop.loop].depth or depth + 1
    if not drawn[loop.loop] and loop.extent ~= 1 then
      local many = loop.extent and written.plural(loop.extent, "iteration") .. ", " or ""
      out[#out + 1] = {name = loop.loop, depth = depth, rounds = {}, words = many .. "too short to distinguish"}
    end
  end
  return out
end

--- Returns the loops of a run that get a row, outermost first: {name, depth, rounds (the iterations to draw), words (instead of
--- brackets)}. most: the largest number of brackets of a loop; time: the width of the picture in accesses; alone: true if the
--- picture has no other run.
function brackets.of(s, run, most, time, alone)
  local out = {}
  for _, row in ipairs(rounds_by_loop(run.iterations)) do if told_apart(row, most, time) then out[#out + 1] = row end end
  if alone then
    local more = wordy_rows(s, run, out)
    table.move(more, 1, #more, #out + 1, out)
  end
  table.sort(out, function(a, b)
    if a.depth ~= b.depth then return a.depth < b.depth end
    return (a.rounds[1] and a.rounds[1].from or -1) < (b.rounds[1] and b.rounds[1].from or -1)
  end)
  return out
end

-- Draws the iterations of a row that has few iterations. The iterations are boxes, shaded alternately, with numbers if there is
-- room.
local function box_commands(out, row, y, time)
  for k, r in ipairs(row.rounds) do
    out[#out + 1] = ("set object rectangle from %g,%g to %g,%g fillcolor rgb '%s' fillstyle solid 1 border rgb '%s'"):format(
      r.from - 0.5, y + 0.1, r.to - 0.5, y + 0.85, k % 2 == 1 and colour.faint or colour.pale, colour.grey)
    if (r.to - r.from) / time > 0.03 then
      out[#out + 1] = ("set label '%d' at %g,%g center font ',10'"):format(r.index, (r.from + r.to) / 2 - 0.5, y + 0.45)
    end
  end
end

-- Returns the outlines of the iterations of a row that has many iterations. Outlines need a tenth of the space of boxes in a file.
local function outlines(row, y)
  local lines = {}
  for _, r in ipairs(row.rounds) do
    local from, to, low, high = r.from - 0.5, r.to - 0.5, y + 0.1, y + 0.85
    table.move({("%g %g"):format(from, low), ("%g %g"):format(from, high), ("%g %g"):format(to, high), ("%g %g"):format(to, low),
      ("%g %g"):format(from, low), ""}, 1, 6, #lines + 1, lines)
  end
  return lines
end

local SHADED = 40

--- Draws rows of loops in a rectangle. `room` is the number of rows for which the rectangle has space. `label` is a command that
--- draws the name of the group, or nil.
function brackets.panel(f, rect, rows, time, room, label)
  local out = {"unset border; unset xtics; unset ytics", ("set xrange [-0.5:%d - 0.5]; set yrange [0:%d]"):format(time, room),
    label}
  local parts = {}
  for n, row in ipairs(rows) do
    local y = room - n
    out[#out + 1] = ("set label %s at graph -0.01, first %g right noenhanced"):format(
      gnuplot.quote(written.shortened(row.name, 13)), y + 0.45)
    if row.words then
      out[#out + 1] = ("set label %s at graph 0.5, first %g center noenhanced font ',10' textcolor rgb '%s'"):format(
        gnuplot.quote(row.words), y + 0.45, colour.grey)
    elseif #row.rounds <= SHADED then
      box_commands(out, row, y, time)
    else
      parts[#parts + 1] = ("%s with lines lc rgb '%s' notitle"):format(f:data(outlines(row, y), "rounds"), colour.grey)
    end
  end
  f:panel(rect, out, #parts > 0 and parts or {"NaN notitle"})
end

return brackets
