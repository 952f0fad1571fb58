--- The rows make steps on storage: streaming stores, strides, orders and layouts of temporaries, prefetches, and settings that are
--- attached to loops and stages.
local nests = require "_nests"
local nw = require "nestwright"

local with = nests.with

-- Returns a function that makes P = 2A and Y = P + 1, of shape m x n. If `n` is a table, it holds the facts about a symbolic number
-- of columns.
local function pair(m, n, dtype)
  return function()
    local rows, columns = m, n
    if type(n) == "table" then columns = nw.size("N", n) end
    local A = nw.placeholder({rows, columns}, dtype or "f32", "A")
    local P = nw.compute({rows, columns}, function(i, j) return A(i, j) * 2 end, "P")
    local Y = nw.compute({rows, columns}, function(i, j) return P(i, j) + 1 end, "Y")
    return nw.schedule(Y), Y, P, A
  end
end

local function volume(a, b, c)
  return function()
    local A = nw.placeholder({a, b, c}, "f32", "A")
    local P = nw.compute({a, b, c}, function(i, j, k) return A(i, j, k) * 2 end, "P")
    local Y = nw.compute({c, b, a}, function(i, j, k) return P(k, j, i) + 1 end, "Y")
    return nw.schedule(Y), Y, P, A
  end
end

local function recurrence(m, n)
  return function()
    local A = nw.placeholder({m, n}, "f32", "A")
    local state = nw.scan_state({m, n}, "f32", "state")
    local first = nw.compute({1, n}, function(t, x) return A(t, x) end, "first")
    local update = nw.compute({m, n}, function(t, x) return state(t - 1, x) + A(t, x) end, "update")
    local S = nw.scan(first, update, state, "S")
    return nw.schedule(S), S, A
  end
end

-- Splits the last loop of a stage and vectorizes it.
local function vectorize(s, stage, lanes)
  local loops = s:loops(stage)
  local outer, inner = s:split(loops[#loops], {factor = lanes, tail = "cut"})
  s:vectorize(inner)
  return outer
end

local legal = {
  {"vectors of a pointwise stage streamed", pair(6, 64), function(s, Y)
    vectorize(s, Y, 16)
    s:stream_stores(Y)
  end},
  {"vectors of 16 bytes streamed", pair(6, 20), function(s, Y)
    vectorize(s, Y, 4)
    s:stream_stores(Y)
  end},
  {"bytes streamed in whole cache lines", pair(4, 192, "u8"), function(s, Y)
    vectorize(s, Y, 64)
    s:stream_stores(Y)
  end},
  {"a cut tail with ordinary stores", pair(3, 64), function(s, Y)
    s:split(s:loops(Y)[1], {factor = 2, tail = "cut"})
    vectorize(s, Y, 16)
    s:stream_stores(Y)
  end},
  {"a streamed stage, then shared among threads and unrolled", pair(8, 64), function(s, Y)
    local jo = vectorize(s, Y, 16)
    s:stream_stores(Y)
    s:parallel(s:loops(Y)[1])
    s:unroll(jo)
  end},
  {"a reduction summed in a local tile and copied out by streaming stores", with("gemm", 8, 32, 5), function(s, C)
    vectorize(s, C, 1)
    s:undo()
    s:undo()
    local _, ji = s:split("j", 16)
    s:reorder("i", "j_o", ji, "k")
    s:cache_write(C, "local", {at = "j_o"})
    s:vectorize(ji)
    s:stream_stores(C)
  end},
  {"a temporary in memory streamed", pair(8, 64), function(s, _, P)
    vectorize(s, P, 16)
    s:stream_stores(P)
  end},
  {"a temporary with rows of 50 elements streamed, its rows aligned", pair(8, 50), function(s, _, P)
    s:storage_align(P, 0, 16)
    vectorize(s, P, 16)
    s:stream_stores(P)
  end},
  {"a symbolic row streamed, whose length is a multiple of the vector", pair(4, {min = 16, multiple = 16}), function(s, Y)
    vectorize(s, Y, 16)
    s:stream_stores(Y)
  end},
  {"a scan whose rows are streamed", recurrence(6, 32), function(s, S)
    vectorize(s, S, 16)
    s:stream_stores(S)
  end},
  {"panels of a packed copy streamed", with("gemm", 8, 32, 6), function(s, C, _, B)
    local packed = s:cache_read(B, "global", {C}, {layout = function(k, j) return j // 16, k, j % 16 end})
    vectorize(s, packed, 16)
    s:stream_stores(packed)
  end},
  {"rows padded to lines", pair(7, 13), function(s, _, P) s:storage_align(P, 0, 16) end},
  {"rows that begin one element after a line", pair(7, 32), function(s, _, P) s:storage_align(P, 0, 32, 1) end},
  {"gaps between the elements of the innermost dimension", pair(3, 5), function(s, _, P) s:storage_align(P, 1, 4) end},
  {"planes and rows aligned", volume(3, 5, 7), function(s, _, P)
    s:storage_align(P, 1, 8)
    s:storage_align(P, 0, 64, 8)
  end},
  {"the strides of a stage that is computed inside a tile", with("blur", 9, 11), function(s, _, X)
    local _, xo = s:tile("y_1", "x_1", 4, 4)
    s:compute_at(X, xo)
    s:storage_align(X, 0, 8)
  end},
  {"a stage aligned, then computed inside a row, on the stack", with("blur", 8, 8), function(s, _, X)
    s:storage_align(X, 0, 16)
    s:compute_at(X, "y_1")
    s:set_scope(X, "local")
  end},
  {"the strides of a temporary of symbolic rows", pair(6, {min = 1}), function(s, _, P) s:storage_align(P, 0, 16, 4) end},
  {"dimensions in reverse order", pair(6, 9), function(s, _, P) s:reorder_storage(P, {1, 0}) end},
  {"three dimensions permuted, then aligned", volume(4, 5, 6), function(s, _, P)
    s:reorder_storage(P, {2, 0, 1})
    s:storage_align(P, 0, 32)
  end},
  {"dimensions in reverse order, rows computed at their reader", pair(6, 9), function(s, Y, P)
    s:compute_at(P, s:loops(Y)[1])
    s:reorder_storage(P, {1, 0})
  end},
  {"the pieces of a layout reordered", pair(6, 16), function(s, _, P)
    s:transform_layout(P, function(i, j) return j // 4, i, j % 4 end)
    s:reorder_storage(P, {0, 2, 1})
  end},
  {"a layout in tiles of an awkward size", pair(7, 13), function(s, _, P)
    s:transform_layout(P, function(i, j) return i // 4, j // 4, i % 4, j % 4 end)
  end},
  {"rows skewed", pair(6, 8), function(s, _, P) s:transform_layout(P, function(i, j) return i + j, j end) end},
  {"rows rotated to avoid bank conflicts", pair(6, 8), function(s, _, P)
    s:transform_layout(P, function(i, j) return i, (j + i) % 8 end)
  end},
  {"a matrix stored backwards", pair(5, 6), function(s, _, P) s:transform_layout(P, function(i, j) return 4 - i, 5 - j end) end},
  {"two dimensions made one", pair(5, 6), function(s, _, P) s:transform_layout(P, function(i, j) return 6 * i + j end) end},
  {"gaps left in a layout", pair(5, 6), function(s, _, P) s:transform_layout(P, function(i, j) return i, 2 * j end) end},
  {"a symbolic dimension in panels", pair(5, {min = 1}), function(s, _, P)
    s:transform_layout(P, function(i, j) return j // 8, i, j % 8 end)
  end},
  {"the next row prefetched", pair(6, 40), function(s, _, _, A) s:prefetch(A, "i") end},
  {"a panel three blocks ahead prefetched in a product", with("gemm", 8, 32, 12), function(s, _, _, B)
    s:split("k", 4)
    s:reorder("k_o", "i", "j", "k_i")
    s:prefetch(B, "k_o", 3)
  end},
  {"a prefetch whose loops are split and cut", pair(10, 12), function(s, _, _, A)
    s:prefetch(A, "i", 2)
    s:split("i", {factor = 4, tail = "cut"})
    s:split("j", 4)
  end},
  {"the next time step of a scan prefetched", recurrence(6, 32), function(s, S, A) s:prefetch(A, s:loops(S)[1]) end},
  {"a written row prefetched", pair(6, 40), function(s, Y) s:prefetch(Y, s:loops(Y)[1]) end},
  {"iterations distributed dynamically among threads", pair(9, 12), function(s, Y)
    s:parallel(s:loops(Y)[1])
    s:pragma(s:loops(Y)[1], "schedule", "dynamic")
    s:pragma(s:loops(Y)[1], "chunk", 2)
  end},
  {"a guard that lowering must not remove", pair(9, 13), function(s, Y)
    local _, ji = s:split(s:loops(Y)[2], 4)
    s:pragma(s:loops(Y)[2], "partition", "never")
    s:vectorize(ji)
  end},
  {"multiply-adds forbidden for a product", with("gemm", 6), function(s, C)
    s:annotate(C, "fma", "never")
    s:reorder("k", "i", "j")
  end},
  {"an annotation made and removed", pair(4, 4), function(s, Y)
    s:annotate(Y, "note", "the last stage")
    s:annotate(Y, "note")
  end},
}

-- {what, make, legal preparation that returns the one illegal step, kind}
local illegal = {
  {"scalar stores streamed", pair(6, 64), function(s, Y) return function() s:stream_stores(Y) end end, "structure"},
  {"masked vectors streamed", pair(6, 50), function(s, Y)
    local _, ji = s:split(s:loops(Y)[2], 16)
    s:vectorize(ji)
    return function() s:stream_stores(Y) end
  end, "structure"},
  {"vectors of 24 bytes streamed", pair(6, 24), function(s, Y)
    vectorize(s, Y, 6)
    return function() s:stream_stores(Y) end
  end, "structure"},
  {"unaligned vectors streamed", pair(6, 50), function(s, Y)
    vectorize(s, Y, 16)
    return function() s:stream_stores(Y) end
  end, "structure"},
  {"a symbolic row of any length streamed", pair(4, {min = 16}), function(s, Y)
    vectorize(s, Y, 16)
    return function() s:stream_stores(Y) end
  end, "structure"},
  {"lanes along a column streamed", pair(16, 16), function(s, Y)
    local loops = s:loops(Y)
    s:reorder(loops[2], loops[1])
    s:vectorize(loops[1])
    return function() s:stream_stores(Y) end
  end, "structure"},
  {"updates of a reduction streamed", with("gemm", 16), function(s, C)
    s:reorder("k", "i", "j")
    s:vectorize "j"
    return function() s:stream_stores(C) end
  end, "structure"},
  {"a local tile streamed", with("gemm", 16), function(s, C)
    local block = s:cache_write(C, "local", {at = "i"})
    local loops = s:loops(block)
    s:reorder(loops[#loops], loops[#loops - 1])
    s:vectorize(loops[#loops - 1])
    s:decompose_reduction(block, loops[#loops])
    return function() s:stream_stores(block) end
  end, "structure"},
  {"a streamed stage computed at a row, which undoes its vectors", pair(8, 16), function(s, Y, P)
    s:vectorize(s:loops(P)[2])
    s:stream_stores(P)
    return function() s:compute_at(P, s:loops(Y)[1]) end
  end, "structure"},
  {"rows of streamed stores moved off the line boundaries", pair(8, 16), function(s, _, P)
    s:vectorize(s:loops(P)[2])
    s:stream_stores(P)
    return function() s:storage_align(P, 0, 16, 1) end
  end, "structure"},
  {"streamed vectors whose elements are not adjacent in a new layout", pair(8, 16), function(s, _, P)
    s:vectorize(s:loops(P)[2])
    s:stream_stores(P)
    return function() s:reorder_storage(P, {1, 0}) end
  end, "structure"},
  {"a streamed temporary moved to the stack", pair(8, 16), function(s, _, P)
    s:vectorize(s:loops(P)[2])
    s:stream_stores(P)
    return function() s:set_scope(P, "local") end
  end, "structure"},
  {"the rows of an input aligned", pair(4, 5), function(s, _, _, A)
    return function() s:storage_align(A, 0, 16) end
  end, "structure"},
  {"the dimensions of an output in reverse order", pair(4, 5), function(s, Y)
    return function() s:reorder_storage(Y, {1, 0}) end
  end, "structure"},
  {"two elements of an input in one place", pair(4, 5), function(s, _, _, A)
    return function() s:transform_layout(A, function(i, j) return j // 2, i end) end
  end, "structure"},
  {"two elements of an output in one place", pair(4, 5), function(s, Y)
    return function() s:transform_layout(Y, function(i, j) return i % 3, j end) end
  end, "structure"},
  {"an output with positions that nothing writes", pair(4, 5), function(s, Y)
    return function() s:transform_layout(Y, function(i, j) return j // 4, i, j % 4 end) end
  end, "structure"},
  {"an output of symbolic size with positions that nothing writes", pair(4, {min = 1}), function(s, Y)
    return function() s:transform_layout(Y, function(i, j) return j // 4, i, j % 4 end) end
  end, "structure"},
  {"rows on the stack that are too far apart", pair(64, 16), function(s, _, P)
    s:set_scope(P, "local")
    return function() s:storage_align(P, 0, 4096) end
  end, "capacity"},
  {"two elements of a row in one place", pair(4, 6), function(s, _, P)
    return function() s:transform_layout(P, function(i, j) return i, j // 2 end) end
  end, "war"},
  {"two rows in one place", pair(4, 6), function(s, _, P)
    return function() s:transform_layout(P, function(i, j) return i % 3, j end) end
  end, "war"},
  {"a layout that is the sum of the indices", pair(4, 6), function(s, _, P)
    return function() s:transform_layout(P, function(i, j) return i + j end) end
  end, "war"},
  {"a linear layout whose rows are too short", pair(4, 6), function(s, _, P)
    return function() s:transform_layout(P, function(i, j) return 5 * i + j end) end
  end, "war"},
  {"a layout that begins before its storage", pair(4, 6), function(s, _, P)
    return function() s:transform_layout(P, function(i, j) return i - 1, j end) end
  end, "structure"},
  {"a row rotated over too few places", pair(4, 6), function(s, _, P)
    return function() s:transform_layout(P, function(i, j) return i, (j + i) % 5 end) end
  end, "war"},
  {"a prefetch of data that the loop does not use", pair(4, 6), function(s, Y, _, A)
    return function() s:prefetch(A, s:loops(Y)[1]) end
  end, "structure"},
  {"a prefetch in each lane", pair(4, 16), function(s, Y, P)
    s:vectorize(s:loops(Y)[2])
    return function() s:prefetch(P, s:loops(Y)[2]) end
  end, "structure"},
  {"a loop with a prefetch vectorized", pair(4, 16), function(s, Y, P)
    s:prefetch(P, s:loops(Y)[2])
    return function() s:vectorize(s:loops(Y)[2]) end
  end, "structure"},
  {"a copy after which a prefetch has no use", pair(4, 16), function(s, _, _, A)
    s:prefetch(A, "i")
    return function() s:cache_read(A, "global") end
  end, "structure"},
  {"a prefetched stage inlined", pair(4, 16), function(s, Y, P)
    s:prefetch(P, s:loops(Y)[1])
    return function() s:compute_inline(P) end
  end, "structure"},
  {"the pragma for thread schedules on a loop without threads", pair(4, 16), function(s)
    return function() s:pragma("i", "schedule", "dynamic") end
  end, "structure"},
  {"a loop with a pragma split", pair(4, 16), function(s)
    s:pragma("i", "partition", "never")
    return function() s:split("i", 2) end
  end, "structure"},
  {"a stage with an annotation inlined", pair(4, 16), function(s, _, P)
    s:annotate(P, "fma", "never")
    return function() s:compute_inline(P) end
  end, "structure"},
  {"time in parallel in a scan whose rows are streamed", recurrence(6, 32), function(s, S)
    vectorize(s, S, 16)
    s:stream_stores(S)
    return function() s:parallel(s:loops(S)[1]) end
  end, "raw"},
}

return {legal = legal, illegal = illegal}
