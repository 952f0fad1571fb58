--- Collects what pictures of a stream's run show: the executions of instructions, the gaps between them, tokens and hazards.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local stream_tokens = require "nestwright.measure.stream_tokens"

local facts = {}

facts.MOST = 20000 -- instructions in a picture
local FORWARD = {push = "push to consumer", pop = "pop from producer"}
local BACKWARD = {push = "push to producer", pop = "pop from consumer"}

-- ---- instructions

-- Returns the kind of an instruction, and labels for it, from the longest to the shortest. The label of a copy is the array outside
-- of the chip.
local function words_of(name, operands)
  for _, o in ipairs(operands) do if o.memory == "global" then return name .. " " .. o.array, {o.array} end end
  return name, {name, name:match "^%a+" or name}
end

--- Returns an instruction with its words, its operands and the number of its unit.
function facts.instruction(s, units, n)
  local i, operands = core.stream_instruction(s, n), core.stream_operands(s, n)
  local kind, words = words_of(i.name, operands)
  return {n = n, unit = units[i.unit], name = i.name, thread = i.thread, kind = kind, words = words, operands = operands,
    text = i.text, takes = i.takes, puts = i.puts, elements = i.elements}
end

--- Returns the names of the units, and a table from names to numbers.
function facts.units(s)
  local names, numbers = {}, {}
  for n, u in ipairs(core.stream_facts(s).units) do names[n], numbers[u.name] = u.name, n end
  return names, numbers
end

--- Returns the queues of a stream: {name, from, to, back (true if it leads to an earlier unit), push and pop (words of the
--- lecture)}.
function facts.queues(s)
  local _, numbers = facts.units(s)
  local out = {}
  for n, q in ipairs(core.stream_facts(s).queues) do
    local back = numbers[q.from] > numbers[q.to]
    local words = back and BACKWARD or FORWARD
    out[n] = {name = stream_tokens.name(q), from = q.from, to = q.to, back = back, push = words.push, pop = words.pop}
  end
  return out
end

-- ---- the time that is shown

--- Reads the options `from` and `to`, in cycles. Returns the time that is shown. ends: when the last instruction ends; most: the
--- time that is shown by default.
function facts.window(what, ends, most, o)
  local from, to = o.from or 0, o.to or most
  for _, name in ipairs {"from", "to"} do
    local v = name == "from" and from or to
    if type(v) ~= "number" or v ~= v or v < 0 or v == math.huge then
      errors.fail("range", "from = 0, to = 500", "%s: %s: expected cycles from 0 on, got %s", what, name,
        v ~= v and "nan" or tostring(v))
    end
  end
  if from > 0 and from >= ends then
    errors.fail("range", ("from = 0, to = %g"):format(ends), "%s: from = %g is out of range: the run ends at cycle %g", what, from,
      ends)
  end
  if to <= from then
    errors.fail("range", "from = 0, to = 500", "%s: to is %g, and must be later than from, which is %g", what, to, from)
  end
  return from, to
end

local function too_many(what, n)
  errors.fail("limit", "show a part of the time: {from = 0, to = 10000}",
    "%s: %d instructions are too many: at most %d can be drawn", what, n, facts.MOST)
end

-- Returns the instructions that are executed in a time, and those that wait until its end, with the times of each.
local function executed(what, x, from, to)
  local list, waiting, _, numbers = {}, {}, facts.units(x.stream)
  local function add(to_list, n, span)
    local i = facts.instruction(x.stream, numbers, n)
    i.from, i.to, i.ready, i.waits, i.port = span.from, span.to, span.ready, span.waits, span.port
    to_list[#to_list + 1] = i
  end
  for n, span in ipairs(x.spans) do
    if span.to >= 0 and span.from < to and (span.to > from or span.to == span.from and span.from >= from) then
      if #list == facts.MOST then too_many(what, #x.spans) end
      add(list, n, span)
    elseif span.from >= to and span.ready < to then
      add(waiting, n, span)
    end
  end
  return list, waiting
end

-- ---- gaps

-- Returns what a unit waited for before an instruction, in words, from the longest to the shortest.
local function reason(x, queues, i)
  if x.mode == "monolithic" then return {"waits for its turn", "turn"} end
  local q = i.waits and queues[i.waits]
  return q and {"waits for " .. q.from, q.from} or {"waits", ""}
end

local function gaps_of(x, queues, list, waiting)
  local out, ended = {}, {}
  for _, i in ipairs(waiting) do
    out[#out + 1] = {unit = i.unit, from = i.ready, to = i.from, words = reason(x, queues, i)}
  end
  for _, i in ipairs(list) do
    local before = ended[i.unit]
    if i.ready < i.from then out[#out + 1] = {unit = i.unit, from = i.ready, to = i.from, words = reason(x, queues, i)} end
    if before and before < i.ready then
      out[#out + 1] = {unit = i.unit, from = before, to = i.ready, words = {"waits for room or fetch", "fetch"}}
    end
    ended[i.unit] = i.to
  end
  return out
end

-- Returns, for each unit that waits forever, the time from which it waits, and for what.
local function stuck_of(x, queues)
  local names, numbers = facts.units(x.stream)
  local ended, holds, next_of, balance = {}, {}, {}, {}
  for n, span in ipairs(x.spans) do
    local i = core.stream_instruction(x.stream, n)
    local u = numbers[i.unit]
    if span.to >= 0 then
      ended[u], holds[u] = span.to, span.put < 0
      for _, q in ipairs(holds[u] and {} or i.puts) do balance[q] = (balance[q] or 0) + 1 end
      for _, q in ipairs(i.takes) do balance[q] = (balance[q] or 0) - 1 end
    elseif not next_of[u] then
      next_of[u] = i
    end
  end
  local out = {}
  for u = 1, #names do
    local words = holds[u] and {"waits forever for room in a queue", "forever: room"}
      or next_of[u] and {"waits forever", "forever"}
    for _, q in ipairs(next_of[u] and not holds[u] and next_of[u].takes or {}) do
      if (balance[q] or 0) <= 0 then words = {"waits forever for " .. queues[q].from, "forever: " .. queues[q].from} end
    end
    if words then out[#out + 1] = {unit = u, from = ended[u] or 0, words = words} end
  end
  return out
end

-- ---- tokens and hazards

-- True if the tokens of a queue have an effect in a mode.
local function counts(mode, q) return mode == "full" or mode == "raw" and not q.back end

local function tokens_of(x, queues, list, at)
  local out = {}
  if #list == 0 then return out end
  for _, t in ipairs(core.stream_tokens(x.stream, list[1].n, list[#list].n)) do
    local q, put, take = queues[t.queue], at[t.put or 0], at[t.take or 0]
    if put and take and counts(x.mode, q) then
      out[#out + 1] = {queue = t.queue, put = put, take = take, push = q.push, pop = q.pop}
    end
  end
  return out
end

local function hazards_of(x, at)
  local out = {}
  for _, f in ipairs(x.happened) do
    local first, second = at[f.first], at[f.second]
    if first and second then
      out[#out + 1] = {name = f.fault:match "^%u+", first = first, second = second, memory = f.memory, from = f.from, to = f.to,
        text = f.text}
    end
  end
  return out
end

--- Returns what a picture of units over time shows, in the cycles from..to. x: {stream, mode, spans, happened, report}.
function facts.run(what, x, from, to)
  local queues, at = facts.queues(x.stream), {}
  local list, waiting = executed(what, x, from, to)
  for _, i in ipairs(list) do at[i.n] = i end
  return {units = facts.units(x.stream), bars = list, gaps = gaps_of(x, queues, list, waiting),
    tokens = tokens_of(x, queues, list, at), stuck = x.report.stuck and stuck_of(x, queues) or {}, hazards = hazards_of(x, at),
    happened = x.report.times_happened, cycles = x.report.cycles, usage = x.report.units, mode = x.mode}
end

-- ---- over time

--- Returns the sum of differences over time, as steps {time, sum}, and the greatest sum. events: {time, difference}.
function facts.sum(events)
  table.sort(events, function(a, b) return a[1] < b[1] end)
  local steps, now, most = {{0, 0}}, 0, 0
  for n, e in ipairs(events) do
    now = now + e[2]
    if not events[n + 1] or events[n + 1][1] > e[1] then
      steps[#steps + 1], most = {e[1], now}, math.max(most, now)
    end
  end
  return steps, most
end

--- Returns what happens in each queue: {name, counts (false if the units ignore it), all (tokens of the stream), put (those that
--- are put in the run), steps {time, tokens in the queue}, most (of them)}.
function facts.depths(x)
  local out, events = {}, {}
  for n, q in ipairs(facts.queues(x.stream)) do
    events[n], out[n] = {}, {name = q.name, counts = counts(x.mode, q), all = 0, put = 0}
  end
  for _, t in ipairs(core.stream_tokens(x.stream, 1, #x.spans)) do
    local q, put, take = out[t.queue], x.spans[t.put or 0], x.spans[t.take or 0]
    if t.put then q.all = q.all + 1 end
    if put and put.put >= 0 then
      q.put = q.put + 1
      table.insert(events[t.queue], {put.put, 1})
    end
    if take and take.to >= 0 then table.insert(events[t.queue], {take.from, -1}) end
  end
  for n, q in ipairs(out) do q.steps, q.most = facts.sum(q.counts and events[n] or {}) end
  return out
end

-- Values in a memory, each with the bytes between which it lies. A value lives from the beginning of the instruction that writes
-- it to the end of the last one that reads it.
local function write_value(alive, o, i, out)
  for n = #alive, 1, -1 do
    if alive[n].at < o.to and o.from < alive[n].ends then table.remove(alive, n) end
  end
  local value = {at = o.from, ends = o.to, bytes = o.bytes, thread = i.thread, from = i.from, to = i.to}
  alive[#alive + 1], out[#out + 1] = value, value
end

local function use_value(alive, o, i)
  for _, v in ipairs(alive) do
    if v.at < o.to and o.from < v.ends then v.to = math.max(v.to, i.to) end
  end
end

--- Returns the values in each memory on the chip: {thread, bytes, from, to (cycles)}, by the name of the memory.
function facts.values(x)
  local _, numbers = facts.units(x.stream)
  local alive, out = {}, {}
  for _, m in ipairs(core.stream_facts(x.stream).memories) do alive[m.name], out[m.name] = {}, {} end
  for n, span in ipairs(x.spans) do
    local i = span.to >= 0 and facts.instruction(x.stream, numbers, n)
    if i then i.from, i.to = span.from, span.to end
    for _, o in ipairs(i and i.operands or {}) do
      local there = alive[o.memory]
      if there and o.read then use_value(there, o, i) end
      if there and o.write and not o.read then write_value(there, o, i, out[o.memory]) end
    end
  end
  return out
end

return facts
