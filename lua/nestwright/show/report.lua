--- A report is a result with fields and a text. Printing, concatenation and string methods use the text.
local report = {}

local texts = setmetatable({}, {__mode = "k"})
local cells_of = setmetatable({}, {__mode = "k"})

local function to_string(self) return texts[self] end
local function cells(self) return cells_of[self] end
local function joined(a, b) return tostring(a) .. tostring(b) end

--- Returns a class of reports: {methods, new}. Each method has a row. new(fields, text, cells) makes the table `fields` a report
--- and returns it. `text` is its text. If the text shows a table, `cells` is this table in the form that html.table takes.
function report.class(name)
  local methods = {}
  local meta = {__name = "nestwright." .. name, __methods = methods, __fields = {}, __tostring = to_string, __cells = cells,
    __concat = joined}
  function meta.__index(self, key)
    if methods[key] then return methods[key] end
    local method = string[key]
    return method and function(_, ...) return method(texts[self], ...) end
  end
  local function new(fields, text, table_of)
    texts[fields], cells_of[fields] = text:gsub("\n$", ""), table_of
    return setmetatable(fields, meta)
  end
  return {methods = methods, new = new}
end

--- Makes a report without methods.
report.new = report.class "report".new

return report
