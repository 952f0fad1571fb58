--- Tests each kind of file when a write fails: on a full disk, in a read-only folder, or because the process is killed. The file
--- must then have its old contents. After a kill, it may also have the new contents. A failed write must not be reported as a
--- success.
--- usage: nestwright tests/safe/files.lua [KILLS]
--- KILLS: the number of writers of each kind that are killed (by default 6). NW_FIGURES=FILE: write the figures as JSON.
package.path = (arg[0]:match "^(.*)/[^/]*$" or ".") .. "/?.lua;" .. package.path
local sandbox = require "_sandbox"
local writers = require "_writers"

local KILLS = tonumber(arg[1]) or 6
local run, must, quote = sandbox.run, sandbox.must, sandbox.quote
local has_gnuplot = select(2, run "gnuplot --version") == 0

local function command(writer, path, which)
  return ("%s %s %s %s"):format(quote(sandbox.program), writer.file, quote(path), which)
end

-- Returns the bytes of the file, and the bytes of its second file if there is one, such as the header of a library.
local function bytes(writer, path)
  local other = writer.with and path:gsub("%.%w+$", writer.with)
  return {sandbox.read(path), other and sandbox.read(other)}
end

local function same(a, b) return a[1] == b[1] and a[2] == b[2] end

-- Returns the bytes that the script writes in a folder where nothing fails.
local function reference(writer, which)
  local path = sandbox.folder() .. "/file" .. writer.suffix
  if writer.grows and which == "b" then must(command(writer, path, "a")) end
  local out = must(command(writer, path, which))
  if out:find "^absent" then return nil, out end
  assert(out:find "^written", out)
  return bytes(writer, path)
end

local function leftovers(folder) return must("find " .. folder .. " -name '.nestwright-*'") end

-- Checks a write that must have failed. The program must report the failure and its reason, and the old contents must remain.
local function check_failure(writer, folder, path, before, out, status)
  if status ~= 0 then return ("the program ended with status %s: %s"):format(status, out) end
  if out:find "^written" then return "the program reports success" end
  if not out:find("failed", 1, true) then return "the program reports no failure: " .. out end
  if not out:find("cannot", 1, true) and not out:find("ulimit", 1, true) then return "the program gives no reason: " .. out end
  if not same(before, bytes(writer, path)) then return "the old contents are lost: " .. out end
  if leftovers(folder) ~= "" then return "a temporary file is left: " .. leftovers(folder) end
end

-- ---- Places that cannot be written to

-- Each function returns the folder, the path of the file, and the text that must precede the command that writes.

local function with_old(writer, folder)
  local path = folder .. "/file" .. writer.suffix
  must(command(writer, path, "a"))
  return folder, path
end

local places = {}

function places.limit(writer)
  local folder, path = with_old(writer, sandbox.folder())
  return folder, path, "ulimit -f 0; "
end

function places.disk(writer)
  local folder = sandbox.small_disk(2048)
  if not folder then return nil, "no file system can be mounted" end
  local _, path = with_old(writer, folder)
  run(("head -c 4000000 /dev/zero >%s/fill"):format(folder))
  return folder, path, ""
end

function places.missing()
  local folder = sandbox.folder()
  return folder, folder .. "/nowhere/file", ""
end

function places.below()
  local folder = sandbox.folder()
  sandbox.write(folder .. "/x", "a file")
  return folder, folder .. "/x/file", ""
end

function places.folder(writer)
  local other = sandbox.as_other()
  if not other then return nil, "needs root and setpriv, to run as a user who may not write everywhere" end
  local folder, path = with_old(writer, sandbox.folder())
  must(("chmod -R a+rX %s && chmod a+rw %s"):format(folder, path))
  return folder, path, other
end

function places.file(writer)
  local other = sandbox.as_other()
  if not other then return nil, "needs root and setpriv, to run as a user who may not write everywhere" end
  local folder, path = with_old(writer, sandbox.folder())
  must(("chown -R 65534 %s && chmod a-w %s"):format(folder, path))
  return folder, path, other
end

local PLACES = {{"limit", "with a limit on file sizes"}, {"disk", "on a full disk"}, {"below", "in a folder that is a file"},
  {"missing", "in a folder that does not exist"}, {"folder", "in a folder that may not be written to"},
  {"file", "over a file that may not be written to"}}

local function try_place(writer, place, title)
  local name = writer.name .. " " .. title
  local folder, path, begin = places[place](writer)
  if not folder then return sandbox.skip(name, path) end
  if not path:find("%.%w+$") then path = path .. writer.suffix end
  sandbox.case(name, function()
    local before = bytes(writer, path)
    local line = command(writer, path, "b")
    if begin:find "^setpriv" then line = begin .. line else line = begin .. "exec " .. line end
    local out, status = run(line)
    return check_failure(writer, folder, path, before, out, status)
  end)
end

-- ---- Targets that are not files

local function try_streams(writer)
  local device = sandbox.full_device()
  if not device then
    sandbox.skip(writer.name .. " to a full device", "no device can be made")
  else
    sandbox.case(writer.name .. " to a full device", function()
      local out = must(command(writer, device, "b"))
      if not out:find("failed: .*cannot write [%w/._-]+/full: no space left") then return out end
      if must("stat -c %F " .. device) ~= "character special file\n" then return "the device is gone" end
    end)
  end
  sandbox.case(writer.name .. " through a link", function()
    local folder, path = with_old(writer, sandbox.folder())
    must(("mv %s %s/real && ln -s real %s"):format(path, folder, path))
    must(command(writer, path, "b"))
    if must("readlink " .. path) ~= "real\n" then return "the link is gone" end
    if not same(bytes(writer, path), writer.b) then return "the file to which the link points does not have the new contents" end
  end)
  sandbox.case(writer.name .. " to a FIFO that nobody reads", function()
    local path = sandbox.folder() .. "/pipe"
    must("mkfifo " .. path)
    local out, status = run(command(writer, path, "b"), 20)
    if status ~= 0 or not out:find "failed: .*no process reads from it" then return out .. status end
  end)
end

-- ---- Processes that are killed

-- Checks the file of a sweep that was killed. Each run of the sweep adds one row, so the rows must be complete and in order.
local function check_rows(path)
  local text, n = sandbox.read(path), 0
  for value in text:gmatch(path:find "csv$" and "\n(%d+)," or '"n": (%d+)') do
    n = n + 1
    if tonumber(value) ~= n then return ("row %d is the row of point %s"):format(n, value) end
  end
  local squares = select(2, text:gsub("x" .. ("x"):rep(49), ""))
  if squares ~= n then return "a row is incomplete" end
end

local function try_killed(writer)
  local folder = sandbox.folder()
  local path = folder .. "/file" .. writer.suffix
  for k = 1, KILLS do
    if writer.grows then os.remove(path) else must(command(writer, path, "a")) end
    -- The process is killed at a random moment after it begins to write.
    local moment = math.random() * 0.25
    run(("{ %s & } | { read ready; sleep %.3f; kill -9 $(cat %s/pid); }"):format(
      ("sh -c 'echo $$ >%s/pid; exec %s'"):format(folder, command(writer, path, "loop"):gsub("'", "")), moment, folder))
    if writer.grows then
      local wrong = sandbox.read(path) and check_rows(path)
      if wrong then return ("kill %d: %s"):format(k, wrong) end
    else
      local now = bytes(writer, path)
      local a, b = writer.a, writer.b
      local whole = (now[1] == a[1] or now[1] == b[1]) and (now[2] == a[2] or now[2] == b[2])
      if not whole then return ("kill %d: %d bytes, which are neither the old nor the new content"):format(k, #(now[1] or "")) end
    end
  end
end

-- ---- The cases

for n, writer in ipairs(writers) do
  writer.file = ("%s/writer%d.lua"):format(sandbox.root, n)
  sandbox.write(writer.file, writer.script)
  local why = writer.gnuplot and not has_gnuplot and "gnuplot is not installed"
  if not why then writer.a, why = reference(writer, "a") end
  if not writer.a then
    sandbox.skip(writer.name, why)
  else
    writer.b = reference(writer, "b")
    for _, place in ipairs(PLACES) do try_place(writer, place[1], place[2]) end
    if writer.stream then try_streams(writer) end
    if KILLS > 0 then sandbox.case(writer.name .. " after its writer was killed", function() return try_killed(writer) end) end
  end
end

require "_states"(KILLS)

sandbox.finish("files", "file_cases", "files_lost")
