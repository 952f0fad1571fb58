--- Instructions that the threads of a warp execute together: products of tensor cores, and loads of matrices. Each has its
--- layouts, which say which lane holds which element of a tile.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local registered = require "nestwright.language.registered"
local rows = require "nestwright.language.rows"

local tensor_core = {}

local LANES = 32

-- ---- layouts: the row and the column of the element in place i of a lane (PTX ISA, matrix fragments)

local function of_a(lane, i) return lane // 4 + 8 * (i // 2 % 2), 2 * (lane % 4) + i % 2 + 8 * (i // 4) end
local function of_b(lane, i) return 2 * (lane % 4) + i % 2 + 8 * (i // 2), lane // 4 end
local function of_c(lane, i) return lane // 4 + 8 * (i // 2), 2 * (lane % 4) + i % 2 end
local function of_a_tf32(lane, i) return lane // 4 + 8 * (i % 2), lane % 4 + 4 * (i // 2) end
local function of_b_tf32(lane, i) return lane % 4 + 4 * i, lane // 4 end

-- Returns the layouts of an instruction.
local function usual(name)
  if name:find "^ldmatrix" then return {D = name:find "x4" and of_a or of_b} end
  if name:find "tf32$" then return {A = of_a_tf32, B = of_b_tf32, C = of_c} end
  return {A = of_a, B = of_b, C = of_c}
end

-- ---- descriptions

-- Returns x rounded to the 10 bits after the point of tf32. Of two numbers that are equally near, it is the one with the
-- greater magnitude; NaN stays NaN.
local function tf32(nw, x)
  x = core.cast(x, "f32")
  local bits = nw.reinterpret(x, "u32")
  return nw.select(nw.eq(x, x), nw.reinterpret((bits + 0x1000) & 0xffffe000, "f32"), x)
end

local function product(nw, name)
  local m, n, k, kind = name:match "^mma%.m(%d+)n(%d+)k(%d+)%.(%w+)$"
  m, n, k = math.tointeger(m), math.tointeger(n), math.tointeger(k)
  local wide = kind == "tf32" and function(x) return tf32(nw, x) end or function(x) return core.cast(x, "f32") end
  local A = nw.placeholder({m, k}, kind == "tf32" and "f32" or kind, "A")
  local B = nw.placeholder({k, n}, kind == "tf32" and "f32" or kind, "B")
  local r = nw.reduce_axis(k, "k")
  return {A, B, nw.compute({m, n}, function(i, j) return nw.sum(wide(A(i, r)) * wide(B(r, j)), r) end, "C")}
end

local function load(nw, name)
  local dtype, four, trans = name:match "%w+$", name:find "x4", name:find "trans"
  local S = nw.placeholder({(four or trans) and 16 or 8, trans and 8 or 16}, dtype, "S")
  if four or trans then
    return {S, nw.compute({16, trans and 8 or 16}, function(i, j) return S(i, j) end, "D")}
  end
  return {S, nw.compute({16, 8}, function(k, j) return S(j, k) end, "D")}
end

-- ---- registration

-- Returns the row-major numbers of the elements that the lanes hold. -1 stands for a place outside of the tile.
local function elements(t, layout)
  local shape, out = t:shape(), {}
  local count, columns = shape[1] * shape[2] // LANES, shape[2]
  for lane = 0, LANES - 1 do
    for i = 0, count - 1 do
      local row, column = layout(lane, i)
      local whole = math.type(row) == "integer" and math.type(column) == "integer"
      if not whole then
        errors.fail("type", "function(lane, i) return row, column end",
          "tensor_core: the layout of %s must return two whole numbers, got %s and %s", t.name, core.type_name(row),
          core.type_name(column))
      end
      local inside = row >= 0 and row < shape[1] and column >= 0 and column < columns
      out[#out + 1] = inside and row * columns + column or -1
    end
  end
  return out
end

local function known(name)
  local names = {}
  for _, row in ipairs(core.instructions()) do
    if row.name == name then return end
    names[#names + 1] = row.name
  end
  errors.fail("invalid", table.concat(names, ", "), "tensor_core: there is no instruction named \"%s\"", name)
end

local function layouts_of(name, given)
  local out = usual(name)
  for key, f in pairs(errors.expect("tensor_core: layouts", given or {}, "table")) do
    if not out[key] then errors.fail("invalid", nil, "tensor_core: %s has no operand %s with a layout", name, tostring(key)) end
    out[key] = errors.expect("tensor_core: layout of " .. key, f, "function")
  end
  return out
end

local function make(nw, name, o)
  o = errors.options("tensor_core", o, {"name", "layouts"})
  known(name)
  local layouts, fragments, strides = layouts_of(name, o.layouts), {}, {}
  local args = name:find "^mma" and product(nw, name) or load(nw, name)
  for n, t in ipairs(args) do
    fragments[n] = layouts[t.name] and elements(t, layouts[t.name])
    strides[n] = {false, not layouts[t.name] and 1}
    if fragments[n] == nil then fragments[n] = false end
  end
  return registered.register {name = o.name or (name:gsub("%.", "_")), args = args, strides = strides, fragments = fragments,
    instruction = name, layouts = layouts, accumulate = #args == 3}
end

-- ---- layouts as bits
--
-- The layouts of the hardware permute bits: each bit of the row or the column is a bit of the lane or of the place. So
-- loops over rows and columns can be split into loops over these bits, and those of the lane are fused.

-- Returns the lane and the place of each element, as a function of its row and column.
local function holders(layout, shape)
  local of = {}
  for lane = 0, LANES - 1 do
    for i = 0, shape[1] * shape[2] // LANES - 1 do
      local row, column = layout(lane, i)
      of[row * shape[2] + column] = {lane, i}
    end
  end
  return function(row, column) return table.unpack(of[row * shape[2] + column]) end
end

local function log2(n) return n <= 1 and 0 or 1 + log2(n // 2) end

-- Returns the bits of one axis, lowest first: {lane = bit} or {place = bit}.
local function bits_of(held, size, axis)
  local out = {}
  for b = 0, log2(size) - 1 do
    local lane, place = held(axis == 1 and 1 << b or 0, axis == 2 and 1 << b or 0)
    out[#out + 1] = place == 0 and {lane = log2(lane)} or {place = log2(place)}
  end
  return out
end

-- Joins neighbouring bits to groups {from, n, lane or place}.
local function groups_of(bits)
  local out = {}
  for b, bit in ipairs(bits) do
    local last = out[#out]
    local next_lane = last and last.lane and bit.lane == last.lane + last.n
    local next_place = last and last.place and bit.place == last.place + last.n
    if next_lane or next_place then
      last.n = last.n + 1
    else
      out[#out + 1] = {from = b - 1, n = 1, lane = bit.lane, place = bit.place}
    end
  end
  return out
end

local function permutes(held, shape, groups)
  for row = 0, shape[1] - 1 do
    for column = 0, shape[2] - 1 do
      local lane, place, index = 0, 0, {row, column}
      for axis = 1, 2 do
        for _, g in ipairs(groups[axis]) do
          local value = index[axis] >> g.from & (1 << g.n) - 1
          if g.lane then lane = lane + (value << g.lane) else place = place + (value << g.place) end
        end
      end
      local l, p = held(row, column)
      if l ~= lane or p ~= place then return false end
    end
  end
  return true
end

-- Returns the shape of an operand, and its groups for rows and for columns.
local function operand(method, intrinsic, name)
  if not registered.is(intrinsic) or not intrinsic.instruction then
    errors.fail("type", "nw.tensor_core \"mma.m16n8k16.f16\"", "%s: expected an instruction of a warp, got %s", method,
      core.type_name(intrinsic))
  end
  local layout = intrinsic.layouts[name]
  for _, t in ipairs(intrinsic.args) do
    if t.name == name and layout then
      local shape = t:shape()
      local held = holders(layout, shape)
      local groups = {groups_of(bits_of(held, shape[1], 1)), groups_of(bits_of(held, shape[2], 2))}
      if permutes(held, shape, groups) then return shape, groups end
      errors.fail("invalid", "split, reorder, fuse and bind the loops, and use s:transform_layout",
        "%s: the layout of %s does not permute the bits of rows and columns", method, name)
    end
  end
  errors.fail("invalid", nil, "%s: %s has no operand %s with a layout", method, intrinsic.name, tostring(name))
end

-- ---- steps

-- Returns the indices of a tensor as variables of a layout, and their number.
local function indices(s, name)
  local n, out = core.rank(s, name), {}
  if not n or n < 2 then
    errors.fail("invalid", "the result of s:cache_read(A, \"warp\", ...), for example",
      "fragment: %s is not a tensor with rows and columns", name)
  end
  for d = 1, n do out[d] = core.variable("_" .. d - 1) end
  return out, n
end

-- Gives a tensor of scope warp the layout of a fragment. Its last two dimensions are those of the tile.
local function fragment(s, stage, intrinsic, name)
  local shape, groups = operand("fragment", intrinsic, name)
  local index, n = indices(s, type(stage) == "string" and stage or stage.name)
  local layout = table.move(index, 1, n - 2, 1, {})
  local lane, place = 0, 0
  for axis = 1, 2 do
    local at = index[n - 2 + axis]
    layout[n - 2 + axis] = at // shape[axis]
    for _, g in ipairs(groups[axis]) do
      local value = at // (1 << g.from) % (1 << g.n)
      if g.lane then lane = lane + value * (1 << g.lane) else place = place + value * (1 << g.place) end
    end
  end
  layout[n + 1], layout[n + 2] = lane, place
  return s:transform_layout(stage, layout)
end

-- Splits a loop over the groups of its axis. Returns the loops in the order of the groups.
local function split(s, loop, groups)
  local factors, out = {}, {}
  for n = #groups - 1, 1, -1 do factors[#factors + 1] = 1 << groups[n].n end
  local loops = #factors == 0 and {loop} or {s:split(loop, {factors = factors})}
  for n = 1, #groups do out[n] = loops[#groups + 1 - n] end
  return out
end

-- Binds the rows and columns of a tile to the lanes of a warp.
local function lanes(s, row, column, intrinsic, name)
  local _, groups = operand("lanes", intrinsic, name)
  local all = {}
  for axis, loop in ipairs {row, column} do
    for n, part in ipairs(split(s, loop, groups[axis])) do
      all[#all + 1] = {loop = part, lane = groups[axis][n].lane, place = groups[axis][n].place}
    end
  end
  table.sort(all, function(a, b)
    if (a.lane == nil) ~= (b.lane == nil) then return a.lane ~= nil end
    return (a.lane or a.place) > (b.lane or b.place)
  end)
  local order, lane = {}, nil
  for n, part in ipairs(all) do order[n] = part.loop end
  if #order > 1 then s:reorder(table.unpack(order)) end
  for _, part in ipairs(all) do
    if part.lane then lane = lane and s:fuse(lane, part.loop) or part.loop end
  end
  s:bind(lane, "threadIdx.x")
  return lane
end

function tensor_core.install(nw)
  local define = rows.definer(nw, "nw", "tensorizing")
  define("tensor_core", "(instruction: string, options?: {name?: string, layouts?: table<string, function>}): nw.intrinsic",
    "Registers an instruction that the 32 threads of a warp execute together, for use by s:tensorize: a product of tensor "
    .. "cores, such as \"mma.m16n8k16.f16\", or a load of matrices from shared memory, such as \"ldmatrix.x4.f16\". "
    .. "nw.tensor_cores() lists them. layouts says which lane holds which element of an operand: {A = function(lane, i) return "
    .. "row, column end}. By default these are the layouts of the hardware. A layout must be a bijection, and the instruction is "
    .. "tried lane by lane on the simulated GPU; it is registered only if its results are correct.",
    function(instruction, options) return make(nw, instruction, options) end)
  define("tensor_cores", "(): {name: string, doc: string}[]", "The instructions that nw.tensor_core takes.", core.instructions)
  rows.define(nw, "nw", "expressions", "tf32", "(x: nw.expr|number): nw.expr",
    "x as f32, rounded to the 10 bits after the point that tensor cores use for tf32; of two numbers that are equally near, the "
    .. "one with the greater magnitude.", function(x) return tf32(nw, x) end)
  local method = rows.definer(rows.methods "schedule", "schedule", "tensorizing")
  method("fragment", "(self: nw.schedule, stage: nw.stage|nw.tensor|string, intrinsic: nw.intrinsic, operand: string): nw.schedule",
    "Gives a temporary of scope warp the layout of an operand (\"A\", \"B\", \"C\" or \"D\") of an instruction of a warp, by "
    .. "s:transform_layout: its last two dimensions become the tiles, the lane, and the place of an element in the lane.",
    fragment)
  method("lanes",
    "(self: nw.schedule, row: nw.loop|string, column: nw.loop|string, intrinsic: nw.intrinsic, operand: string): nw.loop",
    "Binds two loops over the rows and columns of a tile to the lanes of a warp, so that each lane computes the elements of the "
    .. "operand that it holds: splits and reorders the loops, fuses those of the lane, and binds the result to threadIdx.x.",
    lanes)
end

return tensor_core
