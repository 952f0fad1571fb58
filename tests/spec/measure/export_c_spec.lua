--- Tests kernels that are exported as C files: their vectors, the flags in their first lines, and the name of the function.
local nw = require "nestwright"
local support = require "support"

-- Without this machine's instructions, gcc notes that the way to pass long vectors to functions in other files differs.
local STRICT = " -Wno-psabi -Wall -Wextra -Wno-unused-parameter -Werror"

describe("a kernel exported as C", function()
  local path = support.temporary()
  teardown(function() os.execute(("rm -rf %s*"):format(path)) end)

  -- A product in register tiles, with masked lanes at the right edge.
  local function tiled(tail)
    local s, C = support.product(13, 50, 29), nil
    local j_o, j_i = s:split("j", {factor = 16, tail = tail})
    s:reorder(j_o, "k", "i", j_i)
    if tail ~= "predicate" then s:vectorize(j_i) end
    s:unroll "i"
    return s, C
  end

  local function saved(s, options)
    s:build():export(path .. ".c", options)
    return support.read(path .. ".c")
  end

  -- Compiles the C file and calls the kernel with inputs that are small whole numbers, so that every order of the sums is exact.
  local function result(compiler, symbol)
    support.write(path .. ".main.c", ([[
#include <stdio.h>
int %s(const float *A, const float *B, float *C);
static float a[13 * 29], b[29 * 50 + 1], c[13 * 50 + 1];
int main(void) {
  for (int i = 0; i < 13 * 29; i++) a[i] = (float)(i %% 7 - 3);
  for (int i = 0; i < 29 * 50; i++) b[i] = (float)(i %% 5 - 2);
  c[13 * 50] = 99;
  if (%s(a, b, c)) return 1;
  int bad = c[13 * 50] != 99;
  for (int i = 0; i < 13; i++)
    for (int j = 0; j < 50; j++) {
      float sum = 0;
      for (int k = 0; k < 29; k++) sum += a[29 * i + k] * b[50 * k + j];
      bad += sum != c[50 * i + j];
    }
  printf("%%d wrong", bad);
  return 0;
}
]]):format(symbol, symbol))
    return support.run(("%s%s -o %s.exe %s.main.c %s.c -lm && %s.exe"):format(compiler, STRICT, path, path, path, path))
  end

  it("is compiled and run in both forms, by gcc and clang, with and without this machine's instructions", function()
    local compilers = {"gcc -O2", "gcc -O3 -march=native", "gcc -O1 -fsanitize=address,undefined -fno-sanitize-recover=all",
      "gcc -O2 -DNW_PLAIN -fopenmp-simd"}
    if select(2, support.run "command -v clang-16") == 0 then compilers[#compilers + 1] = "clang-16 -O3 -march=native" end
    for _, tail in ipairs {"guard", "predicate"} do
      saved(tiled(tail), {symbol = "product"})
      for _, compiler in ipairs(compilers) do
        assert.equal("0 wrong", result(compiler, "product"), tail .. ", " .. compiler)
      end
    end
  end)

  it("has vector types, plain loops for other compilers, and the flags in its first lines", function()
    local text = saved(tiled "guard")
    assert.truthy(text:match("^[^#]*"):find("Compile it with: gcc -O3 -march=native -ffp-contract=off", 1, true), text)
    for _, part in ipairs {"vector_size(", "nw_fma_f32x", "#if defined(__GNUC__) && !defined(NW_PLAIN)", "#pragma omp simd"} do
      assert.truthy(text:find(part, 1, true), part)
    end
    local plain = saved(support.product(4, 4, 4))
    assert.falsy(plain:find("vector_size", 1, true))
  end)

  it("has a function with the given name, also in a library", function()
    assert.truthy(saved(tiled "guard", {symbol = "my_product"}):find("\nint my_product(", 1, true))
    assert.truthy(saved(tiled "guard"):find("\nint C_kernel(", 1, true))
    assert.truthy(saved(tiled "guard", {symbol = "A"}):find("\nint A(const float *restrict A_1", 1, true))
    tiled("guard"):build():export(path .. ".so", {symbol = "my_product"})
    assert.truthy(support.read(path .. ".h"):find("int my_product(", 1, true))
    local names = support.run(("nm -D --defined-only %s.so"):format(path))
    assert.truthy(names:find("my_product", 1, true), names)
  end)

  it("keeps the name when it has several versions", function()
    local M = nw.size "M"
    local A = nw.placeholder({M}, "f32", "A")
    local s = nw.schedule(nw.compute({M}, function(i) return A(i) * 2 end, "C"))
    local other = s:version()
    s:assume "M % 16 == 0"
    local _, lane = s:split("i", 16)
    s:vectorize(lane)
    s:build {versions = {s:version(), other}}:export(path .. ".c", {symbol = "twice"})
    support.write(path .. ".main.c", [[
#include <stdint.h>
#include <stdio.h>
int twice(int64_t M, const float *A, float *C);
int main(void) {
  float a[48], c[48];
  int bad = 0;
  for (int m = 0; m < 48; m++) {
    for (int i = 0; i < 48; i++) a[i] = (float)i, c[i] = -1;
    if (m > 0) bad += twice(m, a, c) != 0;
    for (int i = 0; i < 48; i++) bad += c[i] != (m > 0 && i < m ? 2 * a[i] : -1);
  }
  printf("%d wrong", bad);
  return 0;
}
]])
    local said = support.run(("gcc -O2%s -o %s.exe %s.main.c %s.c -lm && %s.exe"):format(STRICT, path, path, path, path))
    assert.equal("0 wrong", said)
  end)

  it("needs a name that C accepts, and a known option", function()
    local f = tiled("guard"):build()
    for _, name in ipairs {"for", "2x", "a b", "", "nw_x", "expf", "_x", "size_t"} do
      support.fails("cannot be the name of a C function", "invalid", function() f:export(path .. ".c", {symbol = name}) end)
    end
    support.fails("symbol", nil, function() f:export(path .. ".c", {symbol = 3}) end)
    support.fails("name", nil, function() f:export(path .. ".c", {name = "x"}) end)
    support.fails("cannot write", "io", function() f:export "/nowhere/at/all/k.c" end)
    support.fails("names no kind of file that can be written", "invalid", function() f:export "kernel.dll" end)
  end)

  it("computes conversions, selects, minima and math functions in vectors", function()
    local A, I = nw.placeholder({40}, "f32", "A"), nw.placeholder({40}, "i32", "I")
    local outputs = {
      nw.compute({40}, function(i) return nw.select(nw.gt(A(i), 0), nw.sqrt(nw.abs(A(i))), -A(i)) end, "P"),
      nw.compute({40}, function(i) return nw.cast(nw.minimum(A(i), nw.maximum(A(39 - i), 0.5)), "f16") end, "Q"),
      nw.compute({40}, function(i) return I(i) * I(i) // 3 + nw.cast(A(i), "i32") % 5 + nw.cast(nw.lt(I(i), 3), "i32") end, "R"),
      nw.compute({40}, function(i) return nw.exp(A(i)) + nw.floor(A(i)) * nw.round(A(i)) end, "S"),
      nw.compute({40}, function(i) return nw.all(nw.lt(I(i), 5), nw.not_(nw.eq(I(i), 2))) end, "T"),
    }
    local s = nw.schedule(outputs)
    for _, out in ipairs(outputs) do
      local _, lane = s:split(s:loops(out)[1], {factor = 12, tail = "predicate"})
      assert(lane)
    end
    local ctext = dofile "tests/sound/ctext.lua"
    local a, b = nw.zeros({40}, "f32"):fill_random(1, -3, 3), nw.zeros({40}, "i32"):fill_random(2, -9, 9)
    for _, optimise in ipairs {"-O1", "-O3 -march=native", "-O1 -DNW_PLAIN"} do
      local failures = ctext.check({{schedule = s, arguments = {a, b}, want = nw.interpret(s, {a, b}, {lowered = true}),
        within = 1e-6}}, {optimise = optimise})
      assert.equal(0, #failures, failures[1] and failures[1].what)
    end
  end)
end)
