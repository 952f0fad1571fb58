--- Tests reductions in the lanes of a vector loop: s:vectorize(loop, {reduce = "tree"}).
local nw = require "nestwright"
local support = require "support"

local function total(n, dtype)
  local A, k = nw.placeholder({n}, dtype or "f32", "A"), nw.reduce_axis(n, "k")
  local S = nw.compute({1}, function(_) return nw.sum(A(k), k) end, "S")
  return nw.schedule(S), S
end

local function in_lanes(s, lanes)
  local _, k_i = s:split("k", lanes)
  s:vectorize(k_i, {reduce = "tree"})
  return s
end

-- X has a window of `reads` elements in each lane of its reader.
local function window(reads)
  local A = nw.placeholder({66}, "f32", "A")
  local X = nw.compute({66}, function(i) return A(i) * A(i) end, "X")
  local Y = nw.compute({64}, function(i) return reads == 1 and X(i) + 1 or X(i) + X(i + 2) end, "Y")
  local s = nw.schedule(Y)
  local o, lane = s:split("i_1", 16)
  return s, X, lane, o
end

describe("a temporary in lanes", function()
  it("becomes local if it is small, with a note, until another scope is chosen", function()
    local s, X, lane = window(1)
    s:vectorize(lane)
    s:compute_at(X, lane)
    assert.truthy(s:notes():find("each lane of i_1_i has its own X: its scope is now local", 1, true), s:notes())
    assert.truthy(tostring(s:show "lowered"):find("alloc X[16] local", 1, true))
    s:set_scope(X, "global")
    s:unroll "i_1_o"
    assert.truthy(tostring(s:show "lowered"):find("alloc X[16]\n", 1, true), tostring(s:show "lowered"))
    assert.is_true(s:reparses())
    support.agrees(s)
  end)

  it("is the same if the loop is vectorized later", function()
    local s, X, lane = window(2)
    s:vectorize(lane)
    s:compute_at(X, lane)
    local t, U, later = window(2)
    t:compute_at(U, later)
    assert.falsy(t:text():find("temp X: f32[66] local", 1, true))
    t:vectorize(later)
    assert.equal(tostring(s:show "lowered"), tostring(t:show "lowered"))
    support.agrees(s)
  end)

  it("is kept in registers", function()
    local s, X, lane = window(1)
    s:vectorize(lane)
    s:compute_at(X, lane)
    local asm = tostring(s:show "asm")
    assert.falsy(asm:match "kernel:.-retq":find("%(%%rsp%)"), asm)
  end)

  it("cannot be used by another lane", function()
    local s, X, lane, o = window(2)
    s:vectorize(lane)
    s:compute_at(X, lane)
    local err = support.fails("cannot store X further out", "refused", s.store_at, s, X, o)
    assert.truthy(err.refusal.why:find "in another lane", err.refusal.why)
  end)

  -- The pragma allows the compiler to run all lanes of one statement before the next statement.
  it("has no pragma in C if the lanes share a workspace", function()
    for _, scope in ipairs {"local", "global"} do
      local s, X, lane = window(2)
      s:vectorize(lane)
      s:compute_at(X, lane)
      s:set_scope(X, scope)
      assert.equal(scope == "local", tostring(s:show "c"):find("#pragma omp simd", 1, true) ~= nil)
    end
  end)

  it("can be large, but is then in memory", function()
    local A = nw.placeholder({16, 4100}, "f32", "A")
    local X = nw.compute({16, 4100}, function(i, j) return A(i, j) + 1 end, "X")
    local k = nw.reduce_axis(4100, "k")
    local Y = nw.compute({16}, function(i) return nw.sum(X(i, k) * X(i, 4099 - k), k) end, "Y")
    local s = nw.schedule(Y)
    local loop = s:loops(Y)[1]
    s:compute_at(X, loop)
    s:vectorize(loop)
    assert.falsy(tostring(s:show "lowered"):find("local", 1, true))
    support.fails("cannot", "refused", s.set_scope, s, X, "local")
  end)
end)

describe("a reduction in lanes", function()
  it("notes that the rounding of floats may change, but not of other numbers", function()
    assert.truthy(in_lanes(total(100), 8):notes():find "rounding may change: each lane adds up its own floats")
    assert.is_true(in_lanes(total(100), 8):rounds())
    assert.falsy(in_lanes(total(100, "i8"), 8):notes():find "rounding")
    local A, k = nw.placeholder({100}, "f32", "A"), nw.reduce_axis(100, "k")
    local s = in_lanes(nw.schedule(nw.compute({1}, function(_) return nw.max(A(k), k) end, "M")), 8)
    assert.is_false(s:rounds())
  end)

  -- 1 + 2^-24 rounds to 1. So the sum depends on the order, and every way to run the schedule must use the documented order.
  it("has the same bits in each way to run it", function()
    for _, lanes in ipairs {2, 3, 8, 12, 32} do
      for _, n in ipairs {7, 96, 100} do
        local s = in_lanes(total(n), lanes)
        local data = nw.zeros({n}, "f32")
        for i = 1, n do data:setflat(i, i % 5 == 1 and 1 or 2.0 ^ -24 * (i % 7)) end
        local lane = {}
        for l = 1, lanes do lane[l] = 0 end
        local function f32(x) return (string.unpack("f", string.pack("f", x))) end
        for i = 1, n do lane[(i - 1) % lanes + 1] = f32(lane[(i - 1) % lanes + 1] + data:getflat(i)) end
        local left = lanes
        while left > 1 do
          local half = left // 2
          for l = 1, half do lane[l] = f32(lane[l] + lane[l + left - half]) end
          left = left - half
        end
        local want = lane[1]
        assert.equal(want, nw.interpret(s, {data})[1]:getflat(1), "the interpreter")
        assert.equal(want, nw.interpret(s, {data}, {lowered = true})[1]:getflat(1), "the lowered program")
        assert.equal(want, s:build()(data):getflat(1), "the compiled program")
      end
    end
  end)

  it("can be printed, parsed, replayed, predicted and drawn", function()
    local s, S = total(100)
    in_lanes(s, 8)
    assert.truthy(tostring(s):find("vectorize_reduce for k_i in 0..8", 1, true), tostring(s))
    assert.is_true(s:reparses())
    assert.truthy(s:trace():find('s:vectorize("k_i", {reduce = "tree"})', 1, true))
    local again = nw.schedule(S)
    assert(load("local s = ...\n" .. s:trace()))(again)
    assert.equal(s:text(), again:text())
    local json = nw.schedule(S)
    json:replay(s:trace "json")
    assert.equal(s:text(), json:text())
    local half = "S_lanes[ramp(0, 1, 4)] = S_lanes[ramp(0, 1, 4)] + S_lanes[ramp(4, 1, 4)]"
    assert.truthy(tostring(s:show "lowered"):find(half, 1, true))
    assert.truthy(tostring(s:show "asm"):find "S")
    assert.truthy(tostring(s:show "c"):find("S_lanes", 1, true))
    assert.truthy(tostring(s:cost()):find "cycles")
    assert.truthy(tostring(s:tree()):find("k_i", 1, true))
    s:unmark "k_i"
    assert.falsy(tostring(s:show "lowered"):find("S_lanes", 1, true))
  end)

  it("keeps its accumulators in registers if the last vector is masked", function()
    local asm = tostring(in_lanes(total(1000), 32):show "asm")
    assert.falsy(asm:find("%(%%rsp%)"), asm)
  end)

  it("is offered if a loop of a reduction cannot be vectorized", function()
    local s = total(64)
    local err = support.error_of(s.vectorize, s, "k")
    assert.truthy(table.concat(err.refusal.alternatives, "\n"):find('s:vectorize("k", {reduce = "tree"})', 1, true))
  end)

  it("has threads around it that share the sum", function()
    local s, S = total(4096, "i32")
    local o, k_i = s:split("k", 16)
    s:split(o, 16)
    s:decompose_reduction(S, "k_o_o")
    s:atomic(S)
    s:parallel "k_o_o"
    s:vectorize(k_i, {reduce = "tree"})
    local data, sum = nw.zeros({4096}, "i32"), 0
    for i = 1, 4096 do data:setflat(i, i % 100) sum = sum + i % 100 end
    for _ = 1, 20 do assert.equal(sum, s:build {threads = 4}(data):getflat(1)) end
  end)

  it("is refused if another stage reads the sum inside the loop, also if the loop has one iteration", function()
    local B, k = nw.placeholder({1}, "u8", "B"), nw.reduce_axis(1, "k")
    local X = nw.compute({}, function() return nw.max(B(k) * 4, k) end, "X")
    local Z = nw.compute({}, function() return X() * 3 + 3 end, "Z")
    local s = nw.schedule(Z)
    s:reverse_compute_at("Z", "k")
    local err = support.error_of(s.vectorize, s, "k", {reduce = "tree"})
    assert.truthy(tostring(err):find("X is used inside k, before the lanes are combined", 1, true), tostring(err))
    local b = nw.zeros({1}, "u8")
    b:setflat(1, 2)
    assert.equal(27, s:build()(b):getflat(1))
  end)

  it("names an invalid option", function()
    local s = total(64)
    support.fails("vectorize: reduce cannot be 'lanes'", "invalid", s.vectorize, s, "k", {reduce = "lanes"})
    support.fails("reduce", "invalid", s.vectorize, s, "k", {reduce = true})
  end)
end)
