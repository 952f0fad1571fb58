--- Tests schedules for a GPU without a grid: each error shows the loops, and names the one to bind and steps that are legal.
local nw = require "nestwright"
local support = require "support"

local function convolution(n, target)
  local A, W = nw.placeholder({n + 32}, "f32", "A"), nw.placeholder({33}, "f32", "W")
  local k = nw.reduce_axis(33, "k")
  return nw.schedule(nw.compute({n}, function(i) return nw.sum(A(i + k) * W(k), k) end, "B"), {target = target or "a100"})
end

local function product(n)
  local A, B, k = nw.placeholder({n, n}, "f32", "A"), nw.placeholder({n, n}, "f32", "B"), nw.reduce_axis(n, "k")
  return nw.schedule(nw.compute({n, n}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C"), {target = "t4"})
end

local function refused(f, ...) return support.fails("no loop is bound to blocks or threads", "invalid", f, ...) end

-- Makes the steps that a hint ends with.
local function follow(s, hint) assert(load("local s = ... " .. hint:match "you can: ([^\n]+)$"))(s) end

describe("a schedule for a GPU without a grid", function()
  it("is neither built nor predicted", function()
    local s = convolution(4096)
    assert.truthy(refused(s.build, s).message:find("build: no loop .* so one thread of a100 would run all iterations"))
    refused(s.cost, s)
    refused(s.show, s, {cost = true})
    refused(nw.waves, s)
    refused(nw.gpu_steps, {{"naive", s}})
    assert.equal(0, s:version())
  end)

  it("is shown with the loop to bind, and the steps for it", function()
    local s = convolution(4096)
    assert.equal([[
for i in 0..4096   <- bind this loop
  for k in 0..33
    B(i, reduce k)
you can: s:split("i", 256) s:bind("i_o", "blockIdx.x") s:bind("i_i", "threadIdx.x")]], refused(s.cost, s).hint)
    s = product(64)
    assert.truthy(refused(s.cost, s).hint:find('you can: s:bind("i", "blockIdx.x") s:bind("j", "threadIdx.x")', 1, true))
  end)

  it("runs after these steps", function()
    local n = nw.size("n", {min = 1})
    local X = nw.placeholder({n}, "f32", "X")
    local symbolic = nw.schedule(nw.compute({n}, function(i) return X(i) + 1 end, "Y"), {target = "gpu"})
    for _, s in ipairs {convolution(100, "gpu"), convolution(4096, "gpu"), product(16), product(2048), symbolic} do
      follow(s, refused(s.cost, s, {sizes = s == symbolic and {n = 100} or nil}).hint)
      assert.is_true(s:cost({sizes = s == symbolic and {n = 100} or nil}).seconds > 0)
    end
    local a, w = nw.random({4096 + 32}, "f32", {seed = 1}), nw.random({33}, "f32", {seed = 2})
    local s = convolution(4096, "gpu")
    follow(s, refused(s.build, s).hint)
    assert.is_true(nw.allclose(s:build()(a, w), nw.interpret(convolution(4096), {a, w})[1], {rtol = 1e-5}))
  end)

  it("may have loops that cannot be bound first", function()
    local H, X = nw.placeholder({100, 64}, "f32", "H"), nw.placeholder({100, 64}, "f32", "X")
    local first = nw.compute({1, 64}, function(_, j) return X(0, j) end, "first")
    local update = nw.compute({100, 64}, function(t, j) return H(t - 1, j) + X(t, j) end, "update")
    local s = nw.schedule(nw.scan(first, update, H, "S"), {target = "a100"})
    assert.truthy(refused(s.cost, s).hint:find "for [%w_]+ in 0..64 +<%- bind this loop")
  end)

  it("may be a reduction, which threads can share", function()
    local A, k = nw.placeholder({5000}, "f32", "A"), nw.reduce_axis(5000, "k")
    local s = nw.schedule(nw.compute({}, function() return nw.sum(A(k), k) end, "S"), {target = "a100"})
    local hint = refused(s.build, s).hint
    assert.truthy(hint:find('you can: s:split("k", 256) s:bind("k_i", "threadIdx.x")', 1, true))
    follow(s, hint)
    assert.is_true(s:cost().seconds > 0)
  end)

  it("may be a number", function() -- one thread is all it needs
    local s = nw.schedule(nw.compute({1}, function(i) return i + 1 end, "one"), {target = "gpu"})
    assert.equal(1, s:build()():get(0))
  end)

  it("may leave some nests to one thread, and then s:cost says so", function()
    local A = nw.placeholder({64}, "f32", "A")
    local B = nw.compute({64}, function(i) return A(i) * 2 end, "B")
    local s = nw.schedule(nw.compute({64}, function(i) return B(i) + 1 end, "C"), {target = "a100"})
    s:bind(s:loops(B)[1], "threadIdx.x")
    local said = "kernel 2: a block has 1 thread, so 31 of the 32 lanes of its last warp do nothing; bind its loops"
    assert.truthy(tostring(s:cost()):find(said, 1, true))
  end)
end)
