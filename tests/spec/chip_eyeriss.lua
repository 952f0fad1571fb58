--- Makes the convolution of a reference design on an accelerator like Eyeriss (Timeloop and Accelergy exercises, eyeriss_like):
--- 3 x 3 kernels at stride 2, over 3 channels.
local nw = require "nestwright"

local CHANNELS, KERNEL, COLUMNS = 3, 3, 14

-- Returns the tensors. The results are in tiles, and a tile is in blocks of 14 pixels of a row. Each pixel of a block has a column
-- of units. A unit of a column has a column of the kernel for one channel: it multiplies these weights by inputs, one after the
-- other, and adds the products (S0, S1, S2). Then the sums of the units of a column are added.
local function define(o)
  local rows, blocks, across = o.tile.rows, o.tile.blocks, o.columns // COLUMNS // o.tile.blocks
  local T, M, height, width = o.rows // rows * across, o.filters, 2 * rows, 2 * COLUMNS * blocks
  local t = {}
  t.I = nw.placeholder({CHANNELS, 2 * o.rows + 1, 2 * o.columns + 1}, "i8", "I")
  t.W = nw.placeholder({M, CHANNELS, KERNEL, KERNEL}, "i8", "W")
  t.G = nw.compute({T, CHANNELS, height + 1, width + 1}, function(n, c, y, x)
    return t.I(c, height * (n // across) + y, width * (n % across) + x)
  end, "G")
  t.F = nw.compute({T, rows, blocks, COLUMNS, CHANNELS, KERNEL, KERNEL}, function(n, p, b, q, c, r, s)
    return t.G(n, c, 2 * p + r, 2 * COLUMNS * b + 2 * q + s)
  end, "F")
  t.V = nw.compute({M, COLUMNS, CHANNELS, KERNEL, KERNEL}, function(m, _, c, r, s) return t.W(m, c, r, s) end, "V")
  local sums
  for r = 0, KERNEL - 1 do
    local before = sums
    sums = nw.compute({T, rows, blocks, M, COLUMNS, CHANNELS, KERNEL}, function(n, p, b, m, q, c, s)
      local product = nw.cast(t.F(n, p, b, q, c, r, s), "i16") * nw.cast(t.V(m, q, c, r, s), "i16")
      return before and before(n, p, b, m, q, c, s) + product or product
    end, "S" .. r)
    t[#t + 1] = sums
  end
  t.O = nw.compute({M, T, rows, blocks, COLUMNS}, function(m, n, p, b, q)
    local all = sums(n, p, b, m, q, 0, 0)
    for unit = 1, CHANNELS * KERNEL - 1 do all = all + sums(n, p, b, m, q, unit // KERNEL, unit % KERNEL) end
    return nw.cast(all, "i8")
  end, "O")
  return t
end

--- Returns the schedule, and the result. o: rows, columns and filters of the result; tile: rows, blocks of 14 columns, and filters
--- that the shared buffer and the memories of the units hold at the same time.
return function(o)
  local chip, t = nw.accelerator "eyeriss", define(o)
  local s = nw.schedule(t.O, {target = chip})
  local m, n, p, b, q = table.unpack(s:loops(t.O))
  local mo, mi = s:split(m, o.tile.filters)
  s:reorder(n, mo, p, b, mi, q)
  local OL = s:cache_write(t.O, "glb", {at = b})
  local half = s:split(s:loops(OL)[5], o.tile.filters // 2)
  for k = #t, 1, -1 do s:compute_at(t[k], half) end
  s:compute_at(t.F, b)
  s:compute_at(t.V, mo)
  s:compute_at(t.G, n)
  for k = 1, #t do s:set_scope(t[k], "psum") end
  for stage, scope in pairs {[t.F] = "ifmap", [t.V] = "weights", [t.G] = "glb"} do s:set_scope(stage, scope) end
  -- The outermost of the last `count` loops of a stage.
  local function nest(stage, count)
    local l = s:loops(stage)
    return l[#l - count + 1]
  end
  local copies = {{t.G, 4}, {t.V, 5}, {t.F, 7}}
  for _, copy in ipairs(copies) do s:tensorize(nest(copy[1], copy[2]), chip.copy) end
  for k = 1, #t do s:tensorize(nest(t[k], 3), k == 1 and chip.multiply or chip.multiply_add) end
  s:tensorize(nest(OL, 5), chip.collect)
  s:tensorize(nest(t.O, 2), chip.copy)
  s:storage_align(t.G, 0, 8, 0) -- the two copies of a tile share no word
  -- What the units need next is copied while they work.
  for _, copy in ipairs(copies) do s:double_buffer(copy[1]) end
  return s, t.O
end
