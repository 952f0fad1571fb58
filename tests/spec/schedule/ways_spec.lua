--- Tests the alternatives that a refusal suggests. After an alternative, the refused step must work, unless the alternative itself
--- reaches the same goal.
local nw = require "nestwright"
local support = require "support"

local function mm(M, N, K)
  local A, B = nw.placeholder({M, K}, "f32", "A"), nw.placeholder({K, N}, "f32", "B")
  local k = nw.reduce_axis(K, "k")
  return nw.schedule(nw.compute({M, N}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C"))
end

local function blur(M, N)
  local A = nw.placeholder({M + 2, N + 2}, "f32", "A")
  local X = nw.compute({M + 2, N}, function(y, x) return A(y, x) + A(y, x + 1) + A(y, x + 2) end, "X")
  local Y = nw.compute({M, N}, function(y, x) return X(y, x) + X(y + 1, x) + X(y + 2, x) end, "Y")
  return nw.schedule(Y)
end

local function plus(n)
  local A = nw.placeholder({n}, "f32", "A")
  return nw.schedule(nw.compute({n}, function(i) return A(i) + 1 end, "Y"))
end

local function scan()
  local A, H = nw.placeholder({1, 16}, "f32", "A"), nw.scan_state({8, 16}, "f32", "H")
  local first = nw.compute({1, 16}, function(t, x) return A(t, x) end, "first")
  local update = nw.compute({8, 16}, function(t, x) return H(t - 1, x) + 1 end, "update")
  return nw.schedule(nw.scan(first, update, H, "S"))
end

local function take(s, steps)
  for _, step in ipairs(steps) do assert(load("local s, nw = ... " .. step))(s, nw) end
end

local GEMM = "nw.xsmm.gemm {m = 32, n = 32, k = 64}"

-- {description, function that makes a schedule, steps, the refused step, its alternatives, the steps after the first alternative}
local cases = {
  {"a stage that a cut divided in two", function() return mm(100, 100, 64) end,
    {'s:tile("i", "j", 8, 16, {tail = "cut"})', 's:parallel "i_o"'}, 's:rfactor("C", "k")', {"s:undo(2)"},
    {'s:rfactor("C", "k")'}},
  {"a parallel loop inside a parallel loop", function() return mm(16, 16, 16) end, {'s:parallel "i"', 's:split("k", 4)'},
    's:parallel "j"', {'s:unmark "i"'}, {'s:parallel "j"'}},
  {"pieces that are marked differently", function() return mm(16, 16, 16) end, {'s:cut("i", 4)', 's:vectorize "i.head"'},
    's:join("i.head", "i.rest")', {'s:unmark "i.head"'}, {'s:join("i.head", "i.rest")'}},
  {"pieces that were split differently", function() return mm(16, 16, 16) end,
    {'s:cut("i", 4)', 's:split("i.rest/k", 4)', 's:split("i.head/j", 4)'}, 's:join("i.head", "i.rest")', {"s:undo(2)"},
    {'s:join("i.head", "i.rest")'}},
  {"an intrinsic whose nest contains the init", function() return mm(64, 64, 64) end, {'s:tile("i", "j", 32, 32)'},
    's:tensorize("i_i", ' .. GEMM .. ")", {'s:decompose_reduction("C", "i_i")'}, {'s:tensorize("i_i", ' .. GEMM .. ")"}},
  {"an intrinsic under a guard", function() return mm(100, 100, 64) end,
    {'s:tile("i", "j", 32, 32)', 's:decompose_reduction("C", "i_i")'}, 's:tensorize("i_i", ' .. GEMM .. ")",
    {'s:partition "i_o"'}, {'s:partition "i_o.main/j_o"', 's:tensorize("i_o.main/j_o.main/i_i", ' .. GEMM .. ")"}},
  {"an intrinsic under a guard, with the init inside", function() return mm(100, 64, 64) end,
    {'s:tile("i", "j", 32, 32)'}, 's:tensorize("i_i", ' .. GEMM .. ")", {'s:partition "i_o"'},
    {'s:decompose_reduction("C", "i_o.main/i_i")', 's:tensorize("i_o.main/i_i", ' .. GEMM .. ")"}},
  {"an intrinsic that computes something else", function() return mm(64, 64, 60) end, {'s:tile("i", "j", 32, 32)'},
    's:tensorize("i_i", ' .. GEMM .. ")", {}},
  {"a parallel loop over shared storage", function() return blur(16, 16) end,
    {'s:compute_at("X", "y_1")', 's:store_at "X"'}, 's:parallel "y_1"',
    {'s:parallel "x"', 's:vectorize "x"', "s:undo()"}, {}},
  {"a parallel loop over a rolling buffer", function() return blur(16, 16) end,
    {'s:compute_at("X", "y_1")', 's:store_at "X"', 's:rolling_buffer "X"'}, 's:parallel "y_1"',
    {'s:parallel "x"', 's:vectorize "x"', "s:undo(2)"}, {}},
  {"nests that depend on each other", function() return blur(16, 16) end, {'s:split("x", 4)'},
    's:create_fused_loop("y", "y_1")', {}},
  {"a write buffer for a scan", scan, {'s:split("x", 4)'}, 's:cache_write("S", "local")', {}},
  {"loops with different numbers of iterations", function() return blur(16, 16) end, {'s:split("x", 4)'}, 's:merge("y", "y_1")',
    {'s:cut("y", 2)'}, {'s:merge("y.rest", "y_1")'}},
  {"a merge of inner loops whose outer loops are not merged", function() local s = blur(16, 16) s:cut("y", 2) return s end, {},
    's:merge("y.rest/x", "x_1")', {'s:merge("y.rest", "y_1")'}, {'s:merge("y.rest/x", "x_1")'}},
  {"readers outside the loop of a copy", function() return mm(60, 16, 16) end, {'s:split("i", 8, {tail = "cut"})'},
    's:cache_read("A", "local", nil, {at = "i_o"})',
    {'s:cache_read("A", "local", {"C"}, {at = "i_o"})', 's:cache_read("A", "global")'}},
  {"a fact that never holds", function() return plus(nw.size "N") end, {'s:split("i", 4)'}, 's:assume "1 == 0"', {}},
  {"a fact that contradicts another fact", function() return plus(nw.size "N") end, {'s:assume "N % 4 == 0"'},
    's:assume "N % 4 == 1"', {"s:undo()"}, {'s:assume "N % 4 == 1"'}},
  {"a split of a marked loop with the default tail", function() return mm(16, 16, 16) end, {'s:parallel "i"'},
    's:split("i", 7, {tail = "guard"})', {'s:unmark "i"'}, {'s:split("i", 7)'}},
  {"a padded output", function() return mm(16, 16, 16) end, {'s:split("k", 4)'},
    's:split("j", 7, {tail = "pad"})', {'s:split("j", 7)'}},
  {"a padded tile", function() return mm(16, 16, 16) end, {'s:split("k", 4)'},
    's:tile("i", "j", 7, 7, {tail = "pad"})', {'s:tile("i", "j", 7, 7)'}},
  {"a loop of more than one iteration", function() return mm(16, 16, 16) end, {'s:split("k", 4)'},
    's:remove_unit_loop "j"', {}},
  {"stores that are already streaming stores", function() return blur(64, 64) end,
    {'s:vectorize "x_1"', 's:stream_stores "Y"', 's:split("y", 4)'}, 's:stream_stores "Y"', {}},
  {"a parallel loop inside another, next to a loop of one iteration", function() return blur(1, 64) end, {},
    's:parallel(s:loops "X"[1]) s:parallel "x"', {'s:unmark "y"'}, {'s:parallel "x"'}},
  {"a window of a stage that is computed before all its readers", function() return blur(16, 16) end, {}, 's:store_at "X"',
    {'s:compute_at("X", "x_1")', 's:compute_at("X", "y_1")'}, {'s:store_at "X"'}},
  {"a window that threads would share", function() return blur(16, 16) end,
    {'s:compute_at("X", "y_1")', 's:parallel "y_1"', 's:split("x", 4)'}, 's:double_buffer "X"',
    {'s:unmark "y_1"', 's:compute_at("X", "x_1")'}, {'s:double_buffer "X"'}},
  {"storage that is too large for the stack", function() return blur(256, 256) end, {}, 's:set_scope("X", "local")',
    {'s:compute_at("X", "x_1")', 's:compute_at("X", "y_1")'}, {'s:set_scope("X", "local")'}},
  {"a fuse of loops that are not adjacent", function() return mm(16, 16, 16) end, {'s:split("i", 4)', 's:split("j", 4)'},
    's:fuse("k", "j_i")', {'s:fuse("j_o", "j_i")', 's:fuse("j_i", "k")'}},
  {"a loop with too many iterations for a vector", function() return mm(16, 512, 16) end, {}, 's:vectorize "j"',
    {'s:vectorize "i"', 's:split("j", 16)'}},
}

describe("a refusal suggests alternatives that work:", function()
  for _, case in ipairs(cases) do
    local name, make, steps, refused, offered, rest = table.unpack(case)
    it(name, function()
      local s = make()
      take(s, steps)
      local ok, err = pcall(take, s, {refused})
      assert.is_false(ok)
      assert.same(offered, err.refusal.alternatives)
      local before = s:version()
      for n, way in ipairs(offered) do
        take(s, {way, table.unpack(n == 1 and rest or {})})
        assert.is_true(s:reparses())
        s:checkout(before)
      end
    end)
  end

  it("a replay that failed suggests no undo, because it is already undone", function()
    local s, other = mm(16, 16, 16), mm(16, 16, 16)
    s:split("i", 4)
    s:parallel "i_o"
    local ok, err = pcall(other.replay, other, (s:trace "json":gsub('"loop": "i_o"', '"loop": "k"')))
    assert.is_false(ok)
    assert.truthy(tostring(err):find "step 2, ")
    assert.same({}, err.refusal.alternatives)
    assert.is_nil(tostring(err):find "you can")
  end)

  it("steps that were tried change neither the versions nor redo", function()
    local s = mm(16, 16, 16)
    s:parallel "i"
    s:split("k", 4)
    local after = s:text()
    s:undo()
    support.fails("^cannot run j in parallel: it is inside i", "refused", s.parallel, s, "j")
    assert.equal(after, s:redo():text())
    assert.equal(2, s:version())
    assert.equal(3, s:split("j", 4) and s:version())
  end)
end)

describe("a hint", function()
  it("says how many steps must be undone to reach the state before a call", function()
    local s = mm(64, 64, 64)
    take(s, {'s:tile("i", "j", 32, 32)', 's:decompose_reduction("C", "i_i")', 's:tensorize("i_i", ' .. GEMM .. ")",
      's:parallel "i_o"'})
    local ok, err = pcall(s.split, s, "k", 4)
    assert.is_false(ok)
    assert.equal("s:undo(2) undoes the tensorize step", err.hint)
    s:undo(2)
    s:split("k", 4)
  end)

  it("gives the range of a number", function()
    local s = mm(16, 16, 16)
    for _, step in ipairs {'s:skew("k", "j", 1 << 30)', 's:prefetch("A", "j", 1 << 30)', 's:split("i", 1 << 40)'} do
      local ok, err = pcall(take, s, {step})
      assert.is_false(ok)
      assert.truthy(err.hint:find "%d%d%d%d%d", step)
    end
  end)
end)
