--- Class A14: stages with updates. The order in which their elements change is part of their meaning. So a step is either refused,
--- or it keeps the value of every element: in the interpreter, in the compiled program, in the C text, and next to inaccessible
--- pages. The cases apply schedules that must be accepted, and steps that must be refused.
local nw = require "nestwright"
local ctext = require "ctext"
local filled = require("values").filled

-- ---- programs: make(dtype, n, symbolic) returns the stage and its inputs; n is the size

local programs = {}

local function size_of(n, symbolic) return symbolic and nw.size("N", {min = 2}) or n end

function programs.prefix(dtype, n, symbolic)
  local N = size_of(n, symbolic)
  local X = nw.placeholder({N}, dtype, "X")
  return nw.update(X, {{1, N}}, function(S, i) return {i}, S(i - 1) + S(i) end, "S"), {filled(dtype, {n})}
end

function programs.rows(dtype, n, symbolic)
  local N = size_of(n, symbolic)
  local X = nw.placeholder({N, N}, dtype, "X")
  return nw.update(X, {N, {1, N}}, function(S, i, j) return {i, j}, S(i, j - 1) + S(i, j) end, "S"), {filled(dtype, {n, n})}
end

function programs.shift(dtype, n, symbolic)
  local N = size_of(n, symbolic)
  local X = nw.placeholder({N}, dtype, "X")
  return nw.update(X, {{0, N - 1}}, function(S, i) return {i}, S(i + 1) end, "S"), {filled(dtype, {n})}
end

function programs.mirror(dtype, n, symbolic)
  local N = size_of(n, symbolic)
  local X = nw.placeholder({N}, dtype, "X")
  return nw.update(X, {N}, function(S, i) return {i}, S(N - 1 - i) end, "S"), {filled(dtype, {n})}
end

-- The elimination of an LU factorization. All numbers stay whole.
function programs.eliminate(dtype, n, symbolic)
  local N = size_of(n, symbolic)
  local X = nw.placeholder({N, N}, dtype, "X")
  return nw.update(X, {N}, function(S, k)
    nw.update(S, {N}, function(_, r) return {r, k}, S(r, k) - S(k, k), nw.gt(r, k) end)
    nw.update(S, {N, N}, function(_, y, x)
      return {y, x}, nw.max(S(y, x) - S(y, k), S(k, x)), nw.all(nw.gt(y, k), nw.gt(x, k))
    end)
  end, "S"), {filled(dtype, {n, n})}
end

function programs.triangle(dtype, n, symbolic)
  local N = size_of(n, symbolic)
  local X = nw.placeholder({N, N}, dtype, "X")
  local S = nw.update(X, {N, N, N}, function(S, k, i, j)
    return {i, j}, nw.max(S(i, j) - S(i, k), S(j, k)), nw.all(nw.gt(i, k), nw.gt(j, k), nw.le(j, i))
  end, "S")
  return nw.update(S, {N}, function(_, d) return {d, d}, S(d, d) * 2 end), {filled(dtype, {n, n})}
end

function programs.sweep(dtype, n, symbolic)
  local N = size_of(n, symbolic)
  local X = nw.placeholder({N, N}, dtype, "X")
  return nw.update(X, {{1, N}, {1, N - 1}}, function(S, i, j)
    return {i, j}, nw.max(nw.max(S(i - 1, j), S(i, j + 1)), S(i, j - 1) - 1)
  end, "S"), {filled(dtype, {n, n})}
end

local function indices(n, lo, hi)
  return filled("i32", {n}, function(i) return lo + (7 * i + i // 3) % (hi - lo + 1) end)
end

-- Some of the indices are outside of the stage, and are clamped.
function programs.histogram(dtype, n, symbolic)
  local N = size_of(n, symbolic)
  local X = nw.placeholder({N}, "i32", "X")
  local H = nw.compute({9}, function(_) return nw.cast(0, dtype) end, "S")
  return nw.update(H, {N}, function(S, i)
    local b = nw.min(nw.max(X(i), 0), 8)
    return {b}, S(b) + 1
  end, "S"), {indices(n, -3, 12)}
end

function programs.last(dtype, n, symbolic)
  local N = size_of(n, symbolic)
  local X = nw.placeholder({N}, "i32", "X")
  local H = nw.compute({9}, function(_) return nw.cast(0, dtype) end, "S")
  return nw.update(H, {N}, function(_, i) return {nw.min(nw.max(X(i), 0), 8)}, nw.cast(i, dtype) end, "S"), {indices(n, -3, 12)}
end

-- A row of G is added to a row of the stage that is found by data.
function programs.scatter(dtype, n, symbolic)
  local N = size_of(n, symbolic)
  local X, G = nw.placeholder({N}, "i32", "X"), nw.placeholder({N, N}, dtype, "G")
  local E = nw.compute({5, N}, function(_, _) return nw.cast(0, dtype) end, "S")
  return nw.update(E, {N, N}, function(S, i, j)
    local w = nw.min(nw.max(X(i), 0), 4)
    return {w, j}, S(w, j) + G(i, j)
  end, "S"), {indices(n, -2, 6), filled(dtype, {n, n})}
end

-- ---- schedules that must be accepted, by program: {name, f(s)}

local function split(loop, factor, tail, mark)
  return function(s)
    local _, inner = s:split(loop, {factor = factor, tail = tail})
    if mark then s[mark](s, inner) end
  end
end

local function all(...)
  local list = {...}
  return function(s) for _, f in ipairs(list) do f(s) end end
end

local function step(name, ...)
  local args = {...}
  return function(s) s[name](s, table.unpack(args)) end
end

local LEGAL = {
  prefix = {
    {"split", split("i_1", 4)}, {"split with a cut tail", split("i_1", 4, "cut")}, {"unrolled", split("i_1", 4, "cut", "unroll")},
    {"cut", step("cut", "i_1", {2, 5})}, {"split twice", all(split("i_1", 8), split("i_1_i", 3))},
    {"shifted", step("shift", "i_1", 3)},
  },
  rows = {
    {"rows in parallel", step("parallel", "i_1")}, {"rows in lanes", all(step("reorder", "j_1", "i_1"), split("i_1", 4, "cut",
      "vectorize"))},
    {"rows in masked lanes", all(step("reorder", "j_1", "i_1"), split("i_1", 8, "predicate"))},
    {"four rows at a time", function(s)
      local _, inner = s:split("i_1", {factor = 4, tail = "cut"})
      s:reorder("j_1", inner)
      s:unroll(inner)
    end},
    {"tiles", step("tile", "i_1", "j_1", 4, 3)}, {"rows from the last to the first", step("reverse", "i_1")},
  },
  shift = {{"split", split("i_1", 4)}, {"unrolled", split("i_1", 4, "cut", "unroll")}},
  mirror = {{"split", split("i_1", 4)}, {"unrolled", split("i_1", 2, "cut", "unroll")}},
  eliminate = {
    {"rows in parallel", all(step("parallel", "r"), step("parallel", "y"))}, {"lanes", split("x", 4, nil, "vectorize")},
    {"lanes with a cut tail", split("x", 4, "cut", "vectorize")}, {"masked lanes", split("x", 8, "predicate")},
    {"tiles", all(step("tile", "y", "x", 4, 4), step("parallel", "y_o"))}, {"columns first", step("reorder", "x", "y")},
    {"from the last row", all(step("reverse", "y"), step("reverse", "r"))},
    {"unrolled", all(split("x", 2, "cut", "unroll"), split("y", 2, "cut", "unroll"))},
  },
  triangle = {
    {"tiles", all(step("tile", "i_1", "j_1", 4, 4), step("parallel", "i_1_o"))}, {"lanes", split("j_1", 4, nil, "vectorize")},
    {"masked lanes", split("j_1", 8, "predicate")}, {"the diagonal in parallel", step("parallel", "d")},
    {"the diagonal in lanes", split("d", 4, "cut", "vectorize")},
  },
  sweep = {
    {"skewed", all(step("skew", "j_1", "i_1", 1), step("reorder", "j_1", "i_1"), step("parallel", "i_1"))},
    {"split", split("j_1", 4)}, {"tiles of a skewed nest", all(step("skew", "j_1", "i_1", 1), step("tile", "i_1", "j_1", 4, 4))},
    {"columns first", step("reorder", "j_1", "i_1")}, {"four rows at a time", function(s)
      local _, row = s:split("i_1", 4)
      s:skew("j_1", row, 1)
      s:reorder("j_1", row)
      s:parallel(row)
    end},
  },
  histogram = {
    {"atomic", all(step("atomic", "S"), step("parallel", "i_1"))}, {"from the last", step("reverse", "i_1")},
    {"unrolled", split("i_1", 4, "cut", "unroll")},
    {"atomic blocks", function(s)
      s:atomic "S"
      s:parallel((s:split("i_1", 4)))
    end},
  },
  last = {{"split", split("i_1", 4)}, {"unrolled", split("i_1", 4, "cut", "unroll")}},
  scatter = {
    {"columns in lanes", split("j_1", 4, "cut", "vectorize")}, {"columns in masked lanes", split("j_1", 8, "predicate")},
    {"columns in parallel", all(step("reorder", "j_1", "i_1"), step("parallel", "j_1"))},
    {"blocks of columns in parallel", function(s)
      local outer, inner = s:split("j_1", 4)
      s:reorder(outer, "i_1", inner)
      s:parallel(outer)
      s:vectorize(inner)
    end},
  },
}

-- ---- steps that must be refused, by program

local ILLEGAL = {
  prefix = {{"parallel", "i_1"}, {"vectorize", "i_1"}, {"reverse", "i_1"}},
  rows = {{"parallel", "j_1"}, {"reverse", "j_1"}},
  shift = {{"parallel", "i_1"}, {"reverse", "i_1"}},
  mirror = {{"parallel", "i_1"}, {"vectorize", "i_1"}},
  eliminate = {{"parallel", "k"}, {"reverse", "k"}},
  triangle = {{"parallel", "k"}, {"reverse", "k"}},
  sweep = {{"parallel", "i_1"}, {"parallel", "j_1"}, {"reverse", "i_1"}, {"reverse", "j_1"}},
  histogram = {{"parallel", "i_1"}, {"vectorize", "i_1"}},
  last = {{"parallel", "i_1"}, {"vectorize", "i_1"}, {"reverse", "i_1"}, {"atomic", "S"}},
  scatter = {{"parallel", "i_1"}, {"vectorize", "i_1"}},
}

local NAMES = {}
for name in pairs(programs) do NAMES[#NAMES + 1] = name end
table.sort(NAMES)

local DTYPES = {"i32", "f32", "u8", "f64", "i64", "f16"}

return function(case, t)
  local rotation = 0
  local texts = {} -- every third schedule; the last case checks their C texts

  -- Applies a schedule to a program, and runs it. Every second schedule is for a symbolic size, and runs with several.
  local function check(name, how, n)
    rotation = rotation + 1
    local dtype, symbolic = DTYPES[rotation % #DTYPES + 1], rotation % 2 == 0
    local S, arguments = programs[name](dtype, n, symbolic)
    local s = nw.schedule(S)
    t.accepted(how, s)
    t.agree(s, {S}, arguments, {threads = 2})
    if not s:reparses() then error "the text of the program does not parse to the same program" end
    if rotation % 3 == 0 then
      texts[#texts + 1] = {schedule = s, arguments = arguments, sizes = {N = n}, name = ("%s, n = %d"):format(name, n)}
    end
    for _, other in ipairs(symbolic and {2, 8} or {}) do
      local _, others = programs[name](dtype, other, false)
      t.agree(s, {S}, others, {threads = 2})
    end
  end

  for _, name in ipairs(NAMES) do
    for k, how in ipairs(LEGAL[name]) do
      case("A14", ("%s, %s"):format(name, how[1]), function() check(name, how[2], k % 3 == 0 and 13 or 9) end)
    end
    case("A14", name .. ", steps that change values", function()
      for _, one in ipairs(ILLEGAL[name]) do
        local s = nw.schedule((programs[name]("i32", 11, false)))
        t.refused(".", s[one[1]], s, table.unpack(one, 2))
      end
    end)
  end

  case("A14", "the C texts of every third of these schedules", function()
    if #texts == 0 then -- the case runs alone
      for _, name in ipairs(NAMES) do
        for _, how in ipairs(LEGAL[name]) do check(name, how[2], 9) end
      end
    end
    ctext.agree(texts, {fence = "after"})
  end)
end
