--- Makes reports of hits and misses: sums by tensor and by loop, a table, and a picture.
local caches = require "nestwright.cost.caches"
local errors = require "nestwright.language.errors"
local report = require "nestwright.show.report"
local rows = require "nestwright.language.rows"

local missed = {}

-- ---- the table

local KINDS = {"asked", "hits", "cold", "capacity", "conflict", "written_back"}

--- Returns the sums of the rows with equal keys, in the order in which the keys first appear.
function missed.added(list, key_of)
  local out, at = {}, {}
  for _, row in ipairs(list) do
    local key = key_of(row)
    local sum = at[key]
    if not sum then
      sum = {level = row.level, tensor = row.tensor, loop = row.loop, exact = row.exact, error = row.error}
      for _, kind in ipairs(KINDS) do sum[kind] = 0 end
      at[key], out[#out + 1] = sum, sum
    end
    for _, kind in ipairs(KINDS) do sum[kind] = sum[kind] + row[kind] end
  end
  return out
end

local HEADER = ("%-16s %15s %14s %12s %12s %12s %12s"):format("", "lines requested", "hits", "cold", "capacity", "conflict",
  "written back")

-- Returns a row of the table. `told` is true if conflict misses are distinguished from capacity misses.
local function line_of(name, row, told)
  return ("%-16s %15d %14d %12d %12d %12s %12d"):format(name, row.asked, row.hits, row.cold, row.capacity,
    told and row.conflict or "-", row.written_back)
end

local function text_of(cache, by_tensor, foot)
  local out = {}
  for n in ipairs(cache.levels) do
    out[#out + 1] = caches.level_text(cache, n)
    out[#out + 1] = HEADER
    for _, row in ipairs(by_tensor) do
      if row.level == n then out[#out + 1] = line_of("  " .. row.tensor, row, cache.conflicts) end
    end
  end
  local feed = cache.misses and "each level sees only the misses of the level before it" or "every level sees every access"
  local told = cache.conflicts and "" or "; conflict misses are counted as capacity misses"
  out[#out + 1] = ("lines of %d bytes; LRU replacement; %s%s; no prefetcher, no TLB"):format(cache.line, feed, told)
  out[#out + 1] = foot
  return table.concat(out, "\n")
end

local function cells_of(cache, by_tensor)
  local out = {}
  for k, row in ipairs(by_tensor) do
    out[k] = {("L%d %s"):format(row.level, row.tensor)}
    for n, kind in ipairs(KINDS) do
      out[k][n + 1] = (kind ~= "conflict" or cache.conflicts) and ("%d"):format(row[kind]) or "-"
    end
  end
  local levels = {}
  for n in ipairs(cache.levels) do levels[n] = caches.level_text(cache, n) end
  return {head = {"", "lines requested", "hits", "cold", "capacity", "conflict", "written back"}, rows = out,
    left = {true, heads = true}, foot = table.concat(levels, "; ") .. "; lines of " .. cache.line .. " bytes"}
end

local class = report.class "misses"

rows.define(class.methods, "misses", "memory", "plot",
  "(self: nw.misses, options?: {by?: 'tensor'|'loop', title?: nw.label}): nw.plot",
  "Draws the misses of each level. by: 'tensor' (the default) or 'loop'.",
  function(m, options)
    local o = errors.options("plot", options, {"by", "title"})
    local by = o.by or "tensor"
    return require "nestwright.plots.misses".make(m, by, errors.expect("plot: title", o.title or "Misses by " .. by, "string"))
  end)

--- Returns a report of counts. `cache` is a result of caches.of. `extra` has more fields for the report, such as `foot`, the line
--- below the table.
function missed.report(by_access, cache, extra)
  local by_tensor = missed.added(by_access, function(row) return row.level .. row.tensor end)
  local fields = {
    by_access = by_access,
    by_tensor = by_tensor,
    by_loop = missed.added(by_access, function(row) return row.level .. tostring(row.loop) end),
    total = missed.added(by_access, function(row) return row.level end),
    levels = cache.levels, line = cache.line, feed = cache.misses and "misses" or "full",
  }
  local foot = extra and extra.foot
  for name, value in pairs(extra or {}) do if name ~= "foot" then fields[name] = value end end
  return class.new(fields, text_of(cache, by_tensor, foot), cells_of(cache, by_tensor))
end

return missed
