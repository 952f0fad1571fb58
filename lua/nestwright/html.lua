--- Pieces of HTML for notebooks. What matters is said by elements and attributes that survive where a notebook is not trusted:
--- styles are lost there. There is no script.
local html = {}

local ESCAPES = {["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["\n"] = "&#10;"}

function html.escape(text) return (text:gsub("[&<>\"]", ESCAPES)) end

--- Text for an attribute, in which a line may end.
function html.attribute(text) return '"' .. text:gsub("[&<>\"\n]", ESCAPES) .. '"' end

function html.pre(text) return "<pre>" .. html.escape(text) .. "</pre>" end

--- To the left of a cell of a table, whatever a page has for its tables.
function html.left(text) return "<div align=\"left\">" .. text .. "</div>" end

local function cell(tag, text, left)
  local escaped = html.escape(text)
  return left and ("<%s>%s</%s>"):format(tag, html.left(escaped), tag)
    or ("<%s align=\"right\">%s</%s>"):format(tag, escaped, tag)
end

local function row(texts, left, all_heads)
  local out = {}
  for n, text in ipairs(texts) do
    local first = n == 1
    out[n] = cell((all_heads or (left.heads and first)) and "th" or "td", text, left[n] or left.all)
  end
  return "<tr>" .. table.concat(out) .. "</tr>"
end

--- A table. t: {head = texts, rows = lists of texts, left = {[1] = true} (columns of words; left.heads: the first column heads
--- its rows), caption, foot}.
function html.table(t)
  local left, out = t.left or {}, {"<table>"}
  if t.caption then out[#out + 1] = "<caption align=\"top\">" .. html.escape(t.caption) .. "</caption>" end
  if t.head then out[#out + 1] = "<thead>" .. row(t.head, left, true) .. "</thead>" end
  out[#out + 1] = "<tbody>"
  for _, texts in ipairs(t.rows) do out[#out + 1] = row(texts, left) end
  out[#out + 1] = "</tbody></table>"
  if t.foot then out[#out + 1] = "<p><small>" .. html.escape(t.foot) .. "</small></p>" end
  return table.concat(out, "\n")
end

--- An image. kind: of its type, "png"; data: in base 64; size: {width, height}; words: for those who cannot see it.
function html.image(kind, data, size, words)
  return ("<img width=\"%d\" height=\"%d\" alt=%s src=\"data:image/%s;base64,%s\">"):format(size.width, size.height,
    html.attribute(words), kind, data)
end

return html
