--- Runs a script with its arguments, and measures the CPU time of every step that the script applies or tries, whether the step is
--- accepted or refused. With NW_SLOWEST=FILE in the environment, writes the number of steps and the five slowest steps to the file
--- as JSON. Processes that the script starts are not measured.
--- usage: nestwright tests/bench/_slowest.lua SCRIPT [ARGS]
local core = require "nestwright.core"
local json = require "nestwright.show.json"

local MOST = 5
local steps, slowest = 0, {}

local function shown(value)
  if type(value) ~= "table" or getmetatable(value) then return tostring(value) end
  local keys, parts = {}, {}
  for key in pairs(value) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  for n, key in ipairs(keys) do parts[n] = shown(value[key]) end
  return "{" .. table.concat(parts, ", ") .. "}"
end

local function add(seconds, call, primitive, arguments)
  steps = steps + 1
  if #slowest == MOST and seconds <= slowest[MOST].seconds then return end
  local _, text = pcall(shown, arguments)
  slowest[#slowest + 1] = {seconds = seconds, step = ("%s %s %s"):format(call, tostring(primitive), tostring(text))}
  table.sort(slowest, function(a, b) return a.seconds > b.seconds end)
  slowest[MOST + 1] = nil
end

-- Returns f with its steps measured.
local function measured(call, f, measure)
  return function(s, primitive, arguments, ...)
    local begun = os.clock()
    local result = table.pack(pcall(f, s, primitive, arguments, ...))
    measure(os.clock() - begun, call, primitive, arguments)
    if not result[1] then error(result[2], 0) end
    return table.unpack(result, 2, result.n)
  end
end

-- An error names the innermost line of the user's code. Code without line numbers is not the user's.
measured = load(string.dump(measured, true))

-- Every step passes one of these two methods: the methods that are named after primitives call s:apply.
local methods = core.classes.schedule.__methods
for _, call in ipairs {"apply", "try"} do methods[call] = measured(call, methods[call], add) end

local function write()
  local path = os.getenv "NW_SLOWEST"
  if not path then return end
  local file <close> = assert(io.open(path, "w"))
  file:write(json.encode {steps = steps, slowest = slowest}, "\n")
end

local exit = os.exit -- most of the scripts end with this call
function os.exit(...) -- luacheck: ignore
  write()
  exit(...)
end

local script = table.remove(arg, 1)
arg[0] = script -- luacheck: ignore
assert(loadfile(script))(table.unpack(arg))
write()
