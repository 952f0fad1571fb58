--- Tests the analysis of assembly: which kind and width each instruction has, how often it is executed, and how many cycles it
--- takes.
local nw = require "nestwright"
local support = require "support"
local core = require "nestwright.core"
local emitted = require "nestwright.measure.emitted"

local ASM = [[
# %bb.0:
	pushq	%rbx
	vxorps	%xmm0, %xmm0, %xmm0
.LBB0_1:                                # in i
	vbroadcastss	(%rsi), %zmm3
	vbroadcastss	%xmm3, %zmm4
.LBB0_2:                                # in i > j_o
	vfmadd231ps	(%rcx,%rdx,4), %zmm0, %zmm1 {%k1}
	vmovups	%xmm1, 16(%rsp)                 # 16-byte Spill
	addq	$64, %rdx
	jne	.LBB0_2
# %bb.3:                                # in i
	vgatherqps	(%rdi,%zmm2,4), %ymm1 {%k2}
]]
local LOOPS = {{depth = 0, times = 1}, {name = "i", times = 10}, {name = "j_o", times = 70}}
local MACHINE = {dispatch = 4, ["ops.fma.per_cycle[4]"] = 2, ["ops.load.per_cycle[1]"] = 2, ["ops.load.per_cycle[4]"] = 1,
  ["ops.store.per_cycle[2]"] = 1, ["ops.int.per_cycle[1]"] = 4, ["ops.int.per_cycle[2]"] = 4, ["ops.shuffle.per_cycle[4]"] = 1}

describe("compiled code", function()
  it("is read as instructions, each with a kind, a width, and a flag if it loads or stores", function()
    local function is(line, kind, width, how)
      local i = emitted.instruction("\t" .. line)
      assert.equal(kind, i.kind, line)
      assert.equal(width, i.width, line)
      assert.equal(how == "load", i.load == true, line)
      assert.equal(how == "store", i.store == true, line)
    end
    is("vmovups\t(%rdi), %ymm0", "moves", 3, "load")
    is("vmovss\t%xmm0, (%rdi)", "moves", 1, "store")
    is("vmovups\t%zmm0, 64(%rdi) {%k1}", "moves", 4, "store")
    is("vaddps\t(%rdi), %xmm1, %xmm1", "arithmetic", 2, "load")
    is("vmulss\t%xmm0, %xmm1, %xmm1", "arithmetic", 1)
    is("leaq\t8(%rdi), %rax", "moves", 1)
    is("cmpq\t$8, (%rdi)", "integers", 1, "load")
    is("cmovlq\t%r8, %rax", "choices", 1)
    is("kmovw\t%eax, %k1", "masks", 1)
    is("vscatterqps\t%ymm0, (%rdi,%zmm1,4) {%k1}", "scatters", 4, "store")
    is("vpermt2ps\t%zmm0, %zmm1, %zmm2", "shuffles", 4)
    is("vbroadcastss\t%xmm3, %zmm4", "shuffles", 4)
    is("jae\t.LBB0_2", "branches", 1)
    assert.is_nil(emitted.instruction "\t.p2align\t4, 0x90")
    assert.is_nil(emitted.instruction ".LBB0_2:")
  end)

  it("is counted once for each iteration of the loops around it", function()
    local e = emitted.count(ASM, LOOPS, MACHINE)
    assert.equal(2 + 2 * 10 + 4 * 70 + 10, e.counts.instructions)
    assert.equal(70, e.counts.arithmetic)
    assert.equal(80, e.counts.masked)
    assert.equal(70, e.counts.spills)
    assert.equal(70, e.counts.stack)
    assert.equal(70, e.counts["narrow stores"])
    assert.equal(10, e.counts.gathers)
    assert.equal(10, e.counts.shuffles)
    assert.equal(70 / 2, e.cycles.fma)
    assert.equal(10 + 70 + 10 * 8 / 2, e.cycles.load)
    assert.equal((2 + 2 * 10 + 4 * 70 + 10) / 4, e.cycles.dispatch)
  end)

  it("takes as long in each loop as the busiest resource of the loop", function()
    local e = emitted.count(ASM, LOOPS, MACHINE)
    assert.equal(2 / 4 + 10 * (1 + 8 / 2) + 70, e.together)
  end)

  -- If the simulation takes each branch as a real run does, the simulation executes the expected number of instructions.
  it("is simulated completely, including parallel loops", function()
    local function ratio(change)
      local s = nw.schedule(require "nestwright.measure.workloads".make("test", "gemm", 32, 48, 40))
      if change then change(s) end
      local e = emitted.of(s, s:cost().loops, nw.machine(), {dispatch = 1})
      return e.simulated.instructions / e.counts.instructions, e.simulated
    end
    local naive, took = ratio()
    if took.cycles == 0 then pending "needs an x86 processor" return end
    assert.near(1, naive, 0.01)
    assert.is_true(took.instructions > 32 * 48 * 40 and took.cycles > took.instructions / 8)
    assert.near(1, ratio(function(s) s:parallel "i" end), 0.02)
    assert.near(1, ratio(function(s)
      s:split("j", 16)
      s:vectorize "j_i"
      s:unroll("j_o")
    end), 0.05)
  end)

  it("is simulated only if it is x86 code", function()
    local t = core.code_time("kernel_entry:\n\tldr\tx0, [x1]\n\tret\n", nw.machine())
    assert.equal(0, t.instructions)
    support.fails("^assembly: expected a string, got a number", "invalid", function() core.code_time(1, nw.machine()) end)
    support.fails("^machine: expected a machine, got a string", "invalid", function() core.code_time("", "zen5") end)
  end)
end)
