--- Tests completion and inspection, without a terminal.
local nw = require "nestwright"
local complete = require "nestwright.show.complete"
local prompt = require "nestwright.show.prompt"
local support = require "support"

local function candidates(text)
  local list, start = complete.complete(text)
  return list, text:sub(start)
end

local function has(list, word)
  for _, item in ipairs(list) do
    if item == word then return true end
  end
  return false
end

describe("completion", function()
  setup(function()
    rawset(_G, "test_schedule", (support.gemm(64)))
    rawset(_G, "test_nw", nw)
    rawset(_G, "test_tensor", nw.placeholder({4}, "f32", "C"))
    rawset(_G, "test_touchy", setmetatable({plain = 1}, {__index = function() error "called" end}))
  end)

  it("offers globals, keywords and fields", function()
    assert.is_true(has(candidates "pri", "print"))
    assert.is_true(has(candidates "x = whi", "while"))
    assert.is_true(has(candidates "string.re", "string.rep"))
    assert.is_true(has(candidates "f(test_nw.pla", "test_nw.placeholder"))
    assert.same({}, (candidates "nosuch.thing"))
    assert.same({"test_nw.zeros"}, (candidates "test_nw.zer"))
  end)

  it("offers the local variables that are visible at the cursor", function()
    local function offered(code, name) return has(candidates(code), name) end
    assert.is_true(offered("local blocks, blown <const> = 1, 2\nprint(blo", "blocks"))
    assert.is_true(offered("local blocks, blown <const> = 1, 2\nprint(blo", "blown"))
    assert.is_true(offered("local function blocked(blow)\n  return blo", "blow"))
    assert.is_true(offered("local function blocked(blow) end blo", "blocked"))
    assert.is_true(offered("f(function(blown, other) return { blo", "blown"))
    assert.is_true(offered("for blown, bloom in pairs(t) do x = blo", "bloom"))
    assert.is_true(offered("for blown = 1, 3 do if x then y() else z = blo", "blown"))
    assert.is_true(offered("if x then local no end local blown = [[\nend]] -- end\nblo", "blown"))
    assert.is_false(offered("if x then local blown = 1 end\nblo", "blown"))
    assert.is_false(offered("function f(blown) return 1 end\nblo", "blown"))
    assert.is_false(offered("x = 'local blown = 1' -- local blown\nblo", "blown"))
    assert.is_false(offered("local blow", "blow"))
    assert.is_false(offered("x.local_blown = 1 nw.blo", "blown"))
  end)

  it("offers methods and fields of objects, without calling a function", function()
    assert.is_true(has(candidates "test_schedule:spl", "test_schedule:split"))
    assert.is_true(has(candidates "test_tensor.dt", "test_tensor.dtype"))
    assert.is_true(has(candidates "test_touchy.pl", "test_touchy.plain"))
    assert.is_true(has(candidates "test_schedule[test_tensor]:ax", "test_schedule[test_tensor]:axes"))
    assert.same({}, (candidates "test_touchy.x.y"))
  end)

  it("offers loops and stages inside quotes", function()
    local list, word = candidates 'test_schedule:split("'
    assert.same({"i", "j", "k"}, list)
    assert.equal("", word)
    assert.is_true(has(candidates 'test_schedule:cache_write("', "C"))
    assert.is_true(has(candidates "test_schedule:parallel 'k", "k"))
    assert.is_true(has(candidates 'test_schedule:reorder("i", "', "j"))
    assert.is_true(has(candidates 'require "nestw', "nestwright"))
    assert.is_true(has(candidates 'test_nw.help "spl', "split"))
    assert.same({}, (candidates '"plain text nestw'))
  end)

  it("offers options inside a table at the end of a call, and their choices", function()
    assert.same({"tail = "}, (candidates 'test_schedule:split("i", 8, {ta'))
    assert.is_true(has(candidates 'test_schedule:split("i", {', "factor = "))
    assert.is_true(has(candidates "test_schedule:build{thr", "threads = "))
    assert.is_true(has(candidates 'test_nw.random({4}, "f32", {se', "seed = "))
    assert.same({"cut"}, (candidates 'test_schedule:split("i", 8, {tail = "c'))
  end)

  it("offers the loops of other stages for steps that move a stage", function()
    local A = nw.placeholder({8, 8}, "f32", "A")
    local P = nw.compute({8, 8}, function(y, x) return A(y, x) * 2 end, "P")
    local Q = nw.compute({8, 8}, function(u, v) return P(u, v) + 1 end, "Q")
    local s = nw.schedule(Q)
    rawset(_G, "test_stages", s)
    rawset(_G, "test_moved", P)
    assert.same({"u", "v"}, (candidates 'test_stages[test_moved]:compute_at("'))
    assert.same({"x", "y"}, (candidates 'test_stages[test_moved]:split("'))
    for _, first in ipairs {"test_moved", '"P"', "test_stages[test_moved]"} do
      assert.same({"u", "v"}, (candidates(('test_stages:compute_at(%s, "'):format(first))))
      assert.same({"u", "v"}, (candidates(("test_stages:store_at(%s, '"):format(first))))
    end
    assert.same({"x", "y"}, (candidates 'test_stages:reverse_compute_at("Q", "'))
    s:compute_at(P, "u")
    assert.same({"u", "v"}, (candidates 'test_stages[test_moved]:store_at("'))
    assert.same({"u", "v"}, (candidates 'test_stages[test_moved]:hoist_storage("'))
    rawset(_G, "test_stages", nil)
    rawset(_G, "test_moved", nil)
  end)

  it("finds which argument is being written", function()
    assert.same({"global", "local", "shared", "warp"}, (candidates 'test_schedule:cache_read("A", "'))
    assert.same({"A", "B", "C"}, (candidates 'test_schedule:cache_read("'))
    assert.same({"C"}, (candidates 'test_schedule:cache_read("B", "global", {"'))
    assert.same({"i", "j", "k"}, (candidates 'test_schedule:compute_at("C", "'))
    assert.same({"local"}, (candidates 'test_schedule[test_tensor]:cache_write("l'))
    assert.same({"i"}, (candidates 'test_schedule:cache_write("C", "local", {at = "i'))
    assert.same({"llvm", "log", "loops", "lowered"}, (candidates 'test_schedule:show "l'))
    assert.same({}, (candidates 'test_schedule:save "l'))
    assert.same({"i", "j", "k"}, (candidates 'test_schedule:moves "'))
    assert.same({"C"}, (candidates 'test_schedule:locations "'))
    assert.same({}, (candidates 'test_schedule:checkout "'))
    assert.same({"lowered"}, (candidates 'test_schedule:why(1, "low'))
    assert.same({"f16", "f32", "f64"}, (candidates 'test_nw.placeholder({8, 8}, "f'))
    assert.same({"u16"}, (candidates 'test_nw.cast(f(1, 2), "u1'))
    assert.same({}, (candidates 'test_nw.placeholder({8, 8}, "f32", "f'))
  end)

  it("offers the names of machines", function()
    local all = nw.machines()
    table.sort(all)
    for _, text in ipairs {'test_schedule:cost{machine = "', 'test_nw.target "', 'test_nw.machine("', 'test_schedule:retarget "',
      'test_nw.misses(test_schedule, {machine = "', 'nw.schedule(C, {target = "', 'test_schedule:show{cost = true, machine = "'} do
      local list, _, files = complete.complete(text)
      assert.same(all, list, text)
      assert.is_falsy(files, text)
    end
    assert.same({"zen5"}, (candidates 'test_nw.target "z'))
  end)

  it("offers the values of options with a fixed set of values, and no names of files there", function()
    for text, want in pairs {
      ['test_schedule:cost{feed = "'] = {"full", "misses"},
      ['test_nw.spacetime(test_schedule, {y = "'] = {"address", "index", "line", "set"},
      ['test_nw.bandwidth(1024, {loop = "'] = {"copy", "read", "triad", "write"},
      ['test_schedule:trace "'] = {"json", "lua"},
      ['unknown:plot{style = "b'] = {"bars"},
      ['test_nw.machine_fields "'] = {"accelerator", "cpu", "gpu"},
      ['test_schedule:partition_auto{objective = "e'] = {"edp", "energy"},
      ['test_schedule:cost{feed = "zzz'] = {},
      ['test_schedule:parallel "zzz'] = {},
    } do
      local list, _, files = complete.complete(text)
      assert.same(want, list, text)
      assert.is_falsy(files, text)
    end
  end)

  it("leaves names of files to strings that may be one", function()
    for _, text in ipairs {'test_schedule:save "x', 'test_nw.load "', 'test_nw.sweep{csv = "', 'io.open "', '"'} do
      local list, _, files = complete.complete(text)
      assert.same({}, list, text)
      assert.is_true(files, text)
    end
    assert.is_falsy((select(3, complete.complete "nosuch")))
    assert.is_falsy((select(3, complete.complete "nosuch.thing")))
  end)

  it("offers nothing inside a long string", function()
    assert.same({}, (candidates "x = [[\n  wh"))
    assert.same({}, (candidates "x = [==[ ]]\n  wh"))
    assert.is_true(has(candidates "x = [[ wh ]] wh", "while"))
  end)

  it("offers the topics of ?", function()
    local list, word = candidates "?spl"
    assert.same({"split"}, list)
    assert.equal("spl", word)
    assert.is_true(has(candidates "? test_sch", "test_schedule"))
    assert.same({"test_nw.zeros"}, (candidates "?test_nw.zer"))
  end)

  it("never raises an error", function()
    for _, text in ipairs {"", "(((", "{{{", '"', "'", "a[", "a[b", "a.b:c.", ":::", "--", "x = [[", "a['b", "\\", "}{)("} do
      assert.equal("table", type((complete.complete(text))))
    end
  end)

  it("also works on a text of a megabyte", function()
    for _, piece in ipairs {" ", "a", "a.", "({", "? ", "--[[", "local a\n", "'", "f("} do
      local text = piece:rep((1 << 20) // #piece)
      local list, start = complete.complete(text .. "\ntest_nw.zero")
      if piece ~= "'" and piece ~= "--[[" then
        assert.same({"test_nw.zeros"}, list, piece)
        assert.equal(#text + 2, start, piece)
      end
      complete.complete(text)
      complete.inspect(text)
    end
  end)
end)

describe("inspection", function()
  it("of a table of functions lists them", function()
    for _, text in ipairs {(complete.inspect "?nw.partition"), nw.help(nw.partition), nw.help "nw.partition"} do
      for _, name in ipairs {"conditions", "tvm_like"} do
        assert.truthy(tostring(text):find("nw.partition." .. name .. "(s: nw.schedule", 1, true), tostring(text))
      end
    end
    assert.truthy(tostring(nw.help()):find("Functions of nw.partition", 1, true))
  end)

  it("describes rows and values", function()
    assert.truthy(complete.inspect("?test_nw.sum"):find "nw.sum")
    assert.truthy(complete.inspect("split"):find "schedule:split")
    assert.truthy(complete.inspect("??split"):find "schedule:split")
    rawset(_G, "test_written", loadfile "tests/spec/support.lua"().read)
    assert.falsy(complete.inspect("test_written?"):find "local file")
    assert.truthy(complete.inspect("test_written??"):find "local file = assert%(io.open")
    rawset(_G, "test_written", nil)
    assert.truthy(complete.inspect("test_schedule:split"):find "Splits a loop")
    assert.truthy(complete.inspect("test_tensor"):find "test_tensor: tensor")
    assert.truthy(complete.inspect("?"):find "Functions of nw")
    assert.truthy(complete.inspect("nothing_of_the_sort"):find "nothing is named")
    assert.truthy(complete.inspect("splt"):find "did you mean 'split'%?")
  end)
end)

describe("display", function()
  local show = function(...) return prompt.display(false, ...) end

  it("is a text for people", function()
    assert.is_nil(show())
    assert.equal("nil", show(nil))
    assert.equal('"a"', show "a")
    assert.equal("a\nb", show "a\nb")
    assert.equal("1  2", show(1, 2))
    assert.equal("{1, 2, [3.5] = {}, a = true}", show {1, 2, a = true, [3.5] = {}})
    assert.truthy(show(support.gemm(8)):find "for i in")
  end)

  it("has a limited length", function()
    local loop = {}
    loop.self = loop
    assert.equal("{self = {...}}", show(loop))
    local long = {}
    for i = 1, 1000 do long[i] = i end
    assert.is_true(#show(long) < 1000)
    assert.truthy(show({nw.zeros {100, 100}}):find "f32%[100, 100%] %.%.%.")
  end)

  it("of errors never fails", function()
    assert.truthy(prompt.error_text({}, nil, false):find "error object is a table")
    assert.equal("nil", prompt.error_text(nil, nil, false))
    assert.truthy(prompt.error_text("x", "  a:1: in f\n  b:2: in g\n", false):find "called from")
    assert.truthy(prompt.error_text("x", nil, true):find "\27")
  end)

  it("contains remarks", function()
    prompt.notes()
    assert.is_nil(prompt.notes())
  end)
end)
