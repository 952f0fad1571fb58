--- Programs on bits.
local nw = require "nestwright"
local tools = require "programs.tools"

return function(program)
  program {"hamming", sizes = {256, 32}, make = function(input, n, words)
    local a, b, k = input({n, words}, "u32"), input({n, words}, "u32"), nw.reduce_axis(words, "k")
    return nw.compute({n, n}, function(i, j) return nw.sum(nw.i32(nw.popcount(a(i, k) ~ b(j, k))), k) end, "D")
  end, schedule = function(s) s:vectorize("k", {reduce = "tree"}) end}

  program {"unpack4", sizes = {256, 512}, make = function(input, m, n)
    local a, scale = input({m, n}, "u8"), input {m}
    return nw.compute({m, 2, n}, function(i, h, j)
      local byte = nw.i32(a(i, j))
      return nw.f32(nw.select(nw.eq(h, 0), byte & 15, byte >> 4) - 8) * scale(i)
    end, "B")
  end, schedule = function(s)
    s:unroll "h"
    tools.rows(s, 16, "B")
  end}

  program {"xorshift", sizes = {256, 1024}, integers = {[1] = {1, 1000000}}, make = function(input, n, m)
    local first = input({m}, "u32")
    return nw.scan {name = "S", dtype = "u32", shape = {n, m}, init = function(_, x) return first(x) end, step = function(S, t, x)
      local v = S(t - 1, x)
      v = v ~ (v << 13)
      v = v ~ (v >> 17)
      return v ~ (v << 5)
    end}
  end, schedule = function(s) tools.rows(s, 16, "S") end}

  program {"splitmix", sizes = {1 << 16}, integers = {[1] = {0, 1 << 50}}, make = function(input, n)
    local a = input({n}, "u64")
    return nw.compute({n}, function(i)
      local z = a(i) + 0x9E3779B97F4A7C15
      z = (z ~ z >> 30) * 0xBF58476D1CE4E5B9
      z = (z ~ z >> 27) * 0x94D049BB133111EB
      return z ~ z >> 31
    end, "H")
  end, schedule = function(s) tools.lanes(s, "i", 16) end}

  -- exp(x) is 2^k*exp(r), where k is the whole number nearest to x/log(2). The bits of 2^k have k + 127 in the exponent.
  program {"own_exp", sizes = {1 << 16}, range = {[1] = 80}, make = function(input, n)
    local a = input {n}
    return nw.compute({n}, function(i)
      local x = nw.clamp(a(i), -87, 88)
      local k = nw.round(x * 0x1.715476p0)
      local r, p = x - k * 0x1.62e4p-1 - k * 0x1.7f7d1cp-20, nw.f32(1 / 5040)
      for _, c in ipairs {1 / 720, 1 / 120, 1 / 24, 1 / 6, 1 / 2, 1, 1} do p = p * r + c end
      return p * nw.reinterpret(nw.i32(k) + 127 << 23, "f32")
    end, "E")
  end, schedule = function(s) tools.lanes(s, "i", 64) end}

  program {"radix_count", sizes = {65536}, integers = {[1] = {0, 1 << 20}}, make = function(input, n)
    local a, k = input({n}, "u32"), nw.reduce_axis(n, "k")
    return nw.compute({16}, function(d) return nw.sum(nw.select(nw.eq((a(k) >> 8) & 15, nw.u32(d)), 1, 0), k) end, "Count")
  end, schedule = function(s)
    -- A block of the numbers is read once for all digits, while it is in the first cache.
    local k_o, k_i = s:split("k", 8192)
    s:decompose_reduction("Count", "d")
    s:reorder(k_o, "d", k_i)
    local _, lanes = s:split(k_i, 64)
    s:vectorize(lanes, {reduce = "tree"})
  end}
end
