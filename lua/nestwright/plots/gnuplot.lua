--- gnuplot: scripts with their data in them, run to make a file. What a user names is only ever text or a number in them.
local errors = require "nestwright.errors"

local gnuplot = {}

local OLDEST = 5.4

--- Text as gnuplot reads it: in single quotes nothing is executed, nothing is a variable. A single quote is joined on: two in
--- a row stand for one only where no other is next to them.
function gnuplot.quote(text)
  return "'" .. tostring(text):gsub("[%c]", " "):gsub("'", "'.\"\\047\".'") .. "'"
end

--- Lines of a datablock: $name << EOD.
function gnuplot.data(name, lines)
  local out = {("$%s << EOD"):format(name)}
  for _, line in ipairs(lines) do out[#out + 1] = line end
  out[#out + 1] = "EOD"
  return table.concat(out, "\n")
end

-- ---- running

local function output_of(command)
  local pipe = io.popen(command)
  if not pipe then return "", false end
  local text = pipe:read "a"
  return text, pipe:close() == true
end

local checked
local function check_installed()
  if checked then return end
  local text = output_of "gnuplot --version 2>/dev/null"
  local version = tonumber(text:match "^gnuplot (%d+%.%d+)")
  if not version then
    errors.fail("io", "Debian: apt install gnuplot-nox; plot:save(\"x.gp\") and \".csv\" do without it", "gnuplot is not installed")
  elseif version < OLDEST then
    errors.fail("io", nil, "gnuplot %s is too old: %s is the oldest that will do", version, OLDEST)
  end
  checked = true
end

local TERMINALS = {
  svg = "svg size %d,%d noenhanced font 'Helvetica,13' background rgb 'white'",
  png = "pngcairo size %d,%d noenhanced font 'Helvetica,11'",
  pdf = "pdfcairo size %gin,%gin noenhanced font 'Helvetica,11'",
}

local function terminal(format, width, height)
  if format == "pdf" then width, height = width / 100, height / 100 end
  return "set terminal " .. TERMINALS[format]:format(width, height)
end

local function write(path, text)
  local file, why = io.open(path, "w")
  if not file then errors.fail("io", nil, "cannot write %s", why) end
  file:write(text)
  file:close()
end

--- The formats that gnuplot makes.
gnuplot.formats = {"svg", "png", "pdf"}

--- Runs a script; the picture goes to `path`. size: {width, height} in pixels.
function gnuplot.run(script, format, path, size)
  check_installed()
  local file = os.tmpname()
  local head = terminal(format, size[1], size[2]) .. "\nset output " .. gnuplot.quote(path)
  write(file, head .. "\n" .. script .. "\nunset output\n")
  local said, ok = output_of(("gnuplot '%s' 2>&1"):format(file))
  os.remove(file)
  if not ok then
    errors.fail("io", "The data is kept: plot:save(\"x.gp\") writes the script.", "gnuplot failed: %s",
      said:match "[^\n]*%S[^\n]*" or "it said nothing")
  end
end

--- A script that runs anywhere: `gnuplot x.gp` makes x.svg.
function gnuplot.standalone(script, path, size)
  local base = path:match "([^/]*)%.gp$" or "plot"
  write(path, table.concat({"# gnuplot " .. base .. ".gp writes " .. base .. ".svg", terminal("svg", size[1], size[2]),
    "set output " .. gnuplot.quote(base .. ".svg"), script, "unset output", ""}, "\n"))
end

gnuplot.write = write

return gnuplot
