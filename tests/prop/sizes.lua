--- Draws the dimensions of a case, and the values of its sizes. A dimension is a number, or a symbolic size plus a number. The
--- values are small and awkward: 0, 1, primes, and one more or less than a tile. About a third of the cases have symbolic
--- dimensions.
local nw = require "nestwright"

local sizes = {}

--- Extents that are numbers.
sizes.EXTENTS = {1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 16, 17}

local symbolic = {}
symbolic.__index = symbolic
symbolic.__add = function(a, by) return setmetatable({size = a.size, add = a.add + by}, symbolic) end
symbolic.__sub = function(a, by) return a + -by end
symbolic.__eq = function(a, b) return a.size == b.size and a.add == b.add end
symbolic.__tostring = function(a) return a.add == 0 and a.size.name or ("%s%+d"):format(a.size.name, a.add) end

--- True if two dimensions are equal.
function sizes.same(a, b) return type(a) == type(b) and a == b end

--- Returns the smallest extent with which a dimension is run.
function sizes.least(dim) return type(dim) == "number" and dim or dim.size.min + dim.add end

--- Returns the largest extent with which a dimension is run.
function sizes.most(dim) return type(dim) == "number" and dim or dim.size.max + dim.add end

local function draw_dim(r, of)
  if #of > 0 and r:chance(0.6) then return setmetatable({size = r:pick(of), add = 0}, symbolic) end
  if r:chance(0.02) then return 0 end
  return r:pick(sizes.EXTENTS)
end

--- Draws dimensions from numbers and from a list of sizes.
function sizes.dims(r, rank, of)
  local out = {}
  for d = 1, rank do out[d] = draw_dim(r, of) end
  return out
end

--- Draws the sizes of a case, often none: {{name=, min=, multiple=, max=}}.
function sizes.draw(r, wanted)
  local list = {}
  if not wanted and not r:chance(0.3) then return list end
  for n = 1, r:int(1, 2) do
    local multiple = r:pick {1, 1, 1, 4, 8}
    local min = multiple * -(-r:pick {0, 1, 1, 2, 3, 5, 8} // multiple)
    list[n] = {name = ("MN"):sub(n, n), min = min, multiple = multiple, max = min + multiple * r:int(1, multiple > 1 and 2 or 9)}
  end
  return list
end

--- Returns the greatest number of elements of a shape.
function sizes.volume(shape)
  local n = 1
  for _, extent in ipairs(shape) do n = n * sizes.most(extent) end
  return n
end

-- ---------------------------------------------------------------- values

-- True if the values satisfy the facts about the sizes.
local function known_holds(case, values) return not case.ordered or values.M <= values.N end

--- Returns the list of values {M=, N=} with which a case is run. Smaller values come first. If the case has no sizes, the list has
--- one empty table.
function sizes.values(case)
  if #case.sizes == 0 then return {{}} end
  local list, out = {{}, {}, {}}, {}
  for _, size in ipairs(case.sizes) do
    local room = (size.max - size.min) // size.multiple
    for n, part in ipairs {0, 1, room} do list[n][size.name] = size.min + part * size.multiple end
  end
  for _, values in ipairs(list) do if known_holds(case, values) then out[#out + 1] = values end end
  if #out == 0 then out[1] = {M = case.sizes[1].min, N = case.sizes[2].max} end
  return out
end

-- Returns all combinations of values of the sizes. The values of a size go from its least value to `beyond` steps above its
-- greatest.
local function all_sizes(case, beyond)
  local list = {{}}
  for _, size in ipairs(case.sizes) do
    local more = {}
    for _, values in ipairs(list) do
      for value = size.min, size.max + beyond * size.multiple, size.multiple do
        local with = {[size.name] = value}
        for name, v in pairs(values) do with[name] = v end
        more[#more + 1] = with
      end
    end
    list = more
  end
  local out = {}
  for _, values in ipairs(list) do if known_holds(case, values) then out[#out + 1] = values end end
  return out
end

--- Returns the extents of a list of dimensions for these values of the sizes.
function sizes.shape_with(shape, values)
  local out = {}
  for d, dim in ipairs(shape) do out[d] = type(dim) == "number" and dim or values[dim.size.name] + dim.add end
  return out
end

-- True if the schedule accepts these sizes.
local function allowed(case, s, values)
  local by_name, data = {}, {}
  for _, input in ipairs(case.inputs) do by_name[input.name] = nw.zeros(sizes.shape_with(input.dims, values), input.dtype) end
  local fine, err = pcall(function()
    for n, t in ipairs(s:inputs()) do data[n] = s:pack(t.name, by_name[t.name]) end
    return nw.interpret(s, data)
  end)
  return fine or not err.message:find "does not hold"
end

local BEYOND = 24

--- Returns the list of values {M=, N=} with which a schedule is run. If the schedule has assumptions, the list has at most 12
--- values of the case that satisfy them. If no values of the case satisfy the assumptions, the list has only the first larger
--- values that satisfy them. If no larger values satisfy the assumptions, the list is empty.
function sizes.values_for(case, s)
  if not s:text():find "\nassume " then return sizes.values(case) end
  local list = {}
  for _, values in ipairs(all_sizes(case, 0)) do if allowed(case, s, values) then list[#list + 1] = values end end
  while #list > 12 do table.remove(list, #list // 2) end
  if #list > 0 then return list end
  for _, values in ipairs(all_sizes(case, BEYOND)) do if allowed(case, s, values) then return {values} end end
  return {}
end

return sizes
