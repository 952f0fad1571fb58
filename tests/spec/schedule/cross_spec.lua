--- Tests cross-thread reductions: a loop of a reduction is bound to threadIdx. Each thread has a partial result, and thread 0
--- combines the partial results in the order of the threads.
local nw = require "nestwright"
local support = require "support"

local function rounded(x) return (string.unpack("f", string.pack("f", x))) end

-- Returns inputs of numbers that are rounded in most sums.
local function data_for(s)
  local data = {}
  for n, t in ipairs(s:inputs()) do
    data[n] = nw.zeros(t:shape(), t.dtype)
    for i = 1, data[n]:count() do
      local x = (7919 * i + 104729 * n) % 1009
      data[n]:setflat(i, t.dtype:find "^f" and rounded((x / 97 - 5) * 3 ^ (x % 5)) or x % 7)
    end
  end
  return data
end

local function list(array)
  local out = {}
  for i = 1, array:count() do out[i] = array:getflat(i) end
  return out
end

-- Checks that the scheduled and the lowered program give the same bits, and returns the first output.
local function same_bits(s)
  local data = data_for(s)
  local scheduled, lowered = nw.interpret(s, data), nw.interpret(s, data, {lowered = true})
  for o = 1, #scheduled do assert.same(list(scheduled[o]), list(lowered[o])) end
  support.simulates(s, data)
  assert(s:check())
  assert(s:reparses())
  return list(scheduled[1]), data
end

-- Checks that integers are summed exactly.
local function exact(s, outputs)
  local got, data = same_bits(s)
  assert.same(list(nw.evaluate(outputs, data)[1]), got)
end

local function fold(n, m, dtype, how)
  local A, k = nw.placeholder({n, m}, dtype, "A"), nw.reduce_axis(m, "k")
  local S = nw.compute({n}, function(i) return nw[how or "sum"](A(i, k), k) end, "S")
  return nw.schedule(S), S
end

-- Returns the sums of the rows, and the rows less their sums.
local function less(n, m, dtype)
  local A, k = nw.placeholder({n, m}, dtype, "A"), nw.reduce_axis(m, "k")
  local R = nw.compute({n}, function(i) return nw.sum(A(i, k), k) end, "R")
  local Z = nw.compute({n, m}, function(i, j) return A(i, j) - R(i) end, "Z")
  return nw.schedule(Z), Z, R
end

-- Returns the sum of the row, with partial results as documented. thread(k) is the number of the thread that adds term k.
local function in_parts(row, threads, thread)
  local part, sum = {}, 0.0
  for t = 1, threads do part[t] = 0.0 end
  for k = 0, #row - 1 do part[thread(k) + 1] = rounded(part[thread(k) + 1] + row[k + 1]) end
  for t = 1, threads do sum = rounded(sum + part[t]) end
  return sum
end

local function row_of(data, i, m)
  local row = {}
  for k = 1, m do row[k] = data[1]:getflat((i - 1) * m + k) end
  return row
end

describe("threads that share a reduction", function()
  it("combine their partial results in the order of the threads", function()
    local s = fold(3, 50, "f32")
    local _, k_i = s:split("k", 8)
    s:bind(k_i, "threadIdx.x")
    local got, data = same_bits(s)
    for i = 1, 3 do assert.equal(in_parts(row_of(data, i, 50), 8, function(k) return k % 8 end), got[i]) end
  end)

  it("count their index along x fastest, in whatever order the loops are", function()
    for _, tags in ipairs {{"threadIdx.x", "threadIdx.z"}, {"threadIdx.y", "threadIdx.x"}} do
      local s = fold(2, 24, "f32")
      local k_o, k_i = s:split("k", 4)
      s:bind(k_o, tags[1])
      s:bind(k_i, tags[2])
      local got, data = same_bits(s)
      local outer_is_x = tags[1] == "threadIdx.x"
      for i = 1, 2 do
        assert.equal(in_parts(row_of(data, i, 24), 24, function(k) return outer_is_x and k // 4 + 6 * (k % 4) or k end), got[i])
      end
    end
  end)

  it("note that rounding may change, also if they no longer share it", function()
    local s = fold(2, 16, "f32")
    s:bind("k", "threadIdx.x")
    assert.truthy(s:notes():find("each thread of k has a partial result of S; thread 0 combines them in order", 1, true))
    assert.truthy(s:notes():find("rounding may change", 1, true))
    s:unmark "k"
    assert.truthy(s:notes():find("rounding may change", 1, true))
    local whole = fold(2, 16, "i32")
    whole:bind("k", "threadIdx.x")
    assert.is_nil(whole:notes():find("rounding", 1, true))
  end)

  it("have one partial result each in shared storage, with a barrier before they are combined", function()
    local s, S = fold(4, 64, "i32")
    local _, k_i = s:split("k", 16)
    s:bind("i", "blockIdx.x")
    s:bind(k_i, "threadIdx.x")
    local text = tostring(s:show "lowered")
    assert.truthy(text:find("alloc S_part[16] shared", 1, true), text)
    assert.equal(1, select(2, text:gsub("barrier", "")))
    assert.equal(1, select(2, text:gsub("\n *S%[i%] = i32%(0%)", ""))) -- the init happens once
    exact(s, {S})
  end)

  it("share every combiner and dtype", function()
    for _, how in ipairs {"sum", "prod", "min", "max"} do
      for _, dtype in ipairs {"f32", "f64", "f16", "i32", "u8"} do
        local s, S = fold(3, 13, dtype, how)
        local _, k_i = s:split("k", 4)
        s:bind(k_i, "threadIdx.x")
        if dtype:find "^f" and (how == "sum" or how == "prod") then same_bits(s) else exact(s, {S}) end
      end
    end
  end)

  it("find the lowest index of the greatest value", function()
    local A, k = nw.placeholder({2, 21}, "i32", "A"), nw.reduce_axis(21, "k")
    for _, how in ipairs {"argmax", "argmin"} do
      for n = 1, 2 do
        local V, I = nw.compute({2}, function(i) return nw[how](A(i, k), k) end, "V")
        local s = nw.schedule {V, I}
        local k_o, k_i = s:split("k", 4)
        s:bind(n == 1 and k_o or k_i, "threadIdx.x")
        local data = data_for(s) -- of the seven numbers, each occurs three times
        local want, got = nw.evaluate({V, I}, data), nw.interpret(s, data, {lowered = true})
        for o = 1, 2 do assert.same(list(want[o]), list(got[o])) end
        assert(s:check())
      end
    end
  end)

  it("can have a result that all threads of the block read", function()
    local s, Z, R = less(4, 24, "i32")
    local i, j = table.unpack(s:loops(Z))
    s:compute_at(R, i)
    s:set_scope(R, "shared")
    s:bind(i, "blockIdx.x")
    s:bind(j, "threadIdx.x")
    local _, k_i = s:split(s:loops(R)[3], 8) -- fewer threads than j has
    s:bind(k_i, "threadIdx.x")
    assert.equal(2, select(2, tostring(s:show "lowered"):gsub("barrier", "")))
    exact(s, {Z})
  end)

  it("can follow rfactor, with the partial results of rfactor inside the threads", function()
    local s, S = fold(3, 64, "i32")
    local _, k_i = s:split("k", 16)
    local parts = s:rfactor(S, k_i)
    local i, t = table.unpack(s:loops(S))
    s:bind(i, "blockIdx.x")
    s:bind(t, "threadIdx.x")
    s:compute_at(parts, t)
    exact(s, {S})
  end)

  it("may compute several elements, and other threads may compute other elements", function()
    local s, C = support.gemm(12, 9, 20)
    s:annotate(C, "fma", "never") -- the lowered program would round products and sums together
    s:tile("i", "j", 4, 4)
    local k_o, k_i = s:split("k", 8)
    s:reorder("i_o", "j_o", k_o, "i_i", "j_i", k_i)
    s:bind("i_o", "blockIdx.x")
    s:bind("i_i", "threadIdx.y")
    s:bind(k_i, "threadIdx.x")
    same_bits(s)
    local other = nw.schedule(C)
    other:replay(s:trace "json")
    assert.equal(s:text(), other:text())
  end)

  it("sum a number of terms that is known only at the call", function()
    local M, K = nw.size "M", nw.size("K", {min = 0})
    local A, k = nw.placeholder({M, K}, "f32", "A"), nw.reduce_axis(K, "k")
    local S = nw.compute({M}, function(i) return nw.sum(A(i, k), k) end, "S")
    local s = nw.schedule(S)
    local _, k_i = s:split("k", 8)
    s:bind("i", "blockIdx.x")
    s:bind(k_i, "threadIdx.x")
    assert(s:check())
  end)

  it("start from an init that was split off", function()
    local s, S = fold(4, 16, "i32")
    s:decompose_reduction(S, "k")
    s:bind("k", "threadIdx.x")
    exact(s, {S})
  end)

  it("cannot be compiled yet", function()
    local s = fold(4, 16, "f32")
    s:bind("k", "threadIdx.x")
    support.fails("k is bound to threadIdx.x, and no code is generated for a grid", "codegen", s.build, s)
  end)

  it("race in an unsafe schedule in which they cannot have partial results", function()
    local s = fold(4, 16, "f32")
    s:cut("k", 5)
    s:unsafe(function() s:bind("k.rest", "threadIdx.x") end)
    local ok, err = pcall(nw.interpret, s, data_for(s), {lowered = true})
    assert.is_false(ok)
    assert.equal("race", err.code)
  end)
end)
