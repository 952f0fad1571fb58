--- Tests the convolutions of the bench whose edges are separated from the main piece by s:partition. The results must be right for
--- every size, and the main piece must have no conditions.
package.path = "tests/bench/?.lua;" .. package.path
local nw = require "nestwright"
local edges = require "partition.edges"

local function agree(f, plain, ...)
  return nw.allclose(f(...), plain(...), {rtol = 1e-5, atol = 1e-5})
end

describe("edges that s:partition separates:", function()
  it("a full convolution gives right results for every length from 0 to three tiles plus the number of taps", function()
    local taps = 32
    local f, plain = edges.conv1d_any(taps)
    local w = nw.random({taps}, "f32", {seed = 2})
    for n = 0, 3 * edges.conv1d_tile + taps do
      assert.is_true(agree(f, plain, nw.random({n}, "f32", {seed = n + 3}), w), ("N = %d"):format(n))
    end
  end)

  it("a convolution with fewer taps gives right results too", function()
    local f, plain = edges.conv1d_any(16)
    for _, n in ipairs {1, 15, 143, 144, 160, 300} do
      local a, w = nw.random({n}, "f32", {seed = n}), nw.random({16}, "f32", {seed = 2})
      assert.is_true(agree(f, plain, a, w), ("N = %d"):format(n))
    end
  end)

  it("a depthwise convolution gives right results for every height and width up to one more than three tiles", function()
    local f, plain = edges.depthwise_any()
    local w = nw.random({2, 3, 3}, "f32", {seed = 2})
    for height = 0, 3 * edges.depthwise_rows + 1 do
      for width = 0, 3 * edges.depthwise_columns + 1 do
        local a = nw.random({2, height, width}, "f32", {seed = 1 + 50 * height + width})
        assert.is_true(agree(f, plain, a, w), ("%d x %d"):format(height, width))
      end
    end
  end)

  it("no condition is left in the main piece", function()
    assert.equal(0, nw.partition.conditions(edges.conv1d(1000, 32), "i.main_o"))
    assert.equal(0, nw.partition.conditions(edges.depthwise(2, 20, 40), "y_o.main/x_o.main"))
  end)

  it("tiles of a padded copy of the input give the same result", function()
    local n = 1000
    local a, w = nw.random({n}, "f32", {seed = 1}), nw.random({32}, "f32", {seed = 2})
    local ours, theirs = edges.conv1d(n, 32):build {threads = 1}, edges.conv1d_padded(n, 32):build {threads = 1}
    assert.is_true(agree(ours, theirs, a, w))
  end)
end)

-- Tests every strategy with the tiles of the bench and, if available, with the tiles of libxsmm.
describe("a product whose number of rows is not a multiple of the tile:", function()
  local partition = require "_partition"
  local strategies = require "nestwright.partition.strategies"
  local K, LANES, TILE = 6, 16, 4

  local function product(M)
    local A, B = nw.placeholder({M, K}, "f32", "A"), nw.placeholder({2, K, LANES}, "f32", "B")
    local k = nw.reduce_axis(K, "k")
    return nw.schedule(nw.compute({M, 2, LANES}, function(i, j, v) return nw.sum(A(i, k) * B(j, k, v), k) end, "C"))
  end

  local function kernels(theirs)
    local list = {}
    for rows = 1, TILE do
      list[rows] = theirs and nw.xsmm.kernel {rows = rows, columns = "v"} or partition.gemm_kernel(rows, 1)
    end
    return strategies.kernels("test", list)
  end

  local function check(name, theirs, plain)
    local s = product(nw.size("M", {min = 0}))
    local cases = strategies.apply("test", s, s:loop "i", name, kernels(theirs), partition.gemm_around)
    local f = s:build {threads = 1, versions = strategies.versions(cases)}
    for m = 0, 3 * TILE + 1 do
      local a, b = nw.random({m, K}, "f32", {seed = m + 1}), nw.random({2, K, LANES}, "f32", {seed = 2})
      assert.is_true(agree(f, plain, a, b), ("%s, M = %d"):format(name, m))
    end
  end

  for _, row in ipairs(strategies.rows) do
    it(row[1] .. " gives right results for every number of rows up to one more than three tiles", function()
      local plain = product(nw.size("M", {min = 0})):build {threads = 1}
      check(row[1], false, plain)
      local asks = row[1] == "guard" or row[1] == "predicate" -- libxsmm's tiles cannot have guards
      if nw.xsmm.available() and not asks then check(row[1], true, plain) end
    end)
  end
end)
