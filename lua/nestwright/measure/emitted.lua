--- What the compiler made of a schedule: instructions read off the assembly, by what they keep busy, as often as they run. Of x86,
--- whose names are known here; of other processors only the number of instructions is.
local assembly = require "nestwright.measure.assembly"
local core = require "nestwright.core"

local emitted = {}

-- What an instruction is, by patterns of its name: the first that fits.
local KINDS = {
  {"gathers", "gather"}, {"scatters", "scatter"}, {"branches", "^j", "^call", "^ret"}, {"masks", "^k"},
  {"moves", "^v?mov", "^lea", "^push", "^pop", "^v?p?broadcast"},
  {"division", "^v?div", "^v?sqrt"},
  {"arithmetic", "^v?add[ps]", "^v?sub[ps]", "^v?mul[ps]", "^vfn?m", "^v?max[ps]", "^v?min[ps]"},
  {"shuffles", "^v?p?shuf", "^vperm", "^v?p?unpck", "^v?insert", "^v?extract", "^v?p?align", "^vpmov", "^vcmp", "^vpcmp",
    "^v?pack", "^vexpand", "^vcompress"},
  {"vector integers", "^v"}, {"choices", "^cmov", "^set"}, {"integers", ""},
}

local known = {} -- kinds of names

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

-- 1 to 4: of one number, of 16, 32 and 64 bytes.
local function width_of(name, operands)
  if operands:find("%zmm", 1, true) then return 4 end
  if operands:find("%ymm", 1, true) then return 3 end
  return operands:find("%xmm", 1, true) and not name:find "s[sd]$" and 2 or 1
end

-- Of a gather or scatter whose widest register is so wide: of four bytes, and half as many where indices take eight.
local function lanes_of(name, width) return (name:find "erq" and 1 or 2) * 2 ^ (width - 1) end

--- An instruction {kind, width, lanes (of gathers and scatters), load, store, masked, stack, spill}; nothing where a line is none.
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

--- Blocks {loop (the loops around, outermost first, as text), times, lines} of assembly with loops, in order. What stands in a loop
--- of the cost record is taken to run in each of its rounds.
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

-- Cycles of an instruction on what it needs most of, by a machine's fields, and where.
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

-- Loops {times, counts, cycles}: the blocks of each together, a round.
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

--- Of assembly with loops, with those of a cost record, by the fields of a machine: counts (executed instructions by what they
--- are), cycles (by what is kept busy, if all else were free), and together (of each loop those of what is busiest, added up).
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

--- The same of a schedule, compiled for this host; and what that code takes with all data in the first cache, by a simulation
--- (core/cost/asm/code_simulate.c), by the record of a machine whose fields these are: simulated.
function emitted.of(s, loops, machine, fields)
  local text = assembly.of_x86_64("emitted", s:build {threads = 1})
  local out = emitted.count(assembly.with_loops(text), loops, fields)
  out.simulated = core.code_time(text, machine, out.counts.instructions)
  return out
end

return emitted
