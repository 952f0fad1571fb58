--- Tests how pictures are shown, on terminals of every kind and in notebooks. Also tests the messages if a picture cannot be shown.
local nw = require "nestwright"
local core = require "nestwright.core"
local pty = require "nw_pty"
local support = require "support"
local sixel = require "nestwright.plots.sixel"
local svg = require "nestwright.plots.svg"

local function picture() return nw.spacetime(support.gemm(4, 4, 4), {levels = {{bytes = 256, ways = 2}}, title = "a & <b>"}) end

local MAKE = [[
local A = nw.placeholder({4}, "f32", "A")
p = nw.spacetime(nw.schedule(nw.compute({4}, function(i) return A(i) + 1 end, "Y")))
]]

describe("a picture as text", function()
  it("has the caption and the first rows of the data", function()
    local p = picture()
    local text = p:text()
    assert.equal(p.caption, text:sub(1, #p.caption))
    assert.truthy(text:find "\n  time  tensor  index  lanes  access  address  outcome\n")
    assert.truthy(text:find(("\n  and %d more; "):format(#p.rows - 8)))
    assert.equal(tostring(p), p.caption)
  end)
end)

describe("the texts in a picture", function()
  it("contain no control sequences", function()
    for _, lane in ipairs {"a\27[31m\7\r", "b\27]0;x\7"} do
      support.fails("is a control character", "invalid", nw.timeline, {{lane = lane, from = 0, to = 1}})
    end
  end)
end)

describe("a picture for a notebook", function()
  local most = svg.MOST
  after_each(function() svg.MOST = most end)

  it("is SVG with a title and a description, and small", function()
    if not support.have_gnuplot() then return pending "gnuplot is not installed" end
    local p = picture()
    local text = p:svg()
    assert.truthy(text:find('<svg role="img"', 1, true))
    assert.truthy(nw.timeline({{lane = "a", from = 0, to = 1}}, {title = "it's"}):svg():find("<title>it's</title>", 1, true))
    assert.truthy(text:find("<title>a &amp; &lt;b&gt;</title>\n<desc>" .. p.caption .. "</desc>", 1, true))
    assert.is_true(#text <= svg.MOST)
    local bundle = p:bundle()
    local function common(drawn) return (drawn:gsub(drawn:match "id=\"(nw%x+_%d+_)", "")) end -- without the ids, which differ
    assert.equal(common(text), common(bundle["image/svg+xml"]))
    assert.equal(p.caption, bundle["text/plain"])
  end)

  it("is an image if the SVG would be too large, and a smaller image if the image is too large", function()
    if not support.have_gnuplot() then return pending "gnuplot is not installed" end
    local p = picture()
    local sizes = {}
    for n, bytes in ipairs {#p:svg() - 1, 40000} do
      svg.MOST = bytes
      local text = p:svg()
      local data = text:match 'href="data:image/png;base64,([^"]*)"'
      assert.is_true(#text <= bytes)
      assert.equal("iVBORw0KGgo", data:sub(1, 11)) -- a PNG
      assert.equal(0, #data % 4)
      assert.truthy(text:find(('width="%d" height="%d"'):format(p.size[1], p.size[2]), 1, true))
      assert.truthy(text:find("<desc>A: 64 accesses", 1, true))
      sizes[n] = #text
    end
    assert.is_true(sizes[2] < sizes[1])
  end)

  it("has names of patterns that are unique on the page", function()
    if not support.have_gnuplot() then return pending "gnuplot is not installed" end
    local ids, n = {}, 0
    for k = 1, 2 do
      local records = {{lane = "a 'gp #gp", from = 0, to = k, kind = "x"}, {lane = "b", from = 0, to = 1, kind = "y"}}
      local text = nw.timeline(records):svg()
      for id in text:gmatch "id='([^']*gp[^']*)'" do
        assert.is_nil(ids[id] and ids[id] ~= k and id)
        ids[id], n = k, n + 1
      end
      for id in text:gmatch "url%(#([^)]*gp[^)]*)%)" do assert.equal(k, ids[id]) end
      for id in text:gmatch "href='#([^']*)'" do assert.equal(k, ids[id]) end
      assert.truthy(text:find("<text>a 'gp #gp", 1, true))
    end
    assert.is_true(n > 2, n)
  end)

  it("writes bytes in base 64", function()
    for plain, coded in pairs {[""] = "", f = "Zg==", fo = "Zm8=", foo = "Zm9v", ["\0\255\16\131"] = "AP8Qgw=="} do
      assert.equal(coded, svg.base64(plain))
    end
  end)
end)

describe("a bitmap that is read from sixels", function()
  it("has the drawn dots, with the last colour on top", function()
    local head = '\27Pq"1;1;12;12#0;2;100;100;100#1;2;0;0;100#2;2;100;0;0'
    local dots = sixel.dots(head .. "#1!12~$#0!6~$#2?@-#2!2?!3B\27\\", 6)
    assert.same({red = 1, green = 0, blue = 0}, {red = dots[0][0].colour.red, green = dots[0][0].colour.green,
      blue = dots[0][0].colour.blue})
    assert.equal(1, dots[0][0].n)
    assert.equal(36, dots[0][1].n)
    assert.equal(1, dots[0][1].colour.blue)
    assert.equal(6, dots[1][0].n)
    assert.is_nil(dots[1][1])
  end)

  it("leaves out pale grey, but shows pale colours", function()
    local head = '\27Pq#1;2;87;87;87#2;2;81;91;97'
    assert.same({}, sixel.dots(head .. "#1!6~\27\\", 6))
    assert.equal(36, sixel.dots(head .. "#2!6~\27\\", 6)[0][0].n)
  end)

  it("is empty if nothing is drawn", function()
    assert.same({}, sixel.dots("", 4))
    assert.same({}, sixel.dots("\27Pq\27\\", 4))
  end)
end)

-- Runs a session in a new folder, with this shell script in place of gnuplot. If `gnuplot` is nil, the session has no gnuplot.
-- Returns the output, the folder and the exit status.
local function session_with(gnuplot, code, before)
  local dir = support.temporary()
  os.execute(("mkdir '%s'"):format(dir))
  if gnuplot then
    support.write(dir .. "/gnuplot", "#!/bin/sh\n" .. gnuplot)
    os.execute(("chmod +x '%s/gnuplot'"):format(dir))
  end
  support.write(dir .. "/code.lua", "nw = require 'nestwright'\n" .. MAKE .. code)
  local path = gnuplot and dir .. ":" .. os.getenv "PATH" or dir
  local out, status = support.run(("cd '%s' && PATH='%s' DIR='%s' %s '%s' code.lua"):format(dir, path, dir, before or "",
    support.run("realpath " .. support.program):gsub("\n", "")))
  return out, dir, status
end

local VERSION = 'if [ "$1" = --version ]; then echo gnuplot 5.4 patchlevel 4; exit; fi\n'
local SAVED = [[
local ok, err = pcall(p.save, p, "x.png")
print(ok, err.code, err.message, err.hint)
print(#p.rows, io.open "x.png")
p:save "x.csv"
p:save "x.gp"
print(io.open "x.csv" ~= nil, io.open "x.gp" ~= nil)
local b = p:bundle()
print(b["image/svg+xml"], b["text/plain"])
]]

describe("a picture, with a fake gnuplot or without one,", function()
  local dir
  after_each(function()
    if dir then os.execute(("rm -rf '%s'"):format(dir)) end
    dir = nil
  end)

  local function fails_with(message, gnuplot)
    local out
    out, dir = session_with(gnuplot, SAVED)
    assert.truthy(out:find("^false\tio\tsave: " .. message), out)
    assert.truthy(out:find "The data is in plot.rows", out)
    assert.truthy(out:find "\n8\tnil", out)
    assert.truthy(out:find "\ntrue\ttrue\n", out)
    assert.truthy(out:find "\nnil\tA: 4 accesses.-\n  time .-\n\nnot drawn: .*" .. message, out)
  end

  it("says that gnuplot is missing", function() fails_with "gnuplot is not installed" end)
  it("says why gnuplot cannot be started, if it exists", function()
    local out
    out, dir = session_with(nil, SAVED, ": >gnuplot;")
    assert.truthy(out:find "^false\tio\tsave: cannot start gnuplot: permission denied", out)
  end)
  it("says that gnuplot is too old", function()
    fails_with("gnuplot 4.6 is too old: version 5.4 is required", "echo gnuplot 4.6 patchlevel 6")
  end)
  it("says that the program is not gnuplot", function() fails_with("the program named gnuplot does not report", "echo hello") end)
  it("says that gnuplot crashed", function() fails_with("gnuplot was killed by signal 9", VERSION .. "kill -9 $$") end)
  it("says why gnuplot failed", function()
    fails_with("gnuplot failed: line 3: undefined", VERSION .. "echo '   line 3: undefined' >&2; exit 1")
  end)
  it("says that gnuplot drew nothing", function()
    fails_with("gnuplot drew nothing: warning: no points", VERSION .. "echo warning: no points >&2")
  end)

  it("keeps the warnings of gnuplot and the picture", function()
    local out
    out, dir = session_with(VERSION .. "echo picture; echo 'Fontconfig error' >&2; echo ' warning: odd' >&2",
      'p:save "x.png" print(p.remarks, io.open "x.png":read "a")')
    assert.equal("note: gnuplot says: warning: odd\nwarning: odd\tpicture\n\n", out)
  end)

  it("is drawn by later versions of gnuplot", function()
    local out
    out, dir = session_with('if [ "$1" = --version ]; then echo gnuplot 5.10; else echo drawn; fi',
      'p:save "x.png" print(io.open "x.png":read "a")')
    assert.equal("drawn\n\n", out)
  end)

  it("takes only a path when it is saved", function()
    support.fails("save takes %(path%): argument 2, a table, is one too many", "invalid", function()
      nw.timeline({{lane = "a", from = 0, to = 1}}):save("y.csv", {width = 1})
    end)
    assert.is_nil(io.open "y.csv")
  end)

  it("reports progress in lines if there is no terminal, but not for short work", function()
    local out
    out, dir = session_with(VERSION .. "sleep 1; echo drawn", 'p:save "x.png"')
    assert.equal("", out)
    os.execute(("rm -rf '%s'"):format(dir))
    out, dir = session_with(VERSION .. "sleep 1; echo drawn", 'require "nestwright.core".on_progress(nil, 0.1) p:save "x.png"')
    assert.truthy(out:find "^gnuplot draws, 0 s\n", out)
    assert.is_nil(out:find "[\r\27]")
  end)

  it("ends at Ctrl-C with all its processes", function()
    local out, status
    out, dir, status = session_with(VERSION .. "sleep 61 & echo $! > $DIR/pid; sleep 61; echo > $DIR/woke",
      'io.stdout:write "ready\\n" io.stdout:flush() p:save "x.png"', "timeout -s INT --preserve-status 1")
    assert.equal(130, status)
    assert.truthy(out:find "code.lua:%d+: interrupted")
    assert.is_nil(out:find("gnuplot.lua", 1, true))
    assert.is_nil(io.open(dir .. "/woke"))
    local pid = support.read(dir .. "/pid"):match "%d+"
    local alive = io.open("/proc/" .. pid .. "/cmdline")
    assert.is_true(alive == nil or not alive:read "a":find "sleep")
  end)

  it("opens no window if there is no desktop", function()
    local out
    out, dir = session_with("", 'print(pcall(p.window, p))', "DISPLAY= WAYLAND_DISPLAY=")
    assert.truthy(out:find "no desktop here: neither DISPLAY nor WAYLAND_DISPLAY")
    assert.truthy(out:find "plot:save")
  end)
end)

describe("a window", function()
  local dir
  after_each(function() os.execute(("rm -rf '%s'"):format(dir)) end)

  it("is a window of gnuplot if gnuplot has one, and remains open", function()
    local out
    out, dir = session_with(VERSION .. [[
      cat /dev/stdin > $DIR/script.$$; echo "$@" > $DIR/words
      if grep -q GPVAL_TERMINALS $DIR/script.$$; then echo dumb qt svg; exit; fi
      sleep 3 & echo $! > $DIR/pid]], 'print(p:window() == p)', "DISPLAY=:7")
    assert.equal("true\n", out)
    assert.truthy(support.read(dir .. "/words"):find "-persist")
    assert.truthy(io.open("/proc/" .. support.read(dir .. "/pid"):match "%d+" .. "/cmdline"))
  end)

  it("is a window of the desktop if gnuplot has none", function()
    local out
    out, dir = session_with(VERSION .. [[
      if grep -q GPVAL_TERMINALS /dev/stdin; then echo dumb svg; exit; fi
      echo '<svg  >'
      printf '#!/bin/sh\ncat "$1" > $DIR/opened; rm "$1"' > $DIR/xdg-open; chmod +x $DIR/xdg-open]], 'print(p:window() == p)',
      "DISPLAY=:7")
    assert.equal("true\n", out)
    assert.truthy(support.read(dir .. "/opened"):find "<svg")
  end)
end)

describe("programs", function()
  it("receive their input and return their output and status", function()
    local r = core.run_program({"sh", "-c", "cat; echo oops >&2; exit 3"}, "a\0b")
    assert.same({status = 3, out = "a\0b", said = "oops\n"}, r)
    assert.equal(-15, core.run_program({"sh", "-c", "kill -15 $$"}).status)
    assert.is_nil(core.run_program {"nw-nonesuch"})
    support.fails("cannot start /: permission denied", "io", core.run_program, {"/"})
    support.fails("give the name of a program", "invalid", core.run_program, {})
  end)
end)

describe("the progress of long work", function()
  after_each(function() core.on_progress() end)

  it("is reported as a fraction that grows to one, with an end", function()
    local heard = {}
    core.on_progress(function(what, part, seconds) heard[#heard + 1] = {what, part, seconds} end, 0)
    nw.misses(support.gemm(80, 80, 80), {levels = {{bytes = 4096, ways = 4}}})
    assert.is_true(#heard > 4)
    for n = 1, #heard - 1 do
      assert.equal("walking the accesses", heard[n][1])
      assert.is_true(heard[n][2] > (n > 1 and heard[n - 1][2] or 0) and heard[n][2] <= 1)
    end
    assert.is_true(heard[1][2] < 0.3 and heard[#heard - 1][2] > 0.7)
    assert.is_nil(heard[#heard][1])
  end)

  -- The work consists of many short calls. Progress is reported if the time since the first call is long enough.
  it("is reported for work in many calls", function()
    local heard, since = {}, core.now() - 10
    core.on_progress(function(what, part, seconds) heard[#heard + 1] = {what, part, seconds} end, 5)
    core.tell_progress("much", 0.5, core.now())
    core.tell_progress("much", 0.5, since)
    core.tell_progress()
    assert.equal(2, #heard)
    assert.same({"much", 0.5}, {heard[1][1], heard[1][2]})
    assert.is_true(heard[1][3] >= 10)
    assert.is_nil(heard[2][1])
  end)

  it("is reported while roofs are measured", function()
    local heard, caches, bandwidth, peak = {}, core.machine_caches, core.bandwidth, core.peak_flops
    core.machine_caches = function() return {{bytes = 4096, cpus = 1}} end
    core.bandwidth = function() return {1e9, 1e9} end
    core.peak_flops = function() return 1e9, {1e9, 1e9} end
    core.on_progress(function(what, part) heard[#heard + 1] = {what, part} end, 0)
    local ok, problem = pcall(nw.roofs, {threads = 777, fresh = true})
    core.machine_caches, core.bandwidth, core.peak_flops = caches, bandwidth, peak
    assert(ok, problem)
    assert.equal(9, #heard) -- 2 peaks, 3 loops over a cache, 3 loops over memory, and the end
    assert.same({"measuring the roofs of 777 threads", 0.0}, heard[1])
    assert.same({"measuring the roofs of 777 threads", 7 / 8}, heard[8])
    assert.is_nil(heard[9][1])
  end)

  it("is not reported for short work", function()
    local heard = 0
    core.on_progress(function() heard = heard + 1 end, 1000)
    nw.misses(support.gemm(80, 80, 80), {levels = {{bytes = 4096, ways = 4}}})
    assert.equal(0, heard)
  end)

  it("continues if a listener fails", function()
    core.on_progress(function() error "no" end, 0)
    assert.is_true((pcall(core.run_program, {"true"})))
  end)
end)

describe("a picture on a terminal", function()
  local child
  local inputrc = support.temporary ".inputrc"
  setup(function() support.write(inputrc, "set enable-bracketed-paste off\n") end)
  teardown(function() os.remove(inputrc) end)
  after_each(function()
    if child then
      child:send "\4"
      child:finish()
    end
    child = nil
  end)

  local function start(...)
    child = pty.spawn("/usr/bin/env", "XDG_STATE_HOME=/tmp", "NO_COLOR=1", "INPUTRC=" .. inputrc, ...)
    assert(child:expect("nw> ", 10000), "no prompt")
    child:send((MAKE:gsub("\n", " ")) .. "\n")
    assert(child:expect("nw> ", 10000), "no prompt")
  end

  local function shown(mark)
    local found, text = child:expect(mark, 10000)
    assert(found, text)
    return text
  end

  it("uses kitty's graphics if the terminal supports them", function()
    if not support.have_gnuplot() then return pending "gnuplot is not installed" end
    start("TERM=xterm", "TMUX=", "STY=", support.program)
    child:send "p\n"
    shown "\27[c"
    child:send "\27_Gi=31;OK\27\\\27[?62;4c"
    local text = shown "nw> "
    local chunks, data = {}, {}
    for head, part in text:gmatch "\27_G(.-);(.-)\27\\" do chunks[#chunks + 1], data[#data + 1] = head, part end
    assert.equal("a=T,f=100,q=2,m=1", chunks[1])
    assert.equal("m=0", chunks[#chunks])
    for n = 1, #data - 1 do assert.equal(4096, #data[n]) end
    assert.equal("iVBORw0KGgo", data[1]:sub(1, 11))
    assert.truthy(text:find "A: 4 accesses")
    child:send "1 + 1\n" -- the answer of the terminal was read completely, and a second picture sends no query
    text = shown "nw> "
    assert.truthy(text:find "^1 %+ 1\r?\n2\r?\n", text)
    child:send "p\n"
    assert.is_nil(shown("nw> "):find("\27[c", 1, true))
  end)

  it("uses sixel if the terminal supports it", function()
    if not support.have_gnuplot() then return pending "gnuplot is not installed" end
    start("TERM=xterm", "TMUX=", "STY=", support.program)
    child:send "p\n"
    shown "\27[c"
    child:send "\27[?62;4;22c"
    assert.truthy(shown("nw> "):find "\27P[%d;]*q.*\27\\")
  end)

  it("sends a multiplexer no query that it would misread", function()
    start("TERM=tmux-256color", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", support.program)
    child:send "p\n"
    assert.is_nil(shown("\27[c"):find "\27_G")
    child:send "\27[?1;2c"
    assert.truthy(shown("nw> "):find "A: 4 accesses")
  end)

  it("otherwise uses braille for lines, and characters for text", function()
    if not support.have_gnuplot() then return pending "gnuplot is not installed" end
    start("TERM=xterm", "NESTWRIGHT_GRAPHICS=braille", support.program)
    child:send "p\n"
    local text = shown "nw> "
    assert.is_nil(text:find("\27[c", 1, true))
    assert.is_nil(text:find "\27%[3")
    assert.truthy(text:find "space and time\r\n")
    assert.truthy(text:find "\r\nA, +")
    assert.truthy(text:find "time, accesses")
    assert.truthy(text:find "○ hit, read   ● ")
    local dots = 0
    for _ in text:gmatch "\xe2[\xa0-\xa3][\x80-\xbf]" do dots = dots + 1 end
    assert.is_true(dots > 200)
    for line in text:gmatch "[^\r\n]+" do assert.is_true(utf8.len(line) <= 100, line) end
  end)

  -- The filling of a cell must look different from marks on the cell, and from text.
  it("shows fillings as background colours if there are colours", function()
    if not support.have_gnuplot() then return pending "gnuplot is not installed" end
    child = pty.spawn("/usr/bin/env", "NO_COLOR=", "TERM=xterm", "COLORTERM=truecolor", "NESTWRIGHT_GRAPHICS=braille",
      support.program, "-e",
      "nw.timeline({{lane = 'a', from = 0, to = 2, label = 'word'}, {lane = 'b', from = 2, to = 3}}):show()")
    local text = shown "time, s"
    assert.truthy(text:find "\27%[1mactivity over time\27%[22m")
    assert.truthy(text:find "\27%[38;2;0;0;0;48;2;%d+;%d+;%d+mword\27%[[^m]*m", text)
    for line in text:gmatch "[^\r\n]+" do
      assert.truthy(not line:find "48;2" or line:find "\27%[39;49m%s*$" or line:find "39;49m[^\27]*$", line)
    end
    child:finish()
    child = nil
  end)

  it("uses ASCII characters if nothing else is possible", function()
    if not support.have_gnuplot() then return pending "gnuplot is not installed" end
    start("LC_ALL=C", "TERM=dumb", support.program)
    child:send "p:show()\n"
    local text = shown "A: 4 accesses"
    assert.truthy(text:find "time, accesses\r\n *\r?\n?F hit, read   G written   H ")
    assert.is_nil(text:find "[\27\x80-\xff]")
  end)

  it("shows marks that lie on a frame, and names of axes, in ASCII characters", function()
    if not support.have_gnuplot() then return pending "gnuplot is not installed" end
    start("NESTWRIGHT_GRAPHICS=dumb", "TERM=xterm", support.program)
    child:send "A = nw.placeholder({100}, 'f32', 'A')\n"
    shown "nw> "
    child:send "nw.spacetime(nw.schedule(nw.compute({100}, function(i) return A(i) end, 'Y'))) -- drawn\n"
    shown "drawn"
    local text = shown "nw> "
    assert.truthy(text:find "\n[^\n]* 0 H", text) -- A, at time 0 and element 0
    assert.truthy(text:find "\n[^\n]* 0 %+I", text) -- Y, immediately after
    for _, word in ipairs {"A,", "Y,", "element", "touched"} do assert.truthy(text:find("\n" .. word .. " "), word) end
    child:send "nw.order(nw.schedule(nw.compute({2, 3}, function(i, j) return i + j end, 'Z')))\n"
    assert.is_nil(shown("nw> "):find "early")
  end)

  it("has no shading without colours", function()
    if not support.have_gnuplot() then return pending "gnuplot is not installed" end
    local line = "nw.order(nw.schedule(nw.compute({4, 4}, function(i, j) return i + j end, 'Z')))\n"
    start("NESTWRIGHT_GRAPHICS=braille", "TERM=xterm", support.program)
    child:send(line)
    local text = shown "nw> "
    assert.is_nil(text:find("⣿⣿", 1, true))
    assert.is_nil(text:find("early", 1, true))
    assert.equal(16, select(2, text:gsub("●", "")))
  end)

  it("is its caption on request", function()
    start("NESTWRIGHT_GRAPHICS=none", support.program)
    child:send "p\n"
    assert.truthy(shown("nw> "):find "^p\r\nA: 4 accesses")
  end)

  it("has one of several forms, which an invalid request lists", function()
    start("NESTWRIGHT_GRAPHICS=gif", support.program)
    child:send "p\n"
    assert.truthy(shown("nw> "):find "NESTWRIGHT_GRAPHICS must be one of kitty, sixel, braille, dumb, none, not 'gif'")
  end)

  it("sends no query if something was typed already", function()
    start("TERM=xterm", "TMUX=", "LC_ALL=C.UTF-8", support.program)
    child:send "os.execute 'sleep 0.5' print(#p:text())\np\n5 + 6\n"
    local text = shown "\n11"
    assert.is_nil(text:find("\27[c", 1, true))
    assert.truthy(text:find "A: 4 accesses")
  end)

  it("sends no query from the background, where it would be stopped", function()
    child = pty.spawn("/usr/bin/env", "TERM=xterm", "TMUX=", "LC_ALL=C.UTF-8", "/bin/sh", "-c", "set -m; " .. support.program
      .. " -e \"nw.timeline({{lane = 'a', from = 0, to = 1}}):show() print 'over'\" & wait")
    local text = shown "over"
    assert.is_nil(text:find("\27[c", 1, true))
    child:finish()
    child = nil
  end)

  it("shows progress while gnuplot runs, and then removes it", function()
    local dir = support.temporary()
    os.execute(("mkdir '%s'"):format(dir))
    support.write(dir .. "/gnuplot", "#!/bin/sh\n" .. VERSION .. "sleep 1.4; echo drawn")
    os.execute(("chmod +x '%s/gnuplot'"):format(dir))
    start("TERM=xterm", ("PATH=%s:%s"):format(dir, os.getenv "PATH"), support.program)
    child:send(("p:save '%s/x.png';\n"):format(dir))
    local text = shown "\r\27[Knw> "
    assert.truthy(text:find "\rgnuplot draws, 1 s\27%[K")
    os.execute(("rm -rf '%s'"):format(dir))
  end)

  it("stops gnuplot at Ctrl-C, shows its warnings, and the session continues", function()
    local dir = support.temporary()
    os.execute(("mkdir '%s'"):format(dir))
    local function gnuplot(code)
      support.write(dir .. "/gnuplot", "#!/bin/sh\n" .. VERSION .. code)
      os.execute(("chmod +x '%s/gnuplot'"):format(dir))
    end
    gnuplot(("echo $$ > %s/pid; echo begun > /dev/tty; sleep 61"):format(dir))
    start("TERM=xterm", "NESTWRIGHT_GRAPHICS=kitty", ("PATH=%s:%s"):format(dir, os.getenv "PATH"), support.program)
    child:send "p\n"
    shown "begun"
    child:send "\3"
    assert.is_nil(shown("interrupted"):find("gnuplot.lua", 1, true))
    assert.is_nil(io.open("/proc/" .. support.read(dir .. "/pid"):match "%d+" .. "/cmdline"))
    gnuplot "echo warning: odd >&2; echo picture"
    child:send(("p:save '%s/x.png';\n"):format(dir))
    shown "note: gnuplot says: warning: odd"
    os.execute(("rm -rf '%s'"):format(dir))
  end)

  it("stops a long list of accesses at Ctrl-C", function()
    start("TERM=xterm", support.program)
    child:send("B = nw.placeholder({4000, 4000}, 'f32', 'B')\nk = nw.reduce_axis(4000, 'k')\n"
      .. "q = nw.schedule(nw.compute({4000, 4000}, function(i, j) return nw.sum(B(i, k)*B(k, j), k) end, 'Q'))\nnw.spacetime(q)\n")
    shown "counting the accesses: "
    child:send "\3"
    shown "interrupted"
    child:send "7 + 8\n"
    shown "\n15"
  end)
end)
