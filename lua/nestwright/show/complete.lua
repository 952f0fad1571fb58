--- Implements completion and inspection. A name is looked up by raw access and in __index tables only, so that the look-up runs no
--- code of the user. The members of this library's objects are found in their rows.
local complete = {}

local MOST_TEXT = 1 << 13 -- the largest number of bytes before the cursor that are examined, because completion must be fast
local MOST_NAME = 200 -- the largest number of bytes of a name

local arguments = require "nestwright.show.arguments"
local blanks = require "nestwright.show.blanks"
local calls = require "nestwright.show.calls"
local core = require "nestwright.core"
local help = require "nestwright.show.help"
local locals = require "nestwright.language.locals"
local rows = require "nestwright.language.rows"
local steps = require "nestwright.language.steps"

local KEYWORDS = {
  "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in", "local", "nil", "not", "or",
  "repeat", "return", "then", "true", "until", "while",
}

-- ---- following names

local function raw_index(value, key)
  for _ = 1, 10 do
    if type(value) == "table" then
      local found = rawget(value, key)
      if found ~= nil then return found end
    end
    local meta = debug.getmetatable(value)
    if type(meta) ~= "table" then return nil end
    if type(rawget(meta, "__methods")) == "table" then return rawget(meta.__methods, key) end
    value = rawget(meta, "__index")
    if type(value) ~= "table" then return nil end
  end
end

-- Returns the stage s[C] of a schedule s, where C is a tensor or a name. Returns nil if s is not a schedule.
local function stage_of(schedule, key)
  local meta = debug.getmetatable(schedule)
  if meta ~= core.classes.schedule then return nil end
  local tensor = debug.getmetatable(key) == core.classes.tensor
  return steps.stage(schedule, tensor and key.name or type(key) == "string" and key or "?")
end

--- Returns the value of a text such as "a.b.c" or "s[C]", or nil.
local function resolve(text)
  local receiver, key = text:match "^(.-)%[([^%[%]]+)%]$"
  if receiver then
    local name = key:match "^[\"'](.*)[\"']$"
    return stage_of(resolve(receiver), name or resolve(key))
  end
  local value = _G
  for word in text:gmatch "[^.:]+" do
    value = raw_index(value, word)
    if value == nil then return nil end
  end
  return value
end

-- ---- members of a value

local function add_keys(found, t, functions_only)
  for key, value in next, t do
    if type(key) == "string" and key:find "^[%a][%w_]*$" and (not functions_only or type(value) == "function") then
      found[key] = true
    end
  end
end

local function members(value, functions_only)
  local found = {}
  for _ = 1, 10 do
    if type(value) == "table" then add_keys(found, value, functions_only) end
    local meta = debug.getmetatable(value)
    if type(meta) ~= "table" then break end
    if type(rawget(meta, "__methods")) == "table" then
      add_keys(found, meta.__methods, true)
      if not functions_only then add_keys(found, meta.__fields, false) end
      break
    end
    value = rawget(meta, "__index")
    if type(value) ~= "table" then break end
  end
  return found
end

local function sorted(found, partial, before, after)
  local list = {}
  for word in pairs(found) do
    if word:sub(1, #partial) == partial then list[#list + 1] = before .. word .. (after or "") end
  end
  table.sort(list)
  return list
end

-- ---- inside quotes and tables

-- Returns the words that may be in the quotes that are open at `at`, and the position after the quote. The third result is true if
-- any other text may be there too, such as the name of a file.
local function in_quotes(text, at)
  local partial, before = text:sub(at + 1), text:sub(1, at - 1)
  if blanks.right(before):sub(-MOST_NAME):find "require%s*%(?$" then
    local found = {nestwright = true}
    add_keys(found, package.loaded, false)
    add_keys(found, package.preload, false)
    return sorted(found, partial, ""), at + 1, false
  end
  local call = calls.around(before, resolve, raw_index)
  if not call then return {}, at + 1, true end
  local found, free = arguments.words(call, before)
  return sorted(found, partial, ""), at + 1, free
end

local function in_table(text, at)
  local partial = text:match("[{,;]%s*([%a_]*)$", at)
  local call = partial and calls.around(text:sub(1, at - 1), resolve, raw_index)
  if not call then return nil end
  return sorted(arguments.options(call), partial, "", " = "), #text - #partial + 1
end

-- ---- names

local function in_names(text)
  local tail = text:sub(-MOST_NAME)
  local word = tail:match "[%w_.:%[%]\"']*$"
  if word:find "[%[\"']" then word = tail:match "[%a_][%w_.]*%[[^%[%]]*%][.:][%w_]*$" or tail:match "[%w_.:]*$" end
  local start = #text - #word + 1
  local path, separator, partial = word:match "^(.-)([.:])([%w_]*)$"
  if not path then
    local found = members(_G, false)
    for name in pairs(locals.at_end(text)) do found[name] = true end
    for _, keyword in ipairs(KEYWORDS) do found[keyword] = true end
    return sorted(found, word, ""), start
  end
  local value = resolve(path)
  if value == nil then return {}, start end
  return sorted(members(value, separator == ":"), partial, path .. separator), start
end

-- Returns the completions of a question such as `?spl`, and the position of the word that they replace. The completions are names
-- of the user, topics of the help and names of rows.
local function in_question(text)
  local list, start = in_names(text)
  local word = text:sub(start)
  if word:find "[.:]" then return list, start end
  local found = {}
  for _, name in ipairs(list) do found[name] = true end
  for _, name in ipairs(help.words()) do found[name] = true end
  return sorted(found, word, ""), start
end

complete.member, complete.members = raw_index, members

--- Returns a list of the completions at the end of the text, and the position of the word that they replace. The third result is
--- true if the name of a file may be there too.
function complete.complete(text)
  if #text > MOST_TEXT then
    local cut = text:find("\n", -MOST_TEXT, true) or #text - MOST_TEXT
    local list, start, files = complete.complete(text:sub(cut + 1))
    return list, start + cut, files
  end
  if text:find "^%s*%?" then return in_question(text) end
  local at, open = calls.open_at(text)
  if open == "[" then return {}, #text + 1 end
  if open == '"' or open == "'" then return in_quotes(text, at) end
  if open == "{" then
    local list, start = in_table(text, at)
    if list and #list > 0 then return list, start end
  end
  return in_names(text)
end

-- ---- inspection

local CLASS_OF = {}
for name, meta in pairs(core.classes) do CLASS_OF[meta] = name end

-- Returns the class of a value. The class of a table of this library is the name of the table's metatable, if the metatable has
-- methods. Returns nil for a value without a class.
local function class_of(value)
  local meta = debug.getmetatable(value)
  if CLASS_OF[meta] or type(meta) ~= "table" or not rawget(meta, "__methods") then return CLASS_OF[meta] end
  return tostring(rawget(meta, "__name")):match "^nestwright%.(.*)$"
end

local function describe_value(text, value)
  local class = class_of(value)
  local shown = tostring(value)
  local out = {("%s: %s"):format(text, class or type(value)), (shown:gsub("([^\n]+)", "  %1"))}
  if class then
    local names = sorted(members(value, false), "", "")
    if #names > 0 then out[#out + 1] = "  has " .. table.concat(names, " ") end
  end
  return table.concat(out, "\n")
end

local function text_of_file(path)
  local readable, text = pcall(core.read_file, "help", path)
  return readable and text or nil
end

-- Returns the source lines of a function from the prompt, a cell, or a file. Returns nil if they are not known.
local function source_of(value)
  local info = type(value) == "function" and debug.getinfo(rows.written(value), "S")
  if not info or info.what == "C" then return nil end
  local kind, name = info.source:sub(1, 1), info.source:sub(2)
  local text = kind == "=" and (package.loaded["nestwright.sources"] or {})[name] or kind == "@" and text_of_file(name)
  if not text then return nil end
  local lines, n = {}, 0
  for line in (text .. "\n"):gmatch "(.-)\n" do
    n = n + 1
    if n >= info.linedefined and n <= info.lastlinedefined then lines[#lines + 1] = "  " .. line end
  end
  return ("%s:%d\n%s"):format(name, info.linedefined, table.concat(lines, "\n"))
end

local function explained(text, value)
  local row = type(value) == "function" and rows.of(value)
  if row then return help.describe(row), true end
  if help.modules[text:match "^nw%.(%w+)$"] then return help.text(text), true end
  if value ~= nil and value ~= _G then return describe_value(text, value), true end
  return help.text(text), help.knows(text)
end

--- Returns help for a name such as "split", "nw.sum" or "s:split", or for a variable. The second result is true if the name is
--- known. The help for an unknown name gives similar names. If the text has two question marks, or `detail` is true, the help
--- contains the source of a function.
function complete.inspect(text, detail)
  detail = detail or text:find "^%s*%?%?" or blanks.right(text):find "%?%?$"
  text = text:match "^[%s?]*([^%s?].*)$" or ""
  text = text:match "^(.*[^%s?])" or ""
  if text == "" or text == "nw" then return help.text(nil), true end
  if #text > MOST_NAME then return ("no name has %d bytes"):format(#text), false end
  local value = resolve(text)
  local answer, known = explained(text, value)
  local source = detail and source_of(value)
  return source and answer .. "\n" .. source or answer, known
end

return complete
