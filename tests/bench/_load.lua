--- Makes other work run on this machine, and measures how busy the machine is.
local load = {}

local ME = assert(io.open "/proc/self/stat"):read "n"
local WORK = "i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done"
local BUSY = ("while [ -d /proc/%d ]; do %s; done"):format(ME, WORK) -- ends when this process ends, even if this process is killed
local BURSTS = ("while [ -d /proc/%d ]; do %s; sleep 0.0%%d; done"):format(ME, WORK)

--- The kinds of load. `loops` returns the shell loops to run on a machine with this number of cores.
load.kinds = {
  {name = "quiet", loops = function() return {} end},
  {name = "one busy core", loops = function() return {BUSY} end},
  {name = "all cores busy", loops = function(cores)
    local list = {}
    for n = 1, cores do list[n] = BUSY end
    return list
  end},
  {name = "bursts", loops = function(cores)
    local list = {}
    for n = 1, cores do list[n] = BURSTS:format(30 + 20 * n) end
    return list
  end},
}

--- A load of three busy loops for each core. A thread of the bench then gets only a quarter of a core.
load.heavy = {name = "three busy loops for each core", loops = function(cores)
  local list = {}
  for n = 1, 3 * cores do list[n] = BUSY end
  return list
end}

--- Starts the loops of a kind of load. Returns a function that stops them. The loops also stop if the bench ends.
function load.start(kind, cores)
  local ids = {}
  for n, loop in ipairs(kind.loops(cores)) do
    local pipe = assert(io.popen(("timeout 600 sh -c %q >/dev/null 2>&1 & echo $!"):format(loop)))
    ids[n] = pipe:read "n"
    pipe:close()
  end
  return function()
    for _, id in ipairs(ids) do os.execute(("pkill -P %d; kill %d 2>/dev/null"):format(id, id)) end
  end
end

local function counters()
  local file = assert(io.open "/proc/stat")
  local all, idle, steal, n = 0, 0, 0, 0
  for field in file:read("l"):gmatch "%d+" do
    n = n + 1
    if n <= 8 then all = all + tonumber(field) end
    if n == 4 then idle = tonumber(field) end
    if n == 8 then steal = tonumber(field) end
  end
  file:close()
  return all, idle, steal
end

--- Measures for the given number of seconds. Returns the average number of busy cores, and the fraction of time that the hypervisor
--- took.
function load.now(seconds, cores)
  local all, idle, steal = counters()
  os.execute("sleep " .. seconds)
  local all2, idle2, steal2 = counters()
  local passed = math.max(1, all2 - all)
  return cores * (1 - (idle2 - idle) / passed), (steal2 - steal) / passed
end

--- Waits until fewer than 0.3 cores are busy and the hypervisor takes less than 2 %, but at most `most` seconds. Returns both
--- results of the last measurement: the number of busy cores, and the fraction of time that the hypervisor took.
function load.wait(most, cores)
  local busy, stolen
  for _ = 1, most, 5 do
    busy, stolen = load.now(5, cores)
    if busy < 0.3 and stolen < 0.02 then break end
  end
  return busy, stolen
end

return load
