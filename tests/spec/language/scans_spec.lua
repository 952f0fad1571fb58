local nw = require "nestwright"
local support = require "support"
package.path = "tests/tools/?.lua;" .. package.path
local recurrent = require "recurrent"
local fails = support.fails

-- Makes S(t, x) = G(t, x) + A(t, x), where the stage G inside the scan is made by `inside` from the state.
local function with_stage(inside, times, n, first, read)
  local A, S = nw.placeholder({times, n}, "i32", "A"), nw.scan_state({times, n}, "i32", "state")
  local init = nw.compute({first or 1, n}, function(t, x) return A(t, x) end, "init")
  local G = nw.compute({times, n}, function(t, x) return inside(S, t, x) end, "G")
  local update = nw.compute({times, n}, function(t, x) return (read or function() return G(t, x) end)(G, t, x) + A(t, x) end,
    "update")
  return nw.scan(init, update, S, "S"), G, A
end

local function neighbours(n)
  return function(S, t, x) return S(t - 1, nw.max(x - 1, 0)) - 3 * S(t - 1, nw.min(x + 1, n - 1)) end
end

describe("stages inside a scan", function()
  it("compute what plain loops compute", function()
    local S = with_stage(neighbours(3), 4, 3)
    local a = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {-1, -2, -3}}
    local want = {a[1]}
    for t = 2, 4 do
      want[t] = {}
      for x = 1, 3 do want[t][x] = want[t - 1][math.max(x - 1, 1)] - 3 * want[t - 1][math.min(x + 1, 3)] + a[t][x] end
    end
    assert.same(want, nw.evaluate(S, {nw.tensor(a, "i32")})[1]:totable())
    support.computes(nw.schedule(S), {S})
  end)

  it("run in the loop over the time, and are stored for one step", function()
    local S, G = with_stage(neighbours(6), 5, 6)
    local s = nw.schedule(S)
    assert.truthy(s:text():find("alloc G[t_1: 1, 0: 6]", 1, true) or s:text():find("alloc G", 1, true), s:text())
    assert.same({"t_1", "x_1"}, support.names(s:loops(G)))
    assert.equal("S", S.name)
    assert.truthy(tostring(S):find "S")
  end)

  it("make an LSTM cell", function()
    for _, dtype in ipairs {"i32", "f32", "f64", "f16"} do
      local outputs, of = recurrent.lstm(5, 2, 6, dtype)
      local s = nw.schedule(table.unpack(outputs))
      local data = {nw.random({5, 4, 2, 6}, dtype, {seed = 1, lo = -3, hi = 3}),
        nw.random({4, 6, 6}, dtype, {seed = 2, lo = -2, hi = 2})}
      support.agree(s, outputs, data, dtype == "f16" and 1e-2 or dtype ~= "i32" and 1e-5 or nil)
      assert.equal("lstm.v0", s:outputs()[1].name)
      assert.equal(4, #s:loops(of.gates))
    end
  end)

  it("are scheduled like other stages", function()
    local outputs, of = recurrent.lstm(6, 3, 10, "i32")
    local s = nw.schedule(table.unpack(outputs))
    for _, name in ipairs {"in_gate", "in_value", "out_gate", "gates"} do s:compute_inline(of[name]) end
    local _, g, b, j, k = table.unpack(s:loops(of.h2h))
    s:parallel(b)
    s:reorder(g, b, k, j)
    local _, j_i = s:split(j, {factor = 4, tail = "cut"})
    s:vectorize(j_i)
    s:compute_at(of.forget, s:loops(of.next_c)[2])
    support.computes(s, outputs)
    support.replays(s, function() return nw.schedule(table.unpack((recurrent.lstm(6, 3, 10, "i32")))) end)
  end)

  it("agree on small shapes", function()
    local n, T = nw.size "n", nw.size("T", {min = 2})
    local S, G = with_stage(neighbours(n), T, n)
    local s = nw.schedule(S)
    local x_o, x_i = s:split(s:loops(G)[2], 4)
    s:vectorize(x_i)
    s:parallel(x_o)
    support.agrees(s)
  end)

  it("give exported C the same results", function()
    local outputs = recurrent.lstm(4, 2, 5, "i32")
    local s = nw.schedule(table.unpack(outputs))
    assert.truthy(s:show "c":find "h2h")
  end)

  it("can be read at earlier times", function()
    local function before(G, t, x) return G(t, x) + nw.select(nw.gt(t, 1), G(nw.max(t - 1, 1), x), 0) end
    local S = with_stage(neighbours(6), 5, 6, 1, before)
    support.computes(nw.schedule(S), {S})
    fails("G%(?.*is not one of the times from 1 to the current one at t = 1", "range", with_stage, neighbours(6), 5, 6, 1,
      function(G, t, x) return G(t - 1, x) end)
    fails("is not one of the times from 2", "range", with_stage, neighbours(6), 5, 6, 2,
      function(G, t, x) return G(nw.min(t + 1, 4), x) end)
  end)

  it("can be reductions with several outputs", function()
    local A, S = nw.placeholder({5, 4}, "f32", "A"), nw.scan_state({5, 4}, "f32", "state")
    local init = nw.compute({1, 4}, function(t, x) return A(t, x) end, "init")
    local k = nw.reduce_axis(4, "k")
    local most, at = nw.compute({5}, function(t) return nw.argmax(S(t - 1, k), k) end, "most")
    local update = nw.compute({5, 4}, function(t, x)
      return A(t, x) + nw.select(nw.eq(at(t), x), most(t), 0)
    end, "update")
    local out = nw.scan(init, update, S, "S")
    support.computes(nw.schedule(out), {out})
  end)

  it("run before the first update that needs them", function()
    local A = nw.placeholder({5, 4}, "i32", "A")
    local P, Q = nw.scan_state({5, 4}, "i32", "P"), nw.scan_state({5, 4}, "i32", "Q")
    local function init() return nw.compute({1, 4}, function(t, x) return A(t, x) end, "init") end
    local function shifted(of, back)
      return nw.compute({5, 4}, function(t, x) return of(t - back, 3 - x) * 3 end, "shifted")
    end
    local function compute(f) return nw.compute({5, 4}, f, "next") end
    local g = shifted(P, 0) -- reads the new values of P, so only the update of Q can need it
    local p, q = compute(function(t, x) return P(t - 1, x) - A(t, x) end), compute(function(t, x) return g(t, x) + Q(t - 1, x) end)
    local S, R = nw.scan({init(), init()}, {p, q}, {P, Q}, "S")
    support.computes(nw.schedule(S, R), {S, R})
    fails("reads an element not yet written", "range", nw.scan, {init(), init()}, {q, p}, {Q, P}, "S")
    local early = compute(function(t, x) return g(t, x) + P(t - 1, x) end)
    fails("reads an element not yet written", "range", nw.scan, init(), early, P, "S")
  end)

  it("have names of their own, also in two scans", function()
    local A, state = nw.placeholder({4, 3}, "i32", "A"), nw.scan_state({4, 3}, "i32", "state")
    local init = nw.compute({1, 3}, function(t, x) return A(t, x) end, "init")
    local G = nw.compute({4, 3}, function(t, x) return state(t - 1, 2 - x) + 1 end, "A")
    local function scan(sign, name)
      return nw.scan(init, nw.compute({4, 3}, function(t, x) return G(t, x) * sign end, "update"), state, name)
    end
    local S, R = scan(2, "S"), scan(-3, "R")
    support.computes(nw.schedule(S, R), {S, R})
  end)

  it("do not change other uses of a placeholder and of a stage", function()
    local A, P = nw.placeholder({4, 3}, "i32", "A"), nw.placeholder({4, 3}, "i32", "P")
    local init = nw.compute({1, 3}, function(t, x) return A(t, x) + P(t, x) end, "init")
    local G = nw.compute({4, 3}, function(t, x) return P(nw.max(t - 1, 0), 2 - x) * 2 end, "G")
    local update = nw.compute({4, 3}, function(t, x) return G(t, x) + A(t, x) end, "update")
    local S = nw.scan(init, update, P, "S")
    local Z = nw.compute({4, 3}, function(t, x) return S(t, x) + 5 * P(t, x) + 7 * G(t, x) end, "Z")
    support.computes(nw.schedule(Z), {Z})
  end)

  it("are refused where they cannot be", function()
    local A, H = nw.placeholder({6, 4}, "i32", "A"), nw.scan_state({6, 4}, "i32", "H")
    local init = nw.compute({1, 4}, function(t, x) return A(t, x) end, "init")
    local function scan(f) return nw.scan(init, nw.compute({6, 4}, f, "update"), H, "S") end
    local k = nw.reduce_axis(4, "k")
    local short = nw.compute({5, 4}, function(t, x) return H(t, x) end, "short")
    fails("short reads the state H, so its first dimension is the time, but its extent is 5 and the scan has 6 times", "invalid",
      scan, function(t, x) return short(nw.max(t - 1, 0), x) end)
    local none = nw.compute({}, function() return nw.sum(H(0, k), k) end, "none")
    fails("none reads the state H.* no dimension", "invalid", scan, function(_, _) return none() end)
    local other = nw.scan_state({6, 4}, "i32", "other")
    local foreign = nw.compute({6, 4}, function(t, x) return other(t - 1, x) + H(t - 1, x) end, "foreign")
    fails("foreign reads other, which is not a state of this scan", "invalid", scan, function(t, x) return foreign(t, x) end)
    local G = nw.compute({6, 4}, function(t, x) return H(t - 1, x) end, "G")
    local Z = nw.compute({6, 4}, function(t, x) return G(t, x) + 1 end, "Z")
    fails("Z reads the state of a scan, but is used outside a scan", "invalid", nw.schedule, Z)
    fails("G reads the state of a scan, but is used outside a scan", "invalid", nw.update, G, {4},
      function(_, x) return {0, x}, 1 end)
    fails("first reads the state of a scan", "invalid", nw.scan, nw.compute({1, 4}, function(t, x) return H(t, x) end, "first"),
      nw.compute({6, 4}, function(t, x) return G(t, x) end, "update"), H, "S")
    local u = nw.compute({6, 4}, function(t, x) return H(t - 1, x) + A(t, x) end, "u")
    local v = nw.compute({6, 4}, function(t, x) return u(t, x) + other(t - 1, x) end, "v")
    fails("v reads u, which is an update of the scan", "invalid", nw.scan, {init, init}, {u, v}, {H, other}, "S")
  end)

  it("cannot be a scan or have updates", function()
    local A, P = nw.placeholder({6, 4}, "i32", "A"), nw.placeholder({6, 4}, "i32", "P")
    local init = nw.compute({1, 4}, function(t, x) return A(t, x) end, "init")
    local G = nw.compute({6, 4}, function(t, x) return P(nw.max(t - 1, 0), x) end, "G")
    local U = nw.update(G, {6}, function(_, t) return {t, 0}, nw.i32(t) end)
    local function scan(of) return nw.scan(init, nw.compute({6, 4}, function(t, x) return of(t, x) end, "update"), P, "S") end
    fails("G has updates, and cannot depend on the state of another scan", "invalid", scan, U)
    local inner = nw.scan {shape = {6, 4}, name = "inner", init = function(t, x) return G(t, x) end,
      step = function(S, t, x) return S(t - 1, x) end}
    fails("inner is a scan, and cannot depend on the state of another scan", "invalid", scan, inner)
  end)

  it("name a read outside of a tensor as before", function()
    local A = nw.placeholder({6, 4}, "f32", "A")
    local G = nw.compute({6, 4}, function(i, j) return A(i - 1, j) end, "G")
    local Z = nw.compute({6, 4}, function(i, j) return G(i, j) end, "Z")
    fails("in G, A%[i %- 1, j%] reads index %-1", "range", nw.schedule, Z)
  end)
end)

describe("the dtype of a scan", function()
  local function running(dtype, init, options)
    local A = nw.placeholder({5, 3}, dtype, "A")
    local o = {shape = {5, 3}, name = "S", init = init or function(t, x) return A(t, x) end,
      step = function(S, t, x) return S(t - 1, x) + A(t, x) end}
    for key, value in pairs(options or {}) do o[key] = value end
    return nw.scan(o), A
  end

  it("is that of its init", function()
    for _, dtype in ipairs {"f64", "f32", "f16", "bf16", "i8", "i32", "i64", "u16", "u64"} do
      local S = running(dtype)
      assert.equal(dtype, S.dtype)
      support.computes(nw.schedule(S), {S})
    end
  end)

  it("is that of its step if the init is a number", function()
    for _, dtype in ipairs {"f64", "f32", "i32"} do
      local S = running(dtype, function(_, _) return 1 end)
      assert.equal(dtype == "i32" and "f32" or dtype, S.dtype)
      support.computes(nw.schedule(S), {S})
    end
    local S = nw.scan {shape = {5, 3}, init = function(_, _) return 0 end,
      step = function(S, t, x) return S(t - 1, x) * 0.5 + 1 end}
    assert.equal("f32", S.dtype)
  end)

  it("can be given", function()
    for _, dtype in ipairs {"f64", "i32", "i64", "u8", "f16"} do
      local S = running(dtype, function(_, _) return 3 end, {dtype = dtype})
      assert.equal(dtype, S.dtype)
      support.computes(nw.schedule(S), {S})
    end
    local third = nw.scan {shape = {2, 1}, dtype = "f64", init = function(_, _) return 1 / 3 end,
      step = function(S, t, x) return S(t - 1, x) end}
    assert.equal(1 / 3, nw.evaluate(third, {})[1]:getflat(2))
    local constant = nw.scan {shape = {2, 1}, dtype = "i64", init = function(_, _) return 2^40 end,
      step = function(_, _, _) return 7 end}
    assert.same({1 << 40, 7}, {nw.evaluate(constant, {})[1]:getflat(1), nw.evaluate(constant, {})[1]:getflat(2)})
  end)

  it("must be the same everywhere", function()
    local err = fails("the init S_init is f32, but the state S_state is f64", "type", running, "f32", nil, {dtype = "f64"})
    assert.truthy(err.hint:find('give the state the dtype "f32", or cast the value with nw.f64(...)', 1, true), err.hint)
    fails("the update S_update is f32, but the state S_state is f16", "type", function()
      local A = nw.placeholder({5, 3}, "f32", "A")
      nw.scan {shape = {5, 3}, dtype = "f16", init = function(_, _) return 0 end,
        step = function(S, t, x) return S(t - 1, x) + A(t, x) end}
    end)
    fails("init: the function returned 0.5, but the state is i32", "type", running, "i32", function(_, _) return 0.5 end,
      {dtype = "i32"})
    fails("expected one dtype for each of the 1 states", "invalid", running, "i32", nil, {dtype = {"i32", "i32"}})
    fails("scan: dtype: expected a string", "invalid", running, "i32", nil, {dtype = 3})
    local state = nw.scan_state({5, 3}, "f32", "state")
    local init = nw.compute({1, 3}, function(_, _) return 0 end, "init")
    fails("the init init is i32, but the state state is f32", "type", nw.scan, init,
      nw.compute({5, 3}, function(t, x) return state(t - 1, x) end, "update"), state)
  end)

  it("can differ between states", function()
    local A = nw.placeholder({5, 3}, "f32", "A")
    local options = {shape = {5, 3}, name = "S", init = {function(t, x) return A(t, x) end, function(_, _) return 0 end},
      dtype = {"f32", "i64"}, step = function(S, N, t, x)
        local larger = nw.gt(A(t, x), S(t - 1, x))
        return nw.select(larger, A(t, x), S(t - 1, x)), nw.select(larger, nw.i64(t), N(t - 1, x))
      end}
    local S, N = nw.scan(options)
    assert.same({"f32", "i64"}, {S.dtype, N.dtype})
    assert.equal("function", type(options.init[1])) -- the options are not changed
    support.computes(nw.schedule(S, N), {S, N})
    fails("the function returned 1 value for 2 states", "invalid", nw.scan, {shape = {5, 3}, init = options.init,
      step = function(P, _, t, x) return P(t - 1, x) end})
    fails("give a list of functions", "invalid", nw.scan, {shape = {5, 3}, init = function(_, _) return 0, 1 end,
      step = function(P, t, x) return P(t - 1, x) end})
  end)
end)
