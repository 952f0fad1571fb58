--- What a learned model is told of a schedule: a row for each number, with its unit. All are relative to the work of the naive
--- program or plain shares, so that numbers of different computations can be compared.
local core = require "nestwright.core"
local shape = require "nestwright.shape"

local features = {}

local TINY = 1 / 1024 -- below this share of the work, counts are all alike

local function log2(v) return math.log(v + TINY, 2) end
local function ratio(a, b) return b > 0 and a / b or 0 end

-- ---- what the numbers are made of

local function widths_of(s) return core.element_bytes(s) end

local function add(t, key, v) t[key] = (t[key] or 0) + v end

-- Of all statements together, in executions.
local function totals_of(f)
  local t = {stores = 0, statements = 0, elements = 0, vector_elements = 0, guarded = 0, copies = 0, fills = 0, masked = 0,
    operations = 0, loads = 0, scalar_loads = 0, strided = 0, scattered = 0, still = 0, updates = 0, streamed = 0, uneven = 0}
  for _, s in ipairs(f.shape.statements) do
    local n, inner = s.body.times, shape.loops(s.body, 1)[1]
    local store, bytes = s.store, f.widths[s.store.buffer] or 4
    add(t, "stores", n)
    add(t, "elements", n * store.lanes)
    if store.lanes > 1 then add(t, "vector_elements", n * store.lanes) end
    if store.lanes > 1 and store.lanes * bytes % f.vector_bytes ~= 0 then add(t, "uneven", n) end
    if shape.guarded(s.body) then add(t, "guarded", n) end
    if s.copies then add(t, "copies", n * store.lanes) end
    if s.fills then add(t, "fills", n * store.lanes) end
    if s.stream then add(t, "streamed", n * store.lanes) end
    if s.updates then add(t, "updates", n) end
    if s.updates and inner and shape.stride(store, inner) == 0 then add(t, "still", n) end
    add(t, "operations", n * s.operations * store.lanes)
    for _, load in ipairs(s.loads) do
      add(t, "loads", n)
      if load.lanes == 1 then add(t, "scalar_loads", n) end
      if load.lanes > 1 and load.step ~= 1 then add(t, "strided", n * load.lanes) end
      if load.masked then add(t, "masked", n) end
    end
    if store.lanes > 1 and store.step ~= 1 then add(t, "scattered", n * store.lanes) end
    if store.masked then add(t, "masked", n) end
  end
  return t
end

local function own_cycles(body)
  local own = body.cycles
  for _, kid in ipairs(body.kids) do own = own - kid.cycles end
  return math.max(0, own)
end

-- The body that most cycles go to, of those with statements.
local function hottest(f)
  local best
  for _, body in ipairs(f.shape.bodies) do
    if #body.statements > 0 then
      local own = own_cycles(body)
      if not best or own > best.own then best = {body = body, own = own} end
    end
  end
  return best or {body = f.shape.bodies[1], own = 0}
end

-- Elements of the hottest body that a loop adds up without moving, as registers of vectors.
local function accumulators(f)
  local inner, n, seen = shape.loops(f.hot.body, 1)[1], 0, {}
  for _, s in ipairs(f.hot.body.statements) do
    local key = s.store.buffer .. s.store.index
    if s.updates and not seen[key] and inner and shape.stride(s.store, inner) == 0 then
      seen[key] = true
      n = n + math.max(1, s.store.lanes * (f.widths[s.store.buffer] or 4) / f.vector_bytes)
    end
  end
  return n
end

-- The buffers that are touched most, each by the access that runs most often.
local function busiest(f)
  local at, list = {}, {}
  local function note(a, s)
    local b = at[a.buffer]
    if not b then
      b = {name = a.buffer, n = 0, elements = 0, most = -1}
      at[a.buffer], list[#list + 1] = b, b
    end
    b.n, b.elements = b.n + s.body.times, b.elements + s.body.times * a.lanes
    if s.body.times > b.most then b.most, b.access, b.body = s.body.times, a, s.body end
  end
  for _, s in ipairs(f.shape.statements) do
    note(s.store, s)
    for _, load in ipairs(s.loads) do note(load, s) end
  end
  table.sort(list, function(a, b) return a.elements > b.elements or a.elements == b.elements and a.name < b.name end)
  return list
end

-- Elements of a buffer: of a temporary as it is allocated, of others as they are declared.
local function elements_of(f, name)
  if f.shape.buffers[name] then return f.shape.buffers[name].elements end
  local dims = f.program:match("\n%s*%l+ " .. name:gsub("%p", "%%%0") .. ": %w+(%b[])")
  local n = 1
  for dim in (dims or ""):gmatch "%d+" do n = n * tonumber(dim) end
  return n
end

local function by_level(c)
  local out = {}
  for _, row in ipairs(c.levels) do out[row.level] = row end
  return out
end

local function terms_of(c)
  local out, largest, second = {}, 0, 0
  for _, term in ipairs(c.terms) do
    out[term.name] = math.max(out[term.name] or 0, term.cycles)
    if term.cycles > largest then largest, second = term.cycles, largest else second = math.max(second, term.cycles) end
  end
  return out, largest, second
end

local fields = setmetatable({}, {__mode = "k"}) -- of a machine, by path

local function machine_of(m)
  if not fields[m] then
    fields[m] = {}
    for _, field in ipairs(m:fields()) do fields[m][field.path] = field.value end
  end
  return fields[m]
end

-- Everything that rows look at.
local function facts(s, c)
  local log = s:log()
  local f = {s = s, c = c, shape = shape.of(s, c), widths = widths_of(s), program = s:text(), work = math.max(1, log[1].operations),
    machine = machine_of(c.machine), line = 64, level = by_level(c)}
  f.vector_bytes = f.machine.vector_bytes
  f.term, f.largest, f.second = terms_of(c)
  f.total, f.hot = totals_of(f), hottest(f)
  f.inner = shape.loops(f.hot.body, 3)
  f.busy, f.accumulators = busiest(f), accumulators(f)
  f.wide = 1
  for _, st in ipairs(f.hot.body.statements) do f.wide = math.max(f.wide, st.store.lanes) end
  return f
end

-- ---- the rows

local list = {}

local function row(name, unit, doc, value) list[#list + 1] = {name = name, unit = unit, doc = doc, value = value} end

local PER = "log2, per operation of the naive program"
local LINES, CYCLES = "log2 lines per operation of the naive program", "log2 cycles per operation of the naive program"

row("cycles", CYCLES, "What the cost model predicts.", function(f) return log2(f.c.cycles / f.work) end)
for _, term in ipairs {"dispatch", "loads", "stores", "arithmetic", "division", "integers", "branches"} do
  row("cycles: " .. term, CYCLES, "The cost model's term of that name: cycles if all else were free.",
    function(f) return log2((f.term[term] or 0) / f.work) end)
end
for n = 1, 3 do
  row("cycles: behind L" .. n, CYCLES,
    ("The same of the bytes that come from behind level %d of the caches, and go there."):format(n), function(f)
      local last = not f.level[n + 1] and f.term.memory or 0
      return log2(math.max(f.term[("L%d to L%d"):format(n + 1, n)] or 0, last) / f.work)
    end)
end
row("waiting", "share", "Of all cycles, those of bodies in which each step waits for the one before.", function(f)
  local waiting = 0
  for _, body in ipairs(f.shape.bodies) do
    if body.bottleneck == "latency" and #body.statements > 0 then waiting = waiting + own_cycles(body) end
  end
  return math.min(1, ratio(waiting, f.c.cycles))
end)
row("balance", "share", "The second largest of these terms, of the largest.", function(f) return ratio(f.second, f.largest) end)
for n = 1, 3 do
  local name = "L" .. n
  local function of(f, field) return f.level[n] and f.level[n][field] or 0 end
  row(name .. " misses", LINES, "Lines that this level has not.",
    function(f) return log2(of(f, "misses") / f.work * 16) end)
  row(name .. " written back", LINES, "Changed lines that this level gives up.",
    function(f) return log2(of(f, "written_back") / f.work * 16) end)
end
row("L1 asked", LINES, "Lines asked of the first level.",
  function(f) return log2((f.level[1] and f.level[1].asked or 0) / f.work) end)
row("L1 conflicts", "share", "Misses of the first level that more ways would spare.",
  function(f) return f.level[1] and ratio(f.level[1].conflict, f.level[1].asked) or 0 end)
row("L2 conflicts", "share", "The same of the second level.",
  function(f) return f.level[2] and ratio(f.level[2].conflict, f.level[2].asked) or 0 end)

row("depth", "loops", "Loops around the deepest statement.", function(f)
  local most = 0
  for _, body in ipairs(f.shape.bodies) do most = math.max(most, body.depth) end
  return most
end)
row("loops", "loops", "Loops of the lowered program.", function(f)
  local n = 0
  for _, body in ipairs(f.shape.bodies) do n = n + (body.kind == "loop" and 1 or 0) end
  return n
end)
row("nests", "loops", "Loops that stand in no other.", function(f)
  local n = 0
  for _, body in ipairs(f.shape.bodies[1].kids) do n = n + (body.kind == "loop" and 1 or 0) end
  return n
end)
row("iterations", PER, "Rounds of all loops together.", function(f)
  local n = 0
  for _, body in ipairs(f.shape.bodies) do n = n + (body.kind == "loop" and body.times or 0) end
  return log2(n / f.work)
end)
row("guards", PER, "Conditions that are found true, of guards.", function(f)
  local n = 0
  for _, body in ipairs(f.shape.bodies) do n = n + (body.kind == "guard" and body.times or 0) end
  return log2(n / f.work)
end)
row("guarded", "share", "Of executed statements, those in a guard.", function(f) return ratio(f.total.guarded, f.total.stores) end)
row("masked", "per statement", "Loads and stores under a mask.", function(f) return ratio(f.total.masked, f.total.stores) end)
row("tails", "share", "Of executed statements, those in loops over a rest.", function(f)
  local n = 0
  for _, s in ipairs(f.shape.statements) do
    for _, loop in ipairs(shape.loops(s.body, 64)) do
      if loop.name:find "%.tail" then
        n = n + s.body.times
        break
      end
    end
  end
  return ratio(n, f.total.stores)
end)

row("hot share", "share", "Of all cycles, those of the body that takes most.",
  function(f) return math.min(1, ratio(f.hot.own, f.c.cycles)) end)
row("hot depth", "loops", "Loops around that body.", function(f) return f.hot.body.depth end)
row("hot statements", "log2 statements", "Statements in it: copies that unrolling made are counted.",
  function(f) return math.log(math.max(1, #f.hot.body.statements), 2) end)
row("hot cycles", "log2 cycles", "Cycles of one round of it.", function(f) return log2(ratio(f.hot.own, f.hot.body.times)) end)
for n = 1, 3 do
  row("hot trips " .. n, "log2 iterations", ("Rounds of the loop around it that is number %d from inside."):format(n),
    function(f) return f.inner[n] and log2(shape.trips(f.inner[n])) or 0 end)
end
row("lanes", "log2 lanes", "Of its widest store.", function(f) return math.log(f.wide, 2) end)
row("registers a vector", "log2", "Of that store: its bytes in vectors of the machine.",
  function(f) return math.log(f.wide * (f.busy[1] and f.widths[f.busy[1].name] or 4) / f.vector_bytes, 2) end)
row("accumulators", "log2 registers", "Vectors that it adds up in place while its innermost loop runs.",
  function(f) return math.log(1 + f.accumulators, 2) end)
row("registers", "share", "These of the registers there are.",
  function(f) return f.accumulators / f.machine.vector_registers end)
row("loads a statement", "loads", "Loads in it for each statement.", function(f)
  local n = 0
  for _, s in ipairs(f.hot.body.statements) do n = n + #s.loads end
  return ratio(n, #f.hot.body.statements)
end)

row("vectorized", "share", "Of elements stored, those stored by vectors.",
  function(f) return ratio(f.total.vector_elements, f.total.elements) end)
row("lanes a store", "log2 lanes", "On average, over all executed stores.",
  function(f) return math.log(math.max(1, ratio(f.total.elements, f.total.stores)), 2) end)
row("uneven vectors", "share", "Of executed stores, those of vectors that do not fill registers.",
  function(f) return ratio(f.total.uneven, f.total.stores) end)
row("scalar loads", PER, "Loads of one element.", function(f) return log2(f.total.scalar_loads / f.work) end)
row("strided loads", PER, "Elements loaded by vectors that are not contiguous.",
  function(f) return log2(f.total.strided / f.work) end)
row("strided stores", PER, "Elements stored by such vectors.", function(f) return log2(f.total.scattered / f.work) end)
row("kept", "share", "Of executed statements that update, those whose element stays while the innermost loop runs.",
  function(f) return ratio(f.total.still, f.total.updates) end)
row("copied", PER, "Elements that are only copied.", function(f) return log2(f.total.copies / f.work * 16) end)
row("filled", PER, "Elements set to a constant.", function(f) return log2(f.total.fills / f.work * 16) end)
row("streamed", PER, "Elements stored past the caches.", function(f) return log2(f.total.streamed / f.work * 16) end)
row("statements", PER, "Executed statements.", function(f) return log2(f.total.stores / f.work) end)
row("loads", PER, "Executed loads.", function(f) return log2(f.total.loads / f.work) end)
row("operations", "log2, of the naive program's", "Operations on values: above 0 where work is done again.",
  function(f) return log2(f.total.operations / f.work) end)
for _, scope in ipairs {"global", "local"} do
  row(scope .. " bytes", "log2 bytes", ("Bytes of temporaries in scope %s."):format(scope), function(f)
    local bytes = 0
    for name, b in pairs(f.shape.buffers) do
      if b.scope == scope then bytes = bytes + b.elements * (f.widths[name] or 4) end
    end
    return math.log(1 + bytes, 2)
  end)
end
row("parallel", "log2 iterations", "Of the outermost parallel loop.", function(f)
  for _, body in ipairs(f.shape.bodies) do
    if body.parallel then return math.log(math.max(1, shape.trips(body)), 2) end
  end
  return 0
end)
row("chunks", "log2 iterations", "These for each core of the machine.", function(f)
  for _, body in ipairs(f.shape.bodies) do
    if body.parallel then return math.log(math.max(1, shape.trips(body)) / f.machine.cores, 2) end
  end
  return 0
end)

for n = 1, 3 do
  local which = ("buffer %d: "):format(n)
  local about = (" of the access that runs most often, of the buffer that is number %d by elements touched."):format(n)
  local function of(f, value)
    local b = f.busy[n]
    return b and value(b, f.widths[b.name] or 4, shape.loops(b.body, 1)[1]) or 0
  end
  row(which .. "stride", "log2 bytes", "Step along the innermost loop" .. about, function(f)
    return of(f, function(b, bytes, inner)
      return inner and math.log(1 + math.abs(shape.stride(b.access, inner)) * bytes, 2) or 0
    end)
  end)
  for depth = 1, 3 do
    row(("%slines %d"):format(which, depth), "log2 lines", ("Lines touched while the %s run,"):format(
      depth == 1 and "innermost loop does" or depth .. " innermost loops do") .. about, function(f)
      return of(f, function(b, bytes) return math.log(shape.lines(b.access, b.body, depth, bytes, f.line), 2) end)
    end)
  end
  row(which .. "reuse", "log2", ("Elements touched for each that it has; the buffer that is number %d by that."):format(n),
    function(f) return of(f, function(b) return log2(ratio(b.elements, elements_of(f, b.name))) end) end)
end

--- The rows: {name, unit, doc, value}.
features.rows = list

--- Their names, in order.
function features.names()
  local out = {}
  for n, r in ipairs(list) do out[n] = r.name end
  return out
end

--- The numbers of a schedule with its cost record, in the order of the rows.
function features.of(s, c)
  local f, out = facts(s, c), {}
  for n, r in ipairs(list) do
    local v = r.value(f)
    out[n] = v == v and math.max(-1e6, math.min(1e6, v)) or 0
  end
  return out
end

return features
