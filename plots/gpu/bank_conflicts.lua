--- Draws a request of a warp to shared memory: banks to the right, wavefronts down. A cell is a word that a bank sends in a
--- wavefront.
local errors = require "nestwright.language.errors"
local figure = require "nestwright.plots.figure"
local fit = require "nestwright.plots.fit"
local gnuplot = require "nestwright.plots.gnuplot"
local plot = require "nestwright.plots.plot"
local written = require "nestwright.show.written"

local bank_conflicts = {}

local colour = figure.colour
local LEFT, WIDTH, HEAD, ROW, NUMBERS = 100, 870, 58, 17, 9 -- pixels
local FIRST = {text = "the first word that a bank sends", fill = "solid 0.35", colour = colour.blue}
local MORE = {text = "another word of the same bank: one more wavefront", fill = "solid 0.6", colour = colour.orange}
local IDLE = {text = "the bank is idle", fill = "solid 0.2", colour = colour.grey}

-- ---- words

-- Returns the number of parts of a request: 8 bytes a lane are sent in two halves, 16 bytes in four quarters.
local function parts_of(r) return r.bytes >= 16 and 4 or r.bytes >= 8 and 2 or 1 end

-- Returns the words that are sent: {wavefront, bank, word, lanes, part}.
local function words_of(r)
  local at, list, lanes = {}, {}, r.threads // parts_of(r)
  for _, lane in ipairs(r.lanes) do
    for k, wavefront in ipairs(lane.wavefronts) do
      local word = lane.address // 4 + k - 1
      local key = wavefront .. " " .. word
      if not at[key] then
        at[key] = {wavefront = wavefront, bank = word % r.banks, word = word, lanes = {}, part = lane.lane // lanes}
        list[#list + 1] = at[key]
      end
      table.insert(at[key].lanes, lane.lane)
    end
  end
  return list
end

-- Sets `more` of each word that is not in the first wavefront of its part.
local function mark_more(words)
  local first = {}
  for _, w in ipairs(words) do first[w.part] = math.min(first[w.part] or math.huge, w.wavefront) end
  for _, w in ipairs(words) do w.more = w.wavefront > first[w.part] end
end

-- Returns the text of a cell that fits into its width: the lane, a range of lanes, or the number of lanes.
local function lanes_text(lanes, width)
  if #lanes == 1 then return tostring(lanes[1]) end
  local range = lanes[#lanes] - lanes[1] == #lanes - 1 and ("%d–%d"):format(lanes[1], lanes[#lanes])
  if range and fit.width(range, NUMBERS) < width then return range end
  return ("×%d"):format(#lanes)
end

-- ---- the panel

-- Returns boxes of neighbouring words that are sent in one wavefront.
local function boxes_of(words, width, height)
  local at, out = {}, {}
  for _, w in ipairs(words) do at[w.wavefront * 1000 + w.bank] = true end
  for _, w in ipairs(words) do
    local key, last = w.wavefront * 1000 + w.bank, w.bank
    if not at[key - 1] then
      while at[w.wavefront * 1000 + last + 1] do last = last + 1 end
      local left, right, y = w.bank * width, (last + 1) * width, height - (w.wavefront + 1) * ROW
      out[#out + 1] = {(left + right) / 2, y + ROW / 2, left, right, y, y + ROW}
    end
  end
  return out
end

-- Returns the lines between all cells.
local function lines_of(banks, rows, width, height)
  local out = {}
  for bank = 1, banks - 1 do out[#out + 1] = {bank * width, 0, 0, height} end
  for row = 1, rows - 1 do out[#out + 1] = {0, row * ROW, banks * width, 0} end
  return out
end

local BOX = "%s using 1:2:3:4:5:6 with boxxyerror fillstyle %s noborder fc rgb '%s' notitle"
local LINES = "%s using 1:2:3:4 with vectors nohead lw 1 lc rgb '#FFFFFF' notitle"

local function place(f, c)
  local r, n = c.request, math.max(c.request.wavefronts, 1)
  local width, height = WIDTH / r.banks, n * ROW
  local first, more, parts = {}, {}, {}
  local commands = {("unset border; unset xtics; unset ytics; set xrange [0:%d]; set yrange [0:%d]"):format(WIDTH, height),
    ("set object rectangle from 0,0 to %d,%d behind fillcolor rgb '%s' fillstyle solid 1 border lc rgb '%s'"):format(WIDTH, height,
      "#F2F2F2", colour.pale)}
  for _, w in ipairs(c.words) do
    table.insert(w.more and more or first, w)
    commands[#commands + 1] = ("set label %s at %g,%g center front font ',%d'"):format(
      gnuplot.quote(lanes_text(w.lanes, width - 2)), (w.bank + 0.5) * width, height - (w.wavefront + 0.5) * ROW,
      NUMBERS)
  end
  for _, x in ipairs {{first, "first", FIRST}, {more, "more", MORE}} do
    if #x[1] > 0 then
      parts[#parts + 1] = BOX:format(f:data(boxes_of(x[1], width, height), x[2]), x[3].fill, x[3].colour)
    end
  end
  parts[#parts + 1] = LINES:format(f:data(lines_of(r.banks, n, width, height), "between"))
  local top = f.bottom + HEAD
  f:text(LEFT, top - 42, c.label ~= "" and c.label .. ": " .. c.request.access or c.request.access, {size = 12})
  for bank = 0, r.banks - 1, r.banks > 32 and 4 or 1 do
    f:text(LEFT + (bank + 0.5) * width, top - 9, tostring(bank), {align = "center", size = NUMBERS, colour = colour.grey})
  end
  f:text(LEFT + WIDTH / 2, top - 24, "bank →", {align = "center", size = 10})
  for wavefront = 0, n - 1, n > 8 and 4 or 1 do
    f:text(LEFT - 6, top + (wavefront + 0.5) * ROW, tostring(wavefront + 1),
      {align = "right", size = NUMBERS, colour = colour.grey})
  end
  f:text(LEFT - 26, top + height / 2, "wavefront ↓", {align = "right", size = 10})
  f:panel({left = LEFT, right = LEFT + WIDTH, top = top, height = height}, commands, parts)
end

-- ---- the picture

local function most_in_bank(words)
  local n, most, bank = {}, 0, 0
  for _, w in ipairs(words) do
    n[w.bank] = (n[w.bank] or 0) + 1
    if n[w.bank] > most then most, bank = n[w.bank], w.bank end
  end
  return most, bank
end

local function caption_line(c)
  local r = c.request
  local most, bank = most_in_bank(c.words)
  return ("%s%s, request %d of %d of warp %d of block (%s): %s of %s in %s; bank %d sends %s. On average, a request of this "
    .. "access has %.2f wavefronts; the least is %d."):format(c.label ~= "" and c.label .. ": " or "", r.access, r.number, r.of,
    r.warp, table.concat(r.block, ", "), written.plural(#c.words, "word"), written.plural(#r.lanes, "lane"),
    written.plural(r.wavefronts, "wavefront"), bank, written.plural(most, "word"), r.mean_wavefronts, parts_of(r))
end

local function rows_of(columns)
  local out = {}
  for _, c in ipairs(columns) do
    for _, w in ipairs(c.words) do out[#out + 1] = {c.label, w.wavefront + 1, w.bank, w.word, table.concat(w.lanes, " ")} end
  end
  return out
end

--- Makes the picture. columns: {label, request} for one or two schedules; a request is one of s:gpu_requests.
function bank_conflicts.make(columns, title)
  for _, c in ipairs(columns) do
    if c.request.scope ~= "shared" then
      errors.fail("invalid", c.request.scope == "global" and "nw.warp_request draws it" or nil,
        "bank_conflicts: %s is in %s memory, which has no banks", c.request.access, c.request.scope)
    end
    c.words = words_of(c.request)
    mark_more(c.words)
  end
  local f = figure.new {title = title, width = LEFT + WIDTH + 30}
  for _, c in ipairs(columns) do place(f, c) end
  f:key {FIRST, MORE, IDLE}
  local first, said = columns[1].request, {}
  local small = ("Simulated for %s: %d banks, and word w of 4 bytes is in bank w mod %d. A number in a cell is the lane that gets "
    .. "the word; ×8: eight lanes share it."):format(first.machine, first.banks, first.banks)
  for n, c in ipairs(columns) do said[n] = caption_line(c) end
  said[#said + 1] = small
  local script, size = f:finish(12, small)
  return plot.new {caption = table.concat(said, "\n"), script = script, size = size,
    columns = {"schedule", "wavefront", "bank", "word", "lanes"}, rows = rows_of(columns)}
end

return bank_conflicts
