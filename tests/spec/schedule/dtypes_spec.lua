--- Tests set_dtype: temporaries that are stored in another dtype.
local nw = require "nestwright"
local support = require "support"
local fails = support.fails

local FLOATS = {"f16", "bf16", "f32", "f64"}
local INTEGERS = {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"}

-- Makes P = value(A) and Q, which subtracts elements of P. With `stored`, the definition of Q rounds these elements to this dtype.
local function pair(dtype, value, stored)
  local A = nw.placeholder({24}, dtype, "A")
  local P = nw.compute({24}, function(i) return value(A(i), i) end, "P")
  local function element(i) return stored and nw.cast(nw.cast(P(i), stored), P.dtype) or P(i) end
  local Q = nw.compute({20}, function(i) return element(i) - element(i + 4) end, "Q")
  return nw.schedule(Q), Q, P
end

local function bits(a)
  local out = {}
  for i = 1, a:count() do out[i] = a:getflat(i) end
  return out
end

-- Returns the numbers that the schedule computes, after a check that its interpreter, its lowered program and its machine code
-- give the same bits.
local function results(s, dtype)
  local A = nw.zeros({24}, dtype)
  for i = 1, 24 do
    local v = (i * 7919) % 251 - 125
    A:setflat(i, dtype:find "f" and v * 1.0078740157480315 / 3 or dtype:sub(1, 1) == "u" and math.abs(v) or v)
  end
  local want = bits(nw.interpret(s, {A})[1])
  assert.same(want, bits(nw.interpret(s, {A}, {lowered = true})[1]))
  assert.same(want, bits((s:build()(A))))
  return want
end

describe("set_dtype", function()
  it("rounds stores and widens loads, as a definition with casts does", function()
    for _, dtype in ipairs(FLOATS) do
      for _, stored in ipairs(FLOATS) do
        if stored ~= dtype then
          local function value(x, i) return x * 2 - i end
          local s, _, P = pair(dtype, value)
          s:set_dtype(P, stored)
          local rounded = pair(dtype, value, stored)
          assert.same(results(rounded, dtype), results(s, dtype), dtype .. " as " .. stored)
          local exact = stored == "f64" or stored == "f32" and dtype ~= "f64"
          assert.equal(not exact, s:rounds(), dtype .. " as " .. stored)
          assert.equal(not exact, s:notes():find "rounding may change: P is stored as" ~= nil)
          assert.truthy(s:text():find("temp P: " .. stored, 1, true))
          assert.is_true(s:reparses())
        end
      end
    end
  end)

  it("rounds arithmetic on halves, which is computed in f32", function()
    for _, half in ipairs {"bf16", "f16"} do
      local A = nw.placeholder({24}, half, "A")
      local Z = nw.compute({24}, function(i) return nw.f32(A(i) * nw.cast(1.5, half) + A(i)) end, "Z")
      local s = nw.schedule(Z)
      s:set_dtype(s:cache_write(Z, "global"), half)
      assert.is_true(s:rounds(), half)
      local same = nw.schedule(nw.compute({24}, function(i) return nw.f32(-A(i)) end, "Z"))
      same:set_dtype(same:cache_write("Z", "global"), half)
      assert.is_false(same:rounds(), half)
    end
  end)

  it("stores a copy in half the bytes, while sums keep their dtype", function()
    local s, C, A = support.gemm(32)
    s:split("i", 8)
    local copy = s:cache_read(A, "local", {C}, {at = "i_o"})
    s:set_dtype(copy, "bf16")
    assert.truthy(tostring(s):find("C[8*i_o + i_i, j] += f32(A_local[8*i_o + i_i, k])*B[k, j]", 1, true))
    assert.is_true(s:rounds())
    assert.truthy(s:check())
    s:vectorize "j"
    s:parallel "i_o"
    assert.truthy(s:check())
  end)

  it("stores integers in another dtype only if all values are proven to fit", function()
    -- {dtype of the input, value, dtypes in which P may be stored}
    for _, case in ipairs {
      {"u8", function(x) return nw.cast(x, "i32") end, "f16 bf16 f32 f64 i16 i64 u8 u16 u32 u64"},
      {"i8", function(x) return nw.cast(x, "i32") * 2 end, "f16 bf16 f32 f64 i16 i64"},
      {"i8", function(x) return nw.cast(x, "i32") * 3 end, "f16 f32 f64 i16 i64"},
      {"i32", function(x) return nw.clamp(x, -100, 27) end, "f16 bf16 f32 f64 i8 i16 i64"},
      {"i32", function(x) return nw.clamp(x, 0, 65535) end, "f32 f64 i64 u16 u32 u64"},
      {"i32", function(x) return x end, "f64 i64"},
      {"i32", function(x) return x + 1 end, "f64 i64"},
      {"i64", function(x) return x * 2 end, ""},
      {"i32", function(x, i) return nw.cast(nw.select(nw.gt(x, 5), i, 23 - i), "i32") end,
        "f16 bf16 f32 f64 i8 i16 i64 u8 u16 u32 u64"},
      {"i32", function(x, i) return nw.select(nw.gt(x, 5), i, -7) end, "f16 bf16 f32 f64 i8 i16 i32"},
      {"u16", function(x) return x % 200 end, "f16 bf16 f32 f64 i16 i32 i64 u8 u32 u64"},
      {"i32", function(x) return nw.cast(nw.gt(x, 3), "i32") end, "f16 bf16 f32 f64 i8 i16 i64 u8 u16 u32 u64"},
      {"u64", function(x) return x & 255 end, "f16 bf16 f32 f64 i16 i32 i64 u8 u16 u32"},
      {"u64", function(x) return x end, ""},
    } do
      local dtype, value, want = table.unpack(case)
      local fit = {}
      local plain = pair(dtype, value)
      for _, list in ipairs {FLOATS, INTEGERS} do
        for _, stored in ipairs(list) do
          local s, _, P = pair(dtype, value)
          if P.dtype ~= stored then
            local ok, err = pcall(s.set_dtype, s, P, stored)
            if ok then
              fit[#fit + 1] = stored
              assert.is_false(s:rounds())
              assert.same(results(plain, dtype), results(s, dtype))
            else
              assert.truthy(tostring(err):find(("P stores values of %s that %s may not have"):format(P.dtype, stored), 1, true))
            end
          end
        end
      end
      assert.equal(want, table.concat(fit, " "))
    end
  end)

  it("stores floats as integers only if they were converted from them", function()
    local s, _, P = pair("u8", function(x) return nw.cast(x, "f32") end)
    s:set_dtype(P, "u8")
    assert.is_false(s:rounds())
    assert.same(results(pair("u8", function(x) return nw.cast(x, "f32") end), "u8"), results(s, "u8"))
    local t, _, R = pair("f32", function(x) return x end)
    fails("cannot store P as i32", "refused", t.set_dtype, t, R, "i32")
  end)

  it("does not mark floats that fit because they were widened before", function()
    local A = nw.placeholder({24}, "bf16", "A")
    local P = nw.compute({24}, function(i) return nw.cast(A(i), "f32") end, "P")
    local Q = nw.compute({24}, function(i) return P(i) * 3 end, "Q")
    for stored, rounds in pairs {bf16 = false, f16 = true} do
      local s = nw.schedule(Q)
      s:set_dtype(P, stored)
      assert.equal(rounds, s:rounds())
    end
  end)

  it("is refused for inputs, outputs and results of reductions, and offers a copy", function()
    local s, C, A = support.gemm(16)
    local err = fails("it is an input", "refused", s.set_dtype, s, A, "bf16")
    assert.same({'s:cache_read("A", "global")'}, err.refusal.alternatives)
    err = fails("it is an output", "refused", s.set_dtype, s, C, "bf16")
    assert.same({'s:cache_write("C", "global")'}, err.refusal.alternatives)
    local X, k = nw.placeholder({8, 8}, "f32", "X"), nw.reduce_axis(8, "k")
    local R = nw.compute({8}, function(i) return nw.sum(X(i, k), k) end, "R")
    local Y = nw.compute({8}, function(i) return R(i) + 1 end, "Y")
    local t = nw.schedule(Y)
    err = fails("it is the result of a reduction", "refused", t.set_dtype, t, R, "bf16")
    assert.equal('s:cache_write("R", "global")', err.refusal.alternatives[1])
    t:cache_write(R, "global")
    t:set_dtype(R, "bf16")
    assert.truthy(t:text():find "temp R_global: f32")
    assert.truthy(tostring(t):find("R[i] = bf16(R_global[i])", 1, true))
    assert.truthy(t:check())
    fails("it is already stored as bf16", "refused", t.set_dtype, t, R, "bf16")
    for _, bad in ipairs {"f8", "", "bool"} do fails("dtype cannot be", "invalid", t.set_dtype, t, R, bad) end
    fails("no tensor", nil, t.set_dtype, t, "Z", "f16")
    local u, _, P = pair("i32", function(x) return nw.clamp(x, 0, 100) * 3 end)
    err = fails("cannot store P as i8", "refused", u.set_dtype, u, P, "i8")
    assert.same({'s:set_dtype("P", "i16")', 's:set_dtype("P", "u16")', 's:set_dtype("P", "u32")'}, err.refusal.alternatives)
  end)

  it("can be followed by other steps, and by another dtype", function()
    local A = nw.placeholder({40}, "f32", "A")
    local P = nw.compute({40}, function(i) return A(i) * 1.5 end, "P")
    local Q = nw.compute({36}, function(i) return P(i) + P(i + 2) + P(i + 4) end, "Q")
    local function stored(s) s:set_dtype(P, "bf16") end
    local function inlined(s) s:compute_inline(P) end
    local s = nw.schedule(Q)
    stored(s)
    local input = nw.zeros({40}, "f32")
    for i = 1, 40 do input:setflat(i, 1 / i) end
    local want = bits(nw.interpret(s, {input})[1])
    for _, steps in ipairs {
      {stored, inlined}, {stored, function(t) t:compute_at(P, t[Q]:loops()[1]) end},
      {function(t) t:compute_at(P, t[Q]:loops()[1]) end, stored},
      {function(t) t:compute_at(P, t[Q]:loops()[1]) t:store_at(P) end, stored, function(t) t:rolling_buffer(P) end},
      {stored, function(t) t:split("i", 16) t:vectorize "i_i" end},
      {stored, function(t) t:cache_read(P, "global") end}, {stored, function(t) t:cache_write(P, "global") end},
      {stored, function(t) t:set_dtype(P, "f32") end}, {stored, function(t) t:set_dtype(P, "f64") end},
      {stored, function(t) t:storage_align(P, 0, 16) end}, {stored, function(t) t:set_scope(P, "local") end},
    } do
      local t = nw.schedule(Q)
      for _, step in ipairs(steps) do step(t) end
      assert.same(want, bits(nw.interpret(t, {input})[1]), t:trace())
      assert.same(want, bits((t:build()(input))), t:trace())
      assert.is_true(t:reparses())
      local u, v = nw.schedule(Q), nw.schedule(Q)
      u:replay(t:trace "json")
      assert(load("local s = ...\n" .. t:trace()))(v)
      assert.same({t:text(), t:text()}, {u:text(), v:text()})
    end
  end)

  it("halves the bytes that are counted against the stack", function()
    local A = nw.placeholder({400, 256}, "f64", "A")
    local P = nw.compute({400, 256}, function(i, j) return A(i, j) * 2 end, "P")
    local s = nw.schedule(nw.compute({400, 256}, function(i, j) return P(i, j) + 1 end, "Q"))
    fails("cannot move P to local", "refused", s.set_scope, s, P, "local")
    s:set_dtype(P, "bf16")
    s:set_scope(P, "local")
    fails("cannot store P as f64", "refused", s.set_dtype, s, P, "f64")
  end)

  it("stores the states of a scan in another dtype, and marks them", function()
    local A, H = nw.placeholder({1, 8}, "f32", "A"), nw.scan_state({6, 8}, "f32", "H")
    local first = nw.compute({1, 8}, function(t, x) return A(t, x) end, "first")
    local update = nw.compute({6, 8}, function(t, x) return H(t - 1, x) * 1.25 end, "update")
    local S = nw.scan(first, update, H, "S")
    local Y = nw.compute({6, 8}, function(t, x) return S(t, x) + 1 end, "Y")
    local s = nw.schedule(Y)
    s:set_dtype(S, "f16")
    assert.is_true(s:rounds())
    assert.truthy(tostring(s):find("f16(f32(S[t_1 - 1, x_1])*1.25)", 1, true), tostring(s))
    assert.truthy(s:check())
  end)
end)
