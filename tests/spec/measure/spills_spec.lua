--- Tests the count of register spills in compiled code.
local nw = require "nestwright"
local spilled = require "nestwright.measure.spilled"

local ASM = [[
# %bb.0:
	pushq	%rbx
	vmovups	%zmm1, 64(%rsp)                 # 64-byte Spill
.LBB0_1:                                # in i
	vmovups	64(%rsp), %zmm1                 # 64-byte Reload
	movq	%rax, 8(%rsp)                   # 8-byte Spill
.LBB0_2:                                # in i > j_o
	vfmadd231ps	128(%rsp), %zmm0, %zmm1     # 64-byte Folded Reload
	vaddps	(%rcx), %zmm1, %zmm1
# %bb.3:                                # in i
	vmovups	%ymm2, 32(%rsp)                 # 32-byte Spill
]]

local function blocked(rows)
  local A, B = nw.placeholder({64, 64}, "f32", "A"), nw.placeholder({64, 64}, "f32", "B")
  local k = nw.reduce_axis(64, "k")
  local s = nw.schedule(nw.compute({64, 64}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C"))
  s:tile("i", "j", rows, 16)
  s:reorder("i_o", "j_o", "k", "i_i", "j_i")
  s:vectorize "j_i"
  s:unroll "i_i"
  return s
end

describe("register spills", function()
  it("are counted once for each iteration of the loops around them", function()
    local vectors, others = spilled.count(ASM, {{depth = 0, times = 1}, {name = "i", times = 10}, {name = "j_o", times = 70}})
    assert.equal(1 + 10 + 70 + 10, vectors)
    assert.equal(10, others)
  end)

  it("occur only if the block does not fit into the registers", function()
    local few = blocked(2):cost {measure = true}
    assert.equal(0, few.spills_emitted)
    local many = blocked(40):cost {measure = true}
    assert.is_true(many.spills > 0)
    assert.is_true(many.spills_emitted > 0)
    assert.truthy(tostring(many):find "register spills: [%d.]+ ?k? %(estimated%); %d[%d.]* ?k? in the compiled code")
    assert.is_nil(blocked(2):cost().spills_emitted)
  end)
end)
