--- Tests pictures of sweeps: curves, bars and heat maps are compared with the points of the sweep. Also tests invalid input.
local nw = require "nestwright"
local errors = require "nestwright.language.errors"
local support = require "support"
local times = require "nestwright.measure.times"
local fails = support.fails

local function refuse() errors.fail("limit", nil, "does not divide") end

-- Returns a time with 21 samples. Their middle half is from 0.96 to 1.04 of the median.
local function around(median)
  local samples = {}
  for n = 1, 21 do samples[n] = median * (1 + 0.08 * (n - 11) / 10) end
  return times.given("t", {samples = samples, threads = 1, machine = "a machine"})
end

-- Returns a sweep with made-up times. The tiles 8 and 16 are best and not distinguishable. The tile 4 is refused with two threads.
-- The tile 2 takes NaN with one thread.
local TIME = {[1] = 9, [2] = 5, [4] = 3, [8] = 1, [16] = 1.02}
local function two(more)
  return nw.sweep {params = {tile = {1, 2, 4, 8, 16}, threads = {1, 2}}, run = function(p)
    if p.tile == 4 and p.threads == 2 then refuse() end
    if p.tile == 2 and p.threads == 1 then return {median = 0 / 0} end
    if more then more(p) end
    return around(TIME[p.tile] * 1e-3 / p.threads)
  end}
end

local function block(p, name)
  local out = {}
  for text in p.script:gmatch("%$" .. name .. "%d+ << EOD\n(.-)EOD\n") do
    out[#out + 1] = {text = text}
    for line in text:gmatch "[^\n]+" do
      local row = {}
      for cell in line:gmatch "%S+" do row[#row + 1] = tonumber(cell) end
      table.insert(out[#out], row)
    end
  end
  return out
end

local function near(a, b) return math.abs(a - b) <= 1e-6 * math.abs(b) end

describe("sweep:plot", function()
  it("draws a curve for each value of a parameter, with middle halves, gaps and refused points", function()
    local p = two():plot {x = "tile", by = "threads"}
    local curves, bands, refused = block(p, "curve"), block(p, "band"), block(p, "refused")
    assert.equal(2, #curves)
    for k, threads in ipairs {1, 2} do
      local n = 0
      for _, tile in ipairs {1, 2, 4, 8, 16} do
        if not (tile == 2 and threads == 1 or tile == 4 and threads == 2) then
          n = n + 1
          local median = TIME[tile] * 1e-3 / threads
          assert.is_true(curves[k][n][1] == tile and near(curves[k][n][2], median))
          assert.is_true(near(bands[k][n][2], 0.96 * median) and near(bands[k][n][3], 1.04 * median))
        end
      end
      assert.equal(4, n)
      assert.equal(4, #curves[k])
      assert.truthy(curves[k].text:find "\n\n") -- a gap, not a zero
    end
    assert.equal(4, refused[1][1][1])
    assert.truthy(p.script:find "set logscale x 2")
    assert.truthy(p.script:find("'threads = 1'", 1, true))
  end)

  it("marks the best point and all points that are not distinguishable from it, and says so", function()
    local p = two():plot {x = "tile", by = "threads"}
    local note = {}
    for _, row in ipairs(p.rows) do note[row[2] .. " " .. row[1]] = row[6] end
    assert.same({["threads = 1 8"] = "best", ["threads = 2 8"] = "best", ["threads = 1 16"] = "not distinguishable from the best",
      ["threads = 2 16"] = "not distinguishable from the best", ["threads = 2 4"] = "refused: does not divide",
      ["threads = 1 2"] = "not drawn: not a number"}, note)
    local text = tostring(p)
    assert.truthy(text:find("best at tile = 8: 1 ms; not distinguishable from it: 16", 1, true))
    assert.truthy(text:find("refused: tile = 4 (does not divide)", 1, true))
    assert.truthy(text:find("a machine, threads: 1", 1, true))
    assert.truthy(text:find("at most 8.0 %", 1, true))
    assert.falsy(tostring(two():plot {x = "tile", best = false}):find "best at")
  end)

  it("compares several columns at each x", function()
    local s = nw.sweep {params = {n = {64, 100}}, run = function(p)
      return {naive = around(p.n), tiled = around(p.n / 4), packed = around(p.n / (p.n == 64 and 4.1 or 8))}
    end}
    assert.same({"64", "64.0"}, {tostring(s[1].n), tostring(s[1].naive_median)})
    assert.is_true(near(s[1].naive_q1, 0.96 * 64) and near(s[1].naive_q3, 1.04 * 64))
    local p = s:plot {y = {"naive", "tiled", "packed"}}
    local text = tostring(p)
    assert.truthy(text:find("at n = 64: best packed (median), 15.6 s; not distinguishable from it: tiled (median)", 1, true))
    assert.truthy(text:find("at n = 100: best packed (median), 12.5 s\n", 1, true))
    assert.falsy(p.script:find "set logscale x")
    assert.equal(3, #block(p, "curve"))
    assert.falsy(tostring(s):find "_q1") -- the table omits the columns that only plots use
  end)

  it("names the statistic in the caption, the axis and the columns", function()
    local p = two():plot {x = "tile", by = "threads"}
    assert.truthy(tostring(p):find("Times are medians.", 1, true))
    assert.truthy(p.script:find("set ylabel 'time, median'", 1, true))
    assert.equal("time, median", p.columns[3])
    local s = nw.sweep {params = {n = {64, 100}}, run = function(o) return {naive = around(o.n), count = o.n} end}
    for _, y in ipairs {"naive", "naive_median"} do
      local q = s:plot {x = "n", y = y}
      assert.equal("naive (median)", q.columns[3])
      assert.truthy(tostring(q):find("naive (median): 2 points", 1, true))
      assert.truthy(q.script:find("set ylabel 'naive (median)'", 1, true))
    end
    assert.falsy(tostring(s:plot {x = "n", y = "count"}):find "median")
    local map = nw.sweep({params = {n = {1, 2}, m = {1, 2}}, run = function(o) return around(o.n * o.m) end}):plot {style = "heat"}
    assert.truthy(map.script:find("set cblabel 'time, median, s'", 1, true))
    assert.equal("time, median", map.columns[3])
  end)

  it("does not call numbers measured that the function computed", function()
    local p = nw.sweep({params = {M = {1, 2}}, run = function(q) return {speedup = 2 / q.M} end}):plot {y = "speedup"}
    assert.truthy(p.caption:find("Numbers that the function of the sweep returned, not times that were measured", 1, true))
    assert.is_nil(p.caption:find("Unknown machine", 1, true))
  end)

  it("does not compare predictions with measurements to find the best", function()
    local s = nw.sweep {params = {n = {64, 100}}, run = function(p)
      return {predicted = p.n / 10, naive = around(p.n), tiled = around(p.n / 4)}
    end}
    local text = tostring(s:plot {y = {"predicted", "naive", "tiled"}, unit = "s"})
    assert.truthy(text:find("at n = 64: best tiled (median), 16 s\n", 1, true))
    for _, best in ipairs {"min", "max"} do
      local one = s:plot {y = {"predicted", "naive"}, unit = "s", best = best}
      assert.falsy(tostring(one):find "best")
      for _, row in ipairs(one.rows) do assert.is_nil(row[6]) end
    end
    assert.falsy(tostring(s:plot {y = "predicted", unit = "s"}):find "best") -- a number may be a prediction
    assert.truthy(tostring(s:plot {y = "predicted", unit = "s", best = "min"}):find("best at n = 64", 1, true))
  end)

  it("uses a logarithmic axis only for values that are far apart", function()
    local function axis(values)
      local p = nw.sweep({params = {n = values}, run = function(o) return {a = o.n} end}):plot {x = "n", y = "a"}
      return p.script:find("set logscale x", 1, true) ~= nil, p.script:match "set xtics (%b())"
    end
    local log, tics = axis {1, 10, 100, 1000}
    assert.is_true(log)
    assert.equal("('1' 1, '10' 10, '100' 100, '1000' 1000)", tics)
    for _, values in ipairs {{100, 200, 300, 400}, {1, 2, 3, 5, 10}, {-1, 10, 100, 1000}, {0, 10, 1000}, {7}} do
      assert.is_false((axis(values)))
    end
  end)

  it("names points that are not drawn because they are not finite", function()
    local odd = {0 / 0, 1 / 0, -1 / 0, 4}
    local s = nw.sweep {params = {n = {1, 2, 3, 4}, m = {1, 2}}, run = function(p) return {a = odd[p.n], b = p.m * p.n} end}
    local p = s:plot {x = "n", y = {"a", "b"}, where = {m = 1}}
    assert.truthy(tostring(p):find("not drawn: n = 1 (not a number), n = 2 (infinite), n = 3 (minus infinite)", 1, true))
    assert.same({1, "a"}, {p.rows[1][1], p.rows[1][2]})
    assert.equal("not drawn: not a number", p.rows[1][6])
    assert.truthy(p.script:find("set ylabel 'a, b'", 1, true))
    local heat = tostring(s:plot {style = "heat", x = "n", y = "m", value = "a"})
    assert.truthy(heat:find("(2, 1) is infinite", 1, true))
  end)

  it("draws groups of bars from zero", function()
    local p = two():plot {x = "tile", style = "bars"}
    local bars = block(p, "bars")
    assert.equal(2, #bars)
    assert.equal(4, #bars[1])
    for _, bar in ipairs(bars[1]) do assert.equal(0, bar[5]) end
    assert.is_true(near(bars[1][1][6], 9e-3))
    local s = nw.sweep {params = {what = {"b", "a"}}, run = function(q) return {gflops = q.what == "b" and 3 or -2} end}
    p = s:plot {unit = "Gflop/s", best = "max"} -- texts give no axis of numbers, so bars are the default
    assert.same({{1, 1.5, 0.64, 1.36, 0, 3}, {2, -1, 1.64, 2.36, -2, 0}}, {block(p, "bars")[1][1], block(p, "bars")[1][2]})
    assert.truthy(tostring(p):find("best at what = b: 3 Gflop/s", 1, true))
  end)

  it("draws a heat map: a cell for each point, the best ones framed, refused ones hatched", function()
    local p = two():plot {x = "tile", y = "threads", value = "median", style = "heat"}
    local cells = block(p, "cells")[1]
    assert.equal(8, #cells)
    local column = {[1] = 1, [2] = 2, [4] = 3, [8] = 4, [16] = 5}
    local want = {}
    for tile, at in pairs(column) do
      for threads = 1, 2 do want[at .. " " .. threads] = TIME[tile] * 1e-3 / threads end
    end
    for _, cell in ipairs(cells) do assert.is_true(near(cell[7], want[("%d %d"):format(cell[1], cell[2])])) end
    assert.truthy(p.script:find "from 3.54,1.56 to 4.46,2.44 front fillstyle empty border lc rgb '#%x+' lw 4\n")
    assert.truthy(p.script:find "from 4.54,1.56 to 5.46,2.44 front fillstyle empty border lc rgb '#%x+' lw 1.2\n")
    assert.truthy(p.script:find "from 2.5,1.5 to 3.5,2.5 back .- pattern")
    assert.truthy(p.script:find("set label '500' at 4, 2", 1, true)) -- in us
    assert.truthy(p.script:find("thick frame: the best   thin frame: not distinguishable from it   hatched: refused", 1, true))
    assert.truthy(tostring(p):find("best at tile = 8, threads = 2: 500 us; not distinguishable from it: (16, 2); 1 refused", 1,
      true))
    local small = nw.sweep {params = {a = {1, 2}, b = {1, 2}}, run = function(q) return {v = q.a * q.b} end}
    table.remove(small, 2)
    assert.truthy(small:plot {style = "heat"}.script:find("blank: not measured", 1, true))
    assert.falsy(small:plot {style = "heat"}.script:find "frame")
  end)

  it("is drawn again from its file", function()
    local csv = support.temporary ".csv"
    local function run() return nw.sweep {params = {n = {1, 2}}, csv = csv, run = function(p) return around(p.n) end} end
    local p = run():plot()
    local q = run():plot()
    os.remove(csv)
    assert.equal(#p.rows, #q.rows)
    for n, row in ipairs(p.rows) do assert.is_true(near(row[4], q.rows[n][4]) and row[6] == q.rows[n][6]) end
    assert.truthy(tostring(q):find "a machine")
  end)

  it("says which arguments are valid", function()
    local s = two()
    local function bad(pattern, o, of) fails(pattern, of and "limit" or "invalid", (of or s).plot, of or s, o) end
    bad("did you mean 'tile'", {x = "tiles"})
    bad("no parameter 'q'", {by = "q"})
    bad("did you mean 'median'", {y = "medain"})
    bad("style: expected 'lines', 'bars' or 'heat', got 'pie'", {style = "pie"})
    bad("log: expected", {log = "z"})
    bad("options.best: expected", {best = "most"})
    bad("bars start at zero", {x = "tile", style = "bars", log = "y"})
    bad("no logarithmic axes", {style = "heat", log = "x"})
    bad("no curves", {style = "heat", by = "threads"})
    bad("value applies to heat maps", {x = "tile", style = "lines", value = "median"})
    bad("did you mean 'style'", {stile = "bars"})
    bad("no point has these values", {where = {threads = 3}})
    bad("no parameter 'm'", {where = {m = 3}})
    bad("two parameters", {style = "heat", where = {threads = 1}})
    bad("several columns cannot be combined with by", {x = "tile", y = {"median", "spread"}, by = "threads"})
    bad("plot: y: expected at least one column", {x = "tile", by = "threads", y = {}})
    local three = nw.sweep {params = {a = {1, 2}, b = {1, 2}, c = {"x", "y"}}, run = function() return {v = 1, w = 2} end}
    fails("several values of c", "invalid", three.plot, three, {x = "a", by = "b", y = "v"})
    fails("y: name a column", "invalid", three.plot, three, {x = "a", by = "b", where = {c = "x"}})
    assert.truthy(three:plot {x = "a", by = "b", where = {c = "x"}, y = "v"})
    fails("the values of c are not numbers", "invalid", three.plot, three,
      {x = "c", by = "b", where = {a = 1}, y = "v", style = "lines"})
    local none = nw.sweep {params = {a = {1, 2}}, run = refuse}
    fails("nothing was measured: does not divide", "invalid", none.plot, none)
    local flags = nw.sweep {params = {a = {1, 2}}, run = function() return {ok = true} end}
    fails("no column of numbers", "invalid", flags.plot, flags)
    local words = nw.sweep {params = {a = {1, 2}}, run = function() return {v = "x"} end}
    fails("the values of column v are not numbers", "invalid", words.plot, words, {y = "v"})
    local odd = nw.sweep {params = {a = {1, 2}}, run = function() return {v = 0 / 0} end}
    fails("nothing was measured", "invalid", odd.plot, odd)
    local negative = nw.sweep {params = {a = {-1, 2}}, run = function(p) return {v = p.a} end}
    fails("not above 0", "invalid", negative.plot, negative, {log = "x"})
    fails("not above 0", "invalid", negative.plot, negative, {log = "y"})
    local empty = nw.sweep {params = {a = {}}, run = refuse}
    fails("no points", "invalid", empty.plot, empty)
    local many, cells = {}, {}
    for n = 1, 13 do many[n] = n end
    for n = 1, 101 do cells[n] = n end
    local wide = nw.sweep {params = {a = many, b = {1, 2}}, run = function() return {v = 1} end}
    fails("are too many: at most 12", "limit", wide.plot, wide, {x = "b", by = "a"})
    local huge = nw.sweep {params = {a = cells, b = cells}, run = function() return {v = 1} end}
    fails("are too many: at most 10000", "limit", huge.plot, huge, {style = "heat"})
  end)

  it("is drawn in every style, and executes no text", function()
    if not support.have_gnuplot() then return pending "gnuplot is not installed" end
    local s = two()
    for _, o in ipairs {{x = "tile"}, {x = "tile", style = "bars"}, {style = "heat"}, {where = {threads = 2}}, {x = "threads"}} do
      support.picture(s:plot(o))
    end
    local path, names = support.temporary(), {}
    for n, name in ipairs {"a'b\"c", "`touch %s`", "$(touch %s)", "'';system('touch %s')#", "@x\n!touch %s", "%g", "\255"} do
      names[n] = (name:gsub("%%s", path))
    end
    local hostile = nw.sweep {params = {["`x';'"] = names, ["$y"] = names}, run = function() return {["@v'"] = math.random()} end}
    support.picture(hostile:plot {style = "heat", unit = "'`u`"})
    support.picture(hostile:front {x = "@v'", y = "@v'", title = "`touch " .. path .. "`"})
    support.picture(hostile:plot {title = "`t'", unit = "'`touch " .. path .. "` %g %s"})
    assert.is_nil(io.open(path))
    local one = nw.sweep {params = {a = {1}}, run = function() return around(1) end}
    support.picture(one:plot())
  end)
end)

describe("the front of a sweep", function()
  local COST = {[1] = {8, 1}, [2] = {4, 2}, [4] = {3, 5}, [8] = {3, 5}, [16] = {9, 9}} -- by tile: cycles and joules
  local function trade(more)
    return nw.sweep {params = {tile = {1, 2, 4, 8, 16, 32}, scale = {1, 2}}, run = function(p)
      if p.tile == 32 then refuse() end
      return {cycles = COST[p.tile][1] * p.scale, joules = COST[p.tile][2] * p.scale ^ (more or 1)}
    end}
  end

  it("has the points for which no other is better in both columns", function()
    local p = trade():front {x = "cycles", y = "joules"}
    assert.same({"scale", "tile", "cycles", "joules", "front"}, p.columns)
    assert.equal(10, #p.rows)
    local on = {}
    for _, row in ipairs(p.rows) do if row[5] then on[row[5]] = {row[2], row[1]} end end
    assert.same({{4, 1}, {2, 1}, {1, 1}}, on) -- the tile 8 is equal to the tile 4, which is first
    assert.truthy(p.caption:find("10 points, 3 on the Pareto front, 2 more points without both numbers", 1, true), p.caption)
    assert.truthy(p.caption:find("1: scale 1, tile 4: cycles 3, joules 5\n2: scale 1, tile 2: ", 1, true), p.caption)
  end)

  it("may mark the values of a parameter, and leave out others", function()
    local p = trade(0):front {x = "cycles", y = "joules", by = "scale", where = {tile = 1}}
    assert.truthy(p.script:find("'scale = 2'", 1, true))
    assert.equal(2, #p.rows)
    assert.truthy(p.caption:find("1: scale 1: cycles 8, joules 1", 1, true), p.caption)
    local timed = two():front {x = "median", y = "median"}
    assert.truthy(timed.caption:find("Times are medians", 1, true), timed.caption)
    if support.have_gnuplot() then support.picture(p) end
  end)

  it("needs columns of numbers", function()
    local s = trade()
    fails("front: the sweep has no column 'cycle'", "invalid", s.front, s, {x = "cycle", y = "joules"})
    fails("front: by: the sweep has no parameter 'cycles'", "invalid", s.front, s, {x = "cycles", y = "joules", by = "cycles"})
    fails("front: options.y: expected a string, got nil", nil, s.front, s, {x = "cycles"})
    fails("front: where: no point has these values", "invalid", s.front, s, {x = "cycles", y = "joules", where = {tile = 3}})
    local refused = nw.sweep {params = {a = {1}}, run = refuse}
    fails("front: ", "invalid", refused.front, refused, {x = "v", y = "v"})
  end)
end)
