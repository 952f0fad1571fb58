--- The table of slips that Lua cannot read, in the order in which they are tried.
local expressions = require "nestwright.slips.expressions"
local statements = require "nestwright.slips.statements"

local rows = {}
for _, list in ipairs {statements, expressions} do table.move(list, 1, #list, #rows + 1, rows) end
return rows
