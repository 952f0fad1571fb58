--- Checks the arguments of public functions against the types in the functions' rows (rows.lua). An error names the function, the
--- argument, the expected type and the value. Conditions that a type cannot express, such as ranges, are checked by the functions
--- themselves.
local core = require "nestwright.core"
local signature = require "nestwright.language.signature"
local slips = later "nestwright.slips.arguments"

local guard = {}

-- Returns a test of a type, which is a table of two functions. fits(value) is true if the value has the type. For any other value,
-- why(value) returns {path (inside the value), value (at that path), type (expected there), within (the table around the path)}.
-- For a table with an unknown key, the result also has key and known (the valid keys).
local test_of

local function plain_test(t, fits) return {fits = fits, why = function(value) return {path = "", value = value, type = t} end} end

-- ---- types by name

local getmetatable = debug.getmetatable

-- Returns a function that checks that a value is an object of this class. A class that is written in C has one metatable. The
-- metatable of a class that is written in Lua has the name of the class.
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
-- Names, paths and labels must not contain NUL, because C ignores the text after it.
function PLAIN.string(value) return type(value) == "string" and not value:find("\0", 1, true) end
PLAIN["nw.label"] = core.is_label -- a one-line text that can be shown anywhere
for _, name in ipairs {"nil", "number", "boolean", "table", "function", "userdata"} do
  PLAIN[name] = function(value) return type(value) == name end
end

local function name_test(t)
  local class = t.name:match "^nw%.(%w+)$"
  return plain_test(t, PLAIN[t.name] or class and is_class(class) or error("no such type: " .. t.name, 0))
end

-- ---- types made of types

local function literal_test(t) return plain_test(t, function(value) return value == t.text end) end

-- Returns a test for a union of types. If no type fits, why(value) returns the reason of the type whose mismatch is deepest inside
-- the value.
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
      if #why.path > #found.path or why.key ~= nil and found.key == nil and #why.path == #found.path then found = why end
    end
    return found
  end}
end

-- Returns the first key that the table's type does not allow, or nil. A table with a metatable may have any keys.
local function surplus(value, has)
  if getmetatable(value) then return nil end
  for key in next, value do if not has(value, key) then return key end end
end

-- Returns a test for tables. parts(value) iterates over the path, value and test of each part. has(value, key) is true if the key
-- is valid. known: the valid keys that a message can list.
local function table_test(t, parts, has, known)
  return {fits = function(value)
    if type(value) ~= "table" then return false end
    for _, of, test in parts(value) do if not test.fits(of) then return false end end
    return surplus(value, has) == nil
  end, why = function(value)
    if type(value) ~= "table" then return {path = "", value = value, type = t} end
    for path, of, test in parts(value) do
      if not test.fits(of) then
        local why = test.why(of)
        why.path, why.within = path .. why.path, why.within or value
        return why
      end
    end
    local key = surplus(value, has)
    if #known == 0 and #value == 0 then key = nil end -- the table is not a list at all
    return {path = "", value = value, type = t, key = key, known = known}
  end}
end

-- True if the key may be in a list: an index of an entry, or n, which table.pack sets to the number of entries.
local function is_entry(value, key)
  return math.type(key) == "integer" and key >= 1 and key <= #value or key == "n" and rawequal(value.n, #value)
end

local function list_test(t)
  local test = test_of(t.item)
  return table_test(t, function(value)
    local n, last = 0, #value
    return function()
      n = n + 1
      if n <= last then return ("[%d]"):format(n), value[n], test end
    end
  end, is_entry, {})
end

local function fields_test(t)
  local tests, known, names = {}, {}, {}
  for n, field in ipairs(t.of) do tests[n], known[field.name], names[n] = test_of(field.type), true, field.name end
  return table_test(t, function(value)
    local n = 0
    return function()
      repeat n = n + 1 until not t.of[n] or not t.of[n].optional or value[t.of[n].name] ~= nil
      if t.of[n] then return "." .. t.of[n].name, value[t.of[n].name], tests[n] end
    end
  end, function(_, key) return t.open or known[key] end, names)
end

-- Returns the text of a key of a table, or the name of its type if it is neither a string nor a number.
local function key_text(key) return (type(key) == "string" or type(key) == "number") and tostring(key) or core.type_name(key) end

local function map_test(t)
  local test = test_of(t.value)
  return table_test(t, function(value)
    local key
    return function()
      local of
      key, of = next(value, key)
      if key ~= nil then return ("[%s]"):format(key_text(key)), of, test end
    end
  end, function() return true end, {})
end

local MAKE = {name = name_test, literal = literal_test, union = union_test, list = list_test, fields = fields_test, map = map_test}

function test_of(t) return MAKE[t.kind](t) end

-- ---- texts

--- Returns a word with its article: "an array", "a table".
function guard.with_article(word) return (word:find "^[aeiou]" and "an " or "a ") .. word end

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
  return WORDS[t.name] or guard.with_article((t.name:gsub("^nw%.", "")))
end

-- Adds the words for a type, or for each of its alternatives, to a list without repetitions.
local function add_words(t, out)
  for _, one in ipairs(t.kind == "union" and t.of or {}) do add_words(one, out) end
  if t.kind == "union" then return out end
  local text = word_of(t)
  for _, known in ipairs(out) do if known == text then return out end end
  out[#out + 1] = text
  return out
end

--- Returns a type in words: "an expression, an axis or a number".
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

-- Returns a text that describes the given value. It is the value itself if the value is a number and an integer is expected, or if
-- the value is a string and one of several words is expected. Otherwise, it is the type of the value.
local function got(t, value)
  if type(value) == "string" and value:find("\0", 1, true) then return "a string with a NUL byte" end
  if type(value) == "number" and has(t, "integer") then return tostring(value) end
  local first = t.kind == "union" and t.of[1] or t
  if type(value) == "string" and first.kind == "literal" then return ("'%s'"):format(value) end
  return core.type_name(value)
end

-- Returns a hint if a key of the table is spelled almost like the missing field.
local function misspelt(why)
  local missing = why.value == nil and why.within and why.path:match "%.([%w_]+)$"
  if not missing then return nil end
  for key in next, why.within do
    if type(key) == "string" and core.nearest(key, {missing}) then return ("did you mean '%s'?"):format(missing) end
  end
end

-- Returns the words that a type lists.
local function literals(t)
  local found = {}
  for _, one in ipairs(t.kind == "union" and t.of or {t}) do
    if one.kind == "literal" then found[#found + 1] = one.text end
  end
  return found
end

-- Returns a hint if the value is a common mistake.
local function hint_for(t, value)
  local near = type(value) == "string" and core.nearest(value, literals(t))
  if near then return ("did you mean '%s'?"):format(near) end
  local class = getmetatable(value)
  if has(t, "nw.expr") and class == core.classes.tensor then return ("read an element of it: %s(i, ...)"):format(value.name) end
  if has(t, "nw.expr") and type(value) == "boolean" then
    return "Lua's == and ~= give true or false at once: write nw.eq(a, b) or nw.ne(a, b)"
  end
  if has(t, "nw.loop") and class == core.classes.axis then return ("give the name of its loop: \"%s\""):format(value.name) end
  if has(t, "nw.array") and class == core.classes.tensor then return "a tensor has no data: nw.random(shape) makes an array" end
  if has(t, "nw.axis") and not has(t, "nw.expr") then return "make one with nw.reduce_axis(extent, name)" end
end

-- Returns the parameters of a function without self, as text: "(shape, dtype)".
local function taken(params)
  local names = {}
  for _, p in ipairs(params) do if p.name ~= "self" then names[#names + 1] = p.name end end
  return ("(%s)"):format(table.concat(names, ", "))
end

-- Returns a hint if options are given in the place of another parameter.
local function misplaced(params, n, value)
  if type(value) ~= "table" or getmetatable(value) then return nil end
  for k = n + 1, #params do if params[k].name == "options" then return "the options come last: " .. taken(params) end end
end

-- ---- functions

-- Raises an error if the parameter must be a text that can be shown, and the value is a text that cannot be shown.
local function refuse_text(what, why)
  local text = type(why.value) == "string" and not why.value:find("\0", 1, true)
  if text and has(why.type, "nw.label") then core.check_text(what, why.value) end
end

-- Returns the number of an argument; self is not counted.
local function place(params, n) return params[1] and params[1].name == "self" and n - 1 or n end

--- Raises an error about an unknown key of a table.
---@param what string       the function or argument that the table belongs to
---@param kind string       "option" or "key"
---@param known string[]    the valid keys
---@param hint string       the hint if no valid key has a similar spelling
function guard.refuse_key(what, kind, key, known, hint)
  local near = type(key) == "string" and core.nearest(key, known)
  if near then hint = ("did you mean '%s'?"):format(near) end
  core.fail("invalid", ("%s: unknown %s '%s'"):format(what, kind, key_text(key)), hint)
end

--- Returns a hint that lists the options.
function guard.listed(names) return names[1] and "the options are " .. table.concat(names, ", ") or "there are no options" end

-- Returns the name of a parameter, or the number of the argument if the row has "..." there.
local function name_of(params, n)
  local p = params[math.min(n, #params)]
  return p.name == "..." and ("argument %d"):format(place(params, n)) or p.name
end

-- Raises an error about an unknown key of a table. The hint names a later parameter if the key has a similar spelling.
local function refuse_key_of(function_name, params, n, why)
  if why.known[1] then
    local option = why.path == ""
    guard.refuse_key(option and function_name or ("%s: %s%s"):format(function_name, name_of(params, n), why.path),
      option and "option" or "key", why.key, why.known, guard.listed(why.known))
  end
  local hint = "a list has only the keys 1 to n"
  for k = n + 1, #params do
    local near = type(why.key) == "string" and core.nearest(why.key, {params[k].name})
    if near then hint = ("%s is a separate argument: %s"):format(near, taken(params)) end
  end
  guard.refuse_key(("%s: %s%s"):format(function_name, name_of(params, n), why.path), "key", why.key, {}, hint)
end

-- Returns a sentence about the given value if it is one of the commonest slips: a method without its object because of a dot, a
-- variable without a value, or a string that the brackets of a nested list make.
local function slip_of(function_name, params, n, why)
  if name_of(params, n) == "self" then return slips.dot(function_name) end
  if why.path ~= "" then return nil end
  if why.value == nil then return slips.missing(function_name, place(params, n)) end
  if type(why.value) == "string" then return slips.brackets(why.value) end
end

local function refuse(function_name, params, n, why)
  if why.key ~= nil then refuse_key_of(function_name, params, n, why) end
  local parameter, slip = name_of(params, n), slip_of(function_name, params, n, why)
  if slip then core.fail("invalid", slip) end
  refuse_text(("%s: %s%s"):format(function_name, parameter, why.path), why)
  local hint = parameter == "self" and ("call it with a colon: x:%s(...)"):format(function_name) or misspelt(why)
    or hint_for(why.type, why.value) or misplaced(params, n, why.value)
  local expression = has(why.type, "nw.expr") and not has(why.type, "integer")
  core.fail(expression and "type" or "invalid", ("%s: %s%s: expected %s, got %s"):format(function_name, parameter,
    why.path, guard.words(why.type), got(why.type, why.value)), hint)
end

-- Raises an error if there is an argument other than nil after the last parameter.
local function refuse_rest(name, params, ...)
  for n = 1, select("#", ...) do
    local value = (select(n, ...))
    if value ~= nil then
      local list = taken(params)
      core.fail("invalid", ("%s takes %s: argument %d, %s, is one too many"):format(name, list == "()" and "no arguments" or list,
        place(params, #params + n), core.type_name(value)))
    end
  end
end

-- Returns a check of one argument.
local function one_of(name, params, n)
  local test, optional = test_of(params[n].type), params[n].optional
  local fits = test.fits
  return function(value)
    if not fits(value) and not (optional and value == nil) then refuse(name, params, n, test.why(value)) end
  end
end

-- Returns a check of all arguments. Most functions have one to three parameters and no "...". The check of such functions is
-- faster.
local function check_of(name, params)
  local checks, count, rest = {}, #params, nil
  for n = 1, count do checks[n] = one_of(name, params, n) end
  if count > 0 and params[count].name == "..." then rest, count = test_of(params[count].type), count - 1 end
  local first, second, third = checks[1], checks[2], checks[3]
  if not rest and count == 1 then return function(a, ...) first(a) refuse_rest(name, params, ...) end end
  if not rest and count == 2 then return function(a, b, ...) first(a) second(b) refuse_rest(name, params, ...) end end
  if not rest and count == 3 then
    return function(a, b, c, ...) first(a) second(b) third(c) refuse_rest(name, params, ...) end
  end
  return function(...)
    for n = 1, count do checks[n]((select(n, ...))) end
    if not rest then return refuse_rest(name, params, select(count + 1, ...)) end
    for n = count + 1, select("#", ...) do
      local value = (select(n, ...))
      if not rest.fits(value) then refuse(name, params, n, rest.why(value)) end
    end
  end
end

-- Returns its arguments. A checked function passes its results through this function, so the call of the original function is not a
-- tail call. Therefore the checked function, and with it its name, is on the stack when an error is raised.
local function as_they_are(...) return ... end

--- Returns the function with a check of its arguments against the signature of its row. own: true for a method that checks its
--- arguments itself; then only self is checked here.
---@param name string
---@param text string   the signature
---@param fn function
---@param own? boolean
function guard.guarded(name, text, fn, own)
  local check -- made at the first call, because a session uses few functions
  local function guarded(...)
    if not check then
      local params = signature.parameters(text)
      check = own and one_of(name, params, 1) or check_of(name, params)
    end
    check(...)
    return as_they_are(fn(...))
  end
  core.name_function(guarded, name)
  return guarded
end

return guard
