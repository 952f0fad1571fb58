--- Runs random schedules for accelerators, and compares the values of the simulated streams with those of the definition and of the
--- interpreter of the lowered program. Also examines the tokens of each stream, and the times of each run.
--- usage: nestwright tests/bench/accelerator/random.lua FILE CASES SEED [SECONDS]     writes to FILE how many cases agree, how many
--- do not, and how many of the streams are reported although they are right
package.path = "tests/bench/?.lua;" .. package.path
package.loaded["nestwright.script"] = nil
local nw = require "nestwright"
local draw = require "accelerator.draw"
local rng = require "nestwright.measure.rng"

local function differ(want, got)
  for n, array in ipairs(want) do
    for i = 1, array:count() do
      local x, y = array:getflat(i), got[n]:getflat(i)
      if x ~= y then return ("output %d at %d: %s, not %s"):format(n, i, y, x) end
    end
  end
end

-- Removes a token and adds it again. The stream is the same, but its values are then computed in time, not in order.
local function touch(stream)
  local queues = stream:facts().queues
  for n = 1, #stream do
    local q = stream:instruction(n).puts[1]
    if q then
      local name, number = queues[q].from .. "->" .. queues[q].to, 0
      for k = 1, n do
        for _, p in ipairs(stream:instruction(k).puts) do number = number + (p == q and 1 or 0) end
      end
      local at = 0
      while number > 0 do
        at = at + 1
        for _, p in ipairs(stream:instruction(at).takes) do number = number - (p == q and 1 or 0) end
      end
      stream:drop(n, name):add(n, name, "put"):add(at, name, "take")
      return true
    end
  end
end

-- Examines the times of a run: units take turns with themselves, tokens are taken after they were put, and queues hold no more
-- than they have room for. Returns why they are wrong.
local function wrong_times(stream, report, rooms)
  local free, put, taken, ends = {}, {}, {}, 0
  for n, span in ipairs(report.spans) do
    local i = stream:instruction(n)
    if span.from < (free[i.unit] or 0) then return ("instruction %d begins before %s is free"):format(n, i.unit) end
    if span.to < span.from + i.cycles then return ("instruction %d takes %g cycles"):format(n, span.to - span.from) end
    free[i.unit], ends = span.to, math.max(ends, span.to)
    for _, q in ipairs(i.puts) do put[q] = put[q] or {} table.insert(put[q], span.to) end
    for _, q in ipairs(i.takes) do taken[q] = taken[q] or {} table.insert(taken[q], span.from) end
  end
  for q, list in pairs(put) do
    for n, at in ipairs(list) do
      if taken[q][n] < at then return ("token %d of queue %d is taken before it is put"):format(n, q) end
    end
    if rooms[q] > 0 and report.depth[q] > rooms[q] then return ("queue %d holds %d tokens"):format(q, report.depth[q]) end
  end
  if ends ~= report.cycles then return ("the last instruction ends at %g, and the run at %g"):format(ends, report.cycles) end
end

local used, kinds, refusals = {}, {}, {}

-- Returns "good", "refused" (a step is not legal for this machine), "reported" or "wrong", and why.
local function tried(seed)
  local r = rng.new(seed)
  local m = draw.machine(r)
  local c = draw.tail(r, draw.computation(r, m.row, nil, m.out == "acc"), m.out)
  local made, s, uses = pcall(draw.schedule, r, m, c)
  if not made then return "refused", tostring(s) end
  local data = {}
  for n, t in ipairs(s:inputs()) do data[n] = nw.random(t:shape(), t.dtype, {seed = seed + n, lo = -99, hi = 99}) end
  local done, stream = pcall(s.stream, s)
  if not done then return stream.code == "limit" and "refused" or "wrong", m.kind .. ": " .. tostring(stream) end
  local found = stream:check()
  if #found > 0 then return "reported", m.kind .. ": " .. found[1].text end
  local want = nw.evaluate(c.result, data)
  local why = differ(want, nw.interpret(s, data, {lowered = true}))
  if why then return "wrong", m.kind .. ": interpreter: " .. why end
  local report = stream:run {arguments = data, spans = true}
  if report.stuck then return "wrong", m.kind .. ": a unit waits forever" end
  local rooms = {}
  for q, row in ipairs(m.chip.machine.accelerator.queues) do rooms[q] = row.tokens or 0 end
  why = differ(want, report.outputs) or wrong_times(stream, report, rooms)
  if why then return "wrong", m.kind .. ": simulated: " .. why end
  if touch(stream) then
    why = differ(want, stream:run {arguments = data}.outputs)
    if why then return "wrong", m.kind .. ": in time: " .. why end
    used["values in time"] = (used["values in time"] or 0) + 1
  end
  why = differ(want, stream:run {arguments = data, mode = "monolithic"}.outputs)
  if why then return "wrong", m.kind .. ": monolithic: " .. why end
  for name in pairs(uses) do used[name] = (used[name] or 0) + 1 end
  for n = 1, #stream do
    if stream:instruction(n).name == "wait" then
      used["ways over other units"] = (used["ways over other units"] or 0) + 1
      break
    end
  end
  return "good", m.kind
end

local path, cases, seed = arg[1], tonumber(arg[2]), tonumber(arg[3])
local counts, until_time = {good = 0, refused = 0, wrong = 0, reported = 0}, os.time() + (tonumber(arg[4]) or 600)
local seeds, n = rng.new(seed), 0 -- each case has a seed of its own
while counts.good < cases and counts.wrong + counts.reported < 30 and os.time() < until_time do
  n = n + 1
  local own = seeds:int(1, 1 << 40)
  local ok, what, why = pcall(tried, own)
  if not ok then what, why = "wrong", tostring(what) end
  counts[what] = counts[what] + 1
  if what == "wrong" or what == "reported" then print(("seed %d: %s"):format(own, why)) end
  if what == "refused" then
    local first = why:match "^[^\n]*":gsub("^%S+:%d+: ", ""):gsub("%f[%w_][%w_]*_[%w_]*", "_"):gsub("%d+", "_")
    refusals[first] = (refusals[first] or 0) + 1
  end
  if what == "good" then kinds[why] = (kinds[why] or 0) + 1 end
  if n % 50 == 0 then collectgarbage() end
end

local function listed(counted)
  local list = {}
  for name, times in pairs(counted) do list[#list + 1] = ("%s %d"):format(name, times) end
  table.sort(list)
  return table.concat(list, ", ")
end

print(("random accelerator schedules, seed %d: %d agree (%s), %d are refused, %d are wrong, %d are reported"):format(seed,
  counts.good, listed(kinds), counts.refused, counts.wrong, counts.reported))
print("  of these, with " .. listed(used))
for why, times in pairs(refusals) do print(("  refused %d times: %s"):format(times, why)) end
local file = assert(io.open(path, "w"))
file:write(counts.good, " ", counts.wrong, " ", counts.reported, "\n")
file:close()
