--- What is said about predictions for GPUs: clocks, names, launches of nothing, and curves.
local nw = require "nestwright"
local support = require "support"

-- Adds one to the elements of a vector, in blocks of 32 threads.
local function increment(target, size)
  local X = nw.placeholder({size}, "f32", "X")
  local Y = nw.compute({size}, function(i) return X(i) + 1 end, "Y")
  local s = nw.schedule(Y, {target = target})
  nw.quietly(function() s:split("i", 32) end)
  s:bind("i_o", "blockIdx.x")
  s:bind("i_i", "threadIdx.x")
  return s
end

local function limit(k, name)
  for _, l in ipairs(k.limits) do if l.name == name then return l.seconds end end
end

describe("texts about predictions for GPUs", function()
  it("use one clock for a kernel and for its loops", function()
    local X = nw.placeholder({1 << 20}, "f32", "X")
    local Y = nw.compute({1 << 20}, function(i)
      local v = X(i)
      for _ = 1, 300 do v = v * 1.5 + 0.5 end
      return v
    end, "Y")
    local s = nw.schedule(Y, {target = "t4"})
    s:split("i", 1024)
    s:bind("i_o", "blockIdx.x")
    s:bind("i_i", "threadIdx.x")
    local c = s:cost()
    assert.equal("f32 units", c.kernels[1].bottleneck)
    assert.near(limit(c.kernels[1], "f32 units"), c.parts[1].seconds, 1e-12)
  end)

  it("say that a grid without blocks is not launched", function()
    local s = increment("gpu", nw.size("M", {min = 0}))
    local text = tostring(s:cost {sizes = {M = 0}})
    assert.not_matches("nan", text)
    assert.matches("kernel 1: 0 ns, at these sizes it has no block, so it is not launched", text, 1, true)
    assert.equal("nothing", s:cost {sizes = {M = 0}}.kernels[1].bottleneck)
    assert.not_matches("nan", tostring(s:show {cost = true, sizes = {M = 0}}))
  end)

  it("give the simulated GPU the name of the machine that it simulates", function()
    local s = increment(nw.target("gpu", {machine = "t4"}), 4096)
    assert.matches("^t4: ", tostring(s:cost()))
    assert.matches("a prediction for t4 at ", tostring(s:cost()), 1, true)
    assert.matches("# t4: ", tostring(s:show {cost = true}), 1, true)
    assert.matches("From the record of t4.", tostring(nw.occupancy(s)), 1, true)
    assert.matches("Predicted for t4", tostring(nw.waves(s)), 1, true)
    assert.matches("machine record t4", tostring(nw.roofline(s)), 1, true)
    assert.matches("on t4: sectors", tostring(nw.gpu_steps {{"a", s}, machines = {s.target.machine}}), 1, true)
  end)

  it("count one block as a block", function()
    local text = tostring(increment("a100", 32):cost())
    assert.matches("1 x 1 x 1 block of 32 x 1 x 1 threads; ", text, 1, true)
  end)

  it("head no list of resources if each needs less than a thousandth of the time", function()
    local text = tostring(increment("a100", 32):cost {machine = {name = "slow", extends = "a100", gpu = {launch = 1e6},
      sources = {["gpu.launch"] = "a test"}}})
    assert.matches("each resource needs less than 0.1 % of the time\n  all other time:\n    launch", text, 1, true)
  end)

  it("predict the times of a kernel over a size", function()
    local s = increment("a100", nw.size("M"))
    local curve = s:cost_curve {values = {1000, 1000000}}
    assert.equal(s:cost {sizes = {M = 1000000}}.seconds, curve.rows[2].seconds)
    assert.not_matches("cycles", tostring(curve))
    assert.matches("Predicted for a100", tostring(curve:plot()), 1, true)
    support.fails("plot: y: misses are not predicted for a GPU", "invalid", curve.plot, curve, {y = "misses"})
  end)

  it("take the peak of a roofline from the tensor cores if they compute the products", function()
    local tensor_gemm = require "tensor_gemm"
    for name, words in pairs {["mma.m16n8k16.f16"] = "16-bit tensor-core", ["mma.m16n8k8.tf32"] = "tf32 tensor-core"} do
      local s = nw.quietly(tensor_gemm.make, nw.tensor_core(name), {})
      local text = tostring(nw.roofline(s, {versions = {s:version()}}))
      assert.matches("the peak in " .. words .. " multiply-adds", text, 1, true)
    end
  end)

  it("give the blocks of a fused grid the colour of the array that they write, and its time", function()
    local function fused(m, n)
      local A, B = nw.placeholder({m}, "f32", "A"), nw.placeholder({n, 64}, "f32", "B")
      local X = nw.compute({m}, function(i) return A(i) * 2 end, "X")
      local k = nw.reduce_axis(64, "k")
      local Y = nw.compute({n}, function(i) return nw.sum(B(i, k), k) end, "Y")
      local s = nw.schedule({X, Y}, {target = "a100"})
      local loops = {}
      for t, tensor in ipairs {X, Y} do
        local block, thread = s:split(s:loops(tensor)[1], 32)
        s:bind(thread, "threadIdx.x")
        loops[t] = block
      end
      s:bind(s:create_fused_loop(table.unpack(loops)), "blockIdx.x")
      return nw.waves(s)
    end
    local colours = {}
    for t, p in ipairs {fused(64, 6400), fused(6400, 64)} do
      colours[t] = p.script:match "blocks that write X, [%d.]+ [nu]s each' .- lc rgb '(#%x+)'"
      assert.truthy(colours[t], p.script)
      assert.matches("drawn as one band between black lines", tostring(p), 1, true)
    end
    assert.equal(colours[1], colours[2])
  end)
end)
