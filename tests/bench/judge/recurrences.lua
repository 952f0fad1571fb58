--- The rows make recurrences with different distances in time and space.
local nests = require "_nests"
local nw = require "nestwright"

local scan, symbolic = nests.scan, nests.symbolic_scan

-- Returns a function that makes a recurrence in two dimensions of space. The argument `step` returns the value of an element.
local function plane(step)
  return function()
    local A = nw.placeholder({5, 6, 7}, "f32", "A")
    local S = nw.scan_state({5, 6, 7}, "f32", "S_state")
    local first = nw.compute({1, 6, 7}, function(t, y, x) return A(t, y, x) end, "first")
    local update = nw.compute({5, 6, 7}, function(t, y, x) return step(S, A, t, y, x) end, "update")
    local out = nw.scan(first, update, S, "S")
    return nw.schedule(out), out, A
  end
end
local heat2 = plane(function(S, _, t, y, x)
  return S(t - 1, nw.max(y - 1, 0), x) + S(t - 1, nw.min(y + 1, 5), x) - S(t - 1, y, nw.max(x - 1, 0))
    - S(t - 1, y, nw.min(x + 1, 6))
end)
local down = plane(function(S, A, t, y, x) return S(t - 1, nw.max(y - 1, 0), x) + A(t, y, x) end)

local function two(s) return nests.loops(s, "S") end

local legal = {
  {"independent columns: space outside time", scan "column", function(s)
    local t, x = two(s)
    s:reorder(x, t)
  end},
  {"independent columns in parallel, time inside", scan "column", function(s)
    local t, x = two(s)
    s:reorder(x, t)
    s:parallel(x)
  end},
  {"independent columns as vectors inside time", scan("column", 5, 16), function(s)
    local _, x = two(s)
    s:vectorize(x)
  end},
  {"independent columns tiled in time and space", scan "column", function(s)
    local t, x = two(s)
    s:tile(t, x, 3, 4)
  end},
  {"a distance of two: two steps of time at once as vectors", scan("two_back", 8, 4, 2), function(s)
    local t = two(s)
    local _, t_i = s:split(t, 2)
    s:vectorize(t_i)
  end},
  {"a distance of two: the two steps of a pair in parallel", scan("two_back", 8, 4, 2), function(s)
    local t = two(s)
    local _, t_i = s:split(t, 2)
    s:parallel(t_i)
  end},
  {"distances one and two: space before time", scan("fibonacci", 8, 5, 2), function(s)
    local t, x = two(s)
    s:reorder(x, t)
    s:parallel(x)
  end},
  {"a diagonal distance: time and space exchanged", scan "diagonal", function(s)
    local t, x = two(s)
    s:reorder(x, t)
  end},
  {"a diagonal distance: tiles of time and space", scan "diagonal", function(s)
    local t, x = two(s)
    s:tile(t, x, 2, 4)
  end},
  {"a heat equation: the elements of a row in parallel", scan "heat", function(s)
    local _, x = two(s)
    s:parallel(x)
  end},
  {"a heat equation: split in time alone", scan "heat", function(s)
    local t = two(s)
    s:split(t, 4)
  end},
  {"a heat equation: vectors with a masked tail", scan("heat", 6, 13), function(s)
    local _, x = two(s)
    local _, lane = s:split(x, {factor = 4, tail = "guard"})
    s:vectorize(lane)
  end},
  {"a mirrored read: a row split with a tail, the parts in parallel", scan("mirror", 6, 11), function(s)
    local _, x = two(s)
    local x_o = s:split(x, 4)
    s:parallel(x_o)
  end},
  {"a sweep in place: time unrolled", scan("sweep", 4, 6), function(s) s:unroll((two(s))) end},
  {"a running sum in both directions: rows and columns exchanged", scan "along", function(s)
    local t, x = two(s)
    s:reorder(x, t)
  end},
  {"a running sum in both directions: tiles", scan "along", function(s)
    local t, x = two(s)
    s:tile(t, x, 2, 3)
  end},
  {"heat in the plane: rows in parallel, columns as vectors", heat2, function(s)
    local _, y, x = nests.loops(s, "S")
    s:parallel(y)
    s:vectorize(x)
  end},
  {"heat in the plane: the plane's loops exchanged", heat2, function(s)
    local _, y, x = nests.loops(s, "S")
    s:reorder(x, y)
  end},
  {"heat in the plane: the plane's loops fused, in parallel", heat2, function(s)
    local _, y, x = nests.loops(s, "S")
    s:parallel(s:fuse(y, x))
  end},
  {"rows of a plane that depend on the row before: columns outermost, parallel", down, function(s)
    local t, y, x = nests.loops(s, "S")
    s:reorder(x, t, y)
    s:parallel(x)
  end},
  {"rows of a plane that depend on the row before: rows outside time", down, function(s)
    local t, y = nests.loops(s, "S")
    s:reorder(y, t)
  end},
  {"a symbolic recurrence: columns in parallel outside time", symbolic "column", function(s)
    local t, x = two(s)
    s:reorder(x, t)
    s:parallel(x)
  end},
  {"a symbolic heat equation: rows split and in parallel", symbolic "heat", function(s)
    local _, x = two(s)
    s:parallel((s:split(x, 4)))
  end},
  {"a stage computed inside the time loop of the recurrence that reads it", function()
    local A = nw.placeholder({6, 8}, "f32", "A")
    local X = nw.compute({6, 8}, function(t, x) return A(t, x) * 2 end, "X")
    local S = nw.scan_state({6, 8}, "f32", "S_state")
    local first = nw.compute({1, 8}, function(t, x) return A(t, x) end, "first")
    local update = nw.compute({6, 8}, function(t, x) return S(t - 1, x) + X(t, x) end, "update")
    local out = nw.scan(first, update, S, "S")
    return nw.schedule(out), X
  end, function(s, X) s:compute_at(X, (two(s))) end},
  {"a stage that a recurrence reads, inlined", function()
    local A = nw.placeholder({6, 8}, "f32", "A")
    local X = nw.compute({6, 8}, function(t, x) return A(t, x) * 2 end, "X")
    local S = nw.scan_state({6, 8}, "f32", "S_state")
    local first = nw.compute({1, 8}, function(t, x) return A(t, x) end, "first")
    local update = nw.compute({6, 8}, function(t, x) return S(t - 1, x) + X(t, x) end, "update")
    local out = nw.scan(first, update, S, "S")
    return nw.schedule(out), X
  end, function(s, X) s:compute_inline(X) end},
}

local function refused(what, make, attempt, kind)
  return {what, make, function(s)
    return function() attempt(s, nests.loops(s, "S")) end
  end, kind}
end

local illegal = {
  refused("time in parallel", scan "column", function(s, t) s:parallel(t) end, "raw"),
  refused("time as vectors", scan("column", 5, 8), function(s, t) s:vectorize(t) end, "raw"),
  refused("time in parallel, a distance of two", scan("two_back", 8, 4, 2), function(s, t) s:parallel(t) end, "raw"),
  {"a distance of two: three steps of time at once", scan("two_back", 9, 4, 2), function(s)
    local _, t_i = s:split((two(s)), 3)
    return function() s:vectorize(t_i) end
  end, "raw"},
  {"distances one and two: the two steps of a pair in parallel", scan("fibonacci", 8, 4, 2), function(s)
    local _, t_i = s:split((two(s)), 2)
    return function() s:parallel(t_i) end
  end, "raw"},
  {"a distance of two: the loop over pairs of time steps in parallel", scan("two_back", 8, 4, 2), function(s)
    local t_o = s:split((two(s)), 2)
    return function() s:parallel(t_o) end
  end, "raw"},
  {"a diagonal distance: space in parallel outside time", scan "diagonal", function(s)
    local t, x = two(s)
    s:reorder(x, t)
    return function() s:parallel(x) end
  end, "raw"},
  refused("a distance of (1, -1): space before time", scan "against", function(s, t, x) s:reorder(x, t) end, "raw"),
  refused("a distance of (1, -1): tiles", scan "against", function(s, t, x) s:tile(t, x, 2, 2) end, "raw"),
  {"a distance of (1, -1): space outside a part of time", scan "against", function(s)
    local t, x = two(s)
    local _, t_i = s:split(t, 3)
    return function() s:reorder(x, t_i) end
  end, "raw"},
  refused("a heat equation: space before time", scan "heat", function(s, t, x) s:reorder(x, t) end, "raw"),
  refused("a heat equation: tiles", scan "heat", function(s, t, x) s:tile(t, x, 3, 3) end, "raw"),
  {"a heat equation: time and space fused, in parallel", scan "heat", function(s)
    local f = s:fuse(two(s))
    return function() s:parallel(f) end
  end, "raw"},
  refused("a mirrored read: space before time", scan "mirror", function(s, t, x) s:reorder(x, t) end, "raw"),
  refused("a sweep in place: space in parallel", scan "sweep", function(s, _, x) s:parallel(x) end, "raw"),
  refused("a sweep in place: space as vectors", scan("sweep", 4, 8), function(s, _, x) s:vectorize(x) end, "raw"),
  refused("a sweep in place: time in parallel", scan "sweep", function(s, t) s:parallel(t) end, "raw"),
  refused("a sweep in place: space before time", scan "sweep", function(s, t, x) s:reorder(x, t) end, "raw"),
  refused("a running sum in both directions: a row in parallel", scan "along", function(s, _, x) s:parallel(x) end, "raw"),
  {"a running sum in both directions: lanes of four", scan("along", 5, 16), function(s)
    local _, x = two(s)
    local _, lane = s:split(x, 4)
    return function() s:vectorize(lane) end
  end, "raw"},
  refused("heat in the plane: rows before time", heat2, function(s, t, y) s:reorder(y, t) end, "raw"),
  refused("heat in the plane: columns outermost", heat2, function(s, t, y, x) s:reorder(x, t, y) end, "raw"),
  refused("rows of a plane that depend on the row before: time in parallel", down, function(s, t) s:parallel(t) end, "raw"),
  refused("a symbolic recurrence: time in parallel", symbolic "column", function(s, t) s:parallel(t) end, "raw"),
  refused("a symbolic heat equation: space before time", symbolic "heat", function(s, t, x) s:reorder(x, t) end, "raw"),
  refused("a symbolic sweep: space in parallel", symbolic "sweep", function(s, _, x) s:parallel(x) end, "raw"),
  refused("a recurrence inlined", scan "column", function(s) s:compute_inline "S" end, "structure"),
  {"the init of a recurrence moved into the time loop", scan "column", function(s)
    return function() s:compute_at("S_init", (two(s))) end
  end, "structure"},
}

return {legal = legal, illegal = illegal}
