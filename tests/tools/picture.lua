--- Draws docs/session.svg, the picture in README.md: a real session at the prompt, in its colours.
--- usage: nestwright tests/tools/picture.lua docs/session.svg
local build = os.getenv "NW_BUILD" or "build/release"
package.cpath = build .. "/lib/lua/?.so;" .. package.cpath
local pty = require "nw_pty"

local lines = {
  "A, B = nw.placeholder({512, 512}, 'f32', 'A'), nw.placeholder({512, 512}, 'f32', 'B')",
  "k = nw.reduce_axis(512, 'k')",
  "C = nw.compute({512, 512}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, 'C')",
  "s = nw.schedule(C)",
  "k_o, k_i = s:split('k', 32)",
  "s:parallel(k_o)",
  "s:parallel 'i'",
  "s",
}

local function session()
  local child = pty.spawn(build .. "/bin/nestwright")
  assert(child:expect("> ", 5000), "no prompt")
  local text = "\27[1;36mnw> \27[0m"
  for _, line in ipairs(lines) do
    child:send(line .. "\n")
    pty.sleep(300)
    local _, seen = child:expect("nw> ", 5000)
    text = text .. seen
  end
  child:send "\4"
  child:finish()
  return text
end

local COLOURS = {["31"] = "#b3261e", ["32"] = "#1b6e2f", ["33"] = "#8a5a00", ["34"] = "#1f4fb2", ["35"] = "#7b1fa2",
  ["36"] = "#00696f", ["90"] = "#6b6b6b", ["91"] = "#b3261e"}

local function escape(s) return (s:gsub("[&<>]", {["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;"})) end

-- Returns one line of terminal output as <tspan> elements. `state` keeps the colour and the weight from line to line.
local function spans(line, state)
  local out = {}
  local at = 1
  local function put(text)
    if text == "" then return end
    local style = (state.colour and (' fill="%s"'):format(state.colour) or "") .. (state.bold and ' font-weight="bold"' or "")
    out[#out + 1] = ("<tspan%s>%s</tspan>"):format(style, escape(text))
  end
  while true do
    local from, to, codes = line:find("\27%[([%d;]*)m", at)
    put(line:sub(at, (from or #line + 1) - 1))
    if not from then break end
    for code in (codes == "" and "0" or codes):gmatch "%d+" do
      if code == "0" then state.colour, state.bold = nil, nil
      elseif code == "1" then state.bold = true
      elseif code == "2" then state.colour = "#6b6b6b"
      else state.colour = COLOURS[code] or state.colour end
    end
    at = to + 1
  end
  return table.concat(out)
end

local text = session():gsub("\27%[%?%d+[hl]", ""):gsub("\27%]%d+;.-\7", ""):gsub("\r", ""):gsub("\27%[K", "")
local rows, state = {}, {}
for line in (text .. "\n"):gmatch "(.-)\n" do rows[#rows + 1] = spans(line, state) end
while rows[#rows] == "" or (rows[#rows] and rows[#rows]:find ">nw&gt; ?<") do rows[#rows] = nil end

local height = 18
local out = {('<svg xmlns="http://www.w3.org/2000/svg" width="960" height="%d" font-family="monospace" font-size="13">')
  :format(#rows * height + 28), '<rect width="100%" height="100%" rx="8" fill="#fbfaf7" stroke="#d8d4c8"/>'}
for n, row in ipairs(rows) do
  out[#out + 1] = ('<text x="16" y="%d" xml:space="preserve" fill="#222">%s</text>'):format(n * height + 10, row)
end
out[#out + 1] = "</svg>"
local file = assert(io.open(arg[1] or "docs/session.svg", "w"))
file:write(table.concat(out, "\n"), "\n")
file:close()
