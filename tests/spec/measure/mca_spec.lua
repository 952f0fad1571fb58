--- Tests the report of llvm-mca: which CPU it assumes, which model LLVM has of it, and where this model contradicts the machine
--- record.
local nw = require "nestwright"
local core = require "nestwright.core"
local mca = require "nestwright.measure.mca"

local OUTPUT = [[
Iterations:        200
Instructions:      9000
Total Cycles:      7806
Block RThroughput: 26.0

Resources:
[0]   - %s
[1]   - %s
[2.0] - %s
]]

local function installed() return core.run_program({"llvm-mca-19", "--version"}, "", "llvm-mca runs") ~= nil end

-- Returns a product for another CPU, with 26 multiply-adds of 64 bytes in its innermost loop.
local function product(machine)
  local A, B = nw.placeholder({130, 128}, "f32", "A"), nw.placeholder({128, 128}, "f32", "B")
  local k = nw.reduce_axis(128, "k")
  local C = nw.compute({130, 128}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
  local s = nw.schedule(C, {target = nw.target(machine)})
  s:tile("i", "j", 13, 32)
  s:reorder("i_o", "j_o", "k", "i_i", "j_i")
  s:split("j_i", 16)
  s:vectorize "j_i_i"
  s:unroll "j_i_o"
  s:unroll "i_i"
  return s
end

describe("llvm-mca", function()
  it("did not say whose model it used", function()
    assert.same({cycles = 39.03, bound = 26, model = "znver4"}, mca.read(OUTPUT:format("Zn4AGU0", "Zn4ALU1", "Zn4FP0")))
    assert.equal("znver1", mca.read(OUTPUT:format("ZnAGU0", "ZnALU1", "ZnFPU0")).model)
    assert.equal("sapphirerapids", mca.read(OUTPUT:format("SPRPort00", "SPRPort01", "SPRPort02")).model)
    assert.equal("skylake-avx512", mca.read(OUTPUT:format("SKXDivider", "SKXFPDivider", "SKXPort0")).model)
    assert.equal("haswell", mca.read(OUTPUT:format("HWFPDivider", "HWDivider", "HWPort0")).model)
    assert.is_nil(mca.read(OUTPUT:format("JALU0", "JDiv", "JLAGU")).model)
  end)

  it("gave 39 and 26 cycles for 13, and did not say that its model does half the multiply-adds of the machine", function()
    if not installed() then return pending "llvm-mca-19 is not installed" end
    local m = product "zen5":cost {mca = true}.mca
    assert.equal("znver4", m.cpu)
    assert.equal("k", m.loop)
    assert.equal(26, m.throughput)
    assert.truthy(m.contradiction:find("multiply-adds of 64 bytes per cycle: 1 in this model, 2 in the record of zen5; the cycles "
      .. "of the model can be 2 times those of the machine", 1, true), m.contradiction)
    assert.truthy(m.text:find("cycles per iteration of k on znver4", 1, true))
    assert.truthy(m.text:find(m.contradiction, 1, true))
  end)

  it("says that LLVM has no model of a CPU", function()
    if not installed() then return pending "llvm-mca-19 is not installed" end
    local m = product {name = "zen5_here", extends = "zen5", cpu = "znver5"}:cost {mca = true}.mca
    assert.equal("znver5", m.cpu)
    if m.model ~= "znver5" then
      assert.equal("znver4", m.model)
      assert.truthy(m.text:find "LLVM %d+ has no model of znver5: the model of znver4 was used", m.text)
    end
  end)

  it("assumed this host's CPU for code for another one", function()
    if not installed() then return pending "llvm-mca-19 is not installed" end
    local m = product "skylake_x":cost {mca = true}.mca
    assert.equal("skylake-avx512", m.cpu)
    assert.equal(13, m.throughput)
    assert.is_nil(m.contradiction) -- this model has two units for 64 bytes, as the record says
    local here = nw.schedule(nw.compute({64}, function(i) return i * 2 end, "D"))
    assert.equal(here:build().cpu, here:cost {mca = true}.mca.cpu)
  end)
end)
