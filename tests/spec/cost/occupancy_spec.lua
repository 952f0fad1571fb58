--- Tests how many blocks run at the same time, and the pictures of it: occupancy, waves, the roofline of a GPU.
local nw = require "nestwright"
local answers = require "occupancy_answers"
local support = require "support"
local fails = support.fails

-- A vector of n elements in blocks of 256 threads.
local function vector(n, target)
  local X = nw.placeholder({n}, "f32", "X")
  local s = nw.schedule(nw.compute({n}, function(i) return X(i) * 1.5 + 0.5 end, "Y"), {target = target or "a100"})
  s:split("i", 256)
  s:bind("i_o", "blockIdx.x")
  s:bind("i_i", "threadIdx.x")
  return s
end

-- A product of matrices in tiles of shared memory; `size` elements along each side of a tile.
local function product(n, size, target)
  local A, B = nw.placeholder({n, n}, "f32", "A"), nw.placeholder({n, n}, "f32", "B")
  local k = nw.reduce_axis(n, "k")
  local C = nw.compute({n, n}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
  local s = nw.schedule(C, {target = target or "a100"})
  s:tile("i", "j", size, size)
  s:bind("i_o", "blockIdx.y")
  s:bind("j_o", "blockIdx.x")
  s:bind("i_i", "threadIdx.y")
  s:bind("j_i", "threadIdx.x")
  s:split("k", size)
  for _, name in ipairs {"A", "B"} do
    s:cache_read(name, "shared", {"C"}, {at = "k_o"})
    local l = s:loops(name .. "_shared")
    s:bind(l[#l - 1], "threadIdx.y")
    s:bind(l[#l], "threadIdx.x")
  end
  return s
end

describe("the occupancy", function()
  it("is that of NVIDIA's cuda_occupancy.h", function()
    local n, wrong = answers.compare()
    assert.is_true(n >= 2000, n)
    assert.same({}, wrong)
  end)

  it("leaves registers for all threads of a block", function() -- ptxas would spill the rest
    local s = product(256, 32)
    local k = s:gpu_counts({ptxas = false}).kernels[1]
    assert.is_true(k.registers <= 64 and k.resident >= 1)
  end)
end)

describe("the picture of the occupancy", function()
  it("has a step for each number of blocks, and says what would let more run", function()
    local p = nw.occupancy({threads = 256, registers = 40, shared = 8192}, {machine = "a100"})
    assert.truthy(p.caption:find("256 threads, 40 registers and 8 KiB of shared memory: 6 blocks at the same time = 48 of 64 warps "
      .. "(75 %), limited by registers", 1, true), p.caption)
    assert.truthy(p.caption:find("with at most 32 registers, 8 blocks", 1, true), p.caption)
    assert.same({"registers", 1, 32, 8, "warps"}, p.rows[1])
    assert.same({"registers", 33, 40, 6, "registers"}, p.rows[2])
    support.picture(p)
  end)

  it("takes the numbers of a schedule", function()
    local p = nw.occupancy(product(256, 16))
    assert.truthy(p.caption:find("^kernel 1: blocks of 256 threads, %d+ registers and 2 KiB of shared memory"), p.caption)
    support.picture(p)
  end)

  it("is zero if the registers of a block do not fit, and says what would fit", function()
    local p = nw.occupancy({threads = 1024, registers = 255}, {machine = "a100"})
    assert.truthy(p.caption:find("0 blocks at the same time = 0 of 64 warps (0 %), limited by registers", 1, true), p.caption)
    assert.truthy(p.caption:find("More run with at most 64 registers, 1 block", 1, true), p.caption)
    support.picture(p)
  end)

  it("refuses what no block can have", function()
    fails("threads: 2048 is not in 1..1024", "range", nw.occupancy, {threads = 2048}, {machine = "a100"})
    fails("shared: 65537 is not in 0..65536", "range", nw.occupancy, {threads = 32, shared = 65537}, {machine = "t4"})
    fails("what.threads: expected a whole number, got nil", "invalid", nw.occupancy, {registers = 3}, {machine = "t4"})
    fails("no GPU is given", "invalid", nw.occupancy, {threads = 32})
    fails("zen5 is not a GPU", "invalid", nw.occupancy, {threads = 32}, {machine = "zen5"})
  end)
end)

describe("the picture of waves", function()
  it("has full waves and a last one", function() -- 108 multiprocessors run 8 blocks each: 864 in a wave
    local p = nw.waves(vector(256 * 2000))
    assert.truthy(p.caption:find("2000 blocks; 108 multiprocessors run 8 blocks each, so a wave has 864 blocks: 2.31 waves", 1,
      true), p.caption)
    assert.truthy(p.caption:find("272 blocks are left: 56 multiprocessors have 3 blocks, and 52 have 2", 1, true), p.caption)
    assert.same({0, 107, 8}, {p.rows[1][3], p.rows[1][4], p.rows[1][5]})
    assert.same({56, 107, 2}, {p.rows[4][3], p.rows[4][4], p.rows[4][5]})
    support.picture(p)
  end)

  it("ends when the model says", function()
    for _, blocks in ipairs {1, 107, 108, 109, 864, 5000} do
      local s = vector(256 * blocks, "t4")
      local p, k = nw.waves(s), s:cost().kernels[1]
      local launch = k.limits[#k.limits].seconds
      assert.is_true(math.abs(p.rows[#p.rows][2] / (k.seconds - launch) - 1) < 1e-6)
    end
  end)

  it("shows multiprocessors without a block", function()
    local p = nw.waves(product(64, 16))
    assert.truthy(p.caption:find("16 blocks are left: 16 multiprocessors have 1 block, and 92 have none", 1, true), p.caption)
    assert.same({16, 107, 0}, {p.rows[2][3], p.rows[2][4], p.rows[2][5]})
    support.picture(p)
  end)

  it("refuses grids without blocks or with too many waves", function()
    fails("2501 waves are too many", "limit", nw.waves, vector(256 * 2501 * 864))
    local err = fails("is not a GPU", "invalid", nw.waves, vector(256), {machine = "zen5"})
    assert.truthy(err.hint:find "a100")
  end)
end)

describe("the roofline of a GPU", function()
  it("has the roofs of the record, and predicted dots", function()
    local p = nw.roofline(product(256, 16))
    assert.truthy(p.caption:find("from the machine record a100", 1, true), p.caption)
    assert.truthy(p.caption:find("108 multiprocessors at 1.41 GHz", 1, true), p.caption)
    assert.truthy(p.caption:find "Ridges of a100, in flop/byte: .*memory 9.56")
    support.picture(p)
    assert.equal(9, #p.rows) -- of 13 versions, four have no threads
    fails("no version has loops that are bound", "invalid", nw.roofline, nw.schedule(nw.compute({4}, function(i) return i end, "X"),
      {target = "a100"}))
  end)

  it("counts the traffic of shared memory", function()
    local p = nw.roofline({product(256, 16)}, {level = "shared memory"})
    assert.equal(1, #p.rows)
    local bytes = 256 ^ 3 * 2 / p.rows[1][5]
    assert.is_true(bytes > 4 * 256 ^ 3) -- each multiply-add reads A and B
  end)
end)
