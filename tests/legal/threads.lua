--- Steps that GPU schedules need: threads that share a reduction.
local nw = require "nestwright"

return function(case, t)
  local holds = t.on_grid

  local function bind(s, loop, tag) t.accepted(s.bind, s, loop, tag) end

  local function fold(n, m, dtype, how)
    local A, k = nw.placeholder({n, m}, dtype, "A"), nw.reduce_axis(m, "k")
    local S = nw.compute({n}, function(i) return nw[how](A(i, k), k) end, "S")
    return nw.schedule(S), {S}
  end

  local function product(m, n, d, dtype)
    local A, B, k = nw.placeholder({m, d}, dtype, "A"), nw.placeholder({d, n}, dtype, "B"), nw.reduce_axis(d, "k")
    local C = nw.compute({m, n}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
    return nw.schedule(C), {C}, C
  end

  -- ---- the rows of a matrix, as in TVM's tutorial on reductions

  for _, how in ipairs {"sum", "max", "min", "prod"} do
    for _, dtype in ipairs {"i32", "f32", "f64", "i8"} do
      for _, shape in ipairs {{4, 16}, {3, 17}, {1, 5}} do
        for _, part in ipairs {"whole", "outer", "inner", "both"} do
          local name = ("%s of %s, %dx%d, %s loop in threads"):format(how, dtype, shape[1], shape[2], part)
          if how ~= "prod" or dtype:find "^i" then
            case(name, function()
              local s, outputs = fold(shape[1], shape[2], dtype, how)
              bind(s, "i", "blockIdx.x")
              if part == "whole" then
                bind(s, "k", "threadIdx.x")
              else
                local k_o, k_i = s:split("k", 4)
                if part ~= "inner" then bind(s, k_o, part == "both" and "threadIdx.y" or "threadIdx.x") end
                if part ~= "outer" then bind(s, k_i, "threadIdx.x") end
              end
              holds(s, outputs)
            end)
          end
        end
      end
    end
  end

  for _, how in ipairs {"argmax", "argmin"} do
    for _, n in ipairs {8, 19} do
      case(("%s of %d numbers in threads"):format(how, n), function()
        local A, k = nw.placeholder({2, n}, "i32", "A"), nw.reduce_axis(n, "k")
        local V, I = nw.compute({2}, function(i) return nw[how](A(i, k), k) end, "V")
        local s = nw.schedule {V, I}
        local _, k_i = s:split("k", 4)
        bind(s, k_i, "threadIdx.x")
        holds(s, {V, I})
      end)
    end
  end

  for _, factor in ipairs {4, 16} do
    case(("rfactor, then the second stage in %d threads, the first stage inside"):format(factor), function()
      local s, outputs = fold(3, 40, "f32", "sum")
      local _, k_i = s:split("k", factor)
      local parts = s:rfactor("S", k_i)
      local i, r = table.unpack(s:loops "S")
      bind(s, i, "blockIdx.x")
      bind(s, r, "threadIdx.x")
      t.accepted(s.compute_at, s, parts, r)
      holds(s, outputs)
    end)
  end

  -- ---- products

  local ORDERS = {{"k_o", "i_i", "j_i", "k_i"}, {"i_i", "k_o", "k_i", "j_i"}, {"i_i", "j_i", "k_i", "k_o"},
    {"k_i", "k_o", "i_i", "j_i"}}
  for n, order in ipairs(ORDERS) do
    for _, shape in ipairs {{8, 8, 16}, {7, 5, 11}} do
      case(("a product in tiles, order %d, %dx%dx%d"):format(n, table.unpack(shape)), function()
        local s, outputs = product(shape[1], shape[2], shape[3], "f32")
        s:tile("i", "j", 4, 4)
        s:split("k", 4)
        s:reorder("i_o", "j_o", table.unpack(order))
        bind(s, "i_o", "blockIdx.y")
        bind(s, "j_o", "blockIdx.x")
        bind(s, "i_i", "threadIdx.y")
        bind(s, "k_i", "threadIdx.x")
        holds(s, outputs)
      end)
    end
  end

  case("a product with operands in shared storage, its reduction in threads", function()
    local s, outputs, C = product(8, 8, 16, "f32")
    s:tile("i", "j", 4, 4)
    s:split("k", 8)
    s:reorder("i_o", "j_o", "k_o", "i_i", "j_i", "k_i")
    bind(s, "i_o", "blockIdx.y")
    bind(s, "j_o", "blockIdx.x")
    for _, operand in ipairs {"A", "B"} do
      local loops = s:loops(t.accepted(s.cache_read, s, operand, "shared", {C}, {at = "k_o"}))
      bind(s, loops[#loops], "threadIdx.x")
    end
    bind(s, "i_i", "threadIdx.y")
    bind(s, "k_i", "threadIdx.x")
    holds(s, outputs)
  end)

  -- ---- results that other threads read

  for _, m in ipairs {8, 13} do
    case(("softmax of %d numbers, both reductions in threads"):format(m), function()
      local A = nw.placeholder({3, m}, "i32", "A")
      local k, l = nw.reduce_axis(m, "k"), nw.reduce_axis(m, "l")
      local M = nw.compute({3}, function(i) return nw.max(A(i, k), k) end, "M")
      local D = nw.compute({3}, function(i) return nw.sum(A(i, l) - M(i), l) end, "D")
      local Z = nw.compute({3, m}, function(i, j) return A(i, j) - M(i) + D(i) end, "Z")
      local s = nw.schedule(Z)
      local i, j = table.unpack(s:loops(Z))
      bind(s, i, "blockIdx.x")
      for _, stage in ipairs {D, M} do
        t.accepted(s.compute_at, s, stage, i)
        t.accepted(s.set_scope, s, stage, "shared")
      end
      for _, stage in ipairs {M, D} do
        local loops = s:loops(stage)
        local _, inner = s:split(loops[#loops], 4)
        bind(s, inner, "threadIdx.x")
      end
      bind(s, j, "threadIdx.x")
      holds(s, {Z})
    end)
  end

  -- ---- storage of scope warp

  local EXCHANGES = {
    {"with the next thread", function(x, n) return x // n * n + (x + 1) % n end},
    {"in pairs", function(x) return x // 2 * 2 + (x + 1) % 2 end},
    {"of the first thread", function(x, n) return x // n * n end},
    {"in reverse", function(x, n) return x // n * n + n - 1 - x % n end},
  }
  for _, exchange in ipairs(EXCHANGES) do
    for _, shape in ipairs {{1, 32}, {3, 64}, {2, 16}, {4, 8}} do
      for _, inside in ipairs {false, true} do
        case(("an exchange in a warp %s, %dx%d, %s"):format(exchange[1], shape[1], shape[2],
          inside and "a buffer for each row" or "one buffer"), function()
          local n = math.min(shape[2], 32)
          local A = nw.placeholder(shape, "i32", "A")
          local X = nw.compute(shape, function(y, x) return A(y, x) * 2 end, "X")
          local Y = nw.compute(shape, function(y, x) return X(y, exchange[2](x, n)) + A(y, x) end, "Y")
          local s = nw.schedule(Y)
          local y, x = table.unpack(s:loops(Y))
          if inside then s:compute_at(X, y) else bind(s, s:loops(X)[1], "threadIdx.y") end
          bind(s, y, "threadIdx.y")
          local loops = s:loops(X)
          bind(s, loops[#loops], "threadIdx.x")
          bind(s, x, "threadIdx.x")
          t.accepted(s.set_scope, s, X, "warp")
          holds(s, {Y})
        end)
      end
    end
  end
end
