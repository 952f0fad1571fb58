--- Compares refusals, as a user sees them, with golden files (*.diag). UPDATE_GOLDEN=1 rewrites the files. Read the diff before you
--- commit it.
local support = require "support"
local nw = require "nestwright"

local MM = [[
local m, n, k = nw.placeholder({8, 4}, "f32", "A"), nw.placeholder({4, 16}, "f32", "B"), nw.reduce_axis(4, "k")
local out = nw.compute({8, 16}, function(i, j) return nw.sum(m(i, k) * n(k, j), k) end, "C")
nw.intrinsic {name = "mm", args = {m, n, out}, accumulate = true, source = "void mm(const float *A, const float *B, float *C, "
  .. "long a, long b, long c) { for (int i = 0; i < 8; i++) for (int j = 0; j < 16; j++) for (int k = 0; k < 4; k++) "
  .. "C[i*c + j] += A[i*a + k]*B[k*b + j]; }"}
]]

local GEMM = [[
A, B = nw.placeholder({512, 512}, "f32", "A"), nw.placeholder({512, 512}, "f32", "B")
k = nw.reduce_axis(512, "k")
C = nw.compute({512, 512}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
s = nw.schedule(C)
]]

local HEAT = [[
A = nw.placeholder({1, 16}, "f32", "A")
H = nw.scan_state({8, 16}, "f32", "H")
first = nw.compute({1, 16}, function(t, x) return A(t, x) end, "first")
update = nw.compute({8, 16}, function(t, x)
  return H(t - 1, nw.max(x - 1, 0)) + H(t - 1, x) + H(t - 1, nw.min(x + 1, 15))
end, "update")
S = nw.scan(first, update, H, "S")
s = nw.schedule(S)
]]

local SWEEP = [[
A = nw.placeholder({1, 16}, "f32", "A")
H = nw.scan_state({8, 16}, "f32", "H")
first = nw.compute({1, 16}, function(t, x) return A(t, x) end, "first")
update = nw.compute({8, 16}, function(t, x)
  return nw.select(nw.gt(x, 0), H(t, nw.max(x - 1, 0)), 0) + H(t - 1, nw.min(x + 1, 15))
end, "update")
S = nw.scan(first, update, H, "S")
s = nw.schedule(S)
]]

-- Two states of one scan. Each state is computed from earlier rows of the other state. Both states have a common loop over the
-- time.
local PING_PONG = [[
A, B = nw.placeholder({1, 16}, "f32", "A"), nw.placeholder({1, 16}, "f32", "B")
P, Q = nw.scan_state({8, 16}, "f32", "P"), nw.scan_state({8, 16}, "f32", "Q")
p0 = nw.compute({1, 16}, function(t, x) return A(t, x) end, "p0")
q0 = nw.compute({1, 16}, function(t, x) return B(t, x) end, "q0")
p = nw.compute({8, 16}, function(t, x) return Q(t - 1, x) + 1 end, "p")
q = nw.compute({8, 16}, function(t, x) return P(t - 1, x) * 2 end, "q")
S, R = nw.scan({p0, q0}, {p, q}, {P, Q}, "S")
s = nw.schedule{S, R}
]]

local STAGES = [[
A = nw.placeholder({64}, "f32", "A")
X = nw.compute({64}, function(i) return A(i) * 2 end, "X")
Y = nw.compute({62}, function(i) return X(i) + X(i + 2) end, "Y")
s = nw.schedule(Y)
]]

local WINDOW = STAGES .. 's:compute_at(X, s:loops(Y)[1])\n'

local TWO_READERS = [[
A = nw.placeholder({64}, "f32", "A")
X = nw.compute({64}, function(i) return A(i) * 2 end, "X")
Y = nw.compute({64}, function(i) return X(i) + 1 end, "Y")
Z = nw.compute({64}, function(i) return X(i) + Y(i) end, "Z")
s = nw.schedule(Z)
]]

local REDUCED = [[
M, N = nw.size "M", nw.size "N"
A = nw.placeholder({M, N}, "f32", "A")
k = nw.reduce_axis(N, "k")
R = nw.compute({M}, function(i) return nw.max(A(i, k), k) end, "R")
Z = nw.compute({M, N}, function(i, j) return A(i, j) - R(i) end, "Z")
s = nw.schedule(Z)
]]

local TRIANGLE = [[
A = nw.placeholder({64, 64}, "f32", "A")
L = nw.compute({64, 64}, function(i, j) return nw.select(nw.le(j, i), A(i, j), 0) end, "L")
s = nw.schedule(L)
]]

local CHAIN = [[
A = nw.placeholder({8, 66}, "f32", "A")
P = nw.compute({8, 66}, function(i, j) return A(i, j) * 2 end, "P")
X = nw.compute({8, 65}, function(i, j) return P(i, j) + P(i, j + 1) end, "X")
Y = nw.compute({8, 64}, function(i, j) return X(i, j) + X(i, j + 1) end, "Y")
s = nw.schedule(Y)
]]

local UNIT = STAGES .. 's:split("i", 8)\nT = s:blockize("i_i", "T")\n'

-- {name, the lines before the refused line, the refused line}
local refusals = {
  {"parallel_reduction", GEMM .. 's:split("k", 32)\n', 's:parallel "k_o"'},
  {"parallel_reduction_outermost", GEMM .. 's:reorder("k", "i", "j")\n', 's:parallel "k"'},
  {"parallel_nested", GEMM .. 's:parallel "i"\n', 's:parallel "j"'},
  {"vectorize_reduction", GEMM .. 's:split("k", 16)\n', 's:vectorize "k_i"'},
  {"vectorize_no_reduction", GEMM .. 's:split("j", 16)\n', 's:vectorize("j_i", {reduce = "tree"})'},
  {"vectorize_init", GEMM .. 's:fuse("j", "k")\ns:split("j_k", 16)\n', 's:vectorize("j_k_i", {reduce = "tree"})'},
  {"vectorize_too_long", GEMM, 's:vectorize "k"'},
  {"vectorize_marked", GEMM .. 's:parallel "i"\n', 's:vectorize "i"'},
  {"split_marked", GEMM .. 's:parallel "i"\n', 's:split("i", 8)'},
  {"parallel_twice", GEMM .. 's:parallel "i"\n', 's:parallel "i"'},
  {"bind_reduction", GEMM, 's:bind("k", "blockIdx.x")'},
  {"bind_reduction_cut", GEMM .. 's:cut("k", 64)\n', 's:bind("k.rest", "threadIdx.x")'},
  {"bind_reduction_large", GEMM .. 's:reorder("k", "i", "j")\ns:split("k", 16)\n', 's:bind("k_i", "threadIdx.x")'},
  {"bind_reduction_local", GEMM .. 's:cache_write(C, "local", {at = "i"})\ns:bind("i", "blockIdx.x")\n' ..
    's:bind("k", "threadIdx.x")\n', 's:bind("j", "threadIdx.x")'},
  {"warp_in_threads", STAGES .. 's:compute_at(X, "i_1")\ns:bind("i_1", "threadIdx.x")\n', 's:set_scope(X, "warp")'},
  {"warp_other", STAGES .. 's:bind(s:loops(X)[1], "threadIdx.x")\ns:bind(s:loops(Y)[1], "threadIdx.x")\n',
    's:set_scope(X, "warp")'},
  {"bind_blocks_race", HEAT, 's:bind(s:loops(S)[1], "blockIdx.x")'},
  {"bind_threads_race", SWEEP, 's:bind(s:loops(S)[2], "threadIdx.x")'},
  {"bind_twice", GEMM .. 's:bind("i", "threadIdx.x")\n', 's:bind("i", "threadIdx.y")'},
  {"bind_tag_in_itself", GEMM .. 's:split("i", 8)\ns:bind("i_o", "threadIdx.x")\n', 's:bind("i_i", "threadIdx.x")'},
  {"bind_block_in_thread", GEMM .. 's:split("i", 8)\ns:bind("i_o", "threadIdx.x")\n', 's:bind("i_i", "blockIdx.x")'},
  {"bind_too_many", GEMM .. 's:bind("i", "threadIdx.x")\n', 's:bind("j", "threadIdx.y")'},
  {"bind_beside_parallel", GEMM .. 's:parallel "i"\n', 's:bind("j", "threadIdx.y")'},
  {"bind_unknown_tag", GEMM, 's:bind("i", "threadIdx")'},
  {"bind_local_shared_out", STAGES .. 's:split(s:loops(Y)[1], 8)\ns:compute_at(X, s:loops(Y)[1])\ns:set_scope(X, "local")\n',
    's:bind(s:loops(Y)[2], "threadIdx.x")'},
  {"shared_too_large", GEMM, 's:cache_read(A, "shared", {C})'},
  {"shared_in_thread", TRIANGLE .. 's:partition "j"\ns:bind("i", "threadIdx.x")\n',
    's:cache_read(A, "shared", {L}, {at = "j.main"})'},
  {"shared_reads_local", CHAIN .. 'i, j = s:loops(Y)[1], s:loops(Y)[2]\ns:bind(i, "blockIdx.x")\ns:bind(j, "threadIdx.x")\n' ..
    's:compute_at(X, j)\ns:compute_at(P, j)\ns:set_scope(P, "local")\n', 's:set_scope(X, "shared")'},
  {"build_grid", GEMM .. 's:bind("i", "blockIdx.x")\n', 's:build()'},
  {"cache_write_after_init", GEMM .. 's:decompose_reduction(C, "k")\n', 's:cache_write(C, "global")'},
  {"cut_order", GEMM, 's:cut("i", 96, 64)'},
  {"cut_inside", GEMM, 's:cut("i", "j + 1")'},
  {"partition_fused", GEMM .. 's:split("i", 24)\ns:fuse("i_o", "i_i")\n', 's:partition "i_o_i_i"'},
  {"partition_apart", "A = nw.placeholder({64}, \"f32\", \"A\")\n" ..
    'Y = nw.compute({64}, function(i) return nw.select(nw.eq(i % 4, 1), A(i), 0) end, "Y")\n' ..
    "s = nw.schedule(Y)\n", 's:partition "i"'},
  {"assume_false", "M = nw.size \"M\"\nA = nw.placeholder({M}, \"f32\", \"A\")\n" ..
    "s = nw.schedule(nw.compute({M}, function(i) return A(i) + 1 end, \"Y\"))\n", 's:assume "M < 1"'},
  {"assume_apart", "M = nw.size \"M\"\nA = nw.placeholder({M}, \"f32\", \"A\")\n" ..
    "s = nw.schedule(nw.compute({M}, function(i) return A(i) + 1 end, \"Y\"))\n" ..
    's:assume "M % 4 == 1"\n', 's:assume "M % 6 == 2"'},
  {"specialize_inside", GEMM, 's:specialize("k < 8", "i")'},
  {"shift_twice", GEMM .. 's:reorder("k", "i", "j")\n', 's:split("i", 24, {tail = "shift"})'},
  {"shift_small", REDUCED, 's:split("i", 24, {tail = "shift"})'},
  {"pad_output", REDUCED, 's:split("i_1", 24, {tail = "pad"})'},
  {"predicate_reduction", GEMM, 's:split("k", 24, {tail = "predicate"})'},
  {"join_apart", GEMM .. 's:cut("i", 64, 128)\n', 's:join("i.1", "i.3")'},
  {"join_differ", GEMM .. 's:cut("i", 64)\ns:split("i.rest/j", 8)\n', 's:join("i.head", "i.rest")'},
  {"split_factor", GEMM, 's:split("i", -4)'},
  {"stale_loop", GEMM .. 'i_o, i_i = s:split("i", 8)\n', 's:split("i", 4)'},
  {"unknown_loop", GEMM, 's:split("ii", 4)'},
  {"unknown_option", GEMM, 's:split("i", {facotr = 4})'},
  {"unroll_too_much", GEMM .. 's:unroll "k"\n', 's:unroll "j"'},
  {"split_factors", GEMM, 's:split("i", {factors = {4, 0}})'},
  {"tile_uneven", GEMM, 's:tile({"i", "j", "k"}, {4, 4})'},
  {"remove_long_loop", GEMM, 's:remove_unit_loop "i"'},
  {"remove_marked_loop", GEMM .. 'u = s:add_unit_loop "i"\ns:parallel(u)\n', 's:remove_unit_loop(u)'},
  {"unmark_serial", GEMM, 's:unmark "i"'},
  {"shift_unknown_size", GEMM, 's:shift("i", "Q + 1")'},
  {"fuse_apart", GEMM, 's:fuse("i", "k")'},
  {"capacity", GEMM, 's:cache_write(C, "local")'},
  {"layout", GEMM, 's:cache_read(B, "global", {C}, {layout = function(k, j) return k // 2, j end})'},
  {"decompose_inside", GEMM .. 's:split("k", 8)\n', 's:decompose_reduction(C, "k_i")'},
  {"inline_output", GEMM, 's:compute_inline(C)'},
  {"reorder_heat", HEAT, 's:reorder(s:loops(S)[2], s:loops(S)[1])'},
  {"parallel_time", HEAT, 's:parallel(s:loops(S)[1])'},
  {"sweep_vectorize", SWEEP, 's:vectorize(s:loops(S)[2])'},
  {"sweep_reorder", SWEEP, 's:reorder(s:loops(S)[2], s:loops(S)[1])'},
  {"tile_heat", HEAT, 's:tile(s:loops(S)[1], s:loops(S)[2], 4, 4)'},
  {"wavefront_too_flat", HEAT .. 's:skew("x_1", "t_1", 1)\ns:reorder("x_1", "t_1")\n', 's:parallel "t_1"'},
  {"skew_outer", HEAT, 's:skew("t_1", "x_1", 1)'},
  {"skew_back", HEAT .. 's:skew("x_1", "t_1", -1)\n', 's:reorder("x_1", "t_1")'},
  {"reverse_time", HEAT, 's:reverse(s:loops(S)[1])'},
  {"reverse_sweep", SWEEP, 's:reverse(s:loops(S)[2])'},
  {"reverse_init", GEMM, 's:reverse "k"'},
  {"reverse_fused", REDUCED .. 's:fuse("i_1", "j")\n', 's:reverse "i_1_j"'},
  {"merge_unequal", STAGES, 's:merge("i", "i_1")'},
  {"merge_too_early", STAGES .. 's:cut("i", 62)\ns:reorder_stmts("i.head", "i.rest")\n', 's:merge("i.head", "i_1")'},
  {"merge_marked", STAGES .. 's:cut("i", 62)\ns:parallel "i.rest"\n', 's:merge("i.rest", "i_1")'},
  {"fission_nothing_after", STAGES, 's:fission("i", {after = X})'},
  {"fission_time", PING_PONG, 's:fission("t_2", {after = "S.v0"})'},
  {"reorder_stmts_read", STAGES, 's:reorder_stmts(X, Y)'},
  {"reorder_stmts_apart", TWO_READERS, 's:reorder_stmts(X, Z)'},
  {"fused_loop_dependent", TWO_READERS, 's:create_fused_loop("i", "i_1")'},
  {"fused_loop_backwards", TWO_READERS, 's:create_fused_loop("i_1", "i")'},
  {"cut_skewed", HEAT .. 's:skew("x_1", "t_1", 1)\n', 's:split("x_1", {factor = 4, tail = "cut"})'},
  {"cache_read_scan", HEAT, 's:cache_read(S, "global", {S})'},
  {"cache_read_access", STAGES, 's:cache_read(X, "global", {Y}, {accesses = {1, 3}})'},
  {"set_dtype_input", GEMM, 's:set_dtype(A, "bf16")'},
  {"set_dtype_reduction", REDUCED, 's:set_dtype(R, "f16")'},
  {"set_dtype_integer", 'A = nw.placeholder({16}, "i32", "A")\n'
    .. 'X = nw.compute({16}, function(i) return nw.clamp(A(i), 0, 200) end, "X")\n'
    .. 'Y = nw.compute({16}, function(i) return X(i) + 1 end, "Y")\ns = nw.schedule(Y)\n', 's:set_dtype(X, "i8")'},
  {"cache_index_none", STAGES, 's:cache_index(Y)'},
  {"cache_index_apart", 'A = nw.placeholder({8}, "f32", "A")\nX = nw.compute({16}, function(i) return A(i // 2) end, "X")\n'
    .. 's = nw.schedule(nw.compute({16}, function(i) return X(i) + 1 end, "Y"))\n', 's:cache_index(X, {at = "i_1"})'},
  {"reindex_accesses", STAGES, 's:reindex(Y, X)'},
  {"reindex_result", STAGES, 's:reindex(Y, Y, {access = 1})'},
  {"reindex_guarded", 'A = nw.placeholder({8}, "f32", "A")\n'
    .. 'Y = nw.compute({10}, function(i) return nw.select(nw.lt(i, 8), A(i) * 2, 0) end, "Y")\n'
    .. "s = nw.schedule(Y)\n", 's:reindex(Y, A)'},
  {"decompose_padding_plain", STAGES, 's:decompose_padding(X, "i")'},
  {"decompose_padding_reader", 'A = nw.placeholder({8}, "f32", "A")\n'
    .. 'P = nw.compute({10}, function(i) return nw.select(nw.lt(i, 8), A(nw.min(i, 7)), 0) end, "P")\n'
    .. 'Y = nw.compute({10}, function(i) return P(i) * 2 end, "Y")\ns = nw.schedule(Y)\n'
    .. 's:decompose_padding(P, "i")\n', 's:reorder_stmts("i_fill", "i")'},
  {"unit_reorder", UNIT, 's:reorder("i_i", "i_o")'},
  {"unit_stage", UNIT, 's:compute_at(X, s:loops(Y)[1])'},
  {"unit_twice", UNIT, 's:blockize "i_i"'},
  {"unit_unknown", UNIT, 's:unblockize "X"'},
  {"unit_own_loop", UNIT, 's:compute_at(T, "i_o")'},
  {"unit_nothing_reads", UNIT .. 's:blockize(s:loops(Y)[1], "U")\n', 's:compute_at("U", "i_o")'},
  {"unit_depends", UNIT .. 's:cache_read(A, "local", {X}, {at = "i_o"})\n', 's:compute_at(T, s:loops(Y)[1])'},
  {"unit_init", REDUCED .. 's:split("i", 8)\ns:decompose_reduction(R, "k")\ns:blockize("k", "T")\n',
    's:compute_at("T", s:loops(Z)[1])'},
  {"inline_scan", HEAT, 's:compute_inline(S)'},
  {"inline_reduction", REDUCED, 's:compute_inline(R)'},
  {"local_symbolic", REDUCED, 's:set_scope(R, "local")'},
  {"unroll_symbolic", REDUCED, 's:unroll "k"'},
  {"parallel_reduction_symbolic", REDUCED, 's:parallel "k"'},
  {"compute_at_own_loop", STAGES, 's:compute_at(X, s:loops(X)[1])'},
  {"compute_at_other_reader", TWO_READERS, 's:compute_at(X, s:loops(Y)[1])'},
  {"compute_at_behind", STAGES, 's:compute_at(X, s:loops(Y)[1], {index = 2})'},
  {"store_at_parallel", WINDOW .. 's:parallel(s:loops(Y)[1])\n', 's:store_at(X)'},
  {"hoist_parallel", WINDOW .. 's:parallel(s:loops(Y)[1])\n', 's:hoist_storage(X)'},
  {"hoist_whole", STAGES, 's:hoist_storage(X)'},
  {"store_at_whole", STAGES, 's:store_at(X, s:loops(Y)[1])'},
  {"reverse_compute_at_early", STAGES .. 's:parallel(s:loops(X)[1])\n', 's:reverse_compute_at(Y, s:loops(X)[1])'},
  {"reverse_inline_window", STAGES, 's:reverse_compute_inline(Y)'},
  {"double_buffer_parallel", WINDOW .. 's:parallel(s:loops(Y)[1])\n', 's:double_buffer(X)'},
  {"double_buffer_same", GEMM .. 'A2 = s:cache_read(A, "global", {C}, {at = "i"})\ns:compute_at(A2, "j")\n', 's:double_buffer(A2)'},
  {"async_computes", STAGES, 's:async_copy(X)'},
  {"async_registers", GEMM .. 'A2 = s:cache_read(A, "local", {C}, {at = "i"})\n', 's:async_copy(A2)'},
  {"async_source", [[
A = nw.placeholder({12}, "i32", "A")
X = nw.compute({12}, function(i) return A(i) * 2 end, "X")
Y = nw.compute({12}, function(i) return X(i) + 1 end, "Y")
s = nw.schedule(Y)
i = s:loops(Y)[1]
T = s:cache_read(X, "shared", {Y}, {at = i})
s:double_buffer(T)
s:compute_at(X, i)
]], 's:async_copy(T)'},
  {"rolling_too_small", WINDOW .. 's:store_at(X)\n', 's:rolling_buffer(X, {size = 2})'},
  {"rolling_fresh", WINDOW, 's:rolling_buffer(X)'},
  {"rolling_parallel", WINDOW .. 's:store_at(X)\ns:rolling_buffer(X)\n', 's:parallel(s:loops(Y)[1])'},
  {"read_past_end", "A = nw.placeholder({16}, \"f32\", \"A\")\n",
    'X = nw.compute({16}, function(i) return A(i) + A(i + 1) end, "X")'},
  {"index_unclamped", "A, I = nw.placeholder({16}, \"f32\", \"A\"), nw.placeholder({8}, \"i32\", \"I\")\n",
    'X = nw.compute({8}, function(i) return A(I(i)) end, "X")'},
  {"rank", "A = nw.placeholder({16, 16}, \"f32\", \"A\")\n",
    'X = nw.compute({16}, function(i) return A(i) end, "X")'},
  {"scan_future", [[
H = nw.scan_state({8, 16}, "f32", "H")
first = nw.compute({1, 16}, function(t, x) return nw.f32(0) end, "first")
]], 'S = nw.scan(first, nw.compute({8, 16}, function(t, x) return H(t, nw.min(x + 1, 15)) end, "update"), H, "S")'},
  {"pragma_serial", STAGES, 's:pragma("i", "chunk", 4)'},
  {"pragma_unknown", STAGES, 's:pragma("i", "chnk", 4)'},
  {"pragma_value", STAGES, 's:pragma("i", "chunk", "four")'},
  {"pragma_lost", STAGES .. 's:pragma("i", "partition", "never")\n', 's:split("i", 4)'},
  {"annotate_value", STAGES, 's:annotate(X, "fma", "sometimes")'},
  {"prefetch_unused", STAGES, 's:prefetch(A, s:loops(Y)[1])'},
  {"prefetch_lanes", STAGES .. 's:prefetch(X, "i_1")\ns:split("i_1", 2)\n', 's:vectorize "i_1_i"'},
  {"prefetch_offset", STAGES, 's:prefetch(A, "i", 0)'},
  {"align_input", STAGES, 's:storage_align(A, 0, 16)'},
  {"compute_root_shared", STAGES .. 's:split(s:loops(Y)[1], 8)\ns:bind("i_1_o", "blockIdx.x")\ns:compute_at(X, "i_1_o")\n'
    .. 's:set_scope(X, "shared")\n', 's:compute_root(X)'},
  {"align_capacity", STAGES .. 's:set_scope(X, "local")\n', 's:storage_align(X, 0, 4096)'},
  {"reorder_storage_output", STAGES, 's:reorder_storage(Y, {0})'},
  {"transform_layout", STAGES, 's:transform_layout(X, function(i) return i // 2, i // 4 end)'},
  {"transform_layout_extents", STAGES, 's:transform_layout(X, function(i) return i - 1 end)'},
  {"transform_layout_output", STAGES, 's:transform_layout(Y, function(i) return i // 8, i % 8 end)'},
  {"transform_layout_input", STAGES, 's:transform_layout(A, function(i) return i // 2 end)'},
  {"rewrite_differs", "A, m = nw.placeholder({8}, \"f32\", \"A\"), nw.placeholder({8}, \"f32\", \"m\")\n"
    .. 'E = nw.compute({8}, function(i) return nw.exp(A(i) - m(i)) end, "E")\ns = nw.schedule(E)\n',
    's:rewrite(E, "exp(x - y)", "exp(x)*exp(y)")'},
  {"rewrite_form", GEMM, 's:rewrite(C, "exp(x)", "1/exp(-x)")'},
  {"pad_einsum_terms", "A, B = nw.placeholder({8, 13}, \"f32\", \"A\"), nw.placeholder({8}, \"f32\", \"B\")\n"
    .. 'k = nw.reduce_axis(13, "k")\nC = nw.compute({8}, function(i) return nw.sum(A(i, k) * B(i), k) end, "C")\n'
    .. "s = nw.schedule(C)\n", 's:pad_einsum(C, {16, 4})'},
  {"pad_einsum_split", GEMM .. 's:split("k", 4)\n', 's:pad_einsum(C, {3, 1, 1})'},
  {"atomic_lanes", GEMM .. 's:reorder("k", "i", "j")\ns:split("j", 16)\ns:vectorize "j_i"\n', 's:atomic(C)'},
  {"atomic_init", GEMM .. 's:atomic(C)\nf = s:fuse("j", "k")\n', 's:parallel(f)'},
  {"rfactor_output", GEMM, 's:rfactor(C, "i")'},
  {"rfactor_pieces", GEMM .. 's:split("k", {factor = 5, tail = "cut"})\n', 's:rfactor(C, "k_i")'},
  {"stream_scalar", STAGES, 's:stream_stores(Y)'},
  {"stream_masked", STAGES .. 's:split("i_1", 16)\ns:vectorize "i_1_i"\n', 's:stream_stores(Y)'},
  {"stream_updates", GEMM .. 's:reorder("k", "i", "j")\ns:split("j", 16)\ns:vectorize "j_i"\n', 's:stream_stores(C)'},
  {"tensorize_init", MM .. GEMM .. 's:tile("i", "j", 8, 16)\ns:split("k", 4)\n'
    .. 's:reorder("i_o", "j_o", "k_o", "i_i", "j_i", "k_i")\n', 's:tensorize("i_i", "mm")'},
  {"tensorize_extents", MM .. GEMM .. 's:tile("i", "j", 8, 8)\ns:split("k", 4)\n'
    .. 's:reorder("i_o", "j_o", "k_o", "i_i", "j_i", "k_i")\ns:decompose_reduction(C, "k_o")\n', 's:tensorize("i_i", "mm")'},
  {"tensorize_inside", MM .. GEMM .. 's:tile("i", "j", 8, 16)\ns:split("k", 4)\n'
    .. 's:reorder("i_o", "j_o", "k_o", "i_i", "j_i", "k_i")\ns:decompose_reduction(C, "k_o")\ns:tensorize("i_i", "mm")\n',
    's:unroll "k_i"'},
  {"other_schedule", GEMM .. 'other = nw.schedule(C)\n', 's:split(other:loops()[1], 4)'},
}

-- Runs the text like a cell of a session.
local function run(text, name, env)
  package.loaded["nestwright.sources"][name] = text
  return pcall(assert(load(text, "=" .. name, "t", env)))
end

describe("refusals are unchanged:", function()
  for _, case in ipairs(refusals) do
    local name, before, line = table.unpack(case)
    it(name, function()
      local env = setmetatable({nw = nw}, {__index = _G})
      assert(run(before, "cell[1]", env))
      local ok, err = run(line, "cell[2]", env)
      assert(not ok, line .. " was accepted")
      support.golden(name .. ".diag", ("%s%s\n----\n%s\n"):format(before, line, tostring(err)))
      -- The alternatives must work.
      for _, step in ipairs(err.refusal and err.refusal.alternatives or {}) do
        local at = tostring(env.s:version())
        assert(load(step, step, "t", env))()
        if step:find "^s:undo" then assert(load(err.refusal.step, step, "t", env))() end
        env.s:checkout(at)
      end
    end)
  end
end)
