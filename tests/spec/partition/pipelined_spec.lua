--- Tests software pipelining: how many iterations ahead data is fetched for the latencies of a machine, which steps are made, and
--- whether the results are right.
local nw = require "nestwright"
local support = require "support"

local fails = support.fails

local function product(M, N, K)
  local A, B = nw.placeholder({M, K}, "f32", "A"), nw.placeholder({K, N}, "f32", "B")
  local k = nw.reduce_axis(K, "k")
  return nw.schedule(nw.compute({M, N}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C"))
end

-- Makes a product in tiles of 2 rows and 32 columns. The loop over k computes one tile.
local function tile(N, K)
  local s = product(2, N, K)
  s:split("j", 32)
  s:reorder("j_o", "k", "i", "j_i")
  local _, lanes = s:split("j_i", 16)
  s:vectorize(lanes)
  s:unroll "j_i_o"
  s:unroll "i"
  return s
end

-- Returns the machine zen5, but with this latency of the second level of cache. The latency of the third level is 48 cycles more.
local function far(latency)
  local caches = {}
  for n, c in ipairs {{48 << 10, 12, 4, 128}, {1 << 20, 16, latency, 62}, {32 << 20, 16, 48 + latency, 29}} do
    caches[n] = {bytes = c[1], ways = c[2], latency = c[3], bytes_per_cycle = c[4]}
  end
  return nw.machine {extends = "zen5", name = "far", caches = caches}
end

-- Makes a product that copies `rows` rows of B in each iteration of k_o, and then uses them.
local function copied(M, N, K, rows)
  local s = product(M, N, K)
  s:split("k", rows)
  s:reorder("k_o", "i", "j", "k_i")
  local copy = s:cache_read("B", "global", {"C"})
  s:compute_at(copy, "k_o")
  return s, copy
end

local function agrees(s, M, N, K)
  local a, b = nw.random({M, K}, "f32", {seed = 1}), nw.random({K, N}, "f32", {seed = 2})
  assert.is_true(nw.allclose(s:build {threads = 1}(a, b), product(M, N, K):build {threads = 1}(a, b), {rtol = 1e-5, atol = 1e-5}))
end

describe("nw.partition.pipelined", function()
  -- B has 96 kB, so it fits into the second level of cache, but not into the first level, which has 48 kB.
  it("fetches ceil(latency / interval) iterations ahead", function()
    local s = tile(96, 256)
    local p = nw.partition.pipelined(s, "k", {tensor = "B", machine = "zen5"})
    local record = nw.machine "zen5"
    assert.equal("L2", p.level)
    assert.equal(record.caches[2].latency, p.latency)
    assert.equal(math.ceil(p.latency / p.interval), p.ahead)
    assert.truthy(tostring(s):find(("prefetch B[k + %d.."):format(p.ahead), 1, true), tostring(s))
    assert.near(p.latency + p.ahead * p.interval, p.prologue, 1e-6)
    for _, word in ipairs {"prologue", "steady state", "epilogue", "comes from L2 (latency 14 cycles"} do
      assert.truthy((p .. ""):find(word, 1, true), p .. "")
    end
    agrees(s, 2, 96, 256)
    s:undo()
    assert.is_nil(tostring(s):find("prefetch", 1, true))
  end)

  it("fetches ten times as many iterations ahead if the latency is ten times as long", function()
    local function ahead(latency)
      return nw.partition.pipelined(tile(96, 256), "k", {tensor = "B", machine = far(latency)}).ahead
    end
    local near, remote = ahead(20), ahead(200)
    assert.is_true(remote > 5 * near and remote < 15 * near, ("%d and %d"):format(near, remote))
  end)

  it("adds no prefetch if all data is in the first cache", function()
    local s = tile(32, 64)
    local was = s:version()
    local p = nw.partition.pipelined(s, "k", {tensor = "B", machine = "zen5"})
    assert.equal(0, p.ahead)
    assert.equal(was, s:version())
    assert.truthy((p .. ""):find("no latency to hide", 1, true))
  end)

  it("fetches at most as many iterations ahead as the loop has", function()
    local p = nw.partition.pipelined(tile(96, 256), "k", {tensor = "B", machine = far(100000)})
    assert.equal(255, p.ahead)
    assert.is_true(p.limited)
    assert.truthy((p .. ""):find("not enough", 1, true))
  end)

  it("computes a copy ahead, and shows the three parts", function()
    local s, copy = copied(16, 32, 128, 8)
    local p = nw.partition.pipelined(s, "k_o", {stage = copy, machine = "zen5"})
    assert.is_true(p.ahead >= 1)
    assert.is_true(p.prologue > 0 and p.epilogue > 0 and p.interval > 0)
    assert.truthy(tostring(s):find("B_global.pre", 1, true), tostring(s))
    assert.truthy((p .. ""):find("steady state", 1, true))
    agrees(s, 16, 32, 128)
  end)

  it("can pipeline the main piece of a cut loop, with right results for every size", function()
    local M = nw.size("M", {min = 0})
    local A = nw.placeholder({M, 64}, "f32", "A")
    local s = nw.schedule(nw.compute({M, 64}, function(i, j) return A(i, j) * 2 end, "Y"))
    local plain = s:build {threads = 1}
    s:split("i", 4, {tail = "cut"})
    local p = nw.partition.pipelined(s, "i_o", {tensor = "A", machine = "zen5", sizes = {M = 4096}})
    assert.is_true(p.ahead >= 1)
    local f = s:build {threads = 1}
    for m = 0, 13 do
      local a = nw.random({m, 64}, "f32", {seed = m})
      assert.is_true(nw.allclose(f(a), plain(a), {rtol = 0, atol = 0}))
    end
  end)

  it("says which arguments are valid", function()
    local s, copy = copied(16, 32, 128, 8)
    fails("give a tensor", "invalid", nw.partition.pipelined, s, "k_o", {})
    fails("give a tensor", "invalid", nw.partition.pipelined, s, "k_o", {tensor = "B", stage = copy})
    fails("there is no stage Q", "invalid", nw.partition.pipelined, s, "k_o", {stage = "Q"})
    fails("no loop", nil, nw.partition.pipelined, s, "q", {tensor = "B"})
    fails("expected", nil, nw.partition.pipelined, s, "k_o")
    local M = nw.size("M", {min = 0})
    local one = nw.schedule(nw.compute({M, 1 << 16}, function(i, j) return nw.cast(i + j, "f32") end, "Y"))
    fails("has 1 iteration,", "invalid", nw.partition.pipelined, one, "i", {tensor = "Y", machine = "zen5", sizes = {M = 1}})
  end)
end)

describe("double_buffer", function()
  for ahead = 1, 5 do
    it(("%d iterations ahead gives right results, also if the loop has fewer iterations"):format(ahead), function()
      for _, K in ipairs {8, 12, 32} do
        local s, copy = copied(3, 5, K, 4)
        s:double_buffer(copy, ahead)
        agrees(s, 3, 5, K)
        s:check()
      end
    end)
  end

  it("3 iterations ahead has storage for all overlapping iterations, and says so", function()
    local s, copy = copied(3, 5, 32, 4)
    s:double_buffer(copy, 3)
    assert.truthy(tostring(s):find("layout [_0 % 16, _1] in [16, 5]", 1, true), tostring(s))
    assert.truthy(s:notes():find("B_global is computed 3 iterations of k_o ahead; B_global.pre and 2 more", 1, true), s:notes())
    assert.truthy(tostring(s):find("B_global.pre3", 1, true))
    local p = nw.partition.pipeline(s, "k_o", {machine = "zen5"})
    assert.equal(5, p.rounds)
    assert.is_true(p.prologue > 0 and p.epilogue > 0)
  end)

  it("3 iterations ahead gives right results for every size", function()
    local K = nw.size("K", {min = 0})
    local s, copy = copied(3, 5, K, 4)
    local plain = product(3, 5, K):build {threads = 1}
    s:double_buffer(copy, 3)
    local f = s:build {threads = 1}
    for k = 0, 17 do
      local a, b = nw.random({3, k}, "f32", {seed = 1}), nw.random({k, 5}, "f32", {seed = 2})
      assert.is_true(nw.allclose(f(a, b), plain(a, b), {rtol = 1e-5, atol = 1e-6}), ("K = %d"):format(k))
    end
  end)

  it("is refused for 0 iterations ahead, and for too many", function()
    local s, copy = copied(3, 5, 32, 4)
    for _, ahead in ipairs {0, -1, 17, 1 << 40} do fails("ahead = ", "range", s.double_buffer, s, copy, ahead) end
  end)

  it("2 iterations ahead replays from its trace", function()
    local s, copy = copied(3, 5, 32, 4)
    s:double_buffer(copy, 2)
    local again = product(3, 5, 32)
    assert(load("local s = ... " .. s:trace()))(again)
    assert.equal(tostring(s), tostring(again))
  end)
end)
