--- Values of the arithmetic in sizes that programs show: "M // 16 + 1", "max(M, N) % 4 == 0". A text that is anything else has
--- no value, and nothing of it is run.
local arithmetic = {}

local WORDS = {["and"] = true, ["or"] = true, ["not"] = true, ["true"] = true, ["false"] = true}

--- The value of a text where names have these values; nil where it has none.
function arithmetic.value(text, given)
  if text:find "[^%w_%s+%-*/%%(),<>=~]" then return nil end
  local names = {min = math.min, max = math.max}
  for word in text:gmatch "%f[%w_][%a_][%w_]*" do
    if given[word] ~= nil then names[word] = given[word] end
    if names[word] == nil and not WORDS[word] then return nil end
  end
  local chunk = load("return " .. text, "=size", "t", names)
  local ok, value = pcall(chunk)
  if ok then return value end
end

return arithmetic
