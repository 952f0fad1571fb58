--- Draws the result of s:cost_curve, with the style for sweeps over one parameter.

local cost = {}

local UNITS = {seconds = "s", cycles = "cycles", joules = "J", misses = "lines"}

local function value_of(row, y) return y == "misses" and row.misses[1] or row[y] end

local TITLES = {misses = "misses of L1"}

--- Draws a curve. rows: the rows of the curve; size: the name of the size; machine: the name of the machine.
function cost.curve(rows, size, machine, o)
  local y = o.y or "seconds"
  local list, values = {}, {}
  for n, row in ipairs(rows) do
    values[n] = row.size
    list[n] = {[size] = row.size, [y] = value_of(row, y)}
  end
  list.params, list.values, list.titles = {size}, {[size] = values}, TITLES
  list.small = ("Predicted for %s, not measured."):format(machine)
  return require "nestwright.plots.sweep".make(list, {x = size, y = y, style = "lines", unit = UNITS[y], best = false,
    title = o.title or ("predicted %s over %s"):format(TITLES[y] or y, size)})
end

return cost
