--- A matrix product, from the plain definition to near the peak of the machine, one step at a time.
---
---   nestwright tutorials/gemm.lua [size]          the size is 1024 by default
---
--- Every step prints why it is taken, what it changed in the loops, how long the product now takes, and which share of the
--- machine's peak it reaches. Every step is proven to be legal before it is made. Every result is compared with that of the naive
--- program.
local nw = require "nestwright"

local N = tonumber(arg and arg[1]) or 1024
local ROWS, COLUMNS = 128, 32 -- the size of a block of C
local TILE = 8                -- rows of C whose sums stay in registers: 8 by 32 floats fill 16 registers of 512 bits

-- The computation: C = A * B. The definition states what to compute; the schedule states how.
local A = nw.placeholder({N, N}, "f32", "A")
local B = nw.placeholder({N, N}, "f32", "B")
local k = nw.reduce_axis(N, "k")
local C = nw.compute({N, N}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
local s = nw.schedule(C)

-- The inputs, and the result of the naive program.
local a, b = nw.random({N, N}, "f32", {seed = 1}), nw.random({N, N}, "f32", {seed = 2})
local first

-- Compares the result of the naive program with the definition at 100 elements, including the corners.
local function check_first(c)
  local places = {{0, 0}, {0, N - 1}, {N - 1, 0}, {N - 1, N - 1}}
  math.randomseed(1)
  while #places < 100 do places[#places + 1] = {math.random(0, N - 1), math.random(0, N - 1)} end
  for _, at in ipairs(places) do
    local sum = 0
    for x = 0, N - 1 do sum = sum + a:get(at[1], x) * b:get(x, at[2]) end
    local got = c[at]
    assert(math.abs(got - sum) <= 1e-4 * sum, ("C[%d, %d] is %g, not %g"):format(at[1], at[2], got, sum))
  end
end

-- Compares a result with that of the naive program.
local function check(c)
  if not first then
    check_first(c)
    first = c
  end
  local close, difference = nw.allclose(c, first, {rtol = 1e-4})
  assert(close, ("the result differs by %g"):format(difference))
end

local last_version = 0

local peaks = {}

-- Returns the share of the measured peak in per cent, with a remark if it is above 100 %. The largest measured peak is kept,
-- because other work makes a measured peak smaller.
local function share_of_peak(gflops, threads)
  peaks[threads] = math.max(peaks[threads] or 0, (nw.peak_flops(threads)))
  local share = 100 * gflops * 1e9 / peaks[threads]
  return ("%.1f %% of the peak of %d thread%s%s"):format(share, threads, threads == 1 and "" or "s",
    share > 102 and ", which was measured while other work ran" or "")
end

-- Prints why a step was taken and what it changed, runs the program, checks its result, and prints its speed.
local function report(title, why, threads)
  print(("\n== %s\n%s\n"):format(title, why))
  print(s:version() == 0 and s or s:diff(last_version))
  last_version = s:version()
  local f = s:build {threads = threads or 1}
  check(f(a, b))
  local slow = s:version() == 0
  local t = f:time(a, b, slow and {reps = 1, warmup = 0} or {reps = 10})
  local gflops = t:gflops(2 * N ^ 3)
  print(("-- %s: %.4g ms, %.1f GFLOP/s, %s%s"):format(title, 1e3 * t.median, gflops, share_of_peak(gflops, t.threads),
    t.disturbed and "; other work disturbed this time" or ""))
  return gflops
end

print(nw.machine())

report("naive", [[
There are three loops. The innermost one reads B down a column, so each read of B touches another cache line. This is slow.]])

local i_o, j_o, i_i, j_i = s:tile("i", "j", ROWS, COLUMNS)
local k_o, k_i = s:split("k", 4)
s:reorder(i_o, j_o, k_o, k_i, i_i, j_i)
report("blocking", ([[
One block of C needs %d rows of A and %d columns of B. They stay in the caches while the block is computed.]]):format(ROWS,
  COLUMNS))

s:vectorize(j_i)
report("vectorize", [[
The innermost loop runs along a row of B and of C, so its iterations can become the lanes of vectors.]])

s:reorder(i_o, j_o, k_o, i_i, k_i, j_i)
report("loop order", [[
With k_i inside i_i, a row of the block of C stays in registers for four updates.]])

local packed = s:cache_read(B, "global", {C}, {layout = function(x, y) return y // COLUMNS, x, y % COLUMNS end})
local px, py = s[packed]:axes()
local panel, lane = s:split(py, COLUMNS)
s:reorder(panel, px, lane)
s:vectorize(lane)
report("packing", ([[
B is copied into panels of %d columns. A block then reads one contiguous piece of memory, and the rows of B no longer
conflict in the cache.]]):format(COLUMNS))

local i_t, i_r = s:split(i_i, TILE)
local block = s:cache_write(C, "local", {at = i_t})
local x, y, r = table.unpack(s:loops(block), #s:loops(block) - 2)
s:reorder(r, x, y)
s:vectorize(y)
s:unroll(x)
s:unroll(i_r)
report("write cache and register tile", ([[
The sums of %d rows of a block stay in registers during the whole loop over k and are written to C once. The loops that
compute them are unrolled, because registers cannot be indexed.]]):format(TILE))

print [[

== The sum over k in parallel is refused
The updates of one sum cannot be divided among threads. The refusal says which two updates collide.
]]
local ok, refusal = pcall(s.parallel, s, r)
assert(not ok)
print(refusal)

s:parallel(i_o)
s:parallel(panel)
report("parallel", "Blocks of C are independent, and so are the panels of B.", 0)

print "\n== All steps, as Lua that can be pasted back"
print(s:trace())
