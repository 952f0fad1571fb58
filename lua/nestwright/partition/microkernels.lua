--- Makes tables of microkernels. A microkernel (in this file, a kernel) computes a tile of a loop. The times of microkernels on
--- this machine are measured once and stored in a file.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local inside = require "nestwright.inside"
local json = require "nestwright.show.json"
local marks = require "nestwright.partition.marks"
local report = require "nestwright.show.report"
local returning = require "nestwright.language.returning"
local sizes = require "nestwright.language.sizes"
local statistics = require "nestwright.measure.statistics"
local strategies = later "nestwright.partition.strategies"
local timing = require "nestwright.measure.times"
local undisturbed = require "nestwright.measure.undisturbed"
local written = require "nestwright.show.written"

local microkernels = {}

local FORMAT = 2 -- the version of the file's format; the first version stored minima instead of medians
local MANY = 5 -- the number of consecutive tiles that are measured, to find the time of each tile after the first
local ROUNDS, TURNS = 5, 5 -- the number of measurements per turn, and the number of turns
local ENOUGH = 3 -- a time is kept if at least this number of turns were undisturbed; otherwise it counts as disturbed

-- ---- the file

local told -- the reason why the times cannot be stored, after a note has reported it
local function tell(why)
  if why and not told then io.stderr:write("nestwright: the times of kernels cannot be kept: ", why, "\n") end
  told = told or why
end

-- Returns the path of the file of the times, or nil if no file can be written.
local function path_of()
  local path, why = core.state_file(("microkernels-%s.json"):format(core.machine_host().cpu:lower():gsub("[^%w]+", "-")))
  tell(why)
  return path
end

-- Returns the stored times. Also returns true if the file may be written, that is, if it belongs to this user. A damaged file is
-- treated as empty.
local function read_all(path)
  if not path then return {}, false end
  local text, why = core.read_own(path)
  tell(why)
  local ok, t = pcall(json.decode, text or "")
  local good = ok and type(t) == "table" and t.format == FORMAT and type(t.kernels) == "table"
  return good and t.kernels or {}, not why
end

-- Writes the times, together with those that another session has stored in the meantime.
local function write_all(path, all)
  local kept, ours = read_all(path)
  if not ours then return end
  for key, times in pairs(kept) do if all[key] == nil then all[key] = times end end
  local ok, problem = pcall(core.write_file, nil, path, json.encode {format = FORMAT, kernels = all},
    {private = true})
  if not ok then tell(problem.message) end
end

local function is_list(v, n)
  if type(v) ~= "table" or #v ~= n then return false end
  for _, t in ipairs(v) do if type(t) ~= "number" or not (t > 0 and t < math.huge) then return false end end
  return true
end

-- ---- measuring

-- Returns the name of the size that is the extent of the loop, and the values of the other sizes.
local function size_of(what, s, loop, given)
  local name = loop.extent
  local known = {}
  for _, size in ipairs(core.program_sizes(s)) do known[size] = true end
  if not known[name] then
    errors.fail("invalid", "make the extent symbolic, M = nw.size \"M\"; or rank by {cost = \"model\"} or {cost = \"measured\"}",
      "%s: %s has %s iterations; to time kernels, the number of iterations must be a symbolic size",
      what, loop.name, name)
  end
  local others = {}
  for size, value in pairs(given or {}) do others[size] = value end
  others[name] = nil
  return name, others
end

local function time_of(run, kernel, rounds)
  local s = run.schedule
  run.others[run.size] = rounds
  local arrays = inside.sized_arrays(s, sizes.named("microkernels", s, run.others))
  return undisturbed.time(run.budget, kernel, core.kernel_args(kernel, arrays), ROUNDS, 0.002)
end

-- Returns a hash of the text of a program (FNV-1a, 64 bits), which is a short key.
local function hashed(text)
  local h = 0xcbf29ce484222325
  for n = 1, #text do h = (h ~ text:byte(n)) * 0x100000001b3 end
  return ("%016x"):format(h)
end

-- Tiles the loop by one kernel, starting from the version `base` of the schedule. shared: true if the tiles are inside the loops
-- that o.around makes.
local function tiled(run, k, tail, shared)
  local s = run.schedule
  s:checkout(run.base)
  if shared then run.o.around(s) end
  strategies.tile(s, s:loop(run.loop), k, tail, shared)
  run.marks[k] = run.marks[k] or {}
  marks.add(run.marks[k], s)
  return s
end

-- Returns the values of the other sizes, as text.
local function others_text(others)
  local list = {}
  for name, value in pairs(others) do list[#list + 1] = ("%s=%s"):format(name, value) end
  table.sort(list)
  return table.concat(list, ",")
end

-- Returns an entry of the list of programs to measure: the current program of the schedule, with the numbers of iterations to run.
local function new_entry(run, k, field, ...)
  local s = run.schedule
  local key = hashed(table.concat({core.version(), core.schedule_print(s), others_text(run.others), ...}, " "))
  local made = {kernel = k, field = field, key = key, rounds = {...}, clean = {}, other = {}}
  if run.o.again or not is_list(run.all[key], #made.rounds) then made.program = s:build {threads = 1} end
  return made
end

local function entry_of(run, k, field, tail, shared, ...)
  tiled(run, k, tail, shared)
  return new_entry(run, k, field, ...)
end

-- Applies a strategy that computes only whole tiles. Returns the only case {version, facts, pieces} that strategies.apply makes.
-- Returns nil if the strategy is refused or makes several cases.
local function beyond(run, kernels, strategy)
  local s = run.schedule
  s:checkout(run.base)
  local ok, cases = pcall(strategies.apply, "microkernels", s, s:loop(run.loop), strategy, kernels)
  if not ok and not (errors.is_error(cases) and cases.code ~= "interrupt") then error(cases, 0) end
  return ok and #cases == 1 and cases[1] or nil
end

-- Adds the strategies in which the last tile may go beyond the end of the loop. They are measured on a loop whose last tile lacks
-- one iteration.
local function add_beyond(run, kernels, list)
  for _, strategy in ipairs {"pad", "predicate"} do
    local case = beyond(run, kernels, strategy)
    if case then
      local k = case.pieces[1].kernel
      run.schedule:checkout(case.version)
      list[#list + 1] = new_entry(run, k, strategy, math.max(k.rows - 1, 1), MANY * k.rows - 1)
    end
  end
end

local function entries_of(run, kernels)
  local list = {}
  for _, k in ipairs(kernels) do
    list[#list + 1] = entry_of(run, k, "alone", "cut", false, k.rows, MANY * k.rows)
    if not k.whole then list[#list + 1] = entry_of(run, k, "guarded", "guard", false, math.max(k.rows - 1, 1)) end
    if k.inside and run.o.around then list[#list + 1] = entry_of(run, k, "inside", "cut", true, k.rows, MANY * k.rows) end
  end
  add_beyond(run, kernels, list)
  return list
end

local function push(lists, n, value)
  lists[n] = lists[n] or {}
  table.insert(lists[n], value)
end

-- Measures an entry in one turn. If other work disturbed one of the times of this turn, all of them count as disturbed, because
-- they are compared with one another.
local function measure_once(run, entry)
  local found, disturbed = {}, false
  for n, rounds in ipairs(entry.rounds) do
    local t = time_of(run, entry.program, rounds)
    found[n], disturbed = t.median, disturbed or t.disturbed
  end
  for n, seconds in ipairs(found) do push(disturbed and entry.other or entry.clean, n, seconds) end
end

local function medians(lists)
  local out = {}
  for n, list in ipairs(lists) do out[n] = statistics.median(list) end
  return out
end

-- Keeps the medians of the undisturbed turns of an entry, if there are enough of these.
local function keep(run, entry)
  if entry.clean[1] and #entry.clean[1] >= ENOUGH then run.all[entry.key] = medians(entry.clean) end
end

-- Sets the times of an entry. They are the kept times, which may be those of an earlier call. If no times are kept, they are the
-- medians of the disturbed turns.
local function settle(run, entry)
  entry.disturbed = not is_list(run.all[entry.key], #entry.rounds)
  entry.seconds = entry.disturbed and medians(entry.other) or run.all[entry.key]
end

-- Measures all programs in turn, several times, because a disturbance on a shared machine rarely affects all turns.
local function measure_all(run, list)
  local since = core.now()
  for turn = 1, TURNS do
    for n, entry in ipairs(list) do
      core.tell_progress("measuring kernels", ((turn - 1) * #list + n - 1) / (TURNS * #list), since)
      if entry.program then measure_once(run, entry) end
    end
  end
  for _, entry in ipairs(list) do keep(run, entry) end
  for _, entry in ipairs(list) do settle(run, entry) end
end

local FIELDS = {alone = "seconds", inside = "seconds_inside", pad = "seconds_pad", predicate = "seconds_predicate"}

local function first_and_more(one, many) return {first = one, more = math.max((many - one) / (MANY - 1), one / 1000)} end

-- Returns a copy of a kernel that has these fields in addition.
local function copy_of(k, fields)
  return setmetatable(fields, {__index = k, __tostring = function(c)
    local t = c.seconds
    return ("a tile of %d rows, %s%s"):format(c.rows, strategies.name_of(c),
      t and (": %s for the first, %s for the next"):format(written.seconds(t.first), written.seconds(t.more)) or "")
  end})
end

-- Returns copies of the kernels with their measured times.
local function with_seconds(run, kernels, list)
  local of = {}
  for n, k in ipairs(kernels) do
    of[k] = copy_of(kernels[n], {unsafe = run.marks[k].unsafe, tested = run.marks[k].tested, disturbed = false})
  end
  for _, entry in ipairs(list) do
    local k, t = of[entry.kernel], entry.seconds
    k.disturbed = k.disturbed or entry.disturbed
    if FIELDS[entry.field] then k[FIELDS[entry.field]] = first_and_more(t[1], t[2]) end
  end
  for _, entry in ipairs(list) do
    if entry.field == "guarded" then of[entry.kernel].seconds.guarded = entry.seconds[1] end
  end
  local out = {}
  for n, k in ipairs(kernels) do out[n] = of[k] end
  return strategies.sort(out)
end

--- Measures kernels on a loop whose extent is a symbolic size. Returns copies of the kernels with more fields. `seconds` has
--- the times {first (of a single tile), more (of each following tile), guarded (of a guarded tile that lacks an iteration)}.
--- `seconds_inside` has the times {first, more} of tiles inside of the loops that o.around makes. `seconds_pad` and
--- `seconds_predicate` have the times {first, more} of the strategies in which the last tile goes beyond the end. `disturbed` is
--- true if other work disturbed one of these times. `unsafe` is true if a step was not judged. `tested`
--- is the number of values on which a rewrite was tested, if it was not proved.
function microkernels.measure(what, s, loop, kernels, o)
  local size, others = size_of(what, s, loop, o.sizes)
  local path = path_of()
  local run = {schedule = s, base = s:version(), loop = loop.name, size = size, others = others, o = o, all = (read_all(path)),
    marks = {}, budget = undisturbed.budget()}
  local out = returning.always(s, function()
    local list = entries_of(run, kernels)
    measure_all(run, list)
    return with_seconds(run, kernels, list)
  end)
  core.tell_progress()
  write_all(path, run.all)
  return out
end

-- ---- several values of the other sizes

local function id_of(k) return k.rows .. strategies.name_of(k) end

-- Returns the weighted mean of a field's times over all parts; nil if a part does not have the field. A part has the kernels that
-- were measured for one combination of sizes.
local function mean_times(parts, id, field)
  local sum, weights
  for _, part in ipairs(parts) do
    local t = part.of[id][field]
    if not t then return nil end
    sum, weights = sum or {}, (weights or 0) + part.weight
    for key, v in pairs(t) do sum[key] = (sum[key] or 0) + part.weight * v end
  end
  for key, v in pairs(sum) do sum[key] = v / weights end
  return sum
end

local function with_mean(k, parts, key_of)
  local id, by = id_of(k), {}
  for _, part in ipairs(parts) do by[part.key] = part.of[id] end
  local out = {at = function(values) return by[key_of(values)] end, disturbed = false}
  for _, part in ipairs(parts) do out.disturbed = out.disturbed or part.of[id].disturbed end
  for _, field in pairs(FIELDS) do out[field] = mean_times(parts, id, field) end
  return copy_of(k, out)
end

--- Measures kernels for each combination of the other sizes in a list of shapes, and returns copies of the kernels with their
--- times. If there are several combinations, the times are weighted means, and each copy has a function at(values), which returns
--- the kernel with the times for one shape.
function microkernels.over(what, s, loop, kernels, around, shapes)
  local parts, known = {}, {}
  local function key_of(values) return others_text(select(2, size_of(what, s, loop, values))) end
  for _, shape in ipairs(shapes) do
    local key = key_of(shape.values)
    if not known[key] then
      local of, measured = {}, microkernels.measure(what, s, loop, kernels, {around = around, sizes = shape.values})
      for _, k in ipairs(measured) do of[id_of(k)] = k end
      known[key] = {key = key, of = of, weight = 0}
      parts[#parts + 1] = known[key]
    end
    known[key].weight = known[key].weight + shape.weight
  end
  local out = {}
  for n, k in ipairs(kernels) do out[n] = #parts == 1 and parts[1].of[id_of(k)] or with_mean(k, parts, key_of) end
  return strategies.sort(out)
end

-- ---- the table

local HEAD = "%6s %-10s %10s %10s %10s %14s %10s %10s"

local function line_of(k)
  local t, shared = k.seconds, k.seconds_inside
  local line = HEAD:format(k.rows, strategies.name_of(k), written.seconds(t.first), written.seconds(t.more),
    t.guarded and written.seconds(t.guarded) or "-", written.seconds(t.more / k.rows),
    shared and written.seconds(shared.first) or "", shared and written.seconds(shared.more) or "")
  local remarks = (k.disturbed and "  disturbed by other work" or "") .. (k.unsafe and "  unsafe: not judged" or "")
    .. timing.tested("  %s", k.tested)
  return ((line .. remarks):gsub("%s+$", ""))
end

local function text_of(list)
  local lines = {HEAD:format("rows", "kernel", "first tile", "next tile", "guarded", "time per row", "shared", "next tile")}
  for n, k in ipairs(list) do lines[n + 1] = line_of(k) end
  lines[#lines + 1] = ("medians of %d turns, one thread"):format(TURNS)
  return table.concat(lines, "\n")
end

function microkernels.table_of(list) return report.new(list, text_of(list)) end

return microkernels
