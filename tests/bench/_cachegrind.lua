--- Compares the cache simulator with valgrind's cachegrind on the same loops. The C text of a schedule is compiled with volatile
--- arrays, so that every access is made. The arrays are at the addresses that the simulator assumes.
local nw = require "nestwright"

local cachegrind = {}

local LEVELS = {{bytes = 32768, ways = 8}, {bytes = 1048576, ways = 16}}
local PAGE, ALLOWED = 4096, 100 -- ALLOWED: number of lines that other code of the process may access

local function run(command)
  local pipe = assert(io.popen(command .. " 2>&1"))
  local text = pipe:read "a"
  assert(pipe:close(), text)
  return text
end

local function write(path, text)
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
end

-- ---- kernels

-- The kernels are scalar loops in several orders. They have no vector loops, because the C text writes a vector loop as a scalar
-- loop.

local function gemm(n, order)
  local A, B = nw.placeholder({n, n}, "f32", "A"), nw.placeholder({n, n}, "f32", "B")
  local k = nw.reduce_axis(n, "k")
  local s = nw.schedule(nw.compute({n, n}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C"))
  if order then order(s) end
  return s
end

local function ikj(s)
  s:decompose_reduction("C", "i")
  s:reorder("k", "j")
end

local function tiles(s)
  s:split("k", 16)
  s:tile("i", "j", 16, 16)
  s:decompose_reduction("C", "i_o")
  s:reorder("k_o", "i_i", "k_i", "j_i")
end

local function map(shape, reads, body, name)
  local X = nw.placeholder(reads, "f32", "X")
  return nw.schedule(nw.compute(shape, function(...) return body(X, ...) end, name or "Y"))
end

local function matvec(n, turned)
  local A, x = nw.placeholder({n, n}, "f32", "A"), nw.placeholder({n}, "f32", "x")
  local k = nw.reduce_axis(n, "k")
  return nw.schedule(nw.compute({n}, function(i) return nw.sum((turned and A(k, i) or A(i, k)) * x(k), k) end, "y"))
end

local function convolution(n)
  local X, W = nw.placeholder({n + 2, n + 2}, "f32", "X"), nw.placeholder({3, 3}, "f32", "W")
  local r, c = nw.reduce_axis(3, "r"), nw.reduce_axis(3, "c")
  return nw.schedule(nw.compute({n, n}, function(i, j) return nw.sum(X(i + r, j + c) * W(r, c), {r, c}) end, "Y"))
end

local function cross(X, i, j) return X(i, j + 1) + X(i + 2, j + 1) + X(i + 1, j) + X(i + 1, j + 2) end

cachegrind.kernels = {
  {"gemm", function() return gemm(120) end},
  {"gemm at a power of two", function() return gemm(128) end},
  {"gemm by rows of B", function() return gemm(160, ikj) end},
  {"gemm in tiles", function() return gemm(160, tiles) end},
  {"transpose", function() return map({700, 900}, {900, 700}, function(X, i, j) return X(j, i) end) end},
  {"matrix times vector", function() return matvec(1200) end},
  {"transposed matrix times vector", function() return matvec(1024, true) end},
  {"convolution", function() return convolution(400) end},
  {"stencil", function() return map({900, 900}, {902, 902}, cross) end},
  {"every other element", function() return map({3, 100000}, {200000}, function(X, _, j) return X(2 * j) end) end},
}

-- ---- one kernel

-- Returns the text of a C program. If the program gets an argument, it runs the kernel. Otherwise it does nothing.
local function main_of(s)
  local code = tostring(s:show "c")
  local name = code:match "int ([%w_]+)%("
  local at, args = PAGE, {}
  local function place(list)
    for _, t in ipairs(list) do
      local count = 1
      for _, d in ipairs(t.dims) do count = count * d end
      args[#args + 1] = ("(void *)(base + %d)"):format(at)
      at = at + (count * 4 + PAGE - 1) // PAGE * PAGE
    end
  end
  place(s:inputs())
  place(s:outputs())
  code = code:gsub("(#include <string.h>\n)", "%1#include <sys/mman.h>\n#define float volatile float\n")
  return ([[%s
int main(int argc, char **argv) {
  char *base = mmap(NULL, %d, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  (void)argv;
  return argc > 1 ? %s(%s) : 0;
}
]]):format(code, at + (1 << 21), name, table.concat(args, ", "))
end

-- Returns the data misses in both levels, as counted by cachegrind. `stack`: a number of bytes by which the stack is moved.
local function count(program, argument, stack)
  local text = run(("env -i PATH=\"$PATH\" MOVED=%s valgrind --tool=cachegrind --cache-sim=yes --I1=32768,8,64 --D1=%d,%d,64 "
    .. "--LL=%d,%d,64 --cachegrind-out-file=/dev/null %s %s"):format(("x"):rep(stack), LEVELS[1].bytes, LEVELS[1].ways,
    LEVELS[2].bytes, LEVELS[2].ways, program, argument))
  local function number(pattern) return tonumber((assert(text:match(pattern), text):gsub(",", ""))) end
  return {number "D1 +misses: +([%d,]+)", number "LLd +misses: +([%d,]+)"}
end

local function simulated(s) return nw.misses(s, {levels = LEVELS, conflicts = false}) end

--- Returns the misses in both levels, as computed by the cache model. The first level is counted as if it were the only level. The
--- second level gets only the misses of the first.
function cachegrind.modelled(s)
  local nest = nw.nest.of(s)
  return {total = {nest:misses({levels = {LEVELS[1]}}).total[1], nest:misses({levels = LEVELS, feed = "misses"}).total[2]}}
end

-- Places of the stack, in bytes, within a way of the first level. Variables on the stack can evict lines of the arrays, and the
-- simulator knows nothing of them. So the place with the fewest misses is used. The size of the environment sets the place.
local STACKS = {0, 1024, 2048, 3072}

-- Returns the misses of the kernel in both levels, as counted by cachegrind.
local function counted(program)
  local least
  for _, stack in ipairs(STACKS) do
    local idle, busy = count(program, "", stack), count(program, "run", stack)
    local misses = {busy[1] - idle[1], busy[2] - idle[2]}
    if not least or misses[1] < least[1] then least = misses end
  end
  return least
end

--- Returns the largest relative difference between the miss counts. Also returns, for each level, our count and the count of
--- cachegrind. A difference of ALLOWED lines is ignored. ours_of(s) returns our counts. The default is to count with the simulator.
function cachegrind.compare(s, ours_of)
  local path = os.tmpname()
  write(path .. ".c", main_of(s))
  run(("gcc -O1 -w -march=haswell -o %s %s.c -lm"):format(path, path))
  local theirs_of = counted(path)
  os.remove(path)
  os.remove(path .. ".c")
  local total, worst, counts = (ours_of or simulated)(s).total, 0, {}
  for n, t in ipairs(total) do
    local ours, theirs = t.asked - t.hits, theirs_of[n]
    counts[n] = {ours, theirs}
    worst = math.max(worst, (math.max(math.abs(ours - theirs) - ALLOWED, 0)) / theirs)
  end
  return worst, counts
end

function cachegrind.installed() return (os.execute "valgrind --version >/dev/null 2>&1 && gcc --version >/dev/null 2>&1") end

return cachegrind
