--- What a case has: the tensors of a stage, the outputs, and what a step needs.
local sizes = require "sizes"
local tree = require "tree"
local types = require "types"

local cases = {}

--- The tensors that a stage makes: {name =, dims =, dtype =, stage = its name}.
function cases.made(stage)
  local out, arg = {}, stage.combiner == "argmin" or stage.combiner == "argmax"
  for k, dtype in ipairs(stage.dtypes) do
    local name = arg and stage.name .. (k == 1 and ".value" or ".index")
      or #stage.dtypes > 1 and ("%s.v%d"):format(stage.name, k - 1) or stage.name
    out[k] = {name = name, dims = stage.dims, dtype = dtype, stage = stage.name}
  end
  return out
end

--- The stages whose outputs the caller gets, in order.
function cases.outputs(case)
  local read_of, list = {}, {}
  for _, stage in ipairs(case.stages) do for _, from in ipairs(stage.from) do read_of[from] = true end end
  for _, stage in ipairs(case.stages) do if not read_of[stage.name] or stage.shown then list[#list + 1] = stage end end
  return list
end

--- Whether data decide, in a select, what is read.
function cases.decides(case)
  local decides = false
  local function see(e)
    if e.op ~= "select" then return end
    tree.visit(e[1], function(x) decides = decides or x.op == "read" end)
  end
  for _, stage in ipairs(case.stages) do for _, body in ipairs(stage.bodies) do tree.visit(body, see) end end
  return decides
end

-- ---------------------------------------------------------------- what a step needs

local WANTS = {}

-- True if another stage reads one that the caller does not see and that has what `fits` asks for.
local function hidden_is_read(case, fits)
  local hidden = {}
  for _, stage in ipairs(case.stages) do
    for _, from in ipairs(stage.from) do
      if hidden[from] then return true end
    end
    hidden[stage.name] = not stage.shown and fits(stage)
  end
end

-- True if a stencil that `fits` reads a stage that the caller does not see.
local function window_is_read(case, fits)
  local hidden = {}
  for _, stage in ipairs(case.stages) do
    if stage.kind == "stencil" and fits(stage) and hidden[stage.from[1]] then return true end
    hidden[stage.name] = not stage.shown and stage.kind ~= "scan" and #stage.dtypes == 1
  end
end

-- A stage that another reads, and the caller does not.
function WANTS.pair(case)
  return hidden_is_read(case, function(stage) return #stage.dtypes == 1 end)
end

-- Something done to each element of a stage, and to nothing else.
function WANTS.epilogue(case)
  local hidden = {}
  for _, stage in ipairs(case.stages) do
    if stage.kind == "map" and not stage.reverse and stage.from[1] == stage.from[2] and hidden[stage.from[1]] then return true end
    hidden[stage.name] = not stage.shown and not stage.over and not stage.scan and #stage.dtypes == 1
      and not types.is_half(stage.dtypes[1])
  end
end

--- Whether the expression of a stage can stand where the stage is read: one output, and no rounding that would be lost.
function cases.inlinable(stage)
  local body = stage.bodies[1]
  return not stage.over and not stage.scan and #stage.dtypes == 1
    and (not types.is_half(stage.dtypes[1]) or body.op == "read" or body.op == "cast")
end

-- A stage whose expression can stand where it is read.
function WANTS.inline(case) return hidden_is_read(case, cases.inlinable) end

-- A stage under a stencil.
function WANTS.window(case)
  return window_is_read(case, function() return true end)
end

-- A stage under a stencil that moves along an inner dimension.
function WANTS.deep_window(case)
  return window_is_read(case, function(stage) return stage.axis > 1 end)
end

-- A stage of two dimensions or more that another reads, and the caller does not.
function WANTS.deep_pair(case)
  return hidden_is_read(case, function(stage) return #stage.dtypes == 1 and #stage.dims > 1 end)
end

-- Two stages with one extent outermost; `apart`: the second reads nothing of the first.
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

function WANTS.band(case) return has(case, function(stage) return stage.kind == "band" end) end

function WANTS.scan(case) return has(case, function(stage) return stage.kind == "scan" and #stage.dims == 2 end) end

-- A reduction of one value.
function WANTS.single(case)
  return has(case, function(stage) return stage.over and #stage.over > 0 and #stage.dtypes == 1 end)
end

function WANTS.reduction(case) return has(case, function(stage) return stage.over and #stage.over > 0 end) end

-- Something an intrinsic does, or a vector: a stage of one output whose innermost extent is known.
function WANTS.plain(case)
  return has(case, function(stage)
    local last = stage.dims[#stage.dims]
    if types.class(stage.dtypes[1]) ~= types.class(case.dtype) then return false end
    local done = stage.op == "add" or stage.op == "sub" or stage.op == "mul"
    return stage.kind == "map" and not types.is_half(case.dtype) and done and type(last) == "number"
      and last > 1 or stage.kind == "transpose" and type(last) == "number" and last > 1
  end)
end

-- Rows that vectors of 16 bytes or more divide, for stores past the caches.
function WANTS.lanes(case)
  return has(case, function(stage)
    local last = stage.dims[#stage.dims]
    if stage.over or stage.scan or #stage.dtypes > 1 or type(last) ~= "number" or stage.dtypes[1] == "bool" then return false end
    local lanes = 128 // types.info(stage.dtypes[1]).bits
    return last >= lanes and (#stage.dims == 1 or last % lanes == 0) and types.class(stage.dtypes[1]) == types.class(case.dtype)
  end)
end

--- Whether the case has what is wanted (steps.wants).
function cases.has(case, want) return not want or WANTS[want](case) end

return cases
