--- Tests which steps s:moves finds legal at a loop, and where a stage can be computed by s:locations.
local nw = require "nestwright"
local support = require "support"
local core = require "nestwright.core"

local gemm, stencil = support.gemm, support.stencil

local function named(list, primitive)
  for _, move in ipairs(list) do
    if move.primitive == primitive then return move end
  end
end

describe("s:moves()", function()
  it("tries every primitive, and every move that it calls legal works", function()
    for _, loop in ipairs {"i", "j", "k"} do
      local s = gemm(32)
      local before = s:text()
      local moves = s:moves(loop)
      assert.equal(before, s:text())
      assert.equal(#core.primitives(), #moves.legal + #moves.undecided + #moves.refused)
      for _, move in ipairs(moves.legal) do
        local fresh = gemm(32)
        local ok, err = pcall(load("local s = ... " .. move.step), fresh)
        assert.is_true(ok, move.step .. ": " .. tostring(err))
        assert.is_nil(move.why)
      end
      for _, move in ipairs(moves.refused) do
        assert.is_true(#move.why > 8)
        assert.is_nil(move.why:find "\n")
        if move.step then support.fails("^cannot ", "refused", load("local s = ... " .. move.step), gemm(32)) end
      end
    end
  end)

  it("says in one line why each other step is refused", function()
    local s = gemm(32)
    local moves = s:moves "k"
    assert.truthy(named(moves.refused, "parallel").why:find "by another thread")
    assert.truthy(named(moves.legal, "reorder"))
    assert.truthy(moves:find "legal here:" and moves:find "refused here:")
    assert.is_nil(named(moves.refused, "split"))
  end)

  it("proposes no factor that is larger than the loop", function()
    local A, W = nw.placeholder({12, 12}, "f32", "A"), nw.placeholder({3, 3}, "f32", "W")
    local dy, dx = nw.reduce_axis(3, "dy"), nw.reduce_axis(3, "dx")
    local s = nw.schedule(nw.compute({10, 10}, function(y, x) return nw.sum(A(y + dy, x + dx) * W(dy, dx), dy, dx) end, "Y"))
    s:split("x", 5)
    local function step(loop, primitive) return named(s:moves(loop).legal, primitive).step end
    assert.equal('s:split("x_i", 4)', step("x_i", "split"))
    assert.equal('s:unroll("x_i", 4)', step("x_i", "unroll"))
    assert.equal('s:tile("x_i", "dy", 4, 2)', step("x_i", "tile"))
    assert.equal('s:split("dy", 2)', step("dy", "split"))
    assert.equal('s:split("x_o", 2)', step("x_o", "split"))
  end)

  it("proposes a point inside a loop of symbolic extent, and the possible tails", function()
    local M = nw.size "M"
    local A = nw.placeholder({M}, "f32", "A")
    local function fresh() return nw.schedule(nw.compute({M}, function(i) return A(i) * 2 end, "C")) end
    local moves, steps = fresh():moves "i", {}
    for _, move in ipairs(moves.legal) do
      steps[move.step] = true
      assert.is_true(pcall(load("local s = ... " .. move.step), fresh()), move.step)
    end
    for _, step in ipairs {'s:cut("i", "M // 2")', 's:shift("i", "M // 2")', 's:split("i", 8, {tail = "cut"})',
      's:split("i", 8, {tail = "predicate"})'} do
      assert.is_true(steps[step], step)
    end
    assert.truthy(moves:find('s:split("i", 8, {tail = "shift"})', 1, true))
  end)

  it("proposes values for settings, and statements next to the loop and inside it", function()
    local s, X, Y = stencil(18)
    local i, i_1 = s:loops(X)[1].name, s:loops(Y)[1].name
    local moves = s:moves(i_1)
    assert.equal(('s:pragma("%s", "partition", "never")'):format(i_1), named(moves.legal, "pragma").step)
    assert.equal('s:annotate("Y", "fma", "never")', named(moves.legal, "annotate").step)
    assert.equal(('s:reorder_stmts("%s", "%s")'):format(i, i_1), named(moves.refused, "reorder_stmts").step)
  end)

  it("says which argument is missing if no step could be tried", function()
    local moves = gemm(32):moves "k"
    assert.truthy(named(moves.refused, "specialize").why:find "no size")
    assert.truthy(named(moves.refused, "assume").why:find "no size")
    assert.truthy(named(moves.refused, "reorder_stmts").why:find "no other loop or stage")
    assert.truthy(named(moves.refused, "fission").step:find 'after = "C"')
    for _, list in ipairs {moves.legal, moves.refused} do
      for _, move in ipairs(list) do assert.is_nil((move.why or ""):find "is missing", move.primitive) end
    end
  end)

  it("distinguishes undecided steps from refused ones", function()
    local M, N, K = nw.size "M", nw.size "N", nw.size "K"
    local A, B = nw.placeholder({M, K}, "f32", "A"), nw.placeholder({K, N}, "f32", "B")
    local k = nw.reduce_axis(K, "k")
    local s = nw.schedule(nw.compute({M, N}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C"))
    s:tile("i", "j", "k", 16, 16, 8)
    local moves = s:moves "i_o"
    assert.truthy(named(moves.undecided, "specialize"))
    assert.truthy(moves:find('not decided quickly (take the step to have it judged):\n  s:', 1, true))
    for _, move in ipairs(moves.refused) do assert.is_nil(move.why:find "at a glance") end
  end)

  it("fits on a screen of a hundred columns", function()
    for _, loop in ipairs {"i", "j", "k"} do
      for line in tostring(gemm(32):moves(loop)):gmatch "[^\n]+" do
        assert.is_true(#line <= 100, line)
        assert.is_nil(line:find " $")
      end
    end
  end)

  it("finds the stages inside a loop", function()
    local s, _, Y = stencil(34)
    local moves = s:moves(s:loops(Y)[2])
    assert.equal('s:compute_at("X", "j_1")', named(moves.legal, "compute_at").step)
    assert.truthy(named(moves.legal, "compute_inline"))
  end)

  it("takes a handle or a name, and says what is wrong with anything else", function()
    local s = gemm(8)
    assert.equal(tostring(s:moves "i"), tostring(s:moves(s:loops()[1])))
    for bad, got in pairs {[1] = "number", [{}] = "table", [true] = "boolean", [s] = "schedule"} do
      support.fails("^moves: loop: expected a loop or a string, got a " .. got, "invalid", function() s:moves(bad) end)
    end
    support.fails('^moves: no loop "nothing"; loops are i, j, k', "invalid", function() s:moves "nothing" end)
    support.fails("^moves: loop: expected a loop or a string, got nil", "invalid", function() s:moves() end)
    support.fails("^moves: the loop belongs to another schedule", "invalid", function() s:moves(gemm(8):loops()[1]) end)
    local i = s:loops()[1]
    s:split(i, 2)
    local ok, err = pcall(s.moves, s, i)
    assert.is_false(ok)
    assert.equal("stale", err.code)
    assert.truthy(named(s:moves("i_o").legal, "split"))
  end)

  it("does not change the refusal that explain() shows", function()
    local s = gemm(8)
    support.fails("^cannot run k in parallel", "refused", s.parallel, s, "k")
    local text = tostring(s:explain())
    s:moves "i"
    assert.equal(text, tostring(s:explain()))
  end)
end)

-- Returns the sorted names of the loops at which a stage can be computed.
local function loops_of(places)
  local list = {}
  for _, place in ipairs(places) do list[#list + 1] = place.loop end
  table.sort(list)
  return list
end

describe("s:locations()", function()
  it("gives the size that rolling_buffer and aligned strides leave in memory", function()
    local A = nw.placeholder({66, 64}, "f32", "A")
    local P = nw.compute({66, 64}, function(y, x) return A(y, x) * 2 end, "P")
    local s = nw.schedule(nw.compute({64, 64}, function(y, x) return P(y, x) + P(y + 1, x) + P(y + 2, x) end, "C"))
    local function now()
      for _, place in ipairs(s:locations(P)) do if place.current then return place.bytes, place.size end end
    end
    s:compute_at(P, s:loops "C"[1])
    s:store_at(P)
    assert.same({66 * 64 * 4.0, "66*64"}, {now()})
    assert.truthy(s:locations(P):find "\ny_1 %(now%) +computed 1x") -- its storage is at the root
    s:rolling_buffer(P)
    assert.same({4 * 64 * 4.0, "256"}, {now()}) -- four rows
    assert.truthy(s:locations(P):find "\ny_1 %(now%) +computed 1x, 1 KiB")
    s:storage_align(P, 0, 64, 16)
    assert.equal("320", (select(2, now())))
  end)

  it("gives the recompute factor and the storage of each legal place, and the reason for every other place", function()
    local s, X = stencil(34)
    local j_o = select(2, s:tile("i_1", "j_1", 8, 16))
    local places = s:locations(X)
    assert.equal(7, #places) -- the root, two loops of X, and four loops of Y
    assert.is_nil(places[1].loop)
    assert.is_true(places[1].current)
    assert.equal(1, places[1].recompute)
    assert.equal(34 * 34 * 4, places[1].bytes)
    assert.same({"i", "i_1_i", "i_1_o", "j", "j_1_i", "j_1_o"}, loops_of(places))
    for _, place in ipairs(places) do
      if place.loop == "j_1_o" then -- a tile of 8 by 16 outputs needs 10 by 18 elements
        assert.is_true(place.legal)
        assert.equal(10 * 18 * 4, place.bytes)
        assert.equal(4 * 2 * 10 * 18 / (34 * 34), place.recompute)
      elseif place.loop == "i" or place.loop == "j" then
        assert.is_false(place.legal)
        assert.is_true(#place.why > 8)
      end
    end
    s:compute_at(X, j_o)
    for _, place in ipairs(s:locations "X") do assert.equal(place.loop == "j_1_o", place.current) end
    assert.truthy(s:locations(s[X]):find "j_1_o %(now%)")
  end)

  it("predicts the result of the step", function()
    local s, X, Y = stencil(23)
    s:tile(s:loops(Y)[1], s:loops(Y)[2], 5, 4)
    local places = s:locations(X)
    assert.same({"i", "i_1_i", "i_1_o", "j", "j_1_i", "j_1_o"}, loops_of(places))
    for _, place in ipairs(places) do
      if place.loop then
        assert.equal(place.legal, pcall(s.compute_at, s, X, place.loop))
        if place.legal then
          local log = s:log()
          local operations = log[#log].operations - log[1].operations
          assert.is_true(math.abs(place.recompute - (1 + operations / (23 * 23))) < 1e-9)
          local said = s:notes():match "is computed ([%d.]+) times"
          if place.recompute > 1.005 then assert.equal(("%.2f"):format(place.recompute), said) end
          s:undo()
        end
      end
    end
  end)

  it("gives symbolic sizes as text", function()
    local M = nw.size "M"
    local A = nw.placeholder({M, M}, "f32", "A")
    local X = nw.compute({M, M}, function(i, j) return A(i, j) + 1 end, "X")
    local Y = nw.compute({M, M}, function(i, j) return X(i, j) * 2 end, "Y")
    local s = nw.schedule(Y)
    local places = s:locations(X)
    assert.equal("M*M", places[1].size)
    assert.is_nil(places[1].bytes)
    assert.truthy(places:find "M%*M elements")
  end)

  it("refuses an argument that is not a stage, and a stage that is not a temporary", function()
    local s, _, Y = stencil(16)
    for bad, got in pairs {[1] = "number", [{}] = "table", [true] = "boolean", [s] = "schedule"} do
      support.fails("^locations: stage: expected a stage, a tensor or a string, got a " .. got, "invalid", function()
        s:locations(bad)
      end)
    end
    for _, name in ipairs {"nothing", "A"} do
      support.fails(("^locations: no stage %q; stages are X, Y"):format(name), "invalid", function() s:locations(name) end)
    end
    support.fails("^locations: Y is an output", "invalid", function() s:locations(Y) end)
    support.fails("^locations: stage: expected a stage, a tensor or a string, got nil", "invalid", function() s:locations() end)
  end)
end)
