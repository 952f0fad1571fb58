--- Draws multiprocessors over time for a kernel whose blocks do not take equally long: each block is a bar, and each kind of blocks
--- has a colour. The times are those of the model (docs/gpu_model.md).
local figure = require "nestwright.plots.figure"
local fit = require "nestwright.plots.fit"
local multiprocessors = require "nestwright.plots.gpu.multiprocessors"
local plot = require "nestwright.plots.plot"
local written = require "nestwright.show.written"

local wave_blocks = {}

local colour = figure.colour
local SMALL = 11 -- pixels
local IDLE = multiprocessors.idle
local FREE = {text = "free place beside a block", fill = "empty", colour = colour.grey}
-- The colours and fillings of the kinds; the last one stands for all others.
local LOOKS = {
  {colour = colour.blue, fill = "solid 0.45"}, {colour = colour.orange, fill = "solid 0.8"},
  {colour = colour.green, fill = "solid 0.6"}, {colour = colour.pink, fill = "solid 0.9"},
  {colour = colour.sky, fill = "solid 0.7"}, {colour = colour.red, fill = "solid 0.35"}, {colour = colour.pale, fill = "solid 1"},
}

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
      bottom = first + tall * (b.place + 1), kind = b.kind,
      look = LOOKS[math.min(b.kind, #LOOKS)]}
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

-- Returns what the blocks of a kind write, for the key and for labels.
local function name_of(k) return #k.writes > 0 and table.concat(k.writes, ", ") or "nothing" end

local function key_of(x, idle)
  local out = {}
  for n, k in ipairs(x.kinds) do
    if n == #LOOKS and n < #x.kinds then
      out[n] = {text = ("%d other kinds"):format(#x.kinds - n + 1), fill = LOOKS[n].fill, colour = LOOKS[n].colour}
      break
    end
    out[n] = {text = ("%s that %s %s"):format(written.plural(k.blocks, "block"), k.blocks == 1 and "writes" or "write", name_of(k)),
      fill = LOOKS[n].fill, colour = LOOKS[n].colour}
  end
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

local function draw(f, bars, x, finish)
  local looks = {IDLE, table.unpack(LOOKS)}
  multiprocessors.panel(f, x, finish, ("%d multiprocessors"):format(x.sms), labels_of(bars, x, finish),
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
  local bars, finish = bars_of(x)
  local f = figure.new {title = x.title, width = multiprocessors.width}
  draw(f, bars, x, finish)
  f:key(key_of(x, multiprocessors.idle_share(bars, x, finish) > 0))
  local small = ("Predicted for %s, kernel %d, without the launch. Blocks begin in the order of their numbers, each where there "
    .. "is room first; those beside each other share a multiprocessor. Multiprocessors with the same blocks are drawn "
    .. "together.%s"):format(x.machine, x.number, multiprocessors.shared(x))
  local caption = caption_of(x, bars, finish)
  local script, size = f:finish(figure.AXIS, caption .. " " .. small)
  return plot.new {caption = caption .. "\n" .. small, script = script, size = size,
    columns = {"from", "to", "first", "last", "blocks", "kind"}, rows = rows_of(bars)}
end

return wave_blocks
