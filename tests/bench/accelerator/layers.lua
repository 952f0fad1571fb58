--- The convolutions of ResNet-18 on VTA, as in the published evaluation of VTA (Moreau et al., "A hardware-software blueprint for
--- flexible deep learning specialization", 2019): how much of the time that their operations and bytes allow is reached, and
--- whether the values are right. Also compares the predicted cycles of many tiles with the simulated ones.
local nw = require "nestwright"
local statistics = require "nestwright.measure.statistics"

local layers = {}

-- height, channels, filters, kernel, stride
layers.LIST = {
  C1 = {224, 3, 64, 7, 2}, C2 = {56, 64, 64, 3, 1}, C3 = {56, 64, 64, 1, 1}, C4 = {56, 64, 128, 3, 2}, C5 = {56, 64, 128, 1, 2},
  C6 = {28, 128, 128, 3, 1}, C7 = {28, 128, 256, 3, 2}, C8 = {28, 128, 256, 1, 2}, C9 = {14, 256, 256, 3, 1},
  C10 = {14, 256, 512, 3, 2}, C11 = {14, 256, 512, 1, 2}, C12 = {7, 512, 512, 3, 1},
}
layers.COUNT = 12

local vta = nw.accelerator "vta"
local MACS = 256 -- of VTA in a cycle

local function options(l, more)
  local o = {height = l[1], channels = l[2], filters = l[3], kernel = l[4], stride = l[5]}
  for key, value in pairs(more or {}) do o[key] = value end
  return o
end

local function elements(t)
  local n = 1
  for _, extent in ipairs(t:shape()) do n = n * extent end
  return n
end

-- True if the stream computes what the definition says. A kernel of this host computes the definition.
local function is_right(stream, parts)
  local a, w = nw.random(parts.input:shape(), "i8", {seed = 1}), nw.random(parts.weights:shape(), "i8", {seed = 2})
  local want = nw.schedule(parts.result):build()(a, w)
  return #stream:check() == 0 and nw.allclose(want, stream:run({arguments = {a, w}}).outputs[1])
end

local function mean(list)
  local sum = 0
  for _, v in ipairs(list) do sum = sum + v end
  return sum / #list
end

--- Returns the worst share of the bound, the number of layers with right values, and the utilisations without and with hiding.
function layers.run()
  local worst, right, before, after = 1, 0, {}, {}
  for n = 1, layers.COUNT do
    local name = "C" .. n
    local s, parts = nw.acc_conv2d(vta, options(layers.LIST[name]))
    local stream = s:stream()
    local run, one = stream:run(), stream:run {mode = "monolithic"}
    -- The bound: the compute unit executes products and operations of the ALU, and every byte is moved once.
    local compute = 0
    for _, u in ipairs(run.units) do if u.name == "compute" then compute = u.busy end end
    local memory = vta.machine.memory.bandwidth / vta.machine.clock
    local bytes = elements(parts.input) + elements(parts.weights) + elements(parts.result)
    local bound = math.max(compute, bytes / memory)
    before[n], after[n] = run.macs / MACS / one.cycles, run.macs / MACS / run.cycles
    worst = math.min(worst, bound / run.cycles)
    local good = is_right(stream, parts)
    right = right + (good and 1 or 0)
    print(("%-4s %9d cycles, utilisation %.3f, without hiding %.3f, of the bound %.3f%s"):format(name, run.cycles, after[n],
      before[n], bound / run.cycles, good and "" or ", WRONG VALUES"))
  end
  return worst, right, mean(before), mean(after)
end

local function divisor(r, n)
  local list = {}
  for d = 1, n do if n % d == 0 then list[#list + 1] = d end end
  return list[r:int(1, #list)]
end

--- Compares the prediction with the simulation for random tiles of random layers. Returns the median of the errors, tau, and the
--- number of schedules.
function layers.model(count, seed)
  local r = require "nestwright.measure.rng".new(seed)
  local errors, predicted, simulated = {}, {}, {}
  while #errors < count do
    local l = layers.LIST["C" .. r:int(2, layers.COUNT)]
    local size = (l[1] - 1) // l[5] + 1
    local threads = r:int(1, 2)
    local tile = {f = divisor(r, l[3] // 16 // threads), y = divisor(r, size), x = divisor(r, size), c = divisor(r, l[2] // 16),
      keep = r:int(0, 1) == 1}
    local good, s = pcall(nw.acc_conv2d, vta, options(l, {tile = tile, threads = threads})) -- a tile may not fit
    local stream = good and s:stream()
    if stream and #stream < 20000 then
      local cycles, guess = stream:run().cycles, stream:model().cycles
      errors[#errors + 1] = math.abs(guess / cycles - 1)
      predicted[#predicted + 1], simulated[#simulated + 1] = guess, cycles
    end
  end
  return statistics.median(errors), statistics.tau(predicted, simulated), #errors
end

return layers
