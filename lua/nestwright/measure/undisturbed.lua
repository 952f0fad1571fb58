--- Measures kernels for a choice between them. A time that other work disturbed gives no verdict, so it is measured again while
--- there is time for this. If the time stays disturbed, the caller must not use it for the choice, and must not keep it.
local core = require "nestwright.core"

local undisturbed = {}

local PATIENCE = 10 -- seconds that all disturbed measurements for one choice may take together

--- Returns the budget of a choice, which has the seconds that are left for measuring again.
function undisturbed.budget() return {left = PATIENCE} end

--- Returns a time as core.kernel_time does. Its field `disturbed` is true if the time stayed disturbed.
function undisturbed.time(budget, kernel, arguments, reps, min_seconds)
  while true do
    local began = core.now()
    local t = core.kernel_time(kernel, arguments, reps, min_seconds)
    if not t.disturbed then return t end
    budget.left = budget.left - (core.now() - began)
    if budget.left <= 0 then return t end
  end
end

return undisturbed
