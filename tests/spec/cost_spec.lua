-- What a schedule should cost, by the model.
local nw = require "nestwright"

-- A machine of round numbers: two instructions of each kind per cycle, one store.
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
  it("counts iterations exactly, and knows that a sum into one register waits for itself", function()
    local c = nw.schedule(matmul(16, 16, 512)):cost {machine = round_machine()}
    local k = loop_named(c, "k")
    assert.equal(16 * 16 * 512, k.times)
    assert.equal("latency", k.bottleneck)
    assert.equal(4 * 16 * 16 * 512, k.cycles)
  end)

  it("sees that vectors along j need an eighth of the steps", function()
    local s = nw.schedule(matmul(16, 64, 512))
    local plain = s:cost {machine = round_machine()}
    local _, j_i = s:split("j", 8)
    s:reorder("k", j_i)
    s:vectorize(j_i)
    local c = s:cost {machine = round_machine()}
    assert.equal(16 * 8 * 512, loop_named(c, "k").times)
    assert.is_true(c.cycles < plain.cycles / 4)
  end)

  it("takes the misses from the cache model, exact where it says so", function()
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

  it("refuses machines that are no processors", function()
    local s = nw.schedule(matmul(4, 4, 4))
    assert.has_error(function() s:cost {machine = "a100"} end)
    assert.has_error(function() s:cost {machin = "host"} end)
  end)

  it("asks for the values of symbolic sizes", function()
    local n = nw.size "N"
    local A = nw.placeholder({n}, "f32", "A")
    local s = nw.schedule(nw.compute({n}, function(i) return A(i) * 2 end, "B"))
    assert.has_error(function() s:cost {machine = round_machine()} end)
    local small = s:cost {machine = round_machine(), sizes = {N = 100}}
    local large = s:cost {machine = round_machine(), sizes = {N = 200}}
    assert.is_true(large.cycles > 1.5 * small.cycles)
  end)
end)
