--- Draws random loop nests as text. A seed determines each nest.
local rng = require "nestwright.measure.rng"

local random = {}

--- The kinds of nests. A nest is rectangular if every bound and condition uses at most one loop.
random.kinds = {"plain", "tiled", "guarded", "packed", "triangular", "imperfect"}
random.rectangular = {plain = true, tiled = true, packed = true, imperfect = true, guarded = true}

-- ---- a nest under construction

-- A nest holds its lines of text, its arrays, and the loops around the next line. An array is as large as its indices need.

local nest = {}
nest.__index = nest

local function new(r) return setmetatable({r = r, lines = {}, arrays = {}, loops = {}, names = 0}, nest) end

function nest:add(...) self.lines[#self.lines + 1] = ("  "):rep(#self.loops) .. string.format(...) end

function nest:name()
  self.names = self.names + 1
  return "i" .. self.names
end

--- Adds a loop. Its body is the lines that body() adds. `most` is the greatest value of the loop variable.
function nest:loop(from, to, most, body, suffix)
  local loop = {name = self:name(), most = most}
  self:add("for %s in %s..%s%s:", loop.name, from, to, suffix or "")
  self.loops[#self.loops + 1] = loop
  body(loop)
  self.loops[#self.loops] = nil
end

local TYPES = {{"f64", 8}, {"f32", 4}, {"f64", 8}, {"i8", 1}, {"bytes(12)", 12}, {"i16", 2}}

function nest:array(dims)
  local a = {name = ("A%d"):format(#self.arrays), dims = dims, most = {}, type = self.r:pick(TYPES)[1]}
  for d = 1, dims do a.most[d] = 0 end
  self.arrays[#self.arrays + 1] = a
  return a
end

--- Returns an index {text =, most =}, where `most` is the greatest value of the index.
local function index_of(terms, offset)
  local texts, most = {}, offset
  for _, t in ipairs(terms) do
    texts[#texts + 1] = t.by == 1 and t.name or ("%d*%s"):format(t.by, t.name)
    most = most + t.by * t.most
  end
  if offset > 0 or #texts == 0 then texts[#texts + 1] = tostring(offset) end
  return {text = table.concat(texts, " + "), most = most}
end

local function ref(a, index)
  local texts = {}
  for d, i in ipairs(index) do
    a.most[d] = math.max(a.most[d], i.most)
    texts[d] = i.text
  end
  return ("%s[%s]"):format(a.name, table.concat(texts, ", "))
end

-- Returns the index of a variable. Usually it is a variable that no other dimension uses, if there is one. Inner loops are
-- preferred.
local function fresh_var(r, taken, vars)
  local free = {}
  for v = 1, #vars do
    if not taken[v] then free[#free + 1] = v end
  end
  if #free == 0 or r:chance(0.05) then return r:int(1, #vars) end
  return free[math.max(r:int(1, #free), r:int(1, #free))]
end

-- Returns a reference. Nearly all references to an array use the same variables. A few references use the variables in another
-- order.
function nest:access(a, vars)
  local r, index, taken = self.r, {}, {}
  a.at = a.at or {}
  local odd = r:chance(0.06)
  for d = 1, a.dims do
    local v = a.at[d]
    if not v or not vars[v] or odd then v = fresh_var(r, taken, vars) end
    taken[v] = true
    a.at[d] = a.at[d] or v
    local by, terms = r:chance(0.03) and 2 or 1, {}
    for _, t in ipairs(vars[v]) do terms[#terms + 1] = {name = t.name, by = by * t.by, most = t.most} end
    index[d] = index_of(r:chance(0.03) and {} or terms, r:chance(0.25) and r:int(1, 2) or 0)
  end
  return ref(a, index)
end

-- Adds a statement with a few references.
function nest:statement(arrays, vars)
  local r = self.r
  local target, reads = self:access(r:pick(arrays), vars), {}
  for n = 1, r:int(1, 3) do reads[n] = self:access(r:pick(arrays), vars) end
  self:add("%s %s %s", target, r:pick {"=", "+=", "+="}, table.concat(reads, "*"))
end

function nest:text()
  local out = {}
  for _, a in ipairs(self.arrays) do
    local dims = {}
    for d = 1, a.dims do dims[d] = a.most[d] + 1 end
    out[#out + 1] = ("array %s: %s[%s]%s"):format(a.name, a.type, table.concat(dims, ", "), a.place or "")
  end
  return table.concat(out, "\n") .. "\n" .. table.concat(self.lines, "\n") .. "\n"
end

-- ---- kinds

-- Each function of `kinds` adds a nest of one kind, whose loops have the given extents.

local function plain_var(loop) return {{name = loop.name, by = 1, most = loop.most}} end

local function some_arrays(x)
  local arrays = {}
  for n = 1, x.r:int(1, 3) do
    arrays[n] = x:array(x.r:int(1, 3))
    if x.r:chance(0.2) then arrays[n].place = x.r:pick {" align 64", " align 8", " pad 3", " pad 8", " align 1"} end
  end
  return arrays
end

-- Makes a loop for each extent, and calls body(vars) inside all loops.
local function boxes(x, extents, body, vars)
  vars = vars or {}
  if #vars == #extents then return body(vars) end
  local extent = extents[#vars + 1]
  local from, step = x.r:chance(0.1) and x.r:int(1, 2) or 0, x.r:chance(0.06) and 2 or 1
  x:loop(from, from + extent, from + extent - 1, function(loop)
    local more = {table.unpack(vars)}
    more[#more + 1] = plain_var(loop)
    boxes(x, extents, body, more)
  end, step > 1 and " step 2" or x.r:chance(0.04) and " reversed" or "")
end

local kinds = {}

function kinds.plain(x, extents)
  local arrays = some_arrays(x)
  boxes(x, extents, function(vars)
    for _ = 1, x.r:int(1, 2) do x:statement(arrays, vars) end
  end)
end

-- Makes loops over tiles, and inside them the loops of a tile. The last tile ends where the whole loop ends.
local function tiles(x, extents, body)
  local outer, sizes = {}, {}
  local function inside(n, vars)
    if n > #extents then return body(vars, outer, sizes) end
    local t, o, size = sizes[n], outer[n], extents[n]
    local from = ("%d*%s"):format(t, o.name)
    local to = size % t == 0 and ("%d*%s + %d"):format(t, o.name, t) or ("min(%d*%s + %d, %d)"):format(t, o.name, t, size)
    x:loop(from, to, size - 1, function(loop)
      local more = {table.unpack(vars)}
      more[n] = plain_var(loop)
      inside(n + 1, more)
    end)
  end
  local function across(n)
    if n > #extents then return inside(1, {}) end
    sizes[n] = math.min(extents[n], x.r:pick {2, 3, 4, 8, 8, 16, 16, 32})
    local count = (extents[n] + sizes[n] - 1) // sizes[n]
    x:loop(0, count, count - 1, function(loop)
      outer[n] = loop
      across(n + 1)
    end)
  end
  across(1)
end

function kinds.tiled(x, extents)
  local arrays = some_arrays(x)
  tiles(x, extents, function(vars) x:statement(arrays, vars) end)
end

function kinds.guarded(x, extents)
  local r, arrays = x.r, some_arrays(x)
  boxes(x, extents, function(vars)
    local v = r:pick(vars)[1]
    local c = r:int(0, v.most)
    local cond = r:pick {"%s < " .. c, "%s >= " .. c, c // 2 .. " <= %s and %s < " .. c + 1, "%s == " .. c, "%s %% 4 < 3",
      "%s // 2 >= " .. c // 2}
    x:add("if " .. cond .. ":", v.name, v.name)
    x.loops[#x.loops + 1] = v
    x:statement(arrays, vars)
    x.loops[#x.loops] = nil
    if r:chance(0.4) then
      x:add "else:"
      x.loops[#x.loops + 1] = v
      x:statement(arrays, vars)
      x.loops[#x.loops] = nil
    end
    if r:chance(0.4) then x:statement(arrays, vars) end
  end)
end

-- Copies a tile of an array into a buffer, and uses the buffer in place of the array.
function kinds.packed(x, extents)
  local r, arrays = x.r, some_arrays(x)
  local from, buffer = x:array(2), x:array(2)
  local t = r:pick {4, 8, 16, 16, 32}
  local extent = extents[1]
  local count = (extent + t - 1) // t
  local width = extents[#extents]
  x:loop(0, count, count - 1, function(tile)
    local to = ("min(%d, %d - %d*%s)"):format(t, extent, t, tile.name)
    local function inside(body) x:loop(0, to, math.min(t, extent) - 1, body) end
    inside(function(k)
      x:loop(0, width, width - 1, function(j)
        local whole = {text = ("%d*%s + %s"):format(t, tile.name, k.name), most = extent - 1}
        x:add("%s = %s", ref(buffer, {{text = k.name, most = t - 1}, {text = j.name, most = width - 1}}),
          ref(from, {whole, {text = j.name, most = width - 1}}))
      end)
    end)
    boxes(x, {table.unpack(extents, 2)}, function(vars)
      inside(function(k)
        local last = vars[#vars][1]
        local read = ref(buffer, {{text = k.name, most = t - 1}, {text = last.name, most = last.most}})
        vars[#vars + 1] = plain_var(k)
        x:add("%s += %s*%s", x:access(r:pick(arrays), vars), read, x:access(r:pick(arrays), vars))
        vars[#vars] = nil
      end)
    end)
  end)
end

-- Makes loops that begin or end at the value of an outer loop.
function kinds.triangular(x, extents)
  local r, arrays = x.r, some_arrays(x)
  local function down(n, vars)
    if n > #extents then return x:statement(arrays, vars) end
    local from, to, size = "0", tostring(extents[n]), extents[n]
    if n > 1 and r:chance(0.7) then
      local v = vars[r:int(1, n - 1)][1]
      if r:chance(0.5) then
        to, size = ("%s + 1"):format(v.name), v.most + 1
      else
        from, size = v.name, math.max(extents[n], v.most + 1)
        to = tostring(size)
      end
    end
    x:loop(from, to, size - 1, function(loop)
      local more = {table.unpack(vars)}
      more[n] = plain_var(loop)
      if n > 1 and r:chance(0.2) then x:statement(arrays, vars) end
      down(n + 1, more)
    end)
  end
  down(1, {})
end

-- Puts statements between the loops, and makes several nests one after the other.
function kinds.imperfect(x, extents)
  local r, arrays = x.r, some_arrays(x)
  local function down(n, vars)
    if n > #extents then return x:statement(arrays, vars) end
    x:loop(0, extents[n], extents[n] - 1, function(loop)
      local more = {table.unpack(vars)}
      more[#more + 1] = plain_var(loop)
      if r:chance(0.4) then x:statement(arrays, more) end
      down(n + 1, more)
      if n < #extents and r:chance(0.3) then down(#extents, more) end
      if r:chance(0.4) then x:statement(arrays, more) end
    end)
  end
  down(1, {})
  if r:chance(0.4) then boxes(x, {table.unpack(extents, 1, 2)}, function(vars) x:statement(arrays, vars) end) end
end

-- ---- sizes

-- Returns extents whose product is about `rounds`.
local function extents_of(r, n, rounds)
  local weights, sum, out = {}, 0, {}
  for d = 1, n do
    weights[d] = 0.4 + r:int(0, 100) / 100
    sum = sum + weights[d]
  end
  for d = 1, n do
    local e = math.max(2, math.floor(rounds ^ (weights[d] / sum)))
    if r:chance(0.25) and e > 8 then e = e // 8 * 8 end
    if r:chance(0.1) and e > 16 then e = 1 << math.floor(math.log(e, 2)) end
    out[d] = e
  end
  return out
end

--- Returns the text of a nest of this kind whose innermost statements run about `rounds` times.
function random.text(seed, kind, rounds)
  local r = rng.new(seed)
  local x = new(r)
  local most = kind == "tiled" and 3 or 4
  kinds[kind](x, extents_of(r, r:int(2, most), rounds))
  return x:text()
end

return random
