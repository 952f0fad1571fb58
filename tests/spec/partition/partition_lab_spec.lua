--- Tests the lab of loop partitioning (tutorials/partition.lua). A part of the lab is a computation, and a way is a schedule of it.
--- Every way must give right results for every size. Only the ways that serve as baselines may have conditions in the main piece.
package.path = "tutorials/?.lua;" .. package.path
local core = require "nestwright.core"
local lab = require "partition"
local nw = require "nestwright"
local support = require "support"

local N = nw.size("N", {min = 0})
local kernels = lab.kernels(true)

-- Returns the first and the last size to test. The first is the least size that the way allows. The last is the first plus three
-- tiles plus one.
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

  it("gives a row with the steps and the costs of each way, measured in turn", function()
    local rows = lab.rows(lab.parts[1])
    assert.equal(#lab.parts[1].ways, #rows)
    for n, row in ipairs(rows) do
      assert.is_true(row.bytes > 0 and row.predicted > 0 and row.measured > 0)
      assert.truthy(row.steps:find("s:vectorize", 1, true), row.steps)
      assert.truthy(n > 1 or row.compared == "1.00x" or row.compared:find "^no verdict", row.compared)
    end
    local text = lab.table_of(rows)
    for _, word in ipairs {"predicted", "measured", "guard", "cut"} do assert.truthy(text:find(word, 1, true), text) end
  end)
end)

-- Returns a table for each piece of a schedule: the name of the piece, and for each mark (such as "vectorize"), the loop around the
-- piece that has this mark.
local function marks_of(s)
  local out, marks = {}, {}
  for _, row in ipairs(core.outline(s)) do
    if row.kind == "loop" then
      for depth in pairs(marks) do if depth >= row.depth then marks[depth] = nil end end
      marks[row.depth] = row
    elseif row.kind == "stage" then
      local found = {name = row.name}
      for _, loop in pairs(marks) do
        if loop.depth < row.depth and loop.mark ~= "" then found[loop.mark] = loop end
      end
      out[#out + 1] = found
    end
  end
  return out
end

-- Returns the axis of a loop in the original nest. For example, the axis of i.tail/j_o is j.
local function axis_of(loop) return loop.name:match("[^/]*$"):match "^%a+" end

local LANES = {vector = {"i", 4}, product = {"j", 16}, convolution = {"x", 16}, concatenation = {"j", 8}, triangle = {"j", 16}}

describe("every strategy of the lab gets the same marks:", function()
  for _, part in ipairs(lab.parts) do
    for _, way in ipairs(part.ways) do
      it(part.name .. ": " .. way[1], function()
        local kernel, unmarked = lab.kernel(part, way, part.size), 0
        local axis, lanes = table.unpack(LANES[part.name])
        for _, piece in ipairs(marks_of(kernel.schedule)) do
          if piece.vectorize then
            assert.equal(axis, axis_of(piece.vectorize), piece.name)
            -- A loop over remaining iterations has fewer lanes than a vector, and the outline does not give its extent.
            assert.truthy(piece.vectorize.extent == lanes or piece.vectorize.name:find "tail$", piece.name)
          else
            unmarked = unmarked + 1
          end
          if part.name == "product" then assert.equal("i", axis_of(piece.unroll), piece.name) end
        end
        assert.equal(#kernel.refused, unmarked) -- each unmarked piece has its reason
      end)
    end
  end

  it("the tiles of a triangle and of a batch are unrolled in all strategies", function()
    for _, n in ipairs {3, 4} do
      local part = lab.parts[5]
      for _, piece in ipairs(marks_of(lab.kernel(part, part.ways[n], part.size).schedule)) do
        assert.truthy(piece.unroll or piece.name == "C_init", piece.name)
      end
    end
    for _, strategy in ipairs(lab.batch_strategies) do
      local _, s = lab.batch(13, strategy)
      for _, piece in ipairs(marks_of(s)) do
        assert.truthy(piece.vectorize and piece.vectorize.extent == 16 and axis_of(piece.vectorize) == "j", strategy)
        assert.truthy(piece.unroll and axis_of(piece.unroll) == "i", strategy)
      end
    end
  end)

  it("a refused mark is shown with its reason", function()
    local part = lab.parts[1]
    local kernel = lab.kernel(part, part.ways[2], N)
    assert.equal(1, #kernel.refused)
    assert.truthy(kernel.refused[1]:find "extent is not constant", kernel.refused[1])
    local row = {name = "cut", bytes = 1, predicted = 1, measured = 1, main = 0, all = 0, compared = "1.00x",
      refused = kernel.refused}
    assert.truthy(lab.table_of({row}):find(kernel.refused[1], 1, true))
  end)
end)
