--- Defines s:partition_auto, nw.microkernels and the functions of nw.partition, which are for loops whose extent is not a multiple
--- of the size of a tile.
local accelerated = later "nestwright.accelerate.partition"
local caches = require "nestwright.cost.caches"
local choice = require "nestwright.partition.partition_choice"
local accelerator = require "nestwright.language.accelerator"
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local lowered = require "nestwright.cost.lowered"
local microkernels = later "nestwright.partition.microkernels"
local pipeline = require "nestwright.partition.pipeline"
local pipelined = require "nestwright.partition.pipelined"
local partition_auto = require "nestwright.partition.partition_auto"
require "nestwright.partition.pieces"
local returning = require "nestwright.language.returning"
local rows = require "nestwright.language.rows"
local strategies = later "nestwright.partition.strategies"
local target = require "nestwright.language.target"
local together = require "nestwright.partition.together"

local function measure(options)
  local o, s, loop, kernels = choice.of_microkernels(options)
  return microkernels.table_of(core.quietly(microkernels.measure, "microkernels", s, loop, kernels, o))
end

-- ---- counting conditions, and a baseline

local function conditions(s, loop)
  local bodies = lowered.of(caches.check_schedule("conditions", s)).bodies
  local name = loop and strategies.loop_name("conditions", loop)
  if not name then return lowered.conditions(bodies[1]) end
  local n
  for _, body in ipairs(bodies) do
    if body.name == name then n = (n or 0) + lowered.conditions(body) - body.conditions end
  end
  if n then return n end
  errors.fail("invalid", "s:show \"lowered\" lists its loops", "conditions: there is no loop %s in the lowered program", name)
end

-- Tiles a loop as TVM does. TVM's lowering cuts the loop over the tiles once, before the first tile that needs conditions. The last
-- tile checks each iteration. By default, a loop of constant extent is not cut.
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

-- True if the options are for an accelerator: its target is given, or the schedule is for one.
local function for_accelerator(s, o)
  if type(o) ~= "table" then return false end
  local own = target.machine(core.schedule_target(s))
  if o.target == nil then return own.kind == "accelerator" end
  local machine = accelerator.is(o.target) and o.target.machine or target.machine(target.of(o.target, "partition_auto: target"))
  if machine.name == own.name then return own.kind == "accelerator" end
  errors.fail("invalid", ("s:retarget(%q), or nw.schedule(C, {target = ...})"):format(machine.name),
    "partition_auto: target: the schedule is for %s, not for %s", own.name, machine.name)
end

return {install = function(nw)
  rows.define(rows.methods "schedule", "schedule", "partitioning", "partition_auto",
    "(self: nw.schedule, options: {loop?: nw.loop|string, kernels: table[]|boolean, around?: function, "
    .. "strategies?: string|string[], cost?: 'kernels'|'model'|'measured'|'learned', "
    .. "model?: nw.learner|{predict: function, [string]: any}, "
    .. "objective?: 'cycles'|'energy'|'edp'|'size', code_limit?: integer, sizes?: table, measure?: boolean, "
    .. "machine?: any, threads?: integer, across?: 'fused'|'apart', target?: any, tries?: integer}): nw.ranking",
    "Tries strategies for a loop whose extent is not a multiple of any tile, and ranks them. kernels: {rows = 8, schedule = "
    .. "function(s, piece) ... end}: the number of iterations of a tile, and a function that schedules a piece: piece.outer and "
    .. "piece.inner are its loops, piece:loop \"k\" is its copy of the loop k, piece:loops() are all loops around it. name: "
    .. "distinguishes kernels with the same number of rows. whole: the kernel handles whole tiles only (nw.xsmm.kernel). around: "
    .. "a function of the schedule that makes loops around `loop`, in which pieces share the data that they read; the "
    .. "function `inside` of a kernel then schedules a piece in these loops. "
    .. "Strategies: " .. names_text() .. ". cost: 'kernels' (measured times of the tiles, "
    .. "nw.microkernels), 'model' (s:cost), 'measured', or 'learned' (by `model`, from nw.cost.train). objective: cycles, "
    .. "energy, edp (joules times seconds) or size. sizes: values of the sizes, as in {M = {1, 7, 64}, N = 8, weights = {1, 1, "
    .. "2}}. If several sizes vary, all combinations of their values are used, and weights are given by name, as in weights = {M "
    .. "= {1, 1, 2}}. sizes may also be a list of shapes, {{M = 1, N = 8}, {M = 7, N = 64}, weights = {3, 1}}. code_limit: bytes "
    .. "of machine code; strategies with more are ranked last. measure = true: also measures the median time of each strategy. "
    .. "If other work disturbs the measurements by which the rows are ranked, and their repetitions too, the rows are ranked by "
    .. "the cost model, and the answer has disturbed = true. threads: 1 by default. across: how several threads share the "
    .. "pieces, like `how` of nw.partition.parallel. With several threads, cost is 'model' by default. On a GPU, cost is 'model', "
    .. "a kernel leaves its outermost loop unbound if `across` is given, and each kernel is tried as the largest tile. Rows: "
    .. "strategy, tile (on a GPU, the largest one), versions, "
    .. "code_bytes, predicted (by shape, in seconds, or without a unit if learned), measured (medians, by shape), expected (the "
    .. "mean of predicted), seconds (the mean of measured), joules, energies (by shape), fits, figure, unsafe (some steps were "
    .. "not judged), intrinsics (the model prices intrinsic tiles as the loops that they replace), or refused and hint. Methods: "
    .. "take, build and dispatch; nw.help(list) describes them. The schedule does not change; the tried programs are versions of "
    .. "it. On an accelerator, {target = vta, kernels = true}: all loops are divided into blocks of whole tiles that fit into the "
    .. "memories, and their nests become instructions. Incomplete tiles are padded with zeros (\"pad\"), or cut off, for smaller "
    .. "tiles or the ALU (\"cut\"). Rows then have cycles (simulated), block, threads, and pieces (ranges, runs, kind, "
    .. "block, why: what is not a whole tile, and why). tries: schedules of each strategy that are made; 6 by default.",
    function(s, options)
      if for_accelerator(s, options) then return accelerated.of(nw, s, options) end
      if type(options) == "table" and options.kernels == true then
        errors.fail("invalid", "kernels = {{rows = 8, schedule = function(s, piece) ... end}}",
          "partition_auto: kernels: expected a list of kernels; true is for accelerators, whose instructions are the kernels")
      end
      return partition_auto(s, options)
    end)

  nw.partition = {}
  rows.define(nw.partition, "partition", "partitioning", "conditions", "(s: nw.schedule, loop?: nw.loop|string): integer",
    "The number of conditions (if, select, masks) in the lowered program of a schedule, or in one of its loops. A main piece has "
    .. "no conditions. loop: the name of a loop of s:show \"lowered\", or a loop of s.", conditions)

  rows.define(nw.partition, "partition", "partitioning", "parallel",
    "(s: nw.schedule, loops: (nw.loop|string)[], options?: {how?: 'fused'|'apart'}): nw.loop, ...",
    "Runs consecutive pieces in parallel threads. loops: their outermost loops, in order, the main piece first. how = "
    .. "'fused' (the default): s:create_fused_loop makes one loop of all pieces. Each thread runs the next iteration as soon as it "
    .. "is free; larger iterations come first, so no thread waits while there is work in a tail. how = 'apart': each piece is a "
    .. "parallel loop, and all threads wait at its end. Returns the parallel loops.", together)

  rows.define(nw.partition, "partition", "partitioning", "pipeline",
    "(s: nw.schedule, loop: nw.loop|string, options?: {machine?: any, sizes?: table}): nw.report",
    "Describes, by the cost model, a loop whose iterations overlap (s:double_buffer, s:prefetch) on a machine. It gives the "
    .. "interval (the cycles from the start of one iteration to the start of the next), what limits the interval, the parts of an "
    .. "iteration, and the cycles of the prologue and the epilogue. loop: its name in s:show \"lowered\". Fields: interval, "
    .. "bottleneck, rounds (iterations), parts (loop, cycles, bottleneck), alone (the parts one after the other), prologue, "
    .. "epilogue.", pipeline.report)

  rows.define(nw.partition, "partition", "partitioning", "pipelined",
    "(s: nw.schedule, loop: nw.loop|string, options: {tensor?: any, stage?: any, machine?: any, sizes?: table}): nw.report",
    "Pipelines a loop according to a machine's latencies. tensor: fetches this tensor before its use (s:prefetch). stage: "
    .. "computes this stage, which is inside the loop, in advance (s:double_buffer). The distance is ceil(latency "
    .. "/ interval) iterations. interval: the predicted cycles of an iteration. latency: that of the farthest level (or memory) "
    .. "that supplies at least a tenth of the lines; for a stage, plus the cycles to compute the stage. Fields: ahead (the "
    .. "distance; it is 0 if all lines are in L1, and then no step is taken), latency and level, interval, bottleneck, rounds "
    .. "(iterations), prologue and epilogue (cycles), limited (the loop has too few iterations). sizes: values of "
    .. "symbolic sizes.", pipelined)

  rows.define(nw.partition, "partition", "partitioning", "tvm_like",
    "(s: nw.schedule, loop: nw.loop|string, kernel: table, options?: {partition_const_loop?: boolean}): nw.schedule",
    "Tiles a loop as TVM's te.split and its pass LoopPartition do (src/tir/transforms/loop_partition.cc): guarded tiles, "
    .. "scheduled by the kernel. If the extent is not constant, or partition_const_loop is true, one interval without guards is "
    .. "cut out afterwards. It serves as a baseline for measurements.", tvm_like)

  rows.define(nw, "nw", "tensorizing", "microkernels",
    "(options: {schedule: nw.schedule, loop: nw.loop|string, kernels: table[], around?: function, sizes?: table, "
    .. "again?: boolean}): nw.report",
    "Measures tiles of a loop whose extent is a symbolic size, and keeps the times in $XDG_STATE_HOME/nestwright. kernels: as "
    .. "in s:partition_auto. The answer lists the kernels with their times: seconds (first: of one tile; more: of each following "
    .. "tile; guarded: of a tile with a guard that lacks one iteration) and seconds_inside (in the loops that `around` makes). A "
    .. "time is the median of several turns on one thread. again = true: measures again. A time that other work disturbed in too "
    .. "many turns is not kept: the kernel then has its earlier time, or disturbed = true, and s:partition_auto does not use "
    .. "it.", measure)
end}
