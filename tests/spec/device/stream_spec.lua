--- Tests the tokens and the times of streams of instructions, changes by hand, and wrong input.
local nw = require "nestwright"
local support = require "support"

local vdla = nw.accelerator "vdla"

local function copy_of(value)
  if type(value) ~= "table" then return value end
  local out = {}
  for k, v in pairs(value) do out[k] = copy_of(v) end
  return out
end

-- Returns an accelerator like VDLA after changes of its record.
local function changed(change)
  local m = copy_of(require "nestwright.hw.vdla")
  m.name, m.sources = "changed", nil
  change(m.accelerator, m)
  return nw.accelerator(m)
end

-- Returns the schedule of n tasks on tiles of 8 numbers: a copy, an addition, and a copy back. threads: virtual threads.
local function tasks(chip, n, threads, scope)
  local A = nw.placeholder({8 * n}, "i32", "A")
  local B = nw.compute({8 * n}, function(i) return A(i) + A(i) end, "B")
  local s = nw.schedule(B, {target = chip})
  local at = s:split("i", 8)
  if threads > 1 then
    local _, v = s:split(at, threads)
    s:bind(v, "vthread")
    at = v
  end
  local BL = s:cache_write(B, "acc", {at = at})
  local AL = s:cache_read(A, scope or "acc", {at = at})
  for stage, instruction in pairs {[AL] = chip.dma_copy2d, [BL] = chip.alu, [B] = chip.dma_copy2d} do
    local l = s:loops(stage)
    s:tensorize(l[#l], instruction)
  end
  return s, B
end

-- True if a run of a stream computes what the definition says.
local function computes(s, B, stream)
  local given = nw.random(s:inputs()[1]:shape(), "i32", {seed = 1})
  return nw.allclose(nw.evaluate(B, {given})[1], stream:run({arguments = {given}}).outputs[1])
end

-- An accelerator whose unit "load" brings the operands of "alu".
local function with_loads(change)
  return changed(function(a, m)
    a.instructions[1].to, a.instructions[6].from = "inp wgt", "inp acc"
    if change then change(a, m) end
  end)
end

local function first(stream, name, unit)
  for n = 1, #stream do
    local i = stream:instruction(n)
    if i.name == name and i.unit == (unit or i.unit) then return n end
  end
end

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
    for n = 1, 2 do stream:drop(loads[n], "load->compute", "take") end
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
    support.fails("instruction 1 puts no token into the queue from compute to store", "invalid", stream.drop, stream, 1,
      "compute->store")
    support.fails("there is no queue 'compute%->compute'", "invalid", stream.add, stream, 1, "compute->compute", "put")
    local why = ("instruction %d already takes a token from the queue from compute to store"):format(store)
    support.fails(why, "invalid", stream.add, stream, store, "compute->store", "take")
  end)
end)

describe("the tokens of a stream as text", function()
  it("can be read back", function()
    local stream = tasks(with_loads(), 4, 2, "inp"):stream()
    local text = stream:write_tokens()
    assert.truthy(text:find("\n2 load: put compute\n", 1, true) or text:find("^1 load: put compute\n"), text)
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
    refused("line 1: instruction 99 is out of range: the stream has 6", "99 load: put compute")
    refused("line 1: instruction 1 is executed by load, not by store", "1 store: put compute")
    refused("line 3: instruction 1 has a line already", "1 load: put compute\n\n1 load: put compute")
    refused("line 1: there is no queue from load to store", "1 load: put store")
    refused("line 1: 'push compute' neither takes nor puts a token", "1 load: push compute")
    refused("line 1: the instruction has 'put compute' twice", "1 load: put compute, put compute")
  end)
end)

describe("a record of an accelerator", function()
  local function refused(pattern, change) support.fails(pattern, "invalid", changed, change) end

  it("has no buffer of size 0, and no word wider than its buffer", function()
    support.fails("accelerator: accelerator.buffers%[1%].bytes: 0 is not in 1%.%.1e%+18 bytes", nil, changed,
      function(a) a.buffers[1].bytes = 0 end)
    refused("buffers%[1%].word_bits: a word of 64 bits is wider than the buffer", function(a) a.buffers[1].bytes = 4 end)
  end)

  it("may name units with underlines", function()
    local chip = changed(function(a)
      local name = "write_back"
      a.units[3].name, a.instructions[2].unit, a.queues[3].to, a.queues[4].from = name, name, name, name
    end)
    local stream = tasks(chip, 2, 1):stream()
    assert.equal(0, #stream:check())
    stream:drop(first(stream, "alu"), "compute->write_back")
    assert.equal("RAW hazard", stream:check()[1].fault)
  end)

  it("has no copy that is wider than a buffer", function()
    refused("instructions%[1%].bytes_per_cycle: 20000 is more than the 16384 bytes of buffer inp",
      function(a) a.instructions[1].bytes_per_cycle = 20000 end)
  end)

  it("has no queue from a unit to itself, and no two queues between the same units", function()
    refused("queues%[1%]: 'load' would wait for itself", function(a) a.queues[1].to = "load" end)
    refused("there is already a queue from 'load' to 'compute'", function(a) a.queues[2] = {from = "load", to = "compute"} end)
    refused("there is no unit 'lod'", function(a) a.queues[1].to = "lod" end)
  end)

  it("may have queues in a cycle, which no stream fills", function()
    local chip = changed(function(a)
      a.queues = {{from = "load", to = "compute"}, {from = "compute", to = "store"}, {from = "store", to = "load"}}
    end)
    local s, B = tasks(chip, 4, 2)
    local stream = s:stream()
    assert.same({}, stream:check())
    assert.truthy(first(stream, "wait", "load"))
    assert.is_true(computes(s, B, stream))
  end)

  it("needs a way of queues between units that wait for each other", function()
    local chip = changed(function(a) a.queues = {{from = "compute", to = "store"}} end)
    support.fails("there is no queue of tokens from store to compute", "invalid", function() return tasks(chip, 4, 1):stream() end)
  end)

  it("may leave out accesses to its buffers only, and reads once what it copies to several places", function()
    refused("instructions%[1%].uncounted: there is no buffer 'lnp'", function(a) a.instructions[1].uncounted = "lnp" end)
    local W = nw.placeholder({8}, "i32", "W")
    local V = nw.compute({4, 8}, function(_, i) return W(i) end, "V")
    local B = nw.compute({4, 8}, function(j, i) return V(j, i) end, "B")
    local function run(multicast, uncounted)
      local chip = changed(function(a) a.instructions[3].multicast, a.instructions[2].uncounted = multicast, uncounted end)
      local s = nw.schedule(B, {target = chip})
      s:set_scope(V, "acc")
      for _, stage in ipairs {V, B} do s:tensorize(s:loops(stage)[1], chip.dma_copy2d) end
      local given = nw.random({8}, "i32", {seed = 1})
      local r = s:stream():run {arguments = {given}}
      assert.is_true(nw.allclose(nw.evaluate(B, {given})[1], r.outputs[1]))
      return {r.memory_read, r.memories[3].written, r.memories[3].read, r.units[2].busy}
    end
    assert.same({128, 128, 128, 8.0 + 8}, run(false, ""))
    assert.same({32, 128, 0, 8.0 + 2}, run(true, "acc"))
  end)

  it("has forms of products that fit their operands", function()
    local function form(text)
      return function()
        return changed(function(a) a.instructions[5].form = text end).gemm8x8
      end
    end
    support.fails("'q' is not one of m, n and k", "invalid", form "km,kq->mn")
    support.fails("does not name two operands and a result", "invalid", form "km->mn")
    support.fails("the letter m of the result is in no operand", "invalid", form "k,kn->mn")
    support.fails("'mm' has the letter m twice", "invalid", form "km,kn->mm")
    support.fails("'mn,mn%->mn' sums over no letter", "invalid", form "mn,mn->mn")
    support.fails("'km,kn=mn' sums over k: write %-> instead of =", "invalid", form "km,kn=mn")
    support.fails("'km,kn,mn%->mn' has three operands", "invalid", form "km,kn,mn->mn")
    support.fails("the third operand is nm, and the result is mn", "invalid", form "mn,mn,nm=mn")
    assert.truthy(tostring(form "mn,mn=mn"()):find("C[i, j] = i32(A[i, j])*i32(B[i, j])", 1, true))
    assert.truthy(tostring(form "mn,mn,mn=mn"()):find("C[i, j] = i32(A[i, j])*i32(B[i, j]) + D[i, j]", 1, true))
  end)
end)
