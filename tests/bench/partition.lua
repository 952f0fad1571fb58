--- Measures loops whose extent is not a multiple of the size of a tile. One kernel for all numbers of rows is compared with kernels
--- for a single number of rows, with OpenBLAS, and with our version of TVM's pass LoopPartition. A ratio is the time of the other
--- program divided by the time of our kernel. All programs run in turn, in one thread, and the minimum times are used.
package.cpath = "build/bench/?.so;" .. package.cpath
package.path = "tests/bench/?.lua;" .. package.path
local nw = require "nestwright"
local peers = require "peers"
local bench = require "_bench"
local partition = require "_partition"
local edges = require "partition.edges"
local schedules = require "_schedules"
local core = require "nestwright.core"
local strategies = require "nestwright.partition.strategies"

local out = bench.open(arg[1] or "build/bench/partition.json")
local only = arg[2]
local ROWS = {1, 7, 16, 33, 64, 100, 127, 128, 200, 257, 511, 512}
local N, K = partition.N, partition.K
local race, timed, geometric_mean = bench.race, bench.timed, bench.geometric_mean

local function least(list) return math.min(table.unpack(list)) end

local b = nw.random({K, N}, "f32", {seed = 2})
local packed = partition.packed(b)

local function arrays(m)
  return nw.random({m, K}, "f32", {seed = 1}), nw.zeros({m, N // 16, 16}, "f32"), nw.zeros({m, N // 16, 16}, "f32")
end

local function openblas(m, a, d)
  return function() return peers.sgemm({m, N, K}, a:pointer(), b:pointer(), d:pointer(), 1) end
end

-- Returns a function that measures OpenBLAS. The function makes one call that loads the data into the caches. Then it makes calls
-- for a millisecond and returns their mean time.
local function openblas_warm(m, a, d)
  local once = openblas(m, a, d)
  return function()
    local sum, calls = once() * 0, 0
    while sum < 1e-3 do sum, calls = sum + once(), calls + 1 end
    return sum / calls
  end
end

local auto = {loop = "i", kernels = nw.microkernels {schedule = partition.gemm(nw.size("M", {min = 0})), loop = "i",
  kernels = partition.gemm_kernels(), around = partition.gemm_around}, around = partition.gemm_around}
print(auto.kernels)

local function strategies_of(m, names)
  local s = partition.gemm(m)
  local o = {strategies = names, sizes = {M = ROWS}}
  for key, value in pairs(auto) do o[key] = value end
  return s:partition_auto(o), s
end

local parts = {}

-- ---- tiles of libxsmm in the same table as ours

-- Compares libxsmm's tiles with our tiles of the same number of rows. A ratio is the time that one more tile of libxsmm takes,
-- divided by the time that one more of our tiles takes. The figures are the least ratio and the geometric mean.
function parts.tiles()
  local tiles = partition.gemm_kernels()
  table.move(partition.xsmm_kernels(), 1, #tiles, #tiles + 1, tiles)
  local measured = nw.microkernels {schedule = partition.gemm(nw.size("M", {min = 0})), loop = "i", kernels = tiles,
    around = partition.gemm_around}
  print(measured)
  local ours, ratios = {}, {}
  for _, k in ipairs(measured) do if not k.name then ours[k.rows] = k.seconds.more end end
  for _, k in ipairs(measured) do if k.name then ratios[#ratios + 1] = k.seconds.more / ours[k.rows] end end
  if #ratios == 0 then return end
  out:bar("partition.tiles_vs_libxsmm", geometric_mean(ratios))
  out:bar("partition.tiles_vs_libxsmm_least", least(ratios))
end

-- ---- the choice of strategies

-- Returns the seconds of each kernel for m rows. The kernels run in turn.
local function times_at(m, kernels)
  local a, c = arrays(m)
  local racers = {}
  for n, f in ipairs(kernels) do racers[n] = timed(f, a, packed, c) end
  return race(racers, 3)
end

local function chosen_at(m, rows)
  local best, at
  for n, row in ipairs(rows) do
    local t = row.cases and strategies.seconds(row.cases, {M = m})
    if t and (not best or t < best) then best, at = t, n end
  end
  return at
end

-- Compares one kernel for all M with the best strategy of a kernel for each single M, and with OpenBLAS.
function parts.dynamic()
  local list = strategies_of(nw.size("M", {min = 0}), {"sizes"})
  local f = list:build(1, {threads = 1})
  print(list)
  local vs_static, vs_openblas = {}, {}
  for n, m in ipairs(ROWS) do
    local a, c, d = arrays(m)
    local racers, names = {timed(f, a, packed, c), openblas_warm(m, a, d)}, {}
    for _, row in ipairs(strategies_of(m)) do
      if not row.refused then
        local fixed = strategies_of(m, {row.strategy}):build(1, {threads = 1})
        racers[#racers + 1], names[#names + 1] = timed(fixed, a, packed, c), row.strategy
      end
    end
    local t = race(racers, 15)
    f(a, packed, c)
    openblas(m, a, d)()
    assert(nw.allclose(c, d, {rtol = 1e-3, atol = 1e-3}), "the results of our GEMM and of OpenBLAS differ")
    local best = 3
    for i = 4, #t do if t[i] < t[best] then best = i end end
    vs_static[n], vs_openblas[n] = t[best] / t[1], t[2] / t[1]
    print(("M=%d: %.1f us, best kernel for this M only %.1f us (%s), OpenBLAS %.1f us"):format(m, 1e6 * t[1], 1e6 * t[best],
      names[best - 2], 1e6 * t[2]))
  end
  out:bar("partition.dynamic_vs_static", geometric_mean(vs_static), ">=", 0.95)
  out:bar("partition.dynamic_vs_static_worst", least(vs_static), ">=", 0.85)
  print("OpenBLAS core: " .. peers.corename())
  out:bar("partition.dynamic_vs_openblas", geometric_mean(vs_openblas), ">=", 1.3)
end

-- For each number of rows, compares two strategies. The first is predicted to be the best from the measured times of the kernels.
-- The second is the best when all strategies are measured.
function parts.picker()
  local list = strategies_of(nw.size("M", {min = 0}))
  print(list)
  local rows, kernels = {}, {}
  for _, row in ipairs(list) do
    if not row.refused then
      rows[#rows + 1] = row
      kernels[#rows] = list:build(row.strategy, {threads = 1})
    end
  end
  local near, single, names = 0, {}, {}
  for m = 1, 512 do
    local times, chosen = times_at(m, kernels), chosen_at(m, rows)
    local best = least(times)
    near = near + (times[chosen] <= 1.05 * best and 1 or 0)
    names[rows[chosen].strategy] = (names[rows[chosen].strategy] or 0) + 1
    for n, t in ipairs(times) do single[n] = (single[n] or 0) + (t <= 1.05 * best and 1 or 0) end
  end
  for n, row in ipairs(rows) do
    print(("%-10s chosen %3d times, within 5 %% of the best at %3d of 512"):format(row.strategy, names[row.strategy] or 0,
      single[n]))
  end
  out:bar("partition.picker_within_5pct", near / 512, ">=", 0.90)
  out:bar("partition.best_single_within_5pct", math.max(table.unpack(single)) / 512)
end

-- Compares our version of TVM's pass, with tiles of 16 rows, with our kernel for all numbers of rows. To check that our version of
-- the pass is a fair substitute, also compares it with the same tiles in a kernel for a single number of rows.
function parts.tvm()
  local sixteen = partition.gemm_kernel(16, 1)
  local s = nw.partition.tvm_like(partition.gemm(nw.size("M", {min = 0})), "i", sixteen)
  local theirs = s:build {threads = 1}
  local ours = strategies_of(nw.size("M", {min = 0}), {"sizes"}):build(1, {threads = 1})
  local list, ratios, same = {sixteen}, {}, {}
  for rows = 1, 14 do list[rows + 1] = auto.kernels[rows] end
  for n, m in ipairs(ROWS) do
    local a, c = arrays(m)
    local fixed = partition.gemm(m)
    local cases = strategies.apply("bench", fixed, fixed:loop "i", "residues", strategies.kernels("bench", list))
    local alone = fixed:build {threads = 1, versions = strategies.versions(cases)}
    local t = race({timed(theirs, a, packed, c), timed(ours, a, packed, c), timed(alone, a, packed, c)}, 15)
    ratios[n], same[m] = t[1] / t[2], t[1] / t[3]
    print(("M=%d: TVM's pass %.1f us, our kernel %.1f us, its tiles for this M only %.1f us (%.2f)"):format(m, 1e6 * t[1],
      1e6 * t[2], 1e6 * t[3], same[m]))
  end
  out:bar("partition.vs_tvm_like", geometric_mean(ratios), ">=", 1.3)
  out:bar("partition.tvm_like_7", same[7], ">=", 2.5)
  out:bar("partition.tvm_like_7_most", same[7], "<=", 4.5, true)
  out:bar("partition.tvm_like_127", same[127], ">=", 1.15)
  out:bar("partition.tvm_like_127_most", same[127], "<=", 1.4, true)
  out:bar("partition.tvm_like_16", same[16], "<=", 1.05)
  out:bar("partition.tvm_like_128", same[128], "<=", 1.05)
end

-- Measures, for each list of arguments, how long a call takes to select the version that runs. Returns the longest time.
local function dispatch_ns(f, list)
  local most = 0
  for _, arguments in ipairs(list) do
    local ns = 1e9 * core.kernel_dispatch_seconds(f, arguments)
    print(("%s: %.1f ns"):format(arguments.what, ns))
    most = math.max(most, ns)
  end
  return most
end

function parts.dispatch()
  local f, list = strategies_of(nw.size("M", {min = 0}), {"sizes"}):build(1, {threads = 1}), {}
  for n, m in ipairs {1, 127, 512, 4095, 4096, 5000, 8191} do
    local a, c = arrays(m)
    list[n] = {a, packed, c, what = ("M=%d"):format(m)}
  end
  out:bar("partition.dispatch_ns", dispatch_ns(f, list), "<=", 100)
  local g, shapes = partition.any_gemm(), {}
  for n, shape in ipairs {{1, 1}, {63, 7}, {63, 48}, {200, 7}, {257, 48}, {5000, 3}, {8191, 48}} do
    local m, p = table.unpack(shape)
    shapes[n] = {nw.zeros({m, K}, "f32"), nw.zeros({p, K, 16}, "f32"), nw.zeros({m, p, 16}, "f32"),
      what = ("M=%d, P=%d"):format(m, p)}
  end
  out:bar("partition.dispatch_two_sizes_ns", dispatch_ns(g, shapes), "<=", 100)
end

-- Returns the two ways in which a GEMM can read an unpacked B: directly, or by packing it first. Each way holds the measured times
-- of its tiles, and the times of the whole GEMM that are predicted from them.
local function ways_to_read(s)
  local ways = {}
  for n, around in ipairs {partition.cold_around, partition.cold_packed_around} do
    local way = {loop = "i", around = around, strategies = {"sizes"}, sizes = {M = ROWS}}
    way.kernels = nw.microkernels {schedule = s, loop = "i", kernels = partition.cold_kernels(), around = around}
    way.predicted = s:partition_auto(way)[1].predicted
    print(way.kernels)
    ways[n] = way
  end
  return table.unpack(ways)
end

local FEW = 64 -- with fewer rows, B is not packed

-- Returns the number of rows from which packing is predicted to be faster, or nil if packing is never faster.
local function packed_from(plain, packing)
  local from
  for n = #ROWS, 1, -1 do
    if ROWS[n] < FEW or packing.predicted[n] >= plain.predicted[n] then return from end
    from = ROWS[n]
  end
end

-- Returns one kernel for all M. Its first versions are for few rows and read B directly. The versions that pack B follow.
local function cold_kernel()
  local s = partition.cold_gemm(nw.size("M", {min = 0}))
  local base, versions = s:version(), {}
  local function add(way, fact)
    s:checkout(base)
    if fact then s:assume(fact) end
    local cases = strategies.apply("bench", s, s:loop "i", "sizes", way.kernels, way.around)
    for _, version in ipairs(strategies.versions(cases)) do versions[#versions + 1] = version end
  end
  local plain, packing = ways_to_read(s)
  local from = packed_from(plain, packing)
  print(from and ("B is packed from M = %d on"):format(from) or "B is not packed, because reading it directly is faster")
  add(plain, from and ("M < %d"):format(from))
  if from then add(packing) end
  return s:build {threads = 1, versions = versions}
end

-- Compares a kernel for an unpacked B with OpenBLAS. If a program packs B, its time includes the packing.
function parts.cold()
  local f, ratios = cold_kernel(), {}
  for n, m in ipairs(ROWS) do
    local a, c, d = arrays(m)
    local t = race({timed(f, a, b, c), openblas_warm(m, a, d)}, 15)
    assert(nw.allclose(c, d, {rtol = 1e-3, atol = 1e-3}), "the results of our GEMM and of OpenBLAS differ")
    ratios[n] = t[2] / t[1]
    print(("M=%d, B read directly: %.1f us, OpenBLAS %.1f us, %.2f"):format(m, 1e6 * t[1], 1e6 * t[2], ratios[n]))
  end
  out:bar("partition.dynamic_vs_openblas_cold", geometric_mean(ratios), ">=", 1.1)
end

-- ---- sizes that no tile divides

-- Compares the result of a kernel with the result of the naive program. The last argument is the array of the result. It is left
-- out of both calls, so that each call returns a new array.
local function check(what, kernel, plain, arguments)
  local n = #arguments
  local c = kernel(table.unpack(arguments, 1, n - 1))
  assert(nw.allclose(c, plain(table.unpack(arguments, 1, n - 1)), {rtol = 1e-4, atol = 1e-4}), what .. " is wrong")
end

-- Measures a kernel at a size that is not a multiple of its tiles (`odd`), and at the next multiple (`even`). Returns the rate at
-- the first size divided by the rate at the second. `odd` and `even` hold the arguments of a call. Their field `work` is
-- proportional to the number of multiply-adds.
local function kept(what, kernel, plain, odd, even)
  check(what, kernel, plain, odd)
  check(what, kernel, plain, even)
  local t = race({timed(kernel, table.unpack(odd)), timed(kernel, table.unpack(even))}, 15)
  local share = (odd.work / t[1]) / (even.work / t[2])
  print(("%s: %.2f us, next multiple %.2f us, %.3f of its rate"):format(what, 1e6 * t[1], 1e6 * t[2], share))
  return share
end

local function next_multiple(n, tile) return (n + tile - 1) // tile * tile end

-- Returns the number of rows of the main tile. This is the tile whose number of repetitions depends on the size, if there are many
-- rows.
local function main_rows(row)
  for _, p in ipairs(strategies.case_for(row.cases, {M = 5000}).pieces) do
    if not math.tointeger(p.rounds) then return p.kernel.rows end
  end
end

local awkward = {}

function awkward.gemm()
  local list, shares = strategies_of(nw.size("M", {min = 0}), {"sizes"}), {}
  local f, tile = list:build(1, {threads = 1}), main_rows(list[1])
  local plain = partition.gemm(nw.size("M", {min = 0})):build {threads = 1}
  for _, m in ipairs {57, 71, 100, 127, 200, 257, 511} do
    local function at(rows)
      local a, c = arrays(rows)
      return {a, packed, c, work = rows}
    end
    shares[#shares + 1] = kept(("GEMM, %d rows in tiles of %d"):format(m, tile), f, plain, at(m), at(next_multiple(m, tile)))
  end
  return shares
end

function awkward.conv1d()
  local taps, tile, shares = 32, edges.conv1d_tile, {}
  local f, plain = edges.conv1d_any(taps)
  local w = nw.random({taps}, "f32", {seed = 2})
  for _, n in ipairs {600, 1000, 2047, 4099, 8191, 16001, 16300, 16384, 16500} do
    local function at(length)
      return {nw.random({length}, "f32", {seed = 1}), w, nw.zeros({length + taps - 1}, "f32"), work = length}
    end
    local even = next_multiple(n - taps + 1, tile) + taps - 1 -- only the outputs to which all taps contribute are tiled
    shares[#shares + 1] = kept(("conv1d, %d"):format(n), f, plain, at(n), at(even))
  end
  return shares
end

-- The last tile in each direction begins earlier. A size that is not a multiple of the tile therefore needs as many tiles as the
-- next multiple. `tiles` is the fraction of the rate that remains if all tiles take the same time.
function awkward.depthwise()
  local shares, tiles, f, plain = {}, {}, edges.depthwise_any()
  for _, shape in ipairs {{32, 149, 149}, {64, 147, 147}, {80, 73, 73}, {192, 71, 71}, {256, 57, 57}, {64, 113, 113}} do
    local c, h, w = table.unpack(shape)
    local function at(rows, columns)
      return {nw.random({c, rows, columns}, "f32", {seed = 1}), nw.random({c, 3, 3}, "f32", {seed = 2}),
        nw.zeros({c, rows, columns}, "f32"), work = rows * columns}
    end
    local even = at(next_multiple(h, edges.depthwise_rows), next_multiple(w, edges.depthwise_columns))
    tiles[#tiles + 1] = h * w / even.work
    shares[#shares + 1] = kept(("depthwise, %d x %d x %d"):format(c, h, w), f, plain, at(h, w), even)
  end
  out:bar("partition.awkward_depthwise_tiles", geometric_mean(tiles))
  return shares
end

-- Each kind of computation has one kernel for all sizes. The figure is the geometric mean of the geometric means of the kinds.
function parts.awkward()
  local means = {}
  for n, name in ipairs {"gemm", "conv1d", "depthwise"} do
    local shares = awkward[name]()
    means[n] = geometric_mean(shares)
    out:bar("partition.awkward_" .. name, means[n])
    out:bar("partition.awkward_" .. name .. "_least", least(shares))
  end
  out:bar("partition.awkward_vs_divisible", geometric_mean(means), ">=", 0.95)
end

-- Compares edges that are separated by partition with a padded copy of the input. The copy is measured with the same tiles, and
-- with the schedule of kernels.lua. The faster of these two programs is used.
function parts.conv1d()
  local n, taps = 16384, 32
  local a, w = nw.random({n}, "f32", {seed = 1}), nw.random({taps}, "f32", {seed = 2})
  local racers, results = {}, {}
  for i, s in ipairs {edges.conv1d(n, taps), edges.conv1d_padded(n, taps), schedules.conv1d(n, taps)} do
    results[i] = nw.zeros({n + taps - 1}, "f32")
    racers[i] = timed(s:build {threads = 1}, a, w, results[i])
  end
  local t = race(racers, 400)
  for i = 2, #racers do
    assert(nw.allclose(results[1], results[i], {rtol = 1e-4, atol = 1e-4}), "separate edges and a padded copy differ")
  end
  print(("conv1d: %.2f us, padded %.2f us, padded as in kernels.lua %.2f us"):format(1e6 * t[1], 1e6 * t[2],
    1e6 * t[3]))
  out:bar("partition.conv1d_vs_padded", math.min(t[2], t[3]) / t[1], ">=", 0.97)
end

-- Counts the conditions that are left in the main pieces of the kernels of the lab (tutorials/partition.lua).
function parts.guards()
  package.path = "tutorials/?.lua;" .. package.path
  local lab, sum = require "partition", 0
  for _, symbolic in ipairs {false, true} do
    for _, kernel in ipairs(lab.kernels(symbolic)) do
      local left = kernel.asks and 0 or lab.guards(kernel)
      if left > 0 then print(("%s: %d conditions in %s"):format(kernel.name, left, kernel.main or "the whole program")) end
      sum = sum + left
    end
  end
  out:bar("partition.main_guards", sum, "<=", 0)
end

parts.existing = require "partition.existing" (out, packed, function()
  return strategies_of(nw.size("M", {min = 0}), {"sizes"}):build(1, {threads = 1})
end)
parts.threads = require "partition.threads" (out, packed)
parts.pipeline = require "partition.pipeline" (out)

local ORDER = {"tiles", "dynamic", "cold", "picker", "tvm", "existing", "awkward", "guards",
  "dispatch", "conv1d", "threads", "pipeline"}
for _, name in ipairs(ORDER) do
  if parts[name] and (not only or only == name) then parts[name]() end
end
out:close()
