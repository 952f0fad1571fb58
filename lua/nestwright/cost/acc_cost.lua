--- Predicts the times of schedules on accelerators, by the model of their streams. docs/accelerator.md explains the model.
local core = require "nestwright.core"
local energy = require "nestwright.cost.acc_energy"
local errors = require "nestwright.language.errors"
local report = require "nestwright.show.report"
local sizes = require "nestwright.language.sizes"
local target = require "nestwright.language.target"
local times = require "nestwright.measure.times"
local written = require "nestwright.show.written"

local acc = {}

local FOR_CPUS = {threads = "an accelerator has units, not threads", conflicts = "it is for the caches of CPUs",
  feed = "it is for the caches of CPUs", measure = "s:stream():run() simulates the schedule", mca = "llvm-mca is for CPUs",
  caches = "an accelerator has memories, not caches"}

local function check(what, s, o, m)
  for name, why in pairs(FOR_CPUS) do
    if o[name] ~= nil then errors.fail("invalid", "leave it out", "%s: %s: %s", what, name, why) end
  end
  local own = target.machine(core.schedule_target(s))
  if own.name ~= m.name or own.kind ~= m.kind then
    errors.fail("invalid", ("nw.schedule(C, {target = \"%s\"}) makes a schedule for it"):format(m.name),
      "%s: machine: %s executes only its own instructions, and the schedule is for %s", what, m.name, own.name)
  end
end

--- Returns what the model predicts for a schedule on an accelerator of which `m` is the record. Options: machine, sizes.
function acc.of(what, s, o, m)
  check(what, s, o, m)
  local stream = core.stream(s, sizes.of(what, s, o.sizes))
  local c = core.stream_model(stream)
  c.machine, c.unsafe = m, core.stream_facts(stream).unsafe or nil
  energy.complete(c, m)
  c.joules, c.terms = c.energy.joules, {}
  for n, u in ipairs(c.units) do c.terms[n] = {name = u.name, cycles = u.busy} end
  c.terms[#c.terms + 1] = {name = "memory", cycles = c.port}
  for _, loop in ipairs(c.loops) do
    loop.bottleneck, loop.bound = "memory", loop.port
    for _, u in ipairs(loop.units) do if u.busy > loop.bound then loop.bottleneck, loop.bound = u.name, u.busy end end
  end
  return c
end

-- ---- texts

local function whole(v) return written.count(math.floor(v + 0.5)) end

-- A loop or a stream whose busiest unit works for less than this share of the time waits for most of the rest.
local WAITS = 0.75

local function limited(c)
  local share = c.cycles > 0 and c.bound / c.cycles or 1
  if share >= WAITS then return ("limited by %s"):format(c.bottleneck) end
  return ("waits: no unit is busy for more than %.0f %% of the time (%s)"):format(100 * share, c.bottleneck)
end

local function head(c)
  return ("%s: %s, %s cycles, %s%s"):format(c.machine.name, written.seconds(c.seconds), whole(c.cycles), limited(c),
    times.remarks(c))
end

local function remarks(c)
  local out = {("%s multiply-adds: %.1f in a cycle, of at most %d (%.0f %%)"):format(whole(c.macs),
    c.cycles > 0 and c.macs / c.cycles or 0, energy.peak(c.machine), 100 * c.utilisation)}
  out[2] = ("memory outside of the chip: %s bytes read, %s written"):format(whole(c.memory_read), whole(c.memory_written))
  local s = c.steady
  if s then
    out[#out + 1] = ("%s: an iteration every %s cycles, %s times, after a prologue of %s cycles"):format(s.loop, whole(s.interval),
      whole(s.iterations), whole(s.prologue))
  end
  out[#out + 1] = energy.text(c.energy)
  out[#out + 1] = "a prediction; s:stream():run() simulates each instruction"
  return out
end

local function sorted(terms)
  local out = table.move(terms, 1, #terms, 1, {})
  table.sort(out, function(a, b) return a.cycles > b.cycles end)
  return out
end

local function percent(v, all) return ("%.0f %%"):format(all > 0 and 100 * v / all or 0) end

local function text_of(c)
  local out = {head(c), "time of each unit if it were the only limit:"}
  for _, t in ipairs(sorted(c.terms)) do
    out[#out + 1] = ("  %-24s %10s cycles  %6s"):format(t.name, whole(t.cycles), percent(t.cycles, c.cycles))
  end
  table.move(remarks(c), 1, 5, #out + 1, out)
  return table.concat(out, "\n")
end

local function cells_of(c)
  local list = {}
  for n, t in ipairs(sorted(c.terms)) do list[n] = {t.name, whole(t.cycles), percent(t.cycles, c.cycles)} end
  return {head = {"unit", "cycles", "share"}, rows = list, left = {true, heads = true},
    foot = head(c) .. "; " .. table.concat(remarks(c), "; ")}
end

--- Returns the report of s:cost for an accelerator.
function acc.report(s, o, m)
  local c = acc.of("cost", s, o, m)
  return report.new(c, text_of(c), cells_of(c))
end

--- Returns the text beside each loop of the lowered nest, by the id of the loop, and remarks below the nest. A loop that one
--- instruction executes has none.
function acc.beside(s, o, m)
  local c = acc.of("show", s, {machine = o.machine, sizes = o.sizes, threads = o.threads}, m)
  local longest, by_id = {}, {} -- a loop that lowering has copied has several parts
  for _, loop in ipairs(c.loops) do
    if not longest[loop.id] or loop.cycles > longest[loop.id].cycles then longest[loop.id] = loop end
  end
  for id, loop in pairs(longest) do
    by_id[id] = ("%6s  %9s cy  %9s bytes  %s"):format(percent(loop.cycles, c.cycles), whole(loop.cycles),
      whole(loop.memory_read + loop.memory_written), limited(loop))
  end
  local lines = {"# " .. head(c)}
  for _, remark in ipairs(remarks(c)) do lines[#lines + 1] = "# " .. remark end
  return by_id, lines
end

return acc
