--- Covers a number of iterations by tiles so that they take the least time. A kind of tile has a number of iterations (rows) and
--- times. The first tile of a kind takes the time `first`, which includes fetching its inputs; each further tile of this kind takes
--- `more`. Tiles inside the same loops share inputs, which are fetched only once. This is an unbounded knapsack problem. It is
--- solved by recursion over the number of iterations (Gilmore and Gomory, Operations Research 14, 1966). For many iterations, the
--- solution mostly repeats the tile with the least time per iteration.
local errors = require "nestwright.language.errors"

local plans = {}

local MANY = 12 -- for this number of tiles of one kind, one-time costs are negligible

-- Returns the times of a kernel outside and inside of shared loops. If the times were not measured, the time of a tile is assumed
-- to be its number of iterations plus one, so that few large tiles are better than many small ones.
local function times_of(k)
  return k.seconds or {first = k.rows + 1, more = k.rows + 1, guarded = 4 * k.rows}, k.inside and k.seconds_inside
end

--- Returns a kind of tile for each kernel: {kernel, rows, alone (the times of tiles in their own loops), inside (the times of tiles
--- that share inputs, or nil)}.
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

-- Returns the seconds of tiles that share their inputs, or infinity if one kind of tile cannot share inputs. The one-time cost of
-- the inputs is the largest of the differences first - more of all kinds.
local function shared_seconds(list)
  local sum, once = 0, 0
  for _, part in ipairs(list) do
    local _, t = times_of(part.kernel)
    if not t then return math.huge end
    sum, once = sum + part.count * t.more, math.max(once, t.first - t.more)
  end
  return sum + once
end

--- Returns the seconds of a list of tiles {kernel, count}. If `shared` is true, the tiles share their inputs. Otherwise, each kind
--- has a nest of its own.
function plans.seconds(list, shared) return shared and shared_seconds(list) or alone_seconds(list) end

local function comes_first(a, b)
  if a.kernel.rows ~= b.kernel.rows then return a.kernel.rows > b.kernel.rows end
  return (a.kernel.name or "") < (b.kernel.name or "")
end

-- Returns a copy of a list with `count` more tiles of a kind, larger tiles first.
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

-- Returns the best lists for 0 to n iterations.
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

--- Returns the tiles that cover exactly n iterations in the least time: {kernel, count}, larger tiles first. The field `shared` is
--- true if they share their inputs.
function plans.exact(times, rows) return check(lists_to(times, rows)[rows], rows) end

-- Returns a copy of a list without the tiles of one kind, and the number of iterations that the remaining tiles cover.
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

-- Adds many tiles of `main` to each list whose number of iterations has this residue modulo the rows of `main`. Returns the best of
-- the resulting lists, and its seconds per iteration.
local function best_rest(lists, main, residue)
  local n, best, least = main.rows, nil, math.huge
  for rounds = residue, 3 * n - 1, n do
    local list = lists[rounds]
    local all = list and with_tiles(list, main, (MANY * n + residue - rounds) // n)
    if all and all.seconds < least then best, least = all, all.seconds end
  end
  return check(best, residue), least / (MANY * n + residue)
end

-- Returns the plan with this tile as the main tile (see plans.periodic), and its mean seconds per iteration.
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

--- Returns a plan for any number of iterations. main: the main tile. For each residue r modulo the rows of the main tile, rest[r]
--- has the other tiles, which cover rounds[r] iterations, and shared[r] is true if the tiles share inputs. from: the least number
--- of iterations to which the plan applies.
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
