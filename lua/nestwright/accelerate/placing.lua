--- Takes the steps of a plan for an accelerator (s:partition_auto): pads or cuts the loops, makes blocks, moves arrays into the
--- memories, and replaces each nest by an instruction.
---
--- A plan has: axes (for each axis of the result, its segments {kind, from, length, block, unit}), letters, threads (virtual
--- threads), multiples (for pad_einsum, or nil), summed(at), which returns the segments of the summed axis for a piece, and run(at,
--- segment), which returns what executes it: a product of chip.products, or nil for the ALU.
local chip = require "nestwright.accelerate.chip"
local core = require "nestwright.core"

local placing = {}

-- ---- loops

-- Returns the loops of a stage that are inside a loop.
local function inside(s, stage, loop)
  local list = s:loops(stage)
  for n, l in ipairs(list) do if l.name == loop.name then return table.move(list, n + 1, #list, 1, {}) end end
  return list
end

local function is_inside(s, stage, loop)
  for _, l in ipairs(s:loops(stage)) do if l.name == loop.name then return true end end
  return false
end

-- Returns a stage that the stage reads for which `fits` is true. A stage may be computed in several places: it is the one inside
-- the loop, if a loop is given.
local function source(s, stage, fits, loop)
  for _, name in ipairs(core.neighbours(s, stage, "sources")) do
    if fits(core.stage_facts(s, name)) and (not loop or is_inside(s, name, loop)) then return name end
  end
end

local function names_of(s, part)
  local out = {}
  for _, stage in ipairs(s:stages()) do
    for _, loop in ipairs(s:loops(stage)) do if loop.name == part then out[#out + 1] = stage.name end end
  end
  return out
end

-- ---- the nests of the pieces

-- Makes loop number a of a nest the outermost one, or moves the outermost loop back to place a.
local function rotate(s, stage, a, back)
  local loops = s:loops(stage)
  if a == 1 then return end
  local order = {}
  for n, loop in ipairs(loops) do order[n] = loop end
  table.insert(order, back and a or 1, table.remove(order, back and 1 or a))
  s:reorder(table.unpack(order))
end

-- Cuts the loops of the final stage into segments, so that each piece is a nest of its own. Returns the pieces {stage, at (a
-- segment for each axis)}.
local function cut(s, final, axes)
  local list = {{stage = final, at = {}}}
  for a, segments in ipairs(axes) do
    local next_list = {}
    for _, piece in ipairs(list) do
      if #segments > 1 then rotate(s, piece.stage, a) end
      local loop = s:loops(piece.stage)[#segments > 1 and 1 or a]
      for n, segment in ipairs(segments) do
        local here = loop
        if n < #segments then here, loop = s:cut(loop, ("%s + %d"):format(loop.begin, segment.length)) end
        local at = table.move(piece.at, 1, #piece.at, 1, {})
        at[a] = segment
        next_list[#next_list + 1] = {stage = names_of(s, here.name)[1], at = at}
      end
      for n = #next_list - #segments + 1, #next_list do
        if #segments > 1 then rotate(s, next_list[n].stage, a, true) end
      end
    end
    list = next_list
  end
  return list
end

-- Splits the loops of a piece into loops over blocks, and loops inside of a block. Sets root, the innermost loop over blocks.
local function block(s, piece, threads)
  local outer, inner, thread = {}, {}, nil
  for a, loop in ipairs(table.move(s:loops(piece.stage), 1, #piece.at, 1, {})) do
    outer[a], inner[a] = s:split(loop, piece.at[a].block)
  end
  for a = 1, #outer do
    if threads > 1 and not thread and math.tointeger(outer[a].extent) and outer[a].extent % threads == 0 then
      outer[a], thread = s:split(outer[a], threads)
    end
  end
  outer[#outer + 1] = thread
  s:reorder(table.unpack(table.move(inner, 1, #inner, #outer + 1, table.move(outer, 1, #outer, 1, {}))))
  if thread then s:bind(thread, "vthread") end
  piece.root, piece.threads = outer[#outer], thread and threads or 1
end

-- ---- the sums of a piece

-- Splits the loops of a part of the sums into tiles, in an order in which the operand that stays in an array stays. Sets load (the
-- loop in which operands are brought) and tile (the nest of the instruction).
local function tiles(s, x, piece, part)
  local run, letters, own = part.run, x.plan.letters, inside(s, part.stage, piece.root)
  local nspace, outer, tile, at = #piece.at, {}, {}, {}
  local k = own[1]
  local loops = table.move(own, 2, #own, 1, {}) -- the axes of the result, then the other summed axes
  local function take(a, unit)
    local o, i = s:split(loops[a], unit)
    at[a] = o
    return i
  end
  local reduced = table.move(loops, nspace + 1, #loops, 1, {})
  local ko, k2 = s:split(k, part.segment.block)
  local kt, ki = s:split(k2, run.k)
  if letters.m and run.m > 1 then tile[#tile + 1] = take(letters.m, run.m) end
  if run.n > 1 then tile[#tile + 1] = take(letters.n, run.n) end
  if run.k > 1 then tile[#tile + 1] = ki end
  local function add(loop) outer[#outer + 1] = loop end
  local function space(skip)
    for a = 1, nspace do if a ~= skip then add(at[a] or loops[a]) end end
  end
  local stays = run.row.stationary
  if stays == "sum" then
    space()
    for _, l in ipairs(reduced) do add(l) end
    add(kt)
  else
    add(kt)
    for _, l in ipairs(reduced) do add(l) end
    space(stays == "weight" and letters.m)
    if stays == "weight" and letters.m then add(at[letters.m] or loops[letters.m]) end
  end
  if run.k == 1 then tile[#tile + 1] = ki end
  s:reorder(ko, table.unpack(table.move(tile, 1, #tile, #outer + 1, outer)))
  part.load, part.tile = ko, tile[1]
end

-- Makes the parts of a piece's sums: one for each segment of the summed axis.
local function parts_of(s, x, piece)
  local own = inside(s, piece.sum, piece.root)
  local k = x.plan.letters and x.plan.letters.k or #piece.at + 1
  if not x.plan.letters then -- a reduction for the ALU: its summed loops stay together
    local first = table.move(own, #piece.at + 1, #own, 1, {})
    s:reorder(table.unpack(table.move(own, 1, #piece.at, #first + 1, first)))
    piece.init = s:decompose_reduction(piece.sum, first[1])
    piece.parts = {{stage = piece.sum, load = piece.root, tile = first[1]}}
    return
  end
  local order = {own[k]}
  for n, loop in ipairs(own) do if n ~= k then order[#order + 1] = loop end end
  s:reorder(table.unpack(order))
  piece.init = s:decompose_reduction(piece.sum, order[1])
  piece.parts = {}
  local loop = order[1]
  local segments = x.plan.summed(piece.at)
  for n, segment in ipairs(segments) do
    local here = loop
    if n < #segments then here, loop = s:cut(loop, ("%s + %d"):format(loop.begin, segment.length)) end
    local stage
    for _, name in ipairs(names_of(s, here.name)) do if name ~= piece.init then stage = name end end
    piece.parts[n] = {stage = stage, segment = segment, run = x.plan.run(piece.at, segment)}
  end
  for _, part in ipairs(piece.parts) do
    if part.run then
      tiles(s, x, piece, part)
    else
      local loops = inside(s, part.stage, piece.root)
      part.load, part.tile = piece.root, loops[1]
    end
  end
end

-- ---- memories

local function tensorize(s, loop, acc, row) s:tensorize(loop, acc[row.name]) end

-- The memory of operand n of a part of the sums.
local function home_of(x, part, n)
  if not part.run then return x.ways.sum end
  return (n == 1) == not x.plan.swapped and part.run.input or part.run.weight
end

-- Brings the operands of all parts to their memories; part[n] is the stage that brings operand n. If a stage computes an operand,
-- such as a padded one, the copies compute it.
local function bring(s, x, pieces)
  for n, operand in ipairs(x.work.operands) do
    local tensor, computed = operand.tensor or operand.read.tensor, nil
    for _, piece in ipairs(pieces) do
      for _, part in ipairs(piece.parts) do
        computed = computed or source(s, part.stage, function(f) return f.result.tensor == tensor end)
        part[n] = s:cache_read(tensor, home_of(x, part, n), {part.stage}, {at = part.load}).name
      end
    end
    if computed then s:compute_inline(computed) end
  end
  for _, piece in ipairs(pieces) do
    for _, part in ipairs(piece.parts) do
      for n in ipairs(x.work.operands) do
        local memory = home_of(x, part, n)
        local loops = inside(s, part[n], part.load)
        tensorize(s, loops[1], x.acc, chip.copy(x.acc, "global", memory))
      end
      local steps = part.run and math.tointeger(part.load.extent) or 1
      if steps > 1 and piece.threads == 1 and x.plan.double then
        for n in ipairs(x.work.operands) do s:double_buffer(part[n]) end
      end
    end
  end
end

-- Brings what the last operations of a piece read beside the sums, and replaces them and the store by instructions.
local function finish(s, x, piece)
  if piece.last ~= piece.stage then
    for _, read in ipairs(core.stage_facts(s, piece.last).reads) do
      local computed = source(s, piece.last, function(f) return f.result.tensor == read.tensor end)
      if not computed then
        local copy = s:cache_read(read.tensor, x.ways.sum, {piece.last}, {at = piece.root})
        tensorize(s, inside(s, copy.name, piece.root)[1], x.acc, chip.copy(x.acc, "global", x.ways.sum))
      end
    end
    tensorize(s, inside(s, piece.last, piece.root)[1], x.acc, x.ways.alu)
  end
  tensorize(s, inside(s, piece.stage, piece.root)[1], x.acc, x.ways.store)
end

-- ---- a plan

-- Gives the sums a stage of their own, padded if the plan says so. Inlines the stages after the sums into the final one, and copies
-- that pad the image into copies that pad the channels.
local function prepare(s, x)
  local w, plan = x.work, x.plan
  local sum = w.sum
  if sum and plan.multiples then sum = s:pad_einsum(sum, plan.multiples).name end
  if sum and sum ~= w.sum and w.sum ~= w.final then s:compute_inline(w.sum) end
  for _, name in ipairs(w.between) do s:compute_inline(name) end
  if sum and sum == w.final then sum = s:cache_write(sum, "global").name end
  if not sum then return end
  for n, read in ipairs(core.stage_facts(s, sum).reads) do
    local operand = w.operands[n]
    if operand and operand.stage and read.tensor ~= operand.read.tensor then s:compute_inline(operand.stage) end
    if operand then operand.tensor = read.tensor end
  end
end

-- Computes a stage in the blocks of all pieces, in a memory. `of` returns the name of the stage that a piece needs, and of the one
-- inside a loop.
local function place(s, pieces, memory, of)
  local others = {}
  for n = 2, #pieces do others[n - 1] = pieces[n].root end
  local stage = of(pieces[1])
  local tensor = core.stage_facts(s, stage).result.tensor
  s:compute_at(stage, pieces[1].root, {others = #others > 0 and others or nil})
  s:set_scope(tensor, memory)
end

-- Computes the results after the sums in the blocks. They are computed only where they exist; a loop over a whole block, with a
-- condition, lets the sums be whole tiles nevertheless.
local function place_last(s, x, pieces)
  local function of(piece, loop) return source(s, piece.stage, function() return true end, loop) end
  place(s, pieces, x.ways.out, of)
  for _, piece in ipairs(pieces) do
    piece.last = of(piece, piece.root)
    for a, loop in ipairs(inside(s, piece.last, piece.root)) do
      if piece.at[a].kind == "padded" then s:split(loop, piece.at[a].block) end
    end
  end
end

local function place_sums(s, x, pieces)
  local function of(piece, loop) return source(s, piece.last, function(f) return f.reduction end, loop) end
  place(s, pieces, x.ways.sum, of)
  for _, piece in ipairs(pieces) do piece.sum = of(piece, piece.root) end
end

--- Takes the steps of a plan. work: what reading.of returned; ways: what chip.ways returned, with sum (the memory of the sums).
--- Returns the pieces.
function placing.apply(s, acc, work, ways, plan)
  local x = {acc = acc, work = work, ways = ways, plan = plan}
  prepare(s, x)
  local apart = plan.operates or ways.out ~= ways.sum or not work.sum
  if apart then s:cache_write(work.final, "global") end
  local pieces = cut(s, work.final, plan.axes)
  for _, piece in ipairs(pieces) do
    block(s, piece, plan.threads)
    piece.last = piece.stage
  end
  if apart then place_last(s, x, pieces) end
  if work.sum then
    place_sums(s, x, pieces)
    for _, piece in ipairs(pieces) do parts_of(s, x, piece) end
    bring(s, x, pieces)
  end
  for _, piece in ipairs(pieces) do
    if piece.init then
      tensorize(s, inside(s, type(piece.init) == "table" and piece.init.name or piece.init, piece.root)[1], acc, ways.fill)
      for _, part in ipairs(piece.parts) do tensorize(s, part.tile, acc, part.run and part.run.row or ways.alu) end
    end
    finish(s, x, piece)
  end
  return pieces
end

return placing
