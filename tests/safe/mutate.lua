--- Makes random changes to valid texts: to bytes, words, lines and numbers. All random numbers come from math.random, so a seed
--- determines the changes.
local random = math.random

local CORNERS = {"0", "-1", "1", "2", "63", "255", "2147483647", "2147483648", "-2147483648", "4294967296", "2305843009213693953",
  "4611686018427387904", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "18446744073709551616", "1e308",
  "1e-320", "-0.0", "nan", "inf", "1e999", "0.1", "0x7fffffffffffffff"}
local OPENING = {["("] = ")", ["["] = "]", ["{"] = "}", ['{"a":'] = "}", ["-"] = "", ["not "] = "", ["1 + ("] = ")",
  ["max(1, "] = ")",  ["for i in 0..2:\n"] = "", ["if 1 < 2:\n"] = ""}
local OPENINGS = {}
for opening in pairs(OPENING) do OPENINGS[#OPENINGS + 1] = opening end
table.sort(OPENINGS)

-- Divides a text into words, numbers, spaces and single punctuation marks.
local function words_of(text)
  local words, at = {}, 1
  while at <= #text do
    local word = text:match("^%d[%w.]*", at) or text:match("^[%a_][%w_]*", at) or text:match("^%s+", at) or text:sub(at, at)
    words[#words + 1] = word
    at = at + #word
  end
  return words
end

local function lines_of(text)
  local lines = {}
  for line in text:gmatch "[^\n]*\n?" do if line ~= "" then lines[#lines + 1] = line end end
  return lines
end

local function with_byte(text, change)
  local at = random(#text)
  return text:sub(1, at - 1) .. string.char(change(text:byte(at))) .. text:sub(at + 1)
end

-- Calls change(list, a, b) to change a list of pieces at two random positions. Returns the text of the list.
local function with_pieces(pieces, change)
  change(pieces, random(#pieces), random(#pieces))
  return table.concat(pieces)
end

local function swap(list, a, b) list[a], list[b] = list[b], list[a] end
local function delete(list, a) table.remove(list, a) end
local function double(list, a, b) table.insert(list, b, list[a]) end

local function corner(list, a)
  for n = 0, #list - 1 do -- replaces the first number at or after this position
    local at = (a + n - 1) % #list + 1
    if list[at]:find "^%d" then
      list[at] = CORNERS[random(#CORNERS)]
      return
    end
  end
end

-- Replaces a word at or after position a with another word of the text. Both are numbers, or both are names.
local function another(list, a)
  for n = 0, #list - 1 do
    local at = (a + n - 1) % #list + 1
    local sort = list[at]:match "^%d" and "^%d" or list[at]:match "^[%a_]" and "^[%a_]"
    if sort then
      for _ = 1, 20 do
        local from = random(#list)
        if from ~= at and list[from]:find(sort) and list[from] ~= list[at] then
          list[at] = list[from]
          return
        end
      end
    end
  end
end

-- The first GENTLE changes of this list are small. A text with a small change is often accepted, and must then be usable.
local GENTLE = 5
local WAYS = {
  function(text) return with_pieces(words_of(text), corner) end,
  function(text) return with_pieces(words_of(text), another) end,
  function(text) return with_pieces(words_of(text), another) end,
  function(text) return with_pieces(lines_of(text), double) end,
  function(text) return with_pieces(lines_of(text), delete) end,
  function(text) return with_byte(text, function(b) return b ~ (1 << random(0, 7)) end) end,
  function(text) return with_byte(text, function() return random(0, 255) end) end,
  function(text) return text:sub(1, random(0, #text - 1)) end,
  function(text)
    local a, n = random(#text), random(20)
    return text:sub(1, a - 1) .. text:sub(a + n)
  end,
  function(text) return with_pieces(words_of(text), swap) end,
  function(text) return with_pieces(words_of(text), delete) end,
  function(text) return with_pieces(words_of(text), double) end,
  function(text) return with_pieces(lines_of(text), swap) end,
  function(text, other)
    return text:sub(1, random(0, #text)) .. other:sub(random(#other))
  end,
  function(text)
    local words, depth, opening = words_of(text), ({4, 60, 300, 3000, 50000})[random(5)], OPENINGS[random(#OPENINGS)]
    local at = random(#words)
    words[at] = opening:rep(depth) .. words[at] .. OPENING[opening]:rep(random(2) == 1 and depth or 0)
    return table.concat(words)
  end,
}

--- Returns the text with one to three changes. `other` is a text of the same kind. Some changes insert parts of `other`.
return function(text, other)
  local most = random(2) == 1 and GENTLE or #WAYS
  for _ = 1, ({1, 1, 2, 3})[random(4)] do
    if #text == 0 or #text > 1 << 21 then break end
    text = WAYS[random(most)](text, other)
  end
  return text
end
