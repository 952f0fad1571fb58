--- Makes SVG pictures that have a text description for accessibility and are small enough for a notebook.
local gnuplot = require "nestwright.plots.gnuplot"

local svg = {}

svg.MOST = 500000 -- the largest SVG for a notebook, in bytes
local SCALES = {1, 0.75, 0.5, 0.35} -- scales of a bitmap; the first scale that makes the SVG small enough is used

local ESCAPES = {["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;"}

local function escaped(text)
  if not utf8.len(text) then text = text:gsub("[\x80-\xff]", "?") end
  return (text:gsub("[^%C\n]", " "):gsub("[&<>]", ESCAPES))
end

local function about(title, p) return ("<title>%s</title>\n<desc>%s</desc>"):format(title, escaped(p.caption)) end

-- Returns the title of a picture. It is the first text of a figure, or the first line of the caption if the picture is not a
-- figure.
local function title_of(text, p)
  local title = p.script:find "^# panels" and text:match "<text>([^<]*)</text>"
  return title or escaped(p.caption:match "^[^\n]*")
end

-- Replaces gnuplot's own title and description, which do not describe the picture.
local function described(text, p)
  local from, to = text:find "<title>.-</title>%s*<desc>.-</desc>"
  if not from then return text end
  local head = text:sub(1, from - 1):gsub("<svg%s", "<svg role=\"img\"\n ", 1)
  return head .. about(title_of(text, p), p) .. text:sub(to + 1)
end

--- Returns the picture as gnuplot draws it, and gnuplot's remarks.
function svg.of(p)
  local text, remarks = gnuplot.picture(p.script, "svg", p.size)
  return described(text, p), remarks
end

local ALPHABET = {}
for c in ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"):gmatch "." do ALPHABET[#ALPHABET + 1] = c end

local function four(bytes)
  local a, b, c = bytes:byte(1, 3)
  local n = a << 16 | (b or 0) << 8 | (c or 0)
  return ALPHABET[(n >> 18) + 1] .. ALPHABET[(n >> 12 & 63) + 1] .. (b and ALPHABET[(n >> 6 & 63) + 1] or "=")
    .. (c and ALPHABET[(n & 63) + 1] or "=")
end

function svg.base64(bytes) return (bytes:gsub("..?.?", four)) end

local FRAME = [[
<svg role="img" width="%d" height="%d" viewBox="0 0 %d %d" xmlns="http://www.w3.org/2000/svg">
%s
<image width="%d" height="%d" href="data:image/png;base64,%s"/>
</svg>
]]

local function raster(p, title, scale)
  local width, height = p.size[1], p.size[2]
  local png = gnuplot.picture(p.script, "png", p.size, scale)
  return FRAME:format(width, height, width, height, about(title, p), width, height, svg.base64(png))
end

local number = 0

-- Makes the ids of a picture unique. gnuplot uses the same ids in all pictures, but a notebook can contain several pictures.
local function renamed(text)
  number = number + 1
  local own = ("nw%06x%04x_%d_"):format(os.time() & 0xffffff, math.random(0, 0xffff), number)
  text = text:gsub("^<%?xml.-%?>%s*", "") -- inline SVG must not have a document header
  return (text:gsub("<[^>]*>", function(tag)
    return (tag:gsub("(%sid=['\"])", "%1" .. own):gsub("(href=['\"]#)", "%1" .. own):gsub("(url%(['\"]?#)", "%1" .. own))
  end))
end

--- Returns the picture in at most MOST bytes, and gnuplot's remarks. If the SVG is larger, returns an SVG that contains a bitmap
--- instead.
function svg.small(p)
  local text, remarks = svg.of(p)
  local title = title_of(text, p)
  text = renamed(text)
  for _, scale in ipairs(SCALES) do
    if #text <= svg.MOST then break end
    text = raster(p, title, scale)
  end
  return text, remarks
end

return svg
