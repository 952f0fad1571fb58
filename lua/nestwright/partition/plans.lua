--- Covers a number of iterations by tiles in the least time: an unbounded knapsack over the times of the tiles, by recursion over
--- the number of iterations (Gilmore and Gomory, Operations Research 14, 1966), which becomes periodic in the tile with the best
--- rate. A tile takes `first` alone, which includes fetching its inputs, and `more` after another tile of the same kind. Tiles
--- inside the same loops that share their inputs fetch them once.
local errors = require "nestwright.language.errors"

local plans = {}

local MANY = 12 -- tiles of one kind: enough to make one-time costs negligible

-- Without measured times a tile takes as long as its iterations plus one: few large tiles are best.
local function times_of(k)
  return k.seconds or {first = k.rows + 1, more = k.rows + 1, guarded = 4 * k.rows}, k.inside and k.seconds_inside
end

--- The tiles with their times.
function plans.times(kernels)
  local out = {}
  for n, k in ipairs(kernels) do
    local alone, inside = times_of(k)
    out[n] = {kernel = k, rows = k.rows, alone = alone, inside = inside}
  end
  return out
end

local function alone_seconds(list)
  local sum = 0
  for _, part in ipairs(list) do
    local t = times_of(part.kernel)
    sum = sum + t.first + (part.count - 1) * t.more
  end
  return sum
end

-- The one-time cost is the difference between the first tile and the next.
local function shared_seconds(list)
  local sum, once = 0, 0
  for _, part in ipairs(list) do
    local _, t = times_of(part.kernel)
    if not t then return math.huge end
    sum, once = sum + part.count * t.more, math.max(once, t.first - t.more)
  end
  return sum + once
end

--- Seconds of tiles, {kernel, count}, one nest after the other or with shared inputs.
function plans.seconds(list, shared) return shared and shared_seconds(list) or alone_seconds(list) end

local function comes_first(a, b)
  if a.kernel.rows ~= b.kernel.rows then return a.kernel.rows > b.kernel.rows end
  return (a.kernel.name or "") < (b.kernel.name or "")
end

-- A list with n more of a tile, larger ones first. Lists are shared, so they are never modified.
local function with_tiles(list, kernel, count)
  local out, found = {}, false
  for n, part in ipairs(list) do
    local same = part.kernel == kernel
    found = found or same
    out[n] = {kernel = part.kernel, count = part.count + (same and count or 0)}
  end
  if not found then out[#out + 1] = {kernel = kernel, count = count} end
  table.sort(out, comes_first)
  local alone, shared = alone_seconds(out), shared_seconds(out)
  out.shared, out.seconds = shared < alone, math.min(alone, shared)
  return out
end

-- The best lists for 0..n iterations.
local function lists_to(times, n)
  local best = {[0] = {seconds = 0}}
  for rows = 1, n do
    for _, t in ipairs(times) do
      for count = 1, rows // t.rows do
        local before = best[rows - count * t.rows]
        local list = before and with_tiles(before, t.kernel, count)
        if list and (not best[rows] or list.seconds < best[rows].seconds) then best[rows] = list end
      end
    end
  end
  return best
end

local function check(list, rows)
  if list then return list end
  errors.fail("invalid", "give a kernel with rows = 1", "partition: no tiles add up to %d iterations", rows)
end

--- The tiles, {kernel, count} with larger ones first, that cover exactly n iterations in the least time; `shared` is a field.
function plans.exact(times, rows) return check(lists_to(times, rows)[rows], rows) end

-- The tiles of a list other than one kind, and their iterations.
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

-- Among the lists for some iterations of one residue, the best one to combine with many tiles of main; and its seconds per
-- iteration.
local function best_rest(lists, main, residue)
  local n, best, least = main.rows, nil, math.huge
  for rounds = residue, 3 * n - 1, n do
    local list = lists[rounds]
    local all = list and with_tiles(list, main, (MANY * n + residue - rounds) // n)
    if all and all.seconds < least then best, least = all, all.seconds end
  end
  return check(best, residue), least / (MANY * n + residue)
end

-- The plan with this tile as main, and the mean of its seconds per iteration.
local function plan_of(times, main)
  local plan, sum, n = {main = main, rest = {}, rounds = {}, shared = {}, from = main.rows}, 0, main.rows
  local lists = lists_to(times, 3 * n)
  for r = 0, n - 1 do
    local list, seconds = best_rest(lists, main, r)
    plan.rest[r], plan.rounds[r] = without(list, main)
    plan.shared[r] = list.shared and #list > 1
    plan.from = math.max(plan.from, plan.rounds[r] + n)
    sum = sum + seconds
  end
  return plan, sum / n
end

--- A plan for any number of iterations: main, the main tile; for each residue modulo its rows the other tiles, rest[r], which cover
--- rounds[r] iterations, and whether they share inputs, shared[r]; from: the least number of iterations for which this holds.
function plans.periodic(times)
  local best, least
  for _, t in ipairs(times) do
    local ok, plan, seconds = pcall(plan_of, times, t.kernel)
    if not ok and not errors.is_error(plan) then error(plan, 0) end
    if ok and (not least or seconds < least) then best, least = plan, seconds end
  end
  return check(best, 1)
end

return plans
