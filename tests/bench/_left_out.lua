--- Recognises tests of text. These are tests that check a text that is printed for people. house.lua runs all specs in a build that
--- reverses the words of such texts. There, tests of text must fail, so house.lua does not count their failures. A failed test is a
--- test of text if the line that failed matches one of the cases below.
local left_out = {}

-- Spec files in which all tests are tests of text, with the reason.
left_out.files = {
  ["tests/spec/schedule/golden_spec.lua"] = "compares printed programs with files",
  ["tests/spec/language/readme_spec.lua"] = "compares what README prints",
  ["tests/spec/language/docs_spec.lua"] = "compares what the pages of docs print",
}

-- Lua patterns of failed lines, with the reason why a line that matches checks a text.
left_out.lines = {
  {":find", "looks for words in a text"}, {":match", "looks for words in a text"}, {":gmatch", "counts words in a text"},
  {":gsub", "counts words in a text"}, {"fails%(", "expects the sentence of an error"},
  {"refused%(", "expects the sentence of a refusal"}, {"has_error", "expects the sentence of an error"},
  {"error_matches", "expects the sentence of an error"}, {"%.message", "compares the sentence of an error"},
  {"%.hint", "compares the hint of an error"}, {"%.why", "compares the sentence of a refusal"}, {"tostring%(", "compares a text"},
  {":show%(", "compares a view"}, {":show ", "compares a view"}, {":text%(", "compares the text form"},
  {"parse", "reads the text form back"}, {"replay", "reads the text form back"}, {"assert%.matches", "looks for words in a text"},
  {'assert%.equal%([^,]*"', "compares a text"}, {'assert%.same%([^,]*"', "compares texts"}, {"expect", "waits for words"},
  {":why[ %(]", "names a line by a part of its text"}, {"%[%[$", "compares a text of several lines"},
  {"html%(", "compares a text"}, {":export%(path", "recognises a header by its text"},
  {"assert%.equal%(before, events%(", "looks for words in a view"},
  {"assert%.equal%(%d+, n, out%)", "counts sentences that were replaced in a text"},
  {"calls >= #cases", "counts calls in a view"},
  {"truthy%(n >= 5%)", "recognises a grid by the text of a program"},
  {"prefetches%(", "counts words in a view"}, {"first%([st]%)", "looks for words in a view"},
  {"note and progress", "looks for words in what the prompt writes"},
  {"is_nil%(fault", "compares the answer to a slip"},
}

local sources = {}

local function line_of(file, number)
  if not sources[file] then
    sources[file] = {}
    for line in io.lines(file) do table.insert(sources[file], line) end
  end
  return sources[file][number] or ""
end

-- Functions of support.lua that check a text, with the reason.
local SUPPORT = "tests/spec/support.lua"
local of_text = {fails = "expects the sentence of an error", fails_saying = "expects the sentence of an error",
  refuses = "expects the sentence of a refusal", simulates = "recognises a schedule without kernels by its error",
  golden = "compares a text with a file"}

-- Returns the function of support.lua that contains a line.
local function function_at(number)
  for n = number, 1, -1 do
    local name = line_of(SUPPORT, n):match "^function support%.([%w_]+)"
    if name then return name end
  end
end

-- True if the function `name` of a file looks for words in the text of a view, a schedule or its notes.
local function looks_for_words(file, name)
  line_of(file, 1)
  for n, line in ipairs(sources[file]) do
    if line:find("^%s*local function " .. name .. "%(") then
      for k = n, n + 8 do
        local body = line_of(file, k)
        local text = body:find "tostring%(" or body:find ":notes%("
        if text and (body:find ":gsub" or body:find ":find" or body:find ":match") then return true end
        if body:find "^end" then break end
      end
    end
  end
  return false
end

--- True if a failure belongs to a test of text. `message` is the message of busted. Also returns the reason.
function left_out.is(file, message)
  local at, number = message:match "^(tests/[^:]+):(%d+): "
  if not at then return false end
  if at == SUPPORT then return of_text[function_at(tonumber(number))] ~= nil, of_text[function_at(tonumber(number))] end
  if at:find "^tests/prop/" then return true, "random steps are drawn from the text form" end
  if at ~= file then return false end
  local line = line_of(file, tonumber(number))
  for _, row in ipairs(left_out.lines) do
    if line:find(row[1]) then return true, row[2] end
  end
  for name in line:gmatch "([%w_]+)%(" do
    if looks_for_words(file, name) then return true, name .. " looks for words in a text" end
  end
  return false
end

return left_out
