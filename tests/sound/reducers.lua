--- Class A15: reducers of the user's own, and reductions whose range depends on an axis or on data. A schedule of such a reduction
--- gives what the definition gives: in the interpreter, in the compiled program, in the C text, and next to inaccessible pages.
--- All values are small whole numbers, so that every order of a sum gives the same float.
local nw = require "nestwright"
local ctext = require "ctext"
local values = require "values"
local filled = values.filled

local function size_of(n, symbolic) return symbolic and nw.size "N" or n end

-- ---- reducers

-- Returns the least number of a dtype.
local function least(dtype)
  if dtype:find "f" then return -math.huge end
  return (select(2, values.ends(dtype)))
end

-- The greatest value and how often it occurs.
local tied = nw.reducer {name = "tied", init = function(t) return least(t), 0 end, names = {"value", "count"},
  combine = function(a, b)
    local best = nw.max(a[1], b[1])
    return best, nw.select(nw.eq(a[1], best), a[2], 0) + nw.select(nw.eq(b[1], best), b[2], 0)
  end}

-- The count, the sum and the greatest value.
local three = nw.reducer {name = "three", init = function(_, t) return 0, 0, least(t) end, names = {"n", "sum", "most"},
  combine = function(a, b) return a[1] + b[1], a[2] + b[2], nw.max(a[3], b[3]) end}

-- ---- programs: each returns its outputs and its inputs; the reduction is over k, the last axis, and the stage is R. Two programs
-- are of each kind: with a constant range and an own reducer, with a range that depends on an axis, and with one that depends on
-- data.

local programs = {}

function programs.tied(dtype, n, symbolic)
  local N = size_of(n, symbolic)
  local A, k = nw.placeholder({5, N}, dtype, "A"), nw.reduce_axis(N, "k")
  return {nw.compute({5}, function(i) return tied({A(i, k), nw.cast(1, "i32")}, k) end, "R")}, {filled(dtype, {5, n})}
end

function programs.three(dtype, n, symbolic)
  local N = size_of(n, symbolic)
  local A, k = nw.placeholder({5, N}, dtype, "A"), nw.reduce_axis(N, "k")
  return {nw.compute({5}, function(i)
    return three({nw.cast(1, "i32"), A(i, k), A(i, k)}, k)
  end, "R")}, {filled(dtype, {5, n})}
end

function programs.triangle(dtype, n, symbolic)
  local N = size_of(n, symbolic)
  local A = nw.placeholder({N, N}, dtype, "A")
  return {nw.compute({N}, function(i)
    local k = nw.reduce_axis(i + 1, "k")
    return nw.sum(A(i, k), k)
  end, "R")}, {filled(dtype, {n, n})}
end

-- The window is cut off at both ends.
function programs.window(dtype, n, symbolic)
  local N = size_of(n, symbolic)
  local A = nw.placeholder({N}, dtype, "A")
  return {nw.compute({N}, function(i)
    local k = nw.reduce_axis({i - 2, i + 3}, {name = "k", within = N})
    return nw.max(A(k), k)
  end, "R")}, {filled(dtype, {n})}
end

-- The pointers of the rows: some rows are empty, some overlap, and some pointers are outside of the elements.
local function pointers(n)
  return filled("i32", {6}, function(i) return ({-4, 2, 2, n - 1, 1, n + 5})[i] end)
end

function programs.sparse(dtype, n, symbolic)
  local N = size_of(n, symbolic)
  local P, V = nw.placeholder({6}, "i32", "P"), nw.placeholder({N}, dtype, "V")
  return {nw.compute({5}, function(i)
    local k = nw.reduce_axis({P(i), P(i + 1)}, {name = "k", within = N})
    return nw.sum(V(k), k)
  end, "R")}, {pointers(n), filled(dtype, {n})}
end

function programs.sparse_tied(dtype, n, symbolic)
  local N = size_of(n, symbolic)
  local P, V = nw.placeholder({6}, "i32", "P"), nw.placeholder({N}, dtype, "V")
  return {nw.compute({5}, function(i)
    local k = nw.reduce_axis({P(i), P(i + 1)}, {name = "k", within = N})
    return tied({V(k), nw.cast(1, "i32")}, k)
  end, "R")}, {pointers(n), filled(dtype, {n})}
end

local KINDS = {{"three", "tied"}, {"triangle", "window"}, {"sparse", "sparse_tied"}}

-- ---- schedules

-- Schedules that change only loops. Each of them is used with one program of each kind.
local OF_LOOPS = {
  {"a split reduction", function(s) s:split("k", 4) end},
  {"a split reduction with a cut tail", function(s) s:split("k", {factor = 4, tail = "cut"}) end},
  {"an unrolled reduction", function(s)
    local _, inner = s:split("k", {factor = 3, tail = "cut"})
    s:unroll(inner)
  end},
  {"a cut reduction", function(s) s:cut("k", {1, 4}) end},
  {"rows in parallel", function(s) s:parallel "i" end},
  {"the reduction outside", function(s) s:reorder("k", "i") end},
  {"a copy of the accumulator", function(s)
    local block = s:cache_write("R", "local")
    s:compute_at(block, s:loops "R"[1])
  end},
  {"tiles", function(s) s:tile("i", "k", 2, 4) end},
}

-- Schedules with lanes and partial results, which need code of their own for a reducer. They are used with all programs.
local OF_PARTS = {
  {"rows in lanes", function(s)
    s:decompose_reduction("R", "i")
    s:reorder("k", "i")
    local _, inner = s:split("i", 4)
    s:vectorize(inner)
  end},
  {"the reduction in lanes", function(s)
    local _, inner = s:split("k", 4)
    s:vectorize(inner, {reduce = "tree"})
  end},
  {"partial results in parallel", function(s)
    local outer = s:split("k", 4)
    s:rfactor("R", outer)
    s:parallel(outer)
  end},
  {"partial results in lanes", function(s)
    local _, inner = s:split("k", 4)
    s:rfactor("R", inner)
    s:reorder("k_o", "k_i")
    s:vectorize "k_i"
  end},
}

-- Returns the programs with the schedules that are used with them: {name, title, f(s)}.
local function combinations()
  local out = {}
  for _, kind in ipairs(KINDS) do
    for k, how in ipairs(OF_LOOPS) do out[#out + 1] = {kind[k // 2 % 2 + 1], how[1], how[2]} end
    for _, name in ipairs(kind) do
      for _, how in ipairs(OF_PARTS) do out[#out + 1] = {name, how[1], how[2]} end
    end
  end
  return out
end

local DTYPES = {"i32", "f32", "i16", "f64", "i64"}

return function(case, t)
  local rotation = 0
  local texts = {} -- every third schedule; the last case checks their C texts

  local function check(name, how, n)
    rotation = rotation + 1
    local dtype, symbolic = DTYPES[rotation % #DTYPES + 1], rotation % 2 == 0
    local outputs, arguments = programs[name](dtype, n, symbolic)
    local s = nw.schedule(outputs)
    t.accepted(how, s)
    t.agree(s, outputs, arguments, {threads = 2})
    if not s:reparses() then error "the text of the program does not parse to the same program" end
    if rotation % 3 == 0 then
      texts[#texts + 1] = {schedule = s, arguments = arguments, sizes = {N = n}, name = ("%s, n = %d"):format(name, n)}
    end
    if not symbolic then return end
    for _, other in ipairs {1, 8} do
      local _, others = programs[name](dtype, other, false)
      t.agree(s, outputs, others, {threads = 2})
    end
  end

  for k, one in ipairs(combinations()) do
    case("A15", ("%s, %s"):format(one[1], one[2]), function() check(one[1], one[3], k % 3 == 0 and 13 or 10) end)
  end

  case("A15", "the C texts of every third of these schedules", function()
    if #texts == 0 then -- the case runs alone
      for _, one in ipairs(combinations()) do check(one[1], one[3], 10) end
    end
    ctext.agree(texts, {fence = "after"})
  end)
end
