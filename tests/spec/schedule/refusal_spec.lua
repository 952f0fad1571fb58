--- Tests the picture of a refused step. The picture shows two orders of execution, which are compared with loop nests written by
--- hand. It also shows two instances, which are compared with the instances in the refusal.
local nw = require "nestwright"
local support = require "support"
local fails = support.fails

-- Makes a scan that computes S(t, x) from its two neighbours one time step before.
local function heat(steps, width)
  local A = nw.placeholder({1, width}, "i32", "A")
  local state = nw.scan_state({steps, width}, "i32", "state")
  local first = nw.compute({1, width}, function(t, x) return A(t, x) end, "first")
  local update = nw.compute({steps, width}, function(t, x)
    return state(t - 1, nw.max(x - 1, 0)) + state(t - 1, nw.min(x + 1, width - 1))
  end, "update")
  return nw.schedule(nw.scan(first, update, state, "S"))
end

local function stages(n)
  local A = nw.placeholder({n}, "i32", "A")
  local X = nw.compute({n}, function(i) return A(i) * 2 end, "X")
  local Y = nw.compute({n - 2}, function(i) return X(i) + X(i + 2) end, "Y")
  return nw.schedule(Y), X, Y
end

local function refused(s, name, ...)
  local err = support.error_of(s[name], s, ...)
  assert(err.refusal, tostring(err))
  return err.refusal
end

-- Returns {now = table of the current program, refused = table of the refused program}. Each table has the instances in order, and
-- the records of the source and the sink.
local function programs(p)
  local out = {now = {}, refused = {}}
  for _, row in ipairs(p.rows) do
    local record = {}
    for k, name in ipairs(p.columns) do record[name] = row[k] end
    local of = out[record.program]
    of[#of + 1] = record.instance
    if record.conflict ~= "" then of[record.conflict] = record end
  end
  return out
end

local function list_of(format, n, m, from)
  local out = {}
  for a = from or 0, n - 1 do for b = 0, m - 1 do out[#out + 1] = format:format(a, b) end end
  return out
end

describe("refusal:plot()", function()
  it("shows both orders of a recurrence", function()
    local r = refused(heat(4, 6), "reorder", "x_1", "t_1")
    local p = r:plot()
    local of, before, after = programs(p), {}, {}
    for t = 1, 3 do for x = 0, 5 do before[#before + 1] = ("S(t = %d, x = %d)"):format(t, x) end end
    for x = 0, 5 do for t = 1, 3 do after[#after + 1] = ("S(t = %d, x = %d)"):format(t, x) end end
    for k, instance in ipairs(before) do assert.equal(instance, of.now[k]) end
    for k, instance in ipairs(after) do assert.equal(instance, of.refused[k]) end
    assert.equal(18, #of.now)
    assert.equal(18, #of.refused)
    assert.equal("S(t = 1, x = 1)", of.now.source.instance)
    assert.equal("S(t = 2, x = 0)", of.now.sink.instance)
    assert.equal(2, of.now.source.time)
    assert.equal(7, of.now.sink.time)
    assert.equal(4, of.refused.source.time)
    assert.equal(2, of.refused.sink.time)
    assert.truthy(tostring(p):find("Now: ● 2nd, ■ 7th. With the step: ● 4th, ■ 2nd; ■ comes too early.", 1, true))
    assert.truthy(tostring(p):find(r.why, 1, true))
    assert.truthy(p.script:find("S(t = 1, x = 1) writes S[1, 1], must come first", 1, true))
    assert.truthy(p.script:find("S(t = 2, x = 0) reads S[1, 1], needs it", 1, true))
    if support.have_gnuplot() then support.picture(p) end
  end)

  it("marks the two instances at their cells", function()
    local p = refused(heat(4, 6), "reorder", "x_1", "t_1"):plot()
    local marks = {}
    for block in p.script:gmatch("%$mark%d+ << EOD\n(.-)EOD\n") do marks[#marks + 1] = block end
    assert.same({"1 0\n", "0 1\n", "1 0\n", "0 1\n"}, marks) -- column and row; t begins at 1
  end)

  it("chooses the axis in which the two instances differ, and leaves out cells between them", function()
    local s = support.gemm(512)
    s:split("k", 32)
    local p = refused(s, "parallel", "k_o"):plot()
    local of = programs(p)
    assert.equal("C(i = 0, j = 0, k = 0)", of.refused.source.instance)
    assert.equal("C(i = 0, j = 0, k = 32)", of.refused.sink.instance)
    assert.equal("k_o = 0", of.refused.source.thread)
    assert.equal("k_o = 1", of.refused.sink.thread)
    assert.equal("", of.now.sink.thread)
    assert.equal(40, #of.now) -- i in 0..4; k in 0..4 and 30..36
    for _, instance in ipairs(of.now) do
      local k = tonumber(instance:match "k = (%d+)")
      assert.truthy(k < 4 or k >= 30 and k < 36)
    end
    assert.truthy(tostring(p):find "iterations of k_o have no order")
    assert.truthy(p.script:find "now, at j = 0")
    assert.truthy(p.script:find "…")
  end)

  it("says if the two instances are lanes of one vector", function()
    local p = refused(support.gemm(4), "vectorize", "k"):plot()
    local of = programs(p)
    assert.equal(of.refused.source.time, of.refused.sink.time)
    assert.truthy(tostring(p):find "both at once, in one vector")
  end)

  it("shows two stages side by side", function()
    local s, Y, P = support.two_stages(4, 4)
    local p = refused(s, "reorder_stmts", P, Y):plot()
    local of, first, second = programs(p), list_of("P(i = %d, j = %d)", 4, 4), list_of("Y(i = %d, j = %d)", 4, 4)
    for k = 1, 16 do
      assert.equal(first[k], of.now[k])
      assert.equal(second[k], of.now[16 + k])
      assert.equal(second[k], of.refused[k])
      assert.equal(first[k], of.refused[16 + k])
    end
    assert.equal("P", of.now.source.stage)
    assert.equal("Y", of.now.sink.stage)
    if support.have_gnuplot() then support.picture(p) end
  end)

  it("draws a line if there is one axis", function()
    local s, X, Y = stages(16)
    s:compute_at(X, s:loops(Y)[1])
    s:store_at(X)
    local p = refused(s, "rolling_buffer", X, {size = 2}):plot()
    local of = programs(p)
    assert.equal("Y(i = 0)", of.refused.source.instance)
    assert.equal("X(i = 2)", of.refused.sink.instance)
    assert.truthy(tostring(p):find "X%[2%] %(at the same address%)")
    assert.truthy(tostring(p):find "both now use the same place")
    if support.have_gnuplot() then support.picture(p) end
  end)

  it("draws one cell if there is no axis", function()
    local A, k = nw.placeholder({3}, "f32", "A"), nw.reduce_axis(3, "k")
    local R = nw.compute({}, function() return nw.sum(A(k), k) end, "R")
    local Z = nw.compute({}, function() return R() + 1 end, "Z")
    local s = nw.schedule(nw.compute({}, function() return Z() * 2 end, "W"))
    local p = refused(s, "reorder_stmts", R, Z):plot()
    local of = programs(p)
    assert.same({"R(k = 0)", "R(k = 1)", "R(k = 2)", "Z()"}, {of.now[1], of.now[2], of.now[3], of.now[4]})
    assert.equal("Z()", of.refused[1])
    if support.have_gnuplot() then support.picture(p) end
  end)

  it("names a thread of a grid by the same indices in all loops", function()
    local s, X, Y = stages(16)
    s:split(s:loops(Y)[1], 7)
    s:bind("i_1_o", "blockIdx.x")
    s:compute_at(X, "i_1_o")
    s:bind("i_1_i", "threadIdx.x")
    s:bind("i", "threadIdx.x")
    local p = refused(s, "set_scope", X, "local"):plot()
    local of = programs(p)
    assert.truthy(tostring(p):find "each thread has its own X")
    assert.equal("blockIdx.x = 0, threadIdx.x = 2", of.refused.source.thread)
    assert.equal("blockIdx.x = 0, threadIdx.x = 0", of.refused.sink.thread)
    assert.equal(1, of.refused.source.time)
    assert.equal(2, of.refused.sink.time) -- after X(0), in the same thread
  end)

  it("shows that a stage is not computed yet", function()
    local p = refused(heat(4, 6), "cache_read", "S", "global", {"S"}):plot()
    assert.truthy(p.script:find "S_global does not exist yet")
    assert.is_nil(programs(p).now.sink)
  end)

  it("shows an instance that would be outside of the domain", function()
    local p = refused(support.doubled(5), "split", "i", 8, {tail = "shift"}):plot()
    local of = programs(p)
    assert.equal("Y(i = -3)", of.refused.sink.instance)
    assert.is_nil(of.now.sink)
    assert.is_nil(of.refused.source)
    assert.equal(8, #of.refused)
    assert.equal(5, #of.now)
    assert.truthy(tostring(p):find "outside of the domain")
  end)

  it("shows an instance twice if its contribution is counted twice", function()
    local A, k = nw.placeholder({8, 8}, "f32", "A"), nw.reduce_axis(8, "k")
    local s = nw.schedule(nw.compute({8}, function(i) return nw.sum(A(i, k), k) end, "M"))
    local p = refused(s, "split", "k", 3, {tail = "shift"}):plot()
    local of = programs(p)
    assert.equal("M(i = 0, k = 5)", of.refused.source.instance)
    assert.equal("M(i = 0, k = 5)", of.refused.sink.instance)
    assert.is_true(of.refused.source.order < of.refused.sink.order)
    assert.truthy(tostring(p):find "the same instance runs twice, and both are counted")
  end)

  it("uses the smallest shape that fails", function()
    local s = support.row_sums()
    local r = refused(s, "parallel", "k")
    local of = programs(r:plot())
    assert.same({1, 2}, r.witness.sizes)
    assert.same({"R(i = 0, k = 0)", "R(i = 0, k = 1)"}, {of.now[1], of.now[2]})
    assert.equal(2, #of.now)
  end)

  it("shows an order that the step would break, whatever the step", function()
    local cases = {
      function() local s = heat(8, 16) return s, "tile", "t_1", "x_1", 4, 4 end,
      function() local s = heat(8, 16) s:reorder("t_1", "x_1") return s, "reorder", "x_1", "t_1" end,
      function() local s, X, Y = stages(16) return s, "compute_at", X, s:loops(Y)[1], {index = 2} end,
      function() local s = heat(8, 16) return s, "parallel", "t_1" end,
      function() local s = heat(8, 16) return s, "bind", "t_1", "blockIdx.x" end,
    }
    for _, make in ipairs(cases) do
      local call = table.pack(make())
      local of = programs(refused(table.unpack(call, 1, call.n)):plot())
      local a, b = of.refused.source, of.refused.sink
      assert.is_true(of.now.source.order < of.now.sink.order)
      assert.is_true(a.order > b.order or a.thread ~= b.thread)
    end
  end)

  it("remains after further steps", function()
    local s = heat(4, 6)
    local r = refused(s, "reorder", "x_1", "t_1")
    local before = r:plot().script
    s:split("x_1", 2)
    collectgarbage()
    assert.equal(before, r:plot().script)
  end)

  it("is made for a step of a trace", function()
    local s = heat(4, 6)
    s:unsafe(function() s:reorder("x_1", "t_1") end)
    local json = s:trace "json":gsub('"unsafe":%s*true', '"unsafe":false')
    local fresh = heat(4, 6)
    local err = support.error_of(fresh.replay, fresh, json)
    assert.equal(4, programs(err.refusal:plot()).refused.source.time)
  end)

  it("is part of the result of s:explain()", function()
    local s = heat(4, 6)
    local r = refused(s, "reorder", "x_1", "t_1")
    local lesson = s:explain()
    assert.equal(r:plot().script, lesson.refusal:plot().script)
    assert.equal(r:plot {title = "t"}.script, lesson:plot {title = "t"}.script)
  end)

  it("says what it cannot draw", function()
    local s, X = stages(16)
    local r = refused(s, "compute_at", X, s:loops(X)[1])
    fails("was refused for its structure: there are no two conflicting instances to draw", "invalid", r.plot, r)
    r = refused(support.gemm(5000), "unroll", "i")
    fails("was refused because it exceeds a limit", "invalid", r.plot, r)
    r = refused(support.gemm(4), "parallel", "k")
    fails("unknown option", "invalid", r.plot, r, {axes = {}})
    fails("expected a string", "invalid", r.plot, r, {title = {}})
    fails("plot: self: expected a refusal", "invalid", r.plot, {})
    fails("expected a refusal", "invalid", r.plot, s)
    local other = setmetatable({kind = "raw", message = "no", witness = r.witness}, getmetatable(r))
    fails("does not come from a schedule", "invalid", other.plot, other)
  end)

  it("executes no text that it is given", function()
    if not support.have_gnuplot() then return pending "gnuplot is not installed" end
    local harm, path = support.temporary ".harm", support.temporary ".svg"
    local title = ("it's `touch %s` \" @x {/Bold y} $z'; system('touch %s') #"):format(harm, harm)
    refused(support.gemm(4), "parallel", "k"):plot({title = title}):save(path)
    nw.order(support.gemm(4), {title = title}):save(path)
    nw.pieces(support.gemm(4), {title = title}):save(path)
    local text = support.read(path)
    os.remove(path)
    assert.is_nil(io.open(harm))
    assert.truthy(text:find("touch", 1, true)) -- the text of the name is only shown
    fails("title: byte 2, \\x0a, is a control character", "invalid", nw.order, support.gemm(4), {title = "a\nsystem('touch x')"})
  end)
end)
