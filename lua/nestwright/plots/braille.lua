--- Pictures in braille: lines, marks and fillings as dots, two by four a character, and the words as words. The dots come from
--- a bitmap that is drawn without words, the words and where they stand from the same picture as SVG.
local gnuplot = require "nestwright.plots.gnuplot"
local sixel = require "nestwright.plots.sixel"

local braille = {}

local WIDTH, HEIGHT = 8, 16 -- pixels of a character
local BY = 6 -- pixels of a dot in the bitmap, either way
local ENOUGH = 5 -- of them drawn, for the dot to be
local SPECK = 14 -- of a grey one alone: fewer are what is left of a letter
local PRINT = 9 -- size of small print
local WIDEST, NARROWEST = 120, 40 -- columns

local GLYPHS = {[0] = "·", "+", "×", "*", "□", "■", "○", "●", "△", "▲", "▽", "▼", "◇", "◆", "⬠", "⬟"}
local FEW = 40 -- marks of a kind that get a glyph each; more are dots

-- ---- words and marks, from SVG

local ENTITIES = {amp = "&", lt = "<", gt = ">", quot = '"', apos = "'"}

local function rgb(text)
  local r, g, b = text:match "rgb%(%s*(%d+),%s*(%d+),%s*(%d+)%)"
  if not r then return {red = 0, green = 0, blue = 0} end
  return {red = r / 255, green = g / 255, blue = b / 255}
end

local function texts_of(text)
  local out = {}
  for attributes, body in text:gmatch '<g transform="(translate[^>]*)>%s*<text[^>]*>(.-)</text>' do
    local x, y = attributes:match "translate%(([-%d.]+),([-%d.]+)%)"
    local size = tonumber(attributes:match 'font%-size="([%d.]+)"') or 12
    out[#out + 1] = {
      x = tonumber(x), y = tonumber(y) - 0.3 * size, size = size, rotated = attributes:find "rotate" ~= nil,
      anchor = attributes:match 'text%-anchor="(%a+)"' or "start", colour = rgb(attributes),
      text = body:gsub("<[^>]*>", ""):gsub("&(%a+);", ENTITIES):gsub("&#160;", " "):match "^%s*(.-)%s*$",
    }
  end
  return out
end

local function marks_of(text)
  local out = {}
  local mark = "<use xlink:href='#gpPt(%d+)' transform='translate%(([-%d.]+),([-%d.]+)%)[^']*' color='([^']*)'"
  for kind, x, y, colour in text:gmatch(mark) do
    out[#out + 1] = {x = tonumber(x), y = tonumber(y), kind = math.tointeger(kind), name = kind .. colour, colour = rgb(colour)}
  end
  return out
end

-- ---- colours

local function indexed(c)
  local function level(v) return (v * 5 + 0.5) // 1 | 0 end
  return 16 + 36 * level(c.red) + 6 * level(c.green) + level(c.blue)
end

-- Black is whatever the terminal writes in; grey its own grey.
local function escape(c, full)
  local least, most = math.min(c.red, c.green, c.blue), math.max(c.red, c.green, c.blue)
  if most - least < 0.06 then return most < 0.3 and "\27[39m" or "\27[90m" end
  if not full then return ("\27[38;5;%dm"):format(indexed(c)) end
  return ("\27[38;2;%d;%d;%dm"):format(c.red * 255 // 1, c.green * 255 // 1, c.blue * 255 // 1)
end

local function palette()
  local colour = (os.getenv "NO_COLOR" or "") == "" and os.getenv "TERM" ~= "dumb"
  if not colour then return function() return "" end, "" end
  local full = (os.getenv "COLORTERM" or ""):find "truecolor" or (os.getenv "COLORTERM" or ""):find "24bit"
  return function(c) return escape(c, full) end, "\27[39m"
end

-- ---- cells

local BITS = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}} -- by row and column of the dot

-- The dots of a cell as a character, with the colour that tells most.
local function cell_of(dots, column, row)
  local bits, best = 0, nil
  for dy = 1, 4 do
    local line = dots[row * 4 + dy - 1] or {}
    for dx = 1, 2 do
      local dot = line[column * 2 + dx - 1]
      if dot and dot.n >= ENOUGH then
        bits = bits | BITS[dy][dx]
        if not best or dot.colour.value > best.value then best = dot.colour end
      end
    end
  end
  if bits > 0 then return {text = utf8.char(0x2800 + bits), colour = best} end
end

local function characters(text)
  local out = {}
  for _, c in utf8.codes(text) do out[#out + 1] = utf8.char(c) end
  return out
end

local START = {start = 0, middle = 0.5, ["end"] = 1}

-- Writes words over what is there, unless other words are in the way.
local function write(cells, taken, t, columns)
  local row, chars = t.y // HEIGHT | 0, characters(t.text)
  local from = (t.x / WIDTH - START[t.anchor] * #chars + 0.5) // 1 | 0
  from = math.max(0, math.min(from, columns - #chars))
  local line = taken[row] or {}
  for k = -1, #chars do if line[from + k] then return end end
  taken[row] = line
  for k, c in ipairs(chars) do
    line[from + k - 1] = true
    cells[row] = cells[row] or {}
    cells[row][from + k - 1] = {text = c, colour = t.colour}
  end
end

local function put_marks(cells, marks, to)
  local count = {}
  for _, m in ipairs(marks) do count[m.name] = (count[m.name] or 0) + 1 end
  for _, m in ipairs(marks) do
    if m.y <= to and count[m.name] <= FEW then
      local row = m.y // HEIGHT | 0
      cells[row] = cells[row] or {}
      cells[row][m.x // WIDTH | 0] = {text = GLYPHS[(m.kind + 1) % 16] or "*", colour = m.colour}
    end
  end
end

local function line_of(cells, columns, paint, plain)
  local out, now = {}, plain
  for column = 0, columns - 1 do
    local cell = cells and cells[column]
    local wanted = cell and cell.text ~= " " and paint(cell.colour) or now
    if wanted ~= now then out[#out + 1], now = wanted, wanted end
    out[#out + 1] = cell and cell.text or " "
  end
  local text = table.concat(out):gsub("%s+$", "")
  return now ~= plain and text .. plain or text
end

-- ---- around the panels

-- Words that stand upright go to the left, a word a line.
local function gutter_of(texts)
  local width = 0
  for _, t in ipairs(texts) do
    if t.rotated then
      for word in t.text:gmatch "%S+" do width = math.max(width, utf8.len(word)) end
    end
  end
  return width > 0 and math.min(width, 14) + 1 or 0
end

local function write_gutter(gutter, texts)
  local lines = {}
  for _, t in ipairs(texts) do
    if t.rotated then
      local words = {}
      for word in t.text:gmatch "%S+" do words[#words + 1] = word end
      local row = (t.y / HEIGHT - #words / 2 + 0.5) // 1 | 0
      for k, word in ipairs(words) do lines[row + k - 1] = word end
    end
  end
  return function(row)
    local word = lines[row] or ""
    local long = utf8.len(word) - (gutter - 1)
    if long > 0 then word = word:sub(1, utf8.offset(word, gutter) - 1) end
    return word .. (" "):rep(gutter - utf8.len(word))
  end
end

-- Pieces (text, width) filled into lines.
local function filled(pieces, columns, gap)
  local lines, line, width = {}, {}, 0
  for _, p in ipairs(pieces) do
    if width > 0 and width + #gap + p.width > columns then
      lines[#lines + 1], line, width = table.concat(line, gap), {}, 0
    end
    line[#line + 1], width = p.text, width + #gap + p.width
  end
  if #line > 0 then lines[#lines + 1] = table.concat(line, gap) end
  return lines
end

-- The mark that words of the key stand behind.
local function mark_of(t, marks)
  for _, m in ipairs(marks) do
    local behind = t.x - m.x
    if t.anchor == "start" and math.abs(m.y - t.y) < 4 and behind > 0 and behind < 3 * WIDTH then return m end
  end
end

-- Words by where they belong: the title, the panels and their axes, the key under them, small print.
local function sorted(texts, marks, from, to)
  local title, panels, key, print, below = {}, {}, {}, {}, {}
  for _, m in ipairs(marks) do if m.y > to then below[#below + 1] = m end end
  for _, t in ipairs(texts) do
    local mark = t.y > to and mark_of(t, below)
    if mark then key[#key + 1] = {mark = mark, text = t.text}
    elseif t.y > to and t.size <= PRINT then print[#print + 1] = t.text
    elseif t.y < from then title[#title + 1] = t.text
    else panels[#panels + 1] = t
    end
  end
  return title, panels, key, table.concat(print, " ")
end

local function key_lines(key, columns, paint, plain)
  local pieces = {}
  for n, e in ipairs(key) do
    pieces[n] = {text = paint(e.mark.colour) .. GLYPHS[(e.mark.kind + 1) % 16] .. plain .. " " .. e.text,
      width = utf8.len(e.text) + 2}
  end
  return filled(pieces, columns, "   ")
end

--- Words filled into lines; lines of the text stay apart.
function braille.wrapped(text, columns)
  local out = {}
  for line in text:gmatch "[^\n]*" do
    local pieces = {}
    for word in line:gmatch "%S+" do pieces[#pieces + 1] = {text = word, width = utf8.len(word) or #word} end
    local lines = filled(pieces, columns, " ")
    table.move(lines, 1, #lines, #out + 1, out)
  end
  return table.concat(out, "\n")
end

-- ---- all of it

local function svg_at(p, width, height)
  local text = gnuplot.draw(p.script, ("svg size %d,%d noenhanced font 'Helvetica,11'"):format(width, height))
  return texts_of(text), marks_of(text)
end

local function alone(dots, x, y)
  for dy = -1, 1 do
    for dx = -1, 1 do
      local line = dots[y + dy]
      if (dx ~= 0 or dy ~= 0) and line and line[x + dx] and line[x + dx].n >= ENOUGH then return false end
    end
  end
  return true
end

-- Of the words, drawn too small to be read, specks are left: where they are anchored, and beside axes.
local function without_specks(dots, texts)
  for _, t in ipairs(texts) do
    local long = (utf8.len(t.text) or #t.text) * WIDTH / BY / 3
    local from = t.x * 2 / WIDTH - long * START[t.anchor]
    for y = t.y * 4 // HEIGHT - 1 | 0, t.y * 4 // HEIGHT + 1 | 0 do
      for x = from // 1 | 0, (from + long) // 1 | 0 do
        if dots[y] and not t.rotated then dots[y][x] = nil end
      end
    end
  end
  for y, line in pairs(dots) do
    for x, dot in pairs(line) do
      local c = dot.colour
      local grey = math.max(c.red, c.green, c.blue) - math.min(c.red, c.green, c.blue) < 0.06
      if grey and dot.n < SPECK and alone(dots, x, y) then line[x] = nil end
    end
  end
  return dots
end

local function dots_at(p, columns, rows, texts)
  local picture = gnuplot.draw(p.script, ("sixelgd truecolor size %d,%d noenhanced font 'sans,1' fontscale 0.1"):format(
    columns * 2 * BY, rows * 4 * BY))
  return without_specks(sixel.dots(picture, BY), texts)
end

-- Where the panels are, in pixels of a picture `height` high.
local function panels_of(p, height)
  local from, to, of = p.script:match "^# panels from (%d+) to (%d+) of (%d+) pixels"
  if not from then return 0, height end
  return from * height // of, to * height // of
end

local function cells_at(dots, first, last, columns)
  local cells = {}
  for row = first, last do
    cells[row] = {}
    for column = 0, columns - 1 do cells[row][column] = cell_of(dots, column, row) end
  end
  return cells
end

-- The picture without the words that stand upright, so many columns wide, and how wide these are.
local function laid_out(p, all)
  local function rows_of(columns) return columns * WIDTH * p.size[2] // p.size[1] // HEIGHT | 0 end
  local texts, marks = svg_at(p, all * WIDTH, rows_of(all) * HEIGHT)
  local gutter = gutter_of(texts)
  if gutter == 0 then return texts, marks, all, rows_of(all), 0 end
  local columns = all - gutter
  texts, marks = svg_at(p, columns * WIDTH, rows_of(columns) * HEIGHT)
  return texts, marks, columns, rows_of(columns), gutter
end

--- The picture as lines of characters, so many columns wide. Second: its small print.
function braille.drawn(p, wide)
  local all = math.max(math.min(wide, WIDEST), NARROWEST)
  local texts, marks, columns, rows, gutter = laid_out(p, all)
  local from, to = panels_of(p, rows * HEIGHT)
  local paint, plain = palette()
  local title, words, key, print = sorted(texts, marks, from, to)
  local first, last = from // HEIGHT | 0, to // HEIGHT | 0
  local cells, taken = cells_at(dots_at(p, columns, rows, texts), first, last, columns), {}
  for _, t in ipairs(words) do last = math.max(last, t.y // HEIGHT | 0) end
  put_marks(cells, marks, to)
  for _, t in ipairs(words) do if not t.rotated then write(cells, taken, t, columns) end end
  local upright, out = write_gutter(gutter, words), {table.concat(title, " ")}
  for row = first, last do out[#out + 1] = (upright(row) .. line_of(cells[row], columns, paint, plain)):gsub("%s+$", "") end
  local lines = key_lines(key, all, paint, plain)
  table.move(lines, 1, #lines, #out + 1, out)
  return table.concat(out, "\n"), print
end

return braille
