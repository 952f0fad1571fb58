--- Makes the data of a predicted roofline: the roofs of a machine record, and dots with predicted times.
local acc_cost = require "nestwright.cost.acc_cost"
local acc_energy = require "nestwright.cost.acc_energy"
local cost = require "nestwright.cost.cost"
local errors = require "nestwright.language.errors"
local hw = require "nestwright.hw.gpu"
local gpu_cost = require "nestwright.cost.gpu_cost"
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

-- ---- GPUs

-- Returns the roofs of all multiprocessors together, and of the memory.
local function gpu_roofs(m)
  local g, hz = m.gpu, m.clock * 1e9
  local function all(rate) return {best = g.sms * rate * hz, spread = 0} end
  local levels = {}
  local function add(name, best) levels[#levels + 1] = {name = name, best = best, spread = 0} end
  add("shared memory", all(g.shared_per_cycle).best)
  add("L1", all(g.l1_per_cycle).best)
  if g.l2_bandwidth > 0 then add("L2", g.l2_bandwidth * 1e9) end
  add("memory", m.memory.bandwidth * 1e9)
  table.sort(levels, function(a, b) return a.best > b.best end)
  local function tensor(tflops) return tflops > 0 and {best = tflops * 1e12, spread = 0} or nil end
  return {threads = 1, machine = hw.name(m), recorded = true, on_gpu = true, levels = levels, peak = all(2 * g.lanes),
    peak_f64 = g.lanes64 > 0 and all(2 * g.lanes64) or nil,
    peak_tensor = {["16-bit"] = tensor(g.tensor_f16), tf32 = tensor(g.tensor_tf32)},
    rates = ("bandwidths of its caches and memories; %d multiprocessors at %.3g GHz"):format(g.sms, m.clock)}
end

-- Returns the dtype of the products that tensor cores compute, or nil if there are none.
local function tensor_dtype(c)
  for _, part in ipairs(c.parts) do
    if part.tensor > 0 then return part.tensor_tf32 < part.tensor and "16-bit" or "tf32" end
  end
end

local OF_GPU = {memory = true, ["L2 cache"] = true}

-- Returns the bytes of each level. A request to the L1 cache takes a cycle for each line; so it counts as many bytes as the cache
-- can move in these cycles, if that is more.
local function gpu_bytes(c, m)
  local g, out = m.gpu, {memory = 0, L1 = 0, ["shared memory"] = 0}
  local per_second = {memory = m.memory.bandwidth * 1e9, ["L2 cache"] = g.l2_bandwidth * 1e9}
  for _, k in ipairs(c.kernels) do
    for _, limit in ipairs(k.limits) do
      local name = limit.name:gsub(" cache$", "")
      if OF_GPU[limit.name] then out[name] = (out[name] or 0) + limit.seconds * per_second[limit.name] end
    end
  end
  for _, a in ipairs(c.counts.accesses) do
    local share = a.requests > 0 and a.compiled / a.requests or 0
    if a.scope == "global" then
      out.L1 = out.L1 + share * math.max(a.lanes * a.bytes, a.lines * g.l1_per_cycle)
    elseif a.scope ~= "local" then
      out["shared memory"] = out["shared memory"] + a.compiled_wavefronts * 4 * g.banks
    end
  end
  return out
end

-- ---- accelerators

-- Returns the roofs of the products of an accelerator, and of its memory. The peak is that of the dtypes of its instructions.
local function acc_roofs(m)
  local most = acc_energy.peak(m)
  return {threads = 1, machine = m.name, recorded = true, on_chip = true, peak = {best = 2 * most * m.clock * 1e9, spread = 0},
    levels = {{name = "memory", best = m.memory.bandwidth * 1e9, spread = 0}},
    rates = ("%d multiply-adds in a cycle at %.3g GHz, and the bandwidth of its memory"):format(most, m.clock)}
end

--- Returns the dot of what a stream on an accelerator does: a run, or the model's prediction (predicted = true). Only multiply-adds
--- are counted. If there are none, the field `refused` of the dot is the reason.
function model.acc_dot(label, c, m, predicted)
  if c.macs == 0 then return {label = label, refused = "it has no multiply-adds"} end
  local bytes = c.memory_read + c.memory_written
  if bytes == 0 or c.seconds == 0 then return {label = label, refused = "it moves no bytes"} end
  local t = times.given("roofline: " .. label, {median = c.seconds, threads = 1, machine = m.name})
  t.unsafe = c.unsafe
  return {label = label, flops = 2.0 * c.macs, arithmetic = "integer", bytes = {memory = bytes},
    how = predicted and "predicted" or "of a run", predicted = predicted or nil, time = t, threads = 1}
end

-- ---- all machines

--- Returns the machine record for `what`, as machine.of does.
function model.machine(what) return machine.of(what) end

--- Returns the roofs of a machine record, in the form of nw.roofs.
function model.roofs(m, threads)
  if m.kind == "gpu" then return gpu_roofs(m) end
  if m.kind == "accelerator" then return acc_roofs(m) end
  local r = rates.fields(m)
  return {threads = threads, machine = r.name, recorded = true, peak = peak(r, 32, threads), peak_f64 = peak(r, 64, threads),
    levels = levels_of(r, threads), rates = "bandwidths of its caches and memory"}
end

-- Returns the bytes that are read from and written to each level after the first, and memory, by the name of the level.
local function bytes_of(c)
  local out = {}
  for n = 2, #c.traffic do out[c.traffic[n].name] = c.traffic[n].bytes end
  return out
end

-- Returns the predicted seconds of a schedule, and its bytes by level.
local function predicted(s, version, threads, o)
  local m = o.machine
  if m and m.kind == "gpu" then
    local c = gpu_cost.of("roofline", s, {sizes = o.sizes, caches = o.caches}, m)
    return c.seconds, gpu_bytes(c, m), m, tensor_dtype(c)
  end
  local c = cost.of("roofline", s, {machine = m, sizes = o.sizes, version = version, threads = threads, conflicts = false})
  return c.seconds, bytes_of(c), c.machine
end

local function refused(label, why)
  if not errors.is_error(why) or why.code == "interrupt" then error(why, 0) end
  return {label = label, refused = why.message}
end

local function of_chip(label, s, version, o)
  local ok, c = pcall(acc_cost.of, "roofline", s, {sizes = o.sizes}, o.machine)
  if not ok then return refused(label, c) end
  local d = model.acc_dot(label, c, o.machine, true)
  if d.time then d.time.version = version end
  return d
end

--- Returns the predicted dot of a version, which is the current one if the machine is a GPU or an accelerator. If there is no
--- prediction, the field `refused` of the dot is the reason. `work` has flops and arithmetic; `o` has machine, sizes and
--- caches (for a GPU).
function model.dot(label, s, version, work, threads, o)
  if o.machine and o.machine.kind == "accelerator" then return of_chip(label, s, version, o) end
  local ok, seconds, bytes, m, tensor = pcall(predicted, s, version, threads, o)
  if ok then
    local t = times.given("roofline: " .. label, {median = seconds, threads = threads, machine = m.kind == "gpu" and hw.name(m)
      or m.name})
    t.version = version
    return {label = label, flops = work.flops, arithmetic = tensor and "tensor" or work.arithmetic, tensor = tensor, bytes = bytes,
      how = "predicted", predicted = true, time = t, threads = threads}
  end
  return refused(label, seconds)
end

return model
