--- Loops whose rounds no tile divides: the rows of s:partition_auto, nw.microkernels and nw.partition.
local caches = require "nestwright.cost.caches"
local choice = require "nestwright.partition.partition_choice"
local errors = require "nestwright.language.errors"
local lowered = require "nestwright.cost.lowered"
local microkernels = require "nestwright.partition.microkernels"
local pipeline = require "nestwright.partition.pipeline"
local pipelined = require "nestwright.partition.pipelined"
local partition_auto = require "nestwright.partition.partition_auto"
local returning = require "nestwright.language.returning"
local rows = require "nestwright.language.rows"
local strategies = require "nestwright.partition.strategies"
local together = require "nestwright.partition.together"

local function measure(options)
  local o, s, loop, kernels = choice.of_microkernels(options)
  return microkernels.table_of(microkernels.measure("microkernels", s, loop, kernels, o))
end

-- ---- what is left of conditions, and what others do

local function conditions(s, loop)
  local bodies = lowered.of(caches.check_schedule("conditions", s)).bodies
  local name = loop and strategies.loop_name("conditions", loop)
  if not name then return lowered.conditions(bodies[1]) end
  local n
  for _, body in ipairs(bodies) do
    if body.name == name then n = (n or 0) + lowered.conditions(body) - body.conditions end
  end
  if n then return n end
  errors.fail("invalid", "s:show \"lowered\" has their names", "conditions: there is no loop %s in the lowered program", name)
end

-- One interval of one variable, found after scheduling: the loop over the tiles is cut where their conditions end, which lowering
-- does by itself; the rounds of the last tile ask one by one. A constant loop is left alone unless it is asked for.
local function tvm_like(s, loop, kernel, options)
  local o = errors.options("tvm_like", options, {"partition_const_loop"})
  caches.check_schedule("tvm_like", s)
  loop = strategies.loop("tvm_like", s, loop)
  local k = strategies.kernels("tvm_like", {kernel})[1]
  local constant = math.tointeger(loop.extent) ~= nil
  return returning.on_error(s, function()
    local outer = strategies.tile(s, loop, k, "guard")
    if constant and not o.partition_const_loop then s:pragma(outer, "partition", "never") end
    return s
  end)
end

local function names_text()
  local lines = {}
  for n, row in ipairs(strategies.rows) do lines[n] = ("%s: %s"):format(row[1], row[2]) end
  return table.concat(lines, "; ")
end

return {install = function(nw)
  rows.define(rows.methods "schedule", "schedule", "partition_auto",
    "(self: nw.schedule, options: {loop: nw.loop|string, kernels: table[], around?: function, strategies?: string|string[], "
    .. "cost?: string, model?: nw.learner|{predict: function, [string]: any}, objective?: string, code_limit?: integer, "
    .. "sizes?: table, measure?: boolean, "
    .. "machine?: any, threads?: integer, across?: string}): nw.ranking",
    "Tries strategies for a loop whose rounds no tile divides, and ranks them. kernels: {rows = 8, schedule = function(s, "
    .. "piece) ... end}, tiles of so many rounds, and the steps that schedule one: piece.outer and piece.inner are its loops, "
    .. "piece:loop \"k\" is its copy of the loop k, piece:loops() all around it. name tells kernels "
    .. "of as many rounds apart; whole: does whole tiles only (nw.xsmm.kernel). "
    .. "around: a function of the schedule that makes loops around `loop` inside "
    .. "which pieces share what they read; a kernel's `inside` then schedules a piece there. Strategies: "
    .. names_text()
    .. ". cost: 'kernels' (the measured times of the tiles, nw.microkernels), 'model' (s:cost), 'measured', or 'learned' (by "
    .. "model, of nw.cost.train). objective: cycles, energy, edp (joules times seconds) or size. sizes: values of the sizes, {M = "
    .. "{1, 7, 64}, N = 8, weights = {1, 1, 2}}; where several vary, each with each, and weights by name, {M = {1, 1, 2}}; or a "
    .. "list of shapes, {{M = 1, N = 8}, {M = 7, N = 64}, weights = {3, 1}}. code_limit: bytes of machine code; what has more is "
    .. "ranked behind. measure = true: also times each. threads: one unless said; with more, across says how they share the "
    .. "pieces out, as `how` of nw.partition.parallel, and cost is 'model' unless said. Rows: strategy, versions, code_bytes, "
    .. "predicted and measured "
    .. "(by shape; without a unit where learned), expected and seconds (their means), joules, energies (by shape), fits, "
    .. "figure, unsafe (steps were not judged), intrinsics (tiles that the model prices as the loops they stand for), or refused "
    .. "and hint. Methods: take, build and dispatch; nw.help(list) says more. "
    .. "The schedule stays as it was; what was tried are versions of it.", partition_auto)

  nw.partition = {}
  rows.define(nw.partition, "partition", "conditions", "(s: nw.schedule, loop?: nw.loop|string): integer",
    "How many conditions (if, select, masks) the lowered program of a schedule has, or a loop of it: 0 in a main piece. loop: one "
    .. "that s:show \"lowered\" has, by its name or as a loop of s.", conditions)

  rows.define(nw.partition, "partition", "parallel",
    "(s: nw.schedule, loops: (nw.loop|string)[], options?: {how?: string}): nw.loop, ...",
    "Runs pieces that follow each other in threads; loops: their outermost loops, in order, the main piece first. how = 'fused', "
    .. "unless said: s:create_fused_loop makes one loop of them, whose rounds, the larger ones first, threads take when they are "
    .. "done with the last one, so that no thread waits while there is a tail. 'apart': each is a parallel loop, and all threads "
    .. "wait for the last one behind each. The parallel loops.", together)

  rows.define(nw.partition, "partition", "pipeline",
    "(s: nw.schedule, loop: nw.loop|string, options?: {machine?: any, sizes?: table}): nw.report",
    "A loop whose rounds overlap (s:double_buffer, s:prefetch) as the machine's record has it, by the model: interval, the cycles "
    .. "from the begin of one round to the begin of the next, and what it waits for; the parts of a round; cycles of prologue and "
    .. "epilogue. loop: its name in s:show \"lowered\". Fields: interval, bottleneck, rounds, parts (loop, cycles, bottleneck), "
    .. "alone (the parts one after the other), prologue, epilogue.", pipeline.report)

  rows.define(nw.partition, "partition", "pipelined",
    "(s: nw.schedule, loop: nw.loop|string, options: {tensor?: any, stage?: any, machine?: any, sizes?: table}): nw.report",
    "Pipelines a loop from a machine's latencies: takes the step that fetches a tensor ahead of its use (tensor: s:prefetch), or "
    .. "computes a stage ahead that stands in the loop (stage: s:double_buffer), by as many rounds as it takes until all is "
    .. "there: ceil(latency / interval). interval: the cycles of a round by the model; latency: of the farthest level or memory "
    .. "that a tenth of the lines come from, by the model, as the record has it; of a stage, and the cycles that it takes. Fields: "
    .. "ahead (rounds; 0: all lines are in L1, and no step was taken), latency and level, interval, bottleneck, rounds, prologue "
    .. "and epilogue (cycles), limited (there are not rounds enough). sizes: values of symbolic sizes.", pipelined)

  rows.define(nw.partition, "partition", "tvm_like",
    "(s: nw.schedule, loop: nw.loop|string, kernel: table, options?: {partition_const_loop?: boolean}): nw.schedule",
    "Tiles a loop as TVM's te.split and its pass LoopPartition do (src/tir/transforms/loop_partition.cc): guarded tiles, scheduled "
    .. "by the kernel, and one interval without guards cut out afterwards, where the extent is no constant or partition_const_loop "
    .. "is true. To be measured against.", tvm_like)

  rows.define(nw, "nw", "microkernels",
    "(options: {schedule: nw.schedule, loop: nw.loop|string, kernels: table[], around?: function, sizes?: table, "
    .. "again?: boolean}): nw.report",
    "Measures tiles of a loop whose rounds are a size, and keeps the times in $XDG_STATE_HOME/nestwright: kernels as "
    .. "s:partition_auto takes them, with seconds (first: of one tile; more: of each that follows; guarded: of one that lacks a "
    .. "round and asks) and seconds_inside, in the loops that around makes. One thread; the least of several turns. again = true "
    .. "measures what is known.", measure)
end}
