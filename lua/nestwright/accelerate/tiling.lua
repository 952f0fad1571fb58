--- Chooses blocks for s:partition_auto on an accelerator: whole tiles of an instruction that fit into the memories, and what runs
--- in the iterations that are left.
local chip = require "nestwright.accelerate.chip"
local estimate = require "nestwright.accelerate.estimate"

local tiling = {}

local function up(n, unit) return (n + unit - 1) // unit * unit end

local function bytes_of(dtype) return (tonumber(dtype:match "%d+") or 8) // 8 end

-- ---- memories

-- Returns the number of elements that an access uses if each axis of its stage runs over b[axis] iterations.
local function footprint(access, b)
  local all = 1
  for _, index in ipairs(access.index) do
    local extent = 1
    for v, c in ipairs(index) do extent = extent + math.abs(c) * (b[v] - 1) end
    all = all * extent
  end
  return all
end

-- Returns the bytes that a plan needs in each memory.
local function needs(x, b, threads)
  local w, need, copies = x.work, {}, threads == 1 and x.product and 2 or 1
  local function add(memory, bytes) need[memory] = (need[memory] or 0) + threads * bytes end
  local elements = 1
  for a = 1, #w.axes do elements = elements * b[a] end
  if w.sum then
    for n, operand in ipairs(w.operands) do
      local p = x.product
      local memory = not p and x.ways.sum or ((n == 1) == not x.swapped and p.input or p.weight)
      add(memory, copies * footprint(operand.read, b) * bytes_of(operand.read.dtype))
    end
    add(x.ways.sum, elements * bytes_of(w.sum_facts.result.dtype))
  end
  for _, read in ipairs(w.others) do add(x.ways.sum, footprint(read, b) * bytes_of(read.dtype)) end
  if x.operates or x.ways.out ~= x.ways.sum or not w.sum then add(x.ways.out, elements * bytes_of(w.facts.result.dtype)) end
  return need
end

local function fits(x, b, threads)
  for memory, bytes in pairs(needs(x, b, threads)) do
    if bytes > chip.bytes(x.acc, memory) then return false end
  end
  return true
end

-- ---- an estimate

local function cycles_of(x, b)
  local w, p = x.work, x.product
  local load = chip.copy(x.acc, "global", p and p.input or x.ways.sum)
  local rate, blocks, elements = estimate.rate(x.acc, load), 1, 1
  for a, axis in ipairs(w.axes) do
    blocks, elements = blocks * ((axis.extent + b[a] - 1) // b[a]), elements * b[a]
  end
  local step, steps, gemm, all = 0, 1, 0, elements
  for v = #w.axes + 1, #b do all = all * b[v] end
  for _, operand in ipairs(w.operands) do
    step = step + footprint(operand.read, b) * bytes_of(operand.read.dtype) / rate + load.latency
  end
  if not w.sum then
    for _, read in ipairs(w.others) do step = step + footprint(read, b) * bytes_of(read.dtype) / rate + load.latency end
  end
  local alu = x.ways.alu
  if p then
    steps = (w.sum_facts.axes[x.letters.k].extent + b[x.letters.k] - 1) // b[x.letters.k]
    gemm = steps * (all / p.macs * p.row.interval + p.row.latency)
  elseif w.sum then
    gemm = 2 * all / alu.lanes * alu.interval + alu.latency
  end
  local rest = alu and (x.operates or x.ways.out ~= x.ways.sum) and 2 * elements / alu.lanes * alu.interval or 0
  return estimate.cycles {blocks = blocks, steps = steps, step = step, gemm = gemm, rest = rest, kept = 0,
    store = elements * bytes_of(w.facts.result.dtype) / rate + x.ways.store.latency}
end

-- ---- candidates

-- Returns numbers of tiles for the blocks of an axis with `tiles` tiles: powers of two, and what makes few blocks of equal size.
local function counts(tiles)
  local seen, out = {}, {}
  local function add(n)
    if n >= 1 and n <= tiles and not seen[n] then seen[n], out[#out + 1] = true, n end
  end
  local n = 1
  while n < tiles do add(n) n = 2 * n end
  for d = 1, 4 do add((tiles + d - 1) // d) end
  table.sort(out)
  return out
end

local MOST = 200000 -- candidates

--- Returns the blocks that fit, the one with the fewest estimated cycles first: {b (iterations of a block along each axis of the
--- sum), threads, cycles}.
function tiling.candidates(x)
  local f, choices, all = x.work.sum_facts or x.work.facts, {}, 1
  for v, axis in ipairs(f.axes) do
    local unit, list = x.unit[v] or 1, {}
    if axis.reduced and not (x.letters and v == x.letters.k) then
      list[1] = axis.extent
    else
      for n, c in ipairs(counts(up(axis.extent, unit) // unit)) do list[n] = c * unit end
    end
    choices[v] = list
    all = all * #list
  end
  local out, b, few = {}, {}, all > MOST
  local function visit(v)
    if v > #choices then
      for threads = 1, 2 do
        if fits(x, b, threads) then
          out[#out + 1] = {b = table.move(b, 1, #b, 1, {}), threads = threads, cycles = cycles_of(x, b)}
        end
      end
      return
    end
    for n, c in ipairs(choices[v]) do
      if not few or n == 1 or n == #choices[v] then
        b[v] = c
        visit(v + 1)
      end
    end
  end
  visit(1)
  table.sort(out, function(p, q)
    if p.cycles ~= q.cycles then return p.cycles < q.cycles end
    for v = #p.b, 1, -1 do -- long rows are consecutive in memory
      if p.b[v] ~= q.b[v] then return p.b[v] > q.b[v] end
    end
    return p.threads < q.threads
  end)
  return out
end

-- ---- segments

-- Divides an axis into segments: whole blocks (main), whole tiles that are left (rest), and an incomplete tile, which is padded, or
-- a segment of its own (edge).
local function segments(extent, block, unit, pads)
  local out, at = {}, 0
  local function add(kind, length, size)
    if length > 0 then
      out[#out + 1] = {kind = kind, from = at, length = length, block = size, unit = unit}
      at = at + length
    end
  end
  add("main", extent // block * block, block)
  local left = extent - at
  local whole = pads and up(left, unit) or left // unit * unit
  if pads then
    add(left % unit > 0 and "padded" or "rest", left, whole)
  else
    add("rest", whole, whole)
    add("edge", left - whole, left - whole)
  end
  return out
end

--- Returns the plan for blocks (placing.lua), or nil and why nothing executes a piece.
function tiling.plan(x, c)
  local w, pads = x.work, x.strategy ~= "cut"
  local f = w.sum_facts or w.facts
  local plan = {strategy = x.strategy, axes = {}, letters = x.letters, threads = c.threads, double = true, swapped = x.swapped,
    operates = x.operates, b = c.b}
  for a, axis in ipairs(w.axes) do plan.axes[a] = segments(axis.extent, c.b[a], x.unit[a] or 1, pads) end
  if not x.product then return plan end
  local k = f.axes[x.letters.k]
  local summed = segments(pads and up(k.extent, x.unit[x.letters.k]) or k.extent, c.b[x.letters.k], x.unit[x.letters.k], pads)
  if pads and x.odd then
    plan.multiples = {}
    for v in ipairs(f.axes) do plan.multiples[v] = x.unit[v] or 1 end
  end
  plan.run = x.runs
  -- Returns the segments of the summed axis for a piece. The ALU sums all of it at once.
  function plan.summed(at)
    return x.runs(at) and summed or {{kind = "main", from = 0, length = k.extent, block = k.extent, unit = 1}}
  end
  return plan
end

return tiling
