--- Tests the measured times of loops. Only relations that hold on a busy machine too are tested.
local nw = require "nestwright"
local support = require "support"
local fails = support.fails_saying

local function product(n)
  local A, B = nw.placeholder({n, n}, "f32", "A"), nw.placeholder({n, n}, "f32", "B")
  local k = nw.reduce_axis(n, "k")
  return nw.schedule(nw.compute({n, n}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C"))
end

local function loop(r, name)
  for _, l in ipairs(r.loops) do if l.loop == name then return l end end
  error("there is no loop " .. name)
end

describe("the measured time of each loop", function()
  it("counts the executions exactly, and no loop takes longer than the loop around it", function()
    local s = product(48)
    s:reorder("i", "k", "j")
    local r = s:loop_times {threads = 1}
    assert.equal(1, loop(r, "i").times)
    assert.is_true(loop(r, "i").timed)
    local around = {}
    for _, l in ipairs(r.loops) do
      around[l.depth] = l
      local outer = around[l.depth - 1]
      if l.timed and outer then
        assert.is_true(outer.timed)
        assert.is_true(l.seconds <= outer.seconds)
        assert.equal(0, l.times % outer.times)
      end
    end
    assert.is_true(loop(r, "i").seconds <= r.clocked and r.clocks >= 0 and r.seconds > 0)
  end)

  it("does not time a loop whose executions are too short, and says so", function()
    local s = product(64)
    s:split("k", 4)
    local r = s:loop_times {threads = 1}
    assert.is_false(loop(r, "k_i").timed)
    assert.equal(0, loop(r, "k_i").seconds)
    assert.truthy(tostring(r):find("their time is in the loop around them", 1, true))
    assert.truthy(tostring(r):find("k_i +no clock"))
  end)

  it("says where the time of a call of an intrinsic is, whose loops do not run", function()
    local a, b = nw.placeholder({16}, "f32", "a"), nw.placeholder({16}, "f32", "b")
    local c = nw.compute({16}, function(i) return a(i) + b(i) end, "c")
    local add = nw.intrinsic {name = "timed_add", args = {a, b, c}, strides = {a = {1}, b = {1}, c = {1}}, source = [[
void timed_add(const float *a, const float *b, float *c) { for (int i = 0; i < 16; i++) c[i] = a[i] + b[i]; }]]}
    local A, B = nw.placeholder({256, 16}, "f32", "A"), nw.placeholder({256, 16}, "f32", "B")
    local s = nw.schedule(nw.compute({256, 16}, function(i, j) return A(i, j) + B(i, j) end, "C"))
    s:tensorize("j", add)
    local r = s:loop_times {threads = 1}
    assert.is_true(r.calls)
    assert.same({"i"}, {r.loops[1].loop, r.loops[2] and r.loops[2].loop})
    assert.truthy(tostring(r):find("its time is in the loop around the call", 1, true))
    assert.is_false(product(8):loop_times({threads = 1}).calls)
  end)

  it("gives the longer time to the loop with most of the work, however the model divides it", function()
    local n = 96
    local A, B = nw.placeholder({n, n}, "f32", "A"), nw.placeholder({n, n}, "f32", "B")
    local k = nw.reduce_axis(n, "k")
    local X = nw.compute({n, n}, function(x, y) return A(x, y) * 2 end, "X")
    local s = nw.schedule(nw.compute({n, n}, function(i, j) return nw.sum(X(i, k) * B(k, j), k) end, "Y"))
    local r = s:loop_times {threads = 1}
    local x, y
    for _, l in ipairs(r.loops) do
      if l.depth == 0 then x, y = x or l, l end
    end
    assert.is_true(x ~= y and y.seconds > 5 * x.seconds)
  end)

  it("is the mean over the threads inside a parallel loop, and every thread's executions are counted", function()
    local s = product(64)
    s:reorder("i", "k", "j")
    s:parallel "i"
    local r = s:loop_times {threads = 2}
    local outer, inner = loop(r, "i"), loop(r, "k")
    assert.is_true(outer.parallel and outer.times == 1)
    assert.is_true(outer.work <= outer.seconds * 1.01)
    if inner.timed then
      assert.equal(64, inner.times)
      assert.is_true(inner.most >= inner.seconds)
      assert.near(2 * inner.seconds, inner.busy, 1e-12) -- an execution takes busy / times, not seconds / times
    end
    assert.equal(outer.seconds, outer.busy)
    assert.truthy(tostring(r):find("threads work", 1, true))
    assert.truthy(tostring(r):find("the mean over the threads", 1, true))
  end)

  it("leaves the result unchanged", function()
    local s = product(32)
    s:parallel "i"
    local a, b = nw.random({32, 32}), nw.random({32, 32})
    local c = nw.zeros({32, 32})
    local want = s:build {threads = 1}(a, b)
    s:loop_times(a, b, c, {threads = 2, reps = 3})
    for at = 1, want:count() do assert.equal(want:getflat(at), c:getflat(at)) end
  end)

  it("is shown beside the prediction of each loop", function()
    local s = product(64)
    s:reorder("i", "k", "j")
    local text = tostring(s:show {cost = true, measured = true, threads = 1})
    assert.truthy(text:find "for i in 0..64:%s+# measured +[%d.]+ %wm?s.- | predicted +[%d.]+ %%")
    assert.truthy(text:find("# measured: a call on 1 thread takes", 1, true))
    assert.is_nil(tostring(s:show {cost = true, measured = false}):find("measured", 1, true))
  end)

  it("is shown beside the prediction once it is known, and otherwise a line says how to get it", function()
    local HINT = "\n# s:show{cost = true, measured = true} measures each loop beside its prediction"
    local s = product(64)
    s:reorder("i", "k", "j")
    s:parallel "i"
    local before = tostring(s:show {cost = true})
    assert.truthy(before:find(HINT, 1, true))
    assert.is_nil(before:find("# measured", 1, true))
    assert.is_nil(tostring(s:show {cost = true, machine = "zen5"}):find(HINT, 1, true))
    s:loop_times {threads = 2}
    local after = tostring(s:show {cost = true})
    assert.is_nil(after:find(HINT, 1, true))
    assert.truthy(after:find "for i in 0..64:.-# measured +[%d.]+ %wm?s.- | predicted +[%d.]+ %%")
    assert.is_nil(tostring(s:show {cost = true, machine = "zen5"}):find("measured", 1, true))
    s:unroll("k", 2)
    assert.truthy(tostring(s:show {cost = true}):find(HINT, 1, true)) -- another version
    s:undo()
    assert.equal(after, tostring(s:show {cost = true}))
  end)

  it("says for how many threads it is measured and predicted, and prefers the same number", function()
    local s = product(64)
    s:reorder("i", "k", "j")
    s:parallel "i"
    local function head(o) return tostring(s:show(o)):match "^# (measured on [^:]*): [^|]* | (predicted for [^:]*):" end
    local r = s:loop_times {threads = 2}
    assert.truthy(tostring(r):find("a call on 2 threads takes", 1, true))
    assert.same({"measured on 2 threads", "predicted for 1 thread"}, {head {cost = true}})
    assert.same({"measured on 2 threads", "predicted for 2 threads"}, {head {cost = true, threads = 2}})
    assert.same({"measured on 1 thread", "predicted for 1 thread"}, {head {cost = true, measured = true}})
    assert.same({"measured on 1 thread", "predicted for 1 thread"}, {head {cost = true}})
    assert.same({"measured on 2 threads", "predicted for 2 threads"}, {head {cost = true, threads = 2}})
    assert.truthy(tostring(product(32):loop_times {threads = 2}):find("a call on 1 thread takes", 1, true)) -- no loop is parallel
  end)

  it("is shown only for the sizes for which it was measured", function()
    local N = nw.size "N"
    local A = nw.placeholder({N}, "f32", "A")
    local s = nw.schedule(nw.compute({N}, function(i) return A(i) * 2 end, "B"))
    s:loop_times {threads = 1, sizes = {N = 1 << 16}}
    local function shown(n) return tostring(s:show {cost = true, sizes = {N = n}}):find("# measured on", 1, true) ~= nil end
    assert.same({true, false}, {shown(1 << 16), shown(1 << 12)})
    s:loop_times(nw.zeros {1 << 12}, nw.zeros {1 << 12}, {threads = 1})
    assert.is_true(shown(1 << 12))
  end)

  it("gives the counts of events that the system counts, and no other", function()
    local r = product(32):loop_times {threads = 1}
    for _, c in ipairs(r.counts) do assert.is_true(#c.event > 3 and c.count >= 0 and c.count < math.huge, c.event) end
    assert.equal(#r.counts > 0, tostring(r):find("counted by the system", 1, true) ~= nil)
  end)

  it("gives values to symbolic sizes", function()
    local N = nw.size "N"
    local A = nw.placeholder({N}, "f32", "A")
    local s = nw.schedule(nw.compute({N}, function(i) return A(i) * 2 end, "B"))
    local r = s:loop_times {threads = 1, sizes = {N = 1 << 16}}
    assert.equal("i", r.loops[1].loop)
    assert.is_true(r.loops[1].timed)
    fails("the size N cannot be computed", s.loop_times, s, {threads = 1})
  end)

  it("refuses options that it cannot use", function()
    local s = product(16)
    fails("unknown option 'thread'", s.loop_times, s, {thread = 1})
    fails("measured: expected a boolean", s.show, s, {cost = true, measured = 1})
    fails("loops are measured on this host", s.show, s, {cost = true, measured = true, machine = "skylake_x"})
  end)
end)
