--- Answers questions about a case (a random computation, see gen.lua): which tensors a stage makes, which stages are outputs, and
--- whether the case has the stages that a step needs.
local sizes = require "sizes"
local tree = require "tree"
local types = require "types"

local cases = {}

--- Returns the tensors that a stage makes: {name =, dims =, dtype =, stage = its name}.
function cases.made(stage)
  local out, arg = {}, stage.combiner == "argmin" or stage.combiner == "argmax"
  for k, dtype in ipairs(stage.dtypes) do
    local name = arg and stage.name .. (k == 1 and ".value" or ".index")
      or #stage.dtypes > 1 and ("%s.v%d"):format(stage.name, k - 1) or stage.name
    out[k] = {name = name, dims = stage.dims, dtype = dtype, stage = stage.name}
  end
  return out
end

--- True if the elements of a stage are computed in an order: a scan, or a stage with updates.
function cases.in_order(stage) return stage.scan or stage.updates end

--- Returns the definitions of a stage with updates, in order; an empty list for other stages.
function cases.definitions(stage)
  local list = {}
  for _, update in ipairs(stage.updates or {}) do
    table.move(update.inside or {update}, 1, #(update.inside or {update}), #list + 1, list)
  end
  return list
end

--- Returns the stages that are outputs of the program, in order.
function cases.outputs(case)
  local read_of, list = {}, {}
  for _, stage in ipairs(case.stages) do for _, from in ipairs(stage.from) do read_of[from] = true end end
  for _, stage in ipairs(case.stages) do if not read_of[stage.name] or stage.shown then list[#list + 1] = stage end end
  return list
end

--- True if the condition of a select reads a tensor, or a reduction has a range. Then the data, or the range, determines which
--- elements are read and which terms count.
function cases.decides(case)
  local decides = false
  local function see(e)
    if e.op ~= "select" then return end
    tree.visit(e[1], function(x) decides = decides or x.op == "read" end)
  end
  for _, stage in ipairs(case.stages) do
    for _, body in ipairs(stage.bodies) do tree.visit(body, see) end
    decides = decides or stage.range ~= nil
  end
  return decides
end

-- ---------------------------------------------------------------- what a step needs

-- For each requirement (see steps.wants), a function that returns true if the case meets the requirement. The comment on a function
-- names the stage that the case must contain.
local WANTS = {}

-- True if a stage reads a hidden stage for which `fits` is true. A stage is hidden if it is not an output of the program.
local function hidden_is_read(case, fits)
  local hidden = {}
  for _, stage in ipairs(case.stages) do
    for _, from in ipairs(stage.from) do
      if hidden[from] then return true end
    end
    hidden[stage.name] = not stage.shown and fits(stage)
  end
end

-- True if a stencil for which `fits` is true reads a hidden stage.
local function window_is_read(case, fits)
  local hidden = {}
  for _, stage in ipairs(case.stages) do
    if stage.kind == "stencil" and fits(stage) and hidden[stage.from[1]] then return true end
    hidden[stage.name] = not stage.shown and not cases.in_order(stage) and #stage.dtypes == 1
  end
end

-- A hidden stage that another stage reads.
function WANTS.pair(case)
  return hidden_is_read(case, function(stage) return #stage.dtypes == 1 end)
end

-- A stage that changes each element of a hidden stage and reads no other tensor.
function WANTS.epilogue(case)
  local hidden, temporary = {}, {}
  for _, stage in ipairs(case.stages) do
    if stage.kind == "reshape" and temporary[stage.from[1]] then return true end
    temporary[stage.name] = not stage.shown and not cases.in_order(stage) and #stage.dtypes == 1
    local plain = stage.kind == "map" and not stage.reverse and not stage.divided
    if plain and stage.from[1] == stage.from[2] and hidden[stage.from[1]] then return true end
    hidden[stage.name] = not stage.shown and not stage.over and not cases.in_order(stage) and #stage.dtypes == 1
      and not types.is_half(stage.dtypes[1])
  end
end

--- True if the expression of a stage can replace reads of the stage. The stage must have one output, and no rounding must be lost.
function cases.inlinable(stage)
  local body = stage.bodies[1]
  return not stage.over and not cases.in_order(stage) and #stage.dtypes == 1
    and (not types.is_half(stage.dtypes[1]) or body.op == "read" or body.op == "cast")
end

-- A stage whose indices have a division.
function WANTS.divided(case)
  for _, stage in ipairs(case.stages) do if stage.quotients then return true end end
end

-- A hidden stage whose expression can replace the reads of the stage.
function WANTS.inline(case) return hidden_is_read(case, cases.inlinable) end

-- A hidden stage that a stencil reads.
function WANTS.window(case)
  return window_is_read(case, function() return true end)
end

-- A hidden stage that is read by a stencil whose window moves along an inner dimension.
function WANTS.deep_window(case)
  return window_is_read(case, function(stage) return stage.axis > 1 end)
end

-- A hidden stage of two or more dimensions that another stage reads.
function WANTS.deep_pair(case)
  return hidden_is_read(case, function(stage) return #stage.dtypes == 1 and #stage.dims > 1 end)
end

-- A hidden stage that another stage reads and that can be stored as this dtype.
for _, dtype in ipairs(types.names) do
  WANTS["stored as " .. dtype] = function(case)
    return hidden_is_read(case, function(stage)
      local own = stage.dtypes[1]
      return #stage.dtypes == 1 and not stage.over and types.storable(own, dtype) and types.class(own) == types.class(case.dtype)
    end)
  end
end

-- Two consecutive stages with the same outermost extent. With `apart`, the second stage must not read the first.
function WANTS.alike(case, apart)
  for n = 2, #case.stages do
    local a, b = case.stages[n - 1], case.stages[n]
    local reads = b.from[1] == a.name or b.from[2] == a.name
    local one, other = a.dims[1], b.dims[1]
    if one and other and sizes.same(one, other) and not (apart and reads) then return true end
  end
end

function WANTS.apart(case) return WANTS.alike(case, true) end

function WANTS.sizes(case) return #case.sizes > 0 end

function WANTS.grid(case) return case.grid and #case.stages[1].dims > 0 end

local function has(case, f)
  for _, stage in ipairs(case.stages) do if f(stage) then return true end end
  return false
end

function WANTS.border(case) return has(case, function(stage) return stage.kind == "pad" and stage.dtypes[1] ~= "bool" end) end

function WANTS.band(case) return has(case, function(stage) return stage.kind == "band" end) end

function WANTS.scan(case) return has(case, function(stage) return stage.kind == "scan" and #stage.dims == 2 end) end

-- A reduction with one output.
function WANTS.single(case)
  return has(case, function(stage) return stage.over and #stage.over > 0 and #stage.dtypes == 1 end)
end

function WANTS.reduction(case) return has(case, function(stage) return stage.over and #stage.over > 0 end) end

-- A stage that an intrinsic can compute: a sum, a difference or a product of elements, or a transpose. Its innermost extent is a
-- number greater than 1.
function WANTS.plain(case)
  return has(case, function(stage)
    local last = stage.dims[#stage.dims]
    if types.class(stage.dtypes[1]) ~= types.class(case.dtype) then return false end
    local done = stage.op == "add" or stage.op == "sub" or stage.op == "mul"
    return stage.kind == "map" and not types.is_half(case.dtype) and done and type(last) == "number"
      and last > 1 or stage.kind == "transpose" and type(last) == "number" and last > 1
  end)
end

-- A stage whose rows can be divided into vectors of at least 16 bytes, for streaming stores.
function WANTS.lanes(case)
  return has(case, function(stage)
    local last = stage.dims[#stage.dims]
    if stage.over or cases.in_order(stage) or #stage.dtypes > 1 then return false end
    if type(last) ~= "number" or stage.dtypes[1] == "bool" then return false end
    local lanes = 128 // types.info(stage.dtypes[1]).bits
    return last >= lanes and (#stage.dims == 1 or last % lanes == 0) and types.class(stage.dtypes[1]) == types.class(case.dtype)
  end)
end

--- True if the case meets the requirement named `want` (see steps.wants), or if `want` is nil.
function cases.has(case, want) return not want or WANTS[want](case) end

return cases
