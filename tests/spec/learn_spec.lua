--- Learned models: the features and what each follows, training on audits, files, what is refused.
local nw = require "nestwright"
local core = require "nestwright.core"
local features = require "nestwright.features"
local json = require "nestwright.json"
local sampler = require "nestwright.sampler"
local support = require "support"
local fails = support.fails
local workloads = require "nestwright.workloads"

local function gemm(m, n, k) return nw.schedule(workloads.make("test", "gemm", m or 32, n or 48, k or 40)) end
local function blur(h, w) return nw.schedule(workloads.make("test", "blur", h or 30, w or 64)) end

local function of(s, options)
  local out = {}
  for _, row in ipairs(nw.cost.features(s, options)) do out[row.name] = row.value end
  return out
end

local function vectorized(s)
  s = s or gemm()
  s:split("j", 16)
  s:reorder("j_o", "i", "k", "j_i")
  s:vectorize "j_i"
  return s
end

local function tiled(s)
  s = s or gemm()
  s:split("i", 4)
  s:split("j", 16)
  s:reorder("i_o", "j_o", "i_i", "j_i", "k")
  local block = s:cache_write("C", "local", {at = "j_o"})
  local loops = s:loops(block)
  local i, j, k = loops[#loops - 2], loops[#loops - 1], loops[#loops]
  s:reorder(k, i, j)
  s:vectorize(j)
  s:unroll(i)
  return s
end

-- Eight taps, in parts of so many, each part written out.
local function convolved(part)
  local s = nw.schedule(workloads.make("test", "conv1d", 200, 8))
  s:split("i_1", {factor = 32, tail = "cut"})
  s:split("t", part)
  s:vectorize "i_1_i"
  s:unroll "t_o"
  return s
end

-- A division for each element, of few operations.
local function divided()
  local A = nw.placeholder({64, 64}, "f32", "A")
  return nw.schedule(nw.compute({64, 64}, function(i, j) return A(i, j) / (A(i, j) + 1) end, "Z"))
end

local function added()
  local A = nw.placeholder({64, 64}, "f32", "A")
  return nw.schedule(nw.compute({64, 64}, function(i, j) return A(i, j) + (A(i, j) + 1) end, "Z"))
end

-- Elements of a power of two apart, more of them than there are ways.
local function columns(n)
  local A = nw.placeholder({32, n}, "f32", "A")
  local s = nw.schedule(nw.compute({n, 32}, function(j, i) return A(i, j) end, "Z"))
  return s
end

local function level(bytes, ways, latency)
  return {bytes = bytes, ways = ways, line = 64, latency = latency, bytes_per_cycle = 16, back_per_cycle = 8}
end
local CACHES = {name = "small", extends = "x86_server", caches = {level(4096, 2, 5), level(16384, 4, 14), level(65536, 8, 60)}}

-- What each row names, changed: {rows, before, after, options}. Where it is clear, the second value is the larger one.
local CHANGES = {
  {{"cycles", "cycles: dispatch", "cycles: loads", "cycles: branches", "iterations", "statements", "loads", "scalar loads"},
    tiled, gemm},
  {{"vectorized", "lanes", "lanes a store", "registers a vector"}, gemm, vectorized},
  {{"cycles: arithmetic", "cycles: integers"}, gemm, tiled, any = true},
  {{"hot cycles"}, tiled, function()
    local s = gemm()
    s:split("k", 8)
    s:unroll "k_i"
    return s
  end, any = true},
  {{"cycles: stores"}, tiled, vectorized, any = true},
  {{"waiting"}, function()
    local s = gemm()
    s:reorder("i", "k", "j")
    return s
  end, gemm},
  {{"cycles: division"}, added, divided},
  {{"accumulators", "registers", "hot statements", "local bytes", "copied"}, gemm, tiled, any = true},
  {{"filled"}, blur, gemm},
  {{"kept"}, function()
    local s = gemm()
    s:reorder("i", "k", "j")
    return s
  end, gemm},
  {{"uneven vectors"}, function() return vectorized(gemm(32, 48, 40)) end, function()
    local s = gemm()
    s:split("j", 12)
    s:reorder("j_o", "i", "k", "j_i")
    s:vectorize "j_i"
    return s
  end},
  {{"guards", "guarded"}, function() return convolved(4) end, function() return convolved(5) end},
  {{"tails"}, gemm, function()
    local s = gemm()
    s:split("k", {factor = 7, tail = "cut"})
    return s
  end},
  {{"masked"}, function() return vectorized(gemm(32, 48, 40)) end, function() return vectorized(gemm(32, 50, 40)) end},
  {{"depth", "loops", "hot depth"}, gemm, function()
    local s = gemm()
    s:split("i", 8)
    return s
  end},
  {{"nests", "global bytes", "copied"}, gemm, function()
    local s = gemm()
    s:cache_read("B", "global", {"C"})
    return s
  end, any = true},
  {{"hot trips 1", "hot trips 2", "hot trips 3"}, function() return gemm(8, 12, 20) end, function() return gemm(16, 24, 40) end},
  {{"buffer 1: stride", "buffer 2: stride", "buffer 3: stride"}, function()
    local s = gemm()
    s:reorder("i", "k", "j")
    return s
  end, gemm, any = true},
  {{"buffer 1: lines 1", "buffer 2: lines 1", "buffer 3: lines 1"}, gemm, function()
    local s = gemm()
    s:reorder("j", "k", "i")
    return s
  end, any = true},
  {{"buffer 1: lines 2", "buffer 2: lines 2", "buffer 3: lines 2",
    "buffer 1: lines 3", "buffer 2: lines 3", "buffer 3: lines 3"}, function() return gemm(16, 16, 16) end,
    function() return gemm(32, 32, 64) end, any = true},
  {{"buffer 1: reuse", "buffer 2: reuse", "buffer 3: reuse"}, function() return gemm(16, 16, 16) end,
    function() return gemm(32, 32, 64) end, any = true},
  {{"strided loads", "strided stores"}, vectorized, function()
    local s = gemm()
    s:split("j", {parts = 16})
    s:reorder("j_i", "i", "k", "j_o")
    s:vectorize "j_o"
    return s
  end},
  {{"streamed"}, function()
    local s = blur()
    s:split("x_1", 16)
    s:vectorize "x_1_i"
    return s
  end, function()
    local s = blur()
    s:split("x_1", 16)
    s:vectorize "x_1_i"
    s:stream_stores "Y"
    return s
  end},
  {{"operations", "loads a statement"}, blur, function()
    local s = blur()
    s:compute_inline "X"
    return s
  end},
  {{"parallel", "chunks"}, gemm, function()
    local s = gemm()
    s:parallel "i"
    return s
  end, any = true},
  {{"hot share", "balance"}, gemm, blur, any = true},
  {{"L1 misses", "L1 asked", "L1 written back", "L2 misses", "L2 written back", "L3 misses", "L3 written back",
    "cycles: behind L1", "cycles: behind L2", "cycles: behind L3"}, function() return tiled(gemm(64, 64, 64)) end, function()
    local s = gemm(160, 160, 160)
    s:reorder("k", "j", "i")
    return s
  end, options = {machine = CACHES}, any = true},
  {{"L1 conflicts", "L2 conflicts"}, function() return columns(100) end, function() return columns(4096) end,
    options = {machine = CACHES}},
}

describe("features", function()
  it("are named, with unit and doc, each once", function()
    local seen = {}
    local list = nw.cost.features()
    assert.is_true(#list >= 60)
    for _, row in ipairs(list) do
      assert.is_nil(seen[row.name], row.name)
      seen[row.name] = true
      assert.is_true(#row.unit > 0 and #row.doc > 8, row.name)
    end
  end)

  local followed = {}
  for _, change in ipairs(CHANGES) do
    for _, name in ipairs(change[1]) do followed[name] = true end
    it("follow what they name: " .. table.concat(change[1], ", "), function()
      local before, after = of(change[2](), change.options), of(change[3](), change.options)
      for _, name in ipairs(change[1]) do
        assert.is_truthy(before[name], name)
        assert.are_not.equal(before[name], after[name], name)
        if not change.any then assert.is_true(before[name] < after[name], name) end
      end
    end)
  end

  it("are each among those", function()
    local missing = {}
    for _, name in ipairs(features.names()) do if not followed[name] then missing[#missing + 1] = name end end
    assert.equal("", table.concat(missing, ", "))
  end)

  it("are numbers for whatever is drawn", function()
    for _, name in ipairs(workloads.list) do
      local sizes = {gemm = {12, 20, 9}, conv1d = {100, 5}, depthwise = {2, 9, 8}, blur = {12, 16}}
      local from = sampler.new({workloads.make("test", name, table.unpack(sizes[name]))}, 11)
      for _ = 1, 8 do
        for _, row in ipairs(nw.cost.features(from:next())) do
          assert.is_true(row.value == row.value and math.abs(row.value) <= 1e6, row.name)
        end
      end
    end
  end)
end)

-- An audit as nw.cost.audit makes it, with times that somebody says.
local function audit(name, sizes, seed, n, time)
  local from, points = sampler.new({workloads.make("test", name, table.unpack(sizes))}, seed), {}
  for k = 1, n do
    local s = from:next()
    local c = s:cost()
    points[k] = {schedule = s, cost = c, predicted = c.seconds, trace = s:trace()}
    points[k].features = features.of(s, c)
    points[k].measured = time(points[k])
  end
  return {kernel = name, points = points, measured_on = "here"}
end

local LANES
for n, name in ipairs(features.names()) do if name == "lanes a store" then LANES = n end end

-- As predicted, but vectors cost twice as much for each doubling of their lanes.
local function vectors_lose(p) return p.predicted * 2.0 ^ p.features[LANES] end

describe("a learned model", function()
  local a, b, model
  setup(function()
    a = audit("gemm", {12, 16, 20}, 1, 40, vectors_lose)
    b = audit("blur", {12, 16}, 2, 40, vectors_lose)
    local ok, made = pcall(nw.cost.train, {a, b})
    model = ok and made
    if not ok then assert.is_truthy(made.message:find "XGBoost") end
  end)

  it("learns where the cost model is wrong, also for another computation", function()
    if not model then pending "needs XGBoost" return end
    for _, row in ipairs(model:held_out()) do assert.is_true(row.transfer > row.analytic + 0.1, row.kernel) end
    assert.is_truthy(tostring(model):find("trained on gemm, blur", 1, true))
  end)

  it("gives what it learned to single schedules", function()
    if not model then pending "needs XGBoost" return end
    local learn = require "nestwright.learn"
    local p = a.points[3]
    assert.equal(learn.scores(model, a.points)[3], model:predict(p.schedule))
  end)

  it("is the same for the same seed", function()
    if not model then pending "needs XGBoost" return end
    local again = nw.cost.train {a, b, held_out = false}
    assert.equal(core.learner_text(model), core.learner_text(again))
    assert.same({}, again:held_out())
  end)

  it("is read from the file that it is saved to", function()
    if not model then pending "needs XGBoost" return end
    local path = support.temporary ".json"
    model:save(path)
    local read = nw.cost.load(path)
    assert.equal(tostring(model), tostring(read))
    assert.equal(model:predict(a.points[1].schedule), read:predict(a.points[1].schedule))
    local m = json.decode(support.read(path))
    local function refused(pattern)
      local file = assert(io.open(path, "w"))
      file:write(json.encode(m))
      file:close()
      fails(pattern, nil, nw.cost.load, path)
    end
    m.features[2] = "something else"
    refused "other features"
    m.trees = m.trees .. " "
    refused "was changed"
    m.trees = nil
    refused "not a saved model"
    os.remove(path)
    fails("load: ", "io", nw.cost.load, path)
  end)

  it("is shown by an audit beside the cost model", function()
    if not model then pending "needs XGBoost" return end
    local x = nw.cost.audit {kernel = workloads.make("test", "blur", 12, 16), schedules = 6, model = model}
    assert.is_truthy(x.learned.tau)
    assert.is_truthy(tostring(x):find "\nlearned")
    assert.equal(model:predict(x.points[2].schedule), x.points[2].learned)
  end)

  it("says what it cannot be made of", function()
    fails("no audits", "invalid", nw.cost.train, {})
    fails("number 1 is no audit", "invalid", nw.cost.train, {{}})
    fails("expected a table", "invalid", nw.cost.train)
    fails("did you mean 'rounds'", "invalid", nw.cost.train, {a, rouns = 3})
    fails("sample is a share", "range", nw.cost.train, {a, sample = 0})
    fails("expected a model", "invalid", nw.cost.audit, {kernel = "gemm", model = {}})
    if not model then return end
    fails("rounds: 0", "range", nw.cost.train, {a, rounds = 0})
    fails("depth: 99", "range", nw.cost.train, {a, depth = 99})
    fails("expected a schedule", "invalid", model.predict, model, 3)
  end)
end)
