--- Tests the layout of pictures: texts inside the frame and apart from each other, colours with one meaning, and common scales. The
--- positions come from the SVG, and the edges of the PNG from its pixels.
local nw = require "nestwright"
local figure = require "nestwright.plots.figure"
local fit = require "nestwright.plots.fit"
local outcomes = require "nestwright.plots.outcomes"
local support = require "support"
local svg = require "nestwright.plots.svg"
local terminal = require "nestwright.plots.terminal"
local core = require "nestwright.core"

local SMALL, TWO = {{bytes = 256, ways = 2}}, {{bytes = 512, ways = 2}, {bytes = 2048, ways = 4}}
local LONG = "an implementation whose name is so long that it does not fit beside any axis"

local function around(median)
  local samples = {}
  for n = 1, 9 do samples[n] = median * (0.9 + n / 50) end
  return {samples = samples}
end

local function timings() return nw.timings {naive = around(4e-3), [LONG] = around(2e-3)} end

local function sweep()
  return nw.sweep {params = {n = {1, 2, 4}, way = {"plain", LONG}}, run = function(p) return {seconds = p.n * 1e-3} end}
end

local function tiled(n)
  local s = support.gemm(n, n, n)
  s:tile("i", "j", 4, 4)
  return s
end

local function kinds()
  local records = {}
  for n = 0, 11 do
    records[n + 1] = {lane = "thread " .. n % 4, from = n // 4 * 3, to = n // 4 * 3 + 2, kind = "kind of work number " .. n}
  end
  return nw.timeline(records)
end

local function refusal()
  local s = support.gemm(8, 8, 8)
  return support.error_of(s.parallel, s, "k").refusal:plot()
end

-- A picture of each kind, with long texts where a picture accepts them.
local PICTURES = {
  marks = function() return nw.spacetime(support.gemm(6, 6, 6), {levels = SMALL, title = LONG .. " " .. LONG}) end,
  raster = function() return nw.spacetime(support.gemm(16, 16, 16), {machine = "zen5"}) end,
  before = function() return nw.spacetime(tiled(8), {levels = SMALL, before = 0}) end,
  reuse = function() return nw.reuse(support.gemm(16, 16, 16), {levels = TWO}) end,
  sets = function() return nw.cache_sets(support.gemm(16, 16, 16), {levels = SMALL}) end,
  misses = function() return nw.misses(support.gemm(16, 16, 16), {levels = TWO}):plot {by = "loop"} end,
  order = function() return nw.order(tiled(8)) end,
  pieces = function() return nw.pieces(tiled(8)) end,
  refusal = refusal,
  times = function() return timings():plot() end,
  steps = function() return timings():plot {style = "steps"} end,
  curves = function() return sweep():plot {x = "n", by = "way"} end,
  columns = function() return sweep():plot {x = "way", by = "n", style = "bars"} end,
  heat = function() return sweep():plot {style = "heat"} end,
  timeline = kinds,
  roofline = function() return nw.roofline(tiled(32), {machine = "skylake_x"}) end,
}

-- ---- texts

local ENTITIES = {amp = "&", lt = "<", gt = ">", quot = '"', apos = "'"}
local START = {start = 0, middle = 0.5, ["end"] = 1}

-- Returns the horizontal texts of a picture with their boxes: {text, size, left, right, top, bottom}.
local function boxes_of(p)
  local out = {}
  for attributes, body in svg.of(p):gmatch '<g transform="(translate[^>]*)>%s*<text[^>]*>(.-)</text>' do
    local x, y = attributes:match "translate%(([-%d.]+),([-%d.]+)%)"
    local size = tonumber(attributes:match 'font%-size="([%d.]+)"')
    local text = body:gsub("<[^>]*>", ""):gsub("&(%a+);", ENTITIES):gsub("&#160;", " "):match "^%s*(.-)%s*$"
    if text ~= "" and not attributes:find "rotate" then
      local wide = fit.width(text, size)
      local left = tonumber(x) - wide * START[attributes:match 'text%-anchor="(%a+)"' or "start"]
      out[#out + 1] = {text = text, size = size, left = left, right = left + wide, top = tonumber(y) - 0.75 * size,
        bottom = tonumber(y) + 0.2 * size}
    end
  end
  return out
end

local function overlap(a, b) return a.left < b.right and b.left < a.right and a.top < b.bottom and b.top < a.bottom end

-- A Python script that prints True if the first four and the last four pixels of each row of a PNG are white, and False otherwise.
local EDGES = [[
import sys, zlib, struct
data, at, body = open(sys.argv[1], 'rb').read(), 8, b''
while at < len(data):
    size, kind = struct.unpack('>I4s', data[at:at + 8])
    part = data[at + 8:at + 8 + size]
    if kind == b'IHDR': width, height, _, colour = struct.unpack('>IIBB', part[:10])
    if kind == b'IDAT': body += part
    at += 12 + size
each = 4 if colour == 6 else 3
raw, before, rows = zlib.decompress(body), bytearray(width * each), []
for y in range(height):
    begin = y * (width * each + 1)
    how, line = raw[begin], bytearray(raw[begin + 1:begin + 1 + width * each])
    for x in range(len(line)):
        a = line[x - each] if x >= each else 0
        b, c = before[x], before[x - each] if x >= each else 0
        if how == 1: line[x] = (line[x] + a) & 255
        elif how == 2: line[x] = (line[x] + b) & 255
        elif how == 3: line[x] = (line[x] + (a + b) // 2) & 255
        elif how == 4:
            p, pa, pb, pc = a + b - c, abs(b - c), abs(a - c), abs(a + b - 2 * c)
            line[x] = (line[x] + (a if pa <= pb and pa <= pc else b if pb <= pc else c)) & 255
    rows.append(line)
    before = line
print(all(v > 250 for line in rows for v in list(line[:4 * each]) + list(line[-4 * each:])))
]]

local function white_edges(p)
  local png, script = support.temporary ".png", support.temporary ".py"
  p:save(png)
  support.write(script, EDGES)
  local out = support.run(("python3 %s %s"):format(script, png))
  os.remove(png)
  os.remove(script)
  return out
end

describe("a text in a picture", function()
  for name, make in pairs(PICTURES) do
    it("is not cut by the frame: " .. name, function()
      if not support.have_gnuplot() then return pending "gnuplot is not installed" end
      local p = make()
      local list = boxes_of(p)
      assert.is_true(#list > 3)
      for _, box in ipairs(list) do
        assert.is_true(box.left >= 0 and box.right <= p.size[1] and box.top >= 0 and box.bottom <= p.size[2], box.text)
      end
    end)

    it("below the panels overlaps no other text, such as the legend and the small print: " .. name, function()
      if not support.have_gnuplot() then return pending "gnuplot is not installed" end
      local p = make()
      local list, bottom, checked = boxes_of(p), tonumber(p.script:match "^# panels from %d+ to (%d+)"), 0
      for n, a in ipairs(list) do
        for k = n + 1, #list do
          local b = list[k]
          if a.bottom > bottom and b.bottom > bottom then
            assert.is_false(overlap(a, b), a.text .. " | " .. b.text)
            checked = checked + 1
          end
        end
      end
      assert.is_true(checked > 0 or name == "order" or name == "pieces")
    end)
  end

  for _, name in ipairs {"times", "misses", "timeline", "reuse"} do
    it("is not cut in the PNG: " .. name, function()
      if not support.have_gnuplot() then return pending "gnuplot is not installed" end
      if select(2, support.run "python3 -c 'import zlib'") ~= 0 then return pending "python3 is not installed" end
      assert.equal("True\n", white_edges(PICTURES[name]()))
    end)
  end

  it("is shortened or wrapped to a width", function()
    assert.equal("abc", fit.shortened("abc", 100, 10))
    local short = fit.shortened(("wide "):rep(30), 100, 10)
    assert.truthy(short:find "…$")
    assert.is_true(fit.width(short, 10) <= 100 and fit.width(short, 10) > 80)
    for _, line in ipairs(fit.folded(("some words and " .. ("x"):rep(60) .. " "):rep(3), 120, 10)) do
      assert.is_true(fit.width(line, 10) <= 120, line)
    end
    assert.is_true(fit.width("é", 10) < fit.width("中", 10))
    assert.equal(10 * #"\xff", fit.width("\xff", 10))
  end)
end)

describe("a kind of miss", function()
  -- Returns pictures with conflict misses, which need a cache with few ways, and cold misses, which always occur.
  local function pictures()
    local s, levels = support.gemm(8, 8, 8), {{bytes = 512, ways = 1}}
    local large = support.gemm(16, 16, 16)
    return {nw.spacetime(s, {levels = levels}), nw.spacetime(large, {levels = levels}), nw.misses(large, {levels = levels}):plot {}}
  end

  it("has one colour in every picture", function()
    for n, p in ipairs(pictures()) do
      for _, kind in ipairs(outcomes.MISSES) do
        local entry = p.script:match("set label '" .. kind .. "[^\n]* lc rgb '(#%x+)'")
        assert.equal(outcomes.colour[kind], entry, n .. kind)
      end
    end
    local marks, raster, bars = table.unpack(pictures())
    for _, kind in ipairs {"cold", "conflict"} do
      local colour = outcomes.colour[kind]
      assert.truthy(marks.script:find("with points pt %d+ ps %S+ lc rgb '" .. colour), kind)
      assert.truthy(raster.script:find("set palette maxcolors 6 defined [^\n]*" .. colour), kind)
      assert.truthy(bars.script:find("%$" .. kind .. "%d+ using [^\n]* lc rgb '" .. colour), kind)
    end
  end)

  it("has this colour in SVG, and in a terminal with colours", function()
    if not support.have_gnuplot() then return pending "gnuplot is not installed" end
    local p = pictures()[1]
    local wanted = outcomes.colour.conflict
    local red, green, blue = tonumber(wanted:sub(2, 3), 16), tonumber(wanted:sub(4, 5), 16), tonumber(wanted:sub(6, 7), 16)
    assert.truthy(p:svg():find(("rgb%%(%s*%d,%s*%d,%s*%d%%)"):format("%s", red, "%s", green, "%s", blue):gsub(" ", "")))
    local out = support.run(("NO_COLOR= TERM=xterm COLORTERM=truecolor %s -e \"%s\""):format(support.program,
      "local d = require 'nestwright.plots.braille' local s = (function() local A = nw.placeholder({64}, 'f32', 'A') "
      .. "return nw.schedule(nw.compute({64}, function(i) return A(i) + 1 end, 'Y')) end)() "
      .. "print((d.drawn(nw.spacetime(s, {levels = {{bytes = 512, ways = 1}}}), 100)))"))
    assert.truthy(out:find("38;2;%d+;%d+;%d+"), out)
    assert.truthy(out:find(("38;2;%d;%d;%d"):format(red, green, blue), 1, true), out)
  end)

  it("and the level where data was found have one colour in marks and in a raster", function()
    local few = nw.spacetime(support.gemm(6, 6, 6), {levels = TWO, level = "all"})
    local many = nw.spacetime(support.gemm(16, 16, 16), {levels = TWO, level = "all"})
    for _, name in ipairs {"L1", "L2", "memory"} do
      local pattern = "set label '[^\n']*" .. name .. "[^\n]* lc rgb '(#%x+)'"
      assert.equal(few.script:match(pattern), many.script:match(pattern), name)
    end
  end)
end)

-- Returns the different texts that match a pattern in a script, and their number.
local function found(script, pattern)
  local seen, n = {}, 0
  for text in script:gmatch(pattern) do
    n = n + 1
    seen[text] = true
  end
  local list = {}
  for text in pairs(seen) do list[#list + 1] = text end
  return list, n
end

describe("panels that are compared", function()
  it("have one scale: the misses of levels", function()
    local list, n = found(nw.misses(support.gemm(24, 24, 24), {levels = TWO}):plot {}.script, "set xrange (%S+);")
    assert.same({1, 2}, {#list, n})
  end)

  it("have one scale: reuse distances of tensors", function()
    local script = nw.reuse(support.gemm(24, 20, 16), {levels = TWO}).script
    for _, axis in ipairs {"xrange", "yrange"} do
      local list, n = found(script, "set " .. axis .. " (%S+)")
      assert.same({1, 3}, {#list, n})
    end
  end)

  it("have one scale: lines in sets, and lines requested from them", function()
    local script = nw.cache_sets(support.gemm(24, 24, 24), {levels = SMALL}).script
    for _, what in ipairs {"set cbrange ([^\n]+)", "(set palette [^\n]+)"} do
      local list, n = found(script, what)
      assert.same({1, 2}, {#list, n})
    end
  end)

  it("have one scale: a tensor in several threads", function()
    local s = support.gemm(16, 8, 8)
    s:parallel "i"
    local script = nw.spacetime(s, {levels = SMALL, threads = 4}).script
    for _, tensor in ipairs {"A", "B", "C"} do
      local list, n = found(script, "set yrange (%S+)\n[^\n]*\n[^\n]*\n[^\n]*\nset ylabel '" .. tensor)
      assert.same({1, 4}, {#list, n})
    end
  end)
end)

describe("a picture with before", function()
  it("is as wide as one without, and its panels are too, so that they can be read", function()
    local s = tiled(8)
    local one, two = nw.spacetime(s, {levels = SMALL}), nw.spacetime(s, {levels = SMALL, before = 0})
    assert.equal(one.size[1], two.size[1])
    assert.is_true(two.size[2] > 1.5 * one.size[2])
    local list = found(two.script, "set lmargin at screen (%S+; set rmargin at screen %S+);")
    assert.equal(1, #list)
  end)
end)

-- ---- letters

describe("a picture that is drawn with letters", function()
  local way, screen = terminal.way, core.terminal
  before_each(function()
    terminal.way = function() return "dumb" end
    core.terminal = function() return {columns = 100, rows = 40, width = 0, height = 0} end
  end)
  after_each(function() terminal.way, core.terminal = way, screen end)

  it("shows a raster with a letter for each outcome, and no lane is empty", function()
    if not support.have_gnuplot() then return pending "gnuplot is not installed" end
    local p = nw.spacetime(support.gemm(16, 16, 16), {levels = {{bytes = 512, ways = 2}}})
    assert.is_true(figure.has_letters(p.script))
    local text = terminal.shown(p)
    for n, name in ipairs {"hit, read", "hit, written", "cold miss", "capacity miss", "conflict miss"} do
      assert.truthy(text:find(string.char(64 + n) .. " " .. name, 1, true), text)
    end
    local rows = 0 -- the rows of letters: at least four in each of the three lanes
    for line in text:match "^.-touched":gmatch "[^\n]+" do if line:find "[A-E][A-E]" then rows = rows + 1 end end
    assert.is_true(rows >= 12, text)
    assert.truthy(text:find "DDDD" and text:find "EEEE", text) -- the worst outcomes are drawn over other outcomes
  end)

  it("shows the sets of a cache, and says what the letters mean", function()
    if not support.have_gnuplot() then return pending "gnuplot is not installed" end
    local text = terminal.shown(nw.cache_sets(support.gemm(16, 16, 16), {levels = SMALL}))
    assert.truthy(text:find("A fewer lines than ways   B as many lines as ways   C more lines than ways", 1, true))
    assert.truthy(text:find "BBBBBB" and text:find "CCCCC", text)
    assert.truthy(text:find "lines held" and text:find "different lines accessed")
  end)

  it("replaces braille if there are no colours to distinguish outcomes", function()
    if not support.have_gnuplot() then return pending "gnuplot is not installed" end
    local out = support.run(("NO_COLOR=1 TERM=xterm %s -e \"%s\""):format(support.program,
      "local t, core = require 'nestwright.plots.terminal', require 'nestwright.core' t.way = function() return 'braille' end "
      .. "core.terminal = function() return {columns = 100, rows = 40, width = 0, height = 0} end "
      .. "local A = nw.placeholder({4000}, 'f32', 'A') "
      .. "print(t.shown(nw.spacetime(nw.schedule(nw.compute({4000}, function(i) return A(i) + 1 end, 'Y')), "
      .. "{levels = {{bytes = 512, ways = 1}}})))"))
    assert.truthy(out:find("C cold miss", 1, true), out)
  end)
end)

describe("nw.pieces", function()
  local function square(n)
    local A = nw.placeholder({n, n}, "f32", "A")
    local s = nw.schedule(nw.compute({n, n}, function(i, j) return A(i, j) + 1 end, "Y"))
    s:split("i", 48, {tail = "cut"})
    return s
  end

  it("does not stop at 64 values of an axis", function()
    local p = nw.pieces(square(100))
    assert.equal(100 * 100, #p.rows)
    assert.truthy(tostring(p):find("i_o 9600 instances, i.tail 400 instances", 1, true), tostring(p))
    assert.is_nil(tostring(p):find "are shown")
  end)

  it("shows both ends of a longer axis, and says how many instances are shown", function()
    local p = nw.pieces(square(1000), {to = {j = 10}})
    local text = tostring(p)
    assert.truthy(text:find("i in 0..64 and 936..1000 of 0..1000, j in 0..10 of 0..1000: 1280 of 1000000 instances are shown", 1,
      true), text)
    assert.truthy(text:find("i.tail 400 instances", 1, true), text)
    assert.equal(1280, #p.rows)
  end)
end)
