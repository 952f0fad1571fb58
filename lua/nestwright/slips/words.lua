--- The slips that are single words: values and commands of other languages. In Lua, such a word is a variable without a value.
local display = require "nestwright.show.display"
local sources = require "nestwright.slips.sources"
local tokens = require "nestwright.slips.tokens"

local words = {}

--- Values of other languages, and what stands for them in Lua.
words.VALUES = {None = "nil", null = "nil", undefined = "nil", nullptr = "nil", True = "true", False = "false"}

-- Commands of other languages and shells.
local COMMANDS = {pass = "do end", ls = 'os.execute "ls"', pwd = 'os.execute "pwd"', clear = 'os.execute "clear"',
  cls = 'os.execute "clear"'}

--- The words that end other programs.
words.LEAVE = {exit = true, quit = true, bye = true}

--- Returns the sentence after a word that should end the program.
function words.leaving()
  if display.front() then return "ends no kernel: restart the kernel or shut it down from the menu" end
  return "is not a word of Lua: press Ctrl-D, or write `os.exit()`"
end

-- Returns the name in a text such as t[0] if the global variable is a list.
local function list_at_zero(text)
  local name = text:match "^([%w_.]+)%[%s*0%s*%]$"
  local list = name and sources.global(name)
  if type(list) == "table" and rawget(list, 0) == nil and rawget(list, 1) ~= nil then return name end
end

--- Returns a sentence about a text that is a whole input and has the value nil, or nil if the text is no slip.
function words.whole(text)
  local name = text:match "^[%a_][%w_]*$"
  if name and words.LEAVE[name] then return ("`%s` %s"):format(name, words.leaving()) end
  if name and words.VALUES[name] then return ("`%s` has no value in Lua: write `%s`"):format(name, words.VALUES[name]) end
  if name and COMMANDS[name] then return ("`%s` is not a command of Lua: write `%s`"):format(name, COMMANDS[name]) end
  local list = list_at_zero(text)
  if list then return ("`%s` is before the first element, because Lua counts from 1: write `%s[1]`"):format(text, list) end
  local from, statement = sources.lost(name)
  if from then return ("`%s` was local to %s and ended with it: write `%s` there, without local"):format(name, from, statement) end
end

-- True if the code may define the name itself: as a local variable, a parameter or a field.
local function is_defined(t, name)
  for i = 1, #t do
    local declares = t[i].kind == "name" and (t[i].text == "local" or t[i].text == "function" or t[i].text == "for")
    for k = i + 1, declares and tokens.line_end(t, i) or i do if tokens.is(t, k, name) then return true end end
    if tokens.is(t, i, name) and tokens.is(t, i + 1, "=") and tokens.starts_statement(t, i) then return true end
  end
  return rawget(_G, name) ~= nil
end

local VALUE_AFTER = {["="] = true, ["("] = true, [","] = true, ["{"] = true, ["return"] = true, ["=="] = true, ["~="] = true}
local FIELD_BEFORE = {["="] = true, ["."] = true, ["("] = true, [":"] = true}

--- Returns a sentence about the first value of another language, such as True, that the code uses as a value, or nil. The code has
--- run without an error, because the name without a value is nil in Lua.
function words.used(code)
  if #code > 1 << 15 or not code:find "%f[%w_][NTFnu][%a]+" then return nil end
  local t
  for name, right in pairs(words.VALUES) do
    if code:find("%f[%w_]" .. name .. "%f[^%w_]") then
      t = t or tokens.of(code)
      for i = 2, #t do
        local used = tokens.is(t, i, name) and VALUE_AFTER[t[i - 1].text] and not FIELD_BEFORE[t[i + 1] and t[i + 1].text or ""]
        if used and not is_defined(t, name) then return ("`%s` has no value in Lua: write `%s`"):format(name, right) end
      end
    end
  end
end

return words
