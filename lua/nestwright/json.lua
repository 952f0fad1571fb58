--- JSON, as much as saved schedules and sweeps need: objects, arrays, strings, numbers, booleans, null (nil).
local json = {}

local ESCAPES = {['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t"}

local function quote(s)
  return '"' .. s:gsub('[%c"\\]', function(c) return ESCAPES[c] or ("\\u%04x"):format(c:byte()) end) .. '"'
end

local function number(v)
  if math.type(v) == "integer" then return ("%d"):format(v) end
  if v ~= v or v == math.huge or v == -math.huge then return "null" end
  return ("%.17g"):format(v)
end

local function sorted_keys(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = tostring(key) end
  table.sort(keys)
  return keys
end

--- A value as JSON text. Tables with entries 1..n are arrays; keys of objects are sorted.
function json.encode(v)
  local kind = type(v)
  if kind == "string" then return quote(v) end
  if kind == "number" then return number(v) end
  if kind ~= "table" then return kind == "boolean" and tostring(v) or "null" end
  local parts = {}
  if #v > 0 then
    for n, item in ipairs(v) do parts[n] = json.encode(item) end
    return "[" .. table.concat(parts, ", ") .. "]"
  end
  for n, key in ipairs(sorted_keys(v)) do parts[n] = quote(key) .. ": " .. json.encode(v[key]) end
  return "{" .. table.concat(parts, ", ") .. "}"
end

local LITERALS = {{"true", true}, {"false", false}, {"null", nil}}
local UNESCAPES = {b = "\b", f = "\f", n = "\n", r = "\r", t = "\t"}
local value

local function fail(at, what) error(("not JSON: %s at character %d"):format(what, at), 0) end
local function skip(s, at) return s:match("^[ \t\r\n]*()", at) end

local function read_string(s, at)
  local parts = {}
  while true do
    local plain, stop = s:match('^([^"\\]*)()', at)
    parts[#parts + 1] = plain
    local c = s:sub(stop, stop)
    if c == '"' then return table.concat(parts), stop + 1 end
    if c == "" then fail(at, "a string does not end") end
    local e = s:sub(stop + 1, stop + 1)
    local code = e == "u" and tonumber(s:match("^%x%x%x%x", stop + 2), 16)
    parts[#parts + 1] = code and utf8.char(code) or UNESCAPES[e] or e
    at = stop + (code and 6 or 2)
  end
end

local function read_list(s, at, depth)
  local list, n = {}, 0
  at = skip(s, at)
  if s:sub(at, at) == "]" then return list, at + 1 end
  while true do
    n = n + 1
    list[n], at = value(s, at, depth)
    at = skip(s, at)
    local c = s:sub(at, at)
    if c == "]" then return list, at + 1 end
    if c ~= "," then fail(at, "expected , or ]") end
    at = at + 1
  end
end

local function read_object(s, at, depth)
  local object = {}
  at = skip(s, at)
  if s:sub(at, at) == "}" then return object, at + 1 end
  while true do
    at = skip(s, at)
    if s:sub(at, at) ~= '"' then fail(at, "expected a key") end
    local key
    key, at = read_string(s, at + 1)
    at = s:match("^[ \t\r\n]*:()", at) or fail(at, "expected :")
    object[key], at = value(s, at, depth)
    at = skip(s, at)
    local c = s:sub(at, at)
    if c == "}" then return object, at + 1 end
    if c ~= "," then fail(at, "expected , or }") end
    at = at + 1
  end
end

function value(s, at, depth)
  if depth > 100 then fail(at, "nested too deeply") end
  at = skip(s, at)
  local c = s:sub(at, at)
  if c == "{" then return read_object(s, at + 1, depth + 1) end
  if c == "[" then return read_list(s, at + 1, depth + 1) end
  if c == '"' then return read_string(s, at + 1) end
  for _, literal in ipairs(LITERALS) do
    if s:sub(at, at + #literal[1] - 1) == literal[1] then return literal[2], at + #literal[1] end
  end
  local digits, stop = s:match("^(-?%d[%d.eE+-]*)()", at)
  local v = tonumber(digits)
  if not v then fail(at, "expected a value") end
  return v, stop
end

--- The value of a JSON text; raises a string when it is not one.
function json.decode(s)
  local v, at = value(s, 1, 0)
  if skip(s, at) <= #s then fail(at, "something follows the value") end
  return v
end

return json
