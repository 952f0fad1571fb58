--- The rows make grids of blocks and threads, with shared and local storage, barriers, virtual threads, and races between threads.
local nests = require "_nests"
local nw = require "nestwright"

local with = nests.with
local function gemm(...) return with("gemm", ...) end
local function scan(step, steps, n, rows) return nests.scan(step, steps or 5, n or 8, rows) end

-- Binds the last loops of a stage to the given tags, in the same order.
local function threads(s, stage, ...)
  local loops, tags = s:loops(stage), {...}
  for n, tag in ipairs(tags) do s:bind(loops[#loops - #tags + n], tag) end
end

-- Computes C in tiles of t by t, one tile for each block. Each step of the reduction loop k_o adds d terms.
local function blocks(s, t, d)
  s:tile("i", "j", t, t)
  s:split("k", d)
  s:reorder("i_o", "j_o", "k_o", "i_i", "j_i", "k_i")
  s:bind("i_o", "blockIdx.y")
  s:bind("j_o", "blockIdx.x")
end

local function tiled(s, C, A, B, t, d)
  blocks(s, t, d or t)
  for _, operand in ipairs {A, B} do
    threads(s, s:cache_read(operand, "shared", {C}, {at = "k_o"}), "threadIdx.y", "threadIdx.x")
  end
  s:bind("i_i", "threadIdx.y")
  s:bind("j_i", "threadIdx.x")
end

-- Computes Y in tiles of t elements. The elements of X that a tile needs are in shared storage.
local function halo(s, Y, X, t)
  local loops = s:loops(Y)
  local o, i = s:split(loops[1], t)
  s:bind(o, "blockIdx.x")
  s:compute_at(X, o)
  s:set_scope(X, "shared")
  return o, i
end

local function transpose(m, n)
  return function()
    local A = nw.placeholder({m, n}, "f32", "A")
    local T = nw.compute({n, m}, function(i, j) return A(j, i) end, "T")
    return nw.schedule(T), T, A
  end
end

local function conv1d(n, taps)
  return function()
    local A, W = nw.placeholder({n}, "f32", "A"), nw.placeholder({taps}, "f32", "W")
    local r = nw.reduce_axis(taps, "r")
    local C = nw.compute({n - taps + 1}, function(i) return nw.sum(A(i + r) * W(r), r) end, "C")
    return nw.schedule(C), C, A, W
  end
end

local function symbolic_map()
  local M, N = nw.size "M", nw.size "N"
  local A = nw.placeholder({M, N}, "f32", "A")
  local Z = nw.compute({M, N}, function(i, j) return A(i, j) * 2 end, "Z")
  return nw.schedule(Z), Z, A
end
local function symbolic_gemm() return nests.gemm(nw.size "M", nw.size "N", nw.size "K") end

-- Makes the sum of each row, and the rows minus their sums.
local function rows_less_sums()
  local A = nw.placeholder({6, 8}, "f32", "A")
  local k = nw.reduce_axis(8, "k")
  local R = nw.compute({6}, function(i) return nw.sum(A(i, k), k) end, "R")
  local Z = nw.compute({6, 8}, function(i, j) return A(i, j) - R(i) end, "Z")
  return nw.schedule(Z), Z, R, A
end

local legal = {
  {"a map with one thread for each element", with("map", 40), function(s) s:bind("i", "threadIdx.x") end},
  {"a map in blocks of threads", with("map", 40), function(s)
    local o, i = s:split("i", 8)
    s:bind(o, "blockIdx.x")
    s:bind(i, "threadIdx.x")
  end},
  {"a map in blocks of threads, the last block partly idle", with("map", 37), function(s)
    local o, i = s:split("i", 8)
    s:bind(o, "blockIdx.x")
    s:bind(i, "threadIdx.x")
  end},
  {"three dimensions of blocks", with("map", 3, 4, 5), function(s)
    s:bind("i", "blockIdx.z")
    s:bind("j", "blockIdx.y")
    s:bind("k", "blockIdx.x")
  end},
  {"symbolic sizes: the number of blocks depends on the size", symbolic_map, function(s)
    local o, i = s:split("j", 16)
    s:bind("i", "blockIdx.y")
    s:bind(o, "blockIdx.x")
    s:bind(i, "threadIdx.x")
  end},
  {"a fused loop of symbolic extents as blocks", symbolic_map, function(s) s:bind(s:fuse("i", "j"), "blockIdx.x") end},
  {"a fused loop split into blocks and threads", with("map", 6, 10), function(s)
    local o, i = s:split(s:fuse("i", "j"), 16)
    s:bind(o, "blockIdx.x")
    s:bind(i, "threadIdx.x")
  end},
  {"threads that compute in vectors", with("map", 32), function(s)
    local o, i = s:split("i", 4)
    s:vectorize(i)
    s:bind(o, "threadIdx.x")
  end},
  {"one sum for each thread, its reduction in order", with("fold", "sum", 12, 9), function(s)
    local o, i = s:split("i", 4)
    s:bind(o, "blockIdx.x")
    s:bind(i, "threadIdx.x")
  end},
  {"the argmax of each row, with one thread for each row", with("arg", "argmax", 9, 7), function(s)
    s:bind("i", "threadIdx.x")
  end},
  {"a product with one thread for each element", gemm(8), function(s)
    s:bind("i", "blockIdx.x")
    s:bind("j", "threadIdx.x")
  end},
  {"a product in tiles through shared storage", gemm(8), function(s, C, A, B) tiled(s, C, A, B, 4) end},
  {"a product in tiles that do not divide its sizes", gemm(7, 9, 5), function(s, C, A, B) tiled(s, C, A, B, 4) end},
  {"tiles deeper than wide: fewer threads compute than load", gemm(8, 8, 16), function(s, C, A, B) tiled(s, C, A, B, 4, 8) end},
  {"one operand in shared storage, the other read from memory", gemm(8), function(s, C, A)
    blocks(s, 4, 4)
    threads(s, s:cache_read(A, "shared", {C}, {at = "k_o"}), "threadIdx.y", "threadIdx.x")
    s:bind("i_i", "threadIdx.y")
    s:bind("j_i", "threadIdx.x")
  end},
  {"a shared tile that one thread loads", gemm(8), function(s, C, A)
    blocks(s, 4, 4)
    s:cache_read(A, "shared", {C}, {at = "k_o"})
    s:bind("i_i", "threadIdx.y")
    s:bind("j_i", "threadIdx.x")
  end},
  {"a shared tile loaded by a loop that was fused and split", gemm(8), function(s, C, A)
    blocks(s, 4, 4)
    local loops = s:loops(s:cache_read(A, "shared", {C}, {at = "k_o"}))
    local _, x = s:split(s:fuse(loops[4], loops[5]), 8)
    s:bind(x, "threadIdx.x")
    s:bind("i_i", "threadIdx.y")
    s:bind("j_i", "threadIdx.x")
  end},
  {"sums in local storage of each thread", gemm(8), function(s, C, A)
    s:tile("i", "j", 4, 4)
    s:bind("i_o", "blockIdx.y")
    s:bind("j_o", "blockIdx.x")
    local sums = s:cache_write(C, "shared", {at = "j_o"})
    local _, _, i, j, k = table.unpack(s:loops(sums))
    local k_o, k_i = s:split(k, 4)
    s:reorder(k_o, i, j, k_i)
    threads(s, s:cache_read(A, "shared", {sums}, {at = k_o}), "threadIdx.y", "threadIdx.x")
    s:bind(i, "threadIdx.y")
    s:bind(j, "threadIdx.x")
    threads(s, C, "threadIdx.y", "threadIdx.x")
    s:set_scope(sums, "local")
  end},
  {"a product with virtual threads: each thread computes two rows", gemm(8), function(s, C, A)
    blocks(s, 4, 4)
    local v, i = s:split("i_i", 2)
    s:reorder("k_o", v, i, "j_i", "k_i")
    threads(s, s:cache_read(A, "shared", {C}, {at = "k_o"}), "threadIdx.y", "threadIdx.x")
    s:bind(v, "vthread")
    s:bind(i, "threadIdx.y")
    s:bind("j_i", "threadIdx.x")
  end},
  {"two loops of virtual threads around shared tiles", gemm(8), function(s, C, A)
    s:tile("i", "j", 4, 4)
    local vi, i = s:split("i_i", 2)
    local vj, j = s:split("j_i", 2)
    local k_o, k_i = s:split("k", 4)
    s:reorder("i_o", "j_o", vi, vj, k_o, i, j, k_i)
    s:bind("i_o", "blockIdx.y")
    s:bind("j_o", "blockIdx.x")
    s:bind(vi, "vthread")
    s:bind(vj, "vthread")
    threads(s, s:cache_read(A, "shared", {C}, {at = k_o}), "threadIdx.y", "threadIdx.x")
    s:bind(i, "threadIdx.y")
    s:bind(j, "threadIdx.x")
  end},
  {"a symbolic product in tiles", symbolic_gemm, function(s, C, A)
    blocks(s, 4, 4)
    threads(s, s:cache_read(A, "shared", {C}, {at = "k_o"}), "threadIdx.y", "threadIdx.x")
    s:bind("i_i", "threadIdx.y")
    s:bind("j_i", "threadIdx.x")
  end},
  {"a stencil with its halo in shared storage", with("ahead", 34, 2), function(s, Y, X)
    local _, i = halo(s, Y, X, 8)
    threads(s, X, "threadIdx.x")
    s:bind(i, "threadIdx.x")
  end},
  {"a halo that one thread loads", with("ahead", 34, 2), function(s, Y, X)
    local _, i = halo(s, Y, X, 8)
    s:bind(i, "threadIdx.x")
  end},
  {"a stage with global storage for each block", with("ahead", 34, 2), function(s, Y, X)
    local o, i = s:split(s:loops(Y)[1], 8)
    s:bind(o, "blockIdx.x")
    s:compute_at(X, o)
    threads(s, X, "threadIdx.x")
    s:bind(i, "threadIdx.x")
  end},
  {"a stage in local storage, in the thread that reads it", with("ahead", 34, 2), function(s, Y, X)
    local i = s:loops(Y)[1]
    s:compute_at(X, i)
    s:set_scope(X, "local")
    s:bind(i, "threadIdx.x")
  end},
  {"a blur with rows in shared storage", with("blur", 6, 8), function(s, Y, X)
    local y, x = table.unpack(s:loops(Y))
    s:bind(y, "blockIdx.x")
    s:compute_at(X, y)
    s:set_scope(X, "shared")
    threads(s, X, "threadIdx.x")
    s:bind(x, "threadIdx.x")
  end},
  {"a transpose through a shared tile", transpose(8, 12), function(s, T, A)
    s:tile("i", "j", 4, 4)
    s:bind("i_o", "blockIdx.y")
    s:bind("j_o", "blockIdx.x")
    threads(s, s:cache_read(A, "shared", {T}, {at = "j_o"}), "threadIdx.y", "threadIdx.x")
    s:bind("i_i", "threadIdx.y")
    s:bind("j_i", "threadIdx.x")
  end},
  {"a transpose in tiles that do not divide its sizes", transpose(7, 9), function(s, T, A)
    s:tile("i", "j", 4, 4)
    s:bind("i_o", "blockIdx.y")
    s:bind("j_o", "blockIdx.x")
    threads(s, s:cache_read(A, "shared", {T}, {at = "j_o"}), "threadIdx.y", "threadIdx.x")
    s:bind("i_i", "threadIdx.y")
    s:bind("j_i", "threadIdx.x")
  end},
  {"a convolution with input and weights in shared storage", conv1d(35, 4), function(s, C, A, W)
    local o, i = s:split("i", 8)
    s:bind(o, "blockIdx.x")
    threads(s, s:cache_read(A, "shared", {C}, {at = o}), "threadIdx.x")
    threads(s, s:cache_read(W, "shared", {C}, {at = o}), "threadIdx.x")
    s:bind(i, "threadIdx.x")
  end},
  {"a depthwise convolution, its padded input in shared storage", with("depthwise", 2, 5, 6), function(s, D, P)
    local c, y, x = table.unpack(s:loops(D))
    s:bind(c, "blockIdx.y")
    s:bind(y, "blockIdx.x")
    s:compute_at(P, y)
    s:set_scope(P, "shared")
    threads(s, P, "threadIdx.x")
    s:bind(x, "threadIdx.x")
  end},
  {"one sum for each block, read by all threads of the block", rows_less_sums, function(s, Z, R)
    local i, j = table.unpack(s:loops(Z))
    s:compute_at(R, i)
    s:set_scope(R, "shared")
    s:bind(i, "blockIdx.x")
    s:bind(j, "threadIdx.x")
  end},
  {"two stages as two launches", with("ahead", 20, 3), function(s, Y, X)
    s:bind(s:loops(X)[1], "blockIdx.x")
    s:bind(s:loops(Y)[1], "blockIdx.x")
  end},
  {"one stage in threads, the other in one thread", with("ahead", 20, 3), function(s, Y) s:bind(s:loops(Y)[1], "threadIdx.x") end},
  {"shared storage inside a thread, which all threads of the block use", with("ahead", 34, 2), function(s, Y, X)
    local i = s:loops(Y)[1]
    s:compute_at(X, i)
    s:bind(i, "threadIdx.x")
    s:set_scope(X, "shared")
  end},
  {"shared storage of one block around two nests", with("ahead", 20, 3), function(s, Y, X)
    s:set_scope(X, "shared")
    s:bind(s:loops(Y)[1], "threadIdx.x")
    s:bind(s:loops(X)[1], "threadIdx.x")
  end},
  {"heat in a grid: a launch for each step", scan "heat", function(s) s:bind(s:loops("S")[2], "blockIdx.x") end},
  {"heat in one block: a barrier after each step", scan "heat", function(s) s:bind(s:loops("S")[2], "threadIdx.x") end},
  {"independent columns: the loop over time inside each thread", scan "column", function(s)
    local t, x = table.unpack(s:loops "S")
    s:reorder(x, t)
    s:bind(x, "threadIdx.x")
  end},
  {"independent columns: the loop over time inside each block", scan "column", function(s)
    local t, x = table.unpack(s:loops "S")
    s:reorder(x, t)
    s:bind(x, "blockIdx.x")
  end},
  {"a distance of two: the two steps of a pair as threads", scan("two_back", 8, 4, 2), function(s)
    local _, t = s:split(s:loops("S")[1], 2)
    s:bind(t, "threadIdx.x")
  end},
  {"threads inside a reduction that was moved outermost", gemm(6), function(s)
    s:reorder("k", "i", "j")
    s:bind("i", "threadIdx.y")
    s:bind("j", "threadIdx.x")
  end},
  {"bound loops reordered", gemm(6), function(s)
    s:bind("i", "threadIdx.y")
    s:bind("j", "threadIdx.x")
    s:reorder("j", "i")
  end},
  {"an unrolled loop inside a thread", gemm(6), function(s)
    s:bind("i", "blockIdx.x")
    s:unroll "j"
    s:split("k", 3)
    s:unroll "k_i"
  end},
  {"a reduction in threads", gemm(6), function(s) s:bind("k", "threadIdx.x") end},
  {"the outer part of a reduction in threads", gemm(6), function(s)
    local k_o = s:split("k", 4)
    s:bind(k_o, "threadIdx.x")
  end},
  {"both parts of a reduction in threads", gemm(6), function(s)
    local k_o, k_i = s:split("k", 3)
    s:bind(k_o, "threadIdx.y")
    s:bind(k_i, "threadIdx.x")
  end},
  {"the maximum of a row, its reduction in threads", with("fold", "max", 5, 7), function(s) s:bind("k", "threadIdx.x") end},
  {"sums of a reduction in threads, read by all threads of the block", rows_less_sums, function(s, Z, R)
    local i, j = table.unpack(s:loops(Z))
    s:compute_at(R, i)
    s:set_scope(R, "shared")
    s:bind(i, "blockIdx.x")
    s:bind(j, "threadIdx.x")
    local loops = s:loops(R)
    s:bind(loops[#loops], "threadIdx.x")
  end},
  {"virtual threads without threads", with("map", 12), function(s)
    local o = s:split("i", 4)
    s:bind(o, "vthread")
  end},
}

-- ---- illegal steps

local function try(f, ...)
  local args = table.pack(...)
  return function() return f(table.unpack(args, 1, args.n)) end
end

local illegal = {
  {"a reduction in blocks", gemm(6), function(s) return try(s.bind, s, "k", "blockIdx.x") end, "reduction"},
  {"a reduction in virtual threads", gemm(6), function(s) return try(s.bind, s, "k", "vthread") end, "reduction"},
  {"a piece of a reduction in threads", gemm(6), function(s)
    s:cut("k", 2)
    return try(s.bind, s, "k.rest", "threadIdx.x")
  end, "reduction"},
  {"a reduction in threads, its result in local storage that other threads read", rows_less_sums, function(s, Z, R)
    local i, j = table.unpack(s:loops(Z))
    s:compute_at(R, i)
    s:set_scope(R, "local")
    s:bind(i, "blockIdx.x")
    local loops = s:loops(R)
    s:bind(loops[#loops], "threadIdx.x")
    return try(s.bind, s, j, "threadIdx.x")
  end, "raw"},
  {"a reduction moved outermost, in blocks", gemm(6), function(s)
    s:reorder("k", "i", "j")
    return try(s.bind, s, "k", "blockIdx.x")
  end, "reduction"},
  {"a row fused with the reduction, in threads", gemm(6), function(s) return try(s.bind, s, s:fuse("j", "k"), "threadIdx.x") end,
    "reduction"},
  {"steps of time as threads", scan "heat", function(s) return try(s.bind, s, s:loops("S")[1], "threadIdx.x") end, "raw"},
  {"steps of time as blocks", scan "heat", function(s) return try(s.bind, s, s:loops("S")[1], "blockIdx.x") end, "raw"},
  {"steps of time as virtual threads", scan "column", function(s) return try(s.bind, s, s:loops("S")[1], "vthread") end, "raw"},
  {"a distance of two: three steps of time as threads", scan("two_back", 8, 4, 2), function(s)
    local _, t = s:split(s:loops("S")[1], 3)
    return try(s.bind, s, t, "threadIdx.x")
  end, "raw"},
  {"a recurrence along threads", scan "sweep", function(s)
    return try(s.bind, s, s:loops("S")[2], "threadIdx.x")
  end, "raw"},
  {"a recurrence along blocks", scan "sweep", function(s) return try(s.bind, s, s:loops("S")[2], "blockIdx.x") end, "raw"},
  {"stages of one launch, where a block reads what another block writes", with("ahead", 20, 3), function(s, Y, X)
    local o = s:split(s:loops(Y)[1], 20) -- one iteration, so both nests are inside it
    s:compute_at(X, o)
    s:bind(o, "blockIdx.y")
    return try(s.bind, s, s:loops(X)[2], "blockIdx.x")
  end, "raw"},
  {"a halo in local storage, computed by other threads", with("ahead", 34, 2), function(s, Y, X)
    local o, i = s:split(s:loops(Y)[1], 8)
    s:compute_at(X, o)
    s:set_scope(X, "local")
    s:bind(o, "blockIdx.x")
    return try(s.bind, s, i, "threadIdx.x")
  end, "raw"},
  {"shared storage made local, although other threads read it", with("ahead", 34, 2), function(s, Y, X)
    local _, i = halo(s, Y, X, 8)
    threads(s, X, "threadIdx.x")
    s:bind(i, "threadIdx.x")
    return try(s.set_scope, s, X, "local")
  end, "raw"},
  {"sums in local storage of each thread, written out by one thread", gemm(8), function(s, C)
    s:tile("i", "j", 4, 4)
    s:bind("i_o", "blockIdx.y")
    s:bind("j_o", "blockIdx.x")
    local sums = s:cache_write(C, "local", {at = "j_o"})
    return try(s.bind, s, s:loops(sums)[3], "threadIdx.y")
  end, "raw"},
  {"more threads than a block holds", with("map", 2048), function(s) return try(s.bind, s, "i", "threadIdx.x") end, "capacity"},
  {"more threads than a block holds, in two dimensions", with("map", 64, 64), function(s)
    s:bind("i", "threadIdx.y")
    return try(s.bind, s, "j", "threadIdx.x")
  end, "capacity"},
  {"more iterations than threadIdx.z has values", with("map", 128), function(s)
    return try(s.bind, s, "i", "threadIdx.z")
  end, "capacity"},
  {"a symbolic number of threads", symbolic_map, function(s) return try(s.bind, s, "j", "threadIdx.x") end, "capacity"},
  {"more shared storage than a block has", gemm(128), function(s, C, A)
    return try(s.cache_read, s, A, "shared", {C})
  end, "capacity"},
  {"shared storage that is too large because each virtual thread has a copy", with("map", 16384), function(s, Z, A)
    s:split("i", 8192)
    s:cache_read(A, "shared", {Z}, {at = "i_o"})
    return try(s.bind, s, "i_o", "vthread")
  end, "capacity"},
  {"a loop bound to the same tag as the loop around it", with("map", 8, 8), function(s)
    s:bind("i", "threadIdx.x")
    return try(s.bind, s, "j", "threadIdx.x")
  end, "structure"},
  {"a loop bound twice", with("map", 8, 8), function(s)
    s:bind("i", "threadIdx.x")
    return try(s.bind, s, "i", "threadIdx.y")
  end, "structure"},
  {"blocks inside threads", with("map", 8, 8), function(s)
    s:bind("i", "threadIdx.x")
    return try(s.bind, s, "j", "blockIdx.x")
  end, "structure"},
  {"blocks inside a virtual thread", with("map", 8, 8), function(s)
    s:bind("i", "vthread")
    return try(s.bind, s, "j", "blockIdx.x")
  end, "structure"},
  {"threads moved outside of their blocks", with("map", 8, 8), function(s)
    s:bind("i", "blockIdx.x")
    s:bind("j", "threadIdx.x")
    return try(s.reorder, s, "j", "i")
  end, "structure"},
  {"threads of a grid and parallel threads in one nest", with("map", 8, 8), function(s)
    s:parallel "i"
    return try(s.bind, s, "j", "threadIdx.x")
  end, "structure"},
  {"parallel threads in a program with threads of a grid", with("ahead", 20, 3), function(s, Y, X)
    s:bind(s:loops(Y)[1], "threadIdx.x")
    return try(s.parallel, s, s:loops(X)[1])
  end, "structure"},
  {"a thread of a grid in a lane of a vector", with("map", 8, 8), function(s)
    s:vectorize "i"
    return try(s.bind, s, "j", "threadIdx.x")
  end, "structure"},
  {"shared storage outside of its blocks", with("ahead", 34, 2), function(s, Y, X)
    s:set_scope(X, "shared")
    return try(s.bind, s, s:loops(Y)[1], "blockIdx.x")
  end, "structure"},
  {"a split of a bound loop", with("map", 8), function(s)
    s:bind("i", "threadIdx.x")
    return try(s.split, s, "i", 4)
  end, "structure"},
}

return {legal = legal, illegal = illegal}
