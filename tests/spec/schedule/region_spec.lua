--- Tests prefetches of a part of what an iteration uses, and the advice about streaming stores.
local nw = require "nestwright"
local support = require "support"
local fails = support.fails

local function lowered(s) return tostring(s:show("lowered", {fold = false})) end
local function prefetches(s) return select(2, lowered(s):gsub("prefetch ", "")) end

-- A stencil in three dimensions, whose iterations of y read nine rows of A.
local function stencil()
  local A = nw.placeholder({34, 34, 66}, "f32", "A")
  local B = nw.compute({32, 32, 64}, function(z, y, x)
    local sum = A(z + 1, y + 1, x + 1)
    for _, at in ipairs {{0, 1, 1}, {2, 1, 1}, {1, 0, 1}, {1, 2, 1}, {1, 1, 0}, {1, 1, 2}} do
      sum = sum + A(z + at[1], y + at[2], x + at[3])
    end
    return sum
  end, "B")
  return nw.schedule(B), B
end

describe("prefetch of a region", function()
  it("takes the rows at the given positions, and nothing else", function()
    local s, B = stencil()
    s:prefetch("A", "y", {region = {"z + 1", "y + 8"}})
    local text = lowered(s)
    assert.truthy(text:match "prefetch A%[(.-)%]", text)
    assert.truthy(prefetches(s) <= 6, text) -- one row of 66 elements
    local whole = stencil()
    whole:prefetch("A", "y", 7)
    local lines = 0
    for row in lowered(whole):gmatch "for line[%w_]* in 0%.%.(%d+)" do lines = math.max(lines, tonumber(row)) end
    assert.truthy(lines > 1 or prefetches(whole) > 6)
    local a = nw.random({34, 34, 66}, "f32", {seed = 1})
    local want = nw.evaluate(B, {a})[1]
    assert.is_true(nw.allclose(s:build {threads = 1}(a), want, {rtol = 1e-5, atol = 1e-5}))
  end)

  it("moves with the iteration if an offset is given", function()
    local s, t = stencil(), stencil()
    s:prefetch("A", "y", 3, {region = {"z", "y"}})
    t:prefetch("A", "y", {region = {"z", "y + 3"}})
    local function first(x) return lowered(x):match "prefetch A%[[^%]]*%]" end
    assert.truthy(first(s))
    assert.truthy(first(t))
  end)

  it("is part of the trace, and follows later steps", function()
    local s, B = stencil()
    s:prefetch("A", "x", {region = {"z + 1", "y + 8", "x"}})
    s:split("y", 4)
    local again = nw.schedule(B)
    again:replay(s:trace "json")
    assert.equal(s:text(), again:text())
    assert.truthy(s:trace():find('region = {"z + 1", "y + 8", "x"}', 1, true), s:trace())
    local one = nw.schedule(B)
    one:prefetch("A", "y", {region = {"z + 1"}})
    again = nw.schedule(B)
    again:replay(one:trace "json")
    assert.equal(one:text(), again:text())
  end)

  it("needs positions that the loop knows, for dimensions that the tensor has", function()
    local s = stencil()
    fails("may use only sizes, y and the loops around it; x is none of them", "invalid", s.prefetch, s, "A", "y",
      {region = {"z", "x"}})
    fails("region has 4 positions; A has 3 dimensions", "range", s.prefetch, s, "A", "x", {region = {"z", "y", "x", "x"}})
    fails("region", "range", s.prefetch, s, "A", "x", {region = {}})
    fails("offset = %-1", "range", s.prefetch, s, "A", "x", -1, {region = {"z"}})
  end)
end)

describe("the advice about streaming stores", function()
  local function copy(n, m)
    local A = nw.placeholder({n, m}, "f32", "A")
    local s = nw.schedule(nw.compute({n, m}, function(i, j) return A(i, j) + 1 end, "Z"))
    local _, lane = s:split("j", 16)
    s:vectorize(lane)
    s:stream_stores "Z"
    return s:notes()
  end
  it("counts what the program reads, too", function()
    local cache = 0
    for _, level in ipairs(nw.machine().caches or {}) do cache = math.max(cache, level.bytes or 0) end
    if cache == 0 then return end
    local rows = cache * 3 // 4 // (64 * 4) -- three quarters of the cache: Z alone would fit, but not with A
    assert.equal("", copy(rows, 64))
    assert.truthy(copy(16, 64):find("ordinary stores would keep Z there", 1, true))
  end)
end)
