--- Compares the results of every strategy of partitioning with the definition, for every size from 0 to one more than three tiles.
--- Also tests how a strategy is chosen.
local nw = require "nestwright"
local plans = require "nestwright.partition.plans"
local strategies = require "nestwright.partition.strategies"
local support = require "support"

local K, N = 5, 8

local function product(M) return support.product(M, N, K) end

local function finish(s, p)
  s:vectorize(p:loop "j")
  s:unroll(p.inner)
end

local function kernel(rows)
  return {rows = rows, schedule = function(s, p)
    s:reorder(p.outer, p:loop "k", p.inner, p:loop "j")
    finish(s, p)
  end, inside = function(s, p)
    s:reorder(p.outer, p:loop "k", p.inner, p:loop "j_i")
    s:vectorize(p:loop "j_i")
    s:unroll(p.inner)
  end}
end

local around = support.columns_outside

local function kernels(...)
  local list = {}
  for n, rows in ipairs {...} do list[n] = kernel(rows) end
  return strategies.kernels("test", list)
end

local function inputs(m)
  return nw.random({m, K}, "f32", {seed = m + 1}), nw.random({K, N}, "f32", {seed = 2})
end

local reference = product(nw.size("M", {min = 0})):build {threads = 1}

local function agrees(f, m)
  local a, b = inputs(m)
  assert.is_true(nw.allclose(f(a, b), reference(a, b), {rtol = 1e-5, atol = 1e-6}), ("M = %d"):format(m))
end

describe("strategies of partitioning:", function()
  local legal = {"guard", "cut", "halves", "residues", "sizes", "shift", "pad", "predicate"}

  for _, name in ipairs(legal) do
    for _, shared in ipairs {false, true} do
      it(("%s gives right results for every number of rows%s"):format(name, shared and ", with common loops" or ""), function()
        local s = product(nw.size("M", {min = 0}))
        local cases = strategies.apply("test", s, s:loop "i", name, kernels(4, 3, 2, 1), shared and around or nil)
        local f = s:build {threads = 1, versions = strategies.versions(cases)}
        for m = 0, 13 do agrees(f, m) end
      end)
    end

    it(name .. " gives right results for constant numbers of rows", function()
      for _, m in ipairs {1, 3, 4, 6, 13} do
        local s = product(m)
        local ok, cases = pcall(strategies.apply, "test", s, s:loop "i", name, kernels(4, 2, 1), around)
        if ok then
          agrees(s:build {threads = 1, versions = strategies.versions(cases)}, m)
        else
          assert.equal("shift", name) -- shift needs at least one whole tile
          assert.is_true(m < 4)
        end
      end
    end)
  end

  it("an impossible strategy is refused, and the schedule is unchanged", function()
    local M = nw.size("M", {min = 0})
    local A, W = nw.placeholder({M}, "f32", "A"), nw.placeholder({3}, "f32", "W")
    local t = nw.reduce_axis(3, "t")
    local C = nw.compute({M + 2}, function(i)
      return nw.sum(nw.select(nw.all(nw.ge(i - t, 0), nw.lt(i - t, M)), A(i - t), 0) * W(t), t)
    end, "C")
    local s = nw.schedule(C)
    local version = s:version()
    for _, name in ipairs {"pad", "predicate"} do
      local whole = {rows = 4, schedule = function(u, p) u:parallel(p:loop "t") end}
      local ok, problem = pcall(strategies.apply, "test", s, s:loop "i", name, strategies.kernels("test", {whole}))
      assert.is_false(ok)
      assert.truthy(tostring(problem):find("cannot run", 1, true), tostring(problem))
      assert.equal(version, s:version())
    end
  end)

  it("rows beyond the end of an output are computed in a temporary, from existing rows", function()
    for _, name in ipairs {"pad", "predicate"} do
      local s = product(nw.size("M", {min = 0}))
      local cases = strategies.apply("test", s, s:loop "i", name, kernels(4, 1))
      assert.equal(1, #cases)
      s:checkout(cases[1].version)
      local text = tostring(s)
      assert.truthy(text:find("min(", 1, true) and text:find("C_global", 1, true), text)
      assert.equal(name == "pad", text:find("A_global", 1, true) ~= nil)
      assert.truthy(s:check():find "agree")
    end
  end)

  it("no condition is left in the main piece", function()
    for _, name in ipairs {"cut", "halves", "residues", "sizes"} do
      local s = product(nw.size("M", {min = 0}))
      for _, case in ipairs(strategies.apply("test", s, s:loop "i", name, kernels(4, 3, 2, 1), around)) do
        s:checkout(case.version)
        assert.equal(0, nw.partition.conditions(s))
      end
    end
  end)

  it("nw.partition.conditions counts the conditions inside a loop", function()
    local s = product(nw.size("M", {min = 0}))
    nw.partition.tvm_like(s, "i", kernel(4))
    assert.is_true(nw.partition.conditions(s) > 0)
    assert.equal(0, nw.partition.conditions(s, "i_o"))
    assert.equal(nw.partition.conditions(s), nw.partition.conditions(s, "i_o.tail"))
    local ok, problem = pcall(nw.partition.conditions, s, "x")
    assert.is_false(ok)
    assert.truthy(tostring(problem):find("there is no loop x", 1, true))
  end)

  it("nw.partition.conditions counts masks too", function()
    local size = nw.size("size", {min = 0})
    local A = nw.placeholder({size}, "f32", "A")
    local s = nw.schedule(nw.compute({size}, function(i) return A(i) + 1 end, "C"))
    s:split("i", 4, {tail = "predicate"})
    assert.equal(0, nw.partition.conditions(s, "i_o"))
    assert.equal(2, nw.partition.conditions(s, "i_o.tail")) -- the mask of the load, and the mask of the store
  end)

  it("our version of TVM's pass gives right results for every number of iterations", function()
    local s = product(nw.size("M", {min = 0}))
    nw.partition.tvm_like(s, "i", kernel(4))
    local f = s:build {threads = 1}
    for m = 0, 13 do agrees(f, m) end
  end)
end)

describe("loop.begin and loop.extent", function()
  it("give the bounds of a loop", function()
    local s = product(nw.size("M", {min = 0}))
    local outer, inner, tail = s:split("i", 4, {tail = "cut"})
    assert.equal("M // 4", outer.extent)
    assert.equal("4", inner.extent)
    assert.equal("M % 4", tail.extent)
    assert.equal("4*(M // 4)", tail.begin)
    assert.equal("0", outer.begin)
  end)
end)

describe("kernels of several versions", function()
  local function versions(s, ...)
    local list, base = {}, s:version()
    for n, facts in ipairs {...} do
      s:checkout(base)
      for _, fact in ipairs(facts) do s:assume(fact) end
      if #facts > 0 then s:split("i", 4) end
      list[n] = s:version()
    end
    s:checkout(base)
    return list
  end

  it("run the first version whose facts hold, and say which version it is", function()
    local s = product(nw.size("M", {min = 0}))
    local f = s:build {threads = 1, versions = versions(s, {"M % 4 == 0"}, {"M >= 6"}, {})}
    local text = f:show "lowered" .. ""
    for _, condition in ipairs {"# M % 4 == 0\n", "# 6 <= M\n", "# otherwise\n"} do
      assert.truthy(text:find(condition, 1, true), text)
    end
    for _, m in ipairs {0, 3, 4, 5, 6, 7, 8, 5000} do agrees(f, m) end
  end)

  it("choose their version quickly at a call", function()
    local s = product(nw.size("M", {min = 0}))
    local core, list = require "nestwright.core", versions(s, {"M % 4 == 0"}, {})
    local f, a, b = s:build {threads = 1, versions = list}, inputs(5)
    local seconds = core.kernel_dispatch_seconds(f, {a, b, nw.zeros({5, N}, "f32")})
    assert.is_true(seconds >= 0 and seconds < 1e-3)
  end)

  it("report the sum of the code sizes of all versions", function()
    local s = product(nw.size("M", {min = 0}))
    local list = versions(s, {"M % 4 == 0"}, {})
    s:checkout(list[1])
    local first = s:build {threads = 1}.code_bytes
    s:checkout(list[2])
    local second = s:build {threads = 1}.code_bytes
    assert.is_true(first > 0 and second > 0)
    assert.equal(first + second, s:build {threads = 1, versions = list}.code_bytes)
  end)

  it("are refused if the last version does not hold for all sizes", function()
    local s = product(nw.size("M", {min = 0}))
    local list = versions(s, {}, {"M % 4 == 0"})
    local ok, problem = pcall(s.build, s, {versions = list})
    assert.is_false(ok)
    assert.truthy(tostring(problem):find("its facts must come first in every version", 1, true))
  end)

  it("check assumptions as a single version does, and write nothing if one is violated", function()
    local s = product(nw.size("M", {min = 0}))
    s:assume "M >= 2"
    local f = s:build {threads = 1, versions = versions(s, {"M % 4 == 0"}, {})}
    local a, b = inputs(1)
    local c = nw.zeros({1, N}, "f32")
    local ok, problem = pcall(f, a, b, c)
    assert.is_false(ok)
    assert.truthy(tostring(problem):find("2 <= M does not hold", 1, true))
    assert.equal(0, c:get(0, 0))
  end)
end)

describe("plans", function()
  local function timed(rows, first, more) return {rows = rows, seconds = {first = first, more = more, guarded = 4 * more}} end
  local list = {timed(5, 50, 46), timed(4, 44, 40), timed(3, 60, 58), timed(1, 30, 28)}

  -- Returns the least time to cover `rows` rows with the tiles list[n], list[n + 1], ..., by trying all combinations.
  local function brute(rows, n)
    if rows == 0 then return 0 end
    if n > #list then return math.huge end
    local best = brute(rows, n + 1)
    for count = 1, rows // list[n].rows do
      local t = list[n].seconds
      best = math.min(best, t.first + (count - 1) * t.more + brute(rows - count * list[n].rows, n + 1))
    end
    return best
  end

  it("cover a number of iterations by the tiles that take the least time", function()
    for rows = 1, 24 do
      local plan, sum = plans.exact(plans.times(list), rows), 0
      for _, part in ipairs(plan) do sum = sum + part.count * part.kernel.rows end
      assert.equal(rows, sum)
      assert.equal(brute(rows, 1), plans.seconds(plan))
    end
  end)

  it("are periodic: a period has as many rows as the main tile", function()
    local plan = plans.periodic(plans.times(list))
    for residue = 0, plan.main.rows - 1 do
      assert.equal(residue, plan.rounds[residue] % plan.main.rows)
      assert.is_true(plan.rounds[residue] < plan.from)
    end
  end)

  it("are refused if no tiles add up to the number of rows", function()
    support.fails("^partition: no tiles add up to 6", "invalid", function() plans.exact(plans.times {timed(4, 4, 4)}, 6) end)
  end)
end)

describe("s:partition_auto", function()
  local function auto(o)
    local s = product(nw.size("M", {min = 0}))
    local all = {loop = "i", kernels = {kernel(4), kernel(2), kernel(1)}, around = around, sizes = {M = {1, 7, 8}}, cost = "model",
      machine = "zen5"}
    for key, value in pairs(o or {}) do all[key] = value end
    return s:partition_auto(all), s
  end

  it("ranks the possible strategies, and says why the others are not possible", function()
    local list, s = auto()
    local names, refused = {}, 0
    for n, row in ipairs(list) do
      names[row.strategy] = n
      if row.refused then
        refused = refused + 1
      else
        assert.is_true(row.code_bytes > 0)
        assert.equal(3, #row.predicted)
        if n > 1 then assert.is_true(list[n - 1].figure <= row.figure) end
      end
    end
    assert.truthy(names.guard and names.cut and names.sizes and names.pad)
    assert.equal(0, refused)
    assert.equal(0, s:version())
    local whole = {kernel(4), kernel(1)}
    for _, k in ipairs(whole) do k.whole = true end
    local few = auto {kernels = whole}
    for _, row in ipairs(few) do assert.equal(row.strategy == "guard", row.refused ~= nil, row.strategy) end
    assert.truthy((few .. ""):find("refused: partition: all kernels handle whole tiles only", 1, true))
  end)

  it("has the methods take, build and dispatch", function()
    local list, s = auto()
    local f, g = list:build("halves", {threads = 1}), list:build(1, {threads = 1})
    local d = list:dispatch()
    local h = s:build {threads = 1, versions = d.versions}
    for m = 0, 13 do
      agrees(f, m)
      agrees(g, m)
      agrees(h, m)
    end
    list:take "cut"
    assert.truthy((s:show() .. ""):find("i.tail", 1, true))
  end)

  it("obeys a limit on code size", function()
    local list = auto {objective = "size"}
    local limit = list[1].code_bytes
    local kept = auto {code_limit = limit}
    assert.is_true(kept[1].code_bytes <= limit)
    assert.is_false(kept[2].fits)
  end)

  it("ranks by energy, and by energy times time", function()
    local energy, edp = auto {objective = "energy"}, auto {objective = "edp"}
    assert.equal(energy[1].joules, energy[1].figure)
    assert.equal(edp[1].joules * edp[1].expected, edp[1].figure)
  end)

  it("shows that a learned score is not a time", function()
    local model = {predict = function(_, s) return -5 * math.log(#s:loops()) end}
    local list = auto {cost = "learned", model = model}
    assert.is_true(list[1].scored and list[1].figure <= list[2].figure)
    assert.is_nil((list .. ""):find(" s ", 1, true))
    assert.near(math.tointeger(list[1].predicted[1] + 0.5 - (list[1].predicted[1] + 0.5) % 1), list[1].predicted[1], 1e-6)
  end)

  it("says why the steps of a kernel are refused, and leaves the schedule unchanged", function()
    local list, s = auto {kernels = {{rows = 4, schedule = function(t, p) t:vectorize(p.outer) end}, {rows = 1, schedule = finish}}}
    for _, row in ipairs(list) do assert.truthy(row.refused, row.strategy) end
    assert.truthy((list .. ""):find("cannot vectorize i_o: its extent is not constant", 1, true))
    assert.equal(0, s:version())
    s:split("i", 4)
  end)

  it("passes on errors inside a kernel", function()
    local ok, problem = pcall(auto, {kernels = {{rows = 4, schedule = function() error "mine" end}}})
    assert.is_false(ok)
    assert.truthy(tostring(problem):find("mine", 1, true))
  end)

  it("says if the rows of the tiles cannot add up to the number of rows", function()
    local list = auto {kernels = {kernel(4)}}
    assert.truthy((list .. ""):find("no tiles add up to 1 iterations", 1, true))
  end)

  it("names invalid arguments", function()
    local function problem(o)
      local ok, text = pcall(auto, o)
      assert.is_false(ok)
      return tostring(text)
    end
    assert.truthy(problem({kernels = {}}):find("kernels is empty", 1, true))
    assert.truthy(problem({kernels = {kernel(4), kernel(4)}}):find("both tile 4 iterations", 1, true))
    assert.truthy(problem({kernels = {{rows = 0}}}):find("kernels[1] is not a kernel", 1, true))
    assert.truthy(problem({sizes = {}}):find("the size M has no values", 1, true))
    assert.truthy(problem({cost = "guess"}):find("cost: expected 'kernels', 'model', 'measured' or 'learned', got 'guess'", 1,
      true))
    assert.truthy(problem({cost = "learned"}):find("a learned model", 1, true))
    assert.truthy(problem({strategies = {"hope"}}):find("no strategy hope", 1, true))
  end)
end)

describe("nw.partition.pipeline", function()
  local function buffered(double)
    local A, B = nw.placeholder({64, 256}, "f32", "A"), nw.placeholder({256, 64}, "f32", "B")
    local k = nw.reduce_axis(256, "k")
    local C = nw.compute({64, 64}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
    local s = nw.schedule(C)
    s:split("k", 32)
    s:reorder("k_o", "i", "j", "k_i")
    local copy = s:cache_read(B, "global", {C})
    s:compute_at(copy, "k_o")
    if double then s:double_buffer(copy) end
    return s
  end

  it("shows prologue, steady state and epilogue, and the interval between iterations", function()
    local p = nw.partition.pipeline(buffered(true), "k_o", {machine = "zen5"})
    assert.equal(7, p.rounds)
    assert.equal(2, #p.parts)
    assert.is_true(p.prologue > 0 and p.epilogue > 0)
    assert.is_true(p.interval > 0 and math.abs(p.alone - p.parts[1].cycles - p.parts[2].cycles) < 1e-6)
    assert.truthy((p .. ""):find("steady state", 1, true))
  end)

  it("finds no prologue and no epilogue if nothing overlaps", function()
    local p = nw.partition.pipeline(buffered(false), "k_o", {machine = "zen5"})
    assert.equal(8, p.rounds)
    assert.equal(0, p.prologue)
    assert.equal(0, p.epilogue)
  end)

  it("shows a prologue that lowering merged with the loop, and says if there is no steady state", function()
    local M = nw.size "M"
    local A = nw.placeholder({M, 256}, "f32", "A")
    local P = nw.compute({M, 256}, function(i, j) return A(i, j) * 2 end, "P")
    local s = nw.schedule(nw.compute({M, 256}, function(i, j) return P(i, j) + 1 end, "Q"))
    s:compute_at(P, "i_1")
    s:double_buffer(P)
    local how = {machine = "zen5", sizes = {M = 3}}
    local p, c = nw.partition.pipeline(s, "i_1", how), s:cost(how)
    assert.equal(2, p.rounds)
    assert.is_true(p.prologue > 0 and p.prologue == p.parts[1].cycles)
    assert.near(c.cycles, p.prologue + p.rounds * p.interval + p.epilogue, 0.05 * c.cycles)
    local ok, problem = pcall(nw.partition.pipeline, s, "i_1", {machine = "zen5", sizes = {M = 1}})
    assert.is_false(ok)
    assert.truthy(tostring(problem):find("i_1 has no iterations", 1, true))
  end)

  it("names a loop that does not exist", function()
    local ok, problem = pcall(nw.partition.pipeline, buffered(false), "q")
    assert.is_false(ok)
    assert.truthy(tostring(problem):find("there is no loop q", 1, true))
  end)
end)

-- Calls f. Meanwhile, the record of call number n of core.kernel_time says that other work disturbed it if is(n) is true.
local function disturbed_if(is, f)
  local core, calls = require "nestwright.core", 0
  local kernel_time = core.kernel_time
  core.kernel_time = function(...)
    calls = calls + 1
    local t = kernel_time(...)
    t.disturbed = is(calls) or nil
    if t.disturbed then t.median = 1e-9 end
    return t
  end
  local ok, problem = pcall(f)
  core.kernel_time = kernel_time
  assert(ok, problem)
end

describe("a measurement that other work disturbed", function()
  local budget = require "nestwright.measure.undisturbed".budget
  local function without_patience(f)
    local undisturbed = require "nestwright.measure.undisturbed"
    undisturbed.budget = function() return {left = 0} end
    local ok, problem = pcall(f)
    undisturbed.budget = budget
    assert(ok, problem)
  end
  local OPTIONS = {loop = "i", kernels = {kernel(4), kernel(1)}, cost = "measured", machine = "zen5", strategies = {"guard", "cut"}}

  it("is repeated by s:partition_auto, which then ranks by medians", function()
    local list
    disturbed_if(function(n) return n % 2 == 1 end, function() list = product(13):partition_auto(OPTIONS) end)
    assert.is_nil(list.disturbed)
    for _, row in ipairs(list) do
      assert.is_true(row.seconds > 1e-9 and not row.disturbed)
      assert.equal(row.seconds, row.figure)
    end
    assert.truthy(tostring(list):find "bytes +median")
  end)

  it("that stays disturbed gives no verdict: s:partition_auto ranks by the prediction, and says so", function()
    local list
    without_patience(function()
      disturbed_if(function(n) return n == 2 end, function() list = product(13):partition_auto(OPTIONS) end)
    end)
    assert.is_true(list.disturbed)
    local disturbed = 0
    for n, row in ipairs(list) do
      disturbed = disturbed + (row.disturbed and 1 or 0)
      assert.equal(row.expected, row.figure)
      assert.is_true(n == 1 or row.figure >= list[n - 1].figure)
    end
    assert.equal(1, disturbed)
    assert.truthy(tostring(list):find("Other work disturbed the measurements, so the rows are ranked by the cost model.", 1, true))
    assert.truthy(tostring(list):find("disturbed by other work", 1, true))
  end)

  it("is not kept in the file of nw.microkernels, and s:partition_auto does not rank by it", function()
    local state, script = support.temporary ".d", support.temporary ".lua"
    support.write(script, [[
      local nw, core = require "nestwright", require "nestwright.core"
      require "nestwright.measure.undisturbed".budget = function() return {left = 0} end
      local kernel_time, busy, factor = core.kernel_time, false, 1
      core.kernel_time = function(...)
        local t = kernel_time(...)
        t.disturbed, t.median = busy or nil, factor * 1e-6
        return t
      end
      local A = nw.placeholder({nw.size("M", {min = 0})}, "f32", "A")
      local s = nw.schedule(nw.compute(A:shape(), function(i) return A(i) * 2 end, "C"))
      local function unrolled(t, p) t:unroll(p.inner) end
      local kernels = {{rows = 2, schedule = unrolled}, {rows = 1, schedule = unrolled}}
      local function list(again)
        return nw.microkernels {schedule = s, loop = "i", kernels = kernels, again = again}
      end
      busy, factor = true, 3
      local first = list()
      assert(first[1].disturbed and tostring(first):find "disturbed by other work")
      for _, cost in ipairs {"kernels", "model"} do
        local ranked = s:partition_auto {loop = "i", kernels = first, cost = cost, machine = "zen5", sizes = {M = 5}}
        assert((ranked.disturbed or false) == (cost == "kernels"))
        for _, row in ipairs(ranked) do assert(row.refused or row.modelled) end
      end
      busy, factor = false, 4
      local second = list() -- the first times were not kept
      assert(not second[1].disturbed and second[1].seconds.first == 4e-6)
      factor = 8
      assert(list()[1].seconds.first == 4e-6) -- the second times were kept
      busy = true
      local kept = list(true)
      assert(not kept[1].disturbed and kept[1].seconds.first == 4e-6) -- they stay, because the new times are disturbed
      busy = false
      assert(list(true)[1].seconds.first == 8e-6)
      print "good"
    ]])
    local text = support.run(("XDG_STATE_HOME=%s %s %s 2>&1"):format(state, support.program, script))
    assert.truthy(text:find("good", 1, true), text)
    os.execute(("rm -r %s %s"):format(state, script))
  end)
end)

describe("nw.microkernels", function()
  local SCRIPT = [[
    local nw, core = require "nestwright", require "nestwright.core"
    local kernel_time = core.kernel_time
    core.kernel_time = function(...) -- the machine of the test may be busy
      local t = kernel_time(...)
      t.disturbed = nil
      return t
    end
    local M = nw.size("M", {min = 0})
    local A = nw.placeholder({M}, "f32", "A")
    local s = nw.schedule(nw.compute({M}, function(i) return A(i) * 2 end, "C"))
    local function unrolled(t, p) t:unroll(p.inner) end
    local o = {schedule = s, loop = "i",
      kernels = {{rows = 4, schedule = unrolled, inside = unrolled}, {rows = 1, schedule = unrolled}},
      around = function() end}
    local list = nw.microkernels(o)
    assert(list[1].rows == 4 and list[2].rows == 1)
    for _, k in ipairs(list) do assert(k.seconds.first > 0 and k.seconds.more > 0 and k.seconds.guarded > 0) end
    assert(list[1].seconds_inside.first > 0 and not list[2].seconds_inside)
    assert(nw.microkernels(o)[1].seconds.first == list[1].seconds.first)
    assert(s:version() == 0)
    print(list)
    print(s:partition_auto {loop = "i", kernels = list, sizes = {M = {3, 9}}})
  ]]

  it("measures tiles once, and then reads the file", function()
    local state, script = os.tmpname() .. ".d", os.tmpname() .. ".lua"
    support.write(script, SCRIPT)
    local pipe = assert(io.popen(("XDG_STATE_HOME=%s %s %s 2>&1"):format(state, support.program, script)))
    local text = pipe:read "a"
    pipe:close()
    os.remove(script)
    assert.truthy(text:find("next tile", 1, true), text)
    assert.truthy(text:find("predicted", 1, true), text)
    local kept = assert(io.popen(("ls %s/nestwright"):format(state))):read "a"
    assert.truthy(kept:find("microkernels", 1, true), kept)
    os.execute(("rm -r %s"):format(state))
  end)

  it("requires a loop whose extent is a symbolic size", function()
    local s = product(8)
    local ok, problem = pcall(nw.microkernels, {schedule = s, loop = "i", kernels = {kernel(4)}})
    assert.is_false(ok)
    assert.truthy(tostring(problem):find("i has 8 iterations", 1, true))
  end)
end)

describe("partition_auto", function()
  it("prints no notes about the steps that it tries", function()
    require "nestwright.show.prompt".notes()
    local s = product(13)
    s:partition_auto {loop = "i", kernels = {kernel(4), kernel(1)}, cost = "model", machine = "zen5", strategies = {"guard", "cut"}}
    assert.is_nil(require "nestwright.show.prompt".notes())
    s:split("i", 4)
    assert.truthy(require "nestwright.show.prompt".notes():find "does not divide")
  end)
end)
