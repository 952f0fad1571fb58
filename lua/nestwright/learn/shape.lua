--- The shape of a lowered program, read off its text: bodies of loops, the statements in them, what each touches. Loops get from
--- the cost record how often they run.
local core = require "nestwright.core"

local shape = {}

-- What stands between brackets that open at `at`, and where they close.
local function inside(text, at)
  local part, stop = text:match("^(%b[])()", at)
  return part:sub(2, -2), stop
end

-- Parts of a list at its top level: "ramp(a, 1, 4), 8" has two.
local function listed(text)
  local out, depth, from = {}, 0, 1
  for at = 1, #text do
    local c = text:byte(at)
    if c == 40 or c == 91 then depth = depth + 1 elseif c == 41 or c == 93 then depth = depth - 1 end
    if c == 44 and depth == 0 then
      out[#out + 1], from = text:sub(from, at - 1), at + 1
    end
  end
  out[#out + 1] = text:sub(from)
  return out
end

-- What a step of each loop that stands in an index adds to it: its factor there. Copies that unrolling makes differ in nothing but
-- constants, so what was read once is kept.
local function factors_of(index, known)
  local factors = known[index]
  if factors then return factors end
  factors = {}
  for before, factor, name in (" " .. index):gmatch "([-+ (,]) ?([%d*]*)([%a_][%w_./]*)" do
    local v = factor == "" and 1 or tonumber((factor:gsub("%*$", "")))
    factors[name] = (factors[name] or 0) + (v or 1) * (before == "-" and -1 or 1)
  end
  known[index] = factors
  return factors
end

-- An index without the constant that ends it, and that constant.
local function parts_of(index)
  local plain = tonumber(index)
  if plain then return "", plain end
  local spread, sign, constant = index:match "^(.*) ([-+]) (%d+)$"
  if not spread then return index, 0 end
  return spread, tonumber(constant) * (sign == "-" and -1 or 1)
end

-- "ramp(base, step, lanes)", perhaps with a condition behind it, or an index.
local function access_of(buffer, index, write, known)
  local where, mask = index:match "^(.-);%s(.*)$"
  index = where or index
  local a = {buffer = buffer, index = index, write = write, lanes = 1, step = 0, masked = mask ~= nil}
  local ramp = index:match "^ramp(%b())$"
  if ramp then
    local parts = listed(ramp:sub(2, -2))
    a.index, a.step, a.lanes = parts[1], tonumber(parts[2]) or 1, math.tointeger(tonumber(parts[3])) or 1
  elseif index:find "ramp%(" or index:find "broadcast%(" then -- lanes wherever they are
    a.lanes, a.step = math.tointeger(tonumber(index:match ", (%d+)%)")) or 1, math.huge
  end
  a.spread, a.offset = parts_of(a.index)
  a.factors = factors_of(a.spread, known)
  return a
end

local function loads_of(text, out, known)
  local at = 1
  while true do
    local name, open = text:match("([%a_][%w_.]*)()%[", at)
    if not name then return out end
    local from = text:find(name .. "[", at, true)
    local index, stop = inside(text, from + #name)
    out[#out + 1] = access_of(name, index, false, known)
    at = stop or open
  end
end

local OPERATIONS = {"fma%(", " %+ ", " %- ", "%*", " / ", "max%(", "min%(", "select%(", "sqrt%(", "exp%(", "tanh%(", "erf%("}

-- Operations on values: what stands in indices is none.
local function operations_of(text)
  local plain, n = text:gsub("%b[]", ""), 0
  for _, pattern in ipairs(OPERATIONS) do
    local _, found = plain:gsub(pattern, "")
    n = n + found * (pattern == "fma%(" and 2 or 1)
  end
  return n
end

local function statement_of(text, body, known)
  local stream = text:find "^stream " ~= nil
  text = text:gsub("^stream ", "")
  local name = text:match "^([%a_][%w_.]*)%["
  if not name then return nil end
  local index, stop = inside(text, #name + 1)
  local value = text:match("^ = (.*)$", stop)
  if not value then return nil end
  local s = {body = body, store = access_of(name, index, true, known), loads = loads_of(value, {}, known),
    operations = operations_of(value), stream = stream}
  local _, selects = value:gsub("select%(", "")
  s.selects = selects
  s.copies = value:find "^[%w_.]+%b[]$" ~= nil
  s.fills = #s.loads == 0
  for _, load in ipairs(s.loads) do
    if load.buffer == name and load.index == s.store.index then s.updates = true end
  end
  return s
end

-- ---- bodies

local function body_new(up, kind, name, text)
  local body = {up = up, kind = kind, name = name, depth = up and up.depth + (kind == "loop" and 1 or 0) or 0, statements = {},
    kids = {}, times = 1}
  local from, to = (text or ""):match "^(%-?%d+)%.%.(%d+)$"
  body.extent = from and tonumber(to) - tonumber(from) or nil
  if up then up.kids[#up.kids + 1] = body end
  return body
end

-- How often each body runs, from the cost record, whose loops and guards stand in the same order; where they do not, from
-- extents.
local function count(bodies, loops)
  for n, body in ipairs(bodies) do
    local row = loops[n]
    local known = row and row.name == body.name
    local above = body.up and body.up.times or 1
    body.times, body.entered = known and row.times or above * (body.extent or 1), known and row.entered or above
    body.cycles, body.bottleneck = known and row.cycles or 0, known and row.bottleneck
  end
end

--- {bodies (loops and guards, the whole first), statements, buffers (elements and scope, by name)} of a lowered text. loops: of
--- the cost record.
function shape.read(text, loops)
  local root, known = body_new(nil, "whole"), {}
  local out = {bodies = {root}, statements = {}, buffers = {}}
  local stack = {{indent = -1, body = root}}
  for line in text:gmatch "[^\n]+" do
    local indent, rest = #line:match "^ *", line:match "^ *(.*)$"
    while stack[#stack].indent >= indent do stack[#stack] = nil end
    local up = stack[#stack].body
    local mark, name, range = rest:match "^(%l* ?)for (%S+) in (.-):$"
    local buffer, elements, scope = rest:match "^alloc ([%w_.]+)%[(%d+)%] ?(%l*)"
    if name then
      local body = body_new(up, "loop", name, range)
      body.parallel = mark:find "parallel" ~= nil
      out.bodies[#out.bodies + 1], stack[#stack + 1] = body, {indent = indent, body = body}
    elseif rest:find "^if " or rest:find "^else" then
      local body = body_new(up, "guard")
      out.bodies[#out.bodies + 1], stack[#stack + 1] = body, {indent = indent, body = body}
    elseif buffer then
      out.buffers[buffer] = {elements = tonumber(elements), scope = scope == "" and "global" or scope}
    else
      local s = statement_of(rest, up, known)
      if s then out.statements[#out.statements + 1], up.statements[#up.statements + 1] = s, s end
    end
  end
  count(out.bodies, loops)
  return out
end

--- The shape of a schedule with its cost record.
function shape.of(s, c) return shape.read(core.schedule_lowered(s), c.loops) end

-- ---- questions

--- Elements between the places of an access in two rounds of a loop.
function shape.stride(access, loop) return access.factors[loop.name] or 0 end

--- The n innermost loops around a body, the innermost first.
function shape.loops(body, n)
  local out = {}
  while body and #out < n do
    if body.kind == "loop" then out[#out + 1] = body end
    body = body.up
  end
  return out
end

--- Rounds of a loop each time it is entered, on average.
function shape.trips(loop)
  local up = loop.up and loop.up.times or 1
  return up > 0 and loop.times / up or 0
end

--- Is it in a guard?
function shape.guarded(body)
  while body do
    if body.kind == "guard" then return true end
    body = body.up
  end
  return false
end

--- Lines that an access touches while the n innermost loops around it run: an estimate, as if no two rounds met by chance.
function shape.lines(access, body, n, bytes, line)
  local scattered = math.abs(access.step) * bytes >= line
  local points = scattered and access.lanes or 1
  local span = scattered and bytes or (access.lanes - 1) * math.abs(access.step) * bytes + bytes
  for _, loop in ipairs(shape.loops(body, n)) do
    local step, trips = math.abs(shape.stride(access, loop)) * bytes, math.max(1, shape.trips(loop))
    if step > 0 and step <= math.max(span, line) then span = span + (trips - 1) * step
    elseif step > 0 then points = points * trips end
  end
  return points * math.max(1, span / line)
end

return shape
