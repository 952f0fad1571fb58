--- The slips in the arguments of the library's functions: a dot in place of a colon, variables without a value, and brackets that
--- make a string. The functions return a sentence, or nil if the argument is no known slip.
local core = require "nestwright.core"
local sources = require "nestwright.slips.sources"
local tokens = require "nestwright.slips.tokens"
local words = require "nestwright.slips.words"

local is, source = tokens.is, tokens.source
local arguments = {}

local MOST_CODE = 4000 -- the largest number of bytes of code in which a call is searched
local MOST_SHOWN = 160 -- the largest number of bytes of a call that is shown

-- ---- calls

-- Returns the tokens of the code that is running, from the present line on, and the number of tokens in the present line.
local function running()
  local t = tokens.of((sources.running() or ""):sub(1, MOST_CODE))
  local last = 0
  while t[last + 1] and t[last + 1].line == 1 do last = last + 1 end
  return t, last
end

-- Returns the calls of a function that begin in the present line: the numbers of the tokens of the name, of the first token of the
-- receiver, and of the last token; the separator; and the first and last tokens of each argument. Also returns the tokens.
local function calls_of(name)
  local out, t, last = {}, running()
  for i = 3, last do
    local open = is(t, i, name) and (is(t, i - 1, ".") or is(t, i - 1, ":")) and t[i + 1]
    if open and open.text == "(" and open.kind == "mark" then
      local close = tokens.closer(t, i + 1)
      if close then
        out[#out + 1] = {at = i, first = tokens.operand_start(t, i), last = close, separator = t[i - 1].text,
          args = tokens.parts(t, i + 2, close - 1)}
      end
    elseif open and (open.kind == "string" or open.text == "{") then
      local close = open.kind == "string" and i + 1 or tokens.closer(t, i + 1) or i + 1
      out[#out + 1] = {at = i, first = tokens.operand_start(t, i), last = close, separator = t[i - 1].text, args = {{i + 1, close}}}
    end
  end
  return out, t
end

local function short(text) return #text <= MOST_SHOWN and text or nil end

-- ---- sentences

--- For a method that was called without its object. Returns a sentence if the code has a dot where it needs a colon. In
--- table.unpack(t), for example, the dot belongs there.
function arguments.dot(name)
  local calls, t = calls_of(name)
  for _, call in ipairs(calls) do
    local object = source(t, call.first, call.at - 2)
    if call.separator == "." and not package.loaded[object] then
      local rest = source(t, call.at, call.last)
      if not short(rest) then rest = name .. "(...)" end
      return ("`%s.%s` has a dot: call it with a colon, `%s:%s`"):format(object, rest, object, rest)
    end
  end
end

-- Returns the text of a call in which the argument has another text.
local function with(t, call, part, text)
  local from, to = t[call.first].from, t[call.last].to
  return t.text:sub(from, t[part[1]].from - 1) .. text .. t.text:sub(t[part[2]].to + 1, to)
end

-- Returns a sentence about a variable without a value, and whether it shows a right form. call, part: the call and the tokens of
-- its argument.
local function about(t, call, part, text, is_name)
  if text:find "^[%a_][%w_]*$" then
    if words.VALUES[text] then return ("`%s` has no value in Lua: write `%s`"):format(text, words.VALUES[text]), true end
    local from, statement = sources.lost(text, (core.where()))
    if from then
      return ("`%s` was local to %s and ended with it: write `%s` there, without local"):format(text, from, statement), true
    end
    local right = is_name(text) and short(with(t, call, part, ("%q"):format(text)))
    if right then return ("`%s` is a variable without a value: write `%s`, with the name in quotes"):format(text, right), true end
    return ("`%s` is a variable without a value"):format(text), false
  end
  local list = text:match "^(.+)%[0%]$"
  if list then return ("`%s` is before the first element, because Lua counts from 1: write `%s[1]`"):format(text, list), true end
  return ("`%s` is nil"):format(text), false
end

--- For an argument that is nil: names the variable. The second result is true if the sentence shows a right form.
---@param name string    the name of the called function
---@param place integer  the number of the argument, without self
---@param is_name? fun(text: string): boolean   true if the argument may be this name, as a string
function arguments.missing(name, place, is_name)
  local calls, t = calls_of(name)
  for _, call in ipairs(calls) do
    local of_stage = is(t, call.at - 2, "]") -- s[P]:compute_at(j) leaves out the stage
    local part = call.args[place] or of_stage and call.args[place - 1]
    local text = part and source(t, part[1], part[2])
    local word = text and text:match "^[%a_][%w_]*$"
    local path = text and text:match "^[%a_][%w_.:%[%]]*%[0%]$"
    if word and word ~= "nil" and sources.value(word) == nil or path then
      return about(t, call, part, text, is_name or function() return false end)
    end
  end
end

--- For an argument that is a string by mistake: in Lua, the brackets of a nested list such as [[1, 2], [3, 4]] make a string.
function arguments.brackets(value)
  if not value:find "^[%w%s.,%-+/*]+$" and not value:find "^[^%[%]]+%]%s*,%s*%[.*%]?$" then return nil end
  local list = "[[" .. value .. "]]"
  local code = sources.running()
  if not code or #list > MOST_SHOWN or not code:find(list, 1, true) then return nil end
  return ("`%s` is a string in Lua: write `%s`"):format(list, (list:gsub("%[", "{"):gsub("%]", "}")))
end

-- Returns the brackets after an object in the code that is running: the number of the first token of the object, of the first
-- bracket and of the last bracket; and the tokens.
local function indexed()
  local t, last = running()
  for i = 2, last do
    if is(t, i, "[") and tokens.ends_operand(t, i - 1) and not is(t, i - 1, ")") then
      local close, from = tokens.closer(t, i), tokens.operand_start(t, i - 1)
      while close and is(t, close + 1, "[") do close = tokens.closer(t, close + 1) end
      if close then return t, from, i, close end
    end
  end
end

--- For a tensor that is indexed with brackets: A[i][j].
function arguments.index(name)
  local t, from, open, close = indexed()
  if not t then return nil end
  local object, text = source(t, from, open - 1), source(t, from, close)
  if object ~= name and not object:find "^[%a_][%w_]*$" then return nil end
  local inside = text:sub(#object + 2, -2):gsub("%]%s*%[", ", ")
  return ("`%s` does not read an element in Lua, but parentheses do: write `%s(%s)`"):format(text, object, inside)
end

--- For a function of axes that returns nothing: if it is written in one line, shows it with `return`.
function arguments.no_return(f)
  local info = debug.getinfo(f, "S")
  local text = info.linedefined == info.lastlinedefined and sources.text(info.source:sub(2))
  local t = text and tokens.of(sources.line(text, info.linedefined)) or {}
  for i = 1, #t do
    local close = is(t, i, "function") and is(t, i + 1, "(") and tokens.closer(t, i + 1)
    local stop = close and tokens.block_end(t, i)
    if stop and stop > close + 1 and tokens.expression_end(t, close + 1) == stop - 1 then
      local head, body = source(t, i, close), source(t, close + 1, stop - 1)
      return ("`%s %s end` returns nothing: write `%s return %s end`"):format(head, body, head, body)
    end
  end
end

-- The functions for comparisons.
local COMPARE = {["<"] = "lt", ["<="] = "le", [">"] = "gt", [">="] = "ge", ["=="] = "eq", ["~="] = "ne"}

--- For expressions that are compared: i < j. marks: the operators that may be meant.
function arguments.comparison(marks)
  local t, last = running()
  for i = 2, last do
    for _, mark in ipairs(marks) do
      if is(t, i, mark) and tokens.ends_operand(t, i - 1) then
        local from, to = tokens.operand_start(t, i - 1), tokens.operand_end(t, i + 1)
        return ("`%s` is evaluated at once in Lua, and makes no expression: write `nw.%s(%s, %s)`"):format(source(t, from, to),
          COMPARE[mark], source(t, from, i - 1), source(t, i + 1, to))
      end
    end
  end
end

-- Returns the sentence about a member of a tensor or expression of TVM: its object, and the tokens from the member on.
local MEMBERS = {}

function MEMBERS.op(object, t, i)
  if is(t, i + 1, ".") and t[i + 2] then
    local axis = ("%s.op.%s"):format(object, t[i + 2].text)
    return ("`%s` is not a field of a tensor, because loops belong to a schedule s: write `s[%s].op.%s`"):format(axis, object,
      t[i + 2].text)
  end
  return ("`%s.op` is not needed, because a schedule is made of tensors: write `%s`"):format(object, object)
end

function MEMBERS.astype(object, t, i)
  local close = is(t, i + 1, "(") and tokens.closer(t, i + 1)
  if not close then return nil end
  local dtype = source(t, i + 2, close - 1)
  local ours = core.dtype_elsewhere(dtype:match "^[\"'](.*)[\"']$" or "")
  return ("`%s.astype(%s)` is Python: write `nw.cast(%s, %s)`"):format(object, dtype, object, ours and ("%q"):format(ours) or dtype)
end

--- For a member that a tensor or an expression has in TVM.
function arguments.member(key)
  if not MEMBERS[key] then return nil end
  local t, last = running()
  for i = 3, last do
    if is(t, i, key) and (is(t, i - 1, ".") or is(t, i - 1, ":")) then
      return MEMBERS[key](source(t, tokens.operand_start(t, i), i - 2), t, i)
    end
  end
end

return arguments
