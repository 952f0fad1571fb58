--- Draws what the warps of some blocks execute. There is one lane for each warp, one bar for each nest between barriers, and a line
--- at each barrier. The time is the number of stores that a warp has executed; a block continues after a barrier when its slowest
--- warp has reached it.
local timeline = require "nestwright.plots.timeline"
local written = require "nestwright.show.written"

local warps = {}

local DIMENSIONS = {x = 1, y = 2, z = 3}

local function range_text(from, to) return from == to and tostring(from) or ("%d..%d"):format(from, to) end

-- Returns the least and the greatest index along a dimension of the threads of a warp.
local function thread_range(x, warp, d)
  local extent, below, lo, hi = x.kernel.block, 1, math.huge, -math.huge
  for k = 1, d - 1 do below = below * extent[k] end
  local last = math.min((warp + 1) * x.warp, extent[1] * extent[2] * extent[3]) - 1
  for t = warp * x.warp, last do
    local at = t // below % extent[d]
    lo, hi = math.min(lo, at), math.max(hi, at)
  end
  return lo, hi
end

local function is_of_threads(loop) return loop.mark:find "^thread" ~= nil end

-- Returns the iterations of a loop bound to threads that a warp runs, as text. In a fused grid, a block may have more threads than
-- the loop has iterations.
local function loop_text(x, loop, warp)
  local from, to = thread_range(x, warp, DIMENSIONS[loop.mark:sub(-1)])
  if math.type(loop.extent) == "integer" then to = math.min(to, loop.extent - 1) end
  return from > to and ("no %s"):format(loop.name) or ("%s=%s"):format(loop.name, range_text(from, to))
end

-- Returns the iterations of the loops bound to threads that a warp runs, as text.
local function iterations_text(x, block, warp)
  local out = {}
  for _, loop in ipairs(block.bound or x.bound) do
    if is_of_threads(loop) then out[#out + 1] = loop_text(x, loop, warp) end
  end
  return table.concat(out, " ")
end

-- Returns which loops are the indices of a block, as text.
local function blocks_text(x)
  local out = {}
  for _, loop in ipairs(x.bound) do
    if not is_of_threads(loop) then out[#out + 1] = ("%s is %s"):format(loop.name, loop.mark) end
  end
  return #out > 0 and (" In the numbers of a block, %s."):format(table.concat(out, ", ")) or ""
end

-- Returns the indices of a block along the dimensions that the grid has.
local function block_text(x, block)
  local n = 3
  while n > 1 and x.kernel.grid[n] == 1 do n = n - 1 end
  return table.concat(block, ",", 1, n)
end

local function lane_name(x, block, warp)
  local text = iterations_text(x, block, warp)
  return ("block %s warp %d"):format(block_text(x, block.block), warp) .. (text ~= "" and ": " .. text or "")
end

local function loops_text(span)
  local out = {}
  for n, loop in ipairs(span.loops) do out[n] = ("%s=%d"):format(loop.name, loop.value) end
  return table.concat(out, " ")
end

-- Returns the spans of each block and part, in order: {block, bound, parts = {{warps = {[warp] = spans}}}}. In a fused grid, the
-- loops that are bound to threads (bound) are those of the output that the block writes. Also returns true if there are
-- more parts than are shown.
local function grouped(x)
  local blocks, at, more = {}, {}, false
  for _, span in ipairs(x.spans) do
    local key = table.concat(span.block, ",")
    if not at[key] then
      at[key] = {block = span.block, parts = {}}
      blocks[#blocks + 1] = at[key]
    end
    at[key].bound = x.bound_of[span.buffer] or at[key].bound
    local list = at[key].parts
    local last = list[#list]
    if not last or last.part ~= span.part then
      last = {part = span.part, spans = {}, order = {}}
      list[#list + 1] = last
    end
    if not last.spans[span.warp] then
      last.spans[span.warp] = {}
      last.order[#last.order + 1] = span.warp
    end
    table.insert(last.spans[span.warp], span)
  end
  for _, block in ipairs(blocks) do
    for n = #block.parts, x.parts + 1, -1 do block.parts[n], block.cut, more = nil, true, true end
  end
  return blocks, more
end

-- Adds the bars of a part that begins at a time, and returns its end. Sets the times at which the lanes of its warps end.
local function add_part(x, block, part, begin, records, ends)
  local last = begin
  for _, warp in ipairs(part.order) do
    local at = begin
    for _, span in ipairs(part.spans[warp]) do
      local to = at + span.statements
      records[#records + 1] = {lane = lane_name(x, block, warp), from = at, to = to,
        kind = span.buffer and "writes " .. span.buffer, label = loops_text(span)}
      at = to
    end
    ends[lane_name(x, block, warp)] = at
    last = math.max(last, at)
  end
  return last
end

-- Returns the records of the timeline, the names of its lanes, its barriers, and when its lanes end. A warp ends after the last
-- barrier of its block, or later, after its last store.
local function records_of(x, blocks)
  local records, lanes, marks, ends = {}, {}, {}, {}
  local nwarps = (x.kernel.block[1] * x.kernel.block[2] * x.kernel.block[3] + x.warp - 1) // x.warp
  for _, block in ipairs(blocks) do
    local first, at, barrier, own = #lanes + 1, 0, 0, {}
    for warp = 0, nwarps - 1 do lanes[#lanes + 1] = lane_name(x, block, warp) end
    for n, part in ipairs(block.parts) do
      at = add_part(x, block, part, at, records, own)
      if n < #block.parts then
        barrier = at
        marks[#marks + 1] = {at = at, first = first, last = #lanes}
      end
    end
    for n = first, block.cut and 0 or #lanes do ends[lanes[n]] = math.max(own[lanes[n]] or 0, barrier) end
  end
  return records, lanes, marks, x.whole and ends or nil
end

--- Makes the picture. x: spans (from core.gpu_watch), kernel (its row in a simulation), number (of the kernel), warp (threads of a
--- warp), bound (loops that are bound to the grid: {name, mark, extent}), bound_of (such loops of each output), parts (most parts
--- between barriers), whole (false if spans are missing), title, machine.
function warps.make(x)
  local blocks, more = grouped(x)
  local records, lanes, marks, ends = records_of(x, blocks)
  local k, waits = x.kernel, #marks > 0 and " Where a lane has no bar, the warp waits at a barrier (a thick line)." or ""
  if ends then waits = waits .. " A lane ends where its warp has nothing more to do." end
  local small = ("Kernel %d: %s of %s, simulated for %s, which has no clock: time is the number of stores that a warp "
    .. "executes.%s%s%s"):format(x.number, written.plural(k.blocks, "block"),
    written.plural(k.block[1] * k.block[2] * k.block[3], "thread"), x.machine, waits, blocks_text(x),
    (more or not x.whole) and (" Only the first %d parts between barriers are shown."):format(x.parts) or "")
  return timeline.make(records, {title = x.title, unit = "stores", lanes = lanes, marks = marks, ends = ends, small = small,
    names = 60})
end

return warps
