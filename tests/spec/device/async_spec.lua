--- Tests asynchronous copies: where lowering places commits and waits, what the judge refuses, and that the interpreter notices
--- accesses while a copy is in flight.
local nw = require "nestwright"
local support = require "support"

-- Checks that the scheduled and the lowered program compute what the definition says, and that the texts parse back.
local function holds(s, outputs)
  local data = {}
  for n, t in ipairs(s:inputs()) do data[n] = nw.random(t:shape(), t.dtype, {seed = n}) end
  local want = nw.evaluate(outputs, data)
  for _, lowered in ipairs {false, true} do
    local got = nw.interpret(s, data, {lowered = lowered})
    for o, array in ipairs(want) do assert(nw.allclose(array, got[o])) end
  end
  support.simulates(s, data)
  assert(s:reparses())
  local other = nw.schedule(outputs)
  other:replay(s:trace "json")
  assert.equal(s:text(), other:text())
end

local function lowered(s) return tostring(s:show "lowered") end

-- Returns the lines of a text that begin with one of the words, without their indentation.
local function lines(text, ...)
  local out = {}
  for line in text:gmatch "[^\n]+" do
    local bare = line:match "^%s*(.*)"
    for _, word in ipairs {...} do
      if bare:sub(1, #word) == word then out[#out + 1] = bare break end
    end
  end
  return table.concat(out, "; ")
end

local function events(s) return lines(lowered(s), "commit", "wait", "barrier") end

-- Returns an n x n product in tiles on a grid. All threads copy the operands to shared storage, `ahead` iterations early.
local function tiled(n, t, ahead)
  local s, C, A, B = support.gemm(n)
  s:tile("i", "j", t, t)
  s:split("k", t)
  s:reorder("i_o", "j_o", "k_o", "i_i", "j_i", "k_i")
  local copies = {}
  for o, operand in ipairs {A, B} do
    copies[o] = s:cache_read(operand, "shared", {C}, {at = "k_o"})
    if ahead > 0 then s:double_buffer(copies[o], ahead) end
  end
  s:bind("i_o", "blockIdx.y")
  s:bind("j_o", "blockIdx.x")
  for _, stage in ipairs(s:stages()) do
    if stage.name:find "shared" then
      local loops = s:loops(stage.name)
      s:bind(loops[#loops - 1], "threadIdx.y")
      s:bind(loops[#loops], "threadIdx.x")
    end
  end
  s:bind("i_i", "threadIdx.y")
  s:bind("j_i", "threadIdx.x")
  return s, C, copies
end

-- Returns a sum of rows whose elements are copied, `ahead` iterations early.
local function sums(n, ahead, scope)
  local A, k = nw.placeholder({n, 6}, "i32", "A"), nw.reduce_axis(6, "k")
  local S = nw.compute({n}, function(i) return nw.sum(A(i, k), k) end, "S")
  local s = nw.schedule(S)
  local copy = s:cache_read(A, scope or "global", {S}, {at = "i"})
  if ahead > 0 then s:double_buffer(copy, ahead) end
  return s, S, copy
end

local function refused(kind, why, f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  assert.equal(kind, err.refusal and err.refusal.kind, tostring(err))
  assert.truthy(tostring(err):find(why, 1, true), tostring(err))
  return err
end

describe("an asynchronous copy", function()
  it("is waited for at once if it is used at once", function()
    local s, S, copy = sums(5, 0)
    s:async_copy(copy)
    assert.truthy(s:notes():find("nothing overlaps with the copy", 1, true), s:notes())
    assert.truthy(s:notes():find("code for a CPU copies at once", 1, true), s:notes())
    assert.truthy(tostring(s):find("async A_global[", 1, true), tostring(s))
    assert.equal("commit; wait 0", events(s))
    holds(s, {S})
    assert(s:check())
  end)

  it("is in flight while earlier iterations use their parts", function()
    for ahead = 1, 4 do
      for _, n in ipairs {2, 5, 9} do
        local s, S, copy = sums(n, ahead)
        s:async_copy(copy)
        assert.is_nil((s:notes():find("nothing overlaps", 1, true)))
        holds(s, {S})
        assert(s:check())
        local want = ("commit; "):rep(ahead) .. "commit; wait " .. ahead
        if n == 9 then assert.equal(want, events(s):sub(1, #want)) end
      end
    end
  end)

  it("is waited for before the barrier that shows it to other threads", function()
    for ahead = 0, 3 do
      local s, C, copies = tiled(16, 4, ahead)
      for _, copy in ipairs(copies) do s:async_copy(copy) end
      local text = lowered(s)
      assert.truthy(text:find("wait " .. math.max(ahead - 1, 0) .. "\n%s*barrier"), text)
      holds(s, {C})
      assert(s:check())
    end
  end)

  -- Only the second copy is made by several threads, and one thread uses it. Later copies need a wait in the loop, but no barrier.
  it("is waited for before a barrier, though a wait without a barrier is there", function()
    for piece, groups in pairs {pre = 2, pre2 = 1, pre3 = 0} do
      local B = nw.placeholder({9, 7}, "i32", "B")
      local X = nw.compute({9, 7}, function(i, j) return B(i, j) + 1 end, "X")
      local s = nw.schedule(X)
      local copy = s:cache_read(B, "shared", {X}, {at = "i"})
      s:double_buffer(copy, 3)
      s:async_copy(copy)
      s:bind(("i_1.%s/j_1"):format(piece), "threadIdx.x")
      local before = ("commit; "):rep(3) .. ("wait %d; barrier; "):format(groups)
      assert.equal(before, events(s):sub(1, #before))
      holds(s, {X})
    end
  end)

  it("is a property of the stage that later steps keep", function()
    local s, C, copies = tiled(9, 4, 1)
    s:async_copy(copies[1])
    assert.equal("s:async_copy \"A_shared\"", s:trace():match "[^\n]*async_copy[^\n]*")
    local marked = {}
    local function look(node)
      if node.async then marked[#marked + 1] = node.name end
      for _, child in ipairs(node) do look(child) end
    end
    look(s:tree())
    assert.same({"A_shared.pre", "A_shared"}, marked)
    s:unroll "k_i"
    assert.truthy(s:text():find("async block A_shared of A_shared", 1, true))
    holds(s, {C})
    refused("structure", "would no longer be an asynchronous copy", s.compute_inline, s, copies[1])
  end)

  it("can be compiled for a CPU, which copies at once", function()
    local s, S, copy = sums(7, 2)
    s:async_copy(copy)
    local a = nw.random({7, 6}, "i32", {seed = 3})
    assert(nw.allclose(nw.evaluate({S}, {a})[1], s:build()(a)))
    assert.is_nil(tostring(s:show "c"):find "commit")
  end)
end)

describe("the judge of asynchronous copies", function()
  it("refuses a stage that computes", function()
    local A = nw.placeholder({8}, "f32", "A")
    local X = nw.compute({8}, function(i) return A(i) * 2 end, "X")
    local Y = nw.compute({8}, function(i) return X(i) + 1 end, "Y")
    local s = nw.schedule(Y)
    refused("structure", "X does not only copy elements", s.async_copy, s, X)
    local t, S = sums(4, 0)
    refused("structure", "it is a reduction", t.async_copy, t, S)
    t:decompose_reduction(S, "k")
    refused("structure", "it is the init of a reduction", t.async_copy, t, "S_init")
  end)

  it("refuses storage in registers, and suggests another scope", function()
    local s, S, copy = sums(4, 0, "local")
    local err = refused("structure", "A_local has scope local", s.async_copy, s, copy)
    assert.truthy(tostring(err):find("set_scope", 1, true), tostring(err))
    s:set_scope(copy, "shared")
    s:async_copy(copy)
    refused("structure", "A_local has scope local", s.set_scope, s, copy, "local")
    holds(s, {S})
  end)

  it("refuses global storage on a grid, and a source in shared storage", function()
    local s, C, A = support.gemm(4)
    s:bind("i", "blockIdx.x")
    local copy = s:cache_read(A, "global", {C}, {at = "i"})
    refused("structure", "on a grid, asynchronous copies write shared memory", s.async_copy, s, copy)
    local t, D, copies = tiled(8, 4, 0)
    local again = t:cache_read(copies[1], "shared", {D}, {at = "k_o"})
    refused("structure", "asynchronous copies read global memory", t.async_copy, t, again)
  end)

  it("refuses a copy by threads that share its storage but not its waits", function()
    local A, k = nw.placeholder({8, 6}, "i32", "A"), nw.reduce_axis(6, "k")
    local S = nw.compute({8}, function(i) return nw.sum(A(i, k), k) end, "S")
    local s = nw.schedule(S)
    local copy = s:cache_read(A, "global", {S})
    s:async_copy(copy)
    refused("structure", "which they share, and a thread waits only for its own copies", s.parallel, s,
      s:loops(copy)[1])
    s:parallel "i"
    holds(s, {S})
  end)

  it("refuses a vector loop around the copy and its reader", function()
    local A = nw.placeholder({8, 4}, "i32", "A")
    local Y = nw.compute({8, 4}, function(i, j) return A(i, j) + 1 end, "Y")
    local s = nw.schedule(Y)
    local copy = s:cache_read(A, "shared", {Y}, {at = "j"})
    s:async_copy(copy)
    refused("structure", "one lane cannot wait", s.vectorize, s, "j")
  end)

  it("refuses a write of the source for which other threads do not wait", function()
    local A = nw.placeholder({4, 8}, "i32", "A")
    local X = nw.compute({4, 8}, function(i, j) return A(i, j) * 2 end, "X")
    local Y = nw.compute({4, 8}, function(i, j) return X(i, 7 - j) + 1 end, "Y")
    local s = nw.schedule(Y)
    local i = s:loops(Y)[1]
    s:compute_at(X, i)
    s:hoist_storage(X) -- each iteration overwrites X
    local copy = s:cache_read(X, "shared", {Y}, {at = i})
    s:store_at(copy)
    s:async_copy(copy)
    holds(s, {Y})
    s:undo()
    for _, stage in ipairs {"X", copy.name, "Y"} do
      local loops = s:loops(stage)
      s:bind(loops[#loops], "threadIdx.x")
    end
    refused("undecided", "X[0, 0] is copied at (i_1=0, i_2=0, j_2=0), and overwritten at (i_1=1, i=0, j=0)",
      s.async_copy, s, copy)
  end)
end)
