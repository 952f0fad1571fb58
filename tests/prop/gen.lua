--- Draws random computations, which are called cases. A case is plain data, so it can be printed, shrunk, and written in the
--- language (build.lua) and in C (oracle.lua):
---   {dtype=, full=, near=, grid=, ordered=,
---    sizes = {{name=, min=, multiple=}},
---    inputs = {{name=, dims=, dtype=}},
---    stages = {{kind=, name=, from={..}, dims=, bodies={..}, dtypes={..}, over=, combiner=, scan=, updates=, shown=}}}
---   dtype    the dtype of most tensors
---   full     true: the inputs have values of the full range of their dtypes
---   near     true: bodies may call functions of libm, so results are compared with a tolerance
---   divides  true: most maps divide an index
---   grid     true: loops will be bound to a GPU's grid
---   ordered  true: the sizes satisfy M <= N
---   bodies   trees (tree.lua), one for each output
---   over     the extents of the reduction
---   range    {begin, end}: the last axis of the reduction has only these values; trees of the output's axes
---   updates  definitions in order: {ranges=, at=, value=, when=}, or {ranges=, inside=}, where `inside` are definitions that
---            run in turn at each point of the ranges; their own axes come after those of the ranges
---   shown    true: the stage is an output, even if another stage reads it
local cases = require "cases"
local kinds = require "kinds"
local own = require "own"
local sizes = require "sizes"
local tree = require "tree"
local types = require "types"

local gen, make = {}, tree.make

local ORDER = {"map", "map", "map", "map", "matmul", "matmul", "fold", "fold", "folds", "arg", "stencil", "stencil", "window",
  "pad", "scan", "scan", "update", "update", "transpose", "reshape", "gather", "gather", "pair",
  "band", "own"}

-- Some requirements (see steps.wants) are met by a stage that reads only the previous stage. Maps each of these requirements to the
-- kind of this stage.
local FOLLOWS = {epilogue = "map", divided = "map", window = "stencil", deep_window = "stencil"}

-- The kinds of reductions whose last axis may have a range that depends on other axes and on data.
local RANGED = {matmul = true, fold = true, folds = true, arg = true, own = true}

local function draw_stage(r, have, case, before, want)
  local kind = r:pick(ORDER)
  local follows = before and FOLLOWS[want]
  if want == "band" and r:chance(0.7) then kind = "band" end
  if want == "border" and r:chance(0.7) then kind = "pad" end
  if want == "scan" and r:chance(0.5) then kind = "scan" end
  if want == "plain" and r:chance(0.5) then kind = "map" end
  if want == "divided" and r:chance(0.6) then kind = r:pick {"map", "map", "reshape"} end
  local from = have
  if follows and r:chance(0.7) then kind, from = follows, {before} end
  if want == "epilogue" and before and r:chance(0.3) then kind, from = "reshape", {before} end
  local stage = kinds[kind](r, from, case)
  if not stage or sizes.volume(stage.dims) > 4096 then return nil end
  if stage.over and sizes.volume(stage.over) * sizes.volume(stage.dims) > 65536 then return nil end
  stage.kind = kind
  if RANGED[kind] and r:chance(0.2) then kinds.range(r, have, stage) end
  return stage
end

-- Finds the dtypes of the tensors that a stage makes, from the dtypes of the tensors that the stage reads.
local function find_dtypes(stage, have)
  local by_name = {}
  for _, t in ipairs(have) do by_name[t.name] = t.dtype end
  for k, t in ipairs(stage.dtypes or {}) do by_name["@" .. k] = t end
  by_name["@inner"] = by_name["@1"]
  stage.dtypes = {}
  for k, body in ipairs(stage.bodies) do stage.dtypes[k] = tree.dtype(body, function(name) return by_name[name] end) end
  if stage.combiner == "argmin" or stage.combiner == "argmax" then stage.dtypes[2] = "i64" end
  if own.is(stage.combiner) then stage.dtypes = own.dtypes(stage.combiner, stage.dtypes[1]) end
end

-- The state of a scan has the dtype of its initial values, so the update is cast to this dtype. The same holds for updates.
local function settle_states(stage, have)
  if not cases.in_order(stage) then return end
  local by_name = {}
  for _, t in ipairs(have) do by_name[t.name] = t.dtype end
  for k, t in ipairs(stage.dtypes) do by_name["@" .. k] = t end
  by_name["@inner"] = by_name["@1"]
  local function settled(body, t)
    return tree.dtype(body, function(name) return by_name[name] end) == t and body or make.cast(t, body)
  end
  for k, body in ipairs(stage.bodies) do stage.bodies[k] = settled(body, stage.dtypes[k]) end
  if stage.scan and stage.scan.inner then stage.scan.inner = settled(stage.scan.inner, stage.dtypes[1]) end
  for _, one in ipairs(cases.definitions(stage)) do one.value = settled(one.value, stage.dtypes[1]) end
end

local function draw_dtype(r, case)
  if r:chance(case.mixed and 0.5 or 0.05) then return r:pick(types.names) end
  return case.dtype
end

-- True if the inputs use both sizes M and N, and M <= N is possible.
local function ordered(of, inputs)
  local used = {}
  for _, input in ipairs(inputs) do
    for _, dim in ipairs(input.dims) do if type(dim) == "table" then used[dim.size.name] = true end end
  end
  return used.M and used.N and of[1].min <= of[2].max
end

local function draw_case(r, want, class)
  local case = {dtype = r:pick(types.of_class[class]), full = r:chance(0.5), near = false, mixed = r:chance(0.5),
    grid = want == "grid" or r:chance(0.12), divides = want == "divided", sizes = sizes.draw(r, want == "sizes"),
    inputs = {}, stages = {}}
  if not case.full then case.near = r:chance(0.15) end
  local have = {}
  local base = sizes.dims(r, r:int(1, r:chance(0.2) and 3 or 2), case.sizes)
  if want == "lanes" then base[#base] = r:pick {8, 16, 16, 17, 32, 33, 64} end
  for n = 1, r:int(1, 3) do
    local shape = base
    if n > 1 and r:chance(0.5) then
      shape = #base == 2 and {base[2], r:pick(sizes.EXTENTS)} or sizes.dims(r, r:int(1, 2), case.sizes)
    end
    local input = {name = ("ABD"):sub(n, n), dims = shape, dtype = draw_dtype(r, case)}
    case.inputs[n] = input
    have[#have + 1] = input
  end
  case.ordered = ordered(case.sizes, case.inputs) and r:chance(0.3)
  local function add_stage(stage, n)
    stage.name = ("XYZ"):sub(n, n)
    stage.shown = r:chance(0.15)
    settle_states(stage, have)
    local from = {}
    for k, t in ipairs(stage.from) do from[k] = t.stage or t.name end
    stage.from = from
    case.stages[#case.stages + 1] = stage
    find_dtypes(stage, have)
    local out = cases.made(stage)
    for _, t in ipairs(out) do have[#have + 1] = t end
    return out[1]
  end
  local before
  for n = 1, r:int(1, 3) do
    for _ = 1, 8 do
      local stage = draw_stage(r, have, case, before, want)
      if stage then
        before = add_stage(stage, n)
        break
      end
    end
  end
  if #case.stages == 0 then -- all drawn stages were too large
    local stage = kinds.map(r, have, case)
    stage.kind = "map"
    add_stage(stage, 1)
  end
  return case
end

--- Draws a case of a class of dtypes. If `want` is given, draws up to 40 cases, until one meets this requirement.
function gen.case(r, want, class)
  local case
  for _ = 1, want and 40 or 1 do
    case = draw_case(r, want, class)
    if cases.has(case, want) then break end
  end
  return case
end

return gen
