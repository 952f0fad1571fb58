--- Tests our version of TVM's pass LoopPartition, with the programs of the bench: which conditions it leaves in the loops, and
--- whether its results are right for every number of rows.
package.path = "tests/bench/?.lua;" .. package.path
local nw = require "nestwright"
local partition = require "_partition"

local N, K, TILE = 32, 5, 4

local function any() return nw.size("M", {min = 0}) end

local function rebuilt(make, m, options)
  return nw.partition.tvm_like(make(m, N, K), "i", partition.gemm_kernel(TILE, 1), options)
end

local function lowered(s) return tostring(s:show "lowered") end

-- Returns a Lua pattern that matches exactly this text.
local function line(text) return (text:gsub("%p", "%%%0")) end

local b = nw.random({N // 16, K, 16}, "f32", {seed = 2})
local plain = partition.gemm(any(), N, K):build {threads = 1}

local function input(m) return nw.random({m, K}, "f32", {seed = m + 1}) end

describe("our version of TVM's pass", function()
  it("does not change a loop of constant extent, so full tiles also have a guard in each iteration of k", function()
    local s = rebuilt(partition.gemm, 3 * TILE + 1)
    local text = lowered(s)
    assert.truthy(text:find(line 'for i_o in 0..4 with partition = "never":', 1), text)
    assert.truthy(text:find("for k in 0%.%.5:\n[^\n]+\n +if i_o < 3:\n"), text)
    assert.equal(nw.partition.conditions(s), nw.partition.conditions(s, "i_o"))
    assert.is_true(nw.partition.conditions(s, "k") > 0)
  end)

  it("cuts a loop of constant extent on request, and one of symbolic extent by default", function()
    for _, s in ipairs {rebuilt(partition.gemm, 3 * TILE + 1, {partition_const_loop = true}), rebuilt(partition.gemm, any())} do
      assert.equal(0, nw.partition.conditions(s, "i_o"))
    end
    assert.is_true(nw.partition.conditions(rebuilt(partition.gemm, any()), "i_o.tail") > 0)
  end)

  it("gives right results for every constant number of rows", function()
    for m = 1, 3 * TILE + 1 do
      local a = input(m)
      for _, asked in ipairs {false, true} do
        local f = rebuilt(partition.gemm, m, {partition_const_loop = asked}):build {threads = 1}
        assert.is_true(nw.allclose(f(a, b), plain(a, b), {rtol = 1e-5, atol = 1e-6}), ("M = %d"):format(m))
      end
    end
  end)

  it("keeps a symbolic stride between the lanes of a vector, and makes vectors contiguous if the stride is 1", function()
    local text, compact = lowered(rebuilt(partition.strided_gemm, any())), lowered(rebuilt(partition.gemm, any()))
    local update = "C%[ramp%([^%[]-, S, 16%)%] = fma%(broadcast%([^%]]+%], 16%), B%[ramp%([^%]]-, 1, 16%)%], "
      .. "C%[ramp%([^%]]-, S, 16%)%]%)"
    assert.truthy(text:find(update), text)
    assert.is_nil(compact:find(", S, ", 1, true))
    assert.truthy(compact:find("C%[ramp%([^%[]-, 1, 16%)%] = fma"), compact)
  end)

  it("gives right results for every number of rows if the strides are symbolic", function()
    local f = rebuilt(partition.strided_gemm, any()):build {threads = 1}
    local M = any()
    local X = nw.placeholder({M, N // 16, 16, 1}, "f32", "X")
    local flat = nw.schedule(nw.compute({M, N // 16, 16}, function(i, j, v) return X(i, j, v, 0) end, "Y")):build {threads = 1}
    for m = 1, 3 * TILE + 1 do
      local a = input(m)
      local c = flat(f(a, b, nw.zeros({m, N // 16, 16, 1}, "f32")))
      assert.is_true(nw.allclose(c, plain(a, b), {rtol = 1e-5, atol = 1e-6}), ("M = %d"):format(m))
    end
  end)
end)
