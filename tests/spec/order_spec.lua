--- Pictures of iteration spaces: their data against loop nests written by hand and against the interpreter's trace.
local nw = require "nestwright"
local support = require "support"
local fails = support.fails

-- The rows of a plot as tables by column.
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

-- The lines of the script's blocks of a kind.
local function block_lines(p, kind)
  local out = {}
  for block in p.script:gmatch("%$" .. kind .. "%d+ << EOD\n(.-)EOD\n") do
    for line in block:gmatch "[^\n]+" do out[#out + 1] = line end
  end
  return out
end

-- Elements of a tensor in the order in which the interpreter writes them: {linear index, lanes}.
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

-- Y = 2A, m x n: each element is written once, so that the interpreter's writes are the order.
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
  it("is the order of a nest written by hand", function()
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

  it("is the order in which the interpreter writes", function()
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

  it("plots what its rows say", function()
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
    assert.equal(4 * 2, #steps) -- down each column
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
    fails("one or two axes", "invalid", nw.order, s, {axes = {}})
    fails("one or two axes", "invalid", nw.order, s, {axes = {"i", "j", "k"}})
    fails("named twice", "invalid", nw.order, s, {axes = {"i", "i"}})
    fails("k = 4 is not in 0..4", "range", nw.order, s, {at = {k = 4}})
    fails("expected a whole number", "invalid", nw.order, s, {at = {k = 0 / 0}})
    fails("expected a whole number", "invalid", nw.order, s, {to = {i = math.huge}})
    fails("that axis is shown", "invalid", nw.order, s, {at = {i = 0}})
    fails("is behind", "range", nw.order, s, {from = {i = 2}, to = {i = 1}})
    fails("expected a string", "invalid", nw.order, s, {title = 1})
    local big = support.gemm(128, 64, 4)
    fails("i has 128 values; at most 64 are drawn.*from = {i = 0}, to = {i = 63}", "limit", nw.order, big)
    assert.equal(8 * 64, #nw.order(big, {from = {i = 120}}).rows)
    local M = nw.size("M", {min = 0})
    local X = nw.placeholder({M, 4}, "f32", "X")
    local t = nw.schedule(nw.compute({M, 4}, function(i, j) return X(i, j) + 1 end, "Y"))
    fails("the size M has no value", "invalid", nw.order, t)
    fails("i has no values", "invalid", nw.order, t, {sizes = {M = 0}})
    fails("M = %-1: it is at least 0", "range", nw.order, t, {sizes = {M = -1}})
    assert.equal(4, #nw.order(t, {sizes = {M = 1}}).rows)
  end)
end)
