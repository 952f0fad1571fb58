--- Makes ten calibrations, four of them while other work runs. Measures how much their figures differ, and checks whether the
--- figures are plausible.
local bench = require "_bench"
local load = require "_load"
local core = require "nestwright.core"
local host = require "nestwright.hw.host"

package.cpath = "build/bench/?.so;" .. package.cpath

local SHOWN = 1.1 -- figures that differ more between two calibrations are printed
local NONE = 0.1 -- cycles; added to both costs before they are compared, because smaller costs are negligible
-- The load during each calibration, as an index in load.kinds. 0 is load.heavy.
local ORDER = {1, 1, 2, 1, 3, 1, 4, 1, 0, 1}

-- The least and the greatest plausible value of each figure for processors since 2013. The values come from Agner Fog's instruction
-- tables and from manuals. They are independent of the bounds that the calibration uses.
local PLAUSIBLE = {
  {"^branch_miss$", 8, 40}, {"^line_crossing$", 0.2, 30}, {"^store_crossing$", 0.05, 30}, {"^page_crossing$", 0.2, 300},
  {"^foretold$", 8, 600}, {"^window$", 90, 800}, {"^dispatch$", 3.5, 10.5}, {"^loop$", 0.5, 2.2}, {"^call$", 1, 12},
  {"^clock$", 0.8, 6}, {"^forward$", 1, 25}, {"^gather$", 0.2, 6}, {"back_per_cycle$", 1, 130},
  {"^caches%[1%]%.bytes_per_cycle$", 15, 260}, {"^caches%[%d%]%.bytes_per_cycle$", 1, 130}, {"^caches%[1%]%.latency$", 3, 7},
  {"^caches%[2%]%.latency$", 9, 40}, {"^memory%.latency$", 40, 500}, {"^ops%.fma%.latency$", 3, 6}, {"^ops%.add%.latency$", 2, 6},
  {"^ops%.fma%.per_cycle%[%d%]$", 0.9, 4.2}, {"^ops%.int%.per_cycle%[1%]$", 2.5, 8.5}, {"^ops%.div%.latency$", 8, 30},
}

local function implausible(figures)
  local out = {}
  for path, value in pairs(figures) do
    for _, row in ipairs(PLAUSIBLE) do
      if path:find(row[1]) then
        if value < row[2] or value > row[3] then out[#out + 1] = ("%s = %.4g"):format(path, value) end
        break
      end
    end
  end
  return out
end

-- Calibrates in this process, without storing the results.
local function calibration()
  local figures, intervals = {}, {}
  local _, dispatch = host.family()
  for path, f in pairs(core.calibrate(dispatch or 0)) do
    figures[path] = f.value
    if f.shared then intervals[path] = {f.lo, f.hi} end
  end
  return {figures = figures, intervals = intervals}
end

local function count(t)
  local n = 0
  for _ in pairs(t) do n = n + 1 end
  return n
end

-- Returns the values of one figure as a text, in the order of the calibrations. A dash stands for a value that was not accepted.
local function values_of(runs, path)
  local out = {}
  for i, run in ipairs(runs) do out[i] = run.figures[path] and (" %.3g"):format(run.figures[path]) or " -" end
  return table.concat(out)
end

-- Compares the figures that do not depend on other programs. Returns the greatest ratio of two values of one figure, the path of
-- this figure, and the number of figures that at least half of the calibrations accepted.
local function spread(runs)
  local least, most, times, worst, where, often = {}, {}, {}, 1, "", 0
  local lines = {}
  for _, run in ipairs(runs) do
    for path, v in pairs(run.figures) do
      if not run.intervals[path] then
        least[path], most[path] = math.min(least[path] or v, v), math.max(most[path] or v, v)
        times[path] = (times[path] or 0) + 1
      end
    end
  end
  for path, n in pairs(times) do
    local none = path:find "per_cycle" and 0 or NONE
    local ratio = (most[path] + none) / (least[path] + none)
    if ratio > SHOWN then lines[#lines + 1] = ("  %s:%s"):format(path, values_of(runs, path)) end
    if ratio > worst then worst, where = ratio, path end
    if n >= #runs / 2 then often = often + 1 end
  end
  table.sort(lines)
  for _, line in ipairs(lines) do print(line) end
  return worst, where, often
end

-- Compares the values of each calibration with the intervals of every other calibration. Returns the number of values outside an
-- interval, and the number of comparisons.
local function misses(runs)
  local missed, all, by_path = 0, 0, {}
  for i, a in ipairs(runs) do
    for k, b in ipairs(runs) do
      for path, interval in pairs(a.intervals) do
        local v = b.figures[path]
        if i ~= k and v and (path:find "^memory" or path:find "^caches") then
          all = all + 1
          if v < interval[1] or v > interval[2] then missed, by_path[path] = missed + 1, (by_path[path] or 0) + 1 end
        end
      end
    end
  end
  for path, n in pairs(by_path) do print(("  %s: outside of %d intervals"):format(path, n)) end
  return missed, all
end

-- Compares two figures with loops in C that were written and compiled separately. Returns the figures that are less than half, or
-- more than twice, the value that the loop shows.
local function against_loops(runs)
  local peers, out = require "peers", {}
  for _, path in ipairs {"branch_miss", "line_crossing"} do
    local list = {}
    for _, run in ipairs(runs) do list[#list + 1] = run.figures[path] end
    local loop = peers[path]()
    if #list > 0 then
      local ours = bench.median(list)
      print(("  %s: %.2f cycles; a loop in C: %.2f"):format(path, ours, loop))
      if ours > 2 * loop or loop > 2 * ours then out[#out + 1] = ("%s = %.4g"):format(path, ours) end
    end
  end
  return out
end

return function(out)
  if not pcall(core.calibrate, 0) then
    print "truth.calibration_spread: skipped: machines are measured on x86-64 only"
    for _, name in ipairs {"spread", "implausible"} do out:record("truth.calibration_" .. name, 0) end
    return out:record("truth.interval_misses", 0)
  end
  local cores, runs, wrong = require "nestwright.measure.times".cores(), {}, {}
  for n, kind in ipairs(ORDER) do
    kind = kind == 0 and load.heavy or load.kinds[kind]
    local stop = load.start(kind, cores)
    runs[n] = calibration()
    stop()
    print(("  calibration %d, %s: %d figures"):format(n, kind.name, count(runs[n].figures)))
    for _, words in ipairs(implausible(runs[n].figures)) do wrong[#wrong + 1] = words end
    os.execute "sleep 1"
  end
  for _, words in ipairs(against_loops(runs)) do wrong[#wrong + 1] = words end
  for _, words in ipairs(wrong) do print("  implausible: " .. words) end
  local worst, where, often = spread(runs)
  print(("  the figure that differs most: %s"):format(where))
  local missed, all = misses(runs)
  out:bar("truth.calibration_figures", often, ">=", 60)
  out:bar("truth.calibration_spread", worst, "<=", 1.25)
  out:bar("truth.intervals_of", all, ">=", 100)
  out:bar("truth.interval_misses", all > 0 and missed / all or 1, "<=", 0.1)
  out:bar("truth.calibration_implausible", #wrong, "<=", 0)
end
