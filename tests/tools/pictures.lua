--- Draws the pictures of docs/gpu.md, docs/memory.md, docs/order.md, docs/partition.md and docs/pictures.md, and the pictures of
--- docs/measuring.md that need no measurement.
--- usage: nestwright tests/tools/pictures.lua docs
local nw = require "nestwright"
local folder = arg[1] or "docs"

-- Y(i, j) = 2*X((i + 2) % 6, 9 - j)
local function backwards()
  local X = nw.placeholder({6, 10}, "f32", "X")
  return nw.schedule(nw.compute({6, 10}, function(i, j) return 2 * X((i + 2) % 6, 9 - j) end, "Y"))
end

local function product(n)
  local A, B = nw.placeholder({n, n}, "f32", "A"), nw.placeholder({n, n}, "f32", "B")
  local k = nw.reduce_axis(n, "k")
  return nw.schedule(nw.compute({n, n}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C"))
end

-- Returns a schedule that reads a tile of a large matrix by columns.
local function columns(n)
  local A, k = nw.placeholder({n, n}, "f32", "A"), nw.reduce_axis(64, "k")
  local s = nw.schedule(nw.compute({16, 64}, function(i, j) return nw.sum(A(j, k) * (i + 1.0), k) end, "C"))
  s:reorder("i", "k", "j")
  return s
end

local L1 = {{bytes = 32768, ways = 8}}

nw.spacetime(backwards(), {levels = {{bytes = 256, ways = 2}}, title = "Y(i, j) = 2*X((i + 2) % 6, 9 - j)"})
  :save(folder .. "/spacetime.svg")

local tiled = product(16)
tiled:tile("i", "j", 8, 8)
tiled:split("k", 8)
tiled:reorder("i_o", "j_o", "k_o", "i_i", "k_i", "j_i")
nw.spacetime(tiled, {levels = {{bytes = 1024, ways = 0}}, before = 0, title = "C = A*B, 16 x 16, before and after tiling"})
  :save(folder .. "/before_after.svg")

nw.reuse(product(64), {levels = {{bytes = 4096, ways = 4}, {bytes = 32768, ways = 8}}, title = "C = A*B, 64 x 64"})
  :save(folder .. "/reuse.svg")
nw.cache_sets(columns(1024), {levels = L1, title = "A tile by columns, rows of 1024 numbers"}):save(folder .. "/sets_1024.svg")
nw.cache_sets(columns(992), {levels = L1, title = "A tile by columns, rows of 992 numbers"}):save(folder .. "/sets_992.svg")

-- ---- the order of executions

local ordered = nw.schedule((function()
  local A, B = nw.placeholder({17, 12}, "f32", "A"), nw.placeholder({12, 14}, "f32", "B")
  local k = nw.reduce_axis(12, "k")
  return nw.compute({17, 14}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
end)())
ordered:tile("i", "j", 4, 8)
ordered:split("j_i", 4)
ordered:vectorize "j_i_i"
nw.order(ordered, {from = {i = 8}}):save(folder .. "/order.svg")

-- Returns a schedule of a convolution of h x w, padded with zeros.
local function padded(h, w)
  local I, F = nw.placeholder({h, w}, "f32", "I"), nw.placeholder({3, 3}, "f32", "F")
  local r, q = nw.reduce_axis(3, "r"), nw.reduce_axis(3, "q")
  return nw.schedule(nw.compute({h, w}, function(y, x)
    local inside = nw.all(nw.ge(y + r, 1), nw.lt(y + r, h + 1), nw.ge(x + q, 1), nw.lt(x + q, w + 1))
    return nw.sum(nw.select(inside, I(y + r - 1, x + q - 1), 0) * F(r, q), {r, q})
  end, "Y"))
end

local pieces = padded(9, 16)
pieces:partition "y"
pieces:partition "y.main/x"
nw.pieces(pieces):save(folder .. "/pieces.svg")

-- Returns a schedule of a scan that computes S(t, x) from S(t - 1, x - 1) and S(t - 1, x + 1).
local function heat(steps, width)
  local X, state = nw.placeholder({1, width}, "f32", "X"), nw.scan_state({steps, width}, "f32", "state")
  local first = nw.compute({1, width}, function(t, x) return X(t, x) end, "first")
  local update = nw.compute({steps, width}, function(t, x)
    return state(t - 1, nw.max(x - 1, 0)) + state(t - 1, nw.min(x + 1, width - 1))
  end, "update")
  return nw.schedule(nw.scan(first, update, state, "S"))
end

local refused = heat(4, 6)
local _, err = pcall(refused.reorder, refused, "x_1", "t_1")
err.refusal:plot():save(folder .. "/refusal.svg")

-- ---- a pipeline

local tiles, arrows = {}, {}
for tile = 0, 3 do
  local load, compute = 3 * tile, math.max(3 * tile + 3, 3 + 5 * tile)
  tiles[#tiles + 1] = {lane = "load", from = load, to = load + 3, label = "tile " .. tile, kind = "DMA"}
  tiles[#tiles + 1] = {lane = "compute", from = compute, to = compute + 5, label = "tile " .. tile, kind = "MACs"}
  arrows[#arrows + 1] = {from = #tiles - 1, to = #tiles}
end
nw.timeline(tiles, {arrows = arrows, unit = "cycles", title = "a pipeline"}):save(folder .. "/timeline.svg")

-- ---- a roofline of another machine

local fast = product(128)
fast:tile("i", "j", 8, 32)
fast:reorder("i_o", "j_o", "k", "i_i", "j_i")
fast:vectorize "j_i"
fast:unroll "i_i"
nw.roofline(fast, {machine = "skylake_x"}):save(folder .. "/predicted.svg")

-- ---- loops in pieces

package.path = "tutorials/?.lua;" .. package.path
local lab = require "partition"
for name, part in pairs {trimmed = lab.parts[3], triangle = lab.parts[5]} do
  lab.picture(part, part.ways[4]):save(("%s/%s.svg"):format(folder, name))
end

-- ---- a transpose on a GPU

-- Returns the schedule of docs/gpu.md. stage: how many of its parts are made: 0, 1 (the tile in shared memory), 2 (its padding).
local function transpose(stage)
  local A = nw.placeholder({1024, 1024}, "f32", "A")
  local T = nw.compute({1024, 1024}, function(i, j) return A(j, i) end, "T")
  local s = nw.schedule(T, {target = "a100"})
  local io, jo, ii, ji = s:tile("i", "j", 32, 32)
  local _, ty = s:split(ii, 8)
  s:bind(io, "blockIdx.y") s:bind(jo, "blockIdx.x") s:bind(ty, "threadIdx.y") s:bind(ji, "threadIdx.x")
  if stage == 0 then return s end
  s:cache_read(A, "shared", {T}, {at = jo})
  local l = s:loops "A_shared"
  s:bind(l[#l], "threadIdx.x")
  local _, y = s:split(l[#l - 1], 8)
  s:bind(y, "threadIdx.y")
  if stage == 2 then s:storage_align("A_shared", 0, 32, 1) end
  return s
end

nw.warp_request(transpose(1), "load A", {before = transpose(0)}):save(folder .. "/gpu_request.svg")
nw.bank_conflicts(transpose(2), "load A_shared", {before = transpose(1)}):save(folder .. "/gpu_banks.svg")
nw.warps(transpose(1), {blocks = 1}):save(folder .. "/gpu_warps.svg")
nw.occupancy({threads = 256, registers = 72, shared = 24576}, {machine = "a100"}):save(folder .. "/gpu_occupancy.svg")
nw.waves(transpose(2)):save(folder .. "/gpu_waves.svg")

-- Returns a product of matrices in tiles of 16 x 16, and then with these tiles of A and B in shared memory.
local function tiled_product(n)
  local A, B, k = nw.placeholder({n, n}, "f32", "A"), nw.placeholder({n, n}, "f32", "B"), nw.reduce_axis(n, "k")
  local C = nw.compute({n, n}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
  local s = nw.schedule(C, {target = "a100"})
  s:tile("i", "j", 16, 16)
  s:bind("i_o", "blockIdx.y") s:bind("j_o", "blockIdx.x") s:bind("i_i", "threadIdx.y") s:bind("j_i", "threadIdx.x")
  s:split("k", 16)
  for _, name in ipairs {"A", "B"} do
    s:cache_read(name, "shared", {C}, {at = "k_o"})
    local l = s:loops(name .. "_shared")
    s:bind(l[#l - 1], "threadIdx.y")
    s:bind(l[#l], "threadIdx.x")
  end
  return s
end

nw.roofline(tiled_product(1024), {versions = {6, 12}}):save(folder .. "/gpu_roofline.svg")
