--- Shows the memory accesses of a schedule, and their hits and misses in caches. Both are computed from the lowered program, not
--- measured.
local caches = require "nestwright.cost.caches"
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local inside = require "nestwright.inside"
local missed = require "nestwright.cost.missed"
local rows = require "nestwright.language.rows"

local MOST = 1000000 -- the default limit on the number of accesses in a list
local whole = caches.whole

-- ---- pictures

-- Raises an error if the option `before` of the space-time diagram is not the number of a version.
local function check_before(s, version)
  local last = core.version_count(s) - 1
  if version < 0 or version > last then
    errors.fail("range", nil, "spacetime: before: there is no version %d; the latest is %d", version, last)
  end
end

-- Returns the columns of the space-time diagram: the schedule and, if `before` is given, an earlier version or another schedule.
local function columns_of(s, o)
  local columns = {{schedule = s, walks = caches.walks("spacetime", s, o), label = ""}}
  if o.before == nil then return columns end
  columns[1].label = "after"
  if math.type(o.before) == "integer" then
    check_before(s, o.before)
    columns[1].label = ("version %d"):format(s:version())
    local walks = caches.walks("spacetime", s, setmetatable({version = o.before}, {__index = o}))
    table.insert(columns, 1, {schedule = s, walks = walks, label = ("version %d"):format(o.before)})
  else
    caches.check_schedule("spacetime: before", o.before)
    table.insert(columns, 1, {schedule = o.before, walks = caches.walks("spacetime: before", o.before, o), label = "before"})
  end
  return columns
end

local function spacetime(s, options)
  local o = errors.options("spacetime", options, caches.options {"y", "level", "title", "before"})
  caches.check_schedule("spacetime", s)
  local cache, y, all = caches.of("spacetime", o), o.y or "index", o.level == "all"
  local level = all and 1 or caches.level("spacetime", cache, o.level)
  return require "nestwright.plots.spacetime".make(columns_of(s, o), {y = y, level = level, all = all, cache = cache,
    sets = caches.sets(cache, level), threads = o.threads, machine = o.machine, sizes = o.sizes,
    title = errors.expect("spacetime: title", o.title or "space and time", "string")})
end

local function reuse(s, options)
  local o = errors.options("reuse", options, caches.options {"title"})
  local walk, cache = caches.walk("reuse", s, o), caches.of("reuse", o)
  return require "nestwright.plots.reuse".make(core.reuse(s, walk, cache.line), cache,
    errors.expect("reuse: title", o.title or "Reuse distances", "string"))
end

local function cache_sets(s, options)
  local o = errors.options("cache_sets", options, caches.options {"level", "title"})
  local walk, cache = caches.walk("cache_sets", s, o), caches.of("cache_sets", o)
  local level = caches.level("cache_sets", cache, o.level)
  local sets = require "nestwright.plots.sets"
  return sets.make(core.filling(s, walk, cache, level, sets.COLUMNS), cache, level,
    errors.expect("cache_sets: title", o.title or ("Sets of L%d"):format(level), "string"))
end

local COMMON = "sizes?: table, levels?: table[], line?: integer, machine?: any, feed?: 'misses'|'full', threads?: integer"

return function(nw)
  local define = rows.definer(nw, "nw", "memory")

  define("accesses", "(s: nw.schedule, options?: {most?: integer, arguments?: nw.array[], " .. COMMON .. "}): nw.accesses",
    "All memory accesses of the lowered schedule, in order. Small buffers of scope local stay in registers; their accesses are "
    .. "not listed. sizes: values of symbolic sizes, {M = 64}. most: the largest number of accesses, one million by default. "
    .. "arguments: inputs and outputs; the interpreter then runs the schedule on them and records the accesses, for programs "
    .. "whose addresses depend on data. levels, line, machine, feed: caches to simulate, as in nw.misses; each access then also "
    .. "has its outcome, a hit or a miss. threads: the number of threads; only the accesses of the first thread are listed. a = "
    .. "nw.accesses(s) has #a accesses, and a:at(n) is one of them.",
    function(s, options)
      local o = errors.options("accesses", options, caches.options {"most", "arguments"})
      local most = whole("accesses", o.most or MOST, "most")
      if most < 1 then errors.fail("range", nil, "accesses: most: %d is less than 1", most) end
      caches.check_schedule("accesses", s)
      if o.arguments then
        local given = errors.expect("accesses: arguments", o.arguments, "table")
        return core.accesses_run(s, (inside.complete("accesses", s, given)), most)
      end
      return core.accesses_walked(s, caches.walk("accesses", s, o), most, (o.levels or o.machine) and caches.of("accesses", o))
    end)

  define("misses", "(s: nw.schedule, options?: {conflicts?: boolean, " .. COMMON .. "}): nw.misses",
    "Cache hits and misses of the schedule, found by simulating every access: set-associative or fully associative levels, LRU "
    .. "replacement, write-allocate, write-back. levels: {{bytes = 32768, ways = 8}, ...}, where ways = 0 means fully "
    .. "associative; the caches of this machine by default. machine = \"zen5\": the caches of a machine record; only the part of "
    .. "each cache that s:cost assumes to be available is used. feed: 'misses' (each level sees only the misses of the level "
    .. "before it) or 'full' (every level sees every access). threads: the number of threads; only the first thread is "
    .. "simulated, with its own caches. The answer prints a table by tensor and has by_tensor, by_loop, by_access and total: "
    .. "records with level, asked (requested), hits, cold, capacity, conflict, written_back, in lines. A miss that a fully "
    .. "associative cache of the same size would not have is a conflict miss; conflicts = false skips this distinction. The method "
    .. "plot{by = 'tensor' or 'loop'} draws the misses.",
    function(s, options)
      local o = errors.options("misses", options, caches.options {"conflicts"})
      local walk, cache = caches.walk("misses", s, o), caches.of("misses", o)
      local found = missed.report(core.misses(s, walk, cache), cache)
      require "nestwright.notebook.nests".learn(s, found.by_tensor)
      return found
    end)

  define("spacetime",
    "(s: nw.schedule, options?: {y?: 'index'|'address'|'line'|'set', level?: integer|'all'|string, "
    .. "before?: nw.schedule|integer, title?: nw.label, " .. COMMON
    .. "}): nw.plot",
    "The space-time diagram: one lane per tensor, one mark per access. The x axis is the time in accesses. Open marks are reads, "
    .. "filled marks are writes; shape and colour show a hit or a cold, capacity or conflict miss in `level` (1 by default). "
    .. "level = 'all' shows instead the level in which the data was found. Above, brackets show the loops with the number of each "
    .. "iteration; below, a curve compares the bytes touched so far with the cache sizes. y: 'index', 'address', 'line' or "
    .. "'set'. before: another schedule, or the number of a version, drawn above it on the same axes. threads: the number "
    .. "of threads; each thread has its own lanes. sizes, levels, line, machine, feed: as in nw.misses; with a machine, the small "
    .. "print and the caption give the prediction of s:cost. Printing the plot gives its caption; plot:save \"x.svg\" writes the "
    .. "picture. More than 3,000 accesses become an image in which each pixel shows its worst access, so that every miss is "
    .. "visible.",
    spacetime)

  define("reuse", "(s: nw.schedule, options?: {title?: nw.label, " .. COMMON .. "}): nw.plot",
    "Reuse distances: how many bytes of other lines are accessed between two accesses to the same line, as one histogram per "
    .. "tensor with the cache sizes marked. Accesses to the right of a cache's mark miss in a fully associative cache of this "
    .. "size. The rows have tensor, `from` and `to` (bytes), and count; in the row of lines that are accessed for the "
    .. "first time, `from` and `to` are empty. The distances are exact, for all accesses.", reuse)

  define("cache_sets", "(s: nw.schedule, options?: {level?: integer, title?: nw.label, " .. COMMON .. "}): nw.plot",
    "How full each set of a cache level is over time, and how many different lines of each set are accessed in each part of the "
    .. "time. Where the number of lines exceeds the ways of the set, lines are evicted before they are used again. A stride of a "
    .. "large power of two maps all accesses to a few sets. Rows: column (the part of the time), set, held (lines in the set), "
    .. "asked (different lines accessed).", cache_sets)
end
