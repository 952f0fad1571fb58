--- Tests instructions that a warp executes together: the products of tensor cores, their layouts, and what is refused.
package.path = "tests/spec/?.lua;" .. package.path
local nw = require "nestwright"
local gemm = require "tensor_gemm"
local ptxas = require "ptxas"
local support = require "support"
local fails = support.fails

local PRODUCTS = {"mma.m16n8k8.f16", "mma.m16n8k16.f16", "mma.m16n8k8.bf16", "mma.m16n8k16.bf16", "mma.m16n8k8.tf32"}

-- Checks that f fails, and that the text of the error has all these words.
local function says(words, f, ...)
  local text = tostring(support.error_of(f, ...))
  for _, word in ipairs(words) do assert(text:find(word, 1, true), ("expected '%s' in: %s"):format(word, text)) end
end

-- A bound that is at least that of docs/tensor_cores.md, for sums of n products of numbers in -1 .. 1, by any instruction.
local function bound(n) return 2 * n * 2.0 ^ -23 * n end

local function worst(a, b)
  local most = 0
  for i = 1, a:count() do most = math.max(most, math.abs(a:getflat(i) - b:getflat(i))) end
  return most
end

describe("nw.tensor_core", function()
  it("lists its instructions, and knows no others", function()
    local names = {}
    for n, row in ipairs(nw.tensor_cores()) do names[n] = row.name end
    for _, name in ipairs(PRODUCTS) do assert.truthy(table.concat(names, " "):find(name, 1, true), name) end
    says({"there is no instruction named \"mma.m8n8k4.f16\"", "mma.m16n8k16.f16"}, nw.tensor_core, "mma.m8n8k4.f16")
  end)
  it("tries an instruction, and makes an intrinsic of it", function()
    for _, name in ipairs(PRODUCTS) do
      local mma = nw.tensor_core(name)
      assert.equal(name:gsub("%.", "_"), mma.name)
      assert.is_true(mma.accumulate)
      assert.truthy(tostring(mma):find("sum", 1, true))
    end
  end)
  it("refuses a layout that is not a bijection, and names an element and two lanes", function()
    local function twice(lane, i) return lane // 4 + 8 * (i // 2), 2 * (lane % 4) end
    says({"the layout of C is not a bijection", "C[0, 0] is in lane 0, place 0, and in lane 0, place 1"},
      nw.tensor_core, "mma.m16n8k16.f16", {layouts = {C = twice}})
    local function shared(lane, i) return lane // 8 + 8 * (i // 2), 2 * (lane % 4) + i % 2 end
    says({"C[0, 0] is in lane 0, place 0, and in lane 4, place 0"}, nw.tensor_core, "mma.m16n8k16.f16",
      {layouts = {C = shared}})
    says({"lane 0, place 0 has an element outside of the tile"}, nw.tensor_core, "mma.m16n8k16.f16",
      {layouts = {A = function() return 16, 0 end}})
    says({"must return two whole numbers, got a number and nil"}, nw.tensor_core, "mma.m16n8k16.f16",
      {layouts = {A = function() return 1 end}})
    says({"has no operand D with a layout"}, nw.tensor_core, "mma.m16n8k16.f16", {layouts = {D = twice}})
  end)
  it("refuses a bijection that is not the layout of the instruction, and names the lane", function()
    local function turned(lane, i) return lane % 8 + 8 * (i // 2), 2 * (lane // 8) + i % 2 end
    says({"mma_m16n8k16_f16 failed its trial", "in lane 0, place 0", "it must be"}, nw.tensor_core, "mma.m16n8k16.f16",
      {layouts = {C = turned}})
    local function swapped(lane, i) return lane // 4 + 8 * (i // 2 % 2), 2 * (lane % 4) + 1 - i % 2 + 8 * (i // 4) end
    says({"failed its trial", "with 1 as A[0, 1], in lane 0, place 0"}, nw.tensor_core, "mma.m16n8k16.f16",
      {layouts = {A = swapped}})
  end)
  it("finds two entries of any layout that are swapped, lane by lane", function()
    local r = require "nestwright.measure.rng".new(24)
    for _, row in ipairs(nw.tensor_cores()) do
      local it_ = nw.tensor_core(row.name)
      for operand, usual in pairs(it_.layouts) do
        local count = row.name:find "^ldmatrix" and it_.args[2]:shape() or it_.args[({A = 1, B = 2, C = 3})[operand]]:shape()
        local places = count[1] * count[2] // 32
        local l1, i1, l2, i2 = r:int(0, 31), r:int(0, places - 1), r:int(0, 31), r:int(0, places - 1)
        if l1 == l2 and i1 == i2 then l2 = (l2 + 1) % 32 end
        local function swapped(lane, i)
          if lane == l1 and i == i1 then return usual(l2, i2) end
          if lane == l2 and i == i2 then return usual(l1, i1) end
          return usual(lane, i)
        end
        says({"failed its trial", "in lane "}, nw.tensor_core, row.name, {layouts = {[operand] = swapped}})
      end
    end
  end)
  it("accepts the layouts of the hardware in another form", function()
    local function c(lane, i) return (lane >> 2) + 4 * (i & 2), 2 * (lane & 3) + (i & 1) end
    assert.equal("mine", nw.tensor_core("mma.m16n8k16.f16", {name = "mine", layouts = {C = c}}).name)
  end)
end)

describe("nw.tf32", function()
  it("rounds to 10 bits, away from 0 if two numbers are equally near", function()
    local x = {1 + 2.0 ^ -11, -1 - 2.0 ^ -11, 1 + 2.0 ^ -12, 3.0, math.huge, -math.huge, 0 / 0, 3.4e38}
    local X = nw.placeholder({#x}, "f32", "X")
    local s = nw.schedule(nw.compute({#x}, function(i) return nw.tf32(X(i)) end, "Y"))
    local got = s:build()(nw.tensor(x, "f32"))
    local want = {1 + 2.0 ^ -10, -1 - 2.0 ^ -10, 1, 3, math.huge, -math.huge, 0 / 0, 3.4e38}
    for n = 1, 6 do assert.equal(want[n], got:getflat(n)) end
    assert.is_true(got:getflat(7) ~= got:getflat(7))
    assert.is_true(math.abs(got:getflat(8) / 3.4e38 - 1) < 2.0 ^ -11)
  end)
end)

describe("a product by tensor cores", function()
  local mma, s, x -- one of f16 for the simulated GPU
  setup(function()
    mma = nw.tensor_core "mma.m16n8k16.f16"
    s, x = gemm.make(mma, {target = "gpu"})
  end)

  it("gives the same results in all ways to run it, within the bound of the instruction", function()
    local want = nw.evaluate(x.C, x.data)[1]
    local r = support.simulates(s, x.data)
    for _, got in ipairs {nw.interpret(s, x.data)[1], r.outputs[1], s:build()(table.unpack(x.data))} do
      assert.is_true(worst(want, got) <= bound(32))
    end
  end)
  it("is one instruction of PTX, which ptxas accepts, for each dtype", function()
    for _, row in ipairs {{"mma.m16n8k8.f16", "t4", "sm_75"}, {"mma.m16n8k16.bf16", "h200", "sm_90"},
      {"mma.m16n8k8.tf32", "rtx_4090", "sm_89"}} do
      local one, y = gemm.make(nw.tensor_core(row[1]), {target = row[2]})
      local ptx, cuda = tostring(one:show "ptx"), tostring(one:show "cuda")
      local shape, kind = row[1]:match "^mma%.(%w+)%.(%w+)$"
      local instruction = ("mma.sync.aligned.%s.row.col.f32.%s.%s.f32"):format(shape, kind, kind)
      assert.truthy(ptx:find(instruction, 1, true))
      assert.truthy(cuda:find(instruction, 1, true))
      assert.falsy(cuda:find("__shared__", 1, true))
      if ptxas.path() then ptxas.accepts(ptx, {row[3]}) end
      assert.is_true(worst(nw.evaluate(y.C, y.data)[1], support.simulates(one, y.data).outputs[1]) <= bound(32))
    end
  end)
  it("says that the rounding may change", function()
    assert.is_true(s:rounds())
    local words = "sums in its own order, and may cut sums off instead of rounding them"
    assert.truthy(s:notes():find(words, 1, true))
    for _, view in ipairs {"lowered", "cuda", "ptx"} do assert.truthy(tostring(s:show(view)):find(words, 1, true), view) end
    assert.truthy(tostring(s):find("call mma_m16n8k16_f16:  # " .. words, 1, true))
    assert.truthy(tostring(s:show "cuda"):find("It needs -arch=sm_80", 1, true))
  end)
  it("has a call in the text form, which reads back, and its trace makes it again", function()
    assert.is_true(s:reparses())
    assert.truthy(tostring(s:show "lowered"):find("call mma_m16n8k16_f16 (A_warp[0], B_warp[0], C_warp[0])", 1, true))
    assert.truthy(s:trace():find "tensorize")
    assert.equal(tostring(s), tostring(s:retarget "h200"))
  end)
  it("refuses a later step that moves elements to other places", function()
    says({"the lanes do not hold the elements as mma_m16n8k16_f16 needs them",
      "expected B[1, 0] in lane 0, place 1, found it in lane 0, place 2 of B_warp"}, s.transform_layout, s, x.Bw,
      function(k, j) return k // 16, j // 8, j % 8 * 4 + k // 2 % 4, k % 2 * 2 + k // 8 % 2 end)
    says({"expected adjacent places of A, found aligned strides of A_warp"}, s.storage_align, s, x.Aw, 2, 64, 8)
  end)
end)

describe("warps of one block", function()
  it("have their own fragments, also around barriers", function()
    local s, x = gemm.make(nw.tensor_core "mma.m16n8k16.f16", {target = "gpu", shared = true, warps = 2})
    assert.truthy(tostring(s:show "lowered"):find("barrier\n", 1, true))
    assert.is_true(worst(nw.evaluate(x.C, x.data)[1], support.simulates(s, x.data).outputs[1]) <= bound(32))
    local cuda = tostring(s:show "cuda")
    assert.truthy(cuda:find("\"h\"(A_shared_warp[0])", 1, true)) -- no index of the warp
    assert.truthy(cuda:find("\"+f\"(C_warp[0])", 1, true))
  end)
end)

describe("the sums of a block", function()
  it("may be more than fit in the registers of one warp, if each warp has its part", function()
    local mma = nw.tensor_core "mma.m16n8k16.f16"
    local s, C, data
    nw.quietly(function() s, C, data = gemm.block(mma, 128, "gpu") end) -- 64 KiB, 8 KiB for each of 8 warps
    assert.truthy(tostring(s):find("alloc C_warp[128, 128] warp", 1, true))
    assert.is_true(worst(nw.evaluate(C, data)[1], support.simulates(s, data).outputs[1]) <= bound(32))
  end)
  it("may not be more than fit in the registers of all warps", function()
    local mma = nw.tensor_core "mma.m16n8k16.f16"
    says({"buffers of scope warp take 32768 bytes at the same time; at most 32640 fit in the registers of a warp"}, function()
      nw.quietly(gemm.block, mma, 256, "gpu")
    end)
  end)
end)

describe("a load of matrices", function()
  it("gives each lane its elements, in all ways to run it", function()
    for _, row in ipairs {{"ldmatrix.x4.f16", 16, 4}, {"ldmatrix.x2.trans.f16", 8, 2}, {"ldmatrix.x2.bf16", 16, 2}} do
      local s, x = gemm.loaded(nw.tensor_core(row[1]), {target = "gpu"})
      local r = support.simulates(s, x.data)
      assert.equal(0, worst(nw.evaluate(x.C, x.data)[1], r.outputs[1]), row[1])
      local instruction = ("ldmatrix.sync.aligned.m8n8.%s.shared.b16"):format(row[1]:match "^ldmatrix%.(.*)%.%w+$")
      local ptx = tostring(s:show "ptx")
      assert.truthy(ptx:find(instruction, 1, true))
      assert.truthy(tostring(s:show "cuda"):find(instruction, 1, true))
      if ptxas.path() then ptxas.accepts(ptx, {"sm_80"}) end
      for _, a in ipairs(r.accesses) do
        if a.buffer == x.Ss.name and not a.write then
          assert.same({4, 4 * 8 * row[3]}, {a.requests, a.lanes}) -- one request a block, with a row for each address
        end
      end
    end
  end)
  it("feeds a product", function()
    local mma = nw.tensor_core "mma.m16n8k16.f16"
    local s, x = gemm.make(mma, {target = "gpu", M = 16, N = 8, shared = true})
    s:tensorize(x.lanes[1], nw.tensor_core "ldmatrix.x4.f16")
    s:tensorize(x.lanes[2], nw.tensor_core "ldmatrix.x2.trans.f16")
    local r = support.simulates(s, x.data)
    assert.is_true(worst(nw.evaluate(x.C, x.data)[1], r.outputs[1]) <= bound(32))
  end)
  it("refuses a source outside of shared memory, rows that are not aligned, and another layout", function()
    local mma, it4 = nw.tensor_core "mma.m16n8k16.f16", nw.tensor_core "ldmatrix.x4.f16"
    local s, x = gemm.make(mma, {})
    says({"expected S in storage of scope shared, found A, an argument of the kernel"}, s.tensorize, s, x.lanes[1], it4)
    s, x = gemm.loaded(it4, {plain = true})
    s:storage_align(x.Ss, 0, 16, 4)
    says({"expected rows of S that begin at multiples of 16 bytes, found S_shared, for which this is not proven"}, s.tensorize, s,
      x.lane, it4)
    s:storage_align(x.Ss, 0, 16, 8)
    s:tensorize(x.lane, it4)
    says({"rows"}, s.storage_align, s, x.Ss, 0, 16, 4)
  end)
end)

describe("the model of a GPU", function()
  it("has the rates of tensor cores, and names them as the limit", function()
    -- multiply-adds of a multiprocessor per cycle; the peak of an H200 is published for a lower clock than its highest one
    local rate = {t4 = {512, 0}, a100 = {1024, 512}, h200 = {2048, 1024}, rtx_a6000 = {512, 256}, rtx_4090 = {256, 128},
      titan_x = {0, 0}, mali_t860 = {0, 0}}
    for name, want in pairs(rate) do
      local m = nw.machine(name)
      local per = 1e12 / 2 / (m.gpu.sms * m.clock * 1e9)
      assert.is_true(math.abs(m.gpu.tensor_f16 * per - want[1]) <= 0.08 * want[1], name)
      assert.is_true(math.abs(m.gpu.tensor_tf32 * per - want[2]) <= 0.08 * want[2], name)
    end
    local s = gemm.make(nw.tensor_core "mma.m16n8k8.tf32", {target = "rtx_4090", M = 16 * 64, N = 8 * 64, K = 512})
    local cost = s:cost()
    local limit = {}
    for _, row in ipairs(cost.kernels[1].limits) do limit[row.name] = row.seconds end
    local macs, m = 16 * 64 * 8 * 64 * 512, nw.machine "rtx_4090"
    assert.is_true(math.abs(limit["tensor cores"] / (2 * macs / (m.gpu.tensor_tf32 * 1e12)) - 1) < 0.2)
    says({"titan_x has no tensor cores that execute the products of the schedule", "gpu.tensor_tf32 of its record is 0"}, s.cost, s,
      {machine = "titan_x"})
    local weak = nw.machine {name = "weak", extends = "rtx_4090", gpu = {tensor_tf32 = 4}, sources = {[""] = "made up"}}
    assert.equal("tensor cores", s:cost({machine = weak}).kernels[1].bottleneck)
  end)
end)

describe("the judge", function()
  it("refuses a machine that does not have the instruction", function()
    local f16, bf16 = nw.tensor_core "mma.m16n8k8.f16", nw.tensor_core "mma.m16n8k16.bf16"
    says({"titan_x has no tensor cores that execute mma.m16n8k8.f16", "gpu.tensor_f16 of its record is 0"},
      gemm.make, f16, {target = "titan_x"})
    says({"t4 cannot execute mma.m16n8k16.bf16", "its compute capability is 7.5, and the instruction needs 8.0"},
      gemm.make, bf16, {target = "t4"})
    says({"has no tensor cores that execute", "it is not a GPU"}, function()
      local s, x = gemm.tiled(f16, {target = nw.target "host"})
      s:tensorize(gemm.spread(s, x, f16), f16)
    end)
  end)
  it("refuses fragments with another layout, and names an element and two lanes", function()
    local mma = nw.tensor_core "mma.m16n8k16.f16"
    local s, x = gemm.tiled(mma, {})
    s:transform_layout(x.Aw, function(i, k)
      return i // 16, k // 16, i % 8 + 8 * (k // 2 % 4), k % 2 + 2 * (i // 8 % 2) + 4 * (k // 8 % 2)
    end)
    s:fragment(x.Bw, mma, "B")
    s:fragment(x.Cw, mma, "C")
    local lane = s:lanes(x.i, x.j, mma, "C")
    says({"expected A[0, 2] in lane 1, place 0, found it in lane 8, place 0 of A_warp"}, s.tensorize, s, lane, mma)
  end)
  it("refuses a lane that fills what another lane holds", function()
    local mma = nw.tensor_core "mma.m16n8k16.f16"
    local s, x = gemm.tiled(mma, {})
    for operand, stage in pairs {A = x.Aw, B = x.Bw, C = x.Cw} do s:fragment(stage, mma, operand) end
    for _, row in ipairs {{x.Bw, "B"}, {x.init, "C"}, {x.C, "C"}} do
      local i, j = gemm.last(s, row[1])
      s:lanes(i, j, mma, row[2])
    end
    local i, k = gemm.last(s, x.Aw)
    s:bind(s:split(s:fuse(i, k), {parts = 32}), "threadIdx.x")
    local lane = s:lanes(x.i, x.j, mma, "C")
    says({"A_warp is a fragment: a lane can access only the elements that it holds",
      "lane 0 accesses A_warp[0, 2], and its layout puts this element in lane 1"}, s.tensorize, s, lane, mma)
  end)
  it("refuses operands that are not in storage of scope warp, and loops that are not lanes", function()
    local mma = nw.tensor_core "mma.m16n8k16.f16"
    local s, x = gemm.tiled(mma, {})
    says({"a loop over the 32 lanes of a warp, bound to threadIdx.x", "no loop of threads"}, s.tensorize, s, x.i, mma)
    s:set_scope(x.Aw, "shared")
    s:fragment(x.Bw, mma, "B")
    s:fragment(x.Cw, mma, "C")
    says({"expected A in storage of scope warp, found A_warp, of scope shared"}, s.tensorize, s,
      s:lanes(x.i, x.j, mma, "C"), mma)
  end)
  it("refuses wrong arguments of s:fragment and s:lanes", function()
    local mma = nw.tensor_core "mma.m16n8k16.f16"
    local s, x = gemm.tiled(mma, {})
    says({"mma_m16n8k16_f16 has no operand D with a layout"}, s.fragment, s, x.Aw, mma, "D")
    says({"nothing is not a tensor with rows and columns"}, s.fragment, s, "nothing", mma, "A")
    local plain = nw.intrinsic {name = "copy4", args = (function()
      local P = nw.placeholder({4}, "f32", "P")
      return {P, nw.compute({4}, function(i) return P(i) end, "Q")}
    end)(), code = "shuffles"}
    fails("expected an instruction of a warp", nil, s.lanes, s, x.i, x.j, plain, "P")
  end)
end)
