--- Reads and writes JSON, for saved schedules and sweeps. JSON has objects, arrays, strings, numbers, booleans and null, which is
--- nil in Lua.
local written = require "nestwright.show.written"

local json = {}

local ESCAPES = {['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t"}

local function quote(s)
  return '"' .. s:gsub('[%c"\\]', function(c) return ESCAPES[c] or ("\\u%04x"):format(c:byte()) end) .. '"'
end

local function number(v)
  if v ~= v or v == math.huge or v == -math.huge then return "null" end
  return math.type(v) == "float" and v == 0 and 1 / v < 0 and "-0.0" or written.number(v)
end

local function sorted_keys(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = tostring(key) end
  table.sort(keys)
  return keys
end

--- Returns a value as JSON text. Tables with entries 1..n become arrays. Other tables become objects, with sorted keys.
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
local UNESCAPES = {b = "\b", f = "\f", n = "\n", r = "\r", t = "\t", ['"'] = '"', ["\\"] = "\\", ["/"] = "/"}
local value

local function fail(at, what) error(("not JSON: %s at character %d"):format(what, at), 0) end
local function skip(s, at) return s:match("^[ \t\r\n]*()", at) end

-- Returns the character of an escape sequence, and the next position. Characters above 0xffff are surrogate pairs.
local function escaped(s, at)
  local e = s:sub(at + 1, at + 1)
  if e ~= "u" then return UNESCAPES[e] or fail(at, "unknown escape"), at + 2 end
  local code = tonumber(s:match("^%x%x%x%x", at + 2) or fail(at, "bad \\u escape"), 16)
  if code & 0xf800 ~= 0xd800 then return utf8.char(code), at + 6 end
  local low = tonumber(s:match("^\\u(%x%x%x%x)", at + 6) or "0", 16)
  if code >= 0xdc00 or low & 0xfc00 ~= 0xdc00 then fail(at, "incomplete surrogate pair") end
  return utf8.char(0x10000 + ((code & 0x3ff) << 10 | low & 0x3ff)), at + 12
end

local function read_string(s, at)
  local parts = {}
  while true do
    local plain, stop = s:match('^([^"\\]*)()', at)
    parts[#parts + 1] = plain
    local c = s:sub(stop, stop)
    if c == '"' then return table.concat(parts), stop + 1 end
    if c == "" then fail(at, "unterminated string") end
    parts[#parts + 1], at = escaped(s, stop)
  end
end

local function read_number(s, at)
  local stop = s:match("^-?%d+()", at)
  if not stop then fail(at, "expected a value") end
  if s:find("^-?0%d", at) then fail(at, "a number begins with 0") end
  stop = s:match("^%.%d+()", stop) or stop
  stop = s:match("^[eE][+-]?%d+()", stop) or stop
  local v = tonumber(s:sub(at, stop - 1))
  if v == math.huge or v == -math.huge then fail(at, "a number is too large") end
  return v, stop
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
    local key_at = at
    key, at = read_string(s, at + 1)
    if object[key] ~= nil then fail(key_at, "duplicate key") end
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
  return read_number(s, at)
end

--- Returns the value of a JSON text. Raises an error, which is a string, if the text is not JSON.
function json.decode(s)
  local v, at = value(s, 1, 0)
  if skip(s, at) <= #s then fail(at, "something follows the value") end
  return v
end

return json
