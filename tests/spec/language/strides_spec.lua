--- Tests tensors with strides: placeholders and outputs whose arrays are views.
local nw = require "nestwright"
local core = require "nestwright.core"
local support = require "support"
local fails = support.fails

-- Returns C = 2*A with the strides of both, or nil for row-major.
local function twice(shape, a, c, dtype)
  local A = nw.placeholder(shape, dtype or "f32", {name = "A", strides = a})
  local C = nw.compute(shape, function(...) return A(...) * 2 end, {name = "C", strides = c})
  return nw.schedule(C), C, A
end

describe("strides", function()
  it("let a kernel take views of a larger tensor", function()
    local lda = nw.size "lda"
    local s, C = twice({nw.size "M", 6}, {lda, 1})
    local f = s:build {threads = 1}
    local all = nw.random {9, 20}
    for _, view in ipairs {all:slice({2, 7}, {3, 9}), all:slice({0, 1}, {0, 6}), all:slice({}, {14, 20}), nw.random {3, 6}} do
      local want = nw.evaluate(C, {view})[1]
      assert.is_true(nw.allclose(f(view), want, {rtol = 0, atol = 0}))
      for i = 0, #view - 1 do
        for j = 0, 5 do assert.equal(2 * view:get(i, j), want:get(i, j)) end
      end
    end
  end)

  it("may be numbers, in any order", function()
    local s, C = twice({4, 3}, {1, 4}, {10, 3})
    local f, a = s:build {threads = 1}, nw.random({3, 4}):transpose()
    local c = f(a)
    assert.same({10, 3}, c:strides())
    assert.is_true(nw.allclose(c, nw.evaluate(C, {a})[1]))
    local rows = nw.full({8, 10}, -1)
    local kept = rows:slice({2, 6}, {0, 7, 3})
    f(a, kept)
    assert.is_true(nw.allclose(kept, c))
    assert.equal(-1, rows:get(2, 1))
    assert.equal(-1, rows:get(1, 0))
  end)

  it("are compared with those of an array at each call", function()
    local lda = nw.size "lda"
    local A, B = nw.placeholder({4, 6}, {name = "A", strides = {lda, 1}}), nw.placeholder({4, 6}, {name = "B", strides = {lda, 1}})
    local C = nw.compute({4, 6}, function(i, j) return A(i, j) + B(i, j) end, "C")
    local s = nw.schedule(C)
    local f, all = s:build {threads = 1}, nw.random {4, 16}
    local a, b = all:slice({}, {0, 6}), all:slice({}, {8, 14})
    assert.is_true(nw.allclose(f(a, b), nw.evaluate(C, {a, b})[1]))
    local said = fails("B has strides %[6, 1%]; they must be %[lda, 1%] with lda = 16", "invalid", f, a, nw.random {4, 6})
    assert.truthy(said.hint:find "strides = ")
    fails("6 <= lda does not hold with lda = 1", "invalid", f, nw.random({6, 4}):transpose(), b)
    fails("B has strides %[16, 2%]; they must be %[lda, 1%]", "invalid", f, a, all:slice({}, {0, 12, 2}))
    fails("lda is %-16; it must be at least", "range", f, all:slice({step = -1}, {0, 6}), all:slice({step = -1}, {0, 6}))
    fails("B has strides", "invalid", nw.interpret, s, {a, nw.random {4, 6}})
    fails("B has strides", "invalid", nw.evaluate, C, {a, nw.random {4, 6}})
  end)

  it("are refused if elements overlap", function()
    fails("with the strides %[3, 1%], elements of A, of shape %[4, 6%], overlap", "invalid", twice, {4, 6}, {3, 1})
    fails("elements of A, of shape %[4, 6%], overlap", "invalid", twice, {4, 6}, {0, 1})
    fails("elements of C, of shape %[4, 6%], overlap", "invalid", twice, {4, 6}, nil, {6, 2})
    fails("elements of C", "invalid", twice, {4, 6}, nil, {2, 3})
    fails("stride 0 of A is negative", "range", twice, {4, 6}, {-6, 1})
    fails("2 dimensions, but 1 strides", "invalid", twice, {4, 6}, {6})
    fails("strides.2.: expected a whole number or an expression, got 1.5", "invalid", twice, {4, 6}, {6, 1.5})
    twice({1, 6}, {0, 1})
    twice({4, 1, 6}, {6, 3, 1})
    local M = nw.size "M"
    fails("overlap", "invalid", twice, {M, 6}, {5, 1})
  end)

  it("of which nothing is known become facts that each call checks", function()
    local lda, N = nw.size "lda", nw.size "N"
    local s, _, A = twice({4, N}, {lda, 1}, {lda, 1})
    assert.truthy(s:text():find("input A: f32[4, N] strides [lda, 1]", 1, true))
    assert.truthy(s:text():find("fact N <= lda", 1, true))
    assert.is_true(s:reparses())
    assert.same("A", A.name)
    local list = nw.size "batch"
    local b = twice({3, 4, N}, {list, lda, 1})
    assert.truthy(b:text():find "fact")
    assert.is_true(b:reparses())
    local twisted = s:text():gsub("strides %[lda, 1%]", "strides [1, 1]")
    fails("elements of A may overlap", "parse", core.program_text, twisted)
  end)

  it("belong only to arguments of a call", function()
    local A = nw.placeholder({4, 6}, "f32", "A")
    local T = nw.compute({4, 6}, function(i, j) return A(i, j) + 1 end, {name = "T", strides = {8, 1}})
    fails("T has strides, but is neither a placeholder nor an output", "invalid", nw.schedule,
      nw.compute({4, 6}, function(i, j) return T(i, j) * 2 end, "C"))
    nw.schedule(T)
    local X = nw.placeholder({4, 4}, {name = "X", strides = {8, 1}})
    local Z = nw.compute({4, 4}, function(i, j) return X(i, j) * 2 end, "Z")
    fails("the strides of X belong to the intrinsic", "invalid", nw.intrinsic, {name = "t", args = {X, Z}, source = "void t() {}"})
    local s = twice({4, 6}, {8, 1})
    fails("strides of A are those of the caller's array", nil, s.transform_layout, s, "A", function(i, j) return j, i end)
  end)

  it("of updates and scans are those of the result", function()
    local H = nw.update(nw.compute({5}, function(_) return 0 end, "H"), {20},
      function(S, i) return {i % 5}, S(i % 5) + nw.cast(i, "i32") end, {name = "H", strides = {3}})
    local S = nw.scan {shape = {6, 4}, init = function(_, x) return nw.cast(x, "i32") end, dtype = "i32",
      step = function(S, t, x) return S(t - 1, x) * 2 end, strides = {9, 2}}
    for _, out in ipairs {H, S} do
      local s = nw.schedule(out)
      local got, want = s:build {threads = 1}(), nw.evaluate(out, {})[1]
      assert.same(out == H and {3} or {9, 2}, got:strides())
      assert.same(want:copy():totable(), got:totable())
      assert.same(nw.interpret(s, {}, {lowered = true})[1]:totable(), got:totable())
    end
  end)

  it("are checked by s:check, and timed", function()
    local lda, ldc = nw.size "lda", nw.size "ldc"
    local s = twice({nw.size "M", nw.size "N"}, {lda, 1}, {ldc, 1})
    s:split("j", 4)
    assert.truthy(tostring(s:check()))
    assert.truthy(s:build({threads = 1}):time(nw.random({4, 9}):slice({}, {0, 4}), nw.random({4, 7}):slice({}, {0, 4}),
      {reps = 2}).min > 0)
    fails("give the outputs, too", "invalid", s:build {threads = 1}, nw.random {4, 9})
  end)

  it("stand in the head of C code", function()
    local lda = nw.size "lda"
    local s = twice({4, 6}, {lda, 1})
    local c = tostring(s:show "c")
    assert.truthy(c:find("Tensors are row-major, except those with strides (in elements), and must not overlap", 1, true))
    assert.truthy(c:find("in  A: f32[4, 6] with strides [lda, 1]", 1, true))
    assert.truthy(c:find("nw_size_mul", 1, true))
    assert.truthy(tostring(s):find("A: f32[4, 6] strides [lda, 1]", 1, true))
  end)

  it("count in the accesses and in the misses", function()
    local machine = nw.machine {extends = "zen5", name = "small", cores = 4, caches = {
      {bytes = 3 * 4 * 64, ways = 4, latency = 4, bytes_per_cycle = 64},
      {bytes = 1 << 20, ways = 16, latency = 14, bytes_per_cycle = 32}}}
    local function cold(s, sizes)
      local simulated, c = nw.misses(s, {machine = machine, sizes = sizes}), s:cost {machine = machine, sizes = sizes}
      for n, level in ipairs(c.levels) do
        assert.is_true(level.exact)
        assert.equal(simulated.total[n].asked - simulated.total[n].hits, level.misses)
      end
      local lines = {}
      for _, row in ipairs(simulated.by_access) do
        if row.level == 1 then lines[row.tensor] = (lines[row.tensor] or 0) + row.cold end
      end
      return lines
    end
    assert.same({A = 16, C = 16}, cold((twice {64, 4})))
    assert.same({A = 64, C = 16}, cold((twice({64, 4}, {48, 1}))))
    assert.same({A = 64, C = 32}, cold((twice({64, 4}, {nw.size "lda", 1}, {8, 1})), {lda = 80}))
    local s, at = twice({3, 2}, {10, 4}), {}
    for _, seen in ipairs {nw.accesses(s), nw.accesses(s, {arguments = {core.array_strided({3, 2}, "f32", {10, 4})}})} do
      at[#at + 1] = {}
      for n = 1, #seen do if seen:at(n).tensor == "A" then table.insert(at[#at], seen:at(n).index) end end
    end
    assert.same({{0, 4, 10, 14, 20, 24}, {0, 4, 10, 14, 20, 24}}, at)
  end)
end)
