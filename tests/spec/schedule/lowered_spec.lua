--- Tests that s:show "lowered" also shows programs that are too long to be compiled.
local nw = require "nestwright"
local support = require "support"

describe("a lowered program", function()
  it("keeps the dtype of selects between literals", function()
    local A = nw.placeholder({7}, "f64", "A")
    local X = nw.compute({9}, function(i) return nw.select(nw.all(nw.ge(i, 1), nw.lt(i, 8)), A(i - 1), 0) end, "X")
    local Y = nw.compute({11}, function(i) return nw.select(nw.all(nw.ge(i, 2), nw.lt(i, 11)), X(i - 2), 1) end, "Y")
    local s = nw.schedule(Y)
    s:compute_inline "X"
    support.agree(s, {Y}, {nw.random({7}, "f64", {seed = 1})})
  end)
end)

describe("a lowered program that is too long to be compiled", function()
  local A = nw.placeholder({64, 64}, "f32", "A")
  local s = nw.schedule(nw.compute({64, 64}, function(i, j)
    local e = A(i, j)
    for _ = 1, 16 do e = nw.exp(e) end
    return e
  end, "C"))
  s:unroll "i"
  s:unroll "j"

  it("is shown with unrolled loops as loops, and a note says so", function()
    for _, pass in ipairs {"unroll", "simplify", "fma"} do
      local text = tostring(s:show("lowered", pass))
      local size = tonumber(text:match("^# about (%d+) instructions; more than 50000 are not compiled, "
        .. "so loops to unroll are shown as loops\n"))
      assert.truthy(size and size > 50000, text)
      assert.truthy(text:find("\nunroll for i in 0..64:\n  unroll for j in 0..64:\n", 1, true), text)
    end
    assert.equal(tostring(s:show("lowered", "fma")), tostring(s:show "lowered"))
  end)

  it("is refused when it is compiled", function()
    support.fails("this program would have about %d+ instructions; the limit is 50000", "limit", s.build, s)
  end)

  it("is shown as it is compiled if it is short enough", function()
    local short = nw.schedule(nw.compute({4}, function(i) return A(0, i) end, "C"))
    short:unroll "i"
    local text = tostring(short:show "lowered")
    assert.falsy(text:find("for i", 1, true), text)
    assert.falsy(text:find("#", 1, true), text)
  end)
end)
