--- Where stages are computed: positions, consumers moved to what they read.
local nw = require "nestwright"
local support = require "support"
local computes, refuses = support.computes, support.refuses

-- A -> P -> Q, both read by R.
local function diamond()
  local A = nw.placeholder({12, 8}, "i32", "A")
  local P = nw.compute({12, 8}, function(i, j) return A(i, j) + 1 end, "P")
  local Q = nw.compute({12, 8}, function(i, j) return A(i, j) * 2 end, "Q")
  local R = nw.compute({12, 8}, function(i, j) return P(i, j) + Q(i, j) end, "R")
  return nw.schedule(R), P, Q, R
end

local function order(s)
  local out = {}
  for n, stage in ipairs(s:stages()) do out[n] = stage.name end
  return table.concat(out, " ")
end

describe("compute_at takes a position", function()
  it("among the statements of the loop", function()
    local s, P, Q, R = diamond()
    local i = s:loops(R)[1]
    s:compute_at(Q, i)
    s:compute_at(P, i)
    assert.equal("Q P R", order(s))
    s:compute_at(P, i, {index = 1})
    assert.equal("P Q R", order(s))
    s:compute_at(P, i, {index = 2})
    assert.equal("Q P R", order(s))
    s:compute_at(P, i, {index = -2})
    assert.equal("P Q R", order(s))
    s:compute_at(P, i, {index = -1})
    assert.equal("Q P R", order(s))
    assert.truthy(s:trace():find('s:compute_at("P", "i_2", {index = -1})', 1, true), s:trace())
    computes(s, {R})
  end)

  it("behind what it reads at the earliest", function()
    local A = nw.placeholder({12}, "i32", "A")
    local P = nw.compute({12}, function(i) return A(i) + 1 end, "P")
    local Q = nw.compute({12}, function(i) return P(i) * 2 end, "Q")
    local R = nw.compute({12}, function(i) return Q(i) + P(i) end, "R")
    local s = nw.schedule(R)
    local i = s:loops(R)[1]
    s:compute_at(Q, i)
    s:compute_at(P, i)
    s:compute_at(Q, i, {index = -2})
    assert.equal("P Q R", order(s))
    computes(s, {R})
    local err = refuses(s, "cannot compute Q", "refused", s.compute_at, s, Q, i, {index = 1})
    assert.equal("raw", err.refusal.kind)
    assert.equal("P[0] is read at (i_2=0, i_1=0), before it is written at (i_2=0, i=0)", err.refusal.why)
  end)

  it("and not behind what reads it", function()
    local s, P, Q, R = diamond()
    local i = s:loops(R)[1]
    s:compute_at(Q, i)
    local err = refuses(s, "cannot compute P", "refused", s.compute_at, s, P, i, {index = 3})
    assert.equal("raw", err.refusal.kind)
    assert.equal("P", err.refusal.tensor)
    for _, step in ipairs(err.refusal.alternatives) do
      assert(load("local s = ... " .. step))(s)
      s:undo()
    end
  end)

  it("that exists", function()
    local s, P, _, R = diamond()
    local i = s:loops(R)[1]
    for _, index in ipairs {0, 3, -3, 1 << 40, math.mininteger} do
      refuses(s, "index must be 1 to 2, %-1 or %-2", "range", s.compute_at, s, P, i, {index = index})
    end
    refuses(s, "index: expected a whole number", "invalid", s.compute_at, s, P, i, {index = "first"})
    refuses(s, "another schedule", "invalid", s.compute_at, s, P, (diamond()):loops()[1], {index = 1})
  end)
end)

-- A, P = A + 1, Q = 2P, R = Q of three rows.
local function chain()
  local A = nw.placeholder({10, 6}, "i32", "A")
  local P = nw.compute({10, 6}, function(i, j) return A(i, j) + 1 end, "P")
  local Q = nw.compute({10, 6}, function(i, j) return P(i, j) * 2 end, "Q")
  local R = nw.compute({8, 6}, function(i, j) return Q(i, j) + Q(i + 1, j) * 3 + Q(i + 2, j) end, "R")
  return nw.schedule(R), P, Q, R
end

describe("reverse_compute_at", function()
  it("computes what a round has made ready", function()
    local s, P, Q, R = chain()
    local i_o = s:split(s:loops(P)[1], 4)
    s:reverse_compute_at(Q, i_o)
    computes(s, {R})
    s:reverse_compute_at(R, i_o)
    assert.truthy(tostring(s):find("if 0 <= 4*i_o + i_2 - 2", 1, true), tostring(s))
    assert.equal("P Q R", order(s))
    computes(s, {R})
    s:split(s:loops(R)[2], {factor = 2, tail = "cut"})
    computes(s, {R})
  end)

  it("takes a position, behind what it reads", function()
    local s, P, Q, R = chain()
    local i = s:loops(P)[1]
    s:reverse_compute_at(Q, i, {index = 2})
    s:undo()
    s:reverse_compute_at(Q, i, {index = -1})
    computes(s, {R})
    s:undo()
    local err = refuses(s, "cannot compute Q at i", "refused", s.reverse_compute_at, s, Q, i, {index = 1})
    assert.equal("raw", err.refusal.kind)
    refuses(s, "index must be 1 to 2, %-1 or %-2, not 3", "range", s.reverse_compute_at, s, Q, i, {index = 3})
  end)

  it("moves what an output needs, and outputs", function()
    local s, C = support.gemm(16)
    s:cache_write(C, "global")
    local i_o = s:split(s:loops "C_global"[1], 4)
    s:reverse_compute_at(C, i_o)
    assert.equal(i_o.name, s:loops(C)[1].name)
    computes(s, {C})
    local t, P, Q, R = chain()
    t:reverse_compute_at(Q, t:loops(P)[2])
    computes(t, {R})
    t:compute_inline(P)
    computes(t, {R})
  end)

  it("is refused where rows are not there yet", function()
    local s, P, Q, R = chain()
    s:parallel(s:loops(Q)[1])
    local err = refuses(s, "cannot compute R at i_1", "refused", s.reverse_compute_at, s, R, s:loops(Q)[1])
    assert.equal("raw", err.refusal.kind)
    refuses(s, "that is a loop of R itself", "refused", s.reverse_compute_at, s, R, s:loops(R)[1])
    refuses(s, "nothing in i is read by R", "refused", s.reverse_compute_at, s, R, s:loops(P)[1])
    refuses(s, "no loop \"q\"", nil, s.reverse_compute_at, s, R, "q")
    refuses(s, "another schedule", "invalid", s.reverse_compute_at, s, R, (chain()):loops()[1])
    refuses(s, "no stage \"W\"", nil, s.reverse_compute_at, s, "W", s:loops(P)[1])
  end)
end)

describe("reverse_compute_inline", function()
  it("makes a stage part of the one it reads, in that one's loops", function()
    local s, P, Q, R = chain()
    s:tile(s:loops(P)[1], s:loops(P)[2], 4, 3)
    s:reverse_compute_inline(Q)
    assert.equal("Q R", order(s))
    assert.equal(4, #s:loops(Q))
    computes(s, {R})
  end)

  it("stores a sum where its copy was", function()
    local s, C = support.gemm(8)
    s:cache_write(C, "global")
    assert.equal(2, #s:stages())
    s:reverse_compute_inline(C)
    assert.equal("C", order(s))
    assert.equal(3, #s:loops(C))
    computes(s, {C})
  end)

  it("keeps to the elements that the stage has", function()
    local A = nw.placeholder({9, 5}, "i32", "A")
    local P = nw.compute({9, 5}, function(i, j) return A(i, j) + 1 end, "P")
    local R = nw.compute({5, 7}, function(j, i) return P(i, j) * 3 end, "R")
    local s = nw.schedule(R)
    s:reverse_compute_inline(R)
    computes(s, {R})
    assert.truthy(tostring(s):find "if i < 7")
  end)

  it("says what keeps a stage apart", function()
    local s, P, _, R = chain()
    refuses(s, "R reads Q at several places", "refused", s.reverse_compute_inline, s, R)
    refuses(s, "it reads no stage", "refused", s.reverse_compute_inline, s, P)
    refuses(s, "no stage \"W\"", nil, s.reverse_compute_inline, s, "W")
    refuses(s, "reverse_compute_inline needs stage", "invalid", s.reverse_compute_inline, s)
    local A = nw.placeholder({6, 6}, "f16", "A")
    local k = nw.reduce_axis(6, "k")
    local S = nw.compute({6}, function(i) return nw.sum(A(i, k), k) end, "S")
    local T = nw.compute({6}, function(i) return S(i) + 1 end, "T")
    local U = nw.compute({6}, function(i) return T(i) * S(i) end, "U")
    local V = nw.compute({6}, function(i) return T(i) * T(i) end, "V")
    local t = nw.schedule {U, V}
    refuses(t, "U reads two stages", "refused", t.reverse_compute_inline, t, U)
    refuses(t, "U reads S too", "refused", t.reverse_compute_inline, t, T)
    refuses(t, "it is a reduction", "refused", t.reverse_compute_inline, t, S)
    refuses(t, "U reads T too", "refused", t.reverse_compute_inline, t, V)
  end)
end)

describe("loops bounded by a reduction's", function()
  local function skewed()
    local A = nw.placeholder({17}, "i32", "A")
    local k = nw.reduce_axis(17, "k")
    local X = nw.compute({}, function() return nw.sum(A(k), k) end, "X")
    local s = nw.schedule(X)
    local u = s:add_unit_loop(X)
    s:skew(u, "k", -1)
    return s, X
  end

  it("cannot stay where the reduction's go", function()
    local s, X = skewed()
    refuses(s, "the bounds of u depend on one", "refused", s.cache_write, s, X, "global")
    refuses(s, "the bounds of u depend on one", "refused", s.decompose_reduction, s, X, "k")
  end)
end)

describe("a mark that fresh loops do not have", function()
  it("is told of", function()
    local s, Y, X = support.two_stages(8, 8)
    s:vectorize(s:loops(X)[2])
    s:compute_at(X, s:loops(Y)[1])
    assert.truthy(s:notes():find "j was marked vectorize; the fresh loops are not", s:notes())
  end)
end)
