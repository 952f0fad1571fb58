--- Collects the data of two pictures of kernels on a GPU: the occupancy of a multiprocessor, and the waves of blocks over time.
local caches = require "nestwright.cost.caches"
local core = require "nestwright.core"
local cost = require "nestwright.cost.cost"
local errors = require "nestwright.language.errors"
local hw = require "nestwright.hw.gpu"
local gpu_cost = require "nestwright.cost.gpu_cost"
local rows = require "nestwright.language.rows"
local sizes = require "nestwright.language.sizes"

local pictures = {}

local SCHEDULE = core.classes.schedule

-- Returns a whole number from `least` to `most`.
local function whole(what, value, name, least, most)
  local v = sizes.whole(what, value, name)
  if v < least or v > most then errors.fail("range", nil, "%s: %s: %d is not in %d..%d", what, name, v, least, most) end
  return v
end

local function machine_of(what, s, o)
  local m = cost.machine(s, o)
  if m.kind == "gpu" then return m end
  errors.fail("invalid", 'machine = "a100"; nw.machines() lists others', "%s: %s is not a GPU", what, m.name)
end

-- Returns the predicted cost of a schedule on a GPU, and the kernel that the options select: the longest one by default.
local function kernel_of(what, s, o, m)
  local c = gpu_cost.of(what, s, {sizes = o.sizes, caches = o.caches, schedule = o.schedule}, m)
  local _, number = gpu_cost.longest(c.kernels)
  if not number then errors.fail("invalid", nil, "%s: the schedule has no kernel", what) end
  if o.kernel ~= nil then number = whole(what, o.kernel, "kernel", 1, #c.kernels) end
  return c, number
end

-- ---- occupancy

-- Returns the kernel of a schedule: {name, threads, registers, shared, counted}.
local function kernel_numbers(s, o, m)
  local c, number = kernel_of("occupancy", s, o, m)
  local k, b = c.counts.kernels[number], c.kernels[number].block
  return {name = ("kernel %d"):format(number), threads = b[1] * b[2] * b[3], registers = k.registers, shared = k.shared_bytes,
    counted = k.assembled and "registers by ptxas" or "the registers are an estimate"}
end

local NUMBERS = {"threads", "registers", "shared"}

-- Returns the kernel that is given by its numbers.
local function given_numbers(what, m)
  local given = errors.options("occupancy", what, NUMBERS)
  local g = m.gpu
  return {name = "a kernel", threads = whole("occupancy", given.threads, "threads", 1, g.threads),
    registers = whole("occupancy", given.registers or 32, "registers", 1, g.registers_thread),
    shared = whole("occupancy", given.shared or 0, "shared", 0, g.shared_block)}
end

local function occupancy(what, options)
  local o = errors.options("occupancy", options, {"machine", "kernel", "sizes", "title"})
  local is_schedule = debug.getmetatable(what) == SCHEDULE
  if not is_schedule and o.machine == nil then
    errors.fail("invalid", 'machine = "a100"; nw.machines() lists others', "occupancy: machine: no GPU is given")
  end
  local m = machine_of("occupancy", is_schedule and what, o)
  local k = is_schedule and kernel_numbers(what, o, m) or given_numbers(what, m)
  local g = m.gpu
  local title = errors.expect("occupancy: title", o.title or ("Blocks at the same time on %s"):format(hw.name(m)), "string")
  return require "nestwright.plots.gpu.occupancy".make {machine = hw.name(m), threads = k.threads, registers = k.registers,
    shared = k.shared, counted = k.counted, title_of = k.name, title = title, most_registers = g.registers_thread,
    most_shared = g.shared_block, most_warps = g.warps, unit = g.shared_unit, warps = (k.threads + g.warp - 1) // g.warp,
    of = function(registers, shared) return core.gpu_occupancy(m, k.threads, registers, shared) end}
end

-- ---- waves

local SHARED = {memory = true, ["L2 cache"] = true} -- by all multiprocessors

-- Returns the time of waves, divided by what they would take if only the multiprocessors limited them, and what else limits them.
local function stretch_of(k, seconds)
  local launch, by = 0, nil
  for _, limit in ipairs(k.limits) do
    if limit.name == "launch" then launch = limit.seconds end
    if SHARED[limit.name] and (not by or limit.seconds > by.seconds) then by = limit end
  end
  return math.max((k.seconds - launch) / seconds, 1), by.name
end

-- Returns the seconds of all waves of a launch, by the model of a multiprocessor.
local function waves_seconds(blocks, sms, k)
  local at_once = sms * k.resident
  local left = blocks % at_once
  local last = k.blocks_seconds[(left + sms - 1) // sms] or 0
  return blocks // at_once * k.blocks_seconds[k.resident] + last
end

local MOST_BLOCKS = 20000 -- in a picture

-- Returns the picture of a kernel whose blocks do not take equally long.
local function unequal(c, number, blocks, title)
  local k = c.kernels[number]
  if k.launches * blocks > MOST_BLOCKS then
    errors.fail("limit", "give smaller sizes", "waves: %d blocks of different kinds are too many: at most %d can be drawn",
      k.launches * blocks, MOST_BLOCKS)
  end
  local last = 0
  for _, b in ipairs(k.schedule) do last = math.max(last, b.to) end
  local stretch, by = stretch_of(k, last)
  return require "nestwright.plots.gpu.wave_blocks".make {machine = hw.name(c.machine), sms = c.machine.gpu.sms,
    blocks = k.schedule, resident = k.resident, kinds = k.kinds, number = number, stretch = stretch, by = by, title = title}
end

local function waves(s, options)
  local o = errors.options("waves", options, {"machine", "kernel", "sizes", "caches", "title"})
  caches.check_schedule("waves", s)
  local m = machine_of("waves", s, o)
  local c, number = kernel_of("waves", s, {sizes = o.sizes, caches = o.caches, kernel = o.kernel, schedule = MOST_BLOCKS}, m)
  local k, plots = c.kernels[number], require "nestwright.plots.gpu.waves"
  local blocks = k.grid[1] * k.grid[2] * k.grid[3]
  if k.launches == 0 or blocks == 0 then
    errors.fail("invalid", "give larger sizes", "waves: at these sizes, kernel %d has no block", number)
  end
  local sms = m.gpu.sms
  local title = errors.expect("waves: title", o.title or ("Waves of blocks on %s"):format(hw.name(m)), "string")
  if k.kinds then return unequal(c, number, blocks, title) end
  if blocks // (sms * k.resident) > plots.most then
    errors.fail("limit", "give smaller sizes", "waves: %d waves are too many: at most %d can be drawn",
      blocks // (sms * k.resident), plots.most)
  end
  local stretch, by = stretch_of(k, k.launches * waves_seconds(blocks, sms, k))
  return plots.make {machine = hw.name(m), sms = sms, blocks = blocks, resident = k.resident, seconds = k.blocks_seconds,
    number = number, stretch = stretch, by = by, title = title}
end

function pictures.install(nw)
  local define = rows.definer(nw, "nw", "gpu")

  define("occupancy", "(what: nw.schedule|{threads: integer, registers?: integer, shared?: integer}, options?: {machine?: "
    .. "string|table|nw.machine, kernel?: integer, sizes?: table, title?: nw.label}): nw.plot",
    "Draws how many blocks of a kernel a multiprocessor of a GPU runs at the same time, against the registers of a thread and "
    .. "against the shared memory of a block. what: a schedule, or numbers: threads of a block, registers of a thread (32 by "
    .. "default), shared: bytes of a block. machine: a GPU of nw.machines(); by default the target of the schedule. kernel: its "
    .. "number; by default the one that takes longest. sizes: values of symbolic sizes. Rows: resource, from, to, blocks, limiter.",
    occupancy)

  define("waves", "(s: nw.schedule, options?: {machine?: string|table|nw.machine, kernel?: integer, sizes?: table, "
    .. "caches?: boolean, title?: nw.label}): nw.plot",
    "Draws the multiprocessors of a GPU over time, as the model predicts: full waves of blocks, and the last wave, in which some "
    .. "multiprocessors have fewer blocks or none. If blocks do not take equally long, such as those of a fused grid, each kind "
    .. "has a colour of its own. kernel: its number; by default the one that takes longest. caches: as in s:cost. sizes, machine: "
    .. "as in s:gpu_counts. Rows: from, to (seconds), first, last (multiprocessors), blocks (of each), and kind if there are "
    .. "several; then multiprocessors are counted in the order of the picture.", waves)
end

return pictures
