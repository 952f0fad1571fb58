--- Tests machine records: the included records, records that users write, and errors in records.
local nw = require "nestwright"
local support = require "support"
local fails = support.fails_saying

local CACHE = {bytes = 32768, ways = 8, latency = 4, bytes_per_cycle = 64}

-- Returns a record of a CPU with only the required fields, and the fields of `more`.
local function least(more)
  local t = {
    name = "mine", clock = 3, cores = 4, vector_bytes = 32, vector_registers = 16, dispatch = 4,
    ops = {fma = {per_cycle = 2}, int = {per_cycle = 4}, load = {per_cycle = 2}, store = {per_cycle = 1}},
    caches = {CACHE}, memory = {bytes = 1 << 30, latency = 90, bandwidth = 12},
  }
  for key, value in pairs(more or {}) do t[key] = value end
  return t
end

local function without(name)
  local t = least()
  t[name] = nil
  return t
end

local function written_to_file(text)
  local path = os.tmpname() .. ".lua"
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
  return path
end

describe("the included records", function()
  for _, name in ipairs(nw.machines()) do
    it(name .. " is complete, prints, and reads back as itself", function()
      local m = nw.machine(name)
      assert.equal(name, m.name)
      local text = m:text()
      local again = nw.machine(assert(load(text))())
      assert.equal(text, again:text())
      assert.is_true(again == m)
      for _, f in ipairs(m:fields()) do
        assert.truthy(f.path and f.doc and f.unit)
        assert.is_true(type(f.source) == "string", f.path)
        if type(f.value) == "number" then assert.is_true(f.value >= 0 and f.value < 1e19, f.path) end
      end
      assert.truthy(tostring(m):find(name, 1, true))
    end)
  end

  it("have outer caches that are larger and slower than inner ones, and need more energy", function()
    for _, name in ipairs(nw.machines()) do
      local m = nw.machine(name)
      for n = 2, m.kind == "cpu" and #m.caches or 0 do
        local near, far = m.caches[n - 1], m.caches[n]
        assert.is_true(near.bytes < far.bytes and near.latency < far.latency and near.read_pj < far.read_pj, name)
        if name ~= "host" then assert.is_true(near.bytes_per_cycle >= far.bytes_per_cycle, name) end
      end
    end
  end)

  it("name the source of every number that is not a default", function()
    local m = nw.machine "skylake_x"
    assert.truthy(m:source "ops.div.per_cycle":find "LLVM 19")
    assert.truthy(m:source "caches[2].bytes":find "Optimization Reference Manual")
    assert.truthy(m:source "energy.mul[3]":find "Horowitz")
    assert.equal("default", m:source "call")
    fails("no field 'ops.dvi.latency'", function() m:source "ops.dvi.latency" end)
  end)

  it("of GPUs and accelerators have their own fields and no caches", function()
    local t4, vta = nw.machine "t4", nw.machine "vta"
    assert.same({40, 64, 49152 // 3 * 4}, {t4.gpu.sms, t4.gpu.lanes, t4.gpu.shared_block})
    assert.equal("wgt", vta.accelerator.buffers[2].name)
    assert.equal(16 * 16, vta.accelerator.rows * vta.accelerator.columns)
    fails("no field or method 'caches'", function() return t4.caches end)
  end)

  it("say which numbers are unknown", function()
    assert.truthy(tostring(nw.machine "t4"):find "memory.latency +not known")
    assert.truthy(tostring(nw.machine "t4"):find "gpu.tensor_tf32 +none")
  end)

  it("agree with the peaks in data sheets", function()
    -- The TFLOP/s of f32 in the data sheets are SMs * lanes * 2 * clock.
    local peaks = {titan_x = 6.6, t4 = 8.1, a100 = 19.5, rtx_a6000 = 38.7, rtx_4090 = 82.6, h100 = 66.9, h200 = 66.9}
    for name, peak in pairs(peaks) do
      local m = nw.machine(name)
      assert.is_true(math.abs(m.gpu.sms * m.gpu.lanes * 2 * m.clock / 1000 - peak) < 0.06, name)
    end
  end)
end)

describe("this host", function()
  it("has the sizes that the system reports, or says that they are assumed", function()
    local core, m = require "nestwright.core", nw.machine()
    local source = core.machine_host().caches_assumed and "assumed: the system hides its caches" or "the system"
    assert.truthy(#m.caches > 0)
    for n, c in ipairs(core.machine_caches()) do
      assert.same({c.bytes, c.ways, c.line, c.cpus}, {m.caches[n].bytes, m.caches[n].ways, m.caches[n].line, m.caches[n].shared_by})
      assert.equal(source, m:source(("caches[%d].ways"):format(n)))
      assert.truthy(m:source(("caches[%d].read_pj"):format(n)):find "Horowitz")
    end
    assert.equal(core.machine_host().cores, m.cores)
  end)
end)

describe("a record of one's own", function()
  it("needs only the fields without a default", function()
    local m = nw.machine(least())
    assert.same({4, "max", 64, 32768}, {m.ops.add.latency, m.combine, m.caches[1].line, m.caches[1].effective_bytes})
    assert.same({2, 2, 2, 0}, m.ops.mul.per_cycle)
    assert.equal("default", m:source "gather")
  end)

  it("overrides fields of the record that it extends", function()
    local m = nw.machine {name = "mine", extends = "skylake_x", clock = 3.1, ops = {fma = {latency = 5}},
      caches = {CACHE}, sources = {clock = "its box"}}
    local other = nw.machine "skylake_x"
    assert.same({3.1, 5, 1}, {m.clock, m.ops.fma.latency, #m.caches})
    assert.same(other.ops.fma.per_cycle, m.ops.fma.per_cycle)
    assert.same(other.memory, m.memory)
    assert.same({"its box", "stated in mine", other:source "ops.fma.per_cycle"},
      {m:source "clock", m:source "ops.fma.latency", m:source "ops.fma.per_cycle"})
    local third = nw.machine {name = "third", extends = m, cores = 1}
    assert.same({3.1, 1, "its box"}, {third.clock, third.cores, third:source "clock"})
  end)

  it("comes from a file that returns a table", function()
    local path = written_to_file 'return {name = "filed", extends = "zen5", clock = 3.3}'
    assert.same({"filed", 3.3}, {nw.machine(path).name, nw.machine(path).clock})
    os.remove(path)
    for text, why in pairs {["return 3"] = "does not return a table", ["return {"] = "expected", ["return os.exit()"] = "os",
      ['return {name = "x", clok = 3}'] = "no field 'clok'"} do
      path = written_to_file(text)
      fails(why, nw.machine, path)
      os.remove(path)
    end
    fails("cannot read /nowhere/mine.lua", nw.machine, "/nowhere/mine.lua")
  end)

  it("may have a number of sets that is not a power of two", function()
    local m = nw.machine(least {caches = {{bytes = 11 * 1000 * 64, ways = 11, latency = 4, bytes_per_cycle = 1}}})
    assert.equal(11 * 1000 * 64, m.caches[1].bytes)
  end)
end)

describe("an error in a record", function()
  it("names each missing field with its unit", function()
    for name, unit in pairs {clock = "GHz", cores = "logical cpus", vector_bytes = "bytes", dispatch = "instructions per cycle"} do
      fails(("%s is missing: a"):format(name), nw.machine, without(name))
      fails("in " .. unit, nw.machine, without(name))
    end
    fails("caches: a machine needs at least one", nw.machine, without "caches")
    fails("ops.fma.per_cycle is missing", nw.machine, without "ops")
    fails("caches[1].latency is missing: a number, in cycles", nw.machine, least {caches = {{bytes = 1024, ways = 1}}})
    fails("memory.latency is missing: a number, in ns", nw.machine, least {memory = {bytes = 1, bandwidth = 1}})
  end)

  it("suggests a similar name", function()
    fails("did you mean 'clock'?", nw.machine, least {clok = 3})
    fails("did you mean 'latency'?", nw.machine, least {ops = {fma = {latancy = 3}}})
    fails("did you mean 'sqrt'?", nw.machine, least {ops = {sqr = {latency = 3}}})
    fails("did you mean 'zen5'?", nw.machine, "zen")
    fails("did you mean 'caches'?", nw.machine, least {cashes = {CACHE}})
  end)

  it("may be an impossible cache size, or a value of another type", function()
    local function with(field, value)
      local c = {}
      for key, v in pairs(CACHE) do c[key] = v end
      c[field] = value
      return least {caches = {c}}
    end
    fails("caches[1].ways: 0 is not in 1..", nw.machine, with("ways", 0))
    fails("not a whole number of sets", nw.machine, with("ways", 7))
    fails("48 bytes is not a power of two", nw.machine, with("line", 48))
    fails("caches[1].bytes: 0.5 is not a whole number of bytes", nw.machine, with("bytes", 0.5))
    fails("caches[1].effective_bytes: more than", nw.machine, with("effective_bytes", 1 << 20))
    fails("caches[1].write_allocate: expected true or false", nw.machine, with("write_allocate", 1))
    fails("caches[1].write_allocate: false is not modelled", nw.machine, with("write_allocate", false))
    fails("caches: a machine needs at least one", nw.machine, least {caches = {}})
    fails("caches[1].ways: -1 is not in 1..", nw.machine, with("ways", -1))
    fails("clock: expected a number, in GHz", nw.machine, least {clock = "3 GHz"})
    fails("clock: 0 is not in", nw.machine, least {clock = 0})
    fails("expected one of the words max ecm", nw.machine, least {combine = "sum"})
    fails("gpu.sms: a cpu has no such field", nw.machine, least {gpu = {sms = 3}})
    fails("clock: expected a number, got a table", nw.machine, least {clock = {3}})
    fails("ops: expected a table of fields, got a value", nw.machine, least {ops = 3})
    fails("caches: expected a list of tables", nw.machine, least {caches = CACHE})
    fails("caches: expected a list of tables", nw.machine, least {caches = 4})
    fails("one of per_cycle, latency", nw.machine, least {ops = {fma = 2}})
    fails("expected a number", nw.machine, least {clock = print})
  end)

  it("may be a contradiction in the record of a GPU or an accelerator", function()
    local function gpu(more) return {name = "g", extends = "a100", gpu = more} end
    fails("gpu.shared_block: 999999 is more than gpu.shared allows: 167936", nw.machine, gpu {shared_block = 999999})
    fails("gpu.shared: 200000 is more than gpu.l1_bytes", nw.machine, gpu {shared = 200000})
    fails("gpu.threads: 4096 is more than gpu.warps allows: 2048", nw.machine, gpu {threads = 4096})
    fails("gpu.registers_thread: 65535 is more", nw.machine, gpu {registers_thread = 65535, registers = 65534})
    fails("gpu.warp: 48 is not a power of two", nw.machine, gpu {warp = 48})
    fails("not a whole number of sectors", nw.machine, gpu {sector = 48})
    fails("sum_bits: 4 bits is less", nw.machine, {name = "v", extends = "vta", accelerator = {sum_bits = 4}})
    fails("'a' is already used", nw.machine, {name = "v", extends = "vta", accelerator = {buffers = {
      {name = "a", bytes = 1}, {name = "a", bytes = 2}}}})
    fails("caches[1].bytes: a GPU has no such field", nw.machine, {name = "g", extends = "a100", caches = {CACHE}})
  end)

  it("may be a value that is not a record, or records that extend each other in a cycle", function()
    fails("expected a string, a table or a machine, got a number", nw.machine, 3)
    fails("expected a table", nw.machine, least {extends = true})
    local round = least()
    round.extends = round
    fails("more than 8", nw.machine, round)
    local deep = least()
    deep.ops = {fma = deep}
    fails("deeper than any field", nw.machine, deep)
    fails("sources must be a table", nw.machine, least {sources = {3}})
    fails("as a key", nw.machine, {3, 4})
  end)
end)

describe("a prediction", function()
  it("treats effective_bytes of a level as a smaller number of ways", function()
    local A, B = nw.placeholder({64, 64}, "f32", "A"), nw.placeholder({64, 64}, "f32", "B")
    local k = nw.reduce_axis(64, "k")
    local s = nw.schedule(nw.compute({64, 64}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C"))
    local function misses(effective)
      return s:cost {machine = least {caches = {{bytes = 32768, ways = 8, latency = 4, bytes_per_cycle = 64,
        effective_bytes = effective}}}}.levels[1].misses
    end
    local function simulated(bytes, ways)
      local t = nw.misses(s, {levels = {{bytes = bytes, ways = ways}}}).total[1]
      return t.cold + t.capacity + t.conflict
    end
    assert.equal(simulated(32768, 8), misses(nil))
    assert.equal(simulated(12288, 3), misses(14000))
    assert.is_true(misses(14000) > misses(nil))
  end)

  it("equals the simulator if the number of sets is not a power of two", function()
    local A = nw.placeholder({96, 96}, "f32", "A")
    local s = nw.schedule(nw.compute({96, 96}, function(i, j) return A(j, i) * 2 end, "T"))
    local c = s:cost {machine = least {caches = {{bytes = 3 * 7 * 64, ways = 7, latency = 4, bytes_per_cycle = 64},
      {bytes = 11 * 5 * 64, ways = 11, latency = 14, bytes_per_cycle = 32}}}}
    local simulated = nw.misses(s, {levels = {{bytes = 3 * 7 * 64, ways = 7}, {bytes = 11 * 5 * 64, ways = 11}}})
    for n, total in ipairs(simulated.total) do
      assert.is_true(c.levels[n].exact)
      for _, kind in ipairs {"asked", "cold", "capacity", "conflict", "written_back"} do
        assert.equal(total[kind], c.levels[n][kind], kind)
      end
    end
  end)

  it("computes lanes one by one if a machine has no vectors for an operation", function()
    local A, B = nw.placeholder({1024}, "f32", "A"), nw.placeholder({1024}, "f32", "B")
    local s = nw.schedule(nw.compute({1024}, function(i) return A(i) / B(i) end, "C"))
    local _, i_i = s:split("i", 8)
    s:vectorize(i_i)
    local function cycles(rates)
      local ops = {fma = {per_cycle = 2}, int = {per_cycle = 4}, load = {per_cycle = 2}, store = {per_cycle = 1},
        div = {per_cycle = rates, latency = 1}}
      return s:cost {machine = least {ops = ops}}.cycles
    end
    local one, vectors = cycles {0.01, 0, 0, 0}, cycles {0.01, 0.01, 0.01, 0}
    assert.is_true(math.abs(one / (1024 * 100) - 1) < 0.02, one)
    assert.is_true(math.abs(vectors / (1024 // 8 * 100) - 1) < 0.02, vectors)
  end)
end)

describe("nw.machine_fields", function()
  it("lists every field with unit, default and meaning", function()
    local text = tostring(nw.machine_fields())
    for _, part in ipairs {"clock", "GHz; required", "ops.CLASS.per_cycle[n]", "caches[n].ways", "gpu.sms",
      "accelerator.buffers[n].bytes"} do
      assert.truthy(text:find(part, 1, true), part)
    end
    assert.falsy(tostring(nw.machine_fields "cpu"):find("gpu.sms", 1, true))
    fails("kind: expected 'cpu', 'gpu' or 'accelerator', got 'dsp'", nw.machine_fields, "dsp")
  end)
end)
