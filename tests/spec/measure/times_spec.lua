--- Tests pictures of measured times. The drawn data is compared with the samples. Also tests which times are distinguishable, and
--- invalid input.
local nw = require "nestwright"
local support = require "support"
local fails = support.fails

-- Returns 21 evenly spaced samples around a median. By default, their middle half is from 0.96 to 1.04 of the median.
local function around(median, wide)
  local t = {samples = {}, threads = 1, machine = "a machine"}
  for n = 1, 21 do t.samples[n] = median * (1 + (wide or 0.08) * (n - 11) / 10) end
  return t
end

-- Returns the rows of the data blocks in the plot's script whose name is `name` followed by a number.
local function block(p, name)
  local rows = {}
  for text in p.script:gmatch("%$" .. name .. "%d+ << EOD\n(.-)EOD\n") do
    for line in text:gmatch "[^\n]+" do
      local row = {}
      for cell in line:gmatch "%S+" do row[#row + 1] = tonumber(cell) end
      rows[#rows + 1] = row
    end
  end
  return rows
end

local function near(a, b) return math.abs(a - b) <= 1e-6 * math.abs(b) end

describe("nw.timings", function()
  it("keeps records under their names, and says how they compare", function()
    local c = nw.timings {slow = around(4e-3), fast = around(1e-3), same = around(4.1e-3), base = "slow"}
    assert.same({"slow", "fast", "same"}, {c[1].label, c[2].label, c[3].label})
    assert.same({"1.00x", "4.00x", "not distinguishable from slow"}, {c[1].verdict, c[2].verdict, c[3].verdict})
    assert.truthy(tostring(c):find "measured separately")
    assert.is_true(near(c[1].min, 4e-3 * 0.92))
    assert.is_true(near(c[1].median, 4e-3))
  end)

  it("accepts results of nw.time, and leaves them unchanged", function()
    local t = support.doubled(8):time {threads = 1, reps = 3}
    local c = nw.timings {t, peer = {min = 1, median = 2}}
    assert.same({"#1", "peer"}, {c[1].label, c[2].label})
    assert.is_nil(t.label)
    assert.equal(t.median, c[1].median)
    assert.truthy(tostring(c):find "spread unknown")
  end)

  it("gives no verdict on a time that other work disturbed, and draws it hatched", function()
    local busy = around(2e-3)
    busy.disturbed = true
    local c = nw.timings {naive = around(4e-3), busy = busy, base = "naive"}
    assert.same({"1.00x", "no verdict: disturbed by other work"}, {c[1].verdict, c[2].verdict})
    assert.truthy(tostring(c[2]):find ", disturbed by other work$")
    local plot = c:plot {style = "bars"}
    assert.truthy(tostring(plot):find("busy (disturbed): median 2 ms", 1, true))
    assert.truthy(tostring(plot):find("other work disturbed the measurement, so there is no verdict", 1, true))
    assert.truthy(plot.script:find "fillstyle pattern 1")
    local first = nw.timings {busy = busy, naive = around(4e-3), base = "busy"}
    assert.same({"no verdict: disturbed by other work", "no verdict: disturbed by other work"},
      {first[1].verdict, first[2].verdict})
    assert.truthy(tostring(c:plot {style = "steps"}):find("busy (disturbed)", 1, true))
  end)

  it("of a sweep have a column for disturbed times, and no best one is marked then", function()
    local n = 0
    local sweep = nw.sweep {params = {n = {1, 2, 4}}, run = function()
      n = n + 1
      local t = around(n * 1e-3)
      t.disturbed = n == 2 or nil
      return nw.timings {t}[1]
    end}
    assert.is_nil(sweep[1].disturbed)
    assert.is_true(sweep[2].disturbed)
    local text = tostring(sweep:plot())
    assert.truthy(text:find("Other work disturbed some measurements, so no point is marked as the best.", 1, true))
    assert.falsy(text:find("best at", 1, true))
  end)

  it("measured in turn are distinguishable if one is faster in nearly all rounds", function()
    local times = require "nestwright.measure.times"
    local slow, fast, mixed, close = {samples = {}}, {samples = {}}, {samples = {}}, {samples = {}}
    for n = 1, 20 do
      local now = 1 + 0.5 * (n % 2) -- the machine is slower in every other round
      slow.samples[n], fast.samples[n], close.samples[n] = now, now / 1.1, now / 1.01
      mixed.samples[n] = now * (n % 5 == 0 and 1.1 or 1 / 1.1)
    end
    local function told(a, b, turns)
      a.turns, b.turns = turns, turns
      return times.distinguishable(a, b)
    end
    assert.is_false(told(slow, fast, nil)) -- measured separately: the middle halves overlap
    assert.is_true(told(slow, fast, {}))
    assert.is_true(told(fast, slow, {}))
    assert.is_false(told(slow, mixed, {})) -- faster in 80 % of the rounds
    assert.is_false(told(slow, close, {})) -- by 1 %
    local disturbed = {samples = {}}
    for n = 1, 40 do slow.samples[n], disturbed.samples[n] = 1, n <= 20 and 1.06 or n % 10 == 0 and 0.99 or 1.02 end
    assert.is_false(told(slow, disturbed, {})) -- by over 3 % only in the first half of the rounds
  end)

  it("keep the order of pairs of a name and a value", function()
    local c = nw.timings {{"tiled", around(1e-3)}, {"naive", around(4e-3)}, {"cut", around(2e-3)}}
    assert.same({"tiled", "naive", "cut"}, {c[1].label, c[2].label, c[3].label})
    assert.equal("1.00x", c[1].verdict)
    local f = support.doubled(8):build {threads = 1}
    local d = nw.compare {{"ours", f}, {"peer", {median = 1, samples = {1, 1}}}, rounds = 2}
    assert.same({"ours", "peer"}, {d[1].label, d[2].label})
  end)

  it("writes infinite times and ratios in a few characters", function()
    local text = tostring(nw.timings({a = {samples = {1e300, 1.1e300}}, b = {samples = {1, 1.1}}}):plot())
    assert.falsy(text:find("%d%d%d%d%d%d%d"))
    assert.truthy(text:find("a: median 1.05e+300 s", 1, true))
    assert.truthy(text:find("1e+300 times as fast as a", 1, true))
    local most = nw.timings {a = {samples = {1.7e308, 1.71e308}}, b = {samples = {1e-300, 1.1e-300}}}
    assert.is_true(near(most[1].median, 1.705e308))
    assert.is_true(#tostring(most) < 400)
    for _, style in ipairs {"bars", "points", "speedup", "steps"} do
      assert.falsy(most:plot({style = style}).script:find("range %[[^]]*inf"))
    end
  end)

  it("keeps the label of the first step off the axis if the next step is slower", function()
    local script = nw.timings({a = around(1), b = around(3)}):plot({style = "steps"}).script
    assert.truthy(script:find "label '1.00x' at first 0, first [%d.]+ center")
  end)

  -- A single number has no known spread, so it is not distinguishable from anything.
  it("does not compare times that are given as a single number", function()
    local c = nw.timings {a = {median = 1}, b = {median = 1.0001}, c = {min = 2}, d = {samples = {3}}, e = around(1)}
    for n = 2, 5 do assert.equal("no verdict: spread unknown", c[n].verdict) end
    for n = 1, 4 do assert.is_nil(c[n].spread) end
    for _, style in ipairs {"bars", "points", "speedup", "steps"} do
      local p = c:plot {style = style}
      local text = tostring(p)
      assert.truthy(text:find("a: median 1 s, spread unknown\n", 1, true))
      assert.truthy(text:find("b: median 1 s, spread unknown; no verdict against a", 1, true))
      assert.truthy(text:find("c: fastest 2 s, spread unknown; no verdict against a", 1, true))
      assert.falsy(text:find "%d times as fast")
      assert.same({"b", 1.0001}, {p.rows[2][1], p.rows[2][3]})
      for _, column in ipairs {2, 4, 5} do assert.is_nil(p.rows[2][column]) end
      assert.equal(style == "speedup" and 0 or 1, #block(p, "halves"))
    end
    local alone = nw.timings {a = {median = 1}}
    assert.truthy(tostring(alone:plot()):find("Spread unknown.", 1, true))
    assert.is_nil(support.doubled(8):time({threads = 1, reps = 1}).spread)
  end)

  it("says which arguments are valid", function()
    fails("there are no times", "invalid", nw.timings, {})
    fails("expected a table", "invalid", nw.timings, 3)
    fails("min, median", "invalid", nw.timings, {a = {}})
    fails("did you mean 'median'", "invalid", nw.timings, {a = {medain = 1}})
    fails("there is no 'b'", "invalid", nw.timings, {a = {min = 1}, base = "b"})
    for _, bad in ipairs {0 / 0, math.huge, -1, 0, "1"} do
      fails("is not a time", "invalid", nw.timings, {a = {min = bad}})
      fails("is not a time", "invalid", nw.timings, {a = {samples = {1, bad}}})
      fails("is not a time", "invalid", nw.timings, {a = {median = bad, samples = {1, 2}}})
    end
    fails("threads: expected a number", "invalid", nw.timings, {a = {min = 1, threads = 0 / 0}})
    fails("spread: expected a number", "invalid", nw.timings, {a = {min = 1, spread = "1"}})
    fails("label: expected a string", "invalid", nw.timings, {a = {min = 1, label = {}}})
    fails("expected a table", "invalid", nw.timings, {a = io.stdout})
  end)
end)

describe("a time", function()
  local t = nw.timings {naive = {median = 2e-3, min = 1e-3}}[1]

  it("is drawn like a comparison of one time", function()
    local p = t:plot {title = "alone"}
    assert.truthy(p.caption:find "naive")
    fails("unknown option", "invalid", t.plot, t, {nonsense = 1})
  end)

  it("gives operations per second if their number is known", function()
    assert.equal(1.0, t:gflops(2e6))
    fails("gflops: flop: expected a number", "invalid", t.gflops, t)
  end)
end)

describe("comparison:plot", function()
  local function picture(style)
    local c = nw.timings {slow = around(4e-3), fast = around(1e-3), same = around(4.1e-3), base = "slow"}
    return c:plot {style = style}, c
  end

  it("draws medians, middle halves and the fastest runs", function()
    for _, style in ipairs {"bars", "points"} do
      local p, c = picture(style)
      assert.equal(3, #p.rows)
      local halves, fastest, marks = block(p, "halves"), block(p, "fastest"), block(p, style)
      assert.equal(3, #marks)
      for n, t in ipairs(c) do
        assert.same({t.label, t.min, t.median}, {table.unpack(p.rows[n], 1, 3)})
        local sorted = {table.unpack(t.samples)}
        table.sort(sorted)
        assert.same({sorted[6], sorted[16]}, {p.rows[n][4], p.rows[n][5]})
        local half = halves[n]
        assert.equal(3 - n, half[2])
        assert.is_true(near(half[1], t.median) and near(half[3], sorted[6]) and near(half[4], sorted[16]))
        assert.is_true(near(fastest[n][1], t.min))
        for _, mark in ipairs(marks) do
          local ends = style == "bars" and mark[3] == 0 and mark[4] or mark[1]
          if mark[2] == 3 - n then assert.is_true(near(ends, t.median)) end
        end
      end
    end
  end)

  it("draws speed-ups over the first time, with the spread of both times", function()
    local p, c = picture "speedup"
    local halves = block(p, "halves")
    assert.is_true(near(halves[2][1], 4))
    assert.is_true(near(halves[2][3], 4 * 0.96 / 1.04) and near(halves[2][4], 4 * 1.04 / 0.96))
    assert.is_true(near(p.rows[3][6], c[1].median / c[3].median))
  end)

  it("hatches bars that are not distinguishable, names them in the caption, and keeps the given order", function()
    local p = picture "bars"
    local hatched = p.script:match "%$(bars%d+) using [%d:]+ with boxxyerror fillstyle pattern"
    local y = p.script:match("%$" .. hatched .. " << EOD\n%S+ (%S+)")
    assert.equal("0", y) -- the third of three rows
    assert.truthy(p.script:find("'not distinguishable'", 1, true))
    assert.truthy(tostring(p):find("Not distinguishable from each other: slow, same.", 1, true))
    local at = {}
    for _, name in ipairs {"slow", "fast", "same"} do at[#at + 1] = p.script:find("label '" .. name .. "'", 1, true) end
    assert.is_true(at[1] < at[2] and at[2] < at[3])
  end)

  -- Overlap is not transitive: a may overlap b, and b may overlap c, while a and c do not overlap. All subsets are tried.
  it("finds the largest sets of times that are not distinguishable", function()
    local list = {}
    for n, half in ipairs {{1, 3}, {2, 5}, {4, 6}, {9, 9}, {4.5, 4.6}, {9, 10}} do list[n] = {lo = half[1], hi = half[2]} end
    local want = {}
    for mask = 1, (1 << #list) - 1 do
      local set, ok = {}, true
      for n = 1, #list do if mask >> (n - 1) & 1 == 1 then set[#set + 1] = n end end
      for _, a in ipairs(set) do for _, b in ipairs(set) do
        ok = ok and not (list[a].hi < list[b].lo or list[b].hi < list[a].lo)
      end end
      if ok and #set > 1 then want[#want + 1] = mask end
    end
    local maximal = {}
    for _, a in ipairs(want) do
      local inside = false
      for _, b in ipairs(want) do inside = inside or a ~= b and a & b == a end
      if not inside then maximal[a] = true end
    end
    local got = {}
    for _, set in ipairs(require "nestwright.plots.times".alike(list)) do
      local mask = 0
      for _, n in ipairs(set) do mask = mask | 1 << (n - 1) end
      got[mask] = true
    end
    assert.same(maximal, got)
  end)

  it("uses a logarithmic axis if times are far apart", function()
    local c = nw.timings {around(1), around(1e-6)}
    assert.truthy(c:plot().script:find "set logscale x 10")
    assert.falsy(c:plot {style = "bars"}.script:find "logscale")
    assert.truthy(c:plot {style = "speedup"}.script:find "logscale")
    assert.falsy(nw.timings {around(1), around(2)}:plot().script:find "logscale")
  end)

  it("names the machine and the spread", function()
    local c = nw.timings {a = around(1), peer = {median = 1, machine = "another", threads = 2}}
    local text = tostring(c:plot())
    assert.truthy(text:find("a machine; peer: another. Measured separately, threads: 1, peer: 2.", 1, true))
    assert.truthy(text:find("at most 8.0 %, for some unknown", 1, true))
    local measured = nw.compare {support.doubled(8):build {threads = 1}, support.doubled(8):build {threads = 1}, rounds = 3}
    assert.truthy(tostring(measured:plot()):find("Measured in turn, 3 rounds, threads: 1", 1, true))
  end)

  it("shows times of other programs beside kernels", function()
    local f = support.doubled(8):build {threads = 1}
    local c = nw.compare {ours = f, peer = {median = 1, samples = {1, 1}}, base = "peer", rounds = 2}
    assert.same({"peer", "ours"}, {c[1].label, c[2].label})
    assert.is_true(c[2].reps >= 1 and c[2].reps <= 2)
    assert.truthy(tostring(c):find "peer .- 1.00x, measured elsewhere\n")
    assert.truthy(tostring(c:plot()):find("Measured elsewhere: peer.", 1, true))
    assert.is_true(c:plot().rows[2][6] > 1)
    fails("at least two kernels", "invalid", nw.compare, {{median = 1}, {median = 2}})
    fails("is not a time", "invalid", nw.compare, {f, {median = 0 / 0}})
  end)

  it("says which arguments are valid", function()
    local c = nw.timings {around(1)}
    fails("style: expected 'bars', 'points', 'speedup' or 'steps', got 'pie'", "invalid", c.plot, c, {style = "pie"})
    fails("did you mean 'style'", "invalid", c.plot, c, {stile = "bars"})
    fails("title", "invalid", c.plot, c, {title = 3})
    local many = {}
    for n = 1, 61 do many[n] = around(n) end
    c = nw.timings(many)
    fails("are too many: at most 60", "limit", c.plot, c)
  end)

  it("is drawn with one row and with many, and executes no text", function()
    if not support.have_gnuplot() then return pending "gnuplot is not installed" end
    local path = support.temporary()
    local hostile = {}
    for _, name in ipairs {"a'b\"c", "`touch %s`", "$(touch %s)", "';system('touch %s');'", "'';system('touch %s')#",
      "@x!touch %s", "%g %s \\n"} do
      hostile[name:gsub("%%s", path)] = around(1)
    end
    local c = nw.timings(hostile)
    for _, style in ipairs {"bars", "points", "speedup", "steps"} do support.picture(c:plot {style = style, title = "`''x'"}) end
    assert.is_nil(io.open(path))
    support.picture(nw.timings {around(1)}:plot())
    support.picture(nw.timings {{min = 1e-9}, {min = 1e9}}:plot())
  end)
end)

describe("s:time_steps", function()
  local function stepped()
    local s = support.gemm(16)
    s:split("i", 4)
    s:vectorize "j"
    return s
  end

  it("measures every version, and leaves the schedule and its redo unchanged", function()
    local s = stepped()
    s:unroll "i_i"
    s:undo()
    local text, version = s:text(), s:version()
    local c = s:time_steps {threads = 1, rounds = 3}
    assert.same({"the naive program", 's:split("i", 4)', 's:vectorize "j"'}, {c[1].label, c[2].label, c[3].label})
    assert.same({0, 1, 2}, {c[1].version, c[2].version, c[3].version})
    for n = 1, 3 do assert.is_true(c[n].reps >= 2 and c[n].reps <= 3) end -- disturbed rounds are left out
    assert.equal(c[1].disturbed and "no verdict: disturbed by other work" or "1.00x", c[1].verdict)
    assert.equal(version, s:version())
    assert.equal(text, s:text())
    s:redo()
    assert.truthy(s:trace():find "unroll")
  end)

  it("measures only the given versions, on the given inputs", function()
    local s = stepped()
    local a, b = nw.zeros {16, 16}, nw.zeros {16, 16}
    local c = s:time_steps(a, b, {versions = {2, 0}, rounds = 2})
    assert.same({2, 0, 2}, {c[1].version, c[2].version, s:version()})
    fails("version 7 is not on the way", "range", s.time_steps, s, {versions = {7}})
    fails("limit: expected seconds", "range", s.time_steps, s, {limit = 0 / 0})
    fails("did you mean 'limit'", "invalid", s.time_steps, s, {limits = 1})
  end)

  it("accepts values of symbolic sizes, and then uses random inputs", function()
    local s = support.row_sums()
    s:split("i", 4)
    local c = s:time_steps {sizes = {M = 8, N = 16}, threads = 1, rounds = 2}
    assert.equal(2, #c)
    for n = 1, 2 do assert.is_true(c[n].median > 0) end
    local err = fails("the size N has no value", "invalid", s.time_steps, s, {threads = 1, sizes = {M = 8}})
    assert.truthy(err.hint:find("sizes = {N = ", 1, true))
  end)

  it("marks steps that were not judged", function()
    local s = support.gemm(8)
    s:unsafe(function() s:parallel "k" end)
    local p = s:time_steps({threads = 1, rounds = 2}):plot()
    assert.truthy(tostring(p):find('s:parallel "k" (unsafe): median', 1, true))
    assert.truthy(p.script:find('parallel "k" (unsafe)', 1, true))
    assert.falsy(tostring(p):find("the naive program (unsafe)", 1, true))
    local sweep = nw.sweep {params = {n = {1, 2}}, run = function() return s:time {threads = 1, reps = 2} end}
    assert.truthy(tostring(sweep:plot()):find("(unsafe)", 1, true))
  end)

  it("says which versions cannot be built, and measures the others", function()
    local s = support.doubled(64)
    s:split("i", 8)
    s:bind("i_o", "blockIdx.x")
    local c = s:time_steps {threads = 1, rounds = 2}
    assert.is_nil(c[2].refused)
    assert.truthy(c[3].refused and c[3].verdict:find "^refused: ")
    local p = c:plot()
    assert.equal(c[3].refused, p.rows[3][10])
    assert.is_nil(p.rows[3][3])
    assert.equal(1, #block(p, "refused"))
    assert.truthy(tostring(p):find("refused: " .. c[3].refused, 1, true))
    assert.equal(2, #block(c:plot {style = "bars"}, "halves"))
  end)

  it("stops runs that take too long", function()
    fails("one run takes more than 1 ms", "limit", function() support.gemm(512):time_steps {threads = 1, limit = 1e-3} end)
    assert.is_true(support.gemm(8):time {threads = 1, reps = 1}.min > 0) -- the session continues
  end)

  it("draws a curve that shows which versions are distinguishable from the version before, and which were not measured", function()
    local times = require "nestwright.measure.times"
    local list = {around(4), around(4.1), {refused = "too slow"}, around(1), around(1.02), around(0.5)}
    for n, t in ipairs(list) do t.label, t.version = ("s:step(%d, '`touch x`', %s)"):format(n, ("long"):rep(20)), n - 1 end
    for n, t in ipairs(list) do if not t.refused then list[n] = times.given("t", {samples = t.samples, label = t.label}) end end
    local p = times.comparison(list, {rounds = 21, style = "steps"}):plot()
    local function places(name)
      local out = {}
      for n, row in ipairs(block(p, name)) do out[n] = row[1] end
      return out
    end
    assert.same({{0, 3, 5}, {1, 4}, {2}}, {places "told", places "same", places "refused"})
    local curve = p.script:match "%$curve%d+ << EOD\n(.-)EOD"
    assert.truthy(curve:find "\n\n") -- a gap where nothing was measured
    for _, word in ipairs {"'8.00x'", "'4.00x'", "'≈ 1x'"} do assert.truthy(p.script:find(word, 1, true), word) end
    assert.equal(list[1].label, p.rows[1][1])
    assert.falsy(p.script:find(("long"):rep(20), 1, true)) -- labels below the axis are shortened
    assert.truthy(tostring(p):find(("long"):rep(20), 1, true)) -- the caption has the whole text
    if support.have_gnuplot() then support.picture(p) end
  end)
end)
