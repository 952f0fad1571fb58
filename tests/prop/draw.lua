--- Draws the arguments of each primitive, by draw[primitive](r, loops, all, stages, tensors, known). `loops` are the loops of one
--- stage, `all` are the loops of the schedule, and `known` is the description of the schedule by known.lua. Each function returns a
--- list of arguments, or nil. Some of the arguments are valid, and some are not.
local kernels = require "kernels"
local types = require "types"

local FACTORS = {1, 2, 3, 4, 5, 7, 8, 16, 32}
local SIZES = {"M", "N", "M // 2 + 1", "M + N", "2*M", "M - 1"} -- factors that are sizes; a case may have no such sizes
local TAILS = {"guard", "cut", "shift", "shift", "pad", "predicate"}

local draw = {}

-- Returns the value of an argument: the value that the goal of the step requires or, if it requires none, a random choice.
local function choice(r, known, name, choices)
  local wanted = known.option and known.option:match("^" .. name .. "=(.*)$")
  return wanted or r:pick(choices)
end

-- True if an optional argument is given. It is always given if the goal of the step requires it.
local function given(r, known, name, p) return known.option == name or r:chance(p) end

-- Returns a factor for a loop. With tail = "pad", the step is refused if the padding reads elements that do not exist. If the goal
-- requires this tail, the factor therefore divides the extent in most cases, and no padding is needed.
local function divisor(r, known, loop)
  local n = known.option == "tail=pad" and r:chance(0.7) and known.extent(loop)
  local fits = {}
  for _, f in ipairs(n and FACTORS or {}) do if n % f == 0 then fits[#fits + 1] = f end end
  return r:pick(#fits > 0 and fits or FACTORS)
end

local function some_factor(r) return r:pick(r:chance(0.12) and SIZES or FACTORS) end

function draw.split(r, loops, _, _, _, known)
  local options = {tail = choice(r, known, "tail", TAILS)}
  local loop = r:pick(loops)
  if given(r, known, "parts", 0.2) then options.parts = some_factor(r) else options.factor = divisor(r, known, loop) end
  if given(r, known, "factors", 0.2) and known.option ~= "parts" and known.option ~= "factor" then
    options.factor, options.parts, options.factors = nil, nil, {some_factor(r), some_factor(r)}
  end
  if not known.option and options.factor and r:chance(0.12) then options.factor = r:pick(SIZES) end
  if r:chance(0.05) then options.factor, options.parts, options.factors = r:pick {0, -1, 1 << 62}, nil, nil end
  return {loop, options}
end

function draw.tile(r, loops, _, _, _, known)
  if #loops < 2 then return nil end
  local at = r:int(1, #loops - 1)
  if known.option and known.option ~= "" then
    return {{loops[at], loops[at + 1]}, {divisor(r, known, loops[at]), divisor(r, known, loops[at + 1])},
      {tail = choice(r, known, "tail", TAILS)}}
  end
  if r:chance(0.2) then return {{loops[at], loops[at + 1]}, {r:pick(FACTORS), r:pick(FACTORS)}, {tail = r:pick(TAILS)}} end
  if #loops > at + 1 and r:chance(0.3) then
    return {{loops[at], loops[at + 1], loops[at + 2]}, {r:pick(FACTORS), r:pick(FACTORS), r:pick(FACTORS)}}
  end
  if r:chance(0.25) then return {loops[at], r:pick {loops[at], "no loop"}, r:pick(FACTORS), r:pick {0, -4, 1.5}} end
  return {loops[at], loops[r:chance(0.85) and at + 1 or r:int(1, #loops)], r:pick(FACTORS), r:pick(FACTORS)}
end

-- Returns points at which to cut a loop. They may be inside or outside of the loop, sorted or unsorted, and numbers or
-- expressions of sizes and loops.
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

-- Prefers the outer loops of splits (their names end in "_o"), because they often have conditions.
function draw.partition(r, loops, _, _, _, known)
  local outer = {}
  for n = 1, #loops do if loops[n]:find "_o$" then outer[#outer + 1] = loops[n] end end
  local loop = #outer > 0 and r:chance(0.6) and r:pick(outer) or r:pick(loops)
  if given(r, known, "at", 0.25) then
    local from = r:int(0, 4)
    return {loop, {at = {from, from + r:int(0, 8)}}}
  end
  if r:chance(0.4) then return {loop, {at = r:pick {{}, {3}, {"M"}, {4, 4}, {9, 2}, {1, 2, 3}}}} end
  return {loop}
end

-- Returns a condition on the sizes of a case. Some conditions are valid, and some are not.
local function condition(r, known)
  local size = known.size and r:chance(0.85) and known.size(r) or r:pick {"M", "N", "Q"}
  if r:chance(0.5) then return ("%s %% %d == %d"):format(size, r:pick {2, 4, 8, 3}, r:pick {0, 0, 0, 1}) end
  if r:chance(0.1) then return r:pick {"M + 1", "M <", "M == N and M > 2", "not (M < N)"} end
  return ("%s %s %d"):format(size, r:pick {">=", "<", ">"}, r:int(0, 20))
end

function draw.assume(r, _, _, _, _, known) return {condition(r, known)} end

-- Draws a condition on sizes or on an outer loop. A condition on a loop is possible even if all sizes are constant.
function draw.specialize(r, loops, all, stages, _, known)
  local at = r:int(math.min(2, #loops), #loops)
  local around = at > 1 and loops[r:int(1, at - 1)]
  local cond = around and r:chance(known.size and 0.5 or 0.9)
    and ("%s %s %d"):format(around, r:pick {"<", ">=", "=="}, r:int(0, 9)) or condition(r, known)
  if known.option == "stage" or r:chance(0.05) then return {cond, {stage = r:pick(stages)}} end
  if r:chance(0.15) then return {cond} end
  return {cond, r:chance(0.8) and loops[at] or r:pick(all)}
end

function draw.join(r, _, all, _, _, known)
  local pairs_of = known.pieces(all)
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

-- Draws invalid arguments as well, because a valid shift is always legal and is never refused.
function draw.shift(r, loops)
  return {r:chance(0.3) and "no loop" or r:pick(loops), r:chance(0.3) and r:pick {"Q", 1.5, "", 1 << 62} or r:int(-3, 9)}
end

-- In most cases draws the innermost loop, because outer loops often carry dependences.
function draw.reverse(r, loops, all)
  if r:chance(0.15) then return {r:pick {"no loop", 2, {}}} end
  return {r:chance(0.5) and loops[#loops] or r:pick(r:chance(0.5) and loops or all)}
end

function draw.add_unit_loop(r, loops, _, stages)
  if r:chance(0.5) then return {r:pick {"no stage", 3, {}}} end
  return {r:chance(0.5) and r:pick(loops) or r:pick(stages)}
end

-- Returns the outermost loops of consecutive stages, in most cases with the same extent.
local function nests(r, stages, known, n)
  if #stages < 2 then return nil end
  local at = r:chance(0.8) and known.alike(r, stages) or r:int(1, #stages - 1)
  local out = {}
  for k = at, math.min(#stages, at + n - 1) do
    local theirs = known.loops(stages[k])
    if #theirs == 0 then return nil end
    local loop = theirs[r:chance(0.85) and 1 or r:int(1, #theirs)]
    if loop == out[#out] then loop = theirs[#theirs] end -- a nest may contain both stages
    out[#out + 1] = loop
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

-- In most cases draws a loop that contains two stages, and the first of these stages. The loop is to be divided after this stage.
function draw.fission(r, loops, all, stages, _, known)
  local found = known.shared(stages)
  if #found > 0 and r:chance(0.65) then
    local pick = r:pick(found)
    return {pick[1], {after = pick[2]}}
  end
  return {r:chance(0.8) and loops[1] or r:pick(all), {after = r:chance(0.7) and r:pick(stages) or r:pick(all)}}
end

-- Prefers loops of one iteration, which are rare.
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

function draw.unroll(r, loops, all, _, _, known)
  if known.option and known.option ~= "" or r:chance(0.3) then
    local loop = r:pick(loops)
    return {loop, divisor(r, known, loop), {tail = choice(r, known, "tail", TAILS)}}
  end
  return {r:pick(r:chance(0.5) and loops or all)}
end
-- With the option `reduce`, draws an inner loop of a reduction in most cases.
function draw.vectorize(r, loops, _, _, _, known)
  if not (known.option == "reduce=tree" or r:chance(0.3)) then return {r:chance(0.5) and loops[#loops] or r:pick(loops)} end
  local stage = known.reduction(r)
  local theirs = stage and known.loops(stage) or {}
  return {#theirs > 0 and r:chance(0.8) and theirs[#theirs] or r:pick(loops), {reduce = "tree"}}
end
function draw.parallel(r, loops) return {r:chance(0.5) and loops[1] or r:pick(loops)} end

local TAGS = {"blockIdx.x", "blockIdx.x", "blockIdx.y", "blockIdx.z", "blockIdx.z", "threadIdx.x", "threadIdx.x", "threadIdx.y",
  "threadIdx.z", "threadIdx.z", "vthread"}
-- Sometimes draws a loop of a reduction for threads, which is rare otherwise.
function draw.bind(r, loops, all, _, _, known)
  local stage = r:chance(0.2) and known.reduction(r)
  local theirs = stage and known.loops(stage) or {}
  if #theirs > 0 then return {theirs[#theirs], choice(r, known, "tag", {"threadIdx.x", "threadIdx.y", "threadIdx.z"})} end
  return {r:pick(r:chance(0.7) and loops or all), choice(r, known, "tag", TAGS)}
end

-- Sometimes returns the option `index`, the position among the statements of a loop. Otherwise returns nil.
local function position(r, known) return given(r, known, "index", 0.3) and {index = r:pick {1, 1, 2, 3, -1, -2}} or nil end

-- In most cases draws an inner loop. The name may be invalid, or the name of a loop.
function draw.blockize(r, loops, all, _, _, known)
  local loop = r:chance(0.8) and loops[r:int(math.min(2, #loops), #loops)] or r:pick(all)
  return {loop, given(r, known, "name", 0.3) and r:pick {"T", "T", "U", r:pick(all), "2 T"} or nil}
end

function draw.unblockize(r, loops, _, stages, _, known)
  local all = known.units()
  return {#all > 0 and r:chance(0.8) and r:pick(all) or r:pick(r:chance(0.5) and stages or loops)}
end

-- In most cases returns the unit around a stage, if there is one, because a part of a unit does not move.
local function in_unit(r, known, stage) return r:chance(0.8) and known.unit_of(stage) or stage end

-- In most cases draws a stage and a loop of its reader, because a random pair is nearly always refused.
function draw.compute_at(r, loops, all, stages, _, known)
  local producer, reader = known.hidden_pair(r)
  if producer and r:chance(0.8) then
    local theirs = known.loops(reader)
    if #theirs > 0 then
      return {in_unit(r, known, producer), r:pick(theirs), position(r, known)}
    end
  end
  return {r:pick(stages), r:pick(r:chance(0.5) and all or loops), position(r, known)}
end

-- Draws a stage that was moved into a loop, and one of its outer loops for its storage. If no loop is drawn, the storage is outside
-- of all loops.
function draw.store_at(r, _, _, stages, _, known)
  local stage = r:chance(0.9) and known.moved(r) or r:pick(stages)
  local theirs = known.loops(stage)
  local around = math.max(1, #theirs - 1 - (known.rank(stage) or 0))
  return {stage, #theirs > 0 and given(r, known, "loop", 0.4) and theirs[r:int(1, around)] or nil}
end

-- Draws a stage that was moved into a loop. In most cases its storage moves out of all loops, or to a loop around its storage.
function draw.hoist_storage(r, _, _, stages, _, known)
  local stage = r:chance(0.95) and known.moved(r) or r:pick(stages)
  local theirs = known.loops(stage)
  local around = #theirs - (known.rank(stage) or 0)
  if #theirs == 0 or not given(r, known, "loop", 0.3) then return {stage} end
  return {stage, theirs[r:int(1, math.max(1, r:chance(0.8) and around - 1 or around))]}
end

function draw.rolling_buffer(r, _, _, stages, _, known)
  local stage = r:chance(0.8) and known.alive(known.placed.stored) or r:pick(stages)
  local rank = known.rank(stage)
  local options = given(r, known, "size", 0.3) and {size = r:pick {3, 4, 5, 8}} or r:chance(0.1) and {size = r:int(1, 2)} or nil
  if rank and given(r, known, "dim", 0.3) then return {stage, r:int(1, math.max(1, rank)), options} end
  return {stage, options}
end

-- Draws a stage and one of its readers. Returns the reader and, in most cases, a loop of the stage that it reads.
function draw.reverse_compute_at(r, _, all, stages, _, known)
  local producer, reader = known.pair(r)
  if not producer then return {r:pick(stages), r:pick(all), position(r, known)} end
  local theirs = known.loops(producer)
  return {in_unit(r, known, reader), #theirs > 0 and r:chance(0.9) and r:pick(theirs) or r:pick(all), position(r, known)}
end

function draw.reverse_compute_inline(r, _, _, stages, _, known)
  local _, reader = known.pair(r)
  return {r:chance(0.7) and known.epilogue(r) or reader or r:pick(stages)}
end

function draw.double_buffer(r, _, _, stages, _, known)
  return {r:chance(0.8) and known.moved(r) or r:pick(stages), given(r, known, "ahead", 0.3) and r:int(1, 4) or nil}
end

function draw.compute_inline(r, _, _, stages, _, known)
  local producer = known.pair(r)
  return {r:chance(0.6) and known.temporary_map(r) or producer and r:chance(0.7) and producer or r:pick(stages)}
end

-- In most cases draws one multiple for each axis of a reduction.
function draw.pad_einsum(r, _, _, stages, _, known)
  local name = r:chance(0.9) and known.reduction(r, true) or r:pick(stages)
  local stage, list = known.stage(name), {}
  local n = stage and #stage.dims + #(stage.over or {}) or 2
  for k = 1, r:chance(0.95) and n or n + 1 do list[k] = r:pick {1, 2, 3, 4, 4, 8} end
  return {name, list}
end

-- Forms and equal forms. The last ones are wrong, or wrong for some dtypes. The first ones have the same bits for all floats, too.
local EQUAL = {
  {"x + y", "min(x + y, max(x + y, x))"}, {"x*y", "max(x*y, min(x*y, y))"}, {"x", "min(x, max(x, -x))"},
  {"x + y", "y - (-x)"}, {"max(x, y)", "-min(-x, -y)"}, {"min(x, y)", "-max(-x, -y)"},
  {"x*y + z", "z - x*(-y)"}, {"x*y + x*z", "x*(y + z)"}, {"select(c < d, x, y)", "select(d <= c, y, x)"},
  {"x", "x + 1"}, {"x + y", "max(x, y)"}, {"x*y", "x"}, {"max(x, y)", "x"}, {"x", "abs(x)"},
}

-- Integers also have forms that are proved.
local PROVED = {
  {"x", "(x + 1)*(x + 1) - x*x - x - 1"}, {"x*y", "(x + 3)*y - 3*y"}, {"x + y", "(x + y)*(x + 1) - x*x - x*y"},
  {"x - y", "(x - y)*(y + 1) - x*y + y*y"},
}

function draw.rewrite(r, _, _, stages, _, known)
  local stage = r:pick(stages)
  local dtype = known.dtype_of(stage)
  local whole = dtype and dtype ~= "bool" and not types.is_float(dtype)
  local form = r:pick(whole and r:chance(0.6) and PROVED or EQUAL)
  return {stage, form[1], form[2]}
end

function draw.compute_root(r, _, _, stages, _, known)
  return {in_unit(r, known, r:chance(0.9) and known.moved(r) or r:pick(stages))}
end

-- Returns options for a copy: its layout, the loop in which it is made, and its name. Returns nil if no option is drawn.
local function storage(r, known, rank, loops)
  local options = {}
  if rank and rank > 0 and given(r, known, "layout", 0.25) then
    options.layout, options.rank = r:pick {"reversed", "panels", "panels", "gaps", "skewed"}, rank
  end
  if #loops > 0 and given(r, known, "at", 0.35) then options.at = r:pick(loops) end
  if given(r, known, "name", 0.1) then options.name = "copy" .. r:int(1, 99) end
  return next(options) and options or nil
end

local SCOPES = {"global", "local", "shared", "warp"}

function draw.cache_read(r, loops, _, stages, tensors, known)
  local tensor = r:pick(tensors)
  local reader = r:chance(0.7) and known.reader(r, tensor) or r:pick(stages)
  local theirs = known.loops(reader)
  local options = storage(r, known, known.rank(tensor), #theirs > 0 and theirs or loops)
  if given(r, known, "accesses", 0.2) then
    options = options or {}
    options.accesses = r:pick {{1}, {1}, {1}, {2}, {2}, {3}, {1, 2}, {0}}
  end
  local scope = choice(r, known, "scope", SCOPES)
  local inside = known.in_threads(reader) -- copies for all threads of a block
  if not known.option and #inside > 0 and r:chance(0.6) then
    options = options or {}
    scope, options.at = r:pick {"shared", "shared", "warp"}, r:pick(inside)
  end
  if not given(r, known, "readers", 0.6) then return {tensor, scope, options} end
  return {tensor, scope, {reader}, options}
end

-- In most cases draws a stage and a tensor that it reads, and the number of a read, because a stage often reads a tensor in several
-- ways. In some cases draws a stage and its result.
function draw.reindex(r, loops, _, stages, tensors, known)
  if not given(r, known, "access", 0.7) and r:chance(0.4) then
    local stage = r:pick(stages)
    local theirs = known.loops(stage)
    local options = storage(r, known, known.rank(stage), #theirs > 0 and theirs or loops) or {}
    local scoped = given(r, known, "scope", 0.6) or (known.option or ""):find "^scope="
    if scoped then options.scope = choice(r, known, "scope", SCOPES) end
    return {stage, stage, next(options) and options or nil}
  end
  local tensor = r:pick(tensors)
  local reader = r:chance(0.9) and known.reader(r, tensor) or r:pick(stages)
  local theirs = known.loops(reader)
  local rank = r:chance(0.6) and known.rank(reader) or known.rank(tensor)
  local options = storage(r, known, rank, #theirs > 0 and theirs or loops) or {}
  if given(r, known, "access", 0.7) then options.access = r:pick {1, 1, 1, 2, 2, 3, 0} end
  if given(r, known, "scope", 0.6) or (known.option or ""):find "^scope=" then options.scope = choice(r, known, "scope", SCOPES) end
  return {reader, tensor, next(options) and options or nil}
end

function draw.cache_index(r, loops, _, stages, _, known)
  local stage = r:chance(0.9) and known.divided(r) or r:pick(stages)
  local theirs = known.loops(stage)
  local options = storage(r, known, nil, #theirs > 0 and theirs or loops) or {}
  if r:chance(0.35) then options.name = "copy" .. r:int(1, 99) end
  if given(r, known, "scope", 0.7) or (known.option or ""):find "^scope=" then options.scope = choice(r, known, "scope", SCOPES) end
  return {stage, next(options) and options or nil}
end

function draw.cache_write(r, loops, _, stages, tensors, known)
  local stage = r:chance(0.9) and r:pick(stages) or r:pick(tensors)
  return {stage, choice(r, known, "scope", SCOPES), storage(r, known, known.rank(stage), loops)}
end

local DTYPES = {"bf16", "f16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"}

-- In most cases draws a temporary that is not the result of a reduction, and a dtype that can hold its values.
function draw.set_dtype(r, _, _, stages, _, known)
  local wanted, fit = known.option and known.option:match "^dtype=(.*)$", {}
  for _, temp in ipairs(known.temporaries()) do
    local stage, dtype = known.stage(temp[1]), known.dtype_of(temp[1])
    for _, k in ipairs(DTYPES) do
      local fits = not (stage and stage.over) and (not wanted or k == wanted) and types.storable(dtype, k)
      if fits then fit[#fit + 1] = {temp[1], k} end
    end
  end
  if #fit > 0 and r:chance(0.85) then return r:pick(fit) end
  local temps = known.temporaries()
  local name = #temps > 0 and r:chance(0.8) and r:pick(temps)[1] or r:pick(stages)
  return {name, wanted or r:pick(DTYPES)}
end

function draw.set_scope(r, _, _, stages, _, known)
  local temps = known.temporaries()
  local name = #temps > 0 and r:chance(0.8) and r:pick(temps)[1] or r:pick(stages)
  return {name, choice(r, known, "scope", SCOPES)}
end

-- In most cases returns a temporary and its rank.
local function temporary(r, stages, known)
  local temps = known.temporaries()
  if #temps > 0 and r:chance(0.85) then return table.unpack(r:pick(temps)) end
  local name = r:pick(stages)
  return name, known.rank(name) or 1
end

function draw.pragma(r, loops, all, _, _, known)
  local key = choice(r, known, "key", {"schedule", "chunk", "partition", "note"})
  local values = {schedule = {"static", "dynamic"}, chunk = {1, 2, 3, 0}, partition = {"auto", "never"}, note = {"here", "a \"b\""}}
  local marked = (key == "schedule" or key == "chunk") and known.marked() or {}
  local loop = #marked > 0 and r:chance(0.8) and r:pick(marked) or r:pick(r:chance(0.7) and loops or all)
  return {loop, key, given(r, known, "value", 0.9) and r:pick(values[key]) or nil}
end

function draw.annotate(r, _, _, stages, _, known)
  local key = choice(r, known, "key", {"fma", "minmax", "note", "ignores"})
  local values = {fma = {"auto", "never", "sometimes"}, minmax = {"exact", "fast"}, note = {"here", 7}, ignores = {"load"}}
  return {r:pick(stages), key, given(r, known, "value", 0.8) and r:pick(values[key]) or nil}
end

function draw.prefetch(r, loops, all, stages, tensors, known)
  local offset = given(r, known, "offset", 0.7) and r:pick {1, 1, 2, 5} or nil
  if r:chance(0.05) then offset = r:pick {0, -1, 1 << 40} end
  local name, loop = r:pick(r:chance(0.7) and tensors or stages), r:pick(r:chance(0.8) and loops or all)
  if not given(r, known, "region", 0.3) then return {name, loop, offset} end
  local region = {}
  for d = 1, r:int(1, math.max(known.rank(name) or 1, 1)) do
    region[d] = r:chance(0.7) and loop:find "^[%a_][%w_]*$" and ("%s + %d"):format(loop, r:int(-2, 9)) or tostring(r:int(-1, 5))
  end
  return {name, loop, offset, {region = region}}
end

function draw.storage_align(r, _, _, stages, _, known)
  local name, rank = temporary(r, stages, known)
  local factor = r:pick {1, 2, 3, 4, 8, 16, 16}
  local axis, offset = r:int(0, math.max(rank - 1, 0)), r:int(0, factor - 1)
  if r:chance(0.1) then axis = rank end
  if r:chance(0.1) then offset = factor end
  return {name, axis, r:chance(0.05) and 0 or factor, given(r, known, "offset", 0.8) and offset or nil}
end

function draw.reorder_storage(r, _, _, stages, _, known)
  local name, rank = temporary(r, stages, known)
  local order = {}
  for d = 1, rank do order[d] = d - 1 end
  r:shuffle(order)
  if r:chance(0.35) then order[1] = 0 end
  return {name, order}
end

-- Draws temporaries, and inputs and outputs, which also have a pad value in many cases.
function draw.transform_layout(r, _, _, stages, tensors, known)
  local name, rank = temporary(r, stages, known)
  local padded = known.option == "pad_value"
  if padded or r:chance(0.4) then
    name = r:pick(tensors)
    rank = known.rank(name) or 1
  end
  local names_ = {"reversed", "panels", "panels", "skewed", "slanted", "slanted", "rotated", "backwards", "gaps", "swizzled",
    "mixed"}
  local place = {place = padded and r:pick {"panels", "reversed"} or r:pick(names_), rank = rank}
  if padded or r:chance(0.3) then return {name, place, {pad_value = r:pick {0, 0, 1, 1, -3, 0.5, 300}}} end
  return {name, place}
end

-- In most cases draws a stage that is vectorized.
function draw.stream_stores(r, _, _, stages, _, known)
  local wide = known.vectorized()
  return {#wide > 0 and r:chance(0.8) and r:pick(wide) or r:pick(stages)}
end

-- In most cases draws a stage that only copies.
function draw.async_copy(r, _, _, stages, _, known)
  local copies = known.copies(stages)
  return {#copies > 0 and r:chance(0.9) and r:pick(copies) or r:pick(stages)}
end

-- In most cases draws the last loop of a reduction.
function draw.trim(r, loops, _, _, _, known)
  local stage = r:chance(0.9) and known.band(r) or known.reduction(r)
  local theirs = stage and known.loops(stage) or {}
  return {#theirs > 0 and r:chance(0.8) and theirs[#theirs] or r:pick(loops)}
end

-- In most cases draws a stage with a border, and one of its outer loops.
function draw.decompose_padding(r, loops, _, stages, _, known)
  local stage = known.border(r)
  local theirs = stage and known.loops(stage) or {}
  if #theirs == 0 or r:chance(0.1) then return {r:pick(stages), r:pick(loops)} end
  return {stage, r:chance(0.6) and theirs[1] or r:pick(theirs)}
end

function draw.decompose_reduction(r, loops, _, stages) return {r:pick(stages), r:pick(loops)} end

-- In most cases draws a reduction and one of its innermost loops.
function draw.rfactor(r, loops, _, stages, _, known)
  local stage = known.reduction(r)
  if not stage or r:chance(0.2) then return {r:pick(stages), r:pick(loops)} end
  local theirs = known.loops(stage)
  if #theirs == 0 then return nil end
  local axis = given(r, known, "factor_axis", 0.5) and {factor_axis = r:pick {-1, 0, 0, 1, -2, 2}} or nil
  return {stage, r:chance(0.7) and theirs[#theirs] or r:pick(theirs), axis}
end

-- In most cases draws the innermost loop of a stage, with an intrinsic that may compute it.
function draw.tensorize(r, loops, all, stages, _, known)
  local stage, loop, n
  for _, name in ipairs(r:shuffle {table.unpack(stages)}) do
    local theirs = known.loops(name)
    stage, loop = name, theirs[#theirs] or r:pick(all)
    n = known.extent(loop)
    if n and kernels.knows(known.stage(name), known.dtype_of(name), n) then break end
  end
  if r:chance(0.1) then loop = r:pick(loops) end
  return {loop, {kernel = kernels.pick(r, known.stage(stage), known.dtype_of(stage), loop, n)}}
end

function draw.atomic(r, _, _, stages, _, known)
  local stage = known.reduction(r, true)
  return {stage and r:chance(0.8) and stage or r:pick(stages)}
end

return draw
