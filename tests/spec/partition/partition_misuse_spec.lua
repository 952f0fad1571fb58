--- Tests errors during partitioning: the schedule must be restored, and the error must say what is wrong and where.
local nw = require "nestwright"
local core = require "nestwright.core"
local distribution = require "nestwright.partition.distribution"
local support = require "support"

local K, N = 5, 8

local function product(M) return support.product(M, N, K) end

local function any_rows() return product(nw.size("M", {min = 0})) end

local function unrolled(s, p)
  s:reorder(p.outer, p:loop "k", p.inner, p:loop "j")
  s:unroll(p.inner)
end

local function kernel(rows, more)
  local k = {rows = rows, schedule = unrolled}
  for key, value in pairs(more or {}) do k[key] = value end
  return k
end

local function auto(s, o)
  local all = {loop = "i", kernels = {kernel(4), kernel(1)}, cost = "model", machine = "zen5", sizes = {M = {1, 7, 8}},
    strategies = {"guard", "cut"}}
  for key, value in pairs(o or {}) do all[key] = value end
  return s:partition_auto(all)
end

-- Returns a kernel that is interrupted in its n-th call, as by Ctrl-C.
local function stopped(n, code)
  local calls = 0
  return kernel(4, {schedule = function(s, p)
    calls = calls + 1
    unrolled(s, p)
    if calls == n then core.fail(code or "interrupt", "interrupted") end
  end})
end

describe("a schedule on which partitions are tried", function()
  it("is restored if the search is interrupted", function()
    local s = any_rows()
    s:reorder("i", "k", "j")
    local version = s:version()
    support.fails("interrupted", "interrupt", auto, s, {kernels = {stopped(2), kernel(1)}})
    assert.equal(version, s:version())
  end)

  it("is restored if a dispatch table is interrupted", function()
    local s = any_rows()
    local list = auto(s, {kernels = {stopped(3), kernel(1)}})
    s:split("j", 4)
    local version = s:version()
    support.fails("interrupted", "interrupt", function() list:dispatch() end)
    assert.equal(version, s:version())
  end)

  it("is restored if its cost cannot be computed", function()
    local s = any_rows()
    local model = {predict = function() core.fail("interrupt", "interrupted") end}
    support.fails("interrupted", "interrupt", auto, s, {cost = "learned", model = model})
    assert.equal(0, s:version())
  end)

  it("keeps its current version when a dispatch table is made", function()
    local s = any_rows()
    local list = auto(s)
    s:split("j", 2)
    local version = s:version()
    list:dispatch()
    assert.equal(version, s:version())
  end)

  it("is unchanged if our version of TVM's pass is refused", function()
    local s = product(64)
    support.fails("there is no loop zz", "invalid", nw.partition.tvm_like, s, "i",
      {rows = 8, schedule = function(t, p) t:vectorize(p:loop "zz") end})
    assert.equal(0, s:version())
  end)
end)

describe("a mistake in a call of s:partition_auto", function()
  local function says(pattern, o) return support.fails(pattern, nil, auto, any_rows(), o) end

  it("names the option", function()
    says("around: expected a function", {around = "x"})
    says("model: expected a model", {cost = "learned", model = 3})
    says("strategies is empty", {strategies = {}})
    says("strategies: expected a string or a list, got a number", {strategies = 3})
    for _, limit in ipairs {-1, 0, 0 / 0, "8"} do says("code_limit: ", {code_limit = limit}) end
    says("measure: expected a boolean", {measure = "yes"})
    says("no machine 'zen99'", {machine = "zen99"})
  end)

  it("names the field of a kernel", function()
    local function field(pattern, k) says("kernels%[1%] is not a kernel: " .. pattern, {kernels = {k}}) end
    says("kernels%[1%]: expected a table, got a number", {kernels = {8}})
    field("rows, the number of iterations of a tile, must be a number, not a string", kernel "8")
    for _, rows in ipairs {0, -4, 1.5, 1 << 40} do
      field("rows must be a whole number in 1..4096, not " .. tostring(rows):gsub("%-", "%%-"), kernel(rows))
    end
    field("schedule, the function that schedules a piece, must be a function, not nil", {rows = 8})
    field("inside", kernel(8, {inside = 3}))
    field("name, the name of the kernel, must be a string, not a number", kernel(8, {name = 3}))
    field("whole", kernel(8, {whole = "yes"}))
  end)

  it("names sizes and weights", function()
    says("M = %-1 is less than 0", {sizes = {M = {-1}}})
    says("there is no size Q", {sizes = {M = {1}, Q = 3}})
    says("weights: got 1 for 2 values", {sizes = {M = {1, 7}, weights = {1}}})
    says("weights: got 3 for 2 values", {sizes = {M = {1, 7}, weights = {M = {1, 2, 3}}}})
    says("weights: expected a table", {sizes = {M = {1, 7}, weights = "x"}})
    says("there is no size Q", {sizes = {M = {1, 7}, weights = {Q = {1, 2}}}})
  end)

  it("is not reported for a size with one value beside a size that varies", function()
    local A = nw.placeholder({nw.size("M", {min = 0}), nw.size("W", {min = 0})}, "f32", "A")
    local s = nw.schedule(nw.compute(A:shape(), function(i, j) return A(i, j) end, "Z"))
    local list, varied = distribution.of("test", s, {M = {9, 17}, W = {24}, weights = {1, 3}})
    assert.same({"M"}, varied)
    assert.equal(3, list[2].weight)
    support.fails("a list of weights needs exactly one size that varies, but there are 2", "invalid", distribution.of, "test", s,
      {M = {9, 17}, W = {24, 25}, weights = {1, 3}})
  end)

  it("is not reported if strategies is a single name", function()
    local list = auto(any_rows(), {strategies = "cut"})
    assert.equal(1, #list)
    assert.equal("cut", list[1].strategy)
  end)

  it("names a size that is less than its least value", function()
    support.fails("partition_auto: M = 0 is too small: it must be at least 1", "range", auto, product(nw.size "M"),
      {sizes = {M = {0, 1}}})
  end)

  it("names the sizes of nw.microkernels", function()
    local function refused(pattern, key, value)
      support.fails(pattern, "invalid", nw.microkernels, {schedule = any_rows(), loop = "i", kernels = {kernel(4)}, [key] = value})
    end
    refused("there is no size N", "sizes", {N = 3})
    refused("again: expected a boolean", "again", "x")
    refused("around: expected a function", "around", "x")
  end)
end)

describe("an error while strategies are tried", function()
  it("names the strategy and the kernel if it comes from a kernel's function", function()
    local function broken() return #tonumber "none" end
    local problem = support.error_of(auto, any_rows(), {kernels = {kernel(4, {name = "mine", schedule = broken}), kernel(1)}})
    local text = tostring(problem)
    assert.truthy(text:find "guard: the kernel of 4 rows %(mine%): .*partition_misuse_spec.lua:%d+: attempt to get length")
  end)

  it("appears in the table with a remedy", function()
    local list = auto(any_rows(), {kernels = {kernel(4, {whole = true}), kernel(1, {whole = true})}})
    assert.equal("guard", list[2].strategy)
    assert.equal("add a kernel without whole = true", list[2].hint)
    assert.truthy(tostring(list):find("hint: add a kernel without whole = true", 1, true))
    support.fails("guard was refused: .*add a kernel without whole = true", "invalid", function() list:take "guard" end)
    support.fails("there is no row 9", "invalid", function() list:build(9) end)
  end)

  it("is raised again by dispatch if all strategies fail", function()
    local none = auto(any_rows(), {kernels = {kernel(4, {whole = true})}, strategies = {"guard"}})
    support.fails("all strategies were refused; guard: .*add a kernel without whole = true", "invalid",
      function() none:dispatch() end)
    local one = auto(any_rows(), {sizes = {M = 7}})
    support.fails("strategies were tried for only one size.*give several values", "invalid", function() one:dispatch() end)
  end)
end)

describe("the table of s:partition_auto", function()
  it("marks strategies that were not judged", function()
    local list = auto(any_rows(), {kernels = {kernel(4, {schedule = function(s, p) s:unsafe(unrolled, p) end}), kernel(1)}})
    for _, row in ipairs(list) do assert.is_true(row.unsafe) end
    assert.truthy(tostring(list):find("unsafe: not judged", 1, true))
    local judged = auto(any_rows())
    assert.is_nil(judged[1].unsafe)
    assert.is_nil(tostring(judged):find("unsafe", 1, true))
  end)

  it("marks microkernels that were not judged, and keeps their times", function()
    local state, script = support.temporary ".d", support.temporary ".lua"
    support.write(script, [[
      local nw = require "nestwright"
      local A = nw.placeholder({nw.size("M", {min = 0})}, "f32", "A")
      local s = nw.schedule(nw.compute(A:shape(), function(i) return A(i) * 2 end, "C"))
      local function unrolled(t, p) t:unroll(p.inner) end
      local function unsafe(t, p) t:unsafe(unrolled, p) end
      for _ = 1, 2 do
        local kernels = {{rows = 2, schedule = unsafe}, {rows = 1, schedule = unrolled}}
        local list = nw.microkernels {schedule = s, loop = "i", kernels = kernels}
        assert(list[1].unsafe and not list[2].unsafe)
        assert(select(2, tostring(list):gsub("unsafe: not judged", "")) == 1, tostring(list))
      end
      print "good"
    ]])
    local text = support.run(("XDG_STATE_HOME=%s %s %s 2>&1"):format(state, support.program, script))
    assert.truthy(text:find("good", 1, true), text)
    os.execute(("rm -r %s %s"):format(state, script))
  end)

  it("marks intrinsics, whose predicted cost is that of loops", function()
    local A, B = nw.placeholder({4, K}, "f32", "A"), nw.placeholder({K, N}, "f32", "B")
    local k = nw.reduce_axis(K, "k")
    local tile = nw.intrinsic {name = "tile", args = {A, B, nw.compute({4, N}, function(i, j)
      return nw.sum(A(i, k) * B(k, j), k)
    end, "C")}, source = ([[
      #include <stdint.h>
      void tile(const float *A, const float *B, float *C, int64_t a, int64_t b, int64_t c) {
        for (int i = 0; i < 4; i++)
          for (int j = 0; j < %d; j++) {
            float sum = 0;
            for (int k = 0; k < %d; k++) sum += A[i * a + k] * B[k * b + j];
            C[i * c + j] = sum;
          }
      }
    ]]):format(N, K)}
    local function tensorized(s, p)
      s:reorder(p.outer, p.inner, p:loop "j", p:loop "k")
      s:tensorize(p.inner, tile)
    end
    local list = auto(any_rows(), {kernels = {kernel(4, {whole = true, schedule = tensorized}), kernel(1)}, strategies = "cut"})
    assert.is_true(list[1].intrinsics)
    assert.truthy(tostring(list):find("intrinsics: priced as loops", 1, true))
    assert.is_nil(auto(any_rows(), {strategies = "cut"})[1].intrinsics)
  end)

  it("has help, and completion", function()
    local list = auto(any_rows())
    local help = tostring(nw.help(list))
    for _, method in ipairs {"ranking:take(", "ranking:build(", "ranking:dispatch("} do
      assert.truthy(help:find(method, 1, true), help)
    end
    rawset(_G, "test_ranking", list)
    local offered = require "nestwright.show.complete".complete "test_ranking:"
    assert.same({"test_ranking:build", "test_ranking:dispatch", "test_ranking:take"}, offered)
    rawset(_G, "test_ranking", nil)
    assert.truthy(tostring(list) == list .. "" and list:find "strategy")
  end)

  it("reports its progress, and so does the dispatch table", function()
    local told = {}
    core.on_progress(function(what) if what then told[#told + 1] = what end end, 0)
    local ok, problem = pcall(function() auto(any_rows(), {strategies = {"cut", "residues"}}):dispatch() end)
    core.on_progress()
    assert(ok, problem)
    local all = table.concat(told, "\n")
    assert.truthy(all:find("trying cut, version 1", 1, true), all)
    assert.truthy(all:find("trying residues, size 3 of 3", 1, true))
    assert.truthy(all:find("leaf 1 of", 1, true))
  end)
end)
