--- Explains why the last line of an input has the result nil. In Lua, a misspelt name is not an error, but has the value nil.
local blanks = require "nestwright.show.blanks"
local complete = require "nestwright.show.complete"
local core = require "nestwright.core"
local help = require "nestwright.show.help"
local words = require "nestwright.slips.words"

local lost = {}

-- Returns the expression in the last line, without a comment.
local function last_line(code)
  local line = blanks.right(code):match "[^\n]*$"
  line = blanks.right(line:gsub("%-%-.*", ""))
  return blanks.right(line:gsub(";$", "")):match "^%s*=?%s*(.*)$"
end

-- True if the same input sets the name. Then nil may be the value that the user gave it.
local function is_set(code, name)
  return code:find("%f[%w_]" .. name .. "%f[^%w_]%s*=%f[^=]") or code:find("local[^\n=]-%f[%w_]" .. name .. "%f[^%w_]")
end

local SHORT = 3 -- names with fewer letters are similar to too many other names

local function near(name, value)
  if #name < SHORT then return nil end
  local names = {}
  for key in pairs(complete.members(value, false)) do names[#names + 1] = key end
  table.sort(names)
  return core.nearest(name, names)
end

-- Finds the first word without a value in a path such as "a.b.c". If it is the last word of the path, returns the word, the path
-- before the word, and the value of that path. Otherwise, returns nil.
local function missing(path)
  local value, before = _G, ""
  for word, more in path:gmatch "([^.]+)(%.?)" do
    local found = complete.member(value, word)
    if found == nil then
      if more ~= "" then return nil end
      return word, before, value
    end
    value, before = found, before == "" and word or before .. "." .. word
  end
end

local function of_path(code, path)
  local word, before, value = missing(path)
  if not word or before == "" and is_set(code, word) then return nil end
  local known = near(word, value)
  local hint = known and ("; did you mean '%s'?"):format(before == "" and known or before .. "." .. known)
    or help.is_object(value) and ("; nw.help(%s) lists its methods and fields"):format(before)
  if before ~= "" then return ("nil: %s has no field %s%s"):format(before, word, hint or "") end
  return ("nil: %s was never given a value%s"):format(word, hint or "")
end

local function without_inside(text)
  return (text:gsub("%b()", ""):gsub("%b[]", ""):gsub("%b{}", ""):gsub('%b""', ""):gsub("%b''", ""))
end

--- For an input whose result is nil, returns a text that names the variable or field without a value. Returns nil if there is
--- another reason, for example a call that returned nil.
function lost.text(code)
  local line = last_line(code)
  local name = line:match "^[%a_][%w_]*$"
  local slip = not (name and is_set(code, name)) and words.whole(line)
  if slip then return slip end
  if line:find "^[%a_][%w_]*[%w_.]*$" and line ~= "nil" then return of_path(code, line) end
  local before, word = line:match "^(.+)%.([%a_][%w_]*)$"
  if before and without_inside(before):find "^[%w_.:]+$" then return ("nil: %s has no field %s"):format(before, word) end
  return nil
end

return lost
