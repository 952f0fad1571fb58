--- An oracle for streams of instructions: executes a small stream in every order that its units, tokens and queues allow. It shares
--- no code with the simulator: it only reads the operands and the tokens of the instructions. An instruction reads when it begins
--- and writes when it ends. Values are symbols: what an instruction writes is named by the instruction and by what it read.
local search = {}

-- ---- the bytes of operands

-- Adds all bytes of an operand to `set`.
local function add_bytes(set, operand)
  local function rows(at, dim)
    if dim == 0 then
      for b = at, at + operand.row - 1 do set[operand.place .. b] = true end
      return
    end
    for n = 0, operand.times[dim] - 1 do rows(at + n * operand.strides[dim], dim - 1) end
  end
  operand.place = (operand.memory == "global" and operand.array or operand.memory) .. ":"
  rows(operand.from, #operand.times)
end

-- Bytes that the same instructions read and write are one atom. Sets `reads` and `writes` of each instruction to lists of atoms,
-- and returns the number of atoms.
local function find_atoms(list)
  local users = {}
  for n, i in ipairs(list) do
    local sets = {r = {}, w = {}}
    for _, o in ipairs(i.operands) do
      if o.read then add_bytes(sets.r, o) end
      if o.write then add_bytes(sets.w, o) end
    end
    for how, set in pairs(sets) do
      for byte in pairs(set) do
        users[byte] = users[byte] or {}
        table.insert(users[byte], n .. how)
      end
    end
    i.reads, i.writes = {}, {}
  end
  local known, count = {}, 0
  for _, by in pairs(users) do
    table.sort(by)
    local key = table.concat(by, " ")
    if not known[key] then
      count = count + 1
      known[key] = true
      for _, use in ipairs(by) do
        local n, how = use:match "^(%d+)(%a)$"
        table.insert(how == "r" and list[tonumber(n)].reads or list[tonumber(n)].writes, count)
      end
    end
  end
  return count
end

--- Returns a model of a stream: for each unit its instructions, and the queues. rooms: capacities of the queues by "from->to".
function search.model(stream, rooms)
  local facts = stream:facts()
  local m = {units = {}, queues = {}, list = {}}
  local unit = {}
  for n, u in ipairs(facts.units) do m.units[n], unit[u.name] = {}, n end
  for q, queue in ipairs(facts.queues) do m.queues[q] = {room = rooms[queue.from .. "->" .. queue.to] or 0} end
  for n = 1, #stream do
    local i = stream:instruction(n)
    local own = {number = n, unit = unit[i.unit], takes = i.takes, puts = i.puts, operands = i.operands}
    m.list[n] = own
    table.insert(m.units[own.unit], own)
  end
  m.atoms = find_atoms(m.list)
  return m
end

-- ---- symbols

-- Gives each distinct text a small number.
local function new_symbols()
  local known, count = {}, 0
  return function(text)
    if not known[text] then count, known[text] = count + 1, count + 1 end
    return known[text]
  end
end

local function value_of(symbol, memory, i)
  local seen = {i.number}
  for _, atom in ipairs(i.reads) do seen[#seen + 1] = memory[atom] end
  return symbol(table.concat(seen, ","))
end

local function write(symbol, memory, i, value)
  local after = table.move(memory, 1, #memory, 1, {})
  for _, atom in ipairs(i.writes) do after[atom] = symbol(value .. "@" .. atom) end
  return after
end

-- ---- states. A state has, for each unit, the number of its instructions that began, its phase, and the value that it will write.

local IDLE, BUSY, HOLDS = 0, 1, 2

-- Returns the number of tokens that are in each queue.
local function tokens(m, state)
  local n = {}
  for q = 1, #m.queues do n[q] = 0 end
  for u, list in ipairs(m.units) do
    for k = 1, state.began[u] do
      for _, q in ipairs(list[k].takes) do n[q] = n[q] - 1 end
      if k < state.began[u] or state.phase[u] == IDLE then
        for _, q in ipairs(list[k].puts) do n[q] = n[q] + 1 end
      end
    end
  end
  return n
end

local function changed(state, u, began, phase, value, memory)
  local function copy(list, new)
    local out = table.move(list, 1, #list, 1, {})
    out[u] = new
    return out
  end
  return {began = copy(state.began, began), phase = copy(state.phase, phase), value = copy(state.value, value),
    memory = memory or state.memory}
end

local function may_put(m, n, i)
  for _, q in ipairs(i.puts) do
    if m.queues[q].room > 0 and n[q] >= m.queues[q].room then return false end
  end
  return true
end

local function may_take(n, i)
  for _, q in ipairs(i.takes) do
    if n[q] < 1 then return false end
  end
  return true
end

-- Returns the states that can follow.
local function successors(m, symbol, state)
  local out, n = {}, tokens(m, state)
  for u, list in ipairs(m.units) do
    local began, phase = state.began[u], state.phase[u]
    local i = list[phase == IDLE and began + 1 or began]
    if phase == IDLE and i and may_take(n, i) then
      out[#out + 1] = changed(state, u, began + 1, BUSY, value_of(symbol, state.memory, i))
    elseif phase == BUSY then
      local memory = write(symbol, state.memory, i, state.value[u])
      out[#out + 1] = changed(state, u, began, may_put(m, n, i) and IDLE or HOLDS, 0, memory)
    elseif phase == HOLDS and may_put(m, n, i) then
      out[#out + 1] = changed(state, u, began, IDLE, 0)
    end
  end
  return out
end

local function key_of(state)
  return table.concat(state.began, ",") .. ";" .. table.concat(state.phase, ",") .. ";" .. table.concat(state.value, ",") .. ";"
    .. table.concat(state.memory, ",")
end

-- Returns the memory after the instructions were executed in the order of the program.
local function in_order(m, symbol, memory)
  for _, i in ipairs(m.list) do memory = write(symbol, memory, i, value_of(symbol, memory, i)) end
  return table.concat(memory, ",")
end

--- Returns "right" if every order ends with the memory that the order of the program gives; "values" if some order ends with
--- another memory, "deadlock" if some order cannot go on, and "unknown" if there are more than `most` states.
function search.all(m, most)
  local symbol = new_symbols()
  local start = {began = {}, phase = {}, value = {}, memory = {}}
  for u = 1, #m.units do start.began[u], start.phase[u], start.value[u] = 0, IDLE, 0 end
  for atom = 1, m.atoms do start.memory[atom] = 0 end
  local right = in_order(m, symbol, start.memory)
  local stack, known, states = {start}, {[key_of(start)] = true}, 1
  while #stack > 0 do
    local state = table.remove(stack)
    local after = successors(m, symbol, state)
    if #after == 0 then
      for u, list in ipairs(m.units) do
        if state.began[u] < #list or state.phase[u] ~= IDLE then return "deadlock", states end
      end
      if table.concat(state.memory, ",") ~= right then return "values", states end
    end
    for _, next_state in ipairs(after) do
      local key = key_of(next_state)
      if not known[key] then
        known[key], states = true, states + 1
        if states > most then return "unknown", states end
        stack[#stack + 1] = next_state
      end
    end
  end
  return "right", states
end

return search
