--- The slips that Lua reads, but that then fail: names and methods of other languages, and variables that are gone. A row has a
--- name, a function and the words of a sentence. find(c) returns the slip and its right form, or nil. If the row has no words, the
--- second result is the sentence after the slip. c describes Lua's own error: what (what was attempted), kind and name (of the
--- value that was nil or wrong, such as global and range), value (its type), t (the tokens of the code), line (of the error) and
--- chunk (its name).
local blocks = require "nestwright.slips.blocks"
local sources = require "nestwright.slips.sources"
local tokens = require "nestwright.slips.tokens"
local words = require "nestwright.slips.words"

local is, source = tokens.is, tokens.source

local rows = {}
local function row(name, say, find) rows[#rows + 1] = {name = name, say = say, find = find} end

-- ---- the place of the error

-- Iterates over the numbers of the tokens in the line of the error that have this text.
local function places(c, text)
  local i = 0
  return function()
    repeat i = i + 1 until not c.t[i] or c.t[i].line == c.line and is(c.t, i, text)
    return c.t[i] and i
  end
end

-- Returns the number of the name that is called without a value, the number of the last token of the call, and the text of the
-- arguments. Returns nil if the error is another one.
local function nil_call(c)
  if c.what ~= "call" or c.kind ~= "global" then return nil end
  for i in places(c, c.name) do
    local close = is(c.t, i + 1, "(") and tokens.closer(c.t, i + 1)
    if close then return i, close, source(c.t, i + 2, close - 1) end
    if c.t[i + 1] and c.t[i + 1].kind == "string" then return i, i + 1, c.t[i + 1].text end
  end
end

-- ---- variables

row("local of another chunk", nil, function(c)
  if c.kind ~= "global" then return nil end
  local from, statement = sources.lost(c.name, c.chunk)
  if not from then return nil end
  return c.name, ("was local to %s and ended with it: write `%s` there, without local"):format(from, statement)
end)

row("None, True", "has no value in Lua", function(c)
  if c.kind == "global" then return c.name, words.VALUES[c.name] end
end)

row("comment", "is a comment in Python", function(c)
  local text = c.what == "get length of" and c.kind == "global" and sources.line(c.t.text, c.line):match "^%s*(#.*)$"
  if text then return text, "--" .. text:sub(2) end
end)

row("index 0", "is before the first element, because Lua counts from 1", function(c)
  if c.name ~= "?" and c.name ~= "integer index" then return nil end
  for i in places(c, "[") do
    local zero = c.t[i + 1] and c.t[i + 1].text == "0" and is(c.t, i + 2, "]")
    local name = zero and i > 1 and source(c.t, tokens.operand_start(c.t, i - 1), i - 1)
    local list = name and sources.global(name)
    if type(list) == "table" and rawget(list, 0) == nil and rawget(list, 1) ~= nil then return name .. "[0]", name .. "[1]" end
  end
end)

-- ---- functions of other languages

row("string with f", "is Python, but a string of Lua has the method format", function(c)
  if c.name ~= "f" or c.what ~= "call" then return nil end
  for i in places(c, "f") do
    local string = c.t[i + 1]
    if string and string.kind == "string" and string.from == c.t[i].to + 1 then
      local values = {}
      local text = string.text:gsub("{([^{}]*)}", function(inside)
        local value, format = inside:match "^(.-):([%w.]*)$"
        values[#values + 1] = value or inside
        return "%" .. (format and format:find "[a-z]$" and format or (format or "") .. "s")
      end)
      return "f" .. string.text, ("(%s):format(%s)"):format(text, table.concat(values, ", "))
    end
  end
end)

row("range in for", "is Python's loop", function(c)
  local i, close = nil_call(c)
  if c.name ~= "range" and c.name ~= "enumerate" or not i then return nil end
  local t, k = c.t, i
  while k > 1 and not is(t, k, "for") and not t[k].first do k = k - 1 end
  if not is(t, k, "for") or not is(t, i - 1, "in") or not is(t, close + 1, "do") then return nil end
  local stop = tokens.block_end(t, close + 1)
  local body = stop and source(t, close + 2, stop - 1) or ""
  if #body > 80 then body = "print(i)" end
  return source(t, k, close + 1), ("%s do %s end"):format(blocks.loop(t, source(t, k + 1, i - 2), i, close), body)
end)

-- The Lua code that replaces a call of a function of another language; %s is the text of the arguments.
local CALLS = {len = "#%s", str = "tostring(%s)", int = "math.floor(%s)", float = "tonumber(%s)", enumerate = "ipairs(%s)",
  dir = "nw.help(%s)", chr = "string.char(%s)", ord = "string.byte(%s)", eval = "load(%s)", exec = "load(%s)", echo = "print(%s)",
  input = "io.read(%s)"}

row("function of another language", "is not a function of Lua", function(c)
  local i, close, args = nil_call(c)
  if not i or not CALLS[c.name] then return nil end
  args = args:gsub("([%w_]+)%.shape%f[^%w_]%f[^(]", "%1:shape()")
  if c.name == "len" and not args:find "^[%w_.:%[%]()]+$" then args = "(" .. args .. ")" end
  return source(c.t, i, close), (CALLS[c.name]:gsub("%%s", (args:gsub("%%", "%%%%"))))
end)

row("exit", nil, function(c)
  local i, close = nil_call(c)
  if i and words.LEAVE[c.name] then return source(c.t, i, close), words.leaving() end
end)

row("try", "is Python, but pcall catches an error in Lua", function(c)
  if c.what ~= "index" or c.name ~= "try" then return nil end
  for i in places(c, "try") do
    local last = tokens.line_end(c.t, i)
    if is(c.t, i + 1, ":") and last > i + 1 then
      return "try:", ("ok, problem = pcall(function() %s end)"):format(source(c.t, i + 2, last))
    end
  end
end)

row("printf", "is C", function(c)
  local i, close = nil_call(c)
  local first = (c.name == "printf" or c.name == "fprintf") and i and tokens.parts(c.t, i + 2, close - 1)[1]
  if not first then return nil end
  local rest = source(c.t, first[2] + 2, close - 1)
  return source(c.t, i, close), ("io.write((%s):format(%s))"):format(source(c.t, first[1], first[2]), rest)
end)

local LIBRARIES = {"nw", "math", "table", "string"}

row("function of a library", nil, function(c)
  local i, close = nil_call(c)
  for _, library in ipairs(i and LIBRARIES or {}) do
    local holder = library == "nw" and package.loaded.nestwright or package.loaded[library]
    if type(rawget(holder, c.name)) == "function" then
      return source(c.t, i, close), ("is a function of %s: write `%s.%s`"):format(library, library, source(c.t, i, close))
    end
  end
end)

-- Modules of Python whose functions are those of nw.
local MODULES = {}
for word in ("np numpy torch tvm te tir topi tf jnp jax cp pd hl"):gmatch "%a+" do MODULES[word] = true end

-- Functions of TVM that are methods of a schedule in this library.
local OF_SCHEDULE = {build = "build()", lower = "show()"}

row("module of Python", "is Python, but nw has this function", function(c)
  if c.what ~= "index" or not MODULES[c.name] then return nil end
  for i in places(c, c.name) do
    local at = is(c.t, i + 1, ".") and c.t[i + 2] and i + 2
    if at and MODULES[c.t[at].text] and is(c.t, at + 1, ".") and c.t[at + 2] then at = at + 2 end
    local close = at and is(c.t, at + 1, "(") and tokens.closer(c.t, at + 1)
    local member = close and c.t[at].text
    local method, first = OF_SCHEDULE[member], close and tokens.parts(c.t, at + 2, close - 1)[1]
    if method and first then return source(c.t, i, close), ("%s:%s"):format(source(c.t, first[1], first[2]), method) end
    local nw = package.loaded.nestwright
    local holder = member and (rawget(nw, member) and "nw" or nw.te[member] and "nw.te")
    if holder then return source(c.t, i, close), ("%s.%s"):format(holder, source(c.t, at, close)) end
  end
end)

row("console.log", "is JavaScript", function(c)
  if c.what ~= "index" or c.name ~= "console" then return nil end
  for i in places(c, "console") do
    local close = is(c.t, i + 3, "(") and tokens.closer(c.t, i + 3)
    if close then return source(c.t, i, close), ("print(%s)"):format(source(c.t, i + 4, close - 1)) end
  end
end)

-- ---- methods of other languages

-- Methods of Python's lists, strings and dictionaries. %1 is the object, %2 the arguments.
local METHODS = {append = "table.insert(%1, %2)", push = "table.insert(%1, %2)", pop = "table.remove(%1)", sort = "table.sort(%1)",
  insert = "table.insert(%1, %2)", extend = "table.move(%2, 1, #%2, #%1 + 1, %1)", items = "pairs(%1)", keys = "pairs(%1)",
  length = "#%1", size = "#%1", strip = '%1:match "^%s*(.-)%s*$"', startswith = "(%1:sub(1, #%2) == %2)", replace = "%1:gsub(%2)"}

row("method of another language", "is not a method in Lua", function(c)
  local form = c.what == "call" and (c.kind == "field" or c.kind == "method") and METHODS[c.name]
  for i in places(c, form and c.name) do
    local close = i > 2 and is(c.t, i + 1, "(") and tokens.closer(c.t, i + 1)
    if form and close and (is(c.t, i - 1, ".") or is(c.t, i - 1, ":")) then
      local start = tokens.operand_start(c.t, i)
      local object, args = source(c.t, start, i - 2), source(c.t, i + 2, close - 1)
      return source(c.t, start, close), (form:gsub("%%([12])", {["1"] = object, ["2"] = args}))
    end
  end
end)

row("method without a call", "is a method, which needs a colon and parentheses", function(c)
  if c.value ~= "function" or c.kind ~= "field" then return nil end
  for i in places(c, c.name) do
    if is(c.t, i - 1, ".") then
      local start = tokens.operand_start(c.t, i)
      return source(c.t, start, i), ("%s:%s()"):format(source(c.t, start, i - 2), c.name)
    end
  end
end)

row("method of a string", "needs a colon", function(c)
  if c.what ~= "argument" or not rawget(package.loaded.string, c.name) then return nil end
  for i in places(c, c.name) do
    local close = i > 2 and is(c.t, i - 1, ".") and is(c.t, i + 1, "(") and tokens.closer(c.t, i + 1)
    local start = close and tokens.operand_start(c.t, i)
    if start and source(c.t, start, i - 2) ~= "string" then
      return source(c.t, start, close), ("%s:%s"):format(source(c.t, start, i - 2), source(c.t, i, close))
    end
  end
end)

-- ---- strings

-- Returns the operands of the first operator with this text that has a string beside it: the numbers of their first and last
-- tokens.
local function operands(c, mark)
  for i in places(c, mark) do
    local left, right = c.t[i - 1], c.t[i + 1]
    local number = not left and true or left.kind == "number" or right and right.kind == "number"
    if left and right and (left.kind == "string" or right.kind == "string") and not (number and mark == "+") then
      return tokens.operand_start(c.t, i - 1), i, tokens.operand_end(c.t, i + 1)
    end
  end
end

row("string + string", "adds numbers, but strings are joined with two dots", function(c)
  local i, at, j
  if c.what == "perform arithmetic on" and c.value == "string" then i, at, j = operands(c, "+") end
  if i then return source(c.t, i, j), ("%s .. %s"):format(source(c.t, i, at - 1), source(c.t, at + 1, j)) end
end)

row("string % value", "is Python, but a string of Lua has the method format", function(c)
  local i, at, j
  if c.what == "perform arithmetic on" and c.value == "string" then i, at, j = operands(c, "%") end
  if i then return source(c.t, i, j), ("(%s):format(%s)"):format(source(c.t, i, at - 1), source(c.t, at + 1, j)) end
end)

return rows
