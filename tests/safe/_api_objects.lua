--- Makes an object of each class that has methods. An object is made when it is first needed.
local nw = require "nestwright"

local objects = {}

local function product(M)
  local A, B = nw.placeholder({M, 8}, "f32", "A"), nw.placeholder({8, 8}, "f32", "B")
  local k = nw.reduce_axis(8, "k")
  local C = nw.compute({M, 8}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
  return nw.schedule(C), C, A, k
end

local function symbolic() return (product(nw.size "M")) end

-- Returns a schedule whose last step was refused.
local function refused()
  local s = product(8)
  local _, problem = pcall(s.parallel, s, "k")
  return s, problem
end

local function nest()
  return nw.nest.parse "nest n\nparam N = 6\narray A: f64[N, N]\nfor i in 0..N:\n  for j in 0..N:\n    A[i, j] += 1\n"
end

local function audit()
  local features = require "nestwright.learn.features"
  local workloads, sampler = require "nestwright.measure.workloads", require "nestwright.learn.sampler"
  local from, points = sampler.new({workloads.make("test", "gemm", 8, 8, 8)}, 1), {}
  for n = 1, 10 do
    local s = from:next()
    local c = s:cost()
    points[n] = {schedule = s, cost = c, predicted = c.seconds, trace = s:trace(), measured = n * 1e-6,
      features = features.of(s, c)}
  end
  return {kernel = "gemm", points = points, measured_on = "here"}
end

local function stale_loop()
  local s = product(8)
  local loop = s:loops()[1]
  s:split(loop, 4)
  return loop
end

-- Returns a piece of a loop with symbolic extent.
local function piece()
  local seen
  symbolic():partition_auto {loop = "i", cost = "model", sizes = {M = {8}}, strategies = {"guard"},
    kernels = {{rows = 4, schedule = function(_, p) seen = seen or p end}}}
  return seen
end

-- Returns a kernel for a GPU, with one thread for each element.
local function on_gpu()
  local A = nw.placeholder({64}, "f32", "A")
  local C = nw.compute({64}, function(i) return A(i) + 1 end, "C")
  local s = nw.schedule(C, {target = nw.target("gpu", {machine = "t4"})})
  s:split("i", 32)
  s:bind("i_o", "blockIdx.x")
  s:bind("i_i", "threadIdx.x")
  return s
end

-- Returns the schedule of a vector that an accelerator copies to its chip, adds to itself, and copies back.
local function on_chip()
  local vdla = nw.accelerator "vdla"
  local A = nw.placeholder({16}, "i32", "A")
  local C = nw.compute({16}, function(i) return A(i) + A(i) end, "C")
  local s = nw.schedule(C, {target = vdla})
  local sum, copy = s:cache_write(C, "acc"), s:cache_read(A, "acc")
  s:tensorize(s:loops(copy)[1], vdla.dma_copy2d)
  s:tensorize(s:loops(sum)[1], vdla.alu)
  s:tensorize(s:loops(C)[1], vdla.dma_copy2d)
  return s
end

local TIME = {median = 2e-6, min = 1e-6, samples = {1e-6, 2e-6, 3e-6}}

local MAKE = {
  schedule = {function() return (product(8)) end, symbolic, function() return (refused()) end},
  stage = {function() local s, C = product(8) return s[C] end},
  loop = {function() return product(8):loops()[1] end, stale_loop},
  tensor = {function() return (select(2, product(8))) end, function() return (select(3, product(8))) end},
  axis = {function() return (select(4, product(8))) end},
  expr = {function() return nw.size "M" end, function() return nw.f32(1) end},
  array = {function() return nw.zeros {3, 4} end, function() return nw.zeros({2}, "i8") end,
    function() return nw.zeros {0, 2} end},
  kernel = {function() return product(8):build {threads = 1} end}, output = {function() return nw.display(1) end},
  progress = {function() return nw.progress(2, "work") end}, time = {function() return nw.timings({TIME})[1] end},
  comparison = {function() return nw.timings {a = TIME, b = TIME} end},
  sweep = {function() return nw.sweep {params = {n = {1, 2}}, run = function(p) return {seconds = p.n} end} end},
  machine = {function() return nw.machine() end, function() return nw.machine "vta" end},
  target = {function() return nw.target() end, function() return nw.target "aarch64" end},
  accesses = {function() return nw.accesses((product(4))) end},
  ranking = {function()
    return product(6):partition_auto {loop = "i", kernels = {{rows = 4, schedule = function() end}}, cost = "model"}
  end},
  piece = {piece}, loopnest = {nest}, plot = {function() return nw.timeline {{lane = "a", from = 0, to = 1}} end},
  refusal = {function() return (select(2, refused())).refusal end}, view = {function() return product(4):show() end},
  report = {function() return product(4):log() end},
  intrinsic = {function() return nw.xsmm.gemm {m = 4, n = 4, k = 4} end},
  misses = {function() return nw.misses((product(4))) end},
  curve = {function() return symbolic():cost_curve {values = {4, 8}} end},
  lesson = {function() return (refused()):explain() end}, bound = {function() return nest():cost() end},
  audit = {function() return nw.cost.audit {kernel = "gemm", schedules = 2, threads = 1} end},
  gpusteps = {function() return nw.gpu_steps {{"baseline", on_gpu()}} end},
  accelerator = {function() return nw.accelerator "vdla" end}, stream = {function() return on_chip():stream() end},
  streamrun = {function() return on_chip():stream():run() end},
  learner = {function() return nw.cost.train {audit(), audit(), held_out = false, rounds = 2} end},
}

-- The classes whose objects are made only once, because making them takes long.
local KEPT = {kernel = true, ranking = true, intrinsic = true, learner = true, accesses = true, machine = true, audit = true,
  curve = true, gpusteps = true}

-- The classes that need a library, or a machine that is not busy.
local MAY_FAIL = {intrinsic = true, learner = true, audit = true}

local kept, missing = {}, {}

--- Returns an object of a class, or nil if this build or this machine lacks what the class needs.
function objects.make(class)
  if kept[class] then return kept[class] end
  if missing[class] then return nil end
  local list = assert(MAKE[class], "no way to make an nw." .. class)
  local ok, object = pcall(list[math.random(#list)])
  if not ok and MAY_FAIL[class] then missing[class] = true return nil end
  assert(ok, ("nw.%s: %s"):format(class, tostring(object)))
  if KEPT[class] then kept[class] = object end
  return object
end

objects.classes = {}
for class in pairs(MAKE) do objects.classes[#objects.classes + 1] = class end
table.sort(objects.classes)

return objects
