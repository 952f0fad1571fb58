--- How a value is shown: texts by MIME type, text/plain always among them.
local core = require "nestwright.core"
local view = require "nestwright.view"

local mime = {}

local SCHEDULE = core.classes.schedule

--- Text as front ends need it: what is no UTF-8 becomes U+FFFD.
function mime.clean(text)
  if utf8.len(text) then return text end
  local out, at = {}, 1
  while at <= #text do
    local _, bad = utf8.len(text, at)
    out[#out + 1] = text:sub(at, (bad or #text + 1) - 1)
    if not bad then break end
    out[#out + 1] = "\u{FFFD}"
    at = bad + 1
  end
  return table.concat(out)
end

function mime.escape(text) return (text:gsub("[&<>\"]", {["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;"})) end

-- What a value offers itself: a method `bundle`, as plots have it, or texts in a style, as views have them.
local function own(value)
  if view.is(value) then return {["text/html"] = value.render "html", ["text/plain"] = tostring(value)} end
  if debug.getmetatable(value) == SCHEDULE then return own(value:show()) end
  local meta = type(value) == "table" and getmetatable(value)
  local bundle = type(meta) == "table" and type(meta.__index) == "table" and rawget(meta.__index, "bundle")
  return bundle and bundle(value)
end

--- {["text/plain"] = ..., ...} of a value; `plain(value)` gives the text of one that has no other form.
function mime.of(value, plain)
  local bundle = own(value) or {["text/plain"] = plain(value)}
  for kind, text in pairs(bundle) do
    if type(text) == "string" then bundle[kind] = mime.clean(text) end
  end
  return bundle
end

return mime
