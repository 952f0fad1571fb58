--- Measures the time of each loop, in code that has clocks around its loops.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local inside = require "nestwright.inside"
local report = require "nestwright.show.report"
local rows = require "nestwright.language.rows"
local times = require "nestwright.measure.times"
local written = require "nestwright.show.written"

local loop_times = {}

local APART = 0.05 -- a share; a greater difference between the times with and without clocks is mentioned
local seconds, percent = written.seconds, written.percent

-- Returns the loops of a measurement by the id of their statement. The copies of a loop, such as its main part and its tail, have
-- the same id. Their times are added.
local function by_id(loops)
  local out = {}
  for _, l in ipairs(loops) do
    local sum = out[l.id]
    if sum then
      for _, field in ipairs {"seconds", "most", "work", "times", "busy"} do sum[field] = sum[field] + l[field] end
      sum.timed = sum.timed or l.timed
    else
      out[l.id] = l
    end
  end
  return out
end

-- The measurements of this session, by schedule and version: lists of {record, sizes}, the latest last. They stay valid because a
-- version never changes.
local kept = setmetatable({}, {__mode = "k"})

local function sizes_text(values)
  local out = {}
  for name, value in pairs(values) do out[#out + 1] = ("%s=%s"):format(name, value) end
  table.sort(out)
  return table.concat(out, " ")
end

local function keep(s, r, values)
  local record, version = {}, s:version()
  for key, value in pairs(r) do record[key] = value end
  kept[s] = kept[s] or {}
  kept[s][version] = kept[s][version] or {}
  table.insert(kept[s][version], {record = record, sizes = sizes_text(values)})
end

--- Returns the latest measurement of the current version in this session with these sizes. One with this number of threads is
--- preferred. Returns nil if there is none.
function loop_times.known(s, values, threads)
  local found
  for _, entry in ipairs(kept[s] and kept[s][s:version()] or {}) do
    local fits = entry.sizes == sizes_text(values or {})
    if fits and (not found or entry.record.threads == threads or found.threads ~= threads) then found = entry.record end
  end
  return found
end

--- Measures the loops of a schedule. arrays: inputs and outputs, or an empty list for random inputs; o: threads, opt, reps, sizes.
--- Returns the record of core.loop_times, with the additional fields by_id and machine.
function loop_times.measure(what, s, arrays, o)
  local values = #arrays > 0 and core.sizes_from(s, arrays) or o.sizes or {}
  arrays = #arrays > 0 and inside.complete(what, s, arrays) or inside.sized_arrays(s, o.sizes or {})
  local r = core.loop_times(s, arrays, o.threads, o.opt, o.reps)
  r.by_id = by_id(r.loops)
  r.machine = times.machine()
  keep(s, r, values)
  return r
end

--- Returns the measured time of a loop as text. r: a measurement; id: the id of the loop's statement.
function loop_times.words(r, id)
  local l = r.by_id[id]
  if not l then return "" end
  if not l.timed then return "no clock" end
  return ("%8s  %7s"):format(seconds(l.seconds), percent(l.seconds / r.clocked))
end

--- Returns the number of threads that run the measured loops: one if no loop is parallel.
function loop_times.threads(r)
  for _, l in ipairs(r.loops) do if l.parallel then return r.threads end end
  return 1
end

--- Returns sentences about a measurement, as a list.
function loop_times.remarks(r)
  local call = "a call on %s takes %s without clocks (median of %d) and %s with clocks; the clocks take %s, which no loop includes"
  local out = {call:format(written.plural(loop_times.threads(r), "thread"), seconds(r.seconds), r.reps, seconds(r.clocked),
    seconds(r.clocks))}
  local apart = r.clocked - r.clocks - r.seconds
  if math.abs(apart) > APART * r.seconds and not r.disturbed then
    out[#out + 1] = ("apart from what they take, the clocks change the code: it is %.0f %% %s"):format(
      100 * math.abs(apart) / r.seconds, apart > 0 and "slower" or "faster")
  end
  local short
  for _, l in ipairs(r.loops) do short = short or not l.timed end
  if short then
    out[#out + 1] = ("loops without a clock are too short (an execution takes less than %s), or a clock would change their code: "
      .. "their time is in the loop around them"):format(seconds(r.least))
  end
  if r.calls then
    out[#out + 1] = "the loops inside the call of an intrinsic have no time of their own, since its code runs instead of them: its "
      .. "time is in the loop around the call"
  end
  if r.threads > 1 then out[#out + 1] = "inside a parallel loop: the mean over the threads" end
  local counts = {}
  for n, c in ipairs(r.counts) do counts[n] = written.count(math.floor(c.count + 0.5)) .. " " .. c.event end
  if #counts > 0 then out[#out + 1] = "counted by the system in a call: " .. table.concat(counts, ", ") end
  if r.disturbed then out[#out + 1] = "other work disturbed the measurement: measure again when the machine is idle" end
  return out
end

-- Returns the loops in the order of the lowered program. The copies of a loop are listed once.
local function distinct(r)
  local out, seen = {}, {}
  for _, l in ipairs(r.loops) do
    if not seen[l.id] then out[#out + 1] = r.by_id[l.id] end
    seen[l.id] = true
  end
  return out
end

local HEAD = {"loop", "time", "share", "executions", "each", "slowest thread"}

local function row_of(r, l)
  local name = ("  "):rep(l.depth) .. l.loop
  if not l.timed then return {name, "no clock", "", "", "", ""} end
  return {name, seconds(l.seconds), percent(l.seconds / r.clocked), ("%.0f"):format(l.times),
    l.times > 0 and seconds(l.busy / l.times) or "",
    l.parallel and ("threads work %s"):format(seconds(l.work)) or r.threads > 1 and l.most > l.seconds and seconds(l.most) or ""}
end

local function table_of(r)
  local out = {}
  for n, l in ipairs(r.loops) do out[n] = row_of(r, l) end
  return {head = HEAD, rows = out, left = {true, heads = true}, foot = table.concat(loop_times.remarks(r), "; ")}
end

local function text_of(cells)
  local lines = {}
  for n, row in ipairs {cells.head, table.unpack(cells.rows)} do
    lines[n] = ("%-16s %10s %8s %11s %10s  %s"):format(table.unpack(row)):gsub("%s+$", "")
  end
  lines[#lines + 1] = cells.foot
  return table.concat(lines, "\n")
end

function loop_times.install()
  rows.define(rows.methods "schedule", "schedule", "timing", "loop_times",
    "(self: nw.schedule, ...: nw.array|{threads?: integer, opt?: "
    .. "integer, reps?: integer, sizes?: table}): nw.report",
    "Measures the time of each loop of the lowered program. The program is compiled with a clock around each loop; what the clocks "
    .. "cost is measured and subtracted. A loop is not timed if its executions are too short for a clock, or if a clock would "
    .. "change its code: its time is in the loop around it. If no arrays are given, they are random; sizes gives values to "
    .. "symbolic sizes. The answer has loops: records of "
    .. "loop, id, depth, timed, parallel, seconds (of all executions in a call; inside a parallel loop, the mean over the "
    .. "threads), most (of the slowest thread), work (for a parallel loop: the mean time in which a thread runs its parts), "
    .. "times (number of executions, of all threads) and busy (the seconds of all these executions together); seconds of a call "
    .. "without clocks, clocked (with clocks), clocks (the part that the clocks "
    .. "take), least (the shortest execution that is timed), threads, reps, disturbed, calls (true if intrinsics are called, whose "
    .. "loops are not listed); counts, records of event and count per "
    .. "call: cycles, instructions, misses and page faults, as far as the system lets this process count them. "
    .. "All times are wall-clock time, read from the counter of time stamps. s:show{cost = true} then shows the times of this "
    .. "version beside the predictions.",
    function(s, ...)
      local given, options = inside.split_options(...)
      local o = errors.options("loop_times", options, {"threads", "opt", "reps", "sizes"})
      local r = loop_times.measure("loop_times", s, given, o)
      r.loops, r.by_id = distinct(r), nil
      local cells = table_of(r)
      return report.new(r, text_of(cells), cells)
    end)
end

return loop_times
