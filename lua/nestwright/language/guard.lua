--- Arguments of public functions, held against the types in the row that documents them: whoever gives another is told the
--- function, the argument, what it must be and what came. What a type cannot say, as a range, is for the function itself.
local core = require "nestwright.core"
local signature = require "nestwright.language.signature"

local guard = {}

-- A test of a type: `fits` of a value, true or false, and `why` of one that does not: {path (inside the value), value (what stands
-- there), type (what it is not of), hint}.
local test_of

local function plain_test(t, fits) return {fits = fits, why = function(value) return {path = "", value = value, type = t} end} end

-- ---- types by name

local getmetatable = debug.getmetatable

-- Classes of the binding have one metatable; that of a class of ours says its name.
local function is_class(name)
  local one, metatable = core.classes[name], "nestwright." .. name
  if one then return function(value) return getmetatable(value) == one end end
  return function(value)
    local meta = getmetatable(value)
    return type(meta) == "table" and rawget(meta, "__name") == metatable
  end
end

local PLAIN = {
  any = function() return true end,
  integer = function(value) return type(value) == "number" and math.tointeger(value) ~= nil end,
  lightuserdata = function(value) return type(value) == "userdata" end,
}
-- No name, path or label has a NUL in it, and C would take what stands before one for the whole.
function PLAIN.string(value) return type(value) == "string" and not value:find("\0", 1, true) end
PLAIN["nw.label"] = core.is_label -- a text of one line that can be shown anywhere
for _, name in ipairs {"nil", "number", "boolean", "table", "function", "userdata"} do
  PLAIN[name] = function(value) return type(value) == name end
end

local function name_test(t)
  local class = t.name:match "^nw%.(%w+)$"
  return plain_test(t, PLAIN[t.name] or class and is_class(class) or error("no such type: " .. t.name, 0))
end

-- ---- types made of types

local function literal_test(t) return plain_test(t, function(value) return value == t.text end) end

-- Why it fits none: of those that look inside the value, the one that sees farthest.
local function union_test(t)
  local tests = {}
  for n, one in ipairs(t.of) do tests[n] = test_of(one) end
  local function fits(value)
    for _, test in ipairs(tests) do if test.fits(value) then return true end end
    return false
  end
  return {fits = fits, why = function(value)
    local found = {path = "", value = value, type = t}
    for _, test in ipairs(tests) do
      local why = test.why(value)
      if #why.path > #found.path then found = why end
    end
    return found
  end}
end

-- parts: what must fit what, as an iterator of path, value and test, for a value that is a table.
local function table_test(t, parts)
  return {fits = function(value)
    if type(value) ~= "table" then return false end
    for _, of, test in parts(value) do if not test.fits(of) then return false end end
    return true
  end, why = function(value)
    for path, of, test in parts(type(value) == "table" and value or {}) do
      if type(value) == "table" and not test.fits(of) then
        local why = test.why(of)
        why.path, why.within = path .. why.path, why.within or value
        return why
      end
    end
    return {path = "", value = value, type = t}
  end}
end

local function list_test(t)
  local test = test_of(t.item)
  return table_test(t, function(value)
    local n, last = 0, #value
    return function()
      n = n + 1
      if n <= last then return ("[%d]"):format(n), value[n], test end
    end
  end)
end

local function fields_test(t)
  local tests = {}
  for n, field in ipairs(t.of) do tests[n] = test_of(field.type) end
  return table_test(t, function(value)
    local n = 0
    return function()
      repeat n = n + 1 until not t.of[n] or not t.of[n].optional or value[t.of[n].name] ~= nil
      if t.of[n] then return "." .. t.of[n].name, value[t.of[n].name], tests[n] end
    end
  end)
end

local function map_test(t)
  local test = test_of(t.value)
  return table_test(t, function(value)
    local key
    return function()
      local of
      key, of = next(value, key)
      if key ~= nil then return ("[%s]"):format(type(key) == "string" and key or core.type_name(key)), of, test end
    end
  end)
end

local MAKE = {name = name_test, literal = literal_test, union = union_test, list = list_test, fields = fields_test, map = map_test}

function test_of(t) return MAKE[t.kind](t) end

-- ---- what is said

local function with_article(word) return (word:find "^[aeiou]" and "an " or "a ") .. word end

local WORDS = {integer = "a whole number", any = "a value", ["nil"] = "nothing", lightuserdata = "an address",
  ["nw.expr"] = "an expression", ["nw.axis"] = "a reduce axis", ["nw.array"] = "a tensor with data", ["nw.loopnest"] = "a nest",
  ["nw.time"] = "a time record", ["nw.label"] = "a string", ["nw.learner"] = "a model"}

local function words_of_fields(t)
  local must = {}
  for _, field in ipairs(t.of) do if not field.optional then must[#must + 1] = field.name end end
  return must[1] and "a table with " .. table.concat(must, ", ") or "a table of options"
end

local function word_of(t)
  if t.kind == "literal" then return ("'%s'"):format(t.text) end
  if t.kind == "fields" then return words_of_fields(t) end
  if t.kind ~= "name" then return t.kind == "list" and "a list" or "a table" end
  return WORDS[t.name] or with_article((t.name:gsub("^nw%.", "")))
end

-- Adds to a list the words for a type and for those it is made of, each once.
local function add_words(t, out)
  for _, one in ipairs(t.kind == "union" and t.of or {}) do add_words(one, out) end
  if t.kind == "union" then return out end
  local text = word_of(t)
  for _, known in ipairs(out) do if known == text then return out end end
  out[#out + 1] = text
  return out
end

--- A type in words: "an expression, an axis or a number".
function guard.words(t)
  local list = add_words(t, {})
  if #list < 2 then return list[1] end
  return table.concat(list, ", ", 1, #list - 1) .. " or " .. list[#list]
end

local function has(t, name)
  if t.kind ~= "union" then return t.name == name end
  for _, one in ipairs(t.of) do if has(one, name) then return true end end
  return false
end

-- What came: a number, and a word among words, as it is.
local function got(t, value)
  if type(value) == "string" and value:find("\0", 1, true) then return "one with a NUL in it" end
  if type(value) == "number" and has(t, "integer") then return tostring(value) end
  local first = t.kind == "union" and t.of[1] or t
  if type(value) == "string" and first.kind == "literal" then return ("'%s'"):format(value) end
  return core.type_name(value)
end

-- A key of the table that was meant for a field that is missing.
local function misspelt(why)
  local missing = why.value == nil and why.within and why.path:match "%.([%w_]+)$"
  if not missing then return nil end
  for key in next, why.within do
    if type(key) == "string" and core.nearest(key, {missing}) then return ("did you mean '%s'?"):format(missing) end
  end
end

-- What to do, where people often mean something that is close.
local function hint_for(t, value)
  local class = getmetatable(value)
  if has(t, "nw.expr") and class == core.classes.tensor then return ("read an element of it: %s(i, ...)"):format(value.name) end
  if has(t, "nw.expr") and type(value) == "boolean" then
    return "Lua's == and ~= give true or false at once: write nw.eq(a, b) or nw.ne(a, b)"
  end
  if has(t, "nw.loop") and class == core.classes.axis then return ("its loop is given by name: \"%s\""):format(value.name) end
  if has(t, "nw.array") and class == core.classes.tensor then return "a tensor has no data: nw.random(shape) makes some" end
  if has(t, "nw.axis") and not has(t, "nw.expr") then return "make one with nw.reduce_axis(extent, name)" end
end

-- Options in the place of what comes before them.
local function misplaced(params, n, value)
  if type(value) ~= "table" or getmetatable(value) then return nil end
  local names, later = {}, false
  for k, p in ipairs(params) do
    if p.name ~= "self" then names[#names + 1] = p.name end
    later = later or k > n and p.name == "options"
  end
  return later and ("the options come last: (%s)"):format(table.concat(names, ", ")) or nil
end

-- ---- functions

-- Raises what is wrong with a text, where one is wanted that can be shown.
local function refuse_text(what, why)
  local text = type(why.value) == "string" and not why.value:find("\0", 1, true)
  if text and has(why.type, "nw.label") then core.check_text(what, why.value) end
end

local function refuse(function_name, params, n, why)
  local p = params[math.min(n, #params)]
  local parameter = p.name == "..." and ("argument %d"):format(params[1].name == "self" and n - 1 or n) or p.name
  refuse_text(("%s: %s%s"):format(function_name, parameter, why.path), why)
  local hint = p.name == "self" and ("call it with a colon: x:%s(...)"):format(function_name) or misspelt(why)
    or hint_for(why.type, why.value) or misplaced(params, n, why.value)
  local expression = has(why.type, "nw.expr") and not has(why.type, "integer")
  core.fail(expression and "type" or "invalid", ("%s: %s%s: expected %s, got %s"):format(function_name, parameter,
    why.path, guard.words(why.type), got(why.type, why.value)), hint)
end

-- A check of one argument.
local function one_of(name, params, n)
  local test, optional = test_of(params[n].type), params[n].optional
  local fits = test.fits
  return function(value)
    if not fits(value) and not (optional and value == nil) then refuse(name, params, n, test.why(value)) end
  end
end

-- A check of the arguments from the first on. Most functions have few, and no "...".
local function check_of(name, params)
  local checks, count, rest = {}, #params, nil
  for n = 1, count do checks[n] = one_of(name, params, n) end
  if count > 0 and params[count].name == "..." then rest, count = test_of(params[count].type), count - 1 end
  local first, second, third = checks[1], checks[2], checks[3]
  if not rest and count == 1 then return first end
  if not rest and count == 2 then return function(a, b) first(a) second(b) end end
  if not rest and count == 3 then return function(a, b, c) first(a) second(b) third(c) end end
  return function(...)
    for n = 1, count do checks[n]((select(n, ...))) end
    for n = count + 1, rest and select("#", ...) or 0 do
      local value = (select(n, ...))
      if not rest.fits(value) then refuse(name, params, n, rest.why(value)) end
    end
  end
end

-- No tail call: what goes wrong inside finds the name of the function on the stack.
local function as_they_are(...) return ... end

--- The function, behind a check of its arguments against its row's signature. own: the function reads its arguments itself, and
--- only its object is checked.
---@param name string
---@param text string   the signature
---@param fn function
---@param own? boolean
function guard.guarded(name, text, fn, own)
  local has_self = text:find "^%(self:"
  if text:find "^%(%)" or own and not has_self then
    core.name_function(fn, name)
    return fn
  end
  local check -- made at the first call: a session uses few of all functions
  local function guarded(...)
    if not check then
      local params = signature.parameters(text)
      check = check_of(name, own and {params[1]} or params)
    end
    check(...)
    return as_they_are(fn(...))
  end
  core.name_function(guarded, name)
  return guarded
end

return guard
