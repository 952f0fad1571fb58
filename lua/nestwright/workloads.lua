--- Computations that predictions are held against, by name: of such sizes that a run takes between a tenth of a millisecond
--- and some tens.
local core = require "nestwright.core"
local errors = require "nestwright.errors"

local workloads, make = {}, {}

local function library() return require "nestwright" end

--- C[i, j] = sum of A[i, k]*B[k, j]
function make.gemm(m, n, depth)
  local nw = library()
  local A, B = nw.placeholder({m, depth}, "f32", "A"), nw.placeholder({depth, n}, "f32", "B")
  local k = nw.reduce_axis(depth, "k")
  return nw.compute({m, n}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
end

--- C[i] = sum over taps of A[i - t]*W[t], zero outside.
function make.conv1d(n, taps)
  local nw = library()
  local A, W = nw.placeholder({n}, "f32", "A"), nw.placeholder({taps}, "f32", "W")
  local P = nw.compute({n + 2 * (taps - 1)}, function(i)
    return nw.select(nw.all(nw.ge(i, taps - 1), nw.lt(i, n + taps - 1)), A(i - (taps - 1)), 0)
  end, "P")
  local t = nw.reduce_axis(taps, "t")
  return nw.compute({n + taps - 1}, function(i) return nw.sum(P(i + taps - 1 - t) * W(t), t) end, "C")
end

--- Each channel with a 3x3 kernel of its own, padded to the same size.
function make.depthwise(c, h, w)
  local nw = library()
  local A, K = nw.placeholder({c, h, w}, "f32", "A"), nw.placeholder({c, 3, 3}, "f32", "K")
  local P = nw.compute({c, h + 2, w + 2}, function(ch, y, x)
    return nw.select(nw.all(nw.ge(y, 1), nw.le(y, h), nw.ge(x, 1), nw.le(x, w)), A(ch, y - 1, x - 1), 0)
  end, "P")
  local dy, dx = nw.reduce_axis(3, "dy"), nw.reduce_axis(3, "dx")
  return nw.compute({c, h, w}, function(ch, y, x) return nw.sum(P(ch, y + dy, x + dx) * K(ch, dy, dx), {dy, dx}) end, "D")
end

--- The mean of three neighbours along rows, then along columns.
function make.blur(h, w)
  local nw = library()
  local A = nw.placeholder({h + 2, w + 2}, "f32", "A")
  local function mean(a, b, c) return (a + b + c) * nw.f32(1 / 3) end
  local X = nw.compute({h + 2, w}, function(y, x) return mean(A(y, x), A(y, x + 1), A(y, x + 2)) end, "X")
  return nw.compute({h, w}, function(y, x) return mean(X(y, x), X(y + 1, x), X(y + 2, x)) end, "Y")
end

-- What is computed where no sizes are said.
local SIZES = {gemm = {480, 480, 480}, conv1d = {131072, 64}, depthwise = {256, 56, 56}, blur = {1080, 960}}

local list = {}
for name in pairs(make) do list[#list + 1] = name end
table.sort(list)
workloads.list, workloads.names = list, table.concat(list, ", ")

--- The computation of that name, of its usual sizes unless others follow.
function workloads.make(what, name, ...)
  if make[name] then return make[name](table.unpack(select("#", ...) > 0 and {...} or SIZES[name])) end
  local near = core.nearest(name, list)
  errors.fail("invalid", near and ("did you mean '%s'?"):format(near) or "there are " .. workloads.names,
    "%s: there is no computation named '%s'", what, name)
end

return workloads
