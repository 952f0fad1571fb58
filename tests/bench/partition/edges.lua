--- Makes convolutions in which partition separates the iterations at the edges, so that the input needs no padding. A kernel for
--- all sizes has two versions: the partitioned version for sizes of at least one or two tiles, and the naive version for smaller
--- sizes. Only public primitives are used.
local nw = require "nestwright"

local edges = {}

local LANES = 16

local function stands_in(loops, loop)
  for _, l in ipairs(loops) do if l.name == loop.name then return true end end
  return false
end

-- In the nest that contains `loop`, returns the loop `name`. If the nest is a piece of a loop that was cut, the name of this loop
-- has a prefix, as in "post/t". Returns nil if the piece is empty, so that the loop does not exist.
local function beside(s, loop, name)
  for _, stage in ipairs(s:stages()) do
    local loops = stage:loops()
    if stands_in(loops, loop) then
      for _, l in ipairs(loops) do if l.name:match "[^/]*$" == name then return l end end
    end
  end
end

-- ---- full convolution: out[i] = sum over taps of a[i - t] * w[t]

local TILE = 8 * LANES -- number of outputs whose sums are in registers

edges.conv1d_tile = TILE

local function direct(n, taps)
  local A, W = nw.placeholder({n}, "f32", "A"), nw.placeholder({taps}, "f32", "W")
  local t = nw.reduce_axis(taps, "t")
  return nw.schedule(nw.compute({n + taps - 1}, function(i)
    return nw.sum(nw.select(nw.all(nw.ge(i - t, 0), nw.lt(i - t, n)), A(i - t), 0) * W(t), t)
  end, "C"))
end

-- Splits the outputs into tiles. The last tile begins earlier, so that it has the full size. For tap t, a vector of outputs reads
-- the same vector of inputs as the next vector of outputs for tap t + 16, so one load is sufficient for both.
local function tile_outputs(s, loop)
  local outer, inner = s:split(loop, {factor = TILE, tail = "shift"})
  local block, lane = s:split(inner, LANES)
  local far, near = s:split(beside(s, outer, "t"), LANES)
  s:reorder(outer, near, far, block, lane)
  s:vectorize(lane)
  s:unroll(block)
  s:unroll(far)
end

-- Computes a few outputs under masks, because each output has its own range of taps.
local function mask_outputs(s, loop)
  local outer, lane = s:split(loop, {factor = LANES, tail = "predicate"})
  s:reorder(beside(s, outer, "t"), outer, lane)
  s:unroll(outer)
end

-- Makes three pieces: the outputs to which all taps contribute, and the outputs at each end.
local function conv1d_pieces(s)
  local pre, main, post = s:partition "i"
  mask_outputs(s, pre)
  tile_outputs(s, main)
  mask_outputs(s, post)
end

function edges.conv1d(n, taps)
  local s = direct(n, taps)
  conv1d_pieces(s)
  return s
end

-- Returns two kernels. The first has the current version, for sizes that satisfy its assumptions, and the version `before`, for all
-- other sizes. The second has only the version `before`.
local function kernels(s, before)
  local f = s:build {threads = 1, versions = {s:version(), before}}
  s:checkout(before)
  return f, s:build {threads = 1}
end

--- Returns one kernel for every length, and a kernel of the naive program.
function edges.conv1d_any(taps)
  local s = direct(nw.size("N", {min = 0}), taps)
  local plain = s:version()
  s:assume(("N >= %d"):format(TILE + taps - 1))
  conv1d_pieces(s)
  return kernels(s, plain)
end

--- Returns a full convolution with the same tiles that reads a padded copy of the input.
function edges.conv1d_padded(n, taps)
  local A, W = nw.placeholder({n}, "f32", "A"), nw.placeholder({taps}, "f32", "W")
  local edge = taps - 1
  local P = nw.compute({n + 2 * edge}, function(p)
    return nw.select(nw.all(nw.ge(p, edge), nw.lt(p, n + edge)), A(p - edge), 0)
  end, "P")
  local t = nw.reduce_axis(taps, "t")
  local C = nw.compute({n + edge}, function(i) return nw.sum(P(i + edge - t) * W(t), t) end, "C")
  local s = nw.schedule(C)
  local _, lane = s:split(s:loops(P)[1], {factor = LANES, tail = "cut"})
  s:vectorize(lane)
  tile_outputs(s, s:loops(C)[1])
  return s
end

-- ---- depthwise convolution, 3 x 3, with padding that keeps the shape

-- The tile of outputs of one channel. Its vectors have half of the greatest width, because fewer of them then cross into a second
-- cache line. This makes loads from the third-level cache or memory faster.
edges.depthwise_rows, edges.depthwise_columns = 3, 8

local function plane(channels, height, width)
  local A, F = nw.placeholder({channels, height, width}, "f32", "A"), nw.placeholder({channels, 3, 3}, "f32", "F")
  local dy, dx = nw.reduce_axis(3, "dy"), nw.reduce_axis(3, "dx")
  return nw.schedule(nw.compute({channels, height, width}, function(c, y, x)
    local inside = nw.all(nw.ge(y + dy, 1), nw.le(y + dy, height), nw.ge(x + dx, 1), nw.le(x + dx, width))
    return nw.sum(nw.select(inside, A(c, y + dy - 1, x + dx - 1), 0) * F(c, dy, dx), {dy, dx})
  end, "D"))
end

-- Keeps the sums of a tile in registers, and stores them at the end.
local function tile_plane(s)
  local y_o, y_i = s:split("y", {factor = edges.depthwise_rows, tail = "shift"})
  local x_o, x_i = s:split("x", {factor = edges.depthwise_columns, tail = "shift"})
  s:reorder(y_o, x_o, y_i, x_i)
  local loops = s:loops(s:cache_write("D", "local", {at = x_o}))
  local y, x, dy, dx = table.unpack(loops, #loops - 3)
  s:reorder(dx, dy, y, x)
  s:vectorize(x)
  for _, loop in ipairs {dx, dy, y} do s:unroll(loop) end
  s:vectorize(x_i)
  s:unroll(y_i)
end

-- Separates the tiles that touch an edge of the plane from the other tiles.
local function cut_edges(s)
  for _, rows in ipairs {s:partition "y_o"} do
    local columns = beside(s, rows, "x_o")
    if columns then s:partition(columns) end
  end
end

function edges.depthwise(channels, height, width)
  local s = plane(channels, height, width)
  tile_plane(s)
  cut_edges(s)
  return s
end

--- Returns one kernel for any number of channels, height and width, and a kernel of the naive program.
function edges.depthwise_any()
  local s = plane(nw.size("C", {min = 0}), nw.size("H", {min = 0}), nw.size("W", {min = 0}))
  local plain = s:version()
  s:assume(("H >= %d"):format(2 * edges.depthwise_rows))
  s:assume(("W >= %d"):format(2 * edges.depthwise_columns))
  tile_plane(s)
  cut_edges(s)
  return kernels(s, plain)
end

return edges
