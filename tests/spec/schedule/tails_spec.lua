--- Tests the tail of a split: the iterations that do not fill a whole block. Also tests how a tail becomes lanes of a vector.
local nw = require "nestwright"
local support = require "support"
local agrees, doubled, fails, gemm, names = support.agrees, support.doubled, support.fails, support.gemm, support.names
local replays, staged, untouched = support.replays, support.staged, support.untouched

describe("a split with tail = cut and a factor larger than the extent", function()
  it("makes only a tail; the other two loops have no iterations", function()
    local s = gemm(10)
    local j = s:loop "j"
    local o, i, tail = s:split("i", 100, {tail = "cut"})
    assert.same({"i_o", "i_i", "i.tail"}, {o.name, i.name, tail.name})
    assert.same({"i.tail", "i.tail/j", "i.tail/k"}, names(s:loops()))
    assert.equal("i has no full block of 100: all of it is the tail", s:notes())
    s:vectorize "i_i"
    assert.equal("i_i is empty: the step has no effect", s:notes())
    s:parallel(j)
    assert.equal("j is empty: the step has no effect", s:notes())
    fails("i was split into i.tail by step 1", "stale", function() s:split("i", 2) end)
    agrees(s)
    replays(s, function() return gemm(10) end)
  end)

  it("is possible in a tile, in one of several factors, and for unroll", function()
    for _, step in ipairs {'s:tile("i", "j", 8, 100, {tail = "cut"})', 's:tile("i", "j", 100, 8, {tail = "cut"})',
      's:split("j", {factors = {4, 4}, tail = "cut"})', 's:unroll("k", 16, {tail = "cut"})'} do
      local s = gemm(10)
      load("local s = ... " .. step)(s)
      assert.is_nil(tostring(s):find "in 0..0:", step)
      agrees(s)
      replays(s, function() return gemm(10) end)
    end
  end)

  it("replays a trace that names the main loop and the tail", function()
    local s = gemm(40)
    s:tile("i", "j", 16, 16, {tail = "cut"})
    s:vectorize "j_i"
    s:parallel "i.tail"
    s:split("k", 4)
    s:unroll "k_i"
    local t = gemm(10):replay(s:trace "json")
    agrees(t)
    assert.truthy(tostring(t):find "parallel for i.tail in 0..10:")
  end)
end)

local SIZES = {1, 7, 8, 9, 13, 16, 31}

describe("a split with tail = shift", function()
  it("begins the last tile earlier, without a guard", function()
    for _, n in ipairs(SIZES) do
      if n >= 8 then
        local s = doubled(n)
        local _, lanes = s:split("i", 8, {tail = "shift"})
        s:vectorize(lanes)
        assert.is_nil(tostring(s):find "if ")
        agrees(s)
      end
    end
    local s = doubled(13)
    s:split("i", 8, {tail = "shift"})
    assert.equal("8 does not divide 13: 3 of 16 iterations are done twice", s:notes())
  end)

  it("starts the reductions of the last tile from their init", function()
    local s = gemm(10, 13, 7)
    s:tile("i", "j", 4, 8, {tail = "shift"})
    s:reorder("k", "i_i", "j_i")
    s:vectorize "j_i"
    agrees(s)
    replays(s, function() return (gemm(10, 13, 7)) end)
    s = gemm(10, 13, 7)
    s:decompose_reduction("C", "j")
    s:split("i", 4, {tail = "shift"})
    agrees(s)
  end)

  it("is refused if a contribution would be added twice", function()
    local s = gemm(10, 13, 7)
    s:reorder("k", "i", "j")
    untouched(s, function()
      local err = fails("cannot split i", "refused", function() s:split("i", 4, {tail = "shift"}) end)
      assert.equal("reduction", err.refusal.kind)
    end)
    fails("cannot split k", "refused", function() s:split("k", 4, {tail = "shift"}) end)
    s = gemm(10, 13, 7)
    s:decompose_reduction("C", "i")
    fails("cannot split i", "refused", function() s:split(s:loops "C"[1], 4, {tail = "shift"}) end)
  end)

  it("requires a whole tile, guaranteed by a constant, a fact, or the condition of a version", function()
    local s = doubled(5)
    local err = support.refuses(s, "cannot split i", "refused", s.split, s, "i", 8, {tail = "shift"})
    assert.truthy(err.refusal.why:find "outside its domain")
    s = doubled(nw.size("N", {min = 0}))
    err = fails("cannot split i", "refused", function() s:split("i", 8, {tail = "shift"}) end)
    assert.equal('s:assume("8 <= N")', err.refusal.alternatives[1])
    assert.equal('s:specialize("8 <= N", "i")', err.refusal.alternatives[2])
    s:specialize("8 <= N", "i")
    s:split("then/i", 8, {tail = "shift"})
    s:vectorize "then/i_i"
    agrees(s)
    s = doubled(nw.size("N", {min = 0}))
    s:assume "N >= 8"
    s:split("i", 8, {tail = "shift"})
    agrees(s)
  end)

  it("runs in parallel if the last tile is cut off", function()
    local s = doubled(nw.size("N", {min = 8}))
    s:split("i", 8, {tail = "shift"})
    local err = fails("cannot run i_o in parallel", "refused", function() s:parallel "i_o" end)
    assert.equal("waw", err.refusal.kind)
    s:cut("i_o", "N // 8")
    s:parallel "i_o.head"
    agrees(s)
  end)
end)

describe("a split with tail = pad", function()
  it("computes a temporary beyond its end", function()
    for _, n in ipairs {1, 7, 8, 9, 13, nw.size("N", {min = 0})} do
      local function make() return (staged(n)) end
      local s = make()
      local _, lanes = s:split("i", 8, {tail = "pad"})
      s:vectorize(lanes)
      assert.is_nil(tostring(s:show "lowered"):find "if ")
      agrees(s)
    end
  end)

  it("enlarges the storage of a tile", function()
    local A = nw.placeholder({102}, "f32", "A")
    local X = nw.compute({102}, function(i) return nw.cast(i, "f32") * 2 end, "X")
    local Y = nw.compute({100}, function(i) return X(i) + X(i + 2) + A(i) end, "Y")
    local s = nw.schedule(Y)
    s:split("i_1", 32)
    s:compute_at(X, "i_1_o")
    local _, lanes = s:split("i", 8, {tail = "pad"})
    s:set_scope(X, "local")
    s:vectorize(lanes)
    assert.truthy(tostring(s):find "alloc X%[40%]")
    agrees(s)
  end)

  it("repeats the last element in a copy, and computes a reduction of the copy beyond its end", function()
    for _, n in ipairs {1, 7, 8, 9, 13, nw.size("N", {min = 0})} do
      local A, B = nw.placeholder({n, 6}, "f32", "A"), nw.placeholder({6, 4}, "f32", "B")
      local k = nw.reduce_axis(6, "k")
      local C = nw.compute({n, 4}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
      for _, copied in ipairs {true, false} do
        local s = nw.schedule(C)
        local stage = s:cache_write(C, "global")
        local rows = s:loops(stage)[1]
        local copy = s:cache_read(A, "global", {stage})
        s:split(s:loops(copy)[1], 8, {tail = "pad"})
        s:split(rows, 8, {tail = "pad"})
        if not copied then s:compute_inline(copy) end
        if n ~= 8 and n ~= 1 then assert.truthy(tostring(s):find("A%[min%("), tostring(s)) end
        agrees(s)
      end
    end
  end)

  it("is refused for outputs, reductions, and reads of elements that do not exist", function()
    local s = gemm(10, 13, 7)
    untouched(s, function()
      fails("C is an output", "refused", function() s:split("i", 4, {tail = "pad"}) end)
      fails("not a loop over the elements of C", "refused", function() s:split("k", 4, {tail = "pad"}) end)
    end)
    s:split("i", 5, {tail = "pad"})
    assert.truthy(s:notes():find "divides evenly")
    local A = nw.placeholder({13}, "f32", "A")
    local X = nw.compute({13}, function(i) return A(i) * 2 end, "X")
    s = nw.schedule(nw.compute({13}, function(i) return X(i) + 1 end, "Y"))
    local err = fails("cannot split i", "refused", function() s:split("i", 8, {tail = "pad"}) end)
    assert.equal("bounds", err.refusal.kind)
  end)
end)

describe("a split with tail = predicate", function()
  it("makes the inner loop a vector with a mask", function()
    for _, n in ipairs(SIZES) do
      local s = doubled(n)
      s:split("i", 8, {tail = "predicate"})
      assert.truthy(tostring(s):find "vectorize for i_i in 0..8")
      local text = tostring(s:show "lowered")
      local masked = {[0] = false, false, false, true, false} -- with 5, 6 or 7 lanes left, it depends on the machine
      if n > 1 then assert.truthy(text:find "ramp") end
      assert.is_nil(text:find "for i_i")
      if masked[n % 8] ~= nil then assert.are.equal(masked[n % 8], text:find "; " ~= nil) end
      agrees(s)
    end
  end)

  it("is refused if there are no vectors", function()
    local s = gemm(16, 16, 13)
    untouched(s, function()
      fails("cannot split k", "refused", function() s:split("k", 8, {tail = "predicate"}) end)
      fails("it runs 512 times", "refused", function() s:split("i", 512, {tail = "predicate"}) end)
    end)
    s:vectorize "j"
    fails("it holds j, which is marked vectorize", "refused", function() s:split("i", 8, {tail = "predicate"}) end)
    fails("tail cannot be 'mask'", "invalid", function() s:split("i", 8, {tail = "mask"}) end)
  end)

  it("masks the innermost dimension of a tile", function()
    local s = gemm(13, 11, 5)
    s:tile("i", "j", 4, 8, {tail = "predicate"})
    s:reorder("k", "j_i")
    agrees(s)
  end)
end)

-- If a loop cannot be vectorized, the step must be refused, not ignored. A vectorized loop runs as vectors with every kind of tail.
describe("a vector loop with a tail", function()
  local function vector_code(s)
    local lowered, llvm = tostring(s:show "lowered"), tostring(s:show "llvm")
    assert.truthy(lowered:find "ramp", lowered)
    assert.truthy(llvm:find "<8 x float>", llvm)
    return lowered
  end

  it("runs as vectors with every tail", function()
    for _, tail in ipairs {"guard", "cut", "shift", "pad", "predicate"} do
      local s = staged(45)
      s:split("i", 8, {tail = tail})
      if tail ~= "predicate" then s:vectorize "i_i" end
      if tail == "cut" then s:vectorize "i.tail" end
      local text = vector_code(s)
      assert.is_nil(text:find "for i_i")
      agrees(s)
    end
  end)

  it("runs as vectors if the guard is inside it or outside, or comes from two splits", function()
    local s = doubled(45)
    s:split("i", 8)
    s:reorder("i_i", "i_o") -- lanes are far apart, so the guard depends on the outer loop
    s:vectorize "i_i"
    vector_code(s)
    agrees(s)
    s = gemm(13, 13, 5)
    s:tile("i", "j", 8, 8)
    s:vectorize "i_i" -- a vector loop around another guarded loop
    vector_code(s)
    agrees(s)
    s = doubled(45)
    local _, i_i = s:split("i", 16)
    local _, lanes = s:split(i_i, 6)
    s:vectorize(lanes)
    local text = tostring(s:show "lowered")
    assert.truthy(text:find "ramp")
    agrees(s)
  end)

  it("is refused if its extent is not constant", function()
    local s = doubled(nw.size "N")
    s:cut("i", 8)
    fails("its extent is not constant", "refused", function() s:vectorize "i.rest" end)
    fails("its extent is not constant", "refused", function() s:vectorize "i.head" end)
    s:undo()
    s:assume "N >= 8"
    s:cut("i", 8)
    s:vectorize "i.head"
    vector_code(s)
    agrees(s)
  end)
end)

describe("a step that is illegal only for small sizes", function()
  local function convolution(taps, before)
    local N = nw.size "N"
    local I, F = nw.placeholder({N}, "f32", "I"), nw.placeholder({taps}, "f32", "F")
    local r = nw.reduce_axis(taps, "r")
    local s = nw.schedule(nw.compute({N}, function(x)
      local inside = nw.all(nw.ge(x + r, before), nw.lt(x + r, N + before))
      return nw.sum(nw.select(inside, I(x + r - before), 0) * F(r), r)
    end, "Y"))
    s:partition "x"
    return s
  end

  local function ways(s, ...)
    local ok, err = pcall(s.split, s, ...)
    assert.is_false(ok)
    return err.refusal.alternatives
  end

  it("is refused with the least size from which it is legal", function()
    local s = convolution(5, 2)
    local offered = ways(s, "x.main", 8, {tail = "cut"})
    assert.same({'s:split("x.main", 8)', 's:assume("4 <= N")', 's:specialize("4 <= N", "x.main")'}, offered)
    for n = 2, 3 do
      local fresh = convolution(5, 2)
      load("local s = ... " .. offered[n])(fresh)
      fresh:split(n == 2 and "x.main" or "then/x.main", 8, {tail = "cut"})
      agrees(fresh)
    end
    s:assume "N >= 3"
    assert.same('s:assume("4 <= N")', ways(s, "x.main", 8, {tail = "cut"})[2])
  end)

  it("is refused without a size if it is legal for no size", function()
    local N = nw.size "N"
    local A = nw.placeholder({N}, "f32", "A")
    local k = nw.reduce_axis(N, "k")
    local s = nw.schedule(nw.compute({1}, function(_) return nw.sum(A(k), k) end, "S"))
    local ok, err = pcall(s.parallel, s, "k")
    assert.is_false(ok)
    for _, way in ipairs(err.refusal.alternatives) do assert.is_nil(way:find "assume", way) end
  end)
end)
