--- Bugs that were, each under its name.
local nw = require "nestwright"

describe("fixed:", function()
  it("stores before a parallel loop are seen inside it and its stores after it", function()
    -- LLVM was told that a buffer is reached through one pointer only, while the parallel body read another from the frame.
    local B = nw.placeholder({1}, "u8", "B")
    local k = nw.reduce_axis(1, "k")
    local X = nw.compute({}, function() return nw.sum(B(k), k) end, "X")
    local Y = nw.compute({}, function() return X() + 1 end, "Y")
    local s = nw.schedule(Y)
    s:parallel "k"
    assert.are.equal(3, s:build {threads = 2}(nw.tensor({2}, "u8")):getflat(1))
  end)

  it("the library required anew keeps the session of the arrays there are", function()
    -- A second session replaced the first, which was collected before its arrays.
    local before = nw.zeros({4}, "f32")
    package.loaded["nestwright.core"] = nil
    local again = require "nestwright.core"
    collectgarbage()
    collectgarbage()
    assert.are.equal(0, before:getflat(1))
    assert.is_table(again.rows())
    before = nil
    collectgarbage()
  end)
end)
