--- Vector forms: reductions in the lanes of a loop, and temporaries of lanes.
local nw = require "nestwright"
local filled = require("values").filled

return function(case, t)
  local FREE = {order = "free"}
  local COMBINERS = {
    sum = function(x, k) return nw.sum(x, k) end,
    prod = function(x, k) return nw.prod(x, k) end,
    min = function(x, k) return nw.min(x, k) end,
    max = function(x, k) return nw.max(x, k) end,
    argmin = function(x, k) return nw.argmin(x, k) end,
    argmax = function(x, k) return nw.argmax(x, k) end,
  }

  -- Reduces the rows of a matrix. Returns the schedule, the outputs and the arguments.
  local function rows(combiner, dtype, n, values)
    local A, k = nw.placeholder({3, n}, dtype, "A"), nw.reduce_axis(n, "k")
    local out = table.pack(nw.compute({3}, function(i) return COMBINERS[combiner](A(i, k), k) end, "R"))
    return nw.schedule(table.unpack(out)), {table.unpack(out)}, {filled(dtype, {3, n}, values)}
  end

  local function reduce(s, loop) return t.accepted(s.vectorize, s, loop, {reduce = "tree"}) end

  -- Each combiner and dtype, with tails of several kinds. Values repeat, so that an argmin has several candidates.
  local function small(i) return (i * 7) % 5 - 2 end
  for combiner in pairs(COMBINERS) do
    for _, dtype in ipairs {"f32", "f64", "f16", "i8", "u16", "i32", "i64"} do
      case(("%s of %s in lanes"):format(combiner, dtype), function()
        for _, n in ipairs {1, 5, 8, 16, 21} do
          for _, lanes in ipairs {3, 8} do
            for _, tail in ipairs {"guard", "cut"} do
              local s, out, arguments = rows(combiner, dtype, n, dtype ~= "u16" and small or nil)
              local _, inner = s:split("k", lanes, {tail = tail})
              local n_i = s:text():find("k_i in 0.." .. lanes, 1, true)
              if n_i then reduce(s, inner) end
              t.agree(s, out, arguments, FREE)
            end
          end
        end
      end)
    end
  end

  -- Orders of a product: the accumulators live during all loops of the reduction, which may have loops over elements inside.
  local function product(m, n, k)
    local A, B, x = nw.placeholder({m, k}, "i32", "A"), nw.placeholder({k, n}, "i32", "B"), nw.reduce_axis(k, "k")
    local C = nw.compute({m, n}, function(i, j) return nw.sum(A(i, x) * B(x, j), x) end, "C")
    return nw.schedule(C), {C}, {filled("i32", {m, k}), filled("i32", {k, n})}
  end
  for _, order in ipairs {"i j k_o k_i", "k_o i j k_i", "i k_o j k_i", "k_o k_i i j", "i k_o k_i j", "k_i i j k_o",
    "j k_i k_o i"} do
    for _, k in ipairs {16, 19} do
      case(("a product of %d terms, order %s"):format(k, order), function()
        local s, out, arguments = product(3, 5, k)
        s:split("k", 8)
        local names = {}
        for name in order:gmatch "%S+" do names[#names + 1] = name end
        s:reorder(table.unpack(names))
        reduce(s, "k_i")
        t.agree(s, out, arguments)
      end)
    end
  end
  for _, mark in ipairs {"unroll", "parallel"} do
    case("rows that are marked " .. mark .. " inside the reduction", function()
      local s, out, arguments = product(3, 5, 19)
      s:split("k", 8)
      s:reorder("k_o", "j", "i", "k_i")
      t.accepted(s[mark], s, "j")
      reduce(s, "k_i")
      t.agree(s, out, arguments, {threads = 2})
    end)
  end
  case("tiles with guards around lanes", function()
    local s, out, arguments = product(5, 7, 19)
    s:split("i", 4)
    s:split("j", 4)
    s:split("k", 8)
    s:reorder("i_o", "j_o", "k_o", "i_i", "j_i", "k_i")
    s:unroll "j_i"
    reduce(s, "k_i")
    t.agree(s, out, arguments)
  end)
  case("an init that was split off", function()
    for _, loop in ipairs {"k_o", "j", "i"} do
      local s, out, arguments = product(3, 5, 19)
      s:split("k", 8)
      t.accepted(s.decompose_reduction, s, "C", loop)
      reduce(s, "k_i")
      t.agree(s, out, arguments)
    end
  end)
  case("threads that share a sum of lanes", function()
    local s, out, arguments = product(3, 5, 64)
    s:split("k", 8)
    s:split("k_o", 4)
    s:reorder("k_o_o", "i", "j", "k_o_i", "k_i")
    s:decompose_reduction("C", "k_o_o")
    s:atomic "C"
    s:parallel "k_o_o"
    reduce(s, "k_i")
    t.agree(s, out, arguments, {threads = 2})
  end)
  case("fused reduction axes in lanes", function()
    local A, k, l = nw.placeholder({3, 4, 5}, "i32", "A"), nw.reduce_axis(4, "k"), nw.reduce_axis(5, "l")
    local R = nw.compute({3}, function(i) return nw.sum(A(i, k, l), k, l) end, "R")
    local s = nw.schedule(R)
    s:split(s:fuse("k", "l"), 8)
    reduce(s, "k_l_i")
    t.agree(s, {R}, {filled("i32", {3, 4, 5})})
  end)
  case("a triangle in lanes", function()
    local A, k = nw.placeholder({12, 12}, "i32", "A"), nw.reduce_axis(12, "k")
    local R = nw.compute({12}, function(i) return nw.sum(nw.select(nw.le(k, i), A(i, k), 0), k) end, "R")
    local s = nw.schedule(R)
    s:split("k", 5)
    reduce(s, "k_i")
    t.agree(s, {R}, {filled("i32", {12, 12})})
  end)
  case("symbolic sizes in lanes", function()
    local N = nw.size("N", {min = 0})
    local A, k = nw.placeholder({3, N}, "i32", "A"), nw.reduce_axis(N, "k")
    local R = nw.compute({3}, function(i) return nw.sum(A(i, k), k) end, "R")
    local s = nw.schedule(R)
    s:split("k", 8)
    reduce(s, "k_i")
    for _, n in ipairs {0, 1, 7, 8, 9, 16, 29} do t.agree(s, {R}, {filled("i32", {3, n})}) end
  end)

  -- The combination of partial results, as one vector and as several.
  for _, width in ipairs {4, 8, 16, 64} do
    case(("64 partial results combined in %d lanes"):format(width), function()
      local s, out, arguments = product(3, 5, 128)
      s:split("k", 64)
      t.accepted(s.rfactor, s, "C", "k_i")
      s:vectorize "k_i"
      local loop = s:loops "C"[3]
      if width < 64 then loop = select(2, s:split(loop, width)) end
      reduce(s, loop)
      t.agree(s, out, arguments)
    end)
  end

  -- Temporaries of lanes. X is computed in a vector loop of Y, before or after the loop is vectorized, in registers or in memory.
  local function window(n, reads, dtype)
    local A = nw.placeholder({n + 2}, dtype, "A")
    local X = nw.compute({n + 2}, function(i) return A(i) * 2 + 1 end, "X")
    local Y = nw.compute({n}, function(i)
      local sum = X(i)
      for d = 1, reads - 1 do sum = sum + X(i + d) * (d + 1) end
      return sum
    end, "Y")
    return nw.schedule(Y), {Y}, {filled(dtype, {n + 2})}
  end
  for _, dtype in ipairs {"i32", "u8"} do
    for reads = 1, 3 do
      for _, tail in ipairs {"guard", "cut", "predicate"} do
        case(("a temporary of lanes, %d reads of %s, tail %s"):format(reads, dtype, tail), function()
          for _, n in ipairs {7, 8, 21} do
            for _, first in ipairs {"vectorize", "compute_at"} do
              for _, scope in ipairs {"local", "global"} do
                local s, out, arguments = window(n, reads, dtype)
                local _, lane = s:split("i_1", 8, {tail = tail})
                if first == "vectorize" and tail ~= "predicate" then s:vectorize(lane) end
                t.accepted(s.compute_at, s, "X", lane)
                if first == "compute_at" and tail ~= "predicate" then t.accepted(s.vectorize, s, lane) end
                t.accepted(s.set_scope, s, "X", scope)
                t.agree(s, out, arguments)
              end
            end
          end
        end)
      end
    end
  end
  case("a sum in each lane, for its reader", function()
    local A, k = nw.placeholder({6, 21}, "i32", "A"), nw.reduce_axis(6, "k")
    local S = nw.compute({21}, function(i) return nw.sum(A(k, i), k) end, "S")
    local Y = nw.compute({21}, function(i) return S(i) * S(i) + S(i) end, "Y")
    for _, parallel in ipairs {false, true} do
      local s = nw.schedule(Y)
      local o, lane = s:split("i_1", 8)
      s:vectorize(lane)
      t.accepted(s.compute_at, s, S, lane)
      if parallel then s:parallel(o) end
      t.agree(s, {Y}, {filled("i32", {6, 21})}, {threads = 2})
    end
  end)
  case("a producer in the lanes of a reduction", function()
    local A, k = nw.placeholder({5, 21}, "i32", "A"), nw.reduce_axis(21, "k")
    local P = nw.compute({5, 21}, function(i, j) return A(i, j) * 3 end, "P")
    local S = nw.compute({5}, function(i) return nw.sum(P(i, k) * P(i, k), k) end, "S")
    local s = nw.schedule(S)
    local _, lane = s:split("k", 8)
    reduce(s, lane)
    t.accepted(s.compute_at, s, P, lane)
    t.agree(s, {S}, {filled("i32", {5, 21})})
  end)
  case("a tile in each lane", function()
    local s, out, arguments = product(8, 21, 7)
    s:split("i", 4)
    s:split("j", 8)
    s:reorder("i_o", "j_o", "j_i", "k", "i_i")
    t.accepted(s.cache_write, s, "C", "local", {at = "j_i"})
    t.accepted(s.vectorize, s, "j_i")
    t.agree(s, out, arguments)
  end)
end
