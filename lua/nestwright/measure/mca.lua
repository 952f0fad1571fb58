--- Runs llvm-mca on the instructions of the innermost loop. This is a second estimate of the cycles of a CPU core. The estimate
--- depends on LLVM's model of the CPU. So the report names the CPU and the model, and says where the model contradicts the machine
--- record.
local assembly = require "nestwright.measure.assembly"
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local target = require "nestwright.language.target"
local written = require "nestwright.show.written"

local mca = {}

local PROGRAMS = {"llvm-mca-19", "llvm-mca"}
local ROUNDS = 200

-- Returns the loops of assembly, {name, depth, lines}. The lines go from the loop's label to the branch back to this label.
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
      local back = instruction:match "^j%l+%s+(%.LBB[%d_]+)"
      for n = #open, 1, -1 do
        if open[n].label == back and open[n].depth > 0 then loops[#loops + 1] = table.remove(open, n) end
      end
    end
    if line:find "^%.Lfunc_end" then open = {} end
  end
  return loops
end

-- Returns the deepest loop. If several loops are equally deep, returns the loop with the most instructions.
local function innermost(loops)
  local best
  for _, loop in ipairs(loops) do
    if not best or loop.depth > best.depth or (loop.depth == best.depth and #loop.lines > #best.lines) then best = loop end
  end
  return best
end

-- The keys are the beginnings of the names of a model's resources. The values are the CPUs that LLVM's models were made for. If
-- LLVM has no model of a CPU, it uses the model of an older CPU.
local MODELS = {SB = "sandybridge", HW = "haswell", BW = "broadwell", SKL = "skylake", SKX = "skylake-avx512",
  ICX = "icelake-server", ADLP = "alderlake", SPR = "sapphirerapids", Zn = "znver1", Zn2 = "znver2", Zn3 = "znver3",
  Zn4 = "znver4", Zn5 = "znver5"}

-- Runs llvm-mca on instructions. Returns its output, or nil and the reason why there is none.
local function run(lines, cpu)
  local why = "not installed here (Debian: apt install llvm-19)"
  for _, program in ipairs(PROGRAMS) do
    local words = {program, "-mtriple=x86_64", "-mcpu=" .. cpu, "-iterations=" .. ROUNDS}
    local ok, r = pcall(core.run_program, words, table.concat(lines, "\n") .. "\n", program .. " runs")
    if ok and r and r.status == 0 then return r.out end
    if not ok and not (errors.is_error(r) and r.code == "io") then error(r, 0) end
    if ok and r then return nil, ("it failed for %s: %s"):format(cpu, r.said:match "error: ([^\n]+)" or r.said) end
  end
  return nil, why
end

-- Returns the data in an output of llvm-mca: {cycles (per iteration), bound (cycles per iteration by throughput alone), model (the
-- CPU of LLVM's model)}.
local function read(out)
  local model
  for resource in out:gmatch "%[[%d.]+%]%s+%- (%w+)" do
    model = model or MODELS[resource:match "^(%u+)%u%l" or resource:match "^(Zn%d?)%u"]
  end
  local cycles = tonumber(out:match "Total Cycles:%s+(%d+)")
  return {cycles = cycles and cycles / ROUNDS, bound = tonumber(out:match "Block RThroughput:%s+([%d.]+)"), model = model}
end

-- ---- the multiply-adds of the model

local WIDTHS = {{"%zmm", 4, 64}, {"%ymm", 3, 32}, {"%xmm", 2, 16}} -- register, number of the width in a record, bytes
local INDEPENDENT = 12 -- the number of multiply-adds of the probe; they do not depend on each other

-- Returns the row of WIDTHS for the widest vector multiply-adds, or nil if there are none.
local function width_of(lines)
  for _, width in ipairs(WIDTHS) do
    for _, line in ipairs(lines) do
      if line:find "^vfn?m%w+p[sd]%s" and line:find(width[1], 1, true) then return width end
    end
  end
end

-- Returns a sentence that says how many multiply-adds the model can do per cycle. Returns nil if the record of the machine has
-- about the same number. A model with half as many units gives twice the cycles.
local function contradiction(lines, cpu, record)
  local width, probe = width_of(lines), {}
  if not width then return nil end
  for n = 1, INDEPENDENT do probe[n] = ("vfmadd231ps %s0, %s1, %s%d"):format(width[1], width[1], width[1], n + 1) end
  local out = run(probe, cpu)
  local bound, own = out and read(out).bound, record.ops.fma.per_cycle[width[2]]
  if not bound or math.abs(INDEPENDENT / bound / own - 1) < 0.1 then return nil end
  return ("multiply-adds of %d bytes per cycle: %.2g in this model, %.2g in the record of %s; the cycles of the model can be %.2g "
    .. "times those of the machine, or more"):format(width[3], INDEPENDENT / bound, own, record.name, own * bound / INDEPENDENT)
end

-- ---- the report

local function version_of()
  for _, program in ipairs(PROGRAMS) do
    local ok, r = pcall(core.run_program, {program, "--version"}, "", program .. " runs")
    local version = ok and r and r.out:match "LLVM version (%d+)"
    if version then return "LLVM " .. version end
  end
  return "this LLVM"
end

local function absent(why) return {text = "llvm-mca: " .. why} end

local function text_of(m)
  local out = {("llvm-mca: %.2f cycles per iteration of %s on %s, %s; %.2f by throughput alone"):format(m.cycles,
    m.loop or "the innermost loop", m.cpu, written.plural(m.instructions, "instruction"), m.throughput or m.cycles)}
  if m.model and m.model ~= m.cpu then
    out[2] = ("%s has no model of %s: the model of %s was used"):format(version_of(), m.cpu, m.model)
  end
  out[#out + 1] = m.contradiction
  return table.concat(out, "\n  ")
end

--- Returns the report on a schedule: {loop, cpu (that is assumed), model (the CPU of LLVM's model), cycles (per iteration),
--- throughput, instructions, contradiction (of the model and the machine record), text}. If there is no report, the result has only
--- `text`, which is the reason.
function mca.of(s)
  local kernel = s:build {threads = 1}
  local loop, cpu = innermost(loops_of(assembly.of_x86_64("mca", kernel))), kernel.cpu
  if not loop then return absent "the compiled code has no loop" end
  local out, why = run(loop.lines, cpu)
  if not out then return absent(why) end
  local r = read(out)
  if not r.cycles then return absent "its output could not be read" end
  local m = {loop = loop.name, cpu = cpu, model = r.model, cycles = r.cycles, throughput = r.bound, instructions = #loop.lines,
    contradiction = contradiction(loop.lines, cpu, target.machine(core.schedule_target(s)))}
  m.text = text_of(m)
  return m
end

mca.loops_of, mca.innermost, mca.read, mca.contradiction = loops_of, innermost, read, contradiction

return mca
