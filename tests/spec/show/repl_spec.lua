--- Tests the program: scripts and their exit codes, and the prompt on a terminal as a user sees it.
local pty = require "nw_pty"
local support = require "support"

local program, run = support.program, support.run
local sanitized = support.build:find "san$" -- sanitizers need the whole address space
local state = support.temporary()
local inputrc = support.temporary ".inputrc"
support.write(inputrc, "set enable-bracketed-paste off\n")

local function ctrl(c) return string.char(c:byte() - 64) end

describe("scripts", function()
  local file

  before_each(function() file = support.temporary ".lua" end)
  after_each(function() os.remove(file) end)

  local function script(text, arguments, input)
    support.write(file, text)
    return run(("%s %s %s"):format(program, file, arguments or ""), input)
  end

  it("receive their arguments", function()
    local out, status = script("print(arg[0], arg[1], arg[2], #arg, ...)", "one 'two 2'")
    assert.equal(("%s\tone\ttwo 2\t2\tone\ttwo 2\n"):format(file), out)
    assert.equal(0, status)
  end)

  it("can raise an error whose text cannot be computed", function()
    local out, status = script "error(setmetatable({}, {__tostring = error}))"
    assert.equal(1, status)
    assert.truthy(out:find "an error that cannot be shown")
  end)

  it("end with status 1 on an error, which is printed on standard error with its place", function()
    local out, status = script "local x = nil\nx.y = 1"
    assert.equal(1, status)
    assert.truthy(out:find ":2: attempt to index a nil value")
    assert.equal("", (run(program .. " -e 'error \"x\"' 2>/dev/null")))
    local _, missing = run(program .. " /nowhere.lua")
    assert.equal(1, missing)
    assert.truthy((script "nw.version()"):find('local nw = require "nestwright"', 1, true))
    assert.is_nil(out:find "hint")
    local wrong, syntax = script "x ="
    assert.equal(1, syntax)
    assert.truthy(wrong:find "unexpected symbol")
  end)

  it("show errors of the library at the user's line", function()
    local out, status = script 'local nw = require "nestwright"\n\nlocal A = nw.placeholder({4}, "f23", "A")'
    assert.equal(1, status)
    assert.truthy(out:find ":3: placeholder: dtype: there is no dtype 'f23'")
    assert.truthy(out:find "\n    local A = nw.placeholder")
    assert.truthy(out:find "hint: did you mean 'f32'?")
    assert.is_nil(out:find "lua/nestwright")
  end)

  it("end with the status of os.exit", function()
    assert.equal(7, (select(2, script "os.exit(7)")))
    assert.equal(0, (select(2, script "os.exit(true)")))
  end)

  it("run from the command line and from standard input", function()
    assert.equal("3\n", (run(program .. " -e 'print(1 + 2)'")))
    assert.equal("3\n", (run(program .. " -e 'x = 1' -e 'print(x + 2)'")))
    assert.equal("a b\n", (run(program .. " - a b", "print(table.concat({...}, ' '))")))
    assert.equal("4\n", (run(program, "print(4)")))
    assert.equal("table\n", (run(program .. " -e 'print(type(nw))'")))
    assert.equal("0.1.0\n", (run(program .. " -l nestwright -e 'print(nestwright.version())'")))
    assert.equal("\ttrue\n", (run(program .. " -e 'print(\"\", arg[0] ~= nil)' --")))
  end)

  it("show the options of the command line", function()
    local version, status = run(program .. " --version")
    assert.equal("Nestwright 0.1.0\n", version)
    assert.equal(0, status)
    assert.truthy((run(program .. " --help")):find "usage: nestwright")
    local out, bad = run(program .. " --nonsense")
    assert.equal(2, bad)
    assert.truthy(out:find "unrecognized option '%-%-nonsense'")
    assert.equal(2, (select(2, run(program .. " -e"))))
  end)

  it("write no control sequences to pipes", function()
    local out = run(program .. " -e 'for i = 1, 1e6 do print(i) end' | head -n 1")
    assert.equal("1\n", out)
    local full, status = run(program .. " -e 'print(1)' > /dev/full")
    assert.equal(1, status)
    assert.truthy(full:find "cannot write the output")
  end)

  it("have no colours and no prompt if the output is not a terminal", function()
    local out = run(program, "print(require 'nestwright'.help 'split')")
    assert.is_nil(out:find "\27")
    assert.is_nil(out:find "nw>")
  end)

  it("are killed by Ctrl-C like other programs", function()
    support.write(file, "io.write 'ready\\n' io.flush() while true do pcall(error) end")
    local out, status = run(("timeout -s INT --preserve-status 1 %s %s"):format(program, file))
    assert.equal(130, status)
    assert.truthy(out:find "interrupted")
  end)

  it("that run out of stack or memory raise an ordinary error", function()
    local out, status = script "local function f() return 1 + f() end f()"
    assert.equal(1, status)
    assert.truthy(out:find "stack overflow")
    local deep, again = script "local s = ('('):rep(300) .. '1' .. (')'):rep(300) print(load('return ' .. s))"
    assert.equal(0, again)
    assert.truthy(deep:find "overflow")
    local big, status2 = script "print(pcall(string.rep, 'x', 1 << 40))"
    assert.equal(0, status2)
    assert.truthy(big:find "false")
    local recursive = script "local t = setmetatable({}, {}) getmetatable(t).__index = t print(pcall(function() return t.x end))"
    assert.truthy(recursive:find "false.*loop")
    local handlers = script "print(xpcall(function() local function f() return f() + 1 end f() end, function(m) return m.x.y end))"
    assert.truthy(handlers:find "false")
  end)

  it("that need too much memory get an error with the amount, the limit and a remedy", function()
    if sanitized then return end
    local want = "local function fill() local t = {} for n = 1, 1 << 40 do t[n] = {n} end end "
    for _, code in ipairs {"fill()", "coroutine.wrap(fill)()", "local _, e = pcall(fill) error(e, 0)", "nw.size 'M' fill()"} do
      local out, status = run(('ulimit -v 400000; %s -e "%s%s"'):format(program, want, code))
      assert.equal(1, status)
      assert.truthy(out:find("^no memory for [%d.]+ %a+ more; Lua uses [%d.]+ MB: the limit on address space %(ulimit %-v%)"), out)
      assert.truthy(out:find("hint: request less memory, or set values that are no longer needed to nil", 1, true), out)
      assert.falsy(out:find("not enough memory", 1, true), out)
    end
  end)

  it("show errors inside coroutines", function()
    local out = script [[
      local co = coroutine.create(function(a) local b = coroutine.yield(a + 1) error("x" .. b) end)
      print(coroutine.resume(co, 1))
      print(coroutine.resume(co, 2))
      print(coroutine.resume(co))
      local gen = coroutine.wrap(function() for i = 1, 2 do coroutine.yield(i) end end)
      print(gen(), gen(), gen(), pcall(gen))
      co = coroutine.create(function()
        local x <close> = setmetatable({}, {__close = function() print "closed" end})
        coroutine.yield()
      end)
      coroutine.resume(co)
      print(coroutine.close(co), pcall(coroutine.close, coroutine.running()))
    ]]
    assert.truthy(out:find "true\t2\nfalse\t.-:1: x2\nfalse\tcannot resume dead coroutine\n1\t2\tnil\tfalse")
    assert.truthy(out:find "closed\ntrue\tfalse\tcannot close a running coroutine")
  end)
end)

describe("the prompt", function()
  local child, seen

  local function start(variable, ...)
    child = pty.spawn("/usr/bin/env", "XDG_STATE_HOME=" .. state, "TERM=xterm", "INPUTRC=" .. inputrc, variable, program, ...)
    assert(child:expect("nw> ", 10000), "no prompt")
  end

  -- Sends a line, and returns what was printed up to the next prompt. A marker that is printed after the line shows that the line
  -- has ended.
  local marks = 0
  local function send(text)
    marks = marks + 1
    child:send(text .. "\n")
    child:send(("do io.write('<%d' .. '>') end\n"):format(marks))
    local waited
    waited, seen = child:expect(("<%d>"):format(marks), 15000)
    assert(waited, "no answer: " .. tostring(seen))
    return seen
  end

  local function finish()
    child:send(ctrl "D")
    return child:finish()
  end

  after_each(function()
    if child then
      pcall(finish)
      child = nil
    end
  end)

  teardown(function()
    os.execute(("rm -rf '%s'"):format(state))
    os.remove(inputrc)
  end)

  it("evaluates expressions and statements", function()
    start "NO_COLOR=1"
    assert.truthy(send("1 + 1"):find "\r?\n2\r?\n")
    assert.truthy(send("=2 + 3"):find "\n5\r")
    assert.truthy(send("x = {1, {y = 'a'}}"))
    assert.truthy(send("x"):find('{1, {y = "a"}}', 1, true))
    assert.truthy(send("_[1] + 10"):find "\n11\r")
    assert.truthy(send("nil, 'a', 2 -- a remark"):find 'nil  "a"  2')
    assert.is_nil(send("4321 + 1;"):find "4322")
    assert.truthy(send("print(select('#', ...))"):find "\n0\r")
    assert.truthy(send("nw.tensor{{1, 2}}"):find "f32%[1, 2%]")
  end)

  it("says if a name has no value", function()
    start "NO_COLOR=1"
    assert.truthy(send("compite"):find("nil: compite was never given a value", 1, true))
    assert.truthy(send("nw.shedule"):find("nil: nw has no field shedule; did you mean 'nw.schedule'?", 1, true))
    send "misspelt = {}"
    assert.truthy(send("misspelt.part"):find("nil: misspelt has no field part", 1, true))
    assert.truthy(send("mispelt -- a remark"):find("did you mean 'misspelt'?", 1, true))
    assert.truthy(send("os.date('*t').yeer"):find("nil: os.date('*t') has no field yeer", 1, true))
    for _, quiet in ipairs {"nil", "rawget({}, 1)", "({})[1]"} do
      local shown = send(quiet)
      assert.truthy(shown:find "nil", quiet)
      assert.is_nil(shown:find "nil:", quiet)
    end
  end)

  it("reads lines until a chunk is complete, and recalls it as a whole", function()
    start "NO_COLOR=1"
    assert.truthy(send("for i = 1, 2 do\nprint('turn', i)\nend"):find "turn\t?%s*1\r?\n.*turn%s*2")
    child:send(ctrl "P" .. ctrl "P" .. "\n")
    assert.truthy((child:expect("turn\t2", 5000)))
  end)

  it("shows errors with their line, and continues", function()
    start "NO_COLOR=1"
    assert.truthy(send("local t = nil t.x = 1"):find "repl%[1%]:1: attempt to index a nil value")
    assert.truthy(send("do\nlocal t = nil\nt.x = 1\nend"):find "repl%[3%]:3: attempt to index a nil value")
    local out = send("A = nw.placeholder({4}, 'f23')")
    assert.truthy(out:find "repl%[5%]:1: placeholder: dtype: there is no dtype 'f23'")
    assert.truthy(out:find "hint: did you mean 'f32'")
    assert.is_nil(out:find("    A = .*    A = "), "the line is shown once")
    assert.truthy(send("x = = 1"):find "unexpected symbol")
  end)

  it("names data that does not fit into memory, and continues", function()
    if sanitized then return end
    child = pty.spawn("/bin/sh", "-c", ("ulimit -v 400000; NO_COLOR=1 XDG_STATE_HOME=%s TERM=xterm INPUTRC=%s exec %s"):format(
      state, inputrc, program))
    assert(child:expect("nw> ", 10000), "no prompt")
    assert.truthy(send("kept = 7"))
    local out = send("t = {} for n = 1, 1 << 40 do t[n] = {n} end")
    assert.truthy(out:find "no memory for [%d.]+ %a+ more; Lua uses", out)
    assert.truthy(out:find("request less memory", 1, true), out)
    send("t = nil")
    assert.truthy(send("kept + 1"):find "\r?\n8\r?\n")
  end)

  it("stops the running call at Ctrl-C, and keeps the session", function()
    start "NO_COLOR=1"
    send "keep = 42"
    for _, loop in ipairs {"while true do end", "while true do pcall(error) end",
      "coroutine.wrap(function() while true do end end)()",
      "coroutine.close((function() local c = coroutine.create(function() local x <close> = setmetatable({}, "
        .. "{__close = function() while true do end end}) coroutine.yield() end) coroutine.resume(c) return c end)())",
      "while true do coroutine.wrap(function() while true do pcall(string.rep, 'x', 10) end end)() end"} do
      child:send(loop .. "\n")
      pty.sleep(300)
      child:send(ctrl "C")
      assert.truthy((child:expect("interrupted", 2000)), loop)
    end
    assert.truthy(send("keep + 1"):find "\n43\r")
    assert.truthy(send("coroutine.wrap(function() return 7 end)()"):find "\n7\r")
  end)

  it("restores a schedule at Ctrl-C: its version, whether steps are judged, and remarks", function()
    start "NO_COLOR=1"
    send "A = nw.placeholder({9}, 'f32', 'A') s = nw.schedule(nw.compute({9}, function(i) return A(i) * 2 end, 'C'))"
    send "k = {rows = 4, schedule = function() print('in' .. 'side') while true do end end}"
    for _, call in ipairs {"s:partition_auto{loop = 'i', kernels = {k}, cost = 'model', machine = 'zen5', strategies = {'guard'}}",
      "nw.partition.tvm_like(s, 'i', k)", "s:unsafe(function() k.schedule() end)"} do
      child:send(call .. "\n")
      assert.truthy((child:expect("inside", 5000)), call)
      child:send(ctrl "C")
      assert.truthy((child:expect("interrupted", 2000)), call)
      assert.truthy(send("s:version()"):find "\n0\r")
    end
    assert.truthy(send("s:split('i', 4)"):find "does not divide")
    assert.is_nil(send("s:trace()"):find "unsafe")
  end)

  it("clears the line at Ctrl-C", function()
    start "NO_COLOR=1"
    child:send("some nonsense" .. ctrl "C")
    assert.truthy((child:expect("^C", 2000)))
    assert.truthy(send("5 + 6"):find "\n11\r")
    child:send("for i = 1, 3 do\n")
    child:send(ctrl "C")
    assert.truthy(send("5 + 7"):find "\n12\r")
  end)

  it("completes names", function()
    start "NO_COLOR=1"
    assert.truthy(send("nw.zer\t({2})"):find "f32%[2%]")
    send "A = nw.placeholder({64}, 'f32', 'A') s = nw.schedule(nw.compute({64}, function(rows) return A(rows) end, 'T'))"
    assert.truthy(send("s:spl\t('ro\t', {par\t8})"):find "for rows_o in 0%.%.8")
  end)

  it("offers no names of files in a string with a fixed set of values, or for a name", function()
    start "NO_COLOR=1"
    send "A = nw.placeholder({64}, 'f32', 'A') s = nw.schedule(nw.compute({64}, function(i) return A(i) end, 'T'))"
    assert.truthy(send("s:cost({machine = 'CMake\t'})"):find "there is no machine 'CMake'")
    assert.truthy(send("s:cost({machine = 'zen\t'}).machine.name"):find '\n"zen5"\r')
    assert.truthy(send("s:cost({feed = 'CMake\t'})"):find "got 'CMake'")
    assert.truthy(send("'CMakeP\t' -- in a string that may be a file"):find '\n"CMakePresets.json')
    assert.truthy(send("CMakeP\t"):find "CMakeP was never given a value")
  end)

  it("shows remarks of steps before the error that follows them", function()
    start "NO_COLOR=1"
    send "A = nw.placeholder({64}, 'f32', 'A') s = nw.schedule(nw.compute({64}, function(i) return A(i) end, 'T'))"
    local shown = send "s:split('i', 5) error 'later'"
    assert.truthy(shown:find "note: 5 does not divide 64.*repl%[%d+%]:1: later", shown)
    assert.is_nil(send("1 + 1"):find "note:")
  end)

  it("shows help", function()
    start "NO_COLOR=1"
    assert.truthy(send("?nw.sum"):find "Sum of the term")
    assert.truthy(send("?split"):find "schedule:split")
    assert.truthy(send("nw.zeros?"):find "nw.zeros%(")
    assert.truthy(send("nw.help()"):find "Methods of a schedule")
    assert.truthy(send("help 'split'"):find "schedule:split")
    assert.truthy(send("?nonsense_word"):find "nothing is named")
  end)

  it("shows schedules as loop nests, and remarks of steps", function()
    start "NO_COLOR=1"
    send "A = nw.placeholder({64}, 'f32', 'A') s = nw.schedule(nw.compute({64}, function(i) return A(i) + 1 end, 'T'))"
    assert.truthy(send("s"):find "for i in 0%.%.64")
    assert.truthy(send("s:split('i', 8)"):find "for i_o in 0%.%.8  for i_i in 0%.%.8")
  end)

  it("has colours only if they are requested", function()
    start "NO_COLOR=1"
    assert.is_nil(send("error 'x'"):find "\27%[1;31m")
    finish()
    start "A=b"
    assert.truthy(send("error 'x'"):find "\27%[1;31m")
  end)

  it("keeps its history for the next session, for its owner only", function()
    start "NO_COLOR=1"
    send "first_thing = 1"
    send "for i = 1, 2 do\nlocal x = i\nend"
    finish()
    local text = support.read(state .. "/nestwright/history")
    assert.truthy(text:find "first_thing = 1\n")
    assert.truthy(text:find("for i = 1, 2 do\\nlocal x = i\\nend\n", 1, true))
    assert.equal("600\n", (run("stat -c %a " .. state .. "/nestwright/history")))
    start "NO_COLOR=1"
    child:send(ctrl "R" .. "first_th" .. "\n")
    assert.truthy((child:expect("first_thing = 1", 3000)))
  end)

  it("appears after a script with -i", function()
    start("NO_COLOR=1", "-i", "-e", "z = 5")
    assert.truthy(send("z + 1"):find "\n6\r")
  end)

  it("ends with 0 at Ctrl-D", function()
    start "NO_COLOR=1"
    assert.equal(0, (finish()))
  end)
end)
