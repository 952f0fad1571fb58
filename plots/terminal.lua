--- Draws pictures on the terminal. Uses kitty's graphics or sixel if the terminal reports support for them. Otherwise uses braille
--- characters or, if they cannot be shown, plain characters.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local figure = require "nestwright.plots.figure"
local gnuplot = require "nestwright.plots.gnuplot"
local plot = require "nestwright.plots.plot"
local svg = require "nestwright.plots.svg"

local terminal = {}

-- ---- choice of the method

local WAYS = {"kitty", "sixel", "braille", "dumb", "none"}

local function env(name) return os.getenv(name) or "" end

local function utf8_locale()
  for _, name in ipairs {"LC_ALL", "LC_CTYPE", "LANG"} do
    if env(name) ~= "" then return env(name):upper():find "UTF%-?8" ~= nil end
  end
  return false
end

-- True if kitty's query can be sent. A terminal multiplexer would take the query for a title. The other terminals that are excluded
-- here would print the query.
local function takes_kitty_query()
  local term = env "TERM"
  local wrapped = env "TMUX" ~= "" or env "STY" ~= "" or term:find "^tmux" or term:find "^screen"
  return not wrapped and term ~= "linux" and env "TERM_PROGRAM" ~= "Apple_Terminal"
end

local KITTY, ATTRIBUTES = "\27_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\27\\", "\27[c"
local PATIENCE = 1000 -- milliseconds to wait for an answer; every terminal answers the query ATTRIBUTES

-- Returns the best method that an answer reports ("kitty", "sixel" or "text"), or nil if it is not an answer to a query.
local function understood(answer)
  if answer:find("\27_Gi=31;OK", 1, true) then return "kitty" end
  local attributes = answer:match "\27%[%?([%d;]*)c"
  if not attributes then return nil end
  return (";" .. attributes .. ";"):find(";4;", 1, true) and "sixel" or "text"
end

local asked
local function can()
  if env "TERM" == "dumb" or env "TERM" == "" then return "text" end
  if not asked then
    local answer = core.terminal_ask((takes_kitty_query() and KITTY or "") .. ATTRIBUTES, PATIENCE)
    if not answer then return "text" end -- the user has typed something, so the query is sent later
    asked = understood(answer) or "text"
  end
  return asked
end

local function chosen()
  local name = env "NESTWRIGHT_GRAPHICS"
  if name == "" then return nil end
  for _, way in ipairs(WAYS) do if name == way then return way end end
  errors.fail("invalid", nil, "NESTWRIGHT_GRAPHICS must be one of %s, not '%s'", table.concat(WAYS, ", "), name)
end

--- Returns the way to show pictures: "kitty", "sixel", "braille", "dumb", or "none" if the output is not a terminal.
function terminal.way()
  if not core.terminal() then return "none" end
  if chosen() then return chosen() end
  local way = can()
  if way == "kitty" or (way == "sixel" and gnuplot.has "sixelgd") then return way end
  return utf8_locale() and env "TERM" ~= "dumb" and gnuplot.has "sixelgd" and "braille" or "dumb"
end

-- ---- pixels

local CELL = {8, 16} -- pixels of a character, if the terminal does not report it

-- Returns the scale at which a picture fits the window's width. The scale is at most 1, or at most 2 if characters have many
-- pixels, because the pixels of such a terminal are small.
local function scale_of(p, screen)
  local cell = screen.width > 0 and screen.width / screen.columns or CELL[1]
  local wanted = cell > 14 and 2 or 1
  return math.min(wanted, (screen.columns - 1) * cell / p.size[1])
end

-- Returns the picture in kitty's protocol, in chunks of 4,096 bytes. m=1 means that another chunk follows. q=2 means that kitty
-- must not answer.
local function kitty(p, screen)
  local data = svg.base64((gnuplot.picture(p.script, "png", p.size, scale_of(p, screen))))
  local out, head = {}, "a=T,f=100,q=2,"
  for at = 1, #data, 4096 do
    local more = at + 4096 <= #data and 1 or 0
    out[#out + 1] = ("\27_G%sm=%d;%s\27\\"):format(head, more, data:sub(at, at + 4095))
    head = ""
  end
  return table.concat(out)
end

local function sixel(p, screen) return (gnuplot.sixels(p.script, p.size, scale_of(p, screen))) end

-- ---- characters

local PLAIN = {["→"] = "->", ["←"] = "<-", ["…"] = "..", ["×"] = "x", ["µ"] = "u", ["–"] = "-", ["●"] = "*", ["■"] = "#",
  ["↓"] = "v", ["≈"] = "~", ["⋮"] = ":"}

-- Returns a text in a form that the terminal can show. If the locale is not UTF-8, characters outside ASCII are replaced.
local function plain(text)
  return utf8_locale() and text or (text:gsub("[\xc2-\xf4][\x80-\xbf]+", function(c) return PLAIN[c] or "?" end))
end

-- Returns the small print, or nil if the caption contains it.
local function unsaid(p, print)
  return not p.caption:gsub("%s+", " "):find(print, 1, true) and print or nil
end

-- These patterns match the commands of figure.lua that draw below the panels. A label is one line, and its end never contains user
-- text.
local BELOW = {"^set label .* point pt %d+ ps 1 lc rgb '[^']*' offset 1%.5,0 font ',%d+'$",
  ("^set label .* font ',%d' textcolor rgb '%s'$"):format(figure.PRINT.size, figure.PRINT.colour),
  "^set object rectangle from screen "}

local function without_below(script)
  local out = {}
  for line in script:gmatch "[^\n]*" do
    local below = false
    for _, pattern in ipairs(BELOW) do below = below or line:find(pattern) ~= nil end
    if not below then out[#out + 1] = line end
  end
  return table.concat(out, "\n")
end

-- Returns the letter that gnuplot draws for a point type.
local function letter(pt) return string.char(("A"):byte() + (pt - 1) % 26) end

-- Returns the script for a picture of characters. Frames are drawn behind the marks. The key and the small print below the panels,
-- and the labels of the y axes, are removed, because they are written outside the picture.
local function bare(script)
  script = without_below(script):gsub("\nreset; [^\n]*", "%0; set border back"):gsub("\nplot ", "\nunset ylabel%0")
  return script
end

-- Returns the vertical words of a picture, which are the labels of its y axes. Leaves out other vertical labels.
local function upright(p, columns, rows)
  local script = p.script:gsub("\nset label [^\n]* rotate by 90%f[\n]", "")
  return require "nestwright.plots.braille".upright({script = script}, columns, rows)
end

local function dumb_lines(p, all, rows)
  local gutter, beside = upright(p, all, rows)
  local picture, lines = gnuplot.draw(bare(p.script), ("dumb size %d,%d noenhanced mono"):format(all - gutter, rows)), {}
  for line in picture:gsub("\f\n?", ""):gmatch "[^\n]*" do lines[#lines + 1] = (beside(#lines) .. line):gsub("%s+$", "") end
  return lines
end

-- Returns the panels as gnuplot draws them, and the key and small print as text, because gnuplot would print them over each other.
local function dumb(p, screen)
  local braille, columns = require "nestwright.plots.braille", math.min(math.max(screen.columns, 40) - 1, 120)
  local rows = math.max(columns * p.size[2] // (2 * p.size[1]), p.size[2] // 24, 12)
  p = setmetatable({script = figure.lettered(figure.unshaded(p.script))}, {__index = p})
  local lines = dumb_lines(p, columns, rows)
  while lines[1] == "" do table.remove(lines, 1) end
  while lines[#lines] == "" do table.remove(lines) end
  local key, print = braille.below(p, columns, letter)
  table.move(key, 1, #key, #lines + 1, lines)
  lines[#lines + 1] = unsaid(p, print) and braille.wrapped(print, columns)
  return plain(table.concat(lines, "\n"))
end

-- Returns the picture as braille characters. They show the kinds of values in an image by colours. If colours are disabled, such a
-- picture is drawn with letters.
local function braille(p, screen)
  local _, plain_colour = require "nestwright.plots.characters".palette()
  if plain_colour == "" and figure.has_letters(p.script) then return dumb(p, screen) end
  local drawn = require "nestwright.plots.braille"
  local picture, print = drawn.drawn(p, screen.columns - 1)
  return unsaid(p, print) and picture .. "\n" .. drawn.wrapped(print, screen.columns - 1) or picture
end

local DRAW = {kitty = kitty, sixel = sixel, braille = braille, dumb = dumb}

local function drawn(p)
  local way, screen = terminal.way(), core.terminal()
  if way == "none" then return p.caption end
  return DRAW[way](p, screen) .. "\n" .. plain(require "nestwright.plots.braille".wrapped(p.caption, screen.columns - 1))
end

--- Returns the picture as terminal output. Returns the caption if the output is not a terminal, and the text form if the picture
--- cannot be drawn.
function terminal.shown(p)
  local ok, picture = pcall(drawn, p)
  return ok and picture or plot.undrawn(p, picture)
end

return terminal
