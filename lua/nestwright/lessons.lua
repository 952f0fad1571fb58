--- What a refused step would have done, and what can be done instead.
local core = require "nestwright.core"
local report = require "nestwright.report"
local rows = require "nestwright.rows"

return function()
  local method = rows.definer(rows.methods "schedule", "schedule")

  method("explain", "(self: nw.schedule): nw.report",
    "Replays the step that was just refused on small whole numbers in the interpreter, and shows what would go wrong: the "
    .. "two iterations as they are and as they would be, and the wrong value beside the right one. Its fields: seen, whether "
    .. "the conflict showed; how (order, iterations, twice, outside, domain, unwritten, incomplete, value); visible, false "
    .. "when there is nothing to run, as for a step that is refused for its structure.",
    function(s)
      local text, how, visible = core.explain(s)
      return report.new({seen = how ~= nil, how = how, visible = visible}, text)
    end)
end
