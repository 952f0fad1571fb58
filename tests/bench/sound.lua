--- Counts wrong programs that were accepted. One part runs the cases of tests/sound. Another part compares random schedules with an
--- oracle in plain C, with a new seed for each run. The other parts check every rewrite rule, and make deliberate faults (mutants).
--- Also measures the slowest step. Each part runs in a process of its own and writes its figures as a flat JSON object. Rules and
--- mutants need the dev build, which `./dev bench sound` builds.
package.path = "tests/bench/?.lua;tests/sound/?.lua;" .. package.path
local bench = require "_bench"
local judge = require "_judge"

local out = bench.open(arg[1] or "build/bench/sound.json")
local ME, DEV = "build/release/bin/nestwright", "build/dev"
local SCHEDULES = 2200 -- more than the bar below, because a few computations are refused or have no step to try
local seed = os.time() % 1000003

-- Runs several commands at the same time. Returns the figures that each command wrote, by name, or no figures for a command that
-- ended early.
local function figures_of(commands, environment)
  local running, found = {}, {}
  for n, command in ipairs(commands) do
    local path = os.tmpname()
    local process = assert(io.popen(("NW_FIGURES=%s %s %s"):format(path, environment or "", command)))
    running[n] = {path = path, process = process}
  end
  for n, one in ipairs(running) do
    for line in one.process:lines() do print(line) end
    one.process:close()
    local file = assert(io.open(one.path))
    local text = file:read "a"
    file:close()
    os.remove(one.path)
    found[n] = {}
    for name, value in text:gmatch '"([^"]+)": ([^,\n}]+)' do found[n][name] = tonumber(value) end
  end
  return found
end

-- Returns a value that does not meet a bar. It stands for a figure that was not written.
local function missing(comparison) return comparison == ">=" and -1 or 1e9 end
local function bar(name, list, key, comparison, limit) out:bar(name, list[key] or missing(comparison), comparison, limit) end

local cases = figures_of {ME .. " tests/sound/run.lua"}[1]
bar("sound.cases", cases, "cases", ">=", 70)
bar("sound.cases_wrong", cases, "cases_wrong", "<=", 0)
bar("sound.legal_cases", cases, "legal_cases", ">=", 60)
bar("sound.legal_refused", cases, "legal_refused", "<=", 0)

print(("random schedules, seed %d"):format(seed))
local random = figures_of {("%s tests/prop/run.lua --jobs $(nproc) --seed %d --cases %d"):format(ME, seed, SCHEDULES)}[1]
bar("sound.random_schedules", random, "schedules", ">=", 2000)
bar("sound.random_minutes", random, "random_minutes", "<=", 10)
bar("sound.wrong", random, "wrong", "<=", 0)
bar("sound.crashes", random, "crashes", "<=", 0)
bar("sound.internal_faults", random, "faults", "<=", 0)
bar("sound.not_replayed", random, "not_replayed", "<=", 0)
bar("sound.primitives_accepted_least", random, "primitives_accepted_least", ">=", 100)
bar("sound.option_rows_unseen", random, "option_rows_unseen", "<=", 0)
bar("sound.c_texts", random, "c_texts", ">=", 500)
bar("sound.sanitizer_reports", random, "sanitizer_reports", "<=", 0)

local DRAWS = 1000000 -- number of random values for each rule on a wide type, in addition to the ends of the range
local rules = {rules = 0, unchecked = 0, wrong = 0}
local tests = {}
for n, test in ipairs {"ir_test_rules_hold", "ir_test_rewrites_hold", "lower_test_rewrites_hold"} do
  tests[n] = ("%s/tests/unit_%s >/dev/null"):format(DEV, test)
end
for _, list in ipairs(figures_of(tests, ("NW_SEED=%d NW_DRAWS=%d"):format(seed, DRAWS))) do
  for name in pairs(rules) do
    local key = name == "rules" and "sound.rules" or "sound.rules_" .. name
    rules[name] = rules[name] + (list[key] or (name == "rules" and 0 or 1e9))
  end
end
out:bar("sound.rules", rules.rules)
out:bar("sound.rules_unchecked", rules.unchecked, "<=", 0)
out:bar("sound.rules_wrong", rules.wrong, "<=", 0)

local mutants = figures_of {("tests/tools/mutants.sh %s all"):format(DEV)}[1]
bar("sound.mutants", mutants, "mutants", ">=", 100)
bar("sound.mutants_missed", mutants, "missed", "<=", 0)

-- Finds the slowest step of the random schedules, of deep nests, and of the rows of the judge's bench.
local worst, what = random.step_s or missing "<=", "a random schedule"
local function step(f)
  local begun = os.clock()
  local made = table.pack(pcall(f))
  local took = os.clock() - begun
  worst = math.max(worst, took)
  if made[1] then return table.unpack(made, 2, made.n) end
end
for _, program in ipairs(require "deep") do
  local before = worst
  program.run(step)
  if worst > before then what = program.name end
  collectgarbage()
end
local rows, times = judge.rows "tests/bench/judge", judge.times()
for _, row in ipairs(rows.legal) do judge.legal(row, times) collectgarbage() end
for _, row in ipairs(rows.illegal) do judge.illegal(row, times) collectgarbage() end
local slowest = bench.quantile(times.all, 1) / 1000
if slowest > worst then worst, what = slowest, "a row of the judge's bench" end
print("the slowest step is of " .. what)
out:bar("sound.step_s_worst", worst, "<=", 2)
out:close()
