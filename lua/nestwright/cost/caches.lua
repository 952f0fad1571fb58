--- Reads the options that all functions about memory accesses have: sizes, caches, threads and versions.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local sizes = require "nestwright.language.sizes"
local written = require "nestwright.show.written"

local caches = {}

local SCHEDULE = core.classes.schedule

--- The names of the options that all functions about memory accesses have.
caches.OPTIONS = {"sizes", "levels", "line", "feed", "threads", "machine"}

--- Returns a list of `names` and the names in caches.OPTIONS.
function caches.options(names) return table.move(names, 1, #names, #caches.OPTIONS + 1, {table.unpack(caches.OPTIONS)}) end

function caches.check_schedule(what, s)
  if debug.getmetatable(s) == SCHEDULE then return s end
  errors.fail("invalid", nil, "%s: expected a schedule, got %s", what, core.type_name(s))
end

caches.whole = sizes.whole

--- Returns the list of executions whose accesses are computed: one sequential execution or, if o.threads is given, one execution
--- per thread.
function caches.walks(what, s, o)
  local values = sizes.of(what, caches.check_schedule(what, s), o.sizes)
  if o.threads == nil then return {{sizes = values, version = o.version}} end
  local threads, list = caches.whole(what, o.threads, "threads"), {}
  if threads < 1 or threads > 64 then errors.fail("range", nil, "%s: threads: %d is not in 1..64", what, threads) end
  for t = 0, threads - 1 do list[t + 1] = {sizes = values, version = o.version, thread = t, threads = threads} end
  return list
end

--- Returns one execution of a schedule. If o.threads is given, it is the execution of the first thread.
function caches.walk(what, s, o) return caches.walks(what, s, o)[1] end

-- Returns the caches of this machine, nearest to the core first.
local function host_levels()
  local levels, line = {}, 64
  for n, c in ipairs(core.machine_caches()) do
    levels[n], line = {bytes = c.bytes, ways = c.ways}, c.line
  end
  return levels, line
end

-- Returns the caches that are given in the options.
local function given_levels(what, list)
  local levels = {}
  for n, level in ipairs(errors.expect(what .. ": levels", list, "table")) do
    local given = errors.options(what .. ": level", level, {"bytes", "ways"})
    local which = ("%s: levels[%d]"):format(what, n)
    levels[n] = {bytes = caches.whole(which, given.bytes, "bytes"), ways = caches.whole(which, given.ways or 0, "ways")}
  end
  return levels, 64
end

-- Returns the caches of a machine record. As in s:cost, a program is assumed to have only a part of each cache.
local function recorded_levels(what, o)
  if o.levels or o.line then
    errors.fail("invalid", "give either machine, or levels and line", "%s: the option machine already determines levels and line",
      what)
  end
  local m = require "nestwright.cost.machine".of(o.machine)
  if m.kind ~= "cpu" then
    errors.fail("invalid", "nw.machine{} is this host; nw.machines() lists others",
      "%s: %s is not a CPU; only the caches of CPUs can be modelled", what, m.name)
  end
  return core.cost_caches(m, o.threads)
end

--- True if `feed` is 'misses', the default: each level then gets only the misses of the level before it.
function caches.by_misses(feed) return feed ~= "full" end

--- Returns the caches that the options describe, {levels, line, misses, conflicts}. By default, they are those of this machine.
function caches.of(what, o)
  local levels, line
  if o.machine ~= nil then
    levels, line = recorded_levels(what, o)
  elseif o.levels then
    levels, line = given_levels(what, o.levels)
  else
    levels, line = host_levels()
  end
  if #levels == 0 then
    errors.fail("invalid", "{levels = {{bytes = 32768, ways = 8}}}", "%s: there are no cache levels", what)
  end
  local misses = caches.by_misses(o.feed)
  local size = caches.whole(what, o.line or line, "line")
  if size < 1 or size & (size - 1) ~= 0 then
    errors.fail("invalid", nil, "%s: line: %d bytes is not a power of two", what, size)
  end
  return {levels = levels, line = size, misses = misses, conflicts = o.conflicts ~= false}
end

--- Returns the number of a level, after checking that these caches have it.
function caches.level(what, cache, number)
  local n = caches.whole(what, number or 1, "level")
  if not cache.levels[n] then errors.fail("invalid", nil, "%s: there is no level %d", what, n) end
  return n
end

--- Returns the number of sets of a level.
function caches.sets(cache, n)
  local level = cache.levels[n]
  return level.ways == 0 and 1 or level.bytes // (cache.line * level.ways)
end

--- Returns a text such as "L1, 32 KiB, 8 ways".
function caches.level_text(cache, n)
  local level = cache.levels[n]
  return ("L%d, %s, %s"):format(n, written.bytes(level.bytes),
    level.ways == 0 and "fully associative" or ("%d ways"):format(level.ways))
end

--- Returns the text below a picture of a simulation. The text names the cache levels `from` to `to`, says which accesses each level
--- sees, and names the effects that are not modelled.
function caches.small_print(cache, from, to, threads)
  local out = {}
  for n = from, to do out[#out + 1] = caches.level_text(cache, n) end
  local feed = cache.misses and "each level sees only the misses of the level before it" or "every level sees every access"
  return ("Simulated: %s; lines of %d bytes; LRU replacement; %s; no prefetcher, no TLB%s."):format(
    table.concat(out, "; "), cache.line, feed,
    threads and "; each thread has its own caches; waiting between threads is not shown" or "")
end

return caches
