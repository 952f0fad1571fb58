--- s:explain() after a refusal: the conflict must be seen in the interpreter, and the numbers must be right.
local nw = require "nestwright"

local function gemm(n, dtype)
  local A, B = nw.placeholder({n, n}, dtype or "f32", "A"), nw.placeholder({n, n}, dtype or "f32", "B")
  local k = nw.reduce_axis(n, "k")
  local C = nw.compute({n, n}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
  return nw.schedule(C), C
end

-- Each time step reads the one before: S[t, x] = S[t-1, x-1] + S[t-1, x+1], at the edges itself.
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
    -- read, read, write, write
    local order = {}
    for word in lesson:gmatch "\n +(%l+) C%[0, 0%] =" do order[#order + 1] = word end
    assert.same({"reads", "reads", "writes", "writes"}, order)
    local total, without = lesson:match "so C%[0, 0%] should be (%d+), is (%d+)"
    assert.equal(should - is, total - without) -- the end lacks what was lost, no more
  end)

  it("says lanes where a loop is vectorized", function()
    local _, lesson = refuse(gemm(4), "vectorize", "k")
    assert.truthy(lesson:find "lane k=0 +lane k=1")
  end)

  it("sees the threads of a grid race as well", function()
    local err, lesson = refuse(gemm(8), "bind", "k", "threadIdx.x")
    assert.equal("reduction", err.refusal.kind)
    assert.is_true(lesson.seen)
    assert.truthy(lesson:find "after these two")
  end)

  it("needs only the two iterations of a large nest", function()
    local s = gemm(2048)
    local start = os.clock()
    local _, lesson = refuse(s, "parallel", "k")
    assert.is_true(lesson.seen)
    assert.truthy(lesson:find "after these two")
    assert.is_true(os.clock() - start < 5)
  end)

  it("shows both orders of a recurrence, and the value that is wrong", function()
    local s = heat(4, 6)
    local _, lesson = refuse(s, "reorder", "x_1", "t_1")
    assert.equal("order", lesson.how)
    assert.truthy(lesson:find "it is: +S%(t=1, x=1%) writes S%[1, 1%] = %d+\n +S%(t=2, x=0%) reads S%[1, 1%] = %d+")
    assert.truthy(lesson:find "it would be: +S%(t=2, x=0%) reads S%[1, 1%], where nothing is written yet")
    local should, is = lesson:match "should be (%d+), is (%d+)"
    assert.truthy(should and should ~= is)
  end)

  it("lets the other thread come first where nothing is added up", function()
    local s = heat(4, 6)
    local _, lesson = refuse(s, "parallel", "t_1")
    assert.equal("iterations", lesson.how)
    assert.truthy(lesson:find "or else: +S%(t=2")
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

  it("and the refusal gives the same in numbers", function()
    local err = refuse(gemm(4), "parallel", "k")
    assert.same({sizes = {}, index = {0, 0}, loop = "k", source = {block = "C", i = 0, j = 0, k = 0},
      sink = {block = "C", i = 0, j = 0, k = 1}}, err.refusal.witness)
  end)

  it("has nothing to run where the structure is refused", function()
    local s, X = stages()
    local err, lesson = refuse(s, "compute_at", X, s:loops(X)[1])
    assert.equal("structure", err.refusal.kind)
    assert.is_false(lesson.visible)
    assert.is_false(lesson.seen)
    assert.truthy(lesson:find(err.refusal.why, 1, true))
  end)

  it("is about the last refusal only", function()
    local s = gemm(4)
    assert.is_false(pcall(s.explain, s))
    refuse(s, "parallel", "k")
    s:split("i", 2)
    local ok, err = pcall(s.explain, s)
    assert.is_false(ok)
    assert.truthy(err.message:find "nothing was refused")
    refuse(s, "parallel", "k")
    assert.is_false(pcall(s.split, s, "j", "four")) -- a slip, not a refusal
    assert.is_string(tostring(s:explain()))
  end)

  it("complains about anything but a schedule", function()
    local s = gemm(4)
    for _, bad in ipairs {1, "s", {}, nw} do assert.is_false(pcall(s.explain, bad)) end
  end)
end)
