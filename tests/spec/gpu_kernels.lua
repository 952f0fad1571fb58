--- Schedules for a GPU, for the tests of its code. Each function returns a schedule for a target, and the outputs.
local nw = require "nestwright"

local kernels = {}

local function on(target, ...) return nw.schedule(..., {target = target}) end

-- Binds the loop of a vector: blocks of n threads.
local function in_blocks(s, loop, n)
  s:split(loop, n)
  s:bind(loop .. "_o", "blockIdx.x")
  s:bind(loop .. "_i", "threadIdx.x")
  return s
end

--- The sum of two vectors.
function kernels.add(target, n)
  n = n or 1000
  local A, B = nw.placeholder({n}, "f32", "A"), nw.placeholder({n}, "f32", "B")
  local C = nw.compute({n}, function(i) return A(i) + B(i) end, "add")
  return in_blocks(on(target, C), "i", 128), C
end

--- A product of matrices in tiles of 16 x 16. All threads of a block copy the operands to shared storage.
function kernels.gemm(target, n)
  n = n or 256
  local A, B = nw.placeholder({n, n}, "f32", "A"), nw.placeholder({n, n}, "f32", "B")
  local k = nw.reduce_axis(n, "k")
  local C = nw.compute({n, n}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
  local s = on(target, C)
  s:tile("i", "j", 16, 16)
  s:bind("i_o", "blockIdx.y")
  s:bind("j_o", "blockIdx.x")
  s:bind("i_i", "threadIdx.y")
  s:bind("j_i", "threadIdx.x")
  s:cache_write(C, "local", {at = "j_i"})
  s:split("k", 16)
  s:cache_read("A", "shared", {"C_local"}, {at = "k_o"})
  s:cache_read("B", "shared", {"C_local"}, {at = "k_o"})
  for _, copy in ipairs {"A_shared", "B_shared"} do
    local loops = s:loops(copy)
    s:bind(loops[#loops - 1], "threadIdx.y")
    s:bind(loops[#loops], "threadIdx.x")
  end
  return s, C
end

--- A sum of each row, whose terms the threads of a block share; and the rows divided by their sums.
function kernels.reduction(target, n, m)
  n, m = n or 64, m or 1000
  local A, k = nw.placeholder({n, m}, "f32", "A"), nw.reduce_axis(m, "k")
  local R = nw.compute({n}, function(i) return nw.sum(A(i, k), k) end, "R")
  local Z = nw.compute({n, m}, function(i, j) return A(i, j) / R(i) end, "Z")
  local s = on(target, Z)
  s:bind("i_1", "blockIdx.x")
  s:compute_at("R", "i_1")
  s:set_scope("R", "shared")
  s:split("k", 32)
  s:bind("k_i", "threadIdx.x")
  s:split("j", 32)
  s:bind("j_i", "threadIdx.x")
  return s, Z
end

--- A matrix of any size, whose rows are added to a vector.
function kernels.symbolic(target)
  local M, N = nw.size "M", nw.size "N"
  local A, b = nw.placeholder({M, N}, "f32", "A"), nw.placeholder({N}, "f32", "b")
  local Y = nw.compute({M, N}, function(i, j) return A(i, j) * 2 + b(j) end, "Y")
  local s = on(target, Y)
  s:tile("i", "j", 8, 32)
  s:bind("i_o", "blockIdx.y")
  s:bind("j_o", "blockIdx.x")
  s:bind("i_i", "threadIdx.y")
  s:bind("j_i", "threadIdx.x")
  return s, Y
end

--- A sum of three neighbours. Each thread runs two virtual threads, which have tiles of their own in shared storage.
function kernels.vthread(target, n)
  n = n or 1024
  local A = nw.placeholder({n}, "f32", "A")
  local X = nw.compute({n - 2}, function(i) return A(i) + A(i + 1) + A(i + 2) end, "X")
  local s = on(target, X)
  s:split("i", 128)
  s:split("i_i", 64)
  s:bind("i_o", "blockIdx.x")
  s:bind("i_i_o", "vthread")
  s:cache_read("A", "shared", {"X"}, {at = "i_i_o"})
  s:bind("i_i_i", "threadIdx.x")
  local loops = s:loops "A_shared"
  s:split(loops[#loops], 64)
  loops = s:loops "A_shared"
  s:bind(loops[#loops], "threadIdx.x")
  return s, X
end

--- A vector scaled four elements at a time.
function kernels.vectors(target, n)
  n = n or 4096
  local A = nw.placeholder({n}, "f32", "A")
  local Y = nw.compute({n}, function(i) return A(i) * 3 + 1 end, "Y")
  local s = on(target, Y)
  s:split("i", 4)
  s:vectorize "i_i"
  return in_blocks(s, "i_o", 64), Y
end

--- A product with register tiles: each thread of a block computes 4 x 4 elements.
function kernels.register_tile(target, n)
  n = n or 256
  local A, B = nw.placeholder({n, n}, "f32", "A"), nw.placeholder({n, n}, "f32", "B")
  local k = nw.reduce_axis(n, "k")
  local C = nw.compute({n, n}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
  local s = on(target, C)
  s:tile("i", "j", 64, 64)
  s:tile("i_i", "j_i", 4, 4)
  s:bind("i_o", "blockIdx.y")
  s:bind("j_o", "blockIdx.x")
  s:bind("i_i_o", "threadIdx.y")
  s:bind("j_i_o", "threadIdx.x")
  s:cache_write(C, "local", {at = "j_i_o"})
  for _, loop in ipairs {"i_i_i", "j_i_i"} do s:unroll(loop) end
  return s, C
end

--- A histogram: threads add to the same elements.
function kernels.histogram(target, dtype)
  local X, k = nw.placeholder({4096}, "i32", "X"), nw.reduce_axis(4096, "k")
  local H = nw.compute({16}, function(b)
    return nw.sum(nw.select(nw.eq(X(k), b), nw.cast(1, dtype or "i32"), nw.cast(0, dtype or "i32")), k)
  end, "H")
  local s = on(target, H)
  s:decompose_reduction("H", "b")
  s:reorder("k", "b")
  s:atomic "H"
  s:split("k", 256)
  s:bind("k_o", "blockIdx.x")
  s:bind("k_i", "threadIdx.x")
  return s, H
end

--- A product whose operands are copied to shared storage two iterations ahead, while the tiles before are used.
function kernels.async(target, n)
  n = n or 256
  local A, B = nw.placeholder({n, n}, "f32", "A"), nw.placeholder({n, n}, "f32", "B")
  local k = nw.reduce_axis(n, "k")
  local C = nw.compute({n, n}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
  local s = on(target, C)
  s:tile("i", "j", 16, 16)
  s:split("k", 16)
  s:reorder("i_o", "j_o", "k_o", "i_i", "j_i", "k_i")
  local copies = {}
  for o, operand in ipairs {A, B} do
    copies[o] = s:cache_read(operand, "shared", {C}, {at = "k_o"})
    s:double_buffer(copies[o], 2)
  end
  s:bind("i_o", "blockIdx.y")
  s:bind("j_o", "blockIdx.x")
  s:bind("i_i", "threadIdx.y")
  s:bind("j_i", "threadIdx.x")
  for _, stage in ipairs(s:stages()) do
    if stage.name:find "shared" then
      local loops = s:loops(stage.name)
      s:bind(loops[#loops - 1], "threadIdx.y")
      s:bind(loops[#loops], "threadIdx.x")
    end
  end
  for _, copy in ipairs(copies) do s:async_copy(copy) end
  return s, C
end

--- A matrix transposed through a tile of shared storage of 64 KiB.
function kernels.large_shared(target, n)
  n = n or 256
  local A = nw.placeholder({n, n}, "f32", "A")
  local T = nw.compute({n, n}, function(i, j) return A(j, i) + 1 end, "T")
  local s = on(target, T)
  s:tile("i", "j", 128, 128)
  s:bind("i_o", "blockIdx.y")
  s:bind("j_o", "blockIdx.x")
  s:cache_read("A", "shared", {T}, {at = "j_o"})
  s:split("i_i", 32)
  s:split("j_i", 32)
  s:reorder("i_i_o", "j_i_o", "i_i_i", "j_i_i")
  s:bind("i_i_i", "threadIdx.y")
  s:bind("j_i_i", "threadIdx.x")
  local loops = s:loops "A_shared"
  s:split(loops[#loops - 1], 32)
  s:split(loops[#loops], 32)
  loops = s:loops "A_shared"
  s:reorder(loops[#loops - 3], loops[#loops - 1], loops[#loops - 2], loops[#loops])
  loops = s:loops "A_shared"
  s:bind(loops[#loops - 1], "threadIdx.y")
  s:bind(loops[#loops], "threadIdx.x")
  return s, T
end

--- All elementwise operations of a dtype, in one kernel each.
function kernels.elementwise(target, dtype, f)
  local A, B = nw.placeholder({512}, dtype, "A"), nw.placeholder({512}, dtype, "B")
  local Y = nw.compute({512}, function(i) return f(A(i), B(i)) end, "Y")
  return in_blocks(on(target, Y), "i", 128), Y
end

return kernels
