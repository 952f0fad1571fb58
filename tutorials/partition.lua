--- Six loops that no tile divides, or that need a guard in some iterations. Each is partitioned in several ways, which are
--- shown side by side.
---
---   nestwright tutorials/partition.lua [folder]        pictures of the pieces go into the folder, which is created
---
--- A way is a list of ordinary steps, each proven to be legal before it is made. The row of a way gives the bytes of machine code,
--- the time that the cost model predicts (an estimate), the measured time (one thread, the fastest of several runs), and the
--- conditions that are left in the main piece and in the whole program. Other programs require this file: lab.kernels() returns
--- every way as a schedule.
local nw = require "nestwright"

local lab = {}

local LANES = 16 -- of f32; machines with narrower vectors split them
local ROWS = 8   -- of a tile whose sums stay in registers

-- ---- (1) a vector of 17, in tiles of 4

local function vector(n)
  local A = nw.placeholder({n}, "f32", "A")
  return nw.schedule(nw.compute({n}, function(i) return A(i) * 2 + 1 end, "C"))
end

local function ask_each_round(s)
  local outer, inner = s:split("i", 4)
  s:pragma(outer, "partition", "never") -- otherwise lowering would split off the last tile
  s:unroll(inner)
end

local function tiles_of_four(tail)
  return function(s)
    local _, inner = s:split("i", 4, {tail = tail})
    if tail ~= "predicate" then s:vectorize(inner) end
  end
end

local vectors = {
  {"guard", ask_each_round, asks = true},
  {"cut", tiles_of_four "cut", main = "i_o"},
  {"shift", tiles_of_four "shift", main = "i_o", least = 4},
  {"predicate", tiles_of_four "predicate", main = "i_o"},
}

-- ---- (2) a product of matrices, 127 by 127 by 127: both loops have a tail

local function product(n)
  local A, B = nw.placeholder({n, n}, "f32", "A"), nw.placeholder({n, n}, "f32", "B")
  local k = nw.reduce_axis(n, "k")
  return nw.schedule(nw.compute({n, n}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C"))
end

-- Moves the loop over the columns to the outside before cutting it, so that each of its pieces is a perfect nest.
local function tile_product(s, rows, columns)
  local i_o, i_i = s:split("i", ROWS, {tail = rows})
  s:reorder("j", i_o, i_i)
  local j_o, j_i = s:split("j", LANES, {tail = columns})
  s:reorder(i_o, j_o, "k", i_i, j_i)
  return i_i, j_i
end

local function in_registers(tail)
  return function(s)
    local i_i, j_i = tile_product(s, tail, tail)
    s:vectorize(j_i)
    s:unroll(i_i)
  end
end

-- Computes the remaining columns as a vector under a mask, and the remaining rows one after the other.
local function under_masks(s)
  s:unroll((tile_product(s, "cut", "predicate")))
  if s:stages()[2] then
    local j_o, j_i = s:split("i.tail/j", LANES, {tail = "predicate"})
    s:reorder(j_o, "i.tail/k", j_i)
  end
end

local products = {
  {"guard", function(s) tile_product(s, "guard", "guard") end, main = "i_o"},
  {"cut", in_registers "cut", main = "i_o"},
  {"shift", in_registers "shift", main = "i_o", least = LANES},
  {"masks", under_masks, main = "j_o"},
}

-- ---- (3) a convolution whose sum runs over the whole signal

local TAPS = 16

-- The definition covers the whole domain of r. An iteration adds something only if both reads are inside.
local function convolution(n)
  local I, F = nw.placeholder({n}, "f32", "I"), nw.placeholder({TAPS}, "f32", "F")
  local r = nw.reduce_axis(n + TAPS - 1, "r")
  return nw.schedule(nw.compute({n + TAPS - 1}, function(x)
    local inside = nw.all(nw.ge(x - r, 0), nw.lt(x - r, TAPS), nw.lt(r, n))
    return nw.sum(nw.select(inside, I(r) * F(x - r), 0), r)
  end, "Y"))
end

-- The iterations without a condition become a separate loop, but the iterations before and after them still run.
local function partition_domain(s)
  s:decompose_reduction("Y", "r")
  s:partition "r"
end

local function trim_domain(s)
  s:decompose_reduction("Y", "r")
  s:trim "r"
end

-- With r - x in place of r, all x between the edges have the same iterations of r, so these x can become lanes.
local function trim_into_vectors(s, n)
  s:decompose_reduction("Y", "x")
  s:skew("r", "x", -1)
  s:trim "r"
  local _, main = s:partition("x", {at = {TAPS - 1, n}})
  local _, lanes = s:split(main, LANES, {tail = "cut"})
  s:reorder("x.main/r", lanes)
  s:vectorize(lanes)
end

local convolutions = {
  {"guard", function() end, asks = true},
  {"partition", partition_domain, main = "r.main"},
  {"trim", trim_domain, main = "x"},
  {"trim, vectors", trim_into_vectors, main = "x.main_o", least = TAPS + LANES},
}

-- ---- (4) a concatenation: two branches over one index

local function joined(n)
  local A, B = nw.placeholder({n, 17}, "f32", "A"), nw.placeholder({n, 23}, "f32", "B")
  return nw.schedule(nw.compute({n, 40}, function(i, j)
    return nw.select(nw.lt(j, 17), A(i, j), B(i, j - 17)) * 2
  end, "Y"))
end

local function branches_apart(tail)
  return function(s)
    local _, first, second = s:partition "j"
    for _, piece in ipairs {first, second} do
      local _, lanes = s:split(piece, 8, {tail = tail})
      if tail == "cut" then s:vectorize(lanes) end
    end
  end
end

local concatenations = {
  {"guard", function() end, asks = true},
  {"partition", function(s) s:partition "j" end, main = "j.main"},
  {"partition, cut", branches_apart "cut", main = "j.main_o"},
  {"partition, masks", branches_apart "predicate", main = "j.main_o"},
}

-- ---- (5) a triangle: the full tiles are a triangle of tiles

local COLUMNS = 32

local function triangle(n)
  local L, B = nw.placeholder({n, n}, "f32", "L"), nw.placeholder({n, COLUMNS}, "f32", "B")
  local k = nw.reduce_axis(n, "k")
  return nw.schedule(nw.compute({n, COLUMNS}, function(i, j)
    return nw.sum(nw.select(nw.le(k, i), L(i, k) * B(k, j), 0), k)
  end, "C"))
end

-- Vectorizes the rows of B; the loop over k is outside.
local function lanes_of(s, loop)
  local _, lanes = s:split(loop, LANES)
  s:vectorize(lanes)
end

local function ask_in_the_triangle(s)
  s:reorder("k", "j")
  lanes_of(s, "j")
end

local function trim_rows(s)
  s:decompose_reduction("C", "i")
  s:reorder("k", "j")
  s:trim "k"
  lanes_of(s, "j")
end

local function tile_triangle(s)
  s:decompose_reduction("C", "i")
  local i_o, i_i, i_tail = s:split("i", ROWS, {tail = "cut"})
  local k_o, k_i = s:split("k", ROWS)
  s:reorder(i_o, k_o, k_i, i_i, "j")
  if i_tail then
    s:reorder("i.tail/k", "i.tail/j")
    s:trim "i.tail/k"
    lanes_of(s, "i.tail/j")
  end
  return k_o
end

-- Removes the tiles above the diagonal, which add nothing. Tiles on the diagonal keep their condition.
local function tiles_that_ask(s)
  s:trim(tile_triangle(s))
  lanes_of(s, "j")
end

local function full_tiles_apart(s)
  local k_o = s:trim(tile_triangle(s))
  s:partition(k_o)
  lanes_of(s, "k_o.main/j")
  s:reorder("k_o.main/j_o", "k_o.main/k_i", "k_o.main/i_i")
  s:unroll "k_o.main/i_i"
  lanes_of(s, "k_o.post/j")
end

local triangles = {
  {"guard", ask_in_the_triangle, asks = true},
  {"trim", trim_rows, main = "i"},
  {"guarded tiles", tiles_that_ask, asks = true},
  {"full tiles", full_tiles_apart, main = "k_o.main"},
}

-- ---- (6) a batch of 1 to 512 rows, whose number is known when the kernel is called

local DEPTH = 64

local function batch(n)
  local A, B = nw.placeholder({n, DEPTH}, "f32", "A"), nw.placeholder({DEPTH, COLUMNS}, "f32", "B")
  local k = nw.reduce_axis(DEPTH, "k")
  return nw.schedule(nw.compute({n, COLUMNS}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C"))
end

local function register_tile(s, p, lanes)
  s:reorder(p:loop "k", p.inner, lanes)
  s:vectorize(lanes)
  s:unroll(p.inner)
end

local function batch_kernel(rows)
  return {rows = rows, schedule = function(s, p)
    local j_o, j_i = s:split(p:loop "j", LANES)
    s:reorder(j_o, p.outer, p.inner, j_i)
    register_tile(s, p, j_i)
  end, inside = function(s, p) register_tile(s, p, p:loop "j_i") end}
end

local function columns_around(s)
  s:split("j", LANES)
  s:reorder("j_o", "i", "j_i")
end

local function batch_kernels()
  local list = {}
  for n, rows in ipairs {8, 4, 2, 1} do list[n] = batch_kernel(rows) end
  return list
end

lab.batches = {1, 3, 7, 8, 12, 33, 64, 100, 257, 512}

--- Returns the table of strategies for the batch, over the sizes in lab.batches. The options are those of s:partition_auto.
function lab.strategies(options)
  local s = batch(nw.size("N", {min = 0}))
  local o = {loop = "i", kernels = batch_kernels(), around = columns_around, cost = "model", sizes = {N = lab.batches},
    strategies = {"guard", "cut", "halves", "residues", "sizes", "shift"}}
  for key, value in pairs(options or {}) do o[key] = value end
  return s:partition_auto(o), s
end

-- ---- all six parts

lab.parts = {
  {name = "vector", stage = "C", size = 17, tile = 4, shown = 17, make = vector, ways = vectors,
    why = "17 is four tiles of 4 and one more element. The ways differ in how they compute that element."},
  {name = "product", stage = "C", size = 127, tile = LANES, shown = 37, make = product, ways = products, axes = {"i", "j"},
    why = "127 is one less than a multiple of 8 and of 16, so tiles of 8 by 16 leave a tail of rows and one of columns."},
  {name = "convolution", stage = "Y", size = 1024, tile = LANES, shown = 32, make = convolution, ways = convolutions,
    axes = {"x", "r"}, why = "At most 16 iterations of each sum are inside. A guard in every iteration costs most of the time."},
  {name = "concatenation", stage = "Y", size = 100, tile = 8, shown = 12, make = joined, ways = concatenations,
    axes = {"i", "j"}, why = "Every element is copied from one of two tensors, and each iteration tests from which."},
  {name = "triangle", stage = "C", size = 100, tile = ROWS, shown = 37, make = triangle, ways = triangles, axes = {"i", "k"},
    why = "Tiles below the diagonal are full, tiles on it are partly full, and tiles above it add nothing."},
}

--- Returns one way as a kernel: {lab, name, schedule, main, asks, least}. n is a number or a symbolic size.
function lab.kernel(part, way, n)
  local s = part.make(n)
  local known = math.type(n) == "integer"
  if way.least and not known then s:assume(("%s >= %d"):format("N", way.least)) end
  way[2](s, known and n or "N")
  return {lab = part.name, name = part.name .. ": " .. way[1], schedule = s, main = way.main, asks = way.asks,
    least = way.least or 0, part = part}
end

local function batches()
  local list, s = lab.strategies {sizes = {N = {1, 7, 64}}}
  local out, part = {}, {name = "batch", make = batch, tile = ROWS}
  for _, row in ipairs(list) do
    if not row.refused then
      out[#out + 1] = {lab = "batch", name = "batch: " .. row.strategy, schedule = s, versions = row.versions, least = 0,
        main = row.strategy == "guard" and "i_o" or nil, part = part}
    end
  end
  out[#out + 1] = {lab = "batch", name = "batch: dispatch", schedule = s, versions = list:dispatch().versions, least = 0,
    part = part}
  return out
end

--- Returns every way of every part as a kernel; with symbolic = true, for all sizes N >= least. If a kernel has versions, a call
--- runs one of them. main is a loop of the lowered program; nil means the whole program. No condition may be left there, unless
--- asks is true.
function lab.kernels(symbolic)
  local out = {}
  for _, part in ipairs(lab.parts) do
    for _, way in ipairs(part.ways) do
      out[#out + 1] = lab.kernel(part, way, symbolic and nw.size("N", {min = 0}) or part.size)
    end
  end
  return table.move(batches(), 1, 99, #out + 1, out)
end

--- Returns how many conditions are left in the main piece of a kernel, summed over its versions.
function lab.guards(kernel)
  local s, sum = kernel.schedule, 0
  local was = s:version()
  for _, version in ipairs(kernel.versions or {was}) do
    s:checkout(version)
    sum = sum + nw.partition.conditions(s, kernel.main)
  end
  s:checkout(was)
  return sum
end

--- Returns inputs for a schedule whose size is n.
function lab.arrays(s, n)
  local out = {}
  for at, t in ipairs(s:inputs()) do
    local shape = {}
    for d, size in ipairs(t:shape()) do shape[d] = math.tointeger(size) or n end
    out[at] = nw.random(shape, t.dtype, {seed = at})
  end
  return out
end

-- ---- the tables

--- Draws the pieces of a way on a grid of iterations, at a small size that is easy to read. width: the width of the grid in pixels.
function lab.picture(part, way, width)
  local s = lab.kernel(part, way, math.max(part.shown, way.least or 0)).schedule
  return nw.pieces(s, {stage = part.stage, axes = part.axes, title = part.name .. ": " .. way[1], width = width})
end

--- Returns a row with the costs of a way.
function lab.row(part, way)
  local k = lab.kernel(part, way, part.size)
  local f = k.schedule:build {threads = 1}
  local args = lab.arrays(k.schedule, part.size)
  args[#args + 1] = {reps = 20, min_seconds = 0.01}
  return {name = way[1], bytes = f.code_bytes, predicted = k.schedule:cost().seconds, measured = f:time(table.unpack(args)).min,
    main = way.asks and "-" or lab.guards(k), all = nw.partition.conditions(k.schedule), schedule = k.schedule}
end

--- Returns the rows of a part as text.
function lab.table_of(rows)
  local lines = {("%-18s %7s %12s %12s %6s %6s"):format("way", "bytes", "predicted", "measured", "main", "all")}
  for n, r in ipairs(rows) do
    lines[n + 1] = ("%-18s %7d %9.4g us %9.4g us %6s %6d"):format(r.name, r.bytes, 1e6 * r.predicted, 1e6 * r.measured, r.main,
      r.all)
  end
  return table.concat(lines, "\n")
end

local PICTURE = 300 -- pixels; the width of each of the grids side by side

local function time_of(seconds)
  if seconds < 1e-7 then return ("%.4g ns"):format(1e9 * seconds) end
  return ("%.4g us"):format(1e6 * seconds)
end

local function costs_of(bytes, predicted, measured)
  return ("%d bytes of code\npredicted %s\nmeasured %s"):format(bytes, time_of(predicted), time_of(measured))
end

local function figures_of(r)
  local main = r.main == "-" and "no main piece" or ("%d in the main piece"):format(r.main)
  return ("%s\nconditions left: %s, %d in all"):format(costs_of(r.bytes, r.predicted, r.measured), main, r.all)
end

--- Returns the ways of a part side by side, with pieces (at the size that is shown), figures and loops. Also returns the rows.
function lab.compare(part)
  local rows, columns = {}, {}
  for n, way in ipairs(part.ways) do
    rows[n] = lab.row(part, way)
    columns[n] = {way[1], lab.picture(part, way, PICTURE), figures_of(rows[n]), rows[n].schedule}
  end
  return nw.beside(columns, {most = 2}), rows
end

--- Returns the strategies for the batch at one size, side by side, with pieces and loops. Leaves out refused strategies.
function lab.compare_batch(n)
  local columns = {}
  for _, name in ipairs {"guard", "cut", "halves", "shift"} do
    local s = batch(n)
    local list = s:partition_auto {loop = "i", kernels = batch_kernels(), cost = "model", strategies = {name}, measure = true}
    if not list[1].refused then
      list:take(1)
      local figures = costs_of(list[1].code_bytes, list[1].expected, list[1].seconds)
      local pieces = nw.pieces(s, {axes = {"i", "j"}, title = ("batch of %d: %s"):format(n, name), width = PICTURE})
      columns[#columns + 1] = {name, pieces, figures, s}
    end
  end
  return nw.beside(columns, {most = 2})
end

local function show_part(part, folder)
  print(("\n== %s, %d\n%s\n"):format(part.name, part.size, part.why))
  local rows = {}
  for n, way in ipairs(part.ways) do
    rows[n] = lab.row(part, way)
    print(("-- %s\n%s"):format(way[1], rows[n].schedule))
    local plot = lab.picture(part, way)
    print(plot.caption .. "\n")
    if folder then plot:save(("%s/%s-%d.svg"):format(folder, part.name, n)) end
  end
  print(lab.table_of(rows))
end

local function show_batch()
  print "\n== batch, 1 to 512\nOne kernel serves all sizes. The best strategy differs from size to size.\n"
  local list, s = lab.strategies {measure = true}
  print(list)
  local d = list:dispatch()
  for _, range in ipairs(d.ranges) do
    print(("%s: %s"):format(range.below and "N < " .. range.below or "otherwise", range.row.strategy))
  end
  local f = s:build {threads = 1, versions = d.versions}
  print(("one kernel with all of these: %d versions, %d bytes"):format(#d.versions, f.code_bytes))
end

--- Creates a folder unless it exists.
function lab.make_folder(path)
  os.execute("mkdir -p -- '" .. path:gsub("'", "'\\''") .. "'")
end

function lab.run(folder)
  if folder then lab.make_folder(folder) end
  for _, part in ipairs(lab.parts) do show_part(part, folder) end
  show_batch()
end

if (...) ~= "partition" then lab.run((...)) end

return lab
