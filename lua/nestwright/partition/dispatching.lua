--- Makes the versions of a kernel that runs the best partition strategy for the sizes of each call. The sizes are divided into
--- boxes, which are the leaves of a decision tree (decision.lua). Each leaf has a strategy.
local core = require "nestwright.core"
local decision = later "nestwright.partition.decision"
local distribution = later "nestwright.partition.distribution"
local errors = require "nestwright.language.errors"
local report = require "nestwright.show.report"
local strategies = later "nestwright.partition.strategies"

local WORTH = 0.005 -- a further leaf must save this fraction of the cost of the best single row
local DEARER = 4 -- the factor between successive prices of code

-- Returns the figure to minimize, for each shape. For the objective `size`, all figures are 0, because the only cost is the price
-- of a leaf, which is its bytes of code (see price).
local function figures_of(c, row)
  local seconds, out = c.cost == "measured" and row.measured or row.predicted, {}
  for n in ipairs(c.sizes) do
    if c.objective == "size" then out[n] = 0
    elseif c.objective == "energy" then out[n] = row.energies[n]
    elseif c.objective == "edp" then out[n] = row.energies[n] * seconds[n]
    else out[n] = seconds[n] end
  end
  return out
end

-- Returns the rows that a leaf may use, with their figures, and the cost of the best single row.
local function ways_of(c, list)
  local ways, least, weights = {}, math.huge, 0
  for _, shape in ipairs(c.sizes) do weights = weights + shape.weight end
  for _, row in ipairs(list) do
    if not row.refused and row.fits then
      local way = {row = row, figures = figures_of(c, row)}
      ways[#ways + 1], least = way, math.min(least, weights * distribution.mean(c.sizes, way.figures))
    end
  end
  if #ways == 0 and list[1].refused then
    errors.fail("invalid", list[1].hint, "dispatch: all strategies were refused; %s: %s", list[1].strategy,
      list[1].refused)
  end
  if #ways == 0 then
    errors.fail("limit", nil, "partition_auto: no strategy has at most %s bytes of code", tostring(c.code_limit))
  end
  return ways, least
end

-- Sets the price of a leaf for each row. If the objective is size, the price is the bytes of code, and there are no other costs.
-- Otherwise, the price is a fraction of the cost of the best single row, plus a price for the bytes of code.
local function price(c, ways, least, of_code)
  for _, way in ipairs(ways) do
    local bytes = way.row.code_bytes or 0 -- unknown for a GPU
    way.price = c.objective == "size" and bytes or WORTH * least + of_code * least * bytes
  end
end

-- Adds the versions of a row to the kernel, as {version, facts}, with the facts of a leaf as their conditions. The last version of
-- the kernel must have no conditions.
local function add_versions(c, row, facts, is_last, out, tell)
  local s = c.schedule
  local function applied(known)
    s:checkout(c.base)
    for _, fact in ipairs(known) do s:assume(fact) end
    return strategies.apply("partition_auto", s, s:loop(c.name), row.strategy, row.kernels, c.around, c.across, tell)
  end
  local function add(case, known)
    local all = table.move(known, 1, #known, 1, {})
    out[#out + 1] = {version = case.version, facts = table.move(case.facts, 1, #case.facts, #all + 1, all)}
  end
  local cases = applied(facts)
  for n, case in ipairs(cases) do
    if n < #cases or not is_last or #facts == 0 then add(case, facts) end
  end
  if is_last and #facts > 0 then
    cases = applied {}
    add(cases[#cases], {})
  end
end

-- Returns the cases of the kernel. A call runs the first one whose facts hold.
local function cases_of(c, ways, leaves, since)
  local out = {}
  for n, leaf in ipairs(leaves) do
    local row = ways[leaf.way].row
    add_versions(c, row, leaf.facts, n == #leaves, out, function(version)
      core.tell_progress(("leaf %d of %d, %s, version %d"):format(n, #leaves, row.strategy, version), (n - 1) / #leaves, since)
    end)
  end
  return out
end

local function code_bytes(c, versions, since)
  core.tell_progress(("compiling %d versions"):format(#versions), -1, since)
  return c.schedule:build({threads = c.threads, versions = versions}).code_bytes
end

-- Returns the cheapest tree whose code is within the limit. If the code is too large, each byte of code gets a price, and this
-- price is raised until the code is within the limit or only one leaf remains.
local function fitting(c, ways, least)
  local of_code, since = 0, core.now()
  while true do
    price(c, ways, least, of_code)
    local tree = decision.tree(c.varied, c.sizes, ways)
    local leaves = decision.leaves(tree)
    local cases = cases_of(c, ways, leaves, since)
    if c.code_limit == math.huge or #leaves == 1 or code_bytes(c, strategies.versions(cases), since) <= c.code_limit then
      return tree, leaves, cases
    end
    of_code = math.max(DEARER * of_code, 1e-6 / c.code_limit)
  end
end

local function ranges_of(c, ways, leaves)
  local out = {}
  for n, leaf in ipairs(leaves) do
    out[n] = {row = ways[leaf.way].row, facts = leaf.facts, below = #c.varied == 1 and leaf.below[c.varied[1]] or nil}
  end
  return out
end

--- Returns {versions, cases, ranges, tree} of a ranked table. versions: versions of the schedule for s:build, which runs the first
--- version whose facts hold. cases: the versions with their facts.
return function(c, list)
  if #c.varied == 0 then
    errors.fail("invalid", "give several values, sizes = {M = {1, 7, 64}}; or build the best strategy for this one, list:build(1)",
      "dispatch: strategies were tried for only one size, so there is nothing to choose by size")
  end
  local ways, least = ways_of(c, list)
  local tree, leaves, cases = fitting(c, ways, least)
  local text = decision.text(tree, function(way)
    local row = ways[way].row
    return row.strategy .. (row.tile and " " .. row.tile or "")
  end)
  return report.new({versions = strategies.versions(cases), cases = cases, ranges = ranges_of(c, ways, leaves), tree = tree}, text)
end
