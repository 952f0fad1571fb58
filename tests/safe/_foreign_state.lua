--- Tests the session's own files: histories, the calibration, the times of kernels. A file that another user may have written must
--- not be used. One line of output must say why, and the session must continue.
local sandbox = require "_sandbox"
local sessions = require "_sessions"
local disguises = require "_disguises"
local run, must, quote = sandbox.run, sandbox.must, sandbox.quote

local function count(text, words) return select(2, text:gsub(words:gsub("%p", "%%%0"), "")) end

-- Returns a function that makes a new state folder and returns the path of the file `name` in it.
local function in_state(name)
  return function()
    local folder = sandbox.folder()
    must("mkdir -m 700 " .. folder .. "/nestwright")
    return folder .. "/nestwright/" .. name
  end
end

local function state_of(path) return (path:match "^(.*)/nestwright/") end

-- ---- The prompt

-- The test presses Ctrl-P. If this shows an entry of the file, the file was used as the history.

local HISTORY = ("print 'FOREIGN'\n"):rep(200)

local function prompt(path)
  local child, text = sessions.open(state_of(path))
  if not child then return nil, "the prompt did not appear: " .. text end
  child:send "\16"
  local _, seen = child:expect("FOREIGN", 300)
  text = text .. seen
  child:send "\21print(20 + 3, 'end')\n"
  local answered, rest = child:expect("23\tend", 10000)
  if not answered then return nil, "no answer: " .. text .. rest end
  child:send "os.exit(0)\n"
  local status = child:finish(10000)
  text = text .. rest
  if status ~= 0 then return nil, ("the prompt ended with status %s: %s"):format(status, text) end
  return text
end

local function try_prompt(path)
  local text, wrong = prompt(path)
  if wrong then return wrong end
  if text:find "FOREIGN" then return "the file was used" end
  if count(text, "the history is not saved: ") ~= 1 then return "the message is missing or repeated: " .. text end
end

local function try_damaged_prompt(path)
  return select(2, prompt(path))
end

-- ---- The kernel of a notebook

-- The test asks for the length of the history. If it is more than 100 entries, the file was used as the history.

local NOTEBOOK = ('[1, 1, "FOREIGN"]\n'):rep(200)

local function try_notebook(path)
  local text, wrong = sessions.notebook(state_of(path), {"20 + 3"})
  if wrong then return wrong end
  if not text:find "answer: 23" then return text end
  if tonumber(text:match "history: (%d+)") > 100 then return "the file was used" end
  if count(text, "the history is not saved: ") ~= 1 then return "the message is missing or repeated: " .. text end
end

local function try_damaged_notebook(path)
  local text, wrong = sessions.notebook(state_of(path), {"20 + 3"})
  return wrong or not text:find "answer: 23" and text or nil
end

-- ---- Scripts that use the calibration and the times of kernels

local CALIBRATED = [[
local nw = require "nestwright"
local m = nw.machine()
print("clock " .. m.clock, m.about:find("not measured", 1, true) and "not measured" or "measured")
print(tostring(nw.machine()) ~= "" and "the end")
]]

local MEASURED = [[
local nw = require "nestwright"
local M = nw.size("M", {min = 0})
local A = nw.placeholder({M}, "f32", "A")
local s = nw.schedule(nw.compute({M}, function(i) return A(i) * 2 end, "C"))
local function unrolled(t, p) t:unroll(p.inner) end
local list = nw.microkernels {schedule = s, loop = "i", kernels = {{rows = 1, schedule = unrolled}}}
print(list[1].seconds.first > 100 and "FOREIGN" or "measured", "the end")
]]

local WRITE_ONE = [[
require "nestwright" -- before its modules, which run in its environment
local calibration, core = require "nestwright.measure.calibration", require "nestwright.core"
local h = core.machine_host()
assert(calibration.write(calibration.path(), {format = 1, when = "2026-01-02 03:04", figures = {clock = 7.75}, cpu = h.cpu,
  model = h.model, cores = h.cores, vector_bytes = h.vector_bytes}))
]]

local function script_of(name, text)
  local path = ("%s/%s.lua"):format(sandbox.root, name)
  sandbox.write(path, text)
  return function(state) return run(("XDG_STATE_HOME=%s exec %s %s"):format(state, quote(sandbox.program), path), 30) end
end

-- Returns the name and the text of the only file that a script leaves in its state folder.
local function made_by(script)
  local state = sandbox.folder()
  assert(select(2, script(state)) == 0)
  local name = must(("ls %s/nestwright"):format(state)):gsub("\n", "")
  return name, sandbox.read(("%s/nestwright/%s"):format(state, name))
end

local function tries(script, used, said)
  local function damaged(path)
    local out, status = script(state_of(path))
    if status ~= 0 or not out:find "the end" then return ("the session ended with status %s: %s"):format(status, out) end
    return nil, out
  end
  local function foreign(path)
    local wrong, out = damaged(path)
    if wrong then return wrong end
    if out:find(used, 1, true) then return "the file was used" end
    if count(out, said) ~= 1 then return "the message is missing or repeated: " .. out end
  end
  return foreign, function(path) return (damaged(path)) end
end

-- ---- The state folder itself

local function folders()
  local function try(title, change, nobody)
    local name = "a state folder that " .. title
    if nobody and not sandbox.is_root then return sandbox.skip(name, "only root can make files of another user") end
    sandbox.case(name, function()
      local path = in_state "history"()
      sandbox.write(path, HISTORY)
      must("chmod 600 " .. path)
      change(path:match "^(.*)/")
      return try_prompt(path)
    end)
  end
  try("belongs to another user", function(folder) must("chown -R 65534 " .. folder) end, true)
  try("anybody may write to", function(folder) must("chmod 777 " .. folder) end)
  try("is a file", function(folder) must(("mv %s %s2; touch %s"):format(folder, folder, folder)) end)
  try("is a FIFO", function(folder) must(("mv %s %s2; mkfifo %s"):format(folder, folder, folder)) end)
end

-- A file in the state folder may be a link to another file of the user, because some users keep their settings elsewhere.
local function linked()
  sandbox.case("a history that is a link to the user's own file", function()
    local path, real = in_state "history"(), sandbox.folder() .. "/mine"
    sandbox.write(real, "print 'FOREIGN'\n")
    must(("chmod 600 %s; ln -s %s %s"):format(real, real, path))
    local text, wrong = prompt(path)
    if wrong then return wrong end
    if not text:find "FOREIGN" then return "the history was not used" end
    if must("readlink " .. path) ~= real .. "\n" then return "the link is gone" end
    if not sandbox.read(real):find("print(20 + 3, 'end')", 1, true) then return "no line was added to the history" end
  end)
end

-- Checks that both histories are cut to a maximum length.
local function trimmed(with_notebook)
  sandbox.case("a long history of the prompt is trimmed", function()
    local path, lines = in_state "history"(), {}
    for n = 1, 7000 do lines[n] = ("print(%d)"):format(n) end
    sandbox.write(path, table.concat(lines, "\n") .. "\n")
    must("chmod 600 " .. path)
    local _, wrong = prompt(path)
    if wrong then return wrong end
    local n = count(sandbox.read(path), "\n")
    if n < 4000 or n > 5010 or not sandbox.read(path):find("print(7000)", 1, true) then return n .. " lines are left" end
  end)
  if not with_notebook then return end
  sandbox.case("a long history of notebooks is trimmed", function()
    local path, lines = in_state "notebook_history"(), {}
    for n = 1, 12000 do lines[n] = ('[1, %d, "cell %d"]'):format(n, n) end
    sandbox.write(path, table.concat(lines, "\n") .. "\n")
    must("chmod 600 " .. path)
    local text, wrong = sessions.notebook(state_of(path), {"20 + 3"})
    if wrong then return wrong end
    local n = count(sandbox.read(path), "\n")
    if n < 4000 or n > 5010 or not sandbox.read(path):find("cell 12000", 1, true) then return n .. " lines are left" end
    if not text:find "history: 50%d%d" then return text end
  end)
end

--- `with_notebook`: true to test the histories of notebooks too.
return function(with_notebook)
  disguises.each("a history", in_state "history", HISTORY, false, try_prompt)
  disguises.each_damage("a history", in_state "history", HISTORY, try_damaged_prompt)
  folders()
  linked()
  if with_notebook and not sessions.notebook(sandbox.folder(), {"1"}) then
    with_notebook = false
    sandbox.skip("histories of notebooks", "the kernel or the Jupyter client is missing")
  end
  if with_notebook then
    disguises.each("a notebook's history", in_state "notebook_history", NOTEBOOK, false, try_notebook)
    disguises.each_damage("a notebook's history", in_state "notebook_history", NOTEBOOK, try_damaged_notebook)
  end
  trimmed(with_notebook)
  local name, text = made_by(script_of("write_one", WRITE_ONE))
  local foreign, damaged = tries(script_of("calibrated", CALIBRATED), "clock 7.75", "the calibration is not used: ")
  disguises.each("a calibration", in_state(name), text, false, foreign)
  disguises.each_damage("a calibration", in_state(name), text, damaged)
  local measured = script_of("measured", MEASURED)
  name, text = made_by(measured)
  text = text:gsub("%d%.%d+e%-%d+", "1000.5"):gsub("0%.0%d+", "1000.5")
  foreign, damaged = tries(measured, "FOREIGN", "the times of kernels cannot be kept: ")
  disguises.each("kernels' times", in_state(name), text, false, foreign)
  disguises.each_damage("kernels' times", in_state(name), text, damaged)
end
