--- Tests the target "gpu": kernels that the simulated GPU runs, their errors, and what they lack.
local nw = require "nestwright"
local support = require "support"
local kernels = require "device_kernels"
local fails = support.fails
kernels.target = "gpu"

local function inputs(s)
  local out = {}
  for n, t in ipairs(s:inputs()) do out[n] = nw.random(t:shape(), t.dtype, {seed = n}) end
  return out
end

-- Calls the kernel of a schedule, and checks that its outputs have the bits of the interpreter.
local function same(s)
  local data = inputs(s)
  local got = {s:build()(table.unpack(data))}
  for n, want in ipairs(nw.interpret(s, data, {lowered = true})) do
    for i = 1, want:count() do assert.equal(want:getflat(i), got[n]:getflat(i)) end
  end
end

-- Returns a schedule in which all threads of a block add to the same element.
local function racing(target)
  local A, k = nw.placeholder({4, 16}, "f32", "A"), nw.reduce_axis(16, "k")
  local s = nw.schedule(nw.compute({4}, function(i) return nw.sum(A(i, k), k) end, "S"), {target = target})
  s:bind("i", "blockIdx.x")
  s:cut("k", 5)
  s:unsafe(function() s:bind("k.rest", "threadIdx.x") end)
  return s
end

describe("the target gpu", function()
  it("is a simulated A100, or a simulation of the machine that is given", function()
    local t = nw.target "gpu"
    assert.same({"gpu", "gpu", false}, {t.name, t.backend, t.here})
    assert.truthy(t.machine.about:find "simulation of NVIDIA A100")
    assert.equal("a100", t.machine.gpu.simulates)
    assert.equal(nw.machine "a100".gpu.shared_block, t.machine.gpu.shared_block)
    assert.equal(nw.machine "t4".gpu.shared_block, nw.target("gpu", {machine = "t4"}).machine.gpu.shared_block)
    assert.equal("cuda", nw.target "a100".backend)
    assert.equal("", nw.machine "a100".gpu.simulates)
  end)

  it("refuses machines that are not a GPU, and other options", function()
    fails("target: machine: zen5 is not a GPU", "invalid", nw.target, "gpu", {machine = "zen5"})
    fails("unknown option 'sms'", "invalid", nw.target, "gpu", {sms = 3})
    fails("for the targets opencl, cuda and gpu", "invalid", nw.target, "a100", {machine = "t4"})
  end)

  it("holds the limits of its machine", function()
    local A = nw.placeholder({2048}, "f32", "A")
    local mali = nw.target("gpu", {machine = "mali_t860"})
    local s = nw.schedule(nw.compute({2048}, function(i) return A(i) end, "C"), {target = mali})
    s:split("i", 512)
    support.fails_saying("the limit of the target is 256", function() s:bind("i_i", "threadIdx.x") end)
  end)
end)

describe("a kernel for the simulated GPU", function()
  it("gives the bits of the interpreter", function()
    for _, s in ipairs {kernels.gemm_naive(32), kernels.gemm_shared(32), kernels.gemm_registers(64, 32, 4, 8, 4),
      kernels.rows(3, 500), kernels.two_stages(100), kernels.histogram(300, 10)} do same(s) end
  end)

  it("takes symbolic sizes, fills outputs that are given, and takes versions", function()
    local N = nw.size "N"
    local A = nw.placeholder({N}, "f32", "A")
    local s = nw.schedule(nw.compute({N}, function(i) return A(i) + 1 end, "C"), {target = "gpu"})
    s:split("i", 32)
    s:bind("i_o", "blockIdx.x")
    s:bind("i_i", "threadIdx.x")
    local f = s:build {versions = {s:version()}}
    local out = nw.zeros {70}
    f(nw.full({70}, 1), out)
    assert.equal(2, out:get(69))
    assert.equal(2, f(nw.full({3}, 1)):get(2))
  end)

  it("runs a nest without bound loops in one thread, if another nest has a grid", function()
    local A = nw.placeholder({20}, "f32", "A")
    local B = nw.compute({20}, function(i) return A(i) * 2 end, "B")
    local s = nw.schedule(nw.compute({20}, function(i) return B(i) + 1 end, "C"), {target = "gpu"})
    fails("no loop that is bound to a GPU's grid", "invalid", nw.simulate, s:retarget "host", {nw.zeros {20}})
    s:bind(s:loops(B)[1], "threadIdx.x")
    same(s)
    assert.same({1, 1, 1}, s:gpu_counts().kernels[2].block)
  end)

  it("has no times, and says so before it runs", function()
    local f = kernels.gemm_naive(32):build()
    local err = fails("time: C has no times: the simulated GPU counts, but it has no clock", "invalid", f.time, f)
    assert.truthy(err.hint:find "gpu_counts")
    local A = nw.placeholder({32, 32}, "f32", "A")
    local host = nw.schedule(nw.compute({32, 32}, function(i, j) return A(i, j) end, "C")):build()
    fails("compare: C has no times", "invalid", nw.compare, {f, host})
    fails("C runs on a GPU", "invalid", f.busy, f)
  end)

  it("shows CUDA C and OpenCL C, and names its views", function()
    local s = kernels.gemm_naive(32)
    local f = s:build()
    assert.truthy(tostring(f:show "opencl"):find "__kernel")
    assert.truthy(tostring(f:show "cuda"):find "__global__")
    assert.truthy(tostring(s:show "ptx"):find ".target sm_80")
    local err = fails("a kernel for gpu has no view 'asm'", "invalid", f.show, f, "asm")
    assert.equal("lowered, ptx, cuda or opencl", err.hint)
  end)

  it("turns a race into an error that names the threads, their blocks and the step", function()
    local s = racing "gpu"
    local err = fails("^S: race: element 0 of S is", "race", s:build(), nw.full({4, 16}, 1))
    assert.truthy(err.message:find "thread %(%d+, 0, 0%) of block %(0, 0, 0%)", err.message)
    assert.truthy(err.message:find '%(step 3: s:bind%("k.rest", "threadIdx.x"%)%)', err.message)
    assert.truthy(err.message:find(nw.simulate(s, {nw.full({4, 16}, 1)}).findings[1].text, 1, true))
  end)

  it("has counts, and a schedule that retargets to other GPUs and back", function()
    local s = kernels.gemm_shared(32)
    local counts = s:gpu_counts()
    assert.equal("a100", counts.machine)
    assert.truthy(tostring(counts):find("simulated for a100; ", 1, true))
    for _, name in ipairs {"a100", "t4"} do
      local other = s:retarget(name)
      assert.equal(counts.accesses[1].requests, other:gpu_counts().accesses[1].requests)
      same(other:retarget "gpu")
    end
    assert.equal("opencl", s:retarget(nw.target("opencl", {machine = "a100"})):retarget("gpu"):retarget(
      nw.target("opencl", {machine = "t4"})).target.backend)
    assert.truthy(s:check():find "agree")
  end)
end)
