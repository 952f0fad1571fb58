--- nw.partition.pipeline describes a loop whose iterations overlap: the prologue, the steady state, the epilogue, and the interval
--- between the starts of two iterations.
local caches = require "nestwright.cost.caches"
local cost = require "nestwright.cost.cost"
local errors = require "nestwright.language.errors"
local report = require "nestwright.show.report"
local strategies = later "nestwright.partition.strategies"
local written = require "nestwright.show.written"

local pipeline = {}

local function place_of(what, loops, name)
  for n, loop in ipairs(loops) do if loop.name == name then return n end end
  errors.fail("invalid", "s:show \"lowered\" lists its loops", "%s: there is no loop %s in the lowered program", what, name)
end

-- Returns the loops directly inside of the loop at `at`, with their cycles per iteration.
local function parts_of(loops, at)
  local parts, around = {}, loops[at]
  for n = at + 1, #loops do
    local loop = loops[n]
    if loop.depth <= around.depth then break end
    if loop.depth == around.depth + 1 then
      parts[#parts + 1] = {loop = loop.name, cycles = loop.cycles / around.times, bottleneck = loop.bottleneck}
    end
  end
  return parts
end

-- Returns the total cycles of those loops at the depth of the loop at `at` for which `belongs` is true.
local function beside(loops, at, belongs)
  local cycles, depth = 0, loops[at].depth
  for n, loop in ipairs(loops) do
    if loop.name and loop.depth == depth and belongs(n, loop.name) then cycles = cycles + loop.cycles end
  end
  return cycles
end

local function summed(parts)
  local sum = 0
  for _, part in ipairs(parts) do sum = sum + part.cycles end
  return sum
end

local function whole(n) return written.count(math.floor(n + 0.5)) end

local function text_of(p)
  local lines = {
    ("%-14s %10s cycles"):format("prologue", whole(p.prologue)),
    ("%-14s %10s cycles: %d iterations, one every %s cycles (%s)"):format("steady state", whole(p.interval * p.rounds), p.rounds,
      whole(p.interval), p.bottleneck),
    ("%-14s %10s cycles"):format("epilogue", whole(p.epilogue)),
    "one iteration:",
  }
  for _, part in ipairs(p.parts) do
    lines[#lines + 1] = ("  %-12s %10s cycles  %s"):format(part.loop, whole(part.cycles), part.bottleneck)
  end
  lines[#lines + 1] = ("without overlap, the parts take %s cycles"):format(whole(p.alone))
  return table.concat(lines, "\n")
end

--- Returns the figures of the loop with this name from the cost record c: interval, rounds, bottleneck, parts, alone, prologue,
--- epilogue.
function pipeline.of(what, c, name)
  local at = place_of(what, c.loops, name)
  local steady = c.loops[at]
  if steady.times == 0 then
    errors.fail("range", "give larger sizes", "%s: the loop %s has no iterations, so there is no steady state", what, name)
  end
  local p = {loop = name, rounds = steady.times // steady.entered, bottleneck = steady.bottleneck}
  p.times, p.interval, p.parts = steady.times, steady.cycles / steady.times, parts_of(c.loops, at)
  p.alone = summed(p.parts)
  p.prologue = beside(c.loops, at, function(n, other) return n < at and other:match "^[^/]*":find "%.pre%d*$" ~= nil end)
  p.epilogue = beside(c.loops, at, function(n, other) return n > at and other:sub(1, #name + 1) == name .. "." end)
  return p
end

pipeline.text_of = text_of

function pipeline.report(s, loop, options)
  local o = errors.options("pipeline", options, {"machine", "sizes"})
  local name = strategies.loop_name("pipeline", loop)
  local c = cost.of("pipeline", caches.check_schedule("pipeline", s), {machine = o.machine, sizes = o.sizes, conflicts = false})
  local p = pipeline.of("pipeline", c, name)
  return report.new(p, text_of(p))
end

return pipeline
