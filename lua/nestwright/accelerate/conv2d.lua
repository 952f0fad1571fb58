--- Convolutions on accelerators: the computation in blocks of channels, a schedule with virtual threads, and a choice of its tiles.
local chip = require "nestwright.accelerate.chip"
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local estimate = require "nestwright.accelerate.estimate"
local rows = require "nestwright.language.rows"

local conv2d = {}

-- ---- the machine

local find, words, bytes_of = chip.find, chip.words, chip.bytes

-- Returns what the machine has for a convolution: the product of tiles, and the memories of its operands and of the result.
local function parts_of(acc)
  local gemm = find(acc, "tensor", function(row) return row.form == "mk,nk->mn" or row.form == "mk,kn->mn" end)
  if not gemm then
    errors.fail("invalid", 'an instruction of kind tensor with form = "mk,nk->mn" or "mk,kn->mn"',
      "acc_conv2d: %s has no instruction of kind tensor whose form begins with mk", acc.name)
  end
  local from = words(gemm.from)
  local sum = words(gemm.to)[1]
  local alu = find(acc, "alu", function(row) return (" " .. row.from .. " "):find(" " .. sum .. " ", 1, true) end)
  local out = sum
  for _, memory in ipairs(alu and words(alu.to) or {}) do if memory ~= sum then out = memory end end
  return {gemm = gemm, input = from[1], weight = from[2] or from[1], sum = sum, out = out, alu = alu,
    fill = find(acc, "fill"), load = find(acc, "copy", function(row) return row.from == "global" end)}
end

-- ---- the computation

local function ceil(a, b) return (a + b - 1) // b end

-- Returns the tensors: input A[block of channels][y][x][channel], weights W[block of filters][block of channels][dy][dx][n, k or
-- k, n], and the result D[block of filters][y][x][filter].
local function define(nw, p, o)
  local n, k, pad = p.gemm.n, p.gemm.k, o.kernel // 2
  local size, blocks, filters = (o.height + 2 * pad - o.kernel) // o.stride + 1, ceil(o.channels, k), ceil(o.filters, n)
  local transposed = p.gemm.form == "mk,nk->mn"
  local A = nw.placeholder({blocks, o.height, o.height, k}, p.gemm.input, "A")
  local W = nw.placeholder({filters, blocks, o.kernel, o.kernel, transposed and n or k, transposed and k or n}, p.gemm.weight, "W")
  local P = nw.compute({blocks, o.height + 2 * pad, o.height + 2 * pad, k}, function(c, y, x, i)
    if pad == 0 then return A(c, y, x, i) end
    local inside = nw.all(nw.ge(y, pad), nw.lt(y, o.height + pad), nw.ge(x, pad), nw.lt(x, o.height + pad))
    return nw.select(inside, A(c, y - pad, x - pad, i), 0)
  end, "P")
  local c, dy, dx, i = nw.reduce_axis(blocks, "c"), nw.reduce_axis(o.kernel, "dy"), nw.reduce_axis(o.kernel, "dx"),
    nw.reduce_axis(k, "i")
  local C = nw.compute({filters, size, size, n}, function(f, y, x, j)
    local weight = transposed and W(f, c, dy, dx, j, i) or W(f, c, dy, dx, i, j)
    return nw.sum(nw.cast(P(c, y * o.stride + dy, x * o.stride + dx, i), p.gemm.sum) * nw.cast(weight, p.gemm.sum), {c, dy, dx, i})
  end, "C")
  local D = nw.compute({filters, size, size, n}, function(f, y, x, j)
    return nw.cast(nw.min(nw.max(C(f, y, x, j) >> o.shift, 0), 127), p.gemm.input)
  end, "D")
  return {A = A, W = W, P = P, C = C, D = D, size = size, blocks = blocks, filters = filters}
end

-- ---- tiles

local OPERATIONS = 4 -- number of operations of the ALU for each sum: a shift, a maximum, a minimum, and its copy or fill

local function divisors(n)
  local out = {}
  for d = 1, n do if n % d == 0 then out[#out + 1] = d end end
  return out
end

-- Returns the estimated cycles of a tile {f, y, x, c, keep}, or nil if the arrays of all threads do not fit. keep: the weights of
-- a thread's filters stay on the chip, for all tiles of the result.
local function estimated(acc, p, t, o, tile, threads)
  local n, k = p.gemm.n, p.gemm.k
  local rows_in, columns_in = (tile.y - 1) * o.stride + o.kernel, (tile.x - 1) * o.stride + o.kernel
  local input = tile.c * rows_in * columns_in * k
  local weight = tile.f * (tile.keep and t.blocks or tile.c) * o.kernel * o.kernel * n * k
  local sums = tile.f * tile.y * tile.x * n
  local need = {}
  local function add(memory, bytes) need[memory] = (need[memory] or 0) + threads * bytes end
  local copies = threads == 1 and 2 or 1 -- a single thread has two copies of what it loads
  add(p.input, copies * input)
  add(p.weight, (tile.keep and 1 or copies) * weight)
  add(p.sum, 4 * sums)
  add(p.out, sums)
  for memory, bytes in pairs(need) do if bytes > bytes_of(acc, memory) then return nil end end
  local rate = estimate.rate(acc, p.load)
  local tiles, steps = (t.filters // tile.f) * (t.size // tile.y) * (t.size // tile.x), t.blocks // tile.c
  local once = weight / rate + tile.f * p.load.latency
  local step = input / rate + tile.c * p.load.latency + (tile.keep and 0 or once)
  local products = tile.c * o.kernel * o.kernel * tile.f * tile.y * tile.x / p.gemm.m
  local gemm = steps * (products * p.gemm.interval + p.gemm.latency)
  local rest = OPERATIONS * sums / p.alu.lanes * p.alu.interval
  return estimate.cycles {blocks = tiles, steps = steps, step = step, gemm = gemm, rest = rest, first = once,
    store = sums / rate + tile.f * p.load.latency, kept = tile.keep and once * (t.filters // tile.f) or 0}
end

-- Adds the tiles that fit.
local function add_tiles(list, acc, p, t, o, threads)
  for _, f in ipairs(divisors(t.filters // threads)) do
    for _, y in ipairs(divisors(t.size)) do
      for _, x in ipairs(divisors(t.size)) do
        for _, c in ipairs(divisors(t.blocks)) do
          for _, keep in ipairs {false, true} do
            local tile = {f = f, y = y, x = x, c = c, keep = keep, threads = threads}
            local cycles = x % p.gemm.m == 0 and estimated(acc, p, t, o, tile, threads)
            if cycles then list[#list + 1] = {tile = tile, cycles = cycles} end
          end
        end
      end
    end
  end
end

-- Returns the tiles that fit, the one with the fewest estimated cycles first.
local function tiles_of(acc, p, t, o, threads)
  local list = {}
  for _, n in ipairs(threads) do add_tiles(list, acc, p, t, o, n) end
  table.sort(list, function(a, b) return a.cycles < b.cycles end)
  if #list == 0 then
    errors.fail("limit", "a machine with larger memories", "acc_conv2d: no tile fits into the memories of %s", acc.name)
  end
  return list
end

-- ---- the schedule

local function apply(s, acc, p, t, tile, threads)
  local f, y, x = table.unpack(s:loops(t.D), 1, 3)
  local fo, _ = s:split(f, tile.f)
  local yo, yi = s:split(y, tile.y)
  local xo, xi = s:split(x, tile.x)
  local fi = s:loops(t.D)[2]
  s:reorder(fo, yo, xo, fi, yi, xi)
  local root, thread = xo, fo
  if threads > 1 then
    _, thread = s:split(fo, threads)
    s:bind(thread, "vthread")
  end
  s:compute_at(t.C, root)
  s:set_scope(t.C, p.sum)
  local loops = s:loops(t.C)
  s:split(loops[#loops - 3], tile.c)
  loops = s:loops(t.C)
  local cf, cy, cx, cn, co, ci, dy, dx, i = table.unpack(loops, #loops - 8)
  s:reorder(co, ci, dy, dx, cf, cy, cx, cn, i)
  local init = s:decompose_reduction(t.C, co)
  s:compute_at(t.P, co)
  s:set_scope(t.P, p.input)
  local home = tile.keep and thread or co
  local weights = s:cache_read(t.W, p.weight, {at = home})
  if threads == 1 and t.blocks > tile.c then
    s:double_buffer(t.P)
    if not tile.keep then s:double_buffer(weights) end
  end
  local result = p.out ~= p.sum and s:cache_write(t.D, p.out, {at = root}) or nil
  if p.gemm.m > 1 then
    local _, tiles = s:split(cx, p.gemm.m)
    cn = tiles
  end
  -- The loop number n of a stage inside the loop in which it is computed.
  local function inside(stage, loop, n)
    local list = s:loops(stage)
    for k, l in ipairs(list) do if l == loop then return list[k + n] end end
    return list[n]
  end
  -- The ALU works on one block of filters after the other, so that a block is stored while the next one is computed.
  local load = acc[p.load.name]
  local nests = {{inside(init, root, 1), acc[p.fill.name]}, {inside(t.P, co, 1), load}, {inside(weights, home, 1), load},
    {cn, acc[p.gemm.name]}, {inside(result or t.D, root, 2), acc[p.alu.name]}}
  if result then nests[#nests + 1] = {inside(t.D, root, 2), load} end
  for _, stage in ipairs(s:stages()) do
    if stage.name:find "%.pre$" then nests[#nests + 1] = {inside(stage, root, 1), load} end
  end
  for _, nest in ipairs(nests) do s:tensorize(nest[1], nest[2]) end
end

-- Returns the schedule. The notes of its steps are not shown, since many schedules may be tried.
local function schedule(nw, acc, p, t, tile, threads)
  local s = nw.schedule(t.D, {target = acc})
  core.quietly(apply, s, acc, p, t, tile, threads)
  return s
end

local function whole(o, key, otherwise)
  local v = o[key]
  if v == nil then v = otherwise end
  if math.type(v) == "integer" and v >= (key == "shift" and 0 or 1) and v <= 1 << 16 then return v end
  errors.fail("invalid", "nw.acc_conv2d(vta, {height = 28, channels = 128, filters = 128, kernel = 3})",
    "acc_conv2d: %s: expected a whole number from 1 to 65536, got %s", key, tostring(v))
end

local KEYS = {"height", "channels", "filters", "kernel", "stride", "shift", "threads", "tile", "tries"}

local function make(nw, acc, options)
  if not require "nestwright.language.accelerator".is(acc) then
    errors.fail("type", 'nw.acc_conv2d(nw.accelerator "vta", {...})', "acc_conv2d: accelerator: expected a value of nw.accelerator")
  end
  local given = errors.options("acc_conv2d", errors.expect("acc_conv2d: options", options, "table"), KEYS)
  local o = {height = whole(given, "height"), channels = whole(given, "channels"), filters = whole(given, "filters"),
    kernel = whole(given, "kernel", 3), stride = whole(given, "stride", 1), shift = whole(given, "shift", 8)}
  local p = parts_of(acc)
  local t = define(nw, p, o)
  local threads = given.threads ~= nil and {whole(given, "threads")} or t.filters % 2 == 0 and {1, 2} or {1}
  if t.filters % threads[1] ~= 0 then
    errors.fail("invalid", "threads = 1", "acc_conv2d: threads: %d virtual threads do not divide %d blocks of filters", threads[1],
      t.filters)
  end
  local function answer(s, tile, n)
    return s, {input = t.A, weights = t.W, sums = t.C, result = t.D, tile = tile, threads = n}
  end
  if given.tile then
    local tile = errors.options("acc_conv2d: tile", given.tile, {"f", "y", "x", "c", "keep"})
    return answer(schedule(nw, acc, p, t, tile, threads[1]), tile, threads[1])
  end
  -- The estimates of good tiles are close together, so some of the best ones are simulated.
  local best, least, found
  for n, one in ipairs(tiles_of(acc, p, t, o, threads)) do
    if n > whole(given, "tries", 24) and best then break end
    local good, s = pcall(schedule, nw, acc, p, t, one.tile, one.tile.threads) -- layouts may need more room than was estimated
    local cycles = good and s:stream():run().cycles
    if cycles and (not least or cycles < least) then best, least, found = s, cycles, one.tile end
  end
  if not best then
    errors.fail("limit", "a machine with larger memories", "acc_conv2d: no tile fits into the memories of %s", acc.name)
  end
  return answer(best, found, found.threads)
end

function conv2d.install(nw)
  rows.define(nw, "nw", "accelerators", "acc_conv2d",
    "(accelerator: nw.accelerator, options: {height: integer, channels: integer, filters: integer, kernel?: integer, "
    .. "stride?: integer, shift?: integer, threads?: integer, tile?: table, tries?: integer}): nw.schedule, table",
    "A schedule of a two-dimensional convolution on an accelerator: height*height pixels with `channels` channels, kernel*kernel "
    .. "weights for each filter, padding kernel // 2; each sum is shifted right, and limited to 0..127. Channels and filters are "
    .. "in blocks, as the tiles of the product need them: the input is [block][y][x][channel]. tile: {f, y, x, c, keep}: blocks of "
    .. "filters, rows and columns of the result, and blocks of channels that a thread works on, and whether its weights stay on "
    .. "the chip. By default, it is the tile with the fewest simulated cycles among the `tries` (24) tiles with the best "
    .. "estimates. threads: virtual threads along the filters; a single thread has two copies of each array that it loads. Also "
    .. "returns input, weights, sums and result (tensors), tile, and threads.",
    function(acc, options) return make(nw, acc, options) end)
end

return conv2d
