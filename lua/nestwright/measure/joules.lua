--- Measures the energy of a function with the energy counters of the CPU.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local report = require "nestwright.show.report"
local rows = require "nestwright.language.rows"
local written = require "nestwright.show.written"

local joules = {}

local LEAST = 0.2 -- the least total duration of the runs in seconds, because the counters are updated only every millisecond

-- Returns the joules that packages and memory have used since the readings `before`.
local function used(before, root)
  local package, memory = 0, nil
  local now = core.energy_zones(root)
  if #now ~= #before then errors.fail("io", nil, "joules: an energy counter disappeared") end
  for n, zone in ipairs(now) do
    local more = core.energy_used(before[n], zone)
    if zone.name == "dram" then memory = (memory or 0) + more else package = package + more end
  end
  return package, memory
end

local function text_of(r)
  local memory = r.memory and (", %s of memory"):format(written.quantity(r.memory, "J")) or ""
  return ("%s of the CPU package%s per run, %s, %s; other processes are included"):format(
    r.joules < 1 and ("%.3g mJ"):format(1e3 * r.joules) or written.quantity(r.joules, "J"), memory, written.plural(r.runs, "run"),
    written.quantity(r.watts, "W"))
end

--- Runs f repeatedly until `least` seconds have passed. Returns a report on the energy of one run.
function joules.of(f, least, root)
  local before, start, runs = core.energy_zones(root), core.now(), 0
  repeat
    f()
    runs = runs + 1
  until core.now() - start >= least
  local seconds = core.now() - start
  local package, memory = used(before, root)
  local r = {joules = package / runs, memory = memory and memory / runs, seconds = seconds / runs, runs = runs,
    watts = package / seconds}
  return report.new(r, text_of(r))
end

function joules.install(nw)
  rows.define(nw, "nw", "timing", "joules", "(f: fun(), options?: {least?: number, root?: string}): nw.report",
    "Measures the energy of a call of f with the energy counters of the CPU's packages and of their memory (RAPL, through the "
    .. "kernel's powercap). f is called repeatedly for `least` seconds (by default 0.2). The energy of other processes is "
    .. "included. The answer has joules, memory (joules; nil if it is not counted), seconds, runs, watts. It is an error if the "
    .. "machine has no counters, or if the user may not read them. root: the folder of the counters, /sys/class/powercap.",
    function(f, options)
      local o = errors.options("joules", options, {"least", "root"})
      errors.expect("joules", f, "function")
      if o.root ~= nil then errors.expect("joules: root", o.root, "string") end
      local least = o.least == nil and LEAST or errors.expect("joules: least", o.least, "number")
      if not (least >= 0 and least <= 3600) then errors.fail("range", nil, "joules: least: %s is not in 0..3600 seconds", least) end
      return joules.of(f, least, o.root)
    end)
end

return joules
