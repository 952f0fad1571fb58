--- Draws the two conflicting instances of a refused step among their neighbours. One grid shows the order before the step, and
--- another grid shows the order after the step. The arrow goes from the instance that must come first to the instance that depends
--- on it.
local figure = require "nestwright.plots.figure"
local fit = require "nestwright.plots.fit"
local grid = require "nestwright.plots.grid"
local instances = require "nestwright.language.instances"
local order = require "nestwright.plots.order"
local plot = require "nestwright.plots.plot"

local refusal = {}

local LEFT, BETWEEN, HEAD, LINE = 90, 100, 70, 20 -- pixels: the spaces left of, between and above grids; the height of a line
local WIDTH, HEIGHT = 380, 340 -- pixels: the largest size of a grid
local SIZE, HEADING = 11, 12 -- pixels: the sizes of the fonts of words and of headings
local TITLE, WHY = 350, 750 -- pixels: the largest widths of a grid's title, and of a line of the reason

-- The shapes and colours of the two instances.
local MARKS = {source = {sign = "●", pt = 7, colour = figure.colour.blue}, sink = {sign = "■", pt = 5, colour = figure.colour.red}}

-- ---- the picture of a program

local function view_of(part)
  local view, shown = {stage = part.stage.name, axes = part.stage.axes, shown = {}, fixed = {}}, part.shown
  for n, axis in ipairs(shown) do
    view.shown[n] = grid.axis(axis.name, part.values[axis.name], axis.lo, axis.lo + axis.extent - 1)
  end
  for n, fixed in ipairs(part.fixed) do view.fixed[n] = {name = fixed.name, value = fixed.values} end
  view.rows = #shown == 2 and view.shown[1] or grid.NONE
  view.columns = view.shown[#shown] or grid.NONE
  return view
end

local function of_stage(list, name)
  local out = {}
  for _, visit in ipairs(list) do if visit.stage == name then out[#out + 1] = visit end end
  return out
end

-- Returns the marks of the two instances. Two marks in one cell are drawn side by side.
local function marks_of(view, program, part)
  local out, at = {}, {}
  for _, x in ipairs(part.found) do
    if program[x.which] then
      local cell = order.cell(view, program[x.which])
      out[#out + 1] = {x = cell[1], y = cell[2], which = x.which}
      at[#out] = cell[1] .. " " .. cell[2]
    end
  end
  if at[1] == at[2] and #out == 2 then out[1].x, out[2].x = out[1].x - 0.2, out[2].x + 0.2 end
  return out
end

local function shape(mark)
  local m = MARKS[mark.which]
  return {column = mark.x, row = mark.y, point = m.pt, colour = m.colour}
end

-- Places a grid with the visits of one stage. Returns the positions of the marks, in pixels.
local function place(f, part, program, left, top, cell)
  local view = view_of(part)
  local list, places, last = of_stage(program.list, part.stage.name), {}, order.last(program.list)
  if not program.stages[part.stage.name] then
    f:text(left, top + 20, part.stage.name .. " does not exist yet", {colour = figure.colour.grey})
    f.bottom = math.max(f.bottom, top + 40)
    return places
  end
  local visited, lanes, shapes = order.visited(view, list), order.lanes(view, list), {}
  local marks = marks_of(view, program, part)
  for n, mark in ipairs(marks) do shapes[n] = shape(mark) end
  local rect = grid.place(f, {left = left, top = top, cell = cell, rows = view.rows, columns = view.columns,
    fills = order.fills(visited, last, order.coloured(lanes)), lanes = lanes, marks = shapes,
    numbers = (order.numbers(visited, cell)), tiles = order.tiles(view, list), dashed = program.after})
  local bottom = rect.top + rect.height - cell * view.rows.n
  for _, mark in ipairs(marks) do
    places[mark.which] = {rect.left + (mark.x + 0.5) * cell, bottom + (mark.y + 0.5) * cell}
  end
  return places
end

-- Draws an arrow between the marks. The grid of the program before the step has no arrow if the program visits the sink first.
local function arrow(f, places, program)
  local a, b, broken = places.source, places.sink, program.after
  if not a or not b or not broken and program.sink.time < program.source.time then return end
  local dx, dy = b[1] - a[1], b[2] - a[2]
  local long = math.sqrt(dx * dx + dy * dy)
  if long < 26 then return end
  local ux, uy = dx / long * 11, dy / long * 11
  f:arrow(a[1] + ux, a[2] + uy, b[1] - ux, b[2] - uy, {bend = math.min(0.25, 20 / long), broken = broken, width = 2.4,
    colour = broken and figure.colour.red or figure.colour.blue})
end

-- ---- words

local function nth(n)
  local ending = n % 100 // 10 ~= 1 and ({"st", "nd", "rd"})[n % 10] or "th"
  return n .. ending
end

local function when(visit, sign)
  if not visit then return sign .. " not at all" end
  local whose = visit.thread:find "Idx" and " of " or " in iteration "
  return ("%s %s%s"):format(sign, nth(visit.time), visit.thread ~= "" and whose .. visit.thread or "")
end

-- Returns the effect of the step on the two instances, in words.
local function verdict(data, r)
  local a, b, now = data.refused.source, data.refused.sink, data.now
  if data.sink.outside then return ("%s is outside of the domain"):format(MARKS.sink.sign) end
  if not a or not b then return "" end
  if r.witness.loop then
    if r.primitive == "set_scope" then return ("each thread has its own %s"):format(r.tensor) end
    return a.stroke == b.stroke and "both at once, in one vector" or ("iterations of %s have no order"):format(r.witness.loop)
  elseif data.source.does == data.sink.does and a.stage == b.stage and a.at ~= b.at and instances.same(a.at, b.at) then
    return "the same instance runs twice, and both are counted"
  elseif now.source and now.sink and b.time < a.time and now.sink.time < now.source.time then
    return "both now use the same place"
  end
  return b.time < a.time and ("%s comes too early"):format(MARKS.sink.sign) or ""
end

local function told(program, found)
  local words = {}
  for n, x in ipairs(found) do words[n] = when(program[x.which], MARKS[x.which].sign) end
  return table.concat(words, ", ")
end

local function instance_text(x)
  local words = {}
  for n, axis in ipairs(x.axes) do words[n] = ("%s = %d"):format(axis.name, x.at[axis.name]) end
  return ("%s(%s)"):format(x.stage, table.concat(words, ", "))
end

-- Returns the access of an instance in words. If the instance writes another element that has the same address, the words name this
-- element.
local function does(x, r)
  local element = r.element or r.tensor or "an element"
  if x.does == "writes" and x.writes and r.element and x.writes ~= element then element = x.writes .. " (at the same address)" end
  return ("%s %s %s"):format(instance_text(x), x.does, element)
end

-- The roles of the two instances, by the kind of conflict.
local ROLES = {
  raw = {", must come first", ", needs it"}, war = {", must come first", ", overwrites it"},
  waw = {", comes first", ", overwrites it"}, reduction = {"", ""},
}

local function key_of(data, r)
  local entries, roles = {}, data.source and ROLES[r.kind] or {"", ""}
  for n, x in ipairs(data.source and {data.source, data.sink} or {data.sink}) do
    local mark = MARKS[x.which]
    entries[n] = {text = does(x, r) .. roles[n], pt = mark.pt, colour = mark.colour}
  end
  return entries
end

-- Returns the values of axes that are not shown: " at j = 0", or "".
local function fixed_text(part)
  local words = {}
  for n, fixed in ipairs(part.fixed) do words[n] = ("%s = %s"):format(fixed.name, table.concat(fixed.values, " and ")) end
  return #words > 0 and " at " .. table.concat(words, ", ") or ""
end

local function caption_of(data, r, found)
  local out = {r.message .. "."}
  if r.why then out[#out + 1] = r.why .. "." end
  for _, x in ipairs(found) do out[#out + 1] = ("%s: %s."):format(MARKS[x.which].sign, does(x, r)) end
  local what = verdict(data, r)
  out[#out + 1] = ("Positions among the visits shown. Now: %s. With the step: %s%s."):format(told(data.now, found),
    told(data.refused, found),
    what ~= "" and "; " .. what or "")
  return table.concat(out, " ")
end

-- ---- making

local function rows_of(data)
  local columns, rows = {"program", "order", "time", "thread", "stage", "loops", "instance", "conflict"}, {}
  for _, program in ipairs {data.now, data.refused} do
    for n, visit in ipairs(program.list) do
      local which = visit == program.source and "source" or visit == program.sink and "sink" or ""
      local at = {}
      for _, part in ipairs(data.parts) do
        if part.stage.name == visit.stage then at = {stage = visit.stage, axes = part.stage.axes, at = visit.at} end
      end
      rows[#rows + 1] = {program.after and "refused" or "now", n, visit.time, visit.thread, visit.stage, visit.loops,
        instance_text(at), which}
    end
  end
  return columns, rows
end

-- Returns the size of a cell, which is the same in all grids, so that they can be compared.
local function cell_of(data)
  local least = math.huge
  for _, part in ipairs(data.parts) do
    local view = view_of(part)
    least = math.min(least, grid.cell(view.rows, view.columns, WIDTH, HEIGHT // #data.parts))
  end
  return least
end

local function why(f, r)
  for _, line in ipairs(r.why and fit.folded(r.why, WHY, SIZE) or {}) do
    f:text(LEFT - 50, f.bottom + 4, line, {colour = "#444444"})
    f.bottom = f.bottom + LINE
  end
end

-- Draws a conflict in one stage: the order before the step on the left, and the refused order on the right.
local function side_by_side(f, data, r, found, cell)
  local part, left, bottom, flat = data.parts[1], LEFT, 0, #data.parts[1].shown == 1
  local top = f.bottom + HEAD
  local titles = {"now" .. fixed_text(part):gsub("^ ", ", "), fit.shortened("with " .. r.step, TITLE, HEADING)}
  for n, program in ipairs {data.now, data.refused} do
    f.right = left
    f:text(left, top - HEAD + 18, titles[n], {size = HEADING})
    arrow(f, place(f, part, program, left, top, cell), program)
    program.left = left
    local below = f.bottom + (flat and 52 or LINE)
    f:text(left, below, told(program, found))
    if n == 2 then f:text(left, below + LINE, verdict(data, r), {colour = figure.colour.red}) end
    bottom = math.max(bottom, below + LINE)
    left = math.max(left + 220, f.right) + BETWEEN
  end
  f.bottom = bottom + LINE
end

-- Draws a conflict between two stages. The stages are side by side. The order before the step is above the refused order.
local function above_each_other(f, data, r, found, cell)
  for n, program in ipairs {data.now, data.refused} do
    local top, places, left, flat = f.bottom + HEAD + LINE, {}, LEFT, false
    local what = n == 2 and verdict(data, r) or ""
    f:text(LEFT - 50, top - HEAD, (n == 1 and "now" or fit.shortened("with " .. r.step, 2 * TITLE, HEADING)), {size = HEADING})
    for _, part in ipairs(data.parts) do
      f:text(left - 50, top - 30, part.stage.name .. fixed_text(part))
      for which, at in pairs(place(f, part, program, left, top, cell)) do places[which] = at end
      left, flat = left + math.max(view_of(part).columns.n * cell, 150) + BETWEEN, flat or #part.shown == 1
    end
    arrow(f, places, program)
    f.bottom = f.bottom + (flat and 52 or LINE)
    f:text(LEFT, f.bottom, told(program, found))
    f:text(LEFT + fit.width(told(program, found), SIZE) + 10, f.bottom, what, {colour = figure.colour.red})
    f.bottom = f.bottom + LINE
  end
end

local TIMES = "Numbers give the order of the visits shown; later visits are darker. "
local ARROW = "The arrow goes from the instance that must come first to the one that depends on it; "
  .. "it is dashed if the step breaks this order."

--- Makes the picture. data: a result of conflict.of; r: the refusal.
function refusal.make(data, r, title)
  local found = data.source and {data.source, data.sink} or {data.sink}
  local cell, f = cell_of(data), figure.new {title = title}
  why(f, r)
  local draw = #data.parts == 1 and side_by_side or above_each_other
  draw(f, data, r, found, cell)
  f:fit(640)
  f:key(key_of(data, r))
  local script, size = f:finish(6, TIMES .. (data.source and ARROW or ""))
  local columns, rows = rows_of(data)
  return plot.new {caption = caption_of(data, r, found), script = script, size = size, columns = columns, rows = rows}
end

return refusal
