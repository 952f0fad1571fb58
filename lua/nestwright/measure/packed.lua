--- Packs a schedule for a GPU into a folder that runs on a machine where nothing of this program is installed.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local hw = require "nestwright.hw.gpu"
local inside = require "nestwright.inside"
local sizes = require "nestwright.language.sizes"
local target = require "nestwright.language.target"
local unbound = require "nestwright.language.unbound"

local packed = {}

local SAMPLES = 20 -- times that a run measures
local MOST_STEPS = 40 << 20 -- statements that are interpreted to get the expected outputs
local TOLERANCE = 1e-4 -- of outputs that are not compared bit by bit, relative

-- The script tries the driver's compiler first, which needs no toolkit.
local SCRIPT = [[
#!/bin/sh
# Runs the kernels and prints a line of JSON for each module. Needs a C compiler (or nvcc) and an NVIDIA driver.
cd "$(dirname "$0")" || exit 1
NVCC=$(command -v nvcc || ls /usr/local/cuda*/bin/nvcc 2>/dev/null | tail -n 1)
if command -v cc >/dev/null; then cc -O2 run.c -o run -ldl -lm; else "$NVCC" -O2 run.c -o run -ldl; fi || exit 1
bad=0
if [ -f kernel.ptx ]; then ./run kernel.ptx || bad=1; fi
if [ -n "$NVCC" ]; then
  "$NVCC" -O3 -fmad=false -arch=native -cubin kernel.cu -o kernel.cubin && ./run kernel.cubin || bad=1
fi
exit $bad
]]

local README = [[
A kernel for NVIDIA GPUs, with its inputs and the outputs that it must compute.

  sh run.sh   compiles run.c, runs the kernels, checks the outputs, and prints a line of JSON for each module

kernel.ptx   the kernel in the language of the driver
kernel.cu    the kernel in CUDA C; used only if nvcc is installed
plan.h       the arrays and the launches
run.c        the program that runs them; it needs only the driver's library, libcuda.so.1
*.npy        the inputs and the expected outputs

In a line of JSON, `times` are the seconds of a run of all kernels, `checked` is the number of compared elements, `different`
the number of those that are not equal bit by bit, and `worst` the largest difference.
]]

local function quoted(text) return '"' .. text:gsub('[\\"]', "\\%0"):gsub("\n", "\\n") .. '"' end

-- Returns the expected outputs of the schedule for these inputs, and whether the kernel computes exactly the same bits. Large
-- programs are not interpreted; a compiled naive program computes their outputs.
local function expected(s, inputs)
  local args, outputs = inside.complete("pack", s, inputs)
  local ok, why = pcall(core.interpret, s, true, args, MOST_STEPS)
  if ok then return outputs, true end
  if not (type(why) == "table" and why.code == "limit") then error(why, 0) end
  args, outputs = inside.complete("pack", s, inputs)
  core.schedule_anew(s, target.of()):build()(table.unpack(args))
  return outputs, false
end

-- Returns the text of plan.h.
local function plan(s, options, inputs, outputs, exact, trace)
  local listed = core.launches(s, {sizes = sizes.of("pack", s, options.sizes)})
  exact = exact and listed.fixed_bits
  local arrays, number, most = {}, {}, 1
  local function add(name, dtype, elements, input, output)
    number[name] = #arrays
    local bytes = dtype == "bool" and 1 or tonumber(dtype:match "%d+") // 8
    arrays[#arrays + 1] = ('  {"%s", "%s", %d, %d, %s, %s},'):format(name, dtype, bytes, elements,
      input and '"' .. name .. '.npy"' or "NULL", output and '"' .. name .. '.npy"' or "NULL")
  end
  for n, t in ipairs(s:inputs()) do add(t.name, t.dtype, inputs[n]:count(), true, false) end
  for n, t in ipairs(s:outputs()) do add(t.name, t.dtype, outputs[n]:count(), false, true) end
  for _, w in ipairs(listed.workspaces) do add(w.name, w.dtype, w.elements, false, false) end
  local launches = {}
  for n, l in ipairs(listed.launches) do
    local values = {}
    for k, a in ipairs(l.arguments) do
      values[k] = type(a) == "string" and ("{%d, 0}"):format(number[a]) or ("{-1, %d}"):format(a)
    end
    most = math.max(most, #values)
    launches[n] = ('  {"%s", {%s}, {%s}, %d, %d, {%s}},'):format(l.kernel, table.concat(l.blocks, ", "),
      table.concat(l.threads, ", "), l.shared, #values, table.concat(values, ", "))
  end
  local head = [[
// The arrays and the launches of a run. Made by Nestwright.
typedef struct array {
  const char *name, *dtype;
  unsigned bytes; // of an element
  long long elements;
  const char *input, *expected; // files, or NULL
} array;
typedef struct argument {
  int array; // number of an array, or -1
  long long value;
} argument;
]]
  return table.concat({head, ("#define MOST_ARGUMENTS %d"):format(most), [[
typedef struct launch {
  const char *kernel;
  unsigned blocks[3], threads[3], shared;
  int n;
  argument argument[MOST_ARGUMENTS];
} launch;]],
    ("#define TASK %s"):format(quoted(options.task or s:outputs()[1].name)),
    ("#define TARGET %s"):format(quoted(s.target.name)),
    ("#define TRACE %s"):format(quoted((trace:gsub("\n%s*", " ")))),
    ("#define VERSION %s"):format(quoted(core.version())),
    "#define SEED 1",
    ("#define SAMPLES %d"):format(SAMPLES),
    ("#define TOLERANCE %g"):format(exact and 0 or TOLERANCE),
    ("#define SCALE %g"):format(exact and 0 or 1),
    ("#define NARRAYS %d"):format(#arrays), "static const array arrays[] = {", table.concat(arrays, "\n"), "};",
    ("#define NLAUNCHES %d"):format(#launches), "static const launch launches[] = {", table.concat(launches, "\n"), "};", ""}, "\n")
end

-- Returns the PTX. PTX for an A100 runs on all later GPUs, too.
local function ptx(s)
  if s.target.machine.kind ~= "gpu" then s = s:retarget "a100" end
  return core.kernel_text(hw.real_schedule(s):build(), "ptx")
end

local function random_inputs(s, options)
  if options.arguments then return options.arguments end
  sizes.of("pack", s, options.sizes)
  return table.move(inside.sized_arrays(s, options.sizes or {}), 1, #s:inputs(), 1, {})
end

--- Writes the folder, after all texts have been made, so that nothing is left of a schedule that is refused. See the documentation
--- of s:pack.
function packed.write(s, dir, options)
  local o = errors.options("pack", options, {"sizes", "arguments", "task"})
  unbound.check("pack", s, s.target.machine.kind == "gpu" and hw.name(s.target.machine) or "a GPU")
  local inputs = random_inputs(s, o)
  local cuda = core.schedule_grid_text(s, "cuda")
  local outputs, exact = expected(s, inputs)
  local code, steps = ptx(s), plan(s, o, inputs, outputs, exact, core.schedule_trace(s, "json"))
  core.make_directory("pack", dir)
  local function write(name, text) core.write_file("pack", dir .. "/" .. name, text) end
  write("kernel.cu", cuda)
  write("kernel.ptx", code)
  write("plan.h", steps)
  write("run.c", require "nestwright.measure.packed_run")
  write("run.sh", SCRIPT)
  write("README.txt", README)
  for n, t in ipairs(s:inputs()) do inputs[n]:save(dir .. "/" .. t.name .. ".npy") end
  for n, t in ipairs(s:outputs()) do outputs[n]:save(dir .. "/" .. t.name .. ".npy") end
  return s
end

return packed
