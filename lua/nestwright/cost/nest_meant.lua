--- Makes hints for errors in the text of a nest.
local meant = {}

local DATA = "conditions, bounds and indices may use only loops and parameters, not elements of arrays"
-- Lists mistakes of users who know C, Python or mathematics. Each row has a pattern that matches the line, and a hint.
local MEANT = {
  {"^%s*for%s*%(", "write a loop as: for i in 0..N:"},
  {"range%s*%(", "write a loop as: for i in 0..N:"},
  {"%.%.<", "the upper bound is excluded: for i in 0..N:"},
  {"step%s*%-", "write a backward loop as: for i in 0..N reversed:"},
  {"&&", "write: and"}, {"||", "write: or"},
  {"%+%+", "write: += 1"}, {"%-%-", "write: -= 1"},
  {"double", "double is f64: array A: f64[N, M]"}, {"float", "float is f32: array A: f32[N, M]"},
  {"%f[%a]int%f[%A]", "int is i32: array A: i32[N, M]"},
  {"^%s*//", "a comment begins with #"}, {";", "a statement ends with its line: remove the semicolon"},
  {"[{}]", "a body has no braces: indent it deeper than its loop"},
  {"^%s*array [^:]*,", "declare each array on its own line"}, {"^%s*array .*%],", "declare each array on its own line"},
  {"^%s*for .*:%s*%S", "put the body of a loop on its own lines, indented deeper"},
  {"^%s*while%f[%A]", "loops need bounds: for i in 0..N:"},
  {"^%s*if .*%[", DATA}, {"^%s*for .*%[", DATA}, {"%[[^%]]*%[", DATA},
}

local function probably(line)
  for _, row in ipairs(MEANT) do
    if line:find(row[1]) then return row[2] end
  end
end

local function line_of(text, number)
  for line in (text .. "\n"):gmatch "(.-)\r?\n" do
    number = number - 1
    if number == 0 then return line end
  end
  return ""
end

--- Returns the hint for an error in the text of a nest: the line, a mark at the position of the error, and the likely correction.
--- If the position is unknown or the line cannot be shown, the hint has only the correction, or is nil if there is none.
function meant.hint(e, text)
  local number, column = e.message:match "^(%d+):(%d+): "
  if not number then return e.hint end
  local line = line_of(text, tonumber(number))
  local hint = e.hint or probably(line)
  if #line > 120 or line:find "[%c\128-\255]" then return hint end
  return ("%s\n%s^%s"):format(line, (" "):rep(column - 1), hint and "\n" .. hint or "")
end

return meant
