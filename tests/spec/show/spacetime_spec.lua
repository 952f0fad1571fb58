--- Tests the space-time diagram. Its data is compared with the accesses. Also tests its files, and names that try to run commands.
local nw = require "nestwright"
local core = require "nestwright.core"
local support = require "support"
local fails = support.fails

local SMALL = {{bytes = 256, ways = 2}}

describe("nw.spacetime", function()
  local path
  before_each(function() path = nil end)
  after_each(function() if path then os.remove(path) end end)

  it("contains every access with its hit or miss", function()
    local s = support.gemm(4, 4, 4)
    local p, a = nw.spacetime(s, {levels = SMALL}), nw.accesses(s, {levels = SMALL, feed = "misses"})
    assert.equal(#a, #p.rows)
    for n, row in ipairs(p.rows) do
      local at = a:at(n)
      assert.same({n - 1, at.tensor, at.index, at.lanes, at.write and "write" or "read", at.address, at.outcome[1]}, row)
    end
    local marks = 0 -- the number of marks in the script's data blocks
    for block in p.script:gmatch "%$marks%d+ << EOD\n(.-)EOD\n" do
      for _ in block:gmatch "[^\n]+" do marks = marks + 1 end
    end
    assert.equal(#a, marks)
  end)

  it("has the counts of nw.misses in its caption", function()
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

  it("gives the counts of the cost model if a machine is named", function()
    local s = support.gemm(8, 8, 8)
    local m = nw.machine {extends = "zen5", name = "small", caches = {{bytes = 256, ways = 2, latency = 4, bytes_per_cycle = 64}}}
    local p, c = nw.spacetime(s, {machine = m}), s:cost {machine = m}
    local line = p.caption:match "The cost model on small:[^\n]*"
    assert.truthy(line:find("bottleneck: " .. c.bottleneck, 1, true))
    assert.truthy(line:find(("L1 misses %d lines"):format(c.levels[1].misses), 1, true))
    for _, row in ipairs(c.by_tensor) do
      assert.truthy(line:find(("%s %d"):format(row.tensor, row.misses), 1, true))
      local drawn = p.caption:match(row.tensor .. ": 5[^\n]*") or p.caption:match(row.tensor .. ": 1[^\n]*")
      local kinds = 0
      for n in drawn:match("L1: ([^\n]*)"):gmatch "%d+" do kinds = kinds + tonumber(n) end
      assert.equal(row.misses, kinds, row.tensor) -- the picture and the model must agree
    end
    assert.truthy(line:find(", exact.", 1, true))
    assert.truthy(p.script:find("The cost model on small", 1, true)) -- the picture has the same sentence
    s:split("i", 4)
    local both = nw.spacetime(s, {machine = m, before = 0}).caption
    for _, version in ipairs {99, -1} do
      local message = support.error_of(nw.spacetime, s, {machine = m, before = version}).message
      assert.equal(("spacetime: before: there is no version %d; the latest is 1"):format(version), message)
    end
    assert.truthy(both:find("version 0: The cost model on small", 1, true))
    assert.truthy(both:find("version 1: The cost model on small", 1, true))
    assert.falsy(nw.spacetime(s, {levels = SMALL}).caption:find("cost model", 1, true))
  end)

  it("shows elements, addresses, lines and sets", function()
    local s = support.gemm(4, 4, 4)
    local function ys(y) -- counts the coordinates of A, which is the first lane
      local seen = {}
      local script = nw.spacetime(s, {levels = SMALL, y = y}).script
      local lane = script:match "set ylabel 'A,.-\nplot (.-)\nreset"
      for name in lane:gmatch "$(marks%d+)" do
        for v in script:match("%$" .. name .. " << EOD\n(.-)EOD\n"):gmatch "%d+ (%d+)\n" do seen[tonumber(v)] = true end
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

  -- Compares the raster with the worst access on each pixel, which is computed independently of it.
  it("loses no access and no miss in a raster", function()
    local s = support.gemm(6, 5, 7)
    local width, height = 37, 11
    local cache = {levels = SMALL, line = 64, misses = true, conflicts = true}
    local r, a = core.raster(s, {sizes = {}}, cache, 1, "index", width, height), nw.accesses(s, {levels = SMALL})
    local elements, want, code = {A = 42, B = 35, C = 30}, {}, {cold = 3, capacity = 4, conflict = 5}
    assert.equal(#a, r.time)
    for n = 1, #a do
      local at = a:at(n)
      local x, y = (n - 1) * width // #a, at.index * height // elements[at.tensor]
      local top = ((at.index + 1) * height - 1) // elements[at.tensor] -- an element may be several pixels high
      for row = y, math.max(y, top) do
        local key = at.tensor .. " " .. x .. " " .. row
        want[key] = math.max(want[key] or 0, code[at.outcome[1]] or (at.write and 2 or 1))
      end
    end
    local got = 0
    for _, lane in ipairs(r.lanes) do
      for y, row in ipairs(lane.rows) do
        for x = 1, width do
          local key = lane.tensor .. " " .. (x - 1) .. " " .. (y - 1)
          if row:byte(x) > 0 then got = got + 1 end
          assert.equal(want[key] or 0, row:byte(x), key)
        end
      end
    end
    assert.is_true(got > 100)
    assert.equal((42 * 4 + 63) // 64 * 64 + (35 * 4 + 63) // 64 * 64 + (30 * 4 + 63) // 64 * 64, r.touched[width])
    assert.equal(6, #r.iterations - 6 * 5 - 6 * 5 * 7)
  end)

  it("shows a line with its true height, and a miss wide enough to be visible", function()
    local s = support.gemm(16, 16, 16)
    local r = core.raster(s, {sizes = {}}, {levels = SMALL, line = 64, misses = true, conflicts = true}, 1, "line", 400, 64)
    for _, lane in ipairs(r.lanes) do
      for x = 1, 400 do -- 16 lines, each of 4 pixels of one kind
        for y = 1, 64, 4 do
          for more = 1, 3 do assert.equal(lane.rows[y]:byte(x), lane.rows[y + more]:byte(x)) end
        end
      end
    end
    local alone = 0 -- misses next to a hit or to nothing
    for block in nw.spacetime(s, {levels = SMALL, y = "line"}).script:gmatch "$pixels%d+ << EOD\n(.-)EOD\n" do
      for line in block:gmatch "[^\n]+" do
        for _ in line:gmatch "%f[%d][0-2] [345] [0-2] " do alone = alone + 1 end
      end
    end
    assert.equal(0, alone)
  end)

  it("has brackets for the loops around most accesses, and names loops that are too short for brackets", function()
    local s = support.gemm(16, 16, 16)
    local i_o, j_o, i_i, j_i = s:tile("i", "j", 4, 4)
    local k_o, k_i = s:split("k", 4)
    s:reorder(i_o, j_o, k_o, k_i, i_i, j_i)
    local p, names = nw.spacetime(s, {levels = SMALL}), {}
    local panel = p.script:match "unset border.-\nplot"
    for name in panel:gmatch "set label '([%w_]+)' at graph" do names[#names + 1] = name end
    assert.same({"i_o", "j_o", "k_o", "k_i", "i_i", "j_i"}, names) -- without the loops that set the elements to 0
    assert.equal(2, select(2, panel:gsub("4 iterations, too short to distinguish", "")))
    assert.truthy(tostring(p):find("no brackets: i_i_1, j_i_1, i_i, j_i.", 1, true))
  end)

  it("draws a raster if there are too many accesses for marks", function()
    local s = support.gemm(16, 16, 16)
    local p, m = nw.spacetime(s, {levels = SMALL}), nw.misses(s, {levels = SMALL})
    assert.truthy(tostring(p):find "every miss is visible")
    for _, t in ipairs(m.by_tensor) do
      local line = tostring(p):match(t.tensor .. ":[^\n]*")
      assert.equal(t.asked, tonumber(line:match "(%d+) accesses"))
      assert.equal(t.conflict, tonumber(line:match "(%d+) conflict") or 0)
    end
    if not support.have_gnuplot() then return pending "gnuplot is not installed" end
    support.picture(p)
  end)

  it("makes files of every kind", function()
    local p = nw.spacetime(support.gemm(4, 4, 4), {levels = SMALL})
    path = support.temporary ".csv"
    p:save(path)
    local lines = 0
    for _ in support.read(path):gmatch "\n" do lines = lines + 1 end
    assert.equal(#p.rows + 1, lines)
    if not support.have_gnuplot() then return pending "gnuplot is not installed" end
    for _, format in ipairs {".svg", ".png", ".pdf", ".gp"} do
      os.remove(path)
      path = support.temporary(format)
      p:save(path)
      assert.is_true(#support.read(path) > 1000)
    end
    local width, height = support.picture(p)
    assert.same(p.size, {width, height})
  end)

  it("executes no text from names", function()
    if not support.have_gnuplot() then return pending "gnuplot is not installed" end
    local harm = support.temporary ".harm"
    path = support.temporary ".svg"
    local title = ("it's `touch %s` \" @x {/Bold y} $z'; system('touch %s') #"):format(harm, harm)
    nw.spacetime(support.gemm(2, 2, 2), {levels = SMALL, title = title}):save(path)
    assert.is_nil(io.open(harm))
    assert.truthy(support.read(path):find("touch", 1, true)) -- the text of the name is only shown
  end)

  it("says what it cannot show", function()
    local s = support.gemm(4, 4, 4)
    fails("y: expected 'index', 'address', 'line' or 'set', got 'time'", "invalid", nw.spacetime, s, {y = "time"})
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
    fails("must end in", "invalid", p.save, p, "x.bmp")
    fails("cannot write", "io", p.save, p, "/nowhere/x.csv")
  end)
end)
