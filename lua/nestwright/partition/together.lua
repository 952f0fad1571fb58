--- nw.partition.parallel distributes the pieces of a loop (separate loops, made by cuts) among threads.
local caches = require "nestwright.cost.caches"
local errors = require "nestwright.language.errors"
local strategies = later "nestwright.partition.strategies"

return function(s, loops, options)
  local o = errors.options("parallel", options, {"how"})
  caches.check_schedule("parallel", s)
  local list = {}
  for n, loop in ipairs(errors.expect("parallel: loops", loops, "table")) do list[n] = strategies.loop("parallel", s, loop) end
  if #list == 0 then errors.fail("invalid", "{\"i_o\", \"i.tail\"}", "parallel: loops is empty") end
  return table.unpack(strategies.share_out(s, list, o.how or "fused"))
end
