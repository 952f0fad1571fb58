--- Builds a case (a random computation, see gen.lua) in the language. The module is a function. It returns the list of output
--- tensors and a table of all tensors by name. The outputs are the stages that no other stage reads, and the stages with the field
--- `shown`.
local nw = require "nestwright"
local own = require "own"
local tree = require "tree"

-- Returns a function with exactly n parameters that calls `f` with their list. The number matters because nw.compute makes one axis
-- for each parameter and gives it the name of the parameter.
local function with_axes(n, f)
  if n == 0 then return function() return f {} end end
  if n == 1 then return function(i) return f {i} end end
  if n == 2 then return function(i, j) return f {i, j} end end
  if n == 3 then return function(i, j, k) return f {i, j, k} end end
  return function(i, j, k, l) return f {i, j, k, l} end
end

-- Makes the tensor after an update. `around` has the axes of the update around it, if there is one.
local function build_update(update, of, name, around, env)
  local ranges = {}
  for d, range in ipairs(update.ranges) do ranges[d] = {range.lo, env.extent(range.dim) - range.less} end
  return nw.update(of, ranges, function(state, ...)
    local axes = {table.unpack(around)}
    table.move({...}, 1, #ranges, #axes + 1, axes)
    for _, one in ipairs(update.inside or {}) do build_update(one, state, name, axes, env) end
    if update.inside then return end
    env.axes, env.tensors["@1"] = axes, state
    local at = {}
    for d, index in ipairs(update.at) do at[d] = tree.build(index, env) end
    return at, tree.build(update.value, env), update.when and tree.build(update.when, env) or nil
  end, name)
end

local function build_stage(stage, tensors, extent_of)
  local env = {tensors = setmetatable({}, {__index = tensors}), extent = extent_of, over = {}}
  local shape = {}
  for d, dim in ipairs(stage.dims) do shape[d] = extent_of(dim) end
  for k, dim in ipairs(stage.over or {}) do env.over[k] = nw.reduce_axis(extent_of(dim), ("kpq"):sub(k, k)) end
  local function values(bodies)
    return function(at)
      env.axes = at
      if stage.range then
        local last = #env.over
        env.over[last] = nw.reduce_axis({tree.build(stage.range[1], env), tree.build(stage.range[2], env)},
          {name = ("kpq"):sub(last, last), within = extent_of(stage.over[last])})
      end
      if own.is(stage.combiner) then return own.build(stage.combiner, tree.build(bodies[1], env), env.over) end
      local out = {}
      for k, body in ipairs(bodies) do
        out[k] = tree.build(body, env)
        if stage.combiner then out[k] = nw[stage.combiner](out[k], #env.over == 1 and env.over[1] or env.over) end
      end
      return table.unpack(out)
    end
  end
  local n = #shape
  if stage.updates then
    local out = nw.compute(shape, with_axes(n, values(stage.bodies)), stage.name .. "_first")
    for _, one in ipairs(stage.updates) do out = build_update(one, out, stage.name, {}, env) end
    return table.pack(out)
  end
  if not stage.scan then return table.pack(nw.compute(shape, with_axes(n, values(stage.bodies)), stage.name)) end
  local init, update, state = {}, {}, {}
  local first = {table.unpack(shape)}
  first[1] = stage.scan.rows
  for k in ipairs(stage.bodies) do
    local suffix = k == 1 and "" or tostring(k)
    state[k] = nw.scan_state(shape, stage.dtypes[k], stage.name .. "_state" .. suffix)
    env.tensors["@" .. k] = state[k]
  end
  if stage.scan.inner then
    env.tensors["@inner"] = nw.compute(shape, with_axes(n, values {stage.scan.inner}), stage.name .. "_inner")
  end
  for k, body in ipairs(stage.bodies) do
    local suffix = k == 1 and "" or tostring(k)
    init[k] = nw.compute(first, with_axes(n, values {stage.scan.first[k]}), stage.name .. "_first" .. suffix)
    update[k] = nw.compute(shape, with_axes(n, values {body}), stage.name .. "_next" .. suffix)
  end
  return table.pack(nw.scan(init, update, state, stage.name))
end

return function(case)
  local tensors, read_of, outputs, sizes = {}, {}, {}, {}
  for _, size in ipairs(case.sizes) do sizes[size.name] = nw.size(size.name, {min = size.min, multiple = size.multiple}) end
  if case.ordered then nw.fact(sizes.M, nw.le(sizes.M, sizes.N)) end
  local function extent_of(dim)
    if type(dim) == "number" then return dim end
    return sizes[dim.size.name] + dim.add
  end
  for _, input in ipairs(case.inputs) do
    local shape = {}
    for d, dim in ipairs(input.dims) do shape[d] = extent_of(dim) end
    tensors[input.name] = nw.placeholder(shape, input.dtype, input.name)
  end
  for _, stage in ipairs(case.stages) do
    local out = build_stage(stage, tensors, extent_of)
    for k = 1, out.n do tensors[out[k].name] = out[k] end
    tensors[stage.name] = out[1]
    stage.made = out
    for _, from in ipairs(stage.from) do read_of[from] = true end
  end
  for _, stage in ipairs(case.stages) do
    if not read_of[stage.name] or stage.shown then
      for k = 1, stage.made.n do outputs[#outputs + 1] = stage.made[k] end
    end
    stage.made = nil
  end
  return outputs, tensors
end
