--- Compares instructions of a warp with their definitions, on random tiles: each block of a launch has one tile. Runs on the
--- simulated GPU and, where there is one, on an NVIDIA GPU.
package.path = "tests/spec/?.lua;" .. package.path
local nw = require "nestwright"
local gemm = require "tensor_gemm"

local ACROSS, DOWN = 10, 20 -- 200 tiles

-- The bound of docs/tensor_cores.md.
local function bound(data, i, j, depth, columns)
  local sum = 0
  for k = 0, depth - 1 do
    sum = sum + math.abs(data[1]:getflat(i * depth + k + 1) * data[2]:getflat(k * columns + j + 1))
  end
  return (depth + 2) * 2.0 ^ -23 * sum * 1.01 -- the magnitudes of tf32 are rounded
end

-- Returns the number of tiles with a wrong element.
local function wrong_tiles(want, got, rows, columns, allowed)
  local bad = {}
  for at = 1, want:count() do
    local i, j = (at - 1) // (ACROSS * columns), (at - 1) % (ACROSS * columns)
    local close = math.abs(want:getflat(at) - got:getflat(at)) <= allowed(i, j) -- false for NaN
    if not close then bad[i // rows * ACROSS + j // columns] = true end
  end
  local n = 0
  for _ in pairs(bad) do n = n + 1 end
  return n
end

-- Returns the outputs of a schedule on each machine that is here.
local function results(make)
  local s, x = make "gpu"
  local out = {s:build()(table.unpack(x.data))}
  if pcall(nw.target, "cuda") then
    local on, y = make "cuda"
    out[2] = on:build()(table.unpack(y.data))
  end
  return out, nw.evaluate(x.C, x.data)[1], x
end

local function product(name, seed)
  local mma, depth = nw.tensor_core(name), gemm.shape(name)
  local out, want, x = results(function(target)
    return gemm.make(mma, {M = 16 * DOWN, N = 8 * ACROSS, K = depth, target = target, seed = seed})
  end)
  local bad = 0
  for _, got in ipairs(out) do
    bad = bad + wrong_tiles(want, got, 16, 8, function(i, j) return bound(x.data, i, j, depth, 8 * ACROSS) end)
  end
  return DOWN * ACROSS * #out, bad
end

local function load(name, seed)
  local it = nw.tensor_core(name)
  local out, want = results(function(target)
    return gemm.loaded(it, {across = ACROSS, down = DOWN, target = target, seed = seed})
  end)
  local shape, bad = it.args[2]:shape(), 0
  for _, got in ipairs(out) do
    bad = bad + wrong_tiles(want, got, shape[1], shape[2], function() return 0 end)
  end
  return DOWN * ACROSS * #out, bad
end

--- Returns the number of tiles, and of those that are wrong.
local function compare(seed)
  local tiles, bad = 0, 0
  for _, row in ipairs(nw.tensor_cores()) do
    local n, wrong = (row.name:find "^mma" and product or load)(row.name, seed)
    print(("%-26s %4d tiles, %d wrong"):format(row.name, n, wrong))
    tiles, bad = tiles + n, bad + wrong
  end
  return tiles, bad
end

return compare
