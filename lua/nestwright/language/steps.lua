--- Converts a call like s:split("i", 32, {tail = "cut"}) to the arguments of a primitive, in the order of its
--- parameters.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local slips = later "nestwright.slips.arguments"

local steps = {}

local stage_meta = {__name = "nestwright.stage"}
steps.stage_meta = stage_meta

local made = setmetatable({}, {__mode = "k"}) -- schedule -> name -> stage

--- Returns the stage of a schedule with this name. The same call always returns the same object.
function steps.stage(schedule, name)
  local of = made[schedule]
  if not of then
    of = setmetatable({}, {__mode = "v"})
    made[schedule] = of
  end
  of[name] = of[name] or setmetatable({schedule = schedule, name = name}, stage_meta)
  return of[name]
end

function steps.is_stage(value) return getmetatable(value) == stage_meta end

--- True for a table of options, which has no list part and no metatable.
local function is_options(value)
  return type(value) == "table" and getmetatable(value) == nil and #value == 0
end

local function is_list(value) return type(value) == "table" and getmetatable(value) == nil end

-- Converts a layout that is given as a function, such as function(k, j) return j // 32, k, j % 32 end. The parameters are the
-- indices in the logical dimensions.
local function layout(name, f)
  if is_list(f) then return f end
  errors.expect(name, f, "function")
  local info = debug.getinfo(f, "u")
  if info.isvararg or info.nparams == 0 then
    errors.fail("invalid", nil, "%s: the function must have a parameter for each dimension", name)
  end
  local vars = {}
  for d = 1, info.nparams do vars[d] = core.variable("_" .. d - 1) end
  local places = {f(table.unpack(vars))}
  if #places == 0 then
    errors.fail("invalid", "for example function(i, j) return j // 8, i, j % 8 end",
      "%s: the function returns nothing; it must return the new index", name)
  end
  return places
end

-- Converts one argument for the binding.
local function convert(param, value)
  if value == nil then return nil end
  if param.kind == "exprs" then return layout(param.name, value) end
  if steps.is_stage(value) then return value.name end
  if param.kind == "list" and param.item == "expr" and not is_list(value) then return {value} end
  if param.kind == "intrinsic" and type(value) == "table" then return rawget(value, "id") or value end
  if param.kind ~= "list" or not is_list(value) then return value end
  local list = {}
  for n, item in ipairs(value) do list[n] = steps.is_stage(item) and item.name or item end
  return list
end

local function check_choice(p, param, value)
  if not param.choices or param.open or type(value) ~= "string" then return end
  local words = {}
  for word in param.choices:gmatch "[^|]+" do
    if word == value then return end
    words[#words + 1] = word
  end
  local near = core.nearest(value, words)
  errors.fail("invalid", near and ("did you mean '%s'?"):format(near) or "one of " .. table.concat(words, ", "),
    "%s: %s cannot be '%s'", p.name, param.name, value)
end

local function names_of(p, options_only)
  local names = {}
  for _, param in ipairs(p.params) do
    if param.option or not options_only then names[#names + 1] = param.name end
  end
  return names
end

local function positional_of(p)
  local list = {}
  for n, param in ipairs(p.params) do
    if not param.option then list[#list + 1] = n end
  end
  return list
end

-- True if a loop or a stage of the schedule has this name.
local function is_name(s, name)
  for _, loop in ipairs(core.schedule_loops(s)) do if loop.name == name then return true end end
  for _, stage in ipairs(core.schedule_stages(s)) do if stage == name then return true end end
  return false
end

-- Raises an error if argument number n is a variable without a value. The error names the variable. If a loop or a stage has
-- the name of the variable, the error shows the call with this name. param: the parameter to which the argument belongs.
local function refuse_variable(s, p, n, param)
  local slip, shows = slips.missing(p.name, n, function(name) return is_name(s, name) end)
  if not slip then return end
  errors.fail("invalid", not shows and p.example and "for example " .. p.example or nil, "%s needs %s, but %s", p.name,
    param.name, slip)
end

-- Returns the arguments from `first` to `last` as a list. Accepts s:reorder(a, b, c) and s:reorder{a, b, c}.
local function rest(s, p, at, given, first, last)
  local none = first == last and given[first] == nil and p.params[at].optional
  for n = first, last do
    if given[n] == nil and not none then
      refuse_variable(s, p, n, p.params[at])
      errors.fail("invalid", p.example and "for example " .. p.example, "%s: argument %d is nil", p.name, n)
    end
  end
  if first == last and is_list(given[first]) then return given[first] end
  return {table.unpack(given, first, last)}
end

local function is_list_param(p, at) return p.params[at].kind == "list" end

local function is_loop(value) return type(value) == "string" or debug.getmetatable(value) == core.classes.loop end

local function is_size(value) return math.type(value) ~= nil or debug.getmetatable(value) == core.classes.expr end

-- Raises an error if loops are followed by numbers, and there are more or fewer numbers than loops. A number may be an expression
-- of sizes, but not its text, because a text is the name of a loop.
local function check_pairs(s, p, positional, given, count)
  local of, loops, last = p.params[positional[1]], 0, p.params[positional[2]]
  if of.item ~= "loop" or last.item ~= "size" then return end
  while loops < count and not is_size(given[loops + 1]) do
    loops = loops + 1
    if not is_loop(given[loops]) then
      if given[loops] == nil then refuse_variable(s, p, loops, of) end
      errors.fail("invalid", "for example " .. p.example, "%s: argument %d: expected a loop or a string, got %s", p.name, loops,
        core.type_name(given[loops]))
    end
  end
  local numbers = count - loops
  if loops == 0 or numbers == 0 or numbers == loops then return end
  local without = given[numbers + 1]
  errors.fail("invalid", "for example " .. p.example, numbers < loops and "%s: %d %s for %d loops: %s has none"
    or "%s: %d %s for %d loops", p.name, numbers, numbers == 1 and "factor" or last.name, loops,
    type(without) == "string" and without or numbers < loops and tostring(without.name))
end

-- Converts s:tile("i", "j", 32, 32) to s:tile({"i", "j"}, {32, 32}). If all positional parameters are lists of the same length,
-- their elements may be written without the braces.
local function unflatten(s, p, positional, given, count)
  local n = #positional
  for _, at in ipairs(positional) do
    if not is_list_param(p, at) then return given, count end
  end
  if n == 2 and not is_list(given[1]) then check_pairs(s, p, positional, given, count) end
  if n < 2 or count == 0 or count % n ~= 0 or is_list(given[1]) then return given, count end
  local lists, each = {}, count // n
  for k = 1, n do lists[k] = {table.unpack(given, (k - 1) * each + 1, k * each)} end
  return lists, n
end

-- Returns a hint that shows how to write a surplus positional argument as an option, such as {tail = "cut"}.
local function as_option(p, value)
  local names = {}
  for _, param in ipairs(p.params) do
    if param.option then
      names[#names + 1] = param.name
      for word in (param.choices or ""):gmatch "[^|]+" do
        if word == value then return ("write {%s = \"%s\"}"):format(param.name, word) end
      end
    end
  end
  return names[1] and ("options have names: {%s = ...}"):format(table.concat(names, " = ..., ")) or nil
end

local function fill_positional(s, p, args, given, count)
  local positional = positional_of(p)
  given, count = unflatten(s, p, positional, given, count)
  for n, at in ipairs(positional) do
    if n > count then return end
    local last = n == #positional and p.params[at].kind == "list"
    args[at] = last and rest(s, p, at, given, n, count) or given[n]
    if last then return end
  end
  if count > #positional then
    local words = {}
    for n, at in ipairs(positional) do words[n] = p.params[at].name end
    errors.fail("invalid", as_option(p, given[#positional + 1]), "%s takes (%s); got %d arguments", p.name,
      table.concat(words, ", "), count)
  end
end

local function fill_options(p, args, options)
  errors.options(p.name, options, names_of(p), names_of(p, true))
  for n, param in ipairs(p.params) do
    local value = options[param.name]
    if value ~= nil then
      if args[n] ~= nil then errors.fail("invalid", nil, "%s: %s is given twice", p.name, param.name) end
      args[n] = value
    end
  end
end

--- Returns the arguments of a step of the schedule s, in the order of the primitive's parameters; omitted arguments are nil.
function steps.arguments(s, p, ...)
  local given, count = {...}, select("#", ...)
  local args, takes_options = {}, #positional_of(p) < #p.params
  if takes_options and count > 0 and given[count] == nil then count = count - 1 end
  local options = count > 0 and is_options(given[count]) and given[count] or nil
  fill_positional(s, p, args, given, options and count - 1 or count)
  if options then fill_options(p, args, options) end
  for n, param in ipairs(p.params) do
    args[n] = convert(param, args[n])
    check_choice(p, param, args[n])
    if args[n] == nil and not param.optional then
      refuse_variable(s, p, n, param)
      errors.fail("invalid", p.example and "for example " .. p.example, "%s needs %s", p.name, param.name)
    end
  end
  return args
end

-- ---- rows of the primitives

local TYPES = {
  loop = "nw.loop|string", stage = "nw.stage|nw.tensor|string", int = "integer", size = "integer|nw.expr|string",
  str = "string", value = "string|integer", number = "number",
  expr = "integer|nw.expr|string", cond = "nw.expr|string",
  stmt = "nw.loop|nw.stage|nw.tensor|string", intrinsic = "nw.intrinsic|string",
}

local function type_of(param)
  if param.kind == "list" then return "(" .. (TYPES[param.item] or "any") .. ")[]" end
  if param.kind == "exprs" then return "fun(...: nw.expr): nw.expr ..." end
  if param.kind == "str" and param.choices then
    return '"' .. param.choices:gsub("|", '"|"') .. '"' .. (param.open and "|string" or "")
  end
  return TYPES[param.kind] or "any"
end

local function results_of(p)
  if not p.returns or p.returns == "" then return "" end
  local parts = {}
  for word in p.returns:gmatch "[^, ]+" do parts[#parts + 1] = word end
  return ": " .. table.concat(parts, ", ")
end

--- Returns the signature of a primitive in the notation of LuaLS, as in the rows of functions (language/rows.lua).
function steps.signature(p)
  local parts, options, must = {"self: nw.schedule"}, {}, false
  local positional = positional_of(p)
  local has_options = #positional < #p.params
  for n, at in ipairs(positional) do
    local param = p.params[at]
    if n == #positional and param.kind == "list" and not has_options then
      parts[#parts + 1] = "...: " .. (TYPES[param.item] or "any")
    else
      parts[#parts + 1] = param.name .. (param.optional and "?: " or ": ") .. type_of(param)
    end
  end
  for _, param in ipairs(p.params) do
    if param.option then
      options[#options + 1] = param.name .. (param.optional and "?: " or ": ") .. type_of(param)
      must = must or not param.optional
    end
  end
  if #options > 0 then
    parts[#parts + 1] = (must and "options: {" or "options?: {") .. table.concat(options, ", ") .. "}"
  end
  return "(" .. table.concat(parts, ", ") .. ")" .. results_of(p)
end

local function ends(sentence) return sentence:find "[.!?]$" and sentence or sentence .. "." end

--- Returns the doc of a primitive, including its parameters and its example.
function steps.doc(p)
  local out = {ends(p.doc or p.name)}
  for _, param in ipairs(p.params) do
    if param.doc then out[#out + 1] = ends(param.name .. ": " .. param.doc) end
  end
  if p.example then out[#out + 1] = "Example: " .. p.example end
  return table.concat(out, " ")
end

return steps
