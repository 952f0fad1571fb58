--- nw.partition.pipelined: what the rounds of a loop wait for is asked for, or computed, so many rounds ahead that it is there.
---
--- Software pipelining with the interval of the model: what takes L cycles and is used in a loop whose rounds begin every II
--- cycles begins ceil(L / II) rounds before (Lam, PLDI 1988, has stages so). On a processor that looks ahead by itself that is an
--- estimate: what its window covers already need not be hidden again.
local caches = require "nestwright.cost.caches"
local core = require "nestwright.core"
local cost = require "nestwright.cost.cost"
local errors = require "nestwright.language.errors"
local pipeline = require "nestwright.partition.pipeline"
local report = require "nestwright.show.report"
local steps = require "nestwright.language.steps"
local strategies = require "nestwright.partition.strategies"
local written = require "nestwright.show.written"

local SHARE = 0.1 -- of the lines of a tensor that must come from a level for its latency to count
local MOST = {prefetch = 1 << 10, double_buffer = 16} -- rounds ahead

-- ---- where the lines of a tensor come from

-- The part of what a kernel touches that a level no longer has when it is called again, as the cost model has it: none where
-- all fits, else that of random replacement.
local function lost_between_calls(c, level)
  local bytes, part = 0, 1
  for _, n in pairs(c.memory) do bytes = bytes + n end
  local times = bytes / c.machine.caches[level].bytes
  if times <= 1 then return 0 end
  for _ = 1, 200 do part = 1 - math.exp(-part * times) end
  return part
end

-- By level: lines of these tensors that it has not, of those that come for the first time only what the call before did not leave.
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

-- Cycles and name of the farthest level behind the first that sends a good part of the lines; nil: the first has them all.
local function source_of(m, missed)
  local most = missed[1] or 0
  for level = #m.caches, 1, -1 do
    if most > 0 and (missed[level] or 0) >= SHARE * most then
      if m.caches[level + 1] then return m.caches[level + 1].latency, "L" .. level + 1 end
      if m.memory.latency == 0 then
        errors.fail("invalid", "{memory = {latency = 90}}", "pipelined: the record of %s has no latency of memory", m.name)
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

-- The loops of a stage that are right inside of the one at hand; and the tensors that are used in them, besides its own.
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
  if p.ahead == 0 then return ("%s is in the first cache: there is nothing to wait for"):format(p.what) end
  local lines = {
    ("%s comes from %s: %s cycles, and a round of %s begins every %s: %d round%s ahead%s"):format(p.what, p.level,
      whole(p.latency), p.loop, short(p.interval), p.ahead, p.ahead == 1 and "" or "s", p.limited and ", not enough" or ""),
  }
  if p.after then return table.concat({lines[1], pipeline.text_of(p.after)}, "\n") end
  lines[2] = ("%-14s the first %d rounds find what nobody asked for: up to %s cycles"):format("prologue", p.ahead,
    whole(p.prologue))
  lines[3] = ("%-14s %d rounds, one each %s cycles (%s)"):format("steady state", p.rounds - p.ahead, short(p.interval),
    p.bottleneck)
  lines[4] = ("%-14s the last %d rounds ask for what nobody uses: no more than %s cycles"):format("epilogue", p.ahead,
    whole(p.epilogue))
  return table.concat(lines, "\n")
end

-- ---- the steps

local function check_rounds(p)
  if p.rounds > 1 then return end
  errors.fail("invalid", nil, "pipelined: %s has %d rounds: there is none to be ahead of", p.loop, p.rounds)
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
    errors.fail("invalid", "{tensor = \"B\"}", "pipelined: give a tensor, to be fetched, or a stage, to be computed ahead")
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
