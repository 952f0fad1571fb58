--- Tests how the pieces of a loop are named by number, and how the loops in a piece are found.
local nw = require "nestwright"
local support = require "support"
local fails = support.fails

local function product() return support.product(24, 16, 8) end

describe("the pieces of a cut", function()
  it("have the numbers 1 and 2 also after a single cut", function()
    local s = product()
    s:cut("i", 8)
    s:vectorize "i.1/j"
    s:split("i.2", 4)
    local text = tostring(s)
    assert.truthy(text:find("vectorize for i.head/j", 1, true), text)
    assert.truthy(text:find("i.rest_o", 1, true), text)
  end)

  it("can be scheduled by one script for any number of cuts", function()
    local a, b = nw.random({24, 8}, "f32", {seed = 1}), nw.random({8, 16}, "f32", {seed = 2})
    local want
    for cuts = 1, 4 do
      local s, at = product(), {}
      for n = 1, cuts do at[n] = 4 * n end
      local pieces = {s:cut("i", at)}
      assert.equal(cuts + 1, #pieces)
      for n, piece in ipairs(pieces) do
        s:reorder(piece:loop "k", piece:loop "j")
        s:vectorize(("i.%d/j"):format(n))
        assert.equal(piece.name .. "/k", piece:loop("k").name)
      end
      local got = s:build {threads = 1}(a, b)
      want = want or got
      assert.is_true(nw.allclose(got, want, {rtol = 1e-5, atol = 1e-5}))
    end
  end)

  it("are found below other pieces", function()
    local s = product()
    s:cut("i", {8, 16})
    s:cut("i.1", 4)
    s:unroll "i.1.2/k"
    assert.truthy(tostring(s):find("unroll for i.1.rest/k", 1, true), tostring(s))
  end)

  it("name their stages by number", function()
    local s = product()
    s:cut("i", 8)
    assert.equal("i.head", s:loops("C.1")[1].name)
  end)

  it("have loops that are found by name, if there is one", function()
    local s = product()
    local head, rest = s:cut("i", 8)
    assert.equal("i.rest/j", rest:loop("j").name)
    fails("no loop \"q\" in i.head; the loops in it are j, k", "invalid", head.loop, head, "q")
    local C = support.product(4, 4, 4)
    C:split("j", 2)
    assert.equal("j_i", C:loops()[1]:loop("j_i").name)
  end)

  it("that are empty keep their loops", function()
    local s = product()
    local _, rest = s:cut("i", 24)
    assert.equal("i.rest/k", rest:loop("k").name)
    s:unroll(rest:loop "k")
    s:unroll "i.2/k"
    assert.truthy(s:notes():find "empty" or s:notes():find "no iteration", s:notes())
  end)
end)
