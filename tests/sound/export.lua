--- Classes A12 and A13: exported programs. C texts are compiled with sanitizers and run. If a library cannot run a call, its return
--- code must say so.
local nw = require "nestwright"

local ctext = require "ctext"
local printed, called = ctext.printed, ctext.called

--- Returns a schedule with three input vectors, an output, and a temporary whose size is a product of sizes.
local function product_of_sizes(dtype)
  local M, N, K = nw.size "M", nw.size "N", nw.size "K"
  local A, B, D = nw.placeholder({M}, dtype, "A"), nw.placeholder({N}, dtype, "B"), nw.placeholder({K}, dtype, "D")
  local T = nw.compute({M, N, K}, function(i, j, k) return A(i) + B(j) + D(k) end, "T")
  return nw.schedule(nw.compute({1}, function(i) return T(i, 0, 0) end, "C"))
end

local function streamed(n, lanes)
  n = n or 1024
  local A = nw.placeholder({n}, "f32", "A")
  local s = nw.schedule(nw.compute({n}, function(i) return A(i) * 2 end, "C"))
  s:vectorize(select(2, s:split("i", lanes or 16)))
  s:stream_stores "C"
  return s
end

return function(case, t)
  for _, dtype in ipairs {"i32", "i64", "u8"} do
    case("A12", "a select as the bound of a loop" .. (dtype == "i32" and "" or ", " .. dtype), function()
      local M = nw.size "M"
      local A = nw.placeholder({M}, dtype, "A")
      local k = nw.reduce_axis(nw.select(nw.lt(M, 4), M, 4), "k")
      local C = nw.compute({M}, function(i) return nw.sum(A(k) + nw.cast(i, dtype), k) end, "C")
      local s = nw.schedule(C)
      local ctype = ({i32 = "int32_t", i64 = "int64_t", u8 = "uint8_t"})[dtype]
      t.same(printed(s, ctype .. [[ a[6] = {1, 2, 3, 4, 5, 6}, c[6];
        int r = C_kernel(6, a, c);
        printf("%d", r);
        for (int i = 0; i < 6; i++) printf(" %d", (int)c[i]);
        return 0;]]), "0 10 14 18 22 26 30")
    end)
  end
  case("A12", "nested conditions", function()
    local A = nw.placeholder({8}, "i32", "A")
    local C = nw.compute({8}, function(i)
      local x = A(i)
      return nw.select(nw.any(nw.all(nw.lt(x, 2), nw.gt(x, -2)), nw.not_(nw.all(nw.lt(x, 5), nw.ne(x, 3)))),
        nw.select(nw.lt(x, 0), -x, x) - (x - 1 - (2 - x)), (x + 1) * 2 % 5 - x // 2 * 2)
    end, "C")
    local s, a = nw.schedule(C), nw.zeros({8}, "i32")
    for i = 0, 7 do a:set(i, i - 3) end
    local want = t.agree(s, {C}, {a})[1]
    t.same(printed(s, [[int32_t a[8], c[8];
      for (int i = 0; i < 8; i++) a[i] = i - 3;
      C_kernel(a, c);
      for (int i = 0; i < 8; i++) printf("%d ", (int)c[i]);
      return 0;]]), table.concat(want, " ") .. " ")
  end)
  for _, dtype in ipairs {"i8", "i16", "i32", "i64"} do
    case("A12", "arithmetic at the ends of " .. dtype, function()
      local bits = tonumber(dtype:match "%d+")
      local most = math.maxinteger >> (64 - bits)
      local values = {most, -most - 1, most - 1, -most, -1, 0, 1, 2}
      local A = nw.placeholder({8}, dtype, "A")
      local C = nw.compute({8}, function(i)
        local x = A(i)
        return nw.abs(x) + x * x - (-x) + x // 2 * 3 - x % 7 + nw.min(x + 1, x - 1) + x // -1
      end, "C")
      local s = nw.schedule(C)
      local want = t.agree(s, {C}, {nw.tensor(values, dtype)})[1]
      local text = {}
      for i, v in ipairs(values) do text[i] = v == math.mininteger and "INT64_MIN" or ("INT64_C(%d)"):format(v) end
      t.same(printed(s, ([[int%d_t a[8] = {%s}, c[8];
        C_kernel(a, c);
        for (int i = 0; i < 8; i++) printf("%%lld ", (long long)c[i]);
        return 0;]]):format(bits, table.concat(text, ", "))), table.concat(want, " ") .. " ")
    end)
  end
  case("A12", "NaN and infinities cast to integers", function()
    local A = nw.placeholder({6}, "f64", "A")
    local C = nw.compute({6}, function(i) return nw.cast(A(i), "i32") + nw.cast(nw.cast(A(i) * -1, "u8"), "i32") end, "C")
    local s = nw.schedule(C)
    local want = t.agree(s, {C}, {nw.tensor({1 / 0, -1 / 0, 0 / 0, 1e300, -300.5, 7.9}, "f64")})[1]
    t.same(printed(s, [[double a[6] = {INFINITY, -INFINITY, NAN, 1e300, -300.5, 7.9};
      int32_t c[6];
      C_kernel(a, c);
      for (int i = 0; i < 6; i++) printf("%d ", (int)c[i]);
      return 0;]]), table.concat(want, " ") .. " ")
  end)
  case("A12", "a buffer that is shared in one piece and private in another", function()
    local A = nw.placeholder({16, 16}, "f32", "A")
    local T = nw.compute({16, 16}, function(i, j) return A(i, j) + 1 end, "T")
    local C = nw.compute({16, 16}, function(i, j) return T(i, 15 - j) end, "C")
    local s = nw.schedule(C)
    s:compute_at("T", "i_1")
    s:cut("i_1", 8)
    s:parallel "i_1.head/j_1"
    s:parallel "i_1.rest"
    t.same(printed(s, [[static float a[256], c[256];
      for (int i = 0; i < 256; i++) a[i] = (float)i;
      int bad = C_kernel(a, c);
      for (int i = 0; i < 256; i++) bad += c[i] != a[i / 16 * 16 + 15 - i % 16] + 1;
      printf("%d", bad);
      return 0;]]), "0")
  end)

  for _, dtype in ipairs {"f64", "i32", "u8"} do
    case("A13", "a temporary larger than memory, in the session" .. (dtype == "f64" and "" or ", " .. dtype), function()
      local s, big = product_of_sizes(dtype), 1 << (dtype == "u8" and 22 or 21)
      local a = nw.zeros({big}, dtype)
      t.refused("does not fit in memory", s:build(), a, a, a)
      t.refused("too large", nw.interpret, s, {a, a, a}, {lowered = true, steps = 10})
    end)
    case("A13", "a temporary larger than memory, in C" .. (dtype == "f64" and "" or ", " .. dtype), function()
      local ctype = ({f64 = "double", i32 = "int32_t", u8 = "uint8_t"})[dtype]
      local main = ctype .. [[ a[1] = {1}, c[1];
        int64_t n = INT64_C(1) << 22, m = INT64_C(1) << 62;
        printf("%d %d %d", C_kernel(n, n, n, a, a, a, c), C_kernel(1, 1, 1, a, a, a, c), C_kernel(m, m, 1, a, a, a, c));
        return 0;]]
      t.same(printed(product_of_sizes(dtype), main), "3 0 3")
      t.same(called(product_of_sizes(dtype), {threads = 1}, main), "3 0 3")
    end)
  end
  -- The next cases have sizes beyond their limit, facts about products of sizes, and products of sizes that are not the extent of
  -- any tensor.
  local function summed(dtype, fact)
    local M, N = nw.size "M", nw.size "N"
    if fact then nw.fact(M, nw.le(M * N, 100)) end
    local A, B = nw.placeholder({M}, dtype, "A"), nw.placeholder({N}, dtype, "B")
    local k, l = nw.reduce_axis(M, "k"), nw.reduce_axis(N, "l")
    local s = nw.schedule(nw.compute({1}, function(_) return nw.sum(A(k) * B(l), {k, l}) end, "C"))
    return s
  end
  case("A13", "a size of 2^40, in C", function()
    local main = [[double a[4] = {1, 2, 3, 4}, c[1];
      int64_t most = (INT64_C(1) << 40);
      printf("%d %d %d %d %d", C_kernel(2, 2, a, a, c), C_kernel(most, 2, a, a, c), C_kernel(2, INT64_MAX, a, a, c),
        C_kernel(INT64_MIN, 2, a, a, c), C_kernel(-1, 2, a, a, c));
      return 0;]]
    t.same(printed(summed "f64", main), "0 3 3 2 2")
    t.same(called(summed "f64", {threads = 1}, main), "0 3 3 2 2")
  end)
  case("A13", "a size of 2^40, in the session", function()
    local M, N = nw.size "M", nw.size("N", 0)
    local A = nw.placeholder({M, N}, "u8", "A")
    local s = nw.schedule(nw.compute({M, N}, function(i, j) return A(i, j) + 1 end, "C"))
    t.refused("M is 1099511627776; it must be less than 2^40", s:build(), nw.zeros({1 << 40, 0}, "u8"))
    t.same(s:build()(nw.zeros({1 << 10, 0}, "u8")):count(), 0)
  end)
  case("A13", "a fact whose product wraps, in C", function()
    local main = [[double a[4] = {1, 2, 3, 4}, c[1];
      int64_t n = INT64_C(1) << 32, m = (INT64_C(1) << 39) + 1;
      printf("%d %d %d %d", C_kernel(4, 4, a, a, c), C_kernel(4, 26, a, a, c), C_kernel(n, n, a, a, c), C_kernel(m, m, a, a, c));
      return 0;]]
    t.same(printed(summed("f64", true), main), "0 2 3 3")
    t.same(called(summed("f64", true), {threads = 1}, main), "0 2 3 3")
  end)
  case("A13", "a product of sizes that occurs only in a loop, in C", function()
    local main = [[double a[4] = {1, 2, 3, 4}, c[1];
      int64_t n = INT64_C(1) << 32;
      printf("%d %d", C_kernel(4, 4, a, a, c), C_kernel(n, n, a, a, c));
      return 0;]]
    local function fused()
      local s = summed "f64"
      s:fuse("k", "l")
      return s
    end
    t.same(printed(fused(), main), "0 3")
    t.same(called(fused(), {threads = 1}, main), "0 3")
  end)
  case("A13", "a temporary of constant size for each thread, in C", function()
    local A = nw.placeholder({4}, "f64", "A")
    local T = nw.compute({4, 1 << 57}, function(i, _) return A(i) end, "T")
    local k = nw.reduce_axis(1 << 57, "k")
    local s = nw.schedule(nw.compute({4}, function(i) return nw.sum(T(i, k), k) end, "C"))
    s:compute_at("T", "i_1")
    s:parallel "i_1"
    local main = [[double a[4] = {1, 2, 3, 4}, c[4];
      setenv("OMP_NUM_THREADS", "16", 1);
      printf("%d", C_kernel(a, c));
      return 0;]]
    t.same(printed(s, "omp_set_num_threads(16);\n" .. main, "-fopenmp"), "3")
    t.refused("does not fit in memory", s:build {threads = 16}, nw.zeros({4}, "f64"))
  end)
  case("A13", "streaming stores to unaligned arrays, in the session", function()
    local s = streamed(1020, 4)
    local call = function() return s:build {threads = 1}(nw.zeros({1020}, "f32")) end
    t.fenced("after", 0, function() t.refused("C is written by streaming stores: it must be aligned to 64 bytes", call) end)
    t.fenced("after", 64, call)
    t.fenced("before", 0, call)
  end)
  case("A13", "a temporary that malloc cannot allocate", function()
    local main = [[double a[1] = {1}, c[1];
      printf("%d", C_kernel(1 << 20, 1 << 20, 1 << 10, a, a, a, c));
      return 0;]]
    t.same(called(product_of_sizes "f64", {threads = 1}, main), "1")
  end)
  case("A13", "a tensor that is NULL", function()
    local M = nw.size "M"
    local A, B = nw.placeholder({M}, "f32", "A"), nw.placeholder({4}, "f32", "B")
    local main = [[float a[4] = {1, 2, 3, 4}, c[4];
      printf("%d %d %d %d %d", C_kernel(4, a, a, c), C_kernel(4, 0, a, c), C_kernel(4, a, 0, c), C_kernel(4, a, a, 0),
        C_kernel(0, a, a, c));
      return 0;]]
    local function add() return nw.schedule(nw.compute({M}, function(i) return A(i) + B(nw.min(i, 3)) end, "C")) end
    t.same(printed(add(), main), "0 4 4 4 2")
    t.same(called(add(), {threads = 1}, main), "0 4 4 4 2")
  end)
  case("A13", "streaming stores to unaligned tensors, in C", function()
    t.same(called(streamed(), {threads = 1}, [[char *p = aligned_alloc(64, 8192), *q = aligned_alloc(64, 8192);
      for (int o = 0; o < 64; o += 4) printf("%d", C_kernel((const float *)(p + o), (float *)q));
      for (int o = 4; o < 64; o += 4) printf("%d", C_kernel((const float *)p, (float *)(q + o)));
      return 0;]]), ("0"):rep(16) .. ("5"):rep(15))
  end)
  case("A13", "unaligned tensors, without streaming stores", function()
    local A = nw.placeholder({1000}, "f32", "A")
    local s = nw.schedule(nw.compute({1000}, function(i) return A(i) * 2 end, "C"))
    s:vectorize(select(2, s:split("i", 16)))
    t.same(called(s, {threads = 1}, [[char *p = aligned_alloc(64, 8192), *q = aligned_alloc(64, 8192);
      for (int o = 0; o < 64; o += 4) printf("%d", C_kernel((const float *)(p + o), (float *)(q + o)));
      return 0;]]), ("0"):rep(16))
  end)
  case("A13", "tensors with the names of the function's own variables", function()
    local n, work = nw.placeholder({4}, "f32", "n"), nw.placeholder({4}, "f32", "work")
    local T = nw.compute({4}, function(i) return n(i) + work(i) end, "bad")
    local s = nw.schedule(nw.compute({4}, function(i) return T(3 - i) end, "params"))
    local main = [[float a[4] = {1, 2, 3, 4}, c[4];
      int r = params_kernel(a, a, c);
      printf("%d %g", r, c[0]);
      return 0;]]
    t.same(printed(s, main), "0 8")
    t.same(called(s, {threads = 1}, main), "0 8")
  end)
end
