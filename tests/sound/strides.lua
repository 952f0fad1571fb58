--- Class A13: arguments with strides that the caller chooses. Each array is a view with gaps. In one of the runs, its last element
--- is next to an inaccessible page. The elements in the gaps must not change.
local nw = require "nestwright"
local core = require "nestwright.core"
local ctext = require "ctext"

local GAP = 77

--- Returns an array of small numbers with these strides.
local function with_gaps(shape, dtype, strides)
  local array, seed = core.array_strided(shape, dtype, strides), 17
  for i = 1, array:count() do
    seed = (seed * 31 + i) % 1009
    array:setflat(i, seed % 7 - (dtype:find "^u" and 0 or 3))
  end
  return array
end

--- Returns the matrix product C = A*B, where each tensor has the strides given, or none.
local function product(M, N, K, dtype, a, b, c)
  local A, B = nw.placeholder({M, K}, dtype, {name = "A", strides = a}), nw.placeholder({K, N}, dtype, {name = "B", strides = b})
  local k = nw.reduce_axis(K, "k")
  local C = nw.compute({M, N}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, {name = "C", strides = c})
  return nw.schedule(C), C
end

local function tiled(s)
  s:tile("i", "j", 4, 8)
  s:reorder("k", "i_i", "j_i")
  s:unroll "i_i"
  s:vectorize "j_i"
end

local SCHEDULES = {
  {"naive", function() end},
  {"tiled", function(s) pcall(tiled, s) end},
  {"copied", function(s)
    s:split("j", 4)
    s:cache_read("B", "global", {"C"})
    s:cache_write("C", "local", {at = "j_o"})
  end},
  {"in lanes with a mask", function(s)
    s:split("j", 8, {tail = "predicate"})
    s:reorder("k", "j_i")
  end},
  {"in parallel", function(s)
    s:split("i", 2)
    s:parallel "i_o"
  end},
  {"prefetched", function(s) s:prefetch("B", "k", 2) end},
}

return function(case, t)
  for _, dtype in ipairs {"f32", "i32", "f64", "u8"} do
    for _, one in ipairs(SCHEDULES) do
      case("A13", ("rows with gaps, %s, %s"):format(one[1], dtype), function()
        local s, C = product(7, 13, 5, dtype, {11, 1}, {17, 1}, {19, 1})
        one[2](s)
        t.agree(s, {C}, {with_gaps({7, 5}, dtype, {11, 1}), with_gaps({5, 13}, dtype, {17, 1})}, {threads = 2})
      end)
      case("A13", ("columns and steps, %s, %s"):format(one[1], dtype), function()
        local s, C = product(7, 13, 5, dtype, {1, 7}, {30, 2}, {3, 24})
        one[2](s)
        t.agree(s, {C}, {with_gaps({7, 5}, dtype, {1, 7}), with_gaps({5, 13}, dtype, {30, 2})}, {threads = 2})
      end)
    end
  end
  for _, one in ipairs(SCHEDULES) do
    case("A13", "leading dimensions as sizes, " .. one[1], function()
      local M, N, K, lda, ldb = nw.size "M", nw.size "N", nw.size "K", nw.size "lda", nw.size "ldb"
      local s, C = product(M, N, K, "f32", {lda, 1}, {ldb, 1}, {ldb + 1, 1})
      one[2](s)
      for _, n in ipairs {{7, 13, 5, 11, 17}, {1, 1, 1, 1, 1}, {4, 8, 3, 3, 8}, {5, 17, 1, 9, 40}} do
        t.agree(s, {C}, {with_gaps({n[1], n[3]}, "f32", {n[4], 1}), with_gaps({n[3], n[2]}, "f32", {n[5], 1})})
      end
      t.same(s:reparses(), true)
    end)
  end
  case("A13", "a batch with a stride of its own", function()
    local B, M, N, bs, lda = nw.size "B", nw.size("M", {min = 0}), nw.size "N", nw.size "bs", nw.size "lda"
    local A = nw.placeholder({B, M, N}, "f32", {name = "A", strides = {bs, lda, 1}})
    local C = nw.compute({B, M}, function(b, i)
      local k = nw.reduce_axis(N, "k")
      return nw.sum(A(b, i, k), k)
    end, "C")
    local s = nw.schedule(C)
    s:parallel "b"
    for _, n in ipairs {{3, 4, 5, 100, 7}, {2, 1, 1, 1, 1}, {2, 0, 3, 50, 4}, {1, 4, 4, 16, 4}} do
      t.agree(s, {C}, {with_gaps({n[1], n[2], n[3]}, "f32", {n[4], n[5], 1})})
    end
  end)
  case("A13", "views of one buffer are not mixed up", function()
    local A = nw.placeholder({6, 5}, "i32", {name = "A", strides = {20, 2}})
    local C = nw.compute({6, 5}, function(i, j) return A(i, j) * 3 + 1 end, {name = "C", strides = {20, 2}})
    local s = nw.schedule(C)
    s:vectorize(select(2, s:split("j", 4)))
    local f = s:build {threads = 1}
    local whole = nw.zeros({6, 20}, "i32"):fill_random(1, 0, 99)
    local before = whole:copy()
    local from, to = whole:slice({}, {0, 10, 2}), whole:slice({}, {1, 10, 2})
    f(from, to)
    for i = 0, 5 do
      for j = 0, 19 do
        local written = j < 10 and j % 2 == 1
        t.same(whole:get(i, j), written and before:get(i, j - 1) * 3 + 1 or before:get(i, j), ("[%d, %d]"):format(i, j))
      end
    end
    t.refused("output C overlaps A", f, from, from)
    t.refused("output C overlaps A", f, from, whole:slice({}, {2, 12, 2}))
  end)
  for _, one in ipairs(SCHEDULES) do
    case("A13", "gaps of outputs keep their values, " .. one[1], function()
      local s = product(7, 13, 5, "i32", {11, 1}, nil, {19, 1})
      one[2](s)
      local all = nw.full({8, 19}, GAP, "i32")
      local c = all:slice({0, 7}, {0, 13})
      local a, b = with_gaps({7, 5}, "i32", {11, 1}), nw.full({5, 13}, 2, "i32")
      for _, run in ipairs {s:build {threads = 2}, function(...) nw.interpret(s, {...}) end,
        function(...) nw.interpret(s, {...}, {lowered = true}) end} do
        all:fill(GAP)
        run(a, b, c)
        for i = 0, 7 do
          for j = 0, 18 do
            local sum = GAP
            if i < 7 and j < 13 then
              sum = 0
              for k = 0, 4 do sum = sum + 2 * a:get(i, k) end
            end
            t.same(all:get(i, j), sum, ("[%d, %d]"):format(i, j))
          end
        end
      end
    end)
  end
  case("A13", "strides, in C", function()
    local M, N, K, lda, ldc = nw.size "M", nw.size "N", nw.size "K", nw.size "lda", nw.size "ldc"
    for _, one in ipairs(SCHEDULES) do
      local s = product(M, N, K, "i32", {lda, 1}, {1, K}, {ldc, 2})
      one[2](s)
      local function arguments(values)
        local list = {}
        for i, name in ipairs(core.program_sizes(s)) do list[i] = values[name] end
        return table.concat(list, ", ")
      end
      local given = arguments {M = 3, N = 4, K = 2, lda = 5, ldc = 9}
      t.same(ctext.printed(s, [[
  int32_t *a = malloc(12 * 4), b[8] = {1, 2, 3, 4, 5, 6, 7, 8}, *c = malloc(25 * 4);
  for (int i = 0; i < 12; i++) a[i] = i;
  for (int i = 0; i < 25; i++) c[i] = -1;
  printf("%d", C_kernel(]] .. given .. [[, a, b, c));
  for (int i = 0; i < 25; i++) printf(" %d", (int)c[i]);
  printf(" %d", C_kernel(]] .. arguments {M = 3, N = 4, K = 2, lda = 1, ldc = 9} .. [[, a, b, c));
  printf(" %d", C_kernel(]] .. arguments {M = 3, N = 4, K = 2, lda = 5, ldc = 6} .. [[, a, b, c));
  printf(" %d", C_kernel(]] .. arguments {M = 1 << 30, N = 4, K = 2, lda = 1 << 39, ldc = 7} .. [[, a, b, c));
  free(a), free(c);
  return 0;]], "-fopenmp"), "0 2 -1 4 -1 6 -1 8 -1 -1 17 -1 39 -1 61 -1 83 -1 -1 32 -1 74 -1 116 -1 158 2 2 3")
    end
  end)
end
