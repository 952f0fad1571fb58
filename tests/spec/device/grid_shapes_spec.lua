--- Tests grids of other shapes than one thread for each element: two kernels in one grid, loops that stride over the grid, a
--- fixed number of blocks that take tiles in turn, and tiles in shared memory that are swizzled.
local nw = require "nestwright"
local support = require "support"
local pocl = require "pocl"

local function data_for(s)
  local data = {}
  for n, t in ipairs(s:inputs()) do data[n] = nw.random(t:shape(), t.dtype, {seed = n, lo = -2, hi = 2}) end
  return data
end

-- Checks that the definition, the interpreter and the simulated GPU agree.
local function agrees(s)
  assert(s:check())
  return support.simulates(s, data_for(s))
end

local function pair(m, n)
  local A, B = nw.placeholder({m}, "f32", "A"), nw.placeholder({n}, "f32", "B")
  local X = nw.compute({m}, function(i) return A(i) * 2 + 1 end, "X")
  local Y = nw.compute({n}, function(i) return B(n - 1 - i) * B(i) end, "Y")
  local s = nw.schedule({X, Y}, {target = "a100"})
  return s, s:loops(X)[1], s:loops(Y)[1]
end

local function by_blocks(m, n)
  local s, x, y = pair(m, n)
  local xo, xi = s:split(x, 32)
  local yo, yi = s:split(y, 16)
  s:bind(s:create_fused_loop(xo, yo), "blockIdx.x")
  s:bind(xi, "threadIdx.x")
  s:bind(yi, "threadIdx.x")
  return s
end

local function by_threads(m, n)
  local s, x, y = pair(m, n)
  local o, i = s:split(s:create_fused_loop(x, y), 32)
  s:bind(o, "blockIdx.x")
  s:bind(i, "threadIdx.x")
  return s
end

after_each(pocl.close)

describe("two kernels share one grid", function()
  it("by blocks, and by threads", function()
    for _, make in ipairs {by_blocks, by_threads} do
      for _, sizes in ipairs {{100, 70}, {1, 33}, {64, 64}} do
        local s = make(table.unpack(sizes))
        local report = agrees(s)
        assert.equal(1, #report.kernels)
        assert.equal(1, select(2, tostring(s:show "cuda"):gsub("__global__", "")))
      end
    end
  end)

  it("and each block runs the nest of its index", function()
    local s = by_blocks(100, 70)
    assert.equal([[
blockIdx.x for i_o_or_i_1_o in 0..9:
  if i_o_or_i_1_o < 4:
    threadIdx.x for i_i in 0..32:
      if 32*i_o_or_i_1_o + i_i < 100:
        X[32*i_o_or_i_1_o + i_i] = A[32*i_o_or_i_1_o + i_i]*2.0 + 1.0
  if 4 <= i_o_or_i_1_o:
    threadIdx.x for i_1_i in 0..16:
      if 16*i_o_or_i_1_o + i_1_i < 134:
        Y[16*i_o_or_i_1_o + i_1_i - 64] = B[133 - 16*i_o_or_i_1_o - i_1_i]*B[16*i_o_or_i_1_o + i_1_i - 64]
]], tostring(s) .. "\n")
    for _, a in ipairs(s:gpu_counts().accesses) do -- each access has the threads of one of the nests
      if a.write then assert.equal(a.buffer == "X" and 100 or 70, a.lanes) end
    end
  end)

  it("on the device of OpenCL", function()
    if pocl.missing() then return pending(pocl.missing()) end
    local said = pocl.run [[
      local nw = require "nestwright"
      local A, B = nw.placeholder({100}, "i32", "A"), nw.placeholder({70}, "i32", "B")
      local X = nw.compute({100}, function(i) return A(i) * 2 + 1 end, "X")
      local Y = nw.compute({70}, function(i) return B(69 - i) - B(i) end, "Y")
      local s = nw.schedule({X, Y}, {target = "opencl"})
      local xo, xi = s:split(s:loops(X)[1], 32)
      local yo, yi = s:split(s:loops(Y)[1], 16)
      s:bind(s:create_fused_loop(xo, yo), "blockIdx.x")
      s:bind(xi, "threadIdx.x")
      s:bind(yi, "threadIdx.x")
      print(s:check())
    ]]
    assert.truthy(said:find("170 outputs agree", 1, true), said)
  end)
end)

describe("a fixed number of blocks", function()
  it("strides over a vector of any size", function()
    local N = nw.size("N", {min = 1})
    local A = nw.placeholder({N}, "f32", "A")
    local s = nw.schedule(nw.compute({N}, function(i) return A(i) * 2 + 1 end, "X"), {target = "a100"})
    local io, t = s:split("i", 32)
    local o, b = s:split(io, 4)
    s:reorder(b, t, o)
    s:bind(b, "blockIdx.x")
    s:bind(t, "threadIdx.x")
    assert(s:check())
    local text = tostring(s:show "cuda")
    assert.truthy(text:find("A[128 * i_o_o + 32 * bx + tx]", 1, true), text)
    assert.truthy(text:find("<<<dim3(4, 1, 1), dim3(32, 1, 1)>>>", 1, true), text)
    for _, n in ipairs {1, 127, 128, 1000} do
      local a = nw.random({n}, "f32", {seed = n})
      local got = nw.simulate(s, {a}).outputs[1]
      for i = 1, n do assert.is_true(math.abs(got:getflat(i) - a:getflat(i) * 2 - 1) < 1e-6) end
    end
  end)

  it("takes the tiles of a product in turn", function()
    local s, C = support.gemm(48, 64, 32)
    s = s:retarget "a100"
    local io, jo, ii, ji = s:tile("i", "j", 16, 16)
    local o, b = s:split(s:fuse(io, jo), 5) -- 12 tiles for 5 blocks
    s:reorder(b, o, ii, ji)
    s:bind(b, "blockIdx.x")
    s:bind(ii, "threadIdx.y")
    s:bind(ji, "threadIdx.x")
    s:cache_write(C, "local", {at = ji})
    s:split("k", 16)
    for _, name in ipairs {"A", "B"} do
      s:cache_read(name, "shared", {"C_local"}, {at = "k_o"})
      local l = s:loops(name .. "_shared")
      s:bind(l[#l - 1], "threadIdx.y")
      s:bind(l[#l], "threadIdx.x")
    end
    local report = agrees(s)
    assert.equal(5, report.kernels[1].blocks)
    -- no loop is left that only waits
    assert.equal(2, select(2, tostring(s:show "cuda"):gsub("__syncthreads%(%)", "")))
  end)
end)

describe("a product of one row", function()
  it("has tiles in shared memory like a product of many rows", function()
    for _, rows in ipairs {1, 3, 33} do
      local s, C = support.gemm(rows, 64, 32)
      s = s:retarget "a100"
      local io, jo, ii, ji = s:tile("i", "j", 32, 32)
      local ti, ri = s:split(ii, 4)
      local tj, rj = s:split(ji, 4)
      s:reorder(ti, tj, ri, rj)
      s:bind(io, "blockIdx.y")
      s:bind(jo, "blockIdx.x")
      s:bind(ti, "threadIdx.y")
      s:bind(tj, "threadIdx.x")
      s:cache_write(C, "local", {at = tj})
      local l = s:loops "C_local"
      local ko, ki = s:split(l[#l], 8)
      s:reorder(ko, ki, l[#l - 2], l[#l - 1])
      for _, name in ipairs {"A", "B"} do
        local copy = s:cache_read(name, "shared", {"C_local"}, {at = ko})
        local c = s:loops(copy)
        s:bind(c[#c - 1], "threadIdx.y")
        s:bind(c[#c], "threadIdx.x")
      end
      agrees(s)
    end
  end)
end)

describe("a tile in shared memory", function()
  -- A transpose, whose reads of a column of the tile all fall into one bank.
  local function transpose()
    local A = nw.placeholder({64, 64}, "f32", "A")
    local T = nw.compute({64, 64}, function(i, j) return A(j, i) end, "T")
    local s = nw.schedule(T, {target = "a100"})
    local io, jo, ii, ji = s:tile("i", "j", 32, 32)
    local _, ty = s:split(ii, 8)
    s:bind(io, "blockIdx.y")
    s:bind(jo, "blockIdx.x")
    s:bind(ty, "threadIdx.y")
    s:bind(ji, "threadIdx.x")
    s:cache_read(A, "shared", {T}, {at = jo})
    local l = s:loops "A_shared"
    s:bind(l[#l], "threadIdx.x")
    local _, y = s:split(l[#l - 1], 8)
    s:bind(y, "threadIdx.y")
    return s
  end

  local function wavefronts(s)
    for _, a in ipairs(s:gpu_counts().accesses) do
      if a.buffer == "A_shared" and not a.write then return a.wavefronts / a.requests end
    end
  end

  it("is swizzled by a modulo, so that no banks collide", function()
    assert.equal(32, wavefronts(transpose()))
    local s = transpose()
    s:transform_layout("A_shared", function(i, j) return i, (i + j) % 32 end)
    assert.equal(1, wavefronts(s))
    agrees(s)
  end)

  it("keeps a layout that is one-to-one", function()
    local s = transpose()
    support.fails_saying("cannot change the layout of A_shared", function()
      s:transform_layout("A_shared", function(i, j) return i, (i + j // 2) % 32 end)
    end)
  end)
end)

describe("an array in a kernel", function()
  it("has a constant size if its extent is only bounded", function()
    local M = nw.size("M", {min = 1})
    local A = nw.placeholder({M, 32}, "f32", "A")
    local s = nw.schedule(nw.compute({M, 32}, function(i, j) return A(i, 31 - j) * 2 end, "C"), {target = "a100"})
    s:assume "M <= 6"
    nw.quietly(function() s:split("i", 16) end)
    s:bind("i_o", "blockIdx.x")
    s:bind("j", "threadIdx.x")
    local copy = s:cache_read(A, "shared", {"C"}, {at = "i_o"})
    local l = s:loops(copy)
    s:bind(l[#l], "threadIdx.x")
    local extent = tostring(s:show "lowered"):match "alloc A_shared%[(%w+)%]"
    assert.truthy(math.tointeger(tonumber(extent)) and tonumber(extent) >= 6 * 32, extent)
    assert.equal(192, s:gpu_counts({sizes = {M = 6}, ptxas = false}).kernels[1].shared_bytes // 4)
  end)
end)
