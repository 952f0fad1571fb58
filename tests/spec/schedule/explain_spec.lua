--- Tests s:explain() after a refusal. The interpreter must show the conflict, and the numbers must be right.
local nw = require "nestwright"
local support = require "support"

local function gemm(n, dtype)
  local A, B = nw.placeholder({n, n}, dtype or "f32", "A"), nw.placeholder({n, n}, dtype or "f32", "B")
  local k = nw.reduce_axis(n, "k")
  local C = nw.compute({n, n}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
  return nw.schedule(C), C
end

-- Makes S[t, x] = S[t-1, x-1] + S[t-1, x+1]. At an edge, S[t-1, x] is read in place of the missing neighbour.
local function heat(steps, width)
  local A = nw.placeholder({1, width}, "i32", "A")
  local state = nw.scan_state({steps, width}, "i32", "state")
  local first = nw.compute({1, width}, function(t, x) return A(t, x) end, "first")
  local update = nw.compute({steps, width}, function(t, x)
    return state(t - 1, nw.max(x - 1, 0)) + state(t - 1, nw.min(x + 1, width - 1))
  end, "update")
  return nw.schedule(nw.scan(first, update, state, "S"))
end

local function stages()
  local A = nw.placeholder({16}, "i32", "A")
  local X = nw.compute({16}, function(i) return A(i) * 2 end, "X")
  local Y = nw.compute({14}, function(i) return X(i) + X(i + 2) end, "Y")
  return nw.schedule(Y), X, Y
end

local function refuse(s, name, ...)
  local ok, err = pcall(s[name], s, ...)
  assert.is_false(ok)
  return err, s:explain()
end

describe("s:explain()", function()
  it("shows the update that two threads lose", function()
    local s = gemm(4)
    local err, lesson = refuse(s, "parallel", "k")
    assert.equal("reduction", err.refusal.kind)
    assert.is_true(lesson.seen)
    assert.equal("iterations", lesson.how)
    local should, is = lesson:match "after these two C%[0, 0%] should be (%d+), is (%d+)"
    assert.is_true(tonumber(should) > tonumber(is))
    -- Both iterations read before one of them writes.
    local order = {}
    for word in lesson:gmatch "\n +(%l+) C%[0, 0%] =" do order[#order + 1] = word end
    assert.same({"reads", "reads", "writes", "writes"}, order)
    local total, without = lesson:match "so C%[0, 0%] should be (%d+), is (%d+)"
    assert.equal(should - is, total - without) -- the final value lacks exactly the lost update
  end)

  -- An update of the first thread was taken for one that the second thread loses: "X[0, 0] should be 4, is 4".
  it("shows the value that an update reads too early, if the update is of another kind", function()
    local A = nw.placeholder({4, 4}, "u32", "A")
    local X = nw.compute({4, 4}, function(i, j) return A(i, j) end, "X")
    local U = nw.update(X, {4}, function(S, p)
      nw.update(S, {4}, function(T, j) return {p, j}, T(p, j) + A(j, p) end, "X")
      nw.update(S, {4}, function(T, j) return {j, 0}, nw.min(T(j, 0), T(p, j)) end, "X")
    end, "X")
    local s = nw.schedule(U)
    local _, lesson = refuse(s, "parallel", s:loops(U)[1])
    assert.is_true(lesson.seen)
    for should, is in lesson:gmatch "should be (%S+), is (%S+)" do assert.not_equal(should, is, tostring(lesson)) end
    local is, maybe = lesson:match "it is:.- reads X%[0, 0%] = (%d+).-it may be:.- reads X%[0, 0%] = (%d+)"
    assert.truthy(is and is ~= maybe, tostring(lesson))
  end)

  it("shows that threads race if each runs the init of a part without updates", function()
    local A, k = nw.placeholder({4}, "f32", "A"), nw.reduce_axis(4, "k")
    local s = nw.schedule(nw.compute({}, function() return nw.max(A(k), k) end, "X"))
    s:split("k", {parts = 32, tail = "cut"})
    local err, lesson = refuse(s, "parallel", "k_o")
    assert.equal("waw", err.refusal.kind)
    assert.is_true(lesson.seen)
    assert.truthy(lesson:find "it would be a race", tostring(lesson))
  end)

  -- The refusal named an order of two instances, one of which is not an instance of Y: "Y[0, 0] is read at (...), before it is
  -- written at (...)".
  it("shows the instance outside the domain that a shifted tail adds to a scan", function()
    local A = nw.placeholder({2, 5}, "i32", "A")
    local state = nw.scan_state({4, 5}, "i32", "state")
    local first = nw.compute({2, 5}, function(t, x) return A(t, x) end, "first")
    local inner = nw.compute({4, 5}, function(t, x) return state(t - 2, x) + 1 end, "inner")
    local update = nw.compute({4, 5}, function(t, x) return nw.max(inner(t, x), inner(t, nw.max(x - 1, 0))) end, "update")
    local s = nw.schedule(nw.scan(first, update, state, "Y"))
    s:fission("t_1", {after = "inner"})
    local loops = s:loops "Y"
    local err, lesson = refuse(s, "tile", loops[1], loops[2], 8, 32, {tail = "shift"})
    assert.truthy(tostring(err):find "Y would compute an element outside its domain", tostring(err))
    assert.is_true(lesson.seen, tostring(lesson))
    assert.equal("domain", lesson.how)
  end)

  it("uses the word lanes for vector loops", function()
    local _, lesson = refuse(gemm(4), "vectorize", "k")
    assert.truthy(lesson:find "lane k=0 +lane k=1")
  end)

  it("shows a race between threads of a grid too", function()
    local s = gemm(8)
    s:cut("k", 3)
    local err, lesson = refuse(s, "bind", "k.rest", "threadIdx.x")
    assert.equal("reduction", err.refusal.kind)
    assert.is_true(lesson.seen)
    assert.truthy(lesson:find "after these two")
  end)

  it("needs only the two iterations of a large nest", function()
    local s = gemm(2048)
    local _, lesson = refuse(s, "parallel", "k")
    assert.is_true(lesson.seen)
    assert.truthy(lesson:find "after these two")
  end)

  it("shows both orders of a recurrence, and the value that is wrong", function()
    local s = heat(4, 6)
    local _, lesson = refuse(s, "reorder", "x_1", "t_1")
    assert.equal("order", lesson.how)
    assert.truthy(lesson:find "it is: +S%(t=1, x=1%) writes S%[1, 1%] = %d+\n +S%(t=2, x=0%) reads S%[1, 1%] = %d+")
    assert.truthy(lesson:find "it would be: +S%(t=2, x=0%) reads S%[1, 1%], which is not written yet")
    local should, is = lesson:match "should be (%d+), is (%d+)"
    assert.truthy(should and should ~= is)
  end)

  it("runs the other thread first if the block is not a sum", function()
    local s = heat(4, 6)
    local _, lesson = refuse(s, "parallel", "t_1")
    assert.equal("iterations", lesson.how)
    assert.truthy(lesson:find "it may be: +S%(t=2")
  end)

  it("chooses an order in which the lost update changes the result", function()
    local I, W = nw.placeholder({10}, "f32", "I"), nw.placeholder({3}, "f32", "W")
    local P = nw.compute({10}, function(x) return nw.select(nw.all(nw.ge(x, 1), nw.lt(x, 9)), I(x - 1), 0) end, "P")
    local r = nw.reduce_axis(3, "r")
    local O = nw.compute({8}, function(x) return nw.sum(P(x + r) * W(r), r) end, "O")
    local s = nw.schedule(O)
    s:compute_inline(P)
    local _, lesson = refuse(s, "parallel", "r") -- the first update adds 0, so only the loss of the second update is visible
    assert.truthy(lesson:find "writes O%[0%] = 2\n  writes O%[0%] = 0\n  after these two O%[0%] should be 2, is 0")
  end)

  it("moves the iterations to the middle if the conflict has no effect at the border", function()
    local I = nw.placeholder({16}, "f32", "I")
    local P = nw.compute({20}, function(x) return nw.select(nw.all(nw.ge(x, 2), nw.lt(x, 18)), I(x - 2), 0) end, "P")
    local r = nw.reduce_axis(5, "r")
    local O = nw.compute({16}, function(x) return nw.sum(P(x + r), r) end, "O")
    local s = nw.schedule(O)
    s:compute_inline(P)
    local _, lesson = refuse(s, "parallel", "r")
    assert.truthy(lesson:find "reads O%[8%] = 0")
    assert.truthy(lesson:find "at O%[0%] the value is the same either way; at O%[8%] it is not:")
    local should, is = lesson:match "after these two O%[8%] should be (%d+), is (%d+)"
    assert.truthy(should and should ~= is)
  end)

  it("shows the element that a maximum loses", function()
    local A, k = nw.placeholder({8, 8}, "f32", "A"), nw.reduce_axis(8, "k")
    local s = nw.schedule(nw.compute({8}, function(i) return nw.max(A(i, k), k) end, "M"))
    local _, lesson = refuse(s, "parallel", "k")
    local first, second, should, is = lesson:match "writes M%[0%] = (%d).*writes M%[0%] = (%d).*should be (%d), is (%d)"
    assert.equal(math.max(tonumber(first), tonumber(second)), tonumber(should))
    assert.equal(math.min(tonumber(first), tonumber(second)), tonumber(is))
    assert.equal(2, select(2, lesson:gsub("reads M%[0%] = %-inf", "")))
  end)

  it("shows a contribution that is counted twice", function()
    local A, k = nw.placeholder({8, 8}, "f32", "A"), nw.reduce_axis(8, "k")
    local function reduced(how) return nw.schedule(nw.compute({8}, function(i) return nw[how](A(i, k), k) end, "M")) end
    local _, lesson = refuse(reduced "sum", "split", "k", 3, {tail = "shift"})
    assert.truthy(lesson:find "it is: +M%(i=0, k=5%) writes M%[0%] = %d\n  it would be:")
    local should, is = lesson:match "so M%[0%] should be (%d+), is (%d+)"
    assert.truthy(should and tonumber(is) > tonumber(should))
    _, lesson = refuse(reduced "prod", "split", "k", 3, {tail = "shift"})
    assert.truthy(lesson:find "M%[0%] is %d either way; the step is still refused: each contribution must be taken once")
  end)

  it("shows two threads that start one reduction", function()
    local A, B = nw.placeholder({20, 8}, "f32", "A"), nw.placeholder({8, 8}, "f32", "B")
    local k = nw.reduce_axis(8, "k")
    local s = nw.schedule(nw.compute({20, 8}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C"))
    s:split("i", 8, {tail = "shift"})
    local _, lesson = refuse(s, "parallel", "i_o")
    assert.equal(2, select(2, lesson:gsub("sets C%[12, 0%] = 0", "")))
    local should, is = lesson:match "after these two C%[12, 0%] should be (%d+), is (%d+)"
    assert.equal(2 * should, tonumber(is))
  end)

  it("says if a lost update does not change the result", function()
    local A, k = nw.placeholder({8, 8}, "f32", "A"), nw.reduce_axis(8, "k")
    local s = nw.schedule(nw.compute({8}, function(i) return nw.sum(A(i, k) * 0, k) end, "Z"))
    local _, lesson = refuse(s, "parallel", "k")
    assert.truthy(lesson:find "Z%[0%] is 0 either way; the step is still refused: one of the two updates is lost")
    assert.falsy(lesson:find "should be")
  end)

  it("says if two threads write the same value", function()
    local A = nw.placeholder({20}, "f32", "A")
    local s = nw.schedule(nw.compute({20}, function(i) return A(i) * 2 end, "Y"))
    s:split("i", 8, {tail = "shift"})
    local _, lesson = refuse(s, "parallel", "i_o")
    assert.truthy(lesson:find "Y%[12%] is %d+ either way; the step is still refused: either thread may come first")
  end)

  it("names both elements that are stored at one place", function()
    local s, X, Y = stages()
    s:compute_at(X, s:loops(Y)[1])
    s:store_at(X)
    s:rolling_buffer(X)
    local _, lesson = refuse(s, "parallel", s:loops(Y)[1])
    assert.equal("iterations", lesson.how)
    assert.truthy(lesson:find("it is: .*writes X%[2%] = %d+.*writes X%[6%] %(at the same address%) = %d+.*"
      .. "it may be:.*%(at the same address%)"))
  end)

  it("shows a value in the local memory of another thread, which a thread cannot read", function()
    local s, X, Y = stages()
    local loop = s:loops(Y)[1]
    s:split(loop, 7)
    s:bind("i_1_o", "blockIdx.x")
    s:compute_at(X, "i_1_o")
    s:bind("i_1_i", "threadIdx.x")
    s:bind("i", "threadIdx.x")
    local _, lesson = refuse(s, "set_scope", X, "local")
    assert.equal("race", lesson.how)
    assert.truthy(lesson:find "it is: .*writes X%[(%d)%] = (%d+)\n.*reads X%[%1%] = %2")
    assert.truthy(lesson:find "it would be: .*reads its own X%[%d%], which is not written yet")
  end)

  it("uses the word block for blocks", function()
    local _, lesson = refuse(gemm(8), "bind", "k", "blockIdx.x")
    assert.truthy(lesson:find "block k=0 +block k=1")
  end)

  it("uses the smallest shape that fails", function()
    local M = nw.size "M"
    local A = nw.placeholder({M, 8}, "i32", "A")
    local k = nw.reduce_axis(M, "k")
    local R = nw.compute({8}, function(i) return nw.sum(A(k, i), k) end, "R")
    local err, lesson = refuse(nw.schedule(R), "parallel", "k")
    assert.truthy(err.refusal.why:find "M = 2")
    assert.is_true(lesson.seen)
  end)

  it("agrees with the numbers in the refusal", function()
    local err = refuse(gemm(4), "parallel", "k")
    assert.same({sizes = {}, index = {0, 0}, loop = "k", source = {block = "C", i = 0, j = 0, k = 0},
      sink = {block = "C", i = 0, j = 0, k = 1}}, err.refusal.witness)
  end)

  it("runs nothing if the structure is refused", function()
    local s, X = stages()
    local err, lesson = refuse(s, "compute_at", X, s:loops(X)[1])
    assert.equal("structure", err.refusal.kind)
    assert.is_false(lesson.visible)
    assert.is_false(lesson.seen)
    assert.truthy(lesson:find(err.refusal.why, 1, true))
  end)

  it("shows a race of the partial results of threads", function()
    local A, B, k = nw.placeholder({17, 8, 2}, "u16", "A"), nw.placeholder({34}, "u16", "B"), nw.reduce_axis(2, "k")
    local X = nw.compute({34}, function(i) return B(i) * 2 end, "X")
    local Y = nw.compute({17, 8}, function(i, j) return nw.sum(A(i, j, k), k) end, "Y")
    local s = nw.schedule {X, Y}
    s:bind(s:create_fused_loop(s[X]:loops()[1], s[Y]:loops()[1]), "threadIdx.z") -- no barrier fits in one of its branches
    local err = refuse(s, "bind", "k", "threadIdx.x")
    assert.truthy(err.refusal.why:find "^the threads combine partial results")
    local lesson = s:explain()
    assert.is_true(lesson.seen)
    assert.truthy(tostring(lesson):find("it would be a race: element %d+ of Y_upper is written by thread %(1, 0, %d+%) .*, "
      .. "and read by thread %(0, 0, %d+%)"), tostring(lesson))
  end)

  it("shows a race of blocks although threads share another sum", function()
    local A, B, k = nw.placeholder({6}, "i32", "A"), nw.placeholder({8, 4}, "i32", "B"), nw.reduce_axis(4, "k")
    local q = nw.reduce_axis(6, "q")
    local Z = nw.compute({8}, function(i) return nw.sum(B(i, k), k) end, "Z")
    local Y = nw.compute({}, function() return nw.sum(A(q), q) end, "Y")
    local s = nw.schedule {Z, Y}
    s:bind("k", "threadIdx.x")
    local err = refuse(s, "bind", "q", "blockIdx.x")
    assert.truthy(err.refusal.why:find "^the threads combine partial results")
    local lesson = s:explain()
    assert.is_true(lesson.seen)
    assert.truthy(tostring(lesson):find("it would be a race: .*the order of blocks is undefined"), tostring(lesson))
  end)

  it("is about the last refusal only", function()
    local s = gemm(4)
    support.fails("^explain: nothing was refused", "invalid", s.explain, s)
    refuse(s, "parallel", "k")
    s:split("i", 2)
    local ok, err = pcall(s.explain, s)
    assert.is_false(ok)
    assert.truthy(err.message:find "nothing was refused")
    refuse(s, "parallel", "k")
    -- an error in the arguments is not a refusal
    support.fails("^split: factor: expected a whole number, got a table", "invalid", s.split, s, "j", {4})
    assert.is_true(s:explain().seen)
    support.fails("^split: no loop \"nope\"", "invalid", s.split, s, "nope", 2)
    ok, err = pcall(s.explain, s)
    assert.is_false(ok)
    assert.truthy(err.message:find('the last step was refused because of its arguments: no loop "nope"', 1, true))
  end)

  it("refuses anything but a schedule", function()
    local s = gemm(4)
    for bad, got in pairs {[1] = "number", s = "string", [{}] = "table", [nw] = "table"} do
      support.fails("^explain: self: expected a schedule, got a " .. got, "invalid", s.explain, bad)
    end
  end)
end)
