--- An answer with fields and a text: printing, concatenation and string methods work on the text.
local report = {}

local meta = {__name = "nestwright.report"}
local texts = setmetatable({}, {__mode = "k"})
local methods = setmetatable({}, {__mode = "k"})

--- `fields` becomes the answer; `text` is its text; `own` has its methods by name, and `cells`: the text as a table of html.lua, if
--- it is a table.
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

--- A class of reports whose methods have rows: {methods, new(fields, text)}.
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
