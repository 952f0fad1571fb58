--- Counts the kernels whose PTX is not accepted by ptxas, NVIDIA's assembler.
local support = require "support"
local ptxas = require "ptxas"
local course = require "device_kernels"
local kernels = require "gpu_kernels"

-- target, and the architectures that must accept its PTX
local TARGETS = {{"t4", "sm_75"}, {"a100", "sm_80"}, {"h100", "sm_90"}, {"h100", "sm_100"}}
local COURSE = {
  {"gemm_naive", 64}, {"gemm_shared", 64}, {"gemm_registers", 128, 64, 4, 16, 4}, {"gemm_async", 128, 64, 4, 16, 4},
  {"gemm_parts", 256, 8}, {"gemm_odd", 33, 50, 20}, {"gemm_vthread", 64}, {"conv1d", 1000, 7}, {"conv1d_shared", 1000, 31},
  {"depthwise", 4, 30, 50}, {"rows", 10, 1000}, {"transpose", 64, 1}, {"vector_sum"}, {"two_stages", 200}, {"heat", 20, 1000},
  {"histogram", 10000, 10}, {"half", 1000, "f16"}, {"half", 1000, "bf16"},
}
local OTHERS = {"add", "gemm", "reduction", "symbolic", "vthread", "vectors", "register_tile", "histogram", "async", "large_shared"}

-- The specs that make schedules for GPUs, and the notebooks.
local SPECS = {"device/async_spec", "device/cross_spec", "device/grid_spec", "device/grid_text_spec",
  "device/ptx_math_spec", "device/ptx_ops_spec", "device/ptx_spec", "device/share_spec", "device/warp_spec",
  "measure/gpu_target_spec", "show/warps_spec"}
local NOTEBOOKS = {"gpu_gemm", "gpu_conv1d", "gpu_depthwise", "gpu_reduction", "gpu_transpose", "gpu_fused_loop",
  "gpu_dynamic_batch"}
local ME = "build/release/bin/nestwright"

local function read(path)
  local file = assert(io.open(path))
  local text = file:read "a"
  file:close()
  return text
end

-- Returns the paths of the PTX texts of all schedules that a spec or a notebook makes.
local function texts_of(dir, kind, path)
  local targets, known = {}, {}
  for _, row in ipairs(TARGETS) do
    if not known[row[1]] then targets[#targets + 1] = row[1] end
    known[row[1]] = true
  end
  os.execute("mkdir -p " .. dir)
  support.run(("env NW_BUILD=$PWD/build/release timeout 300 %s tests/bench/gpu/spec_texts.lua %s %s %s %s"):format(ME, dir,
    table.concat(targets, ","), kind, path))
  local paths = {}
  for name in support.run("ls " .. dir):gmatch "[^\n]+%.ptx" do paths[#paths + 1] = dir .. "/" .. name end
  return paths
end

return function(out)
  local texts, rejected = 0, 0
  local function assemble(name, target, gpu, text)
    local said, status = ptxas.run(text, gpu)
    texts = texts + 1
    if status == 0 then return end
    rejected = rejected + 1
    print(("ptxas -arch=%s rejects %s for %s: %s"):format(gpu, name, target, said))
  end
  local function try(name, target, gpu, make)
    local ok, s = pcall(make)
    if not ok then return print(("not scheduled for %s: %s"):format(target, name)) end -- the machine has not what it uses
    assemble(name, target, gpu, tostring(s:show "ptx"))
  end
  for _, row in ipairs(TARGETS) do
    local target, gpu = row[1], row[2]
    course.target = target
    for _, case in ipairs(COURSE) do
      try(table.concat(case, " "), target, gpu, function() return (course[case[1]](table.unpack(case, 2))) end)
    end
    for _, name in ipairs(OTHERS) do try(name, target, gpu, function() return (kernels[name](target)) end) end
  end
  local dir, lists = support.temporary(), {}
  for _, spec in ipairs(SPECS) do lists[spec] = texts_of(dir .. "/" .. spec, "spec", ("tests/spec/%s.lua"):format(spec)) end
  for _, notebook in ipairs(NOTEBOOKS) do
    lists[notebook] = texts_of(dir .. "/" .. notebook, "notebook", ("tutorials/%s.ipynb"):format(notebook))
  end
  for source, paths in pairs(lists) do
    if #paths == 0 then
      rejected = rejected + 1
      print("no PTX was made of the schedules of " .. source)
    end
    for _, path in ipairs(paths) do
      for _, row in ipairs(TARGETS) do
        if path:find("/" .. row[1] .. "-", 1, true) then assemble(source, row[1], row[2], read(path)) end
      end
    end
  end
  os.execute("rm -rf " .. dir)
  print(("texts given to ptxas: %d"):format(texts))
  out:bar("gpu.ptx_rejected", rejected, "<=", 0)
end
