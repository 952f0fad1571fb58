--- Runs gnuplot on scripts that contain their data. Text from users appears in a script only in quotes.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"

local gnuplot = {}

local OLDEST = {5, 4}
local SIGXFSZ = 25

--- Quotes text for gnuplot in single quotes, because gnuplot executes and substitutes nothing between them. A single quote in the
--- text becomes a separate string, joined with '.'. (A doubled quote would not work if several quotes are adjacent.) If the
--- text is not valid UTF-8, each byte that is not ASCII becomes a question mark, because a file with invalid UTF-8 is unreadable.
function gnuplot.quote(text)
  text = tostring(text)
  if not utf8.len(text) then text = text:gsub("[\x80-\xff]", "?") end
  return "'" .. text:gsub("[%c]", " "):gsub("'", "'.\"\\047\".'") .. "'"
end

--- Returns lines as a datablock of gnuplot: $name << EOD.
function gnuplot.data(name, lines)
  local out = {("$%s << EOD"):format(name)}
  for _, line in ipairs(lines) do out[#out + 1] = line end
  out[#out + 1] = "EOD"
  return table.concat(out, "\n")
end

-- ---- running

local KEPT = "The data is in plot.rows. plot:save(\"x.csv\") writes it, plot:save(\"x.gp\") writes the script; "
  .. "both work without gnuplot."

local function fail(message, ...) errors.fail("io", KEPT, message, ...) end

local function missing()
  errors.fail("io", "Debian: apt install gnuplot-nox. " .. KEPT, "gnuplot is not installed")
end

-- Returns gnuplot's messages, without fontconfig's complaints about fonts.
local function remarks(said)
  local lines = {}
  for line in said:gmatch "[^\n]+" do
    if line:find "%S" and not line:lower():find "fontconfig" then lines[#lines + 1] = line:match "^%s*(.-)%s*$" end
  end
  return lines
end

local function run(words, input, what)
  local ok, r = pcall(core.run_program, words, input, what)
  if ok then return r or missing() end
  if errors.is_error(r) and r.code == "io" then fail("%s", r.message) end
  error(r, 0)
end

local function check_ending(r)
  local said = remarks(r.said)
  if r.status == -SIGXFSZ then fail "gnuplot was stopped: its picture exceeds the limit on file sizes (ulimit -f)" end
  if r.status < 0 then fail("gnuplot was killed by signal %d", -r.status) end
  if r.status > 0 then fail("gnuplot failed: %s", said[1] or "it ended with status " .. r.status) end
  return said
end

local checked
local function check_installed()
  if checked then return end
  local r = run({"gnuplot", "--version"}, nil, "gnuplot starts")
  local major, minor = r.out:match "^gnuplot (%d+)%.(%d+)"
  if not major then
    check_ending(r)
    fail "the program named gnuplot does not report its version"
  end
  major, minor = tonumber(major), tonumber(minor)
  if major < OLDEST[1] or (major == OLDEST[1] and minor < OLDEST[2]) then
    fail("gnuplot %d.%d is too old: version %d.%d is required", major, minor, table.unpack(OLDEST))
  end
  checked = true
end

local known
--- True if this gnuplot has the terminal with this name.
function gnuplot.has(name)
  check_installed()
  if not known then
    local r = run({"gnuplot", "-d", "/dev/stdin"}, "set print '-'\nprint GPVAL_TERMINALS\n", "gnuplot starts")
    check_ending(r)
    known = " " .. r.out:gsub("%s+", " ") .. " "
  end
  return known:find(" " .. name .. " ", 1, true) ~= nil
end

--- Returns gnuplot's output for a script on a terminal (such as "pngcairo size 800,600"), and its remarks as a list of lines.
function gnuplot.draw(script, terminal)
  check_installed()
  local r = run({"gnuplot", "-d", "/dev/stdin"}, "set terminal " .. terminal .. "\n" .. script .. "\n", "gnuplot draws")
  local said = check_ending(r)
  if r.out == "" then fail("gnuplot drew nothing%s", said[1] and ": " .. said[1] or "") end
  return r.out, said
end

--- Shows the picture of a script in a window, which stays open after gnuplot ends.
function gnuplot.open_window(script, terminal)
  local words = {"gnuplot", "-d", "-persist", "/dev/stdin"}
  check_ending(run(words, "set terminal " .. terminal .. "\n" .. script .. "\n", "gnuplot draws"))
end

-- Sizes of fonts are pixels in all formats, because figures are laid out in pixels. gnuplot measures fonts in pixels for SVG, and
-- in points of 4/3 pixel for bitmaps. A PDF has 100 pixels or 72 points per inch. The marks of cairo are smaller than those of SVG.
local FONT, POINT = "font 'Helvetica,13'", {png = 0.75, pdf = 0.72}
local MARK = 1.8

local TERMINALS = {
  svg = "svg size %d,%d noenhanced " .. FONT .. " background rgb 'white'",
  png = "pngcairo size %d,%d noenhanced " .. FONT,
  pdf = "pdfcairo size %gin,%gin noenhanced " .. FONT,
}

-- Returns the scales of fonts, marks and lines in a bitmap or PDF, relative to a picture of the original size.
local function scales(format, scale)
  if not POINT[format] then return "" end
  return (" fontscale %g pointscale %g linewidth %g"):format(POINT[format] * scale, MARK * scale, scale)
end

--- The formats that gnuplot can write.
gnuplot.formats = {"svg", "png", "pdf"}

--- Returns the picture of a script as "svg", "png" or "pdf", and gnuplot's remarks. size: {width, height} in pixels; scale: a
--- factor for the size of a PNG.
function gnuplot.picture(script, format, size, scale)
  local width, height = size[1], size[2]
  if format == "pdf" then width, height = width / 100, height / 100 end
  if scale and scale ~= 1 then
    width, height = math.max(width * scale // 1, 1), math.max(height * scale // 1, 1)
  end
  return gnuplot.draw(script, TERMINALS[format]:format(width, height) .. scales(format, scale or 1))
end

--- Returns the picture of a script as sixels, and gnuplot's remarks. The fonts are counted in points, as in a PNG.
function gnuplot.sixels(script, size, scale)
  return gnuplot.draw(script, ("sixelgd truecolor size %d,%d noenhanced font 'sans,%d' fontscale %g linewidth %g"):format(
    size[1] * scale // 1, size[2] * scale // 1, 13, POINT.png * scale, math.max(scale, 1)))
end

function gnuplot.write(path, text) core.write_file("save", path, text) end

--- Writes a script that needs no other file: `gnuplot x.gp` makes x.svg.
function gnuplot.standalone(script, path, size)
  local base = path:match "([^/]*)%.gp$" or "plot"
  gnuplot.write(path, table.concat({"# gnuplot " .. base .. ".gp writes " .. base .. ".svg",
    "set terminal " .. TERMINALS.svg:format(size[1], size[2]), "set output " .. gnuplot.quote(base .. ".svg"), script,
    "unset output", ""}, "\n"))
end

return gnuplot
