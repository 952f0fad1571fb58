--- Implements completion and inspection. No user code runs here: names are looked up by raw access and in __index tables only. The
--- members of this library's objects are found in their rows.
local complete = {}

local MOST_TEXT = 1 << 13 -- the largest number of bytes before the cursor that are examined, because completion must be fast
local MOST_NAME = 200 -- the largest number of bytes of a name
local MOST_NESTED = 40 -- the deepest nesting of quotes and brackets around the cursor

local blanks = require "nestwright.show.blanks"
local core = require "nestwright.core"
local help = require "nestwright.show.help"
local inside = require "nestwright.inside"
local locals = require "nestwright.language.locals"
local rows = require "nestwright.language.rows"
local signature = require "nestwright.language.signature"
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

-- Returns the stage s[C] of a schedule s, where C is a tensor or a name.
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

-- Returns the position of the quote or brace that is open at the end of the text, and its kind, which is "[" for a long string.
local function open_at(text)
  local stack, at = {}, 1
  while at <= #text do
    local c = text:sub(at, at)
    if c == '"' or c == "'" then
      local stop = at + 1
      while stop <= #text and text:sub(stop, stop) ~= c do
        stop = stop + (text:sub(stop, stop) == "\\" and 2 or 1)
      end
      if stop > #text then return at, c end
      at = stop
    elseif text:find("^%[=*%[", at) then
      local level = text:match("^%[(=*)%[", at)
      local _, stop = text:find("]" .. level .. "]", at, true)
      if not stop then return at, "[" end
      at = stop
    elseif c == "{" or c == "(" then
      stack[#stack + 1] = at
    elseif (c == "}" or c == ")") and #stack > 0 then
      stack[#stack] = nil
    elseif text:sub(at, at + 1) == "--" then
      at = text:find("\n", at, true) or #text
    end
    at = at + 1
  end
  local top = stack[#stack]
  return top, top and text:sub(top, top)
end

-- Returns the receiver and the method (or function) of the call around a position, both as text.
local function callee(before)
  local head = blanks.right(before)
  for _ = 1, MOST_NESTED do
    local at, c = open_at(head)
    if not at then break end
    if c == "(" then head = head:sub(1, at - 1) break end
    head = blanks.right(head:sub(1, at - 1))
    if not head:find "[,({=]$" then break end
  end
  head = blanks.right(head):sub(-MOST_NAME)
  local receiver, method = head:match "([%w_.%[%]\"']+):([%w_]+)$"
  if receiver then return receiver, method end
  return nil, head:match "[%w_.]+$"
end

local function primitive_named(name)
  for _, p in ipairs(core.primitives()) do
    if p.name == name then return p end
  end
end

-- Returns the number of the argument at the end of the text, counted from 1. A list in braces is one argument.
local function place_in_call(text)
  local at, open = open_at(text)
  while open == "{" do
    text = text:sub(1, at - 1)
    at, open = open_at(text)
  end
  if open ~= "(" then return 1 end
  local before = text:sub(at + 1):gsub("%b\"\"", ""):gsub("%b''", ""):gsub("%b()", ""):gsub("%b{}", "")
  return 1 + select(2, before:gsub(",", ""))
end

-- Returns the parameter of a primitive at this position; a list parameter at the end includes all further arguments.
local function param_at(p, place)
  local last
  for _, param in ipairs(p.params) do
    if not param.option then
      if place == 1 then return param end
      place, last = place - 1, param
    end
  end
  return last and last.kind == "list" and last or nil
end

local function schedule_of(value)
  if steps.is_stage(value) then return value.schedule, value.name end
  if debug.getmetatable(value) == core.classes.schedule then return value end
end

local function set_of(list)
  local found = {}
  for _, word in ipairs(list) do found[word] = true end
  return found
end

local function names_of_loops(schedule, stage)
  local found = {}
  for _, loop in ipairs(core.schedule_loops(schedule, stage)) do found[loop.name] = true end
  return found
end

-- Returns the possible values of a parameter of a primitive.
local function words_for(param, schedule, stage)
  if param.choices then
    local found = {}
    for word in param.choices:gmatch "[^|]+" do found[word] = true end
    return found
  end
  local kind = param.kind == "list" and param.item or param.kind
  if kind == "loop" then return names_of_loops(schedule, stage) end
  if kind ~= "stage" and kind ~= "stmt" then return {} end
  local found = set_of(core.schedule_stages(schedule))
  if param.name == "tensor" then
    for _, input in ipairs(inside.signature(schedule).inputs) do found[input.name] = true end
  end
  for name in pairs(kind == "stmt" and names_of_loops(schedule, stage) or {}) do found[name] = true end
  return found
end

local function stages_of(schedule) return set_of(core.schedule_stages(schedule)) end

local function branches_of(schedule)
  local found = {}
  for _, entry in ipairs(core.schedule_log(schedule)) do
    if entry.branch then found[entry.branch] = true end
  end
  return found
end

-- The parameters of methods that are not primitives.
local METHODS = {
  show = function() return set_of(inside.views) end,
  trace = function() return set_of {"lua", "json"} end,
  loop = names_of_loops,
  loops = stages_of,
  moves = names_of_loops,
  locations = stages_of,
  checkout = branches_of,
  diff = branches_of,
  why = function() return set_of {"lowered", "loops"} end,
}

-- Returns the possible strings for an argument of a method of a schedule or a stage.
local function words_of_method(schedule, stage, method, before)
  local p = primitive_named(method)
  if not p then return METHODS[method] and METHODS[method](schedule, stage) or {} end
  local key = blanks.right(before):sub(-MOST_NAME):match "([%a_]+)%s*=$"
  for _, param in ipairs(key and p.params or {}) do
    if param.name == key then return words_for(param, schedule, stage) end
  end
  local place = place_in_call(before)
  if stage and p.params[1] and p.params[1].kind == "stage" then place = place + 1 end
  local param = param_at(p, place)
  return param and words_for(param, schedule, stage) or {}
end

-- Returns the names of dtypes, for functions that have a dtype as argument.
local function words_of_function(name, before)
  local place = place_in_call(before)
  for _, row in ipairs(rows.named(name)) do
    local param = row.class == "nw" and signature.parameters(row.signature)[place]
    if param and param.name == "dtype" then return set_of(core.dtypes()) end
  end
  return {}
end

local function in_quotes(text, at)
  local partial, before = text:sub(at + 1), text:sub(1, at - 1)
  if blanks.right(before):sub(-MOST_NAME):find "require%s*%(?$" then
    local found = {nestwright = true}
    add_keys(found, package.loaded, false)
    add_keys(found, package.preload, false)
    return sorted(found, partial, ""), at + 1
  end
  local receiver, method = callee(before)
  if not receiver and not method then return {}, at + 1 end
  local schedule, stage = schedule_of(receiver and resolve(receiver))
  if schedule then return sorted(words_of_method(schedule, stage, method, before), partial, ""), at + 1 end
  local name = method:match "[%w_]*$"
  if name == "help" then
    local found = {}
    for _, row in ipairs(rows.all()) do found[row.name] = true end
    return sorted(found, partial, ""), at + 1
  end
  return sorted(receiver and {} or words_of_function(name, before), partial, ""), at + 1
end

-- Returns the keys of the options of a method or function, from its row.
local function option_keys(receiver, method)
  local found = {}
  local p = receiver and schedule_of(resolve(receiver)) and primitive_named(method)
  for _, param in ipairs(p and p.params or {}) do
    if param.kind ~= "list" then found[param.name] = true end
  end
  if p then return found end
  for _, row in ipairs(rows.named((method or ""):match "[%w_]*$")) do
    for options in row.signature:gmatch "%b{}" do
      for key in options:gmatch "([%a_]+)%??:" do found[key] = true end
    end
  end
  return found
end

local function in_table(text, at)
  local partial = text:match("[{,;]%s*([%a_]*)$", at)
  if not partial then return nil end
  local receiver, method = callee(text:sub(1, at - 1))
  if not method then return nil end
  return sorted(option_keys(receiver, method), partial, "", " = "), #text - #partial + 1
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

-- Returns the completions after a question mark, which are the user's names and the names of rows.
local function in_question(text)
  local list, start = in_names(text)
  local word = text:sub(start)
  if word:find "[.:]" then return list, start end
  local found = set_of(list)
  for _, row in ipairs(rows.all()) do found[row.name] = true end
  return sorted(found, word, ""), start
end

complete.member, complete.members = raw_index, members

--- Returns a list of the completions at the end of the text, and the position of the word that they replace.
function complete.complete(text)
  if #text > MOST_TEXT then
    local cut = text:find("\n", -MOST_TEXT, true) or #text - MOST_TEXT
    local list, start = complete.complete(text:sub(cut + 1))
    return list, start + cut
  end
  if text:find "^%s*%?" then return in_question(text) end
  local at, open = open_at(text)
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

-- Returns the class of a value. For tables of this library, it is the name of the metatable, if the metatable has methods.
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

-- Returns the source lines of a function from the prompt, a cell, or a file.
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
  return help.text(text), #rows.named(text:match "[^.:]*$") > 0
end

--- Returns help for a name such as "split", "nw.sum" or "s:split", or for a variable, and true if the name is known. For unknown
--- names, the text has similar names. Two question marks, or `detail`, add the source of a function.
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
