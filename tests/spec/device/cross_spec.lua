--- Tests cross-thread reductions: a loop of a reduction is bound to threadIdx. Each thread has a partial result, and the
--- partial results are combined in pairs.
local nw = require "nestwright"
local support = require "support"
local ptxas = require "ptxas"

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

-- Adds the parts from..from + n*step, in steps, in pairs, as documented. The sum is then in part[from].
local function halve(part, from, n, step)
  while n > 1 do
    local half = 1
    while 2 * half < n do half = 2 * half end
    for t = 0, n - half - 1 do
      part[from + t * step] = rounded(part[from + t * step] + part[from + (half + t) * step])
    end
    n = half
  end
end

-- Returns the sum of the row, with partial results as documented. thread(k) is the number of the thread that adds term k.
-- A block has `across` threads along x, and threads // across along another index, which is combined first.
local function in_parts(row, threads, thread, across)
  local part = {}
  across = across or threads
  for t = 0, threads - 1 do part[t] = 0.0 end
  for k = 0, #row - 1 do part[thread(k)] = rounded(part[thread(k)] + row[k + 1]) end
  for x = 0, across - 1 do halve(part, x, threads // across, across) end
  halve(part, 0, across, 1)
  return part[0]
end

-- Returns how many barriers of a block the lowered program has.
local function barriers(s) return select(2, tostring(s:show "lowered"):gsub("barrier%f[\n\0]", "")) end

local function row_of(data, i, m)
  local row = {}
  for k = 1, m do row[k] = data[1]:getflat((i - 1) * m + k) end
  return row
end

describe("threads that share a reduction", function()
  it("combine their partial results in pairs", function()
    for _, threads in ipairs {2, 3, 8, 13, 50, 64, 100} do
      local s = fold(3, 150, "f32")
      local _, k_i = s:split("k", threads)
      s:bind(k_i, "threadIdx.x")
      local got, data = same_bits(s)
      for i = 1, 3 do
        assert.equal(in_parts(row_of(data, i, 150), threads, function(k) return k % threads end), got[i])
      end
    end
  end)

  it("combine along z, y and then x, in whatever order the loops are", function()
    for _, tags in ipairs {{"threadIdx.x", "threadIdx.z"}, {"threadIdx.y", "threadIdx.x"}} do
      local s = fold(2, 24, "f32")
      local k_o, k_i = s:split("k", 4)
      s:bind(k_o, tags[1])
      s:bind(k_i, tags[2])
      local got, data = same_bits(s)
      local outer_is_x = tags[1] == "threadIdx.x"
      for i = 1, 2 do
        local thread = function(k) return outer_is_x and k // 4 + 6 * (k % 4) or k end
        assert.equal(in_parts(row_of(data, i, 24), 24, thread, outer_is_x and 6 or 4), got[i])
      end
    end
  end)

  it("note that rounding may change, also if they no longer share it", function()
    local s = fold(2, 16, "f32")
    s:bind("k", "threadIdx.x")
    assert.truthy(s:notes():find("each thread of k has a partial result of S; the threads combine them in pairs", 1, true))
    assert.truthy(s:notes():find("rounding may change", 1, true))
    s:unmark "k"
    assert.truthy(s:notes():find("rounding may change", 1, true))
    local whole = fold(2, 16, "i32")
    whole:bind("k", "threadIdx.x")
    assert.is_nil(whole:notes():find("rounding", 1, true))
  end)

  it("have one partial result each in local storage, and wait for the whole block only if other warps take them", function()
    for threads, waits in pairs {[16] = 0, [32] = 0, [40] = 1, [64] = 1, [128] = 2} do
      local s, S = fold(4, 256, "i32")
      local _, k_i = s:split("k", threads)
      s:bind("i", "blockIdx.x")
      s:bind(k_i, "threadIdx.x")
      local text = tostring(s:show "lowered")
      assert.truthy(text:find("alloc S_part[1] local", 1, true), text)
      assert.equal(waits, barriers(s))
      assert.equal(waits, select(2, text:gsub(" shared\n", "")))
      assert.equal(1, select(2, text:gsub("\n *S%[i%] = i32%(0%)", ""))) -- the init happens once
      exact(s, {S})
    end
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
    assert.equal(1, barriers(s))
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

  it("print what the page on schedules shows", function()
    local page = support.read "docs/schedule.md"
    local section = page:match "\n## Threads that share a reduction\n(.-)\n## "
    local code, shown = section:match "\n\n(    local A.-)\n\nThis prints:\n\n(    .-)\n\nThe judge makes"
    local printed
    local env = setmetatable({nw = nw, print = function(text) printed = tostring(text) end}, {__index = _G})
    assert(load(code, "=schedule.md", "t", env))()
    assert.equal(shown, "    " .. printed:gsub("\n+$", ""):gsub("\n", "\n    "))
  end)

  -- Returns a reduction whose rows are blocks, and in each block `rows` threads along y.
  local function rows_on_gpu(how, dtype, threads, rows)
    local s = fold(16, 300, dtype, how)
    local o, i = s:split("i", rows)
    local _, k = s:split("k", threads)
    s:bind(o, "blockIdx.x")
    s:bind(i, "threadIdx.y")
    s:bind(k, "threadIdx.x")
    return s:retarget "a100"
  end

  it("give partial results to other lanes by shuffles", function()
    -- the last numbers: shuffles in CUDA C, and shuffles of words of 32 bits; the index of argmin has two words
    for _, case in ipairs {{"sum", "f32", 32, 1, 5, 5}, {"max", "f64", 64, 2, 5, 10}, {"sum", "f16", 8, 8, 3, 3},
      {"min", "u8", 24, 1, 5, 5}, {"prod", "i32", 96, 4, 5, 5}, {"argmin", "f32", 128, 2, 10, 15}} do
      local how, dtype, threads, rows, shuffles, words = table.unpack(case)
      local s = rows_on_gpu(how, dtype, threads, rows)
      local text, ptx = tostring(s:show "cuda"), tostring(s:show "ptx")
      assert.equal(shuffles, select(2, text:gsub("__shfl_down_sync%(0xffffffffu, ", "")), text)
      assert.equal(threads > 32, text:find("__shared__", 1, true) ~= nil, text)
      assert.falsy(text:find("__syncwarp", 1, true) or ptx:find("bar.warp", 1, true))
      assert.equal(words, select(2, ptx:gsub("shfl%.sync%.down", "")), ptx)
      if ptxas.path() then ptxas.accepts(ptx, {"sm_80"}) end
      local report = support.simulates(s, data_for(s))
      for _, a in ipairs(report.accesses) do assert.falsy(a.scope == "warp" and not a.write) end -- what was given is in a register
      assert.equal(0, select(2, tostring(s:show "opencl"):gsub("shfl", "")))
    end
  end)

  it("in a part of the virtual threads use storage of their own", function()
    local A, B = nw.placeholder({13, 4}, "i32", "A"), nw.placeholder({9, 2}, "i32", "B")
    local k = nw.reduce_axis(4, "k")
    local Y = nw.compute({9, 2}, function(i, j) return B(i, j) * 3 end, "Y")
    local Z = nw.compute({13}, function(i) return nw.sum(A(i, k), k) end, "Z")
    local s = nw.schedule({Y, Z}, {target = "gpu"})
    local both = s:create_fused_loop(s:loops(Y)[1], s:loops(Z)[1])
    s:bind("k", "threadIdx.z")
    s:bind(both, "vthread")
    local text = tostring(s:show "lowered")
    assert.truthy(text:find("Z_upper%[44%] shared"), text) -- two words for each of 22 virtual threads
    exact(s, {Y, Z})
  end)

  it("use shared memory if a row of threads does not divide into warps", function()
    for _, case in ipairs {{24, 2}, {48, 2}} do
      local s = rows_on_gpu("sum", "i32", table.unpack(case))
      assert.falsy(tostring(s:show "lowered"):find(" warp\n"))
      support.simulates(s, data_for(s))
      assert(s:check())
    end
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
