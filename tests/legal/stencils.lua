--- The stencils of the sliding windows in windows.lua. tests/bench/language.lua compares the counts with those of Halide, so
--- tests/bench/c/halide_windows.cpp has the same stencils, by name.
---
--- A row has a name, the shape of the stage X, the shape of the stage Y, the body of Y, the place of the loop of Y at which X is
--- computed, and the number of elements of X that this computes. A last function may change the loops of Y and return the loop.
local nw = require "nestwright"
local filled = require("values").filled

local stencils = {rows = {}}

--- Makes two stages: X reads an input of the given shape, and Y is `body` of X. Returns the schedule, the outputs and the
--- arguments.
function stencils.stages(shape, to, body)
  local A = nw.placeholder(shape, "i32", "A")
  local X = #shape == 1 and nw.compute(shape, function(p) return A(p) * 3 end, "X")
    or nw.compute(shape, function(p, q) return A(p, q) * 3 end, "X")
  local Y = nw.compute(to, function(...) return body(X, ...) end, "Y")
  return nw.schedule(Y), {Y}, {filled("i32", shape)}
end

--- Returns how many elements of a buffer the schedule stores.
function stencils.stores(s, buffer)
  local a, n = nw.accesses(s), 0
  for k = 1, #a do
    local x = a:at(k)
    if x.tensor == buffer and x.write then n = n + 1 end
  end
  return n
end

--- Makes the stages of a row. Computes X at its loop, with its storage outside of all loops. `accepted` calls a step, which it may
--- check. Returns the schedule, the outputs and the arguments.
function stencils.slide(row, accepted)
  local s, out, arguments = stencils.stages(row.shape, row.to, row.body)
  local loop = row.prepare and row.prepare(s) or s["Y"]:loops()[row.at]
  accepted(s.compute_at, s, "X", loop)
  accepted(s.store_at, s, "X")
  return s, out, arguments
end

--- Makes two windows, of which one reads the other: R reads Q, and Q reads P. The parameter and the results are those of
--- stencils.slide.
function stencils.two_windows(accepted)
  local A = nw.placeholder({20}, "i32", "A")
  local P = nw.compute({20}, function(i) return A(i) + 1 end, "P")
  local Q = nw.compute({18}, function(i) return P(i) + P(i + 2) end, "Q")
  local R = nw.compute({16}, function(i) return Q(i) + Q(i + 2) end, "R")
  local s = nw.schedule(R)
  for _, stage in ipairs {Q, P} do accepted(s.compute_at, s, stage, s[R]:loops()[1]) end
  for _, stage in ipairs {P, Q} do accepted(s.store_at, s, stage) end
  return s, {R}, {filled("i32", {20})}
end

local function window(name, shape, to, body, at, count, prepare)
  table.insert(stencils.rows, {name = name, shape = shape, to = to, body = body, at = at, count = count, prepare = prepare})
end

--- The sum of three rows.
function stencils.three_rows(X, y, x) return X(y, x) + X(y + 1, x) * 2 + X(y + 2, x) end
local function grid(X, y, x)
  return X(y, x) + X(y, x + 1) + X(y, x + 2) + X(y + 1, x) + X(y + 1, x + 2) + X(y + 2, x) + X(y + 2, x + 2)
end
window("three rows", {14, 5}, {12, 5}, stencils.three_rows, 1, 14 * 5)
window("three rows, over the outer of two loops", {14, 5}, {12, 5}, stencils.three_rows, 2, 14 * 5)
window("two rows of 11, over the outer of two loops", {11, 11}, {10, 11}, function(X, y, x) return X(y, x) + X(y + 1, x) end,
  2, 121)
window("3 x 3 elements, along both loops", {10, 9}, {8, 7}, grid, 2, 90)
window("3 x 3 elements, along rows", {10, 9}, {8, 7}, grid, 1, 90)
window("3 x 3 elements, along columns and rows", {9, 10}, {8, 7}, function(X, i, j)
  return X(j, i) + X(j + 1, i + 2) + X(j + 2, i + 1)
end, 2, 90)
window("three elements", {14}, {12}, function(X, i) return X(i) + X(i + 1) + X(i + 2) end, 1, 14)
window("three elements, downwards", {14}, {12}, function(X, i) return X(11 - i) + X(12 - i) + X(13 - i) end, 1, 14)
window("three rows, downwards", {14, 5}, {12, 5}, function(X, y, x) return stencils.three_rows(X, 11 - y, x) end,
  1, 70)
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
  window(("strips of %d rows"):format(factor), {14, 5}, {12, 5}, stencils.three_rows, 1, 70, function(s)
    local _, inner = s:split(s["Y"]:loops()[1], factor)
    return inner
  end)
end
window("a loop of one iteration inside", {14, 5}, {12, 5}, stencils.three_rows, 1, 70, function(s)
  local _, inner = s:split(s["Y"]:loops()[1], 1)
  return inner
end)
window("a loop of one iteration outside", {14, 5}, {12, 5}, stencils.three_rows, 1, 70, function(s)
  local _, inner = s:split(s["Y"]:loops()[1], 12)
  return inner
end)

return stencils
