--- Tests stages with updates (nw.update): each program is compared with plain loops, with and without a schedule.
package.path = "tests/tools/?.lua;" .. package.path
local nw = require "nestwright"
local support = require "support"
local fails, refuses = support.fails, support.refuses

local function zeros(...)
  local dims = {...}
  local out = {}
  for i = 1, dims[1] do out[i] = #dims > 1 and zeros(table.unpack(dims, 2)) or 0 end
  return out
end

-- Returns whole numbers lo..hi in a fixed order that looks random.
local function numbers(lo, hi, seed)
  local state = seed or 1
  return function()
    state = (state * 1103515245 + 12345) % 2147483648
    return lo + state // 65536 % (hi - lo + 1)
  end
end

local function matrix(rows, cols, lo, hi, seed)
  local next, out = numbers(lo, hi, seed), {}
  for i = 1, rows do
    out[i] = {}
    for j = 1, cols do out[i][j] = next() end
  end
  return out
end

-- A matrix whose leading minors are not zero, so that it needs no pivots; it is symmetric and positive definite.
local function dominant(n)
  local m = matrix(n, n, -3, 3, 5)
  for i = 1, n do
    for j = 1, i - 1 do m[i][j] = m[j][i] end
    m[i][i] = 4 * n
  end
  return m
end

-- Compares all ways of running a schedule with the wanted values. Lowered programs give the same bits in every way.
local function gives(s, U, inputs, want, tolerance)
  local name = U.name
  local result = nw.tensor(want, U.dtype)
  local options = {rtol = tolerance or 0, atol = tolerance or 0}
  local lowered = nw.interpret(s, inputs, {lowered = true})[1]
  local built = s:build {threads = 2}(table.unpack(inputs))
  assert.is_true(nw.allclose(result, nw.evaluate(U, inputs)[1], options), name .. ": the definition differs")
  assert.is_true(nw.allclose(result, nw.interpret(s, inputs)[1], options), name .. ": the nest differs")
  assert.is_true(nw.allclose(result, lowered, options), name .. ": the lowered program differs")
  assert.is_true(nw.allclose(lowered, built, {rtol = 0, atol = 0}), name .. ": machine code differs from the interpreter")
  support.agrees(s)
end

local function text_has(s, ...)
  for _, line in ipairs {...} do assert.truthy(s:text():find(line, 1, true), line .. "\n" .. s:text()) end
end

-- ---- the programs

local programs = {}

function programs.prefix_sum(n)
  local X = nw.placeholder({n}, "i64", "X")
  return nw.update(X, {{1, n}}, function(S, i) return {i}, S(i - 1) + S(i) end, "S")
end

function programs.histogram(n)
  local X = nw.placeholder({n}, "i32", "X")
  local H = nw.compute({16}, function(_) return 0 end, "H")
  return nw.update(H, {n}, function(S, i)
    local b = nw.min(nw.max(X(i), 0), 15)
    return {b}, S(b) + 1
  end)
end

function programs.last_position(n)
  local X = nw.placeholder({n}, "u8", "X")
  local P = nw.compute({256}, function(_) return -1 end, "P")
  return nw.update(P, {n}, function(_, i) return {X(i)}, nw.i32(i) end)
end

function programs.sweep(m, n)
  local U = nw.placeholder({m, n}, "f64", "U0")
  return nw.update(U, {{1, m - 1}, {1, n - 1}}, function(S, i, j)
    return {i, j}, 0.25 * (S(i - 1, j) + S(i + 1, j) + S(i, j - 1) + S(i, j + 1))
  end, "U")
end

function programs.lu(n)
  local A = nw.placeholder({n, n}, "f64", "A")
  local LU = nw.update(A, {n, n, n}, function(S, k, i, j)
    return {i, j}, S(i, j) - S(i, k) / S(k, k) * S(k, j), nw.all(nw.gt(i, k), nw.gt(j, k))
  end, "LU")
  return nw.update(LU, {n, n}, function(S, p, q) return {q, p}, S(q, p) / S(p, p), nw.gt(q, p) end)
end

function programs.cholesky(n)
  local A = nw.placeholder({n, n}, "f64", "A")
  local L = nw.update(A, {n, n, n}, function(S, k, i, j)
    return {i, j}, S(i, j) - S(i, k) * S(j, k) / S(k, k), nw.all(nw.gt(i, k), nw.gt(j, k), nw.le(j, i))
  end, "L")
  L = nw.update(L, {n, n}, function(S, p, q) return {q, p}, S(q, p) / nw.sqrt(S(p, p)), nw.gt(q, p) end)
  return nw.update(L, {n}, function(S, d) return {d, d}, nw.sqrt(S(d, d)) end)
end

-- The same factorizations as in textbooks, with the updates inside the loop over the columns.
function programs.lu_in_columns(n)
  local A = nw.placeholder({n, n}, "f64", "A")
  return nw.update(A, {n}, function(S, k)
    nw.update(S, {n}, function(_, r) return {r, k}, S(r, k) / S(k, k), nw.gt(r, k) end)
    nw.update(S, {n, n}, function(_, y, x)
      return {y, x}, S(y, x) - S(y, k) * S(k, x), nw.all(nw.gt(y, k), nw.gt(x, k))
    end)
  end, "LU")
end

function programs.cholesky_in_columns(n)
  local A = nw.placeholder({n, n}, "f64", "A")
  return nw.update(A, {n}, function(S, k)
    nw.update(S, {}, function(_) return {k, k}, nw.sqrt(S(k, k)) end)
    nw.update(S, {n}, function(_, r) return {r, k}, S(r, k) / S(k, k), nw.gt(r, k) end)
    nw.update(S, {n, n}, function(_, y, x)
      return {y, x}, S(y, x) - S(y, k) * S(x, k), nw.all(nw.gt(y, k), nw.gt(x, k), nw.le(x, y))
    end)
  end, "L")
end

function programs.shortest_paths(n)
  local W = nw.placeholder({n, n}, "i32", "W")
  return nw.update(W, {n, n, n}, function(D, k, i, j) return {i, j}, nw.min(D(i, j), D(i, k) + D(k, j)) end, "D")
end

-- ---- the same programs as plain loops

local loops = {}

function loops.prefix_sum(x)
  local s = {table.unpack(x)}
  for i = 2, #s do s[i] = s[i - 1] + s[i] end
  return s
end

function loops.histogram(x)
  local h = zeros(16)
  for _, v in ipairs(x) do
    local b = math.min(math.max(v, 0), 15) + 1
    h[b] = h[b] + 1
  end
  return h
end

function loops.last_position(x)
  local p = {}
  for b = 1, 256 do p[b] = -1 end
  for i, v in ipairs(x) do p[v + 1] = i - 1 end
  return p
end

local function copy(m)
  local out = {}
  for i, row in ipairs(m) do out[i] = {table.unpack(row)} end
  return out
end

function loops.sweep(x)
  local u = copy(x)
  for i = 2, #u - 1 do
    for j = 2, #u[1] - 1 do u[i][j] = 0.25 * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1]) end
  end
  return u
end

function loops.lu(a)
  local m = copy(a)
  for k = 1, #m do
    for i = k + 1, #m do
      for j = k + 1, #m do m[i][j] = m[i][j] - m[i][k] / m[k][k] * m[k][j] end
    end
  end
  for k = 1, #m do
    for i = k + 1, #m do m[i][k] = m[i][k] / m[k][k] end
  end
  return m
end

function loops.cholesky(a)
  local m = copy(a)
  for k = 1, #m do
    for i = k + 1, #m do
      for j = k + 1, i do m[i][j] = m[i][j] - m[i][k] * m[j][k] / m[k][k] end
    end
  end
  for k = 1, #m do
    for i = k + 1, #m do m[i][k] = m[i][k] / math.sqrt(m[k][k]) end
  end
  for d = 1, #m do m[d][d] = math.sqrt(m[d][d]) end
  return m
end

function loops.lu_in_columns(a)
  local m = copy(a)
  for k = 1, #m do
    for i = k + 1, #m do m[i][k] = m[i][k] / m[k][k] end
    for i = k + 1, #m do
      for j = k + 1, #m do m[i][j] = m[i][j] - m[i][k] * m[k][j] end
    end
  end
  return m
end

function loops.cholesky_in_columns(a)
  local m = copy(a)
  for k = 1, #m do
    m[k][k] = math.sqrt(m[k][k])
    for i = k + 1, #m do m[i][k] = m[i][k] / m[k][k] end
    for i = k + 1, #m do
      for j = k + 1, i do m[i][j] = m[i][j] - m[i][k] * m[j][k] end
    end
  end
  return m
end

function loops.shortest_paths(w)
  local d = copy(w)
  for k = 1, #d do
    for i = 1, #d do
      for j = 1, #d do d[i][j] = math.min(d[i][j], d[i][k] + d[k][j]) end
    end
  end
  return d
end

local function list(n, lo, hi)
  local next, out = numbers(lo, hi), {}
  for i = 1, n do out[i] = next() end
  return out
end

describe("an update gives what plain loops give:", function()
  it("a prefix sum", function()
    local x = list(37, -50, 50)
    local S = programs.prefix_sum(37)
    local s = nw.schedule(S)
    gives(s, S, {nw.tensor(x, "i64")}, loops.prefix_sum(x))
    s:split("i_1", 8)
    gives(s, S, {nw.tensor(x, "i64")}, loops.prefix_sum(x))
    refuses(s, "cannot run i_1_o in parallel", "refused", function() s:parallel "i_1_o" end)
    refuses(s, "cannot vectorize i_1_i", "refused", function() s:vectorize "i_1_i" end)
    local err = refuses(s, "cannot reverse i_1_o", "refused", function() s:reverse "i_1_o" end)
    assert.equal("S", err.refusal.tensor)
  end)

  it("a histogram, in order and with atomic additions", function()
    local x = list(100, -3, 20)
    local H = programs.histogram(100)
    local s = nw.schedule(H)
    text_has(s, "ordered i = i_1 in 0..100", "+= i32(1)")
    gives(s, H, {nw.tensor(x, "i32")}, loops.histogram(x))
    local err = refuses(s, "cannot run i_1 in parallel", "refused", function() s:parallel "i_1" end)
    assert.equal("H", err.refusal.tensor)
    s:reverse "i_1" -- additions may be made in any order
    gives(s, H, {nw.tensor(x, "i32")}, loops.histogram(x))
    s:atomic(H)
    s:parallel "i_1"
    gives(s, H, {nw.tensor(x, "i32")}, loops.histogram(x))
  end)

  it("the last of several writes of an element", function()
    local x = list(60, 0, 30)
    local P = programs.last_position(60)
    local s = nw.schedule(P)
    gives(s, P, {nw.tensor(x, "u8")}, loops.last_position(x))
    refuses(s, "cannot reverse i_1", "refused", function() s:reverse "i_1" end)
    refuses(s, "cannot run i_1 in parallel", "refused", function() s:parallel "i_1" end)
    refuses(s, "not a reduction", "refused", function() s:atomic(P) end)
    s:split("i_1", 7)
    gives(s, P, {nw.tensor(x, "u8")}, loops.last_position(x))
  end)

  it("a sweep of Gauss-Seidel, skewed so that the inner loop is free", function()
    local x = matrix(9, 12, -8, 8)
    local U = programs.sweep(9, 12)
    local s = nw.schedule(U)
    gives(s, U, {nw.tensor(x, "f64")}, loops.sweep(x), 1e-14)
    refuses(s, "cannot run i_1 in parallel", "refused", function() s:parallel "i_1" end)
    refuses(s, "cannot vectorize j_1", "refused", function() s:vectorize "j_1" end)
    s:skew("j_1", "i_1", 1)
    s:reorder("j_1", "i_1")
    s:parallel "i_1"
    gives(s, U, {nw.tensor(x, "f64")}, loops.sweep(x), 1e-14)
  end)

  it("LU without pivots, with rows in parallel and columns in vectors", function()
    local a = dominant(13)
    local LU = programs.lu(13)
    local s = nw.schedule(LU)
    gives(s, LU, {nw.tensor(a, "f64")}, loops.lu(a), 1e-12)
    refuses(s, "cannot run k in parallel", "refused", function() s:parallel "k" end)
    refuses(s, "cannot reverse k", "refused", function() s:reverse "k" end)
    s:reorder("i_1", "k", "j_1") -- row by row
    gives(s, LU, {nw.tensor(a, "f64")}, loops.lu(a), 1e-12)
    refuses(s, "cannot run i_1 in parallel", "refused", function() s:parallel "i_1" end)
    s:reorder("k", "i_1", "j_1")
    s:split("j_1", 4)
    s:parallel "i_1"
    s:vectorize "j_1_i"
    s:parallel "p"
    gives(s, LU, {nw.tensor(a, "f64")}, loops.lu(a), 1e-12)
  end)

  it("the factor of Cholesky, with tiles of its triangle", function()
    local a = dominant(11)
    local L = programs.cholesky(11)
    local s = nw.schedule(L)
    gives(s, L, {nw.tensor(a, "f64")}, loops.cholesky(a), 1e-12)
    s:tile("i_1", "j_1", 4, 4)
    s:parallel "i_1_o"
    gives(s, L, {nw.tensor(a, "f64")}, loops.cholesky(a), 1e-12)
    refuses(s, ".", "refused", function() s:parallel "k" end)
  end)

  it("the factors in columns, with updates inside an update", function()
    for _, name in ipairs {"lu_in_columns", "cholesky_in_columns"} do
      local a = dominant(12)
      local F = programs[name](12)
      local s = nw.schedule(F)
      gives(s, F, {nw.tensor(a, "f64")}, loops[name](a), 1e-12)
      refuses(s, "cannot run k in parallel", "refused", function() s:parallel "k" end)
      s:parallel "r"
      s:split("x", 4)
      s:parallel "y"
      s:vectorize "x_i"
      gives(s, F, {nw.tensor(a, "f64")}, loops[name](a), 1e-12)
    end
  end)

  it("the shortest paths of Floyd and Warshall", function()
    local w = matrix(10, 10, 1, 40)
    for i = 1, 10 do w[i][i] = 0 end
    local D = programs.shortest_paths(10)
    local s = nw.schedule(D)
    gives(s, D, {nw.tensor(w, "i32")}, loops.shortest_paths(w))
    refuses(s, ".", "refused", function() s:parallel "k" end)
    s:split("j_1", 4)
    gives(s, D, {nw.tensor(w, "i32")}, loops.shortest_paths(w))
  end)
end)

describe("a stage with updates", function()
  it("has symbolic sizes", function()
    local n = nw.size "n"
    local X = nw.placeholder({n}, "i64", "X")
    local S = nw.update(X, {{1, n}}, function(S, i) return {i}, S(i - 1) + S(i) end, "S")
    local s = nw.schedule(S)
    s:split("i_1", 4)
    support.agrees(s)
    for _, count in ipairs {1, 2, 7, 8} do
      local x = list(count, -9, 9)
      assert.same(loops.prefix_sum(x), s:build()(nw.tensor(x, "i64")):totable())
    end
  end)

  it("leaves the tensor that is updated as it was", function()
    local A = nw.placeholder({6}, "i32", "A")
    local B = nw.compute({6}, function(i) return A(i) * 2 end, "B")
    local S = nw.update(B, {{1, 6}}, function(S, i) return {i}, S(i) + S(i - 1) end, "S")
    local D = nw.compute({6}, function(i) return S(i) - B(i) end, "D")
    local s = nw.schedule(D)
    local x = nw.tensor({1, 2, 3, 4, 5, 6}, "i32")
    assert.same({0, 2, 6, 12, 20, 30}, s:build()(x):totable())
    support.agrees(s)
  end)

  it("starts from a sum, which is a stage of its own", function()
    local A, k = nw.placeholder({5, 4}, "i32", "A"), nw.reduce_axis(4, "k")
    local R = nw.compute({5}, function(i) return nw.sum(A(i, k), k) end, "R")
    local S = nw.update(R, {{1, 5}}, function(S, i) return {i}, S(i) + S(i - 1) end, "S")
    local s = nw.schedule(S)
    s:split("k", 2)
    local a = matrix(5, 4, -9, 9)
    local sums = {}
    for i, row in ipairs(a) do sums[i] = row[1] + row[2] + row[3] + row[4] end
    gives(s, S, {nw.tensor(a, "i32")}, loops.prefix_sum(sums))
  end)

  it("lets other stages be placed and inlined", function()
    local A = nw.placeholder({32}, "i32", "A")
    local P = nw.compute({32}, function(i) return A(i) + 1 end, "P")
    local B = nw.compute({32}, function(i) return P(i) * 2 end, "B")
    local S = nw.update(B, {{1, 32}}, function(S, i) return {i}, S(i) + S(i - 1) end, "S")
    local D = nw.compute({32}, function(i) return S(i) * 3 end, "D")
    local E = nw.compute({32}, function(i) return D(31 - i) end, "E")
    local s = nw.schedule(E)
    s:compute_inline(D)
    s:compute_inline(P)
    local x = list(32, -9, 9)
    local want = {}
    for i, v in ipairs(x) do want[i] = (v + 1) * 2 end
    want = loops.prefix_sum(want)
    local reversed = {}
    for i = 1, 32 do reversed[i] = want[33 - i] * 3 end
    gives(s, E, {nw.tensor(x, "i32")}, reversed)
    refuses(s, ".", "refused", function() s:compute_inline(S) end)
    refuses(s, ".", "refused", function() s:compute_at(S, s:loops(E)[1]) end)
  end)

  it("adds floats in another order only with a note", function()
    local X = nw.placeholder({4, 64}, "f32", "X")
    local Z = nw.compute({4}, function(_) return 0.0 end, "Z")
    local S = nw.update(Z, {64, 4}, function(S, k, i) return {i}, S(i) + X(i, k) end)
    local s = nw.schedule(S)
    s:reorder("i_1", "k")
    assert.is_false(s:rounds())
    s:reverse "k"
    assert.is_true(s:rounds())
    support.agrees(s)
  end)

  it("has a cost", function()
    local s = nw.schedule(programs.sweep(40, 50))
    assert.truthy(s:cost())
    assert.truthy(nw.schedule(programs.lu(24)):cost())
  end)

  it("is shown with its definitions", function()
    local S = programs.prefix_sum(8)
    assert.equal("S: i64[8] = X, then S[i] = S[i] + S[i - 1] for i in 1..8", tostring(S))
    local s = nw.schedule(programs.lu(6))
    assert.is_true(s:reparses())
    text_has(s, "when ", "where ")
  end)
end)

describe("nw.update refuses", function()
  local A = nw.placeholder({8}, "f32", "A")
  local Z = nw.compute({8}, function(_) return 0.0 end, "Z")

  it("what is not a tensor", function() fails("expected a tensor", "invalid", nw.update, 3, {8}, function() end) end)

  it("a function with other parameters", function()
    fails("it needs 2: the stage, and one for each axis", "invalid", nw.update, Z, {8}, function(_, _, _) end)
  end)

  it("a value without an index", function()
    fails("return the index as a list", "type", nw.update, Z, {8}, function(S, i) return S(i) + 1 end)
  end)

  it("an index without a value", function()
    fails("the function returned nothing", "type", nw.update, Z, {8}, function(_, i) return {i} end)
  end)

  it("another number of indices", function()
    fails("has 1 dimension, but its update writes an element with 2 indices", "type", nw.update, Z, {8},
      function(_, i) return {i, i}, 1 end)
  end)

  it("a value of another dtype", function()
    fails("cast the value", "type", nw.update, Z, {8}, function(_, i) return {i}, i end)
  end)

  it("a reduction as the value", function()
    local k = nw.reduce_axis(8, "k")
    fails("contains a reduction", "invalid", nw.update, Z, {8}, function(_, i) return {i}, nw.sum(A(k), k) end)
  end)

  it("elements outside the stage", function()
    fails("Z%[i %+ 1%] writes index 8 of dimension 0", "range", nw.update, Z, {8}, function(_, i) return {i + 1}, 1 end)
    fails("reads index %-1 of dimension 0", "range", nw.update, Z, {8}, function(S, i) return {i}, S(i - 1) end)
    fails("clamp it", "range", nw.update, Z, {8}, function(_, i) return {nw.i32(A(i))}, 1 end)
  end)

  it("a condition on data, and one that is not a condition", function()
    fails("depends on data", "invalid", nw.update, Z, {8}, function(_, i) return {i}, 1, nw.gt(A(i), 0) end)
    fails("must return a comparison", "type", nw.update, Z, {8}, function(_, i) return {i}, 1, true end)
  end)

  it("updates inside an update that has a value, or none at all", function()
    fails("makes updates and returns a value, too", "invalid", nw.update, Z, {8}, function(S, i)
      nw.update(S, {8}, function(_, j) return {j}, 1 end)
      return {i}, 1
    end)
    fails("returned nothing", "invalid", nw.update, Z, {8}, function(_, _) end)
  end)

  it("ranges that are not ranges", function()
    fails("expected {begin, end}", "invalid", nw.update, Z, {{1, 2, 3}}, function(_, i) return {i}, 1 end)
    fails(".", nil, nw.update, Z, {{5, 2}}, function(_, i) return {i}, 1 end)
  end)
end)
