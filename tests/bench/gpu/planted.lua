--- Writes the programs in which mistakes are planted: schedules of small sizes whose threads exchange data.
local nw = require "nestwright"
local course = require "device_kernels"
local kernels = require "gpu_kernels"

local TARGET = nw.target("opencl", {machine = "a100"})

-- name, arguments
local COURSE = {
  {"gemm_shared", 32}, {"gemm_registers", 32, 16, 2, 8}, {"gemm_registers", 32, 16, 4, 8, 4}, {"gemm_async", 32, 16, 4, 16},
  {"conv1d_shared", 300, 5}, {"rows", 3, 512}, {"transpose", 64, 1}, {"histogram", 600, 4},
}
local OTHERS = {{"reduction", 4, 96}, {"vthread", 300}, {"async", 32}}

-- A product with tiles of the next iteration in the other half of the storage.
local function double_buffered()
  local s = course.gemm_shared(32)
  for _, stage in ipairs {"A_shared", "B_shared"} do s:double_buffer(stage, 1) end
  return s
end

--- Writes each program to a file in the directory, and returns the paths.
return function(dir)
  local paths = {}
  local function write(name, s)
    local path = ("%s/%s"):format(dir, name)
    local file = assert(io.open(path, "w"))
    file:write(tostring(s:show "full"))
    file:close()
    paths[#paths + 1] = path
  end
  course.target = TARGET
  for _, case in ipairs(COURSE) do write(table.concat(case, "-"), (course[case[1]](table.unpack(case, 2)))) end
  for _, case in ipairs(OTHERS) do write(table.concat(case, "-"), (kernels[case[1]](TARGET, table.unpack(case, 2)))) end
  write("double_buffered", double_buffered())
  return paths
end
