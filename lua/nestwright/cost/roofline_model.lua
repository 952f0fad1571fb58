--- Makes the data of a predicted roofline: the roofs of a machine record, and dots with predicted times.
local cost = require "nestwright.cost.cost"
local errors = require "nestwright.language.errors"
local machine = require "nestwright.cost.machine"
local rates = require "nestwright.cost.rates"
local times = require "nestwright.measure.times"

local model = {}

-- Returns the peak rate of all threads in operations per second. A multiply-add counts as two operations.
local function peak(r, bits, threads) return {best = 2 * rates.numbers(r, "fma", bits) * r.clock * 1e9 * threads, spread = 0} end

-- Returns the bandwidths of all levels in bytes per second. Each thread is assumed to run on its own core, with the full bandwidth
-- of this core to each cache. All threads share the bandwidth of memory.
local function levels_of(r, threads)
  local out = {}
  for n = 1, #r.caches do out[n] = {name = "L" .. n, best = rates.bytes(r, n) * r.clock * 1e9 * threads, spread = 0} end
  local memory = math.min(r.memory.bandwidth * threads, r.memory.bandwidth_all)
  out[#out + 1] = {name = "memory", best = memory * 1e9, spread = 0}
  return out
end

--- Returns the machine record for `what`, as machine.of does. Raises an error if the machine is not a CPU.
function model.machine(what)
  local m = machine.of(what)
  if m.kind == "cpu" then return m end
  errors.fail("invalid", "nw.machine{} is this host; nw.machines() lists others",
    "roofline: %s is not a CPU; only CPUs have roofs", m.name)
end

--- Returns the roofs of a machine record, in the form of nw.roofs.
function model.roofs(m, threads)
  local r = rates.fields(m)
  return {threads = threads, machine = r.name, recorded = true, peak = peak(r, 32, threads), peak_f64 = peak(r, 64, threads),
    levels = levels_of(r, threads)}
end

-- Returns the bytes that are read from and written to each level after the first, and memory, by the name of the level.
local function bytes_of(c)
  local out = {}
  for n = 2, #c.traffic do out[c.traffic[n].name] = c.traffic[n].bytes end
  return out
end

--- Returns the predicted dot of a version. If there is no prediction, the field `refused` of the dot is the reason. `work` has
--- flops and arithmetic; `o` has machine and sizes.
function model.dot(label, s, version, work, threads, o)
  local ok, c = pcall(cost.of, "roofline", s,
    {machine = o.machine, sizes = o.sizes, version = version, threads = threads, conflicts = false})
  if ok then
    local t = times.given("roofline: " .. label, {median = c.seconds, threads = threads, machine = c.machine.name})
    t.version = version
    return {label = label, flops = work.flops, arithmetic = work.arithmetic, bytes = bytes_of(c), how = "predicted",
      predicted = true, time = t, threads = threads}
  end
  if not errors.is_error(c) or c.code == "interrupt" then error(c, 0) end
  return {label = label, refused = c.message}
end

return model
