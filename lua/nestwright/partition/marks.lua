--- Marks rows in tables of partitions if steps were not judged, or if there is code that the cost model does not see.
local core = require "nestwright.core"

local marks = {}

--- Adds the marks of the current version of a schedule to a row: unsafe (some steps were not judged) and intrinsics (a tile is
--- external code, which the cost model prices as the loops that it replaces).
function marks.add(row, s)
  row.unsafe = row.unsafe or core.is_unsafe(s) or nil
  for _, node in ipairs(core.outline(s)) do row.intrinsics = row.intrinsics or node.kind == "call" or nil end
end

return marks
