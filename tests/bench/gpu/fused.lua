--- Fuses random pairs of kernels into one grid, by blocks or by threads, runs them through OpenCL and on the simulated GPU, and
--- compares the bits of the results with those of the interpreter. Then prints the predicted times of two kernels in turn and in
--- one grid.
--- usage: nestwright tests/bench/gpu/fused.lua FILE CASES SEED     writes to FILE how many cases agree and how many do not
package.loaded["nestwright.script"] = nil
package.path = "tests/bench/?.lua;" .. package.path
local differ = require "gpu.differ"
local nw = require "nestwright"
local rng = require "nestwright.measure.rng"

local target = nw.target("opencl", {machine = "a100"})

-- ---- operators. Each returns a tensor, and a function that binds the loops inside of a block and returns the loop over blocks.

local operators = {}

-- Returns the two loops of a split, the inner one bound to threadIdx.x.
local function blocks_of(s, loop, threads)
  local o, i = s:split(loop, threads)
  s:bind(i, "threadIdx.x")
  return o
end

function operators.elements(r, name)
  local n = r:int(1, 300)
  local A = nw.placeholder({n}, r:pick {"f32", "f32", "i32", "f64"}, "A" .. name)
  local T = nw.compute({n}, function(i) return A(n - 1 - i) * 2 + A(i) end, name)
  return T, function(s, threads) return blocks_of(s, s:loops(T)[1], threads) end
end

function operators.transpose(r, name)
  local m, n = r:int(1, 40), r:int(1, 40)
  local A = nw.placeholder({m, n}, "f32", "A" .. name)
  local T = nw.compute({n, m}, function(i, j) return A(j, i) end, name)
  return T, function(s, threads)
    local l = s:loops(T)
    return blocks_of(s, s:fuse(l[1], l[2]), threads)
  end
end

function operators.window(r, name)
  local n, taps = r:int(1, 200), r:int(1, 7)
  local X = nw.placeholder({n + taps - 1}, "f32", "X" .. name)
  local T = nw.compute({n}, function(i)
    local k = nw.reduce_axis(taps, "k" .. name)
    return nw.max(X(i + k), k)
  end, name)
  local copied = r:chance(0.5)
  return T, function(s, threads)
    local o = blocks_of(s, s:loops(T)[1], threads)
    if copied then
      local c = s:cache_read(X, "shared", {T}, {at = o})
      local l = s:loops(c)
      local _, x = s:split(l[#l], threads)
      s:bind(x, "threadIdx.x")
    end
    return o
  end
end

function operators.product(r, name)
  local m, n, depth = r:int(1, 40), r:int(1, 40), r:int(1, 40)
  local A, B = nw.placeholder({m, depth}, "f32", "A" .. name), nw.placeholder({depth, n}, "f32", "B" .. name)
  local T = nw.compute({m, n}, function(i, j)
    local k = nw.reduce_axis(depth, "k" .. name)
    return nw.sum(A(i, k) * B(k, j), k)
  end, name)
  return T, function(s, threads)
    local l = s:loops(T)
    return blocks_of(s, s:fuse(l[1], l[2]), threads)
  end
end

-- ---- pairs

local KINDS = {"elements", "transpose", "window", "product"}

-- By blocks: each block belongs to one of the kernels.
local function fuse_blocks(r, s, binds)
  local threads, loops = r:pick {4, 16, 32, 64}, {}
  for n, bind in ipairs(binds) do loops[n] = bind(s, threads) end
  s:bind(s:create_fused_loop(table.unpack(loops)), "blockIdx.x")
end

-- By threads: each thread belongs to one of the kernels, so a block may have threads of both.
local function fuse_threads(r, s, stages)
  local loops = {}
  for n, stage in ipairs(stages) do
    local l = s:loops(stage)
    loops[n] = #stage:shape() > 1 and s:fuse(l[1], l[2]) or l[1]
  end
  local o, t = s:split(s:create_fused_loop(table.unpack(loops)), r:pick {4, 16, 32, 64})
  s:bind(o, "blockIdx.x")
  s:bind(t, "threadIdx.x")
end

-- Returns "blocks" or "threads", and why the case is wrong, or nil.
local function tried(seed)
  local r = rng.new(seed)
  local X, bind_x = operators[r:pick(KINDS)](r, "X")
  local Y, bind_y = operators[r:pick(KINDS)](r, "Y")
  local s, how = nw.schedule({X, Y}, {target = target}), r:pick {"blocks", "threads"}
  if how == "blocks" then fuse_blocks(r, s, {bind_x, bind_y}) else fuse_threads(r, s, {X, Y}) end
  local data = {}
  for n, t in ipairs(s:inputs()) do
    local whole = t.dtype:find "^[iu]"
    data[n] = nw.random(t:shape(), t.dtype, {seed = seed + n, lo = whole and 0 or -1, hi = whole and 9 or 1})
  end
  local want = nw.interpret(s, data, {lowered = true})
  local why = differ(want, {s:build()(table.unpack(data))})
  if why then return how, "OpenCL: " .. why end
  local report = nw.simulate(s, data, {ptxas = false})
  if #report.kernels ~= 1 then return how, ("there are %d kernels"):format(#report.kernels) end
  why = #report.findings > 0 and tostring(report) or differ(want, report.outputs)
  return how, why and "simulated: " .. why
end

-- ---- predictions

-- Two vectors, of which one has `blocks` blocks and the other has as many, or fewer, which do more work. fused: in one grid.
local function pair(blocks, balanced, fused)
  local threads = 1024
  local function chain(name, n, times)
    local A = nw.placeholder({n * threads}, "f32", "A" .. name)
    return nw.compute({n * threads}, function(i)
      local v = A(i)
      for _ = 1, times do v = v * 1.5 + 0.5 end
      return v
    end, name)
  end
  local X, Y = chain("X", blocks, 64), chain("Y", balanced and blocks or math.max(blocks // 4, 1), balanced and 64 or 256)
  local s, loops = nw.schedule({X, Y}, {target = "a100"}), {}
  for n, stage in ipairs {X, Y} do
    local o, i = s:split(s:loops(stage)[1], threads)
    s:bind(i, "threadIdx.x")
    loops[n] = o
  end
  if fused then loops = {s:create_fused_loop(loops[1], loops[2])} end
  for _, loop in ipairs(loops) do s:bind(loop, "blockIdx.x") end
  return s:cost()
end

local function print_times()
  print "predicted for a100: two kernels with 54 M blocks of 1024 threads in turn, and in one grid"
  print "             balanced                         unbalanced: a quarter of the blocks, with four times the work"
  print "   M      in turn     one grid  ratio          in turn     one grid  ratio"
  for m = 1, 8 do
    local line = {("%4d"):format(m)}
    for _, balanced in ipairs {true, false} do
      local apart, one = pair(54 * m, balanced, false), pair(54 * m, balanced, true)
      line[#line + 1] = ("%10.2f us %10.2f us %6.2f"):format(1e6 * apart.seconds, 1e6 * one.seconds, apart.seconds / one.seconds)
    end
    print(table.concat(line, "     "))
  end
end

-- ---- all cases

local path, cases, seed = arg[1], tonumber(arg[2]), tonumber(arg[3])
local seeds, wrong, kinds = rng.new(seed), 0, {blocks = 0, threads = 0}
for _ = 1, cases do
  local own = seeds:int(1, 1 << 40)
  local ok, how, why = pcall(tried, own)
  if not ok then how, why = "blocks", tostring(how) end
  if why then
    wrong = wrong + 1
    print(("seed %d: %s"):format(own, why))
  else
    kinds[how] = kinds[how] + 1
  end
end
print(("pairs in one grid, seed %d: %d by blocks and %d by threads agree, %d are wrong"):format(seed, kinds.blocks, kinds.threads,
  wrong))
print_times()
local file = assert(io.open(path, "w"))
file:write(kinds.blocks + kinds.threads, " ", wrong, "\n")
file:close()
