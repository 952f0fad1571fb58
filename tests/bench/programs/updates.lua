--- Programs that change elements of a tensor in place, in order.
local nw = require "nestwright"
local tools = require "programs.tools"

-- Vectorizes these loops.
local function wide(s, lanes, ...)
  for _, loop in ipairs {...} do tools.lanes(s, loop, lanes) end
end

-- Makes a matrix symmetric, and its diagonal so large that a factorization needs no pivots.
local function definite(array, n)
  for i = 0, n - 1 do
    for j = 0, i - 1 do array:set(i, j, array:get(j, i)) end
    array:set(i, i, n)
  end
end

-- Makes the diagonal of a triangular matrix of small elements one.
local function triangular(array, n)
  for i = 0, n - 1 do array:set(i, i, 1) end
end

-- Counts the values of x below the number of bins.
local function counts(x, n, bins)
  local h = nw.compute({bins}, function(_) return 0 end, "H")
  return nw.update(h, {n}, function(H, i) return {x(i)}, H(x(i)) + 1 end, "H")
end

return function(program)
  program {"lu", sizes = {256}, fill = {[1] = definite}, make = function(input, n)
    return nw.update(input {n, n}, {n}, function(S, k)
      nw.update(S, {n}, function(_, r) return {r, k}, S(r, k) / S(k, k), nw.gt(r, k) end)
      nw.update(S, {n, n}, function(_, y, x)
        return {y, x}, S(y, x) - S(y, k) * S(k, x), nw.all(nw.gt(y, k), nw.gt(x, k))
      end)
    end, "LU")
  end, schedule = function(s) wide(s, 16, "j", "x") end}

  program {"cholesky", sizes = {256}, fill = {[1] = definite}, make = function(input, n)
    return nw.update(input {n, n}, {n}, function(S, k)
      nw.update(S, {}, function(_) return {k, k}, nw.sqrt(S(k, k)) end)
      nw.update(S, {n}, function(_, c) return {k, c}, S(k, c) / S(k, k), nw.gt(c, k) end)
      nw.update(S, {n, n}, function(_, y, x)
        return {y, x}, S(y, x) - S(k, y) * S(k, x), nw.all(nw.gt(y, k), nw.ge(x, y))
      end)
    end, "L")
  end, schedule = function(s) wide(s, 16, "j", "c", "x") end}

  program {"substitution", sizes = {128, 64}, range = {[1] = 0.1}, fill = {[1] = triangular}, make = function(input, n, m)
    local l, b = input {n, n}, input {n, m}
    return nw.update(b, {n}, function(X, i)
      nw.update(X, {n, m}, function(_, k, j) return {i, j}, X(i, j) - l(i, k) * X(k, j), nw.lt(k, i) end)
      nw.update(X, {m}, function(_, c) return {i, c}, X(i, c) / l(i, i) end)
    end, "X")
  end, schedule = function(s) wide(s, 64, "j", "j_1", "c") end}

  program {"gauss_seidel", sizes = {514, 514}, make = function(input, h, w)
    return nw.update(input {h, w}, {{1, h - 1}, {1, w - 1}}, function(S, i, j)
      return {i, j}, 0.25 * (S(i - 1, j) + S(i + 1, j) + S(i, j + 1) + S(i, j - 1))
    end, "U")
  end, schedule = function(s)
    -- A row runs one element behind the row above it, so that the chains of eight rows overlap.
    local _, row = s:split("i_1", 8)
    s:skew("j_1", row, 1)
    s:reorder("j_1", row)
    s:cut("j_1", {8, 513}) -- in between, all eight rows have an element
    s:unroll "j_1.2/i_1_i"
    wide(s, 32, "j")
  end}

  program {"row_sums", sizes = {512, 512}, make = function(input, m, n)
    return nw.update(input {m, n}, {m, {1, n}}, function(S, i, j) return {i, j}, S(i, j) + S(i, j - 1) end, "S")
  end, schedule = function(s)
    -- The sums of eight rows do not depend on each other.
    local _, row = s:split("i_1", 8)
    s:reorder("j_1", row)
    s:unroll(row)
    wide(s, 32, "j")
  end}

  program {"histogram", sizes = {262144}, make = function(input, n) return counts(input({n}, "u8"), n, 256) end,
    schedule = function(s)
      local _, four = s:split("i_1", 4)
      s:unroll(four)
    end}

  program {"histogram_atomic", sizes = {262144}, make = function(input, n) return counts(input({n}, "u8"), n, 256) end,
    schedule = function(s)
      s:atomic "H"
      s:parallel "i_1"
    end}

  program {"radix_offsets", sizes = {262144}, integers = {[1] = {0, 1 << 24}}, make = function(input, n)
    local a = input({n}, "u32")
    local h = nw.compute({256}, function(_) return 0 end, "H")
    h = nw.update(h, {n}, function(H, i) return {(a(i) >> 8) & 255}, H((a(i) >> 8) & 255) + 1 end, "H")
    return nw.update(h, {{1, 256}}, function(H, d) return {d}, H(d) + H(d - 1) end, "H")
  end, schedule = function(s)
    local _, four = s:split("i_1", 4)
    s:unroll(four)
  end}

  program {"scatter_add", sizes = {2048, 1024, 128}, integers = {[1] = {0, 1023}}, make = function(input, tokens, words, m)
    local word, g = input({tokens}, "i32"), input {tokens, m}
    local zero = nw.compute({words, m}, function(_, _) return nw.f32(0) end, "E")
    return nw.update(zero, {tokens, m}, function(E, i, j)
      local w = nw.min(nw.max(word(i), 0), words - 1)
      return {w, j}, E(w, j) + g(i, j)
    end, "E")
  end, schedule = function(s) wide(s, 32, "j", "j_1") end}
end
