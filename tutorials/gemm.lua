--- A matrix product, from the plain definition to near the peak of the machine, one step at a time.
---
---   nestwright tutorials/gemm.lua [size]          the size is 1024 by default
---
--- Each of the six steps changes one thing: the order of the iterations, the marks of the loops, or where data are stored. So the
--- program before a step is the control for it: the same program with everything but that change. Both are measured in turn. Some
--- steps have further controls, which show which part of a step, or which step before it, makes the difference. Every step is
--- proven to be legal before it is made. Every result is compared with that of the naive program. Other programs require this
--- file for its steps.
local nw = require "nestwright"

local gemm = {}

-- The tile of C fits this machine: its sums fill half of the vector registers, and a row has two vectors of f32.
local machine = nw.machine()
local COLUMNS = 2 * machine.vector_bytes // 4
local ROWS = machine.vector_registers // 4

--- Returns the computation, C = A * B. The definition states what to compute; the schedule states how. Also returns A and B.
function gemm.definition(n)
  local A, B = nw.placeholder({n, n}, "f32", "A"), nw.placeholder({n, n}, "f32", "B")
  local k = nw.reduce_axis(n, "k")
  return nw.compute({n, n}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C"), A, B
end

local function pack(s)
  local packed = s:cache_read("B", "global", nil, {layout = function(x, y) return y // COLUMNS, x, y % COLUMNS end})
  local x, y = s[packed]:axes()
  local panel, lane = s:split(y, COLUMNS)
  s:reorder(panel, x, lane)
  s:vectorize(lane)
end

-- The sums of a block, in a buffer of their own, with or without unrolled loops.
local function write_cache(unrolled)
  return function(s)
    local loops = s:loops(s:cache_write("C", "local", {at = "i_o"}))
    local x, y, r = table.unpack(loops, #loops - 2)
    s:reorder(r, x, y)
    s:vectorize(y)
    if unrolled then
      s:unroll(x)
      s:unroll "i_i"
    end
  end
end

--- The steps. changes: the one thing that the step changes. controls: other programs that are measured beside it, each made from
--- the program after the step number `from`.
gemm.steps = {
  {"loop order", changes = "order", why = [[
The innermost loop k reads B down a column, so each read touches another cache line. With j innermost, the loop reads rows of B
and of C. Nothing else changes: there are no blocks yet.]],
    make = function(s) s:reorder("i", "k", "j") end},

  {"vectors", changes = "marks", why = [[
The innermost loop goes along a row of B and of C, so its iterations can become the lanes of vectors. The split itself does not
change the order of the iterations.]],
    make = function(s)
      s:split("j", COLUMNS)
      s:vectorize "j_i"
    end, controls = {{"split, but no vectors", from = 1, make = function(s) s:split("j", COLUMNS) end}}},

  {"blocking", changes = "order", why = ([[
C is computed in blocks of %d rows and %d columns, with the whole sum over k in each block. A row of B that has been loaded serves
all rows of a block. All blocks of a column use the same columns of B.]]):format(ROWS, COLUMNS),
    make = function(s)
      s:split("i", ROWS)
      s:reorder("j_o", "i_o", "k", "i_i", "j_i")
    end, controls = {{"split, but no vectors", from = 1, make = function(s) s:split("j", COLUMNS) end},
      {"blocked, but no vectors", from = 1, make = function(s)
        s:split("j", COLUMNS)
        s:split("i", ROWS)
        s:reorder("j_o", "i_o", "k", "i_i", "j_i")
      end}}},

  {"unrolling", changes = "marks", why = [[
Registers cannot be indexed. If the loop over the rows of a block is unrolled, each row has its own registers, and the sums can stay
there during the whole loop over k. The controls keep the sums in a buffer of their own (a write cache), with unrolled loops and
without: they show whether the buffer or the unrolling is what counts.]],
    make = function(s) s:unroll "i_i" end,
    controls = {{"write cache, not unrolled", from = 3, make = write_cache(false)},
      {"write cache, unrolled", from = 3, make = write_cache(true)}}},

  {"packing", changes = "storage", why = ([[
B is copied into panels of %d columns. A block then reads one contiguous piece of memory, and the rows of B no longer compete for
the same sets of the cache. The copy takes time too, so packing pays only if reading B limits the speed. Two controls are not
unrolled, and one of them packs B: they show what packing would have been worth before the step above.]]):format(COLUMNS),
    make = pack, controls = {{"not unrolled, not packed", from = 3, make = function() end},
      {"not unrolled, packed", from = 3, make = pack}}},

  {"threads", changes = "marks", threads = 0, why = "Panels of C are independent, and so are the panels of B.",
    make = function(s)
      s:parallel "j_o"
      s:parallel "j_o_1"
    end},
}

--- Returns the schedule after the first steps, or after all, and the list of the schedule's versions: naive, and after each step.
function gemm.after(n, steps)
  local s = nw.schedule((gemm.definition(n)))
  local versions = {s:version()}
  for at = 1, steps or #gemm.steps do
    gemm.steps[at].make(s)
    versions[at + 1] = s:version()
  end
  return s, versions
end

-- ---- checking

-- Compares a result with the definition at 100 elements, including the corners.
local function check_definition(c, a, b, n)
  local places = {{0, 0}, {0, n - 1}, {n - 1, 0}, {n - 1, n - 1}}
  math.randomseed(1)
  while #places < 100 do places[#places + 1] = {math.random(0, n - 1), math.random(0, n - 1)} end
  for _, at in ipairs(places) do
    local sum = 0
    for x = 0, n - 1 do sum = sum + a:get(at[1], x) * b:get(x, at[2]) end
    local got = c[at]
    assert(math.abs(got - sum) <= 1e-4 * sum, ("C[%d, %d] is %g, not %g"):format(at[1], at[2], got, sum))
  end
end

-- ---- measuring

local SECONDS = 3 -- about as long as one comparison may take

-- Measures kernels in turn. There are fewer rounds if they are slow. A kernel is {name, kernel, seconds = the time of one run}.
local function in_turn(kernels, a, b)
  local sum = 0
  for _, entry in ipairs(kernels) do sum = sum + entry.seconds end
  return nw.compare {rounds = math.max(2, math.min(20, math.floor(SECONDS / (sum + 1e-3)))), args = {a, b},
    table.unpack(kernels)}
end

-- Runs a kernel once and compares its result with the first one. Returns the entry for a comparison.
local function entry_of(x, name, s, threads)
  local f = s:build {threads = threads}
  local since = os.clock()
  local c = f(x.a, x.b)
  local entry = {name, f, seconds = os.clock() - since}
  if not x.first then check_definition(c, x.a, x.b, x.n) end
  x.first = x.first or c
  local close, difference = nw.allclose(c, x.first, {rtol = 1e-4})
  assert(close, ("the result of %s differs by %g"):format(name, difference))
  return entry
end

-- Returns a line about the speed of a step. t:share says so if the share is doubtful.
local function speed_of(x, name, t) return ("-- %s: %.4g ms, %s"):format(name, 1e3 * t.median, t:share(2 * x.n ^ 3)) end

-- Makes a step and measures it, together with the program before it and the other controls.
local function take(x, s, at)
  local step = gemm.steps[at]
  print(("\n== %d. %s\n%s\n"):format(at, step[1], step.why))
  local was = s:version()
  step.make(s)
  print(s:diff(was))
  local kernels = {x.last, entry_of(x, step[1], s, step.threads or 1)}
  x.last = kernels[2]
  for n, control in ipairs(step.controls or {}) do
    local other = gemm.after(x.n, control.from)
    control.make(other)
    kernels[n + 2] = entry_of(x, control[1], other, 1)
  end
  local times = in_turn(kernels, x.a, x.b)
  print(times)
  print(speed_of(x, step[1], times[2]))
end

function gemm.run(n)
  local x = {n = n, a = nw.random({n, n}, "f32", {seed = 1}), b = nw.random({n, n}, "f32", {seed = 2})}
  print(nw.machine())
  local s = gemm.after(n, 0)
  print "\n== naive\nThere are three loops, in the order in which the axes were written.\n"
  print(s)
  x.last = entry_of(x, "naive", s, 1)
  for at, step in ipairs(gemm.steps) do
    if step.threads then
      print "\n== The sum over k in parallel is refused"
      print "The updates of one sum cannot be divided among threads. The refusal says which two updates collide.\n"
      local ok, refusal = pcall(s.parallel, s, "k")
      assert(not ok)
      print(refusal)
    end
    take(x, s, at)
  end
  print "\n== All steps, as Lua that can be pasted back"
  print(s:trace())
end

if (...) ~= "gemm" then gemm.run(tonumber((...)) or 1024) end

return gemm
