--- Draws the timeline (Gantt chart). It has one lane per thread or stage of a pipeline, one bar per activity, and arrows for
--- dependences. A lane is idle where it has no bar.
local axis = require "nestwright.plots.axis"
local bars = require "nestwright.plots.bars"
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local figure = require "nestwright.plots.figure"
local fit = require "nestwright.plots.fit"
local gnuplot = require "nestwright.plots.gnuplot"
local plot = require "nestwright.plots.plot"
local written = require "nestwright.show.written"

local timeline = {}

local MOST_LANES, MOST_BARS, MOST_LABELS, MOST_ARROWS = 100, 20000, 150, 500
local RIGHT, WIDTH, HEAD = 885, 1000, 20 -- pixels
local TALLEST, LOWEST = 36, 13 -- pixels: maximum and minimum height of a lane
local ROOM = 560 -- pixels: maximum height of all lanes together
local COLUMN = 5 -- pixels: minimum width of a column, which is drawn in place of bars that are too narrow to distinguish
local FAR = 1000 -- times are drawn relative to the start of the shown span if |start| > FAR * (length of the span)
local NAME = 26 -- maximum number of characters of a lane's name
local SIZE, SMALL, LEAST = 11, 10, 8 -- pixels: sizes of the fonts of lanes' names, of labels on bars, and of names of low lanes
local NARROW = " Where bars are too narrow to distinguish, their height shows how much of the time they fill."
local colour = figure.colour

-- Fills are distinguishable without colour, by density and pattern. After eight kinds, the fills repeat in other colours.
local KINDS = {
  {colour = colour.blue, fill = "solid 0.5"}, {colour = colour.orange, fill = "pattern 4"},
  {colour = colour.green, fill = "solid 0.2"}, {colour = colour.red, fill = "pattern 2"},
  {colour = colour.pink, fill = "pattern 5"}, {colour = colour.black, fill = "solid 0.75"},
  {colour = colour.sky, fill = "pattern 1"}, {colour = colour.grey, fill = "pattern 6"},
}
local DISTURBED = {text = "disturbed by other work", fill = "pattern 1", colour = colour.red}

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

-- Returns the lanes that the option `lanes` names, in its order. They are drawn above all other lanes. Also returns a table from
-- names to lanes.
local function lanes_asked(names)
  local lanes, at = {}, {}
  for n, name in ipairs(names and errors.expect("timeline: lanes", names, "table") or {}) do
    if type(name) ~= "string" then fail("lanes: name %d: expected a string, got %s", n, core.type_name(name)) end
    if at[name] then fail("lanes: %s is named twice", name) end
    lanes[n] = {name = name, bars = {}}
    at[name] = lanes[n]
  end
  return lanes, at
end

local function read_all(records, names)
  if #errors.expect("timeline: records", records, "table") == 0 then
    fail "there are no records: {{lane = \"thread 0\", from = 0, to = 1.5}, ...}"
  end
  local list, lanes, at = {}, lanes_asked(names)
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
    errors.fail("limit", "draw fewer lanes", "timeline: %d lanes are too many: at most %d can be distinguished", #lanes, MOST_LANES)
  end
  return list, lanes
end

-- Reads the arrows. The ends of an arrow are records, or their numbers in the list.
local function read_arrows(list, arrows)
  local of, out = {}, {}
  for _, r in ipairs(list) do of[r.given], of[r.n] = r, r end
  for n, a in ipairs(arrows and errors.expect("timeline: arrows", arrows, "table") or {}) do
    local ends = type(a) == "table" and {from = of[a.from], to = of[a.to]} or {}
    if not (ends.from and ends.to) then fail("arrow %d: from and to must be records, or their numbers from 1 to %d", n, #list) end
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

-- Sets the busy time of a lane, which is the time that at least one bar covers. Puts overlapping bars into different rows of the
-- lane.
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

-- Returns the start and the end of the shown time. The third result is false if all times are equal. Then a short time span is
-- drawn.
local function span_of(list, o)
  local from, to = math.huge, -math.huge
  for _, r in ipairs(list) do from, to = math.min(from, r.from), math.max(to, r.to) end
  from, to = math.min(from, o.from or from), math.max(to, o.to or to)
  if to > from then return from, to, true end
  return from, from + math.max(1, 1e-6 * math.abs(from)), false
end

-- If times differ only in their last digits, subtracts the start of the time span from the times of all records, and returns this
-- start. Otherwise, returns 0.
local function origin_of(list, from, to)
  if math.abs(from) <= FAR * (to - from) then return 0 end
  for _, r in ipairs(list) do r.from, r.to = r.from - from, r.to - from end
  return from
end

-- ---- words

local function clean(text, most) return written.shortened(text:gsub("%c", " "), most) end

local function percent(share)
  if not share then return "–" end
  local p = 100 * share
  return p > 0 and p < 0.95 and ("%.1f %%"):format(p) or ("%.0f %%"):format(p)
end

local function amount(v, unit)
  if unit == "s" then return v == 0 and "0" or (v < 0 and "-" or "") .. written.seconds(math.abs(v)) end
  return ("%.6g %s"):format(v, unit)
end

local function plural(n, what) return ("%d %s%s"):format(n, what, n == 1 and "" or "s") end

-- Returns the idle time of all lanes, and of the lanes with the least and the most idle time, in words.
local function idle_text(lanes, whole, o)
  local least, most = lanes[1], lanes[1]
  for _, lane in ipairs(lanes) do
    if (lane.idle or 0) < (least.idle or 0) then least = lane end
    if (lane.idle or 0) > (most.idle or 0) then most = lane end
  end
  local text = ("%s %s idle"):format(o.idle and o.idle.within or "overall", percent(whole))
  if least == most then return text end
  return ("%s: least in %s (%s), most in %s (%s)"):format(text, least.name, percent(least.idle), most.name, percent(most.idle))
end

local function arrows_text(arrows)
  local back = 0
  for _, a in ipairs(arrows) do if a.back then back = back + 1 end end
  local text = plural(#arrows, "arrow") .. " from a result to the record that needs it"
  return back == 0 and text or ("%s; %d point back in time: the result does not exist yet (dashed)"):format(text, back)
end

local function kinds_text(kinds)
  local more = #kinds <= #KINDS * #KINDS and "kinds with the same filling differ in colour" or "some look alike: merge kinds"
  return (" %d kinds have %d fillings: %s."):format(#kinds, #KINDS, more)
end

local function caption_of(x, lanes, arrows, o)
  local out = {plural(#lanes, "lane")}
  if x.long then
    out[1] = ("%s over %s; %s"):format(out[1], amount(x.to - x.from, x.unit), idle_text(lanes, x.idle, o))
  else
    out[1] = ("%s, all at %s: no time passes, so there is no idle time"):format(out[1], amount(x.from + x.origin, x.unit))
  end
  if #arrows > 0 then out[2] = arrows_text(arrows) end
  return table.concat(out, "\n")
end

-- ---- bars

-- Returns the kinds of the records, in the order of their first start.
local function kinds_of(list)
  local kinds, at, ordered = {}, {}, table.move(list, 1, #list, 1, {})
  table.sort(ordered, by_begin)
  for _, r in ipairs(ordered) do
    local name = r.kind or ""
    if not at[name] then
      local n, fill = #kinds, KINDS[#kinds % #KINDS + 1].fill
      kinds[n + 1] = {name = name, fill = fill, hatched = fill:find "pattern" ~= nil, boxes = {}, columns = {},
        colour = KINDS[(n + n // #KINDS) % #KINDS + 1].colour}
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

-- Adds the boxes of all lanes to their kinds. Returns the labels, and true if some bars are too narrow to distinguish. A label
-- gets a box if its bar is hatched.
local function fill_boxes(lanes, kinds, at, pixel, disturbed)
  local column, labels, narrow = pixel * math.max(COLUMN, 2 * WIDTH * #lanes * #kinds / MOST_BARS), {}, false
  for _, lane in ipairs(lanes) do
    for _, b in ipairs(bars.boxes(lane.bars, kinds, pixel, column)) do
      local kind, bottom, top = at[b.kind], bottom_and_top(lane, b.row)
      local low, high = bottom + b.low * (top - bottom), bottom + b.high * (top - bottom)
      table.insert(b.bar and kind.boxes or kind.columns, {(b.from + b.to) / 2, (low + high) / 2, b.from, b.to, low, high})
      narrow = narrow or not b.bar
      if b.bar and b.bar.label then
        labels[#labels + 1] = {bar = b, y = (low + high) / 2, rows = lane.rows, boxed = kind.hatched or disturbed}
      end
    end
  end
  return labels, narrow
end

-- Returns the plotted boxes. Columns (bars.lua) have no border, because they are adjacent, and a border would enlarge them. If
-- other work disturbed the measurement, all boxes are hatched too.
local function box_parts(f, kinds, disturbed)
  local parts, total = {}, 0
  for _, kind in ipairs(kinds) do
    local edge = ("border lc rgb '%s'"):format(kind.colour)
    for _, x in ipairs {{kind.boxes, "bars", edge}, {kind.columns, "columns", "noborder"}} do
      total = total + #x[1]
      if #x[1] > 0 then
        local data, style = f:data(x[1], x[2]), "%s using 1:2:3:4:5:6 with boxxyerror fillstyle %s %s fc rgb '%s' notitle"
        parts[#parts + 1] = style:format(data, kind.fill, x[3], kind.colour)
        if disturbed then
          parts[#parts + 1] = style:format(data, "transparent " .. DISTURBED.fill, "noborder", DISTURBED.colour)
        end
      end
    end
  end
  if total > MOST_BARS then
    errors.fail("limit", "show a part of the time, or fewer lanes", "timeline: %d bars are too many: at most %d are drawn", total,
      MOST_BARS)
  end
  return parts
end

-- ---- the panel

local function lane_commands(lanes, from, to, ends)
  local out = {}
  local ground = ("behind fillcolor rgb '%s' fillstyle solid 1 border lc rgb '%s'"):format(colour.faint, colour.pale)
  for n, lane in ipairs(lanes) do
    local last = ends and ends[lane.name] or to
    out[n] = ("set object rectangle from %.9g,%.9g to %.9g,%.9g %s"):format(from, lane.y - 0.38, last, lane.y + 0.38, ground)
  end
  return out
end

-- Adds the labels that fit, or none if the labels would cover most of the picture.
local function label_commands(labels, left, from, to, height, out)
  local fitting = {}
  for _, l in ipairs(labels) do
    local pixels = (l.bar.to - l.bar.from) / (to - from) * (RIGHT - left)
    local label = clean(l.bar.bar.label, 60)
    if pixels > fit.width(label, SMALL) + 6 and height / l.rows > 11 then
      fitting[#fitting + 1] = ("set label %s at %.9g,%.9g center noenhanced front font ',%d'%s"):format(gnuplot.quote(label),
        (l.bar.from + l.bar.to) / 2, l.y, SMALL, l.boxed and " boxed" or "")
    end
  end
  if #fitting <= MOST_LABELS then table.move(fitting, 1, #fitting, #out + 1, out) end
end

local function arrow_commands(arrows, out)
  if #arrows > MOST_ARROWS then
    errors.fail("limit", "show a part of the time", "timeline: %d arrows are too many: at most %d are drawn", #arrows, MOST_ARROWS)
  end
  for _, a in ipairs(arrows) do
    local down = a.from.y > a.to.y and 1 or a.from.y < a.to.y and -1 or 0
    local style = ("lc rgb '%s' dt %d"):format(a.back and colour.red or colour.black, a.back and 2 or 1)
    out[#out + 1] = ("set arrow from %.9g,%.9g to %.9g,%.9g front head filled size screen 0.008,20 lw 1.3 %s"):format(a.from.to,
      a.from.y - 0.3 * down, a.to.from, a.to.y + 0.3 * down, style)
  end
end

-- Adds vertical lines across some lanes.
local function mark_commands(marks, lanes, out)
  for _, m in ipairs(marks or {}) do
    out[#out + 1] = ("set arrow from %.9g,%.9g to %.9g,%.9g nohead front lw 2 lc rgb '%s'"):format(m.at,
      lanes[m.first].y + 0.45, m.at, lanes[m.last].y - 0.45, colour.black)
  end
end

local function left_of(lanes, most)
  local names = {}
  for n, lane in ipairs(lanes) do names[n] = clean(lane.name, most) end
  return 30 + math.ceil(fit.widest(names, SIZE))
end

local function write_sides(f, lanes, left, height, characters)
  local most = 0
  for _, lane in ipairs(lanes) do most = math.max(most, lane.y) end
  f:text(RIGHT + 12, f.bottom + HEAD - 12, "idle", {size = SMALL, colour = colour.grey})
  for _, lane in ipairs(lanes) do
    local y = f.bottom + HEAD + (most - lane.y + 0.5) * height
    f:text(left - 8, y, clean(lane.name, characters), {align = "right", size = height < 15 and LEAST or SIZE})
    f:text(RIGHT + 12, y, percent(lane.idle), {size = height < 15 and LEAST or SIZE})
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

-- Sets the idle time of each lane and of all lanes. It is the time without a bar, or the measured idle time.
local function count_idle(lanes, x, o)
  for _, lane in ipairs(lanes) do
    settle(lane)
    local last = o.ends and o.ends[lane.name] or x.to
    lane.idle = x.long and last > x.from and math.max(0, 1 - lane.busy / (last - x.from)) or nil
    if o.idle then lane.idle = o.idle.lanes[lane.name] end
    x.idle = x.idle + (lane.idle or 0) / #lanes
  end
  if o.idle then x.idle = o.idle.whole end
end

local function key_of(kinds, disturbed)
  local entries = {}
  for n, kind in ipairs(kinds) do
    entries[n] = {text = kind.name == "" and "other" or clean(kind.name, 40), fill = kind.fill, colour = kind.colour}
  end
  if #kinds == 1 and kinds[1].name == "" then entries = {} end
  if disturbed then entries[#entries + 1] = DISTURBED end
  return entries
end

--- Makes the picture. Each of `records` is {lane, from, to, label, kind}. The fields of o:
---   title, small: the title, and the text at the foot
---   arrows: a list of {from, to}
---   unit: the unit of time, "s" by default
---   lanes: the names of lanes
---   from, to: the time span that is shown
---   marks: vertical lines, each {at (a time), first and last (numbers of lanes)}
---   names: the most characters of a lane's name
---   ends: for lanes that end before the others: the time, by the name of the lane
---   disturbed: true if other work disturbed the measurement; the bars are then hatched
---   idle: the measured idle time, as shares. Its fields:
---     whole: the share for all lanes together
---     lanes: the share for each lane, by name
---     within: words that are put before `whole` in the caption, such as "in parallel loops threads are"
function timeline.make(records, o)
  local list, lanes = read_all(records, o.lanes)
  local arrows, x = read_arrows(list, o.arrows), {unit = o.unit or "s", idle = 0}
  x.from, x.to, x.long = span_of(list, o)
  x.origin = origin_of(list, x.from, x.to)
  x.from, x.to = x.from - x.origin, x.to - x.origin
  count_idle(lanes, x, o)
  place(list, lanes)
  local f = figure.new {title = o.title or "activity over time", width = WIDTH}
  local characters = o.names or NAME
  local height, left = math.max(LOWEST, math.min(TALLEST, ROOM // #lanes)), left_of(lanes, characters)
  local kinds, at = kinds_of(list)
  local labels, narrow = fill_boxes(lanes, kinds, at, (x.to - x.from) / (RIGHT - left), o.disturbed)
  local commands = lane_commands(lanes, x.from, x.to, o.ends)
  commands[#commands + 1] = ("set border 1; unset ytics; set yrange [-0.5:%g]; set xtics nomirror out"):format(#lanes - 0.5)
  commands[#commands + 1] = axis_commands(x.from, x.to, x.unit, x.origin)
  label_commands(labels, left, x.from, x.to, height, commands)
  arrow_commands(arrows, commands)
  mark_commands(o.marks, lanes, commands)
  write_sides(f, lanes, left, height, characters)
  f:panel({left = left, right = RIGHT, top = f.bottom + HEAD, height = height * #lanes}, commands, box_parts(f, kinds, o.disturbed))
  f:key(key_of(kinds, o.disturbed))
  local small = (o.small or "A lane is idle where it has no bar.") .. (narrow and NARROW or "")
    .. (#kinds > #KINDS and kinds_text(kinds) or "")
  local script, size = f:finish(figure.AXIS, small)
  return plot.new {caption = caption_of(x, lanes, arrows, o) .. "\n" .. small, script = script, size = size,
    columns = {"lane", "from", "to", "label", "kind"}, rows = columns_of(list), idle = lanes}
end

return timeline
