--- Tests ways to run programs: kernels, interpreters, and measured times.
local nw = require "nestwright"
local support = require "support"
local fails, gemm = support.fails, support.gemm

local function double(n, dtype)
  local A = nw.placeholder({n}, dtype or "f32", "A")
  return nw.schedule(nw.compute({n}, function(i) return A(i) * 2 end, "T"))
end

describe("a kernel", function()
  it("makes its outputs, or fills arrays that are given", function()
    local f = double(3):build {threads = 1}
    local a = nw.tensor {1, 2, 3}
    assert.same({2, 4, 6}, f(a):totable())
    local out = nw.zeros {3}
    assert.equal(out, f(a, out))
    assert.same({2, 4, 6}, out:totable())
  end)

  it("gives the same results as the interpreter and the definition", function()
    local s, C = gemm(9, 10, 11)
    local a, b = nw.random({9, 11}, "f32", {seed = 1}), nw.random({11, 10}, "f32", {seed = 2})
    local naive = nw.evaluate(C, {a, b})[1]
    local jit = s:build {threads = 1}(a, b)
    assert.is_true((nw.allclose(jit, naive, {rtol = 1e-5})))
    local lowered = nw.interpret(s, {a, b}, {lowered = true})[1]
    assert.is_true((nw.allclose(jit, lowered, {rtol = 0, atol = 0})))
    local scheduled = nw.interpret(s, {a, b})[1]
    assert.is_true((nw.allclose(scheduled, naive, {rtol = 1e-5})))
    for _, lowering in ipairs {false, true} do
      fails("stopped after 100 steps", "limit", function() nw.interpret(s, {a, b}, {lowered = lowering, steps = 100}) end)
    end
    fails("steps", "range", function() nw.interpret(s, {a, b}, {steps = 0}) end)
  end)

  it("knows its parameters, and prints", function()
    local f = gemm(8):build {threads = 1}
    local names = {}
    for n, p in ipairs(f:params()) do names[n] = p.name .. (p.output and " out" or "") end
    assert.same({"A", "B", "C out"}, names)
    assert.truthy(tostring(f):find "kernel %(A, B %-> C%), 1 thread, compiled in")
    assert.equal("number", type(f.compile_ms))
    assert.equal("boolean", type(f.cached))
    assert.truthy(tostring(f:show "llvm"):find "define")
    assert.truthy(#tostring(f:show()) > 10)
    fails("what: expected 'lowered', 'llvm', 'asm', 'ptx', 'cuda', 'opencl', 'c' or 'versions', got 'x'", "invalid",
      function() f:show "x" end)
  end)

  it("takes its inputs in the order in which they were made", function()
    local X, Y = nw.placeholder({2}, "f32", "X"), nw.placeholder({2}, "f32", "Y")
    local f = nw.schedule(nw.compute({2}, function(i) return Y(i) - X(i) end, "D")):build()
    assert.same({9, 18}, f(nw.tensor {1, 2}, nw.tensor {10, 20}):totable())
  end)

  it("distinguishes inputs with the same name", function()
    local X, Y = nw.placeholder({2}, "f32", "A"), nw.placeholder({2}, "f32", "A")
    local s = nw.schedule(nw.compute({2}, function(A) return X(A) - Y(A) end, "A"))
    assert.equal(2, #s:inputs())
    assert.is_true(s:inputs()[1].name ~= s:inputs()[2].name)
    assert.is_true((s:reparses()))
    assert.same({9, 18}, s:build()(nw.tensor {10, 20}, nw.tensor {1, 2}):totable())
  end)

  it("for ten gigabytes of data can be built", function()
    local n = 10 << 28
    local s = double(n)
    s:split("i", 1 << 20)
    assert.truthy(tostring(s):find "i_o in 0..2560")
    assert.equal("kernel", (tostring(s:build {threads = 1}):match "^kernel"))
    local ok, err = pcall(nw.zeros, {n})
    if not ok then assert.equal("string", type(err.code)) end
  end)

  it("checks its arguments", function()
    local f = double(3):build {threads = 1}
    fails("expected 1 inputs, or 2 tensors.*%(A %-> T%)", "invalid", function() f() end)
    fails("A: expected an array, got a number", "invalid", function() f(1) end)
    fails("A", nil, function() f(nw.zeros {4}) end)
    fails("A", nil, function() f(nw.zeros({3}, "f64")) end)
    fails("A", nil, function() f(nw.zeros {3, 1}) end)
    local a = nw.zeros {3}
    fails("overlap", nil, function() f(a, a) end)
  end)

  it("checks sizes and facts about them", function()
    local M = nw.size("M", {multiple = 4})
    local A = nw.placeholder({M}, "f32", "A")
    local f = nw.schedule(nw.compute({M}, function(i) return A(i) + 1 end, "T")):build {threads = 1}
    assert.equal(8, f(nw.zeros {8}):count())
    fails("M", nil, function() f(nw.zeros {7}) end)
  end)

  it("is timed on random inputs if its sizes are given", function()
    local M, N = nw.size "M", nw.size "N"
    local A = nw.placeholder({M, N}, "f32", "A")
    local s = nw.schedule(nw.compute({N, M}, function(i, j) return A(j, i) + 1 end, "T"))
    local f = s:build {threads = 1}
    local how = {reps = 3, min_seconds = 1e-5, sizes = {M = 5, N = 3}}
    assert.is_true(f:time(how).median > 0)
    assert.is_true(s:time(how).median > 0)
    fails("the size M has no value", "invalid", function() f:time {} end)
    fails("f:time{sizes = {M = 64}}", "invalid", function() f:time {} end)
    fails("the size N has no value", "invalid", function() f:time {sizes = {M = 5}} end)
    fails("there is no size K", "invalid", function() f:time {sizes = {M = 5, N = 3, K = 1}} end)
    fails("the shapes of the tensors give the sizes", "invalid", function() f:time(nw.zeros {5, 3}, how) end)
  end)

  it("is timed in the version from which it was built", function()
    local M = nw.size "M"
    local A = nw.placeholder({M, 8}, "f32", "A")
    local s = nw.schedule(nw.compute({M, 8}, function(i, j) return A(i, j) + 1 end, "T"))
    s:transform_layout("A", function(i, j) return j // 4, i, j % 4 end)
    local f = s:build {threads = 1}
    s:undo()
    assert.is_true(f:time({reps = 3, min_seconds = 1e-5, sizes = {M = 5}}).median > 0)
    assert.equal(0, s:version())
  end)

  it("runs on sizes 0 and 1", function()
    for _, n in ipairs {0, 1} do assert.equal(n, double(n):build()(nw.full({n}, 2)):count()) end
  end)

  it("gives several outputs", function()
    local A = nw.placeholder({2}, "f32", "A")
    local X, Y = nw.compute({2}, function(i) return A(i) + 1, A(i) * 2 end, "P")
    local x, y = nw.schedule(X, Y):build()(nw.tensor {1, 2})
    assert.same({2, 3}, x:totable())
    assert.same({2, 4}, y:totable())
  end)

  it("keeps NaN and infinities", function()
    local out = double(3):build()(nw.tensor {0 / 0, 1 / 0, -1 / 0})
    assert.is_true(out:get(0) ~= out:get(0))
    assert.equal(math.huge, out:get(1))
  end)

  it("checks the options of build", function()
    fails("did you mean 'threads'", "invalid", function() double(3):build {thread = 1} end)
    fails("threads", "range", function() double(3):build {threads = -1} end)
  end)

  it("refuses options that do not fit into 32 bits", function()
    local s = double(3)
    for _, n in ipairs {-1, 1025, (1 << 32) + 1, 1 << 40} do
      fails(("threads: .*%d is not in 0..1024"):format(math.abs(n)), "range", s.build, s, {threads = n})
    end
    fails("opt: 4294967297 is not in 0..3", "range", s.build, s, {opt = (1 << 32) + 1})
    local f = s:build()
    for _, n in ipairs {0, -1, (1 << 32) + 3, 1 << 62} do
      fails(("reps: .*%d is not in 1..100000"):format(math.abs(n)), "range", f.time, f, {reps = n})
      fails(("rounds: .*%d is not in 1..100000"):format(math.abs(n)), "range", nw.compare, {f, s:build(), rounds = n})
    end
    fails("min_seconds: .* is not from 0 to 86400", "range", f.time, f, {min_seconds = -1})
    fails("min_seconds: inf is not from", "range", f.time, f, {min_seconds = math.huge})
    fails("warmup: expected a whole number, got 0.5", "invalid", f.time, f, {warmup = 0.5})
  end)

  it("outlives its schedule", function()
    local f = double(3):build()
    collectgarbage()
    collectgarbage()
    assert.same({2, 2, 2}, f(nw.full({3}, 1)):totable())
  end)
end)

describe("evaluate and interpret", function()
  it("name missing arguments", function()
    local s, C = gemm(4)
    fails("expected 2 inputs, or 3 tensors", "invalid", nw.evaluate, C, {nw.zeros {4, 4}})
    fails("arguments%[1%]: expected a tensor with data", "invalid", nw.interpret, s, {1, 2})
    fails("arguments: expected a list, got nil", "invalid", nw.evaluate, C)
    fails("did you mean 'lowered'", "invalid", nw.interpret, s, {}, {lowred = true})
    fails("expected a schedule", "invalid", nw.interpret, C, {})
  end)
end)

describe("times", function()
  it("are records", function()
    local f = gemm(32):build {threads = 1}
    local a, b = nw.random {32, 32}, nw.random {32, 32}
    local t = f:time(a, b, {reps = 5})
    assert.is_true(t.reps >= 3 and t.reps <= 5) -- disturbed samples are left out
    assert.equal(5, #t.samples)
    assert.equal(1, t.threads)
    assert.is_true(t.min > 0 and t.min <= t.median)
    assert.is_true(t.spread >= 0)
    assert.equal("string", type(t.machine))
    assert.truthy(tostring(t):find "^min [%d.]+ [mun]s, median [%d.]+ [mun]s, spread [%d.]+ %%, %d reps, 1 thread")
    assert.is_true(t:gflops(2 * 32 ^ 3) > 0)
  end)

  it("need no inputs if the shapes are known", function()
    assert.is_true(gemm(16):time({reps = 2, threads = 1}).min > 0)
    assert.is_true(gemm(16):build {threads = 1}:time().reps > 0)
    local M = nw.size "M"
    local A = nw.placeholder({M}, "f32", "A")
    local s = nw.schedule(nw.compute({M}, function(i) return A(i) + 1 end, "T"))
    fails("the size M has no value", "invalid", function() s:time() end)
    assert.is_true(s:time(nw.zeros {10}, {reps = 1}).min >= 0)
  end)

  it("check their options", function()
    local f = double(3):build()
    fails("did you mean 'reps'", "invalid", function() f:time(nw.zeros {3}, {rep = 1}) end)
    fails("reps", "range", function() f:time(nw.zeros {3}, {reps = -1}) end)
  end)
end)

describe("nw.compare", function()
  it("runs kernels in turn, and says if their times are not distinguishable", function()
    local slow = gemm(128)
    local c = nw.compare({slow = slow:build {threads = 1}, slower = gemm(160):build {threads = 1}, rounds = 7})
    assert.equal(2, #c)
    assert.equal("slow", c[1].label)
    assert.is_true(c[1].reps >= 4 and c[1].reps <= 7) -- disturbed rounds are left out
    local text = tostring(c)
    assert.truthy(text:find "slower")
    assert.truthy(text:find "1.00x" or text:find "no verdict: disturbed by other work")
    assert.truthy(text:find "7 rounds")
    local f, g = double(4):build {threads = 1}, double(4):build {threads = 1}
    local same = nw.compare({f, g}, nw.zeros {4})
    assert.equal("#2", same[2].label)
    assert.truthy(same[2].verdict:find "not distinguishable from #1" or same[2].verdict:find "x$"
      or same[2].disturbed)
  end)

  it("runs kernels on random inputs if their sizes are given", function()
    local M, N = nw.size "M", nw.size "N"
    local A = nw.placeholder({M}, "f32", "A")
    local B = nw.placeholder({M, N}, "f32", "B")
    local f = nw.schedule(nw.compute({M}, function(i) return A(i) + 1 end, "T")):build {threads = 1}
    local packed = nw.schedule(nw.compute({M, N}, function(i, j) return B(i, j) + 1 end, "T"))
    packed:transform_layout("B", function(i, j) return j, i end)
    local g = packed:build {threads = 1}
    local h = nw.schedule(nw.compute({N, M}, function(i, j) return B(j, i) + 1 end, "U")):build {threads = 1}
    packed:undo()
    local c = nw.compare {f, g, wide = h, constant = double(4):build {threads = 1}, sizes = {M = 5, N = 3}, rounds = 2}
    assert.same({"#1", "#2", "constant", "wide"}, {c[1].label, c[2].label, c[3].label, c[4].label})
    for _, t in ipairs(c) do assert.is_true(t.median > 0) end
    assert.equal(0, packed:version())
    local err = fails("the size M has no value", "invalid", nw.compare, {f, g})
    assert.truthy(err.hint:find("nw.compare{f, g, sizes = {M = 64}}", 1, true))
    fails("the size N has no value", "invalid", nw.compare, {f, h, sizes = {M = 5}})
    fails("compare: sizes: no kernel has a size K", "invalid", nw.compare, {f, g, sizes = {M = 5, N = 3, K = 1}})
    fails("M: expected a whole number, got a boolean", "invalid", nw.compare, {f, g, sizes = {M = true, N = 3}})
    fails("compare: sizes: expected a table, got a number", "invalid", nw.compare, {f, g, sizes = 5})
    fails("the shapes of the tensors give the sizes", "invalid", nw.compare, {f, g, sizes = {M = 5}}, nw.zeros {5})
    local named = nw.compare({f, sizes = double(8):build {threads = 1}, rounds = 2}, nw.zeros {8}) -- a kernel with this name
    assert.equal("sizes", named[2].label)
  end)

  it("says which arguments are valid", function()
    local f = double(3):build()
    fails("at least two", "invalid", nw.compare, {f})
    fails("#2: expected a kernel", "invalid", nw.compare, {f, 3})
    fails("expected a table", "invalid", nw.compare, f)
  end)
end)

describe("the machine", function()
  it("has a record, a peak rate and a clock rate", function()
    assert.truthy(#tostring(nw.machine()) > 10)
    assert.is_true(nw.peak_flops(1) > 1e8)
    assert.is_true(nw.core_hz() > 1e8)
    assert.is_true(nw.peak_vs_ports() > 0)
    support.gemm(8):split("i", 4)
    assert.equal("o", nw.judge_question())
    assert.equal("0.1.0", nw.version())
  end)
end)
