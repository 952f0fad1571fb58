--- Runs and times kernels, runs schedules in the interpreter, and evaluates definitions.
local assembly = require "nestwright.measure.assembly"
local conditions = require "nestwright.measure.conditions"
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local hw = require "nestwright.hw.gpu"
local returning = require "nestwright.language.returning"
local rows = require "nestwright.language.rows"
local sizes = require "nestwright.language.sizes"
local target = require "nestwright.language.target"
local times = require "nestwright.measure.times"
local unbound = require "nestwright.language.unbound"
local view = require "nestwright.show.view"
local inside = require "nestwright.inside"

local ARRAY, TENSOR = core.classes.array, core.classes.tensor
local built = setmetatable({}, {__mode = "k"}) -- kernel -> {threads, inputs, loops (their names, as keys), schedule, version}

-- Returns the tensors and the options of a call such as f:time(a, b, {reps = 10}). Without options, the second result is nil.
local function split_options(...)
  local args = table.pack(...)
  local last = args[args.n]
  if type(last) == "table" then
    args[args.n] = nil
    args.n = args.n - 1
    return args, last
  end
  return args, nil
end

-- ---- sizes

-- Returns the values of the symbolic sizes that follow from the shapes of the inputs. of: a schedule, or a list of outputs.
local function bind_sizes(of, inputs, arrays) return core.sizes_from(of, {table.unpack(arrays, 1, #inputs)}) end

-- Returns the arguments of a run, which are the given inputs and then the outputs. Outputs that are not given are new arrays. The
-- second result is the list of the outputs. of: a schedule, or the outputs of a definition.
local function complete(what, of, arrays)
  local signature = inside.signature(of)
  local nin, nout = #signature.inputs, #signature.outputs
  for n, value in ipairs(arrays) do
    if debug.getmetatable(value) ~= ARRAY then
      errors.fail("invalid", nil, "%s: argument %d: expected a tensor with data, got %s", what, n, core.type_name(value))
    end
  end
  if #arrays ~= nin and #arrays ~= nin + nout then
    errors.fail("invalid", nil, "%s: arguments: expected %d inputs, or %d tensors (inputs and outputs); got %d", what, nin,
      nin + nout, #arrays)
  end
  local args, outputs = {table.unpack(arrays)}, {}
  for n, output in ipairs(inside.signature(of, bind_sizes(of, signature.inputs, arrays)).outputs) do
    if not args[nin + n] then args[nin + n] = inside.array(output) end
    outputs[n] = args[nin + n]
  end
  return args, outputs
end

local function random_array(n, input)
  local narrow = input.dtype:find "f" or input.dtype == "bool"
  return inside.array(input):fill_random(n, 0, narrow and 1 or 9)
end

local WAY_OUT = {time = "pass the inputs, or sizes, as in f:time{sizes = {M = 64}}",
  compare = "pass the inputs, or sizes, as in nw.compare{f, g, sizes = {M = 64}}"}

-- Returns random inputs for a computation with constant shapes. Raises an error if a size is symbolic.
local function make_inputs(what, inputs)
  local arrays = {}
  for n, input in ipairs(inputs) do
    for _, dim in ipairs(table.move(input.strides or {}, 1, #input.dims, #input.dims + 1, {table.unpack(input.dims)})) do
      if math.type(dim) ~= "integer" then
        errors.fail("invalid", WAY_OUT[what] or "pass the inputs", "%s: the size %s has no value", what, dim)
      end
    end
    arrays[n] = random_array(n, input)
  end
  return arrays
end

local function note_loops(s, names)
  for _, loop in ipairs(s:loops()) do names[loop.name] = true end
end

-- Builds one kernel from several versions.
local function dispatching(s, o, names)
  local kernels = {}
  returning.always(s, function()
    for n, version in ipairs(errors.expect("build: versions", o.versions, "table")) do
      s:checkout(version)
      note_loops(s, names)
      kernels[n] = core.compile(s, o.threads, o.opt, o.cache == false)
    end
  end)
  return core.kernel_dispatch(kernels)
end

-- Returns random inputs of a schedule, and its outputs, for these values of its sizes.
local function sized_arrays(s, values)
  local signature, arrays = inside.signature(s, values), {}
  for n, input in ipairs(signature.inputs) do arrays[n] = random_array(n, input) end
  for _, output in ipairs(signature.outputs) do
    arrays[#arrays + 1] = inside.array(output)
  end
  return arrays
end

-- Returns random inputs of a kernel for the values of its sizes that `read` returns. `read` takes the schedule of the kernel.
local function inputs_of_sizes(what, kernel, read)
  local s, version = (built[kernel] or {}).schedule, (built[kernel] or {}).version
  if not s then errors.fail("invalid", "pass the inputs", "%s: sizes: the kernel was not made by s:build()", what) end
  return returning.always(s, function()
    s:checkout(version)
    return table.move(sized_arrays(s, read(s)), 1, #built[kernel].inputs, 1, {})
  end)
end

-- Raises an error if both the tensors and the values of sizes are given.
local function refuse_both(what, values, given)
  if values == nil or #given == 0 then return end
  errors.fail("invalid", "leave out one of them", "%s: the shapes of the tensors give the sizes, but sizes are given too", what)
end

local function kernel_arrays(what, kernel, given)
  local inputs = built[kernel] and built[kernel].inputs
  if #given == 0 and inputs and #inputs > 0 then given = make_inputs(what, inputs) end
  return core.kernel_args(kernel, {table.unpack(given)})
end

-- ---- times

local function count(n, word) return ("%d %s%s"):format(n, word, n == 1 and "" or "s") end

local function kernel_signature(kernel)
  local ins, outs = {}, {}
  for _, p in ipairs(kernel:params()) do
    local list = p.output and outs or ins
    list[#list + 1] = p.name
  end
  return ("(%s -> %s)"):format(table.concat(ins, ", "), table.concat(outs, ", "))
end

-- Appends the names of the options that state conditions to a list of names, and returns the list.
local function with_conditions(names) return table.move(conditions.OPTIONS, 1, #conditions.OPTIONS, #names + 1, names) end

local TIME = with_conditions {"reps", "min_seconds", "warmup", "sizes"}

local function time_kernel(kernel, ...)
  local given, options = split_options(...)
  local o = errors.options("time", options, TIME)
  local warmup = o.warmup == nil and 1 or o.warmup
  if math.type(warmup) ~= "integer" or warmup < 0 then
    errors.fail("range", nil, "time: warmup: expected a number of runs, got %s", tostring(warmup))
  end
  core.kernel_has_times(kernel, "time")
  local how = conditions.of("time", o)
  refuse_both("time", o.sizes, given)
  if o.sizes ~= nil then
    given = inputs_of_sizes("time", kernel, function(s)
      sizes.of("time", s, o.sizes)
      return o.sizes
    end)
  end
  local args = conditions.placed(how, kernel_arrays("time", kernel, given))
  for _ = 1, warmup do kernel(table.unpack(args)) end
  return times.record(core.kernel_time(kernel, args, o.reps, o.min_seconds, how), kernel, how, args)
end

local function outputs_list(what, outputs)
  if debug.getmetatable(outputs) == TENSOR then return {outputs} end
  return errors.expect(what, outputs, "table")
end

local SCHEDULE_TIME = table.move(TIME, 1, #TIME, 4, {"threads", "opt", "cache"})

local function asm(kernel, options)
  local o = errors.options("asm", options, {"loop"})
  local text = core.kernel_text(kernel, "asm")
  if o.loop == nil then return view.text(assembly.shown(text)) end
  local wanted = debug.getmetatable(o.loop) == core.classes.loop and o.loop.name or errors.expect("asm: loop", o.loop, "string")
  local lines, found = assembly.of_loop(text, wanted, (built[kernel] or {}).loops or {})
  if #lines == 0 then
    errors.fail("invalid", "unrolled and vectorized loops are not loops of the code", "asm: loop: the code has no loop '%s'; %s",
      wanted, #found > 0 and "its loops are " .. table.concat(found, ", ") or "it has no loops")
  end
  return view.text(table.concat(lines, "\n"))
end

-- Returns the kernel of which the PTX is shown or exported. The simulated GPU runs no PTX, so its kernel is compiled again for a
-- GPU like it.
local function with_ptx(kernel)
  local about = built[kernel]
  if not about or about.several or about.schedule.target.machine.kind ~= "gpu" then return kernel end
  return returning.always(about.schedule, function()
    about.schedule:checkout(about.version)
    local s = hw.real_schedule(about.schedule)
    return s == about.schedule and kernel or s:build()
  end)
end

return function(nw)
  local define = rows.definer(nw, "nw", "kernels")
  local schedule_method = rows.definer(rows.methods "schedule", "schedule", "kernels")
  local kernel_method = rows.definer(rows.methods "kernel", "kernel", "kernels")

  schedule_method("build",
    "(self: nw.schedule, options?: {threads?: integer, opt?: integer, cache?: boolean, versions?: (integer|string)[], "
    .. "target?: string|table|nw.machine|nw.target}): nw.kernel",
    "Compiles the schedule. threads: the number of threads; all cores by default. f(a, b) returns the outputs; f(a, b, c) fills "
    .. "c. versions: versions of the schedule by number or branch, each with the facts that s:assume stated. A call runs the "
    .. "first version whose facts hold for its sizes; a decision tree finds this version. If there is none, the call runs the last "
    .. "version, which may assume only what all others assume. target: the schedule's own; code for another target is refused, and "
    .. "s:retarget(t) makes a schedule for it. Code for another CPU than this host's is not run; use f:show \"asm\" and f:export.",
    function(s, options)
      local o = errors.options("build", options, {"threads", "opt", "cache", "versions", "target"})
      target.check(s, o.target)
      if s.target.machine.kind == "gpu" and not o.versions then unbound.check("build", s, s.target.machine.name) end
      local names = {}
      note_loops(s, names)
      local kernel = o.versions and dispatching(s, o, names) or core.compile(s, o.threads, o.opt, o.cache == false)
      built[kernel] = {threads = o.threads, inputs = inside.signature(s).inputs, loops = names, schedule = s, version = s:version(),
        several = o.versions ~= nil}
      if kernel.notes ~= "" then inside.note((kernel.notes:gsub("\n$", ""))) end
      return kernel
    end)

  rows.define(rows.methods "schedule", "schedule", "timing", "time", "(self: nw.schedule, ...: nw.array|table): nw.time",
    "Builds and times the schedule. If no inputs are given, they are random. The last argument may be a table of options of build "
    .. "and of f:time.",
    function(s, ...)
      local given, options = split_options(...)
      local o, rest = errors.options("time", options, SCHEDULE_TIME), {}
      for _, name in ipairs(TIME) do rest[name] = o[name] end
      given[given.n + 1] = rest
      return time_kernel(s:build {threads = o.threads, opt = o.opt, cache = o.cache}, table.unpack(given, 1, given.n + 1))
    end)

  rows.define(rows.methods "kernel", "kernel", "timing", "time",
    "(self: nw.kernel, ...: nw.array|{reps?: integer, min_seconds?: number, warmup?: integer, sizes?: table, "
    .. conditions.TYPES .. "}): nw.time",
    "Measures the kernel on these tensors, or on random inputs if none are given. sizes gives values to symbolic sizes then, as in "
    .. "f:time{sizes = {M = 64}}. The answer has min, median, spread, samples "
    .. "(all in seconds of wall-clock time), reps, threads and machine. spread, over the median: the interquartile range of the "
    .. "samples, or the distance between the medians of batches if that is larger. A sample in which a thread had to wait for its "
    .. "core is taken again (retaken: how many). disturbed: true if most samples stayed disturbed by other work; comparisons then "
    .. "give no verdict. " .. conditions.HELP .. " The answer states its conditions: align (of the addresses of all "
    .. "arrays), offset, cold, clock (seconds that were subtracted from each cold call), cpus, huge_bytes (on huge pages) of "
    .. "mapped_bytes, and all of them as text in conditions.", time_kernel)

  kernel_method("show", "(self: nw.kernel, what?: 'lowered'|'llvm'|'asm'|'ptx'|'cuda'|'opencl'|'c'|'versions'): nw.view",
    "The code of the kernel: 'lowered', 'llvm', 'asm' (of a CPU), 'ptx' and 'cuda' (of an NVIDIA GPU), 'opencl' (of "
    .. "another GPU) or 'c'; or 'versions': the decision tree over the sizes that determines "
    .. "which of its versions a call runs.",
    function(kernel, what)
      what = what or "lowered"
      local text = core.kernel_text(what == "ptx" and with_ptx(kernel) or kernel, what)
      return view.text(what == "asm" and assembly.shown(text) or text)
    end)

  kernel_method("export", "(self: nw.kernel, path: string, options?: {symbol?: string}): nw.kernel",
    "Writes all versions of the kernel as one C function. A path such as \"gemm.so\" makes a shared library of the machine "
    .. "code, and the header gemm.h next to it; this needs a C compiler that links for the target of the schedule: this host, or "
    .. "another CPU (aarch64-linux-gnu-gcc). A path such as \"gemm.ptx\" writes the PTX of a kernel for an NVIDIA "
    .. "GPU, \"gemm.cu\" its CUDA C with a function that launches it, "
    .. "and \"gemm.cl\" the OpenCL C of a kernel for another one; gemm.c and gemm.h beside it have a function in C that "
    .. "launches it. A path such as \"gemm.c\" writes the "
    .. "text of f:show \"c\". Its first lines say how to compile it so that it is as quick as the library: "
    .. "vectors have the vector types of GNU C, for gcc and clang; other compilers "
    .. "get plain loops. symbol: the name of the function; by default it is made from the name of the output. The "
    .. "function takes the symbolic sizes, then pointers to row-major data; it returns 0 on success.",
    function(kernel, path, options)
      local o = errors.options("export", options, {"symbol"})
      if o.symbol ~= nil then errors.expect("export: symbol", o.symbol, "string") end
      core.kernel_export(errors.expect("export: path", path, "string"):find "%.ptx$" and with_ptx(kernel) or kernel, path, o.symbol)
      return kernel
    end)

  kernel_method("asm", "(self: nw.kernel, options?: {loop?: string|nw.loop}): nw.view",
    "The assembly of the kernel, as f:show \"asm\". loop: only that of one loop, with the loops in it, without directives. "
    .. "If the loop was copied, all copies follow. nw.beside{{\"before\", f:asm{loop = \"k\"}}, {\"after\", g:asm{loop = "
    .. "\"k\"}}} shows two versions side by side. Unrolled and vectorized loops are not loops of the code.", asm)

  core.name_function(core.classes.kernel.__call, "kernel")
  core.classes.kernel.__tostring = function(kernel)
    local about = built[kernel] or {}
    local to = core.kernel_target(kernel)
    if not to.here then return ("kernel %s, for %s"):format(kernel_signature(kernel), to.name) end
    return ("%skernel %s, %s, compiled in %.1f ms%s"):format(kernel.unsafe and "unsafe " or "", kernel_signature(kernel),
      (about.threads or 0) > 0 and count(about.threads, "thread") or "all cores", kernel.compile_ms,
      times.tested(", %s", kernel.tested))
  end

  define("evaluate", "(outputs: nw.tensor|nw.tensor[], arguments: nw.array[]): nw.array[]",
    "Evaluates the definition element by element, without a schedule. This is slow, but the result is the reference for all other "
    .. "results.",
    function(outputs, arguments)
      outputs = outputs_list("evaluate: outputs", outputs)
      local args, made = complete("evaluate", outputs, errors.expect("evaluate: arguments", arguments, "table"))
      core.evaluate(outputs, args)
      return made
    end)

  define("interpret",
    "(s: nw.schedule, arguments: nw.array[], options?: {lowered?: boolean, steps?: integer}): nw.array[]",
    "Runs the schedule in the interpreter, which checks every access. lowered = true: runs the lowered program, which is also "
    .. "the program that is compiled. steps: the largest number of executed statements; a longer run ends with an error (code "
    .. "'limit').",
    function(s, arguments, options)
      local o = errors.options("interpret", options, {"lowered", "steps"})
      local args, made = complete("interpret", s, errors.expect("interpret: arguments", arguments, "table"))
      core.interpret(s, o.lowered or false, args, o.steps)
      return made
    end)

  inside.complete, inside.kernel_arrays, inside.split_options = complete, kernel_arrays, split_options
  inside.bind_sizes, inside.sized_arrays = bind_sizes, sized_arrays
  inside.inputs_of_sizes, inside.refuse_both = inputs_of_sizes, refuse_both
end
