--- The features of a schedule for a learned model: one row per number, with its unit. Most are rates per predicted cycle: the
--- composition of a prediction tells where it may be wrong, in the same way for every computation. Some are taken from the compiled
--- code, which the cost model does not see.
local facts = require "nestwright.learn.feature_facts"
local lowered = require "nestwright.cost.lowered"

local features = {}

local TINY = 1 / 1024 -- below this rate, counts are treated as equal

local function log2(v) return math.log(v + TINY, 2) end
local function ratio(a, b) return b > 0 and a / b or 0 end

local list = {}
local needs -- what the rows that follow need: "caches", cache counts, or "code", compiled code

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

rate("operations", "Operations on numbers.", function(f) return f.c.flops end)
row("above the least", "log2", "Predicted cycles, relative to the cycles of the naive program's operations at full rate, or of "
  .. "its arrays at 16 bytes per cycle.", function(f) return math.log(f.cycles / f.least, 2) end)
rate("instructions", "Instructions.", function(f) return f.c.instructions end)
rate("spills", "Register spills: stores and loads.", function(f) return f.c.spills end)
for _, term in ipairs {"dispatch", "loads", "stores", "arithmetic", "division", "integers", "branches"} do
  row("cycles: " .. term, SHARE, "The cost model's term of that name: cycles if this were the only limit.",
    function(f) return (f.term[term] or 0) / f.cycles end)
end
needs = "caches"
for n = 1, 3 do
  row("cycles: behind L" .. n, SHARE,
    ("The same for the bytes moved between level %d of the caches and the next level or memory."):format(n), function(f)
      local last = not f.level[n + 1] and f.term.memory or 0
      return math.max(f.term[("L%d to L%d"):format(n + 1, n)] or 0, last) / f.cycles
    end)
end
needs = nil
row("balance", "share", "The second largest of these terms, relative to the largest.",
  function(f) return ratio(f.second, f.largest) end)
row("together", "times the predicted cycles", "The sum of all terms: how much work is assumed to overlap.",
  function(f) return f.together / f.cycles end)

local function spent(name, doc, key) row(name, SHARE, doc, function(f) return ratio(f.spent[key], f.spent.all) end) end

spent("waiting", "Cycles of bodies in which each iteration waits for the previous one.", "waiting")
spent("guarded", "Cycles of bodies in a guard.", "guarded")
spent("tails", "Cycles of tail loops.", "tails")
spent("scalar", "Cycles of bodies that store no vectors.", "scalar")
spent("copying", "Cycles of bodies that only copy, or set to a constant.", "copies")
spent("under masks", "Cycles of bodies that load or store under a mask.", "masked")
spent("choosing", "Cycles of bodies that select between two values.", "selects")
spent("odd vectors", "Cycles of bodies with vectors whose number of lanes is not a power of two.", "odd")
spent("odd updates", "The same for vectors that are updated in place in every iteration.", "odd_updates")
spent("short loops", "Cycles of loops with fewer than eight iterations.", "short")
row("rounds", "log2 iterations", "Iterations of the innermost loop of a body, averaged over the predicted cycles.",
  function(f) return ratio(f.spent.trips, f.spent.all) end)

-- ---- caches and pages

needs = "caches"
for n = 1, 3 do
  local name = "L" .. n
  local function of(field) return function(f) return f.level[n] and f.level[n][field] or 0 end end
  lines(name .. " misses", "Misses of this level.", of "misses")
  lines(name .. " written back", "Modified lines that this level writes back.", of "written_back")
end
rate("L1 asked", "Lines requested from the first level.", function(f) return f.level[1] and f.level[1].asked or 0 end)
for n = 1, 2 do
  for _, kind in ipairs {{"apart", "two lines to half a page"}, {"page", "half a page or more"}} do
    lines(("L%d misses, %s"):format(n, kind[1]), ("Misses of accesses whose stride is %s."):format(kind[2]),
      function(f) return f.missed[n] and f.missed[n][kind[1]] or 0 end)
  end
end
needs = nil
rate("page changes", "Accesses to another page than the previous one of the same reference.", function(f) return f.page_changes end)
for n = 1, 3 do
  row(("pages %d"):format(n), "log2 pages", ("Pages that the hottest body touches while the %s."):format(
    n == 1 and "innermost loop runs" or n .. " innermost loops run"), function(f) return math.log(f.reach.pages[n] + 1, 2) end)
end
row("streams", "log2 accesses", "Accesses of that body that move, with adjacent ones counted once.",
  function(f) return math.log(f.reach.streams + 1, 2) end)
row("unaligned", "share", "Share of its accesses that are vectors with a constant offset that is not a multiple of their length.",
  function(f) return ratio(f.reach.unaligned, f.reach.all) end)

-- ---- loops

row("depth", "loops", "Loops around the deepest statement.", function(f)
  local most = 0
  for _, body in ipairs(f.program.bodies) do most = math.max(most, body.depth) end
  return most
end)
row("loops", "loops", "Loops of the lowered program.", function(f)
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
rate("entries", "How often loops are entered.", function(f) return f.loops.entries end)
rate("guards", "Evaluated conditions of guards.", function(f) return f.loops.guards end)
rate("selects", "Selections between two values, by statement.", function(f) return f.total.selects end)
rate("masked", "Loads and stores under a mask.", function(f) return f.total.masked end)

-- ---- the hottest body

row("hot share", "share", "Share of the cycles that the hottest body takes.",
  function(f) return math.min(1, f.hot.own / f.cycles) end)
row("hot depth", "loops", "Loops around that body.", function(f) return f.hot.body.depth end)
row("hot statements", "log2 statements", "Statements in it, copies by unrolling included.",
  function(f) return math.log(math.max(1, #f.hot.body.statements), 2) end)
row("hot cycles", "log2 cycles", "Cycles of one execution of it.", function(f) return log2(ratio(f.hot.own, f.hot.body.times)) end)
for n = 1, 3 do
  row("hot trips " .. n, "log2 iterations", ("Iterations of the loop around it that is number %d from inside."):format(n),
    function(f) return f.inner[n] and log2(lowered.trips(f.inner[n])) or 0 end)
end
row("lanes", "log2 lanes", "Lanes of its widest store.", function(f) return math.log(f.wide, 2) end)
row("registers a vector", "log2", "Bytes of that store, in vector registers of the machine.",
  function(f) return math.log(f.wide * (f.busy[1] and f.program.buffers[f.busy[1].name].bytes or 4) / f.vector_bytes, 2) end)
row("accumulators", "log2 registers", "Vectors that it accumulates in place while its innermost loop runs.",
  function(f) return math.log(1 + f.accumulators, 2) end)
row("registers", "share", "Accumulators, as a share of the vector registers.",
  function(f) return f.accumulators / f.machine.vector_registers end)
row("loads a statement", "loads", "Its loads per statement.", function(f)
  local n = 0
  for _, s in ipairs(f.hot.body.statements) do n = n + #s.loads end
  return ratio(n, #f.hot.body.statements)
end)

-- ---- statements

row("vectorized", "share", "Share of the stored elements that vectors store.",
  function(f) return ratio(f.total.vector_elements, f.total.elements) end)
row("lanes a store", "log2 lanes", "Average lanes of all executed stores.",
  function(f) return math.log(math.max(1, ratio(f.total.elements, f.total.stores)), 2) end)
row("uneven vectors", "share", "Share of the executed stores whose vectors do not fill registers.",
  function(f) return ratio(f.total.uneven, f.total.stores) end)
row("kept", "share", "Share of the executed updates whose element does not change while the innermost loop runs.",
  function(f) return ratio(f.total.still, f.total.updates) end)
row("work", "log2, of the naive program's", "Operations on values: above 0 if work is repeated.",
  function(f) return log2(f.total.operations / f.work) end)
local TOTALS = {
  {"statements", "stores", "Executed statements."}, {"loads", "loads", "Executed loads."},
  {"scalar loads", "scalar_loads", "Loads of one element."},
  {"strided loads", "strided", "Elements loaded by vectors that are not contiguous."},
  {"strided stores", "scattered", "Elements stored by such vectors."}, {"copied", "copies", "Elements that are only copied."},
  {"filled", "fills", "Elements set to a constant."}, {"streamed", "streamed", "Elements stored by non-temporal stores."},
  {"joined", "joined", "Loads of vectors of a temporary that is stored in smaller parts."},
  {"parted", "parted", "Loads of parts of a temporary that is stored in larger ones."},
}
for _, t in ipairs(TOTALS) do rate(t[1], t[3], function(f) return f.total[t[2]] end) end

-- ---- the compiled code

needs = "code"
row("emitted", "log2", "Compiled instructions, relative to those that the cost model counts.",
  function(f) return log2(ratio(f.emitted.counts.instructions, f.c.instructions)) end)
row("emitted core", "log2", "Core cycles by the compiled instructions, relative to those of the cost model. Each is combined "
  .. "with its memory cycles as the root of the sum of squares.", function(f)
    local memory = f.in_memory * f.in_memory
    return math.log((f.emitted.together ^ 2 + memory) / (f.in_core ^ 2 + memory), 2) / 2
  end)
rate("emitted together", "Cycles of the busiest resource of each loop, by the compiled instructions, summed over the loops.",
  function(f) return f.emitted.together end)
local BUSY = {
  {"dispatch", "dispatch", "instructions"}, {"loads", "load", "loads"}, {"stores", "store", "stores"},
  {"arithmetic", "fma", "operations on floating-point numbers"},
  {"vector integers", "int", "vectors of integers, and bits of vectors"},
  {"shuffles", "shuffle", "shuffles, comparisons and masks"},
  {"integers", "whole", "integers, conditions and branches"},
}
for _, t in ipairs(BUSY) do
  rate("emitted cycles: " .. t[1], ("Cycles of the compiled %s, if these were the only limit."):format(t[3]),
    function(f) return f.emitted.cycles[t[2]] or 0 end)
end
local MADE = {
  {"moves", "moves", "Moves, loads and stores."}, {"branches", "branches", "Branches and calls."},
  {"choices", "choices", "Integers chosen by a condition."}, {"masks", "masks", "Operations on masks."},
  {"masked", "masked", "Instructions under a mask."}, {"stack", "stack", "Loads and stores of the stack."},
  {"gathers", "gathers", "Gathers."}, {"scatters", "scatters", "Scatters."},
  {"spills", "spills", "Register spills: stores and loads."},
  {"wide loads", "wide loads", "Loads of 32 bytes and more."}, {"narrow stores", "narrow stores", "Stores of 16 bytes and less."},
}
for _, t in ipairs(MADE) do
  rate("emitted " .. t[1], "Of the compiled instructions: " .. t[3]:sub(1, 1):lower() .. t[3]:sub(2),
    function(f) return f.emitted.counts[t[2]] or 0 end)
end

-- ---- simulation of the compiled code

-- A row from the simulation of the compiled code, on x86; 0 for other CPUs, and where nothing ran.
local function simulated(name, unit, doc, value)
  row(name, unit, doc, function(f) return f.simulated.cycles > 0 and value(f, f.simulated) or 0 end)
end

local function with_memory(f, cycles) return math.sqrt(cycles * cycles + f.in_memory * f.in_memory) end

simulated("simulated core", "log2, of the predicted cycles", "Simulated cycles of the compiled code with all data in the first "
  .. "cache.", function(f, t) return math.log(t.cycles / f.cycles, 2) end)
simulated("simulated", "log2, of the predicted cycles", "The same, combined with the cost model's longest memory term as the "
  .. "root of the sum of squares.", function(f, t) return math.log(with_memory(f, t.cycles) / f.cycles, 2) end)
simulated("simulated balance", "log2", "The simulated cycles, relative to the longest term of memory.",
  function(f, t) return math.log(t.cycles / (f.in_memory + 1), 2) end)
simulated("simulated rate", "instructions per cycle", "Instructions per cycle in that simulation.",
  function(_, t) return t.instructions / t.cycles end)
local RARE = 2 ^ -20 -- below this rate, events count as none
simulated("simulated waits", "log2, per instruction", "Simulated loads that wait for a line to arrive in the cache.",
  function(_, t) return math.log(t.waits / t.instructions + RARE, 2) end)
simulated("simulated misses", "log2, per instruction", "Simulated branches that are mispredicted.",
  function(_, t) return math.log(t.mispredicted / t.instructions + RARE, 2) end)

-- ---- storage and threads

needs = nil
for _, scope in ipairs {"global", "local"} do
  row(scope .. " bytes", "log2 bytes", ("Bytes of temporaries in scope %s."):format(scope), function(f)
    local bytes = 0
    for _, b in pairs(f.program.buffers) do
      if b.temporary and b.scope == scope then bytes = bytes + b.elements * b.bytes end
    end
    return math.log(1 + bytes, 2)
  end)
end
row("chunks", "log2 iterations", "Iterations of the outermost parallel loop, per core of the machine.", function(f)
  for _, body in ipairs(f.program.bodies) do
    if body.mark == "parallel" then return math.log(math.max(1, lowered.trips(body)) / f.machine.cores, 2) end
  end
  return 0
end)

for n = 1, 2 do
  local which = ("buffer %d: "):format(n)
  local about = (" of the most frequent access to the buffer with rank %d by elements touched."):format(n)
  local function of(f, value)
    local b = f.busy[n]
    return b and value(b, f.program.buffers[b.name].bytes, lowered.loops(b.body, 1)[1]) or 0
  end
  row(which .. "stride", "log2 bytes", "Step along the innermost loop" .. about, function(f)
    return of(f, function(b, bytes, inner)
      return inner and math.log(1 + math.abs(lowered.stride(b.access, inner)) * bytes, 2) or 0
    end)
  end)
  row(which .. "lines", "log2 lines", "Lines touched while the two innermost loops run," .. about, function(f)
    return of(f, function(b, bytes) return math.log(lowered.lines(b.access, b.body, 2, bytes, f.line), 2) end)
  end)
  row(which .. "reuse", "log2", ("Elements touched per element of the buffer with rank %d by elements touched."):format(n),
    function(f) return of(f, function(b) return log2(ratio(b.elements, f.program.buffers[b.name].elements)) end) end)
end

--- The rows: {name, unit, doc, value}.
features.rows = list

--- Their names, in order.
function features.names()
  local out = {}
  for n, r in ipairs(list) do out[n] = r.name end
  return out
end

--- The features of a schedule with its cost record, in the order of the rows. sizes: the values of the record. without: omits the
--- rows that need this; {code = true} also avoids compiling, and {caches = true} goes with a cost record without cache counts.
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

--- The start of a score, from the features of a schedule and its predicted seconds: the geometric mean of these and of the
--- simulated time of its compiled code.
function features.expected(values, seconds) return seconds * 2 ^ (values[SIMULATED] / 2) end

return features
