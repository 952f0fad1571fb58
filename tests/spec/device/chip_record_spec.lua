--- Tests which records of accelerators are refused, and what their fields mean for streams.
local nw = require "nestwright"
local chips = require "chip_tasks"
local support = require "support"

local changed, copy_of, tasks, computes, first = chips.changed, chips.copy_of, chips.tasks, chips.computes, chips.first

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

  -- Once, a wrong form was an error only when the instruction was used.
  it("has forms of products that fit their operands", function()
    local function form(text)
      return function() return changed(function(a) a.instructions[5].form = text end) end
    end
    support.fails("instructions%[5%].form of gemm8x8: 'km,kq%->mn' has q, which is not one of m, n and k", "invalid",
      form "km,kq->mn")
    for _, text in ipairs {"km->mn", ",->", "km,kn", "km,kn->", "km,kn->mn,", "km,kn,mn,mn=mn", "km;kn->mn", "km,kn-mn", "->"} do
      support.fails("does not name two operands and a result", "invalid", form(text))
    end
    support.fails("has the letter m of the result in no operand", "invalid", form "k,kn->mn")
    support.fails("has the letter m twice in mm", "invalid", form "km,kn->mm")
    support.fails("'mn,mn%->mn' sums over no letter", "invalid", form "mn,mn->mn")
    support.fails("'km,kn=mn' sums over k: write %-> instead of =", "invalid", form "km,kn=mn")
    support.fails("'km,kn,mn%->mn' has three operands", "invalid", form "km,kn,mn->mn")
    support.fails("has the third operand nm, and the result mn", "invalid", form "mn,mn,nm=mn")
    assert.truthy(tostring(form "mn,mn=mn"().gemm8x8):find("C[i, j] = i32(A[i, j])*i32(B[i, j])", 1, true))
    assert.truthy(tostring(form "mn,mn,mn=mn"().gemm8x8):find("C[i, j] = i32(A[i, j])*i32(B[i, j]) + D[i, j]", 1, true))
  end)

  it("has products of dtypes that exist", function()
    refused("instructions%[5%].sum: there is no dtype 'i33'", function(a) a.instructions[5].sum = "i33" end)
  end)

  it("has instructions of one name only for different memories", function()
    local function added(row)
      return function(a)
        local new = copy_of(a.instructions[row.like])
        for k, v in pairs(row) do new[k] = v end
        new.like = nil
        table.insert(a.instructions, new)
      end
    end
    local used = "instructions%[7%].name: 'gemm8x8' is already used by instructions%[5%] for the same memories"
    refused(used, added {like = 5})
    refused(used, added {like = 5, interval = 2, from = "wgt acc", to = "inp acc"})
    refused("instructions%[7%].name: 'gemm8x8' is already the name of another product", added {like = 5, m = 4})
    refused("instructions%[7%].kind: 'alu' is already an instruction of another kind", added {like = 5, name = "alu"})
    refused("'fill_zero' is already used by instructions%[4%]", added {like = 4, from = "inp"})
    assert.truthy(changed(added {like = 5, from = "acc", to = "inp"}))
    assert.truthy(changed(added {like = 4, to = "inp"}))
  end)

  -- Once, the loops of an instruction were those of the first row of its name.
  it("executes the loops of the row for its memories", function()
    local function rows(one, two)
      return changed(function(a)
        a.buffers[#a.buffers + 1] = {name = "sum", bytes = 32 << 10, word_bits = 256}
        local other = copy_of(a.instructions[5])
        other.to, other.loops, a.instructions[5].loops = "sum", two, one
        a.instructions[2].from, a.instructions[4].to = "acc sum", "acc sum"
        table.insert(a.instructions, other)
      end)
    end
    local function length(chip, scope)
      local A, B, k = nw.placeholder({8, 32}, "i8", "A"), nw.placeholder({8, 8}, "i8", "B"), nw.reduce_axis(8, "k")
      local C = nw.compute({32, 8}, function(i, j) return nw.sum(nw.cast(A(k, i), "i32") * nw.cast(B(k, j), "i32"), k) end, "C")
      local s = nw.schedule(C, {target = chip})
      local CL = s:cache_write(C, scope)
      s:decompose_reduction(CL, s:loops(CL)[1])
      s:cache_read(A, "inp")
      s:cache_read(B, "wgt")
      local l = s:loops(CL)
      local _, i = s:split(l[1], 8)
      s:tensorize(i, chip.gemm8x8)
      for _, stage in ipairs(s:stages()) do
        local outer = s:loops(stage)[1]
        for _, name in ipairs {"dma_copy2d", "fill_zero"} do if pcall(s.tensorize, s, outer, chip[name]) then break end end
      end
      local stream = s:stream()
      assert.is_true(computes(s, C, stream))
      return #stream
    end
    for _, scope in ipairs {"acc", "sum"} do
      assert.equal(5, length(rows(2, 2), scope))
      assert.equal(scope == "acc" and 5 or 8, length(rows(2, 0), scope))
      assert.equal(scope == "acc" and 8 or 5, length(rows(0, 2), scope))
    end
  end)
end)
