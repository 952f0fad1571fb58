--- Reads and describes the conditions of a measurement: where its arrays lie in memory, whether the caches are empty before each
--- call, and on which CPUs its threads run. Conditions change times, so each time record states its conditions.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local written = require "nestwright.show.written"

local conditions = {}

--- The names of the options are in OPTIONS. Their types and their meaning, for the help, are in TYPES and HELP.
conditions.OPTIONS = {"align", "offset", "cold", "cpu", "pin", "pages"}
conditions.TYPES = "align?: integer, offset?: integer, cold?: boolean|string, cpu?: integer, pin?: integer[], pages?: string"
conditions.HELP = "align, offset: each array begins offset bytes after an address that is a multiple of align (a power of two), "
  .. "but not of 2*align; for this, the arrays are copied, and without it they are measured where they lie. pages = 'huge': the "
  .. "arrays are copied to huge pages, if the system gives them. cold = true: the caches are emptied before each call, by flushing "
  .. "the lines of the arrays ('flush', on x86) or by reading a buffer larger than the caches ('sweep'); the calls are then "
  .. "measured one by one. pin = {0, 2}: the CPU of each thread; cpu = 2: that of a single thread."
conditions.SEE = "align, offset, cold, cpu, pin, pages: the conditions, as in f:time."

local USUAL_ALIGN = 64

local function whole(what, name, v)
  if v == nil or math.type(v) == "integer" then return v end
  errors.fail("invalid", nil, "%s: %s: expected an integer, got %s", what, name, core.type_name(v))
end

-- Returns the place of the arrays, {align, offset, huge}, or nil if they are measured where they lie.
local function place_of(what, o)
  if o.pages ~= nil and o.pages ~= "huge" then
    errors.fail("invalid", "pages = \"huge\", or omit it", "%s: pages: '%s' is not a kind of page", what, tostring(o.pages))
  end
  if o.align == nil and o.offset == nil and o.pages == nil then return nil end
  return {align = whole(what, "align", o.align) or USUAL_ALIGN, offset = whole(what, "offset", o.offset) or 0,
    huge = o.pages == "huge"}
end

-- Returns how the caches are emptied before each call: "flush" or "sweep", or nil if they are not emptied.
local function chill_of(what, cold)
  if cold == nil or cold == false then return nil end
  if cold == true then return core.can_flush() and "flush" or "sweep" end
  if cold ~= "flush" and cold ~= "sweep" then
    errors.fail("invalid", "cold = true, \"flush\" or \"sweep\"", "%s: cold: '%s' is not a way to empty caches", what,
      tostring(cold))
  elseif cold == "flush" and not core.can_flush() then
    errors.fail("limit", "cold = \"sweep\"", "%s: cold: this CPU cannot flush lines", what)
  end
  return cold
end

-- Returns the numbers of the threads' CPUs, or nil if no CPUs are requested.
local function pin_of(what, o)
  if o.pin ~= nil and o.cpu ~= nil then errors.fail("invalid", nil, "%s: cpu and pin exclude each other", what) end
  if o.cpu ~= nil then return {whole(what, "cpu", o.cpu)} end
  for _, cpu in ipairs(errors.expect(what .. ": pin", o.pin or {}, "table")) do whole(what, "pin", cpu) end
  if o.pin and #o.pin == 0 then errors.fail("invalid", "pin = {0, 1}", "%s: pin: the list is empty", what) end
  return o.pin
end

--- Returns the conditions that the options state. what: the name of the function, for errors.
function conditions.of(what, o)
  local place = place_of(what, o)
  return {place = place, offset = place and place.offset, chill = chill_of(what, o.cold), pin = pin_of(what, o)}
end

--- Returns the arrays to measure. They are the given arrays, or copies at the requested place.
function conditions.placed(how, arrays)
  local place, out = how.place, {}
  if not place then return arrays end
  for n, array in ipairs(arrays) do out[n] = core.array_placed(array, place.align, place.offset, place.huge) end
  return out
end

-- ---- the record

local function arrays_text(t)
  if not t.offset then return ("arrays %d-byte aligned"):format(t.align) end
  return ("arrays %s after multiples of %d"):format(written.plural(t.offset, "byte"), t.align)
end

local COLD = {flush = "caches cold (arrays flushed before each call, %s for the clock subtracted)",
  sweep = "caches cold (swept before each call, %s for the clock subtracted)"}

local function cpus_text(t) return (#t.cpus == 1 and "on CPU " or "on CPUs ") .. table.concat(t.cpus, ", ") end

local function pages_text(t)
  if not t.mapped_bytes then return "huge pages asked for, but the system does not count them" end
  if t.huge_bytes == 0 then return "no huge pages: the system gave none" end
  return ("%s of %s on huge pages"):format(written.bytes(t.huge_bytes), written.bytes(t.mapped_bytes))
end

local function text_of(t, huge)
  local out = {arrays_text(t)}
  if huge then out[#out + 1] = pages_text(t) end
  if t.cold then out[#out + 1] = COLD[t.cold]:format(written.seconds(t.clock or 0)) end
  if t.cpus then out[#out + 1] = cpus_text(t) end
  return table.concat(out, ", ")
end

--- Adds conditions to a time record of the core: offset, cold, cpus, huge_bytes and mapped_bytes. The record already has align and
--- clock. Also adds the field `conditions`, which is a text about all conditions. arrays: the measured arrays.
function conditions.note(t, how, arrays)
  local huge = how.place and how.place.huge
  t.offset = how.offset and how.offset > 0 and how.offset or nil
  t.cold, t.cpus = how.chill, how.pin and table.move(how.pin, 1, t.threads, 1, {})
  if huge then t.huge_bytes, t.mapped_bytes = core.huge_bytes(arrays) end
  t.conditions = text_of(t, huge)
end

--- Returns the conditions that all measured records share, as text. Returns nil if the conditions differ or are unknown.
function conditions.shared(list)
  local text
  for _, t in ipairs(list) do
    if not t.refused then
      if not t.conditions or text and t.conditions ~= text then return nil end
      text = t.conditions
    end
  end
  return text
end

return conditions
