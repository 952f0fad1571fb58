--- Makes computations for audits, by name. With their default sizes, one run takes between a tenth of a millisecond and some tens
--- of milliseconds.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"

local workloads, make = {}, {}

local function library() return require "nestwright" end

--- Makes a matrix product: C[i, j] is the sum of A[i, k]*B[k, j] over k.
function make.gemm(m, n, depth)
  local nw = library()
  local A, B = nw.placeholder({m, depth}, "f32", "A"), nw.placeholder({depth, n}, "f32", "B")
  local k = nw.reduce_axis(depth, "k")
  return nw.compute({m, n}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
end

--- Makes a convolution in one dimension: C[i] is the sum of A[i - t]*W[t] over all taps t, where A is zero outside of its bounds.
function make.conv1d(n, taps)
  local nw = library()
  local A, W = nw.placeholder({n}, "f32", "A"), nw.placeholder({taps}, "f32", "W")
  local P = nw.compute({n + 2 * (taps - 1)}, function(i)
    return nw.select(nw.all(nw.ge(i, taps - 1), nw.lt(i, n + taps - 1)), A(i - (taps - 1)), 0)
  end, "P")
  local t = nw.reduce_axis(taps, "t")
  return nw.compute({n + taps - 1}, function(i) return nw.sum(P(i + taps - 1 - t) * W(t), t) end, "C")
end

--- Makes a depthwise convolution, in which each channel has its own 3x3 filter. The input is padded, so the output has the input's
--- size.
function make.depthwise(c, h, w)
  local nw = library()
  local A, K = nw.placeholder({c, h, w}, "f32", "A"), nw.placeholder({c, 3, 3}, "f32", "K")
  local P = nw.compute({c, h + 2, w + 2}, function(ch, y, x)
    return nw.select(nw.all(nw.ge(y, 1), nw.le(y, h), nw.ge(x, 1), nw.le(x, w)), A(ch, y - 1, x - 1), 0)
  end, "P")
  local dy, dx = nw.reduce_axis(3, "dy"), nw.reduce_axis(3, "dx")
  return nw.compute({c, h, w}, function(ch, y, x) return nw.sum(P(ch, y + dy, x + dx) * K(ch, dy, dx), {dy, dx}) end, "D")
end

--- Makes a blur: the mean of three neighbours along rows, and then along columns.
function make.blur(h, w)
  local nw = library()
  local A = nw.placeholder({h + 2, w + 2}, "f32", "A")
  local function mean(a, b, c) return (a + b + c) * nw.f32(1 / 3) end
  local X = nw.compute({h + 2, w}, function(y, x) return mean(A(y, x), A(y, x + 1), A(y, x + 2)) end, "X")
  return nw.compute({h, w}, function(y, x) return mean(X(y, x), X(y + 1, x), X(y + 2, x)) end, "Y")
end

--- Makes a fully connected layer: R[i, j] = max(S[i, j] + b[j], 0), where S[i, j] is the sum of A[i, k]*W[j, k] over k.
function make.dense(m, n, depth)
  local nw = library()
  local A, W = nw.placeholder({m, depth}, "f32", "A"), nw.placeholder({n, depth}, "f32", "W")
  local b, k = nw.placeholder({n}, "f32", "b"), nw.reduce_axis(depth, "k")
  local S = nw.compute({m, n}, function(i, j) return nw.sum(A(i, k) * W(j, k), k) end, "S")
  return nw.compute({m, n}, function(i, j) return nw.max(S(i, j) + b(j), 0) end, "R")
end

--- Makes a convolution without padding: each of o output channels is a sum over 3x3 windows of all c input channels.
function make.conv2d(o, c, h, w)
  local nw = library()
  local A, K = nw.placeholder({c, h + 2, w + 2}, "f32", "A"), nw.placeholder({o, c, 3, 3}, "f32", "K")
  local q, dy, dx = nw.reduce_axis(c, "q"), nw.reduce_axis(3, "dy"), nw.reduce_axis(3, "dx")
  return nw.compute({o, h, w}, function(f, y, x) return nw.sum(A(q, y + dy, x + dx) * K(f, q, dy, dx), {q, dy, dx}) end, "F")
end

--- Makes a max pooling: the largest element of each 3x3 window, with stride 2 and zeros as padding.
function make.pool(c, h, w)
  local nw = library()
  local A = nw.placeholder({c, 2 * h, 2 * w}, "f32", "A")
  local P = nw.compute({c, 2 * h + 1, 2 * w + 1}, function(ch, y, x)
    return nw.select(nw.all(nw.ge(y, 1), nw.ge(x, 1)), A(ch, y - 1, x - 1), 0)
  end, "P")
  local dy, dx = nw.reduce_axis(3, "dy"), nw.reduce_axis(3, "dx")
  return nw.compute({c, h, w}, function(ch, y, x) return nw.max(P(ch, 2 * y + dy, 2 * x + dx), {dy, dx}) end, "M")
end

--- Makes the magnitude of the gradient of an image, from differences along rows and along columns.
function make.sobel(h, w)
  local nw = library()
  local A = nw.placeholder({h + 2, w + 2}, "f32", "A")
  local function across(a, b, c) return a + b * 2 + c end
  local V = nw.compute({h, w}, function(y, x)
    return across(A(y + 2, x), A(y + 2, x + 1), A(y + 2, x + 2)) - across(A(y, x), A(y, x + 1), A(y, x + 2))
  end, "V")
  local H = nw.compute({h, w}, function(y, x)
    return across(A(y, x + 2), A(y + 1, x + 2), A(y + 2, x + 2)) - across(A(y, x), A(y + 1, x), A(y + 2, x))
  end, "H")
  return nw.compute({h, w}, function(y, x) return nw.sqrt(V(y, x) * V(y, x) + H(y, x) * H(y, x)) end, "G")
end

--- Makes one time step of the heat equation in three dimensions.
function make.heat(d, h, w)
  local nw = library()
  local A = nw.placeholder({d + 2, h + 2, w + 2}, "f32", "A")
  return nw.compute({d, h, w}, function(z, y, x)
    local around = A(z, y + 1, x + 1) + A(z + 2, y + 1, x + 1) + A(z + 1, y, x + 1) + A(z + 1, y + 2, x + 1) + A(z + 1, y + 1, x)
      + A(z + 1, y + 1, x + 2)
    return A(z + 1, y + 1, x + 1) * nw.f32(0.4) + around * nw.f32(0.1)
  end, "U")
end

--- Makes the sum of A and the transpose of B.
function make.transpose(n)
  local nw = library()
  local A, B = nw.placeholder({n, n}, "f32", "A"), nw.placeholder({n, n}, "f32", "B")
  return nw.compute({n, n}, function(i, j) return A(i, j) + B(j, i) end, "T")
end

--- Makes the difference of a matrix and the means of its rows.
function make.center(m, n)
  local nw = library()
  local A, k = nw.placeholder({m, n}, "f32", "A"), nw.reduce_axis(n, "k")
  local S = nw.compute({m}, function(i) return nw.sum(A(i, k), k) end, "S")
  return nw.compute({m, n}, function(i, j) return A(i, j) - S(i) * nw.f32(1 / n) end, "N")
end

-- The default sizes of the computations.
local SIZES = {gemm = {480, 480, 480}, conv1d = {131072, 64}, depthwise = {256, 56, 56}, blur = {1080, 960},
  dense = {128, 192, 256}, conv2d = {32, 16, 28, 28}, pool = {64, 56, 56}, sobel = {480, 640}, heat = {48, 64, 96},
  transpose = {640}, center = {512, 768}}

local list = {}
for name in pairs(make) do list[#list + 1] = name end
table.sort(list)
workloads.list, workloads.names = list, table.concat(list, ", ")

--- Returns the computation of this name, with the given sizes. If no sizes are given, the default sizes are used.
function workloads.make(what, name, ...)
  if make[name] then return make[name](table.unpack(select("#", ...) > 0 and {...} or SIZES[name])) end
  local near = core.nearest(name, list)
  errors.fail("invalid", near and ("did you mean '%s'?"):format(near) or "known computations: " .. workloads.names,
    "%s: there is no computation named '%s'", what, name)
end

return workloads
