--- Compares the cycles of simulated streams with formulas worked out by hand. n tasks each load a tile (L cycles), compute on it (C
--- cycles) and store it (S cycles). Virtual threads give each task a part of the memory of its own.
package.loaded["nestwright.script"] = nil
local nw = require "nestwright"

local TILE = 8 -- elements of a tile, 4 bytes each

-- Returns an accelerator whose copies and products of a tile take the given cycles. more: further fields (load, compute and store
-- are the queues of instructions before the units; see below).
local function accelerator(L, C, S, more)
  more = more or {}
  local bytes = 4 * TILE
  local function copy(unit, from, to, cycles)
    -- with a shared port, the time of a copy is that of its bytes; otherwise the bytes take one cycle
    return {name = "dma", kind = "copy", unit = unit, from = from, to = to, latency = more.port and 0 or cycles - 1,
      bytes_per_cycle = more.port and bytes / cycles or bytes}
  end
  return nw.accelerator {
    name = "worked_out", about = "an accelerator for formulas", kind = "accelerator", clock = 1,
    memory = {bytes = 1 << 30, bandwidth = more.port and bytes / L or 1e6},
    accelerator = {
      rows = 1, columns = 1, load_per_cycle = 1, fetch = more.fetch or 0,
      buffers = {{name = "inp", bytes = 1 << 16}, {name = "out", bytes = 1 << 16}},
      units = {{name = "load", queue = more.queue or 0}, {name = "compute", queue = more.queue or 0},
        {name = "store", queue = more.queue or 0}},
      queues = {{from = "load", to = "compute", tokens = more.tokens or 0}, {from = "compute", to = "load"},
        {from = "compute", to = "store"}, {from = "store", to = "compute"}},
      instructions = {
        copy("load", "global", "inp", L), copy("store", "out", "global", S), copy("load", "global", "global", L),
        {name = "alu", kind = "alu", unit = "compute", from = "inp out", to = "out", lanes = TILE, interval = 1, latency = C - 1},
      },
    },
  }
end

-- Returns the stream of n tasks. threads: how many tiles have a place of their own at the same time.
local function tasks(chip, n, threads)
  local A = nw.placeholder({n * TILE}, "i32", "A")
  local B = nw.compute({n * TILE}, function(i) return A(i) + 1 end, "B")
  local s = nw.schedule(B, {target = chip})
  local at = s:split("i", TILE)
  if threads > 1 then
    local _, v = s:split(at, threads)
    s:bind(v, "vthread")
    at = v
  end
  local BL = s:cache_write(B, "out", {at = at})
  local AL = s:cache_read(A, "inp", {at = at})
  for stage, instruction in pairs {[AL] = chip.dma, [BL] = chip.alu, [B] = chip.dma} do
    local l = s:loops(stage)
    s:tensorize(l[#l], instruction)
  end
  return s:stream()
end

-- Returns the stream of n copies from memory to memory, which one unit executes.
local function copies(chip, n)
  local A = nw.placeholder({n * TILE}, "i32", "A")
  local s = nw.schedule(nw.compute({n * TILE}, function(i) return A(i) end, "B"), {target = chip})
  local _, i = s:split("i", TILE)
  s:tensorize(i, chip.dma)
  return s:stream()
end

-- Returns the stream of n operations on a tile that is loaded once and stored once.
local function operations(chip, n)
  local A = nw.placeholder({n * TILE}, "i32", "A")
  local B = nw.compute({n * TILE}, function(i) return A(i) + 1 end, "B")
  local s = nw.schedule(B, {target = chip})
  local BL, AL = s:cache_write(B, "out"), s:cache_read(A, "inp")
  local o, i = s:split(s:loops(BL)[1], TILE)
  assert(o)
  s:tensorize(i, chip.alu)
  s:tensorize(s:loops(AL)[1], chip.dma)
  s:tensorize(s:loops(B)[1], chip.dma)
  return s:stream()
end

local list = {}

-- Adds a case: a description, the stream, the mode, and what the formula gives: cycles, and busy cycles of the units if given.
local function case(name, stream, mode, cycles, busy, full)
  list[#list + 1] = {name = name, stream = stream, mode = mode, cycles = cycles, busy = busy, full = full}
end

local UNEVEN = {{5, 5, 5}, {9, 4, 2}, {3, 11, 4}, {2, 5, 13}, {7, 7, 3}, {1, 1, 1}}

local function make()
  for _, n in ipairs {1, 2, 7, 64} do
    for _, L in ipairs {1, 6} do case("pure load", copies(accelerator(L, 1, 1), n), "full", n * L, {n * L, 0, 0}) end
  end
  for _, n in ipairs {1, 5, 16} do
    for _, C in ipairs {1, 9} do
      -- the one copy moves n tiles, so its bytes take n cycles
      case("pure compute", operations(accelerator(4, C, 6), n), "full", (3 + n) + n * C + (5 + n), {3 + n, n * C, 5 + n})
    end
  end
  for _, t in ipairs(UNEVEN) do
    local L, C, S = table.unpack(t)
    local most = math.max(L, C, S)
    local chip = accelerator(L, C, S)
    for _, n in ipairs {2, 8} do
      local busy = {n * L, n * C, n * S}
      case("the units take turns", tasks(chip, n, 1), "monolithic", n * (L + C + S), busy)
      case("the units wait for no token", tasks(chip, n, 1), "decoupled", n * most, busy)
      case("only later units wait", tasks(chip, n, 1), "raw", L + C + S + (n - 1) * most, busy)
      -- The next load waits for the product, and the next product for the load and the store. For S <= L: n (L + C) + S.
      case("one buffer", tasks(chip, n, 1), "full", L + n * C + (n - 1) * math.max(L, S) + S, busy)
      for _, k in ipairs {2, 4, 8} do
        if k <= n then case(k .. " virtual threads", tasks(chip, n, k), "full", L + C + S + (n - 1) * most, busy) end
      end
    end
  end
  for _, P in ipairs {4, 10} do
    for _, n in ipairs {2, 4, 12} do
      -- Loads and stores alternate on the port, which is never free: 2 n copies of P cycles.
      case("shared port", tasks(accelerator(P, P // 2, P, {port = true}), n, 2), "full", 2 * n * P)
    end
  end
  for _, F in ipairs {10, 25} do
    -- One instruction is fetched every F cycles, and each of them ends before the next one is fetched.
    for _, n in ipairs {2, 9} do case("fetch", tasks(accelerator(4, 7, 5, {fetch = F}), n, 1), "full", (3 * n - 1) * F + 5) end
  end
  for _, t in ipairs {{3, 10, 4}, {2, 20, 20}} do
    local L, C, S = table.unpack(t)
    for _, n in ipairs {4, 8} do
      -- A load waits with its token until the one before it is taken, that is, until the product before it begins. The first two
      -- tokens find room; the third waits from 3 L to L + C, and each later one C - L cycles.
      case("a queue for one token", tasks(accelerator(L, C, S, {tokens = 1}), n, n), "full", L + C + S + (n - 1) * C,
        {n * L, n * C, n * S}, (L + C - 3 * L) + (n - 3) * (C - L))
    end
  end
  -- One instruction waits before each unit. All loads come first in the stream, but only one of them waits, and the others are
  -- fetched as the loads begin; so the last load has begun before the first product is fetched.
  for _, n in ipairs {4, 8} do
    local L, C, S = 6, 2, 1
    case("a queue for one instruction", tasks(accelerator(L, C, S, {queue = 1}), n, n), "full",
      math.max((n - 1) * L, n * L) + C + S)
  end
end

--- Returns the number of cases, and a text for each case whose cycles differ from the formula.
return function()
  make()
  local wrong = {}
  for _, c in ipairs(list) do
    local r = c.stream:run {mode = c.mode}
    local got = {r.cycles}
    local want = {c.cycles}
    for u, cycles in ipairs(c.busy or {}) do got[#got + 1], want[#want + 1] = r.units[u].busy, cycles end
    if c.full then got[#got + 1], want[#want + 1] = r.units[1].full, c.full end
    local good = true
    for n, v in ipairs(want) do good = good and got[n] == v end
    if not good then
      wrong[#wrong + 1] = ("%s, %d instructions: %s cycles, not %s"):format(c.name, #c.stream, table.concat(got, ", "),
        table.concat(want, ", "))
    end
  end
  return #list, wrong
end
