--- Reads what a schedule for an accelerator computes: at most one reduction, and operations on single elements around it. All of it
--- is data of core.stage_facts.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"

local reading = {}

local function stop(hint, why, ...) errors.fail("invalid", hint, "partition_auto: " .. why, ...) end

--- Returns the coefficient of an axis in the index of an access: the sum over all dimensions, and true if the axis is an index by
--- itself in one dimension and occurs in no other one.
function reading.use(access, axis)
  local sum, alone, found = 0, true, 0
  for _, index in ipairs(access.index) do
    local c = index[axis] or 0
    if c ~= 0 then
      sum, found = sum + math.abs(c), found + 1
      for v, other in ipairs(index) do if v ~= axis and other ~= 0 then alone = false end end
      alone = alone and c == 1
    end
  end
  return sum, alone and found == 1
end

-- True if the stage `reader` reads the tensor at its own axes only, in their order.
local function is_elementwise(reader, tensor)
  for _, read in ipairs(reader.reads) do
    if read.tensor == tensor then
      for d, index in ipairs(read.index) do
        for v = 1, #reader.axes do if (index[v] or 0) ~= (v == d and 1 or 0) then return false end end
      end
    end
  end
  return true
end

local function result_of(s)
  local outputs = core.signature(s).outputs
  if #outputs == 1 then return outputs[1] end
  stop("schedule one output at a time", "the schedule has %d outputs", #outputs)
end

-- Returns the axes of a stage that are not summed over. They come first.
local function spatial(f)
  local out = {}
  for _, axis in ipairs(f.axes) do if not axis.reduced then out[#out + 1] = axis end end
  return out
end

--- Returns {final, facts (of the final stage), axes (of the result), sum (the name of the reduction, or nil), sum_facts, between
--- (stages from the sum to the final one), operands (for each read of the sum: the read, and stage: the name of the stage that
--- computes it, or nil), computed (the stage that computes each tensor)}.
function reading.of(s)
  local output, w, by_tensor = result_of(s), {between = {}, operands = {}}, {}
  local stages = core.schedule_stages(s)
  w.computed = by_tensor
  for _, name in ipairs(stages) do
    local f = core.stage_facts(s, name)
    by_tensor[f.result.tensor] = name
    for _, axis in ipairs(f.axes) do
      if not axis.extent then stop("give it a value: s:assume, or a schedule for each value", "the extent of %s is not a constant",
        axis.name) end
    end
    if f.result.tensor == output.name then w.final, w.facts, w.axes = name, f, spatial(f) end
    if f.reduction then
      if w.sum then stop("make a schedule of each", "there are two reductions, %s and %s", w.sum, name) end
      w.sum, w.sum_facts = name, f
    end
  end
  local after = false
  for _, name in ipairs(stages) do
    if after and name ~= w.final then w.between[#w.between + 1] = name end
    after = after or name == w.sum or not w.sum
  end
  for _, name in ipairs(w.sum and {w.final, table.unpack(w.between)} or {}) do
    if name ~= w.sum and not is_elementwise(core.stage_facts(s, name), w.sum_facts.result.tensor) then
      stop("let it read the element with its own indices", "%s reads %s at other indices than its own", name, w.sum)
    end
  end
  for n, read in ipairs(w.sum and w.sum_facts.reads or {}) do
    w.operands[n] = {read = read, stage = by_tensor[read.tensor]}
  end
  return w
end

-- ---- the letters of a product

-- Returns the axis for a letter among candidates {axis, extent, alone}: the one that wastes least of its last tile. Ties: the last.
local function best_axis(list, unit)
  local best, least
  for _, c in ipairs(list) do
    local waste = ((c.extent + unit - 1) // unit * unit) / c.extent
    if c.extent % unit ~= 0 and not c.alone then waste = waste + 1000 end
    if not best or waste <= least then best, least = c, waste end
  end
  return best and best.axis
end

local function candidates(w, fits)
  local out, f = {}, w.sum_facts
  for v, axis in ipairs(f.axes) do
    local uses, alone = {}, true
    for n, read in ipairs(f.reads) do
      local sum, by_itself = reading.use(read, v)
      uses[n] = sum > 0
      alone = alone and (sum == 0 or by_itself)
    end
    if fits(axis.reduced, uses[1], uses[2], alone) then out[#out + 1] = {axis = v, extent = axis.extent, alone = alone} end
  end
  return out
end

--- Returns the axes of the sum for the letters of a product of tiles: {m, n, k} (m is nil for a tile of one row), or nil and why.
function reading.letters(w, product, swapped)
  local f = w.sum_facts
  if not f.product then return nil, ("%s is not a sum of products of two elements"):format(w.sum) end
  local function one(letter, unit, why, fits)
    local axis = best_axis(candidates(w, fits), unit)
    if axis or unit == 1 then return axis end
    return nil, ("no axis of %s can be the %s of %s: %s"):format(w.sum, letter, product.name, why)
  end
  local k, no_k = one("k", product.k, "it must be summed over, and be an index of both operands",
    function(reduced, a, b, alone) return reduced and a and b and alone end)
  if not k then return nil, no_k end
  local first, second = function(reduced, a, b) return not reduced and a and not b end,
    function(reduced, a, b, alone) return not reduced and b and not a and alone end
  if swapped then
    first, second = function(reduced, a, b) return not reduced and b and not a end,
      function(reduced, a, b, alone) return not reduced and a and not b and alone end
  end
  local n, no_n = one("n", product.n, "it must be an index of the result and of the second operand only", second)
  if not n then return nil, no_n end
  local m, no_m = one("m", product.m, "it must be in the result and in the first operand only", first)
  if not m and product.m > 1 then return nil, no_m end
  return {m = m, n = n, k = k}
end

return reading
