--- Tests targets: limits that steps must satisfy, code for other processors, and refusals.
local nw = require "nestwright"
local support = require "support"
local fails = support.fails

-- Checks that the step is refused, with these words as the reason.
local function refused(words, f)
  local err = support.fails_saying(words, f)
  assert.equal("refused", err.code)
end

local function double(n)
  local A = nw.placeholder({n}, "f32", "A")
  return nw.compute({n}, function(i) return A(i) * 2 end, "C")
end

local function vectorized(dtype, options)
  local A = nw.placeholder({64}, dtype, "A")
  local s = nw.schedule(nw.compute({64}, function(i) return nw.exp(A(i)) end, "C"), options or {target = "host"})
  s:split("i", 16)
  s:vectorize "i_i"
  return s
end

describe("a target", function()
  it("can be made from a name, a table, a record, or no argument", function()
    assert.is_true(nw.target() == nw.target "host")
    assert.is_true(nw.target "t4" == nw.target(nw.machine "t4"))
    assert.is_false(nw.target "t4" == nw.target "a100")
    assert.equal("mine", nw.target {name = "mine", extends = "zen5"}.name)
    fails("there is no machine 'arch64'", "invalid", nw.target, "arch64")
  end)

  it("has the properties of its record", function()
    local host, arm, t4, vta = nw.target(), nw.target "aarch64", nw.target "t4", nw.target "vta"
    assert.same({true, false, false}, {host.here, arm.here, t4.here})
    assert.same({"llvm", "core"}, {arm.backend, arm.model})
    assert.same({"cuda", nil}, {t4.backend, t4.model})
    assert.same({"dae", nil}, {vta.backend, vta.model})
    assert.same({"neon"}, arm:features())
    assert.same({"sse4.2", "avx", "avx2", "fma", "f16c"}, nw.target "x86_server":features())
    assert.equal(nw.machine "t4".gpu.threads, t4:limits().threads)
    assert.same({"global", "local", "shared", "warp", "register"}, support.names(t4:scopes()))
    assert.same({"global", "inp", "wgt", "acc"}, {table.unpack(support.names(vta:scopes()), 1, 4)})
    assert.equal("aarch64", arm.machine.name)
    assert.equal(nw.machine().cores, host.machine.cores)
    assert.truthy(tostring(arm):find "any Arm processor")
  end)

  it("belongs to a schedule from its first version", function()
    assert.equal("host", nw.schedule(double(8)).target.name)
    assert.is_true(nw.schedule(double(8)).target == nw.target())
    local C = double(8)
    for _, s in ipairs {nw.schedule(C, {target = "aarch64"}), nw.schedule({C}, {target = nw.target "aarch64"})} do
      s:split("i", 4)
      assert.equal("aarch64", s.target.name)
      s:undo()
      assert.equal("aarch64", s.target.name)
    end
    fails("unknown option 'targets'", "invalid", function() nw.schedule(C, {target = "t4", targets = 1}) end)
  end)
end)

describe("limits of a target", function()
  local function limited(more)
    local t = {name = "mine", extends = "host"}
    for key, value in pairs(more) do t[key] = value end
    return {target = t}
  end

  it("limit the lanes of a vectorized loop", function()
    local s = nw.schedule(double(64), limited {loop_lanes = 16})
    s:split("i", 32)
    refused("a vector has at most 16 lanes", function() s:vectorize "i_i" end)
    s:undo()
    s:split("i", 16)
    s:vectorize "i_i"
    nw.schedule(double(64)):vectorize "i"
    fails("is not in 1..256 iterations", "range", nw.target, {name = "mine", extends = "host", loop_lanes = 257})
  end)

  it("limit the stack of a thread", function()
    local A = nw.placeholder({64}, "f32", "A")
    local X = nw.compute({64}, function(i) return A(i) + 1 end, "X")
    local Y = nw.compute({64}, function(i) return X(i) * 2 end, "Y")
    refused("take 256 bytes at the same time; at most 255 fit on the stack", function()
      nw.schedule(Y, limited {stack_bytes = 255}):set_scope(X, "local")
    end)
    nw.schedule(Y, limited {stack_bytes = 256}):set_scope(X, "local")
    refused("the scopes of vta are global, inp", function()
      nw.schedule(Y, {target = "vta"}):set_scope(X, "local")
    end)
  end)

  it("limit the threads of a block, and its shared memory", function()
    local small = {name = "small", extends = "t4", gpu = {threads = 256, shared_block = 512}}
    local s = nw.schedule(double(1024), {target = small})
    s:split("i", 512)
    s:bind("i_o", "blockIdx.x")
    refused("a block would have 512 threads; the limit is 256", function() s:bind("i_i", "threadIdx.x") end)
    local t = nw.schedule(double(1024))
    t:split("i", 512)
    t:bind("i_o", "blockIdx.x")
    t:bind("i_i", "threadIdx.x")
    refused("step 3, s:bind(\"i_i\", \"threadIdx.x\")", function() t:retarget(small) end)
    local bare = {name = "bare", kind = "accelerator", clock = 1, memory = {bytes = 1 << 20, bandwidth = 1},
      accelerator = {rows = 1, columns = 1, load_per_cycle = 1}}
    fails("bare executes no stream", "codegen", function() nw.schedule(double(8), {target = bare}):build() end)
  end)

  it("are checked again by retarget, which does not change the schedule", function()
    local s = vectorized "f32"
    local other = s:retarget "aarch64"
    assert.same({"host", "aarch64"}, {s.target.name, other.target.name})
    assert.equal(tostring(s), tostring(other))
    assert.equal(s:trace(), other:trace())
    assert.equal("host", other:retarget(nw.target()).target.name)
    refused("step 2, s:vectorize", function() s:retarget {name = "mine", extends = "host", loop_lanes = 8} end)
    assert.equal(2, s:version())
  end)
end)

describe("code for another processor", function()
  it("can be shown but not run", function()
    local s = vectorized("f32", {target = "aarch64"})
    local asm = tostring(s:show "asm")
    assert.truthy(asm:find "bl%s+expf")
    assert.truthy(asm:find "// in i_o")
    assert.truthy(tostring(s:show "llvm"):find 'target triple = "aarch64')
    local f = s:build()
    assert.truthy(tostring(f):find "for aarch64")
    fails("C is code for aarch64, which this host cannot run", "invalid", f, nw.zeros({64}, "f32"))
    fails("which this host cannot run", "invalid", function() s:time() end)
    assert.truthy(s:check():find "outputs agree")
  end)

  it("is built only for the target of the schedule", function()
    local s, arm = vectorized "f32", vectorized("f32", {target = "aarch64"})
    assert.truthy(s:build {target = "host"})
    assert.truthy(arm:build {target = "aarch64"})
    local err = fails("the schedule is for aarch64, not for host", "invalid", function() arm:build {target = nw.target()} end)
    assert.truthy(err.hint:find 's:retarget%(nw.target "host"%)')
    fails("the schedule is for host, not for aarch64", "invalid", function() s:build {target = "aarch64"} end)
  end)

  it("says which functions have no vector form on that processor", function()
    for _, dtype in ipairs {"f32", "f64"} do
      local f = vectorized(dtype, {target = "aarch64"}):build()
      assert.equal(("exp of %s has no vector form on aarch64: it is computed one element at a time\n"):format(dtype), f.notes)
      assert.equal("", vectorized(dtype, {target = "x86_server"}):build().notes)
    end
  end)

  it("consists of instructions of that processor", function()
    local asm = tostring(vectorized("f32", {target = "x86_server"}):show "asm")
    assert.truthy(asm:find "_ZGVdN8v_expf" and not asm:find "zmm")
    asm = tostring(vectorized("f32", {target = "skylake_x"}):show "asm")
    assert.truthy(asm:find "_ZGVeN16v_expf")
  end)
end)

describe("a CPU that LLVM does not know, or that has no 64-bit mode", function()
  it("does not end the session", function()
    for _, cpu in ipairs {"i386", "pentium3", "bogus"} do
      local s = vectorized("f32", {target = {name = "other", extends = "zen5", cpu = cpu}})
      assert.truthy(tostring(s:show "asm"):find "ret")
      assert.truthy(tostring(s:show "llvm"):find "target%-cpu")
    end
  end)
end)

describe("what a schedule costs", function()
  it("is predicted for its target by default", function()
    local s, arm = vectorized "f32", vectorized("f32", {target = "neoverse_n1"})
    assert.equal(s:cost {machine = "neoverse_n1"}.cycles, arm:cost().cycles)
    assert.equal(s:cost {machine = "zen5"}.cycles, arm:cost {machine = "zen5"}.cycles)
    assert.is_true(arm:cost().cycles ~= arm:cost {machine = "zen5"}.cycles)
    fails("no loop is bound to blocks or threads, so one thread of t4", "invalid", function() s:cost {machine = "t4"} end)
  end)

  it("counts the calls of functions that the machine has", function()
    -- 64 numbers need 16 calls of the function for vectors of 16 bytes, 4 calls of the function for 64 bytes, or 64 calls of the
    -- scalar function.
    local s = vectorized "f32"
    local function calls(machine) return s:cost {machine = machine}.instructions end
    assert.is_true(calls "aarch64" > calls "x86_server")
    assert.equal(calls "neoverse_n1", calls "aarch64")
  end)
end)
