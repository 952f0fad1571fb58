--- What was probably meant where the text of a nest is wrong.
local meant = {}

-- What people write who think of C, Python or mathematics: {pattern of the line, or of the message, what to write}.
local MEANT = {
  {"^%s*for%s*%(", "a loop is written: for i in 0..N:"},
  {"range%s*%(", "a loop is written: for i in 0..N:"},
  {"%.%.<", "N itself is never reached: for i in 0..N:"},
  {"step%s*%-", "a loop that runs backwards is written: for i in 0..N reversed:"},
  {"&&", "it is written: and"}, {"||", "it is written: or"},
  {"%+%+", "it is written: += 1"}, {"%-%-", "it is written: -= 1"},
  {"double", "double is f64: array A: f64[N, M]"}, {"float", "float is f32: array A: f32[N, M]"},
  {"%f[%a]int%f[%A]", "int is i32: array A: i32[N, M]"},
  {"^%s*//", "a comment begins with #"}, {";", "lines end statements: no semicolons"},
  {"[{}]", "what is inside of a line is indented deeper, without braces"},
  {"^%s*array [^:]*,", "a line for each array"}, {"^%s*array .*%],", "a line for each array"},
  {"^%s*for .*:%s*%S", "what a loop does stands on lines of its own, indented deeper"},
  {"^%s*while%f[%A]", "loops have bounds: for i in 0..N:"},
  {"is no buffer", "conditions, bounds and indices are of loops and parameters: what is in an array is not known"},
}

local function probably(line, message)
  for _, row in ipairs(MEANT) do
    if line:find(row[1]) or message:find(row[1]) then return row[2] end
  end
end

local function line_of(text, number)
  for line in (text .. "\n"):gmatch "(.-)\r?\n" do
    number = number - 1
    if number == 0 then return line end
  end
  return ""
end

--- The hint of an error in the text of a nest: the line, the place, and what was probably meant.
function meant.hint(e, text)
  local number, column = e.message:match "^(%d+):(%d+): "
  if not number then return e.hint end
  local line = line_of(text, tonumber(number))
  local hint = e.hint or probably(line, e.message)
  if #line > 120 or line:find "[%c\128-\255]" then return hint end
  return ("%s\n%s^%s"):format(line, (" "):rep(column - 1), hint and "\n" .. hint or "")
end

return meant
