--- Tests which intrinsics may be registered, and what happens if a call of an intrinsic goes wrong.
package.path = "tests/tools/?.lua;" .. package.path
local kernels = require "microkernels"
local nw = require "nestwright"
local support = require "support"
local fails_saying = support.fails_saying

describe("an intrinsic", function()
  local SOURCE = kernels.gemm_source {name = "bad", m = 4, n = 8, k = 2}
  local function register(source, more)
    local spec = {name = "bad", args = kernels.gemm_tensors(4, 8, 2, "i32"), accumulate = true, source = source, timeout = 1,
      strides = {A = {"any", "any"}, B = {"any", "any"}, C = {"any", "any"}}}
    for key, value in pairs(more or {}) do spec[key] = value end
    return nw.intrinsic(spec)
  end
  local function changed(from, to)
    local text, n = SOURCE:gsub(from, to, 1)
    assert(n == 1)
    return text
  end

  it("has a valid time limit", function()
    for _, seconds in ipairs {-1, 0, 1e9, 0 / 0} do
      fails_saying("not a number of seconds above 0", register, SOURCE, {timeout = seconds})
    end
  end)

  it("has the given fields", function()
    local good = register(SOURCE)
    assert.are.equal("bad", good.name)
    assert.is_true(good.jump_safe)
    assert.is_truthy(tostring(good):find("C[i, j] = sum(A[i, k]*B[k, j], k)", 1, true))
    assert.are.equal(good.id, register(SOURCE).id)
    assert.are_not.equal(good.id, register(SOURCE .. "\n").id)
  end)
  it("that computes something else is refused with the first element that differs", function()
    fails_saying("intrinsic bad failed its trial: C[3, 0] is", register, changed("i < 4", "i < 3"))
    fails_saying("failed its trial: C[0, 0] is", register, changed("sum %+=", "sum -="))
  end)
  it("that reads or writes outside its tiles is refused", function()
    fails_saying("after the end of", register, changed("i < 4", "i < 5"))
    fails_saying("writes outside the tile of C", register,
      changed("= sum;", "= sum; if (j == 7 && i < 3 && ci > 8*cj) C[i*ci + 8*cj] = 0;"))
    fails_saying("writes A, which it may only read", register, changed("int32_t sum", "((int32_t *)A)[0] = 1; int32_t sum"))
  end)
  it("that ignores a stride is refused", function()
    fails_saying("the tiles had strides", register, changed("i%*ai", "i*2"))
    fails_saying("the tiles had strides", register, changed("j%*cj%] = sum", "j] = sum"))
  end)
  it("that crashes, exits or hangs is an error of its registration", function()
    fails_saying("crashed: Segmentation fault", register, changed("int32_t sum", "*(volatile int *)8 = 1; int32_t sum"))
    fails_saying("crashed: Illegal instruction", register, changed("int32_t sum", "__builtin_trap(); int32_t sum"))
    fails_saying("ended its process, with status 3", register,
      "#include <stdlib.h>\n" .. changed("int32_t sum", "exit(3); int32_t sum"))
    fails_saying("did not end within 1 seconds", register, changed("int32_t sum", "for (volatile int x = 1; x;) {} int32_t sum"))
    assert.is_truthy(register(SOURCE))
  end)
  it("that reads an output that it should only write is refused", function()
    fails_saying("failed its trial", register, SOURCE, {accumulate = false})
  end)
  it("that does not compile gives the message of the compiler", function()
    fails_saying("failed: ", register, "void bad(")
    fails_saying("has no function bad", register, "void other(void) {}")
  end)
  it("that calls a library is not jump-safe", function()
    local f = register("#include <stdlib.h>\n" .. changed("int32_t sum", "free(malloc(1)); int32_t sum") .. "/**/")
    assert.is_boolean(f.jump_safe)
    local g = register("#include <stdio.h>\n" .. changed("int32_t sum", "fflush(stdout); int32_t sum"))
    assert.is_false(g.jump_safe)
  end)
  it("requires valid arguments", function()
    fails_saying("has letters, digits and _ only", register, SOURCE, {name = "a b"})
    fails_saying("unknown option 'sauce'", register, SOURCE, {sauce = 1})
    fails_saying("as C source, as a library, or as shuffles", register, nil)
    fails_saying("as C source, as a library, or as shuffles", register, SOURCE, {library = "x.so"})
    fails_saying("args[1]: expected a tensor, got a number", register, SOURCE, {args = {1, 2}})
    fails_saying("is missing in args", function()
      local t = kernels.gemm_tensors(4, 8, 2, "i32")
      return nw.intrinsic {name = "bad", args = {t[1], t[3]}, source = SOURCE}
    end)
    fails_saying("expected 2, one per dimension, got 1", register, SOURCE, {strides = {A = {1}}})
    fails_saying("unknown option 'D'", register, SOURCE, {strides = {D = {1}}})
    fails_saying("cannot load", register, nil, {library = "/no/such.so"})
  end)
  it("is described by one stage with constant sizes, whose axes occur only in indices", function()
    local function describe_it(make)
      local args = {make()}
      return nw.intrinsic {name = "bad", args = args, source = "void bad(void) {}"}
    end
    fails_saying("symbolic size", describe_it, function()
      local A = nw.placeholder({nw.size "M"}, "i32", "A")
      return A, nw.compute({A:shape()[1]}, function(i) return A(i) end, "B")
    end)
    fails_saying("outside of an index", describe_it, function()
      local A = nw.placeholder({8}, "i32", "A")
      return A, nw.compute({8}, function(i) return A(i) + nw.cast(i, "i32") end, "B")
    end)
    fails_saying("never touches A[8]", describe_it, function()
      local A = nw.placeholder({9}, "i32", "A")
      return A, nw.compute({8}, function(i) return A(i) end, "B")
    end)
    fails_saying("more than one stage", describe_it, function()
      local A = nw.placeholder({8}, "i32", "A")
      local B = nw.compute({8}, function(i) return A(i) + 1 end, "B")
      return A, nw.compute({8}, function(i) return B(i) + 1 end, "D")
    end)
    fails_saying("along only one dimension of A", describe_it, function()
      local A = nw.placeholder({8, 8}, "i32", "A")
      return A, nw.compute({8}, function(i) return A(i, i) end, "B")
    end)
  end)
end)

-- Returns a kernel whose intrinsic misbehaves if the first element of its input is 99, which no trial uses.
local function misbehaving(name, how, head)
  local A = nw.placeholder({8}, "i32", "A")
  local B = nw.compute({8}, function(i) return A(i) + 1 end, "B")
  local f = nw.intrinsic {name = name, args = {A, B}, strides = {A = {1}, B = {1}}, source = (head or "") .. ([[
    void %s(const int *A, int *B) {
      if (A[0] == 99) { %s; }
      for (int i = 0; i < 8; i++) B[i] = A[i] + 1;
    }]]):format(name, how)}
  local s = nw.schedule(B)
  s:tensorize("i", f)
  local bad, good = nw.zeros({8}, "i32"), nw.zeros({8}, "i32")
  bad:setflat(1, 99)
  good:setflat(8, 8)
  return s:build(), bad, good, f
end

describe("a call that crashes although the trial succeeded", function()
  it("ends the call, not the session", function()
    local kernel, bad, good, f = misbehaving("crashes", "*(volatile int *)8 = 1")
    assert.is_true(f.jump_safe)
    fails_saying("crashed", kernel, bad)
    assert.are.equal(9, kernel(good):getflat(8))
  end)
  it("ends only the call, also if the function is not jump-safe", function()
    local kernel, bad, good, f = misbehaving("crashes_too", "fflush(stdout); *(volatile int *)8 = 1", "#include <stdio.h>\n")
    assert.is_false(f.jump_safe)
    fails_saying("crashed", kernel, bad)
    assert.are.equal(9, kernel(good):getflat(8))
  end)
end)
