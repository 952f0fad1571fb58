--- Horizontal fusion: two nests that have nothing to do with one another, in one parallel loop or in two.
---
---   nestwright tutorials/fused_loop.lua [row] [runs]        rows of 2^17 elements and 30 runs unless said
---
--- Balanced: X = A + 1, Y = B + 3, Z = X*Y, each of M rows. Unbalanced: M rows of N elements of X = A[.., 0] + 1 beside M
--- rows of N^2 elements of Y = sigmoid(exp(B)). Both for M = 1..8, in parallel over the rows: as they are, two loops one after
--- the other, and fused, one loop over the rows of X and then those of Y. A thread gets a contiguous part of a loop's
--- rows, so what matters is how rows divide among threads, how much work a row is, and which thread makes the rows that
--- Z reads. Two more schedules take one of these away from the fused loop: dealt out in turn, row m of X and of Y go to
--- one thread where the threads divide M; dynamic, a thread that is done takes the next row.
local nw = require "nestwright"

-- A whole number from the command line.
local function argument(n, name, usual, least)
  local given = arg and arg[n]
  local value = given == nil and usual or math.tointeger(tonumber(given))
  if value and value >= least then return value end
  io.stderr:write(("fused_loop.lua: %s is a whole number of at least %d, not '%s'\n"):format(name, least, given))
  os.exit(2)
end

local ROW = argument(1, "row", 1 << 17, 16)
local RUNS = argument(2, "runs", 30, 1)
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

-- `share`: what the loops' threads are told of sharing the rows.
local function fused(make, M, share)
  local s, X, Y, Z = make(M)
  local f = s:create_fused_loop(outer(s, X), outer(s, Y))
  local notes = s:notes()
  vectors(s, X, Y, Z)
  s:parallel(f)
  if Z then s:parallel(outer(s, Z)) end
  for _, loop in ipairs(share and {f, Z and outer(s, Z)} or {}) do share(s, loop) end
  return s, notes
end

local function in_turn(s, loop) s:pragma(loop, "chunk", 1) end
local function dynamic(s, loop) s:pragma(loop, "schedule", "dynamic") end

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

-- Busy and idle time of the threads in the fastest of RUNS runs.
local function watched(kernel, data)
  local call = {table.unpack(data)}
  call[#call + 1] = {reps = RUNS, fastest = true}
  return kernel:busy(table.unpack(call))
end

local function same(a, b)
  for n = 1, #a do
    local close, difference = nw.allclose(a[n], b[n], {rtol = 0, atol = 0})
    assert(close, ("output %d differs by %g"):format(n, difference or 0))
  end
end

-- ---- what a thread is given: rows [n*t/T, n*(t+1)/T) of a loop of n, as the runtime shares them out

local function thread_of(row, rows, threads)
  local t = 0
  while row >= rows * (t + 1) // threads do t = t + 1 end
  return t
end

-- Rows of X and Y that Z reads and another thread made, in the fused loop; in the two loops there are none.
local function made_elsewhere(M, threads)
  local count = 0
  for m = 0, M - 1 do
    for _, row in ipairs {m, M + m} do
      if thread_of(row, 2 * M, threads) ~= thread_of(m, M, threads) then count = count + 1 end
    end
  end
  return count
end

-- ---- one table: times of the four schedules, and how long threads stood idle

local DEFAULT, FUSED, IN_TURN, DYNAMIC = 1, 2, 3, 4
local TITLES = {[DEFAULT] = "default", [FUSED] = "fused", [DYNAMIC] = "dynamic"}

local function ms(seconds) return ("%8.3f"):format(1e3 * seconds) end
local function percent(share) return ("%3.0f %%"):format(100 * share) end

local HEADER = [[
   |   mean of the runs  |     fastest run     | fastest runs over default | fused: rows | threads idle, measured, of a loop's time
 M |  default      fused |  default      fused |   fused  in turn  dynamic | from others | default: X       Y |  fused dynamic]]

local function row(M, r)
  return (" %d | %s   %s | %s   %s | %7.2f %8.2f %8.2f |  %3d of %-3d |      %s   %s | %s   %s"):format(M, ms(r.mean[DEFAULT]),
    ms(r.mean[FUSED]), ms(r.min[DEFAULT]), ms(r.min[FUSED]), r.ratio[FUSED], r.ratio[IN_TURN], r.ratio[DYNAMIC], r.elsewhere,
    2 * M, percent(r.in_x), percent(r.in_y), percent(r.in_fused), percent(r.in_dynamic))
end

-- Whether there is a Z to read what X and Y make.
local function has_reader(make) return select("#", make(1)) > 3 end

-- Times of the four, and what the threads of all but the one in turn do.
local function measure(make, M, threads)
  local schedules = {default(make, M), (fused(make, M)), (fused(make, M, in_turn)), (fused(make, M, dynamic))}
  local data, kernels, threads_of = {}, {}, {}
  for n, t in ipairs(schedules[1]:inputs()) do data[n] = nw.random(t:shape(), t.dtype, {seed = n}) end
  for n, s in ipairs(schedules) do kernels[n] = s:build {threads = threads} end
  local first = {kernels[1](table.unpack(data))}
  for n = 2, #kernels do same(first, {kernels[n](table.unpack(data))}) end
  for n in pairs(TITLES) do threads_of[n] = watched(kernels[n], data) end
  return means(kernels, data), threads_of
end

-- What a row of X and one of Y take: the parts of the dynamic loop are its rows, first those of X.
local function row_times(threads, M)
  local rows = {{}, {}}
  for _, part in ipairs(threads.records) do
    if part.kind == threads.loops[1].loop then table.insert(rows[part.first < M and 1 or 2], part.to - part.from) end
  end
  for n, list in ipairs(rows) do rows[n] = math.min(table.unpack(list)) end
  return rows[1], rows[2]
end

-- One row of the table.
local function look_at(make, M, threads)
  local r = {M = M, mean = {}, min = {}, ratio = {}, disturbed = 1}
  local samples, threads_of = measure(make, M, threads)
  for n, time in ipairs(samples) do
    r.mean[n], r.min[n], r.disturbed = time.mean, time.min, math.max(r.disturbed, time.mean / time.min)
    r.ratio[n] = r.min[n] / r.min[DEFAULT]
  end
  r.in_x, r.in_y = threads_of[DEFAULT].loops[1].idle, threads_of[DEFAULT].loops[2].idle
  r.in_fused, r.in_dynamic = threads_of[FUSED].loops[1].idle, threads_of[DYNAMIC].loops[1].idle
  r.x, r.y = row_times(threads_of[DYNAMIC], M)
  r.elsewhere, r.threads_of = has_reader(make) and made_elsewhere(M, threads) or 0, threads_of
  return r
end

-- What each thread did, as it was measured; of many threads those that worked most and least.
local function print_threads(r)
  for n = DEFAULT, DYNAMIC do
    local list, words = r.threads_of[n] and r.threads_of[n].threads or {}, {}
    table.sort(list, function(a, b) return a.busy > b.busy end)
    for k, t in ipairs(list) do
      if k <= 3 or k > #list - 3 then
        words[#words + 1] = ("thread %d busy %.3f ms, idle %.3f ms"):format(t.thread, 1e3 * t.busy, 1e3 * t.idle)
      end
    end
    if #words > 0 then print(("M = %d, %s: %s"):format(r.M, TITLES[n], table.concat(words, " | "))) end
  end
end

local function compare(title, make, threads)
  print(("\n== %s, %d threads, %d runs of each, milliseconds"):format(title, threads, RUNS))
  print(HEADER)
  local out = {threads = threads}
  for M = 1, MOST do
    out[M] = look_at(make, M, threads)
    print(row(M, out[M]))
  end
  out.x, out.y = out[MOST].x, out[MOST].y
  print(("in the dynamic loop a row of X takes %.4f ms, a row of Y %.4f ms (the fastest of %d each)"):format(1e3 * out.x,
    1e3 * out.y, MOST))
  print_threads(out[MOST - 1])
  print_threads(out[MOST])
  return out
end

-- ---- what the numbers say

local NAMES = {[0] = "Even", [1] = "Odd"} -- M

-- Over the rows of the table with this parity of M, of a field or of the n-th ratio.
local function column(r, parity, what)
  local list = {}
  for M = 2 - parity, MOST, 2 do list[#list + 1] = r[M][what] or r[M].ratio[what] end
  return list
end

local function over(r, parity, what) return mean(column(r, parity, what)) end

local function median(list)
  table.sort(list)
  return (list[(#list + 1) // 2] + list[#list // 2 + 1]) / 2
end

local function against(r, parity, schedule)
  local ratio = median(column(r, parity, schedule))
  if ratio > 0.97 and ratio < 1.03 then return "as long as" end
  return ("%.0f %% %s time than"):format(math.abs(100 * (ratio - 1)), ratio < 1 and "less" or "more")
end

local function idle(r, parity)
  return ("Measured, threads stand idle, waiting for work or for each other, for %.0f %% of the loop of X and %.0f %% of that of Y "
    .. "by default, for %.0f %% of the fused loop, for %.0f %% of the dynamic one."):format(100 * over(r, parity, "in_x"),
    100 * over(r, parity, "in_y"), 100 * over(r, parity, "in_fused"), 100 * over(r, parity, "in_dynamic"))
end

local function disturbance(r)
  local most = 1
  for M = 1, MOST do most = math.max(most, r[M].disturbed) end
  if most <= 2 then return end
  print(("Other work disturbed the runs: a mean is up to %.0f times the fastest run, and the fastest may not be undisturbed. "
    .. "Run this again when the machine is quiet."):format(most))
end

local function equal_rows(r)
  for parity = 1, 0, -1 do
    print(("%s M: fused takes %s the default, dealt out in turn %s the default. %s Z reads %.1f rows that another thread made "
      .. "in the fused loop, by default none."):format(NAMES[parity], against(r, parity, FUSED), against(r, parity, IN_TURN),
      idle(r, parity), over(r, parity, "elsewhere")))
  end
  print(("Where idle time is the same, the loops differ in where Z finds its rows: by default a thread reads what it made, from "
    .. "the caches of its own core; after the fused loop also what another core made. Dealt out in turn, s:pragma(loop, "
    .. "\"chunk\", 1) for both loops, each thread reads its own rows again where %d divides M: what that column is below "
    .. "'fused' is what the rows of other cores cost."):format(r.threads))
end

-- The part of all the work, in per cent, that the busiest thread of the fused loop was measured to do.
local function busiest(r, M)
  local most, all = 0, 0
  for _, t in ipairs(r[M].threads_of[FUSED].threads) do most, all = math.max(most, t.busy), all + t.busy end
  return 100 * most / all
end

local function unequal_rows(r)
  for parity = 1, 0, -1 do
    print(("%s M: fused takes %s the default, dynamic %s the default. %s"):format(NAMES[parity], against(r, parity, FUSED),
      against(r, parity, DYNAMIC), idle(r, parity)))
  end
  print(("A row of one is the work of %.0f rows of the other, and the fused loop gives its first threads the rows of X, its last "
    .. "those of Y: the busiest of %d was measured to do %.0f %% of the work at M = %d and %.0f %% at M = %d, where an even share "
    .. "is %.0f %%. The remedy is s:pragma(loop, \"schedule\", \"dynamic\"): a thread that is done takes the next row, the column "
    .. "'dynamic'."):format(math.max(r.x, r.y) / math.max(math.min(r.x, r.y), 1e-12), r.threads, busiest(r, MOST - 1), MOST - 1,
    busiest(r, MOST), MOST, 100 / r.threads))
end

local function explain(r)
  disturbance(r)
  if math.max(r.x, r.y) < 3 * math.min(r.x, r.y) then equal_rows(r) else unequal_rows(r) end
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

print "\n== who does what when"
for n, share in ipairs {false, dynamic} do
  local title = ("unbalanced, M = %d, %s"):format(MOST, ({"fused", "dynamic"})[n])
  print(title)
  fused(unbalanced, MOST, share):timeline({threads = threads, reps = RUNS, fastest = true, title = title}):show()
end

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
