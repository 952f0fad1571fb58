--- Tests copies of tensors: copies that only some reads use.
local nw = require "nestwright"
local support = require "support"
local fails = support.fails

describe("cache_read of some accesses", function()
  local function make()
    local A = nw.placeholder({20}, "f32", "A")
    local Y = nw.compute({18}, function(i) return A(i) + A(i + 2) * A(i) - A(i + 1) end, "Y")
    return nw.schedule(Y), A, Y
  end

  it("copies the part that these reads use", function()
    local s, A, Y = make()
    s:split("i", 4)
    s:cache_read(A, "local", {Y}, {at = "i_o", accesses = {2}})
    assert.truthy(tostring(s):find("A[4*i_o + i_i] + A_local[4*i_o + i_i + 2]*A[4*i_o + i_i] - A[4*i_o + i_i + 1]", 1, true))
    assert.truthy(tostring(s):find("alloc A_local[4] local", 1, true))
    assert.truthy(s:check())
    assert.is_false(s:rounds())
  end)

  it("is replayed from both forms of the trace, and parsed", function()
    local s, A = make()
    s:cache_read(A, "global", {accesses = {3, 1}})
    assert.equal('s:cache_read("A", "global", {accesses = {3, 1}})\n', s:trace())
    assert.is_true(s:reparses())
    local t, u = make(), make()
    t:replay(s:trace "json")
    assert.equal(s:text(), t:text())
    assert(load("local s = ...\n" .. s:trace()))(u)
    assert.equal(s:text(), u:text())
  end)

  it("lists the reads of a reader if one does not exist", function()
    local s, A, Y = make()
    local before = s:text()
    for _, bad in ipairs {{4}, {0}, {-1}, {1, 4}, {1 << 40}} do
      fails("Y reads 1: A%[i%], 2: A%[i %+ 2%], 3: A%[i %+ 1%]", "invalid", s.cache_read, s, A, "global", {Y}, {accesses = bad})
    end
    fails("Y has no access 4 of A", "invalid", s.cache_read, s, A, "global", {Y}, {accesses = {4}})
    fails("accesses is empty", "invalid", s.cache_read, s, A, "global", {Y}, {accesses = {}})
    fails("whole number", "invalid", s.cache_read, s, A, "global", {Y}, {accesses = {"A[i]"}})
    fails("table", nil, s.cache_read, s, A, "global", {Y}, {accesses = 1})
    assert.equal(before, s:text())
  end)

  it("counts a read in an index before the read that it indexes", function()
    local A = nw.placeholder({9}, "i32", "A")
    local Y = nw.compute({9}, function(i) return A(nw.clamp(A(i), 0, 8)) end, "Y")
    for access, text in pairs {"A[min(max(i64(A_global[i]), 0), 8)]", "A_global[min(max(i64(A[i]), 0), 8)]"} do
      local s = nw.schedule(Y)
      s:cache_read(A, "global", {accesses = {access}})
      assert.truthy(tostring(s):find("Y[i] = " .. text, 1, true), tostring(s))
      assert.truthy(s:check())
    end
  end)
end)
