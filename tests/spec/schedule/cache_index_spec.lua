--- Tests cache_index: divisions in indices are computed in a stage of their own, which is then read.
local nw = require "nestwright"
local support = require "support"

-- Returns the schedule of a stage that repeats each element of A three times.
local function repeated(n)
  local A = nw.placeholder({12}, "f32", "A")
  local C = nw.compute({n or 36}, function(i) return A(i // 3) * 2 end, "C")
  return nw.schedule(C), C, A
end

-- Returns the schedule of a stage that writes the rows of A behind each other.
local function flat(m, n)
  local A = nw.placeholder({m, n}, "f32", "A")
  local C = nw.compute({m * n}, function(p) return A(p // n, p % n) + A(p // n, 0) end, "C")
  return nw.schedule(C), C, A
end

local function has(s, text)
  local whole = tostring(s)
  assert.truthy(whole:find(text, 1, true), whole)
end

local function right(s)
  assert(s:check())
  assert(s:reparses())
end

describe("cache_index", function()
  it("computes an index once, and reads it", function()
    local s = repeated()
    local stage = s:cache_index "C"
    assert.equal("C_index", stage.name)
    has(s, "for i_1 in 0..36:\n  C_index[i_1] = i_1 // 3\nfor i in 0..36:\n  C[i] = A[C_index[i]]*2.0")
    has(s:text(), "C[i] = A[known(i // 3, C_index[i])]*2.0")
    assert.truthy(tostring(s:show "lowered"):find("C[i] = A[C_index[i]]*2.0", 1, true))
    right(s)
  end)

  it("makes a stage for each different division", function()
    local s = flat(6, 10)
    local row, column, more = s:cache_index "C"
    assert.equal("C_index", row.name)
    assert.equal("C_index_1", column.name)
    assert.is_nil(more)
    has(s, "C[p] = A[C_index[p], C_index_1[p]] + A[C_index[p], 0]")
    right(s)
  end)

  it("takes a loop, a memory and a name", function()
    local s = repeated()
    s:split("i", 6)
    s:cache_index("C", {at = "i_o", scope = "local", name = "third"})
    has(s, "alloc third[6] local\n  for i in 0..6:\n    third[6*i_o + i] = 2*i_o + i // 3")
    right(s)
    local t = flat(6, 10)
    support.fails("C has 2 divisions, and a name is for one", "invalid", t.cache_index, t, "C", {name = "index"})
  end)

  it("keeps what is known about the index", function()
    local s = repeated(34) -- the last element is 11: all reads are inside A
    s:cache_index "C"
    local _, lane = s:split("i", 8)
    s:vectorize(lane)
    right(s)
    local M = nw.size "M"
    local A = nw.placeholder({M}, "i32", "A")
    local t = nw.schedule(nw.compute({4 * M}, function(i) return A(i // 4) end, "Y"))
    t:cache_index "Y"
    t:parallel(t:loops("Y")[1])
    right(t)
  end)

  it("makes stages that later steps change", function()
    local s = flat(6, 10)
    local row, column = s:cache_index "C"
    s:set_dtype(row, "i32")
    s:set_dtype(column, "i8")
    right(s)
    s:compute_at(column, s:loops("C")[1])
    s:unroll(s:loops(column)[2])
    right(s)
    s:cache_read(row, "local", {"C"})
    right(s)
    s:compute_inline(column)
    has(s, "p % 10")
    right(s)
  end)

  it("makes integers that are never rounded", function()
    local M, N = nw.size "M", nw.size "N"
    local S = nw.placeholder({M, N}, "i32", "S")
    local s = nw.schedule(nw.compute({M * N}, function(p) return S(p // N, p % N) * 2 end, "D"))
    local row = s:cache_index "D"
    s:assume "M <= 10000"
    s:set_dtype(row, "i32")
    assert.is_nil(s:notes():find("rounding", 1, true))
    assert.is_false(s:rounds())
  end)

  it("works for reductions", function()
    local A, W, r = nw.placeholder({9}, "i32", "A"), nw.placeholder({4}, "i32", "W"), nw.reduce_axis(4, "r")
    local C = nw.compute({14}, function(i) return nw.sum(A((i + r) // 2) * W(r), r) end, "C")
    local s = nw.schedule(C)
    s:cache_index(C)
    has(s, "C_index[i_1, r_1] = (i_1 + r_1) // 2")
    s:split("r", 2)
    s:rfactor(C, "r_o")
    right(s)
  end)

  -- Fault: the text of an index of an index did not parse back.
  it("takes an index of an index after a stage was inlined", function()
    local X = nw.placeholder({8}, "f32", "X")
    local Y = nw.compute({60}, function(j) return X(j // 8) * 2 end, "Y")
    local Z = nw.compute({180}, function(j) return Y(j // 3) + 1 end, "Z")
    local s = nw.schedule(Z)
    s:cache_index "Y"
    s:cache_index "Z"
    s:compute_inline "Y"
    has(s, "X[Y_index[Z_index[j_1]]]")
    has(s:text(), "X[known(known(j // 3, Z_index[j]) // 8, Y_index[known(j // 3, Z_index[j])])]")
    right(s)
    s:compute_inline "Y_index"
    has(s, "X[Z_index[j_1] // 8]")
    right(s)
  end)

  -- Fault: the text did not parse back.
  it("takes an index that depends on data after a stage was inlined", function()
    local X, D = nw.placeholder({8}, "f32", "X"), nw.placeholder({20}, "i64", "D")
    local Y = nw.compute({60}, function(j) return X(j // 8) * 2 end, "Y")
    local Z = nw.compute({20}, function(i) return Y(nw.minimum(nw.maximum(D(i), 0), 59)) + 1 end, "Z")
    local s = nw.schedule(Z)
    s:cache_index "Y"
    s:compute_inline "Y"
    right(s)
  end)

  it("needs a proof to rewrite the numbers", function()
    local s = flat(300, 100)
    local row = s:cache_index "C"
    s:set_dtype(row, "i32")
    support.fails("the forms are only tested to be equal", "refused", s.rewrite, s, row, "x", "select(x < 299, x, x + x - 299)")
    right(s)
  end)

  it("gives traces that replay", function()
    local s, C = flat(6, 10)
    s:cache_index "C"
    s:split("p", 7)
    local other = nw.schedule(C)
    other:replay(s:trace "json")
    assert.equal(s:text(), other:text())
  end)

  it("does not let the reader run before its index is computed", function()
    local s = repeated()
    s:cache_index "C"
    support.fails("cannot reorder i_1 and i", "refused", s.reorder_stmts, s, "i_1", "i")
  end)

  it("is refused if there is no division, or the loop is not around the stage", function()
    local s = support.gemm(8)
    support.fails("no index of C has a division", "refused", s.cache_index, s, "C")
    local A = nw.placeholder({8}, "f32", "A")
    local X = nw.compute({16}, function(i) return A(i // 2) end, "X")
    local t = nw.schedule(nw.compute({16}, function(i) return X(i) + 1 end, "Y"))
    support.fails("X is not inside i_1", "refused", t.cache_index, t, "X", {at = "i_1"})
    t:cache_index "X"
    support.fails("no index of X has a division", "refused", t.cache_index, t, "X")
  end)
end)
