--- Eight products of matrices in f32 for a GPU, from one thread for each element to tiles of warps. Their speeds on an RTX A6000 at
--- 4096 were published (S. Boehm, "How to Optimize a CUDA Matmul Kernel", 2022). Each is a function that returns a schedule; the
--- shapes of the tiles are those of the publication.
local nw = require "nestwright"

local staircase = {}

local function matmul(target, n)
  local A, B = nw.placeholder({n, n}, "f32", "A"), nw.placeholder({n, n}, "f32", "B")
  local k = nw.reduce_axis(n, "k")
  local C = nw.compute({n, n}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
  return nw.schedule(C, {target = target}), C, A, B
end

-- One element for each thread, in blocks of 32 x 32. `rows` and `columns` are the indices along i and j.
local function element(target, n, rows, columns)
  local s, C = matmul(target, n)
  s:tile("i", "j", 32, 32)
  s:bind("i_o", "blockIdx." .. rows)
  s:bind("j_o", "blockIdx." .. columns)
  s:bind("i_i", "threadIdx." .. rows)
  s:bind("j_i", "threadIdx." .. columns)
  s:cache_write(C, "local", {at = "j_i"})
  return s
end

-- Lets the threads of a block, of which there are x * y, copy a tile of an operand to shared storage.
local function copy_by_all(s, stage, y, x, vector)
  local l = s:loops(stage)
  local f = s:fuse(l[#l - 1], l[#l])
  if vector then
    local v
    f, v = s:split(f, vector)
    s:vectorize(v)
  end
  local _, t = s:split(f, y * x)
  local ty, tx = s:split(t, x)
  if y > 1 then s:bind(ty, "threadIdx.y") end
  s:bind(tx, "threadIdx.x")
end

local N = 4096

staircase.list = {
  {name = "naive", gflops = 309.0, make = function(t, n) return element(t, n, "x", "y") end},
  {name = "coalesced", gflops = 1986.5, make = function(t, n) return element(t, n, "y", "x") end},
  {name = "shared", gflops = 2980.3, make = function(t, n)
    local s, C, A, B = matmul(t, n)
    s:tile("i", "j", 32, 32)
    s:bind("i_o", "blockIdx.y")
    s:bind("j_o", "blockIdx.x")
    s:bind("i_i", "threadIdx.y")
    s:bind("j_i", "threadIdx.x")
    s:cache_write(C, "local", {at = "j_i"})
    s:split("k", 32)
    for _, operand in ipairs {A, B} do
      local c = s:cache_read(operand, "shared", {"C_local"}, {at = "k_o"})
      local l = s:loops(c)
      s:bind(l[#l - 1], "threadIdx.y")
      s:bind(l[#l], "threadIdx.x")
    end
    return s
  end},
}

-- Tiles of bm x bn for each block, of tm x tn for each thread, and bk steps of k at a time. o: vector (elements of each load from
-- global memory), turned (the tile of A is stored by columns), warps (a tile of o.warps[1] x o.warps[2] threads for each warp).
local function tiled(t, n, bm, bn, bk, tm, tn, o)
  local s, C, A, B = matmul(t, n)
  local rows, columns = bm // tm, bn // tn
  s:tile("i", "j", bm, bn)
  s:split("i_i", tm)
  s:split("j_i", tn)
  s:reorder("i_i_o", "j_i_o", "i_i_i", "j_i_i")
  s:bind("i_o", "blockIdx.y")
  s:bind("j_o", "blockIdx.x")
  s:bind("i_i_o", "threadIdx.y")
  s:bind("j_i_o", "threadIdx.x")
  s:cache_write(C, "local", {at = "j_i_o"})
  local l = s:loops "C_local"
  local ko, ki = s:split(l[#l], bk)
  s:reorder(ko, ki, l[#l - 2], l[#l - 1])
  for _, operand in ipairs {A, B} do
    local c = s:cache_read(operand, "shared", {"C_local"}, {at = ko})
    copy_by_all(s, c, rows, columns, o.vector)
    if operand == A and o.turned then s:reorder_storage(c, {1, 0}) end
    s:cache_read(c, "local", {"C_local"}, {at = ki})
  end
  return s
end

staircase.list[4] = {name = "tiles of 8 x 1", gflops = 8474.7, make = function(t, n) return tiled(t, n, 64, 64, 8, 8, 1, {}) end}
staircase.list[5] = {name = "tiles of 8 x 8", gflops = 15971.7, make = function(t, n) return tiled(t, n, 128, 128, 8, 8, 8, {}) end}
staircase.list[6] = {name = "vector loads", gflops = 18237.3,
  make = function(t, n) return tiled(t, n, 128, 128, 8, 8, 8, {vector = 4, turned = true}) end}
staircase.list[7] = {name = "tuned", gflops = 19721,
  make = function(t, n) return tiled(t, n, 128, 128, 16, 8, 8, {vector = 4, turned = true}) end}
-- Each of four warps computes a tile of 64 x 64. A thread has 8 rows and four groups of 4 columns.
local function warp_tiles(t, n)
  local s, C, A, B = matmul(t, n)
  local bk = 16
  s:tile("i", "j", 128, 128)
  local iw, ir = s:split("i_i", 64)
  local it, ii = s:split(ir, 8)
  local jw, jr = s:split("j_i", 64)
  local jg, jq = s:split(jr, 16)
  local jt, jj = s:split(jq, 4)
  s:reorder(jg, iw, jw, it, jt, ii, jj)
  local warp = s:fuse(iw, jw)
  local lane = s:fuse(it, jt)
  s:bind("i_o", "blockIdx.y")
  s:bind("j_o", "blockIdx.x")
  s:bind(jg, "vthread")
  s:bind(warp, "threadIdx.y")
  s:bind(lane, "threadIdx.x")
  s:cache_write(C, "local", {at = lane})
  local l = s:loops "C_local"
  local ko, ki = s:split(l[#l], bk)
  s:reorder(ko, ki, l[#l - 2], l[#l - 1])
  for _, operand in ipairs {A, B} do
    local c = s:cache_read(operand, "shared", {"C_local"}, {at = ko})
    copy_by_all(s, c, 4, 32, 4)
    if operand == A then s:reorder_storage(c, {1, 0}) end
    s:cache_read(c, "local", {"C_local"}, {at = ki})
  end
  return s
end

staircase.list[8] = {name = "tiles of warps", gflops = 21779.3, make = warp_tiles}
-- Returns Kendall's tau of two lists of numbers.
local function tau(a, b)
  local sum, pairs_of = 0, 0
  for i = 1, #a do
    for j = i + 1, #a do
      local x, y = a[i] - a[j], b[i] - b[j]
      sum, pairs_of = sum + (x * y > 0 and 1 or x * y < 0 and -1 or 0), pairs_of + 1
    end
  end
  return sum / pairs_of
end

--- Predicts the speed of each product, in GFLOP/s. Returns the order of the predictions against that of the published speeds
--- (Kendall's tau), and the median and the largest relative error.
function staircase.compare()
  local predicted, published, errors = {}, {}, {}
  for n, k in ipairs(staircase.list) do
    local c = k.make("rtx_a6000", N):cost()
    predicted[n], published[n] = 2 * N ^ 3 / c.seconds / 1e9, k.gflops
    errors[n] = math.abs(predicted[n] / k.gflops - 1)
    print(("  %-16s %8.1f GFLOP/s predicted, %8.1f published, %+5.1f %%, limited by %s"):format(k.name, predicted[n], k.gflops,
      100 * (predicted[n] / k.gflops - 1), c.bottleneck))
  end
  table.sort(errors)
  return tau(predicted, published), (errors[4] + errors[5]) / 2, errors[8]
end

return staircase
