--- Counts violations of the rules for the structure of the sources. A folder of the code (a room) may call and include only code of
--- the rooms that docs/architecture.md lists before it. Also counts the sources in the fullest folder, and the names that the
--- library exports but does not declare.
package.path = "tests/tools/?.lua;" .. package.path
local rooms = require "rooms"
local BUILD = "build/release"

local function upward()
  local pipe = assert(io.popen("python3 tests/tools/layers.py " .. BUILD))
  local text = pipe:read "a"
  if pipe:close() then return 0 end
  print(text)
  return math.max(1, select(2, text:gsub("\n", "\n")))
end

return function(out)
  local most = 0
  for _, n in pairs(rooms.files_per_folder()) do most = math.max(most, n) end
  out:bar("house.upward", upward(), "<=", 0)
  out:bar("house.files_per_folder_most", most, "<=", rooms.MOST)
  local undeclared, exported = rooms.undeclared(BUILD)
  if #undeclared > 0 then print("undeclared: " .. table.concat(undeclared, " ")) end
  out:bar("house.exports", exported)
  out:bar("house.exports_undeclared", #undeclared, "<=", 0)
end
