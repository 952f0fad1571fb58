--- Tests the conditions of a measurement: where its arrays lie, empty caches, the CPUs of its threads, and huge pages. Each
--- condition can change a time, so every time must say under which conditions it was measured.
local nw = require "nestwright"
local core = require "nestwright.core"
local support = require "support"

local fails = support.fails

local function kernel(n, threads) return support.doubled(n or 64):build {threads = threads or 1} end

-- Returns the CPUs that this process may use.
local function cpus()
  local file, out = assert(io.open "/proc/self/status"), {}
  for from, to in file:read "a":match "Cpus_allowed_list:%s+([%d,-]+)":gsub("%f[%d](%d+)%f[^%d-]", "%1-%1"):gmatch "(%d+)-(%d+)" do
    for cpu = tonumber(from), tonumber(to) do out[#out + 1] = cpu end
  end
  file:close()
  return out
end

describe("a time", function()
  it("did not say how its arrays are aligned", function()
    local t = kernel():time {reps = 2}
    assert.is_true(t.align >= 64)
    assert.is_nil(t.offset)
    assert.equal(("arrays %d-byte aligned"):format(t.align), t.conditions)
    assert.truthy(tostring(t):find(t.conditions, 1, true))
  end)

  it("could not be taken with arrays aligned as those of another program", function()
    local f = kernel()
    for _, align in ipairs {4, 16, 32, 64, 4096, 1 << 20} do
      local t = f:time {reps = 1, align = align}
      assert.equal(align, t.align)
    end
    local t = f:time {reps = 1, align = 64, offset = 20}
    assert.equal(64, t.align)
    assert.equal(20, t.offset)
    assert.equal("arrays 20 bytes after multiples of 64", t.conditions)
    assert.equal(4, f:time {reps = 1, offset = 4}.offset)
  end)

  it("moves only copies, and measures given arrays where they lie", function()
    local a, b = nw.full(64, 1), nw.zeros(64)
    local f = kernel()
    assert.is_true(f:time(a, b, {reps = 1}).align >= 64)
    assert.equal(2, b:get(0))
    b:fill(7)
    assert.equal(16, f:time(a, b, {reps = 1, align = 16}).align)
    assert.equal(7, b:get(0))
  end)

  it("has copies with the same elements", function()
    local a = nw.random({5, 3}, "f64")
    local copy = core.array_placed(a, 32, 8)
    assert.same({5, 3}, copy:shape())
    assert.is_true(nw.allclose(a, copy, {rtol = 0, atol = 0}))
  end)

  it("says what is wrong with a place", function()
    local f = kernel()
    fails("align: 24 is not an alignment: expected a power of two", "range", f.time, f, {align = 24})
    fails("align: 4194304 is not an alignment", "range", f.time, f, {align = 4 << 20})
    fails("align: 2 is less than the 4 bytes of an element %(f32%)", "range", f.time, f, {align = 2})
    fails("offset: 6 is not a multiple of the 4 bytes of an element %(f32%)", "range", f.time, f, {offset = 6})
    fails("offset: 64 is out of range: give 0 to 63", "range", f.time, f, {offset = 64})
    fails("offset: %-4 is out of range", "range", f.time, f, {offset = -4})
    fails("align: expected a whole number, got a string", "invalid", f.time, f, {align = "16"})
  end)

  it("says the same in nw.compare and s:time_steps", function()
    local f, s = kernel(), support.doubled(64)
    fails("compare: align: expected an integer, got a string", "invalid", nw.compare, {f, kernel(), align = "16"})
    fails("align: 24 is not an alignment", "range", nw.compare, {f, kernel(), align = 24})
    fails("offset: 2 is not a multiple", "range", s.time_steps, s, {offset = 2})
    fails("unknown option 'huge'", "invalid", s.time_steps, s, {huge = true})
  end)

  it("refuses a place where streaming stores would crash", function()
    local s = support.doubled(1024)
    s:split("i", 16)
    s:vectorize "i_i"
    s:stream_stores(s:stages()[1])
    local f = s:build {threads = 1}
    fails("is written by streaming stores.*give align = 64", "invalid", f.time, f, {align = 16})
    assert.equal(64, f:time {reps = 1, align = 64}.align)
  end)
end)

-- Returns a kernel that reads one element of each of 512 lines, which are too far apart to be fetched in advance.
local function sparse()
  local A = nw.placeholder({512, 272}, "f32", "A")
  return nw.schedule(nw.compute({512}, function(i) return A(i, 0) + 1 end, "S")):build {threads = 1}
end

describe("a time with cold caches", function()
  it("could not be taken", function()
    local f = sparse()
    local warm, cold = f:time {reps = 5}, f:time {reps = 5, cold = true}
    assert.is_nil(warm.cold)
    assert.equal(core.can_flush() and "flush" or "sweep", cold.cold)
    assert.is_true(cold.min > 1.5 * warm.min, ("%g %g"):format(cold.min, warm.min))
    assert.is_true(cold.clock > 0 and cold.clock < 1e-5)
    assert.truthy(cold.conditions:find("caches cold %(.*before each call, .* for the clock subtracted%)"))
  end)

  it("also empties the caches without an instruction to flush lines", function()
    local f = sparse()
    local t = f:time {reps = 2, cold = "sweep"}
    assert.equal("sweep", t.cold)
    assert.is_true(t.min > 1.5 * f:time {reps = 5}.min)
  end)

  it("also flushes temporaries, and the caches of all threads", function()
    local A = nw.placeholder({64}, "f32", "A")
    local T = nw.compute({64}, function(i) return A(i) + 1 end, "T")
    local s = nw.schedule(nw.compute({64}, function(i) return T(i) * T(63 - i) end, "D"))
    for _, l in ipairs(s:loops()) do s:parallel(l) end
    for _, how in ipairs {"flush", "sweep"} do
      if how == "sweep" or core.can_flush() then
        assert.equal(how, s:time {threads = 2, reps = 1, cold = how}.cold)
      end
    end
  end)

  it("says which ways there are", function()
    local f = kernel()
    fails("cold: 'icy' is not a way to empty caches", "invalid", f.time, f, {cold = "icy"})
    assert.is_nil(f:time {reps = 1, cold = false}.cold)
  end)
end)

describe("the threads of a time", function()
  it("could not be kept on chosen CPUs", function()
    local f, list = kernel(), cpus()
    for _, cpu in ipairs {list[1], list[#list]} do
      local t = f:time {reps = 2, cpu = cpu}
      assert.same({cpu}, t.cpus)
      assert.truthy(t.conditions:find("on CPU " .. cpu, 1, true))
    end
    assert.same(list, cpus()) -- the process may use all of them again
    if #list > 1 then
      local s = support.doubled(64)
      s:parallel "i"
      assert.same({list[2], list[1]}, s:time {threads = 2, reps = 2, pin = {list[2], list[1]}}.cpus)
    end
  end)

  it("get an error that names a CPU that cannot be used", function()
    local f, first = kernel(), cpus()[1]
    fails("pin: CPU 4097 is not one of the CPUs that this process may use, which are [%d,-]+", "range", f.time, f, {cpu = 4097})
    fails("pin: 2 CPUs given for 1 thread", "invalid", f.time, f, {pin = {first, cpus()[2] or 4097}})
    fails("pin: CPU %d+ is given twice", "invalid", f.time, f, {pin = {first, first}})
    fails("pin: the list is empty", "invalid", f.time, f, {pin = {}})
    fails("cpu and pin exclude each other", "invalid", f.time, f, {pin = {first}, cpu = first})
    fails("pin%[1%]: expected a whole number, got a string", "invalid", f.time, f, {pin = {"x"}})
  end)
end)

describe("huge pages", function()
  it("could not be asked for, and were not counted", function()
    local t = kernel():time {reps = 1, pages = "huge"}
    assert.equal(2 * (2 << 20), t.mapped_bytes) -- each of the two arrays has a mapping of its own
    assert.is_true(t.huge_bytes >= 0 and t.huge_bytes <= t.mapped_bytes)
    local said = t.huge_bytes > 0 and "of 4 MiB on huge pages" or "no huge pages: the system gave none"
    assert.truthy(t.conditions:find(said, 1, true))
    fails("pages: 'giant' is not a kind of page", "invalid", function() kernel():time {pages = "giant"} end)
  end)
end)

describe("every writer of times", function()
  it("did not state the conditions", function()
    local f, g = kernel(), kernel(65)
    local c = nw.compare {f = f, g = g, rounds = 2, align = 16}
    assert.equal(16, c[1].align)
    assert.truthy(tostring(c):find "\n[^\n]*, arrays 16%-byte aligned$")
    local different = nw.timings {usual = f:time {reps = 2}, moved = f:time {reps = 2, align = 32}}
    assert.truthy(tostring(different):find("arrays 32-byte aligned\n", 1, true))
    assert.truthy(tostring(c:plot()):find("arrays 16-byte aligned", 1, true))
    assert.truthy(getmetatable(c).__cells(c).foot:find("arrays 16-byte aligned", 1, true))
    assert.truthy(getmetatable(c[1]).__cells(c[1]).foot:find("arrays 16-byte aligned", 1, true))
  end)

  it("of time_steps too", function()
    local s = support.doubled(64)
    s:split("i", 8)
    local c = s:time_steps {threads = 1, rounds = 2, align = 16, offset = 4}
    for _, t in ipairs(c) do assert.equal(16, t.align) end
    assert.truthy(tostring(c):find "arrays 4 bytes after multiples of 16$")
  end)

  it("of sweeps too", function()
    local f, json = kernel(), support.temporary ".json"
    local function sweep(run) return nw.sweep {params = {align = {16, 32}}, run = run, json = json, keep = false} end
    local list = sweep(function(p) return f:time {reps = 2, align = p.align} end)
    assert.equal("arrays 32-byte aligned", list[2].conditions)
    assert.truthy(tostring(list):find("arrays 32-byte aligned", 1, true))
    local file = assert(io.open(json))
    assert.truthy(file:read "a":find('"conditions": *"arrays 16%-byte aligned"'))
    file:close()
    os.remove(json)
    list = sweep(function() return {a = f:time {reps = 2, align = 16}, b = f:time {reps = 2, align = 16}} end)
    assert.truthy(tostring(list):find "\narrays 16%-byte aligned$")
    assert.truthy(tostring(list:plot {y = {"a", "b"}}):find("arrays 16-byte aligned", 1, true))
    os.remove(json)
  end)

  it("lets kernels have the names of conditions", function()
    local c = nw.compare {cold = kernel(), pin = kernel(65), rounds = 2, base = "pin"}
    assert.equal("pin", c[1].label)
    assert.equal("cold", c[2].label)
    assert.is_nil(c[1].cold)
  end)
end)
