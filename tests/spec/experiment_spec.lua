--- Sweeps.
local nw = require "nestwright"
local json = require "nestwright.json"
local support = require "support"
local fails = support.fails

describe("nw.sweep", function()
  local csv, js

  before_each(function() csv, js = support.temporary ".csv", support.temporary ".json" end)
  after_each(function()
    os.remove(csv)
    os.remove(js)
  end)

  it("runs every combination", function()
    local r = nw.sweep {params = {b = {1, 2}, a = {"x", "y"}}, run = function(p) return {c = p.a .. p.b} end}
    assert.equal(4, #r)
    local all = {}
    for n, row in ipairs(r) do all[n] = row.c end
    assert.same({"x1", "x2", "y1", "y2"}, all)
    assert.truthy(tostring(r):find "a  b  c\nx  1  x1")
  end)

  it("keeps what is done in CSV, and goes on there", function()
    local runs = 0
    local function sweep(limit)
      return nw.sweep {params = {n = {1, 2, 3}}, csv = csv, json = js, run = function(p)
        runs = runs + 1
        if runs > limit then error("stopped", 0) end
        return {square = p.n ^ 2, note = 'a "quoted", one'}
      end}
    end
    assert.equal("stopped", support.error_of(sweep, 2))
    assert.equal(2, select(2, support.read(csv):gsub("\n", "")) - 1)
    local r = sweep(100)
    assert.equal(4, runs)
    assert.equal(9, r[3].square)
    assert.equal('a "quoted", one', r[1].note)
    assert.equal("n,note,square", support.read(csv):match "^[^\n]*")
    assert.equal(3, #json.decode(support.read(js)))
    sweep(0)
    assert.equal(4, runs)
  end)

  it("takes up a file that was cut short", function()
    support.write(csv, 'n,square\n1,1\n2,')
    local ran = {}
    nw.sweep {params = {n = {1, 2}}, csv = csv, run = function(p)
      ran[#ran + 1] = p.n
      return {square = p.n ^ 2}
    end}
    assert.same({2}, ran)
  end)

  it("resumes from JSON alone", function()
    local runs = 0
    local function sweep()
      return nw.sweep {params = {n = {1, 2}}, json = js, run = function(p)
        runs = runs + 1
        return p.n
      end}
    end
    sweep()
    assert.equal(2, sweep()[2].result)
    assert.equal(2, runs)
    support.write(js, "[")
    fails("not the result of a sweep", "parse", sweep)
  end)

  it("makes an error of the library a column, and passes others on", function()
    local s = support.gemm(16)
    local r = nw.sweep {params = {factor = {4, 0}}, run = function(p)
      s:split("i", p.factor)
      s:undo()
      return {ok = true}
    end}
    assert.is_true(r[1].ok)
    assert.truthy(r[2].error:find "factor")
    assert.truthy(support.error_of(nw.sweep, {params = {n = {1}}, run = function() error "mine" end}):find "mine")
  end)

  it("takes times", function()
    local f = support.gemm(16):build {threads = 1}
    local r = nw.sweep {params = {n = {1}}, run = function() return f:time {reps = 3} end}
    assert.is_true(r[1].min > 0)
    local q = nw.sweep {params = {n = {1}}, run = function() return {time = f:time {reps = 3}} end}
    assert.is_true(q[1].time > 0)
  end)

  it("tells times with their units, in its table alone", function()
    local given = nw.timings {{median = 2e-3, samples = {1.9e-3, 2e-3, 2e-3, 2.1e-3}, machine = "here"}}[1]
    local text = tostring(nw.sweep {params = {n = {1}}, run = function() return given end})
    assert.truthy(text:find "2 ms")
    assert.truthy(text:find "1.9 ms")
    assert.truthy(text:find "%d %%")
    local r = nw.sweep {params = {n = {1}}, run = function() return {tiled = given, min = 0.5} end}
    assert.truthy(tostring(r):find "1.9 ms")
    assert.truthy(tostring(r):find "0.5")
    assert.equal(1.9e-3, r[1].tiled)
  end)

  it("says what it wants", function()
    local unknown = fails("unknown option", "invalid", nw.sweep, {params = {a = {1}}, run = print, no = 1})
    assert.equal("its options are params, run, csv, json, keep", unknown.hint)
    fails("expected a function", "invalid", nw.sweep, {params = {a = {1}}})
    fails("params", "invalid", nw.sweep, {run = print})
    fails("params is empty", "invalid", nw.sweep, {params = {}, run = print})
    fails("params.a", "invalid", nw.sweep, {params = {a = 1}, run = print})
    fails("did you mean 'params'", "invalid", nw.sweep, {parms = {}, run = print})
    fails(".", "io", nw.sweep, {params = {a = {1}}, csv = "/nowhere/x.csv", run = function() return 1 end})
  end)
end)

describe("json", function()
  it("round-trips", function()
    for _, v in ipairs {1, 1.5, "a\"\\\n\t\1ü", true, {1, 2, {3}}, {a = {b = "c"}}, -7} do
      assert.same(v, json.decode(json.encode(v)))
    end
    assert.equal("é", json.decode '"\\u00e9"')
    assert.same({a = {}, b = 1}, json.decode ' { "a" : [ ] , "b" : 1 } ')
  end)

  it("refuses what is not", function()
    for _, text in ipairs {"", "{", "[1,", '"x', "{1:2}", "1 2", "nul", ("["):rep(1000)} do
      assert.is_false(pcall(json.decode, text))
    end
  end)

  it("is shown at once, however long a cell is", function()
    local r = nw.sweep {params = {n = {1, 2}}, run = function(p) return {text = p.n == 1 and ("x"):rep(300000) or "y"} end}
    assert.equal("2  y", tostring(r):match "[^\n]*$")
  end)
end)
