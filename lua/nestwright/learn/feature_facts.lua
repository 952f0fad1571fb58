--- Computes facts about a lowered program, from which features.lua computes the features. The facts are sums over the statements,
--- weighted by executions, and a description of how each access moves through memory.
local core = require "nestwright.core"
local emitted = later "nestwright.measure.emitted"
local lowered = require "nestwright.cost.lowered"

local facts = {}

local PAGE = 4096 -- bytes of a page; prefetchers stop at the end of a page, and each page needs a TLB entry

local function add(t, key, v) t[key] = (t[key] or 0) + v end
local function ratio(a, b) return b > 0 and a / b or 0 end

--- Returns the cycles of a body, without the cycles of the bodies inside it.
function facts.own_cycles(body)
  local own = body.cycles
  for _, kid in ipairs(body.kids) do own = own - kid.cycles end
  return math.max(0, own)
end

-- ---- statements

local function add_load(t, f, s, load)
  local n = s.body.times
  add(t, "loads", n)
  if load.lanes == 1 then add(t, "scalar_loads", n) end
  if load.lanes > 1 and load.step ~= 1 then add(t, "strided", n * load.lanes) end
  if load.masked then add(t, "masked", n) end
  local narrowest = f.narrowest[load.buffer]
  if narrowest and narrowest < load.lanes then add(t, "joined", n) end
  if narrowest and narrowest > load.lanes then add(t, "parted", n) end
end

local function add_statement(t, f, s)
  local n, inner = s.body.times, lowered.loops(s.body, 1)[1]
  local store, bytes = s.store, f.program.buffers[s.store.buffer].bytes
  add(t, "stores", n)
  add(t, "elements", n * store.lanes)
  if store.lanes > 1 then add(t, "vector_elements", n * store.lanes) end
  if store.lanes > 1 and store.lanes * bytes % f.vector_bytes ~= 0 then add(t, "uneven", n) end
  if store.lanes > 1 and store.step ~= 1 then add(t, "scattered", n * store.lanes) end
  if store.masked then add(t, "masked", n) end
  if lowered.guarded(s.body) then add(t, "guarded", n) end
  if s.copies then add(t, "copies", n * store.lanes) end
  if s.fills then add(t, "fills", n * store.lanes) end
  if s.stream then add(t, "streamed", n * store.lanes) end
  if s.updates then add(t, "updates", n) end
  if s.updates and inner and lowered.stride(store, inner) == 0 then add(t, "still", n) end
  add(t, "selects", n * s.selects)
  add(t, "operations", n * s.operations * store.lanes)
  for _, load in ipairs(s.loads) do add_load(t, f, s, load) end
end

local SUMS = {"stores", "statements", "elements", "vector_elements", "guarded", "copies", "fills", "masked", "operations", "loads",
  "scalar_loads", "strided", "scattered", "still", "updates", "streamed", "uneven", "selects", "joined", "parted"}

-- Returns the sums over all statements, weighted by executions.
local function totals_of(f)
  local t = {}
  for _, key in ipairs(SUMS) do t[key] = 0 end
  for _, s in ipairs(f.program.statements) do add_statement(t, f, s) end
  return t
end

-- Returns the number of lanes of the narrowest store to each temporary.
local function narrowest_of(f)
  local out = {}
  for _, s in ipairs(f.program.statements) do
    local name = s.store.buffer
    if f.program.buffers[name].temporary then out[name] = math.min(out[name] or math.huge, s.store.lanes) end
  end
  return out
end

-- ---- loops

-- Counts iterations of loops, entries of loops and evaluated conditions of guards.
local function loops_of(f)
  local t = {rounds = 0, entries = 0, guards = 0}
  for _, body in ipairs(f.program.bodies) do
    if body.kind == "loop" then
      t.rounds, t.entries = t.rounds + body.times, t.entries + body.entered
    elseif body.kind == "guard" then
      t.guards = t.guards + body.entered
    end
  end
  return t
end

local function in_tail(body)
  for _, loop in ipairs(lowered.loops(body, 64)) do
    if loop.name:find "%.tail" then return true end
  end
  return false
end

local function is_odd(lanes) return lanes & (lanes - 1) ~= 0 end

-- Returns properties of the statements of a body: whether all are copies, and whether any has vectors, masks, selects, or a number
-- of lanes that is not a power of two.
local function kinds_of(body)
  local k = {copies = true}
  for _, s in ipairs(body.statements) do
    k.vectors = k.vectors or s.store.lanes > 1
    k.masked = k.masked or s.store.masked
    k.selects = k.selects or s.selects > 0
    k.odd = k.odd or is_odd(s.store.lanes)
    k.odd_updates = k.odd_updates or s.updates and is_odd(s.store.lanes)
    k.copies = k.copies and (s.copies or s.fills)
    for _, load in ipairs(s.loads) do k.masked = k.masked or load.masked end
  end
  return k
end

local SPENT = {"all", "guarded", "tails", "scalar", "copies", "waiting", "trips", "short", "masked", "selects", "odd",
  "odd_updates"}

-- Returns, for each property, the cycles of the bodies that have the property. Only `trips` is different: it is the sum of the
-- logarithms of the trip counts, weighted by cycles.
local function cycles_of(f)
  local t = {}
  for _, key in ipairs(SPENT) do t[key] = 0 end
  for _, body in ipairs(f.program.bodies) do
    local own, inner = facts.own_cycles(body), lowered.loops(body, 1)[1]
    local trips = inner and math.max(1, lowered.trips(inner)) or 1
    t.all = t.all + own
    t.trips = t.trips + own * math.log(trips, 2)
    if trips < 8 then t.short = t.short + own end
    if lowered.guarded(body) then t.guarded = t.guarded + own end
    if in_tail(body) then t.tails = t.tails + own end
    if body.bottleneck:find "^latency" then t.waiting = t.waiting + own end
    if #body.statements > 0 then
      local kinds = kinds_of(body)
      kinds.scalar = not kinds.vectors
      for _, key in ipairs {"scalar", "copies", "masked", "selects", "odd", "odd_updates"} do
        if kinds[key] then t[key] = t[key] + own end
      end
    end
  end
  return t
end

-- Returns the body with the most cycles, among the bodies with statements.
local function hottest(f)
  local best
  for _, body in ipairs(f.program.bodies) do
    if #body.statements > 0 then
      local own = facts.own_cycles(body)
      if not best or own > best.own then best = {body = body, own = own} end
    end
  end
  return best or {body = f.program.bodies[1], own = 0}
end

-- True if this pair of buffer and index has not been seen yet.
local function is_new(seen, buffer, index)
  local of = seen[buffer] or {}
  seen[buffer] = of
  if of[index] then return false end
  of[index] = true
  return true
end

-- Returns the number of vector registers that hold the accumulators of the hottest body during its innermost loop.
local function accumulators(f)
  local inner, n, seen = lowered.loops(f.hot.body, 1)[1], 0, {}
  for _, s in ipairs(f.hot.body.statements) do
    if s.updates and inner and lowered.stride(s.store, inner) == 0 and is_new(seen, s.store.buffer, s.store.index) then
      n = n + math.max(1, s.store.lanes * f.program.buffers[s.store.buffer].bytes / f.vector_bytes)
    end
  end
  return n
end

-- ---- memory

-- Finds the innermost loop that changes the address of an access. Returns the stride along this loop in bytes, and the loop.
local function moved(access, body, bytes)
  for _, loop in ipairs(lowered.loops(body, 64)) do
    local step = math.abs(lowered.stride(access, loop)) * bytes
    if step > 0 then return step, loop end
  end
  return 0
end

-- Returns the class of a stride in bytes: "still" (0), "next" (less than two lines), "apart" (less than half a page) or "page".
local function walk_of(step, line)
  if step == 0 then return "still" end
  if step < 2 * line then return "next" end
  return step < PAGE / 2 and "apart" or "page"
end

-- Returns the misses of loads and stores by cache level and class of stride. The loads of a tensor in an innermost loop are counted
-- together, because the cost record has only the sum of their misses. This sum is divided in proportion to the executions of each
-- class. The same holds for stores.
local function misses_of(f)
  local walks, out = {}, {}
  local function note(a, s)
    local loop = lowered.loops(s.body, 1)[1]
    local key = a.buffer .. "\0" .. (loop and loop.name or "") .. "\0" .. tostring(a.write)
    local w = walks[key] or {all = 0}
    local kind = walk_of(moved(a, s.body, f.program.buffers[a.buffer].bytes), f.line)
    add(w, kind, s.body.times)
    add(w, "all", s.body.times)
    walks[key] = w
  end
  for _, s in ipairs(f.program.statements) do
    note(s.store, s)
    for _, load in ipairs(s.loads) do note(load, s) end
  end
  for _, row in ipairs(f.c.by_access) do
    local level = out[row.level] or {}
    out[row.level] = level
    local w = walks[row.tensor .. "\0" .. (row.loop or "") .. "\0" .. tostring(row.write)]
    local n = row.cold + row.capacity + row.conflict
    for kind, times in pairs(w or {}) do
      if kind ~= "all" then add(level, kind, n * ratio(times, w.all)) end
    end
  end
  return out
end

-- Returns facts about the accesses of the hottest body: the number of pages that they use in the n innermost loops around it (n is
-- 1 to 3), the number of streams (accesses whose address changes in a loop), and the number of unaligned vectors.
local function reach_of(f)
  local t, seen = {pages = {0, 0, 0}, streams = 0, unaligned = 0, all = 0}, {}
  local function note(a, body)
    local bytes = f.program.buffers[a.buffer].bytes
    if a.lanes > 1 and (a.offset * bytes) % math.min(f.vector_bytes, a.lanes * bytes) ~= 0 then t.unaligned = t.unaligned + 1 end
    t.all = t.all + 1
    if not is_new(seen, a.buffer, a.spread) then return nil end
    for n = 1, 3 do t.pages[n] = t.pages[n] + lowered.lines(a, body, n, bytes, PAGE) end
    local step = moved(a, body, bytes)
    if step > 0 then t.streams = t.streams + 1 end
  end
  for _, s in ipairs(f.hot.body.statements) do
    note(s.store, f.hot.body)
    for _, load in ipairs(s.loads) do note(load, f.hot.body) end
  end
  return t
end

-- Estimates how often, in a whole run, an access uses a page other than the page of its previous execution.
local function page_changes(f)
  local n = 0
  local function note(a, body)
    local step, loop = moved(a, body, f.program.buffers[a.buffer].bytes)
    if loop then n = n + body.times * math.min(1, step / PAGE) end
  end
  for _, s in ipairs(f.program.statements) do
    note(s.store, s.body)
    for _, load in ipairs(s.loads) do note(load, s.body) end
  end
  return n
end

-- Returns the buffers, each with its most frequent access. The buffers with the most accessed elements come first.
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
  for _, s in ipairs(f.program.statements) do
    note(s.store, s)
    for _, load in ipairs(s.loads) do note(load, s) end
  end
  table.sort(list, function(a, b) return a.elements > b.elements or a.elements == b.elements and a.name < b.name end)
  return list
end

-- ---- results of the cost model

local function by_level(c)
  local out = {}
  for _, row in ipairs(c.levels) do out[row.level] = row end
  return out
end

local function terms_of(c)
  local out, largest, second, all = {}, 0, 0, 0
  for _, term in ipairs(c.terms) do
    out[term.name] = math.max(out[term.name] or 0, term.cycles)
    all = all + term.cycles
    if term.cycles > largest then largest, second = term.cycles, largest else second = math.max(second, term.cycles) end
  end
  return out, largest, second, all
end

local OF_CORE = {dispatch = true, loads = true, stores = true, arithmetic = true, division = true, integers = true,
  branches = true, latency = true}

-- Returns the cycles of the longest term of the core, without latency, and the cycles of the longest term of memory.
local function longest_of(c)
  local in_core, in_memory = 1, 0
  for _, term in ipairs(c.terms) do
    if not OF_CORE[term.name] then in_memory = math.max(in_memory, term.cycles)
    elseif term.name ~= "latency" then in_core = math.max(in_core, term.cycles) end
  end
  return in_core, in_memory
end

local fields = setmetatable({}, {__mode = "k"}) -- by machine: its fields by path

local function machine_of(m)
  if not fields[m] then
    fields[m] = {}
    for _, field in ipairs(m:fields()) do fields[m][field.path] = field.value end
  end
  return fields[m]
end

-- Returns a lower bound of the cycles of any schedule: the cycles to execute the naive program's operations at the peak rate, or to
-- move its arrays once, whichever is larger.
local function least_cycles(f)
  local bytes, numbers = 0, 1
  for _, b in ipairs(f.c.buffers) do if b.where == "parameter" then bytes = bytes + b.bytes end end
  for n, width in ipairs {1, 4, 8, 16} do -- floats per instruction
    numbers = math.max(numbers, 2 * width * (f.machine[("ops.fma.per_cycle[%d]"):format(n)] or 0))
  end
  return math.max(1, f.work / numbers, bytes / 16)
end

-- Returns the number of operations of the naive program. If it depends on data, returns the number of operations of the schedule.
local function work_of(s, c, sizes) return math.max(1, core.operation_count(s, 0, sizes) or c.flops) end

--- Returns the facts of a schedule with its cost record. sizes: the values of the symbolic sizes for which the record was computed,
--- by name. without: {code = true} to omit the facts about the compiled code, so that nothing is compiled.
function facts.of(s, c, sizes, without)
  local f = {s = s, c = c, program = lowered.of(s, c, sizes), work = work_of(s, c, sizes or {}),
    machine = machine_of(c.machine), line = 64, level = by_level(c),
    cycles = math.max(1, c.cycles)}
  f.vector_bytes = f.machine.vector_bytes
  f.term, f.largest, f.second, f.together = terms_of(c)
  f.in_core, f.in_memory = longest_of(c)
  if not (without and without.code) then
    f.emitted = emitted.of(s, c.loops, c.machine, f.machine)
    f.simulated = f.emitted.simulated
  end
  f.narrowest = narrowest_of(f)
  f.total, f.hot, f.loops, f.spent = totals_of(f), hottest(f), loops_of(f), cycles_of(f)
  f.inner = lowered.loops(f.hot.body, 3)
  f.busy, f.accumulators = busiest(f), accumulators(f)
  f.missed, f.reach, f.page_changes = misses_of(f), reach_of(f), page_changes(f)
  f.least = least_cycles(f)
  f.wide = 1
  for _, st in ipairs(f.hot.body.statements) do f.wide = math.max(f.wide, st.store.lanes) end
  return f
end

return facts
