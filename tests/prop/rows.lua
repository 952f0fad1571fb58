--- A row is a combination of a primitive, an option and a class of dtypes. Steps of each row must be accepted often enough in
--- random schedules. The rows are made from the table of primitives, so a new option makes new rows. Rows that are impossible are
--- listed here, with the reason.
local types = require "types"

local rows = {}

local primitives = {}
for _, p in ipairs(require "nestwright.core".primitives()) do primitives[p.name] = p end

-- FORBIDDEN[primitive][option][class] is the reason why a row is impossible.
local FITS = "integers are stored in such a dtype only if they are proven to fit, and random computations seldom have small values"
local FORBIDDEN = {set_dtype = {}, annotate = {["key=ignores"] = {all = "only s:unsafe lets a stage ignore tokens"}}}
for _, dtype in ipairs {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"} do
  local floats = "a float is not stored as an integer, unless it was converted from one"
  FORBIDDEN.set_dtype["dtype=" .. dtype] = {half = floats, float = floats}
end
for _, dtype in ipairs {"i8", "u8", "u16", "u32", "u64"} do
  local of = FORBIDDEN.set_dtype["dtype=" .. dtype]
  of.signed = FITS
  if dtype == "i8" or dtype == "u8" then of.unsigned = FITS end
end

function rows.forbidden(primitive, option, class)
  local of = FORBIDDEN[primitive] and FORBIDDEN[primitive][option]
  return of and (of[class] or of.all)
end

-- Returns the options of a primitive: "" (no option), a choice ("tail=cut"), or an optional argument ("parts").
local function options_of(p)
  local list = {""}
  for _, param in ipairs(p.params) do
    if param.choices then
      for choice in param.choices:gmatch "[^|]+" do list[#list + 1] = param.name .. "=" .. choice end
    elseif param.optional then
      list[#list + 1] = param.name
    end
  end
  return list
end

--- Lists every primitive with each of its options: {primitive =, option =}.
rows.list = {}
local names = {}
for name in pairs(primitives) do names[#names + 1] = name end
table.sort(names)
rows.names = names
for _, name in ipairs(names) do
  for _, option in ipairs(options_of(primitives[name])) do
    rows.list[#rows.list + 1] = {primitive = name, option = option}
  end
end

local function is_options(arg)
  if type(arg) ~= "table" or arg.place or arg.kernel then return false end
  for key in pairs(arg) do if type(key) == "string" then return true end end
  return false
end

--- Returns the options that a step uses, always including "".
function rows.given(step)
  local out, args = {""}, {table.unpack(step.args)}
  local by_name = is_options(args[#args]) and table.remove(args) or {}
  local at = 0
  for _, param in ipairs(primitives[step.primitive].params) do
    local value = by_name[param.name]
    if value == nil and not param.option then
      at = at + 1
      value = args[at]
    end
    if value ~= nil then
      if param.choices then out[#out + 1] = param.name .. "=" .. tostring(value)
      elseif param.optional then out[#out + 1] = param.name end
    end
  end
  return out
end

--- Returns an empty count of accepted and refused steps.
function rows.count()
  local self = {accepted = {}, refused = {}, of = {}}
  for _, name in ipairs(names) do self.accepted[name], self.refused[name] = 0, 0 end
  return setmetatable(self, {__index = rows})
end

--- Counts a step for a class of dtype.
function rows.add(self, step, class, accepted)
  local list = accepted and self.accepted or self.refused
  list[step.primitive] = list[step.primitive] + 1
  if not accepted then return end
  for _, option in ipairs(rows.given(step)) do
    local key = ("%s/%s/%s"):format(step.primitive, option, class)
    self.of[key] = (self.of[key] or 0) + 1
  end
end

--- Returns the rows that were accepted fewer than `least` times: {primitive =, option =, class =, count =}.
function rows.unseen(self, least)
  local out = {}
  for _, row in ipairs(rows.list) do
    for _, class in ipairs(types.classes) do
      local n = self.of[("%s/%s/%s"):format(row.primitive, row.option, class)] or 0
      if n < least and not rows.forbidden(row.primitive, row.option, class) then
        out[#out + 1] = {primitive = row.primitive, option = row.option, class = class, count = n}
      end
    end
  end
  return out
end

-- ---------------------------------------------------------------- goals

-- The weights of primitives that get more goals, because they are seldom applicable. All other primitives have the weight 1.
local MORE = {cache_index = 11, pad_einsum = 5, rewrite = 4, unblockize = 2, join = 2, merge = 2,
  stream_stores = 8, async_copy = 4, tensorize = 18, rolling_buffer = 15, bind = 15, double_buffer = 9, trim = 14,
  fission = 2, compute_root = 5, reverse_compute_inline = 15, compute_inline = 3, create_fused_loop = 6, atomic = 3, rfactor = 3,
  store_at = 7, skew = 7, reverse_compute_at = 3, specialize = 4, fuse = 2, assume = 4, set_scope = 4,
  set_dtype = 10, reverse = 4, hoist_storage = 17, reorder_stmts = 4, compute_at = 2, cache_read = 5, cache_write = 4,
  decompose_padding = 12, transform_layout = 3, reorder_storage = 3, storage_align = 3, reorder = 2, tile = 12, pragma = 4,
  unroll = 4, reindex = 5, split = 3, vectorize = 2}
-- The classes of dtypes for which a primitive gets more goals still, since it has more rows with them.
local MORE_OF = {set_dtype = {unsigned = 2.5, signed = 1.5}}
-- The options that are seldom accepted: how many goals they get for one of another option.
local HARD = {cache_index = {["scope=warp"] = 2}, unroll = {["tail=pad"] = 3}, split = {["tail=pad"] = 2}, store_at = {loop = 2},
  pragma = {["key=chunk"] = 2, ["key=schedule"] = 2}, set_scope = {["scope=warp"] = 2}, cache_read = {["scope=local"] = 2},
  specialize = {stage = 2}}
local LEAST = 4 -- the least number of goals of each primitive in one pass through all goals

-- The ranks of primitives: a primitive of a higher rank is tried later. Primitives that divide a block or mark a loop come after
-- primitives that need an undivided block.
local LATE = {cut = 1, partition = 1, specialize = 1, split = 1, tile = 1, unroll = 2, fission = 1, parallel = 3, vectorize = 2,
  bind = 3, prefetch = 2, pragma = 4, store_at = 0.2, hoist_storage = 0.3, rolling_buffer = 0.3, compute_root = 0.1,
  transform_layout = 0.5, reorder_storage = 0.5, storage_align = 0.5, cache_read = 0.5, cache_write = 0.5, reindex = 0.5,
  cache_index = 0.5, decompose_padding = 0.7, set_dtype = 0.6, join = 2, tensorize = 2, stream_stores = 2, async_copy = 2,
  unmark = 4, reorder = 1,
  fuse = 1}

--- Returns the rank of a primitive.
function rows.lateness(name) return LATE[name] or 0 end

-- The primitives of which several options are tried in one case, after one of them is accepted: the number of these options. They
-- suit few cases, and have many rows.
local SEVERAL = {cache_index = 3, set_dtype = 2, reindex = 2, bind = 2}

--- Returns the number of options of the primitive that are tried in one case.
function rows.several(name) return SEVERAL[name] or 1 end

-- Returns the rows of a primitive that are possible for a class of dtypes.
local function possible(name, class)
  local mine = {}
  for _, row in ipairs(rows.list) do
    if row.primitive == name and not rows.forbidden(name, row.option, class) then mine[#mine + 1] = row end
  end
  return mine
end

--- The list of goals for each class of dtypes. A goal is a row. A case with this goal tries to have a step of the row accepted. The
--- cases of a class take its goals in turn, in a random order that is the same in every run.
rows.goals = {}
for _, class in ipairs(types.classes) do
  local goals = {}
  for _, name in ipairs(names) do
    local mine = {}
    for _, row in ipairs(possible(name, class)) do
      for _ = 1, HARD[name] and HARD[name][row.option] or 1 do mine[#mine + 1] = row end
    end
    local wanted = LEAST * (MORE[name] or 1) * (MORE_OF[name] and MORE_OF[name][class] or 1)
    for n = 1, math.max(#mine, wanted // 1) do goals[#goals + 1] = mine[(n - 1) % #mine + 1] end
  end
  rows.goals[class] = require "nestwright.measure.rng".new(1):shuffle(goals)
end

--- Returns the next goal of the same primitive, for a class of dtypes.
function rows.after(goal, class)
  local mine = possible(goal.primitive, class)
  for n, row in ipairs(mine) do if row == goal then return mine[n % #mine + 1] end end
end

return rows
