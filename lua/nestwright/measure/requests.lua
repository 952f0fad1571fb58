--- Records what single warps of a grid do, with the simulated GPU: the addresses of their requests, and what they execute between
--- barriers. Pictures show both.
local access = require "nestwright.measure.gpu_access"
local caches = require "nestwright.cost.caches"
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local machine = require "nestwright.cost.machine"
local returning = require "nestwright.language.returning"
local rows = require "nestwright.language.rows"
local sizes = require "nestwright.language.sizes"

local requests = {}

-- ---- options

local PLACE = {"sizes", "machine", "kernel", "block", "warp"}

local function with_place(names) return table.move(PLACE, 1, #PLACE, #names + 1, names) end

-- Returns a whole number of at least `least`.
local function whole(what, o, name, otherwise, least)
  if o[name] == nil then return otherwise end
  local v = caches.whole(what, o[name], name)
  if v < least then errors.fail("range", nil, "%s: %s: %d is less than %d", what, name, v, least) end
  return v
end

-- Returns the indices of a block in x, y and z. A number is the index in x.
local function block_of(what, given)
  if given == nil then return {0, 0, 0} end
  if math.type(given) == "integer" then given = {given} end
  local out = {0, 0, 0}
  for d, v in ipairs(errors.expect(what .. ": block", given, "table")) do
    if d > 3 then
      errors.fail("invalid", "block = {2, 1}", "%s: block: a grid has three dimensions, got %d indices", what, #given)
    end
    out[d] = caches.whole(what, v, "block")
  end
  return out
end

-- Returns the options of the simulation, and the values of the sizes.
local function simulated(what, s, o)
  caches.check_schedule(what, s)
  return {machine = o.machine ~= nil and machine.of(o.machine, what .. ": machine") or nil}, sizes.of(what, s, o.sizes)
end

local counted = setmetatable({}, {__mode = "k"}) -- schedule -> the last counts: {version, machine, values, report}

-- Returns the counts of a schedule, which are kept until the schedule, the sizes or the machine change.
local function counts_of(to, s, values)
  local last, version, text = counted[s], s:version(), table.concat(values, " ")
  if last and last.version == version and last.machine == to.machine and last.values == text then return last.report end
  local report = core.gpu_counts(s, values, {machine = to.machine, classes = true, estimates = true})
  counted[s] = {version = version, machine = to.machine, values = text, report = report}
  return report
end

-- Returns the counts of a schedule. Raises an error if no block runs at these sizes.
local function counts(what, to, s, values)
  local report = counts_of(to, s, values)
  for _, kernel in ipairs(report.kernels) do
    if kernel.blocks > 0 then return report end
  end
  errors.fail("invalid", "give larger sizes", "%s: at these sizes, no grid has a block, so no warp runs", what)
end

-- ---- requests

-- Returns the averages of an access over all blocks.
local function averages(found)
  local all = {requests = 0, sectors = 0, wavefronts = 0}
  for _, a in ipairs(found) do
    for name in pairs(all) do all[name] = all[name] + a[name] end
  end
  return all
end

local function no_request(what, name, warp, block, seen)
  local where = ("warp %d of block (%s)"):format(warp, table.concat(block, ", "))
  if seen == 0 then errors.fail("invalid", nil, "%s: %s makes no request '%s'", what, where, name) end
  errors.fail("range", nil, "%s: request: %s makes only %d requests '%s'", what, where, seen, name)
end

-- Returns some requests of a warp. o: the options of the place; first, most: which requests.
local function recorded(what, s, name, o, first, most)
  local to, values = simulated(what, s, o)
  local report = counts(what, to, s, values)
  local found = access.find(what, report.accesses, name, o.kernel)
  local watch = {kernel = found[1].kernel, block = block_of(what, o.block), blocks = 1, warp = whole(what, o, "warp", 0, 0),
    buffer = found[1].buffer, write = found[1].write, skip = first - 1, requests = most, spans = 0}
  local r = core.gpu_watch(s, values, to, watch)
  if #r.requests == 0 then no_request(what, access.name(found[1]), watch.warp, watch.block, r.seen) end
  local all = averages(found)
  for n, request in ipairs(r.requests) do
    request.access, request.kernel, request.block, request.warp = access.name(found[1]), watch.kernel, watch.block, watch.warp
    request.number, request.of = first + n - 1, r.seen
    for _, unit in ipairs {"sector", "line", "banks", "machine"} do request[unit] = r[unit] end
    request.threads = r.warp
    request.mean_sectors, request.mean_wavefronts = all.sectors / all.requests, all.wavefronts / all.requests
  end
  return r.requests
end

local function requests_of(s, name, options)
  local o = errors.options("gpu_requests", options, with_place {"first", "most"})
  return recorded("gpu_requests", s, name, o, whole("gpu_requests", o, "first", 1, 1), whole("gpu_requests", o, "most", 100, 1))
end

-- Calls f at the version `before` of a schedule.
local function at_version(what, s, version, f)
  local last = core.version_count(s) - 1
  if version < 0 or version > last then
    errors.fail("range", nil, "%s: before: there is no version %d; the latest is %d", what, version, last)
  end
  return returning.always(s, function()
    s:checkout(version)
    return f()
  end)
end

-- Returns the columns of a picture, each with a label and a request: the one of the schedule and, if `before` is given, that of an
-- earlier version or of another schedule.
local function columns_of(what, s, name, o)
  local number = whole(what, o, "request", 1, 1)
  local function one(of, access_name, label) return {label = label, request = recorded(what, of, access_name, o, number, 1)[1]} end
  if o.before == nil then return {one(s, name, "")} end
  local earlier = o.before_access or name
  if math.type(o.before) == "integer" then
    local now = ("version %d"):format(s:version())
    local earlier_column = at_version(what, s, o.before, function() return one(s, earlier, ("version %d"):format(o.before)) end)
    return {earlier_column, one(s, name, now)}
  end
  caches.check_schedule(what .. ": before", o.before)
  return {one(o.before, earlier, "before"), one(s, name, "after")}
end

local PICTURE = {"before", "before_access", "request", "title"}

-- Returns a function that draws requests of a schedule.
local function drawing(what, kind, title)
  return function(s, name, options)
    local o = errors.options(what, options, with_place {table.unpack(PICTURE)})
    caches.check_schedule(what, s)
    local columns = columns_of(what, s, name, o)
    return require("nestwright.plots.gpu." .. kind).make(columns, errors.expect(what .. ": title", o.title or title, "string"))
  end
end

-- ---- warps

local MOST_LANES, MOST_SPANS = 64, 20000

-- Returns the loops around the block of a stage that are bound to the grid, outermost first: {name, mark}.
local function bound_loops(s, stage)
  local around = {}
  for _, row in ipairs(core.outline(s)) do
    around[row.depth] = row
    if row.kind == "stage" and row.name == stage then
      local out = {}
      for depth = 0, row.depth - 1 do
        local loop = around[depth]
        if loop and loop.kind == "loop" and (loop.mark or ""):find "Idx%.[xyz]$" then out[#out + 1] = loop end
      end
      return out
    end
  end
  return {}
end

local function warps(s, options)
  local o = errors.options("warps", options, {"sizes", "machine", "kernel", "block", "blocks", "parts", "title"})
  local to, values = simulated("warps", s, o)
  local report = counts("warps", to, s, values)
  local number = whole("warps", o, "kernel", 1, 1)
  local kernel = report.kernels[number]
  if not kernel then errors.fail("range", nil, "warps: kernel: there is no kernel %d; there are %d", number, #report.kernels) end
  local r = core.gpu_watch(s, values, to, {kernel = number, block = block_of("warps", o.block),
    blocks = whole("warps", o, "blocks", 2, 1), spans = MOST_SPANS})
  local threads = kernel.block[1] * kernel.block[2] * kernel.block[3]
  local lanes = (threads + r.warp - 1) // r.warp * math.min(o.blocks or 2, kernel.blocks)
  if lanes > MOST_LANES then
    errors.fail("limit", "give fewer blocks, as in {blocks = 1}", "warps: %d warps are too many: at most %d can be distinguished",
      lanes, MOST_LANES)
  end
  local bound_of = {} -- for each output: the loops around it
  for _, output in ipairs(s:outputs()) do bound_of[output.name] = bound_loops(s, output.name) end
  return require "nestwright.plots.gpu.warps".make {spans = r.spans, kernel = kernel, number = number, warp = r.warp,
    machine = r.machine, bound = bound_of[s:outputs()[1].name], bound_of = bound_of, parts = whole("warps", o, "parts", 6, 1),
    whole = #r.spans < MOST_SPANS, title = errors.expect("warps: title", o.title or "Blocks and warps", "string")}
end

-- ---- the functions

local WHERE = "sizes?: table, machine?: string|table|nw.machine, kernel?: integer, block?: integer|integer[], warp?: integer"
local WHERE_HELP = "block: its indices, as in {2, 1}; the first by default. warp: its number in the block, from 0. kernel: its "
  .. "number, if several kernels have such an access. sizes: values of symbolic sizes. machine: a GPU of nw.machines(); by default "
  .. "the target of the schedule. "
local BEFORE_HELP = "before: another schedule, or the number of a version, drawn above it at the same scale; before_access: the "
  .. "name of the access there, if it has another one. request: the number of the request; the first by default. "

function requests.install(nw)
  rows.define(rows.methods "schedule", "schedule", "gpu", "gpu_requests",
    "(self: nw.schedule, access: string, options?: {first?: integer, most?: integer, " .. WHERE .. "}): table[]",
    "The requests of one warp for a load or a store, such as \"load A\" or \"store C_shared\" (the names that s:gpu_counts() "
    .. "prints), in order, from the simulated GPU. Each has lanes, a list of {lane, address (in bytes from the beginning of the "
    .. "buffer), wavefronts (for shared memory: of each word of 4 bytes, from 0)}; bytes (of each lane), sectors and wavefronts; "
    .. "and mean_sectors and mean_wavefronts, over all requests of the kernel for this access. first: the number of the first one; "
    .. "most: 100 by default. " .. WHERE_HELP .. "Accesses that depend on data cannot be recorded.", requests_of)

  local define = rows.definer(nw, "nw", "gpu")
  define("warp_request",
    "(s: nw.schedule, access: string, options?: {before?: nw.schedule|integer, before_access?: string, request?: integer, "
    .. "title?: nw.label, " .. WHERE .. "}): nw.plot",
    "Draws one request of a warp to global memory: the lanes, the addresses that they want, and the sectors that the memory "
    .. "sends, with the bytes that nobody wants. access: a name that s:gpu_counts() prints, as \"load A\". " .. BEFORE_HELP
    .. WHERE_HELP .. "Rows: schedule, lane, address, bytes.", drawing("warp_request", "warp_request", "A request of a warp"))

  define("bank_conflicts",
    "(s: nw.schedule, access: string, options?: {before?: nw.schedule|integer, before_access?: string, request?: integer, "
    .. "title?: nw.label, " .. WHERE .. "}): nw.plot",
    "Draws one request of a warp to shared memory: which bank sends a word to which lane in which wavefront. Different words in "
    .. "one bank need one wavefront each. access: a name that s:gpu_counts() prints, as \"load A_shared\". " .. BEFORE_HELP
    .. WHERE_HELP .. "Rows: schedule, wavefront, bank, word, lanes.",
    drawing("bank_conflicts", "bank_conflicts", "Banks of shared memory over time"))

  define("warps",
    "(s: nw.schedule, options?: {blocks?: integer, parts?: integer, sizes?: table, machine?: string|table|nw.machine, "
    .. "kernel?: integer, block?: integer|integer[], title?: nw.label}): nw.plot",
    "Draws what each warp of some blocks executes, between barriers: one lane for each warp, with the iterations of the loops that "
    .. "are bound to the grid; one bar for each nest. Time is counted in stores that a warp executes, because the simulated GPU "
    .. "has no clock; where a lane has no bar, the warp waits at a barrier. blocks: the number of blocks, 2 by default; parts: "
    .. "the number of parts between barriers, 6 by default. block: the indices of the first block. kernel: its number. "
    .. "sizes, machine: as in s:gpu_counts.", warps)
end

return requests
