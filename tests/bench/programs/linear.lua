--- Programs of linear algebra.
local nw = require "nestwright"
local tools = require "programs.tools"

return function(program)
  program {"axpy", sizes = {262144}, make = function(input, n)
    local x, y = input {n}, input {n}
    return nw.compute({n}, function(i) return x(i) * 2.5 + y(i) end, "Z")
  end, schedule = function(s) tools.lanes(s, "i", 16) end}

  program {"dot_rows", sizes = {512, 1024}, make = function(input, m, n)
    local x, y, k = input {m, n}, input {m, n}, nw.reduce_axis(n, "k")
    return nw.compute({m}, function(i) return nw.sum(x(i, k) * y(i, k), k) end, "Z")
  end, schedule = function(s) tools.sums(s, 64, "Z") end}

  program {"gemv", sizes = {512, 1024}, make = function(input, m, n)
    local a, x, k = input {m, n}, input {n}, nw.reduce_axis(n, "k")
    return nw.compute({m}, function(i) return nw.sum(a(i, k) * x(k), k) end, "Y")
  end, schedule = function(s) tools.sums(s, 64, "Y") end}

  program {"gemv_t", sizes = {512, 1024}, make = function(input, m, n)
    local a, x, k = input {m, n}, input {m}, nw.reduce_axis(m, "k")
    return nw.compute({n}, function(j) return nw.sum(a(k, j) * x(k), k) end, "Y")
  end, schedule = function(s)
    local outer, inner = s:split("j", 128)
    s:vectorize(inner)
    local block = s:cache_write("Y", "local", {at = outer})
    local j, k = s[block]:axes()
    s:reorder(k, j)
    s:vectorize(j)
  end}

  program {"ger", sizes = {512, 1024}, make = function(input, m, n)
    local a, x, y = input {m, n}, input {m}, input {n}
    return nw.compute({m, n}, function(i, j) return a(i, j) + x(i) * y(j) end, "B")
  end, schedule = function(s) tools.rows(s, 16, "B") end}

  program {"gemm", sizes = {256, 256, 256}, make = function(input, m, n, depth)
    local a, b, k = input {m, depth}, input {depth, n}, nw.reduce_axis(depth, "k")
    return nw.compute({m, n}, function(i, j) return nw.sum(a(i, k) * b(k, j), k) end, "C")
  end, schedule = function(s) tools.tile(s, "C", 8, 32) end}

  program {"batched_gemm", sizes = {64, 64}, make = function(input, batch, n)
    local a, b, k = input {batch, n, n}, input {batch, n, n}, nw.reduce_axis(n, "k")
    return nw.compute({batch, n, n}, function(l, i, j) return nw.sum(a(l, i, k) * b(l, k, j), k) end, "C")
  end, schedule = function(s) tools.tile(s, "C", 8, 32) end}

  program {"syrk", sizes = {256, 256}, make = function(input, m, n)
    local a, k = input {m, n}, nw.reduce_axis(m, "k")
    return nw.compute({n, n}, function(i, j) return nw.sum(a(k, i) * a(k, j), k) end, "C")
  end, schedule = function(s) tools.tile(s, "C", 8, 32) end}

  program {"trmv", sizes = {1024}, make = function(input, n)
    local a, x, k = input {n, n}, input {n}, nw.reduce_axis(n, "k")
    return nw.compute({n}, function(i) return nw.sum(nw.select(nw.le(k, i), a(i, k) * x(k), 0), k) end, "Y")
  end, schedule = function(s) tools.sums(s, 64, "Y") end}

  program {"tri_solve", sizes = {128, 64}, range = {[1] = 0.1}, make = function(input, n, m)
    local l, b, k = input {n, n}, input {n, m}, nw.reduce_axis(n, "k")
    return nw.scan {name = "X", shape = {n, m}, init = function(t, j) return b(t, j) end, step = function(X, t, j)
      return nw.sum(nw.select(nw.le(k, t), nw.select(nw.eq(k, t), b(t, j), -(l(t, k) * X(k, j))), 0), k)
    end}
  end, schedule = function(s)
    local _, j, k = s["X"]:axes()
    s:decompose_reduction("X", j)
    s:trim(k)
    s:reorder(k, j)
    tools.lanes(s, j, 16)
  end}

  program {"complex_gemv", sizes = {512, 512}, make = function(input, m, n)
    local a, x, k = input {m, n, 2}, input {n, 2}, nw.reduce_axis(n, "k")
    return nw.compute({m}, function(i)
      return nw.sum(a(i, k, 0) * x(k, 0) - a(i, k, 1) * x(k, 1), k), nw.sum(a(i, k, 0) * x(k, 1) + a(i, k, 1) * x(k, 0), k)
    end, "Y")
  end, schedule = function(s)
    local _, inner = s:split("k", 32)
    s:vectorize(inner, {reduce = "tree"})
  end}

  program {"covariance", sizes = {512, 128}, tolerance = 1e-3, make = function(input, m, n)
    local a, k, l = input {m, n}, nw.reduce_axis(m, "k"), nw.reduce_axis(m, "l")
    local sum = nw.compute({n}, function(j) return nw.sum(a(k, j), k) end, "Sum")
    local centred = nw.compute({m, n}, function(i, j) return a(i, j) - sum(j) / m end, "Centred")
    return nw.compute({n, n}, function(i, j) return nw.sum(centred(l, i) * centred(l, j), l) end, "C")
  end, schedule = function(s)
    tools.tile(s, "C", 8, 32)
    tools.rows(s, 16, "Centred")
    local j, k = s["Sum"]:axes()
    s:reorder(k, j)
    tools.lanes(s, j, 16)
  end}

  program {"kronecker", sizes = {32, 32}, make = function(input, n, m)
    local a, b = input {n, n}, input {m, m}
    return nw.compute({n * m, n * m}, function(i, j) return a(i // m, j // m) * b(i % m, j % m) end, "C")
  end, schedule = function(s)
    s:split("i", 32)
    local _, inner = s:split("j", 32)
    tools.lanes(s, inner, 16)
  end}

  program {"distances", sizes = {256, 64}, make = function(input, n, m)
    local a, b, k = input {n, m}, input {n, m}, nw.reduce_axis(m, "k")
    return nw.compute({n, n}, function(i, j) return nw.sum((a(i, k) - b(j, k)) * (a(i, k) - b(j, k)), k) end, "D")
  end, schedule = function(s) tools.sums(s, 16, "D") end}

  program {"transpose", sizes = {512}, make = function(input, n)
    local a = input {n, n}
    return nw.compute({n, n}, function(i, j) return a(j, i) end, "B")
  end, schedule = function(s) s:tile("i", "j", 16, 16) end}

  program {"ell_spmv", sizes = {4096, 16}, integers = {[2] = {0, 4095}}, make = function(input, n, m)
    local a, column, x, k = input {n, m}, input({n, m}, "i32"), input {n}, nw.reduce_axis(m, "k")
    return nw.compute({n}, function(i)
      return nw.sum(a(i, k) * x(nw.min(nw.max(column(i, k), 0), n - 1)), k)
    end, "Y")
  end, schedule = function(s) s:vectorize("k", {reduce = "tree"}) end}

  program {"floyd_warshall", sizes = {96}, make = function(input, n)
    local w = input {n, n}
    return nw.scan {name = "D", shape = {n + 1, n, n}, init = function(_, i, j) return w(i, j) end, step = function(D, t, i, j)
      return nw.min(D(t - 1, i, j), D(t - 1, i, t - 1) + D(t - 1, t - 1, j))
    end}
  end, schedule = function(s) tools.rows(s, 16, "D", "D_init") end}

  program {"pagerank", sizes = {1024}, make = function(input, n)
    local a, x, k = input {n, n}, input {n}, nw.reduce_axis(n, "k")
    local sum = nw.compute({n}, function(i) return nw.sum(a(i, k) * x(k), k) end, "Sum")
    return nw.compute({n}, function(i) return sum(i) * 0.85 + 0.15 / n end, "Y")
  end, schedule = function(s)
    tools.sums(s, 64, "Sum")
    tools.rows(s, 16, "Y")
  end}
end
