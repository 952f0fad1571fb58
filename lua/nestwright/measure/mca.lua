--- Runs llvm-mca on the instructions of the innermost loop, compiled for this host. This is a second estimate of the core's cycles.
local assembly = require "nestwright.measure.assembly"
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"

local mca = {}

local PROGRAMS = {"llvm-mca-19", "llvm-mca"}
local ROUNDS = 200

-- Returns the loops of assembly, {name, depth, lines}; the lines are those from the loop's label to the branch back to it.
local function loops_of(asm)
  local loops, open = {}, {}
  for line in asm:gmatch "[^\n]+" do
    local label = line:match "^(%.LBB[%d_]+):"
    if label then open[#open + 1] = {label = label, name = line:match "# %%\"?([%w_./]+)", depth = 0, lines = {}} end
    local depth = line:match "Loop Header: Depth=(%d+)"
    if depth and #open > 0 then open[#open].depth = tonumber(depth) end
    local instruction = line:match "^%s+(%l[^#]*)" or line:match "^%s+(%l.*)$"
    if instruction and not line:find "^%s+#" and not line:find "^%s+%." then
      for _, loop in ipairs(open) do loop.lines[#loop.lines + 1] = instruction end
      local target = instruction:match "^j%l+%s+(%.LBB[%d_]+)"
      for n = #open, 1, -1 do
        if open[n].label == target and open[n].depth > 0 then loops[#loops + 1] = table.remove(open, n) end
      end
    end
    if line:find "^%.Lfunc_end" then open = {} end
  end
  return loops
end

-- Returns the deepest loop; if several are equally deep, the longest.
local function innermost(loops)
  local best
  for _, loop in ipairs(loops) do
    if not best or loop.depth > best.depth or (loop.depth == best.depth and #loop.lines > #best.lines) then best = loop end
  end
  return best
end

local function run(input)
  for _, program in ipairs(PROGRAMS) do
    local ok, r = pcall(core.run_program, {program, "-iterations=" .. ROUNDS}, input, program .. " runs")
    if ok and r and r.status == 0 then return r.out end
    if not ok and not (errors.is_error(r) and r.code == "io") then error(r, 0) end
  end
end

local function absent(why) return {text = "llvm-mca: " .. why} end

--- Returns the report on a schedule: {loop, cycles (per iteration), instructions, text}. If there is no report, the
--- result has only `text`, which is the reason.
function mca.of(s)
  local loop = innermost(loops_of(assembly.of_x86_64("mca", s:build {threads = 1})))
  if not loop then return absent "the compiled code has no loop" end
  local out = run(table.concat(loop.lines, "\n") .. "\n")
  if not out then return absent "not installed here, or it does not know an instruction (Debian: apt install llvm-19)" end
  local cycles = tonumber(out:match "Total Cycles:%s+(%d+)")
  local bound = tonumber(out:match "Block RThroughput:%s+([%d.]+)")
  if not cycles then return absent "its output could not be read" end
  local m = {loop = loop.name, cycles = cycles / ROUNDS, throughput = bound, instructions = #loop.lines}
  m.text = ("llvm-mca: %.2f cycles per iteration of %s, %d instructions; %.2f by throughput alone"):format(m.cycles,
    m.loop or "the innermost loop", m.instructions, bound or m.cycles)
  return m
end

mca.loops_of, mca.innermost = loops_of, innermost

return mca
