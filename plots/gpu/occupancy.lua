--- Draws how many blocks of a kernel a multiprocessor runs at the same time, against the registers of a thread and against the
--- shared memory of a block. All else is as in the kernel, which is a dot.
local figure = require "nestwright.plots.figure"
local fit = require "nestwright.plots.fit"
local gnuplot = require "nestwright.plots.gnuplot"
local plot = require "nestwright.plots.plot"
local written = require "nestwright.show.written"

local occupancy = {}

local colour = figure.colour
local WIDTH, LEFT, RIGHT, BETWEEN, HEIGHT, SMALL = 1000, 80, 30, 70, 300, 10 -- pixels

-- The filling of the numbers that each resource limits.
local LOOKS = {
  registers = {fill = "solid 0.45", colour = colour.blue}, ["shared memory"] = {fill = "solid 0.55", colour = colour.orange},
  warps = {fill = "solid 0.3", colour = colour.grey}, blocks = {fill = "pattern 4", colour = colour.grey},
}
local ORDER = {"registers", "shared memory", "warps", "blocks"}

-- ---- steps

-- Returns the ranges of values with the same answer: {from, to, blocks, limiter}. of(v) returns {blocks, limiter}.
local function steps_of(least, most, stride, of)
  local out = {}
  for v = least, most, stride do
    local got, last = of(v), out[#out]
    if last and last.blocks == got.blocks and last.limiter == got.limiter then
      last.to = v
    else
      out[#out + 1] = {from = v, to = v, blocks = got.blocks, limiter = got.limiter}
    end
  end
  return out
end

-- Returns the largest value below `now` with which more blocks run; nil if there is none.
local function fewer(steps, now, blocks)
  local found
  for _, step in ipairs(steps) do if step.blocks > blocks and step.to < now then found = step end end
  return found and found.to, found and found.blocks
end

-- ---- panels

local BOX = "%s using 1:2:3:4:5:6 with boxxyerror fillstyle %s border lc rgb '%s' fc rgb '%s' notitle"

-- Returns the plotted boxes of the steps, and adds their limiters to `seen`.
local function boxes(f, steps, stride, warps, seen)
  local by, parts = {}, {}
  for _, step in ipairs(steps) do
    local right, top = step.to + stride, step.blocks * warps
    by[step.limiter] = by[step.limiter] or {}
    table.insert(by[step.limiter], {step.from, top / 2, step.from, right, 0, top})
  end
  for _, name in ipairs(ORDER) do
    if by[name] then
      seen[name] = true
      parts[#parts + 1] = BOX:format(f:data(by[name], "steps"), LOOKS[name].fill, "#FFFFFF", LOOKS[name].colour)
    end
  end
  return parts
end

-- Adds the number of blocks above each step that has room for it.
local function step_labels(steps, p, warps, out)
  local last
  for _, step in ipairs(steps) do
    local text = last == step.blocks and "" or p.first and written.plural(step.blocks, "block") or tostring(step.blocks)
    local wide = (step.to + p.stride - step.from) * p.per
    if text ~= "" and fit.width(text, SMALL) < wide + 6 then
      p.first = false
      local holds_kernel = step.from <= p.now and p.now < step.to + p.stride
      out[#out + 1] = ("set label %s at %.9g,%.9g center noenhanced front font ',%d' offset 0,%g"):format(gnuplot.quote(text),
        (step.from + step.to + p.stride) / 2, step.blocks * warps, SMALL, holds_kernel and 1.1 or 0.6)
    end
    last = step.blocks
  end
end

local function tics(p)
  local out = {}
  for n, v in ipairs(p.tics) do out[n] = ("%s %.9g"):format(gnuplot.quote(p.write(v)), v) end
  return ("set xtics (%s) nomirror"):format(table.concat(out, ", "))
end

-- Draws a panel. p: name, steps, stride (from a value to the next), most, now, tics, write, left, right.
local function panel(f, x, p, top, seen)
  p.per, p.first = (p.right - p.left) / (p.most + p.stride), true
  local out = {"set border 3", ("set xrange [0:%.9g]; set yrange [0:%.9g]"):format(p.most + p.stride, x.most_warps * 1.12), tics(p),
    ("set xlabel %s noenhanced"):format(gnuplot.quote(p.name))}
  if p.left == LEFT then
    local name = ("warps at the same time, of %d"):format(x.most_warps)
    out[#out + 1] = ("set ylabel %s noenhanced offset -1"):format(gnuplot.quote(name))
  end
  out[#out + 1] = "set ytics nomirror " .. x.most_warps // 4
  local parts = boxes(f, p.steps, p.stride, x.warps, seen)
  step_labels(p.steps, p, x.warps, out)
  out[#out + 1] = ("set arrow from %.9g, graph 0 to %.9g, graph 1 nohead lw 1 dt 3 lc rgb '#000000' front"):format(p.now, p.now)
  parts[#parts + 1] = f:data({{p.now, x.now.blocks * x.warps}}, "kernel")
    .. " using 1:2 with points pt 7 ps 1.4 lc rgb '#000000' notitle"
  f:panel({left = p.left, right = p.right, top = top, height = HEIGHT}, out, parts)
end

-- ---- the picture

local function now_text(x)
  return ("%s: %s of %s, %s and %s of shared memory%s: %s at the same time = %d of %d warps (%.0f %%), limited by %s"):format(
    x.title_of, "blocks", written.plural(x.threads, "thread"), written.plural(x.registers, "register"), written.bytes(x.shared),
    x.counted and ", " .. x.counted or "", written.plural(x.now.blocks, "block"), x.now.blocks * x.warps, x.most_warps,
    100 * x.now.occupancy, x.now.limiter)
end

-- Returns what would have to change so that more blocks run.
local function more_text(x, registers, shared)
  local out = {}
  local r, n = fewer(registers, x.registers, x.now.blocks)
  if r then out[1] = ("with at most %d registers, %s"):format(r, written.plural(n, "block")) end
  local b, m = fewer(shared, x.shared, x.now.blocks)
  if b then out[#out + 1] = ("with at most %d bytes of shared memory, %s"):format(b, written.plural(m, "block")) end
  if #out > 0 then return "More run " .. table.concat(out, "; ") .. "." end
  return "Neither fewer registers nor less shared memory alone lets more blocks run."
end

local function rows_of(lists)
  local out = {}
  for _, list in ipairs(lists) do
    for _, step in ipairs(list.steps) do
      out[#out + 1] = {list.name, step.from, step.to, step.blocks, step.limiter}
    end
  end
  return out
end

--- Makes the picture. x: machine (its name), threads, registers and shared of the kernel, counted (how the registers were found, or
--- nil), most_registers, most_shared, most_warps, unit (bytes by which shared memory is given to blocks), warps (of a block),
--- of(registers, shared) (returns {blocks, occupancy, limiter}), title_of (the name of the kernel), title.
function occupancy.make(x)
  x.now = x.of(x.registers, x.shared)
  local stride, seen, f = math.max(x.unit, 1), {}, figure.new {title = x.title, width = WIDTH}
  local registers = steps_of(1, x.most_registers, 1, function(v) return x.of(v, x.shared) end)
  local shared = steps_of(0, x.most_shared, stride, function(v) return x.of(x.registers, v) end)
  local middle, top = LEFT + (WIDTH - LEFT - RIGHT - BETWEEN) / 2, f.bottom + figure.GAP
  local function each(most, step) local out = {} for v = 0, most, step do out[#out + 1] = v end return out end
  local wide = 1024
  while x.most_shared / wide > 7 do wide = wide * 2 end
  panel(f, x, {name = "registers of a thread", steps = registers, stride = 1, most = x.most_registers, now = x.registers,
    tics = each(x.most_registers, 32), write = tostring, left = LEFT, right = middle}, top, seen)
  panel(f, x, {name = "shared memory of a block, in KiB", steps = shared, stride = stride, most = x.most_shared, now = x.shared,
    tics = each(x.most_shared, wide), write = function(v) return tostring(v // 1024) end, left = middle + BETWEEN,
    right = WIDTH - RIGHT}, top, seen)
  local key = {{text = "the kernel", pt = 7, colour = colour.black}}
  for _, name in ipairs(ORDER) do
    if seen[name] then key[#key + 1] = {text = "limited by " .. name, fill = LOOKS[name].fill, colour = LOOKS[name].colour} end
  end
  f:key(key)
  local small = ("From the record of %s. In each panel, everything else is as in the kernel. A number is that of blocks at the "
    .. "same time; a block has %s."):format(x.machine, written.plural(x.warps, "warp"))
  local script, size = f:finish(figure.AXIS, now_text(x) .. ". " .. small)
  return plot.new {caption = table.concat({now_text(x), more_text(x, registers, shared), small}, "\n"), script = script,
    size = size, columns = {"resource", "from", "to", "blocks", "limiter"},
    rows = rows_of {{name = "registers", steps = registers}, {name = "shared memory", steps = shared}}}
end

return occupancy
