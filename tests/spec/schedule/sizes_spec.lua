local nw = require "nestwright"
local support = require "support"

local n, m = nw.size "n", nw.size "m"
local unsure = nw.size("unsure", 0)

local function row()
  local A = nw.placeholder({n}, "f32", "A")
  local F = nw.placeholder({m, unsure + 1}, "f32", "F")
  return nw.schedule(nw.compute({n}, function(i) return A(i) + F(0, 0) end, "C"))
end

local function refusal(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  assert.is_table(err.refusal)
  return err
end

describe("a factor that is a size", function()
  it("may be the size, its name, or an expression of sizes", function()
    for _, factor in ipairs {m, "m", m + 1, "m + 1", "2*m"} do
      local s = row()
      local outer, inner = s:split("i", factor)
      assert.equal("i_o", outer.name)
      assert.equal("i_i", inner.name)
    end
  end)

  it("stays a number if it is one", function()
    local s = row()
    s:split("i", "4 + 4")
    assert.truthy(s:trace():find('s:split("i", 8)', 1, true))
  end)

  it("is in the trace as text, and in the JSON trace", function()
    local s = row()
    s:split("i", m)
    assert.truthy(s:trace():find('s:split("i", "m")', 1, true))
    local again = row()
    again:replay(s:trace "json")
    assert.equal(s:text(), again:text())
  end)

  it("must be a size of the program", function()
    support.fails("^split: factor may use only numbers and sizes; the program has no size named q", "invalid",
      function() row():split("i", nw.size "q") end)
  end)

  it("must not use a loop", function()
    local s = row()
    s:split("i", 8)
    support.fails("^split: factor may use only sizes, not loops", "invalid", function() s:split("i_i", "i_o + 1") end)
  end)

  it("must be at least 1", function()
    local err = support.fails("^split: factor = unsure may be less than 1", "range", function() row():split("i", unsure) end)
    assert.truthy(err.hint:find('s:assume("unsure >= 1")', 1, true))
    local s = row()
    s:assume "unsure >= 1"
    s:split("i", unsure)
    support.fails("^split: parts = unsure %- 1 may be less than 1", "range",
      function() row():split("i", {parts = "unsure - 1"}) end)
  end)

  it("gives no iterations in another order to a loop that carries a dependence", function()
    local X = nw.placeholder({n}, "f32", "X")
    local F = nw.placeholder({m}, "f32", "F")
    local state = nw.placeholder({n}, "f32", "state")
    local init = nw.compute({1}, function(i) return X(i) + F(0) end, "init")
    local update = nw.compute({n}, function(i) return state(i - 1) + X(i) end, "update")
    local s = nw.schedule(nw.scan(init, update, state))
    local loop = s["S"]:loops()[1]
    local outer, inner = s:split(loop, m)
    local err = refusal(s.reorder, s, inner, outer)
    assert.equal("undecided", err.refusal.kind)
    assert.truthy(err.refusal.why:find "another order")
  end)
end)

describe("a product of sizes that is cut in two ways", function()
  it("leads to no counterexample that is false", function()
    local A = nw.placeholder({n, m}, "i32", "A")
    local B = nw.compute({n * m}, function(x) return A(x // m, x % m) + 1 end, "B")
    local s = nw.schedule(nw.compute({m, n}, function(i, j) return B(i * n + j) * 3 end, "C"))
    for _, step in ipairs {
      function() s:compute_inline(B) end,
      function() s:compute_at(B, s:loops("C")[1]) end,
      function() s:reverse_compute_at("C", s:loops(B)[1]) end,
    } do
      local ok, err = pcall(step)
      if ok then s:undo() end
      assert.is_true(ok or err.refusal.kind == "undecided", tostring(err))
    end
  end)
end)
