--- Tests loops that are bound to a grid of blocks and threads: which steps are accepted, where barriers are placed, and which
--- programs have races.
local nw = require "nestwright"
local support = require "support"

-- Returns inputs of small whole numbers, so that sums are exact.
local function data_for(s)
  local data = {}
  for n, t in ipairs(s:inputs()) do
    data[n] = nw.zeros(t:shape(), t.dtype)
    for i = 1, data[n]:count() do data[n]:setflat(i, (7 * i + 3 * n) % 5) end
  end
  return data
end

-- Checks that the scheduled and the lowered program compute what the definition says. The lowered program is checked for races.
local function holds(s, outputs)
  local data = data_for(s)
  local expected = nw.evaluate(outputs, data)
  for _, lowered in ipairs {false, true} do
    local got = nw.interpret(s, data, {lowered = lowered})
    for o, array in ipairs(expected) do
      for i = 1, array:count() do assert.equal(array:getflat(i), got[o]:getflat(i)) end
    end
  end
  support.simulates(s, data)
  assert(s:reparses())
end

local function barriers(s) return select(2, tostring(s:show "lowered"):gsub("barrier", "")) end

-- Returns an n x n product in tiles of t x t. All threads copy one operand at a time to shared storage.
local function tiled(n, t)
  local s, C, A, B = support.gemm(n)
  s:tile("i", "j", t, t)
  s:split("k", t)
  s:reorder("i_o", "j_o", "k_o", "i_i", "j_i", "k_i")
  s:bind("i_o", "blockIdx.y")
  s:bind("j_o", "blockIdx.x")
  for _, operand in ipairs {A, B} do
    local copy = s:cache_read(operand, "shared", {C}, {at = "k_o"})
    local loops = s:loops(copy)
    s:bind(loops[#loops - 1], "threadIdx.y")
    s:bind(loops[#loops], "threadIdx.x")
  end
  s:bind("i_i", "threadIdx.y")
  s:bind("j_i", "threadIdx.x")
  return s, C
end

local function map(n)
  local A = nw.placeholder({n}, "f32", "A")
  local X = nw.compute({n}, function(i) return A(i) * 2 end, "X")
  return nw.schedule(X), X
end

-- Makes X and Y. Each element of Y reads two elements of X.
local function stages(n)
  local A = nw.placeholder({n}, "f32", "A")
  local X = nw.compute({n}, function(i) return A(i) * 2 end, "X")
  local Y = nw.compute({n - 2}, function(i) return X(i) + X(i + 2) end, "Y")
  return nw.schedule(Y), Y, X
end

local function refused(kind, f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  assert.equal(kind, err.refusal and err.refusal.kind, tostring(err))
  return err
end

describe("a product in tiles on a grid", function()
  it("has two barriers for each tile: after its loads, and before the next loads", function()
    local s, C = tiled(8, 4)
    assert.equal(2, barriers(s))
    holds(s, {C})
  end)

  it("has one barrier for each tile if the operands are copied ahead", function()
    for ahead = 1, 3 do
      for _, n in ipairs {8, 16, 13} do
        local s, C, A, B = support.gemm(n)
        s:tile("i", "j", 4, 4)
        s:split("k", 4)
        s:reorder("i_o", "j_o", "k_o", "i_i", "j_i", "k_i")
        for _, operand in ipairs {A, B} do
          s:double_buffer(s:cache_read(operand, "shared", {C}, {at = "k_o"}), ahead)
        end
        s:bind("i_o", "blockIdx.y")
        s:bind("j_o", "blockIdx.x")
        for _, stage in ipairs(s:stages()) do
          local loops = s:loops(stage)
          local at = stage.name == "C" and 4 or #loops - 1
          s:bind(loops[at], "threadIdx.y")
          s:bind(loops[at + 1], "threadIdx.x")
        end
        if n == 16 and ahead == 1 then assert.truthy(tostring(s:show "lowered"):find "for k_o in 0..3:\n *barrier\n") end
        if n == 16 and ahead == 1 then assert.equal(2, barriers(s)) end -- the second one is for the last iteration
        holds(s, {C})
      end
    end
  end)

  it("gives right results if the tiles do not divide the matrix", function()
    for _, n in ipairs {1, 3, 5, 9} do
      local s, C = tiled(n, 4)
      holds(s, {C})
    end
  end)

  it("can be checked, but not compiled", function()
    local s = tiled(8, 4)
    assert(s:check())
    local ok, err = pcall(s.build, s)
    assert.is_false(ok)
    assert.equal("codegen", err.code)
    assert.truthy(tostring(err):find("i_o is bound to blockIdx.y", 1, true))
  end)

  it("keeps its sums in local storage of each thread", function()
    local s, C, A = support.gemm(8)
    s:tile("i", "j", 4, 4)
    s:bind("i_o", "blockIdx.y")
    s:bind("j_o", "blockIdx.x")
    local sums = s:cache_write(C, "shared", {at = "j_o"})
    local _, _, i, j, k = table.unpack(s:loops(sums))
    local k_o, k_i = s:split(k, 4)
    s:reorder(k_o, i, j, k_i)
    local copy = s:cache_read(A, "shared", {sums}, {at = k_o})
    s:bind(s:loops(copy)[5], "threadIdx.x")
    s:bind(i, "threadIdx.y")
    s:bind(j, "threadIdx.x")
    s:bind(s:loops(C)[3], "threadIdx.y")
    s:bind(s:loops(C)[4], "threadIdx.x")
    assert.equal(2, barriers(s))
    s:set_scope(sums, "local")
    assert.equal(2, barriers(s))
    holds(s, {C})
  end)

  it("replays from its trace to the identical program", function()
    local s, C = tiled(8, 4)
    local other = nw.schedule(C)
    other:replay(s:trace "json")
    assert.equal(s:text(), other:text())
  end)
end)

describe("barriers", function()
  it("are not needed between two launches", function()
    local s, Y = stages(16)
    s:bind("i", "threadIdx.x")
    s:bind("i_1", "threadIdx.x")
    assert.equal(0, barriers(s)) -- two launches
    holds(s, {Y})
  end)

  it("are placed between two stages of one block if threads read elements that other threads compute", function()
    local s, Y, X = stages(18)
    s:split("i_1", 8)
    s:bind("i_1_o", "blockIdx.x")
    s:compute_at(X, "i_1_o")
    s:set_scope(X, "shared")
    s:bind(s:loops(X)[2], "threadIdx.x")
    s:bind("i_1_i", "threadIdx.x")
    assert.equal(1, barriers(s))
    holds(s, {Y})
  end)

  it("are needed only once after several loads", function()
    local A, B = nw.placeholder({32}, "f32", "A"), nw.placeholder({32}, "f32", "B")
    local X = nw.compute({30}, function(i) return A(i) * B(i + 2) + A(i + 1) end, "X")
    local s = nw.schedule(X)
    s:split("i", 10)
    s:bind("i_o", "blockIdx.x")
    for _, t in ipairs {A, B} do
      local loops = s:loops(s:cache_read(t, "shared", {X}, {at = "i_o"}))
      s:bind(loops[#loops], "threadIdx.x")
    end
    s:bind("i_i", "threadIdx.x")
    assert.equal(1, barriers(s))
    holds(s, {X})
  end)
end)

describe("virtual threads", function()
  it("have storage of their own and common barriers", function()
    local s, Y, X = stages(34)
    s:split("i_1", 16)
    s:split("i_1_i", 8)
    s:bind("i_1_o", "blockIdx.x")
    s:bind("i_1_i_o", "vthread")
    s:compute_at(X, "i_1_i_o")
    s:set_scope(X, "shared")
    s:bind(s:loops(X)[3], "threadIdx.x")
    s:bind("i_1_i_i", "threadIdx.x")
    local text = tostring(s:show "lowered")
    assert.truthy(text:find("alloc X%[20%] shared"))
    assert.equal(1, barriers(s))
    holds(s, {Y})
  end)

  it("must not carry a dependence", function()
    local s = support.gemm(8)
    refused("reduction", s.bind, s, "k", "vthread")
  end)
end)

describe("bind", function()
  it("takes a loop and one of seven tags", function()
    local s = map(8)
    for _, tag in ipairs {"blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z", "vthread"} do
      s:bind("i", tag)
      assert.truthy(tostring(s):find(tag .. " for i in 0..8:", 1, true))
      s:undo()
    end
  end)

  it("refuses bad arguments and leaves the schedule unchanged", function()
    local s, other = map(8), map(8)
    local before = s:text()
    for pattern, args in pairs {
      ["bind needs loop"] = {},
      ["bind needs tag"] = {"i"},
      ["bind: tag cannot be 'threadIdx'"] = {"i", "threadIdx"},
      ["bind: tag cannot be 'blockIdx.w'"] = {"i", "blockIdx.w"},
      ["bind: tag: expected a string, got a number"] = {"i", 1},
      ['bind: no loop "q"; loops are i'] = {"q", "vthread"},
      ["bind: loop: expected a loop, got a number"] = {1, "vthread"},
      ["bind takes %(loop, tag%); got 3 arguments"] = {"i", "vthread", "more"},
      ["bind: loop: loop i belongs to another schedule"] = {other:loops()[1], "vthread"},
    } do
      support.fails("^" .. pattern, "invalid", s.bind, s, table.unpack(args))
    end
    support.fails("^bind needs tag", "invalid", s.bind, s, "i", {})
    local i_o = s:split("i", 4)
    local gone = s:loops()[2]
    s:undo()
    support.fails("^bind: i_i was made by s:split%(\"i\", 4%), which is not part of the current version", "stale",
      s.bind, s, gone, "vthread")
    support.fails("^bind: i_o was made by", "stale", s.bind, s, i_o, "vthread")
    assert.equal(before, s:text())
  end)

  it("points at the loop that is too long, and splits it by what fits beside the other threads", function()
    local A, k = nw.placeholder({16, 256}, "f32", "A"), nw.reduce_axis(256, "k")
    local s = nw.schedule(nw.compute({16}, function(i) return nw.sum(A(i, k), k) end, "S"), {target = "gpu"})
    s:bind("i", "threadIdx.x")
    local e = support.error_of(s.bind, s, "k", "threadIdx.z")
    assert.matches("threadIdx.z would have 256 values; the limit of the target is 64", tostring(e), 1, true)
    assert.matches("threadIdx.z for k in 0..256:   <- here", tostring(e), 1, true)
    assert.equal('s:split("k", 64)', e.refusal.alternatives[1])
  end)

  it("refuses blocks that write the same element", function()
    local s = support.gemm(8)
    refused("reduction", s.bind, s, "k", "blockIdx.x")
  end)

  it("refuses blocks that read elements of another block", function()
    local s, Y, X = stages(18)
    s:split("i_1", 16)
    s:compute_at(X, "i_1_o")
    s:bind("i_1_o", "blockIdx.y")
    refused("raw", s.bind, s, "i_1_i", "blockIdx.x")
    s:bind("i_1_i", "threadIdx.x")
    holds(s, {Y})
  end)

  it("limits the number of threads of a block", function()
    local s = support.gemm(64)
    s:bind("i", "threadIdx.y")
    local err = refused("capacity", s.bind, s, "j", "threadIdx.x")
    assert.truthy(tostring(err):find("4096 threads", 1, true))
    local z = map(100)
    refused("capacity", z.bind, z, "i", "threadIdx.z") -- the limit is 64
  end)

  it("needs a bound on the threads of a block, but not on its blocks", function()
    local M = nw.size "M"
    local A = nw.placeholder({M}, "f32", "A")
    local s = nw.schedule(nw.compute({M}, function(i) return A(i) + 1 end, "X"))
    refused("capacity", s.bind, s, "i", "threadIdx.x")
    s:split("i", 32)
    s:bind("i_o", "blockIdx.x")
    s:bind("i_i", "threadIdx.x")
    assert(s:check())
  end)

  it("lets idle threads wait at the barriers too", function()
    local s, Y, X = stages(10)
    s:split("i_1", 4)
    s:bind("i_1_o", "blockIdx.x")
    s:compute_at(X, "i_1_o")
    s:set_scope(X, "shared")
    s:bind(s:loops(X)[2], "threadIdx.x") -- six iterations
    s:bind("i_1_i", "threadIdx.x") -- four iterations
    holds(s, {Y})
  end)

  it("refuses parallel on a grid, and bind inside parallel loops", function()
    local s = support.gemm(8)
    s:parallel "i"
    refused("structure", s.bind, s, "j", "threadIdx.x")
    s:undo()
    s:bind("i", "blockIdx.x")
    refused("structure", s.parallel, s, "j")
    s:undo()
    s:split("j", 4)
    s:reorder("i", "j_o", "k", "j_i")
    s:vectorize "j_i"
    s:bind("i", "threadIdx.x")
    refused("structure", s.bind, s, "j_i", "threadIdx.y")
  end)

  it("lets threads compute in vectors", function()
    local s, X = map(32)
    s:split("i", 4)
    s:vectorize "i_i"
    s:bind("i_o", "threadIdx.x")
    holds(s, {X})
  end)

  it("runs one launch for each iteration of a loop around its blocks", function()
    local A = nw.placeholder({1, 8}, "f32", "A")
    local state = nw.scan_state({4, 8}, "f32", "state")
    local first = nw.compute({1, 8}, function(t, x) return A(t, x) end, "first")
    local update = nw.compute({4, 8}, function(t, x)
      return state(t - 1, nw.max(x - 1, 0)) + state(t - 1, nw.min(x + 1, 7))
    end, "update")
    local S = nw.scan(first, update, state, "S")
    local s = nw.schedule(S)
    s:bind(s:loops(S)[2], "blockIdx.x")
    holds(s, {S})
    s:undo()
    s:bind(s:loops(S)[2], "threadIdx.x") -- one launch, with a barrier in each iteration
    assert.equal(1, barriers(s))
    holds(s, {S})
  end)
end)

describe("threads", function()
  -- Returns a scan in which each element adds an element of the row above, `by` columns further to the right.
  local function rows(by)
    local A = nw.placeholder({2, 4, 8}, "f32", "A")
    local state = nw.scan_state({2, 4, 8}, "f32", "state")
    local first = nw.compute({1, 4, 8}, function(t, y, x) return A(t, y, x) end, "first")
    local update = nw.compute({2, 4, 8}, function(t, y, x)
      local inside = nw.all(nw.gt(y, 0), nw.ge(x + by, 0), nw.le(x + by, 7))
      return nw.select(inside, state(t, nw.max(y - 1, 0), nw.max(nw.min(x + by, 7), 0)), 0) + A(t, y, x)
    end, "update")
    local S = nw.scan(first, update, state, "S")
    return nw.schedule(S), S
  end

  it("wait at a barrier in each step", function()
    local s, S = rows(-1)
    s:bind(s:loops(S)[2], "threadIdx.x")
    assert.equal(1, barriers(s))
    holds(s, {S})
  end)

  it("refuse a dependence within one step", function()
    local s, S = rows(0)
    local err = refused("raw", s.bind, s, s:loops(S)[2], "threadIdx.x")
    assert.truthy(tostring(err):find("no barrier can be placed between them", 1, true))
  end)

  it("wait at a barrier in each iteration of an inner loop; lowering moves the loop of the threads into that loop", function()
    local A = nw.placeholder({4, 8}, "f32", "A")
    local state = nw.scan_state({4, 8}, "f32", "state")
    local first = nw.compute({1, 8}, function(t, x) return A(t, x) end, "first")
    local update = nw.compute({4, 8}, function(t, x) return state(t - 1, nw.max(x - 1, 0)) + A(t, x) end, "update")
    local S = nw.scan(first, update, state, "S")
    local s = nw.schedule(S)
    local t, x = table.unpack(s:loops(S))
    s:reorder(x, t)
    s:bind(x, "threadIdx.x")
    assert.equal(1, barriers(s))
    assert.truthy(tostring(s:show "lowered"):find "\n    threadIdx.x for [%w_]+ in 0..8:\n      S") -- inside the loop over t
    holds(s, {S})
  end)

  it("refuse a dependence that barriers would reverse", function()
    local s, S = rows(1)
    local err = refused("raw", s.bind, s, s:loops(S)[2], "threadIdx.x")
    assert.truthy(tostring(err):find("a barrier would reverse their order", 1, true), tostring(err))
  end)

  it("must be the same number in every block", function()
    local A = nw.placeholder({8, 8}, "f32", "A")
    local L = nw.compute({8, 8}, function(i, j) return nw.select(nw.le(j, i), A(i, j), 0) end, "L")
    local s = nw.schedule(L)
    s:partition "j"
    s:bind("i", "blockIdx.x")
    refused("structure", s.bind, s, "j.main", "threadIdx.x")
    refused("structure", s.bind, s, "j.post", "threadIdx.x")
  end)

  it("have local storage that other threads cannot read", function()
    local s, Y, X = stages(18)
    s:split("i_1", 8)
    s:compute_at(X, "i_1_o")
    s:set_scope(X, "local")
    refused("raw", s.bind, s, "i_1_i", "threadIdx.x")
    s:bind("i_1_o", "threadIdx.x") -- each thread computes the whole stage
    holds(s, {Y})
  end)

  it("are identified correctly if the begin of their loop depends on the loop around it", function()
    local A = nw.placeholder({6, 8}, "f32", "A")
    local state = nw.scan_state({6, 8}, "f32", "state")
    local first = nw.compute({1, 8}, function(t, x) return A(t, x) end, "first")
    local update = nw.compute({6, 8}, function(t, x) return state(t - 1, nw.min(x + 1, 7)) + A(t, x) end, "update")
    local S = nw.scan(first, update, state, "S")
    local s = nw.schedule(S)
    local t, x = table.unpack(s:loops(S))
    s:skew(x, t, 1)
    s:bind(s:loops(S)[2], "threadIdx.x")
    assert.equal(1, barriers(s)) -- in each iteration of t, a different thread has a given value of x
    holds(s, {S})
  end)
end)

describe("shared storage", function()
  it("has a limit", function()
    local s, C, A = support.gemm(256)
    refused("capacity", s.cache_read, s, A, "shared", {C})
  end)

  it("belongs to one block", function()
    local s, Y, X = stages(16)
    s:set_scope(X, "shared")
    refused("structure", s.bind, s, "i_1", "blockIdx.x")
    s:bind("i_1", "threadIdx.x")
    s:bind("i", "threadIdx.x") -- one block, which contains both nests
    assert.equal(1, barriers(s))
    holds(s, {Y})
  end)

  it("offers the other scopes of the target if a copy for all threads of a block cannot be local", function()
    local A, F = nw.placeholder({4, 38, 134}, "f32", "A"), nw.placeholder({4, 7, 7}, "f32", "F")
    local p, q = nw.reduce_axis(7, "p"), nw.reduce_axis(7, "q")
    local B = nw.compute({4, 32, 128}, function(c, y, x) return nw.sum(A(c, y + p, x + q) * F(c, p, q), p, q) end, "B")
    local s = nw.schedule(B, {target = "a100"})
    local y_o, x_o, y_i, x_i = s:tile("y", "x", 8, 32)
    s:bind("c", "blockIdx.z") s:bind(y_o, "blockIdx.y") s:bind(x_o, "blockIdx.x")
    s:bind(y_i, "threadIdx.y") s:bind(x_i, "threadIdx.x")
    local err = support.fails("cannot read A through a copy in local", "refused", s.cache_read, s, A, "local", {B}, {at = x_o})
    assert.truthy(err.refusal.why:find("A_local has scope local: each thread has its own", 1, true))
    assert.same({'s:cache_read("A", "local", {"B"})', 's:cache_read("A", "shared", {"B"}, {at = "x_o"})'},
      {err.refusal.alternatives[1], err.refusal.alternatives[2]})
  end)

end)
