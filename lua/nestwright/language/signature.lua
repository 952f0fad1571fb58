--- Parses signatures of rows, "(a: nw.array, b?: integer): number", into parameters with type trees. The types are those of LuaLS:
--- names, literals, unions, lists, tables with fields, and functions.
local signature = {}

-- Skips blanks. If the token follows, skips it too and returns true; otherwise returns false. r: the state of the parser, {text (of
-- the signature), at (the position of the next character)}.
local function take(r, token)
  r.at = r.text:match("^%s*()", r.at)
  if r.text:sub(r.at, r.at + #token - 1) ~= token then return false end
  r.at = r.at + #token
  return true
end

local function word(r, pattern)
  local found, stop = r.text:match("^%s*(" .. pattern .. ")()", r.at)
  if found then r.at = stop end
  return found
end

local function must(r, found, what)
  if found then return found end
  error(("no %s at '%s' in the signature '%s'"):format(what, r.text:sub(r.at), r.text), 0)
end

local union

-- Parses {name?: type, ...} after the opening brace. The field `open` is true if the type contains [string]: any; then unknown keys
-- are allowed.
local function fields_of(r)
  local found, open = {}, false
  while not take(r, "}") do
    if take(r, "[string]: any") then
      open = true
    else
      local name = must(r, word(r, "[%a_][%w_]*"), "field")
      local optional = take(r, "?")
      must(r, take(r, ":"), "colon")
      found[#found + 1] = {name = name, optional = optional, type = union(r)}
    end
    take(r, ",")
  end
  return {kind = "fields", of = found, open = open}
end

-- Parses fun(...: T): T. The parameters and results of such a function type are only documentation.
local function function_of(r)
  must(r, word(r, "%b()"), "parameters")
  if take(r, ":") then
    union(r)
    take(r, "...")
  end
  return {kind = "name", name = "function"}
end

local function single(r)
  local literal = word(r, '"[^"]*"') or word(r, "'[^']*'")
  if literal then return {kind = "literal", text = literal:sub(2, -2)} end
  if take(r, "{") then return fields_of(r) end
  if take(r, "(") then
    local inside = union(r)
    must(r, take(r, ")"), "bracket")
    return inside
  end
  local name = must(r, word(r, "[%a_][%w_.]*[%w_]"), "type")
  if name == "fun" then return function_of(r) end
  if name ~= "table" or not take(r, "<") then return {kind = "name", name = name} end
  local key = union(r)
  must(r, take(r, ","), "comma")
  local value = union(r)
  must(r, take(r, ">"), "bracket")
  return {kind = "map", key = key, value = value}
end

local function list(r)
  local t = single(r)
  while take(r, "[]") do t = {kind = "list", item = t} end
  if take(r, "?") then t = {kind = "union", of = {t, {kind = "name", name = "nil"}}} end
  return t
end

function union(r)
  local first = list(r)
  if not take(r, "|") then return first end
  local all = {first}
  repeat all[#all + 1] = list(r) until not take(r, "|")
  return {kind = "union", of = all}
end

--- Returns the type tree of a text.
function signature.type(text)
  local r = {text = text, at = 1}
  local t = union(r)
  must(r, r.at > #text, "end")
  return t
end

--- Returns the parameters of "(a: T, b?: U, ...: V): R": {name, optional, kind (the type as text), type}. The last parameter may
--- have the name "...".
function signature.parameters(text)
  local r, found = {text = text, at = 1}, {}
  must(r, take(r, "("), "bracket")
  while not take(r, ")") do
    local name = must(r, word(r, "[%a_][%w_]*") or word(r, "%.%.%."), "parameter")
    local optional = take(r, "?")
    must(r, take(r, ":"), "colon")
    local from = r.text:match("^%s*()", r.at)
    local t = union(r)
    found[#found + 1] = {name = name, optional = optional, kind = text:sub(from, r.at - 1), type = t}
    take(r, ",")
  end
  return found
end

return signature
