local nw = require "nestwright"
local support = require "support"
local kernels = require "device_kernels"

kernels.target = "a100"

local makers = {
  gemm_naive = function() return kernels.gemm_naive(64) end,
  gemm_shared = function() return kernels.gemm_shared(64) end,
  gemm_registers = function() return kernels.gemm_registers(128, 64, 4, 16, 4) end,
  gemm_async = function() return kernels.gemm_async(128, 64, 4, 16, 4) end,
  gemm_odd = function() return kernels.gemm_odd(33, 50, 20) end,
  gemm_vthread = function() return kernels.gemm_vthread(64) end,
  conv1d_shared = function() return kernels.conv1d_shared(1000, 31) end,
  depthwise = function() return kernels.depthwise(4, 30, 50) end,
  rows = function() return kernels.rows(10, 1000) end,
  transpose_pad = function() return kernels.transpose(64, 1) end,
  vector_sum = function() return (kernels.vector_sum()) end,
  two_stages = function() return kernels.two_stages(200) end,
  heat = function() return kernels.heat(20, 1000) end,
  histogram = function() return kernels.histogram(10000, 10) end,
  half = function() return kernels.half(1000, "f16") end,
  bhalf = function() return kernels.half(1000, "bf16") end,
  warp = function()
    local A = nw.placeholder({256}, "f32", "A")
    local B = nw.compute({256}, function(i) return A(i) * 2 end, "B")
    local C = nw.compute({256}, function(i) return B(i) + 1 end, "C")
    local s = nw.schedule(C, {target = "a100"})
    local o, i = s:split(s:loops "C"[1], 32)
    s:compute_at(B, o)
    s:set_scope(B, "warp")
    s:bind(i, "threadIdx.x")
    s:bind(s:loops "B"[#s:loops "B"], "threadIdx.x")
    return s
  end,
}

-- Returns the schedule of this name, which is made once.
local made = {}
local function schedule(name)
  made[name] = made[name] or makers[name]()
  return made[name]
end

local SHOWN = {"gemm_shared", "gemm_async", "rows", "heat", "histogram"} -- texts that are compared with golden files

-- Kernels that the CUDA compiler reads.
local COMPILED = {"gemm_registers", "gemm_async", "gemm_odd", "rows", "two_stages", "heat", "histogram", "half", "bhalf", "warp"}

-- Returns the path of a compiler of the CUDA toolkit, or nil.
local function toolkit(name)
  local pipe = io.popen(("command -v %s || ls /usr/local/cuda*/bin/%s 2>/dev/null | tail -n 1"):format(name, name))
  local path = pipe:read "l"
  pipe:close()
  return path ~= "" and path or nil
end

describe("texts for GPUs", function()
  for _, name in ipairs(SHOWN) do
    it("are unchanged: " .. name, function()
      local s = schedule(name)
      support.golden("grid/" .. name .. ".cu", tostring(s:show "cuda"))
      support.golden("grid/" .. name .. ".cl", tostring(s:show "opencl"))
    end)
  end

  it("are accepted by the CUDA compiler for each kind of schedule", function()
    local nvcc = toolkit "nvcc"
    if not nvcc then return pending "skipped: the CUDA toolkit (nvcc) is not installed" end
    -- All texts are one file, because each run of the compiler reads its headers for a second. Each text has a namespace.
    local path, headers, texts = support.temporary ".cu", {}, {}
    for _, name in ipairs(COMPILED) do
      schedule(name):build():export(path, {symbol = name})
      local text = support.read(path):gsub("#include [^\n]*\n", function(line) headers[line] = true return "" end)
      texts[#texts + 1] = ("namespace of_%s {\n%s}\n"):format(name, text)
    end
    local first = {}
    for line in pairs(headers) do first[#first + 1] = line end
    support.write(path, table.concat(first) .. table.concat(texts))
    local said, status = support.run(("%s -O1 -fmad=false -arch=sm_80 -Werror all-warnings -cubin -o /dev/null %s"):format(nvcc,
      path))
    os.remove(path)
    assert.equal(0, status, said)
  end)

  it("have arrays for the elements of one thread", function()
    local text = tostring(schedule "gemm_registers":show "cuda")
    assert.truthy(text:find("float C_local[16];", 1, true))
    assert.truthy(text:find("*(float4 *)&A_shared[", 1, true))
  end)

  it("have plain conditions at the edges of tiles, and call min and max of the language", function()
    local A, B = nw.placeholder({33, 20}, "f32", "A"), nw.placeholder({20, 50}, "f32", "B")
    local C = nw.compute({33, 50}, function(i, j)
      local k = nw.reduce_axis(20, "k")
      return nw.sum(A(i, k) * B(k, j), k)
    end, "C")
    local s = nw.schedule(C, {target = "a100"})
    local io, jo, ii, ji = s:tile("i", "j", 16, 16)
    s:bind(io, "blockIdx.y") s:bind(jo, "blockIdx.x") s:bind(ii, "threadIdx.y") s:bind(ji, "threadIdx.x")
    s:cache_write(C, "local", {at = ji})
    s:cache_read(A, "shared", {"C_local"}, {at = s:split("k", 16)})
    local copy = s:loops "A_shared"
    s:bind(copy[#copy - 1], "threadIdx.y") s:bind(copy[#copy], "threadIdx.x")
    for _, view in ipairs {"cuda", "opencl"} do
      local text = tostring(s:show(view))
      assert.truthy(text:find("if (16 * by + ty < 33 && 16 * bx + tx < 50) {\n    C[", 1, true), text)
      assert.falsy(text:match("C_kernel%(.-\n}"):find "nw_", text) -- no helper, and no bound that a block computes
      assert.truthy(tostring(schedule "heat":show(view)):find("S[1000 * t_1 + min(128 * bx + tx + 1, 999) - 1000]", 1, true))
    end
    local max = nw.placeholder({100}, "f32", "max")
    local shifted = nw.schedule(nw.compute({100}, function(i) return max(nw.max(i - 3, 0)) end, "min"), {target = "a100"})
    shifted:bind("i", "threadIdx.x")
    assert.truthy(tostring(shifted:show "cuda"):find("min_1[tx] = max_1[max(tx - 3, 0)];", 1, true), tostring(shifted:show "cuda"))
  end)

  it("compute indices in 64 bits if 32 bits may be too few", function()
    assert.truthy(tostring(kernels.gemm_naive(64):show "cuda"):find("const int bx", 1, true))
    assert.truthy(tostring(kernels.vector_sum():show "cuda"):find("const int64_t bx", 1, true))
    assert.truthy(tostring(kernels.gemm_naive(65536):show "cuda"):find("const int64_t bx", 1, true))
  end)

  it("ask for shared memory if the code may not declare so much", function()
    local text = tostring(kernels.gemm_registers(256, 128, 8, 64):show "cuda")
    assert.truthy(text:find("extern __shared__", 1, true))
    assert.truthy(text:find("cudaFuncAttributeMaxDynamicSharedMemorySize, 65536", 1, true))
  end)

  it("are exported with a function that launches the kernels", function()
    local s, path = kernels.gemm_shared(64), os.tmpname() .. ".cu"
    local f = s:build()
    f:export(path, {symbol = "product"})
    local text = support.read(path)
    assert.truthy(text:find("product(const float *__restrict__ A", 1, true), text)
    assert.truthy(text:find('extern "C" int launch_product(const float *A, const float *B, float *C) {', 1, true), text)
    assert.equal(tostring(s:show "cuda"), tostring(f:show "cuda"))
  end)

  it("return an error code if there are too many blocks", function()
    local n = nw.size "n"
    local A = nw.placeholder({n}, "f32", "A")
    local s = nw.schedule(nw.compute({n}, function(i) return A(i) + 1 end, "B"), {target = "a100"})
    s:bind("i", "blockIdx.x")
    assert.truthy(tostring(s:show "cuda"):find("if (2147483647 < n) return 3;", 1, true))
    assert.falsy(tostring(kernels.heat(20, 1000):show "cuda"):find("return 3;", 1, true))
  end)

  it("say where a vectorized loop has no vector", function()
    local A = nw.placeholder({67}, "f32", "A")
    local s = nw.schedule(nw.compute({64}, function(i) return A(i + 1) end, "B"), {target = "a100"})
    local o, i = s:split("i", 4)
    s:vectorize(i)
    s:bind(o, "threadIdx.x")
    assert.truthy(tostring(s:show "cuda"):find("// vectorized, but no vector of the language holds its elements", 1, true))
  end)

  it("have a part of storage of scope warp for each warp", function()
    local text = tostring(schedule "warp":show "cuda")
    assert.truthy(text:find("  float *const B = B_all", 1, true), text)
  end)

  it("are refused for loops on CPU threads", function()
    local A = nw.placeholder({64}, "f32", "A")
    local s = nw.schedule(nw.compute({64}, function(i) return A(i) + 1 end, "B"))
    s:parallel "i"
    support.fails_saying("i is marked parallel, which a kernel for a GPU does not have", function() return s:show "cuda" end)
  end)
end)

describe("atomic updates by threads of a grid", function()
  it("give the histogram of the definition", function()
    local s = kernels.histogram(1000, 10)
    local x = nw.random({1000}, "i32", {seed = 3, lo = 0, hi = 9})
    local lowered = nw.interpret(s, {x}, {lowered = true})[1]
    local direct, total = nw.interpret(s, {x})[1], 0
    for b = 0, 9 do
      assert.equal(direct:get(b), lowered:get(b))
      total = total + lowered:get(b)
    end
    assert.equal(1000, total)
  end)

  it("are needed if several blocks update an element", function()
    local X = nw.placeholder({1024}, "i32", "X")
    local s = nw.schedule(nw.compute({1}, function(b)
      local k = nw.reduce_axis(1024, "k")
      return nw.sum(X(k) + b, k)
    end, "H"), {target = "a100"})
    local o = s:split("k", 256)
    support.fails_saying("by another block", function() s:bind(o, "blockIdx.x") end)
    s:atomic "H"
    support.fails_saying("another thread contributes to it", function() s:bind(o, "blockIdx.x") end)
    s:decompose_reduction("H", o)
    s:bind(o, "blockIdx.x")
  end)
end)

describe("s:pack with a folder", function()
  it("writes the kernels, the launches, inputs and expected outputs", function()
    local dir = os.tmpname() .. ".packed"
    local s, sizes = kernels.vector_sum()
    sizes.N = 1000
    s:pack(dir, {sizes = sizes, task = "sum"})
    local plan = support.read(dir .. "/plan.h")
    assert.truthy(plan:find('{"C_kernel", {4, 1, 1}, {256, 1, 1}, 0, 4, {{0, 0}, {1, 0}, {2, 0}, {-1, 1000}}},', 1, true))
    local a, b, c = nw.load(dir .. "/A.npy"), nw.load(dir .. "/B.npy"), nw.load(dir .. "/C.npy")
    assert.near(a:get(999) + b:get(999), c:get(999), 1e-6)
    assert.equal(0, os.execute(("cc -fsyntax-only -Wall -Werror -I%q %q/run.c"):format(dir, dir)) and 0)
  end)

  it("compares bits only if every GPU computes the same bits", function()
    local function tolerance(s)
      local dir = os.tmpname() .. ".packed"
      s:pack(dir)
      return support.read(dir .. "/plan.h"):match "#define TOLERANCE (%S+)"
    end
    assert.equal("0", tolerance(kernels.gemm_naive(16)))
    local A = nw.placeholder({64}, "f32", "A")
    local s = nw.schedule(nw.compute({64}, function(i) return nw.exp(A(i)) end, "B"), {target = "a100"})
    s:bind("i", "threadIdx.x")
    assert.equal("0.0001", tolerance(s))
  end)

  it("needs a value for each size", function()
    local s = kernels.vector_sum()
    support.fails_saying("pack: the size N has no value", function() s:pack(os.tmpname() .. ".packed") end)
  end)
end)
