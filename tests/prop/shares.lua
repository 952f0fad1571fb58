--- Runs the property test in several processes, each with a part of the cases. Also makes schedules again from their traces, in
--- another process.
local kernels = require "kernels"

local shares = {}

local ME = "/proc/$PPID/exe"

local function shown(v)
  if type(v) == "string" then return ("%q"):format(v) end
  if type(v) ~= "table" then return math.type(v) == "float" and ("%a"):format(v) or tostring(v) end
  local parts = {}
  for key, item in pairs(v) do parts[#parts + 1] = ("[%s] = %s"):format(shown(key), shown(item)) end
  return "{" .. table.concat(parts, ", ") .. "}"
end

local function write(path, value)
  local file = assert(io.open(path, "w"))
  file:write("return " .. shown(value))
  assert(file:close())
end

-- ---------------------------------------------------------------- schedules made again in another process

--- Makes the schedules of a file again. schedule_of(number, seed) returns the naive schedule. Prints the differences, and
--- returns true if there are none.
function shares.replay(path, schedule_of)
  local fine = true
  for _, one in ipairs(dofile(path)) do
    local ok, err = pcall(function()
      local s = schedule_of(one.number, one.seed)
      for _, name in ipairs(one.kernels) do kernels.id(name) end
      s:replay(one.trace)
      if s:text() ~= one.text then error("the trace makes another program:\n" .. s:text(), 0) end
    end)
    if not ok then
      fine = false
      print(("case %d in another process: %s"):format(one.number, tostring(err)))
    end
  end
  return fine
end

--- Makes the schedules of a batch again in another process. Returns the list of messages.
function shares.replayed_elsewhere(held)
  local list, messages = {}, {}
  if os.getenv "NW_EMULATED" then return messages end -- the new process is not emulated
  for n, one in ipairs(held) do
    local used = {} -- the new process must register the intrinsics before it reads a trace
    for _, step in ipairs(one.list) do
      for _, arg in ipairs(step.args) do if type(arg) == "table" and arg.kernel then used[#used + 1] = arg.kernel end end
    end
    list[n] = {number = one.number, seed = one.seed, trace = one.made.s:trace "json", text = one.made.s:text(), kernels = used}
  end
  local path = os.tmpname()
  write(path, list)
  local process = assert(io.popen(("exec %s %s --replay %s 2>&1"):format(ME, arg[0], path)))
  local said = process:read "a"
  local ended = process:close()
  os.remove(path)
  if not ended then messages[1] = said ~= "" and said or "the process that makes schedules again failed without a message" end
  return messages
end

-- ---------------------------------------------------------------- shares of the cases

local function plain(found)
  return {figures = found.figures, accepted = found.seen.accepted, refused = found.seen.refused, of = found.seen.of,
    slowest = found.slowest, examined = found.examine.counts, reasons = found.examine.reasons, results = found.results.counts}
end

--- Writes the figures of a share.
function shares.write(path, found) write(path, plain(found)) end

local function add(into, more)
  for key, n in pairs(more) do into[key] = (into[key] or 0) + n end
end

--- Runs the cases in several processes and adds up their figures. Other output of the processes is printed.
function shares.run(script, options, first, last, found)
  local processes = {}
  local each = (last - first) // options.jobs + 1
  for from = first, last, each do
    local path = os.tmpname()
    local process = assert(io.popen(("exec %s %s --partial %s --seed %d --steps %d --first %d --cases %d"):format(ME, script, path,
      options.seed, options.steps, from, math.min(from + each - 1, last))))
    processes[#processes + 1] = {path = path, process = process}
  end
  local into = plain(found)
  for _, one in ipairs(processes) do
    for line in one.process:lines() do
      print(line)
      io.stdout:flush()
    end
    local more = one.process:close() and dofile(one.path)
    os.remove(one.path)
    if not more then
      print "  a process of the property test ended early"
      more = {figures = {failed = 1, crashes = 1}}
    end
    for _, name in ipairs {"figures", "accepted", "refused", "of", "examined", "reasons", "results"} do
      add(into[name], more[name] or {})
    end
    if more.slowest and more.slowest.seconds > found.slowest.seconds then
      for key, value in pairs(more.slowest) do found.slowest[key] = value end
    end
  end
end

--- Writes the figures of a run, if NW_FIGURES names a file.
function shares.figures(figures, more)
  local path = os.getenv "NW_FIGURES"
  if not path then return end
  local parts = {}
  for _, list in ipairs {figures, more} do
    for name, value in pairs(list) do parts[#parts + 1] = ("  %q: %.10g"):format(name, value) end
  end
  table.sort(parts)
  local file = assert(io.open(path, "w"))
  file:write("{\n" .. table.concat(parts, ",\n") .. "\n}\n")
  assert(file:close())
end

return shares
