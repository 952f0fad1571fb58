--- Runs some actions (steps, proofs, views, calls) repeatedly, and each time makes a different request for memory fail. If an
--- action makes many requests, only the first, the last and some random requests are chosen. The action must end with an error of
--- this library, or succeed without the memory. After an error, the schedule must be unchanged, and the same action must then give
--- the usual result.
---
--- With NW_FIGURES=FILE, the number of failed requests, and the number of wrong outcomes, are written to the file.
--- usage: nestwright tests/safe/refused.lua [SEED [REQUESTS]]
--- REQUESTS: the largest number of requests that fail in each action (by default 60)
local nw = require "nestwright"
local core = require "nestwright.core"

local seed, most = tonumber(arg[1]) or os.time() % 1000003, tonumber(arg[2]) or 60
math.randomseed(seed)
print("seed", seed)

local function product()
  local A, B, k = nw.placeholder({24, 24}, "f32", "A"), nw.placeholder({24, 24}, "f32", "B"), nw.reduce_axis(24, "k")
  local T = nw.compute({24, 24}, function(i, j) return A(i, j) * 2 end, "T")
  local C = nw.compute({24, 24}, function(i, j) return nw.sum(T(i, k) * B(k, j), k) end, "C")
  return nw.schedule(C), C
end

local function symbolic()
  local M, N = nw.size "M", nw.size "N"
  local A = nw.placeholder({M, N}, "i32", "A")
  return nw.schedule(nw.compute({M, N}, function(i, j) return A(i, j) + i * j end, "C"))
end

local a = {}
for n = 1, 2 do a[n] = nw.full({24, 24}, n) end

-- {a function that makes a schedule, the name of the action, the action}. The result of the action is compared as text. SEVERAL
-- lists actions that make several steps: after an error, some of the steps may have been made.
local SEVERAL = {rfactor = true, explain = true, undo = true, ["fuse and split"] = true}
local tries = {
  {product, "split", function(s) s:split("k", 5) end},
  {product, "refused", function(s) s:parallel "k" end},
  {product, "explain", function(s) pcall(s.parallel, s, "k") return s:explain() end},
  {product, "compute_at", function(s) s:compute_at("T", "i_1") end},
  {product, "compute_inline", function(s) s:compute_inline "T" end},
  {product, "cache_write", function(s) s:cache_write("C", "local") end},
  {product, "rfactor", function(s) s:split("k", 4) s:rfactor("C", "k_i") end},
  {product, "partition", function(s) s:partition("k", {at = {3, 20}}) end},
  {product, "vectorize", function(s) s:vectorize "j_1" end},
  {product, "moves", function(s) return s:moves "k" end},
  {product, "replay", function(s) local t = product() t:split("k", 5) t:parallel "i_1" s:replay(t:trace "json") end},
  {product, "lowered", function(s) return s:show "lowered" end},
  {product, "c", function(s) return s:show "c" end},
  {product, "interpret", function(s) return nw.interpret(s, a)[1]:get(3, 4) end},
  {product, "evaluate", function(_, C) return nw.evaluate(C, a)[1]:get(3, 4) end},
  {product, "build and call", function(s) return s:build {threads = 2}(a[1], a[2]):get(3, 4) end},
  {product, "accesses", function(s) return #nw.accesses(s) end},
  {product, "misses", function(s) return nw.misses(s) end},
  {product, "cost", function(s) return s:cost().flops end},
  {product, "order", function(s) return nw.order(s, {stage = "C"}):svg():find "<svg" end},
  {product, "undo", function(s) s:split("k", 5) s:undo() end},
  {symbolic, "fuse and split", function(s) s:split(s:fuse("i", "j"), 8) end},
  {symbolic, "tile with cut tails", function(s) s:tile({"i", "j"}, {4, 8}, {tail = "cut"}) end},
  {symbolic, "check", function(s) s:check() end},
  {symbolic, "a compute", function() return symbolic():text() end},
}

local FOREVER <const> = 1 << 60
local refused, failed = 0, 0
local function fail(name, n, what)
  failed = failed + 1
  print(("not ok %s, request %d: %s"):format(name, n, what))
end

for _, t in ipairs(tries) do
  local make, name, f = t[1], t[2], t[3]
  local function run(s, C, n) -- returns the result, and the number of requests
    core.refuse_memory(n)
    local ok, out = pcall(f, s, C)
    local left = core.refuse_memory(0)
    if type(out) == "table" and not (out.code) then out = tostring(out) end
    return ok, out, n - left
  end
  local first, computed = make()
  local other, others = make()
  run(other, others, FOREVER) -- makes objects that a session makes only once
  local ok, want, requests = run(first, computed, FOREVER)
  if not ok and name ~= "refused" then fail(name, 0, "the action fails although no request failed: " .. tostring(want)) end
  local text = first:text()
  local numbers = {}
  if requests <= most then
    for n = 1, requests do numbers[n] = n end
  else
    for n = 1, most // 3 do numbers[n] = n end
    while #numbers < most do numbers[#numbers + 1] = math.random(requests) end
    numbers[#numbers + 1] = requests
  end
  local before = failed
  for _, n in ipairs(numbers) do
    local s, C = make()
    local was, trace = s:text(), s:trace()
    local fine, err = run(s, C, n)
    refused = refused + 1
    if not fine then
      local valid = type(err) == "table" and err.code and err.code ~= "internal"
      if not valid then fail(name, n, "not an error of the library: " .. tostring(err)) end
      if not ok and err.code ~= want.code and err.code ~= "memory" then fail(name, n, tostring(err)) end
      if not SEVERAL[name] and (s:text() ~= was or s:trace() ~= trace) then fail(name, n, "the schedule changed:\n" .. s:text()) end
      if SEVERAL[name] then s, C = make() end
    end
    if not fine or not ok then
      local again, got = run(s, C, FOREVER)
      if again ~= ok then fail(name, n, "the repeated action has another outcome: " .. tostring(got)) end
      if ok and tostring(got) ~= tostring(want) then fail(name, n, "the repeated action has another result: " .. tostring(got)) end
    end
    if s:text() ~= text then fail(name, n, "the program afterwards is not the expected one") end
  end
  if failed == before then print(("ok %s: %d of %d requests refused"):format(name, #numbers, requests)) end
end
local path = os.getenv "NW_FIGURES"
if path then
  local f <close> = assert(io.open(path, "w"))
  f:write(('{"requests_refused": %d, "refused_wrong": %d}\n'):format(refused, failed))
end
print(("refused: %d passed, %d failed"):format(refused - failed, failed))
os.exit(failed == 0 and refused > 0, true)
