--- Tests nw.simulate, which runs a schedule on a simulated GPU: counts against closed forms, races, and errors.
local nw = require "nestwright"
local support = require "support"
local kernels = require "device_kernels"

local fails = support.fails
kernels.target = "a100"

-- Returns the row of counts for the loads or stores of a buffer. They must be in one statement.
local function access(r, buffer, write, nth)
  local found = {}
  for _, a in ipairs(r.accesses) do
    if a.buffer == buffer and a.write == write then found[#found + 1] = a end
  end
  if not nth then assert.equal(1, #found, buffer) end
  return found[nth or 1]
end

local function product(n, k)
  local A, B = nw.placeholder({n, k or n}, "f32", "A"), nw.placeholder({k or n, n}, "f32", "B")
  local r = nw.reduce_axis(k or n, "k")
  local C = nw.compute({n, n}, function(i, j) return nw.sum(A(i, r) * B(r, j), r) end, "C")
  return nw.schedule(C), C, A, B
end

-- Returns a product in which each thread computes one element, in blocks of `height` x `width` threads.
local function naive(n, height, width, k)
  local s, C = product(n, k)
  s:tile("i", "j", height, width)
  s:bind("i_o", "blockIdx.y")
  s:bind("j_o", "blockIdx.x")
  s:bind("i_i", "threadIdx.y")
  s:bind("j_i", "threadIdx.x")
  return s, C
end

-- Returns a product in tiles of t x t, which are copied to shared storage.
local function tiled(n, t)
  local s, C, A, B = product(n)
  s:tile("i", "j", t, t)
  s:split("k", t)
  s:reorder("i_o", "j_o", "k_o", "i_i", "j_i", "k_i")
  s:bind("i_o", "blockIdx.y")
  s:bind("j_o", "blockIdx.x")
  for _, operand in ipairs {A, B} do
    local copy = s:cache_read(operand, "shared", {C}, {at = "k_o"})
    local loops = s:loops(copy)
    s:bind(loops[#loops - 1], "threadIdx.y")
    s:bind(loops[#loops], "threadIdx.x")
  end
  s:bind("i_i", "threadIdx.y")
  s:bind("j_i", "threadIdx.x")
  return s, C
end

local function inputs(s)
  local out = {}
  for n, t in ipairs(s:inputs()) do out[n] = nw.random(t:shape(), t.dtype, {seed = n}) end
  return out
end

-- Simulates the schedule, and checks that there is no fault and that the outputs have the bits of the interpreter.
local function simulated(s, options)
  local data = inputs(s)
  options = options or {}
  options.ptxas = options.ptxas or false
  local r = nw.simulate(s, data, options)
  assert.equal(0, #r.findings, tostring(r))
  for n, want in ipairs(nw.interpret(s, data, {lowered = true})) do
    for i = 1, want:count() do assert.equal(want:getflat(i), r.outputs[n]:getflat(i)) end
  end
  return r
end

describe("a simulated product without tiles", function()
  it("reads a sector of A and four of B for each term, in each warp", function()
    local n, k = 64, 24
    local s = naive(n, 4, 32, k)
    local r, warps = simulated(s), n * n // 32
    local a, b = access(r, "A", false), access(r, "B", false)
    assert.equal(warps * k, a.requests)
    assert.equal(32 * warps * k, a.lanes)
    assert.equal(warps * k, a.sectors)
    assert.equal(warps * k, b.requests)
    assert.equal(4 * warps * k, b.sectors)
    assert.equal(warps * k, b.lines)
    assert.equal(warps * k, r.kernels[1].instructions.fma)
    assert.same({n // 32, n // 4, 1}, r.kernels[1].grid)
    assert.same({32, 4, 1}, r.kernels[1].block)
    assert.equal(warps, r.kernels[1].warps)
    assert.equal(0, r.kernels[1].barriers)
  end)

  it("reads more sectors if the threads of a warp are along i", function()
    local s, _ = product(64)
    s:tile("i", "j", 32, 4)
    s:bind("i_o", "blockIdx.y")
    s:bind("j_o", "blockIdx.x")
    s:bind("i_i", "threadIdx.x")
    s:bind("j_i", "threadIdx.y")
    local r = simulated(s)
    local a, b = access(r, "A", false), access(r, "B", false)
    assert.equal(32 * a.requests, a.sectors)
    assert.equal(b.requests, b.sectors)
  end)

  it("has guards where blocks stick out", function()
    local s = naive(37, 4, 32)
    local r = simulated(s)
    local b = access(r, "B", false)
    assert.equal(37 * 37 * 37, b.lanes)
    assert.equal(37 * 37 * 2, b.requests) -- warps of 32 and of 5 threads
  end)

  it("gives the same counts with any number of threads", function()
    local s = naive(48, 4, 32)
    local one, two = simulated(s, {threads = 1}), simulated(s, {threads = 3})
    for n, a in ipairs(one.accesses) do
      for _, field in ipairs {"requests", "lanes", "sectors", "lines"} do assert.equal(a[field], two.accesses[n][field]) end
    end
    assert.same(one.kernels, two.kernels)
  end)
end)

describe("a simulated product in tiles", function()
  it("has closed forms for all counts", function()
    local n, t = 64, 16
    local r = simulated((tiled(n, t)))
    local blocks, steps, warps = (n // t) ^ 2 // 1 | 0, n // t, t * t // 32
    local inner = blocks * steps * warps * t
    local k = r.kernels[1]
    assert.equal(blocks, k.blocks)
    assert.equal(2 * t * t * 4, k.shared_bytes)
    assert.equal(2 * steps * blocks, k.barriers)
    assert.equal(inner, k.instructions.fma)
    for _, name in ipairs {"A", "B"} do
      local load, store = access(r, name, false), access(r, name .. "_shared", true)
      assert.equal(blocks * steps * warps, load.requests)
      assert.equal(4 * load.requests, load.sectors) -- two rows of 64 bytes
      assert.equal(load.requests, store.requests)
      assert.equal(store.requests, store.wavefronts)
      local read = access(r, name .. "_shared", false)
      assert.equal(inner, read.requests)
      assert.equal(32 * inner, read.lanes)
      assert.equal(inner, read.wavefronts)
      assert.same({inner}, read.degrees)
      assert.equal("shared", read.scope)
    end
  end)

  it("knows what limits an A100", function()
    local r = simulated((tiled(64, 16)), {machine = "a100"})
    local k = r.kernels[1]
    assert.equal("a100", r.machine)
    assert.equal("warps", k.limiter)
    assert.equal(8, k.resident) -- of 8 warps each
    assert.equal(1, k.occupancy)
    assert.truthy(tostring(r):find("occupancy 100 %: 8 blocks at a time, limited by warps", 1, true), tostring(r))
  end)

  it("hits the L2 cache if several blocks read a tile", function()
    local r = simulated((tiled(64, 16)), {machine = "a100", caches = true})
    local a = access(r, "A", false)
    assert.equal(a.sectors - 64 * 64 * 4 // 32, a.l1_hits + a.l2_hits) -- every sector is fetched once from memory
  end)
end)

-- Returns the transpose of an n x n matrix, through tiles of 32 x 32 in shared storage. `pad`: elements added to each row.
local function transpose(n, pad)
  local A = nw.placeholder({n, n}, "f32", "A")
  local T = nw.compute({n, n}, function(i, j) return A(j, i) end, "T")
  local s = nw.schedule(T)
  s:tile("i", "j", 32, 32)
  s:bind("i_o", "blockIdx.y")
  s:bind("j_o", "blockIdx.x")
  local copy = s:cache_read(A, "shared", {T}, {at = "j_o"})
  local loops = s:loops(copy)
  s:bind(loops[#loops - 1], "threadIdx.y")
  s:bind(loops[#loops], "threadIdx.x")
  s:bind("i_i", "threadIdx.y")
  s:bind("j_i", "threadIdx.x")
  if pad then s:storage_align(copy, 0, 32, pad) end
  return s
end

describe("banks of shared memory", function()
  it("conflict 32 times in a column of a tile", function()
    local r = simulated(transpose(64))
    local read, write = access(r, "A_shared", false), access(r, "A_shared", true)
    assert.equal(4 * 32, read.requests)
    assert.equal(32 * read.requests, read.wavefronts)
    assert.equal(read.requests, read.degrees[32])
    assert.equal(write.requests, write.wavefronts)
  end)

  it("do not conflict if rows are padded by a word", function()
    local read = access(simulated(transpose(64, 1)), "A_shared", false)
    assert.equal(read.requests, read.wavefronts)
  end)

  it("conflict twice if rows are padded by two words", function()
    local read = access(simulated(transpose(64, 2)), "A_shared", false)
    assert.equal(2 * read.requests, read.wavefronts)
  end)
end)

-- Returns a schedule of f(a, i) over n elements of a, with 32 threads in each block.
local function map(n, dtype, f, room)
  local A = nw.placeholder({room or n}, dtype, "A")
  local X = nw.compute({n}, function(i) return f(A, i) end, "X")
  local s = nw.schedule(X)
  local o, i = s:split("i", 32)
  s:bind(o, "blockIdx.x")
  s:bind(i, "threadIdx.x")
  return s, X, i
end

describe("simulated operations", function()
  it("give the bits of the interpreter", function()
    local floats = {
      function(a, i) return nw.exp(a(i)) + nw.tanh(a(i)) * nw.sqrt(nw.abs(a(i))) end,
      function(a, i) return nw.maximum(nw.minimum(a(i), 0.75), 0.25) - nw.floor(a(i) * 5) end,
      function(a, i) return nw.select(nw.lt(a(i), 0.5), -a(i), a(i) / 3) end,
      function(a, i) return nw.pow(a(i) + 1, 1.5) + nw.erf(a(i)) + nw.log(a(i) + 1) end,
      function(a, i) return nw.select(nw.lt(i, 40), a(nw.minimum(i + 3, 69)), nw.cast(i, a.dtype)) end,
      function(a, i) return nw.cast(nw.cast(a(i) * 100, "i32"), a.dtype) end,
    }
    for _, dtype in ipairs {"f32", "f64", "f16", "bf16"} do
      for _, f in ipairs(floats) do simulated((map(70, dtype, f))) end
    end
    local integers = {
      function(a, i) return a(i) * a(i) + nw.cast(i, a.dtype) end,
      function(a, i) return nw.floordiv(a(i) - 4, 3) + nw.floormod(a(i) - 4, 3) end,
      function(a, i) return nw.maximum(a(i), 2) - nw.minimum(a(i), 5) end,
      function(a, i) return (a(i) << 3) ~ (a(i) >> 1) & 29 end,
      function(a, i) return nw.popcount(a(i)) + nw.abs(a(i) - 5) end,
      function(a, i) return nw.select(nw.all(nw.lt(a(i), 6), nw.ne(a(i), 3)), a(i), a(i) - 1) end,
      function(a, i) return nw.cast(nw.cast(a(i), "f32") * 1.5, a.dtype) end,
    }
    for _, dtype in ipairs {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"} do
      for _, f in ipairs(integers) do simulated((map(70, dtype, f))) end
    end
  end)

  it("may be vectors, which are one request of up to 16 bytes for each thread", function()
    local s, _, i = map(1024, "f32", function(a, j) return a(j) * 2 + 1 end)
    s:unmark(i)
    local t, v = s:split(i, 4)
    s:bind(t, "threadIdx.x")
    s:vectorize(v)
    local r = simulated(s)
    local a = access(r, "A", false)
    assert.equal(16, a.bytes)
    assert.equal(1024 // 32, a.requests) -- 8 threads in each block
    assert.equal(1024 * 4 // 32, a.sectors)
  end)
end)

describe("sectors of a request", function()
  it("have closed forms for strides and offsets", function()
    for _, stride in ipairs {1, 2, 3, 5, 8, 13} do
      for _, offset in ipairs {0, 1, 5, 8} do
        local r = simulated((map(256, "f32", function(a, i) return a(i * stride + offset) end, 256 * stride + offset)))
        local sectors = 0
        for block = 0, 7 do
          local seen = {}
          for t = 0, 31 do
            local sector = ((block * 32 + t) * stride + offset) * 4 // 32
            sectors = sectors + (seen[sector] and 0 or 1)
            seen[sector] = true
          end
        end
        assert.equal(sectors, access(r, "A", false).sectors)
      end
    end
  end)

  it("of elements of other sizes", function()
    for dtype, bytes in pairs {u8 = 1, f16 = 2, f64 = 8} do
      local a = access(simulated((map(256, dtype, function(a, i) return a(i) + a(i) end))), "A", false)
      assert.equal(256 * bytes // 32, a.sectors)
      assert.equal(bytes, a.bytes)
    end
  end)
end)

describe("atomic updates", function()
  it("add up the same, and are no race", function()
    local s = kernels.histogram(1000, 10)
    local x = nw.random({1000}, "i32", {seed = 3, lo = 0, hi = 9})
    local r = nw.simulate(s, {x})
    local want = nw.interpret(s, {x}, {lowered = true})[1]
    assert.equal(0, #r.findings, tostring(r))
    for i = 1, 10 do assert.equal(want:getflat(i), r.outputs[1]:getflat(i)) end
    local atomics = 0
    for _, a in ipairs(r.accesses) do atomics = atomics + (a.atomic and a.write and a.lanes or 0) end
    assert.equal(10000, atomics) -- each thread updates ten elements
  end)
end)

describe("atomic updates in shared memory", function()
  it("make the histogram of each block, which the blocks then add up", function()
    local X, k = nw.placeholder({1000}, "i32", "X"), nw.reduce_axis(1000, "k")
    local H = nw.compute({10}, function(b) return nw.sum(nw.select(nw.eq(X(k), b), 1, 0), k) end, "H")
    local s = nw.schedule(H, {target = "a100"})
    s:split("k", 256)
    local P = s:rfactor(H, "k_o", {factor_axis = 0})
    local b, block = table.unpack(s:loops(H))
    s:reorder(block, b)
    s:compute_at(P, block)
    s:set_scope(P, "shared")
    local l = s:loops(P)
    s:reorder(l[#l], l[#l - 1], l[#l - 2]) -- the elements of X are outside of the bins
    s:decompose_reduction(H, block)
    s:decompose_reduction(P, s:loops(P)[2])
    s:atomic(H)
    s:atomic(P)
    s:bind(block, "blockIdx.x")
    for _, loop in ipairs(s:loops(P)) do if tostring(loop.extent) == "256" then s:bind(loop, "threadIdx.x") end end
    s:bind(b, "threadIdx.x")
    assert(s:check())
    local x = nw.random({1000}, "i32", {seed = 3, lo = 0, hi = 9})
    local r = nw.simulate(s, {x}, {ptxas = false})
    assert.equal(0, #r.findings, tostring(r))
    for n, want in ipairs {nw.evaluate(H, {x})[1]} do
      for i = 1, 10 do assert.equal(want:getflat(i), r.outputs[n]:getflat(i)) end
    end
    local shared, global = 0, 0
    for _, a in ipairs(r.accesses) do
      if a.atomic and a.write then
        if a.scope == "shared" then shared = shared + a.lanes else global = global + a.lanes end
      end
    end
    -- each of four times 256 terms updates ten bins of its block, and each block updates ten bins
    assert.same({4 * 256 * 10, 4 * 10}, {shared, global})
    assert.truthy(tostring(s:show "cuda"):find("atomicAdd(&H_rf[", 1, true))
  end)
end)

describe("counts by classes of blocks", function()
  local FIELDS = {"requests", "lanes", "sectors", "lines", "wavefronts"}

  -- Checks that the counts are those of a simulation of every block, with and without values, and returns the report.
  local function equal_counts(s, values)
    local by, all = s:gpu_counts {ptxas = false}, s:gpu_counts {classes = false, ptxas = false}
    values = values or nw.simulate(s, inputs(s), {ptxas = false})
    for n, a in ipairs(by.accesses) do
      for _, other in ipairs {all, values} do
        for _, field in ipairs(FIELDS) do assert.equal(other.accesses[n][field], a[field], a.buffer .. " " .. field) end
        assert.same(other.accesses[n].degrees, a.degrees)
      end
    end
    for n, k in ipairs(by.kernels) do
      for _, field in ipairs {"blocks", "warps", "barriers", "statements", "active", "instructions", "registers"} do
        assert.same(all.kernels[n][field], k[field], field)
      end
      assert.equal(all.kernels[n].simulated, k.blocks)
    end
    return by
  end

  it("are exact for products with and without tails", function()
    for _, n in ipairs {64, 70, 33} do
      equal_counts((naive(n, 4, 32)))
      equal_counts((naive(n, 16, 16)))
      equal_counts((tiled(n, 16)))
    end
  end)

  it("are exact for transposes and for a grid of one dimension", function()
    for _, n in ipairs {64, 80} do equal_counts(transpose(n)) end
    local s = product(40)
    local f = s:fuse("i", "j")
    local o, i = s:split(f, 64)
    s:bind(o, "blockIdx.x")
    s:bind(i, "threadIdx.x")
    equal_counts(s)
  end)

  it("are exact for kernels as programmers write them", function()
    local list = {kernels.gemm_registers(64, 32, 4, 8, 4), kernels.gemm_async(64, 32, 4, 8, 4), kernels.gemm_odd(33, 50, 20),
      kernels.gemm_vthread(64), kernels.conv1d_shared(1000, 31), kernels.depthwise(4, 30, 50), kernels.rows(10, 1000),
      kernels.transpose(64, 1), kernels.two_stages(200), kernels.heat(20, 1000), kernels.half(1000, "f16")}
    for _, s in ipairs(list) do equal_counts(s, simulated(s)) end
  end)

  it("simulate few blocks", function()
    local r = equal_counts((naive(128, 8, 32)))
    assert.equal(64, r.kernels[1].blocks)
    assert.equal(1, r.kernels[1].simulated)
    assert.truthy(tostring(r):find("1 of 64 blocks were simulated", 1, true), tostring(r))
    r = equal_counts((naive(130, 8, 32)))
    assert.equal(r.kernels[1].simulated < r.kernels[1].blocks // 2, true)
  end)

  it("take sizes, and refuse accesses that depend on data", function()
    local M = nw.size "M"
    local A = nw.placeholder({M}, "f32", "A")
    local s = nw.schedule(nw.compute({M}, function(i) return A(i) * 2 end, "X"))
    local o, i = s:split("i", 64)
    s:bind(o, "blockIdx.x")
    s:bind(i, "threadIdx.x")
    local r = s:gpu_counts {sizes = {M = 1000003}}
    assert.equal(1000003, access(r, "A", false).lanes)
    assert.equal((1000003 + 7) // 8, access(r, "A", false).sectors)
    fails("the size M has no value", "invalid", s.gpu_counts, s)
    local I = nw.placeholder({64}, "i32", "I")
    local B = nw.placeholder({64}, "f32", "B")
    s = nw.schedule(nw.compute({64}, function(j) return B(nw.minimum(nw.maximum(I(j), 0), 63)) end, "Y"))
    s:bind("j", "threadIdx.x")
    fails("which elements are accessed depends on data", "invalid", s.gpu_counts, s)
  end)
end)

describe("counts of caches", function()
  -- Returns the hits of all accesses, and the bytes of memory of all kernels.
  local function hits(s, options)
    options.machine, options.caches, options.ptxas = "a100", true, false
    local r, out = s:gpu_counts(options), {}
    for _, a in ipairs(r.accesses) do out[#out + 1] = {a.buffer, a.sectors, a.l1_hits, a.l2_hits} end
    for _, k in ipairs(r.kernels) do out[#out + 1] = {k.waves, k.replayed, k.dram_read, k.dram_written} end
    return out, r
  end

  it("are the same by classes of blocks and with all blocks", function()
    local list = {naive(70, 8, 32), tiled(64, 16), (transpose(80)), kernels.gemm_registers(64, 32, 4, 8, 4),
      kernels.conv1d_shared(1000, 31), kernels.two_stages(200), kernels.heat(4, 1000)}
    for _, s in ipairs(list) do assert.same(hits(s, {classes = false}), (hits(s, {}))) end
  end)

  it("read and write each element of memory once if it fits in L2", function()
    local _, r = hits(naive(96, 8, 32), {})
    assert.equal(2 * 96 * 96 * 4, r.kernels[1].dram_read)
    assert.equal(96 * 96 * 4, r.kernels[1].dram_written)
    -- a warp that reads a row of B finds the sectors that another warp of the block has read
    assert.is_true(access(r, "B", false).l1_hits * 2 > access(r, "B", false).sectors)
    assert.truthy(tostring(r):find("sectors  wavefronts   L1 hits   L2 hits\n", 1, true), tostring(r))
    assert.truthy(tostring(r):find("72 KiB are read from memory, and 36 KiB are written\n", 1, true), tostring(r))
  end)

  it("are those of the sectors that a block needs", function()
    local _, r = hits(transpose(64), {}) -- each sector is used once
    assert.equal(0, access(r, "A", false).l1_hits + access(r, "A", false).l2_hits)
    _, r = hits(kernels.rows(10, 1000), {})
    assert.equal(10 * 1000 * 4, r.kernels[1].dram_read)
  end)

  it("of large grids are estimated from two waves of blocks", function()
    local _, r = hits(transpose(4096), {})
    local k = r.kernels[1]
    assert.equal(2, k.replayed)
    assert.is_true(k.waves > 2)
    assert.equal(4096 * 4096 * 4, k.dram_read)
    assert.equal(4096 * 4096 * 4, k.dram_written)
    local text = ("64 MiB are written (an estimate from 2 of %d waves of blocks)"):format(k.waves)
    assert.truthy(tostring(r):find(text, 1, true), tostring(r))
  end)

  it("of very long kernels are estimated from their first requests", function()
    local _, r = hits(naive(2048, 8, 32), {}) -- a wave reads all of B, which does not stay in L2 with A and C
    local k = r.kernels[1]
    assert.is_true(k.cut)
    assert.is_true(r.seconds < 20)
    assert.is_true(k.dram_read >= 2 * 2048 * 2048 * 4, k.dram_read)
    assert.truthy(tostring(r):find("(an estimate from the first requests of 2 of ", 1, true), tostring(r))
  end)
end)

describe("faults", function()
  local function raced(s)
    local r = nw.simulate(s, inputs(s))
    assert.is_true(#r.findings > 0, "no fault was found")
    return r.findings[1], r
  end

  it("are races of threads that share a sum", function()
    local A, k = nw.placeholder({4, 16}, "f32", "A"), nw.reduce_axis(16, "k")
    local S = nw.compute({4}, function(i) return nw.sum(A(i, k), k) end, "S")
    local s = nw.schedule(S)
    s:cut("k", 5)
    s:unsafe(function() s:bind("k.rest", "threadIdx.x") end)
    local f, r = raced(s)
    assert.equal("race", f.fault)
    assert.equal("S", f.buffer)
    assert.not_same(f.first.thread, f.second.thread)
    assert.truthy(tostring(r):find("race: element 0 of S is", 1, true), tostring(r))
    assert.truthy(tostring(r):find("(step ", 1, true), tostring(r))
  end)

  it("are races of blocks", function()
    local s = product(8)
    s:unsafe(function() s:bind("k", "blockIdx.x") end)
    local f = raced(s)
    assert.equal("race between blocks", f.fault)
    assert.equal("C", f.buffer)
    assert.not_same(f.first.block, f.second.block)
    for threads = 1, 3 do assert.equal("race between blocks", nw.simulate(s, inputs(s), {threads = threads}).findings[1].fault) end
  end)
end)

describe("a simulation", function()
  it("needs loops that are bound to a grid", function()
    local s = product(8)
    fails("no loop that is bound to a GPU's grid", "invalid", nw.simulate, s, inputs(s))
  end)

  it("needs a GPU and known options", function()
    local s = naive(8, 4, 4)
    fails("is not a GPU", "invalid", nw.simulate, s, inputs(s), {machine = "zen5"})
    fails("simulate: .*thread", nil, nw.simulate, s, inputs(s), {thread = 1})
    fails("threads", nil, nw.simulate, s, inputs(s), {threads = 0})
    fails("the sizes of the caches are not known", "invalid", nw.simulate, s, inputs(s), {caches = true})
  end)

  it("needs all inputs", function()
    local s = naive(8, 4, 4)
    fails("expected 2 inputs", "invalid", nw.simulate, s, {inputs(s)[1]})
  end)

  it("refuses grids that are too large for the machine", function()
    local small = nw.machine {name = "small", extends = "t4", gpu = {threads = 64, grid_y = 3, shared_block = 1024}}
    local s = naive(8, 4, 32)
    fails("a block of 128 threads is too large for small: at most 64", "limit", nw.simulate, s, inputs(s), {machine = small})
    s = naive(16, 4, 4)
    fails("4 blocks in y are too many for small: at most 3", "limit", nw.simulate, s, inputs(s), {machine = small})
    small = nw.machine {name = "small", extends = "t4", gpu = {shared_block = 1024}}
    s = tiled(16, 16)
    fails("a block uses 2048 bytes of shared memory, and a block of small can have 1024", "limit", nw.simulate, s, inputs(s),
      {machine = small})
  end)
end)
