--- Decides whether an error says what was wrong. The comment at the top of api.lua describes the rule.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local values = require "_api_values"

local rule = {}

--- Returns a short text that describes a value.
function rule.shown(value)
  local ok, text = pcall(tostring, value)
  text = ok and text or type(value)
  return (#text > 50 and text:sub(1, 50) .. "..." or text):gsub("%c", "?")
end

-- Words that name the arguments of operators, of calls such as A(i, j), and of indexing. These arguments have no parameter names.
local SIGNS = {"operand", "operands", "division", "index", "indices", "indexed", "field", "inputs", "tensors", "A", "B", "C"}

local function add_fields(t, words)
  for _, one in ipairs(t.kind == "union" and t.of or {}) do add_fields(one, words) end
  for _, field in ipairs(t.kind == "fields" and t.of or {}) do
    words[#words + 1] = field.name
    add_fields(field.type, words)
  end
  if t.kind == "list" then add_fields(t.item, words) end
end

-- Returns the words that a message may use to name an argument: the parameters of the row, the parameters of the called primitive,
-- and the fields of parameters that are tables.
local function words_of(row, params, given, primitives)
  local words = table.move(row.sign and SIGNS or {}, 1, #SIGNS, 4, {"argument", "arguments", "operand"})
  for _, p in ipairs(params) do
    words[#words + 1] = p.name
    -- for these two parameters, messages name a tensor
    if p.name == "inputs" or p.name == "arguments" then table.move({"A", "B", "C"}, 1, 3, #words + 1, words) end
    if p.name == "shape" then words[#words + 1] = "dimension" end
    add_fields(p.type, words)
  end
  local primitive = row.class == "schedule" and ((row.name == "apply" or row.name == "try") and given[2] or row.name)
  for _, p in ipairs(primitive and primitives or {}) do
    for _, param in ipairs(p.name == primitive and p.params or {}) do words[#words + 1] = param.name end
  end
  return words
end

local function has_word(text, word) return text:find("%f[%w_]" .. word:gsub("%p", "%%%0") .. "%f[^%w_]") ~= nil end

-- Adds to `out` each text that a message could show for a value. For a table, also adds the texts of its keys and values.
local function add_shown(value, out, depth)
  if type(value) == "string" and value ~= "" then out[#out + 1] = core.shown_text(value:sub(1, 12)) end
  if value == "" then table.move({'""', "''", "read : ", "write : "}, 1, 4, #out + 1, out) end -- an empty path has no quotes
  if type(value) == "number" then out[#out + 1] = tostring(math.tointeger(value) or value) end
  if math.type(value) == "float" then out[#out + 1] = ("%g"):format(value) end
  local named, name = pcall(function() return value.name end)
  if named and type(name) == "string" and debug.getmetatable(value) and type(value) ~= "string" then out[#out + 1] = name end
  if type(value) ~= "table" or depth > 3 then return end
  for key, of in next, value do
    if #out > 1000 then return end
    add_shown(key, out, depth + 1)
    add_shown(of, out, depth + 1)
  end
end

-- True if a message quotes one of the arguments.
local function quotes(text, given, count)
  for n = 1, count do
    local list = {}
    add_shown(given[n], list, 0)
    for _, one in ipairs(list) do if text:find(one, 1, true) then return true end end
  end
  return false
end

-- True if no parameter has a name, because the function takes only its object or only "...".
local function is_nameless(params)
  for _, p in ipairs(params) do if p.name ~= "self" and p.name ~= "..." then return false end end
  return true
end

local functions = {}
for _, row in ipairs(require "nestwright.language.rows".all()) do functions[row.name] = not row.field or nil end
for _, p in ipairs(core.primitives()) do functions[p.name] = nil end -- errors of s:apply and s:replay name a primitive too

-- True if a message begins with the names of two functions, as in "load: check: ...", although the user called only one function.
local function names_two(message, words)
  local first, second, says = message:match "^([%w_]+): ([%w_]+)(.*)"
  if not (functions[first] and functions[second]) then return false end
  if not (says:find "^: [%w_.%[%]]+: " or says:find "^ takes " or says:find "^ needs ") then return false end
  for _, word in ipairs(words) do if word == second then return false end end
  return true
end

--- Returns nil, or a text that says what is wrong with an error. The table c describes the call. Its field `valid` is true if only
--- the number of arguments was changed.
function rule.complaint(c, err)
  if type(err) == "string" and (err:find(values.RAISED, 1, true) or err:find "attempt to yield") then return nil end
  if not errors.is_error(err) then return "this is not an error of the library: " .. rule.shown(err) end
  if type(err.code) ~= "string" or type(err.message) ~= "string" then return "an error without code or message" end
  if err.code == "internal" then return "an internal fault: " .. err.message end
  if err.message:find "[%z\1-\8\11-\31\127]" then return "a message with control characters" end
  if err.refusal then return nil end
  local text, words = err.message .. " " .. (err.hint or ""), words_of(c.row, c.params, c.given, core.primitives())
  if text:find(values.RAISED, 1, true) then return nil end
  if names_two(err.message, words) then return "the message names two functions: " .. rule.shown(err.message) end
  for _, word in ipairs(words) do if has_word(text, word) then return nil end end
  local function_said = has_word(text, c.row.name)
  if function_said and (is_nameless(c.params) or c.valid or quotes(text, c.given, c.count)) then return nil end
  if function_said and text:find "%d [KMGTPE]i?B" then return nil end
  if function_said and err.code == "stale" then return nil end
  if function_said and err.code == "limit" and text:find "this machine has no" then return nil end
  if text:find "^%d+:%d+: " or err.code == "parse" and text:find "%d+:%d+: " then return nil end
  return ("an error with code %s names no argument: %s"):format(err.code, rule.shown(err.message))
end

return rule
