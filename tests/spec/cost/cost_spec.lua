--- Tests the predicted cost of a schedule.
package.path = "tests/tools/?.lua;" .. package.path
local kernels = require "microkernels"
local nw = require "nestwright"
local support = require "support"

-- A machine with round numbers. Each cycle, it executes two multiply-adds, additions or loads, but only one store.
local function round_machine(more)
  local m = {name = "round", cores = 4, clock = 1, vector_bytes = 32, vector_registers = 16, dispatch = 4, window = 100,
    forward = 5, ops = {fma = {per_cycle = 2, latency = 4}, add = {per_cycle = 2, latency = 4},
      exp = {per_cycle = 0.1, latency = 20}, int = {per_cycle = 4, latency = 1}, load = {per_cycle = 2},
      store = {per_cycle = 1}},
    caches = {{bytes = 32768, ways = 8, latency = 4, bytes_per_cycle = 64}, {bytes = 1 << 20, ways = 16, latency = 14,
      bytes_per_cycle = 32}},
    memory = {bytes = 1 << 30, latency = 100, bandwidth = 8}}
  for key, value in pairs(more or {}) do m[key] = value end
  return nw.machine(m)
end

local function matmul(m, n, d)
  local A, B = nw.placeholder({m, d}, "f32", "A"), nw.placeholder({d, n}, "f32", "B")
  local k = nw.reduce_axis(d, "k")
  return nw.compute({m, n}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
end

local function loop_named(c, name)
  for _, loop in ipairs(c.loops) do if loop.name == name then return loop end end
end

describe("cost", function()
  it("refuses programs whose number of accesses does not fit in 64 bits, without listing accesses", function()
    local A = nw.placeholder({64}, "f32", "A")
    local i, j = nw.reduce_axis(1 << 30, "i"), nw.reduce_axis(1 << 30, "j")
    local s = nw.schedule(nw.compute({64}, function(x) return nw.sum(A(x), {i, j}) end, "C"))
    support.fails("makes about 2^63 accesses or more: too many to count", "range", s.cost, s)
  end)

  it("counts iterations exactly, and knows that each addition to one register waits for the previous one", function()
    local c = nw.schedule(matmul(16, 16, 512)):cost {machine = round_machine()}
    local k = loop_named(c, "k")
    assert.equal(16 * 16 * 512, k.times)
    assert.equal("latency", k.bottleneck)
    assert.near(4 * 16 * 16 * 512, k.cycles, 0.05 * 4 * 16 * 16 * 512)
    assert.equal("latency", c.bottleneck)
    assert.truthy(tostring(c):find("latency: in 'for k' each result needs the previous one", 1, true))
  end)

  it("says for how many threads it is computed: one by default, also if a loop is parallel", function()
    local s = nw.schedule(matmul(16, 16, 16))
    assert.truthy(tostring(s:cost {machine = round_machine()}):find(", 1 thread (", 1, true))
    assert.falsy(tostring(s:cost {machine = round_machine()}):find("computed for one thread", 1, true))
    s:parallel "i"
    local c = s:cost {machine = round_machine()}
    assert.same({1, "i"}, {c.threads, c.parallel})
    local REMARK = "computed for one thread, although loop i is parallel; for 4 threads: threads = 4"
    assert.truthy(tostring(c):find(REMARK, 1, true))
    assert.truthy(tostring(s:show {cost = true, machine = round_machine()}):find("\n# " .. REMARK, 1, true))
    local four = s:cost {machine = "zen5", threads = 4}
    assert.truthy(tostring(four):find(", 4 threads (", 1, true))
    assert.falsy(tostring(four):find("computed for one thread", 1, true))
  end)

  it("says which of its numbers are those of the first thread", function()
    local s = nw.schedule(matmul(16, 16, 16))
    s:parallel "i"
    local four = tostring(s:cost {machine = "zen5", threads = 4})
    assert.truthy(four:find("if it were the only limit, for the first of 4 threads:\n", 1, true))
    assert.truthy(four:find("\nfirst of 4 threads +lines requested"))
    assert.truthy(four:find("those of the first thread, the operations, bytes and energy those of all", 1, true))
    local one = tostring(s:cost {machine = "zen5"})
    assert.truthy(one:find("if it were the only limit:\n", 1, true))
    assert.falsy(one:find("first of", 1, true))
  end)

  it("counts both sides of a choice that depends on data, and says so", function()
    local A, k = nw.placeholder({30, 20}, "f32", "A"), nw.reduce_axis(20, "k")
    local V, I = nw.compute({30}, function(i) return nw.argmin(A(i, k), k) end, "V")
    local c = nw.schedule(V, I):cost {machine = round_machine()}
    assert.is_true(c.counts_both and c.cycles > 20 * 30)
    assert.truthy(tostring(c):find("depends on data: the accesses and operations of both sides are counted", 1, true))
    local reads = {}
    for _, row in ipairs(c.by_tensor) do if row.level == 1 then reads[row.tensor] = row.asked end end
    assert.is_true(reads.A >= 30 * 20)
    local plain = nw.schedule(matmul(4, 4, 4)):cost {machine = round_machine()}
    assert.is_false(plain.counts_both)
    assert.falsy(tostring(plain):find("both sides", 1, true))
  end)

  it("knows the addresses that cache_index stores", function()
    local A = nw.placeholder({5, 6}, "f32", "A")
    local function schedule(at)
      local s = nw.schedule(nw.compute({6, 5}, function(i, j) return A((5 * i + j) // 6, (5 * i + j) % 6) + 1 end, "B"))
      s:cache_index("B", {at = at})
      return s
    end
    local s = schedule()
    local c, lines = s:cost {machine = round_machine()}, 0
    assert.is_false(c.counts_both)
    for _, row in ipairs(c.by_tensor) do if row.level == 1 and row.tensor == "A" then lines = row.cold end end
    assert.equal(2, lines) -- 120 bytes
    s:vectorize((select(2, s:split("j", 4))))
    assert.is_true(s:cost({machine = round_machine()}).cycles > 0)
  end)

  -- Fault: there was no cost if the temporary holds the indices of one row after the other.
  it("knows addresses that cache_index stores anew in each iteration", function()
    local A = nw.placeholder({4, 64}, "f32", "A")
    local C = nw.compute({64, 4}, function(i, j) return A((4 * i + j) // 64, (4 * i + j) % 64) + 1 end, "B")
    local function lines(s, options)
      local c, out = s:cost(options or {machine = round_machine()}), {}
      for _, row in ipairs(c.by_tensor) do if row.level == 1 then out[row.tensor] = row.cold end end
      return out, c
    end
    local plain = lines(nw.schedule(C))
    local s = nw.schedule(C)
    local row, column = s:cache_index("B", {at = "i"})
    local found, c = lines(s)
    assert.equal(16, plain.A) -- 1024 bytes
    assert.equal(plain.A, found.A)
    assert.is_false(c.counts_both)
    s:cache_read(column, "local", {"B"}) -- a table that is read from another one
    assert.equal(16, lines(s).A)
    s:compute_at(row, s:loops("B")[2])
    assert.equal(16, lines(s).A)
  end)

  -- Fault: such rows were predicted five times too fast.
  it("predicts gathers for vectors that are read backwards under a mask", function()
    local m = round_machine()
    local function row(n, factor, backwards)
      local A = nw.placeholder({100, n}, "f32", "A")
      local s = nw.schedule(nw.compute({100, n}, function(i, j) return A(i, backwards and n - 1 - j or j) * 2 end, "C"))
      s:vectorize((select(2, s:split("j", factor))))
      local c = s:cost {machine = m}
      return c.cycles, c
    end
    for _, n in ipairs {5, 6, 7, 13, 15} do
      local lanes = n < 8 and 8 or 16
      -- a round has one gather for each 4 lanes, which takes as long as 4 loads of one lane
      assert.is_true(row(n, lanes, true) >= 100 * lanes / 2, n)
      assert.is_true(row(n, lanes, false) <= 100 * lanes / 4, n)
    end
    assert.equal(row(16, 16, false), row(16, 16, true)) -- without a mask, one instruction reverses the lanes
  end)

  it("assumes that the code of an intrinsic is good vector code, and says so", function()
    local tile = kernels.gemm {name = "cost_tile_8", m = 8, n = 8, k = 8, dtype = "f32"}
    local s = nw.schedule(matmul(32, 32, 32))
    s:tile("i", "j", 8, 8)
    s:split("k", 8)
    s:reorder("i_o", "j_o", "k_o", "i_i", "j_i", "k_i")
    s:decompose_reduction("C", "k_o")
    local before = s:cost {machine = round_machine()}
    s:tensorize("i_i", tile)
    local after = s:cost {machine = round_machine()}
    assert.is_true(after.calls and not before.calls)
    assert.equal(before.flops, after.flops)
    -- 32^3 multiply-adds, 8 at once, two in a cycle
    assert.is_true(after.cycles >= 32 ^ 3 / 16 and after.cycles < 6 * 32 ^ 3 / 16, after.cycles)
    assert.truthy(tostring(after):find("calls of intrinsics: their code is not known", 1, true))
  end)

  it("still knows the chain of a reduction after its loop was split and skewed", function()
    for _, by in ipairs {1, 4} do
      local s = nw.schedule(matmul(16, 16, 64))
      s:split("k", 4)
      local before = s:cost {machine = round_machine()}
      s:skew("k_i", "k_o", by)
      local c = s:cost {machine = round_machine()}
      assert.equal("latency", c.bottleneck)
      for _, name in ipairs {"k_o", "k_i"} do
        assert.equal("latency", loop_named(c, name).bottleneck)
        assert.is_true(loop_named(c, name).carried >= loop_named(before, name).carried)
      end
      assert.truthy(tostring(c):find("latency: in 'for k_i' each result needs the previous one", 1, true))
    end
  end)

  it("knows the chain through elements that a skewed loop inside moves over", function()
    local function carried(skewed)
      local s = nw.schedule(matmul(16, 16, 64))
      s:split("j", 4)
      s:reorder("k", "j_i")
      if skewed then s:skew("j_i", "k", 1) end
      return loop_named(s:cost {machine = round_machine()}, "k").carried
    end
    assert.is_true(carried(false) > 0)
    assert.is_true(carried(true) >= carried(false))
  end)

  it("blames latency only on a loop that carries a dependence, and names it at the loops around it", function()
    local s = nw.schedule(matmul(16, 16, 512))
    local c = s:cost {machine = round_machine()}
    assert.same({"latency of k", "latency of k", "latency"},
      {loop_named(c, "i").bottleneck, loop_named(c, "j").bottleneck, loop_named(c, "k").bottleneck})
    for _, loop in ipairs(c.loops) do assert.equal(loop.name == "k", loop.carried > 0) end
    s:split("k", 64)
    s:unroll "k_i"
    s:reorder("k_o", "i", "j")
    c = s:cost {machine = round_machine()}
    assert.same({0, "latency in an iteration"}, {loop_named(c, "j").carried, loop_named(c, "j").bottleneck})
    assert.truthy(tostring(c):find("latency: in each iteration of 'for j', results need previous ones", 1, true))
  end)

  it("names the longest of several chains, each of which takes less than half of the time", function()
    local X = nw.placeholder({64, 512}, "f32", "X")
    local function sum(name, n)
      local k = nw.reduce_axis(n, "k_" .. name)
      return nw.compute({64}, function(i) return nw.sum(X(i, k), k) end, name)
    end
    local P, Q, R = sum("P", 400), sum("Q", 512), sum("R", 400)
    local s = nw.schedule(nw.compute({64}, function(i) return P(i) + Q(i) + R(i) end, "O"))
    local c = s:cost {machine = round_machine()}
    assert.equal("latency", c.bottleneck)
    assert.truthy(tostring(c):find("latency: in 'for k_Q' each result needs the previous one", 1, true))
  end)

  it("blames no latency for loops that run one after the other without chains", function()
    local A = nw.placeholder({64, 4096}, "f32", "A")
    local B = nw.compute({64, 4096}, function(i, j) return A(i, j) * 2 end, "B")
    local C = nw.compute({64, 4096}, function(i, j) return nw.exp(B(i, j)) end, "C")
    local s = nw.schedule(C)
    s:compute_at("B", s:loop "i_1")
    local c = s:cost {machine = round_machine()}
    for _, loop in ipairs(c.loops) do assert.falsy(loop.bottleneck:find "latency") end
    assert.falsy(c.bottleneck:find "latency")
  end)

  it("knows that vectors along j need an eighth of the iterations", function()
    local s = nw.schedule(matmul(16, 64, 512))
    local plain = s:cost {machine = round_machine()}
    local _, j_i = s:split("j", 8)
    s:reorder("k", j_i)
    s:vectorize(j_i)
    local c = s:cost {machine = round_machine()}
    assert.equal(16 * 8 * 512, loop_named(c, "k").times)
    assert.is_true(c.cycles < plain.cycles / 4)
  end)

  it("takes the misses from the cache model, and says that they are exact", function()
    local s = nw.schedule(matmul(64, 64, 64))
    local m = round_machine()
    local c = s:cost {machine = m}
    local want = nw.misses(s, {levels = {{bytes = 32768, ways = 8}, {bytes = 1 << 20, ways = 16}}})
    for n, row in ipairs(c.levels) do
      assert.is_true(row.exact)
      local total = want.total[n]
      assert.equal(total.cold + total.capacity + total.conflict, row.misses)
    end
  end)

  it("refuses a GPU without a grid", function()
    local s = nw.schedule(matmul(4, 4, 4))
    support.fails("no loop is bound to blocks or threads", "invalid", function() s:cost {machine = "a100"} end)
    support.fails("^cost: unknown option 'machin'", "invalid", function() s:cost {machin = "host"} end)
  end)

  it("requires the values of symbolic sizes", function()
    local n = nw.size "N"
    local A = nw.placeholder({n}, "f32", "A")
    local s = nw.schedule(nw.compute({n}, function(i) return A(i) * 2 end, "B"))
    support.fails("^cost: the size N has no value", "invalid", function() s:cost {machine = round_machine()} end)
    local small = s:cost {machine = round_machine(), sizes = {N = 100}}
    local large = s:cost {machine = round_machine(), sizes = {N = 200}}
    assert.is_true(large.cycles > 1.5 * small.cycles)
  end)

  it("computes the energy from the counts and the machine's table", function()
    local s = nw.schedule(matmul(32, 32, 32))
    local m = round_machine {energy = {fma = {0, 0, 2, 4}, load = {0, 0, 1, 2}, instruction = 10, static_watts = 3},
      memory = {bytes = 1 << 30, latency = 100, bandwidth = 8, read_pj = 100, write_pj = 200}}
    local c, joules, fmas = s:cost {machine = m}, 0, nil
    for _, row in ipairs(c.energy) do
      assert.near(row.count * row.pj * 1e-12, row.joules, 1e-18)
      joules = joules + row.joules
      if row.name == "fma, 32 bits" then fmas = row end
      if row.name == "static power" then assert.near(c.seconds, row.count, 1e-12) end
      if row.name == "memory read" then assert.equal(c.traffic[#c.traffic].read, row.count) end
    end
    assert.near(joules, c.joules, 1e-15)
    assert.equal(32 * 32 * 32, fmas.count)
    assert.equal(2, fmas.pj)
    assert.is_true(c.flops >= 2 * 32 * 32 * 32)
  end)

  -- The energies are computed by hand. A product whose arrays fit in the caches reads each array once from memory. A copy whose
  -- arrays are much larger than the caches reads the lines of both arrays, and writes back the lines of the result. The static
  -- power is 3 W.
  it("gives the energy that was computed by hand from first accesses and multiply-adds", function()
    local m = round_machine {energy = {fma = {0, 0, 2, 4}, static_watts = 3},
      memory = {bytes = 1 << 30, latency = 100, bandwidth = 8, read_pj = 100, write_pj = 200}}
    local c = nw.schedule(matmul(32, 32, 32)):cost {machine = m}
    assert.near(2e-12 * 32 ^ 3 + 100e-12 * 3 * 4 * 32 ^ 2 + 3 * c.seconds, c.joules, 1e-12)
    local n = 1 << 21
    local A = nw.placeholder({n}, "f32", "A")
    c = nw.schedule(nw.compute({n}, function(i) return A(i) end, "C")):cost {machine = m}
    local moved = 100e-12 * 2 * 4 * n + 200e-12 * 4 * n
    -- at the end, up to 1 MiB of lines is still in the cache and not written back
    assert.near(moved + 3 * c.seconds, c.joules, 0.06 * moved)
  end)

  -- The reference values are from the Timeloop and Accelergy exercises, for a convolution on 12 x 14 units. COUNTS has the accesses
  -- of each memory, and FJ their energy in fJ for each multiply-add.
  local MACS = 10838016
  local COUNTS = {mac = MACS, psum = 18063360, weights = 11031552, ifmap = 12192768, glb = 1913456, memory = 572528}
  local FJ = {mac = 208, psum = 387, weights = 1007, ifmap = 112, glb = 375, memory = 3381}

  local function joules_by_name(p)
    local out = {}
    for _, row in ipairs(p.rows) do
      assert.near(row.count * row.pj * 1e-12, row.joules, 1e-18)
      out[row.name] = row.joules
    end
    return out
  end

  it("prices the counts of an accelerator as the reference does", function()
    local pj = {}
    for name, count in pairs(COUNTS) do pj[name] = FJ[name] * 1e-3 * MACS / count end
    local p = nw.cost.price {counts = COUNTS, pj = pj, machine = "eyeriss", utilisation = 0.75}
    assert.near(59.28e-6, p.joules, 0.01e-6)
    assert.equal(86016, p.cycles)
    support.fails("^price: eyeriss has no energy for 'nothing'", "invalid", function()
      nw.cost.price {counts = {nothing = 1}, machine = "eyeriss"}
    end)
    for _, count in ipairs {0 / 0, -5, math.huge} do
      local bad = {counts = {fma = count}, machine = "zen5"}
      support.fails("price: counts.fma: .* is not a finite number", "range", nw.cost.price, bad)
    end
    local _, e = pcall(nw.cost.price, {counts = {fma = 1}, machine = "zen5"})
    assert.truthy(e.hint:find("as in 'fma 32'", 1, true))
    _, e = pcall(nw.cost.price, {counts = {dram = 1}, machine = "eyeriss"})
    assert.truthy(e.hint:find("known names: mac, network, memory, glb, ifmap, weights, psum; or give its", 1, true), e.hint)
    support.fails("^price: utilisation: 2 is out of range", "range", function()
      nw.cost.price {counts = COUNTS, pj = pj, machine = "eyeriss", utilisation = 2}
    end)
  end)

  -- The energies of one access are from Accelergy's table at 65 nm. LPDDR4 needs 8 pJ for each bit. The buffer needs 18.2 pJ to
  -- read 64 bits, and 14.1 pJ to write them. A memory of 192 words of 16 bits needs 1.98 pJ to read a word, and 1.88 pJ to write
  -- it. A memory of 16 such words needs 0.25 pJ and 0.22 pJ. A word of an input or a weight has 8 bits. A word of a sum has 16
  -- bits.
  it("prices these counts by the energies of a machine that has these memories", function()
    local function priced(read_or_write)
      local p = nw.cost.price {counts = COUNTS, utilisation = 0.75, machine = nw.machine {extends = "eyeriss", name = "reference",
        memory = {bytes = 1 << 30, bandwidth = 1.6, read_pj = 64}, energy = {fma = {0.208, 0, 0, 0}},
        accelerator = {input_bits = 8, weight_bits = 8, sum_bits = 16, buffers = {
          {name = "psum", bytes = 32, word_bits = 16, read_pj = read_or_write[1] / 2},
          {name = "weights", bytes = 384, word_bits = 8, read_pj = read_or_write[2] / 2},
          {name = "ifmap", bytes = 24, word_bits = 8, read_pj = 0.0996},
          {name = "glb", bytes = 128 << 10, word_bits = 8, read_pj = read_or_write[3] / 8}}}}}
      assert.equal(86016, p.cycles)
      return joules_by_name(p), p.joules
    end
    local read, most = priced {0.25, 1.98, 18.2}
    local written, least = priced {0.22, 1.88, 14.1}
    for _, name in ipairs {"mac", "memory"} do assert.near(FJ[name] * MACS * 1e-15, read[name], 0.001 * read[name]) end
    for _, name in ipairs {"psum", "weights", "glb"} do -- some accesses are reads and others writes
      local want = FJ[name] * MACS * 1e-15
      assert.is_true(want <= 1.001 * read[name] and want >= 0.999 * written[name], name)
    end
    assert.is_true(least < 59.28e-6 and 59.28e-6 < most)
    assert.near(59.28e-6, most, 0.02 * most)
  end)

  -- At N = 1024, the 32 rows of A that a tile reads are 4096 bytes apart. The lines of one column are therefore all in one set,
  -- which holds only 12 lines.
  it("predicts that 32 x 32 tiles of a product are half as fast at N = 1024 as at 992 and 1056", function()
    local cycles, of_a, crowded = {}, {}, {}
    for _, n in ipairs {992, 1024, 1056} do
      local s = nw.schedule(matmul(32, 32, n)) -- the first tile; the other tiles take the same time
      local i_o, j_o, i_i, j_i = s:tile("i", "j", 32, 32)
      local k_o, k_i = s:split("k", 32)
      s:reorder(i_o, j_o, k_o, k_i, i_i, j_i)
      s:vectorize(j_i)
      local c = s:cost {machine = "zen5"}
      assert.is_true(c.levels[1].exact)
      cycles[n] = c.cycles / n
      for _, row in ipairs(c.by_tensor) do
        if row.level == 1 and row.tensor == "A" then of_a[n] = row.conflict end
      end
      local caption = nw.cache_sets(s, {machine = "zen5"}).caption
      crowded[n] = tonumber(caption:match "([%d.]+) %% of the sets get more lines")
    end
    assert.is_true(cycles[1024] > 1.6 * cycles[992] and cycles[1024] < 2.6 * cycles[992])
    assert.is_true(cycles[1024] > 1.6 * cycles[1056])
    assert.same({0, 0}, {of_a[992], of_a[1056]})
    assert.equal(32 * 1024 - 2048, of_a[1024]) -- every access misses, but the 2048 cold misses are not conflicts
    assert.same({0, 100, 0}, {crowded[992], crowded[1024], crowded[1056]}) -- in percent; at 1024, every set is crowded at some time
  end)

  it("distributes the iterations of parallel loops as at run time", function()
    local s = nw.schedule(matmul(6, 64, 256))
    s:parallel "i"
    local m = round_machine {teams = {{threads = 2, spawn = 1, barrier = 1}, {threads = 4, spawn = 1, barrier = 1}}}
    local one, two, four = s:cost {machine = m}, s:cost {machine = m, threads = 2}, s:cost {machine = m, threads = 4}
    assert.near(0.5, two.shares[1] / one.shares[1], 0.02)
    assert.near(2, four.shares[2] / four.shares[1], 0.1) -- of six iterations, the four threads get 1, 2, 1 and 2
    assert.near(0.75, four.balance, 0.02)
    assert.equal(2e-6, four.team_seconds)
    support.fails("^cost: threads: 5 is more than the 4 cores of round", "range", function() s:cost {machine = m, threads = 5} end)
    support.fails("^cost: threads: 0 is less than one", "range", function() s:cost {machine = m, threads = 0} end)
  end)

  it("counts serial code once", function()
    local m = round_machine {teams = {{threads = 4, spawn = 1, barrier = 1}},
      memory = {bytes = 1 << 30, latency = 100, bandwidth = 8, bandwidth_all = 8}}
    local serial = nw.schedule(matmul(16, 64, 64))
    local one, four = serial:cost {machine = m}, serial:cost {machine = m, threads = 4}
    assert.same({1, 3}, {four.threads, four.idle})
    for _, field in ipairs {"seconds", "flops", "instructions", "joules"} do assert.equal(one[field], four[field], field) end
    assert.truthy(tostring(four):find("4 threads were requested, but no loop is parallel", 1, true))
    local A = nw.placeholder({64}, "f32", "A")
    local B = nw.compute({64}, function(i) return A(i) * 2 end, "B")
    local both = nw.schedule(nw.compute({64}, function(i) return B(i) + 1 end, "C"))
    both:parallel "i_1"
    local alone, shared = both:cost {machine = m}, both:cost {machine = m, threads = 4}
    assert.equal(128, alone.flops)
    assert.equal(128, shared.flops)
    assert.equal(4, shared.threads)
    for n, t in ipairs(alone.traffic) do if n == 1 then assert.equal(t.read, shared.traffic[n].read) end end
  end)

  it("says in which level of memory the bytes are", function()
    local c_tensor, _ = matmul(64, 64, 64), nil
    local s = nw.schedule(c_tensor)
    s:cache_write(c_tensor, "local", {at = "j"})
    local c = s:cost {machine = round_machine()}
    assert.equal(3 * 64 * 64 * 4, c.memory.parameter)
    assert.equal(4, c.memory.registers)
  end)

  it("shows costs beside loops and versions", function()
    local s = nw.schedule(matmul(16, 16, 128))
    local shown = tostring(s:show {cost = true, machine = round_machine()})
    assert.truthy(shown:find("for k in 0..128:.-100.0 %%.-latency"))
    s:unroll "j"
    local log = s:log {cost = true, machine = round_machine()}
    assert.is_number(log[1].predicted)
    assert.truthy(tostring(log):find "bottleneck")
    support.fails("^show: unknown option 'cots'", "invalid", function() s:show {cots = true} end)
    support.fails_saying("threads applies only with cost = true", s.log, s, {threads = 2})
    support.fails_saying("there is no machine 'zen55'", s.log, s, {cost = true, machine = "zen55"})
    assert.falsy(shown:find("side by side", 1, true))
  end)

  it("shows the effect of threads on each version", function()
    local s, m = nw.schedule(matmul(16, 16, 128)), round_machine()
    s:parallel "i"
    local log = s:log {cost = true, machine = m, threads = 4}
    assert.equal(s:cost({machine = m, threads = 4}).seconds, log[2].predicted)
    assert.is_true(log[2].predicted < 0.5 * log[1].predicted)
  end)

  it("says that consecutive loops overlap", function()
    local I, F = nw.placeholder({8, 6, 30}, "f32", "I"), nw.placeholder({8, 3}, "f32", "F")
    local c, q = nw.reduce_axis(8, "c"), nw.reduce_axis(3, "q")
    local s = nw.schedule(nw.compute({6, 28}, function(y, x) return nw.sum(I(c, y, x + q) * F(c, q), {c, q}) end, "O"))
    s:split("x", {factor = 16, tail = "guard"})
    s:reorder("y", "x_o", "c", "q", "x_i")
    s:vectorize "x_i"
    assert.truthy(tostring(s:show {cost = true, machine = "zen5"}):find("the core overlaps neighbouring loops", 1, true))
  end)

  it("is a function of a size", function()
    local n = nw.size "N"
    local A = nw.placeholder({n, n}, "f32", "A")
    local s = nw.schedule(nw.compute({n, n}, function(i, j) return A(j, i) end, "T"))
    local c = s:cost_curve {values = {32, 64, 96}, machine = round_machine()}
    assert.equal(3, #c.rows)
    assert.is_true(c.rows[1].seconds < c.rows[2].seconds and c.rows[2].seconds < c.rows[3].seconds)
    for row, N in ipairs {32, 64, 96} do
      local one = s:cost {machine = round_machine(), sizes = {N = N}}
      assert.same({N, one.cycles, one.levels[1].misses}, {c.rows[row].size, c.rows[row].cycles, c.rows[row].misses[1]})
    end
    for _, y in ipairs {"seconds", "cycles", "misses"} do
      local p = c:plot {y = y}
      assert.equal(3, #p.rows)
      assert.truthy(p.caption:find("Predicted for round, not measured", 1, true))
    end
    if support.have_gnuplot() then support.picture(c:plot {y = "cycles"}) end
    support.fails("^plot: options.y: expected 'seconds', 'cycles', 'joules' or 'misses', got 'joy'", "invalid",
      function() c:plot {y = "joy"} end)
    support.fails("^cost_curve: values is empty", "invalid", function() s:cost_curve {values = {}, machine = round_machine()} end)
    support.fails("^cost_curve: this schedule has no symbolic size", "invalid", function()
      nw.schedule(matmul(4, 4, 4)):cost_curve {values = {1}}
    end)
    support.fails_saying("options: expected a table with values, got nil", s.cost_curve, s)
  end)

  -- Sums three neighbours in a row, in strips of eight columns. If the width is not a multiple of eight, the last strip overlaps
  -- the previous strip.
  local function strips(width)
    local A = nw.placeholder({200, 1008}, "f32", "A")
    local s = nw.schedule(nw.compute({200, width}, function(y, x) return A(y, x) + A(y, x + 1) + A(y, x + 2) end, "B"))
    s:split("x", {factor = 8, tail = "shift"})
    s:reorder("x_o", "y", "x_i")
    s:vectorize "x_i"
    return s
  end

  local function across(s, cycles)
    local m = round_machine()
    local levels = {{bytes = 4096, ways = 8, latency = 4, bytes_per_cycle = 64},
      {bytes = 1 << 20, ways = 16, latency = 14, bytes_per_cycle = 32, strided_across = cycles}}
    return s:cost {machine = nw.machine {extends = m, name = "small", caches = levels}}.cycles
  end

  it("predicts that loads that cross into a second line take longer if the lines are not prefetched", function()
    for _, width in ipairs {1000, 1002} do
      local s = strips(width)
      -- many of the 32-byte loads begin less than 32 bytes before the end of a line, so they cross into the next line
      assert.is_true(across(s, 60) > across(s, 30) + 20 * 200 * 125)
    end
    local rows = strips(1000)
    rows:reorder("y", "x_o", "x_i")
    assert.equal(across(rows, 30), across(rows, 60))
  end)

  it("adds up the transfers of the levels that do not overlap, if the machine's record says so", function()
    local A = nw.placeholder({1 << 20}, "f32", "A")
    local s = nw.schedule(nw.compute({1 << 20}, function(i) return A(i) + 1 end, "B"))
    s:split("i", {factor = 8})
    s:vectorize "i_i"
    local function cycles(combine, overlaps)
      local level, memory = {bytes = 1 << 20, ways = 16, latency = 14, bytes_per_cycle = 32, overlaps = overlaps},
        {bytes = 1 << 30, latency = 100, bandwidth = 8, overlaps = overlaps}
      return s:cost({machine = round_machine {combine = combine, memory = memory,
        caches = {{bytes = 32768, ways = 8, latency = 4, bytes_per_cycle = 64}, level}}}).cycles
    end
    assert.is_true(cycles("ecm", false) > 1.1 * cycles("max", false))
    assert.equal(cycles("max", true), cycles("ecm", true))
  end)

  it("is shown beside a measurement", function()
    local c = nw.schedule(matmul(8, 8, 8)):cost {machine = round_machine(), measure = true}
    assert.equal(c.seconds / c.measured.median, c.ratio)
    assert.truthy(tostring(c):find "measured")
  end)

  it("finds the innermost loop of assembly for llvm-mca", function()
    local mca = require "nestwright.measure.mca"
    local loop = mca.innermost(mca.loops_of(table.concat({
      ".LBB0_1:  # %i", "        # =>This Loop Header: Depth=1", "\tmovq %rcx, %rdx", ".LBB0_2:  # %k",
      "        # =>  This Inner Loop Header: Depth=2", "\tvmovss (%r8), %xmm1", "\tincq %r10", "\tjb .LBB0_2",
      "\tjb .LBB0_1"}, "\n")))
    assert.equal("k", loop.name)
    assert.equal(3, #loop.lines)
  end)

  it("is never higher if the machine has more of a resource", function()
    local s = nw.schedule(matmul(48, 48, 48))
    local base = s:cost {machine = round_machine()}.cycles
    for _, more in ipairs {{dispatch = 8}, {window = 400}, {forward = 1}, {caches = {{bytes = 65536, ways = 16, latency = 4,
      bytes_per_cycle = 64}, {bytes = 1 << 20, ways = 16, latency = 14, bytes_per_cycle = 32}}}} do
      assert.is_true(s:cost {machine = round_machine(more)}.cycles <= base)
    end
  end)

  it("does not depend on names", function()
    local function twice(a, b)
      local A = nw.placeholder({64, 64}, "f32", a)
      return nw.schedule(nw.compute({64, 64}, function(i, j) return A(j, i) * 2 end, b))
    end
    local m = round_machine()
    assert.equal(twice("A", "B"):cost {machine = m}.cycles, twice("X", "C"):cost {machine = m}.cycles)
  end)

  it("counts every access at every level if feed is full", function()
    local s = nw.schedule(require "nestwright.measure.workloads".make("test", "gemm", 96, 96, 96))
    local small = {name = "small", extends = "x86_server", caches = {
      {bytes = 4096, ways = 4, line = 64, latency = 5, bytes_per_cycle = 16, back_per_cycle = 8},
      {bytes = 32768, ways = 8, line = 64, latency = 14, bytes_per_cycle = 16, back_per_cycle = 8}}}
    local full, misses = s:cost {machine = small, feed = "full"}, s:cost {machine = small}
    assert.equal("full", full.feed)
    assert.equal("misses", misses.feed)
    assert.equal(full.levels[1].asked, full.levels[2].asked)
    assert.equal(misses.levels[1].misses, misses.levels[2].asked)
    assert.equal(misses.levels[1].misses, full.levels[1].misses)
    support.fails("feed: expected 'misses' or 'full', got 'most'", "invalid", s.cost, s, {feed = "most"})
  end)
end)
