--- Defines the colours of the outcomes of accesses, for all pictures. A worse outcome is darker, also if it is printed in grey.
--- Outcomes also differ in their shapes or hatches.
local outcomes = {}

outcomes.colour = {hit = "#84B6DE", cold = "#4FAE73", capacity = "#B85A00", conflict = "#701200"}

outcomes.READ = "#B3D4EC" -- a hit that reads, in pictures in which colour also distinguishes reads from writes

--- The kinds of misses, in the order in which they are listed.
outcomes.MISSES = {"cold", "capacity", "conflict"}

local FOUND, MEMORY = {"#9CCDEB", "#2E86C1", "#C7580A", "#8F2D00"}, "#4A0D00"

--- Returns the colour of an access whose data was found in cache level n. levels: the number of cache levels; if n is larger, the
--- data was found in memory.
function outcomes.found(n, levels) return n > levels and MEMORY or FOUND[math.min(n, #FOUND)] end

return outcomes
