--- What the record of an accelerator has for a computation: its instructions and its memories.
local chip = {}

--- Returns the words of a text, such as the names of memories.
function chip.words(text)
  local out = {}
  for word in (text or ""):gmatch "%S+" do out[#out + 1] = word end
  return out
end

function chip.has(text, word) return (" " .. (text or "") .. " "):find(" " .. word .. " ", 1, true) ~= nil end

--- Returns the first instruction of a kind for which `fits` is true.
function chip.find(acc, kind, fits)
  for _, row in ipairs(acc.machine.accelerator.instructions or {}) do
    if row.kind == kind and (not fits or fits(row)) then return row end
  end
end

--- Returns the instruction that copies between two memories, or nil.
function chip.copy(acc, from, to)
  return chip.find(acc, "copy", function(row) return chip.has(row.from, from) and chip.has(row.to, to) end)
end

--- Returns the bytes of a memory.
function chip.bytes(acc, memory)
  for _, b in ipairs(acc.machine.accelerator.buffers) do if b.name == memory then return b.bytes * b.count end end
end

--- Returns the products of tiles, the largest tile first: {row, name, m, n, k, macs, a and b (letters of the operands), input and
--- weight (their memories), sum (the memory of the result)}.
function chip.products(acc)
  local out = {}
  for _, row in ipairs(acc.machine.accelerator.instructions or {}) do
    local a, b = (row.form or ""):match "^(%a+),(%a+)%->%a+$"
    if row.kind == "tensor" and a then
      local from = chip.words(row.from)
      out[#out + 1] = {row = row, name = row.name, m = row.m, n = row.n, k = row.k, macs = row.m * row.n * row.k, a = a, b = b,
        input = from[1], weight = from[2] or from[1], sum = chip.words(row.to)[1]}
    end
  end
  table.sort(out, function(x, y)
    if x.macs ~= y.macs then return x.macs > y.macs end
    return x.name < y.name
  end)
  return out
end

--- Returns what moves sums on from the memory `sum`: alu (the instruction that computes element by element there, or nil), out (the
--- memory from which results are stored), store and fill. If results cannot be stored from `sum`, the ALU takes them to another
--- memory.
function chip.ways(acc, sum)
  local alu = chip.find(acc, "alu", function(row) return chip.has(row.from, sum) and chip.has(row.to, sum) end)
    or chip.find(acc, "alu", function(row) return chip.has(row.from, sum) end)
  local out = chip.copy(acc, sum, "global") and sum
  for _, memory in ipairs(alu and chip.words(alu.to) or {}) do
    if not out and chip.copy(acc, memory, "global") then out = memory end
  end
  return {alu = alu, out = out, store = out and chip.copy(acc, out, "global"),
    fill = chip.find(acc, "fill", function(row) return chip.has(row.to, sum) end)}
end

return chip
