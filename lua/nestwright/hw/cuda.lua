--- Makes the record of the NVIDIA GPU of this machine. What the driver reports about the GPU replaces the values of the record of
--- the same or of a similar GPU.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"

local cuda = {}

-- Each row has a pattern of the GPU's name, as the driver reports it, and the name of its record.
local NAMES = {
  {"A100", "a100"}, {"H200", "h200"}, {"H100", "h100"}, {"Tesla T4", "t4"}, {"NVIDIA T4$", "t4"}, {"RTX A6000", "rtx_a6000"},
  {"RTX 4090", "rtx_4090"}, {"GTX TITAN X", "titan_x"},
}
-- GPUs of these compute capabilities have multiprocessors like those of the record, or like those of the GPU before them.
local SIMILAR = {{9.0, "h100"}, {8.9, "rtx_4090"}, {8.6, "rtx_a6000"}, {8.0, "a100"}, {7.5, "t4"}, {5.0, "titan_x"}}

local function record_name(gpu)
  for _, row in ipairs(NAMES) do
    if gpu.name:find(row[1]) then return row[2], true end
  end
  for _, row in ipairs(SIMILAR) do
    if gpu.capability >= row[1] then return row[2], false end
  end
  errors.fail("codegen", nil, "%s has compute capability %.1f; code is made for GPUs from 5.0 on", gpu.name, gpu.capability)
end

-- Bytes per second of the memory: it transfers twice in each cycle of its clock.
local function bandwidth(gpu) return 2 * gpu.memory_khz * 1e3 * gpu.memory_bits / 8 / 1e9 end

--- Returns the record as a table. Raises an error if there is no GPU or no driver.
function cuda.record()
  local gpu = core.gpu()
  local name, same = record_name(gpu)
  local t = {
    name = "cuda", extends = name, about = ("%s, compute capability %.1f"):format(gpu.name, gpu.capability),
    memory = {bytes = gpu.memory},
    gpu = {capability = gpu.capability, sms = gpu.multiprocessors, shared = gpu.shared, shared_block = gpu.shared_block},
    sources = {memory = "reported by the driver", gpu = "reported by the driver"},
  }
  if gpu.l2_bytes > 0 then t.gpu.l2_bytes = gpu.l2_bytes end
  if not same then
    if gpu.clock_khz > 0 then t.clock, t.sources.clock = gpu.clock_khz / 1e6, "reported by the driver" end
    if gpu.memory_khz > 0 then t.memory.bandwidth = bandwidth(gpu) end
    t.gpu.warps, t.gpu.blocks = gpu.threads // 32, gpu.blocks
  end
  return t
end

return cuda
