--- Measures the response times of the workbench: start, steps, views, compilations, interrupts.
package.path = "tests/bench/?.lua;" .. package.path
package.cpath = "build/release/lib/lua/?.so;build/bench/?.so;" .. package.cpath
local nw = require "nestwright"
local pty = require "nw_pty"
local peers = require "peers"
local bench = require "_bench"
local schedules = require "_schedules"

local out = bench.open(arg[1] or "build/bench/interactive.json")
local repl = "build/release/bin/nestwright"

-- Returns the median CPU time, in milliseconds, of a process that starts, prints its prompt, and ends.
local function start_to_prompt()
  local cpu = {}
  for n = 1, 20 do
    local child = pty.spawn(repl)
    assert(child:expect("> ", 5000), "no prompt")
    child:send "\4"
    local _, ms = child:finish()
    cpu[n] = ms
  end
  return bench.median(cpu)
end

-- Returns the wall-clock time of `f`, in milliseconds.
local function ms(f, ...)
  local t = peers.now_ms()
  f(...)
  return peers.now_ms() - t
end

-- Makes the steps of the GEMM tutorial. Returns four median times in milliseconds: of steps that the judge checks by order, of
-- steps that it checks by value, of steps that only change marks, and of s:show().
local function steps()
  local times, show = {o = {}, v = {}, m = {}}, {}
  for _ = 1, 5 do
    schedules.walk(1024, function(s, name, ...)
      local args = table.pack(...)
      local results
      local t = ms(function() results = table.pack(s[name](s, table.unpack(args, 1, args.n))) end)
      local into = times[nw.judge_question()]
      into[#into + 1] = t
      show[#show + 1] = ms(function() return tostring(s:show()) end)
      return table.unpack(results, 1, results.n)
    end)
  end
  return bench.median(times.o), bench.median(times.v), bench.median(times.m), bench.median(show)
end

local function compile_first()
  local best = {}
  for n = 1, 7 do
    local child = pty.spawn(repl, "tests/bench/_first_compile.lua")
    local _, text = child:expect("first_ms", 20000)
    child:finish()
    best[n] = tonumber(text:match "([%d.]+) first_ms")
  end
  return bench.median(best)
end

-- Returns the CPU time of lowering, LLVM and linking, in milliseconds, in a process that has already compiled a program. CPU time
-- does not include preemption.
local function compile_warm(make)
  make(0):build {threads = 1, cache = false}
  local t = {}
  for n = 1, 15 do
    local s = make(n)
    local start = peers.cpu_ms()
    s:build {threads = 1, cache = false}
    t[n] = peers.cpu_ms() - start
  end
  return bench.median(t)
end

-- Returns the longest time, in milliseconds, from Ctrl-C at the terminal to the message that the command was interrupted. Also
-- checks that the session continues.
local function interrupt(setup, command, rounds)
  local worst = 0
  for _ = 1, rounds do
    local child = pty.spawn(repl)
    assert(child:expect("> ", 5000))
    for _, line in ipairs(setup) do
      child:send(line .. "\n")
      child:send "io.write('rea' .. 'dy\\n')\n"
      assert(child:expect("ready\r\n", 30000), "set-up did not finish")
    end
    child:send(command .. "\n")
    pty.sleep(400)
    child:send "\3"
    local waited, seen = child:expect("interrupted", 8000)
    assert(waited, "not interrupted: " .. command .. "\n" .. seen)
    worst = math.max(worst, waited)
    child:send "io.write('ali' .. 've\\n')\n"
    assert(child:expect("alive", 5000), "the session did not survive")
    child:send "\4"
    child:finish()
  end
  return worst
end

-- The next reorder after these steps needs a proof that takes isl a long time. The steps fuse the time and space loops of a heat
-- equation, split them by primes, and reorder them.
local proof = {
  "st, a0 = nw.placeholder({31, 37, 41}, 'f32', 'st'), nw.placeholder({1, 37, 41}, 'f32', 'a0')",
  "first = nw.compute({1, 37, 41}, function(t, i, j) return a0(t, i, j) end, 'first')",
  "up = nw.compute({31, 37, 41}, function(t, i, j) return st(t - 1, nw.max(i - 1, 0), j) + st(t - 1, i, nw.max(j - 1, 0)) "
    .. "+ st(t - 1, nw.min(i + 1, 36), nw.min(j + 1, 40)) end, 'up')",
  "s = nw.schedule(nw.scan(first, up, st, 'S')); l = s:loops 'S'",
  "f = s:fuse(l[2], l[3]); fo, fi = s:split(f, 23); g = s:fuse(l[1], fo); go, gi = s:split(g, 19)",
  "h = s:fuse(gi, fi); ho, hi = s:split(h, 17); s:reorder(hi, ho)",
}

local long = {
  "A = nw.placeholder({2, 1 << 20}, 'f32', 'A')",
  "C = nw.compute({2, 1 << 20}, function(i, j) local k = nw.reduce_axis(1 << 22, 'k') "
    .. "return nw.sum(A(i, nw.min(j, k)), k) end, 'C')",
}

out:bar("start.prompt_ms_cpu", start_to_prompt(), "<=", 25)
local order, value, marks, show = steps()
out:bar("step.order_ms_median", order, "<=", 15)
out:bar("step.value_ms_median", value, "<=", 60)
out:bar("step.marks_ms_median", marks)
out:bar("show.median_ms", show, "<=", 2)
out:bar("compile.first_ms", compile_first(), "<=", 80)
out:bar("compile.pointwise_ms", compile_warm(schedules.pointwise), "<=", 5)
out:bar("compile.gemm_ms", compile_warm(function(n) return schedules.gemm(512 + 32 * n, 1) end), "<=", 20)
local worst = math.max(
  interrupt({}, "while true do end", 5),
  interrupt(proof, "s:reorder(ho, go)", 5),
  interrupt({long[1], long[2], "s = nw.schedule(C)", "f = s:build{threads = 1}", "a = nw.zeros({2, 1 << 20}, 'f32')"},
    "f(a)", 5),
  interrupt({long[1], long[2], "s = nw.schedule(C)", "s:parallel 'i'", "f = s:build{threads = 2}",
    "a = nw.zeros({2, 1 << 20}, 'f32')"}, "f(a)", 5))
out:bar("interrupt_ms", worst, "<=", 100)
out:close()
