--- Draws multiprocessors over time for a kernel whose blocks do not take equally long: each block is a bar, and each kind of blocks
--- has a colour. The times are those of the model (docs/gpu_model.md).
local figure = require "nestwright.plots.figure"
local fit = require "nestwright.plots.fit"
local gnuplot = require "nestwright.plots.gnuplot"
local multiprocessors = require "nestwright.plots.gpu.multiprocessors"
local plot = require "nestwright.plots.plot"
local written = require "nestwright.show.written"

local wave_blocks = {}

local colour = figure.colour
local SMALL = 11 -- pixels
local IDLE = multiprocessors.idle
local FREE = {text = "free place beside a block", fill = "empty", colour = colour.grey}
-- Kinds of blocks that write different arrays have different colours, and those that write the same arrays different fillings.
local COLOURS = {colour.blue, colour.orange, colour.green, colour.pink, colour.sky, colour.red}
local FILLS = {"solid 0.45", "solid 0.9", "solid 0.2", "solid 0.65"}
local OTHER = {fill = "solid 1", colour = colour.pale} -- for all other kinds

-- Returns what the blocks of a kind write, for the key and for labels.
local function name_of(k) return #k.writes > 0 and table.concat(k.writes, ", ") or "nothing" end

-- Returns the looks of the kinds. Colours are given in the order of the names of arrays, so that an array keeps its colour in the
-- pictures of other schedules.
local function looks_of(kinds)
  local names, number, out = {}, {}, {}
  for _, k in ipairs(kinds) do
    if not number[name_of(k)] then
      names[#names + 1], number[name_of(k)] = name_of(k), 0
    end
  end
  table.sort(names)
  local colour_of = {}
  for n, name in ipairs(names) do colour_of[name] = COLOURS[n] end
  for n, k in ipairs(kinds) do
    local name = name_of(k)
    number[name] = number[name] + 1
    local fill = FILLS[number[name]]
    out[n] = colour_of[name] and fill and {fill = fill, colour = colour_of[name]} or OTHER
  end
  return out
end

-- ---- boxes

local function by_begin(a, b)
  if a.from ~= b.from then return a.from < b.from end
  return a.place < b.place
end

-- Returns the blocks of each multiprocessor, by its number from 0, and when the last block ends.
local function by_multiprocessor(x)
  local out, finish = {}, 0
  for sm = 0, x.sms - 1 do out[sm] = {} end
  for _, b in ipairs(x.blocks) do
    local own = out[b.sm]
    own[#own + 1] = {from = x.stretch * b.from, to = x.stretch * b.to, place = b.place, kind = b.kind}
    finish = math.max(finish, x.stretch * b.to)
  end
  for sm = 0, x.sms - 1 do table.sort(out[sm], by_begin) end
  return out, finish
end

-- Returns a text that is equal for multiprocessors with the same blocks at the same times.
local function history(blocks)
  local out = {}
  for n, b in ipairs(blocks) do out[n] = ("%d %d %.9g %.9g"):format(b.place, b.kind, b.from, b.to) end
  return table.concat(out, ",")
end

-- Adds the bars of the multiprocessors from `first` up to `last`, which have the same blocks: one bar for each place.
local function add_bars(out, blocks, first, last, x, finish)
  local tall, ended = (last - first) / x.places, 0
  for _, b in ipairs(blocks) do
    ended = math.max(ended, b.to)
    out[#out + 1] = {from = b.from, to = b.to, first = first, last = last, top = first + tall * b.place,
      bottom = first + tall * (b.place + 1), kind = b.kind, look = x.looks[b.kind]}
  end
  if ended < finish then
    out[#out + 1] = {from = ended, to = finish, first = first, last = last, top = first, bottom = last, idle = true, look = IDLE}
  end
end

-- Returns lists of multiprocessors with the same blocks, in the order of their first members.
local function groups_of(each, x)
  local groups, known = {}, {}
  for sm = 0, x.sms - 1 do
    local key = history(each[sm])
    if not known[key] then
      known[key] = {blocks = each[sm], n = 0}
      groups[#groups + 1] = known[key]
    end
    known[key].n = known[key].n + 1
  end
  return groups
end

local function bars_of(x)
  local each, finish = by_multiprocessor(x)
  local out, first = {}, 0
  for _, group in ipairs(groups_of(each, x)) do
    add_bars(out, group.blocks, first, first + group.n, x, finish)
    first = first + group.n
  end
  return out, finish
end

-- ---- words

-- Returns the shortest and the longest time of a block of each kind.
local function times_of(x)
  local out = {}
  for _, b in ipairs(x.blocks) do
    local t = x.stretch * (b.to - b.from)
    local own = out[b.kind] or {least = t, most = t}
    own.least, own.most = math.min(own.least, t), math.max(own.most, t)
    out[b.kind] = own
  end
  return out
end

-- Returns a time, or a range of times if its ends differ as text.
local function range_text(t)
  local least, most = written.seconds(t.least), written.seconds(t.most)
  return least == most and most or least .. " to " .. most
end

local function key_of(x, idle)
  local out, others, times = {}, 0, times_of(x)
  for n, k in ipairs(x.kinds) do
    local look = x.looks[n]
    if look == OTHER then
      others = others + 1
    else
      local long = times[n] and (", %s each"):format(range_text(times[n])) or ""
      out[#out + 1] = {text = ("%s that %s %s%s"):format(written.plural(k.blocks, "block"), k.blocks == 1 and "writes" or "write",
        name_of(k), long), fill = look.fill, colour = look.colour}
    end
  end
  if others > 0 then out[#out + 1] = {text = written.plural(others, "other kind"), fill = OTHER.fill, colour = OTHER.colour} end
  if x.places > 1 then out[#out + 1] = FREE end
  if idle then out[#out + 1] = IDLE end
  return out
end

local function longest_text(bars)
  local least, most = math.huge, 0
  for _, b in ipairs(bars) do
    if b.kind then least, most = math.min(least, b.to - b.from), math.max(most, b.to - b.from) end
  end
  return most > 1.001 * least and (" A block takes %s to %s."):format(written.seconds(least), written.seconds(most))
    or (" A block takes %s."):format(written.seconds(most))
end

local function caption_of(x, bars, finish)
  return ("%s of %s; %d multiprocessors run %s each at most: %s.%s Multiprocessors have no block in %.1f %% of the time."):format(
    written.plural(#x.blocks, "block"), written.plural(#x.kinds, "kind"), x.sms, written.plural(x.resident, "block"),
    written.seconds(finish), longest_text(bars), 100 * multiprocessors.idle_share(bars, x, finish))
end

-- ---- the panel

-- Returns a label for each bar that has room for it.
local function labels_of(bars, x, finish)
  local out, wide, tall = {}, multiprocessors.scale(x, finish)
  for _, b in ipairs(bars) do
    local text = b.kind and name_of(x.kinds[b.kind]) or "idle"
    local room, high = (b.to - b.from) * wide - 6, (b.bottom - b.top) * tall
    if fit.width(text, SMALL) <= room and high > 14 then
      out[#out + 1] = multiprocessors.label(text, b, SMALL)
    end
  end
  return out
end

local LEAST_BAR = 3 -- pixels: lower or narrower bars have no edges

local function has_edges(bars, x, finish)
  local wide, tall = multiprocessors.scale(x, finish)
  for _, b in ipairs(bars) do
    if b.kind and ((b.to - b.from) * wide < LEAST_BAR or (b.bottom - b.top) * tall < LEAST_BAR) then return false end
  end
  return true
end

-- Adds the commands that draw a line below each group of multiprocessors, and that name the groups at the axis.
local function group_commands(bars, x, finish, out)
  local tics, known, _, tall = {}, {}, multiprocessors.scale(x, finish)
  for _, b in ipairs(bars) do
    if not known[b.first] then
      known[b.first] = true
      local n, y = b.last - b.first, (b.first + b.last) / 2
      if n * tall > SMALL then
        tics[#tics + 1] = ("%s %.9g"):format(gnuplot.quote(n == 1 and "1" or ("%d alike"):format(n)), y)
      end
      if b.last < x.sms and n * tall > LEAST_BAR then
        out[#out + 1] = ("set arrow from 0,%d to %.9g,%d nohead front lw 1.5 lc rgb '#000000'"):format(b.last, finish, b.last)
      end
    end
  end
  out[#out + 1] = ("set ytics nomirror scale 0 (%s)"):format(table.concat(tics, ", "))
  return out
end

local function draw(f, bars, x, finish)
  local looks, known = {IDLE}, {}
  for _, look in ipairs(x.looks) do
    if not known[look] then looks[#looks + 1], known[look] = look, true end
  end
  multiprocessors.panel(f, x, finish, "multiprocessors", group_commands(bars, x, finish, labels_of(bars, x, finish)),
    multiprocessors.parts(f, bars, looks, has_edges(bars, x, finish)))
end

local function rows_of(bars)
  local out = {}
  for n, b in ipairs(bars) do out[n] = {b.from, b.to, b.first, b.last - 1, b.kind and 1 or 0, b.kind or 0} end
  return out
end

--- Makes the picture. x: machine (its name), sms, resident (blocks of a multiprocessor at the same time), blocks (a list of {sm,
--- place, kind, from, to}), kinds (a list of {blocks, writes}), stretch and by (as in plots/gpu/waves.lua), number (of the
--- kernel), title.
function wave_blocks.make(x)
  x.places = 1 -- that are ever used
  for _, b in ipairs(x.blocks) do x.places = math.max(x.places, b.place + 1) end
  x.looks = looks_of(x.kinds)
  local bars, finish = bars_of(x)
  local f = figure.new {title = x.title, width = multiprocessors.width}
  draw(f, bars, x, finish)
  f:key(key_of(x, multiprocessors.idle_share(bars, x, finish) > 0))
  local rows = x.places > 1 and "; the rows of a band are the blocks that one of them runs at the same time" or ""
  local small = ("Predicted for %s, kernel %d, without the launch. Blocks begin in the order of their numbers, each where there is "
    .. "room first. Multiprocessors that run equal blocks at the same times are drawn as one band between black lines%s.%s"):format(
      x.machine, x.number, rows, multiprocessors.shared(x))
  local caption = caption_of(x, bars, finish)
  local script, size = f:finish(figure.AXIS, caption .. " " .. small)
  return plot.new {caption = caption .. "\n" .. small, script = script, size = size,
    columns = {"from", "to", "first", "last", "blocks", "kind"}, rows = rows_of(bars)}
end

return wave_blocks
