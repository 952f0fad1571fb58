--- Makes the HTML of loop nests for notebooks from the HTML of the core. Loops can be folded. Tooltips show the steps that made a
--- loop and the strides of an access. Two versions can be shown side by side.
local core = require "nestwright.core"
local html = require "nestwright.show.html"
local written = require "nestwright.show.written"

local nests = {}

-- The HTML for each CSS class of the core. It uses obsolete elements such as <font>, because they keep their colours in viewers
-- that remove styles.
local LOOKS = {
  keyword = '<font color="#0072B2">%s</font>',
  name = "<b>%s</b>",
  mark = '<b><font color="#B0447F">%s</font></b>',
  comment = '<i><font color="#777777">%s</font></i>',
  remark = '<b><font color="#D55E00">%s</font></b>',
  added = '<font color="#00805E">%s</font>',
  removed = '<font color="#C04E00">%s</font>',
}

local CHANGED = '<ins style="background:rgba(0,158,115,0.14);text-decoration:none">%s</ins>'

-- Replaces the core's CSS classes in a line by the HTML of LOOKS.
local function looking(line)
  return (line:gsub('<span class="nw%-(%l+)">(.-)</span>', function(class, text) return LOOKS[class]:format(text) end))
end

local UNESCAPES = {["&lt;"] = "<", ["&gt;"] = ">", ["&amp;"] = "&", ["&quot;"] = '"'}
local function plain(line) return (line:gsub("<[^>]*>", ""):gsub("&%l+;", UNESCAPES)) end

-- ---- lines

-- Returns the lines of the core's HTML. The fields of a line are html (wrapped at `columns`), text, gutter (the change mark " ",
-- "+" or "-", or "" without change marks) and indent. `gutters` is true if each line begins with a change mark.
local function lines_of(raw, gutters, columns)
  local out = {}
  for line in raw:match '^<pre class="nw">(.*)</pre>%s*$':gmatch "([^\n]*)\n" do
    local text = plain(line)
    local gutter = gutters and text:sub(1, 1) or ""
    if gutters then text = text:sub(3) end
    out[#out + 1] = {html = html.hanging(line, columns), text = text, gutter = gutter, indent = #text:match "^ *"}
  end
  return out
end

local function loop_of(text) return text:match "^%s*[%w_. ]-%f[%w]for (%S+) in " end

-- ---- tooltips of an access

-- Returns the strides by loop in words, as in "4 bytes for each k". The innermost loop is first; loops with stride 0 are last.
local function steps_text(moves)
  local out, still = {}, {}
  for _, m in ipairs(moves) do
    if m.bytes == 0 then still[#still + 1] = m.loop else
      out[#out + 1] = ("%s%s for each %s"):format(m.bytes < 0 and "-" or "", written.bytes(math.abs(m.bytes)), m.loop)
    end
  end
  if #still > 0 then out[#out + 1] = "none for " .. table.concat(still, ", ") end
  return table.concat(out, "; ")
end

-- Returns the strides {loop, bytes} of a line's access to a tensor, for the loops around the line, innermost first. For a
-- vectorized or unrolled loop, the list also has an entry {loop, mark}.
local function moves_of(tensor, around, sweeps)
  local found = {}
  for at = #around, 1, -1 do
    for _, site in ipairs(sweeps) do
      local hit
      for _, moved in ipairs(site.tensor == tensor and site or {}) do
        if moved.loop == around[at].name then hit = moved end
      end
      if hit then found[#found + 1] = hit break end
    end
    if around[at].mark then found[#found + 1] = {loop = around[at].name, mark = around[at].mark} end
  end
  return found
end

local function marked_text(moves)
  local plain_moves, out = {}, {}
  for _, m in ipairs(moves) do
    if m.mark then
      out[#out + 1] = m.mark == "vectorize" and m.loop .. " are the lanes of a vector" or m.loop .. " is unrolled"
    else
      plain_moves[#plain_moves + 1] = m
    end
  end
  local steps = steps_text(plain_moves)
  if steps ~= "" then table.insert(out, 1, "stride: " .. steps) end
  return table.concat(out, "; ")
end

local known = setmetatable({}, {__mode = "k"}) -- schedule -> {version, cache results by tensor}

--- Keeps the L1 misses of each tensor from a cache simulation of the current version of a schedule, for the tooltips.
function nests.learn(s, by_tensor)
  local of = {}
  for _, row in ipairs(by_tensor) do
    if row.level == 1 and row.asked > 0 then
      of[row.tensor] = ("L1: %s misses for %s requested lines (%.3g %%)"):format(written.count(row.asked - row.hits),
        written.count(row.asked), 100 * (row.asked - row.hits) / row.asked)
    end
  end
  known[s] = {version = s:version(), of = of}
end

local function misses_of(s, tensor)
  local k = known[s]
  return k and k.version == s:version() and k.of[tensor] or nil
end

local function about_access(s, tensor, around, sweeps)
  local parts = {marked_text(moves_of(tensor, around, sweeps)), misses_of(s, tensor)}
  if parts[1] == "" then table.remove(parts, 1) end
  return #parts > 0 and tensor .. "\n" .. table.concat(parts, "\n") or nil
end

local DOTTED = "border-bottom:1px dotted #999999"

-- Adds a tooltip to each access `name[...]` of a line. A number is not an access. A name without an index, such as the name of a
-- loop, is not an access either. Where an access is wrapped, the indentation of its next row is outside of the dotted line.
local function with_accesses(line, say)
  return (line:gsub("(%f[%w_][%a_][%w_.]*)(%b[])", function(name, index)
    local words = say(name)
    if not words then return nil end
    local from, to = ("<span title=%s style=\"%s\">"):format(html.attribute(words), DOTTED), "</span>"
    return from .. (name .. index):gsub(" ?\n *", function(wrap) return to .. wrap .. from end) .. to
  end))
end

-- ---- tooltips of a schedule

local MOST = 300 -- a nest with more lines than this gets no tooltips

local function sweeps_of(s)
  local ok, sweeps = pcall(core.sweeps, s, {sizes = {}})
  return ok and sweeps or {} -- strides are unknown for symbolic sizes
end

local MARKS = {vectorize = true, unroll = true}

-- Calls f(line, number of the line, loops around the line) for each line of a nest.
local function each(lines, f)
  local around = {}
  for n, line in ipairs(lines) do
    while around[#around] and around[#around].indent >= line.indent do around[#around] = nil end
    f(line, n, around)
    local name = loop_of(line.text)
    local mark = line.text:match "^%s*(%l+) for "
    if name then around[#around + 1] = {name = name, indent = line.indent, mark = MARKS[mark] and mark} end
  end
end

local function annotate(s, lines)
  if #lines > MOST then return end
  local sweeps = sweeps_of(s)
  each(lines, function(line, n, around)
    if loop_of(line.text) then
      local ok, why = pcall(core.schedule_why, s, n, false)
      if ok then line.title = (why:gsub("\n$", "")) end
    else
      line.html = with_accesses(line.html, function(tensor) return about_access(s, tensor, around, sweeps) end)
    end
  end)
end

-- ---- loops that can be folded

local function line_html(line)
  local text = looking(line.html)
  if line.title then text = ("<span title=%s>%s</span>"):format(html.attribute(line.title), text) end
  if line.gutter == "+" then text = CHANGED:format(text) end
  return text .. "\n"
end

-- Adds the lines from number `at` on, up to the first line that is indented by at most `outside`. Returns the number of that line.
-- Lines that are indented more than the line above them can be folded.
local function folded(lines, at, outside, out)
  while lines[at] and lines[at].indent > outside do
    local line, inner = lines[at], lines[at + 1]
    if inner and inner.indent > line.indent then
      out[#out + 1] = ("<details open><summary>%s</summary>"):format(line_html(line))
      at = folded(lines, at + 1, line.indent, out)
      out[#out + 1] = "</details>"
    else
      out[#out + 1] = line_html(line)
      at = at + 1
    end
  end
  return at
end

-- The marks that fold and unfold loops are in the margin, so that the text is aligned as in plain text.
local STYLE = [[
<style>
.nw details { display: block; margin: 0 }
.nw summary { display: block; list-style: none; cursor: pointer; position: relative; margin: 0 }
.nw summary::-webkit-details-marker { display: none }
.nw summary::before { content: "\25BE"; position: absolute; left: -1.1em; color: #999999 }
.nw details:not([open]) > summary::before { content: "\25B8" }
</style>
]]
local PRE = "<pre class=\"nw\" style=\"line-height:1.4;padding-left:1.4em;white-space:pre\">"

--- Returns the nest of a schedule at a version as HTML. `raw` is the core's HTML; `gutters` is true if its lines begin with change
--- marks. Only the current version has tooltips.
function nests.html(s, version, raw, gutters)
  local lines, out = lines_of(raw, gutters, html.COLUMNS), {}
  if s:version() == version then annotate(s, lines) end
  folded(lines, 1, -1, out)
  return STYLE .. PRE .. table.concat(out) .. "</pre>"
end

-- ---- two versions

local COLUMNS = 56 -- the number of columns of a side; both sides must fit on the screen

-- Adds the rows of a wrapped line to a side. If `line` is nil, adds one empty row.
local function put(side, line)
  for row in ((line and looking(line.html) or "") .. "\n"):gmatch "(.-)\n" do side[#side + 1] = row end
end

-- Adds empty rows to the shorter side, so that the next lines are side by side.
local function level(left, right)
  while #left < #right do put(left) end
  while #right < #left do put(right) end
end

local function cell(lines)
  return "<td valign=\"top\">" .. html.left('<pre class="nw" style="line-height:1.4;white-space:pre">'
    .. table.concat(lines, "\n") .. "\n</pre>") .. "</td>"
end

--- Returns the HTML of a diff as a table with two columns. `raw` is the core's HTML of the diff. `before` and `after` are the
--- headings.
function nests.beside(raw, before, after)
  local left, right = {}, {}
  for _, line in ipairs(lines_of(raw, true, COLUMNS)) do
    if line.gutter == "-" then
      put(left, line)
    elseif line.gutter == "+" then
      put(right, line)
    else
      level(left, right)
      put(left, line)
      put(right, line)
    end
  end
  level(left, right)
  return ("<table>\n<tr><th>%s</th><th>%s</th></tr>\n<tr>%s%s</tr>\n</table>"):format(html.left(html.escape(before)),
    html.left(html.escape(after)), cell(left), cell(right))
end

return nests
