--- Tests the log, the tree of versions, the schedule tree, s:why(), and steps whose legality was not checked.
local nw = require "nestwright"
local support = require "support"

local gemm = support.gemm

local function stages(n)
  local A = nw.placeholder({n}, "f32", "A")
  local X = nw.compute({n}, function(i) return A(i) * 2 end, "X")
  local Y = nw.compute({n - 2}, function(i) return X(i) + X(i + 2) end, "Y")
  return nw.schedule(Y), X, Y
end

local function symbolic()
  local M = nw.size "M"
  local A = nw.placeholder({M}, "f32", "A")
  return nw.schedule(nw.compute({M}, function(i) return A(i) * 2 + 1 end, "B"))
end

describe("s:log()", function()
  it("has a row for each step: command, statements, operations, bytes, buffers", function()
    local s, X = stages(34)
    s:split("i_1", 8)
    s:compute_at(X, "i_1_o")
    local log = s:log()
    assert.equal(3, #log)
    assert.equal(0, log[1].version)
    assert.is_nil(log[1].step)
    assert.equal('s:split("i_1", 8)', log[2].step)
    assert.same({2, 1, 1}, {log[2].added, log[2].removed, log[2].changed}) -- two loops replace one, and the block Y uses both
    assert.equal(34 + 32, log[1].operations)
    assert.is_true(log[3].operations > log[1].operations) -- X is computed again at the edges of tiles
    assert.equal(40 + 32, log[3].operations) -- each of the 4 tiles has 8 outputs, and needs 10 elements of X
    assert.equal(34 * 4, log[1].bytes.input)
    assert.equal(32 * 4, log[1].bytes.output)
    assert.equal((34 + 2 * 32) * 4, log[1].bytes.temp)
    assert.same({"X"}, log[3].buffers)
    assert.truthy(log:find "operations")
    assert.truthy(tostring(s:show "log"):find "compute_at")
  end)

  it("counts guarded work exactly, also if loops share guards", function()
    local s = gemm(65)
    s:tile("i", "j", 8, 16)
    s:split("k", 4)
    assert.equal(3, #s:log())
    for _, entry in ipairs(s:log()) do
      assert.is_true(entry.exact)
      assert.equal(2 * 65 ^ 3, entry.operations)
    end
  end)

  it("gives operations as a formula if sizes are symbolic", function()
    local s = symbolic()
    local log = s:log()
    assert.is_nil(log[1].operations)
    assert.equal("2*M", log[1].formula)
    assert.truthy(log:find("2*M", 1, true))
  end)

  it("counts statements that only move as changed", function()
    local s = gemm(8)
    s:reorder("k", "i")
    assert.is_true(s:log()[2].changed > 0)
  end)
end)

describe("versions", function()
  it("are a tree with names and a current version", function()
    local s = gemm(16)
    s:split("i", 4)
    s:branch "tiled"
    s:unroll "i_i"
    s:undo()
    s:vectorize "i_i"
    local root = s:history()
    assert.equal(0, root.version)
    local tiled = root[1]
    assert.equal("tiled", tiled.branch)
    assert.equal(2, #tiled)
    assert.is_false(tiled[1].current)
    assert.is_true(tiled[2].current)
    assert.truthy(root:find "s:vectorize \"i_i\"  <%- current")
    assert.truthy(root:find "├─ 2  s:unroll")
    s:checkout "tiled"
    assert.truthy(s:history():find "%[tiled%]  <%- current")
  end)

  it("are compared by number and by name", function()
    local s = gemm(16)
    s:split("i", 4)
    s:branch "one"
    s:undo()
    s:split("j", 8)
    s:branch "two"
    assert.equal(s:diff(1, 2), s:diff("one", "two"))
    assert.truthy(s:diff("one", "two"):find "j_o")
    assert.equal("", tostring(s:diff("one", 1)))
    support.fails("^diff: no branch \"three\"", "invalid", function() s:diff "three" end)
    support.fails("^diff: there is no version 9; the latest is 2", "range", function() s:diff(0, 9) end)
    support.fails("^diff: there is no version %-1", "range", function() s:diff(0, -1) end)
    support.fails("^diff: a: expected a whole number or a string, got a table", "invalid", function() s:diff({}, 1) end)
  end)
end)

describe("s:tree()", function()
  it("shows how loops are nested", function()
    local s, X = stages(34)
    local i_o = s:split("i_1", 8)
    s:compute_at(X, i_o)
    s:parallel(i_o)
    local tree = s:tree()
    assert.equal("program", tree.kind)
    local outer = tree[1]
    assert.equal("loop", outer.kind)
    assert.equal("parallel", outer.mark)
    local storage = outer[1]
    assert.equal("storage", storage.kind)
    assert.equal("X", storage.name)
    assert.equal("stage", storage[1][1].kind)
    assert.equal("X", storage[1][1].name)
    assert.truthy(tree:find "└─ i_1_o in 0%.%.4  parallel")
    local grid = gemm(8)
    grid:bind("i", "blockIdx.x")
    assert.equal("blockIdx.x", grid:tree()[1].mark)
  end)

  it("shows guards, storage, streaming stores and prefetches", function()
    local s = gemm(10)
    s:split("i", 4)
    local guard = s:tree()[1][1][1][1][1]
    assert.same({"guard", "if 4*i_o + i_i < 10", "stage"}, {guard.kind, guard.text, guard[1].kind})
    assert.equal("C(i, j, reduce k)", guard[1].text)
    s:cache_read("A", "local", {layout = function(i, k) return k, i end})
    assert.truthy(s:tree():find("storage A_packed[0..10, 0..10] local layout [_1, _0] in [10, 10]", 1, true), tostring(s:tree()))
    local t = stages(34)
    t:vectorize(t:split("i_1", 16, {tail = "cut"}) and "i_1_i")
    t:prefetch("X", "i_1_o")
    t:stream_stores "Y"
    assert.truthy(t:tree():find("├─ prefetch X[", 1, true), tostring(t:tree()))
    assert.truthy(t:tree():find "Y%(i%)  stream$", tostring(t:tree()))
  end)
end)

describe("s:why()", function()
  local function made()
    local s = gemm(65)
    s:split("i", 8)
    s:split("j", 16)
    s:split("j_i", 4)
    s:vectorize "j_i_i"
    return s
  end

  it("names the step of each guard and offset, and its form before rewriting", function()
    local why = made():why "C["
    assert.truthy(why:find('guard 8*i_o + i_i < 65: s:split("i", 8) (step 1)\n', 1, true), tostring(why))
    assert.truthy(why:find('s:split("j_i", 4) (step 3); from guard 16*j_o + j_i < 65, s:split("j", 16) (step 2)\n', 1, true),
      tostring(why))
    assert.truthy(why:find('\ni = 8*i_o + i_i: s:split("i", 8) (step 1)\n', 1, true))
    assert.is_nil(why:find "k = k")
    assert.equal("C[", (tostring(made():show()):match(("[^\n]*\n"):rep(why.line - 1) .. "[^\n]-(C%[)")))
  end)

  it("names the step of a loop and of its mark", function()
    local why = made():why "for j_i_i"
    assert.truthy(why:find('loop j_i_i, 4 iterations: s:split("j_i", 4) (step 3)', 1, true))
    assert.truthy(why:find('vectorize: s:vectorize "j_i_i" (step 4)', 1, true))
    assert.equal("loop k, 65 iterations: the computation itself", tostring(made():why "for k"))
  end)

  it("names the step of a storage, and follows a copied block", function()
    local s, X = stages(34)
    s:split("i_1", 8)
    s:compute_at(X, "i_1_o")
    assert.truthy(s:why "alloc":find('compute_at("X", "i_1_o") (step 2)', 1, true))
    local cut = gemm(37)
    cut:split("i", 2)
    cut:split("i_i", {parts = 1})
    cut:split("j", {factor = 8, tail = "cut"})
    local tail = cut:why ", j.tail]"
    assert.truthy(tail:find('i = 2*i_i_o + 2*i_o + i_i_i: s:split("i_i", {parts = 1}) (step 2); from i = 2*i_o + i_i', 1, true))
    assert.truthy(tail:find('k = j.tail/k: s:split("j", 8, {tail = "cut"}) (step 3)', 1, true))
  end)

  it("describes lines of the lowered program", function()
    local s = made()
    assert.truthy(s:why("for i_i", "lowered"):find "step 1")
    assert.equal('loop i_o, 9 iterations: s:split("i", 8) (step 1)', tostring(s:why(1, "lowered")))
    local ragged = gemm(37)
    ragged:split("j", 16)
    ragged:vectorize "j_i"
    ragged:parallel "i" -- lowering cuts off and masks a tail, which the split made and not this step
    local n = 0
    for line in (tostring(ragged:show "lowered") .. "\n"):gmatch "(.-)\n" do
      n = n + 1
      if line:find(";", 1, true) then assert.equal('s:split("j", 16) (step 1)', tostring(ragged:why(n, "lowered"))) end
    end
  end)

  it("uses the step numbers of s:diff and s:checkout", function()
    local s = gemm(64)
    s:tile("i", "j", 32, 32)
    s:branch "tiled"
    s:decompose_reduction("C", "k")
    s:checkout "tiled"
    s:parallel "i_o"
    assert.equal(3, s:version())
    assert.truthy(s:why "for i_o":find('parallel: s:parallel "i_o" (step 3)', 1, true))
    assert.truthy(s:log():find('\n3  s:parallel "i_o"', 1, true))
    assert.truthy(s:diff(1, 3):find "+ parallel for i_o")
    s:split("i_i", 4)
    s:undo()
    s:split("i_i", 8)
    local ok, err = pcall(s.loop, s, "i_i")
    assert(not ok)
    assert.truthy(tostring(err):find "i_i was split into i_i_o, i_i_i by step 5")
    s:checkout(4)
    assert.equal(4, s:version())
  end)

  it("says what is wrong with a line", function()
    local s = made()
    for _, bad in ipairs {0, -1, 1000, 1 << 40} do
      support.fails("^why: there is no such line; lines are 1 to 8", "range", function() s:why(bad) end)
    end
    support.fails("^why: no line of s:show%(%) has 'nowhere'", "range", function() s:why "nowhere" end)
    support.fails("^why: line: expected a whole number or a string, got 1.5", "invalid", function() s:why(1.5) end)
    for bad, got in pairs {[{}] = "table", [true] = "boolean", [s] = "schedule"} do
      support.fails("^why: line: expected a whole number or a string, got a " .. got, "invalid", function() s:why(bad) end)
    end
    support.fails("^why: line: expected a whole number or a string, got nil", "invalid", function() s:why() end)
    support.fails("^why: view: expected 'loops' or 'lowered', got 'asm'", "invalid", function() s:why(1, "asm") end)
  end)
end)

describe("s:unsafe()", function()
  local function racing()
    local s = gemm(16)
    s:split("i", 4)
    s:unsafe(function(q) q:parallel "k" end)
    return s
  end

  it("makes a step that would be refused, and marks it everywhere", function()
    local s = racing()
    assert.truthy(s:show():find "unsafe parallel for k")
    assert.truthy(s:show():find "1 step was not judged")
    assert.truthy(s:text():find "\nunjudged 1\n")
    assert.is_true(s:reparses())
    for _, view in ipairs {"lowered", "llvm", "asm", "c"} do assert.truthy(s:show(view):find "unsafe", view) end
    assert.is_true(s:log()[3].unsafe)
    assert.truthy(s:log():find "unsafe: s:parallel")
    assert.truthy(s:history():find "unsafe")
    assert.truthy(s:tree():find "unsafe")
    assert.truthy(s:why "for k":find "not judged")
    assert.truthy(s:diff():find "%+.*unsafe")
  end)

  it("keeps the mark in traces, which replay to the identical program", function()
    local s = racing()
    assert.truthy(s:trace():find('s:unsafe(function(s) s:parallel "k" end)', 1, true))
    local fresh = gemm(16)
    load("local s = ... " .. s:trace())(fresh)
    assert.equal(s:text(), fresh:text())
    local json = gemm(16):replay(s:trace "json")
    assert.equal(s:text(), json:text())
    assert.equal(s:trace "json", json:trace "json")
    support.fails("^replay: step 2 of the trace: unsafe must be true or false", "parse", function()
      gemm(16):replay((s:trace "json":gsub('"unsafe": true', '"unsafe": 1')))
    end)
    support.fails("^step 2, s:parallel \"k\": cannot run k in parallel", "refused", function()
      gemm(16):replay((s:trace "json":gsub(', "unsafe": true', "")))
    end)
  end)

  it("marks measurements", function()
    local s = racing()
    local kernel = s:build {threads = 1}
    assert.is_true(kernel.unsafe)
    assert.truthy(tostring(kernel):find "^unsafe kernel")
    local time = kernel:time {reps = 2}
    assert.is_true(time.unsafe)
    assert.truthy(tostring(time):find "unsafe")
    local safe = gemm(16):build {threads = 1}
    assert.is_false(safe.unsafe)
    local both = nw.compare {kernel, safe, rounds = 2}
    assert.is_true(both[1].unsafe)
    assert.is_nil(both[2].unsafe)
    assert.truthy(tostring(both):find "unsafe")
  end)

  it("is gone after undo, and stays through later steps", function()
    local s = racing()
    s:split("j", 4)
    assert.truthy(s:show():find "unsafe parallel for k")
    s:undo(2)
    assert.is_nil(s:show():find "unsafe")
    assert.is_nil(s:text():find "unjudged")
    assert.is_false(s:build().unsafe)
  end)

  it("is over when its function returns or fails, and passes on arguments and results", function()
    local s = gemm(16)
    assert.equal(42, s:unsafe(function(q, n) assert.equal(s, q) return n + 1 end, 41))
    assert.matches("enough$", support.error_of(s.unsafe, s, function() error "enough" end))
    support.fails("^cannot run k in parallel", "refused", s.parallel, s, "k")
    s:unsafe(function(q)
      q:unsafe(function(r) r:split("i", 4) end)
      q:parallel "k"
    end)
    -- the next step is checked again, and refused, because a parallel loop must not contain a parallel loop
    support.fails("^cannot run i_o in parallel: it holds k, which is marked parallel", "refused", s.parallel, s, "i_o")
  end)

  it("still refuses steps that have no meaning", function()
    local s = gemm(16)
    s:parallel "i"
    s:unsafe(function(q)
      support.fails("^cannot run j in parallel: it is inside i", "refused", q.parallel, q, "j")
      support.fails("^split: factor = 0 is out of range", "range", q.split, q, "j", 0)
      support.fails("^cannot inline C: it is an output", "refused", q.compute_inline, q, "C")
    end)
    assert.is_nil(s:show():find "unsafe")
  end)

  it("lets s:check() find the wrong result", function()
    local s, _, Y = stages(16)
    s:unsafe(function(q) q:split(q:loops(Y)[1], 4) end) -- a check accepts this step
    assert.truthy(s:check():find "agree")
    local h = nw.placeholder({1, 8}, "i32", "A")
    local state = nw.scan_state({5, 8}, "i32", "state")
    local first = nw.compute({1, 8}, function(t, x) return h(t, x) end, "first")
    local update = nw.compute({5, 8}, function(t, x)
      return state(t - 1, nw.max(x - 1, 0)) + state(t - 1, nw.min(x + 1, 7))
    end, "update")
    local wrong = nw.schedule(nw.scan(first, update, state, "S"))
    wrong:unsafe(function(q) q:reorder("x_1", "t_1") end)
    local ok, err = pcall(wrong.check, wrong)
    assert.is_false(ok)
    assert.truthy(err.message:find "of S is read before it is written at x_1 = 0, t_1 = 2", err.message)
  end)

  it("refuses an argument that is not a function", function()
    local s = gemm(8)
    for bad, got in pairs {[1] = "number", ["s:parallel"] = "string", [{}] = "table", [s] = "schedule"} do
      support.fails("^unsafe: steps: expected a function, got a " .. got, "invalid", function() s:unsafe(bad) end)
    end
    support.fails("^unsafe: steps: expected a function, got nil", "invalid", function() s:unsafe() end)
    support.fails("^unsafe: self: expected a schedule, got a function", "invalid", s.unsafe, function() end)
  end)
end)
