--- Compares pairs of kernels whose true ratio is known while other work runs, and counts wrong verdicts. A verdict says whether the
--- difference between two times is more than noise.
local bench = require "_bench"
local load = require "_load"
local nw = require "nestwright"

local RATIO = {64, 74} -- numbers of terms of the two sums; the second has 1.156 times the work
local PAIRS = tonumber(os.getenv "NW_TRUTH_PAIRS") or 25 -- equal pairs, and unequal pairs, for each load and thread count
local RUNS = 30 -- number of runs of each kernel under heavy load, to see whether disturbed runs are reported as disturbed
-- Rows of these kernels. The last one takes so long that other work gets the core in each sample. A call of the first one takes a
-- few microseconds, which is less than a sleeping thread needs to wake up.
local ROWS = {8, 64, 256, 8192}
local WRONG = 1.3 -- a run whose median is this many times the quiet median was disturbed

-- Returns a kernel that computes sums of this many terms.
local function sums(terms, threads, rows)
  rows = rows or 64
  local A, B = nw.placeholder({rows, 80}, "f32", "A"), nw.placeholder({80, 256}, "f32", "B")
  local k = nw.reduce_axis(terms, "k")
  local s = nw.schedule(nw.compute({rows, 256}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C"))
  s:split("j", 32)
  s:reorder("i", "j_o", "k", "j_i")
  s:vectorize "j_i"
  if threads > 1 then s:parallel "i" end
  return s:build {threads = threads, cache = false}
end

-- Returns "right" or "wrong" for a verdict. Returns "none" if there is no verdict, or if two kernels with different times are
-- reported as not distinguishable.
local function outcome(c, apart)
  local said = c[2].verdict
  if said:find "no verdict" then return "none" end
  if said:find "not distinguishable" then return apart and "none" or "right" end
  local ratio = c[1].median / c[2].median
  return apart and ratio < 1 and "right" or "wrong"
end

local function judge_pairs(threads, tally)
  local f, g = sums(RATIO[1], threads), sums(RATIO[1], threads)
  local slower = sums(RATIO[2], threads)
  for _ = 1, PAIRS do
    for _, pair in ipairs {{f, g, false}, {f, slower, true}} do
      local c = nw.compare {pair[1], pair[2]}
      local what = outcome(c, pair[3])
      if what == "wrong" then print(c) end
      tally[what] = (tally[what] or 0) + 1
    end
  end
end

local function share(tally)
  local given = (tally.right or 0) + (tally.wrong or 0)
  return given / math.max(1, given + (tally.none or 0))
end

-- Returns the number of disturbed runs, and the number of disturbed runs that are reported as disturbed.
local function disturbed_runs(kernel, quiet)
  local disturbed, found = 0, 0
  for _ = 1, RUNS do
    local t = kernel:time()
    if t.median > WRONG * quiet then
      disturbed = disturbed + 1
      if t.disturbed then found = found + 1 end
    end
  end
  return disturbed, found
end

local function median_of(kernel)
  local list = {}
  for n = 1, 5 do list[n] = kernel:time().median end
  return bench.median(list)
end

return function(out)
  local cores = require "nestwright.measure.times".cores()
  local teams = cores > 1 and {1, 2} or {1}
  local cases, wrong, quiet, loaded = 0, 0, {}, {}
  local under_load = {}
  for n, rows in ipairs(ROWS) do
    local kernel = sums(RATIO[1], teams[#teams], rows)
    under_load[n] = {rows = rows, kernel = kernel, median = median_of(kernel)}
  end
  for _, kind in ipairs(load.kinds) do
    local stop = load.start(kind, cores)
    for _, threads in ipairs(teams) do
      local tally = {}
      judge_pairs(threads, tally)
      cases, wrong = cases + 2 * PAIRS, wrong + (tally.wrong or 0)
      print(("  %s, %d thread%s: %d right, %d wrong, %d without a verdict"):format(kind.name, threads, threads == 1 and "" or "s",
        tally.right or 0, tally.wrong or 0, tally.none or 0))
      if kind.name == "quiet" then quiet[#quiet + 1] = share(tally) end
      if kind.name == "one busy core" and threads == 1 then loaded[1] = share(tally) end
    end
    stop()
    os.execute "sleep 1"
  end
  local stop = load.start(load.heavy, cores)
  local disturbed, found = 0, 0
  for _, k in ipairs(under_load) do
    local more, marked = disturbed_runs(k.kernel, k.median)
    print(("  %s, a kernel of %.1f us: %d of %d runs were disturbed, and %d of these are marked"):format(load.heavy.name,
      1e6 * k.median, more, RUNS, marked))
    disturbed, found = disturbed + more, found + marked
  end
  stop()
  out:record("truth.verdicts", cases)
  out:bar("truth.verdicts_wrong", wrong, "<=", 0)
  out:bar("truth.verdicts_given_quiet", math.min(table.unpack(quiet)), ">=", 0.95)
  out:bar("truth.verdicts_given_loaded", loaded[1], ">=", 0.6)
  out:bar("truth.disturbed_of", disturbed, ">=", 15)
  out:bar("truth.disturbed_found", disturbed > 0 and found / disturbed or 0, ">=", 0.95)
end
