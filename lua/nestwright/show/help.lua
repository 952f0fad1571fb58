--- Makes help texts from the rows of functions and fields. The topics are the values of the column `topic` of the rows.
local core = require "nestwright.core"
local rows = require "nestwright.language.rows"
local view = require "nestwright.show.view"

local TITLES = {
  {"nw", "Functions of nw"}, {"schedule", "Methods of a schedule"}, {"stage", "Methods of a stage, s[C]"},
  {"loop", "Fields of a loop"}, {"tensor", "Methods and fields of a tensor"}, {"axis", "Fields of an axis"},
  {"expr", "Fields of an expression"}, {"array", "Methods and fields of data"}, {"kernel", "Methods of a kernel"},
  {"output", "Methods of an output of nw.display"}, {"progress", "Methods of a progress bar"},
  {"time", "Methods of a time record"}, {"comparison", "Methods of a comparison of times, nw.compare and nw.timings"},
  {"sweep", "Methods of a sweep"}, {"plot", "Methods of a picture"},
  {"misses", "Methods of a count of misses, nw.misses and n:misses"}, {"curve", "Methods of a curve of s:cost_curve"},
  {"bound", "Methods of the cost of a nest, n:cost"}, {"audit", "Methods of an audit of nw.cost.audit"},
  {"lesson", "Methods of the answer of s:explain"},
  {"machine", "Methods and fields of a machine record"},
  {"target", "Methods and fields of a target"},
  {"simulation", "Fields of the answer of nw.simulate and s:gpu_counts"},
  {"gpusteps", "Methods of a comparison of schedules for GPUs, nw.gpu_steps"},
  {"accelerator", "Fields of an accelerator, nw.accelerator"}, {"stream", "Methods of a stream of instructions, s:stream"},
  {"streamrun", "Methods of a run of a stream, s:stream():run"},
  {"accesses", "Methods of an access list of nw.accesses"}, {"xsmm", "Functions of nw.xsmm"}, {"nest", "Functions of nw.nest"},
  {"te", "Functions of nw.te, where TVM's names differ; all others are those of nw"},
  {"cost", "Functions of nw.cost"}, {"partition", "Functions of nw.partition"},
  {"piece", "Methods and fields of a piece, which a kernel of s:partition_auto schedules"},
  {"ranking", "Methods of a ranking of s:partition_auto"}, {"ranked", "Fields of the rows of a ranking"},
  {"learner", "Methods of a learned model"},
  {"loopnest", "Methods of a nest"}, {"error", "Fields of an error"},
  {"refusal", "Fields of a refusal, error.refusal"},
}

-- The prefixes of functions that belong to no object.
local MODULES = {nw = "nw.", xsmm = "nw.xsmm.", nest = "nw.nest.", cost = "nw.cost.", te = "nw.te.",
  partition = "nw.partition."}

local LONGEST = 200 -- the largest number of letters of a name; pattern matching takes time that is quadratic in this number

local help = {titles = TITLES, modules = MODULES}

--- Returns the text, wrapped between words into lines of at most `width` characters. Each line begins with `indent`.
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

--- Returns the usage of a row, such as "schedule:split(...): nw.schedule" or "loop.name: string".
function help.usage(row)
  if MODULES[row.class] then return MODULES[row.class] .. row.name .. row.signature end
  if row.field then return ("%s.%s: %s"):format(row.class, row.name, row.signature) end
  local arguments = row.signature:gsub("^%(self: [%w.]+,? ?", "(")
  return ("%s:%s%s"):format(row.class, row.name, arguments)
end

--- Returns the usage and the description of a row.
function help.describe(row) return help.usage(row) .. "\n" .. help.wrap(row.doc, 100, "  ") end

-- Returns the topics of all rows, sorted by name, and the rows of each topic.
local function topics()
  local list, of = {}, {}
  for _, row in ipairs(rows.all()) do
    if not of[row.topic] then
      of[row.topic] = {}
      list[#list + 1] = row.topic
    end
    table.insert(of[row.topic], row)
  end
  table.sort(list)
  return list, of
end

-- Returns the name of a row with its class, such as nw.sum, schedule:split or loop.name.
local function written(row)
  if MODULES[row.class] then return MODULES[row.class] .. row.name end
  return row.class .. (row.field and "." or ":") .. row.name
end

local LINE = 132 -- the largest number of letters of a line about a row

-- Returns the first sentence of a text. The sentence is cut if it has more than `most` letters.
local function sentence(text, most)
  local first = (text .. " "):match "^(.-[^.]%.)%s" or text
  if #first <= most then return first end
  return first:sub(1, most - 3):match "^(.*)%s" .. " ..."
end

-- Returns a text with one line about each row of a topic.
local function about(list)
  local lines, width = {}, 0
  for _, row in ipairs(list) do width = math.max(width, #written(row)) end
  for n, row in ipairs(list) do
    lines[n] = ("  %-" .. width .. "s  %s"):format(written(row), sentence(row.doc, LINE - width - 4))
  end
  table.sort(lines)
  return table.concat(lines, "\n")
end

local function overview()
  local out = {"Topics: nw.help \"timing\" lists the functions of this topic, with one line each",
    help.wrap(table.concat(topics(), " "), 100, "  ")}
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

-- Returns the usages of the rows whose name or description contains the word. The function is called if no name is equal to the
-- word.
local function search(word)
  local found = {}
  for _, row in ipairs(rows.all()) do
    if (row.name .. " " .. row.doc):lower():find(word:lower(), 1, true) then found[#found + 1] = help.usage(row) end
  end
  return found
end

--- Returns the words for which nw.help has a text: the topics, and the names of all rows.
function help.words()
  local list = topics()
  for _, row in ipairs(rows.all()) do list[#list + 1] = row.name end
  return list
end

--- True if nw.help has a text for a name.
function help.knows(name)
  local last = name:match "[^.:]*$"
  for _, word in ipairs(help.words()) do if word == last then return true end end
  return false
end

-- Returns all rows of one class.
local function rows_of(class)
  local out = {}
  for _, row in ipairs(rows.all()) do if row.class == class then out[#out + 1] = row end end
  return out
end

-- Returns the class of an object, or of a table of functions such as nw.cost. Returns nil for other values.
local function class_of(what)
  for class in pairs(MODULES) do
    if type(what) == "table" and rawequal(package.loaded.nestwright[class], what) then return class end
  end
  local meta = debug.getmetatable(what)
  return type(meta) == "table" and tostring(rawget(meta, "__name")):match "^nestwright%.(.*)$" or nil
end

--- True if nw.help lists the methods and fields of a value.
function help.is_object(value)
  local class = class_of(value)
  return class ~= nil and rows_of(class)[1] ~= nil
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
  local found, _, of = {}, topics()
  if of[what] then return ("%s: nw.help \"name\" describes one of these\n%s"):format(what, about(of[what])) end
  for _, match in ipairs(meant(what)) do found[#found + 1] = help.describe(match) end
  local more = what .. "s" -- such as accelerators: the topic of the function accelerator
  if of[more] then found[#found + 1] = ("nw.help \"%s\" lists the functions of the topic %s"):format(more, more) end
  if #found > 0 then return table.concat(found, "\n") end
  local near, mentioned = core.nearest(what, help.words()), search(what)
  local hint = near and ("did you mean '%s'?"):format(near) or "nw.help() lists everything"
  local text = ("nothing is named '%s'; %s"):format(what, hint)
  return #mentioned == 0 and text or ("%s\nthese mention it:\n  %s"):format(text, table.concat(mentioned, "\n  "))
end

--- Adds nw.help. init.lua calls this function.
local function install(nw)
  rows.define(nw, "nw", "notebook", "help", "(what?: any): nw.view",
    "nw.help() lists everything; nw.help \"timing\" lists the functions of a topic with one line each; nw.help \"split\" or "
    .. "nw.help(nw.sum) describes one thing. nw.help(s), where s is an object, lists the object's methods and fields.",
    function(what) return view.text(core.shown_text(help.text(what))) end)
end

return setmetatable(help, {__call = function(_, nw) install(nw) end})
