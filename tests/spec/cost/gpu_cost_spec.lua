--- The model of GPUs: each test changes one thing, and checks the limit that must change.
package.path = "tests/tools/?.lua;" .. package.path
local nw = require "nestwright"
local support = require "support"

local N = 256

local function transpose(target, skewed)
  local A = nw.placeholder({N, N}, "f32", "A")
  local T = nw.compute({N, N}, function(i, j) return A(j, i) end, "T")
  local s = nw.schedule(T, {target = target})
  s:tile("i", "j", 32, 32)
  s:bind("i_o", "blockIdx.y")
  s:bind("j_o", "blockIdx.x")
  s:split("i_i", 8)
  s:bind("i_i_i", "threadIdx.y")
  s:bind("j_i", "threadIdx.x")
  if skewed == nil then return s end
  local c = s:cache_read(A, "shared", {T}, {at = "j_o"})
  local l = s:loops(c)
  s:bind(l[#l], "threadIdx.x")
  local _, y = s:split(l[#l - 1], 8)
  s:bind(y, "threadIdx.y")
  if skewed then s:storage_align(c, 0, 32, 1) end
  return s
end

local function limit(c, name)
  for _, l in ipairs(c.kernels[1].limits) do if l.name == name then return l.seconds end end
end

-- A vector whose elements each take n multiply-adds, one after another, in blocks of `threads` threads.
local function chain(n, threads, blocks)
  local X = nw.placeholder({threads * blocks}, "f32", "X")
  local Y = nw.compute({threads * blocks}, function(i)
    local v = X(i)
    for _ = 1, n do v = v * 1.5 + 0.5 end
    return v
  end, "Y")
  local s = nw.schedule(Y, {target = "a100"})
  s:split("i", threads)
  s:bind("i_o", "blockIdx.x")
  s:bind("i_i", "threadIdx.x")
  return s
end

describe("the cost model of GPUs", function()
  it("charges each line of a request to the L1 cache", function()
    local direct, tiled = transpose("a100"):cost(), transpose("a100", true):cost()
    assert.is_true(limit(direct, "L1 cache") > 5 * limit(tiled, "L1 cache"))
    assert.equal("L1 cache", transpose("a100"):cost {sizes = {}}.loops[1].bottleneck)
  end)

  it("charges bank conflicts to shared memory", function()
    local conflicts, skewed = transpose("a100", false):cost(), transpose("a100", true):cost()
    -- 32 wavefronts instead of one for a load, and one for a store in both
    assert.is_true(math.abs(limit(conflicts, "shared memory") / limit(skewed, "shared memory") - 33 / 2) < 1e-6)
  end)

  it("reads each array from memory once if caches are not simulated", function()
    local m = nw.machine "a100"
    assert.is_true(math.abs(limit(transpose("a100", true):cost(), "memory") * m.memory.bandwidth * 1e9 - 2 * 4 * N * N) < 1)
  end)

  it("counts multiply-adds as instructions of the f32 units", function()
    local c = chain(100, 256, 1080):cost()
    local m = nw.machine "a100"
    local warps = 1080 * 256 / 32
    assert.equal(100 * warps, c.parts[1].f32)
    assert.equal("f32 units", c.parts[1].bottleneck)
    local cycles = 100 * warps * 32 / m.gpu.lanes / m.gpu.sms
    local seconds = limit(c, "f32 units")
    assert.is_true(seconds >= cycles / (m.clock * 1e9) and seconds <= cycles / (m.gpu.clock_base * 1e9))
  end)

  it("shows the time in which no warp is ready if there are few warps", function()
    local few, many = chain(500, 32, 108):cost(), chain(500, 1024, 216):cost()
    assert.is_true(limit(few, "latency") > 5 * limit(few, "f32 units"))
    assert.is_true(limit(many, "latency") < 0.05 * limit(many, "f32 units"))
  end)

  it("does not predict a shorter time for a block whose other warps have nothing to do", function()
    local M, k = nw.size "M", nw.reduce_axis(1000, "k")
    local A = nw.placeholder({M, 1000}, "f32", "A")
    local C = nw.compute({M, 32}, function(i, j) return nw.sum(A(i, k) * j, k) end, "C")
    local function seconds(rows, m)
      local s = nw.schedule(C, {target = "a100"})
      nw.quietly(function() s:split("i", rows) end)
      s:bind("i_o", "blockIdx.x")
      s:bind("i_i", "threadIdx.y")
      s:bind("j", "threadIdx.x")
      return s:cost {sizes = {M = m}}.seconds
    end
    for _, m in ipairs {1, 3} do
      for _, rows in ipairs {4, 16, 32} do assert.near(seconds(m, m), seconds(rows, m), 0.01 * seconds(m, m)) end
    end
  end)

  it("shows idle multiprocessors if the last wave has one block", function()
    local m = nw.machine "a100"
    local full = m.gpu.sms * chain(500, 1024, 1):cost().kernels[1].resident
    local even, odd = chain(500, 1024, full):cost(), chain(500, 1024, full + 1):cost()
    assert.equal(1, even.kernels[1].waves)
    assert.is_true(limit(even, "idle multiprocessors") < 1e-9)
    assert.is_true(odd.seconds > 1.3 * even.seconds)
  end)

  it("adds the launch", function()
    local c = chain(1, 32, 1):cost()
    assert.equal(nw.machine "a100".gpu.launch * 1e-6, limit(c, "launch"))
    assert.equal("launch", c.bottleneck)
  end)

  it("executes a load once if unrolled loops do not change its address", function()
    local A, x = nw.placeholder({64}, "f32", "A"), nw.placeholder({64, 8}, "f32", "x")
    local Y = nw.compute({64, 8}, function(i, j) return A(i) * x(i, j) end, "Y")
    local s = nw.schedule(Y, {target = "a100"})
    s:bind("i", "threadIdx.x")
    for _, a in ipairs(s:cost().counts.accesses) do
      if a.buffer == "A" then assert.equal(a.requests / 8, a.compiled) end
      if a.buffer == "x" then assert.equal(a.requests, a.compiled) end
    end
  end)

  it("takes the machine from an option", function()
    local s = transpose("a100", true)
    assert.equal("t4", s:cost {machine = "t4"}.machine.name)
    assert.is_true(s:cost {machine = "t4"}.seconds > s:cost().seconds)
  end)

  it("shows limits beside loops", function()
    local text = transpose("a100"):show {cost = true}
    assert.matches("blockIdx.y for i_o in .-# +[%d.]+ %% .-L1 cache", text)
    assert.matches("for i_i_o in .-# +[%d.]+ %% .-L1 cache", text)
    assert.matches("# a100: .- limited by", text)
  end)

  it("prints limits and what is added to them", function()
    local text = tostring(transpose("a100", true):cost())
    assert.matches("^a100: [%d.]+ us, limited by launch", text)
    assert.matches("each array is read from memory once", text)
  end)

  it("refuses options for CPUs", function()
    local s = transpose("a100")
    support.fails("^cost: threads: a GPU runs the whole grid", "invalid", function() s:cost {threads = 2} end)
    support.fails("^cost: measure: f:time measures", "invalid", function() s:cost {measure = true} end)
    local A = nw.placeholder({8}, "f32", "A")
    local cpu = nw.schedule(nw.compute({8}, function(i) return A(i) end, "B"))
    support.fails("^cost: caches: those of a CPU are always simulated", "invalid", function() cpu:cost {caches = true} end)
    support.fails("^cost: no loop is bound to blocks or threads, so one thread of a100", "invalid", function()
      cpu:cost {machine = "a100"}
    end)
  end)
end)

describe("the log of a schedule for a GPU", function()
  it("has the predicted time of each version, or why there is none", function()
    local s = transpose("a100", true)
    local log = s:log {cost = true}
    assert.equal(s:cost().seconds, log[#log].predicted)
    assert.equal(s:cost().bottleneck, log[#log].bottleneck)
    assert.is_nil(log[1].predicted)
    assert.truthy(tostring(log):find("no loop is bound to blocks or threads", 1, true))
    local t4 = s:log {cost = true, machine = "t4"}
    assert.equal(s:cost({machine = "t4"}).seconds, t4[#t4].predicted)
    assert.equal(#log - 1, s:version())
  end)

  it("is predicted for the target of the schedule, which may be another CPU", function()
    local A = nw.placeholder({64}, "f32", "A")
    local s = nw.schedule(nw.compute({64}, function(i) return A(i) * 2 end, "B"), {target = "neoverse_n1"})
    assert.equal(s:cost().seconds, s:log({cost = true})[1].predicted)
  end)
end)

-- A vector of `blocks` blocks whose threads execute n multiply-adds, 50 for each load.
local function vector(name, blocks, n, threads)
  local X = nw.placeholder({threads * blocks}, "f32", "in_" .. name)
  return nw.compute({threads * blocks}, function(i)
    local v, k = X(i), nw.reduce_axis(n // 50, "k")
    for _ = 1, 50 do v = v * 1.5 + 0.5 end
    return nw.sum(v, k)
  end, name)
end

-- Vectors {blocks, multiply-adds} in one grid, in this order.
local function fused(list, threads)
  threads = threads or 1024
  local tensors, loops = {}, {}
  for n, one in ipairs(list) do tensors[n] = vector("V" .. n, one[1], one[2], threads) end
  local s = nw.schedule(tensors, {target = "a100"})
  nw.quietly(function()
    for n, t in ipairs(tensors) do
      local o, i = s:split(s:loops(t)[1], threads)
      s:bind(i, "threadIdx.x")
      loops[n] = o
    end
    s:bind(#loops > 1 and s:create_fused_loop(table.unpack(loops)) or loops[1], "blockIdx.x")
  end)
  return s
end

local function without_launch(c) return c.seconds - limit(c, "launch") end

local function close(a, b, tolerance) assert.is_true(math.abs(a / b - 1) < tolerance, ("%g against %g"):format(a, b)) end

describe("blocks that do not take equally long", function()
  it("are of different kinds", function()
    local k = fused {{54, 100}, {13, 400}}:cost().kernels[1]
    assert.same({{blocks = 54, writes = {"V1"}}, {blocks = 13, writes = {"V2"}}}, k.kinds)
    assert.is_nil(chain(100, 256, 40):cost().kernels[1].kinds)
  end)

  it("take as long as equal ones if their work is equal", function()
    for _, blocks in ipairs {20, 108, 150, 500} do
      close(without_launch(fused {{blocks, 2000}, {blocks, 2000}}:cost()), without_launch(fused {{2 * blocks, 2000}}:cost()), 0.02)
    end
  end)

  it("end with the longest one", function()
    local long = without_launch(fused {{1, 8000}}:cost())
    close(without_launch(fused {{100, 500}, {1, 8000}}:cost()), long, 0.02)
  end)

  it("take longer if the longest one begins last", function()
    local first, last = fused {{1, 16000}, {1080, 2000}}:cost(), fused {{1080, 2000}, {1, 16000}}:cost()
    assert.is_true(without_launch(last) > 1.3 * without_launch(first))
    assert.is_true(limit(last, "idle multiprocessors") > 2 * limit(first, "idle multiprocessors"))
  end)

  it("overlap if they need different units", function()
    -- the first is limited by the f32 units, the second by the L1 cache, because it loads and stores each partial sum
    local function of_units(which)
      local X, A, k = vector("X", 108, 4000, 1024), nw.placeholder({1024 * 108}, "f32", "A"), nw.reduce_axis(750, "k")
      local Y = nw.compute({1024 * 108}, function(i) return nw.sum(A(i) * 1.5, k) end, "Y")
      local s, loops = nw.schedule(which == "both" and {X, Y} or which == "X" and X or Y, {target = "a100"}), {}
      nw.quietly(function()
        for _, t in ipairs(which == "both" and {X, Y} or which == "X" and {X} or {Y}) do
          local o, i = s:split(s:loops(t)[1], 1024)
          s:bind(i, "threadIdx.x")
          loops[#loops + 1] = o
        end
        s:bind(#loops > 1 and s:create_fused_loop(loops[1], loops[2]) or loops[1], "blockIdx.x")
      end)
      return without_launch(s:cost())
    end
    local x, y, both = of_units "X", of_units "Y", of_units "both"
    assert.is_true(both < 0.8 * (x + y) and both > math.max(x, y), ("%g and %g: %g"):format(x, y, both))
  end)

  it("may be of very many kinds, or very many", function()
    local L, j = nw.placeholder({640, 640}, "f32", "L"), nw.reduce_axis(640, "j")
    local T = nw.compute({640, 32}, function(i, t)
      return nw.sum(nw.select(nw.le(j, i), L(i, j) * 1.5 + t, 0), j)
    end, "T")
    local s = nw.schedule(T, {target = "t4"})
    nw.quietly(function()
      s:decompose_reduction(T, "j")
      s:trim "j" -- block i has i + 1 terms
      s:bind("i", "blockIdx.x")
      s:bind("t", "threadIdx.x")
    end)
    local k, blocks = s:cost().kernels[1], 0
    for _, kind in ipairs(k.kinds) do blocks = blocks + kind.blocks end
    assert.equal(640, blocks)
    assert.is_true(#k.kinds > 32 and #k.kinds <= 64)
    local many = fused {{1 << 18, 50}, {1 << 17, 100}}:cost()
    assert.equal(2, #many.kernels[1].kinds)
    assert.is_true(without_launch(many) > 0)
    support.fails("393216 blocks of different kinds are too many: at most 20000 can be drawn", "limit", nw.waves,
      fused {{1 << 18, 50}, {1 << 17, 100}})
  end)

  it("are drawn one by one", function()
    local s = fused {{300, 200}, {100, 800}}
    local p, k = nw.waves(s), s:cost().kernels[1]
    assert.truthy(p.caption:find("400 blocks of 2 kinds; 108 multiprocessors run 2 blocks each at most", 1, true), p.caption)
    local last, blocks = 0, {0, 0}
    for _, row in ipairs(p.rows) do
      local from, to, first, final, n, kind = table.unpack(row)
      assert.is_true(from <= to and first <= final)
      if n > 0 then blocks[kind] = blocks[kind] + final - first + 1 end
      last = math.max(last, to)
    end
    assert.same({300, 100}, blocks)
    close(last, k.seconds - k.limits[#k.limits].seconds, 1e-6)
    support.picture(p)
  end)

  it("never share a place on a multiprocessor", function()
    local core = require "nestwright.core"
    local m = nw.machine "a100"
    local _, times = core.gpu_cost(fused {{500, 100}, {200, 700}, {300, 50}}, {}, {machine = m, classes = true, schedule = 2000})
    local free = {}
    local list = times.kernels[1].schedule
    assert.equal(1000, #list)
    table.sort(list, function(a, b) return a.from < b.from end)
    for _, b in ipairs(list) do
      local key = b.sm * 100 + b.place
      assert.is_true(b.sm < m.gpu.sms and b.place < 2 and b.from >= (free[key] or 0) - 1e-12 and b.to > b.from)
      free[key] = b.to
    end
  end)
end)

describe("a kernel that cannot run, or hardly", function()
  it("needs more shared memory than a block can have", function()
    local A = nw.placeholder({64, 1024}, "f32", "A")
    local s = nw.schedule(nw.compute({64, 1024}, function(i, j) return A(i, 1023 - j) end, "T"), {target = "a100"})
    s:split("i", 20)
    s:bind("i_o", "blockIdx.x")
    s:cache_read(A, "shared", {"T"}, {at = "i_o"})
    s:bind("j", "threadIdx.x")
    support.fails("a block uses 81920 bytes of shared memory, and a block of t4 can have 65536", "limit", s.cost, s,
      {machine = "t4"})
    support.fails("a block uses 81920 bytes of shared memory", "limit", nw.waves, s, {machine = "t4"})
  end)

  it("has registers for no block, or shared memory for none", function()
    local few = {name = "few", extends = "a100", gpu = {registers = 1024, registers_thread = 255}}
    local err = support.fails("cost: no block of kernel 1 can run on few: 1024 threads need 1 register each, and a multiprocessor "
      .. "has 1024", "limit", function() return chain(4, 1024, 2):cost {machine = few} end)
    assert.equal("use smaller blocks", err.hint)
    local small = {name = "small", extends = "t4", gpu = {shared = 4096, shared_block = 4096, shared_reserved = 1024}}
    support.fails("no block of kernel 1 can run on small: it needs 4096 bytes of shared memory and 1024 for the driver, and a "
      .. "multiprocessor has 4096", "limit", function() return transpose("a100", false):cost {machine = small} end)
  end)

  it("has one thread", function()
    local c = chain(8, 1, 1):cost()
    assert.is_true(c.seconds > 0 and c.seconds < 1)
    assert.truthy(tostring(c):find("kernel 1: a block has 1 thread, so 31 of the 32 lanes of its last warp do nothing", 1, true))
  end)

  it("has too many blocks", function()
    local n = nw.size("n", {min = 1})
    local X = nw.placeholder({n}, "f32", "X")
    local s = nw.schedule(nw.compute({n}, function(i) return X(i) + 1 end, "Y"), {target = "a100"})
    s:split("i", 32)
    s:bind("i_o", "blockIdx.x")
    s:bind("i_i", "threadIdx.x")
    assert.is_true(s:cost {sizes = {n = 32 * (2 ^ 31 - 1) // 1}}.seconds > 0) -- blocks that are alike are not visited
    support.fails("2147483648 blocks in x are too many for a100: at most 2147483647", "limit", s.cost, s, {sizes = {n = 1 << 36}})
  end)
end)
