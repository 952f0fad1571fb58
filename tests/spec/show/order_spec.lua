--- Tests pictures of iteration spaces. Their data is compared with loop nests written by hand and with the interpreter's accesses.
local nw = require "nestwright"
local support = require "support"
local fails = support.fails

-- Returns the rows of a plot as tables by column.
local function records(p)
  local out = {}
  for n, row in ipairs(p.rows) do
    out[n] = {}
    for k, name in ipairs(p.columns) do out[n][name] = row[k] end
  end
  return out
end

local function places(p, ...)
  local out = {}
  for n, r in ipairs(records(p)) do
    out[n] = {}
    for k, axis in ipairs {...} do out[n][k] = r[axis] end
  end
  return out
end

-- Returns the lines of all data blocks of one kind in the plot's script.
local function block_lines(p, kind)
  local out = {}
  for block in p.script:gmatch("%$" .. kind .. "%d+ << EOD\n(.-)EOD\n") do
    for line in block:gmatch "[^\n]+" do out[#out + 1] = line end
  end
  return out
end

-- Returns the linear indices of the elements of a tensor, in the order in which the interpreter writes them.
local function written(s, tensor, arguments)
  local out, list = {}, nw.accesses(s, {arguments = arguments})
  for n = 1, #list do
    local at = list:at(n)
    if at.write and at.tensor == tensor then
      for lane = 0, at.lanes - 1 do out[#out + 1] = at.index + lane end
    end
  end
  return out
end

local function random_inputs(s)
  local data = {}
  for n, t in ipairs(s:inputs()) do data[n] = nw.random(t:shape(), t.dtype, {seed = n, lo = 1, hi = 3}) end
  return data
end

-- Makes Y = 2A, m x n. Each element is written once, so the writes of the interpreter give the order.
local function doubled(m, n)
  local A = nw.placeholder({m, n}, "f32", "A")
  return nw.schedule(nw.compute({m, n}, function(i, j) return A(i, j) * 2 end, "Y"))
end

local function agrees_with_interpreter(s, n)
  local got, want = {}, written(s, "Y", random_inputs(s))
  for k, at in ipairs(places(nw.order(s), "i", "j")) do got[k] = at[1] * n + at[2] end
  assert.same(want, got)
end

describe("nw.order", function()
  it("shows the order of a nest written by hand", function()
    local s = support.gemm(17, 12, 3)
    s:tile("i", "j", 4, 5)
    local want = {}
    for io = 0, 4 do
      for jo = 0, 2 do
        for i = 4 * io, math.min(4 * io + 3, 16) do
          for j = 5 * jo, math.min(5 * jo + 4, 11) do want[#want + 1] = {i, j} end
        end
      end
    end
    local p = nw.order(s)
    assert.same(want, places(p, "i", "j"))
    for n, r in ipairs(records(p)) do
      assert.equal(n, r.order)
      assert.equal(n, r.time)
      assert.equal(0, r.k)
      assert.equal(("i_o = %d, j_o = %d, i_i = %d, j_i = %d, k = 0"):format(r.i // 4, r.j // 5, r.i % 4, r.j % 5), r.loops)
    end
    assert.truthy(tostring(p):find "204 instances visited once each. 15 tiles are outlined.")
  end)

  it("shows the order in which the interpreter writes", function()
    local s = doubled(11, 9)
    agrees_with_interpreter(s, 9)
    s:reorder("j", "i")
    agrees_with_interpreter(s, 9)
    s:split("i", 4)
    agrees_with_interpreter(s, 9)
    s = doubled(11, 9)
    s:fuse("i", "j")
    s:split(s:loops()[1], 7)
    agrees_with_interpreter(s, 9)
    s = doubled(11, 9)
    s:skew("j", "i", 2)
    agrees_with_interpreter(s, 9)
    s = doubled(12, 9)
    s:split("i", 4)
    s:reorder("j", "i_o", "i_i")
    s:unroll("i_i")
    agrees_with_interpreter(s, 9)
    s = doubled(11, 8)
    s:vectorize("j")
    agrees_with_interpreter(s, 8)
  end)

  it("shows the order in which the interpreter writes, after any steps", function()
    local seed, taken = 1, {}
    local function draw(n)
      seed = (seed * 1103515245 + 12345) % (1 << 31)
      return (seed >> 16) % n + 1
    end
    local function loop(s)
      local loops = s:loops "Y"
      return loops[draw(#loops)]
    end
    local steps = {
      function(s) s:split(loop(s), draw(6)) end,
      function(s) s:split(loop(s), draw(6), {tail = "cut"}) end,
      function(s) s:split(loop(s), draw(4), {tail = "shift"}) end,
      function(s) s:reorder(loop(s), loop(s)) end,
      function(s) s:fuse(loop(s), loop(s)) end,
      function(s) s:skew(loop(s), loop(s), draw(3)) end,
      function(s) s:cut(loop(s), draw(5)) end,
      function(s) s:unroll(loop(s)) end,
      function(s) s:vectorize(loop(s)) end,
      function(s) s:parallel(loop(s)) end,
    }
    for _ = 1, 60 do
      local m, n = draw(12), draw(12)
      local s = doubled(m, n)
      for _ = 1, 5 do
        local k = draw(#steps)
        if pcall(steps[k], s) then taken[k] = (taken[k] or 0) + 1 end
      end
      agrees_with_interpreter(s, n)
    end
    for k in ipairs(steps) do assert.is_true((taken[k] or 0) > 3, "step " .. k .. " was hardly ever legal") end
  end)

  it("draws its rows", function()
    local s = doubled(3, 4)
    s:reorder("j", "i")
    local p, cells, times = nw.order(s), {}, {}
    for n, at in ipairs(places(p, "i", "j")) do
      cells[n] = ("%d %d"):format(at[2], at[1])
      times[n] = ('%d %d "%d"'):format(at[2], at[1], n)
    end
    assert.same(cells, block_lines(p, "visits"))
    assert.same(times, block_lines(p, "times"))
    for n, line in ipairs(block_lines(p, "cells")) do assert.equal(cells[n], line:match "^%d+ %d+") end
    local steps, jumps = block_lines(p, "steps"), block_lines(p, "jumps")
    assert.equal(4 * 2, #steps) -- the path goes down each column
    assert.equal(3, #jumps)
    assert.equal("0 0 0 1", steps[1])
    assert.equal("0 2 1 -2", jumps[1])
  end)

  it("says what it cannot show", function()
    local s = support.gemm(4, 4, 4)
    fails("expected a schedule", "invalid", nw.order, 1)
    fails("unknown option", "invalid", nw.order, s, {axis = 1})
    fails("there is no stage Z", "invalid", nw.order, s, {stage = "Z"})
    fails("C has no axis x", "invalid", nw.order, s, {axes = {"x"}})
    fails("one or two", "invalid", nw.order, s, {axes = {}})
    fails("one or two", "invalid", nw.order, s, {axes = {"i", "j", "k"}})
    fails("named twice", "invalid", nw.order, s, {axes = {"i", "i"}})
    fails("k = 4 is not in 0..4", "range", nw.order, s, {at = {k = 4}})
    fails("expected a whole number", "invalid", nw.order, s, {at = {k = 0 / 0}})
    fails("expected a whole number", "invalid", nw.order, s, {to = {i = math.huge}})
    fails("this axis is shown", "invalid", nw.order, s, {at = {i = 0}})
    fails("i in 2..1 is empty", "range", nw.order, s, {from = {i = 2}, to = {i = 1}})
    fails("i in 2..2 is empty", "range", nw.order, s, {from = {i = 2}, to = {i = 2}})
    fails("to.i = 0 is not in 1..", "range", nw.order, s, {to = {i = 0}})
    fails("expected a string", "invalid", nw.order, s, {title = 1})
    local big = support.gemm(128, 64, 4)
    fails("i has 128 values; at most 64 are drawn.*from = {i = 0}, to = {i = 64}", "limit", nw.order, big)
    local part = nw.order(big, {from = {i = 32}, to = {i = 96}})
    assert.equal(64 * 64, #part.rows)
    assert.truthy(part.caption:find("C, i in 32..96 of 0..128, j in 0..64 at k = 0: ", 1, true))
    assert.equal(64 * 64, #nw.order(big, {from = {i = 64}, to = {i = 128}}).rows)
    assert.equal(8 * 64, #nw.order(big, {from = {i = 120}}).rows)
    local M = nw.size("M", {min = 0})
    local X = nw.placeholder({M, 4}, "f32", "X")
    local t = nw.schedule(nw.compute({M, 4}, function(i, j) return X(i, j) + 1 end, "Y"))
    fails("the size M has no value", "invalid", nw.order, t)
    fails("the axis i is empty", "invalid", nw.order, t, {sizes = {M = 0}})
    fails("M = %-1 is too small: it must be at least 0", "range", nw.order, t, {sizes = {M = -1}})
    assert.equal(4, #nw.order(t, {sizes = {M = 1}}).rows)
  end)
end)

-- Returns the cells of each piece, as a set of "i j".
local function pieces_of(p)
  local out = {}
  for _, r in ipairs(records(p)) do
    out[r.piece] = out[r.piece] or {}
    out[r.piece][r.i .. " " .. r.j] = true
  end
  return out
end

-- Groups the instances (i, j) of an m x n space by the name that name(i, j) returns. Returns a set of "i j" for each name.
local function named(m, n, name)
  local out = {}
  for i = 0, m - 1 do
    for j = 0, n - 1 do
      local piece = name(i, j)
      out[piece] = out[piece] or {}
      out[piece][i .. " " .. j] = true
    end
  end
  return out
end

local function triangle(n)
  local A = nw.placeholder({n, n}, "f32", "A")
  local s = nw.schedule(nw.compute({n, n}, function(i, j) return nw.select(nw.le(j, i), A(i, j), 0) end, "Y"))
  s:partition "j"
  return s
end

-- Makes a convolution of an h x w image with a 3 x 3 filter, padded with zeros.
local function padded(h, w)
  local I, F = nw.placeholder({h, w}, "f32", "I"), nw.placeholder({3, 3}, "f32", "F")
  local r, q = nw.reduce_axis(3, "r"), nw.reduce_axis(3, "q")
  local function inside(y, x) return nw.all(nw.ge(y, 0), nw.lt(y, h), nw.ge(x, 0), nw.lt(x, w)) end
  local function padding(y, x) return nw.select(inside(y, x), I(y, x), 0) end
  return nw.schedule(nw.compute({h, w}, function(i, j) return nw.sum(padding(i + r - 1, j + q - 1) * F(r, q), {r, q}) end, "Y"))
end

describe("nw.pieces", function()
  it("names the two halves of a triangle", function()
    local p = nw.pieces(triangle(9))
    assert.same(named(9, 9, function(i, j) return j <= i and "j.main" or "j.post" end), pieces_of(p))
    assert.truthy(tostring(p):find "j.main 45 instances, j.post 36 instances")
  end)

  it("names the border of a padded convolution", function()
    local s = padded(8, 12)
    s:partition "i"
    s:partition "i.main/j"
    local p = nw.pieces(s)
    assert.same(named(8, 12, function(i, j)
      if i == 0 then return "i.pre" elseif i == 7 then return "i.post" end
      return j == 0 and "i.main/j.pre" or j == 11 and "i.main/j.post" or "i.main/j.main"
    end), pieces_of(p))
    for name in pairs(pieces_of(p)) do assert.truthy(p.script:find("'" .. name .. "'", 1, true), name) end
  end)

  it("has corners if both axes have a tail", function()
    local s = support.gemm(17, 17, 4)
    s:split("i", 4, {tail = "cut"})
    s:split("j", 4, {tail = "cut"})
    s:split("i.tail/j", 4, {tail = "cut"})
    local p = nw.pieces(s)
    assert.same(named(17, 17, function(i, j)
      if i < 16 then return j < 16 and "i_o" or "j.tail" end
      return j < 16 and "i.tail" or "i.tail/j.tail"
    end), pieces_of(p))
    assert.equal(33, #block_lines(p, "hatched")) -- all but the largest piece
    assert.truthy(tostring(p):find "24 tiles outlined") -- 4 x 4 tiles, and 4 along each tail
    if support.have_gnuplot() then support.picture(p) end
  end)

  it("shows the main piece of a partition without hatching, even if it is small", function()
    local A = nw.placeholder({3, 20}, "f32", "A")
    local s = nw.schedule(nw.compute({3, 20}, function(i, j) return nw.select(nw.lt(j, 15), 0, A(i, j)) end, "Y"))
    s:partition("j", {at = {2, 5}})
    local p = nw.pieces(s)
    assert.truthy(tostring(p):find("j.main 9 instances, j.post 45 instances, j.pre 6 instances", 1, true), tostring(p))
    assert.equal(51, #block_lines(p, "hatched"))
  end)

  it("distinguishes pieces that were split", function()
    local A, B = nw.placeholder({10, 17}, "f32", "A"), nw.placeholder({10, 23}, "f32", "B")
    local s = nw.schedule(nw.compute({10, 40}, function(i, j)
      return nw.select(nw.lt(j, 17), A(i, j), B(i, j - 17))
    end, "Y"))
    local _, main, post = s:partition "j"
    local before = pieces_of(nw.pieces(s))
    s:split(main, 8, {tail = "predicate"})
    s:split(post, 8, {tail = "predicate"})
    assert.same(before, pieces_of(nw.pieces(s)))
    local t = doubled(6, 30)
    for n, piece in ipairs {t:cut("j", {10, 20})} do t:split(piece, 5 - n) end
    local p = nw.pieces(t)
    assert.same(named(6, 30, function(_, j) return "j." .. j // 10 + 1 end), pieces_of(p))
  end)

  it("draws pieces with one name in one colour, whatever their sizes", function()
    local function colours(points)
      local s, out = doubled(3, 20), {}
      s:partition("j", {at = points})
      local p = nw.pieces(s)
      local fills = {}
      for _, line in ipairs(block_lines(p, "cells")) do
        local x, y, colour = line:match "^(%S+) (%S+) (%S+)"
        fills[("%d %d"):format(y, x)] = colour
      end
      for name, cells in pairs(pieces_of(p)) do out[name] = fills[next(cells)] end
      return out
    end
    local one = colours {2, 15}
    assert.same(one, colours {9, 12})
    assert.truthy(one["j.main"] and one["j.pre"] and one["j.post"] and one["j.main"] ~= one["j.pre"])
    for _, colour in pairs(one) do assert.is_true(tonumber(colour) < 0xF9FFFF) end
  end)

  it("marks and names instances that run more than once", function()
    local s = support.doubled(17)
    s:split("i", 4, {tail = "shift"})
    local p = nw.pieces(s)
    assert.truthy(tostring(p):find("5 tiles outlined, and some overlap. Darker: 3 run more than once.", 1, true), tostring(p))
    assert.equal(17 + 3, #block_lines(p, "cells"))
    assert.is_nil(tostring(nw.pieces(support.doubled(17))):find("Darker", 1, true))
    s = support.doubled(17)
    s:split("i", 4)
    assert.is_nil(tostring(nw.pieces(s)):find("overlap", 1, true))
  end)

  it("has the requested size", function()
    local s = doubled(20, 20)
    local wide, narrow = nw.pieces(s), nw.pieces(s, {width = 200})
    assert.is_true(narrow.size[1] < wide.size[1] and narrow.size[2] < wide.size[2])
    fails("is not in 50..2000", "range", nw.pieces, s, {width = 3})
    fails("unknown option", "invalid", nw.order, s, {width = 300})
  end)

  it("outlines tiles along their edges", function()
    local s = doubled(4, 6)
    s:tile("i", "j", 2, 3)
    local lines = block_lines(nw.pieces(s), "tiles")
    table.sort(lines)
    -- The 4 x 6 cells are outlined by vertical lines at -0.5, 2.5 and 5.5, and by horizontal lines at -0.5, 1.5 and 3.5.
    assert.same({"-0.5 -0.5 0 4", "-0.5 -0.5 6 0", "-0.5 1.5 6 0", "-0.5 3.5 6 0", "2.5 -0.5 0 4", "5.5 -0.5 0 4"}, lines)
  end)

  it("outlines the short tile at the end", function()
    local s = support.doubled(17)
    s:split("i", 4)
    local p, upright = nw.pieces(s), {}
    for _, line in ipairs(block_lines(p, "tiles")) do
      if line:find " 0 1$" then upright[#upright + 1] = tonumber(line:match "^%S+") end
    end
    assert.same({-0.5, 3.5, 7.5, 11.5, 15.5, 16.5}, upright)
    assert.truthy(tostring(p):find "5 tiles outlined")
  end)

  it("outlines the staircase of a triangle", function()
    local unit = 0 -- the total length of the borders
    for _, line in ipairs(block_lines(nw.pieces(triangle(5)), "borders")) do
      local wide, high = line:match " (%S+) (%S+)$"
      unit = unit + wide + high
    end
    assert.equal(4 * 5 + 4 + 4, unit) -- 4 * 5 around the square, and 4 + 4 for the staircase between the halves
  end)

  it("shows one piece if nothing was cut", function()
    fails("unknown option", "invalid", nw.pieces, triangle(4), {colour = "red"})
    assert.same({Y = named(2, 2, function() return "Y" end).Y}, pieces_of(nw.pieces(doubled(2, 2))))
  end)
end)

describe("cells visited more than once", function()
  -- Plots the stage X. For each row of the stage that reads X, `reach` rows of X are computed.
  local function again(rows, width, reach)
    local I = nw.placeholder({rows, width}, "f32", "I")
    local X = nw.compute({rows, width}, function(i, j) return I(i, j) * 2 end, "X")
    local r = nw.reduce_axis(reach, "r")
    local Y = nw.compute({rows + 1 - reach, width}, function(i, j) return nw.sum(X(i + r, j), r) end, "Y")
    local s = nw.schedule(Y)
    s:compute_at(X, s:loops(Y)[1])
    return nw.order(s, {stage = "X"})
  end

  it("show all times if they fit into each cell, with a gap to the next", function()
    local p = again(4, 2, 2)
    assert.same({'0 0 "1"', '1 0 "2"', '0 1 "3 5"', '1 1 "4 6"', '0 2 "7 9"', '1 2 "8 10"', '0 3 "11"', '1 3 "12"'},
      block_lines(p, "times"))
    assert.truthy(p.script:find("'visited more than once'", 1, true))
  end)

  it("otherwise show the first time and the number of visits, in all cells", function()
    local p = again(6, 10, 3)
    local times = block_lines(p, "times")
    for row, text in pairs {[0] = "1", "11 ×2", "21 ×3", "51 ×3", "81 ×2", "111"} do
      assert.equal(('0 %d "%s"'):format(row, text), times[10 * row + 1])
    end
    assert.truthy(p.script:find("visited more than once: time of the first visit × number of visits", 1, true))
  end)
end)

describe("the shades of cells", function()
  it("are grey if paths are coloured, so that the colours stay visible", function()
    local function shades(p)
      local grey, n = true, 0
      for _, line in ipairs(block_lines(p, "cells")) do
        local v = math.tointeger(tonumber(line:match "^%S+ %S+ (%S+)"))
        grey, n = grey and v >> 16 == v & 255 and v & 255 >= 200, n + 1
      end
      assert.is_true(n > 1)
      return grey
    end
    local s = support.gemm(4, 4, 2)
    assert.is_false(shades(nw.order(s)))
    s:parallel "i"
    assert.is_true(shades(nw.order(s)))
  end)
end)

describe("names of pieces", function()
  it("at the left are joined to their pieces by lines that cross neither row numbers nor the name of the axis", function()
    local I = nw.placeholder({64, 64}, "f32", "I")
    local q = nw.reduce_axis(3, "q")
    local s = nw.schedule(nw.compute({64, 64}, function(y, x)
      return nw.sum(nw.select(nw.all(nw.ge(x + q, 1), nw.lt(x + q, 65)), I(y, x + q - 1), 0), q)
    end, "Y"))
    s:partition "x"
    local p = nw.pieces(s)
    local height = p.size[2]
    local rows = {}
    for at in p.script:match "set ytics %((.-)%)":gmatch "'%d+' (%d+)" do rows[#rows + 1] = 96 + (tonumber(at) + 0.5) * 9 end
    local lines = 0
    local arrow = "set arrow from screen ([%d.]+), screen ([%d.]+) to screen [%d.]+, screen ([%d.]+) front head"
    for x, y, to in p.script:gmatch(arrow) do
      if tonumber(x) < 0.4 then
        local from = height * (1 - tonumber(y))
        lines = lines + 1
        assert.is_true(math.abs(from - height * (1 - tonumber(to))) < 0.1)
        for _, row in ipairs(rows) do assert.is_true(math.abs(from - row) > 6) end
        assert.is_true(math.abs(from - (96 + 32 * 9)) > 10)
      end
    end
    assert.equal(32, #rows)
    assert.equal(1, lines)
  end)
end)

describe("the scale of times", function()
  it("gets darker everywhere, also in grey", function()
    local grid, last = require "nestwright.plots.grid", math.huge
    for part = 0, 63 do
      local c = grid.shade(part / 63)
      local grey = 0.299 * (c >> 16) + 0.587 * (c >> 8 & 255) + 0.114 * (c & 255)
      assert.is_true(grey < last)
      last = grey
    end
  end)
end)

describe("a visit", function()
  it("occurs several times if an instance is computed again", function()
    local s = doubled(11, 3)
    s:split("i", 4, {tail = "shift"})
    local p, times = nw.order(s), {}
    for _, r in ipairs(records(p)) do
      times[r.i] = times[r.i] or {}
      if r.j == 0 then table.insert(times[r.i], r.time) end
    end
    assert.same({22, 25}, times[7]) -- the last cell of the second tile is also the first cell of the third
    assert.same({19}, times[6])
    assert.equal(3, #block_lines(p, "hatched"))
    assert.truthy(tostring(p):find "33 instances and 36 visits. 3 instances are visited more than once.")
  end)

  it("is repeated if the tiles of the stage overlap", function()
    local A = nw.placeholder({12, 4}, "f32", "A")
    local P = nw.compute({12, 4}, function(i, j) return A(i, j) * 2 end, "P")
    local s = nw.schedule(nw.compute({10, 4}, function(i, j) return P(i, j) + P(i + 2, j) end, "Y"))
    local i_o = s:split(s:loops "Y"[1], 4)
    s:compute_at(P, i_o)
    local want = {}
    for o = 0, 2 do
      for i = 4 * o, math.min(4 * o + 5, 11) do for j = 0, 3 do want[#want + 1] = {i, j} end end
    end
    local p = nw.order(s, {stage = P})
    assert.same(want, places(p, "i", "j"))
    assert.equal(4 * 4, #block_lines(p, "hatched")) -- rows 4, 5, 8 and 9
    assert.same(places(p, "i", "j"), places(nw.order(s, {stage = "P"}), "i", "j"))
    assert.same(places(p, "i", "j"), places(nw.order(s, {stage = s[P]}), "i", "j"))
  end)

  it("does not occur in masked lanes", function()
    local s = doubled(2, 10)
    s:split("j", 4, {tail = "predicate"})
    local p = nw.order(s)
    assert.equal(20, #p.rows)
    assert.equal("8 0 1 0", block_lines(p, "vectors")[3]) -- two lanes of four
  end)

  it("has one time for all lanes of a vector", function()
    local s = doubled(3, 8)
    s:split("j", 4)
    s:vectorize "j_i"
    local p = nw.order(s)
    for n, r in ipairs(records(p)) do assert.equal((n - 1) // 4 + 1, r.time) end
    assert.equal(6, #block_lines(p, "vectors"))
    assert.equal("0 0 3 0", block_lines(p, "vectors")[1])
    assert.equal(6, #block_lines(p, "times"))
  end)

  it("has no bars for vectors along an axis that is not shown", function()
    local s = support.gemm(4, 6, 8)
    s:vectorize "j"
    local p = nw.order(s, {axes = {"i", "k"}})
    assert.falsy(tostring(p):find " bar")
    assert.truthy(tostring(p):find("32 vectors are drawn by one element each.", 1, true))
    assert.equal(0, #block_lines(p, "vectors"))
    assert.truthy(tostring(nw.order(s)):find("4 vectors are drawn as bars: the lanes of one vector run at once.", 1, true))
  end)

  it("in the next lane has a later time if the vector loop is not the innermost loop", function()
    local s = doubled(4, 3)
    s:vectorize "i"
    local want = {}
    for j = 0, 2 do for i = 0, 3 do want[#want + 1] = {i, j} end end
    assert.same(want, places(nw.order(s), "i", "j"))
  end)

  it("has a time that is counted from 1 in each iteration of a parallel loop", function()
    local s = doubled(6, 4)
    s:split("i", 2)
    s:parallel "i_o"
    local p = nw.order(s)
    for _, r in ipairs(records(p)) do
      assert.equal(("i_o = %d"):format(r.i // 2), r.thread)
      assert.equal(r.i % 2 * 4 + r.j + 1, r.time)
    end
    assert.truthy(tostring(p):find "3 iterations of parallel loops")
  end)

  it("has a shape and a colour for each thread, and is black outside parallel loops", function()
    local s = doubled(22, 2)
    s:cut("i", 20)
    s:parallel "i.head"
    local looks, n = {}, 0
    for look in nw.order(s).script:gmatch "%$visits%d+ using 1:2 with points (pt %d+ ps %S+ lc rgb '%S+')" do
      assert.is_nil(looks[look])
      looks[look], n = true, n + 1
    end
    assert.equal(21, n)
    assert.is_true(looks["pt 7 ps 0.6 lc rgb '#000000'"])
  end)

  it("is found in a slice of a nest that is too large to be visited completely", function()
    local s = support.gemm(4096, 4096, 4096)
    s:tile("i", "j", 32, 32)
    s:reorder("k", "i_o", "j_o", "i_i", "j_i")
    local p = nw.order(s, {at = {k = 4095}, from = {i = 4064, j = 4064}})
    assert.equal(1024, #p.rows)
    assert.same({4064, 4064}, places(p, "i", "j")[1])
    assert.same({4095, 4095}, places(p, "i", "j")[1024])
  end)

  it("can be drawn for 64 x 64 cells in a small file", function()
    if not support.have_gnuplot() then return pending "gnuplot is not installed" end
    local steps = {
      function(s) s:reorder("j", "i") end,
      function(s) s:tile("i", "j", 8, 8) end,
      function(s) s:skew("j", "i", 1) s:reorder("j", "i") end,
      function(s) s:split("i", 4) s:reorder("i_i", "j", "i_o") s:vectorize "i_o" end,
      function(s) s:bind("i", "blockIdx.x") s:bind("j", "threadIdx.x") end,
    }
    local path = support.temporary ".svg"
    for n, step in ipairs(steps) do
      local s = doubled(64, 64)
      step(s)
      nw.order(s):save(path)
      local bytes = #support.read(path)
      assert.is_true(bytes < 500000, n .. ": " .. bytes)
    end
    nw.pieces(triangle(64)):save(path)
    assert.is_true(#support.read(path) < 500000)
    os.remove(path)
  end)

  it("can be a single cell", function()
    local A = nw.placeholder({1}, "f32", "A")
    local p = nw.order(nw.schedule(nw.compute({1}, function(i) return A(i) end, "Y")))
    assert.equal(1, #p.rows)
    if support.have_gnuplot() then support.picture(p) end
  end)

  it("is on a line if there is one axis", function()
    local s = support.doubled(6)
    s:split("i", 3)
    s:reorder("i_i", "i_o")
    local p, at = nw.order(s), {}
    for n, r in ipairs(records(p)) do at[n] = r.i end
    assert.same({0, 3, 1, 4, 2, 5}, at)
    assert.equal(5, #block_lines(p, "heads"))
    if support.have_gnuplot() then support.picture(p) end
  end)
end)
