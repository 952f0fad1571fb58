--- Tests the session's own files in places where they cannot be written. The session must continue and say in one line that the
--- file is not written. The old contents must remain.
local sandbox = require "_sandbox"
local sessions = require "_sessions"
local run, must, quote = sandbox.run, sandbox.must, sandbox.quote

local function count(text, words) return select(2, text:gsub(words:gsub("%p", "%%%0"), "")) end

local OLD = "print 'of yesterday'\n1 + 1\n"

-- Makes a state folder in `folder`, with a file that has this name and text. Returns `folder`.
local function state_in(folder, name, text)
  must(("mkdir -m 700 %s/nestwright"):format(folder))
  sandbox.write(("%s/nestwright/%s"):format(folder, name), text)
  must(("chmod 600 %s/nestwright/%s"):format(folder, name))
  return folder
end

local function check_history(folder, name, text, wrong, said, old)
  if wrong then return wrong end
  if count(text, said) ~= 1 then return ("'%s' is printed %d times: %s"):format(said, count(text, said), text) end
  local now = sandbox.read(("%s/nestwright/%s"):format(folder, name))
  if now ~= old then return ("the history is now %q"):format(now) end
end

local LIMITED = "the history is not saved: cannot write"

local function prompts()
  sandbox.case("the prompt's history with a limit on file sizes", function()
    local folder = state_in(sandbox.folder(), "history", OLD)
    local text, wrong = sessions.prompt(folder, {"20 + 3", "20 + 4"}, "ulimit -f 0;")
    if not (text:find "23" and text:find "24") then return "no answer: " .. text end
    return check_history(folder, "history", text, wrong, LIMITED, OLD)
  end)
  local disk = sandbox.small_disk(64)
  if not disk then
    sandbox.skip("the prompt's history on a full disk", "no file system can be mounted")
  else
    sandbox.case("the prompt's history on a full disk", function()
      local old = ("1 + 1 -- %s\n"):format(("x"):rep(4085)) -- the line fills a page, so the next line needs a second page
      local folder = state_in(disk, "history", old)
      run(("head -c 100000 /dev/zero >%s/fill"):format(folder))
      local text, wrong = sessions.prompt(folder, {"20 + 3", "20 + 4"})
      return check_history(folder, "history", text, wrong, LIMITED, old)
    end)
  end
  sandbox.case("the prompt's history in a place where no folder can be made", function()
    local text, wrong = sessions.prompt("/proc/nowhere", {"20 + 3"})
    if wrong or not text:find "23" then return wrong or text end
    if count(text, "the history is not saved: cannot make") ~= 1 then return text end
  end)
end

-- Kills prompts while they write the history. Every line of the file must then be complete, and be a line that was typed.
local function killed(kills)
  local folder = state_in(sandbox.folder(), "history", OLD)
  for k = 1, kills do
    local child, seen = sessions.open(folder)
    if not child then return seen end
    for n = 1, 20 do child:send(("print '%s %d'\n"):format(("y"):rep(60), n)) end
    child:expect(("y %d"):format(math.random(2, 18)), 10000)
    child:signal(9)
    child:finish()
    local text = sandbox.read(folder .. "/nestwright/history")
    if text:sub(1, #OLD) ~= OLD and k == 1 then return "the old lines are gone" end
    for line in text:gmatch "[^\n]*\n?" do
      local whole = line == "" or OLD:find(line, 1, true) or line:find("^print '" .. ("y"):rep(60) .. " %d+'\n$")
      if not whole then return ("kill %d: a line is %q"):format(k, line) end
    end
  end
end

local function notebooks()
  local folder = state_in(sandbox.folder(), "notebook_history", '[1, 1, "1 + 1"]\n')
  local text, wrong = sessions.notebook(folder, {"20 + 3", "20 + 4"}, "ulimit -f 0;")
  if not text then
    return sandbox.skip("a notebook's history with a limit on file sizes", "the kernel or the Jupyter client is missing")
  end
  sandbox.case("a notebook's history with a limit on file sizes", function()
    if not (text:find "answer: 23" and text:find "answer: 24") then return text end
    return check_history(folder, "notebook_history", text, wrong, LIMITED, '[1, 1, "1 + 1"]\n')
  end)
end

local CACHED = [[
local nw = require "nestwright"
local A = nw.placeholder({64}, "f32", "A")
local f = nw.schedule(nw.compute({64}, function(i) return A(i) + 1 end, "C")):build {threads = 1}
local a = nw.random({64})
local r, ok = f(a), true
for i = 0, 63 do ok = ok and math.abs(r[{i}] - a[{i}] - 1) < 1e-6 end
print(ok and "right" or "wrong", f.cached)
]]

local function caches(kills)
  local script = sandbox.root .. "/cached.lua"
  sandbox.write(script, CACHED)
  local function build(folder, before)
    return run(("%s NESTWRIGHT_CACHE=%s exec %s %s"):format(before or "", folder, quote(sandbox.program), script))
  end
  sandbox.case("the cache with a limit on file sizes", function()
    local folder = sandbox.folder()
    local out, status = build(folder .. "/c", "ulimit -f 0;")
    if status ~= 0 or not out:find "right" or count(out, "not cached") ~= 1 then return out end
    if must(("find %s/c -type f"):format(folder)) ~= "" then return "a file is left" end
  end)
  local disk = sandbox.small_disk(8)
  if not disk then
    sandbox.skip("the cache on a full disk", "no file system can be mounted")
  else
    sandbox.case("the cache on a full disk", function()
      run(("head -c 100000 /dev/zero >%s/fill"):format(disk))
      local out, status = build(disk)
      if status ~= 0 or not out:find "right" or count(out, "no space left") ~= 1 then return out end
    end)
  end
  sandbox.case("the cache in a place where no folder can be made", function()
    local out, status = build "/proc/nowhere/cache"
    if status ~= 0 or not out:find "right" or count(out, "not cached") ~= 1 then return out end
  end)
  sandbox.case("the cache after a session was killed, perhaps while it wrote an object", function()
    local folder = sandbox.folder()
    for k = 1, kills do
      must(("rm -rf %s/c"):format(folder))
      run(("timeout -s KILL %.3f env NESTWRIGHT_CACHE=%s/c %s %s"):format(0.02 + 0.1 * math.random(), folder,
        quote(sandbox.program), script))
      local out, status = build(folder .. "/c")
      if status ~= 0 or not out:find "right" then return ("kill %d: %s"):format(k, out) end
    end
  end)
end

local MEASURED = [[
local nw = require "nestwright"
local M = nw.size("M", {min = 0})
local A = nw.placeholder({M}, "f32", "A")
local s = nw.schedule(nw.compute({M}, function(i) return A(i) * 2 end, "C"))
local function unrolled(t, p) t:unroll(p.inner) end
local list = nw.microkernels {schedule = s, loop = "i", kernels = {{rows = tonumber(arg[1]), schedule = unrolled}}}
print(list[1].seconds.first > 0 and "measured")
]]

local function measured()
  local script = sandbox.root .. "/measured.lua"
  sandbox.write(script, MEASURED)
  sandbox.case("kernels' times with a limit on file sizes", function()
    local folder = sandbox.folder()
    local command = ("XDG_STATE_HOME=%s exec %s %s"):format(folder, quote(sandbox.program), script)
    local out = must(command .. " 1")
    if not out:find "^measured" then return out end
    local path = must(("ls %s/nestwright/microkernels*"):format(folder)):gsub("\n", "")
    local before = sandbox.read(path)
    local text, status = run("ulimit -f 0; " .. command .. " 2")
    local notes = count(text, "times of kernels cannot be kept: microkernels: cannot write")
    if status ~= 0 or not text:find "measured" or notes ~= 1 then return text end
    if sandbox.read(path) ~= before then return "the old times are lost" end
  end)
end

local function kernelspecs()
  if not sandbox.read(sandbox.kernel) then return sandbox.skip("the kernel's description", "the kernel is missing") end
  sandbox.case("the kernel's description with a limit on file sizes", function()
    local folder = sandbox.folder()
    local command = ("exec %s --install --prefix %s"):format(quote(sandbox.kernel), folder)
    must(command)
    local path = folder .. "/share/jupyter/kernels/nestwright/kernel.json"
    local before = sandbox.read(path)
    local out, status = run("ulimit -f 0; " .. command)
    if status ~= 1 or not out:find "cannot write .*kernel.json: .*; the existing file is unchanged" then return out end
    if sandbox.read(path) ~= before then return "the old description is lost" end
  end)
end

--- `kills` is the number of times that each kind of writer is killed.
return function(kills)
  prompts()
  if kills > 0 then sandbox.case("the prompt's history after the prompt was killed", function() return killed(kills) end) end
  notebooks()
  caches(kills)
  measured()
  kernelspecs()
end
