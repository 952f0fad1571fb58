--- Makes the braille characters of a picture. Each character consists of two by four dots on a background. All dots of a character
--- have one colour, which is the colour of the dot that contrasts most with the background.
local characters = {}

characters.BY = 6 -- pixels per dot in the bitmap, in both directions
characters.ENOUGH = 5 -- a dot is set if at least this many of its pixels are drawn

local BY, ENOUGH = characters.BY, characters.ENOUGH

-- ---- colours

local WHITE, BLACK = {red = 1, green = 1, blue = 1}, {red = 0, green = 0, blue = 0}

local function indexed(c)
  local function level(v) return (v * 5 + 0.5) // 1 | 0 end
  return 16 + 36 * level(c.red) + 6 * level(c.green) + level(c.blue)
end

local function code(c, ground, full)
  if not full then return ("%d;5;%d"):format(ground and 48 or 38, indexed(c)) end
  return ("%d;2;%d;%d;%d"):format(ground and 48 or 38, c.red * 255 // 1, c.green * 255 // 1, c.blue * 255 // 1)
end

function characters.is_grey(c) return math.max(c.red, c.green, c.blue) - math.min(c.red, c.green, c.blue) < 0.06 end

-- Returns the escape sequence for a colour. On the terminal's own background, black becomes the terminal's text colour, and grey
-- becomes the terminal's grey. On a coloured background, black and grey keep their own colours.
local function escape(c, ground, full)
  if ground then return ("\27[%s;%sm"):format(code(c, false, full), code(ground, true, full)) end
  if not characters.is_grey(c) then return ("\27[%s;49m"):format(code(c, false, full)) end
  return c.red < 0.3 and "\27[39;49m" or "\27[90;49m"
end

--- Returns a function(c, ground), and the escape sequence that resets all colours. The function returns the escape sequence for the
--- colour `c` on the background `ground`, or on the terminal's background if `ground` is nil. All sequences are empty if colours
--- are disabled.
function characters.palette()
  local colour = (os.getenv "NO_COLOR" or "") == "" and os.getenv "TERM" ~= "dumb"
  if not colour then return function() return "" end, "" end
  local full = (os.getenv "COLORTERM" or ""):find "truecolor" or (os.getenv "COLORTERM" or ""):find "24bit"
  return function(c, ground) return escape(c, ground, full) end, "\27[39;49m"
end

local function distance(a, b)
  return math.max(math.abs(a.red - b.red), math.abs(a.green - b.green), math.abs(a.blue - b.blue))
end

local function light(c) return 0.3 * c.red + 0.6 * c.green + 0.1 * c.blue end

-- ---- cells

local BITS = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}} -- by row and column of the dot
local PIXELS = BY * BY
-- The least fraction of a cell that one colour must fill to become the cell's background: FILLED for a cell with dots, HALF_FILLED
-- for a cell with words.
local FILLED, HALF_FILLED = 0.55, 0.3
local ALIKE, OTHER = 0.1, 0.2 -- colours nearer than ALIKE count as equal; colours farther than OTHER from the background are drawn

-- Calls f(dot, bit) for the eight dots of a cell; empty dots are nil.
local function each_dot(dots, column, row, f)
  for dy = 1, 4 do
    local line = dots[row * 4 + dy - 1] or {}
    for dx = 1, 2 do f(line[column * 2 + dx - 1], BITS[dy][dx]) end
  end
end

-- Returns the most frequent colour of a cell if it fills at least the fraction `part` of the cell; otherwise nil.
local function ground_of(dots, column, row, part)
  local count, most = {}, nil
  each_dot(dots, column, row, function(dot)
    for c, n in pairs(dot and dot.of or {}) do
      count[c] = (count[c] or 0) + n
      if not most or count[c] > count[most] then most = c end
    end
  end)
  local filled = 0
  for c, n in pairs(count) do if distance(c, most) < ALIKE then filled = filled + n end end
  return filled >= part * 8 * PIXELS and most or nil
end

-- Returns a cell with a coloured background. Every dot that differs from the background is drawn, also a white dot.
local function drawn_on(ground, dots, column, row)
  local bits, best, far = 0, nil, 0
  each_dot(dots, column, row, function(dot, bit)
    local white, other = PIXELS - (dot and dot.n or 0), 0
    for c, n in pairs(dot and dot.of or {}) do
      local d = distance(c, ground)
      if d > OTHER then
        other = other + n
        if d > far then best, far = c, d end
      end
    end
    if other >= ENOUGH or white > PIXELS / 2 then bits = bits | bit end
  end)
  return {text = bits > 0 and utf8.char(0x2800 + bits) or " ", colour = best or WHITE, ground = ground}
end

local PALER = 0.4 -- a dot is not drawn if its contrast is lower than this fraction of the cell's highest contrast

local function contrast(c) return 1 - math.min(c.red, c.green, c.blue) end

-- Returns a cell on the terminal's background, in the colour of its dot with the highest contrast. Returns nil if it has no dots.
local function drawn_plain(dots, column, row)
  local best, most = nil, 0
  each_dot(dots, column, row, function(dot)
    if dot and dot.n >= ENOUGH then
      most = math.max(most, contrast(dot.colour))
      if not best or dot.colour.value > best.value then best = dot.colour end
    end
  end)
  local bits = 0
  each_dot(dots, column, row, function(dot, bit)
    if dot and dot.n >= ENOUGH and contrast(dot.colour) >= PALER * most then bits = bits | bit end
  end)
  if bits > 0 then return {text = utf8.char(0x2800 + bits), colour = best} end
end

--- Returns a cell of the picture, {text, colour, ground}, or nil if it is empty.
function characters.at(dots, column, row, coloured)
  local ground = coloured and ground_of(dots, column, row, FILLED)
  if ground then return drawn_on(ground, dots, column, row) end
  return drawn_plain(dots, column, row)
end

--- Writes a character. On a coloured background, a grey character becomes black or white, so that it is readable.
function characters.put(grid, row, column, text, colour, ground)
  if ground and characters.is_grey(colour) then colour = light(ground) > 0.45 and BLACK or WHITE end
  grid[row] = grid[row] or {}
  grid[row][column] = {text = text, colour = colour, ground = ground}
end

--- Returns the background of a word: a colour that at least half of the word's cells have as background, or nil.
function characters.ground_under(dots, row, from, n)
  local count, most = {}, nil
  for column = from, from + n - 1 do
    local c = ground_of(dots, column, row, HALF_FILLED)
    if c then count[c] = (count[c] or 0) + 1 end
    if c and (not most or count[c] > count[most]) then most = c end
  end
  return most and count[most] >= n / 2 and most or nil
end

return characters
