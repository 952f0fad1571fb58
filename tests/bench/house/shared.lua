--- Measures lowering, the cost and the features of a schedule. Their results are stored with a version of the schedule, so that
--- each is computed only once.
local core = require "nestwright.core"
local bench = require "_bench"
local cost = require "nestwright.cost.cost"
local features = require "nestwright.learn.features"
local schedules = require "_schedules"

local ROUNDS = 15

local function ms(f)
  local since = core.now()
  f()
  return 1000 * (core.now() - since)
end

local MACHINE, CODE, BOTH = "zen5", {code = true}, {code = true, caches = true}
local s = schedules.gemm(1024, 1)
local function again() return s:cost {machine = MACHINE} end

local function full()
  local c = again()
  return features.of(s, c, nil, CODE)
end

-- Times a new version, which must be lowered first.
local function quick()
  local new = schedules.gemm(1024, 1)
  return ms(function() features.of(new, cost.of("house", new, {machine = MACHINE, in_cache = true}), nil, BOTH) end)
end

return function(out)
  cost.of("house", s, {machine = MACHINE}) -- lowers the version and counts its accesses once
  local times = bench.race({function() return ms(again) end, function() return ms(full) end, quick}, ROUNDS)
  out:bar("house.quick_row_ms", times[3], "<=", 2)
  out:bar("house.full_row_over_cost_ms", times[2] - times[1], "<=", 2)
  out:bar("house.cost_again_ms", times[1], "<=", 5)
end
