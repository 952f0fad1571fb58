--- Compares simulated accelerators with the definitions of what they compute, with an exhaustive search over all orders of their
--- units, and with cycles worked out by hand. Also measures the speed of the simulation. NW_ACC_SEED: the seed of the random
--- schedules; by default a new one for each run.
package.path = "tests/bench/?.lua;tests/spec/?.lua;" .. package.path
local bench = require "_bench"

local out = bench.open(arg[1] or "build/bench/accelerator.json")
local ME = "build/release/bin/nestwright"
local SEED = tonumber(os.getenv "NW_ACC_SEED") or os.time() % 100003

-- Runs a part in a process of its own. Returns the numbers that it writes to its first argument, or nothing if it fails.
local function part(name, ...)
  local path = os.tmpname()
  local ok = os.execute(("%s tests/bench/%s.lua %s %s"):format(ME, name, path, table.concat({...}, " ")))
  local file = assert(io.open(path))
  local text = file:read "a"
  file:close()
  os.remove(path)
  local numbers = {}
  for n in text:gmatch "%d+" do numbers[#numbers + 1] = math.tointeger(n) end
  return table.unpack(ok and numbers or {})
end

-- A part that failed counts as one with nothing done and something wrong.
local FAILED = 1e9

local cases, wrong, reported = part("accelerator/random", 520, SEED)
out:bar("acc.random_cases", cases or 0, ">=", 500)
out:bar("acc.wrong", wrong or FAILED, "<=", 0)
local planted, missed, _, alarms = part("accelerator/tokens", 300, SEED)
out:bar("acc.tokens_planted", planted or 0, ">=", 200)
out:bar("acc.tokens_missed", missed or FAILED, "<=", 0)
out:bar("acc.false_alarms", (reported or FAILED) + (alarms or FAILED), "<=", 0)
local formulas, mismatches = require "accelerator.cycles"()
for _, text in ipairs(mismatches) do print("  " .. text) end
out:bar("acc.closed_form_cases", formulas, ">=", 60)
out:bar("acc.closed_form_mismatches", #mismatches, "<=", 0)
local layers = require "accelerator.layers"
local hidden, right, before, after = layers.run()
out:bar("acc.hidden_of_bound", hidden, ">=", 0.95)
out:bar("acc.layers_correct", right, ">=", layers.COUNT)
print("published for ResNet-18: utilisation .70 without hiding, .88 with it; here, times and bandwidth of the record are assumed")
out:record("acc.utilisation_monolithic", before)
out:record("acc.utilisation_hidden", after)
out:record("acc.hiding_gain", after / before)
local median, tau, schedules = layers.model(300, SEED)
out:bar("acc.model_schedules", schedules, ">=", 300)
out:bar("acc.model_error", median, "<=", 0.10)
out:bar("acc.model_tau", tau, ">=", 0.9)
local eyeriss = require "accelerator.eyeriss"()
print(("the reference counts no first loads and no last stores; with them, the run takes %d cycles"):format(eyeriss.all_cycles))
print(("with the reads of sums that leave a memory, which the reference does not count, it would be %.2f uJ"):format(
  eyeriss.uj_with_reads))
out:bar("acc.eyeriss_cycles", eyeriss.cycles, "<=", 86016)
out:bar("acc.eyeriss_cycles_off", math.abs(eyeriss.cycles - 86016), "<=", 0)
out:record("acc.eyeriss_cycles_with_ends", eyeriss.all_cycles)
out:bar("acc.eyeriss_uj", eyeriss.uj, "<=", 59.29)
out:bar("acc.eyeriss_uj_off", math.abs(eyeriss.uj - 59.28), "<=", 0.01)
out:bar("acc.eyeriss_wrong_counts", eyeriss.wrong, "<=", 0)
out:bar("acc.lines_of_record", require "accelerator.record"(), "<=", 60)
local instructions, timed, products, lecture = require "accelerator.speed"()
print(("the speed in time only is that of a stream of %d instructions"):format(instructions))
out:bar("acc.million_instructions_per_s", timed, ">=", 2)
out:bar("acc.gmacs_per_s", products, ">=", 1)
out:bar("acc.gmacs_per_s_8x8", lecture, ">=", 1) -- instructions of 8 x 8 x 8 products, each with two copies
out:close()
