--- Tests stages that ignore the tokens of a unit, which only an unsafe step allows.
local nw = require "nestwright"
local chip_gemm = require "chip_gemm"
local support = require "support"

local N = 32

-- Returns the schedule of a product in which the copies of A do not wait until their memory has been read, and the result. With one
-- thread, there is a single place for each tile, so the values are wrong.
local function without_war(threads)
  local s, C = chip_gemm(N, threads or 1)
  s:unsafe(function(u) u:annotate("A_inp", "ignores", "compute") end)
  return s, C
end

-- Returns the arguments, what the definition computes from them, and what a run of the stream computes.
local function values(s, C)
  local given = {nw.random({N, N}, "i8", {seed = 1}), nw.random({N, N}, "i8", {seed = 2})}
  local run = s:stream():run {arguments = given}
  return given, nw.evaluate(C, given)[1], run
end

describe("a stage that ignores a unit", function()
  it("leaves out tokens, and the run shows the hazards and the wrong values", function()
    local s, C = without_war()
    local whole, stream = chip_gemm(N, 1):stream(), s:stream()
    local left = stream:facts().left_out
    assert.is_true(left > 0)
    for n, q in ipairs(stream:facts().queues) do
      local back = q.from == "compute" and q.to == "load"
      assert.equal(whole:facts().queues[n].tokens - (back and left or 0), q.tokens)
    end
    local _, want, run = values(s, C)
    assert.is_false(nw.allclose(want, run.outputs[1]))
    assert.is_false(run.stuck)
    assert.equal(left, run.left_out)
    assert.equal("WAR hazard", run.happened[1].fault)
    assert.is_true(run.times_happened > 0)
    local found = stream:check()
    assert.equal(2, #found) -- the copy of B is later in the same unit, so the token of A was enough for it, too
    for n, array in ipairs {"A_inp", "B_wgt"} do
      assert.equal("WAR hazard", found[n].fault)
      assert.equal(array == "A_inp" and "compute" or nil, found[n].second_ignores)
      assert.equal(array, stream:instruction(found[n].second).operands[1].array)
    end
    assert.truthy(tostring(run):find(", ignores compute", 1, true), tostring(run))
  end)

  it("is marked as unsafe in every view, in the trace and in every result", function()
    local s = without_war()
    local stream = s:stream()
    local function says(text, words) assert.truthy(tostring(text):find(words, 1, true), tostring(text)) end
    says(s:show(), '# unsafe: 1 step was not judged')
    says(s:show(), 'with ignores = "compute"')
    assert.truthy(tostring(s:show()):find 'unsafe [^\n]*with ignores = "compute"', tostring(s:show()))
    says(s:show "lowered", 'ignores = "compute"')
    says(s:show "stream", "# unsafe: 1 step was not judged")
    says(stream, "# unsafe: 1 step was not judged")
    says(stream, ("# %d tokens are left out, because a stage ignores a unit"):format(stream:facts().left_out))
    says(stream, "dma_copy2d A_inp[0..64] = A[0, 8 x 8]  ignores compute")
    says(s:log(), 'unsafe: s:annotate("A_inp", "ignores", "compute")')
    says(s:trace(), 's:unsafe(function(s) s:annotate("A_inp", "ignores", "compute") end)')
    local run = stream:run()
    assert.is_true(run.unsafe)
    says(run, ", unsafe")
    assert.is_true(stream:facts().unsafe)
    assert.is_true(stream:model().unsafe)
    for _, p in ipairs {run:plot(), nw.unit_runs {{"mine", run}}, nw.latency_hiding((without_war(2)))} do says(p, "(unsafe)") end
    for _, p in ipairs {run:plot(), run:plot_queues(), run:plot_memories(), stream:plot_threads()} do says(p.script, "(unsafe)") end
    says(run:plot(), ("without %d tokens that a stage ignores (unsafe)"):format(stream:facts().left_out))
    assert.is_true(s:reparses())
    local safe = chip_gemm(N, 2):stream()
    assert.is_nil(safe:run().unsafe)
    assert.falsy(tostring(safe):find "unsafe")
  end)

  it("may be right in a run, although there is a hazard at other latencies", function()
    local s, C = without_war(2)
    local _, want, run = values(s, C)
    assert.is_true(nw.allclose(want, run.outputs[1]))
    assert.equal(0, run.times_happened)
    assert.equal("WAR hazard", run.findings[1].fault)
  end)

  it("is refused without s:unsafe, and nothing changes", function()
    local s = chip_gemm(N, 2)
    local before = s:text()
    local err = support.fails("cannot set that on A_inp", "refused", s.annotate, s, "A_inp", "ignores", "compute")
    assert.truthy(tostring(err):find("s:unsafe can leave tokens out", 1, true), tostring(err))
    assert.equal(before, s:text())
    assert.equal(0, s:stream():facts().left_out)
  end)

  it("stays so in later steps, and takes its tokens again without the property", function()
    local s, C = without_war()
    local left = s:stream():facts().left_out
    s:annotate(C, "note", "later")
    assert.equal(left, s:stream():facts().left_out)
    support.fails("cannot set that on A_inp", "refused", s.annotate, s, "A_inp", "ignores", "store")
    s:annotate("A_inp", "ignores")
    local _, want, run = values(s, C)
    assert.equal(0, run.left_out)
    assert.same({}, run.findings)
    assert.is_true(nw.allclose(want, run.outputs[1]))
    assert.is_true(run.unsafe) -- a step of the schedule was not judged
  end)

  it("may be named before its nest becomes an instruction", function()
    local vdla = nw.accelerator "vdla"
    local A = nw.placeholder({64}, "i32", "A")
    local B = nw.compute({64}, function(i) return A(i) + A(i) end, "B")
    local s = nw.schedule(B, {target = vdla})
    local o = s:split("i", 8)
    local BL = s:cache_write(B, "acc", {at = o})
    local AL = s:cache_read(A, "acc", {at = o})
    s:unsafe(function(u) u:annotate(B, "ignores", "load compute") end)
    for stage, instruction in pairs {[AL] = vdla.dma_copy2d, [BL] = vdla.alu, [B] = vdla.dma_copy2d} do
      local l = s:loops(stage)
      s:tensorize(l[#l], instruction)
    end
    local stream = s:stream()
    assert.equal(8, stream:facts().left_out)
    assert.equal("RAW hazard", stream:check()[1].fault)
  end)

  it("does not make s:check say that the stream is right", function()
    assert.truthy(without_war():check():find("the instructions of vdla were not executed: s:stream():run() does this", 1, true))
  end)

  it("is replayed from a trace, and stays unsafe", function()
    local s, C = without_war()
    local t = nw.schedule(C, {target = "vdla"})
    t:replay(s:trace "json")
    assert.equal(s:text(), t:text())
    assert.equal(s:stream():write_tokens(), t:stream():write_tokens())
    assert.is_true(t:stream():facts().unsafe)
  end)

  it("makes the call of a kernel fail with the hazard", function()
    local s = without_war()
    local f = s:build()
    assert.is_true(f.unsafe)
    support.fails("WAR hazard: instruction %d+ %(dma_copy2d A_inp", nil, f, nw.random({N, N}, "i8", {seed = 1}),
      nw.random({N, N}, "i8", {seed = 2}))
  end)

  it("must ignore units of its target", function()
    local s = chip_gemm(N, 1)
    for _, text in ipairs {"alu", "", " ", "load, compute", "comput"} do
      local err = support.fails("does not name units of vdla", "invalid", s.annotate, s, "A_inp", "ignores", text)
      assert.truthy(tostring(err):find("its units are load, compute, store", 1, true), tostring(err))
    end
    support.fails("ignores takes a line of text", "invalid", s.annotate, s, "A_inp", "ignores", 3)
    local A = nw.placeholder({8}, "f32", "A")
    local t = nw.schedule(nw.compute({8}, function(i) return A(i) end, "B"))
    support.fails("has no units that wait for tokens", "invalid", t.annotate, t, "B", "ignores", "load")
  end)
end)
