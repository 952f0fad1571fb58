--- Changes the tokens of small streams: tokens are dropped, swapped, doubled and retargeted. An exhaustive search over all orders
--- of the units (search.lua) proves which of the changed streams are wrong, and s:stream():check() must report these.
--- usage: nestwright tests/bench/accelerator/tokens.lua FILE MUTANTS SEED [SECONDS]     writes to FILE how many mutants are wrong,
--- how many of them are not reported, how many unchanged streams are right, and how many of these are reported
package.path = "tests/bench/?.lua;" .. package.path
package.loaded["nestwright.script"] = nil
local draw = require "accelerator.draw"
local rng = require "nestwright.measure.rng"
local search = require "accelerator.search"

local MOST_INSTRUCTIONS, MOST_STATES = 26, 30000

-- ---- tokens as lists: who puts and who takes them, for each queue

local function tokens_of(stream)
  local list, queues = {}, stream:facts().queues
  for q in ipairs(queues) do list[q] = {name = queues[q].from .. "->" .. queues[q].to, from = queues[q].from, to = queues[q].to,
    put = {}, taken = {}} end
  for n = 1, #stream do
    local i = stream:instruction(n)
    for _, q in ipairs(i.puts) do table.insert(list[q].put, n) end
    for _, q in ipairs(i.takes) do table.insert(list[q].taken, n) end
  end
  return list
end

-- Returns a random instruction of a unit that is not in `list`; nil if there is none.
local function other(r, stream, unit, list)
  local free, taken = {}, {}
  for _, n in ipairs(list) do taken[n] = true end
  for n = 1, #stream do
    if stream:instruction(n).unit == unit and not taken[n] then free[#free + 1] = n end
  end
  return #free > 0 and r:pick(free) or nil
end

local mutate = {}

-- Each of these changes a stream, and returns false if it cannot. `k` is a token of queue `q`.
function mutate.drop(_, stream, q, k) stream:drop(q.put[k], q.name) end
mutate["drop a put"] = function(_, stream, q, k) stream:drop(q.put[k], q.name, "put") end
mutate["drop a take"] = function(_, stream, q, k) stream:drop(q.taken[k], q.name, "take") end

mutate["retarget a put"] = function(r, stream, q, k)
  local to = other(r, stream, q.from, q.put)
  if not to then return false end
  stream:drop(q.put[k], q.name, "put"):add(to, q.name, "put")
end

mutate["retarget a take"] = function(r, stream, q, k)
  local to = other(r, stream, q.to, q.taken)
  if not to then return false end
  stream:drop(q.taken[k], q.name, "take"):add(to, q.name, "take")
end

function mutate.double(r, stream, q)
  local put, take = other(r, stream, q.from, q.put), other(r, stream, q.to, q.taken)
  if not put or not take then return false end
  stream:add(put, q.name, "put"):add(take, q.name, "take")
end

mutate["double a put"] = function(r, stream, q)
  local put = other(r, stream, q.from, q.put)
  if not put then return false end
  stream:add(put, q.name, "put")
end

mutate["double a take"] = function(r, stream, q)
  local take = other(r, stream, q.to, q.taken)
  if not take then return false end
  stream:add(take, q.name, "take")
end

-- Two tokens exchange the instructions that take them: one goes to another queue of the same units.
function mutate.swap(r, stream, q, k, all)
  local list = {}
  for _, p in ipairs(all) do
    if p ~= q and #p.put > 0 and (p.from == q.to or p.to == q.from or p.from == q.from or p.to == q.to) then list[#list + 1] = p end
  end
  if #list == 0 then return false end
  local p = r:pick(list)
  local to, from = other(r, stream, q.to, q.taken), other(r, stream, p.from, p.put)
  if not to or not from then return false end
  stream:drop(q.taken[k], q.name, "take"):add(to, q.name, "take")
  stream:drop(r:pick(p.put), p.name, "put"):add(from, p.name, "put")
end

local WAYS = {}
for name in pairs(mutate) do WAYS[#WAYS + 1] = name end
table.sort(WAYS)

-- ---- small streams

-- Returns a random schedule with a short stream and its machine; nil if the drawn one is too long.
local function small(seed)
  local r = rng.new(seed)
  local m = draw.machine(r)
  local c = draw.tail(r, draw.computation(r, m.row, 2), m.out)
  local ok, s = pcall(draw.schedule, r, m, c)
  if not ok then return nil end
  local made, stream = pcall(s.stream, s)
  if not made or #stream > MOST_INSTRUCTIONS then return nil end
  local rooms = {}
  for _, q in ipairs(m.chip.machine.accelerator.queues) do rooms[q.from .. "->" .. q.to] = q.tokens or 0 end
  return s, stream, rooms
end

local counts = {planted = 0, missed = 0, redundant = 0, unknown = 0, right = 0, alarms = 0, cautious = 0}
local by, states = {}, 0

local function note(name) by[name] = (by[name] or 0) + 1 end

local function faults(found)
  local list = {}
  for n, f in ipairs(found) do list[n] = f.fault end
  return table.concat(list, ", ")
end

-- Changes a stream, and compares the search with the check.
local function mutant(r, s, rooms, seed)
  local stream = s:stream()
  local all = tokens_of(stream)
  local queues = {}
  for _, q in ipairs(all) do
    if #q.put > 0 then queues[#queues + 1] = q end
  end
  if #queues == 0 then return end
  local way = r:pick(WAYS)
  local q = r:pick(queues)
  if mutate[way](r, stream, q, r:int(1, #q.put), all) == false then return end
  local verdict, seen = search.all(search.model(stream, rooms), MOST_STATES)
  local found = stream:check()
  states = states + seen
  if verdict == "unknown" then
    counts.unknown = counts.unknown + 1
  elseif verdict == "right" then
    counts.redundant = counts.redundant + 1
    for _, f in ipairs(found) do
      if f.fault:find "hazard" or f.fault == "deadlock" or f.fault == "full queue" then
        counts.cautious = counts.cautious + 1
        break
      end
    end
  else
    counts.planted = counts.planted + 1
    note(way)
    local reported = false -- a token that is left is not why values are wrong
    for _, f in ipairs(found) do reported = reported or f.fault ~= "tokens left" end
    if not reported then
      counts.missed = counts.missed + 1
      print(("seed %d: %s of %s: the search finds wrong %s, the check reports: %s"):format(seed, way, q.name, verdict,
        faults(found)))
    end
  end
end

local path, mutants, seed = arg[1], tonumber(arg[2]), tonumber(arg[3])
local until_time = os.time() + (tonumber(arg[4]) or 300)
local seeds = rng.new(seed)
while counts.planted < mutants and os.time() < until_time do
  local own = seeds:int(1, 1 << 40)
  local s, stream, rooms = small(own)
  if s then
    local verdict, seen = search.all(search.model(stream, rooms), MOST_STATES)
    states = states + seen
    if verdict == "values" or verdict == "deadlock" then
      counts.missed = counts.missed + 1
      print(("seed %d: the stream itself is wrong: %s"):format(own, verdict))
    elseif verdict == "right" then
      counts.right = counts.right + 1
      local found = stream:check()
      if #found > 0 then
        counts.alarms = counts.alarms + 1
        print(("seed %d: reported, but right: %s"):format(own, found[1].text))
      end
      local r = rng.new(own + 1)
      for _ = 1, 8 do mutant(r, s, rooms, own) end
    end
    collectgarbage()
  end
end

local list = {}
for name, times in pairs(by) do list[#list + 1] = ("%s %d"):format(name, times) end
table.sort(list)
print(("changed tokens, seed %d: %d are wrong (%s), %d of them are not reported"):format(seed, counts.planted,
  table.concat(list, ", "), counts.missed))
print(("  %d changes are harmless (%d of them are reported), %d unknown; "
  .. "%d streams are right, %d of them reported; %d states"):format(counts.redundant, counts.cautious, counts.unknown, counts.right,
  counts.alarms, states))
local file = assert(io.open(path, "w"))
file:write(counts.planted, " ", counts.missed, " ", counts.right, " ", counts.alarms, "\n")
file:close()
