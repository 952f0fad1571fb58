--- Predictions held against measurements: 200 random legal schedules of each of four computations, one thread, none used to set
--- a constant of the model; then a model learned from three of them, on the fourth. What was measured is kept beside the figures,
--- build/bench/audit_NAME.json: delete these to measure anew.
package.path = "tests/bench/?.lua;" .. package.path
local nw = require "nestwright"
local bench = require "_bench"

local KERNELS = {"gemm", "conv1d", "depthwise", "blur"}
local SEED, SCHEDULES = 1, 200

local out = bench.open(arg[1] or "build/bench/audit.json")
local folder = (arg[1] or "build/bench/audit.json"):match "^(.*)/" or "."

local function error_of(p) return math.abs(p.predicted - p.measured) / p.measured end

local audits, errors = {}, {}
for n, name in ipairs(KERNELS) do
  local a = nw.cost.audit {kernel = name, schedules = SCHEDULES, seed = SEED, file = ("%s/audit_%s.json"):format(folder, name)}
  print(a)
  out:bar(("audit.%s.tau"):format(name), a.analytic.tau, ">=", 0.75)
  out:bar(("audit.%s.tau_best_quarter"):format(name), a.analytic.tau_best_quarter)
  if a.measured then out:bar(("audit.%s.tau_measured_again"):format(name), a.measured.tau) end
  out:bar(("audit.%s.schedules"):format(name), #a.points, ">=", SCHEDULES)
  out:bar(("audit.%s.median_error"):format(name), a.analytic.median_error)
  for _, p in ipairs(a.points) do errors[#errors + 1] = error_of(p) end
  audits[n] = a
end
out:bar("audit.median_error", bench.median(errors), "<=", 0.25)

-- The least of the four: what holds for each.
local function least(rows, field)
  local v = math.huge
  for _, row in ipairs(rows) do v = math.min(v, row[field]) end
  return v
end

local learned, model = pcall(nw.cost.train, audits)
if learned then
  print(model)
  for _, row in ipairs(model:held_out()) do
    out:bar(("audit.%s.learned_tau_transfer"):format(row.kernel), row.transfer)
    out:bar(("audit.%s.learned_tau_64"):format(row.kernel), row.with_64)
    out:bar(("audit.%s.learned_gain"):format(row.kernel), row.transfer - row.analytic)
  end
  out:bar("audit.learned_tau_transfer", least(model:held_out(), "transfer"), ">=", 0.8)
  out:bar("audit.learned_tau_64", least(model:held_out(), "with_64"), ">=", 0.88)
else
  print(model)
end
out:close()
