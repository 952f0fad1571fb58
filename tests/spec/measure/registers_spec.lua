--- Tests the numbers of registers of kernels for GPUs.
local support = require "support"
local kernels = require "device_kernels"
local nw = require "nestwright"
local ptxas = require "ptxas"

describe("registers", function()
  -- A schedule in which each thread has a tile of 8 x 8 elements.
  local GEMM = [[
    package.path = "tests/spec/?.lua;" .. package.path
    local nw = require "nestwright"
    local kernels = require "device_kernels"
    kernels.target = "a100"
    local s = kernels.gemm_registers(256, 128, 8, 8, 4)
    local r = s:gpu_counts()
    local k = r.kernels[1]
    print(k.registers, k.assembled, k.limiter, k.resident)
    print((tostring(r):match "bytes of shared memory; ([^\n]*)"))
  ]]

  -- Runs the schedule in a session for which ptxas is this program. Returns what it prints.
  local function counted(program)
    local file = support.temporary ".lua"
    support.write(file, GEMM)
    local out = support.run(("env NESTWRIGHT_PTXAS=%s %s %s"):format(program, support.program, file))
    os.remove(file)
    return (out:gsub("note: [^\n]*\n", ""))
  end

  it("are counted by ptxas, and limit the blocks of a multiprocessor", function()
    local fake = support.temporary ".sh"
    support.write(fake, "#!/bin/sh\ngrep -q C_kernel /dev/stdin || exit 1\n"
      .. "echo \"ptxas info    : Compiling entry function 'C_kernel' for 'sm_80'\" >&2\n"
      .. "echo 'ptxas info    : Used 137 registers, used 1 barriers, 400 bytes cmem[0]' >&2\n")
    os.execute("chmod +x " .. fake)
    assert.equal("137\ttrue\tregisters\t1\n137 registers by ptxas\n", counted(fake))
    os.remove(fake)
  end)

  it("are an estimate without ptxas, or if it fails", function()
    for _, program in ipairs {"", "/bin/false"} do
      local out = counted(program)
      local n = tonumber(out:match "^%d+")
      assert.is_true(n > 90 and n < 200, out) -- 64 for the tile, and 16 or more for its operands
      assert.truthy(out:find("\tfalse\tregisters\t2\n", 1, true), out)
      assert.truthy(out:find(("about %d registers (an estimate)"):format(n), 1, true), out)
    end
  end)

  it("are those of the machine that the target gpu simulates", function()
    if not ptxas.path() then return pending "ptxas is not installed" end
    local made = {}
    for n, target in ipairs {"a100", "gpu"} do
      local A = nw.placeholder({256}, "f32", "A")
      local s = nw.schedule(nw.compute({256}, function(i) return A(i) * 2 + 1 end, "Y"), {target = target})
      s:bind("i", "threadIdx.x")
      made[n] = s:gpu_counts().kernels[1]
    end
    assert.is_true(made[2].assembled)
    assert.equal(made[1].registers, made[2].registers)
  end)

  it("are those of ptxas where it is installed, and the estimate is within a factor of two", function()
    if not ptxas.path() then return pending "ptxas is not installed" end
    kernels.target = "a100"
    local list = {kernels.gemm_naive(64), kernels.gemm_registers(128, 64, 4, 16, 4), kernels.gemm_parts(256, 8),
      kernels.conv1d(1000, 7), kernels.transpose(64)}
    for _, s in ipairs(list) do
      local by, about = s:gpu_counts().kernels[1], s:gpu_counts {ptxas = false}.kernels[1]
      assert.is_true(by.assembled and not about.assembled)
      local said = ptxas.run(tostring(s:show "ptx"), "sm_80")
      assert.equal(math.tointeger(said:match "Used (%d+) registers"), by.registers)
      local ratio = about.registers / by.registers
      assert.is_true(ratio > 0.5 and ratio < 2, ("%d by ptxas, %d estimated"):format(by.registers, about.registers))
    end
  end)
end)
