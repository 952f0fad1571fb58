--- Recurrences: sums, filters and dynamic programming.
local nw = require "nestwright"
local tools = require "programs.tools"

-- Makes a recurrence along the first dimension whose series are independent of each other.
local function series(name, step)
  return {name, sizes = {512, 512}, make = function(input, n, m)
    local a = input {n, m}
    return nw.scan {name = "S", shape = {n, m}, init = function(t, x) return a(t, x) end,
      step = function(S, t, x) return step(S(t - 1, x), a(t, x)) end}
  end, schedule = function(s) tools.rows(s, 16, "S", "S_init") end}
end

-- Makes a table of dynamic programming over two texts.
local function texts(name, init, step)
  return {name, sizes = {513, 512}, integers = {[1] = {0, 3}, [2] = {0, 3}}, make = function(input, n, m)
    local a, b = input({n}, "i32"), input({m}, "i32")
    return nw.scan {name = "S", dtype = "i32", shape = {n, m}, init = init, step = function(S, t, x)
      return step(S, t, x, nw.eq(a(t), b(x)))
    end}
  end, schedule = function(s) s:partition(select(2, s["S"]:axes())) end}
end

return function(program)
  program(series("prefix_sum", function(before, a) return before + a end))
  program(series("running_max", function(before, a) return nw.max(before, a) end))
  program(series("moving_average", function(before, a) return before * 0.9 + a * 0.1 end))

  program(texts("smith_waterman", function(_, _) return nw.i32(0) end, function(S, t, x, same)
    local diagonal = S(t - 1, x - 1) + nw.select(same, 2, -1)
    return nw.select(nw.eq(x, 0), 0, nw.max(0, nw.max(diagonal, nw.max(S(t - 1, x), S(t, x - 1)) - 1)))
  end))
  program(texts("levenshtein", function(_, x) return nw.i32(x) end, function(S, t, x, same)
    local change = S(t - 1, x - 1) + nw.select(same, 0, 1)
    return nw.select(nw.eq(x, 0), nw.i32(t), nw.min(change, nw.min(S(t - 1, x), S(t, x - 1)) + 1))
  end))
  program(texts("subsequence", function(_, _) return nw.i32(0) end, function(S, t, x, same)
    return nw.select(nw.eq(x, 0), 0, nw.select(same, S(t - 1, x - 1) + 1, nw.max(S(t - 1, x), S(t, x - 1))))
  end))

  program {"viterbi", sizes = {128, 64}, make = function(input, n, m)
    local first, step, seen, k = input {m}, input {m, m}, input {n, m}, nw.reduce_axis(m, "k")
    return nw.scan {name = "S", shape = {n, m}, init = function(_, j) return first(j) end,
      step = function(S, t, j) return nw.max(S(t - 1, k) + step(k, j) + seen(t, j), k) end}
  end, schedule = function(s)
    local _, j, k = s["S"]:axes()
    s:reorder(k, j)
    tools.lanes(s, j, 16)
  end}

  program {"knapsack", sizes = {128, 2048}, integers = {[1] = {1, 63}, [2] = {0, 999}}, make = function(input, n, m)
    local weight, value = input({n}, "i32"), input({n}, "i32")
    return nw.scan {name = "S", dtype = "i32", shape = {n, m}, init = function(_, _) return nw.i32(0) end, step = function(S, t, w)
      local before = nw.min(nw.max(w - weight(t), 0), m - 1)
      return nw.select(nw.ge(w, weight(t)), nw.max(S(t - 1, w), S(t - 1, before) + value(t)), S(t - 1, w))
    end}
  end, schedule = function(s) tools.rows(s, 16, "S") end}

  program {"wave", sizes = {256, 2048}, make = function(input, n, m)
    local first = input {m}
    return nw.scan {name = "S", shape = {n, m}, rows = 2, init = function(_, x) return first(x) end, step = function(S, t, x)
      local left = nw.select(nw.gt(x, 0), S(t - 1, x - 1), S(t - 1, 0))
      local right = nw.select(nw.lt(x, m - 1), S(t - 1, x + 1), S(t - 1, m - 1))
      return S(t - 1, x) * 2 - S(t - 2, x) + (left - S(t - 1, x) * 2 + right) * 0.25
    end}
  end, schedule = function(s)
    local _, x = s["S"]:axes()
    s:partition(x)
    tools.lanes(s, x.forwarded[2], 16)
  end}

  program {"lstm", sizes = {64, 128}, scratch = function(_, m) return {{4 * m}} end, make = function(input, n, m)
    local x, weight, back = input {n, m}, input {m, 4, m}, input {m, 4, m}
    local k, l, shape = nw.reduce_axis(m, "k"), nw.reduce_axis(m, "l"), {n, m}
    local C, H = nw.scan_state(shape, "f32", "C"), nw.scan_state(shape, "f32", "H")
    local function zeros() return nw.compute({1, m}, function(_, _) return nw.f32(0) end, "Zero") end
    local from_x = nw.compute({n, 4, m}, function(t, g, j) return nw.sum(x(t, k) * weight(k, g, j), k) end, "FromX")
    local from_h = nw.compute({n, 4, m}, function(t, g, j) return nw.sum(H(t - 1, l) * back(l, g, j), l) end, "FromH")
    local gate = nw.compute({n, 4, m}, function(t, g, j) return from_x(t, g, j) + from_h(t, g, j) end, "Gate")
    local c = nw.compute(shape, function(t, j)
      return nw.sigmoid(gate(t, 1, j)) * C(t - 1, j) + nw.sigmoid(gate(t, 0, j)) * nw.tanh(gate(t, 2, j))
    end, "c")
    local h = nw.compute(shape, function(t, j) return nw.sigmoid(gate(t, 3, j)) * nw.tanh(C(t, j)) end, "h")
    return nw.scan({zeros(), zeros()}, {c, h}, {C, H}, "S")
  end, schedule = function(s)
    s:compute_inline "Gate"
    for _, name in ipairs {"FromX", "FromH"} do
      local loops = {s[name]:axes()}
      local j, k = loops[#loops - 1], loops[#loops]
      local tile, within = s:split(j, 64)
      local vector, lane = s:split(within, 16)
      s:reorder(tile, k, vector, lane)
      s:unroll(vector)
      s:vectorize(lane)
    end
    tools.rows(s, 16, "S.v0", "S.v1")
  end}

  program {"logistic", sizes = {128, 4096}, positive = {[1] = true}, make = function(input, n, m)
    local first = input {m}
    return nw.scan {name = "S", shape = {n, m}, init = function(_, x) return first(x) end,
      step = function(S, t, x) return S(t - 1, x) * 3.5 * (1 - S(t - 1, x)) end}
  end, schedule = function(s) tools.rows(s, 16, "S") end}
end
