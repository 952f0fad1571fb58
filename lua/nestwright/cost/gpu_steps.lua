--- Compares schedules for GPUs: for each one, the predicted time on some machines, and what its accesses ask of the memory.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local hw = require "nestwright.hw.gpu"
local gpu_cost = require "nestwright.cost.gpu_cost"
local machine = require "nestwright.cost.machine"
local report = require "nestwright.show.report"
local rows = require "nestwright.language.rows"
local written = require "nestwright.show.written"

local gpu_steps = {}

local class = report.class "gpusteps"
local SCHEDULE = core.classes.schedule

-- ---- one schedule

-- Returns the quotient of two counts over the accesses of a scope, or nil if there are none.
local function per_request(accesses, scope, count)
  local requests, sum = 0, 0
  for _, a in ipairs(accesses) do
    if a.scope == scope then requests, sum = requests + a.requests, sum + a[count] end
  end
  return requests > 0 and sum / requests or nil
end

-- Returns the row of a schedule. Its counts are those on the first machine.
local function row_of(name, s, machines, o)
  local row = {step = name, schedule = s, machines = {}, seconds = {}, bottlenecks = {}}
  for n, m in ipairs(machines) do
    local c = gpu_cost.of("gpu_steps", s, {sizes = o.sizes, caches = o.caches}, m)
    row.machines[n], row.seconds[n], row.bottlenecks[n] = hw.name(m), c.seconds, c.bottleneck or "nothing"
    if n == 1 then
      local longest = gpu_cost.longest(c.kernels)
      row.sectors = per_request(c.counts.accesses, "global", "sectors")
      row.wavefronts = per_request(c.counts.accesses, "shared", "wavefronts")
      row.occupancy, row.limiter = longest and longest.occupancy, longest and longest.limiter
    end
  end
  return row
end

-- ---- the table

local function number(v) return v and ("%.2f"):format(v) or "-" end
local function percent(v) return v and ("%.0f %%"):format(100 * v) or "-" end

-- Returns the titles of the columns, and the cells of a row.
local function heads(machines)
  local out = {"step"}
  for _, m in ipairs(machines) do out[#out + 1], out[#out + 2] = hw.name(m), "limited by" end
  for _, name in ipairs {"sectors/request", "turns/request", "occupancy"} do out[#out + 1] = name end
  return out
end

local function cells(row)
  local out = {row.step}
  for n, t in ipairs(row.seconds) do out[#out + 1], out[#out + 2] = written.seconds(t), row.bottlenecks[n] end
  for _, text in ipairs {number(row.sectors), number(row.wavefronts), percent(row.occupancy)} do out[#out + 1] = text end
  return out
end

-- True if the column has text and not numbers.
local function is_text(n, machines) return n == 1 or n % 2 == 1 and n <= 1 + 2 * #machines end

local function text_of(head, list, machines)
  local widths, lines = {}, {}
  for _, line in ipairs {head, table.unpack(list)} do
    for n, text in ipairs(line) do widths[n] = math.max(widths[n] or 0, utf8.len(text) or #text) end
  end
  for k, line in ipairs {head, table.unpack(list)} do
    local out = {}
    for n, text in ipairs(line) do
      local blanks = (" "):rep(widths[n] - (utf8.len(text) or #text))
      out[n] = is_text(n, machines) and text .. blanks or blanks .. text
    end
    lines[k] = table.concat(out, "  "):gsub("%s+$", "")
  end
  return table.concat(lines, "\n")
end

-- Returns the sentences below the table. Neither is wider than a notebook.
local function foot_of(machines, caches)
  return {"the times are predicted; " .. (caches and "caches are simulated"
      or "each array is read from memory once, because caches are not simulated"),
    ("on %s: sectors of a request to global memory (4 are 128 bytes), turns of a request to shared memory, occupancy"):format(
      hw.name(machines[1]))}
end

-- ---- the function

local function named_schedules(list)
  local out = {}
  for n, entry in ipairs(list) do
    if type(entry) ~= "table" or type(entry[1]) ~= "string" or debug.getmetatable(entry[2]) ~= SCHEDULE then
      errors.fail("invalid", "write nw.gpu_steps{{\"baseline\", s1}, {\"coalesced\", s2}}",
        "gpu_steps: expected a name and a schedule as entry %d", n)
    end
    out[n] = entry
  end
  if #out == 0 then
    errors.fail("invalid", "write nw.gpu_steps{{\"baseline\", s1}}", "gpu_steps: steps: the list has no schedule")
  end
  return out
end

local function machines_of(given)
  local out = {}
  for n, m in ipairs(errors.expect("gpu_steps: machines", given or {"t4", "a100"}, "table")) do
    out[n] = machine.of(m, "machines")
    if out[n].kind ~= "gpu" then
      errors.fail("invalid", "s:cost predicts the time on a CPU", "gpu_steps: %s is not a GPU", out[n].name)
    end
  end
  if #out == 0 then errors.fail("invalid", "machines = {\"t4\"}", "gpu_steps: there is no machine") end
  return out
end

local function compare(list)
  errors.expect("gpu_steps", list, "table")
  local o = {}
  for key, value in pairs(list) do if math.type(key) ~= "integer" then o[key] = value end end
  errors.options("gpu_steps", o, {"machines", "sizes", "caches"})
  local machines, found, shown = machines_of(o.machines), {}, {}
  for n, entry in ipairs(named_schedules(list)) do
    found[n] = row_of(entry[1], entry[2], machines, o)
    found[n].speedups = {}
    for k, t in ipairs(found[n].seconds) do found[n].speedups[k] = found[1].seconds[k] / t end
    shown[n] = cells(found[n])
  end
  local head, foot = heads(machines), foot_of(machines, o.caches)
  local left = {heads = true}
  for n in ipairs(head) do left[n] = is_text(n, machines) end
  return class.new(found, text_of(head, shown, machines) .. "\n" .. table.concat(foot, "\n"),
    {head = head, rows = shown, left = left, foot = table.concat(foot, "; ")})
end

local function plot(found, options)
  local o = errors.options("plot", options or {}, {"title"})
  local list = {params = {"step", "machine"}, values = {step = {}, machine = found[1].machines}, titles = {speedup = "speed-up"},
    small = "Predicted by the model, not measured."}
  for n, row in ipairs(found) do
    list.values.step[n] = row.step
    for k, m in ipairs(row.machines) do list[#list + 1] = {step = row.step, machine = m, speedup = row.speedups[k]} end
  end
  return require "nestwright.plots.sweep".make(list, {x = "step", y = "speedup", by = "machine", style = "bars", best = false,
    title = o.title or ("Predicted speed-up over %s"):format(found[1].step)})
end

function gpu_steps.install(nw)
  rows.define(class.methods, "gpusteps", "gpu", "plot", "(self: nw.gpusteps, options?: {title?: nw.label}): nw.plot",
    "Draws how many times faster each schedule is than the first one, as predicted for each machine. Rows: step, machine, "
    .. "speedup.", plot)
  rows.define(nw, "nw", "gpu", "gpu_steps", "(steps: table): nw.gpusteps",
    "Compares schedules for GPUs, such as the steps of a tutorial: nw.gpu_steps{{\"baseline\", s1}, {\"coalesced\", s2}}. Nothing "
    .. "is measured. For each schedule, the answer has a row with step (its name), seconds and bottlenecks (as s:cost predicts for "
    .. "each of machines), speedups (over the first schedule), sectors (of a request to global memory), wavefronts (turns of a "
    .. "request to shared memory), occupancy (of the kernel that takes longest), and limiter, the resource that limits the "
    .. "occupancy. The last four are those on the first machine. machines: names or records of GPUs, by default a T4 and an A100. "
    .. "sizes: values of symbolic sizes. caches: as in s:cost.", compare)
end

return gpu_steps
