--- Tests that kernels run through OpenCL, with pocl, which runs them on the CPU. Each test is a program for another session,
--- because the environment selects pocl. Most programs share a session, because pocl needs a second before it compiles its first
--- kernel.
local support = require "support"
local pocl = require "pocl"

local HEAD = [[
package.path = "tests/spec/?.lua;" .. package.path
local nw = require "nestwright"
local core = require "nestwright.core"
local kernels = require "device_kernels"
local support = require "support"
kernels.target = nw.target("opencl", {machine = "a100"})
local function vector(name, f, target)
  local A, B = nw.placeholder({1000}, "f32", "A"), nw.placeholder({1000}, "f32", "B")
  local C = nw.compute({1000}, function(i) return f(A(i), B(i)) end, name)
  local s = nw.schedule(C, {target = target or kernels.target})
  s:split("i", 128)
  s:bind("i_o", "blockIdx.x")
  s:bind("i_i", "threadIdx.x")
  return s, C
end
local function sum(a, b) return a + b end
local a, b = nw.random({1000}, "f32", {seed = 1}), nw.random({1000}, "f32", {seed = 2})
local function said(...)
  local ok, err = pcall(...)
  print(ok and "no error" or err.code .. ": " .. err.message .. (err.hint and " | " .. err.hint or ""))
end
]]

-- Schedules that a course on GPUs would make, at small sizes.
local SCHEDULES = {
  "kernels.gemm_naive(32)", "kernels.gemm_shared(32)", "kernels.gemm_registers(64, 32, 4, 8, 4)",
  "kernels.gemm_async(64, 32, 4, 8, 4)", "kernels.gemm_odd(33, 50, 20)", "kernels.gemm_vthread(64)", "kernels.conv1d(1000, 7)",
  "kernels.conv1d_shared(1000, 31)", "kernels.depthwise(2, 30, 50)", "kernels.rows(5, 1000)", "kernels.transpose(64)",
  "kernels.transpose(64, 1)", "kernels.vector_sum()", "kernels.two_stages(100)", "kernels.heat(5, 300)",
  "kernels.histogram(3000, 10)", "kernels.half(300, 'f16')", "kernels.half(300, 'bf16')",
}

local SAME = [[
local made = 0
local function same(what, s)
  local data = {}
  for n, t in ipairs(s:inputs()) do
    local shape = {}
    for d, extent in ipairs(t.dims) do shape[d] = math.type(extent) and extent or 1003 end
    data[n] = nw.random(shape, t.dtype, {seed = n, lo = t.dtype:find "^[iu]" and 0 or nil, hi = t.dtype:find "^[iu]" and 10 or nil})
  end
  local want = nw.interpret(s, data, {lowered = true})
  local got = {s:build()(table.unpack(data))}
  for n, array in ipairs(want) do
    for i = 1, array:count() do
      local x, y = array:getflat(i), got[n]:getflat(i)
      if x ~= y then return print(("%s: output %d at %d: got %s, want %s"):format(what, n, i, y, x)) end
    end
  end
  made = made + 1
end
]]

-- The programs that share a session, and what each of them has printed: a list and a table, both with names of tests.
local shared, printed = {}, nil

-- Runs the programs that share a session. A program that fails prints its error.
local function run_shared()
  local lines = {HEAD, SAME}
  for n, program in ipairs(shared) do
    lines[#lines + 1] = ("print('[%d]') do local ok, err = pcall(function() %s end) if not ok then print(err) end end"):format(n,
      program.text)
  end
  local out, said = pocl.run(table.concat(lines, "\n")), {}
  for n, program in ipairs(shared) do said[program.name] = out:match(("%%[%d%%]\n(.-)%%f[%%[%%z]"):format(n)) or out end
  return said
end

local function prints(want, out) assert.truthy(out:find(want), ("'%s' is not in:\n%s"):format(want, out)) end

local function with_pocl(name, f)
  it(name, function()
    local why = pocl.missing()
    if why then return pending(why) end
    f()
  end)
end

-- Declares a test whose program shares a session, and what it prints.
local function in_session(name, want, text)
  shared[#shared + 1] = {name = name, text = text}
  with_pocl(name, function()
    printed = printed or run_shared()
    prints(want, printed[name])
  end)
end

describe("kernels through OpenCL", function()
  teardown(pocl.close)

  local lines = {"local all = made"}
  for _, text in ipairs(SCHEDULES) do lines[#lines + 1] = ("same(%q, (%s))"):format(text, text) end
  lines[#lines + 1] = "print(made - all)"
  in_session("give the bits of the interpreter for each kind of schedule", "^" .. #SCHEDULES .. "\n$", table.concat(lines, "\n"))

  -- pocl 3.1 optimised this kernel to one that gave random results.
  in_session("give the bits of the interpreter with private arrays on both sides of a barrier", "^1\n$", [[
    local all = made
    local A, B = nw.placeholder({32, 4}, "f32", "A"), nw.placeholder({4, 1}, "f32", "B")
    local C = nw.compute({32, 1}, function(i, j)
      local k = nw.reduce_axis(4, "k")
      return nw.sum(A(i, k) * B(k, j), k)
    end, "C")
    local s = nw.schedule(C, {target = kernels.target})
    s:tile("i", "j", 4, 16)
    s:bind("i_o", "blockIdx.y") s:bind("j_o", "blockIdx.x") s:bind("i_i", "threadIdx.y") s:bind("j_i", "threadIdx.x")
    s:cache_write(C, "local", {at = "j_i"})
    s:split("k", 2)
    s:cache_read(B, "shared", {"C_local"}, {at = "k_o"})
    same("private arrays", s)
    print(made - all)
  ]])

  in_session("have empty outputs if no block is launched", "^0\t6.0\n$", [[
    local N = nw.size("N", 0)
    local A = nw.placeholder({N}, "f32", "A")
    local s = nw.schedule(nw.compute({N}, function(i) return A(i) + 1 end, "C"), {target = "opencl"})
    s:split("i", 32)
    s:bind("i_o", "blockIdx.x")
    s:bind("i_i", "threadIdx.x")
    local f = s:build()
    print(f(nw.zeros {0}):count(), f(nw.full({3}, 5)):get(2))
  ]])

  in_session("are timed by the clock of the device", "true\ttrue\t7", [[
    local t = vector("sum", sum):build():time(a, b, {reps = 7})
    print(t.min > 0, t.min < 0.1, t.reps)
  ]])

  in_session("have a target that the driver describes", "opencl\topencl\tgpu\ttrue\ttrue\n.*reported by the driver\n1024", [[
    local t, reported = nw.target "opencl", core.gpu "opencl"
    local m = t.machine
    print(t.name, t.backend, m.kind, m.gpu.threads == reported.threads_block, m.gpu.shared_block == reported.shared_block)
    print(m:source "gpu.threads")
    print(nw.target("opencl", {machine = "a100"}):limits().threads)
  ]])

  in_session("refuse more threads than the device has", "threadIdx.x would have 4096 values; the limit of the target is 1024", [[
    local A = nw.placeholder({1 << 16}, "f32", "A")
    local s = nw.schedule(nw.compute({1 << 16}, function(i) return A(i) + 1 end, "B"), {target = kernels.target})
    s:split("i", 4096)
    s:bind("i_o", "blockIdx.x")
    print(select(2, pcall(s.bind, s, "i_i", "threadIdx.x")))
  ]])

  in_session("use arrays that stay on the device", "true\ttrue\ttrue\ntrue\ttrue\n", [[
    local f, C = vector("sum", sum):build(), select(2, vector("sum", sum))
    local there = nw.device_array(a, "opencl")
    local r = f(there, b)
    print(core.array_on_gpu(there), core.array_on_gpu(r), (nw.allclose(nw.evaluate(C, {a, b})[1], r)))
    local again = f(r, there)
    print(core.array_on_gpu(again), (nw.allclose(nw.evaluate(C, {r, a})[1], again)))
  ]])

  in_session("lose the worker, not the session, if it is killed", "true\t0\ntrue\tfalse\n", [[
    local f = vector("sum", sum):build()
    local want, first = f(a, b), core.gpu "opencl".worker
    os.execute("kill -9 " .. first .. "; sleep 0.5")
    local got = f(a, b)
    print(nw.allclose(want, got), first == core.gpu "opencl".worker and 1 or 0)
    print(first > 0, first == core.gpu "opencl".worker)
  ]])

  with_pocl("say why the driver does not accept the code", function()
    local out = pocl.run(HEAD .. [[
        local compiled = os.getenv "POCL_CACHE_DIR"
        core.gpu "opencl"
        os.execute("rm -rf " .. compiled .. "; touch " .. compiled) -- the driver cannot store what it compiles
        said(vector("sum", sum):build(), a, b)
        os.remove(compiled)
      ]], "env POCL_CACHE_DIR=" .. support.temporary())
    prints("codegen: the driver for OpenCL does not accept the code: clBuildProgram: error %-%d+ %(CL_[A-Z_]+%)", out)
  end)

  with_pocl("can be interrupted while a kernel runs", function()
    -- A first call compiles the kernel. The second one would take minutes.
    prints("^compiled\n.*interrupted", pocl.run(HEAD .. [[
      local N = nw.size "N"
      local A = nw.placeholder({N, N}, "f32", "A")
      local R = nw.compute({N}, function(i)
        local j, k = nw.reduce_axis(N, "j"), nw.reduce_axis(N, "k")
        return nw.sum(A(i, j) * A(j, k), {j, k})
      end, "R")
      local s = nw.schedule(R, {target = kernels.target})
      s:split("i", 64)
      s:bind("i_o", "blockIdx.x") s:bind("i_i", "threadIdx.x")
      local f, n = s:build(), 1 << 13
      f(nw.zeros({64, 64}, "f32"))
      print "compiled"
      os.execute "(sleep 0.3; kill -INT $PPID) &"
      f(nw.zeros({n, n}, "f32"))
    ]], "timeout -k 20 20"))
  end)

  it("say that OpenCL has no device, and what to do", function()
    local empty = support.temporary()
    os.execute("mkdir -p " .. empty)
    local file = support.temporary ".lua"
    support.write(file, 'print(select(2, pcall(require "nestwright".target, "opencl")))')
    local out = support.run(("env OCL_ICD_VENDORS=%s %s %s"):format(empty, support.program, file))
    os.execute(("rm -r %s %s"):format(empty, file))
    local no_library = "OpenCL cannot be used, because its library libOpenCL.so.1 is not there or is too old: "
    local no_device = "OpenCL is installed, but it finds no device that it can use: it finds no driver of a device"
    assert.truthy(out:find(no_library, 1, true) or out:find(no_device, 1, true), out)
    assert.truthy(out:find(" pocl-opencl-icd", 1, true), out)
  end)
end)
