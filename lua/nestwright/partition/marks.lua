--- What tables of partitions say beside their figures: steps that nobody judged, and code that the cost model does not see.
local core = require "nestwright.core"

local marks = {}

--- Adds those of a schedule, as it is, to a row: unsafe (steps were not judged), intrinsics (a tile is code of its own, which the
--- cost model prices as the loops that it stands for).
function marks.add(row, s)
  local text = core.schedule_trace(s)
  row.unsafe = row.unsafe or text:find("s:unsafe(", 1, true) ~= nil or nil
  row.intrinsics = row.intrinsics or text:find("s:tensorize(", 1, true) ~= nil or nil
end

return marks
