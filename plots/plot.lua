--- A plot is a picture: its data, the script that draws it, and a caption. The extension of a file determines the saved format.
local blanks = require "nestwright.show.blanks"
local errors = require "nestwright.language.errors"
local gnuplot = require "nestwright.plots.gnuplot"
local html = require "nestwright.show.html"
local rows = require "nestwright.language.rows"
local svg = require "nestwright.plots.svg"
local written = require "nestwright.show.written"

local plot = {}

local methods = {}
local meta = {__name = "nestwright.plot", __index = methods}

--- Returns a picture. fields: caption, columns (names), rows (lists of values), script (for gnuplot, with its data), size ({width,
--- height}). Replaces control characters in the caption by blanks, because names may contain them, and a terminal would execute
--- them.
function plot.new(fields)
  fields.caption = fields.caption:gsub("[^%C\n]", " ")
  return setmetatable(fields, meta)
end

local function csv_line(list, n)
  local out = {}
  for k = 1, n do out[k] = written.csv(list[k]) end
  return table.concat(out, ",")
end

local function csv(p)
  local lines = {csv_line(p.columns, #p.columns)}
  for _, row in ipairs(p.rows) do lines[#lines + 1] = csv_line(row, #p.columns) end
  return table.concat(lines, "\n") .. "\n"
end

function meta.__tostring(p) return p.caption end

--- True if the value is a picture.
function plot.is(value) return getmetatable(value) == meta end

-- ---- the text form

local ROWS = 8 -- the largest number of rows of data in the text form

local function cell_of(value)
  if value == nil then return "" end
  return math.type(value) == "float" and ("%.6g"):format(value) or (tostring(value):gsub("%c", " "))
end

local function cells_of(p)
  local cells, width = {p.columns}, {}
  for n = 1, math.min(#p.rows, ROWS) do
    cells[n + 1] = {}
    for k = 1, #p.columns do cells[n + 1][k] = cell_of(p.rows[n][k]) end
  end
  for _, row in ipairs(cells) do
    for k, cell in ipairs(row) do width[k] = math.max(width[k] or 0, #cell) end
  end
  return cells, width
end

rows.define(methods, "plot", "pictures", "text", "(self: nw.plot): string",
  "The picture as text: its caption and the first rows of its data. This text is shown if no picture can be drawn.",
  function(p)
    local cells, width = cells_of(p)
    local out = {p.caption, ""}
    for _, row in ipairs(cells) do
      local line = {}
      for k, cell in ipairs(row) do line[k] = cell .. (" "):rep(width[k] - #cell) end
      out[#out + 1] = blanks.right("  " .. table.concat(line, "  "))
    end
    local more = #p.rows - ROWS
    if more > 0 then out[#out + 1] = ("  and %d more; plot:save \"x.csv\" writes them all"):format(more) end
    return table.concat(out, "\n")
  end)

-- ---- the drawn picture

-- Keeps gnuplot's remarks, and shows them as notes.
local function remarked(p, picture, remarks)
  p.remarks = remarks and #remarks > 0 and table.concat(remarks, "\n") or nil
  if p.remarks then require "nestwright.inside".note("gnuplot says: " .. p.remarks) end
  return picture
end

local function file_of(p, format)
  if format == "svg" then return remarked(p, svg.of(p)) end
  return remarked(p, gnuplot.picture(p.script, format, p.size))
end

rows.define(methods, "plot", "pictures", "save", "(self: nw.plot, path: string): nw.plot",
  "Writes the picture to a file: .svg, .png or .pdf; .csv for its data; .gp for a gnuplot script that contains the data.",
  function(p, path, ...)
    errors.expect("save: path", path, "string")
    if select("#", ...) > 0 then
      errors.fail("invalid", "plot:save(\"picture.png\")", "save: expected a path only: the size of a picture cannot be set")
    end
    local format = path:match "%.(%w+)$"
    local function done()
      require "nestwright.inside".saved = {value = p, path = path}
      return p
    end
    if format == "csv" then gnuplot.write(path, csv(p)) return done() end
    if format == "gp" then gnuplot.standalone(p.script, path, p.size) return done() end
    for _, known in ipairs(gnuplot.formats) do
      if format == known then gnuplot.write(path, file_of(p, format)) return done() end
    end
    errors.fail("invalid", "plot:save(\"picture.svg\")", "save: %s must end in .svg, .png, .pdf, .csv or .gp", path)
  end)

rows.define(methods, "plot", "pictures", "svg", "(self: nw.plot): string",
  "The picture as SVG text of at most 500 kB, with its caption as the description. The SVG contains lines and text or, if they "
  .. "would be too large, an image.",
  function(p) return remarked(p, svg.small(p)) end)

local MOST_SVG = 60000 -- the largest SVG, in bytes, that is included in addition to the PNG

-- Returns the picture by MIME type. The HTML has an img element, because all viewers show it, even if the notebook is not trusted.
-- (Inline SVG would lose its attributes in nbconvert.) Converters to other formats use the PNG.
local function bundle(p)
  local picture, size = p:svg(), {width = p.size[1], height = p.size[2]}
  local png = svg.base64((gnuplot.picture(p.script, "png", p.size)))
  local image = #picture <= MOST_SVG and html.image("svg+xml", svg.base64(picture), size, p.caption)
    or html.image("png", png, size, p.caption)
  return {["text/html"] = image, ["image/svg+xml"] = picture, ["image/png"] = png, ["text/plain"] = p.caption},
    {["image/png"] = size}
end

rows.define(methods, "plot", "pictures", "bundle", "(self: nw.plot): table<string, string>, table",
  "The picture for a notebook, by MIME type: text/html, an image; image/svg+xml; image/png, in base 64; and text/plain, the "
  .. "caption. The second result is its metadata. If nothing can be drawn, there is only text/plain, with the error and the text "
  .. "form.",
  function(p)
    local ok, picture, metadata = pcall(bundle, p)
    if ok then return picture, metadata end
    return {["text/plain"] = plot.undrawn(p, picture)}, {}
  end)

--- Returns the text form of a picture that could not be drawn, with the error as the reason. Raises the error again if its code is
--- not "io".
function plot.undrawn(p, err)
  if not (errors.is_error(err) and err.code == "io") then error(err, 0) end
  return p:text() .. "\n\nnot drawn: " .. tostring(err)
end

rows.define(methods, "plot", "pictures", "show", "(self: nw.plot)",
  "Draws the picture on the terminal in the best way that the terminal supports: kitty's graphics, sixel, braille, or plain "
  .. "characters. The environment variable NESTWRIGHT_GRAPHICS (kitty, sixel, braille, dumb, none) overrides the choice. If the "
  .. "output is not a terminal, it prints the caption. The prompt draws a picture that is the value of a line; a notebook shows it "
  .. "as nw.display does.",
  function(p)
    local display = require "nestwright.show.display"
    if display.front() then display.new(p) return end
    io.stdout:write(require "nestwright.plots.terminal".shown(p), "\n")
    io.stdout:flush()
  end)

rows.define(methods, "plot", "pictures", "window", "(self: nw.plot): nw.plot",
  "Shows the picture in a desktop window, which stays open: a window of gnuplot, or the desktop's viewer for SVG files.",
  function(p)
    require "nestwright.plots.window".open(p)
    return p
  end)

return plot
