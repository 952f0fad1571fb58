--- The timeline (Gantt): who does what when. A lane a thread or a stage of a pipeline, a bar for what it does, arrows for what
--- needs what; what is left of a lane is idle.
local axis = require "nestwright.plots.axis"
local core = require "nestwright.core"
local errors = require "nestwright.errors"
local figure = require "nestwright.plots.figure"
local gnuplot = require "nestwright.plots.gnuplot"
local plot = require "nestwright.plots.plot"
local written = require "nestwright.written"

local timeline = {}

local MOST_LANES, MOST_BARS, MOST_LABELS, MOST_ARROWS = 100, 20000, 150, 500
local RIGHT, WIDTH, HEAD, UNDER = 885, 1000, 20, 56 -- pixels
local TALLEST, LOWEST, ROOM = 36, 13, 560 -- of a lane; of all of them
local FAR = 1000 -- from zero, in lengths of the time shown
local CHARACTER, SMALL, NAME = 7, 6, 26 -- pixels, of a label on a bar; characters of a lane's name
local colour = figure.colour

-- Fills need no colour: density and pattern say the same.
local KINDS = {
  {colour = colour.blue, fill = "solid 0.5"}, {colour = colour.orange, fill = "pattern 4"},
  {colour = colour.green, fill = "solid 0.2"}, {colour = colour.red, fill = "pattern 2"},
  {colour = colour.pink, fill = "pattern 5"}, {colour = colour.black, fill = "solid 0.75"},
  {colour = colour.sky, fill = "pattern 1"}, {colour = colour.grey, fill = "pattern 6"},
}

-- ---- records

local function fail(message, ...) errors.fail("invalid", nil, "timeline: " .. message, ...) end

local function moment(n, name, value)
  if type(value) ~= "number" then fail("record %d: %s: expected a number, got %s", n, name, core.type_name(value)) end
  if value ~= value or math.abs(value) == math.huge then fail("record %d: %s is %s", n, name, value) end
  return value
end

local function word(n, name, value)
  if value == nil or type(value) == "string" then return value end
  if type(value) == "number" then return tostring(value) end
  fail("record %d: %s: expected a string, got %s", n, name, core.type_name(value))
end

local function read(n, r)
  if type(r) ~= "table" then fail("record %d: expected a table, got %s", n, core.type_name(r)) end
  if r.lane == nil then fail("record %d has no lane: {lane = \"thread 0\", from = 0, to = 1.5}", n) end
  local out = {n = n, lane = word(n, "lane", r.lane), from = moment(n, "from", r.from), to = moment(n, "to", r.to),
    label = word(n, "label", r.label), kind = word(n, "kind", r.kind), given = r}
  if out.to < out.from then fail("record %d ends at %s, before it begins at %s", n, r.to, r.from) end
  return out
end

local function read_all(records)
  if #errors.expect("timeline: records", records, "table") == 0 then
    fail "there are no records: {{lane = \"thread 0\", from = 0, to = 1.5}, ...}"
  end
  local list, lanes, at = {}, {}, {}
  for n, r in ipairs(records) do
    list[n] = read(n, r)
    local lane = at[list[n].lane]
    if not lane then
      lane = {name = list[n].lane, bars = {}}
      lanes[#lanes + 1], at[lane.name] = lane, lane
    end
    lane.bars[#lane.bars + 1] = list[n]
  end
  if #lanes > MOST_LANES then
    errors.fail("limit", "keep those that matter", "timeline: there are %d lanes; at most %d can be told apart", #lanes, MOST_LANES)
  end
  return list, lanes
end

-- Records that an arrow goes from and to: their numbers in the list, or the records themselves.
local function read_arrows(list, arrows)
  local of, out = {}, {}
  for _, r in ipairs(list) do of[r.given], of[r.n] = r, r end
  for n, a in ipairs(arrows and errors.expect("timeline: arrows", arrows, "table") or {}) do
    local ends = type(a) == "table" and {from = of[a.from], to = of[a.to]} or {}
    if not (ends.from and ends.to) then fail("arrow %d: from and to are records, or their numbers from 1 to %d", n, #list) end
    ends.back = ends.to.from < ends.from.to
    out[n] = ends
  end
  return out
end

-- ---- lanes

local function by_begin(a, b)
  if a.from ~= b.from then return a.from < b.from end
  return a.n < b.n
end

-- Bars of one lane that overlap lie under one another; busy is the time in which there is any.
local function settle(lane)
  table.sort(lane.bars, by_begin)
  local ends, busy, reached = {}, 0, -math.huge
  for _, bar in ipairs(lane.bars) do
    local row = 1
    while ends[row] and ends[row] > bar.from do row = row + 1 end
    ends[row], bar.row = bar.to, row
    busy = busy + math.max(bar.to - math.max(bar.from, reached), 0)
    reached = math.max(reached, bar.to)
  end
  lane.rows, lane.busy = #ends, busy
end

local function span_of(list, o)
  local from, to = math.huge, -math.huge
  for _, r in ipairs(list) do from, to = math.min(from, r.from), math.max(to, r.to) end
  from, to = math.min(from, o.from or from), math.max(to, o.to or to)
  return from, to > from and to or from + math.max(1, 1e-6 * math.abs(from))
end

-- Times of which only the last digits differ are drawn from the first one on; the answer is that one, else 0.
local function origin_of(list, from, to)
  if math.abs(from) <= FAR * (to - from) then return 0 end
  for _, r in ipairs(list) do r.from, r.to = r.from - from, r.to - from end
  return from
end

-- ---- words

local function clean(text, most) return written.shortened(text:gsub("%c", " "), most) end

local function percent(share)
  local p = 100 * share
  return p > 0 and p < 0.95 and ("%.1f %%"):format(p) or ("%.0f %%"):format(p)
end

local function amount(v, unit)
  if unit == "s" then return v == 0 and "0" or (v < 0 and "-" or "") .. written.seconds(math.abs(v)) end
  return ("%.6g %s"):format(v, unit)
end

local function caption_of(lanes, from, to, arrows, unit)
  local least, most, idle = lanes[1], lanes[1], 0
  for _, lane in ipairs(lanes) do
    if lane.idle < least.idle then least = lane end
    if lane.idle > most.idle then most = lane end
    idle = idle + lane.idle / #lanes
  end
  local out = {("%d lane%s over %s; on the whole %s idle"):format(#lanes, #lanes == 1 and "" or "s", amount(to - from, unit),
    percent(idle))}
  if #lanes > 1 and least ~= most then
    out[1] = ("%s: %s least with %s, %s most with %s"):format(out[1], least.name, percent(least.idle), most.name,
      percent(most.idle))
  end
  local back = 0
  for _, a in ipairs(arrows) do if a.back then back = back + 1 end end
  if #arrows > 0 then out[2] = ("%d arrow%s from what is made to what needs it"):format(#arrows, #arrows == 1 and "" or "s") end
  if back > 0 then out[2] = out[2] .. ("; %d point back in time: what is needed is not there yet (dashed)"):format(back) end
  return table.concat(out, "\n")
end

-- ---- bars

-- A lane's bars of one kind that are nearer than half a pixel become one, so that a million of them are a picture as well.
local function merged(bars, near)
  local out, last = {}, {}
  for _, bar in ipairs(bars) do
    local at = last[bar.row]
    if at and bar.from - at.to < near and (at.to - at.from < near or bar.to - bar.from < near) then
      at.to, at.many = math.max(at.to, bar.to), true
    else
      at = {from = bar.from, to = bar.to, row = bar.row, bar = bar}
      out[#out + 1], last[bar.row] = at, at
    end
  end
  return out
end

-- In the order in which they begin.
local function kinds_of(list)
  local kinds, at, ordered = {}, {}, table.move(list, 1, #list, 1, {})
  table.sort(ordered, by_begin)
  for _, r in ipairs(ordered) do
    local name = r.kind or ""
    if not at[name] then
      local style = KINDS[#kinds % #KINDS + 1]
      kinds[#kinds + 1] = {name = name, colour = style.colour, fill = style.fill, boxes = {},
        hatched = style.fill:find "pattern" ~= nil}
      at[name] = kinds[#kinds]
    end
  end
  return kinds, at
end

local function bottom_and_top(lane, row)
  local high = 0.76 / lane.rows
  local top = lane.y + 0.38 - (row - 1) * high
  return top - high * (lane.rows > 1 and 0.92 or 1), top
end

local function fill_boxes(lanes, kinds, at, from, to)
  local pixel, labels = (to - from) / WIDTH, {}
  for _, lane in ipairs(lanes) do
    local by_kind = {}
    for _, bar in ipairs(lane.bars) do
      local name = bar.kind or ""
      by_kind[name] = by_kind[name] or {}
      table.insert(by_kind[name], bar)
    end
    for _, kind in ipairs(kinds) do
      for _, b in ipairs(merged(by_kind[kind.name] or {}, #lane.bars > 200 and pixel / 2 or 0)) do
        local low, high = bottom_and_top(lane, b.row)
        table.insert(at[kind.name].boxes, {(b.from + b.to) / 2, (low + high) / 2, b.from, b.to, low, high})
        if b.bar.label and not b.many then
          labels[#labels + 1] = {bar = b, y = (low + high) / 2, rows = lane.rows, boxed = kind.hatched}
        end
      end
    end
  end
  return labels
end

local function box_parts(f, kinds)
  local parts, total = {}, 0
  for _, kind in ipairs(kinds) do
    total = total + #kind.boxes
    parts[#parts + 1] = ("%s using 1:2:3:4:5:6 with boxxyerror fillstyle %s border lc rgb '%s' fc rgb '%s' notitle"):format(
      f:data(kind.boxes, "bars"), kind.fill, kind.colour, kind.colour)
  end
  if total > MOST_BARS then
    errors.fail("limit", "show a part of the time, or fewer lanes", "timeline: %d bars are too many to draw; at most %d", total,
      MOST_BARS)
  end
  return parts
end

-- ---- the panel

local function lane_commands(lanes, from, to)
  local out = {}
  local ground = ("behind fillcolor rgb '%s' fillstyle solid 1 border lc rgb '%s'"):format(colour.faint, colour.pale)
  for n, lane in ipairs(lanes) do
    out[n] = ("set object rectangle from %.9g,%.9g to %.9g,%.9g %s"):format(from, lane.y - 0.38, to, lane.y + 0.38, ground)
  end
  return out
end

-- Those that fit; none where that would be most of the ink.
local function label_commands(labels, left, from, to, height, out)
  local fitting = {}
  for _, l in ipairs(labels) do
    local pixels = (l.bar.to - l.bar.from) / (to - from) * (RIGHT - left)
    local label = clean(l.bar.bar.label, 60)
    if pixels > SMALL * utf8.len(label) + 6 and height / l.rows > 11 then
      fitting[#fitting + 1] = ("set label %s at %.9g,%.9g center noenhanced front font ',10'%s"):format(gnuplot.quote(label),
        (l.bar.from + l.bar.to) / 2, l.y, l.boxed and " boxed" or "")
    end
  end
  if #fitting <= MOST_LABELS then table.move(fitting, 1, #fitting, #out + 1, out) end
end

local function arrow_commands(arrows, out)
  if #arrows > MOST_ARROWS then
    errors.fail("limit", "show a part of the time", "timeline: %d arrows are too many to draw; at most %d", #arrows, MOST_ARROWS)
  end
  for _, a in ipairs(arrows) do
    local down = a.from.y > a.to.y and 1 or a.from.y < a.to.y and -1 or 0
    local style = ("lc rgb '%s' dt %d"):format(a.back and colour.red or colour.black, a.back and 2 or 1)
    out[#out + 1] = ("set arrow from %.9g,%.9g to %.9g,%.9g front head filled size screen 0.008,20 lw 1.3 %s"):format(a.from.to,
      a.from.y - 0.3 * down, a.to.from, a.to.y + 0.3 * down, style)
  end
end

local function left_of(lanes)
  local most = 4
  for _, lane in ipairs(lanes) do most = math.max(most, utf8.len(clean(lane.name, NAME))) end
  return 24 + CHARACTER * most
end

local function write_sides(f, lanes, left, height)
  local most = 0
  for _, lane in ipairs(lanes) do most = math.max(most, lane.y) end
  f:text(RIGHT + 12, f.bottom + HEAD - 12, "idle", {size = 10, colour = colour.grey})
  for _, lane in ipairs(lanes) do
    local y = f.bottom + HEAD + (most - lane.y + 0.5) * height
    f:text(left - 8, y, clean(lane.name, NAME), {align = "right", size = height < 15 and 8 or 11})
    f:text(RIGHT + 12, y, percent(lane.idle), {size = height < 15 and 8 or 11})
  end
end

local function axis_commands(from, to, unit, origin)
  local scale, name = 1, unit
  if unit == "s" then
    for _, s in ipairs {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}} do
      scale, name = s[1], s[2]
      if to - from >= s[1] then break end
    end
  end
  local since = origin == 0 and "" or (" since %.15g %s"):format(origin, unit)
  return axis.commands("x", from, to, false, function(v) return ("%.6g"):format(v / scale) end)
    .. ("; set xlabel %s noenhanced"):format(gnuplot.quote(("time%s, %s"):format(since, name)))
end

local function place(list, lanes)
  for n, lane in ipairs(lanes) do lane.y = #lanes - n end
  for _, lane in ipairs(lanes) do
    for _, bar in ipairs(lane.bars) do bar.y = lane.y end
  end
  return list
end

local function columns_of(list)
  local rows = {}
  for n, r in ipairs(list) do rows[n] = {r.lane, r.given.from, r.given.to, r.label, r.kind} end
  return rows
end

--- records: {lane, from, to, label, kind}; o: {title, arrows ({from, to}), unit ("s"), from, to (of the time shown), small}.
function timeline.make(records, o)
  local list, lanes = read_all(records)
  local arrows, unit = read_arrows(list, o.arrows), o.unit or "s"
  local from, to = span_of(list, o)
  local origin = origin_of(list, from, to)
  from, to = from - origin, to - origin
  for _, lane in ipairs(lanes) do
    settle(lane)
    lane.idle = math.max(0, 1 - lane.busy / (to - from))
  end
  place(list, lanes)
  local f = figure.new {title = o.title or "who does what when", width = WIDTH}
  local height, left = math.max(LOWEST, math.min(TALLEST, ROOM // #lanes)), left_of(lanes)
  local kinds, at = kinds_of(list)
  local labels = fill_boxes(lanes, kinds, at, from, to)
  local commands = lane_commands(lanes, from, to)
  commands[#commands + 1] = ("set border 1; unset ytics; set yrange [-0.5:%g]; set xtics nomirror out"):format(#lanes - 0.5)
  commands[#commands + 1] = axis_commands(from, to, unit, origin)
  label_commands(labels, left, from, to, height, commands)
  arrow_commands(arrows, commands)
  write_sides(f, lanes, left, height)
  f:panel({left = left, right = RIGHT, top = f.bottom + HEAD, height = height * #lanes}, commands, box_parts(f, kinds))
  if #kinds > 1 or kinds[1].name ~= "" then
    local entries = {}
    for n, kind in ipairs(kinds) do
      entries[n] = {text = kind.name == "" and "other" or clean(kind.name, 40), fill = kind.fill, colour = kind.colour}
    end
    f:key(entries)
  end
  local small = o.small or "Idle: where no bar is."
  local script, size = f:finish(UNDER, small)
  return plot.new {caption = caption_of(lanes, from, to, arrows, unit) .. "\n" .. small, script = script, size = size,
    columns = {"lane", "from", "to", "label", "kind"}, rows = columns_of(list), idle = lanes}
end

return timeline
