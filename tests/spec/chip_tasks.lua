--- Makes small schedules and changed records of accelerators, for specs.
local nw = require "nestwright"
local core = require "nestwright.core"

local chip_tasks = {}

--- Returns a deep copy of a table.
function chip_tasks.copy_of(value)
  if type(value) ~= "table" then return value end
  local out = {}
  for k, v in pairs(value) do out[k] = chip_tasks.copy_of(v) end
  return out
end

--- Returns an accelerator like VDLA after changes of its record.
function chip_tasks.changed(change)
  local m = chip_tasks.copy_of(require "nestwright.hw.vdla")
  m.name, m.sources = "changed", nil
  change(m.accelerator, m)
  return nw.accelerator(m)
end

--- Returns the schedule of n tasks on tiles of 8 numbers: a copy, an addition, and a copy back. threads: virtual threads.
function chip_tasks.tasks(chip, n, threads, scope)
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

--- True if a run of a stream computes what the definition says.
function chip_tasks.computes(s, B, stream)
  local given = {}
  for n, t in ipairs(s:inputs()) do given[n] = nw.random(t:shape(), t.dtype, {seed = n}) end
  return nw.allclose(nw.evaluate(B, given)[1], stream:run({arguments = given}).outputs[1])
end

--- Returns an accelerator whose unit "load" brings the operands of "alu".
function chip_tasks.with_loads(change)
  return chip_tasks.changed(function(a, m)
    a.instructions[1].to, a.instructions[6].from = "inp wgt", "inp acc"
    if change then change(a, m) end
  end)
end

--- Returns the instruction that takes the token which an instruction puts into a queue.
function chip_tasks.partner(stream, put, queue)
  for _, t in ipairs(core.stream_tokens(stream, put, put)) do if t.queue == queue and t.put == put then return t.take end end
end

--- Returns the number of the first instruction of this name, and of this unit if it is given.
function chip_tasks.first(stream, name, unit)
  for n = 1, #stream do
    local i = stream:instruction(n)
    if i.name == name and i.unit == (unit or i.unit) then return n end
  end
end

return chip_tasks
