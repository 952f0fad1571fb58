--- The slips that the prompt must answer with one sentence. A case has: typed (what the user types), slip and right (the texts
--- that the sentence must have between backticks), and optionally: before (code that is run first), fixed (what must then run
--- without an error; by default the typed text with the right form in place of the slip), sentence (a text that the sentence must
--- contain in place of the right form), kernel (the same in a cell), and leaves (true if the right form ends the program).
local cases = {}

local function case(name, one)
  one.name = name
  cases[#cases + 1] = one
end

-- ---- Python: brackets and arguments

local TENSORS = 'A = nw.placeholder({8, 8}, "f32", "A") B = nw.placeholder({8, 8}, "f32", "B")'

case("index", {before = TENSORS, typed = 'C = nw.compute({8, 8}, function(i, j) return A[i, j] * 2 end, "C")', slip = "A[i, j]",
  right = "A(i, j)"})
case("index of index", {before = TENSORS, typed = 'C = nw.compute({8, 8}, function(i, j) return A[i][j] * 2 end, "C")',
  slip = "A[i][j]",
  right = "A(i, j)"})
case("list", {typed = 'A = nw.placeholder([64, 64], "f32", "A")', slip = "[64, 64]", right = "{64, 64}"})
case("nested list", {typed = "t = nw.tensor([[1, 2], [3, 4]])", slip = "[[1, 2], [3, 4]]", right = "{{1, 2}, {3, 4}}"})
case("tuple", {typed = 'A = nw.placeholder((64, 64), "f32", "A")', slip = "(64, 64)", right = "{64, 64}"})
case("tuple of one", {typed = "z = nw.zeros((64,))", slip = "(64,)", right = "{64,}"})
case("several values", {typed = "x, y = (1, 2)", slip = "(1, 2)", right = "1, 2"})
case("named argument", {typed = 'A = nw.placeholder({64}, name="A")', slip = 'name="A"', right = '{name = "A"}'})
case("named arguments", {typed = 'A = nw.placeholder({64}, dtype="float32", name="A")', slip = 'dtype="float32", name="A"',
  right = '{dtype = "f32", name = "A"}'})
case("axis of a sum", {before = TENSORS .. " k = nw.reduce_axis(8, 'k')",
  typed = 'C = nw.compute({8}, function(i) return nw.sum(A(i, k), axis=k) end, "C")', slip = "axis=k", right = "k"})
local SCHEDULE = TENSORS .. ' C = nw.compute({8, 8}, function(i, j) return A(i, j) * 2 end, "C") s = nw.schedule(C)'
case("factor", {before = SCHEDULE, typed = 's:split("i", factor=4)', slip = "factor=4", right = "{factor = 4}"})
case("nparts", {before = SCHEDULE, typed = 's:split("i", nparts=4)', slip = "nparts=4", right = "{parts = 4}"})
case("dictionary", {typed = 't = {"a": 1, "b": 2}', slip = '{"a": 1, "b": 2}', right = "{a = 1, b = 2}"})
case("slice", {before = "t = {1, 2, 3, 4}", typed = "u = t[1:3]", slip = "t[1:3]", right = "{table.unpack(t, 2, 3)}"})
case("comprehension", {typed = "t = [i * i for i in range(4)]", slip = "t = [i * i for i in range(4)]",
  right = "t = {} for i = 0, 3 do t[#t + 1] = i * i end"})
case("index 0", {before = "t = {5, 6}", typed = "t[0]", slip = "t[0]", right = "t[1]"})
case("index 0 in a sum", {before = "t = {5, 6}", typed = "x = t[0] + 1", slip = "t[0]", right = "t[1]"})

-- ---- Python: functions and conditions

case("lambda", {before = TENSORS, typed = 'C = nw.compute({8, 8}, lambda i, j: A(i, j) * 2, "C")',
  slip = "lambda i, j: A(i, j) * 2",
  right = "function(i, j) return A(i, j) * 2 end"})
case("lambda of all indices", {before = TENSORS, typed = 'C = nw.compute({8, 8}, lambda *i: A(*i) + B(*i), "C")',
  slip = "lambda *i: A(*i) + B(*i)", right = "function(...) return A(...) + B(...) end"})
case("def", {typed = "def f(x): return x + 1", slip = "def f(x):", right = "function f(x) return x + 1 end",
  fixed = "function f(x) return x + 1 end"})
case("return", {before = TENSORS, typed = 'C = nw.compute({8, 8}, function(i, j) A(i, j) * 2 end, "C")',
  slip = "function(i, j) A(i, j) * 2 end", right = "function(i, j) return A(i, j) * 2 end"})
case("return of a read", {before = TENSORS, typed = 'C = nw.compute({8, 8}, function(i, j) A(i, j) end, "C")',
  slip = "function(i, j) A(i, j) end", right = "function(i, j) return A(i, j) end"})
case("for in range", {typed = "for i in range(10):", slip = "for i in range(10):", right = "for i = 0, 9 do print(i) end",
  fixed = "for i = 0, 9 do print(i) end"})
case("for in range, with a body", {typed = "for i in range(2, n): print(i)", slip = "for i in range(2, n):", before = "n = 4",
  right = "for i = 2, n - 1 do print(i) end", fixed = "for i = 2, n - 1 do print(i) end"})
case("for in range, with do", {typed = "for i in range(3) do print(i) end", slip = "for i in range(3) do",
  right = "for i = 0, 2 do print(i) end", fixed = "for i = 0, 2 do print(i) end"})
case("for in list", {typed = "for x in t:\n  print(x)\n", slip = "for x in t:", before = "t = {1, 2}",
  right = "for _, x in ipairs(t) do print(x) end", fixed = "for _, x in ipairs(t) do print(x) end"})
case("for in enumerate", {typed = "for i, x in enumerate(t):\n  print(i, x)\n", slip = "for i, x in enumerate(t):",
  before = "t = {1, 2}",
  right = "for i, x in ipairs(t) do print(i, x) end", fixed = "for i, x in ipairs(t) do print(i, x) end"})
case("if", {typed = "if x == 1: print(x)", slip = "if x == 1:", before = "x = 1", right = "if x == 1 then print(x) end",
  fixed = "if x == 1 then print(x) end"})
case("while", {typed = "while x < 3: x = x + 1", slip = "while x < 3:", before = "x = 1", right = "while x < 3 do x = x + 1 end",
  fixed = "while x < 3 do x = x + 1 end"})
case("elif", {typed = "if x == 1 then y = 1 elif x == 2 then y = 2 end", slip = "elif", before = "x = 1",
  right = "if x == 1 then y = 1 elseif x == 2 then y = 2 end", fixed = "if x == 1 then y = 1 elseif x == 2 then y = 2 end"})
case("else with a colon", {typed = "if x == 1 then y = 1 else: y = 2 end", slip = "else:", before = "x = 1",
  right = "if x == 1 then y = 1 else y = 2 end", fixed = "if x == 1 then y = 1 else y = 2 end"})
case("else if", {typed = "if x == 1 then y = 1 else if x == 2 then y = 2 end\n\n", slip = "else if", before = "x = 1",
  right = "if x == 1 then y = 1 elseif x == 2 then y = 2 end", fixed = "if x == 1 then y = 1 elseif x == 2 then y = 2 end"})
case("conditional expression", {typed = "y = 5 if x else 6", slip = "5 if x else 6", right = "x and 5 or 6"})
case("is None", {typed = "y = x is None", slip = "x is None", right = "x == nil"})
case("is not None", {typed = "y = x is not None", slip = "x is not None", right = "x ~= nil"})
case("try", {typed = "try: error 'a'", slip = "try:", right = "ok, problem = pcall(function() error 'a' end)",
  fixed = "ok, problem = pcall(function() error 'a' end)"})
case("try with an assignment", {typed = "try: x = 1", slip = "try:", right = "ok, problem = pcall(function() x = 1 end)",
  fixed = "ok, problem = pcall(function() x = 1 end)"})
case("raise", {typed = 'function f() raise ValueError("bad") end', slip = 'raise ValueError("bad")', right = 'error("bad")'})
case("assert", {typed = 'assert x, "no x"', slip = 'assert x, "no x"', right = 'assert(x, "no x")', before = "x = 1"})
case("pass", {typed = "function f() pass end", slip = "pass", right = "do end"})
case("continue", {typed = "for i = 1, 2 do if i == 1 then continue end print(i) end", slip = "continue",
  right = "for i = 1, 2 do if i == 1 then goto continue end print(i) ::continue:: end",
  fixed = "for i = 1, 2 do if i == 1 then goto continue end print(i) ::continue:: end"})
case("del", {typed = "del x", slip = "del x", right = "x = nil"})

-- ---- Python: modules, strings and values

case("import", {typed = "import nestwright as nw", slip = "import nestwright as nw", right = 'nw = require "nestwright"'})
case("import of numpy", {typed = "import numpy as np", slip = "import numpy as np", right = "np = nw"})
case("from import", {typed = "from tvm import te", slip = "from tvm import te", right = "te = nw.te"})
case("te", {before = "te = nil", typed = "A = te.placeholder({64})", slip = "te.placeholder({64})", right = "nw.placeholder({64})"})
case("np", {before = "np = nil", typed = "z = np.zeros({4})", slip = "np.zeros({4})", right = "nw.zeros({4})"})
case("tvm.build", {before = SCHEDULE, typed = 'f = tvm.build(s, {A, C}, "llvm")', slip = 'tvm.build(s, {A, C}, "llvm")',
  right = "s:build()"})
case("tvm.lower", {before = SCHEDULE, typed = "print(tvm.lower(s, {A, C}))", slip = "tvm.lower(s, {A, C})", right = "s:show()"})
case("None", {typed = "None", slip = "None", right = "nil"})
case("None as a value", {typed = "x = None", slip = "None", right = "nil"})
case("True", {typed = "x = True", slip = "True", right = "true"})
case("False", {typed = "t = {1, False}", slip = "False", right = "false"})
case("null", {typed = "x = null", slip = "null", right = "nil"})
case("comment of Python", {typed = "x = 1 # the first", slip = "# the first", right = "-- the first"})
case("comment in one word", {typed = "# sizes", slip = "# sizes", right = "-- sizes"})
case("string with f", {typed = 'print(f"x is {x}")', slip = 'f"x is {x}"', right = '("x is %s"):format(x)',
  before = "f = nil x = 5"})
case("string + string", {typed = 'y = "x is " + x', slip = '"x is " + x', right = '"x is " .. x', before = 'x = "5"'})
case("string % value", {typed = 'y = "x is %d" % x', slip = '"x is %d" % x', right = '("x is %d"):format(x)', before = "x = 5"})
case("string % values", {typed = 'y = "%d and %d" % (x, x)', slip = '"%d and %d" % (x, x)', right = '("%d and %d"):format(x, x)',
  before = "x = 5"})
case("join", {typed = 'y = ", ".join(t)', slip = '", ".join(t)', right = 'table.concat(t, ", ")', before = "t = {1, 2}"})
case("triple quotes", {typed = 'x = """two words"""', slip = '"""two words"""', right = "[[two words]]"})
case("open quote", {typed = 'print("hello)', slip = '"hello)', right = '"hello")'})
case("apostrophe", {typed = "print('it's open')", slip = "'it's open'", right = '"it\'s open"'})
case("number", {typed = "x = 1_000", slip = "1_000", right = "1000"})
case("power", {typed = "y = x ** 2", slip = "x ** 2", right = "x ^ 2", before = "x = 3"})
case("print", {typed = "print x", slip = "print x", right = "print(x)", before = "x = 3"})
case("len", {typed = "y = len(t)", slip = "len(t)", right = "#t", before = "t = {1, 2}"})
case("str", {typed = "y = str(5)", slip = "str(5)", right = "tostring(5)"})
case("int", {typed = "y = int(5.5)", slip = "int(5.5)", right = "math.floor(5.5)"})
case("dir", {typed = "dir(nw)", slip = "dir(nw)", right = "nw.help(nw)"})
case("append", {typed = "t.append(3)", slip = "t.append(3)", right = "table.insert(t, 3)", before = "t = {}"})
case("method of a string", {typed = "y = x.upper()", slip = "x.upper()", right = "x:upper()", before = "x = 'a'"})
case("annotation", {typed = "x: int = 5", slip = "x: int = 5", right = "x = 5"})
case("timeit", {before = SCHEDULE .. " f = s:build() a, c = nw.zeros({8, 8}), nw.zeros({8, 8})", typed = "%timeit f(a, c)",
  slip = "%timeit f(a, c)", right = "f:time(a, c)"})
case("shell", {typed = "!true", slip = "!true", right = 'os.execute "true"'})
case("ls", {typed = "pwd", slip = "pwd", right = 'os.execute "pwd"'})

-- ---- C and JavaScript

case("compound assignment", {typed = "x += 2", slip = "x += 2", right = "x = x + 2", before = "x = 1"})
case("compound product", {typed = "x *= 2 + 1", slip = "x *= 2 + 1", right = "x = x * (2 + 1)", before = "x = 1"})
case("increment", {typed = "x++", slip = "x++", right = "x = x + 1", before = "x = 1"})
case("!=", {typed = "y = x != 1", slip = "x != 1", right = "x ~= 1"})
case("&&", {typed = "y = x && z", slip = "x && z", right = "x and z"})
case("||", {typed = "y = x || z", slip = "x || z", right = "x or z"})
case("!", {typed = "y = !x", slip = "!x", right = "not x"})
case("question mark", {typed = "y = x ? 1 : 2", slip = "x ? 1 : 2", right = "x and 1 or 2"})
case("comment of C++", {typed = "x = 1 // the first one", slip = "// the first one", right = "-- the first one"})
case("comment of C", {typed = "x = 1 /* one */", slip = "/* one */", right = "--[[ one ]]"})
case("declaration", {typed = "int x = 5", slip = "int x = 5", right = "x = 5"})
case("for of C", {typed = "for (int i = 0; i < 4; i++) { print(i) }", slip = "for (int i = 0; i < 4; i++) {",
  right = "for i = 0, 3 do print(i) end", fixed = "for i = 0, 3 do print(i) end"})
case("if of C", {typed = "if (x == 1) { print(x) }\n", slip = "if (x == 1) {", right = "if x == 1 then print(x) end",
  fixed = "if x == 1 then print(x) end"})
case("while of C", {typed = "while (x < 2) { x = x + 1 }\n", slip = "while (x < 2) {", before = "x = 1",
  right = "while x < 2 do x = x + 1 end", fixed = "while x < 2 do x = x + 1 end"})
case("function in braces", {typed = "f = function(x) { return x }", slip = "function(x) { return x }",
  right = "function(x) return x end"})
case("!==", {typed = "y = x !== 1", slip = "x !== 1", right = "x ~= 1"})
case("===", {typed = "y = x === 1", slip = "x === 1", right = "x == 1"})
case(":=", {typed = "x := 5", slip = "x := 5", right = "x = 5"})
case("backticks", {typed = "x = `two words`", slip = "`two words`", right = '"two words"'})
case("arrow function", {typed = "f = (x, y) => x + y", slip = "(x, y) => x + y", right = "function(x, y) return x + y end"})
case("number of C", {typed = "x = 0.5f", slip = "0.5f", right = "0.5"})
case("printf", {typed = 'printf("%d\\n", 5)', slip = 'printf("%d\\n", 5)', right = 'io.write(("%d\\n"):format(5))'})
case("console.log", {typed = "console.log(5)", slip = "console.log(5)", right = "print(5)"})

-- ---- the library

case("function of nw", {typed = 'A = placeholder({64})', slip = "placeholder({64})", right = "nw.placeholder({64})"})
case("function of math", {typed = "y = sin(1)", slip = "sin(1)", right = "math.sin(1)"})
case("dot of a tensor", {before = TENSORS, typed = "A.shape()", slip = "A.shape()", right = "A:shape()"})
case("dot of a schedule", {before = SCHEDULE, typed = 's.split("i", 4)', slip = 's.split("i", 4)', right = 's:split("i", 4)'})
case("dot of a stage", {before = SCHEDULE, typed = 's[C].split("i", 4)', slip = 's[C].split("i", 4)', right = 's[C]:split("i", 4)'})
case("dot of a stage, with a loop", {before = SCHEDULE, typed = "s[C].vectorize(s[C].op.axis[2])",
  slip = "s[C].vectorize(s[C].op.axis[2])", right = "s[C]:vectorize(s[C].op.axis[2])"})
case("shape without a call", {before = TENSORS, typed = "n = A.shape[1]", slip = "A.shape", right = "A:shape()"})
case("nil loop", {before = SCHEDULE .. " i = nil", typed = "s:split(i, 4)", slip = "i", right = 's:split("i", 4)',
  fixed = 's:split("i", 4)'})
case("nil loop in a list", {before = SCHEDULE .. " i, j = nil", typed = 's:reorder(j, "i")', slip = "j",
  right = 's:reorder("j", "i")',
  fixed = 's:reorder("j", "i")'})
case("axis 0", {before = SCHEDULE, typed = "s:split(s[C].op.axis[0], 4)", slip = "op.axis[0]", right = "op.axis[1]"})
case("axis of a tensor", {before = SCHEDULE, typed = "s:split(C.op.axis[1], 4)", slip = "C.op.axis", right = "s[C].op.axis"})
case("operation of a tensor", {before = SCHEDULE, typed = "s = nw.create_schedule(C.op)", slip = "C.op", right = "C"})
case("astype", {before = TENSORS, typed = 'D = nw.compute({8, 8}, function(i, j) return A(i, j):astype("int32") end, "D")',
  slip = 'A(i, j).astype("int32")', right = 'nw.cast(A(i, j), "i32")',
  fixed = 'D = nw.compute({8, 8}, function(i, j) return nw.cast(A(i, j), "i32") end, "D")'})
case("comparison of indices", {before = TENSORS,
  typed = 'D = nw.compute({8, 8}, function(i, j) return nw.select(i < j, A(i, j), 0) end, "D")', slip = "i < j",
  right = "nw.lt(i, j)"})
case("index == number", {before = TENSORS,
  typed = 'D = nw.compute({8, 8}, function(i, j) return nw.select(i == 3, A(i, j), 0) end, "D")', slip = "i == 3",
  right = "nw.eq(i, 3)"})

-- ---- the session

case("local of another input", {before = "local lost_one = 5", typed = "lost_one + 1", slip = "lost_one", right = "lost_one = 5",
  fixed = "lost_one = 5"})
case("local of another input, as an argument", {before = 'local Lost = nw.compute({8}, function(i) return i end, "Lost")',
  typed = "s = nw.schedule(Lost)", slip = "Lost", right = 'Lost = nw.compute({8}, function(i) return i end, "Lost")',
  fixed = 'Lost = nw.compute({8}, function(i) return i end, "Lost")'})
case("exit", {typed = "exit", slip = "exit", right = "os.exit()", leaves = true, kernel = "shut it down from the menu"})
case("exit()", {typed = "exit()", slip = "exit()", right = "os.exit()", leaves = true, kernel = "shut it down from the menu"})
case("quit", {typed = "quit", slip = "quit", right = "os.exit()", leaves = true, kernel = "shut it down from the menu"})

-- Several slips at once are one sentence, too.
case("a line of TVM", {before = TENSORS, typed = 'D = nw.compute((8, 8), lambda i, j: A[i, j] + B[i, j], name="D")',
  slip = "(8, 8)",
  right = 'D = nw.compute({8, 8}, function(i, j) return A(i, j) + B(i, j) end, {name = "D"})',
  fixed = 'D = nw.compute({8, 8}, function(i, j) return A(i, j) + B(i, j) end, {name = "D"})'})

--- Programs of Lua that look like slips. None of them gets a sentence about a slip.
local valid = {
  "x = {1, 2, 3} y = x[1] z = #x", "t = {name = 'A', [1] = 2}", "x = nil y = x == nil", "local None = 5 print(None)",
  "True = 1 x = True True = nil", "function len(x) return #x end y = len({1}) len = nil", "x = 7 // 2", "x = 7 ~ 2", "x = ~7",
  "x = 2 ^ 3",
  "x = 'a' .. 'b'", "x = 1 --[[ # no comment ]] y = 2", "x = 'lambda i, j: A[i, j]'", "x = [[ [64, 64] ]]",
  "x = [[ import numpy ]]",
  "goto done ::done::", "for i = 1, 3 do local x = i end", "for i = 3, 1, -1 do end",
  "if x then y = 1 else if z then y = 2 end end",
  "range = function(n) return pairs({n}) end for i in range(3) do end range = nil", "f = function(...) return ... end",
  "t = {f = function(self) return self end} t:f():f()", "x = ('%d'):format(5)", "x = '10' + 1", "x = 10 % 3",
  "x = not y and z or 5",
  "a, b = b, a", "local exit = 5 print(exit)", "x = {('a'):rep(3), (1)}", "x = (1)", "print (1)", "print 'a'", "x = #{1, 2}",
  "te = nw x = te.placeholder({4}) te = nil", "x = {[0] = 1} y = x[0]", "null = 1 y = null null = nil", "x = 0x1F y = 1e5 z = .5",
  "x = -1 y = - -1", "while false do end", "repeat local x = 1 until x == 1", "x = nw.size 'M' y = x == x",
  "i = 1 j = 2 x = i < j", "x = {lambda = 1, pass = 2, import = 3, def = 4} y = x.lambda + x.pass",
  "local function import(x) return x end print(import 'a')", "pcall(nw.zeros, {2}, nil)", "f = print f'x' f = nil",
  "x = y if x then end",
}

return {cases = cases, valid = valid}
