--- Stencils, particles, transforms and formulas.
local nw = require "nestwright"
local tools = require "programs.tools"

local function normal(x) return (nw.erf(x * 0.70710678) + 1) * 0.5 end

return function(program)
  program {"jacobi", sizes = {512, 512}, make = function(input, h, w)
    local a = input {h + 2, w + 2}
    return nw.compute({h, w}, function(y, x)
      return (a(y + 1, x) + a(y + 1, x + 2) + a(y, x + 1) + a(y + 2, x + 1)) * 0.25
    end, "B")
  end, schedule = function(s) tools.rows(s, 16, "B") end}

  program {"heat3d", sizes = {64}, make = function(input, n)
    local a = input {n + 2, n + 2, n + 2}
    return nw.compute({n, n, n}, function(z, y, x)
      local sum = a(z + 1, y + 1, x) + a(z + 1, y + 1, x + 2) + a(z + 1, y, x + 1) + a(z + 1, y + 2, x + 1)
        + a(z, y + 1, x + 1) + a(z + 2, y + 1, x + 1)
      return a(z + 1, y + 1, x + 1) + (sum - a(z + 1, y + 1, x + 1) * 6) * 0.1
    end, "B")
  end, schedule = function(s) tools.rows(s, 16, "B") end}

  program {"nbody", sizes = {512}, tolerance = 1e-3, make = function(input, n)
    local x, y, z, j = input {n}, input {n}, input {n}, nw.reduce_axis(n, "j")
    return nw.compute({n}, function(i)
      local dx, dy, dz = x(j) - x(i), y(j) - y(i), z(j) - z(i)
      local by = nw.rsqrt(dx * dx + dy * dy + dz * dz + 0.01)
      return nw.sum(dx * by * by * by, j)
    end, "A")
  end, schedule = function(s) tools.sums(s, 32, "A") end}

  program {"black_scholes", sizes = {65536}, range = {{50, 150}, {50, 150}, {0.2, 2}}, tolerance = 1e-3, make = function(input, n)
    local spot, strike, years = input {n}, input {n}, input {n}
    return nw.compute({n}, function(i)
      local root = nw.sqrt(years(i)) * 0.3
      local d1 = (nw.log(spot(i) / strike(i)) + years(i) * (0.02 + 0.045)) / root
      return spot(i) * normal(d1) - strike(i) * nw.exp(years(i) * -0.02) * normal(d1 - root)
    end, "Call")
  end, schedule = function(s) tools.lanes(s, "i", 16) end}

  program {"mandelbrot", sizes = {256, 256}, range = {0.2, 0.2}, make = function(input, h, w)
    local re, im = input {w}, input {h}
    local u, v = nil, nil
    for t = 1, 12 do
      local a, b = u, v
      u, v = nw.compute({h, w}, function(y, x)
        if not a then return nw.clamp(re(x) + 0, -4, 4), nw.clamp(im(y) + 0, -4, 4) end
        return nw.clamp(a(y, x) * a(y, x) - b(y, x) * b(y, x) + re(x), -4, 4), nw.clamp(a(y, x) * b(y, x) * 2 + im(y), -4, 4)
      end, "Z" .. t)
    end
    return nw.compute({h, w}, function(y, x) return u(y, x) * u(y, x) + v(y, x) * v(y, x) end, "B")
  end, schedule = function(s)
    local _, x = s["B"]:axes()
    local x_o = tools.lanes(s, x, 32)
    for t = 12, 1, -1 do
      s:compute_at("Z" .. t, x_o)
      local own = {s["Z" .. t]:axes()}
      s:vectorize(own[#own])
    end
  end}

  program {"horner", sizes = {262144}, make = function(input, n)
    local x = input {n}
    return nw.compute({n}, function(i)
      local value = nw.f32(1)
      for d = 11, 1, -1 do value = value * x(i) + 1 / d end
      return value
    end, "Y")
  end, schedule = function(s) tools.lanes(s, "i", 32) end}

  program {"fft_stage", sizes = {32768, 64}, make = function(input, n, m)
    local a, w = input {n // m, 2, m, 2}, input {m, 2}
    return nw.compute({n // m, 2, m}, function(b, h, k)
      local x = a(b, 1, k, 0) * w(k, 0) - a(b, 1, k, 1) * w(k, 1)
      local y = a(b, 1, k, 0) * w(k, 1) + a(b, 1, k, 1) * w(k, 0)
      local low = nw.eq(h, 0)
      return nw.select(low, a(b, 0, k, 0) + x, a(b, 0, k, 0) - x), nw.select(low, a(b, 0, k, 1) + y, a(b, 0, k, 1) - y)
    end, "F")
  end, schedule = function(s)
    s:unroll "h"
    tools.lanes(s, "k", 16)
  end}

  program {"bitonic", sizes = {131072, 64, 1024}, make = function(input, n, d, run)
    local a = input {n // (2 * d), 2, d}
    return nw.compute({n // (2 * d), 2, d}, function(b, h, k)
      local up = nw.eq(b // (run // (2 * d)) % 2, 0)
      local low = nw.eq(h, 0)
      local small, large = nw.min(a(b, h, k), a(b, 1 - h, k)), nw.max(a(b, h, k), a(b, 1 - h, k))
      return nw.select(nw.any(nw.all(low, up), nw.all(nw.not_(low), nw.not_(up))), small, large)
    end, "B")
  end, schedule = function(s)
    s:unroll "h"
    tools.lanes(s, "k", 16)
  end}

  program {"moving_max", sizes = {131072}, make = function(input, n)
    local a, d = input {n + 16}, nw.reduce_axis(16, "d")
    return nw.compute({n}, function(i) return nw.max(a(i + d), d) end, "B")
  end, schedule = function(s)
    local outer, inner = s:split("i", 64)
    s:vectorize(inner)
    local block = s:cache_write("B", "local", {at = outer})
    local i, d = s[block]:axes()
    s:reorder(d, i)
    s:vectorize(i)
  end}
end
