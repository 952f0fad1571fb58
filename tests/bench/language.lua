--- Measures the language of schedules: counts legal schedules that are refused or give wrong results (tests/legal) and refusals
--- whose counterexample does not occur, compares sliding windows with those of Halide, and finds the step that takes longest. The
--- random schedules have a new seed for each run. The parts run at the same time, each in a process of its own, and write their
--- output to build/bench/language_PART.log. After them, types the commonest slips, and compares many computations
--- with plain loops in C.
package.path = "tests/bench/?.lua;tests/legal/?.lua;tests/sound/?.lua;" .. package.path
require "nestwright"
local bench = require "_bench"
local halide = require "_halide"
local json = require "nestwright.show.json"
local programs = require "_programs"
local slips = require "_slips"

local out = bench.open(arg[1] or "build/bench/language.json")
local SCHEDULES = 300 -- random schedules, in two parts
local seed = os.time() % 1000003

-- ---- the parts

local random = ("tests/prop/run.lua --jobs 1 --seed %d"):format(seed)
local PARTS = {
  {name = "legal", script = "tests/legal/run.lua"},
  {name = "sound", script = "tests/sound/run.lua"},
  {name = "judge", script = "tests/bench/_witnesses.lua"},
  {name = "spec", script = "tests/spec/run.lua -o TAP tests/spec/schedule tests/spec/device"},
  {name = "random_1", script = ("%s --cases %d"):format(random, SCHEDULES // 2)},
  {name = "random_2", script = ("%s --first %d --cases %d"):format(random, SCHEDULES // 2 + 1, SCHEDULES)},
}

-- Returns what a part wrote as JSON, or an empty table if the part ended early.
local function written(path)
  local file = io.open(path)
  if not file then return {} end
  local text = file:read "a"
  file:close()
  os.remove(path)
  return text ~= "" and json.decode(text) or {}
end

local function log_of(part) return ("build/bench/language_%s.log"):format(part.name) end

local function show_failures(part)
  for line in io.lines(log_of(part)) do
    if line:find "^not ok" or line:find "conflict of a refusal is not seen" then print(part.name .. ": " .. line) end
  end
end

-- Runs all parts. Sets the fields `figures` and `steps` of each.
local function run_parts()
  for _, part in ipairs(PARTS) do
    part.figures_path, part.steps_path = os.tmpname(), os.tmpname()
    part.process = assert(io.popen(("NW_BUILD=$PWD/build/release NW_FIGURES=%s NW_SLOWEST=%s build/release/bin/nestwright "
      .. "tests/bench/_slowest.lua %s >%s 2>&1"):format(part.figures_path, part.steps_path, part.script, log_of(part))))
  end
  for _, part in ipairs(PARTS) do
    part.process:close()
    part.figures, part.steps = written(part.figures_path), written(part.steps_path)
    show_failures(part)
  end
end

local function part_of(name)
  for _, part in ipairs(PARTS) do if part.name == name then return part end end
end

-- ---- the figures

-- The first five groups have a bar, and make up the legal cases. Faults are counted in all groups.
local function legal()
  local figures = part_of "legal".figures
  local cases, groups, counted = 0, {}, {}
  for _, group in ipairs {"places", "bijections", "windows", "sizes", "smaller"} do
    out:bar("language." .. group, figures[group] or 0, ">=", 24)
    cases, counted[group] = cases + (figures[group] or 0), true
  end
  local missing = next(figures) and 0 or 1e9
  local refused, wrong = missing, missing
  for name, count in pairs(figures) do
    if name:find "_refused$" then
      refused = refused + count
    elseif name:find "_wrong$" then
      wrong = wrong + count
    elseif not counted[name] then
      groups[#groups + 1] = name
    end
  end
  table.sort(groups)
  for _, group in ipairs(groups) do out:bar("language." .. group, figures[group]) end
  out:bar("language.legal_cases", cases, ">=", 120)
  out:bar("language.legal_refused", refused, "<=", 0)
  out:bar("language.legal_wrong", wrong, "<=", 0)
end

-- Prints the five slowest steps of all parts.
local function slowest()
  local steps, all, missing = 0, {}, 0
  for _, part in ipairs(PARTS) do
    if not part.steps.steps then
      missing = 1e9
      print(("%s ended early; see %s"):format(part.name, log_of(part)))
    end
    steps = steps + (part.steps.steps or 0)
    for _, one in ipairs(part.steps.slowest or {}) do
      all[#all + 1] = one
      one.part = part.name
    end
  end
  table.sort(all, function(a, b) return a.seconds > b.seconds end)
  for n = 1, math.min(5, #all) do print(("%8.3f s  %s: %s"):format(all[n].seconds, all[n].part, all[n].step)) end
  out:bar("language.judge_s_worst", math.max(missing, all[1] and all[1].seconds or 1e9), "<=", 2)
  out:bar("language.judge_s_worst_of", steps)
end

-- A refusal of a random schedule is excused, and not counted as a counterexample, if it names no element, or if the data determines
-- whether the conflict occurs.
local function counterexamples()
  local judge = part_of "judge".figures
  local unseen, of, excused = judge.unseen or 1e9, judge.replayed or 0, 0
  for _, name in ipairs {"random_1", "random_2"} do
    local figures = part_of(name).figures
    unseen = unseen + (figures.conflicts_unseen or 1e9)
    of = of + (figures.conflicts_replayed or 0) - (figures.conflicts_excused or 0)
    excused = excused + (figures.conflicts_excused or 0)
  end
  out:bar("language.false_counterexamples", unseen, "<=", 0)
  out:bar("language.false_counterexamples_of", of)
  out:bar("language.counterexamples_excused", excused)
end

local function windows()
  local equal, of = halide.compare "build/bench/halide_windows"
  if not equal then print "windows_evaluations: skipped, since Halide 14 is not installed" end
  out:bar("language.windows_evaluations", equal or 0, ">=", 12)
  out:bar("language.windows_evaluations_of", of or 0)
end

print(("random schedules, seed %d"):format(seed))
run_parts()
legal()
slowest()
counterexamples()
windows()
slips.figures(out)
programs.figures(out)
out:close()
