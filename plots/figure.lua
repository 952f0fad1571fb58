--- Makes a figure: panels under one title, placed at given pixels, with small print at the foot. Each panel sets its own gnuplot
--- state.
local errors = require "nestwright.language.errors"
local fit = require "nestwright.plots.fit"
local gnuplot = require "nestwright.plots.gnuplot"
local written = require "nestwright.show.written"

local figure = {}

local methods = {}
local meta = {__index = methods}

--- Colour-blind people can distinguish these colours (Okabe and Ito). Shapes, dashes or fillings carry the same information.
figure.colour = {
  blue = "#0072B2", sky = "#56B4E9", green = "#009E73", orange = "#E69F00", red = "#D55E00", pink = "#CC79A7",
  black = "#000000", grey = "#777777", pale = "#DDDDDD", faint = "#F0F0F0",
}

--- Series use the colours in this order.
figure.series = {"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"}

--- These plot commands draw a middle half (the range between the quartiles) as a line with a tick at each end. UPRIGHT draws a
--- vertical line, ALONG a horizontal line. The rows of data are {x, y, from, to}. (gnuplot's error bars would leave a gap around
--- the point.)
figure.UPRIGHT = "using 1:3:(0):($4 - $3) with vectors heads size screen 0.004,90"
figure.ALONG = "using 3:2:($4 - $3):(0) with vectors heads size screen 0.004,90"

figure.TITLE = 44 -- pixels for the title
figure.GAP = 16
figure.AXIS = 70 -- pixels below a panel for the labels of its ticks and the name of its axis
figure.TICK = 13 -- the size of the font of ticks and names of axes, in pixels, in all formats
figure.PRINT = {size = 10, colour = "#666666"} -- the small print
local FOOT, SIDE = 18, 20 -- pixels: the height of a line of small print, and its distance from the sides
local HEAD, ENTRY = 14, 12 -- the sizes of the fonts of the title and of the key, in pixels

--- Returns a new figure. o: {title, width in pixels (by default 1000)}. The figure's field `bottom` is the lower edge of all items
--- that have been placed so far, in pixels from the top. outlined: true if light areas become outlines on a terminal without
--- colours.
function figure.new(o)
  return setmetatable({title = errors.label("title", o.title), width = o.width or 1000, bottom = figure.TITLE, right = 0,
    panels = {}, blocks = {}, drawn = {}, outlined = o.outlined}, meta)
end

--- Returns a number as text for gnuplot. If the number is not finite, returns "NaN", which gnuplot draws as a gap.
function figure.number(v)
  if v == nil or v ~= v or v == math.huge or v == -math.huge then return "NaN" end
  return math.type(v) == "integer" and ("%d"):format(v) or ("%.9g"):format(v)
end

local function tics(axis, from, most, step, text)
  local out = {}
  for at = from, most, step do out[#out + 1] = ("'%s' %.9g"):format(text(at), at) end
  return ("set %stics (%s)"):format(axis, table.concat(out, ", "))
end

--- Returns a number of bytes as the label of a tick: "64 B", "4 KiB".
function figure.bytes(n) return (written.bytes(n):gsub(" bytes", " B")) end

--- Returns the command for about four ticks at round numbers of bytes up to `most`.
function figure.byte_tics(axis, most)
  local step = 1
  while step * 4 < most do step = step * 2 end
  return tics(axis, 0, most, step, function(at) return at == 0 and "0" or figure.bytes(at) end)
end

--- Returns the command for about n ticks at round counts from `from` to `most`. blank: true if the ticks have no labels.
function figure.count_tics(axis, from, most, n, blank)
  local step = 1
  while (most - from) / step > n do
    local first = tonumber(("%g"):format(step):sub(1, 1))
    step = first == 1 and step * 2 or first == 2 and step * 5 // 2 or step * 2
  end
  return tics(axis, math.ceil(from / step) * step, most, step, function(at)
    return blank and "" or at < 1e4 and ("%d"):format(at) or written.count(at)
  end)
end

--- Stores rows (lists of numbers, or formatted lines) as a datablock, and returns its name for plot commands. Names from users
--- never become part of a datablock. They appear only as quoted labels. kind: the meaning of the rows, for readers of the script.
function methods:data(rows, kind)
  local name, lines = (kind or "data") .. #self.blocks + 1, {}
  for n, row in ipairs(rows) do
    if type(row) == "table" then
      local cells = {}
      for k = 1, #row do cells[k] = figure.number(row[k]) end
      row = table.concat(cells, " ")
    end
    lines[n] = row
  end
  self.blocks[#self.blocks + 1] = gnuplot.data(name, lines)
  return "$" .. name
end

--- Adds a panel. rect: {left, right, top, height} in pixels, where left and right are the ends of the horizontal axis, and top is
--- the distance from the top of the figure to the panel. commands: the commands that set up the panel; parts: the plotted items.
--- letters: the items that are plotted instead if the picture is drawn with letters, because letters cannot show an image.
function methods:panel(rect, commands, parts, letters)
  self.panels[#self.panels + 1] = {rect = rect, commands = commands, parts = parts, letters = letters}
  self.bottom, self.right = math.max(self.bottom, rect.top + rect.height), math.max(self.right, rect.right)
end

local MOST_WIDTH = 1000 -- the largest width that a figure gets because of its title

--- Returns the pixels that a title needs. A longer title is shortened.
function figure.title_width(title) return math.min(MOST_WIDTH, math.ceil(fit.width(title, HEAD)) + 2 * SIDE) end

--- Sets the width of the figure so that its contents and title fit. The width is at least `least` pixels.
function methods:fit(least)
  self.width = math.ceil(math.max(least, self.right + 24, figure.title_width(self.title)))
end

local function placed(f, p, height)
  local r = p.rect
  return ("set lmargin at screen %.5f; set rmargin at screen %.5f; set tmargin at screen %.5f; set bmargin at screen %.5f"):format(
    r.left / f.width, r.right / f.width, 1 - r.top / height, 1 - (r.top + r.height) / height)
end

--- Adds text at a position in pixels from the upper left corner, drawn over all panels. o: {align ("left", "center", "right"), size
--- (by default 11), colour, boxed (on a white box), upright}.
function methods:text(x, y, text, o)
  o = o or {}
  if (o.align or "left") == "left" then self.right = math.max(self.right, x + fit.width(text, o.size or 11)) end
  self.drawn[#self.drawn + 1] = function(height)
    return ("set label %s at screen %.5f, screen %.5f %s noenhanced front font ',%d' textcolor rgb '%s'%s%s"):format(
      gnuplot.quote(text), x / self.width, 1 - y / height, o.align or "left", o.size or 11, o.colour or figure.colour.black,
      o.boxed and " boxed" or "", o.upright and " rotate by 90" or "")
  end
end

--- Adds a line between two positions in pixels, drawn over all panels. style: the style of the line in gnuplot's syntax.
function methods:line(x1, y1, x2, y2, style)
  self.drawn[#self.drawn + 1] = function(height)
    return ("set arrow from screen %.5f, screen %.5f to screen %.5f, screen %.5f front %s"):format(x1 / self.width, 1 - y1 / height,
      x2 / self.width, 1 - y2 / height, style)
  end
end

local PIECE = 7 -- pixels of a line segment of a curve

local function on_curve(x1, y1, x2, y2, bend, t)
  local mx, my = (x1 + x2) / 2 - bend * (y2 - y1), (y1 + y2) / 2 + bend * (x2 - x1)
  local a, b, c = (1 - t) * (1 - t), 2 * t * (1 - t), t * t
  return a * x1 + b * mx + c * x2, a * y1 + b * my + c * y2
end

--- Adds a curved arrow. o: {bend (how far it bends sideways, as a fraction of its length), broken (dashed), width, colour}.
function methods:arrow(x1, y1, x2, y2, o)
  local pieces = math.max(4, math.ceil(math.sqrt((x2 - x1) ^ 2 + (y2 - y1) ^ 2) / PIECE))
  for k = 1, pieces do
    local ax, ay = on_curve(x1, y1, x2, y2, o.bend, (k - 1) / pieces)
    local bx, by = on_curve(x1, y1, x2, y2, o.bend, k / pieces)
    local last = k == pieces
    if last or not o.broken or k % 3 ~= 0 then
      self:line(ax, ay, bx, by, ("%s lw %g lc rgb '%s'"):format(last and "head filled size screen 0.012,22" or "nohead", o.width,
        o.colour))
    end
  end
end

--- Sets the key, which is drawn in one or more rows below the panels. The entry of a mark is {text, pt (gnuplot's number of the
--- shape), colour}; the entry of a filling is {text, fill (a gnuplot style), colour}. shade, in an entry: true if the entry differs
--- from other entries only in its colour. letter, in an entry: the number of the shape if the picture is drawn with letters.
function methods:key(entries) self.entries = entries end

local KEY_ROW, MARK = 20, 38 -- pixels: the height of a row of the key; the width of a mark with the gaps beside it

-- Returns the labels of the key with their positions, and the number of rows. A row is filled before the next row begins.
local function key_labels(f)
  local out, x, row = {}, SIDE, 1
  for _, e in ipairs(f.entries or {}) do
    local text = fit.shortened(e.text, f.width - 2 * SIDE - MARK, ENTRY)
    local width = MARK + fit.width(text, ENTRY)
    if x > SIDE and x + width > f.width - SIDE then x, row = SIDE, row + 1 end
    out[#out + 1] = {x = x + 8, row = row, entry = e, text = text}
    x = x + width
  end
  return out, #out > 0 and row or 0
end

-- Returns the commands that draw a filling in the key. A white square below it covers the mark of the entry, because patterns
-- are transparent in SVG. Pictures made of characters have no fillings and show the mark instead.
local function swatch(f, l, y, height)
  local e, out = l.entry, {}
  for n, how in ipairs {{"solid 1", "#FFFFFF", "#FFFFFF"}, {e.fill, e.colour, e.colour}} do
    local half = n == 1 and 8 or 7
    out[n] = ("set object rectangle from screen %.5f, screen %.5f to screen %.5f, screen %.5f front fillstyle %s border "
      .. "lc rgb '%s' fc rgb '%s'"):format((l.x - half) / f.width, y - half / height, (l.x + half) / f.width, y + half / height,
      table.unpack(how))
  end
  return table.concat(out, "\n")
end

local function key_commands(labels, rows, f, height, above)
  local out = {}
  for n, l in ipairs(labels) do
    local y = above + KEY_ROW * (rows - l.row) + KEY_ROW / 2
    out[n] = ("set label %s at screen %.5f, screen %.5f left noenhanced point pt %d ps 1 lc rgb '%s' offset 1.5,0 "
      .. "font ',%d'"):format(gnuplot.quote(l.text), l.x / f.width, y / height, l.entry.pt or 5, l.entry.colour, ENTRY)
    if l.entry.shade then out[n] = out[n] .. " # shade" end
    if l.entry.letter then out[n] = ("%s # letter %d"):format(out[n], l.entry.letter) end
    if l.entry.fill then out[n] = out[n] .. "\n" .. swatch(f, l, y / height, height) end
  end
  return out
end

local function foot_commands(f, lines, height)
  local out = {}
  for n, line in ipairs(lines) do
    out[n] = ("set label %s at screen %.5f, screen %.5f left noenhanced font ',%d' textcolor rgb '%s'"):format(
      gnuplot.quote(line), SIDE / f.width, (FOOT * (#lines - n) + FOOT / 2 + 4) / height, figure.PRINT.size,
      figure.PRINT.colour)
  end
  return out
end

local OUTLINED = "# without colours, light areas are drawn as outlines"

-- Returns the script with outlines in place of light areas.
local function outlined(script)
  return (script:gsub("fillstyle solid 0%.%d+ noborder", "fillstyle empty border lc rgb '" .. figure.colour.black .. "'")
    :gsub("fillstyle solid 0%.%d+ border", "fillstyle empty border"))
end

--- Returns the script for a terminal without colours. Items that are distinguishable only by their colour are left out: the cells
--- of a grid, and their entries in the key. If the figure says so, light areas become outlines.
function figure.unshaded(script)
  if script:find(OUTLINED, 1, true) then script = outlined(script) end
  script = script:gsub("plot %$cells%d+ using [^\n]* lc rgb variable notitle, \\\n  ", "plot ")
  return (script:gsub("\nset label [^\n]* # shade%f[\n]", ""))
end

local AS_LETTERS = "# with letters: "

--- Returns plotted items that show an image as letters. Each kind of value has one item, which shows the points with values of this
--- kind. Later kinds are drawn over earlier kinds. data: a matrix; x, y: positions as functions of $1 and $2; kinds: {test (a
--- condition on $3), letter}.
function figure.letters(data, x, y, kinds)
  local out = {}
  for n, kind in ipairs(kinds) do
    out[n] = ("%s matrix using (%s):(%s ? %s : NaN) with points pt %d notitle"):format(data, x, kind.test, y, kind.letter)
  end
  return out
end

--- True if a script has images that letters can replace.
function figure.has_letters(script) return script:find("\n" .. AS_LETTERS, 1, true) ~= nil end

--- Returns the script for a picture that is drawn with letters.
function figure.lettered(script)
  script = script:gsub("\nplot [^\n]*\n" .. AS_LETTERS .. "([^\n]*)", "\nplot %1")
  return (script:gsub("(\nset label [^\n]* point pt )%d+( [^\n]*) # letter (%d+)%f[\n]", "%1%3%2"))
end

--- Returns the script and its size in pixels. The first line of the script has the position of the panels. Terminals need it,
--- because they write the title, the key and the small print as text. under: pixels below the last panel for the labels of its
--- axis; small: the small print, which names the machine and the spread of measurements, or the model.
function methods:finish(under, small)
  local print, labels, rows = fit.folded(small or "", self.width - 2 * SIDE, figure.PRINT.size), key_labels(self)
  local foot = FOOT * #print + 8
  local height = self.bottom + under + KEY_ROW * rows + foot
  local last = self.panels[#self.panels].commands
  table.move(foot_commands(self, print, height), 1, #print, #last + 1, last)
  table.move(key_commands(labels, rows, self, height, foot), 1, #labels, #last + 1, last)
  if #self.drawn > 0 then last[#last + 1] = "set style textbox opaque noborder margins 0.5,0.5 fillcolor rgb '#FFFFFF'" end
  for _, draw in ipairs(self.drawn) do last[#last + 1] = draw(height) end
  local out = {("# panels from %d to %d of %d pixels"):format(figure.TITLE, self.bottom, height),
    table.concat(self.blocks, "\n"), "set multiplot"}
  if self.outlined then table.insert(out, 2, OUTLINED) end
  for n, p in ipairs(self.panels) do
    out[#out + 1] = "reset; unset key; set encoding utf8\n" .. placed(self, p, height)
    if n == 1 then
      out[#out + 1] = ("set label %s at screen 0.5, screen %.5f center noenhanced font ',%d'"):format(
        gnuplot.quote(fit.shortened(self.title, self.width - 2 * SIDE, HEAD)), 1 - figure.TITLE / 2 / height, HEAD)
    end
    out[#out + 1] = table.concat(p.commands, "\n")
    out[#out + 1] = "plot " .. table.concat(p.parts, ", \\\n  ")
    if p.letters then out[#out + 1] = AS_LETTERS .. table.concat(p.letters, ", ") end
  end
  out[#out + 1] = "unset multiplot"
  return table.concat(out, "\n"), {self.width, height}
end

return figure
