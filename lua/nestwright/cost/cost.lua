--- s:cost(): what a schedule should take on a machine, and why. A model, not a measurement.
local caches = require "nestwright.cost.caches"
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local machine = require "nestwright.cost.machine"
local missed = require "nestwright.cost.missed"
local report = require "nestwright.show.report"
local rows = require "nestwright.language.rows"
local target = require "nestwright.language.target"
local text = require "nestwright.cost.cost_text"

local cost = {}

local function added(list, key_of)
  local out = missed.added(list, key_of)
  for _, sum in ipairs(out) do sum.misses = sum.cold + sum.capacity + sum.conflict end
  return out
end

-- ---- the record

-- Bytes between two levels, and operations for each of them.
local function traffic_of(c)
  local out = {}
  for n, moved in ipairs(c.moved) do
    local bytes = moved.read + moved.written
    out[n] = {name = n < #c.moved and "L" .. n or "memory", read = moved.read, written = moved.written, bytes = bytes,
      intensity = bytes > 0 and c.flops / bytes or math.huge}
  end
  return out
end

-- Bytes that exist at once, by where they are.
local function memory_of(c)
  local out = {}
  for _, b in ipairs(c.buffers) do out[b.where] = (out[b.where] or 0) + b.bytes end
  return out
end

local function balance_of(c)
  local most, all = 0, 0
  for _, cycles in ipairs(c.shares) do most, all = math.max(most, cycles), all + cycles end
  return most > 0 and all / #c.shares / most or 1
end

local function threads_of(what, value)
  local n = caches.whole(what, value or 1, "threads")
  if n < 1 then errors.fail("range", nil, "%s: threads: %d is less than one", what, n) end
  return n
end

-- Versions never change, so what was counted for one holds: by schedule and machine, and by version and question the record for the
-- sizes that were asked for last.
local counted = setmetatable({}, {__mode = "k"})

local function copied(t)
  if type(t) ~= "table" then return t end
  local out = {}
  for key, value in pairs(t) do out[key] = copied(value) end
  return out
end

local function counted_for(s, walk, m)
  counted[s] = counted[s] or setmetatable({}, {__mode = "k"})
  counted[s][m] = counted[s][m] or {}
  local records, sizes = counted[s][m], table.concat(walk.sizes, " ")
  local question = ("%s %d %s %s %s"):format(walk.version or s:version(), walk.threads, walk.conflicts, walk.full, walk.in_cache)
  local kept = records[question]
  if not kept or kept.sizes ~= sizes then
    kept = {sizes = sizes, record = core.cost(s, walk, core.target(m))}
    records[question] = kept
  end
  return copied(kept.record)
end

--- The record of a schedule, or of its version o.version: o has machine, sizes, threads, conflicts and feed, as in s:cost.
function cost.of(what, s, o)
  local walk = caches.walk(what, s, {sizes = o.sizes, version = o.version})
  local m = o.machine == nil and target.machine(core.schedule_target(s)) or machine.of(o.machine)
  walk.threads, walk.conflicts = threads_of(what, o.threads), o.conflicts ~= false
  walk.full, walk.in_cache = not caches.by_misses(what, o.feed), o.in_cache
  local c = counted_for(s, walk, m)
  c.machine, c.idle, c.conflicts, c.feed = m, walk.threads - c.threads, walk.conflicts, o.feed or "misses"
  c.by_tensor = added(c.by_access, function(row) return row.level .. row.tensor end)
  c.by_loop = added(c.by_access, function(row) return row.level .. tostring(row.loop) end)
  c.levels = added(c.by_access, function(row) return row.level end)
  c.traffic, c.memory, c.balance = traffic_of(c), memory_of(c), balance_of(c)
  return c
end

-- ---- beside the measurement

local JOULES_SECONDS = 0.2 -- of runs whose energy is counted

-- Inputs of the sizes given, filled with numbers; outputs empty.
local function arguments_of(s, values)
  local inside, nw, list = require "nestwright.inside", require "nestwright", {}
  local signature = inside.signature(s)
  local function make(t, with)
    local shape = {}
    for n, dim in ipairs(t.dims) do shape[n] = values[dim] or dim end
    for n, dim in ipairs(shape) do
      if math.type(dim) ~= "integer" then
        errors.fail("invalid", "give the arrays: s:cost{measure = {a, b, c}}",
          "cost: the extent %s of %s (dimension %d) is no number", dim, t.name, n)
      end
    end
    list[#list + 1] = with(shape, t.dtype)
  end
  for n, t in ipairs(signature.inputs) do
    make(t, function(shape, dtype) return nw.random(shape, dtype, {seed = n}) end)
  end
  for _, t in ipairs(signature.outputs) do make(t, nw.zeros) end
  return list
end

-- Joules of a run, where the processor counts them; nil and why where it does not.
local function joules_of(kernel, list)
  local ok, got = pcall(require "nestwright.measure.joules".of, function() kernel(table.unpack(list)) end, JOULES_SECONDS)
  if ok then return got.joules end
  if not errors.is_error(got) or got.code ~= "limit" then error(got, 0) end
  return nil, got.message
end

local function measured(s, o)
  local list = o.measure
  if list == true then list = arguments_of(s, o.sizes or {}) end
  errors.expect("cost: measure", list, "table")
  local call = table.move(list, 1, #list, 1, {})
  call[#call + 1] = {reps = 10, warmup = 2}
  local kernel = s:build {threads = threads_of("cost", o.threads)}
  return kernel, kernel:time(table.unpack(call)), joules_of(kernel, list)
end

-- ---- prices of counts

local function pj_of_accelerator(m, name)
  local a = m.accelerator
  local bytes = a.input_bits // 8
  if name == "mac" then return m.energy.fma[({[8] = 1, [16] = 2, [32] = 3, [64] = 4})[a.input_bits]] end
  if name == "memory" then return m.memory.read_pj * bytes end
  if name == "network" then return a.network_pj * bytes end
  for _, b in ipairs(a.buffers or {}) do if b.name == name then return b.read_pj * b.word_bits / 8 end end
end

local BITS = {["8"] = 1, ["16"] = 2, ["32"] = 3, ["64"] = 4}

local function pj_of_processor(m, name)
  local class, bits = name:match "^(%l+%d*) (%d+)$"
  if class and m.energy[class] and BITS[bits] then return m.energy[class][BITS[bits]] end
  if name == "instruction" then return m.energy.instruction end
  if name == "memory" then return m.memory.read_pj end
  local level = m.caches[tonumber(name:match "^L(%d)$")]
  return level and level.read_pj
end

-- What to write instead of a name that has no energy.
local function without_price(m, name)
  local known = ""
  if m.kind == "accelerator" then
    local names = {"mac", "network", "memory"}
    for _, b in ipairs(m.accelerator.buffers or {}) do names[#names + 1] = b.name end
    known = ("there are %s; or "):format(table.concat(names, ", "))
  elseif m.kind == "cpu" and m.energy[name] then
    known = ("with the bits of the numbers, as in '%s 32'; or "):format(name)
  end
  return ("%sgive it: pj = {[\"%s\"] = 1.0}"):format(known, name)
end

local function price_cycles(m, counts, utilisation)
  if m.kind ~= "accelerator" or not counts.mac then return nil end
  local a = m.accelerator
  return counts.mac / (a.rows * a.columns * a.depth * utilisation)
end

local function price(options)
  local o = errors.options("price", errors.expect("price", options, "table"), {"counts", "machine", "pj", "utilisation"})
  local m, own = machine.of(o.machine), errors.expect("price: pj", o.pj or {}, "table")
  local utilisation = errors.expect("price: utilisation", o.utilisation or 1, "number")
  if not (utilisation > 0 and utilisation <= 1) then
    errors.fail("range", nil, "price: utilisation: %s is not above 0 and up to 1", utilisation)
  end
  local names, list, joules = {}, {}, 0
  for name in pairs(errors.expect("price: counts", o.counts, "table")) do names[#names + 1] = tostring(name) end
  table.sort(names)
  for n, name in ipairs(names) do
    local count = errors.expect("price: counts." .. name, o.counts[name], "number")
    if not (count >= 0 and count < math.huge) then
      errors.fail("range", nil, "price: counts.%s: %s is not a finite number from 0 up", name, count)
    end
    local pj = own[name] or (m.kind == "accelerator" and pj_of_accelerator or pj_of_processor)(m, name)
    if not pj then errors.fail("invalid", without_price(m, name), "price: %s has no energy for '%s'", m.name, name) end
    list[n] = {name = name, count = count, pj = pj, joules = count * pj * 1e-12}
    joules = joules + list[n].joules
  end
  local p = {rows = list, joules = joules, cycles = price_cycles(m, o.counts, utilisation), machine = m}
  return report.new(p, text.price(p))
end

-- ---- sizes

local function curve(s, options)
  if options == nil then
    errors.fail("invalid", "s:cost_curve{values = {64, 128, 256}}", "cost_curve: of which values of a size?")
  end
  local o = errors.options("cost_curve", errors.expect("cost_curve", options, "table"),
    {"size", "values", "machine", "sizes", "threads", "conflicts", "feed", "measure", "title"})
  local names = core.program_sizes(caches.check_schedule("cost_curve", s))
  local size = o.size or names[1]
  if not size then
    errors.fail("invalid", "M = nw.size \"M\" is one", "cost_curve: this schedule has no symbolic size")
  end
  local list, values = {}, errors.expect("cost_curve: values", o.values, "table")
  if #values == 0 then errors.fail("invalid", "{values = {64, 128, 256}}", "cost_curve: values is empty") end
  for n, value in ipairs(values) do
    local sizes = {}
    for name, v in pairs(o.sizes or {}) do sizes[name] = v end
    sizes[size] = value
    local c = cost.of("cost_curve", s, setmetatable({sizes = sizes}, {__index = o}))
    list[n] = {size = value, cycles = c.cycles, seconds = c.seconds, bottleneck = c.bottleneck, flops = c.flops,
      joules = c.joules, misses = {}}
    for level, row in ipairs(c.levels) do list[n].misses[level] = row.misses end
  end
  return report.new({rows = list, size = size}, text.curve(list, size), {plot = function(_, more)
    local how = errors.options("plot", more, {"y", "title"})
    return require "nestwright.plots.cost".curve(list, size, machine.of(o.machine).name, how)
  end})
end

-- ---- the method

local OPTIONS = {"machine", "sizes", "threads", "conflicts", "feed", "measure", "mca"}

local function full(s, options)
  local o = errors.options("cost", options, OPTIONS)
  caches.check_schedule("cost", s)
  local c = cost.of("cost", s, o)
  if o.measure then
    local kernel
    kernel, c.measured, c.measured_joules, c.why_no_joules = measured(s, o)
    c.spills_emitted, c.address_spills_emitted = require "nestwright.measure.spilled".of(kernel, c.loops)
    c.ratio = c.seconds / c.measured.min
    c.joules_ratio = c.measured_joules and c.measured_joules > 0 and c.joules / c.measured_joules or nil
  end
  if o.mca then c.mca = require "nestwright.measure.mca".of(s) end
  return report.new(c, text.of(c), {cells = text.cells(c)})
end

function cost.install(nw)
  local method = rows.definer(rows.methods "schedule", "schedule")

  method("cost", "(self: nw.schedule, options?: {machine?: nw.machine|string|table, sizes?: table, threads?: integer, "
    .. "conflicts?: boolean, feed?: string, measure?: boolean|nw.array[], mca?: boolean}): nw.report",
    "What the schedule should take, by a model; docs/cost.md says how. It is called again and again, so that what fits a cache "
    .. "is there. machine: as nw.machine takes it; this host unless said. sizes: values of "
    .. "symbolic sizes. threads: one unless said. "
    .. "conflicts = false: conflict misses are not told from those of capacity, which is quicker. "
    .. "feed = 'full': every level is asked everything, not only what the one before has not ('misses'): other misses behind the "
    .. "first level, by little, and where many accesses are made often ten times as quick. measure: true, or the arrays: "
    .. "it is compiled, run and timed as well (this host). mca = true: what llvm-mca says of the innermost loop, where it is "
    .. "installed. Printing it gives a table. Fields: seconds, cycles, bottleneck; terms (name, cycles: of each resource if all "
    .. "else were free); loops (name, depth, entered, times, cycles, bottleneck); by_access, by_tensor, by_loop and levels (level, "
    .. "tensor, loop; asked, hits, misses, cold, capacity, conflict, written_back, in lines; "
    .. "exact or not, and error, a part of the "
    .. "misses); traffic (name, read, written, bytes, intensity in operations per byte) of each "
    .. "level; flops; instructions; spills (an estimate); "
    .. "memory (bytes by where they are) and buffers; threads (that have something to do), idle (that have not), "
    .. "shares, balance, outside, team_seconds; joules and energy "
    .. "(name, count, unit, pj, joules), an estimate; measured, ratio (predicted / measured), "
    .. "spills_emitted (the same as spills, read off the compiled code), address_spills_emitted (of registers that hold none); "
    .. "measured_joules (of the package, where it counts them), joules_ratio, why_no_joules (why it does not); mca; machine.", full)

  method("cost_curve", "(self: nw.schedule, options: {values: integer[], size?: string, sizes?: table, machine?: any, "
    .. "threads?: integer, conflicts?: boolean, feed?: string}): nw.report",
    "The cost of a schedule of symbolic sizes for each of the values of one of them (the first unless said): rows with size, "
    .. "cycles, seconds, bottleneck, flops, joules and misses by level. Its method plot{y = 'seconds', 'cycles', 'joules' or "
    .. "'misses'} draws it.", curve)

  nw.cost = nw.cost or {}
  rows.define(nw.cost, "cost", "price",
    "(options: {counts: table<string, number>, machine?: any, pj?: table<string, number>, utilisation?: number}): nw.report",
    "The energy of counts by a machine's table: rows of name, count, pj and joules, and their sum. Of an accelerator: 'mac', "
    .. "'network', 'memory' and the names of its buffers, in accesses of a word, and cycles = mac / (units * utilisation). Of a "
    .. "processor: 'fma 32' and other classes with their bits, 'instruction', and 'L1', 'memory' in bytes. pj: energies that the "
    .. "table does not have, or others.", price)
end

return cost
