--- Makes the record of the device of this machine that OpenCL uses. The limits that its driver reports replace those of a record.
local core = require "nestwright.core"

local opencl = {}

-- Each row has a pattern of the device's name, as its driver reports it, and the name of its record.
local NAMES = {
  {"A100", "a100"}, {"H200", "h200"}, {"H100", "h100"}, {"T4$", "t4"}, {"RTX A6000", "rtx_a6000"}, {"RTX 4090", "rtx_4090"},
  {"GTX TITAN X", "titan_x"}, {"Mali%-T860", "mali_t860"},
}
local OTHER = "t4"

local function record_name(gpu)
  for _, row in ipairs(NAMES) do
    if gpu.name:find(row[1]) then return row[2] end
  end
end

-- The limits of a block that the driver reports.
local FIELDS = {
  threads = "threads_block", block_x = "block_x", block_y = "block_y", block_z = "block_z", shared_block = "shared_block",
}

--- Returns the record as a table. Raises an error if there is no device or no OpenCL.
function opencl.record()
  local gpu = core.gpu "opencl"
  local known = record_name(gpu)
  local t = {
    name = "opencl", extends = known or OTHER, gpu = {capability = 0},
    about = ("%s, OpenCL %d.%d"):format(gpu.name, gpu.driver // 1000, gpu.driver % 1000 // 10),
    sources = {
      [""] = not known and "the record of a T4, which says nothing about this device" or nil,
      ["gpu.capability"] = "OpenCL C is made for it",
    },
  }
  for field, reported in pairs(FIELDS) do
    if gpu[reported] > 0 then t.gpu[field], t.sources["gpu." .. field] = gpu[reported], "reported by the driver" end
  end
  if not known and t.gpu.shared_block then
    t.gpu.shared, t.gpu.shared_reserved, t.gpu.l1_bytes = t.gpu.shared_block, 0, t.gpu.shared_block
    t.sources["gpu.shared"] = "what the driver reports for a block"
  end
  if not known and t.gpu.threads then
    t.gpu.warps, t.sources["gpu.warps"] = math.max(1, (t.gpu.threads + 31) // 32), "what one block needs"
  end
  if gpu.memory > 0 then t.memory, t.sources.memory = {bytes = gpu.memory}, "reported by the driver" end
  return t
end

--- Returns the record of another machine, for which OpenCL C is made.
function opencl.of(machine)
  return {name = "opencl", extends = machine, gpu = {capability = 0}, sources = {["gpu.capability"] = "OpenCL C is made for it"}}
end

return opencl
