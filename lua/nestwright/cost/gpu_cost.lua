--- Predicts the times of schedules on GPUs, from the counts of the simulated GPU. docs/gpu_model.md explains the model.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local hw = require "nestwright.hw.gpu"
local report = require "nestwright.show.report"
local sizes = require "nestwright.language.sizes"
local unbound = require "nestwright.language.unbound"
local written = require "nestwright.show.written"

local gpu = {}

local FOR_CPUS = {threads = "a GPU runs the whole grid", conflicts = "it is for the caches of CPUs",
  feed = "it is for the caches of CPUs", measure = "f:time measures a kernel on a GPU", mca = "llvm-mca is for CPUs"}

-- Limits that are added to the longest of the others.
local ADDED = {latency = true, ["idle multiprocessors"] = true, launch = true}

-- ---- the record

-- Returns the limits with at least 0.1 % of the time, longest first. `added` selects those that are added to the others.
local function limits_of(kernel, added)
  local out = {}
  for _, limit in ipairs(kernel.limits) do
    if not ADDED[limit.name] == not added and limit.seconds > 0 and limit.seconds >= 0.001 * kernel.seconds then
      out[#out + 1] = limit
    end
  end
  table.sort(out, function(a, b) return a.seconds > b.seconds end)
  return out
end

--- Returns the kernel with the longest time and its number, or nil if there is none.
function gpu.longest(kernels)
  local number = kernels[1] and 1
  for n, k in ipairs(kernels) do if k.seconds > kernels[number].seconds then number = n end end
  return kernels[number], number
end

local function check_options(what, o)
  for name, why in pairs(FOR_CPUS) do
    if o[name] ~= nil then errors.fail("invalid", "leave it out", "%s: %s: %s", what, name, why) end
  end
end

-- Why no block of a kernel can run, by the resource that a multiprocessor lacks.
local LACKS = {
  warps = function(_, g, threads)
    return ("it has %s, and a multiprocessor runs %d at the same time"):format(written.plural(threads, "thread"), g.warps * g.warp)
  end,
  registers = function(k, g, threads)
    return ("%s need %s each, and a multiprocessor has %d"):format(written.plural(threads, "thread"),
      written.plural(k.registers, "register"), g.registers)
  end,
  ["shared memory"] = function(k, g)
    return ("it needs %d bytes of shared memory and %d for the driver, and a multiprocessor has %d"):format(k.shared_bytes,
      g.shared_reserved, g.shared)
  end,
}

-- Raises an error if no block of a kernel fits on a multiprocessor.
local function check_fits(what, n, k, m)
  if k.blocks == 0 or k.resident ~= 0 then return end
  local why = LACKS[k.limiter](k, m.gpu, k.block[1] * k.block[2] * k.block[3])
  errors.fail("limit", "use smaller blocks", "%s: no block of kernel %d can run on %s: %s", what, n, hw.name(m), why)
end

--- Returns the predicted times of a schedule on a GPU of which `m` is the record. Options: sizes, caches, schedule (the number of
--- blocks whose times are wanted, if the kernel has several kinds).
function gpu.of(what, s, o, m)
  check_options(what, o)
  if o.caches ~= nil then errors.expect(what .. ": caches", o.caches, "boolean") end
  unbound.check(what, s, hw.name(m))
  local how = {machine = m, classes = true, caches = o.caches or nil, schedule = o.schedule}
  local counts, times = core.gpu_cost(s, sizes.of(what, s, o.sizes), how)
  local c = {machine = m, counts = counts, kernels = {}, loops = {}, seconds = 0, caches = o.caches or false}
  for n, k in ipairs(times.kernels) do
    local row = counts.kernels[n]
    check_fits(what, n, row, m)
    local bottleneck = k.seconds > 0 and k.bottleneck or "nothing"
    c.kernels[n] = {seconds = k.seconds, bottleneck = bottleneck, limits = k.limits, waves = k.waves, grid = row.grid,
      block = row.block, launches = row.launches, resident = row.resident, limiter = row.limiter, occupancy = row.occupancy,
      blocks_seconds = k.blocks_seconds, kinds = k.kinds, schedule = k.schedule}
    c.seconds = c.seconds + k.seconds
  end
  for _, part in ipairs(times.parts) do if part.name then c.loops[#c.loops + 1] = part end end
  c.parts, c.bottleneck = times.parts, c.kernels[1] and gpu.longest(c.kernels).bottleneck
  return c
end

-- ---- texts

-- Returns the three extents of a grid or of a block, and the word of what they count.
local function product(v, word)
  local one = v[1] * v[2] * v[3] == 1
  return ("%d x %d x %d %s%s"):format(v[1], v[2], v[3], word, one and "" or "s")
end

local function limit_line(limit, kernel)
  return ("  %-26s %12s  %4.0f %%"):format(limit.name, written.seconds(limit.seconds), 100 * limit.seconds / kernel.seconds)
end

local function clock_text(m)
  local base = m.gpu.clock_base or 0
  return base > 0 and ("%.3g to %.3g GHz"):format(base, m.clock) or ("%.3g GHz"):format(m.clock)
end

local NOT_LAUNCHED = "at these sizes it has no block, so it is not launched"

local function add_kernel(out, c, n, k)
  if k.seconds == 0 then
    out[#out + 1] = ("kernel %d: %s, %s"):format(n, written.seconds(0), NOT_LAUNCHED)
    return
  end
  out[#out + 1] = ("kernel %d: %s, limited by %s"):format(n, written.seconds(k.seconds), k.bottleneck)
    .. (k.launches > 1 and (", for %d launches"):format(k.launches) or "")
  out[#out + 1] = ("  %s of %s; each of %d multiprocessors runs %s at a time, limited by %s: %.2f waves"):format(
    product(k.grid, "block"), product(k.block, "thread"), c.machine.gpu.sms, written.plural(k.resident or 0, "block"),
    k.limiter or "nothing", k.waves)
  local resources, added = limits_of(k, false), limits_of(k, true)
  out[#out + 1] = #resources > 0 and "  time of each resource if it were the only limit:"
    or "  each resource needs less than 0.1 % of the time"
  for _, limit in ipairs(resources) do out[#out + 1] = "  " .. limit_line(limit, k) end
  if #added > 0 then
    out[#out + 1] = #resources > 0 and "  and time that is added to the longest of them:" or "  all other time:"
  end
  for _, limit in ipairs(added) do out[#out + 1] = "  " .. limit_line(limit, k) end
end

-- Returns a remark about a kernel with threads that do nothing because a block has no whole number of warps; otherwise nil.
local function idle_lanes(c, n, k)
  local warp, threads = c.machine.gpu.warp, k.block[1] * k.block[2] * k.block[3]
  local idle = -threads % warp
  if k.launches == 0 or idle == 0 then return nil end
  local alone = threads == 1 and k.grid[1] * k.grid[2] * k.grid[3] == 1
  return ("kernel %d: a block has %s, so %d of the %d lanes of its last warp do nothing%s"):format(n,
    written.plural(threads, "thread"), idle, warp, alone and "; bind its loops to more blocks and threads" or "")
end

local function remarks(c)
  local out = {("a prediction for %s at %s"):format(hw.name(c.machine), clock_text(c.machine))}
  if not c.caches then
    out[2] = "caches are not simulated: each array is read from memory once, and the time of L2 is not known; caches = true "
      .. "simulates them"
  elseif (c.machine.gpu.l2_bandwidth or 0) == 0 then
    out[2] = "the bandwidth of L2 is not in the record, so its time is not known"
  end
  for n, k in ipairs(c.kernels) do out[#out + 1] = idle_lanes(c, n, k) end
  return out
end

local function text_of(c)
  local out = {("%s: %s, limited by %s"):format(hw.name(c.machine), written.seconds(c.seconds), c.bottleneck or "nothing")}
  for n, k in ipairs(c.kernels) do add_kernel(out, c, n, k) end
  for _, remark in ipairs(remarks(c)) do out[#out + 1] = remark end
  return table.concat(out, "\n")
end

local function cells_of(c)
  local list = {}
  for n, k in ipairs(c.kernels) do
    if k.seconds == 0 then list[#list + 1] = {("%d"):format(n), NOT_LAUNCHED, written.seconds(0), "0 %"} end
    for _, kind in ipairs {{false, ""}, {true, "added: "}} do
      for _, limit in ipairs(limits_of(k, kind[1])) do
        local share = ("%.0f %%"):format(100 * limit.seconds / k.seconds)
        list[#list + 1] = {("%d"):format(n), kind[2] .. limit.name, written.seconds(limit.seconds), share}
      end
    end
  end
  return {head = {"kernel", "limit", "time", "share"}, rows = list, left = {true, true, heads = true},
    foot = ("%s: %s, limited by %s; %s"):format(hw.name(c.machine), written.seconds(c.seconds), c.bottleneck or "nothing",
      table.concat(remarks(c), "; "))}
end

--- Returns the report of s:cost for a GPU.
function gpu.report(s, options, m)
  local c = gpu.of("cost", s, options, m)
  return report.new(c, text_of(c), cells_of(c))
end

--- Returns the text beside each loop of the lowered nest, by the id of the loop, and remarks below the nest.
function gpu.beside(s, o, m)
  local c = gpu.of("show", s, {machine = o.machine, sizes = o.sizes, threads = o.threads}, m)
  local longest_of, by_id = {}, {} -- a loop that lowering has copied has several parts
  for _, part in ipairs(c.parts) do
    local before = longest_of[part.id]
    if not before or part.seconds > before.seconds then longest_of[part.id] = part end
  end
  for id, loop in pairs(longest_of) do
    local share = c.seconds > 0 and 100 * loop.seconds / c.seconds or 0
    by_id[id] = ("%5.1f %%  %10s  %s"):format(share, written.seconds(loop.seconds), share > 0 and loop.bottleneck or "nothing")
  end
  local lines = {("# %s: %s, limited by %s"):format(hw.name(m), written.seconds(c.seconds), c.bottleneck or "nothing")}
  for _, remark in ipairs(remarks(c)) do lines[#lines + 1] = "# " .. remark end
  return by_id, lines
end

return gpu
