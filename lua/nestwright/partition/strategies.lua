--- Applies strategies of loop partitioning to loops whose extent is not a multiple of the size of a tile. A strategy takes ordinary
--- steps of the schedule, which are checked, shown and undone like all others. These steps divide the loop into pieces. Each piece
--- is tiled by a kernel. A kernel has the field `rows`, the number of iterations of a tile, and a function that schedules a piece.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local padded = require "nestwright.partition.padded"
local pieces = require "nestwright.partition.pieces"
local plans = later "nestwright.partition.plans"
local returning = require "nestwright.language.returning"
local target = require "nestwright.language.target"

local strategies = {}

--- True if the target of a schedule is a GPU.
function strategies.on_gpu(s) return target.machine(core.schedule_target(s)).kind == "gpu" end

-- ---- tiles

-- Calls a user's function. Adds `what` to the text of errors that the function itself raises, but not to errors of the library.
local function naming(what, f, ...)
  local ok, problem = pcall(f, ...)
  if ok then return end
  if type(problem) ~= "string" then error(problem, 0) end
  error(("%s: %s"):format(what, problem), 0)
end

-- Adds the piece that has these loops, and schedules the piece by its kernel.
local function settle(x, outer, inner, entry)
  entry.stage = pieces.stage_around(x.schedule, inner)
  x.pieces[#x.pieces + 1] = entry
  if not entry.stage then return end -- facts about a size prove that the piece has no iterations
  local p = pieces.new {schedule = x.schedule, outer = outer, inner = inner, kernel = entry.kernel, stage = entry.stage}
  local schedule = x.shared and entry.kernel.inside or entry.kernel.schedule
  naming(("the kernel of %d rows (%s)"):format(entry.kernel.rows, strategies.name_of(entry.kernel)), schedule, x.schedule, p)
end

-- Tiles a loop by a kernel. Returns the loop over the remainder, or nil if there is none, and the loop over the tiles. With tail =
-- "cut", a loop of constant extent that is shorter than a tile is not tiled, but returned as the remainder.
local function tile(x, loop, kernel, tail)
  local n = math.tointeger(loop.extent)
  if n and n < kernel.rows and tail == "cut" then return loop end
  local rounds = loop.extent
  local outer, inner, rest = x.schedule:split(loop, kernel.rows, {tail = tail})
  settle(x, outer, inner, {kernel = kernel, rounds = rounds, tail = tail, inner = inner})
  return rest, outer
end

local function largest_up_to(kernels, rows)
  for _, k in ipairs(kernels) do if k.rows <= rows then return k end end
end

local function largest(kernels) return kernels[1] end

local function own_or_largest(kernels)
  for _, k in ipairs(kernels) do if not k.whole then return k end end
  return kernels[1]
end

-- Returns the first kernel that also handles partial tiles.
local function partial(kernels)
  local k = own_or_largest(kernels)
  return not k.whole and k or errors.fail("refused", "add a kernel without whole = true",
    "partition: all kernels handle whole tiles only")
end

-- Splits a loop at iteration n, counted from its start; returns both parts.
local function cut(x, loop, n)
  return x.schedule:cut(loop, ("%s + (%s)"):format(loop.begin, n))
end

-- Tiles a loop with a known number of iterations. list: tiles {kernel, count} whose rows add up to this number.
local function lay(x, loop, list)
  for n, part in ipairs(list) do
    local here, rest = loop, nil
    if n < #list then here, rest = cut(x, loop, part.kernel.rows * part.count) end
    tile(x, here, part.kernel, "cut")
    loop = rest
  end
end

-- Tiles a tail that has fewer iterations than the rows of the largest kernel. Uses the largest kernel that fits, then the largest
-- kernel with at most half its rows, and so on.
local function halve(x, loop, kernels, most)
  local k = largest_up_to(kernels, most)
  while loop and k do
    loop = tile(x, loop, k, "cut")
    k = largest_up_to(kernels, math.min(k.rows - 1, (k.rows + 1) // 2))
  end
end

-- ---- pieces and threads

-- Fuses the loops into one parallel loop, in which a free thread runs the next iteration. The iterations of the main piece take
-- longest and come first.
local function fuse(s, loops)
  local all = #loops > 1 and s:create_fused_loop(table.unpack(loops)) or loops[1]
  s:parallel(all)
  if #loops > 1 then s:pragma(all, "schedule", "dynamic") end
  return {all}
end

local function mark_each(s, loops)
  for _, loop in ipairs(loops) do s:parallel(loop) end
  return loops
end

-- Raises an error if a kernel has bound the loop over its tiles.
local function check_unbound(s, loops)
  local marks = {}
  for _, row in ipairs(core.outline(s)) do marks[row.name or ""] = row.mark end
  for _, loop in ipairs(loops) do
    local mark = marks[loop.name] or ""
    if mark:find "Idx" then
      errors.fail("refused", "leave the outermost loop of a kernel unbound: with the option across, partition_auto binds it "
        .. "to blockIdx.x", "partition: across: %s is already bound to %s", loop.name, mark)
    end
  end
end

-- Makes one grid of the loops: each block runs an iteration of one piece.
local function fuse_grids(s, loops)
  check_unbound(s, loops)
  local all = #loops > 1 and s:create_fused_loop(table.unpack(loops)) or loops[1]
  s:bind(all, "blockIdx.x")
  return {all}
end

-- Makes a grid, and so a launch, of each loop.
local function bind_each(s, loops)
  check_unbound(s, loops)
  for _, loop in ipairs(loops) do s:bind(loop, "blockIdx.x") end
  return loops
end

local HOWS = {cpu = {fused = fuse, apart = mark_each}, gpu = {fused = fuse_grids, apart = bind_each}}

--- Makes the loops of consecutive pieces parallel, on a GPU over blocks: each loop separately, or all of them fused into one loop.
--- Returns the parallel loops. If a step is refused, the schedule does not change.
function strategies.share_out(s, loops, how)
  return returning.on_error(s, HOWS[strategies.on_gpu(s) and "gpu" or "cpu"][how], s, loops)
end

-- Returns the outermost loops of all nests from the first piece to the last, in order, without repetitions. Nests between the
-- pieces, for remaining iterations, are included.
local function roots_of(x)
  local out, seen, last = {}, {}, 0
  for _, stage in ipairs(x.schedule:stages()) do
    local loops = stage:loops()
    local has = false
    for _, p in ipairs(x.pieces) do has = has or p.stage == stage.name end
    if (has or #out > 0) and not seen[loops[1].name] then out[#out + 1], seen[loops[1].name] = loops[1], true end
    if has then last = #out end
  end
  return table.move(out, 1, last, 1, {})
end

local function into_threads(x)
  local roots = x.across and roots_of(x) or {}
  if #roots > 0 then strategies.share_out(x.schedule, roots, x.across) end
end

-- ---- versions

-- Starts an empty list of pieces. If the pieces share inputs, makes the loops of `around`, inside which the pieces will be.
local function begin(x, shared)
  x.pieces, x.shared = {}, shared and x.around ~= nil
  if x.shared then naming("around", x.around, x.schedule) end
end

local function close(x, facts)
  into_threads(x)
  x.cases[#x.cases + 1] = {version = x.schedule:version(), facts = facts, pieces = x.pieces, shared = x.shared}
  if x.tell then x.tell(#x.cases) end
end

-- Adds facts to the schedule and returns true. Returns false if the facts contradict the known facts about sizes.
local function assume(s, facts)
  for _, fact in ipairs(facts) do
    local ok, problem = pcall(s.assume, s, fact)
    if not ok and errors.is_error(problem) and problem.code == "refused" then return false end
    if not ok then error(problem, 0) end
  end
  return true
end

-- Adds a version of the schedule for sizes for which the facts hold, with the steps of f. If the facts can never hold, adds no
-- version. A call of the built function runs the first version whose facts hold.
local function version(x, facts, shared, f)
  local s = x.schedule
  s:checkout(x.base)
  if not assume(s, facts) then return end
  begin(x, shared)
  f(s:loop(x.name))
  close(x, facts)
end

-- ---- the rows

-- Returns a strategy with one version for all sizes.
local function single(shared, f)
  return function(x, kernels, extent)
    begin(x, shared)
    f(x, x.schedule:loop(x.name), kernels, extent)
    close(x, {})
  end
end

local function with_tail(tail, choose)
  return function(x, loop, kernels) tile(x, loop, choose(kernels), tail) end
end

local function plain_tail(tail, choose) return single(false, with_tail(tail, choose)) end

-- Returns a strategy that computes only whole tiles (padded.lua).
local function whole_tiles(tail, choose, copied)
  return function(x, loop, kernels)
    if strategies.on_gpu(x.schedule) then
      errors.fail("refused", nil, "partition: %s needs copies in global memory, whose loops it does not bind to a grid", tail)
    end
    local s, k, rounds = x.schedule, choose(kernels), loop.extent
    local outer, inner, name = padded.tile(s, loop, k.rows, copied)
    settle(x, outer, inner, {kernel = k, rounds = rounds, tail = tail, inner = inner})
    if pieces.stage_around(s, inner) then padded.copy_out(s, name, outer, not copied) end
  end
end

-- Returns a strategy that tries the first of two alternatives, and the second if the first is refused.
local function either(first, second)
  return single(false, function(x, loop, kernels)
    local s, was = x.schedule, x.schedule:version()
    local ok, problem = pcall(first, x, loop, kernels)
    if ok then return end
    if not errors.is_error(problem) or problem.code ~= "refused" then error(problem, 0) end
    s:checkout(was)
    x.pieces = {}
    second(x, s:loop(x.name), kernels)
  end)
end

local pad = either(with_tail("pad", largest), whole_tiles("pad", largest, true))
local predicate = either(with_tail("predicate", partial), whole_tiles("predicate", own_or_largest, false))

local cut_once = single(true, function(x, loop, kernels)
  local rest = tile(x, loop, kernels[1], "cut")
  if rest then tile(x, rest, largest_up_to(kernels, kernels[#kernels].rows), "cut") end
end)

local cut_in_halves = single(true, function(x, loop, kernels) halve(x, loop, kernels, kernels[1].rows) end)

-- Adds a version without facts, after all versions with facts.
local function otherwise(x, kernels)
  version(x, {}, true, function(loop) halve(x, loop, kernels, kernels[1].rows) end)
end

local function tiles_and_rest(x, loop, main, list)
  local rest = tile(x, loop, main, "cut")
  if rest and #list > 0 then lay(x, rest, list) end
end

local function by_residue(x, kernels, extent)
  local times, main = plans.times(kernels), kernels[1]
  for residue = 0, main.rows - 1 do
    version(x, {("%s %% %d == %d"):format(extent, main.rows, residue)}, residue > 0, function(loop)
      tiles_and_rest(x, loop, main, plans.exact(times, residue))
    end)
  end
  otherwise(x, kernels)
end

-- Implements the strategy `residues` for a known number of iterations.
local by_known_residue = single(true, function(x, loop, kernels, extent)
  local main = kernels[1]
  tiles_and_rest(x, loop, main, plans.exact(plans.times(kernels), math.tointeger(extent) % main.rows))
end)

local function shifted(x, kernels, extent)
  local main = kernels[1]
  version(x, {("%s >= %d"):format(extent, main.rows)}, false, function(loop) tile(x, loop, main, "shift") end)
  otherwise(x, kernels)
end

-- Tiles a loop by the main kernel, except for the last `rest` iterations, which the tiles of `list` cover.
local function tiles_and(x, loop, main, rest, list)
  local head, tail = loop, nil
  if rest > 0 then head, tail = cut(x, loop, ("%s - %d"):format(loop.extent, rest)) end
  tile(x, head, main, "cut")
  if tail then lay(x, tail, list) end
end

-- Adds a version for each small number of iterations. For larger numbers, adds a version for each residue modulo the rows of the
-- main kernel. The iterations without a main tile are covered by the tiles that take the least time.
local function by_sizes(x, kernels, extent)
  local times = plans.times(kernels)
  local plan = plans.periodic(times)
  for n = 1, plan.from - 1 do
    local list = plans.exact(times, n)
    version(x, {("%s == %d"):format(extent, n)}, list.shared, function(loop) lay(x, loop, list) end)
  end
  for residue = 0, plan.main.rows - 1 do
    local facts = {("%s >= %d"):format(extent, plan.from), ("%s %% %d == %d"):format(extent, plan.main.rows, residue)}
    version(x, facts, plan.shared[residue], function(loop)
      tiles_and(x, loop, plan.main, plan.rounds[residue], plan.rest[residue])
    end)
  end
  otherwise(x, kernels)
end

-- Covers a known number of iterations by the tiles that take the least time.
local function by_known_size(x, kernels, extent)
  local list = plans.exact(plans.times(kernels), math.tointeger(extent))
  version(x, {}, list.shared, function(loop) lay(x, loop, list) end)
end

strategies.rows = {
  {"guard", "every tile is guarded against iterations that do not exist", plain_tail("guard", partial)},
  {"cut", "tiles without conditions, followed by the smallest kernel for the remaining iterations", cut_once},
  {"halves", "tiles without conditions, followed by tiles of half the size, a quarter and so on", cut_in_halves},
  {"residues", "tiles without conditions, and one version for each number of remaining iterations", by_residue,
    known = by_known_residue},
  {"sizes", "one version for each number of remaining iterations, with the tiles that run them in the least measured time; "
    .. "these tiles may also replace the last full tiles", by_sizes, known = by_known_size},
  {"shift", "the last tile begins earlier and repeats some iterations", shifted, known = plain_tail("shift", largest)},
  {"pad", "the last tile goes beyond the end, in a temporary; it reads copies of the last row there", pad},
  {"predicate", "the last vector runs under a mask; in a tile of rows, the last row is read again for each missing row, and "
    .. "only rows that exist are stored", predicate},
}

local by_name = {}
for _, row in ipairs(strategies.rows) do
  row.known = row.known or row[3]
  by_name[row[1]] = row
end

-- ---- kernels

local MOST_ROWS = 4096

local FIELDS = {
  {"rows", "number", "the number of iterations of a tile"}, {"schedule", "function", "the function that schedules a piece"},
  {"inside", "function", "the function that schedules a piece inside of `around`", optional = true},
  {"name", "string", "the name of the kernel", optional = true},
  {"whole", "boolean", "true if the kernel handles whole tiles only", optional = true},
}

-- Returns a description of the first fault of a kernel, or nil.
local function fault_of(k)
  if type(k) ~= "table" then return "it is " .. core.type_name(k) end
  for _, f in ipairs(FIELDS) do
    local value = k[f[1]]
    if type(value) ~= f[2] and not (value == nil and f.optional) then
      return ("%s, %s, must be a %s, not %s"):format(f[1], f[3], f[2], core.type_name(value))
    end
  end
  local rows = math.tointeger(k.rows)
  if rows and rows >= 1 and rows <= MOST_ROWS then return nil end
  return ("rows must be a whole number in 1..%d, not %s"):format(MOST_ROWS, k.rows)
end

local function check_kernel(what, n, k)
  local fault = fault_of(k)
  if fault then
    errors.fail("invalid", "{rows = 8, schedule = function(s, piece) s:unroll(piece.inner) end}",
      "%s: kernels[%d] is not a kernel: %s", what, n, fault)
  end
  if k.name then errors.label(("%s: kernels[%d].name"):format(what, n), k.name) end
end

--- Returns the name of a kernel.
function strategies.name_of(k) return k.name or "own" end

local function is_quicker(a, b)
  local s, t = a.seconds and a.seconds.more or 0, b.seconds and b.seconds.more or 0
  if s ~= t then return s < t end
  return strategies.name_of(a) < strategies.name_of(b)
end

--- Sorts kernels by their number of rows, largest first. Kernels with the same number of rows are sorted by speed.
function strategies.sort(kernels)
  table.sort(kernels, function(a, b)
    if a.rows ~= b.rows then return a.rows > b.rows end
    return is_quicker(a, b)
  end)
  return kernels
end

--- Returns checked and sorted kernels. Kernels with the same number of rows need different names.
function strategies.kernels(what, list)
  local out, seen = {}, {}
  for n, k in ipairs(errors.expect(what .. ": kernels", list, "table")) do
    check_kernel(what, n, k)
    local key = k.rows .. strategies.name_of(k)
    if seen[key] then
      errors.fail("invalid", "give one of them a name", "%s: kernels[%d] and kernels[%d] both tile %d iterations", what, seen[key],
        n,
        k.rows)
    end
    seen[key] = n
    out[n] = k
  end
  if #out == 0 then errors.fail("invalid", nil, "%s: kernels is empty", what) end
  return strategies.sort(out)
end

--- Returns a loop, which may be given by its name.
function strategies.loop(what, s, loop)
  if debug.getmetatable(loop) == core.classes.loop then return loop end
  return s:loop(errors.expect(what .. ": loop", loop, "string"))
end

--- Returns the name of a loop of the lowered program, which need not be a loop of the schedule.
function strategies.loop_name(what, loop)
  if debug.getmetatable(loop) == core.classes.loop then return loop.name end
  return errors.expect(what .. ": loop", loop, "string")
end

function strategies.row(what, name)
  if by_name[name] then return by_name[name] end
  local names = {}
  for n, row in ipairs(strategies.rows) do names[n] = row[1] end
  errors.fail("invalid", nil, "%s: there is no strategy %s; there are %s", what, tostring(name), table.concat(names, ", "))
end

--- Tiles a loop by one kernel and leaves the remainder unchanged; returns the loop over the tiles.
function strategies.tile(s, loop, kernel, tail, shared)
  return select(2, tile({schedule = s, pieces = {}, shared = shared}, loop, kernel, tail))
end

--- Applies a strategy to a loop. Returns the cases {version, facts, pieces}. The first case whose facts hold must run, as in
--- s:build{versions}. A piece is {kernel, rounds, tail}. around(s), which may be nil, makes the loops inside which pieces share
--- inputs. across: how threads share the pieces, "fused" or "apart"; nil for one thread. tell(n) is called for each version that is
--- made. If a step is refused, the schedule does not change.
function strategies.apply(what, s, loop, name, kernels, around, across, tell)
  local row, extent = strategies.row(what, name), loop.extent
  local x = {schedule = s, base = s:version(), name = loop.name, around = around, across = across, tell = tell,
    cases = {}}
  local steps = math.tointeger(extent) and row.known or row[3]
  returning.on_error(s, naming, ("%s: %s"):format(what, name), steps, x, kernels, extent)
  return x.cases
end

function strategies.versions(cases)
  local out = {}
  for n, case in ipairs(cases) do out[n] = case.version end
  return out
end

-- ---- costs by the kernels' times

-- Returns the value of an expression over sizes, which is given as text, as printed in the loop nest.
local function value_of(text, given)
  local value = core.size_value(text, given)
  if value ~= nil then return value end
  errors.fail("range", nil, "the size %s cannot be computed from the given sizes", text)
end

local function holds(case, given)
  for _, fact in ipairs(case.facts) do if not value_of(fact, given) then return false end end
  return true
end

--- Returns the case that runs for these sizes.
function strategies.case_for(cases, given)
  for _, case in ipairs(cases) do if holds(case, given) then return case end end
end

-- Returns the number of full tiles of a piece, and whether there is a partial tile.
local function tiles_of(p, given)
  local rounds, rows = value_of(p.rounds, given), p.kernel.rows
  local full, part = rounds // rows, p.tail ~= "cut" and rounds % rows > 0
  if part and p.tail ~= "guard" then full, part = full + 1, false end
  return full, part
end

--- Returns the seconds of the pieces of the case for these sizes, from the measured times of their kernels.
function strategies.seconds(cases, given)
  local case, list, sum = strategies.case_for(cases, given), {}, 0
  for _, p in ipairs(case.pieces) do
    local full, part = tiles_of(p, given)
    local kernel = p.kernel.at and p.kernel.at(given) or p.kernel
    local own = kernel["seconds_" .. p.tail]
    if full > 0 and own then
      sum = sum + own.first + (full - 1) * own.more
    elseif full > 0 then
      list[#list + 1] = {kernel = kernel, count = full}
    end
    if part then sum = sum + kernel.seconds.guarded end
  end
  return sum + plans.seconds(list, case.shared)
end

return strategies
