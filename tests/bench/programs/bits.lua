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
