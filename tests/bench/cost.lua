--- Checks that the counts of the cache model are exact where the model reports them as exact. Also counts the cache lines that the
--- model looks up.
---
--- usage: nestwright tests/bench/cost.lua [FILE.json [PART [CASES]]]   PART: exact, touched, published, times or cachegrind
package.path = arg[0]:match "^(.*)/[^/]*$" .. "/?.lua;" .. package.path
local nw = require "nestwright"
local bench = require "_bench"
local cachegrind = require "_cachegrind"
local random = require "_random_nests"
local schedules = require "_schedules"
local big = require "_random_schedules"

local NESTS, CASES = 2004, tonumber(arg[3]) or 320
local KIB = 1024
local out = bench.open(arg[1] or "build/bench/cost.json")
local only = arg[2]

-- ---- comparison with the simulator

-- Returns four independent levels of the same size: one is fully associative, and the others have 8, 12 and 16 ways. Each level
-- receives every access.
local function levels_of(bytes)
  local list = {}
  for n, ways in ipairs {0, 8, 12, 16} do list[n] = {bytes = bytes, ways = ways} end
  return list
end

local SIZES = {3 * KIB, 12 * KIB, 48 * KIB}
local FIELDS = {"asked", "hits", "cold", "capacity", "conflict", "written_back"}

local function same(a, b)
  for n, row in ipairs(a) do
    for _, field in ipairs(FIELDS) do
      if row[field] ~= b[n][field] then return false end
    end
  end
  return #a == #b
end

-- Compares each level separately. A level that is only estimated is not compared.
local function compare(nest, bytes)
  local options = {levels = levels_of(bytes), feed = "full"}
  local model = nest:misses(options)
  options.simulate = true
  local brute = nest:misses(options)
  local exact, wrong = true, false
  for level = 1, #options.levels do
    local of_model, of_brute = {}, {}
    for n, row in ipairs(model.by_access) do
      if row.level == level then of_model[#of_model + 1], of_brute[#of_brute + 1] = row, brute.by_access[n] end
    end
    if not model.exact[level] then exact = false
    elseif not same(of_model, of_brute) then wrong = true end
  end
  return exact, wrong or model.accesses ~= brute.accesses, model.touched / brute.touched
end

local parts = {}

function parts.exact()
  local mismatches, cases, rectangular, exact_of, kinds, shares = 0, 0, 0, 0, {}, {}
  for seed = 1, NESTS do
    local kind = random.kinds[seed % #random.kinds + 1]
    local nest = nw.nest.parse(random.text(seed, kind, seed % 5 == 0 and 20000 or 2500))
    local all = true
    for _, bytes in ipairs(SIZES) do
      local exact, wrong, share = compare(nest, bytes)
      cases, all = cases + #levels_of(bytes), all and exact
      shares[#shares + 1] = share
      if wrong then
        mismatches = mismatches + 1
        print(("MISMATCH: seed %d, %s, %d bytes"):format(seed, kind, bytes))
      end
    end
    kinds[kind] = kinds[kind] or {0, 0}
    kinds[kind][1], kinds[kind][2] = kinds[kind][1] + (all and 1 or 0), kinds[kind][2] + 1
    if random.rectangular[kind] then rectangular, exact_of = rectangular + 1, exact_of + (all and 1 or 0) end
  end
  for _, kind in ipairs(random.kinds) do print(("%-12s exact %d of %d"):format(kind, kinds[kind][1], kinds[kind][2])) end
  print(("%d nests; caches of three sizes, either fully associative or with 8, 12 or 16 ways; %d caches counted"):format(NESTS,
    cases))
  print(("lookups of the model per access, for small nests: median %.2g; 95 %% of the nests are below %.2g"):format(
    bench.median(shares), bench.quantile(shares, 0.95)))
  out:bar("cost.exact_cases", NESTS, ">=", 2000)
  out:bar("cost.exact_mismatches", mismatches, "<=", 0)
  out:bar("cost.exact_share", exact_of / rectangular, ">=", 0.9)
end

-- ---- number of lookups

local CACHES = {{bytes = 32 * KIB, ways = 0}, {bytes = 32 * KIB, ways = 8}, {bytes = 48 * KIB, ways = 12},
  {bytes = 1024 * KIB, ways = 16}}
local LEAST, MOST_BYTES = 10000000, 1 << 28
local WORST = 80 -- the number of cases that are printed

local function bytes_of(nest)
  local last = nest:arrays()
  return last[#last].address + last[#last].bytes
end

-- Returns a nest of at least 1e7 accesses: the nest of a random schedule, or a random nest of one of the kinds in `list`. Returns
-- nil if its arrays are too large.
local function big_nest(number)
  if number % 3 == 0 then return big.nest(number) end
  local list = {"plain", "tiled", "packed", "imperfect", "guarded"}
  local kind = list[number % #list + 1]
  local ok, nest = pcall(nw.nest.parse, random.text(number + 100000, kind, LEAST * (number % 7 == 0 and 30 or 1)))
  return ok and bytes_of(nest) <= MOST_BYTES and nest or nil, kind
end

-- Returns the number of lookups of the model divided by the number of accesses, or 1 if the model stops at a limit. Returns nil if
-- the nest has too few accesses.
local function share_of(nest, cache)
  local ok, m = pcall(nest.misses, nest, {levels = {cache}, feed = "full"})
  if not ok and m.code == "limit" then return 1, false end
  if not ok then error(m, 0) end
  if m.accesses >= LEAST then return m.touched / m.accesses, m.exact[1] end
end

function parts.touched()
  local shares, exact, of, times, cases = {}, 0, {}, {}, {}
  io.stdout:setvbuf "line"
  local number = 0
  while #shares < CASES do
    number = number + 1
    local nest, kind = big_nest(number)
    local cache = CACHES[number % #CACHES + 1]
    local start = os.clock()
    local share, is_exact
    if nest then share, is_exact = share_of(nest, cache) end
    if share then
      shares[#shares + 1], times[#times + 1] = share, os.clock() - start
      exact = exact + (is_exact and 1 or 0)
      of[kind] = of[kind] or {}
      table.insert(of[kind], share)
      cases[#cases + 1] = {share = share, text = ("%5d %-10s %4d KiB, %2d ways: share %.3g, %.0f ms%s"):format(number, kind,
        cache.bytes // KIB, cache.ways, share, 1e3 * times[#times], is_exact and "" or ", estimate")}
    end
  end
  local sum = 0
  for _, share in ipairs(shares) do sum = sum + share end
  table.sort(cases, function(a, b) return a.share > b.share end)
  for n = 1, math.min(#cases, WORST) do print(cases[n].text) end
  for kind, list in pairs(of) do
    print(("%-12s %4d cases, median share %.2g, worst %.2g"):format(kind, #list, bench.median(list), math.max(table.unpack(list))))
  end
  print(("%d cases of 1e7 accesses or more, %d of them exact; lookups per access: median %.2g, 95 %% are below %.2g; "
    .. "median time %.3g ms, worst %.3g ms"):format(#shares, exact, bench.median(shares), bench.quantile(shares, 0.95),
    1e3 * bench.median(times), 1e3 * math.max(table.unpack(times))))
  out:bar("cost.touched_cases", #shares, ">=", 300)
  out:bar("cost.touched_share", sum / #shares, "<=", 0.05)
  out:bar("cost.touched_exact_share", exact / #shares)
end

-- ---- published counts

-- The counts were published by Gysi et al. (HayStack, PLDI 2019) and by Morelli and Reineke (Warping, PLDI 2022), for PolyBench
-- with the sizes LARGE.

local PUBLISHED = {gemm = 165287500, ["2mm"] = 1864049200, ["jacobi-2d"] = 843702000}
local FULLY = {{bytes = 32 * KIB, ways = 0}}

local function kernel(name) return nw.nest.read("tutorials/nests/" .. name .. ".nest") end

local function missed(total) return total.asked - total.hits end

function parts.published()
  local mismatches = 0
  for name, want in pairs(PUBLISHED) do
    local m = kernel(name):misses {levels = FULLY, feed = "full"}
    local got = missed(m.total[1])
    print(("%-12s %d accesses, %d misses, published %d%s"):format(name, m.accesses, got, want, m.exact[1] and "" or " (estimate)"))
    if got ~= want or not m.exact[1] then mismatches = mismatches + 1 end
    if name == "gemm" and m.accesses ~= 5282200000 then mismatches = mismatches + 1 end
  end
  out:bar("cost.published_mismatches", mismatches, "<=", 0)
end

-- ---- times

-- Returns the least CPU time of a few runs, in milliseconds.
local function ms(nest, levels)
  local best, m = math.huge, nil
  for _ = 1, 5 do
    local start = os.clock()
    m = nest:misses {levels = levels, feed = "full"}
    best = math.min(best, os.clock() - start)
    if best > 1 then break end
  end
  return 1e3 * best, m
end

local TILED = [[
param N = 1024, T = 64
array C: f64[N, N]
array A: f64[N, N]
array B: f64[N, N]
for io in 0..N step 64:
  for ko in 0..N step 64:
    for jo in 0..N step 64:
      for i in io..io + T:
        for k in ko..ko + T:
          for j in jo..jo + T:
            C[i, j] += A[i, k]*B[k, j]
]]
local TWO = {{bytes = 32 * KIB, ways = 0}, {bytes = 1024 * KIB, ways = 0}}
local THREE = {{bytes = 48 * KIB, ways = 12}, {bytes = 1024 * KIB, ways = 16}, {bytes = 32768 * KIB, ways = 16}}

local POLYBENCH = {"2mm", "3mm", "atax", "bicg", "cholesky", "doitgen", "fdtd-2d", "gemm", "gesummv", "heat-3d", "jacobi-2d", "lu",
  "mvt", "seidel-2d", "syrk", "trisolv"}

-- Returns the nests of schedules that other benches measure, and of common kernels without steps.
local function benched()
  local out_of = {
    {"gemm 1024", schedules.gemm(1024, 1)}, {"gemm 2000", schedules.gemm(2000, 1)},
    {"conv1d", schedules.conv1d(1 << 20, 128)}, {"depthwise", schedules.depthwise(256, 56, 56, 1)},
  }
  for _, more in ipairs(big.named()) do out_of[#out_of + 1] = more end
  return out_of
end

local function tell(name, t, m)
  local exact = {}
  for n, e in ipairs(m.exact) do exact[n] = ("L%d %d%s"):format(n, missed(m.total[n]), e and "" or " (estimate)") end
  print(("%-24s %9.2f ms  %.3g accesses, %s"):format(name, t, m.accesses, table.concat(exact, ", ")))
end

function parts.times()
  local t, m = ms(kernel "gemm", TWO)
  tell("gemm LARGE", t, m)
  out:bar("cost.ms_gemm_large", t, "<=", 10)
  t, m = ms(nw.nest.parse(TILED), TWO)
  tell("tiled gemm 1024", t, m)
  out:bar("cost.ms_tiled_gemm_1024", t, "<=", 10)
  local all, ours = {}, {}
  for _, name in ipairs(POLYBENCH) do
    local ok, took, counted = pcall(ms, kernel(name), THREE)
    if ok then tell(name, took, counted) else print(("%-24s %s"):format(name, tostring(took))) end
    all[#all + 1] = ok and took or math.huge
  end
  for _, x in ipairs(benched()) do
    local took, counted = ms(nw.nest.of(x[2]), THREE)
    tell(x[1], took, counted)
    all[#all + 1], ours[#ours + 1] = took, took
  end
  out:bar("cost.ms_median_schedules", bench.median(ours))
  out:bar("cost.ms_median", bench.median(all), "<=", 20)
end

-- ---- cachegrind

function parts.cachegrind()
  if not cachegrind.installed() then return print "cost.vs_cachegrind: skipped, valgrind or gcc is not installed" end
  local worst = 0
  for _, k in ipairs(cachegrind.kernels) do
    local difference, counts = cachegrind.compare(k[2](), cachegrind.modelled)
    print(("%s: misses of the model and of cachegrind: L1 %d, %d; L2 %d, %d"):format(k[1], counts[1][1], counts[1][2],
      counts[2][1], counts[2][2]))
    worst = math.max(worst, difference)
  end
  out:bar("cost.vs_cachegrind", worst, "<=", 0.001)
end

for _, name in ipairs {"exact", "touched", "published", "times", "cachegrind"} do
  if not only or only == name then parts[name]() end
end
out:close()
