--- Draws accesses as pixels if there are too many for single marks. Each pixel shows the worst outcome of its accesses.
local core = require "nestwright.core"
local figure = require "nestwright.plots.figure"
local outcomes = require "nestwright.plots.outcomes"
local words = require "nestwright.plots.words"

local raster = {raster = true, columns = {"column", "row", "tensor", "pixel"}}

local WIDTH, HEIGHT = 860, 134 -- pixels of a lane

local PIXELS = {outcomes.READ, outcomes.colour.hit}
local NAMES = {"hit, read", "hit, written"}
for n, name in ipairs(outcomes.MISSES) do PIXELS[n + 2], NAMES[n + 2] = outcomes.colour[name], name .. " miss" end

local function colours_of(o)
  if not o.all then return PIXELS end
  local out = {}
  for n = 1, #PIXELS do out[n] = outcomes.found(n, #o.cache.levels) end
  return out
end

local function palette(o)
  local parts = {"0 '#FFFFFF'"}
  for n, c in ipairs(colours_of(o)) do parts[n + 1] = ("%d '%s'"):format(n, c) end
  return ("set palette maxcolors 6 defined (%s)\nset cbrange [-0.5:5.5]; unset colorbox"):format(table.concat(parts, ", "))
end

function raster.key(o)
  local out, colours = {}, colours_of(o)
  if not o.all then
    for n, name in ipairs(NAMES) do out[n] = {text = name, pt = 5, colour = colours[n], letter = n} end
    return out
  end
  for n = 1, #o.cache.levels + 1 do
    out[n] = {text = n > #o.cache.levels and "memory" or "found in L" .. n, pt = 5, colour = colours[n],
      letter = n}
  end
  return out
end

-- Makes misses two pixels wide, because a single pixel would hardly be visible. The pixel after a miss also shows the miss, if it
-- would otherwise show a hit or be empty.
local function widened(lines, o)
  local pattern = o.all and "([2-9]) [01] " or "([3-9]) [0-2] "
  for n, line in ipairs(lines) do lines[n] = line:gsub(pattern, "%1 %1 ") end
  return lines
end

-- Returns the plotted items of a lane. The image has as many pixels as the picture, so that no pixel is lost when the image is
-- drawn.
local function parts_of(t, time, o)
  return function(f, pixels)
    local width = math.max(2, math.min(WIDTH, math.floor(pixels.width * time / pixels.time)))
    local height = pixels.height * (t.to - t.from) / (pixels.range.to - pixels.range.from)
    height = math.max(2, math.min(HEIGHT, math.floor(height)))
    local lines = widened(core.pixels(t.rows, width, height), o)
    local dx, dy = time / width, (t.to - t.from) / height
    local x, y = ("($1 + 0.5)*%.9g - 0.5"):format(dx), ("%d + ($2 + 0.5)*%.9g"):format(t.from, dy)
    local data, kinds = f:data(lines, "pixels"), {}
    for n = 1, #PIXELS do kinds[n] = {test = "$3 == " .. n, letter = n} end
    return {("%s matrix using (%s):(%s):3 with image notitle"):format(data, x, y)}, palette(o), figure.letters(data, x, y, kinds)
  end
end

-- Adds the pixels of one lane to the rows of data.
local function add_rows(rows, t)
  for y, row in ipairs(t.rows) do
    for x = 1, #row do
      if row:byte(x) > 0 then rows[#rows + 1] = {x - 1, y - 1, t.tensor, row:byte(x)} end
    end
  end
end

--- Returns {time, lanes, iterations, curve, rows} of a run (the execution by one thread).
function raster.run(s, walk, o)
  local r = core.raster(s, walk, o.cache, o.all and 0 or o.level, o.y, WIDTH, HEIGHT)
  local lanes, rows, curve = {}, {}, {}
  for n, t in ipairs(r.lanes) do
    add_rows(rows, t)
    lanes[n] = {name = t.tensor, address = n, from = t.from, to = t.to, accesses = t.accesses, parts = parts_of(t, r.time, o),
      said = ("L%d: %s"):format(o.level, words.misses(t))}
  end
  for n, bytes in ipairs(r.touched) do curve[n] = ("%.9g %d"):format(n * r.time / WIDTH, bytes) end
  curve.most = r.touched[#r.touched]
  return {time = r.time, lanes = lanes, iterations = r.iterations, curve = curve, rows = rows}
end

return raster
