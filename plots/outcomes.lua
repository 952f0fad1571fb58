--- The colours of the outcomes of accesses, which are the same in all pictures. A worse outcome is darker, also in grey. Shapes or
--- hatches distinguish outcomes as well.
local outcomes = {}

outcomes.colour = {hit = "#84B6DE", cold = "#4FAE73", capacity = "#B85A00", conflict = "#701200"}

outcomes.READ = "#B3D4EC" -- a hit that reads, in pictures in which colour also distinguishes reads from writes

--- The kinds of misses, in the order in which they are listed.
outcomes.MISSES = {"cold", "capacity", "conflict"}

local FOUND, MEMORY = {"#9CCDEB", "#2E86C1", "#C7580A", "#8F2D00"}, "#4A0D00"

--- Returns the colour of an access whose data was found in the n-th of so many levels of caches, or in memory, which comes after
--- the last level.
function outcomes.found(n, levels) return n > levels and MEMORY or FOUND[math.min(n, #FOUND)] end

return outcomes
