--- Sliding windows. Each stage computes an element once, as in Halide, although its readers need the element in several iterations.
local nw = require "nestwright"
local filled = require("values").filled

-- Returns how many elements of a buffer the schedule stores.
local function stores(s, buffer)
  local a, n = nw.accesses(s), 0
  for k = 1, #a do
    local x = a:at(k)
    if x.tensor == buffer and x.write then n = n + 1 end
  end
  return n
end

return function(case, t)
  -- Makes two stages: X reads an input of the given shape, and Y is `body` of X.
  local function stages(shape, to, body)
    local A = nw.placeholder(shape, "i32", "A")
    local X = #shape == 1 and nw.compute(shape, function(p) return A(p) * 3 end, "X")
      or nw.compute(shape, function(p, q) return A(p, q) * 3 end, "X")
    local Y = nw.compute(to, function(...) return body(X, ...) end, "Y")
    return nw.schedule(Y), {Y}, {filled("i32", shape)}
  end

  -- Computes X at loop `at` of Y, with its storage outside of all loops. Compares the number of stored elements.
  local function window(name, shape, to, body, at, count, prepare)
    case(name, function()
      local s, out, arguments = stages(shape, to, body)
      local loop = prepare and prepare(s) or s["Y"]:loops()[at]
      t.accepted(s.compute_at, s, "X", loop)
      t.accepted(s.store_at, s, "X")
      t.same(stores(s, "X"), count, "elements of X that are computed")
      t.agree(s, out, arguments)
    end)
  end

  local function rows(X, y, x) return X(y, x) + X(y + 1, x) * 2 + X(y + 2, x) end
  local function grid(X, y, x)
    return X(y, x) + X(y, x + 1) + X(y, x + 2) + X(y + 1, x) + X(y + 1, x + 2) + X(y + 2, x) + X(y + 2, x + 2)
  end
  window("three rows", {14, 5}, {12, 5}, rows, 1, 14 * 5)
  window("three rows, over the outer of two loops", {14, 5}, {12, 5}, rows, 2, 14 * 5)
  window("two rows of 11, over the outer of two loops", {11, 11}, {10, 11}, function(X, y, x) return X(y, x) + X(y + 1, x) end,
    2, 121)
  window("3 x 3 elements, along both loops", {10, 9}, {8, 7}, grid, 2, 90)
  window("3 x 3 elements, along rows", {10, 9}, {8, 7}, grid, 1, 90)
  window("3 x 3 elements, along columns and rows", {9, 10}, {8, 7}, function(X, i, j)
    return X(j, i) + X(j + 1, i + 2) + X(j + 2, i + 1)
  end, 2, 90)
  window("three elements", {14}, {12}, function(X, i) return X(i) + X(i + 1) + X(i + 2) end, 1, 14)
  window("three elements, downwards", {14}, {12}, function(X, i) return X(11 - i) + X(12 - i) + X(13 - i) end, 1, 14)
  window("three rows, downwards", {14, 5}, {12, 5}, function(X, y, x) return rows(X, 11 - y, x) end, 1, 70)
  window("three elements in steps of two", {21}, {10}, function(X, i) return X(2 * i) + X(2 * i + 1) + X(2 * i + 2) end, 1, 21)
  window("five elements in steps of three", {32}, {10}, function(X, i) return X(3 * i) + X(3 * i + 4) end, 1, 32)
  window("four elements in steps of three, downwards", {31}, {10}, function(X, i) return X(27 - 3 * i) + X(30 - 3 * i) end, 1, 31)
  window("at least element 3", {10}, {10}, function(X, i) return X(nw.max(i, 3)) end, 1, 7)
  window("at most element 5", {10}, {10}, function(X, i) return X(nw.min(i, 5)) end, 1, 6)
  window("between elements 2 and 7", {10}, {10}, function(X, i) return X(nw.clamp(i, 2, 7)) end, 1, 6)
  window("a third of the index", {34}, {100}, function(X, i) return X(i // 3) end, 1, 34)
  window("half of the index and the next element", {6}, {10}, function(X, i) return X(i // 2) + X(i // 2 + 1) end, 1, 6)
  window("a window at the edge", {12}, {12}, function(X, i) return X(nw.max(i - 1, 0)) + X(i) + X(nw.min(i + 1, 11)) end, 1, 12)
  for _, factor in ipairs {3, 4, 5, 12} do
    window(("strips of %d rows"):format(factor), {14, 5}, {12, 5}, rows, 1, 70, function(s)
      local _, inner = s:split(s["Y"]:loops()[1], factor)
      return inner
    end)
  end
  window("a loop of one iteration inside", {14, 5}, {12, 5}, rows, 1, 70, function(s)
    local _, inner = s:split(s["Y"]:loops()[1], 1)
    return inner
  end)
  window("a loop of one iteration outside", {14, 5}, {12, 5}, rows, 1, 70, function(s)
    local _, inner = s:split(s["Y"]:loops()[1], 12)
    return inner
  end)
  for _, scope in ipairs {"rolling", "whole"} do
    case("two windows, one after the other, " .. scope, function()
      local A = nw.placeholder({20}, "i32", "A")
      local P = nw.compute({20}, function(i) return A(i) + 1 end, "P")
      local Q = nw.compute({18}, function(i) return P(i) + P(i + 2) end, "Q")
      local R = nw.compute({16}, function(i) return Q(i) + Q(i + 2) end, "R")
      local s = nw.schedule(R)
      for _, stage in ipairs {Q, P} do t.accepted(s.compute_at, s, stage, s[R]:loops()[1]) end
      for _, stage in ipairs {P, Q} do t.accepted(s.store_at, s, stage) end
      if scope == "rolling" then for _, stage in ipairs {P, Q} do t.accepted(s.rolling_buffer, s, stage) end end
      t.same(stores(s, "Q"), 18, "elements of Q")
      t.agree(s, {R}, {filled("i32", {20})})
    end)
  end
  case("a sum", function()
    local A, k = nw.placeholder({18, 6}, "i32", "A"), nw.reduce_axis(6, "k")
    local X = nw.compute({18}, function(i) return nw.sum(A(i, k), k) end, "X")
    local Y = nw.compute({16}, function(i) return X(i) + X(i + 1) + X(i + 2) end, "Y")
    local s = nw.schedule(Y)
    t.accepted(s.compute_at, s, X, s[Y]:loops()[1])
    t.accepted(s.store_at, s, X)
    t.same(stores(s, "X"), 18 * 7, "stores to X")
    t.agree(s, {Y}, {filled("i32", {18, 6})})
  end)
  case("recomputation is noted", function()
    local s, out, arguments = stages({14, 5}, {12, 5}, rows)
    t.accepted(s.compute_at, s, "X", s["Y"]:loops()[2])
    assert(s:notes():find "computed 2%.57 times", s:notes())
    t.agree(s, out, arguments)
  end)
end
