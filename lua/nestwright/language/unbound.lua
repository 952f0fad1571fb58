--- Refuses schedules for a GPU that have no grid. One thread would run such a schedule, which is hardly ever what was wanted; the
--- error shows the loops, and names the one to bind and the steps to write.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local returning = require "nestwright.language.returning"

local unbound = {}

local THREADS, FEW, MOST = 256, 32, 1024 -- of a block: the usual number, that for short loops, and the largest one

-- Returns the rows of the loops that have several iterations, or nil if a loop is bound, or parallel as on a CPU, which has an
-- error of its own.
local function loops_of(rows)
  local out = {}
  for _, row in ipairs(rows) do
    if (row.mark or ""):find "Idx" or row.mark == "parallel" then return nil end
    if row.kind == "loop" and row.extent ~= 1 then out[#out + 1] = row end
  end
  return out
end

-- Makes the steps of `make`, and returns to the version before them. Returns the texts of the steps, or nil if one is refused.
local function tried(s, make)
  local ok, result = pcall(returning.quietly, s, function()
    local texts = {}
    make(function(name, ...)
      local words = {}
      for n, word in ipairs {...} do words[n] = type(word) == "string" and ("%q"):format(word) or tostring(word) end
      texts[#texts + 1] = ("s:%s(%s)"):format(name, table.concat(words, ", "))
      return s[name](s, ...)
    end)
    return texts
  end)
  if ok then return result end
  if not errors.is_error(result) or result.code == "interrupt" then error(result, 0) end
end

-- Returns the loops inside a loop, innermost first.
local function inside(rows, row)
  local out, found = {}, false
  for _, other in ipairs(rows) do
    if found and other.depth <= row.depth then break end
    if found and other.kind == "loop" then table.insert(out, 1, other) end
    found = found or other == row
  end
  return out
end

-- True if the iterations of a loop may run in any order at the same time. Threads may also share a reduction, but that is no step
-- to begin with.
local function is_parallel(s, row)
  return tried(s, function(step) step("bind", row.name, "blockIdx.x") end) ~= nil
end

-- Returns steps that bind a loop to blocks, and an inner loop or a part of it to threads; nil if all are refused.
local function steps_for(s, rows, row)
  if not is_parallel(s, row) then return nil end
  for _, inner in ipairs(inside(rows, row)) do
    local steps = inner.extent and inner.extent > 1 and inner.extent <= MOST and is_parallel(s, inner) and tried(s, function(step)
      step("bind", row.name, "blockIdx.x")
      step("bind", inner.name, "threadIdx.x")
    end)
    if steps then return steps end
  end
  local threads = row.extent and row.extent < 2 * THREADS and FEW or THREADS
  return tried(s, function(step)
    local block, thread = step("split", row.name, threads)
    step("bind", block.name, "blockIdx.x")
    step("bind", thread.name, "threadIdx.x")
  end) or tried(s, function(step) step("bind", row.name, "blockIdx.x") end)
end

-- Returns steps that let the threads of one block share a reduction, or nil.
local function shared_by_threads(s, row)
  return tried(s, function(step)
    local _, thread = step("split", row.name, THREADS)
    step("bind", thread.name, "threadIdx.x")
  end)
end

-- Returns the first loop that can be bound, and the steps for it.
local function choose(s, rows, loops)
  for _, row in ipairs(loops) do
    local steps = steps_for(s, rows, row)
    if steps then return row, steps end
  end
  for _, row in ipairs(loops) do
    local steps = shared_by_threads(s, row)
    if steps then return row, steps end
  end
end

-- Returns the nest as text, with a mark at a loop.
local function picture(rows, marked)
  local out = {}
  for _, row in ipairs(rows) do
    if row.kind == "loop" or row.kind == "stage" then
      out[#out + 1] = ("%s%s%s%s"):format(("  "):rep(row.depth), row.kind == "loop" and "for " or "", row.text,
        row == marked and "   <- bind this loop" or "")
    end
  end
  return table.concat(out, "\n")
end

--- Raises an error if the schedule has loops and binds none of them. what: the function, for the message; machine: the name of the
--- GPU.
function unbound.check(what, s, machine)
  local rows = core.outline(s)
  local loops = loops_of(rows)
  if not loops or #loops == 0 then return end
  local row, steps = choose(s, rows, loops)
  local way = steps and "you can: " .. table.concat(steps, " ")
    or "no loop can be bound as it stands; s:moves(loop) lists the steps that are legal there"
  errors.fail("invalid", picture(rows, row) .. "\n" .. way,
    "%s: no loop is bound to blocks or threads, so one thread of %s would run all iterations", what, machine)
end

return unbound
