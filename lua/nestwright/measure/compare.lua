--- Measures kernels in turn: nw.compare.
local conditions = require "nestwright.measure.conditions"
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local inside = require "nestwright.inside"
local rows = require "nestwright.language.rows"
local sizes = require "nestwright.language.sizes"
local times = require "nestwright.measure.times"

local function is_kernel(value) return debug.getmetatable(value) == core.classes.kernel end

-- Returns the values of the sizes in a table such as {f, g, sizes = {M = 64}}, or nil. A kernel with this name is no list of sizes.
local function sizes_in(list)
  if list.sizes == nil or is_kernel(list.sizes) then return nil end
  return times.plain("compare: sizes", list.sizes)
end

-- Returns the values of a table that are conditions. A kernel or a time with the name of a condition, as in {cold = f, warm = g},
-- is not a condition.
local function conditions_in(list)
  local out = {}
  for _, name in ipairs(conditions.OPTIONS) do
    local value = list[name]
    local entry = is_kernel(value) or type(value) == "table" and (name ~= "pin" or #value == 0)
    if not entry then out[name] = value end
  end
  return out
end

-- Returns the entries of nw.compare{f, g, name = h}: kernels, and tables of numbers that were measured elsewhere.
local function entries_of(list, taken, values)
  local options = {args = true, rounds = true, base = type(list.base) == "string", sizes = values ~= nil}
  for name in pairs(taken) do options[name] = true end
  local found = times.entries("compare: kernels", list, options)
  for _, entry in ipairs(found) do
    if type(entry.value) == "table" then
      entry.time = times.labelled("compare", entry)
    elseif not is_kernel(entry.value) then
      errors.fail("invalid", "make one with s:build()", "compare: %s: expected a kernel, got %s", entry.label,
        core.type_name(entry.value))
    else
      core.kernel_has_times(entry.value, "compare")
    end
  end
  return found
end

local function form(array) return ("%s[%s]"):format(array.dtype, table.concat(array:shape(), ",")) end

-- True if two lists of arrays have the same types and shapes.
local function are_alike(a, b)
  for n = 1, math.max(#a, #b) do
    if not a[n] or not b[n] or form(a[n]) ~= form(b[n]) then return false end
  end
  return true
end

-- Returns the arrays of a run that have the same types and shapes as the given arrays. If there is no such run, returns the given
-- arrays.
local function shared(runs, arrays)
  for _, run in ipairs(runs) do
    if are_alike(run[2], arrays) then return run[2] end
  end
  return arrays
end

-- Returns, for each kernel among the entries, random inputs for these values of its sizes. A kernel need not have all of these
-- sizes, but each size belongs to some kernel.
local function sized_inputs(found, values)
  local inputs, known = {}, {}
  for _, entry in ipairs(found) do
    inputs[entry] = not entry.time and inside.inputs_of_sizes("compare", entry.value, function(s)
      for _, name in ipairs(core.program_sizes(s)) do known[name] = true end
      return sizes.named("compare", s, values)
    end)
  end
  for name in pairs(values) do
    if not known[name] then errors.fail("invalid", nil, "compare: sizes: no kernel has a size %s", tostring(name)) end
  end
  return inputs
end

-- Runs each kernel once. `inputs` has the inputs of an entry; an entry without inputs gets the given arrays. Returns a list of the
-- kernels with their arguments, and a list of their entries. Kernels whose arrays have the same types and shapes get the same
-- arrays, because the places of arrays in memory affect times.
local function runs_of(found, inputs, given, how)
  local runs, of = {}, {}
  for _, entry in ipairs(found) do
    if not entry.time then
      local own = inside.kernel_arrays("compare", entry.value, inputs[entry] or given)
      local arrays = shared(runs, own)
      runs[#runs + 1] = {entry.value, arrays == own and conditions.placed(how, own) or arrays}
      of[#runs] = entry
      entry.value(table.unpack(runs[#runs][2]))
    end
  end
  return runs, of
end

local function compare(list, ...)
  times.plain("compare: kernels", list)
  local taken, values, out = conditions_in(list), sizes_in(list), {}
  local found, how, given = entries_of(list, taken, values), conditions.of("compare", taken), list.args or {...}
  inside.refuse_both("compare", values, given)
  local runs, of = runs_of(found, values and sized_inputs(found, values) or {}, given, how)
  if #found < 2 or #runs == 0 then
    errors.fail("invalid", nil,
      "compare: expected at least two kernels, as in nw.compare{f, g}, or one kernel and times measured elsewhere")
  end
  local rounds, turns = list.rounds or 40, {}
  for n, t in ipairs(core.kernel_compare(runs, rounds, how)) do
    of[n].time = times.record(t, of[n].value, how, runs[n][2])
    t.label, t.turns = of[n].label, turns
  end
  for n, entry in ipairs(found) do out[n] = entry.time end
  return times.comparison(out, {rounds = rounds, base = type(list.base) == "string" and list.base or nil})
end

return function(nw)
  rows.define(nw, "nw", "timing", "compare", "(kernels: table, ...: nw.array): nw.comparison",
    "Measures kernels in turn, round by round, and reports which are faster: nw.compare{f, g}, nw.compare({f, g}, a, b) or "
    .. "nw.compare{naive = f, tiled = g, args = {a, b}, rounds = 50, base = \"naive\"}. Lua does not keep the order of such names; "
    .. "nw.compare{{\"naive\", f}, {\"tiled\", g}} keeps the order in which they are written. base: the kernel that the others are "
    .. "compared with, by default the first. Times measured elsewhere are given as tables of numbers: {median = 0.0012, samples "
    .. "= {...}}. Two kernels are distinguishable if one was faster in more rounds than is likely by chance (sign test, "
    .. "0.1 %), and by 3 % in the median round, in each half of the rounds too. With less than ten rounds, and for times measured "
    .. "elsewhere, the middle halves of the times must not overlap. rounds: 40 by default. If no arrays are given, they are "
    .. "random; sizes gives values to symbolic sizes then, as in nw.compare{f, g, sizes = {M = 64}}. " .. conditions.SEE, compare)
end
