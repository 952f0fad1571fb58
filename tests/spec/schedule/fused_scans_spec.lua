local nw = require "nestwright"
local support = require "support"

-- Makes a scan over `times` rows of n columns, in which each column is a recurrence of its own. `other` is a scan that it reads.
local function columns(name, times, n, other)
  local A = nw.placeholder({times, n}, "i32", name .. "_in")
  return nw.scan {name = name, shape = {times, n}, init = function(t, x) return A(t, x) end, step = function(S, t, x)
    local value = S(t - 1, x) * 3 + A(t, x)
    return other and value - other(t, x) or value
  end}
end

-- Makes a scan in which a stage inside it adds neighbours.
local function neighbours(name, times, n)
  local A, S = nw.placeholder({times, n}, "i32", name .. "_in"), nw.scan_state({times, n}, "i32", name .. "_state")
  local init = nw.compute({1, n}, function(t, x) return A(t, x) end, name .. "_first")
  local G = nw.compute({times, n}, function(t, x) return S(t - 1, x) - 2 * S(t - 1, nw.min(x + 1, n - 1)) end, name .. "_G")
  return nw.scan(init, nw.compute({times, n}, function(t, x) return G(t, x) + A(t, x) end, "next"), S, name)
end

-- Makes the columns of a scan its outer loop, and returns this loop.
local function columns_outside(s, name)
  local t, x = table.unpack(s:loops(name))
  s:reorder(x, t)
  return x
end

describe("create_fused_loop over scans", function()
  it("runs the columns of two scans in threads", function()
    local S, R = columns("S", 5, 9), columns("R", 4, 6)
    local s = nw.schedule {S, R}
    local f = s:create_fused_loop(columns_outside(s, "S"), columns_outside(s, "R"))
    assert.truthy(s:notes():find "now runs before x", s:notes()) -- the init of R
    s:parallel(f)
    support.computes(s, {S, R})
    support.replays(s, function() return nw.schedule {S, R} end)
    assert.truthy(s:check())
  end)

  it("runs two scans one after the other, in order", function()
    local S, R = neighbours("S", 5, 9), neighbours("R", 4, 6)
    local s = nw.schedule {S, R}
    local f = s:create_fused_loop(s:loops("S")[1], s:loops("R")[1])
    support.computes(s, {S, R})
    support.refuses(s, ".", nil, s.parallel, s, f)
    s:split(f, 4)
    support.computes(s, {S, R})
  end)

  it("moves what needs the first loop after the last", function()
    local S, R = columns("S", 5, 9), columns("R", 4, 6)
    local D = nw.compute({9}, function(x) return S(4, x) + 1 end, "D")
    local s = nw.schedule {S, D, R}
    s:create_fused_loop(columns_outside(s, "S"), columns_outside(s, "R"))
    assert.truthy(s:notes():find "now runs after x", s:notes())
    support.computes(s, {S, D, R})
  end)

  it("refuses scans that depend on each other", function()
    local S = columns("S", 5, 6)
    local R = columns("R", 5, 6, S)
    local s = nw.schedule {S, R}
    local a, b = columns_outside(s, "S"), columns_outside(s, "R")
    local err = support.refuses(s, ".", nil, s.create_fused_loop, s, a, b)
    assert.truthy(tostring(err):find("not independent", 1, true))
    local D = nw.compute({5, 6}, function(t, x) return S(t, x) + 1 end, "D")
    local Q = columns("Q", 5, 6, D)
    local r = nw.schedule {S, D, Q}
    support.refuses(r, "not adjacent", nil, r.create_fused_loop, r, r:loops("S")[1], r:loops("Q")[1])
  end)
end)
