--- Makes the computations of the partition bench, and the kernels (tiles) for their loops. Only public primitives are used.
local nw = require "nestwright"
local strategies = require "nestwright.partition.strategies"

local partition = {}

local LANES = 16 -- number of f32 in a vector of this bench; a machine with narrower vectors splits each vector

-- ---- GEMM with weights that are packed in advance: B[j // 16, k, j % 16]

partition.N, partition.K = 768, 768

--- Returns a schedule of this GEMM. By default, N and K have the values above.
function partition.gemm(M, N, K)
  N, K = N or partition.N, K or partition.K
  local A, B = nw.placeholder({M, K}, "f32", "A"), nw.placeholder({N // LANES, K, LANES}, "f32", "B")
  local k = nw.reduce_axis(K, "k")
  return nw.schedule(nw.compute({M, N // LANES, LANES}, function(i, j, v) return nw.sum(A(i, k) * B(j, k, v), k) end, "C"))
end

--- Returns a schedule of the same product with the strides that TVM gives to C by default. If a size is symbolic, these strides are
--- symbolic, too. To model this, C has a last dimension of extent S, so that its elements are S apart. In each call, S is 1. `_e`
--- is the loop over this dimension.
function partition.strided_gemm(M, N, K)
  N, K = N or partition.N, K or partition.K
  local S = nw.size("S", {min = 1})
  local A, B = nw.placeholder({M, K}, "f32", "A"), nw.placeholder({N // LANES, K, LANES}, "f32", "B")
  local k = nw.reduce_axis(K, "k")
  local C = nw.compute({M, N // LANES, LANES, S}, function(i, j, v, _e) return nw.sum(A(i, k) * B(j, k, v), k) end, "C")
  local s = nw.schedule(C)
  s:reorder("_e", "i", "j", "v")
  return s
end

-- WIDTH[rows] is the number of adjacent vectors in each row of a tile. A tile then has 16 to 30 vectors of sums.
local WIDTH = {16, 8, 8, 6, 4, 4, 4, 3, 3, 3, 2, 2, 2, 2}

-- Moves the loop over k outside the tile, so that the sums stay in registers.
local function tile(s, p, j)
  local k, v = p:loop "k", p:loop "v"
  s:reorder(k, p.inner, j, v)
  s:vectorize(v)
  s:unroll(j)
  s:unroll(p.inner)
end

--- Returns a kernel whose tile has `rows` rows, and `width` vectors in each row.
function partition.gemm_kernel(rows, width)
  local function alone(s, p)
    local j_o, j_i = s:split(p:loop "j", width)
    s:reorder(j_o, p.outer, p.inner, j_i)
    tile(s, p, j_i)
  end
  return {rows = rows, schedule = alone, inside = function(s, p) tile(s, p, p:loop "j_i") end}
end

local function kernels_of(widths)
  local list = {}
  for rows, width in ipairs(widths) do list[rows] = partition.gemm_kernel(rows, width) end
  return list
end

function partition.gemm_kernels() return kernels_of(WIDTH) end

--- Returns kernels of libxsmm whose tiles have the same numbers of rows, and one vector of columns. The list is empty if this build
--- has no libxsmm.
function partition.xsmm_kernels()
  local list = {}
  for rows = 1, nw.xsmm.available() and #WIDTH or 0 do list[rows] = nw.xsmm.kernel {rows = rows, columns = "v"} end
  return list
end

--- Makes the loop over pairs of vectors of columns the outermost loop. The elements of B that a tile reads are then still in a
--- cache when the next tile reads them.
function partition.gemm_around(s)
  s:split("j", 2)
  s:reorder("j_o", "i", "j_i")
end

--- Returns one kernel for any number of rows M and of vectors P. It has versions for four ranges of M and P, each with the
--- tiles that suit its sizes.
function partition.any_gemm()
  local M, P, K = nw.size("M", {min = 0}), nw.size("P", {min = 0}), partition.K
  local A, B = nw.placeholder({M, K}, "f32", "A"), nw.placeholder({P, K, LANES}, "f32", "B")
  local k = nw.reduce_axis(K, "k")
  local s = nw.schedule(nw.compute({M, P, LANES}, function(i, j, v) return nw.sum(A(i, k) * B(j, k, v), k) end, "C"))
  local function kernel(rows)
    return {rows = rows, schedule = function(t, p)
      local sum, v = p:loop "k", p:loop "v"
      t:reorder(p:loop "j", p.outer, sum, p.inner, v)
      t:vectorize(v)
      t:unroll(p.inner)
    end}
  end
  local kernels, versions = strategies.kernels("bench", {kernel(8), kernel(4), kernel(2), kernel(1)}), {}
  for _, facts in ipairs {{"M < 64", "P < 8"}, {"M < 64"}, {"P < 8"}, {}} do
    s:checkout(0)
    for _, fact in ipairs(facts) do s:assume(fact) end
    local cases = strategies.apply("bench", s, s:loop "i", "sizes", kernels)
    for _, version in ipairs(strategies.versions(cases)) do versions[#versions + 1] = version end
  end
  return s:build {threads = 1, versions = versions}
end

--- Returns B in the packed layout that the schedules above read, made from an array of K rows.
function partition.packed(b)
  local N, K = partition.N, partition.K
  local B = nw.placeholder({K, N}, "f32", "B")
  local s = nw.schedule(nw.compute({N // LANES, K, LANES}, function(j, k, v) return B(k, LANES * j + v) end, "P"))
  local out = nw.zeros({N // LANES, K, LANES}, "f32")
  s:build {threads = 1}(b, out)
  return out
end

-- ---- GEMM that reads B unpacked, B[k, j]

function partition.cold_gemm(M)
  local N, K = partition.N, partition.K
  local A, B = nw.placeholder({M, K}, "f32", "A"), nw.placeholder({K, N}, "f32", "B")
  local k = nw.reduce_axis(K, "k")
  return nw.schedule(nw.compute({M, N // LANES, LANES}, function(i, j, v)
    return nw.sum(A(i, k) * B(k, LANES * j + v), k)
  end, "C"))
end

-- These tiles have fewer rows and more vectors than the tiles for a packed B, so that they read adjacent whole cache lines of each
-- row.
local COLD_WIDTH = {4, 4, 4, 6, 4, 4, 4}

function partition.cold_kernels() return kernels_of(COLD_WIDTH) end

--- Makes the loop over groups of four vectors of columns the outermost loop. These columns of B stay in the second-level cache
--- while the tiles of all rows are computed.
function partition.cold_around(s)
  s:split("j", 4)
  s:reorder("j_o", "i", "j_i")
end

--- Does the same as cold_around, but packs these columns of B in the same loop, before the tiles that use them.
function partition.cold_packed_around(s)
  local columns = 4 * LANES
  local copy = s:cache_read("B", "global", {"C"}, {layout = function(k, j) return j // columns, k, j % columns end})
  partition.cold_around(s)
  s:compute_at(copy, "j_o")
  local loops = s:loops(copy)
  local _, lane = s:split(loops[#loops], LANES)
  s:vectorize(lane)
end

return partition
