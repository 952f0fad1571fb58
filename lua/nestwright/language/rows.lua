--- Keeps a row for each public function, method and field: {class, topic, name, signature, doc, field}. Rows from C and from Lua
--- have the same form. Help, completion and the reference are made from the rows.
local rows = {}

local core = require "nestwright.core"
local guard = require "nestwright.language.guard"

local list = {}
local of_value = setmetatable({}, {__mode = "k"})

local function add(row, value)
  assert(type(row.topic) == "string", row.name)
  list[#list + 1] = row
  if type(value) == "function" then of_value[value] = row end
end

local written = setmetatable({}, {__mode = "k"}) -- checked function -> the function without its check

local function guarded(row, fn, own)
  local checked = guard.guarded(row.name, row.signature, fn, own)
  written[checked] = fn
  return checked
end

--- Returns the original of a checked function, whose source can be found.
function rows.written(fn) return written[fn] or fn end

--- Defines the public function target[name] and its row. A call of this function checks its arguments against the signature.
---@param target table
---@param class string   "nw" for a function of the module; the class for a method
---@param topic string   the subject under which nw.help lists the function
---@param name string
---@param signature string   in the notation of LuaLS: "(a: nw.array, b?: integer): number"
---@param doc string
---@param fn function
---@param own? boolean   true if the function checks its arguments itself, because it accepts more forms than the signature shows
function rows.define(target, class, topic, name, signature, doc, fn, own)
  local row = {class = class, topic = topic, name = name, signature = signature, doc = doc, field = false}
  target[name] = guarded(row, fn, own)
  add(row, target[name])
end

--- Adds the row of a field.
---@param kind string   the type of the field, in the notation of LuaLS
function rows.field(class, topic, name, kind, doc)
  add({class = class, topic = topic, name = name, signature = kind, doc = doc, field = true}, nil)
end

--- Returns a function that adds rows of one class and topic to one table.
function rows.definer(target, class, topic)
  return function(name, signature, doc, fn) rows.define(target, class, topic, name, signature, doc, fn) end
end

-- Users call these functions in loops over elements. So the functions check their arguments in C, which is faster.
local QUICK = {get = true, set = true, getflat = true, setflat = true, fill_list = true}

-- Adds a row of a class of the binding.
local function adopt_member(row)
  local methods = core.classes[row.class].__methods
  if row.field then return add(row, nil) end
  if row.class == "array" and QUICK[row.name] then
    core.name_function(methods[row.name], row.name)
  else
    methods[row.name] = guarded(row, methods[row.name])
  end
  add(row, methods[row.name])
end

--- Defines the public functions of the binding, and the methods and fields of its classes.
---@param offered {topic: string, names: string[]}[]
function rows.adopt(target, module, offered)
  local by_name = {}
  for _, row in ipairs(module.rows()) do
    if row.class == "core" then by_name[row.name] = row else adopt_member(row) end
  end
  for _, some in ipairs(offered) do
    for _, name in ipairs(some.names) do
      local row = by_name[name]
      row.class, row.topic = "nw", some.topic
      target[name] = guarded(row, module[name])
      add(row, target[name])
    end
  end
end

--- Returns all rows, in the order of definition. Loads the module of pictures, which is otherwise loaded with the first picture.
function rows.all()
  require "nestwright.plots.plot"
  return list
end

--- Returns the row of a function, or nil.
function rows.of(value) return of_value[value] end

--- Returns the rows whose name, or "class.name", is `name`.
function rows.named(name)
  local found = {}
  for _, row in ipairs(rows.all()) do
    if row.name == name or row.class .. "." .. row.name == name then found[#found + 1] = row end
  end
  return found
end

--- Returns the table of methods of a class, which may be written in C or in Lua.
function rows.methods(class) return core.classes[class].__methods end

return rows
