--- Compares the ways to run a schedule for a GPU without one: OpenCL on the CPU (pocl), the interpreter and the simulated GPU. Also
--- compares the counts of the simulated GPU, and the races that it finds, with those of Oclgrind, measures its speed, and compares
--- the model of GPUs with published times, and instructions of tensor cores with their definitions. What this machine lacks is
--- reported as skipped, and its figures are 0. NW_GPU_SEED: the seed of the random schedules; by default a new one for each run.
package.path = "tests/bench/?.lua;tests/spec/?.lua;" .. package.path
local bench = require "_bench"

local out = bench.open(arg[1] or "build/bench/gpu.json")
local ME, WORKER = "build/release/bin/nestwright", "build/release/bin/nestwright-opencl"
local PLANTED = "build/release/tests/planted"
local OCLGRIND = "/usr/lib/oclgrind/liboclgrind-rt-icd.so"
local CASES = 510 -- more than the bar below

local function exists(path)
  local file = io.open(path)
  if file then file:close() end
  return file ~= nil
end

-- Runs a program in a process of its own. Returns the numbers that it writes to its first argument, or nothing if it fails.
local function run(environment, program, ...)
  local path = os.tmpname()
  local ok = os.execute(("env %s %s %s %s"):format(environment, program, path, table.concat({...}, " ")))
  local file = assert(io.open(path))
  local text = file:read "a"
  file:close()
  os.remove(path)
  local numbers = {}
  for n in text:gmatch "%d+" do numbers[#numbers + 1] = math.tointeger(n) end
  return table.unpack(ok and numbers or {})
end

local function part(environment, name, ...) return run(environment, ("%s tests/bench/%s.lua"):format(ME, name), ...) end

local function skipped(why, ...)
  print("skipped: " .. why)
  for _, name in ipairs {...} do out:record(name, 0) end
end

-- A part that failed counts as one with nothing done and something wrong.
local function bars(done, least, wrong, n, bad)
  out:bar(done, n or 0, ">=", least)
  out:bar(wrong, bad or 1e9, "<=", 0)
end

-- Makes a directory, and returns its path.
local function directory()
  local path = os.tmpname()
  os.remove(path)
  os.execute("mkdir " .. path)
  return path
end

local function random_schedules()
  if not exists "/etc/OpenCL/vendors/pocl.icd" then
    return skipped("pocl is not installed (pocl-opencl-icd)", "gpu.random_cases", "gpu.wrong")
  end
  local seed, cache = tonumber(os.getenv "NW_GPU_SEED") or os.time() % 100003, directory()
  bars("gpu.random_cases", 500, "gpu.wrong", part("OCL_ICD_VENDORS=pocl.icd POCL_CACHE_DIR=" .. cache, "gpu/random", CASES, seed))
  os.execute("rm -rf " .. cache)
end

local function fused_pairs()
  if not exists "/etc/OpenCL/vendors/pocl.icd" then
    return skipped("pocl is not installed (pocl-opencl-icd)", "gpu.fused_cases", "gpu.fused_wrong")
  end
  local seed, cache = tonumber(os.getenv "NW_GPU_SEED") or os.time() % 100003, directory()
  local environment = "OCL_ICD_VENDORS=pocl.icd POCL_CACHE_DIR=" .. cache
  bars("gpu.fused_cases", 100, "gpu.fused_wrong", part(environment, "gpu/fused", 120, seed))
  os.execute("rm -rf " .. cache)
end

local function oclgrind()
  if not exists(OCLGRIND) then
    return skipped("Oclgrind is not installed (oclgrind)", "gpu.oclgrind_kernels", "gpu.oclgrind_mismatches", "gpu.false_races")
  end
  local dir = directory()
  local script, counts = dir .. "/worker", dir .. "/counts"
  local file = assert(io.open(script, "w"))
  file:write(("#!/bin/sh\nexec %s/%s >%s 2>&1\n"):format(os.getenv "PWD", WORKER, counts))
  file:close()
  os.execute("chmod +x " .. script)
  local environment = ("OCL_ICD_VENDORS=%s OCLGRIND_INST_COUNTS=1 OCLGRIND_BUILD_OPTIONS=-cl-opt-disable "
    .. "NESTWRIGHT_OPENCL_WORKER=%s"):format(OCLGRIND, script)
  local n, wrong, false_races = part(environment, "gpu/oclgrind", counts)
  bars("gpu.oclgrind_kernels", 25, "gpu.oclgrind_mismatches", n, wrong)
  out:bar("gpu.false_races", false_races or 1e9, "<=", 0)
  os.execute("rm -rf " .. dir)
end

-- Compares the races that both find in programs with planted mistakes. Oclgrind reports also writes of equal values.
local function planted()
  if not exists(OCLGRIND) then
    return skipped("Oclgrind is not installed (oclgrind)", "gpu.races_planted", "gpu.races_missed")
  end
  local dir = directory()
  local log, programs = dir .. "/log", require "gpu.planted"(dir)
  local environment = ("OCL_ICD_VENDORS=%s OCLGRIND_BUILD_OPTIONS=-cl-opt-disable OCLGRIND_DATA_RACES=1 OCLGRIND_UNIFORM_WRITES=1 "
    .. "OCLGRIND_MAX_ERRORS=10 OCLGRIND_LOG=%s NESTWRIGHT_OPENCL_WORKER=%s/%s"):format(OCLGRIND, log, os.getenv "PWD", WORKER)
  local races, missed, unsound = run(environment, PLANTED, log, table.unpack(programs))
  bars("gpu.races_planted", 60, "gpu.races_missed", races, missed)
  out:bar("gpu.false_races_planted", unsound or 1e9, "<=", 0)
  os.execute("rm -rf " .. dir)
end

oclgrind()
planted()
random_schedules()
fused_pairs()
require "gpu.simulated"(out)
if require "ptxas".path() then
  require "gpu.ptx"(out)
else
  skipped("ptxas is not in PATH nor in /usr/local/cuda*/bin", "gpu.ptx_rejected")
end
local tiles, mismatches = require "gpu.tensor"(tonumber(os.getenv "NW_GPU_SEED") or os.time() % 100003)
out:bar("gpu.tensor_core_tiles", tiles, ">=", 2200)
out:bar("gpu.tensor_core_mismatches", mismatches, "<=", 0)
require "gpu.partition"(out)
local configurations, wrong = require "occupancy_answers".compare()
out:bar("gpu.occupancy_cases", configurations, ">=", 2000)
out:bar("gpu.occupancy_mismatches", #wrong, "<=", 0)
for _, text in ipairs(wrong) do print("  " .. text) end
local order, median, worst = require "gpu.staircase".compare()
out:bar("gpu.staircase_order", order, ">=", 1)
out:bar("gpu.staircase_error", median, "<=", 0.25)
out:bar("gpu.staircase_error_worst", worst, "<=", 0.5)
local share, turns, sectors = require "gpu.lesson"()
out:bar("gpu.gemm_model_of_peak", share, ">=", 0.75)
out:bar("gpu.gemm_turns_beyond_least", turns, "<=", 0)
out:bar("gpu.gemm_sectors_beyond_least", sectors, "<=", 0)
out:close()
