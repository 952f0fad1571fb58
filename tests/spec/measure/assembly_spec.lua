--- Tests the assembly of one loop.
local nw = require "nestwright"
local assembly = require "nestwright.measure.assembly"
local support = require "support"

local fails = support.fails

local ASM = [[
kernel:                                 # @kernel
# %bb.0:
	pushq	%rbx
.LBB0_1:                                # %i
                                        # =>This Loop Header: Depth=1
                                        #     Child Loop BB0_2 Depth 2
	vxorps	%xmm0, %xmm0, %xmm0
	.p2align	4, 0x90
.LBB0_2:                                # %k
                                        #   Parent Loop BB0_1 Depth=1
                                        # =>  This Inner Loop Header: Depth=2
	vfmadd231ps	%ymm1, %ymm2, %ymm3     # ymm3 = (ymm2 * ymm1) + ymm3
	vmovups	%ymm3, -32(%rsp)                # 32-byte Spill
	jb	.LBB0_2
# %bb.3:                                #   in Loop: Header=BB0_1 Depth=1
	incq	%rax
.LBB0_4:                                # %k7
                                        #   Parent Loop BB0_1 Depth=1
                                        # =>  This Inner Loop Header: Depth=2
	jb	.LBB0_4
# %bb.5:
	retq
.Lfunc_end0:
	.size	kernel, .Lfunc_end0-kernel
]]

describe("the assembly of one loop", function()
  it("could not be shown by itself", function()
    local lines, found = assembly.of_loop(ASM, "k", {i = true, k = true})
    assert.same({".LBB0_2:  # in i > k", "  vfmadd231ps   %ymm1, %ymm2, %ymm3", "  vmovups       %ymm3, -32(%rsp)  # 32-byte Spill",
      "  jb            .LBB0_2", ".LBB0_4:  # in i > k7", "  jb            .LBB0_4"}, lines)
    assert.same({"i", "k"}, {found[1], found[2]})
  end)

  it("has the loops in it, and ends with the loop", function()
    local lines = assembly.of_loop(ASM, "i", {i = true, k = true})
    assert.equal(".LBB0_1:  # in i", lines[1])
    assert.equal("  jb            .LBB0_4", lines[#lines])
  end)

  it("distinguishes a loop k7 of the program from a copy of k", function()
    assert.equal(2, #assembly.of_loop(ASM, "k7", {i = true, k = true, k7 = true}))
    assert.equal(4, #assembly.of_loop(ASM, "k", {i = true, k = true, k7 = true}))
  end)

  it("is found by the name of the loop, or by the loop", function()
    local s = support.product(16, 16, 16)
    local f = s:build {threads = 1}
    local text = tostring(f:asm {loop = "k"})
    assert.truthy(text:find "^%.LBB%d+_%d+:  # in i > j > k\n")
    assert.equal(text, tostring(f:asm {loop = s:loops()[3]}))
    assert.is_true(#text < #tostring(f:asm {loop = "i"}))
    assert.equal(tostring(f:show "asm"), tostring(f:asm()))
  end)

  it("says which loops there are, if it is not one of them", function()
    local s = support.product(16, 16, 16)
    s:unroll "k"
    local f = s:build {threads = 1}
    local err = fails("the code has no loop 'k'; its loops are i, j", "invalid", f.asm, f, {loop = "k"})
    assert.truthy(err.hint:find("unrolled and vectorized loops are not loops of the code", 1, true))
    fails("loop: expected a string or a loop, got a number", "invalid", f.asm, f, {loop = 3})
  end)

  it("can be shown side by side for two versions", function()
    local s = support.product(16, 16, 16)
    local f = s:build {threads = 1}
    s:split("k", 4)
    s:unroll "k_i"
    local g = s:build {threads = 1}
    local text = tostring(nw.beside {{"before", f:asm {loop = "k"}}, {"after", g:asm {loop = "k_o"}}})
    assert.truthy(text:find "^before +after\n%.LBB[%d_]+:  # in i > j > k +%.LBB[%d_]+:  # in i > j > k_o\n", text)
  end)
end)
