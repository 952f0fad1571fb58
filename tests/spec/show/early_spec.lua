--- Tests that long work is announced before it begins or soon afterwards: a step that makes much code, a compile, a prediction, and
--- the start of a notebook.
local nw = require "nestwright"
local core = require "nestwright.core"
local pty = require "nw_pty"
local support = require "support"

local function unrolled(copies)
  local s = support.gemm(4, copies, 4)
  s:reorder("k", "j")
  s:unroll "j"
  return s
end

describe("unrolling", function()
  it("says at once that it makes many copies", function()
    assert.equal("s:build will make 1000 copies of statements in unrolled loops, which may take seconds to compile",
      unrolled(1000):notes())
    assert.equal("", unrolled(64):notes())
  end)

  it("counts the copies of all unrolled loops around a statement, and of all statements", function()
    local s = support.gemm(16, 32, 4)
    s:unroll "j"
    assert.equal("", s:notes())
    s:unroll "i"
    assert.truthy(s:notes():find("will make 512 copies", 1, true))
    s = support.gemm(4, 600, 4)
    s:unroll("j", 300)
    assert.truthy(s:notes():find("will make 300 copies", 1, true))
  end)
end)

describe("a long compile", function()
  after_each(function() core.on_progress() end)

  local function heard_while(f)
    local heard = {}
    core.on_progress(function(what, part, seconds) heard[#heard + 1] = {what, part, seconds} end, 0)
    f()
    core.on_progress()
    return heard
  end

  it("reports what it compiles and how long it has taken", function()
    local s = unrolled(1000)
    local heard = heard_while(function() s:build {cache = false} end)
    assert.is_true(#heard >= 2)
    for n = 1, #heard - 1 do
      assert.equal("compiling C", heard[n][1])
      assert.is_true(heard[n][2] < 0 and heard[n][3] >= (n > 1 and heard[n - 1][3] or 0))
    end
    assert.is_nil(heard[#heard][1]) -- the line is erased
  end)

  it("gives the same code and the same errors as a short one", function()
    local A, B = nw.random({4, 4}, "f32"), nw.random({4, 1000}, "f32")
    local s = unrolled(1000)
    assert.is_true(nw.allclose(s:build {cache = false}(A, B), support.gemm(4, 1000, 4):build()(A, B)))
    assert.truthy(tostring(s:show "asm"):find "kernel_entry")
  end)

  it("reports nothing if it is short", function()
    assert.same({}, heard_while(function() support.gemm(8):build {cache = false} end))
  end)
end)

describe("a long prediction", function()
  it("says what it does", function()
    local heard = {}
    core.on_progress(function(what) heard[#heard + 1] = what end, 0)
    support.gemm(96, 96, 96):cost {machine = "zen5"}
    core.on_progress()
    assert.equal("walking the accesses", heard[1])
  end)
end)

-- ---- the line of progress

local function script_of(code)
  local file = support.temporary ".lua"
  support.write(file, 'local nw = require "nestwright"\n' .. code)
  return file
end

local LONG = [[local core = require "nestwright.core" core.on_progress(nil, 0.01)
local since = core.now() - 7
core.tell_progress("counting", 0.5, since) core.tell_progress() print "after"]]

describe("a finished line of progress", function()
  local file
  after_each(function() os.remove(file) end)

  it("is erased on a terminal, with its elapsed time before", function()
    file = script_of(LONG)
    local child = pty.spawn("/usr/bin/env", "TERM=xterm", support.program, file)
    local _, seen = child:expect("after", 10000)
    child:finish()
    assert.truthy(seen:find("\rcounting: 50 %, 7 s\27[K\r\27[Kafter", 1, true), ("%q"):format(seen))
  end)

  it("leaves nothing of a longer line, and no control characters in pipes", function()
    file = script_of [[local p = nw.progress(2, "bar") p:step(1, "a long remark") p:step(1, "x")]]
    local child = pty.spawn("/usr/bin/env", "TERM=xterm", support.program, file)
    local _, seen = child:expect("2 of 2, x", 10000)
    child:finish()
    assert.truthy(seen:find "\r[^\r]*1 of 2, a long remark\27%[K\r" or seen:find "\r[^\r]*0 of 2\27%[K\r", ("%q"):format(seen))
    assert.equal("", (support.run("TERM=xterm " .. support.program .. " " .. file)))
  end)
end)

-- ---- remarks

-- The code of a step that makes 1000 copies, and of another note.
local UNROLL = [[
local A, B = nw.placeholder({4, 4}, "f32", "A"), nw.placeholder({4, 1000}, "f32", "B")
local k = nw.reduce_axis(4, "k")
local s = nw.schedule(nw.compute({4, 1000}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C"))
print "begin"
s:split("i", 2)
s:split("k", 2)
s:unroll "j"
]]
local MANY = "note: s:build will make 1000 copies of statements in unrolled loops, which may take seconds to compile\n"

describe("the remarks of a script", function()
  local file
  after_each(function() os.remove(file) end)

  it("are on standard error when they arise, in the order of the output, once and without blank lines", function()
    file = script_of(UNROLL .. 'print "built" s:undo() s:unroll "j" print "end"')
    local out, status = support.run(support.program .. " " .. file)
    assert.equal(0, status, out)
    assert.equal("begin\nnote: i divides evenly: no tail\nnote: k divides evenly: no tail\n" .. MANY .. "built\nend\n", out)
    assert.equal("begin\nbuilt\nend\n", (support.run(support.program .. " " .. file .. " 2>/dev/null")))
  end)

  it("are not those of steps that a search or a measurement tries", function()
    file = script_of [[
local M = nw.size "M"
local A, B, k = nw.placeholder({M, 8}, "f32", "A"), nw.placeholder({8, 8}, "f32", "B"), nw.reduce_axis(8, "k")
local s = nw.schedule(nw.compute({M, 8}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C"))
nw.microkernels {schedule = s, loop = "i", kernels = {{rows = 4, schedule = function(t, p) t:unroll(p.inner) end}}}
local X, Y, r = nw.placeholder({16, 16}, "f32", "X"), nw.placeholder({16, 16}, "f32", "Y"), nw.reduce_axis(16, "r")
nw.cost.audit {kernel = nw.compute({16, 16}, function(i, j) return nw.sum(X(i, r) * Y(r, j), r) end, "Z"), schedules = 4}
print "end"]]
    local state = support.temporary()
    os.remove(state)
    local out = support.run(("XDG_STATE_HOME=%s %s %s"):format(state, support.program, file))
    assert.truthy(out:find "end\n$", out)
    assert.is_nil(out:find("note:", 1, true), out)
    os.execute("rm -rf " .. state)
  end)

  it("are also those of option -e, and are not repeated before an error", function()
    file = support.temporary ".lua"
    local out = support.run(("%s -e '%s error \"no\"'"):format(support.program, UNROLL))
    assert.equal(1, select(2, out:gsub("note: s:build will make", "")))
    local note, problem = out:find("note: s:build will make", 1, true), out:find("no", #out - 40, true)
    assert.truthy(note and problem and note < problem, out)
  end)
end)

describe("the remarks at the prompt", function()
  it("are shown after the first line too", function()
    local file = script_of(UNROLL)
    local child = pty.spawn("/usr/bin/env", "TERM=xterm", support.program)
    assert(child:expect("nw> ", 10000))
    child:send(("dofile '%s'\n"):format(file))
    local _, seen = child:expect("seconds to compile", 10000)
    child:finish()
    os.remove(file)
    assert.truthy(seen:find("begin\r\n.*note: i divides evenly: no tail\r\n"), ("%q"):format(seen))
  end)

  it("are shown before the progress of long work, and not again at the end", function()
    local file = script_of(UNROLL .. [[local core = require "nestwright.core" core.on_progress(nil, 0.01)
      core.tell_progress("counting", 0.5, core.now() - 7) core.tell_progress() print "after"]])
    local child = pty.spawn("/usr/bin/env", "TERM=xterm", support.program)
    assert(child:expect("nw> ", 10000))
    child:send "1\n"
    assert(child:expect("nw> ", 10000))
    child:send(("dofile '%s'\n"):format(file))
    local _, seen = child:expect("after", 10000)
    local _, rest = child:expect("nw> ", 10000)
    child:finish()
    os.remove(file)
    local note, progress = seen:find("note: s:build will make 1000", 1, true), seen:find("counting: 50 %", 1, true)
    assert.truthy(note and progress and note < progress, ("%q"):format(seen))
    assert.is_nil(rest:find("note:", 1, true))
  end)
end)

-- ---- ./dev

-- Makes a copy of ./dev in a folder with programs that do nothing. Returns the folder, and a function that makes a program.
local function toy()
  local dir = support.temporary()
  os.remove(dir)
  local function program(path, text)
    support.write(dir .. path, "#!/bin/sh\n" .. text .. "\n")
    os.execute(("chmod +x '%s%s'"):format(dir, path))
  end
  os.execute(("mkdir -p '%s/bin' '%s/build/release/bin' '%s/tutorials' && cp dev '%s'"):format(dir, dir, dir, dir))
  for _, name in ipairs {"apt-get", "sudo", "cmake", "ninja", "id"} do program("/bin/" .. name, "exit 0") end
  program("/bin/dpkg", "echo amd64")
  return dir, program
end

describe("./dev repl and ./dev run", function()
  it("keep the user's locale", function()
    local dir, program = toy()
    program("/bin/dpkg-query", "echo ii")
    program("/build/release/bin/nestwright", 'echo "[${LC_ALL-unset}] [${LANG-unset}] [${LC_CTYPE-unset}]"')
    local function locale(verb, setting)
      local without = "env -u LC_ALL -u LANG -u LC_CTYPE"
      local out = support.run(("%s %s PATH='%s/bin':$PATH '%s/dev' %s"):format(without, setting, dir, dir, verb))
      return out:match "(%[[^\n]*)\n$"
    end
    for _, verb in ipairs {"repl", "run"} do
      assert.equal("[de_DE.UTF-8] [unset] [unset]", locale(verb, "LC_ALL=de_DE.UTF-8"))
      assert.equal("[unset] [fr_FR.UTF-8] [C.UTF-8]", locale(verb, "LANG=fr_FR.UTF-8 LC_CTYPE=C.UTF-8"))
      assert.equal("[unset] [unset] [unset]", locale(verb, ""))
    end
    os.execute(("rm -rf '%s'"):format(dir))
  end)
end)

describe("./dev notebook", function()
  it("says what it does before each part that takes long", function()
    local dir, program = toy()
    program("/bin/dpkg-query", "exit 1") -- nothing is installed
    program("/bin/jupyter", "echo \"jupyter $1\"")
    program("/build/release/bin/nestwright", "exit 0")
    local out, status = support.run(("PATH='%s/bin':$PATH '%s/dev' notebook"):format(dir, dir))
    os.execute(("rm -rf '%s'"):format(dir))
    assert.equal(0, status, out)
    local at = 0
    for _, part in ipairs {"installing: jupyter", "installing: gcc", "building release; the log is build/release.log",
      "installing the kernel in build/release/share/jupyter", "starting the notebook server; it prints its URL",
      "jupyter notebook"} do
      local from = out:find(part, at + 1, true)
      assert.truthy(from, part .. "\n" .. out)
      at = from
    end
  end)
end)
