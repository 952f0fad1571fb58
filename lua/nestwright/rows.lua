--- The table of everything a user can call. Rows of the C binding and of the Lua library are of one kind:
--- {class, name, signature, doc, field}. Help, completion, the reference and the coverage test read them here.
local rows = {}

local core = require "nestwright.core"

local list = {}
local of_value = setmetatable({}, {__mode = "k"})

local function add(row, value)
  list[#list + 1] = row
  if type(value) == "function" then of_value[value] = row end
end

local written = setmetatable({}, {__mode = "k"}) -- what stands behind a method

-- A method that is called with a dot has no object, and would fail somewhere inside.
local function method(class, name, fn)
  local function checked(self, ...)
    if debug.getmetatable(self) and type(self) ~= "string" then return fn(self, ...) end
    core.fail("invalid", ("%s: expected nw.%s, got %s"):format(name, class, core.type_name(self)),
      ("call it with a colon: x:%s(...)"):format(name))
  end
  written[checked] = fn
  return checked
end

--- The function as it was written, for those who look at its source.
function rows.written(fn) return written[fn] or fn end

--- Offers a function as target[name] and writes its row.
---@param target table
---@param class string   "nw" for functions of the module, else the class whose method it is
---@param name string
---@param signature string   as LuaLS has it: "(a: nw.array, b?: integer): number"
---@param doc string
---@param fn function
function rows.define(target, class, name, signature, doc, fn)
  if signature:find "^%(self:" then fn = method(class, name, fn) end
  target[name] = fn
  add({class = class, name = name, signature = signature, doc = doc, field = false}, fn)
end

--- Writes the row of a field.
---@param kind string   its type, as LuaLS has it
function rows.field(class, name, kind, doc)
  add({class = class, name = name, signature = kind, doc = doc, field = true}, nil)
end

--- A function that writes rows of one class into one table.
function rows.definer(target, class)
  return function(name, signature, doc, fn) rows.define(target, class, name, signature, doc, fn) end
end

--- Offers functions of the binding unchanged.
function rows.adopt(target, module, names)
  local by_name = {}
  for _, row in ipairs(module.rows()) do
    if row.class == "core" then by_name[row.name] = row else add(row, nil) end
  end
  for _, name in ipairs(names) do
    local row = by_name[name]
    row.class = "nw"
    target[name] = module[name]
    add(row, module[name])
  end
end

--- All rows, in the order they were written.
function rows.all() return list end

--- The row of a function, or nil.
function rows.of(value) return of_value[value] end

--- Rows whose name, or "class.name", is `name`.
function rows.named(name)
  local found = {}
  for _, row in ipairs(list) do
    if row.name == name or row.class .. "." .. row.name == name then found[#found + 1] = row end
  end
  return found
end

--- The methods a class of the binding is given in Lua go into the same table its C methods are in.
function rows.methods(class) return core.classes[class].__methods end

return rows
