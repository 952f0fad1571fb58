--- What tables of partitions say beside their figures: steps that nobody judged, and code that the cost model does not see.
local core = require "nestwright.core"

local marks = {}

--- Adds those of a schedule, as it is, to a row: unsafe (steps were not judged), intrinsics (a tile is code of its own, which the
--- cost model prices as the loops that it stands for).
function marks.add(row, s)
  row.unsafe = row.unsafe or core.is_unsafe(s) or nil
  for _, node in ipairs(core.outline(s)) do row.intrinsics = row.intrinsics or node.kind == "call" or nil end
end

return marks
