--- Defines the methods of schedules: one for each primitive of the core, and others for views, histories and files.
local assembly = require "nestwright.measure.assembly"
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local guard = require "nestwright.language.guard"
local remarks = require "nestwright.show.remarks"
local rows = require "nestwright.language.rows"
local steps = require "nestwright.language.steps"
local target = require "nestwright.language.target"
local view = require "nestwright.show.view"

local SCHEDULE, TENSOR = core.classes.schedule, core.classes.tensor
local primitives = core.primitives()

-- ---- steps

-- Converts the results of a primitive: names of stages and units, which the core returns, become stage objects.
local function dress(s, p, ...)
  local results = table.pack(...)
  for n = 1, results.n do
    if type(results[n]) == "string" then
      results[n] = steps.stage(s, results[n])
      if p.returns == "unit" then results[n].kind = "unit" end
    end
  end
  return table.unpack(results, 1, results.n)
end

local listeners = {}
local waiting = {} -- remarks from before the first listener: the prompt loads its listener at the end of the first line
local MOST_WAITING = 100

--- Registers f(text), which is called with each remark of a step. The prompt uses it to show the remarks.
local function on_note(f)
  listeners[#listeners + 1] = f
  for _, text in ipairs(waiting) do f(text) end
  waiting = {}
end

-- True if a remark would be used.
local function is_heard() return listeners[1] or remarks.at_once() or #waiting < MOST_WAITING end

-- Calls all listeners with a remark. While a script runs, writes the remark.
local function note(text)
  for _, f in ipairs(listeners) do f(text) end
  if remarks.at_once() then
    remarks.write(text)
  elseif not listeners[1] and is_heard() then
    waiting[#waiting + 1] = text
  end
end

local function tell(s, ...)
  if is_heard() and not core.is_quiet() then
    local notes = s:notes()
    if notes ~= "" then note(notes) end
  end
  return ...
end

-- Returns a new schedule. Its note says which stages are dropped.
local function told(s) return tell(s, s) end

local function step_method(p)
  return function(s, ...)
    local args = steps.arguments(s, p, ...)
    return tell(s, dress(s, p, core.classes.schedule.__methods.apply(s, p.name, args)))
  end
end

-- ---- stages: s[C]

local stage_methods = {}
local stage_fields = {}
steps.stage_meta.__methods, steps.stage_meta.__fields = stage_methods, stage_fields
function steps.stage_meta.__index(stage, key)
  if stage_methods[key] then return stage_methods[key] end
  return stage_fields[key] and stage_fields[key](stage)
end
steps.stage_meta.__tostring = function(stage) return ("%s %s"):format(stage.kind or "stage", stage.name) end

-- Returns the name of a loop without the numbers that distinguish it from the loops of other stages: i_o for i_1_o.
local function unnumbered(name) return (name:gsub("_%d+%f[_\0]", "")) end

local function loop_in_stage(stage, name)
  local loops = core.schedule_loops(stage.schedule, stage.name)
  for _, loop in ipairs(loops) do
    if loop.name == name then return loop end
  end
  for _, loop in ipairs(loops) do
    if unnumbered(loop.name) == name then return loop end
  end
  return name
end

-- Returns an argument in which the names of loops are replaced by the loops of the stage. The argument may be a list.
local function loops_in_stage(stage, value)
  if type(value) == "string" then return loop_in_stage(stage, value) end
  if type(value) ~= "table" or getmetatable(value) ~= nil then return value end
  local out = {}
  for key, item in pairs(value) do out[key] = math.type(key) and type(item) == "string" and loop_in_stage(stage, item) or item end
  return out
end

-- Returns the method of stages for a primitive. s[P]:compute_at(s[C], loop), as in TVM, is the same step as s[P]:compute_at(loop).
local function forward(p)
  local takes_stage = p.params[1] and p.params[1].kind == "stage"
  return function(stage, ...)
    local args = table.pack(...)
    if takes_stage then
      local first = args[1]
      local consumer = (steps.is_stage(first) or debug.getmetatable(first) == TENSOR) and args.n > 1
      if consumer and p.params[2] and p.params[2].kind == "loop" then table.remove(args, 1) args.n = args.n - 1 end
      return stage.schedule[p.name](stage.schedule, stage.name, table.unpack(args, 1, args.n))
    end
    local of_loops = p.params[1] and (p.params[1].kind == "loop" or p.params[1].item == "loop")
    for n = 1, of_loops and args.n or 0 do args[n] = loops_in_stage(stage, args[n]) end
    return stage.schedule[p.name](stage.schedule, table.unpack(args, 1, args.n))
  end
end

-- Returns the loops that the stage had when it was made. If a step has replaced a loop by one other loop, the list has the other
-- loop. If it has replaced the loop by several, the list has the old loop, and its use is an error that names them.
local function axes_of(stage, kind, of)
  local list = core.own_loops(stage.schedule, stage.name, of)
  for n, loop in ipairs(list) do
    local now = loop.forwarded
    if not loop.alive and #now == 1 then list[n] = now[1] end
  end
  return setmetatable(list, {__index = function(_, key)
    if key == 0 then errors.fail("range", nil, "`op.%s[0]`: Lua counts from 1: write `op.%s[1]`", kind, kind) end
  end})
end

-- Returns the operation of a stage as in TVM: s[C].op.axis and s[C].op.reduce_axis are lists of loops.
function stage_fields.op(stage)
  return {name = stage.name, axis = axes_of(stage, "axis", "axis"), reduce_axis = axes_of(stage, "reduce_axis", "reduce")}
end

-- ---- views

local VIEWS = {"loops", "full", "lowered", "llvm", "asm", "ptx", "c", "cuda", "opencl", "stream", "log", "trace"}

local show = {}
function show.full(s) return core.schedule_print(s) end
function show.lowered(s, options)
  local o = type(options) == "table" and errors.options("show", options, {"pass", "fold"}) or {pass = options}
  if o.fold == false then return core.schedule_lowered(s, o.pass) end
  return (core.lowered_folded(s, o.pass))
end
function show.llvm(s) return core.kernel_text(s:build(), "llvm") end
function show.asm(s) return assembly.shown(core.kernel_text(s:build(), "asm")) end
function show.ptx(s, machine)
  if machine ~= nil then
    local other = target.of(machine, "show: machine")
    if other ~= s.target then s = s:retarget(other) end
  end
  if s.target.machine.kind ~= "gpu" then
    errors.fail("invalid", 's:show("ptx", "a100") makes it for an A100; s:retarget "a100" makes a schedule for it',
      "show: PTX is the code of an NVIDIA GPU, and the schedule is for %s", s.target.name)
  end
  return core.kernel_text(require "nestwright.hw.gpu".real_schedule(s):build(), "ptx")
end
function show.c(s) return core.schedule_c(s) end
function show.cuda(s) return core.schedule_grid_text(s, "cuda") end
function show.opencl(s) return core.schedule_grid_text(s, "opencl") end
function show.stream(s) return core.stream_text(core.stream(s, {})) end
function show.log(s) return tostring(s:log()) end
function show.trace(s) return core.schedule_trace(s) end

local function show_loops(s, changed)
  local version = s:version()
  return view.new(function(style)
    local text = core.schedule_show(s, style, version, changed)
    if style ~= "html" then return text end
    return require "nestwright.notebook.nests".html(s, version, text, changed and version > 0)
  end)
end

local function show_view(s, what, ...)
  if what == nil or what == "loops" then return show_loops(s, true) end
  if type(what) == "table" then return view.text(require "nestwright.cost.costs_shown".nest(s, what)) end
  return view.text(show[what](s, ...))
end

-- Returns the heading of a version that is given by its number or by the name of a branch. If the number is given, the heading also
-- has the step that made the version.
local function version_text(s, version)
  local entry = math.type(version) == "integer" and core.schedule_log(s)[version + 1]
  return ("version %s%s"):format(version, entry and entry.step and ": " .. entry.step or "")
end

-- ---- inputs and outputs of the computation

-- Returns the inputs and outputs of a schedule, or of a list of outputs. sizes: values of the symbolic sizes in their dimensions,
-- by name.
local function signature(of, sizes)
  local found = core.signature(of, sizes)
  for _, list in pairs(found) do
    for _, t in ipairs(list) do
      local dims = t.dims
      function t.shape() return dims end
    end
  end
  return found
end

-- Returns the dimensions of a tensor. Raises an error if one of them is not a number.
local function known(dims)
  for _, dim in ipairs(dims) do
    if math.type(dim) ~= "integer" then errors.fail("range", nil, "the size %s cannot be computed from the shapes of the inputs",
      dim) end
  end
  return dims
end

-- Returns an array of zeros for an entry of a signature.
local function array(t)
  if t.strides then return core.array_strided(known(t.dims), t.dtype, known(t.strides)) end
  return core.array(known(t.dims), t.dtype)
end

-- ---- files

local function save(s, path)
  local json = require "nestwright.show.json"
  local saved = {nestwright = core.version(), computation = core.schedule_print(s, 0),
    trace = core.schedule_trace(s, "json"), lua = core.schedule_trace(s)}
  core.write_file("save", path, json.encode(saved) .. "\n")
  return s
end

local function read_saved(path)
  local ok, saved = pcall(require "nestwright.show.json".decode, core.read_file("load: path", path))
  if not ok or type(saved) ~= "table" or type(saved.trace) ~= "string" or type(saved.computation) ~= "string" then
    errors.fail("parse", nil, "load: %s is not a saved schedule%s", path, ok and "" or " (" .. tostring(saved) .. ")")
  end
  return saved
end

return function(nw)
  local define = rows.definer(nw, "nw", "schedules")
  local methods = rows.methods "schedule"
  local method = rows.definer(methods, "schedule", "schedules")
  local stage_method = rows.definer(stage_methods, "stage", "schedules")

  define("schedule", "(...: nw.tensor|nw.tensor[]|{target?: string|table|nw.machine|nw.target}): nw.schedule",
    "A schedule that computes these outputs (a list is accepted too). It starts as the naive program. Its methods are steps; each "
    .. "step is judged, and is refused with a reason if it would change the results. target, in a table after the outputs: the "
    .. "machine that the schedule is made for, as in nw.target; by default this host.",
    function(...) return told(target.schedule(...)) end)
  nw.create_schedule = nw.schedule

  define("quietly", "(f: function, ...: any): any ...",
    "Calls f(...) and returns its results. The remarks of its steps, such as \"i divides evenly\", are not shown; s:notes() still "
    .. "returns them. For functions that make many steps.", core.quietly)

  for _, p in ipairs(primitives) do
    rows.define(methods, "schedule", "steps", p.name, steps.signature(p), steps.doc(p), step_method(p), true)
    stage_methods[p.name] = guard.guarded(p.name, "(self: nw.stage)", forward(p), true)
  end

  method("show", "(self: nw.schedule, what?: '" .. table.concat(VIEWS, "'|'")
    .. "'|{cost?: boolean, machine?: any, sizes?: table, threads?: integer, measured?: boolean}, "
    .. "pass?: string|{pass?: string, fold?: boolean}): nw.view",
    "The loop nest, with the changes of the last step marked; or another view: " .. table.concat(VIEWS, ", ") .. ". For "
    .. "'lowered', `pass` names the pass to stop after. In a long program, statements that an unrolled loop has repeated are "
    .. "folded; s:show(\"lowered\", {fold = false}) shows them all. s:show{cost = true} is the lowered nest with the prediction "
    .. "of s:cost beside each loop: its share of the time, cycles including its body, misses of the first cache, bottleneck; "
    .. "machine, sizes and threads as in s:cost. The measured time of each loop is there too if s:loop_times has "
    .. "measured this version. "
    .. "measured = true: it is measured now, with random inputs and as many threads as the prediction; false: it is not shown. "
    .. "s:show(\"ptx\", \"a100\") is the PTX of a schedule for another machine, after s:retarget to this GPU.",
    show_view)
  method("text", "(self: nw.schedule, version?: integer): string", "The full text of the program, which can be read back.",
    function(s, version) return core.schedule_print(s, version) end)
  method("diff", "(self: nw.schedule, a?: integer|string, b?: integer|string): nw.view",
    "The differences between the versions `a` and `b`. Without `a`, the view shows what the step to `b` changed. By default, `b` "
    .. "is the current version. Versions are numbers, where 0 is the naive program, or names of branches.",
    function(s, a, b)
      b = b or s:version()
      core.schedule_diff(s, "plain", a, b) -- raises an error now, not when the view is shown
      return view.new(function(style)
        local text = core.schedule_diff(s, style, a, b)
        if style ~= "html" then return text end
        return require "nestwright.notebook.nests".beside(text, a and "version " .. a or "before the step", version_text(s, b))
      end)
    end)
  method("trace", "(self: nw.schedule, format?: 'lua'|'json'): string",
    "The steps as Lua code that can be run again, or as 'json'. Automatic choices are written as the values that were chosen.",
    function(s, format) return core.schedule_trace(s, format) end)
  method("loops", "(self: nw.schedule, stage?: nw.stage|nw.tensor|string): nw.loop[]",
    "The loops of one stage or of all stages, outermost first.",
    function(s, stage) return core.schedule_loops(s, steps.is_stage(stage) and stage.name or stage) end)
  method("stages", "(self: nw.schedule): nw.stage[]", "The stages, in the order in which they run.",
    function(s)
      local list = core.schedule_stages(s)
      for n, name in ipairs(list) do list[n] = steps.stage(s, name) end
      return list
    end)
  method("inputs", "(self: nw.schedule): table[]", "The inputs of the computation: name, dtype and shape() of each.",
    function(s) return signature(s).inputs end)
  method("outputs", "(self: nw.schedule): table[]", "The outputs of the computation: name, dtype and shape() of each.",
    function(s) return signature(s).outputs end)
  method("pack", "(self: nw.schedule, what: nw.tensor|string, data?: nw.array|{sizes?: table, arguments?: nw.array[], "
    .. "task?: string}): nw.array|nw.schedule",
    "s:pack(tensor, data) converts an input or an output from the shape of the computation to the shape that a kernel takes after "
    .. "transform_layout. Positions that hold no element get the pad_value of the step, or 0. If the schedule does not change its "
    .. "shape, returns the same array. s:pack \"dir\" writes a folder with all that is needed to run the kernels of a schedule for "
    .. "a GPU on another machine: the code, the launches, inputs, expected outputs, and run.sh, which prints a line of JSON with "
    .. "times. That machine needs a C compiler and an NVIDIA driver. sizes: values of symbolic sizes; arguments: the inputs, by "
    .. "default random ones; task: a name for the line of JSON.",
    function(s, what, data)
      if data ~= nil and debug.getmetatable(data) == core.classes.array then return core.pack(s, what, data, true) end
      if type(what) ~= "string" then return core.pack(s, what, data, true) end
      return require "nestwright.measure.packed".write(s, what, data)
    end)
  method("unpack", "(self: nw.schedule, tensor: nw.tensor|string, data: nw.array, sizes?: table): nw.array",
    "Converts an input or an output back from the shape that a kernel takes after transform_layout. sizes: the values of the "
    .. "symbolic sizes that do not follow from the shape of the data: s:unpack(C, c, {M = 37}).",
    function(s, tensor, data, sizes)
      for name, value in pairs(errors.expect("unpack: sizes", sizes or {}, "table")) do
        if type(name) ~= "string" or math.type(value) ~= "integer" then
          errors.fail("invalid", "for example {M = 37}", "unpack: sizes: expected names with whole numbers")
        end
      end
      return core.pack(s, tensor, data, false, sizes)
    end)
  method("save", "(self: nw.schedule, path: string): nw.schedule", "Writes the computation and the steps to a file.",
    save)
  method("load", "(self: nw.schedule, path: string): nw.schedule",
    "Applies the steps of a saved schedule. Each step is judged again, so the computation may have another shape.",
    function(s, path) return s:replay(read_saved(path).trace) end)
  rows.define(methods, "schedule", "kernels", "check", "(self: nw.schedule): string",
    "Compares the schedule with its definition in three ways: interpreted, lowered and interpreted, and compiled. Symbolic sizes "
    .. "get small values, such as 0, 1, primes, and sizes near those of the tiles; constant sizes keep their values. If the sizes "
    .. "are too large to interpret, only the compiled program is run, and it is compared at the corners and at some random "
    .. "elements. The instructions of an accelerator are not executed. The result states what was checked; an error names the "
    .. "first difference.",
    function(s) return core.check(s) end)

  stage_method("axes", "(self: nw.stage): nw.loop ...",
    "The stage's own loops, outermost first. If the stage is computed in a loop of another stage, the loops of the other stage are "
    .. "left out.",
    function(stage) return table.unpack(core.own_loops(stage.schedule, stage.name)) end)
  rows.field("stage", "schedules", "op", "{name: string, axis: nw.loop[], reduce_axis: nw.loop[]}",
    "The operation of the stage, as in TVM: s[C].op.axis[1] is the loop of the first axis, and s[C].op.reduce_axis[1] that of the "
    .. "first reduce axis. The lists have the loops that the stage had before any step; Lua counts from 1.")
  stage_method("loops", "(self: nw.stage): nw.loop[]", "The loops around the stage as a list.",
    function(stage) return core.schedule_loops(stage.schedule, stage.name) end)

  SCHEDULE.__tostring = function(s) return tostring(show_loops(s, false)) end
  SCHEDULE.__lookup = function(s, key)
    if steps.is_stage(key) then return steps.stage(s, key.name) end
    local name = debug.getmetatable(key) == TENSOR and core.schedule_name_of(s, key) or type(key) == "string" and key
    if not name then return nil end
    for _, stage in ipairs(core.schedule_stages(s)) do
      if stage == name then return steps.stage(s, name) end
    end
    if type(key) ~= "string" then
      errors.fail("invalid", nil, "%s is not a stage of this schedule", name)
    end
  end

  target.install(nw)

  package.loaded["nestwright.inside"] = {signature = signature, known = known, array = array, on_note = on_note, note = note}
end
