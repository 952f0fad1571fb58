--- Checks the options of pictures of iteration spaces, and collects their data.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local instances = later "nestwright.language.instances"
local rows = require "nestwright.language.rows"
local sizes = require "nestwright.language.sizes"
local steps = require "nestwright.language.steps"

local SCHEDULE, TENSOR = core.classes.schedule, core.classes.tensor
-- The largest number of drawn values of an axis. If an axis is longer, nw.pieces draws only its two ends, because cuts are near the
-- ends. nw.order raises an error instead, because a path of visits must have no gap.
local MOST = {order = 64, pieces = 256}
local AT_END = 64 -- the number of values that are drawn at each end

-- ---- options

local function stage_name(s, stage)
  if steps.is_stage(stage) then return stage.name end
  return debug.getmetatable(stage) == TENSOR and core.schedule_name_of(s, stage) or stage
end

local function names_of(list)
  local names = {}
  for n, item in ipairs(list) do names[n] = item.name end
  return table.concat(names, ", ")
end

local function find(list, name)
  for _, item in ipairs(list) do if item.name == name then return item end end
end

-- Returns the given stage. By default, it is the first stage with two axes or, if there is none, the first with one axis.
local function stage_of(what, s, list, asked)
  if asked ~= nil then
    local name = stage_name(s, asked)
    return find(list, name) or errors.fail("invalid", "stages are " .. names_of(list), "%s: there is no stage %s", what,
      tostring(name))
  end
  local most
  for _, stage in ipairs(list) do
    if #stage.axes >= 2 and not stage.init then return stage end
    if #stage.axes == 1 and not stage.init then most = most or stage end
  end
  return most or errors.fail("invalid", nil, "%s: no stage has an axis, so there is no order to show", what)
end

local function axis_of(what, stage, name)
  return find(stage.axes, name) or errors.fail("invalid", ("axes of %s are %s"):format(stage.name, names_of(stage.axes)),
    "%s: %s has no axis %s", what, stage.name, tostring(name))
end

-- Returns the axes to show, the vertical one first.
local function shown_axes(what, stage, asked)
  if asked == nil then return {stage.axes[1], stage.axes[2]} end
  local list, seen = {}, {}
  for n, name in ipairs(errors.expect(what .. ": axes", asked, "table")) do
    list[n] = axis_of(what, stage, name)
    if seen[name] then errors.fail("invalid", nil, "%s: the axis %s is named twice", what, name) end
    seen[name] = true
  end
  if #list < 1 or #list > 2 then
    errors.fail("invalid", 'axes = {"i", "j"}', "%s: axes: expected one or two, got %d", what, #list)
  end
  return list
end

-- Checks values that are given by axis, such as {k = 0}, and returns them. Each value must be in the domain of its axis. The option
-- `to` gives ends that are excluded, so the valid values of `to` are larger by one.
local function values_given(what, stage, option, given)
  local behind = option == "to" and 1 or 0
  local out = {}
  for name, value in pairs(errors.expect(what .. ": " .. option, given or {}, "table")) do
    local axis = axis_of(what, stage, name)
    out[name] = sizes.whole(what, value, option .. "." .. name)
    local lo, hi = axis.lo + behind, axis.lo + axis.extent + behind
    if out[name] < lo or out[name] >= hi then
      errors.fail("range", nil, "%s: %s.%s = %d is not in %d..%d", what, option, name, out[name], lo, hi)
    end
  end
  return out
end

local function check_extent(what, axis, from, to)
  if axis.extent <= 0 then errors.fail("invalid", nil, "%s: the axis %s is empty: there is nothing to show", what, axis.name) end
  if from >= to then
    errors.fail("range", nil, "%s: %s in %d..%d is empty: `to` is the first value that is not shown", what, axis.name, from, to)
  end
  local most = MOST[what]
  if what == "pieces" or to - from <= most then return end
  errors.fail("limit", ("{from = {%s = %d}, to = {%s = %d}} shows a part"):format(axis.name, from, axis.name, from + most),
    "%s: %s has %d values; at most %d are drawn", what, axis.name, to - from, most)
end

local function add_values(out, from, to)
  for v = from, to - 1 do out[#out + 1] = v end
  return out
end

local function range_of(what, axis, from, to)
  local lo, hi = from[axis.name] or axis.lo, to[axis.name] or axis.lo + axis.extent
  check_extent(what, axis, lo, hi)
  if hi - lo <= MOST[what] then return add_values({}, lo, hi) end
  return add_values(add_values({}, lo, lo + AT_END), hi - AT_END, hi)
end

-- Returns a fixed value for each axis that is not shown.
local function fixed_axes(what, stage, is_shown, at)
  local fixed = {}
  for _, axis in ipairs(stage.axes) do
    if is_shown[axis.name] and at[axis.name] then
      errors.fail("invalid", nil, "%s: at.%s: this axis is shown; choose a part of it by `from` and `to`", what, axis.name)
    elseif not is_shown[axis.name] then
      if axis.extent <= 0 then check_extent(what, axis) end
      fixed[#fixed + 1] = {name = axis.name, value = at[axis.name] or axis.lo}
    end
  end
  return fixed
end

local function view_of(what, s, o)
  local grid = require "nestwright.plots.grid"
  local numbers = sizes.of(what, s, o.sizes)
  local list = instances.stages(s, false, numbers)
  local stage = stage_of(what, s, list, o.stage)
  if #stage.axes == 0 then errors.fail("invalid", nil, "%s: %s has no axes: it runs once", what, stage.name) end
  local axes, is_shown, values = shown_axes(what, stage, o.axes), {}, {}
  for _, axis in ipairs(axes) do is_shown[axis.name] = true end
  local from, to = values_given(what, stage, "from", o.from), values_given(what, stage, "to", o.to)
  local view = {stage = stage.name, axes = stage.axes, shown = {},
    fixed = fixed_axes(what, stage, is_shown, values_given(what, stage, "at", o.at))}
  for n, axis in ipairs(axes) do
    values[axis.name] = range_of(what, axis, from, to)
    view.shown[n] = grid.axis(axis.name, values[axis.name], axis.lo, axis.lo + axis.extent - 1)
  end
  for _, fixed in ipairs(view.fixed) do values[fixed.name] = {fixed.value} end
  view.rows, view.columns = #axes == 2 and view.shown[1] or grid.NONE, view.shown[#axes]
  view.list = instances.list(s, false, numbers, {stage}, {[stage.name] = values}, is_shown)
  if #view.list == 0 then errors.fail("invalid", nil, "%s: no instance of %s is visited in the chosen part", what, stage.name) end
  return view
end

-- ---- the functions

local OPTIONS = {
  order = {"stage", "axes", "at", "from", "to", "sizes", "title"},
  pieces = {"stage", "axes", "at", "from", "to", "sizes", "title", "width"},
}

local LEAST, LARGEST = 50, 2000 -- pixels

local function check_width(what, width)
  if width == nil then return nil end
  local n = sizes.whole(what, width, "width")
  if n >= LEAST and n <= LARGEST then return n end
  errors.fail("range", nil, "%s: width: %d pixels is not in %d..%d", what, n, LEAST, LARGEST)
end

local function check(what, s, options)
  if debug.getmetatable(s) ~= SCHEDULE then
    errors.fail("invalid", nil, "%s: expected a schedule, got %s", what, core.type_name(s))
  end
  return errors.options(what, options, OPTIONS[what])
end

local WHICH = "stage: by default the first stage with two axes. axes: one or two axes of the stage, the vertical one first; by "
  .. "default its first two. at: values of the other axes, as in {k = 0}; by default their smallest values. from, to: the part "
  .. "of each axis that is shown, as in from = {i = 8}; `to` is excluded. sizes: values of symbolic sizes."

local SIGNATURE = "(s: nw.schedule, options?: {stage?: any, axes?: string[], at?: table, from?: table, to?: table, sizes?: table, "
  .. "title?: nw.label}): nw.plot"

-- Returns a function that makes a picture of the kind `what`.
local function picture(what, title)
  return function(s, options)
    local o = check(what, s, options)
    local view = view_of(what, s, o)
    view.width = check_width(what, o.width)
    view.title = errors.expect(what .. ": title", o.title or title, "string")
    return require("nestwright.plots." .. what).make(view)
  end
end

return function(nw)
  local define = rows.definer(nw, "nw", "memory")

  define("order", SIGNATURE,
    "The order in which the instances of a stage are visited, computed from the program. The picture is a grid of the stage's "
    .. "axes, with a path from visit to visit; later cells are darker, and tiles are outlined. A vector is drawn as a bar. Each "
    .. "iteration of a parallel loop has its own path, colour and times. An instance that is visited more than once is hatched. "
    .. WHICH .. " At most 64 values of each axis are drawn.",
    picture("order", "order of visits"))

  define("pieces", SIGNATURE:gsub("title", "width?: integer, title"),
    "The pieces into which cuts divided a stage's loops. Each piece has a name and a colour. Each also has a hatch, except the "
    .. "main piece and parts that no cut has named. Pieces of the same name have the same colour in all pictures, and white cells "
    .. "are not executed. Tiles are outlined; instances that run more than once are darker. width: pixels for the grid, 620 by "
    .. "default. " .. WHICH .. " If an axis has more than 256 values, only its first and last 64 are drawn, and the caption says "
    .. "so.",
    picture("pieces", "pieces and tiles"))

  core.refusal.__tostring = function(refusal)
    local parts = {}
    for _, part in ipairs {refusal.message or false, refusal.why or false} do if part then parts[#parts + 1] = part end end
    return table.concat(parts, "\n  ")
  end
  core.refusal.__index = {}
  rows.define(core.refusal.__index, "refusal", "refusals", "plot", "(self: nw.refusal, options?: {title?: nw.label}): nw.plot",
    "The two conflicting instances among their neighbours, at the smallest sizes that fail: the order in which they are visited "
    .. "now, and the order after the step (dashed). The arrow goes from the instance that must come first to the instance that "
    .. "depends on it. A refusal without two instances, such as one for structure or capacity, cannot be drawn; then the call "
    .. "raises an error.",
    function(refusal, options)
      local o = errors.options("plot", options, {"title"})
      if getmetatable(refusal) ~= core.refusal then
        errors.fail("invalid", "call it with a colon: e.refusal:plot()", "plot: expected a refusal, got %s",
          core.type_name(refusal))
      end
      local title = errors.expect("plot: title", o.title or refusal.message, "string")
      return require "nestwright.plots.refusal".make(require "nestwright.show.conflict".of(refusal), refusal, title)
    end)
end
