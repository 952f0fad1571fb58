--- Tests what happens to kernels for GPUs if something is wrong: too many threads, too much shared memory, barriers that not all
--- threads could reach, empty grids, sizes beyond 32 bits, full memory, several sessions on one device, and interrupts. The tests
--- use the simulated GPU, and where a driver matters, pocl and a stand-in for NVIDIA's driver. What happens if a device is lost is
--- tested in opencl_spec.lua and cuda_spec.lua.
local nw = require "nestwright"
local support = require "support"
local pocl = require "pocl"
local fails, fails_saying = support.fails, support.fails_saying

-- Returns a schedule of C(i) = A(i) + 1 in blocks of `threads` threads.
local function vector(n, threads, target)
  local A = nw.placeholder({n}, "f32", "A")
  local s = nw.schedule(nw.compute({n}, function(i) return A(i) + 1 end, "C"), {target = target or "gpu"})
  local block, thread = s:split("i", threads)
  s:bind(block, "blockIdx.x")
  s:bind(thread, "threadIdx.x")
  return s
end

-- Returns a schedule of a transpose whose blocks copy tiles of n x n to shared memory.
local function transpose(n, target)
  local A = nw.placeholder({1024, 1024}, "f32", "A")
  local T = nw.compute({1024, 1024}, function(i, j) return A(j, i) end, "T")
  local s = nw.schedule(T, {target = target or "gpu"})
  local block_i, block_j = s:tile("i", "j", n, n)
  s:bind(block_i, "blockIdx.y")
  s:bind(block_j, "blockIdx.x")
  s:cache_read(A, "shared", {T}, {at = block_j})
  return s
end

-- A program for a session of its own: a kernel that is called several times. Its target is filled in.
local CALLS = [[
local nw = require "nestwright"
local A, B = nw.placeholder({1000}, "f32", "A"), nw.placeholder({1000}, "f32", "B")
local C = nw.compute({1000}, function(i) return A(i) + B(i) end, "sum") -- the stand-in for the driver knows only this kernel
local s = nw.schedule(C, {target = %s})
s:split("i", 128)
s:bind("i_o", "blockIdx.x")
s:bind("i_i", "threadIdx.x")
local f, good = s:build(), 0
for n = 1, 20 do
  local a, b = nw.full({1000}, n), nw.random({1000}, "f32", {seed = n})
  if nw.allclose(f(a, b), nw.evaluate(C, {a, b})[1]) then good = good + 1 end
end
print(good .. " of 20")
]]

-- Runs a program in two sessions at the same time. Returns what both print. environment: what comes before the command.
local function twice(text, environment)
  local file, list = support.temporary ".lua", {}
  support.write(file, text)
  for n = 1, 2 do list[n] = ("%s %s %s >%s.%d 2>&1 & "):format(environment, support.program, file, file, n) end
  support.run("sh -c '" .. table.concat(list) .. "wait'")
  -- Each session has a file of its own, so that no line of one session is inside a line of the other.
  local out = support.run(("cat %s.1 %s.2; rm %s*"):format(file, file, file))
  return (out:gsub("note: [^\n]*\n", ""):gsub("^\n", ""))
end

describe("more threads than the record has", function()
  it("are refused, with the limit of that machine", function()
    fails_saying("threadIdx.x would have 2048 values; the limit of the target is 1024", vector, 4096, 2048)
    fails_saying("the limit of the target is 256", vector, 4096, 512, nw.target("gpu", {machine = "mali_t860"}))
  end)

  it("are refused when a schedule moves to a smaller machine, or is counted for it", function()
    local s = vector(4096, 512)
    local err = fails_saying("the limit of the target is 256", s.retarget, s, "mali_t860")
    assert.equal("refused", err.code)
    fails("512 threads in x are too many for mali_t860: at most 256", "limit", s.gpu_counts, s, {machine = "mali_t860"})
  end)
end)

describe("shared memory over the limit", function()
  it("is refused with the bytes of that machine", function()
    local s = transpose(128)
    fails_saying("buffers of scope shared take 262144 bytes at the same time; at most 166912 fit in a block", transpose, 256)
    fails_saying("at most 65536 fit in a block", transpose, 256, nw.target("gpu", {machine = "t4"}))
    fails("a block uses 65536 bytes of shared memory, and a block of mali_t860 can have 32768", "limit", s.gpu_counts, s,
      {machine = "mali_t860"})
  end)
end)

describe("a barrier in a divergent branch", function()
  it("is not made: copies to shared memory in a loop whose bounds depend on the thread are refused, also when unsafe", function()
    local A, B = nw.placeholder({32, 32}, "f32", "A"), nw.placeholder({32}, "f32", "B")
    local k = nw.reduce_axis(32, "k")
    local C = nw.compute({32}, function(i) return nw.sum(nw.select(nw.le(k, i), A(i, k) * B(k), 0), k) end, "C")
    local s = nw.schedule(C, {target = "gpu"})
    s:decompose_reduction("C", "k")
    s:trim "k"
    s:bind("i", "threadIdx.x")
    local function copy() s:cache_read(B, "shared", {C}, {at = "k"}) end
    fails_saying("belongs to a whole block, and cannot be allocated outside of i: the bounds of k depend on i", copy)
    fails_saying("the bounds of k depend on i", s.unsafe, s, copy)
  end)

  it("is not made where a tail guards threads: all threads of a block reach the barriers", function()
    local A, B = nw.placeholder({33, 20}, "f32", "A"), nw.placeholder({20, 33}, "f32", "B")
    local k = nw.reduce_axis(20, "k")
    local C = nw.compute({33, 33}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
    local s = nw.schedule(C, {target = "gpu"})
    local block_i, block_j, i, j = s:tile("i", "j", 16, 16)
    s:bind(block_i, "blockIdx.y") s:bind(block_j, "blockIdx.x") s:bind(i, "threadIdx.y") s:bind(j, "threadIdx.x")
    s:cache_write("C", "local", {at = j})
    local part = s:split("k", 16)
    s:cache_read("A", "shared", {"C_local"}, {at = part})
    local l = s:loops "A_shared"
    s:bind(l[#l - 1], "threadIdx.y") s:bind(l[#l], "threadIdx.x")
    local data = {nw.random({33, 20}), nw.random({20, 33})}
    local r = nw.simulate(s, data)
    assert.same({}, r.findings)
    assert.is_true(r.kernels[1].barriers > 0)
    assert.is_true((nw.allclose(r.outputs[1], nw.evaluate(C, data)[1])))
  end)
end)

describe("a grid without blocks", function()
  local s = vector(nw.size("N", 0), 32)

  it("gives empty outputs, and counts of 0", function()
    local f = s:build()
    assert.same({0}, f(nw.zeros {0}):shape())
    assert.equal(6, f(nw.full({3}, 5)):get(2))
    local k = s:gpu_counts({sizes = {N = 0}}).kernels[1]
    assert.same({0, 0, 0}, {k.blocks, k.warps, k.barriers})
    assert.same({}, nw.simulate(s, {nw.zeros {0}}).findings)
  end)

  it("has no warp that could be drawn, and says so", function()
    fails("at these sizes, no grid has a block", "invalid", s.gpu_requests, s, "load A", {sizes = {N = 0}})
    fails("at these sizes, no grid has a block", "invalid", nw.warp_request, s, "load A", {sizes = {N = 0}})
    fails("at these sizes, no grid has a block", "invalid", nw.warps, s, {sizes = {N = 0}})
  end)
end)

describe("sizes beyond 32 bits", function()
  it("have 64-bit indices in the texts, and exact addresses", function()
    local s = vector(nw.size("N", 0), 1024)
    local text = tostring(vector(3000000000, 128):show "cuda")
    assert.truthy(text:find("const int64_t tx", 1, true), text)
    assert.truthy(tostring(vector(3000000000, 128):show "opencl"):find "long")
    assert.falsy(tostring(vector(3000, 128):show "cuda"):find "const int64_t tx")
    local r = s:gpu_requests("load A", {sizes = {N = 3000000000}, block = 2900000, most = 1})[1]
    assert.equal(4 * 1024 * 2900000, r.lanes[1].address)
    local counts = s:gpu_counts {sizes = {N = 3000000000}}
    assert.equal(3000000000, counts.accesses[1].lanes)
    assert.is_true(counts.kernels[1].simulated <= 2)
  end)

  it("are refused if the grid is too large for the machine, or a number does not fit", function()
    local s = vector(nw.size("N", 0), 128)
    fails("8589934592 blocks in x are too many for a100: at most 2147483647", "limit", s.gpu_counts, s, {sizes = {N = 1 << 40}})
    for _, n in ipairs {1 << 62, math.maxinteger} do
      fails("A is too large: it would have more than 9 exabytes", "range", s.gpu_counts, s, {sizes = {N = n}})
      fails("A is too large", "range", s.gpu_requests, s, "load A", {sizes = {N = n}})
    end
    fails("N = %-3 is too small: it must be at least 0", "range", s.gpu_counts, s, {sizes = {N = -3}})
  end)
end)

describe("memory", function()
  it("that does not suffice for a temporary is an error, and the session goes on", function()
    local N = nw.size("N", 1)
    local A = nw.placeholder({N}, "f32", "A")
    local B = nw.compute({N, N}, function(i, j) return A(i) + A(j) end, "B")
    local C = nw.compute({N}, function(i) return B(i, N - 1 - i) end, "C")
    local s = nw.schedule(C, {target = "gpu"})
    for _, stage in ipairs {"B", "C"} do s:bind(s:loops(stage)[1], "blockIdx.x") end
    local f = s:build()
    local err = fails("B", "memory", f, nw.zeros {1 << 21})
    assert.truthy(err.message:find "B")
    assert.equal(2, f(nw.full({4}, 1)):get(3))
  end)
end)

describe("two sessions on one device", function()
  it("both get their results: simulated", function()
    assert.equal("20 of 20\n20 of 20\n", twice(CALLS:format '"gpu"', ""))
  end)

  it("both get their results: OpenCL", function()
    local why = pocl.missing()
    if why then return pending(why) end
    assert.equal("20 of 20\n20 of 20\n", twice(CALLS:format '"opencl"', pocl.environment()))
    pocl.close()
  end)

  it("both get their results: CUDA, with a stand-in for the driver", function()
    assert.equal("20 of 20\n20 of 20\n", twice(CALLS:format '"cuda"', ("env LD_LIBRARY_PATH=%s/tests/cuda"):format(support.build)))
  end)
end)

describe("an interrupt in a long simulated kernel", function()
  it("ends the call, and says so", function()
    local file = support.temporary ".lua"
    support.write(file, [[
      local nw = require "nestwright"
      local n = 1 << 12
      local A = nw.placeholder({n, n}, "f32", "A")
      local R = nw.compute({n}, function(i)
        local j, k = nw.reduce_axis(n, "j"), nw.reduce_axis(n, "k")
        return nw.sum(A(i, j) * A(j, k), {j, k})
      end, "R")
      local s = nw.schedule(R, {target = "gpu"})
      s:split("i", 64)
      s:bind("i_o", "blockIdx.x") s:bind("i_i", "threadIdx.x")
      local f, a = s:build(), nw.zeros({n, n}, "f32")
      print "begins"
      f(a)
      print "ends"
    ]])
    local out, status = support.run(("timeout -k 20 -s INT 2 %s %s"):format(support.program, file))
    os.remove(file)
    assert.truthy(out:find "begins", out)
    assert.truthy(out:find "interrupted", out)
    assert.falsy(out:find "ends")
    assert.not_equal(0, status)
  end)
end)
