--- Tests of text: what they look at is a text for people, so they fail where every word of it is reversed, and house.lua leaves
--- them out. A test is one if the line that failed is a check of its own, in the spec, and looks at a text in one of these ways;
--- a test that fails for any other reason, and every error raised elsewhere, counts.
local left_out = {}

-- Whole files, with the reason.
left_out.files = {
  ["tests/spec/schedule/golden_spec.lua"] = "compares printed programs with files",
  ["tests/spec/language/readme_spec.lua"] = "compares what README prints",
  ["tests/spec/language/docs_spec.lua"] = "compares what the pages of docs print",
}

-- Patterns of the line that failed, with the reason.
left_out.lines = {
  {":find", "looks for words in a text"}, {":match", "looks for words in a text"}, {":gmatch", "counts words in a text"},
  {":gsub", "counts words in a text"}, {"fails%(", "expects the sentence of an error"},
  {"refused%(", "expects the sentence of a refusal"}, {"has_error", "expects the sentence of an error"},
  {"error_matches", "expects the sentence of an error"}, {"%.message", "compares the sentence of an error"},
  {"%.hint", "compares the hint of an error"}, {"%.why", "compares the sentence of a refusal"}, {"tostring%(", "compares a text"},
  {":show%(", "compares a view"}, {":show ", "compares a view"}, {":text%(", "compares the text form"},
  {"parse", "reads the text form back"}, {"replay", "reads the text form back"}, {"assert%.matches", "looks for words in a text"},
  {'assert%.equal%([^,]*"', "compares a text"}, {'assert%.same%([^,]*"', "compares texts"}, {"expect", "waits for words"},
  {":why%(", "names a line by a part of its text"},
}

local sources = {}

local function line_of(file, number)
  if not sources[file] then
    sources[file] = {}
    for line in io.lines(file) do table.insert(sources[file], line) end
  end
  return sources[file][number] or ""
end

--- Is this failure, with the message that busted gives, one of a test of text?
function left_out.is(file, message)
  local at, number = message:match "^(tests/[^:]+):(%d+): "
  if not at then return false end
  if at == "tests/spec/support.lua" then return true, "a helper that expects the sentence of an error" end
  if at ~= file then return false end
  local line = line_of(file, tonumber(number))
  for _, row in ipairs(left_out.lines) do
    if line:find(row[1]) then return true, row[2] end
  end
  return false
end

return left_out
