-- Tests arrays that are larger than the memory of any machine. Every function that computes costs must refuse them at once.
local nw = require "nestwright"
local support = require "support"

local M = nw.size "M"

local function doubled()
  local A = nw.placeholder({M, 4}, "f32", "A")
  return nw.schedule(nw.compute({M, 4}, function(i, j) return A(i, j) * 2 end, "C"))
end

local ASKED = {
  cost = function(s, given) return s:cost(given) end,
  misses = nw.misses,
  cache_sets = nw.cache_sets,
  accesses = nw.accesses,
  reuse = nw.reuse,
  spacetime = nw.spacetime,
  features = nw.cost.features,
  show = function(s, given) return s:show {cost = true, sizes = given.sizes} end,
  cost_curve = function(s, given) return s:cost_curve {size = "M", values = {8, given.sizes.M}} end,
}

describe("an array that is too large to count", function()
  for name, f in pairs(ASKED) do
    it("is refused by " .. name .. ", whether its bytes fit in 64 bits or not", function()
      for _, bits in ipairs {37, 60, 61, 62} do
        support.fails("A is too large: only arrays of up to 2^40 bytes can be modelled", "range", f, doubled(),
          {sizes = {M = 1 << bits}})
      end
    end)
  end

  it("is refused before anything is counted, also if a loop is split", function()
    local s = doubled()
    s:split("i", 8)
    support.fails("A is too large", "range", s.cost, s, {sizes = {M = 1 << 60}})
  end)

  it("is named as the reason in a log, and in the error of a table of strategies", function()
    local huge, s = {M = 1 << 62}, doubled()
    assert.truthy(tostring(s:log {cost = true, sizes = huge}):find("A is too large", 1, true))
    support.fails("A is too large", "range", s.partition_auto, s, {loop = "i", cost = "model", strategies = {"guard", "cut"},
      kernels = {{rows = 8, schedule = function() end}}, sizes = {M = {1 << 62}}})
  end)

  it("is not the only limit: a loop with too many iterations is refused too", function()
    local A, k = nw.placeholder({4}, "f32", "A"), nw.reduce_axis(M, "k")
    local s = nw.schedule(nw.compute({4}, function(i) return nw.sum(A(i), k) end, "C"))
    support.fails("M = 4611686018427387904 is too large: give at most 2^40", "range", s.cost, s, {sizes = {M = 1 << 62}})
  end)
end)
