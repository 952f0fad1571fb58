--- Measures the judge (the legality check) on the rows in tests/bench/judge: how many legal steps it accepts, how many illegal
--- steps it refuses, and how long it takes.
package.path = "tests/bench/?.lua;" .. package.path
local bench = require "_bench"
local judge = require "_judge"

local out = bench.open(arg[1] or "build/bench/judge.json")
local rows, times = judge.rows "tests/bench/judge", judge.times()

local function say(row, problem) print(("%s: %s\n  %s"):format(row.area, row.what, (problem:gsub("\n", "\n  ")))) end

local refused, wrong = 0, 0
for _, row in ipairs(rows.legal) do
  local problem, was_refused = judge.legal(row, times)
  if problem then say(row, problem) end
  if was_refused then refused = refused + 1 elseif problem then wrong = wrong + 1 end
  collectgarbage()
end

local count, seen = {accepted = 0, kind = 0, witness = 0, prepared = 0}, 0
for _, row in ipairs(rows.illegal) do
  local findings, replayed = judge.illegal(row, times)
  for finding, problem in pairs(findings) do
    count[finding] = count[finding] + 1
    say(row, problem)
  end
  if replayed then seen = seen + 1 end
  collectgarbage()
end

out:bar("judge.legal_cases", #rows.legal, ">=", 200)
out:bar("judge.legal_refused", refused + count.prepared, "<=", 0)
out:bar("judge.legal_wrong", wrong, "<=", 0)
out:bar("judge.illegal_cases", #rows.illegal, ">=", 150)
out:bar("judge.illegal_accepted", count.accepted, "<=", 0)
out:bar("judge.wrong_kind", count.kind, "<=", 0)
out:bar("judge.wrong_witness", count.witness, "<=", 0)
out:bar("judge.witness_seen", seen)
out:bar("judge.order_ms_median", bench.median(times.o), "<=", 15)
out:bar("judge.value_ms_median", bench.median(times.v), "<=", 60)
out:bar("judge.marks_ms_median", bench.median(times.m))
out:bar("judge.step_ms_p99", bench.quantile(times.all, 0.99), "<=", 300)
out:bar("judge.moves_ms", bench.quantile(times.moves, 1), "<=", 500)
out:close()
