--- Tests reductions in two stages, and reductions with atomic updates.
local support = require "support"
local nw = require "nestwright"

local function filled(shape, dtype)
  local a = nw.zeros(shape, dtype)
  for n = 1, a:count() do a:setflat(n, (5 * n + n // 7) % 7 - (dtype:sub(1, 1) == "u" and 0 or 3)) end
  return a
end

-- Checks that all ways of running the schedule give the result of the definition.
local function same_as_naive(s, outputs, shapes)
  local data = {}
  for n, t in ipairs(s:inputs()) do data[n] = filled(shapes and shapes[n] or t.dims, t.dtype) end
  support.agree(s, outputs, data)
end

local function fold(kind, dtype, m, n)
  local A = nw.placeholder({m or 5, n or 13}, dtype, "A")
  local k = nw.reduce_axis(n or 13, "k")
  local S, I = nw.compute({m or 5}, function(i) return nw[kind](A(i, k), k) end, "S")
  return nw.schedule(I and {S, I} or {S}), S, I and {S, I} or {S}
end

describe("rfactor", function()
  for _, kind in ipairs {"sum", "prod", "min", "max", "argmin", "argmax"} do
    for _, dtype in ipairs(kind == "sum" and {"f32", "f16", "u8"} or {"f32", "i32"}) do
      it(("makes partial results of a %s of %s, along the outer or the inner loop of a split"):format(kind, dtype), function()
        for part = 1, 2 do
          local s, S, outputs = fold(kind, dtype)
          local loops = {s:split("k", 4)}
          local partial = s:rfactor(S, loops[part])
          assert.are.equal(s:loops(partial)[1].name, "i")
          s:parallel(loops[part])
          same_as_naive(s, outputs)
        end
      end)
    end
  end

  it("is possible for the only loop of a reduction", function()
    local s, S, outputs = fold("sum", "f32")
    s:rfactor(S, "k")
    s:parallel "k"
    same_as_naive(s, outputs)
  end)

  it("puts the new dimension at the requested position", function()
    local C = select(2, support.gemm(6, 5, 13))
    for axis, shape in pairs {[0] = "[4, 6, 5]", [1] = "[6, 4, 5]", [-1] = "[6, 5, 4]", [-3] = "[4, 6, 5]"} do
      local s = nw.schedule(C)
      local _, k_i = s:split("k", 4)
      s:rfactor(C, k_i, {factor_axis = axis})
      assert.truthy(s:text():find("temp C_rf: f32" .. shape, 1, true), s:text())
    end
  end)

  it("keeps ties at the lowest position, also with empty parts", function()
    for _, n in ipairs {2, 5} do
      local s, S, outputs = fold("argmin", "f32", 3, n)
      local _, k_i = s:split("k", 4)
      s:rfactor(S, k_i)
      local a = nw.zeros({3, n}, "f32")
      for i = 1, a:count() do a:setflat(i, 1 / 0) end
      for _, got in ipairs {nw.evaluate(outputs, {a}), nw.interpret(s, {a}), {s:build()(a)}} do
        assert.are.equal(0, got[2]:getflat(1))
      end
    end
  end)

  it("works for any extent, also 0", function()
    local K = nw.size("K", {min = 0})
    local A = nw.placeholder({4, K}, "f32", "A")
    local k = nw.reduce_axis(K, "k")
    local S = nw.compute({4}, function(i) return nw.sum(A(i, k), k) end, "S")
    for part = 1, 2 do
      local s = nw.schedule(S)
      local loops = {s:split("k", 4)}
      s:rfactor(S, loops[part])
      s:parallel(loops[part])
      for _, n in ipairs {0, 1, 3, 4, 5, 17} do same_as_naive(s, {S}, {{4, n}}) end
    end
  end)

  it("does not move other stages, and stores only the elements that are used", function()
    local s, C, A = support.gemm(8, 8, 13)
    local i_o, j_o, i_i, j_i = s:tile("i", "j", 4, 4)
    local k_o, k_i = s:split("k", 4)
    s:reorder(i_o, j_o, k_o, i_i, j_i, k_i)
    s:cache_read(A, "local", {C}, {at = k_o})
    s:rfactor(C, k_i)
    assert.truthy(s:text():find("alloc C_rf[0..4, 4*i_o..4*i_o + 4, 4*j_o..4*j_o + 4]", 1, true), s:text())
    s:vectorize(j_i)
    same_as_naive(s, {C})
  end)

  it("notes that floats are summed in another order", function()
    local s, C = support.gemm(8)
    s:rfactor(C, (s:split("k", 4)))
    assert.truthy(s:notes():find "rounding may change")
    local t, S = fold("max", "f32")
    t:rfactor(S, "k")
    assert.is_nil(t:notes():find "rounding")
  end)

  it("notes the new order for a trimmed reduction, and if only the second of several outputs is a float", function()
    local A, D = nw.placeholder({16}, "f64", "A"), nw.placeholder({16}, "i32", "D")
    local k, l = nw.reduce_axis(16, "k"), nw.reduce_axis(16, "l")
    local X, Y = nw.compute({}, function() return nw.sum(D(k), k), nw.sum(A(k), k) end, "X")
    local Z = nw.compute({}, function() return nw.sum(nw.select(nw.le(l, 11), D(l), 0), l) end, "Z")
    local s = nw.schedule {X, Y, Z}
    s:decompose_reduction(Z, "l")
    s:trim "l"
    s:split("k", {factor = 7, tail = "cut"})
    assert.is_false(s:rounds())
    s:tile({"k_o", "k_i"}, {4, 3})
    assert.is_true(s:rounds())
  end)

  it("notes that a product becomes part of an fma if the condition becomes a constant", function()
    local function triangle(dtype, other)
      local L, B = nw.placeholder({6, 6}, dtype, "L"), nw.placeholder({6}, dtype, "B")
      local k = nw.reduce_axis(6, "k")
      return nw.schedule(nw.compute({6}, function(i) return nw.sum(nw.select(nw.le(k, i), L(i, k) * B(k), other), k) end, "S"))
    end
    local function cut(s)
      s:split("k", 2)
      assert.is_false(s:rounds())
      s:partition "k_o"
      return s:rounds()
    end
    assert.is_true(cut(triangle("f64", 1)))
    assert.is_false(cut(triangle("i32", 1)))
    local s = triangle("f64", 1)
    s:annotate("S", "fma", "never")
    assert.is_false(cut(s))
    assert.is_false(cut(triangle("f64", 0))) -- the product is part of an fma in any case
    s = triangle("f32", 0)
    s:decompose_reduction("S", "k")
    s:trim "k"
    assert.is_false(s:rounds())
  end)

  it("notes that the pieces of a float sum are added in another order", function()
    for dtype, says in pairs {f64 = true, i32 = false} do
      local s = fold("sum", dtype)
      s:decompose_reduction("S", "k")
      s:split("k", 2, {tail = "cut"})
      assert.is_false(s:rounds())
      s:reorder_stmts("S", "S.tail")
      assert.equal(says, s:rounds(), dtype)
    end
  end)

  it("is suggested if a reduction cannot run in parallel", function()
    local s = support.gemm(64)
    local k_o = s:split("k", 16)
    local err = support.error_of(s.parallel, s, k_o)
    assert.truthy(table.concat(err.refusal.alternatives, "\n"):find('s:rfactor("C", "k_o")', 1, true))
  end)

  it("refuses reductions without partial results", function()
    local s, C, A = support.gemm(8)
    support.fails("i is not a reduction loop", "refused", s.rfactor, s, C, "i")
    support.fails("no stage", nil, s.rfactor, s, A, "k")
    s:decompose_reduction(C, "k")
    support.fails("its init was split off", "refused", s.rfactor, s, C, "k")
    local t, D = support.gemm(8)
    local f = t:fuse("j", "k")
    support.fails("runs over both the reduction and the output", "refused", t.rfactor, t, D, f)
    local u, E = support.gemm(8, 8, 9)
    u:split("k", {factor = 4, tail = "cut"})
    support.fails("2 blocks write it", "refused", u.rfactor, u, E, "k_i")
  end)

  it("names an invalid argument, and leaves the schedule unchanged", function()
    local s, C = support.gemm(8)
    local other = support.gemm(8)
    local before = s:text()
    for _, args in ipairs {
      {}, {C}, {"nothing", "k"}, {C, "nothing"}, {C, 7}, {7, "k"}, {C, {}}, {C, other:loops()[3]},
      {C, "k", {factor_axis = 3}}, {C, "k", {factor_axis = -4}}, {C, "k", {factor_axis = 1 << 62}},
      {C, "k", {factor_axis = "last"}}, {C, "k", {axis = 1}},
    } do
      local err = support.error_of(s.rfactor, s, table.unpack(args))
      assert.are.equal("table", type(err))
      assert.are.equal(before, s:text())
    end
    local k_o = s:split("k", 4)
    s:rfactor(C, k_o)
    support.fails("k_o", nil, s.rfactor, s, C, k_o)
  end)
end)

describe("atomic", function()
  -- Runs a reduction loop of S in threads, with atomic updates.
  local function along(s, S, loop)
    s:atomic(S)
    s:parallel(loop)
  end

  for _, kind in ipairs {"sum", "prod", "min", "max"} do
    local all = {"f32", "f64", "i32", "i64", "u8", "i16", "f16", "bf16"}
    for _, dtype in ipairs(kind == "sum" and all or {"f32", "i16"}) do
      it(("lets threads share a %s of %s"):format(kind, dtype), function()
        local s, S, outputs = fold(kind, dtype, 3, 24)
        along(s, S, (s:split("k", 4)))
        local data = nw.zeros({3, 24}, dtype)
        for n = 1, data:count() do data:setflat(n, kind == "prod" and 1 + n % 13 // 12 or n % 5) end
        local expected = nw.evaluate(outputs, {data})[1]
        for _, got in ipairs {nw.interpret(s, {data})[1], nw.interpret(s, {data}, {lowered = true})[1]} do
          for n = 1, 3 do assert.are.equal(expected:getflat(n), got:getflat(n)) end
        end
        local kernel = s:build {threads = 2}
        for _ = 1, 20 do
          local got = kernel(data)
          for n = 1, 3 do assert.are.equal(expected:getflat(n), got:getflat(n)) end
        end
      end)
    end
  end

  it("loses no update with many threads", function()
    for _, dtype in ipairs {"i32", "f32"} do
      local s, S = fold("sum", dtype, 1, 200000)
      along(s, S, (s:split("k", 100)))
      local ones = nw.zeros({1, 200000}, dtype)
      for n = 1, ones:count() do ones:setflat(n, 1) end
      local kernel = s:build {threads = 4}
      for _ = 1, 5 do assert.are.equal(200000, kernel(ones):getflat(1)) end
    end
  end)

  it("executes the init before the threads, or is refused", function()
    local s, C = support.gemm(8)
    s:atomic(C)
    s:parallel "k"
    same_as_naive(s, {C})
    local t, D = support.gemm(8)
    t:atomic(D)
    local f = t:fuse("j", "k")
    local err = support.fails("cannot run j_k in parallel", "refused", t.parallel, t, f)
    assert.are.equal("reduction", err.refusal.kind)
    t:undo()
    t:decompose_reduction(D, "j")
    t:parallel(t:fuse("j", "k"))
    same_as_naive(t, {D})
  end)

  it("works together with rfactor, and for any extent", function()
    local K = nw.size("K", {min = 0})
    local A = nw.placeholder({4, K}, "i32", "A")
    local k = nw.reduce_axis(K, "k")
    local S = nw.compute({4}, function(i) return nw.sum(A(i, k), k) end, "S")
    local s = nw.schedule(S)
    local _, k_i = s:split("k", 4)
    s:rfactor(S, k_i)
    s:vectorize(k_i)
    s:atomic(S)
    local loops = s:loops(S)
    s:parallel(loops[#loops])
    for _, n in ipairs {0, 1, 5, 16} do same_as_naive(s, {S}, {{4, n}}) end
  end)

  it("is the same after printing and parsing, and notes that rounding may change", function()
    local s, C = support.gemm(8)
    s:atomic(C)
    assert.truthy(s:notes():find "rounding may differ from run to run")
    assert.truthy(tostring(s):find("atomic C[i, j] += ", 1, true), tostring(s))
    assert.truthy(s:text():find("atomic block C of C", 1, true))
    assert.is_true(s:reparses())
    assert.truthy(tostring(s:show "lowered"):find("atomic C[", 1, true))
    local t, S = fold("max", "f32")
    t:atomic(S)
    assert.are.equal("", t:notes())
  end)

  it("is suggested if a reduction cannot run in parallel", function()
    local s = support.gemm(64)
    local err = support.error_of(s.parallel, s, "k")
    assert.truthy(table.concat(err.refusal.alternatives, "\n"):find('s:atomic "C"', 1, true))
  end)

  it("refuses updates that no processor can make atomic", function()
    local s, V = fold("argmin", "f32")
    local function why(...) return support.fails("cannot", "refused", ...).refusal.why end
    assert.truthy(why(s.atomic, s, V):find "two elements at a time")
    local t, C = support.gemm(8)
    t:reorder("k", "i", "j")
    t:vectorize "j"
    assert.truthy(why(t.atomic, t, C):find "lanes of j")
    local u, D, A = support.gemm(8)
    u:atomic(D)
    assert.truthy(why(u.vectorize, u, "j"):find "lanes of j")
    support.fails("already atomic", "refused", u.atomic, u, D)
    local before = u:text()
    for _, what in ipairs {"nothing", 7, {}, A, u:loops()[1]} do
      assert.are.equal("table", type(support.error_of(u.atomic, u, what)))
    end
    support.fails("^atomic needs stage", "invalid", u.atomic, u)
    support.fails("^atomic takes %(stage%); got 2 arguments", "invalid", u.atomic, u, D, 1)
    assert.are.equal(before, u:text())
    local B = nw.placeholder({8}, "f32", "B")
    local Z = nw.compute({8}, function(i) return B(i) + 1 end, "Z")
    local v = nw.schedule(Z)
    support.fails("it is not a reduction", "refused", v.atomic, v, Z)
  end)
end)
