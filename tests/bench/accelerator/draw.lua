--- Draws accelerators and schedules for them at random: products of matrices with a tail of element-by-element operations. The
--- sizes, the order of the loops, the places of the copies, virtual threads and double buffers are random. A size that is not a
--- whole number of tiles is padded, by the definition or by a step, and loops are cut where a block of tiles does not divide them.
local nw = require "nestwright"

local draw = {}

-- ---- records

-- Adds the queues of a ring over all units, so that there is a way from each unit to each other one, and some more.
local function queues(r, units)
  local ring, list, known = {}, {}, {}
  for n, u in ipairs(units) do ring[n] = u.name end
  r:shuffle(ring)
  local function add(from, to)
    if from == to or known[from .. to] then return end
    known[from .. to] = true
    list[#list + 1] = {from = from, to = to, tokens = r:pick {0, 0, 1, 1, 2, 3, 4, 512}}
  end
  for n, name in ipairs(ring) do add(name, ring[n % #ring + 1]) end
  for _, from in ipairs(ring) do
    for _, to in ipairs(ring) do
      if r:chance(0.4) then add(from, to) end
    end
  end
  return list
end

local FORMS = {"km,kn->mn", "mk,kn->mn", "mk,nk->mn"}

--- Returns the record of a random accelerator, as a table.
function draw.record(r)
  local units = r:pick {
    {{name = "load"}, {name = "compute"}, {name = "store"}}, {{name = "load"}, {name = "compute"}, {name = "store"}},
    {{name = "move"}, {name = "compute"}}, {{name = "inputs"}, {name = "weights"}, {name = "compute"}, {name = "store"}},
    {{name = "load"}, {name = "multiply"}, {name = "vector"}, {name = "store"}},
  }
  local function one(...)
    for _, name in ipairs {...} do
      for _, u in ipairs(units) do
        if u.name == name then return name end
      end
    end
  end
  for _, u in ipairs(units) do u.queue = r:pick {0, 0, 1, 2, 4, 512} end
  local function word() return r:pick {8, 16, 64, 128, 256} end
  local function copy(unit, from, to)
    return {name = "dma", kind = "copy", unit = unit, from = from, to = to, latency = r:int(0, 20),
      bytes_per_cycle = r:pick {0.5, 1, 3, 8, 16}, dims = r:int(1, 3), pads = from == "global"}
  end
  local compute = one("compute", "multiply")
  local vector = one("vector", "compute")
  return {
    name = "drawn", about = "a random accelerator", kind = "accelerator", clock = 0.1,
    memory = {bytes = 1 << 30, bandwidth = r:pick {0.1, 0.4, 1.6, 1000}},
    accelerator = {
      rows = 8, columns = 8, input_bits = 8, weight_bits = 8, sum_bits = 32, load_per_cycle = 8, fetch = r:pick {0, 0, 1, 3, 10},
      buffers = {{name = "inp", bytes = 1 << 16, word_bits = word()}, {name = "wgt", bytes = 1 << 16, word_bits = word()},
        {name = "acc", bytes = 1 << 18, word_bits = word()}},
      units = units, queues = queues(r, units),
      instructions = {
        copy(one("load", "inputs", "move"), "global", "inp"), copy(one("load", "weights", "move"), "global", "wgt"),
        copy(r:pick {compute, one("load", "inputs", "move")}, "global", "acc"), copy(one("store", "move"), "acc", "global"),
        {name = "fill", kind = "fill", unit = r:pick {compute, vector}, to = "acc", latency = r:int(0, 3),
          bytes_per_cycle = r:pick {4, 32}, dims = r:int(1, 3), loops = r:int(0, 2), micro_ops = r:pick {1, 2, 16}},
        {name = "gemm", kind = "tensor", unit = compute, from = "inp wgt", to = "acc", interval = r:int(0, 9),
          latency = r:int(0, 9), form = r:pick(FORMS),
          m = r:pick {1, 2, 4}, n = r:pick {1, 2, 4, 8}, k = r:pick {2, 4, 8}, loops = r:int(0, 2),
          micro_ops = r:pick {1, 2, 8}},
        {name = "alu", kind = "alu", unit = vector, from = "acc", to = "acc", lanes = r:pick {1, 4, 16}, interval = r:int(0, 3),
          latency = r:int(0, 5), loops = r:int(0, 2), micro_ops = r:pick {1, 2, 16}},
      },
    },
  }
end

-- The accelerators on which schedules run. Each has the names of its instructions, and the memory of what it stores.
local function machine(r)
  local kind = r:pick {"vdla", "vta", "drawn", "drawn", "drawn"}
  if kind == "drawn" then
    local record = draw.record(r)
    return {kind = kind, chip = nw.accelerator(record), copy = "dma", fill = "fill", gemm = "gemm", out = "acc",
      row = record.accelerator.instructions[6]}
  end
  local chip = nw.accelerator(kind)
  local tile = {form = "mk,nk->mn", m = 1, n = 16, k = 16}
  if kind == "vdla" then tile = {form = "km,kn->mn", m = 8, n = 8, k = 8} end
  return {kind = kind, chip = chip, copy = "dma_copy2d", fill = "fill_zero", gemm = kind == "vdla" and "gemm8x8" or "gemm",
    out = kind == "vta" and "out" or "acc", row = tile}
end

-- ---- computations

-- A size in elements: some tiles of `tile` elements, and sometimes not a whole number of them.
local function size(r, tile, tiles)
  local n = tile * r:int(1, tiles)
  if r:chance(0.35) then n = math.max(1, n - r:int(0, tile - 1)) end
  return n
end

local function whole(n, tile) return (n + tile - 1) // tile * tile end

-- Returns an operand of a product at whole tiles: a placeholder, or a stage that adds zeros to it, which is computed in `scope`.
local function operand(letters, sizes, tile, name)
  local shape, padded = {}, {}
  for n, letter in ipairs {letters:byte(1, -1)} do
    letter = string.char(letter)
    shape[n], padded[n] = sizes[letter], whole(sizes[letter], tile[letter])
  end
  local T = nw.placeholder(shape, "i8", name)
  local given = T
  if shape[1] < padded[1] or shape[2] < padded[2] then
    given = nw.compute(padded, function(i, j)
      return nw.select(nw.all(nw.lt(i, shape[1]), nw.lt(j, shape[2])), T(i, j), nw.cast(0, "i8"))
    end, name .. "_whole")
  end
  return given, given ~= T
end

-- Makes the product of operands whose sizes are not whole numbers of tiles. A step of the schedule pads it.
local function unpadded(c, a, b)
  local function operand_of(letters, name)
    return nw.placeholder({c.sizes[letters:sub(1, 1)], c.sizes[letters:sub(2, 2)]}, "i8", name)
  end
  c.A, c.B, c.k = operand_of(a, "A"), operand_of(b, "B"), nw.reduce_axis(c.sizes.k, "k")
  c.C = nw.compute({c.sizes.m, c.sizes.n}, function(i, j)
    local by = {m = i, n = j, k = c.k}
    local function at(T, letters) return nw.cast(T(by[letters:sub(1, 1)], by[letters:sub(2, 2)]), "i32") end
    return nw.sum(at(c.A, a) * at(c.B, b), c.k)
  end, "C")
  c.result, c.copied, c.padded, c.stages = c.C, true, true, {}
  return c
end

-- Returns what is computed: the product C, the result, and the tail of operations on its elements (one for each stage).
-- most: tiles in each direction, if they are to be few. steps: true if a step of the schedule may pad the product.
local function computation(r, row, most, steps)
  local a, b = row.form:match "^(%a+),(%a+)"
  local c = {
    sizes = {m = size(r, row.m, most or 6), n = size(r, row.n, most or 5), k = size(r, row.k, most or 4)}, letters = {a, b},
    tile = {m = row.m, n = row.n, k = row.k},
  }
  local odd = c.sizes.m % c.tile.m > 0 or c.sizes.n % c.tile.n > 0
  if steps and odd and r:chance(0.5) then return unpadded(c, a, b) end
  c.A, c.pads_a = operand(a, c.sizes, c.tile, "A")
  c.B, c.pads_b = operand(b, c.sizes, c.tile, "B")
  c.k = nw.reduce_axis(whole(c.sizes.k, row.k), "k")
  local M, N = whole(c.sizes.m, row.m), whole(c.sizes.n, row.n)
  c.C = nw.compute({M, N}, function(i, j)
    local function at(letters)
      local by, index = {m = i, n = j, k = c.k}, {}
      for letter in letters:gmatch "." do index[#index + 1] = by[letter] end
      return table.unpack(index)
    end
    return nw.sum(nw.cast(c.A(at(a)), "i32") * nw.cast(c.B(at(b)), "i32"), c.k)
  end, "C")
  c.crops = M > c.sizes.m or N > c.sizes.n
  return c
end

-- Adds a tail of operations on elements. The last stage is the result.
local function tail(r, c, out)
  if c.padded then return c end
  local T, stages = c.C, {}
  local shape = {c.sizes.m, c.sizes.n}
  local whole_shape = T:shape()
  local function stage(how, name)
    local from = T
    T = nw.compute(whole_shape, function(i, j) return how(from(i, j), i, j) end, name)
    stages[#stages + 1] = T
  end
  if r:chance(0.3) then
    c.bias = nw.placeholder({whole_shape[2]}, "i32", "bias")
    stage(function(v, _, j) return v + c.bias(j) end, "D")
  end
  if out == "out" or r:chance(0.4) then stage(function(v) return nw.cast(nw.clamp(v >> 4, -128, 127), "i8") end, "E") end
  c.stages = stages
  if c.crops or #stages == 0 then
    local from = T
    c.result = nw.compute(shape, function(i, j) return from(i, j) end, "R")
    c.copied = true
  else
    c.result = T
  end
  return c
end

-- ---- schedules

-- Tries a step. A refused step leaves the schedule unchanged.
local function try(s, name, ...) return pcall(s[name], s, ...) end

-- Returns the loops of a stage that are its own: the last `n` of them.
local function own(s, stage, n)
  local l = s:loops(stage)
  return table.unpack(l, #l - n + 1)
end

-- Tensorizes the loops of a stage that copies, fills or computes element by element. They begin at the outermost of its last `n`
-- loops, or sometimes further inside.
local function whole_nest(s, stage, n, instruction)
  local l = s:loops(stage)
  s:tensorize(l[#l - n + 1], instruction)
end

-- Returns a random divisor of n that is at most `most`.
local function divisor(r, n, most)
  local list = {}
  for d = 1, math.min(n, most) do
    if n % d == 0 then list[#list + 1] = d end
  end
  return r:pick(list)
end

-- Splits the rows and the columns of the result into blocks of tiles. Returns the loops around a block.
local function blocks(r, s, c)
  local i, j = own(s, c.result, 2)
  local shape = {whole(c.sizes.m, c.tile.m), whole(c.sizes.n, c.tile.n)}
  local io, ii = s:split(i, c.tile.m * divisor(r, shape[1] // c.tile.m, 3))
  local jo, ji = s:split(j, c.tile.n * divisor(r, shape[2] // c.tile.n, 3))
  if r:chance(0.5) then
    s:reorder(io, jo, ii, ji)
    return {io, jo}
  end
  s:reorder(jo, io, ii, ji)
  return {jo, io}
end

-- Makes one of the loops around a block a loop over virtual threads, or a part of it. Returns the innermost loop around a block.
local function threads(r, s, around, used)
  if r:chance(0.4) then return around[2] end
  local n = r:int(1, 2)
  if r:chance(0.3) and try(s, "bind", around[n], "vthread") then
    used["virtual threads"] = true
    return around[2]
  end
  local ok, o, v = try(s, "split", around[n], divisor(r, tonumber(around[n].extent), 4))
  if not ok then return around[2] end
  if r:chance(0.5) then v = o end
  if r:chance(0.3) and n == 1 then try(s, "reorder", around[2], v) end
  if try(s, "bind", v, "vthread") then used["virtual threads"] = true end
  local l = s:loops()
  return l[#l - 2]
end

-- Brings an operand of the product to its memory, inside a random loop.
local function bring(r, s, T, pads, scope, chip, places, used)
  local at, stage = r:pick(places), T
  if pads then
    s:set_scope(T, scope)
    if at then s:compute_at(T, at) end
    used.padding = true
  else
    stage = s:cache_read(T, scope, at and {at = at} or nil)
  end
  whole_nest(s, stage, 2, chip)
  return function()
    local ahead = r:int(1, 2)
    if at and r:chance(0.3) and try(s, "double_buffer", stage, ahead) then used["double buffers"] = true end
  end
end

-- Cuts loops around tiles or blocks where a random number of iterations does not divide them.
local function cuts(r, s, loops, used)
  for _, loop in ipairs(loops) do
    if r:chance(0.3) then
      local done, _, _, rest = try(s, "split", loop, r:int(2, 4), {tail = "cut"})
      if done and rest then used["cut loops"] = true end
    end
  end
end

-- Pads a product whose sizes are not whole numbers of tiles. Returns the padded product and its operands.
local function pad(s, c, used)
  s:pad_einsum(c.C, {c.tile.m, c.tile.n, c.tile.k})
  local names, out = {}, {}
  for _, stage in ipairs(s:stages()) do names[stage.name] = stage end
  used["padding by a step"] = true
  for n, name in ipairs {"C", "A", "B"} do out[n] = names[name .. "_pad"] or c[name] end
  return out[1], out[2], out[3], names.A_pad ~= nil, names.B_pad ~= nil
end

--- Returns a random schedule of a computation for a machine, and what it uses.
function draw.schedule(r, m, c)
  local chip, used = m.chip, {}
  local s = nw.schedule(c.result, {target = chip})
  local C, A, B, pads_a, pads_b = c.C, c.A, c.B, c.pads_a, c.pads_b
  if c.padded then C, A, B, pads_a, pads_b = pad(s, c, used) end
  local at = threads(r, s, blocks(r, s, c), used)
  local last = c.result
  if not c.copied then last = s:cache_write(c.result, m.out, {at = at}) end
  -- the stages between the product and the store
  local list = {}
  for n = #c.stages, 1, -1 do
    local T = c.stages[n]
    if T ~= c.result then
      s:set_scope(T, n == #c.stages and m.out or "acc")
      s:compute_at(T, at)
      list[#list + 1] = T
    else
      list[#list + 1] = last
    end
  end
  local inside = C ~= c.result
  if inside then
    s:set_scope(C, "acc")
    s:compute_at(C, at)
  end
  local CL = inside and C or last
  local i, j, k = own(s, CL, 3)
  local io, ii = s:split(i, c.tile.m)
  local jo, ji = s:split(j, c.tile.n)
  local ko, ki = s:split(k, c.tile.k)
  local outer = r:shuffle {io, jo, ko}
  s:reorder(outer[1], outer[2], outer[3], ii, ji, ki)
  local place = r:chance(0.3) and outer[1] or ko
  local before = 0
  for n, l in ipairs(s:loops(CL)) do
    if tostring(l) == tostring(place) then before = n end
  end
  local init = s:loops(s:decompose_reduction(CL, place))
  s:tensorize(init[before], chip[m.fill])
  used.tails = #list > 0 or nil
  local places = {outer[1], outer[2], outer[3], at, false}
  if c.bias then whole_nest(s, s:cache_read(c.bias, "acc", {at = at}), 1, chip[m.copy]) end
  local buffer_a = bring(r, s, A, pads_a, "inp", chip[m.copy], places, used)
  local buffer_b = bring(r, s, B, pads_b, "wgt", chip[m.copy], places, used)
  for _, T in ipairs(list) do whole_nest(s, T, 2, chip.alu) end
  whole_nest(s, c.result, 2, chip[m.copy])
  s:tensorize(ii, chip[m.gemm])
  buffer_a()
  buffer_b()
  cuts(r, s, {outer[3], outer[2], outer[1], at}, used)
  return s, used
end

draw.machine, draw.computation, draw.tail = machine, computation, tail
return draw
