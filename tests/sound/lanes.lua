--- Classes A2 and A3: inactive lanes of vectors. An access of an inactive lane must be masked, unless it is proved to be inside
--- allowed memory.
local nw = require "nestwright"
local filled = require("values").filled

--- Splits each of the loops into vectors of `lanes` elements. The last vector is masked.
local function in_lanes(s, lanes, ...)
  for _, loop in ipairs {...} do s:split(loop, lanes, {tail = "predicate"}) end
end

--- Makes a vector of each loop, which must have at most `lanes` iterations.
local function in_one_vector(s, lanes, ...)
  for _, loop in ipairs {...} do s:remove_unit_loop((s:split(loop, lanes, {tail = "predicate"}))) end
end

--- Makes C[i] = T[i] * U[i], where T and U are on the stack.
local function tiles(dtype, n)
  local A = nw.placeholder({n}, dtype, "A")
  local T, U = nw.compute({n}, function(i) return A(i) + 1 end, "T"), nw.compute({n}, function(i) return A(i) + 2 end, "U")
  local C = nw.compute({n}, function(i) return T(i) * U(i) end, "C")
  local s = nw.schedule(C)
  s:set_scope("T", "local")
  s:set_scope("U", "local")
  return s, {C}, {filled(dtype, {n})}
end

return function(case, t)
  case("A2", "a tile smaller than its lanes", function()
    local s, C, a = tiles("f64", 5)
    in_one_vector(s, 16, "i", "i_1", "i_2")
    t.agree(s, C, a)
  end)
  for _, dtype in ipairs {"f32", "f16", "bf16", "i8", "i32", "u32"} do
    for _, n in ipairs {3, 15} do
      case("A2", ("a tile of %d %s in 16 lanes"):format(n, dtype), function()
        local s, C, a = tiles(dtype, n)
        in_one_vector(s, 16, "i", "i_1", "i_2")
        t.agree(s, C, a)
      end)
    end
  end
  case("A2", "a tile without space for its last vector", function()
    local s, C, a = tiles("f32", 21)
    in_lanes(s, 8, "i", "i_1", "i_2")
    t.agree(s, C, a)
  end)
  case("A2", "a tile with space for all lanes needs no masks", function()
    local A, k = nw.placeholder({5, 6}, "f32", "A"), nw.reduce_axis(6, "k")
    local C = nw.compute({5}, function(i) return nw.sum(A(i, k), k) end, "C")
    local s = nw.schedule(C)
    s:cache_write("C", "local")
    in_one_vector(s, 8, "i", "i_1")
    s:storage_align("C_local", 0, 8)
    t.agree(s, {C}, {filled("f32", {5, 6})})
  end)
  for _, dtype in ipairs {"f32", "i16", "f64"} do
    case("A2", "twelve lanes, the last ones off, " .. dtype, function()
      local s, C, a = tiles(dtype, 31)
      in_lanes(s, 12, "i", "i_1", "i_2")
      t.agree(s, C, a)
    end)
  end
  case("A2", "vectors that begin at any element of a tile", function()
    local A, k = nw.placeholder({9, 3}, "f32", "A"), nw.reduce_axis(3, "k")
    local T = nw.compute({9}, function(i) return A(i, 0) + 1 end, "T")
    local C = nw.compute({7}, function(i) return nw.sum(T(i + k) * A(i, k), k) end, "C")
    local s = nw.schedule(C)
    s:set_scope("T", "local")
    in_lanes(s, 16, "i")
    in_lanes(s, 8, "i_1")
    t.agree(s, {C}, {filled("f32", {9, 3})})
  end)

  case("A2", "a tile read under a wider mask", function()
    local A = nw.placeholder({24}, "f32", "A")
    local T = nw.compute({16}, function(i) return A(i) + 1 end, "T")
    local U = nw.compute({13}, function(i) return T(i) + A(i) end, "U")
    local C = nw.compute({11}, function(i) return U(i) * T(i) end, "C")
    local s = nw.schedule(C)
    s:set_scope("T", "local")
    s:set_scope("U", "local")
    in_one_vector(s, 16, "i", "i_1", "i_2")
    t.agree(s, {C}, {filled("f32", {24})})
  end)

  local function divided(lanes, inner)
    local M, L = nw.size "M", nw.size "L"
    local A, B = nw.placeholder({6}, "f32", "A"), nw.placeholder({M, L}, "f32", "B")
    local C = nw.compute({6, M, L}, function(i, j, l) return A(i) + B(j, l) end, "C")
    local s = nw.schedule(C)
    s:fuse("i", "j")
    local _, i = s:split("l", lanes, {tail = inner and "guard" or "predicate"})
    if inner then s:split(i, inner, {tail = "predicate"}) end
    return s, {C}
  end
  case("A3", "a divisor that may be 0 in an index", function()
    local s, C = divided(6, 4)
    for _, sizes in ipairs {{1, 1}, {5, 3}, {7, 13}} do t.agree(s, C, {filled("f32", {6}), filled("f32", sizes)}) end
  end)
  case("A3", "a divisor that may be 0 in an index, many rows", function()
    local s, C = divided(6, 4)
    t.agree(s, C, {filled("f32", {6}), filled("f32", {40, 3})})
  end)
  for _, lanes in ipairs {4, 8, 16} do
    case("A3", ("two symbolic loops fused, %d lanes"):format(lanes), function()
      local s, C = divided(lanes)
      t.agree(s, C, {filled("f32", {6}), filled("f32", {3, 11})})
    end)
  end
  for _, dtype in ipairs {"i8", "i32", "i64", "u16"} do
    case("A3", "a quotient of data under its condition, " .. dtype, function()
      local A, D = nw.placeholder({13}, dtype, "A"), nw.placeholder({13}, dtype, "D")
      local C = nw.compute({13}, function(i) return nw.select(nw.ne(D(i), 0), A(i) // D(i), 7) end, "C")
      local s = nw.schedule(C)
      in_lanes(s, 16, "i")
      t.agree(s, {C}, {filled(dtype, {13}), filled(dtype, {13}, function(i) return i % 3 end)})
    end)
    case("A3", "an index that is a quotient of data, " .. dtype, function()
      local A, D = nw.placeholder({13}, dtype, "A"), nw.placeholder({13}, dtype, "D")
      local B = nw.placeholder({20}, "f32", "B")
      local C = nw.compute({13}, function(i)
        return nw.select(nw.ne(D(i), 0), B(nw.min(nw.max(A(i) // D(i), 0), 19)), 7)
      end, "C")
      local s = nw.schedule(C)
      in_lanes(s, 16, "i")
      t.agree(s, {C}, {filled(dtype, {13}), filled(dtype, {13}, function(i) return i % 3 end), filled("f32", {20})})
    end)
  end
  case("A3", "a gather by an index that is loaded under a mask", function()
    local J, B = nw.placeholder({13}, "u8", "J"), nw.placeholder({256}, "f32", "B")
    local C = nw.compute({13}, function(i) return nw.select(nw.lt(i, 11), B(J(nw.min(i + 1, 12))), 1) end, "C")
    local s = nw.schedule(C)
    in_lanes(s, 16, "i")
    t.agree(s, {C}, {filled("u8", {13}, function(i) return (31 * i) % 256 end), filled("f32", {256})})
  end)
  case("A3", "rows of a triangle in lanes", function()
    local A = nw.placeholder({11}, "f32", "A")
    local C = nw.compute({11, 11}, function(i, j) return nw.select(nw.le(j, i), A(i - j), -1) end, "C")
    local s = nw.schedule(C)
    in_lanes(s, 8, "j")
    t.agree(s, {C}, {filled("f32", {11})})
  end)
  for _, dtype in ipairs {"f32", "f64", "i16"} do
    case("A3", "the edges of a window, " .. dtype, function()
      local A = nw.placeholder({13}, dtype, "A")
      local C = nw.compute({13}, function(i)
        return nw.select(nw.all(nw.ge(i, 1), nw.lt(i, 12)), A(nw.max(i - 1, 0)) + A(nw.min(i + 1, 12)), A(i))
      end, "C")
      local s = nw.schedule(C)
      in_lanes(s, 8, "i")
      t.agree(s, {C}, {filled(dtype, {13})})
    end)
  end

  -- The columns of a product in lanes, with a mask that differs between the iterations of a parallel loop, or is the same in all.
  local function columns(dtype, lanes, parallel)
    local N, K = nw.size "N", nw.size "K"
    local A, B = nw.placeholder({3, K}, dtype, "A"), nw.placeholder({K, N}, dtype, "B")
    local k = nw.reduce_axis(K, "k")
    local C = nw.compute({3, N}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
    local s = nw.schedule(C)
    s:split("j", lanes, {tail = "predicate"})
    s:reorder("j_o", "k", "i", "j_i")
    s:unroll "i"
    if parallel then s:parallel "j_o" end
    return s, {C}
  end
  for _, dtype in ipairs {"f32", "f64", "i32", "i8", "f16"} do
    for _, parallel in ipairs {true, false} do
      case("A2", ("accumulators under a mask, %s, %s"):format(dtype, parallel and "parallel" or "serial"), function()
        for _, lanes in ipairs {8, 12, 16} do
          local s, C = columns(dtype, lanes, parallel)
          for _, size in ipairs {{1, 1}, {2, 5}, {9, 13}, {3, 32}, {5, 44}} do
            local n, depth = size[2], size[1]
            t.agree(s, C, {filled(dtype, {3, depth}), filled(dtype, {depth, n})})
          end
        end
      end)
    end
    case("A2", "the last of three vectors in parallel, " .. dtype, function()
      local A = nw.placeholder({20}, dtype, "A")
      local C = nw.compute({20}, function(i) return A(i) + 1 end, "C")
      local s = nw.schedule(C)
      in_lanes(s, 8, "i")
      s:parallel "i_o"
      t.agree(s, {C}, {filled(dtype, {20})})
    end)
    case("A2", "accumulators of an unrolled sum under a mask, " .. dtype, function()
      local N, k = nw.size "N", nw.reduce_axis(5, "k")
      local A = nw.placeholder({5, N}, dtype, "A")
      local C = nw.compute({N}, function(j) return nw.sum(A(k, j), k) end, "C")
      local s = nw.schedule(C)
      s:split("j", 8, {tail = "predicate"})
      s:reorder("j_o", "k", "j_i")
      s:unroll "k"
      s:parallel "j_o"
      for _, n in ipairs {1, 8, 21} do t.agree(s, {C}, {filled(dtype, {5, n})}) end
    end)
    case("A2", "the last vector is cut short, " .. dtype, function()
      for _, n in ipairs {9, 24, 40, 44, 47, 48, 63} do
        for _, lanes in ipairs {8, 16, 32} do
          local A = nw.placeholder({n}, dtype, "A")
          local C = nw.compute({n}, function(i) return A(n - 1 - i) + A(i) * 2 end, "C")
          local s = nw.schedule(C)
          in_lanes(s, lanes, "i")
          t.agree(s, {C}, {filled(dtype, {n})})
        end
      end
    end)
  end
  case("A2", "the first vector begins inside, f32", function()
    for _, from in ipairs {1, 8, 9, 15} do
      local A, k = nw.placeholder({40}, "f32", "A"), nw.reduce_axis(3, "k")
      local T = nw.compute({40}, function(i) return nw.select(nw.ge(i, from), A(i - from), -1) end, "T")
      local C = nw.compute({38}, function(i) return nw.sum(T(i + k), k) end, "C")
      local s = nw.schedule(C)
      s:compute_inline "T"
      in_lanes(s, 16, "i_1")
      t.agree(s, {C}, {filled("f32", {40})})
    end
  end)
  for _, dtype in ipairs {"f32", "f64", "i32", "u32", "i64", "u64", "f16", "u8"} do
    for _, lanes in ipairs {4, 8, 16} do
      case("A3", ("most of %d lanes are known to be off, %s"):format(lanes, dtype), function()
        local B, k = nw.placeholder({8}, dtype, "B"), nw.reduce_axis(8, "k")
        local C, D = nw.compute({}, function() return nw.min(B(k) * 2, k), nw.min(B(k), k) end, "X")
        local s = nw.schedule(C, D)
        s:rfactor("X", "k")
        local outer, inner = s:split("k", {parts = 7, tail = "guard"})
        s:tile({outer, inner}, {4, lanes}, {tail = "guard"})
        s:vectorize "k_i_i"
        t.agree(s, {C, D}, {filled(dtype, {8})})
      end)
    end
  end
end
