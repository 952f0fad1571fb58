--- Convolutions whose edges partition cuts off, as the bench measures them: right for every size, no condition in the main piece.
package.path = "tests/bench/?.lua;" .. package.path
local nw = require "nestwright"
local edges = require "_partition_edges"

local function agree(f, plain, ...)
  return nw.allclose(f(...), plain(...), {rtol = 1e-5, atol = 1e-5})
end

describe("edges cut off by partition", function()
  it("a full convolution is right for every length up to three tiles and one more", function()
    local taps = 32
    local f, plain = edges.conv1d_any(taps)
    local w = nw.random({taps}, "f32", {seed = 2})
    for n = 0, 3 * edges.conv1d_tile + taps do
      assert.is_true(agree(f, plain, nw.random({n}, "f32", {seed = n + 3}), w), ("N = %d"):format(n))
    end
  end)

  it("so is one with fewer taps", function()
    local f, plain = edges.conv1d_any(16)
    for _, n in ipairs {1, 15, 143, 144, 160, 300} do
      local a, w = nw.random({n}, "f32", {seed = n}), nw.random({16}, "f32", {seed = 2})
      assert.is_true(agree(f, plain, a, w), ("N = %d"):format(n))
    end
  end)

  it("a depthwise convolution is right for every height and width up to three tiles and one more", function()
    local f, plain = edges.depthwise_any()
    local w = nw.random({2, 3, 3}, "f32", {seed = 2})
    for height = 0, 3 * edges.depthwise_rows + 1 do
      for width = 0, 3 * edges.depthwise_columns + 1 do
        local a = nw.random({2, height, width}, "f32", {seed = 1 + 50 * height + width})
        assert.is_true(agree(f, plain, a, w), ("%d x %d"):format(height, width))
      end
    end
  end)

  it("no condition is left where all of the input is there", function()
    assert.equal(0, nw.partition.conditions(edges.conv1d(1000, 32), "i.main_o"))
    assert.equal(0, nw.partition.conditions(edges.depthwise(2, 20, 40), "y_o.main/x_o.main"))
  end)

  it("the same tiles of a padded copy give the same", function()
    local n = 1000
    local a, w = nw.random({n}, "f32", {seed = 1}), nw.random({32}, "f32", {seed = 2})
    local ours, theirs = edges.conv1d(n, 32):build {threads = 1}, edges.conv1d_padded(n, 32):build {threads = 1}
    assert.is_true(agree(ours, theirs, a, w))
  end)
end)
