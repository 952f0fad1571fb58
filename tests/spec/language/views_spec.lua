--- Tests views of arrays: slices, transposes and reshapes without copying.
local nw = require "nestwright"
local support = require "support"
local fails = support.fails

-- Returns a tensor of the shape whose elements are their positions in row-major order.
local function counted(shape, dtype)
  local a = nw.zeros(shape, dtype or "i32")
  for i = 1, a:count() do a:setflat(i, i - 1) end
  return a
end

-- Returns the numbers from..to by step, as numpy.arange with an end that is included.
local function numbers(from, to, step)
  local list = {}
  for i = from, to, step or 1 do list[#list + 1] = i end
  return list
end

describe("a slice", function()
  it("takes indices and ranges", function()
    local a = counted {4, 6}
    assert.same({6, 7, 8, 9, 10, 11}, a:slice(1):totable())
    assert.same({2, 8, 14, 20}, a:slice({}, 2):totable())
    assert.same({{13, 15}, {19, 21}}, a:slice({2, 4}, {1, 5, 2}):totable())
    assert.same({{1, 4}, {7, 10}, {13, 16}, {19, 22}}, a:slice(nil, {1, nil, 3}):totable())
    assert.same({{22, 23}}, a:slice({3}, {4}):totable())
    assert.same({{22, 23}}, a:slice({from = 3}, {4, to = 6, step = 1}):totable())
    assert.equal(15, a:slice(2, 3):get())
    assert.same({}, a:slice(2, 3):shape())
  end)

  it("counts from the end, and reverses", function()
    local a = counted {5}
    assert.equal(4, a:slice(-1):get())
    assert.same({2, 3}, a:slice({-3, -1}):totable())
    assert.same({4, 3, 2, 1, 0}, a:slice({step = -1}):totable())
    assert.same({3, 1}, a:slice({3, 0, -2}):totable())
    assert.same({4, 2, 0}, a:slice({step = -2}):totable())
    assert.same({0, 1, 2, 3, 4}, a:slice({step = -1}):slice({step = -1}):totable())
    assert.same({0}, a:slice({2, 2}):shape())
    assert.same({0, 5}, counted({0, 5}):slice({step = -1}):shape())
  end)

  it("shares memory with its base, and keeps it alive", function()
    local view
    do
      local a = counted {64, 64}
      view = a:slice({8, 16}, {3, 64, 4}):transpose()
      a:set(8, 3, -1)
      view:set(1, 0, -2)
      assert.equal(-2, a:get(8, 7))
    end
    for _ = 1, 4 do
      collectgarbage()
      nw.full({64, 64}, 9, "i32")
    end
    assert.equal(-1, view:get(0, 0))
    assert.equal(8 * 64 + 11, view:get(2, 0))
    assert.same({16, 8}, view:shape())
    assert.same({4, 64}, view:strides())
  end)

  it("says which part is wrong", function()
    local a = counted {4, 6}
    fails("index 4 is not in dimension 0, which has 4 elements", "range", a.slice, a, 4)
    fails("index %-5 is not in dimension 0", "range", a.slice, a, -5)
    fails("{from = 2, to = 7, step = 1} is not a part of dimension 1, which has 6", "range", a.slice, a, {}, {2, 7})
    fails("{from = 3, to = 2, step = 1} is not a part", "range", a.slice, a, {3, 2})
    fails("{from = 0, to = 2, step = %-1} is not a part", "range", a.slice, a, {0, 2, -1})
    fails("step of dimension 0 is 0", "range", a.slice, a, {step = 0})
    fails("step of dimension 0", "range", a.slice, a, {step = math.mininteger})
    fails("3 parts for a tensor with 2 dimensions", "invalid", a.slice, a, {}, {}, {})
    fails("unknown key 'upto' in a range", "invalid", a.slice, a, {upto = 3})
    fails("unknown key '4' in a range", "invalid", a.slice, a, {0, 4, 1, 2})
    fails("from is given twice", "invalid", a.slice, a, {0, from = 1})
    fails("slice: to: expected a whole number, got 1.5", "invalid", a.slice, a, {0, 1.5})
    fails("expected a whole number, a table or nothing, got a string", "invalid", a.slice, a, "1:3")
    fails("expected a whole number, a table or nothing, got an array", "invalid", a.slice, a, a)
    fails("whole number", "invalid", a.slice, a, 1.5)
  end)
end)

describe("a transposed or reshaped tensor", function()
  it("has its dimensions in another order", function()
    local a = counted {2, 3, 4}
    assert.same({4, 3, 2}, a:transpose():shape())
    assert.same({{0, 12}, {4, 16}, {8, 20}}, a:slice({}, {}, 0):transpose():totable())
    assert.same({3, 4, 2}, a:transpose(1, 2, 0):shape())
    assert.equal(a:get(1, 2, 3), a:transpose(1, 2, 0):get(2, 3, 1))
    fails("dimension 3 does not exist", "invalid", a.transpose, a, 0, 1, 3)
    fails("dimension 1 is there twice", "invalid", a.transpose, a, 1, 1, 0)
    fails("2 dimensions for a tensor with 3", "invalid", a.transpose, a, 0, 1)
  end)

  it("has the same elements in row-major order", function()
    local a = counted {4, 6}
    assert.same({2, 12}, a:reshape({2, -1}):shape())
    assert.same(numbers(0, 23), a:reshape(24):totable())
    assert.same({24, 1, 1}, a:reshape({24, 1, 1}):shape())
    local part = a:slice({}, {0, 4})
    assert.same({{{0, 1}, {2, 3}}, {{6, 7}, {8, 9}}, {{12, 13}, {14, 15}}, {{18, 19}, {20, 21}}},
      part:reshape({4, 2, 2}):totable())
    assert.same({{0, 1, 2, 3}, {6, 7, 8, 9}}, part:slice({0, 2}):reshape({1, 2, 1, 4}):slice(0, {}, 0):totable())
    assert.same(numbers(0, 23, 2), a:slice({}, {step = 2}):reshape(12):totable())
    assert.same({{{12, 14, 16}}, {{0, 2, 4}}}, a:slice({2, nil, -2}, {step = 2}):reshape({2, 1, 3}):totable())
    assert.same({0, 7}, counted({0, 3}):reshape({-1, 7}):shape())
    assert.equal(5, nw.tensor({5}):reshape({}):get())
    fails("a:copy%(%):reshape", "invalid", part.reshape, part, 16)
    assert.same({0, 1, 2, 3, 6}, part:copy():reshape(16):slice({0, 5}):totable())
    fails("shape %[4, 6%] cannot become %[5, %-1%]: the numbers of elements differ", "invalid", a.reshape, a, {5, -1})
    fails("at most one %-1", "invalid", a.reshape, a, {-1, -1})
    fails("sizes from 0 on", "invalid", a.reshape, a, {-2, 3})
    fails("numbers of elements differ", "invalid", counted({0, 3}).reshape, counted({0, 3}), {0, -1})
  end)
end)

describe("on views", function()
  local function view() return counted({6, 8}):slice({1, 6, 2}, {6, 0, -3}) end

  it("elements are read, written, filled and shown", function()
    local v = view()
    assert.same({{14, 11}, {30, 27}, {46, 43}}, v:totable())
    assert.same({16, -3}, v:strides())
    assert.is_false(v.contiguous)
    assert.equal(6, v:count())
    assert.equal(27, v:getflat(4))
    assert.equal(27, v[{1, 1}])
    v[{1, 1}] = 5
    v:setflat(1, 4)
    assert.same({{4, 11}, {30, 5}, {46, 43}}, v:totable())
    assert.equal("i32[3, 2]\n   4  11\n  30   5\n  46  43", tostring(v))
    assert.same({{1, 2}, {3, 4}, {5, 6}}, v:fill_list({1, 2, 3, 4, 5, 6}):totable())
    assert.same({{7, 7}, {7, 7}, {7, 7}}, v:fill(7):totable())
  end)

  it("filling changes no other element", function()
    local a = counted {6, 8}
    a:slice({1, 6, 2}, {6, 0, -3}):fill(-1)
    for i = 0, 5 do
      for j = 0, 7 do assert.equal(i % 2 == 1 and (j == 6 or j == 3) and -1 or 8 * i + j, a:get(i, j)) end
    end
  end)

  it("random numbers, comparisons, copies and files use the elements of the view", function()
    local a, path = nw.zeros {6, 8}, os.tmpname() .. ".npy"
    local v = a:slice({1, 6, 2}, {6, 0, -3}):fill_random(3)
    local same = nw.zeros({3, 2}):fill_random(3)
    assert.is_true(nw.allclose(v, same))
    assert.is_true(nw.allclose(v:copy(), same))
    assert.is_true(v:copy().contiguous)
    local bytes = require "nestwright.core".array_bytes
    assert.equal(bytes(same), bytes(v))
    v:save(path)
    assert.is_true(nw.allclose(nw.load(path), same, {rtol = 0, atol = 0}))
    os.remove(path)
  end)

  it("assign copies elements, also between parts of one buffer", function()
    local a = counted {5}
    a:slice({1, 5}):assign(a:slice({0, 4}))
    assert.same({0, 0, 1, 2, 3}, a:totable())
    a:assign(a:slice({step = -1}))
    assert.same({3, 2, 1, 0, 0}, a:totable())
    local b = counted {3, 3}
    b:assign(b:transpose())
    assert.same({{0, 3, 6}, {1, 4, 7}, {2, 5, 8}}, b:totable())
    fails("from is i32%[4%]; it must be i32%[5%]", "invalid", a.assign, a, a:slice({0, 4}))
    fails("from is f32%[5%]; it must be i32%[5%]", "type", a.assign, a, nw.zeros {5})
    fails("assign: from: expected a tensor with data, got a number", "invalid", a.assign, a, 3)
  end)
end)

describe("a kernel of row-major tensors", function()
  local A = nw.placeholder({4, 6}, "f32", "A")
  local C = nw.compute({4, 6}, function(i, j) return A(i, j) + 1 end, "C")
  local s = nw.schedule(C)
  local f = s:build {threads = 1}

  it("takes a view whose elements are row-major", function()
    local a = nw.random {9, 6}
    assert.is_true(nw.allclose(f(a:slice({3, 7})), f(a:slice({3, 7}):copy())))
    local rows = nw.zeros {9, 6}
    f(a:slice({3, 7}), rows:slice({5, 9}))
    assert.is_true(nw.allclose(rows:slice({5, 9}), f(a:slice({3, 7}))))
    assert.is_true(nw.allclose(rows:slice({0, 5}), nw.zeros {5, 6}))
    f(rows:slice({0, 4}), rows:slice({4, 8}))
    assert.equal(1, rows:get(4, 0))
  end)

  it("refuses other views, and says what to do", function()
    local part, t = nw.random({4, 8}):slice({}, {0, 6}), nw.random({6, 4}):transpose()
    for _, view in ipairs {part, t} do
      local said = fails("A is a view with strides %[%d, %d%]", "invalid", f, view)
      assert.truthy(said.hint:find("a:copy()", 1, true))
      fails("A is a view with strides", "invalid", nw.interpret, s, {view})
      fails("A is a view with strides", "invalid", nw.evaluate, C, {view})
      assert.is_true(nw.allclose(f(view:copy()), nw.evaluate(C, {view:copy()})[1]))
    end
    fails("C is a view with strides", "invalid", f, nw.random {4, 6}, part)
  end)

  it("refuses an output that overlaps an input", function()
    local rows = nw.zeros {9, 6}
    fails("output C overlaps A", "invalid", f, rows:slice({0, 4}), rows:slice({3, 7}))
  end)

  it("packs views", function()
    local D = nw.placeholder({6, 4}, "f32", "D")
    local p = nw.schedule(nw.compute({6, 4}, function(i, j) return D(i, j) * 2 end, "E"))
    p:transform_layout(D, function(i, j) return j, i end)
    local d = nw.random {4, 6}
    assert.is_true(nw.allclose(p:pack(D, d:transpose()), d))
  end)
end)

describe("the page on arrays", function()
  it("has examples that run", function()
    local page, printed = support.read "docs/arrays.md", {}
    local env = setmetatable({nw = nw, print = function(a) printed[#printed + 1] = a:totable() end}, {__index = _G})
    for block in page:gmatch "\n\n(    [^\n].-)\n\n%f[^%s]" do assert(load(block, "=arrays.md", "t", env))() end
    assert.same({{4, 5, 6, 7}, {2, 6, 10}, {{1, 2, 3}, {5, 6, 7}}, {{0, 2}, {4, 6}, {8, 10}}, {11, 10, 9, 8},
      {{0, 4, 8}, {1, 5, 9}, {2, 6, 10}, {3, 7, 11}}, {{0, 1, 2, 3, 4, 5}, {6, 7, 8, 9, 10, 11}}}, printed)
    assert.is_true(nw.allclose(env.y:slice({}, {40, 50}), nw.schedule(env.C):build()(env.x:slice({}, {10, 20}), nw.zeros {8, 10})))
    assert.equal(0, env.y:get(0, 39))
  end)
end)
