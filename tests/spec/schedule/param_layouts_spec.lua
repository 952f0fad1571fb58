--- Tests layouts of inputs and outputs: the arguments of a kernel then have other shapes than the computation.
local nw = require "nestwright"
local support = require "support"
local fails, refuses = support.fails, support.refuses

local function panels(i, j) return j // 8, i, j % 8 end

-- Y[i, j] = A[i, j]*2 + 1
local function double(M, N, dtype)
  local A = nw.placeholder({M, N}, dtype or "f32", "A")
  local Y = nw.compute({M, N}, function(i, j) return A(i, j) * 2 + 1 end, "Y")
  return nw.schedule(Y), A, Y
end

local function shape_of(list, n) return table.concat(list[n].shape(), ", ") end

describe("transform_layout of an input or an output", function()
  it("changes the shapes of the arguments, and pack and unpack convert between the shapes", function()
    local s, A, Y = double(5, 20)
    s:transform_layout(A, panels)
    assert.equal("the kernel now takes A as a tensor of shape [3, 5, 8]: s:pack converts a tensor", s:notes())
    s:transform_layout(Y, panels, {pad_value = -2})
    assert.equal("3, 5, 8", shape_of(s:inputs(), 1))
    assert.equal("3, 5, 8", shape_of(s:outputs(), 1))
    local a = nw.random({5, 20}, "f32", {seed = 1})
    local packed = s:pack("A", a)
    assert.same({3, 5, 8}, packed:shape())
    assert.equal(a[{3, 12}], packed[{1, 3, 4}])
    assert.is_true(nw.allclose(a, s:unpack(A, packed)))
    local y = s:build()(packed)
    assert.same({3, 5, 8}, y:shape())
    assert.is_true(nw.allclose(nw.evaluate(Y, {a})[1], s:unpack(Y, y)))
    for i = 0, 4 do for p = 4, 7 do assert.equal(-2, y[{2, i, p}]) end end
    local again = nw.interpret(s, {packed})[1]
    assert.is_true(nw.allclose(y, again))
    assert.is_true(nw.allclose(y, nw.interpret(s, {packed}, {lowered = true})[1]))
    assert.truthy(s:check():find "100 outputs agree")
  end)

  it("keeps positions of inputs that hold no element unread", function()
    local s, A, Y = double(5, 20)
    s:transform_layout(A, panels)
    local a = nw.random({5, 20}, "f32", {seed = 2})
    local packed = s:pack("A", a)
    for i = 0, 4 do for p = 4, 7 do
      assert.equal(0, packed[{2, i, p}])
      packed[{2, i, p}] = 0 / 0
    end end
    assert.is_true(nw.allclose(nw.evaluate(Y, {a})[1], s:build()(packed)))
    s:transform_layout(A, panels, {pad_value = 3})
    assert.equal(3, s:pack("A", a)[{2, 0, 7}])
  end)

  it("is shown, reparsed, replayed and undone", function()
    local s, A, Y = double(5, 20)
    local before = s:text()
    s:transform_layout(A, panels)
    s:transform_layout(Y, function(i, j) return i // 4, j, i % 4 end, {pad_value = 0.5})
    assert.truthy(tostring(s):find("input A: f32[5, 20] layout [_1 // 8, _0, _1 % 8] in [3, 5, 8]", 1, true))
    assert.truthy(tostring(s):find("output Y: f32[5, 20] layout [_0 // 4, _1, _0 % 4] in [2, 20, 4] pad 0.5", 1, true))
    assert.is_true(s:reparses())
    support.replays(s, function() return nw.schedule(Y) end)
    s:transform_layout(A, function(i, j) return i, j end)
    s:transform_layout(Y, function(i, j) return i, j end)
    assert.equal(before, s:text())
    s:undo(2)
    assert.truthy(tostring(s):find("pad 0.5", 1, true))
  end)

  it("replays pad values that are not numbers of JSON", function()
    for _, pad in ipairs {0.1, 1 / 0, -1 / 0, 1e300, 2 ^ 60, -0.0} do
      local s, _, Y = double(5, 20, "f64")
      s:transform_layout(Y, panels, {pad_value = pad})
      support.replays(s, function() return nw.schedule(Y) end)
      local y = s:build()(nw.zeros({5, 20}, "f64"))
      assert.equal(pad, y[{2, 1, 5}])
    end
  end)

  it("says how to convert a tensor in the shape of the computation", function()
    local s, A = double(5, 20)
    s:transform_layout(A, panels)
    local f = s:build()
    for _, run in ipairs {function(a) return f(a) end, function(a) return nw.interpret(s, {a}) end,
      function(a) return f:time(a) end} do
      local err = fails("A has shape %[5, 20%]; it must be %[3, 5, 8%]", "invalid", run, nw.zeros {5, 20})
      assert.equal('transform_layout changed its shape from [5, 20]: s:pack("A", a) converts a tensor', err.hint)
    end
    fails("A has shape %[3, 5%]; it must be %[5, 20%]", "invalid", s.pack, s, "A", nw.zeros {3, 5})
    fails("A is f64; it must be f32", nil, s.pack, s, "A", nw.zeros({5, 20}, "f64"))
    fails("A has shape %[5, 20%]; it must be %[3, 5, 8%]", "invalid", s.unpack, s, "A", nw.zeros {5, 20})
    fails("B is not an input or an output", "invalid", s.pack, s, "B", nw.zeros {5, 20})
    fails("sizes: expected names", "invalid", s.unpack, s, "A", nw.zeros {3, 5, 8}, {M = "x"})
    local y = nw.zeros {5, 20}
    assert.equal(y, s:pack("Y", y)) -- its shape is not changed
  end)

  it("refuses layouts that the caller could not use", function()
    local s, A, Y = double(5, 20)
    local function refused(words, tensor, layout, options)
      local err = refuses(s, "cannot change the layout of", "refused", s.transform_layout, s, tensor, layout, options)
      assert.truthy(tostring(err):find(words, 1, true), tostring(err))
      return err
    end
    refused("the layout puts A[0, 0] and another element at the same position", A, function(i, j) return i, j // 2 end)
    refused("the layout puts Y[0, 0] and another element at the same position", Y, function(i, j) return i, j // 2 end)
    refused("outside its own extents", A, function(i, j) return i - 1, j end)
    local err = refused("the layout of Y leaves positions without an element, and an output needs a pad_value", Y, panels)
    assert.truthy(err.refusal.alternatives[1]:find("pad_value = 0", 1, true))
    refused("could not tell which positions of Y hold no element", Y, function(i, j) return i, 3 * j end, {pad_value = 0})
    refused("could not tell which positions of Y hold no element", Y, function(i, j) return i, j, j % 4 end, {pad_value = 0})
    refused("without an element", Y, function(i, j) return i // 4, i % 8, j end)
    fails("pad_value", "invalid", s.transform_layout, s, Y, panels, {pad_value = "zero"})
  end)

  it("tells shared positions of small and of large tensors, by comparing all positions and by isl", function()
    for _, n in ipairs {8, 200} do
      local s = double(n, n)
      s:transform_layout("A", function(i, j) return i, (i + j) % n end)
      s:transform_layout("Y", function(i, j) return (i + 3 * j) % n, j end)
      s = double(n, n)
      for _, layout in ipairs {function(i, j) return i + j, 0 * j end, function(i, j) return i, (i + j) % (n - 1) end} do
        local err = refuses(s, "cannot change the layout of", "refused", s.transform_layout, s, "A", layout)
        assert.truthy(tostring(err):find("the layout puts A%[%d+, %d+%] and another element at the same position"), tostring(err))
      end
    end
  end)

  it("refuses pad values of temporaries, and values that the dtype does not have", function()
    local s, _, P = support.two_stages(8, 20)
    local err = fails("", "refused", s.transform_layout, s, P, panels, {pad_value = 0})
    assert.truthy(tostring(err):find("P is a temporary", 1, true))
    for _, case in ipairs {{"i8", 128}, {"u8", -1}, {"i32", 0.5}, {"bool", 2}} do
      local A = nw.placeholder({5, 20}, case[1], "A")
      local t = nw.schedule(nw.compute({5, 20}, function(i, j) return A(i, j) end, "Y"))
      fails("is not a value of Y", "range", t.transform_layout, t, "Y", panels, {pad_value = case[2]})
    end
  end)

  it("keeps the sizes that a call finds from the shapes", function()
    local M = nw.size "M"
    local A, B = nw.placeholder({M, 6}, "f32", "A"), nw.placeholder({M}, "f32", "B")
    local Y = nw.compute({M, 6}, function(i, j) return A(i, j) + B(i) end, "Y")
    local rows = function(i, j) return i // 8, j, i % 8 end
    local s = nw.schedule(Y)
    s:transform_layout(A, rows)
    local err = refuses(s, "cannot change the layout of B", "refused", s.transform_layout, s, B,
      function(i) return i // 4, i % 4 end)
    assert.truthy(tostring(err):find("the size M would no longer follow", 1, true))
    s:transform_layout(Y, rows, {pad_value = 1})
    assert.truthy(s:check():find "agree")
    local a, b = nw.random({21, 6}, "f32", {seed = 1}), nw.random({21}, "f32", {seed = 2})
    local y = s:build()(s:pack("A", a), b)
    assert.same({3, 6, 8}, y:shape())
    assert.equal(1, y[{2, 5, 7}])
    assert.is_true(nw.allclose(nw.evaluate(Y, {a, b})[1], s:unpack(Y, y, {M = 21})))
    fails("the size M does not follow", "invalid", s.unpack, s, Y, y)
    fails("Y has shape %[3, 6, 8%]; it must be", "invalid", s.unpack, s, Y, y, {M = 25})
    assert.same({3, 6, 8}, nw.interpret(s, {s:pack("A", a), b})[1]:shape())
    local c = tostring(s:show "c")
    assert.truthy(c:find("element (_0, _1) of [M, 6] is at [_0 // 8, _1, _0 % 8]; other positions are not read", 1, true))
    assert.truthy(c:find("other positions get the value 1.0", 1, true))
  end)

  it("writes only the positions that hold no element", function()
    local s, _, Y = double(37, 20)
    s:transform_layout(Y, function(i, j) return i // 16, j, i % 16 end, {pad_value = 0})
    local a, n = nw.accesses(s), 0
    for k = 1, #a do if a:at(k).write then n = n + 1 end end
    assert.equal(37 * 20 + 11 * 20, n)
    assert.truthy(tostring(s:show "lowered"):find("for Y_pad2 in 5..16", 1, true))
    s, _, Y = double(32, 20)
    s:transform_layout(Y, function(i, j) return i // 16, j, i % 16 end, {pad_value = 0})
    assert.is_nil(tostring(s:show "lowered"):find("_pad", 1, true))
  end)

  it("does not combine kernels with different layouts, and measures versions on converted tensors", function()
    local A = nw.placeholder({16, 16}, "f32", "A")
    local Y = nw.compute({16, 16}, function(i, j) return A(i, j) * 2 + 1 end, "Y")
    local s = nw.schedule(Y)
    s:transform_layout(A, function(i, j) return j, i end)
    fails("in the same layouts", "invalid", s.build, s, {versions = {0, 1}})
    local times = s:time_steps(nw.random({16, 16}, "f32", {seed = 1}), {rounds = 5})
    assert.equal(2, #times)
    for n = 1, 2 do assert.is_nil(times[n].refused) end
  end)

  it("has no positions if the tensor has no elements, also if the layout leaves gaps", function()
    local M = nw.size("M", {min = 0})
    local A, B = nw.placeholder({M}, "f32", "A"), nw.placeholder({M}, "f32", "B")
    local s = nw.schedule(nw.compute({M}, function(i) return A(i) + B(i) end, "C"))
    s:transform_layout(A, function(i) return 3 * i + 1 end)
    assert.truthy(s:check():find "M=0: 0 outputs agree")
    assert.same({0}, s:pack(A, nw.zeros {0}):shape())
    assert.same({5}, s:pack(A, nw.zeros {2}):shape())
    local Z = nw.placeholder({0, 5}, "f32", "Z")
    local t = nw.schedule(nw.compute({0, 5}, function(i, j) return Z(i, j) * 2 end, "Y"))
    t:transform_layout(Z, function(i, j) return i - j + 4, j end)
    assert.same({0, 5}, nw.interpret(t, {t:pack(Z, nw.zeros {0, 5})})[1]:shape())
  end)

  it("leaves arguments alone in random steps", function()
    local s = double(16, 16)
    for seed = 1, 150 do
      local step = s:random_step(seed)
      assert.is_false(step ~= nil and step.primitive == "transform_layout")
    end
  end)
end)
