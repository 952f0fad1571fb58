--- nw.partition.pipelined prefetches or computes the data of a loop some iterations in advance, to hide the latency of the data.
--- This is software pipelining (Lam, PLDI 1988), with the interval that the cost model predicts. If the iterations of a loop start
--- every II cycles, data with a latency of L cycles is requested ceil(L / II) iterations in advance. On an out-of-order CPU, this
--- number is an estimate, because the CPU's instruction window already hides a part of the latency.
local caches = require "nestwright.cost.caches"
local core = require "nestwright.core"
local cost = require "nestwright.cost.cost"
local errors = require "nestwright.language.errors"
local pipeline = require "nestwright.partition.pipeline"
local report = require "nestwright.show.report"
local steps = require "nestwright.language.steps"
local strategies = later "nestwright.partition.strategies"
local written = require "nestwright.show.written"

local SHARE = 0.1 -- the latency of a level matters only if at least this fraction of a tensor's lines comes from the level
local MOST = {prefetch = 1 << 10, double_buffer = 16} -- the largest number of iterations in advance

-- ---- the origin of a tensor's lines

-- Returns the fraction of a kernel's data that is no longer in a cache level at the next call, as in the cost model: 0 if all data
-- fits, otherwise the fraction for random replacement.
local function lost_between_calls(c, level)
  local bytes, part = 0, 1
  for _, n in pairs(c.memory) do bytes = bytes + n end
  local times = bytes / c.machine.caches[level].bytes
  if times <= 1 then return 0 end
  for _ = 1, 200 do part = 1 - math.exp(-part * times) end
  return part
end

-- Returns the misses of these tensors by level. Does not count cold misses on data that the previous call left in the level.
local function missed_of(c, wanted)
  local out = {}
  for _, row in ipairs(c.by_tensor) do
    if wanted[row.tensor] then
      local missed = row.misses - row.cold * (1 - lost_between_calls(c, row.level))
      out[row.level] = (out[row.level] or 0) + missed
    end
  end
  return out
end

-- Returns the latency and the name of the farthest level that supplies a significant fraction of the lines. Returns nil if this is
-- the first level.
local function source_of(m, missed)
  local most = missed[1] or 0
  for level = #m.caches, 1, -1 do
    if most > 0 and (missed[level] or 0) >= SHARE * most then
      if m.caches[level + 1] then return m.caches[level + 1].latency, "L" .. level + 1 end
      if m.memory.latency == 0 then
        errors.fail("invalid", "{memory = {latency = 90}}", "pipelined: the record of %s has no memory latency", m.name)
      end
      return m.memory.latency * m.clock, "memory"
    end
  end
end

-- ---- what is pipelined

local function name_of(s, what)
  if steps.is_stage(what) then return what.name end
  if debug.getmetatable(what) == core.classes.tensor then return core.schedule_name_of(s, what) or what.name end
  return errors.expect("pipelined: tensor or stage", what, "string")
end

local function stage_of(s, name)
  for _, stage in ipairs(s:stages()) do if stage.name == name then return stage end end
  errors.fail("invalid", nil, "pipelined: there is no stage %s", name)
end

-- Returns the set of tensors that these loops of a stage use, except the stage's own tensor. Also returns the cycles, per iteration
-- of the pipelined loop, of the given loops that are directly inside the pipelined loop.
local function filled_by(c, p, loops, name)
  local inside, tensors, cycles = {}, {}, 0
  for _, loop in ipairs(loops) do inside[loop.name] = true end
  for _, row in ipairs(c.by_access) do
    if inside[row.loop] and row.tensor ~= name then tensors[row.tensor] = true end
  end
  for _, part in ipairs(p.parts) do if inside[part.loop] then cycles = cycles + part.cycles end end
  return tensors, cycles
end

local function rounds_ahead(p, latency, most)
  local wanted = math.max(1, math.ceil(latency / p.interval))
  p.ahead = math.min(wanted, most, p.rounds - 1)
  p.limited = p.ahead < wanted
end

-- ---- the report

local function whole(n) return written.count(math.floor(n + 0.5)) end

local function short(n) return n < 100 and ("%.3g"):format(n) or whole(n) end

local function text_of(p)
  if p.ahead == 0 then return ("%s is in the first cache: there is no latency to hide"):format(p.what) end
  local lines = {
    ("%s comes from %s (latency %s cycles); an iteration of %s starts every %s cycles: %d iteration%s ahead%s"):format(p.what,
      p.level,
      whole(p.latency), p.loop, short(p.interval), p.ahead, p.ahead == 1 and "" or "s",
      p.limited and ", which is not enough" or ""),
  }
  if p.after then return table.concat({lines[1], pipeline.text_of(p.after)}, "\n") end
  lines[2] = ("%-14s the first %d iterations use data that was not prefetched: up to %s cycles"):format("prologue", p.ahead,
    whole(p.prologue))
  lines[3] = ("%-14s %d iterations, one every %s cycles (%s)"):format("steady state", p.rounds - p.ahead, short(p.interval),
    p.bottleneck)
  lines[4] = ("%-14s the last %d iterations prefetch data that is not used: at most %s cycles"):format("epilogue", p.ahead,
    whole(p.epilogue))
  return table.concat(lines, "\n")
end

-- ---- the steps

local function check_rounds(p)
  if p.rounds > 1 then return end
  errors.fail("invalid", nil, "pipelined: %s has %s, too few to overlap", p.loop, written.plural(p.rounds, "iteration"))
end

local function fetch(s, loop, tensor, c, p)
  p.what, p.ahead = tensor, 0
  local missed = missed_of(c, {[tensor] = true})
  p.latency, p.level = source_of(c.machine, missed)
  if not p.latency or missed[1] < SHARE * p.times then return end
  check_rounds(p)
  rounds_ahead(p, p.latency, MOST.prefetch)
  p.prologue, p.epilogue = p.ahead * p.interval + p.latency, p.ahead * p.interval
  s:prefetch(tensor, loop, p.ahead)
end

local function fill(s, stage, c, p, read_cost)
  local tensors, cycles = filled_by(c, p, stage:loops(), stage.name)
  local latency, level = source_of(c.machine, missed_of(c, tensors))
  p.what, p.level, p.latency = stage.name, level or "L1", cycles + (latency or c.machine.caches[1].latency)
  check_rounds(p)
  rounds_ahead(p, p.latency, MOST.double_buffer)
  s:double_buffer(stage.name, p.ahead)
  p.after = pipeline.of("pipelined", read_cost(), p.loop)
  p.interval, p.bottleneck, p.prologue, p.epilogue = p.after.interval, p.after.bottleneck, p.after.prologue, p.after.epilogue
end

return function(s, loop, options)
  local o = errors.options("pipelined", errors.expect("pipelined", options, "table"), {"tensor", "stage", "machine", "sizes"})
  caches.check_schedule("pipelined", s)
  if (o.tensor == nil) == (o.stage == nil) then
    errors.fail("invalid", "{tensor = \"B\"}", "pipelined: give a tensor to prefetch, or a stage to compute in advance")
  end
  loop = strategies.loop("pipelined", s, loop)
  local function read_cost()
    return cost.of("pipelined", s, {machine = o.machine, sizes = o.sizes, conflicts = false})
  end
  local stage = o.stage and stage_of(s, name_of(s, o.stage))
  local c = read_cost()
  local p = pipeline.of("pipelined", c, loop.name)
  if stage then fill(s, stage, c, p, read_cost) else fetch(s, loop, name_of(s, o.tensor), c, p) end
  return report.new(p, text_of(p))
end
