--- Tests rewrite, which replaces parts of a stage's body by equal expressions.
local nw = require "nestwright"
local support = require "support"
local fails = support.fails

-- Checks that a step is refused with these words, and that the schedule is unchanged. Returns the error.
local function refuses(s, words, f)
  local before = s:text()
  local err = support.fails_saying(words, f)
  assert.equal("refused", err.code == "undecided" and "refused" or err.code)
  assert.equal(before, s:text())
  return err
end

-- E[i, j] = exp(A[i, j] - m[i]), as in a softmax.
local function shifted()
  local A, m = nw.placeholder({8, 6}, "f32", "A"), nw.placeholder({8}, "f32", "m")
  local E = nw.compute({8, 6}, function(i, j) return nw.exp(A(i, j) - m(i)) end, "E")
  return nw.schedule(E), E
end

-- C[i] = a[i]*b[i] + a[i]*c[i]
local function products(dtype)
  local a, b, c = nw.placeholder({16}, dtype, "a"), nw.placeholder({16}, dtype, "b"), nw.placeholder({16}, dtype, "c")
  local C = nw.compute({16}, function(i) return a(i) * b(i) + a(i) * c(i) end, "C")
  return nw.schedule(C), C
end

local function map(dtype, f)
  local A, B = nw.placeholder({16}, dtype, "A"), nw.placeholder({16}, dtype, "B")
  local C = nw.compute({16}, function(i) return f(A(i), B(i), i) end, "C")
  return nw.schedule(C), C
end

local function last_notes(s) local log = s:log() return log[#log].notes or "" end

describe("a rewrite that is proved", function()
  it("replaces every part of the form, and has no mark", function()
    for _, dtype in ipairs {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"} do
      local s, C = products(dtype)
      s:rewrite(C, "x*y + x*z", "x*(y + z)")
      assert.truthy(s:show():find("C[i] = a[i]*(b[i] + c[i])", 1, true), dtype)
      assert.is_nil(s:text():find "tested")
      assert.is_nil(s:text():find "unproved")
      assert.equal('s:rewrite("C", "x*y + x*z", "x*(y + z)")\n', s:trace())
      assert.equal("", last_notes(s))
      assert.is_false(s:rounds())
      assert.truthy(s:check():find "agree")
      assert.is_true(s:reparses())
      support.replays(s, function() return (products(dtype)) end)
    end
  end)

  it("agrees with the definition to the bit where integers wrap", function()
    local s, C = map("i32", function(a, b) return (a + b) * (a - b) end)
    s:rewrite(C, "(x + y)*(x - y)", "x*x - y*y")
    assert.is_nil(s:text():find "unproved")
    local a = nw.random({16}, "i32", {seed = 1, lo = -2147483648, hi = 2147483647})
    local b = nw.random({16}, "i32", {seed = 2, lo = -2147483648, hi = 2147483647})
    local want, got = nw.evaluate(C, {a, b})[1], s:build {threads = 1}(a, b)
    assert.is_true(nw.allclose(want, got, {rtol = 0, atol = 0}))
  end)

  it("may use the ranges of axes and the conditions on them", function()
    local s, C = map("i64", function(a, b, i) return nw.select(nw.lt(i, 4), a * nw.max(i, 4), b) end)
    s:rewrite(C, "x*max(i, 4)", "x*4")
    assert.is_nil(s:text():find "unproved")
    assert.truthy(s:show():find("select(i < 4, 4*A[i], B[i])", 1, true))
    assert.truthy(s:check():find "agree")
    s, C = map("i64", function(a, b, i) return nw.select(nw.lt(i, 6), a * nw.max(i, 4), b) end)
    refuses(s, "if A[i] = 1, i = 5", function() s:rewrite(C, "x*max(i, 4)", "x*4") end)
  end)
end)

describe("a power in a rewrite", function()
  local A = nw.placeholder({8}, "f32", "A")

  local function powers() return nw.schedule(nw.compute({8}, function(i) return nw.pow(A(i), 3) end, "P")) end

  it("may be written as in the language", function()
    local s = powers()
    s:rewrite("P", "x^3", "x*x*x")
    assert.truthy(tostring(s):find("A[i]*A[i]*A[i]", 1, true), tostring(s))
    for _, form in ipairs {"A[i]^3", "A[i] ^ 3", "(A[i])^3", "A[i]^(1 + 2)"} do
      s = powers()
      s:rewrite("P", form, "A[i]*A[i]*A[i]")
    end
  end)

  it("binds more strongly than a sign", function()
    local s = powers()
    refuses(s, "both forms are the same expression", function() s:rewrite("P", "x^3", "-(-x^3)") end)
    refuses(s, "the same expression", function() s:rewrite("P", "x^3", "pow(x, 3)") end)
  end)
end)

describe("a rewrite that is tested, but not proved", function()
  local function tested()
    local s, E = shifted()
    s:rewrite(E, "exp(x - y)", "exp(x)/exp(y)")
    return s, E
  end

  it("is marked in every view", function()
    local s = tested()
    local n = tonumber(assert(s:text():match "\nunproved 1 on (%d+)\n"))
    assert.truthy(n >= 500 and n <= 1000)
    local mark = ("tested on %d values, not proved"):format(n)
    assert.truthy(s:show():find("# 1 step was " .. mark, 1, true))
    assert.truthy(s:show():find("tested E[i, j] = exp(A[i, j]) / exp(m[i])", 1, true))
    assert.truthy(s:text():find "tested block E")
    assert.is_true(s:reparses())
    for _, view in ipairs {"lowered", "llvm", "asm", "c"} do assert.truthy(s:show(view):find "tested", view) end
    assert.truthy(s:show "c":find(("tested, not proved: 1, on %d values"):format(n), 1, true))
    assert.equal(n, s:log()[2].tested)
    assert.truthy(tostring(s:log()):find(mark, 1, true))
    assert.truthy(tostring(s:history()):find(mark, 1, true))
    assert.truthy(tostring(s:tree()):find "tested, not proved")
    assert.truthy(tostring(s:why "E"):find "tested, not proved")
    assert.truthy(tostring(s:diff()):find "%+.*tested")
  end)

  it("has notes about rounding, and about values at which the new form overflows", function()
    local notes = last_notes((tested()))
    assert.truthy(notes:find "rounding may change")
    assert.truthy(notes:find("the new form overflows: if A[i, j] = ", 1, true))
    assert.truthy(notes:find("the value was ", 1, true), notes)
    assert.truthy(notes:find(" and is now [%a-]*inf$") or notes:find " and is now nan$", notes)
    assert.is_true((tested()):rounds())
  end)

  it("has a note about NaN if the two forms differ there", function()
    local words = "the new form treats NaN in another way: if "
    local function notes_of(dtype, f, from, to)
      local s, C = map(dtype, f)
      s:rewrite(C, from, to)
      return last_notes(s)
    end
    for _, dtype in ipairs {"f16", "bf16", "f32", "f64"} do
      local function clamped(a) return nw.select(nw.gt(a, 0), a, 0) end
      local notes = notes_of(dtype, clamped, "select(0 < x, x, 0)", "max(x, 0)")
      assert.truthy(notes:find(words .. "A[i] = nan, the value was 0 and is now nan", 1, true), dtype .. ": " .. notes)
      notes = notes_of(dtype, function(a, b) return nw.max(a, b) end, "max(x, y)", "-min(-x, -y)")
      assert.is_nil(notes:find(words, 1, true), dtype)
    end
    -- whole numbers that depend on the comparison of floats
    local A, B = nw.placeholder({16}, "f32", "A"), nw.placeholder({16}, "f32", "B")
    local C = nw.compute({16}, function(i) return nw.select(nw.lt(A(i), B(i)), nw.cast(1, "i32"), nw.cast(2, "i32")) end, "C")
    local s = nw.schedule(C)
    s:rewrite(C, "select(x < y, i32(1), i32(2))", "select(y <= x, i32(2), i32(1))")
    assert.truthy(last_notes(s):find(words, 1, true), last_notes(s))
  end)

  it("keeps its mark in later steps, and loses it with undo", function()
    local s = tested()
    s:split("j", 2)
    s:parallel "i"
    assert.truthy(s:text():find "unproved 1 on ")
    assert.truthy(s:show():find "tested E%[")
    s:undo(3)
    assert.is_nil(s:text():find "unproved")
    assert.is_nil(s:build().tested)
  end)

  it("counts several rewrites", function()
    local s, E = tested()
    s:rewrite(E, "x/y", "x*(1/y)")
    assert.truthy(s:show():find "# 2 steps were tested on at least %d+ values, not proved")
    assert.truthy(s:text():find "\nunproved 2 on %d+\n")
    assert.is_true(s:reparses())
  end)

  it("replays from its traces to the identical program", function()
    local s = tested()
    assert.truthy(s:trace():find('s:rewrite("E", "exp(x - y)", "exp(x)/exp(y)") -- tested on ', 1, true))
    assert.truthy(s:trace():find "%) %-%- tested on %d+ values, not proved\n$")
    support.replays(s, function() return (shifted()) end)
    local json = (shifted()):replay(s:trace "json")
    assert.equal(s:text(), json:text())
    assert.equal(s:trace "json", json:trace "json")
    -- the mark of a trace is never believed: the equality is tested again
    fails("cannot rewrite exp%(x %- y%) in E", "refused", function()
      (shifted()):replay((s:trace "json":gsub("exp%(x%)/exp%(y%)", "exp(x)*exp(y)")))
    end)
  end)

  it("marks kernels and times", function()
    local s = tested()
    local kernel = s:build {threads = 1}
    assert.truthy(kernel.tested >= 500)
    assert.truthy(tostring(kernel):find "tested on %d+ values, not proved")
    local time = kernel:time {reps = 2}
    assert.equal(kernel.tested, time.tested)
    assert.truthy(tostring(time):find "tested on %d+ values, not proved")
    local both = nw.compare {kernel, (shifted()):build {threads = 1}, rounds = 2}
    assert.truthy(both[1].tested)
    assert.is_nil(both[2].tested)
    assert.truthy(tostring(both):find "not proved")
  end)

  it("is the reference of later steps, and is compared with the definition with a tolerance", function()
    local A = nw.placeholder({32}, "f32", "A")
    local P = nw.compute({32}, function(i) return nw.exp(A(i) - 1) end, "P")
    local Q = nw.compute({32}, function(i) return P(i) / 3 end, "Q")
    local s = nw.schedule(Q)
    s:rewrite(P, "exp(x - 1)", "exp(x)/exp(f32(1))")
    s:rewrite(Q, "x/3", "x*(1.0/3)")
    assert.truthy(s:check():find "agree")
    s:split("i_1", 8)
    s:compute_at(P, "i_1_o")
    assert.truthy(s:check():find "agree")
    s:compute_inline(P)
    assert.truthy(s:check():find "agree")
  end)
end)

describe("a rewrite is refused", function()
  it("if values are found at which the sides differ; the message shows them", function()
    local s, E = shifted()
    local err = refuses(s, "cannot rewrite exp(x - y) in E as exp(x)*exp(y)", function()
      s:rewrite(E, "exp(x - y)", "exp(x)*exp(y)")
    end)
    local x, y, was, is
    x, y = err.message:match "if A%[i, j%] = (%S+), m%[i%] = (%S+)"
    was, is = err.message:match "m%[i%]%) is (%S+) and .* is (%S+) if"
    assert.truthy(math.abs(math.exp(tonumber(x) - tonumber(y)) - tonumber(was)) < 1e-6 * math.abs(tonumber(was)))
    assert.truthy(math.abs(math.exp(tonumber(x) + tonumber(y)) - tonumber(is)) < 1e-6 * math.abs(tonumber(is)))
    assert.truthy(math.abs(tonumber(x)) + math.abs(tonumber(y)) <= 3) -- the simplest point
    assert.is_nil(s:text():find "exp%(m")
  end)

  for _, case in ipairs {
    {"f32", function(a, b) return a / b end, "x/y", "x"},
    {"f32", function(a) return a * a / a end, "x*y/z", "x"}, -- at 0, the old value is NaN
    {"f32", function(a) return nw.sqrt(a * a) end, "sqrt(x*x)", "x"}, -- wrong for negative numbers
    {"f32", function(a, b) return nw.log(a * b) end, "log(x*y)", "log(x) + log(y)"},
    {"f32", function(a, b) return a + b end, "x + y", "x + y + 1e-3"},
    {"f64", function(a, b) return a + b end, "x + y", "x*1.000001 + y"},
    {"f16", function(a, b) return a + b end, "x + y", "x*1.25 + y"},
    {"i32", function(a, b) return nw.max(a + b, b) end, "max(x + y, y)", "max(x, 0) + y"}, -- wraps
    {"u8", function(a, b) return nw.max(a, b) end, "max(x, y)", "x"},
    {"i32", function(a) return nw.abs(a) end, "abs(x)", "max(x, 0) + max(-x, 1)"},
    {"i32", function(a) return nw.abs(a) end, "abs(x)", "abs(x)*x // x"}, -- divides by zero
    {"i32", function(a) return nw.abs(a) end, "abs(x)", "x - 2*min(x, 0) + i32(x == 2147483647)"},
  } do
    it(("if %s becomes %s in %s"):format(case[3], case[4], case[1]), function()
      local s, C = map(case[1], case[2])
      local text = s:text()
      local err = refuses(s, "cannot rewrite", function() s:rewrite(C, case[3], case[4]) end)
      assert.truthy(err.message:find " if [AB]%[i%] = ", err.message)
      assert.equal(text, s:text())
    end)
  end

  it("if the condition around the part lets too few values through", function()
    local s, C = map("f32", function(a, b)
      return nw.select(nw.all(nw.lt(a, 1e-20), nw.lt(0, a), nw.lt(b, a)), nw.exp(a - b), 0)
    end)
    refuses(s, "the equality could be tested on ", function() s:rewrite(C, "exp(x - y)", "exp(x)/exp(y)") end)
  end)

  it("but only values that meet the condition around the part count", function()
    local s, C = map("f32", function(a, b) return nw.select(nw.lt(0, a), nw.sqrt(a * a), b) end)
    s:rewrite(C, "sqrt(x*x)", "x")
    assert.truthy(s:show():find("select(0.0 < A[i], A[i], B[i])", 1, true))
  end)

  it("but the arithmetic of a condition wraps, as that of the part does", function()
    for _, dtype in ipairs {"i64", "i32"} do
      local s = map(dtype, function(x) return nw.select(nw.le(x + -2, 5), 1, nw.max(x, 3)) end)
      refuses(s, "max(A[i], ", function() s:rewrite("C", "max(x, y)", "-min(-x, -y)") end)
    end
  end)

  it("if the part does not exist, or nothing would change", function()
    local s, E = shifted()
    refuses(s, "no part of exp(A[i, j] - m[i]) has this form", function() s:rewrite(E, "log(x)", "log(x)") end)
    refuses(s, "both forms are the same expression", function() s:rewrite(E, "exp(x - y)", "exp(x - y)") end)
    fails("^rewrite: `to` uses z, which `from` does not have", "invalid", function() s:rewrite(E, "exp(x)", "exp(z)") end)
    fails('^rewrite: from = "exp%(" cannot be parsed', "invalid", function() s:rewrite(E, "exp(", "x") end)
    fails('^rewrite: to = "B%[x%]" cannot be parsed: .*B is not a buffer', "invalid", function() s:rewrite(E, "exp(x)", "B[x]") end)
    fails("^rewrite: `from` is f32 and `to` is i32", "invalid", function() s:rewrite(E, "exp(x)", "i32(x)") end)
  end)

  it("if it is a stage whose nest an intrinsic computes", function()
    package.path = "tests/tools/?.lua;" .. package.path
    local kernels = require "microkernels"
    local s = support.product(8, 8, 8)
    s:tile("i", "j", 4, 8)
    s:split("k", 2)
    s:reorder("i_o", "j_o", "k_o", "i_i", "j_i", "k_i")
    s:decompose_reduction("C", "k_o")
    s:tensorize("i_i", kernels.gemm {name = "mm_rewrite", m = 4, n = 8, k = 2, dtype = "f32"})
    local text = s:text()
    assert.is_false(pcall(s.rewrite, s, "C", "x*y", "x*y + x - x"))
    assert.equal(text, s:text())
  end)
end)

describe("the form of a rewrite", function()
  it("may name tensors and sizes, and matches commutative operations in either order", function()
    local s, C = map("f32", function(a, b) return nw.max(a * 2, b) - a end)
    s:rewrite(C, "max(B[i], x)", "max(x, B[i]) + x - x")
    assert.truthy(s:show():find "max")
    local N = nw.size "N"
    local A = nw.placeholder({N}, "i32", "A")
    local D = nw.compute({N}, function(i) return A(i) * nw.cast(N, "i32") + A(i) * 3 end, "D")
    s = nw.schedule(D)
    s:rewrite(D, "x*i32(N) + 3*x", "x*(i32(N) + 3)")
    assert.truthy(s:show():find("A[i]*(i32(N) + i32(3))", 1, true))
    assert.truthy(s:check():find "agree")
  end)

  it("rewrites all copies of a stage, and terms of a reduction, but not its init", function()
    local A, B = nw.placeholder({9, 7}, "i32", "A"), nw.placeholder({7}, "i32", "B")
    local k = nw.reduce_axis(7, "k")
    local C = nw.compute({9}, function(i) return nw.sum(A(i, k) * B(k) + A(i, k) * 5, k) end, "C")
    local s = nw.schedule(C)
    s:split("i", {factor = 4, tail = "cut"})
    s:decompose_reduction(C, "k")
    s:rewrite(C, "x*y + x*z", "x*(y + z)")
    assert.equal(2, select(2, s:show():gsub("%*%(B%[[^%]]*%] %+ i32%(5%)%)", "")))
    assert.truthy(s:check():find "agree")
    s:parallel "i_o"
    assert.truthy(s:check():find "agree")
  end)

  -- The copy was refused: "X[0] is read without all its contributions". Only the rewritten term hid that they are 0.
  it("keeps a copy of a trimmed sum legal", function()
    local M, N = nw.size("M", {min = 1}), nw.size("N", {min = 2})
    local A = nw.placeholder({M, N}, "f64", "A")
    local k, p = nw.reduce_axis(N, "k"), nw.reduce_axis(M, "p")
    local X = nw.compute({M}, function(i)
      return nw.sum(nw.select(nw.all(nw.le(1, k), nw.le(k, i)), A(i, k), 0), k)
    end, "X")
    local Y = nw.compute({}, function() return nw.sum(nw.select(nw.le(2, p), X(p), 0), p) end, "Y")
    local s = nw.schedule(Y)
    s:decompose_reduction("X", "i")
    s:trim "i"
    s:rewrite("X", "x", "min(x, max(x, -x))")
    s:cache_read("X", "global", {"Y"}, {at = "p"})
    assert.truthy(s:check():find "agree")
  end)

  it("must show which terms change nothing, if the loop leaves such terms out", function()
    local M = nw.size("M", {min = 1})
    local A = nw.placeholder({3, M}, "f64", "A")
    local function triangle()
      return nw.schedule(nw.compute({3}, function(i)
        local k = nw.reduce_axis({1, i + 1}, {within = M, name = "k"})
        return nw.sum(A(i, k), k)
      end, "X"))
    end
    local s = triangle()
    s:decompose_reduction("X", "k")
    s:rewrite("X", "x", "x + tanh(x) - tanh(x)")
    s:split("i", 2)
    s = triangle()
    s:decompose_reduction("X", "k")
    s:trim "k"
    local ok, e = pcall(s.rewrite, s, "X", "x", "x + tanh(x) - tanh(x)")
    assert.is_false(ok)
    assert.truthy(tostring(e):find("X leaves out iterations that change nothing", 1, true), tostring(e))
    s:split("i", 2)
  end)
end)
