--- Draws a request of a warp to global memory. The lanes are above, the sectors that the memory sends are below, and a line
--- connects each lane with the bytes that it wants. All panels have the same scale, so that a longer row of sectors is more
--- traffic.
local errors = require "nestwright.language.errors"
local figure = require "nestwright.plots.figure"
local fit = require "nestwright.plots.fit"
local gnuplot = require "nestwright.plots.gnuplot"
local plot = require "nestwright.plots.plot"
local written = require "nestwright.show.written"

local warp_request = {}

local colour = figure.colour
local LEFT, WIDTH = 90, 870 -- pixels
local LANE, FAN, SECTOR, UNDER, HEAD = 20, 92, 26, 40, 34 -- pixels: heights of the parts of a panel
local WIDEST, GAP = 108, 5 -- pixels: the largest width of a sector, and the gap where sectors are not adjacent
local SMALL = 10

local WANTED = {text = "bytes that a lane wants", fill = "solid 0.6", colour = colour.blue}
local WASTED = {text = "bytes that are sent, but not wanted", fill = "solid 0.3", colour = colour.orange}
local IDLE = {text = "a lane that takes no part", fill = "solid 0.2", colour = colour.grey}

-- ---- sectors

-- Returns the sectors of a request, in the order of their addresses: {number, gap (true if the one before is not adjacent)}.
local function sectors_of(r)
  local at, list = {}, {}
  for _, lane in ipairs(r.lanes) do
    for n = lane.address // r.sector, (lane.address + r.bytes - 1) // r.sector do
      if not at[n] then
        at[n] = {number = n}
        list[#list + 1] = at[n]
      end
    end
  end
  table.sort(list, function(a, b) return a.number < b.number end)
  for k = 2, #list do list[k].gap = list[k].number ~= list[k - 1].number + 1 end
  return list, at
end

-- Returns the ranges of bytes that some lane wants, {from, to}, without overlaps.
local function wanted_of(r)
  local list, out = {}, {}
  for n, lane in ipairs(r.lanes) do list[n] = {lane.address, lane.address + r.bytes} end
  table.sort(list, function(a, b) return a[1] < b[1] end)
  for _, range in ipairs(list) do
    local last = out[#out]
    if last and range[1] <= last[2] then last[2] = math.max(last[2], range[2]) else out[#out + 1] = range end
  end
  return out
end

local function gaps_in(list)
  local n = 0
  for _, s in ipairs(list) do n = n + (s.gap and 1 or 0) end
  return n
end

-- Returns the width of a sector with which all columns fit.
local function sector_width(columns)
  local width = WIDEST
  for _, c in ipairs(columns) do width = math.min(width, (WIDTH - GAP * gaps_in(c.sectors)) / #c.sectors) end
  return width
end

-- Sets the position of each sector, and returns the place of an address.
local function place_sectors(c, width)
  local x = (WIDTH - GAP * gaps_in(c.sectors) - width * #c.sectors) / 2
  for _, s in ipairs(c.sectors) do
    if s.gap then x = x + GAP end
    s.x, x = x, x + width
  end
  local bytes = c.request.sector
  return function(address) return c.at[address // bytes].x + address % bytes / bytes * width end
end

-- ---- the panel

local BOX = "%s using 1:2:3:4:5:6 with boxxyerror fillstyle %s border lc rgb '%s' fc rgb '%s' notitle"

local function box(left, right, bottom, top) return {(left + right) / 2, (bottom + top) / 2, left, right, bottom, top} end

local function boxes(f, list, kind, look, parts)
  if #list > 0 then parts[#parts + 1] = BOX:format(f:data(list, kind), look.fill, look.colour, look.colour) end
end

local LINES = "%s using 1:2:3:4 with vectors nohead lw %g lc rgb '%s' notitle"

-- Returns runs of neighbouring lanes that take part, and of those that do not: {first, last, active}.
local function lane_runs(r)
  local active, out = {}, {}
  for _, lane in ipairs(r.lanes) do active[lane.lane] = true end
  for lane = 0, r.threads - 1 do
    local last = out[#out]
    if last and last[3] == (active[lane] or false) then last[2] = lane else out[#out + 1] = {lane, lane, active[lane] or false} end
  end
  return out
end

-- Draws the lanes: a box for each run of lanes, with lines between them.
local function draw_lanes(f, c, top, commands, parts)
  local r, on, off, lines = c.request, {}, {}, {}
  local width = WIDTH / r.threads
  for _, run in ipairs(lane_runs(r)) do
    table.insert(run[3] and on or off, box(run[1] * width, (run[2] + 1) * width, top - LANE, top))
  end
  for lane = 0, r.threads - 1 do
    if lane > 0 then lines[#lines + 1] = {lane * width, top - LANE, 0, LANE} end
    if width > 15 then
      commands[#commands + 1] = ("set label '%d' at %g,%g center front font ',%d'"):format(lane, (lane + 0.5) * width,
        top - LANE / 2, SMALL)
    end
  end
  boxes(f, on, "lanes", {fill = "solid 0.15", colour = colour.blue}, parts)
  boxes(f, off, "idle", IDLE, parts)
  parts[#parts + 1] = LINES:format(f:data(lines, "between"), 1, colour.blue)
end

-- Draws a line from each lane to the middle of its bytes.
local function draw_lines(f, c, place, top, bottom, parts)
  local lines, r = {}, c.request
  for n, lane in ipairs(r.lanes) do
    local x = (lane.lane + 0.5) * WIDTH / r.threads
    local to = (place(lane.address) + place(lane.address + r.bytes - 1) + (place(lane.address + 1) - place(lane.address))) / 2
    lines[n] = {x, top, to - x, bottom - top}
  end
  parts[#parts + 1] = LINES:format(f:data(lines, "wants"), 0.8, colour.blue)
end

-- Draws the sectors as boxes of bytes that are wanted, and boxes of bytes that are not.
local function draw_sectors(f, c, width, bottom, parts)
  local r, wasted, wanted = c.request, {}, {}
  for _, s in ipairs(c.sectors) do
    local from = s.number * r.sector
    local at, to = from, from + r.sector
    local function add(list, last)
      if last > at then
        list[#list + 1] = box(s.x + (at - from) / r.sector * width, s.x + (last - from) / r.sector * width, bottom, bottom + SECTOR)
      end
      at = math.max(at, last)
    end
    for _, range in ipairs(c.wanted) do
      if range[2] > from and range[1] < to then
        add(wasted, range[1])
        add(wanted, math.min(range[2], to))
      end
    end
    add(wasted, to)
  end
  for _, x in ipairs {{wasted, "wasted", WASTED}, {wanted, "wanted", WANTED}} do
    boxes(f, x[1], x[2], x[3], parts)
  end
end

-- Labels sectors with the addresses of their first bytes, where there is room: all adjacent sectors have one label.
local function label_addresses(c, width, bottom, commands)
  local free = -math.huge
  for k, s in ipairs(c.sectors) do
    local text = (k == 1 and "byte " or "") .. tostring(s.number * c.request.sector)
    local x, half = s.x + width / 2, fit.width(text, SMALL) / 2
    if (k == 1 or s.gap) and x - half > free + 8 then
      commands[#commands + 1] = ("set label '%s' at %g,%g center front font ',%d' textcolor rgb '%s'"):format(text, x, bottom - 10,
        SMALL, colour.grey)
      free = x + half
    end
  end
end

local function percent(share) return ("%.3g %%"):format(100 * share) end

-- Returns the numbers of bytes that the lanes want, without repetition, and that are sent.
local function amounts(c)
  local wanted = 0
  for _, range in ipairs(c.wanted) do wanted = wanted + range[2] - range[1] end
  return wanted, #c.sectors * c.request.sector
end

-- Returns what a request costs, in words.
local function cost_text(c)
  local wanted, sent = amounts(c)
  return ("%s, %s = %d bytes sent for %d different bytes: %s wanted"):format(written.plural(#c.request.lanes, "lane"),
    written.plural(#c.sectors, "sector"), sent, wanted, percent(wanted / sent))
end

local function heading(c) return (c.label ~= "" and c.label .. ": " or "") .. c.request.access end

local function place(f, c, width)
  local height = LANE + FAN + SECTOR + UNDER
  local parts, at = {}, place_sectors(c, width)
  local commands = {("unset border; unset xtics; unset ytics; set xrange [0:%d]; set yrange [0:%d]"):format(WIDTH, height)}
  draw_lines(f, c, at, height - LANE, UNDER + SECTOR, parts)
  draw_lanes(f, c, height, commands, parts)
  draw_sectors(f, c, width, UNDER, parts)
  label_addresses(c, width, UNDER, commands)
  commands[#commands + 1] = ("set label %s at %d,8 center noenhanced font ',12'"):format(gnuplot.quote(cost_text(c)), WIDTH // 2)
  local top = f.bottom + HEAD
  f:text(LEFT, top - 14, heading(c), {size = 12})
  f:text(LEFT - 8, top + LANE / 2, "lane", {align = "right", size = SMALL})
  f:text(LEFT - 8, top + LANE + FAN + SECTOR / 2, "sectors", {align = "right", size = SMALL})
  f:panel({left = LEFT, right = LEFT + WIDTH, top = top, height = height}, commands, parts)
end

-- ---- the picture

local function place_text(r)
  return ("request %d of %d of warp %d of block (%s)"):format(r.number, r.of, r.warp, table.concat(r.block, ", "))
end

local function caption_line(c)
  local r = c.request
  return ("%s, %s: %s. On average, a request of this access has %.2f sectors."):format(heading(c), place_text(r), cost_text(c),
    r.mean_sectors)
end

local function rows_of(columns)
  local out = {}
  for _, c in ipairs(columns) do
    for _, lane in ipairs(c.request.lanes) do out[#out + 1] = {c.label, lane.lane, lane.address, c.request.bytes} end
  end
  return out
end

local function check_scope(c)
  if c.request.scope == "global" then return end
  errors.fail("invalid", c.request.scope == "shared" and "nw.bank_conflicts draws it" or nil,
    "warp_request: %s is in %s memory, which has no sectors", c.request.access, c.request.scope)
end

--- Makes the picture. columns: {label, request} for one or two schedules; a request is one of s:gpu_requests.
function warp_request.make(columns, title)
  local idle = false
  for _, c in ipairs(columns) do
    check_scope(c)
    c.sectors, c.at = sectors_of(c.request)
    c.wanted = wanted_of(c.request)
    idle = idle or #c.request.lanes < c.request.threads
  end
  local f, width = figure.new {title = title, width = LEFT + WIDTH + 30}, sector_width(columns)
  for _, c in ipairs(columns) do place(f, c, width) end
  f:key {WANTED, WASTED, idle and IDLE or nil}
  local first, said = columns[1].request, {}
  local small = ("Simulated for %s. The memory sends whole sectors of %d bytes; adjacent sectors touch."):format(first.machine,
    first.sector)
  for n, c in ipairs(columns) do said[n] = caption_line(c) end
  said[#said + 1] = small
  local script, size = f:finish(12, small)
  return plot.new {caption = table.concat(said, "\n"), script = script, size = size,
    columns = {"schedule", "lane", "address", "bytes"}, rows = rows_of(columns)}
end

return warp_request
