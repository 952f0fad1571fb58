--- Tries steps of a schedule and then restores the original version, even after an error or an interrupt.
local core = require "nestwright.core"

local returning = {}

--- Calls f(...), returns its results, and restores the version of the schedule, also after an error.
function returning.always(s, f, ...) return core.schedule_returning(s, true, f, ...) end

--- Calls f(...) and returns its results; after an error it restores the version of the schedule.
function returning.on_error(s, f, ...) return core.schedule_returning(s, false, f, ...) end

--- Works like `always`, but does not show the remarks of the steps. Used for searches, which try many steps. The remarks stay in
--- s:notes().
function returning.quietly(s, f, ...) return core.quietly(core.schedule_returning, s, true, f, ...) end

return returning
