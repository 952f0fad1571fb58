--- Counts violations of the rules for the structure of the sources. A folder of the code (a room) may call and include only code of
--- the rooms that docs/architecture.md lists before it. Also counts the sources in the fullest folder, and the names that the
--- library exports but does not declare.
local BUILD = "build/release"

-- Returns the output of a command, and whether it succeeded.
local function output_of(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read "a"
  return text, pipe:close()
end

local function upward()
  local text, fine = output_of("python3 tests/tools/layers.py " .. BUILD)
  if fine then return 0 end
  print(text)
  return math.max(1, select(2, text:gsub("\n", "\n")))
end

local SOURCES = {c = true, h = true, def = true, lua = true, py = true, sh = true}

local function files_per_folder_most()
  local count, most = {}, 0
  for path in output_of "git ls-files":gmatch "[^\n]+" do
    local folder, kind = path:match "^(.*)/[^/]*%.(%a+)$"
    if folder and SOURCES[kind] and not folder:find "^tests/golden" then
      count[folder] = (count[folder] or 0) + 1
      most = math.max(most, count[folder])
    end
  end
  return most
end

-- Returns the names that stand beside a parenthesis in the public headers. These are the functions, and the names that module.h
-- lists in X(...).
local function declared()
  local names = {}
  for name in output_of "cat core/include/nestwright/*.h":gmatch "(nw_[%l%d_]+)%f[()]" do names[name] = true end
  return names
end

local function exports_undeclared()
  local known, undeclared, exported = declared(), {}, 0
  for name in output_of("nm -D --defined-only " .. BUILD .. "/lib/libnestwright.so"):gmatch "%x+ %a ([^\n@]+)" do
    exported = exported + 1
    if not known[name] then undeclared[#undeclared + 1] = name end
  end
  assert(exported > 0, "the library exports nothing: is it built?")
  if #undeclared > 0 then print("undeclared: " .. table.concat(undeclared, " ")) end
  return #undeclared, exported
end

return function(out)
  out:bar("house.upward", upward(), "<=", 0)
  out:bar("house.files_per_folder_most", files_per_folder_most(), "<=", 45)
  local undeclared, exported = exports_undeclared()
  out:bar("house.exports", exported)
  out:bar("house.exports_undeclared", undeclared, "<=", 0)
end
