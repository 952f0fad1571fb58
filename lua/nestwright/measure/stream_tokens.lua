--- The tokens of a stream as a text that can be edited and read back: a line for each instruction that takes or puts tokens, such
--- as `7 compute: take load->compute, put compute->store`.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"

local stream_tokens = {}

local EXAMPLE = "a line is like: 7 compute: take load->compute, put compute->store"

--- Returns the name of a queue, such as "load->compute".
function stream_tokens.name(queue) return ("%s->%s"):format(queue.from, queue.to) end

--- Returns the number of the queue with a name; if there is none, nil and the names of all queues.
function stream_tokens.find(queues, name)
  local names = {}
  for q, row in ipairs(queues) do
    names[q] = stream_tokens.name(row)
    if names[q] == name then return q end
  end
  return nil, table.concat(names, ", ")
end

--- Returns the tokens of a stream as text.
function stream_tokens.write(s)
  local queues, lines = core.stream_facts(s).queues, {}
  for n = 1, core.stream_length(s) do
    local i, words = core.stream_instruction(s, n), {}
    for _, q in ipairs(i.takes) do words[#words + 1] = "take " .. stream_tokens.name(queues[q]) end
    for _, q in ipairs(i.puts) do words[#words + 1] = "put " .. stream_tokens.name(queues[q]) end
    if #words > 0 then lines[#lines + 1] = ("%d %s: %s\n"):format(n, i.unit, table.concat(words, ", ")) end
  end
  return table.concat(lines)
end

-- ---- reading

local function wrong(line, hint, why, ...)
  errors.fail("invalid", hint, "read_tokens: line %d: " .. why, line, ...)
end

-- Reads the words after the colon, for example "take load->compute, put compute->store".
local function read_words(line, text, n, unit, queues)
  local out = {take = {}, put = {}}
  for word in (text .. ","):gmatch "([^,]*)," do
    local how, from, to = word:match "^%s*(%l+)%s+([%w_]+)%s*%->%s*([%w_]+)%s*$"
    if how ~= "take" and how ~= "put" then
      wrong(line, EXAMPLE, "'%s' neither takes nor puts a token", word:match "^%s*(.-)%s*$")
    end
    local name = stream_tokens.name {from = from, to = to}
    local q, names = stream_tokens.find(queues, name)
    if not q then wrong(line, "one of " .. names, "there is no queue '%s'", name) end
    if unit ~= (how == "take" and to or from) then
      wrong(line, nil, "instruction %d is executed by %s, which does not %s tokens %s %s", n, unit, how,
        how == "take" and "from" or "into", name)
    end
    if out[how][q] then wrong(line, nil, "the instruction has '%s %s' twice", how, name) end
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
      out[n] = read_words(line, words, n, unit, queues)
    end
  end
  return out
end

local function clear(s)
  for n = 1, core.stream_length(s) do
    local i = core.stream_instruction(s, n)
    for _, list in ipairs {i.takes, i.puts} do
      for _, q in ipairs(list) do core.stream_drop(s, n, q, true) end
    end
  end
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
