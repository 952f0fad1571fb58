--- Where results go and how they lie: streaming stores.
local nw = require "nestwright"
local support = require "support"
local fails = support.fails

-- Every way of running agrees with the definition, to the bit unless said.
local function agrees(s, outputs, shape, dtype, tolerance)
  local data = {}
  for n in ipairs(s:inputs()) do data[n] = nw.random(shape, dtype, {seed = n, lo = -4, hi = 4}) end
  local want = nw.evaluate(outputs, data)
  local native = {s:build {threads = 2}(table.unpack(data))}
  for _, got in ipairs {nw.interpret(s, data), nw.interpret(s, data, {lowered = true}), native} do
    for n = 1, #want do assert.is_true(nw.allclose(want[n], got[n], {rtol = tolerance or 0, atol = tolerance or 0})) end
  end
end

local function pointwise(n, dtype)
  dtype = dtype or "f32"
  local A, B = nw.placeholder({n}, dtype, "A"), nw.placeholder({n}, dtype, "B")
  local Z = nw.compute({n}, function(i) return (A(i) + 1) * (B(i) + 3) end, "Z")
  return nw.schedule(Z), Z
end

local function vectorized(n, lanes, dtype, tail)
  local s, Z = pointwise(n, dtype)
  local i_o, i_i = s:split("i", {factor = lanes, tail = tail or "guard"})
  s:vectorize(i_i)
  return s, Z, i_o
end

describe("stream_stores", function()
  it("makes non-temporal stores of the widths there are, and a fence", function()
    for _, case in ipairs {{"f32", 16}, {"f32", 8}, {"f32", 4}, {"f32", 32}, {"u16", 64}, {"u8", 16}, {"f64", 8}, {"i64", 2},
      {"f16", 32}, {"bf16", 16}, {"i32", 48}, {"i8", 128}} do
      local dtype, lanes = table.unpack(case)
      local s, Z, i_o = vectorized(768, lanes, dtype)
      s:stream_stores(Z)
      s:parallel(i_o)
      local asm = tostring(s:show "asm")
      assert.truthy(asm:find "movnt", dtype .. " x " .. lanes)
      assert.truthy(asm:find "sfence")
      assert.truthy(tostring(s:show "lowered"):find "stream Z%[ramp")
      agrees(s, {Z}, {768}, dtype)
    end
  end)

  it("reads back, replays, and says when a cache would hold the result", function()
    local s, Z = vectorized(64, 16)
    s:stream_stores(Z)
    assert.truthy(s:notes():find "a cache of")
    assert.is_true(s:reparses())
    local again = pointwise(64)
    again:replay(s:trace "json")
    assert.equal(s:text(), again:text())
  end)

  it("leaves the tail that was cut alone", function()
    local s, Z = vectorized(100, 16, "f32", "cut")
    s:stream_stores(Z)
    local text = tostring(s)
    assert.equal(1, select(2, text:gsub("stream ", "")))
    agrees(s, {Z}, {100}, "f32")
  end)

  it("stays with the tensor when a cache_write takes the computation", function()
    local s, Z, i_o = vectorized(128, 16)
    s:stream_stores(Z)
    s:cache_write(Z, "local", {at = i_o})
    assert.truthy(tostring(s):find "stream Z%[.-%] = Z_local")
    agrees(s, {Z}, {128}, "f32")
  end)

  it("takes a symbolic size that keeps vectors aligned, and no other", function()
    local function of(multiple)
      local M = nw.size("M", {min = 16, multiple = multiple})
      local A = nw.placeholder({4, M}, "f32", "A")
      local Z = nw.compute({4, M}, function(i, j) return A(i, j) * 2 end, "Z")
      local s = nw.schedule(Z)
      s:vectorize((select(2, s:split("j", {factor = 16, tail = "cut"}))))
      return s, Z
    end
    local s, Z = of(16)
    s:stream_stores(Z)
    s, Z = of(8)
    assert.truthy(tostring(fails("cannot stream", "refused", s.stream_stores, s, Z)):find "multiple of 16 elements of Z")
  end)

  it("is refused where the processor has no such store", function()
    local s, Z = pointwise(64)
    local err = fails("cannot stream the stores of Z", "refused", s.stream_stores, s, Z)
    assert.truthy(tostring(err):find "they are scalar")
    assert.equal("structure", err.refusal.kind)
    s, Z = vectorized(100, 16) -- a mask
    assert.truthy(tostring(fails("cannot stream", "refused", s.stream_stores, s, Z)):find "may be masked off")
    s, Z = vectorized(96, 12)
    assert.truthy(tostring(fails("cannot stream", "refused", s.stream_stores, s, Z)):find "16, 32 or a multiple of 64 bytes")
    local A = nw.placeholder({5, 20}, "f32", "A")
    local T = nw.compute({20, 5}, function(i, j) return A(j, i) end, "T")
    s = nw.schedule(T)
    s:vectorize((select(2, s:split("i", 4))))
    assert.truthy(tostring(fails("cannot stream", "refused", s.stream_stores, s, T)):find "not neighbours in T")
    local B = nw.placeholder({8, 18}, "f32", "B")
    local R = nw.compute({8, 18}, function(i, j) return B(i, j) + 1 end, "R")
    s = nw.schedule(R)
    s:vectorize((select(2, s:split("j", {factor = 16, tail = "cut"}))))
    assert.truthy(tostring(fails("cannot stream", "refused", s.stream_stores, s, R)):find "do not all begin at a multiple")
  end)

  it("is refused for what reads itself back, and for what is kept near", function()
    local s, C = support.gemm(16)
    s:reorder("k", "i", "j")
    s:vectorize "j"
    local err = fails("cannot stream", "refused", s.stream_stores, s, C)
    assert.truthy(tostring(err):find "reads the element it has just stored")
    s, C = support.gemm(16)
    local block = s:cache_write(C, "local", {at = "i"})
    s:vectorize "j"
    s:stream_stores(C)
    assert.truthy(tostring(fails("cannot stream", "refused", s.stream_stores, s, block)):find "each update")
    agrees(s, {C}, {16, 16}, "f32", 1e-4)
    fails("they stream already", "refused", s.stream_stores, s, C)
    fails("expected a stage", "invalid", s.stream_stores, s, 4)
    fails("stage", "invalid", s.stream_stores, s)
    fails("nothing", nil, s.stream_stores, s, "nothing")
  end)

  it("holds what follows: a step that would leave scalar stores is refused", function()
    local A = nw.placeholder({32, 16}, "f32", "A")
    local X = nw.compute({32, 16}, function(i, j) return A(i, j) + 1 end, "X")
    local Y = nw.compute({32, 16}, function(i, j) return X(i, j) * 2 end, "Y")
    local s = nw.schedule(Y)
    s:vectorize(s:loops(X)[2])
    s:stream_stores(X)
    local err = fails("cannot compute X at", "refused", s.compute_at, s, X, s:loops(Y)[1])
    assert.truthy(tostring(err):find "X streams its stores, but they are scalar")
    agrees(s, {Y}, {32, 16}, "f32")
  end)
end)
