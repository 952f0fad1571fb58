--- Computes the width of text in pictures, and cuts or wraps text to a width. The widths are those of DejaVu Sans. Text that fits
--- in this font also fits in the other fonts of pictures, Helvetica and Arial, because they are not wider.
local fit = {}

-- These are the characters by their width. The width is in twentieths of the font size, rounded up.
local WIDTHS = {
  [6] = "IJijl", [7] = " ,./:;\\|'", [8] = "()-[]ft", [9] = "!r", [10] = "*_`\"", [11] = "?csz", [12] = "FLkvxy",
  [13] = "$0123456789EPSTYabdeghnopqu{}", [14] = "ABCKRVXZ", [15] = "NU", [16] = "&DGHOQ", [17] = "#+<=>^w~", [18] = "M",
  [20] = "%@Wm",
}
local LATIN, OTHER = 13, 20 -- the widths of letters with accents, and of all other characters

local TWENTIETHS = {}
for width, characters in pairs(WIDTHS) do
  for c in characters:gmatch "." do TWENTIETHS[c:byte()] = width end
end

local function width_of(code) return TWENTIETHS[code] or code < 0x250 and LATIN or OTHER end

--- Returns the width of a text in pixels. size: the size of the font in pixels.
function fit.width(s, size)
  local sum = 0
  if not utf8.len(s) then return #s * OTHER * size / 20 end
  for _, code in utf8.codes(s) do sum = sum + width_of(code) end
  return sum * size / 20
end

--- Returns the largest width of several texts.
function fit.widest(list, size)
  local most = 0
  for _, s in ipairs(list) do most = math.max(most, fit.width(s, size)) end
  return most
end

-- Returns the number of characters at the beginning of a text that fit into this width.
local function fitting(s, width, size)
  local n, sum = 0, 0
  for _, code in utf8.codes(s) do
    sum = sum + width_of(code) * size / 20
    if sum > width then break end
    n = n + 1
  end
  return n
end

local DOTS = "…"

--- Shortens a text at its end, so that it is at most this wide.
function fit.shortened(s, width, size)
  if not utf8.len(s) or fit.width(s, size) <= width then return s end
  return s:sub(1, utf8.offset(s, fitting(s, width - fit.width(DOTS, size), size) + 1) - 1) .. DOTS
end

-- Returns a word as parts that are at most this wide.
local function cut(word, width, size)
  local parts = {}
  while utf8.len(word) and fit.width(word, size) > width do
    local at = utf8.offset(word, math.max(1, fitting(word, width, size)) + 1)
    parts[#parts + 1], word = word:sub(1, at - 1), word:sub(at)
  end
  parts[#parts + 1] = word
  return parts
end

--- Wraps a text between words, to lines of at most this width. A word that is wider than a line is cut.
function fit.folded(s, width, size)
  local lines, line = {}, ""
  for word in s:gmatch "%S+" do
    for _, part in ipairs(cut(word, width, size)) do
      local longer = line == "" and part or line .. " " .. part
      if line ~= "" and fit.width(longer, size) > width then
        lines[#lines + 1], line = line, part
      else
        line = longer
      end
    end
  end
  if line ~= "" then lines[#lines + 1] = line end
  return lines
end

return fit
