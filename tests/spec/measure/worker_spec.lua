--- Tests that a worker that is killed from outside is reported, and that the session continues.
package.path = "tests/tools/?.lua;" .. package.path
local kernels = require "microkernels"
local nw = require "nestwright"
local support = require "support"

local function read(path)
  local file = io.open(path)
  local text = file and file:read "a" or ""
  if file then file:close() end
  return text
end

local OWN = read "/proc/self/stat":match "^%d+"

local function lines(command)
  local pipe, out = assert(io.popen(command)), {}
  for line in pipe:lines() do out[#out + 1] = line end
  pipe:close()
  return out
end

-- Returns the ids of the child processes by name, and the number of zombies among them.
local function children()
  local found, zombies = {}, 0
  for _, pid in ipairs(lines "ls /proc") do
    local name, state, parent = read(("/proc/%s/stat"):format(pid)):match "^%d+ %((.-)%) (%a) (%d+)"
    if parent == OWN then
      found[name] = pid
      if state == "Z" then zombies = zombies + 1 end
    end
  end
  return found, zombies
end

local function worker() return children()["nestwright-work"] end

-- Returns the number of open files of this process. Pipes are not counted, because a pipe belongs to the command that lists the
-- files.
local function files()
  local n = 0
  for _, line in ipairs(lines(("ls -l /proc/%s/fd"):format(OWN))) do
    if not line:find "pipe:" then n = n + 1 end
  end
  return n
end

-- Registers an intrinsic, which the worker compiles and tries. With another name, it is compiled and tried again. `first` is a C
-- statement at the beginning of its function.
local function register(name, first)
  local source = kernels.gemm_source {name = name, m = 4, n = 8, k = 2}
  if first then source = "#include <fcntl.h>\n#include <unistd.h>\n" .. source:gsub("{", "{ " .. first .. ";", 1) end
  return nw.intrinsic {name = name, args = kernels.gemm_tensors(4, 8, 2, "i32"), accumulate = true, source = source, timeout = 30,
    strides = {A = {"any", "any"}, B = {"any", "any"}, C = {"any", "any"}}}
end

describe("a worker", function()
  it("that is killed between two calls is replaced", function()
    register "before_kill"
    local pid = assert(worker())
    os.execute("kill -9 " .. pid)
    assert.equal("after_kill", register "after_kill".name)
    assert.are_not.equal(pid, worker())
  end)

  it("that is killed during a call is reported, and the next call gets a new worker", function()
    register "first_of_all"
    local pid, before, running = assert(worker()), files(), os.tmpname()
    os.remove(running)
    os.execute(("(while [ ! -e %s ]; do sleep 0.1; done; kill -9 %s) &"):format(running, pid))
    local err = support.fails("the worker was killed while slow_one was running %(signal 9", "io", register, "slow_one",
      ('close(creat("%s", 0600)); sleep(20)'):format(running))
    os.remove(running)
    assert.truthy(err.hint:find "a new worker starts")
    assert.equal("after_that", register "after_that".name)
    local found, zombies = children()
    assert.equal(0, zombies)
    assert.truthy(found["nestwright-work"])
    assert.equal(before, files())
  end)

  it("that does not start is reported, and the session continues", function()
    local path = os.tmpname()
    support.write(path, "#!/bin/sh\nkill -9 $$\n")
    os.execute("chmod 700 " .. path)
    local script = [[package.path = "tests/tools/?.lua;" .. package.path
      local kernels, nw = require "microkernels", require "nestwright"
      local function register()
        return nw.intrinsic {name = "one", args = kernels.gemm_tensors(4, 8, 2, "i32"), accumulate = true,
          source = kernels.gemm_source {name = "one", m = 4, n = 8, k = 2},
          strides = {A = {"any", "any"}, B = {"any", "any"}, C = {"any", "any"}}}
      end
      for _ = 1, 2 do
        local ok, err = pcall(register)
        print(ok, err.code, err.message)
      end
      print(nw.zeros({2}).dtype)]]
    local file = os.tmpname()
    support.write(file, script)
    local out, status = support.run(("NESTWRIGHT_WORKER=%s %s %s"):format(path, support.program, file))
    assert.equal(0, status)
    local told = "false\tio\tintrinsic: the worker " .. path .. " did not start: it was ended by signal 9: Killed\n"
    local said, n = out:gsub(told, "")
    assert.equal(2, n, out)
    assert.equal("f32\n", said)
    os.remove(path)
    os.remove(file)
  end)
end)
