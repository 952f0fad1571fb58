--- Runs schedules on a simulated GPU, and reports what their accesses to memory cost and which threads race.
local access = require "nestwright.measure.gpu_access"
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local machine = require "nestwright.cost.machine"
local report = require "nestwright.show.report"
local rows = require "nestwright.language.rows"
local sizes = require "nestwright.language.sizes"
local inside = require "nestwright.inside"

local simulate = {}
local class = report.class "simulation"

-- ---- findings

-- Returns the text of the step that made the statement of an access.
local function step_text(place)
  if not place.step then return nil end
  return place.step == 0 and "the statement is that of the definition" or ("%s (step %d)"):format(place.step_text, place.step)
end

local function finding_text(f)
  local lines = {f.text .. (f.times > 1 and (" (%d times)"):format(f.times) or "")}
  local step = step_text(f.second)
  if step then lines[#lines + 1] = "  " .. step end
  return table.concat(lines, "\n")
end

-- ---- the table

local HEADER = ("%-30s %-6s %13s %8s %9s %11s"):format("", "scope", "requests", "lanes", "sectors", "wavefronts")

local function each(n, requests) return requests > 0 and n > 0 and ("%.2f"):format(n / requests) or "-" end

-- Returns the rows of accesses to show. Copies of an access that an unrolled loop has made, and that have the same counts for each
-- request, are one row.
local function folded(accesses)
  local out, known = {}, {}
  for _, a in ipairs(accesses) do
    local key = table.concat({a.kernel, access.name(a), a.scope, a.requests, each(a.lanes, a.requests), each(a.sectors, a.requests),
      each(a.wavefronts, a.requests)}, "|")
    local row = known[key]
    if row then
      row.copies, row.requests = row.copies + 1, row.requests + a.requests
      for _, name in ipairs {"lanes", "sectors", "wavefronts"} do row[name] = row[name] + a[name] end
    else
      row = {copies = 1, kernel = a.kernel, buffer = a.buffer, write = a.write, atomic = a.atomic, async = a.async, scope = a.scope,
        requests = a.requests, lanes = a.lanes, sectors = a.sectors, wavefronts = a.wavefronts}
      known[key], out[#out + 1] = row, row
    end
  end
  return out
end

local function label_of(a) return access.name(a) .. (a.copies > 1 and (" (%d copies)"):format(a.copies) or "") end

local function access_line(a)
  return ("%-30s %-6s %13d %8s %9s %11s"):format("  " .. label_of(a), a.scope, a.requests, each(a.lanes, a.requests),
    each(a.sectors, a.requests), each(a.wavefronts, a.requests))
end

local function kernel_lines(out, n, k)
  out[#out + 1] = ("kernel %d: %d x %d x %d blocks of %d x %d x %d threads"):format(n, k.grid[1], k.grid[2], k.grid[3],
    k.block[1], k.block[2], k.block[3]) .. (k.launches > 1 and (", launched %d times"):format(k.launches) or "")
    .. (k.simulated < k.blocks and ("; %d of %d blocks were simulated"):format(k.simulated, k.blocks) or "")
  local parts = {}
  for name, times in pairs(k.instructions) do parts[#parts + 1] = {name, times} end
  table.sort(parts, function(a, b) return a[2] > b[2] or a[2] == b[2] and a[1] < b[1] end)
  for i, part in ipairs(parts) do parts[i] = ("%s %d"):format(part[1], part[2]) end
  out[#out + 1] = "  instructions of warps: " .. table.concat(parts, ", ")
  local active = k.statements > 0 and ("%.1f active threads of a warp"):format(k.active / k.statements) or "no statement ran"
  out[#out + 1] = ("  %s; %d barriers; %d bytes of shared memory; about %d registers (an estimate)"):format(active, k.barriers,
    k.shared_bytes, k.registers)
  if k.limiter then
    out[#out + 1] = ("  occupancy %.0f %%: %d blocks at a time, limited by %s"):format(100 * k.occupancy, k.resident, k.limiter)
  end
end

local function nothing_found(r)
  return r.outputs and "no races, no other faults" or "no races in shared memory; nw.simulate also looks for races in global memory"
end

local function text_of(r)
  local out = {}
  for _, f in ipairs(r.findings) do out[#out + 1] = finding_text(f) end
  out[#out + 1] = #r.findings == 0 and nothing_found(r) or nil
  for n, k in ipairs(r.kernels) do
    kernel_lines(out, n, k)
    out[#out + 1] = HEADER
    for _, a in ipairs(folded(r.accesses)) do
      if a.kernel == n then out[#out + 1] = access_line(a) end
    end
  end
  out[#out + 1] = ("simulated for %s; lanes, sectors and wavefronts are for each request of a warp"):format(r.machine)
  return table.concat(out, "\n")
end

local function cells_of(r)
  local out = {}
  for k, a in ipairs(folded(r.accesses)) do
    out[k] = {("%d: %s"):format(a.kernel, label_of(a)), a.scope, ("%d"):format(a.requests), each(a.lanes, a.requests),
      each(a.sectors, a.requests), each(a.wavefronts, a.requests)}
  end
  local lines = {}
  for n, f in ipairs(r.findings) do lines[n] = finding_text(f) end
  return {head = {"", "scope", "requests", "lanes", "sectors", "wavefronts"}, rows = out, left = {true, true, heads = true},
    foot = #lines > 0 and table.concat(lines, "; ") or nothing_found(r)}
end

-- ---- the function

-- Adds the texts of steps to the accesses of findings.
local function name_steps(s, findings)
  for _, f in ipairs(findings) do
    for _, place in pairs {f.first, f.second} do
      if place.step and place.step > 0 then place.step_text = core.schedule_step(s, place.step) end
    end
  end
end

-- Returns a report with texts.
local function reported(s, r)
  name_steps(s, r.findings)
  return class.new(r, text_of(r), cells_of(r))
end

local function options_of(what, o)
  if o.caches ~= nil then errors.expect(what .. ": caches", o.caches, "boolean") end
  return {threads = o.threads, caches = o.caches, machine = o.machine ~= nil and machine.of(o.machine, "machine") or nil}
end

local function counts(s, options)
  local o = errors.options("gpu_counts", options, {"sizes", "threads", "machine", "caches", "classes"})
  local to = options_of("gpu_counts", o)
  to.classes = o.classes == nil and not o.caches or errors.expect("gpu_counts: classes", o.classes or false, "boolean")
  return reported(s, core.gpu_counts(s, sizes.of("gpu_counts", s, o.sizes), to))
end

local function run(s, arguments, options)
  local o = errors.options("simulate", options, {"threads", "machine", "caches"})
  local args, made = inside.complete("simulate", s, errors.expect("simulate: arguments", arguments, "table"))
  local r = core.simulate(s, args, options_of("simulate", o))
  r.outputs = made
  return reported(s, r)
end

function simulate.install(nw)
  rows.define(nw, "nw", "kernels", "simulate",
    "(s: nw.schedule, arguments: nw.array[], options?: {threads?: integer, machine?: string|table|nw.machine, "
    .. "caches?: boolean}): nw.simulation",
    "Runs a schedule whose loops are bound to blockIdx and threadIdx on a simulated GPU: the threads of a warp execute each "
    .. "statement together. Finds races, reads of elements that were not written, accesses outside a buffer, and barriers that "
    .. "not all threads of a block reach. The answer has outputs; findings, each with fault, buffer, element, first and second "
    .. "(the two accesses: block, thread, write, step), and times; accesses, a row of counts for each load and store: requests of "
    .. "warps, lanes, sectors of global memory, wavefronts of shared memory, degrees[n] (requests with n wavefronts); kernels: "
    .. "grid, block, instructions by class, shared_bytes, registers (an estimate), occupancy and limiter; and seconds. threads: "
    .. "of this host; all cores by default. machine: a GPU of nw.machines(); by default the target of the schedule. caches: also "
    .. "counts l1_hits and l2_hits, in sectors.", run)

  rows.define(rows.methods "schedule", "schedule", "kernels", "gpu_counts",
    "(self: nw.schedule, options?: {sizes?: table, threads?: integer, machine?: string|table|nw.machine, caches?: boolean, "
    .. "classes?: boolean}): nw.simulation",
    "The counts of nw.simulate, without arrays, for schedules whose accesses do not depend on data. sizes: values of symbolic "
    .. "sizes, {M = 64}. Blocks whose conditions and addresses are alike are simulated once, and their counts are multiplied, so "
    .. "large grids take little time; kernels[n].simulated is the number of simulated blocks. classes = false simulates every "
    .. "block; the counts are the same. Races are found only in shared memory.", counts)
end

return simulate
