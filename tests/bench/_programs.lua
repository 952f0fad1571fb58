--- Measures 60 and more computations of the field, each with a schedule. Each result is compared with that of plain loops in C
--- (tests/bench/c/programs_*.c), which are also the peer: gcc -O3 -march=native, one thread. A program counts only if its result
--- agrees. The times of both are taken in turn.
package.path = "tests/bench/?.lua;" .. package.path
package.cpath = "build/bench/?.so;" .. package.cpath
local nw = require "nestwright"
local bench = require "_bench"
local peers = require "peers"

local programs = {}

local ROUNDS = 9

-- ---- arrays

-- Returns the array for an input. Floats are from -1 to 1, unless the program gives another range.
local function random(p, n, t)
  local o = {seed = n, lo = -1, hi = 1}
  local range = p.range and p.range[n] or p.integers and p.integers[n]
  if type(range) == "table" then o.lo, o.hi = range[1], range[2] elseif range then o.lo, o.hi = -range, range end
  if p.positive and p.positive[n] then o.lo = 0.1 end
  if not range and t.dtype:find "^[iu]" then o.lo, o.hi = t.dtype:find "^u" and 0 or -100, 100 end
  local array = nw.random(t:shape(), t.dtype, o)
  if p.fill and p.fill[n] then p.fill[n](array, table.unpack(p.sizes)) end
  return array
end

-- Makes the computation. Returns its schedule, the inputs in the order in which they were declared, and the outputs.
local function made(p)
  local inputs = {}
  local function input(shape, dtype)
    inputs[#inputs + 1] = nw.placeholder(shape, dtype or "f32", "In" .. #inputs + 1)
    return inputs[#inputs]
  end
  local outputs = table.pack(p.make(input, table.unpack(p.sizes)))
  return nw.schedule(table.unpack(outputs, 1, outputs.n)), inputs, outputs
end

-- ---- one program

-- Returns the arguments of the kernel, in its order, and the arrays of the C program: inputs, outputs and scratch.
local function arguments(p, s, inputs)
  local of, call, ours, theirs, c = {}, {}, {}, {}, {}
  for n, t in ipairs(inputs) do of[t.name], c[n] = random(p, n, t), false end
  for n, t in ipairs(inputs) do c[n] = of[t.name]:pointer() end
  for n, t in ipairs(s:inputs()) do call[n] = of[t.name] end
  for n, t in ipairs(s:outputs()) do
    ours[n], theirs[n] = nw.zeros(t:shape(), t.dtype), nw.zeros(t:shape(), t.dtype)
    call[#call + 1], c[#c + 1] = ours[n], theirs[n]:pointer()
  end
  local kept = of
  for _, shape in ipairs(p.scratch and p.scratch(table.unpack(p.sizes)) or {}) do
    kept[#kept + 1] = nw.zeros(shape, "f32")
    c[#c + 1] = kept[#kept]:pointer()
  end
  return call, ours, theirs, c, kept
end

-- Returns the seconds of one call of our kernel and of the C program. Raises an error if the results differ.
local function measured(p)
  local s, inputs = made(p)
  p.schedule(s)
  local call, ours, theirs, c, kept = arguments(p, s, inputs)
  local f = s:build {threads = 1}
  f(table.unpack(call))
  peers.program(p[1], p.sizes, c, 1)
  for n, array in ipairs(ours) do
    local tolerance = array.dtype:find "^f" and (p.tolerance or 1e-4) or 0
    assert(nw.allclose(array, theirs[n], {rtol = tolerance, atol = tolerance}), "the result differs from that of plain loops")
  end
  local once = peers.program(p[1], p.sizes, c, 1)
  local times = math.max(1, math.min(50, math.floor(1e-3 / math.max(once, 1e-7))))
  local best, mine = math.huge, math.huge
  call[#call + 1] = {reps = 3, warmup = 1}
  for _ = 1, ROUNDS do
    best = math.min(best, peers.program(p[1], p.sizes, c, times))
    mine = math.min(mine, f:time(table.unpack(call)).min)
  end
  return mine, best, kept
end

local function all()
  local list = {}
  for _, subject in ipairs {"linear", "network", "image", "dynamic", "science", "bits", "reducers", "updates"} do
    require("programs." .. subject)(function(p) list[#list + 1] = p end)
  end
  return list
end

--- Measures all programs, or only the named one. Returns the ratios of times, C to ours, and the number of programs.
function programs.measure(only)
  local ratios, worst, count = {}, {ratio = math.huge}, 0
  for _, p in ipairs(all()) do
    if not only or p[1] == only then
      count = count + 1
      local fine, mine, theirs = pcall(measured, p)
      if fine then
        local ratio = theirs / mine
        ratios[#ratios + 1] = ratio
        if ratio < worst.ratio then worst = {ratio = ratio, name = p[1]} end
        print(("%-16s ours %9.1f us, C %9.1f us, %6.2f"):format(p[1], 1e6 * mine, 1e6 * theirs, ratio))
      else
        print(("%-16s FAILED: %s"):format(p[1], tostring(mine)))
      end
      collectgarbage()
    end
  end
  return ratios, worst, count
end

--- Records the figures.
function programs.figures(out)
  local ratios, worst, count = programs.measure()
  out:bar("language.programs", #ratios, ">=", 60)
  out:bar("language.programs_of", count)
  out:bar("language.programs_vs_c", #ratios > 0 and bench.geometric_mean(ratios) or 0, ">=", 1.0)
  out:bar("language.programs_vs_c_worst", #ratios > 0 and worst.ratio or 0, ">=", 0.5)
  if worst.name then print("  the slowest, compared with C, is " .. worst.name) end
end

return programs
