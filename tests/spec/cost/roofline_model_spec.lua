--- Tests the cost model in the roofline: roofs from a machine record, and predicted dots.
local nw = require "nestwright"
local support = require "support"
local fails = support.fails

-- At 2 GHz, one core does 2 multiply-adds of 8 f32 in each cycle, which is 64 Gflop/s. The bandwidths are 128, 64 and 8 GB/s.
local function machine(more)
  local m = {extends = "zen5", name = "round", cores = 4, clock = 2, vector_bytes = 32,
    caches = {{bytes = 1024, ways = 4, latency = 4, bytes_per_cycle = 64}, {bytes = 8192, ways = 8, latency = 14,
      bytes_per_cycle = 32}}, memory = {bytes = 1 << 30, latency = 100, bandwidth = 8, bandwidth_all = 12}}
  for key, value in pairs(more or {}) do m[key] = value end
  return nw.machine(m)
end

local function near(a, b) return math.abs(a - b) <= 1e-6 * math.abs(b) end

describe("a roofline of a machine record", function()
  it("measures nothing: the dots are predicted by s:cost, version by version", function()
    local s, m = support.gemm(16), machine()
    s:split("j", 8)
    s:reorder("k", "j_i")
    s:vectorize "j_i"
    local was = s:version()
    local p = nw.roofline(s, {machine = m})
    assert.equal(was, s:version())
    assert.equal(4, #p.rows)
    for n, row in ipairs(p.rows) do
      s:checkout(n - 1)
      local c = s:cost {machine = m}
      assert.equal(2.0 * 16 ^ 3, row[2])
      assert.is_true(near(row[3], c.traffic[3].bytes)) -- the bytes from and to memory
      assert.equal("predicted", row[4])
      assert.is_true(near(row[6], c.seconds))
      assert.is_true(near(row[9], 2.0 * 16 ^ 3 / c.seconds))
    end
    s:checkout(was)
    local l2 = nw.roofline(s, {machine = m, level = "L2"})
    assert.is_true(near(l2.rows[4][3], s:cost({machine = m}).traffic[2].bytes))
    assert.truthy(p.caption:find("Roofs: from the machine record round", 1, true))
    assert.truthy(p.caption:find("not measured", 1, true))
    assert.falsy(p.caption:find("STREAM", 1, true))
    assert.truthy(p.script:find("roofline, predicted for round", 1, true))
  end)

  it("has the record's roofs, for one thread and for several", function()
    local s = support.gemm(16)
    s:parallel "i"
    local one = nw.roofline({{flops = 1e9, bytes = 1e7, time = 1}}, {machine = machine()})
    assert.truthy(one.caption:find("Ridges of 1 thread, in flop/byte: L1 0.5, L2 1, memory 8.", 1, true), one.caption)
    assert.same({"the peak", 64e9}, {one.rows[1][10], one.rows[1][11]})
    local p = nw.roofline(s, {machine = machine(), threads = 4})
    assert.equal(1, p.rows[1][13]) -- before the loop was made parallel
    assert.equal(4, p.rows[2][13])
    assert.truthy(p.caption:find("Ridges of 4 threads, in flop/byte: L1 0.5, L2 1, memory 21.3.", 1, true), p.caption)
    s:checkout(1)
    assert.is_true(near(p.rows[2][6], s:cost({machine = machine(), threads = 4}).seconds))
    local f64 = nw.placeholder({64, 64}, "f64", "X")
    local t = nw.schedule(nw.compute({64, 64}, function(i, j) return f64(j, i) + 1 end, "T"))
    assert.truthy(nw.roofline(t, {machine = machine()}).script:find("peak 32 Gflop/s (f64)", 1, true))
  end)

  it("accepts sizes, lists, and times that were measured elsewhere", function()
    local list = {{schedule = support.row_sums(), label = "sums"}, {schedule = support.gemm(16), time = 1e-3, label = "gemm"}}
    local m = machine()
    local p = nw.roofline(list, {machine = m, sizes = {M = 8, N = 16}})
    assert.same({"sums", 2.0 * 8 * 16, "predicted"}, {p.rows[1][1], p.rows[1][2], p.rows[1][4]})
    assert.same({"gemm", "simulated", 1e-3}, {p.rows[2][1], p.rows[2][4], p.rows[2][6]})
    local total = nw.misses(support.gemm(16), {machine = m}).total[2]
    assert.is_true(near(p.rows[2][3], 64 * (total.asked - total.hits + total.written_back)))
  end)

  it("says why a version has no prediction", function()
    local s = support.doubled(64)
    s:split("i", 8)
    s:bind("i_o", "blockIdx.x")
    local p = nw.roofline(s, {machine = machine()})
    assert.truthy(p.caption:find("Not drawn: ", 1, true) or p.rows[3][4] == "predicted")
  end)

  it("refuses invalid machines and options", function()
    local s = support.gemm(16)
    fails("eyeriss executes only its own instructions", "invalid", nw.roofline, s, {machine = "eyeriss"})
    fails("there is no machine 'zen6'", "invalid", nw.roofline, s, {machine = "zen6"})
    fails("cannot be combined", "invalid", nw.roofline, s, {machine = "zen5", predicted = true})
    fails("threads must be a number", "range", nw.roofline, s, {machine = "zen5", threads = 0})
    s:parallel "i"
    fails("threads: 5 is more than the 4 cores", "invalid", nw.roofline, s, {machine = machine(), threads = 5, versions = {1}})
  end)
end)

describe("the roofline of an accelerator", function()
  local product = require "chip_gemm"

  it("has its peak, and dots of simulated runs and of predictions", function()
    local one, two = product(64, 1), product(64, 2)
    local run = two:stream():run()
    local p = nw.roofline {{schedule = two, label = "model"}, one:stream():run(), run}
    assert.equal(3, #p.rows)
    assert.same({"model", 2.0 * 64 ^ 3, "predicted"}, {p.rows[1][1], p.rows[1][2], p.rows[1][4]})
    assert.is_true(near(p.rows[1][6], two:cost().seconds))
    assert.same({run.memory_read + run.memory_written + 0.0, "of a run", run.cycles / 1e8},
      {p.rows[3][3] + 0.0, p.rows[3][4], p.rows[3][6]})
    assert.is_true(p.rows[2][9] < p.rows[3][9])
    for _, words in ipairs {"peak 12.8 Gop/s", "memory 1.6 GB/s", "'simulated'", "roofline of vdla"} do
      assert.truthy(p.script:find(words, 1, true), words)
    end
    assert.truthy(p.caption:find("64 multiply-adds in a cycle at 0.1 GHz", 1, true))
    if support.have_gnuplot() then support.picture(p) end
  end)

  it("has a dot for each version that can be executed, and one for a run alone", function()
    local s = product(64, 2)
    assert.equal(1, #nw.roofline(s).rows)
    assert.equal("of a run", nw.roofline(s:stream():run()).rows[1][4])
    local vta = nw.acc_conv2d(nw.accelerator "vta", {height = 4, channels = 16, filters = 16})
    fails("it is a run on vta, and the roofs are those of vdla", "invalid", nw.roofline, {s, vta:stream():run()})
    s:undo(3)
    fails("there are no dots to draw: .*is computed by no instruction of vdla", nil, nw.roofline, s)
  end)
end)

describe("predictions beside measurements", function()
  local roofs = {threads = 1, machine = "a machine", peak = {best = 1e11}, levels = {{name = "L1", best = 4e11},
    {name = "L2", best = 1e11}, {name = "L3", best = 5e10}, {name = "memory", best = 1e10}}}

  it("are diamonds beside the dots, with the ratio of the times", function()
    local s = support.gemm(16)
    s:vectorize "j"
    local p = nw.roofline(s, {predicted = true, roofs = roofs, threads = 1, rounds = 2})
    assert.equal(4, #p.rows)
    for n = 1, 2 do
      assert.equal(p.rows[n][1], p.rows[n + 2][1])
      assert.same({"simulated", "predicted"}, {p.rows[n][4], p.rows[n + 2][4]})
      local ratio = p.rows[n + 2][6] / p.rows[n][6]
      s:checkout(n - 1)
      assert.is_true(near(p.rows[n + 2][6], s:cost().seconds))
      local said = p.script:match(("%d, predicted: ([%%d.e+-]+)x the time"):format(n - 1))
      assert.is_true(math.abs(tonumber(said) - ratio) <= 0.06 * ratio, said)
    end
    assert.truthy(p.script:find("predicted by the cost model", 1, true))
    assert.truthy(p.script:find("points pt 12", 1, true))
    assert.truthy(p.script:find("$pairs", 1, true))
    if support.have_gnuplot() then support.picture(p) end
  end)

  it("are added for schedules of a list, but not for dots given as numbers", function()
    local p = nw.roofline({{schedule = support.gemm(16), time = 1e-4, label = "a"}, {flops = 1e6, bytes = 1e5, time = 1e-3}},
      {predicted = true, roofs = roofs})
    assert.equal(3, #p.rows)
    assert.same({"a", "predicted"}, {p.rows[3][1], p.rows[3][4]})
  end)
end)
