--- Finds the local names that are visible at the end of an unfinished piece of code.
local locals = {}

-- Replaces each string and comment by a space. A string or comment that is not closed extends to the end.
local function bare(code)
  local out, at = {}, 1
  while at <= #code do
    local level = code:match("^%-%-%[(=*)%[", at) or code:match("^%[(=*)%[", at)
    local quote = code:match("^[\"']", at)
    local stop
    if level then
      stop = select(2, code:find("]" .. level .. "]", at, true))
    elseif code:find("^%-%-", at) then
      stop = (code:find("\n", at, true) or #code + 1) - 1
    elseif quote then
      stop = at + 1
      while stop <= #code and code:sub(stop, stop) ~= quote do stop = stop + (code:sub(stop, stop) == "\\" and 2 or 1) end
    end
    out[#out + 1] = (level or quote or stop) and " " or code:sub(at, at)
    at = (level or quote or stop) and (stop or #code) + 1 or at + 1
  end
  return table.concat(out)
end

-- Adds the names of a list, such as "a, b <const>", to a scope.
local function add(scope, list)
  for name in list:gsub("<[^>]*>", ""):gmatch "[%a_][%w_]*" do scope[name] = true end
end

local function open(scopes, names) scopes[#scopes + 1] = names or {} end
local function close(scopes) if #scopes > 1 then scopes[#scopes] = nil end end

-- Has, for each keyword, a function that updates the scopes of the open blocks. `rest` is the code after the keyword. `state` holds
-- the names that a `for` declares, until its `do` opens the block.
local WORDS = {}
WORDS["local"] = function(scopes, rest)
  local name = rest:match "^%s+function%s+([%a_][%w_]*)"
  add(scopes[#scopes], name or rest:match "^%s+([%a_][%w_]*%s*[%w_,<>%s]*)=" or rest:match "^%s+([^\n;]*)" or "")
end
WORDS["function"] = function(scopes, rest)
  open(scopes)
  add(scopes[#scopes], rest:match "^[%s%w_.:]*%(([^()]*)%)" or "")
end
WORDS["for"] = function(_, rest, state)
  state.names = {}
  add(state.names, rest:match "^%s+([%w_,%s]-)%s+in%f[^%w_]" or rest:match "^%s+([%a_][%w_]*)%s*=" or "")
end
WORDS["do"] = function(scopes, _, state)
  open(scopes, state.names)
  state.names = nil
end
WORDS["then"] = function(scopes) open(scopes) end
WORDS["else"] = function(scopes) close(scopes) open(scopes) end
WORDS["repeat"], WORDS["elseif"], WORDS["end"], WORDS["until"] = WORDS["then"], close, close, close

--- Returns the set of local names that are visible at the end of the code. The last word of the code is ignored, because it is
--- still being typed.
function locals.at_end(code)
  local text = bare(code):gsub("[%w_]*$", "")
  local scopes, state, found = {{}}, {}, {}
  for word, at in text:gmatch "%f[%w_]([%a_][%w_]*)()" do
    if WORDS[word] then WORDS[word](scopes, text:sub(at), state) end
  end
  for _, scope in ipairs(scopes) do
    for name in pairs(scope) do found[name] = true end
  end
  return found
end

return locals
