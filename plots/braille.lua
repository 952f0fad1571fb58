--- Draws pictures as braille characters. Lines, marks and fillings become dots, two by four per character. The dots come from a
--- bitmap that is drawn without words. Words stay text. The words and their positions are read from the same picture in SVG format.
local characters = require "nestwright.plots.characters"
local figure = require "nestwright.plots.figure"
local gnuplot = require "nestwright.plots.gnuplot"
local sixel = require "nestwright.plots.sixel"
local written = require "nestwright.show.written"

local braille = {}

local WIDTH, HEIGHT = 8, 16 -- pixels of a character
local SPECK = 14 -- an isolated grey dot with fewer drawn pixels is taken for a part of a letter
local BELOW = 6 -- pixels that are kept below the panels, for ticks
local WIDEST, NARROWEST = 120, 40 -- the largest and the smallest number of columns

local GLYPHS = {[0] = "·", "+", "×", "*", "□", "■", "○", "●", "△", "▲", "▽", "▼", "◇", "◆", "⬠", "⬟"}
local FEW = 40 -- up to this number, marks of one kind are drawn as glyphs; more marks are drawn as dots

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

local function letters(text)
  local out = {}
  for _, c in utf8.codes(text) do out[#out + 1] = utf8.char(c) end
  return out
end

local START = {start = 0, middle = 0.5, ["end"] = 1}

-- Returns a free position for n characters that should be at `from`. This is `from` or, if other words are there, a position one
-- column beside it. Returns nil if none of these positions is free.
local function room_for(line, from, n, columns)
  for _, shift in ipairs {0, 1, -1} do
    local free = from + shift >= 0 and from + shift + n <= columns
    for k = -1, n do free = free and not line[from + shift + k] end
    if free then return from + shift end
  end
end

-- Writes words over existing characters. Words without a free position are omitted.
local function write(grid, taken, t, columns, ground_at)
  local row, chars = t.y // HEIGHT | 0, letters(written.shortened(t.text, columns))
  local wanted = (t.x / WIDTH - START[t.anchor] * #chars + 0.5) // 1 | 0
  local line = taken[row] or {}
  local from = room_for(line, math.max(0, math.min(wanted, columns - #chars)), #chars, columns)
  if not from then return end
  taken[row] = line
  local ground = ground_at(row, from, #chars)
  for k, c in ipairs(chars) do
    line[from + k - 1] = true
    characters.put(grid, row, from + k - 1, c, t.colour, ground)
  end
end

local function put_marks(grid, marks, to, ground_at)
  local count = {}
  for _, m in ipairs(marks) do count[m.name] = (count[m.name] or 0) + 1 end
  for _, m in ipairs(marks) do
    if m.y <= to and count[m.name] <= FEW then
      local row, column = m.y // HEIGHT | 0, m.x // WIDTH | 0
      characters.put(grid, row, column, GLYPHS[(m.kind + 1) % 16], m.colour, ground_at(row, column, 1))
    end
  end
end

local function line_of(line, columns, paint, plain)
  local out, now = {}, plain
  for column = 0, columns - 1 do
    local cell = line and line[column]
    local wanted = not cell and plain or (cell.text ~= " " or cell.ground) and paint(cell.colour, cell.ground) or plain
    if wanted ~= now then out[#out + 1], now = wanted, wanted end
    out[#out + 1] = cell and cell.text or " "
  end
  if now ~= plain then out[#out + 1] = plain end
  return (table.concat(out):gsub("%s+$", ""))
end

-- ---- around the panels

-- Returns the width of the gutter at the left, into which vertical words are written, one word per line.
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

-- Returns lines of at most `columns` characters that contain the texts of pieces {text, width}. gap: the text between two pieces.
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

-- Returns the mark at the left of an entry of the key, or nil.
local function mark_of(t, marks)
  for _, m in ipairs(marks) do
    local behind = t.x - m.x
    if t.anchor == "start" and math.abs(m.y - t.y) < 4 and behind > 0 and behind < 3 * WIDTH then return m end
  end
end

-- True if a text is small print, which has its own size and colour.
local function is_print(t)
  return t.size == figure.PRINT.size and ("#%02x%02x%02x"):format(t.colour.red * 255 // 1, t.colour.green * 255 // 1,
    t.colour.blue * 255 // 1) == figure.PRINT.colour
end

-- Groups words by place: the title, the panels with their axes, the key below them, and the small print.
local function sorted(texts, marks, from, to)
  local title, panels, key, print, below = {}, {}, {}, {}, {}
  for _, m in ipairs(marks) do if m.y > to then below[#below + 1] = m end end
  for _, t in ipairs(texts) do
    local mark = t.y > to and mark_of(t, below)
    if mark then key[#key + 1] = {mark = mark, text = t.text}
    elseif t.y > to and is_print(t) then print[#print + 1] = t.text
    elseif t.y < from then title[#title + 1] = t.text
    else panels[#panels + 1] = t
    end
  end
  return title, panels, key, table.concat(print, " ")
end

-- Returns the key as lines. mark(m) is the text of a mark.
local function key_lines(key, columns, mark)
  local pieces = {}
  for n, e in ipairs(key) do pieces[n] = {text = mark(e.mark) .. " " .. e.text, width = utf8.len(e.text) + 2} end
  return filled(pieces, columns, "   ")
end

--- Wraps a text between words; lines of the text stay separate.
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

-- ---- the whole picture

local function svg_at(p, width, height)
  local text = gnuplot.draw(p.script, ("svg size %d,%d noenhanced font 'Helvetica,11'"):format(width, height))
  return texts_of(text), marks_of(text)
end

local function alone(dots, x, y)
  for dy = -1, 1 do
    for dx = -1, 1 do
      local line = dots[y + dy]
      if (dx ~= 0 or dy ~= 0) and line and line[x + dx] and line[x + dx].n >= characters.ENOUGH then return false end
    end
  end
  return true
end

-- Clears the dots below the panels.
local function cut(dots, to)
  for y in pairs(dots) do if y > (to + BELOW) * 4 // HEIGHT then dots[y] = nil end end
  return dots
end

-- Clears the dots that words leave at their anchors and beside axes. (In the bitmap, words are so small that only a few pixels of
-- them are drawn.)
local function without_specks(dots, texts)
  for _, t in ipairs(texts) do
    local long = (utf8.len(t.text) or #t.text) * WIDTH / characters.BY / 3
    local from = t.x * 2 / WIDTH - long * START[t.anchor]
    for y = t.y * 4 // HEIGHT - 1 | 0, t.y * 4 // HEIGHT + 1 | 0 do
      for x = from // 1 | 0, (from + long) // 1 | 0 do
        if dots[y] and not t.rotated then dots[y][x] = nil end
      end
    end
  end
  for y, line in pairs(dots) do
    for x, dot in pairs(line) do
      if characters.is_grey(dot.colour) and dot.n < SPECK and alone(dots, x, y) then line[x] = nil end
    end
  end
  return dots
end

local function dots_at(p, columns, rows, texts)
  local picture = gnuplot.draw(p.script, ("sixelgd truecolor size %d,%d noenhanced font 'sans,1' fontscale 0.1"):format(
    columns * 2 * characters.BY, rows * 4 * characters.BY))
  return without_specks(sixel.dots(picture, characters.BY), texts)
end

-- Returns where the panels begin and end, in pixels from the top, in a picture of this height.
local function panels_of(p, height)
  local from, to, of = p.script:match "^# panels from (%d+) to (%d+) of (%d+) pixels"
  if not from then return 0, height end
  return from * height // of, to * height // of
end

local function cells_at(dots, first, last, columns, coloured)
  local grid = {}
  for row = first, last do
    grid[row] = {}
    for column = 0, columns - 1 do grid[row][column] = characters.at(dots, column, row, coloured) end
  end
  return grid
end

local LOWEST = 0.8 -- the least height relative to the original: in a lower picture, rows of words would overlap

-- Returns the words and marks of the picture, and the size of the picture without the gutter of vertical words.
local function laid_out(p, all)
  local function rows_of(columns) return p.size[2] * math.max(columns * WIDTH / p.size[1], LOWEST) // HEIGHT | 0 end
  local texts, marks = svg_at(p, all * WIDTH, rows_of(all) * HEIGHT)
  local gutter = gutter_of(texts)
  local columns = all - gutter
  if gutter > 0 then texts, marks = svg_at(p, columns * WIDTH, rows_of(columns) * HEIGHT) end
  return texts, marks, {columns = columns, rows = rows_of(columns), gutter = gutter}
end

-- True if letters can distinguish the marks of a key. If all entries are fillings, they would all have the same letter.
local function told_apart(key)
  local first = key[1] and key[1].mark.kind
  for _, e in ipairs(key) do if e.mark.kind ~= first then return true end end
  return #key < 2
end

--- Returns the number of columns that the vertical words need in a picture of this size, and a function(row) that returns their
--- characters in a row.
function braille.upright(p, columns, rows)
  local texts = svg_at(p, columns * WIDTH, rows * HEIGHT)
  local gutter = gutter_of(texts)
  return gutter, write_gutter(gutter, texts)
end

--- Returns the text below the panels: the lines of the key, with letters for marks, and the small print.
function braille.below(p, columns, letter)
  local width, height = p.size[1], p.size[2]
  local texts, marks = svg_at(p, width, height)
  local from, to = panels_of(p, height)
  local _, _, key, print = sorted(texts, marks, from, to)
  local lines = told_apart(key) and key_lines(key, columns, function(m) return letter(m.kind + 1) end)
  return lines or {}, print
end

-- Returns the lines of the panels, with vertical words at the left.
local function panel_lines(p, words, marks, place)
  local paint, plain = characters.palette()
  local from, to = panels_of(p, place.rows * HEIGHT)
  local first, last = from // HEIGHT | 0, to // HEIGHT | 0
  local dots = cut(dots_at(p, place.columns, place.rows, words), to)
  local taken, upright, out = {}, write_gutter(place.gutter, words), {}
  local grid = cells_at(dots, first, last, place.columns, plain ~= "")
  local function ground_at(row, column, n) return plain ~= "" and characters.ground_under(dots, row, column, n) or nil end
  put_marks(grid, marks, to, ground_at)
  for _, t in ipairs(words) do
    last = math.max(last, t.y // HEIGHT | 0)
    if not t.rotated then write(grid, taken, t, place.columns, ground_at) end
  end
  for row = first, last do
    out[#out + 1] = (upright(row) .. line_of(grid[row], place.columns, paint, plain)):gsub("%s+$", "")
  end
  return out
end

--- Returns the picture as lines of characters of this width, and its small print.
function braille.drawn(p, wide)
  local all = math.max(math.min(wide, WIDEST), NARROWEST)
  local paint, plain = characters.palette()
  if plain == "" then p = {script = figure.unshaded(p.script), size = p.size} end
  local texts, marks, place = laid_out(p, all)
  local from, to = panels_of(p, place.rows * HEIGHT)
  local title, words, key, print = sorted(texts, marks, from, to)
  local out = {(plain ~= "" and "\27[1m%s\27[22m" or "%s"):format(table.concat(title, " "))}
  local lines = panel_lines(p, words, marks, place)
  table.move(lines, 1, #lines, #out + 1, out)
  if plain ~= "" or told_apart(key) then
    lines = key_lines(key, all, function(m) return paint(m.colour) .. GLYPHS[(m.kind + 1) % 16] .. plain end)
    table.move(lines, 1, #lines, #out + 1, out)
  end
  return table.concat(out, "\n"), print
end

return braille
