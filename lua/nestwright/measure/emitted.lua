--- Counts the compiled instructions of a schedule by the resource that they use, weighted by the number of executions. The
--- instructions are read from the assembly. Only x86 instructions are classified; for other CPUs, only their number is known.
local assembly = require "nestwright.measure.assembly"
local core = require "nestwright.core"

local emitted = {}

-- Each row has a kind of instructions and patterns of their names. The first pattern that matches determines the kind.
local KINDS = {
  {"gathers", "gather"}, {"scatters", "scatter"}, {"branches", "^j", "^call", "^ret"}, {"masks", "^k"},
  {"moves", "^v?mov", "^lea", "^push", "^pop", "^v?p?broadcast"},
  {"division", "^v?div", "^v?sqrt"},
  {"arithmetic", "^v?add[ps]", "^v?sub[ps]", "^v?mul[ps]", "^vfn?m", "^v?max[ps]", "^v?min[ps]"},
  {"shuffles", "^v?p?shuf", "^vperm", "^v?p?unpck", "^v?insert", "^v?extract", "^v?p?align", "^vpmov", "^vcmp", "^vpcmp",
    "^v?pack", "^vexpand", "^vcompress"},
  {"vector integers", "^v"}, {"choices", "^cmov", "^set"}, {"integers", ""},
}

local known = {} -- kinds by name

local function kind_of(name)
  if known[name] then return known[name] end
  for _, row in ipairs(KINDS) do
    for n = 2, #row do
      if name:find(row[n]) then
        known[name] = row[1]
        return row[1]
      end
    end
  end
end

-- Returns the width class of an instruction: 1 for one number, 2 for 16 bytes, 3 for 32 bytes, 4 for 64 bytes.
local function width_of(name, operands)
  if operands:find("%zmm", 1, true) then return 4 end
  if operands:find("%ymm", 1, true) then return 3 end
  return operands:find("%xmm", 1, true) and not name:find "s[sd]$" and 2 or 1
end

-- Returns the number of lanes of a gather or scatter with a register of this width class. A lane has four bytes. With indices of
-- eight bytes, the number of lanes is halved.
local function lanes_of(name, width) return (name:find "erq" and 1 or 2) * 2 ^ (width - 1) end

--- Returns the instruction of a line, {kind, width, lanes (of gathers and scatters), load, store, masked, stack, spill}, or nil.
function emitted.instruction(line)
  local name, operands = line:match "^\t(%l%w*)%s*([^#]*)"
  if not name then return nil end
  local i = {kind = kind_of(name), width = width_of(name, operands), masked = operands:find("{%k", 1, true) ~= nil}
  if i.kind == "gathers" or i.kind == "scatters" then i.lanes = lanes_of(name, i.width) end
  if operands:find "%(%%" and not name:find "^lea" then
    i.store = i.kind == "moves" and operands:find "%)%s*[{%%k%d}]*%s*$" ~= nil or i.kind == "scatters"
    i.load, i.stack = not i.store, operands:find "%(%%r[sb]p[,)]" ~= nil
  end
  if i.load and name:find "broadcast" then i.kind = "moves" elseif name:find "broadcast" then i.kind = "shuffles" end
  i.spill = line:find("Spill", 1, true) ~= nil or line:find("Reload", 1, true) ~= nil
  return i
end

--- Returns the blocks of a result of assembly.with_loops, in order: {loop (the loops around the block, outermost first, as text),
--- times, lines}. A block inside a loop of the cost record is assumed to run in each iteration of the loop.
function emitted.blocks(text, loops)
  local times, out = {}, {{times = 1, lines = {}}}
  for _, loop in ipairs(loops) do
    if loop.name then times[loop.name] = math.max(times[loop.name] or 0, loop.times) end
  end
  for line in text:gmatch "[^\n]+" do
    if line:find "^%.LBB" or line:find "^# %%bb" then
      local inside = line:match "# in (.+)$"
      out[#out + 1] = {loop = inside, times = inside and times[inside:match "[^ >]+$"] or 1, lines = {}}
    else
      table.insert(out[#out].lines, line)
    end
  end
  return out
end

local function add(t, key, v) t[key] = (t[key] or 0) + v end

local function add_instruction(t, i)
  add(t, "instructions", 1)
  add(t, i.kind, 1)
  if i.masked then add(t, "masked", 1) end
  if i.stack then add(t, "stack", 1) end
  if i.spill then add(t, "spills", 1) end
  if i.load and i.width > 2 then add(t, "wide loads", 1) end
  if i.store and i.width < 3 then add(t, "narrow stores", 1) end
end

-- The class of operations in a machine record for each kind of instruction.
local CLASS = {arithmetic = "fma", division = "div", shuffles = "shuffle", masks = "shuffle", ["vector integers"] = "int"}

local function rate_of(machine, class, width) return math.max(0.05, machine[("ops.%s.per_cycle[%d]"):format(class, width)] or 1) end

local function add_cycles(t, i, machine)
  add(t, "dispatch", 1 / machine.dispatch)
  local class = CLASS[i.kind]
  if class then add(t, class == "div" and "fma" or class, 1 / rate_of(machine, class, i.width)) end
  if i.kind == "branches" then add(t, "branch", 1) end
  if i.kind == "branches" or i.kind == "integers" or i.kind == "choices" then add(t, "whole", 1 / rate_of(machine, "int", 1)) end
  local width = i.lanes and 1 or i.width
  if i.load then add(t, "load", (i.lanes or 1) / rate_of(machine, "load", width)) end
  if i.store then add(t, "store", (i.lanes or 1) / rate_of(machine, "store", width)) end
end

-- Returns the loops, {times, counts, cycles}. `counts` (instructions by kind) and `cycles` (by resource) are per iteration. They
-- are sums over the blocks of the loop.
local function loops_of(blocks, machine)
  local by, list = {}, {}
  for _, block in ipairs(blocks) do
    local key = block.loop or ""
    local loop = by[key]
    if not loop then
      loop = {times = block.times, counts = {}, cycles = {}}
      by[key], list[#list + 1] = loop, loop
    end
    for _, line in ipairs(block.lines) do
      local i = emitted.instruction(line)
      if i then
        add_instruction(loop.counts, i)
        add_cycles(loop.cycles, i, machine)
      end
    end
  end
  return list
end

--- Counts the instructions of a result of assembly.with_loops. loops: the loops of a cost record; machine: the fields of a machine.
--- Returns {counts (executed instructions by kind), cycles (of each resource if it were the only limit), together (the cycles of
--- the busiest resource of each loop, summed over all loops)}.
function emitted.count(text, loops, machine)
  local out = {counts = {}, cycles = {}, together = 0}
  for _, loop in ipairs(loops_of(emitted.blocks(text, loops), machine)) do
    local most = 0
    for key, v in pairs(loop.counts) do add(out.counts, key, v * loop.times) end
    for key, v in pairs(loop.cycles) do
      add(out.cycles, key, v * loop.times)
      most = math.max(most, v)
    end
    out.together = out.together + most * loop.times
  end
  return out
end

--- Returns the counts of emitted.count for a schedule that is compiled for this host. The field `simulated` is the simulated time
--- of this code with all data in the first cache (core/cost/asm/code_simulate.c). machine: a machine record; fields: its fields.
function emitted.of(s, loops, machine, fields)
  local text = assembly.of_x86_64("emitted", s:build {threads = 1})
  local out = emitted.count(assembly.with_loops(text), loops, fields)
  out.simulated = core.code_time(text, machine, out.counts.instructions)
  return out
end

return emitted
