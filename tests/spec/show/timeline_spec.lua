--- Tests timelines: their data, idle time compared with an independent count, arrows, and hostile input. Also tests measured
--- timelines of threads, but only properties that hold in every run.
local nw = require "nestwright"
local core = require "nestwright.core"
local support = require "support"
local fails = support.fails

-- Returns all bars in the plot's script: {from, to}.
local function bars(p)
  local out = {}
  for block in p.script:gmatch "%$bars%d+ << EOD\n(.-)EOD\n" do
    for from, to in block:gmatch "[-%d.e+]+ [-%d.e+]+ ([-%d.e+]+) ([-%d.e+]+) [-%d.e+]+ [-%d.e+]+\n" do
      out[#out + 1] = {tonumber(from), tonumber(to)}
    end
  end
  table.sort(out, function(a, b) return a[1] < b[1] or a[1] == b[1] and a[2] < b[2] end)
  return out
end

-- Returns the share of idle time in a lane. This is the share of a thousand points in time at which the lane has no bar.
local function idle_of(records, lane, from, to)
  local free = 0
  for k = 0, 999 do
    local at, busy = from + (to - from) * (k + 0.5) / 1000, false
    for _, r in ipairs(records) do busy = busy or r.lane == lane and r.from <= at and at < r.to end
    if not busy then free = free + 1 end
  end
  return free / 1000
end

describe("nw.timeline", function()
  local records = {
    {lane = "thread 0", from = 0, to = 4, label = "a", kind = "X"},
    {lane = "thread 1", from = 1, to = 2, label = "b", kind = "Y"},
    {lane = "thread 1", from = 1.5, to = 5, kind = "X"},
    {lane = "thread 0", from = 6, to = 8, label = "c"},
    {lane = "thread 2", from = 10, to = 10},
  }

  it("keeps its records, and draws a bar for each", function()
    local p = nw.timeline(records)
    assert.same({"lane", "from", "to", "label", "kind"}, p.columns)
    for n, r in ipairs(records) do assert.same({r.lane, r.from, r.to, r.label, r.kind}, p.rows[n]) end
    assert.same({{0, 4}, {1, 2}, {1.5, 5}, {6, 8}, {10, 10}}, bars(p))
  end)

  it("counts time without a bar as idle", function()
    local p = nw.timeline(records)
    for n, lane in ipairs {"thread 0", "thread 1", "thread 2"} do
      assert.equal(lane, p.idle[n].name)
      assert.is_true(math.abs(p.idle[n].idle - idle_of(records, lane, 0, 10)) < 0.002)
    end
    assert.truthy(p.caption:find "3 lanes over 10 s; overall 67 %% idle: least in thread 0 %(40 %%%), most in thread 2 %(100 %%%)")
    local more = nw.timeline(records, {from = -10, to = 30})
    assert.is_true(math.abs(more.idle[1].idle - idle_of(records, "thread 0", -10, 30)) < 0.002)
    assert.truthy(more.caption:find "over 40 s")
  end)

  it("draws overlapping bars below each other", function()
    local p = nw.timeline(records)
    assert.equal(2, p.idle[2].rows)
    assert.equal(1, p.idle[1].rows)
  end)

  it("draws arrows, and says which point back in time", function()
    local p = nw.timeline(records, {arrows = {{from = 1, to = 4}, {from = records[1], to = records[2]}}})
    assert.truthy(p.caption:find "2 arrows from a result to the record that needs it; 1 point back in time")
    assert.truthy(p.script:find "set arrow from 4,2 to 6,2 .- dt 1\n")
    assert.truthy(p.script:find "set arrow from 4,1.7 to 1,1.3 .- dt 2\n")
    if support.have_gnuplot() then support.picture(p) end
  end)

  it("writes times in a suitable unit, or in the given unit", function()
    local function axis(scale, unit)
      return nw.timeline({{lane = "a", from = 0, to = 4 * scale}}, {unit = unit}).script:match "set xlabel '(.-)'"
    end
    assert.same({"time, s", "time, ms", "time, us", "time, ns", "time, cycles"},
      {axis(1), axis(1e-3), axis(1e-6), axis(1e-9), axis(1000, "cycles")})
  end)

  it("starts the axis at the first time if times are far from zero", function()
    local p = nw.timeline {{lane = "a", from = 1e9, to = 1e9 + 0.25}, {lane = "b", from = 1e9 + 0.25, to = 1e9 + 1}}
    assert.same({{0, 0.25}, {0.25, 1}}, bars(p))
    assert.same({"a", 1e9, 1e9 + 0.25}, p.rows[1])
    assert.truthy(p.script:find "time since 1000000000 s, s")
    assert.equal(0.75, p.idle[1].idle)
    if support.have_gnuplot() then support.picture(p) end
    assert.truthy(nw.timeline {{lane = "a", from = 1e18, to = 1e18}})
  end)

  it("gives no idle time if no time passes", function()
    local p = nw.timeline {{lane = "a", from = 3, to = 3}}
    assert.truthy(p.caption:find "^1 lane, all at 3 s: no time passes, so there is no idle time\n")
    assert.is_nil(p.caption:find "%%")
    assert.is_nil(p.idle[1].idle)
    assert.truthy(nw.timeline({{lane = "a", from = 0, to = 0}, {lane = "b", from = 0, to = 0}}).caption:find "^2 lanes, all at 0: ")
    assert.truthy(nw.timeline({{lane = "a", from = 3, to = 3}}, {to = 5}).caption:find "^1 lane over 2 s; overall 100 %% idle")
    if support.have_gnuplot() then support.picture(p) end
  end)

  it("has lanes in the given order, also lanes without a record", function()
    local p = nw.timeline({{lane = "b", from = 0, to = 4}, {lane = "d", from = 0, to = 2}}, {lanes = {"a", "b", "c"}})
    local names, idle = {}, {}
    for n, lane in ipairs(p.idle) do names[n], idle[n] = lane.name, lane.idle end
    assert.same({"a", "b", "c", "d"}, names)
    assert.same({1, 0, 1, 0.5}, idle)
    assert.truthy(p.caption:find "^4 lanes over 4 s; overall 62 %% idle")
    fails("a is named twice", "invalid", nw.timeline, {{lane = "a", from = 0, to = 1}}, {lanes = {"a", "a"}})
    fails("lanes%[1%]: expected a string, got a number", "invalid", nw.timeline, {{lane = "a", from = 0, to = 1}}, {lanes = {1}})
  end)

  it("draws narrow bars as columns, whose height is the share of time that the bars fill", function()
    local many, kinds = {}, {"x", "y", "z"}
    for n = 1, 30000 do
      local lane = n % 3
      many[n] = {lane = "l" .. lane, from = n, to = n + ({0.5, 2.25, 1})[lane + 1], kind = kinds[n // 3 % (lane + 1) + 1]}
    end
    local p = nw.timeline(many)
    assert.equal(30000, #p.rows)
    local area, drawn = {0, 0, 0}, 0
    for block in p.script:gmatch "%$columns%d+ << EOD\n(.-)EOD\n" do
      for y, from, to, low, high in block:gmatch "[-%d.e+]+ ([-%d.e+]+) ([-%d.e+]+) ([-%d.e+]+) ([-%d.e+]+) ([-%d.e+]+)\n" do
        local lane = 3 - (tonumber(y) + 0.5) // 1
        area[lane], drawn = area[lane] + (to - from) * (high - low) / 0.76, drawn + 1
      end
    end
    assert.is_true(drawn < 2000)
    for n, lane in ipairs(p.idle) do assert.is_true(math.abs(area[n] / 30000 - (1 - lane.idle)) < 0.04, lane.name) end
    assert.truthy(p.caption:find "their height shows how much of the time they fill")
    assert.is_nil(nw.timeline(records).caption:find "their height shows")
    if support.have_gnuplot() then support.picture(p) end
  end)

  it("draws a wide bar as a bar, also among narrow bars", function()
    local list = {{lane = "a", from = 0, to = 500}}
    for n = 1, 499 do list[n + 1] = {lane = "a", from = 500 + n, to = 500.5 + n} end
    list[501] = {lane = "a", from = 1000, to = 1000}
    list[502] = {lane = "a", from = 1000, to = 1000}
    assert.same({{0, 500}}, bars(nw.timeline(list)))
  end)

  it("has a pattern for each kind, and says if patterns repeat", function()
    local function looks(n)
      local list, seen, different = {}, {}, 0
      for k = 1, n do list[k] = {lane = "a", from = k, to = k + 1, kind = "k" .. k} end
      local p = nw.timeline(list)
      for fill, paint in p.script:gmatch "boxxyerror fillstyle (.-) border .- fc rgb '(.-)'" do
        if not seen[fill .. paint] then seen[fill .. paint], different = true, different + 1 end
      end
      return different, p.caption
    end
    local eight, caption = looks(8)
    assert.equal(8, eight)
    assert.is_nil(caption:find "fillings")
    local twelve, more = looks(12)
    assert.equal(12, twelve)
    assert.truthy(more:find "12 kinds have 8 fillings: kinds with the same filling differ in colour")
    assert.equal(64, (looks(64)))
    assert.truthy(select(2, looks(65)):find "65 kinds have 8 fillings: some look alike")
  end)

  it("executes no text that it is given", function()
    if not support.have_gnuplot() then return pending "gnuplot is not installed" end
    local harm, path = support.temporary ".harm", support.temporary ".svg"
    local name = ("it's '' `touch %s` \" @x {/B y} $z'; system('touch %s') #"):format(harm, harm)
    nw.timeline({{lane = name, from = 0, to = 1, label = name, kind = name}, {lane = "b", from = 0, to = 1, kind = "k"}},
      {title = name, unit = name, small = name}):save(path)
    assert.is_nil(io.open(harm))
    assert.truthy(support.read(path):find("touch", 1, true))
    os.remove(path)
    for _, text in ipairs {"a\n!touch x", "\255", "\27[1m"} do
      fails("records%[1%].lane: byte", "invalid", nw.timeline, {{lane = text, from = 0, to = 1}})
    end
  end)

  it("says what it cannot draw", function()
    fails("there are no records", "invalid", nw.timeline, {})
    fails("records: expected a list, got a number", "invalid", nw.timeline, 1)
    fails("records%[1%]: expected a table with lane, from, to, got a number", "invalid", nw.timeline, {1})
    fails("records%[2%].lane: expected a string, got nil", "invalid", nw.timeline,
      {{lane = "a", from = 0, to = 1}, {from = 0, to = 1}})
    fails("records%[1%].from: expected a number", "invalid", nw.timeline, {{lane = "a", from = "0", to = 1}})
    fails("record 1: to is nan", "invalid", nw.timeline, {{lane = "a", from = 0, to = math.abs(0 / 0)}})
    fails("record 1: to is inf", "invalid", nw.timeline, {{lane = "a", from = 0, to = math.huge}})
    fails("ends at 1, before it begins at 2", "invalid", nw.timeline, {{lane = "a", from = 2, to = 1}})
    fails("label: expected a string", "invalid", nw.timeline, {{lane = "a", from = 0, to = 1, label = {}}})
    fails("arrow 1: from and to must be records, or their numbers from 1 to 5", "invalid", nw.timeline, records,
      {arrows = {{from = 1, to = 6}}})
    fails("unknown option 'titel'", "invalid", nw.timeline, records, {titel = "x"})
    fails("timeline: to is inf", "invalid", nw.timeline, records, {to = math.huge})
    fails("title: expected a string", "invalid", nw.timeline, records, {title = 1})
    local lanes, far, arrows = {}, {}, {}
    for n = 1, 101 do lanes[n] = {lane = "l" .. n, from = 0, to = 1} end
    for n = 1, 501 do arrows[n] = {from = 1, to = 4} end
    for n = 1, 100 do for k = 1, 250 do far[#far + 1] = {lane = "l" .. n, from = k, to = k + 1} end end
    fails("101 lanes are too many: at most 100", "limit", nw.timeline, lanes)
    fails("501 arrows are too many", "limit", nw.timeline, records, {arrows = arrows})
    fails("25000 bars are too many", "limit", nw.timeline, far)
  end)
end)

-- Makes two stages with a parallel loop of `rows` iterations each. share(s, loop), if given, makes further steps on the loop of the
-- first stage.
local function schedule(rows, share)
  local A = nw.placeholder({rows, 64}, "f32", "A")
  local X = nw.compute({rows, 64}, function(i, j) return A(i, j) * 2 end, "X")
  local Y = nw.compute({rows, 64}, function(i, j) return X(i, j) + 1 end, "Y")
  local s = nw.schedule(Y)
  for _, stage in ipairs {X, Y} do s:parallel(s:loops(stage)[1]) end
  if share then share(s, s:loops(X)[1]) end
  return s, X, Y
end

describe("the work of threads", function()
  -- Returns the parts in which threads ran the loop: a list of {first iteration, last iteration, thread}. Also checks properties
  -- that hold in every run.
  local function parts(log, loop, rounds)
    local mine, seen, last = {}, {}, {}
    for _, s in ipairs(log.spans) do
      assert.is_true(0 <= s.from and s.from <= s.to and s.to <= log.seconds)
      assert.is_true(s.thread >= 0 and s.thread < log.threads)
      assert.is_true(s.from >= (last[s.thread] or 0), "two parts of one thread overlap in time")
      last[s.thread] = s.to
      local region = log.regions[s.region]
      assert.equal(region.loop, s.loop)
      assert.is_true(region.from <= s.from and s.to <= region.to)
      if s.loop == loop then
        mine[#mine + 1] = {s.first, s.last, s.thread}
        for n = s.first, s.last do seen[n] = (seen[n] or 0) + 1 end
      end
    end
    for n = 0, rounds - 1 do assert.equal(1, seen[n], "iteration " .. n) end
    table.sort(mine, function(a, b) return a[1] < b[1] end)
    return mine
  end

  local function logged(s, threads)
    local f = s:build {threads = threads}
    local data = nw.random({s:inputs()[1]:shape()[1], 64}, "f32", {seed = 1})
    return core.kernel_logs(f, core.kernel_args(f, {data}), 1)[1]
  end

  it("is recorded for every part of a loop", function()
    local log = logged(schedule(10), 3)
    assert.equal(3, log.threads)
    assert.equal(0, log.lost)
    assert.equal(2, #log.loops)
    assert.equal(2, #log.regions)
    assert.is_true(log.regions[1].to <= log.regions[2].from)
    for loop = 1, 2 do assert.same({{0, 2, 0}, {3, 5, 1}, {6, 9, 2}}, parts(log, loop, 10)) end
  end)

  it("is recorded for chunks in turn, and for dynamic chunks", function()
    local log = logged(schedule(7, function(s, loop) s:pragma(loop, "chunk", 2) end), 2)
    assert.same({{0, 1, 0}, {2, 3, 1}, {4, 5, 0}, {6, 6, 1}}, parts(log, 1, 7))
    log = logged(schedule(7, function(s, loop) s:pragma(loop, "schedule", "dynamic") end), 3)
    assert.equal(7, #parts(log, 1, 7))
    assert.equal(3, #parts(log, 2, 7))
  end)

  it("is recorded for one thread, and up to the limit if there are too many parts", function()
    local log = logged(schedule(5), 1)
    assert.same({{0, 4, 0}}, parts(log, 1, 5))
    local many = logged(schedule(20000, function(s, loop) s:pragma(loop, "chunk", 1) end), 2)
    assert.equal(2 * 10000 + 2, #many.spans + many.lost)
    assert.is_true(many.lost > 0)
  end)

  it("is zero in loops without iterations, which keep their names", function()
    local M = nw.size("M", {min = 0})
    local A = nw.placeholder({M, 64}, "f32", "A")
    local s = nw.schedule(nw.compute({M, 64}, function(i, j) return A(i, j) * 2 end, "X"))
    s:parallel "i"
    local f = s:build {threads = 2}
    local log = core.kernel_logs(f, core.kernel_args(f, {nw.zeros {0, 64}}), 1)[1]
    assert.same({"i"}, log.loops)
    assert.equal(0, #log.spans)
    assert.equal(0, f:busy(nw.zeros {0, 64}, {reps = 1}).threads[2].busy)
  end)

  it("is not recorded by default: the next call is unchanged", function()
    local s = schedule(10)
    local f = s:build {threads = 2}
    local a = nw.random({10, 64}, "f32", {seed = 1})
    local want = f(a)
    core.kernel_logs(f, core.kernel_args(f, {a}), 1)
    assert.is_true((nw.allclose(want, f(a), {rtol = 0, atol = 0})))
  end)

  it("has sums that agree: busy and idle time give the time in loops, and all iterations are counted", function()
    local s = schedule(12)
    local f = s:build {threads = 3}
    local r = f:busy {reps = 3}
    assert.equal(3, #r.threads)
    local busy, rounds = 0, 0
    for n, t in ipairs(r.threads) do
      assert.equal(n - 1, t.thread)
      assert.equal(8, t.rounds)
      assert.equal(2, t.parts)
      assert.is_true(math.abs(t.busy + t.idle - r.within) < 1e-9)
      busy, rounds = busy + t.busy, rounds + t.rounds
    end
    assert.equal(24, rounds)
    assert.is_true(math.abs(r.idle - (1 - busy / (3 * r.within))) < 1e-9)
    assert.is_true(r.min <= r.median and r.seconds == r.median and r.within <= r.seconds)
    assert.is_true(r.idle_low <= r.idle_high)
    assert.is_true(r.reps >= 2 and r.reps <= 3) -- disturbed runs are left out
    assert.truthy(tostring(r):find(("thread 2 .*\nmedian run of %d: "):format(r.reps)))
    assert.is_true(f:busy({reps = 2, fastest = true}).fastest)
  end)

  it("is drawn with a lane for each thread and a bar for each part", function()
    local s = schedule(12)
    local p = s:timeline {threads = 2, reps = 1, title = "mine"}
    local labels = {}
    for _, row in ipairs(p.rows) do
      if row[5] ~= "outside of parallel loops" then labels[#labels + 1] = row[1] .. " " .. row[5] .. " " .. row[4] end
    end
    local names = {}
    for n, loop in ipairs {s:loops "X"[1].name, s:loops "Y"[1].name} do names[n] = loop end
    assert.same({"thread 0 " .. names[1] .. " 0-5", "thread 0 " .. names[2] .. " 0-5", "thread 1 " .. names[1] .. " 6-11",
      "thread 1 " .. names[2] .. " 6-11"}, labels)
    assert.truthy(p.script:find("'mine'", 1, true))
    assert.truthy(p.caption:find "idle")
    if support.have_gnuplot() then support.picture(s:build {threads = 2}:timeline {reps = 1}) end
  end)

  it("has a lane for a thread without iterations, and one figure for idle time", function()
    local s = schedule(2)
    local p = s:timeline {threads = 4, reps = 1}
    local names, idle = {}, 0
    for n, lane in ipairs(p.idle) do names[n], idle = lane.name, idle + lane.idle / 4 end
    assert.same({"thread 0", "thread 1", "thread 2", "thread 3"}, names)
    local said = p.caption:match "^4 lanes over .-; in parallel loops threads are ([%d.]+) %% idle: "
    assert.is_true(math.abs(tonumber(said) - 100 * idle) <= 0.5)
    assert.is_nil(p.caption:find "threads are idle")
    assert.equal(1, select(2, p.caption:gsub("idle share of the time in parallel loops", "")))
  end)

  it("says so if other work disturbed most of the runs, in the report and in the picture", function()
    local f, logs = schedule(12):build {threads = 2}, core.kernel_logs
    finally(function() core.kernel_logs = logs end)
    local disturbed
    core.kernel_logs = function(...)
      local list = logs(...)
      list.retaken, list.disturbed = 66, disturbed
      return list
    end
    for _, flag in ipairs {true, false} do
      disturbed = flag
      local r, p = f:busy {reps = 2}, f:timeline {reps = 2}
      assert.equal(flag or nil, r.disturbed)
      assert.equal(66, r.retaken)
      assert.equal(flag, tostring(r):find(", disturbed by other work", 1, true) ~= nil)
      assert.equal(flag, p.caption:find(", disturbed by other work", 1, true) ~= nil)
      assert.equal(flag, p.script:find("fillstyle transparent pattern", 1, true) ~= nil)
      assert.equal(flag, p.script:find("disturbed by other work'", 1, true) ~= nil)
      if flag and support.have_gnuplot() then support.picture(p) end
    end
  end)

  it("is refused if no loop is parallel", function()
    local f = support.gemm(4, 4, 4):build()
    fails("no loop of this kernel runs in parallel", "invalid", f.busy, f)
    fails("reps: expected a number from 1 to 10000, got 0", "range", f.busy, f, {reps = 0})
    fails("unknown option 'title'", "invalid", f.busy, f, {title = "x"})
  end)
end)
