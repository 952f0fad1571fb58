--- Compares how many elements are computed in sliding windows with the counts of Halide, which tests/bench/c/halide_windows.cpp
--- prints for the same stencils.
local stencils = require "stencils"

local halide = {}

local function call(f, ...) return f(...) end

-- Returns the number of computed elements for each stencil, by name.
local function ours()
  local counts = {}
  for _, row in ipairs(stencils.rows) do counts[row.name] = stencils.stores(stencils.slide(row, call), "X") end
  local s = stencils.two_windows(call)
  counts["two windows, one after the other"] = stencils.stores(s, "P") + stencils.stores(s, "Q")
  return counts
end

--- Runs the program that counts Halide's stores. Prints the stencils whose counts differ. Returns the number of stencils whose
--- counts are equal, and the number of stencils, or nil if the program does not exist.
function halide.compare(program)
  local exists = io.open(program)
  if not exists then return nil end
  exists:close()
  local counts, equal, of = ours(), 0, 0
  local process = assert(io.popen(program))
  for line in process:lines() do
    local count, name = line:match "^(%d+)\t(.*)$"
    local own = assert(counts[name], "the stencil is only in Halide's list")
    of = of + 1
    if own == tonumber(count) then equal = equal + 1 else
      print(("%s: %d elements are computed, and %s by Halide"):format(name, own, count))
    end
  end
  assert(process:close())
  return equal, of
end

return halide
