--- Tests nw.te, the names of TVM's tensor expressions, and the operation of a stage, s[C].op.
local nw = require "nestwright"
local support = require "support"
local fails = support.fails

local te = nw.te

local function names(...) return support.names {...} end

describe("nw.te", function()
  it("takes TVM's dtypes, and a size in place of a variable", function()
    local n = te.var "n"
    assert.equal("M", tostring(te.size_var "M"))
    local A = te.placeholder({n, 8}, {dtype = "float64", name = "A"})
    assert.equal("f64", A.dtype)
    assert.equal("A", A.name)
    assert.equal("u8", te.placeholder({4}, "uint8").dtype)
    assert.equal("i16", te.placeholder({4}, "i16").dtype)
    assert.equal("f32", te.placeholder({4}).dtype)
    fails("there is no dtype 'float33'", "invalid", te.placeholder, {4}, "float33")
    assert.equal("i8", te.const(3, "int8").dtype)
    assert.equal("i32", te.const(3).dtype)
    assert.equal("f32", te.const(3, "float32").dtype)
  end)

  it("gives a placeholder the strides of the caller's array", function()
    local ld = te.var "ld"
    for _, A in ipairs {te.placeholder({4, 6}, {dtype = "float64", name = "A", strides = {ld, 1}}),
      te.placeholder({4, 6}, "float64", {name = "A", strides = {ld, 1}})} do
      local C = te.compute({4, 6}, function(i, j) return A(i, j) * 2 end, "C")
      local s = te.create_schedule(C)
      assert.truthy(s:text():find("input A: f64[4, 6] strides [ld, 1]", 1, true))
      local all = nw.random({4, 10}, "f64")
      local c = s:build {threads = 1}(all:slice({}, {2, 8}))
      assert.equal(2 * all:get(3, 7), c:get(3, 5))
    end
    fails("2 dimensions, but 1 strides", "invalid", te.placeholder, {4, 6}, {strides = {6}})
    fails("did you mean 'strides'", "invalid", te.placeholder, {4, 6}, {stride = {6, 1}})
  end)

  it("takes the axes of a reduction as an option", function()
    local A = te.placeholder({8, 4}, "float32", "A")
    for _, axis in ipairs {"one", "option", "list"} do
      local k = te.reduce_axis({0, 4}, "k")
      local given = ({one = k, option = {axis = k}, list = {axis = {k}}})[axis]
      local S = te.compute({8}, function(i) return te.sum(A(i, k), given) end, {name = "S"})
      support.computes(nw.schedule(S), {S})
    end
    local k = te.reduce_axis(4, "k")
    fails("did you mean 'axis'", "invalid", te.sum, A(0, k), {axes = k})
  end)

  it("has the other names of nw", function()
    assert.equal(nw.compute, te.compute)
    assert.equal(nw.exp, te.exp)
    local A = te.placeholder({8}, "float32", "A")
    local B = te.compute({8}, function(i)
      local other = te.floormod(i, 3) + te.indexmod(i, 2) - te.indexdiv(i, 4)
      return te.if_then_else(te.lt(i, te.floordiv(7, 2)), te.power(A(i), 2), other)
    end, "B")
    support.computes(te.create_schedule(B), {B})
    assert.equal("threadIdx.x", te.thread_axis "threadIdx.x")
  end)
end)

describe("the operation of a stage", function()
  it("has the loops that the stage had before any step", function()
    local s, C = support.gemm(16)
    assert.same({"i", "j"}, support.names(s[C].op.axis))
    assert.same({"k"}, support.names(s[C].op.reduce_axis))
    assert.equal("C", s[C].op.name)
    local x_o, x_i = s[C]:split(s[C].op.axis[1], {factor = 4})
    s[C]:reorder(x_o, s[C].op.reduce_axis[1], x_i, s[C].op.axis[2])
    assert.same({"i_o", "k", "i_i", "j"}, support.names(s:loops()))
    fails("i was split into i_o, i_i by step 1", "stale", function() s[C]:unroll(s[C].op.axis[1]) end)
    assert.equal("j", s[C].op.axis[2].name)
    assert.is_nil(s[C].op.axis[3])
    fails("Lua counts from 1: write `op.axis%[1%]`", "range", function() return s[C].op.axis[0] end)
  end)

  it("has the new loop if a step has replaced a loop by one", function()
    local A = nw.placeholder({8}, "f32", "A")
    local P = nw.compute({8}, function(i) return A(i) + 1 end, "P")
    local Q = nw.compute({8}, function(i) return A(i) * 2 end, "Q")
    local s = nw.schedule(P, Q)
    s:merge(s[P].op.axis[1], s[Q].op.axis[1])
    assert.same({"i"}, support.names(s[Q].op.axis))
    assert.same({"i"}, names(s[Q]:axes()))
  end)
end)

describe("the own loops of a stage", function()
  it("are all loops around it before any step", function()
    local s, C = support.gemm(16)
    assert.same({"i", "j", "k"}, names(s[C]:axes()))
  end)

  it("leave out the loops of a stage in which it is computed", function()
    local s, Y, P = support.two_stages(16, 16)
    s:split(s[Y].op.axis[1], 4)
    s:compute_at(P, (s[Y]:axes()))
    assert.equal(3, #s[P]:loops())
    assert.equal(2, select("#", s[P]:axes()))
    assert.same({"i_1_o", "i_1_i", "j_1"}, names(s[Y]:axes()))
    local i = s[P]:axes()
    s:split(i, 2)
    assert.equal(3, select("#", s[P]:axes()))
    s:compute_root(P)
    assert.equal(#s[P]:loops(), select("#", s[P]:axes()))
  end)

  it("leave out those of the reader of a copy, and of a stage that is computed after its source", function()
    local s, C = support.gemm(16)
    s:tile("i", "j", 4, 4)
    local copy = s:cache_write(C, "local", {at = "j_o"})
    assert.equal(3, select("#", s[copy]:axes()))
    assert.same({"i_o", "j_o", "i_i", "j_i"}, names(s[C]:axes()))
    local t, Y, P = support.two_stages(16, 16)
    local at = t[P]:axes()
    t:reverse_compute_at(Y, at)
    assert.same({"i", "j"}, names(t[P]:axes()))
    assert.equal(#t[Y]:loops() - 1, select("#", t[Y]:axes()))
  end)

  it("are those of the partial results that rfactor makes", function()
    local s = support.gemm(16)
    local R = s:rfactor("C", (s:split("k", 4)))
    assert.equal(#s[R]:loops(), select("#", s[R]:axes()))
    assert.is_true(#s[R]:loops() > 2)
  end)

  it("are those of the pieces of a stage, too", function()
    local s = support.doubled(20)
    s:cut("i", {16})
    for _, stage in ipairs(s:stages()) do assert.equal(1, select("#", stage:axes())) end
    assert.equal(2, #s:stages())
  end)

  it("are those outside a unit", function()
    local s, C = support.gemm(16)
    s:split("i", 4)
    local unit = s:blockize "i_i"
    assert.same({"i_o"}, names(unit:axes()))
    assert.same({"i_o", "i_i", "j", "k"}, names(s[C]:axes()))
  end)
end)
