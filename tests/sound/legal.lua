--- Makes steps that are legal but were once refused. They must be accepted. The cases of class S3 end with an illegal step, which
--- must be refused. In all cases, the results must equal the results of the definition.
local nw = require "nestwright"
local filled = require("values").filled

return function(case, t)
  local function legal(name, f) case("legal", name, f) end

  -- Applies rfactor to several outputs.
  for _, dtype in ipairs {"f32", "f64", "i8", "i32", "i64", "u16"} do
    for _, combiner in ipairs {"sum", "min", "max"} do
      legal(("rfactor of two %ss of %s"):format(combiner, dtype), function()
        local A, k = nw.placeholder({3, 12}, dtype, "A"), nw.reduce_axis(12, "k")
        local C, D = nw.compute({3}, function(i) return nw[combiner](A(i, k), k), nw[combiner](A(2 - i, k) + 1, k) end, "C")
        local s = nw.schedule(C, D)
        s:split("k", 4)
        t.accepted(s.rfactor, s, "C", "k_i")
        t.agree(s, {C, D}, {filled(dtype, {3, 12})})
      end)
    end
    legal("rfactor of argmin with its value, " .. dtype, function()
      for _, which in ipairs {"argmin", "argmax"} do
        local A, k = nw.placeholder({3, 12}, dtype, "A"), nw.reduce_axis(12, "k")
        local C, D = nw.compute({3}, function(i) return nw[which](A(i, k), k) end, "C")
        local s = nw.schedule(C, D)
        s:split("k", 4)
        t.accepted(s.rfactor, s, "C.value", "k_o")
        t.agree(s, {C, D}, {filled(dtype, {3, 12})})
      end
    end)
    legal("a shifted tail of a reduction of " .. dtype, function()
      for _, which in ipairs {"min", "max", "argmin", "argmax"} do
        for _, n in ipairs {5, 13, 16} do
          local A, k = nw.placeholder({n}, dtype, "A"), nw.reduce_axis(n, "k")
          local out = table.pack(nw.compute({}, function() return nw[which](A(k), k) end, "C"))
          local s = nw.schedule(table.unpack(out))
          t.accepted(s.split, s, "k", 4, {tail = "shift"})
          t.agree(s, out, {filled(dtype, {n})})
        end
      end
    end)
    legal("rfactor of a sum whose terms do not use the axis, " .. dtype, function()
      local A, k = nw.placeholder({3}, dtype, "A"), nw.reduce_axis(8, "k")
      local C = nw.compute({3}, function(i) return nw.sum(A(i), k) end, "C")
      for _, loop in ipairs {"k_i", "k_o"} do
        local s = nw.schedule(C)
        s:split("k", 4)
        t.accepted(s.rfactor, s, "C", loop)
        t.agree(s, {C}, {filled(dtype, {3})})
      end
    end)
    legal("trim of two sums of " .. dtype, function()
      local A, k = nw.placeholder({8}, dtype, "A"), nw.reduce_axis(8, "k")
      local C, D = nw.compute({8}, function(i)
        return nw.sum(nw.select(nw.le(k, i), A(k), 0), k), nw.sum(nw.select(nw.le(k, i), A(7 - k), 0), k)
      end, "C")
      local s = nw.schedule(C, D)
      s:decompose_reduction("C", "i")
      t.accepted(s.trim, s, "k")
      t.agree(s, {C, D}, {filled(dtype, {8})})
    end)
  end
  legal("rfactor of outputs of two dtypes", function()
    local A, B, k = nw.placeholder({12}, "i32", "A"), nw.placeholder({12}, "f64", "B"), nw.reduce_axis(12, "k")
    local C, D = nw.compute({}, function() return nw.sum(A(k), k), nw.sum(B(k), k) end, "C")
    local s = nw.schedule(C, D)
    s:split("k", 4)
    t.accepted(s.rfactor, s, "C", "k_i")
    t.agree(s, {C, D}, {filled("i32", {12}), filled("f64", {12})})
  end)
  for n = 3, 7 do
    legal(("rfactor of %d outputs"):format(n), function()
      local A, k = nw.placeholder({12}, "i32", "A"), nw.reduce_axis(12, "k")
      local out = table.pack(nw.compute({}, function()
        local r = {}
        for i = 1, n do r[i] = nw.sum(A(k) * i, k) end
        return table.unpack(r)
      end, "C"))
      local s = nw.schedule(table.unpack(out))
      s:split("k", 4)
      t.accepted(s.rfactor, s, "C", "k_i")
      t.agree(s, out, {filled("i32", {12})})
    end)
  end
  legal("rfactor of a 16-bit sum along its whole loop", function()
    local A, k = nw.placeholder({8}, "i16", "A"), nw.reduce_axis(8, "k")
    local C = nw.compute({}, function() return nw.sum(nw.cast(A(0), "i16") + nw.cast(k, "i16"), k) end, "C")
    local s = nw.schedule(C)
    t.accepted(s.rfactor, s, "C", "k")
    t.agree(s, {C}, {filled("i16", {8})})
  end)
  for _, narrow in ipairs {"i8", "i16", "i32", "u8", "u16", "u32"} do
    legal("a quotient by a widened " .. narrow .. " that is not 0", function()
      local B, D = nw.placeholder({8}, narrow, "B"), nw.placeholder({8}, "i64", "D")
      local C = t.accepted(nw.compute, {8}, function(i) return nw.select(nw.ne(B(i), 0), D(i) // B(i), -1) end, "C")
      local s = t.accepted(nw.schedule, C)
      s:vectorize "i"
      local args = {}
      for _, input in ipairs(s:inputs()) do
        args[#args + 1] = input.name == "B" and filled(narrow, {8}, function(i) return i % 3 end) or filled("i64", {8})
      end
      t.agree(s, {C}, args)
    end)
  end

  -- compute_inline and reverse_compute_inline must print the note "rounding may change" exactly if a product can become part of an
  -- fma.
  local function products(dtype)
    local A, B = nw.placeholder({8}, dtype, "A"), nw.placeholder({8}, dtype, "B")
    return A, B, nw.compute({8}, function(i) return A(i) * B(i) end, "T")
  end
  local readers = {
    {"a sum", true, function(T, A, _, i) return T(i) + A(i) end},
    {"a difference as its first operand", true, function(T, A, _, i) return T(i) - A(i) end},
    {"a difference as its second operand", true, function(T, A, _, i) return A(i) - T(i) end},
    {"a sum as a negated operand", false, function(T, A, _, i) return A(i) + -T(i) end},
    {"a sum inside of a select", true, function(T, A, B, i) return nw.select(nw.lt(A(i), B(i)), T(i) + 1, B(i)) end},
    {"a product with an fma of the same factors", true, function(T, A, B, i) return (A(i) * B(i) + A(i)) * T(i) end},
    {"a product", false, function(T, A, _, i) return T(i) * A(i) end},
    {"a maximum", false, function(T, A, _, i) return nw.max(T(i), A(i)) end},
  }
  for _, r in ipairs(readers) do
    for _, reverse in ipairs {false, true} do
      legal(("%s of a product into %s"):format(reverse and "reverse_compute_inline" or "compute_inline", r[1]), function()
        for dtype, says in pairs {f32 = r[2], f64 = r[2], i32 = false} do
          local A, B, T = products(dtype)
          local C = nw.compute({8}, function(i) return r[3](T, A, B, i) end, "C")
          local s = nw.schedule(C)
          if reverse then t.accepted(s.reverse_compute_inline, s, "C") else t.accepted(s.compute_inline, s, "T") end
          t.same(tostring(s:show "log"):find "rounding may change" ~= nil, says, dtype)
          t.agree(s, {C}, {filled(dtype, {8}), filled(dtype, {8})})
        end
      end)
    end
  end
  for n = 1, 3 do
    legal(("compute_inline of a product into a sum, output %d of three"):format(n), function()
      local A, B, T = products "f64"
      local out = table.pack(nw.compute({8}, function(i)
        local value = {A(i), T(i) * 2, B(i)}
        value[n] = T(i) + B(i)
        return table.unpack(value)
      end, "C"))
      local s = nw.schedule(table.unpack(out))
      t.accepted(s.compute_inline, s, "T")
      assert(tostring(s:show "log"):find "rounding may change", "the note about rounding is missing")
      t.agree(s, out, {filled("f64", {8}), filled("f64", {8})})
    end)
  end
  legal("compute_inline of a product into a copy, and then into a reduction", function()
    local _, _, T = products "f32"
    local k = nw.reduce_axis(8, "k")
    local U = nw.compute({8}, function(i) return T(i) end, "U")
    local C = nw.compute({}, function() return nw.sum(U(k), k) end, "C")
    local s = nw.schedule(C)
    t.accepted(s.compute_inline, s, "U")
    assert(not tostring(s:show "log"):find "rounding may change", "there is a note about rounding for a copy")
    t.accepted(s.compute_inline, s, "T")
    assert(tostring(s:show "log"):find "rounding may change", "the note about rounding is missing")
    t.agree(s, {C}, {filled("f32", {8}), filled("f32", {8})})
  end)

  -- Makes steps on a loop that was fused from two loops with symbolic sizes.
  local M, N = nw.size "M", nw.size "N"
  local shapes = {{1, 1}, {1, 9}, {5, 1}, {3, 7}, {8, 8}, {6, 11}}
  local fused = {
    ["elements"] = function(dtype)
      local A = nw.placeholder({M, N}, dtype, "A")
      return nw.compute({M, N}, function(i, j) return A(i, j) * 2 + 1 end, "C")
    end,
    ["sums of rows"] = function(dtype)
      local A, k = nw.placeholder({M, N}, dtype, "A"), nw.reduce_axis(N, "k")
      return nw.compute({M, N}, function(i, j) return nw.sum(A(i, k) * A(i, j), k) end, "C")
    end,
    ["neighbours"] = function(dtype)
      local A = nw.placeholder({M, N}, dtype, "A")
      return nw.compute({M, N}, function(i, j) return A(i, j) - A(nw.max(i - 1, 0), nw.min(j + 1, N - 1)) end, "C")
    end,
  }
  local ways = {
    {"split", function(s) s:split("i_j", 8) end},
    {"split by 3 and unrolled", function(s) s:split("i_j", 3) s:unroll "i_j_i" end},
    {"split, in lanes and threads", function(s) s:split("i_j", 8) s:vectorize "i_j_i" s:parallel "i_j_o" end},
    {"split twice", function(s) s:split("i_j", 4) s:split("i_j_o", 5) s:parallel "i_j_o_o" end},
    {"split by a list of factors", function(s) s:split("i_j", {factors = {2, 4}}) s:unroll "i_j_1" s:vectorize "i_j_2" end},
    {"split in three parts", function(s) s:split("i_j", {parts = 3}) s:parallel "i_j_o" end},
    {"split and fused again", function(s) s:split("i_j", 8) s:fuse("i_j_o", "i_j_i") s:parallel "i_j_o_i_j_i" end},
    {"split and skewed", function(s) s:split("i_j", 4) s:skew("i_j_i", "i_j_o", 1) end},
    {"split, with the inner part moved outside", function(s) s:split("i_j", 4) s:reorder("i_j_i", "i_j_o") s:parallel "i_j_i" end},
    {"shifted", function(s) s:shift("i_j", 3) s:split("i_j", 4) end},
    {"split, with a copy of its input", function(s) s:split("i_j", 8) s:cache_read("A", "global", {"C"}) s:parallel "i_j_o" end},
  }
  for name, make in pairs(fused) do
    for at, step in ipairs(ways) do
      legal(("a fused loop of %s, %s"):format(name, step[1]), function()
        local dtype = ({"i32", "f64", "u8", "i64"})[at % 4 + 1]
        local C = make(dtype)
        local s = nw.schedule(C)
        t.accepted(s.fuse, s, "i", "j")
        t.accepted(step[2], s)
        for _, n in ipairs(shapes) do t.agree(s, {C}, {filled(dtype, n)}) end
      end)
    end
  end
  -- These steps must be refused, because the pieces do not cover the loop exactly, or because a step changes an order on which the
  -- result depends.
  local function refused(name, steps, last)
    case("S3", name, function()
      local C = fused["sums of rows"] "i32"
      local s = nw.schedule(C)
      s:fuse("i", "j")
      for _, step in ipairs(steps) do pcall(s[step[1]], s, table.unpack(step, 2)) end
      t.refused("", s[last[1]], s, table.unpack(last, 2))
      for _, n in ipairs(shapes) do t.agree(s, {C}, {filled("i32", n)}) end
    end)
  end
  refused("a fused loop with a part left out", {}, {"split", "i_j", 8, {tail = "cut"}})
  refused("a fused loop with a part run twice", {}, {"split", "i_j", 8, {tail = "shift"}})
  refused("the reduction in threads, inside a fused loop", {{"split", "i_j", 4}, {"reorder", "k", "i_j_i"}}, {"parallel", "k"})
  local function sweep()
    local A, state = nw.placeholder({M, N}, "i32", "A"), nw.scan_state({M, N}, "i32", "state")
    local first = nw.compute({1, N}, function(i, x) return A(i, x) end, "first")
    local update = nw.compute({M, N}, function(i, x)
      return state(i - 1, x) - state(i - 1, nw.max(x - 1, 0)) + A(i, x)
    end, "update")
    local S = nw.scan(first, update, state, "S")
    local s = nw.schedule(S)
    s:fuse("i_1", "x_1")
    s:split("i_1_x_1", 4)
    return s, S
  end
  for _, last in ipairs {{"reorder", "i_1_x_1_i", "i_1_x_1_o"}, {"parallel", "i_1_x_1_o"}, {"vectorize", "i_1_x_1_i"}} do
    case("S3", last[1] == "reorder" and "a fused loop in pieces that run in another order"
      or ("%s of a part of a fused sweep"):format(last[1]), function()
      local s, S = sweep()
      t.refused("", s[last[1]], s, table.unpack(last, 2))
      for _, n in ipairs(shapes) do t.agree(s, {S}, {filled("i32", n)}) end
    end)
  end
  legal("cache_read in a fused loop that does not bound the size of the copy", function()
    local E = nw.size("E", {min = 0})
    local A, k = nw.placeholder({M, E}, "i32", "A"), nw.reduce_axis(E, "k")
    local C = nw.compute({M, E}, function(i, j) return nw.sum(A(i, k) * A(i, j), k) end, "C")
    local s = nw.schedule(C)
    s:fuse("j", "k")
    t.accepted(s.cache_read, s, "A", "global", {"C"}, {at = "j_k"})
    t.agree(s, {C}, {filled("i32", {5, 5})})
    t.agree(s, {C}, {filled("i32", {3, 0})})
  end)
  legal("a fused loop tiled with the reduction, with lanes inside the reduction", function()
    local C = fused["sums of rows"] "i32"
    local s = nw.schedule(C)
    s:fuse("i", "j")
    t.accepted(s.tile, s, "i_j", "k", 8, 4)
    t.accepted(s.reorder, s, "i_j_o", "k_o", "k_i", "i_j_i")
    t.accepted(s.vectorize, s, "i_j_i")
    t.accepted(s.parallel, s, "i_j_o")
    for _, n in ipairs(shapes) do t.agree(s, {C}, {filled("i32", n)}) end
  end)
  legal("a loop skewed by a fused loop", function()
    local C = fused["sums of rows"] "i64"
    local s = nw.schedule(C)
    s:fuse("i", "j")
    t.accepted(s.skew, s, "k", "i_j", 1)
    t.accepted(s.parallel, s, "i_j")
    for _, n in ipairs(shapes) do t.agree(s, {C}, {filled("i64", n)}) end
  end)
  legal("two fused loops, tiled", function()
    local P, Q = nw.size "P", nw.size "Q"
    local A = nw.placeholder({M, N, P, Q}, "i16", "A")
    local C = nw.compute({M, N, P, Q}, function(i, j, k, l) return A(i, j, k, l) + 1 end, "C")
    local s = nw.schedule(C)
    s:fuse("i", "j")
    s:fuse("k", "l")
    t.accepted(s.tile, s, "i_j", "k_l", 4, 8)
    t.accepted(s.vectorize, s, "k_l_i")
    t.accepted(s.parallel, s, "i_j_o")
    for _, n in ipairs {{1, 1, 1, 1}, {2, 3, 1, 9}, {3, 3, 4, 5}} do t.agree(s, {C}, {filled("i16", n)}) end
  end)
  legal("three loops fused and split", function()
    local P = nw.size "P"
    local A = nw.placeholder({M, N, P}, "u16", "A")
    local C = nw.compute({M, N, P}, function(i, j, k) return A(i, j, k) * 3 + A(M - 1 - i, j, P - 1 - k) end, "C")
    local s = nw.schedule(C)
    s:fuse("i", "j")
    t.accepted(s.fuse, s, "i_j", "k")
    t.accepted(s.split, s, "i_j_k", 8)
    t.accepted(s.parallel, s, "i_j_k_o")
    for _, n in ipairs {{1, 1, 1}, {2, 3, 5}, {4, 1, 7}} do t.agree(s, {C}, {filled("u16", n)}) end
  end)
  legal("a fused loop whose size the factor divides", function()
    local E = nw.size("E", {multiple = 8})
    local A = nw.placeholder({M, E}, "f32", "A")
    local C = nw.compute({M, E}, function(i, j) return A(i, j) * 2 end, "C")
    local s = nw.schedule(C)
    s:fuse("i", "j")
    t.accepted(s.split, s, "i_j", 8)
    assert(not s:text():find "where", "the guard was not removed")
    t.accepted(s.vectorize, s, "i_j_i")
    for _, n in ipairs {{1, 8}, {3, 16}} do t.agree(s, {C}, {filled("f32", n)}) end
  end)
  legal("a fused loop of a size that may be 0", function()
    local E = nw.size("E", {min = 0})
    local A, k = nw.placeholder({M, E}, "i32", "A"), nw.reduce_axis(E, "k")
    local C = nw.compute({M}, function(i) return nw.sum(A(i, k), k) end, "C")
    local s = nw.schedule(C)
    s:decompose_reduction("C", "i")
    t.accepted(s.fuse, s, "i", "k")
    t.accepted(s.split, s, "i_k", 4)
    for _, n in ipairs {{1, 0}, {3, 0}, {2, 5}} do t.agree(s, {C}, {filled("i32", n)}) end
  end)

  -- Applies cache_write to a stage whose loop was divided into pieces.
  local function product_of(n, m, dtype)
    local A, B, k = nw.placeholder({n, m}, dtype, "A"), nw.placeholder({m, n}, dtype, "B"), nw.reduce_axis(m, "k")
    return nw.compute({n, n}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
  end
  local pieces = {
    {"a cut", function(s) s:cut("i", 5) return "i.head" end},
    {"a cut into three", function(s) s:cut("i", {3, 7}) return "i.2" end},
    {"a split with a cut tail", function(s) return (s:split("i", 4, {tail = "cut"})) end},
    {"a split of the inner loop with a cut tail", function(s) return (s:split("j", 4, {tail = "cut"})) end},
    {"a tile with cut tails", function(s) return (s:tile("i", "j", 4, 4, {tail = "cut"})) end},
  }
  for at, piece in ipairs(pieces) do
    for _, inside in ipairs {false, true} do
      legal(("cache_write after %s%s"):format(piece[1], inside and ", inside a piece" or ""), function()
        local dtype, scope = ({"f32", "i64", "u8"})[at % 3 + 1], inside and "local" or "global"
        local C = product_of(13, 11, dtype)
        local s = nw.schedule(C)
        local loop = piece[2](s)
        t.accepted(s.cache_write, s, "C", scope, inside and {at = loop} or nil)
        t.accepted(s.parallel, s, loop)
        t.agree(s, {C}, {filled(dtype, {13, 11}), filled(dtype, {11, 13})})
      end)
    end
  end
  legal("cache_write after partition", function()
    local A = nw.placeholder({20}, "i32", "A")
    local C = nw.compute({20}, function(i) return nw.select(nw.all(nw.ge(i, 2), nw.lt(i, 17)), A(nw.max(i - 2, 0)), 0) end, "C")
    local s = nw.schedule(C)
    s:partition "i"
    t.accepted(s.cache_write, s, "C", "local")
    t.agree(s, {C}, {filled("i32", {20})})
  end)
  for _, scope in ipairs {"global", "local"} do
    legal("cache_write after specialize, " .. scope, function()
      local A = nw.placeholder({M, 12}, "f64", "A")
      local C = nw.compute({M, 12}, function(i, j) return A(i, j) * 2 end, "C")
      local s = nw.schedule(C)
      s:specialize("M % 4 == 0", "i")
      t.accepted(s.cache_write, s, "C", scope)
      for _, n in ipairs {1, 4, 7, 8} do t.agree(s, {C}, {filled("f64", {n, 12})}) end
    end)
  end

  -- A copy must not be larger than its tensor.
  legal("a copy is not larger than its tensor, in a tile that a guard bounds", function()
    local A = nw.placeholder({17, 3, 16}, "f32", "A")
    local C = nw.compute({17, 3, 16}, function(i, j, k) return A(i, j, k) * 2 end, "C")
    local s = nw.schedule(C)
    s:split("i", 67) s:split("j", 127) s:split("k", 77) s:split("i_o", 2) s:split("k_o", 5)
    s:reorder("i_o_o", "j_o", "k_o_o", "i_o_i", "i_i", "j_i", "k_o_i", "k_i")
    local copy = t.accepted(s.cache_read, s, "A", "global", {"C"}, {at = "k_o_o"})
    t.same(tostring(s:show()):match "alloc A_global(%b[])", "[17, 3, 16]", tostring(copy))
    t.agree(s, {C}, {filled("f32", {17, 3, 16})})
  end)
  for _, l in ipairs {
    {"tiles of a skewed loop", "j_o", "[1, 3, 16]", function(s) s:skew("j", "i", 1) s:split("j", 90) end},
    {"tiles of a loop skewed back", "j_o", "[1, 3, 16]", function(s) s:skew("j", "i", -1) s:split("j", 127) end},
    {"tiles of tiles of a skewed loop", "j_i_o", "[1, 3, 16]", function(s)
      s:skew("j", "i", -1) s:split("j", 68) s:split("j_i", {parts = 3})
    end},
    {"tiles of a fused loop", "i_j_i_o", "[17, 3, 14]", function(s)
      s:fuse("i", "j") s:split("i_j", {parts = 2}) s:split("i_j_i", 51)
    end},
    {"tiles of a whole skewed nest", "i_o", "[17, 3, 1]", function(s)
      s:reorder("k", "i", "j") s:skew("i", "k", 1) s:split("i", 113)
    end},
  } do
    legal("a copy is not larger than its tensor, in " .. l[1] .. " with a guard", function()
      local A = nw.placeholder({17, 3, 16}, "i32", "A")
      local C = nw.compute({17, 3, 14}, function(i, j, k) return A(i, j, k) * 2 end, "C")
      local s = nw.schedule(C)
      l[4](s)
      t.accepted(s.cache_read, s, "A", "global", {"C"}, {at = l[2]})
      t.same(tostring(s:show()):match "alloc A_global(%b[])", l[3]:gsub("16", "14"), nil)
      t.agree(s, {C}, {filled("i32", {17, 3, 16})})
    end)
  end
  for _, what in ipairs {"a stage", "a local stage", "a window", "the result"} do
    legal("the storage of " .. what .. " is not larger than its tensor", function()
      local A = nw.placeholder({19, 6}, "i32", "A")
      local T = nw.compute({19, 6}, function(i, j) return A(i, j) + 1 end, "T")
      local C = nw.compute({19, 6}, function(i, j)
        return T(i, j) + (what == "a window" and T(nw.min(i + 2, 18), 5 - j) or 0)
      end, "C")
      local s = nw.schedule(C)
      s:split("i_1", 32)
      s:split("j_1", 7)
      s:reorder("i_1_o", "j_1_o", "i_1_i", "j_1_i")
      if what == "the result" then
        t.accepted(s.cache_write, s, "C", "local", {at = "j_1_o"})
        t.same(tostring(s:show()):match "alloc C_local(%b[])", "[19, 6]")
      else
        t.accepted(s.compute_at, s, "T", "j_1_o")
        if what == "a local stage" then t.accepted(s.set_scope, s, "T", "local") end
        t.same(tostring(s:show()):match "alloc T(%b[])", "[19, 6]")
      end
      t.agree(s, {C}, {filled("i32", {19, 6})})
    end)
  end

  legal("compute_inline of a product into a sum, output 2 of two", function()
    local A, B = nw.placeholder({8}, "f32", "A"), nw.placeholder({8}, "f32", "B")
    local T = nw.compute({8}, function(i) return A(i) * B(i) end, "T")
    local C, D = nw.compute({8}, function(i) return A(i), T(i) + A(i) end, "C")
    local s = nw.schedule(C, D)
    t.accepted(s.compute_inline, s, "T")
    assert(tostring(s:show "log"):find "rounding may change", "the note about rounding is missing")
  end)
end
