--- Tests s:cost and s:show{cost = true} for schedules on accelerators: the model of their streams.
local nw = require "nestwright"
local product = require "chip_gemm"
local support = require "support"

describe("the cost of a schedule on an accelerator", function()
  it("has the cycles of the model, and counts what a run counts", function()
    for _, threads in ipairs {1, 2} do
      local s = product(128, threads)
      local c, stream = s:cost(), s:stream()
      local run, model = stream:run(), stream:model()
      assert.equal(model.cycles, c.cycles)
      assert.is_true(math.abs(c.cycles / run.cycles - 1) < 0.1)
      assert.near(c.cycles / 1e8, c.seconds, 1e-12) -- at 0.1 GHz
      for _, key in ipairs {"macs", "instructions", "memory_read", "memory_written", "pj"} do
        assert.equal(run[key], c[key], key)
      end
      for n, m in ipairs(run.memories) do assert.same(m, c.memories[n]) end
      assert.equal(run.units[2].busy, c.units[2].busy)
      assert.same({"load", "load"}, {c.bottleneck, run.bottleneck})
      assert.is_true(c.bound <= c.cycles)
      assert.near(run.macs / (64 * run.cycles), run.utilisation, 1e-12)
    end
  end)

  it("counts the energy of all iterations, also of those that the model skips", function()
    local s = nw.acc_conv2d(nw.accelerator "vta", {height = 14, channels = 64, filters = 64})
    local c, run = s:cost(), s:stream():run()
    for n, row in ipairs(run.energy) do
      assert.equal(row.name, c.energy[n].name)
      assert.near(row.joules, c.energy[n].joules, 1e-9 * row.joules)
    end
    assert.near(run.energy.joules, c.joules, 1e-9 * c.joules)
  end)

  it("is printed with the time of each unit", function()
    local text = tostring(product(64, 2):cost())
    for _, words in ipairs {"vdla: ", "limited by load", "time of each unit if it were the only limit", "compute   ", "memory   ",
      "of at most 64", "bytes read", "an iteration every", "a prediction"} do
      assert.truthy(text:find(words, 1, true), words .. " in\n" .. text)
    end
  end)

  it("says that a schedule waits if its units take turns", function()
    local c = product(64, 1):cost()
    assert.is_true(c.bound < 0.7 * c.cycles)
    assert.truthy(tostring(c):find "waits: no unit is busy for more than 65 %% of the time %(load%)")
  end)

  it("is not predicted while a nest is not an instruction", function()
    local A = nw.placeholder({8, 8}, "i8", "A")
    local s = nw.schedule(nw.compute({8, 8}, function(i, j) return A(i, j) + 1 end, "B"), {target = "vdla"})
    local vdla = nw.accelerator "vdla"
    s:tensorize(s:loops(s:cache_read(A, "inp"))[1], vdla.dma_copy2d)
    support.fails("B is computed by no instruction of vdla", "invalid", s.cost, s)
  end)

  it("is shown beside the loops, with the bytes and the bottleneck of each", function()
    local text = product(64, 2):show {cost = true}
    assert.truthy(text:find "for k_o in 0%.%.8:%s+#%s+%d+ %%%s+[%d.]+ k cy%s+65%.5 k bytes  limited by load")
    assert.truthy(text:find "for i_o in 0%.%.8:%s+#%s+100 %%")
    assert.truthy(text:find("# vdla: ", 1, true))
  end)

  it("adds up over the loops of a level, and inside of them", function()
    local c = product(64, 2):cost()
    local at = {}
    for _, loop in ipairs(c.loops) do at[loop.name] = loop end
    assert.equal(c.memory_read + c.memory_written, at.i_o.memory_read + at.i_o.memory_written)
    assert.equal(c.macs, at.k_o.macs)
    assert.equal(0, at.k_o.memory_written)
    assert.is_true(at.k_o.cycles <= at.j_o_o.cycles and at.j_o_o.cycles <= at.i_o.cycles and at.i_o.cycles <= c.cycles)
  end)

  it("is predicted for the machine of the schedule only, without the options of other machines", function()
    local s = product(16, 1)
    support.fails("machine: vta executes only its own instructions, and the schedule is for vdla", "invalid", s.cost, s,
      {machine = "vta"})
    support.fails("threads: an accelerator has units, not threads", "invalid", s.cost, s, {threads = 2})
    support.fails("measure: s:stream%(%):run%(%) simulates", "invalid", s.cost, s, {measure = true})
  end)
end)
