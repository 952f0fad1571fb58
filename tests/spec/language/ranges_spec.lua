--- Tests reductions whose range depends on an axis or on data: triangles, ragged rows, sparse matrices.
local nw = require "nestwright"
local support = require "support"

local N, NNZ = 13, 29

local function numbers(shape, dtype)
  local a = nw.zeros(shape, dtype or "f32")
  for n = 1, a:count() do a:setflat(n, (5 * n + n // 7) % 11 - 5) end
  return a
end

-- y[i] = sum of A[i, k]*x[k] over k <= i
local function triangle(n)
  n = n or N
  local A, x = nw.placeholder({n, n}, "f32", "A"), nw.placeholder({n}, "f32", "x")
  return nw.compute({n}, function(i)
    local k = nw.reduce_axis(i + 1, "k")
    return nw.sum(A(i, k) * x(k), k)
  end, "Y")
end

-- A sparse matrix in rows: row i has the elements P[i]..P[i + 1] of V, in the columns J.
local function sparse()
  local P, J = nw.placeholder({N + 1}, "i32", "P"), nw.placeholder({NNZ}, "i32", "J")
  local V, x = nw.placeholder({NNZ}, "f32", "V"), nw.placeholder({N}, "f32", "x")
  return nw.compute({N}, function(i)
    local e = nw.reduce_axis({P(i), P(i + 1)}, {name = "e", within = NNZ})
    return nw.sum(V(e) * x(nw.min(nw.max(J(e), 0), N - 1)), e)
  end, "Y")
end

-- Returns the data in the order of the inputs: pointers, elements, vector, columns.
local function sparse_data(s, pointers)
  local P, J = nw.zeros({N + 1}, "i32"), nw.zeros({NNZ}, "i32")
  for i = 0, N do P:setflat(i + 1, pointers and pointers[i + 1] or i * NNZ // N) end
  for e = 1, NNZ do J:setflat(e, 7 * e % N) end
  local by_name, list = {P = P, J = J, V = numbers {NNZ}, x = numbers {N}}, {}
  for n, t in ipairs(s:inputs()) do list[n] = by_name[t.name] end
  return list
end

local function lowered(s) return tostring(s:show "lowered") end

-- Makes partial results, one for each of four lanes.
local function in_lanes(s, stage, loop)
  local outer, inner = s:split(loop, 4)
  s:rfactor(stage, inner)
  s:reorder(outer, inner)
  s:vectorize(inner)
end

describe("a triangle", function()
  for _, how in ipairs {
    {"as it is", function() end},
    {"with parallel rows", function(s) s:parallel "i" end},
    {"with a split reduction", function(s) s:split("k", 4) end},
    {"with split rows and columns", function(s)
      s:split("i", 4)
      s:split("k", 4)
    end},
    {"by columns", function(s)
      s:reorder("k", "i")
      s:decompose_reduction("Y", "k")
    end},
    {"with partial results in lanes", function(s) in_lanes(s, "Y", "k") end},
    {"with lanes along the rows", function(s)
      s:split("i", 4)
      s:reorder("i_o", "k", "i_i")
      s:decompose_reduction("Y", "k")
      s:vectorize "i_i"
    end},
    {"with lanes around the reduction", function(s)
      s:split("i", 4)
      s:vectorize "i_i"
    end},
    {"unrolled", function(s) s:unroll "k" end},
    {"with the loop cut", function(s) s:cut("k", 5) end},
  } do
    it(("is computed %s"):format(how[1]), function()
      local Y = triangle()
      local s = nw.schedule(Y)
      how[2](s)
      support.agree(s, {Y}, {numbers {N, N}, numbers {N}})
      assert.is_true(s:reparses())
    end)
  end

  it("becomes a loop that ends at the diagonal, without a condition", function()
    local s = nw.schedule(triangle())
    local text = lowered(s)
    assert.truthy(text:find("for k in 0..i + 1:", 1, true), text)
    assert.is_nil(text:find("select", 1, true))
    assert.is_nil(text:find("if ", 1, true))
    s:reorder("k", "i")
    s:decompose_reduction("Y", "k")
    text = lowered(s)
    assert.truthy(text:find("for i in k..13:", 1, true), text)
  end)

  it("leaves out blocks of iterations", function()
    local Y = triangle(16)
    local s = nw.schedule(Y)
    s:split("k", 4)
    local text = lowered(s)
    assert.truthy(text:find("for k_o in 0..i // 4 + 1:", 1, true), text)
    support.agree(s, {Y}, {numbers {16, 16}, numbers {16}})
  end)

  it("has the same rounding however its loops run", function()
    local Y = triangle()
    local s, again = nw.schedule(Y), nw.schedule(Y)
    local a, x = nw.random({N, N}, "f32"), nw.random({N}, "f32")
    again:split("i", 4)
    again:vectorize "i_i" -- its lanes need the condition
    local before, after = s:build()(a, x), again:build()(a, x)
    for i = 1, N do assert.equal(before:get(i - 1), after:get(i - 1)) end
  end)

  it("can begin at the diagonal, and have a symbolic size", function()
    local n = nw.size "n"
    local A = nw.placeholder({n, n}, "f32", "A")
    local Y = nw.compute({n}, function(i)
      local k = nw.reduce_axis({i, n}, "k")
      return nw.max(A(i, k), k)
    end, "Y")
    local s = nw.schedule(Y)
    assert.truthy(lowered(s):find("for k in 0..(n - i) // 4:", 1, true), lowered(s))
    for _, size in ipairs {1, 2, 7} do support.agree(s, {Y}, {numbers {size, size}}) end
  end)

  it("gives an argmin its positions, and -1 for an empty row", function()
    local A = nw.placeholder({N, N}, "f32", "A")
    local V, I = nw.compute({N}, function(i)
      local k = nw.reduce_axis(i, "k")
      return nw.argmin(A(i, k), k)
    end, "V")
    local s = nw.schedule {V, I}
    s:split("k", 4)
    local a = numbers {N, N}
    support.agree(s, {V, I}, {a})
    local value, index = s:build()(a)
    assert.equal(math.huge, value:get(0))
    assert.equal(-1, index:get(0))
  end)

  it("can depend on another axis of the reduction", function()
    local A = nw.placeholder({5, N, N}, "i32", "A")
    local Y = nw.compute({5}, function(i)
      local k = nw.reduce_axis(N, "k")
      local l = nw.reduce_axis({k, k + i + 1}, {name = "l", within = N})
      return nw.sum(A(i, k, l), k, l)
    end, "Y")
    local s = nw.schedule(Y)
    support.agree(s, {Y}, {numbers({5, N, N}, "i32")})
    s:reorder("l", "k")
    support.agree(s, {Y}, {numbers({5, N, N}, "i32")})
  end)

  it("solves a triangular system, row after row", function()
    local L, b = nw.placeholder({N, N}, "f32", "L"), nw.placeholder({N}, "f32", "b")
    local sum, X = nw.scan_state({N}, "f32", "sum"), nw.scan_state({N}, "f32", "x")
    local zero = nw.compute({1}, function(_) return 0.0 end, "zero")
    local first = nw.compute({1}, function(t) return b(t) / L(t, t) end, "first")
    local dot = nw.compute({N}, function(t)
      local k = nw.reduce_axis(t, "k")
      return nw.sum(L(t, k) * X(k), k)
    end, "dot")
    local step = nw.compute({N}, function(t) return (b(t) - sum(t)) / L(t, t) end, "step")
    local S, Y = nw.scan({zero, first}, {dot, step}, {sum, X}, "Y")
    local s = nw.schedule {S, Y}
    local l, right, list = numbers {N, N}, numbers {N}, {}
    for i = 1, N do l:set(i - 1, i - 1, 8) end
    for n, t in ipairs(s:inputs()) do list[n] = t.name == "L" and l or right end
    support.agree(s, {S, Y}, list, 1e-4)
    local _, x = s:build()(table.unpack(list))
    for i = 1, N do
      local got = 0
      for k = 1, i do got = got + l:get(i - 1, k - 1) * x:get(k - 1) end
      assert.near(right:get(i - 1), got, 1e-3)
    end
  end)
end)

describe("a mask that users write as a select", function()
  local function masked(combine, other)
    local A = nw.placeholder({N, N}, "f32", "A")
    local k = nw.reduce_axis(N, "k")
    return nw.compute({N}, function(i) return nw[combine](nw.select(nw.le(k, i), A(i, k), other), k) end, "Y")
  end

  it("shortens the loop, too", function()
    local Y = masked("max", -math.huge)
    local s = nw.schedule(Y)
    assert.truthy(lowered(s):find("for k in 0..(i + 1) // 4:", 1, true), lowered(s))
    support.agree(s, {Y}, {numbers {N, N}})
  end)

  it("does not shorten the loop if the other value counts", function()
    local Y = masked("sum", 1.0)
    local s = nw.schedule(Y)
    assert.truthy(lowered(s):find("for k in 0..13:", 1, true), lowered(s))
    support.agree(s, {Y}, {numbers {N, N}})
  end)
end)

describe("a sparse matrix times a vector", function()
  for _, how in ipairs {
    {"as it is", function() end},
    {"with parallel rows", function(s) s:parallel "i" end},
    {"with split elements", function(s) s:split("e", 4) end},
    {"with split rows", function(s) s:split("i", 4) end},
    {"with partial results in lanes", function(s) in_lanes(s, "Y", "e") end},
    {"with lanes along the rows", function(s)
      s:split("i", 4)
      s:reorder("i_o", "e", "i_i")
      s:decompose_reduction("Y", "e")
      s:vectorize "i_i"
    end},
  } do
    it(("is computed %s"):format(how[1]), function()
      local Y = sparse()
      local s = nw.schedule(Y)
      how[2](s)
      support.agree(s, {Y}, sparse_data(s))
      assert.is_true(s:reparses())
    end)
  end

  it("becomes a loop over the elements of a row", function()
    local text = lowered(nw.schedule(sparse()))
    assert.truthy(text:find("for e in min(max(i64(P[i]), 0), 29)..", 1, true), text)
    assert.is_nil(text:find("select", 1, true))
  end)

  it("uses only elements that exist, whatever the pointers are", function()
    local wild, some = {}, {-2147483648, 2147483647, 5, 3, -7, 40, 29, 0}
    for i = 0, N do wild[i + 1] = some[i % 8 + 1] end
    local Y = sparse()
    for _, split in ipairs {false, true} do
      local s = nw.schedule(Y)
      if split then s:split("e", 4) end
      support.agree(s, {Y}, sparse_data(s, wild))
    end
  end)

  it("takes pointers of i64 without overflow", function()
    local P, V = nw.placeholder({N + 1}, "i64", "P"), nw.placeholder({NNZ}, "f32", "V")
    local Y = nw.compute({N}, function(i)
      local e = nw.reduce_axis({P(i), P(i + 1)}, {name = "e", within = NNZ})
      return nw.sum(V(e), e)
    end, "Y")
    local p, some = nw.zeros({N + 1}, "i64"), {math.mininteger, math.maxinteger, 4, 9, math.mininteger}
    for i = 0, N do p:setflat(i + 1, some[i % 5 + 1]) end
    for _, split in ipairs {false, true} do
      local s = nw.schedule(Y)
      if split then s:split("e", 4) end
      support.agree(s, {Y}, {p, numbers {NNZ}})
    end
  end)

  it("does not read a pointer that does not exist if there are no elements", function()
    local n = nw.size("n", 0)
    local P, V = nw.placeholder({n}, "i32", "P"), nw.placeholder({n}, "f32", "V")
    local k = nw.reduce_axis(n, "k")
    local Y = nw.compute({3}, function(_) return nw.sum(nw.select(nw.lt(k, P(0)), V(k), 0.0), k) end, "Y")
    local s = nw.schedule(Y)
    for _, size in ipairs {0, 1, 5} do support.agree(s, {Y}, {numbers({size}, "i32"), numbers {size}}) end
  end)

  it("says why its cost is not predicted", function()
    support.fails("the start of a loop depends on data", nil, function() nw.schedule(sparse()):cost() end)
  end)
end)

describe("rows of different lengths", function()
  local function ragged()
    local L, X = nw.placeholder({5}, "u8", "L"), nw.placeholder({5, 16}, "f32", "X")
    return nw.compute({5}, function(b)
      local t = nw.reduce_axis(L(b), {name = "t", within = 16})
      return nw.sum(X(b, t), t)
    end, "S")
  end

  it("are summed", function()
    local lengths = nw.zeros({5}, "u8")
    for n, v in ipairs {0, 16, 3, 200, 9} do lengths:setflat(n, v) end
    for _, how in ipairs {function() end, function(s) s:parallel "b" end, function(s) in_lanes(s, "S", "t") end} do
      local S = ragged()
      local s = nw.schedule(S)
      how(s)
      support.agree(s, {S}, {lengths, numbers {5, 16}})
    end
  end)

  it("are the bounds of a loop in C", function()
    assert.truthy(tostring(nw.schedule(ragged()):show "c"):find "for %(.-L%[")
  end)
end)

describe("a wrong range", function()
  local A = nw.placeholder({N, N}, "f32", "A")
  local function over(make)
    return function()
      nw.compute({N}, function(i)
        local k = make(i)
        return nw.sum(A(i, k), k)
      end, "Y")
    end
  end

  it("is refused with a sentence", function()
    local P = nw.placeholder({N}, "i32", "P")
    support.fails("the range of k may begin below 0: i %- 2.*within = N", "invalid",
      over(function(i) return nw.reduce_axis({i - 2, i + 1}) end))
    support.fails("the range of k has no known end: i64%(P", "invalid", over(function(i) return nw.reduce_axis(P(i)) end))
    support.fails("reads index 13 of dimension 1", "range", over(function(i) return nw.reduce_axis(i + 2) end))
    support.fails("the end of k is of type f32", "type", over(function(i) return nw.reduce_axis({0, A(i, i)}, {within = N}) end))
    support.fails("expected {begin, end}, got 3 entries", "invalid", over(function() return nw.reduce_axis {1, 2, 3} end))
    support.fails("it belongs to another compute", "invalid", function()
      local outer
      nw.compute({N}, function(i)
        outer = i
        return A(i, i)
      end, "X")
      over(function() return nw.reduce_axis({0, outer}, {within = N}) end)()
    end)
    support.fails("the range of k uses l, which does not come before it", "invalid", function()
      nw.compute({N}, function(_)
        local l = nw.reduce_axis(N, "l")
        local k = nw.reduce_axis(l + 1, "k")
        return nw.sum(A(k, l), k, l)
      end, "Y")
    end)
  end)

  it("of a window is cut off at the ends with `within`", function()
    local Y = nw.compute({N}, function(i)
      local k = nw.reduce_axis({i - 2, i + 3}, {name = "k", within = N})
      return nw.sum(A(i, k), k)
    end, "Y")
    local s = nw.schedule(Y)
    assert.truthy(lowered(s):find("for k in max(i - 2, 0)..min(i + 3, 13):", 1, true), lowered(s))
    support.agree(s, {Y}, {numbers {N, N}})
  end)
end)
