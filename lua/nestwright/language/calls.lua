--- Stages that calls of an intrinsic compute: the parts of tensors that a call reads, A(i, {0, 16}), and the call itself,
--- it(A(i, {0, 16})). A compute whose function returns a call takes its body from the description of the intrinsic.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"

local calls = {}

local made = 0 -- number of parts and calls

-- ---- parts of tensors

local part_meta = {__name = "nestwright.part"}

function part_meta.__tostring(part) return ("part of %s"):format(part.of.name) end

local function not_a_number(a, b)
  local part = getmetatable(a) == part_meta and a or b
  errors.fail("type", "give it to an intrinsic, or read an element: A(i, j)", "a part of %s is not a number", part.of.name)
end

for _, name in ipairs {"add", "sub", "mul", "div", "mod", "pow", "unm", "idiv", "band", "bor", "bxor", "shl", "shr", "bnot",
  "lt", "le"} do
  part_meta["__" .. name] = not_a_number
end

-- Returns the part of a tensor at these indices. At least one of them is a range {begin, end}.
local function part_of(tensor, ...)
  made = made + 1
  local begins, ends = {}, {}
  for d, index in ipairs {...} do
    local range = type(index) == "table"
    if range and (#index ~= 2 or getmetatable(index) ~= nil) then
      errors.fail("invalid", nil, "index %d of %s: expected an index or a range {begin, end}", d, tensor.name)
    end
    begins[d], ends[d] = range and index[1] or index, range and index[2] or false
  end
  return setmetatable({of = tensor, begins = begins, ends = ends}, part_meta)
end

local function has_range(n, index, ...)
  if n == 0 then return false end
  return type(index) == "table" or has_range(n - 1, ...)
end

--- Lets a tensor make parts: A(i, {0, 16}). Other indices read an element, as before.
function calls.install(class)
  local read = class.__call
  function class.__call(tensor, ...)
    if has_range(select("#", ...), ...) then return part_of(tensor, ...) end
    return read(tensor, ...)
  end
end

-- ---- calls

local call_meta = {__name = "nestwright.call"}

--- True if a value is a call of an intrinsic.
function calls.is(value) return getmetatable(value) == call_meta end

local function as_axes(axes)
  if axes == nil then return {} end
  local list = type(axes) == "table" and axes or {axes}
  for _, axis in ipairs(list) do
    if debug.getmetatable(axis) ~= core.classes.axis then
      errors.fail("invalid", "make one with nw.reduce_axis(extent, name)", "reduce_axis: expected a reduce axis, got %s",
        core.type_name(axis))
    end
  end
  return list
end

--- Returns a call of an intrinsic with these parts of tensors, one for each of its inputs. The last argument may be
--- {reduce_axis = k}: the calls for all values of k add to one tile.
function calls.make(intrinsic, ...)
  made = made + 1
  local parts, options = {...}, {}
  local last = parts[#parts]
  if type(last) == "table" and getmetatable(last) == nil then
    options = errors.options(intrinsic.name, table.remove(parts), {"reduce_axis"})
  end
  for n, part in ipairs(parts) do
    if debug.getmetatable(part) == core.classes.tensor then
      local whole = {}
      for d, extent in ipairs(part:shape()) do whole[d] = {0, extent} end
      parts[n] = part_of(part, table.unpack(whole))
    elseif getmetatable(part) ~= part_meta then
      errors.fail("type", "give ranges to a tensor: A(i, {0, 16})", "%s: argument %d: expected a part of a tensor, got %s",
        intrinsic.name, n, core.type_name(part))
    end
  end
  return setmetatable({intrinsic = intrinsic, parts = parts, axes = as_axes(options.reduce_axis)}, call_meta)
end

--- Calls f(...), which takes fewer axes than the stage has dimensions. Returns true and its result if this is a call. Returns false
--- if f has made no call and no part of a tensor. Otherwise raises the error of f.
function calls.try(f, ...)
  local before = made
  local fine, result = pcall(f, ...)
  if fine and calls.is(result) then return true, result end
  if made == before then return false end
  if not fine then error(result, 0) end
  return false
end

--- Returns the bodies of a compute whose function takes `outer` axes and returned a call.
function calls.bodies(build, call, outer)
  local inputs, output, parts = {}, nil, {}
  for _, t in ipairs(call.intrinsic.args) do
    if t.is_input then inputs[#inputs + 1] = t else output = output or t end
  end
  for n, part in ipairs(call.parts) do parts[n] = {part.of, part.begins, part.ends} end
  return core.compute_call(build, call.intrinsic.id, output, inputs, outer, parts, call.axes)
end

return calls
