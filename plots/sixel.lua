--- Decodes sixels, which gnuplot's sixelgd draws, into a bitmap of coloured dots.
local sixel = {}

local SIX = 6 -- rows of pixels that one character of sixel data encodes

-- The visibility of a colour depends on its distance from the white background and on its saturation. A colour whose visibility is
-- below a limit is treated as background. The limit is higher for grey than for other colours.
local PALE, PALE_GREY = 0.1, 0.25

local function value_of(r, g, b)
  local least, most = math.min(r, g, b), math.max(r, g, b)
  if 1 - least < (most - least < 0.08 and PALE_GREY or PALE) then return nil end
  return (most - least) ^ 2 + 0.02 * (1 - least)
end

local function colours_of(data)
  local colours = {}
  for n, r, g, b in data:gmatch "#(%d+);2;(%d+);(%d+);(%d+)" do
    r, g, b = r / 100, g / 100, b / 100
    colours[n] = {red = r, green = g, blue = b, value = value_of(r, g, b)}
  end
  return colours
end

-- Calls paint(x, times, bits, colour) for each run of `times` equal columns of six pixels, and close(y) after each band of six
-- rows.
local function runs(data, colours, paint, close)
  local x, y, at, colour = 0, 0, 1, nil
  while at <= #data do
    local times, pattern, after = data:match("^!(%d+)([?-~])()", at)
    if not times then
      pattern, after = data:match("^([?-~])()", at)
      times = 1
    end
    if pattern then
      times, at = math.tointeger(times), after
      if pattern ~= "?" then paint(x, times, pattern:byte() - 63, colour) end
      x = x + times
    else
      local c = data:sub(at, at)
      local number, behind = data:match("^#(%d+)[;%d]*()", at)
      if number then colour = colours[number] end
      at = behind or at + 1
      if c == "$" or c == "-" then x = 0 end
      if c == "-" then
        close(y)
        y = y + SIX
      end
    end
  end
  close(y)
end

local function count(dots, x, y, colour)
  local row = dots[y]
  if not row then
    row = {}
    dots[y] = row
  end
  local dot = row[x]
  if not dot then
    row[x] = {n = 1, colour = colour, of = {[colour] = 1}}
    return
  end
  dot.n, dot.of[colour] = dot.n + 1, (dot.of[colour] or 0) + 1
  if colour.value > dot.colour.value then dot.colour = colour end
end

--- Reduces the bitmap by the factor `by` in both directions. Returns dots[y][x], where x and y start at 0. The fields of a dot:
---   n: the number of its drawn pixels, out of by*by pixels
---   colour: the most visible colour of these pixels
---   of: the number of these pixels by colour
function sixel.dots(data, by)
  local dots, lines = {}, {}
  for bit = 0, SIX - 1 do lines[bit] = {} end
  -- A pixel that is painted twice has the later colour.
  local function paint(x, times, bits, colour)
    for bit = 0, SIX - 1 do
      if bits >> bit & 1 == 1 then
        local line = lines[bit]
        for px = x, x + times - 1 do line[px] = colour end
      end
    end
  end
  local function close(y)
    for bit = 0, SIX - 1 do
      for px, colour in pairs(lines[bit]) do
        if colour.value then count(dots, px // by, (y + bit) // by, colour) end
      end
      lines[bit] = {}
    end
  end
  runs(data:match "\27P[^q]*q(.*)\27\\" or "", colours_of(data), paint, close)
  return dots
end

return sixel
