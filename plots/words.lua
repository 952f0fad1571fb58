--- Makes the texts of captions about sweeps over tensors, reuse distances and misses.
local core = require "nestwright.core"
local outcomes = require "nestwright.plots.outcomes"
local written = require "nestwright.show.written"

local words = {}

--- Returns the text of counts by outcome: "12 cold, 3 conflict misses".
function words.misses(counts)
  local missed, all = {}, 0
  for _, name in ipairs(outcomes.MISSES) do
    local n = counts[name]
    if n and n > 0 then missed[#missed + 1], all = ("%d %s"):format(n, name), all + n end
  end
  if all == 0 then return "no misses" end
  return table.concat(missed, ", ") .. (all == 1 and " miss" or " misses")
end

-- ---- sweeps

-- Selects the loops from number `from` to number `to` that change the address or, if `still` is true, that do not change it.
-- Returns the product of their trip counts (nil if a trip count is not constant), and their names.
local function turns(loops, from, to, still)
  local n, names = 1, {}
  for k = from, to do
    local loop = loops[k]
    if (loop.bytes == 0) == still and loop.extent ~= 1 then
      n = n and loop.extent and n * loop.extent
      names[#names + 1] = loop.loop
    end
  end
  return n, names
end

local function times(n) return n and ("%d times"):format(n) end

local function list(names) return table.concat(names, ", ") end

-- True if the loops that change the address reach some elements more than once, as in a sliding window.
local function overlaps(site, first, last)
  local visits, span = 1, 1
  for k = first, last do
    local loop = site[k]
    if loop.bytes ~= 0 then
      if not loop.extent then return false end
      visits, span = visits * loop.extent, span + math.abs(loop.bytes) * (loop.extent - 1) / site.width
    end
  end
  return visits > span
end

-- Describes how one load or store moves through its tensor. A loop that does not change the address repeats accesses. If it is
-- around all loops that change the address, it repeats the whole sweep. If it is between two of these loops, it repeats a part of
-- the sweep. If it is inside all of them, it repeats one element.
local function sweep_text(site)
  local first, last
  for k, loop in ipairs(site) do
    if loop.bytes ~= 0 and loop.extent ~= 1 then first, last = first or k, k end
  end
  if not first then return nil end
  local parts, outer, outer_names = {}, turns(site, 1, first - 1, true)
  local _, moving = turns(site, first, last, false)
  if #outer_names == 0 then
    parts[1] = ("swept once, by %s"):format(list(moving))
  elseif outer then
    parts[1] = ("swept %s, by %s, once for each %s"):format(times(outer), list(moving), list(outer_names))
  else
    parts[1] = ("swept by %s, once for each %s"):format(list(moving), list(outer_names))
  end
  if overlaps(site, first, last) then parts[#parts + 1] = "in overlapping passes" end
  local among, among_names = turns(site, first, last, true)
  if #among_names > 0 then
    parts[#parts + 1] = ("each part %s (%s)"):format(times(among) or "repeatedly", list(among_names))
  end
  local inner, inner_names = turns(site, last + 1, #site, true)
  if #inner_names > 0 then
    parts[#parts + 1] = ("each element reused in %s iterations of %s"):format(inner or "all", list(inner_names))
  end
  if site[last].extent ~= 1 then
    parts[#parts + 1] = ("steps of %s (%s)"):format(written.plural(site[last].bytes, "byte"), site[last].loop)
  end
  return table.concat(parts, ", ")
end

-- Removes the trip counts of parallel loops, because it is not known how many iterations one thread runs.
local function forget_shared(site)
  for _, loop in ipairs(site) do
    if loop.parallel then loop.extent = nil end
  end
end

--- Returns, for each tensor, the text about its most deeply nested load or store.
function words.sweeps(s, walk)
  local best, depth, widths = {}, {}, core.element_bytes(s, walk.version)
  for _, site in ipairs(core.sweeps(s, walk)) do
    site.width = widths[site.tensor] or 4
    if walk.threads then forget_shared(site) end
    local text = sweep_text(site)
    if text and #site > (depth[site.tensor] or 0) then best[site.tensor], depth[site.tensor] = text, #site end
  end
  return best
end

-- ---- distances

-- Returns the median reuse distance in lines, and the share of the distances that are at least `lines`. lines: the capacity of a
-- cache.
local function spread(bins, lines)
  local all, beyond, sum = 0, 0, 0
  for _, bin in ipairs(bins) do
    all = all + bin.count
    if bin.from >= lines then beyond = beyond + bin.count end
  end
  for _, bin in ipairs(bins) do
    sum = sum + bin.count
    if 2 * sum >= all then return bin.from, beyond / all end
  end
end

--- Returns a text such as "a line is reused after 4 KiB of other lines (median); 96 % of reuses miss a fully associative L1", or
--- nil if no line is reused.
function words.reuse(bins, cache, level)
  if #bins == 0 then return nil end
  local capacity = cache.levels[level].bytes
  local median, share = spread(bins, capacity // cache.line)
  return ("a line is reused after %s (median); %.3g %% of reuses miss a fully associative L%d (%s)"):format(
    median == 0 and "no other lines" or written.bytes(median * cache.line) .. " of other lines", 100 * share, level,
    written.bytes(capacity))
end

--- Returns the texts of words.reuse by tensor.
function words.reuses(s, walk, cache, level)
  local out = {}
  for _, t in ipairs(core.reuse(s, walk, cache.line)) do out[t.tensor] = words.reuse(t.bins, cache, level) end
  return out
end

return words
