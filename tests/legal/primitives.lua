--- Schedules that one primitive makes possible. The cases of each primitive have a heading.
local nw = require "nestwright"
local filled = require("values").filled

return function(case, t)
  -- ---------------------------------------------------------------- reverse

  local SHAPES = {{6, 8}, {7, 5}, {1, 3}}

  local function map(shape)
    local A = nw.placeholder(shape, "i32", "A")
    local C = nw.compute(shape, function(i, j) return A(i, j) * 3 + i - j end, "C")
    return nw.schedule(C), {C}, {filled("i32", shape)}
  end

  -- Each row: a name and a function that makes the steps.
  local REVERSED = {
    {"one loop", function(s) s:reverse "i" end},
    {"both loops", function(s) s:reverse "i" s:reverse "j" end},
    {"a loop twice", function(s) s:reverse "j" s:reverse "j" end},
    {"both parts of a split", function(s) s:split("j", 3) s:reverse "j_i" s:reverse "j_o" end},
    {"before a split", function(s) s:reverse "i" s:split("i", 4) end},
    {"before a split with a tail of its own", function(s) s:reverse "i" s:split("i", {factor = 4, tail = "cut"}) end},
    {"the tail of a split", function(s) s:split("i", {factor = 4, tail = "cut"}) s:reverse "i.tail" end},
    {"the pieces of a cut", function(s) s:cut("j", 2) s:reverse "j.head" s:reverse "j.rest" end},
    {"a fused loop", function(s) s:reverse(s:fuse("i", "j")) end},
    {"a shifted loop", function(s) s:shift("i", 5) s:reverse "i" end},
    {"a skewed loop", function(s) s:skew("j", "i", 1) s:reverse "j" end},
    {"a loop around a skewed loop", function(s) s:skew("j", "i", 1) s:reverse "i" end},
    {"before a reorder", function(s) s:reverse "i" s:reorder("j", "i") end},
    {"a parallel loop", function(s) s:parallel "i" s:reverse "i" end},
    {"before parallel", function(s) s:reverse "i" s:parallel "i" end},
    {"the lanes of a vector", function(s) s:split("j", 4) s:vectorize "j_i" s:reverse "j_i" end},
    {"an unrolled loop", function(s) s:split("i", 2) s:unroll "i_i" s:reverse "i_i" end},
  }
  for _, shape in ipairs(SHAPES) do
    for _, row in ipairs(REVERSED) do
      case(("reverse %s, %dx%d"):format(row[1], shape[1], shape[2]), function()
        local s, out, arguments = map(shape)
        t.accepted(row[2], s)
        assert(s:reparses())
        t.agree(s, out, arguments)
      end)
    end
  end

  -- Each row: a name, the shape, the offset of the element that is read from the row before, and the steps.
  local function moved_scan(shape, offset)
    local n = shape[2]
    local A, H = nw.placeholder({1, n}, "i32", "A"), nw.scan_state(shape, "i32", "H")
    local first = nw.compute({1, n}, function(r, x) return A(r, x) end, "first")
    local update = nw.compute(shape, function(r, x)
      return H(r - 1, nw.clamp(x + offset, 0, n - 1)) * 2 - H(r - 1, x)
    end, "update")
    local S = nw.scan(first, update, H, "S")
    return nw.schedule(S), {S}, {filled("i32", {1, n})}
  end
  for _, shape in ipairs {{6, 9}, {3, 4}, {5, 17}} do
    for _, offset in ipairs {1, 2} do
      case(("columns run backwards, then outside the rows, %dx%d, from %d ahead"):format(shape[1], shape[2], offset), function()
        local s, out, arguments = moved_scan(shape, offset)
        t.refused("cannot reorder", s.reorder, s, "x_1", "r_1")
        t.accepted(s.reverse, s, "x_1")
        t.accepted(s.reorder, s, "x_1", "r_1")
        t.agree(s, out, arguments)
      end)
    end
  end

  for _, K in ipairs {1, 7, 12} do
    case(("a sum from the last term to the first, %d terms"):format(K), function()
      local A, B, k = nw.placeholder({5, K}, "i32", "A"), nw.placeholder({K, 6}, "i32", "B"), nw.reduce_axis(K, "k")
      local C = nw.compute({5, 6}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
      local s = nw.schedule(C)
      s:decompose_reduction(C, "i")
      t.accepted(s.reverse, s, "k")
      s:split("k", 4)
      t.accepted(s.reverse, s, "k_i")
      t.agree(s, {C}, {filled("i32", {5, K}), filled("i32", {K, 6})})
    end)
  end

  for _, first in ipairs {true, false} do
    case("a window that a reversed loop moves down, reversed " .. (first and "first" or "last"), function()
      local A = nw.placeholder({14, 5}, "i32", "A")
      local X = nw.compute({14, 5}, function(p, q) return A(p, q) * 3 end, "X")
      local Y = nw.compute({12, 5}, function(y, x) return X(y, x) + X(y + 1, x) * 2 + X(y + 2, x) end, "Y")
      local s = nw.schedule(Y)
      local y = s[Y]:loops()[1]
      if first then t.accepted(s.reverse, s, y) end
      t.accepted(s.compute_at, s, X, y)
      if not first then t.accepted(s.reverse, s, y) end
      t.accepted(s.store_at, s, X)
      local a, n = nw.accesses(s), 0
      for k = 1, #a do
        local x = a:at(k)
        if x.tensor == "X" and x.write then n = n + 1 end
      end
      t.same(n, 70, "elements of X that are computed")
      t.agree(s, {Y}, {filled("i32", {14, 5})})
    end)
  end

  -- ---------------------------------------------------------------- cache_read of some accesses

  -- Each row: a name, the shape of A, the shape of the result, and its body.
  local READERS = {
    {"three neighbours", {14}, {12}, function(A, i) return A(i) + A(i + 1) * 2 - A(i + 2) end},
    {"both ends", {10}, {10}, function(A, i) return A(i) * 3 + A(9 - i) end},
    {"an index that is data", {9}, {9}, function(A, i) return A(nw.clamp(A(i), 0, 8)) - A(i) end},
    {"rows and columns", {6, 6}, {6, 6}, function(A, i, j) return A(i, j) * 2 - A(j, i) end},
    {"a select", {12}, {12}, function(A, i) return nw.select(nw.gt(i, 3), A(nw.max(i - 4, 0)), A(i) * 2) end},
  }
  for _, row in ipairs(READERS) do
    local name, from, to, body = table.unpack(row)
    for _, accesses in ipairs {{1}, {2}, {1, 2}, {2, 1}} do
      for _, at in ipairs {false, "i", "i_o"} do
        case(("a copy for reads %s of %s%s"):format(table.concat(accesses, " and "), name, at and ", in " .. at or ""), function()
          local A = nw.placeholder(from, "i32", "A")
          local Y = nw.compute(to, #to == 1 and function(i) return body(A, i) end or function(i, j) return body(A, i, j) end, "Y")
          local s = nw.schedule(Y)
          if at == "i_o" then s:split("i", 4) end
          t.accepted(s.cache_read, s, A, "global", {Y}, {accesses = accesses, at = at or nil})
          local expr = s:text():match "Y%[[^\n]*\n*$"
          local _, direct = expr:gsub("%f[%w_]A%[", "")
          local _, copied = expr:gsub("A_global%[", "")
          assert(copied >= #accesses, "reads of the copy: " .. expr)
          if #accesses == 1 then assert(direct > 0, "no other reads: " .. expr) end
          assert(s:reparses())
          t.agree(s, {Y}, {filled("i32", from)})
        end)
      end
    end
  end
  case("a copy for the second read of each of two readers", function()
    local A = nw.placeholder({12}, "i32", "A")
    local Y = nw.compute({10}, function(i) return A(i) + A(i + 2) end, "Y")
    local Z = nw.compute({10}, function(i) return A(i) * A(i + 1) end, "Z")
    local s = nw.schedule {Y, Z}
    t.accepted(s.cache_read, s, A, "global", {accesses = {2}})
    t.same(s:text():match "Y%[i%] = ([^\n]*)", "A[i] + A_global[i + 2]")
    t.same(s:text():match "Z%[i%] = ([^\n]*)", "A[i]*A_global[i + 1]")
    t.agree(s, {Y, Z}, {filled("i32", {12})})
  end)

  -- ---------------------------------------------------------------- set_dtype

  -- Small whole numbers are values of every dtype, so the results equal those of the definition.
  local KEPT = {
    f32 = {"bf16", "f16", "f64"}, f64 = {"bf16", "f16", "f32"}, f16 = {"bf16", "f32", "f64"}, bf16 = {"f16", "f32", "f64"},
    u8 = {"i16", "i32", "i64", "u16", "u32", "u64", "f16", "bf16", "f32"}, i8 = {"i16", "i32", "i64", "f16", "bf16", "f64"},
    i16 = {"i32", "i64", "f32"}, i32 = {"i64", "f64"},
  }
  for _, dtype in ipairs {"f32", "f64", "f16", "bf16", "u8", "i8", "i16", "i32"} do
    for _, kept in ipairs(KEPT[dtype]) do
      for _, n in ipairs {1, 7, 32} do
        case(("%s stored as %s, %d elements"):format(dtype, kept, n), function()
          local A = nw.placeholder({n + 2}, dtype, "A")
          local P = nw.compute({n + 2}, function(i) return A(i) + A(i) end, "P")
          local Q = nw.compute({n}, function(i) return P(i) + P(i + 2) end, "Q")
          local s = nw.schedule(Q)
          t.accepted(s.set_dtype, s, P, kept)
          s:compute_at(P, s[Q]:loops()[1])
          local copy = s:cache_read(P, "local")
          if kept ~= "i64" and kept ~= "u64" then t.accepted(s.set_dtype, s, copy, kept == "f64" and "f32" or "f64") end
          assert(s:reparses())
          t.agree(s, {Q}, {filled(dtype, {n + 2}, function(i) return i % 5 + 1 end)})
        end)
      end
    end
  end

  -- ---------------------------------------------------------------- cache_index

  -- Each row: a name, and a function that returns the stage C and the shapes of its inputs.
  local DIVIDED = {
    {"rows behind each other", function()
      local A = nw.placeholder({5, 7}, "i32", "A")
      return nw.compute({35}, function(p) return A(p // 7, p % 7) - 3 end, "C"), {{5, 7}}
    end},
    {"a nearest neighbour", function()
      local A = nw.placeholder({6, 5}, "i32", "A")
      return nw.compute({13, 11}, function(y, x) return A(y * 6 // 13, x * 5 // 11) end, "C"), {{6, 5}}
    end},
    {"images as a matrix", function()
      local A, W, k = nw.placeholder({6, 7, 3}, "i32", "A"), nw.placeholder({12, 2}, "i32", "W"), nw.reduce_axis(12, "k")
      return nw.compute({20, 2}, function(p, o)
        return nw.sum(A(p // 5 + k // 6, p % 5 + k // 3 % 2, k % 3) * W(k, o), k)
      end, "C"), {{6, 7, 3}, {12, 2}}
    end},
    {"a ring", function()
      local A = nw.placeholder({9}, "i32", "A")
      return nw.compute({9}, function(i) return A((i + 4) % 9) + A((i + 8) % 9) end, "C"), {{9}}
    end},
  }
  local AFTER = {
    {"nothing", function() end},
    {"i32", function(s, first) t.accepted(s.set_dtype, s, first, "i32") end},
    {"a loop", function(s, first) t.accepted(s.compute_at, s, first, s:loops("C")[1]) end},
    {"inlined", function(s, first) t.accepted(s.compute_inline, s, first) end},
    {"lanes", function(s)
      local _, lane = t.accepted(s.split, s, s:loops("C")[1], 4)
      t.accepted(s.vectorize, s, lane)
    end},
    {"pieces", function(s) t.accepted(s.cut, s, s:loops("C")[1], 4) end},
    {"a local copy", function(s, first) t.accepted(s.cache_read, s, first, "local", {"C"}, {at = s:loops("C")[1]}) end},
  }
  for _, one in ipairs(DIVIDED) do
    for _, after in ipairs(AFTER) do
      for _, scope in ipairs {"global", "local"} do
        case(("cache_index of %s, then %s, %s"):format(one[1], after[1], scope), function()
          local C, shapes = one[2]()
          local s, arguments = nw.schedule(C), {}
          for n, shape in ipairs(shapes) do arguments[n] = filled("i32", shape) end
          local first = t.accepted(s.cache_index, s, C, {scope = scope})
          after[2](s, first)
          t.agree(s, {C}, arguments)
        end)
      end
    end
  end

  -- ---------------------------------------------------------------- reindex

  -- Each row: a name, a function that returns the stage C and the shapes of its inputs, and the dimensions of the copy of A.
  local REINDEXED = {
    {"a window", function()
      local A, W, r = nw.placeholder({12}, "i32", "A"), nw.placeholder({3}, "i32", "W"), nw.reduce_axis(3, "r")
      return nw.compute({10}, function(i) return nw.sum(A(i + r) * W(r), r) end, "C"), {{12}, {3}}
    end, "10, 3"},
    {"a convolution", function()
      local A, W = nw.placeholder({7, 9, 3}, "i32", "A"), nw.placeholder({3, 2, 3, 4}, "i32", "W")
      local r, q, c = nw.reduce_axis(3, "r"), nw.reduce_axis(2, "q"), nw.reduce_axis(3, "c")
      return nw.compute({5, 8, 4}, function(y, x, o) return nw.sum(A(y + r, x + q, c) * W(r, q, c, o), {r, q, c}) end, "C"),
        {{7, 9, 3}, {3, 2, 3, 4}}
    end, "5, 8, 3, 2, 3"},
    {"a convolution with strides and gaps", function()
      local A, W = nw.placeholder({13, 9}, "i32", "A"), nw.placeholder({3, 3, 4}, "i32", "W")
      local r, q = nw.reduce_axis(3, "r"), nw.reduce_axis(3, "q")
      return nw.compute({5, 5, 4}, function(y, x, o) return nw.sum(A(y * 2 + r * 2, x + q * 2) * W(r, q, o), {r, q}) end, "C"),
        {{13, 9}, {3, 3, 4}}
    end, "5, 5, 3, 3"},
    {"a transposed product", function()
      local A, W, k = nw.placeholder({6, 5}, "i32", "A"), nw.placeholder({6, 7}, "i32", "W"), nw.reduce_axis(6, "k")
      return nw.compute({5, 7}, function(i, j) return nw.sum(A(k, i) * W(k, j), k) end, "C"), {{6, 5}, {6, 7}}
    end, "5, 6"},
    {"a diagonal", function()
      local A, W = nw.placeholder({6, 6}, "i32", "A"), nw.placeholder({6, 4}, "i32", "W")
      return nw.compute({6, 4}, function(i, j) return A(i, 5 - i) + W(i, j) end, "C"), {{6, 6}, {6, 4}}
    end, "6"},
    {"digits of an index", function()
      local A, W = nw.placeholder({3, 4}, "i32", "A"), nw.placeholder({12, 2}, "i32", "W")
      return nw.compute({12, 2}, function(i, j) return A(i // 4, i % 4) - W(i, j) end, "C"), {{3, 4}, {12, 2}}
    end, "12"},
    {"a border of zeros", function()
      local A, W, r = nw.placeholder({8}, "i32", "A"), nw.placeholder({3}, "i32", "W"), nw.reduce_axis(3, "r")
      return nw.compute({8}, function(i)
        local at = i + r - 1
        return nw.sum(nw.select(nw.all(nw.ge(at, 0), nw.lt(at, 8)), A(at), 0) * W(r), r)
      end, "C"), {{8}, {3}}
    end, "8, 3"},
    {"a clamped border", function()
      local A, W, r = nw.placeholder({8}, "i32", "A"), nw.placeholder({3}, "i32", "W"), nw.reduce_axis(3, "r")
      return nw.compute({8}, function(i) return nw.sum(A(nw.clamp(i + r - 1, 0, 7)) * W(r), r) end, "C"), {{8}, {3}}
    end, "8, 3"},
  }
  -- Each row: a name and the steps after or around the step reindex, which `copy` makes.
  local AROUND = {
    {"alone", function(_, copy) copy() end},
    {"also of the other input", function(s, copy) copy() t.accepted(s.reindex, s, "C", "W") end},
    {"after a split with a guard", function(s, copy) s:split(s:loops "C"[1], 3) copy() end},
    {"inside a loop", function(s, copy)
      s:split(s:loops "C"[1], 3)
      copy {at = s:loops "C"[1].name, scope = "local"}
    end},
    {"moved into the innermost loop", function(s, copy)
      copy()
      local theirs = s:loops "C"
      t.accepted(s.compute_at, s, "A_reindex", theirs[#theirs])
    end},
    {"inlined again", function(s, copy)
      copy()
      t.accepted(s.compute_inline, s, "A_reindex")
      t.same(s:text():find("A_reindex", 1, true), nil)
    end},
    {"with reversed dimensions in memory", function(s, copy)
      copy()
      local n = #s:loops "A_reindex"
      local dims = {}
      for d = 1, n do dims[d] = n - d end
      if n > 1 then t.accepted(s.reorder_storage, s, "A_reindex", dims) end
    end},
    {"of a cached input", function(s, copy)
      copy()
      t.accepted(s.cache_read, s, "A", "local")
      t.accepted(s.reindex, s, "A_reindex", "A_local")
    end},
    {"with a parallel nest and lanes", function(s, copy)
      copy()
      local theirs = s:loops "A_reindex"
      t.accepted(s.vectorize, s, theirs[#theirs])
      if #theirs > 1 then t.accepted(s.parallel, s, theirs[1]) end
    end},
    {"fused and split", function(s, copy)
      copy()
      local theirs = s:loops "A_reindex"
      local all = theirs[1]
      if #theirs > 1 then all = t.accepted(s.fuse, s, all, theirs[2]) end
      t.accepted(s.split, s, all, 4, {tail = "cut"})
    end},
  }
  for _, row in ipairs(REINDEXED) do
    local name, make, dims = table.unpack(row)
    for _, around in ipairs(AROUND) do
      case(("reindex of %s, %s"):format(name, around[1]), function()
        local C, shapes = make()
        local s = nw.schedule(C)
        around[2](s, function(options)
          t.accepted(s.reindex, s, "C", "A", options)
          t.same(s:text():match "temp A_reindex: i32%[([^%]]*)%]", dims)
        end)
        assert(s:reparses())
        t.agree(s, {C}, {filled("i32", shapes[1]), filled("i32", shapes[2])})
      end)
    end
  end

  -- ---------------------------------------------------------------- hoist_storage

  -- Each row: a name and the steps between compute_at and hoist_storage. Each function returns the loop in which X is computed, and
  -- the loop to which its storage moves (nil: outside of all loops).
  local HOISTED = {
    {"out of one loop", function(s, Y) return s[Y]:loops()[1] end},
    {"out of two loops", function(s, Y) return s[Y]:loops()[2] end},
    {"out of the inner of two loops", function(s, Y) return s[Y]:loops()[2], s[Y]:loops()[1] end},
    {"out of a strip", function(s, Y) local o, i = s:split(s[Y]:loops()[1], 4) return i, o end},
    {"out of strips", function(s, Y) return s:split(s[Y]:loops()[1], 4), nil end},
    {"out of tiles", function(s, Y) local _, o = s:tile(s[Y]:loops()[1], s[Y]:loops()[2], 3, 4) return o end},
    {"out of the rows of tiles", function(s, Y)
      local o, inner = s:tile(s[Y]:loops()[1], s[Y]:loops()[2], 3, 4)
      return inner, o
    end},
    {"out of a reversed loop", function(s, Y) s:reverse(s[Y]:loops()[1]) return s[Y]:loops()[1] end},
    {"out of a fused loop", function(s, Y) return (s:fuse(s[Y]:loops()[1], s[Y]:loops()[2])) end},
  }
  for _, shape in ipairs {{12, 8}, {7, 5}, {1, 1}, {9, 13}} do
    for _, row in ipairs(HOISTED) do
      case(("storage %s, %dx%d"):format(row[1], shape[1], shape[2]), function()
        local M, N = shape[1], shape[2]
        local A = nw.placeholder({M + 2, N + 1}, "i32", "A")
        local X = nw.compute({M + 2, N + 1}, function(p, q) return A(p, q) * 3 end, "X")
        local Y = nw.compute({M, N}, function(y, x) return X(y, x) + X(y + 1, x) * 2 + X(y + 2, x + 1) end, "Y")
        local s = nw.schedule(Y)
        local at, to = row[2](s, Y)
        s:compute_at(X, at)
        t.accepted(s.hoist_storage, s, X, to)
        assert(s:reparses())
        t.agree(s, {Y}, {filled("i32", {M + 2, N + 1})})
      end)
    end
  end

  -- ---------------------------------------------------------------- rewrite

  -- Each row: a body of two operands, the form that it has, and an equal form.
  local PROVED = {
    {"a common factor", function(a, b) return a * b + a * 3 end, "x*y + 3*x", "x*(y + 3)"},
    {"a difference of squares", function(a, b) return (a + b) * (a - b) end, "(x + y)*(x - y)", "x*x - y*y"},
    {"the square of a sum", function(a, b) return (a + b) * (a + b) end, "(x + y)*(x + y)", "x*x + 2*x*y + y*y"},
    {"a product of complex numbers", function(a, b) return a * (b + 1) - b * (a + 2) end, "x*(y + 1) - y*(x + 2)", "x - 2*y"},
    {"Horner's rule", function(a, b) return a * a * a + b * a * a + a end, "x*x*x + y*x*x + x", "x*(x*(x + y) + 1)"},
    {"a factor moved out of a select", function(a, b) return nw.select(nw.lt(a, b), a * b + a * 2, b) end, "x*y + 2*x",
      "x*(y + 2)"},
  }
  local SPLITS = {{"as it is"}, {"split", function(s) s:split("i", 4) end},
    {"in pieces", function(s) s:split("i", {factor = 4, tail = "cut"}) end},
    {"vectorized", function(s) s:split("i", {factor = 4, tail = "cut"}) s:vectorize "i_i" end}}
  for _, dtype in ipairs {"i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"} do
    for _, row in ipairs(PROVED) do
      for _, how in ipairs(SPLITS) do
        case(("rewrite %s, %s, %s"):format(row[1], dtype, how[1]), function()
          local n = 13
          local A, B = nw.placeholder({n}, dtype, "A"), nw.placeholder({n}, dtype, "B")
          local C = nw.compute({n}, function(i) return row[2](A(i), B(i)) end, "C")
          local s = nw.schedule(C)
          if how[2] then how[2](s) end
          t.accepted(s.rewrite, s, C, row[3], row[4])
          assert(not s:text():find "unproved", "it was not proved")
          t.agree(s, {C}, {filled(dtype, {n}, function(i) return i * 9 % 128 end), filled(dtype, {n})})
        end)
      end
    end
  end

  -- Equal forms of floats that are tested. Their values are exact for the data of these cases.
  local TESTED = {
    {"a quotient as a product", function(a) return a / 4 end, "x/4", "x*0.25"},
    {"a common factor", function(a, b) return a * b + a * 3 end, "x*y + x*3", "x*(y + 3)"},
    {"a difference of squares", function(a, b) return (a + b) * (a - b) end, "(x + y)*(x - y)", "x*x - y*y",
      function(i) return i % 5 + 3 end}, -- no result is 0, which would be -0 in the definition
    {"a maximum as a select", function(a, b) return nw.max(a, b) end, "max(x, y)", "select(x < y, y, x)"},
    {"an absolute value", function(a) return nw.abs(a) end, "abs(x)", "max(x, -x)"},
    {"a root under its condition", function(a, b) return nw.select(nw.le(0, a), nw.sqrt(a * a), b) end, "sqrt(x*x)", "x"},
  }
  for _, dtype in ipairs {"f16", "bf16", "f32", "f64"} do
    for _, row in ipairs(TESTED) do
      for _, how in ipairs(SPLITS) do
        case(("rewrite %s, %s, %s"):format(row[1], dtype, how[1]), function()
          local n = 13
          local A, B = nw.placeholder({n}, dtype, "A"), nw.placeholder({n}, dtype, "B")
          local C = nw.compute({n}, function(i) return row[2](A(i), B(i)) end, "C")
          local s = nw.schedule(C)
          if how[2] then how[2](s) end
          t.accepted(s.rewrite, s, C, row[3], row[4])
          assert(s:text():find "\nunproved 1 on ", "it has no mark")
          assert(s:reparses())
          t.accepted(s.check, s)
          t.agree(s, {C}, {filled(dtype, {n}, row[5] or function(i) return i % 5 - 2 end),
            filled(dtype, {n}, function(i) return i % 3 end)})
        end)
      end
    end
  end

  for _, shape in ipairs {{4, 5, 6}, {1, 1, 1}, {9, 7, 3}} do
    case(("a complex product with three products instead of four, %dx%dx%d"):format(table.unpack(shape)), function()
      local M, N, K = table.unpack(shape)
      local function matrix(name, rows, columns) return nw.placeholder({rows, columns}, "i32", name) end
      local P, Q, R, S = matrix("P", M, K), matrix("Q", M, K), matrix("R", K, N), matrix("S", K, N)
      local k = nw.reduce_axis(K, "k")
      local C = nw.compute({M, N}, function(i, j) return nw.sum(P(i, k) * S(k, j) + Q(i, k) * R(k, j), k) end, "C")
      local s = nw.schedule(C)
      t.accepted(s.rewrite, s, C, "P[i, k]*S[k, j] + Q[i, k]*R[k, j]",
        "(P[i, k] + Q[i, k])*(R[k, j] + S[k, j]) - P[i, k]*R[k, j] - Q[i, k]*S[k, j]")
      assert(not s:text():find "unproved", "it was not proved")
      s:tile("i", "j", 2, 2)
      t.agree(s, {C}, {filled("i32", {M, K}), filled("i32", {M, K}), filled("i32", {K, N}), filled("i32", {K, N})})
    end)
  end
end
