--- Describes a schedule for draw.lua: its loops, which stages read which other stages, and which stages were moved into loops.
local cases = require "cases"
local core = require "nestwright.core"
local types = require "types"

local known = {}

--- Returns the names of a list of loops or stages.
function known.names(list)
  local out = {}
  for n, item in ipairs(list) do out[n] = item.name or tostring(item) end
  return out
end

local names = known.names

-- Returns the names of the units, and a table from the name of a stage to the outermost unit around it.
local function units(s)
  local list, of, around = {}, {}, nil
  for _, row in ipairs(core.outline(s)) do
    if around and row.depth <= around.depth then around = nil end
    if row.kind == "unit" then
      list[#list + 1] = row.name
      around = around or row
    elseif row.kind == "stage" and around then
      of[row.name] = around.name
    end
  end
  return list, of
end

-- Returns pairs of adjacent pieces of the same loop.
local function pieces(all)
  local out, follows, there = {}, {head = "rest", ["1"] = "2", ["2"] = "3", pre = "main", main = "post"}, {}
  for _, name in ipairs(all) do there[name] = true end
  for _, name in ipairs(all) do
    local stem, first = name:match "^(.*)%.([^./]*)$"
    local next = stem and follows[first] and ("%s.%s"):format(stem, follows[first])
    if next and there[next] then out[#out + 1] = {name, next} end
  end
  return out
end

--- Describes schedule s of a case. `placed` lists the stages that were moved into loops. `option` is the option that the next step
--- should use.
function known.of(case, s, placed, option)
  local pairs_of = {}
  local alive, reduces = {}, {}
  for _, stage in ipairs(case.stages) do reduces[stage.name] = stage.over ~= nil or cases.in_order(stage) ~= nil end
  for _, name in ipairs(names(s:stages())) do alive[name] = true end
  for _, stage in ipairs(case.stages) do
    for _, from in ipairs(stage.from) do
      if alive[from] and alive[stage.name] then pairs_of[#pairs_of + 1] = {from, stage.name} end
    end
  end
  for name in pairs(alive) do -- a buffer made by cache_read or cache_write is named after its tensor
    local base = name:match "^(%a)_%a+$"
    if base and alive[base] then pairs_of[#pairs_of + 1] = {name, base} end
  end
  table.sort(pairs_of, function(a, b) return a[1] .. a[2] < b[1] .. b[2] end)
  local function dtype_of(name) return s:text():match("\n%a+ " .. name:gsub("%p", "%%%0") .. ": (%w+)%[") end
  local function extent_of(loop) -- the extent if it is a positive number
    local n = math.tointeger(tonumber(s:text():match("for " .. loop:gsub("%p", "%%%0") .. " in 0%.%.(%d+):")))
    return n and n > 0 and n or nil
  end
  local function word(stage) -- the number of elements in 16 bytes
    local dtype = dtype_of(stage)
    return dtype and dtype ~= "bool" and 128 // types.info(dtype).bits or 4
  end
  local function loops_like(pattern)
    local list = {}
    for name in s:text():gmatch(pattern) do list[#list + 1] = name end
    return list
  end
  local function reads(stage, from)
    for _, pair in ipairs(pairs_of) do
      if pair[1] == from and pair[2] == stage then return true end
    end
  end
  local function indexed(name) -- true if the stage reads an index
    return alive[name] and s:text():find("\n +" .. name:gsub("%p", "%%%0") .. "%[[^\n]*known%(")
  end
  local function is_temporary(name) return alive[name] and s:text():find("\ntemp " .. name .. ":", 1, true) end
  return {
    option = option,
    word = word,
    streamable = function(r) -- a stage whose rows can be divided into vectors
      local list = {}
      for _, stage in ipairs(case.stages) do
        local last = stage.dims[#stage.dims]
        if alive[stage.name] and not stage.over and not cases.in_order(stage) and #stage.dtypes == 1 and type(last) == "number"
          and last >= word(stage.name) and (#stage.dims == 1 or last % word(stage.name) == 0) then
          list[#list + 1] = stage.name
        end
      end
      return #list > 0 and r:pick(list) or nil
    end,
    pieces = pieces,
    units = function() return (units(s)) end,
    unit_of = function(stage) return select(2, units(s))[stage] end,
    placed = placed,
    temporary_map = function(r)
      local list = {}
      for _, stage in ipairs(case.stages) do
        if cases.inlinable(stage) and is_temporary(stage.name) then
          list[#list + 1] = stage.name
        end
      end
      return #list > 0 and r:pick(list) or nil
    end,
    alive = function(name) return alive[name] and name end,
    window = function(r) -- a stage that a stencil reads, and the loop of the stencil that moves the window
      local found = {}
      for _, stage in ipairs(case.stages) do
        local from = stage.kind == "stencil" and alive[stage.name] and is_temporary(stage.from[1]) and stage.from[1]
        local theirs = from and names(s:loops(stage.name))
        if theirs and theirs[stage.axis] then found[#found + 1] = {stage.from[1], theirs[stage.axis]} end
      end
      return #found > 0 and r:pick(found) or nil
    end,
    moved = function(r) -- a stage that was moved into a loop and still exists
      local there = {}
      for _, name in ipairs(placed) do if alive[name] then there[#there + 1] = name end end
      return #there > 0 and r:pick(there) or nil
    end,
    hidden_pair = function(r) -- a temporary and a stage that reads it
      local list = {}
      for _, pair in ipairs(pairs_of) do if is_temporary(pair[1]) then list[#list + 1] = pair end end
      if #list == 0 then return nil end
      return table.unpack(r:pick(list))
    end,
    pair = function(r)
      if #pairs_of == 0 then return nil end
      return table.unpack(r:pick(pairs_of))
    end,
    loops = function(stage) return names(s:loops(stage)) end,
    divided = function(r) -- a stage whose indices have a division that is not yet computed apart
      local list = {}
      for _, stage in ipairs(case.stages) do
        if stage.quotients and alive[stage.name] and not indexed(stage.name) then list[#list + 1] = stage.name end
      end
      return #list > 0 and r:pick(list) or nil
    end,
    indexed_twice = function(r) -- a temporary that reads its indices, if a stage that reads it does so too
      local list = {}
      for _, pair in ipairs(pairs_of) do
        if is_temporary(pair[1]) and indexed(pair[1]) and indexed(pair[2]) then list[#list + 1] = pair[1] end
      end
      return #list > 0 and r:pick(list) or nil
    end,
    in_threads = function(stage) -- the loops of a stage that are bound to threads, and those inside them
      local bound, list = {}, {}
      for name in s:text():gmatch "\n *threadIdx%.%a for (%S+) in " do bound[name] = true end
      for _, name in ipairs(names(s:loops(stage))) do
        if bound[name] or #list > 0 then list[#list + 1] = name end
      end
      return list
    end,
    copies = function(stages) -- the stages that only copy elements
      local list = {}
      for _, name in ipairs(stages) do
        local element = "\n +" .. name:gsub("%p", "%%%0") .. "%[[^\n]*%] = %a[%w_.]*%[[^%[%]\n]*%]\n"
        if s:text():find(element) then list[#list + 1] = name end
      end
      return list
    end,
    marked = function() return loops_like "\n *%S+ for (%S+) in " end,
    once = function() return loops_like "for (%S+) in 0%.%.1:" end,
    size = #case.sizes > 0 and function(r) return r:pick(case.sizes).name end,
    shared = function(stages) -- {loop, stage}: a loop that contains this stage and the next stage
      local list = {}
      for at = 1, #stages - 1 do
        local inside = {}
        for _, loop in ipairs(s:loops(stages[at + 1])) do inside[loop.name] = true end
        for _, loop in ipairs(s:loops(stages[at])) do
          if inside[loop.name] then list[#list + 1] = {loop.name, stages[at]} end
        end
      end
      return list
    end,
    alike = function(r, stages) -- n such that stages n and n + 1 have different outermost loops of the same extent
      local list, before = {}, {}
      for n, stage in ipairs(stages) do
        local loop = names(s:loops(stage))[1]
        local extent = loop and s:text():match("for " .. loop:gsub("%p", "%%%0") .. " in 0%.%.([^\n]*):")
        if n > 1 and extent and extent == before.extent and loop ~= before.loop then
          list[#list + 1] = n - 1
          for _ = 1, reads(stage, stages[n - 1]) and 0 or 4 do list[#list + 1] = n - 1 end
        end
        before = {loop = loop, extent = extent}
      end
      return #list > 0 and r:pick(list) or nil
    end,
    epilogue = function(r) -- a map or a copy in another shape that is the only reader of a temporary
      local list = {}
      for _, stage in ipairs(case.stages) do
        local from, readers = stage.from[1], 0
        for _, other in ipairs(case.stages) do
          for n, name in ipairs(other.from) do
            if name == from and (n == 1 or other.from[1] ~= name) then readers = readers + 1 end
          end
        end
        local map = stage.kind == "map" and stage.from[2] == from and not reduces[from]
        if (map or stage.kind == "reshape") and readers == 1 and alive[from] and alive[stage.name] and is_temporary(from) then
          list[#list + 1] = stage.name
        end
      end
      return #list > 0 and r:pick(list) or nil
    end,
    band = function(r) -- a sum in which some iterations add nothing
      local list = {}
      for _, stage in ipairs(case.stages) do
        if stage.kind == "band" and alive[stage.name] then list[#list + 1] = stage.name end
      end
      return #list > 0 and r:pick(list) or nil
    end,
    border = function(r) -- a stage with a constant border
      local list = {}
      for _, stage in ipairs(case.stages) do
        if stage.kind == "pad" and alive[stage.name] then list[#list + 1] = stage.name end
      end
      return #list > 0 and r:pick(list) or nil
    end,
    temporaries = function() -- {name, rank} of each temporary
      local list = {}
      for name, dims in s:text():gmatch "\ntemp ([^:]+): %w+%[([^%]]*)%]" do
        list[#list + 1] = {name, select(2, dims:gsub("[^,]+", ""))}
      end
      return list
    end,
    reduction = function(r, single)
      local found = {}
      for _, stage in ipairs(case.stages) do
        if alive[stage.name] and stage.over and #stage.over > 0 and not (single and #stage.dtypes > 1) then
          found[#found + 1] = stage.name
        end
      end
      return #found > 0 and r:pick(found) or nil
    end,
    dtype_of = dtype_of,
    stage = function(name)
      for _, stage in ipairs(case.stages) do
        if stage.name == name then return stage end
      end
    end,
    extent = extent_of,
    vectorized = function()
      local wide, text = {}, s:text()
      for _, stage in ipairs(names(s:stages())) do
        for _, loop in ipairs(placed[stage] and {} or s:loops(stage)) do
          if text:find("vectorize for " .. loop.name .. " ", 1, true) and (extent_of(loop.name) or 1) % word(stage) == 0 then
            wide[#wide + 1] = stage
            break
          end
        end
      end
      return wide
    end,
    rank = function(name)
      for _, list in ipairs {case.inputs, case.stages} do
        for _, t in ipairs(list) do
          if t.name == name then return #t.dims end
        end
      end
    end,
    reader = function(r, tensor)
      local readers = {}
      for _, stage in ipairs(case.stages) do
        for _, from in ipairs(stage.from) do
          if from == tensor and alive[stage.name] then readers[#readers + 1] = stage.name end
        end
      end
      return #readers > 0 and r:pick(readers) or nil
    end,
  }
end

return known
