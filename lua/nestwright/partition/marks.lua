--- Marks rows in tables of partitions if the legality of some steps was not checked, or if the cost model does not cover some of
--- the code.
local core = require "nestwright.core"

local marks = {}

--- Adds the marks of the current version of a schedule to a row: unsafe (the legality of some steps was not checked), tested (the
--- number of values on which a rewrite was tested, if it was not proved) and intrinsics (a tile is external code, for which the
--- cost model uses the cost of the loops that it replaces).
function marks.add(row, s)
  row.unsafe = row.unsafe or core.is_unsafe(s) or nil
  row.tested = row.tested or core.tested(s)
  for _, node in ipairs(core.outline(s)) do row.intrinsics = row.intrinsics or node.kind == "call" or nil end
end

return marks
