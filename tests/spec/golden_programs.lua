--- Lists schedules by name, with the steps that make them. Golden files hold the program after each step. tests/cross runs the
--- scheduled programs.
package.path = "tests/tools/?.lua;" .. package.path
local kernels = require "microkernels"
local support = require "support"
local nw = require "nestwright"

-- Makes the sum of a hundred numbers.
local function total()
  local A = nw.placeholder({100}, "f32", "A")
  local k = nw.reduce_axis(100, "k")
  local S = nw.compute({1}, function(_) return nw.sum(A(k), k) end, "S")
  return nw.schedule(S), S
end

-- In each entry, `make` returns a schedule and further values. `steps` is a list of functions. Each function takes these values and
-- makes one step.
local programs = {}

programs.gemm_walk = {
  make = function() return support.gemm(256) end,
  lowered = true,
  steps = {
    function(s) s:tile("i", "j", 64, 32) end,
    function(s) s:split("k", 4) end,
    function(s) s:reorder("i_o", "j_o", "k_o", "k_i", "i_i", "j_i") end,
    function(s) s:vectorize "j_i" end,
    function(s) s:reorder("i_o", "j_o", "k_o", "i_i", "k_i", "j_i") end,
    function(s, C, _, B) s:cache_read(B, "global", {C}, {layout = function(k, j) return j // 32, k, j % 32 end}) end,
    function(s) s:split("i_i", 8) end,
    function(s, C) s:cache_write(C, "local", {at = "i_i_o"}) end,
    function(s)
      local loops = s:loops "C_local"
      s:reorder(loops[#loops], loops[#loops - 2], loops[#loops - 1])
    end,
    function(s) s:vectorize(s:loops "C_local"[6]) end,
    function(s) s:unroll(s:loops "C_local"[5]) end,
    function(s) s:unroll "i_i_i" end,
    function(s) s:parallel "i_o" end,
  },
}

programs.atomic = {
  make = total,
  lowered = true,
  steps = {
    function(s) s:split("k", 8) end,
    function(s, S) s:atomic(S) end,
    function(s) s:parallel "k_o" end,
  },
}

programs.rfactor = {
  make = total,
  lowered = true,
  steps = {
    function(s) s:split("k", 8) end,
    function(s, S) s:rfactor(S, "k_i") end,
    function(s) s:vectorize "k_i" end,
  },
}

programs.lanes = {
  make = total,
  lowered = true,
  steps = {
    function(s) s:split("k", 24) end,
    function(s) s:vectorize("k_i", {reduce = "tree"}) end,
  },
}

programs.tensorized = {
  make = function() return support.gemm(64) end,
  lowered = true,
  steps = {
    function(s) s:tile("i", "j", 4, 8) end,
    function(s) s:split("k", 2) end,
    function(s) s:reorder("i_o", "j_o", "k_o", "i_i", "j_i", "k_i") end,
    function(s, C, _, B) s:cache_read(B, "global", {C}, {layout = function(k, j) return j // 8, k, j % 8 end}) end,
    function(s, C) s:decompose_reduction(C, "k_o") end,
    function(s) s:tensorize("i_i", kernels.gemm {name = "mm_f32", m = 4, n = 8, k = 2, dtype = "f32"}) end,
    function(s) s:parallel "i_o" end,
  },
}

programs.blur = {
  make = function()
    local In = nw.placeholder({66, 130}, "f32", "In")
    local X = nw.compute({66, 128}, function(y, x) return (In(y, x) + In(y, x + 1) + In(y, x + 2)) / 3 end, "blur_x")
    local Y = nw.compute({64, 128}, function(y, x) return (X(y, x) + X(y + 1, x) + X(y + 2, x)) / 3 end, "blur_y")
    return nw.schedule(Y), X, Y
  end,
  lowered = true,
  steps = {
    function(s, _, Y) s:tile(s:loops(Y)[1], s:loops(Y)[2], 8, 32) end,
    function(s, X, Y) s:compute_at(X, s:loops(Y)[2]) end,
    function(s, X) s:vectorize(s:loops(X)[4]) end,
    function(s, _, Y) s:vectorize(s:loops(Y)[4]) end,
    function(s, X) s:set_scope(X, "local") end,
    function(s, _, Y) s:parallel(s:loops(Y)[1]) end,
  },
}

programs.sliding = {
  make = programs.blur.make,
  lowered = true,
  steps = {
    function(s, _, Y) s:split(s:loops(Y)[1], 16) end,
    function(s, X, Y) s:compute_at(X, s:loops(Y)[2], {index = 1}) end,
    function(s, X) s:split(s:loops(X)[4], 16) end,
    function(s, X) s:vectorize(s:loops(X)[5]) end,
    function(s, X, Y) s:store_at(X, s:loops(Y)[1]) end,
    function(s, X) s:rolling_buffer(X) end,
    function(s, X) s:set_scope(X, "local") end,
    function(s, _, Y) s:parallel(s:loops(Y)[1]) end,
  },
}

-- A stage is moved into a loop, and then back to the root.
programs.root = {
  make = programs.blur.make,
  lowered = true,
  steps = {
    function(s, X, Y) s:compute_at(X, s:loops(Y)[1]) end,
    function(s, X) s:set_scope(X, "local") end,
    function(s, X) s:compute_root(X) end,
  },
}

-- A product whose tiles of B are copied one iteration ahead. P is moved into the loop over i, and R is inlined into P.
programs.ahead = {
  make = function()
    local A, B = nw.placeholder({32, 32}, "f32", "A"), nw.placeholder({32, 32}, "f32", "B")
    local k = nw.reduce_axis(32, "k")
    local C = nw.compute({32, 32}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
    local P = nw.compute({32, 32}, function(i, j) return C(i, j) + 1 end, "P")
    local R = nw.compute({32, 32}, function(i, j) return nw.max(P(i, j), 0) end, "R")
    return nw.schedule(R), C, P, R, B
  end,
  lowered = true,
  steps = {
    function(s) s:split("k", 8) end,
    function(s) s:reorder("i", "k_o", "j", "k_i") end,
    function(s, C, _, _, B) s:cache_read(B, "global", {C}, {at = "k_o"}) end,
    function(s) s:double_buffer "B_global" end,
    function(s, _, P) s:reverse_compute_at(P, "i") end,
    function(s, _, _, R) s:reverse_compute_inline(R) end,
  },
}

-- A product on a grid, whose operands are copied to shared storage asynchronously, two iterations ahead.
programs.async = {
  make = function() return support.gemm(32) end,
  lowered = true,
  steps = {
    function(s) s:tile("i", "j", 8, 8) end,
    function(s) s:split("k", 4) end,
    function(s) s:reorder("i_o", "j_o", "k_o", "i_i", "j_i", "k_i") end,
    function(s, C, A) s:cache_read(A, "shared", {C}, {at = "k_o"}) end,
    function(s, C, _, B) s:cache_read(B, "shared", {C}, {at = "k_o"}) end,
    function(s) s:double_buffer("A_shared", 2) end,
    function(s) s:double_buffer("B_shared", 2) end,
    function(s) s:bind("i_o", "blockIdx.y") end,
    function(s) s:bind("j_o", "blockIdx.x") end,
    function(s)
      for _, stage in ipairs(s:stages()) do
        if stage.name ~= "C" then
          local loops = s:loops(stage)
          s:bind(loops[#loops], "threadIdx.x")
        end
      end
    end,
    function(s) s:bind("i_i", "threadIdx.x") end,
    function(s) s:async_copy "A_shared" end,
    function(s) s:async_copy "B_shared" end,
  },
}

programs.scan = {
  make = function()
    local A = nw.placeholder({32, 20}, "f32", "A")
    local state = nw.scan_state({32, 20}, "f32", "state")
    local first = nw.compute({1, 20}, function(t, x) return A(t, x) end, "first")
    local update = nw.compute({32, 20}, function(t, x)
      return state(t - 1, nw.max(x - 1, 0)) + state(t - 1, x) + A(t, x)
    end, "update")
    return nw.schedule(nw.scan(first, update, state, "S"))
  end,
  steps = {
    function(s) s:split(s:loops "S"[2], 8) end,
    function(s) s:vectorize(s:loops "S"[3]) end,
  },
}

-- The heat equation, with the schedule that Pluto (a polyhedral compiler) makes. The loops are skewed and tiled, and the tiles of a
-- wavefront run in parallel.
programs.wavefront = {
  make = function()
    local A = nw.placeholder({1, 50}, "f32", "A")
    local H = nw.scan_state({20, 50}, "f32", "H")
    local first = nw.compute({1, 50}, function(t, x) return A(t, x) end, "first")
    local update = nw.compute({20, 50}, function(t, x)
      return H(t - 1, nw.max(x - 1, 0)) + H(t - 1, x) + H(t - 1, nw.min(x + 1, 49))
    end, "update")
    return nw.schedule(nw.scan(first, update, H, "S"))
  end,
  lowered = true,
  steps = {
    function(s) s:skew("x_1", "t_1", 1) end,
    function(s) s:tile("t_1", "x_1", 4, 8) end,
    function(s) s:skew("x_1_o", "t_1_o", 1) end,
    function(s) s:reorder("x_1_o", "t_1_o") end,
    function(s) s:parallel "t_1_o" end,
  },
}

-- Each row reads an element to the right in the row before. The loop over columns is reversed, so that it can run outside.
programs.reversed = {
  make = function()
    local A, H = nw.placeholder({1, 50}, "f32", "A"), nw.scan_state({20, 50}, "f32", "H")
    local first = nw.compute({1, 50}, function(t, x) return A(t, x) end, "first")
    local update = nw.compute({20, 50}, function(t, x) return H(t - 1, nw.min(x + 1, 49)) + H(t - 1, x) end, "update")
    return nw.schedule(nw.scan(first, update, H, "S"))
  end,
  lowered = true,
  steps = {
    function(s) s:reverse "x_1" end,
    function(s) s:reorder("x_1", "t_1") end,
    function(s) s:split("x_1", {factor = 16, tail = "cut"}) end,
    function(s) s:reverse "x" end,
  },
}

programs.loops = {
  make = function()
    local M = nw.size("M", {min = 1})
    local A = nw.placeholder({M, 64, 30}, "f32", "A")
    local C = nw.compute({M, 64, 30}, function(i, j, k) return A(i, j, k) * 2 end, "C")
    return nw.schedule(C), M
  end,
  steps = {
    function(s) s:split("j", {factors = {4, 8}}) end,
    function(s) s:split("i", {factors = {2, 3}, tail = "cut"}) end,
    function(s) s:shift("j_0", 3) end,
    function(s, M) s:shift("j_1", M // 2 + 1) end,
    function(s) s:add_unit_loop(s:loop "k") end,
    function(s) s:unroll("k", 4, {tail = "cut"}) end,
    function(s) s:remove_unit_loop "u" end,
    function(s) s:unmark "k_i" end,
    function(s) s:tile("j_0", "j_1", "j_2", 2, 4, 3) end,
  },
}

programs.nests = {
  make = function()
    local A, B = nw.placeholder({8, 10}, "f32", "A"), nw.placeholder({6, 12}, "f32", "B")
    local X = nw.compute({8, 10}, function(i, j) return A(i, j) + 1 end, "X")
    local Y = nw.compute({6, 12}, function(i, j) return nw.exp(B(i, j)) end, "Y")
    local Z = nw.compute({6, 10}, function(i, j) return X(i, j) * Y(i, j) end, "Z")
    return nw.schedule(Z), X, Y, Z
  end,
  lowered = true,
  steps = {
    function(s, X, Y) s:reorder_stmts(X, Y) end,
    function(s) s:create_fused_loop("i_1", "i") end,
    function(s) s:undo(2) end,
    function(s) s:compute_at("Y", "i_2") end,
    function(s) s:fission("i_2", {after = "Y"}) end,
    function(s) s:undo() end,
    function(s) s:cut("i", 6) end,
    function(s) s:reorder_stmts("i.head", "i.rest") end,
    function(s) s:merge("i.head", "i_2") end,
    function(s, X, Y) s:create_fused_loop(s:loops(X)[2], s:loops(Y)[2]) end,
  },
}

programs.cut_tail = {
  make = function()
    local A = nw.placeholder({100, 30}, "f32", "A")
    local C = nw.compute({100, 30}, function(i, j) return A(i, j) * 2 end, "C")
    return nw.schedule(C)
  end,
  steps = {
    function(s) s:split("i", {factor = 32, tail = "cut"}) end,
    function(s) s:split("j", {factor = 16, tail = "predicate"}) end,
    function(s) s:vectorize "i.tail/j" end,
  },
}

programs.cut_join = {
  make = function()
    local M = nw.size "M"
    local A = nw.placeholder({M, 30}, "f32", "A")
    local k = nw.reduce_axis(30, "k")
    local R = nw.compute({M}, function(i) return nw.sum(A(i, k), k) end, "R")
    return nw.schedule(R)
  end,
  steps = {
    function(s) s:cut("i", "M // 2") end,
    function(s) s:cut("i.rest/k", 8, 24) end,
    function(s) s:split("i.rest/k.2", 8) end,
    function(s) s:cut("i.head", 0) end,
    function(s) s:vectorize "i.head.head" end,
    function(s) s:cut("i.head.rest/k", 16) end,
    function(s) s:join("i.head.rest/k.head", "i.head.rest/k.rest") end,
  },
}

programs.partition_padded = {
  make = function()
    local H, W = nw.size("H", {min = 0}), nw.size("W", {min = 0})
    local A, F = nw.placeholder({H, W}, "f32", "A"), nw.placeholder({3, 3}, "f32", "F")
    local r, q = nw.reduce_axis(3, "r"), nw.reduce_axis(3, "q")
    local Y = nw.compute({H, W}, function(y, x)
      local v, u = y + r - 1, x + q - 1
      local inside = nw.all(nw.ge(v, 0), nw.lt(v, H), nw.ge(u, 0), nw.lt(u, W))
      return nw.sum(nw.select(inside, A(v, u), 0) * F(r, q), r, q)
    end, "Y")
    return nw.schedule(Y)
  end,
  lowered = true,
  steps = {
    function(s) s:partition "y" end,
    function(s) s:partition "y.main/x" end,
    function(s) s:split("y.main/x.main", 8) end,
    function(s) s:partition "y.main/x.main_o" end,
  },
}

programs.specialize = {
  make = function()
    local M, N = nw.size("M", {min = 0}), nw.size "N"
    local A = nw.placeholder({M, N}, "f32", "A")
    local X = nw.compute({M, N}, function(i, j) return A(i, j) * 2 end, "X")
    local k = nw.reduce_axis(N, "k")
    local R = nw.compute({M}, function(i) return nw.sum(X(i, k), k) end, "R")
    return nw.schedule(R)
  end,
  lowered = true,
  steps = {
    function(s) s:assume "N % 8 == 0" end,
    function(s) s:specialize "M >= 32" end,
    function(s) s:split("then/k", 8) end,
    function(s) s:specialize("else/i_1 % 2 == 0", "else/k") end,
    function(s) s:specialize("M < 32", "then/i") end,
    function(s) s:split("then/then/j", 8) end,
  },
}

programs.tails = {
  make = function()
    local N = nw.size("N", {min = 8})
    local A = nw.placeholder({N, 13}, "f32", "A")
    local X = nw.compute({N, 13}, function(i, j) return nw.cast(i + j, "f32") end, "X")
    local k = nw.reduce_axis(13, "k")
    local R = nw.compute({N}, function(i) return nw.sum(X(i, k) * A(i, k), k) end, "R")
    return nw.schedule(R)
  end,
  lowered = true,
  steps = {
    function(s) s:split("j", 8, {tail = "pad"}) end,
    function(s) s:vectorize "j_i" end,
    function(s) s:split("i_1", 8, {tail = "shift"}) end,
    function(s) s:cut("i_1_o", "N // 8") end,
    function(s) s:parallel "i_1_o.head" end,
  },
}

programs.symbolic = {
  make = function()
    local M, N = nw.size("M", {min = 1}), nw.size("N", {min = 16, multiple = 16})
    local A = nw.placeholder({M, N}, "f32", "A")
    local k = nw.reduce_axis(N, "k")
    local R = nw.compute({M}, function(i) return nw.max(A(i, k), k) end, "R")
    local Z = nw.compute({M, N}, function(i, j) return A(i, j) - R(i) end, "Z")
    return nw.schedule(Z), R
  end,
  steps = {
    function(s) s:split("i_1", 4) end,
    function(s, R) s:compute_at(R, "i_1_o") end,
    function(s) s:split("j", 16) end,
    function(s) s:vectorize "j_i" end,
    function(s, R) s:decompose_reduction(R, "i") end,
  },
}

programs.stream = {
  make = function()
    local A, B = nw.placeholder({100, 64}, "f32", "A"), nw.placeholder({100, 64}, "f32", "B")
    local Z = nw.compute({100, 64}, function(i, j) return (A(i, j) + 1) * (B(i, j) + 3) end, "Z")
    return nw.schedule(Z), Z
  end,
  lowered = true,
  steps = {
    function(s) s:split("i", {factor = 32, tail = "cut"}) end,
    function(s) s:split("j", 16) end,
    function(s) s:vectorize "j_i" end,
    function(s, Z) s:stream_stores(Z) end,
    function(s) s:parallel "i_o" end,
  },
}

programs.prefetch = {
  make = function()
    local A = nw.placeholder({64, 100}, "f32", "A")
    local k = nw.reduce_axis(100, "k")
    local R = nw.compute({64}, function(i) return nw.sum(A(i, k), k) end, "R")
    return nw.schedule(R), A, R
  end,
  lowered = true,
  steps = {
    function(s, A) s:prefetch(A, "i", 2) end,
    function(s) s:split("i", 16) end,
    function(s, _, R) s:prefetch(R, "i_o") end,
    function(s) s:parallel "i_o" end,
  },
}

programs.said = {
  make = function()
    local A, B = nw.placeholder({100, 30}, "f32", "A"), nw.placeholder({100, 30}, "f32", "B")
    local Z = nw.compute({100, 30}, function(i, j) return A(i, j) * B(i, j) + 1 end, "Z")
    return nw.schedule(Z), Z
  end,
  lowered = true,
  steps = {
    function(s) s:split("i", 16) end,
    function(s) s:parallel "i_o" end,
    function(s) s:pragma("i_o", "schedule", "dynamic") end,
    function(s) s:pragma("i_o", "chunk", 2) end,
    function(s) s:pragma("i_o", "partition", "never") end,
    function(s, Z) s:annotate(Z, "fma", "never") end,
    function(s) s:pragma("i_i", "note", 'rows of a "tile"') end,
    function(s) s:pragma("i_o", "chunk") end,
  },
}

programs.storage = {
  make = function()
    local A = nw.placeholder({40, 30}, "f32", "A")
    local P = nw.compute({40, 30}, function(i, j) return A(i, j) * 2 end, "P")
    local Y = nw.compute({30, 40}, function(i, j) return P(j, i) + 1 end, "Y")
    return nw.schedule(Y), P, Y
  end,
  lowered = true,
  steps = {
    function(s, P) s:storage_align(P, 0, 16, 4) end,
    function(s, P) s:reorder_storage(P, {1, 0}) end,
    function(s, _, Y) s:split(s:loops(Y)[1], 8) end,
    function(s, P, Y) s:compute_at(P, s:loops(Y)[1]) end,
    function(s) s:cache_read("A", "global", {"P"}) end,
    function(s) s:transform_layout("A_global", function(i, j) return i // 4, j, i % 4 end) end,
  },
}

-- A convolution with a border of zeros reads a copy with the dimensions of its loops.
programs.indexed = {
  make = function()
    local A = nw.placeholder({6, 10}, "f32", "A")
    local C = nw.compute({60}, function(p) return A(p // 10, p % 10) * 2 end, "C")
    return nw.schedule(C), C
  end,
  lowered = true,
  steps = {
    function(s, C) s:cache_index(C) end,
    function(s) s:set_dtype("C_index", "i32") end,
    function(s) s:split("p", 12) end,
    function(s) s:compute_at("C_index_1", "p_o") end,
  },
}

programs.reindexed = {
  make = function()
    local A, W = nw.placeholder({6, 8}, "f32", "A"), nw.placeholder({3, 3}, "f32", "W")
    local P = nw.compute({8, 10}, function(y, x)
      return nw.select(nw.all(nw.ge(y, 1), nw.le(y, 6), nw.ge(x, 1), nw.le(x, 8)), A(y - 1, x - 1), 0)
    end, "P")
    local r, q = nw.reduce_axis(3, "r"), nw.reduce_axis(3, "q")
    local C = nw.compute({6, 8}, function(y, x) return nw.sum(P(y + r, x + q) * W(r, q), {r, q}) end, "C")
    return nw.schedule(C), P, C
  end,
  lowered = true,
  steps = {
    function(s, P) s:compute_inline(P) end,
    function(s, _, C) s:split(s:loops(C)[2], 4) end,
    function(s, _, C)
      s:reindex(C, "A", {scope = "local", at = s:loops(C)[2], layout = function(y, x, r, q) return y, r, q, x end})
    end,
    function(s) s:compute_root "A_reindex" end,
  },
}

-- The zeros around an image are stored by a loop of their own, and the image is copied without a condition.
programs.filled = {
  make = function()
    local N = nw.size("N", {min = 0})
    local A, W = nw.placeholder({N, 8}, "f32", "A"), nw.placeholder({3, 3}, "f32", "W")
    local P = nw.compute({N + 2, 10}, function(y, x)
      return nw.select(nw.all(nw.ge(y, 1), nw.le(y, N), nw.ge(x, 1), nw.le(x, 8)), A(y - 1, x - 1), 0)
    end, "P")
    local r, q = nw.reduce_axis(3, "r"), nw.reduce_axis(3, "q")
    local C = nw.compute({N, 8}, function(y, x) return nw.sum(P(y + r, x + q) * W(r, q), {r, q}) end, "C")
    return nw.schedule(C), P, C
  end,
  lowered = true,
  steps = {
    function(s, P, C) s:split(s:loops(C)[1], 4) s:compute_at(P, s:loops(C)[1]) end,
    function(s, P) s:decompose_padding(P, s:loops(P)[2]) end,
    function(s) s:vectorize(s:loops "P_fill"[3]) end,
  },
}

-- The rows of a window are computed anew in each iteration, always in the same storage.
programs.hoisted = {
  make = function()
    local A = nw.placeholder({34, 24}, "f32", "A")
    local H = nw.compute({34, 24}, function(y, x) return A(y, x) * 2 end, "H")
    local V = nw.compute({32, 24}, function(y, x) return H(y, x) + H(y + 1, x) + H(y + 2, x) end, "V")
    return nw.schedule(V), H
  end,
  lowered = true,
  steps = {
    function(s) s:tile("y_1", "x_1", 8, 8) end,
    function(s, H) s:compute_at(H, "x_1_o") end,
    function(s, H) s:hoist_storage(H, "y_1_o") end,
    function(s) s:parallel "y_1_o" end,
  },
}

-- Tiles of P move as a whole into tiles of another size.
programs.units = {
  make = function()
    local A = nw.placeholder({20, 18}, "f32", "A")
    local P = nw.compute({20, 18}, function(y, x) return A(y, x) * 2 end, "P")
    local C = nw.compute({18, 16}, function(y, x) return P(y, x) + P(y + 2, x + 2) end, "C")
    return nw.schedule(C)
  end,
  lowered = true,
  steps = {
    function(s) s:tile("y", "x", 4, 6) end,
    function(s) s:blockize("y_i", "T") end,
    function(s) s:tile("y_1", "x_1", 8, 8) end,
    function(s) s:compute_at("T", "x_1_o") end,
    function(s) s:parallel "y_1_o" end,
  },
}

-- A tile of A is copied in bf16, while the sums are added in f32.
programs.stored = {
  make = function() return support.gemm(64) end,
  lowered = true,
  steps = {
    function(s) s:split("i", 8) end,
    function(s, C, A) s:cache_read(A, "local", {C}, {at = "i_o"}) end,
    function(s) s:set_dtype("A_local", "bf16") end,
    function(s) s:vectorize(s:loops "A_local"[3]) end,
  },
}

-- Two of three reads of a tensor use a copy.
programs.accesses = {
  make = function()
    local A = nw.placeholder({40}, "f32", "A")
    local Y = nw.compute({36}, function(i) return A(i) + A(i + 2) * A(i + 4) end, "Y")
    return nw.schedule(Y), A, Y
  end,
  lowered = true,
  steps = {
    function(s) s:split("i", 8) end,
    function(s, A, Y) s:cache_read(A, "local", {Y}, {at = "i_o", accesses = {2, 3}, name = "ahead"}) end,
  },
}

-- The kernel takes and returns matrices in tiles. The rows of C do not fill the tiles.
programs.param_layouts = {
  make = function()
    local A, B = nw.placeholder({37, 16}, "f32", "A"), nw.placeholder({16, 32}, "f32", "B")
    local k = nw.reduce_axis(16, "k")
    local C = nw.compute({37, 32}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
    return nw.schedule(C), C
  end,
  lowered = true,
  steps = {
    function(s) s:transform_layout("A", function(i, k) return i // 4, k, i % 4 end) end,
    function(s) s:transform_layout("B", function(k, j) return j // 8, k, j % 8 end) end,
    function(s, C) s:transform_layout(C, function(i, j) return i // 4, j // 8, i % 4, j % 8 end, {pad_value = -1}) end,
    function(s) s:tile("i", "j", 4, 8) end,
    function(s) s:vectorize "j_i" end,
    function(s) s:parallel "i_o" end,
  },
}

-- A product whose shape no tile divides is tensorized.
programs.padded_einsum = {
  make = function()
    local A, B = nw.placeholder({37, 51}, "f32", "A"), nw.placeholder({51, 100}, "f32", "B")
    local k = nw.reduce_axis(51, "k")
    local C = nw.compute({37, 100}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
    return nw.schedule(C), C
  end,
  lowered = true,
  steps = {
    function(s, C) s:pad_einsum(C, {4, 8, 2}) end,
    function(s) s:tile("i", "j", 4, 8) end,
    function(s) s:split("k", 2) end,
    function(s) s:reorder("i_o", "j_o", "k_o", "i_i", "j_i", "k_i") end,
    function(s) s:decompose_reduction("C_pad", "k_o") end,
    function(s) s:tensorize("i_i", kernels.gemm {name = "mm_f32", m = 4, n = 8, k = 2, dtype = "f32"}) end,
  },
}

--- A rewrite that is proved, and two that are tested; later steps keep their marks.
programs.rewritten = {
  make = function()
    local A, m = nw.placeholder({8, 6}, "f32", "A"), nw.placeholder({8}, "f32", "m")
    local W = nw.placeholder({6}, "i32", "W")
    local E = nw.compute({8, 6}, function(i, j) return nw.exp(A(i, j) - m(i)) end, "E")
    local F = nw.compute({8, 6}, function(i, j) return E(i, j) * nw.f32(W(j) * W(j) + 3 * W(j)) end, "F")
    return nw.schedule(F), E, F
  end,
  lowered = true,
  steps = {
    function(s, _, F) s:rewrite(F, "x*x + 3*x", "x*(x + 3)") end,
    function(s, E) s:rewrite(E, "exp(x - y)", "exp(x)/exp(y)") end,
    function(s) s:split("j", 2) end,
    function(s, E) s:compute_at(E, "i_1") end,
    function(s, E) s:rewrite(E, "x/exp(y)", "x*exp(-y)") end,
    function(s, E) s:compute_inline(E) end,
  },
}

-- All threads of a block copy the parts of A and B that a tile of C needs to shared storage.
programs.gpu_gemm = {
  make = function() return support.gemm(64) end,
  lowered = true,
  steps = {
    function(s) s:tile("i", "j", 16, 16) end,
    function(s) s:split("k", 16) end,
    function(s) s:reorder("i_o", "j_o", "k_o", "i_i", "j_i", "k_i") end,
    function(s) s:bind("i_o", "blockIdx.y") end,
    function(s) s:bind("j_o", "blockIdx.x") end,
    function(s, C) s:cache_read("A", "shared", {C}, {at = "k_o"}) end,
    function(s, C) s:cache_read("B", "shared", {C}, {at = "k_o"}) end,
    function(s) s:bind("i_i", "threadIdx.y") end,
    function(s) s:bind("j_i", "threadIdx.x") end,
    function(s) s:bind(s:loops "A_shared"[4], "threadIdx.y") end,
    function(s) s:bind(s:loops "A_shared"[5], "threadIdx.x") end,
    function(s) s:bind(s:loops "B_shared"[4], "threadIdx.y") end,
    function(s) s:bind(s:loops "B_shared"[5], "threadIdx.x") end,
  },
}

-- The threads are bound first, as in TVM's tutorials. Then the copies are made in a loop inside the loops of the threads, and the
-- sums are in the local storage of each thread.
programs.gpu_order = {
  make = function() return support.gemm(64) end,
  lowered = true,
  steps = {
    function(s) s:tile("i", "j", 16, 16) end,
    function(s) s:bind("i_o", "blockIdx.y") end,
    function(s) s:bind("j_o", "blockIdx.x") end,
    function(s) s:bind("i_i", "threadIdx.y") end,
    function(s) s:bind("j_i", "threadIdx.x") end,
    function(s, C) s:cache_write(C, "local", {at = "j_i"}) end,
    function(s) s:split("k", 16) end,
    function(s) s:cache_read("A", "shared", {"C_local"}, {at = "k_o"}) end,
    function(s) s:cache_read("B", "shared", {"C_local"}) end,
    function(s) s:compute_at("B_shared", "k_o") end,
    function(s) s:bind(s:loops "A_shared"[6], "threadIdx.y") end,
    function(s) s:bind(s:loops "A_shared"[7], "threadIdx.x") end,
    function(s) s:bind(s:loops "B_shared"[6], "threadIdx.y") end,
    function(s) s:bind(s:loops "B_shared"[7], "threadIdx.x") end,
  },
}

-- Each thread runs two virtual threads. Each virtual thread has a tile of A of its own in shared storage.
programs.gpu_vthread = {
  make = function()
    local A = nw.placeholder({256}, "f32", "A")
    local X = nw.compute({254}, function(i) return A(i) + A(i + 1) + A(i + 2) end, "X")
    return nw.schedule(X)
  end,
  lowered = true,
  steps = {
    function(s) s:split("i", 128) end,
    function(s) s:split("i_i", 64) end,
    function(s) s:bind("i_o", "blockIdx.x") end,
    function(s) s:bind("i_i_o", "vthread") end,
    function(s) s:cache_read("A", "shared", {"X"}, {at = "i_i_o"}) end,
    function(s) s:bind("i_i_i", "threadIdx.x") end,
    function(s) s:split(s:loops "A_shared"[3], 64) end,
    function(s) s:bind(s:loops "A_shared"[4], "threadIdx.x") end,
  },
}

programs.gpu_reduction = {
  make = function()
    local A, k = nw.placeholder({8, 100}, "f32", "A"), nw.reduce_axis(100, "k")
    local R = nw.compute({8}, function(i) return nw.sum(A(i, k), k) end, "R")
    local Z = nw.compute({8, 100}, function(i, j) return A(i, j) / R(i) end, "Z")
    return nw.schedule(Z)
  end,
  lowered = true,
  steps = {
    function(s) s:bind("i_1", "blockIdx.x") end,
    function(s) s:compute_at("R", "i_1") end,
    function(s) s:set_scope("R", "shared") end,
    function(s) s:split("k", 32) end,
    function(s) s:bind("k_i", "threadIdx.x") end,
    function(s) s:split("j", 32) end,
    function(s) s:bind("j_i", "threadIdx.x") end,
  },
}

-- A reducer of one's own, with two components, in partial results.
programs.reducer = {
  make = function()
    local A, k = nw.placeholder({8, 100}, "f32", "A"), nw.reduce_axis(100, "k")
    local online = nw.reducer {
      name = "online", init = {-3e38, 0}, names = {"max", "sum"},
      combine = function(a, b)
        local m = nw.max(a[1], b[1])
        return m, a[2] * nw.exp(a[1] - m) + b[2] * nw.exp(b[1] - m)
      end,
    }
    return nw.schedule {nw.compute({8}, function(i) return online({A(i, k), 1.0}, k) end, "R")}
  end,
  lowered = true,
  steps = {
    function(s) s:split("k", 16) end,
    function(s) s:rfactor("R", "k_i") end,
  },
}

-- A sparse matrix times a vector: the range of the reduction is read from P.
programs.ranges = {
  make = function()
    local P, J = nw.placeholder({33}, "i32", "P"), nw.placeholder({200}, "i32", "J")
    local V, x = nw.placeholder({200}, "f32", "V"), nw.placeholder({32}, "f32", "x")
    return nw.schedule(nw.compute({32}, function(i)
      local e = nw.reduce_axis({P(i), P(i + 1)}, {name = "e", within = 200})
      return nw.sum(V(e) * x(nw.min(nw.max(J(e), 0), 31)), e)
    end, "Y"))
  end,
  lowered = true,
  steps = {
    function(s) s:split("i", 8) end,
    function(s) s:parallel "i_o" end,
    function(s) s:split("e", 8) end,
  },
}

return programs
