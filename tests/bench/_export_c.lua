--- Compares exported C texts, compiled as their first lines say, with the machine code of the same kernels, on one thread. The
--- figure is the geometric mean, over six kernels, of the time of our machine code divided by the time of the C program.
local nw = require "nestwright"
local peers = require "peers"
local bench = require "_bench"
local schedules = require "_schedules"

local ROUNDS = 25

local function random(...) return nw.random({...}, "f32", {seed = 1}) end
local function zeros(...) return nw.zeros({...}, "f32") end

-- The register tile of the product fills the vector registers: 26 of 32, or 12 of 16.
local function gemm()
  local wide = nw.machine().vector_bytes == 64
  local s = schedules.gemm({37, 1000, 513}, 1, {mr = wide and 13 or 6, nr = wide and 32 or 16})
  return s, {random(37, 513), random(513, 1000), zeros(37, 1000)}
end

local function blur(dtype)
  local A = nw.random({514, 1026}, dtype, {seed = 1, lo = 0, hi = dtype == "f32" and 1 or 1000})
  return schedules.blur(512, 1024, dtype, 1, {stream = false}), {A, nw.zeros({512, 1024}, dtype)}
end

local kernels = {
  {"gemm", gemm},
  {"depthwise", function()
    return schedules.depthwise(64, 56, 56, 1), {random(64, 56, 56), random(64, 3, 3), zeros(64, 56, 56)}
  end},
  {"blur_u16", function() return blur "u16" end},
  {"blur_f32", function() return blur "f32" end},
  {"conv1d", function() return schedules.conv1d(16384, 32), {random(16384), random(32), zeros(16384 + 31)} end},
  {"elementwise", function()
    return schedules.elementwise(4000000, 1), {random(4000000), random(4000000), zeros(4000000)}
  end},
}

local function compiled(f, name)
  local path = "build/bench/export_" .. name
  f:export(path .. ".c", {symbol = "exported"})
  local file <close> = assert(io.open(path .. ".c"))
  local flags = file:read "a":match "Compile it with: gcc ([^;]+);"
  assert(os.execute(("gcc %s -shared -fPIC -o %s.so %s.c -lm"):format(flags, path, path)))
  return "./" .. path .. ".so"
end

-- Runs both programs in turn. Returns the ratio of their times.
local function race(name, s, arrays)
  local f = s:build {threads = 1}
  local out = arrays[#arrays]
  local library, pointers, copy = compiled(f, name), {}, nw.zeros(out:shape(), out.dtype)
  for n, a in ipairs(arrays) do pointers[n] = (a == out and copy or a):pointer() end
  local function c(times) return peers.exported(library, "exported", times, table.unpack(pointers)) end
  f(table.unpack(arrays))
  c(1)
  assert(nw.allclose(copy, out, {rtol = 1e-5, atol = 1e-5}), "the results of the C program differ")
  local ours, theirs, call, calls = {}, {}, {table.unpack(arrays)}, bench.calls(c)
  call[#call + 1] = {reps = 3, warmup = 1, min_seconds = 0}
  for round = 1, ROUNDS do
    ours[round] = f:time(table.unpack(call)).min
    c(1)
    theirs[round] = math.min(c(calls), c(calls), c(calls))
  end
  local a, b = math.min(table.unpack(ours)), math.min(table.unpack(theirs))
  print(("export_c.%s: machine code %.1f us, C %.1f us"):format(name, 1e6 * a, 1e6 * b))
  return a / b
end

return function(out)
  local ratios = {}
  for n, kernel in ipairs(kernels) do
    ratios[n] = race(kernel[1], kernel[2]())
    out:bar("export_c." .. kernel[1], ratios[n])
  end
  out:bar("export_c.vs_jit", bench.geometric_mean(ratios), ">=", 0.87)
end
