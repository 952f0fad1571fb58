--- Tests that a file is either written completely or not changed. Also tests which files are read, and which points a sweep keeps.
--- tests/safe tests more, in separate sessions.
local nw = require "nestwright"
local core = require "nestwright.core"
local support = require "support"
local fails = support.fails

local path

local function fresh(suffix)
  before_each(function() path = support.temporary(suffix) end)
  after_each(function() os.remove(path) end)
end

describe("a file", function()
  fresh ".txt"

  it("is written completely, and keeps its mode", function()
    core.write_file("save", path, "one\0two")
    assert.equal("one\0two", core.read_file("load", path))
    os.execute("chmod 640 " .. path)
    core.write_file("save", path, "three")
    assert.equal("640\n", (support.run("stat -c %a " .. path)))
    core.write_file("save", path .. "2", "x", {private = true})
    assert.equal("600\n", (support.run("stat -c %a " .. path .. "2")))
    os.remove(path .. "2")
  end)

  it("is not lost if it cannot be written", function()
    support.write(path, "precious")
    local full = support.run(("%s -e \"require 'nestwright.core'.write_file('save', '/dev/stdout', 'x')\" >/dev/full"):format(
      support.program))
    assert.truthy(full:find("save: cannot write /dev/stdout: no space left on the device", 1, true), full)
    fails("Not a directory", "io", core.write_file, "save", path .. "/x", "x")
    fails("it is a directory", "io", core.write_file, "save", "/tmp", "x")
    local script = ("require 'nestwright.core'.write_file('save', '%s', ('x'):rep(5000))"):format(path)
    local out, status = support.run(("ulimit -f 1; %s -e \"%s\""):format(support.program, script))
    assert.equal(1, status)
    assert.truthy(out:find("it would exceed the limit on file sizes (ulimit -f); the existing file is unchanged", 1, true), out)
    assert.equal("precious", support.read(path))
  end)

  it("is written through a link, and the link remains", function()
    os.execute(("ln -s %s.real %s"):format(path, path))
    core.write_file("save", path, "text")
    assert.equal("text", support.read(path .. ".real"))
    assert.equal(path .. ".real\n", (support.run("readlink " .. path)))
    os.remove(path .. ".real")
  end)

  it("is not replaced if it is a pipe", function()
    os.execute("mkfifo " .. path)
    fails("no process reads from it", "io", core.write_file, "save", path, "x")
    fails("it is a FIFO, not a regular file", "io", core.read_file, "load", path)
    local code = "require 'nestwright.core'.write_file('x', '/dev/stdout', 'as it is printed')"
    assert.equal("as it is printed", (support.run(('%s -e "%s"'):format(support.program, code))))
  end)

  it("must not have a NUL in its name", function()
    fails("byte 2 is NUL", "invalid", core.write_file, "save", "a\0b", "x")
    fails("a string with a NUL byte", "invalid", nw.load, "a\0b")
    fails("is empty", "invalid", nw.load, "")
  end)

  it("of the session must be writable only by its owner", function()
    support.write(path, "text")
    os.execute("chmod 600 " .. path)
    assert.equal("text", core.read_own(path))
    os.execute("chmod 622 " .. path)
    local text, why = core.read_own(path)
    assert.is_nil(text)
    assert.truthy(why:find("other users may write to it (mode 622", 1, true), why)
    assert.same({}, {core.read_own(path .. "-none")})
  end)
end)

describe("the file of a sweep", function()
  fresh ".csv"

  local function sweep(list, o)
    local ran = 0
    local options = {params = {n = list}, csv = path, run = function(p) ran = ran + 1 return p.n * 2 end}
    for key, value in pairs(o or {}) do options[key] = value end
    return nw.sweep(options), ran
  end

  it("keeps the points that a later sweep does not have", function()
    sweep {1, 2, 3}
    sweep {2}
    assert.equal("n,result\n1,2\n2,4\n3,6\n", support.read(path))
    local r, ran = sweep {4, 3}
    assert.same({2, 1, 8, 6}, {#r, ran, r[1].result, r[2].result})
    assert.equal("n,result\n1,2\n2,4\n3,6\n4,8\n", support.read(path))
  end)

  it("drops the points that a later sweep does not have, if keep = false", function()
    sweep {1, 2, 3}
    sweep({2}, {keep = false})
    assert.equal("n,result\n2,4\n", support.read(path))
    fails("expected a boolean", "invalid", sweep, {2}, {keep = 3})
  end)

  it("does not change rows that the sweep did not write", function()
    support.write(path, '\239\187\191n,note,result\r\n"7","007, and ""more""",0x10\r\n8,,1e3\r\n')
    sweep {9}
    assert.equal('n,note,result\n7,"007, and ""more""",0x10\n8,,1e3\n9,,18\n', support.read(path))
  end)

  it("is refused if it contains something else", function()
    for text, why in pairs {["Dear all,\nhello\n"] = "no column 'n'", ["n,result\n1,2,3\n"] = "record 2 has 3 fields",
      ['n,result\n1,"2\n3,4\n'] = "record 2 is not CSV", ["n,t,result\n1,1,2\n1,2,3\n"] = "two different entries for n=1"} do
      support.write(path, text)
      fails(why, "parse", sweep, {1})
      assert.equal(text, support.read(path))
    end
    fails("csv and json are both", "invalid", sweep, {1}, {json = path})
  end)

  it("keeps points that another process has added", function()
    sweep {1}
    sweep({2, 3}, {run = function(p)
      if p.n == 3 then support.write(path, support.read(path) .. "77,154\n") end
      return p.n * 2
    end})
    assert.equal("n,result\n1,2\n2,4\n3,6\n77,154\n", support.read(path))
  end)

  it("accepts lists as values, and texts that look like numbers", function()
    local _, ran = sweep({{8, 8}, "007", true}, {run = function() return 1 end})
    assert.equal(0, ran)
    local again = 0
    local r = sweep({{8, 8}, "007", true}, {run = function() again = again + 1 end})
    assert.same({0, "007", 8}, {again, r[2].n, r[1].n[1]})
  end)

  -- Numbers that a file could easily change: whole floats, floats with 17 digits, and the ends of the range of integers.
  local HARD = {2 ^ 3, 1e15, 2.0 ^ 40, 2.0 ^ 62, 2 ^ 63, 0.1 + 0.2, 0.3, 1 / 3, (1 << 53) + 1, 2 ^ 53, math.maxinteger,
    math.mininteger, -0.0, 5e-324, 1.7976931348623157e308}
  local TEXTS = {"", "007", "x", "a,b", 'q"', "l\nm", "\0", "\r", " 5", "0x10", "1e3", true, {8, 8.0}, {a = {1e15}}}

  it("contains every point, in CSV, JSON, and both", function()
    local json = path .. ".json"
    for _, o in ipairs {{csv = path}, {csv = false, json = json}, {csv = path, json = json}} do
      o.csv = o.csv or nil
      local function all(list)
        local ran = 0
        nw.sweep {params = {n = list}, csv = o.csv, json = o.json, run = function() ran = ran + 1 return {third = 1 / 3} end}
        return ran
      end
      for _, list in ipairs {HARD, TEXTS} do
        assert.equal(#list, all(list))
        assert.equal(0, all(list))
        assert.equal(1, all {5}) -- a sweep with other points reads the file and writes it again with the old points
        assert.equal(0, all(list))
        if o.csv and o.json then
          os.remove(path)
          assert.equal(0, all(list))
          os.remove(json)
          assert.equal(0, all(list))
        end
        os.remove(path)
        os.remove(json)
      end
    end
  end)

  it("treats 8 and 8.0 as one point", function()
    local json = path .. ".json"
    for _, o in ipairs {{}, {json = json}} do
      assert.equal(1, select(2, sweep({8.0}, o)))
      assert.equal(0, select(2, sweep({8}, o)))
      assert.equal(1, select(2, sweep({8, 2 ^ 3, 9}, o)))
      assert.equal("n,result\n8,16.0\n9,18\n", support.read(path))
      os.remove(path)
    end
    os.remove(json)
  end)

  it("with only JSON may have values that CSV cannot distinguish", function()
    local json = path .. ".json"
    local four = {1, "1", true, "true"}
    local function of_json(list) return select(2, sweep(list, {json = json, csv = json .. ".csv", run = nil})) end
    fails('params.n: 1 and "1" are two points, but look the same in a CSV file', "invalid", sweep, {1, "1"})
    fails('true and "true" are two points', "invalid", sweep, {true, "true"})
    fails('"%[8, 8%]" are two points', "invalid", sweep, {{8, 8}, "[8, 8]"})
    assert.is_nil(io.open(path))
    local ran = 0
    local function all() nw.sweep {params = {n = four}, json = json, run = function() ran = ran + 1 return 1 end} end
    all()
    all()
    assert.equal(4, ran)
    fails('has the point n="1", which a CSV file cannot distinguish from n=1', "invalid", of_json, {7})
    os.remove(json)
  end)

  it("is read with the types of the sweep's values, because CSV has no types", function()
    sweep({"1", "x"}, {run = function() return 5 end})
    local r, ran = sweep {1}
    assert.same({0, 5, 1}, {ran, r[1].result, r[1].n})
    assert.equal("n,result\n1,5\nx,5\n", support.read(path))
    local _, again = sweep({7, "007"}, {run = function() return 6 end})
    assert.equal("n,result\n1,5\nx,5\n7,6\n007,6\n", support.read(path))
    assert.equal(0, again)
  end)

  it("may have numbers of 14 digits", function()
    local old = "n,result\n8.0,1.0\n8,2\n0.33333333333333,0.66666666666667\n1e+15,3\n"
    support.write(path, old)
    local r, ran = sweep {8, 8.0, 1e15, 1 / 3}
    assert.same({1, 1.0, 3}, {ran, r[1].result, r[3].result})
    assert.equal(old .. "0.3333333333333333,0.6666666666666666\n", support.read(path))
  end)

  it("with numbers of 14 digits is completed by the JSON file", function()
    local json = path .. ".json"
    support.write(path, "n,result\n8.0,1.0\n0.33333333333333,0.66666666666667\n1e+15,3.0\n")
    support.write(json, '[{"n": 8, "result": 1}, {"n": 0.33333333333333331, "result": 0.66666666666666663},\n'
      .. '{"n": 1000000000000000, "result": 3}]\n')
    local _, ran = sweep({8, 1e15, 1 / 3}, {json = json})
    assert.equal(0, ran)
    assert.equal("n,result\n8.0,1.0\n0.3333333333333333,0.6666666666666666\n1e+15,3.0\n", support.read(path))
    os.remove(json)
  end)

  it("may have infinite results in CSV", function()
    local odd = {1 / 0, -1 / 0, 0 / 0}
    for _ = 1, 2 do
      local r = sweep({1, 2, 3}, {run = function(p) return odd[p.n] end})
      assert.same({1 / 0, -1 / 0}, {r[1].result, r[2].result})
      assert.is_true(r[3].result ~= r[3].result)
      assert.equal("n,result\n1,inf\n2,-inf\n3,nan\n", support.read(path))
    end
  end)

  it("has the same points in JSON", function()
    local json = path:gsub("csv$", "json")
    sweep({1, 2}, {json = json})
    os.remove(path)
    sweep({3}, {json = json})
    assert.equal("n,result\n1,2\n2,4\n3,6\n", support.read(path))
    support.write(path, "n,result\n1,5\n")
    fails("its 'result' for n=1 differs from that in", "parse", sweep, {1}, {json = json})
    os.remove(json)
  end)
end)

describe("a machine record in a file", function()
  fresh ".lua"

  it("cannot access the session", function()
    support.write(path, "math.max = function() return -7 end math.floor = nil return {name = 'x', extends = 'zen5'}")
    assert.equal("x", nw.machine(path).name)
    assert.same({2, 2}, {math.max(1, 2), math.floor(2.5)})
  end)

  it("is refused if it runs too long, needs too much memory, uses methods of strings, or contains a function", function()
    for text, why in pairs {["while true do end"] = "it runs too long",
      ["local s = 'x' while true do s = s .. s end"] = "not enough memory",
      ["return {name = ('x'):rep(9)}"] = "attempt to index a string", ["return {f = math.floor}"] = "contains a value that"} do
      support.write(path, text)
      fails(why, "invalid", nw.machine, path)
    end
  end)

  it("may contain integers, floats, texts, booleans and tables", function()
    local value = core.run_record("return {1, 2.5, 'a\\0b', true, {x = math.huge}, [2.5] = math.maxinteger}", "=x")
    assert.same({1, 2.5, "a\0b", true, {x = math.huge}, [2.5] = math.maxinteger}, value)
    assert.same({"integer", "float"}, {math.type(value[1]), math.type(value[2])})
    assert.same({nil, "it contains a value that is not a number, text, boolean or table"},
      {core.run_record("return math.floor", "=x")})
  end)
end)

describe("arithmetic in sizes", function()
  it("is evaluated", function()
    local given = {M = 17, N_2 = 4}
    for text, want in pairs {["M // 4 + 1"] = 5, ["min(M, N_2)"] = 4, ["max(M, N_2) % 4 == 1"] = true, ["not (M < N_2)"] = true} do
      assert.equal(want, core.size_value(text, given))
    end
  end)

  it("allows nothing else", function()
    for _, text in ipairs {"K", "M .. M", "('x'):rep(9)", "(function() while true do end end)()", "M{}", "M[1]", "print(M)",
      "M(3)", ""} do
      assert.is_nil(core.size_value(text, {M = 17}))
    end
  end)
end)

describe("an exported library", function()
  it("can have a name that looks like an option of the compiler", function()
    local dir = support.temporary()
    os.execute("mkdir " .. dir)
    local program = support.run("realpath " .. support.program):gsub("\n", "")
    support.write(dir .. "/e.lua", [[
      local nw = require "nestwright"
      local A = nw.placeholder({8}, "f32", "A")
      nw.schedule(nw.compute({8}, function(i) return A(i) + 1 end, "C")):build():export "--help.so"
    ]])
    local out = support.run(("cd %s && %s e.lua && ls"):format(dir, program))
    assert.equal("--help.h\n--help.so\ne.lua\n", out)
    os.execute("rm -r " .. dir)
  end)
end)
