--- Tests that the views of long unrolled programs are folded, and that the bottleneck names the edge of a loop if that is slow.
local support = require "support"

local function lines(view) return select(2, tostring(view):gsub("\n", "\n")) end

local function unrolled()
  local s = support.product(32, 64, 48)
  local j_o, j_i = s:split("j", 16)
  local _, i_i = s:split("i", 32)
  s:reorder(j_o, "k", i_i, j_i)
  s:vectorize(j_i)
  s:unroll(i_i)
  return s
end

describe("the lowered program", function()
  it("shows the first and the last of the statements that an unrolled loop repeats", function()
    local s = unrolled()
    local folded, whole = s:show "lowered", s:show("lowered", {fold = false})
    assert.truthy(lines(whole) > 60, tostring(whole))
    assert.truthy(lines(folded) < 25, tostring(folded))
    assert.truthy(tostring(folded):find("# ... 30 more like this, 30 lines", 1, true), tostring(folded))
    for line in tostring(folded):gmatch "[^\n]+" do assert.truthy(#line <= 121 or not line:find "%[") end
  end)

  it("is folded beside its costs", function()
    local view = tostring(unrolled():show {cost = true})
    assert.truthy(lines(view) < 32, view)
    assert.truthy(view:find("more like this", 1, true), view)
    assert.truthy(view:find("for k in 0..48: *# +[%d.]+ %%"), view)
  end)

  it("folds iterations of several statements", function()
    local s = support.product(16, 64, 48)
    s:unroll "i"
    s:unroll "j"
    s:undo()
    local folded = tostring(s:show "lowered")
    assert.truthy(folded:find("more like these", 1, true), folded)
  end)

  it("is not folded if it is short", function()
    local s = support.product(8, 8, 8)
    s:unroll "i"
    assert.equal(tostring(s:show("lowered", {fold = false})), tostring(s:show "lowered"))
  end)
end)

describe("the bottleneck", function()
  it("names the tail if the tail takes most of the time", function()
    local s = support.product(64, 127, 64)
    local _, j_i = s:split("j", {factor = 120, tail = "cut"})
    local _, lane = s:split(j_i, 8)
    s:vectorize(lane)
    local text = tostring(s:cost {machine = "zen5"})
    local share = text:match "j%.tail[^\n]-(%d+) %% of the time"
    assert.truthy(share, text)
  end)
end)
