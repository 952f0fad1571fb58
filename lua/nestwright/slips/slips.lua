--- Explains the commonest slips of people who know other languages. A slip gets one sentence, which names it and shows the right
--- form. The tables of slips are grammar.lua (code that Lua cannot read), running.lua (errors while the code runs), words.lua
--- (words without a value) and arguments.lua (arguments of the library's functions).
local sources = require "nestwright.slips.sources"
local tokens = require "nestwright.slips.tokens"

local slips = {}

local MOST_CODE = 1 << 18 -- the largest number of bytes of code that is examined

-- ---- errors of Lua

-- Returns the code without a leading "=", which the prompt accepts before an expression.
local function without_equals(code) return (code:gsub("^(%s*)=", "%1 ")) end

-- True if this message is Lua's reason why it cannot read the code.
local function is_unread(code, message)
  local chunk, why = load(code, "=code", "t")
  return not chunk and why:match "^code:%d+: (.*)$" == message
end

-- Returns the parts of a message of Lua that says what was wrong with a value, or nil.
local function wrong_value(message)
  local what, value, kind, name = message:match "^attempt to (.-) an? (%a+) value %((%a+) '(.*)'%)$"
  if what then return {what = what, value = value, kind = kind, name = name} end
  local left, right = message:match "^attempt to %a+ an? '(%a+)' with an? '(%a+)'$"
  if left then return {what = "perform arithmetic on", value = (left == "string" or right == "string") and "string" or left} end
  what, value = message:match "^attempt to (.-) an? (%a+) value"
  if what then return {what = what, value = value} end
  name = message:match "^bad argument #1 to '([%w_]+)' %(string expected, got "
  return name and {what = "argument", name = name, value = "string"}
end

local function of_running(code, message, line, chunk)
  local c = wrong_value(message)
  if not c then return nil end
  c.t, c.line, c.chunk = tokens.of(code), line, chunk
  for _, row in ipairs(require "nestwright.slips.running") do
    local slip, right = row.find(c)
    if slip and right then
      return row.say and ("`%s` %s: write `%s`"):format(slip, row.say, right) or ("`%s` %s"):format(slip, right)
    end
  end
end

--- Returns the text of an error of Lua in which a sentence about a slip replaces Lua's message. Returns nil if the error is no
--- known slip.
function slips.of_error(text)
  local chunk, number, message = text:match "^([^\n]-):(%d+): ([^\n]*)"
  local code = chunk and sources.text(chunk)
  if not code or #code > MOST_CODE then return nil end
  code = without_equals(code)
  if is_unread(code, message) then
    local sentence, line = require "nestwright.slips.repair".explain(code)
    return sentence and ("%s:%d: %s"):format(chunk, line, sentence)
  end
  local sentence = of_running(code, message, tonumber(number), chunk)
  return sentence and ("%s:%s: %s"):format(chunk, number, sentence)
end

-- ---- input that is not finished

-- True if the code calls range, which has no value, at the beginning of a block of Python.
local function begins_python(code)
  return rawget(_G, "range") == nil and code:find "^%s*for%s[^\n]*%sin%s+range%s*%b()%s*:" ~= nil
end

local BLOCKS = {["for of Python"] = true, ["if of Python"] = true, ["while of Python"] = true, try = true, ["for of C"] = true,
  ["if of C"] = true, ["while of C"] = true}

--- True if an unfinished input is a slip, and the user does not continue it: because no continuation can be run, or because the
--- last line is blank, which ends a block of Python.
function slips.ends(code)
  if begins_python(code) then return true end
  if not code:find "\n[ \t]*$" or not code:find ":[ \t]*[\n%w]" and not code:find "%)%s*{" then return false end
  local _, _, name = require "nestwright.slips.repair".explain(code)
  return BLOCKS[name] == true
end

return slips
