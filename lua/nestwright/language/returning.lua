--- Calls functions that take steps of a schedule, and then restores the original version of the schedule.
local core = require "nestwright.core"

local returning = {}

--- Calls f(...), returns its results, and restores the version of the schedule, also after an error or an interrupt.
function returning.always(s, f, ...) return core.schedule_returning(s, true, f, ...) end

--- Calls f(...) and returns its results. Restores the version of the schedule only after an error or an interrupt.
function returning.on_error(s, f, ...) return core.schedule_returning(s, false, f, ...) end

--- Works like `always`, but the remarks of the steps are not shown. It is used for searches, which try many steps. s:notes() still
--- returns the remarks.
function returning.quietly(s, f, ...) return core.quietly(core.schedule_returning, s, true, f, ...) end

return returning
