--- Tests pictures of cache behaviour. Their data is compared with counts that are computed here, one access after the other.
local nw = require "nestwright"
local core = require "nestwright.core"
local support = require "support"
local fails = support.fails

local SMALL = {{bytes = 512, ways = 2}} -- 4 sets
local TWO = {{bytes = 512, ways = 2}, {bytes = 2048, ways = 4}}

local function draws(p)
  if not support.have_gnuplot() then return pending "gnuplot is not installed" end
  local width, height = support.picture(p)
  assert.same(p.size, {width, height})
end

-- Returns the cache lines that a schedule accesses, in order: {tensor, number of the line, number of the access}.
local function lines_of(s, options)
  local list, a = {}, nw.accesses(s, options)
  for n = 1, #a do
    local at = a:at(n)
    for l = at.address // 64, (at.address + at.lanes * 4 - 1) // 64 do list[#list + 1] = {at.tensor, l, n} end
  end
  return list, #a
end

local function values_of(map)
  local out = {}
  for _, v in pairs(map) do out[#out + 1] = v end
  return out
end

describe("nw.reuse", function()
  it("counts the other lines between two requests of a line", function()
    local s, want, firsts = support.gemm(7, 9, 20), {}, {}
    local list = lines_of(s)
    for n, at in ipairs(list) do
      local seen, others, k = {}, 0, n - 1
      while k > 0 and list[k][2] ~= at[2] do
        if not seen[list[k][2]] then seen[list[k][2]], others = true, others + 1 end
        k = k - 1
      end
      if k == 0 then
        firsts[at[1]] = (firsts[at[1]] or 0) + 1
      else
        want[at[1] .. others * 64] = (want[at[1] .. others * 64] or 0) + 1
      end
    end
    local got, p = {}, nw.reuse(s)
    for _, row in ipairs(p.rows) do
      if row[2] then
        assert.equal(row[2] + 64, row[3])
        got[row[1] .. row[2]] = row[4]
      else
        assert.equal(firsts[row[1]], row[4])
      end
    end
    assert.same(want, got)
    draws(p)
  end)

  it("agrees with a fully associative cache of any size", function()
    local s = support.gemm(24, 30, 40)
    local p = nw.reuse(s)
    for _, bytes in ipairs {64, 192, 448, 1024, 3072, 4096} do
      local m = nw.misses(s, {levels = {{bytes = bytes, ways = 0}}})
      local hits = {}
      for _, row in ipairs(p.rows) do
        if row[2] and row[2] < bytes then
          assert.is_true(row[3] <= bytes) -- no bin contains distances on both sides of the cache's size
          hits[row[1]] = (hits[row[1]] or 0) + row[4]
        end
      end
      for _, t in ipairs(m.by_tensor) do assert.equal(t.hits, hits[t.tensor] or 0, t.tensor .. bytes) end
    end
  end)

  it("draws the counts", function()
    local p = nw.reuse(support.gemm(20, 20, 20), {levels = TWO})
    local drawn, all = 0, 0
    for block in p.script:gmatch "%$reuse%d+ << EOD\n(.-)EOD\n" do
      for count in block:gmatch "%S+ (%d+) [^\n]*\n" do drawn = drawn + tonumber(count) end
    end
    for _, row in ipairs(p.rows) do all = all + row[4] end
    assert.equal(20 * 20 * (1 + 4 * 20), all)
    assert.equal(all, drawn)
    assert.truthy(tostring(p):find("A: 25 lines accessed for the first time", 1, true))
    assert.truthy(p.script:find("L2 2 KiB", 1, true))
  end)

  it("works for empty and very small programs", function()
    local M = nw.size("M", {min = 0})
    local X = nw.placeholder({M}, "f32", "X")
    local s = nw.schedule(nw.compute({M}, function(i) return X(i) + 1 end, "Y"))
    fails("the size M has no value", "invalid", nw.reuse, s)
    local one = nw.reuse(s, {sizes = {M = 1}, title = "a 'title' `touch x` $y \" {"})
    assert.same({{"X", nil, nil, 1}, {"Y", nil, nil, 1}}, one.rows)
    draws(one)
    draws(nw.reuse(s, {sizes = {M = 0}})) -- there are tensors, but no requests
    fails("unknown option", "invalid", nw.reuse, s, {y = 1})
    fails("power of two", "invalid", nw.reuse, s, {sizes = {M = 1}, line = 60, levels = {{bytes = 600}}})
  end)
end)

describe("nw.misses():plot", function()
  it("draws the counts by tensor and by loop", function()
    local s = support.gemm(16, 16, 16)
    s:split("k", 4)
    local m = nw.misses(s, {levels = TWO})
    for _, by in ipairs {"tensor", "loop"} do
      local p = m:plot {by = by}
      assert.equal(#m["by_" .. by], #p.rows)
      for n, row in ipairs(m["by_" .. by]) do
        assert.same({row.level, row[by], row.asked, row.hits, row.cold, row.capacity, row.conflict, row.written_back}, p.rows[n])
      end
      local drawn, missed = 0, 0
      for _, kind in ipairs {"cold", "capacity", "conflict"} do
        for block in p.script:gmatch("%$" .. kind .. "%d+ << EOD\n(.-)EOD\n") do
          for _, from, to in block:gmatch "(%S+) %S+ (%S+) (%S+) %S+ %S+\n" do drawn = drawn + to - from end
        end
        for level = 1, 2 do missed = missed + m.total[level][kind] end
      end
      assert.equal(missed, drawn)
      draws(p)
    end
  end)

  it("works for empty and very small programs", function()
    local M = nw.size("M", {min = 0})
    local X = nw.placeholder({M}, "f32", "X")
    local s = nw.schedule(nw.compute({M}, function(i) return X(i) + 1 end, "Y"))
    draws(nw.misses(s, {sizes = {M = 0}, levels = SMALL}):plot())
    draws(nw.misses(s, {sizes = {M = 1}, levels = SMALL}):plot {by = "loop", title = "`touch x` ' \" $(y)"})
    local m = nw.misses(s, {sizes = {M = 1}, levels = SMALL})
    fails("by: expected 'tensor' or 'loop', got 'line'", "invalid", m.plot, m, {by = "line"})
    fails("unknown option", "invalid", m.plot, m, {x = 1})
  end)
end)

describe("nw.cache_sets", function()
  it("counts the lines in each set, and the lines requested from it", function()
    local s, sets, ways = support.gemm(6, 8, 12), 4, 2
    local list, time = lines_of(s)
    local columns = math.min(300, time)
    local held, asked = {}, {}
    for c = 0, columns - 1 do held[c], asked[c] = {}, {} end
    local recent, fresh, at = {}, {}, 0
    local function snapshot(c)
      for set = 0, sets - 1 do held[c][set] = #(recent[set] or {}) end
    end
    for _, access in ipairs(list) do
      local column = (access[3] - 1) * columns // time
      while at < column do
        snapshot(at)
        at, fresh = at + 1, {}
      end
      local set = access[2] % sets
      recent[set] = recent[set] or {}
      for k, line in ipairs(recent[set]) do if line == access[2] then table.remove(recent[set], k) end end
      table.insert(recent[set], 1, access[2])
      recent[set][ways + 1] = nil
      if not fresh[access[2]] then
        fresh[access[2]] = true
        asked[column][set] = (asked[column][set] or 0) + 1
      end
    end
    snapshot(at)
    local p, n = nw.cache_sets(s, {levels = SMALL}), 0
    for _, row in ipairs(p.rows) do
      assert.equal(held[row[1]][row[2]] or 0, row[3])
      assert.equal(asked[row[1]][row[2]] or 0, row[4])
      n = n + row[4]
    end
    local all = 0
    for c = 0, columns - 1 do for _, count in pairs(asked[c]) do all = all + count end end
    assert.equal(all, n)
    draws(p)
  end)

  -- The columns of a matrix with rows of 4 KiB are in 4 of 64 sets. With rows of 3,968 bytes, they use half of the sets in
  -- turn.
  it("shows why a leading dimension of a power of two is slow", function()
    local function crowded(n)
      local A, k = nw.placeholder({n, n}, "f32", "A"), nw.reduce_axis(64, "k")
      local s = nw.schedule(nw.compute({16, 64}, function(i, j) return nw.sum(A(j, k) * (i + 1.0), k) end, "C"))
      s:reorder("i", "k", "j")
      local p = nw.cache_sets(s, {levels = {{bytes = 32768, ways = 8}}})
      return tonumber(tostring(p):match "([%d.]+) %% of the sets get more lines"), p
    end
    assert.equal(0, (crowded(992)))
    local share, p = crowded(1024)
    assert.equal(6.25, share) -- 4 of 64 sets
    draws(p)
  end)

  it("shows an outer level, which receives the misses of the first", function()
    local s = support.gemm(16, 16, 16)
    local p, m = nw.cache_sets(s, {levels = TWO, level = 2}), nw.misses(s, {levels = TWO})
    local asked = 0
    for _, row in ipairs(p.rows) do asked = asked + row[4] end
    assert.is_true(asked > 0 and asked <= m.total[2].asked)
    draws(p)
    draws(nw.cache_sets(s, {levels = {{bytes = 512, ways = 0}}}))
    draws(nw.cache_sets(s, {levels = {{bytes = 64 * 2048, ways = 1}}})) -- more sets than the picture has rows
  end)

  it("works for empty and very small programs", function()
    local M = nw.size("M", {min = 0})
    local X = nw.placeholder({M}, "f32", "X")
    local s = nw.schedule(nw.compute({M}, function(i) return X(i) + 1 end, "Y"))
    fails("touches no memory", "invalid", nw.cache_sets, s, {sizes = {M = 0}})
    draws(nw.cache_sets(s, {sizes = {M = 1}, levels = SMALL}))
    local one = nw.cache_sets(s, {sizes = {M = 40}, levels = {{bytes = 256, ways = 0}}}) -- with one set, the image has two rows
    assert.equal(2, select(2, one.script:match("%$sets%d+ << EOD\n(.-)EOD\n"):gsub("\n", "")))
    fails("line: 0 bytes", "invalid", nw.cache_sets, s, {sizes = {M = 1}, line = 0})
    fails("there is no level 2", "invalid", nw.cache_sets, s, {sizes = {M = 1}, levels = SMALL, level = 2})
  end)
end)

describe("threads", function()
  local function parallel(m, n)
    local s = support.gemm(m, n, 5)
    s:parallel "i"
    return s
  end

  local function walked(s, thread, threads)
    local a, out = core.accesses_walked(s, {sizes = {}, thread = thread, threads = threads}, 100000), {}
    for k = 1, #a do
      local at = a:at(k)
      out[k] = ("%s %d %s"):format(at.tensor, at.index, at.write)
    end
    return out
  end

  it("are simulated with the iterations of a parallel loop that they get at run time", function()
    for _, rows in ipairs {7, 2, 1} do
      local s = parallel(rows, 3)
      local all, joined = walked(s), {}
      for t = 0, 2 do table.move(walked(s, t, 3), 1, #all, #joined + 1, joined) end
      assert.same(all, joined) -- the parts are contiguous and in order
      assert.equal((rows * 2 // 3 - rows // 3) * 3 * (1 + 4 * 5), #walked(s, 1, 3))
    end
  end)

  it("get iterations in turn if a chunk size is given", function()
    local s = parallel(6, 1)
    s:pragma("i", "chunk", 1)
    local rows = {}
    for _, text in ipairs(walked(s, 1, 2)) do
      local row = text:match "^C (%d+) true"
      if row then rows[row] = true end
    end
    assert.same({["1"] = true, ["3"] = true, ["5"] = true}, rows)
  end)

  it("have lanes of their own", function()
    local s = parallel(6, 4)
    local p = nw.spacetime(s, {levels = SMALL, threads = 2})
    local count = {}
    for _, row in ipairs(p.rows) do count[row[9]] = (count[row[9]] or 0) + 1 end
    assert.same({["thread 0"] = 3 * 4 * 21, ["thread 1"] = 3 * 4 * 21}, count)
    assert.truthy(tostring(p):find "thread 1, C: 132 accesses")
    assert.truthy(tostring(p):find "each thread has its own caches")
    draws(p)
    draws(nw.spacetime(parallel(20, 20), {levels = TWO, threads = 3, level = "all"}))
    fails("threads: 0 is not in", "range", nw.spacetime, s, {threads = 0})
  end)
end)

describe("space-time diagrams", function()
  it("of two versions are shown one below the other, on the same axes", function()
    local s = support.gemm(8, 8, 8)
    s:tile("i", "j", 4, 4)
    local p = nw.spacetime(s, {levels = SMALL, before = 0})
    local m, count = nw.misses(s, {levels = SMALL}), {}
    for _, row in ipairs(p.rows) do
      local key = row[8] .. row[2] .. row[7]
      count[key] = (count[key] or 0) + 1
    end
    for _, t in ipairs(m.by_tensor) do
      assert.equal(t.capacity, count["version 1" .. t.tensor .. "capacity"] or 0)
      assert.equal(t.conflict, count["version 1" .. t.tensor .. "conflict"] or 0)
    end
    local lanes, time = {}, p.script:match "set xrange %S+ %- 0%.5%]" -- each lane occurs twice, with the same axes
    for panel in p.script:gmatch "\nset xrange [^\n]+\n[^\n]*\n[^\n]*\n[^\n]*\nset ylabel '%w, element'" do
      assert.equal(time, panel:match "set xrange %S+ %- 0%.5%]")
      local lane = panel:match "'(%w), element'" .. panel:match "set yrange %S+"
      lanes[lane] = (lanes[lane] or 0) + 1
    end
    assert.same({2, 2, 2}, values_of(lanes))
    draws(p)
    draws(nw.spacetime(support.gemm(20, 20, 20), {levels = SMALL, before = s}))
    fails("before: there is no version 99", "range", nw.spacetime, s, {before = 99})
    fails("before: expected a schedule or a whole number", "invalid", nw.spacetime, s, {before = "x"})
  end)

  it("show the level in which each access hits", function()
    local s = support.gemm(8, 8, 8)
    local p, m = nw.spacetime(s, {levels = TWO, level = "all"}), nw.misses(s, {levels = TWO})
    local memory = 0
    for _, row in ipairs(p.rows) do
      local first, second = row[7]:match "^(%l+)/(%l+)$"
      if first ~= "hit" and second ~= "hit" then memory = memory + 1 end
    end
    local total = m.total[2]
    assert.equal(total.cold + total.capacity + total.conflict, memory)
    draws(p)
    local r, found = nw.spacetime(support.gemm(16, 16, 16), {levels = TWO, level = "all"}), {}
    for _, row in ipairs(r.rows) do found[row[4]] = true end
    assert.same({true, true, true}, found)
    draws(r)
  end)
end)

-- Returns the number of pixels with each digit in a raster. Every miss must be on a pixel of the picture.
local function drawn_pixels(p)
  local seen = {}
  for block in p.script:gmatch "%$pixels%d+ << EOD\n(.-)EOD\n" do
    for digit in block:gmatch "%d" do seen[digit] = (seen[digit] or 0) + 1 end
  end
  return seen
end

describe("a raster in a narrow place", function()
  it("shows a short miss next to a longer one", function()
    local X = nw.placeholder({4096}, "f32", "X")
    local function twice() return nw.schedule(nw.compute({4096}, function(i) return X(i) * 2 end, "Y")) end
    local s, v = twice(), twice()
    v:split("i", 16)
    v:vectorize "i_i"
    local p = nw.spacetime(v, {before = s, levels = SMALL})
    local across = {} -- the width of each image, in pixels
    for block in p.script:gmatch "%$pixels%d+ << EOD\n(.-)EOD\n" do
      local line = block:match "^[^\n]*"
      across[#across + 1] = select(2, line:gsub("%d", ""))
    end
    table.sort(across)
    local time = {#nw.accesses(v), #nw.accesses(s)}
    assert.is_true(across[1] <= 860 * time[1] / time[2])
    assert.equal(860, across[#across])
    assert.is_true(drawn_pixels(p)["3"] > 0)
  end)

  it("shows the worst access of each pixel", function()
    local rows = {"\0\1\0\5", "\2\0\3\0", "\0\0\1\0"}
    assert.same({"2 5 "}, core.pixels(rows, 2, 1))
    assert.same({"0 1 0 5 ", "2 0 3 0 ", "0 0 1 0 "}, core.pixels(rows, 4, 3))
    assert.same({"5 "}, core.pixels(rows, 1, 1))
    fails("only be made smaller", "invalid", core.pixels, rows, 5, 1)
  end)

  it("stays small with many threads", function()
    local s = support.gemm(32, 16, 16)
    s:parallel "i"
    if not support.have_gnuplot() then return pending "gnuplot is not installed" end
    assert.is_true(#nw.spacetime(s, {threads = 16, levels = SMALL}):svg() < 500000)
  end)
end)

describe("captions", function()
  it("say which tensors are swept, how many times, and at which distance they are reused", function()
    local s = support.gemm(8, 16, 32)
    local text = tostring(nw.spacetime(s, {levels = SMALL}))
    local a, b, c = text:match "A: [^\n]*", text:match "B: [^\n]*", text:match "C: [^\n]*"
    assert.truthy(a:find("swept once, by i, k, each part 16 times (j)", 1, true))
    assert.truthy(b:find("swept 8 times, by j, k, once for each i, steps of 64 bytes (k)", 1, true))
    assert.truthy(c:find("swept once, by i, j, each element reused in 32 iterations of k", 1, true))
    assert.truthy(b:find("a line is reused after 2.", 1, true), b) -- 32 lines of B, 2 of A and 1 of C
    assert.truthy(b:find("of reuses miss a fully associative L1 (512 bytes)", 1, true))
  end)

  it("also work with symbolic sizes", function()
    local N = nw.size "N"
    local s = support.gemm(N, N, N)
    local text = tostring(nw.spacetime(s, {levels = SMALL, sizes = {N = 8}}))
    assert.truthy(text:find("B: 512 accesses to 64 elements; swept 8 times, by j, k, once for each i, steps of 32 b", 1, true))
  end)

  it("name overlapping passes, and loops without a bracket", function()
    local X, r = nw.placeholder({66}, "f32", "X"), nw.reduce_axis(3, "r")
    local s = nw.schedule(nw.compute({64}, function(i) return nw.sum(X(i + r), r) end, "Y"))
    local text = tostring(nw.spacetime(s, {levels = SMALL}))
    assert.truthy(text:find("X: 192 accesses to 66 elements; swept once, by i, r, in overlapping passes", 1, true))
    local long = tostring(nw.spacetime((support.gemm(20, 20, 20)), {levels = SMALL}))
    assert.truthy(long:find("no brackets: j, k", 1, true) or long:find("no brackets: k", 1, true))
  end)

  it("say nothing about a loop whose extent varies", function()
    local k = nw.reduce_axis(8, "k")
    local X = nw.placeholder({8}, "f32", "X")
    local s = nw.schedule(nw.compute({8}, function(i) return nw.sum(nw.select(nw.le(k, i), X(k), 0), k) end, "Y"))
    assert.truthy(tostring(nw.spacetime(s, {levels = SMALL})):find "X: 36 accesses")
  end)
end)
