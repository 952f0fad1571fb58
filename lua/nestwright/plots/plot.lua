--- A picture: its data, the script that draws it, a caption in words. Saved in the format that a file's name asks for.
local errors = require "nestwright.errors"
local gnuplot = require "nestwright.plots.gnuplot"
local rows = require "nestwright.rows"
local written = require "nestwright.written"

local plot = {}

local methods = {}
local meta = {__name = "nestwright.plot", __index = methods}

--- `fields`: caption, columns (names), rows (lists of values), script (of gnuplot, with its data), size ({width, height}).
function plot.new(fields) return setmetatable(fields, meta) end

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

rows.define(methods, "plot", "save", "(self: nw.plot, path: string): nw.plot",
  "Writes the picture: .svg, .png or .pdf; .csv is its data, .gp a gnuplot script with the data, which runs anywhere.",
  function(p, path)
    errors.expect("save: path", path, "string")
    local format = path:match "%.(%w+)$"
    if format == "csv" then gnuplot.write(path, csv(p)) return p end
    if format == "gp" then gnuplot.standalone(p.script, path, p.size) return p end
    for _, known in ipairs(gnuplot.formats) do
      if format == known then gnuplot.run(p.script, format, path, p.size) return p end
    end
    errors.fail("invalid", "plot:save(\"picture.svg\")", "save: %s does not end in .svg, .png, .pdf, .csv or .gp", path)
  end)

return plot
