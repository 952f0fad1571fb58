--- Reads the lowered program of a schedule with the costs of its loops, and answers queries about its accesses.
local caches = require "nestwright.cost.caches"
local core = require "nestwright.core"

local lowered = {}

-- Links each body (a loop or a guard) to its parent and children. Copies the execution counts and cycles of each body from the cost
-- record, which lists the bodies in the same order.
local function link(v, loops)
  for n, body in ipairs(v.bodies) do
    local row = loops and loops[n] or {}
    body.number, body.kids, body.statements, body.up = n, {}, {}, v.bodies[body.up]
    body.times, body.entered = row.times or 1, row.entered or 1
    body.cycles, body.bottleneck = row.cycles or 0, row.bottleneck
    if body.up then table.insert(body.up.kids, body) end
  end
  for _, s in ipairs(v.statements) do
    s.body = v.bodies[s.body]
    table.insert(s.body.statements, s)
  end
  return v
end

--- Returns {bodies (loops and guards, the whole program first), statements, buffers} of a schedule. `c` is its cost record, and
--- `sizes` has, by name, the sizes for which the record was computed. Without a record, execution counts are 1, cycles are 0, and
--- strides that depend on sizes are unknown.
function lowered.of(s, c, sizes)
  return link(core.lowered(s, c and caches.walk("lowered", s, {sizes = sizes})), c and c.loops)
end

-- ---- queries

--- Returns the distance, in elements, between the accesses of two consecutive iterations of a loop.
function lowered.stride(access, loop) return access.strides[loop.number] or 0 end

--- Returns the n innermost loops around the statements of a body, innermost first. If the body is a loop, this loop is the first.
function lowered.loops(body, n)
  local out = {}
  while body and #out < n do
    if body.kind == "loop" then out[#out + 1] = body end
    body = body.up
  end
  return out
end

--- Returns the average trip count of a loop.
function lowered.trips(loop)
  local up = loop.up and loop.up.times or 1
  return up > 0 and loop.times / up or 0
end

--- True if a body is inside a guard.
function lowered.guarded(body)
  while body do
    if body.kind == "guard" then return true end
    body = body.up
  end
  return false
end

--- Estimates the number of cache lines of an access in the n innermost loops around it. Iterations whose accesses are far apart are
--- assumed never to access the same line. bytes: the size of an element. line: the size of a line in bytes.
function lowered.lines(access, body, n, bytes, line)
  local scattered = math.abs(access.step) * bytes >= line
  local points = scattered and access.lanes or 1
  local span = scattered and bytes or (access.lanes - 1) * math.abs(access.step) * bytes + bytes
  for _, loop in ipairs(lowered.loops(body, n)) do
    local step, trips = math.abs(lowered.stride(access, loop)) * bytes, math.max(1, lowered.trips(loop))
    if step > 0 and step <= math.max(span, line) then span = span + (trips - 1) * step
    elseif step > 0 then points = points * trips end
  end
  return points * math.max(1, span / line)
end

--- Returns the number of conditions (guards, selects and masks) in a body and in all bodies inside it.
function lowered.conditions(body)
  local n = body.conditions
  for _, s in ipairs(body.statements) do n = n + s.conditions end
  for _, kid in ipairs(body.kids) do n = n + lowered.conditions(kid) end
  return n
end

return lowered
