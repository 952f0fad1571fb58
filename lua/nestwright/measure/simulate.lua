--- Runs schedules on a simulated GPU, and reports what their accesses to memory cost and which threads race.
local access = require "nestwright.measure.gpu_access"
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local machine = require "nestwright.cost.machine"
local report = require "nestwright.show.report"
local rows = require "nestwright.language.rows"
local sizes = require "nestwright.language.sizes"
local written = require "nestwright.show.written"
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

local function each(n, requests) return requests > 0 and n > 0 and ("%.2f"):format(n / requests) or "-" end

local function share(n, all) return all > 0 and ("%.1f %%"):format(100 * n / all) or "-" end

-- True if caches were simulated.
local function has_caches(r) return r.kernels[1] ~= nil and r.kernels[1].waves ~= nil end

local SUMS = {"requests", "lanes", "sectors", "wavefronts", "l1_hits", "l2_hits"}

-- The columns of an access. L1 is not asked for stores and atomic updates; L2 is asked for what L1 lacks.
local COLUMNS = {
  {"requests", 13, function(a) return ("%d"):format(a.requests) end},
  {"lanes", 8, function(a) return each(a.lanes, a.requests) end},
  {"sectors", 9, function(a) return each(a.sectors, a.requests) end},
  {"wavefronts", 11, function(a) return each(a.wavefronts, a.requests) end},
  {"L1 hits", 9, function(a) return (a.write or a.atomic) and "-" or share(a.l1_hits, a.sectors) end, cached = true},
  {"L2 hits", 9, function(a) return share(a.l2_hits, a.sectors - a.l1_hits) end, cached = true},
}

-- Returns the columns that a report has.
local function columns_of(r)
  local out = {}
  for _, column in ipairs(COLUMNS) do
    if not column.cached or has_caches(r) then out[#out + 1] = column end
  end
  return out
end

-- Returns the rows of accesses to show. Copies of an access that an unrolled loop has made, and that have the same counts for each
-- request, are one row.
local function folded(accesses)
  local out, known = {}, {}
  for _, a in ipairs(accesses) do
    local key = table.concat({a.kernel, access.name(a), a.scope, a.requests, each(a.lanes, a.requests), each(a.sectors, a.requests),
      each(a.wavefronts, a.requests)}, "|")
    local row = known[key]
    if row then
      row.copies = row.copies + 1
      for _, name in ipairs(SUMS) do row[name] = row[name] + a[name] end
    else
      row = {copies = 1, kernel = a.kernel, buffer = a.buffer, write = a.write, atomic = a.atomic, async = a.async, scope = a.scope}
      for _, name in ipairs(SUMS) do row[name] = a[name] end
      known[key], out[#out + 1] = row, row
    end
  end
  return out
end

local function label_of(a) return access.name(a) .. (a.copies > 1 and (" (%d copies)"):format(a.copies) or "") end

-- Returns a line of the table: a name, a scope, and a cell for each column.
local function line_of(name, scope, columns, cell)
  local out = {("%-30s %-6s"):format(name, scope)}
  for n, column in ipairs(columns) do out[n + 1] = ("%" .. column[2] .. "s"):format(cell(column)) end
  return table.concat(out, " ")
end

local function header_line(columns) return line_of("", "scope", columns, function(c) return c[1] end) end

local function access_line(a, columns)
  return line_of("  " .. label_of(a), a.scope, columns, function(c) return c[3](a) end)
end

-- Returns the line on the bytes of memory. `of` are the accesses of the kernel.
local function memory_line(k, of)
  local sectors, l1 = 0, 0
  for _, a in ipairs(of) do sectors, l1 = sectors + a.sectors, l1 + a.l1_hits end
  local exact = k.replayed == k.waves and not k.cut
  local how = exact and "" or (" (an estimate from %s%d of %d waves of blocks)"):format(k.cut and "the first requests of " or "",
    k.replayed, k.waves)
  return ("  L1 hits %s of the sectors; %s are read from memory, and %s are written%s"):format(share(l1, sectors),
    written.bytes(k.dram_read), written.bytes(k.dram_written), how)
end

local function kernel_lines(out, n, k, of)
  out[#out + 1] = ("kernel %d: %d x %d x %d blocks of %d x %d x %d threads"):format(n, k.grid[1], k.grid[2], k.grid[3],
    k.block[1], k.block[2], k.block[3]) .. (k.launches > 1 and (", launched %d times"):format(k.launches) or "")
    .. (k.simulated < k.blocks and ("; %d of %d blocks were simulated"):format(k.simulated, k.blocks) or "")
  local parts = {}
  for name, times in pairs(k.instructions) do parts[#parts + 1] = {name, times} end
  table.sort(parts, function(a, b) return a[2] > b[2] or a[2] == b[2] and a[1] < b[1] end)
  for i, part in ipairs(parts) do parts[i] = ("%s %d"):format(part[1], part[2]) end
  out[#out + 1] = "  instructions of warps: " .. table.concat(parts, ", ")
  local active = k.statements > 0 and ("%.1f active threads of a warp"):format(k.active / k.statements) or "no statement ran"
  out[#out + 1] = ("  %s; %d barriers; %d bytes of shared memory; %s"):format(active, k.barriers, k.shared_bytes,
    (k.assembled and "%d registers by ptxas" or "about %d registers (an estimate)"):format(k.registers))
  if k.limiter then
    out[#out + 1] = ("  occupancy %.0f %%: %d blocks at a time, limited by %s"):format(100 * k.occupancy, k.resident, k.limiter)
  end
  if k.waves then out[#out + 1] = memory_line(k, of) end
end

local function nothing_found(r)
  return r.outputs and "no races, no other faults" or "no races in shared memory; nw.simulate also looks for races in global memory"
end

local function text_of(r)
  local out = {}
  for _, f in ipairs(r.findings) do out[#out + 1] = finding_text(f) end
  out[#out + 1] = #r.findings == 0 and nothing_found(r) or nil
  local rows_of, columns = {}, columns_of(r)
  for n in ipairs(r.kernels) do rows_of[n] = {} end
  for _, a in ipairs(folded(r.accesses)) do table.insert(rows_of[a.kernel], a) end
  for n, k in ipairs(r.kernels) do
    kernel_lines(out, n, k, rows_of[n])
    out[#out + 1] = header_line(columns)
    for _, a in ipairs(rows_of[n]) do out[#out + 1] = access_line(a, columns) end
  end
  out[#out + 1] = ("simulated for %s; lanes, sectors and wavefronts are for each request of a warp"):format(r.machine)
  return table.concat(out, "\n")
end

local function cells_of(r)
  local out, head, lines = {}, {"", "scope"}, {}
  local columns = columns_of(r)
  for _, column in ipairs(columns) do head[#head + 1] = column[1] end
  for k, a in ipairs(folded(r.accesses)) do
    out[k] = {("%d: %s"):format(a.kernel, label_of(a)), a.scope}
    for n, column in ipairs(columns) do out[k][n + 2] = column[3](a) end
  end
  for n, f in ipairs(r.findings) do lines[n] = finding_text(f) end
  return {head = head, rows = out, left = {true, true, heads = true},
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
  if o.ptxas ~= nil then errors.expect(what .. ": ptxas", o.ptxas, "boolean") end
  return {threads = o.threads, caches = o.caches, estimates = o.ptxas == false,
    machine = o.machine ~= nil and machine.of(o.machine, "machine") or nil}
end

local function counts(s, options)
  local o = errors.options("gpu_counts", options, {"sizes", "threads", "machine", "caches", "classes", "ptxas"})
  local to = options_of("gpu_counts", o)
  to.classes = o.classes == nil or errors.expect("gpu_counts: classes", o.classes, "boolean")
  return reported(s, core.gpu_counts(s, sizes.of("gpu_counts", s, o.sizes), to))
end

local function run(s, arguments, options)
  local o = errors.options("simulate", options, {"threads", "machine", "caches", "ptxas"})
  local args, made = inside.complete("simulate", s, errors.expect("simulate: arguments", arguments, "table"))
  local r = core.simulate(s, args, options_of("simulate", o))
  r.outputs = made
  return reported(s, r)
end

local FIELDS = {
  {"findings", "table[]", "What is wrong: fault, buffer, element, first and second (the two accesses), and times."},
  {"accesses", "table[]", "The counts of each load and store, such as requests, lanes, sectors and wavefronts. Another list, "
    .. "kernels, has grid, block, instructions, shared_bytes, registers, occupancy and limiter of each kernel."},
  {"outputs", "nw.array[]", "The results of nw.simulate; nil for s:gpu_counts()."},
  {"seconds", "number", "How long the simulation took on this host."},
}

function simulate.install(nw)
  for _, field in ipairs(FIELDS) do rows.field("simulation", "gpu", table.unpack(field)) end

  rows.define(nw, "nw", "gpu", "simulate",
    "(s: nw.schedule, arguments: nw.array[], options?: {threads?: integer, machine?: string|table|nw.machine, "
    .. "caches?: boolean, ptxas?: boolean}): nw.simulation",
    "Runs a schedule whose loops are bound to blockIdx and threadIdx on a simulated GPU: the threads of a warp execute each "
    .. "statement together. Finds races, reads of elements that were not written, accesses outside a buffer, and barriers that "
    .. "not all threads of a block reach. The answer has outputs; findings, each with fault, buffer, element, first and second "
    .. "(the two accesses: block, thread, write, step), and times; accesses, a row of counts for each load and store: requests of "
    .. "warps, lanes, sectors of global memory, wavefronts of shared memory, degrees[n] (requests with n wavefronts); kernels: "
    .. "grid, block, instructions by class, shared_bytes, registers, occupancy and limiter; and seconds. For NVIDIA GPUs, ptxas "
    .. "counts the registers if it is installed (kernels[n].assembled); otherwise, and with ptxas = false, they are an "
    .. "estimate. threads: "
    .. "of this host; all cores by default. machine: a GPU of nw.machines(); by default the target of the schedule. caches: also "
    .. "counts l1_hits and l2_hits of each access, in sectors, and dram_read and dram_written of each kernel, in bytes.", run)

  rows.define(rows.methods "schedule", "schedule", "gpu", "gpu_counts",
    "(self: nw.schedule, options?: {sizes?: table, threads?: integer, machine?: string|table|nw.machine, caches?: boolean, "
    .. "classes?: boolean, ptxas?: boolean}): nw.simulation",
    "The counts of nw.simulate, without arrays, for schedules whose accesses do not depend on data. sizes: values of symbolic "
    .. "sizes, {M = 64}. Blocks whose conditions and addresses are alike are simulated once, and their counts are multiplied, so "
    .. "large grids take little time; kernels[n].simulated is the number of simulated blocks. classes = false simulates every "
    .. "block; the counts are the same. caches: also counts hits in caches, as nw.simulate does; two waves of blocks are then "
    .. "replayed in the caches (kernels[n].replayed of kernels[n].waves), and if they are very long, only their first requests "
    .. "(kernels[n].cut). ptxas = false: the registers are estimated. Races are found only in shared memory.", counts)
end

return simulate
