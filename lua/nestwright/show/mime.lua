--- Makes the display forms of a value, which are texts by MIME type. There is always a text/plain.
local errors = require "nestwright.language.errors"
local html = require "nestwright.show.html"

local mime = {}

--- Returns a text in the form that front ends need: invalid UTF-8 is replaced by U+FFFD.
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

-- ---- kinds of values

local function view_of(value) return {["text/html"] = value.render "html", ["text/plain"] = tostring(value)} end

-- Returns a picture as one piece of HTML, or nil if it cannot be drawn.
local function drawn(picture)
  local ok, svg = pcall(picture.svg, picture)
  if not ok then return nil end
  local size = {width = picture.size[1], height = picture.size[2]}
  return html.image("svg+xml", require "nestwright.plots.svg".base64(svg), size, picture.caption)
end

-- Returns the forms of an error: its text, and a picture of the conflict if there is one and it can be drawn.
local function error_of(err)
  local text, picture = tostring(err), mime.refusal(err)
  return {["text/plain"] = text, ["text/html"] = html.pre(text) .. (picture and drawn(picture) or "")}
end

-- The functions that return the forms of a value, by the name of its metatable. Values whose metatable has the function __cells,
-- which returns a table for html.table, need no entry.
local KINDS = {
  ["nestwright.view"] = view_of,
  ["nestwright.schedule"] = function(s) return view_of(s:show()) end,
  ["nestwright.plot"] = function(p) return p:bundle() end,
  ["nestwright.error"] = error_of,
}

local function own(value)
  local meta = debug.getmetatable(value)
  if type(meta) ~= "table" or type(value) == "string" then return nil end
  local kind = KINDS[rawget(meta, "__name")]
  if kind then return kind(value) end
  local cells = rawget(meta, "__cells")
  local t = cells and cells(value)
  return t and {["text/html"] = html.table(t), ["text/plain"] = tostring(value)}
end

--- Returns the forms of a value, {["text/plain"] = ..., ...}, and its metadata. plain(value) returns the text of values that have
--- no other form.
function mime.of(value, plain)
  local bundle, metadata = own(value)
  bundle = bundle or {["text/plain"] = plain(value)}
  for kind, text in pairs(bundle) do
    if type(text) == "string" then bundle[kind] = mime.clean(text) end
  end
  return bundle, metadata or {}
end

--- Returns one piece of HTML for any value, its text, and true if the HTML is more than text.
function mime.piece(value, plain)
  local meta = debug.getmetatable(value)
  local picture = type(meta) == "table" and rawget(meta, "__name") == "nestwright.plot" and drawn(value)
  if picture then return picture, value.caption, true end
  local bundle = mime.of(value, plain)
  local page = bundle["text/html"]
  return page or html.pre(bundle["text/plain"]), bundle["text/plain"], page ~= nil
end

--- Returns the forms of several values together. The plain form contains the texts of the values. If a value has more than text,
--- there is also an HTML form, which shows the values one below the other.
function mime.several(plain, ...)
  local pieces, rich = {}, false
  for n = 1, select("#", ...) do
    local piece, _, more = mime.piece((select(n, ...)), plain)
    pieces[n], rich = piece, rich or more
  end
  return {["text/plain"] = mime.clean(plain(...)), ["text/html"] = rich and table.concat(pieces, "\n") or nil}
end

-- ---- refusals

--- Returns the picture of a refused step, or nil if nothing can be drawn.
function mime.refusal(err)
  local refusal = errors.is_error(err) and err.refusal
  if not refusal or not refusal.witness then return nil end
  local ok, picture = pcall(refusal.plot, refusal)
  return ok and picture or nil
end

return mime
