--- Counts lost sessions, lost files, and forbidden uses of files of other users. The parts are requests for too much memory, files
--- on full disks, files of other users, calls with wrong arguments, damaged texts under AddressSanitizer, and malformed or repeated
--- messages. Each part is a program of tests/safe. It runs in a process of its own and writes its figures as a flat JSON object.
--- Each run uses a new random seed and prints it. Some parts need the asan build and the kernel, which `./dev bench safe` builds.
package.path = "tests/bench/?.lua;" .. package.path
local bench = require "_bench"

local out = bench.open(arg[1] or "build/bench/safe.json")
local RELEASE, ASAN = "build/release/bin/nestwright", "build/asan/bin/nestwright"
local seed = os.time() % 1000003

-- Returns the figures that a command wrote, or no figures if the command ended early.
local function figures_of(command)
  local path, found = os.tmpname(), {}
  local process = assert(io.popen(("NW_FIGURES=%s %s"):format(path, command)))
  for line in process:lines() do if line:find "^not ok" or not line:find "^ok" then print(line) end end
  process:close()
  local file = assert(io.open(path))
  for name, value in file:read("a"):gmatch '"([^"]+)": ([^,\n}]+)' do found[name] = tonumber(value) end
  file:close()
  os.remove(path)
  return found
end

-- Compares a figure with its bar. A missing figure gets a value that does not meet the bar.
local function bar(list, key, comparison, limit)
  out:bar("safe." .. key, list[key] or (comparison == ">=" and -1 or 1e9), comparison, limit)
end

local memory = figures_of(RELEASE .. " tests/safe/memory.lua")
bar(memory, "memory_cases", ">=", 60)
bar(memory, "sessions_lost", "<=", 0)
local refused = figures_of(("%s tests/safe/refused.lua %d 200"):format(RELEASE, seed))
bar(refused, "requests_refused", ">=", 2000)
bar(refused, "refused_wrong", "<=", 0)
local files = figures_of(RELEASE .. " tests/safe/files.lua")
bar(files, "file_cases", ">=", 24)
bar(files, "files_lost", "<=", 0)
local foreign = figures_of(RELEASE .. " tests/safe/foreign.lua")
bar(foreign, "foreign_cases", ">=", 40)
bar(foreign, "foreign_used", "<=", 0)
local api = figures_of(("%s tests/safe/api.lua 20000 %d"):format(RELEASE, seed))
bar(api, "api_calls", ">=", 20000)
bar(api, "raw_errors", "<=", 0)
bar(api, "api_crashes", "<=", 0)
local parsers = figures_of(("%s tests/safe/parsers.lua 50000 %d"):format(ASAN, seed))
bar(parsers, "parser_cases", ">=", 50000)
bar(parsers, "parser_reports", "<=", 0)
local messages = figures_of(("/usr/bin/python3 tests/safe/messages.py build/release 2000 %d"):format(seed))
bar(messages, "messages", ">=", 2000)
bar(messages, "message_failures", "<=", 0)
out:close()
