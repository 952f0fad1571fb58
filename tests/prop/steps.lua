--- Draws and applies random steps. A step is plain data: {primitive =, args =}. Some steps are legal and some are not. The judge
--- (the legality check) must refuse exactly the steps that change the result. Steps name their loops, so that a list of steps can
--- be shrunk.
local cases = require "cases"
local draw = require "draw"
local kernels = require "kernels"
local knowledge = require "known"
local layout = require "layouts"
local rows = require "rows"

local types = require "types"

local steps = {}
local names = knowledge.names

-- Every primitive needs a function in draw.lua, because a primitive without this function is not tested.
for _, name in ipairs(rows.names) do
  if not draw[name] then error(("no step of %s is ever drawn: write draw.%s in tests/prop/draw.lua"):format(name, name), 0) end
end

-- Some primitives are seldom applicable before another step is made. For each of these primitives, the table has a function that
-- returns this other step, as the name of its primitive or as the whole step. It returns nil or false if no step is needed.
local PREPARED = {}

function PREPARED.compute_root(r, known) return not known.moved(r) and "compute_at" end
function PREPARED.unblockize(_, known) return #known.units() == 0 and "blockize" end
function PREPARED.unmark(r, known) return #known.marked() == 0 and r:pick {"unroll", "parallel", "vectorize"} end
function PREPARED.fission(_, known, stages) return #known.shared(stages) == 0 and "merge" end
function PREPARED.remove_unit_loop(r, known, stages)
  return #known.once() == 0 and {primitive = "add_unit_loop", args = {r:pick(stages)}}
end
function PREPARED.join(r, known, _, all)
  return #known.pieces(all) == 0 and {primitive = "cut", args = {r:pick(all), r:int(1, 3)}}
end

-- `trim` needs a reduction whose init was split off. If there is none, the init of a reduction is split off first.
function PREPARED.trim(r, known, stages)
  local stage = known.band(r)
  for _, name in ipairs(stages) do if stage and name == stage .. "_init" then return nil end end
  local theirs = stage and known.loops(stage) or {}
  return #theirs > 0 and {primitive = "decompose_reduction", args = {stage, r:pick(theirs)}}
end

-- `store_at` and `double_buffer` need a stage that was moved into a loop. If there is none, a stage that a stencil reads is first
-- moved into a loop of the stencil.
function PREPARED.store_at(r, known)
  local window = not known.moved(r) and known.window(r)
  return window and {primitive = "compute_at", args = window}
end
PREPARED.double_buffer, PREPARED.hoist_storage = PREPARED.store_at, PREPARED.store_at
function PREPARED.rolling_buffer(r, known)
  return not known.alive(known.placed.stored) and (PREPARED.store_at(r, known) or "store_at")
end

-- `stream_stores` needs vectors of at least 16 bytes. If there are none, a row is first split or vectorized.
function PREPARED.stream_stores(r, known, stages)
  if #known.vectorized() > 0 then return nil end
  local stage = known.streamable(r) or r:pick(stages)
  local theirs = known.loops(stage)
  local last = theirs[#theirs]
  if not last then return nil end
  local lanes = known.word(stage)
  if known.extent(last) == lanes then return {primitive = "vectorize", args = {last}} end
  return {primitive = "split", args = {last, {factor = lanes * r:pick {1, 1, 1, 2}, tail = "cut"}}}
end

-- `async_copy` needs a copy. If there is none, a tensor is copied inside a loop of its reader. Half of the copies are then made
-- some iterations early.
function PREPARED.async_copy(r, known, stages, _, tensors)
  local copies = known.copies(stages)
  if #copies == 0 then
    local tensor = r:pick(tensors)
    local reader = known.reader(r, tensor)
    local theirs = reader and known.loops(reader) or {}
    local scope, at = r:pick {"global", "shared"}, #theirs > 0 and r:chance(0.9) and r:pick(theirs) or nil
    return {primitive = "cache_read", args = reader and {tensor, scope, {reader}, {at = at}} or {tensor, scope}}
  end
  local copy = r:pick(copies)
  local early = table.concat(stages, " "):find(copy .. ".pre", 1, true)
  return not early and r:chance(0.5) and {primitive = "double_buffer", args = {copy, r:int(1, 3)}}
end

-- `tensorize` needs a stage that an intrinsic can compute. If there is none, a copy of a tensor is made first, because intrinsics
-- can compute copies.
function PREPARED.tensorize(r, known, stages, _, tensors)
  for _, name in ipairs(stages) do
    local theirs = known.loops(name)
    local n = #theirs > 0 and known.extent(theirs[#theirs])
    if n and kernels.knows(known.stage(name), known.dtype_of(name), n) then return nil end
  end
  return {primitive = "cache_read", args = {r:pick(tensors), "global"}}
end

function PREPARED.pragma(_, known)
  local needs = known.option == "key=schedule" or known.option == "key=chunk" or known.option == "value"
  return needs and #known.marked() == 0 and "parallel"
end

--- Maps a primitive to the name of a requirement. The primitive is applicable only to computations that meet the requirement. WANTS
--- in cases.lua defines the requirements.
steps.wants = {}
for want, list in pairs {
  reduction = {"rfactor", "decompose_reduction"},
  single = {"atomic", "pad_einsum"},
  inline = {"compute_inline"},
  pair = {"compute_at", "compute_root", "set_scope", "set_dtype", "storage_align", "reorder_storage",
    "transform_layout", "reverse_compute_at"},
  epilogue = {"reverse_compute_inline"},
  divided = {"cache_index"},
  window = {"store_at", "rolling_buffer", "double_buffer", "hoist_storage"},
  alike = {"merge", "fission"},
  apart = {"create_fused_loop", "reorder_stmts"},
  sizes = {"assume", "specialize"},
  band = {"trim"},
  border = {"decompose_padding"},
  scan = {"skew", "reverse"},
  grid = {"bind"},
  plain = {"tensorize"},
  lanes = {"stream_stores"},
} do
  for _, name in ipairs(list) do steps.wants[name] = want end
end

--- Returns the name of the requirement that a case for this goal must meet, or nil.
function steps.want(goal)
  local dtype = goal.primitive == "set_dtype" and goal.option:match "^dtype=(.*)$"
  if dtype then return "stored as " .. dtype end
  if goal.option == "tail=pad" then return goal.primitive == "tile" and "deep_pair" or "pair" end
  if (goal.primitive == "store_at" or goal.primitive == "hoist_storage") and goal.option == "loop" then return "deep_window" end
  return steps.wants[goal.primitive]
end

--- True if the schedule has loops bound to a GPU's grid.
function steps.on_grid(s)
  local text = "\n" .. s:text()
  return text:find "\n *blockIdx%.%a for" or text:find "\n *threadIdx%.%a for" or text:find "\n *vthread for"
end

--- Draws one step for schedule s, or returns nil. With a goal (a row of rows.lua), the step belongs to this row, or prepares a step
--- of this row. Without a goal, its primitive is random. `placed` lists the stages that were moved into loops.
function steps.draw(r, s, tensors, goal, case, placed)
  local stages = names(s:stages())
  local all = names(s:loops())
  local loops = names(s:loops(r:pick(stages)))
  if goal and goal.option == "tail=pad" then -- only temporaries can be computed beyond their ends
    local hidden = {}
    for name in s:text():gmatch "\ntemp ([^:]+):" do if #s:loops(name) >= 2 then hidden[#hidden + 1] = name end end
    if #hidden > 0 then loops = names(s:loops(r:pick(hidden))) end
  end
  if #loops == 0 then loops = all end
  if #loops == 0 then return nil end
  local primitive = goal and goal.primitive or r:pick(rows.names)
  -- bind is drawn only in grid cases, because a program with a grid cannot be compiled
  if not goal and case.grid and r:chance(0.35) then primitive = "bind" end
  if not goal and primitive == "bind" and not case.grid then primitive = "split" end
  local known = knowledge.of(case, s, placed, goal and goal.option)
  local indexed = (not goal or primitive == "cache_index") and known.indexed_twice(r)
  -- a stage that reads its indices is often inlined, since this makes indices of indices
  if indexed and r:chance(0.5) then return {primitive = "compute_inline", args = {indexed}} end
  local first = PREPARED[primitive] and r:chance(0.9) and PREPARED[primitive](r, known, stages, all, tensors)
  if type(first) == "table" then return first end
  if first then
    primitive = first
    known = knowledge.of(case, s, placed)
  end
  local args = draw[primitive](r, loops, all, stages, tensors, known)
  return args and {primitive = primitive, args = args}
end

--- Returns the class of the dtype to which a step is applied. If the first argument of the step is a tensor or a stage, this is its
--- dtype. If the first argument is a loop, this is the dtype of a stage in the loop.
function steps.class(case, s, step)
  local known = knowledge.of(case, s, {})
  local first = step.args[1]
  if type(first) == "table" then first = first[1] end
  local dtype = known.dtype_of(tostring(first))
  for _, stage in ipairs(dtype and {} or s:stages()) do
    local name = tostring(stage.name or stage)
    if name == first then dtype = known.dtype_of(name) or dtype end
    for _, loop in ipairs(s:loops(name)) do
      if loop.name == first then dtype = dtype or known.dtype_of(name) or known.dtype_of(name .. ".v0") end
    end
  end
  return types.class(dtype or case.dtype)
end

local function ready(arg)
  if type(arg) == "table" and arg.place then return layout(arg.place, arg.rank) end
  if type(arg) == "table" and arg.kernel then return kernels.id(arg.kernel) end
  if type(arg) ~= "table" or not arg.layout then return arg end
  return {layout = layout(arg.layout, arg.rank), at = arg.at, name = arg.name, accesses = arg.accesses, access = arg.access,
    scope = arg.scope}
end

-- Records how an accepted step rounds, and whether it treats NaN in another way. placed.kept_as[name] lists the dtypes in which a
-- stage of the case was stored, since the oracle rounds in the same way. placed.rounded is true if there are other causes of
-- rounding, which the oracle does not know.
local function record_rounding(case, s, step, placed)
  local kept = step.primitive == "set_dtype" and placed.kept_as[step.args[1]]
  for _, stage in ipairs(step.primitive == "set_dtype" and not kept and case.stages or {}) do
    for _, one in ipairs(cases.made(stage)) do if one.name == step.args[1] then kept = {} end end
    if stage.scan and step.args[1] == stage.name .. "_inner" then kept = {} end
  end
  if kept then
    kept[#kept + 1] = step.args[2]
    placed.kept_as[step.args[1]] = kept
  elseif s:notes():find "rounding may" then
    placed.rounded = true
  end
  if step.primitive == "rewrite" and s:notes():find "treats NaN in another way" then placed.nan = true end
end

--- Applies a step. Returns true, or false and the error. If `placed` is given, it records stages of the case that were moved into
--- loops, and how values are rounded.
function steps.apply(s, step, placed, case)
  local args = {}
  for n, arg in ipairs(step.args) do args[n] = ready(arg) end
  local ok, err = pcall(s[step.primitive], s, table.unpack(args))
  if ok and placed then
    local stage = step.args[1]
    if step.primitive == "compute_at" then placed[#placed + 1] = stage end
    if step.primitive == "compute_root" then
      for n = #placed, 1, -1 do if placed[n] == stage then table.remove(placed, n) end end
    end
    if step.primitive == "store_at" then placed.stored = stage end
    if step.primitive == "rolling_buffer" then placed.stored = nil end
    if step.primitive == "stream_stores" then placed[stage] = "streams" end
    record_rounding(case, s, step, placed)
  end
  return ok, err
end

--- Returns the step as a user types it.
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
