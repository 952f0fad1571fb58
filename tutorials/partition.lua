--- A lab with six examples, called parts: loops that no tile divides, or that need a guard in some iterations. Each is partitioned
--- in several ways, which are shown side by side.
---
---   nestwright tutorials/partition.lua [folder]        pictures of the pieces go into the folder, which is created
---
--- A way is a list of ordinary steps, each proven to be legal before it is made. All ways of a part get the same marks: the same
--- axis is vectorized with the same number of lanes, and the rows of a tile are unrolled, in every piece. So two ways differ only
--- in how they partition. If a mark is refused for a piece, the lab prints the reason. The row of a way gives the bytes of machine
--- code, the time that the cost model predicts (an estimate), the measured time (one thread, the median; all ways of a part
--- are measured in turn), and the conditions that are left in the main piece and in the whole program. Other programs require this
--- file: lab.kernels() returns every way as a schedule.
local nw = require "nestwright"

local lab = {}

local LANES = 16 -- of f32; machines with narrower vectors split them
local ROWS = 8   -- of a tile whose sums stay in registers

-- ---- the marks, which are the same for all ways

local refused = setmetatable({}, {__mode = "k"}) -- by schedule: what was refused when it was marked, with the reasons

-- Makes a step that prepares or sets a mark. A refusal is kept with its reason, so that the lab can show it.
local function mark(s, what, ...)
  local ok, problem = pcall(s[what], s, ...)
  if ok then return true end
  if not problem.refusal then error(problem, 0) end
  refused[s][#refused[s] + 1] = problem.message
  return false
end

-- Moves the innermost loop over an axis to a place in the nest of a stage, counted from the inside. Returns the loop, or nil if
-- this was refused.
local function moved(s, stage, axis, place)
  local loops = stage:loops()
  local at, to = #loops, #loops + 1 - place
  while loops[at].name:match "([^/]*)$":match "^%a+" ~= axis do at = at - 1 end -- i for i.tail, and j for i.tail/j_o
  local inner = table.move(loops, at + 1, to, 1, {})
  inner[#inner + 1] = loops[at]
  return (#inner == 1 or mark(s, "reorder", table.unpack(inner))) and loops[at]
end

-- Marks all pieces of all stages: the innermost loop over the axis `lanes` becomes the lanes of vectors and, in tiles, the loop
-- over the axis `rows` is unrolled around it. A guard around lanes becomes a mask.
local function mark_pieces(s, lanes, rows)
  refused[s] = {}
  for _, stage in ipairs(s:stages()) do
    local loop = moved(s, stage, lanes, 1)
    if loop then mark(s, "vectorize", loop) end
    loop = rows and not stage.name:find "_init$" and moved(s, stage, rows, 2)
    if loop then mark(s, "unroll", loop) end
  end
end

-- Gives the init of a sum a nest of its own, whose innermost loop is split into vectors.
local function init_apart(s, stage, loop, lanes)
  s:decompose_reduction(stage, loop)
  s:split(lanes .. "_init", {factor = LANES, tail = "cut"})
end

-- ---- (1) a vector of 17, in tiles of 4

local function vector(n)
  local A = nw.placeholder({n}, "f32", "A")
  return nw.schedule(nw.compute({n}, function(i) return A(i) * 2 + 1 end, "C"))
end

local function tiles_of_four(tail)
  return function(s)
    s:split("i", 4, {tail = tail})
    mark_pieces(s, "i")
  end
end

-- Lowering makes a separate loop of the tiles that need no guard. Here it must not, so that every tile tests its guard.
local function ask_each_round(s)
  s:pragma(s:split("i", 4), "partition", "never")
  mark_pieces(s, "i")
end

local vectors = {
  {"guard", ask_each_round, asks = true},
  {"cut", tiles_of_four "cut", main = "i_o"},
  {"shift", tiles_of_four "shift", main = "i_o", least = 4},
  {"masks", tiles_of_four "guard", main = "i_o"},
}

-- ---- (2) a product of matrices, 127 by 127 by 127: both loops have a tail

local function product(n)
  local A, B = nw.placeholder({n, n}, "f32", "A"), nw.placeholder({n, n}, "f32", "B")
  local k = nw.reduce_axis(n, "k")
  return nw.schedule(nw.compute({n, n}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C"))
end

-- Tiles all pieces of the rows by columns. The loop over the columns is first moved to the outside, so that each of its pieces is
-- a perfect nest.
local function in_registers(rows, columns)
  return function(s)
    local _, _, rest = s:split("i", {factor = ROWS, tail = rows})
    s:reorder("j", "i_o", "i_i")
    s:split("j", {factor = LANES, tail = columns})
    if rest then
      s:reorder("i.tail/j", rest)
      s:split("i.tail/j", {factor = LANES, tail = columns})
    end
    mark_pieces(s, "j", "i")
  end
end

local products = {
  {"guard", in_registers("guard", "guard"), main = "i_o"},
  {"cut", in_registers("cut", "cut"), main = "j_o"},
  {"shift", in_registers("shift", "shift"), main = "j_o", least = LANES},
  {"masks", in_registers("cut", "guard"), main = "j_o"},
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

-- What a way does to a loop over a sum.
local function unchanged() end
local function trim(s, loop) s:trim(loop) end
local function partition(s, loop) s:partition(loop) end

-- Splits the loop over x into vectors and puts the loop over r around them. Then changes the loop over r of each piece.
local function vectors_of_x(change)
  return function(s)
    init_apart(s, "Y", "x", "x")
    s:split("x", {factor = LANES, tail = "cut"})
    s:reorder("x_o", "r", "x_i")
    s:reorder("x.tail/r", "x.tail")
    for _, loop in ipairs {"r", "x.tail/r"} do change(s, loop) end
    mark_pieces(s, "x")
  end
end

-- With r - x in place of r, all x between the edges have the same iterations of r, so no lane of a vector needs a condition.
local function skew_and_trim(s, n)
  init_apart(s, "Y", "x", "x")
  s:skew("r", "x", -1)
  s:trim "r"
  local _, main = s:partition("x", {at = {TAPS - 1, n}})
  s:split(main, {factor = LANES, tail = "cut"})
  mark_pieces(s, "x")
end

local convolutions = {
  {"guard", vectors_of_x(unchanged), asks = true},
  {"partition", vectors_of_x(partition), asks = true},
  {"trim", vectors_of_x(trim), asks = true},
  {"skew and trim", skew_and_trim, main = "x.main_o", least = TAPS + LANES},
}

-- ---- (4) a concatenation: two branches over one index

local function joined(n)
  local A, B = nw.placeholder({n, 17}, "f32", "A"), nw.placeholder({n, 23}, "f32", "B")
  return nw.schedule(nw.compute({n, 40}, function(i, j)
    return nw.select(nw.lt(j, 17), A(i, j), B(i, j - 17)) * 2
  end, "Y"))
end

local function ask_of_every_element(s)
  s:split("j", 8)
  mark_pieces(s, "j")
end

local function branches_apart(tail)
  return function(s)
    local _, first, second = s:partition "j"
    for _, piece in ipairs {first, second} do s:split(piece, {factor = 8, tail = tail}) end
    mark_pieces(s, "j")
  end
end

local concatenations = {
  {"guard", ask_of_every_element, asks = true},
  {"partition, cut", branches_apart "cut", main = "j.main_o"},
  {"partition, shift", branches_apart "shift", main = "j.main_o"},
  {"partition, masks", branches_apart "guard", main = "j.main_o"},
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

local function rows_apart(change)
  return function(s)
    init_apart(s, "C", "i", "j")
    change(s, "k")
    s:split("j", LANES)
    mark_pieces(s, "j")
  end
end

-- Tiles the triangle, and removes the tiles above the diagonal, which add nothing. Then changes the loop over the tiles of a row.
local function tiles(change)
  return function(s)
    init_apart(s, "C", "i", "j")
    s:split("j", LANES)
    local _, _, rest = s:split("i", {factor = ROWS, tail = "cut"})
    s:split("k", ROWS)
    s:reorder("i_o", "k_o", "j_o", "k_i", "i_i", "j_i")
    if rest then s:reorder("i.tail/j_o", "i.tail/k", rest, "i.tail/j_i") end
    s:trim "k_o"
    change(s, "k_o")
    mark_pieces(s, "j", "i")
  end
end

local triangles = {
  {"guard", rows_apart(unchanged), main = "i"}, -- lowering shortens the loop over k by itself
  {"trim", rows_apart(trim), main = "i"},
  {"guarded tiles", tiles(unchanged), asks = true},
  {"full tiles", tiles(partition), main = "k_o.main"},
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
    axes = {"x", "r"},
    why = "At most 16 iterations of each sum are inside. The ways differ in which of the other iterations they run."},
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
    least = way.least or 0, part = part, refused = refused[s]}
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

--- Returns a row for each way of a part. The ways are measured in turn on the same inputs, so other work disturbs all of them
--- equally. compared says how each compares with the first way. steps is the way as text, and refused lists the marks that were
--- refused.
function lab.rows(part)
  local rows, list = {}, {}
  for n, way in ipairs(part.ways) do
    local k = lab.kernel(part, way, part.size)
    local f = k.schedule:build {threads = 1}
    list[n] = {way[1], f}
    rows[n] = {name = way[1], bytes = f.code_bytes, predicted = k.schedule:cost().seconds,
      main = way.asks and "-" or lab.guards(k), all = nw.partition.conditions(k.schedule), schedule = k.schedule,
      steps = k.schedule:trace(), refused = k.refused}
  end
  list.args = lab.arrays(rows[1].schedule, part.size)
  for n, t in ipairs(nw.compare(list)) do rows[n].measured, rows[n].compared = t.median, t.verdict end
  return rows
end

local function time_of(seconds)
  if seconds < 1e-7 then return ("%.4g ns"):format(1e9 * seconds) end
  return ("%.4g us"):format(1e6 * seconds)
end

--- Returns the rows of a part as text.
function lab.table_of(rows)
  local lines = {("%-18s %6s %10s %10s %6s %6s   %s"):format("way", "bytes", "predicted", "measured", "main", "all", "compared")}
  for n, r in ipairs(rows) do
    lines[n + 1] = ("%-18s %6d %10s %10s %6s %6d   %s"):format(r.name, r.bytes, time_of(r.predicted), time_of(r.measured), r.main,
      r.all, r.compared)
  end
  for _, r in ipairs(rows) do
    for _, why in ipairs(r.refused) do lines[#lines + 1] = ("not marked in %s: %s"):format(r.name, why) end
  end
  return table.concat(lines, "\n")
end

local PICTURE = 300 -- pixels; the width of each of the grids side by side

local function costs_of(bytes, predicted, measured)
  return ("%d bytes of code\npredicted %s\nmeasured %s"):format(bytes, time_of(predicted), time_of(measured))
end

local function figures_of(r)
  local main = r.main == "-" and "no main piece" or ("%d in the main piece"):format(r.main)
  return ("%s\nconditions left: %s, %d in all"):format(costs_of(r.bytes, r.predicted, r.measured), main, r.all)
end

--- Returns the ways of a part side by side, with pieces (at the size that is shown), figures, steps and loops. Also returns the
--- rows.
function lab.compare(part)
  local rows, columns = lab.rows(part), {}
  for n, way in ipairs(part.ways) do
    columns[n] = {way[1], lab.picture(part, way, PICTURE), figures_of(rows[n]), rows[n].steps, rows[n].schedule}
  end
  return nw.beside(columns, {most = 2}), rows
end

lab.batch_strategies = {"guard", "cut", "halves", "shift"}

--- Returns the row of a strategy for the batch at one size, and the schedule that it made. Returns nil if it is refused.
function lab.batch(n, strategy)
  local s = batch(n)
  local list = s:partition_auto {loop = "i", kernels = batch_kernels(), cost = "model", strategies = {strategy}}
  if list[1].refused then return nil end
  list:take(1)
  return list[1], s
end

--- Returns the strategies for the batch at one size, side by side, with pieces, steps and loops. They are measured in turn. Leaves
--- out refused strategies.
function lab.compare_batch(n)
  local rows, kernels = {}, {}
  for _, name in ipairs(lab.batch_strategies) do
    local row, s = lab.batch(n, name)
    if row then
      rows[#rows + 1], kernels[#kernels + 1] = {row = row, schedule = s}, {name, s:build {threads = 1}}
    end
  end
  local columns = {}
  for at, t in ipairs(nw.compare(kernels)) do
    local row, s = rows[at].row, rows[at].schedule
    local pieces = nw.pieces(s, {axes = {"i", "j"}, title = ("batch of %d: %s"):format(n, row.strategy), width = PICTURE})
    columns[at] = {row.strategy, pieces, costs_of(row.code_bytes, row.expected, t.median), s:trace(), s}
  end
  return nw.beside(columns, {most = 2})
end

local function show_part(part, folder)
  print(("\n== %s, %d\n%s\n"):format(part.name, part.size, part.why))
  local rows = lab.rows(part)
  for n, way in ipairs(part.ways) do
    print(("-- %s\n%s\n%s"):format(way[1], rows[n].steps, rows[n].schedule))
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
