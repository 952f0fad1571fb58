--- Makes computations for the rows of the judge's bench. Each function returns a schedule and then its tensors, the output first.
local nw = require "nestwright"

local nests = {}

--- Makes C = A B, where C has the shape m x n, and depth is the number of columns of A. The default dtype is "f32".
function nests.gemm(m, n, depth, dtype)
  m = m or 12
  n, depth = n or m, depth or m
  local A, B = nw.placeholder({m, depth}, dtype or "f32", "A"), nw.placeholder({depth, n}, dtype or "f32", "B")
  local k = nw.reduce_axis(depth, "k")
  local C = nw.compute({m, n}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
  return nw.schedule(C), C, A, B
end

--- Makes three stages: the product C = A B, P(i, j) = C(i, j) + b(j), and R = max(P, 0).
function nests.layer(m, n, depth)
  local A, B, b = nw.placeholder({m, depth}, "f32", "A"), nw.placeholder({depth, n}, "f32", "B"), nw.placeholder({n}, "f32", "b")
  local k = nw.reduce_axis(depth, "k")
  local C = nw.compute({m, n}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
  local P = nw.compute({m, n}, function(i, j) return C(i, j) + b(j) end, "P")
  local R = nw.compute({m, n}, function(i, j) return nw.max(P(i, j), 0) end, "R")
  return nw.schedule(R), R, P, C, A, B, b
end

--- Makes Z = 2A + 1, with one to three dimensions.
function nests.map(...)
  local shape = {...}
  local A = nw.placeholder(shape, "f32", "A")
  local f = function(...) return A(...) * 2 + 1 end
  local of = {function(i) return f(i) end, function(i, j) return f(i, j) end, function(i, j, k) return f(i, j, k) end}
  local Z = nw.compute(shape, of[#shape], "Z")
  return nw.schedule(Z), Z, A
end

--- Makes X = 2A and Y(i) = X(i) + X(i + reach). Each element of Y also reads a later element of X.
function nests.ahead(n, reach)
  local A = nw.placeholder({n}, "f32", "A")
  local X = nw.compute({n}, function(i) return A(i) * 2 end, "X")
  local Y = nw.compute({n - reach}, function(i) return X(i) + X(i + reach) end, "Y")
  return nw.schedule(Y), Y, X, A
end

--- Makes a separable blur of h x w outputs. X blurs A along rows, and Y blurs X along columns.
function nests.blur(h, w)
  local A = nw.placeholder({h + 2, w + 2}, "f32", "A")
  local X = nw.compute({h + 2, w}, function(y, x) return A(y, x) + A(y, x + 1) + A(y, x + 2) end, "X")
  local Y = nw.compute({h, w}, function(y, x) return X(y, x) + X(y + 1, x) + X(y + 2, x) end, "Y")
  return nw.schedule(Y), Y, X, A
end

--- Makes a depthwise convolution with a padded input.
function nests.depthwise(c, h, w)
  local A, W = nw.placeholder({c, h, w}, "f32", "A"), nw.placeholder({c, 3, 3}, "f32", "W")
  local P = nw.compute({c, h + 2, w + 2}, function(ch, y, x)
    return nw.select(nw.all(nw.ge(y, 1), nw.le(y, h), nw.ge(x, 1), nw.le(x, w)), A(ch, y - 1, x - 1), 0)
  end, "P")
  local r, q = nw.reduce_axis(3, "r"), nw.reduce_axis(3, "q")
  local D = nw.compute({c, h, w}, function(ch, y, x) return nw.sum(P(ch, y + r, x + q) * W(ch, r, q), r, q) end, "D")
  return nw.schedule(D), D, P, A, W
end

--- Reduces each row of A with a combiner: "sum", "prod", "min" or "max".
function nests.fold(kind, m, n, dtype)
  local A = nw.placeholder({m, n}, dtype or "f32", "A")
  local k = nw.reduce_axis(n, "k")
  local S = nw.compute({m}, function(i) return nw[kind](A(i, k), k) end, "S")
  return nw.schedule(S), S, A
end

--- Finds the value and the position of the least or the greatest element of each row.
function nests.arg(kind, m, n)
  local A = nw.placeholder({m, n}, "f32", "A")
  local k = nw.reduce_axis(n, "k")
  local V, I = nw.compute({m}, function(i) return nw[kind](A(i, k), k) end, "V")
  return nw.schedule {V, I}, V, I, A
end

--- Subtracts the greatest element of each row from the row, and adds up the differences. Two of the three stages are reductions.
function nests.centred(m, n)
  local A = nw.placeholder({m, n}, "f32", "A")
  local k, l = nw.reduce_axis(n, "k"), nw.reduce_axis(n, "l")
  local M = nw.compute({m}, function(i) return nw.max(A(i, k), k) end, "M")
  local E = nw.compute({m, n}, function(i, j) return A(i, j) - M(i) end, "E")
  local S = nw.compute({m}, function(i) return nw.sum(E(i, l), l) end, "S")
  return nw.schedule(S), S, E, M, A
end

--- Makes a stage X that two stages, Y and Z, read.
function nests.fork(n)
  local A = nw.placeholder({n}, "f32", "A")
  local X = nw.compute({n}, function(i) return A(i) * 2 end, "X")
  local Y = nw.compute({n}, function(i) return X(i) + 1 end, "Y")
  local Z = nw.compute({n}, function(i) return X(n - 1 - i) + 2 end, "Z")
  return nw.schedule {Y, Z}, Y, Z, X, A
end

--- Makes a computation with two outputs from one body.
function nests.twins(n)
  local A = nw.placeholder({n}, "f32", "A")
  local U, V = nw.compute({n}, function(i) return A(i) + 1, A(i) * 2 end, "U")
  return nw.schedule {U, V}, U, V, A
end

--- Makes a recurrence over `steps` rows of n elements. step(S, A, t, x, n) computes element x of row t. The first `rows` rows are
--- copied from A.
function nests.recurrence(steps, n, step, rows)
  rows = rows or 1
  local A = nw.placeholder({steps, n}, "f32", "A")
  local S = nw.scan_state({steps, n}, "f32", "S_state")
  local first = nw.compute({rows, n}, function(t, x) return A(t, x) end, "first")
  local update = nw.compute({steps, n}, function(t, x) return step(S, A, t, x, n) end, "update")
  local out = nw.scan(first, update, S, "S")
  return nw.schedule(out), out, A
end

--- Step functions for nests.recurrence, with the distances (time, space) of their reads.
nests.step = {
  column = function(S, A, t, x) return S(t - 1, x) + A(t, x) end, -- (1, 0)
  two_back = function(S, A, t, x) return S(t - 2, x) + A(t, x) end, -- (2, 0)
  fibonacci = function(S, _, t, x) return S(t - 1, x) - S(t - 2, x) end, -- (1, 0) (2, 0)
  diagonal = function(S, A, t, x) return S(t - 1, nw.max(x - 1, 0)) + A(t, x) end, -- (1, 1); at the edge (1, 0)
  against = function(S, A, t, x, n) return S(t - 1, nw.min(x + 1, n - 1)) + A(t, x) end, -- (1, -1)
  heat = function(S, _, t, x, n) return S(t - 1, nw.max(x - 1, 0)) + S(t - 1, x) - S(t - 1, nw.min(x + 1, n - 1)) end,
  mirror = function(S, A, t, x, n) return S(t - 1, n - 1 - x) + A(t, x) end, -- (1, d) for many distances d
  sweep = function(S, _, t, x, n) -- reads the new value on the left and the old value on the right
    return nw.select(nw.gt(x, 0), S(t, nw.max(x - 1, 0)), 0) - S(t - 1, nw.min(x + 1, n - 1))
  end,
  along = function(S, A, t, x) -- a running sum within each row and over rows: (0, 1) (1, 0)
    return nw.select(nw.gt(x, 0), S(t, nw.max(x - 1, 0)), 0) + S(t - 1, x) + A(t, x)
  end,
}

--- Returns a function that makes the computation with this name and shape, for a row of the judge's bench.
function nests.with(name, ...)
  local shape = {...}
  return function() return nests[name](table.unpack(shape)) end
end

--- Returns a function that makes the recurrence with this step, for a row of the judge's bench. The default is 7 rows of 9
--- elements.
function nests.scan(step, steps, n, rows)
  return function() return nests.recurrence(steps or 7, n or 9, nests.step[step], rows) end
end

--- Returns a function that makes the recurrence with this step, with symbolic sizes.
function nests.symbolic_scan(step)
  return function() return nests.recurrence(nw.size("T", {min = 2}), nw.size("N", {min = 2}), nests.step[step]) end
end

--- Returns the loops of a stage, from the outermost to the innermost.
function nests.loops(s, stage) return table.unpack(s:loops(stage)) end

return nests
