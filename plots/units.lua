--- Draws the units of an accelerator over time. A run has one row for each unit, with a bar for each instruction, the gaps between
--- them with what the unit waited for, arrows for tokens, and hazards in red. Several runs are drawn above each other, with the
--- same time axis.
local axis = require "nestwright.plots.axis"
local bars = require "nestwright.plots.bars"
local figure = require "nestwright.plots.figure"
local flags = require "nestwright.plots.flags"
local fit = require "nestwright.plots.fit"
local gnuplot = require "nestwright.plots.gnuplot"
local plot = require "nestwright.plots.plot"
local written = require "nestwright.show.written"

local units = {}

local colour = figure.colour
local WIDTH, RIGHT, HEAD, SMALL, LEAST = 1000, 920, 24, 10, 8 -- pixels
local TALLEST, LOWEST, ALL = 52, 30, 520 -- pixels: the highest and the lowest row, and the height of all rows together
local COLUMN = 4 -- pixels: the least width of a column that stands for bars that are too narrow to distinguish
local MOST_TOKENS, MOST_FRAMES, MOST_LINES, MOST_LABELS = 70, 400, 8, 300
local ASIDE = 3 -- pixels by which tokens to later units are moved to the left, and others to the right
local NARROW, APART = 14, 60 -- pixels: bars of hazards below this width have no line; distance between the names of hazards
local THICK = 0.62 -- of a row: the height of a bar

-- The fills of instructions. Arrows have stronger colours.
local LOOKS = {
  {colour = colour.sky, fill = "solid 0.5"}, {colour = "#F0E442", fill = "solid 0.6"}, {colour = colour.green, fill = "solid 0.25"},
  {colour = colour.orange, fill = "solid 0.35"}, {colour = colour.pink, fill = "solid 0.3"},
  {colour = colour.grey, fill = "solid 0.35"},
  {colour = colour.blue, fill = "pattern 4"}, {colour = colour.black, fill = "pattern 5"},
}
local HAZARD = {text = "hazard: both instructions access the same bytes", fill = "empty", colour = colour.red}

-- ---- rows

local function row_at(run, unit) return #run.units - unit end

-- Returns the name of the kind of a bar: its instruction, or its virtual thread.
local function kind_of(bar, by) return by == "thread" and flags.thread(bar.thread) or bar.kind end

-- Returns the kinds of all runs: virtual threads by their number, or instructions in the order of their first bar. The second
-- result has the number of each kind.
local function kinds_of(runs, by)
  local kinds, at = {}, {}
  for _, run in ipairs(runs) do
    for _, b in ipairs(run.bars) do
      local name = kind_of(b, by)
      if not at[name] then
        at[name] = true
        kinds[#kinds + 1] = {name = name, thread = b.thread or -1,
          look = by == "thread" and flags.look(b.thread) or LOOKS[math.min(#kinds + 1, #LOOKS)]}
      end
    end
  end
  if by == "thread" then table.sort(kinds, function(a, b) return a.thread < b.thread end) end
  for n, kind in ipairs(kinds) do at[kind.name] = n end
  return kinds, at
end

-- ---- bars

-- Adds the boxes of a run to `boxes`, by kind. Returns the bars that are drawn alone, and true if some bars are too narrow.
local function boxes_of(run, kinds, x)
  local alone, narrow, boxes = {}, false, {}
  for n = 1, #kinds do boxes[n] = {bars = {}, columns = {}} end
  for unit = 1, #run.units do
    local list, y = {}, row_at(run, unit)
    for _, b in ipairs(run.bars) do
      if b.unit == unit and b.from < x.to and b.to > x.from then
        list[#list + 1] = {from = math.max(b.from, x.from), to = math.min(b.to, x.to), row = 1, kind = kind_of(b, x.by), bar = b}
      end
    end
    table.sort(list, function(a, b) return a.from < b.from end)
    for _, b in ipairs(bars.boxes(list, kinds, x.pixel, COLUMN * x.pixel)) do
      local low, high = y - THICK / 2 + THICK * b.low, y - THICK / 2 + THICK * b.high
      local to = boxes[x.at[b.kind]][b.bar and "bars" or "columns"]
      to[#to + 1] = {(b.from + b.to) / 2, (low + high) / 2, b.from, b.to, low, high}
      if b.bar then alone[#alone + 1] = b.bar.bar else narrow = true end
    end
  end
  return boxes, alone, narrow
end

local function box_parts(f, boxes, kinds)
  local parts = {}
  for n, kind in ipairs(kinds) do
    for _, name in ipairs {"bars", "columns"} do
      local list = boxes[n][name]
      local edge = name == "bars" and ("border lc rgb '%s'"):format(colour.grey) or "noborder"
      if #list > 0 then
        parts[#parts + 1] = ("%s using 1:2:3:4:5:6 with boxxyerror fillstyle %s %s fc rgb '%s' notitle"):format(f:data(list, name),
          kind.look.fill, edge, kind.look.colour)
      end
    end
  end
  return parts
end

-- ---- labels

local function add_text(out, text, at, y, size, o)
  out.labels = out.labels + 1
  out[#out + 1] = ("set label %s at %.9g,%.9g center noenhanced front font ',%d' textcolor rgb '%s'%s"):format(gnuplot.quote(text),
    at, y, size, o.colour, o.boxed and " boxed" or "")
end

-- Adds the longest of the words that fit between two times. Returns its number, or nil if none fits.
local function add_label(out, x, words, from, to, y, o)
  from, to = math.max(from, x.from), math.min(to, x.to)
  if out.labels >= MOST_LABELS then return end
  for n, text in ipairs(words) do
    for _, size in ipairs {SMALL, LEAST} do
      if text ~= "" and fit.width(text, size) + 4 <= (to - from) / x.pixel then
        add_text(out, text, (from + to) / 2, y, size, o)
        return n
      end
    end
  end
end

-- Returns the words for a bar. If bars are coloured by virtual thread, they end with its number: colours are not enough in print,
-- for some eyes, and on some terminals.
local function words_of(bar, by)
  if by ~= "thread" or not bar.thread then return bar.words end
  local out = {}
  for n, text in ipairs(bar.words) do out[n] = ("%s %d"):format(text, bar.thread) end
  out[#out + 1] = ("%d"):format(bar.thread)
  return out
end

local function label_bars(out, x, run, alone)
  for _, b in ipairs(alone) do
    local hatched = x.kinds[x.at[kind_of(b, x.by)]].look.fill:find "pattern" ~= nil
    local n = add_label(out, x, words_of(b, x.by), b.from, b.to, row_at(run, b.unit), {colour = colour.black, boxed = hatched})
    x.numbered = x.numbered or n ~= nil and x.by == "thread" and b.thread ~= nil
    if not x.named[b.kind] then
      x.named[b.kind] = {kind = b.kind, unit = run.units[b.unit], with = 0, without = 0}
      x.named[#x.named + 1] = x.named[b.kind]
    end
    local count, how = x.named[b.kind], n and n <= #b.words and "with" or "without"
    count[how] = count[how] + 1
  end
  for _, g in ipairs(run.gaps) do
    add_label(out, x, g.words, g.from, g.to, row_at(run, g.unit), {colour = "#666666"})
  end
  for _, g in ipairs(run.stuck) do
    add_label(out, x, g.words, g.from, x.to, row_at(run, g.unit), {colour = colour.red})
  end
end

-- ---- tokens and hazards

local function arrow(out, x1, y1, x2, y2, style)
  out[#out + 1] = ("set arrow from %.9g,%.9g to %.9g,%.9g front %s"):format(x1, y1, x2, y2, style)
end

-- A token goes from the end of the instruction that puts it to the beginning of the one that takes it.
local function add_tokens(out, x, run)
  local list = {}
  for _, t in ipairs(run.tokens) do
    if t.put.to >= x.from and t.take.from <= x.to then list[#list + 1] = t end
  end
  if #list > MOST_TOKENS or not x.tokens then return x.tokens and #list or 0 end
  for _, t in ipairs(list) do
    local y1, y2 = row_at(run, t.put.unit), row_at(run, t.take.unit)
    local side = y1 > y2 and THICK / 2 or -THICK / 2
    local aside = ASIDE * x.pixel * (y1 > y2 and -1 or 1)
    local x1, x2 = t.put.to + aside, t.take.from + aside
    y1, y2 = y1 - side, y2 + side
    local xm, ym = (x1 + x2) / 2, (y1 + y2) / 2
    arrow(out, x1, y1, xm, ym, ("nohead lw 2 lc rgb '%s'"):format(flags.colour[t.push]))
    arrow(out, xm, ym, x2, y2, ("head filled size screen 0.007,22 lw 2 lc rgb '%s'"):format(flags.colour[t.pop]))
    x.colours[t.push], x.colours[t.pop] = true, true
  end
  return 0
end

local function frame(out, x, run, bar)
  local y = row_at(run, bar.unit)
  out[#out + 1] = ("set object rectangle from %.9g,%.9g to %.9g,%.9g front fillstyle empty border lc rgb '%s' lw 2.5"):format(
    math.max(bar.from, x.from), y - THICK / 2, math.min(bar.to, x.to), y + THICK / 2, colour.red)
end

-- Returns the middle of the visible part of a bar, or nil if the bar is narrow.
local function middle_of(x, bar)
  local from, to = math.max(bar.from, x.from), math.min(bar.to, x.to)
  return to - from >= NARROW * x.pixel and (from + to) / 2 or nil
end

-- Draws a dashed line from (x1, y1) to (x2, y2). Leaves out the box of a text at its middle: gnuplot would strike the text through.
local function line_around(out, x, text, x1, y1, x2, y2)
  local wide, high = math.abs(x2 - x1) / x.pixel, math.abs(y2 - y1) * x.height -- pixels
  local part = 0.5 - math.min((fit.width(text, SMALL) / 2 + 3) / wide, (SMALL / 2 + 3) / high)
  if part <= 0 then return end
  local style = ("nohead dt 2 lw 1.5 lc rgb '%s'"):format(colour.red)
  arrow(out, x1, y1, x1 + part * (x2 - x1), y1 + part * (y2 - y1), style)
  arrow(out, x2 - part * (x2 - x1), y2 - part * (y2 - y1), x2, y2, style)
end

-- Draws a line between the two instructions of a hazard, with its name, if there is room. taken: the places of other names.
local function join(out, x, run, h, taken)
  local y1, y2 = row_at(run, h.first.unit), row_at(run, h.second.unit)
  local side = y1 > y2 and THICK / 2 or -THICK / 2
  local x1, x2 = middle_of(x, h.first), middle_of(x, h.second)
  if not (x1 and x2) then return end
  for _, at in ipairs(taken) do
    if at[2] == y1 + y2 and math.abs(at[1] - (x1 + x2) / 2) < APART * x.pixel then return end
  end
  taken[#taken + 1] = {(x1 + x2) / 2, y1 + y2}
  line_around(out, x, h.name, x1, y1 - side, x2, y2 + side)
  add_text(out, h.name, (x1 + x2) / 2, (y1 + y2) / 2, SMALL, {colour = colour.red, boxed = true})
end

-- Frames the instructions of hazards. Returns the number of hazards that are not drawn.
local function add_hazards(out, x, run)
  local list, framed, taken = {}, {}, {}
  for _, h in ipairs(run.hazards) do
    if h.second.to >= x.from and h.second.from <= x.to then list[#list + 1] = h end
  end
  for n = 1, math.min(#list, MOST_FRAMES) do
    local h = list[n]
    for _, bar in ipairs {h.first, h.second} do
      if not framed[bar] then frame(out, x, run, bar) end
      framed[bar] = true
    end
    if #taken < MOST_LINES then join(out, x, run, h, taken) end
  end
  return math.max(0, #list - MOST_FRAMES)
end

-- ---- a run

local function ground(out, x, run)
  local ends = math.min(run.cycles > 0 and #run.stuck == 0 and run.cycles or x.to, x.to)
  local style = ("behind fillcolor rgb '%s' fillstyle solid 1 noborder"):format(colour.faint)
  for unit = 1, #run.units do
    local y = row_at(run, unit)
    out[#out + 1] = ("set object rectangle from %.9g,%.9g to %.9g,%.9g %s"):format(x.from, y - THICK / 2, ends, y + THICK / 2,
      style)
  end
  if run.cycles > x.to or run.cycles <= x.from or #run.stuck > 0 then return end
  arrow(out, run.cycles, -0.5, run.cycles, #run.units - 0.5, ("nohead lw 1.5 lc rgb '%s'"):format(colour.black))
end

local function percent(v) return ("%.0f %%"):format(100 * v) end

local function heading_of(run)
  local out = ("%s: %.15g cycles"):format(run.title, run.cycles)
  if run.happened > 0 then out = ("%s, %s"):format(out, written.plural(run.happened, "hazard")) end
  if #run.stuck > 0 then out = out .. ", and then a unit waits forever" end
  return out
end

local function add_run(f, x, run, last)
  local boxes, alone, narrow = boxes_of(run, x.kinds, x)
  local out = {labels = 0, "set style textbox opaque noborder margins 0.5,0.5 fillcolor rgb '#FFFFFF'",
    "set border 1; unset ytics", ("set yrange [-0.5:%g]"):format(#run.units - 0.5)}
  out[#out + 1] = axis.commands("x", x.from, x.to, false, function(v) return last and ("%.6g"):format(v) or "" end)
  out[#out + 1] = "set xtics nomirror out scale " .. (last and 1 or 0.4)
  if last then out[#out + 1] = "set xlabel 'time, cycles'" end
  ground(out, x, run)
  label_bars(out, x, run, alone)
  local tokens, hazards = add_tokens(out, x, run), add_hazards(out, x, run)
  out.labels = nil
  local top = f.bottom + HEAD
  f:text(x.left, top - 10, heading_of(run), {size = 12})
  for unit, name in ipairs(run.units) do
    local y = top + (unit - 0.5) * x.height
    f:text(x.left - 8, y, name, {align = "right"})
    f:text(RIGHT + 10, y, percent(run.cycles > 0 and run.usage[unit].busy / run.cycles or 0), {size = SMALL})
  end
  f:text(RIGHT + 10, top - 10, "busy", {size = SMALL, colour = colour.grey})
  local parts = box_parts(f, boxes, x.kinds)
  if #parts == 0 then parts[1] = "NaN notitle" end
  f:panel({left = x.left, right = RIGHT, top = top, height = x.height * #run.units}, out, parts)
  return narrow, tokens, hazards
end

-- ---- words

local function key_of(x, runs)
  local out = {}
  for n, kind in ipairs(x.kinds) do
    if n > #LOOKS then break end
    out[n] = {text = n == #LOOKS and #x.kinds > n and "others" or kind.name, fill = kind.look.fill, colour = kind.look.colour}
  end
  flags.add_key(x.colours, out)
  for _, run in ipairs(runs) do
    if #run.hazards > 0 then out[#out + 1] = HAZARD break end
  end
  return out
end

local function caption_of(runs)
  local out = {}
  for n, run in ipairs(runs) do
    local busy = {}
    for u, name in ipairs(run.units) do
      busy[u] = ("%s %s"):format(name, percent(run.cycles > 0 and run.usage[u].busy / run.cycles or 0))
    end
    out[n] = ("%s; busy: %s"):format(heading_of(run), table.concat(busy, ", "))
    if run.hazards[1] then out[n] = out[n] .. "\n  " .. run.hazards[1].text end
  end
  return table.concat(out, "\n")
end

-- Returns the instructions most of whose bars are too short for a name, if colours do not tell them apart.
local function nameless_of(x)
  local out = {}
  for _, count in ipairs(x.by == "thread" and x.named or {}) do
    if count.without > count.with then out[#out + 1] = ("%s (%s)"):format(count.kind, count.unit) end
  end
  return out
end

local function small_of(x, narrow, tokens, hazards)
  local out, nameless = {"Simulated. A grey row without a bar is a unit that waits; the words say for what."}, nameless_of(x)
  if x.numbered then out[#out + 1] = "The number in a bar is that of its virtual thread." end
  if #nameless > 0 then out[#out + 1] = ("Most bars without a name: %s."):format(table.concat(nameless, ", ")) end
  if next(x.colours) then
    out[#out + 1] = "An arrow is a token: from the end of the instruction that puts it to the beginning of the one that takes it."
  end
  if narrow then out[#out + 1] = "Where bars are too narrow to distinguish, their height shows how much of the time they fill." end
  if tokens > 0 then out[#out + 1] = ("%d tokens are not drawn; show a shorter time to see them."):format(tokens) end
  if hazards > 0 then out[#out + 1] = ("%d more hazards are not drawn."):format(hazards) end
  return table.concat(out, " ")
end

local function rows_of(runs)
  local out = {}
  for _, run in ipairs(runs) do
    for _, b in ipairs(run.bars) do out[#out + 1] = {run.title, run.units[b.unit], b.n, b.kind, b.thread, b.from, b.to} end
  end
  return out
end

--- Makes the picture. runs: a list of {title, units (names), bars ({n, unit, thread, kind, words, from, to}), gaps ({unit, from,
--- to, words}), tokens ({put and take (bars), push and pop (texts of flags.lua)}), stuck ({unit, from, words}), hazards ({name,
--- first and second (bars), text}), happened (number of hazards), cycles, usage ({busy} by unit)}. o: title, from, to, by ("thread"
--- or "instruction"), tokens (true if they are drawn).
function units.make(runs, o)
  local f = figure.new {title = o.title, width = WIDTH, outlined = true}
  local names, rows = {}, 0
  for _, run in ipairs(runs) do
    rows = rows + #run.units
    table.move(run.units, 1, #run.units, #names + 1, names)
  end
  local x = {from = o.from, to = o.to, by = o.by, tokens = o.tokens, colours = {}, named = {},
    left = 30 + math.ceil(fit.widest(names, 11))}
  x.pixel, x.height = (x.to - x.from) / (RIGHT - x.left), math.max(LOWEST, math.min(TALLEST, ALL // rows))
  x.kinds, x.at = kinds_of(runs, o.by)
  local narrow, tokens, hazards = false, 0, 0
  for n, run in ipairs(runs) do
    local thin, left, more = add_run(f, x, run, n == #runs)
    narrow, tokens, hazards = narrow or thin, tokens + left, hazards + more
  end
  f:key(key_of(x, runs))
  local small = small_of(x, narrow, tokens, hazards)
  local script, size = f:finish(figure.AXIS, small)
  return plot.new {caption = caption_of(runs) .. "\n" .. small, script = script, size = size,
    columns = {"run", "unit", "instruction", "name", "thread", "from", "to"}, rows = rows_of(runs)}
end

return units
