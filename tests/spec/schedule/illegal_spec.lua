--- Tests steps that must be refused with a certain message, and must leave the schedule unchanged. A remark in parentheses says
--- what another system does in this case.
local nw = require "nestwright"
local support = require "support"

-- ---- Computations whose schedules the tests change

local function gemm(n) return support.gemm(n or 64) end

local function two_stages()
  local A = nw.placeholder({64}, "f32", "A")
  local X = nw.compute({64}, function(i) return A(i) * 2 end, "X")
  local Y = nw.compute({62}, function(i) return X(i) + X(i + 2) end, "Y")
  return nw.schedule(Y), Y, X, A
end

-- Makes a scan that adds up the rows of a matrix. Each row is a time step.
local function running_sum()
  local A = nw.placeholder({16, 8}, "f32", "A")
  local state = nw.scan_state({16, 8}, "f32", "state")
  local first = nw.compute({1, 8}, function(_, x) return A(0, x) end, "first")
  local update = nw.compute({16, 8}, function(t, x) return state(t - 1, x) + A(t, x) end, "update")
  return nw.schedule(nw.scan(first, update, state, "S"))
end

-- Makes a heat equation. Each element reads three neighbours from the previous time step.
local function heat()
  local A = nw.placeholder({1, 16}, "f32", "A")
  local state = nw.scan_state({8, 16}, "f32", "state")
  local first = nw.compute({1, 16}, function(t, x) return A(t, x) end, "first")
  local update = nw.compute({8, 16}, function(t, x)
    return state(t - 1, nw.max(x - 1, 0)) + state(t - 1, x) + state(t - 1, nw.min(x + 1, 15))
  end, "update")
  return nw.schedule(nw.scan(first, update, state, "S"))
end

-- Makes a sweep in place. Each element reads the new value of its left neighbour and the old value of its right neighbour.
local function sweep()
  local A = nw.placeholder({1, 16}, "f32", "A")
  local state = nw.scan_state({8, 16}, "f32", "state")
  local first = nw.compute({1, 16}, function(t, x) return A(t, x) end, "first")
  local update = nw.compute({8, 16}, function(t, x)
    return nw.select(nw.gt(x, 0), state(t, nw.max(x - 1, 0)), 0) + state(t - 1, nw.min(x + 1, 15))
  end, "update")
  return nw.schedule(nw.scan(first, update, state, "S"))
end

local function last_loop_of(s, stage)
  local loops = s:loops(stage)
  return loops[#loops]
end

-- {description, computation, a function that must fail, the text of its error, the code of its error}
local cases = {
  {"parallel over a reduction axis (TVM: a race, silently wrong)", gemm, function(s) s:parallel "k" end,
    "^cannot run k in parallel", "refused"},
  {"parallel over the outer part of a reduction (TVM: the same race)", gemm, function(s)
    local k_o = s:split("k", 16)
    s:parallel(k_o)
  end, "^cannot run k_o in parallel", "refused"},
  {"parallel over a reduction axis moved outermost (TVM: the same race)", gemm, function(s)
    s:reorder("k", "i", "j")
    s:parallel "k"
  end, "^cannot run k in parallel", "refused"},
  {"vectorize over a reduction axis", gemm, function(s) s:vectorize "k" end, "^cannot vectorize k", "refused"},
  {"split by a negative factor (TVM: accepted, wrong by 91 %)", gemm, function(s) s:split("i", -4) end,
    "^split: factor = %-4 is out of range", "range"},
  {"split by 0 (TVM: an internal error, later)", gemm, function(s) s:split("i", 0) end,
    "^split: factor = 0 is out of range", "range"},
  {"split by 2^62", gemm, function(s) s:split("i", 1 << 62) end,
    "^split: factor = 4611686018427387904 is out of range", "range"},
  {"split the same loop twice", gemm, function(s)
    s:split("i", 8)
    s:split("i", 8)
  end, "^split: i was split into i_o, i_i by step 1", "stale"},
  {"reorder the same loop twice", gemm, function(s) s:reorder("i", "i") end, "^reorder: i is given twice", "invalid"},
  {"vectorize and parallel on one loop (Halide: the last one wins, silently)", gemm, function(s)
    s:vectorize "j"
    s:parallel "j"
  end, "^cannot run j in parallel: it is already marked vectorize", "refused"},
  {"parallel inside parallel (TVM: refused in code generation)", gemm, function(s)
    s:parallel "i"
    s:parallel "j"
  end, "^cannot run j in parallel: it is inside i, which is marked parallel", "refused"},
  {"vectorize inside vectorize (Halide: nested vectors, silently)", gemm, function(s)
    s:split("i", 8)
    s:vectorize "i_i"
    s:vectorize "j"
  end, "^cannot vectorize j: it is inside i_i, which is marked vectorize", "refused"},
  {"inline the output (TVM: the process dies)", two_stages, function(s, Y) s:compute_inline(Y) end,
    "^cannot inline Y: it is an output", "refused"},
  {"inline a reduction", function()
    local A = nw.placeholder({8, 8}, "f32", "A")
    local k = nw.reduce_axis(8, "k")
    local R = nw.compute({8}, function(i) return nw.sum(A(i, k), k) end, "R")
    local Z = nw.compute({8}, function(i) return R(i) + 1 end, "Z")
    return nw.schedule(Z), R
  end, function(s, R) s:compute_inline(R) end, "^cannot inline R: it is a reduction", "refused"},
  {"compute_at of the output into its producer", two_stages, function(s, Y, X)
    s:compute_at(Y, s:loops(X)[1])
  end, "^cannot compute Y at i: it is an output", "refused"},
  {"compute_at into itself", two_stages, function(s, _, X) s:compute_at(X, s:loops(X)[1]) end,
    "^cannot compute X at i: that is a loop of X itself", "refused"},
  {"compute_at a loop that does not contain every reader", function()
    local A = nw.placeholder({16}, "f32", "A")
    local X = nw.compute({16}, function(i) return A(i) * 2 end, "X")
    local Y = nw.compute({16}, function(i) return X(i) + 1 end, "Y")
    local Z = nw.compute({16}, function(i) return X(i) + 2 end, "Z")
    return nw.schedule {Y, Z}, X, Y
  end, function(s, X, Y) s:compute_at(X, s:loops(Y)[1]) end,
    "^cannot compute X at i_1: not all of its readers are inside that loop", "refused"},
  {"parallel over the time of a scan", running_sum, function(s) s:parallel(s:loops "S"[1]) end,
    "^cannot run t in parallel", "refused"},
  {"vectorize over the time of a scan", running_sum, function(s)
    local loops = s:loops "S"
    s:vectorize(loops[1])
  end, "^cannot vectorize t", "refused"},
  {"space before time in a heat equation", heat, function(s)
    local loops = s:loops "S"
    s:reorder(loops[2], loops[1])
  end, "^cannot reorder x_1 before t_1", "refused"},
  {"tiling space outside time in a heat equation", heat, function(s)
    local loops = s:loops "S"
    local x_o = s:split(loops[2], 4)
    s:reorder(x_o, loops[1])
  end, "^cannot reorder x_1_o before t_1", "refused"},
  {"parallel over space in a sweep in place", sweep, function(s) s:parallel(last_loop_of(s, "S")) end,
    "^cannot run x_1 in parallel", "refused"},
  {"vectorize over space in a sweep in place", sweep, function(s) s:vectorize(last_loop_of(s, "S")) end,
    "^cannot vectorize x_1", "refused"},
  {"space before time in a sweep in place", sweep, function(s)
    local loops = s:loops "S"
    s:reorder(loops[2], loops[1])
  end, "^cannot reorder x_1 before t_1", "refused"},
  {"fuse loops that are not neighbours", gemm, function(s) s:fuse("i", "k") end,
    "^cannot fuse i and k: they are not adjacent in a perfect nest", "refused"},
  {"a loop that does not exist", gemm, function(s) s:split("ii", 4) end,
    "^split: no loop \"ii\"; loops are i, j, k", "invalid"},
  {"a loop of another schedule", gemm, function(s)
    local other = gemm()
    s:split(other:loops()[1], 4)
  end, "^split: loop: loop i belongs to another schedule", "invalid"},
  {"unroll beyond the code limit", gemm, function(s)
    s:unroll "i"
    s:unroll "j"
    s:unroll "k"
  end, "^cannot unroll k", "refused"},
  {"a local buffer too large for the stack", function() return gemm(1024) end, function(s, C) s:cache_write(C, "local") end,
    "^cannot write C through a copy in local", "refused"},
  {"a scope that does not exist", gemm, function(s, C) s:cache_write(C, "registers") end,
    "^cache_write: scope cannot be 'registers'", "invalid"},
  {"an option that does not exist", gemm, function(s) s:split("i", {facotr = 4}) end,
    "^split: unknown option 'facotr'", "invalid"},
  {"a tail that does not exist", gemm, function(s) s:split("i", {factor = 4, tail = "drop"}) end,
    "^split: tail cannot be 'drop'", "invalid"},
  {"cache_read of a tensor that nothing reads", gemm, function(s, C) s:cache_read(C, "global", {C}) end,
    "^cannot read C through a copy in global: C does not read C", "refused"},
  {"a layout that loses elements", gemm, function(s, C, _, B)
    s:cache_read(B, "global", {C}, {layout = function(k, j) return k // 2, j end})
  end, "^cannot read B through a copy in global: the layout is not one%-to%-one", "refused"},
  {"decompose_reduction below the reduction's own loop", gemm, function(s, C)
    s:split("k", 8)
    s:decompose_reduction(C, "k_i")
  end, "^cannot split off the init of C before k_i: k_o is a reduction loop and is outside k_i", "refused"},
  {"a program that reads past its input (TVM: returns rubbish)", gemm, function()
    local A = nw.placeholder({16}, "f32", "A")
    nw.compute({32}, function(i) return A(i) end, "X")
  end, "^compute: in X, A%[i%] reads index 16 of dimension 0 %(extent 16%) at i = 16", "range"},
  {"a tensor that reads the state of a scan outside the scan", gemm, function()
    local A = nw.placeholder({16}, "f32", "A")
    local X = nw.scan_state({16}, "f32", "X")
    nw.schedule(nw.compute({16}, function(i) return X(i - 1) + A(i) end, "Y"))
  end, "^schedule: Y reads the state of a scan, but is used outside a scan", "invalid"},
}

describe("an illegal schedule is refused:", function()
  for _, case in ipairs(cases) do
    local what, make, attempt, pattern, code = table.unpack(case, 1, 5)
    it(what, function()
      local made = table.pack(make())
      local s = made[1]
      local err = support.fails(pattern, code, attempt, table.unpack(made, 1, made.n))
      -- The schedule must still work, and the conflict that the refusal names must be seen when the refused program runs.
      assert.is_true(s:reparses())
      local explained, lesson = pcall(s.explain, s)
      if explained and lesson.visible then assert.is_true(lesson.seen, tostring(err)) end
      assert.is_table(s:loops())
    end)
  end

  it("and a refusal names the two iterations, the element and an alternative that works", function()
    local s = gemm()
    s:split("k", 16)
    local ok, err = pcall(s.parallel, s, "k_o")
    assert.is_false(ok)
    local r = err.refusal
    assert.are.equal("reduction", r.kind)
    assert.are.equal("C[0, 0]", r.element)
    assert.truthy(r.source:find "k_o=0")
    assert.truthy(r.sink)
    assert.truthy(#r.alternatives >= 1)
    local text = tostring(err)
    assert.truthy(text:find("for k_o in 0..4", 1, true))
    assert.truthy(text:find("you can:", 1, true))
    local try = assert(load("local s = ... " .. r.alternatives[1]))
    assert.is_true(pcall(try, s), r.alternatives[1] .. " was offered and does not work")
  end)

  it("and the schedule is unchanged after several refusals", function()
    local s = gemm()
    s:split("i", 8)
    local before = s:text()
    support.fails("^cannot run k in parallel", "refused", s.parallel, s, "k")
    support.fails("^parallel: i was split into i_o, i_i by step 1", "stale", s.parallel, s, "i")
    support.fails('^parallel: no loop "nothing"', "invalid", s.parallel, s, "nothing")
    support.fails("factor = 0 is out of range", "range", s.split, s, "j", 0)
    support.fails("^cannot inline C: it is an output", "refused", s.compute_inline, s, "C")
    assert.are.equal(before, s:text())
  end)
end)
