--- Tests the calibration: its figures must be plausible on any machine. Also tests the file that keeps them.
local nw = require "nestwright"
local core = require "nestwright.core"
local calibration = require "nestwright.measure.calibration"
local support = require "support"
local fails = support.fails_saying

local X86 = core.machine_host().cpu:find "AuthenticAMD" or core.machine_host().cpu:find "GenuineIntel"

local function folder()
  local path = os.tmpname()
  os.remove(path)
  assert(os.execute("mkdir " .. path))
  return path
end

-- Returns a calibration with made-up figures.
local function made_up(figures)
  local h = core.machine_host()
  return {format = 2, when = "2026-01-02 03:04", figures = figures or {clock = 3.25, ["ops.fma.latency"] = 5},
    cpu = h.cpu, model = h.model, cores = h.cores, vector_bytes = h.vector_bytes}
end

describe("the measured figures", function()
  local report
  setup(function() report = X86 and nw.calibrate {keep = false} end)

  local function figures()
    if not X86 then pending "this machine is not x86-64" end
    return report and report.figures
  end

  it("are positive numbers of existing fields, or have a reason why they are not used", function()
    local got = figures()
    if not got then return end
    local n, sources = 0, 0
    for path, value in pairs(got) do
      n = n + 1
      assert.is_true(value >= 0 and value < math.huge, path)
      assert.is_nil(report.doubts[path])
    end
    for path, why in pairs(report.doubts) do
      n = n + 1
      assert.is_true(#path > 3 and #why > 20, path)
    end
    assert.is_true(n > 20)
    for _, f in ipairs(report.machine:fields()) do
      if f.source:find("measured here", 1, true) then
        sources = sources + 1
        assert.equal(got[f.path], f.value, f.path)
      else
        assert.is_nil(got[f.path], f.path)
      end
    end
    local doubted = next(report.doubts) ~= nil
    assert.equal(doubted, tostring(report):find("could not be measured", 1, true) ~= nil)
  end)

  it("have an interval if they depend on other programs", function()
    local got = figures()
    if not got then return end
    for path, interval in pairs(report.intervals) do
      assert.is_true(interval[1] <= got[path] and got[path] <= interval[2], path)
      assert.truthy(path:find "^caches" or path:find "^memory" or path:find "^teams" or path == "window" or path == "foretold",
        path)
    end
  end)

  it("have plausible rates and latencies, and no rate is above the dispatch rate, although other programs run", function()
    local got = figures()
    if not got then return end
    local m = report.machine
    for path, value in pairs(got) do
      local class = path:match "^ops%.(%l+)%.per_cycle"
      if class then assert.is_true(value < 1.05 * (got.dispatch or m.dispatch), path) end
      if class == "add" or class == "mul" or class == "fma" or class == "int" or class == "load" then
        assert.is_true(value > 0.1 and value < 9.1, path)
      end
      if path:find "^ops%..*%.latency" then assert.is_true(value > 0.5 and value < 500, path) end
    end
    for n = 2, #m.caches do
      assert.is_true(m.caches[n].latency * 1.5 > m.caches[n - 1].latency)
      assert.is_true(m.caches[n].effective_bytes <= m.caches[n].bytes)
    end
    assert.is_true(m.memory.latency * m.clock > m.caches[1].latency)
    assert.is_true(m.clock > 0.2 and m.clock < 10)
  end)

  it("are in the record of this host, which names measurement as their source", function()
    local got = figures()
    if not got then return end
    local m = nw.machine()
    local path = next(got)
    if path then assert.truthy(m:source(path):find("measured here", 1, true), path) end
    assert.truthy(m.about:find("measured", 1, true))
    assert.equal("the system", m:source "cores")
    assert.truthy(tostring(report):find("kept for this session only", 1, true))
    assert.is_nil(report.file)
  end)
end)

describe("the file of the calibration", function()
  it("can be read again", function()
    local dir = folder()
    local t = made_up()
    assert(calibration.write(dir .. "/a.json", t))
    assert.same(t, calibration.read(dir .. "/a.json"))
    os.execute("rm -r " .. dir)
  end)

  it("is not used if it is damaged, or belongs to another machine or version", function()
    local dir = folder()
    local path = dir .. "/a.json"
    local function refused(why, change)
      local t = made_up()
      if change then change(t) end
      assert(calibration.write(path, t))
      if not change then support.write(path, support.read(path):sub(1, 40)) end
      local got, said = calibration.read(path)
      assert.is_nil(got)
      assert.truthy(said:find(why, 1, true), said)
    end
    refused "it is damaged"
    refused("of another machine (cpu", function(t) t.cpu = "another" end)
    refused("of another machine (cores", function(t) t.cores = 4711 end)
    refused("another version", function(t) t.format = 99 end)
    refused("it is not a calibration", function(t) t.figures = 3 end)
    refused("is not a number", function(t) t.figures.clock = "fast" end)
    refused("is not a number", function(t) t.figures.clock = -1 end)
    os.execute("rm -r " .. dir)
  end)

  it("may be missing, or be in a folder that cannot be written", function()
    assert.same({}, {calibration.read "/nowhere/a.json"})
    assert.is_nil((calibration.read(nil)))
    assert.is_nil((calibration.write("/nowhere/a.json", made_up())))
    assert.is_nil((calibration.write(nil, made_up())))
    local _, full = calibration.write("/dev/full/x", made_up())
    assert.truthy(full)
  end)

  -- Runs a script in a process of its own, because an environment variable names the state folder.
  local function host_of(state, code)
    local file = os.tmpname() .. ".lua"
    support.write(file, "local nw = require 'nestwright' " .. code)
    local pipe = assert(io.popen(("XDG_STATE_HOME=%s %s %s 2>&1"):format(state, support.program, file)))
    local out = pipe:read "a"
    pipe:close()
    os.remove(file)
    return out
  end

  it("is read by later sessions, and stays unchanged if it gives no valid record", function()
    local dir = folder()
    assert(os.execute(("mkdir %s/nestwright"):format(dir)))
    local path = ("%s/nestwright/%s"):format(dir, calibration.path():match "[^/]*$")
    local say = "local m = nw.machine() print(m.clock, m.ops.fma.latency, m.about)"
    assert.truthy(host_of(dir, say):find("not measured", 1, true))
    assert(calibration.write(path, made_up()))
    local out = host_of(dir, say)
    assert.truthy(out:find("^3.25\t5\t"), out)
    assert.truthy(out:find("measured 2026-01-02 03:04", 1, true), out)
    assert(calibration.write(path, made_up {clock = 1e6}))
    out = host_of(dir, say)
    assert.truthy(out:find("cannot be used: machine: clock: 1e+06 is not in", 1, true), out)
    assert(calibration.write(path, made_up {["caches[9].latency"] = 3, ["not.there[1]"] = 3, clock = 3.5}))
    assert.truthy(host_of(dir, say):find "^3.5\t")
    os.execute("rm -r " .. dir)
  end)

  it("keeps bandwidths and peak rates, which are then not measured again", function()
    local dir = folder()
    assert(os.execute(("mkdir %s/nestwright"):format(dir)))
    local path = ("%s/nestwright/%s"):format(dir, calibration.path():match "[^/]*$")
    local t = made_up()
    local peak = {best = 123e9, median = 122e9, spread = 0.01, samples = {121e9, 122e9, 123e9}}
    t.roofs = {["1"] = {threads = 1, machine = "this", peak = peak, peak_f64 = peak, levels = {
      {name = "L1", best = 1e9, median = 1e9, spread = 0, samples = {1e9}, loop = "read", over = 24576, bytes = 49152}}}}
    assert(calibration.write(path, t))
    local out = host_of(dir, "local r = nw.roofs{threads = 1} print(r.peak.best, #r.levels, r)")
    assert.truthy(out:find "^1230+%.?0?\t1\t1 thread", out)
    os.execute("rm -r " .. dir)
  end)

  it("is not written if the measurement is interrupted", function()
    if not X86 then pending "this machine is not x86-64" return end
    local dir = folder()
    local file = dir .. "/forever.lua"
    support.write(file, "local nw = require 'nestwright' while true do nw.calibrate{keep = false} end")
    local pipe = assert(io.popen(("XDG_STATE_HOME=%s timeout -s INT --preserve-status 1 %s %s 2>&1; echo $?"):format(dir,
      support.program, file)))
    local out = pipe:read "a"
    pipe:close()
    assert.truthy(out:find("interrupted", 1, true), out)
    assert.truthy(out:find "130\n$", out)
    os.execute("rm -r " .. dir)
  end)
end)

describe("nw.calibrate", function()
  it("checks its options", function()
    fails("unknown option 'keeep'", nw.calibrate, {keeep = true})
    fails("keep: expected a boolean", nw.calibrate, {keep = 3})
  end)

  it("keeps the family's rate for a width that was not measured", function()
    local host = require "nestwright.hw.host"
    local m = nw.machine(host.record(made_up {["ops.log.per_cycle[2]"] = 0.0625}))
    local family = nw.machine((host.family()))
    assert.equal(0.0625, m.ops.log.per_cycle[2])
    assert.equal(family.ops.log.per_cycle[1], m.ops.log.per_cycle[1])
    assert.equal(family.ops.log.per_cycle[3], m.ops.log.per_cycle[3])
    assert.truthy(m:source "ops.log.per_cycle[2]":find("measured here", 1, true))
    assert.equal(family:source "ops.log.per_cycle[3]", m:source "ops.log.per_cycle[3]")
  end)

  it("uses the other figures if some rates of a class could not be measured", function()
    local host = require "nestwright.hw.host"
    local plain, t = nw.machine(host.record()), made_up()
    local n = 0
    t.figures, t.doubts = {clock = 3.25}, {}
    for _, f in ipairs(plain:fields()) do
      if f.path:find "^ops" and f.value > 0 then
        n = n + 1
        if n % 2 == 0 then t.figures[f.path] = f.value * 2 else t.doubts[f.path] = "other work disturbed all measurements" end
      end
    end
    local m = nw.machine(host.record(t)) -- the record is valid, also if the widest vectors are in doubt
    assert.equal(3.25, m.clock)
    for _, f in ipairs(m:fields()) do
      if t.figures[f.path] then
        assert.equal("measured here, " .. t.when, f.source, f.path)
        assert.equal(t.figures[f.path], f.value, f.path)
      elseif t.doubts[f.path] then
        assert.truthy(f.source:find("^could not be measured %(other work disturbed all measurements%); "), f.path)
      end
    end
    assert.is_true(n > 100)
    local values = {}
    for _, f in ipairs(m:fields()) do values[f.path] = f.value end
    for _, f in ipairs(plain:fields()) do if t.doubts[f.path] then assert.equal(f.value, values[f.path], f.path) end end
  end)

  it("states which figures could not be measured, and why, in the record and in the report", function()
    local host = require "nestwright.hw.host"
    local path, why = "caches[2].back_per_cycle", "311 was measured, which is not between 0.5 and 130"
    local t = made_up()
    t.doubts = {[path] = why, ["not.there"] = "x", clock = 3}
    local m, plain = nw.machine(host.record(t)), nw.machine(host.record(made_up()))
    if #m.caches < 2 then return pending "this machine has one cache" end
    assert.equal(plain.caches[2].back_per_cycle, m.caches[2].back_per_cycle)
    assert.equal("could not be measured (" .. why .. "); " .. plain:source(path), m:source(path))
    local line = ("  could not be measured (%s); %s: %s"):format(why, plain:source(path), path)
    assert.truthy(tostring(m):find(line, 1, true), tostring(m))
    assert.truthy(m.about:find(", except 1 figure", 1, true))
    assert.is_nil(plain.about:find("except", 1, true))
    local original = core.calibrate
    core.calibrate = function() return {clock = {value = 3.25}, [path] = {doubt = why}} end
    local ok, report = pcall(nw.calibrate, {keep = false})
    core.calibrate = original
    calibration.forget()
    assert(ok, report)
    assert.equal(why, report.doubts[path])
    assert.is_nil(report.figures[path])
    assert.truthy(tostring(report):find("1 of 2 figures could not be measured; the values of the CPU family are used", 1, true))
    assert.truthy(tostring(report):find(("  %s: %s\n"):format(path, why), 1, true))
    assert.equal(plain.caches[2].back_per_cycle, report.machine.caches[2].back_per_cycle)
  end)

  it("may give every field of the record its own source", function()
    local host = require "nestwright.hw.host"
    local all, n = {}, 0
    for _, row in ipairs(nw.machine(host.record()):fields()) do
      if type(row.value) == "number" then all[row.path], n = row.value, n + 1 end
    end
    assert.is_true(n > 150)
    local m = nw.machine(host.record(made_up(all)))
    assert.truthy(m:source "dispatch":find("measured here", 1, true))
  end)

  it("ignores the rates of a class that does not exist", function()
    local host = require "nestwright.hw.host"
    assert.equal("table", type(host.record(made_up {["ops.no_such.per_cycle[2]"] = 1}).ops))
  end)

  it("ignores figures whose path does not name a number", function()
    local host = require "nestwright.hw.host".record
    local odd = {["caches[1].bytes[2]"] = 7, ["caches"] = 5, ["caches[1]"] = 2, ["caches[1].latency"] = 4}
    local t = host(made_up(odd))
    assert.equal("table", type(t.caches[1]))
    assert.equal("number", type(t.caches[1].bytes))
    assert.truthy(nw.machine(t):fields())
  end)
end)
