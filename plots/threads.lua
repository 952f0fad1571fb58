--- Draws the software's view of a stream beside the stream: virtual threads in columns, cut by barriers into phases, and the one
--- list of instructions that they become, with what each instruction pops and pushes. An instruction of the software's view is as
--- high as its rows of the stream, so both are read side by side.
local figure = require "nestwright.plots.figure"
local flags = require "nestwright.plots.flags"
local fit = require "nestwright.plots.fit"
local gnuplot = require "nestwright.plots.gnuplot"
local plot = require "nestwright.plots.plot"
local written = require "nestwright.show.written"

local threads = {}

local colour = figure.colour
local WIDTH, ROW, HEAD, SMALL = 1040, 21, 26, 10 -- pixels
local LEFT, COLUMNS, NUMBER, POP, BOX, PUSH = 76, 264, 376, 492, 500, 910 -- pixels: where parts begin; POP: where texts end
local BOX_END = 900

-- ---- phases

-- Returns the segments of the stream. A segment has, for each virtual thread, the instructions of one phase: a thread begins a
-- phase when it goes back to an earlier unit. Instructions that belong to no thread are a segment of their own.
local function segments_of(list)
  local out, at, epoch, phase, unit, alone = {}, {}, 0, {}, {}, nil
  for _, i in ipairs(list) do
    if not i.thread then
      if not alone then
        alone, epoch = {n = 0, lists = {}}, epoch + 1
        out[#out + 1] = alone
      end
      alone.n, alone[#alone + 1], i.phase = alone.n + 1, i, #out
    else
      local t = i.thread
      alone = nil
      if unit[t] and i.unit < unit[t] then phase[t] = (phase[t] or 0) + 1 end
      unit[t] = i.unit
      local key = ("%d %d"):format(epoch, phase[t] or 0)
      if not at[key] then
        at[key] = #out + 1
        out[#out + 1] = {n = 0, lists = {}}
      end
      local segment = out[at[key]]
      segment.n, i.phase = segment.n + 1, at[key]
      segment.lists[t] = segment.lists[t] or {}
      table.insert(segment.lists[t], i)
    end
  end
  return out
end

local function most_thread(list)
  local most = -1
  for _, i in ipairs(list) do most = math.max(most, i.thread or -1) end
  return most + 1
end

-- ---- drawing, in pixels from the upper left corner of the panel

local function box(out, x1, y1, x2, y2, look)
  out[#out + 1] = ("set object rectangle from %g,%g to %g,%g fillstyle %s border lc rgb '%s' fc rgb '%s'"):format(x1, y1, x2, y2,
    look.fill, colour.grey, look.colour)
end

local function text(out, x, y, words, o)
  out[#out + 1] = ("set label %s at %g,%g %s noenhanced front font ',%d' textcolor rgb '%s'"):format(gnuplot.quote(words), x, y,
    o.align or "left", o.size or 11, o.colour or colour.black)
end

local function line(out, x1, y, x2, style)
  out[#out + 1] = ("set arrow from %g,%g to %g,%g nohead %s"):format(x1, y, x2, y, style)
end

-- Draws a box of the software's view.
local function draw_box(out, i, from, to, y, high)
  box(out, from + 2, y + 1, to - 2, y + high - 1, flags.look(i.thread))
  local words = fit.width(i.kind, SMALL) <= to - from - 8 and i.kind or fit.shortened(i.words[#i.words], to - from - 8, SMALL)
  text(out, (from + to) / 2, y + high / 2, words, {align = "center", size = SMALL})
end

-- Draws a segment of the software's view from y on: a column for each thread.
local function draw_segment(out, segment, y, x)
  for n, i in ipairs(segment) do draw_box(out, i, LEFT, LEFT + COLUMNS, y + ROW * (n - 1), ROW) end
  for t = 0, x.count - 1 do
    local list = segment.lists[t] or {}
    local from, high = LEFT + t * x.wide, ROW * segment.n / #list
    for n, i in ipairs(list) do draw_box(out, i, from, from + x.wide, y + high * (n - 1), high) end
  end
end

-- Draws the flags of an instruction: what it pops at its left, and what it pushes at its right. Each has its own colour.
local function draw_flags(out, i, y, x)
  local at = POP
  for k = #i.takes, 1, -1 do
    local q = x.queues[i.takes[k]]
    local words = "pop " .. q.from
    text(out, at, y, words, {align = "right", size = SMALL, colour = flags.colour[q.pop]})
    at, x.used[q.pop] = at - fit.width(words, SMALL) - 6, true
  end
  at = PUSH
  for _, n in ipairs(i.puts) do
    local q = x.queues[n]
    local words = "push " .. q.to
    text(out, at, y, words, {size = SMALL, colour = flags.colour[q.push]})
    at, x.used[q.push] = at + fit.width(words, SMALL) + 6, true
  end
end

local function draw_row(out, i, top, x)
  box(out, BOX, top + 1, BOX_END, top + ROW - 1, flags.look(i.thread))
  text(out, NUMBER + 2, top + ROW / 2, ("%d"):format(i.n), {size = SMALL, colour = colour.grey})
  local words = ("%s%s: %s"):format(i.thread and ("%d  "):format(i.thread) or "", x.units[i.unit], i.text)
  text(out, BOX + 6, top + ROW / 2, fit.shortened(words, BOX_END - BOX - 12, SMALL), {size = SMALL})
  draw_flags(out, i, top + ROW / 2, x)
end

-- Draws a barrier in the software's view.
local function draw_barrier(out, y)
  line(out, LEFT - 8, y, LEFT + COLUMNS + 8, ("lw 3 lc rgb '%s'"):format(colour.black))
  text(out, LEFT - 12, y, "barrier", {align = "right", size = SMALL})
end

local function heads(out, x)
  for t = 0, math.max(x.count - 1, 0) do
    local name = x.count == 0 and "no virtual thread" or x.wide > 90 and ("virtual thread %d"):format(t) or ("%d"):format(t)
    local from, to = x.count == 0 and LEFT or LEFT + t * x.wide, x.count == 0 and LEFT + COLUMNS or LEFT + (t + 1) * x.wide
    text(out, (from + to) / 2, HEAD / 2, name, {align = "center"})
  end
  text(out, NUMBER + 2, HEAD / 2, "stream", {})
  if x.count > 0 then text(out, BOX + 6, HEAD / 2, "virtual thread, unit, instruction", {size = SMALL, colour = colour.grey}) end
end

local function draw(segments, list, x, height)
  local out = {("unset border; unset tics; set xrange [0:%d]; set yrange [%d:0]"):format(WIDTH, height)}
  heads(out, x)
  local y = HEAD
  for n, segment in ipairs(segments) do
    if n > 1 then draw_barrier(out, y) end
    draw_segment(out, segment, y, x)
    y = y + ROW * segment.n
  end
  for n, i in ipairs(list) do draw_row(out, i, HEAD + ROW * (n - 1), x) end
  return out
end

local function rows_of(list, x)
  local out = {}
  for n, i in ipairs(list) do out[n] = {i.n, x.units[i.unit], i.thread, i.phase, i.text} end
  return out
end

local function key_of(x)
  local out = {}
  for t = 0, math.min(x.count, flags.looks) - 1 do
    local look = flags.look(t)
    out[#out + 1] = {text = flags.thread(t), fill = look.fill, colour = look.colour}
  end
  flags.add_key(x.used, out)
  return out
end

--- Makes the picture. list: instructions {n, unit, thread, kind, words, text, takes and puts (numbers of queues)}. o: title, units
--- (names), queues ({from, to, push and pop (texts of flags.lua)}), all (number of instructions of the stream).
function threads.make(list, o)
  local count, segments = most_thread(list), segments_of(list)
  local x = {units = o.units, queues = o.queues, used = {}, count = count, wide = COLUMNS / math.max(count, 1)}
  local height = HEAD + ROW * #list + 4
  local f = figure.new {title = o.title, width = WIDTH, outlined = true}
  f:panel({left = 0, right = WIDTH, top = f.bottom, height = height}, draw(segments, list, x, height), {"NaN notitle"})
  f:key(key_of(x))
  local caption = ("Instructions %d to %d of %d: %s, %s"):format(list[1].n, list[#list].n, o.all,
    count == 0 and "no virtual threads" or written.plural(count, "virtual thread"), written.plural(#segments, "phase"))
  local small = "Left: what each virtual thread does, from the top to the bottom. All threads wait for each other at a barrier, "
    .. "where they go back to an earlier unit. Right: the one stream, in which the threads take turns. Pops and pushes of tokens "
    .. "replace the barriers."
  if count == 0 then
    small = "Left: what the program does, from the top to the bottom. Right: the stream, with its pops and pushes."
  end
  local script, size = f:finish(8, small)
  return plot.new {caption = caption .. "\n" .. small, script = script, size = size,
    columns = {"instruction", "unit", "thread", "phase", "text"}, rows = rows_of(list, x)}
end

return threads
