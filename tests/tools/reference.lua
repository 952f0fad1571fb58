--- Writes docs/reference.md and lua/meta/nestwright.lua (for LuaLS) from the tables of the bindings and primitives.
--- usage: nestwright reference.lua REFERENCE.md META.lua
local nw = require "nestwright"
local rows = require "nestwright.language.rows"
local help = require "nestwright.show.help"
local signature = require "nestwright.language.signature"

local function by_class()
  local classes = {}
  for _, row in ipairs(rows.all()) do
    classes[row.class] = classes[row.class] or {}
    table.insert(classes[row.class], row)
  end
  for _, list in pairs(classes) do
    table.sort(list, function(a, b) return a.name < b.name end)
  end
  return classes
end

local function write(path, text)
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
end

-- ---- the reference

local function reference(classes)
  local out = {
    "# Reference",
    "",
    "`./dev doc` generates this page from the rows of the bindings; do not edit it. At the prompt, `?name` shows the same text.",
  }
  for _, title in ipairs(help.titles) do
    local list = classes[title[1]]
    if list then
      out[#out + 1] = "\n## " .. title[2]
      for _, row in ipairs(list) do
        out[#out + 1] = ("\n### `%s`\n\n    %s\n\n%s"):format(row.name, help.usage(row), row.doc)
      end
    end
  end
  return table.concat(out, "\n") .. "\n"
end

-- ---- the editor's file

-- Types of results, by the name of the result. A signature such as ": outer, inner" gives the names of its results, but not their
-- types. A result with the name `stage` is a stage. A result with any other name is a loop.
local RESULT = {stage = "nw.stage"}

local function results(row)
  local text = row.signature:sub(#row.signature:match "^%b()" + 1):match "^:%s*(.+)$"
  if not text then return {} end
  if row.class == "schedule" and text:find "^[%a_, ]+$" and not text:find "^%l+$" or text == "fused" or text == "stage" then
    local list = {}
    for word in text:gmatch "[%a_]+" do list[#list + 1] = RESULT[word] or "nw.loop" end
    return list
  end
  return {(text:gsub(" %.%.%.", " ..."))}
end

local function annotate(out, row, owner)
  for line in (row.doc .. "\n"):gmatch "(.-)\n" do out[#out + 1] = "---" .. line end
  local names = {}
  for _, p in ipairs(signature.parameters(row.signature)) do
    if p.name ~= "self" then
      names[#names + 1] = p.name
      out[#out + 1] = ("---@param %s%s %s"):format(p.name, p.optional and "?" or "", p.kind)
    end
  end
  for _, kind in ipairs(results(row)) do out[#out + 1] = "---@return " .. kind end
  local keyword = row.name:find "^[%a_][%w_]*$" and row.name
  out[#out + 1] = ("function %s%s(%s) end\n"):format(owner, keyword, table.concat(names, ", "))
end

local OPERATORS = {"add", "sub", "mul", "div", "idiv", "mod", "pow"}

local function class_head(out, class, list)
  out[#out + 1] = "---@class nw." .. class
  for _, row in ipairs(list) do
    if row.field then out[#out + 1] = ("---@field %s %s %s"):format(row.name, row.signature, row.doc) end
  end
  if class == "expr" or class == "axis" then
    for _, op in ipairs(OPERATORS) do out[#out + 1] = ("---@operator %s(nw.expr|nw.axis|number): nw.expr"):format(op) end
    out[#out + 1] = "---@operator unm: nw.expr"
  end
  if class == "tensor" then out[#out + 1] = "---@operator call(nw.expr|nw.axis|integer): nw.expr" end
  if class == "kernel" then out[#out + 1] = "---@operator call(nw.array): nw.array" end
  out[#out + 1] = "local " .. class .. " = {}\n"
end

local function meta(classes)
  local out = {"---@meta nestwright", "-- ./dev doc generates this file from the rows of the bindings; do not edit it.", ""}
  for _, title in ipairs(help.titles) do
    local class, list = title[1], classes[title[1]]
    if not help.modules[class] and list then
      class_head(out, class, list)
      for _, row in ipairs(list) do
        if not row.field then annotate(out, row, class .. ":") end
      end
    end
  end
  out[#out + 1] = "---A text of one line, without control characters.\n---@alias nw.label string\n"
  out[#out + 1] = "---@class nw.view\n---@field render fun(style: 'plain'|'ansi'|'html'): string\n"
  out[#out + 1] = "---@class nestwright\nlocal nw = {}\n"
  for _, row in ipairs(classes.nw) do annotate(out, row, help.modules.nw) end
  for _, class in ipairs {"xsmm", "nest", "cost", "partition", "te"} do
    out[#out + 1] = ("nw.%s = {}\n"):format(class)
    for _, row in ipairs(classes[class]) do annotate(out, row, help.modules[class]) end
  end
  out[#out + 1] = "return nw"
  return table.concat(out, "\n") .. "\n"
end

local classes = by_class()
write(assert(arg[1], "usage: reference.lua REFERENCE.md META.lua"), reference(classes))
write(assert(arg[2], "usage: reference.lua REFERENCE.md META.lua"), meta(classes))
print(("reference of Nestwright %s: %d rows"):format(nw.version(), #rows.all()))
