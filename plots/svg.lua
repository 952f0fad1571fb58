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

-- Returns the title of a picture. It is that of the figure, or the first line of the caption if the picture is not a figure.
local function title_of(p)
  local title = p.script:match "^# panels.-\nset label '([^\n]-)' at screen 0%.5, screen [%d.]+ center noenhanced"
  return escaped(title and title:gsub("'%.\"\\047\"%.'", "'") or p.caption:match "^[^\n]*")
end

-- Replaces gnuplot's own title and description, which do not describe the picture.
local function described(text, p)
  local from, to = text:find "<title>.-</title>%s*<desc>.-</desc>"
  if not from then return text end
  local head = text:sub(1, from - 1):gsub("<svg%s", "<svg role=\"img\"\n ", 1)
  return head .. about(title_of(p), p) .. text:sub(to + 1)
end

-- ---- smaller texts

-- Joins neighbouring groups with the same attributes. gnuplot begins a group for each label and each tick.
local function joined(text)
  local out, open, at = {}, {}, 1
  for from, close, attributes, after in text:gmatch "()<(/?)g%f[%s>]([^>]*)>()" do
    if from >= at then
      if close == "" then
        open[#open + 1] = attributes
      else
        local ended = table.remove(open)
        local same, next_at = text:match("^%s*<g([^>]*)>()", after)
        if same and same == ended and not same:find " id=" then
          out[#out + 1] = text:sub(at, from - 1)
          at, open[#open + 1] = next_at, ended
        end
      end
    end
  end
  out[#out + 1] = text:sub(at)
  return table.concat(out)
end

-- Leaves out the definitions of marks that are not used.
local function without_marks(head, body)
  local count
  repeat
    count = 0
    head = head:gsub("%s*<%a+[^>]*%sid='(gpPt%d+)'[^>]*/>", function(id)
      local use = "#" .. id .. "'"
      if head:find(use, 1, true) or body:find(use, 1, true) then return nil end
      count = count + 1
      return ""
    end)
  until count == 0
  return head
end

-- Returns a picture as a shorter text that looks the same: a notebook keeps each picture in base 64.
local function shorter(text)
  local from = text:find("</defs>", 1, true) or 1
  local head, body = text:sub(1, from - 1), text:sub(from)
  head, body = without_marks(head, body), body:gsub("<g [^>]*>%s*<text></text>%s*</g>", ""):gsub("<g [^>]*>%s*</g>", "")
  body = joined(body):gsub("<[^>]*>", function(tag)
    tag = tag:gsub("%s+", " "):gsub("rgb%( ?(%d+), ?(%d+), ?(%d+)%)", "rgb(%1,%2,%3)")
    return (tag:gsub("(%d)%.00%f[^%d]", "%1"):gsub("(%.%d)0%f[^%d]", "%1"))
  end)
  return head .. body:gsub(">%s+<", ">\n<")
end

--- Returns the picture as gnuplot draws it, and gnuplot's remarks.
function svg.of(p)
  local text, remarks = gnuplot.picture(p.script, "svg", p.size)
  return shorter(described(text, p)), remarks
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
  local title = title_of(p)
  text = renamed(text)
  for _, scale in ipairs(SCALES) do
    if #text <= svg.MOST then break end
    text = raster(p, title, scale)
  end
  return text, remarks
end

return svg
