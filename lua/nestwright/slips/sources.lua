--- Finds the code of chunks: of inputs at the prompt, of cells and of files. Also finds the values of the variables in it.
local core = require "nestwright.core"
local locals = require "nestwright.language.locals"
local tokens = require "nestwright.slips.tokens"

local sources = {}

local MOST_CHUNKS = 200 -- the largest number of earlier chunks that are searched for a local variable
local MOST_LEVELS = 200 -- the largest number of stack frames that are searched for the user's code
local MOST_STATEMENT = 120 -- the largest number of bytes of a statement that is shown

local function texts() return package.loaded["nestwright.sources"] or {} end

-- ---- code

-- Returns the path of a file whose name in an error may be cut at its beginning.
local function path_of(name)
  local cut = name:match "^%.%.%.(.+)$"
  local script = type(_G.arg) == "table" and _G.arg[0]
  if cut and type(script) == "string" and script:sub(-#cut) == cut then return script end
  return name
end

--- Returns the code of a chunk, or nil. name: the name of the chunk in errors, such as repl[3] or a path.
function sources.text(name)
  if type(texts()[name]) == "string" then return texts()[name] end
  local readable, text = pcall(core.read_file, "error", path_of(name))
  return readable and text:gsub("^#[^\n]*", "") or nil
end

--- Returns line number n of a text.
function sources.line(text, n)
  for line in (text .. "\n"):gmatch "(.-)\n" do
    n = n - 1
    if n == 0 then return line end
  end
  return ""
end

--- Returns the text from line number n to the end.
function sources.from_line(text, n)
  local at = 1
  for _ = 2, n do at = (text:find("\n", at, true) or #text) + 1 end
  return text:sub(at)
end

-- ---- locals of earlier chunks

-- Returns the statement in which a chunk declares the local variable, without the word `local`.
local function declaration(code, name)
  local t = tokens.of(code)
  for i = 1, #t do
    if tokens.is(t, i, "local") and not tokens.is(t, i + 1, "nil") then
      local last = tokens.line_end(t, i)
      for k = i + 1, last do
        if tokens.is(t, k, name) then
          local text = tokens.source(t, i + 1, last)
          return #text <= MOST_STATEMENT and text or name .. " = ..."
        end
        if tokens.is(t, k, "=") then break end
      end
    end
  end
end

-- Returns the names of the earlier inputs or cells, the latest first.
local function earlier(chunk)
  local out = {}
  for key, text in pairs(texts()) do
    local number = type(key) == "string" and key ~= chunk and tonumber(key:match "^%a+%[(%d+)%]$")
    if number and type(text) == "string" then out[#out + 1] = {name = key, number = number, text = text} end
  end
  table.sort(out, function(a, b) return a.number > b.number end)
  return out
end

--- If an earlier input or cell had a local variable with this name, returns the name of the input and the statement, without
--- `local`.
---@param name string?
---@param chunk string?   the name of the present input or cell, which is not searched
function sources.lost(name, chunk)
  if not name then return nil end
  for n, one in ipairs(earlier(chunk)) do
    if n > MOST_CHUNKS then return nil end
    if one.text:find("local", 1, true) and locals.at_end(one.text .. "\n ")[name] then
      local statement = declaration(one.text, name)
      if statement then return one.name, statement end
    end
  end
end

-- ---- values

-- Returns a field of a table, without running code of the user.
local function field(value, key)
  if type(value) == "table" then return rawget(value, key) end
end

--- Returns the value of a text such as "a.b" whose first name is a global variable.
function sources.global(path)
  local value = _G
  for word in path:gmatch "[^.]+" do value = field(value, word) end
  return value
end

-- Returns whether a local variable or an upvalue of the function at this level has the name, and its value.
local function variable(level, f, name)
  local found, value = false, nil
  for n = 1, MOST_LEVELS do
    local one, of = debug.getlocal(level + 1, n)
    if not one then break end
    if one == name then found, value = true, of end
  end
  for n = 1, found and 0 or MOST_LEVELS do
    local one, of = debug.getupvalue(f, n)
    if not one then break end
    if one == name then return true, of end
  end
  return found, value
end

--- Returns the code of the user that is running, from the line of the present call on; and the name of its chunk. Returns nil if
--- the code is not known.
function sources.running()
  local name, line = core.where()
  local text = name and line and sources.text(name)
  return text and sources.from_line(text, line), name
end

--- Returns the value of a variable in the code of the user that is running.
function sources.value(name)
  local chunk, line = core.where()
  for level = 2, MOST_LEVELS do
    local info = debug.getinfo(level, "Slf")
    if not info then break end
    if info.currentline == line and (info.source:sub(2) == chunk or info.short_src == chunk) then
      local found, value = variable(level, info.func, name)
      if found then return value end
      break
    end
  end
  return sources.global(name)
end

return sources
