--- Finds the words that completion offers for an argument or an option of a call. The words come from the type of the parameter in
--- the row of the function. For types that do not list their words, the words come from the schedule or follow from the parameter's
--- name.
local blanks = require "nestwright.show.blanks"
local calls = require "nestwright.show.calls"
local core = require "nestwright.core"
local help = require "nestwright.show.help"
local inside = require "nestwright.inside"
local rows = require "nestwright.language.rows"
local signature = require "nestwright.language.signature"
local steps = require "nestwright.language.steps"

local arguments = {}

local MOST_NAME = 200 -- the largest number of bytes of a name

-- ---- types

-- Calls f with a type and with all types inside it.
local function each(t, f)
  f(t)
  for _, one in ipairs(t.kind == "union" and t.of or {}) do each(one, f) end
  for _, field in ipairs(t.kind == "fields" and t.of or {}) do each(field.type, f) end
  if t.kind == "list" then each(t.item, f) end
end

-- Returns the alternatives of a type. The alternatives of a list type are the alternatives of its items.
local function alternatives(t, out)
  out = out or {}
  if t.kind == "list" then return alternatives(t.item, out) end
  if t.kind ~= "union" then out[#out + 1] = t return out end
  for _, one in ipairs(t.of) do alternatives(one, out) end
  return out
end

-- ---- words of a schedule

local function add(found, list)
  for _, word in ipairs(list) do found[word] = true end
end

local function add_loops(found, s, stage)
  for _, loop in ipairs(core.schedule_loops(s, stage)) do found[loop.name] = true end
end

-- The steps that move a stage, or its storage, into a loop of another stage: of one that reads it, or of one that it reads.
local MOVES = {compute_at = "readers", reverse_compute_at = "sources", store_at = "readers", hoist_storage = "readers"}

-- Adds the loops into which a stage can move: those around the stages that read it, or around those that it reads.
local function add_loops_of_others(found, s, stage, which)
  for _, other in ipairs(core.neighbours(s, stage, which)) do add_loops(found, s, other) end
end

-- Returns the name of the stage that is the first argument of a call, as a value or as a text in quotes. Returns nil if the
-- argument is not a stage of the schedule.
local function stage_given(s, call)
  local first = call.first
  if first == nil then return nil end
  if steps.is_stage(first) then return first.name end
  local name = debug.getmetatable(first) == core.classes.tensor and core.schedule_name_of(s, first) or first
  for _, stage in ipairs(core.schedule_stages(s)) do if stage == name then return name end end
end

local function add_branches(found, s)
  for _, entry in ipairs(core.schedule_log(s)) do
    if entry.branch then found[entry.branch] = true end
  end
end

-- These functions add the words for a type or for the name of a parameter. s: the schedule, or nil. stage: the name of the stage if
-- a method of a stage s[C] is called, otherwise nil. method: the name of the called function.
local OF_TYPE = {
  ["nw.loop"] = function(found, s, stage, method)
    if not s then return end
    if not (stage and MOVES[method]) then return add_loops(found, s, stage) end
    add_loops_of_others(found, s, stage, MOVES[method])
  end,
  ["nw.stage"] = function(found, s) if s then add(found, core.schedule_stages(s)) end end,
}
local function add_machines(found) add(found, package.loaded.nestwright.machines()) end
local OF_NAME = {
  dtype = function(found) add(found, core.dtypes()) end,
  machine = add_machines,
  target = add_machines,
  tensor = function(found, s)
    for _, input in ipairs(s and inside.signature(s).inputs or {}) do found[input.name] = true end
  end,
  version = function(found, s) if s then add_branches(found, s) end end,
}
OF_NAME.versions = OF_NAME.version

-- These functions add words for methods whose parameters do not determine the words.
local OF_METHOD = {loop = add_loops, diff = add_branches}

-- ---- the parameter at the cursor

local function schedule_of(value)
  if steps.is_stage(value) then return value.schedule, value.name end
  if debug.getmetatable(value) == core.classes.schedule then return value end
end

-- Returns the rows of the called function, or of all functions with its name if the function is not known.
local function rows_of(call)
  local row = rows.of(call.value)
  return row and {row} or rows.named(call.name)
end

-- True if the parameter may be a stage but not a loop. A method of a stage s[C] does not take such a parameter.
local function is_stage(param)
  local stage, loop = false, false
  for _, t in ipairs(alternatives(param.type)) do stage, loop = stage or t.name == "nw.stage", loop or t.name == "nw.loop" end
  return stage and not loop
end

-- Returns the parameters that are written between the parentheses of the call. `self` is left out if the call has a colon. The
-- stage is left out if a method of a stage s[C] is called.
local function written(row, call, stage)
  local list = signature.parameters(row.signature)
  if call.method and list[1] and list[1].name == "self" then table.remove(list, 1) end
  if stage and list[1] and is_stage(list[1]) then table.remove(list, 1) end
  return list
end

-- Returns the option with this name in a list of parameters, or nil.
local function option(params, name)
  local found
  for _, param in ipairs(params) do
    each(param.type, function(t)
      for _, field in ipairs(t.kind == "fields" and t.of or {}) do if field.name == name then found = found or field end end
    end)
  end
  return found
end

local function parameter(row, call, stage, before)
  local params, key = written(row, call, stage), blanks.right(before):sub(-MOST_NAME):match "([%a_]+)%s*=$"
  if key then return option(params, key) end
  local place = calls.place(before)
  local last = params[#params]
  return params[place] or last and last.name == "..." and last or nil
end

local PATHS = {path = true, file = true, csv = true, json = true, library = true} -- the parameters that are names of files

--- Returns the set of the words that may be in a string that follows the text `before`. The string is an argument or an option of
--- `call`. The second result is true if the string may be the name of a file.
function arguments.words(call, before)
  local found, known, files = {}, false, false
  if call.name == "help" then add(found, help.words()) end
  local s, stage = schedule_of(call.on)
  local moved = stage or s and MOVES[call.name] and stage_given(s, call) or nil
  if moved and not stage and not core.neighbours(s, moved, MOVES[call.name])[1] then moved = nil end
  for _, row in ipairs(rows_of(call)) do
    local param = row.signature:find "^%(" and parameter(row, call, stage, before)
    if param then
      known, files = true, files or PATHS[param.name] == true
      for _, t in ipairs(alternatives(param.type)) do
        if t.kind == "literal" then found[t.text] = true elseif OF_TYPE[t.name] then OF_TYPE[t.name](found, s, moved, call.name) end
      end
      if OF_NAME[param.name] then OF_NAME[param.name](found, s) end
    end
  end
  if s and OF_METHOD[call.name] then OF_METHOD[call.name](found, s, stage) end
  return found, files or not known
end

-- ---- names of options

--- Returns the set of the names of a call's options. A step also accepts its parameters by name.
function arguments.options(call)
  local found = {}
  for _, p in ipairs(schedule_of(call.on) and core.primitives() or {}) do
    for _, param in ipairs(p.name == call.name and p.params or {}) do
      if param.kind ~= "list" then found[param.name] = true end
    end
  end
  for _, row in ipairs(rows_of(call)) do
    for _, param in ipairs(row.field and {} or signature.parameters(row.signature)) do
      each(param.type, function(t)
        for _, field in ipairs(t.kind == "fields" and t.of or {}) do found[field.name] = true end
      end)
    end
  end
  return found
end

return arguments
