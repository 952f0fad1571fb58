--- Measures the simulated GPU: how many accesses of threads it simulates in a second, how long it takes to count the accesses of a
--- large product, and whether counts by classes of blocks are those of all blocks.
local nw = require "nestwright"

local function product(m, n, k)
  local A, B = nw.placeholder({m, k}, "f32", "A"), nw.placeholder({k, n}, "f32", "B")
  local r = nw.reduce_axis(k, "k")
  local C = nw.compute({m, n}, function(i, j) return nw.sum(A(i, r) * B(r, j), r) end, "C")
  return nw.schedule(C), C, A, B
end

-- Returns a product in which each thread computes one element.
local function naive(m, n, k)
  local s = product(m, n, k)
  s:tile("i", "j", 8, 32)
  s:bind("i_o", "blockIdx.y")
  s:bind("j_o", "blockIdx.x")
  s:bind("i_i", "threadIdx.y")
  s:bind("j_i", "threadIdx.x")
  return s
end

-- Returns a product in tiles of 16 x 16, which are copied to shared storage.
local function tiled(m, n, k)
  local s, C, A, B = product(m, n, k)
  s:tile("i", "j", 16, 16)
  s:split("k", 16)
  s:reorder("i_o", "j_o", "k_o", "i_i", "j_i", "k_i")
  s:bind("i_o", "blockIdx.y")
  s:bind("j_o", "blockIdx.x")
  for _, operand in ipairs {A, B} do
    local loops = s:loops(s:cache_read(operand, "shared", {C}, {at = "k_o"}))
    s:bind(loops[#loops - 1], "threadIdx.y")
    s:bind(loops[#loops], "threadIdx.x")
  end
  s:bind("i_i", "threadIdx.y")
  s:bind("j_i", "threadIdx.x")
  return s
end

-- Returns a matrix, transposed through tiles of 32 x 32 in shared storage. `pad`: elements added to each row of a tile.
local function transposed(m, n, pad)
  local A = nw.placeholder({n, m}, "f32", "A")
  local T = nw.compute({m, n}, function(i, j) return A(j, i) end, "T")
  local s = nw.schedule(T)
  s:tile("i", "j", 32, 32)
  s:bind("i_o", "blockIdx.y")
  s:bind("j_o", "blockIdx.x")
  local copy = s:cache_read(A, "shared", {T}, {at = "j_o"})
  local loops = s:loops(copy)
  s:bind(loops[#loops - 1], "threadIdx.y")
  s:bind(loops[#loops], "threadIdx.x")
  s:bind("i_i", "threadIdx.y")
  s:bind("j_i", "threadIdx.x")
  if pad > 0 then s:storage_align(copy, 0, 32, pad) end
  return s
end

local function inputs(s)
  local out = {}
  for n, t in ipairs(s:inputs()) do out[n] = nw.random(t:shape(), t.dtype, {seed = n}) end
  return out
end

-- Returns millions of accesses in a second, of the fastest of several simulations.
local function rate(s, options)
  local data, best = inputs(s), 0
  for _ = 1, 5 do
    local r, lanes = nw.simulate(s, data, options), 0
    assert(#r.findings == 0, tostring(r))
    for _, a in ipairs(r.accesses) do lanes = lanes + a.lanes end
    best = math.max(best, lanes / r.seconds / 1e6)
  end
  return best
end

local FIELDS = {"requests", "lanes", "sectors", "lines", "wavefronts"}

-- Returns the number of counts in which the classes of blocks differ from all blocks.
local function mismatches(s)
  local by, all, wrong = s:gpu_counts {ptxas = false}, s:gpu_counts {classes = false, ptxas = false}, 0
  for n, a in ipairs(by.accesses) do
    for _, field in ipairs(FIELDS) do wrong = wrong + (a[field] ~= all.accesses[n][field] and 1 or 0) end
    for degree = 1, 32 do wrong = wrong + (a.degrees[degree] ~= all.accesses[n].degrees[degree] and 1 or 0) end
  end
  for n, k in ipairs(by.kernels) do
    for name, times in pairs(k.instructions) do wrong = wrong + (times ~= all.kernels[n].instructions[name] and 1 or 0) end
  end
  return wrong
end

return function(out)
  local list = {naive(256, 256, 256), tiled(256, 256, 256)}
  local plain, cached = math.huge, math.huge
  for _, s in ipairs(list) do
    plain = math.min(plain, rate(s, {threads = 2, ptxas = false}))
    cached = math.min(cached, rate(s, {threads = 2, machine = "a100", caches = true, ptxas = false}))
  end
  out:bar("gpu.sim_million_accesses_per_s", plain, ">=", 200)
  out:bar("gpu.sim_cached_million_per_s", cached, ">=", 40)
  local r = naive(4096, 4096, 4096):gpu_counts {machine = "a100"}
  out:bar("gpu.count_gemm4096_s", r.seconds, "<=", 2)
  local wrong = 0
  for _, make in ipairs {naive, tiled} do
    wrong = wrong + mismatches(make(256, 256, 256)) + mismatches(make(300, 260, 130))
  end
  for pad = 0, 1 do wrong = wrong + mismatches(transposed(256, 256, pad)) + mismatches(transposed(300, 260, pad)) end
  out:bar("gpu.count_mismatches", wrong, "<=", 0)
end
