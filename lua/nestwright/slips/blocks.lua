--- Finds blocks of other languages in code: blocks of Python, which a colon begins and which end with their indentation, and
--- blocks of C, which are in braces.
local tokens = require "nestwright.slips.tokens"

local is, source = tokens.is, tokens.source
local blocks = {}

--- Returns the edit that replaces the tokens from number i to number j.
function blocks.replaced(t, i, j, text) return {t[i].from, t[j].to, text} end

--- Returns the edit that inserts a text after token number i.
function blocks.inserted(t, i, text) return {t[i].to + 1, t[i].to, text} end

--- Returns the edit that replaces token number i and the blanks around it, but not the ends of lines.
function blocks.joined(t, i, text)
  local from = t[i].first and t[i].from or t[i - 1].to + 1
  local to = t[i + 1] and not t[i + 1].first and t[i + 1].from - 1 or t[i].to
  return {from, to, text}
end

--- Returns the number of the colon that ends the header of a block of Python which begins with token number i, or nil. The colon is
--- followed by a blank or by the end of the line. The colon of a method is not.
function blocks.colon(t, i)
  local k, last = i, tokens.line_end(t, i)
  while k <= last do
    if is(t, k, "(") or is(t, k, "[") or is(t, k, "{") then
      k = tokens.closer(t, k) or last
    elseif is(t, k, ":") and t.text:find("^[%s]", t[k].to + 1) or is(t, k, ":") and t[k].to == #t.text then
      return k
    end
    k = k + 1
  end
end

--- Returns the numbers of the first and the last token of the body after the colon of a block of Python whose header begins with
--- token number i. Returns nil if the block has no body yet.
function blocks.body(t, i, colon)
  local last = tokens.line_end(t, colon)
  if last > colon then return colon + 1, last end
  local column = t[tokens.line_start(t, i)].column
  while t[last + 1] and t[last + 1].column > column do last = tokens.line_end(t, last + 1) end
  if last > colon then return colon + 1, last end
end

--- Returns the number of the last token of a block of Python, including the parts that begin with one of the given words in the
--- same column.
function blocks.last(t, i, colon, words)
  local _, last = blocks.body(t, i, colon)
  last = last or colon
  while words and t[last + 1] and words[t[last + 1].text] and t[last + 1].column == t[i].column do
    local next_colon = blocks.colon(t, last + 1)
    if not next_colon then break end
    last = select(2, blocks.body(t, last + 1, next_colon)) or next_colon
  end
  return last
end

--- Returns the slip of a block of Python: its header begins with token number i and ends with the colon.
---@param header string     the beginning of the block in Lua, with its `do` or `then`
---@param example string    the body that is shown if the block has none yet
---@param words table?      the words that continue the block, such as {["else"] = true}
---@param closing string?   " end" by default
function blocks.python(t, i, colon, header, example, words, closing)
  closing = closing or " end"
  local last = blocks.last(t, i, colon, words)
  local short = ("%s %s%s"):format(header, example, closing)
  return {{
    edits = {blocks.replaced(t, i, colon, header), blocks.inserted(t, last, closing)},
    slip = source(t, i, colon), from = t[i].from, to = t[last].to, right = last == colon and short or nil, short = short,
  }}
end

-- Returns the text of a number that is one less than the number in a text, or the text of the difference.
local function less_one(text)
  local n = math.tointeger(text)
  return n and tostring(n - 1) or text .. " - 1"
end
blocks.less_one = less_one

local function texts(t, i, j)
  local out = {}
  for n, part in ipairs(tokens.parts(t, i, j)) do out[n] = source(t, part[1], part[2]) end
  return out
end

-- Returns the bounds of Lua's loop for the arguments of Python's range.
local function bounds(args)
  if #args == 1 then return "0, " .. less_one(args[1]) end
  local step = args[3] and ", " .. args[3] or ""
  local down = (args[3] or ""):find "^%s*%-"
  local last = math.tointeger(args[2])
  local stop = down and (last and tostring(last + 1) or args[2] .. " + 1") or less_one(args[2])
  return ("%s, %s%s"):format(args[1], stop, step)
end

--- Returns the header of Lua's loop, without its `do`, for the variables of Python's `for` and the tokens from number i to number
--- j of what it goes through.
function blocks.loop(t, variables, i, j)
  local call = is(t, i + 1, "(") and tokens.closer(t, i + 1) == j and t[i].text
  local inside = call and source(t, i + 2, j - 1)
  local two = variables:find ","
  if call == "range" and j > i + 2 and not two then
    return ("for %s = %s"):format(variables, bounds(texts(t, i + 2, j - 1)))
  end
  if call == "enumerate" then return ("for %s in ipairs(%s)"):format(two and variables or "_, " .. variables, inside) end
  if call == "pairs" or call == "ipairs" then return ("for %s in %s"):format(variables, source(t, i, j)) end
  local map = source(t, i, j):match "^(.*)%.items%(%)$"
  if map or two then return ("for %s in pairs(%s)"):format(variables, map or source(t, i, j)) end
  return ("for _, %s in ipairs(%s)"):format(variables, source(t, i, j))
end

return blocks
