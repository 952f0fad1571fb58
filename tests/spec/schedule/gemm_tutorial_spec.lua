--- Tests that the tutorial on a matrix product (tutorials/gemm.lua) gives the right cause for each speed-up: each step changes one
--- thing, and each control differs from a program of its step in one thing. The programs are compared, not their times.
package.path = "tutorials/?.lua;" .. package.path
local core = require "nestwright.core"
local gemm = require "gemm"
local instances = require "nestwright.language.instances"

local N = 32

-- Returns the stage that computes the sums.
local function sums(s)
  for _, stage in ipairs((instances.stages(s, false, {}))) do
    if #stage.axes == 3 and not stage.init then return stage end
  end
end

-- Returns three texts about a program: the order of the iterations of the sums, the marks of the loops around them, and the
-- buffers that the program allocates.
local function parts_of(s)
  local stage, order, marks, storage, around = sums(s), {}, {}, {}, {}
  for n, execution in ipairs((instances.list(s, false, {}, {stage}, {[stage.name] = {k = {0, 1}}}, {}))) do
    order[n] = ("%d,%d,%d"):format(execution.at.i, execution.at.j, execution.at.k)
  end
  for _, row in ipairs(core.outline(s)) do
    if row.kind == "storage" then storage[#storage + 1] = row.name end
    if row.kind == "loop" then around[row.depth] = row end
    if row.kind == "stage" and row.name == stage.name then
      for depth = 0, row.depth - 1 do
        local loop = around[depth]
        if loop and loop.depth == depth and loop.mark ~= "" then marks[#marks + 1] = loop.name:match "^%a" .. " " .. loop.mark end
      end
    end
  end
  return {order = table.concat(order, " "), marks = table.concat(marks, " "), storage = table.concat(storage, " ")}
end

-- Returns the parts in which two programs differ.
local function differences(a, b)
  local out = {}
  for _, part in ipairs {"order", "marks", "storage"} do
    if a[part] ~= b[part] then out[#out + 1] = part end
  end
  return out
end

describe("the tutorial changes one thing a step:", function()
  for at, step in ipairs(gemm.steps) do
    local before, after
    setup(function() before, after = parts_of((gemm.after(N, at - 1))), parts_of((gemm.after(N, at))) end)

    it(step[1] .. " changes the " .. step.changes, function()
      assert.same({step.changes}, differences(before, after))
    end)

    for _, control in ipairs(step.controls or {}) do
      it(step[1] .. " has the control: " .. control[1], function()
        local s = gemm.after(N, control.from)
        control.make(s)
        local other = parts_of(s)
        assert.is_true(#differences(before, other) == 1 or #differences(after, other) == 1)
      end)
    end
  end

  it("the order of the loops is changed before any loop is blocked", function()
    local s = gemm.after(N, 1)
    local names = {}
    for n, loop in ipairs(s:loops "C") do names[n] = loop.name end
    assert.same({"i", "k", "j"}, names)
  end)
end)
