--- Tests energy counters, with a folder that has the same structure as the counters of the Linux kernel.
local nw = require "nestwright"
local support = require "support"
local fails = support.fails_saying

local function zone(root, name, files)
  assert(os.execute(("mkdir -p %s/%s"):format(root, name)))
  for file, text in pairs(files) do support.write(("%s/%s/%s"):format(root, name, file), text .. "\n") end
end

local function folder()
  local root = os.tmpname()
  os.remove(root)
  zone(root, "intel-rapl:0", {name = "package-0", energy_uj = 5000000, max_energy_range_uj = 8000000})
  zone(root, "intel-rapl:0:0", {name = "core", energy_uj = 1, max_energy_range_uj = 8000000})
  zone(root, "intel-rapl:0:1", {name = "dram", energy_uj = 100, max_energy_range_uj = 8000000})
  zone(root, "intel-rapl:1", {name = "package-1", energy_uj = 7999999, max_energy_range_uj = 8000000})
  zone(root, "intel-rapl-mmio:0", {name = "package-0", energy_uj = 5, max_energy_range_uj = 8000000})
  return root
end

describe("nw.joules", function()
  it("adds up the energy of the packages, and of memory separately, even if a counter wraps", function()
    local root = folder()
    local r = nw.joules(function()
      support.write(root .. "/intel-rapl:0/energy_uj", "6500000\n") -- 1.5 J
      support.write(root .. "/intel-rapl:1/energy_uj", "249999\n") -- 0.25 J, after the counter has wrapped
      support.write(root .. "/intel-rapl:0:0/energy_uj", "900000\n") -- a part of the package
      support.write(root .. "/intel-rapl:0:1/energy_uj", "500100\n") -- 0.5 J
      support.write(root .. "/intel-rapl-mmio:0/energy_uj", "900000\n")
    end, {root = root, least = 0})
    assert.equal(1, r.runs)
    assert.is_true(math.abs(r.joules - 1.75) < 1e-9, r.joules)
    assert.is_true(math.abs(r.memory - 0.5) < 1e-9)
    assert.is_true(math.abs(r.watts * r.seconds - 1.75) < 1e-6)
    assert.truthy(tostring(r):find("of the CPU package", 1, true))
    os.execute("rm -r " .. root)
  end)

  it("gives the energy of one run although it measures several", function()
    local root, at, runs = folder(), 5000000, 0
    local r = nw.joules(function()
      runs, at = runs + 1, at + 1000
      support.write(root .. "/intel-rapl:0/energy_uj", at .. "\n")
    end, {root = root, least = 0.01})
    assert.equal(runs, r.runs)
    assert.is_true(math.abs(r.joules - 1e-3) < 1e-9)
    os.execute("rm -r " .. root)
  end)

  it("says that there are no counters, or that they cannot be read", function()
    local root = os.tmpname()
    os.remove(root)
    fails("no such folder", nw.joules, print, {root = root})
    assert(os.execute("mkdir " .. root))
    fails("no package zone", nw.joules, print, {root = root})
    zone(root, "intel-rapl:0", {name = "package-0", energy_uj = "none"})
    fails("no package zone", nw.joules, print, {root = root})
    os.execute("rm -r " .. root)
    fails("expected a function", nw.joules, 3)
    fails("is not in 0..3600", nw.joules, print, {least = 0 / 0})
    fails("unknown option 'leest'", nw.joules, print, {leest = 3})
  end)
end)

describe("a prediction beside its measurement", function()
  local joules = require "nestwright.measure.joules"
  local of = joules.of
  after_each(function() joules.of = of end)

  local function cost()
    local A = nw.placeholder({64}, "f32", "A")
    return nw.schedule(nw.compute({64}, function(i) return A(i) + 1 end, "B")):cost {machine = "zen5", measure = true}
  end

  it("has the joules of a run if there are counters", function()
    function joules.of(f)
      f()
      return {joules = 0.25}
    end
    local c = cost()
    assert.equal(0.25, c.measured_joules)
    assert.is_nil(c.why_no_joules)
    assert.is_true(c.joules > 0)
    assert.near(c.joules / 0.25, c.joules_ratio, 1e-12)
    local line = tostring(c):match "energy: predicted [^\n]*"
    assert.truthy(line:find("estimated from the machine's energy table; measured 0.25 J for the whole CPU package", 1, true) or
      line:find("estimated from the machine's energy table; measured 250 mJ for the whole CPU package", 1, true), line)
    assert.truthy(line:find(", ratio ", 1, true))
  end)

  it("says why it has no joules if there are no counters", function()
    function joules.of(f) return of(f, 0, "/nowhere") end
    local c = cost()
    assert.is_nil(c.measured_joules)
    assert.is_nil(c.joules_ratio)
    assert.truthy(c.why_no_joules:find("/nowhere", 1, true))
    assert.truthy(tostring(c):find("not measured: " .. c.why_no_joules, 1, true))
  end)

  it("reads existing counters through s:cost", function()
    local root = folder()
    local at = 5000000
    function joules.of(f)
      return of(function()
        f()
        at = at + 2000
        support.write(root .. "/intel-rapl:0/energy_uj", at .. "\n")
      end, 0, root)
    end
    local c = cost()
    os.execute("rm -r " .. root)
    assert.near(0.002, c.measured_joules, 1e-9)
    assert.truthy(tostring(c):find("measured 2 mJ for the whole CPU package", 1, true))
  end)

  it("shows only a prediction if nothing is measured", function()
    local A = nw.placeholder({64}, "f32", "A")
    local s = nw.schedule(nw.compute({64}, function(i) return A(i) + 1 end, "B"))
    local c = s:cost {machine = "zen5"}
    assert.truthy(tostring(c):find("\nenergy: [%d.]+ nJ, estimated from the machine's energy table"))
    assert.falsy(tostring(c):find("measured", 1, true))
  end)
end)
