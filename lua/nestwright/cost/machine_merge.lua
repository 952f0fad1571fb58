--- Merges a machine record into the record that it extends, and tracks the source of each number.
local errors = require "nestwright.language.errors"

local merge = {}

local DEPTH = 6 -- the largest depth of nested tables

-- ---- paths

local function path_of(prefix, key)
  if math.type(key) == "integer" then return ("%s[%d]"):format(prefix, key) end
  return prefix == "" and tostring(key) or ("%s.%s"):format(prefix, tostring(key))
end

--- Calls f(path, value) for every value in nested tables that is not a table.
function merge.each(t, f, prefix, depth)
  prefix, depth = prefix or "", depth or 1
  if depth > DEPTH then errors.fail("invalid", nil, "machine: %s: tables are nested deeper than any field", prefix) end
  for key, value in pairs(t) do
    local path = path_of(prefix, key)
    if type(value) == "table" then merge.each(value, f, path, depth + 1) else f(path, value) end
  end
end

--- Builds nested tables from a list of {path, value}.
function merge.nested(list)
  local out = {}
  for _, field in ipairs(list) do
    local at, last = out, nil
    for part in field.path:gmatch "[^%.%[%]]+" do
      local key = math.tointeger(part) or part
      if last then
        at[last] = at[last] or {}
        at = at[last]
      end
      last = key
    end
    at[last] = field.value
  end
  return out
end

-- ---- values

-- Returns the values of a record that extends another. A list replaces the whole list of the other record. In any other table, a
-- field that is not set has the value of the other record.
function merge.values(base, own)
  if type(base) ~= "table" or type(own) ~= "table" or #own > 0 or #base > 0 then return own end
  local out = {}
  for key, value in pairs(base) do out[key] = value end
  for key, value in pairs(own) do out[key] = merge.values(out[key], value) end
  return out
end

-- ---- sources

--- True if a path begins with these parts.
function merge.begins(path, beginning)
  if beginning == "" or path == beginning then return true end
  return path:sub(1, #beginning) == beginning and path:find("^[%.%[]", #beginning + 1) ~= nil
end

--- Returns the source of a path: the text whose key is the longest prefix of the path.
function merge.cited(sources, path)
  local best, text = -1, nil
  for key, value in pairs(sources) do
    if #key > best and merge.begins(path, key) then best, text = #key, value end
  end
  return text
end

-- Returns the most frequent source of a list of fields. If several are equally frequent, returns the first in alphabetical order.
local function commonest(fields)
  local count, best = {}, nil
  for _, f in ipairs(fields) do
    local n = (count[f.source] or 0) + 1
    count[f.source] = n
    if not best or n > count[best] or n == count[best] and f.source < best then best = f.source end
  end
  return best
end

-- Returns the prefix of a path that is one part longer than the given prefix. For example, the result is "ops.fma" for the path
-- "ops.fma.latency" and the prefix "ops".
local function longer(path, prefix)
  local stop = path:find("[%.%[]", #prefix + 2)
  return stop and path:sub(1, stop - 1) or path
end

local function by_part(fields, prefix)
  local groups, order = {}, {}
  for _, f in ipairs(fields) do
    local key = longer(f.path, prefix)
    if key ~= prefix then
      if not groups[key] then groups[key], order[#order + 1] = {}, key end
      table.insert(groups[key], f)
    end
  end
  return groups, order
end

--- Compresses a list of {path, source} to a table of sources whose keys are prefixes of paths. Each prefix has the most frequent
--- source of its fields, so the table has few entries.
function merge.brief(fields, prefix, inherited, out)
  prefix, out = prefix or "", out or {}
  local source = commonest(fields)
  if source ~= inherited then out[prefix] = source end
  local groups, order = by_part(fields, prefix)
  for _, key in ipairs(order) do merge.brief(groups[key], key, source, out) end
  return out
end

return merge
