--- Runs the reference design of the accelerator like Eyeriss, and compares its cycles, accesses and energy with those that Timeloop
--- and Accelergy print for it. Everything is counted in the simulated run.
local nw = require "nestwright"

-- Accesses of words: reads and writes together. A sum has two bytes, and everything else has one.
local WORDS = {psum = 18063360, weights = 11031552, ifmap = 12192768, glb = 1913456, memory = 572528}
local BYTES = {psum = 2}

local function differ(want, got)
  if want == got then return 0 end
  print(("  %s, and the reference has %s"):format(got, want))
  return 1
end

--- Returns cycles (of the busiest unit), all_cycles (of the run), uj, uj_with_reads (if the reads of sums that leave a memory were
--- counted), and wrong: the number of counts and values that differ.
return function()
  local s, O = require "chip_eyeriss" {rows = 112, columns = 112, filters = 32, tile = {rows = 14, blocks = 4, filters = 8}}
  local stream, given = s:stream(), {}
  for n, t in ipairs(s:inputs()) do given[n] = nw.random(t:shape(), t.dtype, {seed = n}) end
  local run = stream:run {arguments = given}
  local out = {cycles = 0, all_cycles = run.cycles, uj = run.energy.joules * 1e6, wrong = #stream:check()}
  for _, u in ipairs(run.units) do out.cycles = math.max(out.cycles, u.busy) end
  local words = {memory = run.memory_read + run.memory_written}
  for _, m in ipairs(run.memories) do words[m.name] = (m.read + m.written) // (BYTES[m.name] or 1) end
  for name, want in pairs(WORDS) do
    out.wrong = out.wrong + differ(want .. " accesses of " .. name, words[name] .. " accesses of " .. name)
  end
  out.wrong = out.wrong + differ("10838016 multiply-adds", run.macs .. " multiply-adds")
  local good = nw.allclose(nw.schedule(O):build()(table.unpack(given)), run.outputs[1])
  out.wrong = out.wrong + differ("the right values", good and "the right values" or "other values")
  local pj = {}
  for _, b in ipairs(nw.machine "eyeriss".accelerator.buffers) do pj[b.name] = b.read_pj end
  local results = run.memory_written -- of each, nine sums are added, and one byte leaves the shared buffer
  out.uj_with_reads = out.uj + results * (9 * 2 * pj.psum + pj.glb) * 1e-6
  return out
end
