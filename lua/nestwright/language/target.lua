--- Makes the targets of schedules. A target consists of a machine record, the limits of programs, the features of the CPU, the code
--- generator and the cost model.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local machine = require "nestwright.cost.machine"
local rows = require "nestwright.language.rows"
local slips = later "nestwright.slips.arguments"

local TARGET = core.classes.target
local target = {}

function target.is(value) return debug.getmetatable(value) == TARGET end

--- Returns the target for a name, a file, a table or a record; for nil, this host. If `what` is a target, returns it unchanged.
--- `name` is the argument's name, for errors.
function target.of(what, name)
  if target.is(what) then return what end
  if type(what) == "table" and target.is(rawget(what, "target")) then return what.target end -- nw.accelerator
  return core.target(machine.of(what, name))
end

-- For each target that the option `machine` describes: a function that returns the record with the limits of that machine.
local WITH_LIMITS = {
  opencl = function(m) return require "nestwright.hw.opencl".of(m) end,
  cuda = function(m) return m end,
  gpu = function(m) return require "nestwright.hw.gpu".of(m, "target: machine") end,
}

-- Returns the target of a driver, "opencl" or "cuda", or the simulated "gpu", with the limits of another machine.
local function with_limits(what, options)
  options = errors.options("target", options, {"machine"})
  if options.machine == nil then return target.of(what) end
  local record = WITH_LIMITS[what]
  if record then return target.of(record(machine.of(options.machine, "target: machine"))) end
  errors.fail("invalid", 'nw.target("opencl", {machine = "a100"})',
    "target: the option machine is for the targets opencl, cuda and gpu")
end

--- Returns the machine record of a target. A target without a record is this host, and machine.of() returns the host's record.
function target.machine(t) return core.target_machine(t) or machine.of() end

--- Returns a schedule of these outputs; the last argument may be {target = t}.
function target.schedule(first, ...)
  local outputs = table.pack(first, ...)
  local last, options = outputs[outputs.n], {}
  local none = type(last) == "table" and outputs.n > 1 and next(last) == nil -- {target = nil}
  if type(last) == "table" and (last.target ~= nil or none) then
    options = errors.options("schedule", last, {"target"})
    outputs[outputs.n] = nil
    outputs.n = outputs.n - 1
  end
  if outputs[1] == nil then
    errors.fail("invalid", nil, "schedule: %s", slips.missing("schedule", 1) or "expected a tensor, got nil")
  end
  local list = type(outputs[1]) == "table" and outputs[1] or outputs
  return core.schedule(list, options.target ~= nil and target.of(options.target, "target") or nil)
end

--- Raises an error if `what`, the machine to build for, is not the schedule's target.
function target.check(s, what)
  if what == nil then return end
  local own, other = core.schedule_target(s), target.of(what, "build: target")
  if own == other then return end
  errors.fail("invalid", ("s:retarget(nw.target %q) repeats its steps under the limits of %s"):format(other.name, other.name),
    "build: target: the schedule is for %s, not for %s", own.name, other.name)
end

function target.install(nw)
  rows.define(nw, "nw", "hardware", "target", "(machine?: string|table|nw.machine|nw.target, "
    .. "options?: {machine?: string|table|nw.machine}): nw.target",
    "A target: the machine that a schedule is made for. The argument is a name of nw.machines(), a file or a table as in "
    .. "nw.machine, or a record; by default this host. nw.schedule(C, {target = t}) makes a schedule for it; s:retarget(t) "
    .. "repeats the steps of a schedule under its limits. Code for another CPU than this host's can be shown (s:show \"asm\") "
    .. "and linked (f:export), but not run here: nw.target \"aarch64\". nw.target \"cuda\" is the NVIDIA GPU of this machine, "
    .. "which its driver runs; nw.target \"a100\" is an A100, for which PTX can be made anywhere (s:show \"ptx\"). "
    .. "nw.target \"opencl\" is the device that OpenCL finds: a GPU, or else a CPU. Its driver compiles and runs OpenCL C. "
    .. "nw.target \"gpu\" is a GPU that this host simulates: kernels run anywhere, and races and other faults are errors, but runs "
    .. "have no times. "
    .. "machine = \"a100\": the limits are those of this machine, not those that the driver reports. The simulated GPU is an "
    .. "A100 by default.",
    function(what, options)
      if options ~= nil then return with_limits(what, options) end
      return target.of(what)
    end)

  rows.define(rows.methods "schedule", "schedule", "hardware", "retarget",
    "(self: nw.schedule, machine: string|table|nw.machine|nw.target): nw.schedule",
    "A new schedule of the same computation for another target, with the steps up to the current version. Each step is judged "
    .. "again under the limits of that target; an error names the step that is refused.",
    function(s, what)
      local trace = core.schedule_trace(s, "json")
      return core.schedule_anew(s, target.of(what)):replay(trace)
    end)

  core.classes.schedule.__fields.target = core.schedule_target
  rows.field("schedule", "hardware", "target", "nw.target", "The target that the schedule is made for.")
  TARGET.__fields.machine = target.machine
  rows.field("target", "hardware", "machine", "nw.machine", "The record of the machine.")
  TARGET.__tostring = function(t) return ("target %s: %s"):format(t.name, target.machine(t).about) end
end

return target
