--- Reads the values of the symbolic sizes of a schedule.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"

local sizes = {}

--- Returns the value as an integer. If the value is not a whole number, raises an error that contains the name.
function sizes.whole(what, value, name)
  local v = math.tointeger(value)
  if v then return v end
  errors.fail("invalid", nil, "%s: %s: expected a whole number, got %s", what, name, core.type_name(value))
end

--- Returns the values that are given by name, as in {M = 64}, in the order of the schedule's sizes.
function sizes.of(what, s, given)
  local names, values, known = core.program_sizes(s), {}, {}
  given = errors.expect(what .. ": sizes", given or {}, "table")
  for n, name in ipairs(names) do
    known[name] = true
    if given[name] == nil then
      errors.fail("invalid", ("{sizes = {%s = 64}}"):format(name), "%s: the size %s has no value", what, name)
    end
    values[n] = sizes.whole(what, given[name], name)
  end
  for name in pairs(given) do
    if not known[name] then errors.fail("invalid", nil, "%s: sizes: there is no size %s", what, tostring(name)) end
  end
  return values
end

--- Returns, by name, the given values of the sizes that this schedule has. Other values are ignored, because {M = 64, N = 8} may be
--- given for several schedules, which need not all have both sizes.
function sizes.named(what, s, given)
  local own = {}
  for _, name in ipairs(core.program_sizes(s)) do own[name] = given[name] end
  sizes.of(what, s, own)
  return own
end

return sizes
