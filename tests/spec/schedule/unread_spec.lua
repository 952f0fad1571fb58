--- Tests that stages which no output needs are dropped, with a note.
local nw = require "nestwright"
local support = require "support"
local refuses = support.refuses

local function numbers(shape, dtype)
  local a = nw.zeros(shape, dtype or "i32")
  for n = 1, a:count() do a:setflat(n, (5 * n) % 7 + 1) end
  return a
end

local function has(s, name) return s:text():find(name, 1, true) ~= nil end

describe("a schedule drops", function()
  it("an output of a compute that nothing reads", function()
    local A = nw.placeholder({8, 6}, "i32", "A")
    local B, _ = nw.compute({8, 6}, function(i, j) return A(i, j) + 1, A(i, j) * 2 end, "B")
    local C = nw.compute({8, 6}, function(i, j) return B(i, j) + 4 end, "C")
    local s = nw.schedule(C)
    assert.equal("dropped B.v1, since no output needs it", s:notes())
    assert.is_false(has(s, "B.v1"))
    assert.equal(s:notes(), s:log()[1].notes)
    local _, inner = s[C]:split("i", 3)
    s:compute_at(B, inner)
    support.agree(s, {C}, {numbers {8, 6}})
    assert.is_true(s:reparses())
    assert.equal("", nw.schedule {nw.compute({8}, function(i) return A(i, 0), A(i, 1) end, "D")}:notes())
  end)

  it("stages that only dropped stages read", function()
    local A = nw.placeholder({9}, "i32", "A")
    local D = nw.compute({9}, function(i) return A(i) * 3 end, "D")
    local E = nw.compute({9}, function(i) return D(i) + 1 end, "E")
    local B, _ = nw.compute({9}, function(i) return A(i), E(i) end, "B")
    local s = nw.schedule(nw.compute({9}, function(i) return B(8 - i) end, "C"))
    assert.equal("dropped D, E and B.v1, since no output needs them", s:notes())
    assert.is_false(has(s, "D[") or has(s, "E["))
    support.agrees(s)
  end)

  it("a state of a scan that the others do not read", function()
    local X = nw.placeholder({5, 4}, "i32", "X")
    local S, T = nw.scan_state({5, 4}, "i32", "S_state"), nw.scan_state({5, 4}, "i32", "T_state")
    local first = nw.compute({1, 4}, function(_, i) return X(0, i) end, "first")
    local second = nw.compute({1, 4}, function(_, i) return X(0, i) end, "second")
    local plus = nw.compute({5, 4}, function(t, i) return S(t - 1, i) + X(t, i) end, "plus")
    local times = nw.compute({5, 4}, function(t, i) return nw.max(T(t - 1, i), S(t - 1, i)) end, "times")
    local R, Q = nw.scan({first, second}, {plus, times}, {S, T}, "R")
    local s = nw.schedule(R)
    assert.equal("dropped R.v1, since no output needs it", s:notes())
    support.agree(s, {R}, {numbers {5, 4}})
    assert.equal("", nw.schedule(Q):notes()) -- the second state reads the first
  end)

  it("a stage that a rewrite leaves unread, and restores it when the step is undone", function()
    local A = nw.placeholder({16}, "f64", "A")
    local T = nw.compute({16}, function(i) return A(i) * 3 end, "T")
    local C = nw.compute({16}, function(i) return A(i) + T(i) - T(i) end, "C")
    local s = nw.schedule(C)
    local loop = s:loops(T)[1]
    s:rewrite(C, "x + y - y", "x")
    assert.truthy(s:notes():find("dropped T, since no output needs it", 1, true))
    assert.is_false(has(s, "T["))
    support.agree(s, {C}, {numbers({16}, "f64")})
    support.fails("dropped, since no output needs it", "stale", function() s:split(loop, 4) end)
    local other = nw.schedule(C):replay(s:trace "json")
    assert.equal(s:text(), other:text())
    s:undo()
    assert.is_true(has(s, "T["))
    s:split(loop, 4)
    support.agree(s, {C}, {numbers({16}, "f64")})
  end)
end)

describe("a schedule keeps", function()
  local A, k = nw.placeholder({6, 5}, "i32", "A"), nw.reduce_axis(5, "k")

  it("the value of an argmax whose position is read", function()
    local _, I = nw.compute({6}, function(i) return nw.argmax(A(i, k), k) end, "M")
    local s = nw.schedule(nw.compute({6}, function(i) return I(i) * 2 end, "C"))
    assert.equal("", s:notes())
    support.agrees(s)
  end)

  it("the components of a reducer of one's own", function()
    local tied = nw.reducer {name = "tied", init = {-2147483648, 0}, combine = function(a, b)
      local best = nw.max(a[1], b[1])
      return best, nw.select(nw.eq(a[1], best), a[2], 0) + nw.select(nw.eq(b[1], best), b[2], 0)
    end}
    local _, count = nw.compute({6}, function(i) return tied({A(i, k), nw.cast(1, "i32")}, k) end, "M")
    local s = nw.schedule(nw.compute({6}, function(i) return count(i) * 2 end, "C"))
    assert.equal("", s:notes())
    support.agrees(s)
  end)

  it("a stage that is read only in the index of a written element", function()
    local X = nw.placeholder({12}, "i32", "X")
    local I = nw.compute({12}, function(i) return nw.min(nw.max(X(i), 0), 7) end, "I")
    local P = nw.compute({8}, function(_) return -1 end, "P")
    local L = nw.update(P, {12}, function(_, i) return {nw.min(nw.max(I(i), 0), 7)}, nw.i32(i) end, "L")
    local s = nw.schedule(L)
    assert.equal("", s:notes())
    support.agree(s, {L}, {numbers {12}})
  end)

  it("dropped stages out of the reach of steps", function()
    local B, D = nw.compute({6}, function(i) return A(i, 0), A(i, 1) end, "B")
    local s = nw.schedule(nw.compute({6}, function(i) return B(i) end, "C"))
    refuses(s, "B.v1", "invalid", function() s:set_scope(D, "local") end)
  end)
end)
