--- Returns common kernels, with random tiles and loop orders, as affine nests. Also returns the same kernels unscheduled.
local nw = require "nestwright"
local rng = require "nestwright.measure.rng"

local random = {}

local function gemm(n)
  local A, B = nw.placeholder({n, n}, "f32", "A"), nw.placeholder({n, n}, "f32", "B")
  local k = nw.reduce_axis(n, "k")
  return nw.schedule(nw.compute({n, n}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")), "C", {"i", "j", "k"}
end

local function conv1d(n)
  local taps = 64
  local A, W = nw.placeholder({n + taps}, "f32", "A"), nw.placeholder({taps}, "f32", "W")
  local t = nw.reduce_axis(taps, "t")
  return nw.schedule(nw.compute({n}, function(i) return nw.sum(A(i + t) * W(t), t) end, "C")), "C", {"i", "t"}
end

-- Makes a convolution whose output has the height and width of the input. Elements outside the input count as zero and are not
-- read.
local function conv2d(n)
  local channels = 16
  local X = nw.placeholder({channels, n, n}, "f32", "X")
  local W = nw.placeholder({channels, channels, 3, 3}, "f32", "W")
  local c, r, q = nw.reduce_axis(channels, "c"), nw.reduce_axis(3, "r"), nw.reduce_axis(3, "q")
  local P = nw.compute({channels, n + 2, n + 2}, function(d, y, x)
    return nw.select(nw.all(nw.ge(y, 1), nw.le(y, n), nw.ge(x, 1), nw.le(x, n)), X(d, y - 1, x - 1), 0)
  end, "P")
  return nw.schedule(nw.compute({channels, n, n}, function(o, y, x)
    return nw.sum(P(c, y + r, x + q) * W(o, c, r, q), {c, r, q})
  end, "Y")), "Y", {"o", "y", "x", "c"}
end

local function depthwise(n)
  local channels = 64
  local X, W = nw.placeholder({channels, n + 2, n + 2}, "f32", "X"), nw.placeholder({channels, 3, 3}, "f32", "W")
  local r, q = nw.reduce_axis(3, "r"), nw.reduce_axis(3, "q")
  return nw.schedule(nw.compute({channels, n, n}, function(c, y, x)
    return nw.sum(X(c, y + r, x + q) * W(c, r, q), {r, q})
  end, "Y")), "Y", {"c", "y", "x"}
end

local function blur(n)
  local X = nw.placeholder({n + 2, n + 2}, "f32", "X")
  local H = nw.compute({n + 2, n}, function(y, x) return X(y, x) + X(y, x + 1) + X(y, x + 2) end, "H")
  return nw.schedule(nw.compute({n, n}, function(y, x) return H(y, x) + H(y + 1, x) + H(y + 2, x) end, "Y")), "Y", {"y", "x"}
end

-- {name, maker, sizes}. With each size, the kernel makes at least 1e7 accesses.
local KERNELS = {
  {"gemm", gemm, {160, 192, 200, 256, 384, 500}}, {"conv1d", conv1d, {50000, 100000, 200000}},
  {"conv2d", conv2d, {56, 64, 112}}, {"depthwise", depthwise, {100, 112, 200}}, {"blur", blur, {1200, 1536, 2000}},
}

-- A refused step leaves the schedule unchanged.
local function try(s, name, ...) return pcall(s[name], s, ...) end

local function scheduled(r, make, size)
  local s, stage, loops = make(size)
  local outer, inner = {}, {}
  for _, loop in ipairs(loops) do
    local factor = r:pick {0, 4, 8, 12, 16, 32, 50, 64}
    local ok, o, i
    if factor > 0 then ok, o, i = try(s, "split", s[stage] and loop or loop, factor) end
    if ok then outer[#outer + 1], inner[#inner + 1] = o, i else inner[#inner + 1] = loop end
  end
  local order = r:shuffle(outer)
  for _, loop in ipairs(r:shuffle(inner)) do order[#order + 1] = loop end
  try(s, "reorder", table.unpack(order))
  if r:chance(0.4) then try(s, "vectorize", order[#order]) end
  return s
end

--- Returns a nest with at least 1e7 accesses (see KERNELS), and the name of its kernel. The seed determines the kernel, its size
--- and its steps. Returns nil if the schedule cannot be written as a nest.
function random.nest(seed)
  local r = rng.new(seed)
  local kernel = r:pick(KERNELS)
  local s = scheduled(r, kernel[2], r:pick(kernel[3]))
  local ok, nest = pcall(nw.nest.of, s)
  if not ok then return nil end
  return nest, kernel[1]
end

--- Returns the kernels without steps: {name, schedule}.
function random.named()
  local out = {}
  for _, k in ipairs(KERNELS) do out[#out + 1] = {k[1] .. ", naive", (k[2](k[3][#k[3]]))} end
  return out
end

return random
