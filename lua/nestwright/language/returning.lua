--- Steps of a schedule that are tried: whatever happens to them, an interrupt among it, the schedule is where it was.
local core = require "nestwright.core"

local returning = {}

--- Calls f(...), returns what it does, and leaves the schedule at the version where it was, after an error as well.
function returning.always(s, f, ...) return core.schedule_returning(s, true, f, ...) end

--- Calls f(...) and returns what it does; after an error the schedule is at the version where it was.
function returning.on_error(s, f, ...) return core.schedule_returning(s, false, f, ...) end

--- The same as `always`, without a word about the remarks of steps: those that a search tries are nobody's. They stay in s:notes().
function returning.quietly(s, f, ...) return core.quietly(core.schedule_returning, s, true, f, ...) end

return returning
