--- Compares the numbers of loads and stores that the simulated GPU counts with those that Oclgrind counts when it executes the
--- OpenCL C of the same schedules, built without optimisation. Oclgrind is used through its own driver of OpenCL, and prints
--- its counts, which the worker writes to a file.
--- usage: nestwright tests/bench/gpu/oclgrind.lua FILE COUNTS     writes the numbers of kernels and of mismatches to FILE. COUNTS
--- is the file to which the worker writes.
package.path = "tests/spec/?.lua;" .. package.path
package.loaded["nestwright.script"] = nil
local nw = require "nestwright"
local kernels = require "device_kernels"

kernels.target = nw.target("opencl", {machine = "a100"})

-- name, arguments
local CASES = {
  {"gemm_naive", 16}, {"gemm_naive", 32}, {"gemm_naive", 48}, {"gemm_shared", 16}, {"gemm_shared", 32}, {"gemm_shared", 48},
  {"gemm_registers", 32, 16, 2, 8}, {"gemm_registers", 32, 16, 4, 8}, {"gemm_registers", 64, 32, 4, 8},
  {"gemm_odd", 17, 20, 9}, {"gemm_odd", 33, 5, 20}, {"gemm_odd", 7, 40, 3}, {"gemm_vthread", 32}, {"gemm_vthread", 64},
  {"conv1d", 100, 5}, {"conv1d", 512, 9}, {"conv1d_shared", 300, 5}, {"conv1d_shared", 512, 31}, {"depthwise", 1, 9, 33},
  {"depthwise", 2, 16, 32}, {"rows", 3, 256}, {"rows", 2, 1000}, {"transpose", 32}, {"transpose", 64, 1}, {"two_stages", 40},
  {"two_stages", 64}, {"heat", 3, 100}, {"heat", 4, 128},
}

local path, counts_path = arg[1], arg[2]

local function read_all()
  local file = assert(io.open(counts_path))
  local text = file:read "a"
  file:close()
  return text
end

local seen = 0

-- Returns the counts that were written since the last call, by kind, such as "load global".
local function counted()
  local text = read_all():sub(seen + 1)
  seen = seen + #text
  local out = {["load global"] = 0, ["store global"] = 0, ["load local"] = 0, ["store local"] = 0}
  for n, kind in text:gmatch "(%d+) %- (%l+ %l+) %(" do
    if out[kind] then out[kind] = out[kind] + math.tointeger(n) end
  end
  return out
end

local SCOPES = {global = "global", shared = "local", warp = "local"}

local function simulated(s, data)
  local report = nw.simulate(s, data, {ptxas = false})
  local out = {["load global"] = 0, ["store global"] = 0, ["load local"] = 0, ["store local"] = 0}
  for _, a in ipairs(report.accesses) do
    local scope = SCOPES[a.scope]
    if scope then
      local kind = (a.write and "store " or "load ") .. scope
      out[kind] = out[kind] + a.lanes
    end
  end
  return out, #report.findings
end

local done, wrong, false_races = 0, 0, 0
for _, case in ipairs(CASES) do
  local s = kernels[case[1]](table.unpack(case, 2))
  local data = {}
  for n, t in ipairs(s:inputs()) do data[n] = nw.random(t:shape(), t.dtype, {seed = n}) end
  local f = s:build()
  f(table.unpack(data))
  local theirs, ours, findings = counted(), simulated(s, data)
  done, false_races = done + 1, false_races + findings
  for kind, n in pairs(theirs) do
    if ours[kind] ~= n then
      wrong = wrong + 1
      print(("%s: %s: Oclgrind counts %d, the simulated GPU %d"):format(table.concat(case, " "), kind, n, ours[kind]))
    end
  end
end
print(("counts compared with Oclgrind: %d schedules, %d mismatches"):format(done, wrong))
local file = assert(io.open(path, "w"))
file:write(done, " ", wrong, " ", false_races, "\n")
file:close()
