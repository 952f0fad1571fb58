--- Runs kernels on the NVIDIA GPU of this machine, through its driver, and compares the results with those of this host.
--- Prints PASS or FAIL for each kernel, with its time by the GPU's clock. The exit status is 0 if all pass.
--- usage: build/release/bin/nestwright tests/device/cuda.lua [KERNEL...]
package.path = "tests/spec/?.lua;" .. package.path
local nw = require "nestwright"
local core = require "nestwright.core"
local kernels = require "gpu_kernels"

local gpu = core.gpu()
print(("%s, compute capability %.1f, %.0f GB, CUDA %d.%d"):format(gpu.name, gpu.capability, gpu.memory / 1e9, gpu.driver // 1000,
  gpu.driver % 1000 // 10))

local target = nw.target "cuda"

-- Returns inputs with small numbers. Integers are from 0 to 15.
local function inputs_of(s, sizes)
  local data = {}
  for n, t in ipairs(s:inputs()) do
    local shape = {}
    for d, extent in ipairs(t.dims) do shape[d] = math.type(extent) and extent or sizes[tostring(extent)] end
    data[n] = nw.random(shape, t.dtype, {seed = n})
    if t.dtype:find "^[iu]" then
      for i = 1, data[n]:count() do data[n]:setflat(i, data[n]:getflat(i) % 16) end
    end
  end
  return data
end

-- Returns the largest difference between two arrays, relative to the largest number.
local function difference(a, b)
  local most, size = 0, 1
  for i = 1, a:count() do
    local x, y = a:getflat(i), b:getflat(i)
    if x ~= x or y ~= y then return math.huge end
    most, size = math.max(most, math.abs(x - y)), math.max(size, math.abs(x))
  end
  return most / size
end

local function float32(f) return function(t) return kernels.elementwise(t, "f32", f) end end

-- name, function that makes the schedule, largest difference, values of the symbolic sizes
local CASES = {
  {"add", kernels.add, 0},
  {"gemm", kernels.gemm, 1e-5},
  {"reduction", kernels.reduction, 1e-5},
  {"symbolic", kernels.symbolic, 1e-6, {M = 37, N = 1001}},
  {"vthread", kernels.vthread, 0},
  {"vectors", kernels.vectors, 0},
  {"register_tile", kernels.register_tile, 1e-5},
  {"histogram", kernels.histogram, 0},
  {"histogram_f32", function(t) return kernels.histogram(t, "f32") end, 0},
  {"async", kernels.async, 1e-5},
  {"large_shared", kernels.large_shared, 0},
  {"halves", function(t) return kernels.elementwise(t, "f16", function(a, b) return a * b + a end) end, 0},
  {"bfloats", function(t) return kernels.elementwise(t, "bf16", function(a, b) return a * b + a end) end, 0},
  {"doubles", function(t) return kernels.elementwise(t, "f64", function(a, b) return a / (b + 2) - a end) end, 0},
  {"exp", float32(function(a) return nw.exp(a * 4) end), 1e-6},
  {"log", float32(function(a, b) return nw.log(nw.abs(a) + nw.abs(b) + 1e-3) end), 1e-6},
  {"tanh", float32(function(a) return nw.tanh(a * 3) end), 1e-6},
  {"erf", float32(function(a) return nw.erf(a * 2) end), 1e-6},
  {"sqrt", float32(function(a) return nw.sqrt(nw.abs(a)) end), 0},
}

local wanted = {}
for _, name in ipairs(arg or {}) do wanted[name] = true end

local function run(case)
  local name, make, limit, sizes = table.unpack(case, 1, 4)
  local s, out = make(target)
  local data = inputs_of(s, sizes)
  local f = s:build()
  local got = f(table.unpack(data))
  local want = nw.schedule(out):build()(table.unpack(data))
  local far = difference(want, got)
  local time = f:time(table.unpack(data))
  print(("%s %-14s difference %.2g (at most %.2g), %.3f us"):format(far <= limit and "PASS" or "FAIL", name, far, limit,
    time.median * 1e6))
  return far <= limit
end

local failed = 0
for _, case in ipairs(CASES) do
  if not next(wanted) or wanted[case[1]] then
    local ok, good = pcall(run, case)
    if not ok then print(("FAIL %-14s %s"):format(case[1], tostring(good))) end
    if not ok or not good then failed = failed + 1 end
  end
end
print(failed == 0 and "all kernels pass" or ("%d kernels fail"):format(failed))
os.exit(failed == 0)
