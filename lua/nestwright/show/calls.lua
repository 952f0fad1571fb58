--- Finds the call around the end of a text, for completion. It is the function call whose arguments are still incomplete at the end
--- of the text.
local blanks = require "nestwright.show.blanks"

local calls = {}

local MOST_NAME = 200 -- the largest number of bytes of a name
local MOST_NESTED = 40 -- the deepest nesting of quotes and brackets that is examined

--- Returns the position of the innermost quote, brace or parenthesis that is open at the end of the text, and its character. The
--- character is "[" for a long string. Returns nil if nothing is open.
function calls.open_at(text)
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

-- Returns the text of the receiver and the name of the method of the call around the end of a text. For the call of a function,
-- returns nil and the text of the function. Returns nil if there is no call.
local function callee(before)
  local head = blanks.right(before)
  for _ = 1, MOST_NESTED do
    local at, c = calls.open_at(head)
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

-- Returns the value of the first argument of the call around the end of a text, if another argument follows: a text in quotes is
-- the text itself.
local function first_argument(before, resolve)
  local at, open = calls.open_at(before)
  local text = open == "(" and before:sub(at + 1):match "^%s*([^,%s]+)%s*,"
  if not text then return nil end
  return text:match "^\"([^\"]*)\"$" or text:match "^'([^']*)'$" or resolve(text)
end

--- Returns the call around the end of a text: {name (of the method or function), method (true if there is a colon), on (the value
--- before the colon), value (the function), first (the first argument, if others follow)}. `on`, `value` and `first` are nil if
--- they are not known. Returns nil if there is no call.
---@param resolve fun(text: string): any             the value of a text such as "a.b"
---@param member fun(value: any, key: string): any   a member of a value
function calls.around(before, resolve, member)
  local receiver, method = callee(before)
  if not method then return nil end
  local on = receiver and resolve(receiver)
  local value
  if not receiver then value = resolve(method) elseif on ~= nil then value = member(on, method) end
  local first = first_argument(before, resolve)
  return {name = method:match "[%w_]*$", method = receiver ~= nil, on = on, value = value, first = first}
end

--- Returns the number of the argument at the end of the text, counted from 1. A list in braces is one argument.
function calls.place(text)
  local at, open = calls.open_at(text)
  while open == "{" do
    text = text:sub(1, at - 1)
    at, open = calls.open_at(text)
  end
  if open ~= "(" then return 1 end
  local before = text:sub(at + 1):gsub("%b\"\"", ""):gsub("%b''", ""):gsub("%b()", ""):gsub("%b{}", "")
  return 1 + select(2, before:gsub(",", ""))
end

return calls
