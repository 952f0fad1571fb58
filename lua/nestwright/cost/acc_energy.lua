--- The energy, the time and the utilisation of a stream, from what was counted in a run or predicted by the model.
local energy = {}

-- Adds the row of a memory, from the bytes that were read and written. A memory whose energy is not known has none, and its name is
-- in `unknown`.
local function add(e, name, read, wrote, read_pj, write_pj)
  if read + wrote == 0 then return end
  if read_pj == 0 and write_pj == 0 then
    e.unknown[#e.unknown + 1] = name
  else
    e[#e + 1] = {name = name, bytes = read + wrote, joules = (read * read_pj + wrote * write_pj) * 1e-12}
  end
end

--- Returns rows {name, bytes, joules} of the memories and of the instructions, and joules, their sum. r: cycles, memories (read and
--- written), memory_read, memory_written, and pj (energy of the instructions). m: the machine.
function energy.of(r, m)
  local e = {joules = 0, unknown = {}}
  for n, b in ipairs(m.accelerator.buffers or {}) do
    add(e, b.name, r.memories[n].read, r.memories[n].written, b.read_pj or 0, b.write_pj or b.read_pj or 0)
  end
  local read_pj = m.memory.read_pj or 0
  add(e, "global", r.memory_read, r.memory_written, read_pj, m.memory.write_pj or read_pj)
  if r.pj > 0 then e[#e + 1] = {name = "instructions", joules = r.pj * 1e-12} end
  local watts = m.energy and m.energy.static_watts or 0
  if watts > 0 then e[#e + 1] = {name = "static", joules = watts * r.cycles / (m.clock * 1e9)} end
  for _, row in ipairs(e) do e.joules = e.joules + row.joules end
  return e
end

--- Returns the energy as a sentence, or nil if no energy is known.
function energy.text(e)
  if #e == 0 then return nil end
  local parts = {}
  for n, row in ipairs(e) do parts[n] = ("%s %.3g"):format(row.name, row.joules * 1e6) end
  local unknown = e.unknown[1] and "; not known for " .. table.concat(e.unknown, ", ") or ""
  return ("energy by the table of the machine: %.4g uJ (%s%s)"):format(e.joules * 1e6, table.concat(parts, ", "), unknown)
end

--- Returns the multiply-adds that the machine can do in a cycle.
function energy.peak(m)
  local a = m.accelerator
  return a.rows * a.columns * (a.depth or 1)
end

--- Adds to the counts r: seconds; utilisation (of the multiply-adds that the machine could do in this time); port (the cycles that
--- the memory outside of the chip needs for the bytes); bottleneck (the unit that is busy for most cycles, or "memory") and bound
--- (these cycles, which no order of the instructions can save); and energy.
function energy.complete(r, m)
  r.seconds = r.cycles / (m.clock * 1e9)
  r.utilisation = r.cycles > 0 and r.macs / (r.cycles * energy.peak(m)) or 0
  r.port = r.port or math.ceil((r.memory_read + r.memory_written) * m.clock / m.memory.bandwidth)
  r.bottleneck, r.bound = "memory", r.port
  for _, u in ipairs(r.units) do
    if u.busy > r.bound then r.bottleneck, r.bound = u.name, u.busy end
  end
  r.energy = energy.of(r, m)
  return r
end

return energy
