--- Functions for the tests of files. They provide a temporary folder, commands with a time limit, other users, small disks, and
--- counters of cases.
local sandbox = {passed = 0, failed = 0, skipped = 0}

local function quote(text) return "'" .. text:gsub("'", "'\\''") .. "'" end
sandbox.quote = quote

local SECONDS = 60
local counter = 0

--- Runs a shell command. Returns its output and its exit status. The status is 124 or 137 if the command took too long.
function sandbox.run(command, seconds)
  -- The command gets a state folder of its own, so that it does not use the files of the person who runs the tests.
  local state = sandbox.root and "XDG_STATE_HOME=" .. sandbox.root .. "/state" or ""
  local pipe = assert(io.popen(("%s timeout -k 1 %g sh -c %s </dev/null 2>&1; echo \"[$?]\""):format(state, seconds or SECONDS,
    quote(command))))
  local text = pipe:read "a"
  pipe:close()
  local out, status = text:match "^(.*)%[(%d+)%]\n$"
  return out, tonumber(status)
end

--- Runs a shell command that must succeed, and returns its output.
function sandbox.must(command)
  local out, status = sandbox.run(command)
  if status ~= 0 then error(("%s: %s"):format(command, out), 0) end
  return out
end

function sandbox.write(path, text)
  local file = assert(io.open(path, "wb"))
  assert(file:write(text))
  assert(file:close())
end

--- Returns the bytes of a file, or nil if there is none.
function sandbox.read(path)
  local file = io.open(path, "rb")
  if not file then return nil end
  local text = file:read "a"
  file:close()
  return text
end

sandbox.program = sandbox.must("realpath " .. quote(arg[-1])):gsub("\n", "")
sandbox.kernel = sandbox.program .. "-kernel"
sandbox.library = sandbox.program:match "^(.*)/bin/" .. "/lib/libnestwright.so"
sandbox.here = sandbox.must("realpath " .. quote(arg[0]:match "^(.*)/[^/]*$" or ".")):gsub("\n", "")
sandbox.is_root = sandbox.must "id -u" == "0\n"
sandbox.root = sandbox.must "mktemp -d":gsub("\n", "")
sandbox.must("chmod 755 " .. sandbox.root)

--- Returns a new folder.
function sandbox.folder()
  counter = counter + 1
  local path = ("%s/%d"):format(sandbox.root, counter)
  sandbox.must("mkdir " .. path)
  return path
end

--- Returns the prefix that runs a command as a user other than root, or nil if that is not possible.
local OTHER = "setpriv --reuid=65534 --regid=65534 --clear-groups "
function sandbox.as_other()
  if sandbox.other == nil then
    sandbox.other = sandbox.is_root and select(2, sandbox.run(OTHER .. quote(sandbox.program) .. " -v")) == 0 and OTHER or false
  end
  return sandbox.other or nil
end

--- Returns a device that is always full, or nil. For root, it is a new device, because a faulty writer could replace the device of
--- the system with a file.
function sandbox.full_device()
  if not sandbox.is_root then return "/dev/full" end
  local path = sandbox.folder() .. "/full"
  local _, status = sandbox.run(("mknod %s c 1 7 && ! echo x >%s"):format(path, path))
  return status == 0 and path or nil
end

--- Returns a folder on a disk of its own with this many kB of space, or nil if none can be mounted. sandbox.close unmounts it.
local mounted = {}
function sandbox.small_disk(kilobytes)
  local path = sandbox.folder()
  if not sandbox.is_root then return nil end
  local _, status = sandbox.run(("mount -t tmpfs -o size=%dk,mode=755 none %s"):format(kilobytes, path))
  if status ~= 0 then return nil end
  mounted[#mounted + 1] = path
  return path
end

function sandbox.close()
  for _, path in ipairs(mounted) do sandbox.run("umount " .. path) end
  sandbox.run("rm -rf " .. sandbox.root)
end

--- Runs one case. The function `f` returns a message if something went wrong, and nil otherwise. An error also counts as a failure.
function sandbox.case(name, f)
  local ok, wrong = pcall(f)
  if ok and not wrong then
    sandbox.passed = sandbox.passed + 1
    print("ok " .. name)
    return
  end
  sandbox.failed = sandbox.failed + 1
  print("not ok " .. name)
  print("  " .. tostring(wrong):gsub("\n", "\n  "))
end

function sandbox.skip(name, why)
  sandbox.skipped = sandbox.skipped + 1
  print(("skipped %s: %s"):format(name, why))
end

--- Removes the temporary files, writes the figures, and exits.
function sandbox.finish(title, cases, lost)
  sandbox.close()
  local path = os.getenv "NW_FIGURES"
  local all = sandbox.passed + sandbox.failed
  if path then sandbox.write(path, ('{"%s": %d, "%s": %d}\n'):format(cases, all, lost, sandbox.failed)) end
  print(("%s: %d passed, %d failed, %d skipped"):format(title, sandbox.passed, sandbox.failed, sandbox.skipped))
  os.exit(sandbox.failed == 0 and sandbox.passed > 0, true)
end

return sandbox
