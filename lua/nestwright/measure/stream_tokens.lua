--- The tokens of a stream as a text that can be edited and read back: a line for each instruction that takes or puts tokens, such
--- as `7 compute: take load, put store`.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"

local stream_tokens = {}

local EXAMPLE = "a line is like: 7 compute: take load, put store"

--- Returns the tokens of a stream as text.
function stream_tokens.write(s)
  local queues, lines = core.stream_facts(s).queues, {}
  for n = 1, core.stream_length(s) do
    local i, words = core.stream_instruction(s, n), {}
    for _, q in ipairs(i.takes) do words[#words + 1] = "take " .. queues[q].from end
    for _, q in ipairs(i.puts) do words[#words + 1] = "put " .. queues[q].to end
    if #words > 0 then lines[#lines + 1] = ("%d %s: %s\n"):format(n, i.unit, table.concat(words, ", ")) end
  end
  return table.concat(lines)
end

-- ---- reading

local function wrong(line, hint, why, ...)
  errors.fail("invalid", hint, "read_tokens: line %d: " .. why, line, ...)
end

local function queue_between(queues, from, to)
  for q, row in ipairs(queues) do
    if row.from == from and row.to == to then return q end
  end
end

-- Reads the words after the colon, for example "take load, put store".
local function read_words(line, text, unit, queues)
  local out = {take = {}, put = {}}
  for word in (text .. ","):gmatch "([^,]*)," do
    local how, other = word:match "^%s*(%l+)%s+([%w_]+)%s*$"
    if how ~= "take" and how ~= "put" then
      wrong(line, EXAMPLE, "'%s' neither takes nor puts a token", word:match "^%s*(.-)%s*$")
    end
    local from, to = how == "take" and other or unit, how == "take" and unit or other
    local q = queue_between(queues, from, to)
    if not q then wrong(line, "the queues are those of s:stream():facts()", "there is no queue from %s to %s", from, to) end
    if out[how][q] then wrong(line, nil, "the instruction has '%s %s' twice", how, other) end
    out[how][q] = true
  end
  return out
end

-- Returns the tokens of each instruction that the text lists: {take = {[queue] = true}, put = {[queue] = true}}.
local function read(s, text)
  local queues, out, line, most = core.stream_facts(s).queues, {}, 0, core.stream_length(s)
  for row in (text .. "\n"):gmatch "([^\n]*)\n" do
    line = line + 1
    if row:find "%S" then
      local number, unit, words = row:match "^%s*(%d+)%s+([%w_]+):(.*)$"
      if not number then wrong(line, EXAMPLE, "'%s' is not an instruction with its tokens", row) end
      local n = math.tointeger(tonumber(number))
      if not n or n < 1 or n > most then wrong(line, nil, "instruction %s is out of range: the stream has %d", number, most) end
      local own = core.stream_instruction(s, n).unit
      if unit ~= own then wrong(line, nil, "instruction %d is executed by %s, not by %s", n, own, unit) end
      if out[n] then wrong(line, nil, "instruction %d has a line already", n) end
      out[n] = read_words(line, words, unit, queues)
    end
  end
  return out
end

-- Removes all tokens. A take without a put is removed with one that is added first.
local function clear(s)
  local first = {}
  local queues = core.stream_facts(s).queues
  local function each(f)
    for n = 1, core.stream_length(s) do f(n, core.stream_instruction(s, n)) end
  end
  each(function(n, i)
    first[i.unit] = first[i.unit] or n
    for _, q in ipairs(i.puts) do core.stream_drop(s, n, q, true, true) end
  end)
  each(function(_, i)
    for _, q in ipairs(i.takes) do
      local by = first[queues[q].from]
      if not by then
        errors.fail("invalid", "make the stream again", "read_tokens: %s executes nothing, but a token of it is taken",
          queues[q].from)
      end
      core.stream_add(s, by, q, true)
      core.stream_drop(s, by, q, true, true)
    end
  end)
end

--- Replaces the tokens of a stream by those of a text. If the text is wrong, the stream stays as it is.
function stream_tokens.read(s, text)
  local tokens = read(s, text)
  clear(s)
  for n, own in pairs(tokens) do
    for q in pairs(own.take) do core.stream_add(s, n, q, false) end
    for q in pairs(own.put) do core.stream_add(s, n, q, true) end
  end
  return s
end

return stream_tokens
