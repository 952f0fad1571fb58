--- Measures this machine. The results are kept in one file per kind of CPU, so that each kind is measured once.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local json = require "nestwright.show.json"
local report = require "nestwright.show.report"
local rows = require "nestwright.language.rows"
local written = require "nestwright.show.written"

local calibration = {}

local MOST_DOUBTS = 8 -- the number of lines about figures that could not be measured
local FORMAT = 2 -- the version of the file's format
local HEADER = {"cpu", "model", "cores", "vector_bytes"} -- fields that must be equal to those of the host

local kept_at -- the file that the calibration was read from or written to
local known -- the calibration that this process measured or read; false if there is none; nil before the first search
local why_not -- the reason why there is no calibration

-- ---- the file

--- Returns the path of the file for the figures of this host, or nil and the reason why there is no place for it.
function calibration.path()
  local h = core.machine_host()
  local key = ("%s %d cores"):format(h.cpu, h.cores):lower():gsub("[^%w]+", "-")
  return core.state_file(("machine-%s.json"):format(key))
end

local function of_this_host(t)
  local h = core.machine_host()
  for _, field in ipairs(HEADER) do
    if t[field] ~= h[field] then return false, ("it is of another machine (%s %s)"):format(field, tostring(t[field])) end
  end
  return true
end

local function check(t)
  if type(t) ~= "table" or type(t.figures) ~= "table" or type(t.when) ~= "string" then return nil, "it is not a calibration" end
  if t.format ~= FORMAT then return nil, "it was written by another version of this library" end
  local ours, why = of_this_host(t)
  if not ours then return nil, why end
  for path, value in pairs(t.figures) do
    local good = type(path) == "string" and type(value) == "number" and value >= 0 and value < math.huge
    if not good then return nil, "a figure in it is not a number" end
  end
  if type(t.intervals or {}) ~= "table" or type(t.doubts or {}) ~= "table" then return nil, "it is not a calibration" end
  return t
end

--- Reads a calibration of this host from a file. Returns nil if there is no file. Returns nil and the reason if the file is
--- not a calibration of this host.
function calibration.read(path)
  if not path then return nil end
  local text, unreadable = core.read_own(path)
  if not text then return nil, unreadable end
  local ok, t = pcall(json.decode, text)
  local good, why
  if ok then good, why = check(t) else why = "it is damaged" end
  return good, why and ("%s: %s"):format(path:match "[^/]*$", why)
end

-- Returns the reason if the file must not be used, for example because it belongs to another user. Such a file must not be replaced
-- either. Otherwise, returns nil.
local function is_foreign(path)
  local text, why = core.read_own(path)
  return not text and why
end

--- Writes a calibration and returns true. On failure, returns nil and the reason.
function calibration.write(path, t)
  if not path then return nil, "there is no home directory" end
  local foreign = is_foreign(path)
  if foreign then return nil, foreign end
  local ok, problem = pcall(core.write_file, nil, path, json.encode(t) .. "\n", {private = true})
  if ok then return true end
  return nil, problem.message
end

-- ---- the calibration of this host

--- Returns the calibration of this host, {figures, when}, or nil and the reason why there is none.
function calibration.known()
  if known == nil then
    local path, why, absent = calibration.path()
    local got
    if path then got, why = calibration.read(path) end
    if why and not absent and not (path and core.read_own(path)) then
      io.stderr:write("nestwright: the calibration is not used: ", why, "\n")
    end
    kept_at = got and path
    known, why_not = got or false, not got and not absent and why or nil
  end
  return known or nil, why_not
end

--- Discards the calibration until the machine is measured again. why: the reason, for example that it cannot be used.
function calibration.forget(why) known, why_not = false, why end

-- Removes all figures that are in doubt. If a figure of a team is in doubt, removes the figures of all teams, because a record
-- describes each team completely.
local function drop_incomplete_teams(t)
  local missing
  for path in pairs(t.doubts) do missing = missing or path:find "^teams" and path end
  for path in pairs(missing and t.figures or {}) do
    if path:find "^teams" then
      t.doubts[path] = missing .. " could not be measured, so no figure of a team is used"
    end
  end
  for path in pairs(t.doubts) do t.figures[path], t.intervals[path] = nil, nil end
end

--- Measures this machine. This takes some seconds; progress is reported. Returns the calibration, which has figures, intervals (of
--- the figures that depend on other programs) and doubts (the reason for each figure that cannot be used).
function calibration.measure()
  local h = core.machine_host()
  local _, dispatch = require "nestwright.hw.host".family()
  local t = {format = FORMAT, when = os.date "%Y-%m-%d %H:%M", figures = {}, intervals = {}, doubts = {}}
  for path, f in pairs(core.calibrate(dispatch or 0)) do
    t.figures[path], t.doubts[path] = f.value, f.doubt
    if f.shared then t.intervals[path] = {f.lo, f.hi} end
  end
  drop_incomplete_teams(t)
  for _, field in ipairs(HEADER) do t[field] = h[field] end
  known, why_not, kept_at = t, nil, nil
  return t
end

--- Returns the roofs for this number of threads that nw.roofs has kept, or nil.
function calibration.roofs(threads)
  local t = calibration.known()
  return t and type(t.roofs) == "table" and t.roofs[tostring(threads)] or nil
end

--- Keeps roofs with the calibration, if the calibration is kept in a file.
function calibration.keep_roofs(threads, roofs)
  if not calibration.known() or not kept_at then return end
  known.roofs = type(known.roofs) == "table" and known.roofs or {}
  known.roofs[tostring(threads)] = roofs
  calibration.write(kept_at, known)
end

-- Returns a text that says which figures were not accepted, and that the values of the CPU family are used for them.
local function doubted(t)
  local lines, measured = {}, 0
  for path, why in pairs(t.doubts) do lines[#lines + 1] = ("  %s: %s"):format(path, why) end
  if #lines == 0 then return "" end
  table.sort(lines)
  for _ in pairs(t.figures) do measured = measured + 1 end
  local n = #lines
  if n > MOST_DOUBTS then
    lines[MOST_DOUBTS] = ("  and %d more: see the doubts of this report"):format(n - MOST_DOUBTS + 1)
    table.move(lines, n + 1, n + n, MOST_DOUBTS + 1)
  end
  return ("%d of %d figures could not be measured; the values of the CPU family are used for them. Try again when the machine is "
    .. "idle.\n%s\n"):format(n, n + measured, table.concat(lines, "\n"))
end

local function calibrate(options)
  local o = errors.options("calibrate", options, {"keep"})
  if o.keep ~= nil then errors.expect("calibrate: keep", o.keep, "boolean") end
  local start = core.now()
  local t, path, why = calibration.measure(), nil, nil
  if o.keep ~= false then
    path, why = calibration.path()
    local kept, problem = calibration.write(path, t)
    if not kept then path, why = nil, why or problem end
    kept_at = path
  end
  local seconds, m = core.now() - start, require "nestwright.cost.machine".of()
  local where = path and "kept in " .. path or "kept for this session only" .. (why and ": " .. why or "")
  local text = ("measured in %s, %s\n%s%s"):format(written.seconds(seconds), where, doubted(t), tostring(m))
  return report.new({machine = m, seconds = seconds, file = path, why = why, figures = t.figures, intervals = t.intervals,
    doubts = t.doubts}, text)
end

function calibration.install(nw)
  rows.define(nw, "nw", "hardware", "calibrate", "(options?: {keep?: boolean}): nw.report",
    "Measures this machine for nw.machine(): the clock; instructions per cycle and latencies by class and width; functions such "
    .. "as exp; accesses that cross lines; branches; gathers; latency and bytes per cycle of each cache, the usable part of the "
    .. "last cache, and memory; the cost of threads. It takes some seconds. Each figure is that of almost the fastest of "
    .. "some short undisturbed runs, in cycles of the clock at that moment, and is measured again until two measurements agree. "
    .. "Cycles, the clock and the dispatch rate are computed from CPU time of one thread, which does not pass while another "
    .. "program "
    .. "has the core; the bandwidth of memory and the cost of threads are wall-clock time, because several threads take part. "
    .. "A figure on which no two "
    .. "agree, or that is not plausible, is not used: the record keeps the value of the CPU family, and `doubts` has the reason. "
    .. "Figures of the last cache, of memory and of teams depend on other programs; `intervals` has the least and the greatest "
    .. "value to expect. The result is kept in a file of the state directory, which later sessions read (keep = false: for this "
    .. "session only). The answer has machine, seconds, file, figures, intervals, doubts. x86-64 only.", calibrate)
end

return calibration
