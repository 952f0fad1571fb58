--- Computes only whole tiles, even if the last tile goes beyond the end of an output. Tiles are computed in a larger temporary
--- buffer, from which the elements of the output are copied. Iterations beyond the end read the last row of the inputs again, and
--- their results are not used. So all tiles have the same code.
local errors = require "nestwright.language.errors"

local padded = {}

local LANES = 16
local MOST_COPIES = 8

-- Returns the stage that is computed in a loop.
local function stage_in(s, loop)
  for _, stage in ipairs(s:stages()) do
    for _, l in ipairs(stage:loops()) do if l.name == loop.name then return stage end end
  end
end

-- Returns the loop of a stage that corresponds to the loop `name` of another stage. It has the same name, or the same name followed
-- by a number.
local function like(s, stage, name)
  for _, loop in ipairs(s:loops(stage)) do
    if loop.name == name or loop.name:gsub("_%d+$", "") == name then return loop end
  end
  errors.fail("invalid", nil, "partition: no tile may go beyond the end of %s: this is not a loop of the computation itself",
    name)
end

-- Vectorizes the innermost loop of a copy, in parts of LANES elements if the loop is long or of unknown extent.
local function in_lanes(s, stage)
  local loops = s:loops(stage)
  local last = loops[#loops]
  local n = math.tointeger(last.extent)
  if not n or n > LANES then last = select(2, s:split(last, {factor = LANES, tail = "cut"})) end
  if not n or n > 1 then s:vectorize(last) end
end

-- Copies an input of a stage. The copy has the rows of a whole number of tiles. The rows after the end of the input are copies of
-- its last row.
local function copy_of(s, stage, tensor, extent, rows)
  local copy = s:cache_read(tensor, "global", {stage})
  for _, loop in ipairs(s:loops(copy)) do
    if loop.extent == extent then s:split(loop, rows, {tail = "pad"}) end
  end
  return copy
end

-- Splits a loop into whole tiles, after copying the inputs that the last tile reads beyond their end. Returns the loop over the
-- tiles, the loop inside of a tile, and the copies.
local function split(s, stage, loop, rows)
  local copies, made = {}, {}
  for _ = 0, MOST_COPIES do
    local ok, outer, inner = pcall(s.split, s, loop, rows, {tail = "pad"})
    if ok then return outer, inner, copies end
    local r = errors.is_error(outer) and outer.refusal
    if not r or r.kind ~= "bounds" or not r.tensor or made[r.tensor] then error(outer, 0) end
    copies[#copies + 1], made[r.tensor] = copy_of(s, stage, r.tensor, loop.extent, rows), true
  end
  errors.fail("limit", nil, "partition: %s reads more than %d tensors beyond the end", loop.name, MOST_COPIES)
end

--- Tiles a loop with whole tiles only. If `copied` is true, the inputs are copied to a padded buffer. Otherwise, they are read in
--- place, and a read beyond the last row reads the last row instead. Returns the loop over tiles, the loop inside of a tile, and
--- the name of the stage that copies the results out.
function padded.tile(s, loop, rows, copied)
  local out = stage_in(s, loop)
  local name = out.name
  local stage = s:cache_write(out, "global")
  local outer, inner, copies = split(s, stage, like(s, stage, loop.name), rows)
  for _, copy in ipairs(copies) do
    if copied then in_lanes(s, copy) else s:compute_inline(copy) end
  end
  return outer, inner, name
end

--- Copies the elements of the output out of the temporary buffer. If `near` is true, each tile is copied after it is computed, if
--- possible. Otherwise, all elements are copied at the end.
function padded.copy_out(s, name, outer, near)
  local ok, problem = true, nil
  if near then ok, problem = pcall(s.reverse_compute_at, s, name, outer) end
  if not ok and not (errors.is_error(problem) and problem.code == "refused") then error(problem, 0) end
  in_lanes(s, name)
end

return padded
