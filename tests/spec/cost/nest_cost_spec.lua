--- Tests the lower bound for the cost of a nest that was read from text.
local nw = require "nestwright"
local support = require "support"
local fails = support.fails

-- A machine with round numbers. A line takes 2 cycles from the second level of cache to the first, 4 cycles back, and 8 cycles from
-- memory.
local function machine(more)
  local m = {name = "round", cores = 1, clock = 1, vector_bytes = 32, vector_registers = 16, dispatch = 4,
    ops = {fma = {per_cycle = 2, latency = 4}, add = {per_cycle = 2, latency = 4}, div = {per_cycle = 0.25, latency = 12},
      int = {per_cycle = 4, latency = 1}, load = {per_cycle = 2}, store = {per_cycle = 1}},
    caches = {{bytes = 2048, ways = 4, latency = 4, bytes_per_cycle = 64, read_pj = 1, write_pj = 2},
      {bytes = 16384, ways = 8, latency = 14, bytes_per_cycle = 32, back_per_cycle = 16, read_pj = 5}},
    memory = {bytes = 1 << 30, latency = 100, bandwidth = 8, read_pj = 100},
    energy = {add = {0, 0, 1, 2}, mul = {0, 0, 3, 6}, div = {0, 0, 10, 20}, instruction = 70}}
  for key, value in pairs(more or {}) do m[key] = value end
  return nw.machine(m)
end

local function term(c, name)
  for _, t in ipairs(c.terms) do if t.name == name then return t.cycles end end
end

local function joules(c, name)
  for _, row in ipairs(c.energy) do if row.name == name then return row.joules end end
end

local function operations(text)
  local out = {}
  for _, op in ipairs(nw.nest.parse(text):cost({machine = machine()}).operations) do
    out[#out + 1] = ("%s %d %.0f"):format(op.name, op.bits, op.count)
  end
  table.sort(out)
  return table.concat(out, ", ")
end

describe("the cost of a nest", function()
  local gemm = nw.nest.read("tutorials/nests/gemm.nest", {NI = 20, NJ = 22, NK = 24})

  it("has the misses of n:misses, and bytes, cycles and joules that follow from them", function()
    local m = machine()
    local c, missed = gemm:cost {machine = m, conflicts = true}, gemm:misses {machine = m, conflicts = true}
    assert.same(missed.by_tensor, c.by_tensor)
    assert.same(missed.by_loop, c.by_loop)
    assert.same(missed.total, c.levels)
    assert.same({true, true}, c.exact)
    local one, two = missed.total[1], missed.total[2]
    assert.same({"L1", "L2", "memory"}, {c.traffic[1].name, c.traffic[2].name, c.traffic[3].name})
    local updates, scaled = 20 * 22 * 24, 20 * 22
    assert.equal(8 * (3 * updates + scaled), c.traffic[1].read)
    assert.equal(8 * (updates + scaled), c.traffic[1].written)
    assert.equal(64 * (one.asked - one.hits), c.traffic[2].read)
    assert.equal(64 * one.written_back, c.traffic[2].written)
    assert.equal(64 * (two.asked - two.hits), c.traffic[3].read)
    assert.near(2 * (one.asked - one.hits) + 4 * one.written_back, term(c, "L2 to L1"), 1e-6)
    assert.near(8 * (two.asked - two.hits + two.written_back), term(c, "memory"), 1e-6)
    assert.equal(3 * updates + scaled, c.flops) -- alpha*A*B + C, and C*beta
    assert.near(c.flops / (2 * 2 * 4), term(c, "arithmetic"), 1e-6) -- two units, four numbers in a vector, two operations in an fma
    assert.equal(math.max(term(c, "L2 to L1"), term(c, "memory"), term(c, "arithmetic")), c.cycles)
    assert.near(c.cycles / 1e9, c.seconds, 1e-15)
    for _, t in ipairs(c.traffic) do assert.near(c.flops / (t.read + t.written), t.intensity, 1e-9) end
    assert.near(6e-12 * (2 * updates + scaled), joules(c, "mul, 64 bits"), 1e-18)
    assert.near(2e-12 * updates, joules(c, "add, 64 bits"), 1e-18)
    assert.near(1e-12 * c.traffic[1].read, joules(c, "L1 read"), 1e-18)
    assert.near(2e-12 * c.traffic[1].written, joules(c, "L1 written"), 1e-18)
    assert.near(5e-12 * c.traffic[2].written, joules(c, "L2 written"), 1e-18)
    assert.near(100e-12 * c.traffic[3].read, joules(c, "memory read"), 1e-18)
    local all, moved = 0, 0
    for _, row in ipairs(c.energy) do
      all = all + row.joules
      if row.memory then moved = moved + row.joules end
    end
    assert.near(all, c.joules, 1e-18)
    assert.near(moved, c.memory_joules, 1e-18)
  end)

  it("counts operations by type, multiplied by the number of their executions", function()
    local arrays = "param N = 10\narray A: f64[N]\narray B: f32[N]\narray K: i32[N]\narray X: bytes(12)[N]\n"
    assert.equal("add 64 20, mul 64 10", operations(arrays .. "for i in 0..N:\n  A[i] += 2*B[i] - 1e-3\n"))
    assert.equal("div64 64 5, sqrt 32 10", operations(arrays
      .. "for i in 0..N:\n  B[i] = sqrt(B[i])\n  if i % 2 == 0:\n    A[i] /= -A[i]\n"))
    assert.equal("int 32 10, intdiv 32 10, intmul 32 10", operations(arrays .. "for i in 0..N:\n  K[i] = (K[i] + 1)*3 // 7\n"))
    assert.equal("add 64 45", operations(arrays .. "for i in 0..N:\n  for j in 0..i:\n    s += A[j]\n"))
    assert.equal("exp 32 10, minmax 32 20", operations(arrays
      .. "for i in 0..N:\n  B[i] = max(exp(B[i]), 0 < B[i])\n"))
    assert.equal("div 32 10, minmax 32 20, round 32 10, sqrt 32 10", operations(arrays
      .. "for i in 0..N:\n  B[i] = clamp(round(rsqrt(B[i])), 0, 9)\n"))
    assert.equal("", operations(arrays .. "for i in 0..N:\n  A[9 - i]\n  A[i] = -B[i]\n"))
    local c = nw.nest.parse(arrays .. "for i in 0..N:\n  A[i] = bessel(A[i])\n"):cost {machine = machine()}
    assert.equal(10, c.calls)
    assert.truthy(tostring(c):find("10 calls of other functions, which have no cost", 1, true))
    local unknown = nw.nest.parse(arrays .. "for i in 0..N:\n  X[i] *= 2\n"):cost {machine = machine()}
    assert.equal(0, unknown.operations[1].bits)
  end)

  it("says what is not modelled", function()
    local text = tostring(gemm:cost {machine = machine()})
    assert.truthy(text:find("a bound, not a prediction", 1, true))
    assert.truthy(text:find("conflict misses are counted as capacity misses: L1 exact, L2 exact", 1, true))
    assert.truthy(text:find("\n  L1 C +%d+ +%d+ +%d+ +%- +%d+\n"))
    local told = tostring(gemm:cost {machine = machine(), conflicts = true})
    assert.falsy(told:find("counted as capacity", 1, true))
    assert.truthy(told:find("\n  L1 C +%d+ +%d+ +%d+ +%d+ +%d+\n"))
    assert.truthy(text:find("not modelled: instructions, latencies", 1, true))
    local bare = nw.nest.parse "array A: f64[64]\nfor i in 0..64:\n  A[i]\n"
    local c = bare:cost {machine = machine {energy = {}, caches = {{bytes = 2048, ways = 4, latency = 4, bytes_per_cycle = 64}},
      memory = {bytes = 1 << 30, latency = 100, bandwidth = 8}}}
    assert.equal("memory", c.bottleneck)
    assert.truthy(tostring(c):find("operations: none in the text", 1, true))
    assert.truthy(tostring(c):find("energy: the machine's record has no energy table", 1, true))
    assert.falsy(tostring(c):find("arithmetic", 1, true))
  end)

  it("says what is estimated", function()
    local c = gemm:cost {machine = machine()}
    local text = require "nestwright.cost.cost_text"
    assert.truthy(text.nest(c):find "^at least [%d.]+ us on round")
    local rough = setmetatable({exact = {false, true}, error = {0.021, 0}, counted = false}, {__index = c})
    assert.truthy(text.nest(rough):find "^at least about [%d.]+ us on round")
    assert.truthy(text.nest(rough):find("L1 estimated, up to 2.1 % off, L2 exact", 1, true))
    assert.truthy(text.nest(rough):find("operations in the text, estimated: ", 1, true))
    local N = 20000
    local triangle = nw.nest.parse(("param N = %d\nfor i in 0..N:\n  for j in 0..i:\n    for k in 0..j:\n      s += 1\n"):format(N))
    c = triangle:cost {machine = machine()}
    assert.near(N * (N - 1) * (N - 2) // 6, c.flops, c.counted and 0 or 0.01 * N ^ 3)
  end)

  it("is computed for 1e18 accesses too", function()
    local c = nw.nest.parse [[
param N = 1000000
array A: f64[N]
for i in 0..N:
  for j in 0..N:
    for k in 0..N:
      A[k] *= 2
]]
    c = c:cost {machine = machine()}
    assert.same({2e18, 1e18, 16e18}, {c.accesses + 0.0, c.flops, c.traffic[1].read + c.traffic[1].written})
    assert.is_true(c.counted)
    assert.same({true, true}, c.exact)
    assert.equal(125000 * 10 ^ 12, c.levels[1].asked - c.levels[1].hits)
  end)

  it("adds up transfers if the machine's record says so", function()
    local max, ecm = gemm:cost {machine = machine()}, gemm:cost {machine = machine {combine = "ecm"}}
    assert.near(term(max, "L2 to L1") + term(max, "memory"), ecm.cycles, 1e-6)
    local beside = machine {combine = "ecm", memory = {bytes = 1 << 30, latency = 100, bandwidth = 8, overlaps = true}}
    assert.near(math.max(term(max, "L2 to L1"), term(max, "memory"), term(max, "arithmetic")), gemm:cost({machine = beside}).cycles,
      1e-6)
  end)

  it("also works for the nest of a schedule, which has no operations", function()
    local s = support.gemm(16, 16, 16)
    local c = nw.nest.of(s):cost {machine = machine()}
    assert.equal(0, c.flops)
    assert.equal(4 * 2 * 16 ^ 3 + 4 * 16 ^ 3, c.traffic[1].read)
    assert.equal(4 * 16 * 16 + 4 * 16 ^ 3, c.traffic[1].written)
  end)

  it("is a table in a notebook", function()
    local c = gemm:cost {machine = machine()}
    local cells = getmetatable(c).__cells(c)
    assert.equal(#c.terms + #c.by_tensor, #cells.rows)
    assert.truthy(cells.head[1]:find("a bound, not a prediction", 1, true))
    assert.truthy(cells.foot:find("L1 exact, L2 exact", 1, true))
    local B = cells.rows[#c.terms + 3]
    assert.same({"L1 B", "10560 lines requested"}, {B[1], B[2]})
  end)

  it("draws its misses", function()
    local p = gemm:cost({machine = machine()}):plot {by = "loop"}
    assert.equal(gemm:misses({machine = machine()}):plot({by = "loop"}).caption, p.caption)
  end)

  it("refuses invalid machines and unknown options", function()
    fails("is not a CPU", "invalid", gemm.cost, gemm, {machine = "t4"})
    fails("there is no machine 'zen6'", "invalid", gemm.cost, gemm, {machine = "zen6"})
    fails("unknown option 'levels'", "invalid", gemm.cost, gemm, {levels = {}})
    fails("feed: expected 'misses' or 'full'", "invalid", gemm.cost, gemm, {feed = "half"})
  end)
end)
