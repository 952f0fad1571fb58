--- Splits code into tokens, and finds the parts of expressions. The code need not be Lua: it may contain marks of other languages,
--- and strings that are not closed.
local tokens = {}

-- Marks of several characters. A mark comes before those with which it begins.
local MARKS = {
  "...", "..=", "..", "===", "==", "=>", "!==", "!=", "~=", "<=", ">=", "<<", ">>", "//=", "//", "**=", "**", "*/", "/*", "/=",
  "+=", "++", "->", "-=", "*=", "%=", "^=", "|=", "||", "&=", "&&", "::", ":=",
}

-- ---- splitting

-- Returns the position after the string that begins with a quote at `at`, and whether the string is closed. An open string ends
-- with its line.
local function after_quote(text, at)
  local quote, stop = text:sub(at, at), at + 1
  while stop <= #text do
    local c = text:sub(stop, stop)
    if c == quote then return stop + 1, true end
    if c == "\n" then return stop, false end
    stop = stop + (c == "\\" and 2 or 1)
  end
  return #text + 1, false
end

-- Returns the kind of the token at `at` and the position after it.
local function token_at(text, at)
  local level = text:match("^%[(=*)%[", at)
  if level then
    local stop = select(2, text:find("]" .. level .. "]", at, true))
    return stop and "string" or "open", (stop or #text) + 1
  end
  local triple = text:match('^"""', at) or text:match("^'''", at)
  if triple then
    local stop = select(2, text:find(triple, at + 3, true))
    return "triple", (stop or #text) + 1
  end
  if text:find("^[\"']", at) then
    local stop, closed = after_quote(text, at)
    return closed and "string" or "open", stop
  end
  if text:find("^%.?%d", at) then
    return "number", text:match("^[%d.]+[eE][+-]%d+[%w_]*()", at) or text:match("^[%w_.]+()", at)
  end
  if text:find("^[%a_]", at) then return "name", text:match("^[%w_]+()", at) end
  for _, mark in ipairs(MARKS) do
    if text:sub(at, at + #mark - 1) == mark then return "mark", at + #mark end
  end
  return "mark", text:match("^[\xC0-\xFF][\x80-\xBF]*()", at) or at + 1
end

-- Returns the position after the comment at `at`, or nil if there is no comment.
local function after_comment(text, at)
  if text:sub(at, at + 1) ~= "--" then return nil end
  local level = text:match("^%-%-%[(=*)%[", at)
  if level then return (select(2, text:find("]" .. level .. "]", at, true)) or #text) + 1 end
  return text:find("\n", at, true) or #text + 1
end

--- Returns the tokens of a text as a list. A token is a table of kind (name, number, string, open for a string without its end,
--- triple for a string in triple quotes, or mark), text, from, to, line, column, and first (true for the first token of a line).
--- Comments of Lua are left out. The text itself is in the field `text` of the list.
function tokens.of(text)
  local list, at, line, start, first = {text = text}, 1, 1, 1, true
  while at <= #text do
    local newline, comment = text:sub(at, at) == "\n", after_comment(text, at)
    if newline then
      at, line, start, first = at + 1, line + 1, at + 1, true
    elseif comment then
      line = line + select(2, text:sub(at, comment - 1):gsub("\n", ""))
      at = comment
    elseif text:find("^%s", at) then
      at = at + 1
    else
      local kind, after = token_at(text, at)
      local word = text:sub(at, after - 1)
      list[#list + 1] = {kind = kind, text = word, from = at, to = after - 1, line = line, column = at - start, first = first}
      line, at, first = line + select(2, word:gsub("\n", "")), after, false
    end
  end
  return list
end

-- ---- parts of the code

--- Returns the text of the tokens from number i to number j, with single blanks between lines.
function tokens.source(t, i, j)
  if not t[i] or not t[j] or j < i then return "" end
  return (t.text:sub(t[i].from, t[j].to):gsub("%s*\n%s*", " "))
end

--- True if token number i has this text, and is not a string.
function tokens.is(t, i, text)
  local one = t[i]
  return one ~= nil and one.text == text and (one.kind == "name" or one.kind == "mark")
end

local CLOSER = {["("] = ")", ["["] = "]", ["{"] = "}"}
local OPENER = {[")"] = "(", ["]"] = "[", ["}"] = "{"}

-- Returns +1 for an opening bracket, -1 for a closing one, and 0 for any other token.
local function nesting(one)
  if one.kind ~= "mark" then return 0 end
  return CLOSER[one.text] and 1 or OPENER[one.text] and -1 or 0
end

--- Returns the number of the bracket that closes the bracket number i, or nil.
function tokens.closer(t, i)
  local depth = 0
  for k = i, #t do
    depth = depth + nesting(t[k])
    if depth == 0 then return OPENER[t[k].text] == t[i].text and k or nil end
  end
end

--- Returns the number of the bracket that opens the bracket number i, or nil.
function tokens.opener(t, i)
  local depth = 0
  for k = i, 1, -1 do
    depth = depth - nesting(t[k])
    if depth == 0 then return k end
  end
end

local KEYWORDS = {}
for word in ("and break do else elseif end false for function goto if in local nil not or repeat return then true until while "
  .. "elif lambda def import from del pass raise assert"):gmatch "%a+" do KEYWORDS[word] = true end

--- True if an operand can end with token number i: a name, a number, a string or a closing bracket.
function tokens.ends_operand(t, i)
  local one = t[i]
  if not one then return false end
  if one.kind == "mark" then return OPENER[one.text] ~= nil or one.text == "..." end
  return not KEYWORDS[one.text] or one.text == "end" or one.text == "nil" or one.text == "true" or one.text == "false"
end

--- Returns the number of the first token of the operand that ends with token number i, such as s[C].op.axis or f(x).y.
function tokens.operand_start(t, i)
  while true do
    if nesting(t[i]) < 0 then
      i = tokens.opener(t, i) or i
      local brackets = t[i].text ~= "{" and tokens.ends_operand(t, i - 1) and not t[i].first
      if not brackets then return i end
      i = i - 1
    elseif tokens.is(t, i - 1, ".") or tokens.is(t, i - 1, ":") then
      if not tokens.ends_operand(t, i - 2) then return i end
      i = i - 2
    else
      return i
    end
  end
end

local SIGNS = {["-"] = true, ["not"] = true, ["#"] = true, ["~"] = true, ["!"] = true}

--- Returns the number of the last token of the operand that begins with token number i.
function tokens.operand_end(t, i)
  while t[i + 1] and SIGNS[t[i].text] and t[i].kind ~= "string" do i = i + 1 end
  if not t[i] then return #t end
  if nesting(t[i]) > 0 then i = tokens.closer(t, i) or #t end
  while t[i + 1] and not t[i + 1].first do
    if nesting(t[i + 1]) > 0 and t[i + 1].text ~= "{" then
      i = tokens.closer(t, i + 1) or #t
    elseif (tokens.is(t, i + 1, ".") or tokens.is(t, i + 1, ":")) and t[i + 2] and t[i + 2].kind == "name" then
      i = i + 2
    else
      break
    end
  end
  return i
end

local OPEN, CLOSE = {["function"] = true, ["if"] = true, ["do"] = true, ["repeat"] = true}, {["end"] = true, ["until"] = true}
local STOPS = {[","] = true, [";"] = true, ["then"] = true, ["do"] = true, ["else"] = true, ["elseif"] = true, ["end"] = true,
  ["if"] = true, ["for"] = true, ["until"] = true, ["return"] = true, ["local"] = true}

-- True if the expression can go on in the next line after token number i.
local function goes_on(t, i)
  local one = t[i]
  return one.kind == "mark" and nesting(one) >= 0 or one.text == "and" or one.text == "or" or one.text == "not"
end

--- Returns the number of the last token of the expression that begins with token number i. The expression ends before a comma, a
--- closing bracket, a keyword of a statement, or a line that does not continue it. also: a further mark or word that ends it.
function tokens.expression_end(t, i, also)
  local k = i
  while t[k] do
    local one = t[k]
    local closes = nesting(one) < 0
    local stops = one.kind ~= "string" and (STOPS[one.text] or one.text == also)
    if closes or stops or k > i and one.first and not goes_on(t, k - 1) then return k - 1 end
    if nesting(one) > 0 then
      k = tokens.closer(t, k) or #t
    elseif one.kind == "name" and one.text == "function" then
      k = tokens.block_end(t, k) or #t
    end
    k = k + 1
  end
  return #t
end

--- Returns the number of the `end` or `until` that closes the block that token number i opens, or nil.
function tokens.block_end(t, i)
  local depth = 0
  for k = i, #t do
    if t[k].kind == "name" then
      if OPEN[t[k].text] then depth = depth + 1 elseif CLOSE[t[k].text] then depth = depth - 1 end
      if depth == 0 and CLOSE[t[k].text] then return k end
    end
  end
end

--- Returns the number of the last token in the line of token number i.
function tokens.line_end(t, i)
  while t[i + 1] and not t[i + 1].first do i = i + 1 end
  return i
end

--- Returns the number of the first token in the line of token number i.
function tokens.line_start(t, i)
  while not t[i].first do i = i - 1 end
  return i
end

local BEFORE = {[";"] = true, [")"] = true, [":"] = true, ["then"] = true, ["do"] = true, ["else"] = true, ["end"] = true}

--- True if a statement can begin with token number i.
function tokens.starts_statement(t, i)
  if i == 1 or t[i].first then return true end
  return t[i - 1].kind ~= "string" and BEFORE[t[i - 1].text] == true
end

--- Returns the parts between commas of the tokens from number i to number j, as a list of {first token, last token}.
function tokens.parts(t, i, j)
  local out, from, k = {}, i, i
  while k <= j do
    if nesting(t[k]) > 0 then
      k = tokens.closer(t, k) or j
    elseif t[k].kind == "name" and t[k].text == "function" then
      k = tokens.block_end(t, k) or j
    elseif tokens.is(t, k, ",") then
      out[#out + 1] = {from, k - 1}
      from = k + 1
    end
    k = k + 1
  end
  if from <= j then out[#out + 1] = {from, j} end
  return out
end

--- True if a comma separates the tokens from number i to number j.
function tokens.has_comma(t, i, j)
  local parts = tokens.parts(t, i, j)
  return #parts > 1 or parts[1] ~= nil and parts[1][2] < j
end

return tokens
