--- Tests rooflines. Dots and roofs are compared with numbers worked out by hand. Also tests which roof limits a dot, and invalid
--- input.
local nw = require "nestwright"
local support = require "support"
local fails = support.fails

local function roof(name, best) return {name = name, best = best, median = best, spread = 0.02, loop = "read", over = 1} end

-- Returns made-up roofs. Their ridge points are at 0.25, 1 and 10 flop/byte.
local function roofs(threads)
  return {threads = threads or 1, machine = "a machine", peak = {best = 100e9, median = 99e9, spread = 0.01},
    levels = {roof("L1", 400e9), roof("L2", 100e9), roof("memory", 10e9)}}
end

local function near(a, b) return math.abs(a - b) <= 1e-6 * math.abs(b) end

-- Returns the rows of all data blocks in the plot's script that are named `name` plus a number.
local function block(p, name)
  local out = {}
  for text in p.script:gmatch("%$" .. name .. "%d+ << EOD\n(.-)EOD\n") do
    for line in text:gmatch "[^\n]+" do
      local row = {}
      for cell in line:gmatch "%S+" do row[#row + 1] = tonumber(cell) end
      out[#out + 1] = row
    end
  end
  return out
end

describe("nw.roofline", function()
  it("places dots by operations per byte and per second, and names the lowest roof", function()
    local p = nw.roofline({
      {flops = 1e9, bytes = 1e9, time = 0.2, label = "low"}, -- 1 flop/byte: memory allows 10 Gflop/s
      {flops = 1e9, bytes = 1e7, time = {samples = {0.02, 0.025, 0.05}}, label = "high"}, -- 100 flop/byte: the peak
    }, {roofs = roofs()})
    local low, high = p.rows[1], p.rows[2]
    assert.same({"low", 1e9, 1e9, "given", 1.0, 0.2}, {table.unpack(low, 1, 6)})
    assert.same({"memory", 10e9, 0.5}, {low[10], low[11], low[12]})
    assert.same({"the peak", 100e9}, {high[10], high[11]})
    assert.is_true(near(high[12], 1e9 / 0.025 / 100e9))
    local dots, spread = block(p, "dots"), block(p, "spread")
    assert.is_true(near(dots[1][1], 1) and near(dots[1][2], 5e9))
    assert.is_true(near(dots[2][1], 100) and near(dots[2][2], 40e9))
    assert.equal(1, #spread) -- a single number has no spread
    assert.is_true(near(spread[1][3], 1e9 / 0.05) and near(spread[1][4], 1e9 / 0.02))
    assert.truthy(tostring(p):find("50 % of memory", 1, true))
    assert.truthy(tostring(p):find("40 % of the peak", 1, true))
  end)

  it("says if the roofs were disturbed, and their remark", function()
    local r = roofs()
    r.levels[1].disturbed, r.remark = true, "2 threads together reach 0.44 times the peak of one thread"
    local text = nw.roofline({{flops = 1e9, bytes = 1e9, time = 0.2}}, {roofs = r}).caption
    assert.truthy(text:find("Other work disturbed the measurement of some roofs, which may be too low.", 1, true), text)
    assert.truthy(text:find("2 threads together reach 0.44 times the peak of one thread.", 1, true), text)
  end)

  it("draws each roof up to its ridge point, and names ridge points and the machine", function()
    local p = nw.roofline({{flops = 1e9, bytes = 1e9, time = 0.2}}, {roofs = roofs()})
    local lines, ridges = block(p, "roof"), block(p, "ridge")
    for n, best in ipairs {400e9, 100e9, 10e9} do
      local from, to = lines[2 * n - 1], lines[2 * n]
      assert.is_true(near(from[2], from[1] * best))
      assert.is_true(near(to[1], 100e9 / best) and near(to[2], 100e9))
      assert.is_true(near(ridges[n][1], 100e9 / best))
    end
    local text = tostring(p)
    assert.truthy(text:find("Ridges of 1 thread, in flop/byte: L1 0.25, L2 1, memory 10.", 1, true))
    assert.truthy(text:find("measured on a machine", 1, true))
    assert.truthy(text:find("spread at most 2 %", 1, true))
  end)

  it("draws a dot above its roof, and says so", function()
    local p = nw.roofline({{flops = 1e9, bytes = 1e9, time = 0.01, label = "warm"}}, {roofs = roofs()})
    assert.is_true(near(p.rows[1][12], 10))
    assert.truthy(tostring(p):find("warm: 100 Gflop/s at 1 flop/byte of traffic to memory: 1000 % of memory", 1, true))
    assert.truthy(tostring(p):find("above that roof", 1, true))
  end)

  it("counts operations, and bytes as the simulator does", function()
    local s = support.gemm(32)
    s:split("i", 8)
    local p = nw.roofline({{schedule = s, time = 1e-3}}, {roofs = roofs()})
    local total = nw.misses(s).total
    local last = total[#total]
    assert.equal(2.0 * 32 ^ 3, p.rows[1][2])
    assert.is_true(near(p.rows[1][3], (last.cold + last.capacity + last.conflict + last.written_back) * 64))
    assert.equal("simulated", p.rows[1][4])
    assert.truthy(tostring(p):find "on one thread")
    local stream = support.doubled(1 << 18)
    local l2, first = nw.roofline({{schedule = stream, time = 1e-3}}, {roofs = roofs(), level = "L2"}), nw.misses(stream).total[1]
    assert.is_true(first.written_back > 0)
    assert.is_true(near(l2.rows[1][3], (first.asked - first.hits + first.written_back) * 64))
  end)

  it("counts operations on data, not on indices and conditions", function()
    local A = nw.placeholder({20, 20}, "f32", "A")
    local s = nw.schedule(nw.compute({20, 20}, function(i, j)
      local inside = nw.all(nw.ge(i, 1), nw.lt(i, 19))
      return nw.select(inside, (A(nw.max(i - 1, 0), j) + A(nw.min(i + 1, 19), j)) * 0.5, A(i, j))
    end, "B"))
    assert.equal(2.0 * 400, nw.roofline({{schedule = s, time = 1e-3}}, {roofs = roofs()}).rows[1][2])
    local data = nw.schedule(nw.compute({20, 20}, function(i, j)
      return nw.select(nw.lt(A(i, j), 0.5), A(i, j) * 2, nw.max(A(i, j), 1))
    end, "C"))
    assert.equal(3.0 * 400, nw.roofline({{schedule = data, time = 1e-3}}, {roofs = roofs()}).rows[1][2])
  end)

  it("counts inputs and outputs once if there are too many accesses to simulate", function()
    local s = support.gemm(32)
    local p = nw.roofline({{schedule = s, time = 1e-3}}, {roofs = roofs(), simulate = 100})
    assert.same({2.0 * 32 ^ 3, 3 * 32 * 32 * 4.0, "compulsory"}, {p.rows[1][2], p.rows[1][3], p.rows[1][4]})
    assert.truthy(tostring(p):find "Open dots: bytes of inputs and outputs, each counted once")
    assert.truthy(p.script:find "points pt 6")
    fails("not simulated", "invalid", nw.roofline, {{schedule = s, time = 1e-3}}, {roofs = roofs(), simulate = 100, level = "L2"})
  end)

  it("requires the values of sizes, or takes them from the inputs", function()
    local s = support.row_sums()
    local list = {{schedule = s, time = 1e-3}}
    fails("the size M has no value", "invalid", nw.roofline, list, {roofs = roofs()})
    local p = nw.roofline(list, {roofs = roofs(), sizes = {M = 8, N = 16}})
    local q = nw.roofline(list, {roofs = roofs(), arguments = {nw.zeros {8, 16}}})
    assert.equal(2.0 * 8 * 16, p.rows[1][2])
    assert.same(p.rows, q.rows)
    assert.equal("simulated", p.rows[1][4])
  end)

  it("measures symbolic sizes on random inputs of the sizes given", function()
    local s = support.row_sums()
    s:split("i", 4)
    local p = nw.roofline(s, {roofs = roofs(), sizes = {M = 8, N = 16}, threads = 1, rounds = 2})
    assert.equal(2, #p.rows)
    for n = 1, 2 do assert.equal(2.0 * 8 * 16, p.rows[n][2]) end
    local q = nw.roofline({s}, {roofs = roofs(), sizes = {M = 8, N = 16, other = 3}, threads = 1, rounds = 2})
    assert.equal(2.0 * 8 * 16, q.rows[1][2])
    local err = fails("the size M has no value", "invalid", nw.roofline, s, {roofs = roofs(), threads = 1})
    assert.truthy(err.hint:find("sizes = {M = ", 1, true))
    fails("N: expected a whole number", "invalid", nw.roofline, s, {roofs = roofs(), sizes = {M = 8, N = "x"}})
    fails("sizes: expected a table", "invalid", nw.roofline, s, {roofs = roofs(), sizes = 8})
  end)

  -- These roofs have no peak for integers. At first, they have only the peak of f32. Then the peak of f64 is added.
  it("compares integers with bandwidths only, and f64 with the peak of f64", function()
    local function one(dtype)
      local A = nw.placeholder({64, 64}, dtype, "A")
      return nw.schedule(nw.compute({64, 64}, function(i, j) return A(j, i) + 1 end, "T"))
    end
    local r = roofs()
    local ints = nw.roofline({{schedule = one "i32", time = 1e-9}}, {roofs = r})
    local text = tostring(ints)
    assert.truthy(text:find("op/s at [%d.]+ op/byte"))
    assert.falsy(text:find("flop", 1, true))
    assert.truthy(text:find("No peak is drawn for integers", 1, true))
    assert.equal("memory", ints.rows[1][10])
    assert.same({}, block(ints, "peak"))
    assert.truthy(ints.script:find("(op/byte)", 1, true))
    local dots = {{schedule = one "f64", time = 1e-9}}
    r.levels[3].best = 1e15
    local held = nw.roofline(dots, {roofs = r, simulate = 1})
    assert.same({"the f32 peak", 100e9}, {held.rows[1][10], held.rows[1][11]})
    r.peak_f64 = {best = 40e9, median = 40e9, spread = 0.01}
    held = nw.roofline(dots, {roofs = r, simulate = 1})
    assert.same({"the peak", 40e9}, {held.rows[1][10], held.rows[1][11]})
    assert.equal(40e9, block(held, "peak")[1][2])
    assert.truthy(tostring(held):find("the peak in f64 multiply-adds", 1, true))
    for _, dtype in ipairs {"f32", "i32"} do dots[#dots + 1] = {schedule = one(dtype), time = 1e-3} end
    local both = nw.roofline(dots, {roofs = r, simulate = 1})
    assert.truthy(both.script:find("peak 100 Gflop/s (f32)", 1, true))
    assert.truthy(both.script:find("peak 40 Gflop/s (f64)", 1, true))
  end)

  it("separates the labels of roofs of one and of two threads", function()
    local one, two = roofs(), roofs(2)
    one.peak.best, two.peak.best, two.levels[1].best, two.levels[2].best = 174e9, 131e9, 300e9, 300e9
    one.levels[2].best = 290e9
    local list = {}
    for n, threads in ipairs {1, 2} do
      list[n] = {label = "a", flops = 1e9, bytes = {memory = 1e9, L2 = 1e9}, how = "given", time = {median = 0.2},
        threads = threads, arithmetic = "f32"}
    end
    local p = require "nestwright.plots.roofline".make(list, {one, two}, {level = "L2", title = "t"})
    local y, seen = {}, {}
    for threads, at in p.script:gmatch "set label 'peak %d+ Gflop/s %((%d) threads?%)' at screen [%d.]+, screen ([%d.]+)" do
      y[threads] = tonumber(at) * p.size[2]
    end
    assert.is_true(y["1"] - y["2"] > 14, "the labels of the peaks overlap")
    for text in p.script:gmatch "set label '([^'\n]+)' at [%d.e+-]+, [%d.e+-]+ right rotate" do seen[#seen + 1] = text end
    local all = table.concat(seen, ", ")
    for _, words in ipairs {"L1 300 GB/s (2", "L2 300 GB/s (2", "memory 10 GB/s (2", "L2 290 GB/s (1"} do
      assert.truthy(all:find(words .. " thread", 1, true), words .. " is not among " .. all)
    end
  end)

  it("explains a share above 100 % in the picture itself", function()
    local fast, slow = {flops = 2e9, bytes = 1e7, time = 0.01}, {flops = 2e9, bytes = 1e7, time = 1}
    assert.truthy(nw.roofline({a = fast}, {roofs = roofs()}).script:find("A dot above a peak:", 1, true))
    assert.is_nil(nw.roofline({a = slow}, {roofs = roofs()}).script:find("A dot above", 1, true))
  end)

  it("does not explain a dot above the peak by caches", function()
    local p = tostring(nw.roofline({a = {flops = 2e9, bytes = 1e7, time = 0.01}}, {roofs = roofs()}))
    assert.truthy(p:find("200 %% of the peak"))
    assert.truthy(p:find("above that peak, which caches cannot explain", 1, true))
    assert.falsy(p:find("nearer caches", 1, true))
    assert.truthy(p:find("Spread unknown.", 1, true))
  end)

  it("has a dot for each version, arrows between them, and leaves the schedule unchanged", function()
    local s = support.gemm(16)
    s:split("i", 4)
    s:vectorize "j"
    local version = s:version()
    local p = nw.roofline(s, {roofs = roofs(), threads = 1, rounds = 2})
    assert.equal(version, s:version())
    assert.same({"the naive program", 's:split("i", 4)', 's:vectorize "j"'}, {p.rows[1][1], p.rows[2][1], p.rows[3][1]})
    for n = 1, 3 do
      assert.equal(2.0 * 16 ^ 3, p.rows[n][2])
      assert.is_true(near(p.rows[n][9], p.rows[n][2] / p.rows[n][6]))
      assert.equal(1, p.rows[n][13])
    end
    local q = nw.roofline({a = s, b = support.gemm(16)}, {roofs = roofs(), rounds = 2})
    assert.same({"a", "b"}, {q.rows[1][1], q.rows[2][1]})
    assert.falsy(q.script:find "head filled") -- a table with names as keys has no order, so there are no arrows
  end)

  it("knows which versions use several threads", function()
    local s = support.gemm(16)
    local t = {median = 1e-3, threads = 2}
    local p = nw.roofline({{schedule = s, time = t}}, {roofs = roofs()})
    assert.equal(1, p.rows[1][13])
    s:parallel "i"
    p = nw.roofline({{schedule = s, time = t}}, {roofs = roofs(2)})
    assert.equal(2, p.rows[1][13])
  end)

  it("says what to pass if operations cannot be counted", function()
    local A = nw.placeholder({8}, "f32", "A")
    local copy = nw.schedule(nw.compute({8}, function(i) return A(i) end, "C"))
    local err = fails("has no operations", "invalid", nw.roofline, {{schedule = copy, time = 1e-3}}, {roofs = roofs()})
    assert.truthy(err.hint:find("nw.roofline{mine = {flops = 1e9, bytes = 1e6, time = t}}", 1, true))
    assert.truthy(err.hint:find("nw.roofs()", 1, true))
  end)

  it("says what could not be measured", function()
    local s = support.doubled(64)
    s:split("i", 8)
    s:bind("i_o", "blockIdx.x")
    local p = nw.roofline(s, {roofs = roofs(), threads = 1, rounds = 2})
    assert.is_nil(p.rows[3][9])
    assert.truthy(p.rows[3][14])
    assert.truthy(tostring(p):find("Not drawn: ", 1, true))
  end)

  it("says which arguments are valid", function()
    local function bad(pattern, code, entry, o) fails(pattern, code, nw.roofline, {entry}, o or {roofs = roofs()}) end
    fails("empty", "invalid", nw.roofline, {})
    fails("expected a schedule or a table", "invalid", nw.roofline, 3)
    for _, v in ipairs {0, -1, 0 / 0, math.huge, "x"} do
      bad("flops: expected a number above 0", "invalid", {flops = v, bytes = 1, time = 1})
      bad("bytes: expected a number above 0", "invalid", {flops = 1, bytes = v, time = 1})
    end
    bad("is not a time", "invalid", {flops = 1, bytes = 1, time = 0 / 0})
    bad("time", "invalid", {flops = 1, bytes = 1})
    bad("unknown option", "invalid", {flop = 1, bytes = 1, time = 1})
    bad("expected a schedule", "invalid", {schedule = 3})
    bad("level must be 'memory'", "invalid", {flops = 1, bytes = 1, time = 1}, {roofs = roofs(), level = "L1"})
    bad("threads must be a number", "range", {flops = 1, bytes = 1, time = 1, threads = 1.5})
    bad("expected 1 inputs, got 0", "invalid", {schedule = support.row_sums(), time = 1}, {roofs = roofs(), arguments = {}})
    bad("arguments%[1%]: expected a tensor", "invalid", {flops = 1, bytes = 1, time = 1}, {roofs = roofs(), arguments = {3}})
    bad("simulate", "invalid", {flops = 1, bytes = 1, time = 1}, {roofs = roofs(), simulate = "all"})
    bad("label", "invalid", {flops = 1, bytes = 1, time = 1, label = 3})
    bad("roofs must be the answer of nw.roofs", "invalid", {flops = 1, bytes = 1, time = 1}, {roofs = {}})
    bad("did you mean 'roofs'", "invalid", {flops = 1, bytes = 1, time = 1}, {roof = roofs()})
    local many = {}
    for n = 1, 61 do many[n] = {flops = 1, bytes = 1, time = 1} end
    fails("are too many: at most 60", "limit", nw.roofline, many, {roofs = roofs()})
  end)

  it("is drawn with few and with many dots, and executes no text", function()
    if not support.have_gnuplot() then return pending "gnuplot is not installed" end
    local path, list = support.temporary(), {}
    for n, name in ipairs {"a'b\"c", "`touch %s`", "$(touch %s)", "'';system('touch %s')#", "@x!touch %s", "%g"} do
      list[n] = {flops = 1e9, bytes = 10.0 ^ (4 + n), time = 0.01 * n, label = (name:gsub("%%s", path))}
    end
    local named = roofs()
    named.machine, named.levels[3].name = "'`touch " .. path .. "`", "'';system('touch " .. path .. "')#"
    table.insert(named.levels, roof("memory", 9e9))
    support.picture(nw.roofline(list, {roofs = named, title = "`x'"}))
    assert.is_nil(io.open(path))
    support.picture(nw.roofline({{flops = 1, bytes = 1e12, time = 1e6}}, {roofs = roofs()}))
    for n = 1, 60 do list[n] = {flops = 1e9, bytes = 1e8, time = 0.05} end
    support.picture(nw.roofline(list, {roofs = roofs()}))
  end)
end)

describe("nw.roofs", function()
  it("measures bandwidths with STREAM's loops", function()
    for _, loop in ipairs {"read", "copy", "triad", "write"} do
      local best, samples = nw.bandwidth(10007, {loop = loop})
      assert.is_true(best > 0)
      assert.equal(best, math.max(table.unpack(samples)))
    end
    fails("loop: expected 'read', 'copy', 'triad' or 'write', got 'scale'", "invalid", nw.bandwidth, 100, {loop = "scale"})
    fails("bytes must be a whole number", "range", nw.bandwidth, 0)
    fails("bytes: expected a whole number, got 1.5", "invalid", nw.bandwidth, 1.5)
    fails("not enough memory", "limit", nw.bandwidth, 1 << 60)
    fails("threads must be a number", "range", nw.bandwidth, 100, {threads = 0})
    fails("threads: expected a whole number, got 1.5", "invalid", nw.roofs, {threads = 1.5})
  end)

  it("measures the peak of f64 as well", function()
    assert.is_true(nw.peak_flops(1, "f64") > 1e7)
    fails("dtype is 'f32' or 'f64'", "invalid", nw.peak_flops, 1, "i32")
  end)
end)
