--- Explains code that Lua cannot read, if it has a slip of the table in grammar.lua. A slip is named only if the code with the
--- right form in its place is read further than before. So code that Lua can read is never called a slip, and neither is any other
--- error.
local grammar = require "nestwright.slips.grammar"
local tokens = require "nestwright.slips.tokens"

local repair = {}

local MOST_TEXT = 1 << 15 -- the largest number of bytes of code that is examined
local MOST_SLIPS = 12 -- the largest number of slips in one chunk
local MOST_SHOWN = 160 -- the largest number of bytes of a form that is shown

-- ---- reading

-- Returns the number of bytes that Lua has read when it finds the first error, or nil if there is no error.
local function read(text)
  local at = 0
  local function next_byte()
    at = at + 1
    return text:sub(at, at)
  end
  return not load(next_byte, "=input", "t") and at or nil
end

-- Returns the number of the byte at which the last line, or the part after the last semicolon, begins.
local function last_part(text) return text:match "^.*[\n;]()%s*%S" or 1 end

local RETURN = "return "

-- Does the same as `read` for a text in which an expression begins at the byte `at`.
local function read_expression(text, at)
  local count = read(text:sub(1, at - 1) .. RETURN .. text:sub(at))
  return count and (count < at and count or math.max(at, count - #RETURN))
end

-- Returns the number of bytes that are read of statements, of an expression, or of an expression after statements, as the prompt
-- reads them: the largest of these numbers. Returns nil if one of them has no error.
local function reached(text)
  local most = read(text)
  for _, at in ipairs {1, last_part(text)} do
    local count = most and read_expression(text, at)
    most = count and math.max(most, count)
  end
  return most
end

-- ---- edits

-- Returns the edits in the order of their places. Of several insertions at one place, the first in the list comes first.
local function in_order(edits)
  local order = {}
  for n, edit in ipairs(edits) do order[n] = {edit = edit, n = n} end
  table.sort(order, function(a, b)
    if a.edit[1] ~= b.edit[1] then return a.edit[1] < b.edit[1] end
    return a.n < b.n
  end)
  for n, one in ipairs(order) do order[n] = one.edit end
  return order
end

-- Returns the part of a text from one byte to another, with the edits inside this part. An edit {from, to, text} replaces a part of
-- the text; if to == from - 1, it inserts before the byte `from`.
local function edited(text, edits, from, to)
  local out, at = {}, from
  for _, edit in ipairs(in_order(edits)) do
    if edit[1] >= at and edit[2] <= to then
      out[#out + 1] = text:sub(at, edit[1] - 1)
      out[#out + 1] = edit[3]
      at = edit[2] + 1
    end
  end
  out[#out + 1] = text:sub(at, to)
  return table.concat(out)
end

-- Returns the place in the original text for a place after the edits. For a place inside an edit, returns the start of the edit.
local function unedited(edits, at)
  local more = 0
  for _, edit in ipairs(in_order(edits)) do
    if at < edit[1] + more then break end
    if at < edit[1] + more + #edit[3] then return edit[1] end
    more = more + #edit[3] - (edit[2] - edit[1] + 1)
  end
  return at - more
end

-- Returns a text in one line.
local function flat(text) return (text:gsub("%s+", " "):match "^ ?(.-) ?$") end

-- Of several ways to repair a slip, takes the first with which Lua reads all of the code, or else the first with which it reads
-- further than before. Returns the new code, the way, and whether all of it is read. Returns nil if there is none.
local function best_of(text, before, ways)
  local better, way
  for _, found in ipairs(ways) do
    local new = edited(text, found.edits, 1, #text)
    local count = reached(new)
    if not count then return new, found, true end
    if not better and unedited(found.edits, count) > before then better, way = new, found end
  end
  return better, way, false
end

-- Returns the code with the first slip in it repaired, the row of the slip and the place where it was found. Returns nil if no
-- slip is found.
local function repaired(text)
  local before = reached(text)
  if not before then return nil end
  local t = tokens.of(text)
  for _, row in ipairs(grammar) do
    for i = 1, #t do
      local new, found, done = best_of(text, before, row.find(t, i) or {})
      if new then return new, row, found, done end
    end
  end
end

-- ---- sentences

-- Returns the slip and its right form as they are shown.
local function shown(text, found)
  local from, to = found.edits[1][1], found.edits[1][2]
  local slip, right = found.slip or flat(text:sub(from, to)), found.right
  if found.whole then
    right = flat(edited(text, found.edits, 1, #text))
  elseif not right then
    right = flat(edited(text, found.edits, found.from or from, found.to or to))
  end
  local plain = #right <= MOST_SHOWN and not right:find("%-%-[^%[]")
  return slip, not plain and found.short or right
end

-- Returns a line of the text in which the slips were repaired one after the other.
local function whole(text, line)
  local n = 0
  for one in (text .. "\n"):gmatch "(.-)\n" do
    n = n + 1
    if n == line then return flat(one) end
  end
end

local function quoted(list)
  local out = {}
  for n, text in ipairs(list) do out[n] = ("`%s`"):format(text) end
  if #out < 2 then return out[1] end
  return table.concat(out, ", ", 1, #out - 1) .. " and " .. out[#out]
end

local function line_of(text, at) return 1 + select(2, text:sub(1, at - 1):gsub("\n", "")) end

-- Returns a sentence about several slips. The right form is the whole code if it is short, otherwise the line of the first slip.
local function several(slips, text, line)
  local all = flat(text)
  local right = #all <= MOST_SHOWN and not text:find "%-%-" and all or whole(text, line)
  return ("%s are not Lua: write `%s`"):format(quoted(slips), right)
end

--- Returns a sentence that names the slips in code that Lua cannot read, and shows the right form; and the line of the first slip.
--- Returns nil if no slip is known. The third result is the name of the first slip's row.
function repair.explain(text)
  if #text > MOST_TEXT then return nil end
  local slips, code, first, line, sentence = {}, text, nil, nil, nil
  for _ = 1, MOST_SLIPS do
    local new, row, found, done = repaired(code)
    if not new then break end
    local slip, right = shown(code, found)
    if not first then
      first, line = row, line_of(code, found.edits[1][1])
      sentence = ("`%s` %s: write `%s`"):format(slip, row.say, right)
    end
    slips[#slips + 1] = slip
    code = new
    if done then
      if #slips > 1 then sentence = several(slips, code, line) end
      break
    end
  end
  return sentence, line, first and first.name
end

return repair
