--- Compares the misses that s:cost reports with the simulator, on random legal schedules. The schedules have guards, tails, masks,
--- packed copies, several statements, stages inside other stages, and threads.
local nw = require "nestwright"
local sampler = require "nestwright.learn.sampler"
local workloads = require "nestwright.measure.workloads"

local SIZES = {gemm = {12, 20, 9}, conv1d = {90, 5}, depthwise = {2, 9, 8}, blur = {12, 16}, dense = {9, 14, 11},
  conv2d = {3, 2, 6, 7}, pool = {2, 6, 7}, sobel = {11, 13}, heat = {4, 6, 9}, transpose = {19}, center = {13, 21}}
local KINDS = {"asked", "hits", "cold", "capacity", "conflict", "written_back"}
local EACH = 12 -- the number of schedules of each computation

-- A first and a second level with 3 and 5 sets, and a third level that holds all data.
local MACHINE = {extends = "zen5", name = "small", cores = 4, caches = {
  {bytes = 3 * 4 * 64, ways = 4, latency = 4, bytes_per_cycle = 64},
  {bytes = 5 * 12 * 64, ways = 12, latency = 14, bytes_per_cycle = 32},
  {bytes = 1 << 20, ways = 16, latency = 40, bytes_per_cycle = 16}}}

local function key(row) return ("L%d %s for %s %s"):format(row.level, row.tensor, tostring(row.loop), row.write and "w" or "r") end

-- Returns the counts by level, tensor, loop and direction.
local function counts(list)
  local out = {}
  for _, row in ipairs(list) do
    local at = out[key(row)] or {}
    out[key(row)] = at
    for _, kind in ipairs(KINDS) do at[kind] = (at[kind] or 0) + row[kind] end
  end
  return out
end

local function totals(list, level)
  local t = {misses = 0, written_back = 0, asked = 0}
  for _, row in ipairs(list) do
    if row.level == level then
      t.misses, t.written_back = t.misses + row.asked - row.hits, t.written_back + row.written_back
      t.asked = t.asked + row.asked
    end
  end
  return t
end

describe("the misses of s:cost", function()
  local m = nw.machine(MACHINE)

  for _, name in ipairs(workloads.list) do
    it("equal those that the simulator counts, for every access of " .. name, function()
      local from, exact = sampler.new({workloads.make("test", name, table.unpack(SIZES[name]))}, 17), 0
      for _ = 1, EACH do
        local s = from:next()
        local c, simulated = s:cost {machine = m}, nw.misses(s, {machine = m})
        for n, level in ipairs(c.levels) do
          if level.exact then
            exact = exact + 1
            assert.equal(simulated.total[n].asked - simulated.total[n].hits, level.misses)
          end
        end
        if c.levels[1].exact and c.levels[2].exact and c.levels[3].exact then
          assert.same(counts(simulated.by_access), counts(c.by_access), s:trace())
        end
      end
      assert.is_true(exact >= 3 * EACH * 0.9, exact)
    end)
  end

  it("are estimated from some sets if addresses are not affine and there are too many accesses to simulate", function()
    local n = 10100000
    local A = nw.placeholder({1000003}, "f32", "A")
    local s = nw.schedule(nw.compute({n}, function(i) return A(i * i % 1000003) end, "C"))
    local how = {conflicts = false, machine = "skylake_x"}
    local c, simulated = s:cost(how), nw.misses(s, how)
    for l, level in ipairs(c.levels) do
      local t = simulated.total[l]
      assert.is_false(level.exact)
      assert.is_true(level.error < 0.02, level.error)
      assert.near(t.asked - t.hits, level.misses, (level.error + 0.001) * (t.asked - t.hits))
    end
    assert.equal(simulated.total[1].asked, totals(c.by_access, 1).asked)
  end)

  it("are those of one thread if loops are parallel", function()
    local shared = 0
    for seed, name in ipairs(workloads.list) do
      local s = sampler.new({workloads.make("test", name, table.unpack(SIZES[name]))}, seed):next()
      for _, loop in ipairs(s:loops()) do
        if pcall(s.parallel, s, loop.name) then break end
      end
      local c, simulated = s:cost {machine = m, threads = 3}, nw.misses(s, {machine = m, threads = 3})
      if c.threads == 3 then
        shared = shared + 1
        assert.same(counts(simulated.by_access), counts(c.by_access), s:trace())
      end
    end
    assert.is_true(shared >= 3, shared)
  end)

  it("give the bytes, intensities and energies", function()
    local s = sampler.new({workloads.make("test", "gemm", 12, 20, 9)}, 5):next()
    local c = s:cost {machine = m}
    for n = 2, 4 do
      local t = totals(c.by_access, n - 1)
      assert.equal(64 * t.misses, c.traffic[n].read)
      assert.equal(64 * t.written_back, c.traffic[n].written)
    end
    for n, t in ipairs(c.traffic) do
      assert.equal(n == 4 and "memory" or "L" .. n, t.name)
      assert.equal(t.read + t.written, t.bytes)
      if t.bytes > 0 then assert.near(c.flops / t.bytes, t.intensity, 1e-9) end
    end
    for _, list in ipairs {"by_tensor", "by_loop", "levels"} do
      for n = 1, 3 do
        local misses = 0
        for _, row in ipairs(c[list]) do if row.level == n then misses = misses + row.misses end end
        assert.equal(totals(c.by_access, n).misses, misses, list)
      end
    end
    for _, row in ipairs(c.energy) do
      local name, direction = row.name:match "^(%w+) (%l+)$"
      for _, t in ipairs(c.traffic) do
        if t.name == name then assert.equal(direction == "read" and t.read or t.written, row.count, row.name) end
      end
    end
  end)
end)
