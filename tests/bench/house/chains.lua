--- Measures how many stages of a long chain can be scheduled, and how fast a chain that is too long is refused.
local nw = require "nestwright"

local function chain(n)
  local t = nw.placeholder({16}, "f32", "A")
  for k = 1, n do
    local before = t
    t = nw.compute({16}, function(i) return before(i) + 1 end, "t" .. k)
  end
  return t
end

-- Makes a chain of n stages and splits a loop of each stage. Builds and runs the result. Returns the number of accepted splits.
local function steps_of(n)
  local s = nw.schedule(chain(n))
  local done = 0
  for _, loop in ipairs(s:loops()) do
    if pcall(s.split, s, loop, 4) then done = done + 1 end
  end
  assert(s:reparses(), "parsing the chain's text does not give the same program")
  local first = s:build {threads = 1}(nw.zeros {16}):getflat(1)
  assert(first == n, "the chain computes " .. first)
  return done
end

return function(out)
  local before = os.clock()
  out:bar("house.chain_steps", steps_of(500), ">=", 500)
  print(("  500 steps, built and run: %.2f s"):format(os.clock() - before))

  local long = chain(20000)
  before = os.clock()
  local ok, err = pcall(nw.schedule, long)
  out:bar("house.chain_20000_s", os.clock() - before, "<=", 1)
  print("  " .. (ok and "built" or "refused: " .. tostring(err.message or err)))
end
