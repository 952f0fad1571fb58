--- Shows costs beside the loops of the lowered nest, the versions of a schedule, and pictures of accesses.
local cost = require "nestwright.cost.cost"
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local loop_times = require "nestwright.measure.loop_times"
local returning = require "nestwright.language.returning"
local acc = later "nestwright.cost.acc_cost"
local gpu = later "nestwright.cost.gpu_cost"
local text = later "nestwright.cost.cost_text"
local written = require "nestwright.show.written"

local shown = {}

local function whole(n) return written.count(math.floor(n + 0.5)) end

-- Returns the cost record of a version. o.machine is a record.
local function of_version(what, s, version, o)
  if o.machine.kind == "cpu" then
    return cost.of(what, s, {machine = o.machine, sizes = o.sizes, threads = o.threads, version = version, conflicts = false})
  end
  return returning.quietly(s, function()
    s:checkout(version)
    return (o.machine.kind == "gpu" and gpu or acc).of(what, s, {sizes = o.sizes, threads = o.threads}, o.machine)
  end)
end

-- Returns the cost record of a version, or nil and the reason why there is none.
local function tried(what, s, version, o)
  local ok, c = pcall(of_version, what, s, version, o)
  if ok then return c end
  if not errors.is_error(c) or c.code == "interrupt" then error(c, 0) end
  return nil, c.message
end

-- Returns, for each loop, the misses in the first cache level by the loop and the loops inside it.
local function misses_of(c)
  local own, out, stack = {}, {}, {}
  for _, row in ipairs(c.by_loop) do
    if row.level == 1 and row.loop then own[row.loop] = (own[row.loop] or 0) + row.misses end
  end
  for _, loop in ipairs(c.loops) do
    while #stack > 0 and stack[#stack].depth >= loop.depth and loop.name do stack[#stack] = nil end
    if loop.name then
      stack[#stack + 1] = loop
      for _, around in ipairs(stack) do out[around.name] = (out[around.name] or 0) + (own[loop.name] or 0) end
    end
  end
  return out
end

local function remark(loop, misses, all)
  return ("%5.1f %%  %8s cy  %8s L1 misses  %s"):format(100 * loop.cycles / all, whole(loop.cycles), whole(misses or 0),
    loop.bottleneck)
end

-- True if the cycles of the loops inside some loop add up to more than the cycles of this loop. Then the core executes inner loops
-- at the same time.
local function is_overlapped(c)
  local stack, inside = {}, {}
  for _, loop in ipairs(c.loops) do
    while #stack > 0 and stack[#stack].depth >= loop.depth do stack[#stack] = nil end
    local around = stack[#stack]
    if around and loop.name then inside[around] = (inside[around] or 0) + loop.cycles end
    if loop.name or #stack == 0 then stack[#stack + 1] = loop end
  end
  for around, cycles in pairs(inside) do if cycles > 1.02 * around.cycles then return true end end
  return false
end

-- Returns the measured times of the loops, or nil. If o.measured is true, they are measured now, with as many threads as the
-- prediction. If it is nil, they are those that this session has already measured for this version.
local function measured_for(s, o, c)
  local here = c.machine.name == "host"
  if o.measured == nil then return here and loop_times.known(s, o.sizes, c.threads) or nil end
  if not errors.expect("show: measured", o.measured, "boolean") then return nil end
  if o.machine ~= nil and not here then
    errors.fail("invalid", "leave out machine, or measured", "show: measured: loops are measured on this host, and the prediction "
      .. "is for %s", c.machine.name)
  end
  return loop_times.measure("show", s, {}, {threads = c.threads, sizes = o.sizes})
end

-- Returns the head of the columns beside the loops.
local function head_of(measured, c)
  return ("# measured on %s: time, share | predicted for %s: share, cycles, misses in L1, bottleneck"):format(
    written.plural(loop_times.threads(measured), "thread"), written.plural(c.threads, "thread"))
end

-- Returns the remarks below the nest.
local function remarks_of(measured, o, c)
  local lines = {"# " .. text.head(c)}
  local unused = text.unused_threads(c)
  lines[2] = unused and "# " .. unused
  for _, words in ipairs(measured and loop_times.remarks(measured) or {}) do lines[#lines + 1] = "# measured: " .. words end
  if is_overlapped(c) then
    lines[#lines + 1] = "# the core overlaps neighbouring loops: their shares add up to more than the share of the loop around them"
  end
  if not measured and o.measured == nil and c.machine.name == "host" then
    lines[#lines + 1] = "# s:show{cost = true, measured = true} measures each loop beside its prediction"
  end
  return lines
end

-- Returns the lowered nest with texts beside its loops, which are given by the ids of the loops. The texts begin in one column.
local function annotated(s, beside)
  local nest, ids = core.lowered_folded(s)
  local lines, width = {}, 0
  for line in (nest .. "\n"):gmatch "(.-)\n" do
    lines[#lines + 1] = line
    if beside[ids[#lines]] then width = math.max(width, math.min(utf8.len(line), 56)) end
  end
  for n, line in ipairs(lines) do
    local words = beside[ids[n]]
    if words then lines[n] = line .. (" "):rep(width - utf8.len(line)) .. "  # " .. words end
  end
  return lines
end

-- Returns the text of a nest and of the remarks below it.
local function joined(lines, remarks)
  table.move(remarks, 1, #remarks, #lines + 1, lines)
  return (table.concat(lines, "\n"):gsub("\n\n+#", "\n#"))
end

--- Returns the lowered nest with the cycles, the misses of the first level and the bottleneck beside each loop. The measured time
--- of each loop is there too, if it is known or if options.measured is true.
function shown.nest(s, options)
  local o = errors.options("show", options, {"cost", "machine", "sizes", "threads", "measured"})
  local m = cost.machine(s, o)
  if m.kind ~= "cpu" then
    local beside, remarks = (m.kind == "gpu" and gpu or acc).beside(s, o, m)
    return joined(annotated(s, beside), remarks)
  end
  local c = cost.of("show", s, o)
  local measured = measured_for(s, o, c)
  local beside, misses = {}, misses_of(c)
  for _, loop in ipairs(c.loops) do
    if loop.name then
      local before = measured and ("measured %-18s | predicted "):format(loop_times.words(measured, loop.id)) or ""
      beside[loop.id] = before .. remark(loop, misses[loop.name], c.cycles)
    end
  end
  local lines = annotated(s, beside)
  if measured then table.insert(lines, 1, head_of(measured, c)) end
  return joined(lines, remarks_of(measured, o, c))
end

--- Returns the prediction for a version: {time as text, bottleneck} and the record, or {"?", reason} if there is no prediction.
function shown.version(s, version, o)
  local c, why = tried("log", s, version, o)
  if c then return {written.seconds(c.seconds), c.bottleneck}, c end
  return {"?", why}
end

local function level_words(c, level)
  local parts = {}
  for _, row in ipairs(c.by_tensor) do
    if row.level == level.level then parts[#parts + 1] = ("%s %d"):format(row.tensor, row.misses) end
  end
  return ("L%d misses %d lines (%s), %s"):format(level.level, level.misses, table.concat(parts, ", "),
    level.exact and "exact" or ("estimated, up to %.1f %% off"):format(100 * level.error))
end

--- Returns the prediction for a version as a sentence. `o` has the options machine, sizes and threads.
function shown.sentence(s, version, o)
  local m = cost.machine(s, o)
  local c, why = tried("cost", s, version, {machine = m, sizes = o.sizes, threads = o.threads})
  if not c then return "The cost model has no prediction: " .. why .. "." end
  if m.kind == "gpu" then
    return ("The model of GPUs on %s: %s, a prediction; limited by %s."):format(m.name, written.seconds(c.seconds), c.bottleneck)
  end
  if m.kind == "accelerator" then
    return ("The model of streams on %s: %s, a prediction; limited by %s."):format(m.name, written.seconds(c.seconds), c.bottleneck)
  end
  local parts = {("The cost model on %s: %s, %s (%s cycles), a prediction; bottleneck: %s"):format(c.machine.name,
    written.seconds(c.seconds), written.plural(c.threads, "thread"), whole(c.cycles), c.bottleneck)}
  for n, level in ipairs(c.levels) do parts[n + 1] = level_words(c, level) end
  return table.concat(parts, "; ") .. (c.threads > 1 and "; misses of the first thread." or ".")
end

return shown
