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
  -- Each row: a name, the first row of the window, and the number of elements of X that are computed.
  for _, row in ipairs {
    {"twice at least element 0", function(y) return 2 * nw.max(y - 1, 0) end, 40},
    {"at least element 0, in steps of two", function(y) return nw.max(2 * y - 2, 0) end, 40},
    {"three times at most element 5", function(y) return 3 * nw.min(y, 5) + 1 end, 19},
    {"downwards, to element 0", function(y) return nw.max(30 - 2 * y, 0) end, 34},
  } do
    case("a window " .. row[1], function()
      local s, out, arguments = stencils.stages({64}, {20}, function(X, y) return X(row[2](y)) + X(row[2](y) + 3) * 2 end)
      t.accepted(s.compute_at, s, "X", s["Y"]:loops()[1])
      t.accepted(s.store_at, s, "X")
      t.same(stencils.stores(s, "X"), row[3], "elements of X that are computed")
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
