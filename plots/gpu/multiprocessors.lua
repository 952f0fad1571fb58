--- What pictures of multiprocessors over time share: the panel, its boxes, and sentences.
local axis = require "nestwright.plots.axis"
local figure = require "nestwright.plots.figure"
local gnuplot = require "nestwright.plots.gnuplot"
local written = require "nestwright.show.written"

local multiprocessors = {}

local LEFT, RIGHT, HEIGHT = 110, 40, 320 -- pixels

multiprocessors.width = 1000 -- pixels
multiprocessors.idle = {text = "no block: the multiprocessor is idle", fill = "pattern 4", colour = figure.colour.grey}

--- Returns the pixels of a second, and those of a multiprocessor.
function multiprocessors.scale(x, finish) return (multiprocessors.width - LEFT - RIGHT) / finish, HEIGHT / x.sms end

--- Returns the part of the time of all multiprocessors in which they have no block. boxes: {from, to, first, last, idle}.
function multiprocessors.idle_share(boxes, x, finish)
  local idle = 0
  for _, b in ipairs(boxes) do if b.idle then idle = idle + (b.to - b.from) * (b.last - b.first) end end
  return idle / (finish * x.sms)
end

--- Returns what gnuplot draws for boxes {from, to, top, bottom, look}, where a look has fill and colour. edges: true if boxes have
--- edges.
function multiprocessors.parts(f, boxes, looks, edges)
  local parts = {}
  for _, look in ipairs(looks) do
    local rows = {}
    for _, b in ipairs(boxes) do
      if b.look == look then
        rows[#rows + 1] = {(b.from + b.to) / 2, (b.top + b.bottom) / 2, b.from, b.to, b.top, b.bottom}
      end
    end
    if #rows > 0 then
      parts[#parts + 1] = ("%s using 1:2:3:4:5:6 with boxxyerror fillstyle %s %s fc rgb '%s' notitle"):format(
        f:data(rows, "waves"), look.fill, edges and "border lc rgb '#FFFFFF'" or "noborder", look.colour)
    end
  end
  return parts
end

--- Returns the command for a label in the middle of a box.
function multiprocessors.label(text, b, size, upright)
  return ("set label %s at %.9g,%.9g center%s noenhanced front font ',%d'"):format(gnuplot.quote(text), (b.from + b.to) / 2,
    (b.top + b.bottom) / 2, upright and " rotate by 90" or "", size)
end

--- Draws the panel. name: of the vertical axis.
function multiprocessors.panel(f, x, finish, name, labels, parts)
  local out = {"set border 3", ("set yrange [%d:0]"):format(x.sms), axis.commands("x", 0, finish, false, written.seconds),
    "set xtics nomirror", "set ytics nomirror " .. math.max(1, x.sms // 6), "set xlabel 'time'",
    ("set ylabel %s noenhanced offset -1"):format(gnuplot.quote(name)), table.unpack(labels)}
  f:panel({left = LEFT, right = multiprocessors.width - RIGHT, top = f.bottom + figure.GAP, height = HEIGHT}, out, parts)
end

--- Returns a sentence about what all multiprocessors wait for, or an empty text. x: stretch (the time of a wave divided by that of
--- its multiprocessors) and by (what they share).
function multiprocessors.shared(x)
  if x.stretch <= 1.001 then return "" end
  return (" The multiprocessors wait for the %s, which they share: this takes %.2f times as long as they alone would need."):format(
    x.by, x.stretch)
end

return multiprocessors
