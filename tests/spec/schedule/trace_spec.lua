--- Tests traces on another shape: the legality of every step is checked again, and the error names the first step that fails.
local nw = require "nestwright"
local support = require "support"

local gemm, stencil = support.gemm, support.stencil

local function recurrence(steps, width, reach)
  local A = nw.placeholder({reach, width}, "f32", "A")
  local state = nw.scan_state({steps, width}, "f32", "state")
  local first = nw.compute({reach, width}, function(t, x) return A(t, x) end, "first")
  local update = nw.compute({steps, width}, function(t, x) return state(t - reach, x) + 1 end, "update")
  return nw.schedule(nw.scan(first, update, state, "S"))
end

local function walk(s, C, B)
  local i_o, j_o = s:tile("i", "j", 16, 32)
  local k_o, k_i = s:split("k", 8)
  s:reorder(i_o, j_o, k_o, "i_i", k_i, "j_i")
  s:cache_read(B, "global", {C}, {layout = function(k, j) return j // 32, k, j % 32 end})
  s:decompose_reduction(C, k_o)
  s:vectorize "j_i"
  s:unroll(k_i)
  s:parallel(i_o)
end

describe("a trace", function()
  it("makes the identical program on the same computation, pasted and as JSON", function()
    local s, C, _, B = gemm(64, 64, 64)
    walk(s, C, B)
    local pasted, read = gemm(64, 64, 64), gemm(64, 64, 64)
    load("local s = ... " .. s:trace())(pasted)
    read:replay(s:trace "json")
    assert.equal(s:text(), pasted:text())
    assert.equal(s:text(), read:text())
    assert.equal(s:trace(), read:trace())
    assert.equal(s:trace "json", pasted:trace "json")
  end)

  it("is judged again on another shape, and gives right results there", function()
    local s, C, _, B = gemm(64, 64, 64)
    walk(s, C, B)
    local other = gemm(32, 96, 24)
    other:replay(s:trace "json")
    assert.equal(s:trace(), other:trace())
    support.agrees(other)
  end)

  it("names the first step that is refused on another shape", function()
    local s = recurrence(12, 4, 3)
    local _, t_i = s:split("t_1", 3)
    s:vectorize(t_i) -- three time steps are independent of each other
    s:parallel "x"
    local other = recurrence(12, 4, 2)
    local before = other:text()
    local ok, err = pcall(other.replay, other, s:trace "json")
    assert.is_false(ok)
    assert.truthy(err.message:find('^step 2, s:vectorize "t_1_i": cannot vectorize t_1_i'), err.message)
    assert.equal("raw", err.refusal.kind)
    assert.equal(before, other:text())
    assert.is_true(other:explain().seen)
  end)

  it("names the first step that another shape does not allow", function()
    local s, X = stencil(34)
    local j_o = select(2, s:tile("i_1", "j_1", 8, 16))
    s:compute_at(X, j_o)
    s:vectorize "j_1_i"
    local M = nw.size "M"
    local A = nw.placeholder({M, M}, "f32", "A")
    local Z = nw.compute({M, M}, function(i, j) return A(i, j) * 2 end, "Z")
    local ok, err = pcall(function() return nw.schedule(Z):replay(s:trace "json") end)
    assert.is_false(ok)
    assert.truthy(err.message:find "^replay: step 1, s:tile%(\"i_1\", \"j_1\", 8, 16%): no loop \"i_1\"", err.message)
  end)

  it("names a step that fails because of its size", function()
    local s = gemm(64, 64, 64)
    s:split("j", 16)
    s:vectorize "i"
    local ok, err = pcall(function() return (gemm(512, 64, 64)):replay(s:trace "json") end)
    assert.is_false(ok)
    assert.truthy(err.message:find '^step 2, s:vectorize "i": ', err.message)
  end)
end)

describe("a witness", function()
  -- {description, function that makes a schedule for a size, the illegal step, the least size if it is not 1}
  local cases = {
    {"a reduction in parallel", function(n)
      local A = nw.placeholder({n, 4}, "i32", "A")
      local k = nw.reduce_axis(n, "k")
      return nw.schedule(nw.compute({4}, function(i) return nw.sum(A(k, i), k) end, "R"))
    end, function(s) s:parallel "k" end},
    {"a shift by three in place", function(n)
      local A = nw.placeholder({3, 4}, "i32", "A")
      local state = nw.scan_state({n, 4}, "i32", "state")
      local first = nw.compute({3, 4}, function(t, x) return A(t, x) end, "first")
      local update = nw.compute({n, 4}, function(t, x) return state(t - 3, x) + 1 end, "update")
      return nw.schedule(nw.scan(first, update, state, "S"))
    end, function(s) s:parallel "t_1" end, 3},
    {"space before time", function(n)
      local A = nw.placeholder({1, n}, "i32", "A")
      local state = nw.scan_state({4, n}, "i32", "state")
      local first = nw.compute({1, n}, function(t, x) return A(t, x) end, "first")
      local update = nw.compute({4, n}, function(t, x)
        return state(t - 1, nw.max(x - 1, 0)) + state(t - 1, nw.min(x + 1, n - 1))
      end, "update")
      return nw.schedule(nw.scan(first, update, state, "S"))
    end, function(s) s:reorder("x_1", "t_1") end},
  }

  for _, case in ipairs(cases) do
    local what, make, step, least = table.unpack(case, 1, 4)
    it("is of the smallest shape that fails: " .. what, function()
      local ok, err = pcall(step, make(nw.size("M", {min = least or 1})))
      assert.is_false(ok)
      local size = err.refusal.witness.sizes[1]
      for n = least or 1, size - 1 do assert.is_true(pcall(step, make(n)), ("it fails at %d too"):format(n)) end
      local constant, there = pcall(step, make(size))
      assert.is_false(constant)
      assert.same(err.refusal.witness.source, there.refusal.witness.source)
      assert.same(err.refusal.witness.sink, there.refusal.witness.sink)
    end)
  end
end)
