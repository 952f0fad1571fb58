--- Tests exported kernels with several versions, as one C file and as a library with its header.
local nw = require "nestwright"
local support = require "support"

local K = 5
local FLAGS = "-std=c99 -O2 -fopenmp -Wall -Wextra -Werror"

local directory = support.temporary()

-- Calls the kernel for every M and N below MOST. Prints the first wrong result.
local MAIN = [[
#include <stdint.h>
#include <stdio.h>
%s
enum { K = 5, MOST = 21 };
static float A[MOST * K], B[K * MOST], C[MOST * MOST + 1];
int main(void) {
  for (int i = 0; i < MOST * K; i++) A[i] = (float)(i %% 7 - 3), B[i] = (float)(i %% 5 - 2);
  for (int64_t m = 0; m < MOST; m++)
    for (int64_t n = 0; n < MOST; n++) {
      for (int i = 0; i <= MOST * MOST; i++) C[i] = 99;
      if (C_kernel(m, n, A, B, C)) return printf("refused %%d x %%d\n", (int)m, (int)n), 1;
      for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
          float sum = 0;
          for (int k = 0; k < K; k++) sum += A[i * K + k] * B[k * n + j];
          if (C[i * n + j] != sum) return printf("%%d x %%d: C[%%d, %%d] is wrong\n", (int)m, (int)n, i, j), 1;
        }
      if (C[m * n] != 99) return printf("%%d x %%d: the kernel writes past the end of C\n", (int)m, (int)n), 1;
    }
  return C_kernel(-1, 3, A, B, C) == 2 ? 0 : 2;
}
]]

local function product()
  local M, N = nw.size("M", {min = 0}), nw.size("N", {min = 0})
  local A, B = nw.placeholder({M, K}, "f32", "A"), nw.placeholder({K, N}, "f32", "B")
  local k = nw.reduce_axis(K, "k")
  return nw.schedule(nw.compute({M, N}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C"))
end

-- Builds a kernel with one version for each list of facts. Each version has different loops. If `f` is given, f(s, n) makes further
-- steps on version n.
local function built(lists, f)
  local s, versions = product(), {}
  for n, facts in ipairs(lists) do
    s:checkout(0)
    for _, fact in ipairs(facts) do s:assume(fact) end
    s:split("i", {factor = 1 + n, tail = "cut"})
    if f then f(s, n) end
    versions[n] = s:version()
  end
  return s:build {threads = 2, versions = versions}
end

local FACTS = {{"M == 3"}, {"M < 8", "N % 3 == 1"}, {"N % 3 == 2", "M % 4 == 0"}, {"M < N"}, {}}

local function compiles_and_runs(head, files)
  support.write(directory .. "/main.c", MAIN:format(head))
  local said, status = support.run(("cc %s -I%s -o %s/all %s/main.c %s -lm && OMP_NUM_THREADS=2 %s/all"):format(FLAGS, directory,
    directory, directory, files, directory))
  assert.equal(0, status, said)
end

describe("a kernel of several versions", function()
  setup(function() os.execute("mkdir -p " .. directory) end)
  teardown(function() os.execute("rm -rf " .. directory) end)

  -- Version 2 has threads, and version 4 has a temporary.
  local function steps(s, n)
    if n == 2 then s:parallel "i_o" end
    if n == 4 then s:cache_read("B", "global") end
  end

  it("is one C function for all sizes", function()
    local text = tostring(built(FACTS, steps):show "c")
    assert.truthy(text:find("static int C_kernel_version_1(", 1, true), text)
    assert.truthy(text:find("switch (N % 3)", 1, true) or text:find("switch (floormod", 1, true), text)
    support.write(directory .. "/k.c", text)
    compiles_and_runs("int C_kernel(int64_t M, int64_t N, const float *restrict A, const float *restrict B, float *restrict C);",
      directory .. "/k.c")
  end)

  it("is exported as one function of a library", function()
    built(FACTS, steps):export(directory .. "/k.so")
    compiles_and_runs("#include \"k.h\"", directory .. "/k.so")
    local left = support.run(("ls %s"):format(directory))
    assert.is_nil(left:find("%.o\n"), left)
  end)

  it("of a single version has the same C code as an ordinary kernel", function()
    local s = product()
    local text = tostring(s:build({threads = 1}):show "c")
    assert.equal(tostring(s:show "c"), text)
  end)

  it("checks the assumptions that all versions share", function()
    local s = product()
    s:assume "M >= 2"
    local base, versions = s:version(), {}
    s:assume "N < 4"
    versions[1] = s:version()
    s:checkout(base)
    versions[2] = base
    local text = tostring(s:build({threads = 1, versions = versions}):show "c")
    local chooser = text:match "\nint C_kernel%(.*"
    assert.truthy(chooser:find("if (!(2 <= M)) return 2;", 1, true), text)
    assert.is_nil(chooser:find("if (!(N", 1, true))
    assert.truthy(chooser:find("if (N < 4)", 1, true), text)
  end)
end)
