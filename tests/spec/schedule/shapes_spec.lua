--- Tests the tuned GEMM of the benches on shapes for which it was not tuned. The same steps must be legal and give right results
--- for all shapes. If the tiles divide the shape, the program must have no conditions.
local nw = require "nestwright"
local here = debug.getinfo(1, "S").source:match "^@(.*)/[^/]*$" or "tests/spec/schedule"
package.path = here .. "/../../bench/?.lua;" .. package.path
local schedules = require "_schedules"

local SHAPES = {
  -- Each of M, N and K has all these values: 1, 2, 3, 7, 8, 13, 31, 32, 33, 97, 127, 128, 131, 257, 509, 1031.
  {1, 1, 1}, {1, 1, 2}, {1, 2, 1}, {2, 1, 1}, {1, 1031, 1}, {1031, 1, 1}, {1, 1, 1031}, {2, 3, 7}, {3, 7, 2}, {7, 2, 3},
  {8, 8, 8}, {8, 13, 31}, {13, 31, 8}, {31, 8, 13}, {32, 32, 32}, {31, 31, 31}, {33, 33, 33}, {32, 33, 97}, {33, 97, 32},
  {97, 32, 33}, {127, 128, 131}, {128, 131, 127}, {131, 127, 128}, {97, 97, 97}, {127, 127, 127}, {128, 128, 128},
  {131, 131, 131}, {257, 509, 3}, {509, 3, 257}, {3, 257, 509}, {257, 13, 131}, {13, 257, 1031}, {1031, 13, 257},
  {7, 1031, 509}, {509, 257, 33}, {33, 509, 257}, {1031, 7, 97}, {509, 509, 509}, {2, 1031, 1031}, {1031, 33, 1031},
  {1031, 1031, 127}, {1031, 1031, 1031},
}

-- Returns an array of whole numbers, so that every order of summation gives the same bits.
local function whole(shape, seed)
  local R = nw.placeholder(shape, "f32", "R")
  local s = nw.schedule(nw.compute(shape, function(i, j) return nw.floor(R(i, j)) end, "W"))
  return s:build {threads = 1}(nw.random(shape, "f32", {seed = seed, lo = -4, hi = 4}))
end

-- Computes row by row with vectors along j, so that it has nothing in common with the tuned schedule.
local function plain(m, n, k)
  local C = schedules.matmul(m, n, k)
  local s = nw.schedule(C)
  local _, j_i = s:split("j", {factor = 8, tail = "guard"})
  s:reorder("i", "k", "j_o", j_i)
  s:vectorize(j_i)
  return s, C
end

local function check(m, n, k, threads)
  local a, b = whole({m, k}, 1), whole({k, n}, 2)
  local tuned = schedules.gemm({m, n, k}, threads):build {threads = threads}(a, b)
  local s, C = plain(m, n, k)
  local wanted = m * n * k <= 40000 and nw.evaluate(C, {a, b})[1] or s:build {threads = 1}(a, b)
  local equal, worst, at = nw.allclose(tuned, wanted, {rtol = 0, atol = 0})
  assert(equal, ("%d x %d x %d, %d threads: differs by %s at %s"):format(m, n, k, threads, worst, at))
end

describe("the tuned GEMM", function()
  for _, shape in ipairs(SHAPES) do
    local m, n, k = table.unpack(shape)
    it(("gives right results for %d x %d x %d"):format(m, n, k), function()
      check(m, n, k, 1)
      check(m, n, k, 2)
    end)
  end

  it("gives right results with symbolic sizes, where one kernel serves all shapes", function()
    local sizes = {nw.size "M", nw.size "N", nw.size "K"}
    for threads = 1, 2 do
      local f = schedules.gemm(sizes, threads, {mb = 64}):build {threads = threads}
      for _, shape in ipairs {{1, 1, 1}, {7, 31, 2}, {8, 32, 2}, {33, 97, 127}, {131, 257, 13}, {509, 3, 1031}} do
        local m, n, k = table.unpack(shape)
        local a, b = whole({m, k}, 1), whole({k, n}, 2)
        local wanted = plain(m, n, k):build {threads = 1}(a, b)
        assert(nw.allclose(f(a, b), wanted, {rtol = 0, atol = 0}), ("%d x %d x %d differs"):format(m, n, k))
      end
    end
  end)

  it("has no conditions at run time if the tiles divide the shape", function()
    for threads = 1, 2 do
      local text = tostring(schedules.gemm({256, 128, 64}, threads):show "lowered")
      assert.is_nil(text:find("if ", 1, true))
      assert.is_nil(text:find("; ", 1, true)) -- only a mask is printed with a semicolon
      assert.is_nil(text:find("tail", 1, true))
    end
  end)

  it("has no guards and no masks in full tiles for other shapes", function()
    local text = tostring(schedules.gemm({136, 97, 31}, 1):show "lowered")
    local full = text:match "alloc C_local(.-)\n[^\n]*%.tail"
    assert.truthy(full:find("fma", 1, true))
    for _, sign in ipairs {"if ", "; ", " < "} do assert.is_nil(full:find(sign, 1, true)) end
  end)
end)
