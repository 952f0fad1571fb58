--- Draws accesses as single marks of the space-time diagram.
local core = require "nestwright.core"
local figure = require "nestwright.plots.figure"
local outcomes = require "nestwright.plots.outcomes"
local words = require "nestwright.plots.words"

local marks = {columns = {"time", "tensor", "index", "lanes", "access", "address", "outcome"}}

local MOST = 3000
local colour = figure.colour

-- Shapes are readable without colour: an open shape is a read, a filled shape is a write.
local OUTCOMES = {
  {name = "hit", read = 6, write = 7, size = 0.4},
  {name = "cold", read = 8, write = 9, size = 0.7},
  {name = "capacity", read = 4, write = 5, size = 0.6},
  {name = "conflict", read = 12, write = 13, size = 0.75},
}
for _, kind in ipairs(OUTCOMES) do kind.colour = outcomes.colour[kind.name] end

-- These marks are used if all cache levels are shown. A mark stands for the level in which the data was found. The first entry is
-- for L1, the second for L2, and so on; the last entry is for memory.
local FOUND = {
  {read = 6, write = 7, size = 0.4},
  {read = 8, write = 9, size = 0.7},
  {read = 4, write = 5, size = 0.6},
  {read = 10, write = 11, size = 0.7},
  {read = 12, write = 13, size = 0.75},
}

local function found(n, levels)
  local kind = n > levels and FOUND[#FOUND] or FOUND[n]
  return {name = n > levels and "memory" or "L" .. n, colour = outcomes.found(n, levels), read = kind.read, write = kind.write,
    size = kind.size}
end

local function kinds_of(o)
  if not o.all then return OUTCOMES end
  local out = {}
  for n = 1, #o.cache.levels + 1 do out[n] = found(n, #o.cache.levels) end
  return out
end

-- Returns the kind of an access, as an index into kinds_of(o).
local function kind_of(at, o)
  if o.all then
    local n = 1
    while n <= #o.cache.levels and at.outcome[n] ~= "hit" do n = n + 1 end
    return n
  end
  for n, outcome in ipairs(OUTCOMES) do
    if outcome.name == at.outcome[o.level] then return n end
  end
end

--- Returns the meaning of the shapes, for the key.
function marks.key(o)
  local out = {}
  for _, kind in ipairs(kinds_of(o)) do
    out[#out + 1] = {text = kind.name .. ", read", pt = kind.read, colour = kind.colour}
    out[#out + 1] = {text = "written", pt = kind.write, colour = kind.colour}
  end
  return out
end

-- ---- what is plotted

-- Returns the first and the last cache line that an access covers.
local function lines_of(at, width, line)
  return at.address // line, (at.address + at.lanes * width - 1) // line
end

-- For each kind of y axis, a function returns the positions of the marks of one access: the first, the last, and the step between
-- marks.
local PLACES = {
  index = function(at) return at.index, at.index + at.lanes - 1, 1 end,
  address = function(at, width) return at.address, at.address + (at.lanes - 1) * width, width end,
  line = function(at, width, o)
    local first, last = lines_of(at, width, o.cache.line)
    return first, last, 1
  end,
  set = function(at, width, o)
    local first, last = lines_of(at, width, o.cache.line)
    return first % o.sets, first % o.sets + (last - first), 1
  end,
}

local PLURAL = {index = "elements", address = "addresses", line = "lines", set = "sets"}
local SINGULAR = {index = "element", address = "address", line = "line", set = "set"}

local function lane_new(at, widths)
  return {name = at.tensor, address = at.address, width = widths[at.tensor] or 4, accesses = 0, from = math.huge, to = -math.huge,
    series = {}, spans = {}, counts = {}, touched = {}, distinct = 0}
end

-- Adds an access to the lane of its tensor, which is a strip of the picture. An access to several elements is a line with a mark at
-- each element.
local function put(lane, n, at, o)
  local from, to, step = PLACES[o.y](at, lane.width, o)
  local key = kind_of(at, o) * 2 + (at.write and 1 or 0)
  local series = lane.series[key] or {}
  lane.series[key] = series
  for y = from, to, step do
    series[#series + 1] = ("%d %d"):format(n, y)
    if not lane.touched[y] then lane.touched[y], lane.distinct = true, lane.distinct + 1 end
  end
  if to > from then lane.spans[#lane.spans + 1] = ("%d %d %d"):format(n, from, to - from) end
  lane.address, lane.accesses = math.min(lane.address, at.address), lane.accesses + 1
  lane.from, lane.to = math.min(lane.from, from), math.max(lane.to, to)
  local outcome = at.outcome[o.level]
  lane.counts[outcome] = (lane.counts[outcome] or 0) + 1
end

local function parts_of(lane, o)
  return function(f)
    local parts = {}
    if #lane.spans > 0 then
      parts[1] = ("%s using 1:2:(0):3 with vectors nohead lc rgb '%s' notitle"):format(f:data(lane.spans, "lanes"), colour.pale)
    end
    for n, kind in ipairs(kinds_of(o)) do
      for write = 0, 1 do
        local series = lane.series[2 * n + write]
        if series then
          parts[#parts + 1] = ("%s using 1:2 with points pt %d ps %g lc rgb '%s' notitle"):format(f:data(series, "marks"),
            write == 1 and kind.write or kind.read, kind.size, kind.colour)
        end
      end
    end
    return parts
  end
end

-- ---- a run

-- Returns a curve that has, for each access, the total bytes of the different lines that were accessed up to then.
local function footprint(list, widths, line)
  local curve, seen, total = {}, {}, 0
  for n, at in ipairs(list) do
    local first, last = lines_of(at, widths[at.tensor] or 4, line)
    for l = first, last do
      if not seen[l] then seen[l], total = true, total + line end
    end
    curve[n] = ("%d %d"):format(n - 1, total)
  end
  curve.most = total
  return curve
end

-- Returns the outcome of an access as text, at the shown level or at all levels.
local function outcome_text(at, o)
  return o.all and table.concat(at.outcome, "/", 1, #o.cache.levels) or at.outcome[o.level]
end

local function close_lane(lane, o)
  local pad = math.max((lane.to - lane.from) * 0.06, 0.6)
  lane.from, lane.to = lane.from - pad, lane.to + pad
  lane.said = ("L%d: %s"):format(o.level, words.misses(lane.counts))
  lane.distinct = (" to %d %s"):format(lane.distinct, (lane.distinct == 1 and SINGULAR or PLURAL)[o.y])
  lane.parts = parts_of(lane, o)
end

--- Returns {time, lanes, iterations, curve, rows} of a run (the execution by one thread), or nil if it has too many accesses.
function marks.run(s, walk, o)
  local few, accesses = pcall(core.accesses_walked, s, walk, MOST, o.cache)
  if not few then
    if accesses.code ~= "limit" then error(accesses, 0) end
    return nil
  end
  local widths, list, lanes, at_name, rows = core.element_bytes(s, walk.version), {}, {}, {}, {}
  for n = 1, #accesses do
    local at = accesses:at(n)
    local lane = at_name[at.tensor]
    if not lane then
      lane = lane_new(at, widths)
      at_name[at.tensor], lanes[#lanes + 1] = lane, lane
    end
    put(lane, n - 1, at, o)
    list[n] = at
    rows[n] = {n - 1, at.tensor, at.index, at.lanes, at.write and "write" or "read", at.address, outcome_text(at, o)}
  end
  for _, lane in ipairs(lanes) do close_lane(lane, o) end
  table.sort(lanes, function(a, b) return a.address < b.address end)
  return {time = #list, lanes = lanes, iterations = accesses:iterations(), rows = rows,
    curve = footprint(list, widths, o.cache.line)}
end

return marks
