--- Does the work of one session: steps, refusals, counts, code, runs. Other sessions run in other threads at the same time. Returns
--- a digest of all results. The digest must not depend on other sessions.
local seed = ...
local nw = require "nestwright"
local core = require "nestwright.core"
local digest = {}
local function say(text) digest[#digest + 1] = tostring(text) end

local A, B = nw.placeholder({24, 16}, "f32", "A"), nw.placeholder({16, 20}, "f32", "B")
local k = nw.reduce_axis(16, "k")
local C = nw.compute({24, 20}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
local a, b = nw.random({24, 16}, "f32", {seed = 1}), nw.random({16, 20}, "f32", {seed = 2})
local want = nw.evaluate(C, {a, b})[1]

for round = 1, 3 do
  local s = nw.schedule(C)
  for n = 1, 8 do
    local step = s:random_step(100 * seed + 10 * round + n)
    s:apply(step.primitive, step.arguments)
    say(step.text)
  end
  local naive = nw.schedule(C) -- the random steps may leave no loop k
  local ok, refusal = pcall(naive.parallel, naive, "k")
  say(ok or refusal)
  say(s:show "loops")
  say(s:show "lowered")
  say(s:cost {machine = "zen5"}.cycles)
  local built, kernel = pcall(s.build, s, {threads = 2}) -- random steps may bind loops to a grid, which is not built
  if built then say(nw.allclose(want, kernel(a, b), {rtol = 1e-4})) else say(kernel) end
  s:undo(4)
  say(nw.allclose(want, nw.interpret(s, {a, b})[1], {rtol = 1e-4}))
end
core.hold_output()
core.release_output()
return table.concat(digest, "\n")
