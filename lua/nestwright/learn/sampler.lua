--- Draws random legal schedules of a computation. Each of the usual steps is taken or left out at random, with random arguments,
--- and a few arbitrary steps follow. Each step is checked; a refused step is skipped.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local rng = require "nestwright.measure.rng"

local sampler = {}
sampler.__index = sampler

-- Some of these factors divide usual sizes; others do not.
local FACTORS = {2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 16, 24, 32, 32, 48, 64, 64, 100, 128, 256}
local SMALL = {2, 3, 4, 4, 5, 6, 8, 8, 12, 16}
local WIDE = {4, 8, 8, 16, 16, 16, 32, 32, 64} -- iterations of loops that become vectors
local TAILS = {"guard", "guard", "cut", "cut", "cut", "shift"}
local LONGEST = 64 -- the largest number of iterations of a loop that may be unrolled or become one vector
local UNROLLED = 128 -- the largest number of copies of one stage's body that unrolling makes
local TRIES = 60 -- the number of programs that are drawn before the sampler stops looking for a new program

-- ---- steps. In the functions below, d is a schedule in progress: {r (the random numbers), s (the schedule), final (the name of
-- the last stage)}.

-- Applies a step if it is legal, and returns its results; otherwise returns nothing.
local function offer(d, name, ...)
  local results = table.pack(pcall(d.s[name], d.s, ...))
  if results[1] then return table.unpack(results, 2, results.n) end
  local problem = results[2]
  if not errors.is_error(problem) or problem.code == "interrupt" then error(problem, 0) end
end

local function names_of(list)
  local out = {}
  for n, item in ipairs(list) do out[n] = item.name end
  return out
end

-- Returns the row of core.outline that has this kind and name.
local function node_of(d, kind, name)
  for _, node in ipairs(core.outline(d.s)) do
    if node.kind == kind and node.name == name then return node end
  end
end

-- Returns the trip count of a loop, or nil if it is not constant.
local function extent_of(d, loop)
  local node = node_of(d, "loop", loop)
  return node and node.extent
end

-- Returns the loops of a stage that contain no other stage, outermost first.
local function own_loops(d, stage)
  local others = {}
  for _, other in ipairs(names_of(d.s:stages())) do
    if other ~= stage then
      for _, loop in ipairs(names_of(d.s:loops(other))) do others[loop] = true end
    end
  end
  local own = {}
  for _, loop in ipairs(names_of(d.s:loops(stage))) do
    if not others[loop] then own[#own + 1] = loop end
  end
  return own
end

-- Returns the last axis of a stage that is not a reduce axis. Elements along this axis are usually contiguous in memory.
local function last_axis(d, stage)
  local node = node_of(d, "stage", stage)
  return node and node.axis
end

-- True if this loop is a part of this axis. The names of parts begin with the name of the loop that was split.
local function is_part(loop, axis)
  if not axis or loop:sub(1, #axis) ~= axis then return false end
  return #loop == #axis or loop:sub(#axis + 1, #axis + 1):find "[_.]" ~= nil
end

-- ---- where stages are computed

local function place(d, stage)
  local loops = d.s:loops(d.final)
  if d.r:chance(0.15) then return offer(d, "compute_inline", stage) end
  if #loops == 0 or d.r:chance(0.35) then return nil end
  offer(d, "compute_at", stage, d.r:pick(loops).name)
  if d.r:chance(0.6) then offer(d, "set_scope", stage, "local") end
end

-- ---- splitting and order of loops

-- Splits a loop at random: not at all, once, or more than once. Returns the resulting loops, outermost first.
local function parted(d, loop, factors)
  local extent = extent_of(d, loop)
  if not extent or extent < 4 or d.r:chance(0.3) then return {loop} end
  local factor = d.r:pick(factors)
  if factor >= extent then return {loop} end
  local outer, inner = offer(d, "split", loop, {factor = factor, tail = d.r:pick(TAILS)})
  if not outer then return {loop} end
  local again = d.r:chance(0.25) and parted(d, outer.name, FACTORS) or {outer.name}
  again[#again + 1] = inner.name
  return again
end

-- Returns an order of the parts: usually the outer parts first, and then the inner parts, each in random order. Usually the inner
-- part of the last axis is at the end.
local function order_of(d, parts, axis)
  local outer, inner, last = {}, {}, nil
  for _, list in ipairs(parts) do
    for n, loop in ipairs(list) do
      if n == #list and is_part(loop, axis) and not last then last = loop
      elseif n < #list then outer[#outer + 1] = loop
      else inner[#inner + 1] = loop end
    end
  end
  d.r:shuffle(outer)
  d.r:shuffle(inner)
  if d.r:chance(0.1) then outer, inner = d.r:shuffle(table.move(inner, 1, #inner, #outer + 1, outer)), {} end
  local order = table.move(inner, 1, #inner, #outer + 1, outer)
  if last then table.insert(order, d.r:chance(0.75) and #order + 1 or d.r:int(1, #order + 1), last) end
  return order
end

local function tile(d, stage, loops)
  local axis, parts = last_axis(d, stage), {}
  for n, loop in ipairs(loops) do
    parts[n] = parted(d, loop, is_part(loop, axis) and d.r:chance(0.7) and WIDE or d.r:chance(0.6) and SMALL or FACTORS)
  end
  if d.r:chance(0.1) then return nil end
  local order = order_of(d, parts, axis)
  if #order > 1 then offer(d, "reorder", table.unpack(order)) end
end

-- ---- vectors and unrolling

local function vectorize(d, stage, own)
  local axis, list = last_axis(d, stage), {}
  for n = #own, 1, -1 do
    if is_part(own[n], axis) or d.r:chance(0.1) then list[#list + 1] = own[n] end
  end
  for _, loop in ipairs(list) do
    local extent = extent_of(d, loop)
    if extent and extent > LONGEST and d.r:chance(0.7) then
      local _, inner = offer(d, "split", loop, {factor = d.r:pick(WIDE), tail = d.r:pick(TAILS)})
      loop, extent = inner and inner.name, inner and 1
    end
    if extent and extent <= LONGEST and offer(d, "vectorize", loop) then return nil end
  end
end

-- Unrolls loops from the inside out, while the number of copies stays small.
local function unroll(d, stage)
  local own, copies = own_loops(d, stage), 1
  for n = #own, 1, -1 do
    local extent = extent_of(d, own[n])
    if not extent or extent > LONGEST then return nil end
    if d.r:chance(0.6) and copies * extent <= UNROLLED and offer(d, "unroll", own[n]) then copies = copies * extent end
    if d.r:chance(0.2) then return nil end
  end
end

local function mark(d, stage)
  if d.r:chance(0.85) then vectorize(d, stage, own_loops(d, stage)) end
  if d.r:chance(0.7) then unroll(d, stage) end
end

-- ---- storage

-- Lets a stage accumulate its results in a separate buffer (s:cache_write). Returns the name of the stage that fills this buffer.
local function block(d, stage)
  local own = own_loops(d, stage)
  if #own < 2 then return nil end
  local made = offer(d, "cache_write", stage, "local", {at = own[d.r:int(math.max(1, #own // 2 - 1), #own - 1)]})
  if not made then return nil end
  local axis, loops = last_axis(d, made.name), own_loops(d, made.name)
  local parts = {}
  for n, loop in ipairs(loops) do
    parts[n] = not is_part(loop, axis) and d.r:chance(0.3) and parted(d, loop, SMALL) or {loop}
  end
  local order = order_of(d, parts, axis)
  if #order > 1 then offer(d, "reorder", table.unpack(order)) end
  mark(d, made.name)
  return made.name
end

-- Returns a layout that divides the last dimension into panels, as in packed copies of matrices. Returns nil if there is only one
-- dimension.
local function panels(rank, width)
  if rank == 1 then return nil end
  if rank == 2 then return function(a, b) return b // width, a, b % width end end
  return function(a, b, c) return a, c // width, b, c % width end
end

local function copy(d, reader)
  local inputs = {}
  for _, input in ipairs(d.s:inputs()) do inputs[#inputs + 1] = {input.name, #input.dims} end
  local input = d.r:pick(inputs)
  local layout = input[2] <= 3 and d.r:chance(0.6) and panels(input[2], d.r:pick {8, 16, 32, 64}) or nil
  local made = offer(d, "cache_read", input[1], "global", {reader}, {layout = layout})
  if not made then return nil end
  local loops = names_of(d.s:loops(reader))
  if #loops > 1 and d.r:chance(0.5) then offer(d, "compute_at", made.name, loops[d.r:int(1, (#loops + 1) // 2)]) end
  local own = own_loops(d, made.name)
  if #own == 0 then return nil end
  tile(d, made.name, own)
  mark(d, made.name)
end

-- ---- other steps

local wild = {}

function wild.fuse(d, own)
  local at = #own > 1 and d.r:int(1, #own - 1)
  if at then offer(d, "fuse", own[at], own[at + 1]) end
end

function wild.split(d, own) offer(d, "split", d.r:pick(own), {factor = d.r:pick(FACTORS), tail = d.r:pick(TAILS)}) end

function wild.reorder(d, own)
  if #own < 2 then return nil end
  local at = d.r:int(1, #own - 1)
  offer(d, "reorder", own[at + 1], own[at])
end

function wild.unroll(d, own)
  local loop = own[#own]
  if (extent_of(d, loop) or UNROLLED) <= 16 then offer(d, "unroll", loop) end
end

local WILD = {"fuse", "split", "reorder", "unroll"}

local function wild_step(d)
  local own = own_loops(d, d.r:pick(names_of(d.s:stages())))
  if #own > 0 then wild[d.r:pick(WILD)](d, own) end
end

-- ---- a schedule

local function schedule_stage(d, stage)
  local own = own_loops(d, stage)
  if #own == 0 then return nil end
  local reads = d.r:chance(stage == d.final and 0.35 or 0)
  tile(d, stage, own)
  if d.r:chance(0.5) then block(d, stage) end
  if reads then copy(d, stage) end
  mark(d, stage)
end

local function is_stage(d, name)
  for _, stage in ipairs(d.s:stages()) do
    if stage.name == name then return true end
  end
end

local function draw(self)
  local d = {r = self.r, s = core.schedule(self.outputs)}
  local stages = names_of(d.s:stages())
  d.final = stages[#stages]
  for n = #stages, 1, -1 do
    if n < #stages then place(d, stages[n]) end
    if is_stage(d, stages[n]) then schedule_stage(d, stages[n]) end
  end
  while d.r:chance(0.25) do wild_step(d) end
  if d.r:chance(0.15) then offer(d, "stream_stores", d.final) end
  return d.s
end

--- Returns a sampler of schedules of these outputs. The same seed gives the same schedules, in the same order.
function sampler.new(outputs, seed)
  return setmetatable({outputs = outputs, r = rng.new(seed), seen = {}, drawn = 0}, sampler)
end

--- Returns the next schedule whose program has not been drawn before. Returns nil if no such schedule was found in TRIES attempts.
function sampler:next()
  for _ = 1, TRIES do
    local s = draw(self)
    local text = s:text()
    self.drawn = self.drawn + 1
    if not self.seen[text] then
      self.seen[text] = true
      return s
    end
  end
end

return sampler
