local nw = require "nestwright"

-- B = A + 1, with the lanes of a warp along a row or down a column.
local function grid(down)
  local A = nw.placeholder({256, 256}, "f32", "A")
  local s = nw.schedule(nw.compute({256, 256}, function(i, j) return A(i, j) + 1 end, "B"), {target = "gpu"})
  nw.quietly(function()
    s:tile("i", "j", down and 32 or 8, down and 8 or 32)
    s:bind("i_o", "blockIdx.y") s:bind("j_o", "blockIdx.x")
    s:bind("i_i", down and "threadIdx.x" or "threadIdx.y") s:bind("j_i", down and "threadIdx.y" or "threadIdx.x")
  end)
  return s
end

local function refused(list, ...)
  local ok, e = pcall(nw.gpu_steps, list)
  assert.is_false(ok)
  for _, part in ipairs {...} do assert.truthy(tostring(e):find(part, 1, true), tostring(e)) end
end

describe("nw.gpu_steps", function()
  it("has the predicted times of s:cost and the counts of s:gpu_counts", function()
    local down, along = grid(true), grid(false)
    local t = nw.gpu_steps {{"down", down}, {"along", along}}
    assert.equal(2, #t)
    for n, s in ipairs {down, along} do
      for k, machine in ipairs {"t4", "a100"} do
        local c = s:cost {machine = machine}
        assert.equal(machine, t[n].machines[k])
        assert.equal(c.seconds, t[n].seconds[k])
        assert.equal(c.bottleneck, t[n].bottlenecks[k])
      end
      assert.equal(s:cost {machine = "t4"}.kernels[1].occupancy, t[n].occupancy)
    end
    assert.equal(32, t[1].sectors)
    assert.equal(4, t[2].sectors)
    assert.is_nil(t[1].wavefronts)
    assert.equal(1, t[1].speedups[1])
    assert.equal(t[1].seconds[2] / t[2].seconds[2], t[2].speedups[2])
  end)

  it("prints a line for each schedule", function()
    local text = tostring(nw.gpu_steps({{"down", grid(true)}, {"along", grid(false)}, machines = {"rtx_a6000"}}))
    assert.truthy(text:find "^step +rtx_a6000 +limited by +sectors/request +turns/request +occupancy\n")
    assert.truthy(text:find("\ndown .* 32%.00 +%- +100 %%\n"), text)
    assert.truthy(text:find("\nalong .* 4%.00 +%- +100 %%\n"), text)
  end)

  it("says below the table what is predicted, in lines that fit into a notebook", function()
    local function feet(list) return tostring(nw.gpu_steps(list)):match "([^\n]*)\n([^\n]*)$" end
    local times, counts = feet {{"down", grid(true)}}
    assert.equal("the times are predicted; each array is read from memory once, because caches are not simulated", times)
    assert.truthy(counts:find "^on t4: sectors of a request to global memory .*, occupancy$", counts)
    assert.is_true(#times <= 115 and #counts <= 115)
    times, counts = feet {{"down", grid(true)}, caches = true, machines = {"a100"}}
    assert.equal("the times are predicted; caches are simulated", times)
    assert.truthy(counts:find "^on a100: ")
  end)

  it("draws the speed-up of each step on each machine", function()
    local drawn = tostring(nw.gpu_steps({{"down", grid(true)}, {"along", grid(false)}}):plot())
    assert.truthy(drawn:find("machine = a100: 2 points from 1 to ", 1, true), drawn)
  end)

  it("refuses what is no list of schedules, and machines that are no GPUs", function()
    refused({}, "the list has no schedule")
    refused({{"a", 3}}, "expected a name and a schedule as entry 1", "nw.gpu_steps{{")
    refused({{"a", grid()}, machines = {"host"}}, "host is not a GPU")
    refused({{"a", grid()}, machines = {}}, "there is no machine")
    refused({{"a", grid()}, machine = "t4"}, "unknown option 'machine'")
  end)
end)

describe("the least traffic of memory", function()
  it("counts all copies of an unrolled access", function()
    local A = nw.placeholder({1 << 20}, "f32", "A")
    local s = nw.schedule(nw.compute({1 << 20}, function(i) return A(i) + 1 end, "B"), {target = "gpu"})
    nw.quietly(function()
      local block, rest = s:split("i", 1024)
      local part, thread = s:split(rest, 256)
      s:reorder(thread, part)
      s:bind(block, "blockIdx.x") s:bind(thread, "threadIdx.x") s:unroll(part)
    end)
    local limit
    for _, one in ipairs(s:cost {machine = "t4"}.kernels[1].limits) do if one.name == "memory" then limit = one.seconds end end
    assert.near(2 * 4 * (1 << 20) / 320e9, limit, 1e-12)
  end)
end)
