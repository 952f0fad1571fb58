--- Reads machine records, which describe machines for the cost model. A user gives a record by its name, a table or a file. The
--- fields and their units are listed in core/hw/machine_rows.c.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local merge = require "nestwright.cost.machine_merge"
local rows = require "nestwright.language.rows"
local text = later "nestwright.cost.machine_text"

local machine = {}

local NAMES = {"host", "x86_server", "zen5", "skylake_x", "sapphire_rapids", "neoverse_n1", "aarch64", "titan_x", "t4", "a100",
  "rtx_a6000", "rtx_4090", "h100", "h200", "mali_t860", "vdla", "vta", "systolic", "eyeriss"}
local KNOWN = {}
for _, name in ipairs(NAMES) do KNOWN[name] = true end

local DEFAULT = "default" -- the source of fields that no record sets
local DEEPEST = 8 -- the largest number of records that extend one another
local RECORD = core.classes.machine

function machine.is(value) return debug.getmetatable(value) == RECORD end

-- ---- finding

local argument = "machine" -- the name of the value that is being read, for errors

local function from_file(path)
  local got, why = core.run_record(core.read_file(argument, path), "@" .. path)
  if why then errors.fail("invalid", nil, "%s: %s: %s", argument, path, why) end
  if type(got) == "table" then return got end
  errors.fail("invalid", "return {name = \"mine\", extends = \"x86_server\", clock = 3.1}",
    "%s: %s does not return a table of fields", argument, path)
end

-- Returns the table of the host's record. The table contains the values that nw.calibrate has measured, if they exist and make a
-- valid record.
local function host()
  local calibration, table_of = require "nestwright.measure.calibration", require "nestwright.hw.host".record
  local measured, why = calibration.known()
  local ok, got = pcall(function() return machine.checked(table_of(measured, why)) end)
  if ok then return got end
  if not measured then error(got, 0) end
  why = "the calibration cannot be used: " .. (errors.is_error(got) and got.message or tostring(got))
  calibration.forget(why)
  return table_of(nil, why)
end

local function named(name)
  if name == "host" then return host() end
  if name == "cuda" or name == "opencl" or name == "gpu" then return require("nestwright.hw." .. name).record() end
  if KNOWN[name] then return require("nestwright.hw." .. name) end
  if name:find "[/\\]" or name:find "%.lua$" then return from_file(name) end
  local near = core.nearest(name, NAMES)
  errors.fail("invalid", near and ("did you mean '%s'?"):format(near) or "known machines: " .. table.concat(NAMES, ", "),
    "%s: there is no machine '%s'; the name of a file must end in .lua", argument, name)
end

-- ---- a table merged into the record that it extends

local function check_sources(t)
  local sources = errors.expect(argument .. ": sources", t.sources or {}, "table")
  for key, source in pairs(sources) do
    if type(key) ~= "string" or type(source) ~= "string" then
      errors.fail("invalid", 'sources = {[""] = "the vendor\'s manual", ops = "measured"}',
        "%s: sources must be a table from prefixes of field names to strings", argument)
    end
  end
  return sources
end

local said

-- Returns the values of a table and of the records that it extends, as nested tables. Also returns the sources of the values, by
-- path.
local function said_by_table(t, depth)
  local own, sources = {}, check_sources(t)
  for key, value in pairs(t) do
    if type(key) ~= "string" then
      errors.fail("invalid", "for example {extends = \"x86_server\", clock = 3.1}",
        "%s: a machine record is a table with named fields; it has %s as a key", argument, core.type_name(key))
    end
    if key ~= "extends" and key ~= "sources" then own[key] = value end
  end
  local base = t.extends ~= nil and said(t.extends, depth + 1) or {values = {}, sources = {}}
  local name = type(t.name) == "string" and t.name or "a table"
  merge.each(own, function(path)
    base.sources[path] = merge.cited(sources, path) or t.extends ~= nil and "stated in " .. name or "not named"
  end)
  return {values = merge.values(base.values, own), sources = base.sources}
end

local function said_by_record(m)
  local list, sources = core.machine_list(m), {}
  for _, f in ipairs(list) do sources[f.path] = f.source end
  return {values = merge.nested(list), sources = sources}
end

function said(what, depth)
  if depth > DEEPEST then errors.fail("limit", nil, "%s: more than %d records extend one another", argument, DEEPEST) end
  if type(what) == "string" then return said_by_table(named(what), depth) end
  if machine.is(what) then return said_by_record(what) end
  return said_by_table(errors.expect(argument, what, "table"), depth)
end

-- Returns the sources of fields, in a table whose keys are prefixes of paths. A record may give one number for several widths, such
-- as per_cycle = 2. Then all these fields, per_cycle[1] to per_cycle[4], have the source of this number.
local function sources_of(list, sources)
  local out = {}
  for n, f in ipairs(list) do
    out[n] = {path = f.path, source = sources[f.path] or sources[f.path:gsub("%[%d+%]$", "")] or DEFAULT}
  end
  return merge.brief(out)
end

--- Returns the table if it makes a valid record; otherwise raises an error.
function machine.checked(t)
  machine.of(t)
  return t
end

local function made(what)
  local got = said(what, 1)
  local complete = core.machine_new(got.values)
  return core.machine_new(got.values, sources_of(core.machine_list(complete), got.sources))
end

local kept = {} -- records by name; the host's record is kept until there is a new calibration
local kept_with -- the calibration with which the host's record was made; false if there was none

--- Returns the record for a name, a file or a table; for nil, the record of this host. `name` is the argument's name, for errors.
function machine.of(what, name)
  if machine.is(what) then return what end
  argument = name or "machine"
  if what == nil then what = "host" end
  local measured = what == "host" and (require "nestwright.measure.calibration".known() or false)
  if what == "host" and measured ~= kept_with then kept.host, kept_with = nil, measured end
  if type(what) ~= "string" or not KNOWN[what] then return made(what) end
  kept[what] = kept[what] or made(what)
  return kept[what]
end

-- ---- records

local methods = rows.methods "machine"

-- The fields of each record as nested tables. They are made once, because a record never changes. Each caller gets a copy.
local nested = setmetatable({}, {__mode = "k"})

local function copied(value)
  if type(value) ~= "table" then return value end
  local out = {}
  for key, v in pairs(value) do out[key] = copied(v) end
  return out
end

function RECORD.__lookup(m, key)
  nested[m] = nested[m] or merge.nested(core.machine_list(m))
  return copied(nested[m][key])
end
function RECORD.__tostring(m) return text.plain(m) end
function RECORD.__eq(a, b) return text.code(a) == text.code(b) end

rows.define(methods, "machine", "hardware", "fields", "(self: nw.machine): table[]",
  "All fields of this kind of machine: path, value, unit, doc, source.", core.machine_list)

rows.define(methods, "machine", "hardware", "source", "(self: nw.machine, path: string): string",
  "The source of the value of a field: m:source \"ops.fma.latency\".",
  function(m, path)
    errors.expect("source: path", path, "string")
    local paths = {}
    for n, f in ipairs(core.machine_list(m)) do
      if f.path == path or f.path == path .. "[1]" then return f.source end
      paths[n] = f.path
    end
    local near = core.nearest(path, paths)
    errors.fail("invalid", near and ("did you mean '%s'?"):format(near), "source: this machine has no field '%s'", path)
  end)

rows.define(methods, "machine", "hardware", "text", "(self: nw.machine): string",
  "The record as a Lua table that can be read back: write it to a file, edit it, and nw.machine \"that_file.lua\" gives the new "
  .. "record.",
  function(m) return text.code(m) end)

rows.field("machine", "hardware", "name", "string", "The name of the machine. All other fields of the record are read the same "
  .. "way: m.clock, m.caches[1].bytes, m.ops.fma.per_cycle[4]; m:fields() lists them.")

function machine.install(nw)
  local define = rows.definer(nw, "nw", "hardware")

  define("machine", "(machine?: string|table|nw.machine): nw.machine",
    "A machine record: the properties of a CPU, a GPU or an accelerator that the cost model uses. Without an argument, it is the "
    .. "record of this host: what the system reports about its cores and caches, and what nw.calibrate has measured. All other "
    .. "fields are those of its processor family; the sources in the record show this. The argument is a name of nw.machines(), "
    .. "\"cuda\" for the NVIDIA GPU of this machine, a table, or the name of a Lua file that returns a table, \"mine.lua\"; the "
    .. "file may use only math. extends = a name, a file or a record: the record that has the fields that the table omits; a "
    .. "list, such as caches, replaces the whole list. sources = {[\"\"] = text, ops = text}: where the numbers come "
    .. "from. Fields that are missing, unknown or out of "
    .. "range are errors; nw.machine_fields() lists the fields with units and defaults.",
    function(what) return machine.of(what) end)

  define("machines", "(): string[]", "The names of the machine records that nw.machine accepts.",
    function() return table.move(NAMES, 1, #NAMES, 1, {}) end)

  define("machine_fields", "(kind?: 'cpu'|'gpu'|'accelerator'): nw.report",
    "The fields of machine records: of a 'cpu', a 'gpu' or an 'accelerator', or all of them. Each has a name, unit, default and "
    .. "meaning.",
    function(kind) return text.fields(kind) end)
end

return machine
