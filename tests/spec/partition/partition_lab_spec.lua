--- Tests the lab of loop partitioning (tutorials/partition.lua). A part of the lab is a computation, and a way is a schedule of it.
--- Every way must give right results for every size. Only the ways that serve as baselines may have conditions in the main piece.
package.path = "tutorials/?.lua;" .. package.path
local lab = require "partition"
local nw = require "nestwright"
local support = require "support"

local N = nw.size("N", {min = 0})
local kernels = lab.kernels(true)

-- Returns the first and the last size to test. The first is the least size that the way allows. The last is larger by three tiles
-- and one.
local function sizes_of(kernel) return kernel.least, kernel.least + 3 * kernel.part.tile + 1 end

local references = {}

local function reference(part)
  references[part.name] = references[part.name] or part.make(N):build {threads = 1}
  return references[part.name]
end

describe("the partition lab", function()
  for _, kernel in ipairs(kernels) do
    it(kernel.name .. " computes what the definition says, for every size", function()
      local s = kernel.schedule
      local f = s:build {threads = 1, versions = kernel.versions}
      local from, to = sizes_of(kernel)
      for n = from, to do
        local data = lab.arrays(s, n)
        local close, difference = nw.allclose(f(table.unpack(data)), reference(kernel.part)(table.unpack(data)),
          {rtol = 1e-5, atol = 1e-5})
        assert.is_true(close, ("N = %d: %s"):format(n, difference))
      end
    end)

    if kernel.asks then
      it(kernel.name .. " is a baseline: its main piece has conditions", function() assert.is_true(lab.guards(kernel) > 0) end)
    else
      it(kernel.name .. " has no conditions in its main piece", function() assert.equal(0, lab.guards(kernel)) end)
    end
  end

  it("has no condition in the main pieces at the sizes of the lab, and agrees with the definition", function()
    for _, part in ipairs(lab.parts) do
      for _, way in ipairs(part.ways) do
        lab.kernel(part, way, math.max(part.shown, way.least or 0)).schedule:check()
        if not way.asks then assert.equal(0, lab.guards(lab.kernel(part, way, part.size)), part.name .. ": " .. way[1]) end
      end
    end
  end)

  it("refuses fewer iterations than a way needs", function()
    for _, kernel in ipairs(kernels) do
      if kernel.least > 0 then
        local f = kernel.schedule:build {threads = 1}
        support.fails("does not hold", nil, function() f(table.unpack(lab.arrays(kernel.schedule, kernel.least - 1))) end)
      end
    end
  end)

  it("draws the pieces of every way", function()
    for _, part in ipairs(lab.parts) do
      for _, way in ipairs(part.ways) do
        local plot = lab.picture(part, way)
        assert.truthy(plot.caption:find "instances", plot.caption)
      end
    end
  end)

  it("creates the folder for its pictures", function()
    local path = support.temporary "'s pictures"
    lab.make_folder(path .. "/inner")
    local file = io.open(path .. "/inner/a", "w")
    assert.truthy(file)
    file:close()
    os.remove(path .. "/inner/a")
    os.remove(path .. "/inner")
    os.remove(path)
  end)

  it("gives a row with the cost of a way", function()
    local part = lab.parts[1]
    local rows = {lab.row(part, part.ways[1]), lab.row(part, part.ways[2])}
    for _, row in ipairs(rows) do
      assert.is_true(row.bytes > 0 and row.predicted > 0 and row.measured > 0)
    end
    local text = lab.table_of(rows)
    for _, word in ipairs {"predicted", "measured", "guard", "cut"} do assert.truthy(text:find(word, 1, true), text) end
  end)
end)
