--- Tests the pictures of accelerators: units over time, the slides of the lecture, queues, memories, and virtual threads.
local nw = require "nestwright"
local product = require "chip_gemm"
local support = require "support"

-- Returns the number of rows of a picture for which f holds.
local function count(p, f)
  local n = 0
  for _, row in ipairs(p.rows) do if f(row) then n = n + 1 end end
  return n
end

local function has(p, words) assert.truthy(p.script:find(words, 1, true), words) end
local function lacks(p, words) assert.falsy(p.script:find(words, 1, true), words) end

-- Returns the number of the first instruction that puts a token.
local function first_put(stream)
  local at = 1
  while #stream:instruction(at).puts == 0 do at = at + 1 end
  return at
end

describe("the virtual thread of an instruction", function()
  it("is known, also if there are too many threads to unroll their loops", function()
    for _, case in ipairs {{16, 2}, {128, 16}} do
      local stream, seen = product(case[1], case[2]):stream(), {}
      for n = 1, 6 * case[2] do
        local t = stream:instruction(n).thread
        seen[t] = (seen[t] or 0) + 1
      end
      for t = 0, case[2] - 1 do assert.truthy((seen[t] or 0) > 0, t) end
      assert.is_nil(seen[case[2]])
    end
    assert.is_nil(product(16, 1):stream():instruction(1).thread)
  end)
end)

describe("the units over time", function()
  it("are a bar for each instruction, with gaps, tokens and virtual threads", function()
    local stream = product(16, 2):stream()
    local p = stream:run():plot()
    assert.equal(#stream, #p.rows)
    assert.same({"run", "unit", "instruction", "name", "thread", "from", "to"}, p.columns)
    for _, words in ipairs {"waits for compute", "push to consumer", "pop from producer", "push to producer", "pop from consumer",
      "virtual thread 1"} do has(p, "'" .. words .. "'") end
    lacks(p, "'hazard:")
    assert.equal(16, count(p, function(r) return r[5] == 1 end))
    assert.truthy(p:svg():find("<svg", 1, true))
    lacks(stream:run():plot {tokens = false}, "'push to consumer'")
    has(stream:run():plot {colour = "instruction"}, "'dma_copy2d A'")
  end)

  it("can be shown for a part of the time", function()
    local run = product(32, 2):stream():run()
    local p = run:plot {from = 100, to = 200}
    assert.equal(0, count(p, function(r) return r[7] < 100 or r[6] >= 200 end))
    assert.is_true(#p.rows > 10 and #p.rows < 40)
    has(run:plot {to = 50}, "'waits for compute'") -- of the unit store, until later
    support.fails("to is 5, and must be later than from, which is 10", "range", run.plot, run, {from = 10, to = 5})
    local e = support.error_of(run.plot, run, {from = 5000, to = 6000})
    assert.truthy(e.message:find(("plot: from = 5000 is out of range: the run ends at cycle %d"):format(run.cycles), 1, true))
    support.fails("plot_queues: from = 5000 is out of range", "range", run.plot_queues, run, {from = 5000})
    support.fails("from: expected cycles from 0 on, got %-1", "range", run.plot, run, {from = -1})
    support.fails("colour: expected 'thread' or 'instruction'", nil, run.plot, run, {colour = "unit"})
  end)

  it("tell virtual threads apart without colours, and name the bars that are too short for names", function()
    local run = product(16, 2):stream():run()
    local p = run:plot {to = 150}
    for _, words in ipairs {"'A 1'", "'B 0'", "'gemm8x8 1'"} do has(p, words) end
    has(p, "The number in a bar is that of its virtual thread.")
    lacks(p, "without a name")
    lacks(run:plot {colour = "instruction"}, "The number in a bar")
    lacks(product(16, 1):stream():run():plot(), "The number in a bar")
    p = nw.latency_hiding((product(16, 2)))
    has(p, "Most bars without a name: gemm8x8 (compute).")
    local plain = require "nestwright.plots.figure".unshaded(p.script)
    assert.falsy(plain:find("fillstyle solid 0.", 1, true))
    assert.truthy(plain:find("fillstyle empty border", 1, true))
    p = run:plot_memories()
    has(p, "set label '1' at ")
    assert.truthy(p.caption:find("The number in an area is that of its virtual thread.", 1, true))
    has(product(16, 2):stream():plot_threads(), "'1  compute: fill_zero C_acc[64..128]'")
  end)

  it("frame the instructions of hazards that happened", function()
    local stream = product(16, 1):stream()
    local run = stream:run {mode = "decoupled"}
    assert.is_true(run.times_happened > 0 and #run.happened == run.times_happened)
    assert.truthy(run.happened[1].fault:find "hazard$")
    local p = run:plot()
    has(p, "'hazard: both instructions access the same bytes'")
    lacks(p, "'push to consumer'")
    assert.truthy(tostring(run):find("hazards happened; the first: ", 1, true))
    local raw = stream:run {mode = "raw"}:plot()
    has(raw, "'push to consumer'")
    lacks(raw, "'push to producer'")
    assert.equal(0, stream:run {mode = "monolithic"}.times_happened)
    assert.equal(0, stream:run().times_happened)
  end)

  it("do not strike through the names of hazards by their dashed lines", function()
    local p = product(16, 1):stream():run {mode = "decoupled"}:plot {to = 100}
    local names, ends = {}, {}
    for x, y in p.script:gmatch "set label '[RW]A[RW]' at ([%d.e+-]+),([%d.e+-]+) center" do
      names[#names + 1] = {tonumber(x), tonumber(y)}
    end
    for x1, y1, x2, y2 in p.script:gmatch "set arrow from ([%d.e+-]+),([%d.e+-]+) to ([%d.e+-]+),([%d.e+-]+) front nohead dt 2" do
      ends[#ends + 1] = {tonumber(x1), tonumber(y1), tonumber(x2), tonumber(y2)}
    end
    assert.is_true(#names > 0)
    assert.equal(2 * #names, #ends)
    for _, at in ipairs(names) do
      for _, e in ipairs(ends) do
        local left, right = math.min(e[1], e[3]), math.max(e[1], e[3])
        local low, high = math.min(e[2], e[4]), math.max(e[2], e[4])
        assert.falsy(left <= at[1] and at[1] <= right and low <= at[2] and at[2] <= high)
      end
    end
  end)

  it("show a dropped token, and who waits forever", function()
    local stream = product(16, 1):stream()
    local before, at = stream:run(), first_put(stream)
    stream:drop(at, "load->compute")
    support.fails("the tokens of the stream were changed after this run", "invalid", before.plot, before)
    local run = stream:run()
    assert.equal("RAW hazard", run.happened[1].fault)
    local firsts = {}
    for _, f in ipairs(run.happened) do firsts[f.first] = true end
    assert.is_true(firsts[at])
    has(run:plot(), "'RAW'")
    has(run:plot(), "'tokens changed by hand: ")
    has(product(16, 1):stream():run():plot(), "'all tokens: ")
    local other = product(16, 1):stream()
    other:drop(at, "load->compute", "put")
    has(other:run():plot(), "'waits forever for load'")
  end)

  it("are drawn as columns if there are thousands of bars", function()
    local p = product(96, 2):stream():run():plot()
    has(p, "Where bars are too narrow to distinguish")
    has(p, "tokens are not drawn")
    assert.is_true(#p:svg() < 200000)
  end)

  it("of a very long stream are drawn in parts", function()
    local stream = product(160, 1):stream()
    assert.is_true(#stream > 20000)
    local run = stream:run()
    support.fails("the run has %d+ instructions, so it did not keep their times", "limit", run.plot, run)
    local kept = stream:run {spans = true}
    support.fails("%d+ instructions are too many: at most 20000 can be drawn", "limit", kept.plot, kept)
    assert.is_true(#kept:plot({from = 5000, to = 5200}).rows < 40)
    assert.equal(24, #stream:plot_threads({first = 20000}).rows)
  end)

  it("are drawn above each other for several runs", function()
    local one, two = product(16, 1):stream():run(), product(16, 2):stream():run()
    local p = nw.unit_runs({{"before", one}, {"after", two}}, {title = "virtual threads"})
    assert.equal(64, #p.rows)
    assert.truthy(p.caption:find("before: 348 cycles", 1, true), p.caption)
    has(p, "'virtual threads'")
    assert.equal(64, #nw.unit_runs({one, two}).rows)
    support.fails("0 runs: expected 1 to 8", "range", nw.unit_runs, {})
    support.fails("1: expected a run of a stream, got a number", "invalid", nw.unit_runs, {3})
    support.fails("1: expected a run of a stream, got a number", "invalid", nw.unit_runs, {0 / 0})
    support.fails("1: title: expected a string", nil, nw.unit_runs, {{1, one}})
  end)
end)

describe("the slides of the lecture", function()
  it("are made from one schedule with virtual threads", function()
    local s = product(16, 2)
    local p = nw.latency_hiding(s)
    local names = {}
    for _, row in ipairs(p.rows) do
      if names[#names] ~= row[1] then names[#names + 1] = row[1] end
    end
    assert.same({"1. monolithic: one instruction at a time", "2. decoupled, without tokens", "3. RAW tokens only",
      "4. RAW and WAR tokens", "5. virtual threads, RAW and WAR tokens"}, names)
    assert.equal(5 * #s:stream(), #p.rows)
    assert.equal(#s:stream(), count(p, function(r) return r[5] end))
    assert.truthy(p.caption:find "RAW hazard" and p.caption:find "WAR hazard")
    local plain = product(16, 1)
    support.fails("the schedule has no virtual threads", "invalid", nw.latency_hiding, plain)
  end)
end)

describe("queues and memories over time", function()
  it("show the tokens of each queue", function()
    local run = product(32, 2):stream():run()
    local p, most = run:plot_queues(), {}
    for _, row in ipairs(p.rows) do most[row[1]] = math.max(most[row[1]] or 0, row[4]) end
    assert.equal(1, most["load->compute"])
    assert.is_true(count(p, function(r) return r[4] < 0 end) == 0)
    assert.truthy(p.caption:find("load->compute: 64 tokens; at most 1 in the queue at the same time", 1, true), p.caption)
  end)

  -- Once, each token of a queue into which none was put was "taken as soon as it is put".
  it("say what was put if a unit waits forever, or if the units ignore tokens", function()
    local function stuck(at)
      local stream = product(16, 1):stream()
      stream:drop(at(stream), "load->compute", "put")
      return stream:run():plot_queues().caption
    end
    local caption = stuck(first_put)
    for _, words in ipairs {"load->compute: 7", "compute->load: 7", "compute->store: 4"} do
      assert.truthy(caption:find(words .. " tokens, but none is put: the run stops before", 1, true), caption)
    end
    assert.falsy(caption:find("as soon as", 1, true), caption)
    caption = stuck(function(stream)
      local at = first_put(stream) + 1
      while not (stream:instruction(at).puts[1] and stream:instruction(at).unit == "load") do at = at + 1 end
      return at
    end)
    assert.truthy(caption:find("load->compute: 1 of 7 tokens is put, before the run stops; it is taken", 1, true), caption)
    caption = product(16, 1):stream():run {mode = "decoupled"}:plot_queues().caption
    assert.truthy(caption:find("load->compute: 8 tokens, which the units ignore", 1, true), caption)
  end)

  it("say the same about the whole run in a picture of a part of it", function()
    local run = product(32, 2):stream():run()
    assert.equal(run:plot_queues().caption, run:plot_queues({from = 0, to = 20}).caption)
    local part = run:plot_memories({from = 0, to = 10}).caption
    assert.truthy(part:find("inp: at most 128 bytes in use at the same time, of 16 KiB; the arrays take 128 bytes", 1, true), part)
  end)

  it("show the bytes of each memory by virtual thread", function()
    local p = product(32, 2):stream():run():plot_memories()
    assert.truthy(p.caption:find("inp: at most 128 bytes in use at the same time, of 16 KiB; the arrays take 128 bytes", 1, true),
      p.caption)
    assert.is_true(count(p, function(r) return r[1] == "acc" and r[2] == "virtual thread 1" and r[4] == 256 end) > 0)
    assert.is_true(count(p, function(r) return r[4] < 0 or r[4] > 256 end) == 0)
  end)
end)

describe("the software's view", function()
  it("has phases of virtual threads beside the stream", function()
    local stream = product(16, 2):stream()
    local p = stream:plot_threads()
    assert.equal(24, #p.rows)
    has(p, "'barrier'")
    has(p, "'push compute'")
    has(p, "'pop load'")
    for n, row in ipairs(p.rows) do assert.equal(n, row[1]) end
    assert.equal(1, p.rows[2][4])
    assert.equal(2, p.rows[3][4])
    assert.equal(12, #stream:plot_threads({first = 21}).rows)
    lacks(product(16, 1):stream():plot_threads(), "'barrier'")
    support.fails("first: expected an instruction from 1 to 32, got 33", "range", stream.plot_threads, stream, {first = 33})
    support.fails("count: expected 1 to 60 instructions, got 61", "range", stream.plot_threads, stream, {count = 61})
  end)
end)
