--- A view is a text in three styles: plain, coloured and HTML. It is the result of s:show() and s:diff(). Printing, concatenation
--- and string methods work as for a string.
local view = {}

local meta = {__name = "nestwright.view"}

--- Returns a view. `render(style)` returns the text; style is "plain", "ansi" or "html".
function view.new(render) return setmetatable({render = render}, meta) end

--- Returns a view with the same text in every style.
function view.text(text)
  return view.new(function(style)
    if style ~= "html" then return text end
    local escaped = text:gsub("[&<>]", {["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;"})
    return "<pre>" .. escaped .. "</pre>"
  end)
end

function view.is(value) return getmetatable(value) == meta end

function meta.__tostring(self) return (self.render "plain":gsub("\n$", "")) end
function meta.__len(self) return #tostring(self) end
function meta.__concat(a, b) return tostring(a) .. tostring(b) end
function meta.__eq(a, b) return tostring(a) == tostring(b) end

function meta.__index(_, key)
  local method = string[key]
  return method and function(self, ...) return method(tostring(self), ...) end
end

return view
