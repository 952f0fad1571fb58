--- Sets up axes of measured numbers: their ranges, and ticks at round values with units.
local gnuplot = require "nestwright.plots.gnuplot"

local axis = {}

local LEAST, MOST = 1e-306, 1e306 -- the range of numbers that gnuplot can compute with

-- Returns a step of 1, 2 or 5 times a power of ten, such that at most `most` steps cover the range.
local function step_of(range, most)
  local power = 10 ^ math.floor(math.log(range / most, 10))
  for _, times in ipairs {1, 2, 5} do
    if times * power * most >= range * (1 - 1e-9) then return times * power end
  end
  return 10 * power
end

local function linear(lo, hi, most)
  local step, out = step_of(hi - lo, most), {}
  for k = math.ceil(lo / step - 1e-9), math.floor(hi / step + 1e-9) do out[#out + 1] = k * step end
  return out
end

-- Returns the powers of ten in the range. If the range has less than two decades, also returns two and five times each power. If
-- the range has more than eight decades, some powers are left out.
local function powers(lo, hi)
  local from, to, out = math.floor(math.log(lo, 10) + 1e-9), math.ceil(math.log(hi, 10) - 1e-9), {}
  local stride, times = (to - from + 7) // 8, math.log(hi / lo, 10) < 2 and {1, 2, 5} or {1}
  for k = from, to, stride do
    for _, t in ipairs(times) do
      local v = t * 10.0 ^ k
      if v >= lo * (1 - 1e-9) and v <= hi * (1 + 1e-9) then out[#out + 1] = v end
    end
  end
  return out
end

--- Returns the values from lo to hi that have ticks.
function axis.values(lo, hi, log, most)
  if log then return powers(lo, hi) end
  return linear(lo, hi, most or 6)
end

--- Returns the gnuplot commands for axis "x", "y" or "cb" from lo to hi. write(v) returns the label of a tick. gnuplot treats
--- labels as formats, so % is escaped.
function axis.commands(which, lo, hi, log, write, most)
  lo, hi = math.max(lo, log and LEAST or -MOST), math.min(hi, MOST)
  local tics = {}
  for n, v in ipairs(axis.values(lo, hi, log, most)) do
    tics[n] = ("%s %.9g"):format(gnuplot.quote((write(v):gsub("%%", "%%%%"))), v)
  end
  return ("%sset %srange [%.9g:%.9g]; set %stics (%s)"):format(log and ("set logscale %s 10; "):format(which) or "", which, lo, hi,
    which, table.concat(tics, ", "))
end

return axis
