--- Pieces of HTML for notebooks. What matters is said by elements and attributes that survive where a notebook is not trusted:
--- styles are lost there. There is no script.
local html = {}

local ESCAPES = {["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["\n"] = "&#10;"}

function html.escape(text) return (text:gsub("[&<>\"]", ESCAPES)) end

--- Text for an attribute, in which a line may end.
function html.attribute(text) return '"' .. text:gsub("[&<>\"\n]", ESCAPES) .. '"' end

-- ---- long lines

local HANG = 4 -- columns by which what follows a break stands further in

-- A piece of a line of HTML at a position: a tag, an entity or a character.
local function piece_at(line, at)
  return line:match("^<[^>]*>", at) or line:match("^&#?%w+;", at) or line:match("^" .. utf8.charpattern, at) or line:sub(at, at)
end

local DEEPER = {["("] = 1, ["["] = 1, ["{"] = 1, [")"] = -1, ["]"] = -1, ["}"] = -1}

-- How good it is to go on behind a piece on a new line: behind two spaces, where a remark begins; outside of brackets, where
-- an operator stays with what is before it; or at a space inside.
local function rank(piece, before, after, depth)
  if piece == "*" and depth == 0 then return 2 end
  if piece ~= " " then return 0 end
  return before == " " and 3 or depth == 0 and not after:find "^[-+*/=]" and 2 or 1
end

-- The best break that is not too early; the later of two.
local function best(breaks, least)
  local found
  for _, b in ipairs(breaks) do
    if b.width >= least and (not found or b.rank >= found.rank) then found = b end
  end
  return found
end

--- A line of HTML, tags and all, in lines of at most so many columns where it has places for breaks; what follows a break hangs.
function html.hanging(line, most)
  local pad = #line:gsub("<[^>]*>", ""):match "^[-+ ]? *" + HANG -- a line may begin with a mark of what changed
  local out, breaks, width, depth, before, at = {}, {}, 0, 0, nil, 1
  while at <= #line do
    local piece = piece_at(line, at)
    out[#out + 1], at = piece, at + #piece
    if piece:sub(1, 1) ~= "<" then
      width, depth = width + 1, depth + (DEEPER[piece] or 0)
      local good = rank(piece, before, line:sub(at, at), depth)
      if good > 0 and width > pad then breaks[#breaks + 1] = {at = #out, width = width, rank = good} end
      before = piece
      local b = width > most and best(breaks, most // 3)
      if b then
        out[b.at] = out[b.at] .. "\n" .. (" "):rep(pad)
        width, breaks = width - b.width + pad, {}
      end
    end
  end
  return table.concat(out)
end

html.COLUMNS = 108 -- of text that stands alone: what a notebook has room for

--- Text as it is, but for long lines: where a notebook is not trusted it breaks them anywhere, and begins anew at its edge.
function html.pre(text)
  local lines = {}
  for line in (text .. "\n"):gmatch "(.-)\n" do lines[#lines + 1] = html.hanging(html.escape(line), html.COLUMNS) end
  return "<pre>" .. table.concat(lines, "\n") .. "</pre>"
end

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
