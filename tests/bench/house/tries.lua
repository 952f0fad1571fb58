--- Measures how many random steps per second can be tried in a search, in one thread, on a GEMM with a packed input. Counts only
--- steps that reach the judge (the legality check), not steps that the primitive itself refuses. The same steps are also measured
--- as a user makes them, that is, with the text and the suggestions of a refusal.
local schedules = require "_schedules"

local function packed_gemm() return schedules.gemm(1024, 1) end

local function loops_of(s)
  local names = {}
  for n, loop in ipairs(s:loops()) do names[n] = loop.name end
  return names
end

-- Returns the outcome of a step that a user makes: "legal", "refused" by the judge, or nil if the judge was not called.
local function verdict_of(s, step)
  local ok, err = pcall(s.apply, s, step.primitive, step.arguments)
  if ok then s:undo() return "legal" end
  return err.refusal and err.refusal.kind ~= "structure" and "refused" or nil
end

-- Returns `count` random legal steps, and as many steps that the judge refuses. The primitives of the refused steps take one or
-- two loops.
local function judged_steps(s, count)
  local list, names = {}, loops_of(s)
  for seed = 1, count do list[seed] = s:random_step(seed) end
  math.randomseed(1)
  local function loop() return names[math.random(#names)] end
  local kinds = {
    function() return {primitive = "parallel", arguments = {loop()}} end,
    function() return {primitive = "vectorize", arguments = {loop()}} end,
    function() return {primitive = "reorder", arguments = {{loop(), loop()}}} end,
    function() return {primitive = "fission", arguments = {loop()}} end,
    function() return {primitive = "shift", arguments = {loop(), math.random(-9, 9)}} end,
    function() return {primitive = "cut", arguments = {loop(), {math.random(1, 4000)}}} end,
  }
  while #list < 2 * count do
    local step = kinds[math.random(#kinds)]()
    if verdict_of(s, step) == "refused" then list[#list + 1] = step end
  end
  return list
end

local function seconds_of(f, list)
  local before = os.clock()
  for _, step in ipairs(list) do f(step) end
  return os.clock() - before
end

-- Each run uses a new schedule, because a used schedule keeps the results of earlier checks.
return function(out)
  local list = judged_steps(packed_gemm(), 150)
  local rates, full, found, draws = {}, {}, {}, 0
  for run = 1, 5 do
    local s, t = packed_gemm(), packed_gemm()
    rates[run] = #list / seconds_of(function(step) return s:try(step.primitive, step.arguments) end, list)
    full[run] = #list / seconds_of(function(step) return verdict_of(t, step) end, list)
    s = packed_gemm()
    local before = os.clock()
    for seed = 1, 150 do draws = draws + s:random_step(seed).draws end
    found[run] = 150 / (os.clock() - before)
  end
  for _, each in ipairs {rates, full, found} do table.sort(each) end
  out:bar("house.tries_per_s", rates[3], ">=", 1500)
  print(("  %d steps, half of them legal; with pictures and advice, as for a user: %.0f a second"):format(#list, full[3]))
  print(("  random legal steps found: %.0f a second, after %.1f draws each"):format(found[3], draws / 750))
end
