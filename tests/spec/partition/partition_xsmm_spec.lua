--- Tests tiles with external microkernels: libxsmm's products in the table and in every strategy, and microkernels that do not
--- match their description.
local nw = require "nestwright"
local strategies = require "nestwright.partition.strategies"
local support = require "support"

local there = nw.xsmm.available()

-- Declares a test that needs libxsmm. In a build without libxsmm, the test is listed as pending.
local function with_xsmm(what, f)
  if there then it(what, f) else pending(what .. ": this build is without libxsmm") end
end

local K, N = 5, 8

local function product(M) return support.product(M, N, K) end

local function any_rows() return product(nw.size("M", {min = 0})) end

local function own(rows)
  local function steps(s, p)
    s:vectorize(p:loops()[#p:loops() - 1])
    s:unroll(p.inner)
  end
  return {rows = rows, schedule = steps}
end

local around = support.columns_outside

local function kernels(...)
  local list = {...}
  if there then for rows = 1, 4 do list[#list + 1] = nw.xsmm.kernel {rows = rows} end end
  return strategies.kernels("test", list)
end

local function inputs(m)
  return nw.random({m, K}, "f32", {seed = m + 1}), nw.random({K, N}, "f32", {seed = 2})
end

local reference = any_rows():build {threads = 1}

local function agrees(f, m)
  local a, b = inputs(m)
  assert.is_true(nw.allclose(f(a, b), reference(a, b), {rtol = 1e-5, atol = 1e-6}), ("M = %d"):format(m))
end

describe("libxsmm's products as tiles", function()
  for _, name in ipairs {"cut", "halves", "residues", "sizes", "shift", "pad"} do
    for _, shared in ipairs {false, true} do
      with_xsmm(("give right results with %s for all sizes%s"):format(name, shared and ", in common loops" or ""), function()
        local s = any_rows()
        local cases = strategies.apply("test", s, s:loop "i", name, kernels(), shared and around or nil)
        local calls = 0
        for _, case in ipairs(cases) do
          s:checkout(case.version)
          calls = calls + select(2, tostring(s:show "lowered"):gsub("xsmm_f32", ""))
        end
        assert.is_true(calls >= #cases)
        local f = s:build {threads = 1, versions = strategies.versions(cases)}
        for m = 0, 13 do agrees(f, m) end
      end)
    end
  end

  with_xsmm("have as many rows as the piece that they compute", function()
    local s = product(7)
    strategies.apply("test", s, s:loop "i", "halves", kernels())
    local text = tostring(s:show "lowered")
    for _, shape in ipairs {"4x8x5", "2x8x5", "1x8x5"} do assert.truthy(text:find("xsmm_f32_" .. shape, 1, true), text) end
  end)

  with_xsmm("can be mixed with other tiles of as many rows, in the table and in the chosen versions", function()
    local s = any_rows()
    local list = s:partition_auto {loop = "i", kernels = kernels(own(4), own(1)), cost = "model", machine = "zen5",
      sizes = {M = {1, 7, 100}}}
    local by = {}
    for _, row in ipairs(list) do by[row.strategy] = row end
    assert.is_nil(by.guard.refused)
    assert.truthy(by.cut and not by.cut.refused)
    for _, name in ipairs {"guard", "predicate"} do
      local f = list:build(name, {threads = 1})
      for m = 0, 13 do agrees(f, m) end
    end
  end)

  with_xsmm("cannot be used with guards or masks, because they compute only whole tiles", function()
    local s = any_rows()
    support.fails("all kernels handle whole tiles only", "refused", function()
      strategies.apply("test", s, s:loop "i", "guard", kernels())
    end)
    support.fails("its nest does not match xsmm", "refused", function() -- the strides between rows differ
      strategies.apply("test", s, s:loop "i", "predicate", kernels())
    end)
    assert.equal(0, s:version())
  end)

  with_xsmm("need loops of constant extent, and a valid number of rows", function()
    local M, wide = nw.size("M", {min = 0}), nw.size("W", {min = 0})
    local A, B = nw.placeholder({M, K}, "f32", "A"), nw.placeholder({K, wide}, "f32", "B")
    local k = nw.reduce_axis(K, "k")
    local s = nw.schedule(nw.compute({M, wide}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C"))
    support.fails("columns: j has W iterations", "invalid", function()
      strategies.apply("test", s, s:loop "i", "cut", kernels())
    end)
    support.fails("rows must be a whole number from 1", "invalid", function() nw.xsmm.kernel {rows = 0} end)
    support.fails("rows: expected a whole number, got nil", "invalid", function() nw.xsmm.kernel {} end)
    support.fails("columns", "invalid", function() nw.xsmm.kernel {rows = 4, columns = 3} end)
  end)

  with_xsmm("are measured like other tiles, and their times are kept together", function()
    local state, script = support.temporary ".d", support.temporary ".lua"
    support.write(script, [[
      local nw = require "nestwright"
      local M, N = nw.size("M", {min = 0}), nw.size("N", {min = 1})
      local A, B = nw.placeholder({M, 8, N}, "f32", "A"), nw.placeholder({8, 16}, "f32", "B")
      local k = nw.reduce_axis(8, "k")
      local s = nw.schedule(nw.compute({M, N, 16}, function(i, n, j) return nw.sum(A(i, k, n) * B(k, j), k) end, "C"))
      s:reorder("n", "i", "j")
      local function unrolled(t, p) t:unroll(p.inner) end
      local kernels = {{rows = 2, schedule = unrolled}, {rows = 1, schedule = unrolled}}
      local one = nw.microkernels {schedule = s, loop = "i", kernels = kernels, sizes = {N = 1}}
      local many = nw.microkernels {schedule = s, loop = "i", kernels = kernels, sizes = {N = 64}}
      assert(many[1].seconds.more ~= one[1].seconds.more, "the times for one size are used for another")

      local C, D = nw.placeholder({M, 8}, "f32", "C"), nw.placeholder({8, 16}, "f32", "D")
      local t = nw.schedule(nw.compute({M, 16}, function(i, j) return nw.sum(C(i, k) * D(k, j), k) end, "E"))
      kernels[3] = nw.xsmm.kernel {rows = 2}
      local list = nw.microkernels {schedule = t, loop = "i", kernels = kernels}
      assert(#list == 3 and list[1].rows == 2 and list[2].rows == 2 and list[3].rows == 1)
      assert(list[1].seconds.more <= list[2].seconds.more)
      local theirs = list[1].name and list[1] or list[2]
      assert(theirs.name == "libxsmm" and not theirs.seconds.guarded and theirs.seconds.first > 0)
      assert(tostring(list):find "libxsmm" and tostring(list):find "own")
      local again = nw.microkernels {schedule = t, loop = "i", kernels = kernels}
      assert(tostring(again) == tostring(list))
      print(t:partition_auto {loop = "i", kernels = list, sizes = {M = {3, 9}}})
      print "good"
    ]])
    local text = support.run(("XDG_STATE_HOME=%s %s %s 2>&1"):format(state, support.program, script))
    assert.truthy(text:find("good", 1, true), text)
    os.execute(("rm -r %s %s"):format(state, script))
  end)
end)

-- Returns an intrinsic whose code computes `does` rows, but whose description has `says` rows.
local function lying(does, says)
  local A, B = nw.placeholder({says, K}, "f32", "A"), nw.placeholder({K, N}, "f32", "B")
  local k = nw.reduce_axis(K, "k")
  local C = nw.compute({says, N}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
  return nw.intrinsic {name = ("tile_%d_%d"):format(does, says), args = {A, B, C}, source = ([[
    #include <stdint.h>
    void tile_%d_%d(const float *A, const float *B, float *C, int64_t a, int64_t b, int64_t c) {
      for (int i = 0; i < %d; i++)
        for (int j = 0; j < %d; j++) {
          float sum = 0;
          for (int k = 0; k < %d; k++) sum += A[i * a + k] * B[k * b + j];
          C[i * c + j] = sum;
        }
    }
  ]]):format(does, says, does, N, K)}
end

describe("a microkernel whose description has the wrong shape", function()
  it("is found by the trial if it writes more rows", function()
    support.fails("failed its trial: ", nil, function() lying(5, 4) end)
  end)

  it("is found by the trial if it writes fewer rows", function()
    support.fails("failed its trial: C%[3, ", "mismatch", function() lying(3, 4) end)
  end)

  it("is refused if a tile has another shape, and the schedule is unchanged", function()
    local four = lying(4, 4)
    local function tensorized(s, p)
      s:reorder(p.outer, p.inner, p:loop "j", p:loop "k")
      s:tensorize(p.inner, four)
    end
    local s = product(16)
    local honest = strategies.kernels("test", {{rows = 4, schedule = tensorized}})
    strategies.apply("test", s, s:loop "i", "cut", honest)
    agrees(s:build {threads = 1}, 16)
    local t = product(16)
    support.fails("its nest does not match tile_4_4", "refused", function()
      strategies.apply("test", t, t:loop "i", "cut", strategies.kernels("test", {{rows = 8, schedule = tensorized}}))
    end)
    assert.equal(0, t:version())
  end)
end)
