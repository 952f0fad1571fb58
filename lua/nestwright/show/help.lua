--- Makes help texts from the rows of functions and fields.
local core = require "nestwright.core"
local rows = require "nestwright.language.rows"
local view = require "nestwright.show.view"

local TITLES = {
  {"nw", "Functions of nw"}, {"schedule", "Methods of a schedule"}, {"stage", "Methods of a stage, s[C]"},
  {"loop", "Fields of a loop"}, {"tensor", "Methods and fields of a tensor"}, {"axis", "Fields of an axis"},
  {"expr", "Fields of an expression"}, {"array", "Methods and fields of data"}, {"kernel", "Methods of a kernel"},
  {"output", "Methods of an output of nw.display"}, {"progress", "Methods of a progress bar"},
  {"time", "Methods of a time record"}, {"comparison", "Methods of a comparison of times, nw.compare and nw.timings"},
  {"sweep", "Methods of a sweep"}, {"machine", "Methods and fields of a machine record"},
  {"target", "Methods and fields of a target"},
  {"accesses", "Methods of an access list of nw.accesses"}, {"xsmm", "Functions of nw.xsmm"}, {"nest", "Functions of nw.nest"},
  {"cost", "Functions of nw.cost"}, {"partition", "Functions of nw.partition"},
  {"ranking", "Methods of a ranking of s:partition_auto"}, {"ranked", "Fields of the rows of a ranking"},
  {"learner", "Methods of a learned model"},
  {"loopnest", "Methods of a nest"}, {"error", "Fields of an error"},
  {"refusal", "Fields of a refusal, error.refusal"},
}

-- The prefixes of functions that belong to no object.
local MODULES = {nw = "nw.", xsmm = "nw.xsmm.", nest = "nw.nest.", cost = "nw.cost.",
  partition = "nw.partition."}

local LONGEST = 200 -- the largest number of letters of a name; pattern matching takes time that is quadratic in this number

local help = {titles = TITLES, modules = MODULES}

--- Wraps text between words to lines of this many characters. Each line is indented.
function help.wrap(text, width, indent)
  local out, line = {}, indent
  for word in text:gmatch "%S+" do
    if #line > #indent and #line + #word + 1 > width then
      out[#out + 1] = line
      line = indent
    end
    line = line .. (line == indent and "" or " ") .. word
  end
  out[#out + 1] = line
  return table.concat(out, "\n")
end

--- Returns the usage of a row: s:split(...), nw.sum(...), loop.name.
function help.usage(row)
  if MODULES[row.class] then return MODULES[row.class] .. row.name .. row.signature end
  if row.field then return ("%s.%s: %s"):format(row.class, row.name, row.signature) end
  local arguments = row.signature:gsub("^%(self: [%w.]+,? ?", "(")
  return ("%s:%s%s"):format(row.class, row.name, arguments)
end

--- Returns the signature and the doc of a row.
function help.describe(row) return help.usage(row) .. "\n" .. help.wrap(row.doc, 100, "  ") end

local function overview()
  local out = {}
  for _, title in ipairs(TITLES) do
    local names, seen = {}, {}
    for _, row in ipairs(rows.all()) do
      if row.class == title[1] and not seen[row.name] then
        seen[row.name] = true
        names[#names + 1] = row.name
      end
    end
    table.sort(names)
    if #names > 0 then out[#out + 1] = title[2] .. "\n" .. help.wrap(table.concat(names, " "), 100, "  ") end
  end
  out[#out + 1] = 'nw.help "split" describes split; at the prompt, type ?split.'
  return table.concat(out, "\n")
end

-- Returns the rows whose name or doc contains the word. It is called if no name is equal to the word.
local function search(word)
  local found = {}
  for _, row in ipairs(rows.all()) do
    if (row.name .. " " .. row.doc):lower():find(word:lower(), 1, true) then found[#found + 1] = help.usage(row) end
  end
  return found
end

local function names()
  local list = {}
  for n, row in ipairs(rows.all()) do list[n] = row.name end
  return list
end

-- Returns all rows of one class.
local function rows_of(class)
  local out = {}
  for _, row in ipairs(rows.all()) do if row.class == class then out[#out + 1] = row end end
  return out
end

-- Returns the class of an object, or of a table of functions such as nw.cost.
local function class_of(what)
  for class in pairs(MODULES) do
    if type(what) == "table" and rawequal(package.loaded.nestwright[class], what) then return class end
  end
  local meta = debug.getmetatable(what)
  return type(meta) == "table" and tostring(rawget(meta, "__name")):match "^nestwright%.(.*)$" or nil
end

-- Returns the text for a value: all functions of a module, or the members of an object's class.
local function of_value(what)
  if what == package.loaded.nestwright then return overview() end
  local class, out = class_of(what), {}
  for n, row in ipairs(class and rows_of(class) or {}) do out[n] = help.usage(row) end
  if #out > 0 then return table.concat(out, "\n") end
  return ("there is no help for %s; nw.help() lists everything"):format(core.type_name(what))
end

-- Returns the rows for a name. "nw.cost" gives all functions of nw.cost; "cost" gives all rows with this name; "loopnest.cost" and
-- "nw.nest.read" each give one row. If the first part is a variable, as in "s:cost", the result is all rows with the name of the
-- last part.
local function meant(what)
  local of = what:match "^nw%.(%w+)$"
  if of and MODULES[of] then return rows_of(of) end
  local holder, all, own = what:match "([%w_]+)[.:][^.:]*$", rows.named(what:match "[^.:]*$"), {}
  for _, row in ipairs(all) do if row.class == holder then own[#own + 1] = row end end
  return #own > 0 and own or all
end

--- Returns the text of nw.help(what).
function help.text(what)
  if what == nil then return overview() end
  local row = rows.of(what)
  if row then return help.describe(row) end
  if type(what) ~= "string" then return of_value(what) end
  if #what > LONGEST then return "no name is this long; nw.help() lists everything" end
  local found = {}
  for _, match in ipairs(meant(what)) do found[#found + 1] = help.describe(match) end
  if #found > 0 then return table.concat(found, "\n") end
  local near = search(what)
  if #near == 0 then
    local nearest = core.nearest(what, names())
    return ("nothing is named '%s'; %s"):format(what,
      nearest and ("did you mean '%s'?"):format(nearest) or "nw.help() lists everything")
  end
  return ("nothing is named '%s'; these mention it:\n  "):format(what) .. table.concat(near, "\n  ")
end

--- Adds nw.help; called by init.
local function install(nw)
  rows.define(nw, "nw", "help", "(what?: any): nw.view",
    "nw.help() lists everything; nw.help \"split\" or nw.help(nw.sum) describes one thing. nw.help(s), where s is an object, lists "
    .. "the object's methods and fields.",
    function(what) return view.text(core.shown_text(help.text(what))) end)
end

return setmetatable(help, {__call = function(_, nw) install(nw) end})
