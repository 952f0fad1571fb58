--- Tests that C programs and exported libraries give the same results as the other ways to run a program. The system's compiler
--- compiles the C programs.
local nw = require "nestwright"
local support = require "support"

package.path = "tests/prop/?.lua;" .. package.path
local types = require "types"
local build, extents, gen = require "build", require "sizes", require "gen"
local rng, steps = require "nestwright.measure.rng", require "steps"

local FLAGS = "-std=c99 -O2 -fopenmp -Wall -Wextra -Wno-unused-parameter -Werror" -- the parameter of an empty tensor is not used

-- The beginning of the C program that calls the kernels. The program reads every tensor from an .npy file, and writes each output
-- back to the file of this output.
local HARNESS = [[
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef struct file { char *all; long size; void *data; const char *path; } file;
static file get(const char *path) {
  file f = {0, 0, 0, path};
  FILE *in = fopen(path, "rb");
  if (!in) { perror(path); exit(9); }
  fseek(in, 0, SEEK_END);
  f.size = ftell(in);
  rewind(in);
  f.all = malloc((size_t)f.size);
  if (fread(f.all, 1, (size_t)f.size, in) != (size_t)f.size) exit(9);
  fclose(in);
  f.data = malloc((size_t)f.size);
  long head = 10 + (unsigned char)f.all[8] + 256 * (unsigned char)f.all[9];
  memcpy(f.data, f.all + head, (size_t)(f.size - head));
  return f;
}
static void put(file f) {
  long head = 10 + (unsigned char)f.all[8] + 256 * (unsigned char)f.all[9];
  memcpy(f.all + head, f.data, (size_t)(f.size - head));
  FILE *out = fopen(f.path, "wb");
  if (!out || fwrite(f.all, 1, (size_t)f.size, out) != (size_t)f.size) exit(9);
  fclose(out);
}
static void drop(file f) { free(f.all); free(f.data); }
]]

local directory = support.temporary()
os.execute("mkdir -p " .. directory)

-- A list of kernels that are compiled and run together.
local batch = {}

local function sizes_in(prototype)
  local list = {}
  for name in prototype:gmatch "int64_t (%w+)" do
    if not prototype:find("int64_t %*restrict " .. name .. "[,)]") then list[#list + 1] = name end
  end
  return list
end

-- Adds a schedule to the batch, with its inputs and the values of its sizes. `text` is its C code.
local function add(s, data, sizes, text)
  local n = #batch + 1
  local prototype = text:match "\n(int [%w_]+%([^)]*%))"
  text = text:gsub("\nint [%w_]+%(", ("\nint kernel_%d("):format(n))
  support.write(("%s/k%d.c"):format(directory, n), text)
  local expected = nw.interpret(s, data, {lowered = true})
  local files = {}
  for i, array in ipairs(data) do
    files[#files + 1] = ("%s/k%d_in%d.npy"):format(directory, n, i)
    array:save(files[#files])
  end
  local outputs = {}
  for i, array in ipairs(expected) do
    outputs[i] = ("%s/k%d_out%d.npy"):format(directory, n, i)
    files[#files + 1] = outputs[i]
    nw.zeros(array:shape(), array.dtype):save(outputs[i])
  end
  local values = {}
  for i, name in ipairs(sizes_in(prototype)) do values[i] = tostring(sizes[name]) end
  batch[n] = {schedule = s, files = files, values = values, prototype = prototype, outputs = outputs, expected = expected,
    loose = tostring(text):find "expf?%(" or tostring(text):find "tanhf?%("}
end

local function main_of(list)
  local lines = {HARNESS}
  for n, one in ipairs(list) do
    lines[#lines + 1] = one.prototype:gsub("^int [%w_]+%(", ("int kernel_%d("):format(n)) .. ";"
  end
  lines[#lines + 1] = "int main(void) {"
  for n, one in ipairs(list) do
    local args = {table.unpack(one.values)}
    lines[#lines + 1] = "  {"
    for i, path in ipairs(one.files) do
      lines[#lines + 1] = ("    file f%d = get(\"%s\");"):format(i, path)
      args[#args + 1] = ("f%d.data"):format(i)
    end
    lines[#lines + 1] = ("    if (kernel_%d(%s)) return %d;"):format(n, table.concat(args, ", "), n)
    for i = 1, #one.files do
      if i > #one.files - #one.outputs then lines[#lines + 1] = ("    put(f%d);"):format(i) end
      lines[#lines + 1] = ("    drop(f%d);"):format(i)
    end
    lines[#lines + 1] = "  }"
  end
  lines[#lines + 1] = "  return 0;\n}\n"
  return table.concat(lines, "\n")
end

local function same(a, b, loose)
  if a ~= a or b ~= b then return a ~= a and b ~= b end
  return a == b or (loose and math.abs(a - b) <= 1e-5 * math.max(1, math.abs(a)))
end

local function compare_batch()
  for n, one in ipairs(batch) do
    for i, path in ipairs(one.outputs) do
      local got, want = nw.load(path), one.expected[i]
      for at = 1, want:count() do
        local a, b = want:getflat(at), got:getflat(at)
        if not same(a, b, one.loose) then
          error(("kernel %d, output %d at %d: %s in the interpreter, %s in C\n%s\n%s"):format(n, i, at, a, b,
            tostring(one.schedule), support.read(("%s/k%d.c"):format(directory, n))))
        end
      end
    end
  end
end

-- Compiles and runs the batch with several flags: the text has code for any machine, and code for the instructions of this one.
local function run_batch(...)
  support.write(directory .. "/main.c", main_of(batch))
  for _, more in ipairs {"", ...} do
    local command = ("cc %s%s -o %s/all %s/main.c %s/k*.c -lm"):format(FLAGS, more, directory, directory, directory)
    local said, status = support.run(command)
    assert.equal(0, status, said)
    said, status = support.run("OMP_NUM_THREADS=2 " .. directory .. "/all")
    assert.equal(0, status, said)
    compare_batch()
  end
  batch = {}
  os.execute("rm -f " .. directory .. "/*")
end

local function random(shape, dtype, seed)
  local signless = dtype == "bool" or dtype:find "u"
  return nw.zeros(shape, dtype):fill_random(seed, signless and 0 or -3, dtype == "bool" and 1 or 3)
end

describe("the C view", function()
  teardown(function() os.execute("rm -rf " .. directory) end)

  it("gives the right results for a tiled, packed, parallel product", function()
    local s, C, _, B = support.gemm(37, 45, 29)
    s:tile("i", "j", 8, 16)
    s:split("k", 4)
    s:reorder("i_o", "j_o", "k_o", "k_i", "i_i", "j_i")
    s:cache_write(C, "local", {at = "j_o"})
    s:cache_read(B, "global", nil, {at = "j_o"})
    s:vectorize "j_i"
    s:parallel "i_o"
    local text = tostring(s:show "c")
    for _, wanted in ipairs {"#pragma omp parallel for", "#pragma omp simd", "omp_get_thread_num", "fmaf(", "int C_kernel("} do
      assert.truthy(text:find(wanted, 1, true), wanted)
    end
    add(s, {random({37, 29}, "f32", 1), random({29, 45}, "f32", 2)}, {}, text)
    run_batch()
  end)

  it("gives the right results for symbolic sizes, and refuses sizes that violate its assumptions", function()
    local M = nw.size("M", {min = 1, multiple = 4})
    local A = nw.placeholder({M, 7}, "f32", "A")
    local s = nw.schedule(nw.compute({M, 7}, function(i, j) return A(i, j) * 2 + i end, "double"))
    s:split("i", 4)
    local text = tostring(s:show "c")
    assert.truthy(text:find("M % 4", 1, true), text)
    add(s, {random({12, 7}, "f32", 3)}, {M = 12}, text)
    run_batch()
  end)

  it("contains streaming stores, and gives the right results", function()
    local A = nw.placeholder({64, 32}, "f32", "A")
    local s = nw.schedule(nw.compute({64, 32}, function(i, j) return A(i, j) + 1 end, "Z"))
    s:split("j", 16)
    s:vectorize "j_i"
    s:stream_stores "Z"
    local text = tostring(s:show "c")
    assert.truthy(text:find("omp simd nontemporal(Z)", 1, true), text)
    add(s, {random({64, 32}, "f32", 3)}, {}, text)
    run_batch()
  end)

  it("gives the right results for halves, integers that wrap, and casts that saturate", function()
    local H, X, I = nw.placeholder({33}, "f16", "H"), nw.placeholder({33}, "f64", "X"), nw.placeholder({33}, "i16", "I")
    local half = nw.compute({33}, function(i) return nw.cast(nw.cast(H(i), "f32") * 0.3, "f16") + H(i) end, "half")
    local brain = nw.compute({33}, function(i) return nw.cast(X(i) * 0.1, "bf16") end, "brain")
    local back = nw.compute({33}, function(i) return nw.cast(brain(i), "f64") + nw.cast(nw.cast(X(i) / 3, "f16"), "f64") end,
      "back")
    local wrap = nw.compute({33}, function(i) return I(i) * I(i) * 30000 - I(i) // 7 + I(i) % 5 end, "wrap")
    local clamp = nw.compute({33}, function(i) return nw.cast(X(i) * 100, "i8") end, "clamp")
    local least = nw.compute({33}, function(i) return nw.min(nw.floor(X(i)), nw.abs(X(i)) - 1) end, "least")
    local s = nw.schedule {half, back, wrap, clamp, least}
    add(s, {random({33}, "f16", 4), random({33}, "f64", 5), random({33}, "i16", 6)}, {}, tostring(s:show "c"))
    run_batch()
  end)

  it("gives the right results for random schedules of random computations", function()
    for number = 1, 40 do
      local r = rng.new(7700 + number)
      local case = gen.case(r, nil, types.classes[number % #types.classes + 1])
      local fine, outputs, tensors = pcall(build, case)
      local plain = true -- .npy files cannot hold bf16
      for _, list in ipairs {case.inputs, fine and outputs or {}} do
        for _, t in ipairs(list) do plain = plain and t.dtype ~= "bf16" end
      end
      if fine and plain then
        local s = nw.schedule(outputs)
        local names, placed, shapes = {}, {}, {}
        for _, input in ipairs(case.inputs) do shapes[input.name] = input.dims end
        for name in pairs(tensors) do names[#names + 1] = name end
        table.sort(names)
        for _ = 1, 6 do
          local step = steps.draw(r, s, names, nil, case, placed)
          if step then steps.apply(s, step) end
        end
        local values = extents.values_for(case, s)[1]
        local data = {}
        for n, t in ipairs(values and s:inputs() or {}) do
          data[n] = random(extents.shape_with(shapes[t.name], values), t.dtype, number * 10 + n)
        end
        local made, text = pcall(function() return tostring(s:show "c") end)
        if not made then assert.equal("codegen", text.code, text.message) end
        if made and values then add(s, data, values, text) end
      end
    end
    assert.truthy(#batch >= 20, #batch)
    run_batch(" -march=native", " -DNW_PLAIN")
  end)

  it("names what cannot be expressed in C", function()
    local A = nw.placeholder({4}, "f32", "A")
    local X = nw.compute({4}, function(i) return A(i) + A(i) end, "X")
    for n = 1, 12 do -- each stage doubles the size of the expression after inlining
      local before = X
      X = nw.compute({4}, function(i) return before(i) * before(i) end, "X" .. n)
    end
    local s = nw.schedule(X)
    for n = 11, 1, -1 do s:compute_inline("X" .. n) end
    s:compute_inline "X"
    local fine, text = pcall(function() return tostring(s:show "c") end)
    assert.truthy(fine or text.message:find "too long", tostring(text))
  end)
end)

describe("an exported kernel", function()
  local path = support.temporary()

  teardown(function() os.execute(("rm -rf %s* %s"):format(path, directory)) end)

  it("is called from plain C, with its header", function()
    os.execute("mkdir -p " .. directory)
    local M = nw.size("M", {min = 1})
    local A, B = nw.placeholder({M, 29}, "f32", "A"), nw.placeholder({29, 45}, "f32", "B")
    local k = nw.reduce_axis(29, "k")
    local C = nw.compute({M, 45}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
    local s = nw.schedule(C)
    s:tile("i", "j", 8, 16)
    s:cache_write(C, "local", {at = "j_o"})
    s:cache_read(B, "global", nil, {at = "j_o"})
    s:vectorize "j_i"
    s:parallel "i_o"
    s:build():export(path .. ".so")
    local a, b = random({37, 29}, "f32", 1), random({29, 45}, "f32", 2)
    local want = nw.interpret(s, {a, b}, {lowered = true})[1]
    local files = {path .. ".a.npy", path .. ".b.npy", path .. ".c.npy"}
    a:save(files[1])
    b:save(files[2])
    nw.zeros({37, 45}, "f32"):save(files[3])
    support.write(path .. ".main.c", HARNESS .. ([[
#include "%s.h"
int main(void) {
  file a = get("%s"), b = get("%s"), c = get("%s");
  if (C_kernel(0, a.data, b.data, c.data) != 2) return 3; /* M >= 1 */
  if (C_kernel(37, a.data, b.data, c.data)) return 4;
  put(c);
  drop(a); drop(b); drop(c);
  return 0;
}
]]):format(path, table.unpack(files)))
    local said, status = support.run(("cc %s -o %s.exe %s.main.c %s.so && OMP_NUM_THREADS=2 %s.exe"):format(FLAGS, path, path,
      path, path))
    assert.equal(0, status, said)
    local got = nw.load(files[3])
    for at = 1, want:count() do assert.equal(want:getflat(at), got:getflat(at)) end
  end)

  it("needs a name with a known ending, a writable folder, and a compiler", function()
    local f = support.gemm(4):build()
    support.fails("names no kind of file that can be written", "invalid", function() f:export "kernel.dll" end)
    support.fails("cannot write", "io", function() f:export "/nowhere/at/all/k.so" end)
    support.fails("path", nil, function() f:export() end)
  end)
end)

-- Loads a library, calls its function, forks, and calls it in the child and in the child's child. All three calls must give the
-- same result.
local FORKS = [[
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
enum { N = 1000 };
static float x[N], want[N], got[N];
typedef int kernel(const float *x, float *y);
static int same(kernel *f) {
  memset(got, 0, sizeof got);
  return f(x, got) == 0 && memcmp(got, want, sizeof got) == 0;
}
static int in_child(kernel *f, int depth) {
  pid_t child = fork();
  int status = 0;
  if (child) return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  alarm(20);
  _exit(!(same(f) && (depth == 1 || in_child(f, depth - 1))));
}
int main(int n, char **argument) {
  if (n != 2) return 2;
  void *library = dlopen(argument[1], RTLD_NOW);
  if (!library) return fprintf(stderr, "%s\\n", dlerror()), 3;
  kernel *f;
  *(void **)&f = dlsym(library, "Y_kernel");
  for (int i = 0; i < N; i++) x[i] = (float)i;
  if (!f || f(x, want) || want[7] != 15) return 4;
  if (!in_child(f, 2)) return 5;
  return same(f) ? 0 : 6; /* in the process itself, threads are as they were */
}
]]

describe("a library that has run in parallel", function()
  local path = support.temporary()

  setup(function()
    support.write(path .. ".forks.c", FORKS)
    local said, status = support.run(("cc %s -D_GNU_SOURCE -o %s.forks %s.forks.c -ldl"):format(FLAGS, path, path))
    assert.equal(0, status, said)
  end)
  teardown(function() os.execute(("rm -rf %s*"):format(path)) end)

  -- `chunk` decides how threads share the iterations: in equal parts (nil), in chunks in turn ("static"), or in chunks on demand
  -- ("dynamic").
  local function parallel(chunk)
    local X = nw.placeholder({1000}, "f32", "X")
    local Y = nw.compute({1000}, function(i) return 2 * X(i) + 1 end, "Y")
    local s = nw.schedule(Y)
    s:parallel "i"
    if chunk then s:pragma("i", "chunk", 8) end
    if chunk == "dynamic" then s:pragma("i", "schedule", "dynamic") end
    return s
  end

  local function runs(library)
    local said, status = support.run(("OMP_NUM_THREADS=4 timeout 60 %s.forks %s"):format(path, library))
    assert.equal(0, status, said)
  end

  for _, chunk in ipairs {false, "static", "dynamic"} do
    it("runs on one thread in a forked child, " .. (chunk and chunk .. " chunks" or "no chunks"), function()
      local s = parallel(chunk)
      s:build {threads = 4}:export(path .. ".so")
      runs(path .. ".so")
      support.write(path .. ".text.c", tostring(s:show "c"))
      local said, status = support.run(("cc %s -fPIC -shared -o %s.text.so %s.text.c -lm"):format(FLAGS, path, path))
      assert.equal(0, status, said)
      runs(path .. ".text.so")
    end)
  end

  it("keeps a header that was not written by an export", function()
    local s = parallel()
    support.write(path .. ".h", "precious")
    support.fails("was not written by an export", "invalid", function() s:build():export(path .. ".so") end)
    assert.equal("precious", support.read(path .. ".h"))
    os.remove(path .. ".h")
    s:build():export(path .. ".so")
    s:build():export(path .. ".so") -- this replaces the header that the previous export wrote
    assert.equal("// Made by Nestwright: an exported kernel.", support.read(path .. ".h"):match "^[^\n]*")
  end)

  it("says in its header how pointers must be aligned", function()
    parallel():build():export(path .. ".so")
    local header = support.read(path .. ".h")
    assert.truthy(header:find("may be NULL only", 1, true) and header:find("aligned for its type", 1, true), header)
    assert.truthy(header:find("process forked after", 1, true), header)
  end)
end)

describe("the assembly", function()
  it("names the loops around each block of instructions", function()
    local s = support.gemm(64)
    s:split("k", 4)
    local text = tostring(s:show "asm")
    assert.truthy(text:find("# in i > j > k_o", 1, true), text)
    assert.falsy(text:find "Parent Loop")
    assert.equal(text, tostring(s:build():show "asm"))
  end)
end)
