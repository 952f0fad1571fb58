--- A piece of a loop that a strategy has divided. The function of a kernel that schedules a piece gets this object.
local errors = require "nestwright.language.errors"
local rows = require "nestwright.language.rows"

local pieces = {}

local methods = {}
local meta = {__name = "nestwright.piece", __index = methods}

-- The loops of a piece exist only in the version in which they were made.
function meta.__tostring(p)
  local current, text = pcall(function()
    return ("piece: %s iterations of %d (%s, %s)"):format(p.outer.extent, p.kernel.rows, p.outer.name, p.inner.name)
  end)
  return current and text or ("piece: tiles of %d iterations, in another version"):format(p.kernel.rows)
end

--- True if a list of loops contains this loop.
function pieces.stands_around(loops, loop)
  for _, l in ipairs(loops) do if l.name == loop.name then return true end end
  return false
end

--- Returns the name of the stage whose nest contains a loop; nil if the loop is gone.
function pieces.stage_around(s, loop)
  for _, stage in ipairs(s:stages()) do
    if pieces.stands_around(stage:loops(), loop) then return stage.name end
  end
end

--- Makes a piece of its fields: schedule, outer and inner (its loops), kernel, stage (the name of its stage).
function pieces.new(fields) return setmetatable(fields, meta) end

-- Returns the name that a loop had before a cut copied the loop, such as jo for i.tail/jo.
local function plain(name) return name:match "[^/]*$" end

-- Returns the loop of a list with this name, or with this name and a number. (The names of loops of copied computations have
-- numbers.)
local function called(loops, name)
  for _, loop in ipairs(loops) do if plain(loop.name) == name then return loop end end
  for _, loop in ipairs(loops) do if plain(loop.name):gsub("_%d+$", "") == name then return loop end end
end

local define = rows.definer(methods, "piece", "partitioning")

define("loops", "(self: nw.piece): nw.loop[]", "The loops of the nest that contains this piece, outermost first.",
  function(piece) return piece.schedule:loops(piece.stage) end)

define("loop", "(self: nw.piece, name: string): nw.loop", "The loop of this piece that has this name in the original nest.",
  function(piece, name)
    local loop = called(piece:loops(), name)
    if loop then return loop end
    errors.fail("invalid", nil, "partition: there is no loop %s around %s", name, piece.inner.name)
  end)

rows.field("piece", "partitioning", "outer", "nw.loop", "The loop over the tiles of the piece.")
rows.field("piece", "partitioning", "inner", "nw.loop", "The loop over the iterations of a tile.")
rows.field("piece", "partitioning", "stage", "string", "The name of the stage of the piece. Steps that make copies for one piece "
  .. "need it: s:cache_read(A, \"shared\", {piece.stage}).")
rows.field("piece", "partitioning", "schedule", "nw.schedule", "The schedule that contains the piece.")
rows.field("piece", "partitioning", "kernel", "table", "The kernel that tiles the piece.")

return pieces
