--- Makes loop nests from text or from a schedule. A nest from text needs no tensor expression. Also defines the methods that
--- compute the misses and costs of nests.
local caches = require "nestwright.cost.caches"
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local meant = require "nestwright.cost.nest_meant"
local missed = require "nestwright.cost.missed"
local nest_cost = require "nestwright.cost.nest_cost"
local rows = require "nestwright.language.rows"
local sizes = require "nestwright.language.sizes"
local view = require "nestwright.show.view"

local MOST = 1000000 -- the default limit on the number of accesses in a list
local methods = rows.methods "loopnest"
local source = setmetatable({}, {__mode = "k"}) -- for each nest that was made from text: the text and the given parameters

-- ---- making

-- Splits parameters such as "SMALL", {N = 60} or {"SMALL", N = 60} into names, values and the name of a set of sizes.
local function params_of(what, params)
  local names, values, set = {}, {}, nil
  if type(params) == "string" then return names, values, params end
  for name in pairs(errors.expect(what .. ": params", params or {}, "table")) do
    if name == 1 then
      set = errors.expect(what .. ": params[1]", params[1], "string")
    else
      names[#names + 1] = errors.expect(what .. ": params", name, "string")
    end
  end
  table.sort(names)
  for n, name in ipairs(names) do values[n] = caches.whole(what, params[name], name) end
  return names, values, set
end

local function parse(what, text, params)
  local ok, nest = pcall(core.nest_parse, text, params_of(what, params))
  if not ok then
    if not errors.is_error(nest) then error(nest, 0) end
    errors.fail(nest.code, meant.hint(nest, text), "%s", nest.message)
  end
  source[nest] = {text = text, params = type(params) == "string" and {params} or params or {}}
  return nest
end

local function read(path, params)
  local text = core.read_file("nest.read: path", errors.expect("nest.read", path, "string"))
  if text:find("\0", 1, true) then errors.fail("parse", nil, "nest.read: path: %s is not a text file", path) end
  local ok, got = pcall(parse, "nest.read", text, params)
  if ok then return got end
  if errors.is_error(got) and got.message:find "^%d+:%d+: " then errors.fail(got.code, got.hint, "%s:%s", path, got.message) end
  error(got, 0)
end

local function of(s, options)
  local o = errors.options("nest.of", options, {"sizes", "version"})
  return core.nest_of(s, sizes.of("nest.of", caches.check_schedule("nest.of", s), o.sizes), o.version)
end

local function with(nest, params)
  local from = source[nest]
  if not from then
    errors.fail("invalid", "make a new one: nw.nest.of(s, {sizes = {M = 64}})", "with: the nest of a schedule has no parameters")
  end
  local all = {}
  for name, value in pairs(from.params) do all[name] = value end
  for name, value in pairs(errors.expect("with", params, "table")) do all[name] = value end
  return parse("with", from.text, all)
end

-- ---- counting

local function share(what, o)
  if o.threads == nil then return {} end
  local threads, thread = caches.whole(what, o.threads, "threads"), caches.whole(what, o.thread or 0, "thread")
  if threads < 1 or threads > 1024 then errors.fail("range", nil, "%s: threads: %d is not in 1..1024", what, threads) end
  if thread < 0 or thread >= threads then
    errors.fail("range", nil, "%s: thread: %d is not in 0..%d", what, thread, threads)
  end
  return {thread = thread, threads = threads}
end

local function foot_of(how)
  local parts = {}
  for n, exact in ipairs(how.exact) do
    parts[n] = exact and ("L%d exact"):format(n)
      or ("L%d estimated, up to %.2g %% off"):format(n, 100 * how.error[n])
  end
  return ("%s; %d accesses"):format(table.concat(parts, ", "), how.accesses)
end

local OPTIONS = {"levels", "line", "machine", "feed", "conflicts", "simulate", "exact", "budget", "threads", "thread"}

-- Implements the method `misses` of nests. Its defaults are faster than those of nw.misses: every level sees every access, and
-- conflict misses are counted as capacity misses.
local function misses(nest, options)
  local o = errors.options("misses", options, OPTIONS)
  o = setmetatable({feed = o.feed or "full", conflicts = o.conflicts or false}, {__index = o})
  local cache, how = caches.of("misses", o), share("misses", o)
  how.simulate, how.exact = o.simulate, o.exact
  how.budget = o.budget and caches.whole("misses", o.budget, "budget")
  local found, counted = core.nest_misses(nest, cache, how)
  return missed.report(found, cache, {foot = foot_of(counted), accesses = counted.accesses, touched = counted.touched,
    exact = counted.exact, error = counted.error, simulated = o.simulate or false})
end

local function accesses(nest, options)
  local o = errors.options("accesses", options, {"most", "levels", "line", "machine", "feed", "threads", "thread"})
  return core.nest_accesses(nest, share("accesses", o), caches.whole("accesses", o.most or MOST, "most"),
    (o.levels or o.machine) and caches.of("accesses", o))
end

-- Returns one row of a sweep: the accesses and, for each level, the misses, the lines written back and the error of estimates.
local function point_of(nest, params, options)
  local m = misses(with(nest, params), options)
  local row = {accesses = m.accesses}
  for n, total in ipairs(m.total) do
    row["L" .. n] = total.asked - total.hits
    row["L" .. n .. "_written_back"] = total.written_back
    if not m.exact[n] then row["L" .. n .. "_error"] = m.error[n] end
  end
  return row
end

local function sweep(nw)
  return function(nest, params, options)
    local known = core.nest_params(nest)
    for name in pairs(errors.expect("sweep", params, "table")) do
      if not known[name] then errors.fail("invalid", nil, "sweep: %s is not a parameter of this nest", tostring(name)) end
    end
    local found = nw.sweep {params = params, run = function(point) return point_of(nest, point, options) end}
    found.small = "Counted by the cache model, not measured."
    found.titles = {}
    for n = 1, 4 do
      found.titles["L" .. n], found.titles["L" .. n .. "_written_back"] = "misses of L" .. n, "lines written back by L" .. n
    end
    return found
  end
end

return function(nw)
  nw.nest = {}
  local define, method = rows.definer(nw.nest, "nest", "nests"), rows.definer(methods, "loopnest", "nests")

  define("parse", "(text: string, params?: table|string): nw.loopnest",
    "Reads a loop nest from its text: arrays, loops with affine bounds, ifs, and statements. Each reference is an access. "
    .. "params: new values of parameters, {N = 500}, or the name of a set of sizes in the text, \"SMALL\", or both, {\"SMALL\", "
    .. "N = 500}. docs/cost.md has the grammar. Errors give the line and the column.",
    function(text, params) return parse("nest.parse", errors.expect("nest.parse", text, "string"), params) end)

  define("read", "(path: string, params?: table|string): nw.loopnest",
    "Reads a loop nest from a text file, as nw.nest.parse does. Example: nw.nest.read(\"tutorials/nests/gemm.nest\", \"SMALL\").",
    read)

  define("of", "(s: nw.schedule, options?: {sizes?: table, version?: integer}): nw.loopnest",
    "The accesses of the lowered schedule as a nest, in the order of nw.accesses. sizes: values of symbolic sizes. A schedule "
    .. "whose addresses are not affine in its loops is refused (code 'limit').", of)

  method("params", "(self: nw.loopnest): table", "The values of the nest's parameters, by name.", core.nest_params)

  method("arrays", "(self: nw.loopnest): table[]",
    "The nest's arrays in the order of their addresses: name, address, bytes, element (bytes of one element).", core.nest_arrays)

  method("with", "(self: nw.loopnest, params: table): nw.loopnest",
    "The same nest with other values of some parameters: n:with{N = 500}.", with)

  method("show", "(self: nw.loopnest): nw.view", "The text of the nest, which can be parsed again; tostring returns it too.",
    function(nest) return view.new(function() return core.nest_text(nest) end) end)

  method("accesses", "(self: nw.loopnest, options?: {most?: integer, levels?: table[], line?: integer, machine?: any, "
    .. "feed?: 'misses'|'full', threads?: integer, thread?: integer}): nw.accesses",
    "All accesses in order, as nw.accesses lists those of a schedule. most: the largest number of accesses, one million by "
    .. "default.",
    accesses)

  method("misses", "(self: nw.loopnest, options?: {levels?: table[], line?: integer, machine?: any, feed?: 'misses'|'full', "
    .. "conflicts?: boolean, simulate?: boolean, exact?: boolean, budget?: integer, threads?: integer, "
    .. "thread?: integer}): nw.misses",
    "Hits, misses and lines written back of each level, by array, loop and reference, counted by the cache model. If the model "
    .. "is exact for a level (fields exact and error), its counts equal those of the simulator. levels, line, machine, feed, "
    .. "conflicts: as in nw.misses, but by default feed is 'full' and conflict misses are counted as capacity misses; feed = "
    .. "'misses' is slow for many accesses. simulate = true: simulates every access instead. exact = true: raises an error if the "
    .. "result is an estimate. budget: the largest number of lines that the model may request. threads: the number of threads. "
    .. "thread: the thread whose accesses are counted, as a number from 0; it has its own caches. The answer has the fields of "
    .. "nw.misses, and accesses, touched (the lines that the model requested), exact and error.", misses)

  method("cost", "(self: nw.loopnest, options?: {machine?: nw.machine|string|table, feed?: 'misses'|'full', conflicts?: boolean, "
    .. "simulate?: boolean, exact?: boolean, budget?: integer}): nw.bound",
    "A lower bound of the nest's time on a machine. It is the longest of several times: for each level, the cycles to move the "
    .. "bytes of its misses; and the cycles of the operations in the text at the machine's peak rate. (If the machine's field "
    .. "combine is 'ecm', transfers that do not overlap are added.) The text of a nest does not determine the compiled code, so "
    .. "instructions, latencies and registers are not modelled. machine: as in nw.machine; this host by default. feed, simulate, "
    .. "exact, budget: as in misses. conflicts = true: conflict misses are distinguished from capacity misses, which takes longer. "
    .. "Fields: seconds, cycles, bottleneck; terms (name, cycles); by_tensor, by_loop, by_access, levels, exact, error, "
    .. "accesses, as in misses; traffic of each level (name, read, written, bytes, intensity in operations per byte), where L1 "
    .. "has the bytes of the references, and other levels have whole lines; flops, operations (name, bits, count), calls (of "
    .. "functions without a cost), statements; counted: true if these counts are exact; energy (name, count, unit, pj, joules, "
    .. "memory), joules, memory_joules (of the data movement), an estimate. plot{by = 'tensor' or 'loop'} draws the misses.",
    nest_cost.method(misses))

  method("sweep", "(self: nw.loopnest, params: table, options?: table): nw.sweep",
    "Misses for several sizes: one row for each combination of values, with accesses and the misses of each level, L1, L2, ... "
    .. "options as in misses. Example: n:sweep({N = {100, 200}}, {levels = {{bytes = 32768, ways = 8}}}):plot{y = \"L1\"}.",
    sweep(nw))
end
