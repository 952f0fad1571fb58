--- Draws multiprocessors over time: the blocks of a kernel run in waves, and in the last wave some multiprocessors have fewer
--- blocks or none. The times are those of the model (docs/gpu_model.md).
local figure = require "nestwright.plots.figure"
local fit = require "nestwright.plots.fit"
local multiprocessors = require "nestwright.plots.gpu.multiprocessors"
local plot = require "nestwright.plots.plot"
local written = require "nestwright.show.written"

local waves = {}

local colour = figure.colour
local SMALL = 11 -- pixels
local FULL = {text = "as many blocks as fit at the same time", fill = "solid 0.45", colour = colour.blue}
local LESS = {text = "fewer blocks", fill = "solid 0.5", colour = colour.orange}
local IDLE = multiprocessors.idle

-- ---- boxes

-- Returns the boxes of a kernel: {from, to (seconds), first, last (multiprocessors), blocks (of each)}. In a full wave, all
-- multiprocessors are alike. In the last wave, the first ones have a block more than the others.
local function boxes_of(x)
  local out, at, stretch = {}, 0, x.stretch
  for _ = 1, x.full do
    local to = at + stretch * x.seconds[x.resident]
    out[#out + 1] = {from = at, to = to, first = 0, last = x.sms, blocks = x.resident, full = true}
    at = to
  end
  if x.left == 0 then return out, at end
  local more, each = x.left % x.sms, x.left // x.sms
  local longest = at + stretch * x.seconds[more > 0 and each + 1 or each]
  for _, group in ipairs {{0, more, each + 1}, {more, x.sms, each}} do
    local first, last, blocks = table.unpack(group)
    if last > first then
      local to = blocks > 0 and at + stretch * x.seconds[blocks] or at
      if blocks > 0 then out[#out + 1] = {from = at, to = to, first = first, last = last, blocks = blocks} end
      if to < longest then out[#out + 1] = {from = to, to = longest, first = first, last = last, blocks = 0} end
    end
  end
  return out, longest
end

-- Sets the look of each box, and its place in the picture.
local function dress(boxes)
  for _, b in ipairs(boxes) do
    b.idle, b.top, b.bottom = b.blocks == 0, b.first, b.last
    b.look = b.idle and IDLE or b.full and FULL or LESS
  end
end

-- ---- the panel

local function label_of(b, n, x)
  if b.blocks == 0 then return "idle" end
  local each = b.last - b.first == 1 and written.plural(b.blocks, "block") or written.plural(b.blocks, "block") .. " each"
  return b.full and x.full + (x.left > 0 and 1 or 0) > 1 and ("wave %d: %s"):format(n, each) or each
end

local function labels_of(boxes, x, finish)
  local out, wide, tall = {}, multiprocessors.scale(x, finish)
  for n, b in ipairs(boxes) do
    local text = label_of(b, n, x)
    local room, high = (b.to - b.from) * wide - 6, (b.last - b.first) * tall
    local upright = fit.width(text, SMALL) > room
    if upright and room > 10 and fit.width(text, SMALL) < high or not upright and high > 14 then
      out[#out + 1] = multiprocessors.label(text, b, SMALL, upright)
    end
  end
  return out
end

local LEAST_WAVE = 4 -- pixels: narrower waves have no edges

local function draw(f, boxes, x, finish)
  local edges = (boxes[1].to - boxes[1].from) * multiprocessors.scale(x, finish) >= LEAST_WAVE
  multiprocessors.panel(f, x, finish, "multiprocessor", labels_of(boxes, x, finish),
    multiprocessors.parts(f, boxes, {FULL, LESS, IDLE}, edges))
end

-- ---- words

-- Returns a sentence about the number of blocks in the last wave.
local function tail_text(x)
  if x.left == 0 then return "All waves are full." end
  local more, each = x.left % x.sms, x.left // x.sms
  if more == 0 then return ("In the last wave, each multiprocessor has %s."):format(written.plural(each, "block")) end
  return ("In the last wave, %s: %s %s, and %s %s."):format(written.plural(x.left, "block is left", "blocks are left"),
    written.plural(more, "multiprocessor has", "multiprocessors have"), written.plural(each + 1, "block"),
    written.plural(x.sms - more, "has", "have"), each == 0 and "none" or tostring(each))
end

local function caption_of(x, boxes, finish)
  local at_once = x.sms * x.resident
  return ("%d blocks; %d multiprocessors run %s each, so a wave has %s: %.2f waves in %s. %s Multiprocessors have no block in "
    .. "%.1f %% of the time."):format(x.blocks, x.sms, written.plural(x.resident, "block"),
      written.plural(at_once, "block"), x.blocks / at_once, written.seconds(finish), tail_text(x),
      100 * multiprocessors.idle_share(boxes, x, finish))
end

local function rows_of(boxes)
  local out = {}
  for n, b in ipairs(boxes) do out[n] = {b.from, b.to, b.first, b.last - 1, b.blocks} end
  return out
end

local MOST = 2000 -- waves

--- The largest number of waves that are drawn.
waves.most = MOST

--- Makes the picture. x: machine (its name), sms, blocks (of the grid), resident (blocks of a multiprocessor at the same time),
--- seconds (a list: the time of 1, 2, ... blocks at the same time), stretch (the time of a wave, divided by the time that its
--- multiprocessors would need if they did not wait for shared memory or L2), by (the resource that they share and wait for, such as
--- memory), number (of the kernel), title.
function waves.make(x)
  local at_once = x.sms * x.resident
  x.full = x.blocks // at_once
  x.left = x.blocks - x.full * at_once
  local boxes, finish = boxes_of(x)
  dress(boxes)
  local f = figure.new {title = x.title, width = multiprocessors.width}
  draw(f, boxes, x, finish)
  local key, seen = {}, {}
  for _, b in ipairs(boxes) do seen[b.look] = true end
  for _, look in ipairs {FULL, LESS, IDLE} do if seen[look] then key[#key + 1] = look end end
  f:key(key)
  local small = ("Predicted for %s, kernel %d, without the launch. A block begins when there is room for it; here all blocks take "
    .. "equally long.%s"):format(x.machine, x.number, multiprocessors.shared(x))
  local caption = caption_of(x, boxes, finish)
  local script, size = f:finish(figure.AXIS, caption .. " " .. small)
  return plot.new {caption = caption .. "\n" .. small, script = script, size = size,
    columns = {"from", "to", "first", "last", "blocks"}, rows = rows_of(boxes)}
end

return waves
