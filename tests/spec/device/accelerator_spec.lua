--- Tests schedules for accelerators, the streams of instructions that they become, and their simulation in time.
local nw = require "nestwright"
local product = require "chip_gemm"
local support = require "support"

local vdla, vta = nw.accelerator "vdla", nw.accelerator "vta"

local function inputs(s)
  local out = {}
  for n, t in ipairs(s:inputs()) do out[n] = nw.random(t:shape(), t.dtype, {seed = n}) end
  return out
end

-- True if a run of the stream computes what the definition says.
local function computes(s, C, stream, mode)
  local given = inputs(s)
  return nw.allclose(nw.evaluate(C, given)[1], stream:run({arguments = given, mode = mode}).outputs[1])
end

describe("a schedule for an accelerator", function()
  it("becomes a stream that computes what the definition says, in every number of virtual threads", function()
    for _, threads in ipairs {1, 2, 4} do
      local s, C = product(32, threads)
      local stream = s:stream()
      assert.equal(224, #stream)
      assert.same({}, stream:check())
      assert.is_true(computes(s, C, stream))
      assert.is_true(s:reparses())
      assert(s:check())
    end
  end)

  it("runs when its kernel is called, and has no time", function()
    local s, C = product(16, 2)
    local f, given = s:build(), inputs(s)
    assert.is_true(nw.allclose(nw.evaluate(C, given)[1], f(table.unpack(given))))
    local e = support.error_of(function() f:time(table.unpack(given)) end)
    assert.truthy(e.message:find("has a clock of its own", 1, true), e.message)
    assert.equal("s:stream():run() counts its cycles, and s:cost() predicts them", e.hint)
    support.fails("there are no libraries for vdla", "invalid", function() f:export(support.temporary ".so") end)
  end)

  it("has no text in C: the error names the view of its instructions", function()
    local s = product(16, 2)
    for _, view in ipairs {"c", "cuda", "opencl"} do
      local e = support.error_of(s.show, s, view)
      assert.truthy(e.message:find("vdla is an accelerator; its schedules have no text in C", 1, true), e.message)
      assert.equal('s:show "stream" shows its instructions', e.hint)
    end
    support.fails("no text in C", "invalid", function() s:build():export(support.temporary ".c") end)
  end)

  it("must keep its arrays within the memories of the machine", function()
    local A = nw.placeholder({256, 256}, "i8", "A")
    local B = nw.compute({256, 256}, function(i, j) return A(i, j) + 1 end, "B")
    local s = nw.schedule(B, {target = vdla})
    local _, e = pcall(s.cache_read, s, A, "inp")
    assert.equal("capacity", e.refusal.kind)
    assert.truthy(tostring(e):find("buffers of scope inp take 65536 bytes at the same time; at most 16384 fit in it", 1, true), e)
    s:cache_read(A, "inp", {at = "i"})
    support.fails("cache_read: scope cannot be 'shared_memory'", "invalid", s.cache_read, s, A, "shared_memory")
  end)

  it("may use only instructions of its machine, on the memories that they access", function()
    local s = product(16, 1)
    s:undo(4)
    support.fails("its nest does not match gemm", nil, s.tensorize, s, "k", vta.gemm)
    local t = product(16, 1)
    t:undo(7)
    local e = support.error_of(t.tensorize, t, "i", vdla.gemm8x8)
    assert.truthy(tostring(e):find("expected operands in inp wgt, found A in global", 1, true), e)
    local A = nw.placeholder({8, 8}, "i8", "A")
    local B = nw.compute({8, 8}, function(i, j) return A(i, j) end, "B")
    e = support.error_of(function() nw.schedule(B):tensorize("i", vdla.dma_copy2d) end)
    assert.truthy(tostring(e):find("expected an instruction of host, found dma_copy2d", 1, true), e)
    support.fails("B is computed by no instruction of vdla", "invalid", function() nw.schedule(B, {target = vdla}):stream() end)
  end)
end)

describe("a product of tiles of any size", function()
  -- Rows that are no whole number of vectors, an odd number of terms, and more and fewer rows than are computed at once.
  it("computes what the definition says", function()
    for _, size in ipairs {{5, 12, 3}, {1, 8, 1}, {4, 17, 2}, {9, 7, 5}} do
      local m, n, k = table.unpack(size)
      local chip = nw.accelerator {extends = "vdla", name = "tiles", accelerator = {instructions = {
        {name = "load", kind = "copy", unit = "load", from = "global", to = "inp wgt"},
        {name = "store", kind = "copy", unit = "store", from = "acc", to = "global"},
        {name = "zero", kind = "fill", unit = "compute", to = "acc"},
        {name = "mm", kind = "tensor", unit = "compute", from = "inp wgt", to = "acc", form = "mk,kn->mn", m = m, n = n, k = k}}}}
      local A, B = nw.placeholder({m, k}, "i8", "A"), nw.placeholder({k, n}, "i8", "B")
      local kk = nw.reduce_axis(k, "k")
      local C = nw.compute({m, n}, function(i, j) return nw.sum(nw.cast(A(i, kk), "i32") * nw.cast(B(kk, j), "i32"), kk) end, "C")
      local s = nw.schedule(C, {target = chip})
      local CL = s:cache_write(C, "acc")
      local copies = {{s:cache_read(A, "inp"), chip.load}, {s:cache_read(B, "wgt"), chip.load}, {C, chip.store},
        {s:decompose_reduction(CL, s:loops(CL)[1]), chip.zero}, {CL, chip.mm}}
      for _, c in ipairs(copies) do s:tensorize(s:loops(c[1])[1], c[2]) end
      assert.is_true(computes(s, C, s:stream()), table.concat(size, " "))
    end
  end)
end)

describe("an instruction whose description does not fit its operands", function()
  it("names the dtype that differs", function()
    local A, B = nw.placeholder({8, 8}, "i16", "A"), nw.placeholder({8, 8}, "i8", "B")
    local k = nw.reduce_axis(8, "k")
    local C = nw.compute({8, 8}, function(i, j) return nw.sum(nw.cast(A(k, i), "i32") * nw.cast(B(k, j), "i32"), k) end, "C")
    local s = nw.schedule(C, {target = vdla})
    local CL = s:cache_write(C, "acc")
    s:cache_read(A, "inp")
    s:cache_read(B, "wgt")
    s:decompose_reduction(CL, s:loops(CL)[1])
    local e = support.error_of(s.tensorize, s, s:loops(CL)[1], vdla.gemm8x8)
    assert.truthy(tostring(e):find("expected A[k, i] of i8, found A_inp[k, i_1] of i16", 1, true), e)
  end)
end)

describe("the tokens of a stream", function()
  it("let virtual threads overlap copies and products", function()
    local one, two = product(64, 1):stream():run(), product(64, 2):stream():run()
    assert.is_true(two.cycles < 0.75 * one.cycles, ("%d and %d cycles"):format(two.cycles, one.cycles))
    assert.equal(one.macs, two.macs)
  end)

  it("are needed: without them, the values are wrong", function()
    local s, C = product(32, 2)
    local stream = s:stream()
    assert.is_false(computes(s, C, stream, "decoupled"))
    assert.is_false(computes(s, C, stream, "raw"))
    assert.is_true(computes(s, C, stream, "monolithic"))
  end)

  it("are checked at any latency: a token that is dropped is a hazard with both instructions", function()
    local s, C = product(16, 1)
    local stream = s:stream()
    local at = 1
    while #stream:instruction(at).puts == 0 do at = at + 1 end
    stream:drop(at, "load->compute")
    local found = stream:check()
    assert.equal("RAW hazard", found[1].fault)
    assert.equal(at, found[2].first)
    assert.truthy(found[2].text:find("gemm8x8", 1, true), found[1].text)
    assert.is_false(computes(s, C, stream))
  end)

  it("may be missing or left over", function()
    local stream = product(16, 1):stream()
    local at = 1
    while #stream:instruction(at).puts == 0 do at = at + 1 end
    stream:drop(at, "load->compute", "put")
    assert.equal("deadlock", stream:check()[1].fault)
    assert.is_true(stream:run().stuck)
    local other = product(16, 1):stream()
    local taker = at
    while not other:instruction(taker).takes[1] do taker = taker + 1 end
    other:drop(taker, "load->compute", "take")
    local faults = {}
    for _, f in ipairs(other:check()) do faults[f.fault] = true end
    assert.is_true(faults["tokens left"])
    support.fails("there is no queue 'load%->store'", "invalid", other.drop, other, at, "load->store")
    support.fails("instruction 1 is executed by compute", "invalid", other.add, other, 1, "load->compute", "put")
  end)
end)

describe("double_buffer after tensorize", function()
  it("gives the nests before the loop their instruction, also if there are several of them", function()
    local s, C = product(64, 1)
    s:double_buffer("A_inp", 2)
    s:double_buffer "B_wgt"
    local stream = s:stream()
    assert.same({}, stream:check())
    assert.is_true(computes(s, C, stream))
    assert.is_true(s:reparses())
    support.replays(s, function() return nw.schedule(C, {target = vdla}) end)
    -- arrays that are used in turns are shown with all their places
    local text = stream:text()
    assert.truthy(text:find("gemm8x8 C_acc[0..64] += A_inp[64..128 | 128..192 | 0..64], B_wgt[64..128 | 0..64]", 1, true), text)
  end)
end)

describe("VTA", function()
  it("executes loops of products, and adds with its ALU", function()
    local A, B = nw.placeholder({4, 2, 1, 16}, "i8", "A"), nw.placeholder({3, 2, 16, 16}, "i8", "B")
    local ko, ki = nw.reduce_axis(2, "ko"), nw.reduce_axis(16, "ki")
    local C = nw.compute({4, 3, 1, 16}, function(i, j, m, n)
      return nw.sum(nw.cast(A(i, ko, m, ki), "i32") * nw.cast(B(j, ko, n, ki), "i32"), {ko, ki})
    end, "C")
    local D = nw.compute({4, 3, 1, 16}, function(i, j, m, n) return nw.cast(nw.max(C(i, j, m, n) >> 8, 0), "i8") end, "D")
    local s = nw.schedule(D, {target = vta})
    s:set_scope(C, "acc")
    local CL = s[C]
    s:reorder("ko", "i", "j", "m", "n", "ki")
    s:decompose_reduction(CL, "ko")
    s:cache_read(A, "inp")
    s:cache_read(B, "wgt")
    s:cache_write(D, "out")
    s:tensorize("i_init", vta.fill_zero)
    s:tensorize("i_2", vta.dma_copy2d)
    s:tensorize("j_2", vta.dma_copy2d)
    s:tensorize("m", vta.gemm)
    s:tensorize("i_3", vta.alu)
    s:tensorize("i_1", vta.dma_copy2d)
    local stream = s:stream()
    assert.equal(6, #stream)
    assert.same({}, stream:check())
    assert.is_true(computes(s, D, stream))
    local names = {}
    for n = 1, #stream do names[n] = stream:instruction(n).name end
    assert.same({"fill_zero", "dma_copy2d", "dma_copy2d", "gemm", "alu", "dma_copy2d"}, names)
    assert.equal(2 * 4 * 3 + 4, stream:instruction(4).cycles)
    -- the bytes that each memory reads and writes: of 24 products of 1 x 16 x 16, and of 192 results
    local run, pj, memory = stream:run(), {}, nw.machine "vta".memory
    for n, b in ipairs(nw.machine "vta".accelerator.buffers) do pj[b.name] = {run.memories[n], b.read_pj} end
    assert.same({24 * 16, 128}, {pj.inp[1].read, pj.inp[1].written})
    assert.same({24 * 256, 1536}, {pj.wgt[1].read, pj.wgt[1].written})
    assert.same({24 * 64 + 768, 24 * 64 + 768}, {pj.acc[1].read, pj.acc[1].written})
    assert.same({192, 192}, {pj.out[1].read, pj.out[1].written})
    local sum = (128 + 1536 + 192) * memory.read_pj + 24 * 256 * 0.3 + 2 * 192 * 0.1
    for _, m in pairs(pj) do sum = sum + (m[1].read + m[1].written) * m[2] end
    assert.near(sum * 1e-12, run.energy.joules, 1e-15)
  end)
end)

describe("a convolution", function()
  it("computes what its definition says, with padding and strides, in any number of threads", function()
    local odd = {height = 7, channels = 20, filters = 40, kernel = 3}
    local strided = {height = 8, channels = 16, filters = 64, stride = 2}
    local single = {height = 6, channels = 32, filters = 32, kernel = 1, stride = 2, threads = 1}
    for _, o in ipairs {odd, strided, single} do
      local s, parts = nw.acc_conv2d(vta, o)
      local stream = s:stream()
      assert.same({}, stream:check())
      assert.is_true(computes(s, parts.result, stream))
    end
  end)

  it("must fit the accelerator, and have sensible numbers", function()
    support.fails("filters: expected a whole number", "invalid", nw.acc_conv2d, vta, {height = 7, channels = 16})
    support.fails("3 virtual threads do not divide 2 blocks of filters", "invalid", nw.acc_conv2d, vta,
      {height = 7, channels = 16, filters = 32, threads = 3})
    support.fails("vdla has no instruction of kind tensor whose form begins with mk", "invalid", nw.acc_conv2d, vdla,
      {height = 7, channels = 16, filters = 32})
    support.fails("accelerator: expected an accelerator", nil, nw.acc_conv2d, "vta", {})
  end)
end)

describe("the prediction of a stream", function()
  it("is close to its simulation, and finds the interval of a loop", function()
    for _, threads in ipairs {1, 2} do
      local stream = product(128, threads):stream()
      local run, model = stream:run(), stream:model()
      assert.is_true(math.abs(model.cycles / run.cycles - 1) < 0.1, ("%g and %g cycles"):format(model.cycles, run.cycles))
      assert.equal(run.units[2].busy, model.units[2].busy)
      assert.is_true(model.steady.interval > 0)
    end
  end)
end)

describe("an accelerator like Eyeriss", function()
  local convolution = require "chip_eyeriss"
  local REFERENCE = {rows = 112, columns = 112, filters = 32, tile = {rows = 14, blocks = 4, filters = 8}}

  it("computes a convolution in units with memories of their own", function()
    local s, O = convolution {rows = 4, columns = 56, filters = 16, tile = {rows = 2, blocks = 2, filters = 8}}
    local stream = s:stream()
    assert.same({}, stream:check())
    assert.is_true(computes(s, O, stream))
  end)

  -- The numbers are those that Timeloop and Accelergy print for this design and this mapping: cycles without the first loads and
  -- the last stores, accesses of words, and energy.
  it("needs the cycles, the accesses and the energy of the reference design", function()
    local run, words = convolution(REFERENCE):stream():run(), {}
    for _, m in ipairs(run.memories) do words[m.name] = {m.read, m.written} end
    assert.equal(10838016, run.macs)
    assert.equal(86016, run.units[4].busy)
    for n, u in ipairs(run.units) do assert.is_true(u.busy <= 86016, n) end
    assert.is_true(run.cycles < 1.01 * 86016, run.cycles)
    assert.equal(18063360, (words.psum[1] + words.psum[2]) // 2)
    assert.equal(11031552, words.weights[1] + words.weights[2])
    assert.equal(12192768, words.ifmap[1] + words.ifmap[2])
    assert.equal(1913456, words.glb[1] + words.glb[2])
    assert.equal(572528, run.memory_read + run.memory_written)
    assert.near(59.28e-6, run.energy.joules, 0.01e-6)
  end)
end)

describe("a systolic array", function()
  -- Returns the cycles of the products of M x N x K on the array, by an instruction that keeps one operand.
  local function cycles(M, N, K, dataflow)
    local machine = nw.accelerator "systolic"
    local A, B = nw.placeholder({M, K}, "i8", "A"), nw.placeholder({K, N}, "i8", "B")
    local k = nw.reduce_axis(K, "k")
    local C = nw.compute({M, N}, function(i, j) return nw.sum(nw.cast(A(i, k), "i32") * nw.cast(B(k, j), "i32"), k) end, "C")
    local s = nw.schedule(C, {target = machine})
    local CL = s:cache_write(C, "acc")
    s:cache_read(A, "inp")
    s:cache_read(B, "wgt")
    local i, j = table.unpack(s:loops(CL))
    local jo, ji = s:split(j, 16)
    s:decompose_reduction(CL, i)
    if dataflow == "weight_stationary" then
      local ko, ki = s:split("k", 16)
      s:reorder(jo, ko, i, ji, ki)
      s:tensorize(ji, machine[dataflow])
    else
      local io, ii = s:split(i, 16)
      s:reorder(io, jo, "k", ii, ji)
      s:tensorize(ii, machine[dataflow])
    end
    for _, stage in ipairs(s:stages()) do
      local first = s:loops(stage)[1]
      for _, name in ipairs {"load", "store", "zero"} do if pcall(s.tensorize, s, first, machine[name]) then break end end
    end
    local stream = s:stream()
    assert.is_true(computes(s, C, stream))
    return stream:run().units[2].busy - M * N * 4 / 64 -- without the zeros
  end

  it("needs the cycles of its dataflow: the formulas of a weight-stationary and an output-stationary array", function()
    for _, size in ipairs {{16, 16, 16}, {64, 32, 48}, {128, 16, 64}} do
      local M, N, K = table.unpack(size)
      assert.equal(N // 16 * (K // 16) * (16 + 30 + M), cycles(M, N, K, "weight_stationary"))
      assert.equal(M // 16 * (N // 16) * (16 + 30 + K), cycles(M, N, K, "output_stationary"))
    end
  end)
end)
