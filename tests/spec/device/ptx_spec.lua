--- Tests the view "ptx": the kernels of schedules for NVIDIA GPUs. Where ptxas is installed, it must accept each of them.
local nw = require "nestwright"
local kernels = require "gpu_kernels"
local programs = require "golden_programs"
local ptxas = require "ptxas"
local support = require "support"

local A100 = nw.target "a100"

-- Returns the PTX of a schedule without remarks.
local function ptx(s) return tostring(s:show "ptx") end

-- Declares a test that needs ptxas.
local function with_ptxas(what, f)
  if ptxas.path() then it(what, f) else pending(what .. ": ptxas is not installed") end
end

local function has(text, ...)
  for _, part in ipairs {...} do assert.truthy(text:find(part, 1, true), ("'%s' is not in:\n%s"):format(part, text)) end
end

describe("the view \"ptx\"", function()
  it("has a kernel for each launch, with the number of threads of a block", function()
    local text = ptx(kernels.gemm(A100))
    has(text, ".target sm_80", ".visible .entry C_kernel(", ".maxntid 16, 16, 1", "bar.sync", "fma.rn.f32",
      ".shared .align 16 .b8 C_kernel_A_shared[1024]")
    assert.equal(2, select(2, text:gsub("bar%.sync", "")))
    local A = nw.placeholder({64}, "f32", "A")
    local B = nw.compute({64}, function(i) return A(i) + 1 end, "B")
    local C = nw.compute({64}, function(i) return B(63 - i) * 2 end, "C")
    local s = nw.schedule(C, {target = A100})
    for _, stage in ipairs {B, C} do s:bind(s:loops(stage)[1], "threadIdx.x") end
    has(ptx(s), ".visible .entry C_kernel_1(", ".visible .entry C_kernel_2(")
  end)

  it("keeps the sums of a tile in registers", function()
    local text = ptx(kernels.register_tile(A100))
    assert.falsy(text:find("ld.local", 1, true))
    assert.falsy(text:find("__local_depot", 1, true))
  end)

  it("loads and stores vectors whose address is a multiple of their size", function()
    has(ptx(kernels.vectors(A100)), "ld.global.nc.v4.f32", "st.global.v4.f32")
  end)

  it("copies asynchronously from compute capability 8.0 on", function()
    local s = kernels.async(A100)
    has(ptx(s), "cp.async.ca.shared.global", "cp.async.commit_group", "cp.async.wait_group")
    local text = tostring(s:show("ptx", "t4"))
    assert.falsy(text:find("cp.async", 1, true))
    has(text, ".target sm_75", "st.shared")
  end)

  it("requests shared memory at the launch if a block has more than 48 KiB", function()
    local text = ptx(kernels.large_shared(A100))
    has(text, ".extern .shared .align 16 .b8 shared_memory[]")
    assert.falsy(text:find("%.shared [^\n]*%[65536%]"))
  end)

  it("gives each warp its part of a buffer of scope warp", function()
    local A = nw.placeholder({2, 64}, "i32", "A")
    local X = nw.compute({2, 64}, function(y, x) return A(y, x) * 2 end, "X")
    local Y = nw.compute({2, 64}, function(y, x) return X(y, x // 32 * 32 + (x + 1) % 32) + A(y, x) end, "Y")
    local s = nw.schedule(Y, {target = A100})
    s:set_scope(X, "shared")
    for _, stage in ipairs {X, Y} do
      local y, x = table.unpack(s:loops(stage))
      s:bind(y, "threadIdx.y")
      s:bind(x, "threadIdx.x")
    end
    s:set_scope(X, "warp")
    local text = ptx(s)
    has(text, ".shared .align 16 .b8 Y_kernel_X[2048]", "bar.warp.sync")
    if ptxas.path() then ptxas.accepts(text, {"sm_80"}) end
  end)

  it("loads vectors of a matrix whose width is a multiple of them by a fact", function()
    local N = nw.size "N"
    local A = nw.placeholder({16, N}, "f32", "A")
    local s = nw.schedule(nw.compute({16, N}, function(i, j) return A(i, j) * 2 end, "Y"), {target = A100})
    s:split("j", 4)
    s:vectorize "j_i"
    s:bind("i", "blockIdx.x")
    assert.falsy(ptx(s):find("v4.f32", 1, true))
    s:assume "N % 4 == 0"
    has(ptx(s), "ld.global.nc.v4.f32", "st.global.v4.f32")
  end)

  it("is made for another machine if it is named", function()
    local s = kernels.add(nw.target "t4")
    has(tostring(s:show("ptx", "h100")), ".target sm_90")
    has(tostring(s:show("ptx", "rtx_4090")), ".target sm_89")
    has(tostring(s:show("ptx", "titan_x")), ".target sm_52")
    assert.equal("t4", s.target.name)
  end)

  it("is refused for machines that do not run it", function()
    local A = nw.placeholder({8}, "f32", "A")
    local B = nw.compute({8}, function(i) return A(i) + 1 end, "B")
    support.fails("PTX is the code of an NVIDIA GPU, and the schedule is for host", "invalid", function()
      nw.schedule(B):show "ptx"
    end)
    support.fails("no PTX is made for mali_t860, whose record has no compute capability", "codegen", function()
      local s = nw.schedule(B, {target = "mali_t860"})
      s:bind("i", "threadIdx.x")
      s:show "ptx"
    end)
  end)

  it("is written to a file", function()
    local path = support.temporary ".ptx"
    local f = kernels.add(A100):build()
    f:export(path)
    assert.equal((tostring(f:show "ptx"):gsub("%s+$", "")), (support.read(path):gsub("%s+$", "")))
    os.remove(path)
    support.fails("there are no libraries for ", "invalid", function() f:export(support.temporary ".so") end)
  end)

  with_ptxas("is accepted by ptxas for every kernel of the tests", function()
    local batch = ptxas.batch()
    for name, make in pairs(kernels) do
      if name ~= "elementwise" then batch:add(ptx(make(A100)), {"sm_80", "sm_90"}) end
    end
    batch:check()
  end)

  with_ptxas("is accepted by ptxas for products, convolutions, sums, scans and histograms", function()
    local made = require "device_kernels"
    made.target = "a100"
    local all = {
      made.gemm_naive(64), made.gemm_shared(64), made.gemm_registers(64, 32, 4, 8, 4), made.gemm_async(64, 32, 4, 8, 4),
      made.gemm_odd(33, 50, 20), made.gemm_vthread(64), made.conv1d_shared(1000, 31), made.depthwise(4, 30, 50),
      made.rows(10, 1000), made.transpose(64, 1), (made.vector_sum()), made.two_stages(200), made.heat(20, 1000),
      made.histogram(10000, 10), made.half(1000, "f16"), made.half(1000, "bf16"),
    }
    local batch = ptxas.batch()
    for _, s in ipairs(all) do
      batch:add(ptx(s), {"sm_80", "sm_90"})
      batch:add(tostring(s:show("ptx", "h100")), {"sm_90"})
    end
    batch:check()
    has(ptx(all[4]), "cp.async.ca.shared.global", "], 16;")
  end)

  with_ptxas("is accepted by ptxas for every golden program on a grid", function()
    local n, batch = 0, ptxas.batch()
    for _, program in pairs(programs) do
      local made = table.pack(program.make())
      for _, step in ipairs(program.steps) do step(table.unpack(made, 1, made.n)) end
      if tostring(made[1]):find("blockIdx", 1, true) or tostring(made[1]):find("threadIdx", 1, true) then
        n = n + 1
        batch:add(tostring(made[1]:show("ptx", "a100")), {"sm_80", "sm_90"})
        batch:add(tostring(made[1]:show("ptx", "t4")), {"sm_75"})
      end
    end
    batch:check()
    assert.truthy(n >= 5)
  end)
end)
