--- Programs of neural networks and of learning.
local nw = require "nestwright"
local tools = require "programs.tools"

-- Makes the largest element of each row and the sum of the exponentials of its differences from it.
local function normalized(a, m, n)
  local k, l = nw.reduce_axis(n, "k"), nw.reduce_axis(n, "l")
  local most = nw.compute({m}, function(i) return nw.max(a(i, k), k) end, "Most")
  local power = nw.compute({m, n}, function(i, j) return nw.exp(a(i, j) - most(i)) end, "Power")
  local sum = nw.compute({m}, function(i) return nw.sum(power(i, l), l) end, "Sum")
  return most, power, sum
end

return function(program)
  program {"softmax", sizes = {256, 1024}, make = function(input, m, n)
    local _, power, sum = normalized(input {m, n}, m, n)
    return nw.compute({m, n}, function(i, j) return power(i, j) / sum(i) end, "B")
  end, schedule = function(s)
    tools.inside(s, s["B"].op.axis[1], "Sum", "Power", "Most")
    tools.rows(s, 16, "Power", "B")
    tools.sums(s, 64, "Most", "Sum")
  end}

  program {"log_softmax", sizes = {256, 1024}, make = function(input, m, n)
    local a = input {m, n}
    local most, _, sum = normalized(a, m, n)
    local by = nw.compute({m}, function(i) return most(i) + nw.log(sum(i)) end, "By")
    return nw.compute({m, n}, function(i, j) return a(i, j) - by(i) end, "B")
  end, schedule = function(s)
    tools.inside(s, s["B"].op.axis[1], "By", "Sum", "Power", "Most")
    tools.rows(s, 16, "Power", "B")
    tools.sums(s, 64, "Most", "Sum")
  end}

  program {"cross_entropy", sizes = {256, 1024}, integers = {[2] = {0, 1023}}, make = function(input, m, n)
    local a, label = input {m, n}, input({m}, "i32")
    local most, _, sum = normalized(a, m, n)
    return nw.compute({m}, function(i)
      return most(i) + nw.log(sum(i)) - a(i, nw.min(nw.max(label(i), 0), n - 1))
    end, "B")
  end, schedule = function(s)
    tools.inside(s, s["B"].op.axis[1], "Sum", "Power", "Most")
    tools.rows(s, 16, "Power")
    tools.sums(s, 64, "Most", "Sum")
  end}

  program {"layernorm", sizes = {256, 1024}, make = function(input, m, n)
    local a, g, h = input {m, n}, input {n}, input {n}
    local k, l = nw.reduce_axis(n, "k"), nw.reduce_axis(n, "l")
    local sum = nw.compute({m}, function(i) return nw.sum(a(i, k), k) end, "Sum")
    local mean = nw.compute({m}, function(i) return sum(i) / n end, "Mean")
    local square = nw.compute({m}, function(i) return nw.sum((a(i, l) - mean(i)) * (a(i, l) - mean(i)), l) end, "Square")
    local by = nw.compute({m}, function(i) return nw.rsqrt(square(i) / n + 1e-5) end, "By")
    return nw.compute({m, n}, function(i, j) return (a(i, j) - mean(i)) * by(i) * g(j) + h(j) end, "B")
  end, schedule = function(s)
    tools.inside(s, s["B"].op.axis[1], "By", "Square", "Mean", "Sum")
    tools.rows(s, 16, "B")
    tools.sums(s, 64, "Sum", "Square")
  end}

  program {"rmsnorm", sizes = {256, 1024}, make = function(input, m, n)
    local a, g, k = input {m, n}, input {n}, nw.reduce_axis(n, "k")
    local square = nw.compute({m}, function(i) return nw.sum(a(i, k) * a(i, k), k) end, "Square")
    local by = nw.compute({m}, function(i) return nw.rsqrt(square(i) / n + 1e-5) end, "By")
    return nw.compute({m, n}, function(i, j) return a(i, j) * by(i) * g(j) end, "B")
  end, schedule = function(s)
    tools.inside(s, s["B"].op.axis[1], "By", "Square")
    tools.rows(s, 16, "B")
    tools.sums(s, 64, "Square")
  end}

  program {"gelu", sizes = {65536}, make = function(input, n)
    local a = input {n}
    return nw.compute({n}, function(i) return a(i) * 0.5 * (nw.erf(a(i) * 0.70710678) + 1) end, "B")
  end, schedule = function(s) tools.lanes(s, "i", 16) end}

  program {"gated", sizes = {65536}, make = function(input, n)
    local a, g = input {n}, input {n}
    return nw.compute({n}, function(i) return a(i) * nw.sigmoid(a(i)) * g(i) end, "B")
  end, schedule = function(s) tools.lanes(s, "i", 16) end}

  program {"bias_relu", sizes = {512, 1024}, make = function(input, m, n)
    local a, h = input {m, n}, input {n}
    return nw.compute({m, n}, function(i, j) return nw.max(a(i, j) + h(j), 0) end, "B")
  end, schedule = function(s) tools.rows(s, 16, "B") end}

  program {"batchnorm", sizes = {64, 4096}, positive = {[3] = true}, make = function(input, m, n)
    local a, mean, var, g, h = input {m, n}, input {m}, input {m}, input {m}, input {m}
    local by = nw.compute({m}, function(c) return g(c) * nw.rsqrt(var(c) + 1e-5) end, "By")
    return nw.compute({m, n}, function(c, x) return (a(c, x) - mean(c)) * by(c) + h(c) end, "B")
  end, schedule = function(s) tools.rows(s, 16, "B") end}

  program {"attention", sizes = {256, 64}, make = function(input, n, m)
    local q, k, v = input {n, m}, input {n, m}, input {n, m}
    local d, e = nw.reduce_axis(m, "d"), nw.reduce_axis(n, "e")
    local score = nw.compute({n, n}, function(i, j) return nw.sum(q(i, d) * k(j, d), d) end, "Score")
    local masked = nw.compute({n, n}, function(i, j) return nw.select(nw.le(j, i), score(i, j) * 0.125, -1e30) end, "Masked")
    local _, power, sum = normalized(masked, n, n)
    local weight = nw.compute({n, n}, function(i, j) return power(i, j) / sum(i) end, "Weight")
    return nw.compute({n, m}, function(i, j) return nw.sum(weight(i, e) * v(e, j), e) end, "O")
  end, schedule = function(s)
    local turned = s:cache_read(s:inputs()[2].name, "global", {"Score"}, {layout = function(j, d) return d, j end})
    tools.tile(s, "Score", 8, 32)
    tools.tile(s, "O", 8, 32)
    tools.rows(s, 16, "Masked", "Power", "Weight")
    tools.sums(s, 64, "Most", "Sum")
    local j, d = s[turned]:axes()
    s:tile(j, d, 16, 16)
  end}

  program {"rope", sizes = {512, 64}, make = function(input, n, m)
    local a, c, d = input {n, 2, m}, input {n, m}, input {n, m}
    return nw.compute({n, 2, m}, function(i, h, j)
      return a(i, h, j) * c(i, j) + nw.select(nw.eq(h, 0), -(a(i, 1 - h, j) * d(i, j)), a(i, 1 - h, j) * d(i, j))
    end, "B")
  end, schedule = function(s)
    s:unroll "h"
    tools.lanes(s, "j", 16)
  end}

  program {"embedding", sizes = {1024, 256, 4096}, integers = {[2] = {0, 4095}}, make = function(input, n, m, words)
    local t, word = input {words, m}, input({n}, "i32")
    return nw.compute({n, m}, function(i, j) return t(nw.min(nw.max(word(i), 0), words - 1), j) end, "B")
  end, schedule = function(s) tools.rows(s, 16, "B") end}

  program {"conv2d", sizes = {32, 32, 32, 32}, make = function(input, out, into, h, w)
    local a, f = input {into, h + 2, w + 2}, input {out, into, 3, 3}
    local c, dy, dx = nw.reduce_axis(into, "c"), nw.reduce_axis(3, "dy"), nw.reduce_axis(3, "dx")
    return nw.compute({out, h, w}, function(o, y, x) return nw.sum(a(c, y + dy, x + dx) * f(o, c, dy, dx), {c, dy, dx}) end, "B")
  end, schedule = function(s)
    local o, y, x = s["B"]:axes()
    local o_o, o_i = s:split(o, 4)
    local y_o, y_i = s:split(y, 2)
    local x_o, x_i = s:split(x, 32)
    s:reorder(o_o, y_o, x_o, o_i, y_i, x_i)
    local block = s:cache_write("B", "local", {at = x_o})
    local bo, by, bx, c, dy, dx = s[block]:axes()
    s:reorder(c, dy, dx, bo, by, bx)
    s:vectorize(bx)
    s:unroll(by)
    s:unroll(bo)
    s:vectorize(x_i)
    s:unroll(y_i)
    s:unroll(o_i)
  end}

  program {"depthwise3", sizes = {64, 64, 64}, make = function(input, c, h, w)
    local a, f, dy, dx = input {c, h + 2, w + 2}, input {c, 3, 3}, nw.reduce_axis(3, "dy"), nw.reduce_axis(3, "dx")
    return nw.compute({c, h, w}, function(l, y, x) return nw.sum(a(l, y + dy, x + dx) * f(l, dy, dx), {dy, dx}) end, "B")
  end, schedule = function(s)
    tools.tile(s, "B", 4, 16)
  end}

  program {"pointwise", sizes = {64, 64, 1024}, make = function(input, out, into, n)
    local a, w, c = input {into, n}, input {out, into}, nw.reduce_axis(into, "c")
    return nw.compute({out, n}, function(o, x) return nw.sum(w(o, c) * a(c, x), c) end, "B")
  end, schedule = function(s) tools.tile(s, "B", 8, 32) end}

  program {"maxpool", sizes = {64, 56, 64}, make = function(input, c, h, w)
    local a = input {c, 2 * h, 2 * w}
    local rows = nw.compute({c, h, 2 * w}, function(l, y, x) return nw.max(a(l, 2 * y, x), a(l, 2 * y + 1, x)) end, "Rows")
    return nw.compute({c, h, w}, function(l, y, x) return nw.max(rows(l, y, 2 * x), rows(l, y, 2 * x + 1)) end, "B")
  end, schedule = function(s)
    tools.inside(s, s["B"].op.axis[2], "Rows")
    tools.rows(s, 16, "Rows", "B")
  end}

  program {"avgpool", sizes = {256, 3136}, make = function(input, c, n)
    local a, k = input {c, n}, nw.reduce_axis(n, "k")
    local sum = nw.compute({c}, function(l) return nw.sum(a(l, k), k) end, "Sum")
    return nw.compute({c}, function(l) return sum(l) / n end, "B")
  end, schedule = function(s) tools.sums(s, 64, "Sum") end}

  program {"gemm_i8", sizes = {256, 256, 256}, make = function(input, m, n, depth)
    local a, b, k = input({m, depth}, "i8"), input({depth, n}, "i8"), nw.reduce_axis(depth, "k")
    return nw.compute({m, n}, function(i, j) return nw.sum(nw.i32(a(i, k)) * nw.i32(b(k, j)), k) end, "C")
  end, schedule = function(s) tools.tile(s, "C", 8, 32) end}

  program {"argmax_rows", sizes = {256, 1024}, make = function(input, m, n)
    local a, k = input {m, n}, nw.reduce_axis(n, "k")
    return nw.compute({m}, function(i) return nw.argmax(a(i, k), k) end, "Best")
  end, schedule = function(s)
    local _, inner = s:split("k", 64)
    s:vectorize(inner, {reduce = "tree"})
  end}

  program {"kmeans", sizes = {1024, 16, 32}, make = function(input, points, centres, n)
    local a, c, d, j = input {points, n}, input {centres, n}, nw.reduce_axis(n, "d"), nw.reduce_axis(centres, "j")
    local far = nw.compute({points, centres}, function(i, l) return nw.sum((a(i, d) - c(l, d)) * (a(i, d) - c(l, d)), d) end, "Far")
    return nw.compute({points}, function(i) return nw.argmin(far(i, j), j) end, "Near")
  end, schedule = function(s)
    tools.sums(s, 16, "Far")
    s:vectorize("j", {reduce = "tree"})
  end}

  program {"ragged_mean", sizes = {512, 1024}, integers = {[2] = {0, 1024}}, make = function(input, m, n)
    local a, length, k = input {m, n}, input({m}, "i32"), nw.reduce_axis(n, "k")
    local sum = nw.compute({m}, function(i) return nw.sum(nw.select(nw.lt(k, length(i)), a(i, k), 0), k) end, "Sum")
    return nw.compute({m}, function(i) return sum(i) / nw.f32(nw.max(length(i), 1)) end, "B")
  end, schedule = function(s) tools.sums(s, 64, "Sum") end}
end
