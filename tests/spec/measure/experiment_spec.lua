--- Tests sweeps over parameters, and JSON.
local nw = require "nestwright"
local core = require "nestwright.core"
local json = require "nestwright.show.json"
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

  it("keeps finished points in CSV, and continues from them", function()
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

  it("continues a file whose last line is incomplete", function()
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

  it("puts an error of the library into a column, and passes on other errors", function()
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

  it("accepts times as results", function()
    local f = support.gemm(16):build {threads = 1}
    local r = nw.sweep {params = {n = {1}}, run = function() return f:time {reps = 3} end}
    assert.is_true(r[1].median > 0)
    local q = nw.sweep {params = {n = {1}}, run = function() return {time = f:time {reps = 3}} end}
    assert.is_true(q[1].time_median > 0)
  end)

  it("keeps the median of a time and no other statistic, and names it in each column", function()
    local given = nw.timings {{min = 1e-3, median = 2e-3, samples = {1e-3, 2e-3, 2e-3, 2.1e-3}, machine = "here"}}[1]
    nw.sweep {params = {n = {1}}, csv = csv, json = js, run = function() return given end}
    assert.equal("n,machine,median,q1,q3,spread", support.read(csv):match "^[^\n]*")
    assert.is_nil(json.decode(support.read(js))[1].min)
    local r = nw.sweep {params = {n = {1}}, run = function() return {tiled = given} end}
    assert.same({n = 1, machine = "here", tiled_median = 2e-3, tiled_q1 = 1e-3, tiled_q3 = 2e-3}, r[1])
    assert.equal("n  tiled_median\n1  2 ms", tostring(r))
    assert.falsy(tostring(nw.sweep {params = {n = {1}}, run = function() return given end}):find "min")
  end)

  it("writes units of times only in its printed table", function()
    local given = nw.timings {{median = 2e-3, samples = {1.9e-3, 2e-3, 2e-3, 2.1e-3}, machine = "here"}}[1]
    local text = tostring(nw.sweep {params = {n = {1}}, run = function() return given end})
    assert.truthy(text:find "2 ms")
    assert.truthy(text:find "%d %%")
    local r = nw.sweep {params = {n = {1}}, run = function() return {tiled = given, min = 0.5} end}
    assert.truthy(tostring(r):find "2 ms")
    assert.truthy(tostring(r):find "0.5")
    assert.equal(2e-3, r[1].tiled_median)
  end)

  it("says which arguments are valid", function()
    local unknown = fails("unknown option", "invalid", nw.sweep, {params = {a = {1}}, run = print, no = 1})
    assert.equal("the options are params, run, csv, json, keep", unknown.hint)
    fails("expected a function", "invalid", nw.sweep, {params = {a = {1}}})
    fails("params", "invalid", nw.sweep, {run = print})
    fails("params is empty", "invalid", nw.sweep, {params = {}, run = print})
    fails("params.a", "invalid", nw.sweep, {params = {a = 1}, run = print})
    fails("did you mean 'params'", "invalid", nw.sweep, {parms = {}, run = print})
    fails(".", "io", nw.sweep, {params = {a = {1}}, csv = "/nowhere/x.csv", run = function() return 1 end})
  end)
end)

describe("a parameter of a sweep", function()
  local function one(params, o)
    local options = {params = params, run = function() return 1 end}
    for key, value in pairs(o or {}) do options[key] = value end
    return nw.sweep(options)
  end

  it("has a printable name", function()
    fails("the name of a parameter is empty", "invalid", one, {[""] = {1}})
    fails("byte 2, \\x0a, is a control character", "invalid", one, {["a\n"] = {1}})
    fails("the name of a parameter must be a text, got a number", "invalid", one, {{1, 2}})
    fails("the name is reserved", "invalid", one, {error = {1}})
  end)

  it("is a list without gaps", function()
    fails("params.n has no value 2", "invalid", one, {n = {1, nil, 3}})
    fails('params.n is not a list: it has the key "x"', "invalid", one, {n = {1, x = 2}})
    assert.equal(0, #one {n = {}, m = {1, 2}})
  end)

  it("is not a function, a table of functions, or an object of the library", function()
    fails("params.n: value 2 is a function", "invalid", one, {n = {1, print}})
    fails("value 1 is a function", "invalid", one, {n = {{8, print}}})
    fails("value 1 is an array", "invalid", one, {n = {nw.zeros {2}}})
    fails("value 1 is neither a list nor a table with string keys", "invalid", one, {n = {{8, x = 1}}})
    local itself = {}
    itself[1] = itself
    fails("nested deeper than 16 lists", "invalid", one, {n = {itself}})
    assert.truthy(tostring(one {n = {{8, 8}}}):find("[8, 8]", 1, true))
  end)

  it("is not NaN, and is finite if it is kept in a file", function()
    fails("params.n: value 2 is NaN", "invalid", one, {n = {1, 0 / 0}})
    for _, kind in ipairs {"csv", "json"} do
      for _, value in ipairs {1 / 0, -1 / 0, {1 / 0}} do
        local path = support.temporary()
        fails("params.n: value 1 is infinite", "invalid", one, {n = {value}}, {[kind] = path})
        assert.is_nil(io.open(path))
      end
    end
    assert.equal(2, #one {n = {1 / 0, -1 / 0}})
  end)

  it("distinguishes 1 and true from their texts", function()
    local all = {1, "1", true, "true", 0.1 + 0.2, 0.3}
    local ran = 0
    nw.sweep {params = {n = all}, run = function() ran = ran + 1 end}
    assert.equal(#all, ran)
    ran = 0
    nw.sweep {params = {n = {8, 8.0}}, run = function() ran = ran + 1 end}
    assert.equal(1, ran)
  end)
end)

describe("a result of a sweep", function()
  local function one(run) return nw.sweep {params = {n = {1, 2}}, run = run} end

  it("must not have the name of a parameter", function()
    fails("run returns 3 in the column 'n', which is also the parameter 'n'", "invalid", one, function() return {n = 3} end)
    local r = one(function(p)
      p.more = 2 * p.n
      return p
    end)
    assert.same({2, 4}, {r[2].n, r[2].more})
    local given = nw.timings {{median = 2e-3, samples = {2e-3}, threads = 1}}[1]
    assert.equal(2, nw.sweep({params = {threads = {2}}, run = function() return given end})[1].threads)
    fails("the parameter 'median'", "invalid", nw.sweep, {params = {median = {2}}, run = function() return given end})
  end)

  it("that is refused does not remove finished points from the file", function()
    local path = support.temporary ".csv"
    fails("the column 'f' that run returns is a function", "invalid", nw.sweep, {params = {n = {1, 2}}, csv = path,
      run = function(p) return p.n == 1 and {f = 5} or {f = print} end})
    assert.equal("n,f\n1,5\n", support.read(path))
    os.remove(path)
  end)

  it("is a number, a text, a boolean or a time", function()
    for _, value in ipairs {print, {}, nw.zeros {2}, io.stdout} do
      fails("the column 'f' that run returns is", "invalid", one, function() return {f = value} end)
    end
    fails("the column 'result' that run returns is a function", "invalid", one, function() return print end)
    fails("the name of a column that run returns: byte 1", "invalid", one, function() return {["\27"] = 1} end)
    fails("two values for the column '1'", "invalid", one, function() return {"a", ["1"] = "b"} end)
    local given = nw.timings {{median = 2e-3, samples = {2e-3}}}[1]
    fails("two values for the column 't_median'", "invalid", one, function() return {t = given, t_median = 7} end)
  end)
end)

describe("a sweep of many points", function()
  local many = {}
  for n = 1, 3000 do many[n] = n end
  local function sweep(params) return nw.sweep {params = params, run = function() error("it has begun", 0) end} end

  it("is refused before it begins if its rows do not fit into memory", function()
    fails("params a %(3000 values%), b %(3000 values%), c %(3000 values%) make 27000000000 points: their rows take .* TiB",
      "memory", sweep, {a = many, b = many, c = many})
    fails("f %(3000 values%) make more than 9223372036854775807 points", "limit",
      sweep, {a = many, b = many, c = many, d = many, e = many, f = many})
    assert.equal(0, #sweep {a = many, b = many, c = many, d = many, e = many, f = many, g = {}})
  end)

  it("runs nothing more after an interrupt", function()
    local ran = 0
    fails("interrupted", "interrupt", nw.sweep, {params = {a = many, b = many}, run = function()
      ran = ran + 1
      if ran == 3 then core.fail("interrupt", "interrupted") end
    end})
    assert.equal(3, ran)
    local code = "local nw = require 'nestwright' local l = {} for n = 1, 3000 do l[n] = n end "
      .. "nw.sweep {params = {a = l, b = l}, run = function() return 1 end}"
    local out = support.run(('timeout -s INT 1 %s -e "%s"'):format(support.program, code))
    assert.truthy(out:find("interrupted", 1, true), out)
  end)

  it("says which points are done if Lua runs out of memory", function()
    local path = support.temporary ".json"
    local function run(p) return p.n < 3 and p.n or error("not enough memory", 0) end
    fails("memory.*; the first 2 of 3 points are finished, and are in " .. path, "memory", nw.sweep,
      {params = {n = {1, 2, 3}}, json = path, run = run})
    assert.equal(2, #json.decode(support.read(path)))
    fails("2 of 3 points were finished, and are lost", "memory", nw.sweep, {params = {n = {1, 2, 3}}, run = run})
    os.remove(path)
  end)
end)

describe("json, and the table of a sweep:", function()
  it("json writes the fewest digits that give the same number", function()
    for value, text in pairs {[0.1] = "0.1", [0.1 + 0.2] = "0.30000000000000004", [1 / 3] = "0.3333333333333333", [2.5] = "2.5",
      [5e-324] = "4.94065645841247e-324", [math.maxinteger] = "9223372036854775807", [math.mininteger] = "-9223372036854775808"} do
      assert.equal(text, json.encode(value))
      assert.equal(value, json.decode(text))
    end
  end)

  it("json gives the same value after encoding and decoding", function()
    for _, v in ipairs {1, 1.5, "a\"\\\n\t\1ü", true, {1, 2, {3}}, {a = {b = "c"}}, -7} do
      assert.same(v, json.decode(json.encode(v)))
    end
    assert.equal("é", json.decode '"\\u00e9"')
    assert.same({a = {}, b = 1}, json.decode ' { "a" : [ ] , "b" : 1 } ')
  end)

  it("json refuses invalid JSON", function()
    for text, why in pairs {
      [""] = "expected a value at character 1",
      ["{"] = "expected a key at character 2",
      ["[1,"] = "expected a value at character 4",
      ['"x'] = "unterminated string at character 2",
      ["{1:2}"] = "expected a key at character 2",
      ["1 2"] = "something follows the value at character 2",
      nul = "expected a value at character 1",
      [("["):rep(1000)] = "nested too deeply at character 102",
    } do
      assert.matches("^not JSON: " .. why, support.error_of(json.decode, text))
    end
  end)

  it("a table with a long text is printed", function()
    local r = nw.sweep {params = {n = {1, 2}}, run = function(p) return {text = p.n == 1 and ("x"):rep(300000) or "y"} end}
    assert.equal("2  y", tostring(r):match ".*\n(.*)$")
  end)
end)
