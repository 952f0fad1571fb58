--- Types the cases of slip_cases.lua at a real prompt, and checks the answers.
local pty = require "nw_pty"

local session = {}
session.__index = session

local PATIENCE = 20000 -- milliseconds

--- Starts the program at a prompt. state: the directory for its history.
function session.open(program, state)
  local inputrc = os.tmpname()
  local file = assert(io.open(inputrc, "w"))
  file:write "set enable-bracketed-paste off\n"
  file:close()
  local child = pty.spawn("/usr/bin/env", "XDG_STATE_HOME=" .. state, "TERM=xterm", "INPUTRC=" .. inputrc, "NO_COLOR=1", program)
  assert(child:expect("nw> ", PATIENCE), "no prompt")
  os.remove(inputrc)
  return setmetatable({child = child, marks = 0}, session)
end

--- Types a text, and returns what is shown up to the next prompt. Returns nil if the program does not answer.
function session:send(text)
  self.marks = self.marks + 1
  self.child:send(text .. "\n")
  self.child:send(("do io.write('<%d' .. '>') end\n"):format(self.marks))
  local waited, seen = self.child:expect(("<%d>"):format(self.marks), PATIENCE)
  return waited and seen:gsub("\r", "")
end

function session:close()
  self.child:send "\4"
  return (self.child:finish())
end

-- Returns the sentences about slips in an answer. A sentence has a form between backticks.
local function sentences(answer)
  local out = {}
  for line in (answer .. "\n"):gmatch "(.-)\n" do
    if line:find "`.+`" and (line:find "write" or line:find "call it with a colon") then out[#out + 1] = line end
  end
  return out
end

local function in_backticks(sentence, text) return sentence:find("`" .. text .. "`", 1, true) ~= nil end

-- Returns nil, or what is wrong with the answer to a slip.
local function fault_of(case, answer)
  local found = sentences(answer)
  if #found ~= 1 then return ("%d sentences"):format(#found) end
  if not in_backticks(found[1], case.slip) then return "the slip is not named" end
  if not in_backticks(found[1], case.right) then return "the right form is not shown" end
  if answer:find "hint:" then return "there is a hint beside the sentence" end
end

-- Returns the typed text with the right form in place of the slip.
local function fixed(case)
  if case.fixed then return case.fixed end
  local from, to = case.typed:find(case.slip, 1, true)
  assert(from, case.name .. ": the slip is not in the typed text")
  return case.typed:sub(1, from - 1) .. case.right .. case.typed:sub(to + 1)
end

-- Returns nil, or what is wrong if the right form is run.
local function run_right(self, case)
  local answer = self:send(fixed(case))
  if not answer then return "the right form does not end" end
  if answer:find "repl%[%d+%]:%d+:" or answer:find "`[^\n]*: write `" then return "the right form fails" end
end

--- Types a case. Returns nil, or what is wrong and the answer.
function session:fault(case)
  if case.before then self:send(case.before) end
  local answer = self:send(case.typed)
  if not answer then return "there is no answer", "" end
  local fault = fault_of(case, answer) or not case.leaves and run_right(self, case)
  return fault or nil, answer
end

--- Types a valid program. Returns nil, or what is wrong and the answer.
function session:complaint(code)
  local answer = self:send(code)
  if not answer then return "there is no answer", "" end
  if sentences(answer)[1] then return "it is called a slip", answer end
  if answer:find "repl%[%d+%]:%d+:" then return "it fails", answer end
end

return session
