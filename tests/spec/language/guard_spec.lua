--- Tests the checks of arguments. A row documents one function: its name, signature and description. Arguments are checked against
--- the signature of the row.
local nw = require "nestwright"
local core = require "nestwright.core"
local guard = require "nestwright.language.guard"
local rows = require "nestwright.language.rows"
local signature = require "nestwright.language.signature"
local support = require "support"

describe("a signature", function()
  it("is read as parameters with types", function()
    local p = signature.parameters("(self: nw.array, at?: (integer|nw.loop)[], "
      .. "o: {a?: fun(x: any): any ..., b: table<string, number>}, ...: 'x'|\"y\"): any")
    assert.same({"self", "at", "o", "..."}, {p[1].name, p[2].name, p[3].name, p[4].name})
    assert.is_true(p[2].optional)
    assert.equal("(integer|nw.loop)[]", p[2].kind)
    assert.equal("list", p[2].type.kind)
    assert.same({"a", "b"}, {p[3].type.of[1].name, p[3].type.of[2].name})
    assert.equal("map", p[3].type.of[2].type.kind)
    assert.equal("x", p[4].type.of[1].text)
  end)

  it("is refused if it is invalid", function()
    assert.matches("no such type: nonsense", support.error_of(guard.guarded("f", "(a: nonsense)", print), 1))
    for text, why in pairs {
      [""] = "no bracket",
      ["(a)"] = "no colon",
      ["(a: )"] = "no type",
      ["(a: {b})"] = "no colon",
      ["(a: integer"] = "no parameter",
      ["(a: table<string>)"] = "no comma",
    } do
      assert.matches(why, support.error_of(signature.parameters, text))
    end
  end)

  it("of every row can be used to check calls", function()
    for _, row in ipairs(rows.all()) do
      if not row.field then
        for _, param in ipairs(signature.parameters(row.signature)) do assert.truthy(guard.words(param.type)) end
        local _, why = pcall(guard.guarded(row.name, row.signature, function() end), print)
        assert.falsy(tostring(why):find("no such type", 1, true), row.name)
      end
    end
  end)
end)

describe("arguments", function()
  local f = guard.guarded("f", "(n: integer, text?: string, o?: {deep?: {list: number[]}, mode?: 'a'|'b'}, ...: nw.expr|number)",
    function(...) return select("#", ...), ... end)

  it("are passed on unchanged, also a nil at the end", function()
    assert.equal(1, (f(1)))
    assert.equal(4, (f(1, nil, nil, 7)))
    assert.equal(2, (f(2.0, nil)))
    assert.equal(5, (f(1, "x", {deep = {list = {1, 2.5}}, mode = "b"}, 3, nw.size "M")))
  end)

  local function says(message, hint, ...)
    local err = support.fails("", nil, f, ...)
    assert.equal(message, err.message)
    assert.equal(hint, err.hint)
  end

  it("of another type are named", function()
    says("f: n: expected a whole number, got 1.5", nil, 1.5)
    says("f: n: expected a whole number, got nil", nil)
    says("f: text: expected a string, got a string with a NUL byte", nil, 1, "a\0b")
    says("f: o: expected a table of options, got a number", nil, 1, "x", 3)
    says("f: o.mode: expected 'a' or 'b', got 'c'", nil, 1, "x", {mode = "c"})
    says("f: o.deep.list[2]: expected a number, got a string", nil, 1, "x", {deep = {list = {1, "2"}}})
    says("f: o.deep.list: expected a list, got nil", "did you mean 'list'?", 1, "x", {deep = {lst = {}}})
    says("f: argument 5: expected an expression or a number, got a boolean",
      "Lua's == and ~= give true or false at once: write nw.eq(a, b) or nw.ne(a, b)", 1, "x", nil, 2, true)
  end)

  it("that the function does not have are refused, with a suggestion", function()
    local g = guard.guarded("g", "(shape: integer|integer[], dtype?: string, options?: {most?: integer, least?: integer})", print)
    local function refuses(message, hint, ...)
      local err = support.fails("", "invalid", g, ...)
      assert.equal(message, err.message)
      assert.equal(hint, err.hint)
    end
    refuses("g takes (shape, dtype, options): argument 4, a boolean, is one too many", nil, 1, "x", {}, false)
    refuses("g: unknown option 'mst'", "did you mean 'most'?", 1, "x", {mst = 1})
    refuses("g: unknown option 'other'", "the options are most, least", 1, "x", {most = 1, other = 1})
    refuses("g: unknown option '1'", "the options are most, least", 1, "x", {7})
    refuses("g: unknown option 'a table'", "the options are most, least", 1, "x", {[{}] = 7})
    refuses("g: shape: unknown key 'dtype'", "dtype is a separate argument: (shape, dtype, options)", {1, 2, dtype = "f64"})
    refuses("g: shape: unknown key '4'", "a list has only the keys 1 to n", {1, 2, [4] = 3})
    refuses("g: shape: expected a whole number or a list, got a table", "the options come last: (shape, dtype, options)",
      {most = 1})
    says("f: o.deep: unknown key 'lost'", "did you mean 'list'?", 1, "x", {deep = {list = {}, lost = 1}})
    support.fails("none takes no arguments: argument 1, a number, is one too many", "invalid",
      guard.guarded("none", "()", print), 1)
    local s = support.gemm(4)
    support.fails("trace takes %(format%): argument 2, a table", "invalid", s.trace, s, "lua", {})
    support.fails("machines takes no arguments", "invalid", nw.machines, "x")
    support.fails("dtypes takes no arguments", "invalid", nw.dtypes, 1)
    support.fails("zeros: shape: unknown key 'dtype'", "invalid", nw.zeros, {2, dtype = "f64"})
    local a = nw.zeros(4)
    support.fails("getflat: it takes %(position%): argument 2, a number, is superfluous", "invalid", a.getflat, a, 1, 2)
    support.fails("setflat: it takes %(position, value%): argument 3, a number", "invalid", a.setflat, a, 1, 2, 3)
    support.fails("fill_list: it takes %(values%): argument 2, a table", "invalid", a.fill_list, a, {1, 2, 3, 4}, {})
    support.fails("tensor: values: entry {1}: unknown key 'x'", "invalid", nw.tensor, {{1}, {2, x = 3}})
  end)

  it("that are nil at the end of the list are ignored", function()
    assert.equal("f32", nw.zeros({1}, nil, nil).dtype)
  end)

  it("are not limited in number if the row has '...', and a table without documented fields may have any keys", function()
    local s = support.gemm(4)
    assert.equal(3, s:unsafe(function(_, a, b) return a + b end, 1, 2))
    assert.truthy(nw.maximum(nw.i32(1), 2, 3, 4, 5))
    assert.truthy(nw.timings {a = {median = 1}, b = {median = 2}})
    assert.truthy(nw.timeline {{lane = "a", from = 0, to = 1, first = 3, last = 7}})
    local listed = setmetatable({1, 2, note = "an object has keys of its own"}, {})
    assert.same({1, 2}, nw.zeros(listed):shape())
  end)

  it("may be a list from table.pack, whose n is its length", function()
    local length = guard.guarded("f", "(list: integer[])", function(list) return #list end)
    assert.equal(3, length(table.pack(1, 2, 3)))
    support.fails("unknown key 'n'", "invalid", length, {1, 2, 3, n = 2})
  end)

  it("may be callbacks that yield", function()
    local run = guard.guarded("run", "(f: function)", function(g) return g() end)
    local co = coroutine.wrap(function() return run(function() return coroutine.yield "inside" end) end)
    assert.equal("inside", co())
    assert.equal("back", co "back")
  end)
end)

describe("a method that is called on another object", function()
  it("raises an error that shows the right call", function()
    local plot = nw.timeline {{lane = "a", from = 0, to = 1}}
    for name, method in pairs {svg = plot.svg, text = plot.text, bundle = nw.order((support.gemm(4))).bundle} do
      local err = support.fails(name .. ": self: expected a plot, got a number", "invalid", method, 1)
      assert.truthy(err.hint:find("x:" .. name, 1, true))
    end
    local s = support.gemm(4)
    support.fails("undo: self: expected a schedule, got a plot", "invalid", s.undo, plot)
    support.fails("vectorize: self: expected a stage, got a number", "invalid", s["C"].vectorize, 3, "i")
  end)
end)

describe("a call that once raised an error of Lua", function()
  it("names the argument", function()
    local s = support.gemm(8)
    support.fails("tile: argument 2: expected a loop or a string, got a function", "invalid", s.tile, s, "i", print, 3)
    support.fails("sigmoid: x: expected an expression", "type", nw.sigmoid, true)
  end)

  it("draws a timeline in which no time passes", function()
    local plot = nw.timeline {{lane = "a", from = 0, to = 0}}
    assert.truthy(plot:text():find("no time passes", 1, true))
    if support.have_gnuplot() then assert.truthy(plot:svg():find("<svg", 1, true)) end
  end)
end)

describe("an error in an internal function", function()
  it("names the function that was called", function()
    local s = support.gemm(4)
    assert.equal("reorder: no loop \"x\"; loops are i, j, k", support.error_of(s.reorder, s, "x").message)
    assert.equal("zeros: dtype: there is no dtype 'f33'", support.error_of(nw.zeros, {1}, "f33").message)
  end)
end)

describe("an error", function()
  it("names only the function that the user called, and gives a remedy", function()
    local A = nw.placeholder({4}, "f32", "A")
    local s = nw.schedule(nw.compute({4}, function(i) return A(i) end, "C"))
    local f = s:build {cache = false}
    local function says(message, hint, g, ...)
      local err = support.error_of(g, ...)
      assert.equal(message, err.message)
      assert.equal(hint, err.hint)
    end
    local of = 'give it the type f32: nw.random(shape, "f32"), nw.tensor(values, "f32")'
    says("kernel: A is f64; it must be f32", of, f, nw.zeros(4, "f64"))
    says("interpret: A is f64; it must be f32", of, nw.interpret, s, {nw.zeros(4, "f64")})
    says("u8: x: 300 does not fit into u8", "u8 can hold 0 to 255", nw.u8, 300)
    says("cast: x: -129 does not fit into i8", "i8 can hold -128 to 127", nw.cast, -129, "i8")
    says("value: 2 does not fit into bool", "bool can hold 0, 1, true and false", function() nw.zeros({1}, "bool")[{0}] = 2 end)
    says("maximum: it needs at least one value", "give its operands, as (a, b)", nw.maximum)
    says("second operand of +: expected an expression or a number, got a string", nil, function() return A(0) + "x" end)
    says("an array has no field or method 'shap'", "did you mean 'shape'?", function() return nw.zeros(4).shap end)
    local path = support.temporary ".json"
    core.write_file("test", path, '{"trace": "\\u0000", "computation": ""}')
    says("load: trace: expected a string, got a string with a NUL byte", nil, s.load, s, path)
    os.remove(path)
  end)
end)

describe("names", function()
  local BAD = {["\27[31m"] = "byte 1, \\x1b", ["a\nb"] = "byte 2, \\x0a", ["a\u{9b}b"] = "byte 2, \\xc2", ["\xff"] = "not UTF-8"}

  it("of branches, and shown texts, contain no control sequences", function()
    local s = support.gemm(4)
    local progress = nw.progress(1)
    for text, why in pairs(BAD) do
      local function refuses(what, f, ...)
        local err = support.error_of(f, ...)
        assert.truthy(type(err) == "table", what .. ": " .. tostring(err))
        assert.truthy(err.message:find(what, 1, true), err.message)
        assert.truthy(err.message:find(why:gsub("^not", "is not"), 1, true), err.message)
      end
      refuses("branch: name", s.branch, s, text)
      refuses("note", s.annotate, s, "C", "note", text)
      refuses("progress: title", nw.progress, 1, text)
      refuses("step: note", progress.step, progress, 0, text)
      refuses("times: a name", nw.timings, {[text] = {min = 1}})
      refuses("sweep: params: name", nw.sweep, {params = {[text] = {1}}, run = print})
      refuses("interact: name", nw.interact, {[text] = {1, 2}, print})
      refuses("roofline: label", nw.roofline, {{flops = 1, bytes = 1, time = 1, label = text}})
      local kernels = {{rows = 4, name = text, schedule = function() end}}
      refuses("kernels[1].name", s.partition_auto, s, {loop = "i", kernels = kernels, cost = "model"})
      refuses("title", nw.order, s, {title = text})
      if text ~= "a\nb" then refuses("beside: columns[1][1]", nw.beside, {{text}}) end
    end
  end)

  it("with a NUL are refused, and not cut off at the NUL", function()
    local s = support.gemm(4)
    support.fails("branch: name: expected a string, got a string with a NUL", "invalid", s.branch, s, "a\0b")
    support.fails("size: name: expected a string, got a string with a NUL", "invalid", nw.size, "M\0N")
    support.fails("load: path: expected a string, got a string with a NUL", "invalid", nw.load, "a\0.npy")
    support.fails("loop: byte 2 is NUL", "invalid", s.vectorize, s, "j\0x")
    assert.equal(0, s:version())
  end)

  it("in errors and help are made visible", function()
    local s = support.gemm(4)
    assert.truthy(support.error_of(s.vectorize, s, "\27[31mx").message:find("\\x1b[31mx", 1, true))
    assert.truthy(tostring(nw.help "\27[31mx"):find("\\x1b[31mx", 1, true))
    assert.equal("\\x1b", core.shown_text "\27")
    assert.truthy(#support.error_of(s.vectorize, s, ("x"):rep(1 << 20)).message < 20000)
  end)

  it("of a megabyte are refused", function()
    assert.truthy(tostring(nw.help(("x"):rep(1 << 20))):find("this long", 1, true))
  end)
end)
