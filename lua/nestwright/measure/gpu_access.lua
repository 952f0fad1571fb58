--- Names the loads and stores of kernels for a GPU: "load A", "store C", "async store A_shared".
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"

local access = {}

--- Returns the name of a row of accesses of a simulation.
function access.name(a)
  return (a.atomic and "atomic " or a.async and "async " or "") .. (a.write and "store " or "load ") .. a.buffer
end

-- Returns the rows with this name, in one kernel if its number is given. A row also has the names of its kind without "atomic" or
-- "async", and of its buffer alone.
local function matching(list, name, kernel)
  local out = {}
  for _, form in ipairs {access.name, function(a) return (a.write and "store " or "load ") .. a.buffer end,
    function(a) return a.buffer end} do
    for _, a in ipairs(list) do
      if form(a) == name and (not kernel or a.kernel == kernel) then out[#out + 1] = a end
    end
    if #out > 0 then return out end
  end
  return out
end

--- Returns the rows of the access with this name, all of the same kernel, buffer and direction. Raises an error that lists the
--- accesses if there is none. what: the function, for errors; list: the accesses of a simulation; kernel: a number, or nil.
function access.find(what, list, name, kernel)
  errors.expect(what .. ": access", name, "string")
  local found, known, seen = matching(list, name, kernel), {}, {}
  if #found == 0 then
    for _, a in ipairs(list) do
      if not seen[access.name(a)] then known[#known + 1], seen[access.name(a)] = access.name(a), true end
    end
    local near = core.nearest(name, known)
    errors.fail("invalid", near and ("did you mean '%s'?"):format(near) or "its accesses: " .. table.concat(known, ", "),
      "%s: access: there is no access '%s'%s", what, name, kernel and (" in kernel %d"):format(kernel) or "")
  end
  local out = {}
  for _, a in ipairs(found) do
    if a.kernel == found[1].kernel and a.write == found[1].write then out[#out + 1] = a end
  end
  return out
end

return access
