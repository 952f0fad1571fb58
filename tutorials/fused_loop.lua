--- Horizontal fusion: two nests that have nothing to do with one another, in one parallel loop or in two.
---
---   nestwright tutorials/fused_loop.lua [row] [runs]        rows of 2^17 elements and 30 runs unless said
---
--- Balanced: X = A + 1, Y = B + 3, Z = X*Y, each of M rows. Unbalanced: M rows of N elements of X = A[.., 0] + 1 beside M
--- rows of N^2 elements of Y = sigmoid(exp(B)). Both for M = 1..8, in parallel over the rows: as they are, two loops one after
--- the other, and fused, one loop over the rows of X and then those of Y. A thread gets a contiguous part of a loop's
--- rows, so what matters is how rows divide among threads, and how much work a row is.
local nw = require "nestwright"

local ROW = tonumber(arg and arg[1]) or 1 << 17
local RUNS = tonumber(arg and arg[2]) or 30
local SIDE = math.max(4, math.floor(math.sqrt(ROW))) -- N of the unbalanced pair
local MOST = 8 -- values of M
local LANES = 16

-- ---- the two computations

local function balanced(M)
  local A, B = nw.placeholder({M, ROW}, "f32", "A"), nw.placeholder({M, ROW}, "f32", "B")
  local X = nw.compute({M, ROW}, function(m, x) return A(m, x) + 1 end, "X")
  local Y = nw.compute({M, ROW}, function(m, x) return B(m, x) + 3 end, "Y")
  local Z = nw.compute({M, ROW}, function(m, x) return X(m, x) * Y(m, x) end, "Z")
  return nw.schedule(Z), X, Y, Z
end

local function unbalanced(M)
  local A, B = nw.placeholder({M, SIDE, SIDE}, "f32", "A"), nw.placeholder({M, SIDE, SIDE}, "f32", "B")
  local X = nw.compute({M, SIDE}, function(m, x) return A(m, x, 0) + 1 end, "X")
  local Y = nw.compute({M, SIDE, SIDE}, function(m, x, y) return nw.sigmoid(nw.exp(B(m, x, y))) end, "Y")
  return nw.schedule {X, Y}, X, Y
end

local function outer(s, stage) return s:loops(stage)[1] end

-- The innermost loop of each stage as vectors.
local function vectors(s, ...)
  for _, stage in ipairs {...} do
    local loops = s:loops(stage)
    local _, inner = s:split(loops[#loops], LANES, {tail = "cut"})
    s:vectorize(inner)
  end
end

-- One loop for X and one for Y; or one for both. What reads them comes after.
local function default(make, M)
  local s, X, Y, Z = make(M)
  vectors(s, X, Y, Z)
  for _, stage in ipairs {X, Y, Z} do s:parallel(outer(s, stage)) end
  return s
end

local function fused(make, M)
  local s, X, Y, Z = make(M)
  local f = s:create_fused_loop(outer(s, X), outer(s, Y))
  local notes = s:notes()
  vectors(s, X, Y, Z)
  s:parallel(f)
  if Z then s:parallel(outer(s, Z)) end
  return s, notes
end

-- ---- measuring

local function mean(list)
  local sum = 0
  for _, v in ipairs(list) do sum = sum + v end
  return sum / #list
end

-- The mean and the fastest of RUNS runs of each kernel, taken in turn so that what else the machine does meets all alike.
local function means(kernels, data)
  local samples, call = {}, {table.unpack(data)}
  call[#call + 1] = {reps = 1, warmup = 0}
  for n, f in ipairs(kernels) do
    samples[n] = {}
    f(table.unpack(data))
  end
  for run = 1, RUNS do
    for n, f in ipairs(kernels) do samples[n][run] = f:time(table.unpack(call)).samples[1] end
  end
  for n in ipairs(kernels) do samples[n] = {mean = mean(samples[n]), min = math.min(table.unpack(samples[n]))} end
  return samples
end

-- What a row of a branch takes on its own: the whole of that branch on one thread, by rows.
local function row_time(make, which)
  local made = {make(MOST)}
  local stage = made[1 + which]
  local s = nw.schedule(stage)
  vectors(s, stage)
  local data = {}
  for n, t in ipairs(s:inputs()) do data[n] = nw.random(t:shape(), t.dtype, {seed = n}) end
  return means({s:build {threads = 1}}, data)[1].min / MOST
end

local function same(a, b)
  for n = 1, #a do
    local close, difference = nw.allclose(a[n], b[n], {rtol = 0, atol = 0})
    assert(close, ("output %d differs by %g"):format(n, difference or 0))
  end
end

-- ---- what a thread is given: rows [n*t/T, n*(t+1)/T) of a loop of n, as the runtime shares them out

local function part(n, t, threads, from, to)
  local lo, hi = math.max(n * t // threads, from), math.min(n * (t + 1) // threads, to)
  return math.max(hi - lo, 0)
end

-- How long the busiest thread works, and what all of them together stand idle meanwhile. branches: {rows, time of a row}.
local function busy(branches, threads)
  local n, most, work = 0, 0, 0
  for _, b in ipairs(branches) do n = n + b[1] end
  for t = 0, threads - 1 do
    local mine, from = 0, 0
    for _, b in ipairs(branches) do
      mine = mine + b[2] * part(n, t, threads, from, from + b[1])
      from = from + b[1]
    end
    most, work = math.max(most, mine), work + mine
  end
  return most, most * threads - work
end

-- ---- one table

local function ms(seconds) return ("%8.3f"):format(1e3 * seconds) end

local HEADER = [[
   |          mean of the runs          | the fastest run |  idle thread time, computed from the rows
 M |   default      fused  fused/default |  fused/default  |  default: in X      in Y  |     fused]]

local function row(M, time, idle)
  return (" %d | %s  %s  %13.2f | %14.2f  | %s  %s  |  %s"):format(M, ms(time[1].mean), ms(time[2].mean),
    time[2].mean / time[1].mean, time[2].min / time[1].min, ms(idle[1]), ms(idle[2]), ms(idle[3]))
end

local function measure(make, M, threads)
  local d, f = default(make, M), fused(make, M)
  local data = {}
  for n, t in ipairs(d:inputs()) do data[n] = nw.random(t:shape(), t.dtype, {seed = n}) end
  local kernels = {d:build {threads = threads}, f:build {threads = threads}}
  same({kernels[1](table.unpack(data))}, {kernels[2](table.unpack(data))})
  return means(kernels, data)
end

local function compare(title, make, threads)
  print(("\n== %s, %d threads, mean of %d runs, milliseconds"):format(title, threads, RUNS))
  local x, y = row_time(make, 1), row_time(make, 2)
  print(("a row of X takes %.4f ms on one thread, a row of Y %.4f ms"):format(1e3 * x, 1e3 * y))
  print(HEADER)
  local out = {x = x, y = y, threads = threads, disturbed = 1, [0] = {ratio = {}, idle = {0, 0}}, [1] = {ratio = {}, idle = {0, 0}}}
  for M = 1, MOST do
    local time, of = measure(make, M, threads), out[M % 2]
    local _, in_x = busy({{M, x}}, threads)
    local _, in_y = busy({{M, y}}, threads)
    local _, in_fused = busy({{M, x}, {M, y}}, threads)
    print(row(M, time, {in_x, in_y, in_fused}))
    of.ratio[#of.ratio + 1] = time[2].min / time[1].min
    of.idle[1], of.idle[2] = of.idle[1] + in_x + in_y, of.idle[2] + in_fused
    for n = 1, 2 do out.disturbed = math.max(out.disturbed, time[n].mean / time[n].min) end
  end
  return out
end

-- ---- what the numbers say

local function against(ratio)
  if ratio > 0.97 and ratio < 1.03 then return "as long as" end
  return ("%.0f %% %s time than"):format(math.abs(100 * (ratio - 1)), ratio < 1 and "less" or "more")
end

local function explain(r)
  if r.disturbed > 2 then
    print(("Other work on this machine disturbed the runs: a mean is up to %.0f times the fastest run. What follows goes by the "
      .. "fastest runs."):format(r.disturbed))
  end
  for parity, name in pairs {[1] = "Odd", [0] = "Even"} do
    print(("%s M: fused takes %s the default, on average. By the rows, the threads stand idle for %.4f ms in the defaults and "
      .. "%.4f ms fused."):format(name, against(mean(r[parity].ratio)), 1e3 * r[parity].idle[1], 1e3 * r[parity].idle[2]))
  end
  local heavy = math.max(r.x, r.y) / math.max(math.min(r.x, r.y), 1e-12)
  if heavy < 3 then
    print(("The rows of X and Y are about equal (1 to %.1f). Each of two loops over M rows leaves threads idle where M does not "
      .. "divide by %d; one loop over 2M rows does so more seldom, and starts the threads once instead of twice."):format(heavy,
      r.threads))
  else
    local most = busy({{4, r.x}, {4, r.y}}, r.threads)
    local total = 4 * (r.x + r.y)
    print(("A row of Y is the work of %.0f rows of X. One loop gives the first threads the rows of X and the last those of Y: at "
      .. "M = 4 the busiest of %d threads has %.0f %% of the work, where an even share is %.0f %%. Two loops share the heavy "
      .. "rows among all threads, so here fusing costs time wherever M divides evenly."):format(heavy, r.threads,
      100 * most / total, 100 / r.threads))
  end
end

-- ---- the tables

local threads = default(balanced, 2):time({reps = 1}).threads -- all cores
local s, notes = fused(balanced, 2)
print(s)
print(notes)
explain(compare("balanced: X = A + 1, Y = B + 3, Z = X*Y", balanced, threads))

s, notes = fused(unbalanced, 2)
print ""
print(s)
print(notes)
explain(compare("unbalanced: N of X beside N^2 of Y", unbalanced, threads))

-- ---- inner loops: the rows merged, and the loops inside them fused

print "\n== inner loops fuse as well"
local inner, X, Y = balanced(4)
local m = inner:merge(outer(inner, X), outer(inner, Y))
inner:create_fused_loop(inner:loops(X)[2], inner:loops(Y)[2])
inner:parallel(m)
print(inner)
local data = {nw.random({4, ROW}, "f32", {seed = 1}), nw.random({4, ROW}, "f32", {seed = 2})}
same({inner:build()(table.unpack(data))}, {default(balanced, 4):build()(table.unpack(data))})
print "In a serial loop the guards are cut away: it runs as the two loops it was made of."
print(inner:show "lowered")
