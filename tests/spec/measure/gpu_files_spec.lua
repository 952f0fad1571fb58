--- What f:export and s:pack write for GPUs, and how they refuse.
local nw = require "nestwright"
local support = require "support"
local fails = support.fails

local function doubled(target)
  local M = nw.size "M"
  local X = nw.placeholder({M, 64}, "f32", "X")
  local Y = nw.compute({M, 64}, function(i, j) return X(i, j) * 2 end, "Y")
  local s = nw.schedule(Y, {target = target})
  nw.quietly(function() s:split("i", 4) end)
  if target then
    s:bind("i_o", "blockIdx.x")
    s:bind("j", "threadIdx.x")
  end
  return s
end

local function exists(path)
  local f = io.open(path)
  return f ~= nil and f:close()
end

describe("files for GPUs", function()
  it("are PTX also for the simulated GPU, with the grid and the arguments as comments", function()
    local path, f = support.temporary ".ptx", doubled "gpu":build()
    assert.equal(f, f:export(path))
    local text = support.read(path)
    os.remove(path)
    assert.matches("// Y_kernel: ((M + 3) / 4, 1, 1) blocks of (64, 1, 1) threads\n", text, 1, true)
    assert.matches("//   arguments, in this order: X, Y (addresses on the device), M (an integer of 64 bits)\n", text, 1, true)
    assert.matches(".visible .entry Y_kernel(", text, 1, true)
    assert.matches(".target sm_80", tostring(f:show "ptx"), 1, true)
  end)

  it("have ends that an error lists for the target", function()
    local gpu = 'f:export "kernel.ptx" (PTX), "kernel.cu" (CUDA C) or "kernel.cl" (OpenCL C)'
    for _, row in ipairs {{"a100", gpu}, {"gpu", gpu}, {"mali_t860", 'f:export "kernel.cl" (OpenCL C) or "kernel.cu" (CUDA C)'},
      {nil, 'f:export "kernel.so" (a library) or "kernel.c" (C)'}} do
      local f = doubled(row[1]):build()
      local e = fails("the end of 'k.txt' names no kind of file that can be written", "invalid", f.export, f, "k.txt")
      assert.equal(row[2], e.hint)
      if row[1] then
        e = fails("C has no grids, and the kernel is for " .. row[1], "invalid", f.export, f, "k.c")
        assert.equal(row[2], e.hint)
      end
    end
  end)

  it("have one version", function()
    local s = doubled "gpu"
    local f = s:build {versions = {s:version(), s:version()}}
    for _, path in ipairs {"k.ptx", "k.cu", "k.cl"} do
      local e = fails("a kernel of several versions cannot be written in ", "invalid", f.export, f, path)
      assert.equal("s:checkout(n) goes to version n; then s:build() makes a kernel of this version alone", e.hint)
    end
  end)

  it("are not left by s:pack if it refuses", function()
    local dir = support.temporary ""
    local s = doubled "mali_t860"
    fails("no PTX is made for mali_t860", nil, s.pack, s, dir, {sizes = {M = 8}})
    assert.is_false(exists(dir .. "/kernel.cu"))
    s = doubled(nil)
    fails("pack: no loop is bound to blocks or threads, so one thread of a GPU would", "invalid", s.pack, s, dir, {sizes = {M = 8}})
    assert.is_false(exists(dir .. "/kernel.cu"))
  end)
end)
