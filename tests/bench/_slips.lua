--- Counts the slips that are answered with one sentence, at a real prompt, and in the kernel where it answers otherwise. The
--- sentence must name the slip and show the right form, and the right form must run. A valid program that gets such a sentence is
--- a failure.
package.path = "tests/spec/?.lua;" .. package.path
package.cpath = "build/release/lib/lua/?.so;" .. package.cpath
local cases = require "slip_cases"
local session = require "slip_session"

local slips = {}

local PROGRAM = "build/release/bin/nestwright"
local KERNEL = [[JUPYTER_PATH=$PWD/build/release/share/jupyter XDG_STATE_HOME=%s JUPYTER_RUNTIME_DIR=%s /usr/bin/python3 -W ignore
  tests/jupyter/test_slips.py >build/bench/language_slips.log 2>&1]]

-- Returns true if the cells of the kernel's test are answered too.
local function in_kernel(state)
  if not os.execute("build/release/bin/nestwright --install-kernel --prefix build/release >/dev/null") then return false end
  return os.execute((KERNEL:gsub("\n%s*", " "):format(state, state))) == true
end

-- Returns nil, or what is wrong if the right form does not end the program.
local function leaves(open, case)
  open.child:send(case.right .. "\n")
  return open.child:finish() ~= 0 and "the right form does not end the program" or nil
end

--- Records the figures.
function slips.figures(out)
  local state, answered, wrong, open = os.tmpname(), 0, 0, nil
  os.remove(state)
  local kernel = in_kernel(state)
  if not kernel then print "slips: the kernel does not answer as expected; see build/bench/language_slips.log" end
  for _, case in ipairs(cases.cases) do
    open = open or session.open(PROGRAM, state)
    local fault, answer = open:fault(case)
    if not fault and case.leaves then
      fault, open = leaves(open, case), nil
    end
    if not fault and case.kernel and not kernel then fault = "in the kernel" end
    if fault then
      print(("slip %s: %s: %s"):format(case.name, fault, answer))
    else
      answered = answered + 1
    end
  end
  for _, code in ipairs(cases.valid) do
    open = open or session.open(PROGRAM, state)
    local fault, answer = open:complaint(code)
    if fault then print(("valid program: %s: %s: %s"):format(code, fault, answer)) end
    wrong = wrong + (fault and 1 or 0)
  end
  if open then open:close() end
  os.execute(("rm -rf '%s'"):format(state))
  out:bar("language.slips", answered, ">=", 50)
  out:bar("language.slips_of", #cases.cases)
  out:bar("language.slips_wrong", wrong, "<=", 0)
end

return slips
