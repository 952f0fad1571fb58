--- nw.beside shows values in columns, side by side: schedules, pictures, numbers and text.
local blanks = require "nestwright.show.blanks"
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local html = require "nestwright.show.html"
local rows = require "nestwright.language.rows"
local view = require "nestwright.show.view"

local MOST_SVG = 40000 -- the largest number of bytes of an SVG; a larger picture is shown as a bitmap
local COLUMNS = 112 -- the number of columns of text for all values in a row
local GAP = 3 -- the number of columns of text between two values

local function plain(value) return require "nestwright.show.prompt".text(false, value) end

local function kind_of(value)
  local meta = debug.getmetatable(value)
  return type(meta) == "table" and type(value) ~= "string" and rawget(meta, "__name") or type(value)
end

-- Returns the HTML of a picture. It contains an SVG if the SVG is small and smaller than the bitmap, otherwise the bitmap. If the
-- picture cannot be drawn, it contains the picture's text.
local function drawn(plot)
  local bundle = plot:bundle()
  local png, picture = bundle["image/png"], bundle["image/svg+xml"]
  if not png then return html.pre(bundle["text/plain"]) end
  local size = {width = plot.size[1], height = plot.size[2]}
  if #picture < MOST_SVG and #picture * 4 // 3 < #png then return bundle["text/html"] end
  return html.image("png", png, size, plot.caption)
end

-- Returns the HTML of a text of several lines, such as loops. Lines are wrapped at `most` characters, so that the columns fit side
-- by side.
local function folded(text, most)
  local lines = {}
  for line in (text .. "\n"):gmatch "(.-)\n" do lines[#lines + 1] = html.hanging(html.escape(line), most) end
  return "<pre>" .. table.concat(lines, "\n") .. "</pre>"
end

local function piece_of(value, most)
  local kind = kind_of(value)
  if kind == "nestwright.plot" then return drawn(value) end
  if kind == "nestwright.schedule" then return folded(tostring(value), most) end
  if kind == "string" and value:find "\n" then return folded(value, most) end
  if kind == "string" or kind == "number" then return html.escape(tostring(value)) end
  return (require "nestwright.show.mime".piece(value, plain))
end

-- Returns an HTML table with the columns from `first` to `last`. `most` is the largest number of columns in a table.
local function table_of(columns, first, last, most)
  local out, deepest = {"<table>"}, 0
  for n = first, last do deepest = math.max(deepest, #columns[n]) end
  for k = 1, deepest do
    local cells = {}
    for n = first, last do
      local tag = k == 1 and "th" or "td"
      local piece = columns[n][k] ~= nil and piece_of(columns[n][k], COLUMNS // most) or ""
      cells[#cells + 1] = ("<%s valign=\"top\" width=\"%d%%\" style=\"vertical-align:top\">%s</%s>"):format(tag, 100 // most,
        html.left(piece), tag)
    end
    out[#out + 1] = "<tr>" .. table.concat(cells) .. "</tr>"
  end
  return table.concat(out, "\n") .. "\n</table>"
end

local function page_of(columns, most)
  local out = {}
  for first = 1, #columns, most do out[#out + 1] = table_of(columns, first, math.min(first + most - 1, #columns), most) end
  return table.concat(out, "\n")
end

local function lines_of(text)
  local out = {}
  for line in (text .. "\n"):gmatch "(.-)\n" do out[#out + 1] = line end
  return out
end

local function width_of(line) return utf8.len(line) or #line end

-- Returns a text that shows the texts side by side, or one below the other if they are too wide.
local function lined_up(texts)
  local columns, width, total, deepest = {}, {}, GAP * (#texts - 1), 0
  for n, text in ipairs(texts) do
    columns[n], width[n] = lines_of(text), 0
    for _, line in ipairs(columns[n]) do width[n] = math.max(width[n], width_of(line)) end
    total, deepest = total + width[n], math.max(deepest, #columns[n])
  end
  if total > COLUMNS then return table.concat(texts, "\n\n") end
  local out = {}
  for k = 1, deepest do
    local cells = {}
    for n, lines in ipairs(columns) do
      local line = lines[k] or ""
      cells[n] = line .. (" "):rep(width[n] - width_of(line))
    end
    out[k] = blanks.right(table.concat(cells, (" "):rep(GAP)))
  end
  return table.concat(out, "\n")
end

local function words_of(columns, most)
  local out, texts = {}, {}
  for n, column in ipairs(columns) do
    local words = {}
    for k, value in ipairs(column) do words[k] = type(value) == "string" and value or plain(value) end
    texts[#texts + 1] = table.concat(words, "\n")
    if #texts == most or n == #columns then out[#out + 1], texts = lined_up(texts), {} end
  end
  return table.concat(out, "\n\n")
end

local function beside(columns, options)
  local o = errors.options("beside", options, {"most"})
  local most = o.most or #columns
  if math.type(most) ~= "integer" or #columns > 0 and most < 1 then
    errors.fail("invalid", "{most = 2}", "beside: most: %s is not a number of columns", tostring(most))
  end
  for n, column in ipairs(columns) do
    for k, value in ipairs(column) do
      if type(value) == "string" then core.check_text(("beside: columns[%d][%d]"):format(n, k), value, true) end
    end
  end
  if #columns == 0 then errors.fail("invalid", "{{\"before\", s}, {\"after\", t}}", "beside: there are no columns") end
  return view.new(function(style) return style == "html" and page_of(columns, most) or words_of(columns, most) end)
end

return function(nw)
  rows.define(nw, "nw", "notebook", "beside", "(columns: any[][], options?: {most?: integer}): nw.view",
    "Shows values side by side. Each column is a list whose first value is a heading; the others are schedules, pictures, "
    .. "tables, words and numbers. most: the largest number of columns in a row; further columns continue below. Without "
    .. "HTML, columns that are too wide together are shown one below the other.", beside)
end
