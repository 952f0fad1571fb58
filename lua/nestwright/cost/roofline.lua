--- Collects the data of the roofline: a picture of operations per second over operations per byte. Each version of a schedule is a
--- dot. The limits of the machine are lines (roofs) above the dots.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local hw = require "nestwright.hw.gpu"
local inside = require "nestwright.inside"
local model = later "nestwright.cost.roofline_model"
local roofs = require "nestwright.measure.roofs"
local rows = require "nestwright.language.rows"
local sizes = require "nestwright.language.sizes"
local streams = later "nestwright.measure.stream_pictures"
local target = require "nestwright.language.target"
local times = require "nestwright.measure.times"
local versions = require "nestwright.measure.versions"

local SCHEDULE = core.classes.schedule
local DRIVERS = {cuda = true, opencl = true} -- GPUs of this machine
local SIMULATED = 5e7 -- by default, versions with more operations are not simulated, since a simulation takes many seconds
local OPTIONS = {"arguments", "roofs", "level", "simulate", "arrows", "title", "machine", "predicted"}

-- ---- properties of a schedule

-- Returns the values of the symbolic sizes: the given ones, or those of the inputs.
local function sizes_of(s, o)
  if o.sizes or not o.arguments then return sizes.named("roofline", s, o.sizes or {}) end
  local inputs = inside.signature(s).inputs
  if #o.arguments < #inputs then
    errors.fail("invalid", nil, "roofline: arguments: expected %d inputs, got %d", #inputs, #o.arguments)
  end
  return sizes.named("roofline", s, inside.bind_sizes(s, inputs, o.arguments))
end

-- Returns the number of operations in the definition. Operations that the schedule repeats are counted once.
local function flops_of(s, values)
  local n = core.operation_count(s, 0, values)
  if n and n > 0 then return n + 0.0 end
  if n then
    errors.fail("invalid", "compare the bytes per second of s:time() with nw.roofs(), or give your own numbers: nw.roofline{"
      .. "mine = {flops = 1e9, bytes = 1e6, time = t}}", "roofline: the program only moves data: it has no operations to count")
  end
  errors.fail("invalid", "count them yourself, time the schedule on your inputs (local t = s:time(a, b)) and give the numbers: "
    .. "nw.roofline{mine = {flops = 1e9, bytes = 1e6, time = t}}", "roofline: the number of operations depends on the data")
end

-- Returns the bytes of the inputs and outputs, each counted once.
local function compulsory(s, values)
  local signature, width, bytes = inside.signature(s, values), core.element_bytes(s), 0
  for _, list in ipairs {signature.inputs, signature.outputs} do
    for _, t in ipairs(list) do
      local elements = 1
      for _, dim in ipairs(inside.known(t.dims)) do elements = elements * dim end
      bytes = bytes + elements * width[t.name]
    end
  end
  return bytes
end

-- Returns, for each level after the first and for memory, the bytes that move between it and the level before it: lines loaded and
-- lines written back.
local function simulated(nw, s, values, machine)
  local m, bytes = nw.misses(s, {sizes = values, conflicts = false, machine = machine}), {}
  for _, row in ipairs(m.total) do
    local behind = m.levels[row.level + 1] and "L" .. row.level + 1 or "memory"
    bytes[behind] = (row.asked - row.hits + row.written_back) * m.line
  end
  return bytes
end

-- Returns the number of threads that have work: the kernel's limit `threads` if a loop is parallel, otherwise 1.
local function threads_of(s, threads)
  for _, node in ipairs(core.outline(s)) do if node.mark == "parallel" then return threads end end
  return 1
end

-- True if a version has at most as many operations as o.simulate allows to simulate.
local function small(s, version, values, o)
  local most = o.simulate == nil and SIMULATED or o.simulate
  return most and (core.operation_count(s, version, values) or math.huge) <= most
end

-- Returns the kind of arithmetic: "f64" if any output is f64, "integer" if no output is a float, else "f32".
local function arithmetic_of(s)
  local kind = "integer"
  for _, output in ipairs(inside.signature(s).outputs) do
    if output.dtype == "f64" then return "f64" end
    if output.dtype:find "f" then kind = "f32" end
  end
  return kind
end

-- Returns the properties of a version that are not measured. The fields of the result:
--   flops, arithmetic: the number of operations, and their kind
--   bytes: the traffic by level
--   how: "simulated" or "compulsory", the way in which `bytes` was found
--   least: the bytes of the inputs and outputs
local function work_of(nw, s, version, o)
  local values = sizes_of(s, o)
  local w = {flops = flops_of(s, values), arithmetic = arithmetic_of(s), least = compulsory(s, values)}
  local ok, bytes = pcall(function() return small(s, version, values, o) and simulated(nw, s, values, o.machine) end)
  if not ok and (not errors.is_error(bytes) or bytes.code == "interrupt") then error(bytes, 0) end
  if ok and bytes and bytes.memory > 0 then
    w.bytes, w.how = bytes, "simulated"
  else
    w.bytes, w.how = {memory = w.least}, "compulsory"
  end
  return w
end

-- ---- dots

local function dot_of(label, w, t, threads)
  return {label = label, flops = w.flops, arithmetic = w.arithmetic, bytes = w.bytes, least = w.least, how = w.how, time = t,
    threads = threads}
end

-- Returns {flops, arithmetic} for the roofline model, and the options of the cost model.
local function asked_of(s, o)
  local values = sizes_of(s, o)
  if o.machine and o.machine.kind == "accelerator" then return {}, {machine = o.machine, sizes = values} end
  return {flops = flops_of(s, values), arithmetic = arithmetic_of(s)},
    {machine = o.machine, sizes = values, caches = o.simulate ~= false}
end

-- Returns the predicted dot of the current version of the schedule.
local function foretold(label, s, threads, o)
  local work, with = asked_of(s, o)
  return model.dot(label, s, s:version(), work, threads_of(s, threads), with)
end

-- Adds, at the end of the list, a predicted dot for each measured dot. s_of(n) is the schedule of dot n, or nil.
local function add_twins(out, s_of, o)
  for n = 1, #out do
    local d = out[n]
    if not d.refused and s_of(n) then
      local twin = foretold(d.label, s_of(n), d.threads, o)
      twin.twin = d
      out[#out + 1] = twin
    end
  end
end

local function numbers_of(line)
  local out = {}
  for n, entry in ipairs(line) do out[n] = entry.version end
  return out
end

-- Returns a dot for each version from the first to the current one, and the number of measuring rounds. If o.predicted is true,
-- predicted dots follow the measured ones.
local function history(nw, s, o)
  local line, out, twins = versions.line("roofline", s, o), {}, {}
  local measured, n = versions.times("roofline", s, line, o.arguments or {}, o), 0
  versions.each(s, numbers_of(line), function()
    n = n + 1
    local t = measured[n]
    out[n] = t.refused and {label = t.label, refused = t.refused}
      or dot_of(t.label, work_of(nw, s, line[n].version, o), t, threads_of(s, t.threads))
    if o.predicted and not t.refused then
      twins[#twins + 1] = foretold(t.label, s, out[n].threads, o)
      twins[#twins].twin = out[n]
    end
  end)
  table.move(twins, 1, #twins, #out + 1, out)
  return out, measured.rounds
end

-- True if the schedule has loops that are bound to blocks and to threads. One thread would take very long for the other versions.
local function has_grid(s)
  local has = {}
  for _, row in ipairs(core.outline(s)) do has[(row.mark or ""):match "^%a+Idx" or ""] = true end
  return has.blockIdx and has.threadIdx
end

-- Returns the dots of `history` as predictions, without measuring. The machine need not be this host. For a GPU, versions without a
-- grid have no dots.
local function foretold_history(s, o)
  local line, out, n = versions.line("roofline", s, o), {}, 0
  versions.each(s, numbers_of(line), function()
    n = n + 1
    if o.machine.kind ~= "gpu" or has_grid(s) then
      local dot = foretold(versions.label(line[n]), s, o.threads or 1, o)
      -- While a schedule for an accelerator is not complete, it has no stream.
      if o.machine.kind ~= "accelerator" or not dot.refused or n == #line then out[#out + 1] = dot end
    end
  end)
  if #out > 0 then return out end
  errors.fail("invalid", "s:bind(\"i\", \"blockIdx.x\")", "roofline: no version has loops that are bound to blocks and to threads")
end

local function is_schedule(v) return debug.getmetatable(v) == SCHEDULE end
local function is_run(v) return type(v) == "table" and streams.is_run(v) end

local function number(what, v)
  if type(v) == "number" and v > 0 and v < math.huge then return v + 0.0 end
  errors.fail("invalid", nil, "roofline: %s: expected a number above 0, got %s", what, tostring(v))
end

local function time_of(label, v)
  if type(v) == "number" then v = {median = v} end
  return times.given(("roofline: %s: time"):format(label), v)
end

local function is_threads(v) return math.type(v) == "integer" and v >= 1 and v <= 1024 end

-- Returns a dot from {flops, bytes, time}, without measuring.
local function from_numbers(label, v)
  local t, bytes = time_of(label, v.time), number(label .. ": bytes", v.bytes)
  local w = {flops = number(label .. ": flops", v.flops), bytes = {memory = bytes}, least = bytes, how = "given"}
  w.arithmetic = "f32"
  local threads = v.threads or t.threads or 1
  if not is_threads(threads) then
    errors.fail("range", nil, "roofline: %s: threads must be a number from 1 to 1024, not %s", label, tostring(threads))
  end
  return dot_of(label, w, t, threads)
end

-- Reads one entry of a list: a schedule, {schedule, time}, {flops, bytes, time}, or a run of a stream. given: the options.
local function read(entry, given)
  local label, v = entry.label, entry.value
  if is_schedule(v) then return {label = label, schedule = v} end
  if is_run(v) then
    if v.machine.name ~= (given.machine and given.machine.name) then
      errors.fail("invalid", "draw a roofline for each machine", "roofline: %s: it is a run on %s, and the roofs are those of %s",
        label, v.machine.name, given.machine and given.machine.name or "this host")
    end
    return {label = label, dot = model.acc_dot(label, v, v.machine)}
  end
  local o = errors.options("roofline: " .. label, times.plain("roofline: " .. label, v),
    {"schedule", "time", "flops", "bytes", "threads", "label"})
  label = errors.label("roofline: label", o.label or label)
  if not o.schedule then return {label = label, dot = from_numbers(label, o)} end
  if not is_schedule(o.schedule) then
    errors.fail("invalid", nil, "roofline: %s: expected a schedule, got %s", label, core.type_name(o.schedule))
  end
  return {label = label, schedule = o.schedule, time = o.time and time_of(label, o.time)}
end

-- Measures, in turn, the schedules of the list that have no time yet. Returns the number of measuring rounds; nil if every schedule
-- has a time.
local function measure(list, o)
  local programs, at = {}, {}
  for n, e in ipairs(list) do
    if e.schedule and not e.time then
      local p = {label = e.label}
      p.kernel, p.refused = versions.build(e.schedule, o)
      p.arguments = p.kernel and versions.arguments("roofline", e.schedule, p.kernel, o.arguments or {}, o)
      programs[#programs + 1], at[#at + 1] = p, n
    end
  end
  if #programs == 0 then return nil end
  local measured, rounds = versions.measure("roofline", programs, o)
  for k, t in ipairs(measured) do list[at[k]].time, list[at[k]].refused = t, t.refused end
  return rounds
end

local function listed(nw, what, o)
  local list, out = {}, {}
  for n, entry in ipairs(times.entries("roofline: what", what, {})) do list[n] = read(entry, o) end
  if #list == 0 then errors.fail("invalid", "for example nw.roofline{s1, s2}", "roofline: what: the list is empty") end
  local rounds = o.machine == nil and measure(list, o) or nil
  for n, e in ipairs(list) do
    out[n] = e.dot or e.refused and {label = e.label, refused = e.refused}
    if not out[n] and not e.time then
      out[n] = foretold(e.label, e.schedule, o.threads or 1, o)
    elseif not out[n] then
      local work = work_of(nw, e.schedule, e.schedule:version(), o)
      out[n] = dot_of(e.label, work, e.time, threads_of(e.schedule, e.time.threads))
    end
  end
  if o.predicted then add_twins(out, function(n) return list[n].schedule end, o) end
  return out, rounds
end

-- ---- roofs

local function check_roof(what, r)
  times.plain("roofs: " .. what, r)
  number("roofs: " .. what .. ": best", r.best)
  if r.spread ~= nil then errors.expect(("roofline: roofs: %s: spread"):format(what), r.spread, "number") end
end

local function check_roofs(r)
  local ok = type(r) == "table" and type(r.peak) == "table" and type(r.levels) == "table" and #r.levels > 0
  if not ok then errors.fail("invalid", nil, "roofline: roofs must be the answer of nw.roofs") end
  if r.threads ~= nil and not is_threads(r.threads) then errors.fail("range", nil,
    "roofline: roofs: threads must be a number from 1 to 1024") end
  if r.machine ~= nil then errors.label("roofline: roofs: machine", r.machine) end
  check_roof("peak", r.peak)
  if r.peak_f64 ~= nil then check_roof("peak_f64", r.peak_f64) end
  for n, l in ipairs(r.levels) do
    check_roof("level " .. n, l)
    errors.label("roofline: roofs: name", l.name)
  end
  return r
end

-- Returns the roofs for all dots, by number of threads.
local function roofs_for(dots, o)
  local out = {}
  if o.roofs then
    local r = check_roofs(o.roofs)
    out[r.threads or 1] = r
    for _, d in ipairs(dots) do if d.threads then out[d.threads] = r end end
    return out
  end
  for _, d in ipairs(dots) do
    if d.threads and not out[d.threads] then
      out[d.threads] = o.machine ~= nil and model.roofs(o.machine, d.threads) or roofs.of(d.threads)
    end
  end
  return out
end

-- Returns the checked options. usual: the machine if the options have none, or nil.
local function check_options(o, usual)
  for n, a in ipairs(times.plain("roofline: arguments", o.arguments or {})) do
    if debug.getmetatable(a) ~= core.classes.array then
      errors.fail("invalid", nil, "roofline: argument %d: expected a tensor with data, got %s", n, core.type_name(a))
    end
  end
  if o.machine ~= nil then
    if o.predicted then
      errors.fail("invalid", "predicted = true adds predictions to measurements on this host; machine = \"zen5\" predicts only",
        "roofline: predicted and machine cannot be combined")
    end
    o = setmetatable({machine = model.machine(o.machine)}, {__index = o})
  elseif usual then
    o = setmetatable({machine = usual, predicted = false}, {__index = o})
  end
  if o.threads ~= nil and not is_threads(o.threads) then
    errors.fail("range", nil, "roofline: threads must be a number from 1 to 1024, not %s", tostring(o.threads))
  end
  if o.simulate and type(o.simulate) ~= "number" then errors.expect("roofline: simulate", o.simulate, "number") end
  return o
end

-- Returns the GPU for which a schedule is made, if it is not here, or its accelerator; otherwise nil.
local function absent(s)
  local m = target.machine(core.schedule_target(s))
  return (m.kind == "accelerator" or m.kind == "gpu" and not DRIVERS[m.name]) and m or nil
end

-- Returns the machine for which nothing is measured here, by the first schedule or run; otherwise nil.
local function usual_machine(first)
  if type(first) == "table" and is_schedule(first.schedule) then first = first.schedule end
  if is_schedule(first) then return absent(first) end
  return is_run(first) and first.machine or nil
end

local function roofline(nw, what, options)
  if is_run(what) then what = {run = what} end
  local one = is_schedule(what)
  local first = one and what or type(what) == "table" and (what[1] or select(2, next(what)))
  local o = check_options(versions.check("roofline", options, OPTIONS), usual_machine(first))
  if not one then times.plain("roofline: what", what) end
  local dots, rounds
  if one and o.machine ~= nil then dots = foretold_history(what, o) else dots, rounds = (one and history or listed)(nw, what, o) end
  local arrows = o.arrows
  if arrows == nil then arrows = one or #what == #dots end
  local usual = not o.machine and "roofline"
    or ("roofline%s%s"):format(o.machine.kind == "accelerator" and " of " or ", predicted for ",
      o.machine.kind == "gpu" and hw.name(o.machine) or o.machine.name)
  local title = errors.expect("roofline: title", o.title or usual, "string")
  return require "nestwright.plots.roofline".make(dots, roofs_for(dots, o),
    {arrows = arrows, rounds = rounds, level = o.level, title = title})
end

return {
  install = function(nw)
    rows.define(nw, "nw", "costs", "roofline",
      "(what: nw.schedule|table, options?: {threads?: integer, opt?: integer, limit?: number, "
      .. "rounds?: integer, versions?: integer[], arguments?: nw.array[], sizes?: table, level?: string, simulate?: number, "
      .. "roofs?: table, machine?: any, predicted?: boolean, arrows?: boolean, title?: nw.label}): nw.plot",
      "The roofline: operations per second over operations per byte, under the measured limits of this machine (nw.roofs). "
      .. "nw.roofline(s) draws a dot for each version of the schedule, with arrows from step to step, measured as by "
      .. "s:time_steps; nw.roofline{s1, s2} or {naive = s1, tiled = s2} draws one dot per schedule. An entry may be {schedule = "
      .. "s, time = t}, or numbers measured elsewhere: {flops = 2e9, bytes = 1e7, time = 0.01}. Operations are those of the "
      .. "definition; a multiply-add counts as two. For integers, whose peak is not measured, only bandwidths are drawn; for f64, "
      .. "the peak of f64 is drawn. Bytes are the traffic to memory, simulated as in nw.misses; versions with more than "
      .. "`simulate` operations (5e7) have the bytes of their inputs and outputs instead, each counted once. level: 'memory', or "
      .. "the cache whose traffic the axis shows, such as 'L2'. Each dot is compared with the lowest roof above it. predicted = "
      .. "true: adds a diamond for each dot, with the time and bytes that s:cost predicts. machine: as in nw.machine; then nothing "
      .. "is measured, the roofs are those of the record, and dots are predictions, except for entries with their own times. "
      .. "For a schedule whose target is a GPU that is not here, machine is this GPU; its levels are memory, L1, shared memory "
      .. "and, if its bandwidth is in the record, L2. simulate = false: the caches of the GPU are not simulated. Only versions "
      .. "with loops that are bound to blocks and threads have dots. "
      .. "For a schedule on an accelerator, and for a run of a stream (nw.roofline{before = s:stream():run()}), the operations are "
      .. "the multiply-adds of its instructions, which count as two, and the roofs are those of the record. "
      .. "limit, rounds, versions, threads: as in s:time_steps; arguments: the inputs; sizes: values of symbolic sizes; roofs: an "
      .. "answer of nw.roofs to use again.",
      function(what, options) return roofline(nw, what, options) end)
  end,
}
