--- Makes the record of this host. Some fields are reported by the system or measured by nw.calibrate. All other fields are those of
--- the record of the host's CPU family.
local core = require "nestwright.core"

local host = {}

-- Each row has a pattern of the CPU's name and the name of the family's record. The first match is used. `alike` is true if all
-- CPUs of the family have the same cores. `dispatch` is the number of instructions that they dispatch per cycle, from the vendor's
-- optimization guide. It is given if the record does not describe these cores.
local FAMILIES = {
  {cpu = "^AuthenticAMD family 25 ", name = "x86_server", dispatch = 6},
  {cpu = "^AuthenticAMD family 26 ", name = "zen5", alike = true},
  {cpu = "^GenuineIntel family 6 model 85$", name = "skylake_x", alike = true},
  {cpu = "^GenuineIntel family 6 model 106$", name = "x86_server", dispatch = 5},
  {cpu = "^GenuineIntel family 6 model 143$", name = "sapphire_rapids", alike = true},
  {cpu = "^GenuineIntel family 6 model 207$", name = "sapphire_rapids", alike = true},
  {cpu = "^unknown", name = "neoverse_n1"},
  {cpu = "", name = "x86_server"},
}

--- Returns the name of the record of this host's CPU family, and the number of instructions that a core of exactly this CPU can
--- dispatch per cycle, or nil if that is not known.
function host.family()
  local cpu = core.machine_host().cpu
  for _, family in ipairs(FAMILIES) do
    if cpu:find(family.cpu) then
      return family.name, family.dispatch or (family.alike and require("nestwright.cost.machine").of(family.name).dispatch or nil)
    end
  end
end

local SIZES = {"bytes", "ways", "line", "shared_by"} -- the system reports these unless it hides its caches

-- Adds the caches, with the sizes of this host. The costs of a level, and their sources, are those of the same level of the family.
local function add_caches(t, family, source)
  local like = require("nestwright.cost.machine").of(family)
  local levels = like.caches
  for n, c in ipairs(core.machine_caches()) do
    local from, level = math.min(n, #levels), {}
    for key, value in pairs(levels[from]) do
      level[key] = value
      t.sources[("caches[%d].%s"):format(n, key)] = like:source(("caches[%d].%s"):format(from, key))
    end
    level.bytes, level.ways, level.line, level.shared_by, level.effective_bytes = c.bytes, c.ways, c.line, c.cpus, nil
    t.caches[n] = level
    for _, field in ipairs(SIZES) do t.sources[("caches[%d].%s"):format(n, field)] = source end
  end
end

-- Returns the set of all fields, in the notation of field_of, such as "ops.*.latency", "caches.bytes" and "clock".
local function fields()
  local out = {}
  for _, row in ipairs(core.machine_rows()) do
    out[row.section == "" and row.name or ("%s.%s%s"):format(row.section, row.named and "*." or "", row.name)] = true
  end
  return out
end

local function field_of(path) return (path:gsub("%[%d+%]", ""):gsub("^ops%.[^.]+%.", "ops.*.")) end

-- Stores one measured value in nested tables, by the path of its field, and returns true. Skips cache levels that the system does
-- not have, and paths that do not end at a number.
local function add_figure(t, path, value)
  local at, last = t, nil
  for part in path:gmatch "[^%.%[%]]+" do
    if last then
      if at[last] == nil and at == t.caches then return end
      at[last] = at[last] or {}
      at = at[last]
      if type(at) ~= "table" then return end
    end
    last = math.tointeger(part) or part
  end
  if type(at[last]) == "table" then return end
  at[last] = math.tointeger(value) or value
  return true
end

-- Returns the record of the family with the vectors of this host, because a record has no rates for wider vectors than its own.
local function family_like(family)
  local h = core.machine_host()
  return require("nestwright.cost.machine").of {name = "family", extends = family, isa = h.isa, vector_bytes = h.vector_bytes,
    vector_registers = h.vector_registers}
end

-- Adds the family's rates for widths that were not measured. This is necessary because a list of rates in the record replaces the
-- family's list as a whole.
local function complete_rates(t, like)
  for name, class in pairs(t.ops or {}) do
    local rates, known = class.per_cycle, like.ops[name] -- a file of another version may name a class that no longer exists
    local others = type(rates) == "table" and known and known.per_cycle or {}
    for width = 1, #others do
      local path = ("ops.%s.per_cycle[%d]"):format(name, width)
      if rates[width] == nil then rates[width], t.sources[path] = others[width], like:source(path) end
    end
  end
end

-- Adds the measured values. A file of another version may contain fields that no longer exist; these fields are skipped.
local function add_figures(t, measured, like)
  local known = fields()
  for path, value in pairs(measured.figures) do
    if known[field_of(path)] and add_figure(t, path, value) then t.sources[path] = "measured here, " .. measured.when end
  end
  complete_rates(t, like)
end

local LONGEST = 159 -- bytes of a source

-- Adds the family's values of the figures that could not be measured, and states the reason in their sources. Returns the number of
-- these figures.
local function add_doubts(t, measured, like)
  local values, n = {}, 0
  for _, f in ipairs(core.machine_list(like)) do values[f.path] = f.value end
  for path, why in pairs(measured.doubts or {}) do
    local known = type(path) == "string" and type(why) == "string" and type(values[path]) == "number"
    if known and not path:find "^caches" then add_figure(t, path, values[path]) end
    if known and (t.sources[path] or not path:find "^caches") then
      local source = t.sources[path] or like:source(path)
      t.sources[path] = ("could not be measured (%s); %s"):format(why, source):gsub("%c", " "):sub(1, LONGEST)
      n = n + 1
    end
  end
  complete_rates(t, like)
  return n
end

--- Returns the table of the host's record. `measured` has the measured values. If nothing was measured, it is nil, and `why` is the
--- reason.
function host.record(measured, why)
  local h = core.machine_host()
  local family, dispatch = host.family()
  local state = measured and "measured " .. measured.when
    or ("not measured%s: rates are those of %s, nw.calibrate{} measures them"):format(why and " (" .. why .. ")" or "", family)
  local t = {
    name = "host", extends = family, about = ("%s; %s"):format(h.model, state):sub(1, 199),
    cores = h.cores, isa = h.isa, cpu = "host", vector_bytes = h.vector_bytes, vector_registers = h.vector_registers,
    caches = {}, memory = {bytes = h.memory}, dispatch = dispatch,
    sources = {[""] = "the system", dispatch = dispatch and "the vendor's optimization guide" or nil},
  }
  add_caches(t, family, h.caches_assumed and "assumed: the system hides its caches" or "the system")
  if not measured then return t end
  local like = family_like(family)
  add_figures(t, measured, like)
  local doubts = add_doubts(t, measured, like)
  if doubts > 0 then
    t.about = ("%s; %s, except %d figure%s"):format(h.model, state, doubts, doubts == 1 and "" or "s"):sub(1, 199)
  end
  return t
end

return host
