--- Draws random calls of public functions and methods, and makes them. A row describes one function (see api.lua).
local nw = require "nestwright"
local objects = require "_api_objects"
local rule = require "_api_rule"
local signature = require "nestwright.language.signature"
local values = require "_api_values"

local calls = {}

local SLOW = {} -- functions that take long, because they measure or try many things; they are drawn less often
for name in ("nw.calibrate nw.bandwidth nw.roofs nw.roofline nw.joules nw.microkernels cost.audit cost.train nw.peak_flops "
  .. "nw.peak_vs_ports nw.core_hz schedule.partition_auto schedule.timeline schedule.time_steps schedule.time kernel.time "
  .. "kernel.busy kernel.timeline time.share schedule.check schedule.moves xsmm.gemm nw.intrinsic"):gmatch "%S+" do
  SLOW[name] = true
end

-- Returns rows for operators, and for calling and indexing objects. The reference does not contain these rows.
local function signs()
  local number = "nw.expr|nw.axis|number"
  local out = {
    {class = "tensor", name = "call", signature = "(self: nw.tensor, ...: nw.expr|nw.axis|integer)",
      fn = function(t, ...) return t(...) end},
    {class = "kernel", name = "call", signature = "(self: nw.kernel, ...: nw.array)", fn = function(f, ...) return f(...) end},
    {class = "array", name = "index", signature = "(self: nw.array, index: integer[])", fn = function(a, at) return a[at] end},
    {class = "array", name = "newindex", signature = "(self: nw.array, index: integer[], value: number|boolean)",
      fn = function(a, at, v) a[at] = v end},
    {class = "schedule", name = "index", signature = "(self: nw.schedule, stage: nw.tensor|string)",
      fn = function(s, of) return s[of] end},
    {class = "machine", name = "index", signature = "(self: nw.machine, field: string)",
      fn = function(m, field) return m[field] end},
  }
  for sign, op in pairs {add = "+", sub = "-", mul = "*", div = "/", idiv = "//", mod = "%", pow = "^", band = "&", bor = "|",
    bxor = "~", shl = "<<", shr = ">>"} do
    out[#out + 1] = {class = "expr", name = sign, signature = ("(self: nw.expr, operand: %s)"):format(number),
      fn = assert(load("local a, b = ... return a " .. op .. " b"))}
  end
  for _, row in ipairs(out) do row.sign = true end
  table.sort(out, function(a, b) return a.class .. a.name < b.class .. b.name end)
  return out
end

--- Returns all rows that can be called.
function calls.rows()
  local list = {}
  for _, row in ipairs(require "nestwright.language.rows".all()) do
    if not row.field then list[#list + 1] = row end
  end
  for _, row in ipairs(signs()) do list[#list + 1] = row end
  return list
end

-- Replaces an argument, or an entry of an argument that is a table, with a wrong value. Returns a description of the new value.
local function spoil(given, at, draw)
  local word, value = values.ugly(draw, objects)
  local old = given[at]
  if type(old) ~= "table" or getmetatable(old) or next(old) == nil or draw(2) == 1 then
    given[at] = value
    return word
  end
  local copy, keys = {}, {}
  for key, of in pairs(old) do copy[key], keys[#keys + 1] = of, key end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  local key = keys[draw(#keys)]
  copy[key] = value
  given[at] = copy
  return ("%s in %s"):format(word, tostring(key))
end

-- Returns the arguments, their number, a description of the changes, and whether only the number of arguments was changed.
local function arguments_of(params, row, draw)
  local given, said, n, bad, changed = {}, {}, #params, 1, {}
  for k, p in ipairs(params) do
    if p.name == "self" then given[k] = objects.make(row.class) else given[k] = values.valid(p.type, draw, objects, p.name) end
    if p.optional and draw(2) == 1 then given[k] = nil end
  end
  while draw(4) == 1 do bad = bad + 1 end
  for _ = 1, bad do
    local how, at = draw(10), n > 0 and draw(n) or 1
    if row.sign and n < 2 then how = 2 end
    if n > 1 and at == 1 and params[1] and params[1].name == "self" and (row.sign or draw(3) > 1) then at = 1 + draw(n - 1) end
    if how == 1 and n > (row.sign and 1 or 0) then
      n = n - 1
      said[#said + 1] = ("only %d"):format(n)
    elseif how == 2 or n == 0 then
      n = n + draw(3)
      said[#said + 1] = ("%d arguments"):format(n)
      for k = #params + 1, n do given[k] = select(2, values.ugly(draw, objects)) end
    else
      local name, word = params[at] and params[at].name or at, spoil(given, at, draw)
      said[#said + 1] = ("%s = %s"):format(name, word)
      -- another object of the class is a valid `self`
      changed[at] = given[at] ~= nil and not (name == "self" and word == "nw." .. row.class)
    end
  end
  local valid = true
  for at, of in pairs(changed) do valid = valid and not (of and at <= math.min(n, #params)) end
  return given, n, table.concat(said, ", "), valid
end

local function function_of(row)
  if row.fn then return row.fn end
  if row.class == "nw" then return nw[row.name] end
  if type(nw[row.class]) == "table" and nw[row.class][row.name] then return nw[row.class][row.name] end
  local object = objects.make(row.class)
  return object and object[row.name]
end

--- Draws call number n, reports it, and makes it.
function calls.make(seed, n, list, tell)
  math.randomseed(seed, n)
  local draw = math.random
  local row = list[draw(#list)]
  if SLOW[row.class .. "." .. row.name] and draw(6) > 1 then row = list[draw(#list)] end
  local params = signature.parameters(row.signature)
  tell("draw", n, row.class .. "." .. row.name) -- reported before the objects are made, because making them takes time
  local fn = function_of(row)
  if not fn then return tell("skip", n, row.class .. "." .. row.name) end
  local given, count, said, valid = arguments_of(params, row, draw)
  tell("call", n, ("%s.%s: %s"):format(row.class, row.name, said))
  local function run() return pcall(fn, table.unpack(given, 1, count)) end
  local ok, err
  local c = {row = row, params = params, given = given, count = count, valid = valid}
  if draw(10) == 1 then
    local inside = coroutine.wrap(run) -- if a callback yields, this coroutine stops there
    ok, err = inside()
    if ok == 1 then ok = true end
  else
    ok, err = run()
  end
  if ok then
    local fine, problem = pcall(tostring, err) -- printing the result must not fail
    if not fine and rule.complaint(c, problem) then tell("raw", n, "shown: " .. rule.shown(problem)) end
    return
  end
  local problem = rule.complaint(c, err)
  if problem then tell("raw", n, problem) end
  return ok, err
end

return calls
