--- What a learned model is told of a schedule: a row for each number, with its unit. Most are rates, per cycle that the cost model
--- predicts: what a prediction is made of says where it may be wrong, and it says so of any computation alike. Some are read off
--- the compiled code, which the cost model does not look at.
local facts = require "nestwright.learn.feature_facts"
local lowered = require "nestwright.cost.lowered"

local features = {}

local TINY = 1 / 1024 -- below this rate, counts are all alike

local function log2(v) return math.log(v + TINY, 2) end
local function ratio(a, b) return b > 0 and a / b or 0 end

local list = {}
local needs -- what the rows that follow are not known without: "caches", counted, or "code", compiled

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

rate("operations", "Operations on numbers: how good the prediction is.", function(f) return f.c.flops end)
row("above the least", "log2", "Predicted cycles, of those that the naive program's operations take at the full rate, or its "
  .. "arrays at 16 bytes a cycle.", function(f) return math.log(f.cycles / f.least, 2) end)
rate("instructions", "Instructions.", function(f) return f.c.instructions end)
rate("spills", "Stores and loads of values that found no register.", function(f) return f.c.spills end)
for _, term in ipairs {"dispatch", "loads", "stores", "arithmetic", "division", "integers", "branches"} do
  row("cycles: " .. term, SHARE, "The cost model's term of that name: cycles if all else were free.",
    function(f) return (f.term[term] or 0) / f.cycles end)
end
needs = "caches"
for n = 1, 3 do
  row("cycles: behind L" .. n, SHARE,
    ("The same of the bytes that come from behind level %d of the caches, and go there."):format(n), function(f)
      local last = not f.level[n + 1] and f.term.memory or 0
      return math.max(f.term[("L%d to L%d"):format(n + 1, n)] or 0, last) / f.cycles
    end)
end
needs = nil
row("balance", "share", "The second largest of these terms, of the largest.", function(f) return ratio(f.second, f.largest) end)
row("together", "times the predicted cycles", "All terms added up: how much is taken to go on side by side.",
  function(f) return f.together / f.cycles end)

local function spent(name, doc, key) row(name, SHARE, doc, function(f) return ratio(f.spent[key], f.spent.all) end) end

spent("waiting", "Those of bodies in which each step waits for the one before.", "waiting")
spent("guarded", "Those of bodies in a guard.", "guarded")
spent("tails", "Those of loops over a rest.", "tails")
spent("scalar", "Those of bodies that store no vectors.", "scalar")
spent("copying", "Those of bodies that only copy or set to a constant.", "copies")
spent("under masks", "Those of bodies that load or store under a mask.", "masked")
spent("choosing", "Those of bodies that choose between two values.", "selects")
spent("odd vectors", "Those of bodies with vectors whose lanes are no power of two.", "odd")
spent("odd updates", "The same of vectors that are updated in place: they cross from round to round.", "odd_updates")
spent("short loops", "Those of loops of fewer than eight rounds.", "short")
row("rounds", "log2 iterations", "Rounds of the innermost loop of a body, averaged over the predicted cycles.",
  function(f) return ratio(f.spent.trips, f.spent.all) end)

-- ---- caches and pages

needs = "caches"
for n = 1, 3 do
  local name = "L" .. n
  local function of(field) return function(f) return f.level[n] and f.level[n][field] or 0 end end
  lines(name .. " misses", "Lines that this level has not.", of "misses")
  lines(name .. " written back", "Changed lines that this level gives up.", of "written_back")
end
rate("L1 asked", "Lines asked of the first level.", function(f) return f.level[1] and f.level[1].asked or 0 end)
for n = 1, 2 do
  for _, kind in ipairs {{"apart", "two lines to half a page"}, {"page", "half a page or more"}} do
    lines(("L%d misses, %s"):format(n, kind[1]), ("Of its misses those of accesses whose steps are %s."):format(kind[2]),
      function(f) return f.missed[n] and f.missed[n][kind[1]] or 0 end)
  end
end
needs = nil
rate("page changes", "Pages come to, if only the last one of each access were known.", function(f) return f.page_changes end)
for n = 1, 3 do
  row(("pages %d"):format(n), "log2 pages", ("Pages that the body with most cycles touches while the %s."):format(
    n == 1 and "innermost loop runs" or n .. " innermost loops run"), function(f) return math.log(f.reach.pages[n] + 1, 2) end)
end
row("streams", "log2 accesses", "Accesses of that body that move, but for those side by side.",
  function(f) return math.log(f.reach.streams + 1, 2) end)
row("unaligned", "share", "Of accesses of that body, vectors whose constant offset is no multiple of them.",
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
row("nests", "loops", "Loops that stand in no other.", function(f)
  local n = 0
  for _, body in ipairs(f.program.bodies[1].kids) do n = n + (body.kind == "loop" and 1 or 0) end
  return n
end)
rate("iterations", "Rounds of all loops together.", function(f) return f.loops.rounds end)
rate("entries", "Times that a loop is entered, and left.", function(f) return f.loops.entries end)
rate("guards", "Conditions looked at, of guards.", function(f) return f.loops.guards end)
rate("selects", "Choices between two values, by statement.", function(f) return f.total.selects end)
rate("masked", "Loads and stores under a mask.", function(f) return f.total.masked end)

-- ---- the body with most cycles

row("hot share", "share", "Of all cycles, those of the body that takes most.",
  function(f) return math.min(1, f.hot.own / f.cycles) end)
row("hot depth", "loops", "Loops around that body.", function(f) return f.hot.body.depth end)
row("hot statements", "log2 statements", "Statements in it: copies that unrolling made are counted.",
  function(f) return math.log(math.max(1, #f.hot.body.statements), 2) end)
row("hot cycles", "log2 cycles", "Cycles of one round of it.", function(f) return log2(ratio(f.hot.own, f.hot.body.times)) end)
for n = 1, 3 do
  row("hot trips " .. n, "log2 iterations", ("Rounds of the loop around it that is number %d from inside."):format(n),
    function(f) return f.inner[n] and log2(lowered.trips(f.inner[n])) or 0 end)
end
row("lanes", "log2 lanes", "Of its widest store.", function(f) return math.log(f.wide, 2) end)
row("registers a vector", "log2", "Of that store: its bytes in vectors of the machine.",
  function(f) return math.log(f.wide * (f.busy[1] and f.program.buffers[f.busy[1].name].bytes or 4) / f.vector_bytes, 2) end)
row("accumulators", "log2 registers", "Vectors that it adds up in place while its innermost loop runs.",
  function(f) return math.log(1 + f.accumulators, 2) end)
row("registers", "share", "These of the registers there are.",
  function(f) return f.accumulators / f.machine.vector_registers end)
row("loads a statement", "loads", "Loads in it for each statement.", function(f)
  local n = 0
  for _, s in ipairs(f.hot.body.statements) do n = n + #s.loads end
  return ratio(n, #f.hot.body.statements)
end)

-- ---- statements

row("vectorized", "share", "Of elements stored, those stored by vectors.",
  function(f) return ratio(f.total.vector_elements, f.total.elements) end)
row("lanes a store", "log2 lanes", "On average, over all executed stores.",
  function(f) return math.log(math.max(1, ratio(f.total.elements, f.total.stores)), 2) end)
row("uneven vectors", "share", "Of executed stores, those of vectors that do not fill registers.",
  function(f) return ratio(f.total.uneven, f.total.stores) end)
row("kept", "share", "Of executed statements that update, those whose element stays while the innermost loop runs.",
  function(f) return ratio(f.total.still, f.total.updates) end)
row("work", "log2, of the naive program's", "Operations on values: above 0 where work is done again.",
  function(f) return log2(f.total.operations / f.work) end)
local TOTALS = {
  {"statements", "stores", "Executed statements."}, {"loads", "loads", "Executed loads."},
  {"scalar loads", "scalar_loads", "Loads of one element."},
  {"strided loads", "strided", "Elements loaded by vectors that are not contiguous."},
  {"strided stores", "scattered", "Elements stored by such vectors."}, {"copied", "copies", "Elements that are only copied."},
  {"filled", "fills", "Elements set to a constant."}, {"streamed", "streamed", "Elements stored past the caches."},
  {"joined", "joined", "Loads of vectors of a temporary that is stored in smaller parts."},
  {"parted", "parted", "Loads of parts of a temporary that is stored in larger ones."},
}
for _, t in ipairs(TOTALS) do rate(t[1], t[3], function(f) return f.total[t[2]] end) end

-- ---- what the compiler made of it

needs = "code"
row("emitted", "log2", "Instructions that the compiler made, of those that the cost model counts.",
  function(f) return log2(ratio(f.emitted.counts.instructions, f.c.instructions)) end)
row("emitted core", "log2", "Cycles of the core by the compiled instructions, of those that the cost model has, each beside its "
  .. "cycles of memory: root of the sum of squares.", function(f)
    local memory = f.in_memory * f.in_memory
    return math.log((f.emitted.together ^ 2 + memory) / (f.in_core ^ 2 + memory), 2) / 2
  end)
rate("emitted together", "Cycles of the resource that is busiest in each loop, by the compiled instructions, added up.",
  function(f) return f.emitted.together end)
local BUSY = {
  {"dispatch", "dispatch", "instructions"}, {"loads", "load", "loads"}, {"stores", "store", "stores"},
  {"arithmetic", "fma", "operations on floating-point numbers"},
  {"vector integers", "int", "vectors of integers, and bits of vectors"},
  {"shuffles", "shuffle", "lanes that change places, comparisons and masks"},
  {"integers", "whole", "integers, conditions and branches"},
}
for _, t in ipairs(BUSY) do
  rate("emitted cycles: " .. t[1], ("Cycles that the compiled %s take, if all else were free."):format(t[3]),
    function(f) return f.emitted.cycles[t[2]] or 0 end)
end
local MADE = {
  {"moves", "moves", "Moves, loads and stores."}, {"branches", "branches", "Branches and calls."},
  {"choices", "choices", "Integers chosen by a condition."}, {"masks", "masks", "Operations on masks."},
  {"masked", "masked", "Instructions under a mask."}, {"stack", "stack", "Loads and stores of the stack."},
  {"gathers", "gathers", "Gathers."}, {"scatters", "scatters", "Scatters."},
  {"spills", "spills", "Stores and loads again of what found no register."},
  {"wide loads", "wide loads", "Loads of 32 bytes and more."}, {"narrow stores", "narrow stores", "Stores of 16 bytes and less."},
}
for _, t in ipairs(MADE) do
  rate("emitted " .. t[1], "Of the compiled instructions: " .. t[3]:sub(1, 1):lower() .. t[3]:sub(2),
    function(f) return f.emitted.counts[t[2]] or 0 end)
end

-- ---- what a core makes of that

-- Of the compiled code's simulation, on x86; 0 of other processors, and where nothing ran.
local function simulated(name, unit, doc, value)
  row(name, unit, doc, function(f) return f.simulated.cycles > 0 and value(f, f.simulated) or 0 end)
end

local function with_memory(f, cycles) return math.sqrt(cycles * cycles + f.in_memory * f.in_memory) end

simulated("simulated core", "log2, of the predicted cycles", "Cycles of the compiled code with all data in the first cache, by a "
  .. "simulation.", function(f, t) return math.log(t.cycles / f.cycles, 2) end)
simulated("simulated", "log2, of the predicted cycles", "The same beside the cost model's longest term of memory: "
  .. "root of the sum of squares.", function(f, t) return math.log(with_memory(f, t.cycles) / f.cycles, 2) end)
simulated("simulated balance", "log2", "The first of these, of the longest term of memory.",
  function(f, t) return math.log(t.cycles / (f.in_memory + 1), 2) end)
simulated("simulated rate", "instructions per cycle", "Of that simulation.", function(_, t) return t.instructions / t.cycles end)
local RARE = 2 ^ -20 -- below this rate, events are none
simulated("simulated waits", "log2, per instruction", "Of its loads that wait until what they read was in the cache.",
  function(_, t) return math.log(t.waits / t.instructions + RARE, 2) end)
simulated("simulated misses", "log2, per instruction", "Of its branches that are foretold wrongly.",
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
row("chunks", "log2 iterations", "Of the outermost parallel loop, for each core of the machine.", function(f)
  for _, body in ipairs(f.program.bodies) do
    if body.mark == "parallel" then return math.log(math.max(1, lowered.trips(body)) / f.machine.cores, 2) end
  end
  return 0
end)

for n = 1, 2 do
  local which = ("buffer %d: "):format(n)
  local about = (" of the access that runs most often, of the buffer that is number %d by elements touched."):format(n)
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
  row(which .. "reuse", "log2", ("Elements touched for each that it has; the buffer that is number %d by that."):format(n),
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

--- The numbers of a schedule with its cost record, in the order of the rows. sizes: the values it was priced at. without: rows that
--- need this are left out, {code = true}, and nothing is compiled; {caches = true} goes with a cost record that counts none.
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

--- What to begin with, by the numbers of a schedule that is predicted to take so many seconds: half way, in logarithms, between
--- that and what its compiled code takes.
function features.expected(values, seconds) return seconds * 2 ^ (values[SIMULATED] / 2) end

return features
