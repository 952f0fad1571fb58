--- The slips in expressions: those that Lua cannot read. The rows are as in statements.lua.
local blocks = require "nestwright.slips.blocks"
local core = require "nestwright.core"
local tokens = require "nestwright.slips.tokens"

local is, source = tokens.is, tokens.source
local replaced, inserted, joined = blocks.replaced, blocks.inserted, blocks.joined

local rows = {}
local function row(name, say, find) rows[#rows + 1] = {name = name, say = say, find = find} end

-- Returns a way that shows the tokens from number i to number j.
local function shown(t, i, j, edits)
  return {{edits = edits, slip = source(t, i, j), from = t[i].from, to = t[j].to}}
end

-- ---- strings

-- Returns an expression for a string in which places in braces, or with a sign such as %d, stand for values.
local function formatted(text, values) return ("(%s):format(%s)"):format(text, values) end

row("format of tuple", "is Python, but a string of Lua has the method format", function(t, i)
  local close = is(t, i, "%") and t[i - 1] and t[i - 1].kind == "string" and is(t, i + 1, "(") and tokens.closer(t, i + 1)
  if not close or not tokens.has_comma(t, i + 2, close - 1) then return nil end
  return {{edits = {replaced(t, i - 1, close, formatted(t[i - 1].text, source(t, i + 2, close - 1)))}}}
end)

row("method of string", "needs parentheses around the string", function(t, i)
  local dot = t[i].kind == "string" and (is(t, i + 1, ".") or is(t, i + 1, ":")) and t[i + 2] and is(t, i + 3, "(")
  local close = dot and tokens.closer(t, i + 3)
  if not close then return nil end
  local name, args = t[i + 2].text, source(t, i + 4, close - 1)
  local right = ("(%s):%s(%s)"):format(t[i].text, name, args)
  if name == "join" then right = ("table.concat(%s, %s)"):format(args, t[i].text) end
  if name == "format" then right = formatted(t[i].text:gsub("{[^{}]*}", "%%s"), args) end
  return {{edits = {replaced(t, i, close, right)}}}
end)

-- Returns ways to close the string of an open quote: at the end of the line, or before one or more closing brackets there.
row("open quote", "has no closing quote", function(t, i)
  local one, found = t[i], {}
  if one.kind ~= "open" or one.text:sub(1, 1) == "[" then return nil end
  local text, quote, tail = one.text:match "^(.-)%s*$", one.text:sub(1, 1), ""
  for _ = 1, 6 do
    found[#found + 1] = {edits = {{one.from, one.to, text .. quote .. tail}}, slip = text .. tail}
    local last = text:match "[%)%]},;]$" or text:match "%s*end$"
    if not last then break end
    text, tail = text:sub(1, -#last - 1), last .. tail
  end
  return found
end)

row("apostrophe", "ends at the apostrophe, unless it has the other quotes", function(t, i)
  local open = t[i].kind == "string" and t[i].text:sub(1, 1) == "'" and t[i + 1] and t[i + 1].kind == "name"
  local last = open and t[i + 1].from == t[i].to + 1 and tokens.line_end(t, i)
  if not last or t[last].kind ~= "open" or t[last].text:sub(1, 1) ~= "'" then return nil end
  local text, tail = t.text:sub(t[i].from + 1, t[last].from - 1), t[last].text:sub(2)
  return {{edits = {{t[i].from, t[last].to, ("%q"):format(text) .. tail}}, slip = "'" .. text .. "'", right = ("%q"):format(text)}}
end)

row("triple quotes", "is Python, but a long string of Lua has brackets", function(t, i)
  local text = t[i].kind == "triple" and #t[i].text >= 6 and t[i].text:sub(4, -4)
  return text and {{edits = {replaced(t, i, i, "[[" .. text .. "]]")}}}
end)

row("backticks", "is JavaScript, but a string of Lua has quotes", function(t, i)
  if not is(t, i, "`") then return nil end
  local text, stop = t.text:match("^`([^`\n]*)`()", t[i].from)
  return text and {{edits = {{t[i].from, stop - 1, ("%q"):format(text)}}}}
end)

-- ---- numbers

row("number", "is not a number of Lua", function(t, i)
  if t[i].kind ~= "number" then return nil end
  local plain = t[i].text:gsub("_", ""):gsub("^([%d.]+[eE]?[+-]?%d*)[fFlLuU]+$", "%1")
  return plain ~= t[i].text and {{edits = {replaced(t, i, i, plain)}}}
end)

-- ---- functions

-- Returns the number of the last token of an expression of Python, which may contain `a if c else b`.
local function python_end(t, i)
  local stop = tokens.expression_end(t, i)
  while t[stop + 1] and not t[stop + 1].first and (is(t, stop + 1, "if") or is(t, stop + 1, "else")) do
    stop = tokens.expression_end(t, stop + 2)
  end
  return stop
end

-- Returns the edit that replaces the tokens from number i to j by a text, and the blanks after them too.
local function before(t, i, j, text) return {t[i].from, t[j + 1].from - 1, text} end

row("lambda", "is Python's function", function(t, i)
  if not is(t, i, "lambda") then return nil end
  local colon = i
  repeat colon = colon + 1 until not t[colon] or is(t, colon, ":") or t[colon].first
  if not is(t, colon, ":") or not t[colon + 1] then return nil end
  local stop, edits = python_end(t, colon + 1), {}
  local names, rest = source(t, i + 1, colon - 1):gsub("%s*,%s*", ", "):gsub("%*[%w_]+", "...")
  edits[1] = before(t, i, colon, ("function(%s) return "):format(names))
  edits[2] = inserted(t, stop, " end")
  for k = colon + 1, rest > 0 and stop - 1 or 0 do
    if is(t, k, "*") and not tokens.ends_operand(t, k - 1) then edits[#edits + 1] = replaced(t, k, k + 1, "...") end
  end
  return shown(t, i, stop, edits)
end)

row("arrow function", "is JavaScript's function", function(t, i)
  if not is(t, i, "=>") or not tokens.ends_operand(t, i - 1) or not t[i + 1] then return nil end
  local start, stop = is(t, i - 1, ")") and tokens.opener(t, i - 1) or i - 1, tokens.expression_end(t, i + 1)
  local names = source(t, start, i - 1):gsub("^%((.*)%)$", "%1")
  return shown(t, start, stop, {before(t, start, i, ("function(%s) return "):format(names)), inserted(t, stop, " end")})
end)

row("function in braces", "has braces, but a function of Lua has an end", function(t, i)
  local close = is(t, i, "function") and is(t, i + 1, "(") and tokens.closer(t, i + 1)
  local stop = close and is(t, close + 1, "{") and tokens.closer(t, close + 1)
  if not stop then return nil end
  return shown(t, i, stop, {joined(t, close + 1, " "), replaced(t, stop, stop, "end")})
end)

-- ---- conditions

-- Returns the number of the first token of the expression that ends before token number i.
local function expression_start(t, i)
  local k = i - 1
  while k >= 1 do
    local one = t[k]
    local opens = one.kind == "mark" and (one.text == "(" or one.text == "[" or one.text == "{")
    local stops = opens or is(t, k, ",") or is(t, k, "=") or is(t, k, ";") or is(t, k, ":") and not is(t, k + 2, "(")
    local word = one.kind == "name" and not tokens.ends_operand(t, k)
    if stops or word and one.text ~= "and" and one.text ~= "or" and one.text ~= "not" then return k + 1 end
    if is(t, k, ")") or is(t, k, "]") or is(t, k, "}") then k = tokens.opener(t, k) or k end
    if t[k].first then return k end
    k = k - 1
  end
  return 1
end

-- Returns `c and a or b`, with parentheses around a condition that contains `or`.
local function chosen(c, a, b)
  if c:find "%f[%w]or%f[%W]" then c = "(" .. c .. ")" end
  return ("%s and %s or %s"):format(c, a, b)
end

row("conditional expression", "is Python's choice", function(t, i)
  if not is(t, i, "if") or t[i].first or not tokens.ends_operand(t, i - 1) then return nil end
  local otherwise = tokens.expression_end(t, i + 1) + 1
  if not is(t, otherwise, "else") or not t[otherwise + 1] then return nil end
  local start, stop = expression_start(t, i), python_end(t, otherwise + 1)
  local right = chosen(source(t, i + 1, otherwise - 1), source(t, start, i - 1), source(t, otherwise + 1, stop))
  return {{edits = {replaced(t, start, stop, right)}}}
end)

row("question mark", "is C's choice", function(t, i)
  if not is(t, i, "?") or not tokens.ends_operand(t, i - 1) or not t[i + 1] then return nil end
  local colon = tokens.expression_end(t, i + 1, ":") + 1
  if not is(t, colon, ":") or not t[colon + 1] then return nil end
  local start, stop = expression_start(t, i), tokens.expression_end(t, colon + 1)
  local right = chosen(source(t, start, i - 1), source(t, i + 1, colon - 1), source(t, colon + 1, stop))
  return {{edits = {replaced(t, start, stop, right)}}}
end)

row("is", "is Python", function(t, i)
  if not is(t, i, "is") or not tokens.ends_operand(t, i - 1) then return nil end
  local negated = is(t, i + 1, "not")
  local at = negated and i + 2 or i + 1
  if not t[at] then return nil end
  local edits = {replaced(t, i, at - 1, negated and "~=" or "==")}
  if is(t, at, "None") then edits[2] = replaced(t, at, at, "nil") end
  return shown(t, tokens.operand_start(t, i - 1), tokens.operand_end(t, at), edits)
end)

local function operator(mark, right)
  return function(t, i)
    if not is(t, i, mark) or not tokens.ends_operand(t, i - 1) or not t[i + 1] then return nil end
    return shown(t, tokens.operand_start(t, i - 1), tokens.operand_end(t, i + 1), {joined(t, i, (" %s "):format(right))})
  end
end
row("!=", "is C and Python", operator("!=", "~="))
row("!==", "is JavaScript", operator("!==", "~="))
row("===", "is JavaScript", operator("===", "=="))
row("&&", "is C", operator("&&", "and"))
row("||", "is C", operator("||", "or"))
row("**", "is Python's power", operator("**", "^"))
row(":=", "is not an assignment of Lua", operator(":=", "="))

row("!", "is C", function(t, i)
  if not is(t, i, "!") or not t[i + 1] then return nil end
  return shown(t, i, tokens.operand_end(t, i + 1), {replaced(t, i, i, "not ")})
end)

-- ---- brackets

-- True if token number i is a bracket that begins a list, and not an index.
local function begins_list(t, i) return is(t, i, "[") and (t[i].first or not tokens.ends_operand(t, i - 1)) end

-- Returns the number of the first token with this text between brackets, from number i to j, that is not in further brackets.
local function found_inside(t, i, j, text)
  local k = i
  while k <= j do
    if is(t, k, text) then return k end
    if is(t, k, "(") or is(t, k, "[") or is(t, k, "{") then k = tokens.closer(t, k) or j end
    k = k + 1
  end
end

row("comprehension", "is Python, but a loop fills a table in Lua", function(t, i)
  local close = begins_list(t, i) and tokens.closer(t, i)
  local loop = close and is(t, i - 1, "=") and found_inside(t, i + 1, close - 1, "for")
  local within = loop and found_inside(t, loop, close - 1, "in")
  if not within then return nil end
  local start, filter = tokens.operand_start(t, i - 2), found_inside(t, within, close - 1, "if")
  local name, item = source(t, start, i - 2), source(t, i + 1, loop - 1)
  local header = blocks.loop(t, source(t, loop + 1, within - 1), within + 1, (filter or close) - 1)
  local body = ("%s[#%s + 1] = %s"):format(name, name, item)
  if filter then body = ("if %s then %s end"):format(source(t, filter + 1, close - 1), body) end
  return {{edits = {replaced(t, start, close, ("%s = {} %s do %s end"):format(name, header, body))}}}
end)

row("list", "is Python, but a list of Lua has braces", function(t, i)
  local close = begins_list(t, i) and tokens.closer(t, i)
  if not close or found_inside(t, i + 1, close - 1, "for") then return nil end
  return shown(t, i, close, {replaced(t, i, i, "{"), replaced(t, close, close, "}")})
end)

row("slice", "is Python's slice", function(t, i)
  local close = is(t, i, "[") and not begins_list(t, i) and tokens.closer(t, i)
  local colon = close and found_inside(t, i + 1, close - 1, ":")
  if not colon or found_inside(t, i + 1, close - 1, ",") or is(t, colon + 2, "(") then return nil end
  local start = tokens.operand_start(t, i - 1)
  local name, from, to = source(t, start, i - 1), source(t, i + 1, colon - 1), source(t, colon + 1, close - 1)
  local first = math.tointeger(from == "" and 0 or from)
  from = first and tostring(first + 1) or from .. " + 1"
  local right = ("{table.unpack(%s, %s%s)}"):format(name, from, to ~= "" and ", " .. to or "")
  return {{edits = {replaced(t, start, close, right)}}}
end)

row("index", "does not read an element in Lua, but parentheses do", function(t, i)
  local close = is(t, i, "[") and not begins_list(t, i) and tokens.closer(t, i)
  if not close or not tokens.has_comma(t, i + 1, close - 1) then return nil end
  return shown(t, tokens.operand_start(t, i - 1), close, {replaced(t, i, i, "("), replaced(t, close, close, ")")})
end)

-- Returns the number of the bracket around token number i, or nil.
local function around(t, i)
  local k = i - 1
  while k >= 1 do
    if is(t, k, "(") or is(t, k, "[") or is(t, k, "{") then return k end
    if is(t, k, ")") or is(t, k, "]") or is(t, k, "}") then k = tokens.opener(t, k) or 1 end
    k = k - 1
  end
end

-- What becomes of the keys of arguments in TVM: a key is another word, or the argument has no key.
local KEYS = {nparts = "parts", axis = false, x_factor = false, y_factor = false}

-- Adds the edits of an argument with a key, whose tokens are from number i to number j. Returns whether the argument keeps a key.
local function keyed(t, i, j, edits)
  local key = KEYS[t[i].text]
  if key == false then
    edits[#edits + 1] = before(t, i, i + 1, "")
  else
    edits[#edits + 1] = {t[i].from, t[i + 2].from - 1, (key or t[i].text) .. " = "}
  end
  local name = t[i].text == "dtype" and t[i + 2].kind == "string" and j == i + 2 and core.dtype_elsewhere(t[i + 2].text:sub(2, -2))
  if name then edits[#edits + 1] = replaced(t, i + 2, i + 2, ("%q"):format(name)) end
  return key ~= false
end

row("named argument", "is Python, but arguments of Lua have no names outside a table", function(t, i)
  if t[i].kind ~= "name" or not is(t, i + 1, "=") or not (is(t, i - 1, "(") or is(t, i - 1, ",")) then return nil end
  local open = around(t, i)
  local close = open and is(t, open, "(") and tokens.ends_operand(t, open - 1) and tokens.closer(t, open)
  if not close then return nil end
  local edits, keys, stop = {}, false, nil
  for _, part in ipairs(tokens.parts(t, open + 1, close - 1)) do
    local named = t[part[1]].kind == "name" and is(t, part[1] + 1, "=") and part[2] > part[1] + 1
    if named and part[1] < i then return nil end
    if part[1] >= i then
      if not named then break end
      keys = keyed(t, part[1], part[2], edits) or keys
      stop = part[2]
    end
  end
  if not stop then return nil end
  if keys then
    edits[1][3] = "{" .. edits[1][3]
    edits[#edits + 1] = inserted(t, stop, "}")
  end
  return shown(t, i, stop, edits)
end)

row("dictionary", "is Python, but a table of Lua has an equals sign after a name", function(t, i)
  local close = is(t, i, "{") and tokens.closer(t, i)
  if not close then return nil end
  local edits = {}
  for _, part in ipairs(tokens.parts(t, i + 1, close - 1)) do
    local key = t[part[1]]
    if not is(t, part[1] + 1, ":") or part[2] < part[1] + 2 then return nil end
    local word = key.kind == "string" and key.text:match "^.([%a_][%w_]*).$" or key.kind == "name" and key.text
    edits[#edits + 1] = {key.from, t[part[1] + 2].from - 1, (word or "[" .. key.text .. "]") .. " = "}
  end
  return edits[1] and shown(t, i, close, edits)
end)

row("tuple", "is Python, but a list of Lua has braces", function(t, i)
  local close = is(t, i, "(") and (t[i].first or not tokens.ends_operand(t, i - 1)) and tokens.closer(t, i)
  if not close or not tokens.has_comma(t, i + 1, close - 1) then return nil end
  if is(t, i - 1, "function") or is(t, close + 1, "=>") then return nil end
  local list = is(t, i - 1, "return") or i > 3 and is(t, i - 1, "=") and is(t, tokens.operand_start(t, i - 2) - 1, ",")
  return shown(t, i, close, {replaced(t, i, i, list and "" or "{"), replaced(t, close, close, list and "" or "}")})
end)

return rows
