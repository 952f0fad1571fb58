--- Compares the figures of two commits: _against.lua NAME OUT HERE.json[,...] THERE.json[,...] [DIRECTIONS.json] HERE and THERE are
--- the figures of the runs of each commit. The runs of the two commits alternate, so that a change in the speed of the machine
--- affects both. The value of a figure is the median over the runs. Two lists of values are distinguishable if every value of one
--- list is greater than every value of the other list. For two equal programs with five runs each, the probability that the lists
--- are distinguishable is 1/126.
package.path = "tests/bench/?.lua;" .. package.path
local json = require "nestwright.show.json"
local bench = require "_bench"

local name, path = arg[1], arg[2]

local function read(file)
  local f = assert(io.open(file))
  local text = f:read "a"
  f:close()
  return json.decode(text)
end

local function runs(list)
  local out = {}
  for file in list:gmatch "[^,]+" do out[#out + 1] = read(file) end
  return out
end

local here, there = runs(arg[3]), runs(arg[4])
local directions = arg[5] and read(arg[5]) or {} -- for each figure with a bar: ">=" (more is better) or "<=" (less is better)

local function values(of, figure)
  local out = {}
  for _, run in ipairs(of) do out[#out + 1] = run[figure] end
  table.sort(out)
  return out
end

local names = {}
for figure in pairs(here[1]) do if there[1][figure] then names[#names + 1] = figure end end
table.sort(names)

local out = bench.open(path)
local worse, compared = 0, 0
print(("%-36s %12s %12s %8s"):format(name .. ", " .. #here .. " runs each", "this", "that", "better"))
for _, figure in ipairs(names) do
  local mine, theirs = values(here, figure), values(there, figure)
  local a, b = bench.median(mine), bench.median(theirs)
  local better = directions[figure] == "<=" and b / a or a / b
  local apart = mine[1] > theirs[#theirs] or theirs[1] > mine[#mine]
  local direction = directions[figure]
  local regressed = direction and apart and better < 0.97
  if direction then compared = compared + 1 end
  if regressed then worse = worse + 1 end
  print(("%-36s %12.4g %12.4g %8s  %s"):format(figure, a, b, better == better and ("%.3f"):format(better) or "-",
    not direction and "no bar, so no direction" or regressed and "WORSE" or apart and "distinguishable" or "not distinguishable"))
  if better == better and math.abs(better) < math.huge then out:record(figure, better) end
end
out:bar(name .. ".compared", compared, ">=", 1)
out:bar(name .. ".regressions", worse, "<=", 0)
out:close()
