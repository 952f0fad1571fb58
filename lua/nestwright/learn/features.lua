--- Defines the features of a schedule for a learned model. Each row defines one number and its unit. Most features are rates per
--- predicted cycle. They show the parts of a prediction, so a model can learn which parts are often wrong. All features have the
--- same meaning for every computation. Some features come from the compiled code, which the cost model does not use.
local facts = later "nestwright.learn.feature_facts"
local lowered = require "nestwright.cost.lowered"

local features = {}

local TINY = 1 / 1024 -- rates that are much smaller than this one are treated as equal

local function log2(v) return math.log(v + TINY, 2) end
local function ratio(a, b) return b > 0 and a / b or 0 end

local list = {}
local needs -- what the next rows need: "caches" for cache counts, or "code" for compiled code

local function row(name, unit, doc, value)
  list[#list + 1] = {name = name, unit = unit, doc = doc, value = value, needs = needs}
end

local RATE, LINES = "log2, per predicted cycle", "log2 lines, per 16 predicted cycles"
local SHARE = "share of the predicted cycles"

local function rate(name, doc, value)
  row(name, RATE, doc, function(f) return log2(value(f) / f.cycles) end)
end

local function lines(name, doc, value)
  row(name, LINES, doc, function(f) return log2(16 * value(f) / f.cycles) end)
end

-- ---- the prediction and its terms

rate("operations", "Arithmetic operations.", function(f) return f.c.flops end)
row("above the least", "log2", "Predicted cycles, relative to a lower bound: the cycles to execute the naive program's operations "
  .. "at the full rate, or to move its arrays at 16 bytes per cycle, whichever is larger.",
  function(f) return math.log(f.cycles / f.least, 2) end)
rate("instructions", "Instructions.", function(f) return f.c.instructions end)
rate("spills", "Stores and loads of spilled registers.", function(f) return f.c.spills end)
for _, term in ipairs {"dispatch", "loads", "stores", "arithmetic", "division", "integers", "branches"} do
  row("cycles: " .. term, SHARE, "The cost model's term of that name: the cycles that the program would take if this were the only "
    .. "limit.", function(f) return (f.term[term] or 0) / f.cycles end)
end
needs = "caches"
for n = 1, 3 do
  row("cycles: behind L" .. n, SHARE,
    ("Cycles if the only limit were the bytes moved between cache level %d and the next level or memory."):format(n), function(f)
      local last = not f.level[n + 1] and f.term.memory or 0
      return math.max(f.term[("L%d to L%d"):format(n + 1, n)] or 0, last) / f.cycles
    end)
end
needs = nil
row("balance", "share", "The second largest term of the cost model, relative to the largest.",
  function(f) return ratio(f.second, f.largest) end)
row("together", "times the predicted cycles", "The sum of all terms. It shows how much work is assumed to overlap.",
  function(f) return f.together / f.cycles end)

local function spent(name, doc, key) row(name, SHARE, doc, function(f) return ratio(f.spent[key], f.spent.all) end) end

spent("waiting", "Cycles of bodies in which each iteration waits for the previous one.", "waiting")
spent("guarded", "Cycles of bodies inside a guard.", "guarded")
spent("tails", "Cycles of tail loops.", "tails")
spent("scalar", "Cycles of bodies that do not store vectors.", "scalar")
spent("copying", "Cycles of bodies that only copy elements or set them to a constant.", "copies")
spent("under masks", "Cycles of bodies that load or store under a mask.", "masked")
spent("choosing", "Cycles of bodies that select between two values.", "selects")
spent("odd vectors", "Cycles of bodies with vectors whose number of lanes is not a power of two.", "odd")
spent("odd updates", "Cycles of bodies that update, in place in every iteration, vectors whose number of lanes is not a "
  .. "power of two.", "odd_updates")
spent("short loops", "Cycles of loops with fewer than eight iterations.", "short")
row("rounds", "log2 iterations", "Iterations of the innermost loop around a body, as an average weighted by the cycles of bodies.",
  function(f) return ratio(f.spent.trips, f.spent.all) end)

-- ---- caches and pages

needs = "caches"
for n = 1, 3 do
  local name = "L" .. n
  local function of(field) return function(f) return f.level[n] and f.level[n][field] or 0 end end
  lines(name .. " misses", "Misses of this cache level.", of "misses")
  lines(name .. " written back", "Modified lines that this cache level writes back.", of "written_back")
end
rate("L1 asked", "Lines requested from the first cache level.", function(f) return f.level[1] and f.level[1].asked or 0 end)
for n = 1, 2 do
  for _, kind in ipairs {{"apart", "at least two lines and less than half a page"}, {"page", "half a page or more"}} do
    lines(("L%d misses, %s"):format(n, kind[1]), ("Misses of accesses whose stride is %s."):format(kind[2]),
      function(f) return f.missed[n] and f.missed[n][kind[1]] or 0 end)
  end
end
needs = nil
rate("page changes", "Accesses to a page other than the page that the same reference accessed before.",
  function(f) return f.page_changes end)
for n = 1, 3 do
  row(("pages %d"):format(n), "log2 pages", ("Pages that the hottest body touches while the %s."):format(
    n == 1 and "innermost loop runs" or n .. " innermost loops run"), function(f) return math.log(f.reach.pages[n] + 1, 2) end)
end
row("streams", "log2 accesses", "Accesses of the hottest body whose address changes in a loop. Adjacent accesses are counted once.",
  function(f) return math.log(f.reach.streams + 1, 2) end)
row("unaligned", "share", "Vectors whose constant offset is not a multiple of their length, as a share of the hottest body's "
  .. "accesses.",
  function(f) return ratio(f.reach.unaligned, f.reach.all) end)

-- ---- loops

row("depth", "loops", "Loops around the deepest statement.", function(f)
  local most = 0
  for _, body in ipairs(f.program.bodies) do most = math.max(most, body.depth) end
  return most
end)
row("loops", "loops", "All loops of the lowered program.", function(f)
  local n = 0
  for _, body in ipairs(f.program.bodies) do n = n + (body.kind == "loop" and 1 or 0) end
  return n
end)
row("nests", "loops", "Outermost loops.", function(f)
  local n = 0
  for _, body in ipairs(f.program.bodies[1].kids) do n = n + (body.kind == "loop" and 1 or 0) end
  return n
end)
rate("iterations", "Iterations of all loops.", function(f) return f.loops.rounds end)
rate("entries", "How many times loops are entered.", function(f) return f.loops.entries end)
rate("guards", "How many times conditions of guards are evaluated.", function(f) return f.loops.guards end)
rate("selects", "Executed selections between two values.", function(f) return f.total.selects end)
rate("masked", "Executed loads and stores under a mask.", function(f) return f.total.masked end)

-- ---- the hottest body

row("hot share", "share", "Share of the cycles that is spent in the hottest body.",
  function(f) return math.min(1, f.hot.own / f.cycles) end)
row("hot depth", "loops", "Loops around the hottest body.", function(f) return f.hot.body.depth end)
row("hot statements", "log2 statements", "Statements in the hottest body, including the copies made by unrolling.",
  function(f) return math.log(math.max(1, #f.hot.body.statements), 2) end)
row("hot cycles", "log2 cycles", "Cycles of one execution of the hottest body.",
  function(f) return log2(ratio(f.hot.own, f.hot.body.times)) end)
for n = 1, 3 do
  row("hot trips " .. n, "log2 iterations",
    ("Iterations of loop %d around the hottest body, where loop 1 is the innermost."):format(n),
    function(f) return f.inner[n] and log2(lowered.trips(f.inner[n])) or 0 end)
end
row("lanes", "log2 lanes", "Lanes of the hottest body's widest store.", function(f) return math.log(f.wide, 2) end)
row("registers a vector", "log2", "Size of the hottest body's widest store, relative to a vector register of the machine.",
  function(f) return math.log(f.wide * (f.busy[1] and f.program.buffers[f.busy[1].name].bytes or 4) / f.vector_bytes, 2) end)
row("accumulators", "log2 registers", "Vectors that the hottest body accumulates in place while the innermost loop around it runs.",
  function(f) return math.log(1 + f.accumulators, 2) end)
row("registers", "share", "The vectors of `accumulators`, as a share of the machine's vector registers.",
  function(f) return f.accumulators / f.machine.vector_registers end)
row("loads a statement", "loads", "Loads per statement of the hottest body.", function(f)
  local n = 0
  for _, s in ipairs(f.hot.body.statements) do n = n + #s.loads end
  return ratio(n, #f.hot.body.statements)
end)

-- ---- statements

row("vectorized", "share", "Share of the stored elements that are stored by vectors.",
  function(f) return ratio(f.total.vector_elements, f.total.elements) end)
row("lanes a store", "log2 lanes", "Lanes of a store, averaged over all executed stores.",
  function(f) return math.log(math.max(1, ratio(f.total.elements, f.total.stores)), 2) end)
row("uneven vectors", "share", "Share of the executed stores whose vectors do not fill whole registers.",
  function(f) return ratio(f.total.uneven, f.total.stores) end)
row("kept", "share", "Share of the executed updates that update the same element in all iterations of the innermost loop.",
  function(f) return ratio(f.total.still, f.total.updates) end)
row("work", "log2, relative to the naive program", "Executed operations. The feature is above 0 if the schedule repeats work.",
  function(f) return log2(f.total.operations / f.work) end)
local TOTALS = {
  {"statements", "stores", "Executed statements."}, {"loads", "loads", "Executed loads."},
  {"scalar loads", "scalar_loads", "Loads of one element."},
  {"strided loads", "strided", "Elements loaded by vectors that are not contiguous."},
  {"strided stores", "scattered", "Elements stored by vectors that are not contiguous."},
  {"copied", "copies", "Elements that are only copied."},
  {"filled", "fills", "Elements set to a constant."}, {"streamed", "streamed", "Elements stored by non-temporal stores."},
  {"joined", "joined", "Vector loads from a temporary that is stored by narrower vectors."},
  {"parted", "parted", "Loads from a temporary that is stored by wider vectors."},
}
for _, t in ipairs(TOTALS) do rate(t[1], t[3], function(f) return f.total[t[2]] end) end

-- ---- the compiled code

needs = "code"
row("emitted", "log2", "Compiled instructions, relative to those that the cost model counts.",
  function(f) return log2(ratio(f.emitted.counts.instructions, f.c.instructions)) end)
row("emitted core", "log2", "Core cycles that the compiled instructions need, relative to the cost model's core cycles. Before the "
  .. "division, both numbers c are replaced by sqrt(c^2 + m^2), where m is the cost model's memory cycles.", function(f)
    local memory = f.in_memory * f.in_memory
    return math.log((f.emitted.together ^ 2 + memory) / (f.in_core ^ 2 + memory), 2) / 2
  end)
rate("emitted together", "Cycles that the compiled instructions of each loop need on its busiest resource, summed over all loops.",
  function(f) return f.emitted.together end)
local BUSY = {
  {"dispatch", "dispatch", "instructions"}, {"loads", "load", "loads"}, {"stores", "store", "stores"},
  {"arithmetic", "fma", "operations on floating-point numbers"},
  {"vector integers", "int", "operations on vectors of integers, and bitwise operations on vectors"},
  {"shuffles", "shuffle", "shuffles, comparisons and operations on masks"},
  {"integers", "whole", "operations on integers, conditions and branches"},
}
for _, t in ipairs(BUSY) do
  rate("emitted cycles: " .. t[1], ("Cycles of the compiled code if its only limit were the %s."):format(t[3]),
    function(f) return f.emitted.cycles[t[2]] or 0 end)
end
local MADE = {
  {"moves", "moves", "Moves, loads and stores."}, {"branches", "branches", "Branches and calls."},
  {"choices", "choices", "Selections of an integer by a condition."}, {"masks", "masks", "Operations on masks."},
  {"masked", "masked", "Instructions under a mask."}, {"stack", "stack", "Loads and stores of the stack."},
  {"gathers", "gathers", "Gathers."}, {"scatters", "scatters", "Scatters."},
  {"spills", "spills", "Stores and loads of spilled registers."},
  {"wide loads", "wide loads", "Loads of 32 bytes or more."}, {"narrow stores", "narrow stores", "Stores of 16 bytes or less."},
}
for _, t in ipairs(MADE) do
  rate("emitted " .. t[1], "In the compiled code: " .. t[3]:sub(1, 1):lower() .. t[3]:sub(2),
    function(f) return f.emitted.counts[t[2]] or 0 end)
end

-- ---- simulation of the compiled code

-- Adds a row from the simulation of the compiled code. Its value is 0 if nothing was simulated; only x86 code is simulated.
local function simulated(name, unit, doc, value)
  row(name, unit, doc, function(f) return f.simulated.cycles > 0 and value(f, f.simulated) or 0 end)
end

local function with_memory(f, cycles) return math.sqrt(cycles * cycles + f.in_memory * f.in_memory) end

simulated("simulated core", "log2, relative to the predicted cycles", "Simulated cycles of the compiled code, with all data "
  .. "in the first cache level.", function(f, t) return math.log(t.cycles / f.cycles, 2) end)
simulated("simulated", "log2, relative to the predicted cycles", "sqrt(simulated^2 + memory^2), where memory is the cost model's "
  .. "longest memory term.", function(f, t) return math.log(with_memory(f, t.cycles) / f.cycles, 2) end)
simulated("simulated balance", "log2", "The simulated cycles, relative to the cost model's longest memory term.",
  function(f, t) return math.log(t.cycles / (f.in_memory + 1), 2) end)
simulated("simulated rate", "instructions per cycle", "Instructions per simulated cycle.",
  function(_, t) return t.instructions / t.cycles end)
local RARE = 2 ^ -20 -- rates that are much smaller than this one are treated as 0
simulated("simulated waits", "log2, per instruction", "Simulated loads that wait for a line to arrive in the cache.",
  function(_, t) return math.log(t.waits / t.instructions + RARE, 2) end)
simulated("simulated misses", "log2, per instruction", "Simulated branches that are mispredicted.",
  function(_, t) return math.log(t.mispredicted / t.instructions + RARE, 2) end)

-- ---- storage and threads

needs = nil
for _, scope in ipairs {"global", "local"} do
  row(scope .. " bytes", "log2 bytes", ("Size of all temporaries in scope %s."):format(scope), function(f)
    local bytes = 0
    for _, b in pairs(f.program.buffers) do
      if b.temporary and b.scope == scope then bytes = bytes + b.elements * b.bytes end
    end
    return math.log(1 + bytes, 2)
  end)
end
row("chunks", "log2 iterations", "Iterations of the outermost parallel loop, divided by the cores of the machine.", function(f)
  for _, body in ipairs(f.program.bodies) do
    if body.mark == "parallel" then return math.log(math.max(1, lowered.trips(body)) / f.machine.cores, 2) end
  end
  return 0
end)

for n = 1, 2 do
  local which = ("buffer %d: "):format(n)
  local about = ("the buffer with the %s number of accessed elements"):format(n == 1 and "largest" or "second largest")
  local access = "the most frequent access to " .. about
  local function of(f, value)
    local b = f.busy[n]
    return b and value(b, f.program.buffers[b.name].bytes, lowered.loops(b.body, 1)[1]) or 0
  end
  row(which .. "stride", "log2 bytes", "Stride of " .. access .. " along the innermost loop.", function(f)
    return of(f, function(b, bytes, inner)
      return inner and math.log(1 + math.abs(lowered.stride(b.access, inner)) * bytes, 2) or 0
    end)
  end)
  row(which .. "lines", "log2 lines", "Lines that " .. access .. " touches in the two innermost loops.", function(f)
    return of(f, function(b, bytes) return math.log(lowered.lines(b.access, b.body, 2, bytes, f.line), 2) end)
  end)
  row(which .. "reuse", "log2", "Accessed elements of " .. about .. ", divided by its size in elements.",
    function(f) return of(f, function(b) return log2(ratio(b.elements, f.program.buffers[b.name].elements)) end) end)
end

--- The rows of the features: {name, unit, doc, value}.
features.rows = list

--- Returns the names of the features, in the order of the rows.
function features.names()
  local out = {}
  for n, r in ipairs(list) do out[n] = r.name end
  return out
end

--- Returns the features of a schedule with its cost record, in the order of the rows. sizes: the values of the symbolic sizes for
--- which the record was computed. without: {code = true} omits the rows that need compiled code, so that nothing is compiled;
--- {caches = true} omits the rows that need cache counts, which is required if the cost record has no such counts.
function features.of(s, c, sizes, without)
  local f, out = facts.of(s, c, sizes, without), {}
  for _, r in ipairs(list) do
    if not (without and without[r.needs]) then
      local v = r.value(f)
      out[#out + 1] = v == v and math.max(-1e6, math.min(1e6, v)) or 0
    end
  end
  return out
end

local SIMULATED
for n, r in ipairs(list) do if r.name == "simulated" then SIMULATED = n end end

--- Returns the expected time of a schedule in seconds, from which a model's score of the schedule starts. This time is the
--- geometric mean of the predicted time and the simulated time of the compiled code. values: the features of the schedule. seconds:
--- the predicted time.
function features.expected(values, seconds) return seconds * 2 ^ (values[SIMULATED] / 2) end

return features
