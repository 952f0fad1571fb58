--- Tests nw.cost.audit. It draws legal schedules, measures them, compares predictions with the times, and keeps samples in files.
local nw = require "nestwright"
local json = require "nestwright.show.json"
local sample = require "nestwright.learn.sample"
local sampler = require "nestwright.learn.sampler"
local statistics = require "nestwright.measure.statistics"
local support = require "support"
local workloads = require "nestwright.measure.workloads"
local fails = support.fails

local SMALL = {gemm = {24, 20, 28}, conv1d = {200, 9}, depthwise = {3, 14, 10}, blur = {120, 160}, dense = {8, 20, 12},
  conv2d = {6, 4, 6, 10}, pool = {3, 7, 10}, sobel = {14, 32}, heat = {4, 6, 20}, transpose = {24}, center = {8, 24}}

local function small(name) return workloads.make("test", name, table.unpack(SMALL[name])) end

-- Returns the texts of the first n schedules of a seed.
local function drawn(output, seed, n)
  local from, out = sampler.new({output}, seed), {}
  for k = 1, n do out[k] = from:next():text() end
  return out
end

local function write(path, text)
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
end

describe("the sampler", function()
  it("draws the same schedules for the same seed, other schedules for another seed, and none twice", function()
    local C = small "gemm"
    local a, b, c = drawn(C, 7, 12), drawn(C, 7, 12), drawn(C, 8, 12)
    assert.same(a, b)
    assert.is_not.same(a, c)
    local seen = {}
    for _, text in ipairs(a) do
      assert.is_nil(seen[text])
      seen[text] = true
    end
  end)

  it("draws schedules that compute the same result", function()
    for _, name in ipairs(workloads.list) do
      local from = sampler.new({small(name)}, 3)
      for _ = 1, 6 do from:next():check() end
    end
  end)

  it("draws steps of every kind", function()
    local wanted = {"split", "reorder", "vectorize", "unroll", "cache_read", "cache_write", "compute_at", "compute_inline", "fuse",
      "layout", "set_scope", "stream_stores", "cut", "shift"}
    local traces = {}
    for _, name in ipairs {"gemm", "blur"} do
      local from = sampler.new({small(name)}, 5)
      for n = 1, 60 do traces[#traces + 1] = n and from:next():trace() end
    end
    local all = table.concat(traces)
    for _, word in ipairs(wanted) do assert.is_truthy(all:find(word, 1, true), word) end
  end)

  it("ends if there are no other schedules", function()
    local A = nw.placeholder({1}, "f32", "A")
    local from = sampler.new({nw.compute({1}, function(i) return A(i) end, "Z")}, 1)
    local n = 0
    while n < 500 and from:next() do n = n + 1 end
    assert.is_true(n >= 1 and n < 500)
  end)
end)

describe("computations by name", function()
  it("include those for testing and those for training, of any size", function()
    assert.same({"blur", "center", "conv1d", "conv2d", "dense", "depthwise", "gemm", "heat", "pool", "sobel", "transpose"},
      workloads.list)
    assert.same({24, 20}, small "gemm":shape())
  end)

  it("are listed in the error for an unknown name", function() fails("gemm", "invalid", nw.cost.audit, {kernel = "gem"}) end)
end)

describe("an audit", function()
  local a, file

  setup(function()
    file = support.temporary ".json"
    a = nw.cost.audit {kernel = small "blur", schedules = 8, seed = 2, file = file}
  end)
  teardown(function() os.remove(file) end)

  it("has the predicted and the measured time of each schedule, and the figures that follow from them", function()
    assert.is_true(#a.points >= 8)
    local predicted, measured = {}, {}
    for n, p in ipairs(a.points) do
      predicted[n], measured[n] = p.predicted, p.measured
      assert.equal(p.schedule:cost().seconds, p.predicted)
      assert.is_true(p.measured > 0 and p.measured <= 20 * a.best)
    end
    assert.equal(statistics.tau(predicted, measured), a.analytic.tau)
    assert.equal(statistics.spearman(predicted, measured), a.analytic.spearman)
    assert.equal(statistics.pairwise(predicted, measured), a.analytic.pairwise)
    assert.equal(statistics.median_error(predicted, measured), a.analytic.median_error)
    assert.equal(statistics.regret(predicted, measured, 1), a.analytic.regret_1)
    assert.equal(statistics.tau(statistics.lowest(predicted, measured, 0.25)), a.analytic.tau_best_quarter)
    assert.equal(a.drawn - a.rejected, a.schedules)
  end)

  it("says how well two measurements agree", function()
    local one, two = {}, {}
    for n, p in ipairs(a.points) do
      one[n], two[n] = p.halves[1], p.halves[2]
      assert.is_true(p.measured >= math.min(one[n], two[n]) and p.measured <= math.max(one[n], two[n]))
    end
    assert.equal(statistics.tau(one, two), a.measured.tau)
    assert.is_truthy(tostring(a):find "\nmeasured +[%d-]")
  end)

  it("prints as a table, and lists its worst predictions", function()
    assert.is_truthy(tostring(a):find "tau")
    assert.is_truthy(tostring(a):find("rejected: they took more than 20 times the best time", 1, true))
    local worst = a:outliers(3)
    assert.equal(3, #worst)
    local function off(p) return math.abs(math.log(p.predicted / p.measured)) end
    assert.is_true(off(worst[1]) >= off(worst[2]) and off(worst[2]) >= off(worst[3]))
    for _, p in ipairs(a.points) do assert.is_true(off(p) <= off(worst[1])) end
    fails("outliers", "range", a.outliers, a, 0)
  end)

  it("can be drawn", function()
    local plot = a:plot()
    assert.equal(#a.points, #plot.rows)
    assert.is_truthy(tostring(plot):find "Kendall")
    if support.have_gnuplot() then support.picture(plot) end
  end)

  it("is not measured again if the file contains it", function()
    local before = support.read(file)
    local b = nw.cost.audit {kernel = small "blur", schedules = 8, seed = 2, file = file}
    assert.equal(before, support.read(file))
    assert.equal(tostring(a), tostring(b))
  end)

  it("replaces schedules without a prediction, and says how many and why", function()
    local core, methods = require "nestwright.core", require "nestwright.language.rows".methods "schedule"
    local cost, path, b = methods.cost, support.temporary ".json", nil
    sample.save(sample.load(file), path) -- a complete sample, in which every schedule has a prediction
    local without = sample.kept(sample.load(path))[3].trace
    function methods.cost(s, o)
      if s:trace "json" == without then core.fail("limit", "too many accesses to count") end
      return cost(s, o)
    end
    local ok, problem = pcall(function()
      b = nw.cost.audit {kernel = small "blur", schedules = 8, seed = 2, file = path}
    end)
    methods.cost = cost
    assert(ok, problem)
    assert.is_true(#b.points >= 8)
    assert.equal(1, b.unpriced)
    assert.is_truthy(tostring(b):find("1 schedule without a prediction, excluded: too many accesses to count", 1, true))
    local before, after = sample.load(file).entries, sample.load(path).entries
    assert.is_true(#after > #before)
    for n, entry in ipairs(before) do assert.same(entry, after[n]) end
    os.remove(path)
  end)

  it("continues with the schedules of a file", function()
    local m = sample.load(file)
    local cut, first = support.temporary ".json", m.entries[1].trace
    m.entries = {table.unpack(m.entries, 1, 4)}
    for _, entry in ipairs(m.entries) do entry.seconds, entry.times = 1e-6, {1e-6, 1e-6, 1e-6, 1e-6, 1e-6, 1e-6, 2e-6} end
    sample.save(m, cut)
    m = sample.measure(nw, {outputs = {small "blur"}, schedules = 6, seed = 2, threads = 1, file = cut, name = "Y"})
    assert.is_true(#m.entries >= 6)
    assert.equal(first, m.entries[1].trace)
    assert.equal(1e-6, m.entries[1].seconds) -- the time in the file
    local seen = {}
    for _, entry in ipairs(m.entries) do
      assert.is_nil(seen[entry.trace])
      seen[entry.trace] = true
    end
    os.remove(cut)
  end)

  it("refuses files of other computations, and files that are not samples", function()
    fails("another computation", "invalid", nw.cost.audit, {kernel = small "gemm", file = file})
    local other = support.temporary ".json"
    for _, text in ipairs {"", "{}", "[1, 2", '{"computation": "x", "seed": 1, "entries": [{"trace": 1}]}',
      '{"computation": "x", "seed": 1, "entries": [{"trace": "[]", "seconds": -1}]}',
      '{"computation": "x", "seed": 1, "entries": [{"trace": "[]", "seconds": 1, "times": [1, -1]}]}'} do
      write(other, text)
      fails("is not a sample", "parse", nw.cost.audit, {kernel = small "gemm", file = other})
    end
    os.remove(other)
    fails("audit: ", "io", nw.cost.audit, {kernel = small "gemm", schedules = 2, file = "/nowhere/x.json"})
  end)

  it("names invalid options", function()
    local M = nw.var "M"
    local A = nw.placeholder({M}, "f32", "A")
    fails("symbolic", "invalid", nw.cost.audit, {kernel = nw.compute({M}, function(i) return A(i) + 1 end)})
    fails("kernel: expected a tensor", "invalid", nw.cost.audit, {})
    fails("kernel%[1%]: expected a tensor", "invalid", nw.cost.audit, {kernel = {1}})
    fails("schedules", "range", nw.cost.audit, {kernel = "gemm", schedules = 1})
    fails("schedules", "invalid", nw.cost.audit, {kernel = "gemm", schedules = 2.5})
    fails("seed", "range", nw.cost.audit, {kernel = "gemm", seed = -1})
    fails("threads", "range", nw.cost.audit, {kernel = "gemm", threads = 0})
    fails("did you mean 'kernel'", "invalid", nw.cost.audit, {kernal = "gemm"})
    fails("expected a table", "invalid", nw.cost.audit)
  end)
end)

describe("a sample", function()
  it("keeps schedules that take at most 20 times as long as the best", function()
    local m = {entries = {{trace = "a", seconds = 1}, {trace = "b", seconds = 20}, {trace = "c", seconds = 20.1},
      {trace = "d"}}}
    local kept, rejected = sample.kept(m)
    assert.equal(2, #kept)
    assert.equal(2, rejected)
  end)

  it("is the same after it was saved and loaded", function()
    local path = support.temporary ".json"
    local m = {computation = "program \"C\" 100 %", seed = 3, machine = "one", entries = {{trace = "[\"50 %\"]", seconds = 0.25,
      times = {0.25, 0.25}}, {trace = "[]", refused = "too long"}}}
    sample.save(m, path)
    assert.same(m, sample.load(path))
    assert.is_true(json.decode(support.read(path)).seed == 3)
    os.remove(path)
  end)

  it("keeps the measurements when it is interrupted", function()
    local path = support.temporary ".json"
    local calls, core = 0, require "nestwright.core"
    local kernel_time = core.kernel_time
    core.kernel_time = function(...)
      calls = calls + 1
      if calls > 9 then core.fail("interrupt", "interrupted") end
      return kernel_time(...)
    end
    local err = support.error_of(sample.measure, nw, {outputs = {small "blur"}, schedules = 6, seed = 4, threads = 1, file = path,
      name = "Y"})
    core.kernel_time = kernel_time
    assert.equal("interrupt", err.code)
    assert.is_truthy(err.hint:find(path, 1, true))
    local m, rounds = sample.load(path), 0
    for _, entry in ipairs(m.entries) do rounds = rounds + #(entry.times or {}) end
    assert.is_true(rounds > 0 and rounds <= 9) -- disturbed rounds are left out
    m = sample.measure(nw, {outputs = {small "blur"}, schedules = 6, seed = 4, threads = 1, file = path, name = "Y"})
    for _, entry in ipairs((sample.kept(m))) do assert.is_true(#entry.times <= 7) end
    os.remove(path)
  end)

  -- Calls f. Meanwhile, change(t, n) may change the record t that call number n of core.kernel_time returns.
  local function timed(change, f)
    local core, calls = require "nestwright.core", 0
    local kernel_time = core.kernel_time
    core.kernel_time = function(...)
      calls = calls + 1
      local t = kernel_time(...)
      change(t, calls)
      return t
    end
    local ok, problem = pcall(f)
    core.kernel_time = kernel_time
    if not ok then error(problem, 0) end
  end

  it("has the medians of the rounds that no other work disturbed", function()
    local m
    timed(function(t, n)
      t.disturbed = n % 3 == 0 or nil
      t.median = t.disturbed and 1e-9 or 1e-3 * (1 + n % 5)
    end, function() m = sample.measure(nw, {outputs = {small "blur"}, schedules = 4, seed = 4, threads = 1, name = "Y"}) end)
    for _, entry in ipairs((sample.kept(m))) do
      assert.equal(7, #entry.times)
      assert.equal(statistics.median(entry.times), entry.seconds)
      assert.is_true(entry.seconds >= 1e-3)
    end
  end)

  it("leaves out schedules that other work disturbed, and measures them again from its file", function()
    local path = support.temporary ".json"
    local o = {kernel = small "blur", schedules = 4, seed = 4, file = path}
    timed(function(t) t.disturbed = true end, function()
      local problem = fails("undisturbed time", "limit", nw.cost.audit, o)
      assert.equal("call it again when the machine is idle", problem.hint)
    end)
    for _, entry in ipairs((sample.kept(sample.load(path)))) do
      assert.is_nil(entry.times)
      assert.is_true(sample.is_disturbed(entry))
    end
    timed(function(t) t.disturbed = nil end, function() assert.is_true(#nw.cost.audit(o).points >= 4) end)
    os.remove(path)
  end)
end)
