--- Functions that the schedules of the programs share. Only public primitives are used.
local tools = {}

--- Splits a loop of elements by the number of lanes, and vectorizes the inner loop. Returns the outer and the inner loop.
function tools.lanes(s, loop, count)
  local outer, inner = s:split(loop, {factor = count, tail = "cut"})
  s:vectorize(inner)
  return outer, inner
end

--- Vectorizes the innermost own loop of each named stage.
function tools.rows(s, count, ...)
  for _, name in ipairs {...} do
    local loops = {s[name]:axes()}
    tools.lanes(s, loops[#loops], count)
  end
end

--- Runs the innermost own loop of each named stage, which is a reduction, in lanes.
function tools.sums(s, count, ...)
  for _, name in ipairs {...} do
    local loops = {s[name]:axes()}
    local _, inner = s:split(loops[#loops], {factor = count, tail = "cut"})
    s:vectorize(inner, {reduce = "tree"})
  end
end

--- Computes the named stages in a loop.
function tools.inside(s, loop, ...)
  for _, name in ipairs {...} do s:compute_at(name, loop) end
end

--- Schedules a stage whose last loops are rows, columns and one or more reductions: a tile of accumulators in registers.
function tools.tile(s, name, rows, columns)
  local loops = {s[name]:axes()}
  local count, sums = #s[name].op.axis, #s[name].op.reduce_axis
  local i, j = loops[count - 1], loops[count]
  local i_o, i_i = s:split(i, rows)
  local j_o, j_i = s:split(j, columns)
  s:reorder(i_o, j_o, i_i, j_i)
  local block = s:cache_write(name, "local", {at = j_o})
  local own = {s[block]:axes()}
  local last = #own - sums -- the loop of the columns, before those of the reductions
  local order = table.move(own, 1, last - 2, 1, {})
  table.move(own, last + 1, #own, #order + 1, order)
  order[#order + 1], order[#order + 2] = own[last - 1], own[last]
  s:reorder(order)
  s:vectorize(own[last])
  s:unroll(own[last - 1])
  s:vectorize(j_i)
  s:unroll(i_i)
  return i_o, j_o
end

return tools
