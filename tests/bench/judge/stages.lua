--- The rows move, recompute, inline and cache stages.
local nests = require "_nests"
local nw = require "nestwright"

local with = nests.with
local function gemm(...) return with("gemm", ...) end
local function symbolic_blur() return nests.blur(nw.size "H", nw.size "W") end

-- Makes X = 2A and Y. Row i of Y reads the rows i and i + 1 of X.
local function rows_ahead(m, n)
  local A = nw.placeholder({m, n}, "f32", "A")
  local X = nw.compute({m, n}, function(i, j) return A(i, j) * 2 end, "X")
  local Y = nw.compute({m - 1, n}, function(i, j) return X(i, j) + X(i + 1, j) end, "Y")
  return nw.schedule(Y), Y, X, A
end

local legal = {
  {"a stage computed at its reader's rows, which overlap", with("blur", 8, 9), function(s, _, X) s:compute_at(X, "y_1") end},
  {"a stage computed at its reader's innermost loop", with("blur", 5, 6), function(s, _, X) s:compute_at(X, "x_1") end},
  {"a stage computed at a tile that does not divide the extents", with("blur", 9, 11), function(s, _, X)
    local _, xo = s:tile("y_1", "x_1", 4, 4)
    s:compute_at(X, xo)
  end},
  {"a stage computed at a parallel row, with storage for each row", with("blur", 8, 8), function(s, _, X)
    local yo = s:split("y_1", 3)
    s:compute_at(X, yo)
    s:parallel(yo)
  end},
  {"a loop made parallel, then a stage computed inside it", with("blur", 8, 8), function(s, _, X)
    s:parallel "y_1"
    s:compute_at(X, "y_1")
  end},
  {"a stage moved in, and back to the root", with("blur", 6, 6), function(s, _, X)
    s:compute_at(X, "y_1")
    s:compute_root(X)
  end},
  {"symbolic rows that overlap", symbolic_blur, function(s, _, X) s:compute_at(X, "y_1") end},
  {"symbolic tiles that overlap", symbolic_blur, function(s, _, X)
    local _, xo = s:tile("y_1", "x_1", 4, 8)
    s:compute_at(X, xo)
  end},
  {"a stage that looks far ahead inlined", with("ahead", 20, 7), function(s, _, X) s:compute_inline(X) end},
  {"a stage that looks far ahead computed at its reader", with("ahead", 20, 7), function(s, _, X)
    s:compute_at(X, s:loops "Y"[1])
  end},
  {"a blur inlined", with("blur", 5, 5), function(s, _, X) s:compute_inline(X) end},
  {"a stage with two readers inlined", with("fork", 9), function(s, _, _, X) s:compute_inline(X) end},
  {"the second of three stages inlined", with("layer", 5, 6, 7), function(s, _, P) s:compute_inline(P) end},
  {"a product computed at a tile of its reader", with("layer", 8, 9, 5), function(s, _, P, C)
    s:compute_inline(P)
    local _, jo = s:tile("i_2", "j_2", 4, 4)
    s:compute_at(C, jo)
  end},
  {"a chain of three, the first two computed at a row of the third", with("layer", 6, 7, 5), function(s, _, P, C)
    s:compute_at(P, s:loops "R"[1])
    s:compute_at(C, s:loops "R"[1])
  end},
  {"maxima and differences, both computed at the row of the sum", with("centred", 6, 7), function(s, S, E, M)
    s:compute_at(E, s:loops(S)[1])
    s:compute_at(M, s:loops(S)[1])
    s:parallel(s:loops(S)[1])
  end},
  {"a difference inlined into a sum", with("centred", 5, 9), function(s, _, E) s:compute_inline(E) end},
  {"a padding inlined into a convolution", with("depthwise", 2, 4, 5), function(s, _, P) s:compute_inline(P) end},
  {"a padding computed at a row of a convolution", with("depthwise", 2, 5, 6), function(s, _, P) s:compute_at(P, "y_1") end},
  {"an input read through a copy", gemm(7, 8, 9), function(s, C, A) s:cache_read(A, "global", {C}) end},
  {"an input read through a local copy at each row", gemm(7, 8, 9), function(s, C, A)
    s:cache_read(A, "local", {C}, {at = "i"})
  end},
  {"an input packed into panels, the last of which is not full", gemm(5, 13, 6), function(s, C, _, B)
    s:cache_read(B, "global", {C}, {layout = function(k, j) return j // 4, k, j % 4 end})
  end},
  {"an input copied in transposed form at each strip of columns", gemm(8, 12, 6), function(s, C, _, B)
    local jo = s:split("j", 5)
    s:cache_read(B, "global", {C}, {layout = function(k, j) return j, k end, at = jo})
  end},
  {"a stencil's input read through a copy at each tile", with("blur", 9, 9), function(s, _, X, A)
    local yo = s:split("y", 4)
    s:cache_read(A, "local", {X}, {at = yo})
  end},
  {"a product in a local block", gemm(9, 10, 5), function(s, C)
    local _, jo = s:tile("i", "j", 4, 4)
    s:cache_write(C, "local", {at = jo})
  end},
  {"a product in a local block, its loops reordered and marked", gemm(8, 8, 6), function(s, C)
    local _, jo = s:tile("i", "j", 4, 4)
    local block = s:cache_write(C, "local", {at = jo})
    local loops = s:loops(block)
    local i, j, k = loops[#loops - 2], loops[#loops - 1], loops[#loops]
    s:reorder(k, i, j)
    s:vectorize(j)
    s:unroll(i)
  end},
  {"an output written through a buffer with another layout", with("map", 6, 9), function(s, Z)
    s:cache_write(Z, "global", {layout = function(i, j) return j, i end})
  end},
  {"a temporary moved to the stack", with("ahead", 30, 2), function(s, _, X) s:set_scope(X, "local") end},
  {"a copy of a copy", gemm(5), function(s, C, A)
    local a = s:cache_read(A, "global", {C})
    s:cache_read(a, "local", {C}, {at = "i"})
  end},
  {"an argmin computed at the row of its reader", function()
    local A = nw.placeholder({5, 7}, "f32", "A")
    local k = nw.reduce_axis(7, "k")
    local V, I = nw.compute({5}, function(i) return nw.argmin(A(i, k), k) end, "V")
    local Z = nw.compute({5}, function(i) return V(i) + nw.cast(I(i), "f32") end, "Z")
    return nw.schedule(Z), V, Z
  end, function(s, V, Z) s:compute_at(V, s:loops(Z)[1]) end},
  {"a recurrence and its reader, the reader split and in parallel", function()
    local A = nw.placeholder({5, 8}, "f32", "A")
    local S = nw.scan_state({5, 8}, "f32", "S_state")
    local first = nw.compute({1, 8}, function(t, x) return A(t, x) end, "first")
    local update = nw.compute({5, 8}, function(t, x) return S(t - 1, x) + A(t, x) end, "update")
    local R = nw.scan(first, update, S, "S")
    local Z = nw.compute({5, 8}, function(t, x) return R(t, x) * 2 end, "Z")
    return nw.schedule(Z), Z
  end, function(s, Z)
    s:parallel(s:loops(Z)[1])
    s:split(s:loops(Z)[2], 3)
  end},
  {"a stage computed at tiles that also need the next row", function() return rows_ahead(10, 6) end, function(s, _, X)
    local o = s:split(s:loops "Y"[1], 4)
    s:compute_at(X, o)
    s:vectorize(s:loops(X)[#s:loops(X)])
  end},
  {"a gather from a copy of its table", function()
    local T, I = nw.placeholder({16}, "f32", "T"), nw.placeholder({9}, "i32", "I")
    local G = nw.compute({9}, function(i) return T(nw.max(nw.min(I(i), 15), 0)) end, "G")
    return nw.schedule(G), G, T
  end, function(s, G, T)
    s:cache_read(T, "local", {G})
    s:parallel(s:loops(G)[1])
  end},
  {"a stage computed in its reader's vector loop", with("ahead", 20, 2), function(s, Y, X)
    local _, lane = s:split(s:loops(Y)[1], 6)
    s:vectorize(lane)
    s:compute_at(X, lane)
  end},
}

local illegal = {
  {"an output inlined", with("ahead", 20, 2), function(s, Y) return function() s:compute_inline(Y) end end, "structure"},
  {"a reduction inlined", with("layer", 4, 4, 4), function(s, _, _, C)
    return function() s:compute_inline(C) end
  end, "structure"},
  {"an inlined 16-bit sum, which would no longer be rounded", function()
    local A = nw.placeholder({8}, "f16", "A")
    local X = nw.compute({8}, function(i) return A(i) * A(i) end, "X")
    local Y = nw.compute({8}, function(i) return X(i) + A(i) end, "Y")
    return nw.schedule(Y), X
  end, function(s, X) return function() s:compute_inline(X) end end, "structure"},
  {"a reader computed inside the stage that it reads", with("ahead", 20, 2), function(s, Y, X)
    return function() s:compute_at(Y, s:loops(X)[1]) end
  end, "structure"},
  {"a stage computed inside itself", with("ahead", 20, 2), function(s, _, X)
    return function() s:compute_at(X, s:loops(X)[1]) end
  end, "structure"},
  {"a stage computed at one of two readers", with("fork", 9), function(s, Y, _, X)
    return function() s:compute_at(X, s:loops(Y)[1]) end
  end, "structure"},
  {"a product computed at a loop of a stage that does not read it", with("layer", 6, 6, 6), function(s, R, _, C)
    return function() s:compute_at(C, s:loops(R)[1]) end
  end, "structure"},
  {"a layout that puts two elements in one place", gemm(8), function(s, C, _, B)
    return function() s:cache_read(B, "global", {C}, {layout = function(k, j) return k // 2, j end}) end
  end, "structure"},
  {"a layout that takes the last dimension modulo 4", gemm(8), function(s, C)
    return function() s:cache_write(C, "global", {layout = function(i, j) return i, j % 4 end}) end
  end, "structure"},
  {"a block too large for the stack", gemm(1024), function(s, C)
    return function() s:cache_write(C, "local") end
  end, "capacity"},
  {"a copy of symbolic size on the stack", function() return nests.gemm(nw.size "M", 8, 8) end, function(s, C, A)
    return function() s:cache_read(A, "local", {C}) end
  end, "capacity"},
  {"a copy of a tensor that the stage does not read", gemm(8), function(s, C)
    return function() s:cache_read(C, "global", {C}) end
  end, "structure"},
  {"an argument moved to the stack", gemm(8), function(s, _, A)
    return function() s:set_scope(A, "local") end
  end, "structure"},
  {"an output moved to the stack", gemm(8), function(s, C)
    return function() s:set_scope(C, "local") end
  end, "structure"},
  {"a recurrence read through a copy", with("recurrence", 5, 6, nests.step.column), function(s)
    return function() s:cache_read("S", "global", {"S"}) end
  end, "raw"},
  {"a write buffer for a reduction whose init was split off", gemm(8), function(s, C)
    s:decompose_reduction(C, "k")
    return function() s:cache_write(C, "local") end
  end, "structure"},
  {"a stage moved after its init was split off", with("layer", 6, 6, 6), function(s, _, P, C)
    s:decompose_reduction(C, "i")
    return function() s:compute_at(C, s:loops(P)[1]) end
  end, "structure"},
  {"a window that slides from lane to lane", with("ahead", 20, 2), function(s, Y, X)
    local o, lane = s:split(s:loops(Y)[1], 6)
    s:vectorize(lane)
    s:compute_at(X, lane)
    return function() s:store_at(X, o) end
  end, "raw"},
}

return {legal = legal, illegal = illegal}
