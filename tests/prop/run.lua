--- The property test: random computations with random steps. After every accepted step the program's text form must
--- read back to the same program and undo must return the identical one; at the end the definition itself, the
--- interpreter on the scheduled and on the lowered program, and the JIT must agree. A failing case is shrunk.
---
--- usage: nestwright tests/prop/run.lua [--cases N] [--seed S] [--steps N] [--only CASE] [--first CASE] [--jobs N]
--- A case is told by the seed and its number alone, so that a long run can be taken up again where it stopped, and shared
--- among processes.
local here = arg[0]:match "^(.*)/[^/]*$"
package.path = here .. "/?.lua;" .. package.path
local nw = require "nestwright"
local gen, rng, steps = require "gen", require "nestwright.rng", require "steps"

local options = {cases = 3000, seed = os.time() % 1000003, steps = 10, jobs = 1}
for at = 1, #arg, 2 do
  local key = arg[at]:match "^%-%-(%a+)$"
  assert(key and tonumber(arg[at + 1]),
    "usage: run.lua [--cases N] [--seed S] [--steps N] [--only CASE] [--first CASE] [--jobs N]")
  options[key] = tonumber(arg[at + 1])
end

local LEAST = 50 -- each primitive must be accepted and refused at least so often in a run of 2,000 cases or more
local accepted, refused, undecided = {}, {}, 0
for _, name in ipairs(steps.names) do accepted[name], refused[name] = 0, 0 end

-- Whole numbers small enough that sums stay exact in every dtype; some infinities and NaN for floats, now and then.
local function fill(r, array, dtype, exact)
  local lo, hi = -3, 3
  if dtype:sub(1, 1) == "u" then lo = 0 end
  for n = 1, array:count() do array:setflat(n, r:int(lo, hi)) end
  if not exact and array:count() > 0 and (dtype == "f32" or dtype == "f64") and r:chance(0.1) then
    array:setflat(r:int(1, array:count()), r:pick {1 / 0, -1 / 0, 0 / 0})
  end
end

local function same(x, y, exact)
  if x ~= x or y ~= y then return x ~= x and y ~= y end
  if x == y then return true end
  if exact then return false end
  return math.abs(x - y) <= 2e-2 * math.max(1, math.abs(x), math.abs(y))
end

local function compare(what, one, other, exact)
  for n = 1, #one do
    for i = 1, one[n]:count() do
      local x, y = one[n]:getflat(i), other[n]:getflat(i)
      if not same(x, y, exact) then
        return ("%s differ in output %d at %d: %s and %s"):format(what, n, i, tostring(x), tostring(y))
      end
    end
  end
end

-- The interpreter's answer, or nil where tails upon tails make the program too long for it.
local MOST_STEPS, too_long = 5000000, 0
local function interpret(s, data, lowered)
  local ok, out = pcall(nw.interpret, s, data, {lowered = lowered, steps = MOST_STEPS})
  if ok then return out end
  if type(out) ~= "table" or out.code ~= "limit" then error(out, 0) end
  too_long = too_long + 1
end

local no_size = 0 -- cases whose schedules assume what none of the sizes tried has

local MOST_ACCESSES = 200000

-- A schedule as an affine nest touches the same, in the same order; also read back from its text.
local NESTS_LEAST, nests, reasons = 0.95, 0, {} -- of the schedules walked, so many are affine at least
local function check_nest(s, sizes, walked)
  local ok, nest = pcall(nw.nest.of, s, {sizes = sizes})
  if not ok and nest.code == "limit" then reasons[nest.message] = (reasons[nest.message] or 0) + 1 return end
  if not ok then return "no nest is made: " .. tostring(nest) end
  nests = nests + 1
  local n = nest:accesses {most = MOST_ACCESSES}:differs(walked)
  if n then return ("access %d of the nest is another one"):format(n) end
  n = nw.nest.parse(tostring(nest)):accesses {most = MOST_ACCESSES}:differs(walked)
  if n then return ("access %d of the nest's text, read back, is another one:\n%s"):format(n, tostring(nest)) end
end

-- The accesses found without running the program are those that the interpreter makes, in their order.
local walks, unwalked = 0, 0
local function check_accesses(s, values, data)
  local text, sizes = s:text(), {}
  for name, value in pairs(values) do
    if text:find("\nsize " .. name .. " ", 1, true) then sizes[name] = value end
  end
  local ok, walked = pcall(nw.accesses, s, {sizes = sizes, most = MOST_ACCESSES})
  if not ok and type(walked) == "table" and walked.code == "limit" then unwalked = unwalked + 1 return end
  if not ok then return "the accesses are not found: " .. tostring(walked) end
  walks = walks + 1
  local ran = nw.accesses(s, {arguments = data, most = MOST_ACCESSES})
  local n = walked:differs(ran)
  local function shown(list)
    local at = list:at(n)
    return at and ("%s[%d] x%d%s"):format(at.tensor, at.index, at.lanes, at.write and " written" or "") or "none"
  end
  if n then return ("access %d is %s in the walk and %s when it runs"):format(n, shown(walked), shown(ran)) end
  return check_nest(s, sizes, walked)
end

-- Checks one schedule against the definition, at each of the sizes tried. A message, or nil when all agree.
local function check_results(case, s, outputs, seed)
  local r = rng.new(seed)
  local exact = gen.exact(case)
  local kernel = not steps.on_grid(s) and s:build {threads = 2}
  local any_order = s:text():find("atomic block", 1, true) -- threads may add floats as they come
  local sizes = gen.sizes_for(case, s)
  if #sizes == 0 then no_size = no_size + 1 end
  for k, values in ipairs(sizes) do
    local data = {}
    for n, t in ipairs(s:inputs()) do
      data[n] = nw.zeros(gen.shape_with(t, values), t.dtype)
      fill(r, data[n], t.dtype, exact)
    end
    local naive = nw.evaluate(outputs, data)
    local scheduled = interpret(s, data) or naive
    local in_time = interpret(s, data, true)
    local lowered = in_time or naive
    local native = kernel and {kernel(table.unpack(data))} or lowered -- no code is made for a grid: its races are looked for
    local message = compare("the definition and the scheduled program", naive, scheduled, exact)
      or compare("the definition and the lowered program", naive, lowered, exact)
      or compare("the interpreter and the JIT", lowered, native, exact or not any_order)
      or k == 1 and in_time and check_accesses(s, values, data)
    if message then return message .. (values.M and (" with M = %d, N = %s"):format(values.M, values.N) or "") end
  end
end

local function check_text(s)
  local text = s:text()
  if not s:reparses() then return "the text form does not read back:\n" .. text end
end

local function check_undo(s, before)
  local after = s:text()
  s:undo()
  if s:text() ~= before then return "undo did not return the identical program" end
  s:redo()
  if s:text() ~= after then return "redo did not return the identical program" end
end

-- A trace is the schedule: pasted or read back, it makes the identical program.
local function check_trace(s, outputs)
  local pasted, read = nw.schedule(outputs), nw.schedule(outputs)
  local ok, err = pcall(load("local s = ... " .. s:trace()), pasted)
  if not ok then return "the trace does not run: " .. tostring(err) .. "\n" .. s:trace() end
  if pasted:text() ~= s:text() then return "the trace makes another program:\n" .. s:trace() end
  ok, err = pcall(read.replay, read, s:trace "json")
  if not ok then return "the JSON trace does not replay: " .. tostring(err) end
  if read:text() ~= s:text() then return "the JSON trace makes another program:\n" .. s:trace() end
end

-- Does what a stage computes say which element it is? Data can be chosen for an index that is read from an input only.
local function computed_index(s, refusal)
  local inputs = {}
  for _, t in ipairs(s:inputs()) do inputs[t.name] = true end
  local index = (refusal.element or refusal.why):match "^[%w_.]+(%b[])" or ""
  for name in index:gmatch "([%a_][%w_.]*)%[" do
    if not inputs[name] then return true end
  end
end

-- What a refusal names must show when the refused program runs.
local unseen, seen, lost = 0, 0, 0
local function check_refusal(s, err)
  local refusal = err.refusal
  if not refusal.alternatives[1] then lost = lost + 1 end
  local lesson = s:explain()
  for should, is in tostring(lesson):gmatch "should be (%S+), is (%S+)" do
    if should == is then return "a lesson shows no wrong value:\n" .. tostring(lesson) end
  end
  if err.code ~= "refused" or not lesson.visible then return end
  seen = seen + 1
  if lesson.seen then return end
  local named = refusal.element or refusal.source or refusal.sink
  if named and not computed_index(s, refusal) then return "the conflict of a refusal is not seen:\n" .. tostring(err) end
  unseen = unseen + 1
end

-- Applies a list of steps (or draws them, with `draw`), checking as it goes. Returns a message or nil, and the steps.
local function run(case, list, draw, seed)
  local ok, outputs, _, tensors = pcall(gen.build, case)
  if not ok then return "the computation is refused: " .. tostring(outputs), {} end
  local s = nw.schedule(outputs)
  local names = {}
  for name in pairs(tensors) do names[#names + 1] = name end
  table.sort(names)
  local done = {}
  local n = 0
  while true do
    n = n + 1
    local step
    if not draw then step = list[n]
    elseif n <= draw.count then
      step = steps.draw(draw.rng, s, names, draw.favoured, case, draw.placed, n <= draw.opening)
    end
    if not step then break end
    done[#done + 1] = step
    local before = s:text()
    local fine, err = steps.apply(s, step, draw and draw.placed)
    if draw then
      local table_of = fine and accepted or refused
      table_of[step.primitive] = table_of[step.primitive] + 1
      if not fine and type(err) == "table" and err.code == "undecided" then undecided = undecided + 1 end
    end
    if fine then
      local message = check_text(s) or check_undo(s, before)
      if message then return message, done end
    elseif type(err) ~= "table" or err.code == "internal" then
      return "a fault of ours: " .. tostring(err), done
    elseif s:text() ~= before then
      return "a refused step changed the schedule", done
    else
      local message = err.refusal and check_refusal(s, err)
      if message then return message, done end
    end
  end
  local differs = check_trace(s, outputs)
  if differs then return differs, done end
  local fine, message = pcall(check_results, case, s, outputs, seed)
  if not fine then
    if type(message) == "table" and message.code == "limit" then return nil, done end -- too much code: not a wrong result
    return "failed to run: " .. tostring(message), done
  end
  return message, done
end

local function shrink(case, list, seed)
  local smaller = true
  while smaller do
    smaller = false
    for n = #list, 1, -1 do
      local without = {table.unpack(list)}
      table.remove(without, n)
      if run(case, without, nil, seed) then list, smaller = without, true break end
    end
    if not smaller and #case.stages > 1 then
      local less = {}
      for key, value in pairs(case) do less[key] = value end
      less.stages = {table.unpack(case.stages, 1, #case.stages - 1)}
      local message = run(less, list, nil, seed)
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

local function describe(case, list)
  local lines = {}
  for _, size in ipairs(case.sizes) do
    lines[#lines + 1] = ("  size %s >= %d, a multiple of %d"):format(size.name, size.min, size.multiple)
  end
  for _, t in ipairs(case.inputs) do
    lines[#lines + 1] = ("  input %s %s {%s}"):format(t.name, case.dtype, shown(t.dims))
  end
  for _, t in ipairs(case.stages) do
    lines[#lines + 1] = ("  stage %s = %s %s (%s) {%s}"):format(t.name, t.kind, t.op or "", table.concat(t.from, ", "),
      shown(t.dims))
  end
  for _, step in ipairs(list) do lines[#lines + 1] = "  " .. steps.show(step) end
  return table.concat(lines, "\n")
end

local first, last = options.first or 1, options.cases
if options.only then first, last = options.only, options.only end

local MOST = 10 -- failures, then it is given up

local function run_cases()
  local passed, failed = 0, 0
  for number = first, last do
    local seed = options.seed * 100003 + number
    local r = rng.new(seed)
    local favoured = steps.favoured[number % #steps.favoured + 1]
    local case = gen.case(r, steps.wants[favoured])
    local draw = {count = r:int(1, options.steps), rng = r, placed = {}, favoured = favoured, opening = r:pick {0, 4, 6}}
    local message, list = run(case, nil, draw, seed)
    if message then
      failed = failed + 1
      print(("  case %d (--seed %d --only %d): %s"):format(number, options.seed, number, message))
      local small, short = shrink(case, list, seed)
      print(describe(small, short))
      local again = run(small, short, nil, seed)
      if again then print("  " .. tostring(again)) end
      if failed >= MOST then print(("  giving up after %d failures"):format(MOST)) break end
    else
      passed = passed + 1
    end
    if number % 100 == 0 then collectgarbage() end
    if number % 1000 == 0 then
      print(("  %d cases"):format(number))
      io.stdout:flush()
    end
  end
  return passed, failed
end

-- A share of the cases in a process of its own, which prints what it found.
local function start(from, to)
  return assert(io.popen(("exec /proc/$PPID/exe %s --seed %d --steps %d --first %d --cases %d"):format(arg[0], options.seed,
    options.steps, from, to)))
end

-- Adds up what a process found; anything else it says is passed on.
local function gather(process, total)
  local done
  for line in process:lines() do
    local name, yes, no = line:match "^  ([%a_]+) +(%d+) +(%d+)$"
    local what, count = line:match "^  ([%a ]+): (%d+)$"
    local passed, failed = line:match "^property: (%d+) passed, (%d+) failed$"
    if name then
      accepted[name], refused[name] = accepted[name] + yes, refused[name] + no
    elseif what then
      total[what] = (total[what] or 0) + count
    elseif passed then
      done = true
      total.passed, total.failed = total.passed + passed, total.failed + failed
    elseif not line:find "^seed " and not line:find "^primitive " then
      print(line)
      io.stdout:flush()
    end
  end
  process:close()
  if not done then
    print "  a process of the property test ended before its time"
    total.failed = total.failed + 1
  end
end

local function share_cases()
  local processes, total = {}, {passed = 0, failed = 0}
  local each = (last - first) // options.jobs + 1
  for from = first, last, each do processes[#processes + 1] = start(from, math.min(from + each - 1, last)) end
  for _, process in ipairs(processes) do gather(process, total) end
  undecided, seen, unseen, lost = total.undecided, total["conflicts replayed"], total["not seen in results"],
    total["refusals with no way on"]
  too_long, no_size = total["too long to interpret"], total["run at no size"]
  walks, unwalked, nests = total["walks compared"], total["not walked"], total["nests compared"]
  return total.passed, total.failed
end

print(("seed %d"):format(options.seed))
local passed, failed = (options.jobs > 1 and share_cases or run_cases)()

print "primitive                accepted  refused"
for _, name in ipairs(steps.names) do
  print(("  %-22s %8d %8d"):format(name, accepted[name], refused[name]))
  if last - first + 1 >= 2000 and (accepted[name] < LEAST or refused[name] < LEAST) then
    failed = failed + 1
    print(("  %s was not accepted and refused %d times each"):format(name, LEAST))
  end
end
print(("  undecided: %d"):format(undecided or 0))
print(("  too long to interpret: %d"):format(too_long or 0))
print(("  run at no size: %d"):format(no_size or 0))
print(("  walks compared: %d"):format(walks or 0))
print(("  nests compared: %d"):format(nests or 0))
for why, n in pairs(reasons) do print(("  no nest, since %s: %d"):format(why:gsub(":", ""), n)) end
if (walks or 0) >= 200 and (nests or 0) < NESTS_LEAST * walks then
  failed = failed + 1
  print(("  fewer than %g of the schedules became nests"):format(NESTS_LEAST))
end
print(("  not walked: %d"):format(unwalked or 0)) -- what they touch depends on data, or it is too much
print(("  conflicts replayed: %d"):format(seen or 0))
print(("  not seen in results: %d"):format(unseen or 0)) -- of no single element, or of one that a stage names
print(("  refusals with no way on: %d"):format(lost or 0))
print(("property: %d passed, %d failed"):format(passed, failed))
os.exit(failed == 0)
