--- A report is a result with fields and a text. Printing, concatenation and string methods use the text.
local report = {}

local meta = {__name = "nestwright.report"}
local texts = setmetatable({}, {__mode = "k"})
local methods = setmetatable({}, {__mode = "k"})

--- Makes the table `fields` a report and returns it. `text` is its text. `own` has its methods by name. If the text shows a table,
--- own.cells is this table in the form that html.table takes.
function report.new(fields, text, own)
  texts[fields], methods[fields] = text:gsub("\n$", ""), own
  return setmetatable(fields, meta)
end

function meta.__tostring(self) return texts[self] end
function meta.__cells(self) return methods[self] and methods[self].cells end
function meta.__concat(a, b) return tostring(a) .. tostring(b) end

function meta.__index(self, key)
  local own = methods[self]
  if own and own[key] and key ~= "cells" then return own[key] end
  local method = string[key]
  return method and function(_, ...) return method(texts[self], ...) end
end

--- Returns a class of reports whose methods have rows: {methods, new(fields, text)}.
function report.class(name)
  local own = {}
  local class_meta = {__name = "nestwright." .. name, __methods = own, __fields = {}, __tostring = meta.__tostring,
    __concat = meta.__concat, __index = meta.__index}
  local function new(fields, text)
    texts[fields], methods[fields] = text, own
    return setmetatable(fields, class_meta)
  end
  return {methods = own, new = new}
end

return report
