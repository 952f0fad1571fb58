--- Collects the data for the picture of a refused step. An instance is a stage at given values of its axes. A refusal can have two
--- conflicting instances, source and sink; the source must run first. If only one instance is at fault, it is the sink. The picture
--- shows them among neighbouring instances. It shows the order in which the program visits the instances before the step, and the
--- order after the step.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local instances = later "nestwright.language.instances"

local conflict = {}

local WHOLE = 10 -- an axis with at most this many values is shown completely
local BEFORE, BEHIND = 2, 3 -- the number of values that are shown before and after an instance on longer axes
local NEAR = 8 -- the values between two instances are shown if they are at most this far apart

-- ---- the two instances

local DOES = { -- the verbs for the accesses of the first and the second instance, by the kind of conflict
  raw = {"writes", "reads"}, war = {"reads", "writes"}, waw = {"writes", "writes"}, reduction = {"updates", "updates"},
  bounds = {"", "reaches for"},
}

local REASONS = {
  structure = "for its structure", capacity = "because it exceeds a limit", undecided = "because its legality could not be decided",
  cover = "because something would be left out", value = "because values would be lost or changed",
}

local function check(refusal)
  local w = refusal.witness
  if not w or not w.sink then
    errors.fail("invalid", refusal.why, "plot: %s was refused %s: there are no two conflicting instances to draw",
      refusal.step or "the step",
      REASONS[refusal.kind] or "because of a conflict whose instances are not known")
  end
  local programs = core.refused_programs(refusal)
  return w, programs or errors.fail("invalid", nil, "plot: this refusal does not come from a schedule")
end

local function instance_of(programs, w, which, does)
  if not w[which] then return nil end
  local x = instances.there(programs, true, w.sizes, w[which].block, w[which])
  if not x then errors.fail("invalid", nil, "plot: the values of the loops at the %s of the conflict are not known", which) end
  for _, axis in ipairs(x.axes) do
    local v = x.at[axis.name]
    x.outside = x.outside or v < axis.lo or v >= axis.lo + axis.extent
  end
  x.which, x.does = which, w[which].init and "sets the start of" or does
  return x
end

-- ---- neighbours

local function stage_named(list, name)
  for _, stage in ipairs(list) do if stage.name == name then return stage end end
end

-- Returns the set of the names of the shown axes, which are at most two. Axes on which the instances differ are chosen first.
local function shown_axes(axes, found)
  local chosen, n = {}, 0
  for _, differ in ipairs {true, false} do
    for _, axis in ipairs(axes) do
      local differs = found[2] and found[1].at[axis.name] ~= found[2].at[axis.name] or false
      if differs == differ and n < 2 then chosen[axis.name], n = true, n + 1 end
    end
  end
  return chosen
end

local function add_range(set, lo, hi) for v = lo, hi do set[v] = true end end

local function sorted(set)
  local list = {}
  for v in pairs(set) do list[#list + 1] = v end
  table.sort(list)
  return list
end

-- Returns the shown values of a shown axis. On a short axis, all values are shown. On a longer axis, the values near the instances
-- are shown, and also the values between the instances if there are few. If an instance is outside of the domain, the values at the
-- edge of the domain are shown, too.
local function window(axis, at)
  local lo, hi, set = axis.lo, axis.lo + axis.extent - 1, {}
  local least, most = math.min(table.unpack(at)), math.max(table.unpack(at))
  if math.min(lo, least) + WHOLE > math.max(hi, most) then
    add_range(set, math.min(lo, least), math.max(hi, most))
  elseif most - least <= NEAR and least >= lo and most <= hi then
    add_range(set, math.max(lo, least - BEFORE), math.min(hi, most + BEHIND))
  else
    for _, v in ipairs(at) do add_range(set, math.max(math.min(lo, v), v - BEFORE), math.min(math.max(hi, v), v + BEHIND)) end
    if least < lo then add_range(set, lo, math.min(hi, lo + BEFORE)) end
    if most > hi then add_range(set, math.max(lo, hi - BEFORE), hi) end
  end
  return sorted(set)
end

-- Returns a part of the picture: a stage, its shown axes, its other axes, and the values of all its axes.
local function part_of(stage, found)
  local part = {stage = stage, shown = {}, fixed = {}, values = {}, found = found}
  local is_shown = shown_axes(stage.axes, found)
  for _, axis in ipairs(stage.axes) do
    local at = {}
    for n, x in ipairs(found) do at[n] = x.at[axis.name] end
    if is_shown[axis.name] then
      part.values[axis.name] = window(axis, at)
      part.shown[#part.shown + 1] = axis
    else
      local set = {}
      for _, v in ipairs(at) do set[v] = true end
      part.values[axis.name] = sorted(set)
      part.fixed[#part.fixed + 1] = {name = axis.name, values = part.values[axis.name]}
    end
  end
  return part
end

-- Returns one part if both instances belong to the same stage, else two parts.
local function parts_of(list, found)
  local parts, at = {}, {}
  for _, x in ipairs(found) do
    at[x.stage] = at[x.stage] or {}
    table.insert(at[x.stage], x)
    if #at[x.stage] == 1 then parts[#parts + 1] = x.stage end
  end
  for n, name in ipairs(parts) do parts[n] = part_of(stage_named(list, name), at[name]) end
  return parts
end

-- ---- the visits

-- Returns the visit of the instance x in a list of visits, or nil. After the step, returns the visit with the loop values of x.
-- Before the step, the loops may differ, so the function returns the first visit with the axis values of x.
local function visit_of(list, x, after)
  for _, visit in ipairs(list) do
    local is = after and visit.block == x.block and visit.loops == x.loops or not after and instances.same(x.at, visit.at)
    if is and visit.stage == x.stage then return visit end
  end
end

-- Returns the program before or after the step. The fields of the result:
--   after: true for the program after the step
--   stages: the set of the names of its stages
--   list: the visits; a stage that does not exist yet has none
--   source, sink: the visits of the two instances, or nil
local function program_of(programs, after, sizes, parts, found)
  local known = instances.stages(programs, after, sizes)
  local asked, values, shown = {}, {}, {}
  for _, part in ipairs(parts) do
    local stage = stage_named(known, part.stage.name)
    if stage then
      asked[#asked + 1], values[stage.name] = stage, part.values
      for _, axis in ipairs(part.shown) do shown[axis.name] = true end
    end
  end
  local out = {after = after, stages = {}, list = instances.list(programs, after, sizes, asked, values, shown)}
  for _, stage in ipairs(known) do out.stages[stage.name] = true end
  for _, x in ipairs(found) do out[x.which] = visit_of(out.list, x, after) end
  return out
end

--- Returns the data for the picture of a refusal. Raises an error if there are no conflicting instances. The fields of the result:
---   source, sink: the two instances; source is nil if only one instance is at fault
---   parts: the stages of the instances, each {stage, shown (the shown axes), fixed (the other axes), values (by axis), found (its
---     conflicting instances)}
---   now, refused: the program before and after the step, as program_of returns it
function conflict.of(refusal)
  local w, programs = check(refusal)
  local does = DOES[refusal.kind] or {"writes", w.source and "reads" or "uses"}
  local source, sink = instance_of(programs, w, "source", does[1]), instance_of(programs, w, "sink", does[2])
  local found = source and {source, sink} or {sink}
  local parts = parts_of(instances.stages(programs, true, w.sizes), found)
  return {
    parts = parts, source = source, sink = sink, now = program_of(programs, false, w.sizes, parts, found),
    refused = program_of(programs, true, w.sizes, parts, found),
  }
end

return conflict
