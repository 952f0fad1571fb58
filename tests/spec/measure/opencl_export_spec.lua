--- Tests the C files that f:export "k.cl" writes beside the kernels: they are compiled by a C compiler, linked with OpenCL and a
--- program that calls them, and run with pocl.
local nw = require "nestwright"
local kernels = require "device_kernels"
local support = require "support"
local pocl = require "pocl"
local fails = support.fails

local TARGET = nw.target "a100"

-- Builds the kernels of DIR/k.cl for the first device, and calls the function that launches them. The arrays are read from DIR/1 to
-- DIR/N, and the last one is written to DIR/out. CALL: the call; SIZES: the bytes of the arrays.
local MAIN = [[
#define CL_TARGET_OPENCL_VERSION 120
#include "k.h"
#include <stdio.h>
#include <stdlib.h>
static char *read_file(const char *path, size_t n) {
  FILE *f = fopen(path, "rb");
  char *data = calloc(n + 1, 1);
  if (!f || fread(data, 1, n, f) == (size_t)-1) exit(1);
  fclose(f);
  return data;
}
int main(void) {
  static const size_t bytes[] = {SIZES};
  enum { N = sizeof bytes / sizeof *bytes };
  const char *text = read_file("DIR/k.cl", 1000000);
  cl_platform_id platform;
  cl_device_id device;
  cl_int error;
  if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) return 1;
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &error);
  cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &error);
  if (error || clBuildProgram(program, 1, &device, "-cl-opt-disable", NULL, NULL)) return 2;
  cl_mem m[N];
  for (int i = 0; i < N; i++) {
    char path[1000];
    snprintf(path, sizeof path, "DIR/%d", i + 1);
    m[i] = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes[i], NULL, &error);
    if (i < N - 1) clEnqueueWriteBuffer(queue, m[i], CL_TRUE, 0, bytes[i], read_file(path, bytes[i]), 0, NULL, NULL);
  }
  int code = CALL;
  char *out = calloc(bytes[N - 1], 1);
  clEnqueueReadBuffer(queue, m[N - 1], CL_TRUE, 0, bytes[N - 1], out, 0, NULL, NULL);
  FILE *f = fopen("DIR/out", "wb");
  fwrite(out, 1, bytes[N - 1], f);
  fclose(f);
  printf("code %d\n", code);
  return 0;
}
]]

-- Returns a schedule of Z(i) = sum(A(i, k)*Y(k)), where Y(i) = sum(A(i, k)*x(k)): two kernels and a temporary.
local function twice(n)
  local A, x = nw.placeholder({n, n}, "f32", "A"), nw.placeholder({n}, "f32", "queue")
  local function times(v, name)
    return nw.compute({n}, function(i)
      local k = nw.reduce_axis(n, "k")
      return nw.sum(A(i, k) * v(k), k)
    end, name)
  end
  local Y = times(x, "program")
  local Z = times(Y, "Z")
  local s = nw.schedule(Z, {target = TARGET})
  for _, stage in ipairs {Y, Z} do
    local o, i = s:split(s:loops(stage)[1], 16)
    s:bind(o, "blockIdx.x") s:bind(i, "threadIdx.x")
  end
  return s
end


local function array_text(a)
  local list = {}
  for i = 1, a:count() do list[i] = ("<f"):pack(a:getflat(i)) end
  return table.concat(list)
end

-- Exports a schedule, and calls its launcher. Returns the outputs and what the program printed.
local function launched(s, data, call, options)
  local dir = support.temporary()
  support.run("mkdir -p " .. dir)
  s:build():export(dir .. "/k.cl", options)
  local want = nw.interpret(s, data, {lowered = true})[1]
  local bytes = {}
  for n, a in ipairs(data) do
    support.write(("%s/%d"):format(dir, n), array_text(a))
    bytes[n] = 4 * a:count()
  end
  bytes[#bytes + 1] = 4 * want:count()
  local main = MAIN:gsub("SIZES", table.concat(bytes, ", ")):gsub("CALL", (call:gsub("%%", "%%%%"))):gsub("DIR", dir)
  support.write(dir .. "/main.c", main)
  local compile = "cc -std=c11 -Wall -Wextra -Werror main.c k.c -o main -l:libOpenCL.so.1"
  local said = support.run(("cd %s && %s && %s ./main"):format(dir, compile, pocl.environment()))
  local out = support.run(("cat %s/out 2>/dev/null"):format(dir))
  os.execute("rm -r " .. dir)
  return want, out, said
end

local function missing()
  if not io.open "/usr/include/CL/cl.h" then
    return "skipped: the headers of OpenCL are not installed; in Debian they are the package opencl-headers"
  end
  return pocl.missing()
end

local function with_pocl(name, f)
  it(name, function()
    local why = missing()
    if why then return pending(why) end
    f()
  end)
end

describe("a kernel in OpenCL C with a launcher in C", function()
  teardown(pocl.close)

  with_pocl("gives the bits of the interpreter, with a size, two launches and a temporary", function()
    local N = nw.size "N"
    local data = {nw.random({40, 40}, "f32", {seed = 1}), nw.random({40}, "f32", {seed = 2})}
    local want, out, said = launched(twice(N), data, "launch_twice(queue, program, 40, m[0], m[1], m[2])", {symbol = "twice"})
    assert.truthy(said:find("code 0", 1, true), said)
    assert.equal(array_text(want), out)
  end)

  with_pocl("launches a kernel in a loop of the host", function()
    kernels.target = TARGET
    local want, out, said = launched(kernels.heat(5, 300), {nw.random({1, 300}, "f32", {seed = 3})},
      "launch_S(queue, program, m[0], m[1])")
    assert.truthy(said:find("code 0", 1, true), said)
    assert.equal(array_text(want), out)
  end)

  with_pocl("refuses sizes that do not meet the facts", function()
    local s = twice(nw.size "N")
    s:assume "N % 8 == 0"
    local data = {nw.random({40, 40}, "f32", {seed = 1}), nw.random({40}, "f32", {seed = 2})}
    local _, _, said = launched(s, data, "launch_Z(queue, program, 41, m[0], m[1], m[2]) * 10 + "
      .. "launch_Z(queue, program, 40, m[0], m[1], m[2])")
    assert.truthy(said:find("code 20", 1, true), said)
  end)

  it("has three files, which replace only files of an export", function()
    local dir = support.temporary()
    support.run("mkdir -p " .. dir)
    local f = twice(32):build()
    f:export(dir .. "/k.cl", {symbol = "twice"})
    f:export(dir .. "/k.cl", {symbol = "twice"})
    assert.truthy(support.read(dir .. "/k.cl"):find("void twice_1(__global const float *restrict A", 1, true))
    local header, source = support.read(dir .. "/k.h"), support.read(dir .. "/k.c")
    local prototype = "int launch_twice(cl_command_queue queue_1, cl_program program_1, cl_mem A, cl_mem queue, cl_mem Z);"
    assert.truthy(header:find(prototype, 1, true), header)
    assert.truthy(source:find('#include "k.h"', 1, true))
    assert.truthy(source:find('nw_launch(queue_1, program_1, "twice_2", nw_groups, nw_items, 3, nw_arguments)', 1, true), source)
    support.write(dir .. "/k.c", "int mine;\n")
    fails("k.c exists and was not written by an export", "invalid", f.export, f, dir .. "/k.cl")
    assert.equal("int mine;\n", support.read(dir .. "/k.c"))
    fails('the name of the file has the character with the code 34', "invalid", f.export, f, dir .. '/a".cl')
    os.execute("rm -r " .. dir)
  end)
end)
