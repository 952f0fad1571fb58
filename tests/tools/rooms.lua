--- Checks two rules for the structure of the sources: a folder holds at most 45 sources directly, and the public headers declare
--- every name that the library exports.
--- usage: nestwright tests/tools/rooms.lua BUILD     prints what breaks a rule; the exit status is 0 if nothing does
local rooms = {MOST = 45} -- the most sources that a folder may hold directly

-- Returns the output of a command.
local function output_of(command)
  local pipe <close> = assert(io.popen(command))
  return pipe:read "a"
end

--- Returns the number of sources in each folder, by path. The files of tests/golden are data.
function rooms.files_per_folder()
  local count = {}
  local sources = "find core lua plots repl jupyter tests tutorials -type f -regextype egrep -regex '.*[.](c|h|def|lua|py|sh)'"
  for path in output_of(sources):gmatch "[^\n]+" do
    local folder = path:match "^(.*)/"
    if not folder:find "^tests/golden" then count[folder] = (count[folder] or 0) + 1 end
  end
  return count
end

--- Returns the names that the library in a build directory exports and the public headers don't declare, and the number of all
--- that it exports. A name is declared if it stands beside a parenthesis: functions do, and so do the names that module.h lists in
--- X(...).
function rooms.undeclared(build)
  local known, list, exported = {}, {}, 0
  for name in output_of "cat core/include/nestwright/*.h":gmatch "(nw_[%l%d_]+)%f[()]" do known[name] = true end
  for name in output_of("nm -D --defined-only " .. build .. "/lib/libnestwright.so"):gmatch "%x+ %a ([^\n@]+)" do
    exported = exported + 1
    if not known[name] then list[#list + 1] = name end
  end
  assert(exported > 0, "the library exports nothing: is it built?")
  return list, exported
end

if arg and arg[0] and arg[0]:find "tools/rooms%.lua$" then
  local fine = true
  for folder, n in pairs(rooms.files_per_folder()) do
    if n > rooms.MOST then
      print(("%s holds %d sources; part it by subject, so that a folder holds at most %d"):format(folder, n, rooms.MOST))
      fine = false
    end
  end
  for _, name in ipairs((rooms.undeclared(arg[1]))) do
    print(name .. " is exported but not declared: list it in core/include/nestwright/module.h, or remove its NW_API")
    fine = false
  end
  os.exit(fine)
end
return rooms
