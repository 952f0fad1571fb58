--- The values that stand for registered intrinsics.
local calls = require "nestwright.language.calls"
local core = require "nestwright.core"

local registered = {}

local meta = {__name = "nestwright.intrinsic"}

function meta.__tostring(self)
  local reads = {}
  for n, t in ipairs(self.args) do reads[n] = t.name end
  return ("intrinsic %s(%s): %s"):format(self.id, table.concat(reads, ", "), self.description)
end

meta.__call = calls.make

--- Registers an intrinsic whose fields are those of core.intrinsic. Returns the value that s:tensorize takes.
function registered.register(spec)
  local id, jump_safe = core.intrinsic(spec)
  local outputs = {}
  for _, t in ipairs(spec.args) do
    if not t.is_input then outputs[#outputs + 1] = tostring(t) end
  end
  return setmetatable({name = spec.name, id = id, args = spec.args, jump_safe = jump_safe, instruction = spec.instruction,
    chip = spec.chip, layouts = spec.layouts, accumulate = spec.accumulate or false,
    description = table.concat(outputs, "; ")}, meta)
end

--- True if a value is a registered intrinsic.
function registered.is(value) return getmetatable(value) == meta end

return registered
