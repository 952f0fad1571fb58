--- The property test draws random computations and random steps. After every accepted step, parsing the program's text must give
--- the same program, and undo must return to the identical program. At the end, the trace of the steps must make the identical
--- program, on a new schedule and in another process. The results of four ways to run the computation must equal the results of an
--- oracle in plain C. The four ways are the definition, the interpreter on the scheduled program, the interpreter on the lowered
--- program, and the JIT. A failing case is shrunk.
---
--- usage: nestwright tests/prop/run.lua [--cases N] [--seed S] [--steps N] [--only CASE] [--first CASE] [--jobs N]
--- The seed and the number of a case determine the case. A long run can therefore be continued after an interruption, or be divided
--- among processes. With NW_FIGURES=FILE in the environment, the figures of the run are written there as a flat JSON object.
local here = arg[0]:match "^(.*)/[^/]*$"
package.loaded["nestwright.script"] = nil -- the remarks of steps are not written
package.path = ("%s/?.lua;%s/../sound/?.lua;"):format(here, here) .. package.path
local nw = require "nestwright"
local build, cases, examine, gen = require "build", require "cases", require "examine", require "gen"
local oracle, results = require "oracle", require "results"
local rng, rows, shares, steps = require "nestwright.measure.rng", require "rows", require "shares", require "steps"
local tree, types = require "tree", require "types"

local options = {cases = 2000, seed = os.time() % 1000003, steps = 4, jobs = 1}
local replayed_file = arg[1] == "--replay" and arg[2] -- a file with schedules of another process, to make again here
-- the file for the figures of a process that runs only a share of the cases
local partial = arg[1] == "--partial" and table.remove(arg, 2)
if partial then table.remove(arg, 1) end
for at = 1, replayed_file and 0 or #arg, 2 do
  local key = arg[at]:match "^%-%-(%a+)$"
  assert(key and tonumber(arg[at + 1]),
    "usage: run.lua [--cases N] [--seed S] [--steps N] [--only CASE] [--first CASE] [--jobs N]")
  options[key] = tonumber(arg[at + 1])
end

local LEAST = 100 -- each primitive must be accepted this many times in 2,000 or more cases, and refused half as many times
local LEAST_ROW = 5 -- each option of a primitive must be accepted this many times with each class of dtype
local BATCH = 50 -- the number of cases that the oracle compiles as one file
local GOALS = 7 -- the number of goals that a case tries to reach
local DRAWS = 6 -- the number of steps that are tried for a goal, including steps that it needs first
local MORE_DRAWS = 3 -- the number of steps that are tried for each further option of the primitive of a goal

local seen = rows.count()
local slowest = {seconds = 0}

-- ---------------------------------------------------------------- one schedule

-- Returns the class of dtype of the case with this number, and a function that returns goal n of the case. The case is drawn to
-- suit goal 0. After all goals, the next goals begin one later, so that each of them becomes goal 0 at some time.
local function goals_of(number)
  local class = types.classes[number % #types.classes + 1]
  local goals, at = rows.goals[class], number // #types.classes * GOALS
  return class, function(n) return goals[(at + at // #goals + n) % #goals + 1] end
end

local function case_of(number, r)
  local class, goal = goals_of(number)
  local case = gen.case(r, steps.want(goal(0)), class)
  case.number = number
  return case
end

-- Applies a list of steps, or the steps that `draw` returns, with checks after each step. Returns a message or nil, the steps, and
-- {s = the schedule, outputs = the tensors}.
local function apply_steps(case, list, draw)
  local ok, outputs, tensors = pcall(build, case)
  if not ok then
    -- the generator drew an invalid computation
    if type(outputs) == "table" and outputs.code ~= "internal" then return nil, {}, nil end
    return "the computation is refused: " .. tostring(outputs), {}
  end
  local made = {s = nw.schedule(outputs), outputs = outputs}
  local s, names, placed, done = made.s, {}, {kept_as = {}}, {}
  made.placed = placed
  for name in pairs(tensors) do if not name:find "@" then names[#names + 1] = name end end
  table.sort(names)
  local n = 0
  while true do
    n = n + 1
    local step, accepted
    if draw then step, accepted = draw(s, names, placed) else step = list[n] end
    if not step then break end
    done[#done + 1] = step
    local before, class = s:text(), steps.class(case, s, step)
    local begun = os.clock()
    local fine, err = steps.apply(s, step, placed, case)
    local took = os.clock() - begun
    if took > slowest.seconds then slowest.seconds, slowest.step, slowest.number = took, steps.show(step), case.number end
    if draw then
      seen:add(step, class, fine)
      accepted(fine)
    end
    local message
    if fine then
      message = examine.text(s) or examine.undo(s, before)
    elseif type(err) ~= "table" or err.code == "internal" then
      made.fault = true
      message = "an internal fault: " .. tostring(err)
    elseif s:text() ~= before then
      message = "a step was refused, but changed the schedule"
    else
      message = err.refusal and examine.refusal(s, err, cases.decides(case), case.number)
      if not message and err.code == "undecided" then
        message = examine.undecided(s, outputs, err, function(other) return steps.apply(other, step) end)
        made.not_replayed = message ~= nil
      end
    end
    if message then return message, done, made end
  end
  local message = examine.trace(s, outputs)
  made.not_replayed = message ~= nil
  return message, done, made
end

-- Returns the goals of a case: the goal for which it was drawn, and other goals that suit it.
local function goals_for(case, number)
  local _, goal_of = goals_of(number)
  local goals, taken = {}, {}
  for n = 0, 4 * GOALS do
    local goal = goal_of(n)
    if #goals < GOALS and not taken[goal.primitive] and (n == 0 or cases.has(case, steps.want(goal))) then
      goals[#goals + 1] = goal
      taken[goal.primitive] = #goals
    end
  end
  local function late(goal) -- goal 0 comes first if its primitive need not come late
    local x = rows.lateness(goal.primitive)
    return x < 1 and taken[goal.primitive] == 1 and -1 or x
  end
  table.sort(goals, function(a, b)
    local x, y = late(a), late(b)
    return x < y or x == y and taken[a.primitive] < taken[b.primitive]
  end)
  return goals, taken
end

-- Draws the steps of a case: first a few for each goal, then some random steps.
local function drawing(r, case, number)
  local goals, taken = goals_for(case, number)
  local at, draws, left, reached = 1, 0, r:int(1, options.steps), 0
  local class = goals_of(number)
  -- If true, the first steps forbid multiply-adds. Products and sums are then rounded separately, as in the oracle.
  local quiet = case.full and r:chance(0.8) and not taken.compute_inline and not taken.reverse_compute_inline
  local stages
  return function(s, names, placed)
    if quiet then
      stages = stages or s:stages()
      local stage = table.remove(stages)
      if stage then
        return {primitive = "annotate", args = {stage.name or tostring(stage), "fma", "never"}}, function() end
      end
      quiet = false
    end
    local goal = goals[at]
    while goal and draws >= DRAWS do at, draws, goal, reached = at + 1, 0, goals[at + 1], 0 end
    if not goal then left = left - 1 end
    if left < 0 then return nil end
    local step
    for _ = 1, 4 do
      step = steps.draw(r, s, names, goal, case, placed)
      if step then break end
    end
    if not step and goal then
      draws = DRAWS
      step = steps.draw(r, s, names, nil, case, placed)
    end
    draws = draws + 1
    return step, function(fine)
      if not fine or not goal or not step or step.primitive ~= goal.primitive then return end
      for _, option in ipairs(rows.given(step)) do
        if option == goal.option then
          draws, reached = DRAWS, reached + 1
          if reached < rows.several(goal.primitive) then goals[at], draws = rows.after(goal, class), DRAWS - MORE_DRAWS end
          return
        end
      end
    end
  end
end

-- ---------------------------------------------------------------- batches

local function checked(case, made, answers)
  local ok, message, exportable = pcall(results.check, case, made.s, made.outputs, made.asked, answers, made.placed)
  made.exportable = ok and exportable
  if ok then return message end
  if type(message) == "table" and message.code == "limit" then return nil end -- too much code is not a wrong result
  made.crashed = type(message) ~= "table" or message.code == "crash"
  made.fault = type(message) == "table" and message.code == "internal"
  return "failed to run: " .. tostring(message)
end

-- Runs a single case with these steps. If `as` is "c" or "library", also runs its C text or its exported library. Returns nil or a
-- message.
local function alone(case, list, seed, as)
  local message, _, made = apply_steps(case, list)
  if message or not made then return message end
  local batch = oracle.new()
  made.asked = results.ask(case, made.s, batch, seed, made.placed)
  message = checked(case, made, batch:run())
  if message or not as or not made.exportable then return message end
  local failures = results.export({{s = made.s, one = made.asked[1]}}, as == "library")
  return failures[1] and failures[1].what
end

local function shrink(case, list, seed, as)
  local smaller = true
  while smaller do
    smaller = false
    for n = #list, 1, -1 do
      local without = {table.unpack(list)}
      table.remove(without, n)
      if alone(case, without, seed, as) then list, smaller = without, true break end
    end
    if not smaller and #case.stages > 1 then
      local less = {}
      for key, value in pairs(case) do less[key] = value end
      less.stages = {table.unpack(case.stages, 1, #case.stages - 1)}
      local message = alone(less, list, seed, as)
      if message and not message:find "computation is refused" then case, smaller = less, true end
    end
  end
  return case, list
end

local function shown(dims)
  local out = {}
  for d, dim in ipairs(dims) do out[d] = tostring(dim) end
  return table.concat(out, ", ")
end

-- Returns the text of the ranges of an update. Their axes have the numbers after `first`.
local function ranges_of(update, first)
  local out = {}
  for d, range in ipairs(update.ranges) do out[d] = ("i%d in %d..%s-%d"):format(first + d, range.lo, range.dim, range.less) end
  return table.concat(out, ", ")
end

local function describe(case, list)
  local lines = {}
  for _, size in ipairs(case.sizes) do
    lines[#lines + 1] = ("  size %s >= %d, a multiple of %d"):format(size.name, size.min, size.multiple)
  end
  if case.ordered then lines[#lines + 1] = "  M <= N" end
  for _, t in ipairs(case.inputs) do lines[#lines + 1] = ("  input %s %s {%s}"):format(t.name, t.dtype, shown(t.dims)) end
  for _, t in ipairs(case.stages) do
    for k, body in ipairs(t.bodies) do
      lines[#lines + 1] = ("  stage %s %s {%s} = %s%s %s"):format(t.name, t.dtypes[k], shown(t.dims), t.combiner or t.kind,
        t.over and (" over {%s}"):format(shown(t.over)) or "", tree.show(body))
    end
    if t.scan and t.scan.inner then lines[#lines + 1] = "    with @inner = " .. tree.show(t.scan.inner) end
    if t.range then
      lines[#lines + 1] = ("    its last axis is in %s .. %s"):format(tree.show(t.range[1]), tree.show(t.range[2]))
    end
    for _, update in ipairs(t.updates or {}) do
      lines[#lines + 1] = ("    then for %s"):format(ranges_of(update, 0))
      for _, one in ipairs(update.inside or {update}) do
        lines[#lines + 1] = ("      %s = %s%s%s"):format(tree.show {op = "read", of = "@1", at = one.at}, tree.show(one.value),
          one == update and "" or " for " .. ranges_of(one, #update.ranges), one.when and " where " .. tree.show(one.when) or "")
      end
    end
  end
  for _, step in ipairs(list) do lines[#lines + 1] = "  " .. steps.show(step) end
  return table.concat(lines, "\n")
end

local first, last = options.first or 1, options.cases
if options.only then first, last = options.only, options.only end

local MOST = 10 -- the run stops after this many failures
local figures = {schedules = 0, steps = 0, wrong = 0, crashes = 0, faults = 0, not_replayed = 0, failed = 0, refused = 0}

local function report(number, seed, case, list, made, message, as)
  figures.failed = figures.failed + 1
  local kind = not made and "faults" or made.fault and "faults" or made.not_replayed and "not_replayed"
    or made.crashed and "crashes" or "wrong"
  figures[kind] = figures[kind] + 1
  print(("  case %d (--seed %d --only %d): %s"):format(number, options.seed, number, message))
  io.stdout:flush()
  local small, short = shrink(case, list, seed, as)
  print(describe(small, short))
  local again = alone(small, short, seed, as)
  if again then print("  " .. tostring(again)) end
  io.stdout:flush()
end

-- Every second schedule is also compiled as C, and every twentieth as a library.
local AS_C, AS_LIBRARY = 2, 20

local function check_exports(held)
  for as, share in pairs {c = AS_C, library = AS_LIBRARY} do
    local list, of = {}, {}
    for _, one in ipairs(held) do
      if one.made.exportable and one.number % share == 0 then
        list[#list + 1], of[#of + 1] = {s = one.made.s, one = one.made.asked[1]}, one
      end
    end
    for _, failure in ipairs(results.export(list, as == "library")) do
      local one = of[failure.index]
      report(one.number, one.seed, one.case, one.list, one.made, failure.what, as)
    end
  end
end

local function run_batch(from, to)
  local batch, held = oracle.new(), {}
  for number = from, to do
    local seed = options.seed * 100003 + number
    local r = rng.new(seed)
    local case = case_of(number, r)
    local message, list, made = apply_steps(case, nil, drawing(r, case, number))
    figures.steps = figures.steps + #list
    if message then
      report(number, seed, case, list, made, message)
    elseif made then
      figures.schedules = figures.schedules + 1
      made.asked = results.ask(case, made.s, batch, seed, made.placed)
      held[#held + 1] = {number = number, seed = seed, case = case, list = list, made = made}
    else
      figures.refused = figures.refused + 1
    end
  end
  local answers = batch:run()
  for _, one in ipairs(held) do
    local message = checked(one.case, one.made, answers)
    if message then report(one.number, one.seed, one.case, one.list, one.made, message) end
  end
  check_exports(held)
  for _, message in ipairs(shares.replayed_elsewhere(held, options.seed)) do
    figures.failed, figures.not_replayed = figures.failed + 1, figures.not_replayed + 1
    print("  " .. message)
  end
  collectgarbage()
end

local function run_cases()
  for from = first, last, BATCH do
    if figures.failed >= MOST then print(("  the run stops after %d failures"):format(figures.failed)) break end
    run_batch(from, math.min(from + BATCH - 1, last))
    io.stdout:flush()
  end
end

if replayed_file then
  os.exit(shares.replay(replayed_file, function(number, seed)
    local outputs = build(case_of(number, rng.new(seed)))
    return nw.schedule(outputs)
  end))
end

-- ---------------------------------------------------------------- the run

local started = os.time()
local found = {figures = figures, seen = seen, slowest = slowest, examine = examine, results = results}
if options.jobs > 1 and not options.only then
  print(("seed %d"):format(options.seed))
  shares.run(arg[0], options, first, last, found)
else
  if not partial then print(("seed %d"):format(options.seed)) end
  run_cases()
end
if partial then
  shares.write(partial, found)
  os.exit(true, true)
end

print "primitive                accepted  refused"
local least = math.huge
for _, name in ipairs(rows.names) do
  print(("  %-22s %8d %8d"):format(name, seen.accepted[name], seen.refused[name]))
  least = math.min(least, seen.accepted[name])
  local share = math.min(1, (last - first + 1) / 2000) -- in shorter runs, the counts of rare steps vary more
  local wanted = math.floor(LEAST * (share < 1 and share / 2 or 1))
  if share >= 0.25 and (seen.accepted[name] < wanted or seen.refused[name] < wanted // 2) then
    figures.failed = figures.failed + 1
    print(("  %s was accepted fewer than %d times or refused fewer than %d times"):format(name, wanted, wanted // 2))
  end
end
local unseen = seen:unseen(LEAST_ROW)
if last - first + 1 >= 2000 then
  for _, row in ipairs(unseen) do
    print(("  %s with %s on %s was accepted only %d times"):format(row.primitive, row.option == "" and "no option" or row.option,
      row.class, row.count))
  end
  figures.failed = figures.failed + #unseen
end
for _, list in ipairs {results.counts, examine.counts} do
  local names = {}
  for name in pairs(list) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do print(("  %s: %d"):format(name, list[name])) end
end
for why, n in pairs(examine.reasons) do print(("  schedules without a nest because %s: %d"):format(why, n)) end
local UNSEEN_MOST = 0.01 -- limit on the fraction of conflicts that do not occur when replayed although the refusal names an element
local replayed, hidden = examine.counts["conflicts replayed"], examine.counts["conflicts that should be seen, but are not"]
if replayed >= 200 and hidden > UNSEEN_MOST * replayed then
  figures.failed = figures.failed + 1
  print(("  of the conflicts that name an element, a share greater than %g is not seen"):format(UNSEEN_MOST))
end
-- Of the schedules whose access lists were compared, at least this share must become nests. Indices that are read from arrays are
-- not affine, so schedules with such indices do not count.
local NESTS_LEAST = 0.95
local walks, nests = examine.counts["access lists compared"], examine.counts["nests compared"]
walks = walks - examine.counts["access lists with indices from arrays"]
if walks >= 200 and nests < NESTS_LEAST * walks then
  figures.failed = figures.failed + 1
  print(("  a share smaller than %g of the schedules became nests"):format(NESTS_LEAST))
end
print(("  slowest step: %.2f s of CPU, in case %d: %s"):format(slowest.seconds, slowest.number or 0, slowest.step or "none"))
print(("  %d schedules, %d steps, %d computations refused"):format(figures.schedules, figures.steps, figures.refused))
figures.conflicts_replayed, figures.conflicts_unseen = replayed, hidden
figures.conflicts_excused = examine.counts["conflicts that need not be seen, and are not"]
figures.c_texts, figures.sanitizer_reports = results.counts["C texts"], results.counts["sanitizer reports"]
shares.figures(figures, {primitives_accepted_least = least, option_rows_unseen = #unseen, step_s = slowest.seconds,
  random_minutes = (os.time() - started) / 60, seed = options.seed})
print(("property: %d passed, %d failed"):format(math.max(0, last - first + 1 - figures.failed), figures.failed))
os.exit(figures.failed == 0, true)
