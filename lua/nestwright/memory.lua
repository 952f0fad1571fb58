--- What a schedule does to memory: its accesses, and what caches make of them. Found from the lowered program, not measured.
local core = require "nestwright.core"
local errors = require "nestwright.errors"
local inside = require "nestwright.inside"
local report = require "nestwright.report"
local rows = require "nestwright.rows"
local sizes = require "nestwright.sizes"
local written = require "nestwright.written"

local whole, sizes_of = sizes.whole, sizes.of
local SCHEDULE = core.classes.schedule
local MOST = 1000000 -- accesses in a list, unless more are asked for

local function check_schedule(what, s)
  if debug.getmetatable(s) == SCHEDULE then return s end
  errors.fail("invalid", nil, "%s: expected a schedule, got %s", what, core.type_name(s))
end

-- ---- caches

-- This machine's, nearest to the core first.
local function host_levels()
  local levels, line = {}, 64
  for n, c in ipairs(core.machine_caches()) do
    levels[n], line = {bytes = c.bytes, ways = c.ways}, c.line
  end
  return levels, line
end

local FEEDS = {full = false, misses = true}

local function cache_of(what, o)
  local levels, line = host_levels()
  if o.levels then
    levels, line = {}, 64
    for n, level in ipairs(errors.expect(what .. ": levels", o.levels, "table")) do
      local given = errors.options(what .. ": level", level, {"bytes", "ways"})
      levels[n] = {bytes = whole(what, given.bytes, "bytes"), ways = whole(what, given.ways or 0, "ways")}
    end
  end
  if #levels == 0 then
    errors.fail("invalid", "{levels = {{bytes = 32768, ways = 8}}}", "%s: there are no levels of cache", what)
  end
  local feed = o.feed or "misses"
  if FEEDS[feed] == nil then
    errors.fail("invalid", nil, "%s: feed is 'misses' or 'full', not '%s'", what, tostring(feed))
  end
  return {levels = levels, line = whole(what, o.line or line, "line"), misses = FEEDS[feed], conflicts = o.conflicts ~= false}
end

-- ---- the table

local KINDS = {"asked", "hits", "cold", "capacity", "conflict", "written_back"}

-- Rows with equal keys added up, in the order in which they come.
local function added(list, key_of)
  local out, at = {}, {}
  for _, row in ipairs(list) do
    local key = key_of(row)
    local sum = at[key]
    if not sum then
      sum = {level = row.level, tensor = row.tensor, loop = row.loop}
      for _, kind in ipairs(KINDS) do sum[kind] = 0 end
      at[key], out[#out + 1] = sum, sum
    end
    for _, kind in ipairs(KINDS) do sum[kind] = sum[kind] + row[kind] end
  end
  return out
end

local function level_text(cache, n)
  local level = cache.levels[n]
  return ("L%d, %s, %s"):format(n, written.bytes(level.bytes),
    level.ways == 0 and "fully associative" or ("%d ways"):format(level.ways))
end

local HEADER = ("%-16s %14s %14s %12s %12s %12s %12s"):format("", "lines asked", "hits", "cold", "capacity", "conflict",
  "written back")

local function line_of(name, row)
  return ("%-16s %14d %14d %12d %12d %12d %12d"):format(name, row.asked, row.hits, row.cold, row.capacity, row.conflict,
    row.written_back)
end

local function text_of(cache, by_tensor)
  local out = {}
  for n in ipairs(cache.levels) do
    out[#out + 1] = level_text(cache, n)
    out[#out + 1] = HEADER
    for _, row in ipairs(by_tensor) do
      if row.level == n then out[#out + 1] = line_of("  " .. row.tensor, row) end
    end
  end
  local feed = cache.misses and "a level is asked what the one before has not" or "every level is asked everything"
  out[#out + 1] = ("lines of %d bytes; least recently used goes; %s; no prefetcher, no TLB"):format(cache.line, feed)
  return table.concat(out, "\n")
end

return function(nw)
  local define = rows.definer(nw, "nw")

  define("accesses", "(s: nw.schedule, options?: {sizes?: table, most?: integer, arguments?: nw.array[], levels?: table[], "
    .. "line?: integer, feed?: string}): nw.accesses",
    "Every access to memory of the lowered schedule, in order; small storage of scope local is in registers and none. sizes: "
    .. "values of symbolic sizes, {M = 64}. most: how many there may be, a million unless said. arguments: inputs and outputs; "
    .. "then the interpreter runs the schedule and tells them, for programs whose addresses depend on data. levels, line, feed: "
    .. "caches to simulate, as in nw.misses; each access then says what became of it.",
    function(s, options)
      local o = errors.options("accesses", options, {"sizes", "most", "arguments", "levels", "line", "feed"})
      local most = whole("accesses", o.most or MOST, "most")
      check_schedule("accesses", s)
      if o.arguments then
        local given = errors.expect("accesses: arguments", o.arguments, "table")
        return core.accesses_run(s, (inside.complete("accesses", inside.signature(s), given)), most)
      end
      return core.accesses_walked(s, sizes_of("accesses", s, o.sizes), most, o.levels and cache_of("accesses", o))
    end)

  define("misses", "(s: nw.schedule, options?: {sizes?: table, levels?: table[], line?: integer, feed?: string, "
    .. "conflicts?: boolean}): nw.report",
    "Cache hits and misses of the schedule, simulated access by access: set-associative or fully associative levels, least "
    .. "recently used, write-allocate, write-back. levels: {{bytes = 32768, ways = 8}, ...}, ways = 0 fully associative; this "
    .. "machine's unless said. feed: 'misses' (a level is asked what the one before has not) or 'full' (each is asked "
    .. "everything). The answer prints a table by tensor and holds by_tensor, by_loop, by_access and total: records with level, "
    .. "asked, hits, cold, capacity, conflict, written_back, in lines. Conflicts are told from capacity by a fully associative "
    .. "cache of the same size; conflicts = false leaves that out.",
    function(s, options)
      local o = errors.options("misses", options, {"sizes", "levels", "line", "feed", "conflicts"})
      check_schedule("misses", s)
      local cache = cache_of("misses", o)
      local by_access = core.misses(s, sizes_of("misses", s, o.sizes), cache)
      local by_tensor = added(by_access, function(row) return row.level .. row.tensor end)
      local fields = {
        by_access = by_access,
        by_tensor = by_tensor,
        by_loop = added(by_access, function(row) return row.level .. tostring(row.loop) end),
        total = added(by_access, function(row) return row.level end),
        levels = cache.levels, line = cache.line, feed = cache.misses and "misses" or "full",
      }
      return report.new(fields, text_of(cache, by_tensor))
    end)

  define("spacetime", "(s: nw.schedule, options?: {y?: string, level?: integer, sizes?: table, levels?: table[], line?: integer, "
    .. "feed?: string, title?: string}): nw.plot",
    "The space-time diagram: a lane a tensor, time to the right in accesses, a mark an access: open is read, filled is written, "
    .. "shape and colour say hit, cold, capacity or conflict miss in the level asked for (1). Loops stand above as brackets with "
    .. "the number of each iteration, below is what was touched so far against what the caches hold. y: 'index', 'address', "
    .. "'line' or 'set'. levels, line, feed, sizes: as in nw.misses. Printing the plot gives its caption; plot:save \"x.svg\" "
    .. "writes it. More than 3,000 accesses become a raster in which the worst of a pixel shows, so that no miss is lost.",
    function(s, options)
      local o = errors.options("spacetime", options, {"y", "level", "sizes", "levels", "line", "feed", "title"})
      local spacetime = require "nestwright.plots.spacetime"
      check_schedule("spacetime", s)
      local cache, y, level = cache_of("spacetime", o), o.y or "index", whole("spacetime", o.level or 1, "level")
      if not spacetime.units[y] then
        errors.fail("invalid", nil, "spacetime: y is 'index', 'address', 'line' or 'set', not '%s'", tostring(y))
      elseif not cache.levels[level] then
        errors.fail("invalid", nil, "spacetime: there is no level %d", level)
      end
      local values, title = sizes_of("spacetime", s, o.sizes), o.title or "space and time"
      local at = cache.levels[level]
      cache.sets = at.ways == 0 and 1 or at.bytes // (cache.line * at.ways)
      local how = {y = y, level = level, cache = cache, title = errors.expect("spacetime: title", title, "string")}
      local few, accesses = pcall(core.accesses_walked, s, values, spacetime.MOST, cache)
      if few then return spacetime.make(accesses, core.element_bytes(s), how) end
      if accesses.code ~= "limit" then error(accesses, 0) end
      return spacetime.make_raster(core.raster(s, values, cache, level, y, spacetime.WIDTH, spacetime.HEIGHT), how)
    end)
end
