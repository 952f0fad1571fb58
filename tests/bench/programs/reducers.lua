--- Programs whose reductions have several results, or ranges that depend on data.
local nw = require "nestwright"
local tools = require "programs.tools"

-- Fills an array with the starts of rows whose lengths vary around a mean.
local function starts(array, rows, elements)
  local mean, at = elements // rows, 0
  for i = 1, rows + 1 do
    array:setflat(i, math.min(at, elements))
    at = at + mean // 2 + (i * 7919) % (mean + 1)
  end
end

return function(program)
  program {"welford", sizes = {256, 1024}, tolerance = 1e-3, make = function(input, m, n)
    local a, k = input {m, n}, nw.reduce_axis(n, "k")
    local moments = nw.reducer {name = "moments", init = {0, 0, 0}, names = {"mean", "square", "count"}, combine = function(u, v)
      local count, apart = u[3] + v[3], v[1] - u[1]
      local share = v[3] / nw.max(count, 1)
      return u[1] + apart * share, u[2] + v[2] + apart * apart * u[3] * share, count
    end}
    return nw.compute({m}, function(i) return moments({a(i, k), 0.0, 1.0}, k) end, "R")
  end, schedule = function(s)
    local _, lanes = s:split("k", 32)
    s:vectorize(lanes, {reduce = "tree"})
  end}

  program {"online_softmax", sizes = {256, 1024}, make = function(input, m, n)
    local a, k = input {m, n}, nw.reduce_axis(n, "k")
    local online = nw.reducer {name = "online", init = {-3e38, 0}, names = {"max", "sum"}, combine = function(u, v)
      local most = nw.max(u[1], v[1])
      return most, u[2] * nw.exp(u[1] - most) + v[2] * nw.exp(v[1] - most)
    end}
    local most, sum = nw.compute({m}, function(i) return online({a(i, k), 1.0}, k) end, "R")
    return nw.compute({m, n}, function(i, j) return nw.exp(a(i, j) - most(i)) / sum(i) end, "B")
  end, schedule = function(s)
    local _, lanes = s:split("k", 32)
    s:vectorize(lanes, {reduce = "tree"})
    tools.rows(s, 16, "B")
  end}

  program {"csr_spmv", sizes = {4096, 65536}, integers = {[2] = {0, 4095}}, fill = {[1] = starts}, make = function(input, n, nnz)
    local row, column, v, x = input({n + 1}, "i32"), input({nnz}, "i32"), input {nnz}, input {n}
    return nw.compute({n}, function(i)
      local e = nw.reduce_axis({row(i), row(i + 1)}, {name = "e", within = nnz})
      return nw.sum(v(e) * x(nw.min(nw.max(column(e), 0), n - 1)), e)
    end, "Y")
  end, schedule = function() end}

  program {"segments", sizes = {1024, 65536}, fill = {[1] = starts}, make = function(input, n, elements)
    local row, v = input({n + 1}, "i32"), input {elements}
    return nw.compute({n}, function(i)
      local e = nw.reduce_axis({row(i), row(i + 1)}, {name = "e", within = elements})
      return nw.sum(v(e), e)
    end, "Y")
  end, schedule = function() end}

  program {"triangle", sizes = {256}, make = function(input, n)
    local a, b = input {n, n}, input {n, n}
    return nw.compute({n, n}, function(i, j)
      local k = nw.reduce_axis(i + 1, "k")
      return nw.sum(a(i, k) * b(k, j), k)
    end, "C")
  end, schedule = function(s)
    local outer, inner = s:split("j", 64)
    s:vectorize(inner)
    local block = s:cache_write("C", "local", {at = outer})
    local _, j, k = s[block]:axes()
    s:reorder(k, j)
    s:vectorize(j)
  end}
end
