--- Tests shared storage inside the loops of threads: it holds what all threads of the block use, so it moves outside of these
--- loops, and the loops in between too.
package.path = "tests/sound/?.lua;" .. package.path
local nw = require "nestwright"
local check = require "check"
local support = require "support"

-- Returns an n x n product in tiles of 4 x 4. Each tile is a block, and each element of a tile is a thread.
local function tiled(n)
  local s, C = support.gemm(n)
  s:tile("i", "j", 4, 4)
  for loop, tag in pairs {i_o = "blockIdx.y", j_o = "blockIdx.x", i_i = "threadIdx.y", j_i = "threadIdx.x"} do s:bind(loop, tag) end
  return s, C
end

local function has(s, text)
  local whole = tostring(s)
  assert.truthy(whole:find(text, 1, true), whole)
end

local function told(s, text) assert.truthy(s:notes():find(text, 1, true), s:notes()) end

local function refused(why, f, ...)
  local s, before = ..., (...):text()
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  assert.equal("refused", err.code, tostring(err))
  assert.truthy(tostring(err):find(why, 1, true), tostring(err))
  assert.equal(before, s:text())
end

describe("shared storage inside the loops of threads", function()
  it("is the union of what the threads use", function()
    local s, C = tiled(8)
    s:split("k", 2)
    s:cache_read("A", "shared", {C}, {at = "k_o"})
    has(s, [[
    for k_o in 0..4:
      alloc A_shared[4, 2] shared
      for i in 0..4:
        for k in 0..2:
          A_shared[4*i_o + i, 2*k_o + k] = A[4*i_o + i, 2*k_o + k]
      threadIdx.y for i_i in 0..4:
        threadIdx.x for j_i in 0..4:
          for k_i in 0..2:]])
    told(s, "A_shared is stored once for all threads of a block, so it is computed outside of i_i and j_i")
    check.on_grid(s, {C})
  end)

  it("is the same if the loops are bound afterwards", function()
    local texts = {}
    for _, first in ipairs {true, false} do
      local s, C = support.gemm(8)
      s:tile("i", "j", 4, 4)
      s:split("k", 2)
      s:bind("i_o", "blockIdx.y")
      s:bind("j_o", "blockIdx.x")
      local function copy() s:cache_read("A", "shared", {C}, {at = "k_o"}) end
      if not first then copy() end
      s:bind("j_i", "threadIdx.x")
      s:bind("i_i", "threadIdx.y")
      if first then copy() end
      texts[#texts + 1] = tostring(s):gsub("threadIdx%.(%a) for (%w+)", "threads")
      check.on_grid(s, {C})
    end
    for _, text in ipairs(texts) do
      assert.truthy(text:find("for k_o in 0..4:\n      alloc A_shared[4, 2] shared\n      for i in 0..4:", 1, true), text)
    end
  end)

  it("divides the loops of the threads among the statements around a loop in between", function()
    local s, C = tiled(8)
    local sums = s:cache_write(C, "local", {at = "j_i"})
    local k_o = s:split("k", 2)
    s:decompose_reduction(sums, k_o)
    s:cache_read("A", "shared", {sums}, {at = k_o})
    local text = tostring(s)
    assert.equal(3, select(2, text:gsub("threadIdx.x", "")), text) -- the init, the updates and the results
    assert.truthy(text:find "threadIdx.x for j_i in 0..4:\n *for k_i in 0..2:\n *C_local%[.-%] %+=", text) -- j_i stays here
    has(s, "alloc C_local[4, 4] local")
    check.on_grid(s, {C})
  end)

  it("keeps a condition on the threads inside their loops", function()
    local s, C = tiled(7)
    local k_o = s:split("k", 2)
    s:specialize("i_i < 3", k_o)
    s:cache_read("B", "shared", {"C"}, {at = s:loops("C")[5]})
    has(s, [[
      threadIdx.y for i_i in 0..4:
        if i_i < 3:
          threadIdx.x for j_i in 0..4:]])
    check.on_grid(s, {C})
  end)

  it("moves out of the loops of virtual threads, too", function()
    local s, C = support.gemm(8)
    local v, i = s:split("i", 4)
    s:bind(v, "vthread")
    s:bind(i, "threadIdx.y")
    s:cache_read("A", "shared", {C}, {at = "k"})
    has(s, "alloc A_shared[8, 1] shared")
    check.on_grid(s, {C})
  end)

  it("moves alone if new loops would lose a schedule, and each thread computes its own part", function()
    local s, C = tiled(8)
    local sums = s:cache_write(C, "local", {at = "j_i"})
    local k_o = s:split("k", 2)
    s:unroll "k_i"
    s:set_scope(sums, "shared")
    has(s, "    alloc C_local[4, 4] shared\n    threadIdx.y for i_i in 0..4:\n      threadIdx.x for j_i in 0..4:")
    has(s, "unroll for k_i in 0..2")
    assert.equal("k_o", k_o.name)
    told(s, "C_local is stored once for all threads of a block, so its storage is outside of i_i and j_i")
    check.on_grid(s, {C})
  end)

  it("gets new loops if threads would compute the same elements", function()
    local A = nw.placeholder({18}, "i32", "A")
    local X = nw.compute({18}, function(i) return A(i) * 2 end, "X")
    local Y = nw.compute({16}, function(i) return X(i) + X(i + 2) end, "Y")
    local s = nw.schedule(Y)
    local i = s:loops(Y)[1]
    s:compute_at(X, i)
    s:unroll(s:loops(X)[2])
    s:bind(i, "threadIdx.x")
    s:set_scope(X, "shared")
    has(s, "alloc X[18] shared")
    told(s, "was marked unroll; the new loops are not")
    check.on_grid(s, {Y})
  end)

  it("has a default place inside the blocks", function()
    local s, C = tiled(8)
    s:cache_read("A", "shared", {C})
    has(s, "    alloc A_shared[4, 8] shared")
    s:split("k", 2)
    s:compute_at("A_shared", "k_o")
    s:cache_read("A_shared", "local", {C}) -- in the innermost loop of the threads
    has(s, "threadIdx.x for j_i in 0..4:\n          alloc A_shared_local[1, 2] local")
    check.on_grid(s, {C})
  end)

  it("is refused if a loop in between is not the same for all threads", function()
    local A = nw.placeholder({8, 8}, "f32", "A")
    local L = nw.compute({8, 8}, function(i, j) return nw.select(nw.le(j, i), A(i, j), 0) end, "L")
    local s = nw.schedule(L)
    s:partition "j"
    s:bind("i", "threadIdx.x")
    refused("cannot be allocated outside of i: the bounds of j.main depend on i", s.cache_read, s, A, "shared", {L},
      {at = "j.main"})
  end)

  it("is refused if it is computed from the storage of single threads", function()
    local A = nw.placeholder({66}, "f32", "A")
    local P = nw.compute({66}, function(i) return A(i) * 2 end, "P")
    local X = nw.compute({65}, function(i) return P(i) + P(i + 1) end, "X")
    local Y = nw.compute({64}, function(i) return X(i) + X(i + 1) end, "Y")
    local s = nw.schedule(Y)
    local i = s:loops(Y)[1]
    s:bind(i, "threadIdx.x")
    s:compute_at(X, i)
    s:compute_at(P, i)
    s:set_scope(P, "local")
    refused("but P has scope local: each thread has its own; X is stored once for all threads of a block", s.set_scope, s, X,
      "shared")
    s:set_scope(P, "shared")
    s:set_scope(X, "shared")
    check.on_grid(s, {Y})
  end)

  -- The loop of the threads became i_1 around the first stage, the name of the copy's own loop: "an invalid program was made".
  it("keeps the names of loops apart when a loop of threads is divided around a copy", function()
    local A = nw.placeholder({5, 4}, "i16", "A")
    local k = nw.reduce_axis(4, "k")
    local X = nw.compute({5}, function(i) return nw.min(A(i, k), k) end, "X")
    local Y = nw.compute({5}, function(i) return X(i) * 2 + 3 end, "Y")
    local s = nw.schedule(Y)
    s:merge("i", "i_1")
    s:cache_read(X, "shared", {Y}, {at = "i"})
    s:bind("i", "threadIdx.x")
    local text, taken = tostring(s), {}
    for loop in text:gmatch "for (%S+) in " do
      assert.is_nil(taken[loop], text)
      taken[loop] = true
    end
    check.on_grid(s, {Y})
  end)

  it("is found by random steps, whose traces replay", function()
    local s, C = tiled(8)
    local made
    for seed = 1, 4000 do
      local step = s:random_step(seed)
      local text = step and step.text or ""
      if text:find '"shared"' and (text:find 'at = "[ij]_i"' or text:find 'at = "k"') then
        s:apply(step.primitive, step.arguments)
        made = text
        break
      end
    end
    assert.truthy(made)
    local other = nw.schedule(C)
    other:replay(s:trace "json")
    assert.equal(s:text(), other:text())
    check.on_grid(s, {C})
  end)
end)
