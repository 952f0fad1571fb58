--- Estimates the cycles of tiles on an accelerator without a schedule of them. s:stream():model() predicts better in less than a
--- millisecond, but the schedule that it needs takes a hundred milliseconds, since the judge examines every step. A search
--- over thousands of tiles orders them by this estimate, makes schedules of the best ones, and lets the stream decide.
local estimate = {}

--- Returns the cycles of `blocks` blocks of a result. Each takes `steps` steps; a step loads its operands, and executes products. x
--- has blocks, steps, step (cycles to load the operands of a step), gemm (cycles of the products of a block), rest (cycles of the
--- ALU for a block), store (cycles to store a block), and kept (cycles of loads that are done once for all blocks).
function estimate.cycles(x)
  -- While the ALU works on a block, the operands of one step of the next block can be loaded.
  local compute = x.blocks * (math.max((x.steps - 1) * x.step, x.gemm) + math.max(x.step, x.rest))
  local copies = x.blocks * (x.steps * x.step + x.store) + x.kept
  return math.max(compute, copies) + x.step + (x.first or 0)
end

--- Returns the bytes that a copy moves in a cycle, if it uses the memory outside of the chip alone.
function estimate.rate(acc, row)
  return math.min(acc.machine.memory.bandwidth / acc.machine.clock, row.bytes_per_cycle)
end

return estimate
