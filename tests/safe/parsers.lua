--- Reads randomly changed texts of every kind. Each text must either be accepted and be usable, or be refused by an error of this
--- library with a code. The cases run in separate processes, some hundreds in each. A case fails if it crashes, causes a report of
--- a sanitizer, or does not end.
---
--- With NW_FIGURES=FILE in the environment, the numbers of cases and of failures are written to the file as a flat JSON object.
--- usage: nestwright tests/safe/parsers.lua [CASES [SEED]]      nestwright tests/safe/parsers.lua --case SEED NUMBER
local here = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = here .. "/?.lua;" .. package.path

local BATCH, SLOW, STUCK = 1000, 4, 20 -- cases in a process; seconds until a case is interrupted; seconds until it is killed
local ME = assert(io.popen "readlink /proc/$PPID/exe"):read "l"

-- ---- One case

local function texts_of(kinds, folder)
  local texts = {}
  for _, kind in ipairs(kinds) do
    local list = {}
    while true do
      local file = io.open(("%s/%s.%d"):format(folder, kind.name, #list + 1), "rb")
      if not file then break end
      list[#list + 1] = file:read "a"
      file:close()
    end
    if #list == 0 then list = nil end
    texts[kind.name] = list
  end
  return texts
end

local function drawn(list)
  local sum = 0
  for _, kind in ipairs(list) do sum = sum + kind.share end
  local at = math.random(sum)
  for _, kind in ipairs(list) do
    at = at - kind.share
    if at <= 0 then return kind end
  end
end

-- Returns the kind of a case and its text.
local function made(kinds, texts, seed, number)
  math.randomseed(seed, number)
  local kind = drawn(kinds.list)
  local list = texts[kind.name]
  local text = require "mutate"(list[math.random(#list)], list[math.random(#list)])
  return kind, text
end

-- Returns nil if the case ended with a valid error, and otherwise a message. Valid errors come from the library, from JSON, or
-- from Lua if the text is a program.
local function wrong_end(kind, err)
  local errors = require "nestwright.language.errors"
  if errors.is_error(err) then
    if err.code == "interrupt" then error(err, 0) end
    return (err.code == nil or err.code == "internal") and ("code %s: %s"):format(tostring(err.code), err.message) or nil
  end
  if type(err) ~= "string" then return "an error of type " .. type(err) end
  if kind.name == "json" and err:find "^not JSON: " then return nil end
  if kind.name == "trace_lua" and (err:find "^%[?text" or err:find "^text" or not err:find "nestwright/") then return nil end
  return "an error without a code: " .. err
end

local function run_case(kind, text, path, refused)
  local file <close> = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
  local traced
  local ok, err = xpcall(kind.use, function(e)
    traced = debug.traceback(tostring(e), 2)
    return e
  end, text, path)
  if ok then return true end
  if refused then refused(err) end
  local wrong = wrong_end(kind, err)
  return false, wrong and wrong .. "\n" .. traced
end

-- ---- The process that reads texts

-- Reads the unchanged texts. Most texts of each kind must be accepted, so that the use of accepted texts is tested too.
local function try_valid(kinds, texts, folder)
  for n, kind in ipairs(kinds.list) do
    local taken, why = 0, nil
    io.stderr:write("case 0 ", kind.name, "\n")
    for _, text in ipairs(texts[kind.name]) do
      math.randomseed(n)
      local ok, wrong = run_case(kind, text, ("%s/case-valid.%s"):format(folder, kind.ending), function(e) why = e end)
      if ok then taken = taken + 1 end
      if wrong then io.stderr:write("wrong ", wrong, "\n") end
    end
    if taken < 0.7 * #texts[kind.name] then
      io.stderr:write(("wrong only %d of %d valid texts are accepted: %s\n"):format(taken, #texts[kind.name], tostring(why)))
    end
  end
end

-- Runs the cases from `first` to `last`. Writes the number of each case to stderr first, so that it precedes reports of sanitizers
-- about this case.
local function child(folder, seed, first, last)
  local kinds = require "kinds"
  local texts, taken = texts_of(kinds.list, folder), {}
  if first == 0 then try_valid(kinds, texts, folder) end
  for number = math.max(first, 1), last do
    local kind, text = made(kinds, texts, seed, number)
    io.stderr:write("case ", number, " ", kind.name, "\n")
    local ok, wrong = run_case(kind, text, ("%s/case-%d.%s"):format(folder, first, kind.ending))
    if ok then taken[kind.name] = (taken[kind.name] or 0) + 1 end
    if wrong then io.stderr:write("wrong ", (wrong:gsub("\n", "\n  ")), "\n") end
    if number % 25 == 0 then collectgarbage() end
  end
  local parts = {}
  for name, n in pairs(taken) do parts[#parts + 1] = name .. "=" .. n end
  io.stderr:write("done ", table.concat(parts, " "), "\n")
end

local function show_case(folder, seed, number)
  local kinds = require "kinds"
  local kind, text = made(kinds, texts_of(kinds.list, folder), seed, number)
  print(("case %d, %s, %d bytes:\n%s"):format(number, kind.name, #text, #text < 20000 and text or text:sub(1, 20000) .. "..."))
  print(run_case(kind, text, folder .. "/case." .. kind.ending))
end

-- ---- The driver

local core = require "nestwright.core"

local function shell(command)
  local pipe = assert(io.popen(command))
  local out = pipe:read "a"
  pipe:close()
  return (out:gsub("\n$", ""))
end

local function read(path)
  local file = io.open(path, "rb")
  local text = file and file:read "a" or ""
  if file then file:close() end
  return text
end

local State = {}
State.__index = State

-- Starts the cases from `first` to `last`. Case 0 reads all unchanged texts.
function State:start(first, last)
  local log = ("%s/log-%d"):format(self.folder, first)
  local pid = shell(("XDG_STATE_HOME=%s setsid %s %s --child %s %d %d %d >%s.out 2>%s & echo $!"):format(self.folder, ME, arg[0],
    self.folder, self.seed, first, last, log, log))
  return {pid = pid, log = log, first = first, last = last, at = first, since = core.now(), told = false}
end

local function is_alive(p)
  return read(("/proc/%s/stat"):format(p.pid)):match "%) (%a)" ~= nil and not read(("/proc/%s/stat"):format(p.pid)):find "%) Z"
end

-- Finds the running case by the last number in the log. If it is a new case, its time starts now.
local function look(p)
  local last
  for n in read(p.log):gmatch "case (%d+) " do last = n end
  if last and tonumber(last) ~= p.at then p.at, p.since, p.told = tonumber(last), core.now(), false end
end

local function failure(state, number, kind, what)
  state.failed = state.failed + 1
  print(("not ok %s: case %d of seed %d\n  %s\n  to repeat it: %s %s --case %d %d"):format(kind, number, state.seed,
    (what:gsub("\n", "\n  ")), ME, arg[0], state.seed, number))
  io.flush()
end

local REPORTS = {"ERROR: %w+Sanitizer", "runtime error:", "SUMMARY: %w+Sanitizer"}

-- Reads the log of a process and reports its failed cases. If the process ended early, starts another process for the remaining
-- cases.
local function close(state, p)
  local number, kind, finished, report = p.first, "start", false, {}
  local function report_end()
    if #report > 0 then
      local when = finished and ("at the end of the process with cases %d to %d:\n"):format(p.first, p.last) or ""
      failure(state, number, kind, when .. table.concat(report, "\n", 1, math.min(#report, 30)))
    end
    report = {}
  end
  for line in read(p.log):gmatch "[^\n]+" do
    local n, name = line:match "^case (%d+) (%S+)$"
    if n or line:find "^done" then report_end() end
    if n then
      number, kind = tonumber(n), name
      if number > 0 then state.cases[kind] = (state.cases[kind] or 0) + 1 end
    elseif line:find "^wrong " then
      report[1] = line:sub(7)
    elseif line:find "^done" then
      finished = true
      for k, count in line:gmatch "(%S+)=(%d+)" do state.taken[k] = (state.taken[k] or 0) + tonumber(count) end
    elseif #report > 0 then
      report[#report + 1] = line
    else
      for _, pattern in ipairs(REPORTS) do if line:find(pattern) then report[1] = line break end end
    end
  end
  local known = #report > 0
  report_end()
  if finished then return end
  if p.killed then
    failure(state, number, kind, ("the case did not end, ignored the interrupt, and was killed after %d s"):format(STUCK))
  elseif p.told then
    state.slow = state.slow + 1
  elseif not known then
    failure(state, number, kind, "the case ended its process: " .. read(p.log):sub(-500))
  end
  if number < p.last then table.insert(state.waiting, 1, {number + 1, p.last}) end
end

local function watch(p)
  look(p)
  local seconds = core.now() - p.since
  if seconds > STUCK then
    os.execute("kill -KILL " .. p.pid .. " 2>/dev/null")
    p.killed = true
  elseif seconds > SLOW and not p.told then
    os.execute("kill -INT " .. p.pid .. " 2>/dev/null")
    p.told = true
  end
end

local function summary(state, cases, seconds)
  local names = {}
  for name in pairs(state.cases) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    print(("  %-12s %6d cases, %6d accepted"):format(name, state.cases[name], state.taken[name] or 0))
  end
  if state.failed == 0 then print(("ok texts of %d kinds"):format(#names)) end
  print(("parsers: %d cases, %d failed; %d slow cases were interrupted; %.0f s"):format(cases, state.failed, state.slow, seconds))
  local path = os.getenv "NW_FIGURES"
  if path then
    local file <close> = assert(io.open(path, "w"))
    file:write(('{"parser_cases": %d, "parser_reports": %d}\n'):format(cases, state.failed))
  end
end

local function drive(cases, seed)
  local state = setmetatable({seed = seed, folder = shell "mktemp -d", failed = 0, slow = 0, cases = {}, taken = {},
    waiting = {{0, 0}}}, State)
  print(("mutated texts, seed %d"):format(seed))
  require "kinds".prepare(state.folder, here)
  for first = 1, cases, BATCH do state.waiting[#state.waiting + 1] = {first, math.min(first + BATCH - 1, cases)} end
  local jobs, running, begun = tonumber(shell "nproc"), {}, core.now()
  while #running > 0 or #state.waiting > 0 do
    while #running < jobs and #state.waiting > 0 do
      running[#running + 1] = state:start(table.unpack(table.remove(state.waiting, 1)))
    end
    os.execute "sleep 0.2"
    for n = #running, 1, -1 do
      local p = running[n]
      if is_alive(p) then watch(p) else
        table.remove(running, n)
        look(p)
        close(state, p)
      end
    end
  end
  summary(state, cases, core.now() - begun)
  os.execute("rm -rf " .. state.folder)
  return state.failed == 0
end

if arg[1] == "--child" then
  child(arg[2], math.tointeger(arg[3]), math.tointeger(arg[4]), math.tointeger(arg[5]))
elseif arg[1] == "--case" then
  local folder = shell "mktemp -d"
  require "kinds".prepare(folder, here)
  show_case(folder, math.tointeger(arg[2]), math.tointeger(arg[3]))
  os.execute("rm -rf " .. folder)
else
  os.exit(drive(math.tointeger(arg[1] or 50000), math.tointeger(arg[2] or os.time() % 1000003)), true)
end
