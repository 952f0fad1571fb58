--- Calls all public functions and methods with wrong arguments. Each call must return a result or raise an error that says what is
--- wrong, and the process must continue.
---
--- A row documents one function or method: its class, name, parameters and their types. A call is made on an object of the class,
--- with arguments of these types. Then one or more arguments are replaced, left out, or added. The answer to a call must be one of
--- the following. Any other answer is "raw", which is a failure:
---   * results that can be printed;
---   * an error of the library with a code, whose message or hint names what was wrong (see below);
---   * an error in a text, with its line and column;
---   * a refused step, with the name of the step;
---   * an error that a callback or a metatable raised, or Lua's error about a callback that yields.
--- An error names what was wrong if its text contains one of the following, as separate words:
---   * the name of a parameter of the row or of its primitive, the name of a field of a table in the row, or the position of the
---     argument ("argument 2");
---   * the name of the function, and the wrong value;
---   * the name of the function, if no parameter has a name, or if only the number of arguments was changed. In the second case,
---     the arguments are valid, but the object may be in a wrong state, for example without a step to undo;
---   * the name of the function, and either the number of bytes that were requested, or the step that removed a loop, or what this
---     machine lacks.
--- A call counts as a crash if it ends its process, or if it takes more than LIMIT seconds and then cannot be interrupted. An
--- interrupted call is reported, but it is not a failure, because a user can interrupt it too.
---
--- The calls run in processes with a memory limit, in a temporary directory. Each process makes at most 100 calls. If a call ends
--- its process, a new process continues with the next call.
--- usage: nestwright tests/safe/api.lua [CALLS [SEED]]     by default, each run has a new seed; NW_FIGURES=FILE: figures as JSON
---        nestwright tests/safe/api.lua call SEED N         makes one call and prints the answer
local here = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = here .. "/?.lua;" .. package.path

local BATCH = 100
local LIMIT = 5 -- seconds
local MEMORY = os.getenv "NW_SAFE_MEMORY" or 6 << 20 -- KiB of address space; sanitizers need "unlimited"
local INTERRUPTED = 130 -- the exit status of a script that was interrupted

-- ---- The process that makes the calls

if arg[1] == "batch" or arg[1] == "call" then
  local calls = require "_api_calls"
  local list = calls.rows()
  if arg[1] == "call" then
    local _, err = calls.make(tonumber(arg[2]), tonumber(arg[3]), list, function(...) print(...) end)
    print(err)
    os.exit(0, true)
  end
  local seed, first, last, path = tonumber(arg[2]), tonumber(arg[3]), tonumber(arg[4]), arg[5]
  local out <close> = assert(io.open(path, "a"))
  for n = first, last do
    local ok, problem = pcall(calls.make, seed, n, list, function(kind, number, text)
      out:write(kind, "\t", number, "\t", text, "\n")
      out:flush()
    end)
    if not ok then out:write("broken\t", n, "\t", (tostring(problem):gsub("%c", " ")), "\n") end
  end
  out:write "end\t0\t\n"
  out:close()
  os.exit(0, false)
end

-- ---- The process that counts the answers

local count = tonumber(arg[1]) or 20000
local seed = tonumber(arg[2]) or math.random(1 << 31)
local directory = os.tmpname()
os.remove(directory)
assert(os.execute("mkdir -p " .. directory))
local pipe = assert(io.popen("pwd"))
local base = pipe:read "l"
pipe:close()
local function absolute(path) return path:find "^/" and path or base .. "/" .. path end

local script, watch = absolute(arg[0]), absolute(here) .. "/_api_watch.sh"
local program = absolute(arg[-1])
local results = directory .. "/results"

local figures = {api_calls = 0, raw_errors = 0, api_crashes = 0}
local long, skipped, classes = {}, {}, {}

-- Makes the calls from `first` to `last` in a new process. Returns the number of the call that ended the process, or nil.
local function batch(first, last)
  local command = ("cd %s && : >%s && ulimit -v %s && XDG_STATE_HOME=$PWD HOME=$PWD %s %s %d %s %s batch %d %d %d %s "
    .. ">/dev/null 2>err </dev/null"):format(directory, results, MEMORY, watch, results, LIMIT, program, script, seed, first, last,
      results)
  local _, kind, status = os.execute(command)
  local at, said, ended
  for line in io.lines(results) do
    local what, n, text = line:match "^(%l+)\t(%d+)\t(.*)$"
    n = tonumber(n)
    if what == "draw" then at, said = n, "making objects for " .. text end
    if what == "call" then at, said, figures.api_calls = n, text, figures.api_calls + 1 end
    if what == "skip" then skipped[text] = true end
    if what == "broken" then error(("call %d cannot be made: %s"):format(n, text)) end
    if what == "raw" then
      figures.raw_errors = figures.raw_errors + 1
      print(("not ok call %d, %s\n  %s"):format(n, said, text))
      local class = said:match "^[^:]*"
      classes[class] = (classes[class] or 0) + 1
    end
    ended = what == "end"
  end
  if ended then return nil end
  if kind == "exit" and status == INTERRUPTED then
    local function_name = (said or "start"):match "^[^:]*"
    long[function_name] = (long[function_name] or 0) + 1
    return at or first
  end
  local err <close> = assert(io.open(directory .. "/err"))
  if not at then error("no call was made: " .. err:read "a") end
  figures.api_crashes = figures.api_crashes + 1
  print(("not ok call %d, %s\n  the call ended its process (%s %s): %s"):format(at, said, kind, status,
    (err:read "a" or ""):sub(-300)))
  return at
end

print(("seed %d"):format(seed))
local first = 1
while figures.api_calls < count do
  local last = first + math.min(BATCH, count - figures.api_calls) - 1
  local ended = batch(first, last)
  first = (ended or last) + 1
end
os.execute("rm -rf " .. directory)

local function list_of(t)
  local out = {}
  for name, n in pairs(t) do out[#out + 1] = n == true and name or ("%s %d"):format(name, n) end
  table.sort(out)
  return table.concat(out, ", ")
end
if next(skipped) then print("skipped, because this build or machine lacks something: " .. list_of(skipped)) end
if next(long) then print(("interrupted after %d seconds: "):format(LIMIT) .. list_of(long)) end
if next(classes) then print("functions with raw errors: " .. list_of(classes)) end
local path = os.getenv "NW_FIGURES"
if path then
  local f <close> = assert(io.open(path, "w"))
  f:write(('{"api_calls": %d, "raw_errors": %d, "api_crashes": %d}\n'):format(figures.api_calls, figures.raw_errors,
    figures.api_crashes))
end
local failed = figures.raw_errors + figures.api_crashes
print(("%sok %d calls with wrong arguments (seed %d): %d raw errors, %d crashes"):format(failed == 0 and "" or "not ",
  figures.api_calls, seed, figures.raw_errors, figures.api_crashes))
os.exit(failed == 0, true)
