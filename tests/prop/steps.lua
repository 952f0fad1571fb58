--- Random steps: plain data as well, {primitive, arguments...}. Some are sensible, some are not: the judge must refuse
--- exactly those that change the result. Loops are named, never held, so that a list of steps can be shrunk.
local kernels = require "kernels"

local steps = {}

local FACTORS = {1, 2, 3, 4, 5, 7, 8, 16, 32}
local TAILS = {"guard", "cut", "shift", "shift", "pad", "predicate"}

local function names(list)
  local out = {}
  for n, item in ipairs(list) do out[n] = item.name or tostring(item) end
  return out
end

local draw = {}

function draw.split(r, loops)
  local options = {tail = r:pick(TAILS)}
  if r:chance(0.2) then options.parts = r:pick(FACTORS) else options.factor = r:pick(FACTORS) end
  if r:chance(0.2) then options.factor, options.parts, options.factors = nil, nil, {r:pick(FACTORS), r:pick(FACTORS)} end
  if r:chance(0.1) then options.factor, options.parts, options.factors = r:pick {0, -1, 1 << 62}, nil, nil end
  return {r:pick(loops), options}
end

function draw.tile(r, loops)
  if #loops < 2 then return nil end
  local at = r:int(1, #loops - 1)
  if #loops > at + 1 and r:chance(0.3) then
    return {{loops[at], loops[at + 1], loops[at + 2]}, {r:pick(FACTORS), r:pick(FACTORS), r:pick(FACTORS)}}
  end
  if r:chance(0.45) then return {loops[at], r:pick {loops[at], "no loop"}, r:pick(FACTORS), r:pick {0, -4, 1.5}} end
  return {loops[at], loops[r:chance(0.85) and at + 1 or r:int(1, #loops)], r:pick(FACTORS), r:pick(FACTORS)}
end

-- Points inside and outside, in order and not, in sizes and in loops.
local function points(r, all)
  if r:chance(0.1) then return {r:pick(all) .. " + 1"} end
  if r:chance(0.15) then return {r:pick {"M // 2", "M - 1", "N - 3", "M +"}} end
  local list = {}
  for n = 1, r:pick {1, 1, 1, 2, 2, 3} do list[n] = r:int(0, 24) end
  if r:chance(0.75) then table.sort(list) end
  return list
end

function draw.cut(r, loops, all)
  if r:chance(0.25) then return {r:pick(loops), r:pick {{}, {at = {}}, {at = {-1}}, {at = {2, 2}}, {at = "k"}}} end
  return {r:pick(loops), {at = points(r, all)}}
end

-- Mostly where there may be conditions: outer loops of guarded splits, loops of padded reads.
function draw.partition(r, loops)
  local outer = {}
  for n = 1, #loops do if loops[n]:find "_o$" then outer[#outer + 1] = loops[n] end end
  local loop = #outer > 0 and r:chance(0.6) and r:pick(outer) or r:pick(loops)
  if r:chance(0.25) then return {loop, {at = {r:int(0, 12), r:int(2, 16)}}} end
  if r:chance(0.5) then return {loop, {at = r:pick {{}, {3}, {"M"}, {4, 4}, {9, 2}, {1, 2, 3}}}} end
  return {loop}
end

-- Conditions on the sizes of a case, sensible and not.
local function condition(r, known)
  local size = known.size and r:chance(0.85) and known.size(r) or r:pick {"M", "N", "Q"}
  if r:chance(0.5) then return ("%s %% %d == %d"):format(size, r:pick {2, 4, 8, 3}, r:pick {0, 0, 0, 1}) end
  if r:chance(0.1) then return r:pick {"M + 1", "M <", "M == N and M > 2", "not (M < N)"} end
  return ("%s %s %d"):format(size, r:pick {">=", "<", ">"}, r:int(0, 20))
end

function draw.assume(r, _, _, _, _, known) return {condition(r, known)} end

-- Also in loops around, which constant sizes have as well.
function draw.specialize(r, loops, all, _, _, known)
  local at = r:int(math.min(2, #loops), #loops)
  local around = at > 1 and loops[r:int(1, at - 1)]
  local cond = around and r:chance(known.size and 0.5 or 0.9)
    and ("%s %s %d"):format(around, r:pick {"<", ">=", "=="}, r:int(0, 9)) or condition(r, known)
  if r:chance(0.15) then return {cond} end
  return {cond, r:chance(0.8) and loops[at] or r:pick(all)}
end

-- Pairs of neighbours of one origin.
local function pieces(all)
  local out, follows, there = {}, {head = "rest", ["1"] = "2", ["2"] = "3", pre = "main", main = "post"}, {}
  for _, name in ipairs(all) do there[name] = true end
  for _, name in ipairs(all) do
    local stem, first = name:match "^(.*)%.([^./]*)$"
    local next = stem and follows[first] and ("%s.%s"):format(stem, follows[first])
    if next and there[next] then out[#out + 1] = {name, next} end
  end
  return out
end

function draw.join(r, _, all)
  local pairs_of = pieces(all)
  if #pairs_of > 0 and r:chance(0.7) then return r:pick(pairs_of) end
  return {r:pick(all), r:pick(all)}
end

function draw.skew(r, loops, all)
  if #loops < 2 then return nil end
  local at = r:int(1, #loops - 1)
  local factor = r:pick {1, 1, 1, 2, -1, -2, 3}
  if r:chance(0.55) then return {r:pick(all), r:pick(all), r:chance(0.3) and 0 or factor} end
  return {loops[r:int(at + 1, #loops)], loops[at], factor}
end

-- What is always legal is drawn with bad input as well.
function draw.shift(r, loops)
  return {r:chance(0.3) and "no loop" or r:pick(loops), r:chance(0.3) and r:pick {"Q", 1.5, "", 1 << 62} or r:int(-3, 9)}
end

function draw.add_unit_loop(r, loops, _, stages)
  if r:chance(0.5) then return {r:pick {"no stage", 3, {}}} end
  return {r:chance(0.5) and r:pick(loops) or r:pick(stages)}
end

-- The outermost loops of stages that follow each other, most of the time of one extent.
local function nests(r, stages, known, n)
  if #stages < 2 then return nil end
  local at = r:chance(0.8) and known.alike(r, stages) or r:int(1, #stages - 1)
  local out = {}
  for k = at, math.min(#stages, at + n - 1) do
    local theirs = known.loops(stages[k])
    if #theirs == 0 then return nil end
    out[#out + 1] = theirs[r:chance(0.85) and 1 or r:int(1, #theirs)]
  end
  return out
end

function draw.merge(r, _, all, stages, _, known)
  return r:chance(0.85) and nests(r, stages, known, 2) or {r:pick(all), r:pick(all)}
end

function draw.create_fused_loop(r, _, all, stages, _, known)
  return r:chance(0.9) and nests(r, stages, known, r:pick {2, 2, 2, 3}) or {r:pick(all), r:pick(all)}
end

function draw.reorder_stmts(r, _, all, stages)
  if #stages > 1 and r:chance(0.7) then
    local at = r:int(1, #stages - 1)
    return {stages[at], stages[at + 1]}
  end
  return {r:pick(all), r:pick(all)}
end

-- A loop around two stages, where there is one, behind the first.
function draw.fission(r, loops, all, stages, _, known)
  local found = known.shared(stages)
  if #found > 0 and r:chance(0.65) then
    local pick = r:pick(found)
    return {pick[1], {after = pick[2]}}
  end
  return {r:chance(0.8) and loops[1] or r:pick(all), {after = r:chance(0.7) and r:pick(stages) or r:pick(all)}}
end

-- Loops that run once are rare.
function draw.remove_unit_loop(r, loops, _, _, _, known)
  local once = known.once()
  return {#once > 0 and r:chance(0.7) and r:pick(once) or r:pick(loops)}
end

function draw.unmark(r, loops, _, _, _, known)
  local marked = known.marked()
  return {#marked > 0 and r:chance(0.45) and r:pick(marked) or r:pick(loops)}
end

function draw.fuse(r, loops)
  if #loops < 2 then return nil end
  local at = r:int(1, #loops - 1)
  if r:chance(0.5) then return {r:pick(loops), r:pick(loops)} end
  return {loops[at], loops[at + 1]}
end

function draw.reorder(r, loops, all)
  if #loops < 2 then return nil end
  local from = r:int(1, #loops - 1)
  local to = math.min(#loops, from + r:int(1, 3))
  local list = {}
  for at = from, to do list[#list + 1] = loops[at] end
  if r:chance(0.4) then list[#list + 1] = r:pick(all) end
  return r:shuffle(list)
end

function draw.unroll(r, loops, all)
  if r:chance(0.3) then return {r:pick(loops), r:pick(FACTORS), {tail = r:pick(TAILS)}} end
  return {r:pick(r:chance(0.5) and loops or all)}
end
function draw.vectorize(r, loops) return {r:chance(0.5) and loops[#loops] or r:pick(loops)} end
function draw.parallel(r, loops) return {r:chance(0.5) and loops[1] or r:pick(loops)} end

local TAGS = {"blockIdx.x", "blockIdx.x", "blockIdx.y", "threadIdx.x", "threadIdx.x", "threadIdx.y", "threadIdx.z", "vthread"}
function draw.bind(r, loops, all) return {r:pick(r:chance(0.7) and loops or all), r:pick(TAGS)} end

--- Does it run on a grid?
function steps.on_grid(s)
  local text = "\n" .. s:text()
  return text:find "\n *blockIdx%.%a for" or text:find "\n *threadIdx%.%a for" or text:find "\n *vthread for"
end

-- Among the statements of a loop, now and then.
local function position(r) return r:chance(0.3) and {index = r:pick {1, 1, 2, 3, -1, -2}} or nil end

-- A stage somebody reads and a loop of a reader, most of the time: pairs drawn blindly are nearly always refused.
function draw.compute_at(r, loops, all, stages, _, known)
  local producer, reader = known.pair(r)
  if producer and r:chance(0.8) then
    local theirs = known.loops(reader)
    if #theirs > 0 then
      return {producer, r:pick(theirs), position(r)}
    end
  end
  return {r:pick(stages), r:pick(r:chance(0.5) and all or loops), position(r)}
end

-- A stage that was moved into a loop, and a loop further out, or all of them.
function draw.store_at(r, _, _, stages, _, known)
  local stage = r:chance(0.8) and known.moved(r) or r:pick(stages)
  local theirs = known.loops(stage)
  return {stage, #theirs > 0 and r:chance(0.4) and theirs[r:int(1, math.max(1, #theirs - 1))] or nil}
end

function draw.rolling_buffer(r, _, _, stages, _, known)
  local stage = r:chance(0.8) and known.alive(known.placed.stored) or r:pick(stages)
  local rank = known.rank(stage)
  local options = r:chance(0.3) and {size = r:pick {1, 2, 3, 4, 5, 8}} or nil
  if rank and r:chance(0.3) then return {stage, r:int(1, math.max(1, rank)), options} end
  return {stage, options}
end

-- A stage and a loop of what it reads.
function draw.reverse_compute_at(r, _, all, stages, _, known)
  local producer, reader = known.pair(r)
  if not producer then return {r:pick(stages), r:pick(all), position(r)} end
  local theirs = known.loops(producer)
  return {reader, #theirs > 0 and r:chance(0.9) and r:pick(theirs) or r:pick(all), position(r)}
end

function draw.reverse_compute_inline(r, _, _, stages, _, known)
  local _, reader = known.pair(r)
  return {r:chance(0.7) and known.epilogue(r) or reader or r:pick(stages)}
end

function draw.double_buffer(r, _, _, stages, _, known) return {r:chance(0.8) and known.moved(r) or r:pick(stages)} end

function draw.compute_inline(r, _, _, stages, _, known)
  local producer = known.pair(r)
  return {r:chance(0.6) and known.temporary_map(r) or producer and r:chance(0.7) and producer or r:pick(stages)}
end

function draw.compute_root(r, _, _, stages, _, known)
  return {#known.placed > 0 and r:chance(0.8) and r:pick(known.placed) or r:pick(stages)}
end

-- Layouts by name, so that a step stays plain data. The functions take the logical dimensions.
local LAYOUTS = {
  reversed = function(...)
    local at, out = {...}, {}
    for d = 1, #at do out[d] = at[#at + 1 - d] end
    return table.unpack(out)
  end,
  panels = function(...) -- the last dimension in pieces of 4, the piece outermost
    local at = {...}
    local last = at[#at]
    at[#at] = nil
    table.insert(at, 1, last // 4)
    at[#at + 1] = last % 4
    return table.unpack(at)
  end,
  slanted = function(...) -- the first index grows with the last
    local at = {...}
    at[1] = at[1] + at[#at]
    return table.unpack(at)
  end,
  rotated = function(...) -- the last index, turned by the first, over seven places: one to one up to seven
    local at = {...}
    at[#at] = (at[#at] + at[1]) % 7
    return table.unpack(at)
  end,
  backwards = function(...)
    local at = {...}
    at[#at] = 17 - at[#at]
    return table.unpack(at)
  end,
  gaps = function(...)
    local at = {...}
    at[#at] = 3 * at[#at] + 1
    return table.unpack(at)
  end,
  skewed = function(...) -- not one to one
    local at = {...}
    at[#at] = at[#at] // 2
    return table.unpack(at)
  end,
}

-- Where the copy is made and how it lies, now and then. The rank is known from the tensor's description.
local function storage(r, options, rank, loops)
  if rank and rank > 0 and r:chance(0.3) then
    options.layout, options.rank = r:pick {"reversed", "panels", "panels", "skewed"}, rank
  end
  if #loops > 0 and r:chance(0.4) then options.at = r:pick(loops) end
  return options
end

function draw.cache_read(r, loops, _, stages, tensors, known)
  local tensor = r:pick(tensors)
  local reader = r:chance(0.7) and known.reader(r, tensor) or r:pick(stages)
  local theirs = known.loops(reader)
  local scope = r:pick {"global", "local", "shared"}
  return {tensor, scope, {reader}, storage(r, {}, known.rank(tensor), #theirs > 0 and theirs or loops)}
end

function draw.cache_write(r, loops, _, stages, tensors, known)
  local stage = r:chance(0.8) and r:pick(stages) or r:pick(tensors)
  return {stage, r:pick {"local", "global", "shared"}, storage(r, {}, known.rank(stage), loops)}
end

function draw.set_scope(r, _, _, stages) return {r:pick(stages), r:pick {"local", "global", "shared"}} end

-- A temporary most of the time, and its rank; strides that fit and a few that do not.
local function temporary(r, stages, known)
  local temps = known.temporaries()
  if #temps > 0 and r:chance(0.85) then return table.unpack(r:pick(temps)) end
  local name = r:pick(stages)
  return name, known.rank(name) or 1
end

function draw.pragma(r, loops, all)
  local key = r:pick {"schedule", "chunk", "partition", "note"}
  local values = {schedule = {"static", "dynamic"}, chunk = {1, 2, 3, 0}, partition = {"auto", "never"}, note = {"here", "a \"b\""}}
  return {r:pick(r:chance(0.7) and loops or all), key, not r:chance(0.1) and r:pick(values[key]) or nil}
end

function draw.annotate(r, _, _, stages)
  local key = r:pick {"fma", "note"}
  local values = {fma = {"auto", "never", "sometimes"}, note = {"here", 7}}
  return {r:pick(stages), key, not r:chance(0.3) and r:pick(values[key]) or nil}
end

function draw.prefetch(r, loops, all, stages, tensors)
  local offset = r:pick {1, 1, 2, 5}
  if r:chance(0.05) then offset = r:pick {0, -1, 1 << 40} end
  return {r:pick(r:chance(0.7) and tensors or stages), r:pick(r:chance(0.8) and loops or all), offset}
end

function draw.storage_align(r, _, _, stages, _, known)
  local name, rank = temporary(r, stages, known)
  local factor = r:pick {1, 2, 3, 4, 8, 16, 16}
  local axis, offset = r:int(0, math.max(rank - 1, 0)), r:int(0, factor - 1)
  if r:chance(0.1) then axis = rank end
  if r:chance(0.1) then offset = factor end
  return {name, axis, r:chance(0.05) and 0 or factor, offset}
end

function draw.reorder_storage(r, _, _, stages, _, known)
  local name, rank = temporary(r, stages, known)
  local order = {}
  for d = 1, rank do order[d] = d - 1 end
  r:shuffle(order)
  if r:chance(0.35) then order[1] = 0 end
  return {name, order}
end

function draw.transform_layout(r, _, _, stages, _, known)
  local name, rank = temporary(r, stages, known)
  local names_ = {"reversed", "panels", "skewed", "slanted", "slanted", "rotated", "backwards", "gaps"}
  return {name, {place = r:pick(names_), rank = rank}}
end

-- A stage that is vectorized, if there is one.
function draw.stream_stores(r, _, _, stages, _, known)
  local wide = known.vectorized()
  return {#wide > 0 and r:chance(0.8) and r:pick(wide) or r:pick(stages)}
end

function draw.decompose_reduction(r, loops, _, stages) return {r:pick(stages), r:pick(loops)} end

-- A reduction and one of its innermost loops, most of the time.
function draw.rfactor(r, loops, _, stages, _, known)
  local stage = known.reduction(r)
  if not stage or r:chance(0.2) then return {r:pick(stages), r:pick(loops)} end
  local theirs = known.loops(stage)
  if #theirs == 0 then return nil end
  local axis = r:chance(0.5) and {factor_axis = r:int(-2, 2)} or nil
  return {stage, r:chance(0.7) and theirs[#theirs] or r:pick(theirs), axis}
end

-- The innermost loop of a stage, most of the time, with an intrinsic that may well do it.
function draw.tensorize(r, loops, all, stages, _, known)
  local stage, loop, n
  for _, name in ipairs(r:shuffle {table.unpack(stages)}) do
    local theirs = known.loops(name)
    stage, loop = name, theirs[#theirs] or r:pick(all)
    n = known.extent(loop)
    if n and kernels.knows(known.stage(name), known.dtype, n) then break end
  end
  if r:chance(0.1) then loop = r:pick(loops) end
  return {loop, {kernel = kernels.pick(r, known.stage(stage), known.dtype, loop, n)}}
end

function draw.atomic(r, _, _, stages, _, known)
  local stage = known.reduction(r)
  return {stage and r:chance(0.8) and stage or r:pick(stages)}
end

-- Every primitive there is: a row without a draw function is a gap in the test.
local ORDER = {}
for _, p in ipairs(require "nestwright.core".primitives()) do ORDER[#ORDER + 1] = p.name end
table.sort(ORDER)
for _, name in ipairs(ORDER) do
  if not draw[name] then error(("no step of %s is ever drawn: write draw.%s in tests/prop/steps.lua"):format(name, name), 0) end
end

--- The primitives, for the table at the end of a run.
steps.names = ORDER

--- What the cases favour, in turn: every primitive, those that seldom find something to do more often.
steps.favoured = {"stream_stores", "stream_stores", "stream_stores", "compute_root", "compute_inline",
  "decompose_reduction", "rolling_buffer", "rolling_buffer", "double_buffer", "store_at", "reverse_compute_inline",
  "create_fused_loop", "unmark", "stream_stores", "fission", "fission", "join", "join", "tensorize", "tensorize",
  "reverse_compute_inline", "decompose_reduction", "fuse", "remove_unit_loop", "double_buffer", "stream_stores",
  "stream_stores", "stream_stores", "rolling_buffer", "rolling_buffer", "compute_root", "compute_root", "unmark",
  "remove_unit_loop", "fission", "rolling_buffer", "rolling_buffer", "rolling_buffer", "double_buffer", "double_buffer",
  "atomic", "cache_read", "reverse_compute_at", "compute_inline", "assume", "tensorize", "compute_root", "fuse", "skew", "tile",
  "reorder", "decompose_reduction", "reverse_compute_inline", "set_scope", "create_fused_loop", "stream_stores",
  "stream_stores", "stream_stores", "stream_stores", "decompose_reduction", "unmark", "tile", "tensorize", "tensorize",
  "compute_root", table.unpack(ORDER)}

-- What a step seldom works without: a function that tells the step to draw first, its name or the whole of it, or nil.
local PREPARED = {}

function PREPARED.compute_root(_, known) return #known.placed == 0 and "compute_at" end
function PREPARED.unmark(r, known) return #known.marked() == 0 and r:pick {"unroll", "parallel", "vectorize"} end
function PREPARED.fission(_, known, stages) return #known.shared(stages) == 0 and "merge" end
function PREPARED.remove_unit_loop(r, known, stages)
  return #known.once() == 0 and {primitive = "add_unit_loop", args = {r:pick(stages)}}
end
function PREPARED.join(r, _, _, all) return #pieces(all) == 0 and {primitive = "cut", args = {r:pick(all), r:int(1, 3)}} end

-- A window to keep: a stage computed in the loop of the stencil that reads it.
function PREPARED.store_at(r, known)
  local window = #known.placed == 0 and known.window(r)
  return window and {primitive = "compute_at", args = window}
end
PREPARED.double_buffer = PREPARED.store_at
function PREPARED.rolling_buffer(r, known)
  return not known.alive(known.placed.stored) and (PREPARED.store_at(r, known) or "store_at")
end

-- A vector first.
function PREPARED.stream_stores(r, known, stages)
  local wide = known.vectorized()
  known.placed.streaming = #wide == 0
  if #wide > 0 then return nil end
  local theirs = known.loops(r:pick(stages))
  local last = theirs[#theirs]
  if not last then return nil end
  if known.lanes(last) then return {primitive = "vectorize", args = {last}} end
  return {primitive = "split", args = {last, {factor = r:pick {4, 4, 8, 16}, tail = "cut"}}}
end

--- What a computation must have for a step to find something to do (gen.lua has what each word says).
steps.wants = {}
for want, list in pairs {
  reduction = {"rfactor", "atomic", "decompose_reduction"},
  pair = {"compute_at", "compute_root", "compute_inline", "set_scope", "cache_write", "storage_align", "reorder_storage",
    "transform_layout", "reverse_compute_at"},
  epilogue = {"reverse_compute_inline"},
  window = {"store_at", "rolling_buffer", "double_buffer"},
  alike = {"merge", "fission"},
  apart = {"create_fused_loop", "reorder_stmts"},
  sizes = {"assume", "specialize"},
} do
  for _, name in ipairs(list) do steps.wants[name] = want end
end

local REDUCTIONS = {matmul = true, fold = true, arg = true, window = true}

-- What the drawing knows of a schedule: which stage reads which, its loops, and what was placed.
local function knowledge(case, s, placed)
  local pairs_of = {}
  local alive = {}
  for _, name in ipairs(names(s:stages())) do alive[name] = true end
  for _, stage in ipairs(case.stages) do
    for _, from in ipairs(stage.from) do
      if alive[from] and alive[stage.name] then pairs_of[#pairs_of + 1] = {from, stage.name} end
    end
  end
  for name in pairs(alive) do -- a buffer made by cache_read or cache_write is named after its tensor
    local base = name:match "^(%a)_%a+$"
    if base and alive[base] then pairs_of[#pairs_of + 1] = {name, base} end
  end
  table.sort(pairs_of, function(a, b) return a[1] .. a[2] < b[1] .. b[2] end)
  local function lanes(loop) -- an extent vectors come in
    local extent = s:text():match("for " .. loop:gsub("%p", "%%%0") .. " in 0%.%.(%d+):")
    return extent == "4" or extent == "8" or extent == "16"
  end
  local function loops_like(pattern)
    local list = {}
    for name in s:text():gmatch(pattern) do list[#list + 1] = name end
    return list
  end
  local function reads(stage, from)
    for _, pair in ipairs(pairs_of) do
      if pair[1] == from and pair[2] == stage then return true end
    end
  end
  local function is_temporary(name) return alive[name] and s:text():find("\ntemp " .. name .. ":", 1, true) end
  return {
    lanes = lanes,
    placed = placed,
    temporary_map = function(r)
      local list = {}
      for _, stage in ipairs(case.stages) do
        if (stage.kind == "map" or stage.kind == "transpose" or stage.kind == "pad") and is_temporary(stage.name) then
          list[#list + 1] = stage.name
        end
      end
      return #list > 0 and r:pick(list) or nil
    end,
    alive = function(name) return alive[name] and name end,
    window = function(r) -- a stage that a stencil reads, and the stencil's loop that moves over it
      local found = {}
      for _, stage in ipairs(case.stages) do
        local from = stage.kind == "stencil" and alive[stage.name] and is_temporary(stage.from[1]) and stage.from[1]
        local theirs = from and names(s:loops(stage.name))
        if theirs and theirs[stage.axis] then found[#found + 1] = {stage.from[1], theirs[stage.axis]} end
      end
      return #found > 0 and r:pick(found) or nil
    end,
    moved = function(r) -- a stage that was placed, and is still there
      local there = {}
      for _, name in ipairs(placed) do if alive[name] then there[#there + 1] = name end end
      return #there > 0 and r:pick(there) or nil
    end,
    pair = function(r)
      if #pairs_of == 0 then return nil end
      return table.unpack(r:pick(pairs_of))
    end,
    loops = function(stage) return names(s:loops(stage)) end,
    marked = function() return loops_like "\n *%S+ for (%S+) in " end,
    once = function() return loops_like "for (%S+) in 0%.%.1:" end,
    size = #case.sizes > 0 and function(r) return r:pick(case.sizes).name end,
    shared = function(stages) -- {loop, stage}: a loop around the stage and the next one
      local list = {}
      for at = 1, #stages - 1 do
        local inside = {}
        for _, loop in ipairs(s:loops(stages[at + 1])) do inside[loop.name] = true end
        for _, loop in ipairs(s:loops(stages[at])) do
          if inside[loop.name] then list[#list + 1] = {loop.name, stages[at]} end
        end
      end
      return list
    end,
    alike = function(r, stages) -- n: the outermost loops of stages n and n + 1 have one extent, and are two
      local list, before = {}, {}
      for n, stage in ipairs(stages) do
        local loop = names(s:loops(stage))[1]
        local extent = loop and s:text():match("for " .. loop:gsub("%p", "%%%0") .. " in 0%.%.([^\n]*):")
        if n > 1 and extent and extent == before.extent and loop ~= before.loop then
          list[#list + 1] = n - 1
          if not reads(stage, stages[n - 1]) then list[#list + 1] = n - 1 end
        end
        before = {loop = loop, extent = extent}
      end
      return #list > 0 and r:pick(list) or nil
    end,
    epilogue = function(r) -- a stage that only does something to each element of one that nobody else reads
      local list = {}
      for _, stage in ipairs(case.stages) do
        local from, readers = stage.from[1], 0
        for _, other in ipairs(case.stages) do
          for n, name in ipairs(other.from) do
            if name == from and (n == 1 or other.from[1] ~= name) then readers = readers + 1 end
          end
        end
        if stage.kind == "map" and stage.from[2] == from and readers == 1 and alive[from] and alive[stage.name] then
          list[#list + 1] = stage.name
        end
      end
      return #list > 0 and r:pick(list) or nil
    end,
    temporaries = function() -- {name, rank} of each
      local list = {}
      for name, dims in s:text():gmatch "\ntemp ([^:]+): %w+%[([^%]]*)%]" do
        list[#list + 1] = {name, select(2, dims:gsub("[^,]+", ""))}
      end
      return list
      end,
    reduction = function(r)
      local found = {}
      for _, stage in ipairs(case.stages) do
        if alive[stage.name] and REDUCTIONS[stage.kind] then found[#found + 1] = stage.name end
      end
      return #found > 0 and r:pick(found) or nil
    end,
    dtype = case.dtype,
    stage = function(name)
      for _, stage in ipairs(case.stages) do
        if stage.name == name then return stage end
      end
    end,
    extent = function(loop) -- if it is a number, and there are iterations
      local n = math.tointeger(tonumber(s:text():match("for " .. loop:gsub("%p", "%%%0") .. " in 0%.%.(%d+):")))
      return n and n > 0 and n or nil
    end,
    vectorized = function()
      local wide, text = {}, s:text()
      for _, stage in ipairs(names(s:stages())) do
        for _, loop in ipairs(placed[stage] and {} or s:loops(stage)) do
          if text:find("vectorize for " .. loop.name .. " ", 1, true) and lanes(loop.name) then
            wide[#wide + 1] = stage
            break
          end
        end
      end
      return wide
    end,
    rank = function(name)
      for _, list in ipairs {case.inputs, case.stages} do
        for _, t in ipairs(list) do
          if t.name == name then return #t.dims end
        end
      end
    end,
    reader = function(r, tensor)
      local readers = {}
      for _, stage in ipairs(case.stages) do
        for _, from in ipairs(stage.from) do
          if from == tensor and alive[stage.name] then readers[#readers + 1] = stage.name end
        end
      end
      return #readers > 0 and r:pick(readers) or nil
    end,
  }
end

--- Draws one step for schedule s, or nil. The primitive `favoured` comes more often, and where the drawing is `opening`
--- mostly; `placed` has the stages that were moved into loops.
function steps.draw(r, s, tensors, favoured, case, placed, opening)
  local stages = names(s:stages())
  local all = names(s:loops())
  local loops = names(s:loops(r:pick(stages)))
  if #loops == 0 then loops = all end
  if #loops == 0 then return nil end
  local primitive = r:chance(opening and 0.9 or 0.5) and favoured or r:pick(ORDER)
  if placed.streaming and r:chance(0.9) then primitive = "stream_stores" end -- what was begun is finished
  if case.grid and r:chance(0.35) then primitive = "bind" end -- the others keep their machine code
  if primitive == "bind" and not case.grid and r:chance(0.7) then primitive = "split" end
  local known = knowledge(case, s, placed)
  local first = PREPARED[primitive] and r:chance(0.9) and PREPARED[primitive](r, known, stages, all)
  if type(first) == "table" then return first end
  primitive = first or primitive
  local args = draw[primitive](r, loops, all, stages, tensors, known)
  return args and {primitive = primitive, args = args}
end

-- A function with as many parameters as the tensor has dimensions.
local function with_rank(f, rank)
  if rank == 1 then return function(a) return f(a) end end
  if rank == 2 then return function(a, b) return f(a, b) end end
  if rank == 3 then return function(a, b, c) return f(a, b, c) end end
  return function(a, b, c, d) return f(a, b, c, d) end
end

local function ready(arg)
  if type(arg) == "table" and arg.place then return with_rank(LAYOUTS[arg.place], arg.rank) end
  if type(arg) == "table" and arg.kernel then return kernels.id(arg.kernel) end
  if type(arg) ~= "table" or not arg.layout then return arg end
  return {layout = with_rank(LAYOUTS[arg.layout], arg.rank), at = arg.at}
end

--- Applies a step; true, or false and the error. `placed`, if given, takes note of a stage that was moved into a loop.
function steps.apply(s, step, placed)
  local args = {}
  for n, arg in ipairs(step.args) do args[n] = ready(arg) end
  local ok, err = pcall(s[step.primitive], s, table.unpack(args))
  if ok and placed then
    local stage = step.args[1]
    if step.primitive == "compute_at" then placed[#placed + 1] = stage end
    if step.primitive == "store_at" then placed.stored = stage end
    if step.primitive == "rolling_buffer" then placed.stored = nil end
    if step.primitive == "stream_stores" then placed[stage] = "streams" end
  end
  return ok, err
end

--- The step as the user would type it.
function steps.show(step)
  local function show(v)
    if type(v) == "string" then return ("%q"):format(v) end
    if type(v) ~= "table" then return tostring(v) end
    local parts = {}
    for _, item in ipairs(v) do parts[#parts + 1] = show(item) end
    local keys = {}
    for key in pairs(v) do if type(key) == "string" then keys[#keys + 1] = key end end
    table.sort(keys)
    for _, key in ipairs(keys) do parts[#parts + 1] = key .. " = " .. show(v[key]) end
    return "{" .. table.concat(parts, ", ") .. "}"
  end
  local parts = {}
  for n, arg in ipairs(step.args) do parts[n] = show(arg) end
  return ("s:%s(%s)"):format(step.primitive, table.concat(parts, ", "))
end

return steps
