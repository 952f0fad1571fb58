--- Measures this machine. The results are kept in one file per kind of CPU, so that each kind is measured once.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local json = require "nestwright.show.json"
local report = require "nestwright.show.report"
local rows = require "nestwright.language.rows"
local written = require "nestwright.show.written"

local calibration = {}

local FORMAT = 1 -- the version of the file's format
local HEADER = {"cpu", "model", "cores", "vector_bytes"} -- fields that must be equal to those of the host

local kept_at -- the file that the calibration was read from or written to
local known -- the calibration that this process measured or read; false if it found none
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

-- True if the file must not be used because it belongs to another user. Such a file must not be replaced either.
local function is_foreign(path)
  local text, why = core.read_own(path)
  return not text and why
end

--- Writes a calibration; returns nil and the reason on failure.
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

--- Discards the calibration, for example because it cannot be used, until the machine is measured again.
function calibration.forget(why) known, why_not = false, why end

--- Measures this machine. This takes some seconds; progress is reported.
function calibration.measure()
  local h = core.machine_host()
  local t = {format = FORMAT, when = os.date "%Y-%m-%d %H:%M", figures = core.calibrate()}
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
  return report.new({machine = m, seconds = seconds, file = path, why = why, figures = t.figures},
    ("measured in %s, %s\n%s"):format(written.seconds(seconds), where, tostring(m)))
end

function calibration.install(nw)
  rows.define(nw, "nw", "calibrate", "(options?: {keep?: boolean}): nw.report",
    "Measures this machine for nw.machine(): the clock; instructions per cycle and latencies by class and width; functions such "
    .. "as exp; accesses that cross lines; branches; gathers; latency and bytes per cycle of each cache, the usable part of the "
    .. "last cache, and memory; the cost of threads. It takes about two seconds. Each figure is the minimum of several short "
    .. "runs, in cycles of the clock at that moment. The result is kept in a file of the state directory, which later sessions "
    .. "read (keep = false: for this session only). The answer has machine, seconds, file, figures. x86-64 only.", calibrate)
end

return calibration
