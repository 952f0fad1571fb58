--- Runs sessions as a user does: at the prompt of a terminal, and with the kernel of a notebook.
local sandbox = require "_sandbox"
local quote = sandbox.quote

package.cpath = sandbox.program:match "^(.*)/bin/" .. "/lib/lua/?.so;" .. package.cpath
local pty = require "nw_pty"

local sessions = {}

local INPUTRC = sandbox.root .. "/inputrc"
sandbox.write(INPUTRC, "set enable-bracketed-paste off\n")

--- Starts a prompt with this state folder and returns it, or nil if it does not start. `before` is a shell command that runs
--- first.
function sessions.open(state, before)
  local command = ("%s exec env XDG_STATE_HOME=%s NO_COLOR=1 TERM=xterm INPUTRC=%s %s"):format(before or "", quote(state), INPUTRC,
    quote(sandbox.program))
  local child = pty.spawn("/bin/sh", "-c", command)
  local waited, seen = child:expect("nw> ", 10000)
  if waited then return child, seen end
  child:finish(10)
  return nil, seen
end

--- Starts a prompt, sends it some lines, and ends it. Returns the whole output, and a message if something was wrong.
function sessions.prompt(state, lines, before)
  local child, text = sessions.open(state, before)
  if not child then return text, "the prompt did not appear: " .. text end
  for n, line in ipairs(lines) do
    child:send(line .. "\n")
    child:send(("do io.write('<%d' .. '>') end\n"):format(n))
    local waited, seen = child:expect(("<%d>"):format(n), 15000)
    text = text .. seen
    if not waited then return text, ("line %d was not answered: %s"):format(n, seen) end
  end
  child:send "os.exit(0)\n"
  local status = child:finish(10000)
  return text, status ~= 0 and "the prompt ended with status " .. status or nil
end

local function client()
  if sessions.has_client == nil then
    sessions.has_client = not sandbox.run(("/usr/bin/python3 %s/notebook.py"):format(sandbox.here)):find "^absent"
      and sandbox.read(sandbox.kernel) ~= nil
  end
  return sessions.has_client
end

--- Starts the kernel of a notebook, sends it some cells, and ends it. Returns the whole output, and a message if something was
--- wrong. Returns nil if the kernel or its client is missing.
function sessions.notebook(state, cells, before)
  if not client() then return nil end
  local words = {}
  for n, cell in ipairs(cells) do words[n] = quote(cell) end
  local out, status = sandbox.run(("XDG_STATE_HOME=%s /usr/bin/python3 -W ignore %s/notebook.py %s %s %s %s"):format(quote(state),
    sandbox.here, quote(sandbox.kernel), sandbox.folder(), quote(before or ""), table.concat(words, " ")))
  return out, status ~= 0 and ("the client ended with status %s: %s"):format(status, out) or nil
end

return sessions
