--- Horizontal fusion: two independent nests, in one parallel loop or in two.
---
---   nestwright tutorials/fused_loop.lua [row] [runs]        by default, rows of 2^17 elements and 30 runs
---
--- Balanced: X = A + 1, Y = B + 3 and Z = X*Y, each with M rows. Unbalanced: X = A[.., 0] + 1 with M rows of N elements, and
--- Y = sigmoid(exp(B)) with M rows of N^2 elements. Both are measured for M = 1..8, in parallel over the rows. The default
--- schedule has one loop for X, followed by one for Y. The fused schedule has a single loop: first over the rows of X, then over
--- the rows of Y. A thread gets a contiguous part of the rows of a loop. So three things matter: how the rows divide among the
--- threads, how much work a row is, and which thread computes the rows that Z reads. Two more schedules each remove one of these
--- effects from the fused loop. "In turn" deals the rows out in turn: row m of X and row m of Y go to the same thread if the
--- number of threads divides M. "Dynamic" lets a thread that has finished take the next row.
local nw = require "nestwright"

-- Returns a whole number from the command line.
local function argument(n, name, usual, least)
  local given = arg and arg[n]
  local value = given == nil and usual or math.tointeger(tonumber(given))
  if value and value >= least then return value end
  io.stderr:write(("fused_loop.lua: %s must be a whole number of at least %d, not '%s'\n"):format(name, least, given))
  os.exit(2)
end

local ROW = argument(1, "row", 1 << 17, 16)
local RUNS = argument(2, "runs", 30, 1)
local SIDE = math.max(4, math.floor(math.sqrt(ROW))) -- N of the unbalanced pair
local MOST = 8 -- the largest value of M
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

-- Vectorizes the innermost loop of each stage.
local function vectors(s, ...)
  for _, stage in ipairs {...} do
    local loops = s:loops(stage)
    local _, inner = s:split(loops[#loops], LANES, {tail = "cut"})
    s:vectorize(inner)
  end
end

-- Returns the schedule with one loop for X and one for Y. The loop for Z comes after them.
local function default(make, M)
  local s, X, Y, Z = make(M)
  vectors(s, X, Y, Z)
  for _, stage in ipairs {X, Y, Z} do s:parallel(outer(s, stage)) end
  return s
end

-- Returns the schedule with one loop for X and Y. share(s, loop) sets how the threads divide the rows of a loop.
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

-- Returns the mean and the fastest of RUNS runs of each kernel. Kernels run in turn, so that other work disturbs all of them
-- equally.
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

-- Returns the busy and idle times of the threads in the fastest of RUNS runs.
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

-- ---- the rows of a thread

-- Returns the thread of a row. As in the runtime, thread t of T gets the rows [n*t/T, n*(t+1)/T) of a loop of n rows.
local function thread_of(row, rows, threads)
  local t = 0
  while row >= rows * (t + 1) // threads do t = t + 1 end
  return t
end

-- Returns how many of the rows that Z reads were computed by another thread, in the fused loop. With two loops, there are no such
-- rows.
local function made_elsewhere(M, threads)
  local count = 0
  for m = 0, M - 1 do
    for _, row in ipairs {m, M + m} do
      if thread_of(row, 2 * M, threads) ~= thread_of(m, M, threads) then count = count + 1 end
    end
  end
  return count
end

-- ---- one table: the times of the four schedules, and the idle times of the threads

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

-- True if there is a Z that reads X and Y.
local function has_reader(make) return select("#", make(1)) > 3 end

-- Returns the times of the four schedules, and what the threads do in all schedules except "in turn".
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

-- Returns the times of a row of X and of a row of Y. The parts of the dynamic loop are its rows, first those of X.
local function row_times(threads, M)
  local rows = {{}, {}}
  for _, part in ipairs(threads.records) do
    if part.kind == threads.loops[1].loop then table.insert(rows[part.first < M and 1 or 2], part.to - part.from) end
  end
  for n, list in ipairs(rows) do rows[n] = math.min(table.unpack(list)) end
  return rows[1], rows[2]
end

-- Returns one row of the table.
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

-- Prints the measured times of each thread. If there are more than six threads, prints only the three that worked most and the
-- three that worked least.
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

local NAMES = {[0] = "Even", [1] = "Odd"} -- by M % 2

-- Returns the field `what`, or the ratio with the number `what`, of each row of the table whose M has this parity.
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
  return ("Threads were measured to be idle for %.0f %% of the loop of X and %.0f %% of the loop of Y by default, for %.0f %% of "
    .. "the fused loop, and for %.0f %% of the dynamic loop: they wait for work or for each other."):format(
    100 * over(r, parity, "in_x"), 100 * over(r, parity, "in_y"), 100 * over(r, parity, "in_fused"),
    100 * over(r, parity, "in_dynamic"))
end

local function disturbance(r)
  local most = 1
  for M = 1, MOST do most = math.max(most, r[M].disturbed) end
  if most <= 2 then return end
  print(("Other work disturbed the runs: a mean is up to %.0f times the fastest run, and even the fastest may be disturbed. "
    .. "Run this again when the machine is quiet."):format(most))
end

local function equal_rows(r)
  for parity = 1, 0, -1 do
    print(("%s M: 'fused' takes %s the default, and 'in turn' takes %s the default. %s In the fused loop, Z reads %.1f rows that "
      .. "another thread computed. By default, there are none."):format(NAMES[parity], against(r, parity, FUSED),
      against(r, parity, IN_TURN), idle(r, parity), over(r, parity, "elsewhere")))
  end
  print(("If the idle times are equal, the loops differ in where Z finds its rows. By default, a thread reads rows that it "
    .. "computed itself, from the caches of its own core. After the fused loop, it also reads rows that another core computed. "
    .. "With s:pragma(loop, \"chunk\", 1) on both loops, the rows are dealt out in turn. Then each thread reads its own rows "
    .. "again if the number of threads, %d, divides M. So the columns 'fused' and 'in turn' differ by the cost of reading rows of "
    .. "other cores."):format(
    r.threads))
end

-- Returns the share of the measured work, in per cent, that the busiest thread of the fused loop did.
local function busiest(r, M)
  local most, all = 0, 0
  for _, t in ipairs(r[M].threads_of[FUSED].threads) do most, all = math.max(most, t.busy), all + t.busy end
  return 100 * most / all
end

local function unequal_rows(r)
  for parity = 1, 0, -1 do
    print(("%s M: 'fused' takes %s the default, and 'dynamic' takes %s the default. %s"):format(NAMES[parity],
      against(r, parity, FUSED), against(r, parity, DYNAMIC), idle(r, parity)))
  end
  print(("A row of the slower stage is as much work as %.0f rows of the other. The fused loop gives the rows of X to its first "
    .. "threads and those of Y to its last. So the busiest of %d threads did %.0f %% of the measured work at M = %d and %.0f %% at "
    .. "M = %d. An even share would be %.0f %%. The remedy is s:pragma(loop, \"schedule\", \"dynamic\"): a thread that has "
    .. "finished takes the next row (column 'dynamic')."):format(math.max(r.x, r.y) / math.max(math.min(r.x, r.y), 1e-12),
    r.threads, busiest(r, MOST - 1), MOST - 1, busiest(r, MOST), MOST, 100 / r.threads))
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
explain(compare("unbalanced: rows of N elements of X, and of N^2 elements of Y", unbalanced, threads))

print "\n== what each thread does, and when"
for n, share in ipairs {false, dynamic} do
  local title = ("unbalanced, M = %d, %s"):format(MOST, ({"fused", "dynamic"})[n])
  print(title)
  fused(unbalanced, MOST, share):timeline({threads = threads, reps = RUNS, fastest = true, title = title}):show()
end

-- ---- fused inner loops inside of a merged loop over rows

print "\n== inner loops can be fused as well"
local inner, X, Y = balanced(4)
local m = inner:merge(outer(inner, X), outer(inner, Y))
inner:create_fused_loop(inner:loops(X)[2], inner:loops(Y)[2])
inner:parallel(m)
print(inner)
local data = {nw.random({4, ROW}, "f32", {seed = 1}), nw.random({4, ROW}, "f32", {seed = 2})}
same({inner:build()(table.unpack(data))}, {default(balanced, 4):build()(table.unpack(data))})
print "In a serial loop the guards are removed: it runs as the two loops that it was made from."
print(inner:show "lowered")
