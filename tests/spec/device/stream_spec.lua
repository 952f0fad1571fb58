--- Tests the tokens and the times of streams of instructions, and changes by hand.
local nw = require "nestwright"
local chips = require "chip_tasks"
local support = require "support"

local vdla = nw.accelerator "vdla"
local changed, tasks, with_loads = chips.changed, chips.tasks, chips.with_loads
local computes, first, partner = chips.computes, chips.first, chips.partner

describe("an instruction of a stream", function()
  it("has operands: the bytes that it accesses", function()
    local stream = tasks(vdla, 4, 2):stream()
    local load, add, store = stream:instruction(1), stream:instruction(2), stream:instruction(5)
    assert.same({memory = "acc", array = "A_acc", from = 64, to = 96, bytes = 32, row = 32, read = false, write = true,
      times = {}, strides = {}}, load.operands[1])
    assert.same({memory = "global", array = "A", from = 0, to = 32, bytes = 32, row = 32, read = true, write = false,
      times = {}, strides = {}}, load.operands[2])
    assert.equal("acc", add.operands[1].memory)
    assert.is_true(add.operands[1].write)
    assert.equal("dma_copy2d B[0..8] = B_acc[0..8]", store.text)
  end)

  it("has operands with rows if they are not consecutive", function()
    local A = nw.placeholder({16, 16}, "i8", "A")
    local B = nw.compute({16, 16}, function(i, j) return A(i, j) end, "B")
    local chip = changed(function(a) a.instructions[1].to = "inp global" end)
    local s = nw.schedule(B, {target = chip})
    local _, _, i = s:tile("i", "j", 4, 8)
    s:tensorize(i, chip.dma_copy2d)
    local from = s:stream():instruction(2).operands[2]
    assert.same({from = 8, to = 64, row = 8, times = {4}, strides = {16}},
      {from = from.from, to = from.to, row = from.row, times = from.times, strides = from.strides})
  end)
end)

describe("the check of a stream", function()
  it("finds accesses that tokens order the wrong way round", function()
    local s, B = tasks(with_loads(), 1, 1, "inp")
    local stream = s:stream()
    local load, add = first(stream, "dma_copy2d", "load"), first(stream, "alu")
    stream:drop(load, "load->compute"):add(add, "compute->load", "put"):add(load, "compute->load", "take")
    local found = stream:check()
    assert.equal(1, #found)
    assert.equal("RAW hazard", found[1].fault)
    assert.same({load, add}, {found[1].first, found[1].second})
    assert.is_false(computes(s, B, stream))
  end)

  it("names the units that wait for each other", function()
    local stream = tasks(with_loads(), 1, 1, "inp"):stream()
    local load, add = first(stream, "dma_copy2d", "load"), first(stream, "alu")
    stream:add(add, "compute->load", "put"):add(load, "compute->load", "take")
    local found = stream:check()[1]
    assert.equal("deadlock", found.fault)
    assert.same({load, add}, found.waits)
    assert.equal(load, found.again)
    assert.truthy(found.text:find(("which waits at instruction %d (alu"):format(add), 1, true), found.text)
    assert.truthy(found.text:find("they wait for each other", 1, true), found.text)
  end)

  it("names a unit that has ended and puts no token", function()
    local stream = tasks(with_loads(), 1, 1, "inp"):stream()
    stream:drop(first(stream, "dma_copy2d", "load"), "load->compute", "put")
    local found = stream:check()[1]
    assert.equal("deadlock", found.fault)
    assert.is_nil(found.again)
    assert.truthy(found.text:find("load, which has executed all its instructions", 1, true), found.text)
  end)

  it("is made again after a change", function()
    local stream = tasks(with_loads(), 2, 1, "inp"):stream()
    assert.same({}, stream:check())
    stream:drop(first(stream, "dma_copy2d", "load"), "load->compute")
    assert.equal("RAW hazard", stream:check()[1].fault)
    assert.equal("RAW hazard", stream:run().findings[1].fault)
  end)
end)

describe("the texts of a stream's check and of its prediction", function()
  -- Once, both were printed as the address of a table.
  it("say what they found", function()
    local stream = tasks(with_loads(), 2, 1, "inp"):stream()
    assert.equal("the tokens order all conflicting accesses", tostring(stream:check()))
    stream:drop(first(stream, "dma_copy2d", "load"), "load->compute")
    local found = stream:check()
    assert.truthy(tostring(found):find(found[1].text, 1, true) and tostring(found):find("\n  instruction 1: s:tensorize", 1, true))
    local model = tasks(with_loads(), 64, 1, "inp"):stream():model()
    local text = tostring(model)
    assert.truthy(text:find(("^%d cycles predicted, 192 instructions"):format(model.cycles)), text)
    assert.truthy(text:find(("load +busy for %d cycles"):format(model.units[1].busy)), text)
    assert.truthy(text:find(("an iteration every %d cycles"):format(model.steady.interval), 1, true), text)
  end)
end)

describe("short queues", function()
  -- Checks streams for queues that hold one token, and `room` instructions before each unit.
  local function examine(room, queues)
    local chip = with_loads(function(a)
      for _, u in ipairs(a.units) do u.queue = room end
      for _, q in ipairs(queues) do a.queues[q].tokens = 1 end
    end)
    for _, threads in ipairs {1, 2, 4} do
      local s, B = tasks(chip, 8, threads, "inp")
      local stream = s:stream()
      assert.same({}, stream:check())
      local run = stream:run()
      assert.is_false(run.stuck)
      for _, q in ipairs(queues) do assert.is_true(run.depth[q] <= 1) end
      assert.is_true(computes(s, B, stream))
    end
  end

  -- Once, a token that waited for room was drawn in its queue.
  it("are never drawn with more tokens than they have room for", function()
    local chip = with_loads(function(a) for _, q in ipairs(a.queues) do q.tokens = 1 end end)
    local run = tasks(chip, 8, 4, "inp"):stream():run()
    for _, row in ipairs(run:plot_queues().rows) do assert.is_true(row[4] <= 1, row[1]) end
  end)

  it("do not make the units of a stream wait forever", function() examine(0, {1, 2, 3, 4}) end)

  it("do not make units wait forever for an instruction that cannot be fetched", function()
    for queue = 1, 4 do examine(1, {queue}) end
  end)

  it("are reported if a stream that was changed needs longer ones", function()
    local chip = with_loads(function(a) a.queues[1].tokens = 1 end)
    local stream = tasks(chip, 4, 4, "inp"):stream()
    assert.same({}, stream:check())
    local loads = {}
    for n = 1, #stream do
      if stream:instruction(n).unit == "load" then loads[#loads + 1] = n end
    end
    local function drop_take(n) stream:drop(partner(stream, n, 1), "load->compute", "take") end
    for n = 1, 2 do drop_take(loads[n]) end
    local found = stream:check()
    local last = found[#found]
    assert.equal("full queue", last.fault)
    assert.truthy(last.text:find("holds at most 1 token for compute, which has executed all its instructions", 1, true), last.text)
  end)

  it("do not let a copy wait for one that asks for the memory later", function()
    local chip = changed(function(a, m)
      a.instructions[2].latency, a.instructions[3].latency = 100, 0
      a.queues[3].tokens = 1
      m.memory.bandwidth = 1.6
    end)
    local stream = tasks(chip, 8, 4):stream()
    local spans, copies = stream:run({spans = true}).spans, {}
    for n = 1, #stream do
      local i = stream:instruction(n)
      if i.unit == "compute" and i.name == "dma_copy2d" then copies[#copies + 1] = n end
    end
    local fifth = spans[copies[5]]
    assert.equal(2, fifth.to - fifth.from)
  end)
end)

describe("a long stream", function()
  it("of a million instructions is shown in few lines, and its iterations are folded", function()
    local stream = tasks(vdla, 1 << 19, 1):stream()
    assert.equal(3 << 19, #stream)
    local begun = os.clock()
    local text = tostring(stream)
    assert.is_true(os.clock() - begun < 1)
    local _, lines = text:gsub("\n", "")
    assert.is_true(lines < 20, text)
    assert.truthy(text:find("for i_o in 1..524287:", 1, true), text)
    local cut = stream:text(3)
    _, lines = cut:gsub("\n", "")
    assert.equal(4, lines)
    assert.truthy(cut:find("...\n", 1, true), cut)
    support.fails("lines = 0 is out of range", "range", stream.text, stream, 0)
  end)
end)

describe("virtual threads that do not divide the number of tasks", function()
  it("leave some of them without a task at the end", function()
    local s, B = tasks(vdla, 5, 2)
    local stream = s:stream()
    assert.equal(15, #stream)
    assert.same({}, stream:check())
    assert.is_true(computes(s, B, stream))
  end)
end)

describe("a lowered call of an instruction", function()
  it("is not split into pieces with and without padding", function()
    local A = nw.placeholder({15, 20}, "i8", "A")
    local P = nw.compute({16, 24}, function(i, j)
      return nw.select(nw.all(nw.lt(i, 15), nw.lt(j, 20)), A(i, j), nw.cast(0, "i8"))
    end, "P")
    local chip = changed(function(a) a.instructions[1].to = "global" end)
    local s = nw.schedule(P, {target = chip})
    s:tensorize("i", chip.dma_copy2d)
    local stream = s:stream()
    assert.equal(1, #stream)
    local given = nw.random({15, 20}, "i8", {seed = 1})
    assert.is_true(nw.allclose(nw.evaluate(P, {given})[1], stream:run({arguments = {given}}).outputs[1]))
  end)
end)

describe("a change of tokens", function()
  it("must name an instruction, a queue and a token that exist", function()
    local stream = tasks(vdla, 2, 1):stream()
    local store = first(stream, "dma_copy2d", "store")
    support.fails("instruction 0 is out of range", "range", stream.drop, stream, 0, "compute->store")
    support.fails("instruction 1 neither puts nor takes a token of the queue compute%->store", "invalid", stream.drop, stream, 1,
      "compute->store")
    support.fails("drop: instruction 2 does not take a token of compute%->store", "invalid", stream.drop, stream, 2,
      "compute->store", "take")
    support.fails("there is no queue 'compute%->compute'", "invalid", stream.add, stream, 1, "compute->compute", "put")
    local why = ("instruction %d already takes a token from the queue compute%%->store"):format(store)
    support.fails(why, "invalid", stream.add, stream, store, "compute->store", "take")
  end)

  -- Once, drop wanted the number of the instruction that puts the token also for the other end.
  it("names the instruction that has the token, at either end", function()
    local before = tasks(with_loads(), 2, 1, "inp"):stream()
    local load = first(before, "dma_copy2d", "load")
    local add = partner(before, load, 1)
    local function tokens(change)
      local stream = tasks(with_loads(), 2, 1, "inp"):stream()
      assert.equal(stream, change(stream))
      return #stream:instruction(load).puts, #stream:instruction(add).takes
    end
    local puts, takes = #before:instruction(load).puts, #before:instruction(add).takes
    assert.same({puts - 1, takes - 1}, {tokens(function(s) return s:drop(load, "load->compute") end)})
    assert.same({puts - 1, takes - 1}, {tokens(function(s) return s:drop(add, "load->compute") end)})
    assert.same({puts - 1, takes}, {tokens(function(s) return s:drop(load, "load->compute", "put") end)})
    assert.same({puts, takes - 1}, {tokens(function(s) return s:drop(add, "load->compute", "take") end)})
  end)
end)

describe("the tokens of a stream as text", function()
  it("can be read back", function()
    local stream = tasks(with_loads(), 4, 2, "inp"):stream()
    local text = stream:write_tokens()
    assert.truthy(text:find("^1 load: put load%->compute\n"), text)
    assert.truthy(tostring(stream):find("  take compute->load  put load->compute\n", 1, true), tostring(stream))
    assert.same({}, stream:read_tokens(text):check())
    assert.equal(text, stream:write_tokens())
    stream:read_tokens ""
    assert.truthy(stream:check()[1].fault:find "hazard")
    assert.equal("", stream:write_tokens())
    assert.same({}, stream:read_tokens(text):check())
  end)

  it("can be read back after a put or a take was removed alone", function()
    local stream = tasks(with_loads(), 4, 2, "inp"):stream()
    local text = stream:write_tokens()
    stream:drop(first(stream, "dma_copy2d", "load"), "load->compute", "put")
    stream:add(first(stream, "dma_copy2d", "load"), "compute->load", "take")
    assert.equal(text, stream:read_tokens(text):write_tokens())
  end)

  it("are refused with the line that is wrong, and the stream stays as it is", function()
    local stream = tasks(with_loads(), 2, 1, "inp"):stream()
    local before = stream:write_tokens()
    local function refused(pattern, text)
      support.fails(pattern, "invalid", stream.read_tokens, stream, text)
      assert.equal(before, stream:write_tokens())
    end
    refused("line 2: 'compute take load' is not an instruction with its tokens", before:match "^[^\n]*\n" .. "compute take load")
    refused("line 1: instruction 99 is out of range: the stream has 6", "99 load: put load->compute")
    refused("line 1: instruction 1 is executed by load, not by store", "1 store: put load->compute")
    refused("line 3: instruction 1 has a line already", "1 load: put load->compute\n\n1 load: put load->compute")
    refused("line 1: there is no queue 'load%->store'", "1 load: put load->store")
    refused("line 1: 'push load%->compute' neither takes nor puts a token", "1 load: push load->compute")
    refused("line 1: 'put compute' neither takes nor puts a token", "1 load: put compute")
    refused("line 1: instruction 1 is executed by load, which does not take tokens from load%->compute",
      "1 load: take load->compute")
    refused("line 1: the instruction has 'put load%->compute' twice", "1 load: put load->compute, put load->compute")
  end)
end)
