--- Tests learned models: the features and what they depend on, training on audits, files, and refused input.
local nw = require "nestwright"
local core = require "nestwright.core"
local features = require "nestwright.learn.features"
local json = require "nestwright.show.json"
local sampler = require "nestwright.learn.sampler"
local support = require "support"
local fails = support.fails
local workloads = require "nestwright.measure.workloads"

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

-- Makes a computation with m rows, where m is a number or a size. C reads P twice, and P is inlined into C.
local function of_rows(m)
  local A = nw.placeholder({m, 24}, "f32", "A")
  local P = nw.compute({m, 24}, function(i, j) return A(i, j) * 2 end, "P")
  local s = nw.schedule(nw.compute({m, 24}, function(i, j) return P(i, j) + P(i, 23 - j) end, "C"))
  s:compute_inline "P"
  return s
end

-- Makes a convolution with eight taps. The loop over the taps is split by `part`, and the outer loop of the split is unrolled.
local function convolved(part)
  local s = nw.schedule(workloads.make("test", "conv1d", 200, 8))
  s:split("i_1", {factor = 32, tail = "cut"})
  s:split("t", part)
  s:vectorize "i_1_i"
  s:unroll "t_o"
  return s
end

-- Makes a stage that needs one division and one addition for each element.
local function divided()
  local A = nw.placeholder({64, 64}, "f32", "A")
  return nw.schedule(nw.compute({64, 64}, function(i, j) return A(i, j) / (A(i, j) + 1) end, "Z"))
end

local function added()
  local A = nw.placeholder({64, 64}, "f32", "A")
  return nw.schedule(nw.compute({64, 64}, function(i, j) return A(i, j) + (A(i, j) + 1) end, "Z"))
end

local function level(bytes, ways, latency)
  return {bytes = bytes, ways = ways, line = 64, latency = latency, bytes_per_cycle = 16, back_per_cycle = 8}
end
local CACHES = {name = "small", extends = "x86_server", caches = {level(4096, 2, 5), level(16384, 4, 14), level(65536, 8, 60)}}

local function split(loop, factor, tail)
  local s = gemm()
  s:split(loop, {factor = factor, tail = tail})
  return s
end

local function ikj(m, n, k)
  local s = gemm(m, n, k)
  s:reorder("i", "k", "j")
  return s
end

local function stencil(streamed)
  local s = blur()
  s:split("x_1", 16)
  s:vectorize "x_1_i"
  if streamed then s:stream_stores "Y" end
  return s
end

-- Computes the rows of X that a row of Y reads inside the loop over the rows of Y. If `loop` is given, this loop is vectorized. The
-- loop x is a loop of X, and x_1 is a loop of Y.
local function beside(loop)
  local s = blur()
  s:compute_at("X", "y_1")
  s:set_scope("X", "local")
  if loop == "x_1" then s:split("x_1", 16) end
  if loop then s:vectorize(loop == "x_1" and "x_1_i" or loop) end
  return s
end

-- Chooses at every third element, so lowering cannot cut the loop into parts without a select.
local function chosen()
  local A, B = nw.placeholder({4096}, "i32", "A"), nw.placeholder({4096}, "i32", "B")
  return nw.schedule(nw.compute({4096}, function(i) return nw.select(nw.eq(i % 3, 0), nw.max(A(i), 7), B(i) * 3) end, "C"))
end

-- Makes a product that computes `rows` rows of 48 numbers at a time in registers. If there are many rows, registers are spilled.
local function crowded(rows)
  local s = gemm(64, 48, 40)
  s:split("i", rows)
  s:reorder("i_o", "k", "i_i", "j")
  s:vectorize "j"
  s:unroll "i_i"
  return s
end

-- Makes a product with long rows and with this order of loops. The order decides whether B is read by rows or by columns.
local function walked(order)
  local s = gemm(64, 2048, 8)
  s:reorder(table.unpack(order))
  return s
end

local function odd()
  local s = ikj(32, 50, 40)
  s:vectorize "j"
  return s
end

local function strided()
  local s = gemm()
  s:split("j", {parts = 16})
  s:reorder("j_i", "i", "k", "j_o")
  s:vectorize "j_o"
  return s
end

local function copied()
  local s = gemm()
  s:cache_read("B", "global", {"C"})
  return s
end

local function shifted(by)
  local A = nw.placeholder({80}, "f32", "A")
  local s = nw.schedule(nw.compute({64}, function(i) return A(i + by) * 2 end, "Z"))
  s:vectorize "i"
  return s
end

local function parallel()
  local s = gemm()
  s:parallel "i"
  return s
end

local function inlined()
  local s = blur()
  s:compute_inline "X"
  return s
end

-- Stores X element by element, and then reads it in vectors.
local function read_wide()
  local s = blur()
  s:compute_at("X", "y_1")
  s:set_scope("X", "local")
  s:split("x_1", 16)
  s:vectorize "x_1_i"
  return s
end

local IS_X86 = core.machine_host().cpu:find "AuthenticAMD" or core.machine_host().cpu:find "GenuineIntel"

local CHANGES = {
  {{"above the least", "scalar loads", "scalar"}, vectorized, gemm},
  {{"operations", "vectorized", "lanes", "lanes a store", "registers a vector"}, gemm, vectorized},
  {{"instructions", "cycles: dispatch", "cycles: loads", "cycles: stores", "cycles: arithmetic", "cycles: integers",
    "cycles: branches", "iterations", "statements", "loads", "entries", "L1 asked", "together", "balance", "rounds", "hot share",
    "hot cycles", "accumulators", "registers", "hot statements", "local bytes"}, gemm, tiled, any = true},
  {{"spills"}, function() return crowded(4) end, function() return crowded(32) end},
  {{"cycles: division"}, added, divided},
  {{"waiting"}, ikj, gemm},
  {{"filled"}, blur, gemm},
  {{"kept"}, ikj, gemm},
  {{"uneven vectors", "odd vectors", "odd updates"}, vectorized, odd},
  {{"guards", "guarded"}, function() return convolved(4) end, function() return convolved(5) end},
  {{"tails"}, gemm, function() return split("k", 7, "cut") end},
  {{"masked", "under masks"}, function() return vectorized(gemm(32, 48, 40)) end,
    function() return vectorized(gemm(32, 55, 40)) end},
  {{"choosing", "selects"}, gemm, chosen},
  {{"short loops"}, gemm, function() return split("k", 4) end},
  {{"depth", "loops", "hot depth"}, gemm, function() return split("i", 8) end},
  {{"nests", "global bytes", "copied", "copying"}, gemm, copied},
  {{"hot trips 1", "hot trips 2", "hot trips 3"}, function() return gemm(8, 12, 20) end, function() return gemm(16, 24, 40) end},
  {{"loads a statement", "work"}, blur, inlined},
  {{"strided loads", "strided stores"}, vectorized, strided},
  {{"streamed"}, stencil, function() return stencil(true) end},
  {{"joined"}, beside, function() return beside "x_1" end},
  {{"parted"}, beside, function() return beside "x" end},
  {{"unaligned"}, function() return shifted(16) end, function() return shifted(3) end},
  {{"streams"}, blur, gemm},
  {{"page changes", "pages 1", "L1 misses, page", "L2 misses, page"}, function() return walked {"i", "k", "j"} end,
    function() return walked {"k", "j", "i"} end},
  {{"pages 3"}, gemm, function() return walked {"i", "k", "j"} end},
  {{"pages 2", "buffer 1: stride", "buffer 2: stride", "buffer 1: lines", "buffer 2: lines"},
    function() return walked {"i", "j", "k"} end, function() return walked {"k", "j", "i"} end, any = true},
  {{"L1 misses, apart", "L2 misses, apart"}, ikj, function() return gemm(32, 96, 40) end},
  {{"emitted", "emitted core", "emitted together", "emitted cycles: dispatch", "emitted cycles: loads", "emitted cycles: stores",
    "emitted cycles: arithmetic", "emitted cycles: integers", "emitted moves", "emitted branches"}, gemm, tiled, any = true},
  {{"emitted choices"}, gemm, chosen},
  {{"emitted stack"}, gemm, beside},
  {{"emitted wide loads"}, gemm, vectorized},
  {{"emitted narrow stores"}, vectorized, gemm},
  {{"emitted spills"}, function() return crowded(1) end, function() return crowded(12) end},
  {{"emitted masks", "emitted masked", "emitted gathers", "emitted scatters", "emitted cycles: shuffles",
    "emitted cycles: vector integers"}, vectorized, strided, needs = 64},
  {{"simulated core", "simulated", "simulated balance", "simulated rate"}, gemm, tiled, any = true, x86 = true},
  {{"simulated waits"}, gemm, read_wide, x86 = true},
  {{"simulated misses"}, function() return gemm(16, 40, 4) end, function() return gemm(16, 400, 4) end, any = true, x86 = true},
  {{"buffer 1: reuse", "buffer 2: reuse"}, function() return gemm(16, 16, 16) end, function() return gemm(32, 32, 64) end},
  {{"chunks"}, gemm, parallel},
  {{"L1 misses", "L1 written back", "L2 misses", "L2 written back", "L3 misses", "L3 written back",
    "cycles: behind L1", "cycles: behind L2", "cycles: behind L3"}, function() return tiled(gemm(64, 64, 64)) end, function()
    local s = gemm(160, 160, 160)
    s:reorder("k", "j", "i")
    return s
  end, options = {machine = CACHES}, any = true},
}

describe("features", function()
  it("have distinct names, a unit and a description", function()
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
    it("change with what they describe: " .. table.concat(change[1], ", "), function()
      if change.x86 and not IS_X86 then pending "needs an x86 processor" return end
      if change.needs and nw.machine().vector_bytes < change.needs then pending "needs vectors of 64 bytes" return end
      local before, after = of(change[2](), change.options), of(change[3](), change.options)
      for _, name in ipairs(change[1]) do
        assert.is_truthy(before[name], name)
        assert.are_not.equal(before[name], after[name], name)
        if not change.any then assert.is_true(before[name] < after[name], name) end
      end
    end)
  end

  it("all occur in a test above", function()
    local missing = {}
    for _, name in ipairs(features.names()) do if not followed[name] then missing[#missing + 1] = name end end
    assert.equal("", table.concat(missing, ", "))
  end)

  it("are numbers for every drawn schedule", function()
    for _, name in ipairs(workloads.list) do
      local sizes = {gemm = {12, 20, 9}, conv1d = {100, 5}, depthwise = {2, 9, 8}, blur = {12, 16}, dense = {6, 20, 9},
        conv2d = {4, 3, 6, 8}, pool = {3, 5, 8}, sobel = {10, 16}, heat = {4, 6, 16}, transpose = {20}, center = {6, 20}}
      local from = sampler.new({workloads.make("test", name, table.unpack(sizes[name]))}, 11)
      for _ = 1, 4 do
        local priced, list = pcall(nw.cost.features, from:next())
        assert.is_true(priced or list.code == "limit", tostring(list))
        for _, row in ipairs(priced and list or {}) do
          assert.is_true(row.value == row.value and math.abs(row.value) <= 1e6, row.name)
        end
      end
    end
  end)
end)

-- Returns an audit as nw.cost.audit does, but with the times that `time` returns.
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

-- Returns a made-up time of a schedule: the time that the features predict, doubled for each doubling of the number of lanes.
local function vectors_lose(p) return features.expected(p.features, p.predicted) * 2.0 ^ p.features[LANES] end

describe("a learned model", function()
  local a, b, model
  setup(function()
    a = audit("gemm", {12, 16, 20}, 1, 40, vectors_lose)
    b = audit("blur", {12, 16}, 2, 40, vectors_lose)
    local ok, made = pcall(nw.cost.train, {a, b})
    model = ok and made
    if not ok then assert.is_truthy(made.message:find "XGBoost") end
  end)

  it("learns in which cases the cost model is wrong, also for another computation", function()
    if not model then pending "needs XGBoost" return end
    for _, row in ipairs(model:held_out()) do assert.is_true(row.transfer > row.analytic + 0.1, row.kernel) end
    local row = nw.cost.train({a, b, objective = "pairs"}):held_out()[2]
    assert.is_true(row.transfer > row.analytic + 0.1)
    assert.is_truthy(tostring(model):find("trained on gemm, blur", 1, true))
  end)

  it("gives the same score for a symbolic size as for a number", function()
    local sizes = {M = 64}
    local named, constant = of(of_rows(nw.size "M"), {sizes = sizes}), of(of_rows(64))
    for _, name in ipairs {"work", "buffer 1: reuse", "buffer 2: reuse"} do assert.near(constant[name], named[name], 1e-9, name) end
    assert.near(math.log(1.5, 2), named.work, 0.01)
    assert.same({M = 64}, sizes)
    if not model then pending "needs XGBoost" return end
    assert.is_true(model:predict(of_rows(nw.size "M"), {sizes = sizes}) > model:predict(of_rows(nw.size "M"), {sizes = {M = 128}}))
  end)

  it("predicts single schedules", function()
    if not model then pending "needs XGBoost" return end
    local learn = require "nestwright.learn.learn"
    local p = a.points[3]
    assert.equal(learn.scores(model, a.points)[3], model:predict(p.schedule))
  end)

  it("excludes the same computation with another size from held-out training", function()
    if not model then pending "needs XGBoost" return end
    local larger = audit("gemm", {12, 24, 20}, 3, 10, vectors_lose)
    assert.is_nil(nw.cost.train({a, larger}):held_out()[1].transfer)
    assert.is_truthy(nw.cost.train({a, larger, b}):held_out()[1].transfer)
  end)

  it("gives more weight to the audit of its own computation", function()
    if not model then pending "needs XGBoost" return end
    local own = nw.cost.train {a, b, own = b, held_out = false}
    assert.are_not.equal(core.learner_text(model), core.learner_text(own))
  end)

  it("is the same for the same seed", function()
    if not model then pending "needs XGBoost" return end
    local again = nw.cost.train {a, b, held_out = false}
    assert.equal(core.learner_text(model), core.learner_text(again))
    assert.same({}, again:held_out())
  end)

  it("is the same after it was saved and loaded", function()
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
    -- The checksum of the file is valid, but its trees make XGBoost read outside its arrays.
    local trees, sum = m.trees, m.sum
    local function forged(pattern, from, to)
      local text, n = trees:gsub(from, to, 1)
      assert.equal(1, n)
      m.trees, m.sum = text, support.fnv(text)
      refused("cannot be used: .*" .. pattern)
    end
    forged("right_children has 999999, which is not in", '("right_children":%[)%d+', "%1999999")
    forged("left_children has %-7, which is not in", '("left_children":%[)%d+', "%1-7")
    forged("a child of node 0 has another parent", '("left_children":%[)%d+', "%10")
    forged("is split by feature 4000, but there are", '("split_indices":%[)%d+', "%14000")
    forged("num_nodes is not in", '"num_nodes":"%d+"', '"num_nodes":"-3"')
    forged("does not have 5 entries", '"num_nodes":"%d+"', '"num_nodes":"5"')
    forged("num_trees is not in", '"num_trees":"%d+"', '"num_trees":"70000"')
    forged("num_feature is not in", '("learner_model_param".-"num_feature":)"%d+"', '%1"1"')
    forged("has 'more', which this library does not know", '"tree_info"', '"more":[1],"tree_info"')
    forged("duplicate key", '"tree_info"', '"trees":[],"tree_info"')
    forged("not of type float", '("split_conditions":%[)[^,%]]+', "%11")
    forged("nested too deeply", '"attributes":{}', '"attributes":' .. ("["):rep(5000))
    forged("not JSON", "^{", "{L")
    m.trees, m.sum = trees, sum
    for _, change in ipairs {{kernels = {7}}, {held_out = {5}}, {held_out = {{kernel = "gemm"}}}, {objective = 3},
      {held_out = {{kernel = "gemm", schedules = 5, analytic = "much"}}}} do
      local key, value = next(change)
      local was = m[key]
      m[key] = value
      refused "not a saved model"
      m[key] = was
    end
    m.features[2] = "something else"
    refused "other features"
    m.trees = m.trees .. " "
    refused "was edited"
    m.trees = nil
    refused "not a saved model"
    os.remove(path)
    fails("load: ", "io", nw.cost.load, path)
  end)

  it("is shown beside the cost model in the table of an audit", function()
    if not model then pending "needs XGBoost" return end
    local x = nw.cost.audit {kernel = workloads.make("test", "blur", 12, 16), schedules = 6, model = model}
    assert.is_truthy(x.learned.tau)
    assert.is_truthy(tostring(x):find "\nlearned")
    assert.equal(model:predict(x.points[2].schedule), x.points[2].learned)
  end)

  it("refuses audits from which it cannot be trained", function()
    fails("no audits", "invalid", nw.cost.train, {})
    fails("argument 1 is not an audit", "invalid", nw.cost.train, {{}})
    fails("expected a table", "invalid", nw.cost.train)
    fails("did you mean 'rounds'", "invalid", nw.cost.train, {a, rouns = 3})
    fails("sample: expected a number above 0", "range", nw.cost.train, {a, sample = 0})
    fails("'times' or 'pairs', not 3", "invalid", nw.cost.train, {a, objective = 3})
    fails("own is not one of the audits", "invalid", nw.cost.train, {a, own = b})
    fails("expected a model", "invalid", nw.cost.audit, {kernel = "gemm", model = {}})
    if not model then return end
    fails("rounds: 0", "range", nw.cost.train, {a, rounds = 0})
    fails("depth: 99", "range", nw.cost.train, {a, depth = 99})
    fails("forest: 101", "range", nw.cost.train, {a, forest = 101})
    fails("least: ", "range", nw.cost.train, {a, least = -1})
    fails("expected a schedule", "invalid", model.predict, model, 3)
  end)
end)
