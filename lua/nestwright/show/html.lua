--- Makes HTML for notebooks. Important properties are set by elements and attributes, because front ends remove styles from
--- untrusted notebooks. There are no scripts.
local html = {}

local ESCAPES = {["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["\n"] = "&#10;"}

function html.escape(text) return (text:gsub("[&<>\"]", ESCAPES)) end

--- Returns a text, which may contain line ends, as the value of an attribute.
function html.attribute(text) return '"' .. text:gsub("[&<>\"\n]", ESCAPES) .. '"' end

-- ---- long lines

local HANG = 4 -- extra indentation of a continuation line

-- Returns the tag, the entity or the character at a position in a line of HTML.
local function piece_at(line, at)
  return line:match("^<[^>]*>", at) or line:match("^&#?%w+;", at) or line:match("^" .. utf8.charpattern, at) or line:sub(at, at)
end

local DEEPER = {["("] = 1, ["["] = 1, ["{"] = 1, [")"] = -1, ["]"] = -1, ["}"] = -1}

-- Returns the quality of a line break after a piece, from 0 (no break is possible) to 3 (best). The quality is 3 after two spaces,
-- because a comment follows them. Outside of brackets, it is 2 after `*` and after a space that no operator follows. After any
-- other space, it is 1.
local function rank(piece, before, after, depth)
  if piece == "*" and depth == 0 then return 2 end
  if piece ~= " " then return 0 end
  return before == " " and 3 or depth == 0 and not after:find "^[-+*/=]" and 2 or 1
end

-- Returns the break of the highest quality after at least `least` columns, or nil. If several breaks have this quality, returns the
-- last of them.
local function best(breaks, least)
  local found
  for _, b in ipairs(breaks) do
    if b.width >= least and (not found or b.rank >= found.rank) then found = b end
  end
  return found
end

--- Wraps a line of HTML with tags at `most` columns, if the line has places for breaks. Continuation lines are indented.
function html.hanging(line, most)
  local pad = #line:gsub("<[^>]*>", ""):match "^[-+ ]? *" + HANG -- a line may begin with a change mark
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

html.COLUMNS = 108 -- columns of text in the full width of a notebook

--- Returns preformatted text in which long lines are wrapped, because an untrusted notebook would break them anywhere, without
--- indentation.
function html.pre(text)
  local lines = {}
  for line in (text .. "\n"):gmatch "(.-)\n" do lines[#lines + 1] = html.hanging(html.escape(line), html.COLUMNS) end
  return "<pre>" .. table.concat(lines, "\n") .. "</pre>"
end

--- Returns a text that is left-aligned in a cell of a table, whatever the page's style is.
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

--- Returns a table. t: {head = texts, rows = lists of texts, left, caption, foot}. left[n] is true if column n is left-aligned.
--- left.all is true if all columns are left-aligned. left.heads is true if the first column has row headings.
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

--- Returns an image. kind: the subtype of its MIME type, such as "png"; data: the image in base 64; size: {width, height}; words:
--- the alternative text.
function html.image(kind, data, size, words)
  return ("<img width=\"%d\" height=\"%d\" alt=%s src=\"data:image/%s;base64,%s\">"):format(size.width, size.height,
    html.attribute(words), kind, data)
end

return html
