--- Defines s:cost(), which predicts with a model how long a schedule takes on a machine, and why. Also defines s:cost_curve and
--- nw.cost.price.
local caches = require "nestwright.cost.caches"
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local hw = require "nestwright.hw.gpu"
local machine = require "nestwright.cost.machine"
local missed = require "nestwright.cost.missed"
local report = require "nestwright.show.report"
local rows = require "nestwright.language.rows"
local target = require "nestwright.language.target"
local acc = later "nestwright.cost.acc_cost"
local gpu = later "nestwright.cost.gpu_cost"
local text = later "nestwright.cost.cost_text"

local cost = {}

local function added(list, key_of)
  local out = missed.added(list, key_of)
  for _, sum in ipairs(out) do sum.misses = sum.cold + sum.capacity + sum.conflict end
  return out
end

-- ---- the record

-- Returns, for each cache level and memory, the bytes that are read from it and written to it, and the operations per byte.
local function traffic_of(c)
  local out = {}
  for n, moved in ipairs(c.moved) do
    local bytes = moved.read + moved.written
    out[n] = {name = n < #c.moved and "L" .. n or "memory", read = moved.read, written = moved.written, bytes = bytes,
      intensity = bytes > 0 and c.flops / bytes or math.huge}
  end
  return out
end

-- Returns, for each location of buffers, the total bytes of the buffers there.
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

-- True if the dependence chain that a loop carries takes at least half of the loop's time.
local function waits(loop) return loop.carried > 0 and loop.carried * loop.times >= 0.5 * loop.cycles end

-- Returns the loop inside loop number n that waits for its dependence chain (see `waits`). If there are several, returns the loop
-- whose chain takes the most cycles. Returns nil if there is none.
local function carrier_of(loops, n)
  local most, found = 0, nil
  for k = n + 1, #loops do
    local loop = loops[k]
    if loop.name and loop.depth <= loops[n].depth then break end
    local cycles = loop.carried * loop.times
    if waits(loop) and cycles >= most then most, found = cycles, loop end
  end
  return found
end

-- Makes the bottleneck "latency" of loops more exact. A loop is limited by latency if it waits for its own dependence chain, or if
-- a part of its body is limited by latency. In the second case, the bottleneck names the inner loop that carries the chain, if
-- there is one.
local function blame(loops)
  for n, loop in ipairs(loops) do
    if loop.name and loop.bottleneck == "latency" and not waits(loop) then
      local carrier = carrier_of(loops, n)
      loop.bottleneck = carrier and "latency of " .. carrier.name or "latency in an iteration"
    end
  end
end

local function parallel_loop(loops)
  for _, loop in ipairs(loops) do if loop.parallel then return loop.name end end
end

local function threads_of(what, value)
  local n = caches.whole(what, value or 1, "threads")
  if n < 1 then errors.fail("range", nil, "%s: threads: %d is less than one", what, n) end
  return n
end

-- The cost records of earlier calls, by schedule, machine, version and options. They stay valid because a version never changes.
-- Each entry has the record for the sizes of the last call only.
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

--- Returns the record of the machine for which a schedule's cost is predicted.
function cost.machine(s, o)
  return o.machine == nil and target.machine(core.schedule_target(s)) or machine.of(o.machine)
end

--- Returns the cost record of a schedule, or of its version o.version. The options machine, sizes, threads, conflicts and feed are
--- those of s:cost.
function cost.of(what, s, o)
  local walk = caches.walk(what, s, {sizes = o.sizes, version = o.version})
  local m = cost.machine(s, o)
  walk.threads, walk.conflicts = threads_of(what, o.threads), o.conflicts ~= false
  walk.full, walk.in_cache = not caches.by_misses(o.feed), o.in_cache
  local c = counted_for(s, walk, m)
  blame(c.loops)
  c.parallel = parallel_loop(c.loops)
  c.machine, c.idle, c.conflicts, c.feed = m, walk.threads - c.threads, walk.conflicts, o.feed or "misses"
  c.by_tensor = added(c.by_access, function(row) return row.level .. row.tensor end)
  c.by_loop = added(c.by_access, function(row) return row.level .. tostring(row.loop) end)
  c.levels = added(c.by_access, function(row) return row.level end)
  c.traffic, c.memory, c.balance = traffic_of(c), memory_of(c), balance_of(c)
  return c
end

-- ---- comparison with measurements

local JOULES_SECONDS = 0.2 -- the total seconds of the runs for one measurement of energy

-- Returns inputs of the given sizes, filled with random numbers, and outputs filled with zeros.
local function arguments_of(s, values)
  local inside, nw, list = require "nestwright.inside", require "nestwright", {}
  local signature = inside.signature(s, values)
  local function make(t, with)
    local shape = {}
    for n, dim in ipairs(t.dims) do shape[n] = values[dim] or dim end
    for n, dim in ipairs(shape) do
      if math.type(dim) ~= "integer" then
        errors.fail("invalid", "give the arrays: s:cost{measure = {a, b, c}}",
          "cost: the extent %s of %s (dimension %d) is not a number", dim, t.name, n)
      end
    end
    local made = with(shape, t.dtype)
    list[#list + 1] = t.strides and inside.array(t):assign(made) or made
  end
  for n, t in ipairs(signature.inputs) do
    make(t, function(shape, dtype) return nw.random(shape, dtype, {seed = n}) end)
  end
  for _, t in ipairs(signature.outputs) do make(t, nw.zeros) end
  return list
end

-- Returns the energy of one run in joules if the CPU measures energy; otherwise nil and the reason.
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

-- ---- energy of counted events

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

-- Returns the hint of the error about a count whose energy is unknown.
local function without_price(m, name)
  local known = ""
  if m.kind == "accelerator" then
    local names = {"mac", "network", "memory"}
    for _, b in ipairs(m.accelerator.buffers or {}) do names[#names + 1] = b.name end
    known = ("known names: %s; or "):format(table.concat(names, ", "))
  elseif m.kind == "cpu" and m.energy[name] then
    known = ("add the width in bits, as in '%s 32'; or "):format(name)
  end
  return ("%sgive its energy: pj = {[\"%s\"] = 1.0}"):format(known, name)
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
    errors.fail("range", nil, "price: utilisation: %s is out of range: give a number above 0 and at most 1", utilisation)
  end
  local names, list, joules = {}, {}, 0
  for name in pairs(errors.expect("price: counts", o.counts, "table")) do names[#names + 1] = tostring(name) end
  table.sort(names)
  for n, name in ipairs(names) do
    local count = errors.expect("price: counts." .. name, o.counts[name], "number")
    if not (count >= 0 and count < math.huge) then
      errors.fail("range", nil, "price: counts.%s: %s is not a finite number of at least 0", name, count)
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

local curves = report.class "curve"

rows.define(curves.methods, "curve", "costs", "plot",
  "(self: nw.curve, options?: {y?: 'seconds'|'cycles'|'joules'|'misses', title?: nw.label}): nw.plot",
  "Draws the predictions over the size. y: the column to draw, by default the seconds, which is the only one for a GPU.",
  function(c, options)
    local how = errors.options("plot", options, {"y", "title"})
    if c.machine.kind == "gpu" and (how.y or "seconds") ~= "seconds" then
      errors.fail("invalid", "y = 'seconds'; s:gpu_counts{caches = true} counts hits and misses", "plot: y: %s are not predicted "
        .. "for a GPU", how.y)
    end
    return require "nestwright.plots.cost".curve(c.rows, c.size, hw.name(c.machine), how)
  end)

-- Returns the row of a curve on a machine.
local function point(s, m, o, sizes)
  if m.kind == "accelerator" then
    errors.fail("invalid", "s:cost{sizes = {M = 64}} predicts one size", "cost_curve: %s is an accelerator, for which there are no "
      .. "curves", m.name)
  end
  local with = setmetatable({sizes = sizes}, {__index = o})
  if m.kind == "gpu" then
    local c = gpu.of("cost_curve", s, with, m)
    return {seconds = c.seconds, bottleneck = c.bottleneck or "nothing"}
  end
  local c = cost.of("cost_curve", s, with)
  local row = {cycles = c.cycles, seconds = c.seconds, bottleneck = c.bottleneck, flops = c.flops, joules = c.joules, misses = {}}
  for level, l in ipairs(c.levels) do row.misses[level] = l.misses end
  return row
end

local function curve(s, options)
  if options == nil then
    errors.fail("invalid", "s:cost_curve{values = {64, 128, 256}}", "cost_curve: values are missing")
  end
  local o = errors.options("cost_curve", errors.expect("cost_curve", options, "table"),
    {"size", "values", "machine", "sizes", "threads", "conflicts", "feed", "measure", "title"})
  local names = core.program_sizes(caches.check_schedule("cost_curve", s))
  local size = o.size or names[1]
  if not size then
    errors.fail("invalid", "M = nw.size \"M\" makes one", "cost_curve: this schedule has no symbolic size")
  end
  local m, list, values = cost.machine(s, o), {}, errors.expect("cost_curve: values", o.values, "table")
  if #values == 0 then errors.fail("invalid", "{values = {64, 128, 256}}", "cost_curve: values is empty") end
  for n, value in ipairs(values) do
    local sizes = {}
    for name, v in pairs(o.sizes or {}) do sizes[name] = v end
    sizes[size] = value
    list[n] = point(s, m, o, sizes)
    list[n].size = value
  end
  return curves.new({rows = list, size = size, machine = m}, text.curve(list, size))
end

-- ---- the method

local OPTIONS = {"machine", "sizes", "threads", "conflicts", "feed", "measure", "mca", "caches"}

local function full(s, options)
  local o = errors.options("cost", options, OPTIONS)
  caches.check_schedule("cost", s)
  local m = cost.machine(s, o)
  if m.kind == "gpu" then return gpu.report(s, o, m) end
  if m.kind == "accelerator" then return acc.report(s, o, m) end
  if o.caches ~= nil then errors.fail("invalid", "leave it out", "cost: caches: those of a CPU are always simulated") end
  local c = cost.of("cost", s, o)
  if o.measure then
    local kernel
    kernel, c.measured, c.measured_joules, c.why_no_joules = measured(s, o)
    c.spills_emitted, c.address_spills_emitted = require "nestwright.measure.spilled".of(kernel, c.loops)
    c.ratio = c.seconds / c.measured.median
    c.joules_ratio = c.measured_joules and c.measured_joules > 0 and c.joules / c.measured_joules or nil
  end
  if o.mca then c.mca = require "nestwright.measure.mca".of(s) end
  return report.new(c, text.of(c), text.cells(c))
end

function cost.install(nw)
  local method = rows.definer(rows.methods "schedule", "schedule", "costs")

  method("cost", "(self: nw.schedule, options?: {machine?: nw.machine|string|table, sizes?: table, threads?: integer, "
    .. "conflicts?: boolean, feed?: 'misses'|'full', measure?: boolean|nw.array[], mca?: boolean, caches?: boolean}): nw.report",
    "Predicts with a model how long the schedule takes, and why; docs/cost.md describes the model. It assumes that the kernel is "
    .. "called repeatedly, so data that fits a cache is already there. machine: as in nw.machine; this host by default. sizes: "
    .. "values of symbolic sizes. threads: 1 by default, also if a loop is parallel; the answer says for how many threads it is "
    .. "computed. conflicts = false: conflict misses are counted as capacity misses, "
    .. "which is faster. feed = 'full': every level sees every access; by default ('misses') each level sees only the misses "
    .. "of the level before it. 'full' changes the misses of the second and later levels a little, and is often ten times "
    .. "faster for programs with many accesses. measure = true, or a list of arrays: the schedule is also compiled, run and "
    .. "timed on this host. mca = true: adds the report of llvm-mca on the innermost loop, if llvm-mca is installed; it "
    .. "names the CPU and LLVM's model of it, which may be that of another CPU. Printing "
    .. "the answer gives a table. Fields: seconds, cycles, bottleneck; terms (name, cycles: the time if this resource were the "
    .. "only limit); loops (name, depth, entered: the number of entries, times: the number of iterations, cycles, carried: the "
    .. "cycles from an iteration to the next one through the longest chain of dependent updates, or 0, parallel, bottleneck); "
    .. "by_access, by_tensor, by_loop and levels (level, tensor, loop; the numbers of lines asked (requested), hits, misses, "
    .. "cold, capacity, conflict, written_back; exact, a boolean; error, a fraction of the misses); traffic of each level "
    .. "(name, read, written, bytes, intensity in operations per byte); flops; instructions; spills (an estimate); memory "
    .. "(bytes by location) and buffers; threads (with work), idle (threads without work), shares (cycles of each thread), "
    .. "balance (their mean over their maximum; terms, loops and misses are those of the first thread), outside (cycles outside "
    .. "of parallel loops), team_seconds (to start and join threads); counts_both (true if a choice depends on data, so that both "
    .. "sides are counted), calls (true if intrinsics are called, whose code is assumed to be good vector code); joules and energy "
    .. "(name, count, unit, pj, joules), an estimate; measured, ratio (predicted / measured: cycles "
    .. "over the "
    .. "clock of the record, which nw.calibrate measures in CPU time, over wall-clock time); "
    .. "spills_emitted (spills of vector registers in the compiled code), address_spills_emitted (spills of other registers); "
    .. "measured_joules (of the CPU package, where it has energy counters), joules_ratio, why_no_joules (why energy was not "
    .. "measured); mca; machine. For a GPU, the options are machine, sizes and caches (true: simulates caches), and the fields "
    .. "are seconds, bottleneck, machine; kernels (seconds, bottleneck, limits with name and seconds, waves, grid, block, "
    .. "launches, resident, limiter, occupancy); loops (name, id, depth, kernel, times, issued, f32, f64, ints and special: "
    .. "instructions of warps, seconds, bottleneck); and counts, the answer of s:gpu_counts. For a schedule on an accelerator, "
    .. "the only option is sizes. The fields are seconds, cycles, machine, joules, energy, terms (the busy cycles of each unit, "
    .. "and those of the memory outside of the chip), bottleneck and bound (the most of these, and its cycles), and those of "
    .. "s:stream():model().", full)

  method("cost_curve", "(self: nw.schedule, options: {values: integer[], size?: string, sizes?: table, machine?: any, "
    .. "threads?: integer, conflicts?: boolean, feed?: 'misses'|'full'}): nw.report",
    "Predicts the cost of a schedule for several values of one symbolic size (the first by default). The rows have size, cycles, "
    .. "seconds, bottleneck, flops, joules and misses by level; for a GPU, they have size, seconds and bottleneck. The method "
    .. "plot{y = 'seconds', 'cycles', 'joules' or 'misses'} "
    .. "draws them.", curve)

  nw.cost = nw.cost or {}
  rows.define(nw.cost, "cost", "costs", "price",
    "(options: {counts: table<string, number>, machine?: any, pj?: table<string, number>, utilisation?: number}): nw.report",
    "Computes the energy of counted events from a machine's energy table. The answer has a row for each name (name, count, pj, "
    .. "joules), and the sum. For an accelerator, the names of counts are 'mac', 'network', 'memory' and the names of its "
    .. "buffers, in accesses of one word; the cycles are mac / (units * utilisation). For a CPU, the names are classes of "
    .. "operations with their width in bits, such as 'fma 32', and 'instruction', 'L1' and 'memory', the last two in bytes. pj: "
    .. "energies that the table does not have, or that replace those of the table.", price)
end

return cost
