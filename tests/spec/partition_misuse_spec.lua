--- Partitioning where something goes wrong: the schedule comes back, the error says what and where.
local nw = require "nestwright"
local core = require "nestwright.core"
local support = require "support"

local K, N = 5, 8

local function product(M)
  local A, B = nw.placeholder({M, K}, "f32", "A"), nw.placeholder({K, N}, "f32", "B")
  local k = nw.reduce_axis(K, "k")
  return nw.schedule(nw.compute({M, N}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C"))
end

local function any_rows() return product(nw.size("M", {min = 0})) end

local function unrolled(s, p)
  s:reorder(p.outer, p:loop "k", p.inner, p:loop "j")
  s:unroll(p.inner)
end

local function kernel(rows, more)
  local k = {rows = rows, schedule = unrolled}
  for key, value in pairs(more or {}) do k[key] = value end
  return k
end

local function auto(s, o)
  local all = {loop = "i", kernels = {kernel(4), kernel(1)}, cost = "model", machine = "zen5", sizes = {M = {1, 7, 8}},
    strategies = {"guard", "cut"}}
  for key, value in pairs(o or {}) do all[key] = value end
  return s:partition_auto(all)
end

-- A kernel that is stopped in its n-th call, as Ctrl-C stops it.
local function stopped(n, code)
  local calls = 0
  return kernel(4, {schedule = function(s, p)
    calls = calls + 1
    unrolled(s, p)
    if calls == n then core.fail(code or "interrupt", "interrupted") end
  end})
end

describe("a schedule on which partitions are tried", function()
  it("is where it was when the search is stopped", function()
    local s = any_rows()
    s:reorder("i", "k", "j")
    local version = s:version()
    support.fails("interrupted", "interrupt", auto, s, {kernels = {stopped(2), kernel(1)}})
    assert.equal(version, s:version())
  end)

  it("is where it was when a dispatch table is stopped", function()
    local s = any_rows()
    local list = auto(s, {kernels = {stopped(3), kernel(1)}})
    s:split("j", 4)
    local version = s:version()
    support.fails("interrupted", "interrupt", function() list:dispatch() end)
    assert.equal(version, s:version())
  end)

  it("is where it was when its price is not to be had", function()
    local s = any_rows()
    local model = {predict = function() core.fail("interrupt", "interrupted") end}
    support.fails("interrupted", "interrupt", auto, s, {cost = "learned", model = model})
    assert.equal(0, s:version())
  end)

  it("is where the user had it when a dispatch table is made", function()
    local s = any_rows()
    local list = auto(s)
    s:split("j", 2)
    local version = s:version()
    list:dispatch()
    assert.equal(version, s:version())
  end)

  it("is as it was when TVM's way is refused", function()
    local s = product(64)
    support.fails("there is no loop zz", "invalid", nw.partition.tvm_like, s, "i",
      {rows = 8, schedule = function(t, p) t:vectorize(p:loop "zz") end})
    assert.equal(0, s:version())
  end)
end)
