--- Tests reducers that users define: nw.reducer.
local nw = require "nestwright"
local support = require "support"

local function numbers(shape, dtype)
  local a = nw.zeros(shape, dtype or "f32")
  for n = 1, a:count() do a:setflat(n, (5 * n + n // 7) % 11 - 5) end
  return a
end

local online = nw.reducer {
  name = "online", init = {-3e38, 0}, names = {"max", "sum"},
  combine = function(a, b)
    local m = nw.max(a[1], b[1])
    return m, a[2] * nw.exp(a[1] - m) + b[2] * nw.exp(b[1] - m)
  end,
}

local welford = nw.reducer {
  name = "welford", init = {0, 0, 0}, names = {"mean", "m2", "count"},
  combine = function(a, b)
    local n = a[3] + b[3]
    local part = nw.select(nw.gt(n, 0), b[3] / n, 0)
    local d = b[1] - a[1]
    return a[1] + d * part, a[2] + b[2] + d * d * a[3] * part, n
  end,
}

local argmin = nw.reducer {
  name = "least", init = {math.huge, -1}, names = {"value", "index"},
  combine = function(a, b)
    local earlier = nw.all(nw.eq(b[1], a[1]), nw.any(nw.lt(a[2], 0), nw.all(nw.ge(b[2], 0), nw.lt(b[2], a[2]))))
    local take = nw.any(nw.lt(b[1], a[1]), earlier)
    return nw.select(take, b[1], a[1]), nw.select(take, b[2], a[2])
  end,
}

local function rows(reducer, terms, dtype)
  local A = nw.placeholder({6, 13}, dtype or "f32", "A")
  local k = nw.reduce_axis(13, "k")
  return {nw.compute({6}, function(i) return reducer(terms(A(i, k), k), k) end, "R")}
end

local function one(x) return {x, 1.0} end
local function moments(x) return {x, 0.0, 1.0} end
local function indexed(x, k) return {x, k} end

-- The schedules under which every reducer is tried.
local schedules = {
  {"as it is", function() end},
  {"with a split reduction", function(s) s:split("k", 4) end},
  {"with partial results in parallel", function(s)
    local outer = s:split("k", 4)
    s:rfactor("R", outer)
    s:parallel(outer)
  end},
  {"with partial results in lanes", function(s)
    local _, inner = s:split("k", 4)
    s:rfactor("R", inner)
    s:reorder("k_o", "k_i")
    s:vectorize "k_i"
  end},
  {"with the reduction outside", function(s) s:reorder("k", "i") end},
  {"with lanes along the output", function(s)
    s:reorder("k", "i")
    s:decompose_reduction("R", "k")
    s:vectorize "i"
  end},
  {"with parallel rows", function(s) s:parallel "i" end},
}

describe("a reducer of one's own", function()
  for _, case in ipairs {{"online softmax", online, one, 1e-5}, {"Welford's mean and variance", welford, moments, 1e-5},
    {"argmin", argmin, indexed}} do
    for _, how in ipairs(schedules) do
      it(("computes %s, %s"):format(case[1], how[1]), function()
        local outputs = rows(case[2], case[3])
        local s = nw.schedule(outputs)
        how[2](s)
        support.agree(s, outputs, {numbers {6, 13}}, case[4])
      end)
    end
  end

  it("gives the results of the field's formulas", function()
    local a = numbers {6, 13}
    local softmax, moment = nw.evaluate(rows(online, one), {a}), nw.evaluate(rows(welford, moments), {a})
    for i = 1, 6 do
      local most, sum, mean, m2 = -math.huge, 0, 0, 0
      for k = 1, 13 do most, mean = math.max(most, a:get(i - 1, k - 1)), mean + a:get(i - 1, k - 1) / 13 end
      for k = 1, 13 do sum, m2 = sum + math.exp(a:get(i - 1, k - 1) - most), m2 + (a:get(i - 1, k - 1) - mean) ^ 2 end
      assert.equal(most, softmax[1]:get(i - 1))
      assert.near(sum, softmax[2]:get(i - 1), 1e-4)
      assert.near(mean, moment[1]:get(i - 1), 1e-5)
      assert.near(m2, moment[2]:get(i - 1), 1e-3)
      assert.equal(13, moment[3]:get(i - 1))
    end
  end)

  it("computes an argmin that is equal to the one of the language", function()
    local A = nw.placeholder({6, 13}, "f32", "A")
    local k = nw.reduce_axis(13, "k")
    local V, I = nw.compute({6}, function(i) return nw.argmin(A(i, k), k) end, "V")
    local W, J = nw.compute({6}, function(i) return argmin({A(i, k), k}, k) end, "W")
    local s = nw.schedule {V, I, W, J}
    local v, i, w, j = s:build()(numbers {6, 13})
    for n = 1, 6 do
      assert.equal(v:get(n - 1), w:get(n - 1))
      assert.equal(i:get(n - 1), j:get(n - 1))
    end
  end)

  it("computes with integers, halves and bools", function()
    local most = nw.reducer {name = "most", init = function(t) return t == "f16" and -math.huge or -128 end,
      combine = function(a, b) return nw.max(a, b) end}
    for _, dtype in ipairs {"i8", "f16"} do
      local outputs = rows(most, function(x) return x end, dtype)
      local s = nw.schedule(outputs)
      s:split("k", 4)
      support.agree(s, outputs, {numbers({6, 13}, dtype)})
    end
    local any = nw.reducer {name = "some", init = false, combine = function(a, b) return nw.any(a, b) end}
    local outputs = rows(any, function(x) return nw.gt(x, 4) end)
    local s = nw.schedule(outputs)
    support.agree(s, outputs, {numbers {6, 13}})
    assert.is_nil(s:build().tested)
  end)

  it("has the names of its outputs, and TVM's spelling", function()
    local outputs = rows(online, one)
    assert.equal("R.max", outputs[1].name)
    assert.equal("R.sum", outputs[2].name)
    local prod = nw.comm_reducer(function(x, y) return x * y end, function() return 1 end, "times")
    local P = rows(prod, function(x) return x end)[1]
    assert.equal("R", P.name)
    assert.truthy(tostring(P):find("times(A[i, k], k)", 1, true))
  end)

  it("is read again from the text of a program", function()
    local s = nw.schedule(rows(welford, moments))
    s:split("k", 4)
    assert.truthy(tostring(s:show "full"):find "\nreducer welford tested %d+ %(mean: f32 from 0.0, m2: f32 from 0.0, count")
    assert.is_true(s:reparses())
  end)

  it("is compiled as C with the same bits", function()
    local outputs = rows(welford, moments)
    local s = nw.schedule(outputs)
    s:split("k", 4)
    local a = numbers {6, 13}
    local path = os.tmpname() .. ".so"
    local f = s:build()
    assert.truthy(tostring(f:show "c"):find("reducer welford: tested on %d+ values, not proved"))
    f:export(path)
    os.remove(path)
    os.remove((path:gsub("so$", "h")))
    support.agree(s, outputs, {a}, 1e-5)
  end)
end)

describe("the properties of a reducer", function()
  local function apply(o, terms)
    return function() return rows(nw.reducer(o), terms or function(x) return x end) end
  end

  it("are proved for sums, products, minima and maxima of components", function()
    local both = nw.reducer {name = "both", init = {0, -math.huge},
      combine = function(a, b) return a[1] + b[1], nw.max(a[2], b[2]) end}
    local s = nw.schedule(rows(both, function(x) return {x, x} end))
    assert.is_nil(s:build().tested)
    assert.is_nil(tostring(s:show()):find("not proved", 1, true))
  end)

  it("are tested otherwise, and every view says so", function()
    local s = nw.schedule(rows(online, one))
    local f = s:build()
    assert.truthy(f.tested >= 100)
    local words = ("reducer online: tested on %d values, not proved"):format(f.tested)
    assert.truthy(tostring(s:show()):find("# " .. words, 1, true))
    assert.truthy(tostring(s:show "lowered"):find("# " .. words, 1, true))
    assert.truthy(s:trace():find("-- " .. words, 1, true))
    assert.truthy(tostring(f:show "asm"):find(words, 1, true))
    assert.truthy(s:trace("json"):find('"reducers": [{"name": "online", "tested": ', 1, true))
  end)

  it("are refused with values if the order matters", function()
    local err = support.fails("combine%(combine%(a, b%), c%) must be combine%(a, combine%(b, c%)%): .- is not .- if a = ",
      "invalid",
      apply {name = "minus", init = 0, combine = function(a, b) return a + b + a * a * b * b end})
    assert.truthy(err.hint:find("nw.scan", 1, true))
    support.fails("combine%(a, b%) must be combine%(b, a%)", "invalid",
      apply({name = "last", init = {0, 0}, combine = function(a, b)
        return nw.select(nw.gt(b[2], 0), b[1], a[1]), nw.max(a[2], b[2])
      end}, function(x) return {x, 1} end))
  end)

  it("are refused if ties have no rule", function()
    support.fails("lowest index", "invalid",
      apply({name = "first", init = {math.huge, -1}, combine = function(a, b)
        local keep = nw.le(a[1], b[1])
        return nw.select(keep, a[1], b[1]), nw.select(keep, a[2], b[2])
      end}, indexed))
  end)

  it("are refused if init changes a state", function()
    support.fails("combine%(init, a%) must be a", "invalid",
      apply {name = "sum", init = 1, combine = function(a, b) return a + b end})
    support.fails("must be a", "invalid", apply({init = {-math.huge, 0}, combine = function(a, b)
      local m = nw.max(a[1], b[1])
      return m, a[2] * nw.exp(a[1] - m) + b[2] * nw.exp(b[1] - m)
    end}, one))
  end)
end)

describe("a wrong use of a reducer", function()
  local function apply(o, terms) return function() return rows(nw.reducer(o), terms or function(x) return x end) end end
  local function plus(a, b) return a + b end

  it("is refused with a sentence", function()
    support.fails("init is missing", "invalid", function() nw.reducer {combine = plus} end)
    support.fails("expected a function", "invalid", function() nw.reducer {init = 0, combine = 3} end)
    support.fails("expected 2 values, one for each term, got 1", "invalid", apply({init = 0, combine = plus}, one))
    support.fails("expected 1 value, one for each term, got 0", "invalid",
      apply {init = 0, combine = function() return nil end})
    support.fails("component 1 is bool, but term 1 is f32", "type",
      apply {init = 0, combine = function(a, b) return nw.lt(a, b) end})
    support.fails("only its two states", "invalid", function()
      local A = nw.placeholder({4, 4}, "f32", "A")
      local k = nw.reduce_axis(4, "k")
      nw.compute({4}, function(i)
        return nw.reducer {init = 0, combine = function(a, b) return a + b + A(i, i) end}(A(i, k), k)
      end)
    end)
    support.fails("does not fit", "range", apply({init = 1000, combine = nw.min}, function(x) return nw.cast(x, "i8") end))
    support.fails("expected a reduce axis", "invalid", function()
      local A = nw.placeholder({4}, "f32", "A")
      nw.compute({4}, function(i) return online({A(i), 1.0}, i) end)
    end)
    support.fails("two components are named x", "invalid",
      apply({init = {0, 0}, names = {"x", "x"}, combine = function(a, b) return a[1] + b[1], a[2] + b[2] end}, one))
  end)

  it("cannot be atomic if it has several outputs", function()
    local s = nw.schedule(rows(online, one))
    support.fails("cannot make the updates of R atomic", "refused", function() s:atomic "R" end)
  end)
end)
