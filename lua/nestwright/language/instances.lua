--- Lists the executions of stages in program order, for pictures of iteration spaces. An instance is a stage at given values of its
--- axes. The program may execute an instance more than once. Each execution has a time, a thread, tiles and a piece. A piece is one
--- of the parts into which cuts have divided the loops of the stage.
local core = require "nestwright.core"

local instances = {}

local MOST = 100000 -- the largest number of executions

-- Returns the stage of a block. The initialization of a reduction is a separate stage if it was split off.
local function stage_of(block) return block.init and block.name or block.stage end

--- Returns the stages of a program, in program order: {name, axes, init, blocks (the numbers of its blocks)}. Also returns the
--- blocks. holder: a schedule, or a result of core.refused_programs. after: for such a result, true to choose the program after the
--- refused step.
function instances.stages(holder, after, sizes)
  local blocks, list, at = core.visit_blocks(holder, after, sizes), {}, {}
  for n, block in ipairs(blocks) do
    local name = stage_of(block)
    if not at[name] then
      at[name] = {name = name, axes = block.axes, init = block.init, blocks = {}}
      list[#list + 1] = at[name]
    end
    table.insert(at[name].blocks, n)
  end
  return list, blocks
end

-- ---- facts from the loops around a block

-- Returns the piece to which a loop belongs. A cut adds the name of the piece to the names of loops: the loop y.main/x.pre_o is in
-- the piece y.main/x.pre. Returns nil for a fused loop, such as i_o_or_i.tail; the loops inside it have the name of the piece.
local function cut_of(loop)
  return not loop.name:find("_or_", 1, true) and loop.name:match "^.*%.%w+" or nil
end

local function cuts_in(name) return select(2, name:gsub("%.", "")) end

-- Returns the name of a block's piece. The name comes from the loop that was cut most often. If several loops were cut equally
-- often, it comes from the innermost of them. If no loop was cut, the piece has the name of the outermost loop. But if the stage
-- has only this block (alone = true), the piece has the name of the block.
local function piece_of(block, alone)
  local best
  for n = #block.loops, 1, -1 do
    local name = cut_of(block.loops[n])
    if name and (not best or cuts_in(name) > cuts_in(best)) then best = name end
  end
  if best or alone or not block.loops[1] then return best or block.name end
  return (block.loops[1].name:gsub("_or_.*", ""))
end

-- The marks of loops whose iterations are all run by one thread.
local SHARED = {[""] = false, unroll = false, vectorize = false, vthread = false}

-- Returns the numbers of the loops of a block for which `holds` is true.
local function loops_where(block, holds)
  local out = {}
  for n, loop in ipairs(block.loops) do if holds(loop, n) then out[#out + 1] = n end end
  return out
end

local function is_shared(loop) return SHARED[loop.mark] ~= false end
local function is_vector(loop) return loop.mark == "vectorize" end

-- True if a loop divides an axis into tiles. If an iteration of the loop changes the axis by a constant, this constant must be more
-- than one. Otherwise, an inner loop must change the same axis.
local function is_tile_loop(axis, n, nloops)
  local step = axis.step[n]
  if step then return math.abs(step) > 1 end
  for inner = n + 1, nloops do if axis.step[inner] ~= 0 then return true end end
  return false
end

-- Returns the tiling loops of the given axes by level, largest tiles first. The level of a loop is its number among the tiling
-- loops of its axis, counted from the outermost one.
local function tile_levels(block, shown)
  local levels = {}
  for _, axis in ipairs(block.axes) do
    local level = 0
    for n in ipairs(block.loops) do
      if shown[axis.name] and is_tile_loop(axis, n, #block.loops) then
        level = level + 1
        levels[level] = levels[level] or {}
        table.insert(levels[level], n)
      end
    end
  end
  return levels
end

local function key_of(visit, loops)
  local values = {}
  for n, loop in ipairs(loops) do values[n] = visit.loops[loop] end
  return table.concat(values, " ")
end

-- Returns the tile of an execution at each level. Two executions are in the same tile of a level if all tiling loops down to that
-- level have the same values.
local function tiles_of(visit, levels)
  local out, key = {}, visit.block .. ":"
  for n, loops in ipairs(levels) do
    key = key .. key_of(visit, loops) .. ";"
    out[n] = key
  end
  return out
end

local function text_of(block, visit, loops)
  local words = {}
  for n, loop in ipairs(loops) do words[n] = ("%s = %d"):format(block.loops[loop].name, visit.loops[loop]) end
  return table.concat(words, ", ")
end

local function loops_text(block, visit)
  return text_of(block, visit, loops_where(block, function() return true end))
end

-- Returns the thread of an execution as text: the values of its parallel loops, and of its loops that are bound to threads, as in
-- "blockIdx.x = 1, threadIdx.x = 3".
local function thread_of(block, visit, loops)
  local words = {}
  for n, loop in ipairs(loops) do
    local l = block.loops[loop]
    words[n] = ("%s = %d"):format(l.mark == "parallel" and l.name or l.mark, visit.loops[loop])
  end
  return table.concat(words, ", ")
end

-- Returns the properties that all executions of a block have in common.
local function about(block, shown, alone)
  local shared = loops_where(block, is_shared)
  return {
    piece = piece_of(block, alone), levels = tile_levels(block, shown), shared = shared, vectors = loops_where(block, is_vector),
    serial = loops_where(block, function(loop) return not is_vector(loop) end),
    outside = loops_where(block, function(_, n) return n < (shared[1] or 0) end),
  }
end

-- ---- time

-- Returns a function that computes the times of executions. All lanes of a vector have the same time. Each thread has a clock. When
-- a parallel loop is entered, all clocks are set to their maximum, so all threads start at the same time.
local function clock()
  local region, latest, base, now, of_stroke = nil, 0, 0, {}, {}
  return function(where, thread, stroke)
    if where ~= region then
      region, base, now, of_stroke = where, latest, {}, {}
    end
    local key = thread .. "|" .. stroke
    if not of_stroke[key] then
      now[thread] = (now[thread] or base) + 1
      of_stroke[key] = now[thread]
      latest = math.max(latest, now[thread])
    end
    return of_stroke[key]
  end
end

-- ---- the list

local function asked_of(blocks, stages, values)
  local asked = {}
  for n in ipairs(blocks) do asked[n] = false end
  for _, stage in ipairs(stages) do
    for _, n in ipairs(stage.blocks) do
      asked[n] = {}
      for k, axis in ipairs(blocks[n].axes) do asked[n][k] = values[stage.name][axis.name] or false end
    end
  end
  return asked
end

local function named(axes, values)
  local at = {}
  for n, axis in ipairs(axes) do at[axis.name] = values[n] end
  return at
end

--- Returns all executions of these stages, in order. The fields of an execution:
---   stage, piece: their names
---   block: the number of the block
---   at: the value of each axis
---   index: the index of the element that the execution writes
---   time: the time of the execution (see `clock`)
---   thread: a text, "" if there is only one thread
---   stroke: a text that is equal for all lanes of one execution of a vector
---   vector: true for a lane of a vector
---   tiles: the tile at each level
---   loops: the values of the loops, as text
--- values: the requested values by stage and axis, or nil for all values. shown: the axes, by name, whose tiles are computed.
function instances.list(holder, after, sizes, stages, values, shown)
  local _, blocks = instances.stages(holder, after, sizes)
  local told, tick = {}, clock()
  for _, stage in ipairs(stages) do
    for _, n in ipairs(stage.blocks) do told[n] = about(blocks[n], shown, #stage.blocks == 1) end
  end
  local list = core.visits(holder, after, sizes, asked_of(blocks, stages, values), MOST)
  for n, visit in ipairs(list) do
    local block, t = blocks[visit.block], told[visit.block]
    local stroke = visit.block .. ":" .. key_of(visit, t.serial)
    local thread = thread_of(block, visit, t.shared)
    local first = block.loops[t.shared[1]]
    local region = first and first.name .. ":" .. key_of(visit, t.outside) or ""
    list[n] = {
      stage = stage_of(block), block = visit.block, piece = t.piece, at = named(block.axes, visit.axes),
      index = visit.index, stroke = stroke, vector = #t.vectors > 0, thread = thread,
      time = tick(region, thread, stroke),
      tiles = tiles_of(visit, t.levels),
      loops = loops_text(block, visit),
    }
  end
  return list, blocks
end

local function element_of(block, visit)
  if not block.buffer or #visit.index == 0 then return block.buffer end
  return ("%s[%s]"):format(block.buffer, table.concat(visit.index, ", "))
end

--- True if two executions, given by the values of their axes, execute the same instance.
function instances.same(a, b)
  for name, value in pairs(a) do if b[name] ~= value then return false end end
  return true
end

--- Returns the execution of the block with this name at these values of its loops, such as {i = 0}. The result is {stage, block
--- (its number), axes, at, loops, writes (the element, such as C[0, 1], or nil if the index depends on data)}. Returns nil if there
--- is no such block, or if no value is given for one of its loops.
function instances.there(holder, after, sizes, name, values)
  for n, block in ipairs(core.visit_blocks(holder, after, sizes)) do
    if block.name == name then
      local loops = {}
      for k, loop in ipairs(block.loops) do loops[k] = math.tointeger(values[loop.name]) end
      if #loops < #block.loops then return nil end
      local visit = core.visit_there(holder, after, sizes, n, loops)
      return {stage = stage_of(block), block = n, axes = block.axes, at = named(block.axes, visit.axes),
        loops = loops_text(block, visit), writes = element_of(block, visit)}
    end
  end
end

return instances
