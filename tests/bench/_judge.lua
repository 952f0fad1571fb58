--- Runs rows of tests. A row has steps that the judge (the legality check) must accept, or a step that it must refuse. The bench
--- judge.lua counts the rows that fail. judge_spec.lua requires that no row fails.
---
--- A file of rows, tests/bench/judge/NAME.lua, returns {legal = {...}, illegal = {...}}.
---   legal:   {what the row shows, make, function(s, ...) steps end}: every step must be accepted
---   illegal: {what the row shows, make, function(s, ...) legal steps return function() the one illegal step end end, kind}
--- make() returns a schedule and the values that the steps need. `kind` is the kind that the refusal must have.
local core = require "nestwright.core"
local nw = require "nestwright"

local judge = {}

--- Returns the rows of every file in a directory. The field `area` of a row is the name of its file.
function judge.rows(directory)
  local out = {legal = {}, illegal = {}}
  local list = assert(io.popen(("ls %s/*.lua"):format(directory)))
  for path in list:lines() do
    local file = dofile(path)
    for side, into in pairs(out) do
      for _, row in ipairs(file[side]) do
        into[#into + 1] = {area = path:match "([^/]*)%.lua$", what = row[1], make = row[2], steps = row[3], kind = row[4]}
      end
    end
  end
  list:close()
  return out
end

local is_primitive = {}
for _, p in ipairs(core.primitives()) do is_primitive[p.name] = true end

-- Measures the CPU time of one step in milliseconds. The time of every step is added to times.all. The time of an accepted step
-- is also added to one of the lists o, v and m (see judge.times).
local function timed(times, f, s, ...)
  local start = os.clock()
  local result = table.pack(pcall(f, s, ...))
  local ms = (os.clock() - start) * 1000
  times.all[#times.all + 1] = ms
  if not result[1] then error(result[2], 0) end
  local into = times[nw.judge_question()]
  into[#into + 1] = ms
  return table.unpack(result, 2, result.n)
end

--- Returns empty lists of times. The lists o, v and m hold the times of accepted steps: o for steps judged by order, v for steps
--- judged by value, and m for steps that only change marks. `all` holds the times of all steps, and `moves` holds the times of
--- calls of s:moves.
function judge.times() return {o = {}, v = {}, m = {}, all = {}, moves = {}} end

-- Returns an object that replaces the schedule in the steps of a row and times each step.
local function watched(s, times)
  return setmetatable({}, {
    __index = function(_, name)
      local f = s[name]
      if type(f) ~= "function" then return f end
      if is_primitive[name] then return function(_, ...) return timed(times, f, s, ...) end end
      return function(_, ...) return f(s, ...) end
    end,
  })
end

-- ---- what a schedule computes

local SMALL = 1 << 16

-- Returns the number of elements of all inputs and outputs, or nil if a size is symbolic.
local function volume(s)
  local total = 0
  for _, list in ipairs {s:inputs(), s:outputs()} do
    for _, t in ipairs(list) do
      local n = 1
      for _, extent in ipairs(t.dims) do
        if type(extent) ~= "number" then return nil end
        n = n * extent
      end
      total = total + n
    end
  end
  return total
end

-- Returns inputs that are small whole numbers, so that every sum is exact.
local function data_for(s)
  local data = {}
  for n, t in ipairs(s:inputs()) do
    data[n] = nw.zeros(t.dims, t.dtype)
    for i = 1, data[n]:count() do data[n]:setflat(i, (7 * i + 3 * n) % 5) end
  end
  return data
end

local function unequal(expected, got)
  for o, array in ipairs(expected) do
    for i = 1, array:count() do
      local x, y = array:getflat(i), got[o]:getflat(i)
      if x ~= y and (x == x or y == y) then return ("output %d differs at %d: %s, not %s"):format(o, i, y, x) end
    end
  end
end

-- Returns data for a small schedule and the result of its naive program. Returns nil for a larger schedule, which must be checked
-- by s:check().
local function meaning(s)
  local n = volume(s)
  if not n or n > SMALL then return nil end
  local data = data_for(s)
  return {data = data, result = nw.interpret(s, data)}
end

-- Returns a message if the results of the scheduled or the lowered program differ from the results of the naive program, otherwise
-- nil.
local function differs(s, meant)
  if not meant then
    local ok, err = pcall(s.check, s)
    return not ok and tostring(err) or nil
  end
  return unequal(meant.result, nw.interpret(s, meant.data))
    or unequal(meant.result, nw.interpret(s, meant.data, {lowered = true}))
end

-- ---- legal steps

-- Measures how long s:moves takes for the outermost and the innermost loop of the scheduled program.
local function time_moves(s, times)
  local loops = s:loops()
  for _, loop in ipairs {loops[1], #loops > 1 and loops[#loops] or nil} do
    local start = os.clock()
    s:moves(loop)
    times.moves[#times.moves + 1] = (os.clock() - start) * 1000
  end
end

-- ---- rows

--- Runs a legal row. Returns a message about the first fault, or nil. The second result is true if a step was refused.
function judge.legal(row, times)
  local made = table.pack(row.make())
  local s = made[1]
  made[1] = watched(s, times)
  local meant = meaning(s)
  local ok, err = pcall(row.steps, table.unpack(made, 1, made.n))
  if not ok then return tostring(err), true end
  local wrong = differs(s, meant)
  time_moves(s, times)
  return wrong and "wrong result: " .. wrong, false
end

-- A refusal of one of these kinds must name the element and at least one of the two executions in conflict.
local NEEDS_WITNESS = {raw = true, war = true, waw = true, reduction = true, bounds = true}

local function witness_fault(r)
  if not NEEDS_WITNESS[r.kind] then return nil end
  if not r.element then return "the refusal names no element" end
  if not r.source and not r.sink then return "the refusal names no execution" end
end

-- Runs the refused step in the interpreter, to see whether the conflict that the refusal names occurs. Returns a message about a
-- fault, or nil. The second result is true if the conflict occurred.
local function replay_fault(s, kind)
  local told = s:explain()
  if told.seen or not (told.visible or NEEDS_WITNESS[kind]) then return nil, told.seen end
  return "the conflict is not seen when the refused step is replayed:\n" .. tostring(told)
end

--- Runs an illegal row. Returns a table of messages about defects, {accepted=, kind=, witness=, prepared=}. The field of a defect
--- is nil if the row does not have this defect. The second result is true if the conflict occurred in the interpreter.
function judge.illegal(row, times)
  local made = table.pack(row.make())
  local s = made[1]
  made[1] = watched(s, times)
  local ok, attempt = pcall(row.steps, table.unpack(made, 1, made.n))
  if not ok then return {prepared = tostring(attempt)} end
  local before = s:text()
  local taken, err = pcall(attempt)
  if taken then return {accepted = "accepted"} end
  if type(err) ~= "table" or not err.refusal then return {kind = "not a refusal: " .. tostring(err)} end
  local found = {}
  if s:text() ~= before then found.accepted = "refused, but the schedule changed" end
  if err.refusal.kind ~= row.kind then
    found.kind = ("expected %s, got %s: %s"):format(row.kind, err.refusal.kind, tostring(err))
  end
  local fault, seen = witness_fault(err.refusal), false
  if not fault then fault, seen = replay_fault(s, err.refusal.kind) end
  if fault then found.witness = fault .. ": " .. tostring(err) end
  return found, seen
end

return judge
