--- The space-time diagram: its data against the accesses, its files, and names that mean harm.
local nw = require "nestwright"
local support = require "support"
local fails = support.fails

local SMALL = {{bytes = 256, ways = 2}}

local function have_gnuplot()
  local pipe = io.popen "gnuplot --version 2>/dev/null"
  local text = pipe:read "a"
  pipe:close()
  return text:find "^gnuplot" ~= nil
end

-- Width, height and how many different bytes the pixels hold: a blank picture has one or two.
local function png_of(path)
  local data = support.read(path)
  assert.equal("\137PNG\r\n\26\n", data:sub(1, 8))
  local width, height = (">I4I4"):unpack(data, 17)
  return width, height, #data
end

describe("nw.spacetime", function()
  local path
  before_each(function() path = nil end)
  after_each(function() if path then os.remove(path) end end)

  it("holds every access with what became of it", function()
    local s = support.gemm(4, 4, 4)
    local p, a = nw.spacetime(s, {levels = SMALL}), nw.accesses(s, {levels = SMALL, feed = "misses"})
    assert.equal(#a, #p.rows)
    for n, row in ipairs(p.rows) do
      local at = a:at(n)
      assert.same({n - 1, at.tensor, at.index, at.lanes, at.write and "write" or "read", at.address, at.outcome[1]}, row)
    end
    local marks = 0 -- of the script's data blocks
    for block in p.script:gmatch "%$m%d+_%d[rw] << EOD\n(.-)EOD\n" do
      for _ in block:gmatch "[^\n]+" do marks = marks + 1 end
    end
    assert.equal(#a, marks)
  end)

  it("counts in its caption what nw.misses counts", function()
    local s = support.gemm(8, 8, 8)
    local p, m = nw.spacetime(s, {levels = SMALL}), nw.misses(s, {levels = SMALL})
    for _, t in ipairs(m.by_tensor) do
      local line = tostring(p):match(t.tensor .. ":[^\n]*")
      assert.equal(t.asked, tonumber(line:match "(%d+) accesses"))
      assert.equal(t.cold, tonumber(line:match "(%d+) cold") or 0)
      assert.equal(t.capacity, tonumber(line:match "(%d+) capacity") or 0)
      assert.equal(t.conflict, tonumber(line:match "(%d+) conflict") or 0)
    end
    assert.truthy(tostring(p):find "no prefetcher, no TLB")
  end)

  it("shows elements, addresses, lines and sets", function()
    local s = support.gemm(4, 4, 4)
    local function ys(y)
      local seen = {}
      for block in nw.spacetime(s, {levels = SMALL, y = y}).script:gmatch "%$m1_%d[rw] << EOD\n(.-)EOD\n" do
        for v in block:gmatch "%d+ (%d+)\n" do seen[tonumber(v)] = true end
      end
      local n = 0
      for _ in pairs(seen) do n = n + 1 end
      return n, seen
    end
    assert.equal(16, (ys "index"))
    local n, seen = ys "address"
    assert.equal(16, n)
    assert.is_true(seen[4096] and seen[4096 + 60])
    assert.equal(1, (ys "line"))
    assert.is_true(select(2, ys "set")[0])
  end)

  it("makes files of every kind", function()
    local p = nw.spacetime(support.gemm(4, 4, 4), {levels = SMALL})
    path = support.temporary ".csv"
    p:save(path)
    local lines = 0
    for _ in support.read(path):gmatch "\n" do lines = lines + 1 end
    assert.equal(#p.rows + 1, lines)
    if not have_gnuplot() then return pending "gnuplot is not installed" end
    for _, format in ipairs {".svg", ".png", ".pdf", ".gp"} do
      os.remove(path)
      path = support.temporary(format)
      p:save(path)
      assert.is_true(#support.read(path) > 1000)
    end
    os.remove(path)
    path = support.temporary ".png"
    local width, height, bytes = png_of(p:save(path) and path)
    assert.equal(1000, width)
    assert.is_true(height > 400 and bytes > 10000)
  end)

  it("executes nothing that it is told", function()
    if not have_gnuplot() then return pending "gnuplot is not installed" end
    local harm = support.temporary ".harm"
    path = support.temporary ".svg"
    local title = ("it's `touch %s` \" @x {/Bold y} $z\n'; system('touch %s') #"):format(harm, harm)
    nw.spacetime(support.gemm(2, 2, 2), {levels = SMALL, title = title}):save(path)
    assert.is_nil(io.open(harm))
    assert.truthy(support.read(path):find("touch", 1, true)) -- it is a title
  end)

  it("says what it cannot show", function()
    local s = support.gemm(4, 4, 4)
    fails("more than 3000 accesses", "limit", nw.spacetime, (support.gemm(16, 16, 16)))
    fails("y is 'index'", "invalid", nw.spacetime, s, {y = "time"})
    fails("there is no level 2", "invalid", nw.spacetime, s, {levels = SMALL, level = 2})
    fails("unknown option", "invalid", nw.spacetime, s, {x = 1})
    fails("expected a schedule", "invalid", nw.spacetime, 1)
    local M = nw.size("M", {min = 0})
    local X = nw.placeholder({M}, "f32", "X")
    local t = nw.schedule(nw.compute({M}, function(i) return X(i) + 1 end, "Y"))
    fails("the size M has no value", "invalid", nw.spacetime, t)
    fails("touches no memory", "invalid", nw.spacetime, t, {sizes = {M = 0}})
    local one = nw.spacetime(t, {sizes = {M = 1}, levels = SMALL})
    assert.equal(2, #one.rows)
    local p = nw.spacetime(s, {levels = SMALL})
    fails("does not end in", "invalid", p.save, p, "x.bmp")
    fails("cannot write", "io", p.save, p, "/nowhere/x.csv")
  end)
end)
