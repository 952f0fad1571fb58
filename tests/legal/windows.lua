--- Sliding windows. Each stage computes an element once, as in Halide, although its readers need the element in several iterations.
local nw = require "nestwright"
local filled = require("values").filled
local stencils = require "stencils"

return function(case, t)
  for _, row in ipairs(stencils.rows) do
    case(row.name, function()
      local s, out, arguments = stencils.slide(row, t.accepted)
      t.same(stencils.stores(s, "X"), row.count, "elements of X that are computed")
      t.agree(s, out, arguments)
    end)
  end
  for _, scope in ipairs {"rolling", "whole"} do
    case("two windows, one after the other, " .. scope, function()
      local s, out, arguments = stencils.two_windows(t.accepted)
      if scope == "rolling" then for _, stage in ipairs {"P", "Q"} do t.accepted(s.rolling_buffer, s, stage) end end
      t.same(stencils.stores(s, "P"), 20, "elements of P")
      t.same(stencils.stores(s, "Q"), 18, "elements of Q")
      t.agree(s, out, arguments)
    end)
  end
  case("a sum", function()
    local A, k = nw.placeholder({18, 6}, "i32", "A"), nw.reduce_axis(6, "k")
    local X = nw.compute({18}, function(i) return nw.sum(A(i, k), k) end, "X")
    local Y = nw.compute({16}, function(i) return X(i) + X(i + 1) + X(i + 2) end, "Y")
    local s = nw.schedule(Y)
    t.accepted(s.compute_at, s, X, s[Y]:loops()[1])
    t.accepted(s.store_at, s, X)
    t.same(stencils.stores(s, "X"), 18 * 7, "stores to X")
    t.agree(s, {Y}, {filled("i32", {18, 6})})
  end)
  case("recomputation is noted", function()
    local s, out, arguments = stencils.stages({14, 5}, {12, 5}, stencils.three_rows)
    t.accepted(s.compute_at, s, "X", s["Y"]:loops()[2])
    assert(s:notes():find "computed 2%.57 times", s:notes())
    t.agree(s, out, arguments)
  end)
end
