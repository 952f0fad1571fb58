--- Makes texts from values, for tables, captions and files.
local written = {}

local UNITS = {{1 << 40, "TiB"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}}

--- Returns a number of bytes with three digits, in the largest unit in which the number is at least 1.
function written.bytes(n)
  for _, unit in ipairs(UNITS) do
    local of = n / unit[1]
    if of >= 1 then return (of < 100 and "%.3g %s" or "%.0f %s"):format(of, unit[2]) end
  end
  return n == 1 and "1 byte" or ("%d bytes"):format(n)
end

-- Returns a number with three digits. Numbers from 999.5 to 1e6 are written as whole numbers, because with three digits they would
-- need an exponent.
local function digits(v) return ((v < 999.5 or v >= 1e6) and "%.3g" or "%.0f"):format(v) end

--- Returns a share as a percentage with one decimal.
function written.percent(share) return ("%.1f %%"):format(100 * share) end

--- Returns a time in seconds with a suitable unit.
function written.seconds(t)
  if t ~= t then return "?" end
  if t >= 0.9995 then return digits(t) .. " s" end
  if t >= 0.9995e-3 then return digits(t * 1e3) .. " ms" end
  if t >= 0.9995e-6 then return digits(t * 1e6) .. " us" end
  return digits(t * 1e9) .. " ns"
end

--- Returns a number with a suitable prefix: written.quantity(3.2e10, "flop/s") is "32 Gflop/s".
function written.quantity(v, unit)
  for _, prefix in ipairs {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} do
    if v >= 0.9995 * prefix[1] then return ("%s %s%s"):format(digits(v / prefix[1]), prefix[2], unit) end
  end
  return ("%s %s"):format(digits(v), unit)
end

--- Returns the text of a factor: 0.953x, 2.31x, 41.2x, 1930x.
function written.times(ratio)
  local format = ratio < 0.1 and "%.2g" or ratio < 9.995 and "%.2f" or ratio < 99.95 and "%.1f" or ratio < 1e6 and "%.0f" or "%.3g"
  return (format .. "x"):format(ratio)
end

--- Shortens a text to at most `most` characters by omitting its middle. If the text is not valid UTF-8, each byte that is not
--- ASCII becomes a question mark.
function written.shortened(text, most)
  if not utf8.len(text) then text = text:gsub("[\128-\255]", "?") end
  local n = utf8.len(text)
  if n <= most then return text end
  local head = (most - 1) * 2 // 3
  local tail = most - 1 - head
  return text:sub(1, utf8.offset(text, head + 1) - 1) .. "…" .. text:sub(utf8.offset(text, n - tail + 1))
end

--- Returns a number with a noun: "1 access", "2 accesses". By default, the plural is the singular with an s.
function written.plural(n, one, many) return ("%d %s"):format(n, n == 1 and one or many or one .. "s") end

--- Returns a count with three digits: 1.5e6 is "1.5 M".
function written.count(n)
  return n < 1000 and ("%d"):format(n) or (written.quantity(n, ""))
end

--- Returns a number with the fewest digits, from 15 to 17, from which the same number is read back.
function written.number(v)
  if math.type(v) == "integer" then return ("%d"):format(v) end
  if v ~= v then return "nan" end
  for _, format in ipairs {"%.15g", "%.16g"} do
    local text = format:format(v)
    if tonumber(text) == v then return text end
  end
  return ("%.17g"):format(v)
end

--- Returns a value as a field of a CSV file; nil is an empty field.
function written.csv(value)
  local field = value == nil and "" or tostring(value)
  return field:find '[,"\n\r]' and '"' .. field:gsub('"', '""') .. '"' or field
end

return written
