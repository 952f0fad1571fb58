--- Compares predictions with measurements, for 200 random legal schedules of each of four computations, in one thread. No constant
--- of the cost model was fitted to these schedules. Then, for each of the four computations, trains a model on the other three and
--- on the seven computations in OTHERS. Measurements are kept in build/bench/audit_NAME.json. Delete these files to measure again.
package.path = "tests/bench/?.lua;" .. package.path
local nw = require "nestwright"
local bench = require "_bench"

local KERNELS = {"gemm", "conv1d", "depthwise", "blur"}
local OTHERS = {"dense", "conv2d", "pool", "sobel", "heat", "transpose", "center"} -- computations that are used only for training
local SEED, SCHEDULES, FEWER = 1, 200, 120

local path = arg[1] or "build/bench/audit.json"
local out = bench.open(path)
local folder = path:match "^(.*)/" or "."

local function audit(name, schedules)
  return nw.cost.audit {kernel = name, schedules = schedules, seed = SEED, file = ("%s/audit_%s.json"):format(folder, name)}
end

local function error_of(p) return math.abs(p.predicted - p.measured) / p.measured end

-- ---- the cost model alone

local audits, errors = {}, {}
for n, name in ipairs(KERNELS) do
  local a = audit(name, SCHEDULES)
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

-- ---- models that learned from the other computations

for _, name in ipairs(OTHERS) do
  audits[#audits + 1] = audit(name, FEWER)
  print(("%s: tau %.3f"):format(name, audits[#audits].analytic.tau))
end

-- Returns the least value of a field over the four computations.
local function least(rows, field)
  local v = math.huge
  for n = 1, #KERNELS do v = math.min(v, rows[n][field]) end
  return v
end

-- Trains a model on the audits and records its figures. The rows of held_out() are in the order of the audits.
local function report(objective, suffix, transfer_bar, bar_64)
  audits.objective = objective
  local learned, model = pcall(nw.cost.train, audits)
  print(model)
  if not learned then return nil end
  local rows = model:held_out()
  for n, name in ipairs(KERNELS) do
    out:bar(("audit.%s.learned_tau_transfer%s"):format(name, suffix), rows[n].transfer)
    out:bar(("audit.%s.learned_tau_64%s"):format(name, suffix), rows[n].with_64)
    out:bar(("audit.%s.learned_gain%s"):format(name, suffix), rows[n].transfer - rows[n].analytic)
  end
  out:bar("audit.learned_tau_transfer" .. suffix, least(rows, "transfer"), transfer_bar and ">=", transfer_bar)
  out:bar("audit.learned_tau_64" .. suffix, least(rows, "with_64"), bar_64 and ">=", bar_64)
end

report("times", "", 0.8, 0.88)
report("pairs", "_pairs")
out:close()
