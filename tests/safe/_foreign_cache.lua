--- Tests the cache of object code. An object that another user may have written must not be run. If an object is damaged, its
--- program must be compiled again.
local sandbox = require "_sandbox"
local disguises = require "_disguises"
local run, must, quote, write, read = sandbox.run, sandbox.must, sandbox.quote, sandbox.write, sandbox.read

local SCRIPT = [[
local nw = require "nestwright"
local A = nw.placeholder({64}, "f32", "A")
local f = nw.schedule(nw.compute({64}, function(i) return A(i) + (tonumber(arg[1]) or 1) end, "C")):build {threads = 1}
local a = nw.random({64})
local r, ok = f(a), true
for i = 0, 63 do ok = ok and math.abs(r[{i}] - a[{i}] - (tonumber(arg[1]) or 1)) < 1e-6 end
print(ok and "right" or "wrong", f.cached and "cached" or "compiled")
]]

local script = sandbox.root .. "/kernel.lua"
local name -- the name of the object's file
local good -- the contents of this file

local function build(folder, argument)
  return run(("NESTWRIGHT_CACHE=%s exec %s %s %s"):format(folder, quote(sandbox.program), script, argument or ""), 20)
end

local function cache() return sandbox.folder() .. "/c" end

local function object_of(folder) return must(("ls %s"):format(folder)):match "(%x+%.o)\n" end

local function signed(path)
  must(("python3 %s/sign.py %s %s %s %s.signed"):format(sandbox.here, sandbox.library, path, name, path))
  return read(path .. ".signed")
end

local POISON = [[
#include <stdlib.h>
void nw_%s(void) { if (system("echo FOREIGN")) exit(9); exit(9); }
]]

-- Returns an object with this C code and the right checksum, or nil if none can be made.
local function made(source)
  local path = sandbox.folder() .. "/x"
  write(path .. ".c", source)
  local _, status = run(("cc -O1 -fno-pic -mcmodel=large -fno-asynchronous-unwind-tables -c %s.c -o %s"):format(path, path))
  local ok, text = pcall(signed, path)
  return status == 0 and ok and text or nil
end

-- Checks that the session ran code that it compiled itself. If `said` is true, the session must print "not cached" exactly once,
-- and otherwise never.
local function check(out, status, said)
  if status ~= 0 then return ("the session ended with status %s: %s"):format(status, out) end
  if out:find "FOREIGN" then return "the object was run" end
  if not out:find "right\tcompiled" then return out end
  local times = select(2, out:gsub("not cached", ""))
  if times ~= (said and 1 or 0) then return ("the message was printed %d times: %s"):format(times, out) end
end

local function in_place()
  local folder = cache()
  must("mkdir -m 700 " .. folder)
  return folder .. "/" .. name
end

local function folder_of(path) return path:match "^(.*)/" end

-- Checks that a damaged object is compiled again and replaced, so that the next session takes the new object from the cache.
local function recompiled(path)
  local wrong = check(build(folder_of(path)))
  if wrong then return wrong end
  local out = build(folder_of(path))
  if not out:find "right\tcached" then return "the next session does not use the cache: " .. out end
end

local function damaged(title, bytes)
  if not bytes then return sandbox.skip("an object " .. title, "the C compiler is missing, or Python cannot load the library") end
  sandbox.case("an object " .. title, function()
    local path = in_place()
    write(path, bytes)
    must("chmod 600 " .. path)
    return recompiled(path)
  end)
end

local function raw(bytes)
  local path = sandbox.folder() .. "/raw"
  write(path, bytes)
  local ok, text = pcall(signed, path)
  return ok and text or nil
end

-- An object consists of a header of 32 bytes and an ELF file.
local function objects()
  local elf = good:sub(33)
  damaged("of random bytes, with a correct checksum", raw(("\1\7\200"):rep(300)))
  damaged("that is cut short, with a correct checksum", raw(elf:sub(1, 500)))
  damaged("without its function, with a correct checksum", made "int x;")
  damaged("that defines another function, with a correct checksum", made(POISON:format(("0"):rep(32))))
  damaged("with an invalid section table, with a correct checksum", raw(elf:sub(1, 40) .. ("\255"):rep(8) .. elf:sub(49)))
  local folder = cache()
  build(folder, "5")
  damaged("that was made for another key", read(folder .. "/" .. object_of(folder)))
end

-- Tests objects with random changes but a correct checksum. The session may run them, but must not crash.
local function mutated(n)
  if not raw "x" then return sandbox.skip("mutated objects", "Python cannot load the library") end
  local elf = good:sub(33)
  sandbox.case(("%d mutated objects with a correct checksum"):format(n), function()
    for k = 1, n do
      local bytes = elf
      for _ = 1, 12 do
        local at = math.random(2) == 1 and math.random(64) or math.random(math.max(#elf - 600, 1), #elf)
        bytes = bytes:sub(1, at - 1) .. string.char(math.random(0, 255)) .. bytes:sub(at + 1)
      end
      local path = in_place()
      write(path, raw(bytes))
      must("chmod 600 " .. path)
      local out, status = build(folder_of(path))
      if status > 1 then
        local kept = os.getenv "NW_KEEP"
        if kept then write(kept, bytes) end
        return ("object %d ended the session with status %s: %s"):format(k, status, out)
      end
    end
  end)
end

local function directories(poison)
  local function try(title, nobody, change)
    local case = "a cache that " .. title
    if nobody and not sandbox.is_root then return sandbox.skip(case, "only root can make files of another user") end
    sandbox.case(case, function()
      local path = in_place()
      write(path, poison)
      must("chmod 600 " .. path)
      local at = change(folder_of(path)) or folder_of(path)
      local out, status = build(at)
      local wrong = check(out, status, true)
      if wrong then return wrong end
      if read(path) and read(path) ~= poison then return "a file in it was changed" end
    end)
  end
  try("belongs to another user", true, function(folder) must("chown -R 65534 " .. folder) end)
  try("anybody may write to", false, function(folder) must("chmod 777 " .. folder) end)
  try("a group may write to", false, function(folder) must("chmod 770 " .. folder) end)
  try("is a link", false, function(folder) must(("ln -s %s %s2"):format(folder, folder)) return folder .. "2" end)
  try("is a link, if its name is given with a slash at the end", false, function(folder)
    must(("ln -s %s %s2"):format(folder, folder))
    return folder .. "2/"
  end)
  try("is a file", false, function(folder) must(("mv %s %s2; touch %s"):format(folder, folder, folder)) end)
  try("is a FIFO", false, function(folder) must(("mv %s %s2; mkfifo %s"):format(folder, folder, folder)) end)
end

local function upkeep()
  sandbox.case("links at the names that temporary files had in earlier versions", function()
    local path, victim = in_place(), sandbox.folder() .. "/victim"
    write(victim, "precious")
    local out = run(("ln -s %s %s.$$; NESTWRIGHT_CACHE=%s exec %s %s"):format(victim, path, folder_of(path),
      quote(sandbox.program), script))
    if not out:find "right" or read(victim) ~= "precious" then return out end
  end)
  sandbox.case("old files of killed sessions are removed, and new files of other sessions are kept", function()
    local path = in_place()
    local temporary = folder_of(path) .. "/.nestwright-%016x.part"
    local old, new = temporary:format(1), temporary:format(2)
    write(old, "old")
    write(new, "new")
    must("touch -d '2 days ago' " .. old)
    build(folder_of(path))
    if read(old) or not read(new) then return must("ls -a " .. folder_of(path)) end
  end)
  sandbox.case("the oldest objects are removed if the cache is too large", function()
    local path, object = in_place(), "/%s.o"
    for k = 1, 5 do
      local one = folder_of(path) .. object:format(("%d"):format(k):rep(32))
      must(("truncate -s 60M %s && chmod 600 %s && touch -d '%d days ago' %s"):format(one, one, 6 - k, one))
    end
    build(folder_of(path))
    local left = must("ls " .. folder_of(path))
    local function has(digit) return left:find(digit:rep(32), 1, true) ~= nil end
    if has "1" or has "2" or not (has "3" and has "4" and has "5" and left:find(name, 1, true)) then return left end
  end)
end

--- `n` is the number of mutated objects.
return function(n)
  write(script, SCRIPT)
  local folder = cache()
  assert(build(folder):find "right\tcompiled")
  name = object_of(folder)
  good = read(folder .. "/" .. name)
  assert(build(folder):find "right\tcached")
  local poison = made(POISON:format(name:sub(1, 32)))
  sandbox.case("an object that belongs to the user is run", function() -- otherwise, the cases below prove nothing
    local path = in_place()
    if not poison then return end
    write(path, poison)
    must("chmod 600 " .. path)
    if not build(folder_of(path)):find "FOREIGN" then return "the object was not run" end
  end)
  disguises.each("an object", in_place, poison or good, false, function(path)
    local out, status = build(folder_of(path))
    return check(out, status, true)
  end)
  disguises.each_damage("an object", in_place, good, recompiled)
  directories(poison or good)
  objects()
  mutated(n)
  upkeep()
end
