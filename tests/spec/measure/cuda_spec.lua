--- Tests that kernels run through NVIDIA's driver, with a stand-in for the driver (tests/device/fake_cuda.c). Each test runs a
--- program of its own, because the stand-in is found through the environment.
local support = require "support"

local FAKE = support.build .. "/tests/cuda"

local HEAD = [[
package.path = "tests/spec/?.lua;" .. package.path
local nw = require "nestwright"
local core = require "nestwright.core"
local function vector(name, f, target)
  local A, B = nw.placeholder({1000}, "f32", "A"), nw.placeholder({1000}, "f32", "B")
  local C = nw.compute({1000}, function(i) return f(A(i), B(i)) end, name)
  local s = nw.schedule(C, {target = target or "cuda"})
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

-- Runs a program with the stand-in. fails: what fails. Returns what the program prints.
local function run(text, fails, prefix)
  local file = support.temporary ".lua"
  support.write(file, HEAD .. text)
  local out = support.run(("%s env LD_LIBRARY_PATH=%s FAKE_CUDA=%s %s %s"):format(prefix or "", FAKE, fails or "", support.program,
    file))
  os.remove(file)
  return (out:gsub("note: [^\n]*\n", ""))
end

local function prints(want, ...)
  local out = run(...)
  assert.truthy(out:find(want), ("'%s' is not in:\n%s"):format(want, out))
end

describe("kernels on an NVIDIA GPU", function()
  it("copy their inputs to the GPU and their outputs back", function()
    prints("true.*true", [[
      local s, C = vector("sum", sum)
      local f = s:build()
      print((nw.allclose(nw.evaluate(C, {a, b})[1], f(a, b))))
      print((nw.allclose(nw.evaluate(C, {b, b})[1], f(b, b))))
    ]])
  end)

  it("have symbolic sizes and versions", function()
    prints("^true\t.-7.0\ntrue\t.-7.0\n0\n", [[
      local M = nw.size("M", 0)
      local A, B = nw.placeholder({M}, "f32", "A"), nw.placeholder({M}, "f32", "B")
      local C = nw.compute({M}, function(i) return A(i) + B(i) end, "sum")
      local s = nw.schedule(C, {target = "cuda"})
      s:split("i", 128)
      s:bind("i_o", "blockIdx.x")
      s:bind("i_i", "threadIdx.x")
      local any = s:version()
      s:assume "M % 128 == 0"
      local f = s:build {versions = {s:version(), any}}
      for _, n in ipairs {256, 100} do
        local x, y = nw.random({n}, "f32"), nw.full({n}, 7, "f32")
        print(nw.allclose(nw.evaluate(C, {x, y})[1], f(x, y)), y:getflat(n) // 1)
      end
      print(f(nw.zeros {0}, nw.zeros {0}):count())
    ]])
  end)

  it("are not launched with more blocks than the GPU has", function()
    prints("limit: kernel: twice_kernel has 70000 blocks in y; the limit of cuda is 65535", [[
      local M = nw.size "M"
      local A = nw.placeholder({M, 4}, "f32", "A")
      local s = nw.schedule(nw.compute({M, 4}, function(i, j) return A(i, j) * 2 end, "twice"), {target = "cuda"})
      s:bind("i", "blockIdx.y")
      s:bind("j", "threadIdx.x")
      said(s:build(), nw.zeros {70000, 4})
    ]])
  end)

  it("need a bound loop, and have no parallel loops", function()
    prints("^invalid: build: no loop is bound .*\n6.0\ncodegen: .*a GPU runs no parallel loop of a CPU: bind i to blockIdx.x", [[
      local A = nw.placeholder({8}, "f32", "A")
      local B = nw.compute({8}, function(i) return A(i) * 2 end, "twice")
      local s = nw.schedule(B, {target = "cuda"})
      said(s.build, s)
      s:bind("i", "threadIdx.x")
      print(s:build()(nw.full({8}, 3, "f32")):getflat(3))
      s = nw.schedule(B, {target = "cuda"})
      s:parallel "i"
      said(s.build, s)
    ]])
  end)

  it("are timed by the GPU's clock", function()
    prints("0.00025\t0.00025\t7", [[
      local t = vector("sum", sum):build():time(a, b, {reps = 7})
      print(t.min, t.median, t.reps)
    ]])
    prints("gpu +min +250 us", [[
      local f, s = vector("sum", sum):build(), select(2, vector("sum", sum))
      print(nw.compare {gpu = f, cpu = nw.schedule(s):build(), args = {a, b}})
    ]])
  end)

  it("have a target that the driver describes", function()
    prints("cuda\t8\t108\t85899345920\tcuda\n.*reported by the driver", [[
      local m = nw.target "cuda".machine
      print(m.name, m.gpu.capability, m.gpu.sms, m.memory.bytes, nw.target "cuda".backend)
      print(m:source "gpu.sms")
    ]])
    prints("^989\t108", [[print(nw.machine "cuda".gpu.tensor_f16, nw.machine "cuda".gpu.sms)]], "", "env FAKE_CUDA_NAME=H100")
  end)

  it("say that there is no driver or no GPU, and what to do", function()
    local empty = support.temporary()
    os.execute(("mkdir %s && : > %s/libcuda.so.1"):format(empty, empty))
    local file = support.temporary ".lua"
    support.write(file, HEAD .. "said(nw.target, 'cuda') said(vector, 'sum', sum)")
    local out = support.run(("env LD_LIBRARY_PATH=%s %s %s"):format(empty, support.program, file))
    os.execute(("rm -r %s %s"):format(empty, file))
    local want = "no GPU can be used, because NVIDIA's driver is not there or is too old: [^\n]+ | install NVIDIA's driver, "
      .. "in Debian the package nvidia%-driver; nw.target \"a100\" makes schedules and PTX for an A100 without a GPU\n"
    assert.truthy(out:find("^io: target: " .. want .. "io: schedule: " .. want), out)
    local no_gpu = "io: target: NVIDIA's driver is installed, but it finds no GPU that it can use: the driver finds no GPU"
    prints(no_gpu, "said(nw.target, 'cuda')", "none")
  end)

  it("say that the memory of the GPU is full", function()
    prints("memory: kernel: the GPU has not enough memory for A: cuMemAlloc: out of memory",
      "said(vector('sum', sum):build(), a, b)", "memory")
  end)

  it("say why the driver does not accept the code", function()
    prints("codegen: NVIDIA's driver does not accept the code: .*what a fake does not like",
      "said(vector('sum', sum):build(), a, b)", "ptx")
  end)

  it("lose the worker, not the session, after an error of the GPU", function()
    prints("crash: the GPU failed while a kernel was running: the kernel: an illegal memory access.*true", [[
      local f = vector("sum", sum):build()
      local first = core.gpu().worker
      said(f, a, b)
      local second = core.gpu().worker
      said(f, a, b)
      print(first ~= second and second ~= core.gpu().worker)
    ]], "launch")
    prints("crash: the worker for the GPU ended while a kernel was running.*still here", [[
      said(vector("sum", sum):build(), a, b)
      print "still here"
    ]], "crash")
  end)

  it("can be interrupted", function()
    prints("interrupted", "vector('sum', sum):build()(a, b)", "hang", "timeout -k 20 -s INT 3")
  end)

  it("use arrays that stay on the GPU", function()
    prints("true\ttrue\ttrue\n.*false\ttrue\t4.5\ntrue\tfalse\ntrue\ttrue\n", [[
      local f, C = vector("sum", sum):build(), select(2, vector("sum", sum))
      local on = core.array_on_gpu
      local x = nw.device_array(a)
      local y = f(x, b)
      local z = f(y, x)
      print(on(x), on(y), on(z))
      local want = nw.evaluate(C, {nw.evaluate(C, {a, b})[1], a})[1]
      print((nw.allclose(want, z)))
      y:setflat(1, 3)
      x:setflat(1, 1.5)
      print(on(x), on(z), f(x, y):getflat(1))
      local host = nw.schedule(C):build()
      local w = host(z, x)
      print((nw.allclose(nw.evaluate(C, {z, x})[1], w)), on(w))
      local row = z:slice({from = 10, to = 20})
      f(y, x, z)
      print((nw.allclose(z:slice({from = 10, to = 20}), row)), row:getflat(1) == z:getflat(11))
    ]])
    prints("stale: .*only on the GPU, and were lost when its worker ended | compute it again\n1.25\n", [[
      local f = vector("sum", sum):build()
      local x = nw.device_array(a)
      local y = f(x, b)
      os.execute("kill -9 " .. core.gpu().worker)
      said(y.getflat, y, 1)
      x:setflat(1, 1)
      b:setflat(1, 0.25)
      print(f(x, b):getflat(1))
    ]])
  end)

  it("refuse code for a newer GPU, and what is observed only in this process", function()
    prints("invalid: kernel: sum is code for h100, of compute capability 9.0; NVIDIA A100%-SXM4%-80GB has 8.0",
      "said(vector('sum', sum, 'h100'):build(), a, b)")
    prints("invalid: time: cold: sum runs on a GPU", [[
      local f = vector("sum", sum):build()
      said(f.time, f, a, b, {cold = true})
    ]])
  end)
end)
