--- Compares accesses and misses with counts that were worked out by hand.
local nw = require "nestwright"
local support = require "support"
local fails = support.fails

local ONE = {{bytes = 1024, ways = 0}} -- 16 lines

-- Makes Y[i] = X[i] + X[(i + shift) % n].
local function twice_read(n, shift)
  local X = nw.placeholder({n}, "f32", "X")
  return nw.schedule(nw.compute({n}, function(i) return X(i) + X((i + shift) % n) end, "Y"))
end

local function row(list, level, tensor)
  for _, r in ipairs(list) do if r.level == level and r.tensor == tensor then return r end end
end

describe("nw.accesses", function()
  it("lists the accesses in order", function()
    local X = nw.placeholder({3}, "f32", "X")
    local a = nw.accesses(nw.schedule(nw.compute({3}, function(i) return X(2 - i) * 2 end, "Y")))
    assert.equal(6, #a)
    local words = {}
    for n = 1, #a do
      local at = a:at(n)
      words[n] = ("%s%d%s"):format(at.tensor, at.index, at.write and "w" or "")
    end
    assert.same({"X2", "Y0w", "X1", "Y1w", "X0", "Y2w"}, words)
    assert.equal(a:at(1).address, a:at(5).address + 8)
    assert.is_nil(a:at(7))
    assert.is_nil(a:at(0))
    assert.equal("6 accesses", tostring(a))
  end)

  it("counts adjacent lanes as one access", function()
    local s = twice_read(64, 0)
    local _, inner = s:split("i", 16)
    s:vectorize(inner)
    local a = nw.accesses(s)
    assert.equal(8, #a) -- X is read once, because the two reads are one expression
    assert.equal(16, a:at(1).lanes)
  end)

  it("lists the accesses that a run of the program makes", function()
    local s = twice_read(10, 3)
    local walked, ran = nw.accesses(s), nw.accesses(s, {arguments = {nw.random({10}, "f32", {seed = 1})}})
    assert.is_nil(walked:differs(ran))
    assert.equal(1, walked:differs(nw.accesses(twice_read(4, 3))) and 1)
  end)

  -- Makes B[i, j] = A[(5*i + j) // 8], with the indices of each row in one temporary.
  local function indexed()
    local A = nw.placeholder({16}, "f32", "A")
    local s = nw.schedule(nw.compute({3, 64}, function(i, j) return A((5 * i + j) // 8) end, "B"))
    return s, s:cache_index("B", {at = "i"})
  end

  it("knows addresses that are read from a temporary whose elements change", function()
    local s, stage = indexed()
    local data = {nw.random({16}, "f32", {seed = 1})}
    assert.is_nil(nw.accesses(s):differs(nw.accesses(s, {arguments = data})))
    s:vectorize((select(2, s:split(s:loops(stage)[2], 16))))
    s:cache_read(stage, "global", {"B"})
    assert.is_nil(nw.accesses(s):differs(nw.accesses(s, {arguments = data})))
  end)

  it("knows addresses that another thread stores", function()
    local s, stage = indexed()
    s:parallel(s:loops(stage)[2])
    s:reverse(s:loops("B")[2])
    s:parallel(s:loops("B")[2])
    local a, expected, found = nw.accesses(s, {threads = 2}), {}, {}
    for i = 0, 2 do for j = 63, 32, -1 do expected[#expected + 1] = (5 * i + j) // 8 end end
    for n = 1, #a do if a:at(n).tensor == "A" then found[#found + 1] = a:at(n).index end end
    assert.same(expected, found)
  end)

  it("uses the contents of arrays in indices if arrays are given", function()
    local X, I = nw.placeholder({8}, "f32", "X"), nw.placeholder({8}, "i64", "I")
    local s = nw.schedule(nw.compute({8}, function(i) return X(nw.minimum(nw.maximum(I(i), 0), 7)) end, "Y"))
    local err = fails("depends on the contents of I", "limit", nw.accesses, s)
    assert.truthy(err.hint:find "not the contents")
    local index = nw.zeros({8}, "i64")
    index:setflat(1, 5)
    local a = nw.accesses(s, {arguments = {nw.zeros({8}, "f32"), index}})
    local first
    for n = 1, #a do if a:at(n).tensor == "X" then first = first or a:at(n).index end end
    assert.equal(5, first)
  end)

  it("stops a run that makes more accesses than the limit", function()
    local s = support.gemm(200, 200, 200) -- without the limit, the run takes a minute
    local data = {nw.zeros({200, 200}, "f32"), nw.zeros({200, 200}, "f32")}
    fails("more than 1000 accesses", "limit", nw.accesses, s, {arguments = data, most = 1000})
  end)

  it("refuses sizes that are out of range", function()
    local s = support.gemm(8, 8, 8)
    fails("line: 1099511627776 is not in 0..1073741824", "range", nw.misses, s, {line = 1 << 40}) -- the line size was once cut to 0
    -- the ways were once cut to 8
    fails("ways: 4294967304 is not in", "range", nw.misses, s, {levels = {{bytes = 32768, ways = (1 << 32) + 8}}})
    fails("most: %-1 is less than 1", "range", nw.accesses, s, {most = -1}) -- -1 once meant no limit
  end)

  it("requires the values of sizes, and limits the number of accesses", function()
    local M = nw.size("M", {min = 0})
    local X = nw.placeholder({M}, "f32", "X")
    local s = nw.schedule(nw.compute({M}, function(i) return X(i) + 1 end, "Y"))
    local err = fails("the size M has no value", "invalid", nw.accesses, s)
    assert.truthy(err.hint:find "sizes = {M = 64}")
    assert.equal(10, #nw.accesses(s, {sizes = {M = 5}}))
    assert.equal(0, #nw.accesses(s, {sizes = {M = 0}}))
    fails("there is no size N", "invalid", nw.accesses, s, {sizes = {M = 5, N = 2}})
    fails("M: expected a whole number", "invalid", nw.accesses, s, {sizes = {M = "x"}})
    fails("at least 0", "range", nw.accesses, s, {sizes = {M = -1}})
    fails("more than 9 accesses", "limit", nw.accesses, s, {sizes = {M = 5}, most = 9})
    fails("expected a schedule", "invalid", nw.accesses, 7)
    fails("unknown option", "invalid", nw.accesses, s, {size = 1})
  end)
end)

describe("nw.misses", function()
  it("counts one miss for each line of a stream", function()
    local m = nw.misses(twice_read(1024, 0), {levels = ONE})
    assert.equal(64, row(m.by_tensor, 1, "X").cold)
    assert.equal(64, row(m.by_tensor, 1, "Y").cold)
    assert.equal(1024 - 64, row(m.by_tensor, 1, "X").hits)
    assert.equal(64 - 8, row(m.by_tensor, 1, "Y").written_back) -- 8 of the 16 lines in the cache are lines of Y at the end
    assert.equal(2048, m.total[1].asked)
    assert.equal(128, m.total[1].cold)
  end)

  it("distinguishes reuse that comes in time from reuse that comes too late", function()
    local near = nw.misses(twice_read(1024, 16 * 4), {levels = ONE}) -- X[i] is read again 4 lines later
    assert.equal(4, row(near.by_tensor, 1, "X").capacity) -- the last iterations read the first four lines again
    local far = nw.misses(twice_read(1024, 16 * 32), {levels = ONE})
    assert.equal(64, row(far.by_tensor, 1, "X").capacity)
  end)

  it("distinguishes conflict misses", function()
    -- The rows have 4 KiB, so all elements of a column are in one set of a cache of 4 KiB with two ways.
    local X = nw.placeholder({4, 1024}, "f32", "X")
    local k = nw.reduce_axis(4, "k")
    local s = nw.schedule(nw.compute({1024}, function(j) return nw.sum(X(k, j), k) end, "Y"))
    local sets = nw.misses(s, {levels = {{bytes = 4096, ways = 2}}})
    local x = row(sets.by_tensor, 1, "X")
    assert.equal(4 * 1024, x.asked)
    assert.equal(4 * 64, x.cold)
    assert.equal(4 * 1024 - 4 * 64, x.conflict)
    assert.equal(0, row(nw.misses(s, {levels = {{bytes = 4096, ways = 0}}}).by_tensor, 1, "X").conflict)
    local untold = row(nw.misses(s, {levels = {{bytes = 4096, ways = 2}}, conflicts = false}).by_tensor, 1, "X")
    assert.equal(x.conflict, untold.capacity)
  end)

  it("sends to each level the misses of the level before it, or all accesses", function()
    local s = twice_read(1024, 0)
    local two = {{bytes = 1024, ways = 0}, {bytes = 1 << 20, ways = 16}}
    assert.equal(128, nw.misses(s, {levels = two}).total[2].asked)
    assert.equal(2048, nw.misses(s, {levels = two, feed = "full"}).total[2].asked)
    assert.equal(128, nw.misses(s, {levels = two, feed = "full"}).total[2].cold)
  end)

  it("counts lines written back at the access that wrote them", function()
    local m = nw.misses(support.gemm(32, 32, 32), {levels = ONE})
    assert.equal(0, row(m.by_tensor, 1, "A").written_back)
    assert.equal(0, row(m.by_tensor, 1, "B").written_back)
    assert.is_true(row(m.by_tensor, 1, "C").written_back >= 64 - 16)
  end)

  it("has totals by loop, by tensor and by access", function()
    local m = nw.misses(support.gemm(8, 8, 8), {levels = ONE})
    local sums = {}
    for _, key in ipairs {"by_access", "by_tensor", "by_loop", "total"} do
      local asked = 0
      for _, r in ipairs(m[key]) do asked = asked + r.asked end
      sums[#sums + 1] = asked
    end
    local all = 8 * 8 * (1 + 4 * 8)
    assert.same({all, all, all, all}, sums)
  end)

  it("uses this machine by default, and prints", function()
    local m = nw.misses(twice_read(64, 0))
    assert.equal(#m.levels, #m.total)
    assert.truthy(tostring(m):find "lines requested")
    assert.falsy(tostring(m):find("conflict misses are counted as capacity", 1, true))
    local untold = tostring(nw.misses(twice_read(64, 0), {levels = ONE, conflicts = false}))
    assert.truthy(untold:find("conflict misses are counted as capacity", 1, true) and untold:find(" - ", 1, true))
    assert.truthy(tostring(nw.misses(twice_read(64, 0), {levels = ONE})):find "L1, 1 KiB, fully associative")
  end)

  it("uses the caches of a machine record, with the sizes that s:cost uses", function()
    local s = support.gemm(16, 16, 16)
    local m = nw.machine {extends = "zen5", name = "small", caches = {{bytes = 1024, ways = 4, latency = 4, bytes_per_cycle = 64},
      {bytes = 8192, ways = 8, effective_bytes = 4096, latency = 14, bytes_per_cycle = 32, shared_by = 2}}}
    local by_hand = {{bytes = 1024, ways = 4}, {bytes = 4096, ways = 4}}
    assert.same(nw.misses(s, {levels = by_hand}).by_access, nw.misses(s, {machine = m}).by_access)
    local found, costs = nw.misses(s, {machine = m}).total, s:cost({machine = m}).levels
    for n, total in ipairs(found) do assert.equal(total.asked - total.hits, costs[n].misses) end
    local shared = nw.misses(s, {machine = m, threads = 2}) -- the two threads share the second level
    assert.same({1024, 2048}, {shared.levels[1].bytes, shared.levels[2].bytes})
    assert.equal(nw.reuse(s, {machine = m}).caption, nw.reuse(s, {levels = by_hand}).caption)
    assert.equal(nw.cache_sets(s, {machine = m, level = 2}).caption, nw.cache_sets(s, {levels = by_hand, level = 2}).caption)
    assert.same(nw.accesses(s, {levels = by_hand}):at(900), nw.accesses(s, {machine = m}):at(900))
    fails("is not a CPU", "invalid", nw.misses, s, {machine = "eyeriss"})
    fails("machine already determines", "invalid", nw.misses, s, {machine = m, levels = by_hand})
    fails("there is no machine 'zen55'", "invalid", nw.misses, s, {machine = "zen55"})
  end)

  it("refuses impossible caches", function()
    local s = twice_read(64, 0)
    fails("not a multiple of the line", "invalid", nw.misses, s, {levels = {{bytes = 100}}})
    fails("not a multiple of its 3 ways", "invalid", nw.misses, s, {levels = {{bytes = 640, ways = 3}}})
    fails("no cache levels", "invalid", nw.misses, s, {levels = {}})
    fails("bytes: expected a whole number", "invalid", nw.misses, s, {levels = {{}}})
    fails("options.feed: expected", "invalid", nw.misses, s, {feed = "none"})
    fails("power of two", "invalid", nw.misses, s, {levels = {{bytes = 640}}, line = 60})
    fails("expected a schedule", "invalid", nw.misses, nil)
    fails("unknown option 'way'", "invalid", nw.misses, s, {levels = {{bytes = 640, way = 3}}})
  end)
end)
