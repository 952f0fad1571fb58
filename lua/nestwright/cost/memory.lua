--- What a schedule does to memory: its accesses, and what caches make of them. Found from the lowered program, not measured.
local caches = require "nestwright.cost.caches"
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local inside = require "nestwright.inside"
local missed = require "nestwright.cost.missed"
local rows = require "nestwright.language.rows"

local MOST = 1000000 -- accesses in a list, unless more are asked for
local whole = caches.whole

-- ---- pictures

-- What the space-time diagram sets a schedule beside: an earlier version of it, or another schedule.
local function columns_of(s, o)
  local columns = {{schedule = s, walks = caches.walks("spacetime", s, o), label = ""}}
  if o.before == nil then return columns end
  columns[1].label = "after"
  if math.type(o.before) == "integer" then
    columns[1].label = ("version %d"):format(s:version())
    local walks = caches.walks("spacetime", s, setmetatable({version = o.before}, {__index = o}))
    table.insert(columns, 1, {schedule = s, walks = walks, label = ("version %d"):format(o.before)})
  else
    caches.check_schedule("spacetime: before", o.before)
    table.insert(columns, 1, {schedule = o.before, walks = caches.walks("spacetime: before", o.before, o), label = "before"})
  end
  return columns
end

local Y = {index = true, address = true, line = true, set = true}

local function spacetime(s, options)
  local o = errors.options("spacetime", options, caches.options {"y", "level", "title", "before"})
  caches.check_schedule("spacetime", s)
  local cache, y, all = caches.of("spacetime", o), o.y or "index", o.level == "all"
  local level = all and 1 or caches.level("spacetime", cache, o.level)
  if not Y[y] then
    errors.fail("invalid", nil, "spacetime: y is 'index', 'address', 'line' or 'set', not '%s'", tostring(y))
  end
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

local COMMON = "sizes?: table, levels?: table[], line?: integer, machine?: any, feed?: string, threads?: integer"

return function(nw)
  local define = rows.definer(nw, "nw")

  define("accesses", "(s: nw.schedule, options?: {most?: integer, arguments?: nw.array[], " .. COMMON .. "}): nw.accesses",
    "Every access to memory of the lowered schedule, in order; small storage of scope local is in registers and none. sizes: "
    .. "values of symbolic sizes, {M = 64}. most: how many there may be, a million unless said. arguments: inputs and outputs; "
    .. "then the interpreter runs the schedule and tells them, for programs whose addresses depend on data. levels, line, "
    .. "machine, feed: caches to simulate, as in nw.misses; each access then says what became of it. threads: those of the first "
    .. "of so many. "
    .. "a = nw.accesses(s) has #a accesses, a:at(n) is one of them.",
    function(s, options)
      local o = errors.options("accesses", options, caches.options {"most", "arguments"})
      local most = whole("accesses", o.most or MOST, "most")
      if most < 1 then errors.fail("range", nil, "accesses: most: %d is not at least 1", most) end
      caches.check_schedule("accesses", s)
      if o.arguments then
        local given = errors.expect("accesses: arguments", o.arguments, "table")
        return core.accesses_run(s, (inside.complete("accesses", s, given)), most)
      end
      return core.accesses_walked(s, caches.walk("accesses", s, o), most, (o.levels or o.machine) and caches.of("accesses", o))
    end)

  define("misses", "(s: nw.schedule, options?: {conflicts?: boolean, " .. COMMON .. "}): nw.report",
    "Cache hits and misses of the schedule, simulated access by access: set-associative or fully associative levels, least "
    .. "recently used, write-allocate, write-back. levels: {{bytes = 32768, ways = 8}, ...}, ways = 0 fully associative; this "
    .. "machine's unless said, or those of a machine record, machine = \"zen5\", as much of each as s:cost counts on. feed: "
    .. "'misses' (a level is asked what the one before has not) or 'full' (each is asked everything). threads: what the first of "
    .. "so many does, with caches of its own. The answer prints a table by tensor and holds by_tensor, by_loop, by_access and "
    .. "total: records with level, asked, hits, cold, capacity, conflict, written_back, in lines. Conflicts are told from "
    .. "capacity by a fully associative cache of the same size; conflicts = false leaves that out. Its method plot{by = "
    .. "'tensor' or 'loop'} draws it.",
    function(s, options)
      local o = errors.options("misses", options, caches.options {"conflicts"})
      local walk, cache = caches.walk("misses", s, o), caches.of("misses", o)
      local found = missed.report(core.misses(s, walk, cache), cache)
      require "nestwright.notebook.nests".learn(s, found.by_tensor)
      return found
    end)

  define("spacetime",
    "(s: nw.schedule, options?: {y?: string, level?: integer|string, before?: nw.schedule|integer, title?: nw.label, " .. COMMON
    .. "}): nw.plot",
    "The space-time diagram: a lane a tensor, time to the right in accesses, a mark an access: open is read, filled is written, "
    .. "shape and colour say hit, cold, capacity or conflict miss in the level asked for (1); level = 'all' says instead in which "
    .. "level it was found. Loops stand above as brackets with the number of each iteration, below is what was touched so far "
    .. "against what the caches hold. y: 'index', 'address', 'line' or 'set'. before: another schedule, or the number of a "
    .. "version, drawn beside it on the same axes. threads: lanes for each of so many threads. sizes, levels, line, machine, feed: "
    .. "as in nw.misses; with a machine the small print and the caption say what s:cost foretells there. Printing the plot gives "
    .. "its caption; plot:save \"x.svg\" writes it. More than 3,000 accesses become a raster in which the worst of a pixel shows, "
    .. "so that no miss is lost.", spacetime)

  define("reuse", "(s: nw.schedule, options?: {title?: nw.label, " .. COMMON .. "}): nw.plot",
    "How far apart, in bytes of other lines, a line is asked for and asked for again: a histogram a tensor, with what the caches "
    .. "hold marked. What stands to the right of a cache's mark misses in it, were it fully associative. Rows: tensor, from, to "
    .. "(bytes), count; of lines that never were asked for before, from and to are empty. Exact, for all accesses.", reuse)

  define("cache_sets", "(s: nw.schedule, options?: {level?: integer, title?: nw.label, " .. COMMON .. "}): nw.plot",
    "How full each set of a level is over time, and how many different lines it is asked for in each part of the time: where that "
    .. "is more than it has ways, lines go before they are used again. A stride of a large power of two sends all to few sets. "
    .. "Rows: column (of the time), set, held, asked (lines).", cache_sets)
end
