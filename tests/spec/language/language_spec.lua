--- Tests the language: which programs are valid and what they mean. A mistake must be refused in the line that contains it.
local nw = require "nestwright"
local support = require "support"
local fails = support.fails

-- Returns the value of an expression without inputs, by evaluating the definition.
local function value_of(body)
  local T = nw.compute({1}, function(_) return body() end, "T")
  return nw.evaluate(T, {})[1]:getflat(1)
end

-- Evaluates the expression f(a), where the input element a has the value x.
local function on(dtype, x, f)
  local A = nw.placeholder({1}, dtype, "A")
  local T = nw.compute({1}, function(i) return f(A(i)) end, "T")
  return nw.evaluate(T, {nw.tensor({x}, dtype)})[1]:getflat(1)
end

describe("expressions", function()
  local A

  before_each(function() A = nw.placeholder({8, 8}, "f32", "A") end)

  it("are the same Lua value when they are equal", function()
    local x, y = A(1, 2) + 1, A(1, 2) + 1
    assert.is_true(rawequal(x, y))
    local seen = {[x] = "seen"}
    assert.equal("seen", seen[y])
  end)

  it("survive garbage collection", function()
    local x = A(1, 2) * 3
    local text = tostring(x)
    A = nil
    collectgarbage()
    collectgarbage()
    assert.equal(text, tostring(x))
  end)

  -- Expressions that are made outside a compute share one memory pool, and a large pool is replaced by a new one. The old pool was
  -- once freed before a compute had read its extents from this pool. The error was then "the extent of j is of type bool".
  it("can be extents although their memory pool is replaced", function()
    for round = 1, 30 do
      do
        local X = nw.placeholder({64}, "f32", "X")
        for n = 1, 6000 do assert(X(n % 64) * (round * 10000 + n + 0.5)) end
      end
      collectgarbage()
      collectgarbage() -- from here on, only the session refers to the pool
      local T = nw.compute({8, round + 1000}, function(i, j) return nw.f32(i + j) end, "T")
      assert.truthy(nw.schedule(T):text():find(("for j in 0..%d"):format(round + 1000), 1, true))
    end
  end)

  it("have Lua's operators", function()
    local x = A(0, 0)
    assert.equal("f32", (x + 1).dtype)
    assert.equal("f32", (1 - x).dtype)
    assert.equal("f32", (-x).dtype)
    assert.equal("f32", (x / 2).dtype)
    assert.equal("f32", (x ^ 2).dtype)
    assert.equal(7.0, on("f32", 3.5, function(v) return v * 2 end))
    assert.equal(12.25, on("f32", 3.5, function(v) return nw.pow(v, 2) end))
    assert.equal(-4, on("i32", -7, function(v) return v // 2 end))
    assert.equal(1, on("i32", -7, function(v) return v % 2 end))
    assert.equal(-4, on("i32", -7, function(v) return nw.floordiv(v, 2) end))
    assert.equal(-1, on("i32", 7, function(v) return nw.floormod(v, -2) end))
  end)

  it("cannot be compared with < and <=, and the error says what to write", function()
    fails("nw%.lt", "type", function() return A(0, 0) < A(1, 1) end)
    fails("nw%.le%(A%(0, 0%), 1%)", "type", function() return A(0, 0) <= 1 end)
  end)

  it("refuse Lua's == and ~=, which Lua would evaluate at once", function()
    local function refused(pattern, f) fails(pattern, "type", nw.compute, {4, 4}, f, "Q") end
    refused("nw%.eq%(i, j%)", function(i, j) if i == j then return A(i, j) else return A(j, i) end end)
    refused("nw%.ne%(i, j%)", function(i, j) return i ~= j and A(i, j) or A(j, i) end)
    fails("nw%.eq%(nw%.reduce_axis", "type", function() return nw.reduce_axis(4, "k") == nw.reduce_axis(4, "k") end)
    fails("nw%.lt%(A%(0, 0%), A%(1, 1%)%)", "type", function() return A(0, 0) < A(1, 1) end)
  end)

  it("refuse == and ~= with numbers too, although Lua then calls no metamethod", function()
    local n = 4
    local function refused(text, f)
      fails("`" .. text:gsub("%p", "%%%0") .. "` is always false", "type", nw.compute, {4, 4}, f, "Q")
    end
    refused("i == 3", function(i, _) return i == 3 and 1 or 0 end)
    refused("i == 1000000", function(i, _) return i == 1000000 and 1 or 0 end)
    refused("j == 0.5", function(_, j) return 0.5 == j and 1 or 0 end)
    refused("i % 2 == 0", function(i, j) if i % 2 ~= 0 then return A(i, j) end return 0 end)
    refused("((i + 1) * j) - 1 == 0", function(i, j) return (i + 1) * j - 1 == 0 and 1 or 0 end)
    refused("-i == n - 1", function(i, _) return n - 1 == -i and 1 or 0 end)
    refused("i & 1 == 1", function(i, j) return i & 1 == 1 and A(i, j) or 0 end)
    refused("~(i << 2) == 4", function(i, _) return ~(i << 2) == 4 and 1 or 0 end)
    refused("1 << (i >> 1) == n", function(i, _) return 1 << (i >> 1) == n and 1 or 0 end)
    refused("i + j == n", function(i, j) return i + j == n and 1 or 0 end)
    fails("scan: step: `t == 0`", "type", nw.scan, {shape = {4, 4}, init = function(_, _) return 0 end,
      step = function(S, t, x) return t == 0 and 1 or S(t - 1, x) end})
  end)

  it("do not affect other comparisons", function()
    local n = 4
    local function body(f) return tostring(nw.compute({4, 4}, f, "Q")) end
    assert.equal("Q[i, j] = A[i, j]", body(function(i, j) return n == 4 and A(i, j) or 0 end))
    assert.equal("Q[i, j] = A[j, i]", body(function(i, j) if i == nil then return 0 end return A(j, i) end))
    assert.equal("Q[i, j] = A[i, j]", body(function(i, j) return type(i) == "number" and i == 3 and 0 or A(i, j) end))
    assert.equal("Q[i, j] = i32(1)", body(function(i, _)
      if n == 4 then i = 3 end
      return i == 3 and 1 or 0
    end))
    assert.equal("Q[i, j] = i32(1)", body(function(i, _) local x = n == 4 and 5 or i % 2 return x == 5 and 1 or 0 end))
    assert.equal("Q[i, j] = A[i, j]*6.0", body(function(i, j)
      local sum = i * 0
      for k = 0, 3 do if k == 3 then sum = 6 end end
      return A(i, j) * (sum == 6 and sum or 0)
    end))
  end)

  it("give literals the dtype of the other operand", function()
    local H, N = nw.placeholder({1}, "f16", "H"), nw.placeholder({1}, "i8", "N")
    assert.equal("f16", (H(0) * 2).dtype)
    assert.equal("f16", (H(0) * 0.5).dtype)
    assert.equal("i8", (N(0) + 1).dtype)
    assert.equal("f32", (N(0) * 0.5).dtype)
    fails("300 does not fit into i8", "range", function() return N(0) + 300 end)
  end)

  it("have comparisons and logic as functions", function()
    local function truth(f) return on("i32", 3, function(v) return nw.select(f(v), 1, 0) end) == 1 end
    assert.is_true(truth(function(v) return nw.lt(v, 4) end))
    assert.is_false(truth(function(v) return nw.lt(v, 3) end))
    assert.is_true(truth(function(v) return nw.le(v, 3) end))
    assert.is_true(truth(function(v) return nw.gt(v, 2) end))
    assert.is_true(truth(function(v) return nw.ge(v, 3) end))
    assert.is_true(truth(function(v) return nw.eq(v, 3) end))
    assert.is_false(truth(function(v) return nw.ne(v, 3) end))
    assert.is_true(truth(function(v) return nw.all(nw.gt(v, 1), nw.lt(v, 5), true) end))
    assert.is_true(truth(function(v) return nw.any(nw.gt(v, 7), nw.lt(v, 5)) end))
    assert.is_true(truth(function(v) return nw.not_(nw.gt(v, 7)) end))
  end)

  it("have the usual functions", function()
    local near = function(want, got) assert.is_true(math.abs(want - got) < 1e-5, want .. " and " .. got) end
    near(math.exp(0.5), on("f32", 0.5, nw.exp))
    near(math.log(0.5), on("f32", 0.5, nw.log))
    near(math.sqrt(0.5), on("f32", 0.5, nw.sqrt))
    near(0.46211716, on("f32", 0.5, nw.tanh))
    near(0.5204999, on("f32", 0.5, nw.erf))
    near(0.62245933, on("f32", 0.5, nw.sigmoid))
    near(0.35355339, on("f32", 0.5, function(v) return nw.pow(v, 1.5) end))
    near(0.5, on("f32", -0.5, nw.abs))
    near(-1, on("f32", -0.5, nw.floor))
    near(1, on("f32", 0.5, nw.ceil))
    near(2, on("f32", 2.5, nw.round))
    near(-4, on("f32", -3.5, nw.round))
    near(2, on("f32", 0.25, nw.rsqrt))
    near(0.75, on("f32", 2, function(v) return nw.clamp(v, -1, 0.75) end))
    assert.equal(-3, on("i32", -7, function(v) return nw.clamp(v, -3, 12) end))
    near(2, on("f32", 2, function(v) return nw.maximum(v, 1, 0.5) end))
    near(0.5, on("f32", 2, function(v) return nw.minimum(v, 1, 0.5) end))
    near(1, on("f32", 2, function(v) return nw.min(v, 1) end))
    near(3, on("f32", 2, function(v) return nw.max(v, 3) end))
  end)

  it("are cast with saturation, and NaN becomes 0", function()
    assert.equal(3, on("f32", 3.9, function(v) return nw.cast(v, "i32") end))
    assert.equal(127, on("f32", 1e9, nw.i8))
    assert.equal(0, on("f32", 0 / 0, nw.i32))
    assert.equal(2.0, on("i32", 2, nw.f32))
    for _, dtype in ipairs(nw.dtypes()) do
      local e = nw[dtype](nw.placeholder({1}, "f32", "A")(0))
      assert.equal(dtype, e.dtype)
    end
    fails("did you mean 'f32'", "invalid", function() return nw.cast(A(0, 0), "f23") end)
  end)

  it("keep their dtype if they simplify to a constant", function()
    local W, U = nw.placeholder({1}, "i64", "W"), nw.placeholder({1}, "u32", "U")
    for _, nothing in ipairs {W(0) * 0, W(0) - W(0), W(0) % 1, U(0) * nw.i16(0), nw.select(nw.lt(U(0), 3), W(0) * 0, W(0) * 0)} do
      local T = nw.compute({1}, function(_) return nothing - (U(0) + U(0)) end, "T")
      assert.equal("i64", T.dtype)
    end
    local T = nw.compute({1}, function(_) return U(0) * nw.i16(0) - (U(0) + U(0)) end, "T")
    assert.equal(-6, nw.evaluate(T, {nw.tensor({3}, "u32")})[1]:getflat(1))
  end)

  it("promote dtypes by the usual rules", function()
    assert.equal("f32", nw.promote("f32", "i64"))
    assert.equal("i64", nw.promote("i32", "i64"))
    assert.equal("f64", nw.promote("f32", "f64"))
  end)

  it("evaluate select lazily", function()
    local P = nw.placeholder({4}, "f32", "P")
    local T = nw.compute({6}, function(i)
      return nw.select(nw.all(nw.ge(i, 1), nw.lt(i, 5)), P(i - 1), 0)
    end, "T")
    local out = nw.evaluate(T, {nw.tensor {1, 2, 3, 4}})[1]
    assert.same({0, 1, 2, 3, 4, 0}, out:totable())
  end)

  it("name invalid operands", function()
    fails("expected an expression or a number, got a string", "type", function() return A(0, 0) + "x" end)
    fails("A%(i, %.%.%.%)", "type", function() return A(0, 0) + A end)
    fails("got a table", "type", function() return nw.exp {} end)
    fails("exp takes %(x%): argument 2, a number, is one too many", "invalid", function() return nw.exp(1, 2) end)
  end)

  it("include index variables for layouts", function()
    assert.equal("_0", tostring(nw.variable "_0"))
  end)
end)

describe("tensors", function()
  it("have a name, a dtype and a shape", function()
    local A = nw.placeholder({4, 5}, "f64", "A")
    assert.equal("A", A.name)
    assert.equal("f64", A.dtype)
    assert.same({4, 5}, A:shape())
    assert.equal(2, A.ndim)
    assert.is_true(A.is_input)
    assert.equal("A: f64[4, 5]", tostring(A))
  end)

  it("are f32 by default, and take names in a table", function()
    local A = nw.placeholder({4}, {name = "X"})
    assert.equal("f32", A.dtype)
    assert.equal("X", A.name)
    fails("did you mean 'dtype'", "invalid", function() return nw.placeholder({4}, {dtpye = "f32"}) end)
  end)

  it("with the same name get different names when they are printed", function()
    local a, b, k = nw.placeholder {4, 4}, nw.placeholder {4, 4}, nw.reduce_axis(4, "k")
    local C = nw.compute({4, 4}, function(i, j) return nw.sum(b(k, j) * a(i, k) + a(k, j), k) end, "C")
    assert.equal("C[i, j] = sum(A_1[k, j]*A[i, k] + A[k, j], k)", tostring(C))
    assert.truthy(tostring(nw.schedule(C)):find("A_1[k, j]*A[i, k] + A[k, j]", 1, true))
  end)

  it("are read with parentheses, not with brackets", function()
    local A = nw.placeholder({4, 4}, "f32", "A")
    fails("`A%[1%]` does not read an element in Lua.*`A%(1%)`", "invalid", function() return A[1] end)
    fails("`A%[1%]%[2%]` does not read an element in Lua.*`A%(1, 2%)`", "invalid", function() return A[1][2] end)
    fails("use parentheses to read elements: A%(i, j%)", "invalid", load("local t = ... return t[1]", "=elsewhere"), A)
    fails("did you mean 'shape'", "invalid", function() return A.shap end)
    fails("A", nil, function() return A(1) end)
    fails("A", nil, function() return A(1, 2, 3) end)
  end)

  it("refuse reads out of range in the line of the read", function()
    local A = nw.placeholder({4}, "f32", "A")
    local err = fails("A", "range", function() local _ = nw.compute({4}, function(i) return A(i + 1) end, "T") end)
    assert.truthy(err.source:find "language_spec.lua")
    fails("A", "range", function() return nw.compute({5}, function(i) return A(i) end, "T") end)
  end)

  it("accept clamped gathers", function()
    local A, I = nw.placeholder({4}, "f32", "A"), nw.placeholder({3}, "i32", "I")
    local T = nw.compute({3}, function(i) return A(nw.min(nw.max(I(i), 0), 3)) end, "T")
    local out = nw.evaluate(T, {nw.tensor {10, 20, 30, 40}, nw.tensor({-5, 2, 9}, "i32")})[1]
    assert.same({10, 30, 40}, out:totable())
  end)
end)

describe("compute", function()
  it("names its axes like the parameters of the function", function()
    local A = nw.placeholder({4, 4}, "f32", "A")
    local T = nw.compute({4, 4}, function(row, col) return A(row, col) end, "T")
    assert.equal("T[row, col] = A[row, col]", tostring(T))
  end)

  it("makes several tensors from several results", function()
    local A = nw.placeholder({3}, "f32", "A")
    local S, D = nw.compute({3}, function(i) return A(i) + 1, A(i) * 2 end, "P")
    local out = nw.evaluate({S, D}, {nw.tensor {1, 2, 3}})
    assert.same({2, 3, 4}, out[1]:totable())
    assert.same({2, 4, 6}, out[2]:totable())
  end)

  it("passes on errors of the function", function()
    local err = support.error_of(nw.compute, {4}, function(_) error "my own" end)
    assert.truthy(err:find "my own")
    local after = nw.compute({4}, function(i) return nw.f32(i) end, "T")
    assert.equal("f32", after.dtype)
  end)

  it("says what is wrong with what the function returned", function()
    local A = nw.placeholder({4}, "f32", "A")
    fails("returned nothing.*return", "type", nw.compute, {4}, function(_) end)
    fails("returned nothing", "type", nw.compute, {4}, function(_) return nil end)
    fails("returned a string", "type", nw.compute, {4}, function(_) return "x" end)
    fails("returned a tensor.*A%(i", "type", nw.compute, {4}, function(_) return A end)
    fails("returned a table", "type", nw.compute, {4}, function(_) return {} end)
    fails("expected a function", "invalid", nw.compute, {4}, "x")
    fails("takes 2 parameters.*1 dimension", "invalid", nw.compute, {4}, function(_, _) return 0 end)
  end)

  it("accepts numbers as constants", function()
    assert.equal("i32", nw.compute({4}, function(_) return 7 end, "T").dtype)
    assert.equal("f32", nw.compute({4}, function(_) return 0.5 end, "T").dtype)
    assert.equal(7, value_of(function() return 7 end))
  end)

  it("refuses impossible shapes", function()
    fails("negative", nil, nw.compute, {-1}, function(i) return nw.f32(i) end)
    fails("shape", nil, nw.placeholder, {"x"}, "f32", "A")
    fails("shape", nil, nw.placeholder, {1.5}, "f32", "A")
    fails("shape: expected a whole number, an expression or a list, got a string", "invalid", nw.placeholder, "x")
  end)

  it("refuses shapes that no memory can hold", function()
    fails("more than 2^63 bytes", "range", nw.placeholder, {1 << 62, 4})
    fails("more than 2^63 bytes", "range", nw.compute, {1 << 62, 4}, function(i, j) return i + j end)
    assert.equal("A", nw.placeholder({1 << 60, 1}, "f32").name)
  end)

  it("works with sizes 0 and 1", function()
    for _, n in ipairs {0, 1} do
      local A = nw.placeholder({n}, "f32", "A")
      local T = nw.compute({n}, function(i) return A(i) + 1 end, "T")
      local out = nw.evaluate(T, {nw.full({n}, 2)})[1]
      assert.equal(n, out:count())
      if n == 1 then assert.equal(3, out:getflat(1)) end
    end
  end)

  it("does not let a tensor read itself", function()
    local T
    local ok = pcall(function()
      T = nw.compute({4}, function(i) return T(i) end, "T")
    end)
    assert.is_false(ok)
  end)
end)

describe("reductions", function()
  local data = nw.tensor {{1, 5, 2}, {7, 7, 3}}

  local function reduce(make)
    local A = nw.placeholder({2, 3}, "f32", "A")
    local k = nw.reduce_axis(3, "k")
    local T = table.pack(nw.compute({2}, function(i) return make(A(i, k), k) end, "T"))
    T.n = nil
    return nw.evaluate(T, {data})
  end

  it("are sum, prod, min, max", function()
    assert.same({8, 17}, reduce(nw.sum)[1]:totable())
    assert.same({10, 147}, reduce(nw.prod)[1]:totable())
    assert.same({1, 3}, reduce(nw.min)[1]:totable())
    assert.same({5, 7}, reduce(nw.max)[1]:totable())
  end)

  it("are argmin and argmax, with ties at the lowest index", function()
    local least, greatest = reduce(nw.argmin), reduce(nw.argmax)
    assert.same({{1, 3}, {0, 2}}, {least[1]:totable(), least[2]:totable()})
    assert.same({{5, 7}, {1, 0}}, {greatest[1]:totable(), greatest[2]:totable()})
    assert.equal("i64", greatest[2].dtype)
  end)

  it("accept several axes, and an axis with a begin and an end", function()
    local A = nw.placeholder({2, 3}, "f32", "A")
    local i, k = nw.reduce_axis(2, "i"), nw.reduce_axis({1, 3}, "k")
    local T = nw.compute({1}, function(_) return nw.sum(A(i, k), i, k) end, "T")
    assert.same({17}, nw.evaluate(T, {data})[1]:totable())
    local U = nw.compute({1}, function(_) return nw.sum(A(i, k), {i, k}) end, "U")
    assert.same({17}, nw.evaluate(U, {data})[1]:totable())
  end)

  it("distinguish the minimum of two values from the minimum over an axis", function()
    local A = nw.placeholder({2, 3}, "f32", "A")
    local k = nw.reduce_axis(3, "k")
    local T = nw.compute({2}, function(i) return nw.sum(A(i, nw.min(i, k)), k) end, "T")
    assert.same({3, 21}, nw.evaluate(T, {data})[1]:totable())
    local U = nw.compute({2}, function(i) return nw.max(A(i, k), {k}) end, "U")
    assert.same({5, 7}, nw.evaluate(U, {data})[1]:totable())
  end)

  it("name their axis", function()
    local k = nw.reduce_axis(3, "k")
    assert.equal("k", k.name)
    assert.equal("axis k", tostring(k))
    assert.equal("i64", k.var.dtype)
  end)

  it("need reduce axes", function()
    fails("expected a reduce axis or a list, got a number", "invalid", nw.sum, 1, 2)
    fails("expected a reduce axis, got nil", "invalid", nw.sum, 1)
    fails("argument 3: expected a reduce axis, got a table", "invalid", nw.sum, 1, nw.reduce_axis(2, "k"), {})
  end)

  it("are the whole body of a compute", function()
    local A, k = nw.placeholder({4}, "f32", "A"), nw.reduce_axis(4, "k")
    fails(".", nil, nw.compute, {1}, function(_) return nw.sum(A(k), k) + 1 end)
  end)
end)

describe("scan", function()
  local data = nw.tensor {{1, 2}, {3, 4}, {5, 6}}

  it("can be written as in TVM", function()
    local A = nw.placeholder({3, 2}, "f32", "A")
    local state = nw.scan_state({3, 2}, "f32", "state")
    local first = nw.compute({1, 2}, function(_, x) return A(0, x) end, "first")
    local update = nw.compute({3, 2}, function(t, x) return state(t - 1, x) + A(t, x) end, "update")
    local S = nw.scan(first, update, state, "S")
    assert.same({{1, 2}, {4, 6}, {9, 12}}, nw.evaluate(S, {data})[1]:totable())
  end)

  it("can be written with functions", function()
    local A = nw.placeholder({3, 2}, "f32", "A")
    local S = nw.scan {shape = {3, 2}, name = "S", init = function(t, x) return A(t, x) end,
      step = function(S, t, x) return S(t - 1, x) + A(t, x) end}
    assert.equal("S", S.name)
    assert.same({{1, 2}, {4, 6}, {9, 12}}, nw.evaluate(S, {data})[1]:totable())
  end)

  it("refuses an unknown option", function()
    fails("did you mean 'shape'", "invalid", nw.scan, {shpae = {3}})
  end)

  it("refuses reads of later times", function()
    local A = nw.placeholder({1, 2}, "f32", "A")
    fails(".", nil, nw.scan, {shape = {3, 2}, init = function(t, x) return A(t, x) end,
      step = function(S, t, x) return S(t + 1, x) end})
  end)
end)

describe("sizes", function()
  it("may be symbolic", function()
    local M = nw.size "M"
    local A = nw.placeholder({M}, "f32", "A")
    local T = nw.compute({M}, function(i) return A(i) * 2 end, "T")
    assert.equal("A: f32[M]", tostring(A))
    assert.equal(M, A:shape()[1])
    assert.is_true(nw.size "N" ~= M)
    assert.same({2, 4, 6}, nw.evaluate(T, {nw.tensor {1, 2, 3}})[1]:totable())
  end)

  it("carry facts", function()
    local M = nw.size("M", {min = 16, multiple = 16})
    nw.fact(M, nw.le(M, 1024))
    local A = nw.placeholder({M}, "f32", "A")
    local s = nw.schedule(nw.compute({M}, function(i) return A(i) end, "T"))
    assert.truthy(s:text():find "M %% 16")
    fails("did you mean 'multiple'", "invalid", nw.size, "M", {multipel = 2})
    fails("expected a string", "invalid", nw.size)
  end)
end)
