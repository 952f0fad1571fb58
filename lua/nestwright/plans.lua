--- How a number of rounds is best covered by tiles: an unbounded knapsack over the times of the tiles, solved by the recursion over
--- the number of rounds (Gilmore and Gomory, Operations Research 14, 1966), which becomes periodic in the tile of the best rate.
local errors = require "nestwright.errors"

local plans = {}

--- Tiles with times: first, of one tile that is alone in its nest, and more, of each that follows it. Without measured times a tile
--- takes as long as its rounds and one more: few large ones are best.
function plans.times(kernels)
  local out = {}
  for n, k in ipairs(kernels) do
    local known = k.seconds
    out[n] = {kernel = k, rows = k.rows, first = known and known.first or k.rows + 1, more = known and known.more or k.rows + 1}
  end
  return out
end

local function cost_of(list)
  local sum = 0
  for _, part in ipairs(list) do sum = sum + part.first + (part.count - 1) * part.more end
  return sum
end

-- A list with one more tile, larger ones first. Lists are shared, so never changed.
local function with_tile(list, t)
  local out, found = {}, false
  for _, part in ipairs(list) do
    local same = part.kernel == t.kernel
    found = found or same
    out[#out + 1] = {kernel = part.kernel, first = part.first, more = part.more, count = part.count + (same and 1 or 0)}
  end
  if not found then out[#out + 1] = {kernel = t.kernel, first = t.first, more = t.more, count = 1} end
  table.sort(out, function(a, b) return a.kernel.rows > b.kernel.rows end)
  return out
end

-- The best lists of 0..n rounds, by number.
local function lists_to(times, n)
  local best = {[0] = {}}
  for rows = 1, n do
    local least
    for _, t in ipairs(times) do
      local before = best[rows - t.rows]
      if before then
        local list = with_tile(before, t)
        local cost = cost_of(list)
        if not least or cost < least then least, best[rows] = cost, list end
      end
    end
  end
  return best
end

--- The tiles, {kernel, count} with larger ones first, that cover exactly so many rounds in the least time.
function plans.exact(times, rows)
  local list = lists_to(times, rows)[rows]
  if not list then errors.fail("invalid", "give a kernel of one round", "partition: no tiles add up to %d rounds", rows) end
  return list
end

--- Seconds that the best tiles of so many rounds take, and the tiles.
function plans.cost(times, rows)
  local list = plans.exact(times, rows)
  return cost_of(list), list
end

local function best_rate(times)
  local best = times[1]
  for _, t in ipairs(times) do if t.more * best.rows < best.more * t.rows then best = t end end
  return best
end

-- What a list has besides tiles of one kind, and its rounds.
local function without(list, kernel)
  local out, rows = {}, 0
  for _, part in ipairs(list) do
    if part.kernel ~= kernel then
      out[#out + 1] = part
      rows = rows + part.kernel.rows * part.count
    end
  end
  return out, rows
end

--- For any number of rounds: main, the tile of the best rate; for each residue of its rows what is laid besides it, rest[r], of
--- rounds[r] rounds; from: the number of rounds from which on that holds.
function plans.periodic(times)
  local main = best_rate(times)
  local n = main.rows
  local lists = lists_to(times, 4 * n) -- each residue with at least two tiles of main to exchange
  local plan = {main = main.kernel, rest = {}, rounds = {}, from = 1}
  for r = 0, n - 1 do
    local list = lists[3 * n + r]
    if not list then errors.fail("invalid", "give a kernel of one round", "partition: no tiles add up to %d rounds", 3 * n + r) end
    plan.rest[r], plan.rounds[r] = without(list, main.kernel)
    plan.from = math.max(plan.from, plan.rounds[r])
  end
  return plan
end

return plans
