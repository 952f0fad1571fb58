--- A list of programs with so many loops or stages that a step might take long. A program is {name =, run =}. run(step) makes a
--- schedule, and calls step(f) for each step of the schedule. f makes the step, so that the caller can measure its time and see
--- whether it was accepted. step(f) must return the results of f, or nothing if the step was refused.
local nw = require "nestwright"
local deep = {}

local function add(name, run) deep[#deep + 1] = {name = name, run = run} end

local function matmul(n, dtype)
  local A, B = nw.placeholder({n, n}, dtype or "f32", "A"), nw.placeholder({n, n}, dtype or "f32", "B")
  local k = nw.reduce_axis(n, "k")
  return nw.schedule(nw.compute({n, n}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C"))
end

local function elementwise(n, m)
  local A = nw.placeholder({n, m}, "f32", "A")
  return nw.schedule(nw.compute({n, m}, function(i, j) return A(i, j) + 1 end, "C"))
end

--- Adds a program with `count` splits. Each split divides the outer loop of the previous split, or its inner loop if `inner` is
--- true.
local function stacked(name, count, n, inner, factor, tail)
  add(("%d splits, %s"):format(count, name), function(step)
    local s, loop = elementwise(n, 4), "i"
    for at = 1, count do
      local o, i = step(function() return s:split(loop, factor(at), {tail = tail}) end)
      if not o then return end
      loop = inner and i or o
    end
  end)
end

for _, tail in ipairs {"guard", "cut", "shift", "pad"} do
  stacked("factor 2, tails " .. tail, 22, 2 ^ 24 // 1, false, function() return 2 end, tail)
  stacked("factor 3 of a power of two, tails " .. tail, 22, 2 ^ 30 // 1, false, function() return 3 end, tail)
  stacked("changing factors, tails " .. tail, 22, 1000003, false, function(at) return at % 3 + 2 end, tail)
end
stacked("each of the inner loop of the previous split", 22, 1000003, true, function(at) return 2 ^ (20 - at) // 1 + 1 end, "guard")
stacked("factor 2, also of loops of one iteration", 40, 1000003, false, function() return 2 end, "guard")
stacked("factor 1", 40, 1000003, false, function() return 1 end, "guard")

add("22 splits of three loops in turn", function(step)
  local s = matmul(1021)
  local loop = {"i", "j", "k"}
  for at = 1, 22 do
    local o = step(function() return (s:split(loop[at % 3 + 1], at % 2 + 2)) end)
    loop[at % 3 + 1] = o or loop[at % 3 + 1]
  end
  for _, l in ipairs(loop) do step(function() s:parallel(l) end) end
end)

add("22 splits, then reordered and marked", function(step)
  local s, loop, inner = elementwise(1000003, 64), "i", nil
  for _ = 1, 12 do
    local o, i = step(function() return s:split(loop, 3) end)
    if not o then break end
    loop, inner = o, i
  end
  step(function() s:reorder("j", inner) end)
  step(function() s:reorder(inner, loop) end)
  step(function() s:fuse(loop, inner) end)
  step(function() s:vectorize(inner) end)
  step(function() s:parallel(loop) end)
  step(function() s:moves(loop) end)
  step(function() s:rfactor("C", loop) end)
end)

--- Adds a program whose loops are bound to a grid. `binds` lists {loop, factor, tag of the outer part, tag of the inner part}.
local function grid(name, make, binds)
  add("a grid, " .. name, function(step)
    local s = make()
    for _, b in ipairs(binds) do
      local loop, factor, outer, inner = b[1], b[2], b[3], b[4]
      local o, i = step(function() return s:split(loop, factor) end)
      if o and outer then step(function() s:bind(o, outer) end) end
      if i and inner then step(function() s:bind(i, inner) end) end
    end
    for _, l in ipairs(s:loops()) do step(function() s:moves(l) end) end
  end)
end

local function four(n, m, p, q)
  return function()
    local A = nw.placeholder({n, m, p, q}, "f32", "A")
    return nw.schedule(nw.compute({n, m, p, q}, function(a, b, c, d) return A(a, b, c, d) * 2 end, "C"))
  end
end

grid("four loops that the factors divide", four(64, 64, 64, 64), {
  {"a", 8, "blockIdx.z", "threadIdx.z"}, {"b", 8, "blockIdx.y", "threadIdx.y"}, {"c", 8, "blockIdx.x", "threadIdx.x"},
  {"d", 8, "vthread"}})
grid("four loops that the factors do not divide", four(61, 67, 71, 73), {
  {"a", 4, "blockIdx.z", "threadIdx.z"}, {"b", 4, "blockIdx.y", "threadIdx.y"}, {"c", 8, "blockIdx.x", "threadIdx.x"},
  {"d", 8, "vthread"}})
grid("virtual threads around threads", four(61, 67, 71, 73), {
  {"d", 8, "vthread"}, {"c", 8, "blockIdx.x", "threadIdx.x"}, {"b", 4, "blockIdx.y", "threadIdx.y"},
  {"a", 4, "blockIdx.z", "threadIdx.z"}})
grid("symbolic sizes", function()
  local M, N, P, Q = nw.size "M", nw.size "N", nw.size "P", nw.size "Q"
  return four(M, N, P, Q)()
end, {{"a", 4, "blockIdx.z", "threadIdx.z"}, {"b", 4, "blockIdx.y", "threadIdx.y"}, {"c", 8, "blockIdx.x", "threadIdx.x"},
  {"d", 8, "vthread"}})

--- Returns the schedule of a convolution with seven loops. If `epilogue` is true, another stage reads the result.
local function conv(n, channels, size, epilogue)
  local A = nw.placeholder({n, channels, size + 2, size + 2}, "f32", "A")
  local W = nw.placeholder({channels, channels, 3, 3}, "f32", "W")
  local c, x, y = nw.reduce_axis(channels, "c"), nw.reduce_axis(3, "x"), nw.reduce_axis(3, "y")
  local C = nw.compute({n, channels, size, size}, function(b, f, h, w)
    return nw.sum(A(b, c, h + x, w + y) * W(f, c, x, y), c, x, y)
  end, "C")
  if not epilogue then return nw.schedule(C) end
  return nw.schedule(nw.compute({n, channels, size, size}, function(b, f, h, w) return nw.max(C(b, f, h, w), 0) end, "D"))
end

add("tiles of a convolution in seven loops", function(step)
  local s = conv(4, 37, 29)
  local outer, inner = {}, {}
  for _, l in ipairs {"b", "f", "h", "w", "c", "x", "y"} do
    local o, i = step(function() return s:split(l, 4) end)
    outer[#outer + 1], inner[#inner + 1] = o, i
  end
  step(function() s:reorder(table.unpack(outer)) end)
  local all = table.move(inner, 1, #inner, #outer + 1, table.move(outer, 1, #outer, 1, {}))
  step(function() s:reorder(table.unpack(all)) end)
  step(function() s:cache_read("A", "global", {"C"}, {at = outer[5]}) end)
  step(function() s:cache_read("W", "local", {"C"}, {at = outer[6]}) end)
  step(function() s:cache_write("C", "local", {at = outer[4]}) end)
  step(function() s:parallel(outer[1]) end)
  step(function() s:vectorize(inner[4]) end)
  step(function() s:parallel(outer[6]) end)
  step(function() s:moves(outer[2]) end)
  step(function() s:moves(inner[2]) end)
end)

add("tiles of tiles of a convolution, a stage inside", function(step)
  local s = conv(4, 37, 29, true)
  local mine = {"b_1", "f_1", "h_1", "w_1"}
  for round = 1, 2 do
    for at, l in ipairs(mine) do
      local o = step(function() return (s:split(l, 2 + round)) end)
      mine[at] = o or l
    end
  end
  step(function() s:compute_at("C", mine[3]) end)
  step(function() s:compute_at("C", mine[4]) end)
  step(function() s:parallel(mine[1]) end)
  step(function() s:vectorize "y" end)
  for _, l in ipairs(mine) do step(function() s:moves(l) end) end
end)

add("a convolution on a grid, with shared copies", function(step)
  local s = conv(4, 37, 29)
  local o = {}
  for at, b in ipairs {{"b", 2, "blockIdx.z"}, {"f", 4, "blockIdx.y", "threadIdx.z"}, {"h", 4, "blockIdx.x", "threadIdx.y"},
    {"w", 8, "vthread", "threadIdx.x"}} do
    local outer, inner = step(function() return s:split(b[1], b[2]) end)
    o[at] = {outer, inner}
  end
  step(function() s:reorder(o[1][1], o[2][1], o[3][1], o[4][1], o[1][2], o[2][2], o[3][2], o[4][2]) end)
  step(function() s:bind(o[1][1], "blockIdx.z") end)
  step(function() s:bind(o[2][1], "blockIdx.y") end)
  step(function() s:bind(o[3][1], "blockIdx.x") end)
  step(function() s:bind(o[2][2], "threadIdx.z") end)
  step(function() s:bind(o[3][2], "threadIdx.y") end)
  step(function() s:bind(o[4][2], "threadIdx.x") end)
  step(function() s:bind(o[4][1], "vthread") end)
  step(function() s:cache_read("A", "shared", {"C"}, {at = "c"}) end)
  step(function() s:cache_read("W", "shared", {"C"}, {at = "c"}) end)
  step(function() s:moves "c" end)
end)

add("a chain of twenty stages in one nest", function(step)
  local A = nw.placeholder({97, 89}, "f32", "A")
  local stage = A
  for n = 1, 20 do
    local from = stage
    stage = nw.compute({97, 89}, function(i, j) return from(i, j) + n end, "T" .. n)
  end
  local s = nw.schedule(stage)
  local loops = s:loops "T20"
  local o = step(function() return (s:split(loops[1], 8)) end)
  for n = 19, 1, -1 do step(function() s:compute_at("T" .. n, o) end) end
  step(function() s:parallel(o) end)
  step(function() s:moves(o) end)
  step(function() s:cut(o, 3) end)
end)

add("six loops fused, then split into six", function(step)
  local A = nw.placeholder({5, 6, 7, 8, 9, 10}, "f32", "A")
  local s = nw.schedule(nw.compute({5, 6, 7, 8, 9, 10}, function(a, b, c, d, e, f) return A(a, b, c, d, e, f) + 1 end, "C"))
  local loop = "a"
  for _, l in ipairs {"b", "c", "d", "e", "f"} do loop = step(function() return s:fuse(loop, l) end) or loop end
  for factor = 2, 7 do loop = step(function() return (s:split(loop, factor)) end) or loop end
  step(function() s:parallel(loop) end)
  step(function() s:moves(loop) end)
end)

add("a triangle with guards, split many times", function(step)
  local A, k = nw.placeholder({211, 211}, "f64", "A"), nw.reduce_axis(211, "k")
  local s = nw.schedule(nw.compute({211, 211}, function(i, j)
    return nw.sum(nw.select(nw.all(nw.le(k, i), nw.le(j, k)), A(i, k) * A(k, j), 0), k)
  end, "C"))
  step(function() s:decompose_reduction("C", "i") end)
  step(function() s:trim "k" end)
  local at = {"i", "j", "k"}
  for round = 1, 6 do
    local l = at[round % 3 + 1]
    at[round % 3 + 1] = step(function() return (s:split(l, 5)) end) or l
  end
  step(function() s:parallel(at[1]) end)
  step(function() s:reorder(at[3], at[2]) end)
  step(function() s:reorder(at[2], at[1]) end)
  step(function() s:partition(at[3]) end)
  step(function() s:moves(at[3]) end)
end)

return deep
