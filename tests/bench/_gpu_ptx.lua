--- Counts the kernels whose PTX is not accepted by ptxas, NVIDIA's assembler.
local ptxas = require "ptxas"
local course = require "device_kernels"
local kernels = require "gpu_kernels"

-- target, and the architectures that must accept its PTX
local TARGETS = {{"t4", "sm_75"}, {"a100", "sm_80"}, {"h100", "sm_90"}, {"h100", "sm_100"}}
local COURSE = {
  {"gemm_naive", 64}, {"gemm_shared", 64}, {"gemm_registers", 128, 64, 4, 16, 4}, {"gemm_async", 128, 64, 4, 16, 4},
  {"gemm_odd", 33, 50, 20}, {"gemm_vthread", 64}, {"conv1d", 1000, 7}, {"conv1d_shared", 1000, 31}, {"depthwise", 4, 30, 50},
  {"rows", 10, 1000}, {"transpose", 64, 1}, {"vector_sum"}, {"two_stages", 200}, {"heat", 20, 1000}, {"histogram", 10000, 10},
  {"half", 1000, "f16"}, {"half", 1000, "bf16"},
}
local OTHERS = {"add", "gemm", "reduction", "symbolic", "vthread", "vectors", "register_tile", "histogram", "async", "large_shared"}

return function(out)
  local texts, rejected = 0, 0
  local function try(name, target, gpu, make)
    local ok, s = pcall(make)
    if not ok then return print(("not scheduled for %s: %s"):format(target, name)) end -- the machine has not what it uses
    local said, status = ptxas.run(tostring(s:show "ptx"), gpu)
    texts = texts + 1
    if status == 0 then return end
    rejected = rejected + 1
    print(("ptxas -arch=%s rejects %s for %s: %s"):format(gpu, name, target, said))
  end
  for _, row in ipairs(TARGETS) do
    local target, gpu = row[1], row[2]
    course.target = target
    for _, case in ipairs(COURSE) do
      try(table.concat(case, " "), target, gpu, function() return (course[case[1]](table.unpack(case, 2))) end)
    end
    for _, name in ipairs(OTHERS) do try(name, target, gpu, function() return (kernels[name](target)) end) end
  end
  print(("texts given to ptxas: %d"):format(texts))
  out:bar("gpu.ptx_rejected", rejected, "<=", 0)
end
